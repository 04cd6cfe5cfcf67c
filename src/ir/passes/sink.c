/*
 * Transpositions that have elementwise ops between them meet, and so do ops that only change the shape: the later one moves up to the
 * earlier one, and what is elementwise is done behind both. Every element is computed as before.
 */
#include "ir/infer.h"
#include "ir/rewrite.h"

enum { MOST = 8 };

/* Each element of the result follows from that of operand 0 alone; the other operands are numbers. */
static bool is_elementwise(const pdm_ir_op *op)
{
    double number;

    switch (op->info->code) {
    case PDM_IR_OP_pd_op_abs:
    case PDM_IR_OP_pd_op_cast:
    case PDM_IR_OP_pd_op_elu:
    case PDM_IR_OP_pd_op_erf:
    case PDM_IR_OP_pd_op_exp:
    case PDM_IR_OP_pd_op_gelu:
    case PDM_IR_OP_pd_op_hardsigmoid:
    case PDM_IR_OP_pd_op_hardswish:
    case PDM_IR_OP_pd_op_leaky_relu:
    case PDM_IR_OP_pd_op_mish:
    case PDM_IR_OP_pd_op_pow:
    case PDM_IR_OP_pd_op_relu:
    case PDM_IR_OP_pd_op_relu6:
    case PDM_IR_OP_pd_op_rsqrt:
    case PDM_IR_OP_pd_op_sigmoid:
    case PDM_IR_OP_pd_op_silu:
    case PDM_IR_OP_pd_op_softplus:
    case PDM_IR_OP_pd_op_sqrt:
    case PDM_IR_OP_pd_op_square:
    case PDM_IR_OP_pd_op_swish:
    case PDM_IR_OP_pd_op_tanh:
        return true;
    case PDM_IR_OP_pd_op_clip:
    case PDM_IR_OP_pd_op_scale:
        for (uint32_t i = 1; i < op->num_operands; i++) {
            if (!pdm_ir_const_number(pdm_ir_op_in(op, i), &number))
                return false;
        }
        return true;
    default:
        return false;
    }
}

/* Elementwise ops above a value, each read by the next one alone, and who makes what the first of them is given. */
typedef struct chain {
    const pdm_ir_op *ops[MOST]; /* the last one first */
    size_t count;
    pdm_ir_op *above; /* NULL: the chain is too long, or in another block */
} chain;

static void read_chain(const pdm_ir_rewriter *rw, pdm_ir_value *value, chain *out)
{
    *out = (chain){.count = 0};
    pdm_ir_op *op = pdm_ir_rw_maker(rw, value, true);

    while (op && is_elementwise(op) && out->count < MOST) {
        out->ops[out->count++] = op;
        value = pdm_ir_op_in(op, 0);
        op = pdm_ir_rw_maker(rw, value, true);
        if (!op) /* what is above may have other readers */
            out->above = pdm_ir_rw_maker(rw, value, false);
    }
    if (op)
        out->above = is_elementwise(op) ? NULL : op;
}

/* The ops of a chain on another value, before the op at hand. */
static pdm_ir_op *repeat(pdm_ir_rewriter *rw, const chain *c, pdm_ir_value *value)
{
    pdm_ir_op *op = NULL;

    for (size_t i = c->count; i-- > 0; value = pdm_ir_op_result(op, 0)) {
        op = pdm_ir_rw_make_like(rw, c->ops[i], value);
        if (!op)
            return NULL;
    }
    return op;
}

static bool is_read_once(const pdm_ir_value *value)
{
    const pdm_ir_use *use = pdm_ir_value_first_use(value);

    return use && !use->next;
}

/* ---- transpositions -------------------------------------------------------------------------- */

static bool transpose_of_elementwise(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    int64_t first[PDM_MAX_RANK], second[PDM_MAX_RANK];
    int32_t both[PDM_MAX_RANK];
    size_t rank, other;
    bool nothing = true;
    chain c;

    read_chain(rw, pdm_ir_op_in(op, 0), &c);
    if (c.count == 0 || !c.above || !PDM_IR_IS(c.above, pd_op, transpose) ||
        !pdm_ir_op_perm(c.above, first, &rank) || !pdm_ir_op_perm(op, second, &other) || rank != other)
        return false;
    for (size_t i = 0; i < rank; i++) {
        both[i] = (int32_t)first[second[i]];
        nothing = nothing && both[i] == (int32_t)i;
    }
    pdm_ir_value *x = pdm_ir_op_in(c.above, 0);
    if (!nothing) {
        if (!is_read_once(pdm_ir_op_result(c.above, 0)))
            return false;
        const pdm_ir_make_attr attrs[] = {{"perm", pdm_ir_attr_i32s(rw->context, both, rank)}, {0}};
        pdm_ir_op *turned = pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_transpose, &x, 1, attrs);
        if (!turned)
            return false;
        x = pdm_ir_op_result(turned, 0);
    }
    return pdm_ir_rw_replace(rw, op, repeat(rw, &c, x));
}

static bool same_dims(pdm_ir_type a, pdm_ir_type b)
{
    return a->rank == b->rank && (a->rank == 0 || !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims));
}

/* Two values that were transposed the same way: their sum is, once. One of them is as large as that. */
static bool binary_of_transposes(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_op *const a = pdm_ir_rw_maker(rw, pdm_ir_op_in(op, 0), true),
                    *const b = pdm_ir_rw_maker(rw, pdm_ir_op_in(op, 1), true);

    if (!a || !b || a == b || op->num_operands != 2 || !PDM_IR_IS(a, pd_op, transpose) ||
        !PDM_IR_IS(b, pd_op, transpose) || pdm_ir_op_attr(a, "perm") != pdm_ir_op_attr(b, "perm"))
        return false;
    const int64_t axis = (int64_t)pdm_ir_op_number(op, "axis", -1);
    pdm_ir_value *in[] = {pdm_ir_op_in(a, 0), pdm_ir_op_in(b, 0)};
    if (axis != -1 || !pdm_ir_type_is_tensor(in[0]->type) || !pdm_ir_type_is_tensor(in[1]->type) ||
        in[0]->type->rank != in[1]->type->rank)
        return false;
    const pdm_ir_type result = pdm_ir_op_result(op, 0)->type;
    if (!same_dims(pdm_ir_op_in(op, 0)->type, result) && !same_dims(pdm_ir_op_in(op, 1)->type, result))
        return false;
    pdm_ir_op *made = pdm_ir_rw_make(rw, op->info->code, in, 2, NULL);
    return made &&
           pdm_ir_rw_replace(rw, op, pdm_ir_rw_make_like(rw, a, pdm_ir_op_result(made, 0)));
}

/* ---- changes of shape ------------------------------------------------------------------------ */

/* Whether pass `shape` makes one op of both, or none. */
static bool become_less(const pdm_ir_op *above, const pdm_ir_op *op)
{
    switch (above->info->code) {
    case PDM_IR_OP_pd_op_unsqueeze:
        if (PDM_IR_IS(op, pd_op, squeeze))
            return pdm_ir_same_axis(pdm_ir_op_in(above, 1), pdm_ir_op_in(op, 1));
        break;
    case PDM_IR_OP_pd_op_squeeze: {
        const pdm_ir_value *x = pdm_ir_op_in(above, 0);
        int64_t axis;
        size_t n;
        if (!PDM_IR_IS(op, pd_op, unsqueeze))
            break;
        return pdm_ir_same_axis(pdm_ir_op_in(above, 1), pdm_ir_op_in(op, 1)) && pdm_ir_const_ints(pdm_ir_op_in(op, 1), &axis, 1, &n) &&
               pdm_ir_type_is_tensor(x->type) &&
               (axis += axis < 0 ? x->type->rank : 0) >= 0 && axis < x->type->rank &&
               x->type->dims[axis] == 1;
    }
    case PDM_IR_OP_pd_op_reshape:
    case PDM_IR_OP_pd_op_flatten:
        break;
    default:
        return false;
    }
    return PDM_IR_IS(op, pd_op, reshape) && pdm_ir_shape_says_all(pdm_ir_op_in(op, 1)) && is_read_once(pdm_ir_op_result(above, 0));
}

static bool shape_of_elementwise(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    chain c;

    read_chain(rw, pdm_ir_op_in(op, 0), &c);
    if (c.count == 0 || !c.above || !become_less(c.above, op))
        return false;
    pdm_ir_op *moved = pdm_ir_rw_make_like(rw, op, pdm_ir_op_result(c.above, 0));
    return moved && pdm_ir_rw_replace(rw, op, repeat(rw, &c, pdm_ir_op_result(moved, 0)));
}

static const pdm_ir_pattern patterns[] = {
    {.name = "transpose", .root = "pd_op.transpose", .rewrite = transpose_of_elementwise},
    {.name = "two transposes", .root = "pd_op.add", .rewrite = binary_of_transposes},
    {.name = "two transposes", .root = "pd_op.subtract", .rewrite = binary_of_transposes},
    {.name = "two transposes", .root = "pd_op.multiply", .rewrite = binary_of_transposes},
    {.name = "two transposes", .root = "pd_op.divide", .rewrite = binary_of_transposes},
    {.name = "shape", .root = "pd_op.reshape", .rewrite = shape_of_elementwise},
    {.name = "shape", .root = "pd_op.squeeze", .rewrite = shape_of_elementwise},
    {.name = "shape", .root = "pd_op.unsqueeze", .rewrite = shape_of_elementwise},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns);
}

const pdm_ir_pass pdm_ir_pass_sink = {
    .name = "sink",
    .summary = "Have transpositions, and changes of shape, meet that have elementwise ops between them, so that they become one "
               "or none.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
