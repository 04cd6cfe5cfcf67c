/* Interpolation: nearest, linear (one to three dims), cubic. */
#include "exec/kernels/nn_interp.h"

#include <math.h>

/* ---- sizes ---------------------------------------------------------------------------------- */

static void take_scales(pdm_k *k, pdm_nn_interp *p, const double *scales, size_t count)
{
    const size_t n = (size_t)p->w.spatial;

    if (count != 1 && count < n) {
        pdm_k_fail(k, "%zu scales for %d dimensions", count, p->w.spatial);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const float scale = (float)scales[count == 1 ? 0 : i];
        if (!(scale > 0)) {
            pdm_k_fail(k, "a scale of %g", (double)scale);
            return;
        }
        const size_t d = 3 - n + i;
        p->scale[d] = scales[count == 1 ? 0 : i];
        const double size = pdm_k_before(k, PDM_DIFF_INTERP)
                                ? (double)((float)p->w.in[d] * scale)
                                : (double)p->w.in[d] * scales[count == 1 ? 0 : i];
        p->w.out[d] = size < 1e9 ? (int64_t)size : -1;
    }
}

static void read_scales(pdm_k *k, pdm_nn_interp *p)
{
    const pdm_tensor *tensor = pdm_k_in_opt(k, 3);
    double scales[PDM_K_MAX_INTS];
    size_t count;

    if (tensor) {
        count = (size_t)pdm_tensor_count(tensor);
        if (count > 3)
            count = 3;
        for (size_t i = 0; i < count; i++)
            scales[i] = pdm_get_double(tensor, (int64_t)i);
    } else {
        count = pdm_k_floats(k, "scale", scales);
        for (size_t i = 0; i < count; i++) {
            if (!(scales[i] > 0))
                count = 0;
        }
    }
    if (count > 0)
        take_scales(k, p, scales, count);
}

/* A list of sizes wins; then a tensor of sizes, then scales, then the attributes. */
static bool read_sizes(pdm_k *k, pdm_nn_interp *p)
{
    static const char *const names[3] = {"out_d", "out_h", "out_w"};
    int64_t sizes[PDM_K_MAX_INTS];
    const size_t n = (size_t)p->w.spatial, listed = pdm_k_list_count(k, 2);

    for (size_t d = 3 - n; d < 3; d++)
        p->w.out[d] = pdm_k_int(k, names[d]);
    if (listed == 0)
        read_scales(k, p);
    size_t count = listed > 0 ? pdm_k_in_ints(k, 2, sizes) : pdm_k_in_ints(k, 1, sizes);
    if (count > 0 && count < n)
        pdm_k_fail(k, "%zu sizes for %d dimensions", count, p->w.spatial);
    for (size_t i = 0; i < n && count > 0 && PDM_K_OK(k); i++)
        p->w.out[3 - n + i] = sizes[i];
    for (size_t d = 3 - n; d < 3 && PDM_K_OK(k); d++) {
        if (p->w.out[d] < 1 || p->w.out[d] > INT32_MAX || p->w.in[d] < 1)
            pdm_k_fail(k, "a size of %lld from %lld", (long long)p->w.out[d],
                       (long long)p->w.in[d]);
    }
    return PDM_K_OK(k);
}

/* ---- tables --------------------------------------------------------------------------------- */

static int64_t within(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Input elements for one output element; single precision, as it decides which they are. */
float pdm_nn_interp_ratio(const pdm_nn_interp *p, int d)
{
    const int64_t in = p->w.in[d], out = p->w.out[d];

    if (out <= 1)
        return 0;
    if (p->align_corners)
        return (float)(in - 1) / (float)(out - 1);
    return p->scale[d] > 0 ? (float)(1.0 / p->scale[d]) : (float)in / (float)out;
}

static void cubic_weights(double t, double *weight)
{
    const double a = -0.75;

    for (int i = 0; i < 4; i++) {
        const double x = fabs(t + 1 - i);
        weight[i] = x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1
                           : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    }
}

static void place(const pdm_nn_interp *p, int d, float ratio, int64_t i, int64_t *from,
                  double *weight)
{
    const int64_t in = p->w.in[d];
    const float half = (float)((double)ratio * ((double)i + 0.5) - 0.5);
    const float plain = ratio * (float)i;

    if (p->method == PDM_INTERP_NEAREST) {
        from[0] = within(p->align_corners ? (int64_t)((double)plain + 0.5) : (int64_t)plain, in);
        weight[0] = 1;
    } else if (p->method == PDM_INTERP_LINEAR) {
        const bool centred = p->align_mode == 0 && !p->align_corners;
        const float at = centred ? (half > 0 ? half : 0) : plain;
        from[0] = within((int64_t)at, in);
        from[1] = within(from[0] + 1, in);
        weight[1] = (double)(at - (float)from[0]);
        weight[0] = 1 - weight[1];
    } else {
        const float at = p->align_corners ? plain : half;
        const float floor_at = floorf(at);
        for (int t = 0; t < 4; t++)
            from[t] = within((int64_t)floor_at - 1 + t, in);
        cubic_weights((double)(at - floor_at), weight);
    }
}

static bool make_axis(pdm_k *k, pdm_nn_interp *p, int d)
{
    pdm_nn_interp_axis *a = &p->axes[d];
    const size_t n = (size_t)p->w.out[d] * PDM_INTERP_TAPS;
    const float ratio = pdm_nn_interp_ratio(p, d);

    a->taps = 3 - d > p->w.spatial              ? 1
              : p->method == PDM_INTERP_NEAREST ? 1
              : p->method == PDM_INTERP_LINEAR  ? 2
                                                : 4;
    a->from = pdm_k_temp(k, n * sizeof *a->from);
    a->weight = pdm_k_temp(k, n * sizeof *a->weight);
    if (!a->from || !a->weight)
        return false;
    memset(a->from, 0, n * sizeof *a->from);
    memset(a->weight, 0, n * sizeof *a->weight);
    for (int64_t i = 0; i < p->w.out[d]; i++) {
        if (3 - d > p->w.spatial)
            a->weight[0] = 1;
        else
            place(p, d, ratio, i, a->from + i * PDM_INTERP_TAPS, a->weight + i * PDM_INTERP_TAPS);
    }
    return true;
}

/* ---- rows of the result --------------------------------------------------------------------- */

static double sum_row(const pdm_nn_interp *p, int64_t base, const int64_t *from,
                      const double *weight)
{
    double sum = 0;

    for (int t = 0; t < p->axes[2].taps; t++)
        sum += weight[t] * pdm_nn_at(p->x, base + from[t] * p->xs[4]);
    return sum;
}

static double sum_at(const pdm_nn_interp *p, int64_t base, const int64_t at[3])
{
    const pdm_nn_interp_axis *a = p->axes;
    double sum = 0;

    for (int i = 0; i < a[0].taps; i++) {
        const int64_t z = at[0] * PDM_INTERP_TAPS + i;
        double plane = 0;
        for (int j = 0; j < a[1].taps; j++) {
            const int64_t y = at[1] * PDM_INTERP_TAPS + j;
            const int64_t row = base + a[0].from[z] * p->xs[2] + a[1].from[y] * p->xs[3];
            plane += a[1].weight[y] * sum_row(p, row, a[2].from + at[2] * PDM_INTERP_TAPS,
                                              a[2].weight + at[2] * PDM_INTERP_TAPS);
        }
        sum += a[0].weight[z] * plane;
    }
    return sum;
}

/* Bilinear in float32, rounded in the order in which the framework adds the four corners. */
static float corners(const pdm_nn_interp *p, int64_t base, const int64_t at[3])
{
    const pdm_nn_interp_axis *y = &p->axes[1], *x = &p->axes[2];
    const float *in = (const float *)p->x->data + base;
    float sum = 0;

    for (int64_t i = at[2] * PDM_INTERP_TAPS; i < at[2] * PDM_INTERP_TAPS + 2; i++) {
        for (int64_t j = at[1] * PDM_INTERP_TAPS; j < at[1] * PDM_INTERP_TAPS + 2; j++) {
            const float value = in[y->from[j] * p->xs[3] + x->from[i] * p->xs[4]];
            const float part = value * (float)y->weight[j];
            sum += part * (float)x->weight[i];
        }
    }
    return sum;
}

static void rows(void *arg, int64_t begin, int64_t end)
{
    const pdm_nn_interp *p = arg;
    const bool plane_of_four =
        p->method == PDM_INTERP_LINEAR && p->w.spatial == 2 && p->x->dtype == PDM_F32;
    const int64_t *out = p->w.out;
    const size_t size = pdm_dtype_size(p->x->dtype);

    for (int64_t row = begin; row < end; row++) {
        int64_t at[3] = {row / out[1] % out[0], row % out[1], 0};
        const int64_t plane = row / (out[1] * out[0]);
        const int64_t n = plane / p->w.channels, c = plane % p->w.channels;
        const int64_t from = n * p->xs[0] + c * p->xs[1];
        const int64_t to = n * p->os[0] + c * p->os[1] + at[0] * p->os[2] + at[1] * p->os[3];
        for (; at[2] < out[2]; at[2]++) {
            const int64_t where = to + at[2] * p->os[4];
            if (plane_of_four) {
                ((float *)p->out->data)[where] = corners(p, from, at);
                continue;
            }
            if (p->method != PDM_INTERP_NEAREST) {
                pdm_nn_put(p->out, where, sum_at(p, from, at));
                continue;
            }
            const int64_t source = from + p->axes[0].from[at[0] * PDM_INTERP_TAPS] * p->xs[2] +
                                   p->axes[1].from[at[1] * PDM_INTERP_TAPS] * p->xs[3] +
                                   p->axes[2].from[at[2] * PDM_INTERP_TAPS] * p->xs[4];
            memcpy((char *)p->out->data + (size_t)where * size,
                   (const char *)p->x->data + (size_t)source * size, size);
        }
    }
}

bool pdm_nn_interp_sizes(pdm_k *k, pdm_nn_interp *p)
{
    int64_t dims[PDM_MAX_RANK];

    p->x = pdm_k_in(k, 0);
    p->align_corners = pdm_k_bool(k, "align_corners");
    p->align_mode = pdm_k_int(k, "align_mode");
    /* Whatever the number of dims, the framework takes all layouts but NCHW for channels last. */
    const bool first = !strcmp(pdm_k_str(k, "data_format"), "NCHW");
    if (!pdm_nn_window_input(k, &p->w, p->x, first ? "NCHW" : "NHWC") || !read_sizes(k, p))
        return false;
    if (pdm_dtype_is_complex(p->x->dtype)) {
        pdm_k_unsupported_dtype(k, p->x->dtype);
        return false;
    }
    const int rank = pdm_nn_window_dims(&p->w, p->w.channels, p->w.out, dims);
    p->out = pdm_nn_out(k, 0, p->x->dtype, rank, dims);
    if (!p->out || pdm_tensor_count(p->out) == 0)
        return false;
    pdm_nn_window_strides(&p->w, p->w.channels, p->w.in, p->xs);
    pdm_nn_window_strides(&p->w, p->w.channels, p->w.out, p->os);
    return true;
}

bool pdm_nn_interp_begin(pdm_k *k, pdm_nn_interp *p)
{
    return pdm_nn_interp_sizes(k, p) && make_axis(k, p, 0) && make_axis(k, p, 1) &&
           make_axis(k, p, 2);
}

static pdm_status interpolate(pdm_k *k, pdm_nn_interp *p)
{
    if (pdm_nn_interp_begin(k, p))
        pdm_k_parallel(k, p->w.batch * p->w.channels * p->w.out[0] * p->w.out[1], 8, rows, p);
    return k->status;
}

pdm_status pdm_kernel_nearest_interp(pdm_k *k)
{
    pdm_nn_interp p = {.method = PDM_INTERP_NEAREST};

    return interpolate(k, &p);
}

pdm_status pdm_kernel_linear_interp(pdm_k *k)
{
    pdm_nn_interp p = {.method = PDM_INTERP_LINEAR};

    return interpolate(k, &p);
}

pdm_status pdm_kernel_bicubic_interp(pdm_k *k)
{
    pdm_nn_interp p = {.method = PDM_INTERP_CUBIC};

    return interpolate(k, &p);
}
