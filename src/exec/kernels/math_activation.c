/* Activations. Formulas keep the framework's behaviour at NaN and infinity. */
#include <math.h>
#include <tgmath.h>

#include "exec/kernels/math_impl.h"
#include "exec/kernels/nn_single.h"

#define SQRT1_2    0.707106781186547524400844362105
#define SQRT_2_PI  0.797884560802865355879892119869
#define GELU_CUBIC 0.044715

static pdm_status with_params(pdm_k *k, const pdm_unary *op, const pdm_math_param *params,
                              int count)
{
    double values[PDM_MATH_PARAMS];

    return pdm_math_params(k, params, count, values) ? pdm_math_unary(k, op, values) : k->status;
}

#define PLAIN(name, expr)                                                                          \
    PDM_UNARY_FLOAT(name, expr)                                                                    \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(name)}};                          \
        return pdm_math_unary(k, &op, NULL);                                                       \
    }

/* With parameters {"name", fallback}, ... */
#define WITH(name, expr, ...)                                                                      \
    PDM_UNARY_FLOAT(name, expr)                                                                    \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(name)}};                          \
        static const pdm_math_param params[] = {__VA_ARGS__};                                      \
        return with_params(k, &op, params, (int)(sizeof params / sizeof *params));                 \
    }

/* NaN stays: the comparisons are false then. */
#define CLAMP(v, low, high) ((v) < (low) ? (low) : (v) > (high) ? (high) : (v))

#define LOOP_INT_RELU(code, suffix, type, acc, load, store, name)                                  \
    PDM_UNARY_LOOP(name, suffix, type, type, v > (type)0 ? v : 0)
#define ROW(code, suffix, type, acc, load, store, name) [code] = name##_##suffix,
PDM_UNARY_FLOAT(relu, v > (T)0 ? v : (T)0) /* NaN gives 0 */
PDM_K_INTS(LOOP_INT_RELU, relu)

pdm_status pdm_kernel_relu(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_K_INTS(ROW, relu) PDM_UNARY_OF_FLOAT(relu)}};
    return pdm_math_unary(k, &op, NULL);
}

WITH(relu6, CLAMP(v, (T)0, P(0)), {"threshold", 6})
WITH(hardtanh, CLAMP(v, P(0), P(1)), {"t_min", 0}, {"t_max", 24})
WITH(leaky_relu, v < (T)0 ? v * P(0) : v, {"negative_slope", 0.02})
WITH(thresholded_relu, v *(T)(v > P(0)) + P(1) * (T)(v <= P(0)), {"threshold", 1}, {"value", 0})
WITH(elu, v > (T)0 ? v : v <= (T)0 ? P(0) * expm1(v) : v, {"alpha", 1})
WITH(celu, v > (T)0 ? v : v <= (T)0 ? P(0) * expm1(v / P(0)) : v, {"alpha", 1})
WITH(selu, P(0) * (v > (T)0 ? v : P(1) * expm1(v)), {"scale", 1.0507009873554805},
     {"alpha", 1.6732632423543772})

WITH(softshrink, (T)(v > P(0)) * (v - P(0)) + (T)(v < -P(0)) * (v + P(0)), {"threshold", 0.5})
PDM_UNARY_FLOAT(hardshrink, v > -P(0) && v < P(0) ? (T)0 : v)
PDM_UNARY_FLOAT(hardshrink_legacy, v *(T)(v<-P(0) || v> P(0)))

/* At the threshold 2.6.2 gives 0, 3.x the operand. */
pdm_status pdm_kernel_hardshrink(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(hardshrink)}};
    static const pdm_unary legacy = {.loop = {PDM_UNARY_OF_FLOAT(hardshrink_legacy)}};
    static const pdm_math_param params[] = {{"threshold", 0.5}};

    return with_params(k, pdm_k_before(k, PDM_DIFF_HARDSHRINK) ? &legacy : &op, params, 1);
}

WITH(hardsigmoid, CLAMP(v *P(0) + P(1), (T)0, (T)1), {"slope", 0.2}, {"offset", 0.5})
PLAIN(hardswish, v *CLAMP(v + (T)3, (T)0, (T)6) / (T)6)
PLAIN(tanh_shrink, v - tanh(v))
PLAIN(softsign, v / ((T)1 + fabs(v)))
PLAIN(logsigmoid, v == -(T)INFINITY ? (T)NAN : v < (T)0 ? v - log1p(exp(v)) : -log1p(exp(-v)))
WITH(stanh, P(1) * tanh(P(0) * v), {"scale_a", 0.67}, {"scale_b", 1.7159})
WITH(swish, v / ((T)1 + PDM_EXP(-(P(0) * v))), {"beta", 1})
WITH(soft_relu, log((T)1 + exp(CLAMP(v, -P(0), P(0)))), {"threshold", 40})
WITH(softplus, v *P(0) > P(1) ? v : log1p(exp(v * P(0))) / P(0), {"beta", 1}, {"threshold", 20})
WITH(mish, v *tanh(v > P(0) ? v : log1p(exp(v))), {"lambda", 20})

#define LOGIT(v) log((v) / ((T)1 - (v)))
WITH(logit,
     P(0) > (T)0 ? LOGIT(CLAMP(v, P(0), (T)1 - P(0))) : (v < (T)0 || v > (T)1 ? (T)NAN : LOGIT(v)),
     {"eps", 1e-6})

PDM_UNARY_FLOAT(gelu_erf, (T)0.5 * v * ((T)1 + erf(v * (T)SQRT1_2)))
PDM_UNARY_FLOAT(gelu_tanh,
                (T)0.5 * v * ((T)1 + tanh((T)SQRT_2_PI * (v + (T)GELU_CUBIC * v * v * v))))

pdm_status pdm_kernel_gelu(pdm_k *k)
{
    static const pdm_unary erf_op = {.loop = {PDM_UNARY_OF_FLOAT(gelu_erf)}};
    static const pdm_unary tanh_op = {.loop = {PDM_UNARY_OF_FLOAT(gelu_tanh)}};

    return pdm_math_unary(k, pdm_k_bool_or(k, "approximate", false) ? &tanh_op : &erf_op, NULL);
}

/* ---- several results or operands ------------------------------------------------------------- */

#define SWIGLU_LOOP(code, suffix, type, acc, load, store, name)                                    \
    static void name##_##suffix(const void *xdata, const void *ydata, void *zdata, int64_t n)      \
    {                                                                                              \
        const type *x = xdata, *y = ydata;                                                         \
        type *z = zdata;                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const acc a = load(x[i]), b = load(y[i]);                                              \
            z[i] = store(a / (1 + exp(-a)) * b);                                                   \
        }                                                                                          \
    }
PDM_K_FLOATS(SWIGLU_LOOP, swiglu)

/* silu(x) * y; without y the halves of x's last dimension are the two. */
pdm_status pdm_kernel_swiglu(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in_opt(k, 1);
    int64_t dims[PDM_MAX_RANK];
    if (!x)
        return k->status;
    if (y && (!pdm_k_same_dims(x, y) || x->dtype != y->dtype))
        return pdm_k_fail(k, "operands differ in shape or element type");
    if (!y && (x->rank < 1 || x->dims[x->rank - 1] % 2 != 0))
        return pdm_k_fail(k, "the last dimension must be even");
    for (int i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    if (!y)
        dims[x->rank - 1] /= 2;
    char *out = pdm_k_out(k, 0, x->dtype, x->rank, dims);
    const int64_t count = out ? pdm_tensor_count(pdm_k_out_tensor(k, 0)) : 0;
    const size_t row =
        count ? pdm_dtype_size(x->dtype) * (size_t)(y ? count : dims[x->rank - 1]) : 1;

    for (size_t at = 0; at < (size_t)count * pdm_dtype_size(x->dtype) && PDM_K_OK(k); at += row) {
        const char *a = (const char *)x->data + (y ? at : 2 * at);
        const char *b = y ? (const char *)y->data + at : a + row;
        PDM_K_DISPATCH(k, x->dtype, PDM_K_FLOATS, swiglu, a, b, out + at,
                       (int64_t)(row / pdm_dtype_size(x->dtype)));
    }
    return k->status;
}
