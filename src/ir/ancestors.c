#include "ir/ancestors.h"

#include "base/vec.h"
#include "ir/op_info.h"

typedef struct search {
    pdm_map *ops;
    pdm_map values;
    PDM_VEC(const pdm_ir_value *) left; /* values that were not looked at yet */
} search;

static pdm_status need_value(search *s, const pdm_ir_value *value)
{
    if (!value || pdm_map_find(&s->values, value))
        return PDM_OK;
    return pdm_map_put(&s->values, value) && PDM_VEC_PUSH(&s->left, value) ? PDM_OK : PDM_NOMEM;
}

static pdm_status need_operands(search *s, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++)
        PDM_TRY(need_value(s, pdm_ir_op_operand_value(op, i)));
    return PDM_OK;
}

/* The op, what its regions yield, and what decides that it runs. */
static pdm_status need_op(search *s, const pdm_ir_op *op)
{
    for (; op && !pdm_map_find(s->ops, op); op = pdm_ir_op_parent(op)) {
        if (!pdm_map_put(s->ops, op))
            return PDM_NOMEM;
        PDM_TRY(need_operands(s, op));
        for (uint32_t i = 0; i < op->num_regions; i++) {
            const pdm_ir_block *block = pdm_ir_op_region(op, i)->first;
            /* A module's region is everything. */
            if (block && block->last && pdm_ir_op_parent(op))
                PDM_TRY(need_operands(s, block->last));
        }
    }
    return PDM_OK;
}

/* Whether a user changes what the value stands for. */
static bool writes(const pdm_ir_use *use)
{
    pdm_ir_type type = use->value->type;

    if (type && (type->kind == PDM_IR_TENSOR_ARRAY || type->kind == PDM_IR_STACK ||
                 type->kind == PDM_IR_INLET || type->kind == PDM_IR_OUTLET))
        return true;
    return pdm_ir_inplace_result(pdm_ir_op_name(use->owner), (int)pdm_ir_use_index(use)) >= 0;
}

static pdm_status look_at(search *s, const pdm_ir_value *value)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);

    PDM_TRY(need_op(s, op ? op : pdm_ir_block_parent_op(pdm_ir_value_arg_block(value))));
    for (const pdm_ir_use *use = pdm_ir_value_first_use(value); use; use = use->next) {
        if (writes(use))
            PDM_TRY(need_op(s, use->owner));
    }
    /* The ends of a stack come from one op, and what goes in at one comes out of the other. */
    for (uint32_t i = 0; op && pdm_ir_op_is(op, "cf.stack_create") && i < op->num_results; i++)
        PDM_TRY(need_value(s, pdm_ir_op_result(op, i)));
    return PDM_OK;
}

pdm_status pdm_ir_ancestors(const pdm_ir_value *value, pdm_map *out_ops)
{
    search s = {.ops = out_ops};
    pdm_status status = need_value(&s, value);

    while (status == PDM_OK && s.left.n > 0)
        status = look_at(&s, s.left.v[--s.left.n]);
    pdm_map_deinit(&s.values);
    PDM_VEC_FREE(&s.left);
    return status;
}
