/* spectral_norm, norm (length 1), lrn; prelu, maxout, dropout, rrelu. */
#include "exec/kernels/nn_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- spectral_norm -------------------------------------------------------------------------- */

static void to_length_one(double *v, int64_t n, double epsilon)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    for (int64_t i = 0; i < n; i++)
        v[i] /= sqrt(sum) + epsilon;
}

/* v = transposed matrix * u, or u = matrix * v. */
static void times(const double *matrix, int64_t rows, int64_t cols, const double *from, double *to,
                  bool transposed)
{
    memset(to, 0, (size_t)(transposed ? cols : rows) * sizeof *to);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            if (transposed)
                to[j] += matrix[i * cols + j] * from[i];
            else
                to[i] += matrix[i * cols + j] * from[j];
        }
    }
}

/* The largest singular value as the power iterations find it. */
static double spectral_value(const double *matrix, int64_t rows, int64_t cols, double *u, double *v,
                             int64_t iterations, double epsilon)
{
    double sigma = 0;

    for (int64_t i = 0; i < iterations; i++) {
        times(matrix, rows, cols, u, v, true);
        to_length_one(v, cols, epsilon);
        times(matrix, rows, cols, v, u, false);
        to_length_one(u, rows, epsilon);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            sigma += u[i] * matrix[i * cols + j] * v[j];
    }
    return sigma;
}

pdm_status pdm_kernel_spectral_norm(pdm_k *k)
{
    const pdm_tensor *w = pdm_k_in(k, 0), *u = pdm_k_in(k, 1), *v = pdm_k_in(k, 2);
    const int64_t iterations = pdm_k_int(k, "power_iters"), dim = pdm_k_int(k, "dim");
    const double epsilon = pdm_k_float(k, "eps");

    if (!pdm_nn_floats(k, w) || !pdm_nn_floats(k, u) || !pdm_nn_floats(k, v))
        return k->status;
    if (w->rank < 2 || dim < 0 || dim >= w->rank || iterations < 0 || iterations > 100000)
        return pdm_k_fail(k, "dim %lld of a tensor with %d dimensions, %lld iterations",
                          (long long)dim, w->rank, (long long)iterations);
    const int64_t rows = w->dims[dim], outer = pdm_k_product(w->dims, 0, (int)dim);
    const int64_t inner = pdm_k_product(w->dims, (int)dim + 1, w->rank), cols = outer * inner;
    if (!pdm_nn_count_is(k, u, rows, "u") || !pdm_nn_count_is(k, v, cols, "v"))
        return k->status;
    pdm_tensor *out = pdm_nn_out_like(k, 0, w);
    double *a = pdm_nn_doubles(k, u), *b = pdm_nn_doubles(k, v), *m = pdm_nn_room(k, rows * cols);
    if (out && a && b && m) {
        const int64_t n = rows * cols;
        for (int64_t i = 0; i < n; i++) {
            const int64_t o = i / (rows * inner), r = i / inner % rows;
            m[r * cols + o * inner + i % inner] = pdm_nn_at(w, i);
        }
        const double sigma = spectral_value(m, rows, cols, a, b, iterations, epsilon);
        for (int64_t i = 0; i < n; i++)
            pdm_nn_put(out, i, pdm_nn_at(w, i) / sigma);
    }
    free(a);
    free(b);
    free(m);
    return k->status;
}

/* ---- norm ----------------------------------------------------------------------------------- */

pdm_status pdm_kernel_norm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double epsilon = pdm_k_float(k, "epsilon");
    const int axis = x ? pdm_k_axis(k, pdm_k_int(k, "axis"), x->rank) : 0;
    int64_t dims[PDM_MAX_RANK];

    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 1, PDM_MAX_RANK, "x"))
        return k->status;
    const int64_t n = x->dims[axis], inner = pdm_k_product(x->dims, axis + 1, x->rank);
    const int64_t outer = pdm_k_product(x->dims, 0, axis);
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = 1;
    pdm_tensor *out = pdm_nn_out_like(k, 0, x), *norm = NULL;
    if (pdm_k_wants(k, 1))
        norm = pdm_nn_out(k, 1, x->dtype, x->rank, dims);
    for (int64_t i = 0; i < outer * inner && out && PDM_K_OK(k); i++) {
        const int64_t first = i / inner * n * inner + i % inner;
        double sum = epsilon;
        for (int64_t j = 0; j < n; j++) {
            const double v = pdm_nn_at(x, first + j * inner);
            sum += v * v;
        }
        for (int64_t j = 0; j < n; j++)
            pdm_nn_put(out, first + j * inner, pdm_nn_at(x, first + j * inner) / sqrt(sum));
        if (norm)
            pdm_nn_put(norm, i, sqrt(sum));
    }
    return k->status;
}

/* ---- lrn ------------------------------------------------------------------------------------ */

pdm_status pdm_kernel_lrn(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t n = pdm_k_int(k, "n");
    const double add = pdm_k_float(k, "k"), alpha = pdm_k_float(k, "alpha");
    const double beta = pdm_k_float(k, "beta");
    const bool last = !strcmp(pdm_k_str(k, "data_format"), "NHWC");

    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 4, 4, "x"))
        return k->status;
    if (n < 1 || n % 2 == 0)
        return pdm_k_fail(k, "a window of %lld channels", (long long)n);
    const int64_t channels = x->dims[last ? 3 : 1], stride = last ? 1 : x->dims[2] * x->dims[3];
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    pdm_tensor *mid = pdm_k_wants(k, 1) ? pdm_nn_out_like(k, 1, x) : NULL;
    const int64_t count = pdm_tensor_count(x);
    for (int64_t i = 0; i < count && out && PDM_K_OK(k); i++) {
        const int64_t c = i / stride % channels, half = (n - 1) / 2;
        const int64_t from = c < half ? 0 : c - half;
        const int64_t to = half >= channels - c ? channels : c + half + 1;
        double sum = 0;
        for (int64_t j = from; j < to; j++) {
            const double v = pdm_nn_at(x, i + (j - c) * stride);
            sum += v * v;
        }
        const double middle = add + alpha * sum;
        pdm_nn_put(out, i, pdm_nn_at(x, i) * pow(middle, -beta));
        if (mid)
            pdm_nn_put(mid, i, middle);
    }
    return k->status;
}

/* ---- prelu, maxout -------------------------------------------------------------------------- */

pdm_status pdm_kernel_prelu(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *alpha = pdm_k_in(k, 1);
    const char *mode = pdm_k_str(k, "mode"), *layout = pdm_k_str(k, "data_format");

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, alpha))
        return k->status;
    const int64_t count = pdm_tensor_count(x), alphas = pdm_tensor_count(alpha);
    const bool last = layout[0] == 'N' && layout[strlen(layout) - 1] == 'C' && layout[1] != 'C';
    const bool channel = !strcmp(mode, "channel"), element = !strcmp(mode, "element");
    int64_t inner = 1, wanted = 1;
    if (channel && x->rank > 1) {
        wanted = x->dims[last ? x->rank - 1 : 1];
        inner = last ? 1 : pdm_k_product(x->dims, 2, x->rank);
    } else if (element && x->rank > 0) {
        wanted = pdm_k_product(x->dims, 1, x->rank);
    }
    if (!channel && !element && strcmp(mode, "all") != 0)
        return pdm_k_fail(k, "mode '%s' is not known", mode);
    if (alphas != wanted)
        return pdm_k_fail(k, "alpha has %lld elements, %lld are needed", (long long)alphas,
                          (long long)wanted);
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    for (int64_t i = 0; i < count && out; i++) {
        const double v = pdm_nn_at(x, i);
        pdm_nn_put(out, i, v > 0 ? v : v * pdm_nn_at(alpha, i / inner % wanted));
    }
    return k->status;
}

pdm_status pdm_kernel_maxout(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t groups = pdm_k_int(k, "groups");
    const int axis = x ? pdm_k_axis(k, pdm_k_int(k, "axis"), x->rank) : 0;
    int64_t dims[PDM_MAX_RANK];

    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 1, PDM_MAX_RANK, "x"))
        return k->status;
    if (groups < 1 || x->dims[axis] % groups != 0)
        return pdm_k_fail(k, "%lld channels in groups of %lld", (long long)x->dims[axis],
                          (long long)groups);
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] /= groups;
    pdm_tensor *out = pdm_nn_out(k, 0, x->dtype, x->rank, dims);
    const int64_t inner = pdm_k_product(x->dims, axis + 1, x->rank);
    const int64_t count = out ? pdm_tensor_count(out) : 0;
    for (int64_t i = 0; i < count; i++) {
        double most = x->dtype == PDM_F64 ? -DBL_MAX : -(double)FLT_MAX;
        for (int64_t g = 0; g < groups; g++) {
            const double v = pdm_nn_at(x, (i / inner * groups + g) * inner + i % inner);
            most = most < v ? v : most;
        }
        pdm_nn_put(out, i, most);
    }
    return k->status;
}

/* ---- dropout, rrelu ------------------------------------------------------------------------- */

/* Probability operand or attribute is p; adds y when there is one. */
static pdm_status drop(pdm_k *k, const pdm_tensor *x, double p, const pdm_tensor *y,
                       size_t mask_index)
{
    const bool upscale = !strcmp(pdm_k_str(k, "mode"), "upscale_in_train");
    const bool test = pdm_k_bool(k, "is_test");
    pdm_tensor *out = pdm_nn_out_like(k, 0, x), *mask = NULL;
    const int64_t count = x ? pdm_tensor_count(x) : 0;
    pdm_rng rng;

    if (mask_index && pdm_k_wants(k, mask_index))
        mask = pdm_nn_out(k, mask_index, PDM_U8, x->rank, x->dims);
    if (!PDM_K_OK(k))
        return k->status;
    if (!(p >= 0 && p <= 1))
        return pdm_k_fail(k, "a probability of %g", p);
    if (pdm_k_bool_or(k, "fix_seed", false))
        pdm_rng_seed(&rng, (uint64_t)pdm_k_int(k, "seed"));
    else if (k->rng)
        pdm_rng_seed(&rng, test ? 0 : pdm_rng_next(k->rng));
    else
        pdm_rng_seed(&rng, 0);
    for (int64_t i = 0; i < count; i++) {
        const bool keep = test || pdm_rng_uniform(&rng) >= p;
        const double scale = test ? (upscale ? 1 : 1 - p) : upscale && p < 1 ? 1 / (1 - p) : 1;
        if (out)
            pdm_nn_put(out, i, (keep ? pdm_nn_at(x, i) * scale : 0) + (y ? pdm_nn_at(y, i) : -0.0)); /* which leaves -0 as well */
        if (mask)
            ((uint8_t *)mask->data)[i] = keep;
    }
    return k->status;
}

pdm_status pdm_kernel_dropout(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double p = pdm_k_in_float(k, 2, 0.5);

    return pdm_nn_floats(k, x) ? drop(k, x, p, NULL, 1) : k->status;
}

pdm_status pdm_kernel_fused_dropout_add(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    const double p = pdm_k_float(k, "p");
    const int64_t two[1] = {2};

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, y))
        return k->status;
    if (!pdm_k_same_dims(x, y))
        return pdm_k_fail(k, "x and y differ in shape");
    pdm_tensor *seeds = pdm_k_wants(k, 1) ? pdm_nn_out(k, 1, PDM_I64, 1, two) : NULL;
    if (seeds)
        pdm_nn_fill(seeds, 0);
    return drop(k, x, p, y, 0);
}

pdm_status pdm_kernel_rrelu(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double lower = pdm_k_float(k, "lower"), upper = pdm_k_float(k, "upper");
    const bool test = pdm_k_bool(k, "is_test");

    if (!pdm_nn_floats(k, x))
        return k->status;
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    pdm_tensor *noise = pdm_k_wants(k, 1) ? pdm_nn_out_like(k, 1, x) : NULL;
    const int64_t count = pdm_tensor_count(x);
    for (int64_t i = 0; i < count && PDM_K_OK(k); i++) {
        const double v = pdm_nn_at(x, i);
        double slope = (lower + upper) / 2;
        if (!test && k->rng)
            slope = lower + (upper - lower) * pdm_rng_uniform(k->rng);
        if (v >= 0)
            slope = 1;
        if (out)
            pdm_nn_put(out, i, v * slope);
        if (noise)
            pdm_nn_put(noise, i, slope);
    }
    return k->status;
}
