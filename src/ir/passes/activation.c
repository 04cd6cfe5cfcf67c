/*
 * Activations that are written out: x times a gate that is made of x is one op, for which Paddle has a kernel on the CPU. Chains of numbers
 * are read in whatever form they have, so that x / sqrt(2), x * 0.7071 and a scale of x are the same thing.
 */
#include <math.h>

#include "ir/channels.h"
#include "ir/rewrite.h"

static bool is_f32(const pdm_ir_value *value)
{
    return value && pdm_ir_type_is_tensor(value->type) && value->type->dtype == PDM_F32;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A float32 of one element that is known and adds no dimensions to `beside`. */
static bool read_number(const pdm_ir_rewriter *rw, const pdm_ir_value *value, const pdm_ir_value *beside, double *out)
{
    pdm_tensor t = {0};
    bool known = false;

    if (!is_f32(value) || !is_f32(beside) || pdm_ir_static_count(value) != 1 ||
        value->type->rank > beside->type->rank || pdm_ir_rw_is_written(rw, value))
        return false;
    if (pdm_ir_const_number(value, out))
        return true;
    if (!pdm_ir_is_constant(rw->run->constants, value))
        return false;
    if (pdm_ir_constant_get(rw->run->constants, value, &t) == PDM_OK && t.dtype == PDM_F32 &&
        pdm_tensor_count(&t) == 1) {
        *out = (double)((const float *)t.data)[0];
        known = true;
    }
    pdm_tensor_deinit(&t);
    return known;
}

/* value = factor * of + shift. */
typedef struct affine {
    pdm_ir_value *of;
    double factor, shift;
} affine;

/* One op that computes with a number; false: op is none such. */
static bool read_step(const pdm_ir_rewriter *rw, const pdm_ir_op *op, affine *out)
{
    pdm_ir_value *const x = pdm_ir_op_in(op, 0), *const y = pdm_ir_op_in(op, 1);
    double n;

    *out = (affine){x, 1, 0};
    if (!is_f32(x))
        return false;
    if (PDM_IR_IS(op, pd_op, scale)) {
        if (!y || !pdm_ir_const_number(y, &out->factor))
            return false;
        out->shift = pdm_ir_op_number(op, "bias", 0);
        if (pdm_ir_op_attr(op, "bias_after_scale") && !pdm_ir_op_flag(op, "bias_after_scale"))
            out->shift *= out->factor;
        return true;
    }
    /* A first operand would pass on its LoD, which numbers have none of and values of three dims neither. */
    const bool second = read_number(rw, y, x, &n);
    if (!second && !(read_number(rw, x, y, &n) && y->type->rank >= 3))
        return false;
    out->of = second ? x : y;
    switch (op->info->code) {
    case PDM_IR_OP_pd_op_add:
        out->shift = n;
        return true;
    case PDM_IR_OP_pd_op_subtract:
        out->factor = second ? 1 : -1;
        out->shift = second ? -n : n;
        return true;
    case PDM_IR_OP_pd_op_multiply:
        out->factor = n;
        return true;
    case PDM_IR_OP_pd_op_divide:
        out->factor = 1 / n;
        return second && n != 0;
    default:
        return false;
    }
}

/* Through all steps above a value, which is read by the one below alone. */
static affine read_affine(const pdm_ir_rewriter *rw, pdm_ir_value *value, const pdm_ir_value *until)
{
    enum { MOST = 6 };
    affine all = {value, 1, 0}, one;

    for (int i = 0; i < MOST && all.of != until; i++) {
        const pdm_ir_op *op = pdm_ir_rw_maker(rw, all.of, true);
        if (!op || !read_step(rw, op, &one))
            break;
        all.shift += all.factor * one.shift;
        all.factor *= one.factor;
        all.of = one.of;
    }
    return all;
}

/* As near as constants are written with six digits: a coarser one is meant. */
static bool is_near(double number, double wanted)
{
    return fabs(number - wanted) <= 1e-6 * fabs(wanted);
}

static bool is_just(double number, double wanted)
{
    return fabs(number - wanted) <= 1e-6;
}

/* ---- gates ----------------------------------------------------------------------------------- */

typedef enum gate_kind { NO_GATE, SWISH, GELU, GELU_TANH, HARDSWISH, MISH } gate_kind;

/* x * x * x, in any form. */
static bool is_cube(const pdm_ir_rewriter *rw, pdm_ir_value *value, const pdm_ir_value *x)
{
    const pdm_ir_op *op = pdm_ir_rw_maker(rw, value, true);

    if (!op)
        return false;
    if (PDM_IR_IS(op, pd_op, pow))
        return pdm_ir_op_in(op, 0) == x && pdm_ir_op_number(op, "y", 1) == 3;
    if (!PDM_IR_IS(op, pd_op, multiply))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const pdm_ir_op *square = pdm_ir_op_in(op, i) == x ? pdm_ir_rw_maker(rw, pdm_ir_op_in(op, 1 - i), true) : NULL;
        if (square && ((PDM_IR_IS(square, pd_op, multiply) && pdm_ir_op_in(square, 0) == x && pdm_ir_op_in(square, 1) == x) ||
                       (PDM_IR_IS(square, pd_op, square) && pdm_ir_op_in(square, 0) == x) ||
                       (PDM_IR_IS(square, pd_op, pow) && pdm_ir_op_in(square, 0) == x &&
                        pdm_ir_op_number(square, "y", 1) == 2)))
            return true;
    }
    return false;
}

/* sqrt(2 / pi) * (x + 0.044715 x^3): the argument of the tanh of gelu. */
static bool is_gelu_argument(const pdm_ir_rewriter *rw, pdm_ir_value *value, const pdm_ir_value *x)
{
    const double root = 0.79788456080286535588, cubic = 0.044715;
    const affine outer = read_affine(rw, value, x);
    const pdm_ir_op *op = pdm_ir_rw_maker(rw, outer.of, true);

    if (outer.shift != 0 || !op)
        return false;
    if (PDM_IR_IS(op, pd_op, add)) {
        for (uint32_t i = 0; i < 2; i++) {
            const affine line = read_affine(rw, pdm_ir_op_in(op, i), x), cube = read_affine(rw, pdm_ir_op_in(op, 1 - i), x);
            if (line.of == x && line.shift == 0 && cube.shift == 0 && is_near(outer.factor * line.factor, root) &&
                is_near(outer.factor * cube.factor, root * cubic) && is_cube(rw, cube.of, x))
                return true;
        }
        return false;
    }
    /* x * (1 + 0.044715 x^2) */
    for (uint32_t i = 0; PDM_IR_IS(op, pd_op, multiply) && i < 2; i++) {
        const affine line = read_affine(rw, pdm_ir_op_in(op, i), x), rest = read_affine(rw, pdm_ir_op_in(op, 1 - i), x);
        const pdm_ir_op *square = pdm_ir_rw_maker(rw, rest.of, true);
        const double all = outer.factor * line.factor;
        if (line.of == x && line.shift == 0 && square && is_near(all * rest.shift, root) &&
            is_near(all * rest.factor, root * cubic) && pdm_ir_op_in(square, 0) == x &&
            ((PDM_IR_IS(square, pd_op, multiply) && pdm_ir_op_in(square, 1) == x) || PDM_IR_IS(square, pd_op, square) ||
             (PDM_IR_IS(square, pd_op, pow) && pdm_ir_op_number(square, "y", 1) == 2)))
            return true;
    }
    return false;
}

/* What number * x * value is, value being made of x. */
static gate_kind read_gate(const pdm_ir_rewriter *rw, pdm_ir_value *value, const pdm_ir_value *x, double number)
{
    const affine a = read_affine(rw, value, x);
    const pdm_ir_op *op = pdm_ir_rw_maker(rw, a.of, true);
    const double factor = a.factor * number, shift = a.shift * number;
    double low, high;

    if (!op || op->num_operands == 0)
        return NO_GATE;
    const bool of_x = pdm_ir_op_in(op, 0) == x;
    const affine in = read_affine(rw, pdm_ir_op_in(op, 0), x);
    switch (op->info->code) {
    case PDM_IR_OP_pd_op_sigmoid:
        return of_x && factor == 1 && shift == 0 ? SWISH : NO_GATE;
    case PDM_IR_OP_pd_op_erf:
        return in.of == x && in.shift == 0 && is_near(in.factor, 0.70710678118654752440) && is_just(factor, 0.5) &&
                       is_just(shift, 0.5) ? GELU : NO_GATE;
    case PDM_IR_OP_pd_op_tanh: {
        const pdm_ir_op *plus = factor == 1 && shift == 0 ? pdm_ir_rw_maker(rw, pdm_ir_op_in(op, 0), true) : NULL;
        if (plus && PDM_IR_IS(plus, pd_op, softplus) && pdm_ir_op_in(plus, 0) == x &&
            pdm_ir_op_number(plus, "beta", 1) == 1 && pdm_ir_op_number(plus, "threshold", 20) == 20)
            return MISH;
        return is_just(factor, 0.5) && is_just(shift, 0.5) && is_gelu_argument(rw, pdm_ir_op_in(op, 0), x) ? GELU_TANH
                                                                                                       : NO_GATE;
    }
    case PDM_IR_OP_pd_op_clip:
        if (!pdm_ir_const_number(pdm_ir_op_in(op, 1), &low) || !pdm_ir_const_number(pdm_ir_op_in(op, 2), &high) || low != 0 ||
            high != 6)
            return NO_GATE;
        /* fallthrough */
    case PDM_IR_OP_pd_op_relu6:
        return in.of == x && in.factor == 1 && in.shift == 3 && shift == 0 && is_just(factor, 1.0 / 6) ? HARDSWISH
                                                                                                       : NO_GATE;
    case PDM_IR_OP_pd_op_hardsigmoid:
        return of_x && factor == 1 && shift == 0 && is_near(pdm_ir_op_number(op, "slope", 0), 1.0 / 6) &&
                       pdm_ir_op_number(op, "offset", 0) == 0.5 ? HARDSWISH : NO_GATE;
    default:
        return NO_GATE;
    }
}

static pdm_ir_op *make(pdm_ir_rewriter *rw, gate_kind kind, pdm_ir_value *x)
{
    const pdm_ir_make_attr gelu[] = {{"approximate", pdm_ir_attr_bool(rw->context, kind == GELU_TANH)}, {0}},
                           mish[] = {{"lambda", pdm_ir_attr_f32(rw->context, 20)}, {0}};

    switch (kind) {
    case SWISH:
        return pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_silu, &x, 1, NULL);
    case GELU:
    case GELU_TANH:
        return pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_gelu, &x, 1, gelu);
    case HARDSWISH:
        return pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_hardswish, &x, 1, NULL);
    case MISH:
        return pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_mish, &x, 1, mish);
    default:
        return NULL;
    }
}

/* op is a product of x, a gate and numbers: the op of x that it is. Numbers may stand on either side, and behind. */
static bool find(pdm_ir_rewriter *rw, pdm_ir_op *op, double number, gate_kind *out_kind, pdm_ir_value **out_x)
{
    for (uint32_t i = 0; i < 2; i++) {
        pdm_ir_value *const side = pdm_ir_op_in(op, i), *const gate = pdm_ir_op_in(op, 1 - i);
        const affine a = read_affine(rw, side, NULL);
        /* x may itself be made by a step. */
        pdm_ir_value *const xs[] = {side, a.of};
        const double numbers[] = {1, a.factor};
        for (size_t k = 0; k < (a.of == side ? 1 : 2); k++) {
            *out_kind = k == 0 || a.shift == 0 ? read_gate(rw, gate, xs[k], number * numbers[k]) : NO_GATE;
            *out_x = xs[k];
            if (*out_kind != NO_GATE)
                return true;
        }
    }
    return false;
}

static bool is_product(const pdm_ir_op *op)
{
    const pdm_ir_value *const x = pdm_ir_op_in(op, 0), *const y = pdm_ir_op_in(op, 1);

    return PDM_IR_IS(op, pd_op, multiply) && is_f32(x) && is_f32(y) && x->type->rank == y->type->rank;
}

/* The product alone, or with a step behind that multiplies it with a number. */
static bool written_out(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    gate_kind kind;
    pdm_ir_value *x;
    affine behind;

    if (is_product(op) && find(rw, op, 1, &kind, &x))
        return pdm_ir_rw_replace(rw, op, make(rw, kind, x));
    if (!read_step(rw, op, &behind) || behind.shift != 0 || behind.factor == 1)
        return false;
    pdm_ir_op *inner = pdm_ir_rw_maker(rw, behind.of, true);
    return inner && is_product(inner) && find(rw, inner, behind.factor, &kind, &x) &&
           pdm_ir_rw_replace(rw, op, make(rw, kind, x));
}

static bool pow_of_two(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_value *x = pdm_ir_op_in(op, 0);
    double power = pdm_ir_op_number(op, "y", 1);

    if (PDM_IR_IS(op, pd_op, elementwise_pow) && !read_number(rw, pdm_ir_op_in(op, 1), x, &power))
        return false;
    return is_f32(x) && power == 2 &&
           pdm_ir_rw_replace(rw, op, pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_square, &x, 1, NULL));
}

static const pdm_ir_pattern patterns[] = {
    {.name = "written out", .root = "pd_op.multiply", .rewrite = written_out},
    {.name = "written out", .root = "pd_op.divide", .rewrite = written_out},
    {.name = "written out", .root = "pd_op.scale", .rewrite = written_out},
    {.name = "square", .root = "pd_op.pow", .rewrite = pow_of_two},
    {.name = "square", .root = "pd_op.elementwise_pow", .rewrite = pow_of_two},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns);
}

const pdm_ir_pass pdm_ir_pass_activation = {
    .name = "activation",
    .summary = "Make one op of swish, gelu, hardswish and mish that are written out, and of the second power.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
