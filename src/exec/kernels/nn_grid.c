/* Sampling by grids: grid_sample, affine_grid; affine_channel. */
#include "exec/kernels/nn_impl.h"

#include <math.h>

/* ---- grid_sample ---------------------------------------------------------------------------- */

typedef struct sampler {
    const pdm_tensor *x, *grid;
    pdm_tensor *out;
    int spatial;
    int64_t batch, channels, in[3], out_area; /* in: depth, height, width */
    enum { ZEROS, BORDER, REFLECTION } padding;
    bool nearest, align_corners, single;
} sampler;

/* Places are calculated in the grid's precision, which decides about neighbours. */
static double rounded(const sampler *s, double value)
{
    return s->single ? (double)(float)value : value;
}

static double reflect(const sampler *s, double at, double most)
{
    const double shift = s->align_corners ? 0 : 0.5;
    const double range = s->align_corners ? most * 2 : (most + 1) * 2;

    if (range == 0)
        return 0;
    const double far = rounded(s, fabs(at + shift));
    const double extra = rounded(s, far - rounded(s, floor(rounded(s, far / range)) * range));
    const double back = rounded(s, range - extra);
    return rounded(s, (extra < back ? extra : back) - shift);
}

/* From [-1, 1] to places of a dim with n elements. */
static double place_of(const sampler *s, double at, int64_t n)
{
    const double most = (double)(n - 1);

    if (s->align_corners)
        at = rounded(s, rounded(s, at + 1) * (most * 0.5));
    else
        at = rounded(s, rounded(s, rounded(s, at + 1) * ((most + 1) * 0.5)) - 0.5);
    if (s->padding == REFLECTION)
        at = reflect(s, at, most);
    if (s->padding != ZEROS)
        at = at < 0 ? 0 : at > most ? most : at;
    return at;
}

static double element(const sampler *s, int64_t base, const double at[3])
{
    for (int d = 0; d < 3; d++) {
        if (!(at[d] >= 0 && at[d] <= (double)(s->in[d] - 1)))
            return 0;
    }
    return pdm_nn_at(s->x, base + ((int64_t)at[0] * s->in[1] + (int64_t)at[1]) * s->in[2] +
                               (int64_t)at[2]);
}

static double sample(const sampler *s, int64_t base, const double at[3])
{
    double low[3], corner[3], sum = 0;

    for (int d = 0; d < 3; d++)
        low[d] = s->nearest ? rint(at[d]) : floor(at[d]);
    if (s->nearest)
        return element(s, base, low);
    for (int i = 0; i < 8; i++) {
        double weight = 1;
        for (int d = 0; d < 3; d++) {
            const int up = i >> (2 - d) & 1;
            corner[d] = low[d] + up;
            weight *= up ? at[d] - low[d] : 1 - (at[d] - low[d]);
        }
        if (s->spatial == 3 || i < 4)
            sum += weight * element(s, base, corner);
    }
    return sum;
}

static void sample_places(void *arg, int64_t begin, int64_t end)
{
    const sampler *s = arg;
    const int64_t volume = s->in[0] * s->in[1] * s->in[2];

    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / s->out_area, place = i % s->out_area;
        double at[3] = {0, 0, 0};
        for (int d = 0; d < s->spatial; d++)
            at[2 - d] = place_of(s, pdm_nn_at(s->grid, i * s->spatial + d), s->in[2 - d]);
        for (int64_t c = 0; c < s->channels; c++) {
            const int64_t plane = n * s->channels + c;
            pdm_nn_put(s->out, plane * s->out_area + place, sample(s, plane * volume, at));
        }
    }
}

static bool grid_words(pdm_k *k, sampler *s)
{
    const char *mode = pdm_k_str(k, "mode"), *padding = pdm_k_str(k, "padding_mode");

    s->nearest = !strcmp(mode, "nearest");
    s->align_corners = pdm_k_bool(k, "align_corners");
    s->padding = !strcmp(padding, "border")       ? BORDER
                 : !strcmp(padding, "reflection") ? REFLECTION
                                                  : ZEROS;
    if ((!s->nearest && strcmp(mode, "bilinear")) ||
        (s->padding == ZEROS && strcmp(padding, "zeros")))
        pdm_k_fail(k, "mode '%s' with padding '%s' is not known", mode, padding);
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_grid_sample(pdm_k *k)
{
    sampler s = {.x = pdm_k_in(k, 0), .grid = pdm_k_in(k, 1), .in = {1, 1, 1}};
    int64_t dims[PDM_MAX_RANK];

    if (!pdm_nn_floats(k, s.x) || !pdm_nn_floats(k, s.grid) || !grid_words(k, &s) ||
        !pdm_nn_rank_is(k, s.x, 4, 5, "x"))
        return k->status;
    s.spatial = s.x->rank - 2;
    s.single = s.grid->dtype != PDM_F64;
    if (s.grid->rank != s.x->rank || s.grid->dims[0] != s.x->dims[0] ||
        s.grid->dims[s.x->rank - 1] != s.spatial)
        return pdm_k_fail(k, "the grid does not fit x");
    s.batch = dims[0] = s.x->dims[0];
    s.channels = dims[1] = s.x->dims[1];
    for (int d = 0; d < s.spatial; d++) {
        s.in[3 - s.spatial + d] = s.x->dims[d + 2];
        dims[d + 2] = s.grid->dims[d + 1];
    }
    s.out = pdm_nn_out(k, 0, s.x->dtype, s.x->rank, dims);
    if (!s.out)
        return k->status;
    s.out_area = pdm_k_product(dims, 2, s.x->rank);
    pdm_k_parallel(k, s.batch * s.out_area, 64, sample_places, &s);
    return k->status;
}

/* ---- affine_grid ---------------------------------------------------------------------------- */

/* Element i of n places over [-1, 1]. */
static double spread(int64_t i, int64_t n, bool align_corners)
{
    if (align_corners)
        return -1 + (double)i * (2 / (double)(n - 1));
    return -(double)(n - 1) / (double)n + (double)i * (2 / (double)n);
}

pdm_status pdm_kernel_affine_grid(pdm_k *k)
{
    const pdm_tensor *theta = pdm_k_in(k, 0);
    int64_t shape[PDM_K_MAX_INTS], dims[PDM_MAX_RANK];
    const size_t count = pdm_k_in_ints(k, 1, shape);
    const bool align = pdm_k_bool(k, "align_corners");

    if (!pdm_nn_floats(k, theta) || !pdm_nn_rank_is(k, theta, 3, 3, "theta"))
        return k->status;
    const int spatial = (int)theta->dims[1];
    if ((spatial != 2 && spatial != 3) || theta->dims[2] != spatial + 1 ||
        count != (size_t)spatial + 2)
        return pdm_k_fail(k, "theta and output_shape do not fit together");
    dims[0] = theta->dims[0];
    memcpy(dims + 1, shape + 2, (size_t)spatial * sizeof *dims);
    dims[spatial + 1] = spatial;
    pdm_tensor *out = pdm_nn_out(k, 0, theta->dtype, spatial + 2, dims);
    if (!out)
        return k->status;
    const int64_t places = pdm_tensor_count(out) / spatial,
                  area = pdm_k_product(dims, 1, spatial + 1);
    for (int64_t i = 0; i < places; i++) {
        double at[4] = {0, 0, 0, 1}; /* width, height, depth, 1 */
        int64_t rest = i % area;
        for (int d = 0; d < spatial; d++) {
            const int64_t n = dims[spatial - d];
            at[d] = spread(rest % n, n, align);
            rest /= n;
        }
        at[spatial] = 1;
        for (int r = 0; r < spatial; r++) {
            double sum = 0;
            for (int c = 0; c <= spatial; c++)
                sum += at[c] * pdm_nn_at(theta, (i / area * spatial + r) * (spatial + 1) + c);
            pdm_nn_put(out, i * spatial + r, sum);
        }
    }
    return k->status;
}

/* ---- affine_channel ------------------------------------------------------------------------- */

pdm_status pdm_kernel_affine_channel(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *scale = pdm_k_in(k, 1), *bias = pdm_k_in(k, 2);
    const bool last = !strcmp(pdm_k_str(k, "data_layout"), "NHWC");

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, scale) || !pdm_nn_floats(k, bias) ||
        !pdm_nn_rank_is(k, x, 2, PDM_MAX_RANK, "x"))
        return k->status;
    const int64_t channels = x->dims[last ? x->rank - 1 : 1];
    const int64_t inner = last ? 1 : pdm_k_product(x->dims, 2, x->rank);
    if (!pdm_nn_count_is(k, scale, channels, "scale") ||
        !pdm_nn_count_is(k, bias, channels, "bias"))
        return k->status;
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    const int64_t n = out ? pdm_tensor_count(x) : 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = i / inner % channels;
        pdm_nn_put(out, i, pdm_nn_at(x, i) * pdm_nn_at(scale, c) + pdm_nn_at(bias, c));
    }
    return k->status;
}
