/*
 * Which expert takes which token: counts, limits and places. The framework has these for GPUs only;
 * where the order of its threads decides, tokens come in the order of a loop, as in its documents.
 */
#include "exec/kernels/dispatch.h"

static bool whole(pdm_k *k, const pdm_tensor *x)
{
    if (x && x->dtype != PDM_I32 && x->dtype != PDM_I64)
        pdm_k_unsupported_dtype(k, x->dtype);
    return x && PDM_K_OK(k);
}

/* A copy of x as int64, for counting down; NULL after a failure. */
static int64_t *counts_of(pdm_k *k, const pdm_tensor *x)
{
    const int64_t n = pdm_tensor_count(x);
    int64_t *counts = pdm_k_temp(k, ((size_t)n + 1) * sizeof *counts);

    for (int64_t i = 0; counts && i < n; i++)
        counts[i] = pdm_get_int(x, i);
    return counts;
}

/* numbers: experts; how often each of upper_range is named. */
pdm_status pdm_kernel_number_count(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t experts = pdm_k_int(k, "upper_range");

    if (!whole(k, x))
        return k->status;
    if (experts < 0 || experts > INT32_MAX)
        return pdm_k_fail(k, "%lld experts", (long long)experts);
    if (!pdm_k_out(k, 0, x->dtype, 1, &experts))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    memset(out->data, 0, pdm_tensor_bytes(out));
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++) {
        const int64_t expert = pdm_get_int(x, i);
        if (expert >= 0 && expert < experts)
            pdm_set_int(out, expert, pdm_get_int(out, expert) + 1);
    }
    return k->status;
}

/* expert_count: [workers, experts]; capacity: [experts], which the workers use up in order. */
pdm_status pdm_kernel_limit_by_capacity(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *capacity = pdm_k_in(k, 1);
    const int64_t workers = pdm_k_int(k, "n_worker");

    if (!whole(k, x) || !whole(k, capacity))
        return k->status;
    const int64_t n = pdm_tensor_count(x), experts = workers > 0 ? n / workers : 0;
    if (workers < 1 || n % workers || pdm_tensor_count(capacity) != experts)
        return pdm_k_fail(k, "%lld counts and %lld capacities for %lld workers", (long long)n,
                          (long long)pdm_tensor_count(capacity), (long long)workers);
    int64_t *left = counts_of(k, capacity);
    if (!left || !pdm_k_out_like(k, 0, x))
        return k->status;
    for (int64_t i = 0; i < n; i++) {
        int64_t *rest = &left[i % experts];
        const int64_t wanted = pdm_get_int(x, i), given = wanted < *rest ? wanted : *rest;
        pdm_set_int(pdm_k_out_tensor(k, 0), i, given > 0 ? given : 0);
        *rest -= given > 0 ? given : 0;
    }
    return k->status;
}

/* gate_idx: experts of tokens; expert_count: how many each takes. The others get -1. */
pdm_status pdm_kernel_prune_gate_by_capacity(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *count = pdm_k_in(k, 1);

    if (!whole(k, x) || !whole(k, count))
        return k->status;
    const int64_t experts = pdm_tensor_count(count);
    int64_t *left = counts_of(k, count);
    if (!left || !pdm_k_out_like(k, 0, x))
        return k->status;
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++) {
        const int64_t expert = pdm_get_int(x, i);
        if (expert >= experts)
            return pdm_k_fail(k, "expert %lld of %lld", (long long)expert, (long long)experts);
        const bool taken = expert >= 0 && left[expert]-- > 0;
        pdm_set_int(pdm_k_out_tensor(k, 0), i, taken ? expert : -1);
    }
    return k->status;
}

/* prob [n], topk_value and topk_idx [n, top]: the last expert of a token goes when top times its
 * value is below the random number. */
pdm_status pdm_kernel_random_routing(pdm_k *k)
{
    const pdm_tensor *prob = pdm_k_in(k, 0), *value = pdm_k_in(k, 1), *x = pdm_k_in(k, 2);

    if (!prob || !value || !whole(k, x))
        return k->status;
    if (x->rank != 2 || !pdm_k_same_dims(x, value) || pdm_tensor_count(prob) != x->dims[0])
        return pdm_k_fail(k, "operands that do not fit each other");
    const int64_t rows = x->dims[0], top = x->dims[1];
    if (!pdm_k_out_like(k, 0, x))
        return k->status;
    for (int64_t i = 0; i < rows * top; i++) {
        const bool last = i % top == top - 1;
        const bool goes =
            last && (double)top * pdm_get_double(value, i) < pdm_get_double(prob, i / top);
        pdm_set_int(pdm_k_out_tensor(k, 0), i, goes ? -1 : pdm_get_int(x, i));
    }
    return k->status;
}

/* x: experts of tokens; cum_count: where the tokens of each end; eff_num_len: how many places. */
pdm_status pdm_kernel_assign_pos(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *ends = pdm_k_in(k, 1);
    const int64_t places = pdm_k_in_int(k, 2, 0);

    if (!whole(k, x) || !whole(k, ends))
        return k->status;
    if (places < 0 || places > pdm_tensor_count(x))
        return pdm_k_fail(k, "%lld places for %lld tokens", (long long)places,
                          (long long)pdm_tensor_count(x));
    const int64_t experts = pdm_tensor_count(ends);
    int64_t *next = counts_of(k, ends);
    if (!next || !pdm_k_out(k, 0, PDM_I64, 1, &places))
        return k->status;
    int64_t *out = pdm_k_out_tensor(k, 0)->data;
    memset(out, 0, (size_t)places * sizeof *out);
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++) {
        const int64_t expert = pdm_get_int(x, i);
        if (expert < 0)
            continue;
        if (expert >= experts || next[expert] < 1 || next[expert] > places)
            return pdm_k_fail(k, "token %lld of expert %lld has no place", (long long)i,
                              (long long)expert);
        out[--next[expert]] = i;
    }
    return k->status;
}
