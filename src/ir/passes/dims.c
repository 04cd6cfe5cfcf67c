/*
 * Shapes that a program computes from those of other values: a dimension that is known is a constant, and a reshape to dimensions that are
 * its operand's own copies them. So nothing of such arithmetic is left to the run where only the batch is unknown.
 */
#include "ir/infer.h"
#include "ir/rewrite.h"

enum { MAX_DIMS = 16, MAX_STEPS = 2000, MAX_KNOWN = 64, DEPTH = 12 };

/* A number: known, or dimension `axis` of a value. */
typedef struct number {
    int64_t n;
    const pdm_ir_value *value; /* NULL: n */
    uint32_t axis;
} number;

static uint32_t rank_of(const pdm_ir_value *value)
{
    return value && pdm_ir_type_is_tensor(value->type) ? value->type->rank : 0;
}

static bool is_static(const pdm_ir_value *value)
{
    if (!pdm_ir_type_is_tensor(value->type))
        return false;
    for (uint32_t i = 0; i < value->type->rank; i++) {
        if (value->type->dims[i] < 0)
            return false;
    }
    return true;
}

/* ---- where a dimension comes from ------------------------------------------------------------ */

/* A search. Where two operands may decide it goes both ways, so what was found is kept, and steps are counted. */
typedef struct search {
    const pdm_ir_rewriter *rw;
    int steps;
    size_t num_found;
    struct found {
        number from, to;
    } found[MAX_KNOWN];
} search;

static void trace(search *s, number *d, int depth);

/* Both dimensions are the same one. */
static bool agree(search *s, number a, number b, number *d, int depth)
{
    trace(s, &a, depth - 1);
    trace(s, &b, depth - 1);
    *d = a;
    return a.value && a.value == b.value && a.axis == b.axis;
}

/* The operand that is not repeated there. */
static bool through_binary(search *s, const pdm_ir_op *op, number *d, int depth)
{
    const pdm_ir_value *x = pdm_ir_op_in(op, 0), *y = pdm_ir_op_in(op, 1);
    const uint32_t rank = rank_of(pdm_ir_op_result(op, 0));
    const uint32_t from_end = rank - 1 - d->axis;

    for (int i = 0; i < 2; i++) {
        const pdm_ir_value *big = i == 0 ? x : y, *small = i == 0 ? y : x;
        if (rank_of(big) == rank && small && pdm_ir_type_is_tensor(small->type) &&
            (small->type->rank <= from_end ||
             small->type->dims[small->type->rank - 1 - from_end] == 1)) {
            d->value = big;
            return true;
        }
    }
    return rank_of(x) == rank && rank_of(y) == rank &&
           agree(s, (number){.value = x, .axis = d->axis}, (number){.value = y, .axis = d->axis}, d,
                 depth);
}

static bool through_matmul(search *s, const pdm_ir_op *op, number *d, int depth)
{
    const pdm_ir_value *x = pdm_ir_op_in(op, 0), *y = pdm_ir_op_in(op, 1);
    const uint32_t rank = rank_of(pdm_ir_op_result(op, 0));

    if (rank < 2 || rank_of(x) != rank || (rank_of(y) != rank && rank_of(y) != 2))
        return false;
    if (d->axis + 1 == rank) {
        *d = (number){.value = y, .axis = rank_of(y) - (pdm_ir_op_flag(op, "transpose_y") ? 2 : 1)};
        return true;
    }
    if (d->axis + 2 == rank) {
        *d = (number){.value = x, .axis = rank - (pdm_ir_op_flag(op, "transpose_x") ? 1 : 2)};
        return true;
    }
    if (rank_of(y) == 2 || y->type->dims[d->axis] == 1) {
        d->value = x;
        return true;
    }
    return agree(s, (number){.value = x, .axis = d->axis}, (number){.value = y, .axis = d->axis}, d,
                 depth);
}

static bool through_transpose(const pdm_ir_op *op, number *d)
{
    int64_t perm[PDM_MAX_RANK];
    size_t rank;

    if (!pdm_ir_op_ints(op, "perm", perm, PDM_MAX_RANK, &rank) || d->axis >= rank ||
        perm[d->axis] < 0 || perm[d->axis] >= (int64_t)rank)
        return false;
    *d = (number){.value = pdm_ir_op_in(op, 0), .axis = (uint32_t)perm[d->axis]};
    return true;
}

/* Dimensions before and behind those that are made one. */
static bool through_flatten(const pdm_ir_op *op, number *d)
{
    const pdm_ir_value *x = pdm_ir_op_in(op, 0);
    const uint32_t rank = rank_of(x), rank_out = rank_of(pdm_ir_op_result(op, 0));
    double start = pdm_ir_op_number(op, "start_axis", 1), stop = pdm_ir_op_number(op, "stop_axis", 1);

    start += start < 0 ? rank : 0;
    stop += stop < 0 ? rank : 0;
    if (rank == 0 || d->axis == start || rank_out > rank)
        return false;
    *d = (number){.value = x, .axis = d->axis < start ? d->axis : d->axis + rank - rank_out};
    return d->axis < rank;
}

/* Axes that are not cut keep their dimension. */
static bool through_slice(const pdm_ir_op *op, number *d)
{
    int64_t axes[PDM_MAX_RANK], gone[PDM_MAX_RANK];
    const pdm_ir_value *x = pdm_ir_op_in(op, 0);
    const int64_t rank = rank_of(x);
    size_t num_axes, num_gone;
    int64_t kept = -1;

    if (!pdm_ir_op_ints(op, "axes", axes, PDM_MAX_RANK, &num_axes) ||
        !pdm_ir_op_ints(op, "decrease_axis", gone, PDM_MAX_RANK, &num_gone))
        return false;
    for (int64_t axis = 0; axis < rank; axis++) {
        bool is_gone = false, is_cut = false;
        for (size_t i = 0; i < num_gone; i++)
            is_gone = is_gone || gone[i] == axis;
        for (size_t i = 0; i < num_axes; i++)
            is_cut = is_cut || axes[i] == axis || axes[i] < 0;
        if (is_gone || ++kept != (int64_t)d->axis)
            continue;
        *d = (number){.value = x, .axis = (uint32_t)axis};
        return !is_cut;
    }
    return false;
}

static bool through(search *s, const pdm_ir_op *op, number *d, int depth)
{
    const pdm_ir_value *x = pdm_ir_op_in(op, 0);
    const uint32_t rank = rank_of(pdm_ir_op_result(op, 0));

    switch (op->info->code) {
    case PDM_IR_OP_pd_op_relu:
    case PDM_IR_OP_pd_op_relu6:
    case PDM_IR_OP_pd_op_leaky_relu:
    case PDM_IR_OP_pd_op_sigmoid:
    case PDM_IR_OP_pd_op_hardsigmoid:
    case PDM_IR_OP_pd_op_hardswish:
    case PDM_IR_OP_pd_op_silu:
    case PDM_IR_OP_pd_op_swish:
    case PDM_IR_OP_pd_op_gelu:
    case PDM_IR_OP_pd_op_tanh:
    case PDM_IR_OP_pd_op_exp:
    case PDM_IR_OP_pd_op_sqrt:
    case PDM_IR_OP_pd_op_abs:
    case PDM_IR_OP_pd_op_scale:
    case PDM_IR_OP_pd_op_cast:
    case PDM_IR_OP_pd_op_clip:
    case PDM_IR_OP_pd_op_softmax:
    case PDM_IR_OP_pd_op_layer_norm:
    case PDM_IR_OP_pd_op_batch_norm:
    case PDM_IR_OP_pd_op_instance_norm:
    case PDM_IR_OP_pd_op_group_norm:
    case PDM_IR_OP_pd_op_dropout:
    case PDM_IR_OP_pd_op_assign:
        d->value = x;
        return rank_of(x) == rank;
    case PDM_IR_OP_pd_op_add:
    case PDM_IR_OP_pd_op_subtract:
    case PDM_IR_OP_pd_op_multiply:
    case PDM_IR_OP_pd_op_divide:
    case PDM_IR_OP_pd_op_maximum:
    case PDM_IR_OP_pd_op_minimum:
        return through_binary(s, op, d, depth);
    case PDM_IR_OP_pd_op_matmul:
        return through_matmul(s, op, d, depth);
    case PDM_IR_OP_pd_op_conv2d:
    case PDM_IR_OP_pd_op_depthwise_conv2d:
    case PDM_IR_OP_pd_op_pool2d:
        d->value = x;
        return rank_of(x) == rank && d->axis == 0;
    case PDM_IR_OP_pd_op_transpose:
        return through_transpose(op, d);
    case PDM_IR_OP_pd_op_flatten:
        return through_flatten(op, d);
    case PDM_IR_OP_pd_op_slice:
        return through_slice(op, d);
    default:
        return false;
    }
}

static bool read_numbers(search *s, const pdm_ir_value *value, number *out,
                         size_t *out_count, int depth);

/* What a reshape was told. */
static bool through_reshape(search *s, const pdm_ir_op *op, number *d, int depth)
{
    number to[MAX_DIMS];
    size_t count;

    if (!PDM_IR_IS(op, pd_op, reshape) || !read_numbers(s, pdm_ir_op_in(op, 1), to, &count, depth - 1) ||
        d->axis >= count)
        return false;
    const number *n = &to[d->axis];
    if (n->value)
        *d = *n;
    else if (n->n == 0)
        d->value = pdm_ir_op_in(op, 0);
    return n->value || (n->n == 0 && d->axis < rank_of(d->value));
}

/* Go where a dimension comes from, or where it is known. */
static void follow(search *s, number *d, int depth)
{
    while (d->value && depth > 0 && s->steps-- > 0) {
        const int64_t n = d->value->type->dims[d->axis];
        if (n >= 0) {
            *d = (number){.n = n};
            return;
        }
        number next = *d;
        const pdm_ir_op *op = pdm_ir_rw_maker(s->rw, d->value, false);
        if (!op || pdm_ir_op_result(op, 0) != d->value ||
            (!through(s, op, &next, depth) && !through_reshape(s, op, &next, depth)) ||
            rank_of(next.value) <= next.axis || pdm_ir_rw_is_written(s->rw, next.value))
            return;
        *d = next;
    }
}

/* The same, once for each. */
static void trace(search *s, number *d, int depth)
{
    const number from = *d;

    for (size_t i = 0; i < s->num_found; i++) {
        if (s->found[i].from.value == d->value && s->found[i].from.axis == d->axis) {
            *d = s->found[i].to;
            return;
        }
    }
    follow(s, d, depth);
    if (from.value && s->num_found < MAX_KNOWN)
        s->found[s->num_found++] = (struct found){from, *d};
}

/* ---- numbers in small tensors ---------------------------------------------------------------- */

static bool read_shape(search *s, const pdm_ir_op *op, number *out, size_t *out_count,
                       int depth)
{
    const pdm_ir_value *x = pdm_ir_op_in(op, 0);

    if (!x || !pdm_ir_type_is_tensor(x->type) || x->type->rank > MAX_DIMS ||
        pdm_ir_rw_is_written(s->rw, x))
        return false;
    for (uint32_t i = 0; i < x->type->rank; i++) {
        out[i] = (number){.value = x, .axis = i};
        trace(s, &out[i], depth - 1);
    }
    *out_count = x->type->rank;
    return true;
}

static bool read_slice(search *s, const pdm_ir_op *op, number *out, size_t *out_count,
                       int depth)
{
    number all[MAX_DIMS];
    int64_t axis, start, end;
    size_t n, count;

    if (!pdm_ir_op_ints(op, "axes", &axis, 1, &n) || n != 1 || axis != 0 ||
        !pdm_ir_const_ints(pdm_ir_op_in(op, 1), &start, 1, &n) || n != 1 ||
        !pdm_ir_const_ints(pdm_ir_op_in(op, 2), &end, 1, &n) || n != 1 ||
        rank_of(pdm_ir_op_in(op, 0)) != 1 ||
        !read_numbers(s, pdm_ir_op_in(op, 0), all, &count, depth - 1))
        return false;
    start += start < 0 ? (int64_t)count : 0;
    end += end < 0 ? (int64_t)count : 0;
    end = end > (int64_t)count ? (int64_t)count : end;
    if (start < 0 || start >= end)
        return false;
    for (int64_t i = start; i < end; i++)
        out[i - start] = all[i];
    *out_count = (size_t)(end - start);
    return true;
}

static bool read_all(search *s, const pdm_ir_op *combine, number *out, size_t *out_count,
                     int depth)
{
    size_t n = 0;

    for (uint32_t i = 0; i < combine->num_operands; i++) {
        number some[MAX_DIMS];
        size_t count;
        if (!read_numbers(s, pdm_ir_op_in(combine, i), some, &count, depth - 1) ||
            n + count > MAX_DIMS)
            return false;
        for (size_t k = 0; k < count; k++)
            out[n++] = some[k];
    }
    *out_count = n;
    return true;
}

static bool is_int(const pdm_ir_value *value)
{
    return value && pdm_ir_type_is_tensor(value->type) &&
           (value->type->dtype == PDM_I32 || value->type->dtype == PDM_I64);
}

/* The elements, in order, of a tensor of integers or a vector of such; MAX_DIMS at most. */
static bool read_numbers(search *s, const pdm_ir_value *value, number *out,
                         size_t *out_count, int depth)
{
    int64_t ints[MAX_DIMS];
    const pdm_ir_op *op = value && depth > 0 ? pdm_ir_value_op(value) : NULL;

    if (!op || pdm_ir_rw_is_written(s->rw, value))
        return false;
    if (pdm_ir_const_ints(value, ints, MAX_DIMS, out_count)) {
        for (size_t i = 0; i < *out_count; i++)
            out[i] = (number){.n = ints[i]};
        return true;
    }
    if (PDM_IR_IS(op, builtin, combine))
        return read_all(s, op, out, out_count, depth);
    if (!is_int(value))
        return false;
    switch (op->info->code) {
    case PDM_IR_OP_pd_op_shape:
    case PDM_IR_OP_pd_op_shape64:
        return read_shape(s, op, out, out_count, depth);
    case PDM_IR_OP_pd_op_slice:
        return read_slice(s, op, out, out_count, depth);
    case PDM_IR_OP_pd_op_stack:
    case PDM_IR_OP_pd_op_concat: /* of tensors of one dimension at most there is one way */
    case PDM_IR_OP_pd_op_cast:
    case PDM_IR_OP_pd_op_assign:
    case PDM_IR_OP_pd_op_squeeze:
    case PDM_IR_OP_pd_op_unsqueeze:
    case PDM_IR_OP_pd_op_reshape:
        return rank_of(value) <= 1 && read_numbers(s, pdm_ir_op_in(op, 0), out, out_count, depth - 1);
    default:
        return false;
    }
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* What is computed of dimensions, all of which are known, is a constant. */
static bool known_numbers(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const pdm_ir_value *out = pdm_ir_op_result(op, 0);
    search s = {.rw = rw, .steps = MAX_STEPS};
    number numbers[MAX_DIMS];
    int64_t ints[MAX_DIMS];
    size_t count;

    if (!is_int(out) || rank_of(out) > 1 || !is_static(out) || pdm_ir_rw_is_written(rw, out) ||
        !read_numbers(&s, out, numbers, &count, DEPTH) || count == 0 ||
        (rank_of(out) == 1 ? out->type->dims[0] != (int64_t)count : count != 1))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (numbers[i].value)
            return false;
        ints[i] = numbers[i].n;
    }
    const pdm_ir_attr dtype = pdm_ir_attr_dtype(rw->context, out->type->dtype),
                      place = pdm_ir_attr_place(rw->context, 1, 0, "");
    const pdm_ir_make_attr list[] = {
        {"value", pdm_ir_attr_i64s(rw->context, ints, count)}, {"dtype", dtype}, {"place", place}, {0}};
    const pdm_ir_make_attr one[] = {
        {"shape", pdm_ir_attr_int_array(rw->context, out->type->dims, out->type->rank)},
        {"value", pdm_ir_attr_f64(rw->context, (double)ints[0])},
        {"dtype", dtype},
        {"place", place},
        {0}};
    const pdm_ir_type type = out->type;
    const bool single = count == 1;
    return pdm_ir_rw_replace(
        rw, op,
        pdm_ir_rw_make_typed(rw, single ? PDM_IR_OP_pd_op_full : PDM_IR_OP_pd_op_full_int_array, NULL,
                             0, single ? one : list, &type, 1));
}

/* The shape with which a reshape does the same without reading any other value. */
static bool written_out(search *s, const pdm_ir_value *x, const number *numbers, size_t count,
                        int64_t *out)
{
    size_t left = 0, unknown = 0, other = 0;

    for (size_t i = 0; i < rank_of(x); i++) {
        if (x->type->dims[i] == 0) /* without elements nothing follows, and what is copied is 0 */
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        unknown += numbers[i].value != NULL;
        other += !numbers[i].value && numbers[i].n <= 0;
    }
    /* One follows from the others, but when one of them is zero, as what is copied may be. */
    const bool follows = unknown == 1 && other == 0;
    for (size_t i = 0; i < count; i++) {
        number own = {.value = x, .axis = (uint32_t)i};
        out[i] = numbers[i].value ? -1 : numbers[i].n;
        if (!numbers[i].value || follows)
            continue;
        if (i < rank_of(x))
            trace(s, &own, DEPTH);
        if (own.value == numbers[i].value && own.axis == numbers[i].axis)
            out[i] = 0;
        else
            left++;
    }
    return left == 0;
}

static bool own_dims(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_value *x = pdm_ir_op_operand_value(op, 0);
    search s = {.rw = rw, .steps = MAX_STEPS};
    number numbers[MAX_DIMS];
    int64_t dims[MAX_DIMS];
    size_t count;

    if (op->num_operands != 2 || pdm_ir_const_ints(pdm_ir_op_in(op, 1), dims, MAX_DIMS, &count) ||
        !x || !pdm_ir_type_is_tensor(x->type) ||
        !read_numbers(&s, pdm_ir_op_in(op, 1), numbers, &count, DEPTH) ||
        rank_of(pdm_ir_op_result(op, 0)) != count || !written_out(&s, x, numbers, count, dims))
        return false;
    pdm_ir_value *shape = pdm_ir_rw_make_ints(rw, dims, count);
    if (!shape)
        return false;
    pdm_ir_rw_set_operand(rw, op, 1, shape);
    return true;
}

static const pdm_ir_pattern patterns[] = {
    {.name = "known dimensions", .root = "pd_op.shape", .rewrite = known_numbers},
    {.name = "known dimensions", .root = "pd_op.shape64", .rewrite = known_numbers},
    {.name = "known dimensions", .root = "pd_op.slice", .rewrite = known_numbers},
    {.name = "own dimensions", .root = "pd_op.reshape", .rewrite = own_dims},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns);
}

const pdm_ir_pass pdm_ir_pass_dims = {
    .name = "dims",
    .summary = "Replace what is computed of dimensions that are known, and have a reshape copy those of its operand.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
