/* Ops that only change the shape: of several in a row the last one says it all. */
#include "ir/infer.h"
#include "ir/picture.h"

enum { MAX_INTS = 64 };

/* A known shape to reshape to, without dimensions that are copied from the operand. */
static bool copies_nothing(const pdm_ir_value *shape)
{
    int64_t dims[MAX_INTS];
    size_t count;

    if (!pdm_ir_const_ints(shape, dims, MAX_INTS, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (dims[i] == 0)
            return false;
    }
    return true;
}

static bool shape_says_all(pdm_ir_match *match)
{
    return copies_nothing(pdm_ir_match_value(match, "shape"));
}

static bool is_static(pdm_ir_type type)
{
    if (!pdm_ir_type_is_tensor(type))
        return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0)
            return false;
    }
    return true;
}

/* One unknown dimension is what the others leave, on both sides. */
static bool keeps_shape(pdm_ir_match *match)
{
    const pdm_ir_type before = pdm_ir_match_value(match, "x")->type;
    const pdm_ir_type after = pdm_ir_match_value(match, "y")->type;

    return before == after && is_static(before);
}

static bool same_axis(pdm_ir_match *match)
{
    int64_t a[MAX_INTS], b[MAX_INTS];
    size_t n, m;

    if (!pdm_ir_const_ints(pdm_ir_match_value(match, "axis"), a, MAX_INTS, &n) ||
        !pdm_ir_const_ints(pdm_ir_match_value(match, "back"), b, MAX_INTS, &m))
        return false;
    return n == 1 && m == 1 && a[0] == b[0];
}

static const pdm_ir_pattern patterns[] = {
    {.name = "reshape to the same",
     .from = "%y = reshape(%x, %shape)",
     .where = keeps_shape,
     .to = "%x"},
    {.name = "reshape of reshape",
     .from = "%a+ = reshape(%x, %first)"
             "%y = reshape(%a, %shape)",
     .where = shape_says_all,
     .to = "%y = reshape(%x, %shape)"},
    {.name = "reshape of flatten",
     .from = "%a+ = flatten(%x) {...}"
             "%y = reshape(%a, %shape)",
     .where = shape_says_all,
     .to = "%y = reshape(%x, %shape)"},
    {.name = "reshape of squeeze",
     .from = "%a+ = squeeze(%x, %axis)"
             "%y = reshape(%a, %shape)",
     .where = shape_says_all,
     .to = "%y = reshape(%x, %shape)"},
    {.name = "reshape of unsqueeze",
     .from = "%a+ = unsqueeze(%x, %axis)"
             "%y = reshape(%a, %shape)",
     .where = shape_says_all,
     .to = "%y = reshape(%x, %shape)"},
    {.name = "squeeze of unsqueeze",
     .from = "%a+ = unsqueeze(%x, %axis)"
             "%y = squeeze(%a, %back)",
     .where = same_axis,
     .to = "%x"},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns);
}

const pdm_ir_pass pdm_ir_pass_shape = {
    .name = "shape",
    .summary = "Make one of several ops in a row that only change the shape, or none.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
