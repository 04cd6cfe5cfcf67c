/* Pooling: max, average, power mean; maxima with their places; fractional; unpooling. */
#include "exec/kernels/nn_device.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

void pdm_nn_pool_part(const pdm_nn_pool *p, const int64_t at[3], pdm_nn_part *r)
{
    const pdm_nn_window *w = &p->w;

    r->size = 1;
    for (int d = 0; d < 3; d++) {
        int64_t begin, end;
        if (p->starts[d]) {
            begin = p->starts[d][at[d]];
            end = p->ends[d][at[d]];
        } else if (p->adaptive && p->mode != PDM_POOL_MAX) { /* a plain maximum keeps its strides */
            begin = at[d] * w->in[d] / w->out[d];
            end = ceil_div((at[d] + 1) * w->in[d], w->out[d]);
        } else {
            begin = at[d] * w->stride[d] - w->before[d];
            end = begin + w->kernel[d];
            if (end > w->in[d] + w->before[d])
                end = w->in[d] + w->before[d];
        }
        const int64_t whole = end - begin;
        begin = begin < 0 ? 0 : begin;
        end = end > w->in[d] ? w->in[d] : end;
        r->begin[d] = begin;
        r->end[d] = end;
        r->size *= p->exclusive || p->adaptive ? end - begin : whole; /* as signed as it is */
    }
}

/* One result; *index is the place of the maximum within its plane. */
static double reduce(const pdm_nn_pool *p, int64_t base, const pdm_nn_part *r, double lowest,
                     int64_t *index)
{
    const bool is_max = p->mode == PDM_POOL_MAX || p->mode == PDM_POOL_INDEXED;
    double value = is_max ? lowest : 0;

    *index = -1;
    for (int64_t z = r->begin[0]; z < r->end[0]; z++) {
        for (int64_t y = r->begin[1]; y < r->end[1]; y++) {
            const int64_t row = base + z * p->xs[2] + y * p->xs[3];
            for (int64_t x = r->begin[2]; x < r->end[2]; x++) {
                const double v = pdm_nn_at(p->x, row + x * p->xs[4]);
                if (p->mode == PDM_POOL_MAX) {
                    value = value > v ? value : v; /* a NaN lasts until the next element */
                } else if (p->mode == PDM_POOL_AVERAGE) {
                    value = p->single ? (double)((float)value + (float)v) : value + v;
                } else if (p->mode == PDM_POOL_POWER) {
                    value += pow(v, p->power);
                } else if (value < v) {
                    value = v;
                    *index = (z * p->w.in[1] + y) * p->w.in[2] + x;
                }
            }
        }
    }
    if (p->mode == PDM_POOL_AVERAGE)
        return value / (double)r->size;
    return p->mode == PDM_POOL_POWER ? pow(value, 1 / p->power) : value;
}

static double lowest_of(pdm_dtype dtype)
{
    if (dtype == PDM_F64)
        return -DBL_MAX;
    return dtype == PDM_F16 ? -65504.0 : dtype == PDM_BF16 ? -0x1.fep127 : -(double)FLT_MAX;
}

/* Rows of the result, as in convolution. */
static void rows(void *arg, int64_t begin, int64_t end)
{
    const pdm_nn_pool *p = arg;
    const int64_t *out = p->w.out;
    const double lowest = lowest_of(p->x->dtype);

    for (int64_t row = begin; row < end; row++) {
        int64_t at[3] = {row / out[1] % out[0], row % out[1], 0};
        const int64_t plane = row / (out[1] * out[0]);
        const int64_t n = plane / p->w.channels, c = plane % p->w.channels;
        const int64_t from = n * p->xs[0] + c * p->xs[1];
        const int64_t to = n * p->os[0] + c * p->os[1] + at[0] * p->os[2] + at[1] * p->os[3];
        for (; at[2] < out[2]; at[2]++) {
            pdm_nn_part r;
            int64_t index;
            pdm_nn_pool_part(p, at, &r);
            pdm_nn_put(p->out, to + at[2] * p->os[4], reduce(p, from, &r, lowest, &index));
            if (p->mask)
                pdm_set_int(p->mask, to + at[2] * p->os[4], index);
        }
    }
}

static bool make_results(pdm_k *k, pdm_nn_pool *p)
{
    int64_t dims[PDM_MAX_RANK];
    const int rank = pdm_nn_window_dims(&p->w, p->w.channels, p->w.out, dims);

    p->out = pdm_nn_out(k, 0, p->x->dtype, rank, dims);
    if (p->out && p->mode == PDM_POOL_INDEXED && pdm_k_wants(k, 1))
        p->mask = pdm_nn_out(k, 1, PDM_I32, rank, dims);
    if (!PDM_K_OK(k) || !p->out)
        return false;
    p->single = p->x->dtype == PDM_F32;
    pdm_nn_window_strides(&p->w, p->w.channels, p->w.in, p->xs);
    pdm_nn_window_strides(&p->w, p->w.channels, p->w.out, p->os);
    return true;
}

static pdm_status run(pdm_k *k, pdm_nn_pool *p)
{
    if (!make_results(k, p) || (k->device && k->device->pool(k->device, k, p)))
        return k->status;
    pdm_k_parallel(k, p->w.batch * p->w.channels * p->w.out[0] * p->w.out[1], 8, rows, p);
    return k->status;
}

/* Kernel size is known: strides, paddings, size of the result. */
static bool sizes(pdm_k *k, pdm_nn_pool *p, const char *algorithm)
{
    pdm_nn_window *w = &p->w;
    const bool global = pdm_k_bool(k, "global_pooling"),
               ceil_mode = pdm_k_bool_or(k, "ceil_mode", false);

    p->adaptive = pdm_k_bool(k, "adaptive");
    if (!pdm_nn_window_attr(k, w, "strides", 1, w->stride))
        return false;
    for (int d = 0; d < 3 && global; d++)
        w->kernel[d] = w->in[d];
    if (!pdm_nn_window_pads(k, w, "paddings", algorithm, global || p->adaptive))
        return false;
    for (int d = 0; d < 3; d++) {
        if (p->adaptive) {
            w->out[d] = w->kernel[d];
            continue;
        }
        const int64_t room = w->in[d] + w->before[d] + w->after[d] - w->kernel[d];
        w->out[d] = (ceil_mode ? room + w->stride[d] - 1 : room) / w->stride[d] + 1;
        if (w->out[d] < 1 || room < 0) {
            pdm_k_fail(k, "the window is larger than the padded operand");
            return false;
        }
    }
    return true;
}

static bool read_kernel(pdm_k *k, pdm_nn_pool *p, const int64_t *values, size_t count)
{
    if (pdm_k_bool(k, "global_pooling") && count == 0)
        return PDM_K_OK(k);
    return pdm_nn_window_ints(k, &p->w, "kernel_size", values, count, 1, p->w.kernel);
}

static bool read_call(pdm_k *k, pdm_nn_pool *p, bool kernel_is_operand)
{
    int64_t kernel[PDM_K_MAX_INTS];

    p->x = pdm_k_in(k, 0);
    if (!pdm_nn_floats(k, p->x) ||
        !pdm_nn_window_input(k, &p->w, p->x, pdm_k_str(k, "data_format")))
        return false;
    const size_t count =
        kernel_is_operand ? pdm_k_in_ints(k, 1, kernel) : pdm_k_ints(k, "kernel_size", kernel);
    if (!read_kernel(k, p, kernel, count) || !sizes(k, p, pdm_k_str(k, "padding_algorithm")))
        return false;
    p->exclusive = pdm_k_bool(k, "exclusive");
    return PDM_K_OK(k);
}

static pdm_status plain_pool(pdm_k *k, pdm_nn_pool *p, bool kernel_is_operand)
{
    return read_call(k, p, kernel_is_operand) ? run(k, p) : k->status;
}

static pdm_pool_mode mode_of(pdm_k *k)
{
    return strcmp(pdm_k_str(k, "pooling_type"), "max") == 0 ? PDM_POOL_MAX : PDM_POOL_AVERAGE;
}

bool pdm_nn_pool2d_begin(pdm_k *k, pdm_nn_pool *p)
{
    p->mode = mode_of(k);
    return read_call(k, p, true) && make_results(k, p);
}

pdm_status pdm_kernel_pool2d(pdm_k *k)
{
    pdm_nn_pool p = {.mode = mode_of(k)};

    return plain_pool(k, &p, true);
}

pdm_status pdm_kernel_pool3d(pdm_k *k)
{
    pdm_nn_pool p = {.mode = mode_of(k)};

    return plain_pool(k, &p, false);
}

pdm_status pdm_kernel_lp_pool2d(pdm_k *k)
{
    pdm_nn_pool p = {.mode = PDM_POOL_POWER, .power = pdm_k_float(k, "norm_type")};

    return plain_pool(k, &p, false);
}

pdm_status pdm_kernel_max_pool_with_index(pdm_k *k)
{
    pdm_nn_pool p = {.mode = PDM_POOL_INDEXED};
    int64_t kernel[PDM_K_MAX_INTS];

    p.x = pdm_k_in(k, 0);
    const char *layout = pdm_k_has_attr(k, "data_format") ? pdm_k_str(k, "data_format") : "NCHW";
    if (!pdm_nn_floats(k, p.x) || !pdm_nn_window_input(k, &p.w, p.x, layout))
        return k->status;
    const size_t count = pdm_k_ints(k, "kernel_size", kernel);
    if (!read_kernel(k, &p, kernel, count) || !sizes(k, &p, "EXPLICIT"))
        return k->status;
    return run(k, &p);
}

/* ---- fractional pooling --------------------------------------------------------------------- */

/* Windows of one dim, from the random number u; size 0: they do not overlap. */
static void fractional_windows(int64_t in, int64_t out, int64_t size, float u, int64_t *begin,
                               int64_t *end)
{
    float alpha = (float)in / (float)out;

    if (size > 0) {
        alpha = out > 1 ? (float)(in - size) / (float)(out - 1) : 0;
    } else {
        const float base = (float)(in / out);
        const float first = (base + 2) / alpha - 1;
        const float last = ((float)in + 1 - base) / alpha - (float)(out - 1);
        u *= first < last ? first : last;
    }
    for (int64_t i = 0; i < out; i++) {
        begin[i] = (int64_t)(((float)i + u) * alpha) - (int64_t)(u * alpha);
        end[i] = size > 0 ? begin[i] + size
                          : (int64_t)(((float)(i + 1) + u) * alpha) - (int64_t)(u * alpha);
    }
}

pdm_status pdm_kernel_fractional_max_pool(pdm_k *k)
{
    pdm_nn_pool p = {.mode = PDM_POOL_INDEXED, .x = pdm_k_in(k, 0), .adaptive = true};
    double u = pdm_k_float(k, "random_u");
    int64_t size[3] = {0, 0, 0}, *room = NULL;

    if (!pdm_nn_floats(k, p.x) || !pdm_nn_window_input(k, &p.w, p.x, "NCHW") ||
        !pdm_nn_window_attr(k, &p.w, "output_size", 1, p.w.out) ||
        !pdm_nn_window_attr(k, &p.w, "kernel_size", 0, size))
        return k->status;
    if (u == 0)
        u = pdm_rng_uniform(k->rng);
    for (int d = 0; d < 3; d++) {
        if (p.w.out[d] > p.w.in[d] - (size[d] > 0 ? size[d] - 1 : 0))
            return pdm_k_fail(k, "%lld places do not fit in %lld", (long long)p.w.out[d],
                              (long long)p.w.in[d]);
    }
    const int64_t total = p.w.out[0] + p.w.out[1] + p.w.out[2];
    room = (int64_t *)pdm_nn_room(k, 2 * total);
    if (!room)
        return k->status;
    int64_t *begin = room;
    for (int d = 0; d < 3; d++) {
        if (d >= 3 - p.w.spatial) {
            fractional_windows(p.w.in[d], p.w.out[d], size[d], (float)u, begin, begin + total);
            p.starts[d] = begin;
            p.ends[d] = begin + total;
        }
        begin += p.w.out[d];
    }
    run(k, &p);
    free(room);
    return k->status;
}

/* ---- unpooling ------------------------------------------------------------------------------ */

#define SCATTER(size, suffix, type, acc, load, store, ...)                                         \
    static void scatter_##suffix(pdm_k *k, const pdm_tensor *x, const pdm_tensor *indices,         \
                                 int64_t plane, int64_t room, void *data)                          \
    {                                                                                              \
        const int64_t n = pdm_tensor_count(x);                                                     \
        type *out = data;                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const int64_t index = pdm_get_int(indices, i);                                         \
            if (index < 0 || index >= room) {                                                      \
                pdm_k_fail(k, "index %lld is outside of a plane of %lld", (long long)index,        \
                           (long long)room);                                                       \
                return;                                                                            \
            }                                                                                      \
            out[i / plane * room + index] = ((const type *)x->data)[i];                            \
        }                                                                                          \
    }
PDM_K_SIZES(SCATTER)

static pdm_status unpool(pdm_k *k, int spatial, const int64_t *wanted, size_t count)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *indices = pdm_k_in(k, 1);
    int64_t dims[PDM_MAX_RANK];

    if (!x || !indices || !pdm_nn_rank_is(k, x, spatial + 2, spatial + 2, "x"))
        return k->status;
    if (!pdm_k_same_dims(x, indices) || count != (size_t)spatial)
        return pdm_k_fail(k, "x, indices and output_size do not fit together");
    memcpy(dims, x->dims, sizeof dims);
    memcpy(dims + 2, wanted, (size_t)spatial * sizeof *dims);
    pdm_tensor *out = pdm_nn_out(k, 0, x->dtype, x->rank, dims);
    if (!out)
        return k->status;
    memset(out->data, 0, pdm_tensor_bytes(out));
    const int64_t plane = pdm_k_product(x->dims, 2, x->rank);
    PDM_K_DISPATCH_SIZE(k, x->dtype, scatter, k, x, indices, plane, pdm_k_product(dims, 2, x->rank),
                        out->data);
    return k->status;
}

pdm_status pdm_kernel_unpool(pdm_k *k)
{
    int64_t wanted[PDM_K_MAX_INTS];
    const size_t count = pdm_k_in_ints(k, 2, wanted);

    return unpool(k, 2, wanted, count);
}

pdm_status pdm_kernel_unpool3d(pdm_k *k)
{
    int64_t wanted[PDM_K_MAX_INTS];
    const size_t count = pdm_k_ints(k, "output_size", wanted);

    return unpool(k, 3, wanted, count);
}
