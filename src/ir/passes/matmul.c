/* Products of matrices: a transposition of the last two axes becomes a flag, and images of a legacy `mul`, which
 * flattened what it multiplied, lose their reshapes. */
#include "ir/infer.h"
#include "ir/picture.h"

enum { MAX_INTS = 64 };

/* Whether perm exchanges the last two axes and leaves the others. */
static bool swaps_last_two(pdm_ir_match *match)
{
    const pdm_ir_attr perm = pdm_ir_match_attr(match, "perm");
    const uint32_t rank = perm->kind == PDM_IR_ATTR_ARRAY ? perm->count : 0;

    for (uint32_t i = 0; i < rank; i++) {
        const uint32_t from = i == rank - 2 ? rank - 1 : i == rank - 1 ? rank - 2 : i;
        if (perm->u.items[i]->u.i != (int64_t)from)
            return false;
    }
    return rank >= 2;
}

static bool turn(pdm_ir_match *match, const char *flag)
{
    const pdm_ir_attr was = pdm_ir_match_attr(match, flag);

    return was->kind == PDM_IR_ATTR_BOOL &&
           pdm_ir_match_set(match, "turned",
                            pdm_ir_attr_bool(pdm_ir_match_rewriter(match)->context, !was->u.b));
}

static bool turn_x(pdm_ir_match *match)
{
    return swaps_last_two(match) && turn(match, "tx");
}

static bool turn_y(pdm_ir_match *match)
{
    return swaps_last_two(match) && turn(match, "ty");
}

/*
 * x [d1, ..., dn, K] was flattened to [-1, K] for a product with [K, N], and what came out brought to
 * [d1, ..., dn, N] again: the product does that by itself.
 */
static bool flattens_rows(pdm_ir_match *match)
{
    const pdm_ir_type x = pdm_ir_match_value(match, "x")->type,
                      rows = pdm_ir_match_value(match, "rows")->type,
                      w = pdm_ir_match_value(match, "w")->type,
                      out = pdm_ir_match_value(match, "y")->type;

    if (!pdm_ir_type_is_tensor(x) || !pdm_ir_type_is_tensor(rows) || !pdm_ir_type_is_tensor(w) ||
        !pdm_ir_type_is_tensor(out))
        return false;
    const uint32_t rank = x->rank;
    uint32_t unknown = 0;
    if (rank < 2 || out->rank != rank || rows->rank != 2 || w->rank != 2 || x->dims[rank - 1] <= 0 ||
        rows->dims[1] != x->dims[rank - 1] || w->dims[0] != rows->dims[1] ||
        out->dims[rank - 1] != w->dims[1] || w->dims[1] <= 0)
        return false;
    /* The same leading dimensions; one that is not known follows from the others. */
    for (uint32_t i = 0; i + 1 < rank; i++) {
        if (x->dims[i] != out->dims[i] || x->dims[i] == 0)
            return false;
        unknown += x->dims[i] < 0;
    }
    return unknown <= 1;
}

static const pdm_ir_pattern patterns[] = {
    {.name = "transpose into x of matmul",
     .from = "%a+ = transpose(%x) {perm: $perm}"
             "%c = matmul(%a, %y) {transpose_x: $tx, transpose_y: $ty}",
     .where = turn_x,
     .to = "%c = matmul(%x, %y) {transpose_x: $turned, transpose_y: $ty}"},
    {.name = "transpose into y of matmul",
     .from = "%a+ = transpose(%y) {perm: $perm}"
             "%c = matmul(%x, %a) {transpose_x: $tx, transpose_y: $ty}",
     .where = turn_y,
     .to = "%c = matmul(%x, %y) {transpose_x: $tx, transpose_y: $turned}"},
    {.name = "matmul of flattened rows",
     .from = "%rows+ = reshape(%x, %flat)"
             "%c = matmul(%rows, %w)"
             "%y = reshape(%c, %shape)",
     .where = flattens_rows,
     .to = "%y = matmul(%x, %w)"},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns);
}

const pdm_ir_pass pdm_ir_pass_matmul = {
    .name = "matmul",
    .summary = "Take transpositions and reshapes around products of matrices into the products.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
