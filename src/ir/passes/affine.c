#include "ir/passes/affine.h"

#include <stdlib.h>
#include <string.h>

#include "ir/channels.h"

enum { MAX_OPS = 64, SMALL = 1 << 16 };

/* value * factor + shift: arrays of `count` numbers, 1 or as many as channels. */
typedef struct affine {
    pdm_ir_rewriter *rw;
    pdm_ir_channels channels; /* count 0: no channels so far */
    pdm_ir_value *value;
    size_t num_ops;
    int64_t count;
    double *factor, *shift; /* room for channels.count, or for one */
} affine;

/* A step of a chain: what is applied to value. Tensors may be uninitialised: no such operand. */
typedef struct step {
    pdm_ir_value *value, *operands[4];
    enum { ADD, SUBTRACT, SUBTRACT_FROM, MULTIPLY, DIVIDE, SCALE, NORM } kind;
    double a, b; /* of SCALE; a: epsilon of NORM */
    uint32_t tail;
} step;

/* ---- steps ----------------------------------------------------------------------------------- */

static bool is_f32(const pdm_ir_value *value)
{
    return value && pdm_ir_type_is_tensor(value->type) && value->type->dtype == PDM_F32;
}

static bool is_known(const pdm_ir_rewriter *rw, const pdm_ir_value *value)
{
    return is_f32(value) && !pdm_ir_rw_is_written(rw, value) &&
           pdm_ir_is_constant(rw->run->constants, value) && pdm_ir_static_count(value) > 0;
}

/* One number for all, or for each of the channels, which are told by the first such operand. */
static bool suits(const pdm_ir_value *y, const pdm_ir_value *x, pdm_ir_channels *channels)
{
    const pdm_ir_type type = y->type;
    uint32_t at = 0;

    channels->rank = x->type->rank;
    if (channels->count == 0 && pdm_ir_static_count(y) > 1) {
        while (at + 1 < type->rank && type->dims[at] == 1)
            at++;
        channels->tail = type->rank - 1 - at;
        channels->count = type->dims[at];
    }
    /* A channel that is not known to be there might be repeated by y. */
    return pdm_ir_is_per_channel(y, channels) &&
           (pdm_ir_static_count(y) == 1 ||
            x->type->dims[x->type->rank - 1 - channels->tail] == channels->count);
}

static bool read_binary(const pdm_ir_rewriter *rw, const pdm_ir_op *op, pdm_ir_channels *channels,
                        step *out)
{
    pdm_ir_value *in[] = {pdm_ir_op_operand_value(op, 0), pdm_ir_op_operand_value(op, 1)};
    /* A first operand would pass on its LoD, which constants have none of and images neither. */
    const int y = is_known(rw, in[1]) ? 1
                  : is_known(rw, in[0]) && is_f32(in[1]) && in[1]->type->rank >= 4 ? 0 : -1;

    if (y < 0 || !is_f32(in[1 - y]) || in[1 - y]->type->rank == 0)
        return false;
    switch (op->info->code) {
    case PDM_IR_OP_pd_op_add:
        out->kind = ADD;
        break;
    case PDM_IR_OP_pd_op_subtract:
        out->kind = y == 1 ? SUBTRACT : SUBTRACT_FROM;
        break;
    case PDM_IR_OP_pd_op_multiply:
        out->kind = MULTIPLY;
        break;
    default:
        out->kind = DIVIDE;
        if (y == 0)
            return false;
    }
    out->value = in[1 - y];
    out->operands[0] = in[y];
    return suits(in[y], in[1 - y], channels);
}

static bool read_scale(const pdm_ir_rewriter *rw, const pdm_ir_op *op, step *out)
{
    out->kind = SCALE;
    out->value = pdm_ir_op_operand_value(op, 0);
    if (!is_f32(out->value) || out->value->type->rank == 0 || op->num_operands < 2 ||
        pdm_ir_rw_is_written(rw, pdm_ir_op_operand_value(op, 1)) ||
        !pdm_ir_const_number(pdm_ir_op_operand_value(op, 1), &out->a))
        return false;
    out->b = pdm_ir_op_number(op, "bias", 0);
    if (pdm_ir_op_attr(op, "bias_after_scale") && !pdm_ir_op_flag(op, "bias_after_scale"))
        out->b *= out->a;
    return true;
}

static bool read_norm(const pdm_ir_rewriter *rw, const pdm_ir_op *op, pdm_ir_channels *channels,
                      step *out)
{
    pdm_ir_norm norm;

    if (!pdm_ir_is_fixed_norm(op, &norm) || !is_f32(norm.x) || norm.x->type->rank != 4)
        return false;
    const int64_t count = norm.x->type->dims[3 - norm.tail];
    if (count < 1 || (channels->count > 0 && (channels->tail != norm.tail || channels->count != count)))
        return false;
    pdm_ir_value *const all[] = {norm.mean, norm.variance, norm.scale, norm.shift};
    for (size_t i = 0; i < 4; i++) {
        if (all[i] && (!is_known(rw, all[i]) || pdm_ir_static_count(all[i]) != count))
            return false;
        out->operands[i] = all[i];
    }
    *channels = (pdm_ir_channels){count, 4, norm.tail};
    out->kind = NORM;
    out->value = norm.x;
    out->a = norm.epsilon;
    return true;
}

/* What op does to its operand; channels are entered when it tells them first. */
static bool read_step(const pdm_ir_rewriter *rw, const pdm_ir_op *op, pdm_ir_channels *channels,
                      step *out)
{
    *out = (step){0};
    switch (op->info->code) {
    case PDM_IR_OP_pd_op_add:
    case PDM_IR_OP_pd_op_subtract:
    case PDM_IR_OP_pd_op_multiply:
    case PDM_IR_OP_pd_op_divide:
        return read_binary(rw, op, channels, out);
    case PDM_IR_OP_pd_op_scale:
        return read_scale(rw, op, out);
    case PDM_IR_OP_pd_op_batch_norm:
        return read_norm(rw, op, channels, out);
    default:
        return false;
    }
}

/* Whether a chain goes on behind a value: who reads it alone is a step. */
static bool goes_on(const pdm_ir_rewriter *rw, pdm_ir_value *value)
{
    const pdm_ir_use *use = pdm_ir_value_first_use(value);
    pdm_ir_channels channels = {0};
    step s;

    return use && !use->next && use->owner->block == rw->at->block &&
           !pdm_ir_rw_is_written(rw, value) && read_step(rw, use->owner, &channels, &s) &&
           s.value == value && !pdm_ir_rw_is_written(rw, pdm_ir_op_result(use->owner, 0));
}

/* ---- chains ---------------------------------------------------------------------------------- */

static void end(affine *a)
{
    free(a->factor);
    free(a->shift);
    a->factor = a->shift = NULL;
}

static bool begin(affine *a)
{
    a->factor = malloc(sizeof *a->factor);
    a->shift = malloc(sizeof *a->shift);
    if (!a->factor || !a->shift) {
        end(a);
        a->rw->status = PDM_NOMEM;
        return false;
    }
    a->factor[0] = 1;
    a->shift[0] = 0;
    a->count = 1;
    return true;
}

/* One number becomes one for each channel. */
static bool widen(affine *a, int64_t count)
{
    double *const factor = calloc((size_t)count, sizeof *factor),
                  *const shift = calloc((size_t)count, sizeof *shift);

    if (!factor || !shift) {
        free(factor);
        free(shift);
        a->rw->status = PDM_NOMEM;
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        factor[i] = a->factor[0];
        shift[i] = a->shift[0];
    }
    end(a);
    a->factor = factor;
    a->shift = shift;
    a->count = count;
    return true;
}

static double at(const pdm_tensor *t, int64_t i, double fallback)
{
    return t->data ? (double)((const float *)t->data)[pdm_tensor_count(t) == 1 ? 0 : i] : fallback;
}

/* What a step does to channel i. */
static void numbers_of(const step *s, const pdm_tensor *t, int64_t i, double *factor, double *shift)
{
    *factor = 1;
    *shift = 0;
    switch (s->kind) {
    case ADD:
        *shift = at(&t[0], i, 0);
        break;
    case SUBTRACT:
        *shift = -at(&t[0], i, 0);
        break;
    case SUBTRACT_FROM:
        *factor = -1;
        *shift = at(&t[0], i, 0);
        break;
    case MULTIPLY:
        *factor = at(&t[0], i, 1);
        break;
    case DIVIDE:
        *factor = 1 / at(&t[0], i, 1);
        break;
    case SCALE:
        *factor = s->a;
        *shift = s->b;
        break;
    case NORM:
        *factor = pdm_ir_norm_factor(at(&t[2], i, 1), at(&t[1], i, 0), s->a);
        *shift = pdm_ir_norm_shift(at(&t[3], i, 0), at(&t[0], i, 0), *factor);
    }
}

/* The data of what goes into a step, as declared. */
static bool read_operands(affine *a, const step *s, pdm_tensor *out)
{
    for (size_t i = 0; i < 4; i++) {
        if (!s->operands[i])
            continue;
        if (pdm_ir_constant_get(a->rw->run->constants, s->operands[i], &out[i]) != PDM_OK)
            a->rw->status = PDM_NOMEM;
        if (a->rw->status != PDM_OK || out[i].dtype != PDM_F32 ||
            pdm_tensor_count(&out[i]) != pdm_ir_static_count(s->operands[i]))
            return false;
    }
    return true;
}

/* Put a step before what there is. False: its numbers are not to be had, or none to count with. */
static bool prepend(affine *a, const step *s)
{
    pdm_tensor t[4] = {{0}};
    bool done = read_operands(a, s, t);
    int64_t count = 1;

    for (size_t i = 0; done && i < 4; i++)
        count = t[i].data && pdm_tensor_count(&t[i]) > count ? pdm_tensor_count(&t[i]) : count;
    if (done && count > a->count)
        done = widen(a, count);
    for (int64_t i = 0; done && i < a->count; i++) {
        double factor, shift;
        numbers_of(s, t, i, &factor, &shift);
        a->shift[i] = pdm_ir_channel_bias(shift, a->factor[i], a->shift[i]);
        a->factor[i] *= factor;
        done = isfinite((float)a->factor[i]) && isfinite((float)a->shift[i]);
    }
    for (size_t i = 0; i < 4; i++)
        pdm_tensor_deinit(&t[i]);
    return done;
}

/* All steps from op upwards, each of which is read by the next one alone. */
static bool collect(affine *a, const pdm_ir_op *op)
{
    while (op && a->num_ops < MAX_OPS) {
        pdm_ir_channels channels = a->channels;
        step s;
        if (!read_step(a->rw, op, &channels, &s) || pdm_ir_rw_is_written(a->rw, s.value))
            break;
        if (!prepend(a, &s))
            return false;
        a->channels = channels;
        a->value = s.value;
        a->num_ops++;
        op = pdm_ir_rw_maker(a->rw, s.value, true);
    }
    return a->num_ops > 0;
}

static bool all_are(const double *numbers, int64_t count, double wanted)
{
    for (int64_t i = 0; i < count; i++) {
        if (numbers[i] != wanted)
            return false;
    }
    return true;
}

static bool scales(const affine *a)
{
    return !all_are(a->factor, a->count, 1);
}

static bool shifts(const affine *a)
{
    return !all_are(a->shift, a->count, 0);
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct product {
    pdm_ir_op *op;
    const pdm_ir_value *weights;
    int out_axis, in_axis; /* of the weights */
    int64_t groups;
    uint32_t tail; /* dims after that of the channels, of the operand and of the result */
    bool bordered; /* some results are made of fewer products, so a shift of the operand is none of theirs */
} product;

static bool is_whole(const pdm_ir_op *op)
{
    int64_t pads[4];
    size_t count;

    if (!pdm_ir_op_ints(op, "paddings", pads, 4, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (pads[i] != 0)
            return false;
    }
    return strcmp(pdm_ir_op_text(op, "padding_algorithm"), "SAME") != 0;
}

/* A product with known weights that nobody else needs, so that the file does not grow. */
static bool read_product(const pdm_ir_rewriter *rw, pdm_ir_op *op, product *out)
{
    const pdm_ir_value *x = op->num_operands >= 2 ? pdm_ir_op_operand_value(op, 0) : NULL,
                       *w = x ? pdm_ir_op_operand_value(op, 1) : NULL;

    *out = (product){.op = op, .weights = w, .groups = 1};
    if (!is_f32(x) || !is_f32(w) || !is_known(rw, w) || !is_f32(pdm_ir_op_result(op, 0)))
        return false;
    const uint64_t bytes = pdm_ir_constant_bytes(rw->run->constants, w);
    const pdm_ir_use *use = pdm_ir_value_first_use(w);
    if (bytes == 0 || (bytes > SMALL && use && use->next))
        return false;
    switch (op->info->code) {
    case PDM_IR_OP_pd_op_matmul:
        out->out_axis = pdm_ir_op_flag(op, "transpose_y") ? 0 : 1;
        out->in_axis = 1 - out->out_axis;
        return w->type->rank == 2 && x->type->rank >= 2;
    case PDM_IR_OP_pd_op_conv2d:
    case PDM_IR_OP_pd_op_depthwise_conv2d:
        out->in_axis = 1;
        out->groups = (int64_t)pdm_ir_op_number(op, "groups", 1);
        out->bordered = !is_whole(op);
        break;
    case PDM_IR_OP_pd_op_conv2d_transpose:
        out->out_axis = 1;
        out->bordered = true;
        if (pdm_ir_op_number(op, "groups", 1) != 1)
            return false;
        break;
    default:
        return false;
    }
    out->tail = 2;
    return w->type->rank == 4 && x->type->rank == 4 && out->groups >= 1 &&
           w->type->dims[0] % out->groups == 0 &&
           strcmp(pdm_ir_op_text(op, "data_format"), "NCHW") == 0;
}

static int64_t out_channels(const product *p)
{
    return p->weights->type->dims[p->out_axis];
}

static int64_t in_channels(const product *p)
{
    return p->weights->type->dims[p->in_axis] * p->groups;
}

static bool read_weights(pdm_ir_rewriter *rw, const product *p, pdm_tensor *out)
{
    const pdm_ir_type type = p->weights->type;

    if (pdm_ir_constant_get(rw->run->constants, p->weights, out) != PDM_OK)
        rw->status = PDM_NOMEM;
    if (rw->status != PDM_OK || out->dtype != PDM_F32 || (uint32_t)out->rank != type->rank)
        return false;
    /* What was read may be declared otherwise. */
    for (uint32_t i = 0; i < type->rank; i++) {
        if (out->dims[i] != type->dims[i])
            return false;
    }
    return true;
}

/* The same product with other weights, before rw->at. */
static pdm_ir_op *make_product(pdm_ir_rewriter *rw, const product *p, pdm_ir_value *x,
                               const pdm_tensor *weights)
{
    const pdm_ir_op *op = p->op;
    const pdm_ir_op_info *info = op->info;
    const char *name = pdm_ir_parameter_name(pdm_ir_value_op(p->weights));
    pdm_ir_make_attr attrs[PDM_IR_MAX_ROW_ATTRS + 1];
    pdm_ir_value *in[3] = {x};
    size_t n = 0;

    for (uint16_t i = 0; i < info->desc->num_attrs; i++) {
        const pdm_ir_attr attr = pdm_ir_op_row_attr(op, i);
        if (attr)
            attrs[n++] = (pdm_ir_make_attr){info->attr_names[i], attr};
    }
    attrs[n] = (pdm_ir_make_attr){0};
    const pdm_ir_type type_of_weights =
        pdm_ir_type_tensor(rw->context, PDM_F32, weights->dims, (uint32_t)weights->rank);
    in[1] = type_of_weights ? pdm_ir_constant_make(rw->run->constants, weights, type_of_weights, rw->at, name)
                            : NULL;
    for (uint32_t i = 2; i < op->num_operands && i < 3; i++)
        in[i] = pdm_ir_op_operand_value(op, i);
    if (!in[1]) {
        rw->status = PDM_NOMEM;
        return NULL;
    }
    const pdm_ir_type type = pdm_ir_op_result(op, 0)->type;
    return pdm_ir_rw_make_typed(rw, info->code, in, op->num_operands, attrs, &type, 1);
}

/* Channels of the result and of the operand at a place of the first two axes of the weights. */
static void channels_at(const product *p, int64_t first, int64_t second, int64_t *out, int64_t *in)
{
    const int64_t at_axis[] = {first, second};

    *out = at_axis[p->out_axis];
    *in = at_axis[p->in_axis] +
          *out / (out_channels(p) / p->groups) * p->weights->type->dims[p->in_axis];
}

/* The new weights; bias: what the shifts of the operand add to each channel of the result. NULL: the numbers are those of
 * the result. False: a weight is too large now, which would be infinite for small operands, too. */
static bool multiply(const affine *a, const product *p, const float *from, float *to, double *bias)
{
    const pdm_ir_type type = p->weights->type;
    int64_t inner = 1;

    for (uint32_t i = 2; i < type->rank; i++)
        inner *= type->dims[i];
    for (int64_t i = 0; i < type->dims[0]; i++) {
        for (int64_t k = 0; k < type->dims[1]; k++, from += inner, to += inner) {
            int64_t out, in;
            channels_at(p, i, k, &out, &in);
            const int64_t at = a->count == 1 ? 0 : bias ? in : out;
            for (int64_t e = 0; e < inner; e++)
                to[e] = (float)((double)from[e] * a->factor[at]);
            for (int64_t e = 0; e < inner; e++) {
                if (isfinite(from[e]) && !isfinite(to[e]))
                    return false;
            }
            for (int64_t e = 0; bias && e < inner; e++)
                bias[out] += (double)from[e] * a->shift[at];
        }
    }
    return true;
}

/* The product with weights that a chain went into; bias as above. */
static pdm_ir_op *turn(affine *a, const product *p, pdm_ir_value *x, double *bias)
{
    pdm_ir_rewriter *rw = a->rw;
    pdm_tensor old = {0}, weights = {0};
    pdm_ir_op *made = NULL;

    if (read_weights(rw, p, &old)) {
        if (pdm_tensor_alloc(&weights, PDM_F32, old.rank, old.dims) != PDM_OK)
            rw->status = PDM_NOMEM;
        else if (multiply(a, p, old.data, weights.data, bias))
            made = make_product(rw, p, x, &weights);
    }
    pdm_tensor_deinit(&old);
    pdm_tensor_deinit(&weights);
    return made;
}

bool pdm_ir_affine_is_product(const pdm_ir_rewriter *rw, const pdm_ir_value *value)
{
    pdm_ir_op *op = pdm_ir_rw_maker(rw, value, true);
    pdm_ir_channels channels = {0};
    product p;
    step s;

    for (int i = 0; op && i < MAX_OPS && read_step(rw, op, &channels, &s); i++)
        op = pdm_ir_rw_maker(rw, s.value, true);
    return op && read_product(rw, op, &p);
}

/* ---- new ops --------------------------------------------------------------------------------- */

/* A parameter of numbers, one for each channel or one for all; NULL after a failure. */
static pdm_ir_value *make_numbers(pdm_ir_rewriter *rw, const double *numbers, int64_t count, uint32_t tail,
                                  const char *name)
{
    const int64_t dims[] = {count, 1, 1, 1, 1, 1, 1, 1};
    const int rank = count == 1 ? 1 : (int)tail + 1;
    pdm_tensor t = {0};
    pdm_ir_value *made = NULL;

    if (rank > (int)(sizeof dims / sizeof *dims))
        return NULL;
    const pdm_ir_type type = pdm_ir_type_tensor(rw->context, PDM_F32, dims, (uint32_t)rank);
    if (type && pdm_tensor_alloc(&t, PDM_F32, rank, dims) == PDM_OK) {
        for (int64_t i = 0; i < count; i++)
            ((float *)t.data)[i] = (float)numbers[i];
        made = pdm_ir_constant_make(rw->run->constants, &t, type, rw->at, name);
    }
    pdm_tensor_deinit(&t);
    if (!made)
        rw->status = PDM_NOMEM;
    return made;
}

static pdm_ir_op *make_binary(pdm_ir_rewriter *rw, pdm_ir_op_code code, pdm_ir_value *x,
                              pdm_ir_value *y)
{
    return y ? pdm_ir_rw_make(rw, code, (pdm_ir_value *[]){x, y}, 2, NULL) : NULL;
}

/* The name of a parameter in the chain that ends at op, for the new ones; NULL: there is none. */
static const char *name_near(const pdm_ir_op *op)
{
    const char *name = NULL;

    for (uint32_t i = 0; i < op->num_operands && !name; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        name = value ? pdm_ir_parameter_name(pdm_ir_value_op(value)) : NULL;
    }
    return name;
}

/* ---- a chain behind a product ---------------------------------------------------------------- */

static pdm_ir_op *fold_out(affine *a, const product *p)
{
    const char *name = pdm_ir_parameter_name(pdm_ir_value_op(p->weights));
    pdm_ir_op *made = turn(a, p, pdm_ir_op_operand_value(p->op, 0), NULL);

    if (!made || !shifts(a))
        return made;
    return make_binary(a->rw, PDM_IR_OP_pd_op_add, pdm_ir_op_result(made, 0),
                       make_numbers(a->rw, a->shift, a->count, p->tail, name));
}

/* The product that makes what a chain begins with, if their channels are the same. */
static bool find_product(const affine *a, product *out)
{
    pdm_ir_op *op = pdm_ir_rw_maker(a->rw, a->value, true);

    return op && read_product(a->rw, op, out) &&
           (a->channels.count == 0 ||
            (a->channels.tail == out->tail && a->channels.count == out_channels(out)));
}

bool pdm_ir_affine_take_norm(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    affine a = {.rw = rw};
    pdm_ir_norm norm;
    product p;
    bool done = false;

    if (!pdm_ir_is_fixed_norm(op, &norm) || !begin(&a))
        return false;
    if (collect(&a, op) && find_product(&a, &p))
        done = pdm_ir_rw_replace(rw, op, fold_out(&a, &p));
    end(&a);
    return done;
}

/* ---- a chain by itself ----------------------------------------------------------------------- */

/* x * number + number is one op. */
static pdm_ir_op *make_scale(affine *a)
{
    pdm_ir_rewriter *rw = a->rw;
    pdm_ir_value *in[] = {a->value, pdm_ir_rw_make_number(rw, PDM_F32, (double)(float)a->factor[0])};
    const pdm_ir_make_attr attrs[] = {
        {"bias", pdm_ir_attr_f64(rw->context, (double)(float)a->shift[0])}, {0}};

    return in[1] ? pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_scale, in, 2, attrs) : NULL;
}

static pdm_ir_op *make_chain(affine *a, const char *name)
{
    pdm_ir_rewriter *rw = a->rw;
    pdm_ir_op *op = NULL;
    pdm_ir_value *value = a->value;

    if (scales(a)) {
        op = make_binary(rw, PDM_IR_OP_pd_op_multiply, value,
                         make_numbers(rw, a->factor, a->count, a->channels.tail, name));
        value = op ? pdm_ir_op_result(op, 0) : NULL;
    }
    return value && shifts(a)
               ? make_binary(rw, PDM_IR_OP_pd_op_add, value,
                             make_numbers(rw, a->shift, a->count, a->channels.tail, name))
               : op;
}

/* What a chain becomes when that is less than it was; NULL: it is not. */
static pdm_ir_op *shorter(affine *a, const pdm_ir_op *op)
{
    const size_t needed = (scales(a) ? 1 : 0) + (shifts(a) ? 1 : 0);
    product p;

    if (find_product(a, &p) && scales(a) && 1 + (shifts(a) ? 1 : 0) < 1 + a->num_ops)
        return fold_out(a, &p);
    if (needed == 0) /* identity has to say whether types are the same */
        return NULL;
    if (a->count == 1 && a->num_ops > 1)
        return make_scale(a);
    return needed < a->num_ops ? make_chain(a, name_near(op)) : NULL;
}

bool pdm_ir_affine_shorten(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    affine a = {.rw = rw};
    pdm_ir_op *made = NULL;

    if (goes_on(rw, pdm_ir_op_result(op, 0)) || !begin(&a))
        return false;
    if (collect(&a, op))
        made = shorter(&a, op);
    end(&a);
    return made && pdm_ir_rw_replace(rw, op, made);
}

/* ---- a chain before a product ---------------------------------------------------------------- */

static bool are_finite(const double *numbers, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite((float)numbers[i]))
            return false;
    }
    return true;
}

static pdm_ir_op *fold_in(affine *a, const product *p)
{
    pdm_ir_rewriter *rw = a->rw;
    const char *name = pdm_ir_parameter_name(pdm_ir_value_op(p->weights));
    double *bias = calloc((size_t)out_channels(p) + 1, sizeof *bias);
    pdm_ir_op *made = bias ? turn(a, p, a->value, bias) : NULL;

    if (!bias)
        rw->status = PDM_NOMEM;
    if (made && !are_finite(bias, out_channels(p)))
        made = NULL;
    if (made && shifts(a))
        made = make_binary(rw, PDM_IR_OP_pd_op_add, pdm_ir_op_result(made, 0),
                           make_numbers(rw, bias, out_channels(p), p->tail, name));
    free(bias);
    return made;
}

bool pdm_ir_affine_take_input(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    affine a = {.rw = rw};
    product p;
    bool done = false;

    if (!read_product(rw, op, &p) || pdm_ir_op_flag(op, "transpose_x") || !begin(&a))
        return false;
    const pdm_ir_op *last = pdm_ir_rw_maker(rw, pdm_ir_op_operand_value(op, 0), true);
    if (last && collect(&a, last) && !(p.bordered && shifts(&a)) &&
        (a.channels.count == 0 ||
         (a.channels.tail == p.tail && a.channels.count == in_channels(&p))) &&
        /* Shorter, at once or when the sum that is left goes into the next one. */
        (a.num_ops > 1 || !shifts(&a) || goes_on(rw, pdm_ir_op_result(op, 0))))
        done = pdm_ir_rw_replace(rw, op, fold_in(&a, &p));
    end(&a);
    return done;
}

/* ---- two products in a row ------------------------------------------------------------------- */

static int64_t places(const product *p)
{
    const pdm_ir_type type = p->weights->type;

    return type->rank == 4 ? type->dims[2] * type->dims[3] : 1;
}

/* Every channel of its result is a sum of channels of its operand at the same place. */
static bool is_pointwise(const product *p)
{
    int64_t strides[2];
    size_t count;

    if (PDM_IR_IS(p->op, pd_op, matmul))
        return !pdm_ir_op_flag(p->op, "transpose_x");
    return PDM_IR_IS(p->op, pd_op, conv2d) && p->groups == 1 && !p->bordered && places(p) == 1 &&
           pdm_ir_op_ints(p->op, "strides", strides, 2, &count) && count == 2 && strides[0] == 1 &&
           strides[1] == 1;
}

/* Numbers of one place of the weights lie that far apart. */
static int64_t stride_of(const product *p, int axis)
{
    return axis == 1 ? places(p) : p->weights->type->dims[1] * places(p);
}

/* to[o, i, place] = sum over m of after[o, m, place] * before[m, i]. False: one is not finite. */
static bool multiply_both(const product *before, const product *after, const float *b, const float *a,
                          float *to)
{
    const int64_t in = in_channels(before), middle = out_channels(before), out = out_channels(after),
                  n = places(after);
    const int64_t to_out = after->out_axis == 0 ? in * n : n, to_in = after->out_axis == 0 ? n : out * n;

    for (int64_t o = 0; o < out; o++) {
        for (int64_t i = 0; i < in; i++) {
            for (int64_t e = 0; e < n; e++) {
                double sum = 0;
                for (int64_t m = 0; m < middle; m++)
                    sum += (double)a[o * stride_of(after, after->out_axis) +
                                     m * stride_of(after, after->in_axis) + e] *
                           (double)b[m * stride_of(before, before->out_axis) +
                                     i * stride_of(before, before->in_axis)];
                to[o * to_out + i * to_in + e] = (float)sum;
                if (!isfinite((float)sum))
                    return false;
            }
        }
    }
    return true;
}

static pdm_ir_op *make_joined(pdm_ir_rewriter *rw, const product *before, const product *after)
{
    pdm_tensor b = {0}, a = {0}, both = {0};
    int64_t dims[4] = {0};
    pdm_ir_op *made = NULL;

    for (uint32_t i = 0; i < after->weights->type->rank; i++)
        dims[i] = after->weights->type->dims[i];
    dims[after->in_axis] = in_channels(before);
    if (read_weights(rw, before, &b) && read_weights(rw, after, &a)) {
        if (pdm_tensor_alloc(&both, PDM_F32, (int)after->weights->type->rank, dims) != PDM_OK)
            rw->status = PDM_NOMEM;
        else if (multiply_both(before, after, b.data, a.data, both.data))
            made = make_product(rw, after, pdm_ir_op_operand_value(before->op, 0), &both);
    }
    pdm_tensor_deinit(&b);
    pdm_tensor_deinit(&a);
    pdm_tensor_deinit(&both);
    return made;
}

bool pdm_ir_affine_join(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    enum { MOST = 1 << 26 };
    product before, after;

    if (!read_product(rw, op, &after) || after.groups != 1 || pdm_ir_op_flag(op, "transpose_x") ||
        (!PDM_IR_IS(op, pd_op, matmul) && !PDM_IR_IS(op, pd_op, conv2d)))
        return false;
    pdm_ir_op *first = pdm_ir_rw_maker(rw, pdm_ir_op_operand_value(op, 0), true);
    if (!first || first->info != op->info || !read_product(rw, first, &before) ||
        !is_pointwise(&before) || out_channels(&before) != in_channels(&after) ||
        pdm_ir_op_operand_value(first, 0)->type->rank != pdm_ir_op_operand_value(op, 0)->type->rank)
        return false;
    /* Only if there is less to multiply, and not too much to compute now. */
    const double in = (double)in_channels(&before), middle = (double)in_channels(&after),
                 out = (double)out_channels(&after), n = (double)places(&after);
    return out * in * n <= out * middle * n + middle * in && out * in * n * middle <= MOST &&
           pdm_ir_rw_replace(rw, op, make_joined(rw, &before, &after));
}
