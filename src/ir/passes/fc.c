/*
 * A product of matrices, the sum with a bias, and relu are one op, for which Paddle has a kernel on the CPU: the bias is added
 * where the product lies.
 */
#include "ir/picture.h"

static bool is_f32(pdm_ir_type type, uint32_t least_rank, uint32_t most_rank)
{
    return pdm_ir_type_is_tensor(type) && type->dtype == PDM_F32 && type->rank >= least_rank &&
           type->rank <= most_rank;
}

/* x [..., K], w [K, N], b [N] or [1, N]. */
static bool fits(pdm_ir_match *match)
{
    const pdm_ir_type x = pdm_ir_match_value(match, "x")->type, w = pdm_ir_match_value(match, "w")->type,
                      b = pdm_ir_match_value(match, "b")->type, y = pdm_ir_match_value(match, "y")->type;
    pdm_ir_context *context = pdm_ir_match_rewriter(match)->context;

    if (!is_f32(x, 2, PDM_MAX_RANK) || !is_f32(w, 2, 2) || !is_f32(b, 1, 2) ||
        !is_f32(y, x->rank, x->rank))
        return false;
    return w->dims[0] > 0 && w->dims[1] > 0 && x->dims[x->rank - 1] == w->dims[0] &&
           b->dims[b->rank - 1] == w->dims[1] && (b->rank == 1 || b->dims[0] == 1) &&
           pdm_ir_match_set(match, "dims", pdm_ir_attr_i32(context, (int32_t)x->rank - 1));
}

static const pdm_ir_pattern patterns[] = {
    {.name = "bias",
     .from = "%m = matmul(%x, %w)"
             "%y = add(%m, %b)",
     .where = fits,
     .to = "%y = fc(%x, %w, %b) {in_num_col_dims: $dims}"},
    {.name = "relu",
     .from = "%m = fc(%x, %w, %b) {in_num_col_dims: $dims}"
             "%y = relu(%m)",
     .to = "%y = fc(%x, %w, %b) {in_num_col_dims: $dims, activation_type: \"relu\"}"},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns);
}

const pdm_ir_pass pdm_ir_pass_fc = {
    .name = "fc",
    .summary = "Make one op of a product of matrices, the sum with a bias, and relu.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
