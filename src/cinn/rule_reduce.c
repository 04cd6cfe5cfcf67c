/*
 * Reductions, and what is made of them: sums and the like, softmax, running sums. What is
 * reduced is stored first (a part, see rules.h), the rest is pointwise.
 */
#include <math.h>

#include "cinn/rules.h"

#include "cinn/formula.h"

typedef const pdm_loop_expr *E;

#define N(dtype, v)   pdm_loop_number(fn, dtype, v)

static const pdm_ir_value *operand(const pdm_ir_op *op)
{
    return pdm_ir_op_operand_value(op, 0);
}

static uint32_t rank_of(const pdm_ir_op *op)
{
    return operand(op)->type->rank;
}

/* The type that is calculated in. */
static pdm_dtype wide_type(const pdm_ir_op *op)
{
    const pdm_dtype dtype = operand(op)->type->dtype;

    return pdm_loop_is_half(dtype) ? PDM_F32 : dtype;
}

static E element(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    return pdm_loop_wide(pdm_cinn_fn(l), pdm_cinn_element(l, operand(op), indices));
}

static bool mark_axis(int64_t axis, uint32_t rank, bool *reduced)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return false;
    reduced[axis < 0 ? axis + rank : axis] = true;
    return true;
}

/* ---- sum, mean, max, min, prod --------------------------------------------------------------- */

/* The axes that go: those of operand 1 or of an attribute, all when there are none. */
static bool axes_of(const pdm_ir_op *op, bool reduced[PDM_MAX_RANK])
{
    int64_t ints[PDM_CINN_MAX_INTS] = {0};
    pdm_ir_attr attr = pdm_ir_op_attr(op, "axis");
    size_t n = 1;

    if (op->num_operands > 1) {
        if (!pdm_cinn_const_ints(op, 1, ints, &n))
            return false;
    } else if (attr && (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64)) {
        ints[0] = attr->u.i;
    } else if (!pdm_cinn_attr_ints(op, "axis", ints, &n)) {
        return false;
    }
    const bool all = n == 0 || pdm_cinn_attr(op, "reduce_all", 0) != 0 || pdm_cinn_attr(op, "asvector", 0) != 0;
    for (uint32_t d = 0; d < PDM_MAX_RANK; d++)
        reduced[d] = all;
    for (size_t i = 0; i < n; i++) {
        if (!mark_axis(ints[i], rank_of(op), reduced))
            return false;
    }
    return true;
}

static bool is_float(const pdm_ir_op *op)
{
    return pdm_dtype_is_float(operand(op)->type->dtype);
}

bool pdm_cinn_fits_reduce(const pdm_ir_op *op)
{
    bool reduced[PDM_MAX_RANK];

    return axes_of(op, reduced) && pdm_ir_op_result(op, 0)->type->dtype == operand(op)->type->dtype;
}

/* Integers are added as what the result is. */
bool pdm_cinn_fits_sum(const pdm_ir_op *op)
{
    const pdm_dtype to = pdm_ir_op_result(op, 0)->type->dtype;
    bool reduced[PDM_MAX_RANK];

    return axes_of(op, reduced) && (to == operand(op)->type->dtype ||
                                    (!is_float(op) && (to == PDM_I32 || to == PDM_I64)));
}

bool pdm_cinn_fits_truth(const pdm_ir_op *op)
{
    bool reduced[PDM_MAX_RANK];

    return axes_of(op, reduced) && pdm_ir_op_result(op, 0)->type->dtype == PDM_BOOL;
}

bool pdm_cinn_fits_p_norm(const pdm_ir_op *op)
{
    const double order = pdm_cinn_attr(op, "porder", 2);

    return (order == 1 || order == 2) && rank_of(op) > 0 && pdm_cinn_fits_reduce(op);
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

    if (!is_float(op))
        return pdm_ir_op_result(op, 0)->type->dtype;
    for (uint32_t d = 0; d < rank_of(op); d++)
        all = all && reduced[d];
    return all && !pdm_loop_is_half(operand(op)->type->dtype) ? PDM_F64 : wide_type(op);
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
    out->dtype = is_float(op) ? wide_type(op) : PDM_I64;
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
    return element(l, op, indices);
}

/* A part at the place of an element of the result. */
static E part_at(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
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
    return pdm_cinn_part_value(l, op, number, at);
}

static E part_here(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    return part_at(l, op, 0, indices);
}

E pdm_cinn_element_reduce(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    return pdm_loop_cast(pdm_cinn_fn(l), pdm_ir_op_result(op, 0)->type->dtype, part_here(l, op, indices));
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

/* ---- products, truth, norms ------------------------------------------------------------------ */

static bool part_as(const pdm_ir_op *op, pdm_cinn_combine combine, pdm_dtype dtype, pdm_cinn_part *out)
{
    out->combine = combine;
    out->dtype = dtype;
    return axes_of(op, out->reduced);
}

bool pdm_cinn_part_product(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                           pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    return part_as(op, PDM_CINN_PRODUCT, is_float(op) ? PDM_F64 : PDM_I64, out);
}

bool pdm_cinn_part_any(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    return part_as(op, PDM_CINN_ANY, PDM_BOOL, out);
}

bool pdm_cinn_part_every(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                         pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    return part_as(op, PDM_CINN_EVERY, PDM_BOOL, out);
}

bool pdm_cinn_part_wide_sum(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                            pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    return part_as(op, PDM_CINN_SUM, PDM_F64, out);
}

E pdm_cinn_term_p_norm(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E x = pdm_loop_cast(fn, PDM_F64, element(l, op, indices));

    (void)number;
    if (!x)
        return NULL;
    return pdm_cinn_attr(op, "porder", 2) == 1 ? U(ABS, x) : B(MUL, x, x);
}

E pdm_cinn_element_p_norm(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E sum = part_here(l, op, indices);

    if (!sum)
        return NULL;
    return pdm_loop_cast(fn, operand(op)->type->dtype,
                         pdm_cinn_attr(op, "porder", 2) == 1 ? sum : U(SQRT, sum));
}

/* 0: the largest; 1: the sum of exponentials of what is below it. */
bool pdm_cinn_part_logsumexp(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                             pdm_cinn_part *out)
{
    (void)l;
    return part_as(op, number == 0 ? PDM_CINN_MAX : PDM_CINN_SUM,
                   number == 0 ? wide_type(op) : PDM_F64, out);
}

E pdm_cinn_term_logsumexp(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E x = element(l, op, indices);
    const E largest = number == 0 ? NULL : pdm_cinn_part_value(l, op, 0, indices);

    if (number == 0)
        return x;
    return x && largest ? U(EXP, B(SUB, pdm_loop_cast(fn, PDM_F64, x),
                                   pdm_loop_cast(fn, PDM_F64, largest)))
                        : NULL;
}

E pdm_cinn_element_logsumexp(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E largest = pdm_loop_cast(fn, PDM_F64, part_at(l, op, 0, indices));
    const E sum = part_at(l, op, 1, indices);

    if (!largest || !sum)
        return NULL;
    return pdm_loop_cast(fn, operand(op)->type->dtype, B(ADD, U(LOG, sum), largest));
}

/* ---- argmax, argmin -------------------------------------------------------------------------- */

static bool arg_axis(const pdm_ir_op *op, bool reduced[PDM_MAX_RANK], uint32_t *axis)
{
    int64_t ints[PDM_CINN_MAX_INTS];
    size_t n;

    for (uint32_t d = 0; d < PDM_MAX_RANK; d++)
        reduced[d] = false;
    if (op->num_operands < 2 || !pdm_cinn_const_ints(op, 1, ints, &n) || n != 1 ||
        !pdm_cinn_axis(ints[0], rank_of(op), axis))
        return false;
    reduced[*axis] = true;
    return true;
}

bool pdm_cinn_fits_arg(const pdm_ir_op *op)
{
    const pdm_dtype to = pdm_ir_op_result(op, 0)->type->dtype;
    bool reduced[PDM_MAX_RANK];
    uint32_t axis;

    return arg_axis(op, reduced, &axis) && pdm_cinn_attr(op, "flatten", 0) == 0 &&
           (to == PDM_I32 || to == PDM_I64);
}

bool pdm_cinn_shape_arg(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    const bool keep = pdm_cinn_attr(op, "keepdims", 0) != 0;
    bool reduced[PDM_MAX_RANK];
    uint32_t axis;

    if (!x || !arg_axis(op, reduced, &axis))
        return false;
    out->rank = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (pdm_loop_is_int(x->dims[d], 0))
            return false;
        if (d != axis || keep)
            out->dims[out->rank++] = d == axis ? pdm_loop_index(pdm_cinn_fn(l), 1) : x->dims[d];
    }
    return true;
}

/* 0: the largest (smallest), which NaN never is; 1: the first place where it stands. */
static bool arg_part(const pdm_ir_op *op, uint32_t number, bool largest, pdm_cinn_part *out)
{
    const pdm_dtype wide = is_float(op) ? wide_type(op) : PDM_I64;
    uint32_t axis;

    out->dtype = number == 0 ? wide : PDM_I64;
    out->combine = number == 1 ? PDM_CINN_MIN : largest ? PDM_CINN_LARGER : PDM_CINN_SMALLER;
    return arg_axis(op, out->reduced, &axis);
}

bool pdm_cinn_part_argmax(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_part *out)
{
    (void)l;
    return arg_part(op, number, true, out);
}

bool pdm_cinn_part_argmin(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_part *out)
{
    (void)l;
    return arg_part(op, number, false, out);
}

E pdm_cinn_term_arg(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    bool reduced[PDM_MAX_RANK];
    uint32_t axis;
    const E x = element(l, op, indices);

    if (number == 0 || !x || !arg_axis(op, reduced, &axis))
        return number == 0 ? x : NULL;
    const E best = pdm_cinn_part_value(l, op, 0, indices);
    return best ? pdm_loop_select(fn, B(EQ, pdm_loop_cast(fn, best->dtype, x), best),
                                  pdm_loop_cast(fn, PDM_I64, indices[axis]),
                                  pdm_loop_int(fn, PDM_I64, INT64_MAX))
                : NULL;
}

E pdm_cinn_element_arg(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const bool keep = pdm_cinn_attr(op, "keepdims", 0) != 0;
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    bool reduced[PDM_MAX_RANK];
    E at[PDM_MAX_RANK];
    uint32_t axis;

    if (!arg_axis(op, reduced, &axis))
        return NULL;
    for (uint32_t d = 0, n = 0; d < rank_of(op); d++) {
        at[d] = d == axis ? pdm_loop_index(fn, 0) : indices[n];
        n += d != axis || keep;
    }
    const E place = pdm_cinn_part_value(l, op, 1, at);
    if (!place)
        return NULL;
    /* Where all is NaN it is the first. */
    const E none = B(EQ, place, pdm_loop_int(fn, PDM_I64, INT64_MAX));
    return pdm_loop_cast(fn, pdm_ir_op_result(op, 0)->type->dtype,
                         pdm_loop_select(fn, none, pdm_loop_int(fn, PDM_I64, 0), place));
}

/* ---- softmax --------------------------------------------------------------------------------- */

bool pdm_cinn_fits_softmax(const pdm_ir_op *op)
{
    bool reduced[PDM_MAX_RANK] = {false};

    return mark_axis((int64_t)pdm_cinn_attr(op, "axis", -1), rank_of(op), reduced);
}

/* 0: the largest; 1: exponentials; 2: their sum. */
bool pdm_cinn_part_softmax(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                           pdm_cinn_part *out)
{
    (void)l;
    out->combine = number == 0 ? PDM_CINN_LARGER : number == 1 ? PDM_CINN_KEEP : PDM_CINN_SUM;
    out->dtype = number < 2 ? wide_type(op) : PDM_F64;
    return number == 1 || mark_axis((int64_t)pdm_cinn_attr(op, "axis", -1), rank_of(op), out->reduced);
}

/* The largest, and the sum of exponentials. */
bool pdm_cinn_part_log_softmax(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                               pdm_cinn_part *out)
{
    (void)l;
    out->combine = number == 0 ? PDM_CINN_LARGER : PDM_CINN_SUM;
    out->dtype = number == 0 ? wide_type(op) : PDM_F64;
    return mark_axis((int64_t)pdm_cinn_attr(op, "axis", -1), rank_of(op), out->reduced);
}

/* Not less than -64, as in the framework. That it is not above 0 is told, since it makes exp cheap. */
static E below_largest(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E x = element(l, op, indices);
    const E largest = pdm_cinn_part_value(l, op, 0, indices);

    return x && largest ? B(MAX, N(x->dtype, -64), B(MIN, N(x->dtype, 0), B(SUB, x, largest)))
                        : NULL;
}

static E exponential(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E below = below_largest(l, op, indices);

    return below ? U(EXP, below) : NULL;
}

E pdm_cinn_term_softmax(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    if (number == 2)
        return pdm_cinn_part_value(l, op, 1, indices);
    return number == 0 ? element(l, op, indices) : exponential(l, op, indices);
}

E pdm_cinn_element_softmax(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E e = pdm_cinn_part_value(l, op, 1, indices);
    const E sum = pdm_cinn_part_value(l, op, 2, indices);

    if (!e || !sum)
        return NULL;
    return pdm_loop_cast(fn, operand(op)->type->dtype,
                         B(MUL, e, pdm_loop_cast(fn, e->dtype, B(DIV, N(PDM_F64, 1), sum))));
}

/* Exponentials are double in its sum, but not what they are of. */
E pdm_cinn_term_log_softmax(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E below = number == 0 ? NULL : below_largest(l, op, indices);

    if (number == 0)
        return element(l, op, indices);
    return below ? U(EXP, pdm_loop_cast(fn, PDM_F64, below)) : NULL;
}

E pdm_cinn_element_log_softmax(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E sum = pdm_cinn_part_value(l, op, 1, indices), below = below_largest(l, op, indices);

    if (!sum || !below)
        return NULL;
    return pdm_loop_cast(fn, operand(op)->type->dtype,
                         B(SUB, below, pdm_loop_cast(fn, below->dtype, U(LOG, sum))));
}

/* ---- cumsum ---------------------------------------------------------------------------------- */

/* The axis along which it goes; all elements as one row are left alone. */
static bool scan_axis(const pdm_ir_op *op, bool scanned[PDM_MAX_RANK])
{
    int64_t ints[PDM_CINN_MAX_INTS];
    uint32_t axis;
    size_t n;

    if (op->num_operands < 2 || !pdm_cinn_const_ints(op, 1, ints, &n) || n != 1 ||
        (pdm_cinn_attr(op, "flatten", 0) != 0 && rank_of(op) != 1) || !pdm_cinn_axis(ints[0], rank_of(op), &axis))
        return false;
    scanned[axis] = true;
    return true;
}

bool pdm_cinn_fits_scan(const pdm_ir_op *op)
{
    bool scanned[PDM_MAX_RANK];

    return scan_axis(op, scanned) && pdm_ir_op_result(op, 0)->type->dtype == operand(op)->type->dtype;
}

bool pdm_cinn_part_scan(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    out->combine = PDM_CINN_SUM;
    out->dtype = is_float(op) ? PDM_F64 : PDM_I64;
    out->exclusive = pdm_cinn_attr(op, "exclusive", 0) != 0;
    out->backwards = pdm_cinn_attr(op, "reverse", 0) != 0;
    return scan_axis(op, out->scanned);
}

E pdm_cinn_element_scan(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    return pdm_loop_cast(pdm_cinn_fn(l), operand(op)->type->dtype, pdm_cinn_part_value(l, op, 0, indices));
}
