/* Special handlers: tensor arrays. */
#include "translator/special.h"

#include <string.h>

/* Array that a name stands for by now, or a new one. */
static pdm_ir_value *array_of(pdm_tr_op *t, const char *name, pdm_dtype dtype)
{
    /* Asked for a value, an undefined array would be made at the front of the program. */
    if (!name || !pdm_tr_has_value(t->tr, name))
        return pdm_tr_new_array(t, dtype);
    pdm_ir_value *array = pdm_tr_value(t->tr, name);
    if (!array)
        return NULL;
    if (!pdm_tr_is_array(array)) {
        pdm_tr_error(t, PDM_D_LG_TYPE, name, NULL, "'%s' should be a tensor array", name);
        return NULL;
    }
    return array;
}

static pdm_ir_value *array_in(pdm_tr_op *t, const char *slot)
{
    const pdm_lg_slot *s = pdm_lg_find_input(t->op, slot);
    const char *name = s && s->num_args ? s->args[0] : NULL;
    if (!name || pdm_tr_has_value(t->tr, name)) {
        pdm_ir_value *array = pdm_tr_in(t, slot);
        if (array && !pdm_tr_is_array(array))
            pdm_tr_error(t, PDM_D_LG_TYPE, name, NULL, "'%s' should be a tensor array", name);
        return t->failed ? NULL : array;
    }
    const pdm_lg_var *var = pdm_tr_var(t->tr, name);
    pdm_ir_value *array =
        pdm_tr_new_array(t, var && var->dtype != PDM_UNDEFINED ? var->dtype : PDM_F32);
    pdm_tr_bind(t->tr, name, array);
    return array;
}

void pdm_tr_h_write_to_array(pdm_tr_op *t)
{
    const char *name = pdm_tr_out_name(t, "Out");
    pdm_ir_value *i = pdm_tr_in(t, "I"), *x = pdm_tr_in(t, "X");
    if (!x || !i)
        return;
    pdm_ir_value *array = array_of(t, name, pdm_tr_dtype_of(x));
    const pdm_lg_var *var = pdm_tr_out_var(t, "Out", 0);
    bool declared = var && var->kind == PDM_LG_TENSOR_ARRAY;
    if (!array)
        return;
    pdm_ir_type type =
        pdm_ir_type_array(t->tr->context, array->type->dtype, declared ? var->dims : x->type->dims,
                          declared ? var->rank : x->type->rank, "NCHW");
    if (!type) {
        pdm_tr_nomem(t->tr);
        return;
    }
    pdm_ir_op *op = pdm_tr_emit_typed(t, "pd_op.array_write_", PDM_TR_OPS(array, x, i),
                                      PDM_TR_NO_ATTRS, &type, 1);
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
}

void pdm_tr_h_read_from_array(pdm_tr_op *t)
{
    pdm_ir_value *i = pdm_tr_in(t, "I"), *array = array_in(t, "X");
    const pdm_lg_var *var = pdm_tr_out_var(t, "Out", 0);
    if (!i || !array)
        return;
    /* Elements may differ in shape: the declaration of this one knows most. */
    pdm_ir_type type = NULL;
    if (var && var->has_tensor && var->kind == PDM_LG_DENSE_TENSOR)
        type = pdm_tr_tensor_type(t, array->type->dtype, var->dims, var->rank);
    else
        type = pdm_tr_tensor_type(t, array->type->dtype, array->type->dims, array->type->rank);
    pdm_ir_op *op =
        pdm_tr_emit_typed(t, "pd_op.array_read", PDM_TR_OPS(array, i), PDM_TR_NO_ATTRS, &type, 1);
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
}

void pdm_tr_h_lod_array_length(pdm_tr_op *t)
{
    pdm_ir_value *array = array_in(t, "X");
    pdm_ir_type type = pdm_tr_tensor_type(t, PDM_I64, (const int64_t[]){1}, 1);
    pdm_ir_op *op =
        pdm_tr_emit_typed(t, "pd_op.array_length", PDM_TR_OPS(array), PDM_TR_NO_ATTRS, &type, 1);
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
}

/* ---- tensor_array_to_tensor ------------------------------------------------------------------ */

enum { MAX_ELEMENTS = 256 };

/*
 * Elements of an array that straight-line code builds with constant indices: from the newest write
 * back to the creation. 0 when the array is not of that kind.
 */
static size_t known_elements(const pdm_ir_value *array, pdm_ir_value **elements)
{
    size_t count = 0;
    memset(elements, 0, MAX_ELEMENTS * sizeof *elements);
    for (;;) {
        const pdm_ir_op *op = pdm_ir_value_op(array);
        int64_t index;
        size_t n;
        if (!op ||
            (!PDM_IR_IS(op, pd_op, array_write_) && !PDM_IR_IS(op, pd_op, create_array)))
            return 0;
        if (PDM_IR_IS(op, pd_op, create_array))
            break;
        if (!pdm_ir_const_ints(pdm_ir_op_operand_value(op, 2), &index, 1, &n) || n != 1 ||
            index < 0 || index >= MAX_ELEMENTS)
            return 0;
        if (!elements[index])
            elements[index] = pdm_ir_op_operand_value(op, 1);
        if ((size_t)index >= count)
            count = (size_t)index + 1;
        array = pdm_ir_op_operand_value(op, 0);
    }
    for (size_t i = 0; i < count; i++)
        if (!elements[i])
            return 0;
    return count;
}

static bool shapes_differ(pdm_ir_value *const *values, size_t n)
{
    pdm_ir_meta first, other;
    pdm_tr_meta(values[0], &first);
    for (size_t i = 1; i < n; i++) {
        pdm_tr_meta(values[i], &other);
        for (int k = 0; k < first.rank && k < other.rank; k++)
            if (first.dims[k] >= 0 && other.dims[k] >= 0 && first.dims[k] != other.dims[k])
                return true;
    }
    return false;
}

/* Sizes of the elements along the axis, int32. */
static pdm_ir_value *sizes_along(pdm_tr_op *t, pdm_ir_value **values, size_t n, int64_t axis)
{
    pdm_ir_value **sizes = pdm_arena_calloc(&t->tr->scratch, n, sizeof *sizes);
    if (!sizes) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        int rank = pdm_tr_need_rank(t, values[i]);
        int64_t at = axis < 0 ? axis + rank : axis;
        sizes[i] = pdm_tr_slice(t, pdm_tr_shape64(t, values[i]), 0, at, at + 1);
    }
    return pdm_tr_cast(t, pdm_tr_concat(t, sizes, n, 0), PDM_I32);
}

void pdm_tr_h_tensor_array_to_tensor(pdm_tr_op *t)
{
    pdm_ir_value *array = array_in(t, "X");
    int64_t axis = pdm_tr_int(t, "axis");
    bool stack = pdm_tr_bool(t, "use_stack");
    pdm_ir_value **elements = pdm_arena_alloc(&t->tr->scratch, MAX_ELEMENTS * sizeof *elements);
    if (t->failed || !array)
        return;
    if (!elements) {
        pdm_tr_nomem(t->tr);
        return;
    }
    /* pd_op.array_to_tensor wants elements of one shape, the legacy op joins along a dim that
     * differs. */
    size_t n = stack ? 0 : known_elements(array, elements);
    if (n && shapes_differ(elements, n)) {
        pdm_tr_out(t, "Out", pdm_tr_concat(t, elements, n, axis));
        if (pdm_tr_has_out(t, "OutIndex"))
            pdm_tr_out(t, "OutIndex", sizes_along(t, elements, n, axis));
        return;
    }
    const pdm_lg_var *var = pdm_tr_out_var(t, "Out", 0);
    const int64_t unknown[] = {-1};
    bool declared = var && var->has_tensor;
    pdm_ir_type types[2] = {pdm_tr_tensor_type(t, array->type->dtype,
                                               declared ? var->dims : unknown,
                                               declared ? var->rank : 1),
                            pdm_tr_tensor_type(t, PDM_I32, unknown, 1)};
    pdm_ir_op *op = pdm_tr_emit_typed(
        t, "pd_op.array_to_tensor", PDM_TR_OPS(array),
        PDM_TR_ATTRS({"axis", pdm_tr_a_i32(t, axis), 0}, {"use_stack", pdm_tr_a_bool(t, stack), 0}),
        types, 2);
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
    pdm_tr_out(t, "OutIndex", pdm_tr_result(op, 1));
}
