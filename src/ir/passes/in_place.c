/*
 * Ops in place become those that make a value of their own, when everybody who would see what they
 * write can read that instead. All other passes leave alone what is written.
 */
#include <string.h>

#include "ir/rewrite.h"

enum { MAX_VALUES = 32 };

static bool any_used(const pdm_ir_op *op, uint32_t first)
{
    for (uint32_t i = first; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return true;
    }
    return false;
}

/* The same op under another name, which takes all uses over; op goes. */
static pdm_status rename_op(pdm_ir_pass_run *run, pdm_ir_op *op, const char *name)
{
    pdm_ir_value *operands[MAX_VALUES];
    pdm_ir_type types[MAX_VALUES];

    if (op->num_operands > MAX_VALUES || op->num_results > MAX_VALUES)
        return PDM_OK;
    for (uint32_t i = 0; i < op->num_operands; i++)
        operands[i] = pdm_ir_op_operand_value(op, i);
    for (uint32_t i = 0; i < op->num_results; i++)
        types[i] = pdm_ir_op_result(op, i)->type;
    const pdm_ir_op_state state = {.info = pdm_ir_op_info_get(run->context, name, NULL),
                                   .operands = operands,
                                   .num_operands = op->num_operands,
                                   .result_types = types,
                                   .num_results = op->num_results,
                                   .attrs = op->attrs,
                                   .num_attrs = op->num_attrs};
    if (!state.info || !pdm_ir_pass_hit(run, "out of place"))
        return PDM_NOMEM;
    pdm_ir_op *made = pdm_ir_op_create(run->context, &state);
    if (!made)
        return PDM_NOMEM;
    made->lg_block = op->lg_block;
    made->lg_op = op->lg_op;
    pdm_ir_op_insert_before(made, op);
    for (uint32_t i = 0; i < op->num_results; i++)
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, i), pdm_ir_op_result(made, i));
    pdm_ir_op_erase(op);
    return PDM_OK;
}

/* Statistics of a test run are as they were. */
static pdm_status batch_norm(pdm_ir_pass_run *run, pdm_ir_op *op)
{
    if ((!pdm_ir_op_flag(op, "is_test") && !pdm_ir_op_flag(op, "use_global_stats")) ||
        pdm_ir_op_flag(op, "trainable_statistics") || op->num_operands < 3 || op->num_results < 3 ||
        any_used(op, 3))
        return PDM_OK;
    for (uint32_t i = 1; i < 3; i++) {
        pdm_ir_value *statistic = pdm_ir_op_operand_value(op, i);
        if (!statistic)
            return PDM_OK;
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, i), statistic);
    }
    return rename_op(run, op, "pd_op.batch_norm");
}

/* The op of a block that an op is in or under. */
static pdm_ir_op *ancestor_in(pdm_ir_op *op, const pdm_ir_block *block)
{
    while (op && op->block != block)
        op = pdm_ir_op_parent(op);
    return op;
}

/* Those who read the operand after the op saw what it wrote. */
static void redirect_later_uses(pdm_ir_op *op, pdm_ir_value *from, pdm_ir_value *to)
{
    for (pdm_ir_use *use = pdm_ir_value_first_use(from), *next; use; use = next) {
        next = use->next;
        pdm_ir_op *reader = ancestor_in(use->owner, op->block);
        if (reader && reader != op && pdm_ir_op_is_before(op, reader))
            pdm_ir_use_set(use, to);
    }
}

/* Whether only operand 0 is written, which a pure op of the same block made: no other block can have it as
 * its own. */
static bool is_local(const pdm_ir_op *op)
{
    const pdm_ir_value *x = op->num_operands > 0 ? pdm_ir_op_operand_value(op, 0) : NULL;
    const pdm_ir_op *maker = x ? pdm_ir_value_op(x) : NULL;

    if (op->num_results != 1 || pdm_ir_op_info_inplace(op->info, 0) != 0)
        return false;
    for (uint32_t i = 1; i < op->num_operands; i++) {
        if (pdm_ir_op_info_inplace(op->info, i) >= 0)
            return false;
    }
    return maker && maker->block == op->block && pdm_ir_is_pure(maker) &&
           pdm_ir_type_is_tensor(x->type);
}

static pdm_status any_op(pdm_ir_pass_run *run, pdm_ir_op *op)
{
    const char *name = pdm_ir_op_name(op);
    const size_t len = strlen(name);
    char plain[64];

    if (len < 2 || len >= sizeof plain || name[len - 1] != '_' || !is_local(op))
        return PDM_OK;
    memcpy(plain, name, len - 1);
    plain[len - 1] = '\0';
    const pdm_ir_op_desc *row = pdm_ir_op_desc_find(plain);
    if (!row || row->flags != PDM_IR_PURE || row->num_operands != op->info->desc->num_operands)
        return PDM_OK;
    redirect_later_uses(op, pdm_ir_op_operand_value(op, 0), pdm_ir_op_result(op, 0));
    return rename_op(run, op, plain);
}

static pdm_status run(pdm_ir_pass_run *run, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first, *next; op; op = next) {
        next = op->next;
        if (PDM_IR_IS(op, pd_op, batch_norm_))
            PDM_TRY(batch_norm(run, op));
        else if (op->info->desc && op->info->desc->flags == PDM_IR_INPLACE)
            PDM_TRY(any_op(run, op));
    }
    return PDM_OK;
}

const pdm_ir_pass pdm_ir_pass_in_place = {
    .name = "in-place",
    .summary = "Give ops that work in place a result of their own, where nobody else sees the "
               "difference; batch normalization with fixed statistics first of all.",
    .block = run,
};
