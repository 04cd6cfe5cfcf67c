/*
 * Chains of additions, multiplications and the like with constants, one number for all or one for each channel, and the convolutions and
 * products of matrices around them: no rounding in between is needed, so a chain becomes part of the weights before or
 * behind it, or one or two ops.
 */
#include <math.h>

#include "ir/passes/affine.h"

/* Whether a number that multiplies a value may go up to operand 0 of the op that makes it. */
static bool passes_on(const pdm_ir_op *op)
{
    switch (op->info->code) {
    case PDM_IR_OP_pd_op_flatten:
    case PDM_IR_OP_pd_op_matmul:
    case PDM_IR_OP_pd_op_reshape:
    case PDM_IR_OP_pd_op_slice:
    case PDM_IR_OP_pd_op_squeeze:
    case PDM_IR_OP_pd_op_transpose:
    case PDM_IR_OP_pd_op_unsqueeze:
        return true;
    default:
        return false;
    }
}

/*
 * A value is scaled that a product with known weights makes, with ops between that only move it, and the product of two values: so
 * attention scales its queries, or what they give with the keys. The number goes up to the product, one op at a time, and into its weights.
 */
static bool scale_goes_up(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    enum { MOST = 8 };
    pdm_ir_op *first = pdm_ir_rw_maker(rw, pdm_ir_op_operand_value(op, 0), true), *above = first;
    double factor;

    if (!first || !passes_on(first) || pdm_ir_op_number(op, "bias", 0) != 0 || op->num_operands < 2 ||
        !pdm_ir_const_number(pdm_ir_op_operand_value(op, 1), &factor) || !(fabs(factor) <= 1))
        return false;
    for (int i = 0; i < MOST && above && passes_on(above); i++) {
        const pdm_ir_value *x = pdm_ir_op_operand_value(above, 0);
        if (pdm_ir_type_is_tensor(x->type) && x->type->dtype == PDM_F32 && pdm_ir_affine_is_product(rw, x)) {
            pdm_ir_op *scaled = pdm_ir_rw_make_like(rw, op, pdm_ir_op_operand_value(first, 0));
            return scaled &&
                   pdm_ir_rw_replace(rw, op, pdm_ir_rw_make_like(rw, first, pdm_ir_op_result(scaled, 0)));
        }
        above = pdm_ir_rw_maker(rw, x, true);
    }
    return false;
}

static const pdm_ir_pattern patterns[] = {
    {.name = "chain", .root = "pd_op.add", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.subtract", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.multiply", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.divide", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.scale", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.batch_norm", .rewrite = pdm_ir_affine_shorten},
    {.name = "scale goes up", .root = "pd_op.scale", .rewrite = scale_goes_up},
    {.name = "operand of a product", .root = "pd_op.conv2d", .rewrite = pdm_ir_affine_take_input},
    {.name = "operand of a product",
     .root = "pd_op.depthwise_conv2d",
     .rewrite = pdm_ir_affine_take_input},
    {.name = "operand of a product",
     .root = "pd_op.conv2d_transpose",
     .rewrite = pdm_ir_affine_take_input},
    {.name = "operand of a product", .root = "pd_op.matmul", .rewrite = pdm_ir_affine_take_input},
    {.name = "product of a product", .root = "pd_op.conv2d", .rewrite = pdm_ir_affine_join},
    {.name = "product of a product", .root = "pd_op.matmul", .rewrite = pdm_ir_affine_join},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return run->constants->source
               ? pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns)
               : PDM_OK;
}

const pdm_ir_pass pdm_ir_pass_linear = {
    .name = "linear",
    .summary = "Take factors and summands that are constant into the weights of convolutions and products of matrices, and make one "
               "of several.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
