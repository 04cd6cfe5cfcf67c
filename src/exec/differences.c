/* Which known differences show in a call. */
#include "exec/differences.h"

#include <stdlib.h>
#include <string.h>

#include "exec/kernel.h"

const pdm_difference_row pdm_differences[PDM_NUM_DIFFERENCES] = {
#define DIFFERENCE(code, id, legacy_ops, pir_ops, when, before, now)                               \
    {id, legacy_ops, pir_ops, when, before, now},
#include "exec/differences.def"
#undef DIFFERENCE
};

_Static_assert(PDM_NUM_DIFFERENCES < 32, "a set has 32 bits");

bool pdm_k_before(pdm_k *k, pdm_difference which)
{
    k->asked |= PDM_DIFF_BIT(which);
    return (k->before & PDM_DIFF_BIT(which)) != 0;
}

pdm_status pdm_k_call(pdm_k *k, pdm_kernel_fn fn)
{
    const bool outer = pdm_half_truncate((k->before & PDM_DIFF_BIT(PDM_DIFF_HALF)) != 0);
    const pdm_status status = fn(k);

    pdm_half_truncate(outer);
    return status == PDM_OK ? k->status : status;
}

static bool is_half(const pdm_value *value)
{
    return value && value->kind == PDM_VALUE_TENSOR &&
           (value->tensor.dtype == PDM_F16 || value->tensor.dtype == PDM_BF16);
}

/* What may show: differences that the kernel asked for, and rounding where there is a half. */
static uint32_t candidates(const pdm_k *done)
{
    uint32_t set = done->asked;

    for (size_t i = 0; i < done->num_out; i++) {
        const pdm_value *value = done->out[i];
        if (is_half(value))
            set |= PDM_DIFF_BIT(PDM_DIFF_HALF);
        /* Arrays and vectors only hold what others have computed. */
        if (value && value->kind != PDM_VALUE_TENSOR && value->kind != PDM_VALUE_NONE)
            return 0;
    }
    return set & done->before;
}

/* Results of the call with another set of differences; values are the callers. */
static pdm_status repeat(const pdm_k *done, pdm_kernel_fn fn, uint32_t before, pdm_value *values,
                         pdm_value **pointers)
{
    pdm_rng rng = {{1, 2, 3, 4}};
    pdm_k k = {.op = done->op,
               .desc = done->desc,
               .in = done->in,
               .num_in = done->num_in,
               .out = pointers,
               .num_out = done->num_out,
               .out_counts = done->out_counts,
               .attrs = done->attrs,
               .in_slots = done->in_slots,
               .out_slots = done->out_slots,
               .rng = &rng,
               .pool = done->pool,
               .legacy = done->legacy,
               .before = before,
               .reference = done->reference,
               .temp_pool = done->temp_pool};

    for (size_t i = 0; i < done->num_out; i++) {
        pdm_value_deinit(&values[i]);
        pointers[i] = done->out[i] ? &values[i] : NULL;
    }
    const pdm_status status = pdm_k_call(&k, fn);
    pdm_k_end(&k);
    return status;
}

static bool same_value(const pdm_value *a, const pdm_value *b)
{
    if (a->kind != b->kind || a->kind != PDM_VALUE_TENSOR)
        return a->kind == b->kind;
    const pdm_tensor *x = &a->tensor, *y = &b->tensor;
    return x->dtype == y->dtype && x->rank == y->rank &&
           memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) == 0 &&
           (pdm_tensor_bytes(x) == 0 || memcmp(x->data, y->data, pdm_tensor_bytes(x)) == 0);
}

static bool same_values(const pdm_value *a, const pdm_value *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!same_value(&a[i], &b[i]))
            return false;
    }
    return true;
}

pdm_status pdm_k_differences(const pdm_k *done, pdm_kernel_fn fn, uint32_t *out_set)
{
    const uint32_t set = candidates(done);
    const size_t n = done->num_out;
    uint32_t found = 0;

    *out_set = 0;
    if (set == 0)
        return PDM_OK;
    pdm_value *now = calloc(2 * n + 1, sizeof *now), *then = now + n;
    pdm_value **pointers = calloc(n + 1, sizeof *pointers);
    pdm_status status = now && pointers ? PDM_OK : PDM_NOMEM;
    if (status == PDM_OK)
        status = repeat(done, fn, 0, now, pointers);
    for (int i = 0; status == PDM_OK && i < PDM_NUM_DIFFERENCES; i++) {
        if (!(set & PDM_DIFF_BIT(i)))
            continue;
        status = repeat(done, fn, PDM_DIFF_BIT(i), then, pointers);
        if (status == PDM_OK && !same_values(now, then, n))
            found |= PDM_DIFF_BIT(i);
    }
    for (size_t i = 0; now && i < 2 * n; i++)
        pdm_value_deinit(&now[i]);
    free(now);
    free(pointers);
    if (status == PDM_OK)
        *out_set = found;
    return status;
}
