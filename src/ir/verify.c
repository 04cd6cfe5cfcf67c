/*
 * The verifier: every op against its row, every operand against the place of its definition, every
 * use list. It reports all problems and changes nothing. Ops of the legacy dialect have no row;
 * only structure is checked there.
 */
#include "ir/ir_t.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pdm_ir_verify_fail(pdm_ir_verifier *verifier, const pdm_ir_op *op, const char *var,
                        const char *format, ...)
{
    char text[512];
    pdm_loc loc = PDM_NOWHERE;
    va_list args;

    if (op) {
        loc.block = verifier->place->block;
        loc.op_index = verifier->place->op_index;
        loc.op_type = pdm_ir_op_name(op);
    }
    loc.var = var;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)pdm_diag(verifier->sink, PDM_D_IR_VERIFY, &loc, NULL, "%s", text);
    verifier->worst = PDM_INVALID_MODEL;
}

bool pdm_ir_type_alike(pdm_ir_type a, pdm_ir_type b)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind || a->dtype != b->dtype)
        return false;
    if (a->kind != PDM_IR_VECTOR)
        return true;
    if (a->num_elements != b->num_elements)
        return false;
    for (uint32_t i = 0; i < a->num_elements; i++) {
        const pdm_ir_type x = a->elements[i], y = b->elements[i];
        if (x != y && (!x || !y || x->kind != y->kind || x->dtype != y->dtype))
            return false;
    }
    return true;
}

/* ---- operands and results against the row ---------------------------------------------------- */

/* Descriptors of operands and results have the same shape: a name and a kind. */
_Static_assert(sizeof(pdm_ir_operand_desc) == sizeof(pdm_ir_result_desc),
               "one count check serves both");

static bool is_many(pdm_ir_operand_kind kind)
{
    return kind == PDM_IR_OPERAND_MANY;
}

static bool is_cf_kind(pdm_ir_type type)
{
    return type->kind == PDM_IR_STACK || type->kind == PDM_IR_INLET || type->kind == PDM_IR_OUTLET;
}

static bool check_count(pdm_ir_verifier *v, const pdm_ir_op *op, const char *what, uint32_t count,
                        uint16_t declared, bool many)
{
    const uint32_t least = many ? declared - 1u : declared;

    if (count == least || (many && count > least))
        return true;
    pdm_ir_verify_fail(v, op, NULL, "It has %u %s, its row tells %s%u.", count, what,
                       many ? "at least " : "", least);
    return false;
}

static void check_operand_type(pdm_ir_verifier *v, const pdm_ir_op *op,
                               const pdm_ir_operand_desc *desc, pdm_ir_type type)
{
    switch (desc->kind) {
    case PDM_IR_OPERAND_VECTOR:
    case PDM_IR_OPERAND_OPTIONAL_VECTOR:
        if (type->kind != PDM_IR_VECTOR)
            pdm_ir_verify_fail(v, op, desc->name, "The operand must be a vector.");
        break;
    case PDM_IR_OPERAND_TENSOR:
    case PDM_IR_OPERAND_OPTIONAL:
    case PDM_IR_OPERAND_MUTABLE:
        if (type->kind == PDM_IR_VECTOR)
            pdm_ir_verify_fail(v, op, desc->name, "The operand must not be a vector.");
        else if (is_cf_kind(type) && strncmp(op->info->name, "cf.", 3))
            pdm_ir_verify_fail(v, op, desc->name,
                               "The operand must not be a stack or an end of one.");
        break;
    case PDM_IR_OPERAND_MUTABLE_INTS:
    case PDM_IR_OPERAND_MANY:
        break;
    }
}

/* A list of tensors may have holes; combine is where they come from. */
static bool may_be_absent(const pdm_ir_op *op, pdm_ir_operand_kind kind)
{
    return kind == PDM_IR_OPERAND_OPTIONAL || kind == PDM_IR_OPERAND_OPTIONAL_VECTOR ||
           (is_many(kind) && PDM_IR_IS(op, builtin, combine));
}

static void check_operands(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    const pdm_ir_op_desc *row = op->info->desc;

    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_operand_desc *desc =
            &row->operands[i < row->num_operands ? i : row->num_operands - 1u];
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (value && value->type)
            check_operand_type(v, op, desc, value->type);
        else if (value)
            pdm_ir_verify_fail(v, op, desc->name, "The operand is a result that does not exist.");
        else if (!may_be_absent(op, desc->kind))
            pdm_ir_verify_fail(v, op, desc->name, "A required operand is absent.");
    }
}

static void check_result(pdm_ir_verifier *v, const pdm_ir_op *op, const pdm_ir_result_desc *desc,
                         pdm_ir_type type)
{
    if (!type) { /* a list may be left out: pd_op.distribute_fpn_proposals without rois_num */
        if (desc->kind == PDM_IR_OPERAND_TENSOR)
            pdm_ir_verify_fail(v, op, desc->name, "A required result has no type.");
        return;
    }
    if (desc->kind == PDM_IR_OPERAND_VECTOR && type->kind != PDM_IR_VECTOR)
        pdm_ir_verify_fail(v, op, desc->name, "The result must be a vector.");
    if ((desc->kind == PDM_IR_OPERAND_TENSOR || desc->kind == PDM_IR_OPERAND_OPTIONAL) &&
        type->kind == PDM_IR_VECTOR)
        pdm_ir_verify_fail(v, op, desc->name, "The result must not be a vector.");
    if (type->kind <= PDM_IR_SPARSE_CSR && type->dtype == PDM_UNDEFINED)
        pdm_ir_verify_fail(v, op, desc->name, "The element type of the result is not known.");
}

static void check_results(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    const pdm_ir_op_desc *row = op->info->desc;

    for (uint32_t i = 0; i < op->num_results; i++) {
        const pdm_ir_result_desc *desc =
            &row->results[i < row->num_results ? i : row->num_results - 1u];
        check_result(v, op, desc, pdm_ir_op_result(op, i)->type);
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

/*
 * Releases that write the same version can differ: kthvalue and group_norm got their new types in a
 * patch release. So both types pass in the version of the change and in the one before, and an
 * attribute may be missing in the version that brought it.
 */
static bool type_passes(const pdm_ir_attr_desc *desc, int version, pdm_ir_attr attr)
{
    if (pdm_ir_decl_type_fits(pdm_ir_attr_desc_type(desc, version), attr))
        return true;
    const bool at_change =
        desc->changed_in && (version == desc->changed_in || version + 1 == desc->changed_in);
    return at_change &&
           (pdm_ir_decl_type_fits(desc->type, attr) || pdm_ir_decl_type_fits(desc->old_type, attr));
}

static void check_attrs(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    const pdm_ir_op_desc *row = op->info->desc;
    const int version = v->module->version > INT32_MAX ? INT32_MAX : (int)v->module->version;

    for (uint16_t i = 0; i < row->num_attrs; i++) {
        const pdm_ir_attr_desc *desc = &row->attrs[i];
        const pdm_ir_attr attr = pdm_ir_op_row_attr(op, i);
        if (!attr && (!desc->added_in || version > desc->added_in))
            pdm_ir_verify_fail(v, op, desc->name, "A required attribute is missing.");
        if (attr && !type_passes(desc, version, attr))
            pdm_ir_verify_fail(v, op, desc->name, "The attribute is of type %s, not %s.",
                               pdm_ir_attr_kind_name(attr->kind),
                               pdm_ir_decl_type_name(pdm_ir_attr_desc_type(desc, version)));
    }
}

/* The dictionary itself, for ops with and without a row. */
static void check_dictionary(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (!op->attrs[i].attr)
            pdm_ir_verify_fail(v, op, op->attrs[i].name, "The attribute has no value.");
        if (i > 0 && strcmp(op->attrs[i - 1].name, op->attrs[i].name) >= 0)
            pdm_ir_verify_fail(v, op, op->attrs[i].name, "The attributes are not sorted by name.");
    }
}

/* ---- dominance and capture ------------------------------------------------------------------- */

/* The op that holds op and stands in block, or op itself; NULL when op is not inside of block. */
static pdm_ir_op *ancestor_in(const pdm_ir_op *op, const pdm_ir_block *block)
{
    while (op && op->block != block)
        op = pdm_ir_op_parent(op);
    return (pdm_ir_op *)op;
}

static void check_dominance(pdm_ir_verifier *v, const pdm_ir_op *op, uint32_t index)
{
    const pdm_ir_value *value = pdm_ir_op_operand_value(op, index);
    pdm_ir_op *definition = pdm_ir_value_op(value);
    const pdm_ir_block *block = pdm_ir_value_block(value);
    pdm_ir_op *user = block ? ancestor_in(op, block) : NULL;

    if (!user)
        pdm_ir_verify_fail(
            v, op, NULL, "Operand %u is a value of a region that does not enclose the op.", index);
    else if (definition == user || (definition && !pdm_ir_op_is_before(definition, user)))
        pdm_ir_verify_fail(v, op, NULL, "Operand %u is used before it is defined.", index);
}

/* ---- use lists ------------------------------------------------------------------------------- */

static void check_uses(pdm_ir_verifier *v, const pdm_ir_op *op, const pdm_ir_value *value)
{
    const uintptr_t *back = &value->uses;

    for (const pdm_ir_use *use = pdm_ir_value_first_use(value); use; use = use->next) {
        if (use->value != value || use->back != back) {
            pdm_ir_verify_fail(v, op, NULL, "The use list of a value is broken.");
            return;
        }
        back = (const uintptr_t *)&use->next;
        v->num_uses++;
    }
}

static void check_all_uses(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_results; i++)
        check_uses(v, op, pdm_ir_op_result(op, i));
    for (uint32_t i = 0; i < op->num_regions; i++) {
        for (const pdm_ir_block *block = pdm_ir_op_region(op, i)->first; block;
             block = block->next) {
            for (uint32_t k = 0; k < block->num_args; k++)
                check_uses(v, op, pdm_ir_block_arg(block, k));
        }
    }
}

/* ---- structure ------------------------------------------------------------------------------- */

static void check_regions(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    const pdm_ir_op_desc *row = op->info->desc;

    if (row && op->num_regions > 0 && !pdm_ir_op_info_has_trait(op->info, PDM_IR_REGION))
        pdm_ir_verify_fail(v, op, NULL, "An op of this kind has no regions.");
    for (uint32_t i = 0; i < op->num_regions; i++) {
        const pdm_ir_region *region = pdm_ir_op_region(op, i);
        if (region->owner != op || region->index != i)
            pdm_ir_verify_fail(v, op, NULL, "Region %u belongs to another op.", i);
        if (region->first && region->first->next)
            pdm_ir_verify_fail(v, op, NULL, "Region %u has more than one block.", i);
        for (const pdm_ir_block *block = region->first; block; block = block->next) {
            if (block->region != region)
                pdm_ir_verify_fail(v, op, NULL, "A block of region %u belongs to another one.", i);
        }
    }
}

static void check_terminator(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    if (op->next && pdm_ir_op_info_has_trait(op->info, PDM_IR_TERMINATOR))
        pdm_ir_verify_fail(v, op, NULL, "A terminator must be the last op of its block.");
}

/* ---- builtin ops ----------------------------------------------------------------------------- */

static void check_combine(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    const pdm_ir_type type = pdm_ir_op_result(op, 0)->type;

    if (!type || type->kind != PDM_IR_VECTOR)
        return; /* told already */
    if (type->num_elements != op->num_operands) {
        pdm_ir_verify_fail(v, op, NULL, "The vector has %u elements, but there are %u operands.",
                           type->num_elements, op->num_operands);
        return;
    }
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (!pdm_ir_type_alike(type->elements[i], value ? value->type : NULL))
            pdm_ir_verify_fail(v, op, NULL,
                               "Element %u of the vector is of another type than its operand.", i);
    }
}

/* The vector that slice and split take apart; NULL when that was told already. */
static pdm_ir_type vector_operand(const pdm_ir_op *op)
{
    const pdm_ir_value *value = pdm_ir_op_operand_value(op, 0);

    return value && value->type && value->type->kind == PDM_IR_VECTOR ? value->type : NULL;
}

static void check_slice(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    const pdm_ir_type type = vector_operand(op);
    const pdm_ir_attr index = pdm_ir_op_attr(op, "index");

    if (!type || !index || index->kind != PDM_IR_ATTR_I32)
        return;
    if (index->u.i < 0 || index->u.i >= type->num_elements)
        pdm_ir_verify_fail(v, op, "index", "The vector has %u elements, there is no number %lld.",
                           type->num_elements, (long long)index->u.i);
    else if (!pdm_ir_type_alike(type->elements[index->u.i], pdm_ir_op_result(op, 0)->type))
        pdm_ir_verify_fail(v, op, NULL,
                           "The result is of another type than the element of the vector.");
}

static void check_split(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    const pdm_ir_type type = vector_operand(op);

    if (!type)
        return;
    if (type->num_elements != op->num_results) {
        pdm_ir_verify_fail(v, op, NULL, "The vector has %u elements, but there are %u results.",
                           type->num_elements, op->num_results);
        return;
    }
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (!pdm_ir_type_alike(type->elements[i], pdm_ir_op_result(op, i)->type))
            pdm_ir_verify_fail(v, op, NULL,
                               "Result %u is of another type than the element of the vector.", i);
    }
}

static void check_builtin(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    if (PDM_IR_IS(op, builtin, combine))
        check_combine(v, op);
    else if (PDM_IR_IS(op, builtin, slice))
        check_slice(v, op);
    else if (PDM_IR_IS(op, builtin, split))
        check_split(v, op);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void check_against_row(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    const pdm_ir_op_desc *row = op->info->desc;
    const bool many_in = row->num_operands && is_many(row->operands[row->num_operands - 1].kind);
    const bool many_out = row->num_results && is_many(row->results[row->num_results - 1].kind);
    const bool in = check_count(v, op, "operands", op->num_operands, row->num_operands, many_in);
    const bool out = check_count(v, op, "results", op->num_results, row->num_results, many_out);

    check_attrs(v, op);
    if (in)
        check_operands(v, op);
    if (out)
        check_results(v, op);
    if (in && out) {
        check_builtin(v, op);
        pdm_ir_verify_cf(v, op);
    }
}

static pdm_status check_op(void *user, pdm_ir_op *op, const pdm_ir_place *place)
{
    pdm_ir_verifier *v = user;

    v->place = place;
    check_dictionary(v, op);
    check_regions(v, op);
    check_terminator(v, op);
    if (op->info->desc)
        check_against_row(v, op);
    else if (strncmp(op->info->name, "legacy.", 7))
        pdm_ir_verify_fail(v, op, NULL, "A module must not stand inside of another one.");
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_use *use = pdm_ir_op_operand(op, i);
        if (use->owner != op)
            pdm_ir_verify_fail(v, op, NULL, "Operand %u belongs to another op.", i);
        if (!use->value)
            continue;
        v->num_operands++;
        check_dominance(v, op, i);
    }
    check_all_uses(v, op);
    return PDM_OK;
}

pdm_status pdm_ir_verify(const pdm_ir_module *module, pdm_diag_sink *sink)
{
    static const pdm_ir_place top = {0, 0, 0};
    pdm_ir_verifier v = {.module = module, .sink = sink, .place = &top};

    for (uint32_t i = 0; i < module->block->num_args; i++)
        check_uses(&v, module->op, pdm_ir_block_arg(module->block, i));
    PDM_TRY(pdm_ir_visit(module, sink, check_op, &v));
    if (v.worst == PDM_OK && v.num_operands != v.num_uses)
        pdm_ir_verify_fail(&v, NULL, NULL,
                           "The ops have %llu operands, but their values have %llu uses.",
                           (unsigned long long)v.num_operands, (unsigned long long)v.num_uses);
    return v.worst;
}
