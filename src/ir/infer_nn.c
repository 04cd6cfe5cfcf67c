/* Convolution, pooling, interpolation, normalisation, recurrent layers. */
#include <math.h>
#include <string.h>

#include "ir/infer_impl.h"

/* ---- windows: what convolution and pooling share --------------------------------------------- */

typedef struct window {
    int spatial; /* number of spatial axes */
    bool channel_last;
    bool same, valid; /* padding_algorithm */
    pdm_ir_ints strides, paddings, dilations;
} window;

static bool channel_last(const pdm_ir_infer *in)
{
    pdm_ir_attr attr = pdm_ir_state_attr(in->state, "data_format");
    if (!attr || (attr->kind != PDM_IR_ATTR_STR && attr->kind != PDM_IR_ATTR_LAYOUT))
        return false;
    return attr->u.s.size > 2 && attr->u.s.text[0] == 'N' &&
           attr->u.s.text[attr->u.s.size - 1] == 'C';
}

static void window_read(const pdm_ir_infer *in, int rank, window *w)
{
    w->spatial = rank - 2;
    w->channel_last = channel_last(in);
    w->same = pdm_ir_state_str_is(in->state, "padding_algorithm", "SAME");
    w->valid = pdm_ir_state_str_is(in->state, "padding_algorithm", "VALID");
    pdm_ir_attr_ints(in, "strides", &w->strides);
    pdm_ir_attr_ints(in, "paddings", &w->paddings);
    pdm_ir_attr_ints(in, "dilations", &w->dilations);
}

static int spatial_axis(const window *w, int i)
{
    return w->channel_last ? 1 + i : 2 + i;
}

static int64_t stride_of(const window *w, int i)
{
    int64_t s = pdm_ir_ints_at(&w->strides, (size_t)i, pdm_ir_ints_at(&w->strides, 0, 1));
    return s > 0 ? s : 1;
}

/* One value for both sides of all axes, one an axis, or two an axis. */
static int64_t padding_of(const window *w, int i)
{
    if (w->valid)
        return 0;
    if (w->paddings.n == 2 * (size_t)w->spatial)
        return w->paddings.v[2 * i] + w->paddings.v[2 * i + 1];
    return 2 * pdm_ir_ints_at(&w->paddings, (size_t)i, pdm_ir_ints_at(&w->paddings, 0, 0));
}

static int64_t extent_of(const window *w, int i, int64_t kernel)
{
    int64_t dilation =
        w->same ? 1 : pdm_ir_ints_at(&w->dilations, (size_t)i, pdm_ir_ints_at(&w->dilations, 0, 1));
    return kernel < 1 || kernel > INT32_MAX || dilation < 1 || dilation > INT32_MAX
               ? -1
               : dilation * (kernel - 1) + 1;
}

static int64_t windows_over(const pdm_ir_infer *in, const window *w, int i, int64_t size, int64_t kernel, bool ceil)
{
    int64_t stride = stride_of(w, i), extent = extent_of(w, i, kernel);
    if (w->same)
        return pdm_ir_dim_windows(in, size, 1, stride);
    int64_t room = pdm_ir_dim_add(in, size, padding_of(w, i) < 0 ? 0 : padding_of(w, i));
    if (room >= 0 && room < extent)
        return -1;
    return pdm_ir_dim_windows(in, ceil ? pdm_ir_dim_add(in, room, stride - 1) : room, extent,
                              stride);
}

pdm_ir_meta pdm_ir_conv_result(const pdm_ir_infer *in, const pdm_ir_meta *x, const pdm_ir_meta *filter, bool last)
{
    const int rank = x->rank >= 3 ? x->rank : filter->rank;
    pdm_ir_meta out = pdm_ir_meta_make(x->dtype, rank, NULL);
    window w;

    if (rank < 3 || (filter->rank >= 0 && filter->rank != rank))
        return out;
    window_read(in, rank, &w);
    w.channel_last |= last;
    out.dims[0] = pdm_ir_meta_dim(x, 0);
    out.dims[w.channel_last ? rank - 1 : 1] = pdm_ir_meta_dim(filter, 0);
    for (int i = 0; i < w.spatial; i++) {
        int a = spatial_axis(&w, i);
        out.dims[a] = x->rank < 0
                          ? -1
                          : windows_over(in, &w, i, x->dims[a], pdm_ir_meta_dim(filter, 2 + i), false);
    }
    return out;
}

static void conv_at(pdm_ir_infer *in, size_t x_index, size_t filter_index)
{
    const pdm_ir_meta x = pdm_ir_in_meta(in, x_index), filter = pdm_ir_in_meta(in, filter_index);
    const pdm_ir_meta out = pdm_ir_conv_result(in, &x, &filter, false);

    pdm_ir_out_meta(in, 0, &out);
}

pdm_status pdm_ir_infer_conv(pdm_ir_infer *in)
{
    conv_at(in, 0, 1);
    return PDM_OK;
}

pdm_status pdm_ir_infer_deformable_conv(pdm_ir_infer *in)
{
    conv_at(in, 0, 2);
    return PDM_OK;
}

/* The result may also come in parts, of which only the dtype is known. */
pdm_status pdm_ir_infer_conv_outputs(pdm_ir_infer *in)
{
    conv_at(in, 0, 1);
    for (size_t i = 0;
         in->num_results > 1 && in->results[1].elements && i < in->results[1].num_elements; i++)
        in->results[1].elements[i] = pdm_ir_meta_make(pdm_ir_in_meta(in, 0).dtype, -1, NULL);
    return PDM_OK;
}

/* A convolution whose other results are only guessed at: running statistics and the like. */
pdm_status pdm_ir_infer_conv_float_rest(pdm_ir_infer *in)
{
    conv_at(in, 0, 1);
    for (size_t i = 1; i < in->num_results; i++)
        pdm_ir_out_rank(in, i, PDM_F32, -1);
    return PDM_OK;
}

static int64_t transposed_size(const window *w, const pdm_ir_infer *in, int i, int64_t size,
                               int64_t kernel)
{
    pdm_ir_ints extra;
    int64_t stride = stride_of(w, i), extent = extent_of(w, i, kernel), padding = padding_of(w, i);
    if (extent < 0 || (w->same && size < 1))
        return -1;
    if (w->same) {
        int64_t need = ((size - 1) / stride) * stride + kernel - size;
        padding = need > 0 ? need : 0;
    }
    pdm_ir_attr_ints(in, "output_padding", &extra);
    int64_t out = pdm_ir_dim_add(in, pdm_ir_dim_mul(in, pdm_ir_dim_shift(in, size, -1), stride),
                                 extent);
    return pdm_ir_dim_shift(in, pdm_ir_dim_shift(in, out, -padding),
                            pdm_ir_ints_at(&extra, (size_t)i, 0));
}

/* x, filter [in, out / groups, ...]; the size may be given as an operand or attribute output_size.
 */
pdm_status pdm_ir_infer_conv_transpose(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), filter = pdm_ir_in_meta(in, 1);
    int rank = x.rank >= 3 ? x.rank : filter.rank;
    int64_t groups = pdm_ir_attr_int(in, "groups", 1);
    size_t size_index = in->state->info->desc->num_operands - 1u;
    pdm_ir_ints given;
    window w;
    if (rank < 3 || (filter.rank >= 0 && filter.rank != rank)) {
        pdm_ir_out_rank(in, 0, x.dtype, rank);
        return PDM_OK;
    }
    if (pdm_ir_state_attr(in->state, "output_size"))
        pdm_ir_attr_ints(in, "output_size", &given);
    else
        pdm_ir_in_ints(in, size_index < 2 ? in->state->num_operands : size_index, &given);
    bool has_size =
        given.n > 0 || (size_index >= 2 && pdm_ir_in_present(in, size_index) && !given.counted);
    window_read(in, rank, &w);
    pdm_ir_meta out = pdm_ir_meta_make(x.dtype, rank, NULL);
    out.dims[0] = pdm_ir_meta_dim(&x, 0);
    out.dims[w.channel_last ? rank - 1 : 1] = pdm_ir_dim_mul(in, pdm_ir_meta_dim(&filter, 1), groups);
    for (int i = 0; i < w.spatial; i++) {
        int a = spatial_axis(&w, i);
        if (has_size)
            out.dims[a] = pdm_ir_ints_at(&given, (size_t)i,
                                         given.n == 1 ? pdm_ir_ints_at(&given, 0, -1) : -1);
        else
            out.dims[a] =
                transposed_size(&w, in, i, pdm_ir_meta_dim(&x, a), pdm_ir_meta_dim(&filter, 2 + i));
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* ---- pooling --------------------------------------------------------------------------------- */

static void pool(pdm_ir_infer *in, const pdm_ir_ints *kernel, int rank, pdm_ir_meta *out)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    window w;
    *out = pdm_ir_meta_make(x.dtype, rank, NULL);
    if (x.rank != rank)
        return;
    window_read(in, rank, &w);
    bool global = pdm_ir_state_bool(in->state, "global_pooling", false);
    bool adaptive = pdm_ir_state_bool(in->state, "adaptive", false);
    bool ceil = pdm_ir_state_bool(in->state, "ceil_mode", false);
    *out = x;
    for (int i = 0; i < w.spatial; i++) {
        int a = spatial_axis(&w, i);
        int64_t k = pdm_ir_ints_at(kernel, (size_t)i, pdm_ir_ints_at(kernel, 0, -1));
        out->dims[a] = adaptive ? k : global ? 1 : windows_over(in, &w, i, x.dims[a], k, ceil);
    }
}

pdm_status pdm_ir_infer_pool2d(pdm_ir_infer *in)
{
    pdm_ir_ints kernel;
    pdm_ir_meta out;
    if (in->state->info->desc->num_operands > 1)
        pdm_ir_in_ints(in, 1, &kernel);
    else
        pdm_ir_attr_ints(in, "kernel_size", &kernel);
    pool(in, &kernel, 4, &out);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_pool3d(pdm_ir_infer *in)
{
    pdm_ir_ints kernel;
    pdm_ir_meta out;
    pdm_ir_attr_ints(in, "kernel_size", &kernel);
    pool(in, &kernel, 5, &out);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* max_pool*_with_index: also the int32 places. */
pdm_status pdm_ir_infer_pool_with_index(pdm_ir_infer *in)
{
    pdm_ir_ints kernel;
    pdm_ir_meta out, x = pdm_ir_in_meta(in, 0);
    pdm_ir_attr_ints(in, "kernel_size", &kernel);
    pool(in, &kernel, x.rank, &out);
    pdm_ir_out_meta(in, 0, &out);
    out.dtype = PDM_I32;
    pdm_ir_out_meta(in, 1, &out);
    return PDM_OK;
}

/* The size is an attribute; places are int32. */
pdm_status pdm_ir_infer_fractional_pool(pdm_ir_infer *in)
{
    pdm_ir_ints size;
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_attr_ints(in, "output_size", &size);
    for (int i = 2; i < x.rank; i++)
        x.dims[i] = pdm_ir_ints_at(&size, (size_t)i - 2, pdm_ir_ints_at(&size, 0, -1));
    pdm_ir_out_meta(in, 0, &x);
    x.dtype = PDM_I32;
    pdm_ir_out_meta(in, 1, &x);
    return PDM_OK;
}

/* The inverse of pooling with places: the size is an operand, an attribute, or follows from the
 * windows. */
pdm_status pdm_ir_infer_unpool(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints size;
    if (in->state->info->desc->num_operands > 2)
        pdm_ir_in_ints(in, 2, &size);
    else
        pdm_ir_attr_ints(in, "output_size", &size);
    for (int i = 2; i < x.rank; i++)
        x.dims[i] = pdm_ir_ints_at(&size, (size_t)i - 2, -1);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

/* x [n, c, h, w] to columns [n, c * kh * kw, places] */
pdm_status pdm_ir_infer_unfold(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), out = pdm_ir_meta_make(x.dtype, 3, NULL);
    pdm_ir_ints kernel, pads;
    window w;
    window_read(in, 4, &w);
    pdm_ir_attr_ints(in, "kernel_sizes", &kernel);
    pads = w.paddings; /* top, left, bottom, right */
    if (pads.n == 4)
        w.paddings.v[1] = pads.v[2], w.paddings.v[2] = pads.v[1];
    if (x.rank == 4) {
        int64_t places = 1;
        out.dims[0] = x.dims[0];
        out.dims[1] = x.dims[1];
        for (int i = 0; i < 2; i++) {
            out.dims[1] = pdm_ir_dim_mul(in, out.dims[1], pdm_ir_ints_at(&kernel, (size_t)i, -1));
            places =
                pdm_ir_dim_mul(in, places, windows_over(in, &w, i, x.dims[2 + i],
                                                    pdm_ir_ints_at(&kernel, (size_t)i, -1), false));
        }
        out.dims[2] = places;
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_fold(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), out = pdm_ir_meta_make(x.dtype, 4, NULL);
    pdm_ir_ints kernel, size;
    pdm_ir_attr_ints(in, "kernel_sizes", &kernel);
    pdm_ir_attr_ints(in, "output_sizes", &size);
    int64_t area = pdm_ir_dim_mul(in, pdm_ir_ints_at(&kernel, 0, -1), pdm_ir_ints_at(&kernel, 1, -1));
    out.dims[0] = pdm_ir_meta_dim(&x, 0);
    out.dims[1] = pdm_ir_dim_div(in, pdm_ir_meta_dim(&x, 1), area);
    out.dims[2] = pdm_ir_ints_at(&size, 0, -1);
    out.dims[3] = pdm_ir_ints_at(&size, 1, -1);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* ---- interpolation --------------------------------------------------------------------------- */

/* By a fraction whose denominator is a small power of two an expression is scaled exactly. */
static int64_t scaled_expr(const pdm_ir_infer *in, int64_t size, double by)
{
    int64_t below = 1;

    while (below < 1024 && by * (double)below != floor(by * (double)below))
        below *= 2;
    by *= (double)below;
    if (!(by >= 1 && by <= 65536) || by != floor(by))
        return -1;
    return pdm_ir_dim_div(in, pdm_ir_dim_mul(in, size, (int64_t)by), below);
}

static int64_t scaled(const pdm_ir_infer *in, int64_t size, pdm_ir_attr scales, uint32_t i)
{
    if (!PDM_IR_IS_GIVEN(size) || scales->kind != PDM_IR_ATTR_ARRAY || scales->count == 0)
        return -1;
    pdm_ir_attr item = scales->u.items[scales->count == 1 ? 0 : i];
    if (i >= scales->count && scales->count > 1)
        return -1;
    if (item->kind != PDM_IR_ATTR_F32 && item->kind != PDM_IR_ATTR_F64)
        return -1;
    if (PDM_IR_IS_EXPR(size))
        return scaled_expr(in, size, item->u.f);
    double out = (double)size * item->u.f;
    return out >= 1 && out < 9e15 ? (int64_t)out : -1;
}

/*
 * x, out_size, size_tensor (vector), scale_tensor. What is present first of size_tensor, out_size,
 * scale_tensor, scale wins over the attributes out_*. Any layout but NCHW means channels last to
 * the kernels, also NCDHW.
 */
pdm_status pdm_ir_infer_interp(pdm_ir_infer *in)
{
    static const char *const names[3] = {"out_d", "out_h", "out_w"};
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), out = x;
    pdm_ir_attr scales = pdm_ir_state_attr(in->state, "scale");
    bool first = pdm_ir_state_str_is(in->state, "data_format", "NCHW");
    pdm_ir_ints size;
    bool by_list = pdm_ir_in_present(in, 2), by_size = pdm_ir_in_present(in, 1);
    pdm_ir_in_ints(in, by_list ? 2 : 1, &size);
    for (int i = 0; i < x.rank - 2 && x.rank <= 5; i++) {
        int a = first ? 2 + i : 1 + i;
        if (by_list || by_size)
            out.dims[a] = pdm_ir_ints_at(&size, (size_t)i, -1);
        else if (pdm_ir_in_present(in, 3))
            out.dims[a] = -1;
        else if (scales && scales->kind == PDM_IR_ATTR_ARRAY && scales->count)
            out.dims[a] = scaled(in, x.dims[a], scales, (uint32_t)i);
        else
            out.dims[a] = pdm_ir_attr_int(in, names[i + 5 - x.rank], -1);
        if (out.dims[a] == 0 || !PDM_IR_IS_GIVEN(out.dims[a]))
            out.dims[a] = -1;
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* Statistics of half precision are kept in float32. */
static pdm_dtype statistics_of(pdm_dtype dtype)
{
    return dtype == PDM_F16 || dtype == PDM_BF16 ? PDM_F32 : dtype;
}

/* x, mean, variance, scale, bias: y and five or six vectors over the channels. */
static void batch_norm(pdm_ir_infer *in, size_t mean_index)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), mean = pdm_ir_in_meta(in, mean_index);
    int64_t channels = pdm_ir_meta_dim(&x, x.rank > 2 && channel_last(in) ? -1 : 1);
    if (!PDM_IR_IS_GIVEN(channels))
        channels = pdm_ir_meta_dim(&mean, 0);
    pdm_ir_out_meta(in, 0, &x);
    for (size_t i = 1; i < 5; i++)
        pdm_ir_out_vec(in, i, mean.dtype == PDM_UNDEFINED ? statistics_of(x.dtype) : mean.dtype,
                       channels);
    pdm_ir_out_vec(in, 5, x.dtype, -1);
}

pdm_status pdm_ir_infer_batch_norm(pdm_ir_infer *in)
{
    batch_norm(in, 1);
    return PDM_OK;
}

/* x, [z,] scale, bias, mean, variance */
pdm_status pdm_ir_infer_batch_norm_act(pdm_ir_infer *in)
{
    batch_norm(in, in->state->num_operands >= 6 ? 4 : 3);
    return PDM_OK;
}

/* y like x; mean and variance over the axes from begin_norm_axis on. */
pdm_status pdm_ir_infer_layer_norm(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), rows = pdm_ir_meta_make(statistics_of(x.dtype), 0, NULL);
    pdm_ir_meta_push_dims(&rows, &x, 0, (int)pdm_ir_attr_int(in, "begin_norm_axis", 1));
    pdm_ir_out_meta(in, 0, &x);
    pdm_ir_out_meta(in, 1, &rows);
    pdm_ir_out_meta(in, 2, &rows);
    return PDM_OK;
}

pdm_status pdm_ir_infer_group_norm(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t dims[2] = {pdm_ir_meta_dim(&x, 0), pdm_ir_attr_int(in, "groups", -1)};
    pdm_ir_out_meta(in, 0, &x);
    pdm_ir_out_dims(in, 1, statistics_of(x.dtype), 2, dims);
    pdm_ir_out_dims(in, 2, statistics_of(x.dtype), 2, dims);
    return PDM_OK;
}

pdm_status pdm_ir_infer_instance_norm(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t n = pdm_ir_meta_product(in, &x, 0, 2);
    pdm_ir_out_meta(in, 0, &x);
    pdm_ir_out_vec(in, 1, statistics_of(x.dtype), n);
    pdm_ir_out_vec(in, 2, statistics_of(x.dtype), n);
    return PDM_OK;
}

/* y like x; the inverse deviation over all but the normalised axes. */
pdm_status pdm_ir_infer_rms_norm(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), inverse = pdm_ir_meta_make(PDM_F32, 0, NULL);
    pdm_ir_ints shape;
    pdm_ir_attr_ints(in, "normalized_shape", &shape);
    pdm_ir_out_meta(in, 0, &x);
    pdm_ir_meta_push_dims(&inverse, &x, 0, x.rank - (int)(shape.n ? shape.n : 1));
    pdm_ir_out_meta(in, 1, &inverse);
    return PDM_OK;
}

/* ---- losses over classes --------------------------------------------------------------------- */

/* softmax like x, loss with one class */
pdm_status pdm_ir_infer_cross_entropy_with_softmax(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int axis = pdm_ir_axis(pdm_ir_attr_int(in, "axis", -1), x.rank);
    pdm_ir_out_meta(in, 0, &x);
    if (axis >= 0)
        x.dims[axis] = 1;
    pdm_ir_out_meta(in, 1, &x);
    return PDM_OK;
}

pdm_status pdm_ir_infer_nll_loss(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), out = pdm_ir_meta_make(x.dtype, 0, NULL);
    if (pdm_ir_state_str_is(in->state, "reduction", "none")) {
        pdm_ir_meta_push_dims(&out, &x, 0, 1);
        pdm_ir_meta_push_dims(&out, &x, 2, x.rank);
    }
    pdm_ir_out_meta(in, 0, &out);
    pdm_ir_out_dims(in, 1, x.dtype, 0, NULL);
    return PDM_OK;
}

pdm_status pdm_ir_infer_kldiv_loss(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    if (pdm_ir_state_str_is(in->state, "reduction", "none"))
        pdm_ir_out_meta(in, 0, &x);
    else
        pdm_ir_out_dims(in, 0, x.dtype, 0, NULL);
    return PDM_OK;
}

/* reduction: 0 sum, 1 mean, 2 none */
pdm_status pdm_ir_infer_identity_loss(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    if (pdm_ir_attr_int(in, "reduction", 1) == 2)
        pdm_ir_out_meta(in, 0, &x);
    else
        pdm_ir_out_dims(in, 0, x.dtype, 0, NULL);
    return PDM_OK;
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* x [time, batch, features], states (vector), weights, lengths, dropout state: out, dropout state,
 * states, reserve */
pdm_status pdm_ir_infer_rnn(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), dropout = pdm_ir_in_meta(in, 4);
    int64_t directions = pdm_ir_state_bool(in->state, "is_bidirec", false) ? 2 : 1;
    int64_t dims[3] = {pdm_ir_meta_dim(&x, 0), pdm_ir_meta_dim(&x, 1),
                       pdm_ir_dim_mul(in, pdm_ir_attr_int(in, "hidden_size", -1), directions)};
    pdm_ir_out_dims(in, 0, x.dtype, 3, dims);
    dropout.dtype = PDM_U8;
    pdm_ir_out_meta(in, 1, &dropout);
    for (size_t i = 0;
         in->num_results > 2 && i < in->results[2].num_elements && in->results[2].elements; i++)
        in->results[2].elements[i] = pdm_ir_in_element(in, 1, i);
    pdm_ir_out_rank(in, 3, x.dtype, -1);
    return PDM_OK;
}

/* ---- others ---------------------------------------------------------------------------------- */

pdm_status pdm_ir_infer_maxout(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int axis = pdm_ir_axis(pdm_ir_attr_int(in, "axis", 1), x.rank);
    if (axis >= 0)
        x.dims[axis] = pdm_ir_dim_div(in, x.dims[axis], pdm_ir_attr_int(in, "groups", 1));
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

/* x [n, c, spatial], grid [n, spatial, 2 or 3] */
pdm_status pdm_ir_infer_grid_sample(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), grid = pdm_ir_in_meta(in, 1);
    if (x.rank >= 4 && grid.rank != x.rank)
        x = pdm_ir_meta_make(x.dtype, x.rank, NULL);
    for (int i = 2; i < x.rank && grid.rank == x.rank; i++)
        x.dims[i] = grid.dims[i - 1];
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

/* theta, output_shape [n, c, h, w] or [n, c, d, h, w] */
pdm_status pdm_ir_infer_affine_grid(pdm_ir_infer *in)
{
    pdm_ir_meta theta = pdm_ir_in_meta(in, 0);
    pdm_ir_ints shape;
    pdm_ir_in_ints(in, 1, &shape);
    int spatial = (int)pdm_ir_meta_dim(&theta, 1); /* theta is [n, 2, 3] or [n, 3, 4] */
    if (spatial < 0 && shape.counted && shape.n >= 4)
        spatial = (int)shape.n - 2;
    if (spatial != 2 && spatial != 3) {
        pdm_ir_out_rank(in, 0, theta.dtype, -1);
        return PDM_OK;
    }
    pdm_ir_meta out = pdm_ir_meta_make(theta.dtype, spatial + 2, NULL);
    out.dims[0] = pdm_ir_meta_dim(&theta, 0);
    for (int i = 0; i < spatial; i++)
        out.dims[1 + i] = pdm_ir_ints_at(&shape, (size_t)i + 2, -1);
    out.dims[spatial + 1] = spatial;
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* out like x; a byte mask, empty when testing. */
pdm_status pdm_ir_infer_dropout(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_out_meta(in, 0, &x);
    x.dtype = PDM_U8;
    pdm_ir_out_meta(in, 1, &x);
    return PDM_OK;
}
