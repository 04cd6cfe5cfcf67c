/* The same elements in other places, or repeated. */
#include "exec/kernels/tensor_impl.h"

#include <stdlib.h>

/* ---- transpose ------------------------------------------------------------------------------- */

pdm_status pdm_kernel_transpose(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t perm[PDM_K_MAX_INTS] = {0}, dims[PDM_MAX_RANK], strides[PDM_MAX_RANK], to[PDM_MAX_RANK];
    const size_t n = pdm_k_ints(k, "perm", perm);
    int axes[PDM_K_MAX_INTS];
    unsigned seen = 0;
    pdm_box box = {0};

    if (!PDM_K_OK(k))
        return k->status;
    if (n != (size_t)x->rank)
        return pdm_k_fail(k, "%zu axes are given for %d dimensions", n, x->rank);
    if (!pdm_shape_axes(k, perm, n, x->rank, axes))
        return k->status;
    for (int i = 0; i < x->rank; i++) {
        seen |= 1U << axes[i];
        dims[i] = x->dims[axes[i]];
    }
    if (seen != (1U << x->rank) - 1)
        return pdm_k_fail(k, "an axis is given twice");
    void *out = pdm_k_out(k, 0, x->dtype, x->rank, dims);
    if (!out)
        return k->status;
    pdm_dense_strides(x->rank, x->dims, strides);
    pdm_dense_strides(x->rank, dims, to);
    for (int i = 0; i < x->rank; i++)
        pdm_box_add(&box, dims[i], to[i], strides[axes[i]]);
    pdm_box_copy(k, &box, pdm_dtype_size(x->dtype), out, x->data);
    return k->status;
}

/* ---- repetition ------------------------------------------------------------------------------ */

/* x broadcast to dims, which fit. */
static void expand_into(pdm_k *k, const pdm_tensor *x, int rank, const int64_t *dims, void *out)
{
    int64_t to[PDM_MAX_RANK], from[PDM_MAX_RANK];
    pdm_box box = {0};

    pdm_dense_strides(rank, dims, to);
    pdm_shape_strides(x, rank, dims, from);
    for (int i = 0; i < rank; i++)
        pdm_box_add(&box, dims[i], to[i], from[i]);
    pdm_box_copy(k, &box, pdm_dtype_size(x->dtype), out, x->data);
}

/* Dims of -1 are x's. */
static pdm_status expand(pdm_k *k, const pdm_tensor *x, size_t n, int64_t *dims)
{
    if (!pdm_shape_rank(k, n))
        return k->status;
    if (n < (size_t)x->rank)
        return pdm_k_fail(k, "%d dimensions cannot be expanded to %zu", x->rank, n);
    for (int i = 0; i < (int)n; i++) {
        const int xi = i - ((int)n - x->rank);
        if (dims[i] == -1 && xi >= 0)
            dims[i] = x->dims[xi];
        if (xi >= 0 && x->dims[xi] != 1 && x->dims[xi] != dims[i])
            return pdm_k_fail(k, "a dimension of %lld cannot be expanded to %lld",
                              (long long)x->dims[xi], (long long)dims[i]);
    }
    void *out = pdm_k_out(k, 0, x->dtype, (int)n, dims);
    if (out)
        expand_into(k, x, (int)n, dims, out);
    return k->status;
}

/* x, shape */
pdm_status pdm_kernel_expand(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_k_in_ints(k, 1, dims);

    if (PDM_K_OK(k) && expand(k, x, n, dims) == PDM_OK)
        pdm_keep_lod_of_rows(k, 0, x);
    return k->status;
}

/* x, y; without y the attribute target_shape */
pdm_status pdm_kernel_expand_as(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in_opt(k, 1);
    int64_t dims[PDM_K_MAX_INTS] = {0};
    size_t n = 0;

    if (y) {
        n = (size_t)y->rank;
        memcpy(dims, y->dims, sizeof y->dims);
    } else if (PDM_K_OK(k)) {
        n = pdm_k_ints(k, "target_shape", dims);
    }
    return PDM_K_OK(k) ? expand(k, x, n, dims) : k->status;
}

/* x, repeat_times */
pdm_status pdm_kernel_tile(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t times[PDM_K_MAX_INTS] = {0}, dims[PDM_MAX_RANK], from[PDM_MAX_RANK], to[PDM_MAX_RANK];
    const size_t n = pdm_k_in_ints(k, 1, times);
    pdm_box box = {0};

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, n))
        return k->status;
    const int rank = x->rank > (int)n ? x->rank : (int)n;
    for (int i = 0; i < rank; i++) {
        const int xi = i - (rank - x->rank), ti = i - (rank - (int)n);
        const int64_t time = ti < 0 ? 1 : times[ti];
        if (time < 0 || __builtin_mul_overflow(xi < 0 ? 1 : x->dims[xi], time, &dims[i]))
            return pdm_k_fail(k, "a dimension cannot be repeated %lld times", (long long)time);
    }
    void *out = pdm_k_out(k, 0, x->dtype, rank, dims);
    if (!out)
        return k->status;
    pdm_dense_strides(x->rank, x->dims, from);
    pdm_dense_strides(rank, dims, to);
    for (int i = 0; i < rank; i++) {
        const int xi = i - (rank - x->rank), ti = i - (rank - (int)n);
        const int64_t dim = xi < 0 ? 1 : x->dims[xi];
        pdm_box_add(&box, ti < 0 ? 1 : times[ti], dim * to[i], 0);
        pdm_box_add(&box, dim, to[i], xi < 0 ? 0 : from[xi]);
    }
    pdm_box_copy(k, &box, pdm_dtype_size(x->dtype), out, x->data);
    pdm_keep_lod_of_rows(k, 0, x);
    return k->status;
}

pdm_status pdm_kernel_broadcast_tensors(pdm_k *k)
{
    const size_t n = pdm_k_list_count(k, 0);
    int64_t dims[PDM_MAX_RANK] = {0};
    int rank = 0;

    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        if (x)
            pdm_shape_broadcast(k, x->rank, x->dims, &rank, dims);
    }
    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        void *out = pdm_k_out_at(k, 0, i, x->dtype, rank, dims);
        if (!out)
            continue;
        expand_into(k, x, rank, dims, out);
        pdm_share_lod_at(k, i, x);
    }
    return k->status;
}

/* Places of elements of an axis, each as often as times says (times[0] for all when `alike`). */
static pdm_status repeat(pdm_k *k, const pdm_tensor *x, int axis, const int64_t *times, bool alike)
{
    const int64_t dim = x->dims[axis];
    int64_t total = 0, n = 0;
    bool fits = !alike || (times[0] >= 0 && !__builtin_mul_overflow(dim, times[0], &total));

    for (int64_t i = 0; !alike && fits && i < dim; i++)
        fits = times[i] >= 0 && !__builtin_add_overflow(total, times[i], &total);
    if (!fits || total > INT64_MAX / 8)
        return pdm_k_fail(k, "elements cannot be repeated so often");
    int64_t *index = malloc((size_t)total * sizeof *index + 1);
    if (!index)
        return pdm_k_nomem(k);
    for (int64_t i = 0; total > 0 && i < dim; i++) {
        for (int64_t t = times[alike ? 0 : i]; t > 0; t--)
            index[n++] = i;
    }
    pdm_take(k, x, axis, index, total);
    free(index);
    return k->status;
}

static int repeat_axis(pdm_k *k, const pdm_tensor *x)
{
    const int64_t axis = pdm_k_int(k, "axis");

    if (PDM_K_OK(k) && x->rank == 0)
        pdm_k_fail(k, "a tensor without dimensions has no axis to repeat");
    return PDM_K_OK(k) ? pdm_k_axis(k, axis, x->rank) : 0;
}

pdm_status pdm_kernel_repeat_interleave(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t times = pdm_k_int(k, "repeats");
    const int axis = repeat_axis(k, x);

    return PDM_K_OK(k) ? repeat(k, x, axis, &times, true) : k->status;
}

/* x, repeats */
pdm_status pdm_kernel_repeat_interleave_with_tensor_index(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *repeats = pdm_k_in(k, 1);
    const int axis = repeat_axis(k, x);

    if (!PDM_K_OK(k))
        return k->status;
    const int64_t n = pdm_tensor_count(repeats);
    if (n != x->dims[axis] && n != 1)
        return pdm_k_fail(k, "%lld numbers of repeats for %lld elements", (long long)n,
                          (long long)x->dims[axis]);
    int64_t *times = pdm_indices(k, repeats, INT64_MAX, false);
    if (times)
        repeat(k, x, axis, times, n == 1);
    free(times);
    return k->status;
}

/* ---- turning --------------------------------------------------------------------------------- */

/* The order of elements is turned round along some axes. */
static pdm_status flip(pdm_k *k, const pdm_tensor *x, const int64_t *given, size_t n)
{
    int axes[PDM_K_MAX_INTS];
    int64_t to[PDM_MAX_RANK], from[PDM_MAX_RANK], at = 0;
    pdm_box box = {0};

    if (!pdm_shape_axes(k, given, n, x->rank, axes))
        return k->status;
    void *out = pdm_k_out_like(k, 0, x);
    if (!out || pdm_tensor_count(x) == 0)
        return k->status;
    pdm_dense_strides(x->rank, x->dims, to);
    memcpy(from, to, sizeof from);
    for (size_t i = 0; i < n && x->rank > 0; i++)
        from[axes[i]] = -to[axes[i]];
    for (int i = 0; i < x->rank; i++) {
        if (from[i] < 0)
            at += to[i] * (x->dims[i] - 1);
        pdm_box_add(&box, x->dims[i], to[i], from[i]);
    }
    const size_t size = pdm_dtype_size(x->dtype);
    pdm_box_copy(k, &box, size, out, pdm_at(x->data, at, size));
    return k->status;
}

pdm_status pdm_kernel_flip(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t axes[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_k_ints(k, "axis", axes);

    return PDM_K_OK(k) ? flip(k, x, axes, n) : k->status;
}

/* x, axis */
pdm_status pdm_kernel_reverse(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t axes[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_k_in_ints(k, 1, axes);

    return PDM_K_OK(k) ? flip(k, x, axes, n) : k->status;
}

/* Each axis falls into two pieces that change places: up to 2^rank boxes. */
static void roll_box(pdm_k *k, int rank, const int64_t *dims, const int64_t *shift, unsigned piece,
                     size_t size, void *out, const void *x)
{
    int64_t strides[PDM_MAX_RANK], to = 0, from = 0;
    pdm_box box = {0};

    pdm_dense_strides(rank, dims, strides);
    for (int i = 0; i < rank; i++) {
        const bool end = piece >> i & 1; /* the last elements go to the front */
        if (end)
            from += (dims[i] - shift[i]) * strides[i];
        else
            to += shift[i] * strides[i];
        pdm_box_add(&box, end ? shift[i] : dims[i] - shift[i], strides[i], strides[i]);
    }
    pdm_box_copy(k, &box, size, pdm_at(out, to, size), pdm_at(x, from, size));
}

/* x, shifts; without axes the tensor is one row. */
pdm_status pdm_kernel_roll(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t shifts[PDM_K_MAX_INTS] = {0}, axes[PDM_K_MAX_INTS] = {0}, dims[PDM_MAX_RANK] = {0},
            shift[PDM_MAX_RANK] = {0};
    const size_t n = pdm_k_in_ints(k, 1, shifts), m = pdm_k_ints(k, "axis", axes);

    if (!PDM_K_OK(k))
        return k->status;
    if (m > 0 ? n != m : n != 1)
        return pdm_k_fail(k, "%zu shifts for %zu axes", n, m);
    const int rank = m > 0 ? x->rank : 1;
    memcpy(dims, x->dims, sizeof dims);
    if (m == 0)
        dims[0] = pdm_tensor_count(x);
    for (size_t i = 0; i < n; i++) {
        const int a = pdm_k_axis(k, axes[i], rank);
        if (!PDM_K_OK(k))
            return k->status;
        if (rank > 0 && dims[a] > 0)
            shift[a] = ((shift[a] + shifts[i] % dims[a]) % dims[a] + dims[a]) % dims[a];
    }
    void *out = pdm_k_out_like(k, 0, x);
    for (unsigned piece = 0; out && pdm_tensor_count(x) > 0 && piece < 1U << rank; piece++)
        roll_box(k, rank, dims, shift, piece, pdm_dtype_size(x->dtype), out, x->data);
    return k->status;
}
