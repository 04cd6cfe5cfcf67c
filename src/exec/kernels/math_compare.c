/* Comparisons and logic. */
#include <math.h>

#include "exec/kernels/math_impl.h"

#define KERNEL(set, name)                                                                          \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_binary op = {.loop = {set(PDM_BINARY_ROW, name)}, .out = PDM_BOOL};       \
        return pdm_math_binary(k, &op);                                                            \
    }

#define ORDER(name, op)                                                                            \
    PDM_K_REALS(PDM_BINARY_BOOL, name, a op b)                                                     \
    KERNEL(PDM_K_REALS, name)
ORDER(less_than, <)
ORDER(less_equal, <=)
ORDER(greater_than, >)
ORDER(greater_equal, >=)

/* 2.6.2 takes floats that differ by less than 1e-8 as equal. */
#define NEAR(a, b) (isinf(a) || isinf(b) ? (a) == (b) : fabs((double)(a) - (double)(b)) < 1e-8)
PDM_K_ALL(PDM_BINARY_BOOL, equal, a == b)
PDM_K_ALL(PDM_BINARY_BOOL, not_equal, a != b)
PDM_K_FLOATS(PDM_BINARY_BOOL, near, NEAR(a, b))
PDM_K_FLOATS(PDM_BINARY_BOOL, not_near, !NEAR(a, b))

#define EQUALITY(name, legacy_floats)                                                              \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_binary op = {.loop = {PDM_K_ALL(PDM_BINARY_ROW, name)}, .out = PDM_BOOL}; \
        static const pdm_binary legacy = {                                                         \
            .loop = {PDM_K_FLOATS(PDM_BINARY_ROW, legacy_floats) PDM_K_INTS(PDM_BINARY_ROW, name)  \
                         PDM_K_BOOLS(PDM_BINARY_ROW, name) PDM_K_COMPLEXES(PDM_BINARY_ROW, name)}, \
            .out = PDM_BOOL};                                                                      \
        return pdm_math_binary(k, pdm_k_before(k, PDM_DIFF_EQUAL) ? &legacy : &op);                \
    }
EQUALITY(equal, near)
EQUALITY(not_equal, not_near)

#define LOGIC(name, expr)                                                                          \
    PDM_K_ALL(PDM_BINARY_BOOL, name, expr)                                                         \
    KERNEL(PDM_K_ALL, name)
LOGIC(logical_and, (a != 0) && (b != 0))
LOGIC(logical_or, (a != 0) || (b != 0))
LOGIC(logical_xor, (a != 0) != (b != 0))

/* ---- with a tolerance ------------------------------------------------------------------------ */

typedef struct close_job {
    double rtol, atol;
    bool equal_nan;
    bool complex_numbers;
    pdm_walk walk;
    const double *x, *y; /* pairs when complex */
    bool *out;           /* NULL: only `all` is wanted */
    bool all;
} close_job;

static bool close_reals(const close_job *job, double a, double b)
{
    if (isnan(a) || isnan(b))
        return job->equal_nan && isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= job->atol + job->rtol * fabs(b);
}

static bool close_pair(const close_job *job, int64_t i, int64_t j)
{
    if (!job->complex_numbers)
        return close_reals(job, job->x[i], job->y[j]);
    const double complex a = CMPLX(job->x[2 * i], job->x[2 * i + 1]);
    const double complex b = CMPLX(job->y[2 * j], job->y[2 * j + 1]);
    const bool a_nan = isnan(creal(a)) || isnan(cimag(a));
    const bool b_nan = isnan(creal(b)) || isnan(cimag(b));
    if (a_nan || b_nan)
        return job->equal_nan && a_nan && b_nan;
    return a == b || cabs(a - b) <= job->atol + job->rtol * cabs(b);
}

static void close_run(void *arg, const int64_t *offsets, int64_t first, int64_t n)
{
    close_job *job = arg;
    const int last = job->walk.rank - 1;

    for (int64_t i = 0; i < n; i++) {
        const bool is = close_pair(job, offsets[0] + i * job->walk.strides[0][last],
                                   offsets[1] + i * job->walk.strides[1][last]);
        job->all &= is;
        if (job->out)
            job->out[first + i] = is;
    }
}

static pdm_status close_of(pdm_k *k, close_job *job, const pdm_tensor *x, const pdm_tensor *y,
                           bool each)
{
    pdm_tensor shape;

    if (!pdm_math_broadcast(k, x, y, &shape))
        return k->status;
    job->x = x->data;
    job->y = y->data;
    job->all = true;
    job->out = pdm_k_out(k, 0, PDM_BOOL, each ? shape.rank : 0, shape.dims);
    if (!job->out)
        return k->status;
    bool *const all = job->out;
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++)
        if (__builtin_mul_overflow(count, shape.dims[i], &count))
            return pdm_k_fail(k, "the broadcast shape is too large");
    if (!each)
        job->out = NULL;
    if (count > 0) {
        pdm_walk_init(&job->walk, shape.rank, shape.dims, 2, (const pdm_tensor *[]){x, y});
        pdm_walk_range(&job->walk, 0, count, close_run, job);
    }
    if (!each)
        *all = job->all;
    return k->status;
}

/* The tolerances of the job are set. */
static pdm_status close_to(pdm_k *k, close_job *job, bool each)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    pdm_tensor x_temp, y_temp;

    if (!x || !y)
        return k->status;
    job->equal_nan = pdm_k_bool_or(k, "equal_nan", false);
    job->complex_numbers = pdm_dtype_is_complex(x->dtype) || pdm_dtype_is_complex(y->dtype);
    const pdm_dtype dtype = job->complex_numbers ? PDM_C128 : PDM_F64;

    pdm_tensor_init(&x_temp);
    pdm_tensor_init(&y_temp);
    x = pdm_math_as(k, x, dtype, &x_temp);
    y = pdm_math_as(k, y, dtype, &y_temp);
    if (x && y && PDM_K_OK(k))
        close_of(k, job, x, y, each);
    pdm_tensor_deinit(&x_temp);
    pdm_tensor_deinit(&y_temp);
    return k->status;
}

pdm_status pdm_kernel_isclose(pdm_k *k)
{
    close_job job = {.rtol = pdm_k_in_float(k, 2, 1e-5), .atol = pdm_k_in_float(k, 3, 1e-8)};

    return close_to(k, &job, true);
}

pdm_status pdm_kernel_allclose(pdm_k *k)
{
    close_job job = {.rtol = pdm_k_in_float(k, 2, 1e-5), .atol = pdm_k_in_float(k, 3, 1e-8)};

    return close_to(k, &job, false);
}

pdm_status pdm_kernel_accuracy_check(pdm_k *k)
{
    close_job job = {.rtol = pdm_k_float_or(k, "rtol", 1e-5),
                     .atol = pdm_k_float_or(k, "atol", 1e-8)};
    const char *name = pdm_k_has_attr(k, "fn_name") ? pdm_k_str(k, "fn_name") : "";

    if (close_to(k, &job, true) == PDM_OK && !job.all)
        return pdm_k_fail(k, "the check '%s' found that x and y differ", name);
    return k->status;
}

#define EQUAL_ALL_LOOP(code, suffix, type, acc, load, store, name)                                 \
    static void name##_##suffix(const void *xdata, const void *ydata, int64_t n, bool *same)       \
    {                                                                                              \
        const type *x = xdata, *y = ydata;                                                         \
        for (int64_t i = 0; i < n && *same; i++)                                                   \
            *same = load(x[i]) == load(y[i]);                                                      \
    }
#define NEAR_ALL_LOOP(code, suffix, type, acc, load, store, name)                                  \
    static void name##_##suffix(const void *xdata, const void *ydata, int64_t n, bool *same)       \
    {                                                                                              \
        const type *x = xdata, *y = ydata;                                                         \
        for (int64_t i = 0; i < n && *same; i++)                                                   \
            *same = NEAR(load(x[i]), load(y[i]));                                                  \
    }
PDM_K_ALL(EQUAL_ALL_LOOP, equal_all)
PDM_K_FLOATS(NEAR_ALL_LOOP, near_all)

/* Other shapes are not equal either. */
pdm_status pdm_kernel_equal_all(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    if (!x || !y)
        return k->status;
    bool same = pdm_k_same_dims(x, y) && x->dtype == y->dtype;
    const int64_t count = same ? pdm_tensor_count(x) : 0;

    if (pdm_dtype_is_float(x->dtype) && pdm_k_before(k, PDM_DIFF_EQUAL))
        PDM_K_DISPATCH(k, x->dtype, PDM_K_FLOATS, near_all, x->data, y->data, count, &same);
    else
        PDM_K_DISPATCH(k, x->dtype, PDM_K_ALL, equal_all, x->data, y->data, count, &same);
    bool *out = pdm_k_out(k, 0, PDM_BOOL, 0, NULL);
    if (out)
        *out = same;
    return k->status;
}
