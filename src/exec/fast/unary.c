/* Functions of one float32 operand. Other element types are left to the reference kernels. */
#include <math.h>

#include "exec/fast/vmath.h"
#include "exec/kernels/math_impl.h"

static pdm_status unary(pdm_k *k, pdm_unary_loop loop, const pdm_math_param *params, int count)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    double values[PDM_MATH_PARAMS] = {0};
    if (!x)
        return k->status;
    if (x->dtype != PDM_F32)
        return pdm_k_reference(k);
    const pdm_unary op = {.loop = {[PDM_F32] = loop}};

    if (!pdm_math_params(k, params, count, values))
        return k->status;
    return pdm_math_unary(k, &op, values);
}

#define LOOP_PARAMS const void *in, void *out, int64_t n, const double *params
#define LOOP_ARGS   in, out, n, params

/* expr calculates from v, A and B (attributes). */
#define LOOP(name, expr)                                                                           \
    PDM_INLINE void name##_loop_body(LOOP_PARAMS)                                                  \
    {                                                                                              \
        const float *restrict x = in;                                                              \
        float *restrict y = out;                                                                   \
        const float A = (float)params[0], B = (float)params[1];                                    \
        (void)A;                                                                                   \
        (void)B;                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const float v = x[i];                                                                  \
            y[i] = expr;                                                                           \
        }                                                                                          \
    }                                                                                              \
    static void name##_loop(LOOP_PARAMS);                                                          \
    PDM_CLONES(name##_loop, (LOOP_PARAMS), (LOOP_ARGS))

#define PLAIN(name, expr)                                                                          \
    LOOP(name, expr)                                                                               \
    pdm_status pdm_fast_##name(pdm_k *k)                                                           \
    {                                                                                              \
        return unary(k, name##_loop, NULL, 0);                                                     \
    }

/* With parameters {"name", fallback}, ... */
#define WITH(name, expr, ...)                                                                      \
    LOOP(name, expr)                                                                               \
    pdm_status pdm_fast_##name(pdm_k *k)                                                           \
    {                                                                                              \
        static const pdm_math_param params[] = {__VA_ARGS__};                                      \
        return unary(k, name##_loop, params, (int)(sizeof params / sizeof *params));               \
    }

/* NaN stays: the comparisons are false then. */
#define CLAMP(v, low, high) PDM_V_MIN(PDM_V_MAX(v, low), high)

PLAIN(relu, v > 0 ? v : 0) /* NaN gives 0 */
PLAIN(abs, pdm_v_abs(v))
PLAIN(square, v *v)
PLAIN(exp, pdm_v_exp(v))
PLAIN(erf, pdm_v_erf(v))
PLAIN(tanh, pdm_v_tanh(v))
PLAIN(sigmoid, pdm_v_sigmoid(v))
PLAIN(silu, v *pdm_v_sigmoid(v))
PLAIN(hardswish, v *CLAMP(v + 3, 0, 6) / 6)
WITH(relu6, CLAMP(v, 0, A), {"threshold", 6})
WITH(leaky_relu, v < 0 ? v * A : v, {"negative_slope", 0.02})
WITH(hardsigmoid, CLAMP(v *A + B, 0, 1), {"slope", 0.2}, {"offset", 0.5})
WITH(swish, v *pdm_v_sigmoid(A *v), {"beta", 1})

/* v * tanh(log(1 + e^v)) without the logarithm; beyond 20 it is v. */
PDM_INLINE float mish_of(float v)
{
    const float e = pdm_v_exp(PDM_V_MIN(v, 20.0f)), s = e * (e + 2);
    return v * (s / (s + 2));
}
LOOP(mish, mish_of(v))

/* The attribute is where log(1 + e^v) counts as v: from 20 on that makes no difference. */
pdm_status pdm_fast_mish(pdm_k *k)
{
    return pdm_k_float_or(k, "lambda", 20) >= 20 ? unary(k, mish_loop, NULL, 0)
                                                 : pdm_k_reference(k);
}

LOOP(gelu_erf, pdm_v_gelu(v))
LOOP(gelu_tanh, pdm_v_gelu_tanh(v))

pdm_status pdm_fast_gelu(pdm_k *k)
{
    return unary(k, pdm_k_bool_or(k, "approximate", false) ? gelu_tanh_loop : gelu_erf_loop, NULL,
                 0);
}

/* ---- with numbers that may be operands ------------------------------------------------------- */

static pdm_status with_numbers(pdm_k *k, pdm_unary_loop loop, double a, double b)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const pdm_unary op = {.loop = {[PDM_F32] = loop}};
    const double values[PDM_MATH_PARAMS] = {a, b};
    if (!x || !PDM_K_OK(k))
        return k->status;

    return x->dtype == PDM_F32 ? pdm_math_unary(k, &op, values) : pdm_k_reference(k);
}

LOOP(scale_bias, v *A + B)
LOOP(bias_scale, (v + B) * A)
LOOP(clip, CLAMP(v, A, B))

pdm_status pdm_fast_scale(pdm_k *k)
{
    return with_numbers(
        k, pdm_k_bool_or(k, "bias_after_scale", true) ? scale_bias_loop : bias_scale_loop,
        pdm_k_in_float(k, 1, pdm_k_float_or(k, "scale", 1)), pdm_k_float_or(k, "bias", 0));
}

pdm_status pdm_fast_clip(pdm_k *k)
{
    const double low = pdm_k_in_float(k, 1, pdm_k_float_or(k, "min", -HUGE_VAL));
    const double high = pdm_k_in_float(k, 2, pdm_k_float_or(k, "max", HUGE_VAL));

    /* The reference kernel tells what is wrong with bounds that are not in order. */
    return low <= high ? with_numbers(k, clip_loop, low, high) : pdm_k_reference(k);
}
