/* Ops of the `legacy` dialect: what PIR cannot express keeps its slots and attributes. */
#include <stdio.h>
#include <string.h>

#include "translator/legacy_op.h"

static pdm_ir_attr natural_attr(pdm_tr_op *t, const pdm_lg_attr *a)
{
    pdm_ir_context *c = t->tr->context;
    switch (a->type) {
    case PDM_LG_INT:
        return pdm_ir_attr_i32(c, a->u.i);
    case PDM_LG_FLOAT:
        return pdm_ir_attr_f32(c, a->u.f);
    case PDM_LG_STRING:
    case PDM_LG_VAR:
        return pdm_ir_attr_str(c, a->u.s);
    case PDM_LG_BOOLEAN:
        return pdm_ir_attr_bool(c, a->u.b);
    case PDM_LG_LONG:
        return pdm_ir_attr_i64(c, a->u.l);
    case PDM_LG_FLOAT64:
        return pdm_ir_attr_f64(c, a->u.d);
    case PDM_LG_BLOCK:
        return pdm_ir_attr_i32(c, a->u.block);
    case PDM_LG_INTS:
    case PDM_LG_BLOCKS:
        return pdm_ir_attr_i32s(c, a->u.ints, a->count);
    case PDM_LG_FLOATS:
        return pdm_ir_attr_f32s(c, a->u.floats, a->count);
    case PDM_LG_STRINGS:
    case PDM_LG_VARS:
        return pdm_ir_attr_strs(c, a->u.strings, a->count);
    case PDM_LG_BOOLEANS:
        return pdm_ir_attr_bools(c, a->u.bools, a->count);
    case PDM_LG_LONGS:
        return pdm_ir_attr_i64s(c, a->u.longs, a->count);
    case PDM_LG_FLOAT64S:
        return pdm_ir_attr_f64s(c, a->u.doubles, a->count);
    case PDM_LG_SCALAR:
    case PDM_LG_SCALARS:
        return pdm_ir_attr_null(c);
    }
    return NULL;
}

/* Slot names and their sizes as two array attributes. */
static bool slot_attrs(pdm_tr_op *t, const pdm_lg_slot *slots, size_t n, const char *names_key,
                       const char *sizes_key, pdm_ir_named_attr *out)
{
    pdm_arena *scratch = &t->tr->scratch;
    const char **names = pdm_arena_calloc(scratch, n + 1, sizeof *names);
    int32_t *sizes = pdm_arena_calloc(scratch, n + 1, sizeof *sizes);
    if (!names || !sizes)
        return false;
    for (size_t i = 0; i < n; i++) {
        names[i] = slots[i].name;
        sizes[i] = (int32_t)slots[i].num_args;
    }
    out[0] = (pdm_ir_named_attr){names_key, pdm_ir_attr_strs(t->tr->context, names, n), 0};
    out[1] = (pdm_ir_named_attr){sizes_key, pdm_ir_attr_i32s(t->tr->context, sizes, n), 0};
    return out[0].attr && out[1].attr;
}

static size_t total_args(const pdm_lg_slot *slots, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += slots[i].num_args;
    return total;
}

static bool gather(pdm_tr_op *t, pdm_ir_op_state *state)
{
    const pdm_lg_op *op = t->op;
    pdm_arena *scratch = &t->tr->scratch;
    size_t num_operands = total_args(op->inputs, op->num_inputs),
           num_results = total_args(op->outputs, op->num_outputs), k = 0;
    pdm_ir_value **operands = pdm_arena_calloc(scratch, num_operands + 1, sizeof *operands);
    pdm_ir_type *types = pdm_arena_calloc(scratch, num_results + 1, sizeof *types);
    pdm_ir_named_attr *attrs = pdm_arena_calloc(scratch, op->num_attrs + 4, sizeof *attrs);
    if (!operands || !types || !attrs)
        return false;
    for (size_t i = 0; i < op->num_inputs; i++)
        for (size_t n = 0; n < op->inputs[i].num_args; n++)
            operands[k++] = pdm_tr_is_empty_name(op->inputs[i].args[n])
                                ? NULL
                                : pdm_tr_value(t->tr, op->inputs[i].args[n]);
    k = 0;
    for (size_t i = 0; i < op->num_outputs; i++)
        for (size_t n = 0; n < op->outputs[i].num_args; n++)
            types[k++] = pdm_tr_declared_type(t->tr, pdm_tr_var(t->tr, op->outputs[i].args[n]));
    size_t num_attrs = 0;
    for (size_t i = 0; i < op->num_attrs; i++) {
        attrs[num_attrs] =
            (pdm_ir_named_attr){op->attrs[i].name, natural_attr(t, &op->attrs[i]), 0};
        if (!attrs[num_attrs++].attr)
            return false;
    }
    if (!slot_attrs(t, op->inputs, op->num_inputs, "operand_slots", "operand_counts",
                    attrs + num_attrs) ||
        !slot_attrs(t, op->outputs, op->num_outputs, "result_slots", "result_counts",
                    attrs + num_attrs + 2))
        return false;
    *state = (pdm_ir_op_state){.operands = operands,
                               .num_operands = num_operands,
                               .result_types = types,
                               .num_results = num_results,
                               .attrs = attrs,
                               .num_attrs = num_attrs + 4};
    return true;
}

void pdm_tr_emit_legacy(pdm_tr_op *t)
{
    pdm_tr *tr = t->tr;
    pdm_ir_op_state state;
    size_t len = strlen(t->op->type);
    char *name = pdm_arena_alloc(&tr->scratch, len + 8);
    if (tr->status != PDM_OK)
        return;
    if (!name || !gather(t, &state)) {
        pdm_tr_nomem(tr);
        return;
    }
    snprintf(name, len + 8, "legacy.%s", t->op->type);
    state.info = pdm_ir_op_info_get(tr->context, name, NULL);
    pdm_ir_op *op = state.info ? pdm_ir_op_create(tr->context, &state) : NULL;
    if (!op) {
        pdm_tr_nomem(tr);
        return;
    }
    op->lg_block = t->block;
    op->lg_op = t->index;
    pdm_ir_block_append(tr->scope->block, op);
    size_t k = 0;
    for (size_t i = 0; i < t->op->num_outputs; i++)
        for (size_t n = 0; n < t->op->outputs[i].num_args; n++, k++)
            if (state.result_types[k] && !pdm_tr_is_empty_name(t->op->outputs[i].args[n])) {
                pdm_tr_bind(tr, t->op->outputs[i].args[n], pdm_ir_op_result(op, k));
                pdm_tr_link_value(t, t->op->outputs[i].args[n], pdm_ir_op_result(op, k), -1);
            }
}
