#include "base/tensor.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/checked.h"

enum { ALIGNMENT = PDM_TENSOR_ALIGNMENT };

struct pdm_lod {
    atomic_size_t refs;
    size_t num_levels;
    const size_t *counts;         /* behind the struct */
    const int64_t *const *levels; /* likewise */
};

/* ---- references ------------------------------------------------------------------------------ */

void pdm_buffer_retain(pdm_buffer *buffer)
{
    if (buffer)
        atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
}

void pdm_buffer_release(pdm_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (buffer->release)
        buffer->release(buffer);
    else
        free(buffer);
}

static void lod_release(pdm_lod *lod)
{
    if (lod && atomic_fetch_sub_explicit(&lod->refs, 1, memory_order_acq_rel) == 1)
        free(lod);
}

static pdm_lod *lod_retain(pdm_lod *lod)
{
    if (lod)
        atomic_fetch_add_explicit(&lod->refs, 1, memory_order_relaxed);
    return lod;
}

void pdm_tensor_init(pdm_tensor *tensor)
{
    *tensor = (pdm_tensor){0};
}

void pdm_tensor_deinit(pdm_tensor *tensor)
{
    pdm_buffer_release(tensor->buffer);
    lod_release(tensor->lod);
    *tensor = (pdm_tensor){0};
}

/* The struct stands at the start of its block; the data begin at the next aligned place. */
static pdm_status new_buffer(size_t bytes, pdm_buffer **out_buffer, void **out_data)
{
    const size_t extra = sizeof(pdm_buffer) + ALIGNMENT;

    if (bytes > SIZE_MAX - extra)
        return PDM_NOMEM;
    pdm_buffer *buffer = malloc(bytes + extra);
    if (!buffer)
        return PDM_NOMEM;
    atomic_init(&buffer->refs, 1);
    buffer->release = NULL;
    const uintptr_t first = (uintptr_t)(buffer + 1);
    *out_data = (char *)(buffer + 1) + (ALIGNMENT - first % ALIGNMENT) % ALIGNMENT;
    *out_buffer = buffer;
    return PDM_OK;
}

pdm_status pdm_tensor_alloc(pdm_tensor *tensor, pdm_dtype dtype, int rank, const int64_t *dims)
{
    pdm_tensor made = {.dtype = dtype, .rank = rank};
    uint64_t count, bytes;

    if (rank < 0 || rank > PDM_MAX_RANK || pdm_dtype_size(dtype) == 0)
        return PDM_INVALID_ARG;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return PDM_INVALID_ARG;
        made.dims[i] = dims[i];
    }
    if (!pdm_count_elements(dims, (size_t)rank, &count) ||
        !pdm_mul_u64(count, pdm_dtype_size(dtype), &bytes) || bytes > SIZE_MAX)
        return PDM_NOMEM;
    PDM_TRY(new_buffer((size_t)bytes, &made.buffer, &made.data));
    pdm_tensor_deinit(tensor);
    *tensor = made;
    return PDM_OK;
}

void pdm_tensor_ref(pdm_tensor *dst, const pdm_tensor *src)
{
    if (dst == src)
        return;
    const pdm_tensor old = *dst;
    *dst = *src;
    pdm_buffer_retain(dst->buffer);
    lod_retain(dst->lod);
    pdm_buffer_release(old.buffer);
    lod_release(old.lod);
}

pdm_status pdm_tensor_copy(pdm_tensor *dst, const pdm_tensor *src)
{
    pdm_tensor made = {0};

    if (src->dtype == PDM_UNDEFINED) {
        pdm_tensor_deinit(dst);
        return PDM_OK;
    }
    PDM_TRY(pdm_tensor_alloc(&made, src->dtype, src->rank, src->dims));
    memcpy(made.data, src->data, pdm_tensor_bytes(src));
    made.lod = lod_retain(src->lod);
    pdm_tensor_deinit(dst);
    *dst = made;
    return PDM_OK;
}

bool pdm_tensor_is_shared(const pdm_tensor *tensor)
{
    if (tensor->dtype == PDM_UNDEFINED)
        return false;
    return !tensor->buffer || atomic_load_explicit(&tensor->buffer->refs, memory_order_acquire) > 1;
}

pdm_status pdm_tensor_make_writable(pdm_tensor *tensor)
{
    if (!pdm_tensor_is_shared(tensor))
        return PDM_OK;
    const pdm_tensor shared = *tensor;
    pdm_tensor own = {0};
    PDM_TRY(pdm_tensor_copy(&own, &shared));
    pdm_tensor_deinit(tensor);
    *tensor = own;
    return PDM_OK;
}

int64_t pdm_tensor_count(const pdm_tensor *tensor)
{
    int64_t count = 1;

    for (int i = 0; i < tensor->rank; i++)
        count *= tensor->dims[i];
    return tensor->dtype == PDM_UNDEFINED ? 0 : count;
}

size_t pdm_tensor_bytes(const pdm_tensor *tensor)
{
    return (size_t)pdm_tensor_count(tensor) * pdm_dtype_size(tensor->dtype);
}

/* ---- LoD ------------------------------------------------------------------------------------- */

size_t pdm_tensor_num_lod(const pdm_tensor *tensor)
{
    return tensor->lod ? tensor->lod->num_levels : 0;
}

const int64_t *pdm_tensor_lod(const pdm_tensor *tensor, size_t level, size_t *out_count)
{
    if (level >= pdm_tensor_num_lod(tensor)) {
        *out_count = 0;
        return NULL;
    }
    *out_count = tensor->lod->counts[level];
    return tensor->lod->levels[level];
}

pdm_status pdm_tensor_set_lod(pdm_tensor *tensor, size_t num_levels, const int64_t *const *offsets,
                              const size_t *counts)
{
    uint64_t size = sizeof(pdm_lod), total = 0;

    if (num_levels == 0) {
        lod_release(tensor->lod);
        tensor->lod = NULL;
        return PDM_OK;
    }
    for (size_t i = 0; i < num_levels; i++) {
        if (!pdm_add_u64(total, counts[i], &total))
            return PDM_NOMEM;
    }
    uint64_t part;
    if (!pdm_mul_u64(num_levels, sizeof(size_t) + sizeof(int64_t *), &part) ||
        !pdm_add_u64(size, part, &size) || !pdm_mul_u64(total, sizeof(int64_t), &part) ||
        !pdm_add_u64(size, part, &size) || size > SIZE_MAX)
        return PDM_NOMEM;
    pdm_lod *lod = malloc((size_t)size);
    if (!lod)
        return PDM_NOMEM;
    /* Offsets first: they have the strictest alignment. */
    int64_t *data = (int64_t *)(lod + 1);
    const int64_t **levels = (const int64_t **)(data + total);
    size_t *own_counts = (size_t *)(levels + num_levels);
    for (size_t i = 0; i < num_levels; i++) {
        if (counts[i] > 0)
            memcpy(data, offsets[i], counts[i] * sizeof *data);
        levels[i] = data;
        own_counts[i] = counts[i];
        data += counts[i];
    }
    atomic_init(&lod->refs, 1);
    lod->num_levels = num_levels;
    lod->counts = own_counts;
    lod->levels = levels;
    lod_release(tensor->lod);
    tensor->lod = lod;
    return PDM_OK;
}

void pdm_tensor_share_lod(pdm_tensor *dst, const pdm_tensor *src)
{
    pdm_lod *lod = lod_retain(src->lod);

    lod_release(dst->lod);
    dst->lod = lod;
}
