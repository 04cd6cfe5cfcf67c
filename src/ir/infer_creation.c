/* Ops that make tensors from attributes or constants. */
#include <math.h>

#include "ir/infer_impl.h"

static void out_ints(pdm_ir_infer *in, pdm_dtype dtype, const pdm_ir_ints *shape)
{
    if (!shape->counted || shape->n > PDM_MAX_RANK)
        pdm_ir_out_rank(in, 0, dtype, -1);
    else
        pdm_ir_out_dims(in, 0, dtype, (int)shape->n, shape->v);
}

static pdm_dtype given_or(const pdm_ir_infer *in, pdm_dtype fallback)
{
    pdm_dtype dtype = pdm_ir_attr_dtype_of(in, "dtype");
    return dtype == PDM_UNDEFINED ? fallback : dtype;
}

/* Attributes shape and dtype. */
pdm_status pdm_ir_infer_shape_attr(pdm_ir_infer *in)
{
    pdm_ir_ints shape;
    pdm_ir_attr_ints(in, "shape", &shape);
    out_ints(in, given_or(in, PDM_F32), &shape);
    return PDM_OK;
}

/* The first operand is the shape. */
pdm_status pdm_ir_infer_shape_operand(pdm_ir_infer *in)
{
    pdm_ir_ints shape;
    pdm_ir_in_ints(in, 0, &shape);
    out_ints(in, given_or(in, PDM_F32), &shape);
    return PDM_OK;
}

/* value, shape */
pdm_status pdm_ir_infer_full_with_tensor(pdm_ir_infer *in)
{
    pdm_ir_ints shape;
    pdm_ir_in_ints(in, 1, &shape);
    out_ints(in, given_or(in, pdm_ir_in_meta(in, 0).dtype), &shape);
    return PDM_OK;
}

pdm_status pdm_ir_infer_out_shape_attr(pdm_ir_infer *in)
{
    pdm_ir_ints shape;
    pdm_ir_attr_ints(in, "out_shape", &shape);
    out_ints(in, given_or(in, PDM_F32), &shape);
    return PDM_OK;
}

/* Dims of operand 0, dtype of the attribute if that is given. */
pdm_status pdm_ir_infer_like(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    x.dtype = given_or(in, x.dtype);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

/* shape with the batch of operand 0 */
pdm_status pdm_ir_infer_batch_size_like(pdm_ir_infer *in)
{
    pdm_ir_ints shape;
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_attr_ints(in, "shape", &shape);
    int64_t to = pdm_ir_attr_int(in, "output_dim_idx", 0);
    const int from = (int)pdm_ir_attr_int(in, "input_dim_idx", 0);
    if (to >= 0 && to < (int64_t)shape.n)
        shape.v[to] = pdm_ir_meta_dim(&x, from);
    /* With LoD its sequences count, and whether there is any shows when it runs. */
    if (in->shapes && from == 0 && to >= 0 && to < (int64_t)shape.n)
        shape.v[to] = -1;
    out_ints(in, given_or(in, PDM_F32), &shape);
    return PDM_OK;
}

pdm_status pdm_ir_infer_full_int_array(pdm_ir_infer *in)
{
    pdm_ir_attr value = pdm_ir_state_attr(in->state, "value");
    bool list = value && (value->kind == PDM_IR_ATTR_ARRAY || value->kind == PDM_IR_ATTR_INT_ARRAY);
    pdm_ir_out_vec(in, 0, given_or(in, PDM_I64), list ? (int64_t)value->count : -1);
    return PDM_OK;
}

/* start, end, step: the length when all are constant integers. */
pdm_status pdm_ir_infer_arange(pdm_ir_infer *in)
{
    int64_t start, end, step, length = -1;
    pdm_dtype dtype = given_or(in, pdm_ir_in_meta(in, 0).dtype);
    if (pdm_dtype_is_int(dtype) && pdm_ir_in_int(in, 0, &start) && pdm_ir_in_int(in, 1, &end) &&
        pdm_ir_in_int(in, 2, &step) && step != 0) {
        double n = ceil(((double)end - (double)start) / (double)step);
        length = n > 0 && n < 9e15 ? (int64_t)n : 0;
    } else if (pdm_dtype_is_int(dtype)) {
        pdm_ir_ints from, to;
        pdm_ir_in_ints(in, 0, &from);
        pdm_ir_in_ints(in, 1, &to);
        if (pdm_ir_in_int(in, 2, &step))
            length = pdm_ir_dim_range(in, &from, &to, step);
    }
    pdm_ir_out_vec(in, 0, dtype, length);
    return PDM_OK;
}

/* start, stop, number[, base] */
pdm_status pdm_ir_infer_linspace(pdm_ir_infer *in)
{
    pdm_ir_out_vec(in, 0, given_or(in, pdm_ir_in_meta(in, 0).dtype), pdm_ir_in_dim(in, 2));
    return PDM_OK;
}

pdm_status pdm_ir_infer_eye(pdm_ir_infer *in)
{
    int64_t dims[2] = {pdm_ir_in_dim(in, 0), pdm_ir_in_dim(in, 1)}, columns;
    if (pdm_ir_in_int(in, 1, &columns) && columns < 0)
        dims[1] = dims[0];
    pdm_ir_out_dims(in, 0, given_or(in, PDM_F32), 2, dims);
    return PDM_OK;
}

/* How many entries of a rows * columns matrix lie on or below the diagonal `offset`. */
static int64_t lower_count(const pdm_ir_infer *in, int64_t rows, int64_t columns, int64_t offset)
{
    if (rows < 0 || columns < 0 || rows > 1 << 20)
        return -1;
    int64_t n = 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t c = r + offset + 1;
        n = pdm_ir_dim_add(in, n, c < 0 ? 0 : c > columns ? columns : c);
    }
    return n;
}

pdm_status pdm_ir_infer_tril_indices(pdm_ir_infer *in)
{
    int64_t n = lower_count(in, pdm_ir_attr_int(in, "rows", -1), pdm_ir_attr_int(in, "cols", -1),
                            pdm_ir_attr_int(in, "offset", 0));
    pdm_ir_out_dims(in, 0, given_or(in, PDM_I64), 2, (int64_t[]){2, n});
    return PDM_OK;
}

pdm_status pdm_ir_infer_triu_indices(pdm_ir_infer *in)
{
    int64_t rows = pdm_ir_attr_int(in, "row", -1), columns = pdm_ir_attr_int(in, "col", -1);
    int64_t below = lower_count(in, rows, columns, pdm_ir_attr_int(in, "offset", 0) - 1);
    int64_t all = pdm_ir_dim_mul(in, rows, columns);
    pdm_ir_out_dims(in, 0, given_or(in, PDM_I64), 2,
                    (int64_t[]){2, below < 0 || all < 0 ? -1 : all - below});
    return PDM_OK;
}

/* x, num_classes: the classes as a last axis */
pdm_status pdm_ir_infer_one_hot(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_meta(in, 0);
    out.dtype = PDM_F32;
    (void)pdm_ir_meta_push(&out, pdm_ir_in_dim(in, 1));
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* x, num_samples */
pdm_status pdm_ir_infer_multinomial(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), out = pdm_ir_meta_make(PDM_I64, 0, NULL);
    pdm_ir_meta_push_dims(&out, &x, 0, x.rank - 1);
    (void)pdm_ir_meta_push(&out, pdm_ir_in_dim(in, 1));
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* lengths, max_len: the lengths' dims and a last axis of max_len, which is the longest length when
 * negative */
pdm_status pdm_ir_infer_sequence_mask(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_meta(in, 0);
    pdm_dtype dtype = pdm_ir_attr_dtype_of(in, "out_dtype");
    out.dtype = dtype == PDM_UNDEFINED ? PDM_I64 : dtype;
    (void)pdm_ir_meta_push(&out, pdm_ir_in_dim(in, 1));
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

static void shape_of(pdm_ir_infer *in, pdm_dtype dtype)
{
    pdm_ir_out_vec(in, 0, dtype, pdm_ir_in_meta(in, 0).rank);
}

pdm_status pdm_ir_infer_shape32(pdm_ir_infer *in)
{
    shape_of(in, PDM_I32);
    return PDM_OK;
}

pdm_status pdm_ir_infer_shape64(pdm_ir_infer *in)
{
    shape_of(in, PDM_I64);
    return PDM_OK;
}

/* Places of what is not zero: [how many, rank] */
pdm_status pdm_ir_infer_nonzero(pdm_ir_infer *in)
{
    pdm_ir_out_dims(
        in, 0, PDM_I64, 2,
        (int64_t[]){pdm_ir_attr_int(in, "total_true_num", -1), pdm_ir_in_meta(in, 0).rank});
    return PDM_OK;
}
