/*
 * Reductions, and what is made of them: sums and the like, softmax, layer normalization. What is
 * reduced is stored first (a part, see rules.h), the rest is pointwise.
 */
#include <math.h>

#include "cinn/rules.h"

typedef const pdm_loop_expr *E;

#define U(code, a)    pdm_loop_unary(fn, PDM_LOOP_##code, a)
#define B(code, a, b) pdm_loop_binary(fn, PDM_LOOP_##code, a, b)
#define N(dtype, v)   pdm_loop_number(fn, dtype, v)

enum { MAX_INTS = 16 };

static const pdm_ir_value *operand(const pdm_ir_op *op)
{
    return pdm_ir_op_operand_value(op, 0);
}

static uint32_t rank_of(const pdm_ir_op *op)
{
    return operand(op)->type->rank;
}

static bool mark_axis(int64_t axis, uint32_t rank, bool *reduced)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return false;
    reduced[axis < 0 ? axis + rank : axis] = true;
    return true;
}

/* ---- sum, mean, max, min, prod --------------------------------------------------------------- */

/* The axes that go: those of operand 1, all when there are none. */
static bool axes_of(const pdm_ir_op *op, bool reduced[PDM_MAX_RANK])
{
    int64_t ints[MAX_INTS];
    size_t n;

    if (op->num_operands < 2 || !pdm_ir_op_operand_value(op, 1) ||
        !pdm_ir_const_ints(pdm_ir_op_operand_value(op, 1), ints, MAX_INTS, &n))
        return false;
    for (uint32_t d = 0; d < PDM_MAX_RANK; d++)
        reduced[d] = n == 0 || pdm_cinn_attr(op, "reduce_all", 0) != 0;
    for (size_t i = 0; i < n; i++) {
        if (!mark_axis(ints[i], rank_of(op), reduced))
            return false;
    }
    return true;
}

bool pdm_cinn_fits_reduce(const pdm_ir_op *op)
{
    bool reduced[PDM_MAX_RANK];

    return axes_of(op, reduced) && pdm_ir_op_result(op, 0)->type->dtype == operand(op)->type->dtype;
}

bool pdm_cinn_shape_reduce(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    const bool keep = pdm_cinn_attr(op, "keepdim", 0) != 0;
    bool reduced[PDM_MAX_RANK];

    if (!x || !axes_of(op, reduced))
        return false;
    out->rank = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (pdm_loop_is_int(x->dims[d], 0)) /* of nothing: not always allowed */
            return false;
        if (!reduced[d] || keep)
            out->dims[out->rank++] = reduced[d] ? pdm_loop_index(pdm_cinn_fn(l), 1) : x->dims[d];
    }
    return true;
}

/* Partial sums of float32 are rounded at each step, as the framework does; sums of all elements are
 * not. */
static pdm_dtype sum_type(const pdm_ir_op *op, const bool *reduced)
{
    bool all = true;

    for (uint32_t d = 0; d < rank_of(op); d++)
        all = all && reduced[d];
    return all ? PDM_F64 : operand(op)->type->dtype;
}

bool pdm_cinn_part_sum(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    out->combine = PDM_CINN_SUM;
    if (!axes_of(op, out->reduced))
        return false;
    out->dtype = sum_type(op, out->reduced);
    return true;
}

static bool extreme(const pdm_ir_op *op, pdm_cinn_combine combine, pdm_cinn_part *out)
{
    out->combine = combine;
    out->dtype = operand(op)->type->dtype;
    return axes_of(op, out->reduced);
}

bool pdm_cinn_part_max(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    return extreme(op, PDM_CINN_MAX, out);
}

bool pdm_cinn_part_min(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    return extreme(op, PDM_CINN_MIN, out);
}

E pdm_cinn_term_plain(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    (void)number;
    return pdm_cinn_element(l, operand(op), indices);
}

/* The part at the place of an element of the result. */
static E part_here(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const bool keep = pdm_cinn_attr(op, "keepdim", 0) != 0;
    bool reduced[PDM_MAX_RANK];
    E at[PDM_MAX_RANK];

    if (!axes_of(op, reduced))
        return NULL;
    for (uint32_t d = 0, n = 0; d < rank_of(op); d++) {
        at[d] = reduced[d] ? pdm_loop_index(pdm_cinn_fn(l), 0) : indices[n];
        n += !reduced[d] || keep;
    }
    return pdm_cinn_part_value(l, op, 0, at);
}

E pdm_cinn_element_reduce(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    return pdm_loop_cast(pdm_cinn_fn(l), operand(op)->type->dtype, part_here(l, op, indices));
}

static E count_of(pdm_cinn_lower *l, const pdm_ir_op *op, const bool *reduced)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    E count = pdm_loop_index(pdm_cinn_fn(l), 1);

    for (uint32_t d = 0; d < x->rank; d++) {
        if (reduced[d])
            count = pdm_loop_binary(pdm_cinn_fn(l), PDM_LOOP_MUL, count, x->dims[d]);
    }
    return count;
}

E pdm_cinn_element_mean(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    bool reduced[PDM_MAX_RANK];

    if (!axes_of(op, reduced))
        return NULL;
    const E sum = pdm_loop_cast(fn, PDM_F64, part_here(l, op, indices));
    const E count = pdm_loop_cast(fn, PDM_F64, count_of(l, op, reduced));
    return pdm_loop_cast(fn, operand(op)->type->dtype, B(DIV, sum, count));
}

/* ---- softmax --------------------------------------------------------------------------------- */

bool pdm_cinn_fits_softmax(const pdm_ir_op *op)
{
    bool reduced[PDM_MAX_RANK] = {false};

    return mark_axis((int64_t)pdm_cinn_attr(op, "axis", -1), rank_of(op), reduced);
}

/* 0: the largest; 1: the sum of exponentials. */
bool pdm_cinn_part_softmax(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                           pdm_cinn_part *out)
{
    (void)l;
    out->combine = number == 0 ? PDM_CINN_LARGER : PDM_CINN_SUM;
    out->dtype = number == 0 ? operand(op)->type->dtype : PDM_F64;
    return mark_axis((int64_t)pdm_cinn_attr(op, "axis", -1), rank_of(op), out->reduced);
}

/* Not below exp(-64), as in the framework. */
static E exponential(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E x = pdm_cinn_element(l, operand(op), indices);
    const E largest = pdm_cinn_part_value(l, op, 0, indices);

    return x && largest ? U(EXP, B(MAX, N(x->dtype, -64), B(SUB, x, largest))) : NULL;
}

E pdm_cinn_term_softmax(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    return number == 0 ? pdm_cinn_element(l, operand(op), indices)
                       : pdm_loop_cast(pdm_cinn_fn(l), PDM_F64, exponential(l, op, indices));
}

E pdm_cinn_element_softmax(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E sum = pdm_cinn_part_value(l, op, 1, indices);
    const E e = exponential(l, op, indices);

    return e && sum ? B(MUL, e, pdm_loop_cast(fn, e->dtype, B(DIV, N(PDM_F64, 1), sum))) : NULL;
}

/* ---- layer normalization --------------------------------------------------------------------- */

static uint32_t first_axis(const pdm_ir_op *op)
{
    return (uint32_t)pdm_cinn_attr(op, "begin_norm_axis", 1);
}

bool pdm_cinn_fits_layer_norm(const pdm_ir_op *op)
{
    for (uint32_t i = 1; i < 3; i++) {
        const pdm_ir_type other = pdm_ir_op_operand_value(op, i)->type;
        if (other->dtype != operand(op)->type->dtype || other->rank != 1)
            return false;
    }
    return first_axis(op) >= 1 && first_axis(op) < rank_of(op);
}

/* 0: the sum; 1: the sum of squared distances to the mean. */
bool pdm_cinn_part_layer_norm(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                              pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    out->combine = PDM_CINN_SUM;
    out->dtype = PDM_F64;
    for (uint32_t d = first_axis(op); d < rank_of(op); d++)
        out->reduced[d] = true;
    return true;
}

static E normalized_count(pdm_cinn_lower *l, const pdm_ir_op *op)
{
    bool reduced[PDM_MAX_RANK] = {false};

    for (uint32_t d = first_axis(op); d < rank_of(op); d++)
        reduced[d] = true;
    return count_of(l, op, reduced);
}

bool pdm_cinn_shape_layer_norm(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));

    if (!x)
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (pdm_loop_is_int(x->dims[d], 0))
            return false;
    }
    for (uint32_t i = 1; i < 3; i++) {
        const pdm_cinn_shape *other = pdm_cinn_shape_of(l, pdm_ir_op_operand_value(op, i));
        if (!other || !pdm_cinn_require_equal(l, other->dims[0], normalized_count(l, op)))
            return false;
    }
    *out = *x;
    return true;
}

/* A part divided by the number of elements. */
static E average(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E sum = pdm_cinn_part_value(l, op, number, indices);

    return sum ? B(DIV, sum, pdm_loop_cast(fn, PDM_F64, normalized_count(l, op))) : NULL;
}

static E distance(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E x = pdm_cinn_element(l, operand(op), indices), mean = average(l, op, 0, indices);

    return x && mean ? B(SUB, pdm_loop_cast(fn, PDM_F64, x), mean) : NULL;
}

E pdm_cinn_term_layer_norm(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                           const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);

    if (number == 0)
        return pdm_loop_cast(fn, PDM_F64, pdm_cinn_element(l, operand(op), indices));
    const E d = distance(l, op, indices);
    return d ? B(MUL, d, d) : NULL;
}

E pdm_cinn_element_layer_norm(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E at = pdm_loop_index(fn, 0);

    for (uint32_t d = first_axis(op); d < x->rank; d++)
        at = B(ADD, B(MUL, at, x->dims[d]), indices[d]);
    const E d = distance(l, op, indices), variance = average(l, op, 1, indices);
    const E scale = pdm_cinn_element(l, pdm_ir_op_operand_value(op, 1), &at);
    const E bias = pdm_cinn_element(l, pdm_ir_op_operand_value(op, 2), &at);
    if (!d || !variance || !scale || !bias)
        return NULL;
    const E epsilon = N(PDM_F64, pdm_cinn_attr(op, "epsilon", 1e-5));
    const E inverse = B(DIV, N(PDM_F64, 1), U(SQRT, B(ADD, variance, epsilon)));
    const E normal = pdm_loop_cast(fn, x->dtype, B(MUL, d, inverse));
    return B(ADD, B(MUL, normal, scale), bias);
}
