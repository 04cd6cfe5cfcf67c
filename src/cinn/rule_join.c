/* Ops of lists of tensors: joined, stacked, added, split; and padding, which is of pieces as well. */
#include <string.h>

#include "cinn/formula.h"
#include "cinn/rules.h"

#define N(value)  pdm_loop_index(fn, value)
#define MAX(a, b) B(MAX, a, b)

typedef const pdm_loop_expr *E;

/* All elements of the list are of one type and of one rank. */
static bool is_uniform(const pdm_ir_op *op)
{
    const pdm_ir_type first = pdm_cinn_tensor(op, 0) ? pdm_cinn_tensor(op, 0)->type : NULL;

    for (uint32_t i = 0; i < pdm_cinn_num_tensors(op); i++) {
        const pdm_ir_type type = pdm_cinn_tensor(op, i)->type;
        if (type->dtype != first->dtype || type->rank != first->rank)
            return false;
    }
    return first && first->dtype == pdm_ir_op_result(op, 0)->type->dtype;
}

static const pdm_cinn_shape *shape_of(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t tensor)
{
    return pdm_cinn_shape_of(l, pdm_cinn_tensor(op, tensor));
}

/* ---- concat ---------------------------------------------------------------------------------- */

static bool constant_axis(const pdm_ir_op *op, uint32_t operand, uint32_t rank, uint32_t *out)
{
    int64_t ints[PDM_CINN_MAX_INTS];
    size_t n;

    return pdm_cinn_const_ints(op, operand, ints, &n) && n == 1 && pdm_cinn_axis(ints[0], rank, out);
}

static bool concat_axis(const pdm_ir_op *op, uint32_t *out)
{
    return constant_axis(op, 1, pdm_cinn_tensor(op, 0)->type->rank, out);
}

bool pdm_cinn_fits_concat(const pdm_ir_op *op)
{
    uint32_t axis;

    return is_uniform(op) && concat_axis(op, &axis);
}

bool pdm_cinn_shape_concat(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *first = shape_of(l, op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    uint32_t axis;

    if (!first || !concat_axis(op, &axis))
        return false;
    *out = *first;
    for (uint32_t i = 1; i < pdm_cinn_num_tensors(op); i++) {
        const pdm_cinn_shape *x = shape_of(l, op, i);
        for (uint32_t d = 0; x && d < out->rank; d++) {
            if (d != axis && !pdm_cinn_require_equal(l, x->dims[d], out->dims[d]))
                return false;
        }
        if (!x)
            return false;
        out->dims[axis] = ADD(out->dims[axis], x->dims[axis]);
    }
    return true;
}

bool pdm_cinn_piece_shape_concat(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                                 pdm_cinn_shape *out)
{
    *out = *shape_of(l, op, number);
    return true;
}

E pdm_cinn_piece_concat(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices,
                        E *at)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    uint32_t axis;

    if (!concat_axis(op, &axis))
        return NULL;
    memcpy(at, indices, shape_of(l, op, 0)->rank * sizeof *at);
    for (uint32_t i = 0; i < number; i++)
        at[axis] = ADD(at[axis], shape_of(l, op, i)->dims[axis]);
    return pdm_cinn_element(l, pdm_cinn_tensor(op, number), indices);
}

/* ---- stack ----------------------------------------------------------------------------------- */

static bool stack_axis(const pdm_ir_op *op, uint32_t *out)
{
    return pdm_cinn_axis((int64_t)pdm_cinn_attr(op, "axis", 0), pdm_cinn_tensor(op, 0)->type->rank + 1,
                         out);
}

bool pdm_cinn_fits_stack(const pdm_ir_op *op)
{
    uint32_t axis;

    return is_uniform(op) && pdm_cinn_tensor(op, 0)->type->rank < PDM_MAX_RANK && stack_axis(op, &axis);
}

static bool all_like_first(pdm_cinn_lower *l, const pdm_ir_op *op)
{
    const pdm_cinn_shape *first = shape_of(l, op, 0);

    for (uint32_t i = 1; i < pdm_cinn_num_tensors(op); i++) {
        const pdm_cinn_shape *x = shape_of(l, op, i);
        for (uint32_t d = 0; d < first->rank; d++) {
            if (!x || !pdm_cinn_require_equal(l, x->dims[d], first->dims[d]))
                return false;
        }
    }
    return true;
}

bool pdm_cinn_shape_stack(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *first = shape_of(l, op, 0);
    uint32_t axis;

    if (!first || !stack_axis(op, &axis) || !all_like_first(l, op))
        return false;
    out->rank = first->rank + 1;
    for (uint32_t d = 0; d < out->rank; d++)
        out->dims[d] = d == axis ? pdm_loop_index(pdm_cinn_fn(l), pdm_cinn_num_tensors(op))
                                 : first->dims[d - (d > axis)];
    return true;
}

bool pdm_cinn_piece_shape_stack(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                                pdm_cinn_shape *out)
{
    *out = *shape_of(l, op, number);
    return true;
}

E pdm_cinn_piece_stack(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices,
                       E *at)
{
    uint32_t axis;

    if (!stack_axis(op, &axis))
        return NULL;
    for (uint32_t d = 0; d <= shape_of(l, op, 0)->rank; d++)
        at[d] = d == axis ? pdm_loop_index(pdm_cinn_fn(l), number) : indices[d - (d > axis)];
    return pdm_cinn_element(l, pdm_cinn_tensor(op, number), indices);
}

/* ---- add_n ----------------------------------------------------------------------------------- */

bool pdm_cinn_fits_add_n(const pdm_ir_op *op)
{
    return is_uniform(op);
}

bool pdm_cinn_shape_add_n(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *first = shape_of(l, op, 0);

    if (!first || !all_like_first(l, op))
        return false;
    *out = *first;
    return true;
}

E pdm_cinn_element_add_n(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E sum = pdm_cinn_element(l, pdm_cinn_tensor(op, 0), indices);

    for (uint32_t i = 1; sum && i < pdm_cinn_num_tensors(op); i++) {
        const E x = pdm_cinn_element(l, pdm_cinn_tensor(op, i), indices);
        sum = x ? pdm_loop_cast(fn, x->dtype, ADD(pdm_loop_wide(fn, sum), pdm_loop_wide(fn, x))) : NULL;
    }
    return sum;
}

/* ---- parts of a vector ----------------------------------------------------------------------- */

static const pdm_ir_op *split_of(const pdm_ir_op *op)
{
    return pdm_ir_value_op(pdm_ir_op_operand_value(op, 0));
}

static uint32_t number_of(const pdm_cinn_lower *l, const pdm_ir_op *op)
{
    return PDM_IR_IS(op, builtin, slice) ? (uint32_t)(int64_t)pdm_cinn_attr(op, "index", 0) : pdm_cinn_asked(l);
}

static bool is_unbind(const pdm_ir_op *split)
{
    return PDM_IR_IS(split, pd_op, unbind) || PDM_IR_IS(split, pd_op, unstack);
}

static bool split_axis(const pdm_ir_op *split, uint32_t *out)
{
    const uint32_t rank = pdm_ir_op_operand_value(split, 0)->type->rank;

    if (is_unbind(split))
        return pdm_cinn_axis((int64_t)pdm_cinn_attr(split, "axis", 0), rank, out);
    return constant_axis(split, PDM_IR_IS(split, pd_op, split) ? 2 : 1, rank, out);
}

/* How many parts there are; sizes of those of a split. 0: it cannot be told. */
static size_t parts_of(const pdm_ir_op *split, int64_t sizes[PDM_CINN_MAX_INTS])
{
    const pdm_ir_type vector = pdm_ir_op_result(split, 0)->type;
    size_t n = 0;

    if (PDM_IR_IS(split, pd_op, split))
        return pdm_cinn_const_ints(split, 1, sizes, &n) ? n : 0;
    if (PDM_IR_IS(split, pd_op, split_with_num))
        return (size_t)pdm_cinn_attr(split, "num", 0);
    return vector->kind == PDM_IR_VECTOR ? vector->num_elements : 0;
}

bool pdm_cinn_fits_vector_part(const pdm_ir_op *op)
{
    const pdm_ir_op *split = split_of(op);
    int64_t sizes[PDM_CINN_MAX_INTS];
    uint32_t axis;
    const size_t n = parts_of(split, sizes);
    const double index = pdm_cinn_attr(op, "index", 0);

    return n > 0 && n <= PDM_CINN_MAX_LIST && split_axis(split, &axis) &&
           (PDM_IR_IS(op, builtin, slice) ? index >= 0 && index < (double)n : n == op->num_results);
}

/* Where the part begins on the axis, and how long it is; false: that cannot be. */
static bool place_of(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, E *first, E *count)
{
    const pdm_ir_op *split = split_of(op);
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    int64_t sizes[PDM_CINN_MAX_INTS], total = 0;
    const size_t n = parts_of(split, sizes);
    uint32_t axis;

    if (!x || !split_axis(split, &axis))
        return false;
    const E dim = x->dims[axis];
    if (is_unbind(split)) {
        *first = N(number);
        *count = N(1);
        return pdm_cinn_require_equal(l, dim, N((int64_t)n));
    }
    if (!PDM_IR_IS(split, pd_op, split)) {
        *count = pdm_loop_quotient(fn, dim, N((int64_t)n));
        *first = *count ? MUL(*count, N(number)) : NULL;
        return *count != NULL;
    }
    size_t open = n;
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] < -1 || (sizes[i] == -1 && open < n) ||
            (sizes[i] > 0 && __builtin_add_overflow(total, sizes[i], &total)))
            return false;
        open = sizes[i] == -1 ? i : open;
    }
    /* What is left must be known not to be negative. */
    const E rest = SUB(dim, N(total));
    if (open == n ? !pdm_cinn_require_equal(l, dim, N(total)) : rest != MAX(rest, N(0)))
        return false;
    *first = N(0);
    for (uint32_t i = 0; i < number; i++)
        *first = ADD(*first, i == open ? rest : N(sizes[i]));
    *count = number == open ? rest : N(sizes[number]);
    return true;
}

bool pdm_cinn_shape_vector_part(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const uint32_t number = number_of(l, op);
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    E first, count;
    uint32_t axis;

    if (!split_axis(split_of(op), &axis) || !place_of(l, op, number, &first, &count))
        return false;
    out->rank = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (d != axis || !is_unbind(split_of(op)))
            out->dims[out->rank++] = d == axis ? count : x->dims[d];
    }
    return true;
}

E pdm_cinn_element_vector_part(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const uint32_t number = number_of(l, op), rank = shape_of(l, op, 0)->rank;
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E first, count, at[PDM_MAX_RANK];
    uint32_t axis;

    if (!split_axis(split_of(op), &axis) || !place_of(l, op, number, &first, &count))
        return NULL;
    for (uint32_t d = 0, n = 0; d < rank; d++) {
        if (d == axis && is_unbind(split_of(op)))
            at[d] = first;
        else
            at[d] = d == axis ? ADD(indices[n++], first) : indices[n++];
    }
    return pdm_cinn_element(l, pdm_cinn_tensor(op, 0), at);
}

/* ---- padding --------------------------------------------------------------------------------- */

typedef struct padding {
    int64_t before[PDM_MAX_RANK], behind[PDM_MAX_RANK];
    double value;
    enum { CONSTANT, REFLECT, REPLICATE } mode;
} padding;

static bool mode_of(const pdm_ir_op *op, padding *p)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, "mode");
    const char *mode = attr && attr->kind == PDM_IR_ATTR_STR ? attr->u.s.text : "constant";

    p->mode = !strcmp(mode, "reflect") ? REFLECT : !strcmp(mode, "replicate") ? REPLICATE : CONSTANT;
    return p->mode != CONSTANT || !strcmp(mode, "constant");
}

/* What is cut off (pads below zero) is left alone. */
static bool padding_of(const pdm_ir_op *op, padding *p)
{
    const uint32_t rank = pdm_ir_op_operand_value(op, 0)->type->rank;
    pdm_ir_attr layout = pdm_ir_op_attr(op, "data_format");
    int64_t ints[PDM_CINN_MAX_INTS];
    size_t n;

    memset(p, 0, sizeof *p);
    if (PDM_IR_IS(op, pd_op, pad)) {
        if (!pdm_cinn_attr_ints(op, "paddings", ints, &n) || n != 2 * (size_t)rank ||
            op->num_operands < 2 || !pdm_cinn_constant(pdm_ir_op_operand_value(op, 1), &p->value))
            return false;
        for (uint32_t d = 0; d < rank; d++) {
            p->before[d] = ints[2 * d];
            p->behind[d] = ints[2 * d + 1];
        }
    } else {
        const bool last = layout && layout->kind == PDM_IR_ATTR_STR && !strcmp(layout->u.s.text, "NDHWC");
        if (!mode_of(op, p) || rank != 5 || !pdm_cinn_const_ints(op, 1, ints, &n) || n != 6)
            return false;
        p->value = pdm_cinn_attr(op, "pad_value", 0);
        for (uint32_t i = 0; i < 3; i++) {
            p->before[i + (last ? 1 : 2)] = ints[4 - 2 * i];
            p->behind[i + (last ? 1 : 2)] = ints[5 - 2 * i];
        }
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (p->before[d] < 0 || p->behind[d] < 0 || p->before[d] > INT32_MAX || p->behind[d] > INT32_MAX)
            return false;
    }
    return true;
}

bool pdm_cinn_fits_pad(const pdm_ir_op *op)
{
    padding p;

    return padding_of(op, &p);
}

bool pdm_cinn_shape_pad(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    padding p;

    if (!x || !padding_of(op, &p))
        return false;
    out->rank = x->rank;
    for (uint32_t d = 0; d < x->rank; d++) {
        const E dim = x->dims[d];
        const int64_t most = p.before[d] > p.behind[d] ? p.before[d] : p.behind[d];
        /* Of nothing nothing can be taken, and no more can be reflected than there is. */
        if (p.mode != CONSTANT && (pdm_loop_is_int(dim, 0) ||
                                   (p.mode == REFLECT && most > 0 &&
                                    (dim->kind != PDM_LOOP_CONST || most >= dim->u.i))))
            return false;
        out->dims[d] = ADD(dim, N(p.before[d] + p.behind[d]));
    }
    return true;
}

/* 0: all of the result; 1: the operand, where the other modes are done with the first. */
bool pdm_cinn_piece_shape_pad(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                              pdm_cinn_shape *out)
{
    padding p;

    if (!padding_of(op, &p))
        return false;
    *out = number == 0 ? *pdm_cinn_shape_of(l, pdm_ir_op_result(op, 0)) : *shape_of(l, op, 0);
    if (number == 1 && p.mode != CONSTANT) {
        out->rank = 1;
        out->dims[0] = pdm_loop_index(pdm_cinn_fn(l), 0);
    }
    return true;
}

E pdm_cinn_piece_pad(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices, E *at)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E from[PDM_MAX_RANK];
    padding p;

    if (!padding_of(op, &p))
        return NULL;
    for (uint32_t d = 0; d < x->rank; d++) {
        const E last = SUB(x->dims[d], N(1)), place = SUB(indices[d], N(p.before[d]));
        at[d] = number == 0 ? indices[d] : ADD(indices[d], N(p.before[d]));
        from[d] = number == 0 ? place : indices[d];
        if (p.mode == REFLECT) { /* the distance to the first, or back from the last */
            const E distance = MAX(place, SUB(N(p.before[d]), indices[d]));
            from[d] = B(MIN, distance, SUB(ADD(last, last), distance));
        } else if (p.mode == REPLICATE) {
            from[d] = B(MIN, MAX(place, N(0)), last);
        }
    }
    if (number == 0 && p.mode == CONSTANT)
        return pdm_loop_number(fn, pdm_ir_op_result(op, 0)->type->dtype, p.value);
    return pdm_cinn_element(l, pdm_ir_op_operand_value(op, 0), from);
}
