/*
 * Chains of additions, multiplications and the like with constants, one number for all or one for each channel, and the convolutions and
 * products of matrices around them: no rounding in between is needed, so a chain becomes part of the weights before or
 * behind it, or one or two ops.
 */
#include "ir/passes/affine.h"

static const pdm_ir_pattern patterns[] = {
    {.name = "chain", .root = "pd_op.add", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.subtract", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.multiply", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.divide", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.scale", .rewrite = pdm_ir_affine_shorten},
    {.name = "chain", .root = "pd_op.batch_norm", .rewrite = pdm_ir_affine_shorten},
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
