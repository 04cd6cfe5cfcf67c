/* What tensors of integers hold, as far as it follows from shapes and constants. */
#include <math.h>
#include <string.h>

#include "ir/infer_impl.h"
#include "ir/shapes_impl.h"

enum { MAX_DATA = PDM_IR_MAX_INTS };

/* The op at hand, and the elements of its result as they are found. */
typedef struct data {
    pdm_ir_shapes *s;
    pdm_dims *t;
    const pdm_ir_op *op;
    size_t n;
    pdm_dim v[MAX_DATA];
} data;

/* ---- operands -------------------------------------------------------------------------------- */

static const pdm_ir_shape *operand(const data *d, uint32_t index)
{
    return index < d->op->num_operands
               ? pdm_ir_shapes_of(d->s, pdm_ir_op_operand_value(d->op, index))
               : NULL;
}

/* Elements of operand 0, known ones or not. */
static const pdm_ir_shape *first(const data *d)
{
    const pdm_ir_shape *x = operand(d, 0);

    return x && x->data ? x : NULL;
}

static int64_t attr_int(const data *d, const char *name, int64_t fallback)
{
    const pdm_ir_op_state state = {
        .info = d->op->info, .attrs = d->op->attrs, .num_attrs = d->op->num_attrs};

    return pdm_ir_state_int(&state, name, fallback);
}

static bool attr_ints(const data *d, const char *name, int64_t *out, size_t room, size_t *out_n)
{
    const pdm_ir_op_state state = {
        .info = d->op->info, .attrs = d->op->attrs, .num_attrs = d->op->num_attrs};

    return pdm_ir_state_ints(&state, name, out, room, out_n);
}

/* All elements of an operand that are numbers. */
static bool numbers(const data *d, uint32_t index, int64_t *out, size_t *out_n)
{
    const pdm_ir_shape *x = operand(d, index);

    if (!x || !x->data)
        return false;
    for (size_t i = 0; i < x->num_data; i++) {
        if (!x->data[i] || x->data[i]->kind != PDM_DIM_INT)
            return false;
        out[i] = x->data[i]->number;
    }
    *out_n = x->num_data;
    return true;
}

static void push(data *d, pdm_dim e)
{
    if (d->n < MAX_DATA)
        d->v[d->n] = e;
    d->n++; /* too many are dropped in the end */
}

/* An attribute that is a whole number. */
static bool whole(pdm_ir_attr attr, int64_t *out)
{
    double v;

    if (!attr)
        return false;
    if (attr->kind == PDM_IR_ATTR_F32 || attr->kind == PDM_IR_ATTR_F64 ||
        (attr->kind == PDM_IR_ATTR_SCALAR && pdm_dtype_is_float(attr->dtype)))
        v = attr->u.f;
    else if (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64 ||
             (attr->kind == PDM_IR_ATTR_SCALAR && pdm_dtype_is_int(attr->dtype)))
        v = (double)attr->u.i;
    else
        return false;
    if (v != floor(v) || fabs(v) > 0x1p40)
        return false;
    *out = (int64_t)v;
    return true;
}

/* ---- rules: false when nothing is known ------------------------------------------------------ */

static bool data_dims(data *d)
{
    const pdm_ir_shape *x = operand(d, 0);

    if (!x || x->rank < 0)
        return false;
    for (int i = 0; i < x->rank; i++)
        push(d, x->dims[i]);
    return true;
}

static bool data_constant(data *d)
{
    int64_t v[MAX_DATA];
    size_t n;

    if (!pdm_ir_const_ints(pdm_ir_op_result(d->op, 0), v, MAX_DATA, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        push(d, pdm_dim_int(d->t, v[i]));
    return true;
}

/* The same elements in the same order; what is not an integer has none. */
static bool data_keep(data *d)
{
    const pdm_ir_shape *x = first(d);

    for (size_t i = 0; x && i < x->num_data; i++)
        push(d, x->data[i]);
    return x != NULL;
}

/* Vectors only: there is no order to change. */
static bool data_vector(data *d)
{
    const pdm_ir_shape *x = operand(d, 0);

    return x && x->rank <= 1 && data_keep(d);
}

static size_t count_of(const data *d, const pdm_ir_shape *shape)
{
    int64_t n = 1;

    for (int i = 0; i < shape->rank; i++) {
        const pdm_dim e = pdm_dim_resolve(d->t, shape->dims[i]);
        if (!e || e->kind != PDM_DIM_INT || e->number < 0 || e->number > MAX_DATA)
            return SIZE_MAX;
        n *= e->number;
        if (n > MAX_DATA)
            return SIZE_MAX;
    }
    return shape->rank < 0 ? SIZE_MAX : (size_t)n;
}

static bool data_fill(data *d)
{
    const pdm_ir_shape *out = pdm_ir_shapes_of(d->s, pdm_ir_op_result(d->op, 0));
    const size_t n = out ? count_of(d, out) : SIZE_MAX;
    int64_t value[MAX_DATA];
    size_t num;

    if (n == SIZE_MAX || !numbers(d, 1, value, &num) || num != 1)
        return false;
    while (d->n < n)
        push(d, pdm_dim_int(d->t, value[0]));
    return true;
}

static bool data_numel(data *d)
{
    const pdm_ir_shape *x = operand(d, 0);
    pdm_dim n = pdm_dim_int(d->t, 1);

    for (int i = 0; x && i < x->rank; i++)
        n = pdm_dim_times(d->t, n, x->dims[i]);
    push(d, x && x->rank >= 0 ? n : NULL);
    return true;
}

static bool data_increment(data *d)
{
    const pdm_ir_shape *x = first(d);
    int64_t by;

    if (!x || !whole(pdm_ir_op_attr(d->op, "value"), &by))
        return false;
    for (size_t i = 0; i < x->num_data; i++)
        push(d, pdm_dim_plus(d->t, x->data[i], pdm_dim_int(d->t, by)));
    return true;
}

static bool data_scale(data *d)
{
    const pdm_ir_shape *x = first(d);
    const pdm_ir_value *factor = pdm_ir_op_operand_value(d->op, 1);
    const pdm_ir_op *full = factor ? pdm_ir_value_op(factor) : NULL;
    int64_t scale, bias = 0;

    if (!x || !full || !PDM_IR_IS(full, pd_op, full) ||
        !whole(pdm_ir_op_attr(full, "value"), &scale) ||
        (pdm_ir_op_attr(d->op, "bias") && !whole(pdm_ir_op_attr(d->op, "bias"), &bias)))
        return false;
    const bool after = attr_int(d, "bias_after_scale", 1) != 0;
    const pdm_dim by = pdm_dim_int(d->t, scale), more = pdm_dim_int(d->t, bias);
    for (size_t i = 0; i < x->num_data; i++)
        push(d, after ? pdm_dim_plus(d->t, pdm_dim_times(d->t, x->data[i], by), more)
                      : pdm_dim_times(d->t, pdm_dim_plus(d->t, x->data[i], more), by));
    return true;
}

static pdm_dim combined(const data *d, pdm_dim a, pdm_dim b)
{
    const pdm_ir_op *op = d->op;

    if (!a || !b)
        return NULL;
    if (PDM_IR_IS(op, pd_op, add) || PDM_IR_IS(op, pd_op, add_))
        return pdm_dim_plus(d->t, a, b);
    if (PDM_IR_IS(op, pd_op, subtract) || PDM_IR_IS(op, pd_op, subtract_))
        return pdm_dim_minus(d->t, a, b);
    if (PDM_IR_IS(op, pd_op, multiply) || PDM_IR_IS(op, pd_op, multiply_))
        return pdm_dim_times(d->t, a, b);
    if (PDM_IR_IS(op, pd_op, maximum))
        return pdm_dim_max(d->t, a, b);
    if (PDM_IR_IS(op, pd_op, minimum))
        return pdm_dim_min(d->t, a, b);
    /* Kernels round negative quotients in more than one way. */
    if (a->least < 0 || b->least < 0)
        return NULL;
    const pdm_dim q = pdm_dim_over(d->t, a, b);
    if (PDM_IR_IS(op, pd_op, floor_divide) || PDM_IR_IS(op, pd_op, floor_divide_))
        return q;
    return pdm_dim_minus(d->t, a, pdm_dim_times(d->t, q, b));
}

/* Of as many elements each, or one against many; not across ranks, where the order is another. */
static bool data_binary(data *d)
{
    const pdm_ir_shape *x = first(d), *y = operand(d, 1);

    if (!x || !y || !y->data || x->rank > 1 || y->rank > 1)
        return false;
    const size_t n = x->num_data == 1 ? y->num_data : x->num_data;
    if (y->num_data != 1 && y->num_data != n)
        return false;
    for (size_t i = 0; i < n; i++)
        push(d, combined(d, x->data[x->num_data == 1 ? 0 : i], y->data[y->num_data == 1 ? 0 : i]));
    return true;
}

/* Over all elements. */
static bool data_reduce(data *d)
{
    const pdm_ir_shape *x = first(d), *out = pdm_ir_shapes_of(d->s, pdm_ir_op_result(d->op, 0));
    const pdm_ir_op *op = d->op;

    if (!x || !out || x->num_data == 0 || count_of(d, out) != 1)
        return false;
    pdm_dim r = x->data[0];
    for (size_t i = 1; i < x->num_data; i++)
        r = PDM_IR_IS(op, pd_op, sum)    ? pdm_dim_plus(d->t, r, x->data[i])
            : PDM_IR_IS(op, pd_op, prod) ? pdm_dim_times(d->t, r, x->data[i])
            : PDM_IR_IS(op, pd_op, max)  ? pdm_dim_max(d->t, r, x->data[i])
                                         : pdm_dim_min(d->t, r, x->data[i]);
    push(d, r);
    return true;
}

/* concat and stack of scalars and vectors along the first axis; what is not known of one, but its
 * length, stays open. */
static bool data_concat(data *d)
{
    const pdm_ir_shape *list = operand(d, 0);
    int64_t axis[MAX_DATA] = {attr_int(d, "axis", 0)};
    size_t n = 1;

    if (!list || (d->op->num_operands > 1 && !numbers(d, 1, axis, &n)) || n != 1)
        return false;
    for (size_t i = 0; i < list->num_elements; i++) {
        const pdm_ir_shape *x = &list->elements[i];
        const size_t count = count_of(d, x);
        if (x->rank > 1 || count == SIZE_MAX || (axis[0] != 0 && axis[0] != -1) ||
            (axis[0] == -1 && x->rank == 1 && PDM_IR_IS(d->op, pd_op, stack)))
            return false;
        for (size_t k = 0; k < count; k++)
            push(d, x->data && k < x->num_data ? x->data[k] : NULL);
    }
    return list->num_elements > 0;
}

static bool data_slice(data *d)
{
    const pdm_ir_shape *x = first(d);
    int64_t axes[MAX_DATA], start[MAX_DATA], end[MAX_DATA];
    size_t n, num_starts, num_ends;

    if (!x || x->rank != 1 || !attr_ints(d, "axes", axes, MAX_DATA, &n) || n != 1 ||
        (axes[0] != 0 && axes[0] != -1) || !numbers(d, 1, start, &num_starts) ||
        !numbers(d, 2, end, &num_ends) || num_starts != 1 || num_ends != 1)
        return false;
    const int64_t size = (int64_t)x->num_data;
    int64_t gone[MAX_DATA];
    const bool drop = attr_ints(d, "decrease_axis", gone, MAX_DATA, &n) && n > 0;
    int64_t from = start[0] < 0 ? start[0] + size : start[0];
    int64_t to = end[0] < 0 ? end[0] + size : end[0];
    if (drop && start[0] == -1 && end[0] == 0)
        to = size;
    from = from < 0 ? 0 : from;
    to = to > size ? size : to;
    for (int64_t i = from; i < to; i++)
        push(d, x->data[i]);
    return true;
}

static bool data_gather(data *d)
{
    const pdm_ir_shape *x = first(d);
    int64_t at[MAX_DATA], axis[MAX_DATA] = {attr_int(d, "axis", 0)};
    size_t n, one = 1;

    if (!x || x->rank != 1 || !numbers(d, 1, at, &n) ||
        (d->op->num_operands > 2 && pdm_ir_op_operand_value(d->op, 2) &&
         !numbers(d, 2, axis, &one)) ||
        one != 1 || (axis[0] != 0 && axis[0] != -1))
        return false;
    for (size_t i = 0; i < n; i++) {
        const int64_t k = at[i] < 0 ? at[i] + (int64_t)x->num_data : at[i];
        if (k < 0 || k >= (int64_t)x->num_data)
            return false;
        push(d, x->data[k]);
    }
    return true;
}

/* The parts of a vector go to the elements of the result. */
static bool data_split(data *d)
{
    const pdm_ir_shape *x = first(d);
    pdm_ir_shape *out = pdm_ir_shapes_record(d->s, pdm_ir_op_result(d->op, 0));
    size_t at = 0;

    if (!x || !out || x->rank != 1)
        return false;
    for (size_t i = 0; i < out->num_elements; i++) {
        const size_t n = count_of(d, &out->elements[i]);
        if (n == SIZE_MAX || n > x->num_data - at)
            return false;
        pdm_ir_shapes_set_data(d->s, &out->elements[i], n, x->data + at);
        at += n;
    }
    return false; /* done */
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void take_data(pdm_ir_shapes *s, pdm_ir_shape *to, const pdm_ir_shape *from)
{
    if (from && from->data && from->rank == to->rank)
        pdm_ir_shapes_set_data(s, to, from->num_data, from->data);
}

/* What builtin ops do with elements of vectors. */
static void vectors(pdm_ir_shapes *s, const pdm_ir_op *op)
{
    const pdm_ir_shape *from =
        op->num_operands ? pdm_ir_shapes_of(s, pdm_ir_op_operand_value(op, 0)) : NULL;

    for (uint32_t i = 0; i < op->num_results; i++) {
        pdm_ir_shape *to = pdm_ir_op_result(op, i)->type
                               ? pdm_ir_shapes_record(s, pdm_ir_op_result(op, i))
                               : NULL;
        if (!to)
            return;
        if (PDM_IR_IS(op, builtin, split) && from && i < from->num_elements)
            take_data(s, to, &from->elements[i]);
        for (uint32_t k = 0; PDM_IR_IS(op, builtin, combine) && k < to->num_elements; k++)
            take_data(s, &to->elements[k], pdm_ir_shapes_of(s, pdm_ir_op_operand_value(op, k)));
    }
    pdm_ir_attr index = pdm_ir_op_attr(op, "index");
    if (PDM_IR_IS(op, builtin, slice) && index && index->kind == PDM_IR_ATTR_I32 && from &&
        index->u.i >= 0 && (uint64_t)index->u.i < from->num_elements)
        take_data(s, pdm_ir_shapes_record(s, pdm_ir_op_result(op, 0)),
                  &from->elements[index->u.i]);
}

typedef bool (*rule_fn)(data *d);

static rule_fn rule_of(const pdm_ir_op *op)
{
    switch (op->info->code) {
#define PDM_DATA(name, rule)                                                                       \
    case PDM_IR_OP_pd_op_##name:                                                                   \
        return data_##rule;
#include "ir/shape_data.def"
#undef PDM_DATA
    default:
        return NULL;
    }
}

void pdm_ir_shapes_find_data(pdm_ir_shapes *s, const pdm_ir_op *op)
{
    const rule_fn rule = rule_of(op);
    data d = {.s = s, .t = &s->dims, .op = op};

    if (PDM_IR_IS(op, builtin, combine) || PDM_IR_IS(op, builtin, split) ||
        PDM_IR_IS(op, builtin, slice)) {
        vectors(s, op);
        return;
    }
    const pdm_ir_value *result = op->num_results ? pdm_ir_op_result(op, 0) : NULL;
    if (!rule || !result || !result->type)
        return;
    const pdm_dtype dtype =
        result->type->kind == PDM_IR_DENSE_TENSOR ? result->type->dtype : PDM_I64;
    if ((!pdm_dtype_is_int(dtype) || pdm_dtype_size(dtype) < 4) || !rule(&d) || d.n > MAX_DATA)
        return;
    pdm_ir_shape *shape = pdm_ir_shapes_record(s, result);
    if (shape && count_of(&d, shape) == d.n)
        pdm_ir_shapes_set_data(s, shape, d.n, d.v);
}
