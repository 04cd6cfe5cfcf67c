/* Counting, searching in sorted rows, traces, norms of slices. */
#include <math.h>

#include "exec/kernels/reduce_impl.h"

#define MAX_BINS (INT64_C(1) << 28) /* what a hostile number may make us allocate */

/* ---- bincount -------------------------------------------------------------------------------- */

/* The largest element, -1 when there is none; fails on a negative one. */
static int64_t largest_of(pdm_k *k, const pdm_tensor *x)
{
    int64_t max = -1;

    for (int64_t i = 0; i < pdm_tensor_count(x); i++) {
        const int64_t v = pdm_get_int(x, i);
        if (v < 0)
            pdm_k_fail(k, "element %lld is negative", (long long)v);
        max = v > max ? v : max;
    }
    return max;
}

pdm_status pdm_kernel_bincount(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *weights = pdm_k_in_opt(k, 1);
    const int64_t least = pdm_k_in_int(k, 2, pdm_k_int_or(k, "minlength", 0));
    if (!x || !PDM_K_OK(k))
        return k->status;
    if (!pdm_dtype_is_int(x->dtype))
        return pdm_k_unsupported_dtype(k, x->dtype);
    if (weights && pdm_tensor_count(weights) != pdm_tensor_count(x))
        return pdm_k_fail(k, "a weight is needed for each element");
    int64_t n = largest_of(k, x);
    if (!PDM_K_OK(k) || n >= MAX_BINS || least > MAX_BINS)
        return pdm_k_fail(k, "%lld bins are too many", (long long)(n > least ? n : least));
    n = n + 1 > least ? n + 1 : least;
    if (n < 0)
        n = 0;
    const pdm_dtype dtype = !weights ? PDM_I64 : weights->dtype == PDM_F32 ? PDM_F32 : PDM_F64;

    if (!pdm_k_out(k, 0, dtype, 1, &n))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    memset(out->data, 0, pdm_tensor_bytes(out));
    for (int64_t i = 0; i < pdm_tensor_count(x); i++) {
        const int64_t bin = pdm_get_int(x, i);
        if (weights)
            pdm_set_double(out, bin, pdm_get_double(out, bin) + pdm_get_double(weights, i));
        else
            ((int64_t *)out->data)[bin]++;
    }
    return k->status;
}

/* ---- histogram ------------------------------------------------------------------------------- */

typedef struct histogram {
    double low, high;
    int64_t bins;
} histogram;

/* The range of the data when none is given; one value gets room on both sides. */
static bool histogram_range(pdm_k *k, histogram *h, const pdm_tensor *x)
{
    if (h->low == h->high && pdm_tensor_count(x) > 0) {
        h->low = h->high = pdm_get_double(x, 0);
        for (int64_t i = 1; i < pdm_tensor_count(x); i++) {
            const double v = pdm_get_double(x, i);
            h->low = v < h->low ? v : h->low;
            h->high = v > h->high ? v : h->high;
        }
    }
    if (h->low == h->high) {
        h->low -= 1;
        h->high += 1;
    }
    if (isfinite(h->high - h->low) && h->low <= h->high)
        return true;
    pdm_k_fail(k, "the range [%g, %g] is not finite", h->low, h->high);
    return false;
}

/* -1: outside. float32 is calculated as such. */
static int64_t bin_of(const histogram *h, double v, bool single)
{
    if (!(v >= h->low && v <= h->high))
        return -1;
    const double at = single ? (double)((float)(v - h->low) * (float)h->bins /
                                        (float)(h->high - h->low))
                             : (v - h->low) * (double)h->bins / (h->high - h->low);
    return at >= (double)h->bins ? h->bins - 1 : (int64_t)at;
}

static void count_histogram(const histogram *h, const pdm_tensor *x, const pdm_tensor *weight,
                            pdm_tensor *out)
{
    for (int64_t i = 0; i < pdm_tensor_count(x); i++) {
        const int64_t bin = bin_of(h, pdm_get_double(x, i), x->dtype == PDM_F32);
        if (bin < 0)
            continue;
        if (out->dtype == PDM_I64)
            ((int64_t *)out->data)[bin]++;
        else
            pdm_set_double(out, bin,
                           pdm_get_double(out, bin) + (weight ? pdm_get_double(weight, i) : 1));
    }
}

static void make_density(const histogram *h, pdm_tensor *out)
{
    const double width = (h->high - h->low) / (double)h->bins;
    double sum = 0;

    for (int64_t i = 0; i < h->bins; i++)
        sum += pdm_get_double(out, i);
    for (int64_t i = 0; i < h->bins && sum != 0; i++)
        pdm_set_double(out, i, pdm_get_double(out, i) / sum / width);
}

pdm_status pdm_kernel_histogram(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *weight = pdm_k_in_opt(k, 1);
    const bool density = pdm_k_flag(k, "density");
    histogram h = {.bins = pdm_k_int_or(k, "bins", 100),
                   .low = pdm_k_float_or(k, "min", 0),
                   .high = pdm_k_float_or(k, "max", 0)};
    if (!x || !PDM_K_OK(k))
        return k->status;
    if (h.bins < 1 || h.bins > MAX_BINS)
        return pdm_k_fail(k, "%lld bins", (long long)h.bins);
    if (weight && pdm_tensor_count(weight) != pdm_tensor_count(x))
        return pdm_k_fail(k, "a weight is needed for each element");
    if (pdm_dtype_is_complex(x->dtype))
        return pdm_k_unsupported_dtype(k, x->dtype);

    if (!pdm_k_out(k, 0, density || weight ? PDM_F32 : PDM_I64, 1, &h.bins))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    memset(out->data, 0, pdm_tensor_bytes(out));
    if (pdm_tensor_count(x) == 0 || !histogram_range(k, &h, x))
        return k->status;
    count_histogram(&h, x, weight, out);
    if (density)
        make_density(&h, out);
    return k->status;
}

/* ---- searchsorted ---------------------------------------------------------------------------- */

/* Whether element i of the row comes before v, or with `right` is not behind it. */
static bool before(const pdm_tensor *row, int64_t i, const pdm_tensor *values, int64_t at,
                   bool right)
{
    if (pdm_dtype_is_float(row->dtype) || pdm_dtype_is_float(values->dtype)) {
        const double a = pdm_get_double(row, i), v = pdm_get_double(values, at);
        return right ? a <= v : a < v;
    }
    const int64_t a = pdm_get_int(row, i), v = pdm_get_int(values, at);
    return right ? a <= v : a < v;
}

static int64_t search(const pdm_tensor *rows, int64_t first, int64_t n, const pdm_tensor *values,
                      int64_t at, bool right)
{
    int64_t low = 0, high = n;

    if (pdm_dtype_is_float(values->dtype) && !isfinite(pdm_get_double(values, at)))
        return n; /* so the framework: NaN and both infinities */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (before(rows, first + middle, values, at, right))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

pdm_status pdm_kernel_searchsorted(pdm_k *k)
{
    const pdm_tensor *rows = pdm_k_in(k, 0), *values = pdm_k_in(k, 1);
    const bool narrow = pdm_k_flag(k, "out_int32"), right = pdm_k_flag(k, "right");
    if (!rows || !values || !PDM_K_OK(k))
        return k->status;
    if (pdm_dtype_is_complex(rows->dtype) || pdm_dtype_is_complex(values->dtype))
        return pdm_k_unsupported_dtype(k, PDM_C64);
    if (rows->rank < 1 || (rows->rank > 1 && rows->rank != values->rank))
        return pdm_k_fail(k, "the sorted rows have %d dimensions, the values %d", rows->rank,
                          values->rank);
    for (int d = 0; rows->rank > 1 && d < rows->rank - 1; d++) {
        if (rows->dims[d] != values->dims[d])
            return pdm_k_fail(k, "dimension %d of rows and values differs", d);
    }
    const int64_t n = rows->dims[rows->rank - 1];
    const int64_t m = values->rank > 0 ? values->dims[values->rank - 1] : 1;

    if (!pdm_k_out(k, 0, narrow ? PDM_I32 : PDM_I64, values->rank, values->dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0; i < pdm_tensor_count(values); i++)
        pdm_set_int(out, i, search(rows, rows->rank > 1 ? i / m * n : 0, n, values, i, right));
    return k->status;
}

/* ---- trace ----------------------------------------------------------------------------------- */

typedef struct diagonal {
    pdm_walk kept;
    int64_t start, step, n; /* elements of the diagonal, in x */
    const pdm_tensor *x;
    pdm_tensor *out;
} diagonal;

static void trace_run(void *arg, const int64_t *offsets, int64_t first, int64_t count)
{
    const diagonal *d = arg;
    const bool floats = pdm_dtype_is_float(d->x->dtype);

    for (int64_t i = 0; i < count; i++) {
        int64_t at = d->start + offsets[0] + i * d->kept.strides[0][d->kept.rank - 1];
        double sum = 0;
        uint64_t int_sum = 0;
        for (int64_t j = 0; j < d->n; j++, at += d->step) {
            if (floats)
                sum += pdm_get_double(d->x, at);
            else
                int_sum += (uint64_t)pdm_get_int(d->x, at);
        }
        if (floats)
            pdm_set_double(d->out, first + i, sum);
        else
            pdm_set_int(d->out, first + i, (int64_t)int_sum);
    }
}

/* The diagonal `offset` to the right of the main one, of dimensions a and b. */
static void find_diagonal(diagonal *d, int a, int b, int64_t offset, const int64_t *stride)
{
    const pdm_tensor *x = d->x;
    const int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
    const int64_t rows = x->dims[a] - down, columns = x->dims[b] - right;

    d->n = rows < columns ? rows : columns;
    if (d->n <= 0) {
        d->n = 0;
        return;
    }
    d->start = down * stride[a] + right * stride[b];
    d->step = stride[a] + stride[b];
}

pdm_status pdm_kernel_trace(pdm_k *k)
{
    diagonal d = {.x = pdm_k_in(k, 0)};
    const int64_t offset = pdm_k_int_or(k, "offset", 0);
    int64_t dims[PDM_MAX_RANK], stride[PDM_MAX_RANK];
    int rank = 0;
    if (!d.x || !PDM_K_OK(k))
        return k->status;
    if (pdm_dtype_is_complex(d.x->dtype))
        return pdm_k_unsupported_dtype(k, d.x->dtype);
    const int a = pdm_k_axis(k, pdm_k_int_or(k, "axis1", 0), d.x->rank);
    const int b = pdm_k_axis(k, pdm_k_int_or(k, "axis2", 1), d.x->rank);
    if (!PDM_K_OK(k))
        return k->status;
    if (a == b || d.x->rank < 2 || offset < -INT32_MAX || offset > INT32_MAX)
        return pdm_k_fail(k, "no diagonal of dimensions %d and %d", a, b);

    const bool empty = pdm_tensor_count(d.x) == 0;
    for (int i = d.x->rank - 1; i >= 0; i--)
        stride[i] = i == d.x->rank - 1 || empty ? 1 : stride[i + 1] * d.x->dims[i + 1];
    d.kept.operands = 1;
    for (int i = 0; i < d.x->rank; i++) {
        if (i == a || i == b)
            continue;
        d.kept.strides[0][rank] = stride[i];
        dims[rank++] = d.x->dims[i];
    }
    if (!pdm_k_out(k, 0, d.x->dtype, rank, dims))
        return k->status;
    d.out = pdm_k_out_tensor(k, 0);
    find_diagonal(&d, a, b, offset, stride);
    pdm_walk_finish(&d.kept, rank, dims);
    pdm_walk_range(&d.kept, 0, pdm_tensor_count(d.out), trace_run, &d);
    return k->status;
}

/* ---- renorm ---------------------------------------------------------------------------------- */

static double slice_norm(const pdm_tensor *x, const pdm_rows *rows, int64_t slice, double p)
{
    double sum = 0;

    for (int64_t o = 0; o < rows->outer; o++) {
        for (int64_t i = 0; i < rows->inner; i++)
            sum += pow(fabs(pdm_get_double(x, (o * rows->n + slice) * rows->inner + i)), p);
    }
    return pow(sum, 1 / p);
}

/* Slices along the axis whose norm is larger than allowed are scaled down to it. */
pdm_status pdm_kernel_renorm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double p = pdm_k_float(k, "p"), max_norm = pdm_k_float(k, "max_norm");
    const int64_t axis = pdm_k_int(k, "axis");
    pdm_rows rows;
    if (!x || !PDM_K_OK(k) || !pdm_rows_init(k, &rows, x, axis))
        return k->status;
    if (!pdm_dtype_is_float(x->dtype))
        return pdm_k_unsupported_dtype(k, x->dtype);
    if (!pdm_k_out_like(k, 0, x) || pdm_tensor_count(x) == 0)
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);

    for (int64_t s = 0; s < rows.n; s++) {
        const double norm = slice_norm(x, &rows, s, p);
        const double scale = norm > max_norm ? max_norm / (norm + 1e-7) : 1;
        for (int64_t o = 0; o < rows.outer; o++) {
            for (int64_t i = 0; i < rows.inner; i++) {
                const int64_t at = (o * rows.n + s) * rows.inner + i;
                pdm_set_double(out, at, pdm_get_double(x, at) * scale);
            }
        }
    }
    return k->status;
}
