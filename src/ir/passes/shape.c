/* Ops that only change the shape: of several in a row the last one says it all; and parts that are all there is. */
#include "ir/infer.h"
#include "ir/picture.h"

enum { MAX_INTS = 64 };

static bool shape_says_all(pdm_ir_match *match)
{
    return pdm_ir_shape_says_all(pdm_ir_match_value(match, "shape"));
}

static bool is_static(pdm_ir_type type)
{
    if (!pdm_ir_type_is_tensor(type))
        return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0)
            return false;
    }
    return true;
}

/* One unknown dimension is what the others leave, on both sides. */
static bool keeps_shape(pdm_ir_match *match)
{
    const pdm_ir_type before = pdm_ir_match_value(match, "x")->type;
    const pdm_ir_type after = pdm_ir_match_value(match, "y")->type;

    return before == after && is_static(before);
}

static bool same_axis(pdm_ir_match *match)
{
    return pdm_ir_same_axis(pdm_ir_match_value(match, "axis"), pdm_ir_match_value(match, "back"));
}

/* ---- the whole of something ------------------------------------------------------------------ */

static uint32_t rank_of(const pdm_ir_value *value)
{
    return value && pdm_ir_type_is_tensor(value->type) ? value->type->rank : 0;
}

/* What a value loses that is cut along axis 0 are the sequences that its rows form, which images do not have. */
static bool has_no_rows(const pdm_ir_value *x, int64_t axis)
{
    return axis != 0 || rank_of(x) >= 4;
}

/* Whether x from start to end on an axis is all of it. */
static bool is_all(const pdm_ir_value *x, int64_t axis, int64_t start, int64_t end)
{
    axis += axis < 0 ? rank_of(x) : 0;
    if (axis < 0 || axis >= rank_of(x))
        return false;
    const int64_t dim = x->type->dims[axis];
    return (start == 0 || (dim >= 0 && start <= -dim)) && end >= (dim >= 0 ? dim : INT32_MAX);
}

/* slice and strided_slice of everything there is. */
static bool slice_of_all(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_value *x = pdm_ir_op_in(op, 0);
    const bool strided = PDM_IR_IS(op, pd_op, strided_slice);
    int64_t axes[PDM_MAX_RANK], starts[PDM_MAX_RANK], ends[PDM_MAX_RANK], more[PDM_MAX_RANK];
    size_t count, n;

    if (!pdm_ir_op_ints(op, "axes", axes, PDM_MAX_RANK, &count) || count == 0 ||
        !pdm_ir_const_ints(pdm_ir_op_in(op, 1), starts, PDM_MAX_RANK, &n) || n != count ||
        !pdm_ir_const_ints(pdm_ir_op_in(op, 2), ends, PDM_MAX_RANK, &n) || n != count ||
        !(strided || has_no_rows(x, axes[0])))
        return false;
    if (strided && !(pdm_ir_const_ints(pdm_ir_op_in(op, 3), more, PDM_MAX_RANK, &n) && n == count &&
                     pdm_ir_ints_are(more, n, 1)))
        return false;
    if (pdm_ir_op_attr(op, "decrease_axis") &&
        (!pdm_ir_op_ints(op, "decrease_axis", more, PDM_MAX_RANK, &n) || n > 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!is_all(x, axes[i], starts[i], ends[i]))
            return false;
    }
    return pdm_ir_rw_forward(rw, op, x);
}

/* Both types are the same, with all dimensions. */
static bool keeps_type(const pdm_ir_op *op)
{
    const pdm_ir_value *x = pdm_ir_op_in(op, 0);

    return x && x->type == pdm_ir_op_result(op, 0)->type && is_static(x->type);
}

static bool expand_to_itself(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_ir_value *x = pdm_ir_op_in(op, 0);
    int64_t shape[PDM_MAX_RANK];
    size_t count;
    bool same = keeps_type(op);

    if (!same && PDM_IR_IS(op, pd_op, expand) && rank_of(x) > 0 &&
        pdm_ir_const_ints(pdm_ir_op_in(op, 1), shape, PDM_MAX_RANK, &count) && count == rank_of(x)) {
        same = true;
        for (size_t i = 0; i < count; i++)
            same = same && (shape[i] == -1 || (shape[i] >= 0 && shape[i] == x->type->dims[i]));
    }
    return same && pdm_ir_rw_forward(rw, op, x);
}

/* ---- parts that are put together again ------------------------------------------------------- */

/* Of concat, split and the like. */
static bool read_axis(const pdm_ir_op *op, size_t index, const pdm_ir_value *x, int64_t *out)
{
    double number;

    if (index >= op->num_operands || !pdm_ir_const_number(pdm_ir_op_in(op, (uint32_t)index), &number))
        return false;
    *out = (int64_t)number + (number < 0 ? rank_of(x) : 0);
    return *out >= 0 && *out < rank_of(x);
}

/* The split of which a value is part number i; its axis is where the concat's is. */
static const pdm_ir_op *split_of(const pdm_ir_rewriter *rw, pdm_ir_value *part, uint32_t i)
{
    const pdm_ir_op *taken = pdm_ir_rw_maker(rw, part, false);
    const bool one = taken && PDM_IR_IS(taken, builtin, slice);

    if (!taken || (!one && !PDM_IR_IS(taken, builtin, split)) ||
        (one ? pdm_ir_op_number(taken, "index", -1) != i
             : i >= taken->num_results || pdm_ir_op_result(taken, i) != part))
        return NULL;
    const pdm_ir_op *split = pdm_ir_rw_maker(rw, pdm_ir_op_in(taken, 0), false);
    return split && (PDM_IR_IS(split, pd_op, split) || PDM_IR_IS(split, pd_op, split_with_num))
               ? split
               : NULL;
}

static bool concat_of_split(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const pdm_ir_op *combine = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_builtin_combine),
                    *split = combine && combine->num_operands > 0
                                 ? split_of(rw, pdm_ir_op_in(combine, 0), 0) : NULL;
    pdm_ir_value *x = split ? pdm_ir_op_in(split, 0) : NULL;
    int64_t axis, other;

    if (!x || pdm_ir_op_result(split, 0)->type->num_elements != combine->num_operands ||
        !read_axis(op, 1, x, &axis) || !has_no_rows(x, axis) ||
        !read_axis(split, PDM_IR_IS(split, pd_op, split) ? 2 : 1, x, &other) || axis != other)
        return false;
    for (uint32_t i = 1; i < combine->num_operands; i++) {
        if (split_of(rw, pdm_ir_op_in(combine, i), i) != split)
            return false;
    }
    return pdm_ir_rw_forward(rw, op, x);
}

/* x from start to end on one axis. */
typedef struct part {
    pdm_ir_value *x;
    const pdm_ir_op *op;
    int64_t axis, start, end;
} part;

static bool read_part(const pdm_ir_rewriter *rw, pdm_ir_value *value, part *out)
{
    const pdm_ir_op *op = pdm_ir_rw_maker(rw, value, false);
    int64_t list[PDM_MAX_RANK];
    size_t n;

    if (!op || !PDM_IR_IS(op, pd_op, slice) ||
        !pdm_ir_op_ints(op, "axes", &out->axis, 1, &n) || n != 1 ||
        !pdm_ir_const_ints(pdm_ir_op_in(op, 1), &out->start, 1, &n) || n != 1 ||
        !pdm_ir_const_ints(pdm_ir_op_in(op, 2), &out->end, 1, &n) || n != 1 ||
        (pdm_ir_op_attr(op, "decrease_axis") &&
         (!pdm_ir_op_ints(op, "decrease_axis", list, PDM_MAX_RANK, &n) || n > 0)))
        return false;
    out->op = op;
    out->x = pdm_ir_op_in(op, 0);
    return rank_of(out->x) > 0 && out->axis >= 0 && out->axis < rank_of(out->x) && out->start >= 0 &&
           out->end >= out->start;
}

/* Parts that follow each other are one. */
static bool concat_of_slices(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const pdm_ir_op *combine = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_builtin_combine);
    part whole, next;
    int64_t axis;

    if (!combine || combine->num_operands < 2 || !read_part(rw, pdm_ir_op_in(combine, 0), &whole) ||
        !read_axis(op, 1, whole.x, &axis) || axis != whole.axis || !has_no_rows(whole.x, axis))
        return false;
    const int64_t dim = whole.x->type->dims[axis];
    for (uint32_t i = 1; i < combine->num_operands; i++) {
        /* An end beyond the last one is the last one only where that is known. */
        if (!read_part(rw, pdm_ir_op_in(combine, i), &next) || next.x != whole.x || next.axis != axis ||
            next.start != whole.end || (dim >= 0 && whole.end > dim) || (dim < 0 && next.start != 0))
            return false;
        whole.end = next.end;
    }
    if (is_all(whole.x, axis, whole.start, whole.end))
        return pdm_ir_rw_forward(rw, op, whole.x);
    pdm_ir_value *in[] = {whole.x, pdm_ir_op_in(whole.op, 1), pdm_ir_rw_make_ints(rw, &whole.end, 1)};
    const pdm_ir_make_attr attrs[] = {{"axes", pdm_ir_op_attr(whole.op, "axes")},
                                      {"infer_flags", pdm_ir_op_attr(whole.op, "infer_flags")},
                                      {"decrease_axis", pdm_ir_attr_i64s(rw->context, NULL, 0)},
                                      {0}};
    return in[2] && attrs[1].attr &&
           pdm_ir_rw_replace(rw, op, pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_slice, in, 3, attrs));
}

/* ---- axes that come and go ------------------------------------------------------------------- */

static bool axes_of(const pdm_ir_op *op, int64_t *out, size_t *out_count)
{
    return pdm_ir_const_ints(pdm_ir_op_in(op, 1), out, PDM_MAX_RANK, out_count);
}

/* Axes are inserted one after the other, by one op or by two. */
static bool unsqueeze_of_unsqueeze(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const pdm_ir_op *inner = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_pd_op_unsqueeze);
    int64_t axes[2 * PDM_MAX_RANK];
    size_t n, m;

    if (!inner || !axes_of(inner, axes, &n) || !axes_of(op, axes + n, &m))
        return false;
    pdm_ir_value *in[] = {pdm_ir_op_in(inner, 0), pdm_ir_rw_make_ints(rw, axes, n + m)};
    return in[1] &&
           pdm_ir_rw_replace(rw, op, pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_unsqueeze, in, 2, NULL));
}

/* squeeze leaves an axis alone that is longer than one. */
static bool unsqueeze_of_squeeze(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    const pdm_ir_op *inner = pdm_ir_rw_producer(rw, op, 0, PDM_IR_OP_pd_op_squeeze);
    pdm_ir_value *x = inner ? pdm_ir_op_in(inner, 0) : NULL;
    int64_t gone[PDM_MAX_RANK], back[PDM_MAX_RANK];
    size_t n, m;

    if (!x || !axes_of(inner, gone, &n) || n != 1 || !axes_of(op, back, &m) || m != 1 || gone[0] != back[0])
        return false;
    const int64_t axis = gone[0] + (gone[0] < 0 ? rank_of(x) : 0);
    return axis >= 0 && axis < rank_of(x) && x->type->dims[axis] == 1 && pdm_ir_rw_forward(rw, op, x);
}

/* Whether both lists name the same axes of a value of that rank, one each. */
static bool same_axes(int64_t *a, size_t n, int64_t *b, size_t m, uint32_t rank)
{
    uint64_t in_a = 0, in_b = 0;

    for (size_t i = 0; i < n + m; i++) {
        const int64_t axis = i < n ? a[i] + (a[i] < 0 ? rank : 0) : b[i - n] + (b[i - n] < 0 ? rank : 0);
        uint64_t *set = i < n ? &in_a : &in_b;
        if (axis < 0 || axis >= rank || *set >> axis & 1)
            return false;
        *set |= (uint64_t)1 << axis;
    }
    return n > 0 && in_a == in_b;
}

/* Whether `inner` reduces axes and nothing else is read of it. */
static pdm_ir_op *reduction(const pdm_ir_rewriter *rw, const pdm_ir_op *op, bool keeps, int64_t *axes, size_t *count)
{
    pdm_ir_op *inner = pdm_ir_rw_maker(rw, pdm_ir_op_in(op, 0), true);

    switch (inner ? inner->info->code : PDM_IR_OP_pd_op_reshape) {
    case PDM_IR_OP_pd_op_mean:
    case PDM_IR_OP_pd_op_sum:
    case PDM_IR_OP_pd_op_max:
    case PDM_IR_OP_pd_op_min:
    case PDM_IR_OP_pd_op_prod:
        return pdm_ir_op_flag(inner, "keepdim") == keeps && axes_of(inner, axes, count) ? inner : NULL;
    default:
        return NULL;
    }
}

static bool reduce_otherwise(pdm_ir_rewriter *rw, pdm_ir_op *op, const pdm_ir_op *inner, bool keeps)
{
    pdm_ir_value *in[] = {pdm_ir_op_in(inner, 0), pdm_ir_op_in(inner, 1)};
    pdm_ir_make_attr attrs[4] = {{"keepdim", pdm_ir_attr_bool(rw->context, keeps)}};
    size_t n = 1;

    if (inner->num_operands != 2)
        return false;
    for (size_t i = 0; i < 2; i++) {
        static const char *const names[] = {"dtype", "reduce_all"};
        const pdm_ir_attr attr = pdm_ir_op_attr(inner, names[i]);
        if (attr)
            attrs[n++] = (pdm_ir_make_attr){names[i], attr};
    }
    return pdm_ir_rw_replace(rw, op, pdm_ir_rw_make(rw, inner->info->code, in, 2, attrs));
}

/* Axes that a reduction left as ones go. */
static bool squeeze_of_reduction(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    int64_t axes[PDM_MAX_RANK], gone[PDM_MAX_RANK];
    size_t n, m;
    const pdm_ir_op *inner = reduction(rw, op, true, axes, &n);

    return inner && axes_of(op, gone, &m) && same_axes(axes, n, gone, m, rank_of(pdm_ir_op_in(inner, 0))) &&
           reduce_otherwise(rw, op, inner, false);
}

/* One axis that a reduction took away comes back. */
static bool unsqueeze_of_reduction(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    int64_t axes[PDM_MAX_RANK], back[PDM_MAX_RANK];
    size_t n, m;
    const pdm_ir_op *inner = reduction(rw, op, false, axes, &n);

    return inner && n == 1 && axes_of(op, back, &m) && m == 1 &&
           same_axes(axes, n, back, m, rank_of(pdm_ir_op_in(inner, 0))) && reduce_otherwise(rw, op, inner, true);
}

static const pdm_ir_pattern patterns[] = {
    {.name = "concat of split", .root = "pd_op.concat", .rewrite = concat_of_split},
    {.name = "concat of slices", .root = "pd_op.concat", .rewrite = concat_of_slices},
    {.name = "slice of all", .root = "pd_op.slice", .rewrite = slice_of_all},
    {.name = "slice of all", .root = "pd_op.strided_slice", .rewrite = slice_of_all},
    {.name = "expand to itself", .root = "pd_op.expand", .rewrite = expand_to_itself},
    {.name = "expand to itself", .root = "pd_op.expand_as", .rewrite = expand_to_itself},
    {.name = "unsqueeze of unsqueeze", .root = "pd_op.unsqueeze", .rewrite = unsqueeze_of_unsqueeze},
    {.name = "unsqueeze of squeeze", .root = "pd_op.unsqueeze", .rewrite = unsqueeze_of_squeeze},
    {.name = "squeeze of a reduction", .root = "pd_op.squeeze", .rewrite = squeeze_of_reduction},
    {.name = "unsqueeze of a reduction", .root = "pd_op.unsqueeze", .rewrite = unsqueeze_of_reduction},
    {.name = "reshape to the same",
     .from = "%y = reshape(%x, %shape)",
     .where = keeps_shape,
     .to = "%x"},
    {.name = "reshape of reshape",
     .from = "%a+ = reshape(%x, %first)"
             "%y = reshape(%a, %shape)",
     .where = shape_says_all,
     .to = "%y = reshape(%x, %shape)"},
    {.name = "reshape of flatten",
     .from = "%a+ = flatten(%x) {...}"
             "%y = reshape(%a, %shape)",
     .where = shape_says_all,
     .to = "%y = reshape(%x, %shape)"},
    {.name = "reshape of squeeze",
     .from = "%a+ = squeeze(%x, %axis)"
             "%y = reshape(%a, %shape)",
     .where = shape_says_all,
     .to = "%y = reshape(%x, %shape)"},
    {.name = "reshape of unsqueeze",
     .from = "%a+ = unsqueeze(%x, %axis)"
             "%y = reshape(%a, %shape)",
     .where = shape_says_all,
     .to = "%y = reshape(%x, %shape)"},
    {.name = "squeeze of unsqueeze",
     .from = "%a+ = unsqueeze(%x, %axis)"
             "%y = squeeze(%a, %back)",
     .where = same_axis,
     .to = "%x"},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns);
}

const pdm_ir_pass pdm_ir_pass_shape = {
    .name = "shape",
    .summary = "Make one of several ops in a row that only change the shape, or none; slices of all there is and parts "
               "that are put together again go.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
