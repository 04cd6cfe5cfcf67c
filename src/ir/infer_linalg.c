/* Matrix decompositions, solvers, Fourier transforms. The last two axes are the matrix, the others
 * a batch. */
#include "ir/infer_impl.h"

/* The batch of x followed by rows, and columns unless that is absent (-2). */
static void out_matrix(pdm_ir_infer *in, size_t result, const pdm_ir_meta *x, pdm_dtype dtype,
                       int64_t rows, int64_t columns)
{
    pdm_ir_meta out = pdm_ir_meta_make(dtype, 0, NULL);
    pdm_ir_meta_push_dims(&out, x, 0, x->rank - 2);
    (void)pdm_ir_meta_push(&out, rows);
    if (columns != -2)
        (void)pdm_ir_meta_push(&out, columns);
    pdm_ir_out_meta(in, result, &out);
}

pdm_status pdm_ir_infer_svd(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t m = pdm_ir_meta_dim(&x, -2), n = pdm_ir_meta_dim(&x, -1), k = pdm_ir_dim_min(in, m, n);
    bool full = pdm_ir_state_bool(in->state, "full_matrices", false);
    out_matrix(in, 0, &x, x.dtype, m, full ? m : k);
    out_matrix(in, 1, &x, x.dtype, k, -2);
    out_matrix(in, 2, &x, x.dtype, full ? n : k, n);
    return PDM_OK;
}

pdm_status pdm_ir_infer_svdvals(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    out_matrix(in, 0, &x, x.dtype, pdm_ir_dim_min(in, pdm_ir_meta_dim(&x, -2), pdm_ir_meta_dim(&x, -1)), -2);
    return PDM_OK;
}

pdm_status pdm_ir_infer_qr(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t m = pdm_ir_meta_dim(&x, -2), n = pdm_ir_meta_dim(&x, -1);
    int64_t k = pdm_ir_state_str_is(in->state, "mode", "complete") ? m : pdm_ir_dim_min(in, m, n);
    if (pdm_ir_state_str_is(in->state, "mode", "r"))
        pdm_ir_out_vec(in, 0, x.dtype, 0);
    else
        out_matrix(in, 0, &x, x.dtype, m, k);
    out_matrix(in, 1, &x, x.dtype, k, n);
    return PDM_OK;
}

/* out, pivots, infos */
pdm_status pdm_ir_infer_lu(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), batch = pdm_ir_meta_make(PDM_I32, 0, NULL);
    pdm_ir_out_meta(in, 0, &x);
    out_matrix(in, 1, &x, PDM_I32, pdm_ir_dim_min(in, pdm_ir_meta_dim(&x, -2), pdm_ir_meta_dim(&x, -1)), -2);
    pdm_ir_meta_push_dims(&batch, &x, 0, x.rank - 2);
    pdm_ir_out_meta(in, 2, &batch);
    return PDM_OK;
}

/* permutation, lower, upper */
pdm_status pdm_ir_infer_lu_unpack(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t m = pdm_ir_meta_dim(&x, -2), n = pdm_ir_meta_dim(&x, -1), k = pdm_ir_dim_min(in, m, n);
    out_matrix(in, 0, &x, x.dtype, m, m);
    out_matrix(in, 1, &x, x.dtype, m, k);
    out_matrix(in, 2, &x, x.dtype, k, n);
    return PDM_OK;
}

/* x [m, n], y [m, k]: solution [n, k], residuals, rank, singular values */
pdm_status pdm_ir_infer_lstsq(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), y = pdm_ir_in_meta(in, 1);
    out_matrix(in, 0, &x, x.dtype, pdm_ir_meta_dim(&x, -1), pdm_ir_meta_dim(&y, -1));
    out_matrix(in, 1, &x, x.dtype, -1, -2);
    pdm_ir_out_rank(in, 2, PDM_I32, -1);
    out_matrix(in, 3, &x, x.dtype, -1, -2);
    return PDM_OK;
}

/* Batches broadcast; the right side may be a vector. `a` is the operand with the square matrix, `b`
 * the right side. */
static void solve(pdm_ir_infer *in, size_t a_index, size_t b_index)
{
    pdm_ir_meta a = pdm_ir_in_meta(in, a_index), b = pdm_ir_in_meta(in, b_index), out;
    if (a.rank < 2 || b.rank < 2) {
        out = b.rank == 1 ? b : pdm_ir_meta_make(b.dtype, -1, NULL);
    } else {
        pdm_ir_meta batch_a = pdm_ir_meta_make(a.dtype, a.rank - 2, a.dims);
        pdm_ir_meta batch_b = pdm_ir_meta_make(b.dtype, b.rank - 2, b.dims);
        out = batch_b;
        pdm_ir_meta_broadcast(in, &batch_a, &batch_b, &out);
        pdm_ir_meta_push_dims(&out, &b, b.rank - 2, b.rank);
    }
    out.dtype = pdm_ir_in_meta(in, 0).dtype;
    pdm_ir_out_meta(in, 0, &out);
}

pdm_status pdm_ir_infer_solve(pdm_ir_infer *in)
{
    solve(in, 0, 1);
    return PDM_OK;
}

pdm_status pdm_ir_infer_cholesky_solve(pdm_ir_infer *in)
{
    solve(in, 1, 0);
    return PDM_OK;
}

/* ---- Fourier transforms ---------------------------------------------------------------------- */

static int last_axis(const pdm_ir_infer *in, int rank)
{
    pdm_ir_ints axes;
    pdm_ir_attr_ints(in, "axes", &axes);
    return axes.n ? pdm_ir_axis(axes.v[axes.n - 1], rank) : -1;
}

pdm_status pdm_ir_infer_fft_r2c(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int axis = last_axis(in, x.rank);
    if (axis >= 0 && pdm_ir_state_bool(in->state, "onesided", true))
        x.dims[axis] = pdm_ir_dim_add(in, pdm_ir_dim_div(in, x.dims[axis], 2), 1);
    x.dtype = pdm_ir_dtype_complex(x.dtype);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

pdm_status pdm_ir_infer_fft_c2r(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int axis = last_axis(in, x.rank);
    int64_t size = pdm_ir_attr_int(in, "last_dim_size", 0);
    if (axis >= 0)
        x.dims[axis] = size > 0           ? size
                                     : pdm_ir_dim_mul(in, 2, pdm_ir_dim_shift(in, x.dims[axis], -1));
    x.dtype = pdm_ir_dtype_real(x.dtype);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

/* A signal [n, samples] to [n, frequencies, frames] */
pdm_status pdm_ir_infer_stft(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0),
                out = pdm_ir_meta_make(pdm_ir_dtype_complex(x.dtype), 0, NULL);
    int64_t n = pdm_ir_attr_int(in, "n_fft", -1), hop = pdm_ir_attr_int(in, "hop_length", -1);
    int64_t samples = pdm_ir_meta_dim(&x, -1);
    pdm_ir_meta_push_dims(&out, &x, 0, x.rank - 1);
    (void)pdm_ir_meta_push(&out, pdm_ir_state_bool(in->state, "onesided", true)
                                     ? pdm_ir_dim_add(in, pdm_ir_dim_div(in, n, 2), 1)
                                     : n);
    (void)pdm_ir_meta_push(&out, n < 1 ? -1 : pdm_ir_dim_windows(in, samples, n, hop));
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}
