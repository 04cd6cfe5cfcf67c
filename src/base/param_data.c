/* Data of parameters: read as tensors, and written as records. */
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/file.h"
#include "base/params.h"

void pdm_param_reader_init(pdm_param_reader *reader)
{
    *reader = (pdm_param_reader){.fd = -1};
}

void pdm_param_reader_deinit(pdm_param_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    pdm_param_reader_init(reader);
}

static pdm_status open_file(pdm_param_reader *reader, const char *path, pdm_diag_sink *sink)
{
    uint64_t size;

    if (reader->fd >= 0 && strcmp(reader->path, path) == 0)
        return PDM_OK;
    pdm_param_reader_deinit(reader);
    PDM_TRY(pdm_file_open(path, sink, &reader->fd, &size));
    reader->path = path;
    return PDM_OK;
}

pdm_status pdm_param_read(pdm_param_reader *reader, const pdm_param *param, pdm_diag_sink *sink,
                          pdm_tensor *out)
{
    pdm_loc loc = PDM_NOWHERE;
    bool good;

    if (!param->record)
        PDM_TRY(open_file(reader, param->path, sink));
    PDM_TRY(pdm_tensor_alloc(out, param->dtype, (int)param->rank, param->dims));
    good = pdm_tensor_bytes(out) == param->data_size;
    if (good && param->record)
        memcpy(out->data, param->record + param->data_offset, (size_t)param->data_size);
    else if (good)
        good = pdm_file_read_at(reader->fd, param->data_offset, out->data, param->data_size) ==
               PDM_OK;
    if (good)
        return PDM_OK;
    loc.file = param->path;
    loc.var = param->name;
    return pdm_diag(sink, PDM_D_FILE_READ, &loc, NULL, "the data of parameter '%s' cannot be read",
                    param->name);
}

/* ---- records --------------------------------------------------------------------------------- */

enum { MAX_HEADER = 64 + 11 * PDM_MAX_RANK };

static size_t put_number(unsigned char *out, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(number >> (8 * i));
    return bytes;
}

static size_t put_varint(unsigned char *out, uint64_t number)
{
    size_t n = 0;

    for (; number >= 0x80; number >>= 7)
        out[n++] = (unsigned char)(number | 0x80);
    out[n++] = (unsigned char)number;
    return n;
}

/* Version, no LoD, version, description. */
static size_t put_header(unsigned char *out, const pdm_tensor *tensor, int dtype)
{
    unsigned char description[MAX_HEADER];
    size_t size = 0, n = 0;

    description[size++] = 0x08; /* field 1, a number */
    size += put_varint(description + size, (uint64_t)dtype);
    for (int i = 0; i < tensor->rank; i++) {
        description[size++] = 0x10; /* field 2, not packed */
        size += put_varint(description + size, (uint64_t)tensor->dims[i]);
    }
    n += put_number(out + n, 0, 4);
    n += put_number(out + n, 0, 8);
    n += put_number(out + n, 0, 4);
    n += put_number(out + n, size, 4);
    memcpy(out + n, description, size);
    return n + size;
}

pdm_status pdm_param_make(pdm_arena *arena, const char *name, const pdm_tensor *tensor,
                          pdm_param *out)
{
    unsigned char header[2 * MAX_HEADER];
    const int dtype = pdm_dtype_to_legacy(tensor->dtype);
    uint64_t size;

    if (dtype < 0)
        return PDM_INVALID_ARG;
    const size_t begin = put_header(header, tensor, dtype), bytes = pdm_tensor_bytes(tensor);
    if (!pdm_add_u64(begin, bytes, &size) || size > SIZE_MAX)
        return PDM_NOMEM;
    unsigned char *record = pdm_arena_alloc(arena, (size_t)size);
    const pdm_param p = {.name = pdm_arena_strndup(arena, name, strlen(name)),
                         .kind = PDM_PARAM_DENSE,
                         .dtype = tensor->dtype,
                         .dims = pdm_arena_memdup(arena, tensor->dims,
                                                  (size_t)tensor->rank * sizeof *tensor->dims),
                         .rank = (size_t)tensor->rank,
                         .record = record,
                         .size = size,
                         .data_offset = begin,
                         .data_size = bytes};
    if (!record || !p.name || !p.dims)
        return PDM_NOMEM;
    memcpy(record, header, begin);
    memcpy(record + begin, tensor->data, bytes);
    *out = p;
    return PDM_OK;
}
