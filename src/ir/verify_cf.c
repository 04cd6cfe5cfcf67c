/* Rules of the ops with regions and of the stacks that carry values from a loop to its reverse. */
#include "ir/ir_t.h"

#include <string.h>

/* ---- helpers --------------------------------------------------------------------------------- */

/* bool, and one element as far as is known. */
static bool is_condition(const pdm_ir_value *value)
{
    if (!value || !pdm_ir_type_is_tensor(value->type) || value->type->dtype != PDM_BOOL)
        return false;
    for (uint32_t i = 0; i < value->type->rank; i++) {
        if (value->type->dims[i] != 1 && value->type->dims[i] >= 0)
            return false;
    }
    return true;
}

static void check_condition(pdm_ir_verifier *v, const pdm_ir_op *op, const pdm_ir_value *value)
{
    if (!is_condition(value))
        pdm_ir_verify_fail(v, op, "cond", "The condition must be a bool tensor of one element.");
}

static bool check_num_regions(pdm_ir_verifier *v, const pdm_ir_op *op, uint32_t expected)
{
    if (op->num_regions == expected)
        return true;
    pdm_ir_verify_fail(v, op, NULL, "It has %u regions, not %u.", op->num_regions, expected);
    return false;
}

/* The only block of a region; NULL, told unless it may be missing. Several blocks are told
 * elsewhere. */
static const pdm_ir_block *only_block(pdm_ir_verifier *v, const pdm_ir_op *op, uint32_t region,
                                      bool may_miss)
{
    const pdm_ir_block *block = pdm_ir_op_region(op, region)->first;

    if (!block && !may_miss)
        pdm_ir_verify_fail(v, op, NULL, "Region %u has no block.", region);
    return block;
}

/* The yield that ends a block; NULL, told unless it may be missing. */
static const pdm_ir_op *yield_of(pdm_ir_verifier *v, const pdm_ir_op *op, const pdm_ir_block *block,
                                 uint32_t region, bool may_miss)
{
    const pdm_ir_op *last = block->last;

    if (last && PDM_IR_IS(last, cf, yield))
        return last;
    if (!may_miss)
        pdm_ir_verify_fail(v, op, NULL, "The block of region %u does not end in cf.yield.", region);
    return NULL;
}

static bool check_num_yielded(pdm_ir_verifier *v, const pdm_ir_op *op, const pdm_ir_op *yield,
                              uint32_t region, uint32_t expected)
{
    if (yield->num_operands == expected)
        return true;
    pdm_ir_verify_fail(v, op, NULL, "Region %u yields %u values, not %u.", region,
                       yield->num_operands, expected);
    return false;
}

static pdm_ir_type type_of(const pdm_ir_value *value)
{
    return value ? value->type : NULL;
}

static bool is_tensor_like(pdm_ir_type type)
{
    return type && type->rank > 0 &&
           (type->kind == PDM_IR_DENSE_TENSOR || type->kind == PDM_IR_SELECTED_ROWS);
}

/* Alike, and dims that are known on both sides agree. */
static bool types_meet(pdm_ir_type a, pdm_ir_type b)
{
    if (!pdm_ir_type_alike(a, b))
        return false;
    if (!is_tensor_like(a) || !is_tensor_like(b) || a->rank != b->rank)
        return true; /* a rank that is not known is written as one unknown dim */
    for (uint32_t i = 0; i < a->rank; i++) {
        /* Files of Paddle have products of unknown dims, so any negative number. */
        if (a->dims[i] != b->dims[i] && a->dims[i] >= 0 && b->dims[i] >= 0)
            return false;
    }
    return true;
}

/* ---- if -------------------------------------------------------------------------------------- */

static void check_branch(pdm_ir_verifier *v, const pdm_ir_op *op, uint32_t region)
{
    const bool no_results = op->num_results == 0;
    const pdm_ir_block *block = only_block(v, op, region, no_results && region == 1);

    if (!block)
        return;
    if (block->num_args > 0)
        pdm_ir_verify_fail(v, op, NULL, "A branch has no block arguments.");
    const pdm_ir_op *yield = yield_of(v, op, block, region, no_results);
    if (!yield || !check_num_yielded(v, op, yield, region, op->num_results))
        return;
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (!pdm_ir_type_alike(pdm_ir_op_result(op, i)->type,
                               type_of(pdm_ir_op_operand_value(yield, i))))
            pdm_ir_verify_fail(v, op, NULL, "Region %u yields another type than result %u has.",
                               region, i);
    }
}

static void check_if(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    check_condition(v, op, pdm_ir_op_operand_value(op, 0));
    if (!check_num_regions(v, op, 2))
        return;
    check_branch(v, op, 0);
    check_branch(v, op, 1);
}

/* ---- while ----------------------------------------------------------------------------------- */

static void check_loop_values(pdm_ir_verifier *v, const pdm_ir_op *op, const pdm_ir_block *block)
{
    for (uint32_t i = 0; i < op->num_results; i++) {
        const pdm_ir_type in = type_of(pdm_ir_op_operand_value(op, i + 1));
        if (!types_meet(in, pdm_ir_op_result(op, i)->type))
            pdm_ir_verify_fail(v, op, NULL, "Result %u is of another type than the loop value.", i);
        if (!types_meet(in, pdm_ir_block_arg(block, i)->type))
            pdm_ir_verify_fail(v, op, NULL,
                               "Block argument %u is of another type than the loop value.", i);
    }
}

static void check_while(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    const uint32_t n = op->num_operands - 1;

    check_condition(v, op, pdm_ir_op_operand_value(op, 0));
    if (op->num_results != n)
        pdm_ir_verify_fail(v, op, NULL, "It has %u loop values, but %u results.", n,
                           op->num_results);
    const pdm_ir_block *block = check_num_regions(v, op, 1) ? only_block(v, op, 0, false) : NULL;
    if (!block)
        return;
    if (block->num_args != n)
        pdm_ir_verify_fail(v, op, NULL, "It has %u loop values, but %u block arguments.", n,
                           block->num_args);
    else if (op->num_results == n)
        check_loop_values(v, op, block);
    const pdm_ir_op *yield = yield_of(v, op, block, 0, false);
    if (yield && check_num_yielded(v, op, yield, 0, n + 1))
        check_condition(v, op, pdm_ir_op_operand_value(yield, 0));
}

/* ---- yield and stacks ------------------------------------------------------------------------ */

static void check_yield(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    if (op->block == v->module->block)
        pdm_ir_verify_fail(v, op, NULL, "cf.yield must stand in the block of an op with regions.");
}

static bool is_kind(const pdm_ir_value *value, pdm_ir_type_kind kind)
{
    return value && value->type && value->type->kind == kind;
}

static void check_stack_create(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    static const struct {
        const char *name;
        pdm_ir_type_kind kind;
    } expected[] = {{"stack", PDM_IR_STACK}, {"inlet", PDM_IR_INLET}, {"outlet", PDM_IR_OUTLET}};

    for (uint32_t i = 0; i < 3; i++) {
        const pdm_ir_value *result = pdm_ir_op_result(op, i);
        const pdm_ir_use *use = pdm_ir_value_first_use(result);
        if (!is_kind(result, expected[i].kind))
            pdm_ir_verify_fail(v, op, expected[i].name, "The result must be of type %s.",
                               expected[i].name);
        if (i > 0 && use && use->next)
            pdm_ir_verify_fail(v, op, expected[i].name, "It must not have more than one use.");
    }
}

/* The pop that belongs to a push, if it can be found through their stack. */
static const pdm_ir_op *pop_of(const pdm_ir_op *push)
{
    const pdm_ir_op *create = pdm_ir_value_op(pdm_ir_op_operand_value(push, 0));

    if (!create || !PDM_IR_IS(create, cf, stack_create) || create->num_results != 3)
        return NULL;
    const pdm_ir_use *use = pdm_ir_value_first_use(pdm_ir_op_result(create, 2));
    return use && PDM_IR_IS(use->owner, cf, tuple_pop) ? use->owner : NULL;
}

static void check_push(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    if (!is_kind(pdm_ir_op_operand_value(op, 0), PDM_IR_INLET)) {
        pdm_ir_verify_fail(v, op, "inlet", "The operand must be of type inlet.");
        return;
    }
    const pdm_ir_op *pop = pop_of(op);
    if (!pop)
        return;
    if (pop->num_results != op->num_operands - 1) {
        pdm_ir_verify_fail(v, op, NULL, "It pushes %u values, but %u are popped.",
                           op->num_operands - 1, pop->num_results);
        return;
    }
    for (uint32_t i = 0; i < pop->num_results; i++) {
        if (!types_meet(type_of(pdm_ir_op_operand_value(op, i + 1)),
                        pdm_ir_op_result(pop, i)->type))
            pdm_ir_verify_fail(v, op, NULL, "Value %u is popped with another type.", i);
    }
}

static void check_pop(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    if (!is_kind(pdm_ir_op_operand_value(op, 0), PDM_IR_OUTLET))
        pdm_ir_verify_fail(v, op, "outlet", "The operand must be of type outlet.");
}

static void check_has_elements(pdm_ir_verifier *v, const pdm_ir_op *op)
{
    if (!is_kind(pdm_ir_op_operand_value(op, 0), PDM_IR_STACK))
        pdm_ir_verify_fail(v, op, "container", "The operand must be of type stack.");
    if (!is_condition(pdm_ir_op_result(op, 0)))
        pdm_ir_verify_fail(v, op, "out", "The result must be a bool tensor of one element.");
}

void pdm_ir_verify_cf(pdm_ir_verifier *verifier, const pdm_ir_op *op)
{
    switch (op->info->code) {
    case PDM_IR_OP_cf_has_elements:
        check_has_elements(verifier, op);
        break;
    case PDM_IR_OP_cf_stack_create:
        check_stack_create(verifier, op);
        break;
    case PDM_IR_OP_cf_tuple_pop:
        check_pop(verifier, op);
        break;
    case PDM_IR_OP_cf_tuple_push:
        check_push(verifier, op);
        break;
    case PDM_IR_OP_cf_yield:
        check_yield(verifier, op);
        break;
    case PDM_IR_OP_pd_op_if:
        check_if(verifier, op);
        break;
    case PDM_IR_OP_pd_op_while:
        check_while(verifier, op);
        break;
    default:
        break;
    }
}
