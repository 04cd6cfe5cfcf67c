/* Running sums, products and extremes along a dimension. */
#include <float.h>
#include <math.h>

#include "exec/kernels/reduce_impl.h"

typedef struct scan {
    pdm_rows rows;
    bool exclusive, reverse;
    double low; /* what a running maximum of the element type begins with */
} scan;

/* state is what has been gathered; expr what v adds to it. */
#define SCAN_LOOP(suffix, type, load, store, name, state_type, start, expr)                        \
    static void name##_row_##suffix(const scan *s, const type *x, type *y)                         \
    {                                                                                              \
        const int64_t step = s->reverse ? -s->rows.inner : s->rows.inner;                          \
        state_type state = start;                                                                  \
        int64_t at = s->reverse ? (s->rows.n - 1) * s->rows.inner : 0;                             \
        for (int64_t i = 0; i < s->rows.n; i++, at += step) {                                      \
            const state_type v = load(x[at]);                                                      \
            if (s->exclusive)                                                                      \
                y[at] = store(state);                                                              \
            state = expr;                                                                          \
            if (!s->exclusive)                                                                     \
                y[at] = store(state);                                                              \
        }                                                                                          \
    }                                                                                              \
    static void name##_##suffix(const scan *s, const void *x, void *y)                             \
    {                                                                                              \
        for (int64_t o = 0; o < s->rows.outer; o++) {                                              \
            for (int64_t i = 0; i < s->rows.inner; i++) {                                          \
                const int64_t at = o * s->rows.n * s->rows.inner + i;                              \
                name##_row_##suffix(s, (const type *)x + at, (type *)y + at);                      \
            }                                                                                      \
        }                                                                                          \
    }
#define SCAN_FLOAT(code, suffix, type, acc, load, store, name, start, expr)                        \
    SCAN_LOOP(suffix, type, load, store, name, double, start, expr)
#define SCAN_COMPLEX(code, suffix, type, acc, load, store, name, start, expr)                      \
    SCAN_LOOP(suffix, type, load, (type), name, double complex, start, expr)
#define SCAN_INT(code, suffix, type, acc, load, store, name, start, expr)                          \
    SCAN_LOOP(suffix, type, (uint64_t), (type), name, uint64_t, start, expr)

PDM_K_FLOATS(SCAN_FLOAT, cumsum, 0, state + v)
PDM_K_COMPLEXES(SCAN_COMPLEX, cumsum, 0, state + v)
PDM_K_INTS(SCAN_INT, cumsum, 0, state + v)
PDM_K_FLOATS(SCAN_FLOAT, cumprod, 1, state *v)
PDM_K_COMPLEXES(SCAN_COMPLEX, cumprod, 1, state *v)
PDM_K_INTS(SCAN_INT, cumprod, 1, state *v)

/* log(exp(a) + exp(b)); the comparisons let NaN operands b pass as a. */
static double log_add(double a, double b)
{
    const double high = a < b ? b : a, low = b < a ? b : a;

    return high + log1p(exp(low - high));
}
PDM_K_FLOATS(SCAN_FLOAT, logcumsumexp, s->low, log_add(state, v))

#define NUMBERS_AND_COMPLEX(X, ...) PDM_K_NUMBERS(X, __VA_ARGS__) PDM_K_COMPLEXES(X, __VA_ARGS__)

/* x as it is, or as one row when the op flattens; the result's place. */
static void *scan_result(pdm_k *k, scan *s, const pdm_tensor *x, int64_t axis, bool flatten)
{
    const int64_t count = pdm_tensor_count(x);

    if (!flatten)
        return pdm_rows_init(k, &s->rows, x, axis) ? pdm_k_out_like(k, 0, x) : NULL;
    s->rows = (pdm_rows){.outer = 1, .n = count, .inner = 1};
    return pdm_k_out(k, 0, x->dtype, 1, &count);
}

/* A 0-D operand is its own sum. */
static bool scalar_copied(const pdm_tensor *x, void *out)
{
    if (x->rank == 0 && out)
        memcpy(out, x->data, pdm_tensor_bytes(x));
    return x->rank == 0;
}

pdm_status pdm_kernel_cumsum(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t axis = pdm_k_in_int(k, 1, pdm_k_int_or(k, "axis", -1));
    const bool flatten = pdm_k_flag(k, "flatten");
    scan s = {.exclusive = pdm_k_flag(k, "exclusive"), .reverse = pdm_k_flag(k, "reverse")};
    if (!x || !PDM_K_OK(k))
        return k->status;
    void *out = scan_result(k, &s, x, axis, flatten);

    if (out && !scalar_copied(x, out) && pdm_tensor_count(x) > 0)
        PDM_K_DISPATCH(k, x->dtype, NUMBERS_AND_COMPLEX, cumsum, &s, x->data, out);
    return k->status;
}

pdm_status pdm_kernel_cumprod(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t axis = pdm_k_int_or(k, "dim", pdm_k_int_or(k, "axis", -1));
    scan s = {.exclusive = pdm_k_flag(k, "exclusive"), .reverse = pdm_k_flag(k, "reverse")};
    if (!x || !PDM_K_OK(k))
        return k->status;
    void *out = scan_result(k, &s, x, axis, false);

    if (out && !scalar_copied(x, out) && pdm_tensor_count(x) > 0)
        PDM_K_DISPATCH(k, x->dtype, NUMBERS_AND_COMPLEX, cumprod, &s, x->data, out);
    return k->status;
}

pdm_status pdm_kernel_logcumsumexp(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t axis = pdm_k_in_int(k, 1, pdm_k_int_or(k, "axis", -1));
    const bool flatten = pdm_k_flag(k, "flatten");
    scan s = {.exclusive = pdm_k_flag(k, "exclusive"), .reverse = pdm_k_flag(k, "reverse")};
    if (!x || !PDM_K_OK(k))
        return k->status;
    void *out = scan_result(k, &s, x, axis, flatten);

    s.low = x->dtype == PDM_F64 ? -DBL_MAX : x->dtype == PDM_F16 ? -65504.0 : -(double)FLT_MAX;
    if (out && !scalar_copied(x, out) && pdm_tensor_count(x) > 0)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_FLOATS, logcumsumexp, &s, x->data, out);
    return k->status;
}

/* ---- running extremes with their places ------------------------------------------------------ */

#define IS_NAN(v) ((v) != (v))

/* The latest of the best so far; NaN beats numbers. */
#define EXTREME_LOOP(code, suffix, type, acc, load, store, name, op)                               \
    static void name##_row_##suffix(const pdm_rows *rows, const type *x, type *y,                  \
                                    pdm_tensor *places, int64_t first)                             \
    {                                                                                              \
        int64_t best = 0;                                                                          \
        for (int64_t i = 0; i < rows->n; i++) {                                                    \
            const acc v = load(x[i * rows->inner]), held = load(x[best * rows->inner]);            \
            if (IS_NAN(v) || (!IS_NAN(held) && v op held))                                         \
                best = i;                                                                          \
            if (y)                                                                                 \
                y[i * rows->inner] = x[best * rows->inner];                                        \
            if (places)                                                                            \
                pdm_set_int(places, first + i * rows->inner, best);                                \
        }                                                                                          \
    }                                                                                              \
    static void name##_##suffix(const pdm_rows *rows, const void *x, void *y, pdm_tensor *places)  \
    {                                                                                              \
        for (int64_t o = 0; o < rows->outer; o++) {                                                \
            for (int64_t i = 0; i < rows->inner; i++) {                                            \
                const int64_t at = o * rows->n * rows->inner + i;                                  \
                name##_row_##suffix(rows, (const type *)x + at, y ? (type *)y + at : NULL, places, \
                                    at);                                                           \
            }                                                                                      \
        }                                                                                          \
    }
PDM_K_NUMBERS(EXTREME_LOOP, cummax, >=)
PDM_K_NUMBERS(EXTREME_LOOP, cummin, <=)

static pdm_status extreme_with(pdm_k *k, bool max)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t axis = pdm_k_int_or(k, "axis", -1);
    const bool narrow = pdm_k_has_attr(k, "dtype") && pdm_k_dtype(k, "dtype") == PDM_I32;
    pdm_rows rows;
    void *values = NULL;
    pdm_tensor *places = NULL;
    if (!x || !PDM_K_OK(k) || !pdm_rows_init(k, &rows, x, axis))
        return k->status;

    if (pdm_k_wants(k, 0))
        values = pdm_k_out_like(k, 0, x);
    if (pdm_k_wants(k, 1) && pdm_k_out(k, 1, narrow ? PDM_I32 : PDM_I64, x->rank, x->dims))
        places = pdm_k_out_tensor(k, 1);
    if (!PDM_K_OK(k) || pdm_tensor_count(x) == 0)
        return k->status;
    if (max)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_NUMBERS, cummax, &rows, x->data, values, places);
    else
        PDM_K_DISPATCH(k, x->dtype, PDM_K_NUMBERS, cummin, &rows, x->data, values, places);
    return k->status;
}

pdm_status pdm_kernel_cummax(pdm_k *k)
{
    return extreme_with(k, true);
}

pdm_status pdm_kernel_cummin(pdm_k *k)
{
    return extreme_with(k, false);
}
