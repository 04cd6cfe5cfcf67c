/* Tensors out of numbers. (Those of full, assign_value and the like are in constant.c.) */
#include "exec/kernels/tensor_impl.h"

#include <math.h>

static pdm_dtype dtype_or(pdm_k *k, pdm_dtype fallback)
{
    const pdm_dtype dtype = pdm_k_dtype(k, "dtype");

    return dtype == PDM_UNDEFINED ? fallback : dtype;
}

/* Result 0, all of its elements alike. */
static pdm_status filled(pdm_k *k, pdm_dtype dtype, size_t rank, const int64_t *dims, double value)
{
    if (!PDM_K_OK(k) || !pdm_shape_rank(k, rank))
        return k->status;
    void *out = pdm_k_out(k, 0, dtype, (int)rank, dims);
    const pdm_element e = pdm_element_of_double(value, dtype);
    if (out)
        pdm_fill_elements(k, out, &e, pdm_dtype_size(dtype), pdm_k_product(dims, 0, (int)rank));
    return k->status;
}

static pdm_status filled_attr(pdm_k *k, double value)
{
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const size_t rank = pdm_k_ints(k, "shape", dims);

    return filled(k, dtype_or(k, PDM_F32), rank, dims, value);
}

static pdm_status filled_like(pdm_k *k, double value)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    if (x && filled(k, dtype_or(k, x->dtype), (size_t)x->rank, x->dims, value) == PDM_OK)
        pdm_k_share_lod(k, 0, x);
    return k->status;
}

pdm_status pdm_kernel_zeros(pdm_k *k)
{
    return filled_attr(k, 0);
}

pdm_status pdm_kernel_ones(pdm_k *k)
{
    return filled_attr(k, 1);
}

pdm_status pdm_kernel_zeros_like(pdm_k *k)
{
    return filled_like(k, 0);
}

pdm_status pdm_kernel_ones_like(pdm_k *k)
{
    return filled_like(k, 1);
}

/* Contents are not promised; zeros are the same in every run. */
pdm_status pdm_kernel_empty(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const size_t rank = pdm_k_in_ints(k, 0, dims);

    return filled(k, dtype_or(k, PDM_F32), rank, dims, 0);
}

/* x, value */
pdm_status pdm_kernel_fill(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *value = pdm_k_in(k, 1);

    if (!PDM_K_OK(k))
        return k->status;
    const pdm_element e = pdm_element_of(k, value, 0, x->dtype);
    void *out = PDM_K_OK(k) ? pdm_k_out_like(k, 0, x) : NULL;
    if (out)
        pdm_fill_elements(k, out, &e, pdm_dtype_size(x->dtype), pdm_tensor_count(x));
    return k->status;
}

/* ---- series ---------------------------------------------------------------------------------- */

static pdm_status arange_ints(pdm_k *k, pdm_dtype dtype)
{
    const int64_t start = pdm_k_in_int(k, 0, 0), end = pdm_k_in_int(k, 1, 0),
                  step = pdm_k_in_int(k, 2, 1);

    if (!PDM_K_OK(k))
        return k->status;
    if (step == 0)
        return pdm_k_fail(k, "the step is 0");
    const bool up = step > 0;
    const uint64_t size = up ? (uint64_t)step : -(uint64_t)step;
    const uint64_t span = up ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    const uint64_t n = (up ? end > start : start > end) ? (span - 1) / size + 1 : 0;
    if (n > INT64_MAX)
        return pdm_k_fail(k, "the series is too long");
    if (!pdm_k_out(k, 0, dtype, 1, &(int64_t){(int64_t)n}))
        return k->status;
    uint64_t value = (uint64_t)start;
    for (uint64_t i = 0; i < n; i++, value += (uint64_t)step)
        pdm_set_int(pdm_k_out_tensor(k, 0), (int64_t)i, (int64_t)value);
    return k->status;
}

/* Elements are sums, rounded step by step as the framework does; f32 in float. */
static pdm_status arange_floats(pdm_k *k, pdm_dtype dtype)
{
    const bool wide = dtype == PDM_F64;
    double start = pdm_k_in_float(k, 0, 0), end = pdm_k_in_float(k, 1, 0),
           step = pdm_k_in_float(k, 2, 1);

    if (!PDM_K_OK(k))
        return k->status;
    if (!wide) {
        start = (double)(float)start;
        end = (double)(float)end;
        step = (double)(float)step;
    }
    if (step == 0 || !isfinite(start) || !isfinite(end) || isnan(step))
        return pdm_k_fail(k, "a series from %g to %g by %g does not end", start, end, step);
    const double ratio =
        wide ? (end - start) / step : (double)(((float)end - (float)start) / (float)step);
    const double n = ratio > 0 ? ceil(ratio) : 0;
    if (!(n < 0x1p53))
        return pdm_k_fail(k, "the series is too long");
    if (!pdm_k_out(k, 0, dtype, 1, &(int64_t){(int64_t)n}))
        return k->status;
    double value = start;
    for (int64_t i = 0; i < (int64_t)n; i++) {
        pdm_set_double(pdm_k_out_tensor(k, 0), i, value);
        value = wide ? value + step : (double)((float)value + (float)step);
    }
    return k->status;
}

/* start, end, step */
pdm_status pdm_kernel_arange(pdm_k *k)
{
    const pdm_tensor *start = pdm_k_in(k, 0);
    const pdm_dtype dtype = start ? dtype_or(k, start->dtype) : PDM_UNDEFINED;

    if (!PDM_K_OK(k))
        return k->status;
    return pdm_dtype_is_float(dtype) ? arange_floats(k, dtype) : arange_ints(k, dtype);
}

/* A number of operand i as an element of the result. */
static double number(pdm_k *k, size_t i, pdm_dtype dtype)
{
    const pdm_tensor *t = pdm_k_in(k, i);

    if (!t)
        return 0;
    const pdm_element e = pdm_element_of(k, t, 0, dtype);
    return pdm_get_double(&(pdm_tensor){.dtype = dtype, .data = (void *)(uintptr_t)e.bytes}, 0);
}

/* From both ends to the middle, so that both ends are exact. */
static pdm_status spaced(pdm_k *k, bool powers)
{
    const pdm_tensor *first = pdm_k_in(k, 0);
    const pdm_dtype dtype = first ? dtype_or(k, first->dtype) : PDM_UNDEFINED;
    const int64_t n = pdm_k_in_int(k, 2, 0);

    if (!PDM_K_OK(k))
        return k->status;
    if (n < 1)
        return pdm_k_fail(k, "a series cannot have %lld elements", (long long)n);
    if (!pdm_k_out(k, 0, dtype, 1, &n))
        return k->status;
    const double start = number(k, 0, dtype), stop = number(k, 1, dtype);
    const double base = powers ? number(k, 3, dtype) : 0;
    const double step = n > 1 ? (stop - start) / (double)(n - 1) : 0;
    for (int64_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const bool half = n == 1 || i < n / 2;
        const double value = half ? start + step * (double)i : stop - step * (double)(n - 1 - i);
        pdm_set_double(pdm_k_out_tensor(k, 0), i, powers ? pow(base, value) : value);
    }
    return k->status;
}

/* start, stop, number */
pdm_status pdm_kernel_linspace(pdm_k *k)
{
    return spaced(k, false);
}

/* start, stop, num, base */
pdm_status pdm_kernel_logspace(pdm_k *k)
{
    return spaced(k, true);
}
