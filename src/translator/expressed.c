/* Helpers of the handlers that express legacy ops by others. */
#include "translator/expressed.h"

#include <string.h>

/* ---- dims ------------------------------------------------------------------------------------ */

int64_t pdm_tr_known_dim(const pdm_ir_value *value, int axis)
{
    pdm_ir_meta meta;
    pdm_tr_meta(value, &meta);
    if (axis < 0)
        axis += meta.rank;
    bool known = axis >= 0 && axis < meta.rank && meta.dims[axis] <= PDM_TR_MAX_DIM;
    return known ? meta.dims[axis] : -1;
}

int64_t pdm_tr_known_product(const pdm_ir_value *value, int from, int to)
{
    int64_t product = 1;
    for (int i = from; i < to; i++) {
        int64_t dim = pdm_tr_known_dim(value, i);
        if (dim < 0 || __builtin_mul_overflow(product, dim, &product))
            return -1;
    }
    return product;
}

pdm_ir_value *pdm_tr_dim_value(pdm_tr_op *t, pdm_ir_value *value, int axis)
{
    int64_t known = pdm_tr_known_dim(value, axis);
    int rank = pdm_tr_need_rank(t, value);
    if (known >= 0)
        return PDM_TR_INTS(t, known);
    if (axis < 0)
        axis += rank;
    return pdm_tr_slice(t, pdm_tr_shape64(t, value), 0, axis, axis + 1);
}

static int64_t dim_number(const pdm_tr_dim *dim)
{
    return dim->of ? pdm_tr_known_dim(dim->of, dim->axis) : dim->number;
}

/* The numbers, -1 where a dim is known only at run time; how many those are. */
static size_t dim_numbers(const pdm_tr_dim *dims, size_t rank, int64_t *out)
{
    size_t unknown = 0;
    for (size_t i = 0; i < rank; i++) {
        out[i] = dim_number(&dims[i]);
        unknown += out[i] < 0;
    }
    return unknown;
}

pdm_ir_value *pdm_tr_dims(pdm_tr_op *t, const pdm_tr_dim *dims, size_t rank)
{
    int64_t numbers[PDM_MAX_RANK];
    pdm_ir_value *parts[PDM_MAX_RANK];
    size_t n = 0;
    if (dim_numbers(dims, rank, numbers) == 0)
        return pdm_tr_const_ints(t, numbers, rank);
    for (size_t i = 0; i < rank; n++) {
        size_t from = i;
        while (i < rank && numbers[i] >= 0)
            i++;
        if (i > from) {
            parts[n] = pdm_tr_const_ints(t, numbers + from, i - from);
            continue;
        }
        /* Neighbouring dims of one value are one slice of its shape. */
        pdm_ir_value *of = dims[i].of;
        int first = dims[i].axis;
        while (i < rank && numbers[i] < 0 && dims[i].of == of &&
               dims[i].axis == first + (int)(i - from))
            i++;
        if (first < 0)
            first += pdm_tr_need_rank(t, of);
        parts[n] = pdm_tr_slice(t, pdm_tr_shape64(t, of), 0, first, first + (int)(i - from));
    }
    return n == 1 ? parts[0] : pdm_tr_concat(t, parts, n, 0);
}

static void retype_dims(pdm_tr_op *t, pdm_ir_value *value, const int64_t *numbers, size_t rank)
{
    if (value)
        pdm_tr_retype(value, pdm_tr_tensor_type(t, pdm_tr_dtype_of(value), numbers, rank));
}

pdm_ir_value *pdm_tr_reshape_dims(pdm_tr_op *t, pdm_ir_value *x, const pdm_tr_dim *dims,
                                  size_t rank)
{
    int64_t numbers[PDM_MAX_RANK];
    size_t unknown = dim_numbers(dims, rank, numbers);
    pdm_ir_value *out;
    /* One dim is left for the op to find out; a zero there would mean "copy". */
    bool zero = false;
    for (size_t i = 0; i < rank; i++)
        zero |= numbers[i] == 0;
    if (unknown <= 1 && !zero)
        out = pdm_tr_reshape(t, x, numbers, rank);
    else
        out = pdm_tr_binary(t, "pd_op.reshape", x, pdm_tr_dims(t, dims, rank));
    retype_dims(t, out, numbers, rank);
    return out;
}

pdm_ir_value *pdm_tr_expand_dims(pdm_tr_op *t, pdm_ir_value *x, const pdm_tr_dim *dims, size_t rank)
{
    int64_t numbers[PDM_MAX_RANK];
    dim_numbers(dims, rank, numbers);
    pdm_ir_value *out = pdm_tr_binary(t, "pd_op.expand", x, pdm_tr_dims(t, dims, rank));
    retype_dims(t, out, numbers, rank);
    return out;
}

pdm_ir_value *pdm_tr_fill_dims(pdm_tr_op *t, const pdm_tr_dim *dims, size_t rank, pdm_dtype dtype,
                               double value)
{
    int64_t numbers[PDM_MAX_RANK];
    if (dim_numbers(dims, rank, numbers) == 0)
        return pdm_tr_fill(t, numbers, rank, dtype, value);
    pdm_ir_value *shape = pdm_tr_dims(t, dims, rank), *v = pdm_tr_const_f(t, dtype, value);
    pdm_ir_value *out = pdm_tr_emit1(t, "pd_op.full_with_tensor", PDM_TR_OPS(v, shape),
                                     PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, dtype), 0}));
    retype_dims(t, out, numbers, rank);
    return out;
}

void pdm_tr_out_as_is(pdm_tr_op *t, const char *slot, pdm_ir_value *value)
{
    pdm_ir_type type = value ? value->type : NULL;
    pdm_tr_out(t, slot, value);
    pdm_tr_retype(value, type);
}

/* ---- constants ------------------------------------------------------------------------------- */

pdm_ir_value *pdm_tr_like_const(pdm_tr_op *t, pdm_ir_value *x, double value)
{
    return x ? pdm_tr_fill(t, (int64_t[]){1}, 1, pdm_tr_dtype_of(x), value) : NULL;
}

static pdm_ir_value *table(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                           pdm_ir_attr values)
{
    pdm_ir_type type = pdm_tr_tensor_type(t, dtype, dims, rank);
    if (!type || !values)
        return NULL;
    pdm_ir_op *op =
        pdm_tr_emit_typed(t, "pd_op.assign_value", PDM_TR_NO_OPS,
                          PDM_TR_ATTRS({"shape", pdm_tr_a_i32s(t, dims, rank), 0},
                                       {"dtype", pdm_tr_a_dtype(t, dtype), 0},
                                       {"values", values, 0}, {"place", pdm_tr_a_place(t, 0), 0}),
                          &type, 1);
    return pdm_tr_result(op, 0);
}

pdm_ir_value *pdm_tr_table_f(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                             const double *values, size_t n)
{
    if (dtype != PDM_F32 && dtype != PDM_F64)
        return pdm_tr_cast(t, pdm_tr_table_f(t, dims, rank, PDM_F32, values, n), dtype);
    return table(t, dims, rank, dtype,
                 dtype == PDM_F64 ? pdm_tr_a_f64s(t, values, n) : pdm_tr_a_f32s(t, values, n));
}

pdm_ir_value *pdm_tr_table_i(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                             const int64_t *values, size_t n)
{
    return table(t, dims, rank, dtype,
                 dtype == PDM_I64 ? pdm_tr_a_i64s(t, values, n) : pdm_tr_a_i32s(t, values, n));
}

pdm_ir_value *pdm_tr_iota(pdm_tr_op *t, pdm_ir_value *length, pdm_dtype dtype)
{
    pdm_ir_value *zero = pdm_tr_const_i(t, dtype, 0), *one = pdm_tr_const_i(t, dtype, 1);
    return pdm_tr_emit1(
        t, "pd_op.arange", PDM_TR_OPS(zero, length, one),
        PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, dtype), 0}, {"place", pdm_tr_a_place(t, 0), 0}));
}

/* ---- frequent ops ---------------------------------------------------------------------------- */

pdm_ir_value *pdm_tr_where(pdm_tr_op *t, pdm_ir_value *condition, pdm_ir_value *x, pdm_ir_value *y)
{
    return pdm_tr_emit1(t, "pd_op.where", PDM_TR_OPS(condition, x, y), PDM_TR_NO_ATTRS);
}

pdm_ir_value *pdm_tr_clip(pdm_tr_op *t, pdm_ir_value *x, double low, double high)
{
    pdm_dtype dtype = pdm_tr_dtype_of(x) == PDM_F64 ? PDM_F64 : PDM_F32;
    pdm_ir_value *min = pdm_tr_const_f(t, dtype, low), *max = pdm_tr_const_f(t, dtype, high);
    return pdm_tr_emit1(t, "pd_op.clip", PDM_TR_OPS(x, min, max), PDM_TR_NO_ATTRS);
}

pdm_ir_value *pdm_tr_one_minus(pdm_tr_op *t, pdm_ir_value *x)
{
    return pdm_tr_scale(t, x, -1, 1);
}

pdm_ir_value *pdm_tr_full_like(pdm_tr_op *t, pdm_ir_value *x, double value, pdm_dtype dtype)
{
    pdm_ir_value *v = pdm_tr_const_f(t, PDM_F32, value);
    return pdm_tr_emit1(t, "pd_op.full_like", PDM_TR_OPS(x, v),
                        PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, dtype), 0}));
}

pdm_ir_value *pdm_tr_slice_by(pdm_tr_op *t, pdm_ir_value *x, int64_t axis, pdm_ir_value *start,
                              pdm_ir_value *end)
{
    return pdm_tr_emit1(t, "pd_op.slice", PDM_TR_OPS(x, start, end),
                        PDM_TR_ATTRS({"axes", pdm_tr_a_i64s(t, &axis, 1), 0},
                                     {"infer_flags", pdm_tr_a_i64s(t, (int64_t[]){-1}, 1), 0},
                                     {"decrease_axis", pdm_tr_a_i64s(t, NULL, 0), 0}));
}

pdm_ir_value *pdm_tr_take_along(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *index, int64_t axis)
{
    return pdm_tr_emit1(t, "pd_op.take_along_axis", PDM_TR_OPS(x, index),
                        PDM_TR_ATTRS({"axis", pdm_tr_a_i32(t, axis), 0}));
}

pdm_ir_value *pdm_tr_matmul(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *y, bool transpose_x,
                            bool transpose_y)
{
    return pdm_tr_emit1(t, "pd_op.matmul", PDM_TR_OPS(x, y),
                        PDM_TR_ATTRS({"transpose_x", pdm_tr_a_bool(t, transpose_x), 0},
                                     {"transpose_y", pdm_tr_a_bool(t, transpose_y), 0}));
}

/* Infinities become plus or minus 1e20. */
pdm_ir_value *pdm_tr_finite_log(pdm_tr_op *t, pdm_ir_value *x)
{
    return pdm_tr_clip(t, pdm_tr_unary(t, "pd_op.log", x), -1e20, 1e20);
}

/* ---- activations ----------------------------------------------------------------------------- */

pdm_ir_value *pdm_tr_activation(pdm_tr_op *t, pdm_ir_value *x, const char *name, double alpha,
                                double beta)
{
    static const char *const plain[] = {"relu", "sigmoid",  "tanh",      "relu6",      "abs",
                                        "sqrt", "exp",      "log",       "gelu",       "square",
                                        "silu", "softsign", "hardswish", "tanh_shrink"};
    char op[64] = "pd_op.";
    if (t->failed || !name)
        return NULL;
    if (name[0] == '\0' || strcmp(name, "identity") == 0 || strcmp(name, "linear") == 0)
        return x;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strcmp(name, plain[i]) == 0) {
            strcat(op, plain[i]);
            return pdm_tr_unary(t, op, x);
        }
    }
    if (strcmp(name, "hard_swish") == 0)
        return pdm_tr_unary(t, "pd_op.hardswish", x);
    if (strcmp(name, "gelu_tanh") == 0 || strcmp(name, "gelu_erf") == 0)
        return pdm_tr_emit1(
            t, "pd_op.gelu", PDM_TR_OPS(x),
            PDM_TR_ATTRS({"approximate", pdm_tr_a_bool(t, strcmp(name, "gelu_tanh") == 0), 0}));
    if (strcmp(name, "leaky_relu") == 0)
        return pdm_tr_emit1(t, "pd_op.leaky_relu", PDM_TR_OPS(x),
                            PDM_TR_ATTRS({"negative_slope", pdm_tr_a_f64(t, alpha), 0}));
    if (strcmp(name, "mish") == 0)
        return pdm_tr_emit1(t, "pd_op.mish", PDM_TR_OPS(x),
                            PDM_TR_ATTRS({"lambda", pdm_tr_a_f32(t, 20), 0}));
    if (strcmp(name, "swish") == 0) {
        pdm_ir_value *gate = pdm_tr_unary(t, "pd_op.sigmoid", pdm_tr_scale(t, x, alpha, 0));
        return pdm_tr_binary(t, "pd_op.multiply", x, gate);
    }
    if (strcmp(name, "clip") == 0)
        return pdm_tr_clip(t, x, alpha, beta);
    pdm_tr_unsupported(t, NULL, "'%s' with the activation '%s'", t->op->type, name);
    return NULL;
}
