/* The same elements in another shape; shapes as tensors. */
#include "exec/kernels/tensor_impl.h"

/* ---- reshape --------------------------------------------------------------------------------- */

/* How many elements the dim -1 stands for. In a tensor without elements dims of 0 are left out of
 * the count when the new shape has some too. */
static int64_t rest_of(const pdm_tensor *x, const int64_t *dims, size_t n)
{
    int64_t have = pdm_tensor_count(x), given = 1;
    bool zero = false;

    for (size_t i = 0; i < n; i++) {
        zero |= dims[i] == 0;
        if (dims[i] > 0 && __builtin_mul_overflow(given, dims[i], &given))
            return 0;
    }
    if (have == 0 && zero) {
        have = 1;
        for (int i = 0; i < x->rank; i++)
            have *= x->dims[i] ? x->dims[i] : 1;
    }
    return have / given;
}

/* Dims of 0 copy x's (but in 3.x not those of a tensor without elements), -1 is the rest. */
static bool new_shape(pdm_k *k, const pdm_tensor *x, int64_t *dims, size_t n)
{
    const bool copies = pdm_tensor_count(x) > 0 || pdm_k_before(k, PDM_DIFF_RESHAPE);
    int64_t *rest = NULL;

    if (!pdm_shape_rank(k, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (dims[i] == 0 && copies && i < (size_t)x->rank)
            dims[i] = x->dims[i];
        if (dims[i] < -1 || (dims[i] == -1 && rest)) {
            pdm_k_fail(k, "the shape has a second -1, or another negative number");
            return false;
        }
        if (dims[i] == -1)
            rest = &dims[i];
    }
    if (rest)
        *rest = rest_of(x, dims, n);
    return true;
}

/* x, shape */
pdm_status pdm_kernel_reshape(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const size_t n = pdm_k_in_ints(k, 1, dims);

    if (!PDM_K_OK(k) || !new_shape(k, x, dims, n))
        return k->status;
    return pdm_share_reshaped(k, x, (int)n, dims, false);
}

pdm_status pdm_kernel_view_shape(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const size_t n = pdm_k_ints(k, "dims", dims);

    if (!PDM_K_OK(k) || !new_shape(k, x, dims, n))
        return k->status;
    return pdm_share_reshaped(k, x, (int)n, dims, false);
}

/* The bytes as another type: the last dim shrinks or grows with the size of elements. */
pdm_status pdm_kernel_view_dtype(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const pdm_dtype dtype = pdm_k_dtype(k, "dtype");
    const int64_t to = (int64_t)pdm_dtype_size(dtype);
    int64_t dims[PDM_MAX_RANK] = {0};

    if (!PDM_K_OK(k))
        return k->status;
    const int64_t from = (int64_t)pdm_dtype_size(x->dtype);
    memcpy(dims, x->dims, sizeof dims);
    if (to == 0 || from == 0)
        return pdm_k_unsupported_dtype(k, dtype);
    if (from != to) {
        if (x->rank == 0 || x->dims[x->rank - 1] * from % to != 0)
            return pdm_k_fail(k, "the last dimension cannot be seen as %s", pdm_dtype_name(dtype));
        dims[x->rank - 1] = x->dims[x->rank - 1] * from / to;
    }
    void *out = pdm_k_out(k, 0, dtype, x->rank, dims);
    if (out)
        memcpy(out, x->data, pdm_tensor_bytes(x));
    return k->status;
}

pdm_status pdm_kernel_flatten(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t dims[PDM_MAX_RANK], start = pdm_k_int(k, "start_axis"),
                                stop = pdm_k_int(k, "stop_axis");
    int n = 0;

    if (!PDM_K_OK(k))
        return k->status;
    const int from = pdm_k_axis(k, start, x->rank), to = pdm_k_axis(k, stop, x->rank);
    if (PDM_K_OK(k) && from > to)
        pdm_k_fail(k, "start_axis is behind stop_axis");
    for (int i = 0; PDM_K_OK(k) && i < from; i++)
        dims[n++] = x->dims[i];
    dims[n++] = PDM_K_OK(k) && x->rank > 0 ? pdm_k_product(x->dims, from, to + 1) : 1;
    for (int i = to + 1; PDM_K_OK(k) && i < x->rank; i++)
        dims[n++] = x->dims[i];
    return pdm_share_reshaped(k, x, n, dims, true);
}

/* x, axis: named axes of 1 go, without names all; others stay. */
pdm_status pdm_kernel_squeeze(pdm_k *k)
{
    int64_t axes[PDM_K_MAX_INTS] = {0}, dims[PDM_MAX_RANK];
    bool gone[PDM_MAX_RANK] = {false};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const size_t count = pdm_k_in_ints(k, 1, axes);
    int n = 0;

    if (!PDM_K_OK(k))
        return k->status;
    for (size_t i = 0; i < count; i++)
        gone[pdm_k_axis(k, axes[i], x->rank)] = true;
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] != 1 || (count > 0 && !gone[i]))
            dims[n++] = x->dims[i];
    }
    return pdm_share_reshaped(k, x, n, dims, true);
}

/* x, axis: axes count in the result as it grows, one after the other. */
pdm_status pdm_kernel_unsqueeze(pdm_k *k)
{
    int64_t axes[PDM_K_MAX_INTS] = {0}, dims[PDM_MAX_RANK + 1] = {0};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const size_t count = pdm_k_in_ints(k, 1, axes);

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, (size_t)x->rank + count))
        return k->status;
    int n = x->rank;
    memcpy(dims, x->dims, sizeof x->dims);
    for (size_t i = 0; i < count && PDM_K_OK(k); i++) {
        const int at = pdm_k_axis(k, axes[i], n + 1);
        memmove(&dims[at + 1], &dims[at], (size_t)(n - at) * sizeof *dims);
        dims[at] = 1;
        n++;
    }
    return pdm_share_reshaped(k, x, n, dims, true);
}

/* ---- shapes as tensors ----------------------------------------------------------------------- */

static pdm_status shape_of(pdm_k *k, pdm_dtype dtype)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    if (!x || !pdm_k_out(k, 0, dtype, 1, &(int64_t){x->rank}))
        return k->status;
    for (int i = 0; i < x->rank; i++)
        pdm_set_int(pdm_k_out_tensor(k, 0), i, x->dims[i]);
    return k->status;
}

pdm_status pdm_kernel_shape(pdm_k *k)
{
    return shape_of(k, PDM_I32);
}

pdm_status pdm_kernel_shape64(pdm_k *k)
{
    return shape_of(k, PDM_I64);
}

/* Two shapes as tensors: the shape after broadcasting. */
pdm_status pdm_kernel_shape_broadcast(pdm_k *k)
{
    int64_t a[PDM_K_MAX_INTS] = {0}, b[PDM_K_MAX_INTS] = {0};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const size_t na = pdm_k_in_ints(k, 0, a), nb = pdm_k_in_ints(k, 1, b);
    int rank = (int)na;

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, na) || !pdm_shape_rank(k, nb) ||
        !pdm_shape_broadcast(k, (int)nb, b, &rank, a) ||
        !pdm_k_out(k, 0, x->dtype, 1, &(int64_t){rank}))
        return k->status;
    for (int i = 0; i < rank; i++)
        pdm_set_int(pdm_k_out_tensor(k, 0), i, a[i]);
    return k->status;
}

pdm_status pdm_kernel_numel(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t *out = x ? pdm_k_out(k, 0, PDM_I64, 0, NULL) : NULL;

    if (out)
        *out = pdm_tensor_count(x);
    return k->status;
}

pdm_status pdm_kernel_is_empty(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    bool *out = x ? pdm_k_out(k, 0, PDM_BOOL, 0, NULL) : NULL;

    if (out)
        *out = pdm_tensor_count(x) == 0;
    return k->status;
}
