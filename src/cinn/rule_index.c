/* Ops that only move elements: each element of the result is one of the operand's. */
#include <string.h>

#include "cinn/rules.h"

#define ADD(a, b) pdm_loop_binary(fn, PDM_LOOP_ADD, a, b)
#define SUB(a, b) pdm_loop_binary(fn, PDM_LOOP_SUB, a, b)
#define MUL(a, b) pdm_loop_binary(fn, PDM_LOOP_MUL, a, b)
#define DIV(a, b) pdm_loop_binary(fn, PDM_LOOP_DIV, a, b)
#define MOD(a, b) pdm_loop_binary(fn, PDM_LOOP_MOD, a, b)
#define MIN(a, b) pdm_loop_binary(fn, PDM_LOOP_MIN, a, b)
#define MAX(a, b) pdm_loop_binary(fn, PDM_LOOP_MAX, a, b)
#define N(value)  pdm_loop_index(fn, value)

typedef const pdm_loop_expr *E;

static const pdm_ir_value *operand(const pdm_ir_op *op)
{
    return pdm_ir_op_operand_value(op, 0);
}

static uint32_t rank_of(const pdm_ir_op *op)
{
    return operand(op)->type->rank;
}

bool pdm_cinn_fits_constant_shape(const pdm_ir_op *op)
{
    int64_t ints[PDM_CINN_MAX_INTS];
    size_t n;

    return pdm_cinn_const_ints(op, 1, ints, &n) && n <= PDM_MAX_RANK;
}

bool pdm_cinn_fits_given_shape(const pdm_ir_op *op)
{
    size_t n;

    return pdm_cinn_has_sizes(op, 1, &n) && n <= PDM_MAX_RANK;
}

/* ---- transpose ------------------------------------------------------------------------------- */

/* perm[axis of the result] = axis of the operand */
static bool permutation(const pdm_ir_op *op, uint32_t perm[PDM_MAX_RANK])
{
    int64_t ints[PDM_CINN_MAX_INTS];
    uint32_t seen = 0;
    size_t n;

    if (!pdm_cinn_attr_ints(op, "perm", ints, &n) || n != rank_of(op))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!pdm_cinn_axis(ints[i], rank_of(op), &perm[i]))
            return false;
        seen |= 1U << perm[i];
    }
    return seen == (1U << n) - 1;
}

bool pdm_cinn_fits_transpose(const pdm_ir_op *op)
{
    uint32_t perm[PDM_MAX_RANK];

    return permutation(op, perm);
}

bool pdm_cinn_shape_transpose(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    uint32_t perm[PDM_MAX_RANK];

    if (!x || !permutation(op, perm))
        return false;
    out->rank = x->rank;
    for (uint32_t d = 0; d < x->rank; d++)
        out->dims[d] = x->dims[perm[d]];
    return true;
}

E pdm_cinn_element_transpose(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    uint32_t perm[PDM_MAX_RANK];
    E at[PDM_MAX_RANK];

    if (!permutation(op, perm))
        return NULL;
    for (uint32_t d = 0; d < rank_of(op); d++)
        at[perm[d]] = indices[d];
    return pdm_cinn_element(l, operand(op), at);
}

/* ---- the same elements in another shape ------------------------------------------------------ */

static E product(pdm_loop_fn *fn, const E *dims, uint32_t rank)
{
    E all = N(1);

    for (uint32_t d = 0; d < rank; d++)
        all = MUL(all, dims[d]);
    return all;
}

/* 0 stands for the operand's dim there, but for 0 when there are no elements; one -1 for what is left. Refused when elements could be
 * left over for some shapes of the class, or when there are none for some. */
bool pdm_cinn_shape_reshape(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E sizes[PDM_CINN_MAX_INTS];
    size_t n, open = PDM_CINN_MAX_INTS;
    bool empty = false, full = true;

    if (!x || !pdm_cinn_sizes(l, op, 1, false, sizes, &n) || n > PDM_MAX_RANK)
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        empty = empty || pdm_loop_is_int(x->dims[d], 0);
        full = full && pdm_loop_is_positive(x->dims[d]);
    }
    out->rank = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        const bool number = sizes[i]->kind == PDM_LOOP_CONST;
        const bool rest = pdm_loop_is_int(sizes[i], -1), same = pdm_loop_is_int(sizes[i], 0);
        if ((number && sizes[i]->u.i < -1) || (same && i >= x->rank) ||
            (rest && open != PDM_CINN_MAX_INTS) || (same && !empty && !full))
            return false;
        open = rest ? i : open;
        out->dims[i] = same && !empty ? x->dims[i] : rest ? N(1) : sizes[i];
    }
    const E all = product(fn, x->dims, x->rank);
    if (open != PDM_CINN_MAX_INTS) {
        const E rest = pdm_cinn_quotient(l, all, product(fn, out->dims, out->rank));
        if (!rest)
            return false;
        out->dims[open] = rest;
    }
    return pdm_cinn_require_equal(l, all, product(fn, out->dims, out->rank));
}

/* Named axes of 1 go, without names all. */
bool pdm_cinn_shape_squeeze(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    bool named[PDM_MAX_RANK] = {false};
    int64_t ints[PDM_CINN_MAX_INTS];
    uint32_t axis;
    size_t n;

    if (!x || !pdm_cinn_const_ints(op, 1, ints, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!pdm_cinn_axis(ints[i], x->rank, &axis))
            return false;
        named[axis] = true;
    }
    out->rank = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!pdm_loop_is_int(x->dims[d], 1) || (n > 0 && !named[d]))
            out->dims[out->rank++] = x->dims[d];
    }
    return true;
}

/* Axes count in the result as it grows. */
bool pdm_cinn_shape_unsqueeze(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    const pdm_dtype dtype = out->dtype;
    int64_t ints[PDM_CINN_MAX_INTS];
    uint32_t axis;
    size_t n;

    if (!x || !pdm_cinn_const_ints(op, 1, ints, &n) || x->rank + n > PDM_MAX_RANK)
        return false;
    *out = *x;
    out->dtype = dtype;
    for (size_t i = 0; i < n; i++) {
        if (!pdm_cinn_axis(ints[i], out->rank + 1, &axis))
            return false;
        for (uint32_t d = out->rank++; d > axis; d--)
            out->dims[d] = out->dims[d - 1];
        out->dims[axis] = pdm_loop_index(pdm_cinn_fn(l), 1);
    }
    return true;
}

bool pdm_cinn_shape_flatten(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    uint32_t from, to;

    if (!x || x->rank == 0 || !pdm_cinn_axis((int64_t)pdm_cinn_attr(op, "start_axis", 1), x->rank, &from) ||
        !pdm_cinn_axis((int64_t)pdm_cinn_attr(op, "stop_axis", 1), x->rank, &to) || from > to)
        return false;
    out->rank = 0;
    for (uint32_t d = 0; d < from; d++)
        out->dims[out->rank++] = x->dims[d];
    out->dims[out->rank++] = product(pdm_cinn_fn(l), x->dims + from, to + 1 - from);
    for (uint32_t d = to + 1; d < x->rank; d++)
        out->dims[out->rank++] = x->dims[d];
    return true;
}

/* The place in the whole, taken apart by the dims of the operand. */
E pdm_cinn_element_reshape(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    const pdm_cinn_shape *out = pdm_cinn_shape_of(l, pdm_ir_op_result(op, 0));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E place = N(0), at[PDM_MAX_RANK];

    for (uint32_t d = 0; d < out->rank; d++)
        place = ADD(MUL(place, out->dims[d]), indices[d]);
    for (uint32_t d = x->rank; d-- > 0;) {
        at[d] = d > 0 ? MOD(place, x->dims[d]) : place;
        place = d > 0 ? DIV(place, x->dims[d]) : place;
    }
    /* Only one element, whatever the indices are. */
    for (uint32_t d = 0; d < x->rank; d++) {
        if (pdm_loop_is_int(x->dims[d], 1))
            at[d] = N(0);
    }
    return pdm_cinn_element(l, operand(op), at);
}

/* ---- slice ----------------------------------------------------------------------------------- */

typedef struct part {
    E first[PDM_MAX_RANK], count[PDM_MAX_RANK]; /* by axis of the operand */
    int64_t step[PDM_MAX_RANK];
    bool gone[PDM_MAX_RANK];
} part;

static bool is_assignment(const pdm_ir_op *op)
{
    return PDM_IR_IS(op, pd_op, set_value_with_tensor);
}

/* Starts and ends are operands from this one on; so are steps of all but slice. */
static uint32_t first_limit(const pdm_ir_op *op)
{
    return is_assignment(op) ? 2 : 1;
}

static bool steps_of(const pdm_ir_op *op, int64_t steps[PDM_CINN_MAX_INTS], size_t *out_n)
{
    if (PDM_IR_IS(op, pd_op, slice)) {
        *out_n = PDM_CINN_MAX_INTS;
        for (size_t i = 0; i < PDM_CINN_MAX_INTS; i++)
            steps[i] = 1;
        return true;
    }
    if (!pdm_cinn_const_ints(op, first_limit(op) + 2, steps, out_n))
        return false;
    for (size_t i = 0; i < *out_n; i++) {
        if (steps[i] == 0 || steps[i] < -INT32_MAX || steps[i] > INT32_MAX)
            return false;
    }
    return true;
}

static bool gone_axes(const pdm_ir_op *op, int64_t gone[PDM_CINN_MAX_INTS], size_t *out_n)
{
    return pdm_cinn_attr_ints(op, is_assignment(op) ? "decrease_axes" : "decrease_axis", gone, out_n);
}

bool pdm_cinn_fits_slice(const pdm_ir_op *op)
{
    const uint32_t from = first_limit(op);
    int64_t ints[PDM_CINN_MAX_INTS];
    size_t starts, ends, axes, gone;

    return pdm_cinn_has_sizes(op, from, &starts) && pdm_cinn_has_sizes(op, from + 1, &ends) &&
           pdm_cinn_attr_ints(op, "axes", ints, &axes) && gone_axes(op, ints, &gone) && starts == axes && ends == axes;
}

bool pdm_cinn_fits_strided_slice(const pdm_ir_op *op)
{
    int64_t ints[PDM_CINN_MAX_INTS];
    size_t axes, steps;

    return pdm_cinn_fits_slice(op) && pdm_cinn_attr_ints(op, "axes", ints, &axes) && steps_of(op, ints, &steps) &&
           steps == axes;
}

/* A limit within [0, dim]. */
static E limit(pdm_loop_fn *fn, E value, E dim)
{
    if (value->kind == PDM_LOOP_CONST && value->u.i < 0)
        return value->u.i == INT64_MIN ? N(0) : MAX(SUB(dim, N(-value->u.i)), N(0));
    return MIN(value, dim);
}

/* One within [-1, dim - 1], of what goes backwards. */
static E limit_backwards(pdm_loop_fn *fn, E value, E dim)
{
    if (value->kind == PDM_LOOP_CONST && value->u.i < 0)
        return value->u.i == INT64_MIN ? N(-1) : MAX(SUB(dim, N(-value->u.i)), N(-1));
    return MIN(value, SUB(dim, N(1)));
}

/* How many steps lead from one place to another, which is not reached itself. */
static E steps_between(pdm_loop_fn *fn, E first, E end, int64_t step)
{
    const E way = MAX(step > 0 ? SUB(end, first) : SUB(first, end), N(0));
    const int64_t size = step > 0 ? step : -step;

    return size == 1 ? way : DIV(ADD(way, N(size - 1)), N(size));
}

static bool part_of(pdm_cinn_lower *l, const pdm_ir_op *op, part *p)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    int64_t axes[PDM_CINN_MAX_INTS], gone[PDM_CINN_MAX_INTS], steps[PDM_CINN_MAX_INTS];
    E starts[PDM_CINN_MAX_INTS], ends[PDM_CINN_MAX_INTS];
    const uint32_t from = first_limit(op);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    size_t n, num_gone;
    uint32_t a;

    if (!x || x->rank == 0 || !gone_axes(op, gone, &num_gone) || !steps_of(op, steps, &n) ||
        !pdm_cinn_sizes(l, op, from, num_gone > 0, starts, &n) ||
        !pdm_cinn_sizes(l, op, from + 1, num_gone > 0, ends, &n) || !pdm_cinn_attr_ints(op, "axes", axes, &n))
        return false;
    memset(p, 0, sizeof *p);
    for (uint32_t d = 0; d < x->rank; d++) {
        p->first[d] = N(0);
        p->count[d] = x->dims[d];
        p->step[d] = 1;
    }
    for (size_t i = 0; i < num_gone; i++) {
        if (!pdm_cinn_axis(gone[i], x->rank, &a))
            return false;
        p->gone[a] = true;
    }
    for (size_t i = 0; i < n; i++) {
        if (!pdm_cinn_axis(axes[i], x->rank, &a))
            return false;
        const bool to_end = !is_assignment(op) && p->gone[a] && pdm_loop_is_int(starts[i], -1) &&
                            pdm_loop_is_int(ends[i], 0);
        const E dim = x->dims[a];
        if (steps[i] > 0) {
            p->first[a] = limit(fn, starts[i], dim);
            p->count[a] = steps_between(fn, p->first[a], to_end ? dim : limit(fn, ends[i], dim), steps[i]);
        } else {
            p->first[a] = limit_backwards(fn, starts[i], dim);
            p->count[a] =
                steps_between(fn, p->first[a], to_end ? SUB(dim, N(1)) : limit_backwards(fn, ends[i], dim), steps[i]);
        }
        p->step[a] = steps[i];
    }
    return true;
}

bool pdm_cinn_shape_slice(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    part p;

    if (!part_of(l, op, &p))
        return false;
    out->rank = 0;
    for (uint32_t d = 0; d < rank_of(op); d++) {
        if (!p.gone[d])
            out->dims[out->rank++] = p.count[d];
        else if (!pdm_cinn_require_equal(l, p.count[d], pdm_loop_index(pdm_cinn_fn(l), 1)))
            return false;
    }
    return true;
}

E pdm_cinn_element_slice(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E at[PDM_MAX_RANK];
    part p;

    if (!part_of(l, op, &p))
        return NULL;
    for (uint32_t d = 0, n = 0; d < rank_of(op); d++)
        at[d] = p.gone[d] ? p.first[d] : ADD(MUL(indices[n++], N(p.step[d])), p.first[d]);
    return pdm_cinn_element(l, operand(op), at);
}

/* ---- set_value ------------------------------------------------------------------------------- */

/* Places that a loop counts would be numbers in the code, which would be made anew in each turn. */
bool pdm_cinn_fits_set_value(const pdm_ir_op *op)
{
    int64_t none[PDM_CINN_MAX_INTS];
    size_t n;

    for (size_t i = 2; i < op->num_operands; i++) {
        if (!pdm_ir_const_ints(pdm_ir_op_operand_value(op, i), none, PDM_CINN_MAX_INTS, &n))
            return false;
    }
    return pdm_cinn_attr_ints(op, "none_axes", none, &n) && n == 0 && pdm_cinn_fits_strided_slice(op) &&
           pdm_ir_op_operand_value(op, 1)->type->dtype == operand(op)->type->dtype;
}

/* The axis of the values that goes with each of the operand; those that are not there or have one element: rank. */
static bool value_axes(pdm_cinn_lower *l, const pdm_ir_op *op, const part *p, uint32_t axes[PDM_MAX_RANK])
{
    const pdm_cinn_shape *values = pdm_cinn_shape_of(l, pdm_ir_op_operand_value(op, 1));
    uint32_t left = values ? values->rank : 0;

    if (!values)
        return false;
    for (uint32_t d = rank_of(op); d-- > 0;) {
        axes[d] = values->rank;
        if (p->gone[d] || left == 0)
            continue;
        left--;
        if (!pdm_loop_is_int(values->dims[left], 1)) {
            axes[d] = left;
            if (!pdm_cinn_require_equal(l, values->dims[left], p->count[d]))
                return false;
        }
    }
    while (left > 0) {
        if (!pdm_loop_is_int(values->dims[--left], 1))
            return false;
    }
    return true;
}

bool pdm_cinn_shape_set_value(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    const E one = pdm_loop_index(pdm_cinn_fn(l), 1);
    uint32_t axes[PDM_MAX_RANK];
    part p;

    if (!x || !part_of(l, op, &p) || !value_axes(l, op, &p, axes))
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (p.gone[d] && !pdm_cinn_require_equal(l, p.count[d], one))
            return false;
    }
    *out = *x;
    return true;
}

/* 0: the operand; 1: the part that is assigned. */
bool pdm_cinn_piece_shape_set_value(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, pdm_cinn_shape *out)
{
    part p;

    *out = *pdm_cinn_shape_of(l, operand(op));
    if (number == 0)
        return true;
    if (!part_of(l, op, &p))
        return false;
    memcpy(out->dims, p.count, sizeof out->dims);
    return true;
}

E pdm_cinn_piece_set_value(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number, const E *indices, E *at)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E from[PDM_MAX_RANK];
    uint32_t axes[PDM_MAX_RANK];
    part p;

    memcpy(at, indices, rank_of(op) * sizeof *at);
    if (number == 0)
        return pdm_cinn_element(l, operand(op), indices);
    if (!part_of(l, op, &p) || !value_axes(l, op, &p, axes))
        return NULL;
    const pdm_ir_value *values = pdm_ir_op_operand_value(op, 1);
    for (uint32_t d = 0; d < PDM_MAX_RANK; d++)
        from[d] = N(0);
    for (uint32_t d = 0; d < rank_of(op); d++) {
        at[d] = ADD(MUL(indices[d], N(p.step[d])), p.first[d]);
        if (axes[d] < values->type->rank)
            from[axes[d]] = indices[d];
    }
    return pdm_cinn_element(l, values, from);
}

/* ---- expand ---------------------------------------------------------------------------------- */

/* -1 keeps a dim. */
bool pdm_cinn_shape_expand(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    E sizes[PDM_CINN_MAX_INTS];
    size_t n;

    if (!x || !pdm_cinn_sizes(l, op, 1, false, sizes, &n) || n > PDM_MAX_RANK || n < x->rank)
        return false;
    out->rank = (uint32_t)n;
    for (uint32_t d = 0, lead = out->rank - x->rank; d < out->rank; d++) {
        const E from = d < lead ? NULL : x->dims[d - lead];
        const bool keeps = pdm_loop_is_int(sizes[d], -1);
        if ((sizes[d]->kind == PDM_LOOP_CONST && sizes[d]->u.i < -1) || (!from && keeps))
            return false;
        out->dims[d] = keeps ? from : sizes[d];
        if (from && !pdm_loop_is_int(from, 1) && !pdm_cinn_require_equal(l, from, out->dims[d]))
            return false;
    }
    return true;
}

/* ---- one number everywhere ------------------------------------------------------------------- */

bool pdm_cinn_shape_full_with_tensor(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *value = pdm_cinn_shape_of(l, operand(op));
    E sizes[PDM_CINN_MAX_INTS];
    size_t n;

    if (!value || !pdm_cinn_sizes(l, op, 1, false, sizes, &n) || n > PDM_MAX_RANK)
        return false;
    for (uint32_t d = 0; d < value->rank; d++) {
        if (!pdm_loop_is_int(value->dims[d], 1))
            return false;
    }
    out->rank = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        if (sizes[i]->kind == PDM_LOOP_CONST && sizes[i]->u.i < 0)
            return false;
        out->dims[i] = sizes[i];
    }
    return true;
}

E pdm_cinn_element_full_with_tensor(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    E first[PDM_MAX_RANK];

    (void)indices;
    for (uint32_t d = 0; d < PDM_MAX_RANK; d++)
        first[d] = pdm_loop_index(pdm_cinn_fn(l), 0);
    const E value = pdm_cinn_element(l, operand(op), first);
    return pdm_loop_cast(pdm_cinn_fn(l), pdm_ir_op_result(op, 0)->type->dtype, value);
}

/* ---- arange ---------------------------------------------------------------------------------- */

bool pdm_cinn_fits_arange(const pdm_ir_op *op)
{
    const pdm_dtype to = pdm_ir_op_result(op, 0)->type->dtype;
    int64_t step[PDM_CINN_MAX_INTS];
    size_t starts, ends, steps;

    return op->num_operands == 3 && (to == PDM_I32 || to == PDM_I64) && pdm_cinn_has_sizes(op, 0, &starts) &&
           pdm_cinn_has_sizes(op, 1, &ends) && pdm_cinn_const_ints(op, 2, step, &steps) && starts == 1 && ends == 1 &&
           steps == 1 && step[0] != 0 && step[0] >= -INT32_MAX && step[0] <= INT32_MAX;
}

static bool series_of(pdm_cinn_lower *l, const pdm_ir_op *op, E *start, E *count, int64_t *step)
{
    int64_t steps[PDM_CINN_MAX_INTS];
    E from[PDM_CINN_MAX_INTS], to[PDM_CINN_MAX_INTS];
    size_t n;

    if (!pdm_cinn_sizes(l, op, 0, false, from, &n) || !pdm_cinn_sizes(l, op, 1, false, to, &n) ||
        !pdm_cinn_const_ints(op, 2, steps, &n))
        return false;
    for (int i = 0; i < 2; i++) { /* no count may overflow */
        const E e = i == 0 ? from[0] : to[0];
        if (e->kind == PDM_LOOP_CONST && (e->u.i < -INT32_MAX || e->u.i > INT32_MAX))
            return false;
    }
    *step = steps[0];
    *start = from[0];
    *count = steps_between(pdm_cinn_fn(l), from[0], to[0], steps[0]);
    return true;
}

bool pdm_cinn_shape_arange(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    int64_t step;
    E start;

    out->rank = 1;
    return series_of(l, op, &start, &out->dims[0], &step);
}

E pdm_cinn_element_arange(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E start, count;
    int64_t step;

    if (!series_of(l, op, &start, &count, &step))
        return NULL;
    return pdm_loop_cast(fn, pdm_ir_op_result(op, 0)->type->dtype, ADD(MUL(indices[0], N(step)), start));
}

/* ---- turned round ---------------------------------------------------------------------------- */

/* by[axis]: how far elements go */
static bool shifts_of(const pdm_ir_op *op, int64_t by[PDM_MAX_RANK])
{
    int64_t shifts[PDM_CINN_MAX_INTS], axes[PDM_CINN_MAX_INTS] = {0};
    size_t n, num_axes;
    uint32_t axis;

    if (!pdm_cinn_const_ints(op, 1, shifts, &n) || !pdm_cinn_attr_ints(op, "axis", axes, &num_axes) ||
        (num_axes == 0 ? n != 1 || rank_of(op) != 1 : n != num_axes))
        return false;
    memset(by, 0, PDM_MAX_RANK * sizeof *by);
    for (size_t i = 0; i < n; i++) {
        if (!pdm_cinn_axis(axes[i], rank_of(op), &axis) || shifts[i] < -INT32_MAX || shifts[i] > INT32_MAX)
            return false;
        by[axis] += shifts[i];
    }
    return true;
}

bool pdm_cinn_fits_roll(const pdm_ir_op *op)
{
    int64_t by[PDM_MAX_RANK];

    return shifts_of(op, by);
}

E pdm_cinn_element_roll(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    int64_t by[PDM_MAX_RANK];
    E at[PDM_MAX_RANK];

    if (!shifts_of(op, by))
        return NULL;
    for (uint32_t d = 0; d < x->rank; d++) {
        const E dim = x->dims[d];
        at[d] = indices[d];
        if (by[d] == 0 || pdm_loop_is_int(dim, 0) || pdm_loop_is_int(dim, 1))
            continue;
        const E back = by[d] < 0 ? MOD(N(-by[d]), dim) : SUB(dim, MOD(N(by[d]), dim));
        at[d] = MOD(ADD(indices[d], back), dim);
    }
    return pdm_cinn_element(l, operand(op), at);
}
