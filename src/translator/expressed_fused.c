/* Fused ops, taken apart. */
#include "translator/expressed.h"

#include <string.h>

/* ---- with sequences -------------------------------------------------------------------------- */

void pdm_tr_h_fused_embedding_seq_pool(pdm_tr_op *t)
{
    pdm_ir_value *w = pdm_tr_in(t, "W"), *ids = pdm_tr_in(t, "Ids");
    int64_t padding = pdm_tr_int_or(t, "padding_idx", -1);
    const char *combiner = pdm_tr_string_or(t, "combiner", "sum");
    if (t->failed || !w || !ids)
        return;
    if (strcmp(combiner, "sum") != 0) {
        pdm_tr_unsupported(t, "combiner", "'fused_embedding_seq_pool' that combines by '%s'",
                           combiner);
        return;
    }
    int64_t columns = pdm_tr_known_product(ids, 1, pdm_tr_need_rank(t, ids)),
            width = pdm_tr_known_dim(w, 1);
    pdm_ir_value *rows = pdm_tr_emit1(t, "pd_op.embedding", PDM_TR_OPS(ids, w),
                                      PDM_TR_ATTRS({"padding_idx", pdm_tr_a_i64(t, padding), 0},
                                                   {"sparse", pdm_tr_a_bool(t, false), 0}));
    if (columns < 0 || width < 0 || columns > PDM_TR_MAX_DIM || columns * width > PDM_TR_MAX_DIM) {
        pdm_tr_unsupported(t, NULL, "'fused_embedding_seq_pool' with unknown dims");
        return;
    }
    rows = pdm_tr_reshape(t, rows, (int64_t[]){-1, columns * width}, 2);
    pdm_ir_op *op = pdm_tr_emit(t, "pd_op.sequence_pool", PDM_TR_OPS(rows),
                                PDM_TR_ATTRS({"is_test", pdm_tr_a_bool(t, true), 0},
                                             {"pooltype", pdm_tr_a_str(t, "SUM"), 0},
                                             {"pad_value", pdm_tr_a_f32(t, 0), 0}));
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
}

/* The first input is sequences; a row of the others goes to every row of its sequence. */
void pdm_tr_h_fusion_seqexpand_concat_fc(pdm_tr_op *t)
{
    size_t n = pdm_tr_num_in(t, "X");
    pdm_ir_value **x = pdm_arena_calloc(&t->tr->scratch, n + 1, sizeof *x);
    if (!x) {
        pdm_tr_nomem(t->tr);
        return;
    }
    x[0] = pdm_tr_in(t, "X");
    pdm_ir_value *lengths = pdm_tr_lengths(t, x[0]);
    for (size_t i = 1; i < n; i++)
        x[i] = pdm_tr_repeat(t, pdm_tr_in_at(t, "X", i), lengths);
    pdm_ir_value *w = pdm_tr_in(t, "FCWeight"), *bias = pdm_tr_in_opt(t, "FCBias");
    pdm_ir_value *out = pdm_tr_matmul(t, pdm_tr_concat(t, x, n, 1), w, false, false);
    if (bias)
        out = pdm_tr_binary(t, "pd_op.add", out, bias);
    pdm_tr_out(t, "Out", pdm_tr_activation(t, out, pdm_tr_string(t, "fc_activation"), 0, 0));
}

/* ---- oneDNN: what is fused behind an op ------------------------------------------------------ */

static bool is(double v, double number)
{
    return !(v < number) && !(v > number);
}

/* The 8-bit forms quantize inside of the op, as only oneDNN does. */
static bool float_only(pdm_tr_op *t, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n && !t->failed; i++) {
        const pdm_lg_attr *a = pdm_lg_find_attr(t->op, names[i]);
        bool plain = !a || (a->type == PDM_LG_FLOAT && is((double)a->u.f, 1)) ||
                     (a->type == PDM_LG_FLOATS &&
                      (a->count == 0 || (a->count == 1 && is((double)a->u.floats[0], 1))));
        if (!plain)
            pdm_tr_unsupported(t, names[i], "'%s' on 8-bit integers", t->op->type);
    }
    return !t->failed;
}

static pdm_ir_value *hard_sigmoid(pdm_tr_op *t, pdm_ir_value *x, double slope, double offset)
{
    return pdm_tr_emit1(
        t, "pd_op.hardsigmoid", PDM_TR_OPS(x),
        PDM_TR_ATTRS({"slope", pdm_tr_a_f32(t, slope), 0}, {"offset", pdm_tr_a_f32(t, offset), 0}));
}

/* fuse_activation with fuse_alpha and fuse_beta, then fused_output_scale. */
static pdm_ir_value *fused_tail(pdm_tr_op *t, pdm_ir_value *x)
{
    const char *name = pdm_tr_string_or(t, "fuse_activation", "");
    double alpha = pdm_tr_float_or(t, "fuse_alpha", 0), beta = pdm_tr_float_or(t, "fuse_beta", 0),
           scale = pdm_tr_float_or(t, "fused_output_scale", 1);
    if (t->failed)
        return NULL;
    if (strcmp(name, "relu") == 0 && !is(alpha, 0))
        name = "leaky_relu";
    if (strcmp(name, "relu6") == 0)
        name = "clip";
    if (strcmp(name, "hard_sigmoid") == 0)
        x = hard_sigmoid(t, x, alpha, beta);
    else if (strcmp(name, "hard_swish") == 0)
        x = pdm_tr_binary(t, "pd_op.multiply", x, hard_sigmoid(t, x, alpha, beta));
    else
        x = pdm_tr_activation(t, x, name, alpha, beta);
    return is(scale, 1) ? x : pdm_tr_scale(t, x, scale, 0);
}

static pdm_ir_value *maybe_reshape(pdm_tr_op *t, pdm_ir_value *x, const char *attr)
{
    size_t n = 0;
    const pdm_lg_attr *a = pdm_lg_find_attr(t->op, attr);
    if (!a || a->count == 0)
        return x;
    const int64_t *dims = pdm_tr_ints(t, attr, &n);
    return dims ? pdm_tr_reshape(t, x, dims, n) : NULL;
}

static pdm_ir_value *maybe_transpose(pdm_tr_op *t, pdm_ir_value *x, const char *attr)
{
    size_t n = 0;
    const pdm_lg_attr *a = pdm_lg_find_attr(t->op, attr);
    if (!a || a->count == 0)
        return x;
    const int64_t *perm = pdm_tr_ints(t, attr, &n);
    return perm ? pdm_tr_transpose(t, x, perm, n) : NULL;
}

/* ---- products -------------------------------------------------------------------------------- */

void pdm_tr_h_fc(pdm_tr_op *t)
{
    static const char *const scales[] = {"Scale_in", "Scale_weights", "Scale_out"};
    pdm_ir_value *x = pdm_tr_in(t, "Input"), *w = pdm_tr_in(t, "W"),
                 *bias = pdm_tr_in_opt(t, "Bias");
    int64_t lead = pdm_tr_int(t, "in_num_col_dims");
    const char *activation = pdm_tr_string_or(t, "activation_type", "");
    int rank = pdm_tr_need_rank(t, x);
    if (t->failed || !float_only(t, scales, 3))
        return;
    if (lead < 1 || lead >= rank) {
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "in_num_col_dims", NULL,
                     "in_num_col_dims %lld of 'fc' does not fit rank %d", (long long)lead, rank);
        return;
    }
    if (lead < rank - 1)
        x = pdm_tr_emit1(t, "pd_op.flatten", PDM_TR_OPS(x),
                         PDM_TR_ATTRS({"start_axis", pdm_tr_a_i32(t, lead), 0},
                                      {"stop_axis", pdm_tr_a_i32(t, rank - 1), 0}));
    if (pdm_tr_bool_or(t, "padding_weights", false)) /* four more rows and columns than needed */
        w = pdm_tr_slice(t, pdm_tr_slice(t, w, 0, 0, -4), 1, 0, -4);
    pdm_ir_value *out = pdm_tr_matmul(t, x, w, false, false);
    if (bias && pdm_tr_rank(bias) > 1)
        bias = pdm_tr_reshape(t, bias, (int64_t[]){-1}, 1);
    if (bias)
        out = pdm_tr_binary(t, "pd_op.add", out, bias);
    out = fused_tail(t, pdm_tr_activation(t, out, activation, 0, 0));
    pdm_tr_out(t, "Out", maybe_reshape(t, out, "fused_reshape2_shape"));
}

void pdm_tr_h_fused_matmul(pdm_tr_op *t)
{
    static const char *const scales[] = {"Scale_x", "Scale_y", "Scale_out"};
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y"),
                 *more = pdm_tr_in_opt(t, "ResidualData");
    bool trans_x = pdm_tr_bool_or(t, "trans_x", false),
         trans_y = pdm_tr_bool_or(t, "trans_y", false);
    double alpha = pdm_tr_float_or(t, "matmul_alpha", 1);
    if (t->failed || !float_only(t, scales, 3))
        return;
    x = maybe_transpose(t, maybe_reshape(t, x, "fused_reshape_X"), "fused_transpose_X");
    y = maybe_transpose(t, maybe_reshape(t, y, "fused_reshape_Y"), "fused_transpose_Y");
    pdm_ir_value *out = pdm_tr_matmul(t, x, y, trans_x, trans_y);
    if (!is(alpha, 1))
        out = pdm_tr_scale(t, out, alpha, 0);
    if (more)
        out = pdm_tr_binary(t, "pd_op.add", out, more);
    out = maybe_transpose(t, fused_tail(t, out), "fused_transpose_Out");
    pdm_tr_out(t, "Out", maybe_reshape(t, out, "fused_reshape_Out"));
}

/* ---- convolutions ---------------------------------------------------------------------------- */

static bool channels_last(const char *format)
{
    size_t n = format ? strlen(format) : 0;
    return n > 0 && format[n - 1] == 'C' && format[1] != 'C';
}

/* One number a channel, shaped to be added to an image of that rank. */
static pdm_ir_value *channel_bias(pdm_tr_op *t, pdm_ir_value *bias, int rank, const char *format)
{
    int64_t dims[PDM_MAX_RANK];
    if (rank < 2)
        return NULL;
    for (int i = 0; i < rank; i++)
        dims[i] = 1;
    dims[channels_last(format) ? rank - 1 : 1] = -1;
    return pdm_tr_reshape(t, bias, dims, (size_t)rank);
}

static pdm_ir_attr list_attr(pdm_tr_op *t, const char *name)
{
    size_t n = 0;
    const int64_t *v = pdm_tr_ints(t, name, &n);
    return v ? pdm_tr_a_i32s(t, v, n) : NULL;
}

static void conv_tail(pdm_tr_op *t, pdm_ir_value *out, const char *format)
{
    pdm_ir_value *bias = pdm_tr_in_opt(t, "Bias"), *more = pdm_tr_in_opt(t, "ResidualData");
    if (bias)
        out = pdm_tr_binary(t, "pd_op.add", out,
                            channel_bias(t, bias, pdm_tr_need_rank(t, out), format));
    if (more)
        out = pdm_tr_binary(t, "pd_op.add", out, more);
    pdm_tr_out(t, "Output", fused_tail(t, out));
}

void pdm_tr_h_fused_conv(pdm_tr_op *t)
{
    static const char *const scales[] = {"Scale_in", "Scale_weights", "Scale_out",
                                         "Scale_in_eltwise"};
    pdm_ir_value *x = pdm_tr_in(t, "Input"), *filter = pdm_tr_in(t, "Filter");
    const char *format = pdm_tr_string(t, "data_format"),
               *padding = pdm_tr_string(t, "padding_algorithm");
    int64_t groups = pdm_tr_int(t, "groups");
    bool deep = strcmp(t->op->type, "fused_conv3d") == 0;
    pdm_ir_attr strides = list_attr(t, "strides"), paddings = list_attr(t, "paddings"),
                dilations = list_attr(t, "dilations");
    if (t->failed || !strides || !paddings || !dilations || !float_only(t, scales, 4))
        return;
    if (deep) /* the op's own default names two dims only */
        format = channels_last(format) ? "NDHWC" : "NCDHW";
    conv_tail(t,
              pdm_tr_emit1(t, deep ? "pd_op.conv3d" : "pd_op.conv2d", PDM_TR_OPS(x, filter),
                           PDM_TR_ATTRS({"strides", strides, 0}, {"paddings", paddings, 0},
                                        {"padding_algorithm", pdm_tr_a_str(t, padding), 0},
                                        {"dilations", dilations, 0},
                                        {"groups", pdm_tr_a_i32(t, groups), 0},
                                        {"data_format", pdm_tr_a_str(t, format), 0})),
              format);
}

void pdm_tr_h_conv2d_transpose_bias(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "Input"), *filter = pdm_tr_in(t, "Filter");
    const char *format = pdm_tr_string(t, "data_format"),
               *padding = pdm_tr_string(t, "padding_algorithm");
    int64_t groups = pdm_tr_int(t, "groups");
    pdm_ir_value *size = pdm_tr_int_operand(t, NULL, NULL, "output_size");
    pdm_ir_attr strides = list_attr(t, "strides"), paddings = list_attr(t, "paddings"),
                dilations = list_attr(t, "dilations"), more = list_attr(t, "output_padding");
    if (t->failed || !strides || !paddings || !dilations || !more)
        return;
    pdm_ir_value *out = pdm_tr_emit1(
        t, "pd_op.conv2d_transpose", PDM_TR_OPS(x, filter, size),
        PDM_TR_ATTRS(
            {"strides", strides, 0}, {"paddings", paddings, 0}, {"output_padding", more, 0},
            {"padding_algorithm", pdm_tr_a_str(t, padding), 0}, {"dilations", dilations, 0},
            {"groups", pdm_tr_a_i32(t, groups), 0}, {"data_format", pdm_tr_a_str(t, format), 0}));
    conv_tail(t, out, format);
}

/* ---- elementwise ----------------------------------------------------------------------------- */

/* The dims of y stand at `axis` of x. */
static pdm_ir_value *placed(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *y, int64_t axis)
{
    int rank = pdm_tr_need_rank(t, x), own = pdm_tr_need_rank(t, y);
    pdm_tr_dim dims[PDM_MAX_RANK];
    if (t->failed || axis < 0 || own >= rank || axis + own >= rank)
        return y;
    for (int i = 0; i < rank - (int)axis; i++)
        dims[i] = i < own ? PDM_TR_DIM_OF(y, i) : PDM_TR_DIM(1);
    return pdm_tr_reshape_dims(t, y, dims, (size_t)(rank - (int)axis));
}

void pdm_tr_h_fused_elementwise(pdm_tr_op *t)
{
    static const char *const scales[] = {"scale_x", "scale_y", "scale_out"};
    static const char *const ops[][2] = {{"add", "pd_op.add"},
                                         {"sub", "pd_op.subtract"},
                                         {"mul", "pd_op.multiply"},
                                         {"div", "pd_op.divide"}};
    const char *kind = t->op->type + strlen("fused_elementwise_"), *target = NULL;
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(kind, ops[i][0]) == 0)
            target = ops[i][1];
    size_t n = 0;
    const int64_t *axes = pdm_lg_find_attr(t->op, "fused_unsqueeze2_axes")
                              ? pdm_tr_ints(t, "fused_unsqueeze2_axes", &n)
                              : NULL;
    if (t->failed || !target || !float_only(t, scales, 3))
        return;
    y = placed(t, x, y, pdm_tr_int_or(t, "axis", -1));
    pdm_ir_value *out = fused_tail(t, pdm_tr_binary(t, target, x, y));
    pdm_tr_out(t, "Out", n ? pdm_tr_unsqueeze(t, out, axes, n) : out);
}

void pdm_tr_h_fused_softplus(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    double beta = pdm_tr_float(t, "beta"), threshold = pdm_tr_float(t, "threshold");
    pdm_tr_out(
        t, "Out",
        fused_tail(t, pdm_tr_emit1(t, "pd_op.softplus", PDM_TR_OPS(x),
                                   PDM_TR_ATTRS({"beta", pdm_tr_a_f64(t, beta), 0},
                                                {"threshold", pdm_tr_a_f64(t, threshold), 0}))));
}

/* ---- 8-bit integers -------------------------------------------------------------------------- */

/*
 * Kept in range and rounded to even. pd_op.round rounds halves by its version; float32 has no
 * fractions from 2^23 on, and so rounds them away to even.
 */
static pdm_ir_value *to_bytes(pdm_tr_op *t, pdm_ir_value *x, pdm_dtype dtype)
{
    const double whole = 12582912; /* 1.5 * 2^23: below it, too, for negative numbers */
    x = dtype == PDM_I8 ? pdm_tr_clip(t, x, -128, 127) : pdm_tr_clip(t, x, 0, 255);
    x = pdm_tr_scale(t, pdm_tr_scale(t, x, 1, whole), 1, -whole);
    return pdm_tr_cast(t, x, dtype);
}

void pdm_tr_h_quantize(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "Input");
    double scale = pdm_tr_float(t, "Scale"), shift = pdm_tr_float(t, "Shift");
    bool negative = pdm_tr_bool(t, "is_negative_input");
    if (pdm_tr_bool_or(t, "bfloat16", false)) {
        pdm_tr_out(t, "Output", pdm_tr_cast(t, x, PDM_BF16));
        return;
    }
    bool shifted = !is(shift, 0);
    x = pdm_tr_scale(t, x, scale, shift);
    pdm_tr_out(t, "Output", to_bytes(t, x, negative && !shifted ? PDM_I8 : PDM_U8));
}

void pdm_tr_h_dequantize(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_cast(t, pdm_tr_in(t, "Input"), PDM_F32);
    double scale = pdm_tr_float(t, "Scale"), shift = pdm_tr_float(t, "Shift");
    pdm_tr_out(t, "Output", pdm_tr_scale(t, x, 1 / scale, -shift / scale));
}

void pdm_tr_h_requantize(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "Input");
    double from = pdm_tr_float(t, "Scale_in"), to = pdm_tr_float(t, "Scale_out"),
           shift_in = pdm_tr_float(t, "Shift_in"), shift_out = pdm_tr_float(t, "Shift_out");
    pdm_dtype dtype = pdm_tr_dtype_of(x);
    double ratio = to / from, shift = shift_out - ratio * shift_in;
    /* The shift is a whole number in the range of the bytes. */
    shift = shift >= 255 ? 255 : shift > 0 ? (double)(int)(shift + 0.5) : 0;
    x = pdm_tr_scale(t, pdm_tr_cast(t, x, PDM_F32), ratio, shift);
    pdm_tr_out(t, "Output", to_bytes(t, x, dtype == PDM_I8 ? PDM_I8 : PDM_U8));
}

/* ---- GRU ------------------------------------------------------------------------------------- */

static pdm_ir_value *one_direction(pdm_tr_op *t, pdm_ir_value *x, size_t index, bool reverse)
{
    pdm_ir_value *wx = pdm_tr_in_at(t, "WeightX", index), *wh = pdm_tr_in_at(t, "WeightH", index),
                 *bias = pdm_tr_num_in(t, "Bias") ? pdm_tr_in_at(t, "Bias", index) : NULL;
    const char *activation = pdm_tr_string(t, "activation"),
               *gate = pdm_tr_string(t, "gate_activation");
    bool origin = pdm_tr_bool(t, "origin_mode");
    pdm_ir_op *op = pdm_tr_emit(t, "pd_op.fusion_gru", PDM_TR_OPS(x, NULL, wx, wh, bias),
                                PDM_TR_ATTRS({"activation", pdm_tr_a_str(t, activation), 0},
                                             {"gate_activation", pdm_tr_a_str(t, gate), 0},
                                             {"is_reverse", pdm_tr_a_bool(t, reverse), 0},
                                             {"use_seq", pdm_tr_a_bool(t, true), 0},
                                             {"origin_mode", pdm_tr_a_bool(t, origin), 0}));
    return pdm_tr_result(op, 4);
}

/* Layers of two directions each, side by side. */
void pdm_tr_h_multi_gru(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    int64_t layers = pdm_tr_int(t, "layers");
    if (t->failed)
        return;
    if (pdm_tr_num_in(t, "Scale_weights")) {
        pdm_tr_unsupported(t, "Scale_weights", "'multi_gru' on 8-bit integers");
        return;
    }
    for (int64_t i = 0; i < layers && !t->failed; i++) {
        pdm_ir_value *both[2];
        for (int k = 0; k < 2; k++)
            both[k] = one_direction(t, x, (size_t)(2 * i + k), k == 1);
        x = pdm_tr_concat(t, both, 2, 1);
    }
    pdm_tr_out(t, "Hidden", x);
}

/* ---- transposition --------------------------------------------------------------------------- */

void pdm_tr_h_fused_transpose(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    double scale = pdm_tr_float_or(t, "scale", 1), shift = pdm_tr_float_or(t, "shift", 0);
    const char *type = pdm_tr_string_or(t, "output_data_type", "");
    size_t n = 0;
    if (t->failed)
        return;
    if (!is(scale, 1) || !is(shift, 0) || (*type && strcmp(type, "fp32") != 0)) {
        pdm_tr_unsupported(t, "scale", "'fused_transpose' on 8-bit integers");
        return;
    }
    if (pdm_tr_has_attr(t, "fused_squeeze2_axes")) {
        const int64_t *axes = pdm_tr_ints(t, "fused_squeeze2_axes", &n);
        x = n ? pdm_tr_squeeze(t, x, axes, n) : x;
    }
    x = maybe_transpose(t, x, "axis");
    if (pdm_tr_has_attr(t, "fused_unsqueeze2_axes")) {
        const int64_t *axes = pdm_tr_ints(t, "fused_unsqueeze2_axes", &n);
        x = n ? pdm_tr_unsqueeze(t, x, axes, n) : x;
    }
    pdm_tr_out(t, "Out", maybe_reshape(t, x, "fused_reshape2_shape"));
}
