/* Normalization: by statistics that are given, and by those of rows, planes, and groups of channels. */
#include "cinn/formula.h"
#include "cinn/rules.h"

#define N(dtype, v) pdm_loop_number(fn, dtype, v)

typedef const pdm_loop_expr *E;

static bool is_true(const pdm_ir_op *op, const char *name)
{
    return pdm_cinn_attr(op, name, 0) != 0;
}

static uint32_t channel_axis(const pdm_ir_op *op)
{
    const uint32_t rank = pdm_ir_op_operand_value(op, 0)->type->rank;
    pdm_ir_attr layout = pdm_ir_op_attr(op, "data_format");
    const bool last = layout && layout->kind == PDM_IR_ATTR_STR && layout->u.s.size > 0 &&
                      layout->u.s.text[layout->u.s.size - 1] == 'C';

    return rank > 2 && last ? rank - 1 : 1;
}

bool pdm_cinn_fits_batch_norm(const pdm_ir_op *op)
{
    const pdm_ir_type x = pdm_ir_op_operand_value(op, 0)->type;

    for (uint32_t i = 1; i < 5; i++) {
        const pdm_ir_type other = pdm_ir_op_operand_value(op, i)->type;
        if (other->dtype != x->dtype || other->rank != 1)
            return false;
    }
    return x->rank >= 2 && x->rank <= 5 &&
           ((is_true(op, "is_test") && !is_true(op, "trainable_statistics")) ||
            is_true(op, "use_global_stats"));
}

bool pdm_cinn_shape_batch_norm(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, pdm_ir_op_operand_value(op, 0));
    const pdm_dtype dtype = out->dtype;

    if (!x)
        return false;
    *out = *x;
    out->dtype = dtype;
    for (uint32_t i = 1; i < 5; i++) {
        const pdm_cinn_shape *other = pdm_cinn_shape_of(l, pdm_ir_op_operand_value(op, i));
        if (!other || !pdm_cinn_require_equal(l, other->dims[0], x->dims[channel_axis(op)]))
            return false;
    }
    return true;
}

/* x * factor + offset, step by step as the reference kernel does it. */
const pdm_loop_expr *pdm_cinn_element_batch_norm(pdm_cinn_lower *l, const pdm_ir_op *op,
                                                 const pdm_loop_expr *const *indices)
{
    const pdm_loop_expr *v[5], *channel = indices[channel_axis(op)];
    pdm_loop_fn *fn = pdm_cinn_fn(l);

    for (uint32_t i = 0; i < 5; i++) {
        v[i] = pdm_cinn_element(l, pdm_ir_op_operand_value(op, i), i == 0 ? indices : &channel);
        if (!v[i])
            return NULL;
    }
    const pdm_loop_expr *epsilon =
        pdm_loop_number(fn, v[0]->dtype, pdm_cinn_attr(op, "epsilon", 1e-5));
    const pdm_loop_expr *root =
        pdm_loop_unary(fn, PDM_LOOP_SQRT, pdm_loop_binary(fn, PDM_LOOP_ADD, v[2], epsilon));
    const pdm_loop_expr *turned =
        pdm_loop_binary(fn, PDM_LOOP_DIV, pdm_loop_number(fn, v[0]->dtype, 1), root);
    const pdm_loop_expr *factor = pdm_loop_binary(fn, PDM_LOOP_MUL, turned, v[3]);
    const pdm_loop_expr *shift = pdm_loop_binary(
        fn, PDM_LOOP_MUL, pdm_loop_binary(fn, PDM_LOOP_MUL, v[1], turned), v[3]);
    const pdm_loop_expr *offset = pdm_loop_binary(fn, PDM_LOOP_SUB, v[4], shift);

    return pdm_loop_binary(fn, PDM_LOOP_ADD, pdm_loop_binary(fn, PDM_LOOP_MUL, v[0], factor),
                           offset);
}

/* ---- statistics of a part of the operand ----------------------------------------------------- */

static const pdm_ir_value *operand(const pdm_ir_op *op)
{
    return pdm_ir_op_operand_value(op, 0);
}

static uint32_t rank_of(const pdm_ir_op *op)
{
    return operand(op)->type->rank;
}

static const pdm_ir_value *affine_of(const pdm_ir_op *op, uint32_t number)
{
    return number < op->num_operands ? pdm_ir_op_operand_value(op, number) : NULL;
}

/* Scale and bias (operands 1 and 2): vectors of the same type, or of float32 beside halves; or absent. */
static bool affine_fits(const pdm_ir_op *op)
{
    const pdm_dtype dtype = operand(op)->type->dtype;

    for (uint32_t i = 1; i < 3; i++) {
        const pdm_ir_value *other = i == 2 && PDM_IR_IS(op, pd_op, rms_norm) ? NULL : affine_of(op, i);
        if (other && (other->type->rank != 1 ||
                      (other->type->dtype != dtype && !(pdm_loop_is_half(dtype) && other->type->dtype == PDM_F32))))
            return false;
    }
    return true;
}

static bool is_grouped(const pdm_ir_op *op)
{
    return PDM_IR_IS(op, pd_op, group_norm);
}

/* Instance normalization is over each plane, with a scale and a bias for each channel. */
static bool is_by_plane(const pdm_ir_op *op)
{
    return PDM_IR_IS(op, pd_op, instance_norm);
}

/* What is normalized together: from here on. */
static uint32_t first_axis(const pdm_ir_op *op)
{
    int64_t shape[PDM_CINN_MAX_INTS];
    size_t n;

    if (PDM_IR_IS(op, pd_op, rms_norm))
        return pdm_cinn_attr_ints(op, "normalized_shape", shape, &n) && n <= rank_of(op) ? rank_of(op) - (uint32_t)n
                                                                                       : rank_of(op);
    return is_by_plane(op) ? 2 : (uint32_t)(int64_t)pdm_cinn_attr(op, "begin_norm_axis", 1); /* -1 is beyond all */
}

bool pdm_cinn_fits_layer_norm(const pdm_ir_op *op)
{
    return affine_fits(op) && first_axis(op) >= 1 && first_axis(op) < rank_of(op);
}

bool pdm_cinn_fits_rms_norm(const pdm_ir_op *op)
{
    return affine_fits(op) && first_axis(op) < rank_of(op);
}

bool pdm_cinn_fits_instance_norm(const pdm_ir_op *op)
{
    return affine_fits(op) && rank_of(op) >= 3 && rank_of(op) <= 5;
}

bool pdm_cinn_fits_group_norm(const pdm_ir_op *op)
{
    const double groups = pdm_cinn_attr(op, "groups", -1);

    return affine_fits(op) && groups >= 1 && groups <= INT32_MAX && rank_of(op) >= 2 && rank_of(op) < PDM_MAX_RANK;
}

/* The operand with channels as groups of channels; out_group: the axis of the groups. */
static bool grouped(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out, uint32_t *out_group)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    const uint32_t channels = channel_axis(op);
    const E groups = pdm_loop_index(pdm_cinn_fn(l), (int64_t)pdm_cinn_attr(op, "groups", 1));
    const E width = x ? pdm_cinn_quotient(l, x->dims[channels], groups) : NULL;

    if (!width)
        return false;
    *out_group = channels;
    *out = *x;
    out->rank = x->rank + 1;
    for (uint32_t d = out->rank; d-- > channels + 1;)
        out->dims[d] = x->dims[d - 1];
    out->dims[channels] = groups;
    out->dims[channels + 1] = width;
    return true;
}

/* How many elements are normalized together. */
static E normalized_count(pdm_cinn_lower *l, const pdm_ir_op *op)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E count = pdm_loop_index(fn, 1);
    pdm_cinn_shape groups;
    uint32_t group = 0, first = first_axis(op);

    if (is_grouped(op)) {
        if (!grouped(l, op, &groups, &group))
            return NULL;
        x = &groups;
        first = 1;
    }
    for (uint32_t d = first; d < x->rank; d++) {
        if (!is_grouped(op) || d != group)
            count = MUL(count, x->dims[d]);
    }
    return count;
}

/* How many scales and biases there are. */
static E affine_count(pdm_cinn_lower *l, const pdm_ir_op *op)
{
    return is_by_plane(op) || is_grouped(op) ? pdm_cinn_shape_of(l, operand(op))->dims[channel_axis(op)]
                                             : normalized_count(l, op);
}

/* normalized_shape tells dims once more. */
static bool shape_is_given(pdm_cinn_lower *l, const pdm_ir_op *op)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    int64_t shape[PDM_CINN_MAX_INTS];
    size_t n;

    if (!pdm_cinn_attr_ints(op, "normalized_shape", shape, &n) || n > x->rank)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!pdm_cinn_require_equal(l, x->dims[x->rank - n + i], pdm_loop_index(pdm_cinn_fn(l), shape[i])))
            return false;
    }
    return true;
}

bool pdm_cinn_shape_normalized(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));

    if (!x || !shape_is_given(l, op))
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (pdm_loop_is_int(x->dims[d], 0))
            return false;
    }
    if (!normalized_count(l, op))
        return false;
    for (uint32_t i = 1; i < pdm_cinn_num_tensors(op); i++) {
        const pdm_cinn_shape *other = pdm_cinn_shape_of(l, pdm_cinn_tensor(op, i));
        if (!other || !pdm_cinn_require_equal(l, other->dims[0], affine_count(l, op)))
            return false;
    }
    *out = *x;
    return true;
}

/* Of one kind of moments for all rules: 0: the sum; 1: the sum of squared distances to the mean. */
bool pdm_cinn_part_moments(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_part *out)
{
    (void)l;
    (void)number;
    out->combine = PDM_CINN_SUM;
    out->dtype = PDM_F64;
    for (uint32_t d = first_axis(op); d < rank_of(op); d++)
        out->reduced[d] = true;
    return true;
}

bool pdm_cinn_part_group(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_part *out)
{
    uint32_t group;

    (void)number;
    out->combine = PDM_CINN_SUM;
    out->dtype = PDM_F64;
    if (!grouped(l, op, &out->of, &group))
        return false;
    for (uint32_t d = 1; d < out->of.rank; d++)
        out->reduced[d] = d != group;
    return true;
}

/* A part divided by the number of elements. */
static E average(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E sum = pdm_cinn_part_value(l, op, number, indices);

    return sum ? DIV(sum, pdm_loop_cast(fn, PDM_F64, normalized_count(l, op))) : NULL;
}

static E wide_element(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    return pdm_loop_cast(pdm_cinn_fn(l), PDM_F64, pdm_cinn_element(l, operand(op), indices));
}

/* at: where parts are. */
static E distance(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices, const E *at)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E x = wide_element(l, op, indices), mean = average(l, op, 0, at);

    return x && mean ? SUB(x, mean) : NULL;
}

static E moment(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices, const E *at)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);

    if (number == 0)
        return wide_element(l, op, indices);
    const E d = distance(l, op, indices, at);
    return d ? MUL(d, d) : NULL;
}

E pdm_cinn_term_moments(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    return moment(l, op, number, indices, indices);
}

E pdm_cinn_term_squares(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E x = wide_element(l, op, indices);

    (void)number;
    return x ? MUL(x, x) : NULL;
}

E pdm_cinn_term_group(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *at)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E indices[PDM_MAX_RANK];
    pdm_cinn_shape groups;
    uint32_t group;

    if (!grouped(l, op, &groups, &group))
        return NULL;
    for (uint32_t d = 0; d < rank_of(op); d++)
        indices[d] = at[d < group ? d : d + 1];
    indices[group] = ADD(MUL(at[group], groups.dims[group + 1]), at[group + 1]);
    return moment(l, op, number, indices, at);
}

/* 1 / the root of a mean of squares. */
static E inverse_root(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *at)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E variance = average(l, op, number, at), epsilon = N(PDM_F64, pdm_cinn_attr(op, "epsilon", 1e-5));

    return variance ? DIV(N(PDM_F64, 1), U(SQRT, ADD(variance, epsilon))) : NULL;
}

/* Scale (1) or bias (2) of a place; what it is where there is none. */
static E affine(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_dtype dtype, E at)
{
    const pdm_ir_value *v = affine_of(op, number);
    pdm_loop_fn *fn = pdm_cinn_fn(l);

    return v ? pdm_loop_cast(fn, dtype, pdm_cinn_element(l, v, &at)) : N(dtype, number == 1 ? 1 : 0);
}

/* The place in what is normalized together. */
static E place_in_row(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E at = pdm_loop_index(fn, 0);

    for (uint32_t d = first_axis(op); d < x->rank; d++)
        at = ADD(MUL(at, x->dims[d]), indices[d]);
    return at;
}

E pdm_cinn_element_layer_norm(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_dtype dtype = operand(op)->type->dtype, wide = pdm_loop_is_half(dtype) ? PDM_F32 : dtype;
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E at = place_in_row(l, op, indices);
    const E d = distance(l, op, indices, indices), inverse = inverse_root(l, op, 1, indices);
    const E scale = affine(l, op, 1, wide, at), bias = affine(l, op, 2, wide, at);

    if (!d || !inverse || !scale || !bias)
        return NULL;
    const E normal = pdm_loop_cast(fn, wide, MUL(d, inverse));
    return pdm_loop_cast(fn, dtype, ADD(affine_of(op, 1) ? MUL(normal, scale) : normal, bias));
}

E pdm_cinn_element_rms_norm(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E x = wide_element(l, op, indices), inverse = inverse_root(l, op, 0, indices);
    const E scale = affine(l, op, 1, PDM_F64, place_in_row(l, op, indices));

    return x && inverse && scale ? pdm_loop_cast(fn, operand(op)->type->dtype, MUL(MUL(x, inverse), scale)) : NULL;
}

/* With a scale and a bias of each channel. */
static E by_channel(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices, const E *at)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E d = distance(l, op, indices, at), inverse = inverse_root(l, op, 1, at);
    const E channel = indices[channel_axis(op)];
    const E scale = affine(l, op, 1, PDM_F64, channel), bias = affine(l, op, 2, PDM_F64, channel);

    if (!d || !inverse || !scale || !bias)
        return NULL;
    return pdm_loop_cast(fn, operand(op)->type->dtype, ADD(MUL(MUL(d, inverse), scale), bias));
}

E pdm_cinn_element_instance_norm(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    return by_channel(l, op, indices, indices);
}

E pdm_cinn_element_group_norm(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    pdm_cinn_shape groups;
    E at[PDM_MAX_RANK];
    uint32_t group;

    if (!grouped(l, op, &groups, &group))
        return NULL;
    for (uint32_t d = 0; d < groups.rank; d++)
        at[d] = d == group ? DIV(indices[d], groups.dims[d + 1]) : indices[d > group ? d - 1 : d];
    return by_channel(l, op, indices, at);
}
