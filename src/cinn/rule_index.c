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
    bool gone[PDM_MAX_RANK];
} part;

bool pdm_cinn_fits_slice(const pdm_ir_op *op)
{
    int64_t ints[PDM_CINN_MAX_INTS];
    size_t starts, ends, axes, gone;

    return pdm_cinn_has_sizes(op, 1, &starts) && pdm_cinn_has_sizes(op, 2, &ends) &&
           pdm_cinn_attr_ints(op, "axes", ints, &axes) &&
           pdm_cinn_attr_ints(op, "decrease_axis", ints, &gone) && starts == axes && ends == axes;
}

/* A limit within [0, dim]. */
static E limit(pdm_loop_fn *fn, E value, E dim)
{
    if (value->kind == PDM_LOOP_CONST && value->u.i < 0)
        return value->u.i == INT64_MIN ? N(0) : MAX(SUB(dim, N(-value->u.i)), N(0));
    return MIN(value, dim);
}

static bool part_of(pdm_cinn_lower *l, const pdm_ir_op *op, part *p)
{
    const pdm_cinn_shape *x = pdm_cinn_shape_of(l, operand(op));
    int64_t axes[PDM_CINN_MAX_INTS], gone[PDM_CINN_MAX_INTS];
    E starts[PDM_CINN_MAX_INTS], ends[PDM_CINN_MAX_INTS];
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    size_t n, num_gone;
    uint32_t a;

    if (!x || x->rank == 0 || !pdm_cinn_attr_ints(op, "decrease_axis", gone, &num_gone) ||
        !pdm_cinn_sizes(l, op, 1, num_gone > 0, starts, &n) ||
        !pdm_cinn_sizes(l, op, 2, num_gone > 0, ends, &n) || !pdm_cinn_attr_ints(op, "axes", axes, &n))
        return false;
    memset(p, 0, sizeof *p);
    for (uint32_t d = 0; d < x->rank; d++) {
        p->first[d] = N(0);
        p->count[d] = x->dims[d];
    }
    for (size_t i = 0; i < num_gone; i++) {
        if (!pdm_cinn_axis(gone[i], x->rank, &a))
            return false;
        p->gone[a] = true;
    }
    for (size_t i = 0; i < n; i++) {
        if (!pdm_cinn_axis(axes[i], x->rank, &a))
            return false;
        const bool to_end =
            p->gone[a] && pdm_loop_is_int(starts[i], -1) && pdm_loop_is_int(ends[i], 0);
        p->first[a] = limit(fn, starts[i], x->dims[a]);
        p->count[a] = MAX(SUB(to_end ? x->dims[a] : limit(fn, ends[i], x->dims[a]), p->first[a]), N(0));
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
        at[d] = p.gone[d] ? p.first[d] : ADD(indices[n++], p.first[d]);
    return pdm_cinn_element(l, operand(op), at);
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
