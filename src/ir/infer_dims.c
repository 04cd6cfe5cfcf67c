/* Arithmetic of dims that are numbers, unknown, or expressions. */
#include <string.h>

#include "ir/infer_impl.h"
#include "ir/shapes.h"

/* ---- expressions ----------------------------------------------------------------------------- */

typedef pdm_dim (*operation)(pdm_dims *, pdm_dim, pdm_dim);

/* Whether the operation has to be done on expressions: one is there, and the other is not unknown. */
static bool by_expr(const pdm_ir_infer *in, int64_t a, int64_t b)
{
    return in && in->shapes && (PDM_IR_IS_EXPR(a) || PDM_IR_IS_EXPR(b)) && PDM_IR_IS_GIVEN(a) &&
           PDM_IR_IS_GIVEN(b);
}

static int64_t apply(const pdm_ir_infer *in, operation fn, int64_t a, int64_t b)
{
    pdm_ir_shapes *s = in->shapes;

    return pdm_ir_shapes_number(
        s, fn(&s->dims, pdm_ir_shapes_dim(s, a), pdm_ir_shapes_dim(s, b)));
}

int64_t pdm_ir_dim_add(const pdm_ir_infer *in, int64_t a, int64_t b)
{
    int64_t r;

    if (by_expr(in, a, b))
        return apply(in, pdm_dim_plus, a, b);
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &r) || r > PDM_IR_BIG ? -1 : r;
}

int64_t pdm_ir_dim_sub(const pdm_ir_infer *in, int64_t a, int64_t b)
{
    if (by_expr(in, a, b))
        return apply(in, pdm_dim_minus, a, b);
    return a < 0 || b < 0 || a < b ? -1 : a - b;
}

int64_t pdm_ir_dim_mul(const pdm_ir_infer *in, int64_t a, int64_t b)
{
    int64_t r;

    if (by_expr(in, a, b))
        return apply(in, pdm_dim_times, a, b);
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &r) || r > PDM_IR_BIG ? -1 : r;
}

int64_t pdm_ir_dim_div(const pdm_ir_infer *in, int64_t a, int64_t b)
{
    if (by_expr(in, a, b))
        return apply(in, pdm_dim_over, a, b);
    return a < 0 || b <= 0 ? -1 : a / b;
}

int64_t pdm_ir_dim_min(const pdm_ir_infer *in, int64_t a, int64_t b)
{
    if (by_expr(in, a, b))
        return apply(in, pdm_dim_min, a, b);
    return a < 0 || b < 0 ? -1 : a < b ? a : b;
}

int64_t pdm_ir_dim_broadcast(const pdm_ir_infer *in, int64_t a, int64_t b)
{
    if (a == 1)
        return b;
    if (b == 1)
        return a;
    if (by_expr(in, a, b)) {
        pdm_ir_shapes_fit(in->shapes, a, b);
        return apply(in, pdm_dim_broadcast, a, b);
    }
    /* An expression may be 1 where the other is unknown. */
    return a >= 0 ? a : b >= 0 ? b : -1;
}

int64_t pdm_ir_dim_same(const pdm_ir_infer *in, int64_t a, int64_t b)
{
    if (by_expr(in, a, b))
        return pdm_ir_shapes_equate(in->shapes, a, b);
    return PDM_IR_IS_GIVEN(a) ? a : b;
}

int64_t pdm_ir_dim_shift(const pdm_ir_infer *in, int64_t dim, int64_t by)
{
    int64_t r;

    if (by_expr(in, dim, 0)) {
        pdm_ir_shapes *s = in->shapes;
        return pdm_ir_shapes_number(s, pdm_dim_plus(&s->dims, pdm_ir_shapes_dim(s, dim),
                                                    pdm_dim_int(&s->dims, by)));
    }
    return dim < 0 || __builtin_add_overflow(dim, by, &r) || r < 0 || r > PDM_IR_BIG ? -1 : r;
}

int64_t pdm_ir_dim_rest(const pdm_ir_infer *in, int64_t dim, int64_t by)
{
    if (by_expr(in, dim, 0)) {
        pdm_ir_shapes *s = in->shapes;
        const pdm_dim less = pdm_dim_minus(&s->dims, pdm_ir_shapes_dim(s, dim),
                                           pdm_dim_int(&s->dims, by));
        return pdm_ir_shapes_number(s, pdm_dim_max(&s->dims, less, pdm_dim_int(&s->dims, 0)));
    }
    return dim < 0 ? -1 : dim > by ? dim - by : 0;
}

int64_t pdm_ir_dim_windows(const pdm_ir_infer *in, int64_t room, int64_t extent, int64_t stride)
{
    if (extent < 0 || stride < 1)
        return -1;
    if (by_expr(in, room, 0))
        return pdm_ir_dim_shift(
            in, pdm_ir_dim_div(in, pdm_ir_dim_shift(in, room, -extent), stride), 1);
    return room < extent ? -1 : (room - extent) / stride + 1;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static int64_t slice_of_number(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;

    start = start < 0 ? start + dim : start;
    end = end < 0 ? end + dim : end;
    start = start < low ? low : start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    int64_t span = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
    return span <= 0 ? 0 : (span - 1) / stride + 1;
}

/* A limit within [low, high], counted from 0. NULL: it cannot be told whether it counts from the
 * end. */
static pdm_dim limit(pdm_dims *t, pdm_dim dim, pdm_dim at, pdm_dim low, pdm_dim high)
{
    if (!at || !dim)
        return NULL;
    if (at->least >= INT32_MAX)
        return high;
    if (at->least >= 0)
        return pdm_dim_min(t, at, high);
    if (at->most < 0)
        return pdm_dim_min(t, pdm_dim_max(t, pdm_dim_plus(t, dim, at), low), high);
    return NULL;
}

/* How many steps there are from one to before the other; none when there is no way. */
static pdm_dim steps_over(pdm_dims *t, pdm_dim from, pdm_dim to, int64_t step)
{
    const int64_t stride = step > 0 ? step : -step;
    const pdm_dim span = pdm_dim_max(t, pdm_dim_minus(t, to, from), pdm_dim_int(t, 0));

    return pdm_dim_over(t, pdm_dim_plus(t, span, pdm_dim_int(t, stride - 1)),
                        pdm_dim_int(t, stride));
}

static pdm_dim slice_of_expr(pdm_dims *t, pdm_dim dim, pdm_dim start, pdm_dim end, int64_t step)
{
    const pdm_dim zero = pdm_dim_int(t, 0), one = pdm_dim_int(t, 1);
    const pdm_dim low = step > 0 ? zero : pdm_dim_int(t, -1);
    const pdm_dim high = step > 0 ? dim : pdm_dim_minus(t, dim, one);

    /* The last n, or all. */
    if (step == 1 && start && start->kind == PDM_DIM_INT && start->number < 0 && end &&
        end->least >= INT32_MAX)
        return pdm_dim_min(t, dim, pdm_dim_int(t, -start->number));
    /* What begins behind the end is empty, so a start need not be pulled to it. */
    if (step < 0 || !start || start->least < 0)
        start = limit(t, dim, start, low, high);
    end = limit(t, dim, end, low, high);
    return steps_over(t, step > 0 ? start : end, step > 0 ? end : start, step);
}

/* A limit as an expression; NULL: unknown. */
static pdm_dim limit_at(pdm_ir_shapes *s, const pdm_ir_ints *ints, size_t index)
{
    return index < ints->n && ints->known[index] ? pdm_dim_int(&s->dims, ints->v[index])
           : index < ints->n && PDM_IR_IS_EXPR(ints->v[index])
               ? pdm_ir_shapes_dim(s, ints->v[index])
               : NULL;
}

int64_t pdm_ir_dim_slice(const pdm_ir_infer *in, int64_t dim, const pdm_ir_ints *starts,
                         const pdm_ir_ints *ends, size_t index, int64_t step)
{
    const bool known =
        index < starts->n && starts->known[index] && index < ends->n && ends->known[index];

    if (!PDM_IR_IS_GIVEN(dim) || step == 0)
        return -1;
    if (known && dim >= 0)
        return slice_of_number(dim, starts->v[index], ends->v[index], step);
    if (!in || !in->shapes)
        return -1;
    pdm_ir_shapes *s = in->shapes;
    return pdm_ir_shapes_number(s, slice_of_expr(&s->dims, pdm_ir_shapes_dim(s, dim),
                                                 limit_at(s, starts, index),
                                                 limit_at(s, ends, index), step));
}

int64_t pdm_ir_dim_range(const pdm_ir_infer *in, const pdm_ir_ints *from, const pdm_ir_ints *to,
                         int64_t step)
{
    pdm_ir_shapes *s = in->shapes;

    if (!s || step == 0)
        return -1;
    const pdm_dim a = limit_at(s, from, 0), b = limit_at(s, to, 0);
    return pdm_ir_shapes_number(s, steps_over(&s->dims, step > 0 ? a : b, step > 0 ? b : a, step));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

void pdm_ir_meta_broadcast(const pdm_ir_infer *in, const pdm_ir_meta *x, const pdm_ir_meta *y,
                           pdm_ir_meta *out)
{
    if (x->rank < 0 || y->rank < 0) {
        out->rank = -1;
        return;
    }
    int rank = x->rank > y->rank ? x->rank : y->rank;
    int64_t dims[PDM_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        int xi = i - (rank - x->rank), yi = i - (rank - y->rank);
        dims[i] = pdm_ir_dim_broadcast(in, xi < 0 ? 1 : x->dims[xi], yi < 0 ? 1 : y->dims[yi]);
    }
    out->rank = rank;
    memcpy(out->dims, dims, sizeof dims[0] * (size_t)rank);
}

int64_t pdm_ir_meta_product(const pdm_ir_infer *in, const pdm_ir_meta *meta, int begin, int end)
{
    if (meta->rank < 0)
        return -1;
    int64_t n = 1;
    for (int i = begin < 0 ? 0 : begin; i < end && i < meta->rank; i++)
        n = pdm_ir_dim_mul(in, n, meta->dims[i]);
    return n;
}
