/* Ops of channels: what is scaled by a number of each, and channels that change places or become pixels. */
#include <string.h>

#include "cinn/formula.h"
#include "cinn/rules.h"

#define N(value)     pdm_loop_index(fn, value)
#define F(dtype, v)  pdm_loop_number(fn, dtype, v)
#define CAST(to, e)  pdm_loop_cast(fn, to, e)

typedef const pdm_loop_expr *E;

static const pdm_ir_value *operand(const pdm_ir_op *op, uint32_t number)
{
    return pdm_ir_op_operand_value(op, number);
}

static uint32_t rank_of(const pdm_ir_op *op)
{
    return operand(op, 0)->type->rank;
}

static bool has_text(const pdm_ir_op *op, const char *name, const char *text, bool otherwise)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return attr && attr->kind == PDM_IR_ATTR_STR ? !strcmp(attr->u.s.text, text) : otherwise;
}

/* The place in a tensor that has one element for each channel, or one for all (channel NULL). */
static E of_channel(pdm_cinn_lower *l, const pdm_ir_value *value, E channel)
{
    const pdm_cinn_shape *shape = pdm_cinn_shape_of(l, value);
    E at[PDM_MAX_RANK];

    for (uint32_t d = 0; d < shape->rank; d++)
        at[d] = channel && !pdm_loop_is_int(shape->dims[d], 1) ? channel : pdm_loop_index(pdm_cinn_fn(l), 0);
    return pdm_cinn_element(l, value, at);
}

/* Whether a tensor has as many elements, along one axis. */
static bool has_channels(pdm_cinn_lower *l, const pdm_ir_value *value, E count)
{
    const pdm_cinn_shape *shape = pdm_cinn_shape_of(l, value);
    E found = pdm_loop_index(pdm_cinn_fn(l), 1);

    for (uint32_t d = 0; shape && d < shape->rank; d++) {
        if (pdm_loop_is_int(shape->dims[d], 1))
            continue;
        if (!pdm_loop_is_int(found, 1))
            return false;
        found = shape->dims[d];
    }
    return shape && pdm_cinn_require_equal(l, found, count);
}

/* ---- quantize_linear, dequantize_linear ------------------------------------------------------ */

/* The axis with a scale for each element; false: there is one scale. */
static bool scale_axis(const pdm_ir_op *op, uint32_t *out)
{
    const double axis = pdm_cinn_attr(op, "quant_axis", 0);

    *out = axis < 0 ? 0 : axis < PDM_MAX_RANK ? (uint32_t)axis : PDM_MAX_RANK;
    return axis >= 0 && rank_of(op) > 0;
}

/* Elements stay what they are, and are only looked at. */
static bool observes(const pdm_ir_op *op)
{
    return pdm_cinn_attr(op, "only_observer", 0) != 0;
}

/* Integers must be those of the bits, which is what old programs go by. Scales that follow what is seen are left alone. */
static bool linear_fits(const pdm_ir_op *op)
{
    const double bits = pdm_cinn_attr(op, "bit_length", 8);
    uint32_t axis;

    if (!(bits >= 2 && bits <= 32) || (scale_axis(op, &axis) && axis >= rank_of(op)))
        return false;
    const double bound = (double)(((int64_t)1 << ((int)bits - 1)) - 1);
    return observes(op) || (pdm_cinn_attr(op, "qmax", 127) == bound && pdm_cinn_attr(op, "qmin", -128) == -bound - 1);
}

bool pdm_cinn_fits_quantize(const pdm_ir_op *op)
{
    const pdm_dtype dtype = operand(op, 0)->type->dtype;

    return linear_fits(op) && pdm_cinn_attr(op, "is_test", 1) != 0 && pdm_ir_op_result(op, 0)->type->dtype == dtype;
}

bool pdm_cinn_fits_dequantize(const pdm_ir_op *op)
{
    const pdm_dtype dtype = operand(op, 1)->type->dtype;

    return linear_fits(op) && (dtype == PDM_F32 || dtype == PDM_F64) && pdm_ir_op_result(op, 0)->type->dtype == dtype;
}

bool pdm_cinn_shape_quantize(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op, 0));
    const pdm_dtype dtype = out->dtype;
    uint32_t axis;

    if (!x)
        return false;
    *out = *x;
    out->dtype = dtype;
    return has_channels(l, operand(op, 1), scale_axis(op, &axis) ? x->dims[axis] : pdm_loop_index(pdm_cinn_fn(l), 1));
}

static E scale_at(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    uint32_t axis;

    return of_channel(l, operand(op, 1), scale_axis(op, &axis) ? indices[axis] : NULL);
}

/* To the nearest integer, halves away from zero; what was cut off keeps the sign of zero. */
static E round_away(pdm_loop_fn *fn, E x)
{
    const E whole = U(TRUNC, x), one = F(PDM_F64, 1);
    const E half = B(LE, F(PDM_F64, 0.5), U(ABS, SUB(x, whole)));

    return IF(half, ADD(whole, IF(LT(x, F(PDM_F64, 0)), U(NEG, one), one)), whole);
}

E pdm_cinn_element_quantize(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const double bound = pdm_cinn_attr(op, "qmax", 127);
    const bool away = pdm_cinn_attr(op, "round_type", 0) == 1;
    pdm_loop_fn *fn = pdm_cinn_fn(l);

    if (observes(op))
        return pdm_cinn_element(l, operand(op, 0), indices);
    E v = pdm_loop_wide(fn, pdm_cinn_element(l, operand(op, 0), indices));
    E s = scale_at(l, op, indices);
    if (!v || !s)
        return NULL;
    const pdm_dtype dtype = v->dtype;
    s = CAST(dtype, s);
    const E one = F(dtype, 1), most = F(dtype, bound), least = F(dtype, -bound - 1);
    const E inverse = IF(B(LE, s, F(dtype, 1e-30)), DIV(one, ADD(s, F(dtype, 1e-6))), DIV(one, s));
    if (away)
        v = IF(LT(s, v), s, IF(LT(v, U(NEG, s)), U(NEG, s), v));
    v = CAST(PDM_F64, MUL(MUL(most, inverse), v));
    v = CAST(dtype, away ? round_away(fn, v) : U(ROUND, v));
    if (!away)
        v = IF(LT(most, v), most, IF(LT(v, least), least, v));
    return CAST(operand(op, 0)->type->dtype, v);
}

E pdm_cinn_element_dequantize(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E v = CAST(PDM_F64, pdm_cinn_element(l, operand(op, 0), indices)), s = scale_at(l, op, indices);

    if (!v || !s)
        return NULL;
    return observes(op) ? CAST(s->dtype, v) : DIV(MUL(CAST(s->dtype, v), s), F(s->dtype, pdm_cinn_attr(op, "qmax", 127)));
}

/* ---- prelu ----------------------------------------------------------------------------------- */

static uint32_t channel_axis(const pdm_ir_op *op)
{
    pdm_ir_attr layout = pdm_ir_op_attr(op, "data_format");
    const bool last = layout && layout->kind == PDM_IR_ATTR_STR && layout->u.s.size > 2 && layout->u.s.text[0] == 'N' &&
                      layout->u.s.text[1] != 'C' && layout->u.s.text[layout->u.s.size - 1] == 'C';

    return last ? rank_of(op) - 1 : 1;
}

static bool by_channel(const pdm_ir_op *op)
{
    return has_text(op, "mode", "channel", false) && rank_of(op) > 1;
}

bool pdm_cinn_fits_prelu(const pdm_ir_op *op)
{
    return operand(op, 0)->type->dtype == operand(op, 1)->type->dtype &&
           (has_text(op, "mode", "all", true) || by_channel(op));
}

bool pdm_cinn_shape_prelu(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op, 0));

    if (!x)
        return false;
    *out = *x;
    return has_channels(l, operand(op, 1),
                        by_channel(op) ? x->dims[channel_axis(op)] : pdm_loop_index(pdm_cinn_fn(l), 1));
}

E pdm_cinn_element_prelu(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E v = pdm_loop_wide(fn, pdm_cinn_element(l, operand(op, 0), indices));
    const E alpha = pdm_loop_wide(fn, of_channel(l, operand(op, 1), by_channel(op) ? indices[channel_axis(op)] : NULL));

    if (!v || !alpha)
        return NULL;
    return CAST(operand(op, 0)->type->dtype, IF(LT(F(v->dtype, 0), v), v, MUL(v, alpha)));
}

/* ---- channels that change places ------------------------------------------------------------- */

typedef struct image {
    uint32_t channel, row; /* axes; the columns are behind the rows */
    int64_t factor;        /* of pixels, or groups of channels */
} image;

static bool image_of(const pdm_ir_op *op, image *out)
{
    static const char *const names[] = {"upscale_factor", "downscale_factor", "groups", "group"};
    const bool last = has_text(op, "data_format", "NHWC", false);
    double factor = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && factor == 0; i++)
        factor = pdm_cinn_attr(op, names[i], 0);
    *out = (image){.channel = last ? 3 : 1, .row = last ? 1 : 2, .factor = (int64_t)factor};
    return rank_of(op) == 4 && factor >= 1 && factor <= 1 << 15;
}

static E channels_in(pdm_cinn_lower *l, const pdm_ir_op *op, int64_t parts)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op, 0));
    image i;

    return x && image_of(op, &i) ? pdm_cinn_quotient(l, x->dims[i.channel], pdm_loop_index(pdm_cinn_fn(l), parts)) : NULL;
}

bool pdm_cinn_fits_shuffle_channel(const pdm_ir_op *op)
{
    image i;

    return image_of(op, &i) && operand(op, 0)->type->dims[i.channel] > 0 &&
           operand(op, 0)->type->dims[i.channel] % i.factor == 0;
}

/* at: the place of the element itself, of which some indices will change. */
static bool place(const pdm_ir_op *op, const E *indices, image *i, E *at)
{
    if (!image_of(op, i))
        return false;
    memcpy(at, indices, rank_of(op) * sizeof *at);
    return true;
}

E pdm_cinn_element_shuffle_channel(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E at[PDM_MAX_RANK];
    image i;

    if (!place(op, indices, &i, at))
        return NULL;
    const E each = channels_in(l, op, i.factor), channel = indices[i.channel];
    if (!each)
        return NULL;
    at[i.channel] = ADD(MUL(B(MOD, channel, N(i.factor)), each), DIV(channel, N(i.factor)));
    return pdm_cinn_element(l, operand(op, 0), at);
}

/* ---- channels that become pixels, and back --------------------------------------------------- */

bool pdm_cinn_fits_pixels(const pdm_ir_op *op)
{
    image i;

    return image_of(op, &i);
}

bool pdm_cinn_shape_pixels(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op, 0));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    image i;

    if (!x || !image_of(op, &i))
        return false;
    *out = *x;
    const bool up = PDM_IR_IS(op, pd_op, pixel_shuffle);
    out->dims[i.channel] = up ? channels_in(l, op, i.factor * i.factor) : MUL(x->dims[i.channel], N(i.factor * i.factor));
    for (uint32_t d = i.row; d < i.row + 2; d++)
        out->dims[d] = up ? MUL(x->dims[d], N(i.factor)) : pdm_cinn_quotient(l, x->dims[d], N(i.factor));
    return out->dims[i.channel] && out->dims[i.row] && out->dims[i.row + 1];
}

E pdm_cinn_element_pixel_shuffle(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E at[PDM_MAX_RANK];
    image i;

    if (!place(op, indices, &i, at))
        return NULL;
    const E f = N(i.factor), row = indices[i.row], column = indices[i.row + 1];
    at[i.channel] = ADD(MUL(ADD(MUL(indices[i.channel], f), B(MOD, row, f)), f), B(MOD, column, f));
    at[i.row] = DIV(row, f);
    at[i.row + 1] = DIV(column, f);
    return pdm_cinn_element(l, operand(op, 0), at);
}

E pdm_cinn_element_pixel_unshuffle(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E at[PDM_MAX_RANK];
    image i;

    if (!place(op, indices, &i, at))
        return NULL;
    const E f = N(i.factor), channel = indices[i.channel];
    at[i.channel] = DIV(channel, MUL(f, f));
    at[i.row] = ADD(MUL(indices[i.row], f), B(MOD, DIV(channel, f), f));
    at[i.row + 1] = ADD(MUL(indices[i.row + 1], f), B(MOD, channel, f));
    return pdm_cinn_element(l, operand(op, 0), at);
}
