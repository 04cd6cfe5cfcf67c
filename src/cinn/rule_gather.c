/* Ops whose elements are found by indices that are tensors, and what is told by shapes and indices alone. */
#include <string.h>

#include "cinn/formula.h"
#include "cinn/rules.h"

#define N(value) pdm_loop_index(fn, value)

typedef const pdm_loop_expr *E;

static const pdm_cinn_shape *shape_of(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t tensor)
{
    return pdm_cinn_shape_of(l, pdm_cinn_tensor(op, tensor));
}

static uint32_t rank_of(const pdm_ir_op *op, uint32_t tensor)
{
    return pdm_cinn_tensor(op, tensor)->type->rank;
}

/* ---- gather, index_select -------------------------------------------------------------------- */

static bool gather_axis(const pdm_ir_op *op, uint32_t *out)
{
    int64_t ints[PDM_CINN_MAX_INTS] = {(int64_t)pdm_cinn_attr(op, "axis", 0)};
    size_t n = 1;

    if (op->num_operands > 2 && !pdm_cinn_const_ints(op, 2, ints, &n))
        return false;
    return n == 1 && pdm_cinn_axis(ints[0], rank_of(op, 0), out);
}

bool pdm_cinn_fits_gather(const pdm_ir_op *op)
{
    const pdm_ir_type index = pdm_cinn_tensor(op, 1)->type;
    uint32_t axis;

    return gather_axis(op, &axis) && (index->rank == 1 || (index->rank == 2 && index->dims[1] == 1));
}

bool pdm_cinn_shape_gather(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0), *index = shape_of(l, op, 1);
    uint32_t axis;

    if (!x || !index || !gather_axis(op, &axis))
        return false;
    out->rank = x->rank;
    memcpy(out->dims, x->dims, sizeof out->dims);
    out->dims[axis] = index->dims[0];
    return true;
}

E pdm_cinn_element_gather(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    E at[PDM_MAX_RANK], place[2] = {NULL, pdm_loop_index(pdm_cinn_fn(l), 0)};
    uint32_t axis;

    if (!gather_axis(op, &axis))
        return NULL;
    memcpy(at, indices, x->rank * sizeof *at);
    place[0] = indices[axis];
    at[axis] = pdm_cinn_index_at(l, pdm_cinn_tensor(op, 1), place, x->dims[axis], true);
    return at[axis] ? pdm_cinn_element(l, pdm_cinn_tensor(op, 0), at) : NULL;
}

/* ---- gather_nd ------------------------------------------------------------------------------- */

/* How long the tuples are; 0: it is not known. */
static uint32_t tuple_of(const pdm_ir_op *op)
{
    const pdm_ir_type index = pdm_cinn_tensor(op, 1)->type;
    const int64_t length = index->rank > 0 ? index->dims[index->rank - 1] : 0;

    return length >= 1 && length <= rank_of(op, 0) ? (uint32_t)length : 0;
}

bool pdm_cinn_fits_gather_nd(const pdm_ir_op *op)
{
    const uint32_t length = tuple_of(op);

    return length > 0 && rank_of(op, 1) - 1 + rank_of(op, 0) - length <= PDM_MAX_RANK;
}

bool pdm_cinn_shape_gather_nd(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0), *index = shape_of(l, op, 1);

    if (!x || !index)
        return false;
    out->rank = 0;
    for (uint32_t d = 0; d + 1 < index->rank; d++)
        out->dims[out->rank++] = index->dims[d];
    for (uint32_t d = tuple_of(op); d < x->rank; d++)
        out->dims[out->rank++] = x->dims[d];
    return true;
}

E pdm_cinn_element_gather_nd(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0), *index = shape_of(l, op, 1);
    const uint32_t length = tuple_of(op), outer = index->rank - 1;
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E at[PDM_MAX_RANK], place[PDM_MAX_RANK];

    memcpy(place, indices, outer * sizeof *place);
    for (uint32_t d = 0; d < x->rank; d++) {
        place[outer] = d < length ? N(d) : NULL;
        at[d] = d < length ? pdm_cinn_tuple_index_at(l, pdm_cinn_tensor(op, 1), place, x->dims[d], true, length, d)
                           : indices[outer + d - length];
        if (!at[d])
            return NULL;
    }
    return pdm_cinn_element(l, pdm_cinn_tensor(op, 0), at);
}

/* ---- take_along_axis, index_sample ----------------------------------------------------------- */

static bool is_sample(const pdm_ir_op *op)
{
    return PDM_IR_IS(op, pd_op, index_sample);
}

static bool along_axis(const pdm_ir_op *op, uint32_t *out)
{
    *out = 1;
    return is_sample(op) || pdm_cinn_axis((int64_t)pdm_cinn_attr(op, "axis", 0), rank_of(op, 0), out);
}

bool pdm_cinn_fits_along(const pdm_ir_op *op)
{
    uint32_t axis;

    return rank_of(op, 0) > 0 && rank_of(op, 1) == rank_of(op, 0) && along_axis(op, &axis) &&
           (!is_sample(op) || rank_of(op, 0) == 2);
}

/* Beside the axis the index may be smaller, where that is known. */
bool pdm_cinn_shape_along(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0), *index = shape_of(l, op, 1);
    uint32_t axis;

    if (!x || !index || !along_axis(op, &axis))
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        const E have = x->dims[d], want = index->dims[d];
        const bool less = !is_sample(op) && want->kind == PDM_LOOP_CONST &&
                          (want->u.i <= 1 ? pdm_loop_is_positive(have) : have->kind == PDM_LOOP_CONST && want->u.i <= have->u.i);
        if (d != axis && !less && !pdm_cinn_require_equal(l, want, have))
            return false;
    }
    out->rank = index->rank;
    memcpy(out->dims, index->dims, sizeof out->dims);
    return true;
}

E pdm_cinn_element_along(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    E at[PDM_MAX_RANK];
    uint32_t axis;

    if (!along_axis(op, &axis))
        return NULL;
    memcpy(at, indices, x->rank * sizeof *at);
    at[axis] = pdm_cinn_index_at(l, pdm_cinn_tensor(op, 1), indices, x->dims[axis], !is_sample(op));
    return at[axis] ? pdm_cinn_element(l, pdm_cinn_tensor(op, 0), at) : NULL;
}

/* ---- rows of a table ------------------------------------------------------------------------- */

bool pdm_cinn_fits_embedding(const pdm_ir_op *op)
{
    return rank_of(op, 1) == 2 && rank_of(op, 0) < PDM_MAX_RANK;
}

bool pdm_cinn_shape_embedding(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *ids = shape_of(l, op, 0), *table = shape_of(l, op, 1);

    if (!ids || !table)
        return false;
    memcpy(out->dims, ids->dims, sizeof out->dims);
    out->rank = ids->rank + 1;
    out->dims[ids->rank] = table->dims[1];
    return true;
}

/* The row that stands for padding is zero. */
E pdm_cinn_element_embedding(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *ids = shape_of(l, op, 0), *table = shape_of(l, op, 1);
    const double padding = pdm_cinn_attr(op, "padding_idx", -1);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E row = pdm_cinn_index_at(l, pdm_cinn_tensor(op, 0), indices, table->dims[0], false);
    const E at[2] = {row, indices[ids->rank]};
    const E x = row ? pdm_cinn_element(l, pdm_cinn_tensor(op, 1), at) : NULL;

    if (!x || padding < 0)
        return x;
    return IF(B(EQ, row, N((int64_t)padding)), pdm_loop_number(fn, x->dtype, 0), x);
}

/* ---- one_hot --------------------------------------------------------------------------------- */

static bool classes_of(const pdm_ir_op *op, int64_t *out)
{
    int64_t ints[PDM_CINN_MAX_INTS];
    size_t n;

    if (!pdm_cinn_const_ints(op, 1, ints, &n) || n != 1 || ints[0] < 1)
        return false;
    *out = ints[0];
    return true;
}

bool pdm_cinn_fits_one_hot(const pdm_ir_op *op)
{
    int64_t classes;

    return classes_of(op, &classes) && rank_of(op, 0) < PDM_MAX_RANK &&
           pdm_ir_op_result(op, 0)->type->dtype == PDM_F32;
}

bool pdm_cinn_shape_one_hot(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    int64_t classes;

    if (!x || !classes_of(op, &classes))
        return false;
    memcpy(out->dims, x->dims, sizeof out->dims);
    out->rank = x->rank + 1;
    out->dims[x->rank] = pdm_loop_index(pdm_cinn_fn(l), classes);
    return true;
}

E pdm_cinn_element_one_hot(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    int64_t classes;

    if (!classes_of(op, &classes))
        return NULL;
    const E id = pdm_cinn_index_at(l, pdm_cinn_tensor(op, 0), indices, N(classes), false);
    return id ? IF(B(EQ, id, indices[rank_of(op, 0)]), pdm_loop_number(fn, PDM_F32, 1),
                   pdm_loop_number(fn, PDM_F32, 0))
              : NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

bool pdm_cinn_shape_shape(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    out->rank = 1;
    out->dims[0] = pdm_loop_index(pdm_cinn_fn(l), rank_of(op, 0));
    return shape_of(l, op, 0) != NULL;
}

/* Of each place it is told which dim stands there. */
E pdm_cinn_element_shape(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E dim = x->rank > 0 ? x->dims[x->rank - 1] : N(0);

    if (indices[0]->kind == PDM_LOOP_CONST && indices[0]->u.i < (int64_t)x->rank)
        dim = x->rank > 0 ? x->dims[indices[0]->u.i] : dim;
    else {
        for (uint32_t d = 0; d + 1 < x->rank; d++)
            dim = IF(B(EQ, indices[0], N(d)), x->dims[d], dim);
    }
    return pdm_loop_cast(fn, pdm_ir_op_result(op, 0)->type->dtype, dim);
}

bool pdm_cinn_shape_numel(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    out->rank = 0;
    return shape_of(l, op, 0) != NULL;
}

E pdm_cinn_element_numel(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    E count = N(1);

    (void)indices;
    for (uint32_t d = 0; d < x->rank; d++)
        count = MUL(count, x->dims[d]);
    return pdm_loop_cast(fn, pdm_ir_op_result(op, 0)->type->dtype, count);
}

/* One number everywhere, in the shape of the operand. */
bool pdm_cinn_fits_full_like(const pdm_ir_op *op)
{
    double number;

    return op->num_operands > 1 && pdm_cinn_constant(pdm_ir_op_operand_value(op, 1), &number);
}

E pdm_cinn_element_full_like(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    double number = 0;

    (void)indices;
    (void)pdm_cinn_constant(pdm_ir_op_operand_value(op, 1), &number); /* it fits */
    return pdm_loop_number(pdm_cinn_fn(l), pdm_ir_op_result(op, 0)->type->dtype, number);
}

/* ---- triangles ------------------------------------------------------------------------------- */

bool pdm_cinn_fits_triangle(const pdm_ir_op *op)
{
    return rank_of(op, 0) >= 2;
}

static E triangle(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices, bool lower)
{
    const uint32_t rank = rank_of(op, 0);
    const int64_t diagonal = (int64_t)pdm_cinn_attr(op, "diagonal", 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    const E row = ADD(indices[rank - 2], N(diagonal)), column = indices[rank - 1];
    const E x = pdm_cinn_element(l, pdm_cinn_tensor(op, 0), indices);

    if (!x)
        return NULL;
    return IF(lower ? B(LE, column, row) : B(LE, row, column), x, pdm_loop_number(fn, x->dtype, 0));
}

E pdm_cinn_element_tril(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    return triangle(l, op, indices, true);
}

E pdm_cinn_element_triu(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    return triangle(l, op, indices, false);
}

/* ---- repeated and turned around -------------------------------------------------------------- */

/* times of each axis of the result */
static bool repeats_of(const pdm_ir_op *op, int64_t times[PDM_MAX_RANK], uint32_t *out_rank)
{
    const uint32_t rank = rank_of(op, 0);
    int64_t ints[PDM_CINN_MAX_INTS];
    size_t n;

    if (!pdm_cinn_const_ints(op, 1, ints, &n) || n > PDM_MAX_RANK)
        return false;
    *out_rank = n > rank ? (uint32_t)n : rank;
    for (uint32_t d = 0; d < *out_rank; d++) {
        const uint32_t lead = *out_rank - (uint32_t)n;
        times[d] = d < lead ? 1 : ints[d - lead];
        if (times[d] < 0)
            return false;
    }
    return true;
}

bool pdm_cinn_fits_tile(const pdm_ir_op *op)
{
    int64_t times[PDM_MAX_RANK];
    uint32_t rank;

    return repeats_of(op, times, &rank);
}

bool pdm_cinn_shape_tile(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    int64_t times[PDM_MAX_RANK];

    if (!x || !repeats_of(op, times, &out->rank))
        return false;
    for (uint32_t d = 0; d < out->rank; d++) {
        const uint32_t lead = out->rank - x->rank;
        out->dims[d] = MUL(d < lead ? N(1) : x->dims[d - lead], N(times[d]));
    }
    return true;
}

E pdm_cinn_element_tile(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    int64_t times[PDM_MAX_RANK];
    E at[PDM_MAX_RANK];
    uint32_t rank;

    if (!repeats_of(op, times, &rank))
        return NULL;
    for (uint32_t d = 0, lead = rank - x->rank; d < x->rank; d++) {
        if (pdm_loop_is_int(x->dims[d], 1))
            at[d] = N(0);
        else
            at[d] = times[d + lead] == 1 ? indices[d + lead] : B(MOD, indices[d + lead], x->dims[d]);
    }
    return pdm_cinn_element(l, pdm_cinn_tensor(op, 0), at);
}

static bool flipped(const pdm_ir_op *op, bool axes[PDM_MAX_RANK])
{
    int64_t ints[PDM_CINN_MAX_INTS];
    uint32_t axis;
    size_t n;

    if (!(op->num_operands > 1 ? pdm_cinn_const_ints(op, 1, ints, &n) : pdm_cinn_attr_ints(op, "axis", ints, &n)))
        return false;
    memset(axes, 0, PDM_MAX_RANK * sizeof *axes);
    for (size_t i = 0; i < n; i++) {
        if (!pdm_cinn_axis(ints[i], rank_of(op, 0), &axis) || axes[axis])
            return false;
        axes[axis] = true;
    }
    return true;
}

bool pdm_cinn_fits_flip(const pdm_ir_op *op)
{
    bool axes[PDM_MAX_RANK];

    return flipped(op, axes);
}

E pdm_cinn_element_flip(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    pdm_loop_fn *fn = pdm_cinn_fn(l);
    bool axes[PDM_MAX_RANK];
    E at[PDM_MAX_RANK];

    if (!flipped(op, axes))
        return NULL;
    for (uint32_t d = 0; d < x->rank; d++)
        at[d] = axes[d] ? SUB(SUB(x->dims[d], N(1)), indices[d]) : indices[d];
    return pdm_cinn_element(l, pdm_cinn_tensor(op, 0), at);
}

/* As large as the second operand, of which nothing else is needed. */
bool pdm_cinn_shape_expand_as(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0), *y = shape_of(l, op, 1);

    if (!x || !y || x->rank > y->rank)
        return false;
    out->rank = y->rank;
    memcpy(out->dims, y->dims, sizeof out->dims);
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!pdm_loop_is_int(x->dims[d], 1) &&
            !pdm_cinn_require_equal(l, x->dims[d], y->dims[d + y->rank - x->rank]))
            return false;
    }
    return true;
}

E pdm_cinn_element_expand(pdm_cinn_lower *l, const pdm_ir_op *op, const E *indices)
{
    const pdm_cinn_shape *x = shape_of(l, op, 0);
    const pdm_cinn_shape *out = pdm_cinn_shape_of(l, pdm_ir_op_result(op, 0));
    E at[PDM_MAX_RANK];

    for (uint32_t d = 0; d < x->rank; d++)
        at[d] = pdm_loop_is_int(x->dims[d], 1) ? pdm_loop_index(pdm_cinn_fn(l), 0)
                                               : indices[d + out->rank - x->rank];
    return pdm_cinn_element(l, pdm_cinn_tensor(op, 0), at);
}
