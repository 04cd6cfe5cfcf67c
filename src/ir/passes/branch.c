/* If with a condition that is known: the ops of the branch that is taken stand in its place. */
#include "ir/pass.h"

static pdm_status inline_branch(pdm_ir_pass_run *run, pdm_ir_writes *writes, pdm_ir_op *op,
                                uint32_t taken)
{
    pdm_ir_block *block = pdm_ir_op_region(op, taken)->first;
    pdm_ir_op *yield = block->last;

    for (pdm_ir_op *inner = block->first, *next; inner != yield; inner = next) {
        next = inner->next;
        pdm_ir_op_detach(inner);
        pdm_ir_op_insert_before(inner, op);
    }
    for (uint32_t i = 0; i < op->num_results; i++)
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, i), pdm_ir_op_operand_value(yield, i));
    pdm_ir_writes_forget(writes, op);
    pdm_ir_op_erase(op);
    return pdm_ir_pass_hit(run, "if") ? PDM_OK : PDM_NOMEM;
}

/* Whether the branch is one block that ends with a yield of values as the results want them. */
static bool is_plain(const pdm_ir_op *op, uint32_t taken)
{
    const pdm_ir_block *block = taken < op->num_regions ? pdm_ir_op_region(op, taken)->first : NULL;
    const pdm_ir_op *yield = block && !block->next ? block->last : NULL;

    if (!yield || !PDM_IR_IS(yield, cf, yield) || block->num_args > 0 ||
        yield->num_operands != op->num_results)
        return false;
    for (uint32_t i = 0; i < op->num_results; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(yield, i);
        if (!value || value->type != pdm_ir_op_result(op, i)->type)
            return false;
    }
    return true;
}

static pdm_status run(pdm_ir_pass_run *run, pdm_ir_block *block)
{
    pdm_ir_writes *writes;
    double condition;

    for (pdm_ir_op *op = block->first, *next; op; op = next) {
        next = op->next;
        if (!PDM_IR_IS(op, pd_op, if))
            continue;
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, 0);
        PDM_TRY(pdm_ir_pass_writes(run, &writes));
        if (!value || pdm_ir_is_written(writes, value) || !pdm_ir_const_number(value, &condition))
            continue;
        const uint32_t taken = condition != 0 ? 0 : 1;
        if (is_plain(op, taken))
            PDM_TRY(inline_branch(run, writes, op, taken));
    }
    return PDM_OK;
}

const pdm_ir_pass pdm_ir_pass_branch = {
    .name = "branch",
    .summary = "Put the branch that is taken in the place of an if with a known condition.",
    .block = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
