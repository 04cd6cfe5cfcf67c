/* Helpers of the special handlers. */
#include "translator/special.h"

#include <string.h>

pdm_ir_value *pdm_tr_emit_form(pdm_tr_op *t, const char *name, pdm_ir_value *const *operands,
                               size_t num_operands, const pdm_ir_named_attr *attrs,
                               size_t num_attrs)
{
    const pdm_ir_op_info *plain = pdm_ir_op_info_get(t->tr->context, name, NULL);
    const pdm_ir_op_info *form = pdm_tr_in_place_form(t, plain);
    return pdm_tr_emit1(t, form ? form->name : name, operands, num_operands, attrs, num_attrs);
}

pdm_ir_value *pdm_tr_bound(pdm_tr_op *t, const char *slot)
{
    const char *name = pdm_tr_out_name(t, slot);
    if (t->failed || t->tr->status != PDM_OK || !name)
        return NULL;
    return pdm_tr_value(t->tr, name);
}

pdm_ir_type pdm_tr_tensor_type(pdm_tr_op *t, pdm_dtype dtype, const int64_t *dims, size_t rank)
{
    pdm_ir_type type = pdm_ir_type_tensor(t->tr->context, dtype, dims, rank);
    if (!type)
        pdm_tr_nomem(t->tr);
    return type;
}

const pdm_lg_var *pdm_tr_out_var(const pdm_tr_op *t, const char *slot, size_t index)
{
    const pdm_lg_slot *s = pdm_lg_find_output(t->op, slot);
    if (!s || index >= s->num_args || pdm_tr_is_empty_name(s->args[index]))
        return NULL;
    return pdm_tr_var(t->tr, s->args[index]);
}

pdm_ir_type pdm_tr_out_type(pdm_tr_op *t, const char *slot, size_t index)
{
    return pdm_tr_declared_type(t->tr, pdm_tr_out_var(t, slot, index));
}

static pdm_ir_attr scalar_attr(pdm_tr_op *t, const pdm_lg_scalar *s)
{
    pdm_ir_context *context = t->tr->context;
    switch (s->type) {
    case PDM_LG_SCALAR_BOOL:
        return pdm_ir_attr_bool(context, s->b);
    case PDM_LG_SCALAR_I64:
        return pdm_ir_attr_i64(context, s->i);
    case PDM_LG_SCALAR_F64:
        return pdm_ir_attr_f64(context, s->r);
    case PDM_LG_SCALAR_C128:
        break;
    }
    return pdm_ir_attr_intern(
        context,
        &(struct pdm_ir_attr_s){.kind = PDM_IR_ATTR_C128, .u.c = {.re = s->c.re, .im = s->c.im}});
}

static pdm_ir_attr scalars_attr(pdm_tr_op *t, const pdm_lg_attr *list)
{
    size_t n = list->count;
    pdm_ir_attr *items = pdm_arena_calloc(&t->tr->scratch, n ? n : 1, sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        items[i] = scalar_attr(t, &list->u.scalars[i]);
        if (!items[i])
            return NULL;
    }
    return pdm_ir_attr_array(t->tr->context, items, n);
}

pdm_ir_attr pdm_tr_a_list(pdm_tr_op *t, const pdm_lg_attr *list)
{
    pdm_ir_context *context = t->tr->context;
    pdm_ir_attr attr = NULL;
    switch (list->type) {
    case PDM_LG_INTS:
        attr = pdm_ir_attr_i32s(context, list->u.ints, list->count);
        break;
    case PDM_LG_LONGS:
        attr = pdm_ir_attr_i64s(context, list->u.longs, list->count);
        break;
    case PDM_LG_FLOATS:
        attr = pdm_ir_attr_f32s(context, list->u.floats, list->count);
        break;
    case PDM_LG_FLOAT64S:
        attr = pdm_ir_attr_f64s(context, list->u.doubles, list->count);
        break;
    case PDM_LG_BOOLEANS:
        attr = pdm_ir_attr_bools(context, list->u.bools, list->count);
        break;
    case PDM_LG_SCALARS:
        attr = scalars_attr(t, list);
        break;
    default:
        pdm_tr_error(t, PDM_D_LG_ATTR_KIND, list->name, NULL,
                     "attribute '%s' of '%s' should be a list of numbers, but is %s", list->name,
                     t->op->type, pdm_lg_attr_type_name((int)list->type));
        return NULL;
    }
    if (!attr)
        pdm_tr_nomem(t->tr);
    return attr;
}

pdm_ir_value *pdm_tr_int_operand(pdm_tr_op *t, const char *list, const char *tensor,
                                 const char *attr)
{
    if (list && pdm_tr_num_in(t, list))
        return pdm_tr_in_combined(t, list);
    if (tensor && pdm_tr_num_in(t, tensor))
        return pdm_tr_in_combined(t, tensor);
    size_t n = 0;
    const int64_t *values = pdm_tr_ints(t, attr, &n);
    return values ? pdm_tr_const_ints(t, values, n) : NULL;
}

pdm_dtype pdm_tr_need_dtype(pdm_tr_op *t, const char *name)
{
    pdm_dtype dtype = pdm_tr_dtype(t, name);
    if (dtype == PDM_UNDEFINED && !t->failed && t->tr->status == PDM_OK)
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, name, NULL, "'%s' of '%s' names no element type", name,
                     t->op->type);
    return dtype;
}

bool pdm_tr_is_array(const pdm_ir_value *value)
{
    return value && value->type && value->type->kind == PDM_IR_TENSOR_ARRAY;
}

pdm_ir_value *pdm_tr_new_array(pdm_tr_op *t, pdm_dtype dtype)
{
    pdm_ir_type type = pdm_ir_type_array(t->tr->context, dtype, (const int64_t[]){0}, 1, "NCHW");
    if (!type) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    pdm_ir_op *op =
        pdm_tr_emit_typed(t, "pd_op.create_array", PDM_TR_NO_OPS,
                          PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, dtype), 0}), &type, 1);
    return pdm_tr_result(op, 0);
}

pdm_ir_value *pdm_tr_take(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *index)
{
    pdm_ir_value *axis = pdm_tr_const_i(t, PDM_I32, 0);
    return pdm_tr_emit1(t, "pd_op.gather", PDM_TR_OPS(x, index, axis), PDM_TR_NO_ATTRS);
}
