/* Depthwise convolutions, or chains of elementwise ops, and the convolutions with kernel 1 behind them become one op. */
#include <string.h>

#include "exec/fast/post.h"
#include "exec/lower/lower_impl.h"
#include "ir/channels.h"

enum { MOST_CHANNELS = 2048 }; /* exec/fast/separable.c holds some places of what is between */

static bool all_are(pdm_ir_attr attr, int64_t wanted)
{
    for (uint32_t i = 0; attr && attr->kind == PDM_IR_ATTR_ARRAY && i < attr->count; i++) {
        if (attr->u.items[i]->kind != PDM_IR_ATTR_I32 || attr->u.items[i]->u.i != wanted)
            return false;
    }
    return true;
}

/* A dim of the filter as the program has it. */
static int64_t filter_dim(const pdm_ir_op *op, uint32_t dim)
{
    pdm_ir_attr shape = pdm_ir_op_attr(op, "filter_shape");

    return shape && shape->kind == PDM_IR_ATTR_ARRAY && shape->count == 4 ? shape->u.items[dim]->u.i
                                                                          : -1;
}

/* A convolution that is a product of matrices. */
static bool is_pointwise(const pdm_ir_op *op)
{
    pdm_ir_attr groups = pdm_ir_op_attr(op, "groups");

    return pdm_ir_op_is(op, "fast.conv2d") && filter_dim(op, 2) == 1 && filter_dim(op, 3) == 1 &&
           (!groups || groups->u.i == 1) && all_are(pdm_ir_op_attr(op, "strides"), 1) &&
           all_are(pdm_ir_op_attr(op, "paddings"), 0);
}

/* Steps that leave the result's dims alone whatever they turn out to be: one number, or one a channel. */
static bool steps_are_simple(const pdm_ir_op *op, int64_t channels)
{
    for (uint32_t i = 3; i < op->num_operands; i++) {
        const pdm_ir_value *y = pdm_ir_op_operand_value(op, i);
        const int64_t count = pdm_ir_static_count(y);
        if (count != 1 && (count != channels || y->type->rank != 1))
            return false;
        if (y->type->rank > 4)
            return false;
    }
    return true;
}

static pdm_ir_op *follower(const pdm_lower *l, const pdm_ir_op *op)
{
    const pdm_ir_value *result = pdm_ir_op_result(op, 0);

    if (pdm_ir_value_num_uses(result) != 1 || pdm_lower_is_pinned(l, result))
        return NULL;
    pdm_ir_use *use = pdm_ir_value_first_use(result);
    return use->owner->block == op->block && pdm_ir_use_index(use) == 0 ? use->owner : NULL;
}

static void replace(pdm_lower *l, pdm_ir_op *first, pdm_ir_op *second, pdm_ir_op *made)
{
    const bool turned = pdm_map_find(&l->needs_last, second) != NULL;

    if (!made)
        return;
    pdm_ir_value_replace_all_uses(pdm_ir_op_result(second, 0), pdm_ir_op_result(made, 0));
    /* What is marked must be alive. */
    pdm_map_remove(&l->needs_last, first);
    pdm_map_remove(&l->needs_last, second);
    pdm_lower_kill(l, second);
    pdm_lower_kill(l, first);
    if (turned)
        pdm_lower_remember(l, &l->needs_last, made, made);
}

typedef struct operands {
    pdm_ir_value *v[5 + 2 * PDM_POST_MAX];
    size_t n;
} operands;

static void add_operands(operands *in, const pdm_ir_op *op, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++)
        in->v[in->n++] = pdm_ir_op_operand_value(op, i);
}

static void join(pdm_lower *l, pdm_ir_op *first, pdm_ir_op *second)
{
    operands in = {.n = 0};
    const pdm_lower_attr attrs[] = {
        {"filter_shape", pdm_ir_op_attr(first, "filter_shape")},
        {"strides", pdm_ir_op_attr(first, "strides")},
        {"paddings", pdm_ir_op_attr(first, "paddings")},
        {"padding_algorithm", pdm_ir_op_attr(first, "padding_algorithm")},
        {"dilations", pdm_ir_op_attr(first, "dilations")},
        {"groups", pdm_ir_op_attr(first, "groups")},
        {"channels", pdm_ir_attr_i64(l->context, filter_dim(second, 0))},
        {"inner_post", pdm_ir_op_attr(first, "post")},
        {"inner_post_args", pdm_ir_op_attr(first, "post_args")},
        {"post", pdm_ir_op_attr(second, "post")},
        {"post_args", pdm_ir_op_attr(second, "post_args")},
        {0}};

    add_operands(&in, first, 0, 3);
    add_operands(&in, second, 1, 3);
    add_operands(&in, first, 3, first->num_operands);
    add_operands(&in, second, 3, second->num_operands);
    replace(l, first, second, pdm_lower_make(l, second, second, "fast.separable_conv2d", in.v, in.n,
                                             pdm_ir_op_result(second, 0)->type, attrs));
}

void pdm_lower_separable(pdm_lower *l, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first; op && l->status == PDM_OK; op = op->next) {
        if (!pdm_ir_op_is(op, "fast.depthwise_conv2d") || op->num_operands < 3)
            continue;
        pdm_ir_op *second = follower(l, op);
        const int64_t channels = filter_dim(op, 0);
        if (second && is_pointwise(second) && channels > 0 && channels <= MOST_CHANNELS &&
            (pdm_map_find(&l->needs_last, op) != NULL) ==
                (pdm_map_find(&l->needs_last, second) != NULL) &&
            steps_are_simple(op, channels))
            join(l, op, second);
    }
}

/* Chains that can be told that their images are channels-last: of images and numbers only. */
static bool is_of_images(const pdm_ir_op *op, int64_t channels)
{
    const pdm_ir_type type = pdm_ir_op_result(op, 0)->type;

    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *y = pdm_ir_op_operand_value(op, i);
        if (!y || (y->type->rank != 4 && (i == 0 || pdm_ir_static_count(y) != 1)))
            return false;
    }
    return type->rank == 4 && type->dims[1] == channels;
}

static void join_steps(pdm_lower *l, pdm_ir_op *first, pdm_ir_op *second)
{
    operands in = {.n = 0};
    const pdm_lower_attr attrs[] = {{"channels", pdm_ir_attr_i64(l->context, filter_dim(second, 0))},
                                    {"inner_post", pdm_ir_op_attr(first, "post")},
                                    {"inner_post_args", pdm_ir_op_attr(first, "post_args")},
                                    {"post", pdm_ir_op_attr(second, "post")},
                                    {"post_args", pdm_ir_op_attr(second, "post_args")},
                                    {0}};

    add_operands(&in, first, 0, 1);
    add_operands(&in, second, 1, 3);
    add_operands(&in, first, 1, first->num_operands);
    add_operands(&in, second, 3, second->num_operands);
    replace(l, first, second, pdm_lower_make(l, second, second, "fast.stepped_conv2d", in.v, in.n,
                                             pdm_ir_op_result(second, 0)->type, attrs));
}

void pdm_lower_stepped(pdm_lower *l, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first; op && l->status == PDM_OK; op = op->next) {
        if (!pdm_ir_op_is(op, "fast.elementwise") || op->num_operands < 1)
            continue;
        pdm_ir_op *second = follower(l, op);
        if (!second || !is_pointwise(second) || !pdm_map_find(&l->needs_last, second))
            continue;
        const int64_t channels = filter_dim(second, 1);
        if (channels <= MOST_CHANNELS && is_of_images(op, channels))
            join_steps(l, op, second);
    }
}
