/* Places of extremes. */
#include <math.h>

#include "exec/kernels/reduce_impl.h"

/* The first of the largest; NaN never is. */
#define ARG_LOOP(code, suffix, type, acc, load, store, name, op)                                   \
    static int64_t name##_row_##suffix(const type *x, int64_t n, int64_t stride)                   \
    {                                                                                              \
        int64_t best = 0;                                                                          \
        acc value = load(x[0]);                                                                    \
        for (int64_t i = 1; i < n; i++) {                                                          \
            const acc v = load(x[i * stride]);                                                     \
            if (v op value || (value != value && v == v)) {                                        \
                best = i;                                                                          \
                value = v;                                                                         \
            }                                                                                      \
        }                                                                                          \
        return best;                                                                               \
    }                                                                                              \
    static void name##_##suffix(const void *x, const pdm_rows *rows, pdm_tensor *out)              \
    {                                                                                              \
        for (int64_t o = 0; o < rows->outer; o++) {                                                \
            for (int64_t i = 0; i < rows->inner; i++)                                              \
                pdm_set_int(out, o *rows->inner + i,                                               \
                            name##_row_##suffix((const type *)x + o * rows->n * rows->inner + i,   \
                                                rows->n, rows->inner));                            \
        }                                                                                          \
    }
PDM_K_REALS(ARG_LOOP, argmax, >)
PDM_K_REALS(ARG_LOOP, argmin, <)

/* x as one row. */
static void flatten_rows(pdm_rows *rows, const pdm_tensor *x)
{
    rows->axis = 0;
    rows->outer = rows->inner = 1;
    rows->n = pdm_tensor_count(x);
}

static int arg_dims(const pdm_tensor *x, const pdm_rows *rows, bool flatten, bool keep,
                    int64_t *dims)
{
    int rank = 0;

    for (int d = 0; d < x->rank; d++) {
        if (!flatten && d != rows->axis)
            dims[rank++] = x->dims[d];
        else if (keep)
            dims[rank++] = 1;
    }
    return rank;
}

static pdm_status arg_with(pdm_k *k, bool max)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t axis = pdm_k_in_int(k, 1, pdm_k_int_or(k, "axis", -1));
    const bool flatten = pdm_k_bool_or(k, "flatten", false);
    const bool keep = pdm_k_bool_or(k, "keepdims", false);
    pdm_dtype dtype = pdm_k_has_attr(k, "dtype") ? pdm_k_dtype(k, "dtype") : PDM_I64;
    int64_t dims[PDM_MAX_RANK];
    pdm_rows rows;
    if (!x || !PDM_K_OK(k))
        return k->status;
    if (dtype != PDM_I32)
        dtype = PDM_I64;
    if (flatten)
        flatten_rows(&rows, x);
    else if (!pdm_rows_init(k, &rows, x, axis))
        return k->status;

    const int rank = arg_dims(x, &rows, flatten, keep, dims);
    if (!pdm_k_out(k, 0, dtype, rank, dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    if (pdm_tensor_count(out) == 0)
        return k->status;
    if (rows.n == 0)
        return pdm_k_fail(k, "there are no elements to search");
    if (max)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_REALS, argmax, x->data, &rows, out);
    else
        PDM_K_DISPATCH(k, x->dtype, PDM_K_REALS, argmin, x->data, &rows, out);
    return k->status;
}

pdm_status pdm_kernel_argmax(pdm_k *k)
{
    return arg_with(k, true);
}

pdm_status pdm_kernel_argmin(pdm_k *k)
{
    return arg_with(k, false);
}

/* ---- extremes with their places -------------------------------------------------------------- */

static void copy_picked(const pdm_tensor *x, const pdm_rows *rows, const pdm_tensor *places,
                        char *out)
{
    const size_t size = pdm_dtype_size(x->dtype);

    for (int64_t r = 0; r < rows->outer * rows->inner; r++) {
        const int64_t at = r / rows->inner * rows->n * rows->inner + r % rows->inner +
                           pdm_get_int(places, r) * rows->inner;
        memcpy(out + (size_t)r * size, (const char *)x->data + (size_t)at * size, size);
    }
}

static pdm_status extreme_with_place(pdm_k *k, bool max)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool flatten = pdm_k_bool_or(k, "flatten", false);
    const bool keep = pdm_k_bool_or(k, "keepdim", false);
    int64_t dims[PDM_MAX_RANK];
    pdm_rows rows;
    pdm_tensor places;
    if (!x || !PDM_K_OK(k))
        return k->status;
    if (flatten)
        flatten_rows(&rows, x);
    else if (!pdm_rows_init(k, &rows, x, pdm_k_int_or(k, "dim", -1)))
        return k->status;
    const int rank = arg_dims(x, &rows, flatten, keep, dims);

    char *values = pdm_k_out(k, 0, x->dtype, rank, dims);
    if (!values || pdm_tensor_count(pdm_k_out_tensor(k, 0)) == 0)
        return k->status;
    if (rows.n == 0)
        return pdm_k_fail(k, "there are no elements to search");
    pdm_tensor_init(&places);
    if (pdm_tensor_alloc(&places, PDM_I64, rank, dims) != PDM_OK)
        return pdm_k_nomem(k);
    if (max)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_REALS, argmax, x->data, &rows, &places);
    else
        PDM_K_DISPATCH(k, x->dtype, PDM_K_REALS, argmin, x->data, &rows, &places);
    if (PDM_K_OK(k)) {
        copy_picked(x, &rows, &places, values);
        if (pdm_k_wants(k, 1) && pdm_k_out(k, 1, PDM_I64, rank, dims))
            memcpy(pdm_k_out_tensor(k, 1)->data, places.data, pdm_tensor_bytes(&places));
    }
    pdm_tensor_deinit(&places);
    return k->status;
}

pdm_status pdm_kernel_max_with_index(pdm_k *k)
{
    return extreme_with_place(k, true);
}

pdm_status pdm_kernel_min_with_index(pdm_k *k)
{
    return extreme_with_place(k, false);
}
