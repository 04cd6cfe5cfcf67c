/* Sums with layer normalization. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

/* Rows of sums that are normalized; sum and statistics are results when wanted (or -1). */
typedef struct sum_norm {
    int64_t rows, n;
    const pdm_tensor *scale, *bias;
    double epsilon;
    pdm_tensor *out, *sum, *mean, *variance;
} sum_norm;

static pdm_tensor *wanted(pdm_k *k, int index, pdm_dtype dtype, int rank, const int64_t *dims)
{
    return index >= 0 && pdm_k_wants(k, (size_t)index)
               ? pdm_nn_out(k, (size_t)index, dtype, rank, dims)
               : NULL;
}

static bool begin_norm(pdm_k *k, sum_norm *s, const pdm_tensor *like, int axis, int sum_index,
                       int mean_index)
{
    s->rows = pdm_k_product(like->dims, 0, axis);
    s->n = pdm_k_product(like->dims, axis, like->rank);
    if ((s->scale && !pdm_nn_floats(k, s->scale)) || (s->bias && !pdm_nn_floats(k, s->bias)) ||
        !pdm_nn_count_is(k, s->scale, s->n, "scale") || !pdm_nn_count_is(k, s->bias, s->n, "bias"))
        return false;
    const int64_t dims[1] = {s->rows};
    const pdm_dtype wide = pdm_nn_wide_dtype(like->dtype);
    s->out = pdm_nn_out_like(k, 0, like);
    s->sum = wanted(k, sum_index, like->dtype, like->rank, like->dims);
    s->mean = wanted(k, mean_index, wide, 1, dims);
    s->variance = wanted(k, mean_index < 0 ? -1 : mean_index + 1, wide, 1, dims);
    return PDM_K_OK(k) && s->out;
}

static void norm_row(const sum_norm *s, int64_t r, double *row)
{
    double mean, variance;

    if (s->sum)
        pdm_nn_store(s->sum, r * s->n, 1, s->n, row);
    pdm_nn_normalize_row(row, s->n, s->scale, s->bias, s->epsilon, &mean, &variance);
    pdm_nn_store(s->out, r * s->n, 1, s->n, row);
    if (s->mean)
        pdm_nn_put(s->mean, r, mean);
    if (s->variance)
        pdm_nn_put(s->variance, r, variance);
}

static int axis_of(pdm_k *k, const pdm_tensor *x, int64_t axis)
{
    if (axis < 0 || axis > x->rank)
        pdm_k_fail(k, "axis %lld of a tensor with %d dimensions", (long long)axis, x->rank);
    return (int)axis;
}

/* ---- skip_layernorm, fast_ln ---------------------------------------------------------------- */

pdm_status pdm_kernel_skip_layernorm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    sum_norm s = {
        .scale = pdm_k_in(k, 2), .bias = pdm_k_in(k, 3), .epsilon = pdm_k_float(k, "epsilon")};

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, y))
        return k->status;
    const int axis = axis_of(k, x, pdm_k_int(k, "begin_norm_axis"));
    if (!PDM_K_OK(k) || !pdm_nn_count_is(k, y, pdm_tensor_count(x), "y") ||
        !begin_norm(k, &s, x, axis, -1, -1))
        return k->status;
    double *row = pdm_nn_room(k, s.n);
    for (int64_t r = 0; r < s.rows && row; r++) {
        for (int64_t j = 0; j < s.n; j++)
            row[j] = pdm_nn_at(x, r * s.n + j) + pdm_nn_at(y, r * s.n + j);
        norm_row(&s, r, row);
    }
    free(row);
    return k->status;
}

/* ---- fused_fc_elementwise_layernorm --------------------------------------------------------- */

pdm_status pdm_kernel_fused_fc_elementwise_layernorm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *w = pdm_k_in(k, 1), *y = pdm_k_in(k, 2);
    const pdm_tensor *bias = pdm_k_in_opt(k, 3);
    sum_norm s = {.scale = pdm_k_in_opt(k, 4),
                  .bias = pdm_k_in_opt(k, 5),
                  .epsilon = pdm_k_float(k, "epsilon")};
    const pdm_nn_act act = pdm_nn_act_find(k, pdm_k_str(k, "activation_type"));

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, w) || !pdm_nn_floats(k, y) ||
        !pdm_nn_rank_is(k, w, 2, 2, "w"))
        return k->status;
    const int64_t cols = w->dims[1], depth = w->dims[0];
    const int64_t rows = depth > 0 ? pdm_tensor_count(x) / depth : 0;
    const int axis = axis_of(k, y, pdm_k_int(k, "begin_norm_axis"));
    if (!PDM_K_OK(k) || !pdm_nn_count_is(k, x, rows * depth, "x") ||
        !pdm_nn_count_is(k, y, pdm_nn_mul(k, rows, cols), "y") ||
        !pdm_nn_count_is(k, bias, cols, "bias") || !begin_norm(k, &s, y, axis, -1, 1))
        return k->status;
    double *a = pdm_nn_doubles(k, x), *b = pdm_nn_doubles(k, w);
    double *sums = pdm_nn_room(k, rows * cols);
    if (PDM_K_OK(k)) {
        pdm_nn_matmul(a, b, sums, rows, cols, depth, false);
        for (int64_t i = 0; i < rows * cols; i++)
            sums[i] = act(sums[i] + (bias ? pdm_nn_at(bias, i % cols) : 0)) + pdm_nn_at(y, i);
        for (int64_t r = 0; r < s.rows; r++)
            norm_row(&s, r, sums + r * s.n);
    }
    free(a);
    free(b);
    free(sums);
    return k->status;
}

/* ---- fused_embedding_eltwise_layernorm ------------------------------------------------------ */

static bool add_embedding(pdm_k *k, const pdm_tensor *ids, const pdm_tensor *table, int64_t r,
                          int64_t n, double *row)
{
    const int64_t id = pdm_get_int(ids, r);

    if (id < 0 || id >= table->dims[0]) {
        pdm_k_fail(k, "id %lld is outside of a table of %lld", (long long)id,
                   (long long)table->dims[0]);
        return false;
    }
    for (int64_t j = 0; j < n; j++)
        row[j] += pdm_nn_at(table, id * n + j);
    return true;
}

pdm_status pdm_kernel_fused_embedding_eltwise_layernorm(pdm_k *k)
{
    const size_t count = pdm_k_list_count(k, 0);
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0), *table = pdm_k_list_at(k, 1, 0);
    sum_norm s = {
        .bias = pdm_k_in(k, 2), .scale = pdm_k_in(k, 3), .epsilon = pdm_k_float(k, "epsilon")};

    if (!first || !pdm_nn_floats(k, table) || !pdm_nn_rank_is(k, table, 2, 2, "a table") ||
        !pdm_nn_rank_is(k, first, 2, 3, "ids") || count != pdm_k_list_count(k, 1))
        return pdm_k_fail(k, "ids and tables do not fit");
    const int64_t n = table->dims[1], dims[3] = {first->dims[0], first->dims[1], n};
    pdm_tensor like = {.dtype = table->dtype, .rank = 3, .dims = {dims[0], dims[1], n}};
    for (size_t i = 0; i < count; i++) {
        const pdm_tensor *ids = pdm_k_list_at(k, 0, i), *t = pdm_k_list_at(k, 1, i);
        if (!ids || !pdm_nn_floats(k, t) || t->rank != 2 || t->dims[1] != n ||
            pdm_tensor_count(ids) != dims[0] * dims[1])
            return pdm_k_fail(k, "ids and tables do not fit");
    }
    if (!begin_norm(k, &s, &like, 2, -1, -1))
        return k->status;
    double *row = pdm_nn_room(k, n);
    for (int64_t r = 0; r < s.rows && row && PDM_K_OK(k); r++) {
        memset(row, 0, (size_t)n * sizeof *row);
        for (size_t i = 0; i < count && PDM_K_OK(k); i++)
            add_embedding(k, pdm_k_list_at(k, 0, i), pdm_k_list_at(k, 1, i), r, n, row);
        norm_row(&s, r, row);
    }
    free(row);
    return k->status;
}

/* ---- rms_norm with residual ----------------------------------------------------------------- */

/* The operands after x; without a residual the bias does not count. */
typedef struct rms_sum {
    const pdm_tensor *bias, *residual, *scale, *shift;
    pdm_tensor *sum, *inverses;
    double epsilon;
} rms_sum;

static void rms_row(const rms_sum *s, const pdm_tensor *x, pdm_tensor *out, int64_t r, int64_t n,
                    double *row)
{
    double squares = 0;

    pdm_nn_load(x, r * n, 1, n, row);
    for (int64_t j = 0; j < n; j++) {
        if (s->residual)
            row[j] += pdm_nn_at(s->residual, r * n + j) + (s->bias ? pdm_nn_at(s->bias, j) : 0);
        squares += row[j] * row[j];
    }
    if (s->sum)
        pdm_nn_store(s->sum, r * n, 1, n, row);
    const double inverse = 1 / sqrt(squares / (double)n + s->epsilon);
    for (int64_t j = 0; j < n; j++)
        row[j] =
            row[j] * inverse * pdm_nn_at(s->scale, j) + (s->shift ? pdm_nn_at(s->shift, j) : 0);
    pdm_nn_store(out, r * n, 1, n, row);
    if (s->inverses)
        pdm_nn_put(s->inverses, r, inverse);
}

pdm_status pdm_kernel_fused_rms_norm_quant(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    rms_sum s = {.bias = pdm_k_in_opt(k, 1),
                 .residual = pdm_k_in_opt(k, 2),
                 .scale = pdm_k_in(k, 3),
                 .shift = pdm_k_in_opt(k, 4),
                 .epsilon = pdm_k_float(k, "epsilon")};

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, s.scale) ||
        (s.residual && !pdm_nn_floats(k, s.residual)))
        return k->status;
    if (pdm_k_float(k, "quant_scale") > 0)
        return pdm_k_fail(k, "the quantized form is not supported");
    const int axis = axis_of(k, x, pdm_k_int(k, "begin_norm_axis"));
    if (!PDM_K_OK(k))
        return k->status;
    const int64_t rows = pdm_k_product(x->dims, 0, axis), n = pdm_k_product(x->dims, axis, x->rank);
    if (!pdm_nn_count_is(k, s.residual, pdm_tensor_count(x), "residual") ||
        !pdm_nn_count_is(k, s.scale, n, "norm_weight") ||
        !pdm_nn_count_is(k, s.shift, n, "norm_bias") || !pdm_nn_count_is(k, s.bias, n, "bias"))
        return k->status;
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    s.sum = s.residual ? wanted(k, 1, x->dtype, x->rank, x->dims) : NULL;
    s.inverses = wanted(k, 2, PDM_F32, 1, &rows);
    double *row = pdm_nn_room(k, n);
    for (int64_t r = 0; r < rows && row && out && PDM_K_OK(k); r++)
        rms_row(&s, x, out, r, n, row);
    free(row);
    return k->status;
}

/* ---- bias, residual, normalization ---------------------------------------------------------- */

/* out = norm(residual * alpha + (x + bias) * keep); without drop the kept share is exact. */
static pdm_status residual_norm(pdm_k *k, sum_norm *s, const pdm_tensor *x,
                                const pdm_tensor *residual, const pdm_tensor *bias, double alpha,
                                double keep)
{
    double *row = pdm_nn_room(k, s->n);

    for (int64_t r = 0; r < s->rows && row; r++) {
        for (int64_t j = 0; j < s->n; j++) {
            const int64_t i = r * s->n + j;
            row[j] = (pdm_nn_at(x, i) + (bias ? pdm_nn_at(bias, j) : 0)) * keep;
            if (residual)
                row[j] += alpha * pdm_nn_at(residual, i);
        }
        norm_row(s, r, row);
    }
    free(row);
    return k->status;
}

pdm_status pdm_kernel_fused_bias_dropout_residual_layer_norm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *residual = pdm_k_in(k, 1), *bias = pdm_k_in_opt(k, 2);
    sum_norm s = {.scale = pdm_k_in_opt(k, 3),
                  .bias = pdm_k_in_opt(k, 4),
                  .epsilon = pdm_k_float(k, "ln_epsilon")};
    const double rate = pdm_k_float(k, "dropout_rate");
    const bool upscale = !strcmp(pdm_k_str(k, "dropout_implementation"), "upscale_in_train");

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, residual) ||
        !pdm_nn_rank_is(k, x, 1, PDM_MAX_RANK, "x"))
        return k->status;
    if (!pdm_k_bool(k, "is_test") && rate > 0)
        return pdm_k_fail(k, "dropping is for test runs only here");
    if (!pdm_nn_count_is(k, residual, pdm_tensor_count(x), "residual") ||
        !pdm_nn_count_is(k, bias, x->dims[x->rank - 1], "bias") ||
        !begin_norm(k, &s, x, x->rank - 1, 1, 3))
        return k->status;
    pdm_tensor *mask = wanted(k, 2, PDM_U8, x->rank, x->dims);
    if (mask)
        pdm_nn_fill(mask, 1);
    return residual_norm(k, &s, x, residual, bias, 1, upscale ? 1 : 1 - rate);
}

pdm_status pdm_kernel_fused_bias_residual_layernorm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *bias = pdm_k_in_opt(k, 1);
    const pdm_tensor *residual = pdm_k_in_opt(k, 2);
    sum_norm s = {.scale = pdm_k_in_opt(k, 3),
                  .bias = pdm_k_in_opt(k, 4),
                  .epsilon = pdm_k_float(k, "epsilon")};

    if (!pdm_nn_floats(k, x) || (residual && !pdm_nn_floats(k, residual)))
        return k->status;
    if (pdm_k_float(k, "quant_scale") > 0)
        return pdm_k_fail(k, "the quantized form is not supported");
    const int axis = axis_of(k, x, pdm_k_int(k, "begin_norm_axis"));
    if (!PDM_K_OK(k) || !pdm_nn_count_is(k, residual, pdm_tensor_count(x), "residual") ||
        !pdm_nn_count_is(k, bias, pdm_k_product(x->dims, axis, x->rank), "bias") ||
        !begin_norm(k, &s, x, axis, 1, 2))
        return k->status;
    return residual_norm(k, &s, x, residual, bias, pdm_k_float(k, "residual_alpha"), 1);
}

/* ---- fast_ln, add_group_norm_silu ------------------------------------------------------------ */

/* The second statistic is 1 / sqrt(variance + epsilon). */
pdm_status pdm_kernel_fast_ln(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    sum_norm s = {
        .scale = pdm_k_in(k, 1), .bias = pdm_k_in(k, 2), .epsilon = pdm_k_float(k, "epsilon")};

    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 1, PDM_MAX_RANK, "x") ||
        !begin_norm(k, &s, x, x->rank - 1, -1, 1))
        return k->status;
    double *row = pdm_nn_room(k, s.n);
    for (int64_t r = 0; r < s.rows && row; r++) {
        pdm_nn_load(x, r * s.n, 1, s.n, row);
        norm_row(&s, r, row);
        if (s.variance)
            pdm_nn_put(s.variance, r, 1 / sqrt(pdm_nn_at(s.variance, r) + s.epsilon));
    }
    free(row);
    return k->status;
}
