/*
 * If with a condition that is known: the ops of the branch that is taken stand in its place. Of one that is not known, ops that both branches
 * have are computed once before it, a value that both give is read from outside, and results that nobody reads go.
 */
#include <stdlib.h>

#include "ir/make.h"
#include "ir/passes/same.h"

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

/* ---- what both branches do ------------------------------------------------------------------- */

enum { MOST_OPS = 512 };

static pdm_ir_block *branch_of(const pdm_ir_op *op, uint32_t i)
{
    return pdm_ir_op_region(op, i)->first;
}

/* A pure op of nothing that its block makes, or somebody writes. */
static bool may_leave(const pdm_ir_writes *writes, const pdm_ir_op *op)
{
    if (!pdm_ir_is_pure(op) || op->num_regions > 0 || op->num_results == 0)
        return false;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (value && (pdm_ir_value_block(value) == op->block || pdm_ir_is_written(writes, value)))
            return false;
    }
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (pdm_ir_is_written(writes, pdm_ir_op_result(op, i)))
            return false;
    }
    return true;
}

static pdm_status take_out(pdm_ir_pass_run *run, pdm_ir_writes *writes, pdm_ir_op *op)
{
    pdm_ir_block *const first = branch_of(op, 0), *const second = branch_of(op, 1);
    size_t count = 0;

    for (const pdm_ir_op *inner = second->first; inner; inner = inner->next)
        count++;
    for (pdm_ir_op *inner = first->first, *next; inner && count <= MOST_OPS; inner = next) {
        next = inner->next;
        if (!may_leave(writes, inner))
            continue;
        pdm_ir_op *twin = second->first;
        while (twin && !(pdm_ir_same_op(inner, twin) && may_leave(writes, twin)))
            twin = twin->next;
        if (!twin)
            continue;
        pdm_ir_op_detach(inner);
        pdm_ir_op_insert_before(inner, op);
        for (uint32_t i = 0; i < inner->num_results; i++)
            pdm_ir_value_replace_all_uses(pdm_ir_op_result(twin, i), pdm_ir_op_result(inner, i));
        pdm_ir_writes_forget(writes, twin);
        pdm_ir_op_erase(twin);
        if (!pdm_ir_pass_hit(run, "both do it"))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

/* Whether both branches give a value from outside. */
static pdm_ir_value *same_value(const pdm_ir_writes *writes, const pdm_ir_op *op, uint32_t i)
{
    pdm_ir_value *value = pdm_ir_op_operand_value(branch_of(op, 0)->last, i);
    const pdm_ir_value *result = pdm_ir_op_result(op, i);

    return value && value == pdm_ir_op_operand_value(branch_of(op, 1)->last, i) && value->type == result->type &&
                   pdm_ir_value_block(value) != branch_of(op, 0) && !pdm_ir_is_written(writes, value) &&
                   !pdm_ir_is_written(writes, result)
               ? value
               : NULL;
}

/* ---- an if with fewer results ---------------------------------------------------------------- */

static pdm_ir_op *yield_of(const pdm_ir_op *op, const pdm_ir_block *block, pdm_ir_context *context)
{
    pdm_ir_value **values = calloc((size_t)op->num_results + 1, sizeof *values);
    pdm_ir_op_state state = {.info = block->last->info, .operands = values};
    pdm_ir_op *made = NULL;

    for (uint32_t i = 0; values && i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            values[state.num_operands++] = pdm_ir_op_operand_value(block->last, i);
    }
    if (values)
        made = pdm_ir_op_create(context, &state);
    free(values);
    return made;
}

/* Notes of results are lists with an item for each. NULL: out of memory. */
static pdm_ir_attr left_of(const pdm_ir_op *op, pdm_ir_attr attr, pdm_ir_context *context)
{
    if (attr->kind != PDM_IR_ATTR_ARRAY || attr->count != op->num_results)
        return attr;
    pdm_ir_attr *items = calloc((size_t)attr->count + 1, sizeof *items), left = NULL;
    size_t n = 0;
    for (uint32_t i = 0; items && i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            items[n++] = attr->u.items[i];
    }
    if (items)
        left = pdm_ir_attr_array(context, items, n);
    free(items);
    return left;
}

static pdm_ir_op *make_if(pdm_ir_op *op, pdm_ir_region **regions, pdm_ir_context *context)
{
    pdm_ir_type *types = calloc((size_t)op->num_results + 1, sizeof *types);
    pdm_ir_named_attr attrs[PDM_IR_MAX_ROW_ATTRS];
    pdm_ir_value *condition = pdm_ir_op_operand_value(op, 0);
    pdm_ir_op_state state = {.info = op->info,
                             .operands = &condition,
                             .num_operands = 1,
                             .result_types = types,
                             .attrs = attrs,
                             .num_attrs = op->num_attrs,
                             .attrs_form = PDM_IR_ATTRS_DICTIONARY,
                             .regions = regions,
                             .num_regions = 2};
    bool ok = types != NULL;

    for (uint32_t i = 0; ok && i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            types[state.num_results++] = pdm_ir_op_result(op, i)->type;
    }
    for (uint32_t i = 0; ok && i < op->num_attrs; i++) {
        attrs[i] = op->attrs[i];
        attrs[i].attr = left_of(op, attrs[i].attr, context);
        ok = attrs[i].attr != NULL;
    }
    pdm_ir_op *made = ok ? pdm_ir_op_create(context, &state) : NULL;
    free(types);
    return made;
}

/* What is known of the results of op that are read is known of those of made, which take their place. */
static bool hand_over(pdm_ir_writes *writes, const pdm_ir_op *op, const pdm_ir_op *made)
{
    for (uint32_t i = 0, n = 0; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)) &&
            !pdm_ir_writes_move(writes, pdm_ir_op_result(op, i), pdm_ir_op_result(made, n++)))
            return false;
    }
    return true;
}

/* Put an op with the results that are read in the place of op; false: out of memory, and nothing was changed. */
static bool shrink(pdm_ir_context *context, pdm_ir_writes *writes, pdm_ir_op **io_op)
{
    pdm_ir_op *op = *io_op, *yields[2] = {NULL}, *made = NULL;
    pdm_ir_region *regions[2] = {pdm_ir_region_create_with_block(), pdm_ir_region_create_with_block()};

    if (regions[0] && regions[1] && (yields[0] = yield_of(op, branch_of(op, 0), context)) &&
        (yields[1] = yield_of(op, branch_of(op, 1), context)))
        made = make_if(op, regions, context);
    if (made && !hand_over(writes, op, made)) {
        pdm_ir_op_erase(made); /* with its regions */
        made = NULL;
        regions[0] = regions[1] = NULL;
    }
    if (!made) {
        for (int i = 0; i < 2; i++) {
            if (yields[i])
                pdm_ir_op_erase(yields[i]);
            if (regions[i])
                pdm_ir_region_destroy(regions[i]);
        }
        return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        pdm_ir_block *from = branch_of(op, i), *to = branch_of(made, i);
        for (pdm_ir_op *inner = from->first, *next; inner != from->last; inner = next) {
            next = inner->next;
            pdm_ir_op_detach(inner);
            pdm_ir_block_append(to, inner);
        }
        pdm_ir_block_append(to, yields[i]);
    }
    for (uint32_t i = 0, n = 0; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, i), pdm_ir_op_result(made, n++));
    }
    made->lg_block = op->lg_block;
    made->lg_op = op->lg_op;
    pdm_ir_op_insert_before(made, op);
    pdm_ir_writes_forget(writes, op);
    pdm_ir_op_erase(op);
    *io_op = made;
    return true;
}

/* An if whose condition is not known. */
static pdm_status simplify(pdm_ir_pass_run *run, pdm_ir_writes *writes, pdm_ir_op **io_op)
{
    pdm_ir_op *op = *io_op;
    uint32_t dead = 0;

    if (op->num_regions != 2 || op->num_operands != 1 || op->num_attrs > PDM_IR_MAX_ROW_ATTRS || !is_plain(op, 0) ||
        !is_plain(op, 1))
        return PDM_OK;
    PDM_TRY(take_out(run, writes, op));
    for (uint32_t i = 0; i < op->num_results; i++) {
        pdm_ir_value *const result = pdm_ir_op_result(op, i), *const value = same_value(writes, op, i);
        if (value && pdm_ir_value_has_uses(result)) {
            pdm_ir_value_replace_all_uses(result, value);
            if (!pdm_ir_pass_hit(run, "the same value"))
                return PDM_NOMEM;
        }
        dead += !pdm_ir_value_has_uses(result);
    }
    /* One without any results is dce's, or is there for what it does. */
    if (dead == 0 || dead == op->num_results)
        return PDM_OK;
    if (!shrink(run->context, writes, io_op))
        return PDM_NOMEM;
    return pdm_ir_pass_hit(run, "not needed") ? PDM_OK : PDM_NOMEM;
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
        if (!value || pdm_ir_is_written(writes, value) || !pdm_ir_const_number(value, &condition)) {
            PDM_TRY(simplify(run, writes, &op));
            continue;
        }
        const uint32_t taken = condition != 0 ? 0 : 1;
        if (is_plain(op, taken))
            PDM_TRY(inline_branch(run, writes, op, taken));
    }
    return PDM_OK;
}

const pdm_ir_pass pdm_ir_pass_branch = {
    .name = "branch",
    .summary = "Put the branch that is taken in the place of an if with a known condition, and compute before other ifs what both "
               "branches do.",
    .block = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
