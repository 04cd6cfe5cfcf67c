/* The table of rules, and which ops it lets into groups. */
#include "cinn/rules.h"

#include <math.h>

#include "base/tensor.h"
#include <string.h>

#define BIT(dtype) (1U << (dtype))
#define SINGLES    (BIT(PDM_F32) | BIT(PDM_F64))
#define FLOATS     (SINGLES | BIT(PDM_F16) | BIT(PDM_BF16))
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
#define PDM_CINN_NORM_RULE(op, tensors_, types_, fits_, element_, parts_, part_, term_)             \
    [PDM_IR_OP_pd_op_##op] = {.kind = PDM_CINN_REDUCTION,                                          \
                              .tensors = tensors_,                                                 \
                              .optional = true,                                                    \
                              .types = types_,                                                     \
                              .fits = pdm_cinn_fits_##fits_,                                       \
                              .shape = pdm_cinn_shape_normalized,                                  \
                              .element = pdm_cinn_element_##element_,                              \
                              .parts = parts_,                                                     \
                              .part = pdm_cinn_part_##part_,                                       \
                              .term = pdm_cinn_term_##term_},
#define PDM_CINN_SIZES_RULE(op, kind_, tensors_, sizes_, types_, fits_, shape_, element_)          \
    [PDM_IR_OP_pd_op_##op] = {.kind = PDM_CINN_##kind_,                                            \
                              .tensors = tensors_,                                                 \
                              .sizes = sizes_,                                                     \
                              .types = types_,                                                     \
                              .fits = pdm_cinn_fits_##fits_,                                       \
                              .shape = pdm_cinn_shape_##shape_,                                    \
                              .element = pdm_cinn_element_##element_},
#define PDM_CINN_LIST_RULE(op, kind_, types_, fits_, shape_, element_)                             \
    [PDM_IR_OP_pd_op_##op] = {.kind = PDM_CINN_##kind_,                                            \
                              .form = PDM_CINN_LIST,                                               \
                              .tensors = 1,                                                        \
                              .types = types_,                                                     \
                              .fits = pdm_cinn_fits_##fits_,                                       \
                              .shape = pdm_cinn_shape_##shape_,                                    \
                              .element = pdm_cinn_element_##element_},
#define PDM_CINN_ELEMENTS_RULE(op, fits_, shape_, element_)                                        \
    [PDM_IR_OP_builtin_##op] = {.kind = PDM_CINN_INJECTIVE,                                        \
                                .form = PDM_CINN_ELEMENTS,                                         \
                                .tensors = 1,                                                      \
                                .types = ALL,                                                      \
                                .fits = pdm_cinn_fits_##fits_,                                     \
                                .shape = pdm_cinn_shape_##shape_,                                  \
                                .element = pdm_cinn_element_##element_},
#define PDM_CINN_INDEX_RULE(op, tensors_, outside_, types_, fits_, shape_, element_)               \
    [PDM_IR_OP_pd_op_##op] = {.kind = PDM_CINN_SPREAD,                                             \
                              .tensors = tensors_,                                                 \
                              .outside = outside_,                                                 \
                              .types = types_,                                                     \
                              .fits = pdm_cinn_fits_##fits_,                                       \
                              .shape = pdm_cinn_shape_##shape_,                                    \
                              .element = pdm_cinn_element_##element_},
#define PDM_CINN_PIECES_RULE(op, form_, tensors_, sizes_, types_, fits_, shape_, pieces_, piece_)  \
    [PDM_IR_OP_pd_op_##op] = {.kind = PDM_CINN_INJECTIVE,                                          \
                              .form = PDM_CINN_##form_,                                            \
                              .tensors = tensors_,                                                 \
                              .sizes = sizes_,                                                     \
                              .types = types_,                                                     \
                              .fits = pdm_cinn_fits_##fits_,                                       \
                              .shape = pdm_cinn_shape_##shape_,                                    \
                              .pieces = pieces_,                                                   \
                              .piece_shape = pdm_cinn_piece_shape_##piece_,                        \
                              .piece = pdm_cinn_piece_##piece_},
#include "cinn/rules.def"
#undef PDM_CINN_RULE
#undef PDM_CINN_REDUCE_RULE
#undef PDM_CINN_SIZES_RULE
#undef PDM_CINN_LIST_RULE
#undef PDM_CINN_ELEMENTS_RULE
#undef PDM_CINN_INDEX_RULE
#undef PDM_CINN_NORM_RULE
#undef PDM_CINN_PIECES_RULE
};

const char *pdm_cinn_kind_name(pdm_cinn_kind kind)
{
    static const char *const names[] = {"view", "elementwise", "broadcast", "injective",
                                        "spread", "reduction"};

    return names[kind];
}

/* A dense tensor whose rank can be trusted: that of [-1] may stand for any. */
static bool is_known(pdm_ir_type type)
{
    return pdm_ir_type_is_tensor(type) && type->rank <= PDM_MAX_RANK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const pdm_ir_op *maker_of(const pdm_ir_op *op, uint32_t operand)
{
    const pdm_ir_value *v = operand < op->num_operands ? pdm_ir_op_operand_value(op, operand) : NULL;

    return v ? pdm_ir_value_op(v) : NULL;
}

/* The op that made the vector of operand 0. */
static const pdm_ir_op *combine_of(const pdm_ir_op *op)
{
    const pdm_ir_op *maker = maker_of(op, 0);

    return maker && PDM_IR_IS(maker, builtin, combine) ? maker : NULL;
}

/* Number `number` of the values that tell sizes and are not constant; NULL: there are not so many. */
static const pdm_ir_value *size_value(const pdm_cinn_rule *rule, const pdm_ir_op *op, uint32_t number)
{
    int64_t ints[PDM_CINN_MAX_INTS];
    double constant;
    size_t n;

    for (uint32_t i = 0; i < op->num_operands && rule->sizes >> i; i++) {
        const pdm_ir_value *v = pdm_ir_op_operand_value(op, i);
        if (!(rule->sizes & 1U << i) || !v || pdm_cinn_const_ints(op, i, ints, &n))
            continue;
        const pdm_ir_op *maker = maker_of(op, i);
        if (!maker || !PDM_IR_IS(maker, builtin, combine)) {
            if (number-- == 0)
                return v;
            continue;
        }
        for (uint32_t k = 0; k < maker->num_operands; k++) {
            v = pdm_ir_op_operand_value(maker, k);
            if (v && !pdm_cinn_constant(v, &constant) && number-- == 0)
                return v;
        }
    }
    return NULL;
}

/* The operand that is tensor `number` of those that are there. */
static uint32_t present(const pdm_cinn_rule *rule, const pdm_ir_op *op, uint32_t number)
{
    uint32_t i = 0;

    for (; i < rule->tensors; i++) {
        if (i < op->num_operands && pdm_ir_op_operand_value(op, i) && number-- == 0)
            break;
    }
    return i;
}

/* Tensors without those that tell sizes. */
static uint32_t num_data(const pdm_cinn_rule *rule, const pdm_ir_op *op)
{
    const pdm_ir_op *combine = rule->form == PDM_CINN_LIST ? combine_of(op) : NULL;
    uint32_t count = 0;

    while (rule->optional && present(rule, op, count) < rule->tensors)
        count++;
    if (count > 0)
        return count;
    return combine ? combine->num_operands + rule->tensors - 1 : rule->tensors;
}

uint32_t pdm_cinn_num_tensors(const pdm_ir_op *op)
{
    const pdm_cinn_rule *rule = &table[op->info->code];
    const uint32_t count = num_data(rule, op);
    uint32_t sizes = 0;

    while (rule->sizes && size_value(rule, op, sizes))
        sizes++;
    return count + sizes;
}

const pdm_ir_value *pdm_cinn_tensor(const pdm_ir_op *op, uint32_t number)
{
    const pdm_cinn_rule *rule = &table[op->info->code];
    const uint32_t count = num_data(rule, op);

    if (number >= count)
        return size_value(rule, op, number - count);
    if (rule->form == PDM_CINN_ELEMENTS) {
        const pdm_ir_op *maker = maker_of(op, 0);
        return maker && maker->num_operands > 0 ? pdm_ir_op_operand_value(maker, 0) : NULL;
    }
    if (rule->form == PDM_CINN_LIST) {
        const uint32_t listed = count + 1 - rule->tensors;
        if (combine_of(op) && number < listed)
            return pdm_ir_op_operand_value(combine_of(op), number);
        number = number - listed + 1;
    }
    if (rule->optional)
        number = present(rule, op, number);
    return number < op->num_operands ? pdm_ir_op_operand_value(op, number) : NULL;
}

static bool is_split(const pdm_ir_op *op)
{
    return PDM_IR_IS(op, pd_op, split) || PDM_IR_IS(op, pd_op, split_with_num) ||
           PDM_IR_IS(op, pd_op, unbind) || PDM_IR_IS(op, pd_op, unstack);
}

bool pdm_cinn_is_taken_apart(const pdm_ir_op *op)
{
    const pdm_ir_use *use = is_split(op) ? pdm_ir_value_first_use(pdm_ir_op_result(op, 0)) : NULL;

    for (const pdm_ir_use *u = use; u; u = u->next) {
        const pdm_cinn_rule *rule = u->owner->block == op->block ? pdm_cinn_rule_of(u->owner) : NULL;
        if (!rule || rule->form != PDM_CINN_ELEMENTS)
            return false;
    }
    return use != NULL;
}

/* The one op that reads the result, if it is in the same block. */
static const pdm_ir_op *sole_user(const pdm_ir_op *op)
{
    const pdm_ir_use *use = pdm_ir_value_first_use(pdm_ir_op_result(op, 0));

    return use && !use->next && use->owner->block == op->block ? use->owner : NULL;
}

/* A vector that is made must be for one op alone, in the same block. */
const pdm_ir_op *pdm_cinn_host(const pdm_ir_op *op)
{
    if (table[op->info->code].form == PDM_CINN_ELEMENTS) {
        const pdm_ir_op *maker = maker_of(op, 0);
        return maker && maker->block == op->block && pdm_cinn_is_taken_apart(maker) ? maker : NULL;
    }
    if (!PDM_IR_IS(op, builtin, combine))
        return NULL;
    const pdm_ir_op *user = sole_user(op);
    const pdm_cinn_rule *rule = user ? pdm_cinn_rule_of(user) : NULL;
    return rule && (rule->form == PDM_CINN_LIST || rule->sizes) ? user : NULL;
}

bool pdm_cinn_needs_host(const pdm_ir_op *op)
{
    return table[op->info->code].form == PDM_CINN_ELEMENTS || PDM_IR_IS(op, builtin, combine);
}

bool pdm_cinn_from_outside(const pdm_ir_op *op, uint32_t operand)
{
    if (!PDM_IR_IS(op, builtin, combine)) {
        const pdm_cinn_rule *rule = &table[op->info->code];
        const pdm_ir_op *maker = maker_of(op, operand);
        const bool combined = maker && PDM_IR_IS(maker, builtin, combine);
        return (rule->outside & 1U << operand) || ((rule->sizes & 1U << operand) && !combined);
    }
    const pdm_ir_op *host = pdm_cinn_host(op);
    return host && table[host->info->code].form != PDM_CINN_LIST;
}

/* ---- which ops fit --------------------------------------------------------------------------- */

/* Why results cannot be made in a group; NULL: they can. Of several results only the first is made, but
 * for vectors that are taken apart. */
static const char *results_refusal(const pdm_cinn_rule *rule, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_results; i++) {
        const pdm_ir_value *result = pdm_ir_op_result(op, i);
        if (i > 0 && rule->form != PDM_CINN_ELEMENTS) {
            if (pdm_ir_value_has_uses(result))
                return "its further results are used";
            continue;
        }
        if (!is_known(result->type))
            return "its shape is not known";
        if (!(ALL & BIT(result->type->dtype)))
            return "its element type";
    }
    return NULL;
}

static const char *tensors_refusal(const pdm_cinn_rule *rule, const pdm_ir_op *op)
{
    const uint32_t count = pdm_cinn_num_tensors(op), data = num_data(rule, op);

    if (rule->form == PDM_CINN_LIST && (!combine_of(op) || count > PDM_CINN_MAX_LIST))
        return "its list of operands";
    if (rule->form == PDM_CINN_ELEMENTS && (!maker_of(op, 0) || !is_split(maker_of(op, 0))))
        return "a vector that is not made by a split";
    for (uint32_t i = 0; i < count; i++) {
        const pdm_ir_value *x = pdm_cinn_tensor(op, i);
        const bool outside = i >= data || (i < 32 && rule->outside & 1U << i);
        const uint32_t types = outside ? BIT(PDM_I32) | BIT(PDM_I64) : rule->types;
        double number;
        if (!x || !is_known(x->type))
            return "an operand is absent or of unknown shape";
        if (!(types & BIT(x->type->dtype)))
            return "the element type of an operand";
        if (outside && pdm_cinn_constant(x, &number))
            return "a constant index";
    }
    return NULL;
}

/* Why an op may not be in a group; NULL: it may. */
static const char *refusal(const pdm_cinn_rule *rule, const pdm_ir_op *op)
{
    if (!rule->shape)
        return "there is no rule for it";
    if (op->num_operands < (rule->optional ? 1 : rule->tensors) || op->num_results == 0)
        return "it is not as declared";
    const char *reason = results_refusal(rule, op);
    if (!reason)
        reason = tensors_refusal(rule, op);
    if (!reason && !rule->fits(op))
        reason = "its attributes, or an operand that is no constant";
    return reason;
}

const pdm_cinn_rule *pdm_cinn_rule_of(const pdm_ir_op *op)
{
    const pdm_cinn_rule *rule = &table[op->info->code];

    return refusal(rule, op) ? NULL : rule;
}

const char *pdm_cinn_why_not(const pdm_ir_op *op)
{
    const pdm_cinn_rule *rule = &table[op->info->code];
    const char *reason = !is_split(op)                  ? refusal(rule, op)
                         : pdm_cinn_is_taken_apart(op) ? NULL
                                                       : "what takes it apart";

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

bool pdm_cinn_attr_ints(const pdm_ir_op *op, const char *name, int64_t out[PDM_CINN_MAX_INTS], size_t *out_n)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    *out_n = 0;
    if (!attr)
        return true;
    if (attr->kind == PDM_IR_ATTR_INT_ARRAY && attr->count <= PDM_CINN_MAX_INTS) {
        memcpy(out, attr->u.ints, attr->count * sizeof *out);
    } else if (attr->kind == PDM_IR_ATTR_ARRAY && attr->count <= PDM_CINN_MAX_INTS) {
        for (uint32_t i = 0; i < attr->count; i++) {
            const pdm_ir_attr_kind kind = attr->u.items[i]->kind;
            if (kind != PDM_IR_ATTR_I32 && kind != PDM_IR_ATTR_I64)
                return false;
            out[i] = attr->u.items[i]->u.i;
        }
    } else {
        return false;
    }
    *out_n = attr->count;
    return true;
}

bool pdm_cinn_const_ints(const pdm_ir_op *op, uint32_t index, int64_t out[PDM_CINN_MAX_INTS], size_t *out_n)
{
    return index < op->num_operands && pdm_ir_op_operand_value(op, index) &&
           pdm_ir_const_ints(pdm_ir_op_operand_value(op, index), out, PDM_CINN_MAX_INTS, out_n);
}

/* How many elements a tensor is declared to have; 0: too many, or not known. */
static size_t declared_count(pdm_ir_type type)
{
    int64_t count = 1;

    for (uint32_t d = 0; d < type->rank; d++) {
        if (type->dims[d] < 0 || type->dims[d] > PDM_CINN_MAX_INTS)
            return 0;
        count *= type->dims[d];
        if (count > PDM_CINN_MAX_INTS)
            return 0;
    }
    return (size_t)count;
}

bool pdm_cinn_has_sizes(const pdm_ir_op *op, uint32_t operand, size_t *out_n)
{
    int64_t ints[PDM_CINN_MAX_INTS];
    const pdm_ir_op *maker = maker_of(op, operand);

    if (pdm_cinn_const_ints(op, operand, ints, out_n))
        return true;
    if (operand >= op->num_operands || !pdm_ir_op_operand_value(op, operand))
        return false;
    if (!maker || !PDM_IR_IS(maker, builtin, combine)) {
        const pdm_ir_type type = pdm_ir_op_operand_value(op, operand)->type;
        *out_n = is_known(type) && type->rank <= 1 ? declared_count(type) : 0;
        return *out_n > 0;
    }
    *out_n = maker->num_operands;
    for (uint32_t i = 0; i < maker->num_operands; i++) {
        const pdm_ir_value *v = pdm_ir_op_operand_value(maker, i);
        if (!v || !is_known(v->type) || declared_count(v->type) != 1)
            return false;
    }
    return *out_n > 0 && *out_n <= PDM_CINN_MAX_INTS && sole_user(maker) == op;
}

bool pdm_cinn_axis(int64_t axis, uint32_t rank, uint32_t *out)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return false;
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
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

/* A tensor of that type holds it so. */
static double as_stored(double number, pdm_dtype dtype)
{
    switch ((int)dtype) {
    case PDM_F32:
        return (double)(float)number;
    case PDM_F16:
        return (double)pdm_f16_to_float(pdm_float_to_f16((float)number));
    case PDM_BF16:
        return (double)pdm_bf16_to_float(pdm_float_to_bf16((float)number));
    default:
        return number;
    }
}

bool pdm_cinn_constant(const pdm_ir_value *value, double *out)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;
    double number;

    /* Integers beyond what a double holds exactly are left alone. */
    if (!op || !PDM_IR_IS(op, pd_op, full) || !number_of(pdm_ir_op_attr(op, "value"), &number) ||
        (fabs(number) >= 0x1p53 && isfinite(number)))
        return false;
    *out = as_stored(number, pdm_ir_op_result(op, 0)->type->dtype);
    return true;
}
