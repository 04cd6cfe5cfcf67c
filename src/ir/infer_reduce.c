/* Reductions, searches along an axis, scans. */
#include "ir/infer_impl.h"

/* The dims of x with `axes` gone, or 1 when keep. An empty list, or all, stands for every axis. */
static pdm_ir_meta reduced(const pdm_ir_meta *x, const pdm_ir_ints *axes, bool all, bool keep)
{
    bool gone[PDM_MAX_RANK] = {false};
    pdm_ir_meta out = pdm_ir_meta_make(x->dtype, 0, NULL);
    if (x->rank < 0) {
        out.rank = (all || (axes->counted && axes->n == 0)) && !keep ? 0 : -1;
        return out;
    }
    if (!all && !axes->constant) {
        int rank = keep ? x->rank : axes->counted ? x->rank - (int)axes->n : -1;
        return pdm_ir_meta_make(x->dtype, rank < 0 ? -1 : rank, NULL);
    }
    for (size_t i = 0; i < axes->n; i++) {
        int a = pdm_ir_axis(axes->v[i], x->rank);
        if (a >= 0)
            gone[a] = true;
    }
    for (int i = 0; i < x->rank; i++) {
        if (!all && axes->n != 0 && !gone[i])
            (void)pdm_ir_meta_push(&out, x->dims[i]);
        else if (keep)
            (void)pdm_ir_meta_push(&out, 1);
    }
    return out;
}

/* Axes are operand 1 if the row has one there, else the attribute `axis`. */
static pdm_ir_meta reduce(const pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints axes;
    if (in->state->info->desc->num_operands > 1)
        pdm_ir_in_ints(in, 1, &axes);
    else
        pdm_ir_attr_ints(in, "axis", &axes);
    bool keep = pdm_ir_state_bool(in->state, "keepdim", false) ||
                pdm_ir_state_bool(in->state, "keep_dim", false);
    return reduced(&x, &axes, pdm_ir_state_bool(in->state, "reduce_all", false), keep);
}

pdm_status pdm_ir_infer_reduce(pdm_ir_infer *in)
{
    pdm_ir_meta out = reduce(in);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_reduce_bool(pdm_ir_infer *in)
{
    pdm_ir_meta out = reduce(in);
    out.dtype = PDM_BOOL;
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* Sums of booleans and integers are int64 unless the attribute says otherwise. */
pdm_status pdm_ir_infer_sum(pdm_ir_infer *in)
{
    pdm_ir_meta out = reduce(in);
    pdm_dtype given = pdm_ir_attr_dtype_of(in, "dtype");
    if (given != PDM_UNDEFINED)
        out.dtype = given;
    else if (out.dtype == PDM_BOOL || pdm_dtype_is_int(out.dtype))
        out.dtype = PDM_I64;
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* The middle value and its place, or both places when they are averaged. */
pdm_status pdm_ir_infer_median(pdm_ir_infer *in)
{
    pdm_ir_meta out = reduce(in);
    pdm_ir_out_meta(in, 0, &out);
    out.dtype = PDM_I64;
    if (!pdm_ir_state_str_is(in->state, "mode", "min"))
        (void)pdm_ir_meta_push(&out, 2);
    pdm_ir_out_meta(in, 1, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_argmax(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints axes;
    pdm_ir_in_ints(in, 1, &axes);
    pdm_dtype dtype = pdm_ir_attr_dtype_of(in, "dtype");
    if (!axes.counted || axes.n != 1)
        axes.counted = true, axes.n = 1, axes.constant = false;
    pdm_ir_meta out = reduced(&x, &axes, pdm_ir_state_bool(in->state, "flatten", false),
                              pdm_ir_state_bool(in->state, "keepdims", false));
    out.dtype = dtype == PDM_UNDEFINED ? PDM_I64 : dtype;
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* One axis goes: values and int64 places. */
static void values_and_places(pdm_ir_infer *in, const char *axis_name, bool all)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints axes = {.counted = true, .constant = true, .n = 1};
    axes.known[0] = true;
    axes.v[0] = pdm_ir_attr_int(in, axis_name, -1);
    pdm_ir_meta out = reduced(&x, &axes, all, pdm_ir_state_bool(in->state, "keepdim", false));
    pdm_ir_out_meta(in, 0, &out);
    out.dtype = PDM_I64;
    pdm_ir_out_meta(in, 1, &out);
}

pdm_status pdm_ir_infer_kthvalue(pdm_ir_infer *in)
{
    values_and_places(in, "axis", false);
    return PDM_OK;
}

pdm_status pdm_ir_infer_max_with_index(pdm_ir_infer *in)
{
    values_and_places(in, "dim", pdm_ir_state_bool(in->state, "flatten", false));
    return PDM_OK;
}

pdm_status pdm_ir_infer_topk(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int axis = pdm_ir_axis(pdm_ir_attr_int(in, "axis", -1), x.rank);
    if (axis >= 0)
        x.dims[axis] = pdm_ir_in_dim(in, 1);
    pdm_ir_out_meta(in, 0, &x);
    x.dtype = PDM_I64;
    pdm_ir_out_meta(in, 1, &x);
    return PDM_OK;
}

pdm_status pdm_ir_infer_p_norm(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints axes = {.counted = true, .constant = true, .n = 1};
    axes.known[0] = true;
    axes.v[0] = pdm_ir_attr_int(in, "axis", -1);
    pdm_ir_meta out = reduced(&x, &axes, pdm_ir_state_bool(in->state, "asvector", false),
                              pdm_ir_state_bool(in->state, "keepdim", false));
    out.dtype = pdm_ir_dtype_real(out.dtype);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* x normalised along an axis, and the norm with that axis 1. */
pdm_status pdm_ir_infer_norm(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int axis = pdm_ir_axis(pdm_ir_attr_int(in, "axis", -1), x.rank);
    pdm_ir_out_meta(in, 0, &x);
    if (axis >= 0)
        x.dims[axis] = 1;
    pdm_ir_out_meta(in, 1, &x);
    return PDM_OK;
}

/* cumsum, logcumsumexp */
pdm_status pdm_ir_infer_scan(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    if (pdm_ir_state_bool(in->state, "flatten", false))
        pdm_ir_out_vec(in, 0, x.dtype, pdm_ir_meta_product(in, &x, 0, x.rank));
    else
        pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

pdm_status pdm_ir_infer_cummax(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_out_meta(in, 0, &x);
    pdm_dtype dtype = pdm_ir_attr_dtype_of(in, "dtype");
    x.dtype = dtype == PDM_UNDEFINED ? PDM_I64 : dtype;
    pdm_ir_out_meta(in, 1, &x);
    return PDM_OK;
}

/* x summed down to the dims of operand 1. */
pdm_status pdm_ir_infer_reduce_as(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_meta(in, 1);
    out.dtype = pdm_ir_in_meta(in, 0).dtype;
    if (out.dtype == PDM_BOOL || pdm_dtype_is_int(out.dtype))
        out.dtype = PDM_I64;
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* Two axes go (trace), or go and come back as one at the end (diagonal). */
static void two_axes(pdm_ir_infer *in, bool diagonal)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0),
                out = pdm_ir_meta_make(x.dtype, x.rank < 2 ? -1 : 0, NULL);
    int a = pdm_ir_axis(pdm_ir_attr_int(in, "axis1", 0), x.rank);
    int b = pdm_ir_axis(pdm_ir_attr_int(in, "axis2", 1), x.rank);
    int64_t offset = pdm_ir_attr_int(in, "offset", 0);
    if (a < 0 || b < 0 || out.rank < 0) {
        pdm_ir_out_rank(in, 0, x.dtype, -1);
        return;
    }
    for (int i = 0; i < x.rank; i++)
        if (i != a && i != b)
            (void)pdm_ir_meta_push(&out, x.dims[i]);
    if (diagonal) {
        int64_t rows = x.dims[a], columns = x.dims[b];
        if (offset > 0)
            columns = pdm_ir_dim_rest(in, columns, offset);
        else
            rows = pdm_ir_dim_rest(in, rows, -offset);
        (void)pdm_ir_meta_push(&out, pdm_ir_dim_min(in, rows, columns));
    }
    pdm_ir_out_meta(in, 0, &out);
}

pdm_status pdm_ir_infer_trace(pdm_ir_infer *in)
{
    two_axes(in, false);
    return PDM_OK;
}

pdm_status pdm_ir_infer_diagonal(pdm_ir_infer *in)
{
    two_axes(in, true);
    return PDM_OK;
}
