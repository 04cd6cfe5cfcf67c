/*
 * Convolutions take over what follows them: constant factors and shifts go into filter and bias,
 * then elementwise ops become steps on their result, as long as nobody else reads what is between.
 * What is left of elementwise ops becomes chains of its own.
 */
#include <math.h>
#include <string.h>

#include "exec/fast/post.h"
#include "exec/lower/lower_impl.h"
#include "ir/channels.h"

/* An op that takes over others. */
typedef struct chain {
    pdm_lower *l;
    pdm_ir_op *head, *last; /* last: of those taken over */
    pdm_ir_value *current;  /* what is computed so far */
    int64_t channels;       /* 0: elements are not told apart */
    int rank, tail;         /* of the result; dims after that of the channels */
    pdm_ir_value *filter, *bias; /* filter NULL: no product, nothing can be folded */
    int filter_axis;             /* of output channels in the filter */
    int count;                   /* steps */
    int32_t kinds[PDM_POST_MAX];
    float args[2 * PDM_POST_MAX];
    pdm_ir_value *others[PDM_POST_MAX];
    size_t num_others;
    int num_fixed; /* operands before `others` */
    int lod;       /* operand of the new op whose LoD the result has; -1: none */
} chain;

/* ---- constants ------------------------------------------------------------------------------- */

static pdm_ir_type vector_type(const chain *c)
{
    return pdm_ir_type_tensor(c->l->context, PDM_F32, &c->channels, 1);
}

static pdm_ir_value *result_of(const pdm_ir_op *op)
{
    return op ? pdm_ir_op_result(op, 0) : NULL;
}

/* bias * factor + shift, a number a channel; each may be NULL. */
static pdm_ir_value *fold_bias(chain *c, pdm_ir_op *before, pdm_ir_value *bias,
                               pdm_ir_value *factor, pdm_ir_value *shift)
{
    const pdm_lower_attr attrs[] = {{"channels", pdm_ir_attr_i64(c->l->context, c->channels)}, {0}};

    return result_of(pdm_lower_make(c->l, before, c->head, "fast.fold_bias",
                                    (pdm_ir_value *[]){bias, factor, shift}, 3, vector_type(c),
                                    attrs));
}

/* current * factor + shift; either may be NULL. */
static void fold(chain *c, pdm_ir_op *before, pdm_ir_value *factor, pdm_ir_value *shift)
{
    const pdm_lower_attr attrs[] = {{"axis", pdm_ir_attr_i32(c->l->context, c->filter_axis)}, {0}};

    if (factor)
        c->filter = result_of(pdm_lower_make(c->l, before, c->head, "fast.fold_filter",
                                             (pdm_ir_value *[]){c->filter, factor}, 2,
                                             c->filter->type, attrs));
    if (c->bias || shift)
        c->bias = fold_bias(c, before, c->bias, factor, shift);
}

/* A known number for all channels, or one for each. */
static bool is_per_channel(const chain *c, const pdm_ir_value *y)
{
    return pdm_ir_is_per_channel(
               y, &(pdm_ir_channels){c->channels, (uint32_t)c->rank, (uint32_t)c->tail}) &&
           pdm_lower_is_constant(c->l, y);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool add_step(chain *c, pdm_post_kind kind, double a, double b, pdm_ir_value *other)
{
    if (c->count == PDM_POST_MAX)
        return false;
    c->kinds[c->count] = (int32_t)kind;
    c->args[2 * c->count] = (float)a;
    c->args[2 * c->count + 1] = (float)b;
    c->count++;
    if (other)
        c->others[c->num_others++] = other;
    return true;
}

static double float_attr(const pdm_ir_op *op, const char *name, double fallback)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);
    double number;

    return attr && pdm_lower_attr_number(attr, &number) ? number : fallback;
}

static bool bool_attr(const pdm_ir_op *op, const char *name, bool fallback)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return attr && attr->kind == PDM_IR_ATTR_BOOL ? attr->u.b : fallback;
}

static const struct unary {
    const char *name;
    pdm_post_kind kind;
    const char *a_name, *b_name; /* attributes */
    double a, b;
} unaries[] = {
    {"pd_op.hardsigmoid", PDM_POST_HARD_SIGMOID, "slope", "offset", 0.2, 0.5},
    {"pd_op.hardswish", PDM_POST_HARD_SWISH, NULL, NULL, 0, 0},
    {"pd_op.leaky_relu", PDM_POST_LEAKY_RELU, "negative_slope", NULL, 0.02, 0},
    {"pd_op.relu", PDM_POST_RELU, NULL, NULL, 0, 0},
    {"pd_op.relu6", PDM_POST_CLIP, NULL, NULL, 0, 6},
    {"pd_op.sigmoid", PDM_POST_SIGMOID, NULL, NULL, 0, 0},
    {"pd_op.silu", PDM_POST_SWISH, NULL, NULL, 1, 0},
    {"pd_op.swish", PDM_POST_SWISH, NULL, NULL, 1, 0},
    {"pd_op.tanh", PDM_POST_TANH, NULL, NULL, 0, 0},
};

static const struct binary {
    const char *name;
    pdm_post_kind kind, turned; /* turned: with the operands exchanged */
} binaries[] = {
    {"pd_op.add", PDM_POST_ADD, PDM_POST_ADD},
    {"pd_op.subtract", PDM_POST_SUB, PDM_POST_RSUB},
    {"pd_op.multiply", PDM_POST_MUL, PDM_POST_MUL},
    {"pd_op.divide", PDM_POST_DIV, PDM_POST_NUM_KINDS},
};

static bool take_unary(chain *c, const pdm_ir_op *op)
{
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
        const struct unary *u = &unaries[i];
        if (pdm_ir_op_is(op, u->name))
            return add_step(c, u->kind, u->a_name ? float_attr(op, u->a_name, u->a) : u->a,
                            u->b_name ? float_attr(op, u->b_name, u->b) : u->b, NULL);
    }
    if (pdm_ir_op_is(op, "pd_op.gelu"))
        return add_step(c, bool_attr(op, "approximate", false) ? PDM_POST_GELU_TANH : PDM_POST_GELU,
                        0, 0, NULL);
    double a, b;
    if (pdm_ir_op_is(op, "pd_op.clip"))
        return pdm_lower_number(pdm_ir_op_operand_value(op, 1), &a) &&
               pdm_lower_number(pdm_ir_op_operand_value(op, 2), &b) &&
               add_step(c, PDM_POST_CLIP, a, b, NULL);
    if (pdm_ir_op_is(op, "pd_op.scale") && pdm_lower_number(pdm_ir_op_operand_value(op, 1), &a)) {
        b = float_attr(op, "bias", 0);
        return add_step(c, PDM_POST_AFFINE, a, bool_attr(op, "bias_after_scale", true) ? b : a * b,
                        NULL);
    }
    return false;
}

static const struct binary *binary_of(const pdm_ir_op *op)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        if (pdm_ir_op_is(op, binaries[i].name))
            return &binaries[i];
    }
    return NULL;
}

/* Whether a value is made channels-last by an op that wants it so. */
static bool is_turned(const pdm_lower *l, const pdm_ir_value *value)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;

    return op && pdm_map_find(&l->needs_last, op);
}

/* Steps can read the operand of a repeated image when all images of the chain will be channels-last. */
static bool is_repeated(const chain *c, const pdm_ir_value *y, double times[2])
{
    const pdm_ir_value *x = pdm_lower_repeated(c->l, y, times);

    if (!x || pdm_ir_value_op(y)->block != c->head->block || c->rank != 4 ||
        c->current->type->rank != 4 || x->type->dims[1] != c->current->type->dims[1])
        return false;
    if (c->tail == 2)
        return true;
    for (size_t i = 0; i < c->num_others; i++) {
        if (c->others[i]->type->rank != 4 && pdm_ir_static_count(c->others[i]) != 1)
            return false;
    }
    return !c->filter && (is_turned(c->l, x) || is_turned(c->l, pdm_ir_op_operand_value(c->head, 0)));
}

static bool take_repeated(chain *c, pdm_post_kind kind, pdm_ir_value *y, bool first, const double times[2])
{
    pdm_ir_op *op = pdm_ir_value_op(y);

    if (!add_step(c, kind, times[0], times[1], pdm_ir_op_operand_value(op, 0)))
        return false;
    c->tail = 2;
    c->lod = first ? -1 : c->lod;
    pdm_lower_kill(c->l, op);
    return true;
}

/* What is computed so far is operand `at` of a binary op. */
static bool take_binary(chain *c, pdm_ir_op *op, const struct binary *row, uint32_t at)
{
    pdm_ir_value *y = pdm_ir_op_operand_value(op, 1 - at);
    const pdm_post_kind kind = at == 0 ? row->kind : row->turned;

    if (kind == PDM_POST_NUM_KINDS || !pdm_lower_is_f32(y) || y == c->current ||
        pdm_lower_is_pinned(c->l, y))
        return false;
    /* The framework passes on the LoD of the first operand. */
    const int lod = at == 0 ? c->lod : c->num_fixed + (int)c->num_others;
    if (is_per_channel(c, y)) {
        c->lod = at == 0 ? c->lod : -1; /* constants have none */
        if (c->filter && c->count == 0 && kind == PDM_POST_ADD)
            return fold(c, op, NULL, y), true;
        if (c->filter && c->count == 0 && kind == PDM_POST_MUL)
            return fold(c, op, y, NULL), true;
        if (pdm_ir_static_count(y) > 1 && c->count < PDM_POST_MAX)
            y = fold_bias(c, op, NULL, NULL, y);
        return y && add_step(c, kind, 0, 0, y);
    }
    double times[2];
    if (is_repeated(c, y, times))
        return take_repeated(c, kind, y, at != 0, times);
    /* Operands of other ranks would have to be told how their dims lie when images are turned. */
    if (c->tail > 0 && pdm_ir_static_count(y) != 1 && y->type->rank != 4)
        return false;
    c->lod = lod;
    return add_step(c, kind, 0, 0, y);
}

static bool is_known_vector(chain *c, const pdm_ir_value *value)
{
    return !value || (pdm_lower_is_f32(value) && pdm_ir_static_count(value) == c->channels &&
                      pdm_lower_is_constant(c->l, value));
}

/* Batch normalization with the statistics of the parameters is a factor and a shift. */
static bool take_batch_norm(chain *c, pdm_ir_op *op)
{
    pdm_ir_norm norm;

    if (c->channels == 0 || c->rank != 4 || c->count + 2 > PDM_POST_MAX ||
        !pdm_ir_is_fixed_norm(op, &norm) || norm.tail != (uint32_t)c->tail ||
        !is_known_vector(c, norm.mean) || !is_known_vector(c, norm.variance) ||
        !is_known_vector(c, norm.scale) || !is_known_vector(c, norm.shift))
        return false;
    const pdm_lower_attr attrs[] = {{"epsilon", pdm_ir_op_attr(op, "epsilon")}, {0}};
    pdm_ir_value *factor = result_of(pdm_lower_make(c->l, op, op, "fast.bn_factor",
                                                    (pdm_ir_value *[]){norm.variance, norm.scale},
                                                    2, vector_type(c), attrs));
    pdm_ir_value *shift = factor ? result_of(pdm_lower_make(
                                       c->l, op, op, "fast.bn_shift",
                                       (pdm_ir_value *[]){norm.mean, factor, norm.shift}, 3,
                                       vector_type(c), NULL))
                                 : NULL;
    if (!shift)
        return false;
    if (c->filter && c->count == 0)
        return fold(c, op, factor, shift), true;
    return add_step(c, PDM_POST_MUL, 0, 0, factor) && add_step(c, PDM_POST_ADD, 0, 0, shift);
}

static bool take(chain *c, pdm_ir_op *op, uint32_t at)
{
    const struct binary *row = binary_of(op);

    if (row)
        return take_binary(c, op, row, at);
    if (at != 0)
        return false;
    return pdm_ir_op_is(op, "pd_op.batch_norm") ? take_batch_norm(c, op) : take_unary(c, op);
}

/* Take over the only reader of what is computed so far, again and again. */
static void follow(chain *c)
{
    while (c->l->status == PDM_OK && pdm_ir_value_num_uses(c->current) == 1 &&
           !pdm_lower_is_pinned(c->l, c->current)) {
        pdm_ir_use *use = pdm_ir_value_first_use(c->current);
        pdm_ir_op *op = use->owner;
        /* Results of other shapes are left to those who make them. */
        if (op->block != c->head->block || op->num_results < 1 ||
            pdm_ir_op_result(op, 0)->type != c->current->type ||
            !take(c, op, pdm_ir_use_index(use)))
            return;
        c->current = pdm_ir_op_result(op, 0);
        c->last = op;
    }
}

/* ---- ends of chains -------------------------------------------------------------------------- */

/* All that was taken over goes; what it made is the new op's. */
static void replace(chain *c, pdm_ir_op *made)
{
    pdm_ir_value_replace_all_uses(c->current, result_of(made));
    for (pdm_ir_op *op = c->head; op;) {
        pdm_ir_use *use = op == c->last ? NULL : pdm_ir_value_first_use(pdm_ir_op_result(op, 0));
        pdm_ir_op *next = use ? use->owner : NULL;
        pdm_lower_kill(c->l, op);
        op = next;
    }
}

static bool is_last(const pdm_ir_op *op)
{
    return !strcmp(pdm_lower_text(op, "data_format"), "NHWC");
}

static pdm_ir_attr shape_attr(const chain *c, const pdm_ir_value *value)
{
    return pdm_ir_attr_i64s(c->l->context, value->type->dims, value->type->rank);
}

static pdm_ir_attr kinds_attr(const chain *c)
{
    return pdm_ir_attr_i32s(c->l->context, c->kinds, (size_t)c->count);
}

static pdm_ir_attr args_attr(const chain *c)
{
    return pdm_ir_attr_f32s(c->l->context, c->args, (size_t)c->count * 2);
}

/* The new op, with the weights packed for it. attrs: but for those of the steps. */
static void finish(chain *c, const char *pack, const pdm_lower_attr *pack_attrs, const char *name,
                   const pdm_lower_attr *attrs)
{
    pdm_lower *l = c->l;
    pdm_ir_value *in[3 + PDM_POST_MAX] = {pdm_ir_op_operand_value(c->head, 0), NULL, c->bias};
    pdm_lower_attr all[PDM_LOWER_MAX_ATTRS] = {{"post", kinds_attr(c)}, {"post_args", args_attr(c)}};
    const int64_t unknown = -1;

    for (size_t i = 0; attrs[i].name && i + 3 < PDM_LOWER_MAX_ATTRS; i++)
        all[i + 2] = attrs[i];
    in[1] = result_of(pdm_lower_make(l, c->last, c->head, pack, &c->filter, 1,
                                     pdm_ir_type_tensor(l->context, PDM_F32, &unknown, 1),
                                     pack_attrs));
    for (size_t i = 0; i < c->num_others; i++)
        in[3 + i] = c->others[i];
    pdm_ir_op *made =
        pdm_lower_make(l, c->last, c->head, name, in, 3 + c->num_others, c->current->type, all);
    if (!made)
        return;
    if (c->tail > 0)
        pdm_lower_remember(l, &l->needs_last, made, made);
    replace(c, made);
}

static void finish_conv(chain *c, bool depthwise)
{
    pdm_ir_op *head = c->head;
    pdm_ir_attr groups = pdm_ir_op_attr(head, "groups");
    const pdm_lower_attr pack_attrs[] = {{"groups", depthwise ? NULL : groups}, {0}};
    const pdm_lower_attr attrs[] = {{"filter_shape", shape_attr(c, c->filter)},
                                    {"strides", pdm_ir_op_attr(head, "strides")},
                                    {"paddings", pdm_ir_op_attr(head, "paddings")},
                                    {"padding_algorithm", pdm_ir_op_attr(head, "padding_algorithm")},
                                    {"dilations", pdm_ir_op_attr(head, "dilations")},
                                    {"groups", groups},
                                    {0}};

    finish(c, depthwise ? "fast.pack_depthwise" : "fast.pack_conv", pack_attrs,
           depthwise ? "fast.depthwise_conv2d" : "fast.conv2d", attrs);
}

static bool has_ints(const pdm_ir_op *op, const char *name, uint32_t least, uint32_t most)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return !attr ||
           (attr->kind == PDM_IR_ATTR_ARRAY && attr->count >= least && attr->count <= most);
}

/* Images and a known filter, all float32. */
static bool are_images(pdm_lower *l, const pdm_ir_op *op)
{
    const pdm_ir_value *x = pdm_ir_op_operand_value(op, 0), *filter = pdm_ir_op_operand_value(op, 1);
    const pdm_ir_value *out = pdm_ir_op_result(op, 0);
    const char *format = pdm_lower_text(op, "data_format");

    return pdm_lower_is_f32(x) && pdm_lower_is_f32(filter) && pdm_lower_is_f32(out) &&
           x->type->rank == 4 && filter->type->rank == 4 && out->type->rank == 4 &&
           pdm_ir_static_count(filter) > 0 && pdm_lower_is_constant(l, filter) &&
           !pdm_lower_is_pinned(l, x) && !pdm_lower_is_pinned(l, filter) &&
           has_ints(op, "paddings", 2, 4) &&
           (!strcmp(format, "NCHW") || !strcmp(format, "NHWC") || !strcmp(format, "AnyLayout") ||
            !strcmp(format, ""));
}

static void fuse_conv(pdm_lower *l, pdm_ir_op *op)
{
    const pdm_ir_value *filter = pdm_ir_op_operand_value(op, 1);
    pdm_ir_attr attr = pdm_ir_op_attr(op, "groups");
    const int64_t groups = attr && attr->kind == PDM_IR_ATTR_I32 ? attr->u.i : 1;
    chain c = {.l = l,
               .head = op,
               .last = op,
               .current = pdm_ir_op_result(op, 0),
               .rank = 4,
               .tail = is_last(op) ? 0 : 2,
               .channels = filter->type->dims[0],
               .num_fixed = 3,
               .filter = pdm_ir_op_operand_value(op, 1)};

    follow(&c);
    if (l->status == PDM_OK)
        finish_conv(&c, groups > 1 && groups == c.channels && filter->type->dims[1] == 1 &&
                            filter->type->dims[2] * filter->type->dims[3] <= 256);
}

/* ---- transposed convolution ------------------------------------------------------------------ */

/* Whether all numbers of an attribute are what is wanted. */
static bool all_are(const pdm_ir_op *op, const char *name, int64_t wanted)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    for (uint32_t i = 0; attr && attr->kind == PDM_IR_ATTR_ARRAY && i < attr->count; i++) {
        pdm_ir_attr item = attr->u.items[i];
        if (item->kind != PDM_IR_ATTR_I32 || item->u.i != wanted)
            return false;
    }
    return !attr || attr->kind == PDM_IR_ATTR_ARRAY;
}

static bool is_empty_list(const pdm_ir_value *value)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;
    pdm_ir_attr attr =
        op && pdm_ir_op_is(op, "pd_op.full_int_array") ? pdm_ir_op_attr(op, "value") : NULL;

    return !value || (attr && (attr->kind == PDM_IR_ATTR_ARRAY ||
                               attr->kind == PDM_IR_ATTR_INT_ARRAY) && attr->count == 0);
}

/* Kernels side by side: no result element gets more than one product. */
static bool is_apart(const pdm_ir_op *op)
{
    pdm_ir_type filter = pdm_ir_op_operand_value(op, 1)->type;
    pdm_ir_attr strides = pdm_ir_op_attr(op, "strides"), groups = pdm_ir_op_attr(op, "groups");

    if (!strides || strides->kind != PDM_IR_ATTR_ARRAY || strides->count != 2 ||
        (groups && (groups->kind != PDM_IR_ATTR_I32 || groups->u.i != 1)) ||
        !all_are(op, "paddings", 0) || !all_are(op, "output_padding", 0) ||
        !all_are(op, "dilations", 1) || !strcmp(pdm_lower_text(op, "padding_algorithm"), "SAME") ||
        !is_empty_list(pdm_ir_op_operand_value(op, 2)))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        pdm_ir_attr stride = strides->u.items[i];
        if (stride->kind != PDM_IR_ATTR_I32 || stride->u.i != filter->dims[2 + i])
            return false;
    }
    return filter->dims[1] * filter->dims[2] * filter->dims[3] <= 4096;
}

static void fuse_transposed(pdm_lower *l, pdm_ir_op *op)
{
    chain c = {.l = l,
               .head = op,
               .last = op,
               .current = pdm_ir_op_result(op, 0),
               .rank = 4,
               .tail = is_last(op) ? 0 : 2,
               .num_fixed = 3,
               .filter = pdm_ir_op_operand_value(op, 1),
               .filter_axis = 1};

    c.channels = c.filter->type->dims[1];
    follow(&c);
    if (l->status != PDM_OK)
        return;
    const pdm_lower_attr attrs[] = {{"filter_shape", shape_attr(&c, c.filter)}, {0}};
    finish(&c, "fast.pack_transposed", NULL, "fast.conv2d_transpose", attrs);
}

/* ---- products of matrices -------------------------------------------------------------------- */

static bool is_linear(pdm_lower *l, const pdm_ir_op *op)
{
    const pdm_ir_value *x = pdm_ir_op_operand_value(op, 0), *w = pdm_ir_op_operand_value(op, 1);

    return pdm_lower_is_f32(x) && pdm_lower_is_f32(w) &&
           pdm_lower_is_f32(pdm_ir_op_result(op, 0)) && x->type->rank >= 2 &&
           w->type->rank == 2 && pdm_ir_static_count(w) > 0 && pdm_lower_is_constant(l, w) &&
           !pdm_lower_is_pinned(l, x) && !pdm_lower_is_pinned(l, w) &&
           !bool_attr(op, "transpose_x", false);
}

/* A product that has its bias and activation with it, in a form that linear ops have. */
static bool is_fc(pdm_lower *l, const pdm_ir_op *op)
{
    const pdm_ir_value *bias = op->num_operands > 2 ? pdm_ir_op_operand_value(op, 2) : NULL;
    const char *act = pdm_lower_text(op, "activation_type");

    return is_linear(l, op) && !bool_attr(op, "padding_weights", false) &&
           float_attr(op, "in_num_col_dims", 1) == pdm_ir_op_operand_value(op, 0)->type->rank - 1 &&
           (!*act || !strcmp(act, "relu")) &&
           (!bias ||
            (pdm_lower_is_f32(bias) && !pdm_lower_is_pinned(l, bias) && pdm_lower_is_constant(l, bias) &&
             pdm_ir_static_count(bias) == pdm_ir_op_operand_value(op, 1)->type->dims[1]));
}

static void fuse_linear(pdm_lower *l, pdm_ir_op *op)
{
    const bool turned = bool_attr(op, "transpose_y", false);
    chain c = {.l = l,
               .head = op,
               .last = op,
               .current = pdm_ir_op_result(op, 0),
               .rank = (int)pdm_ir_op_operand_value(op, 0)->type->rank,
               .num_fixed = 3,
               .filter = pdm_ir_op_operand_value(op, 1),
               .filter_axis = turned ? 0 : 1};

    c.channels = c.filter->type->dims[c.filter_axis];
    if (op->num_operands > 2 && pdm_ir_op_operand_value(op, 2))
        fold(&c, op, NULL, pdm_ir_op_operand_value(op, 2));
    if (*pdm_lower_text(op, "activation_type"))
        add_step(&c, PDM_POST_RELU, 0, 0, NULL);
    follow(&c);
    if (l->status != PDM_OK)
        return;
    const pdm_lower_attr pack_attrs[] = {{"turned", pdm_ir_attr_bool(l->context, turned)}, {0}};
    const pdm_lower_attr attrs[] = {{"cols", pdm_ir_attr_i64(l->context, c.channels)},
                                    {"lod", pdm_ir_attr_i32(l->context, c.lod)},
                                    {0}};
    finish(&c, "fast.pack_matrix", pack_attrs, "fast.linear", attrs);
}

/* ---- elementwise ops ------------------------------------------------------------------------- */

/* The operand that has the result's shape goes first. */
static bool begin_binary(chain *c, const struct binary *row)
{
    pdm_ir_type type = pdm_ir_op_result(c->head, 0)->type;
    pdm_ir_value *in[2] = {pdm_ir_op_operand_value(c->head, 0), pdm_ir_op_operand_value(c->head, 1)};
    uint32_t at = 0;

    if (!pdm_lower_is_f32(in[0]) || !pdm_lower_is_f32(in[1]))
        return false;
    if (in[0]->type != type && in[1]->type == type && row->turned != PDM_POST_NUM_KINDS)
        at = 1;
    c->current = in[at];
    if (pdm_lower_is_pinned(c->l, in[at]) || pdm_lower_is_pinned(c->l, in[1 - at]))
        return false;
    c->lod = at == 0 ? 0 : 1;
    return add_step(c, at == 0 ? row->kind : row->turned, 0, 0, in[1 - at]);
}

static void fuse_elementwise(pdm_lower *l, pdm_ir_op *op)
{
    const struct binary *row = binary_of(op);
    pdm_ir_value *x = op->num_operands > 0 ? pdm_ir_op_operand_value(op, 0) : NULL;
    chain c = {.l = l, .head = op, .last = op, .current = x, .num_fixed = 1};

    if (!pdm_lower_is_f32(x) || pdm_lower_is_pinned(l, x) || op->num_results < 1 ||
        !pdm_lower_is_f32(pdm_ir_op_result(op, 0)) || x->type->rank == 0)
        return;
    c.rank = (int)x->type->rank;
    if (pdm_ir_op_is(op, "pd_op.batch_norm")) {

        c.tail = is_last(op) ? 0 : 2;
        c.channels = c.rank == 4 ? x->type->dims[3 - c.tail] : -1;
        if (c.channels < 1 || !take_batch_norm(&c, op))
            return;
    } else if (row ? !begin_binary(&c, row) : !take_unary(&c, op)) {
        return;
    }
    pdm_ir_value *in[1 + PDM_POST_MAX] = {c.current};
    c.current = pdm_ir_op_result(op, 0);
    follow(&c);
    if (l->status != PDM_OK)
        return;
    for (size_t i = 0; i < c.num_others; i++)
        in[1 + i] = c.others[i];
    const pdm_lower_attr attrs[] = {{"post", kinds_attr(&c)},
                                    {"post_args", args_attr(&c)},
                                    {"lod", pdm_ir_attr_i32(l->context, c.lod)},
                                    {0}};
    pdm_ir_op *made = pdm_lower_make(l, c.last, op, "fast.elementwise", in, 1 + c.num_others,
                                     c.current->type, attrs);
    if (!made)
        return;
    if (c.tail > 0)
        pdm_lower_remember(l, &l->needs_last, made, made);
    replace(&c, made);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Later products first, so that a sum of two is made by the one that comes last. */
static void fuse_products(pdm_lower *l, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->last, *prev; op && l->status == PDM_OK; op = prev) {
        prev = op->prev;
        if (op->num_operands < 2)
            continue;
        if ((pdm_ir_op_is(op, "pd_op.matmul") && is_linear(l, op)) ||
            (pdm_ir_op_is(op, "pd_op.fc") && is_fc(l, op)))
            fuse_linear(l, op);
        else if (pdm_ir_op_is(op, "pd_op.conv2d") || pdm_ir_op_is(op, "pd_op.depthwise_conv2d")) {
            if (are_images(l, op))
                fuse_conv(l, op);
        } else if (pdm_ir_op_is(op, "pd_op.conv2d_transpose") && are_images(l, op) && is_apart(op))
            fuse_transposed(l, op);
    }
}

void pdm_lower_fuse(pdm_lower *l, pdm_ir_block *block)
{
    fuse_products(l, block);
    pdm_lower_small_images(l, block);
    pdm_lower_separable(l, block);
    for (pdm_ir_op *op = block->first, *next; op && l->status == PDM_OK; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->num_regions; i++) {
            for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
                pdm_lower_fuse(l, b);
        }
        fuse_elementwise(l, op);
    }
    pdm_lower_stepped(l, block);
}
