/* Sums, products, extremes, truth, norms, variances. Floats are accumulated in double. */
#include <math.h>

#include "exec/kernels/reduce_impl.h"

#define SUFFIXED(set, name)   set(PDM_REDUCE_ROW, name)
#define INTS_AND_BOOL(X, ...) PDM_K_INTS(X, __VA_ARGS__) PDM_K_BOOLS(X, __VA_ARGS__)

/* ---- how results are stored ------------------------------------------------------------------ */

static void store_acc(pdm_tensor *out, int64_t i, const pdm_reduce_acc *acc)
{
    if (out->dtype == PDM_C64)
        ((float complex *)out->data)[i] = (float complex)acc->c;
    else if (out->dtype == PDM_C128)
        ((double complex *)out->data)[i] = acc->c;
    else if (pdm_dtype_is_float(out->dtype))
        pdm_set_double(out, i, acc->f);
    else
        pdm_set_int(out, i, acc->i);
}

static void finish_plain(pdm_reduce_acc *acc, int64_t count, bool second, pdm_tensor *out,
                         int64_t i)
{
    (void)count;
    (void)second;
    store_acc(out, i, acc);
}

static void finish_mean(pdm_reduce_acc *acc, int64_t count, bool second, pdm_tensor *out, int64_t i)
{
    (void)second;
    acc->f /= (double)count;
    acc->c /= (double)count;
    if (count != 0 && out->dtype != PDM_BOOL)
        acc->i /= count;
    store_acc(out, i, acc);
}

static void finish_root(pdm_reduce_acc *acc, int64_t count, bool second, pdm_tensor *out, int64_t i)
{
    (void)count;
    (void)second;
    acc->f = sqrt(acc->f);
    store_acc(out, i, acc);
}

/* ---- sum and mean ---------------------------------------------------------------------------- */

#define ADD_INT(v) a->i = (int64_t)((uint64_t)a->i + (uint64_t)(v))
/* float32 sums are rounded at each step, as the framework does: networks enlarge the difference. */
#define ADD_FLOAT(v)                                                                               \
    a->f = _Generic((v), float : (double)((float)a->f + (float)(v)), default : a->f + (double)(v))
PDM_K_FLOATS(PDM_REDUCE_RUN, sum, ADD_FLOAT(v))
PDM_K_FLOATS(PDM_REDUCE_RUN, wide_sum, a->f += (double)v)
PDM_K_COMPLEXES(PDM_REDUCE_RUN, sum, a->c += v)
PDM_K_INTS(PDM_REDUCE_RUN, sum, ADD_INT(v))
PDM_K_BOOLS(PDM_REDUCE_RUN, sum, ADD_INT(v))
PDM_K_FLOATS(PDM_REDUCE_RUN, nansum, a->f += isnan(v) ? 0 : (double)v)

/*
 * All elements, from `first` on, as the framework adds them: sums side by side, eight for means,
 * sixteen for sums, which are added halves to halves; what does not fill eight apart. Of more
 * elements than LEAF a sum takes the halves first.
 */
#define LEAF 8192

static float sum_of_leaf(const float *x, int64_t n, bool pairs)
{
    float sums[2][8] = {{0}}, rest = 0;
    int64_t i = 0;

    for (; i + 8 <= n; i += 8) {
        /* the last eight, when odd in number, go with the first sums */
        float *to = sums[pairs && i / 8 % 2 == 1];
        for (int j = 0; j < 8; j++)
            to[j] += x[i + j];
    }
    for (; i < n; i++)
        rest += x[i];
    for (int j = 0; j < 8; j++)
        sums[0][j] += sums[1][j];
    for (int half = 4; half > 0; half /= 2) {
        for (int j = 0; j < half; j++)
            sums[0][j] += sums[0][j + half];
    }
    return rest + sums[0][0];
}

static float sum_of_all(const float *x, int64_t first, int64_t n)
{
    if (n <= LEAF)
        return sum_of_leaf(x + first, n, true);
    /* No deeper than n has bits. */
    const int64_t split = (first + (n + 1) / 2 + 7) / 8 * 8;
    const float left = sum_of_all(x, first, split - first);
    return left + sum_of_all(x, split, first + n - split);
}

/* The operand is contiguous: one run. */
static void all_sum(const void *data, int64_t stride, int64_t n, pdm_reduce_acc *a)
{
    (void)stride;
    a->f = (double)sum_of_all(data, 0, n);
}

static void all_mean(const void *data, int64_t stride, int64_t n, pdm_reduce_acc *a)
{
    (void)stride;
    a->f = (double)sum_of_leaf(data, n, false);
}

static const pdm_reduce sum_op = {.run = {SUFFIXED(PDM_K_ALL, sum)}, .finish = finish_plain};
static const pdm_reduce mean_op = {.run = {SUFFIXED(PDM_K_ALL, sum)}, .finish = finish_mean};
static const pdm_reduce all_sum_op = {.run = {[PDM_F32] = all_sum}, .finish = finish_plain};
static const pdm_reduce all_mean_op = {.run = {[PDM_F32] = all_mean}, .finish = finish_mean};
static const pdm_reduce nansum_op = {
    .run = {SUFFIXED(PDM_K_FLOATS, nansum) SUFFIXED(PDM_K_INTS, sum)}, .finish = finish_plain};

/* Sums of int32 and bool are int64 unless the op says otherwise; a given type is taken first. */
static pdm_status sum_with(pdm_k *k, const pdm_reduce *op)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_dtype dtype = pdm_k_has_attr(k, "dtype") ? pdm_k_dtype(k, "dtype") : PDM_UNDEFINED;
    pdm_reduce_plan plan;
    pdm_tensor temp;
    if (!x || !pdm_reduce_plan_of(k, &plan, x))
        return k->status;
    if (dtype == PDM_UNDEFINED)
        dtype = x->dtype == PDM_BOOL || x->dtype == PDM_I32 ? PDM_I64 : x->dtype;

    pdm_tensor_init(&temp);
    x = pdm_math_as(k, x, dtype, &temp);
    if (x && dtype == PDM_BOOL)
        pdm_k_unsupported_dtype(k, dtype);
    else if (x && op == &sum_op && dtype == PDM_F32 && plan.all)
        pdm_reduce_apply(k, &all_sum_op, &plan, x, dtype, 0);
    else if (x)
        pdm_reduce_apply(k, op, &plan, x, dtype, 0);
    pdm_tensor_deinit(&temp);
    return k->status;
}

pdm_status pdm_kernel_sum(pdm_k *k)
{
    return sum_with(k, &sum_op);
}

pdm_status pdm_kernel_nansum(pdm_k *k)
{
    return sum_with(k, &nansum_op);
}

/* The plan that the op asks for, the result in the operand's type. */
static pdm_status reduce_with(pdm_k *k, const pdm_reduce *op)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_reduce_plan plan;
    if (!x || !pdm_reduce_plan_of(k, &plan, x))
        return k->status;

    if (op == &mean_op && x->dtype == PDM_F32 && plan.all)
        op = &all_mean_op;
    return pdm_reduce_apply(k, op, &plan, x, x->dtype, 0);
}

pdm_status pdm_kernel_mean(pdm_k *k)
{
    return reduce_with(k, &mean_op);
}

static pdm_status reduce_all_with(pdm_k *k, const pdm_reduce *op, int rank)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_reduce_plan plan;
    if (!x || !pdm_reduce_plan_init(k, &plan, x, NULL, 0, false))
        return k->status;

    plan.out_rank = rank;
    plan.out_dims[0] = 1;
    return pdm_reduce_apply(k, op, &plan, x, x->dtype, 0);
}

pdm_status pdm_kernel_mean_all(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    return reduce_all_with(k, x && x->dtype == PDM_F32 ? &all_mean_op : &mean_op, 0);
}

/* Sum over the dimensions that broadcasting the target to x would repeat. */
pdm_status pdm_kernel_reduce_as(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *target = pdm_k_in(k, 1);
    int64_t axes[PDM_MAX_RANK];
    size_t n = 0;
    pdm_reduce_plan plan;
    if (!x || !target)
        return k->status;
    if (target->rank > x->rank)
        return pdm_k_fail(k, "the target has more dimensions than the operand");

    for (int d = 0; d < x->rank; d++) {
        const int e = d - (x->rank - target->rank);
        const int64_t size = e < 0 ? 1 : target->dims[e];
        if (e < 0 || (size == 1 && x->dims[d] != 1))
            axes[n++] = d;
        else if (size != x->dims[d])
            return pdm_k_fail(k, "the target does not broadcast to the operand");
    }
    if (!pdm_reduce_plan_init(k, &plan, x, axes, n, false))
        return k->status;
    if (n == 0) { /* nothing goes */
        void *out = pdm_k_out_like(k, 0, x);
        if (out)
            memcpy(out, x->data, pdm_tensor_bytes(x));
        return k->status;
    }
    plan.out_rank = target->rank;
    for (int d = 0; d < target->rank; d++)
        plan.out_dims[d] = target->dims[d];
    return pdm_reduce_apply(k, &sum_op, &plan, x, x->dtype, 0);
}

/* ---- product --------------------------------------------------------------------------------- */

PDM_K_FLOATS(PDM_REDUCE_RUN, prod, a->f *= (double)v)
PDM_K_COMPLEXES(PDM_REDUCE_RUN, prod, a->c *= v)
PDM_K_INTS(PDM_REDUCE_RUN, prod, a->i = (int64_t)((uint64_t)a->i * (uint64_t)v))
PDM_K_BOOLS(PDM_REDUCE_RUN, prod, a->i = a->i && v)

pdm_status pdm_kernel_prod(pdm_k *k)
{
    static const pdm_reduce op = {
        .run = {SUFFIXED(PDM_K_ALL, prod)}, .finish = finish_plain, .start_f = 1, .start_i = 1};
    return reduce_with(k, &op);
}

/* ---- extremes -------------------------------------------------------------------------------- */

/* In 3.x NaN wins. 2.6.2 keeps what it has only if the comparison says so: a later number replaces
 * NaN. */
#define EXTREME(name, op)                                                                          \
    PDM_K_FLOATS(PDM_REDUCE_RUN, name, if (!isnan(a->f) && !(a->f op v)) a->f = (double)v)         \
    PDM_K_FLOATS(PDM_REDUCE_RUN, name##_legacy, if (!(a->f op v)) a->f = (double)v)                \
    PDM_K_INTS(PDM_REDUCE_RUN, name, if (!a->started || !(a->i op(int64_t) v)) a->i = (int64_t)v;  \
               a->started = true)                                                                  \
    PDM_K_BOOLS(PDM_REDUCE_RUN, name, if (!a->started || !(a->i op(int64_t) v)) a->i = (int64_t)v; \
                a->started = true)
EXTREME(max, >)
EXTREME(min, <)

#define EXTREME_OP(name, floats, start)                                                            \
    {                                                                                              \
        .run = {SUFFIXED(PDM_K_FLOATS, floats) SUFFIXED(INTS_AND_BOOL, name)},                     \
        .finish = finish_plain, .start_f = (start), .not_empty = true                              \
    }

pdm_status pdm_kernel_max(pdm_k *k)
{
    static const pdm_reduce op = EXTREME_OP(max, max, -(double)INFINITY);
    static const pdm_reduce legacy = EXTREME_OP(max, max_legacy, -(double)INFINITY);
    return reduce_with(k, pdm_k_before(k, PDM_DIFF_NAN) ? &legacy : &op);
}

pdm_status pdm_kernel_min(pdm_k *k)
{
    static const pdm_reduce op = EXTREME_OP(min, min, (double)INFINITY);
    static const pdm_reduce legacy = EXTREME_OP(min, min_legacy, (double)INFINITY);
    return reduce_with(k, pdm_k_before(k, PDM_DIFF_NAN) ? &legacy : &op);
}

/* ---- truth ----------------------------------------------------------------------------------- */

PDM_K_ALL(PDM_REDUCE_RUN, all, a->i &= v != 0)
PDM_K_ALL(PDM_REDUCE_RUN, any, a->i |= v != 0)

static pdm_status truth_with(pdm_k *k, const pdm_reduce *op)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_reduce_plan plan;
    if (!x || !pdm_reduce_plan_of(k, &plan, x))
        return k->status;

    return pdm_reduce_apply(k, op, &plan, x, PDM_BOOL, 0);
}

pdm_status pdm_kernel_all(pdm_k *k)
{
    static const pdm_reduce op = {
        .run = {SUFFIXED(PDM_K_ALL, all)}, .finish = finish_plain, .start_i = 1};
    return truth_with(k, &op);
}

pdm_status pdm_kernel_any(pdm_k *k)
{
    static const pdm_reduce op = {.run = {SUFFIXED(PDM_K_ALL, any)}, .finish = finish_plain};
    return truth_with(k, &op);
}

/* ---- logarithm of the sum of exponentials ---------------------------------------------------- */

PDM_K_FLOATS(PDM_REDUCE_RUN, sumexp, a->f += exp((double)v - a->first))

static void finish_logsumexp(pdm_reduce_acc *acc, int64_t count, bool second, pdm_tensor *out,
                             int64_t i)
{
    (void)count;
    if (second) {
        acc->f = log(acc->f) + acc->first;
        store_acc(out, i, acc);
    }
    acc->first = acc->f;
    acc->f = 0;
}

pdm_status pdm_kernel_logsumexp(pdm_k *k)
{
    static const pdm_reduce op = {.run = {SUFFIXED(PDM_K_FLOATS, max)},
                                  .second = {SUFFIXED(PDM_K_FLOATS, sumexp)},
                                  .finish = finish_logsumexp,
                                  .start_f = -(double)INFINITY};
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_reduce_plan plan;
    pdm_tensor temp;
    if (!x || !pdm_reduce_plan_of(k, &plan, x))
        return k->status;

    pdm_tensor_init(&temp);
    x = pdm_math_as(k, x, pdm_dtype_is_float(x->dtype) ? x->dtype : PDM_F32, &temp);
    if (x)
        pdm_reduce_apply(k, &op, &plan, x, x->dtype, 0);
    pdm_tensor_deinit(&temp);
    return k->status;
}

/* ---- variance -------------------------------------------------------------------------------- */

PDM_K_FLOATS(PDM_REDUCE_RUN, deviation, const double d = (double)v - a->first; a->f += d * d)

static void finish_variance(pdm_reduce_acc *acc, int64_t count, bool second, pdm_tensor *out,
                            int64_t i)
{
    if (second) {
        acc->f /= (double)count - acc->param;
        store_acc(out, i, acc);
        return;
    }
    acc->first = acc->f / (double)count;
    acc->f = 0;
}

static void finish_deviation(pdm_reduce_acc *acc, int64_t count, bool second, pdm_tensor *out,
                             int64_t i)
{
    if (second) {
        acc->f = sqrt(acc->f / ((double)count - acc->param));
        store_acc(out, i, acc);
        return;
    }
    acc->first = acc->f / (double)count;
    acc->f = 0;
}

static pdm_status variance_with(pdm_k *k, const pdm_reduce *op)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_reduce_plan plan;
    const bool corrected = pdm_k_has_attr(k, "unbiased") && pdm_k_bool(k, "unbiased");
    const double correction = corrected ? pdm_k_float_or(k, "correction", 1) : 0;
    if (!x || !pdm_reduce_plan_of(k, &plan, x))
        return k->status;

    return pdm_reduce_apply(k, op, &plan, x, x->dtype, correction);
}

pdm_status pdm_kernel_var(pdm_k *k)
{
    static const pdm_reduce op = {.run = {SUFFIXED(PDM_K_FLOATS, wide_sum)},
                                  .second = {SUFFIXED(PDM_K_FLOATS, deviation)},
                                  .finish = finish_variance};
    return variance_with(k, &op);
}

pdm_status pdm_kernel_std(pdm_k *k)
{
    static const pdm_reduce op = {.run = {SUFFIXED(PDM_K_FLOATS, wide_sum)},
                                  .second = {SUFFIXED(PDM_K_FLOATS, deviation)},
                                  .finish = finish_deviation};
    return variance_with(k, &op);
}

/* ---- norms ----------------------------------------------------------------------------------- */

#define SIZE(v) fabs((double)(v))
PDM_K_FLOATS(PDM_REDUCE_RUN, squares, a->f += (double)v * (double)v)
PDM_K_FLOATS(PDM_REDUCE_RUN, sizes, a->f += SIZE(v))
PDM_K_FLOATS(PDM_REDUCE_RUN, nonzeros, a->f += v != 0)
PDM_K_FLOATS(PDM_REDUCE_RUN, powers, a->f += pow(SIZE(v), a->param))
/* The comparisons decide about NaN. */
PDM_K_FLOATS(PDM_REDUCE_RUN, largest, if (!(a->f > SIZE(v))) a->f = SIZE(v))
PDM_K_FLOATS(PDM_REDUCE_RUN, smallest, if (!(a->f < SIZE(v))) a->f = SIZE(v))

static void finish_power(pdm_reduce_acc *acc, int64_t count, bool second, pdm_tensor *out,
                         int64_t i)
{
    (void)count;
    (void)second;
    acc->f = pow(acc->f, 1 / acc->param);
    store_acc(out, i, acc);
}

static const pdm_reduce root_op = {.run = {SUFFIXED(PDM_K_FLOATS, squares)}, .finish = finish_root};

static const pdm_reduce *norm_op(double order)
{
    static const pdm_reduce one = {.run = {SUFFIXED(PDM_K_FLOATS, sizes)}, .finish = finish_plain};
    static const pdm_reduce zero = {.run = {SUFFIXED(PDM_K_FLOATS, nonzeros)},
                                    .finish = finish_plain};
    static const pdm_reduce top = {.run = {SUFFIXED(PDM_K_FLOATS, largest)},
                                   .finish = finish_plain};
    static const pdm_reduce bottom = {.run = {SUFFIXED(PDM_K_FLOATS, smallest)},
                                      .finish = finish_plain,
                                      .start_f = (double)INFINITY};
    static const pdm_reduce any = {.run = {SUFFIXED(PDM_K_FLOATS, powers)}, .finish = finish_power};

    if (isinf(order))
        return order > 0 ? &top : &bottom;
    return order == 0 ? &zero : order == 1 ? &one : order == 2 ? &root_op : &any;
}

pdm_status pdm_kernel_p_norm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double order = pdm_k_float_or(k, "porder", 2);
    const int64_t axis = pdm_k_int_or(k, "axis", -1);
    const bool all = pdm_k_bool_or(k, "asvector", false), keep = pdm_k_bool_or(k, "keepdim", false);
    pdm_reduce_plan plan;
    if (!x || !PDM_K_OK(k) || !pdm_reduce_plan_init(k, &plan, x, &axis, all ? 0 : 1, keep))
        return k->status;

    return pdm_reduce_apply(k, norm_op(order), &plan, x, x->dtype, order);
}

pdm_status pdm_kernel_frobenius_norm(pdm_k *k)
{
    return reduce_with(k, &root_op);
}

pdm_status pdm_kernel_squared_l2_norm(pdm_k *k)
{
    static const pdm_reduce op = {.run = {SUFFIXED(PDM_K_FLOATS, squares)}, .finish = finish_plain};
    return reduce_all_with(k, &op, 1);
}

pdm_status pdm_kernel_l1_norm(pdm_k *k)
{
    return reduce_all_with(k, norm_op(1), 0);
}
