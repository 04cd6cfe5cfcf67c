#include "base/params.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/file.h"

/* A description holds an element type and some dimensions; no writer comes near this. */
enum { MAX_DESC = 1024, READ_AHEAD = 512, WINDOW = 2048 };

/* One record being read: the place in its file, a window of bytes read ahead, and what to say about
 * errors. */
typedef struct reader {
    int fd;
    const char *path, *name;
    pdm_diag_sink *sink;
    pdm_arena *arena;
    uint64_t size, pos;
    uint64_t window_at;
    size_t window_size, read_ahead;
    unsigned char window[WINDOW];
} reader;

void pdm_params_init(pdm_params *params)
{
    *params = (pdm_params){0};
    pdm_arena_init(&params->arena);
}

void pdm_params_deinit(pdm_params *params)
{
    pdm_arena_deinit(&params->arena);
    *params = (pdm_params){0};
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static pdm_loc place(const reader *r, uint64_t offset)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = r->path;
    loc.offset = (int64_t)offset;
    loc.var = r->name;
    return loc;
}

#define BROKEN(r, at, hint, ...)                                                                   \
    pdm_diag((r)->sink, PDM_D_PARAM_HEADER, (pdm_loc[]){place((r), (at))}, (hint), __VA_ARGS__)

static uint64_t left(const reader *r)
{
    return r->size - r->pos;
}

/* The next n bytes (n <= MAX_DESC), without going past them; what is the part of the record. */
static pdm_status peek(reader *r, size_t n, const char *what, const unsigned char **out)
{
    if (n > left(r))
        return BROKEN(r, r->pos, "is the file cut off?",
                      "parameter '%s': the file ends in the %s (%zu bytes needed, %" PRIu64
                      " left)",
                      r->name, what, n, left(r));
    if (r->pos < r->window_at || r->pos + n > r->window_at + r->window_size) {
        const size_t wanted = n > r->read_ahead ? n : r->read_ahead;
        const size_t size = wanted < left(r) ? wanted : (size_t)left(r);
        pdm_loc loc = place(r, r->pos);
        r->window_size = 0;
        if (pdm_file_read_at(r->fd, r->pos, r->window, size) != PDM_OK)
            return pdm_diag(r->sink, PDM_D_FILE_READ, &loc, NULL, "the file cannot be read");
        r->window_at = r->pos;
        r->window_size = size;
    }
    *out = r->window + (r->pos - r->window_at);
    return PDM_OK;
}

static uint64_t little_endian(const unsigned char *p, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static pdm_status number(reader *r, size_t n, const char *what, uint64_t *out)
{
    const unsigned char *p;

    PDM_TRY(peek(r, n, what, &p));
    *out = little_endian(p, n);
    r->pos += n;
    return PDM_OK;
}

static pdm_status skip(reader *r, uint64_t n, const char *what)
{
    if (n > left(r))
        return BROKEN(r, r->pos, NULL,
                      "parameter '%s': the %s has %" PRIu64 " bytes, but only %" PRIu64
                      " are left in the file",
                      r->name, what, n, left(r));
    r->pos += n;
    return PDM_OK;
}

/* ---- the tensor description (a protobuf message of two fields) ------------------------------- */

typedef struct description {
    uint64_t dtype;
    bool has_dtype;
    int64_t dims[PDM_MAX_RANK];
    size_t rank; /* may count more than dims holds */
} description;

static bool varint(const unsigned char **p, const unsigned char *end, uint64_t *out)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 70; shift += 7) {
        if (*p == end)
            return false;
        const unsigned char c = *(*p)++;
        if (shift < 64)
            value |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *out = value;
            return true;
        }
    }
    return false;
}

static void add_dim(description *d, uint64_t value)
{
    if (d->rank < PDM_MAX_RANK)
        d->dims[d->rank] = (int64_t)value;
    d->rank++;
}

static bool take_bytes(const unsigned char **p, const unsigned char *end, uint64_t n)
{
    if (n > (uint64_t)(end - *p))
        return false;
    *p += n;
    return true;
}

/* One field; unknown ones are passed over. */
static bool field(const unsigned char **p, const unsigned char *end, description *d)
{
    uint64_t key, value;

    if (!varint(p, end, &key) || key >> 3 == 0)
        return false;
    switch (key & 7) {
    case 0:
        if (!varint(p, end, &value))
            return false;
        if (key >> 3 == 1) {
            d->dtype = value;
            d->has_dtype = true;
        } else if (key >> 3 == 2) {
            add_dim(d, value);
        }
        return true;
    case 1:
        return take_bytes(p, end, 8);
    case 2: {
        if (!varint(p, end, &value))
            return false;
        const unsigned char *q = *p;
        if (!take_bytes(p, end, value))
            return false;
        while (key >> 3 == 2 && q < *p) {
            if (!varint(&q, *p, &value))
                return false;
            add_dim(d, value);
        }
        return true;
    }
    case 5:
        return take_bytes(p, end, 4);
    default:
        return false;
    }
}

static bool parse_description(const unsigned char *p, size_t size, description *out)
{
    const unsigned char *end = p + size;

    *out = (description){0};
    while (p < end) {
        if (!field(&p, end, out))
            return false;
    }
    return out->has_dtype;
}

/* ---- records --------------------------------------------------------------------------------- */

static pdm_status version_word(reader *r, const char *what)
{
    uint64_t version;
    const uint64_t at = r->pos;

    PDM_TRY(number(r, 4, what, &version));
    if (version != 0)
        return BROKEN(r, at, "does the file belong to this model, and is it a parameter file?",
                      "parameter '%s': the %s is %" PRIu64 ", only 0 is known", r->name, what,
                      version);
    return PDM_OK;
}

static pdm_status lod(reader *r, size_t *out_levels)
{
    uint64_t levels, bytes;
    const uint64_t at = r->pos;

    PDM_TRY(number(r, 8, "number of LoD levels", &levels));
    if (levels > left(r) / 8)
        return BROKEN(r, at, NULL, "parameter '%s': implausible number of LoD levels %" PRIu64,
                      r->name, levels);
    for (uint64_t i = 0; i < levels; i++) {
        const uint64_t level_at = r->pos;
        PDM_TRY(number(r, 8, "size of a LoD level", &bytes));
        if (bytes % 8 != 0)
            return BROKEN(r, level_at, NULL,
                          "parameter '%s': the size of LoD level %" PRIu64 " is %" PRIu64
                          " bytes, no multiple of 8",
                          r->name, i, bytes);
        PDM_TRY(skip(r, bytes, "LoD level"));
    }
    *out_levels = (size_t)levels;
    return PDM_OK;
}

static pdm_status description_size(reader *r, size_t *out)
{
    uint64_t raw;
    const uint64_t at = r->pos;

    PDM_TRY(number(r, 4, "size of the tensor description", &raw));
    const int32_t size = (int32_t)(uint32_t)raw;
    if (size < 0)
        return BROKEN(r, at, NULL,
                      "parameter '%s': the tensor description has the negative size %d", r->name,
                      (int)size);
    if (size > MAX_DESC) {
        const uint32_t swapped = __builtin_bswap32((uint32_t)raw);
        return BROKEN(
            r, at, swapped <= MAX_DESC ? "the file seems to be written in big-endian order" : NULL,
            "parameter '%s': implausible description size %d (at most %d bytes are expected)",
            r->name, (int)size, MAX_DESC);
    }
    *out = (size_t)size;
    return PDM_OK;
}

static pdm_status check_description(reader *r, uint64_t at, const description *d, pdm_param *param)
{
    uint64_t count, bytes;

    param->dtype = d->dtype <= INT32_MAX ? pdm_dtype_from_legacy((int)d->dtype) : PDM_UNDEFINED;
    const size_t element = pdm_dtype_size(param->dtype);
    if (element == 0)
        return BROKEN(r, at, NULL, "parameter '%s': %" PRIu64 " is no known element type", r->name,
                      d->dtype);
    if (d->rank > PDM_MAX_RANK)
        return BROKEN(r, at, NULL, "parameter '%s': %zu dimensions, at most %d are possible",
                      r->name, d->rank, PDM_MAX_RANK);
    for (size_t i = 0; i < d->rank; i++) {
        if (d->dims[i] < 0)
            return BROKEN(r, at, NULL, "parameter '%s': dimension %zu is negative (%" PRId64 ")",
                          r->name, i, d->dims[i]);
    }
    if (!pdm_count_elements(d->dims, d->rank, &count) || !pdm_mul_u64(count, element, &bytes))
        return BROKEN(r, at, NULL, "parameter '%s': the element count overflows", r->name);
    param->data_size = bytes;
    param->rank = d->rank;
    param->dims = pdm_arena_memdup(r->arena, d->dims, d->rank * sizeof *d->dims);
    return param->dims ? PDM_OK : PDM_NOMEM;
}

/* Parts 4 to 7: second version, description, data. */
static pdm_status tensor_body(reader *r, pdm_param *param)
{
    size_t size = 0;
    description d;
    const unsigned char *bytes;

    PDM_TRY(version_word(r, "version of the tensor"));
    PDM_TRY(description_size(r, &size));
    PDM_TRY(peek(r, size, "tensor description", &bytes));
    if (!parse_description(bytes, size, &d))
        return BROKEN(r, r->pos, NULL, "parameter '%s': the tensor description is broken", r->name);
    PDM_TRY(check_description(r, r->pos, &d, param));
    r->pos += size;
    param->data_offset = r->pos;
    if (param->data_size > left(r))
        return BROKEN(r, r->pos, "is the file cut off, or of another model?",
                      "parameter '%s': %" PRIu64 " bytes of data are needed, but only %" PRIu64
                      " are left in the file",
                      r->name, param->data_size, left(r));
    r->pos += param->data_size;
    return PDM_OK;
}

static pdm_status dense(reader *r, pdm_param *param)
{
    PDM_TRY(version_word(r, "version"));
    PDM_TRY(lod(r, &param->num_lod_levels));
    return tensor_body(r, param);
}

static pdm_status selected_rows(reader *r, pdm_param *param)
{
    uint64_t count, bytes, height;

    PDM_TRY(version_word(r, "version"));
    const uint64_t at = r->pos;
    PDM_TRY(number(r, 8, "number of rows", &count));
    if (!pdm_mul_u64(count, 8, &bytes))
        return BROKEN(r, at, NULL, "parameter '%s': implausible number of rows %" PRIu64, r->name,
                      count);
    PDM_TRY(skip(r, bytes, "list of rows"));
    PDM_TRY(number(r, 8, "height", &height));
    return tensor_body(r, param);
}

static pdm_status vocab(reader *r, pdm_param *param)
{
    uint64_t count, length, id;
    const uint64_t at = r->pos;

    PDM_TRY(number(r, 8, "number of tokens", &count));
    /* An entry has at least a length and an id. */
    if (count > left(r) / 12)
        return BROKEN(r, at, NULL, "parameter '%s': implausible number of tokens %" PRIu64, r->name,
                      count);
    r->read_ahead = WINDOW;
    for (uint64_t i = 0; i < count; i++) {
        PDM_TRY(number(r, 8, "length of a token", &length));
        PDM_TRY(skip(r, length, "token"));
        PDM_TRY(number(r, 4, "id of a token", &id));
    }
    param->data_offset = at;
    param->data_size = r->pos - at;
    return PDM_OK;
}

static pdm_status record(reader *r, pdm_param *param)
{
    pdm_status status = PDM_INTERNAL;

    param->path = r->path;
    param->offset = r->pos;
    switch (param->kind) {
    case PDM_PARAM_DENSE:
        status = dense(r, param);
        break;
    case PDM_PARAM_SELECTED_ROWS:
        status = selected_rows(r, param);
        break;
    case PDM_PARAM_VOCAB:
        status = vocab(r, param);
        break;
    }
    param->size = r->pos - param->offset;
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* What a file is that clearly is no parameter file; NULL when it may be one. A vocabulary can begin
 * with any bytes. */
static const char *other_format(const unsigned char *p, size_t size, const char **out_hint)
{
    static const char lfs[] = "version https://git-lfs";

    *out_hint = "parameters that paddle.save wrote (.pdparams) must be saved again with the model";
    if (size >= 3 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5 && p[2] != 0)
        return "this is a pickle (.pdparams), not .pdiparams";
    if (size >= 4 && !memcmp(p, "PK\3\4", 4))
        return "this is a zip archive, not .pdiparams";
    if (size >= sizeof lfs - 1 && !memcmp(p, lfs, sizeof lfs - 1)) {
        *out_hint = "fetch the real file with git lfs pull";
        return "this is a Git LFS pointer, not .pdiparams";
    }
    return NULL;
}

static pdm_status check_start(reader *r, bool vocab_first)
{
    const unsigned char *p;
    const size_t n = left(r) < 32 ? (size_t)left(r) : 32;
    const char *hint;
    pdm_loc loc = place(r, 0);

    if (n == 0 || vocab_first)
        return PDM_OK;
    PDM_TRY(peek(r, n, "header", &p));
    const char *what = other_format(p, n, &hint);
    if (!what)
        return PDM_OK;
    loc.var = NULL;
    return pdm_diag(r->sink, PDM_D_FILE_FORMAT, &loc, hint, "%s", what);
}

static pdm_status left_over(const reader *r, size_t count)
{
    pdm_loc loc = place(r, r->pos);

    if (left(r) == 0)
        return PDM_OK;
    loc.var = NULL;
    return pdm_diag(r->sink, PDM_D_PARAM_LEFT_OVER, &loc, "does the file belong to this model?",
                    "%" PRIu64 " bytes left over after %zu parameter%s", left(r), count,
                    count == 1 ? "" : "s");
}

static pdm_status missing(const reader *r, size_t more)
{
    const pdm_loc loc = place(r, r->pos);
    char others[64] = "";

    if (more > 0)
        snprintf(others, sizeof others, " (nor have %zu more after it)", more);
    return pdm_diag(r->sink, PDM_D_PARAM_MISSING, &loc, "does the file belong to this model?",
                    "parameter '%s' has no data: the file ends before it%s", r->name, others);
}

static pdm_status begin(pdm_params *params, const char *const *names, const pdm_param_kind *kinds,
                        size_t count)
{
    params->items = pdm_arena_calloc(&params->arena, count ? count : 1, sizeof *params->items);
    if (!params->items)
        return PDM_NOMEM;
    params->count = count;
    params->sorted = true;
    for (size_t i = 0; i < count; i++) {
        params->items[i].name = names[i];
        params->items[i].kind = kinds ? kinds[i] : PDM_PARAM_DENSE;
        if (i > 0 && strcmp(names[i - 1], names[i]) >= 0)
            params->sorted = false;
    }
    return PDM_OK;
}

/* All records of items, which must fill the file that r has open. */
static pdm_status scan_file(reader *r, pdm_param *items, size_t count)
{
    r->name = count ? items[0].name : NULL;
    PDM_TRY(check_start(r, count > 0 && items[0].kind == PDM_PARAM_VOCAB));
    for (size_t i = 0; i < count; i++) {
        r->name = items[i].name;
        r->read_ahead = READ_AHEAD;
        if (left(r) == 0)
            return missing(r, count - 1 - i);
        /* After a broken record nothing tells where the next one begins. */
        PDM_TRY(record(r, &items[i]));
    }
    return left_over(r, count);
}

static pdm_status scan_path(pdm_params *params, const char *path, const char *name,
                            pdm_param *items, size_t count, pdm_diag_sink *sink)
{
    reader r = {.sink = sink, .arena = &params->arena, .name = name, .read_ahead = READ_AHEAD};
    const size_t length = strlen(path);

    r.path = pdm_arena_strndup(&params->arena, path, length);
    if (!r.path)
        return PDM_NOMEM;
    PDM_TRY(pdm_file_open(path, sink, &r.fd, &r.size));
    const pdm_status status = scan_file(&r, items, count);
    close(r.fd);
    return status;
}

pdm_status pdm_params_scan_combined(pdm_params *params, const char *path, const char *const *names,
                                    const pdm_param_kind *kinds, size_t count, pdm_diag_sink *sink)
{
    PDM_TRY(begin(params, names, kinds, count));
    const pdm_status status = scan_path(params, path, NULL, params->items, count, sink);
    if (status != PDM_OK)
        params->count = 0;
    return status;
}

/* A name from a model must not lead out of the folder. */
static bool stays_inside(const char *name)
{
    const char *p = name;

    for (;;) {
        const size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        if (!p[n])
            return true;
        p += n + 1;
    }
}

static pdm_status scan_one(pdm_params *params, const char *folder, pdm_param *item,
                           pdm_diag_sink *sink)
{
    pdm_loc loc = PDM_NOWHERE;
    const size_t size = strlen(folder) + strlen(item->name) + 2;

    loc.file = folder;
    loc.var = item->name;
    if (!stays_inside(item->name))
        return pdm_diag(sink, PDM_D_LG_NAME, &loc, NULL,
                        "parameter '%s': the name cannot be that of a file in the folder",
                        item->name);
    char *path = malloc(size);
    if (!path)
        return PDM_NOMEM;
    snprintf(path, size, "%s/%s", folder, item->name);
    loc.file = path;
    pdm_status status;
    if (pdm_file_stat(path, NULL) == PDM_FILE_NONE)
        status = pdm_diag(sink, PDM_D_FILE_MISSING, &loc, "each parameter needs a file of its name",
                          "parameter '%s': its file cannot be found", item->name);
    else
        status = scan_path(params, path, item->name, item, 1, sink);
    free(path);
    return status;
}

pdm_status pdm_params_scan_folder(pdm_params *params, const char *folder, const char *const *names,
                                  const pdm_param_kind *kinds, size_t count, pdm_diag_sink *sink)
{
    pdm_status worst = PDM_OK;

    PDM_TRY(begin(params, names, kinds, count));
    for (size_t i = 0; i < count; i++) {
        const pdm_status status = scan_one(params, folder, &params->items[i], sink);
        /* Files are independent of each other: tell all that is wrong. A missing file counts most.
         */
        if (status != PDM_OK && worst != PDM_IO)
            worst = status;
        if (status == PDM_NOMEM) {
            worst = status;
            break;
        }
    }
    if (worst != PDM_OK)
        params->count = 0;
    return worst;
}

const pdm_param *pdm_params_find(const pdm_params *params, const char *name)
{
    size_t low = 0, high = params->count;

    if (!params->sorted) {
        for (size_t i = 0; i < params->count; i++) {
            if (!strcmp(params->items[i].name, name))
                return &params->items[i];
        }
        return NULL;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(params->items[middle].name, name);
        if (order == 0)
            return &params->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const pdm_param *pdm_params_next(const pdm_params *params, const char *name, size_t *at)
{
    const pdm_param *found = *at < params->count ? &params->items[*at] : NULL;

    if (!found || strcmp(found->name, name) != 0)
        found = pdm_params_find(params, name);
    if (found)
        *at = (size_t)(found - params->items) + 1;
    return found;
}
