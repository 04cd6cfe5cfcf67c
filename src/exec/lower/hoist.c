/*
 * Products and convolutions with weights whose other operand does not change in a loop are done
 * once, before the loop. Nothing else is moved: these are what costs, and with operands whose types
 * were checked they cannot fail, so nothing is lost where the loop makes no turn but time.
 */
#include "exec/lower/lower_impl.h"

/* Defined outside of a block and of all in it, and never written in place. */
static bool is_from_outside(const pdm_lower *l, const pdm_ir_value *value, const pdm_ir_block *body)
{
    return value && pdm_ir_value_block(value) != body && !pdm_lower_is_pinned(l, value);
}

static bool is_movable(pdm_lower *l, const pdm_ir_op *op, const pdm_ir_block *body)
{
    if (!pdm_ir_op_is(op, "pd_op.matmul") && !pdm_ir_op_is(op, "pd_op.conv2d") &&
        !pdm_ir_op_is(op, "pd_op.depthwise_conv2d"))
        return false;
    const pdm_ir_value *x = pdm_ir_op_operand_value(op, 0), *w = pdm_ir_op_operand_value(op, 1);

    return op->num_operands == 2 && is_from_outside(l, x, body) && is_from_outside(l, w, body) &&
           pdm_lower_is_f32(x) && x->type->rank >= 2 && pdm_lower_is_constant(l, w) &&
           pdm_lower_count(w) > 0;
}

static void hoist_from(pdm_lower *l, pdm_ir_op *loop, pdm_ir_block *body)
{
    for (pdm_ir_op *op = body->first, *next; op; op = next) {
        next = op->next;
        if (is_movable(l, op, body)) {
            pdm_ir_op_detach(op);
            pdm_ir_op_insert_before(op, loop);
        }
    }
}

/* Inner loops first, so that what leaves them may leave the outer ones too. */
void pdm_lower_hoist(pdm_lower *l, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first; op && l->status == PDM_OK; op = op->next) {
        for (uint32_t i = 0; i < op->num_regions; i++) {
            for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next) {
                pdm_lower_hoist(l, b);
                if (pdm_ir_op_is(op, "pd_op.while"))
                    hoist_from(l, op, b);
            }
        }
    }
}
