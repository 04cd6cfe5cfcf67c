/* Normalization: batch, layer, group, instance, root mean square. */
#include "exec/kernels/nn_impl.h"
#include "exec/kernels/nn_single.h"

#include <math.h>
#include <stdlib.h>

/* Mean and variance of `rows` runs of `n` elements that are `stride` apart; two passes. */
typedef struct moments {
    double mean, variance;
} moments;

static moments moments_of(const pdm_tensor *x, int64_t first, int64_t rows, int64_t stride,
                          int64_t n)
{
    double run[PDM_NN_RUN], sum = 0, squares = 0;
    moments m;

    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < n; i += PDM_NN_RUN) {
            const int64_t part = n - i < PDM_NN_RUN ? n - i : PDM_NN_RUN;
            pdm_nn_load(x, first + r * stride + i, 1, part, run);
            for (int64_t j = 0; j < part; j++)
                sum += run[j];
        }
    }
    m.mean = sum / (double)(rows * n);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < n; i += PDM_NN_RUN) {
            const int64_t part = n - i < PDM_NN_RUN ? n - i : PDM_NN_RUN;
            pdm_nn_load(x, first + r * stride + i, 1, part, run);
            for (int64_t j = 0; j < part; j++)
                squares += (run[j] - m.mean) * (run[j] - m.mean);
        }
    }
    m.variance = squares / (double)(rows * n);
    return m;
}

static double or_one(const pdm_tensor *t, int64_t i)
{
    return t ? pdm_nn_at(t, i) : 1;
}

static double or_zero(const pdm_tensor *t, int64_t i)
{
    return t ? pdm_nn_at(t, i) : 0;
}

static bool affine(pdm_k *k, const pdm_tensor *scale, const pdm_tensor *bias, int64_t count)
{
    return (!scale || pdm_nn_floats(k, scale)) && (!bias || pdm_nn_floats(k, bias)) &&
           pdm_nn_count_is(k, scale, count, "scale") && pdm_nn_count_is(k, bias, count, "bias");
}

/* ---- batch_norm ----------------------------------------------------------------------------- */

typedef struct channels {
    const pdm_tensor *x;
    pdm_tensor *out;
    int64_t outer, count, inner;   /* element = (outer * count + channel) * inner + i */
    const double *factor, *offset; /* by channel */
    pdm_nn_act act;
    const pdm_tensor *add;
} channels;

static void scale_runs(void *arg, int64_t begin, int64_t end)
{
    const channels *c = arg;
    double run[PDM_NN_RUN];

    for (int64_t r = begin; r < end; r++) {
        const double factor = c->factor[r % c->count], offset = c->offset[r % c->count];
        for (int64_t i = 0; i < c->inner; i += PDM_NN_RUN) {
            const int64_t n = c->inner - i < PDM_NN_RUN ? c->inner - i : PDM_NN_RUN;
            const int64_t first = r * c->inner + i;
            pdm_nn_load(c->x, first, 1, n, run);
            for (int64_t j = 0; j < n; j++) {
                run[j] *= factor;
                if (c->x->dtype == PDM_F32) /* not fused: two roundings */
                    run[j] = (double)(float)run[j];
                run[j] += offset;
                if (c->add)
                    run[j] += pdm_nn_at(c->add, first + j);
                if (c->act)
                    run[j] = c->act(run[j]);
            }
            pdm_nn_store(c->out, first, 1, n, run);
        }
    }
}

static void split_channels(channels *c, const char *layout)
{
    const pdm_tensor *x = c->x;
    const bool last = x->rank > 2 && layout[0] && layout[strlen(layout) - 1] == 'C';

    c->count = x->dims[last ? x->rank - 1 : 1];
    c->inner = last ? 1 : pdm_k_product(x->dims, 2, x->rank);
    c->outer = last ? pdm_k_product(x->dims, 0, x->rank - 1) : x->dims[0];
}

static moments channel_moments(const channels *c, int64_t channel)
{
    return moments_of(c->x, channel * c->inner, c->outer, c->count * c->inner, c->inner);
}

/* Operands of one batch_norm, by name: the rows order them differently. */
typedef struct batch_norm {
    const pdm_tensor *mean, *variance, *scale, *bias;
    bool use_given;
    double epsilon, momentum;
} batch_norm;

/* y = x * factor + offset; in single precision step by step, as the framework has it. */
static void set_factors(bool single, bool alone, const moments *m, double inverse,
                        const batch_norm *b, int64_t i, int64_t count, double *factor,
                        double *offset)
{
    const float mean = (float)m->mean, scale = (float)or_one(b->scale, i);
    const float bias = (float)or_zero(b->bias, i);

    factor[i] = inverse * or_one(b->scale, i);
    offset[i] = or_zero(b->bias, i) - m->mean * factor[i];
    if (single) {
        const float sum = (float)m->variance + (float)b->epsilon;
        /* eight at a time, the rest exactly */
        const float root = i < count / 8 * 8 ? pdm_single_sqrt(sum) : sqrtf(sum);
        const float turned = 1 / root, shift = mean * turned;
        factor[i] = (double)(turned * scale);
        offset[i] = (double)(bias - shift * scale);
    }
    if (alone) {
        factor[i] = 1;
        offset[i] = 0;
    }
}

/* Factor and offset of each channel; running and saved statistics are results 1 to 4. */
static bool batch_statistics(pdm_k *k, const channels *c, const batch_norm *b, double *factor,
                             double *offset)
{
    const int64_t dims[1] = {c->count};
    pdm_tensor *running[2] = {NULL, NULL}, *saved[2] = {NULL, NULL};

    for (size_t i = 0; i < 2; i++) {
        if (!b->use_given && pdm_k_wants(k, 1 + i))
            running[i] = pdm_nn_out(k, 1 + i, b->mean->dtype, 1, dims);
        if (pdm_k_wants(k, 3 + i))
            saved[i] = pdm_nn_out(k, 3 + i, b->mean->dtype, 1, dims);
        if (saved[i])
            pdm_nn_fill(saved[i], 0);
    }
    for (int64_t i = 0; i < c->count && PDM_K_OK(k); i++) {
        moments m = {pdm_nn_at(b->mean, i), pdm_nn_at(b->variance, i)};
        const moments before = m;
        /* One element for each channel cannot be normalized: it stays, and so do the statistics. */
        const bool alone = !b->use_given && c->outer * c->inner == 1;
        if (!b->use_given && !alone)
            m = channel_moments(c, i);
        const double inverse = 1 / sqrt(m.variance + b->epsilon);
        set_factors(c->x->dtype == PDM_F32 && b->use_given, alone, &m, inverse, b, i, c->count,
                    factor, offset);
        if (running[0])
            pdm_nn_put(running[0], i, before.mean * b->momentum + m.mean * (1 - b->momentum));
        if (running[1])
            pdm_nn_put(running[1], i,
                       before.variance * b->momentum + m.variance * (1 - b->momentum));
        if (saved[0] && !b->use_given && !alone)
            pdm_nn_put(saved[0], i, m.mean);
        if (saved[1] && !b->use_given && !alone)
            pdm_nn_put(saved[1], i, inverse);
    }
    if (b->use_given) {
        pdm_k_share(k, 1, b->mean, b->mean->rank, b->mean->dims);
        pdm_k_share(k, 2, b->variance, b->variance->rank, b->variance->dims);
    }
    return PDM_K_OK(k);
}

static pdm_status normalize_batch(pdm_k *k, channels *c, const batch_norm *b)
{
    if (!pdm_nn_floats(k, c->x) || !pdm_nn_floats(k, b->mean) || !pdm_nn_floats(k, b->variance) ||
        !affine(k, b->scale, b->bias, c->count) || !pdm_nn_count_is(k, b->mean, c->count, "mean") ||
        !pdm_nn_count_is(k, b->variance, c->count, "variance"))
        return k->status;
    c->out = pdm_nn_out_like(k, 0, c->x);
    double *room = pdm_nn_room(k, 2 * c->count);
    if (room && batch_statistics(k, c, b, room, room + c->count) && c->out) {
        c->factor = room;
        c->offset = room + c->count;
        pdm_k_parallel(k, c->outer * c->count, 1 + PDM_NN_GRAIN / (c->inner + 1), scale_runs, c);
    }
    free(room);
    const int64_t none[1] = {0};
    if (pdm_k_wants(k, 5))
        pdm_k_out(k, 5, PDM_U8, 1, none);
    return k->status;
}

pdm_status pdm_kernel_batch_norm(pdm_k *k)
{
    channels c = {.x = pdm_k_in(k, 0)};
    batch_norm b = {.mean = pdm_k_in(k, 1),
                    .variance = pdm_k_in(k, 2),
                    .scale = pdm_k_in_opt(k, 3),
                    .bias = pdm_k_in_opt(k, 4),
                    .epsilon = pdm_k_float(k, "epsilon"),
                    .momentum = pdm_k_float(k, "momentum")};

    b.use_given = (pdm_k_bool(k, "is_test") && !pdm_k_bool(k, "trainable_statistics")) ||
                  pdm_k_bool(k, "use_global_stats");
    if (!PDM_K_OK(k) || !pdm_nn_rank_is(k, c.x, 2, 5, "x"))
        return k->status;
    split_channels(&c, pdm_k_str(k, "data_format"));
    return normalize_batch(k, &c, &b);
}

/* With activation; the second form adds z before it. Channels are last; statistics of the batch. */
static pdm_status fused_batch_norm(pdm_k *k, size_t at)
{
    channels c = {.x = pdm_k_in(k, 0), .add = at == 2 ? pdm_k_in(k, 1) : NULL};
    batch_norm b = {.scale = pdm_k_in(k, at),
                    .bias = pdm_k_in(k, at + 1),
                    .mean = pdm_k_in(k, at + 2),
                    .variance = pdm_k_in(k, at + 3),
                    .epsilon = pdm_k_float(k, "epsilon"),
                    .momentum = pdm_k_float(k, "momentum")};

    c.act = pdm_nn_act_find(k, pdm_k_str(k, "act_type"));
    if (!PDM_K_OK(k) || !pdm_nn_rank_is(k, c.x, 2, 5, "x"))
        return k->status;
    if (c.add && !pdm_k_same_dims(c.add, c.x))
        return pdm_k_fail(k, "z has another shape than x");
    split_channels(&c, "NHWC");
    return normalize_batch(k, &c, &b);
}

pdm_status pdm_kernel_fused_batch_norm_act(pdm_k *k)
{
    return fused_batch_norm(k, 1);
}

pdm_status pdm_kernel_fused_bn_add_activation(pdm_k *k)
{
    return fused_batch_norm(k, 2);
}

/* ---- layer_norm ----------------------------------------------------------------------------- */

typedef struct layer {
    const pdm_tensor *x, *scale, *bias;
    pdm_tensor *out, *mean, *variance;
    int64_t n;
    double epsilon;
} layer;

static void layer_rows(void *arg, int64_t begin, int64_t end)
{
    const layer *l = arg;
    double run[PDM_NN_RUN];

    for (int64_t r = begin; r < end; r++) {
        const moments m = moments_of(l->x, r * l->n, 1, 0, l->n);
        const double inverse = 1 / sqrt(m.variance + l->epsilon);
        for (int64_t i = 0; i < l->n; i += PDM_NN_RUN) {
            const int64_t part = l->n - i < PDM_NN_RUN ? l->n - i : PDM_NN_RUN;
            pdm_nn_load(l->x, r * l->n + i, 1, part, run);
            for (int64_t j = 0; j < part; j++)
                run[j] =
                    (run[j] - m.mean) * inverse * or_one(l->scale, i + j) + or_zero(l->bias, i + j);
            pdm_nn_store(l->out, r * l->n + i, 1, part, run);
        }
        if (l->mean)
            pdm_nn_put(l->mean, r, m.mean);
        if (l->variance)
            pdm_nn_put(l->variance, r, m.variance);
    }
}

pdm_status pdm_kernel_layer_norm(pdm_k *k)
{
    layer l = {.x = pdm_k_in(k, 0),
               .scale = pdm_k_in_opt(k, 1),
               .bias = pdm_k_in_opt(k, 2),
               .epsilon = pdm_k_float(k, "epsilon")};
    const int64_t axis = pdm_k_int(k, "begin_norm_axis");

    if (!pdm_nn_floats(k, l.x))
        return k->status;
    if (axis < 1 || axis > l.x->rank)
        return pdm_k_fail(k, "axis %lld of a tensor with %d dimensions", (long long)axis,
                          l.x->rank);
    const int64_t rows[1] = {pdm_k_product(l.x->dims, 0, (int)axis)};
    l.n = pdm_k_product(l.x->dims, (int)axis, l.x->rank);
    if (!affine(k, l.scale, l.bias, l.n))
        return k->status;
    l.out = pdm_nn_out_like(k, 0, l.x);
    const pdm_dtype wide = pdm_nn_wide_dtype(l.x->dtype);
    if (pdm_k_wants(k, 1))
        l.mean = pdm_nn_out(k, 1, wide, 1, rows);
    if (pdm_k_wants(k, 2))
        l.variance = pdm_nn_out(k, 2, wide, 1, rows);
    if (l.out && PDM_K_OK(k))
        pdm_k_parallel(k, rows[0], 1 + PDM_NN_GRAIN / (l.n + 1), layer_rows, &l);
    return k->status;
}

void pdm_nn_normalize_row(double *row, int64_t n, const pdm_tensor *scale, const pdm_tensor *bias,
                          double epsilon, double *out_mean, double *out_variance)
{
    double mean = 0, variance = 0;

    for (int64_t i = 0; i < n; i++)
        mean += row[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        variance += (row[i] - mean) * (row[i] - mean) / (double)n;
    for (int64_t i = 0; i < n; i++)
        row[i] = (row[i] - mean) / sqrt(variance + epsilon) * or_one(scale, i) + or_zero(bias, i);
    *out_mean = mean;
    *out_variance = variance;
}

/* ---- group_norm, instance_norm -------------------------------------------------------------- */

typedef struct group {
    const pdm_tensor *x, *scale, *bias;
    pdm_tensor *out, *mean, *variance;
    int64_t channels, groups, area; /* channels of one group: channels / groups */
    bool last;
    bool inverse; /* the second statistic is 1 / sqrt(variance + epsilon) */
    double epsilon;
} group;

static void group_parts(void *arg, int64_t begin, int64_t end)
{
    const group *g = arg;
    const int64_t width = g->channels / g->groups;

    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / g->groups, first = i % g->groups * width;
        const int64_t base = n * g->channels * g->area + (g->last ? first : first * g->area);
        const int64_t rows = g->last ? g->area : width;
        const int64_t stride = g->last ? g->channels : g->area;
        const int64_t run = g->last ? width : g->area;
        const moments m = moments_of(g->x, base, rows, stride, run);
        const double inverse = 1 / sqrt(m.variance + g->epsilon);
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < run; j++) {
                const int64_t c = first + (g->last ? j : r), at = base + r * stride + j;
                pdm_nn_put(g->out, at,
                           (pdm_nn_at(g->x, at) - m.mean) * inverse * or_one(g->scale, c) +
                               or_zero(g->bias, c));
            }
        }
        if (g->mean)
            pdm_nn_put(g->mean, i, m.mean);
        if (g->variance)
            pdm_nn_put(g->variance, i, g->inverse ? inverse : m.variance);
    }
}

/* mean and variance (results `at` and `at` + 1) have that shape. */
static pdm_status normalize_groups(pdm_k *k, group *g, int rank, const int64_t *dims)
{
    const pdm_dtype wide = pdm_nn_wide_dtype(g->x->dtype);

    if (g->groups < 1 || g->channels % g->groups != 0)
        return pdm_k_fail(k, "%lld channels in %lld groups", (long long)g->channels,
                          (long long)g->groups);
    if (!affine(k, g->scale, g->bias, g->channels))
        return k->status;
    g->out = pdm_nn_out_like(k, 0, g->x);
    if (pdm_k_wants(k, 1))
        g->mean = pdm_nn_out(k, 1, wide, rank, dims);
    if (pdm_k_wants(k, 2))
        g->variance = pdm_nn_out(k, 2, wide, rank, dims);
    if (g->out && PDM_K_OK(k))
        pdm_k_parallel(k, g->x->dims[0] * g->groups, 1, group_parts, g);
    return k->status;
}

pdm_status pdm_kernel_group_norm(pdm_k *k)
{
    group g = {.x = pdm_k_in(k, 0),
               .scale = pdm_k_in_opt(k, 1),
               .bias = pdm_k_in_opt(k, 2),
               .epsilon = pdm_k_float(k, "epsilon"),
               .groups = pdm_k_int(k, "groups")};
    const char *layout = pdm_k_str(k, "data_format");

    if (!pdm_nn_floats(k, g.x) || !pdm_nn_rank_is(k, g.x, 2, PDM_MAX_RANK, "x"))
        return k->status;
    g.last = layout[0] == 'N' && layout[1] && layout[strlen(layout) - 1] == 'C';
    g.channels = g.x->dims[g.last ? g.x->rank - 1 : 1];
    g.area = g.last ? pdm_k_product(g.x->dims, 1, g.x->rank - 1)
                    : pdm_k_product(g.x->dims, 2, g.x->rank);
    const int64_t dims[2] = {g.x->dims[0], g.groups};
    return normalize_groups(k, &g, 2, dims);
}

pdm_status pdm_kernel_instance_norm(pdm_k *k)
{
    group g = {.x = pdm_k_in(k, 0),
               .scale = pdm_k_in_opt(k, 1),
               .bias = pdm_k_in_opt(k, 2),
               .epsilon = pdm_k_float(k, "epsilon"),
               .inverse = true};

    if (!pdm_nn_floats(k, g.x) || !pdm_nn_rank_is(k, g.x, 2, 5, "x"))
        return k->status;
    g.groups = g.channels = g.x->dims[1];
    g.area = pdm_k_product(g.x->dims, 2, g.x->rank);
    const int64_t dims[1] = {g.x->dims[0] * g.channels};
    return g.channels == 0 ? pdm_k_fail(k, "there are no channels")
                           : normalize_groups(k, &g, 1, dims);
}

/* ---- rms_norm ------------------------------------------------------------------------------- */

static pdm_status rms_norm(pdm_k *k, int axis)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *scale = pdm_k_in_opt(k, 1);
    const double epsilon = pdm_k_float(k, "epsilon");

    if (!pdm_nn_floats(k, x))
        return k->status;
    const int64_t rows = pdm_k_product(x->dims, 0, axis), n = pdm_k_product(x->dims, axis, x->rank);
    if (!affine(k, scale, NULL, n))
        return k->status;
    pdm_tensor *out = pdm_nn_out_like(k, 0, x), *inverses = NULL;
    if (pdm_k_wants(k, 1))
        inverses = pdm_nn_out(k, 1, pdm_nn_wide_dtype(x->dtype), axis, x->dims);
    for (int64_t r = 0; r < rows && out && PDM_K_OK(k); r++) {
        double squares = 0;
        for (int64_t i = 0; i < n; i++) {
            const double v = pdm_nn_at(x, r * n + i);
            squares += v * v;
        }
        const double inverse = 1 / sqrt(squares / (double)n + epsilon);
        for (int64_t i = 0; i < n; i++)
            pdm_nn_put(out, r * n + i, pdm_nn_at(x, r * n + i) * inverse * or_one(scale, i));
        if (inverses)
            pdm_nn_put(inverses, r, inverse);
    }
    return k->status;
}

pdm_status pdm_kernel_rms_norm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t shape[PDM_K_MAX_INTS];
    const size_t count = pdm_k_ints(k, "normalized_shape", shape);

    if (!x || !PDM_K_OK(k))
        return k->status;
    if (count > (size_t)x->rank)
        return pdm_k_fail(k, "normalized_shape has %zu dimensions, x has %d", count, x->rank);
    for (size_t i = 0; i < count; i++) {
        if (shape[i] != x->dims[(size_t)x->rank - count + i])
            return pdm_k_fail(k, "normalized_shape is not the end of the shape");
    }
    return rms_norm(k, x->rank - (int)count);
}

pdm_status pdm_kernel_fast_rms_norm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    return x && pdm_nn_rank_is(k, x, 1, PDM_MAX_RANK, "x") ? rms_norm(k, x->rank - 1) : k->status;
}
