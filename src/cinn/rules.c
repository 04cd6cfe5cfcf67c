/* The table of rules, and which ops it lets into groups. */
#include "cinn/rules.h"

#include <math.h>

#define BIT(dtype) (1U << (dtype))
#define FLOATS     (BIT(PDM_F32) | BIT(PDM_F64))
#define WHOLE      (BIT(PDM_I8) | BIT(PDM_U8) | BIT(PDM_I16) | BIT(PDM_I32) | BIT(PDM_I64))
#define INTS       (WHOLE | BIT(PDM_BOOL))
#define NUMBERS    (WHOLE | FLOATS)
#define ALL        (INTS | FLOATS)

#define pdm_cinn_value_none NULL

static const pdm_cinn_rule table[PDM_IR_OP_NONE + 1] = {
#define PDM_CINN_RULE(op, kind_, tensors_, types_, fits_, shape_, element_, value_)                \
    [PDM_IR_OP_pd_op_##op] = {.kind = PDM_CINN_##kind_,                                            \
                              .tensors = tensors_,                                                 \
                              .types = types_,                                                     \
                              .fits = pdm_cinn_fits_##fits_,                                       \
                              .shape = pdm_cinn_shape_##shape_,                                    \
                              .element = pdm_cinn_element_##element_,                              \
                              .value = pdm_cinn_value_##value_},
#define PDM_CINN_REDUCE_RULE(op, tensors_, types_, fits_, shape_, element_, parts_, part_, term_)  \
    [PDM_IR_OP_pd_op_##op] = {.kind = PDM_CINN_REDUCTION,                                          \
                              .tensors = tensors_,                                                 \
                              .types = types_,                                                     \
                              .fits = pdm_cinn_fits_##fits_,                                       \
                              .shape = pdm_cinn_shape_##shape_,                                    \
                              .element = pdm_cinn_element_##element_,                              \
                              .parts = parts_,                                                     \
                              .part = pdm_cinn_part_##part_,                                       \
                              .term = pdm_cinn_term_##term_},
#include "cinn/rules.def"
#undef PDM_CINN_RULE
#undef PDM_CINN_REDUCE_RULE
};

const char *pdm_cinn_kind_name(pdm_cinn_kind kind)
{
    static const char *const names[] = {"view", "elementwise", "broadcast", "injective",
                                        "reduction"};

    return names[kind];
}

/* A dense tensor whose rank can be trusted: that of [-1] may stand for any. */
static bool is_known(pdm_ir_type type)
{
    return pdm_ir_type_is_tensor(type) && type->rank <= PDM_MAX_RANK;
}

/* Why an op of a rule may not be in a group; NULL: it may. */
static const char *refusal(const pdm_cinn_rule *rule, const pdm_ir_op *op)
{
    if (!rule->element)
        return "there is no rule for it";
    if (op->num_operands < rule->tensors || op->num_results == 0)
        return "it is not as declared";
    if (!is_known(pdm_ir_op_result(op, 0)->type))
        return "its shape is not known";
    if (!(ALL & BIT(pdm_ir_op_result(op, 0)->type->dtype)))
        return "its element type";
    /* Of several results only the first is made. */
    for (uint32_t i = 1; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return "its further results are used";
    }
    for (uint32_t i = 0; i < rule->tensors; i++) {
        const pdm_ir_value *x = pdm_ir_op_operand_value(op, i);
        if (!x || !is_known(x->type))
            return "an operand is absent or of unknown shape";
        if (!(rule->types & BIT(x->type->dtype)))
            return "the element type of an operand";
    }
    return rule->fits(op) ? NULL : "its attributes, or an operand that is no constant";
}

const pdm_cinn_rule *pdm_cinn_rule_of(const pdm_ir_op *op)
{
    const pdm_cinn_rule *rule = &table[op->info->code];

    return refusal(rule, op) ? NULL : rule;
}

const char *pdm_cinn_why_not(const pdm_ir_op *op)
{
    const char *reason = refusal(&table[op->info->code], op);

    return reason ? reason : "nothing near it to be grouped with";
}

static bool number_of(pdm_ir_attr attr, double *out)
{
    const bool scalar = attr && attr->kind == PDM_IR_ATTR_SCALAR;

    if (!attr)
        return false;
    if (attr->kind == PDM_IR_ATTR_F32 || attr->kind == PDM_IR_ATTR_F64 ||
        (scalar && pdm_dtype_is_float(attr->dtype)))
        *out = attr->u.f;
    else if (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64 ||
             (scalar && pdm_dtype_is_int(attr->dtype)))
        *out = (double)attr->u.i;
    else if (attr->kind == PDM_IR_ATTR_BOOL || (scalar && attr->dtype == PDM_BOOL))
        *out = attr->kind == PDM_IR_ATTR_BOOL ? attr->u.b : attr->u.i != 0;
    else
        return false;
    return true;
}

bool pdm_cinn_is_constant(const pdm_map *constants, const pdm_ir_op *op)
{
    const uint16_t flags = op->info->desc ? op->info->desc->flags : 0;

    if (PDM_IR_IS(op, builtin, parameter))
        return true;
    if ((flags & (PDM_IR_PURE | PDM_IR_RANDOM)) != PDM_IR_PURE || op->num_regions > 0 ||
        PDM_IR_IS(op, pd_op, data) || PDM_IR_IS(op, pd_op, feed))
        return false;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *v = pdm_ir_op_operand_value(op, i);
        const pdm_ir_op *maker = v ? pdm_ir_value_op(v) : NULL;
        if (v && (!maker || !pdm_map_find(constants, maker)))
            return false;
    }
    return true;
}

double pdm_cinn_attr(const pdm_ir_op *op, const char *name, double fallback)
{
    double value;

    if (number_of(pdm_ir_op_attr(op, name), &value))
        return value;
    const int index = op->info->desc ? pdm_ir_op_info_attr(op->info, name, 0) : -1;
    if (index >= 0 && op->info->desc->attrs[index].default_json &&
        number_of(pdm_ir_op_info_default(op->info, (uint16_t)index), &value))
        return value;
    return fallback;
}

bool pdm_cinn_constant(const pdm_ir_value *value, double *out)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;
    double number;

    /* Integers beyond what a double holds exactly are left alone. */
    if (!op || !PDM_IR_IS(op, pd_op, full) || !number_of(pdm_ir_op_attr(op, "value"), &number) ||
        (fabs(number) >= 0x1p53 && isfinite(number)))
        return false;
    *out = number;
    return true;
}
