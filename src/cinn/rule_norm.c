/* Normalization by statistics that are given. */
#include "cinn/rules.h"

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
