/* Shape ops of Paddle 1.x, and small ops that moved or vanished since. */
#include "translator/expressed.h"

#include <string.h>

/* ---- reordering and reshaping ---------------------------------------------------------------- */

void pdm_tr_h_transpose(pdm_tr_op *t)
{
    size_t n = 0;
    const int64_t *perm = pdm_tr_ints(t, "axis", &n);
    pdm_ir_value *x = pdm_tr_in(t, "X");
    if (perm)
        pdm_tr_out(t, "Out", pdm_tr_transpose(t, x, perm, n));
}

void pdm_tr_h_squeeze(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    size_t n = 0;
    const int64_t *axes = pdm_tr_has_attr(t, "axes") ? pdm_tr_ints(t, "axes", &n) : NULL;
    pdm_tr_out(t, "Out", pdm_tr_squeeze(t, x, axes, n));
}

void pdm_tr_h_unsqueeze(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    pdm_ir_value *axes = pdm_tr_int_operand(t, "AxesTensorList", "AxesTensor", "axes");
    pdm_tr_out(t, "Out", pdm_tr_binary(t, "pd_op.unsqueeze", x, axes));
}

static pdm_ir_value *flatten(pdm_tr_op *t, pdm_ir_value *x, int from, int to)
{
    return pdm_tr_emit1(t, "pd_op.flatten", PDM_TR_OPS(x),
                        PDM_TR_ATTRS({"start_axis", pdm_tr_a_i32(t, from), 0},
                                     {"stop_axis", pdm_tr_a_i32(t, to), 0}));
}

/* Two dims: those before `axis` and the others. */
void pdm_tr_h_flatten(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    int64_t axis = pdm_tr_int_or(t, "axis", 1);
    int rank = pdm_tr_need_rank(t, x);
    if (t->failed || !x)
        return;
    if (axis < 0 || axis > rank) {
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "axis", NULL, "axis %lld of '%s' does not fit rank %d",
                     (long long)axis, t->op->type, rank);
        return;
    }
    int split = (int)axis;
    int64_t dims[2] = {pdm_tr_known_product(x, 0, split), pdm_tr_known_product(x, split, rank)};
    pdm_ir_value *out = x;
    if (dims[0] > 0 || dims[1] > 0) {
        /* Declared dims of a batch are not always true: leave one to the op. */
        if (dims[1] > 0)
            dims[0] = -1;
        out = pdm_tr_reshape(t, x, dims, 2);
    } else {
        if (split < rank)
            out = flatten(t, out, split, rank - 1);
        if (split > 0)
            out = flatten(t, out, 0, split - 1);
        if (split == 0 || split == rank)
            out = pdm_tr_unsqueeze(t, out, (int64_t[]){split == 0 ? 0 : 1}, 1);
    }
    pdm_tr_out(t, "Out", out);
}

/* ---- repeating and cutting ------------------------------------------------------------------- */

void pdm_tr_h_expand(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    /* Here the single tensor wins over the list. */
    pdm_ir_value *times = pdm_tr_num_in(t, "ExpandTimes")
                              ? pdm_tr_in_combined(t, "ExpandTimes")
                              : pdm_tr_int_operand(t, "expand_times_tensor", NULL, "expand_times");
    pdm_tr_out(t, "Out", pdm_tr_binary(t, "pd_op.tile", x, times));
}

/* The dims of X are repeated until they are those of the target. */
void pdm_tr_h_expand_as_v1(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *target = pdm_tr_in(t, "target_tensor"), *times;
    int rank = pdm_tr_need_rank(t, x);
    int64_t ratio[PDM_MAX_RANK];
    bool known = true;
    if (t->failed || !x || !target)
        return;
    for (int i = 0; i < rank && known; i++) {
        int64_t from = pdm_tr_known_dim(x, i), to = pdm_tr_known_dim(target, i);
        known = from > 0 && to >= 0;
        ratio[i] = known ? to / from : 0;
    }
    times = known ? pdm_tr_const_ints(t, ratio, (size_t)rank)
                  : pdm_tr_binary(t, "pd_op.floor_divide", pdm_tr_shape64(t, target),
                                  pdm_tr_shape64(t, x));
    pdm_ir_value *out = pdm_tr_binary(t, "pd_op.tile", x, times);
    if (out)
        pdm_tr_retype(
            out, pdm_tr_tensor_type(t, pdm_tr_dtype_of(x), target->type->dims, target->type->rank));
    pdm_tr_out(t, "Out", out);
}

void pdm_tr_h_crop(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in_opt(t, "Y"), *shape, *offsets;
    int rank = pdm_tr_need_rank(t, x);
    int64_t zeros[PDM_MAX_RANK] = {0};
    size_t n = 0;
    if (t->failed || !x)
        return;
    if (y) {
        pdm_tr_dim dims[PDM_MAX_RANK];
        for (int i = 0; i < rank; i++)
            dims[i] = PDM_TR_DIM_OF(y, i);
        shape = pdm_tr_dims(t, dims, (size_t)rank);
    } else {
        shape = pdm_tr_int_operand(t, NULL, NULL, "shape");
    }
    if (pdm_tr_num_in(t, "Offsets")) {
        offsets = pdm_tr_in_combined(t, "Offsets");
    } else {
        const int64_t *given = pdm_tr_ints(t, "offsets", &n);
        if (t->failed)
            return;
        offsets = n ? pdm_tr_const_ints(t, given, n) : pdm_tr_const_ints(t, zeros, (size_t)rank);
    }
    pdm_tr_out(t, "Out",
               pdm_tr_emit1(t, "pd_op.crop", PDM_TR_OPS(x, shape, offsets), PDM_TR_NO_ATTRS));
}

/* ---- pad2d ----------------------------------------------------------------------------------- */

/* [top, bottom, left, right] of a tensor as pd_op.pad3d wants it: left, right, top, bottom, and no
 * depth. */
static pdm_ir_value *paddings_of_tensor(pdm_tr_op *t)
{
    pdm_ir_value *given = pdm_tr_in(t, "Paddings");
    pdm_dtype dtype = pdm_tr_dtype_of(given);
    pdm_ir_value *parts[3] = {pdm_tr_slice(t, given, 0, 2, 4), pdm_tr_slice(t, given, 0, 0, 2),
                              pdm_tr_fill_i(t, (int64_t[]){2}, 1, dtype, 0)};
    pdm_ir_value *order = pdm_tr_concat(t, parts, 3, 0);
    return pdm_tr_combine(t, &order, 1);
}

static void pad2d_constant(pdm_tr_op *t, pdm_ir_value *x, const int64_t *p, double value, bool last)
{
    /* begin and end of every dim, from the first one on */
    const int64_t first[8] = {0, 0, 0, 0, p[0], p[1], p[2], p[3]};
    const int64_t channels_last[8] = {0, 0, p[0], p[1], p[2], p[3], 0, 0};
    pdm_ir_value *v = pdm_tr_const_f(t, PDM_F32, value);
    pdm_ir_attr paddings = pdm_tr_a_i32s(t, last ? channels_last : first, 8);
    pdm_tr_out(
        t, "Out",
        pdm_tr_emit1(t, "pd_op.pad", PDM_TR_OPS(x, v), PDM_TR_ATTRS({"paddings", paddings, 0})));
}

void pdm_tr_h_pad2d(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    const char *mode = pdm_tr_string(t, "mode"), *format = pdm_tr_string(t, "data_format");
    double value = pdm_tr_float(t, "pad_value");
    bool by_tensor = pdm_tr_num_in(t, "Paddings") > 0;
    size_t n = 4;
    const int64_t *p = by_tensor ? NULL : pdm_tr_ints(t, "paddings", &n);
    int rank = pdm_tr_need_rank(t, x);
    if (t->failed || !x)
        return;
    if (n != 4 || rank != 4) {
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "paddings", NULL,
                     "'pad2d' needs four paddings and an input of rank 4");
        return;
    }
    bool last = strcmp(format, "NHWC") == 0, constant = strcmp(mode, "constant") == 0;
    if (constant && p) {
        pad2d_constant(t, x, p, value, last);
        return;
    }
    /* In three dimensions, with a depth of one. */
    const int64_t depth = last ? 1 : 2;
    pdm_ir_value *paddings =
        p ? PDM_TR_INTS(t, p[2], p[3], p[0], p[1], 0, 0) : paddings_of_tensor(t);
    pdm_ir_value *deep = pdm_tr_unsqueeze(t, x, &depth, 1);
    deep = pdm_tr_emit1(
        t, "pd_op.pad3d", PDM_TR_OPS(deep, paddings),
        PDM_TR_ATTRS({"mode", pdm_tr_a_str(t, strcmp(mode, "edge") == 0 ? "replicate" : mode), 0},
                     {"pad_value", pdm_tr_a_f64(t, value), 0},
                     {"data_format", pdm_tr_a_str(t, last ? "NDHWC" : "NCDHW"), 0}));
    pdm_tr_out(t, "Out", pdm_tr_squeeze(t, deep, &depth, 1));
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The last dim, which is one, becomes `depth`. */
void pdm_tr_h_one_hot(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *depth = pdm_tr_in_opt(t, "depth_tensor");
    int64_t dtype = pdm_tr_int_or(t, "dtype", 5);
    int rank = pdm_tr_need_rank(t, x);
    if (!depth)
        depth = pdm_tr_const_i(t, PDM_I32, pdm_tr_int_or(t, "depth", -1));
    if (t->failed || !x)
        return;
    if (pdm_tr_bool_or(t, "allow_out_of_range", false)) {
        pdm_tr_unsupported(t, NULL, "'one_hot' with allow_out_of_range");
        return;
    }
    if (rank > 0)
        x = pdm_tr_squeeze(t, x, (int64_t[]){rank - 1}, 1);
    pdm_ir_value *out = pdm_tr_binary(t, "pd_op.one_hot", x, depth);
    pdm_dtype type = pdm_dtype_from_legacy((int)dtype);
    pdm_tr_out(t, "Out", type == PDM_UNDEFINED ? out : pdm_tr_cast(t, out, type));
}

void pdm_tr_h_top_k(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *k = pdm_tr_in_opt(t, "K");
    if (!k)
        k = pdm_tr_const_i(t, PDM_I32, pdm_tr_int(t, "k"));
    pdm_ir_op *op = pdm_tr_emit(t, "pd_op.topk", PDM_TR_OPS(x, k), PDM_TR_NO_ATTRS);
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
    pdm_tr_out(t, "Indices", pdm_tr_result(op, 1));
}

void pdm_tr_h_fill_zeros_like(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    pdm_dtype dtype = pdm_tr_has_attr(t, "dtype") ? pdm_tr_dtype(t, "dtype") : PDM_UNDEFINED;
    if (dtype == PDM_UNDEFINED)
        dtype = pdm_tr_dtype_of(x);
    pdm_tr_out(t, "Out", pdm_tr_full_like(t, x, 0, dtype));
}

void pdm_tr_h_minus(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y");
    pdm_tr_out(t, "Out", pdm_tr_binary(t, "pd_op.subtract", x, y));
}

/* One answer for the whole tensor. */
static void whole(pdm_tr_op *t, const char *test, const char *reduction)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    pdm_ir_value *all = pdm_tr_reduce(t, reduction, pdm_tr_unary(t, test, x), NULL, 0, false);
    pdm_tr_out(t, "Out", pdm_tr_reshape(t, all, (int64_t[]){1}, 1));
}

void pdm_tr_h_isnan(pdm_tr_op *t)
{
    whole(t, "pd_op.isnan", "pd_op.any");
}

void pdm_tr_h_isinf(pdm_tr_op *t)
{
    whole(t, "pd_op.isinf", "pd_op.any");
}

void pdm_tr_h_isfinite(pdm_tr_op *t)
{
    whole(t, "pd_op.isfinite", "pd_op.all");
}

/* As unique without sorting, and how often each value occurs. */
void pdm_tr_h_unique_with_counts(pdm_tr_op *t)
{
    pdm_dtype dtype = pdm_tr_dtype(t, "dtype");
    pdm_tr_h_unique(t);
    pdm_ir_value *index = pdm_tr_bound(t, "Index"), *none = pdm_tr_const_i(t, PDM_I32, 0);
    pdm_ir_value *count =
        pdm_tr_emit1(t, "pd_op.bincount", PDM_TR_OPS(index, NULL, none), PDM_TR_NO_ATTRS);
    if (count)
        pdm_tr_retype(count, pdm_tr_tensor_type(t, PDM_I64, (int64_t[]){-1}, 1));
    pdm_tr_out(t, "Count", pdm_tr_cast(t, count, dtype));
}
