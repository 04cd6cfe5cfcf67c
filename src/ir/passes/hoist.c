/*
 * What does not change in a loop is computed once before it. A loop may make no turn, so only ops
 * move that cannot fail once their types fit: nothing is lost then but time.
 */
#include "ir/pass.h"

static bool cannot_fail(const pdm_ir_op *op)
{
    switch (op->info->code) {
    case PDM_IR_OP_pd_op_full:
    case PDM_IR_OP_pd_op_full_int_array:
    case PDM_IR_OP_pd_op_add:
    case PDM_IR_OP_pd_op_subtract:
    case PDM_IR_OP_pd_op_multiply:
    case PDM_IR_OP_pd_op_scale:
    case PDM_IR_OP_pd_op_cast:
    case PDM_IR_OP_pd_op_matmul:
    case PDM_IR_OP_pd_op_conv2d:
    case PDM_IR_OP_pd_op_depthwise_conv2d:
    case PDM_IR_OP_pd_op_transpose:
    case PDM_IR_OP_pd_op_shape:
    case PDM_IR_OP_pd_op_shape64:
    case PDM_IR_OP_pd_op_relu:
    case PDM_IR_OP_pd_op_sigmoid:
    case PDM_IR_OP_pd_op_tanh:
        return true;
    default:
        return false;
    }
}

/* Where a value may be read: outside of a block. */
static bool is_outside(const pdm_ir_value *value, const pdm_ir_block *body)
{
    return pdm_ir_value_block(value) != body;
}

static bool is_movable(const pdm_ir_op *op, const pdm_ir_block *body, const pdm_ir_writes *writes)
{
    if (!pdm_ir_is_pure(op) || !cannot_fail(op))
        return false;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (value && (!is_outside(value, body) || pdm_ir_is_written_in_place(writes, value)))
            return false;
    }
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (pdm_ir_is_written(writes, pdm_ir_op_result(op, i)))
            return false;
    }
    return true;
}

/* Blocks come from the inside to the outside, so that what leaves a loop may leave the next, too. */
static pdm_status run(pdm_ir_pass_run *run, pdm_ir_block *block)
{
    pdm_ir_op *loop = pdm_ir_block_parent_op(block);
    pdm_ir_writes *writes;

    if (!loop || !PDM_IR_IS(loop, pd_op, while))
        return PDM_OK;
    PDM_TRY(pdm_ir_pass_writes(run, &writes));
    for (pdm_ir_op *op = block->first, *next; op; op = next) {
        next = op->next;
        if (!is_movable(op, block, writes))
            continue;
        pdm_ir_op_detach(op);
        pdm_ir_op_insert_before(op, loop);
        if (!pdm_ir_pass_hit(run, pdm_ir_op_name(op)))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

const pdm_ir_pass pdm_ir_pass_hoist = {
    .name = "hoist",
    .summary = "Compute before a loop what does not change in it and cannot fail.",
    .block = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
