/*
 * Formulas of pointwise ops: those of the reference kernels (exec/kernels/math_*.c), so that the
 * bits are the same but for functions like exp.
 */
#include <math.h>

#include "cinn/formula.h"
#include "cinn/lower.h"
#include "cinn/rules.h"

#define SQRT1_2    0.707106781186547524400844362105
#define SQRT_2_PI  0.797884560802865355879892119869
#define GELU_CUBIC 0.044715

/* ---- which ops fit --------------------------------------------------------------------------- */

bool pdm_cinn_fits_any(const pdm_ir_op *op)
{
    (void)op;
    return true;
}

static pdm_dtype dtype_of(const pdm_ir_op *op, uint32_t operand)
{
    return pdm_ir_op_operand_value(op, operand)->type->dtype;
}

/* Old programs place the second operand by an attribute. */
bool pdm_cinn_fits_no_axis(const pdm_ir_op *op)
{
    return dtype_of(op, 0) == dtype_of(op, 1) && pdm_cinn_attr(op, "axis", -1) == -1;
}

bool pdm_cinn_fits_where(const pdm_ir_op *op)
{
    return dtype_of(op, 0) == PDM_BOOL && dtype_of(op, 1) == dtype_of(op, 2);
}

/* The result's declared type is what is asked for. */
bool pdm_cinn_fits_cast(const pdm_ir_op *op)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, "dtype");

    return attr && attr->kind == PDM_IR_ATTR_DTYPE &&
           attr->dtype == pdm_ir_op_result(op, 0)->type->dtype;
}

static bool is_constant(const pdm_ir_op *op, uint32_t operand, double *out)
{
    return operand < op->num_operands &&
           pdm_cinn_constant(pdm_ir_op_operand_value(op, operand), out);
}

bool pdm_cinn_fits_number_scale(const pdm_ir_op *op)
{
    double number;

    return is_constant(op, 1, &number);
}

bool pdm_cinn_fits_number_y(const pdm_ir_op *op)
{
    return pdm_ir_op_attr(op, "y") != NULL && isfinite(pdm_cinn_attr(op, "y", NAN));
}

/* Others could be zero, which is an error. */
bool pdm_cinn_fits_divisor(const pdm_ir_op *op)
{
    double number;

    return pdm_cinn_fits_no_axis(op) && is_constant(op, 1, &number) && number >= 1;
}

bool pdm_cinn_fits_clip(const pdm_ir_op *op)
{
    double low, high;

    return is_constant(op, 1, &low) && is_constant(op, 2, &high) && low <= high;
}

/* ---- elements of operands -------------------------------------------------------------------- */

bool pdm_cinn_shape_same(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_dtype dtype = out->dtype;
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, pdm_ir_op_operand_value(op, 0));

    if (!x)
        return false;
    *out = *x;
    out->dtype = dtype;
    return true;
}

/* One dim of two operands: a dim of 1 stretches. */
static bool stretch(pdm_cinn_lower *l, const pdm_loop_expr *a, const pdm_loop_expr *b,
                    const pdm_loop_expr **out)
{
    *out = pdm_loop_is_int(a, 1) ? b : a;
    return a == b || pdm_loop_is_int(a, 1) || pdm_loop_is_int(b, 1) ||
           pdm_cinn_require_equal(l, a, b);
}

/* Dims of all operands together, aligned at the last one. */
bool pdm_cinn_shape_broadcast(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const uint32_t tensors = pdm_cinn_rule_of(op)->tensors;

    out->rank = 0;
    for (uint32_t i = 0; i < tensors; i++) {
        const pdm_cinn_shape *x = pdm_cinn_shape_of(l, pdm_ir_op_operand_value(op, i));
        if (!x)
            return false;
        while (out->rank < x->rank) {
            for (uint32_t d = out->rank++; d > 0; d--)
                out->dims[d] = out->dims[d - 1];
            out->dims[0] = pdm_loop_index(pdm_cinn_fn(l), 1);
        }
        for (uint32_t d = 0; d < x->rank; d++) {
            const pdm_loop_expr **dim = &out->dims[out->rank - x->rank + d];
            if (!stretch(l, *dim, x->dims[d], dim))
                return false;
        }
    }
    return true;
}

const pdm_loop_expr *pdm_cinn_element_pointwise(pdm_cinn_lower *l, const pdm_ir_op *op,
                                                const pdm_loop_expr *const *indices)
{
    const pdm_cinn_rule *rule = pdm_cinn_rule_of(op);
    const pdm_cinn_shape *out = pdm_cinn_shape_of(l, pdm_ir_op_result(op, 0));
    const pdm_loop_expr *x[PDM_CINN_MAX_TENSORS];

    for (uint32_t i = 0; i < rule->tensors; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        const pdm_cinn_shape *shape = pdm_cinn_shape_of(l, value);
        const pdm_loop_expr *at[PDM_MAX_RANK];
        for (uint32_t d = 0; d < shape->rank; d++) {
            at[d] = pdm_loop_is_int(shape->dims[d], 1) ? pdm_loop_index(pdm_cinn_fn(l), 0)
                                                       : indices[out->rank - shape->rank + d];
        }
        x[i] = pdm_loop_wide(pdm_cinn_fn(l), pdm_cinn_element(l, value, at));
        if (!x[i])
            return NULL;
    }
    return pdm_loop_cast(pdm_cinn_fn(l), pdm_ir_op_result(op, 0)->type->dtype,
                         rule->value(pdm_cinn_fn(l), op, x));
}

/* ---- formulas -------------------------------------------------------------------------------- */

typedef const pdm_loop_expr *E;

/* In formulas: X, Y are the operands, N a number of X's type. */
#define X            x[0]
#define Y            x[1]
#define N(value)     pdm_loop_number(fn, x[0]->dtype, value)
#define A(name, def) N(pdm_cinn_attr(op, name, def))
/* NaN stays, as it does when both comparisons are written out. */
#define CLAMP(v, low, high) B(MIN, high, B(MAX, low, v))

#define VALUE(name)                                                                                \
    const pdm_loop_expr *pdm_cinn_value_##name(pdm_loop_fn *fn, const pdm_ir_op *op,               \
                                               const pdm_loop_expr *const *x)
#define FORMULA(name, expr)                                                                        \
    VALUE(name)                                                                                    \
    {                                                                                              \
        (void)fn;                                                                                  \
        (void)op;                                                                                  \
        return expr;                                                                               \
    }

FORMULA(assign, X)
FORMULA(cast, pdm_loop_cast(fn, pdm_ir_op_result(op, 0)->type->dtype, X))

FORMULA(abs, U(ABS, X))
FORMULA(acos, U(ACOS, X))
FORMULA(acosh, U(ACOSH, X))
FORMULA(asin, U(ASIN, X))
FORMULA(asinh, U(ASINH, X))
FORMULA(atan, U(ATAN, X))
FORMULA(atanh, U(ATANH, X))
FORMULA(ceil, U(CEIL, X))
FORMULA(cos, U(COS, X))
FORMULA(cosh, U(COSH, X))
FORMULA(erf, U(ERF, X))
FORMULA(exp, U(EXP, X))
FORMULA(expm1, U(EXPM1, X))
FORMULA(floor, U(FLOOR, X))
FORMULA(log, U(LOG, X))
FORMULA(log10, U(LOG10, X))
FORMULA(log1p, U(LOG1P, X))
FORMULA(log2, U(LOG2, X))
FORMULA(sin, U(SIN, X))
FORMULA(sinh, U(SINH, X))
FORMULA(sqrt, U(SQRT, X))
FORMULA(tan, U(TAN, X))
FORMULA(tanh, U(TANH, X))
FORMULA(trunc, U(TRUNC, X))
FORMULA(sigmoid, U(SIGMOID, X))

FORMULA(reciprocal, DIV(N(1), X))
FORMULA(rsqrt, DIV(N(1), U(SQRT, X)))
FORMULA(square, MUL(X, X))
FORMULA(sign, IF(LT(N(0), X), N(1), IF(LT(X, N(0)), N(-1), IF(B(NE, X, X), X, N(0)))))

FORMULA(add, ADD(X, Y))
FORMULA(subtract, SUB(X, Y))
FORMULA(multiply, MUL(X, Y))
FORMULA(divide, DIV(X, Y))
FORMULA(pow_of, B(POW, X, Y))
FORMULA(atan2, B(ATAN2, X, Y))
FORMULA(bitwise_and, B(AND, X, Y))
FORMULA(bitwise_or, B(OR, X, Y))
FORMULA(bitwise_xor, B(XOR, X, Y))
FORMULA(bitwise_not, X->dtype == PDM_BOOL ? U(NOT, X) : U(INVERT, X))

FORMULA(equal, B(EQ, X, Y))
FORMULA(not_equal, B(NE, X, Y))
FORMULA(less_than, LT(X, Y))
FORMULA(less_equal, B(LE, X, Y))
FORMULA(greater_than, LT(Y, X))
FORMULA(greater_equal, B(LE, Y, X))

#define TRUTH(v) ((v)->dtype == PDM_BOOL ? (v) : B(NE, v, pdm_loop_number(fn, (v)->dtype, 0)))
FORMULA(logical_and, B(AND, TRUTH(X), TRUTH(Y)))
FORMULA(logical_or, B(OR, TRUTH(X), TRUTH(Y)))
FORMULA(logical_xor, B(XOR, TRUTH(X), TRUTH(Y)))
FORMULA(logical_not, U(NOT, TRUTH(X)))

/* NaN wins. */
static E extreme(pdm_loop_fn *fn, pdm_loop_op op, E a, E b)
{
    const E plain = pdm_loop_binary(fn, op, a, b);

    if (!pdm_dtype_is_float(a->dtype))
        return plain;
    return IF(B(NE, a, a), a, IF(B(NE, b, b), b, plain));
}
FORMULA(maximum, extreme(fn, PDM_LOOP_MAX, X, Y))
FORMULA(minimum, extreme(fn, PDM_LOOP_MIN, X, Y))

FORMULA(isnan, B(NE, X, X))
FORMULA(isinf, B(EQ, U(ABS, X), N(INFINITY)))
FORMULA(isfinite, LT(U(ABS, X), N(INFINITY)))
FORMULA(increment, ADD(X, A("value", 1)))

/* Rounded down, by a number above zero. */
VALUE(floor_divide)
{
    (void)op;
    const E q = DIV(X, Y);
    return IF(LT(X, MUL(q, Y)), SUB(q, N(1)), q);
}
VALUE(remainder)
{
    (void)op;
    const E rest = B(MOD, X, Y);
    return IF(LT(rest, N(0)), ADD(rest, Y), rest);
}

FORMULA(where, IF(X, Y, x[2]))

FORMULA(relu, B(MAX, X, N(0))) /* NaN gives 0 */
FORMULA(relu6, CLAMP(X, N(0), A("threshold", 6)))
/* The lower bound is looked at first, should it be the larger one. */
FORMULA(hardtanh, pdm_cinn_attr(op, "t_min", 0) <= pdm_cinn_attr(op, "t_max", 24)
                      ? CLAMP(X, A("t_min", 0), A("t_max", 24))
                      : IF(LT(X, A("t_min", 0)), A("t_min", 0), IF(LT(A("t_max", 24), X), A("t_max", 24), X)))
FORMULA(leaky_relu, IF(LT(X, N(0)), MUL(X, A("negative_slope", 0.02)), X))
/* An infinity times the 0 of a condition is NaN there, as the framework has it. */
#define WHEN(condition) pdm_loop_cast(fn, X->dtype, condition)
FORMULA(thresholded_relu, ADD(MUL(X, WHEN(LT(A("threshold", 1), X))), MUL(A("value", 0), WHEN(B(LE, X, A("threshold", 1))))))
FORMULA(hardshrink, IF(B(AND, LT(N(-pdm_cinn_attr(op, "threshold", 0.5)), X), LT(X, A("threshold", 0.5))),
                       N(0), X))
FORMULA(softshrink,
        ADD(MUL(WHEN(LT(A("threshold", 0.5), X)), SUB(X, A("threshold", 0.5))),
            MUL(WHEN(LT(X, N(-pdm_cinn_attr(op, "threshold", 0.5)))), ADD(X, A("threshold", 0.5)))))
FORMULA(hardsigmoid, CLAMP(ADD(MUL(X, A("slope", 0.2)), A("offset", 0.5)), N(0), N(1)))
FORMULA(hardswish, DIV(MUL(X, CLAMP(ADD(X, N(3)), N(0), N(6))), N(6)))
FORMULA(softsign, DIV(X, ADD(N(1), U(ABS, X))))
FORMULA(tanh_shrink, SUB(X, U(TANH, X)))
FORMULA(stanh, MUL(A("scale_b", 1.7159), U(TANH, MUL(A("scale_a", 0.67), X))))
FORMULA(silu, MUL(X, U(SIGMOID, X)))
FORMULA(swish, MUL(X, U(SIGMOID, MUL(A("beta", 1), X))))

/* alpha * expm1(arg) below zero; NaN stays. */
static E below_zero(pdm_loop_fn *fn, E v, E alpha, E arg)
{
    return IF(LT(pdm_loop_number(fn, v->dtype, 0), v), v, MUL(alpha, U(EXPM1, arg)));
}
FORMULA(elu, below_zero(fn, X, A("alpha", 1), X))
FORMULA(celu, below_zero(fn, X, A("alpha", 1), DIV(X, A("alpha", 1))))
FORMULA(selu, MUL(A("scale", 1.0507009873554805), below_zero(fn, X, A("alpha", 1.6732632423543772), X)))

FORMULA(softplus, IF(LT(A("threshold", 20), MUL(X, A("beta", 1))), X,
                     DIV(U(LOG1P, U(EXP, MUL(X, A("beta", 1)))), A("beta", 1))))
FORMULA(mish, MUL(X, U(TANH, IF(LT(A("lambda", 20), X), X, U(LOG1P, U(EXP, X))))))

VALUE(gelu)
{
    const E half = MUL(N(0.5), X);

    if (pdm_cinn_attr(op, "approximate", 0) == 0)
        return MUL(half, ADD(N(1), U(ERF, MUL(X, N(SQRT1_2)))));
    const E cubic = MUL(MUL(MUL(N(GELU_CUBIC), X), X), X);
    return MUL(half, ADD(N(1), U(TANH, MUL(N(SQRT_2_PI), ADD(X, cubic)))));
}

VALUE(scale)
{
    double factor;
    (void)pdm_cinn_constant(pdm_ir_op_operand_value(op, 1), &factor); /* it fits */
    const E scale = N(factor), bias = A("bias", 0);

    return pdm_cinn_attr(op, "bias_after_scale", 1) != 0 ? ADD(MUL(X, scale), bias)
                                                         : MUL(ADD(X, bias), scale);
}

VALUE(pow)
{
    const double exponent = pdm_cinn_attr(op, "y", 1);

    return exponent == 2 ? MUL(X, X) : B(POW, X, N(exponent));
}

/* Bounds of integers may lie beyond their type. */
VALUE(clip)
{
    const pdm_dtype dtype = pdm_dtype_is_float(X->dtype) ? X->dtype : PDM_I64;
    double low, high;
    (void)pdm_cinn_constant(pdm_ir_op_operand_value(op, 1), &low);
    (void)pdm_cinn_constant(pdm_ir_op_operand_value(op, 2), &high);

    return pdm_loop_cast(fn, X->dtype,
                         CLAMP(pdm_loop_cast(fn, dtype, X), pdm_loop_number(fn, dtype, low),
                               pdm_loop_number(fn, dtype, high)));
}
