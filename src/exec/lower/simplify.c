/*
 * What an inference program need not do, and in-place ops that need not be: their result is a value
 * of its own when everybody who would see the write reads that instead.
 */
#include <string.h>

#include "exec/lower/lower_impl.h"

static bool is_true(const pdm_ir_op *op, const char *name)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return attr && attr->kind == PDM_IR_ATTR_BOOL && attr->u.b;
}

static bool is_used(const pdm_ir_op *op, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end && i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return true;
    }
    return false;
}

/* The same op under another name; NULL after a failure. Results take over all uses. */
static pdm_ir_op *rename_op(pdm_lower *l, pdm_ir_op *op, const char *name)
{
    pdm_ir_value *operands[PDM_LOWER_MAX_OPERANDS];
    pdm_ir_type types[PDM_LOWER_MAX_OPERANDS];

    if (op->num_operands > PDM_LOWER_MAX_OPERANDS || op->num_results > PDM_LOWER_MAX_OPERANDS)
        return NULL;
    for (uint32_t i = 0; i < op->num_operands; i++)
        operands[i] = pdm_ir_op_operand_value(op, i);
    for (uint32_t i = 0; i < op->num_results; i++)
        types[i] = pdm_ir_op_result(op, i)->type;
    const pdm_ir_op_state state = {.info = pdm_ir_op_info_get(l->context, name, NULL),
                                   .operands = operands,
                                   .num_operands = op->num_operands,
                                   .result_types = types,
                                   .num_results = op->num_results,
                                   .attrs = op->attrs,
                                   .num_attrs = op->num_attrs};
    pdm_ir_op *made = state.info ? pdm_ir_op_create(l->context, &state) : NULL;
    if (!made) {
        l->status = PDM_NOMEM;
        return NULL;
    }
    made->lg_block = op->lg_block;
    made->lg_op = op->lg_op;
    pdm_ir_op_insert_before(made, op);
    for (uint32_t i = 0; i < op->num_results; i++)
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, i), pdm_ir_op_result(made, i));
    pdm_lower_kill(l, op);
    return made;
}

/* Statistics of a test run are as they were. */
static void batch_norm(pdm_lower *l, pdm_ir_op *op)
{
    if ((!is_true(op, "is_test") && !is_true(op, "use_global_stats")) ||
        is_true(op, "trainable_statistics") || is_used(op, 3, op->num_results))
        return;
    for (uint32_t i = 1; i < 3; i++) {
        pdm_ir_value *statistic = pdm_ir_op_operand_value(op, i);
        if (!statistic)
            return;
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, i), statistic);
    }
    if (pdm_ir_op_is(op, "pd_op.batch_norm_"))
        rename_op(l, op, "pd_op.batch_norm");
}

static void dropout(pdm_lower *l, pdm_ir_op *op)
{
    pdm_ir_value *x = pdm_ir_op_operand_value(op, 0), *out = pdm_ir_op_result(op, 0);
    double rate;

    if (!is_true(op, "is_test") || is_used(op, 1, op->num_results) || !x || x->type != out->type ||
        pdm_lower_is_pinned(l, x))
        return;
    if (!strcmp(pdm_lower_text(op, "mode"), "upscale_in_train")) {
        pdm_ir_value_replace_all_uses(out, x);
        pdm_lower_kill(l, op);
        return;
    }
    if (!pdm_lower_number(pdm_ir_op_operand_value(op, 2), &rate) || !pdm_lower_is_f32(x))
        return;
    pdm_ir_value *full = pdm_lower_full(l, op, PDM_F32, 1 - rate);
    if (!full)
        return;
    const pdm_lower_attr attrs[] = {{"bias", pdm_ir_attr_f32(l->context, 0)},
                                    {"bias_after_scale", pdm_ir_attr_bool(l->context, true)},
                                    {0}};
    pdm_ir_op *scale = pdm_lower_make(l, op, op, "pd_op.scale",
                                      (pdm_ir_value *[]){x, full}, 2,
                                      out->type, attrs);
    if (!scale)
        return;
    pdm_ir_value_replace_all_uses(out, pdm_ir_op_result(scale, 0));
    pdm_lower_kill(l, op);
}

/* ---- in place -------------------------------------------------------------------------------- */

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

/* One operand written, which an op of the same block made: no other block can have it as its own. */
static void in_place(pdm_lower *l, pdm_ir_op *op)
{
    const char *name = pdm_ir_op_name(op);
    const size_t len = strlen(name);
    char plain[64];

    if (len < 2 || len >= sizeof plain || name[len - 1] != '_' || op->num_results != 1 ||
        pdm_ir_inplace_result(name, 0) != 0)
        return;
    for (uint32_t i = 1; i < op->num_operands; i++) {
        if (pdm_ir_inplace_result(name, (int)i) >= 0)
            return;
    }
    pdm_ir_value *x = pdm_ir_op_operand_value(op, 0);
    const pdm_ir_op *maker = x ? pdm_ir_value_op(x) : NULL;
    memcpy(plain, name, len - 1);
    plain[len - 1] = '\0';
    const pdm_ir_op_desc *row = pdm_ir_op_desc_find(plain);
    if (!maker || maker->block != op->block || !maker->info->desc ||
        !(maker->info->desc->flags & PDM_IR_PURE) || pdm_ir_op_is(maker, "builtin.parameter") ||
        pdm_ir_op_is(maker, "pd_op.data") || pdm_ir_op_is(maker, "pd_op.feed") || !row ||
        row->num_operands != op->info->desc->num_operands || x->type == NULL ||
        x->type->kind != PDM_IR_DENSE_TENSOR)
        return;
    redirect_later_uses(op, x, pdm_ir_op_result(op, 0));
    rename_op(l, op, plain);
}

void pdm_lower_simplify(pdm_lower *l, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first, *next; op && l->status == PDM_OK; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->num_regions; i++) {
            for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
                pdm_lower_simplify(l, b);
        }
        if (pdm_ir_op_is(op, "pd_op.batch_norm_") || pdm_ir_op_is(op, "pd_op.batch_norm"))
            batch_norm(l, op);
        else if (pdm_ir_op_is(op, "pd_op.dropout"))
            dropout(l, op);
        else if (op->info->desc && (op->info->desc->flags & PDM_IR_INPLACE))
            in_place(l, op);
    }
}
