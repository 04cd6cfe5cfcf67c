#include "ir/ir_t.h"

#include <string.h>

static bool has_shape(pdm_ir_type_kind kind)
{
    return kind >= PDM_IR_DENSE_TENSOR && kind <= PDM_IR_SPARSE_CSR;
}

static bool has_lod(pdm_ir_type_kind kind)
{
    return kind == PDM_IR_DENSE_TENSOR || kind == PDM_IR_SELECTED_ROWS;
}

static bool has_elements(pdm_ir_type_kind kind)
{
    return kind == PDM_IR_VECTOR || kind == PDM_IR_SPARSE_COO || kind == PDM_IR_SPARSE_CSR;
}

/* Only the fields that the kind has; the rest zero. Nothing is copied; the layout is interned. */
static bool normalize(pdm_ir_context *context, const struct pdm_ir_type_s *in,
                      struct pdm_ir_type_s *out)
{
    *out = (struct pdm_ir_type_s){.kind = in->kind};
    if (in->kind <= PDM_IR_SPARSE_CSR)
        out->dtype = in->dtype;
    if (has_shape(in->kind)) {
        out->rank = in->rank;
        out->dims = in->dims;
        out->layout = context->nchw;
        if (in->layout && in->layout != context->nchw)
            out->layout = pdm_ir_str(context, in->layout);
        if (!out->layout)
            return false;
    }
    if (has_lod(in->kind)) {
        out->lod = in->lod;
        out->num_lod = in->num_lod;
        out->offset = in->offset;
    }
    if (has_elements(in->kind)) {
        out->elements = in->elements;
        out->num_elements = in->num_elements;
    }
    if (in->kind == PDM_IR_SPARSE_COO) {
        out->non_zero_rank = in->non_zero_rank;
        out->non_zero_dims = in->non_zero_dims;
    }
    return true;
}

static uint64_t hash_of(const struct pdm_ir_type_s *t)
{
    uint64_t h = (uint64_t)t->kind << 56 ^ (uint64_t)t->dtype << 48 ^
                 (uint64_t)t->num_elements << 32 ^ (uint64_t)t->non_zero_rank << 16 ^ t->rank ^
                 (uintptr_t)t->layout ^ t->offset * 0x9e3779b97f4a7c15u;

    h = pdm_hash_bytes(t->dims, t->rank * sizeof *t->dims, h);
    for (uint32_t i = 0; i < t->num_lod; i++)
        h = pdm_hash_bytes(t->lod[i], (t->lod[i][0] + 1) * sizeof *t->lod[i], h);
    if (t->num_elements)
        h = pdm_hash_bytes(t->elements, t->num_elements * sizeof *t->elements, h);
    if (t->non_zero_rank)
        h = pdm_hash_bytes(t->non_zero_dims, t->non_zero_rank * sizeof *t->non_zero_dims, h);
    return h;
}

static bool same_bytes(const void *a, const void *b, size_t size)
{
    return size == 0 || !memcmp(a, b, size);
}

static bool equal(const void *object, const void *key)
{
    const struct pdm_ir_type_s *a = object, *b = key;

    if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank ||
        a->layout != b->layout || a->num_lod != b->num_lod || a->offset != b->offset ||
        a->num_elements != b->num_elements || a->non_zero_rank != b->non_zero_rank)
        return false;
    for (uint32_t i = 0; i < a->num_lod; i++) {
        if (a->lod[i][0] != b->lod[i][0] ||
            !same_bytes(a->lod[i], b->lod[i], (a->lod[i][0] + 1) * sizeof *a->lod[i]))
            return false;
    }
    return same_bytes(a->dims, b->dims, a->rank * sizeof *a->dims) &&
           same_bytes(a->elements, b->elements, a->num_elements * sizeof *a->elements) &&
           same_bytes(a->non_zero_dims, b->non_zero_dims,
                      a->non_zero_rank * sizeof *a->non_zero_dims);
}

static bool copy_lod(pdm_arena *arena, struct pdm_ir_type_s *t)
{
    const size_t **lod = pdm_arena_calloc(arena, t->num_lod, sizeof *lod);

    if (!lod)
        return false;
    for (uint32_t i = 0; i < t->num_lod; i++) {
        lod[i] = pdm_arena_memdup(arena, t->lod[i], (t->lod[i][0] + 1) * sizeof *t->lod[i]);
        if (!lod[i])
            return false;
    }
    t->lod = (const size_t *const *)lod;
    return true;
}

/* An arena copy of the array, or NULL for none; false when out of memory. */
#define COPY(arena, array, count)                                                                  \
    ((count) == 0 ? ((array) = NULL, true)                                                         \
                  : ((array) = pdm_arena_memdup((arena), (array), (count) * sizeof *(array)),      \
                     (array) != NULL))

pdm_ir_type pdm_ir_type_intern(pdm_ir_context *context, const struct pdm_ir_type_s *fields)
{
    struct pdm_ir_type_s t;

    if (!normalize(context, fields, &t))
        return NULL;
    const uint64_t hash = hash_of(&t);
    pdm_ir_type found = pdm_ir_storage_find(&context->types, hash, &t, equal);
    if (found)
        return found;
    pdm_arena *arena = &context->arena;
    if (!COPY(arena, t.dims, t.rank) || !COPY(arena, t.elements, t.num_elements) ||
        !COPY(arena, t.non_zero_dims, t.non_zero_rank))
        return NULL;
    if (t.num_lod == 0)
        t.lod = NULL;
    else if (!copy_lod(arena, &t))
        return NULL;
    pdm_ir_type made = pdm_arena_memdup(arena, &t, sizeof t);
    return made && pdm_ir_storage_add(&context->types, hash, made) ? made : NULL;
}

pdm_ir_type pdm_ir_type_element(pdm_ir_context *context, pdm_dtype dtype)
{
    return pdm_ir_type_intern(context,
                              &(struct pdm_ir_type_s){.kind = PDM_IR_ELEMENT, .dtype = dtype});
}

pdm_ir_type pdm_ir_type_tensor(pdm_ir_context *context, pdm_dtype dtype, const int64_t *dims,
                               size_t rank)
{
    if (rank > UINT32_MAX)
        return NULL;
    return pdm_ir_type_intern(context, &(struct pdm_ir_type_s){.kind = PDM_IR_DENSE_TENSOR,
                                                               .dtype = dtype,
                                                               .rank = (uint32_t)rank,
                                                               .dims = dims});
}

pdm_ir_type pdm_ir_type_array(pdm_ir_context *context, pdm_dtype dtype, const int64_t *dims,
                              size_t rank, const char *layout)
{
    if (rank > UINT32_MAX)
        return NULL;
    return pdm_ir_type_intern(context, &(struct pdm_ir_type_s){.kind = PDM_IR_TENSOR_ARRAY,
                                                               .dtype = dtype,
                                                               .rank = (uint32_t)rank,
                                                               .dims = dims,
                                                               .layout = layout});
}

pdm_ir_type pdm_ir_type_vector(pdm_ir_context *context, const pdm_ir_type *elements, size_t count)
{
    if (count > UINT32_MAX)
        return NULL;
    return pdm_ir_type_intern(context, &(struct pdm_ir_type_s){.kind = PDM_IR_VECTOR,
                                                               .num_elements = (uint32_t)count,
                                                               .elements = elements});
}
