/* What the detection, sequence and linear algebra kernels share: scratch memory, dims, LoD. */
#ifndef PDM_EXEC_KERNELS_SCRATCH_H
#define PDM_EXEC_KERNELS_SCRATCH_H

#include "base/arena.h"
#include "base/checked.h"
#include "exec/kernels/dispatch.h"

#define PDM_K_F32_F64(X, ...)                                                                      \
    X(PDM_F32, f32, float, float, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                             \
    X(PDM_F64, f64, double, double, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)

#define PDM_DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* count zeroed elements that live as long as the arena; NULL fails the call. */
static inline void *pdm_k_scratch(pdm_k *k, pdm_arena *arena, int64_t count, size_t size)
{
    void *p = NULL;

    if (!PDM_K_OK(k))
        return NULL;
    if (count >= 0)
        p = pdm_arena_calloc(arena, (size_t)count, size);
    if (!p)
        pdm_k_nomem(k);
    return p;
}

/* Both are tensors of the same type, or the call failed. */
static inline bool pdm_k_same_dtype(pdm_k *k, const pdm_tensor *a, const pdm_tensor *b)
{
    if (!PDM_K_OK(k))
        return false;
    if (a->dtype != b->dtype)
        pdm_k_fail(k, "operands have different element types, %s and %s", pdm_dtype_name(a->dtype),
                   pdm_dtype_name(b->dtype));
    return PDM_K_OK(k);
}

/* The tensor has the rank, or the call failed. */
static inline bool pdm_k_rank_is(pdm_k *k, const pdm_tensor *t, int rank, const char *what)
{
    if (PDM_K_OK(k) && t->rank != rank)
        pdm_k_fail(k, "%s has %d dimensions, not %d", what, t->rank, rank);
    return PDM_K_OK(k);
}

/* ---- LoD ----------------------------------------------------------------------------------------
 *
 * A view of one level: sequences [0, count) with offsets off[0..count]. Checked: ascending, from 0.
 */
typedef struct pdm_seqs {
    const int64_t *off;
    int64_t count;
} pdm_seqs;

/* Level `level` of t's LoD (from the last one when negative: -1 is the last). Its end is `end`,
 * unless that is negative. Fails the call when the level is not there or does not fit. */
bool pdm_k_seqs(pdm_k *k, const pdm_tensor *t, int level, int64_t end, pdm_seqs *out);
/* The last level over the rows of t. */
bool pdm_k_row_seqs(pdm_k *k, const pdm_tensor *t, pdm_seqs *out);
/* One level of n sequences for a tensor that exists. */
pdm_status pdm_k_set_lod1(pdm_k *k, pdm_tensor *t, const int64_t *off, int64_t count);
/* Elements of one row: the product of dims behind the first. */
static inline int64_t pdm_k_row_size(const pdm_tensor *t)
{
    return pdm_k_product(t->dims, 1, t->rank);
}
/* A result of a legacy op: allocated, or NULL when nobody wants it or the call failed. */
pdm_tensor *pdm_k_slot_out(pdm_k *k, const char *slot, pdm_dtype dtype, int rank,
                           const int64_t *dims);
/* An operand of a legacy op that must be there. */
const pdm_tensor *pdm_k_slot_in(pdm_k *k, const char *slot);
/* Array attributes of legacy ops may be absent: no numbers then. */
static inline size_t pdm_k_ints_or_none(pdm_k *k, const char *name, int64_t out[PDM_K_MAX_INTS])
{
    return pdm_k_has_attr(k, name) ? pdm_k_ints(k, name, out) : 0;
}
static inline size_t pdm_k_floats_or_none(pdm_k *k, const char *name, double out[PDM_K_MAX_INTS])
{
    return pdm_k_has_attr(k, name) ? pdm_k_floats(k, name, out) : 0;
}

#endif
