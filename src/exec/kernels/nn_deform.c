/* Deformable convolution; bilinear products of two vectors. */
#include "exec/kernels/nn_impl.h"

#include <math.h>

typedef struct deform {
    const pdm_tensor *x, *offset, *filter, *mask;
    pdm_tensor *out;
    pdm_nn_window w;
    int64_t groups, shared, in_group, out_group, places, area; /* shared: groups of offsets */
} deform;

/* The input at a place between its elements; zeros around. */
static double sample(const deform *d, int64_t plane, double y, double x)
{
    const int64_t rows = d->w.in[1], cols = d->w.in[2];
    double sum = 0;

    if (!(y > -1 && x > -1 && y < (double)rows && x < (double)cols))
        return 0;
    const double y0 = floor(y), x0 = floor(x);
    for (int i = 0; i < 4; i++) {
        const int64_t r = (int64_t)y0 + i / 2, c = (int64_t)x0 + i % 2;
        const double weight = (i / 2 ? y - y0 : 1 - (y - y0)) * (i % 2 ? x - x0 : 1 - (x - x0));
        if (r >= 0 && r < rows && c >= 0 && c < cols)
            sum += weight * pdm_nn_at(d->x, (plane * rows + r) * cols + c);
    }
    return sum;
}

static void load_filter(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t k,
                        int64_t depth, double *to)
{
    const deform *d = arg;
    const int64_t n = d->in_group * d->places;
    const pdm_nn_matrix m = {d->filter, batch % d->groups * d->out_group * n, n, 1};

    pdm_nn_matrix_rows(&m, row, rows, k, depth, to);
}

static void load_input(const void *arg, int64_t batch, int64_t k, int64_t depth, int64_t col,
                       int64_t cols, double *to)
{
    const deform *d = arg;
    const pdm_nn_window *w = &d->w;
    const int64_t n = batch / d->groups, first = batch % d->groups * d->in_group;

    for (int64_t p = k; p < k + depth; p++, to += PDM_GEMM_TILE) {
        const int64_t place = p % d->places, channel = first + p / d->places;
        const int64_t set = n * d->shared + channel / (w->channels / d->shared);
        const int64_t i = place / w->kernel[2], j = place % w->kernel[2];
        for (int64_t c = 0; c < cols; c++) {
            const int64_t at = col + c, y = at / w->out[2], x = at % w->out[2];
            const int64_t shift = (set * 2 * d->places + 2 * place) * d->area + at;
            const double dy = pdm_nn_at(d->offset, shift);
            const double dx = pdm_nn_at(d->offset, shift + d->area);
            double v = sample(d, n * w->channels + channel,
                              (double)(y * w->stride[1] - w->before[1] + i * w->dilation[1]) + dy,
                              (double)(x * w->stride[2] - w->before[2] + j * w->dilation[2]) + dx);
            if (d->mask)
                v *= pdm_nn_at(d->mask, (set * d->places + place) * d->area + at);
            to[c] = v;
        }
    }
}

static void store_output(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t col,
                         int64_t cols, double *from)
{
    const deform *d = arg;

    for (int64_t r = 0; r < rows; r++)
        pdm_nn_store(d->out, (batch * d->out_group + row + r) * d->area + col, 1, cols,
                     from + r * PDM_GEMM_TILE);
}

static bool read_window(pdm_k *k, deform *d)
{
    pdm_nn_window *w = &d->w;

    if (!pdm_nn_window_input(k, w, d->x, "NCHW") ||
        !pdm_nn_window_attr(k, w, "strides", 1, w->stride) ||
        !pdm_nn_window_attr(k, w, "dilations", 1, w->dilation) ||
        !pdm_nn_window_pads(k, w, "paddings", "EXPLICIT", false))
        return false;
    for (int i = 1; i < 3; i++) {
        w->kernel[i] = d->filter->dims[i + 1];
        const int64_t room =
            w->in[i] + w->before[i] + w->after[i] - (w->dilation[i] * (w->kernel[i] - 1) + 1);
        w->out[i] = room / w->stride[i] + 1;
        if (room < 0 || w->kernel[i] < 1 || w->kernel[i] > INT32_MAX) {
            pdm_k_fail(k, "the kernel is larger than the padded operand");
            return false;
        }
    }
    d->places = w->kernel[1] * w->kernel[2];
    d->area = pdm_nn_mul(k, w->out[1], w->out[2]);
    return PDM_K_OK(k);
}

/* An operand [batch, channels, rows, columns of the result]. */
static bool map_fits(pdm_k *k, const deform *d, const pdm_tensor *t, int64_t channels)
{
    if (t && (t->rank != 4 || t->dims[0] != d->w.batch || t->dims[1] != channels ||
              t->dims[2] != d->w.out[1] || t->dims[3] != d->w.out[2]))
        pdm_k_fail(k, "offset or mask does not fit the result");
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_deformable_conv(pdm_k *k)
{
    deform d = {.x = pdm_k_in(k, 0),
                .offset = pdm_k_in(k, 1),
                .filter = pdm_k_in(k, 2),
                .mask = pdm_k_in_opt(k, 3),
                .groups = pdm_k_int(k, "groups"),
                .shared = pdm_k_int(k, "deformable_groups")};

    if (!pdm_nn_floats(k, d.x) || !pdm_nn_floats(k, d.offset) || !pdm_nn_floats(k, d.filter) ||
        !pdm_nn_rank_is(k, d.x, 4, 4, "x") || !pdm_nn_rank_is(k, d.filter, 4, 4, "filter") ||
        !read_window(k, &d))
        return k->status;
    const int64_t channels = d.w.channels, out = d.filter->dims[0];
    if (d.groups < 1 || d.shared < 1 || channels % d.groups || channels % d.shared ||
        out % d.groups || channels / d.groups != d.filter->dims[1])
        return pdm_k_fail(k, "the channels do not fit the groups");
    d.in_group = channels / d.groups;
    d.out_group = out / d.groups;
    const int64_t maps = pdm_nn_mul(k, 2 * d.shared, d.places);
    if (!PDM_K_OK(k) || !map_fits(k, &d, d.offset, maps) || !map_fits(k, &d, d.mask, maps / 2))
        return k->status;
    const int64_t dims[4] = {d.w.batch, out, d.w.out[1], d.w.out[2]};
    d.out = pdm_nn_out(k, 0, d.x->dtype, 4, dims);
    const pdm_gemm gemm = {.batch = d.w.batch * d.groups,
                           .rows = d.out_group,
                           .cols = d.area,
                           .depth = d.in_group * d.places,
                           .load_a = load_filter,
                           .load_b = load_input,
                           .store = store_output,
                           .arg = &d,
                           .single = d.x->dtype == PDM_F32};
    if (d.out)
        pdm_nn_gemm(k, &gemm);
    return k->status;
}

/* ---- bilinear ------------------------------------------------------------------------------- */

pdm_status pdm_kernel_bilinear(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1), *w = pdm_k_in(k, 2);
    const pdm_tensor *bias = pdm_k_in_opt(k, 3);

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, y) || !pdm_nn_floats(k, w) ||
        !pdm_nn_rank_is(k, x, 2, 2, "x") || !pdm_nn_rank_is(k, y, 2, 2, "y") ||
        !pdm_nn_rank_is(k, w, 3, 3, "weight") || !pdm_nn_count_is(k, bias, w->dims[0], "bias"))
        return k->status;
    const int64_t rows = x->dims[0], m = x->dims[1], n = y->dims[1], results = w->dims[0];
    if (y->dims[0] != rows || w->dims[1] != m || w->dims[2] != n)
        return pdm_k_fail(k, "x, y and weight do not fit");
    const int64_t dims[2] = {rows, results};
    pdm_tensor *out = pdm_nn_out(k, 0, x->dtype, 2, dims);
    for (int64_t i = 0; i < rows * results && out; i++) {
        const int64_t r = i / results, o = i % results;
        double sum = bias ? pdm_nn_at(bias, o) : 0;
        for (int64_t a = 0; a < m; a++) {
            double part = 0;
            for (int64_t b = 0; b < n; b++)
                part += pdm_nn_at(w, (o * m + a) * n + b) * pdm_nn_at(y, r * n + b);
            sum += pdm_nn_at(x, r * m + a) * part;
        }
        pdm_nn_put(out, i, sum);
    }
    return k->status;
}
