/*
 * Random tensors. Numbers come from the run's generator in program order, or, where the attribute
 * `seed` is not 0, from one that is seeded with it anew in every call.
 */
#include "exec/kernels/tensor_impl.h"

#include <math.h>
#include <stdlib.h>

/* One random number; p are its parameters. */
typedef double (*draw_fn)(pdm_rng *rng, const double *p);

static pdm_dtype dtype_or(pdm_k *k, pdm_dtype fallback)
{
    const pdm_dtype dtype = pdm_k_dtype(k, "dtype");

    return dtype == PDM_UNDEFINED ? fallback : dtype;
}

static pdm_status draw(pdm_k *k, pdm_dtype dtype, size_t rank, const int64_t *dims, draw_fn fn,
                       const double *p)
{
    pdm_rng own, *rng = pdm_random_of(k, &own);

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, rank) || !pdm_k_out(k, 0, dtype, (int)rank, dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    const int64_t n = pdm_tensor_count(out);
    for (int64_t i = 0; i < n; i++)
        pdm_set_double(out, i, fn(rng, p));
    return k->status;
}

static pdm_status draw_like(pdm_k *k, draw_fn fn, const double *p)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    return x ? draw(k, x->dtype, (size_t)x->rank, x->dims, fn, p) : k->status;
}

/* ---- uniform, normal ------------------------------------------------------------------------- */

/* [p0, p1) */
static double uniform(pdm_rng *rng, const double *p)
{
    return p[0] + (p[1] - p[0]) * pdm_rng_uniform(rng);
}

/* mean p0, deviation p1 */
static double normal(pdm_rng *rng, const double *p)
{
    return p[0] + p[1] * pdm_rng_normal(rng);
}

/* shape, min, max */
pdm_status pdm_kernel_uniform(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const size_t rank = pdm_k_in_ints(k, 0, dims);
    const double p[] = {pdm_k_in_float(k, 1, -1), pdm_k_in_float(k, 2, 1)};

    return draw(k, dtype_or(k, PDM_F32), rank, dims, uniform, p);
}

pdm_status pdm_kernel_uniform_inplace(pdm_k *k)
{
    const double p[] = {pdm_k_float(k, "min"), pdm_k_float(k, "max")};

    return draw_like(k, uniform, p);
}

pdm_status pdm_kernel_uniform_random_batch_size_like(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const size_t rank = pdm_k_ints(k, "shape", dims);
    const int64_t from = pdm_k_int(k, "input_dim_idx"), to = pdm_k_int(k, "output_dim_idx");
    const double p[] = {pdm_k_float(k, "min"), pdm_k_float(k, "max")};

    if (!PDM_K_OK(k))
        return k->status;
    if (from < 0 || from >= x->rank || to < 0 || to >= (int64_t)rank)
        return pdm_k_fail(k, "the dimension to copy does not exist");
    dims[to] = x->dims[from];
    return draw(k, dtype_or(k, PDM_F32), rank, dims, uniform, p);
}

/* shape */
pdm_status pdm_kernel_gaussian(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const size_t rank = pdm_k_in_ints(k, 0, dims);
    const double p[] = {pdm_k_float(k, "mean"), pdm_k_float(k, "std")};

    return draw(k, dtype_or(k, PDM_F32), rank, dims, normal, p);
}

pdm_status pdm_kernel_gaussian_inplace(pdm_k *k)
{
    const double p[] = {pdm_k_float(k, "mean"), pdm_k_float(k, "std")};

    return draw_like(k, normal, p);
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x * 0.7071067811865476);
}

/* Between p2 and p3 (values of a standard normal), by bisection of its distribution function. */
static double truncated(pdm_rng *rng, const double *p)
{
    double low = p[2], high = p[3];
    const double a = normal_cdf(low), want = a + (normal_cdf(high) - a) * pdm_rng_uniform(rng);

    for (int i = 0; i < 60; i++) {
        const double mid = low + (high - low) / 2;
        *(normal_cdf(mid) < want ? &low : &high) = mid;
    }
    return p[0] + p[1] * low;
}

/* Limits a and b are of the result; without them two deviations. */
pdm_status pdm_kernel_truncated_gaussian_random(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const size_t rank = pdm_k_ints(k, "shape", dims);
    double p[] = {pdm_k_float(k, "mean"), pdm_k_float(k, "std"), -2, 2};

    if (PDM_K_OK(k) && p[1] != 0 && pdm_k_has_attr(k, "a") && pdm_k_has_attr(k, "b")) {
        p[2] = fmax((pdm_k_float(k, "a") - p[0]) / p[1], -40);
        p[3] = fmin((pdm_k_float(k, "b") - p[0]) / p[1], 40);
    }
    return draw(k, dtype_or(k, PDM_F32), rank, dims, truncated, p);
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Below n without bias. */
static uint64_t below(pdm_rng *rng, uint64_t n)
{
    const uint64_t limit = n ? UINT64_MAX - UINT64_MAX % n : 0;
    uint64_t bits;

    do {
        bits = pdm_rng_next(rng);
    } while (n && bits >= limit);
    return n ? bits % n : bits;
}

static pdm_status draw_ints(pdm_k *k, pdm_dtype dtype, size_t rank, const int64_t *dims,
                            int64_t low, int64_t high)
{
    pdm_rng own, *rng = pdm_random_of(k, &own);

    if (PDM_K_OK(k) && low >= high)
        return pdm_k_fail(k, "there is no integer from %lld up to below %lld", (long long)low,
                          (long long)high);
    if (!PDM_K_OK(k) || !pdm_shape_rank(k, rank) || !pdm_k_out(k, 0, dtype, (int)rank, dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    const int64_t n = pdm_tensor_count(out);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t more = below(rng, (uint64_t)high - (uint64_t)low);
        pdm_set_int(out, i, (int64_t)((uint64_t)low + more));
    }
    return k->status;
}

/* shape */
pdm_status pdm_kernel_randint(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS] = {0};
    const size_t rank = pdm_k_in_ints(k, 0, dims);
    const int64_t low = pdm_k_int(k, "low"), high = pdm_k_int(k, "high");

    return draw_ints(k, dtype_or(k, PDM_I64), rank, dims, low, high);
}

pdm_status pdm_kernel_random(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t from = pdm_k_int(k, "from"), to = pdm_k_int(k, "to");

    return PDM_K_OK(k) ? draw_ints(k, x->dtype, (size_t)x->rank, x->dims, from, to) : k->status;
}

/* 0 .. n - 1 in random order; the caller frees. */
static int64_t *permutation(pdm_k *k, pdm_rng *rng, int64_t n)
{
    int64_t *out =
        (uint64_t)n < SIZE_MAX / sizeof *out ? malloc((size_t)n * sizeof *out + 1) : NULL;

    if (!out)
        pdm_k_nomem(k);
    for (int64_t i = 0; out && i < n; i++) {
        const int64_t j = (int64_t)below(rng, (uint64_t)i + 1);
        out[i] = out[j];
        out[j] = i;
    }
    return out;
}

pdm_status pdm_kernel_randperm(pdm_k *k)
{
    pdm_rng own, *rng = pdm_random_of(k, &own);
    const int64_t n = pdm_k_int(k, "n");
    const pdm_dtype dtype = dtype_or(k, PDM_I64);

    if (!PDM_K_OK(k) || !pdm_k_out(k, 0, dtype, 1, &n))
        return k->status;
    int64_t *order = permutation(k, rng, n);
    for (int64_t i = 0; order && i < n; i++)
        pdm_set_int(pdm_k_out_tensor(k, 0), i, order[i]);
    free(order);
    return k->status;
}

/* x, seed: rows (all dims but the last) in random order; the order; the seed of the next call */
pdm_status pdm_kernel_shuffle_batch(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *seed = pdm_k_in_opt(k, 1);
    pdm_rng own, *rng = k->rng ? k->rng : &own;

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank == 0)
        return pdm_k_fail(k, "a tensor without dimensions has no rows");
    if (seed && pdm_tensor_count(seed) > 0) {
        rng = &own;
        pdm_rng_seed(rng, (uint64_t)pdm_get_int(seed, 0));
    } else if (!k->rng) {
        pdm_rng_seed(rng, (uint64_t)pdm_k_int_or(k, "startup_seed", 0));
    }
    const int64_t n = pdm_k_product(x->dims, 0, x->rank - 1);
    int64_t *order = permutation(k, rng, n);
    void *out = order && pdm_k_wants(k, 0) ? pdm_k_out_like(k, 0, x) : NULL;
    if (out)
        pdm_rows_copy(k, (size_t)x->dims[x->rank - 1] * pdm_dtype_size(x->dtype), 1, n, n, out,
                      x->data, order);
    int64_t *index = order && pdm_k_wants(k, 1) ? pdm_k_out(k, 1, PDM_I64, 1, &n) : NULL;
    if (index && n > 0)
        memcpy(index, order, (size_t)n * sizeof *index);
    int64_t *next = order && pdm_k_wants(k, 2) ? pdm_k_out(k, 2, PDM_I64, 1, &(int64_t){1}) : NULL;
    if (next)
        *next = (int64_t)(pdm_rng_next(rng) >> 33);
    free(order);
    return k->status;
}

/* ---- distributions of one parameter each element --------------------------------------------- */

/* Gamma of shape `alpha` and scale 1 (Marsaglia and Tsang). */
static double gamma_of(pdm_rng *rng, double alpha)
{
    if (!(alpha > 0) || isinf(alpha))
        return alpha == 0 ? 0 : isinf(alpha) && alpha > 0 ? alpha : (double)NAN;
    const double boost = alpha < 1 ? pow(1 - pdm_rng_uniform(rng), 1 / alpha) : 1;
    const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / sqrt(9 * d);

    for (;;) {
        const double x = pdm_rng_normal(rng), v = pow(1 + c * x, 3), u = 1 - pdm_rng_uniform(rng);
        if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v))
            return boost * d * v;
    }
}

/* Products of uniform numbers, in portions that do not underflow; for large rates a rounded normal
 * is as good. */
static double poisson_of(pdm_rng *rng, double rate)
{
    double n = 0;

    if (!(rate >= 0))
        return (double)NAN;
    if (rate > 4096)
        return fmax(0, nearbyint(rate + sqrt(rate) * pdm_rng_normal(rng)));
    while (rate > 0) {
        const double part = rate > 32 ? 32 : rate, limit = exp(-part);
        for (double p = 1 - pdm_rng_uniform(rng); p > limit; p *= 1 - pdm_rng_uniform(rng))
            n++;
        rate -= part;
    }
    return n;
}

static double bernoulli_of(pdm_rng *rng, double p)
{
    return pdm_rng_uniform(rng) < p;
}

static pdm_status draw_each(pdm_k *k, double (*fn)(pdm_rng *rng, double value))
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_rng own, *rng = pdm_random_of(k, &own);

    if (!x || !pdm_k_out_like(k, 0, x))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    const int64_t n = pdm_tensor_count(x);
    for (int64_t i = 0; i < n; i++)
        pdm_set_double(out, i, fn(rng, pdm_get_double(x, i)));
    return k->status;
}

pdm_status pdm_kernel_bernoulli(pdm_k *k)
{
    return draw_each(k, bernoulli_of);
}

pdm_status pdm_kernel_poisson(pdm_k *k)
{
    return draw_each(k, poisson_of);
}

pdm_status pdm_kernel_standard_gamma(pdm_k *k)
{
    return draw_each(k, gamma_of);
}

/* Gamma numbers of a row, made to sum up to 1. */
pdm_status pdm_kernel_dirichlet(pdm_k *k)
{
    const pdm_tensor *alpha = pdm_k_in(k, 0);

    if (draw_each(k, gamma_of) != PDM_OK || !pdm_k_wants(k, 0))
        return k->status;
    if (alpha->rank == 0)
        return pdm_k_fail(k, "a tensor without dimensions has no rows");
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    const int64_t n = out->dims[out->rank - 1];
    for (int64_t i = 0; i < pdm_tensor_count(out); i += n) {
        double sum = 0;
        for (int64_t j = i; j < i + n; j++)
            sum += pdm_get_double(out, j);
        for (int64_t j = i; j < i + n; j++)
            pdm_set_double(out, j, pdm_get_double(out, j) / sum);
    }
    return k->status;
}

static double exponential(pdm_rng *rng, const double *p)
{
    return -log(1 - pdm_rng_uniform(rng)) / p[0];
}

pdm_status pdm_kernel_exponential(pdm_k *k)
{
    const double p[] = {pdm_k_float(k, "lam")};

    return draw_like(k, exponential, p);
}

static double binomial_of(pdm_rng *rng, double count, double p)
{
    double n = 0;

    if (!(count >= 0) || !(p >= 0 && p <= 1))
        return 0;
    if (count > 4096) {
        n = nearbyint(count * p + sqrt(count * p * (1 - p)) * pdm_rng_normal(rng));
        return fmin(fmax(n, 0), count);
    }
    for (double i = 0; i < count; i++)
        n += bernoulli_of(rng, p);
    return n;
}

/* count, prob */
pdm_status pdm_kernel_binomial(pdm_k *k)
{
    const pdm_tensor *count = pdm_k_in(k, 0), *prob = pdm_k_in(k, 1);
    pdm_rng own, *rng = pdm_random_of(k, &own);

    if (!PDM_K_OK(k))
        return k->status;
    const int64_t n = pdm_tensor_count(count);
    if (pdm_tensor_count(prob) != n)
        return pdm_k_fail(k, "counts and probabilities differ in number");
    if (!pdm_k_out(k, 0, PDM_I64, count->rank, count->dims))
        return k->status;
    for (int64_t i = 0; i < n; i++)
        pdm_set_double(pdm_k_out_tensor(k, 0), i,
                       binomial_of(rng, pdm_get_double(count, i), pdm_get_double(prob, i)));
    return k->status;
}

/* The seed itself, or a random one. */
pdm_status pdm_kernel_seed(pdm_k *k)
{
    const int64_t seed = pdm_k_int(k, "seed");
    pdm_rng own, *rng = pdm_random_of(k, &own);
    int32_t *out = PDM_K_OK(k) ? pdm_k_out(k, 0, PDM_I32, 1, &(int64_t){1}) : NULL;

    if (out)
        *out = seed ? (int32_t)seed : (int32_t)(pdm_rng_next(rng) >> 33);
    return k->status;
}

/* ---- samples of rows ------------------------------------------------------------------------- */

/* Weights of a row; false when they are none. Gives their sum and how many are positive. */
static bool weights_of(pdm_k *k, const pdm_tensor *x, int64_t row, int64_t n, double *weights,
                       double *sum, int64_t *positive)
{
    *sum = 0;
    *positive = 0;
    for (int64_t i = 0; i < n; i++) {
        weights[i] = pdm_get_double(x, row * n + i);
        if (!(weights[i] >= 0) || isinf(weights[i])) {
            pdm_k_fail(k, "a probability is %g", weights[i]);
            return false;
        }
        *sum += weights[i];
        *positive += weights[i] > 0;
    }
    if (*sum > 0)
        return true;
    pdm_k_fail(k, "the probabilities of a row are all 0");
    return false;
}

/* The category in which a random place of the whole lies; only one of positive weight. */
static int64_t choose(pdm_rng *rng, const double *weights, int64_t n, double sum)
{
    double rest = pdm_rng_uniform(rng) * sum;
    int64_t last = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!(weights[i] > 0))
            continue;
        last = i;
        rest -= weights[i];
        if (rest < 0)
            break;
    }
    return last;
}

static void sample_row(pdm_k *k, pdm_rng *rng, const pdm_tensor *x, int64_t row, int64_t samples,
                       bool replace, double *weights, int64_t *out)
{
    const int64_t n = x->dims[x->rank - 1];
    double sum;
    int64_t positive;

    if (!weights_of(k, x, row, n, weights, &sum, &positive))
        return;
    if (!replace && samples > positive) {
        pdm_k_fail(k, "%lld samples are wanted of %lld categories", (long long)samples,
                   (long long)positive);
        return;
    }
    for (int64_t i = 0; i < samples; i++) {
        out[i] = choose(rng, weights, n, sum);
        if (!replace) {
            weights[out[i]] = 0;
            sum = 0;
            for (int64_t j = 0; j < n; j++)
                sum += weights[j];
        }
    }
}

/* x, num_samples */
pdm_status pdm_kernel_multinomial(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t samples = pdm_k_in_int(k, 1, 1);
    const bool replace = pdm_k_bool(k, "replacement");
    pdm_rng own, *rng = pdm_random_of(k, &own);
    int64_t dims[PDM_MAX_RANK];

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank < 1 || x->rank > 2 || samples < 1)
        return pdm_k_fail(k, "%lld samples of a tensor with %d dimensions", (long long)samples,
                          x->rank);
    const int64_t n = x->dims[x->rank - 1], rows = pdm_k_product(x->dims, 0, x->rank - 1);
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = samples;
    int64_t *out = pdm_k_out(k, 0, PDM_I64, x->rank, dims);
    double *weights = malloc((size_t)n * sizeof *weights + 1);
    if (!weights)
        pdm_k_nomem(k);
    for (int64_t row = 0; out && PDM_K_OK(k) && row < rows; row++)
        sample_row(k, rng, x, row, samples, replace, weights, out + row * samples);
    free(weights);
    return k->status;
}

typedef struct candidate {
    double p;
    int64_t index;
} candidate;

/* Likeliest first; the first of equal ones. */
static int by_probability(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    if (x->p != y->p)
        return x->p < y->p ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* One of the likeliest candidates whose probabilities together reach p. */
static int64_t nucleus(pdm_rng *rng, const candidate *c, int64_t n, double p, double threshold)
{
    double sum = 0, rest;
    int64_t m = 0;

    while (m < n && (m == 0 || (sum < p && c[m].p >= threshold)))
        sum += c[m++].p;
    rest = pdm_rng_uniform(rng) * sum;
    for (int64_t i = 0; i < m - 1; i++) {
        rest -= c[i].p;
        if (rest < 0)
            return i;
    }
    return m - 1;
}

/* x [rows, n], ps, threshold: probability and index of a sample of each row */
pdm_status pdm_kernel_top_p_sampling(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *ps = pdm_k_in(k, 1), *threshold = pdm_k_in_opt(k, 2);
    pdm_rng own, *rng = k->rng;
    const int64_t seed = pdm_k_int_or(k, "seed", -1);

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank != 2 || x->dims[1] < 1 || pdm_tensor_count(ps) != x->dims[0] ||
        (threshold && pdm_tensor_count(threshold) != x->dims[0]))
        return pdm_k_fail(k, "rows of probabilities, and a limit for each, are needed");
    if (seed >= 0 || !rng) {
        rng = &own;
        pdm_rng_seed(rng, (uint64_t)seed);
    }
    const int64_t n = x->dims[1], dims[2] = {x->dims[0], 1};
    candidate *c = malloc((size_t)n * sizeof *c);
    if (!c)
        return pdm_k_nomem(k);
    void *out = pdm_k_wants(k, 0) ? pdm_k_out(k, 0, x->dtype, 2, dims) : NULL;
    int64_t *ids = pdm_k_wants(k, 1) ? pdm_k_out(k, 1, PDM_I64, 2, dims) : NULL;
    for (int64_t row = 0; PDM_K_OK(k) && row < x->dims[0]; row++) {
        for (int64_t i = 0; i < n; i++)
            c[i] = (candidate){pdm_get_double(x, row * n + i), i};
        qsort(c, (size_t)n, sizeof *c, by_probability);
        const int64_t at = nucleus(rng, c, n, pdm_get_double(ps, row),
                                   threshold ? pdm_get_double(threshold, row) : 0);
        if (out)
            pdm_set_double(pdm_k_out_tensor(k, 0), row, c[at].p);
        if (ids)
            ids[row] = c[at].index;
    }
    free(c);
    return k->status;
}
