/*
 * Convolutions of images some channels of which are smaller images that nearest interpolation repeated: these channels are convolved as
 * small as they are, and what comes out is added. A place of the result reads a 3x3 kernel of the large image, which is 2x2 places of an
 * image of half its size, with other weights for even and odd lines and columns: four convolutions, each for a quarter of the places.
 */
#include <math.h>
#include <string.h>

#include "exec/fast/post.h"
#include "exec/lower/lower_impl.h"

enum { MOST_PARTS = 16, PHASES = 4 };

static bool repeats(const pdm_ir_op *op, double times[2])
{
    static const char *const sizes[] = {"out_d", "out_h", "out_w"};
    pdm_ir_attr scale = pdm_ir_op_attr(op, "scale");

    for (size_t i = 0; i < 3; i++) {
        pdm_ir_attr size = pdm_ir_op_attr(op, sizes[i]);
        if (size && (size->kind != PDM_IR_ATTR_I32 || size->u.i > 0))
            return false;
    }
    if (!scale || scale->kind != PDM_IR_ATTR_ARRAY || scale->count < 1 || scale->count > 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        double number = 0;
        int power;
        if (!pdm_lower_attr_number(scale->u.items[scale->count == 1 ? 0 : i], &number) ||
            !(number >= 1 && number <= 64) || frexp(number, &power) != 0.5)
            return false;
        times[i] = number;
    }
    return true;
}

pdm_ir_value *pdm_lower_repeated(const pdm_lower *l, const pdm_ir_value *y, double times[2])
{
    const pdm_ir_op *op = pdm_ir_value_op(y);
    pdm_ir_value *x = op && op->num_operands > 0 ? pdm_ir_op_operand_value(op, 0) : NULL;

    if (!x || !pdm_ir_op_is(op, "pd_op.nearest_interp") || pdm_ir_value_num_uses(y) != 1 ||
        strcmp(pdm_lower_text(op, "data_format"), "NCHW") != 0 || !repeats(op, times))
        return NULL;
    for (uint32_t i = 1; i < op->num_operands; i++) {
        if (pdm_ir_op_operand_value(op, i))
            return NULL;
    }
    pdm_ir_attr corners = pdm_ir_op_attr(op, "align_corners");
    if (!corners || corners->kind != PDM_IR_ATTR_BOOL || corners->u.b || !pdm_lower_is_f32(x) ||
        x->type->rank != 4 || x->type->dims[1] < 1 || pdm_lower_is_pinned(l, x))
        return NULL;
    return x;
}

/* What is convolved: channels that are as large as the result, and those that are smaller. */
typedef struct part {
    pdm_ir_value *value; /* as large as the result */
    pdm_ir_value *small; /* NULL: it is not repeated */
    double times;
    int64_t begin, end; /* channels */
} part;

typedef struct split {
    pdm_lower *l;
    pdm_ir_op *conv, *concat, *combine, *pack;
    part parts[MOST_PARTS];
    uint32_t num_parts;
    int64_t kernel; /* 1 or 3 */
    double base;    /* how much smaller the small side is */
} split;

static bool all_are(const pdm_ir_op *op, const char *name, int64_t wanted)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    for (uint32_t i = 0; attr && attr->kind == PDM_IR_ATTR_ARRAY && i < attr->count; i++) {
        if (attr->u.items[i]->kind != PDM_IR_ATTR_I32 || attr->u.items[i]->u.i != wanted)
            return false;
    }
    return attr && attr->kind == PDM_IR_ATTR_ARRAY;
}

static int64_t filter_dim(const pdm_ir_op *op, uint32_t dim)
{
    pdm_ir_attr shape = pdm_ir_op_attr(op, "filter_shape");

    return shape && shape->kind == PDM_IR_ATTR_ARRAY && shape->count == 4 ? shape->u.items[dim]->u.i : -1;
}

/* A convolution whose result is as large as its operand, with a kernel of 1 or 3. */
static bool read_conv(split *s, pdm_ir_op *op)
{
    pdm_ir_attr groups = pdm_ir_op_attr(op, "groups"), post = pdm_ir_op_attr(op, "post");
    const pdm_ir_value *filter = op->num_operands >= 3 ? pdm_ir_op_operand_value(op, 1) : NULL;

    s->conv = op;
    s->kernel = filter_dim(op, 2);
    s->pack = filter ? pdm_ir_value_op(filter) : NULL;
    return s->pack && pdm_ir_op_is(s->pack, "fast.pack_conv") && (s->kernel == 1 || s->kernel == 3) &&
           filter_dim(op, 3) == s->kernel && groups && groups->kind == PDM_IR_ATTR_I32 && groups->u.i == 1 &&
           all_are(op, "strides", 1) && all_are(op, "dilations", 1) &&
           all_are(op, "paddings", (s->kernel - 1) / 2) &&
           !strcmp(pdm_lower_text(op, "padding_algorithm"), "EXPLICIT") && post &&
           post->kind == PDM_IR_ATTR_ARRAY && post->count + PHASES <= PDM_POST_MAX &&
           pdm_map_find(&s->l->needs_last, op);
}

static bool is_read_once(const split *s, const pdm_ir_value *value, const pdm_ir_op *maker)
{
    return maker && maker->block == s->conv->block && pdm_ir_value_num_uses(value) == 1 &&
           !pdm_lower_is_pinned(s->l, value);
}

/* The parts of a concat along channels that nobody else reads, some of which are repeated, and some not. */
static bool read_parts(split *s)
{
    pdm_ir_value *x = pdm_ir_op_operand_value(s->conv, 0);
    double axis, least = 64;
    int64_t at = 0;
    uint32_t repeated = 0;

    s->concat = x ? pdm_ir_value_op(x) : NULL;
    if (!is_read_once(s, x, s->concat) || !pdm_ir_op_is(s->concat, "pd_op.concat") || x->type->rank != 4)
        return false;
    pdm_ir_value *vector = pdm_ir_op_operand_value(s->concat, 0);
    s->combine = vector ? pdm_ir_value_op(vector) : NULL;
    if (!is_read_once(s, vector, s->combine) || !pdm_ir_op_is(s->combine, "builtin.combine") ||
        s->combine->num_operands > MOST_PARTS ||
        !pdm_lower_number(pdm_ir_op_operand_value(s->concat, 1), &axis) || (axis != 1 && axis != -3))
        return false;
    s->num_parts = s->combine->num_operands;
    for (uint32_t i = 0; i < s->num_parts; i++) {
        part *p = &s->parts[i];
        double times[2] = {1, 1};
        *p = (part){.value = pdm_ir_op_operand_value(s->combine, i), .begin = at};
        if (!pdm_lower_is_f32(p->value) || p->value->type->rank != 4 || p->value->type->dims[1] < 1 ||
            pdm_lower_is_pinned(s->l, p->value))
            return false;
        p->small = pdm_lower_repeated(s->l, p->value, times);
        if (times[0] != times[1] || times[0] < 2)
            p->small = NULL;
        p->times = times[0];
        if (p->small) {
            repeated++;
            least = p->times < least ? p->times : least;
        }
        p->end = at += p->value->type->dims[1];
    }
    s->base = s->kernel == 3 ? 2 : least;
    return repeated > 0 && repeated < s->num_parts && at == filter_dim(s->conv, 1);
}

/* ---- new ops --------------------------------------------------------------------------------- */

static pdm_ir_value *result_of(const pdm_ir_op *op)
{
    return op ? pdm_ir_op_result(op, 0) : NULL;
}

/* An image of so many channels, with lines and columns as those of another one, `times` as many. */
static pdm_ir_type image_type(const split *s, const pdm_ir_value *like, int64_t channels, double times)
{
    int64_t dims[4];

    memcpy(dims, like->type->dims, sizeof dims);
    dims[1] = channels;
    for (int i = 2; i < 4; i++)
        dims[i] = dims[i] < 0 || dims[i] > INT32_MAX ? -1 : (int64_t)((double)dims[i] * times);
    return pdm_ir_type_tensor(s->l->context, PDM_F32, dims, 4);
}

static pdm_ir_value *repeat(const split *s, const part *p, double times)
{
    const pdm_ir_op *like = pdm_ir_value_op(p->value);
    const double both[] = {times, times};
    const pdm_lower_attr attrs[] = {{"data_format", pdm_ir_op_attr(like, "data_format")},
                                    {"out_d", pdm_ir_op_attr(like, "out_d")},
                                    {"out_h", pdm_ir_op_attr(like, "out_h")},
                                    {"out_w", pdm_ir_op_attr(like, "out_w")},
                                    {"scale", pdm_ir_attr_f64s(s->l->context, both, 2)},
                                    {"interp_method", pdm_ir_op_attr(like, "interp_method")},
                                    {"align_corners", pdm_ir_op_attr(like, "align_corners")},
                                    {"align_mode", pdm_ir_op_attr(like, "align_mode")},
                                    {0}};

    if (times == 1)
        return p->small;
    return result_of(pdm_lower_make(s->l, s->conv, like, "pd_op.nearest_interp",
                                    (pdm_ir_value *[]){p->small, NULL, NULL, NULL}, 4,
                                    image_type(s, p->small, p->end - p->begin, times), attrs));
}

/* The channels of one side, one image: of those that are repeated, or of the others. ranges: where they are in the filter. */
static pdm_ir_value *join(const split *s, bool small, int64_t *ranges, size_t *out_ranges)
{
    pdm_ir_value *values[MOST_PARTS];
    pdm_ir_type types[MOST_PARTS];
    int64_t channels = 0;
    size_t n = 0;

    for (uint32_t i = 0; i < s->num_parts; i++) {
        const part *p = &s->parts[i];
        if ((p->small != NULL) != small)
            continue;
        values[n] = small ? repeat(s, p, p->times / s->base) : p->value;
        if (!values[n])
            return NULL;
        types[n] = values[n]->type;
        ranges[2 * n] = p->begin;
        ranges[2 * n + 1] = p->end;
        channels += p->end - p->begin;
        n++;
    }
    *out_ranges = 2 * n;
    if (n == 1)
        return values[0];
    pdm_ir_value *in[] = {result_of(pdm_lower_make(s->l, s->conv, s->combine, "builtin.combine", values, n,
                                                   pdm_ir_type_vector(s->l->context, types, n), NULL)),
                          pdm_lower_full(s->l, s->conv, PDM_I64, 1)};
    return in[0] && in[1] ? result_of(pdm_lower_make(s->l, s->conv, s->concat, "pd_op.concat", in, 2,
                                                     image_type(s, values[0], channels, 1), NULL))
                          : NULL;
}

/* The weights for some channels, packed; phase NULL: as they are. */
static pdm_ir_value *weights(const split *s, const int64_t *ranges, size_t num_ranges, const int32_t *phase, int64_t shape[4])
{
    pdm_ir_context *context = s->l->context;
    const int64_t unknown = -1;
    pdm_ir_value *filter = pdm_ir_op_operand_value(s->pack, 0);
    const pdm_lower_attr attrs[] = {{"parts", pdm_ir_attr_i64s(context, ranges, num_ranges)},
                                    {"phase", pdm_ir_attr_i32s(context, phase, phase ? 2 : 0)},
                                    {0}},
                         pack_attrs[] = {{"groups", pdm_ir_op_attr(s->pack, "groups")}, {0}};

    shape[0] = filter_dim(s->conv, 0);
    shape[1] = 0;
    for (size_t i = 0; i < num_ranges; i += 2)
        shape[1] += ranges[i + 1] - ranges[i];
    shape[2] = shape[3] = phase ? 2 : s->kernel;
    filter = result_of(pdm_lower_make(s->l, s->conv, s->pack, "fast.take_filter", &filter, 1,
                                      pdm_ir_type_tensor(context, PDM_F32, shape, 4), attrs));
    return filter ? result_of(pdm_lower_make(s->l, s->conv, s->pack, "fast.pack_conv", &filter, 1,
                                             pdm_ir_type_tensor(context, PDM_F32, &unknown, 1), pack_attrs))
                  : NULL;
}

static pdm_ir_op *make_conv(const split *s, pdm_ir_value *const *in, size_t num_in, const int64_t shape[4],
                            const int32_t *pads, size_t num_pads, pdm_ir_type type, pdm_ir_attr post, pdm_ir_attr post_args)
{
    const pdm_lower_attr attrs[] = {{"filter_shape", pdm_ir_attr_i64s(s->l->context, shape, 4)},
                                    {"strides", pdm_ir_op_attr(s->conv, "strides")},
                                    {"paddings", pads ? pdm_ir_attr_i32s(s->l->context, pads, num_pads)
                                                      : pdm_ir_op_attr(s->conv, "paddings")},
                                    {"padding_algorithm", pdm_ir_op_attr(s->conv, "padding_algorithm")},
                                    {"dilations", pdm_ir_op_attr(s->conv, "dilations")},
                                    {"groups", pdm_ir_op_attr(s->conv, "groups")},
                                    {"post", post},
                                    {"post_args", post_args},
                                    {0}};
    pdm_ir_op *made = pdm_lower_make(s->l, s->conv, s->conv, "fast.conv2d", in, num_in, type, attrs);

    if (made)
        pdm_lower_remember(s->l, &s->l->needs_last, made, made);
    return made;
}

/* The convolutions of the small side; their results in out. */
static size_t make_small(const split *s, pdm_ir_value *out[PHASES])
{
    int64_t ranges[2 * MOST_PARTS], shape[4];
    size_t num_ranges;
    pdm_ir_value *x = join(s, true, ranges, &num_ranges);
    const size_t count = s->kernel == 3 ? PHASES : 1;

    for (size_t i = 0; x && i < count; i++) {
        const int32_t phase[] = {(int32_t)(i >> 1), (int32_t)(i & 1)};
        const int32_t pads[] = {1 - phase[0], phase[0], 1 - phase[1], phase[1]};
        pdm_ir_value *in[] = {x, weights(s, ranges, num_ranges, count > 1 ? phase : NULL, shape), NULL};
        out[i] = in[1] ? result_of(make_conv(s, in, 3, shape, count > 1 ? pads : NULL, 4,
                                             image_type(s, x, shape[0], 1),
                                             pdm_ir_attr_i32s(s->l->context, NULL, 0),
                                             pdm_ir_attr_f32s(s->l->context, NULL, 0)))
                       : NULL;
        if (!out[i])
            return 0;
    }
    return x ? count : 0;
}

/* The convolution of the large side, to which the small ones are added before its own steps. */
static pdm_ir_op *make_large(const split *s, pdm_ir_value *const *small, size_t num_small)
{
    pdm_ir_attr post = pdm_ir_op_attr(s->conv, "post"), post_args = pdm_ir_op_attr(s->conv, "post_args");
    pdm_ir_value *in[3 + 2 * PDM_POST_MAX] = {NULL};
    int64_t ranges[2 * MOST_PARTS], shape[4];
    size_t num_ranges, n = 3, steps = 0;
    int32_t kinds[PDM_POST_MAX];
    float args[2 * PDM_POST_MAX];

    in[0] = join(s, false, ranges, &num_ranges);
    in[1] = in[0] ? weights(s, ranges, num_ranges, NULL, shape) : NULL;
    in[2] = pdm_ir_op_operand_value(s->conv, 2);
    if (!in[1] || !post_args || post_args->kind != PDM_IR_ATTR_ARRAY || post_args->count != 2 * post->count)
        return NULL;
    for (; steps < num_small; steps++) {
        in[n++] = small[steps];
        kinds[steps] = PDM_POST_ADD;
        args[2 * steps] = s->kernel == 3 ? (float)-1 - (float)steps : (float)s->base;
        args[2 * steps + 1] = s->kernel == 3 ? 0 : (float)s->base;
    }
    for (uint32_t i = 0; i < post->count; i++, steps++) {
        kinds[steps] = (int32_t)post->u.items[i]->u.i;
        args[2 * steps] = (float)post_args->u.items[2 * i]->u.f;
        args[2 * steps + 1] = (float)post_args->u.items[2 * i + 1]->u.f;
    }
    for (uint32_t i = 3; i < s->conv->num_operands; i++)
        in[n++] = pdm_ir_op_operand_value(s->conv, i);
    return make_conv(s, in, n, shape, NULL, 0, pdm_ir_op_result(s->conv, 0)->type,
                     pdm_ir_attr_i32s(s->l->context, kinds, steps), pdm_ir_attr_f32s(s->l->context, args, 2 * steps));
}

static void take_apart(split *s)
{
    pdm_ir_value *small[PHASES];
    const size_t count = make_small(s, small);
    pdm_ir_op *made = count > 0 ? make_large(s, small, count) : NULL;

    if (!made)
        return;
    pdm_ir_value_replace_all_uses(pdm_ir_op_result(s->conv, 0), pdm_ir_op_result(made, 0));
    pdm_map_remove(&s->l->needs_last, s->conv);
    pdm_lower_kill(s->l, s->conv);
    pdm_lower_kill(s->l, s->concat);
    pdm_lower_kill(s->l, s->combine);
    for (uint32_t i = 0; i < s->num_parts; i++) {
        if (s->parts[i].small)
            pdm_lower_kill(s->l, pdm_ir_value_op(s->parts[i].value));
    }
}

void pdm_lower_small_images(pdm_lower *l, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first, *next; op && l->status == PDM_OK; op = next) {
        split s = {.l = l};
        next = op->next;
        if (pdm_ir_op_is(op, "fast.conv2d") && read_conv(&s, op) && read_parts(&s))
            take_apart(&s);
    }
}
