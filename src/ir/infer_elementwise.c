/* Elementwise ops and their kin: broadcasting, matrix products. */
#include "ir/infer_impl.h"

static void broadcast_to(pdm_ir_infer *in, pdm_dtype dtype)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), y = pdm_ir_in_meta(in, 1), out;
    out = x;
    pdm_ir_meta_broadcast(in, &x, &y, &out);
    out.dtype = dtype != PDM_UNDEFINED ? dtype : x.dtype != PDM_UNDEFINED ? x.dtype : y.dtype;
    pdm_ir_out_meta(in, 0, &out);
}

/* Kernels of these give float32 for integers. */
pdm_status pdm_ir_infer_float_of(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    if (pdm_dtype_is_int(x.dtype) || x.dtype == PDM_BOOL)
        x.dtype = PDM_F32;
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

pdm_status pdm_ir_infer_broadcast(pdm_ir_infer *in)
{
    broadcast_to(in, PDM_UNDEFINED);
    return PDM_OK;
}

pdm_status pdm_ir_infer_compare(pdm_ir_infer *in)
{
    broadcast_to(in, PDM_BOOL);
    return PDM_OK;
}

pdm_status pdm_ir_infer_atan2(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    broadcast_to(in, pdm_dtype_is_int(x.dtype) ? PDM_F64 : x.dtype);
    return PDM_OK;
}

pdm_status pdm_ir_infer_complex_of(pdm_ir_infer *in)
{
    broadcast_to(in, pdm_ir_dtype_complex(pdm_ir_in_meta(in, 0).dtype));
    return PDM_OK;
}

/* condition, x, y */
pdm_status pdm_ir_infer_where(pdm_ir_infer *in)
{
    pdm_ir_meta c = pdm_ir_in_meta(in, 0), x = pdm_ir_in_meta(in, 1), y = pdm_ir_in_meta(in, 2),
                out;
    out = x;
    pdm_ir_meta_broadcast(in, &x, &y, &out);
    pdm_ir_meta_broadcast(in, &out, &c, &out);
    out.dtype = x.dtype != PDM_UNDEFINED ? x.dtype : y.dtype;
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_broadcast3(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_meta(in, 0);
    for (size_t i = 1; i < 3; i++) {
        pdm_ir_meta y = pdm_ir_in_meta(in, i);
        pdm_ir_meta_broadcast(in, &out, &y, &out);
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* All elements of a vector against each other. */
pdm_status pdm_ir_infer_broadcast_tensors(pdm_ir_infer *in)
{
    pdm_ir_meta all = pdm_ir_in_element(in, 0, 0);
    for (size_t i = 1; i < pdm_ir_in_vector_size(in, 0); i++) {
        pdm_ir_meta e = pdm_ir_in_element(in, 0, i);
        pdm_ir_meta_broadcast(in, &all, &e, &all);
    }
    for (size_t i = 0; i < in->results[0].num_elements && in->results[0].elements; i++) {
        pdm_dtype dtype = pdm_ir_in_element(in, 0, i).dtype;
        in->results[0].elements[i] = all;
        in->results[0].elements[i].dtype = dtype;
    }
    return PDM_OK;
}

/* Sum of a vector of equal shapes; unknown dims are taken from elements that know them. */
pdm_status pdm_ir_infer_add_n(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_element(in, 0, 0);
    for (size_t i = 1; i < pdm_ir_in_vector_size(in, 0); i++) {
        pdm_ir_meta e = pdm_ir_in_element(in, 0, i);
        if (out.rank < 0 || e.rank != out.rank) {
            if (e.rank > 0 && out.rank < 0)
                out.rank = e.rank, out = pdm_ir_meta_make(out.dtype, e.rank, e.dims);
            continue;
        }
        for (int k = 0; k < out.rank; k++)
            out.dims[k] = pdm_ir_dim_same(in, out.dims[k], e.dims[k]);
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

static void matmul_dims(const pdm_ir_infer *in, pdm_ir_meta x, pdm_ir_meta y, bool trans_x,
                        bool trans_y, pdm_ir_meta *out)
{
    *out = pdm_ir_meta_make(x.dtype, 0, NULL);
    if (x.rank < 1 || y.rank < 1) {
        out->rank = x.rank == 0 || y.rank == 0 ? 0 : -1;
        return;
    }
    bool x_vector = x.rank == 1, y_vector = y.rank == 1;
    pdm_ir_meta bx = pdm_ir_meta_make(x.dtype, x_vector ? 0 : x.rank - 2, x.dims);
    pdm_ir_meta by = pdm_ir_meta_make(y.dtype, y_vector ? 0 : y.rank - 2, y.dims);
    int64_t m = x.dims[x_vector ? 0 : trans_x ? x.rank - 1 : x.rank - 2];
    int64_t n = y.dims[y_vector ? 0 : trans_y ? y.rank - 2 : y.rank - 1];
    (void)pdm_ir_dim_same(in, x.dims[x_vector || !trans_x ? x.rank - 1 : x.rank - 2],
                          y.dims[y_vector || trans_y ? y.rank - 1 : y.rank - 2]);
    pdm_ir_meta_broadcast(in, &bx, &by, out);
    if (!x_vector)
        (void)pdm_ir_meta_push(out, m);
    if (!y_vector)
        (void)pdm_ir_meta_push(out, n);
}

pdm_status pdm_ir_infer_matmul(pdm_ir_infer *in)
{
    pdm_ir_meta out;
    matmul_dims(in, pdm_ir_in_meta(in, 0), pdm_ir_in_meta(in, 1),
                pdm_ir_state_bool(in->state, "transpose_x", false) ||
                    pdm_ir_state_bool(in->state, "trans_x", false),
                pdm_ir_state_bool(in->state, "transpose_y", false) ||
                    pdm_ir_state_bool(in->state, "trans_y", false),
                &out);
    if (pdm_ir_state_str_is(in->state, "output_dtype", "float16"))
        out.dtype = PDM_F16;
    else if (pdm_ir_state_str_is(in->state, "output_dtype", "bfloat16"))
        out.dtype = PDM_BF16;
    else if (out.dtype == PDM_I8)
        out.dtype = PDM_I32;
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* Flattened to matrices before the product. */
pdm_status pdm_ir_infer_matmul_with_flatten(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), y = pdm_ir_in_meta(in, 1);
    int nx = (int)pdm_ir_attr_int(in, "x_num_col_dims", 1);
    int ny = (int)pdm_ir_attr_int(in, "y_num_col_dims", 1);
    pdm_ir_meta out = pdm_ir_meta_make(x.dtype, 0, NULL);
    if (out.dtype == PDM_I8)
        out.dtype = PDM_I32;
    pdm_ir_meta_push_dims(&out, &x, 0, nx);
    pdm_ir_meta_push_dims(&out, &y, ny, y.rank < 0 ? 0 : y.rank);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* input, w, bias: x flattened after in_num_col_dims, w a matrix. */
pdm_status pdm_ir_infer_fc(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), w = pdm_ir_in_meta(in, 1);
    pdm_ir_meta out = pdm_ir_meta_make(x.dtype, 0, NULL);
    int64_t columns = pdm_ir_meta_dim(&w, 1);
    if (pdm_ir_state_bool(in->state, "padding_weights", false) && columns >= 4)
        columns -= 4;
    pdm_ir_meta_push_dims(&out, &x, 0, (int)pdm_ir_attr_int(in, "in_num_col_dims", 1));
    (void)pdm_ir_meta_push(&out, columns);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* A chain of matrices; the first and last may be vectors. */
pdm_status pdm_ir_infer_multi_dot(pdm_ir_infer *in)
{
    size_t n = pdm_ir_in_vector_size(in, 0);
    pdm_ir_meta first = pdm_ir_in_element(in, 0, 0), last = pdm_ir_in_element(in, 0, n ? n - 1 : 0),
                out;
    out = pdm_ir_meta_make(first.dtype, first.rank < 0 || last.rank < 0 ? -1 : 0, NULL);
    if (first.rank == 2)
        (void)pdm_ir_meta_push(&out, first.dims[0]);
    if (last.rank == 2)
        (void)pdm_ir_meta_push(&out, last.dims[1]);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* Ranks aligned at the end, dims multiplied. */
pdm_status pdm_ir_infer_kron(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), y = pdm_ir_in_meta(in, 1);
    int rank = x.rank < 0 || y.rank < 0 ? -1 : x.rank > y.rank ? x.rank : y.rank;
    pdm_ir_meta out = pdm_ir_meta_make(x.dtype, rank, NULL);
    for (int i = 1; i <= rank; i++)
        out.dims[rank - i] = pdm_ir_dim_mul(in, i <= x.rank ? x.dims[x.rank - i] : 1,
                                            i <= y.rank ? y.dims[y.rank - i] : 1);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* x, y, scale-like operands; out has the dims of x and y broadcast, plus an intermediate one. */
pdm_status pdm_ir_infer_elemwise_activation(pdm_ir_infer *in)
{
    broadcast_to(in, PDM_UNDEFINED);
    if (in->num_results > 1) {
        pdm_ir_meta out = in->results[0];
        pdm_ir_out_meta(in, 1, &out);
    }
    return PDM_OK;
}

/* input [.., k], weight [k, n] or its transpose */
pdm_status pdm_ir_infer_linear_v2(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), w = pdm_ir_in_meta(in, 1),
                out = pdm_ir_meta_make(x.dtype, 0, NULL);
    pdm_ir_meta_push_dims(&out, &x, 0, x.rank - 1);
    (void)pdm_ir_meta_push(
        &out, pdm_ir_meta_dim(&w, pdm_ir_state_bool(in->state, "transpose_weight", false) ? 0 : 1));
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_cast(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    x.dtype = pdm_ir_attr_dtype_of(in, "dtype");
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}
