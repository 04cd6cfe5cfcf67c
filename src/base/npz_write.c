/* Writing .npz: a zip archive of stored (not packed) arrays, streamed, the same bytes for the same
 * tensors. Sizes always stand in a zip64 field, so that there is one form for all of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/npz.h"

enum {
    FLAG_UTF8 = 0x800,
    ZIP_VERSION_45 = 45,
    DATE_1980 = 0x21,
    LOCAL_EXTRA = 20,
    CENTRAL_EXTRA = 28
};

typedef struct member {
    char *name; /* malloc'ed: key and ".npy" */
    uint64_t offset, size;
    uint32_t crc;
} member;

/* ---- checksum -------------------------------------------------------------------------------- */

typedef struct crc_table {
    uint32_t row[256];
} crc_table;

static void crc_init(crc_table *table)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table->row[i] = c;
    }
}

static uint32_t crc_add(const crc_table *table, uint32_t crc, const void *data, size_t size)
{
    const unsigned char *p = data;

    crc = ~crc;
    for (size_t i = 0; i < size; i++)
        crc = table->row[(crc ^ p[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static const char *descr_of(pdm_dtype dtype)
{
    static const char *const names[PDM_DTYPE_COUNT] = {
        [PDM_BOOL] = "|b1",
        [PDM_I8] = "|i1",
        [PDM_U8] = "|u1",
        [PDM_I16] = "<i2",
        [PDM_U16] = "<u2",
        [PDM_I32] = "<i4",
        [PDM_U32] = "<u4",
        [PDM_I64] = "<i8",
        [PDM_U64] = "<u8",
        [PDM_F16] = "<f2",
        [PDM_F32] = "<f4",
        [PDM_F64] = "<f8",
        [PDM_C64] = "<c8",
        [PDM_C128] = "<c16",
        /* Types that numpy lacks are stored as their bits. */
        [PDM_BF16] = "<u2",
        [PDM_F8E4M3FN] = "|u1",
        [PDM_F8E5M2] = "|u1",
        [PDM_INDEX] = "<i8",
    };

    return (unsigned)dtype < PDM_DTYPE_COUNT ? names[dtype] : NULL;
}

enum { HEADER_ROOM = 512 };

/* The header, padded so that the data behind it begin at a multiple of 64; its size. */
static size_t array_header(const pdm_tensor *t, char out[HEADER_ROOM])
{
    size_t n = 10;

    n += (size_t)snprintf(out + n, HEADER_ROOM - n,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(t->dtype));
    for (int i = 0; i < t->rank; i++)
        n += (size_t)snprintf(out + n, HEADER_ROOM - n, "%lld%s", (long long)t->dims[i],
                              i + 1 < t->rank ? ", "
                              : t->rank == 1  ? ","
                                              : "");
    n += (size_t)snprintf(out + n, HEADER_ROOM - n, "), }");
    while ((n + 1) % 64 != 0)
        out[n++] = ' ';
    out[n++] = '\n';
    memcpy(out, "\x93NUMPY\x01", 8);
    out[8] = (char)((n - 10) & 0xff);
    out[9] = (char)((n - 10) >> 8);
    return n;
}

/* ---- records of the archive ------------------------------------------------------------------ */

static void put(pdm_out *out, uint64_t value, int bytes)
{
    unsigned char p[8];

    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(value >> 8 * i);
    pdm_out_put(out, p, (size_t)bytes);
}

/* What local and central records have in common, from the flags to the length of the name. */
static void put_common(pdm_out *out, const member *m, int extra)
{
    put(out, FLAG_UTF8, 2);
    put(out, 0, 2); /* stored */
    put(out, 0, 2); /* time */
    put(out, DATE_1980, 2);
    put(out, m->crc, 4);
    put(out, 0xffffffff, 4);
    put(out, 0xffffffff, 4);
    put(out, strlen(m->name), 2);
    put(out, (uint64_t)extra, 2);
}

static void put_local(pdm_out *out, const member *m)
{
    put(out, 0x04034b50, 4);
    put(out, ZIP_VERSION_45, 2);
    put_common(out, m, LOCAL_EXTRA);
    pdm_out_put(out, m->name, strlen(m->name));
    put(out, 1, 2);
    put(out, LOCAL_EXTRA - 4, 2);
    put(out, m->size, 8);
    put(out, m->size, 8);
}

static void put_central(pdm_out *out, const member *m)
{
    put(out, 0x02014b50, 4);
    put(out, ZIP_VERSION_45, 2);
    put(out, ZIP_VERSION_45, 2);
    put_common(out, m, CENTRAL_EXTRA);
    put(out, 0, 2); /* comment */
    put(out, 0, 2); /* disk */
    put(out, 0, 2);
    put(out, 0, 4);
    put(out, 0xffffffff, 4);
    pdm_out_put(out, m->name, strlen(m->name));
    put(out, 1, 2);
    put(out, CENTRAL_EXTRA - 4, 2);
    put(out, m->size, 8);
    put(out, m->size, 8);
    put(out, m->offset, 8);
}

static void put_end(pdm_out *out, size_t count, uint64_t at, uint64_t size)
{
    put(out, 0x06064b50, 4); /* zip64 */
    put(out, 44, 8);
    put(out, ZIP_VERSION_45, 2);
    put(out, ZIP_VERSION_45, 2);
    put(out, 0, 8);
    put(out, count, 8);
    put(out, count, 8);
    put(out, size, 8);
    put(out, at, 8);
    put(out, 0x07064b50, 4); /* where that stands */
    put(out, 0, 4);
    put(out, at + size, 8);
    put(out, 1, 4);
    put(out, 0x06054b50, 4);
    put(out, 0, 4);
    put(out, count < 0xffff ? count : 0xffff, 2);
    put(out, count < 0xffff ? count : 0xffff, 2);
    put(out, size < 0xffffffff ? size : 0xffffffff, 4);
    put(out, at < 0xffffffff ? at : 0xffffffff, 4);
    put(out, 0, 2);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static char *member_name(const char *key)
{
    const size_t len = strlen(key);
    char *name = len < 60000 ? malloc(len + 5) : NULL;

    if (name) {
        memcpy(name, key, len);
        strcpy(name + len, ".npy");
    }
    return name;
}

static pdm_status put_entry(const pdm_npz_entry *e, const crc_table *table, member *m, pdm_out *out,
                            uint64_t *at)
{
    char header[HEADER_ROOM];

    if (!descr_of(e->tensor.dtype))
        return PDM_INVALID_ARG;
    m->name = member_name(e->key);
    if (!m->name)
        return PDM_NOMEM;
    const size_t header_size = array_header(&e->tensor, header);
    const size_t bytes = pdm_tensor_bytes(&e->tensor);
    m->offset = *at;
    m->size = header_size + bytes;
    m->crc = crc_add(table, 0, header, header_size);
    m->crc = crc_add(table, m->crc, e->tensor.data, bytes);
    put_local(out, m);
    pdm_out_put(out, header, header_size);
    pdm_out_put(out, e->tensor.data, bytes);
    *at += 30 + strlen(m->name) + LOCAL_EXTRA + m->size;
    return PDM_OK;
}

pdm_status pdm_npz_write(const pdm_npz *npz, const char *path, bool replace, pdm_diag_sink *sink)
{
    member *members = calloc(npz->count + 1, sizeof *members);
    crc_table table;
    pdm_out out = {.fd = -1};
    uint64_t at = 0, central = 0;
    pdm_status status;

    if (!members)
        return PDM_NOMEM;
    crc_init(&table);
    PDM_TRY_GOTO(pdm_out_begin(&out, path, sink));
    for (size_t i = 0; i < npz->count; i++)
        PDM_TRY_GOTO(put_entry(&npz->items[i], &table, &members[i], &out, &at));
    for (size_t i = 0; i < npz->count; i++) {
        put_central(&out, &members[i]);
        central += 46 + strlen(members[i].name) + CENTRAL_EXTRA;
    }
    put_end(&out, npz->count, at, central);
    PDM_TRY_GOTO(pdm_out_finish(&out, sink));
    status = pdm_out_publish(&out, replace, sink);
done:
    pdm_out_deinit(&out);
    for (size_t i = 0; i < npz->count; i++)
        free(members[i].name);
    free(members);
    return status;
}
