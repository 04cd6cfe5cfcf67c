/* Dead code: what is left of a rewriting without patterns. */
#include "ir/rewrite.h"

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, NULL, 0);
}

const pdm_ir_pass pdm_ir_pass_dce = {
    .name = "dce",
    .summary = "Remove ops without effect whose results nobody reads, loops and branches of such ops, and "
               "parameters that are not used.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
