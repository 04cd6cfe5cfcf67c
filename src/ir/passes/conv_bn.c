/*
 * Batch normalization after a convolution is a factor and a shift for each channel: the factors go into the filter, and one
 * addition is left. A bias between the two goes into the shift.
 */
#include "ir/passes/affine.h"

static const pdm_ir_pattern patterns[] = {
    {.name = "batch_norm of a convolution",
     .root = "pd_op.batch_norm",
     .rewrite = pdm_ir_affine_take_norm},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return run->constants->source
               ? pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns)
               : PDM_OK;
}

const pdm_ir_pass pdm_ir_pass_conv_bn = {
    .name = "conv-bn",
    .summary = "Take batch normalization into the filter of the convolution before it.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
