/* Ops that give what they take, and pairs of ops that are one. Results keep every bit, but for the
 * sign of a zero that is scaled by one. */
#include <math.h>
#include <string.h>

#include "ir/infer.h"
#include "ir/rewrite.h"

/* ---- scale ----------------------------------------------------------------------------------- */

/* x * factor + bias. False: not known. */
static bool read_scale(const pdm_ir_op *op, double *factor, double *bias)
{
    if (!pdm_ir_const_number(pdm_ir_op_in(op, 1), factor))
        return false;
    *bias = pdm_ir_op_number(op, "bias", 0);
    if (pdm_ir_op_attr(op, "bias_after_scale") && !pdm_ir_op_flag(op, "bias_after_scale"))
        return *bias == 0; /* else rounded in another order */
    return true;
}

static bool scale_by_one(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    double factor, bias;

    return read_scale(op, &factor, &bias) && factor == 1 && bias == 0 &&
           pdm_ir_rw_forward(rw, op, pdm_ir_op_in(op, 0));
}

static bool is_power_of_two(double number)
{
    int exponent;

    return fabs(frexp(number, &exponent)) == 0.5 && exponent > -16 && exponent < 16;
}

static bool is_float32(double number)
{
    return (double)(float)number == number;
}

/* Whether x * f1 + b1 is too large only where that times f2 is, too, however it is computed: where the two are merged, an infinity
 * between them would be gone. */
static bool keeps_infinity(double f1, double b1, double f2)
{
    return (fabs(f1) <= 1 || fabs(f2) >= 1) && fabs(b1) < 0x1p90 && fabs(b1 * f2) < 0x1p90;
}

/* Of two products one must round nothing, and of the sums there is one. Only what is below the least normal number may be rounded
 * otherwise. */
static bool scale_of_scale(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    double f1, b1, f2, b2;
    pdm_ir_op *inner = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_pd_op_scale);
    const pdm_ir_type type = pdm_ir_op_result(op, 0)->type;

    if (!inner || !pdm_ir_type_is_tensor(type) || type->dtype != PDM_F32 ||
        !read_scale(inner, &f1, &b1) || !read_scale(op, &f2, &b2))
        return false;
    const bool exact = (b1 == 0 && is_power_of_two(f1)) || (b2 == 0 && is_power_of_two(f2));
    const double factor = f1 * f2, bias = b1 * f2 + b2;
    if (!exact || !is_float32(factor) || !is_float32(bias) || fabs(factor) < 1e-30 ||
        !keeps_infinity(f1, b1, f2))
        return false;
    pdm_ir_value *in[] = {pdm_ir_op_in(inner, 0), pdm_ir_rw_make_number(rw, PDM_F32, factor)};
    if (!in[1])
        return false;
    const pdm_ir_make_attr attrs[] = {{"bias", pdm_ir_attr_f64(rw->context, bias)}, {0}};
    return pdm_ir_rw_replace(rw, op, pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_scale, in, 2, attrs));
}

/* ---- cast ------------------------------------------------------------------------------------ */

static pdm_dtype dtype_of(const pdm_ir_value *value)
{
    return value && pdm_ir_type_is_tensor(value->type) ? value->type->dtype : PDM_UNDEFINED;
}

static bool cast_to_itself(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_value *x = pdm_ir_op_in(op, 0);

    return dtype_of(x) != PDM_UNDEFINED && dtype_of(x) == dtype_of(pdm_ir_op_result(op, 0)) &&
           pdm_ir_rw_forward(rw, op, x);
}

/* Whether every value of `from` is a value of `to`. */
static bool holds(pdm_dtype to, pdm_dtype from)
{
    static const struct {
        pdm_dtype from, to[8];
    } rows[] = {
        {PDM_BOOL, {PDM_U8, PDM_I8, PDM_I16, PDM_I32, PDM_I64, PDM_F32, PDM_F64}},
        {PDM_U8, {PDM_I16, PDM_I32, PDM_I64, PDM_F32, PDM_F64}},
        {PDM_I8, {PDM_I16, PDM_I32, PDM_I64, PDM_F32, PDM_F64}},
        {PDM_I16, {PDM_I32, PDM_I64, PDM_F32, PDM_F64}},
        {PDM_I32, {PDM_I64, PDM_F64}},
        {PDM_F16, {PDM_F32, PDM_F64}},
        {PDM_BF16, {PDM_F32, PDM_F64}},
        {PDM_F32, {PDM_F64}},
    };

    if (to == from)
        return true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t k = 0; rows[i].from == from && k < 8; k++) {
            if (rows[i].to[k] == to && to != PDM_UNDEFINED)
                return true;
        }
    }
    return false;
}

/* Only if nothing was lost on the way. */
static bool cast_of_cast(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_op *inner = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_pd_op_cast);
    pdm_ir_value *x = inner ? pdm_ir_op_in(inner, 0) : NULL;
    const pdm_dtype first = dtype_of(x), middle = dtype_of(pdm_ir_op_in(op, 0)),
                    last = dtype_of(pdm_ir_op_result(op, 0));

    if (first == PDM_UNDEFINED || !holds(middle, first))
        return false;
    if (first == last)
        return pdm_ir_rw_forward(rw, op, x);
    const pdm_ir_make_attr attrs[] = {{"dtype", pdm_ir_op_attr(op, "dtype")}, {0}};
    return pdm_ir_rw_replace(rw, op, pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_cast, &x, 1, attrs));
}

/* ---- transpose ------------------------------------------------------------------------------- */

static bool transpose_to_itself(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    int64_t perm[PDM_MAX_RANK];
    size_t rank;

    if (!pdm_ir_op_perm(op, perm, &rank))
        return false;
    for (size_t i = 0; i < rank; i++) {
        if (perm[i] != (int64_t)i)
            return false;
    }
    return pdm_ir_rw_forward(rw, op, pdm_ir_op_in(op, 0));
}

static bool transpose_of_transpose(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_op *inner = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_pd_op_transpose);
    int64_t first[PDM_MAX_RANK], second[PDM_MAX_RANK];
    int32_t both[PDM_MAX_RANK];
    size_t rank, other;

    if (!inner || !pdm_ir_op_perm(inner, first, &rank) || !pdm_ir_op_perm(op, second, &other) ||
        rank != other)
        return false;
    for (size_t i = 0; i < rank; i++)
        both[i] = (int32_t)first[second[i]];
    const pdm_ir_make_attr attrs[] = {{"perm", pdm_ir_attr_i32s(rw->context, both, rank)}, {0}};
    pdm_ir_value *x = pdm_ir_op_in(inner, 0);
    return pdm_ir_rw_replace(rw, op, pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_transpose, &x, 1, attrs));
}

/* ---- others ---------------------------------------------------------------------------------- */

static bool concat_of_one(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const pdm_ir_op *combine = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_builtin_combine);

    return combine && combine->num_operands == 1 && pdm_ir_rw_forward(rw, op, pdm_ir_op_in(combine, 0));
}

static bool assign(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    return pdm_ir_rw_forward(rw, op, pdm_ir_op_in(op, 0));
}

/* A value that went into a vector and comes out of it. */
static bool slice_of_combine(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const pdm_ir_op *combine = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_builtin_combine);
    const double index = pdm_ir_op_number(op, "index", -1);

    return combine && index >= 0 && index < combine->num_operands &&
           pdm_ir_rw_forward(rw, op, pdm_ir_op_in(combine, (uint32_t)index));
}

/* In test runs; the other way of training leaves a factor for them. */
static bool dropout(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const bool upscale = !strcmp(pdm_ir_op_text(op, "mode"), "upscale_in_train");
    pdm_ir_value *x = pdm_ir_op_in(op, 0);
    double rate;

    if (!pdm_ir_op_flag(op, "is_test") || pdm_ir_op_in(op, 1))
        return false;
    if (upscale)
        return pdm_ir_rw_forward(rw, op, x);
    if (dtype_of(x) != PDM_F32 || !pdm_ir_const_number(pdm_ir_op_in(op, 2), &rate))
        return false;
    pdm_ir_value *in[] = {x, pdm_ir_rw_make_number(rw, PDM_F32, (double)(1 - (float)rate))};
    return in[1] &&
           pdm_ir_rw_replace(rw, op, pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_scale, in, 2, NULL));
}

/* ---- once, and nothing ----------------------------------------------------------------------- */

static bool tile_once(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_value *x = pdm_ir_op_in(op, 0);
    int64_t times[PDM_MAX_RANK];
    size_t count;

    return pdm_ir_const_ints(pdm_ir_op_in(op, 1), times, PDM_MAX_RANK, &count) &&
           pdm_ir_type_is_tensor(x->type) && count <= x->type->rank && pdm_ir_ints_are(times, count, 1) &&
           pdm_ir_rw_forward(rw, op, x);
}

static bool pad_with_nothing(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    int64_t pads[2 * PDM_MAX_RANK];
    size_t count;
    const bool known = PDM_IR_IS(op, pd_op, pad3d)
                           ? pdm_ir_const_ints(pdm_ir_op_in(op, 1), pads, 2 * PDM_MAX_RANK, &count)
                           : pdm_ir_op_ints(op, "paddings", pads, 2 * PDM_MAX_RANK, &count);

    return known && pdm_ir_ints_are(pads, count, 0) && pdm_ir_rw_forward(rw, op, pdm_ir_op_in(op, 0));
}

/* ---- twice ----------------------------------------------------------------------------------- */

static bool back_again(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const pdm_ir_op *inner = pdm_ir_rw_producer(rw, op, 0, op->info->code);
    pdm_ir_value *x = inner ? pdm_ir_op_in(inner, 0) : NULL;

    return x && (PDM_IR_IS(op, pd_op, bitwise_not) || dtype_of(x) == PDM_BOOL) &&
           pdm_ir_rw_forward(rw, op, x);
}

static bool same_again(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_op *inner = pdm_ir_rw_producer(rw, op, 0, op->info->code);

    return inner && pdm_ir_op_number(op, "decimals", 0) == 0 && pdm_ir_op_number(inner, "decimals", 0) == 0 &&
           pdm_ir_rw_forward(rw, op, pdm_ir_op_in(op, 0));
}

/* Zeros and ones are so in every type. */
static bool cast_of_full_like(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const pdm_ir_op *inner = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_pd_op_full_like);
    double number;

    if (!inner || inner->num_operands < 2 || !pdm_ir_const_number(pdm_ir_op_in(inner, 1), &number) ||
        (number != 0 && number != 1) || signbit(number))
        return false;
    pdm_ir_value *in[] = {pdm_ir_op_in(inner, 0), pdm_ir_op_in(inner, 1)};
    const pdm_ir_make_attr attrs[] = {{"dtype", pdm_ir_op_attr(op, "dtype")},
                                      {"place", pdm_ir_op_attr(inner, "place")},
                                      {0}};
    return attrs[0].attr && attrs[1].attr &&
           pdm_ir_rw_replace(rw, op, pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_full_like, in, 2, attrs));
}

static const pdm_ir_pattern patterns[] = {
    {.name = "scale by one", .root = "pd_op.scale", .rewrite = scale_by_one},
    {.name = "scale of scale", .root = "pd_op.scale", .rewrite = scale_of_scale},
    {.name = "cast to itself", .root = "pd_op.cast", .rewrite = cast_to_itself},
    {.name = "cast of cast", .root = "pd_op.cast", .rewrite = cast_of_cast},
    {.name = "transpose to itself", .root = "pd_op.transpose", .rewrite = transpose_to_itself},
    {.name = "transpose of transpose", .root = "pd_op.transpose", .rewrite = transpose_of_transpose},
    {.name = "concat of one", .root = "pd_op.concat", .rewrite = concat_of_one},
    {.name = "slice of combine", .root = "builtin.slice", .rewrite = slice_of_combine},
    {.name = "assign", .root = "pd_op.assign", .rewrite = assign},
    {.name = "share_data", .root = "pd_op.share_data", .rewrite = assign},
    {.name = "tile once", .root = "pd_op.tile", .rewrite = tile_once},
    {.name = "pad with nothing", .root = "pd_op.pad", .rewrite = pad_with_nothing},
    {.name = "pad with nothing", .root = "pd_op.pad3d", .rewrite = pad_with_nothing},
    {.name = "not of not", .root = "pd_op.logical_not", .rewrite = back_again},
    {.name = "not of not", .root = "pd_op.bitwise_not", .rewrite = back_again},
    {.name = "the same again", .root = "pd_op.relu", .rewrite = same_again},
    {.name = "the same again", .root = "pd_op.relu6", .rewrite = same_again},
    {.name = "the same again", .root = "pd_op.abs", .rewrite = same_again},
    {.name = "the same again", .root = "pd_op.floor", .rewrite = same_again},
    {.name = "the same again", .root = "pd_op.ceil", .rewrite = same_again},
    {.name = "the same again", .root = "pd_op.round", .rewrite = same_again},
    {.name = "the same again", .root = "pd_op.trunc", .rewrite = same_again},
    {.name = "cast of full_like", .root = "pd_op.cast", .rewrite = cast_of_full_like},
    {.name = "dropout", .root = "pd_op.dropout", .rewrite = dropout},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns);
}

const pdm_ir_pass pdm_ir_pass_identity = {
    .name = "identity",
    .summary = "Remove ops that give what they take (scale by one, cast to the own type, assign, dropout of "
               "test runs), and make one of two where nothing is rounded in between.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
