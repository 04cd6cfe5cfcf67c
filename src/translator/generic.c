/* The general translation: one legacy op becomes one PIR op as its row of op_map.def says. */
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "ir/literal.h"
#include "translator/flow.h"
#include "translator/map.h"

#define MAX_RESULTS 16

/* ---- operands -------------------------------------------------------------------------------- */

static pdm_ir_value *variable(pdm_tr_op *t, const char *attr, const char *name)
{
    pdm_ir_value *value = pdm_tr_value(t->tr, name);
    if (!value && t->tr->status == PDM_OK)
        pdm_tr_error(t, PDM_D_LG_UNDEFINED, name, NULL,
                     "attribute '%s' of '%s' names '%s', which has no value", attr, t->op->type,
                     name);
    return value;
}

static pdm_ir_value *combine_variables(pdm_tr_op *t, const pdm_lg_attr *a, const char *const *names,
                                       size_t n)
{
    pdm_ir_value **values = pdm_arena_calloc(&t->tr->scratch, n ? n : 1, sizeof *values);
    if (!values) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        values[i] = variable(t, a->name, names[i]);
    return pdm_tr_combine(t, values, n);
}

/* A scalar attribute as pd_op.full: the element type follows how the attribute is stored. */
static pdm_ir_value *scalar_constant(pdm_tr_op *t, const pdm_lg_attr *a)
{
    switch (a->type) {
    case PDM_LG_INT:
        return pdm_tr_const_i(t, PDM_I32, a->u.i);
    case PDM_LG_LONG:
        return pdm_tr_const_i(t, PDM_I64, a->u.l);
    case PDM_LG_FLOAT:
        return pdm_tr_const_f(t, PDM_F32, (double)a->u.f);
    case PDM_LG_FLOAT64:
        return pdm_tr_const_f(t, PDM_F64, a->u.d);
    case PDM_LG_BOOLEAN:
        return pdm_tr_const_f(t, PDM_BOOL, a->u.b);
    case PDM_LG_SCALAR:
        return pdm_tr_const_f(t, PDM_F64, pdm_tr_float(t, a->name));
    case PDM_LG_STRING: { /* tolerances of allclose and isclose are kept as text */
        const char *end;
        double value = pdm_decimal_read(a->u.s, &end);
        if (end != a->u.s && *end == '\0')
            return pdm_tr_const_f(t, PDM_F64, value);
        break;
    }
    default:
        break;
    }
    pdm_tr_error(t, PDM_D_LG_ATTR_KIND, a->name, NULL,
                 "attribute '%s' of '%s' should be a number, but is %s", a->name, t->op->type,
                 pdm_lg_attr_type_name((int)a->type));
    return NULL;
}

static pdm_ir_value *attribute_operand(pdm_tr_op *t, const pdm_tr_name *attr,
                                       pdm_ir_operand_kind kind)
{
    const char *name = attr->text;
    const pdm_lg_attr *a = pdm_lg_known_attr(t->op, attr->known);
    if (!a)
        a = pdm_tr_default(t, name);
    if (!a) {
        pdm_tr_error(t, PDM_D_LG_MISSING_ATTR, name, NULL,
                     "op '%s' lacks its attribute '%s', which has no default", t->op->type, name);
        return NULL;
    }
    bool ints = kind == PDM_IR_OPERAND_MUTABLE_INTS;
    if (a->type == PDM_LG_VARS)
        return combine_variables(t, a, a->u.strings, a->count);
    if (a->type == PDM_LG_VAR)
        return ints ? combine_variables(t, a, (const char *const[]){a->u.s}, 1)
                    : variable(t, name, a->u.s);
    if (!ints)
        return scalar_constant(t, a);
    size_t n;
    const int64_t *values = pdm_tr_ints(t, name, &n);
    return values ? pdm_tr_const_ints(t, values, n) : NULL;
}

static bool slot_is_optional(const pdm_tr_op *t, const char *slot)
{
    for (size_t i = 0; t->schema && i < t->schema->num_inputs; i++)
        if (strcmp(t->schema->inputs[i].name, slot) == 0)
            return t->schema->inputs[i].optional;
    return false;
}

static pdm_ir_value *operand(pdm_tr_op *t, const pdm_tr_operand_map *map, pdm_ir_operand_kind kind)
{
    for (size_t i = 0; i < map->num_alternatives; i++) {
        const pdm_tr_source *s = &map->alternatives[i];
        const pdm_lg_slot *slot = pdm_lg_known_input(t->op, s->name.known);
        bool last = i + 1 == map->num_alternatives;
        switch (s->kind) {
        case PDM_TR_NONE:
            return NULL;
        case PDM_TR_CONSTANT:
            return attribute_operand(t, &s->name, kind);
        case PDM_TR_SLOT:
            if (pdm_tr_slot_size(slot))
                return pdm_tr_argument(t, slot, 0);
            if (last)
                return pdm_tr_in(t, s->name.text); /* reports */
            break;
        case PDM_TR_COMBINED:
            if (pdm_tr_slot_size(slot))
                return pdm_tr_in_combined(t, s->name.text);
            if (last)
                return slot_is_optional(t, s->name.text) ? pdm_tr_combine(t, NULL, 0)
                                                         : pdm_tr_in(t, s->name.text);
            break;
        }
    }
    return NULL;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_ir_attr missing_attribute(pdm_tr_op *t, const pdm_tr_attr_map *map,
                                     const pdm_ir_op_info *info, uint16_t index)
{
    const pdm_ir_attr_desc *desc = &info->desc->attrs[index];
    const char *name = map->legacy.text;
    const pdm_lg_attr *fallback = pdm_tr_default(t, name);
    if (fallback)
        return pdm_tr_convert_attr(t, fallback, desc->type);
    /* An attribute newer than any legacy schema. */
    if (!(t->schema && pdm_lg_schema_attr(t->schema, name)) && desc->default_json) {
        pdm_ir_attr attr = pdm_ir_op_info_default(info, index);
        if (!attr)
            pdm_tr_nomem(t->tr);
        return attr;
    }
    pdm_tr_error(t, PDM_D_LG_MISSING_ATTR, name, NULL,
                 "op '%s' lacks its attribute '%s', which has no default", t->op->type, name);
    return NULL;
}

static pdm_ir_attr attribute(pdm_tr_op *t, const pdm_tr_attr_map *map, const pdm_tr_form *form,
                             size_t i)
{
    const uint16_t index = form->attrs[i];
    const pdm_ir_decl_type type = form->info->desc->attrs[index].type;
    const pdm_lg_attr *given = pdm_lg_known_attr(t->op, map->legacy.known);
    if (given)
        return pdm_tr_convert_attr(t, given, type);
    if (!map->literal)
        return missing_attribute(t, map, form->info, index);
    if (!form->literals[i])
        form->literals[i] = pdm_ir_literal(t->tr->context, map->literal, type);
    if (!form->literals[i])
        pdm_tr_nomem(t->tr);
    return form->literals[i];
}

/* ---- results --------------------------------------------------------------------------------- */

static const pdm_lg_var *result_var(const pdm_tr_op *t, const pdm_lg_slot *slot, size_t index)
{
    return slot && index < slot->num_args && !pdm_tr_is_empty_name(slot->args[index])
               ? pdm_tr_var(t->tr, slot->args[index])
               : NULL;
}

/* Inferred where something is known, declared otherwise. */
static pdm_ir_type result_type(pdm_tr_op *t, pdm_ir_meta *meta, const pdm_lg_var *var)
{
    pdm_tr *tr = t->tr;
    if (meta->is_array || (var && var->kind != PDM_LG_DENSE_TENSOR && meta->rank < 0)) {
        pdm_ir_type declared = pdm_tr_declared_type(tr, var);
        if (declared && (!meta->is_array || declared->kind == PDM_IR_TENSOR_ARRAY))
            return declared;
    }
    if (var && var->kind == PDM_LG_DENSE_TENSOR && var->has_tensor) {
        if (meta->dtype == PDM_UNDEFINED)
            meta->dtype = var->dtype;
        if (meta->rank < 0 && !meta->is_array)
            meta->rank = (int)pdm_tr_declared_dims(var, meta->dims);
    }
    if (meta->dtype == PDM_UNDEFINED)
        meta->dtype = PDM_F32; /* an output that nobody declared and no hook knows: it has no reader
                                  that could care */
    pdm_ir_type type = pdm_ir_meta_to_type(tr->context, meta);
    if (!type)
        pdm_tr_nomem(tr);
    return type;
}

static pdm_ir_type vector_type(pdm_tr_op *t, const pdm_lg_slot *slot, pdm_ir_meta *meta)
{
    size_t n = meta->num_elements;
    pdm_ir_type *elements = pdm_arena_calloc(&t->tr->scratch, n ? n : 1, sizeof *elements);
    if (!elements) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const pdm_lg_var *var = result_var(t, slot, i);
        elements[i] =
            pdm_tr_is_empty_name(slot->args[i]) ? NULL : result_type(t, &meta->elements[i], var);
    }
    pdm_ir_type type = pdm_ir_type_vector(t->tr->context, elements, n);
    if (!type)
        pdm_tr_nomem(t->tr);
    return type;
}

/* A result that has no legacy variable: absent where the row allows that, else a value without a
 * name. */
static bool is_absent(const pdm_lg_slot *slot, const pdm_tr_result_map *map,
                      const pdm_ir_result_desc *desc)
{
    bool given =
        slot && slot->num_args && !(slot->num_args == 1 && pdm_tr_is_empty_name(slot->args[0]));
    return !given && desc->kind != PDM_IR_OPERAND_TENSOR &&
           (map->optional || desc->kind == PDM_IR_OPERAND_OPTIONAL || slot);
}

static bool result_types(pdm_tr_op *t, const pdm_tr_row *row, const pdm_ir_op_state *state,
                         pdm_ir_type *types)
{
    const pdm_ir_op_desc *desc = state->info->desc;
    pdm_ir_meta metas[MAX_RESULTS];
    for (size_t i = 0; i < desc->num_results; i++) {
        pdm_ir_meta_init(&metas[i]);
        if (row->results[i].vector) {
            const pdm_lg_slot *slot = pdm_lg_known_output(t->op, row->results[i].slot.known);
            size_t n = slot ? slot->num_args : 0;
            metas[i].num_elements = n;
            metas[i].elements =
                pdm_arena_calloc(&t->tr->scratch, n ? n : 1, sizeof *metas[i].elements);
            if (!metas[i].elements) {
                pdm_tr_nomem(t->tr);
                return false;
            }
        }
    }
    pdm_ir_infer infer = {.context = t->tr->context,
                          .state = state,
                          .results = metas,
                          .num_results = desc->num_results};
    if (pdm_ir_infer_run(&infer) != PDM_OK) {
        pdm_tr_nomem(t->tr);
        return false;
    }
    for (size_t i = 0; i < desc->num_results; i++) {
        const pdm_tr_result_map *map = &row->results[i];
        const pdm_lg_slot *slot = pdm_lg_known_output(t->op, map->slot.known);
        if (map->vector)
            types[i] = map->optional && metas[i].num_elements == 0
                           ? NULL
                           : vector_type(t, slot, &metas[i]);
        else if (metas[i].absent || is_absent(slot, map, &desc->results[i]))
            types[i] = NULL;
        else
            types[i] = result_type(t, &metas[i], result_var(t, slot, 0));
    }
    return t->tr->status == PDM_OK;
}

static void bind_results(pdm_tr_op *t, const pdm_tr_row *row, const pdm_ir_op *op)
{
    for (size_t i = 0; i < row->num_results; i++) {
        const pdm_tr_result_map *map = &row->results[i];
        pdm_ir_value *value = pdm_ir_op_result(op, i);
        const pdm_lg_slot *slot = pdm_lg_known_output(t->op, map->slot.known);
        if (!slot || !value->type)
            continue;
        /* A region must not hand on what nobody wrote. */
        if (t->tr->has_sub_blocks && pdm_tr_leaves_alone(t->op, slot))
            continue;
        for (size_t k = 0; k < (map->vector ? slot->num_args : slot->num_args != 0); k++) {
            if (map->vector)
                pdm_tr_out_element(t, slot->args[k], value, (uint32_t)k);
            else if (!pdm_tr_is_empty_name(slot->args[k]))
                pdm_tr_out_name_is(t, slot->args[k], value);
        }
    }
}

/* ---- the op ---------------------------------------------------------------------------------- */

static bool shares_variable(const pdm_lg_op *op)
{
    for (size_t o = 0; o < op->num_outputs; o++)
        for (size_t k = 0; k < op->outputs[o].num_args; k++)
            for (size_t i = 0; i < op->num_inputs; i++)
                for (size_t n = 0; n < op->inputs[i].num_args; n++)
                    if (op->inputs[i].args[n] == op->outputs[o].args[k] &&
                        !pdm_tr_is_empty_name(op->inputs[i].args[n]))
                        return true;
    return false;
}

static const char *first_arg(const pdm_lg_slot *slot)
{
    return slot && slot->num_args && !pdm_tr_is_empty_name(slot->args[0]) ? slot->args[0] : NULL;
}

/* Variable that an operand stands for; NULL: none. */
static const char *operand_variable(const pdm_tr_op *t, const pdm_tr_operand_map *map)
{
    for (size_t i = 0; i < map->num_alternatives; i++) {
        const pdm_tr_source *s = &map->alternatives[i];
        const char *name = s->kind == PDM_TR_SLOT || s->kind == PDM_TR_COMBINED
                               ? first_arg(pdm_lg_known_input(t->op, s->name.known))
                               : NULL;
        if (name)
            return name;
    }
    return NULL;
}

/*
 * Whether the operands that form overwrites are the variables that the legacy op writes. The
 * framework asks less: `b = a + b` becomes add_, which overwrites a.
 */
static bool overwrites_only_outputs(pdm_tr_op *t, const pdm_tr_row *row, const pdm_ir_op_info *form)
{
    for (size_t i = 0; row && i < row->num_operands; i++) {
        int r = pdm_ir_op_info_inplace(form, i);
        const char *written = r >= 0 ? operand_variable(t, &row->operands[i]) : NULL;
        const char *slot =
            r >= 0 && (size_t)r < row->num_results ? row->results[r].slot.known : NULL;
        if (written && first_arg(pdm_lg_known_output(t->op, slot)) != written)
            return false;
    }
    return true;
}

/* The row "NAME_" of the version asked for. */
static const pdm_ir_op_info *find_in_place(pdm_tr *tr, const pdm_ir_op_info *plain)
{
    const size_t n = strlen(plain->name);
    const int version = tr->options->pir_version;
    /* The framework does not patch the attribute tags of these two in older files. */
    if (plain->name[n - 1] == '_' || plain->code == PDM_IR_OP_pd_op_leaky_relu ||
        plain->code == PDM_IR_OP_pd_op_logit)
        return NULL;
    char *name = pdm_arena_alloc(&tr->scratch, n + 2);
    if (!name) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    memcpy(name, plain->name, n);
    strcpy(name + n, "_");
    const pdm_ir_op_desc *desc = pdm_ir_op_desc_find(name);
    if (!desc || (version && desc->since > version))
        return NULL;
    const pdm_ir_op_info *info = pdm_ir_op_info_get(tr->context, name, NULL);
    if (!info)
        pdm_tr_nomem(tr);
    return info;
}

/*
 * The in-place form where an output names an input, as the framework does. With sub-blocks about,
 * aliases across regions would make that unsafe, so the plain form is taken; batch_norm_ is not
 * about aliases: in a test run it leaves the statistics alone.
 */
const pdm_ir_op_info *pdm_tr_in_place_form(pdm_tr_op *t, const pdm_ir_op_info *plain)
{
    pdm_tr *tr = t->tr;
    if (!plain || (tr->has_sub_blocks && plain->code != PDM_IR_OP_pd_op_batch_norm) ||
        !shares_variable(t->op))
        return plain;
    pdm_map_entry *known = pdm_map_find(&tr->in_place, plain);
    if (!known) {
        const pdm_ir_op_info *form = find_in_place(tr, plain);
        known = pdm_map_put(&tr->in_place, plain);
        if (!known) {
            pdm_tr_nomem(tr);
            return plain;
        }
        known->value.ptr = (void *)(uintptr_t)form;
    }
    const pdm_ir_op_info *form = known->value.ptr;
    return form && overwrites_only_outputs(t, pdm_tr_row_get(tr, t->op->type), form) ? form : plain;
}

/* Bind a row to the op that it makes. */
static const pdm_tr_form *bind_form(pdm_tr_op *t, const pdm_tr_row *row, const pdm_ir_op_info *info)
{
    const pdm_ir_op_desc *desc = info->desc;
    pdm_tr_form *form = row->forms, made = {.info = info};
    while (form < row->forms + PDM_TR_FORMS && form->info && form->info != info)
        form++;
    if (form < row->forms + PDM_TR_FORMS && form->info)
        return form;
    if (form == row->forms + PDM_TR_FORMS || !desc || desc->num_operands != row->num_operands ||
        desc->num_results != row->num_results || desc->num_results > MAX_RESULTS) {
        pdm_tr_error(t, PDM_D_INTERNAL, NULL, NULL, "the row of '%s' does not fit '%s'",
                     t->op->type, info->name);
        return NULL;
    }
    made.attrs = pdm_arena_calloc(&t->tr->scratch, row->num_attrs, sizeof *made.attrs);
    made.literals = pdm_arena_calloc(&t->tr->scratch, row->num_attrs, sizeof *made.literals);
    if (!made.attrs || !made.literals) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    for (size_t i = 0; i < row->num_attrs; i++) {
        const int at = pdm_ir_op_info_attr(info, row->attrs[i].name, i);
        if (at < 0) {
            pdm_tr_error(t, PDM_D_INTERNAL, row->attrs[i].name, NULL, "'%s' has no attribute '%s'",
                         desc->name, row->attrs[i].name);
            return NULL;
        }
        made.attrs[i] = (uint16_t)at;
    }
    *form = made;
    return form;
}

static bool build_attrs(pdm_tr_op *t, const pdm_tr_row *row, const pdm_tr_form *form,
                        pdm_ir_named_attr *attrs)
{
    for (size_t i = 0; i < row->num_attrs; i++)
        attrs[i] = (pdm_ir_named_attr){form->info->desc->attrs[form->attrs[i]].name,
                                       attribute(t, &row->attrs[i], form, i), 0};
    /* Went on after a reported fault: all of an op's faults are told. */
    return !t->failed && t->tr->status == PDM_OK;
}

void pdm_tr_generic(pdm_tr_op *t)
{
    pdm_tr *tr = t->tr;
    const pdm_tr_row *row = t->failed ? NULL : pdm_tr_row_get(tr, t->op->type);
    if (!row) {
        if (!t->failed && tr->status == PDM_OK)
            pdm_tr_error(t, PDM_D_INTERNAL, NULL, NULL, "op '%s' has no row", t->op->type);
        return;
    }
    if (!row->info) {
        pdm_tr_error(t, PDM_D_INTERNAL, NULL, NULL, "there is no PIR op '%s'", row->target);
        return;
    }
    const pdm_ir_op_info *info = pdm_tr_in_place_form(t, row->info);
    const pdm_tr_form *form = tr->status == PDM_OK ? bind_form(t, row, info) : NULL;
    if (!form)
        return;
    const pdm_ir_op_desc *desc = form->info->desc;
    pdm_ir_value **operands = pdm_arena_calloc(&tr->scratch, row->num_operands, sizeof *operands);
    pdm_ir_named_attr *attrs = pdm_arena_calloc(&tr->scratch, row->num_attrs, sizeof *attrs);
    if (!operands || !attrs) {
        pdm_tr_nomem(tr);
        return;
    }
    for (size_t i = 0; i < row->num_operands; i++)
        operands[i] = operand(t, &row->operands[i], desc->operands[i].kind);
    if (!build_attrs(t, row, form, attrs))
        return;
    pdm_ir_type types[MAX_RESULTS];
    pdm_ir_op_state state = {.info = form->info,
                             .operands = operands,
                             .num_operands = row->num_operands,
                             .attrs = attrs,
                             .num_attrs = row->num_attrs,
                             .result_types = types,
                             .num_results = desc->num_results};
    if (!result_types(t, row, &state, types))
        return;
    pdm_ir_op *op = pdm_tr_emit_known(t, form->info, operands, row->num_operands, attrs,
                                      row->num_attrs, types, desc->num_results);
    if (op)
        bind_results(t, row, op);
}
