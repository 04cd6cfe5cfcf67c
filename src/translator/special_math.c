/* Special handlers: arithmetic, reductions, activations. */
#include "translator/special.h"

#include <string.h>

static const char *row_target(pdm_tr_op *t)
{
    const pdm_tr_row *row = pdm_tr_row_get(t->tr, t->op->type);
    if (!row && t->tr->status == PDM_OK)
        pdm_tr_error(t, PDM_D_INTERNAL, NULL, NULL, "op '%s' has no row", t->op->type);
    return row ? row->target : NULL;
}

/* ---- binary ops with an axis ----------------------------------------------------------------- */

/* Append ones to a shape that is known only at run time. Leading ones need not be written. */
static pdm_ir_value *append_ones(pdm_tr_op *t, pdm_ir_value *v, const pdm_ir_meta *meta, int count)
{
    int64_t dims[PDM_MAX_RANK];
    for (int i = 0; i < PDM_MAX_RANK; i++)
        dims[i] = i < meta->rank ? meta->dims[i] : 1;
    const int64_t ones[PDM_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    pdm_ir_value *shape = pdm_tr_shape64(t, v);
    pdm_ir_value *tail = pdm_tr_const_ints(t, ones, (size_t)count);
    shape = pdm_tr_concat(t, (pdm_ir_value *[]){shape, tail}, 2, 0);
    pdm_ir_value *out = pdm_tr_binary(t, "pd_op.reshape", v, shape);
    if (out)
        pdm_tr_retype(out, pdm_tr_tensor_type(t, meta->dtype, dims, (size_t)(meta->rank + count)));
    return out;
}

/*
 * The lesser operand of a legacy broadcast, reshaped so that broadcasting from the right puts its
 * dims at `axis` of a tensor of `rank` dims. Trailing ones that stick out are cut off.
 */
static pdm_ir_value *place_at(pdm_tr_op *t, pdm_ir_value *v, int64_t axis, int rank)
{
    pdm_ir_meta meta;
    int64_t cut[PDM_MAX_RANK];
    size_t num_cut = 0;
    pdm_tr_meta(v, &meta);
    int own = meta.rank;
    const bool inside = axis >= 0 && axis <= rank;
    while (inside && own > 0 && axis + own > rank && meta.dims[own - 1] == 1)
        cut[num_cut++] = --own;
    if (!inside || axis + own > rank) {
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "axis", NULL,
                     "axis %lld of '%s' does not fit inputs of rank %d and %d", (long long)axis,
                     t->op->type, rank, meta.rank);
        return NULL;
    }
    if (num_cut)
        return pdm_tr_squeeze(t, v, cut, num_cut);
    int rest = rank - (int)axis - own;
    if (rest == 0)
        return v;
    int64_t dims[PDM_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = 1;
    for (int i = 0; i < own; i++) {
        if (meta.dims[i] < 0)
            return append_ones(t, v, &meta, rest);
        dims[axis + i] = meta.dims[i];
    }
    return pdm_tr_reshape(t, v, dims, (size_t)rank);
}

/* axis says where the dims of the shorter operand stand among those of the longer one. */
void pdm_tr_h_broadcast(pdm_tr_op *t)
{
    int64_t axis = pdm_tr_int_or(t, "axis", -1);
    const char *target = row_target(t);
    if (axis == -1 || !target) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y");
    int rank_x = pdm_tr_need_rank(t, x), rank_y = pdm_tr_need_rank(t, y);
    if (rank_x < 0 || rank_y < 0)
        return;
    pdm_ir_value *out;
    if (rank_x >= rank_y) {
        y = place_at(t, y, axis, rank_x);
        out = pdm_tr_emit_form(t, target, PDM_TR_OPS(x, y), PDM_TR_NO_ATTRS);
    } else {
        x = place_at(t, x, axis, rank_y);
        out = pdm_tr_emit1(t, target, PDM_TR_OPS(x, y), PDM_TR_NO_ATTRS);
    }
    pdm_tr_out(t, "Out", out);
}

/* ---- products -------------------------------------------------------------------------------- */

static int64_t product(const pdm_ir_meta *meta, int from, int to)
{
    int64_t p = 1;
    for (int i = from; i < to; i++)
        if (meta->dims[i] < 0 || __builtin_mul_overflow(p, meta->dims[i], &p))
            return -1;
    return p;
}

/* Dims before `split` become one, the others another. */
static pdm_ir_value *to_matrix(pdm_tr_op *t, pdm_ir_value *v, const pdm_ir_meta *meta, int split)
{
    int64_t dims[2] = {product(meta, 0, split), product(meta, split, meta->rank)};
    if (dims[0] >= 0 || dims[1] >= 0)
        return pdm_tr_reshape(t, v, dims, 2);
    const int ranges[2][2] = {{split, meta->rank - 1}, {0, split - 1}};
    for (int i = 0; i < 2; i++)
        v = pdm_tr_emit1(t, "pd_op.flatten", PDM_TR_OPS(v),
                         PDM_TR_ATTRS({"start_axis", pdm_tr_a_i32(t, ranges[i][0]), 0},
                                      {"stop_axis", pdm_tr_a_i32(t, ranges[i][1]), 0}));
    return v;
}

/* Dims [from, to) of a value as an int64 tensor. */
static pdm_ir_value *some_dims(pdm_tr_op *t, pdm_ir_value *v, const pdm_ir_meta *meta, int from,
                               int to)
{
    if (product(meta, from, to) >= 0)
        return pdm_tr_const_ints(t, meta->dims + from, (size_t)(to - from));
    return pdm_tr_slice(t, pdm_tr_shape64(t, v), 0, from, to);
}

static int column_split(pdm_tr_op *t, const char *attr, int rank)
{
    int64_t split = pdm_tr_int(t, attr);
    if (!t->failed && rank >= 0 && (split < 1 || split >= rank))
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, attr, NULL, "%s %lld of 'mul' does not fit rank %d",
                     attr, (long long)split, rank);
    return (int)split;
}

void pdm_tr_h_mul(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y"), *out;
    pdm_ir_meta mx, my;
    int64_t dims[2 * PDM_MAX_RANK];
    int rank = 0, unknown = 0;
    pdm_tr_need_rank(t, x);
    pdm_tr_need_rank(t, y);
    pdm_tr_meta(x, &mx);
    pdm_tr_meta(y, &my);
    int split_x = column_split(t, "x_num_col_dims", mx.rank);
    int split_y = column_split(t, "y_num_col_dims", my.rank);
    if (t->failed || !x || !y)
        return;
    for (int i = 0; i < split_x; i++)
        dims[rank++] = mx.dims[i];
    for (int i = split_y; i < my.rank; i++)
        dims[rank++] = my.dims[i];
    for (int i = 0; i < rank; i++)
        unknown += dims[i] < 0;
    const pdm_ir_named_attr attrs[] = {{"transpose_x", pdm_tr_a_bool(t, false), 0},
                                       {"transpose_y", pdm_tr_a_bool(t, false), 0}};
    if (unknown > 1 && split_x == mx.rank - 1 && split_y == 1 && my.rank == 2) {
        /* Only rows are gathered: a batched product says the same without reshapes. */
        pdm_tr_out(t, "Out", pdm_tr_emit1(t, "pd_op.matmul", PDM_TR_OPS(x, y), attrs, 2));
        return;
    }
    pdm_ir_value *a = to_matrix(t, x, &mx, split_x), *b = to_matrix(t, y, &my, split_y);
    out = pdm_tr_emit1(t, "pd_op.matmul", PDM_TR_OPS(a, b), attrs, 2);
    if (unknown <= 1) {
        out = pdm_tr_reshape(t, out, dims, (size_t)rank);
    } else {
        pdm_ir_value *parts[2] = {some_dims(t, x, &mx, 0, split_x),
                                  some_dims(t, y, &my, split_y, my.rank)};
        out = pdm_tr_binary(t, "pd_op.reshape", out, pdm_tr_concat(t, parts, 2, 0));
        if (out)
            pdm_tr_retype(out, pdm_tr_tensor_type(t, mx.dtype, dims, (size_t)rank));
    }
    pdm_tr_out(t, "Out", out);
}

void pdm_tr_h_matmul(pdm_tr_op *t)
{
    double alpha = pdm_tr_float(t, "alpha");
    if (pdm_tr_int_or(t, "head_number", 1) > 1) {
        pdm_tr_unsupported(t, NULL, "'matmul' with several heads (head_number)");
        return;
    }
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y");
    bool transpose_x = pdm_tr_bool(t, "transpose_X"), transpose_y = pdm_tr_bool(t, "transpose_Y");
    pdm_ir_value *out =
        pdm_tr_emit1(t, "pd_op.matmul", PDM_TR_OPS(x, y),
                     PDM_TR_ATTRS({"transpose_x", pdm_tr_a_bool(t, transpose_x), 0},
                                  {"transpose_y", pdm_tr_a_bool(t, transpose_y), 0}));
    if (alpha < 1 || alpha > 1)
        out = pdm_tr_scale(t, out, alpha, 0);
    pdm_tr_out(t, "Out", out);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool names_every_axis(const int64_t *axes, size_t n, int rank)
{
    bool seen[PDM_MAX_RANK] = {false};
    int found = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank)
            return false;
        if (!seen[axis])
            found++;
        seen[axis] = true;
    }
    return rank >= 0 && found == rank;
}

/* reduce_all overrides dim, which old models leave at its default [0]. */
void pdm_tr_h_reduce(pdm_tr_op *t)
{
    const char *target = row_target(t);
    pdm_ir_value *x = pdm_tr_in(t, "X");
    bool all = pdm_tr_bool_or(t, "reduce_all", false), keep = pdm_tr_bool(t, "keep_dim");
    size_t n = 0;
    const int64_t *axes = pdm_tr_ints(t, "dim", &n);
    const pdm_ir_op_desc *desc = target ? pdm_ir_op_desc_find(target) : NULL;
    if (t->failed || !x || !axes || !desc)
        return;
    /* Reductions that take the axes as an attribute get an empty one even where dim says the same.
     */
    bool as_operand = desc->num_operands > 1;
    if (!all || n == 0 || (as_operand && names_every_axis(axes, n, pdm_tr_rank(x)))) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_named_attr attrs[2] = {{"keepdim", pdm_tr_a_bool(t, keep), 0}};
    size_t num_attrs = 1;
    if (!as_operand)
        attrs[num_attrs++] = (pdm_ir_named_attr){"axis", pdm_tr_a_i64s(t, NULL, 0), 0};
    if (strcmp(target, "pd_op.prod") == 0)
        attrs[num_attrs++] = (pdm_ir_named_attr){"reduce_all", pdm_tr_a_bool(t, true), 0};
    if (strcmp(target, "pd_op.sum") == 0) {
        pdm_dtype dtype = pdm_tr_dtype(t, "out_dtype");
        attrs[num_attrs++] = (pdm_ir_named_attr){"dtype", pdm_tr_a_dtype(t, dtype), 0};
    }
    pdm_ir_value *operands[2] = {x, as_operand ? pdm_tr_const_ints(t, NULL, 0) : NULL};
    pdm_tr_out(t, "Out", pdm_tr_emit1(t, target, operands, as_operand ? 2 : 1, attrs, num_attrs));
}

/* ---- elementwise ----------------------------------------------------------------------------- */

void pdm_tr_h_pow(pdm_tr_op *t)
{
    if (!pdm_tr_num_in(t, "FactorTensor")) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_value *factor = pdm_tr_in(t, "FactorTensor"), *x = pdm_tr_in(t, "X");
    factor = pdm_tr_cast(t, factor, pdm_tr_dtype_of(x));
    if (pdm_tr_rank(x) == 0 && pdm_tr_rank(factor) > 0)
        factor = pdm_tr_reshape(t, factor, NULL, 0);
    pdm_tr_out(t, "Out", pdm_tr_binary(t, "pd_op.elementwise_pow", x, factor));
}

static pdm_ir_value *clip(pdm_tr_op *t, pdm_ir_value *x, double low, double high)
{
    pdm_ir_value *min = pdm_tr_const_f(t, PDM_F32, low), *max = pdm_tr_const_f(t, PDM_F32, high);
    return pdm_tr_emit1(t, "pd_op.clip", PDM_TR_OPS(x, min, max), PDM_TR_NO_ATTRS);
}

static bool differs(double a, double b)
{
    return a < b || a > b || a != a;
}

/*
 * PIR's relu6, hardswish and swish have no attributes: other values are spelled out. From 2.6 on
 * the legacy kernels do not look at them either, so programs of those versions mean the defaults.
 */
static bool heeds_attributes(const pdm_tr_op *t)
{
    return t->tr->program->version < 2006000;
}

void pdm_tr_h_relu6(pdm_tr_op *t)
{
    double threshold = pdm_tr_float(t, "threshold");
    if (!differs(threshold, 6) || !heeds_attributes(t))
        pdm_tr_generic(t);
    else
        pdm_tr_out(t, "Out", clip(t, pdm_tr_in(t, "X"), 0, threshold));
}

void pdm_tr_h_hard_swish(pdm_tr_op *t)
{
    double threshold = pdm_tr_float(t, "threshold"), scale = pdm_tr_float(t, "scale"),
           offset = pdm_tr_float(t, "offset");
    if ((!differs(threshold, 6) && !differs(scale, 6) && !differs(offset, 3)) ||
        !heeds_attributes(t)) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_value *x = pdm_tr_in(t, "X");
    pdm_ir_value *gate = clip(t, pdm_tr_scale(t, x, 1, offset), 0, threshold);
    gate = pdm_tr_scale(t, gate, 1 / scale, 0);
    pdm_tr_out(t, "Out", pdm_tr_binary(t, "pd_op.multiply", x, gate));
}

void pdm_tr_h_swish(pdm_tr_op *t)
{
    double beta = pdm_tr_float(t, "beta");
    if (!differs(beta, 1) || !heeds_attributes(t)) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_value *x = pdm_tr_in(t, "X");
    pdm_ir_value *gate = pdm_tr_unary(t, "pd_op.sigmoid", pdm_tr_scale(t, x, beta, 0));
    pdm_tr_out(t, "Out", pdm_tr_binary(t, "pd_op.multiply", x, gate));
}

/*
 * The op of models without `decimals` rounds halves away from zero, pd_op.round to even. With the
 * truncated part t and the exact rest d, t + trunc(2d) does; infinities have no rest.
 */
void pdm_tr_h_round(pdm_tr_op *t)
{
    if (pdm_tr_has_attr(t, "decimals")) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_value *x = pdm_tr_in(t, "X");
    pdm_ir_value *whole = pdm_tr_unary(t, "pd_op.trunc", x);
    pdm_ir_value *rest = pdm_tr_binary(t, "pd_op.subtract", x, whole);
    rest = pdm_tr_unary(t, "pd_op.trunc", pdm_tr_scale(t, rest, 2, 0));
    pdm_ir_value *rounded = pdm_tr_binary(t, "pd_op.add", whole, rest);
    pdm_ir_value *finite = pdm_tr_unary(t, "pd_op.isfinite", x);
    pdm_tr_out(t, "Out",
               pdm_tr_emit1(t, "pd_op.where", PDM_TR_OPS(finite, rounded, x), PDM_TR_NO_ATTRS));
}

void pdm_tr_h_range(pdm_tr_op *t)
{
    pdm_ir_value *end = pdm_tr_in(t, "End"), *start = pdm_tr_in(t, "Start"),
                 *step = pdm_tr_in(t, "Step");
    pdm_ir_attr dtype = start ? pdm_tr_a_dtype(t, pdm_tr_dtype_of(start)) : NULL;
    if (!dtype)
        return;
    pdm_tr_out(t, "Out",
               pdm_tr_emit1(t, "pd_op.arange", PDM_TR_OPS(start, end, step),
                            PDM_TR_ATTRS({"dtype", dtype, 0}, {"place", pdm_tr_a_place(t, 0), 0})));
}

void pdm_tr_h_matrix_rank(pdm_tr_op *t)
{
    if (pdm_tr_num_in(t, "TolTensor")) {
        pdm_ir_value *tol = pdm_tr_in(t, "TolTensor"), *x = pdm_tr_in(t, "X");
        bool use_default = pdm_tr_bool(t, "use_default_tol"),
             hermitian = pdm_tr_bool(t, "hermitian");
        pdm_tr_out(t, "Out",
                   pdm_tr_emit1(t, "pd_op.matrix_rank_tol", PDM_TR_OPS(x, tol),
                                PDM_TR_ATTRS({"use_default_tol", pdm_tr_a_bool(t, use_default), 0},
                                             {"hermitian", pdm_tr_a_bool(t, hermitian), 0})));
    } else {
        pdm_tr_generic(t);
    }
    /* The legacy op counts in int32, pd_op.matrix_rank in int64. */
    const pdm_lg_var *var = pdm_tr_out_var(t, "Out", 0);
    pdm_ir_value *out = pdm_tr_bound(t, "Out");
    if (out && var && var->dtype == PDM_I32 && pdm_tr_dtype_of(out) != PDM_I32)
        pdm_tr_out(t, "Out", pdm_tr_cast(t, out, PDM_I32));
}

/* The legacy op reports one number even for a single matrix, pd_op.lu a scalar then. */
void pdm_tr_h_lu(pdm_tr_op *t)
{
    pdm_tr_generic(t);
    pdm_ir_value *infos = pdm_tr_bound(t, "Infos");
    if (infos && pdm_tr_rank(pdm_tr_in(t, "X")) == 2)
        pdm_tr_out(t, "Infos", pdm_tr_reshape(t, infos, (const int64_t[]){1}, 1));
}

/* ---- sine and cosine ------------------------------------------------------------------------- */

/*
 * The float32 kernels of 3.3.1 give another last bit than those of all earlier releases in every
 * fourth value. In a program that loops or branches on data that may change what it decides
 * (fastspeech2 misses its record by it; float64 rounded still does). The complex kernels compute
 * with the C library, to the bit as before.
 */
void pdm_tr_h_circular(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    if (!t->tr->has_sub_blocks || pdm_tr_dtype_of(x) != PDM_F32) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_value *zero = pdm_tr_const_f(t, PDM_F32, 0);
    pdm_ir_value *zeros = pdm_tr_emit1(t, "pd_op.full_like", PDM_TR_OPS(x, zero),
                                       PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, PDM_F32), 0}));
    pdm_ir_value *z = pdm_tr_binary(t, "pd_op.complex", x, zeros);
    pdm_tr_out(t, "Out", pdm_tr_unary(t, "pd_op.real", pdm_tr_unary(t, row_target(t), z)));
}
