/* Legacy arithmetic, products, reductions and activations. */
#include <math.h>

#include "exec/kernels/legacy_sub.h"

/* ---- binary ops with an axis ----------------------------------------------------------------- */

static const char *binary_kernel(pdm_k *k)
{
    static const struct {
        const char *legacy, *kernel;
    } table[] = {
        {"legacy.elementwise_add", "pd_op.add"},
        {"legacy.elementwise_sub", "pd_op.subtract"},
        {"legacy.elementwise_mul", "pd_op.multiply"},
        {"legacy.elementwise_div", "pd_op.divide"},
        {"legacy.elementwise_max", "pd_op.maximum"},
        {"legacy.elementwise_min", "pd_op.minimum"},
        {"legacy.elementwise_mod", "pd_op.remainder"},
        {"legacy.elementwise_floordiv", "pd_op.floor_divide"},
        {"legacy.elementwise_pow", "pd_op.elementwise_pow"},
        {"legacy.elementwise_fmax", "pd_op.fmax"},
        {"legacy.elementwise_fmin", "pd_op.fmin"},
        {"legacy.elementwise_heaviside", "pd_op.heaviside"},
        {"legacy.grad_add", "pd_op.add"},
        {"legacy.equal", "pd_op.equal"},
        {"legacy.not_equal", "pd_op.not_equal"},
        {"legacy.less_than", "pd_op.less_than"},
        {"legacy.less_equal", "pd_op.less_equal"},
        {"legacy.greater_than", "pd_op.greater_than"},
        {"legacy.greater_equal", "pd_op.greater_equal"},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!strcmp(k->op, table[i].legacy))
            return table[i].kernel;
    }
    pdm_k_fail(k, "'%s' is no op of two operands", k->op);
    return "";
}

/* t with its dims at `axis` of `rank` dims, so that broadcasting from the right does the rest. */
static pdm_tensor place_at(pdm_k *k, const pdm_tensor *t, int64_t axis, int rank)
{
    int64_t dims[PDM_MAX_RANK];
    int own = t->rank;

    while (own > 0 && axis + own > rank && t->dims[own - 1] == 1)
        own--;
    if (axis < 0 || axis + own > rank) {
        pdm_k_fail(k, "axis %lld does not fit operands with %d and %d dimensions", (long long)axis,
                   rank, t->rank);
        return *t;
    }
    for (int i = 0; i < rank; i++)
        dims[i] = i >= axis && i < axis + own ? t->dims[i - axis] : 1;
    return pdm_sub_view(k, t, rank, dims);
}

pdm_status pdm_kernel_old_binary(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *y = pdm_sub_slot(k, "Y");
    const int64_t axis = pdm_k_int_or(k, "axis", -1);
    pdm_sub s;

    if (!PDM_K_OK(k))
        return k->status;
    pdm_tensor a = *x, b = *y;
    if (axis != -1 && x->rank >= y->rank)
        b = place_at(k, y, axis, x->rank);
    else if (axis != -1)
        a = place_at(k, x, axis, y->rank);
    pdm_sub_begin(&s, k, binary_kernel(k));
    pdm_sub_in(&s, &a);
    pdm_sub_in(&s, &b);
    pdm_sub_int(&s, "axis", -1); /* done */
    pdm_sub_result(&s, pdm_k_out_slot_value(k, "Out"));
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    return k->status;
}

/* ---- products -------------------------------------------------------------------------------- */

static pdm_tensor as_matrix(pdm_k *k, const pdm_tensor *t, int64_t split, const char *name)
{
    if (split < 0 || split > t->rank) {
        pdm_k_fail(k, "%s %lld does not fit %d dimensions", name, (long long)split, t->rank);
        return *t;
    }
    const int64_t dims[2] = {pdm_k_product(t->dims, 0, (int)split),
                             pdm_k_product(t->dims, (int)split, t->rank)};
    return pdm_sub_view(k, t, 2, dims);
}

pdm_status pdm_kernel_old_mul(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *y = pdm_sub_slot(k, "Y");
    const int64_t split_x = pdm_k_int_or(k, "x_num_col_dims", 1);
    const int64_t split_y = pdm_k_int_or(k, "y_num_col_dims", 1);
    int64_t dims[PDM_MAX_RANK];
    int rank = 0;
    pdm_sub s;

    if (!PDM_K_OK(k))
        return k->status;
    const pdm_tensor a = as_matrix(k, x, split_x, "x_num_col_dims");
    const pdm_tensor b = as_matrix(k, y, split_y, "y_num_col_dims");
    if (!PDM_K_OK(k))
        return k->status;
    if (split_x + y->rank - split_y > PDM_MAX_RANK)
        return pdm_k_fail(k, "the result would have too many dimensions");
    for (int i = 0; i < split_x; i++)
        dims[rank++] = x->dims[i];
    for (int i = (int)split_y; i < y->rank; i++)
        dims[rank++] = y->dims[i];
    pdm_sub_begin(&s, k, "pd_op.matmul");
    pdm_sub_in(&s, &a);
    pdm_sub_in(&s, &b);
    pdm_value *out = pdm_k_out_slot_value(k, "Out");
    pdm_sub_result(&s, out);
    if (pdm_sub_run(&s) == PDM_OK && out)
        out->tensor = pdm_sub_view(k, &out->tensor, rank, dims);
    pdm_sub_end(&s);
    return k->status;
}

static void scale_all(pdm_tensor *t, double factor)
{
    const int64_t n = pdm_tensor_count(t);

    for (int64_t i = 0; i < n; i++) {
        if (t->dtype == PDM_F32)
            ((float *)t->data)[i] *= (float)factor;
        else
            pdm_set_double(t, i, pdm_get_double(t, i) * factor);
    }
}

pdm_status pdm_kernel_old_matmul(pdm_k *k)
{
    const double alpha = pdm_k_float_or(k, "alpha", 1.0);
    pdm_value *out = pdm_k_out_slot_value(k, "Out");
    pdm_sub s;

    if (pdm_k_int_or(k, "head_number", 1) > 1)
        return pdm_k_fail(k, "several heads (head_number) are not supported");
    pdm_sub_begin(&s, k, "pd_op.matmul");
    pdm_sub_in(&s, pdm_sub_slot(k, "X"));
    pdm_sub_in(&s, pdm_sub_slot(k, "Y"));
    pdm_sub_bool(&s, "transpose_x", pdm_k_bool_or(k, "transpose_X", false));
    pdm_sub_bool(&s, "transpose_y", pdm_k_bool_or(k, "transpose_Y", false));
    pdm_sub_result(&s, out);
    if (pdm_sub_run(&s) == PDM_OK && out && (alpha < 1 || alpha > 1))
        scale_all(&out->tensor, alpha);
    pdm_sub_end(&s);
    return k->status;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool reduces_all(pdm_k *k, int rank)
{
    int64_t axes[PDM_K_MAX_INTS];
    bool seen[PDM_MAX_RANK] = {false};
    int found = 0;

    if (pdm_k_bool_or(k, "reduce_all", false))
        return true;
    const size_t n = pdm_sub_slot_ints(k, "AxisTensorList", "AxisTensor", "dim", axes);
    for (size_t i = 0; i < n; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis >= 0 && axis < rank && !seen[axis]) {
            seen[axis] = true;
            found++;
        }
    }
    return n == 0 || found == rank;
}

pdm_status pdm_kernel_old_reduce(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const char *name = k->op + strlen("legacy.reduce_");
    const bool by_attr = *name == 'a'; /* all, any, amax, amin */
    int64_t axes[PDM_K_MAX_INTS];
    char kernel[32] = "pd_op.";
    pdm_sub s;

    if (!PDM_K_OK(k))
        return k->status;
    strncat(kernel, name, sizeof kernel - sizeof "pd_op.");
    const bool all = reduces_all(k, x->rank);
    const size_t n = all ? 0 : pdm_sub_slot_ints(k, "AxisTensorList", "AxisTensor", "dim", axes);
    pdm_sub_begin(&s, k, kernel);
    pdm_sub_in(&s, x);
    if (by_attr)
        pdm_sub_ints(&s, "axis", axes, n);
    else
        pdm_sub_in_ints(&s, axes, n);
    pdm_sub_bool(&s, "keepdim", pdm_k_bool_or(k, "keep_dim", false));
    pdm_sub_bool(&s, "reduce_all", all);
    const int64_t dtype = pdm_k_int_or(k, "out_dtype", -1);
    pdm_sub_dtype(&s, "dtype",
                  dtype >= 0 && dtype < 256 ? pdm_dtype_from_legacy((int)dtype) : PDM_UNDEFINED);
    pdm_sub_result(&s, pdm_k_out_slot_value(k, "Out"));
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    return k->status;
}

/* isnan, isinf, isfinite of old: one answer about the whole tensor. */
pdm_status pdm_kernel_old_is_any(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const char what = k->op[strlen("legacy.is")];
    bool any = false, finite = true;

    if (!PDM_K_OK(k))
        return k->status;
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++) {
        const double v = pdm_get_double(x, i);
        any |= what == 'n' ? isnan(v) : isinf(v);
        finite &= isfinite(v) != 0;
    }
    pdm_tensor *out = pdm_sub_out(k, "Out", PDM_BOOL, 1, &(int64_t){1});
    if (out)
        *(bool *)out->data = what == 'f' ? finite : any;
    return k->status;
}

/* ---- activations with attributes that PIR does not have -------------------------------------- */

typedef struct curve {
    float threshold, scale, offset, beta;
} curve;

#define CURVE(code, suffix, type, acc, load, store, ...)                                           \
    static void relu6_##suffix(const void *x, void *out, int64_t n, const curve *c)                \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const acc v = load(((const type *)x)[i]), t = (acc)c->threshold;                       \
            const acc low = v < 0 ? 0 : v;                                                         \
            ((type *)out)[i] = store(low > t ? t : low);                                           \
        }                                                                                          \
    }                                                                                              \
    static void hard_swish_##suffix(const void *x, void *out, int64_t n, const curve *c)           \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const acc v = load(((const type *)x)[i]), t = (acc)c->threshold;                       \
            acc low = v + (acc)c->offset;                                                          \
            low = low < 0 ? 0 : low > t ? t : low;                                                 \
            ((type *)out)[i] = store(low * v / (acc)c->scale);                                     \
        }                                                                                          \
    }                                                                                              \
    static void swish_##suffix(const void *x, void *out, int64_t n, const curve *c)                \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const acc v = load(((const type *)x)[i]);                                              \
            ((type *)out)[i] = store((acc)((double)v / (1 + exp(-(double)c->beta * (double)v))));  \
        }                                                                                          \
    }
PDM_K_FLOATS(CURVE)

/* Later kernels do not look at the attributes. */
static curve curve_of(pdm_k *k)
{
    curve c = {6, 6, 3, 1};

    if (pdm_k_int_or(k, "@program_version", 0) < 2006000) {
        c.threshold = (float)pdm_k_float_or(k, "threshold", 6.0);
        c.scale = (float)pdm_k_float_or(k, "scale", 6.0);
        c.offset = (float)pdm_k_float_or(k, "offset", 3.0);
        c.beta = (float)pdm_k_float_or(k, "beta", 1.0);
    }
    return c;
}

static bool differs(float a, float b)
{
    return a < b || a > b;
}

/* With the attributes that PIR takes for granted. */
static pdm_status plain_curve(pdm_k *k, const char *kernel)
{
    pdm_sub s;

    pdm_sub_begin(&s, k, kernel);
    pdm_sub_in(&s, pdm_sub_slot(k, "X"));
    /* Those of the op must not be seen. */
    pdm_sub_float(&s, "threshold", 6);
    pdm_sub_float(&s, "scale", 6);
    pdm_sub_float(&s, "offset", 3);
    pdm_sub_float(&s, "beta", 1);
    pdm_sub_result(&s, pdm_k_out_slot_value(k, "Out"));
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    return k->status;
}

static pdm_tensor *curve_out(pdm_k *k, const pdm_tensor *x)
{
    return x ? pdm_sub_out(k, "Out", x->dtype, x->rank, x->dims) : NULL;
}

pdm_status pdm_kernel_old_relu6(pdm_k *k)
{
    const curve c = curve_of(k);

    if (!differs(c.threshold, 6))
        return plain_curve(k, "pd_op.relu6");
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    pdm_tensor *out = curve_out(k, x);
    if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_FLOATS, relu6, x->data, out->data, pdm_tensor_count(x),
                       &c);
    return k->status;
}

pdm_status pdm_kernel_old_hard_swish(pdm_k *k)
{
    const curve c = curve_of(k);

    if (!differs(c.threshold, 6) && !differs(c.scale, 6) && !differs(c.offset, 3))
        return plain_curve(k, "pd_op.hardswish");
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    pdm_tensor *out = curve_out(k, x);
    if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_FLOATS, hard_swish, x->data, out->data,
                       pdm_tensor_count(x), &c);
    return k->status;
}

pdm_status pdm_kernel_old_swish(pdm_k *k)
{
    const curve c = curve_of(k);

    if (!differs(c.beta, 1))
        return plain_curve(k, "pd_op.swish");
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    pdm_tensor *out = curve_out(k, x);
    if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_FLOATS, swish, x->data, out->data, pdm_tensor_count(x),
                       &c);
    return k->status;
}

pdm_status pdm_kernel_old_pow(pdm_k *k)
{
    const pdm_tensor *factor = pdm_k_slot(k, "FactorTensor");
    pdm_sub s;

    pdm_sub_begin(&s, k, "pd_op.pow");
    pdm_sub_in(&s, pdm_sub_slot(k, "X"));
    pdm_sub_float(&s, "y",
                  factor && pdm_tensor_count(factor) > 0 ? pdm_get_double(factor, 0)
                                                         : pdm_k_float_or(k, "factor", 1));
    pdm_sub_result(&s, pdm_k_out_slot_value(k, "Out"));
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    return k->status;
}
