/* Convolution and transposed convolution, one to three spatial dims. */
#include "exec/kernels/nn_device.h"

#include <stdlib.h>

typedef pdm_nn_conv conv;

/* ---- products of matrices ------------------------------------------------------------------- */

/*
 * Step p of the depth is a channel and a place. The places of a channel follow each other; in
 * transposed convolution the channels of a place, as the framework adds up place by place.
 */
static void split_step(const conv *c, int64_t p, int64_t *channel, int64_t *place)
{
    *channel = c->transposed ? p % c->in_group : p / c->places;
    *place = c->transposed ? p / c->in_group : p % c->places;
}

static void load_filter(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t k,
                        int64_t depth, double *to)
{
    const conv *c = arg;

    for (int64_t r = row; r < row + rows; r++) {
        const int64_t base = batch % c->groups * c->filter_group + r * c->filter_out;
        for (int64_t p = k; p < k + depth;) {
            int64_t channel, place, n = k + depth - p;
            split_step(c, p, &channel, &place);
            if (c->transposed && n > c->in_group - channel)
                n = c->in_group - channel;
            pdm_nn_load(c->filter, base + channel * c->filter_in + place,
                        c->transposed ? c->filter_in : 1, n, to);
            to += n;
            p += n;
        }
    }
}

/* Where output places [col, col + cols) are in the tables. */
typedef struct spots {
    int64_t at[3][PDM_GEMM_TILE];
} spots;

static void find_spots(const conv *c, int64_t col, int64_t cols, spots *s)
{
    const int64_t *out = c->w.out;
    int64_t z = col / (out[1] * out[2]), y = col / out[2] % out[1], x = col % out[2];

    for (int64_t j = 0; j < cols; j++) {
        s->at[0][j] = z;
        s->at[1][j] = y;
        s->at[2][j] = x;
        if (++x == out[2]) {
            x = 0;
            if (++y == out[1]) {
                y = 0;
                z++;
            }
        }
    }
}

static void load_input(const void *arg, int64_t batch, int64_t k, int64_t depth, int64_t col,
                       int64_t cols, double *to)
{
    const conv *c = arg;
    const int64_t *kernel = c->w.kernel, *out = c->w.out, *xs = c->xs;
    const int64_t first = batch / c->groups * xs[0] + batch % c->groups * c->in_group * xs[1];
    spots s;

    find_spots(c, col, cols, &s);
    for (int64_t p = k; p < k + depth; p++, to += PDM_GEMM_TILE) {
        int64_t channel, place;
        split_step(c, p, &channel, &place);
        const int64_t base = first + channel * xs[1];
        const int64_t *zs = c->index[0] + place / (kernel[1] * kernel[2]) * out[0];
        const int64_t *ys = c->index[1] + place / kernel[2] % kernel[1] * out[1];
        const int64_t *ws = c->index[2] + place % kernel[2] * out[2];
        for (int64_t j = 0; j < cols; j++) {
            const int64_t z = zs[s.at[0][j]], y = ys[s.at[1][j]], x = ws[s.at[2][j]];
            const bool inside = (z | y | x) >= 0;
            to[j] = inside ? pdm_nn_at(c->x, base + z * xs[2] + y * xs[3] + x * xs[4]) : 0;
        }
    }
}

static void finish(const conv *c, int64_t channel, int64_t first, int64_t stride, int64_t n,
                   double *values)
{
    const double bias = c->bias ? pdm_nn_at(c->bias, channel) : 0;

    for (int64_t j = 0; j < n; j++) {
        values[j] += bias;
        if (c->residual)
            values[j] += pdm_nn_at(c->residual, first + j * stride);
        if (c->act)
            values[j] = c->act(values[j]);
    }
    pdm_nn_store(c->out, first, stride, n, values);
}

static void store_output(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t col,
                         int64_t cols, double *from)
{
    const conv *c = arg;

    for (int64_t r = 0; r < rows; r++, from += PDM_GEMM_TILE) {
        const int64_t channel = batch % c->groups * c->out_group + row + r;
        finish(c, channel, batch / c->groups * c->os[0] + channel * c->os[1] + col * c->os[4],
               c->os[4], cols, from);
    }
}

/* ---- setting up ----------------------------------------------------------------------------- */

/* The input element that kernel place `at` brings to output place `to`; -1: none. */
static int64_t input_of(const conv *c, int d, int64_t at, int64_t to)
{
    const pdm_nn_window *w = &c->w;
    int64_t from;

    if (c->transposed) {
        from = to + w->before[d] - at * w->dilation[d];
        if (from < 0 || from % w->stride[d] != 0)
            return -1;
        from /= w->stride[d];
    } else {
        from = to * w->stride[d] - w->before[d] + at * w->dilation[d];
    }
    return from >= 0 && from < w->in[d] ? from : -1;
}

static bool make_tables(pdm_k *k, conv *c)
{
    for (int d = 0; d < 3; d++) {
        const int64_t n = pdm_nn_mul(k, c->w.kernel[d], c->w.out[d]);
        if (!PDM_K_OK(k))
            return false;
        if (n < INT64_MAX / 8)
            c->index[d] = malloc(((size_t)n + 1) * sizeof *c->index[d]);
        if (!c->index[d]) {
            pdm_k_nomem(k);
            return false;
        }
        for (int64_t i = 0; i < n; i++)
            c->index[d][i] = input_of(c, d, i / c->w.out[d], i % c->w.out[d]);
    }
    return true;
}

/* Result sizes are known: make the result and fill it. */
static pdm_status convolve(pdm_k *k, conv *c)
{
    int64_t dims[PDM_MAX_RANK];
    const int64_t channels = c->groups * c->out_group;
    const int rank = pdm_nn_window_dims(&c->w, channels, c->w.out, dims);

    c->out = pdm_nn_out(k, 0, c->x->dtype, rank, dims);
    if (!c->out || pdm_tensor_count(c->out) == 0)
        return k->status;
    pdm_nn_window_strides(&c->w, c->w.channels, c->w.in, c->xs);
    pdm_nn_window_strides(&c->w, channels, c->w.out, c->os);
    if (c->residual && !pdm_k_same_dims(c->residual, c->out))
        return pdm_k_fail(k, "the tensor to be added has another shape than the result");
    if (k->device && k->device->conv(k->device, k, c))
        return k->status;
    if (make_tables(k, c)) {
        const bool single = c->x->dtype == PDM_F32 && c->filter->dtype == PDM_F32;
        const pdm_gemm gemm = {.batch = c->w.batch * c->groups,
                               .rows = c->out_group,
                               .cols = c->w.out[0] * c->w.out[1] * c->w.out[2],
                               .depth = c->in_group * c->places,
                               .load_a = load_filter,
                               .load_b = load_input,
                               .store = store_output,
                               .arg = c,
                               .single = single,
                               .part = c->transposed ? c->in_group : 0};
        pdm_nn_gemm(k, &gemm);
    }
    for (int d = 0; d < 3; d++)
        free(c->index[d]);
    return k->status;
}

static bool read_operands(pdm_k *k, conv *c, size_t x, size_t filter)
{
    c->x = pdm_k_in(k, x);
    c->filter = pdm_k_in(k, filter);
    if (!pdm_nn_floats(k, c->x) || !pdm_nn_floats(k, c->filter) ||
        !pdm_nn_window_input(k, &c->w, c->x, pdm_k_str(k, "data_format")))
        return false;
    if (c->filter->rank != c->x->rank)
        pdm_k_fail(k, "the filter has %d dimensions, the operand %d", c->filter->rank, c->x->rank);
    else
        for (int i = 0; i < c->w.spatial; i++)
            c->w.kernel[3 - c->w.spatial + i] = c->filter->dims[i + 2];
    c->places = c->w.kernel[0] * c->w.kernel[1] * c->w.kernel[2];
    return PDM_K_OK(k);
}

static bool read_window(pdm_k *k, conv *c)
{
    const char *algorithm = pdm_k_str(k, "padding_algorithm");

    if (!pdm_nn_window_attr(k, &c->w, "strides", 1, c->w.stride) ||
        !pdm_nn_window_attr(k, &c->w, "dilations", 1, c->w.dilation) ||
        !pdm_nn_window_pads(k, &c->w, "paddings", algorithm, false))
        return false;
    for (int d = 0; d < 3 && !strcmp(algorithm, "SAME"); d++)
        c->w.dilation[d] = 1;
    for (int d = 0; d < 3; d++) {
        if (c->w.kernel[d] > INT32_MAX || c->w.kernel[d] < 1)
            pdm_k_fail(k, "the filter has a dimension of %lld", (long long)c->w.kernel[d]);
    }
    c->groups = pdm_k_int(k, "groups");
    if (PDM_K_OK(k) && c->groups < 1)
        pdm_k_fail(k, "there are %lld groups", (long long)c->groups);
    return PDM_K_OK(k);
}

/* Elements that a kernel covers. */
static int64_t extent(const pdm_nn_window *w, int d)
{
    return w->dilation[d] * (w->kernel[d] - 1) + 1;
}

/* ---- convolution ---------------------------------------------------------------------------- */

static bool read_conv(pdm_k *k, conv *c)
{
    if (!read_operands(k, c, 0, 1) || !read_window(k, c))
        return false;
    const int64_t out = c->filter->dims[0];
    c->in_group = c->filter->dims[1];
    if (out % c->groups != 0 || c->w.channels / c->groups != c->in_group ||
        c->w.channels % c->groups != 0) {
        pdm_k_fail(k, "%lld channels do not fit a filter [%lld, %lld, ...] in %lld groups",
                   (long long)c->w.channels, (long long)out, (long long)c->in_group,
                   (long long)c->groups);
        return false;
    }
    c->out_group = out / c->groups;
    c->filter_in = c->places;
    c->filter_out = c->in_group * c->places;
    c->filter_group = c->out_group * c->filter_out;
    for (int d = 0; d < 3; d++) {
        const int64_t room = c->w.in[d] + c->w.before[d] + c->w.after[d] - extent(&c->w, d);
        if (room < 0) {
            pdm_k_fail(k, "the kernel is larger than the padded operand");
            return false;
        }
        c->w.out[d] = room / c->w.stride[d] + 1;
    }
    return true;
}

pdm_status pdm_kernel_conv(pdm_k *k)
{
    conv c = {0};

    return read_conv(k, &c) ? convolve(k, &c) : k->status;
}

static bool read_bias(pdm_k *k, conv *c, const pdm_tensor *bias)
{
    c->bias = bias;
    return (!bias || pdm_nn_floats(k, bias)) &&
           pdm_nn_count_is(k, bias, c->groups * c->out_group, "bias");
}

pdm_status pdm_kernel_conv_bias(pdm_k *k)
{
    conv c = {0};

    return read_conv(k, &c) && read_bias(k, &c, pdm_k_in_opt(k, 2)) ? convolve(k, &c) : k->status;
}

pdm_status pdm_kernel_fused_conv2d_add_act(pdm_k *k)
{
    conv c = {0};
    int64_t split[PDM_K_MAX_INTS];

    if (!read_conv(k, &c) || !read_bias(k, &c, pdm_k_in_opt(k, 2)))
        return k->status;
    if (pdm_k_ints(k, "split_channels", split) > 0)
        return pdm_k_fail(k, "splitting of channels is not supported");
    c.residual = pdm_k_in_opt(k, 3);
    c.act = pdm_nn_act_find(k, pdm_k_str(k, "activation"));
    return PDM_K_OK(k) ? convolve(k, &c) : k->status;
}

/* ---- transposed convolution ----------------------------------------------------------------- */

/* Sizes of the result: as wanted, else what the kernels cover, with output_padding. */
static bool transposed_sizes(pdm_k *k, conv *c, const int64_t *wanted, size_t count)
{
    int64_t padding[PDM_K_MAX_INTS], sizes[3] = {1, 1, 1};
    const size_t paddings = pdm_k_ints(k, "output_padding", padding);
    pdm_nn_window *w = &c->w;

    if (count > 0 && !pdm_nn_window_ints(k, w, "output_size", wanted, count, 1, sizes))
        return false;
    if (paddings > 0 && paddings != (size_t)w->spatial)
        pdm_k_fail(k, "'output_padding' has %zu numbers", paddings);
    for (int d = 3 - w->spatial; d < 3 && PDM_K_OK(k); d++) {
        const int64_t least =
            (w->in[d] - 1) * w->stride[d] - w->before[d] - w->after[d] + extent(w, d);
        w->out[d] = least;
        if (count > 0)
            w->out[d] = sizes[d];
        else if (paddings > 0)
            w->out[d] = least + padding[d - 3 + w->spatial];
        if (w->out[d] < least || w->out[d] < 1 ||
            w->out[d] - least >= (w->stride[d] > w->dilation[d] ? w->stride[d] : w->dilation[d]))
            pdm_k_fail(k, "the result cannot have the size %lld", (long long)w->out[d]);
    }
    return PDM_K_OK(k);
}

static bool read_transposed(pdm_k *k, conv *c)
{
    c->transposed = true;
    if (!read_operands(k, c, 0, 1) || !read_window(k, c))
        return false;
    c->out_group = c->filter->dims[1];
    if (c->w.channels != c->filter->dims[0] || c->w.channels % c->groups != 0) {
        pdm_k_fail(k, "%lld channels do not fit a filter [%lld, ...] in %lld groups",
                   (long long)c->w.channels, (long long)c->filter->dims[0], (long long)c->groups);
        return false;
    }
    c->in_group = c->w.channels / c->groups;
    c->filter_out = c->places;
    c->filter_in = c->out_group * c->places;
    c->filter_group = c->in_group * c->filter_in;
    return pdm_nn_mul(k, c->groups, c->out_group) >= 0 && PDM_K_OK(k);
}

pdm_status pdm_kernel_conv2d_transpose(pdm_k *k)
{
    conv c = {0};
    int64_t wanted[PDM_K_MAX_INTS];

    if (!read_transposed(k, &c))
        return k->status;
    const size_t count = pdm_k_in_ints(k, 2, wanted);
    return transposed_sizes(k, &c, wanted, count) ? convolve(k, &c) : k->status;
}

pdm_status pdm_kernel_conv2d_transpose_bias(pdm_k *k)
{
    conv c = {0};
    int64_t wanted[PDM_K_MAX_INTS];

    if (!read_transposed(k, &c) || !read_bias(k, &c, pdm_k_in(k, 2)))
        return k->status;
    const size_t count = pdm_k_in_ints(k, 3, wanted);
    return transposed_sizes(k, &c, wanted, count) ? convolve(k, &c) : k->status;
}

pdm_status pdm_kernel_conv3d_transpose(pdm_k *k)
{
    conv c = {0};
    int64_t wanted[PDM_K_MAX_INTS];

    if (!read_transposed(k, &c))
        return k->status;
    const size_t count = pdm_k_ints(k, "output_size", wanted);
    return transposed_sizes(k, &c, wanted, count) ? convolve(k, &c) : k->status;
}
