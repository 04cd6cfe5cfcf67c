/*
 * Variables of loops: one that stays what it was is read from outside, and one that nothing depends on but itself goes with all that
 * computes it. Operand, argument, yielded value and result go together.
 */
#include <stdlib.h>

#include "ir/make.h"
#include "ir/pass.h"

typedef struct loop {
    pdm_ir_pass_run *run;
    pdm_ir_writes *writes;
    pdm_ir_op *op, *yield;
    pdm_ir_block *body;
    uint32_t count;     /* variables */
    bool *gone, *live;  /* for each */
    pdm_map args;       /* arguments of the body: their number from 1 */
    pdm_map needed;     /* ops of the body */
    PDM_VEC(pdm_ir_op *) work;
    bool erased;       /* ops, so that analyses do not hold */
    pdm_status status; /* sticky */
} loop;

static pdm_ir_value *yielded(const loop *l, uint32_t i)
{
    return pdm_ir_op_operand_value(l->yield, i + 1);
}

static bool is_plain(loop *l)
{
    l->body = l->op->num_regions == 1 ? pdm_ir_op_region(l->op, 0)->first : NULL;
    l->yield = l->body && !l->body->next ? l->body->last : NULL;
    l->count = l->op->num_results;
    return l->yield && PDM_IR_IS(l->yield, cf, yield) && l->yield->num_operands == l->count + 1 &&
           l->op->num_operands == l->count + 1 && l->body->num_args == l->count;
}

/* ---- what does not change -------------------------------------------------------------------- */

/* Copies are what they copy. */
static const pdm_ir_value *original(const loop *l, const pdm_ir_value *value)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;

    while (op && op->block == l->body && PDM_IR_IS(op, pd_op, assign)) {
        value = pdm_ir_op_operand_value(op, 0);
        op = value ? pdm_ir_value_op(value) : NULL;
    }
    return value;
}

static bool stays(const loop *l, uint32_t i)
{
    const pdm_ir_value *outer = pdm_ir_op_operand_value(l->op, i + 1);
    pdm_ir_value *arg = pdm_ir_block_arg(l->body, i);

    return outer && original(l, yielded(l, i)) == arg &&
           !pdm_ir_is_written_in_place(l->writes, arg) &&
           pdm_ir_type_covers(outer->type, arg->type) &&
           pdm_ir_type_covers(outer->type, pdm_ir_op_result(l->op, i)->type);
}

static void find_unchanged(loop *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (!stays(l, i))
            continue;
        pdm_ir_value *outer = pdm_ir_op_operand_value(l->op, i + 1);
        pdm_ir_use_set(pdm_ir_op_operand(l->yield, i + 1), NULL);
        pdm_ir_value_replace_all_uses(pdm_ir_block_arg(l->body, i), outer);
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(l->op, i), outer);
        l->gone[i] = true;
        if (!pdm_ir_pass_hit(l->run, "unchanged"))
            l->status = PDM_NOMEM;
    }
}

/* ---- what nobody needs ----------------------------------------------------------------------- */

static void need_op(loop *l, pdm_ir_op *op)
{
    while (op && op->block != l->body)
        op = op->block ? pdm_ir_op_parent(op) : NULL;
    pdm_map_entry *entry = op ? pdm_map_put(&l->needed, op) : NULL;
    if (!op)
        return;
    if (!entry || (entry->value.num == 0 && !PDM_VEC_PUSH(&l->work, op)))
        l->status = PDM_NOMEM;
    else
        entry->value.num = 1;
}

static void need(loop *l, const pdm_ir_value *value)
{
    while (value) {
        const pdm_map_entry *arg = pdm_map_find(&l->args, value);
        need_op(l, pdm_ir_value_op(value));
        if (!arg || l->live[arg->value.num - 1])
            return;
        l->live[arg->value.num - 1] = true;
        value = yielded(l, (uint32_t)arg->value.num - 1);
    }
}

static bool enter_args(loop *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        pdm_map_entry *entry = pdm_map_put(&l->args, pdm_ir_block_arg(l->body, i));
        if (!entry)
            return false;
        entry->value.num = (uint64_t)i + 1;
    }
    return true;
}

static pdm_status need_operands(void *user, pdm_ir_op *op)
{
    loop *l = user;

    for (uint32_t i = 0; i < op->num_operands; i++)
        need(l, pdm_ir_op_operand_value(op, i));
    return l->status;
}

static void find_needed(loop *l)
{
    need(l, pdm_ir_op_operand_value(l->yield, 0));
    for (uint32_t i = 0; i < l->count; i++) {
        if (!l->gone[i] && pdm_ir_value_has_uses(pdm_ir_op_result(l->op, i)))
            need(l, pdm_ir_block_arg(l->body, i));
    }
    for (pdm_ir_op *op = l->body->first; op != l->yield; op = op->next) {
        if (!pdm_ir_is_removable(op))
            need_op(l, op);
    }
    while (l->status == PDM_OK && l->work.n > 0) {
        const pdm_status status =
            pdm_ir_walk(l->work.v[--l->work.n], PDM_IR_PRE_ORDER, need_operands, l);
        l->status = l->status == PDM_OK ? status : l->status;
    }
}

static void remove_unneeded(loop *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->gone[i] || l->live[i])
            continue;
        pdm_ir_use_set(pdm_ir_op_operand(l->yield, i + 1), NULL);
        l->gone[i] = true;
        if (!pdm_ir_pass_hit(l->run, "not needed"))
            l->status = PDM_NOMEM;
    }
    for (pdm_ir_op *op = l->yield->prev, *prev; op; op = prev) {
        prev = op->prev;
        if (pdm_map_find(&l->needed, op))
            continue;
        pdm_ir_op_erase(op);
        l->run->changed = l->erased = true;
    }
}

/* ---- the loop anew --------------------------------------------------------------------------- */

/* Notes of results, such as stop_gradient, are lists with an item for each of them. */
static pdm_ir_attr left_of(const loop *l, pdm_ir_attr attr)
{
    pdm_ir_attr items[64];
    size_t n = 0;

    if (attr->kind != PDM_IR_ATTR_ARRAY || attr->count != l->count || l->count > 64)
        return attr;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!l->gone[i])
            items[n++] = attr->u.items[i];
    }
    return pdm_ir_attr_array(l->run->context, items, n);
}

static pdm_ir_op *make_loop(const loop *l, pdm_ir_value **operands, pdm_ir_type *types, size_t n,
                            pdm_ir_region *region)
{
    pdm_ir_named_attr attrs[PDM_IR_MAX_ROW_ATTRS];
    const pdm_ir_op_state state = {.info = l->op->info,
                                   .operands = operands,
                                   .num_operands = n + 1,
                                   .result_types = types,
                                   .num_results = n,
                                   .attrs = attrs,
                                   .num_attrs = l->op->num_attrs,
                                   .attrs_form = PDM_IR_ATTRS_DICTIONARY,
                                   .regions = &region,
                                   .num_regions = 1};

    if (l->op->num_attrs > PDM_IR_MAX_ROW_ATTRS)
        return NULL;
    for (uint32_t i = 0; i < l->op->num_attrs; i++) {
        attrs[i] = l->op->attrs[i];
        attrs[i].attr = left_of(l, attrs[i].attr);
        if (!attrs[i].attr)
            return NULL;
    }
    return pdm_ir_op_create(l->run->context, &state);
}

static pdm_ir_op *make_yield(const loop *l, pdm_ir_value **operands, size_t n)
{
    const pdm_ir_op_state state = {
        .info = l->yield->info, .operands = operands, .num_operands = n + 1};

    return pdm_ir_op_create(l->run->context, &state);
}

/* Ops move to the new body; arguments and results that are left take the place of the old ones. */
static void move_over(loop *l, pdm_ir_op *made, pdm_ir_op *yield)
{
    pdm_ir_block *body = pdm_ir_op_region(made, 0)->first;
    uint32_t n = 0;

    for (pdm_ir_op *op = l->body->first, *next; op != l->yield; op = next) {
        next = op->next;
        pdm_ir_op_detach(op);
        pdm_ir_block_append(body, op);
    }
    pdm_ir_block_append(body, yield);
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->gone[i])
            continue;
        pdm_ir_value_replace_all_uses(pdm_ir_block_arg(l->body, i), pdm_ir_block_arg(body, n));
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(l->op, i), pdm_ir_op_result(made, n));
        n++;
    }
    made->lg_block = l->op->lg_block;
    made->lg_op = l->op->lg_op;
    pdm_ir_op_insert_before(made, l->op);
    pdm_ir_op_erase(l->op);
    l->op = made;
}

static bool rebuild(loop *l)
{
    const size_t room = (size_t)l->count + 1;
    pdm_ir_value **operands = calloc(room, sizeof *operands), **values = calloc(room, sizeof *values);
    pdm_ir_type *types = calloc(room, sizeof *types);
    pdm_ir_region *region = pdm_ir_region_create_with_block();
    pdm_ir_op *made = NULL, *yield = NULL;
    bool ok = operands && values && types && region;
    size_t n = 0;

    if (ok) {
        operands[0] = pdm_ir_op_operand_value(l->op, 0);
        values[0] = pdm_ir_op_operand_value(l->yield, 0);
    }
    for (uint32_t i = 0; ok && i < l->count; i++) {
        if (l->gone[i])
            continue;
        types[n++] = pdm_ir_op_result(l->op, i)->type;
        operands[n] = pdm_ir_op_operand_value(l->op, i + 1);
        values[n] = yielded(l, i);
        ok = pdm_ir_block_add_arg(region->first, pdm_ir_block_arg(l->body, i)->type) != NULL;
    }
    yield = ok ? make_yield(l, values, n) : NULL;
    made = yield ? make_loop(l, operands, types, n, region) : NULL;
    if (made) {
        move_over(l, made, yield);
    } else {
        if (yield)
            pdm_ir_op_erase(yield);
        if (region)
            pdm_ir_region_destroy(region);
    }
    free(operands);
    free(values);
    free(types);
    return made != NULL;
}

static void clean_up(loop *l)
{
    free(l->gone);
    free(l->live);
    pdm_map_deinit(&l->args);
    pdm_map_deinit(&l->needed);
    PDM_VEC_FREE(&l->work);
}

static pdm_status shrink(pdm_ir_pass_run *run, pdm_ir_op *op, pdm_ir_op **out_loop)
{
    loop l = {.run = run, .op = op, .status = PDM_OK};
    bool any = false;

    *out_loop = op;
    if (!is_plain(&l) || l.count == 0 || op->num_attrs > PDM_IR_MAX_ROW_ATTRS)
        return PDM_OK;
    PDM_TRY(pdm_ir_pass_writes(run, &l.writes));
    l.gone = calloc(l.count, sizeof *l.gone);
    l.live = calloc(l.count, sizeof *l.live);
    if (!l.gone || !l.live || !enter_args(&l))
        l.status = PDM_NOMEM;
    if (l.status == PDM_OK)
        find_unchanged(&l);
    if (l.status == PDM_OK)
        find_needed(&l);
    if (l.status == PDM_OK)
        remove_unneeded(&l);
    for (uint32_t i = 0; l.status == PDM_OK && i < l.count; i++)
        any = any || l.gone[i];
    if (any || l.erased)
        pdm_ir_pass_forget(run);
    if (any)
        l.status = rebuild(&l) ? l.status : PDM_NOMEM;
    *out_loop = l.op;
    clean_up(&l);
    return l.status;
}

static pdm_status run(pdm_ir_pass_run *run, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first; op; op = op->next) {
        if (PDM_IR_IS(op, pd_op, while))
            PDM_TRY(shrink(run, op, &op));
    }
    return PDM_OK;
}

const pdm_ir_pass pdm_ir_pass_carried = {
    .name = "carried",
    .summary = "Remove variables of loops that stay what they were, or that nothing depends on.",
    .block = run,
};
