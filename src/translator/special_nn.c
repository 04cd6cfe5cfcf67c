/* Special handlers: recurrent nets, quantization, normalization. */
#include "translator/special.h"

/* ---- rnn ------------------------------------------------------------------------------------- */

/* Type of the state of dropout: of an output that old models lack. */
static pdm_ir_type dropout_state_type(pdm_tr_op *t)
{
    pdm_ir_type declared = pdm_tr_out_type(t, "DropoutState", 0);
    return declared ? declared : pdm_tr_tensor_type(t, PDM_U8, NULL, 0);
}

/* A zero state for dropout, typed like the output that the op gives back. */
static pdm_ir_value *dropout_state(pdm_tr_op *t, pdm_ir_type type)
{
    int64_t dims[PDM_MAX_RANK];
    if (!type || type->rank > PDM_MAX_RANK)
        return NULL;
    for (uint32_t i = 0; i < type->rank; i++)
        dims[i] = type->dims[i] < 0 ? 1 : type->dims[i];
    const bool yes = true;
    pdm_ir_attr stop = pdm_ir_attr_bools(t->tr->context, &yes, 1);
    return pdm_tr_emit1(
        t, "pd_op.full", PDM_TR_NO_OPS,
        PDM_TR_ATTRS({"shape", pdm_tr_a_int_array(t, dims, type->rank), 0},
                     {"value", pdm_tr_a_f64(t, 0), 0}, {"dtype", pdm_tr_a_dtype(t, type->dtype), 0},
                     {"place", pdm_tr_a_place(t, 1), 0}, {"stop_gradient", stop, 0}));
}

static pdm_ir_type rnn_out_type(pdm_tr_op *t, const pdm_ir_value *x, int64_t width)
{
    pdm_ir_meta meta;
    pdm_tr_meta(x, &meta);
    if (meta.rank < 1)
        return pdm_tr_out_type(t, "Out", 0);
    meta.dims[meta.rank - 1] = width;
    return pdm_tr_tensor_type(t, meta.dtype, meta.dims, (size_t)meta.rank);
}

static pdm_ir_type rnn_state_type(pdm_tr_op *t)
{
    size_t n = pdm_tr_num_out(t, "State");
    pdm_ir_type *types = pdm_arena_calloc(&t->tr->scratch, n ? n : 1, sizeof *types);
    for (size_t i = 0; types && i < n; i++) {
        pdm_ir_value *before = pdm_tr_in_at(t, "PreState", i);
        types[i] = before ? before->type : NULL;
    }
    pdm_ir_type type = types ? pdm_ir_type_vector(t->tr->context, types, n) : NULL;
    if (!type)
        pdm_tr_nomem(t->tr);
    return type;
}

static const char *const rnn_ints[] = {"input_size", "hidden_size", "num_layers", "seed"};

void pdm_tr_h_rnn(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "Input");
    pdm_ir_value *states = pdm_tr_in_combined(t, "PreState");
    pdm_ir_value *weights = pdm_tr_in_combined(t, "WeightList");
    pdm_ir_value *lengths = pdm_tr_in_opt(t, "SequenceLength");
    pdm_ir_named_attr attrs[8];
    bool both = pdm_tr_bool(t, "is_bidirec"), test = pdm_tr_bool(t, "is_test");
    for (int i = 0; i < 4; i++)
        attrs[i] = (pdm_ir_named_attr){rnn_ints[i], pdm_tr_a_i32(t, pdm_tr_int(t, rnn_ints[i])), 0};
    attrs[4] =
        (pdm_ir_named_attr){"dropout_prob", pdm_tr_a_f32(t, pdm_tr_float(t, "dropout_prob")), 0};
    attrs[5] = (pdm_ir_named_attr){"mode", pdm_tr_a_str(t, pdm_tr_string(t, "mode")), 0};
    attrs[6] = (pdm_ir_named_attr){"is_bidirec", pdm_tr_a_bool(t, both), 0};
    attrs[7] = (pdm_ir_named_attr){"is_test", pdm_tr_a_bool(t, test), 0};
    if (t->failed || !x)
        return;
    int64_t width = (int64_t)(int32_t)pdm_tr_int(t, "hidden_size") * (both ? 2 : 1);
    pdm_ir_type types[4] = {rnn_out_type(t, x, width), dropout_state_type(t), rnn_state_type(t),
                            pdm_tr_out_type(t, "Reserve", 0)};
    pdm_ir_value *dropout = dropout_state(t, types[1]);
    pdm_ir_op *op = pdm_tr_emit_typed(
        t, "pd_op.rnn", PDM_TR_OPS(x, states, weights, lengths, dropout), attrs, 8, types, 4);
    if (!op)
        return;
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
    pdm_tr_out(t, "DropoutState", pdm_tr_result(op, 1));
    const pdm_lg_slot *slot = pdm_lg_find_output(t->op, "State");
    for (size_t i = 0; slot && i < slot->num_args; i++)
        pdm_tr_out_element(t, slot->args[i], pdm_tr_result(op, 2), (uint32_t)i);
    if (types[3])
        pdm_tr_out(t, "Reserve", pdm_tr_result(op, 3));
}

/* ---- quantization ---------------------------------------------------------------------------- */

static int64_t bit_length(pdm_tr_op *t)
{
    int64_t bits = pdm_tr_int(t, "bit_length");
    if (!t->failed && (bits < 2 || bits > 31))
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "bit_length", NULL, "bit_length %lld of '%s'",
                     (long long)bits, t->op->type);
    return t->failed ? 8 : bits;
}

/* Readers take the range from qmin and qmax, which models older than these attributes do not have.
 */
void pdm_tr_h_quantize_linear(pdm_tr_op *t)
{
    int64_t bits = bit_length(t);
    if (bits == 8 || pdm_tr_has_attr(t, "qmax")) {
        pdm_tr_generic(t);
        return;
    }
    static const char *const outs[] = {"OutState", "OutAccum", "OutScale"};
    const int64_t qmax = ((int64_t)1 << (bits - 1)) - 1;
    pdm_ir_value *x = pdm_tr_in(t, "X"), *scale = pdm_tr_in_opt(t, "Scale"),
                 *zero = pdm_tr_in(t, "ZeroPoint"), *accum = pdm_tr_in_opt(t, "InAccum"),
                 *state = pdm_tr_in_opt(t, "InState");
    if (!x)
        return;
    pdm_ir_type types[4] = {x->type};
    for (size_t i = 0; i < 3; i++)
        types[i + 1] = pdm_tr_out_type(t, outs[i], 0);
    pdm_ir_op *op = pdm_tr_emit_typed(
        t, "pd_op.quantize_linear", PDM_TR_OPS(x, scale, zero, accum, state),
        PDM_TR_ATTRS({"quant_axis", pdm_tr_a_i32(t, pdm_tr_int(t, "quant_axis")), 0},
                     {"bit_length", pdm_tr_a_i32(t, bits), 0},
                     {"qmin", pdm_tr_a_i32(t, -qmax - 1), 0}, {"qmax", pdm_tr_a_i32(t, qmax), 0},
                     {"round_type", pdm_tr_a_i32(t, pdm_tr_int(t, "round_type")), 0},
                     {"is_test", pdm_tr_a_bool(t, pdm_tr_bool(t, "is_test")), 0},
                     {"only_observer", pdm_tr_a_bool(t, pdm_tr_bool(t, "only_observer")), 0}),
        types, 4);
    pdm_tr_out(t, "Y", pdm_tr_result(op, 0));
    for (size_t i = 0; op && i < 3; i++)
        if (types[i + 1])
            pdm_tr_out(t, outs[i], pdm_tr_result(op, i + 1));
}

/* A test run takes the scales from the variable that the op lists as an output (io.c sees to it).
 */
void pdm_tr_h_fake_channel_wise_quantize(pdm_tr_op *t)
{
    const char *name = pdm_tr_out_name(t, "OutScale");
    if (!pdm_tr_bool_or(t, "is_test", false) || !name || !pdm_tr_has_value(t->tr, name)) {
        pdm_tr_generic(t);
        return;
    }
    const int64_t bits = bit_length(t), qmax = ((int64_t)1 << (bits - 1)) - 1;
    pdm_ir_value *x = pdm_tr_in(t, "X"), *scale = pdm_tr_value(t->tr, name);
    if (!x || !scale)
        return;
    pdm_ir_value *zero = pdm_tr_fill(t, (int64_t[]){1}, 1, pdm_tr_dtype_of(scale), 0);
    const pdm_ir_type types[4] = {x->type, NULL, NULL, NULL};
    pdm_ir_op *op = pdm_tr_emit_typed(
        t, "pd_op.quantize_linear", PDM_TR_OPS(x, scale, zero, NULL, NULL),
        PDM_TR_ATTRS({"quant_axis", pdm_tr_a_i32(t, pdm_tr_int(t, "quant_axis")), 0},
                     {"bit_length", pdm_tr_a_i32(t, bits), 0},
                     {"qmin", pdm_tr_a_i32(t, -qmax - 1), 0}, {"qmax", pdm_tr_a_i32(t, qmax), 0},
                     {"round_type", pdm_tr_a_i32(t, pdm_tr_int(t, "round_type")), 0}),
        types, 4);
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
}

/* Scales of channels, shaped so that they meet the channel axis of x. */
static pdm_ir_value *channel_scale(pdm_tr_op *t, pdm_ir_value *scale, int64_t axis, int rank)
{
    pdm_ir_meta meta;
    int64_t dims[PDM_MAX_RANK];
    pdm_tr_meta(scale, &meta);
    if (axis >= rank) {
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "quant_axis", NULL,
                     "quant_axis %lld of an input of rank %d", (long long)axis, rank);
        return NULL;
    }
    if (axis == rank - 1 && meta.rank == 1)
        return scale;
    for (int i = 0; i < rank; i++)
        dims[i] = 1;
    dims[axis] = meta.rank == 1 ? meta.dims[0] : -1;
    return pdm_tr_reshape(t, scale, dims, (size_t)rank);
}

/* pd_op.dequantize_linear computes something else: x * scale / largest number is spelled out. */
void pdm_tr_h_dequantize_linear(pdm_tr_op *t)
{
    if (t->tr->options->keep_quant_ops) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_value *scale = pdm_tr_in(t, "Scale"), *x = pdm_tr_in(t, "X"), *out;
    int64_t axis = pdm_tr_int(t, "quant_axis"), bits = bit_length(t);
    bool observer = pdm_tr_bool(t, "only_observer");
    if (t->failed || !x || !scale)
        return;
    pdm_dtype dtype = pdm_tr_dtype_of(scale);
    out = pdm_tr_cast(t, x, dtype);
    if (observer) {
        pdm_tr_out(t, "Y", out == x ? pdm_tr_unary(t, "pd_op.assign", x) : out);
        return;
    }
    pdm_ir_value *factor = axis < 0 ? scale : channel_scale(t, scale, axis, pdm_tr_need_rank(t, x));
    out = pdm_tr_binary(t, "pd_op.multiply", out, factor);
    const double largest = (double)(((int64_t)1 << (bits - 1)) - 1);
    out = pdm_tr_binary(t, "pd_op.divide", out, pdm_tr_fill(t, (int64_t[]){1}, 1, dtype, largest));
    pdm_tr_out(t, "Y", out);
    if (pdm_tr_has_out(t, "OutScale"))
        pdm_tr_out(t, "OutScale", pdm_tr_unary(t, "pd_op.assign", scale));
}

/* ---- rms_norm -------------------------------------------------------------------------------- */

static bool quantizes(pdm_tr_op *t)
{
    return pdm_tr_num_in(t, "norm_weight") && pdm_tr_float_or(t, "quant_scale", 0) > 0;
}

/* A vector over the normalized dims, in their shape. */
static pdm_ir_value *over_tail(pdm_tr_op *t, pdm_ir_value *v, const pdm_ir_meta *x, int begin)
{
    if (!v || begin == x->rank - 1)
        return v;
    return pdm_tr_reshape(t, v, x->dims + begin, (size_t)(x->rank - begin));
}

/* The form of the first release, with residual and bias, has no PIR op on the CPU. */
static void first_rms_norm(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "x"), *bias = pdm_tr_in_opt(t, "bias"),
                 *residual = pdm_tr_in_opt(t, "residual"), *weight = pdm_tr_in(t, "norm_weight"),
                 *shift = pdm_tr_in_opt(t, "norm_bias");
    pdm_ir_meta meta;
    int64_t axes[PDM_MAX_RANK];
    size_t n = 0;
    int rank = pdm_tr_need_rank(t, x);
    int64_t begin = pdm_tr_int(t, "begin_norm_axis");
    double epsilon = pdm_tr_float(t, "epsilon");
    if (begin < 0)
        begin += rank;
    if (!t->failed && (begin < 0 || begin >= rank))
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "begin_norm_axis", NULL,
                     "begin_norm_axis does not fit");
    if (t->failed || !x)
        return;
    if (bias)
        x = pdm_tr_binary(t, "pd_op.add", x, bias);
    if (residual) {
        x = pdm_tr_binary(t, "pd_op.add", x, residual);
        pdm_tr_out(t, "residual_out", x);
    }
    pdm_tr_meta(x, &meta);
    for (int64_t i = begin; i < rank; i++)
        axes[n++] = i;
    pdm_ir_value *wide = pdm_tr_cast(t, x, meta.dtype == PDM_F64 ? PDM_F64 : PDM_F32);
    pdm_ir_value *mean =
        pdm_tr_reduce(t, "pd_op.mean", pdm_tr_unary(t, "pd_op.square", wide), axes, n, true);
    pdm_ir_value *factor = pdm_tr_unary(t, "pd_op.rsqrt", pdm_tr_scale(t, mean, 1, epsilon));
    pdm_ir_value *out =
        pdm_tr_cast(t, pdm_tr_binary(t, "pd_op.multiply", wide, factor), meta.dtype);
    out = pdm_tr_binary(t, "pd_op.multiply", out, over_tail(t, weight, &meta, (int)begin));
    if (shift)
        out = pdm_tr_binary(t, "pd_op.add", out, over_tail(t, shift, &meta, (int)begin));
    pdm_tr_out(t, "out", out);
}

void pdm_tr_h_rms_norm(pdm_tr_op *t)
{
    if (quantizes(t))
        pdm_tr_unsupported(t, NULL, "'rms_norm' with a quantized output (quant_scale)");
    else if (pdm_tr_num_in(t, "norm_weight"))
        first_rms_norm(t);
    else
        pdm_tr_generic(t);
}
