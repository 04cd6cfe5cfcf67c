/* Images in another size: nearest and bilinear. */
#include <string.h>

#include "cinn/formula.h"
#include "cinn/rules.h"

#define N(value) pdm_loop_index(fn, value)
#define F(value) pdm_loop_float(fn, PDM_F32, value)
#define MIN(a, b) B(MIN, a, b)

typedef const pdm_loop_expr *E;

enum { AXES = 2 };

typedef struct sizes {
    uint32_t first_axis; /* of the two */
    double scale[AXES];  /* 0: none is given */
    bool by_scale;       /* the scales tell the size, too */
    uint32_t listed;     /* the operand that tells it; 0: none does */
    bool corners, centred;
} sizes;

static bool is_true(const pdm_ir_op *op, const char *name)
{
    return pdm_cinn_attr(op, name, 0) != 0;
}

/* Numbers of an array attribute; false: they are none, or more than two. */
static bool scales_of(const pdm_ir_op *op, double out[AXES], size_t *out_n)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, "scale");

    *out_n = 0;
    if (!attr)
        return true;
    if (attr->kind != PDM_IR_ATTR_ARRAY || attr->count > AXES)
        return false;
    for (uint32_t i = 0; i < attr->count; i++) {
        const pdm_ir_attr_kind kind = attr->u.items[i]->kind;
        if ((kind != PDM_IR_ATTR_F32 && kind != PDM_IR_ATTR_F64) || !(attr->u.items[i]->u.f > 0))
            return false;
        out[i] = attr->u.items[i]->u.f;
    }
    *out_n = attr->count;
    return true;
}

static bool is_absent(const pdm_ir_op *op, uint32_t operand)
{
    return operand >= op->num_operands || !pdm_ir_op_operand_value(op, operand);
}

/* A list of sizes wins, then a tensor of them, then scales, then attributes. */
static bool sizes_of(const pdm_ir_op *op, sizes *s)
{
    pdm_ir_attr layout = pdm_ir_op_attr(op, "data_format");
    size_t scales, n = 0;

    memset(s, 0, sizeof *s);
    if (!layout || layout->kind != PDM_IR_ATTR_STR || !is_absent(op, 3) ||
        !scales_of(op, s->scale, &scales))
        return false;
    s->listed = !is_absent(op, 2) ? 2 : !is_absent(op, 1) ? 1 : 0;
    if (s->listed && (!pdm_cinn_has_sizes(op, s->listed, &n) || n != AXES))
        return false;
    if (s->listed == 2) /* then scales are not looked at */
        scales = 0;
    s->first_axis = strcmp(layout->u.s.text, "NCHW") == 0 ? 2 : 1;
    s->corners = is_true(op, "align_corners");
    s->centred = !s->corners && pdm_cinn_attr(op, "align_mode", 1) == 0;
    s->by_scale = !s->listed && scales > 0;
    for (size_t i = 0; i < AXES; i++)
        s->scale[i] = scales == 0 ? 0 : s->scale[scales == 1 ? 0 : i];
    return true;
}

static bool is_whole(double scale)
{
    return scale >= 1 && scale <= 1024 && scale == (double)(int64_t)scale;
}

bool pdm_cinn_fits_interp(const pdm_ir_op *op)
{
    sizes s;

    return pdm_ir_op_operand_value(op, 0)->type->rank == 4 && sizes_of(op, &s);
}

/* The size along an axis that the scale tells; NULL: not for all shapes of the class. */
static E scaled(pdm_loop_fn *fn, E dim, double scale)
{
    if (is_whole(scale))
        return MUL(dim, N((int64_t)scale));
    return dim->kind == PDM_LOOP_CONST ? N((int64_t)((double)dim->u.i * scale)) : NULL;
}

bool pdm_cinn_shape_interp(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    static const char *const names[AXES] = {"out_h", "out_w"};
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, pdm_ir_op_operand_value(op, 0));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E listed[PDM_CINN_MAX_INTS];
    sizes s;
    size_t n;

    if (!x || !sizes_of(op, &s) ||
        (s.listed && !pdm_cinn_sizes(l, op, s.listed, false, listed, &n)))
        return false;
    out->rank = x->rank;
    memcpy(out->dims, x->dims, sizeof out->dims);
    for (uint32_t i = 0; i < AXES; i++) {
        const E dim = x->dims[s.first_axis + i];
        const E to = s.listed     ? listed[i]
                     : s.by_scale ? scaled(fn, dim, s.scale[i])
                                  : N((int64_t)pdm_cinn_attr(op, names[i], 0));
        if (!to || pdm_loop_is_int(dim, 0) ||
            (to->kind == PDM_LOOP_CONST && (to->u.i < 1 || to->u.i > INT32_MAX)))
            return false;
        out->dims[s.first_axis + i] = to;
    }
    return true;
}

/* Elements of the operand for one of the result: in single precision, as it decides which they are. */
static E ratio_of(pdm_loop_fn *fn, const sizes *s, uint32_t axis, E in, E out)
{
    const E less_in = pdm_loop_cast(fn, PDM_F32, SUB(in, N(1)));
    const E less_out = pdm_loop_cast(fn, PDM_F32, SUB(out, N(1)));

    if (pdm_loop_is_int(out, 1))
        return F(0);
    if (s->corners)
        return DIV(less_in, less_out);
    if (s->scale[axis] > 0)
        return F((double)(float)(1.0 / s->scale[axis]));
    return DIV(pdm_loop_cast(fn, PDM_F32, in), pdm_loop_cast(fn, PDM_F32, out));
}

static E within(pdm_loop_fn *fn, E at, E dim)
{
    return MIN(pdm_loop_cast(fn, PDM_INDEX, at), SUB(dim, N(1)));
}

/* ---- nearest --------------------------------------------------------------------------------- */

static E nearest(pdm_loop_fn *fn, const sizes *s, uint32_t axis, E in, E out, E index)
{
    const int64_t scale = (int64_t)s->scale[axis];

    /* Times a power of two: no float is rounded, so it is a division of integers. */
    if (!s->corners && s->by_scale && is_whole(s->scale[axis]) && (scale & (scale - 1)) == 0)
        return B(DIV, index, N(scale));
    const E plain = MUL(ratio_of(fn, s, axis, in, out), pdm_loop_cast(fn, PDM_F32, index));
    if (!s->corners)
        return within(fn, plain, in);
    return within(fn, ADD(pdm_loop_cast(fn, PDM_F64, plain), pdm_loop_float(fn, PDM_F64, 0.5)), in);
}

E pdm_cinn_element_nearest(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, pdm_ir_op_operand_value(op, 0));
    const pdm_cinn_shape *out = pdm_cinn_shape_of(l, pdm_ir_op_result(op, 0));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E at[PDM_MAX_RANK];
    sizes s;

    if (!sizes_of(op, &s))
        return NULL;
    memcpy(at, indices, x->rank * sizeof *at);
    for (uint32_t i = 0; i < AXES; i++) {
        const uint32_t d = s.first_axis + i;
        at[d] = nearest(fn, &s, i, x->dims[d], out->dims[d], indices[d]);
    }
    return pdm_cinn_element(l, pdm_ir_op_operand_value(op, 0), at);
}

/* ---- bilinear -------------------------------------------------------------------------------- */

/* Two elements, and how much each counts. */
static void between(pdm_loop_fn *fn, const sizes *s, uint32_t axis, E in, E out, E index, E from[2],
                    E weight[2])
{
    const E ratio = ratio_of(fn, s, axis, in, out);
    E at = MUL(ratio, pdm_loop_cast(fn, PDM_F32, index));

    if (s->centred) {
        const E half = pdm_loop_float(fn, PDM_F64, 0.5);
        const E place = SUB(MUL(pdm_loop_cast(fn, PDM_F64, ratio),
                                ADD(pdm_loop_cast(fn, PDM_F64, index), half)),
                            half);
        at = B(MAX, pdm_loop_cast(fn, PDM_F32, place), F(0));
    }
    from[0] = within(fn, at, in);
    from[1] = MIN(ADD(from[0], N(1)), SUB(in, N(1)));
    weight[1] = SUB(at, pdm_loop_cast(fn, PDM_F32, from[0]));
    weight[0] = pdm_loop_cast(fn, PDM_F32, SUB(pdm_loop_float(fn, PDM_F64, 1),
                                               pdm_loop_cast(fn, PDM_F64, weight[1])));
}

/* The other types are calculated with as doubles: along the rows, then between them. */
static E by_rows(pdm_cinn_lower *l, const pdm_ir_op *op, const sizes *s, E *at, E (*from)[2], E (*weight)[2])
{
    const pdm_ir_value *x = pdm_ir_op_operand_value(op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E zero = pdm_loop_float(fn, PDM_F64, 0), one = pdm_loop_float(fn, PDM_F64, 1);
    E sum = zero;

    for (uint32_t j = 0; j < 2; j++) {
        E row = zero;
        for (uint32_t i = 0; i < 2; i++) {
            at[s->first_axis] = from[0][j];
            at[s->first_axis + 1] = from[1][i];
            const E value = pdm_loop_cast(fn, PDM_F64, pdm_cinn_element(l, x, at));
            const E second = pdm_loop_cast(fn, PDM_F64, weight[1][1]);
            row = value ? ADD(row, MUL(i ? second : SUB(one, second), value)) : NULL;
        }
        const E second = pdm_loop_cast(fn, PDM_F64, weight[0][1]);
        sum = row ? ADD(sum, MUL(j ? second : SUB(one, second), row)) : NULL;
        if (!sum)
            return NULL;
    }
    return pdm_loop_cast(fn, x->type->dtype, sum);
}

/* In the order in which the reference kernel adds the corners. */
E pdm_cinn_element_bilinear(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, pdm_ir_op_operand_value(op, 0));
    const pdm_cinn_shape *out = pdm_cinn_shape_of(l, pdm_ir_op_result(op, 0));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E at[PDM_MAX_RANK], from[AXES][2], weight[AXES][2], sum = F(0);
    sizes s;

    if (!sizes_of(op, &s))
        return NULL;
    memcpy(at, indices, x->rank * sizeof *at);
    for (uint32_t i = 0; i < AXES; i++) {
        const uint32_t d = s.first_axis + i;
        between(fn, &s, i, x->dims[d], out->dims[d], indices[d], from[i], weight[i]);
    }
    if (pdm_ir_op_operand_value(op, 0)->type->dtype != PDM_F32)
        return by_rows(l, op, &s, at, from, weight);
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t i = k / 2, j = k % 2;
        at[s.first_axis] = from[0][j];
        at[s.first_axis + 1] = from[1][i];
        const E value = pdm_cinn_element(l, pdm_ir_op_operand_value(op, 0), at);
        if (!value)
            return NULL;
        sum = ADD(sum, MUL(MUL(value, weight[0][j]), weight[1][i]));
    }
    return sum;
}
