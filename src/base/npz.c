#include "base/npz.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zip.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/file.h"

/* A header is a line of text; no array that fits our ranks needs more. MAX_RATIO: what deflate can
 * reach, so that an archive cannot claim more than its bytes can hold. */
enum { MAX_HEADER = 65536, MAX_RATIO = 1032, Z_MEM_ERROR_CODE = -4 };

typedef struct source { /* one array being read, from an archive or (file NULL) from a descriptor */
    zip_file_t *file;
    int fd;
    uint64_t left;
} source;

typedef struct job {
    const char *path, *key;
    pdm_diag_sink *sink;
    uint64_t budget; /* bytes that may still be unpacked */
} job;

#define REFUSE(j, code, hint, ...)                                                                 \
    pdm_diag((j)->sink, (code), (pdm_loc[]){place(j)}, (hint), __VA_ARGS__)

static pdm_loc place(const job *j)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = j->path;
    loc.var = j->key;
    return loc;
}

/* ---- the library ----------------------------------------------------------------------------- */

#define ZIP_FUNCTIONS(X)                                                                           \
    X(discard)                                                                                     \
    X(error_code_system)                                                                           \
    X(error_code_zip)                                                                              \
    X(error_fini)                                                                                  \
    X(error_init_with_code)                                                                        \
    X(error_strerror)                                                                              \
    X(fclose)                                                                                      \
    X(file_get_error)                                                                              \
    X(fopen_index)                                                                                 \
    X(fread)                                                                                       \
    X(get_error)                                                                                   \
    X(get_num_entries)                                                                             \
    X(open)                                                                                        \
    X(stat_index)                                                                                  \
    X(strerror)

/* libzip: loaded when the first archive is read, and kept. */
static struct {
    pthread_mutex_t mutex;
    bool loaded;
#define ZIP_MEMBER(name) __typeof__(zip_##name) *name;
    ZIP_FUNCTIONS(ZIP_MEMBER)
#undef ZIP_MEMBER
} library = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const char *find_functions(void *handle)
{
    void *symbol;

#define ZIP_FIND(name)                                                                             \
    if (!(symbol = dlsym(handle, "zip_" #name)))                                                   \
        return "zip_" #name;                                                                       \
    memcpy(&library.name, &symbol, sizeof symbol);
    ZIP_FUNCTIONS(ZIP_FIND)
#undef ZIP_FIND
    return NULL;
}

static pdm_status load_library(const job *j)
{
    errno = 0;
    void *handle = dlopen(PDM_LIBZIP_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const bool memory = errno == ENOMEM;
        const char *why = dlerror();
        return memory || !why || strstr(why, "allocate memory")
                   ? PDM_NOMEM
                   : REFUSE(j, PDM_D_FILE_READ, "install libzip",
                            "a .npz file is read with libzip, which cannot be loaded: %s", why);
    }
    const char *missing = find_functions(handle);
    if (missing) {
        dlclose(handle);
        return REFUSE(j, PDM_D_FILE_READ, "install another version of libzip",
                      "a .npz file is read with libzip, but " PDM_LIBZIP_SONAME " lacks %s",
                      missing);
    }
    library.loaded = true;
    return PDM_OK;
}

static pdm_status need_library(const job *j)
{
    pthread_mutex_lock(&library.mutex);
    const pdm_status status = library.loaded ? PDM_OK : load_library(j);
    pthread_mutex_unlock(&library.mutex);
    return status;
}

/* ---- the collection -------------------------------------------------------------------------- */

void pdm_npz_init(pdm_npz *npz)
{
    *npz = (pdm_npz){0};
}

void pdm_npz_deinit(pdm_npz *npz)
{
    for (size_t i = 0; i < npz->count; i++) {
        free(npz->items[i].key);
        pdm_tensor_deinit(&npz->items[i].tensor);
    }
    free(npz->items);
    *npz = (pdm_npz){0};
}

const pdm_tensor *pdm_npz_find(const pdm_npz *npz, const char *key)
{
    for (size_t i = 0; i < npz->count; i++) {
        if (!strcmp(npz->items[i].key, key))
            return &npz->items[i].tensor;
    }
    return NULL;
}

pdm_status pdm_npz_add(pdm_npz *npz, const char *key, const pdm_tensor *tensor)
{
    if (npz->count == npz->capacity) {
        const size_t capacity = npz->capacity ? 2 * npz->capacity : 8;
        pdm_npz_entry *items = realloc(npz->items, capacity * sizeof *items);
        if (!items)
            return PDM_NOMEM;
        npz->items = items;
        npz->capacity = capacity;
    }
    char *copy = strdup(key);
    if (!copy)
        return PDM_NOMEM;
    npz->items[npz->count] = (pdm_npz_entry){.key = copy};
    pdm_tensor_ref(&npz->items[npz->count++].tensor, tensor);
    return PDM_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Decimal digits up to `end`; false when it is anything else. */
static bool number_in(const char *text, const char *end, size_t *out)
{
    size_t value = 0;

    if (text == end || end - text > 9)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = 10 * value + (size_t)(*text - '0');
    }
    *out = value;
    return true;
}

pdm_npz_key pdm_npz_key_parse(const char *key)
{
    const pdm_npz_key plain = {.kind = PDM_NPZ_PLAIN, .name = key, .name_len = strlen(key)};
    pdm_npz_key parsed = {0};

    if (!strncmp(key, "in:", 3)) {
        parsed.kind = PDM_NPZ_IN;
        parsed.name = key + 3;
        parsed.name_len = strlen(parsed.name);
        return parsed;
    }
    if (!strncmp(key, "out:", 4)) {
        const char *colon = strchr(key + 4, ':');
        if (!colon || !number_in(key + 4, colon, &parsed.position))
            return plain;
        parsed.kind = PDM_NPZ_OUT;
        parsed.name = colon + 1;
        parsed.name_len = strlen(parsed.name);
        return parsed;
    }
    parsed.lod_of_out = !strncmp(key, "lod:out:", 8);
    if (parsed.lod_of_out || !strncmp(key, "lod:in:", 7)) {
        parsed.name = key + (parsed.lod_of_out ? 8 : 7);
        const char *colon = strrchr(parsed.name, ':');
        if (!colon || !number_in(colon + 1, colon + strlen(colon), &parsed.level))
            return plain;
        parsed.kind = PDM_NPZ_LOD;
        parsed.name_len = (size_t)(colon - parsed.name);
        return parsed;
    }
    return plain;
}

enum { MAX_LOD = 16 };

pdm_status pdm_npz_lod(const pdm_npz *npz, bool of_out, const char *name, pdm_tensor *tensor)
{
    const int64_t *offsets[MAX_LOD] = {0};
    size_t counts[MAX_LOD] = {0}, levels = 0;

    for (size_t i = 0; i < npz->count; i++) {
        const pdm_npz_key key = pdm_npz_key_parse(npz->items[i].key);
        const pdm_tensor *t = &npz->items[i].tensor;
        if (key.kind != PDM_NPZ_LOD || key.lod_of_out != of_out || key.level >= MAX_LOD ||
            key.name_len != strlen(name) || memcmp(key.name, name, key.name_len) != 0)
            continue;
        if (t->dtype != PDM_I64 || t->rank != 1)
            return PDM_INVALID_ARG;
        offsets[key.level] = t->data;
        counts[key.level] = (size_t)t->dims[0];
        if (levels <= key.level)
            levels = key.level + 1;
    }
    return levels == 0 ? PDM_OK : pdm_tensor_set_lod(tensor, levels, offsets, counts);
}

pdm_status pdm_npz_add_lod(pdm_npz *npz, const char *side, const char *name,
                           const pdm_tensor *tensor)
{
    pdm_status status = PDM_OK;

    for (size_t i = 0; status == PDM_OK && i < pdm_tensor_num_lod(tensor); i++) {
        pdm_tensor level = {0};
        pdm_buf key;
        size_t count;
        const int64_t *offsets = pdm_tensor_lod(tensor, i, &count);
        pdm_buf_init(&key);
        pdm_buf_puts(&key, "lod:");
        pdm_buf_puts(&key, side);
        pdm_buf_putc(&key, ':');
        pdm_buf_puts(&key, name);
        pdm_buf_putc(&key, ':');
        pdm_buf_i64(&key, (int64_t)i);
        status = pdm_buf_ok(&key) ? pdm_tensor_alloc(&level, PDM_I64, 1, &(int64_t){(int64_t)count})
                                  : PDM_NOMEM;
        if (status == PDM_OK) {
            memcpy(level.data, offsets, count * sizeof *offsets);
            status = pdm_npz_add(npz, key.data, &level);
        }
        pdm_tensor_deinit(&level);
        pdm_buf_deinit(&key);
    }
    return status;
}

/* ---- the header of an array: a dictionary in Python's spelling ------------------------------- */

typedef struct header {
    char descr[32];
    bool fortran, has_descr, has_order, has_shape;
    int rank;
    int64_t dims[PDM_MAX_RANK];
    bool deep; /* more dimensions than we have */
} header;

static void blanks(const char **p)
{
    while (**p == ' ' || **p == '\n' || **p == '\t')
        ++*p;
}

static bool eat(const char **p, char c)
{
    blanks(p);
    if (**p != c)
        return false;
    ++*p;
    return true;
}

static bool quoted(const char **p, char *out, size_t size)
{
    blanks(p);
    const char quote = **p;
    if (quote != '\'' && quote != '"')
        return false;
    const char *end = strchr(*p + 1, quote);
    if (!end || (size_t)(end - *p - 1) >= size)
        return false;
    memcpy(out, *p + 1, (size_t)(end - *p - 1));
    out[end - *p - 1] = 0;
    *p = end + 1;
    return true;
}

static bool boolean(const char **p, bool *out)
{
    blanks(p);
    *out = !strncmp(*p, "True", 4);
    if (!*out && strncmp(*p, "False", 5) != 0)
        return false;
    *p += *out ? 4 : 5;
    return true;
}

static bool shape(const char **p, header *h)
{
    if (!eat(p, '('))
        return false;
    while (!eat(p, ')')) {
        char *end;
        blanks(p);
        if (**p < '0' || **p > '9')
            return false;
        const unsigned long long value = strtoull(*p, &end, 10);
        if (value > INT64_MAX)
            return false;
        *p = *end == 'L' ? end + 1 : end;
        if (h->rank < PDM_MAX_RANK)
            h->dims[h->rank++] = (int64_t)value;
        else
            h->deep = true;
        if (!eat(p, ',') && **p != ')')
            return false;
    }
    return true;
}

static bool parse_header(const char *p, header *h)
{
    char key[32];

    *h = (header){0};
    if (!eat(&p, '{'))
        return false;
    while (!eat(&p, '}')) {
        if (!quoted(&p, key, sizeof key) || !eat(&p, ':'))
            return false;
        if (!strcmp(key, "descr") && !h->has_descr) {
            /* Records have a list here: known, and not a number type. */
            blanks(&p);
            if (*p == '[') {
                h->has_descr = true;
                strcpy(h->descr, "V");
                return true;
            }
            h->has_descr = quoted(&p, h->descr, sizeof h->descr);
        } else if (!strcmp(key, "fortran_order") && !h->has_order) {
            h->has_order = boolean(&p, &h->fortran);
        } else if (!strcmp(key, "shape") && !h->has_shape) {
            h->has_shape = shape(&p, h);
        } else {
            return false;
        }
        if (!eat(&p, ',') && (blanks(&p), *p != '}'))
            return false;
    }
    return h->has_descr && h->has_order && h->has_shape;
}

typedef struct code_row {
    char code[4];
    pdm_dtype dtype;
} code_row;

static const code_row codes[] = {
    {"b1", PDM_BOOL}, {"i1", PDM_I8},  {"u1", PDM_U8},  {"i2", PDM_I16},   {"u2", PDM_U16},
    {"i4", PDM_I32},  {"u4", PDM_U32}, {"i8", PDM_I64}, {"u8", PDM_U64},   {"f2", PDM_F16},
    {"f4", PDM_F32},  {"f8", PDM_F64}, {"c8", PDM_C64}, {"c16", PDM_C128},
};

static pdm_status dtype_of(const job *j, const header *h, pdm_dtype *out)
{
    const char *code = h->descr;
    const char order = *code;

    if (order == '<' || order == '>' || order == '|' || order == '=')
        code++;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (strcmp(codes[i].code, code) != 0)
            continue;
        if (order == '>' && pdm_dtype_size(codes[i].dtype) > 1)
            return REFUSE(
                j, PDM_D_NPZ_TYPE,
                "save it in native byte order: array.astype(array.dtype.newbyteorder('<'))",
                "array '%s' is big-endian ('%s'); only little-endian is read", j->key, h->descr);
        *out = codes[i].dtype;
        return PDM_OK;
    }
    if (*code == 'O')
        return REFUSE(j, PDM_D_NPZ_TYPE, "save it with allow_pickle=False and a numeric dtype",
                      "array '%s' holds pickled Python objects, which are never read", j->key);
    return REFUSE(j, PDM_D_NPZ_TYPE, NULL,
                  "array '%s' has the element type '%s', which is not known", j->key, h->descr);
}

/* ---- data ------------------------------------------------------------------------------------ */

static int64_t read_some(source *s, void *out, uint64_t size)
{
    return s->file ? library.fread(s->file, out, size) : read(s->fd, out, (size_t)size);
}

/* Whether something failed for lack of memory only. libzip tells it in several ways; errno was 0.
 */
static bool lacks_memory(const zip_error_t *error)
{
    const int code = library.error_code_zip(error), detail = library.error_code_system(error);

    return code == ZIP_ER_MEMORY || (code == ZIP_ER_ZLIB && detail == Z_MEM_ERROR_CODE) ||
           errno == ENOMEM;
}

static pdm_status take(const job *j, source *s, void *out, uint64_t size, const char *what)
{
    char *to = out;

    if (size > s->left)
        return REFUSE(j, PDM_D_NPZ_FORM, "is the file cut off?", "array '%s' ends in its %s",
                      j->key, what);
    s->left -= size;
    while (size > 0) {
        const uint64_t step = size < ((uint64_t)1 << 30) ? size : (uint64_t)1 << 30;
        errno = 0;
        const int64_t got = read_some(s, to, step);
        if (got < 0 && s->file && lacks_memory(library.file_get_error(s->file)))
            return PDM_NOMEM;
        if (got <= 0)
            return REFUSE(j, PDM_D_NPZ_FORM, "is the file cut off?",
                          "array '%s' cannot be unpacked: its %s is damaged or cut off", j->key,
                          what);
        to += got;
        size -= (uint64_t)got;
    }
    return PDM_OK;
}

static pdm_status take_header(const job *j, source *s, header *h)
{
    unsigned char head[12];
    char *text;
    uint32_t len;

    PDM_TRY(take(j, s, head, 8, "header"));
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return REFUSE(j, PDM_D_NPZ_FORM, NULL, "'%s' is no numpy array", j->key);
    if (head[6] < 1 || head[6] > 3)
        return REFUSE(j, PDM_D_NPZ_FORM, NULL,
                      "array '%s' has format version %d, which is not known", j->key, head[6]);
    PDM_TRY(take(j, s, head + 8, head[6] == 1 ? 2 : 4, "header"));
    len = (uint32_t)head[8] | (uint32_t)head[9] << 8;
    if (head[6] > 1)
        len |= (uint32_t)head[10] << 16 | (uint32_t)head[11] << 24;
    if (len > MAX_HEADER)
        return REFUSE(j, PDM_D_NPZ_LIMIT, NULL, "array '%s' has a header of %lu bytes", j->key,
                      (unsigned long)len);
    text = malloc((size_t)len + 1);
    if (!text)
        return PDM_NOMEM;
    pdm_status status = take(j, s, text, len, "header");
    text[status == PDM_OK ? len : 0] = 0;
    if (status == PDM_OK && !parse_header(text, h))
        status = REFUSE(j, PDM_D_NPZ_FORM, NULL, "the header of array '%s' cannot be read", j->key);
    free(text);
    return status;
}

/* From first-axis-fastest to last-axis-fastest order. */
static pdm_status from_fortran(pdm_tensor *t)
{
    const size_t size = pdm_dtype_size(t->dtype);
    const int64_t count = pdm_tensor_count(t);
    int64_t index[PDM_MAX_RANK] = {0}, stride[PDM_MAX_RANK];
    pdm_tensor out = {0};

    if (t->rank < 2 || count == 0)
        return PDM_OK;
    PDM_TRY(pdm_tensor_alloc(&out, t->dtype, t->rank, t->dims));
    stride[0] = 1;
    for (int d = 1; d < t->rank; d++)
        stride[d] = stride[d - 1] * t->dims[d - 1];
    int64_t from = 0;
    for (int64_t i = 0; i < count; i++) {
        memcpy((char *)out.data + (size_t)i * size, (const char *)t->data + (size_t)from * size,
               size);
        for (int d = t->rank - 1; d >= 0; d--) {
            from += stride[d];
            if (++index[d] < t->dims[d])
                break;
            from -= index[d] * stride[d];
            index[d] = 0;
        }
    }
    pdm_tensor_deinit(t);
    *t = out;
    return PDM_OK;
}

/* A byte of another value than 0 and 1 in a bool would confuse every reader of it. */
static void tidy_bools(pdm_tensor *t)
{
    unsigned char *p = t->data;

    for (int64_t i = 0, n = pdm_tensor_count(t); i < n; i++)
        p[i] = p[i] != 0;
}

static pdm_status read_array(job *j, source *s, pdm_tensor *out)
{
    header h;
    pdm_dtype dtype = PDM_UNDEFINED;
    uint64_t count, bytes;

    PDM_TRY(take_header(j, s, &h));
    PDM_TRY(dtype_of(j, &h, &dtype));
    if (h.deep)
        return REFUSE(j, PDM_D_NPZ_LIMIT, NULL, "array '%s' has more than %d dimensions", j->key,
                      PDM_MAX_RANK);
    if (!pdm_count_elements(h.dims, (size_t)h.rank, &count) ||
        !pdm_mul_u64(count, pdm_dtype_size(dtype), &bytes) || bytes != s->left)
        return REFUSE(j, PDM_D_NPZ_FORM, "is the file cut off?",
                      "array '%s' has %llu bytes of data, which is not what its shape says", j->key,
                      (unsigned long long)s->left);
    PDM_TRY(pdm_tensor_alloc(out, dtype, h.rank, h.dims));
    PDM_TRY(take(j, s, out->data, bytes, "data"));
    /* The end of an entry is where its checksum is looked at. */
    char extra;
    errno = 0;
    const int64_t more = read_some(s, &extra, 1);
    if (more < 0 && s->file && lacks_memory(library.file_get_error(s->file)))
        return PDM_NOMEM;
    if (more != 0)
        return REFUSE(j, PDM_D_NPZ_FORM, NULL, "array '%s' is damaged (checksum)", j->key);
    if (dtype == PDM_BOOL)
        tidy_bools(out);
    return h.fortran ? from_fortran(out) : PDM_OK;
}

/* ---- archives -------------------------------------------------------------------------------- */

static char *key_of(const char *name)
{
    char *key = strdup(name);
    const size_t len = strlen(name);

    if (key && len > 4 && !strcmp(name + len - 4, ".npy"))
        key[len - 4] = 0;
    return key;
}

/* Sizes are what the archive claims; they are refused before anything is unpacked. */
static pdm_status check_entry(job *j, const zip_stat_t *st)
{
    const zip_uint64_t need = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                              ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;

    if ((st->valid & need) != need)
        return REFUSE(j, PDM_D_NPZ_FORM, NULL, "the archive does not tell the sizes of '%s'",
                      j->key);
    if (st->encryption_method != ZIP_EM_NONE ||
        (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE))
        return REFUSE(j, PDM_D_NPZ_FORM, NULL, "'%s' is packed in a way that numpy does not use",
                      j->key);
    if (st->size / MAX_RATIO > st->comp_size + 1)
        return REFUSE(j, PDM_D_NPZ_FORM, NULL,
                      "'%s' claims to unpack %llu bytes from %llu, which cannot be", j->key,
                      (unsigned long long)st->size, (unsigned long long)st->comp_size);
    if (st->size > j->budget)
        return REFUSE(j, PDM_D_NPZ_LIMIT, NULL,
                      "the arrays of the file need more memory than is allowed ('%s' alone %llu "
                      "bytes)",
                      j->key, (unsigned long long)st->size);
    j->budget -= st->size;
    return PDM_OK;
}

static pdm_status read_entry(pdm_npz *npz, job *j, zip_t *zip, zip_uint64_t index)
{
    zip_stat_t st;
    pdm_tensor tensor = {0};
    source s = {0};
    char *key = NULL;
    pdm_status status;

    j->key = "?";
    if (library.stat_index(zip, index, 0, &st) != 0 || !(st.valid & ZIP_STAT_NAME))
        return REFUSE(j, PDM_D_NPZ_FORM, NULL, "an entry of the archive cannot be read");
    const size_t len = strlen(st.name);
    if (len > 0 && st.name[len - 1] == '/')
        return PDM_OK; /* a folder */
    key = key_of(st.name);
    if (!key)
        return PDM_NOMEM;
    j->key = key;
    PDM_TRY_GOTO(check_entry(j, &st));
    if (pdm_npz_find(npz, key)) {
        status = REFUSE(j, PDM_D_NPZ_FORM, NULL, "array '%s' is there twice", key);
        goto done;
    }
    errno = 0;
    s.file = library.fopen_index(zip, index, 0);
    s.left = st.size;
    if (!s.file) {
        status = lacks_memory(library.get_error(zip))
                     ? PDM_NOMEM
                     : REFUSE(j, PDM_D_NPZ_FORM, NULL, "array '%s' cannot be unpacked: %s", key,
                              library.strerror(zip));
        goto done;
    }
    PDM_TRY_GOTO(read_array(j, &s, &tensor));
    status = pdm_npz_add(npz, key, &tensor);
done:
    if (s.file)
        library.fclose(s.file);
    pdm_tensor_deinit(&tensor);
    free(key);
    return status;
}

static pdm_status read_archive(pdm_npz *npz, job *j)
{
    int error = 0;
    pdm_status status = PDM_OK;

    PDM_TRY(need_library(j));
    errno = 0;
    zip_t *zip = library.open(j->path, ZIP_RDONLY | ZIP_CHECKCONS, &error);

    if (!zip) {
        zip_error_t e;
        const bool memory = errno == ENOMEM;
        library.error_init_with_code(&e, error);
        errno = memory ? ENOMEM : 0;
        status = lacks_memory(&e)
                     ? PDM_NOMEM
                     : REFUSE(j, PDM_D_NPZ_FORM, "is the file cut off?",
                              "the file is no sound .npz archive: %s", library.error_strerror(&e));
        library.error_fini(&e);
        return status;
    }
    const zip_int64_t count = library.get_num_entries(zip, 0);
    if (count > PDM_NPZ_MAX_ENTRIES)
        status = REFUSE(j, PDM_D_NPZ_LIMIT, NULL, "the archive has %lld entries", (long long)count);
    for (zip_int64_t i = 0; status == PDM_OK && i < count; i++)
        status = read_entry(npz, j, zip, (zip_uint64_t)i);
    library.discard(zip);
    return status;
}

/* A lone array is called as its file is. */
static pdm_status read_lone(pdm_npz *npz, job *j, int fd, uint64_t size)
{
    const char *slash = strrchr(j->path, '/');
    char *key = key_of(slash ? slash + 1 : j->path);
    source s = {.fd = fd, .left = size};
    pdm_tensor tensor = {0};
    pdm_status status;

    if (!key)
        return PDM_NOMEM;
    j->key = key;
    status = size > j->budget ? REFUSE(j, PDM_D_NPZ_LIMIT, NULL, "the file is larger than allowed")
                              : PDM_OK;
    if (status == PDM_OK)
        status = read_array(j, &s, &tensor);
    if (status == PDM_OK)
        status = pdm_npz_add(npz, key, &tensor);
    pdm_tensor_deinit(&tensor);
    free(key);
    return status;
}

pdm_status pdm_npz_read(pdm_npz *npz, const char *path, uint64_t max_bytes, pdm_diag_sink *sink)
{
    job j = {.path = path, .sink = sink, .budget = max_bytes ? max_bytes : PDM_NPZ_MAX_BYTES};
    char magic[6] = {0};
    uint64_t size;
    int fd;
    pdm_status status;

    PDM_TRY(pdm_file_open(path, sink, &fd, &size));
    if (size == 0)
        status = REFUSE(&j, PDM_D_NPZ_FORM, NULL, "the file is empty");
    else if (size < sizeof magic || pdm_file_read_at(fd, 0, magic, sizeof magic) != PDM_OK)
        status =
            REFUSE(&j, PDM_D_NPZ_FORM, "is the file cut off?", "the file is neither .npz nor .npy");
    else if (!memcmp(magic, "\x93NUMPY", 6))
        status = read_lone(npz, &j, fd, size);
    else if (!memcmp(magic, "PK", 2))
        status = read_archive(npz, &j);
    else
        status = REFUSE(&j, PDM_D_NPZ_FORM, NULL, "the file is neither .npz nor .npy");
    close(fd);
    return status;
}
