/*
 * A constant that is broadcast loses its leading dimensions of one: [1, C, 1, 1] becomes [C, 1, 1], which means the same
 * beside an operand of four dimensions. Kernels of Paddle that see as many dimensions on both sides walk over
 * every index by itself; beside fewer they know a number for each channel.
 */
#include "ir/rewrite.h"

static bool is_static(pdm_ir_type type)
{
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0)
            return false;
    }
    return true;
}

/* y has as many dimensions as x, the first of which are one. */
static bool is_padded(const pdm_ir_value *x, const pdm_ir_value *y)
{
    return x && y && pdm_ir_type_is_tensor(x->type) && pdm_ir_type_is_tensor(y->type) &&
           x->type->rank == y->type->rank && y->type->rank >= 2 && y->type->rank <= PDM_MAX_RANK &&
           y->type->dims[0] == 1 && is_static(y->type);
}

/* The result must have the other operand's dimensions: all of them come from there. */
static bool shrink(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_value *x = pdm_ir_op_operand_value(op, 0), *y = pdm_ir_op_operand_value(op, 1);

    if (!is_padded(x, y) || !pdm_ir_is_constant(rw->run->constants, y) ||
        pdm_ir_constant_bytes(rw->run->constants, y) == 0)
        return false;
    uint32_t ones = 0;
    while (ones + 1 < y->type->rank && y->type->dims[ones] == 1)
        ones++;
    const pdm_ir_make_attr attrs[] = {
        {"value", pdm_ir_attr_i64s(rw->context, y->type->dims + ones, y->type->rank - ones)},
        {"dtype", pdm_ir_attr_dtype(rw->context, PDM_I64)},
        {0}};
    const pdm_ir_op *shape = pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_full_int_array, NULL, 0, attrs);
    if (!shape)
        return false;
    const pdm_ir_type type = pdm_ir_type_tensor(rw->context, y->type->dtype, y->type->dims + ones,
                                                y->type->rank - ones);
    if (!type) {
        rw->status = PDM_NOMEM;
        return false;
    }
    pdm_ir_value *in[] = {y, pdm_ir_op_result(shape, 0)};
    const pdm_ir_op *less =
        pdm_ir_rw_make_typed(rw, PDM_IR_OP_pd_op_reshape, in, 2, NULL, &type, 1);
    if (!less)
        return false;
    pdm_ir_rw_set_operand(rw, op, 1, pdm_ir_op_result(less, 0));
    return true;
}

static const pdm_ir_pattern patterns[] = {
    {.name = "add", .root = "pd_op.add", .rewrite = shrink},
    {.name = "subtract", .root = "pd_op.subtract", .rewrite = shrink},
    {.name = "multiply", .root = "pd_op.multiply", .rewrite = shrink},
    {.name = "divide", .root = "pd_op.divide", .rewrite = shrink},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return run->constants->source
               ? pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns)
               : PDM_OK;
}

const pdm_ir_pass pdm_ir_pass_broadcast = {
    .name = "broadcast",
    .summary = "Drop the leading ones of constants that are broadcast, for which Paddle has faster kernels.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
