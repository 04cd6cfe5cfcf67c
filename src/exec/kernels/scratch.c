/* Shared by the detection, sequence and linear algebra kernels. */
#include "exec/kernels/scratch.h"

#include <stdio.h>

bool pdm_k_seqs(pdm_k *k, const pdm_tensor *t, int level, int64_t end, pdm_seqs *out)
{
    size_t count;
    const int levels = (int)pdm_tensor_num_lod(t);

    if (!PDM_K_OK(k))
        return false;
    if (level < 0)
        level += levels;
    const int64_t *off = level >= 0 ? pdm_tensor_lod(t, (size_t)level, &count) : NULL;
    if (!off || count < 1) {
        pdm_k_fail(k, "the operand has no LoD (%d levels)", levels);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (off[i] < (i ? off[i - 1] : 0) || (i == 0 && off[0] != 0)) {
            pdm_k_fail(k, "the operand's LoD is not ascending");
            return false;
        }
    }
    if (end >= 0 && off[count - 1] != end) {
        pdm_k_fail(k, "the operand's LoD ends at %lld, it has %lld rows", (long long)off[count - 1],
                   (long long)end);
        return false;
    }
    *out = (pdm_seqs){off, (int64_t)count - 1};
    return true;
}

bool pdm_k_row_seqs(pdm_k *k, const pdm_tensor *t, pdm_seqs *out)
{
    if (PDM_K_OK(k) && t->rank < 1)
        pdm_k_fail(k, "the operand has no rows");
    return PDM_K_OK(k) && pdm_k_seqs(k, t, -1, t->dims[0], out);
}

pdm_status pdm_k_set_lod1(pdm_k *k, pdm_tensor *t, const int64_t *off, int64_t count)
{
    const size_t n = (size_t)count + 1;

    if (!PDM_K_OK(k) || !t)
        return k->status;
    if (pdm_tensor_set_lod(t, 1, &off, &n) != PDM_OK)
        return pdm_k_nomem(k);
    return PDM_OK;
}

pdm_tensor *pdm_k_slot_out(pdm_k *k, const char *slot, pdm_dtype dtype, int rank,
                           const int64_t *dims)
{
    pdm_tensor *out = pdm_k_out_slot(k, slot);

    if (!out)
        return NULL;
    if (rank < 0 || rank > PDM_MAX_RANK) {
        pdm_k_fail(k, "the result would have %d dimensions", rank);
        return NULL;
    }
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) {
            pdm_k_fail(k, "the result would have %lld as its dimension %d", (long long)dims[i], i);
            return NULL;
        }
    }
    if (pdm_tensor_alloc(out, dtype, rank, dims) != PDM_OK) {
        pdm_k_nomem(k);
        return NULL;
    }
    return out;
}

const pdm_tensor *pdm_k_slot_in(pdm_k *k, const char *slot)
{
    const pdm_tensor *t = pdm_k_slot(k, slot);

    if (!t)
        pdm_k_fail(k, "operand '%s' holds no tensor", slot);
    return t;
}
