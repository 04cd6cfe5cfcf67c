/*
 * Images channels-last: ops that want them so get them so, ops that do not mind follow their
 * operands, and all others get what they expect from a transpose behind the op that made the value.
 */
#include <string.h>

#include "exec/lower/lower_impl.h"
#include "ir/channels.h"

/* Where the dims of one layout are in the other. */
static const int32_t to_last[] = {0, 2, 3, 1}, to_first[] = {0, 3, 1, 2};

static pdm_ir_type turned_type(pdm_lower *l, pdm_ir_type type, const int32_t *perm)
{
    int64_t dims[4];

    for (int i = 0; i < 4; i++)
        dims[i] = type->dims[perm[i]];
    return pdm_ir_type_tensor(l->context, type->dtype, dims, 4);
}

static bool is_image(const pdm_ir_value *value)
{
    return value && pdm_ir_type_is_tensor(value->type) && value->type->rank == 4;
}

static bool is_last(const pdm_lower *l, const pdm_ir_value *value)
{
    return value && pdm_map_find(&l->last, value) != NULL;
}

/* A transpose of value before an op. */
static pdm_ir_value *turn(pdm_lower *l, pdm_ir_op *before, pdm_ir_value *value,
                          const int32_t *perm)
{
    const pdm_lower_attr attrs[] = {{"perm", pdm_ir_attr_i32s(l->context, perm, 4)}, {0}};
    pdm_ir_op *op = pdm_lower_make(l, before, before, "pd_op.transpose", &value, 1,
                                   turned_type(l, value->type, perm), attrs);

    return op ? pdm_ir_op_result(op, 0) : NULL;
}

/* The value as the program has it. */
static pdm_ir_value *first(pdm_lower *l, pdm_ir_value *value)
{
    pdm_ir_op *maker = pdm_ir_value_op(value);
    pdm_ir_value *twin = pdm_lower_recall(&l->twins, value);

    if (twin)
        return twin;
    twin = turn(l, maker->next, value, to_first);
    if (twin)
        pdm_lower_remember(l, &l->twins, value, twin);
    return twin;
}

/* The value channels-last, for an op of some block. What is made for a block inside is not for
 * those outside. */
static pdm_ir_value *last(pdm_lower *l, pdm_ir_op *user, pdm_ir_value *value)
{
    if (is_last(l, value))
        return value;
    pdm_ir_value *twin = pdm_lower_recall(&l->twins, value);
    if (twin && pdm_ir_value_block(twin) == user->block)
        return twin;
    twin = turn(l, user, value, to_last);
    if (twin) {
        pdm_lower_remember(l, &l->twins, value, twin);
        pdm_lower_remember(l, &l->last, twin, twin);
        pdm_lower_remember(l, &l->twins, twin, value);
    }
    return twin;
}

static void set_operand(pdm_ir_op *op, uint32_t i, pdm_ir_value *value)
{
    if (value)
        pdm_ir_use_set(pdm_ir_op_operand(op, i), value);
}

static void result_is_last(pdm_lower *l, pdm_ir_op *op)
{
    pdm_ir_value *result = pdm_ir_op_result(op, 0);

    result->type = turned_type(l, result->type, to_last);
    if (!result->type)
        l->status = PDM_NOMEM;
    pdm_lower_remember(l, &l->last, result, result);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static bool is_op_of(const pdm_ir_op *op, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pdm_ir_op_is(op, names[i]))
            return true;
    }
    return false;
}

#define IS_ONE_OF(op, names) is_op_of(op, names, sizeof(names) / sizeof *(names))

/* All images among the operands become channels-last, and the result is. */
static void turn_all(pdm_lower *l, pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (is_image(value) && pdm_ir_static_count(value) != 1)
            set_operand(op, i, last(l, op, value));
    }
    result_is_last(l, op);
}

/* Elementwise: operands that are no images are numbers. */
static bool follow_elementwise(pdm_lower *l, pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (value && !is_image(value) && pdm_ir_static_count(value) != 1)
            return false;
    }
    if (!is_image(pdm_ir_op_result(op, 0)))
        return false;
    turn_all(l, op);
    return true;
}

/* Ops that are told the layout. */
static bool follow_format(pdm_lower *l, pdm_ir_op *op)
{
    pdm_ir_value *x = pdm_ir_op_operand_value(op, 0);
    pdm_ir_attr paddings = pdm_ir_op_attr(op, "paddings");

    if (!is_image(x) || !is_image(pdm_ir_op_result(op, 0)) ||
        strcmp(pdm_lower_text(op, "data_format"), "NCHW") != 0 ||
        (paddings && paddings->kind == PDM_IR_ATTR_ARRAY && paddings->count > 4))
        return false;
    set_operand(op, 0, last(l, op, x));
    if (!pdm_ir_op_set_attr(l->context, op, "data_format", pdm_ir_attr_str(l->context, "NHWC")))
        l->status = PDM_NOMEM;
    result_is_last(l, op);
    return true;
}

static bool follow_transpose(pdm_lower *l, pdm_ir_op *op)
{
    pdm_ir_attr perm = pdm_ir_op_attr(op, "perm");
    int32_t composed[4];

    if (!perm || perm->kind != PDM_IR_ATTR_ARRAY || perm->count != 4)
        return false;
    for (int i = 0; i < 4; i++) {
        pdm_ir_attr item = perm->u.items[i];
        if (item->kind != PDM_IR_ATTR_I32 || item->u.i < -4 || item->u.i > 3)
            return false;
        composed[i] = to_first[(item->u.i + 4) % 4];
    }
    if (!pdm_ir_op_set_attr(l->context, op, "perm",
                            pdm_ir_attr_i32s(l->context, composed, 4)))
        l->status = PDM_NOMEM;
    return true;
}

/* The vector of the operands is made anew, others may read the old one. */
static bool follow_concat(pdm_lower *l, pdm_ir_op *op)
{
    pdm_ir_value *parts[PDM_LOWER_MAX_OPERANDS], *axis = pdm_ir_op_operand_value(op, 1);
    const pdm_ir_value *vector = pdm_ir_op_operand_value(op, 0);
    pdm_ir_op *combine = vector ? pdm_ir_value_op(vector) : NULL;
    pdm_ir_type types[PDM_LOWER_MAX_OPERANDS];
    double number;
    uint32_t already = 0;

    if (!combine || !pdm_ir_op_is(combine, "builtin.combine") || !pdm_lower_number(axis, &number) ||
        number < -4 || number > 3 || combine->num_operands > PDM_LOWER_MAX_OPERANDS ||
        combine->num_operands == 0 || !is_image(pdm_ir_op_result(op, 0)))
        return false;
    for (uint32_t i = 0; i < combine->num_operands; i++) {
        parts[i] = pdm_ir_op_operand_value(combine, i);
        if (!is_image(parts[i]))
            return false;
        already += is_last(l, parts[i]) || (pdm_lower_recall(&l->twins, parts[i]) &&
                                            is_last(l, pdm_lower_recall(&l->twins, parts[i])));
    }
    if (2 * already < combine->num_operands)
        return false;
    for (uint32_t i = 0; i < combine->num_operands; i++) {
        parts[i] = last(l, op, parts[i]);
        if (!parts[i])
            return true;
        types[i] = parts[i]->type;
    }
    static const int place[] = {0, 3, 1, 2}; /* of the program's dims when channels are last */
    pdm_ir_op *made = pdm_lower_make(l, op, op, "builtin.combine", parts, combine->num_operands,
                                     pdm_ir_type_vector(l->context, types, combine->num_operands),
                                     NULL);
    pdm_ir_value *full =
        pdm_lower_full(l, op, PDM_I64, place[((int)number + 4) % 4]);
    if (!made || !full)
        return true;
    set_operand(op, 0, pdm_ir_op_result(made, 0));
    set_operand(op, 1, full);
    result_is_last(l, op);
    return true;
}

static bool follow(pdm_lower *l, pdm_ir_op *op)
{
    static const char *const elementwise[] = {"fast.elementwise"};
    static const char *const formatted[] = {"pd_op.bilinear_interp", "pd_op.conv2d_transpose",
                                            "pd_op.nearest_interp", "pd_op.pool2d"};

    if (pdm_ir_op_is(op, "pd_op.concat"))
        return follow_concat(l, op);
    bool any = false;
    for (uint32_t i = 0; i < op->num_operands && !any; i++)
        any = is_last(l, pdm_ir_op_operand_value(op, i));
    if (!any)
        return false;
    if (IS_ONE_OF(op, elementwise))
        return follow_elementwise(l, op);
    if (IS_ONE_OF(op, formatted) && is_last(l, pdm_ir_op_operand_value(op, 0)))
        return follow_format(l, op);
    return pdm_ir_op_is(op, "pd_op.transpose") && follow_transpose(l, op);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void restore_operands(pdm_lower *l, pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (is_last(l, value))
            set_operand(op, i, first(l, value));
    }
}

/* Vectors are made of values in the program's layout; concat looks through them. */
static bool is_left_to_reader(const pdm_ir_op *op)
{
    if (!pdm_ir_op_is(op, "builtin.combine"))
        return false;
    for (pdm_ir_use *use = pdm_ir_value_first_use(pdm_ir_op_result(op, 0)); use; use = use->next) {
        if (!pdm_ir_op_is(use->owner, "pd_op.concat"))
            return false;
    }
    return true;
}

/* A vector that its reader did not make anew. */
static void restore_vector(pdm_lower *l, pdm_ir_op *op)
{
    pdm_ir_value *vector = pdm_ir_op_operand_value(op, 0);
    pdm_ir_op *combine = vector ? pdm_ir_value_op(vector) : NULL;

    if (combine && pdm_ir_op_is(combine, "builtin.combine"))
        restore_operands(l, combine);
}

void pdm_lower_layout(pdm_lower *l, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first, *next; op && l->status == PDM_OK; op = next) {
        next = op->next;
        if (pdm_map_find(&l->needs_last, op))
            turn_all(l, op);
        else if (!is_left_to_reader(op) && !follow(l, op)) {
            restore_operands(l, op);
            if (pdm_ir_op_is(op, "pd_op.concat"))
                restore_vector(l, op);
        }
        for (uint32_t i = 0; i < op->num_regions; i++) {
            for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
                pdm_lower_layout(l, b);
        }
    }
}
