/* An operand with numbers: scale, pow, clip, increment. */
#include <math.h>
#include <tgmath.h>

#include "exec/kernels/math_impl.h"

/* A number as the element type that it is applied to: exact for integers. */
typedef struct number {
    double f;
    int64_t i;
} number;

static number number_of(double f)
{
    return (number){f, isnan(f) ? 0 : f >= 0x1p63 ? INT64_MAX : pdm_int_of_double(f)};
}

static number number_operand(pdm_k *k, size_t index, double fallback)
{
    const pdm_tensor *t = pdm_k_in_opt(k, index);
    number n = number_of(pdm_k_in_float(k, index, fallback));

    if (t && pdm_dtype_is_int(t->dtype))
        n.i = pdm_k_in_int(k, index, 0);
    return n;
}

/* Whether x is calculated as float (halves through blocks) or complex by pdm_math_unary. */
static bool by_unary(const pdm_tensor *x)
{
    return pdm_dtype_is_float(x->dtype) || pdm_dtype_is_complex(x->dtype);
}

/* ---- scale ----------------------------------------------------------------------------------- */

PDM_UNARY_FLOAT(scale_bias, v *P(0) + P(1))
PDM_UNARY_FLOAT(bias_scale, (v + P(1)) * P(0))
PDM_UNARY_COMPLEX(scale_bias, v *P(0) + P(1))
PDM_UNARY_COMPLEX(bias_scale, (v + P(1)) * P(0))

#define SCALE_LOOP(code, suffix, type, acc, load, store, name)                                     \
    static void scale_##suffix(const void *in, void *out, int64_t n, int64_t scale, int64_t bias,  \
                               bool after)                                                         \
    {                                                                                              \
        const type *x = in;                                                                        \
        type *y = out;                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const uint64_t v = (uint64_t)x[i], s = (uint64_t)scale, b = (uint64_t)bias;            \
            y[i] = (type)(after ? v * s + b : (v + b) * s);                                        \
        }                                                                                          \
    }
PDM_K_INTS(SCALE_LOOP, scale)
PDM_K_BOOLS(SCALE_LOOP, scale)
#define INTS_AND_BOOL(X, ...) PDM_K_INTS(X, __VA_ARGS__) PDM_K_BOOLS(X, __VA_ARGS__)

/* Scale and bias take the operand's type first: fractions are lost for integers. */
pdm_status pdm_kernel_scale(pdm_k *k)
{
    static const pdm_unary after_op = {
        .loop = {PDM_UNARY_OF_FLOAT(scale_bias), PDM_UNARY_OF_COMPLEX(scale_bias)}};
    static const pdm_unary before_op = {
        .loop = {PDM_UNARY_OF_FLOAT(bias_scale), PDM_UNARY_OF_COMPLEX(bias_scale)}};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const number scale = number_operand(k, 1, pdm_k_float_or(k, "scale", 1));
    const number bias = number_of(pdm_k_float_or(k, "bias", 0));
    const bool after = pdm_k_bool_or(k, "bias_after_scale", true);
    const double params[2] = {scale.f, bias.f};
    if (!x || !PDM_K_OK(k))
        return k->status;

    if (by_unary(x))
        return pdm_math_unary(k, after ? &after_op : &before_op, params);
    void *out = pdm_k_out_like(k, 0, x);
    if (out)
        PDM_K_DISPATCH(k, x->dtype, INTS_AND_BOOL, scale, x->data, out, pdm_tensor_count(x),
                       scale.i, bias.i, after);
    return k->status;
}

/* ---- pow ------------------------------------------------------------------------------------- */

PDM_UNARY_FLOAT(pow, pow(v, P(0)))
PDM_UNARY_FLOAT(power_two, v *v)
PDM_UNARY_COMPLEX(pow, pow(v, (T)params[0]))

/* Wrapping; a negative exponent leaves only 1 and -1. */
static int64_t int_power(int64_t base, int64_t exponent)
{
    uint64_t result = 1, square = (uint64_t)base;

    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

#define POW_LOOP(code, suffix, type, acc, load, store, name)                                       \
    static void int_pow_##suffix(const void *in, void *out, int64_t n, int64_t exponent)           \
    {                                                                                              \
        const type *x = in;                                                                        \
        type *y = out;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (type)int_power((int64_t)x[i], exponent);                                       \
    }
PDM_K_INTS(POW_LOOP, int_pow)

pdm_status pdm_kernel_pow(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(pow), PDM_UNARY_OF_COMPLEX(pow)}};
    static const pdm_unary two = {
        .loop = {PDM_UNARY_OF_FLOAT(power_two), PDM_UNARY_OF_COMPLEX(pow)}};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const number exponent = number_operand(k, 1, pdm_k_float_or(k, "y", 1));
    if (!x || !PDM_K_OK(k))
        return k->status;

    if (by_unary(x))
        return pdm_math_unary(k, exponent.f == 2 ? &two : &op, &exponent.f);
    void *out = pdm_k_out_like(k, 0, x);
    if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_INTS, int_pow, x->data, out, pdm_tensor_count(x),
                       exponent.i);
    return k->status;
}

/* ---- clip ------------------------------------------------------------------------------------ */

PDM_UNARY_FLOAT(clip, v < P(0) ? P(0) : v > P(1) ? P(1) : v) /* NaN stays */

#define CLIP_LOOP(code, suffix, type, acc, load, store, name)                                      \
    static void int_clip_##suffix(const void *in, void *out, int64_t n, int64_t low, int64_t high) \
    {                                                                                              \
        const type *x = in;                                                                        \
        type *y = out;                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const int64_t v = (int64_t)x[i];                                                       \
            y[i] = (type)(v < low ? low : v > high ? high : v);                                    \
        }                                                                                          \
    }
PDM_K_INTS(CLIP_LOOP, int_clip)

pdm_status pdm_kernel_clip(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(clip)}};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const number low = number_operand(k, 1, pdm_k_float_or(k, "min", -(double)INFINITY));
    const number high = number_operand(k, 2, pdm_k_float_or(k, "max", (double)INFINITY));
    const double params[2] = {low.f, high.f};
    if (!x || !PDM_K_OK(k))
        return k->status;
    if (low.f > high.f)
        return pdm_k_fail(k, "the lower bound %g is above the upper one %g", low.f, high.f);

    if (by_unary(x))
        return pdm_math_unary(k, &op, params);
    void *out = pdm_k_out_like(k, 0, x);
    if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_INTS, int_clip, x->data, out, pdm_tensor_count(x), low.i,
                       high.i);
    return k->status;
}

/* Scaled down to the largest allowed Euclidean norm. */
pdm_status pdm_kernel_clip_by_norm(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(scale_bias)}};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double max_norm = pdm_k_float(k, "max_norm");
    double sum = 0, params[2] = {1, 0};
    if (!x || !PDM_K_OK(k))
        return k->status;

    for (int64_t i = 0; i < pdm_tensor_count(x); i++)
        sum += pdm_get_double(x, i) * pdm_get_double(x, i);
    if (sqrt(sum) > max_norm)
        params[0] = max_norm / sqrt(sum);
    return pdm_math_unary(k, &op, params);
}

/* ---- increment ------------------------------------------------------------------------------- */

pdm_status pdm_kernel_increment(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(scale_bias)}};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const number value = number_of(
        pdm_k_has_attr(k, "step") ? pdm_k_float(k, "step") : pdm_k_float_or(k, "value", 1));
    const double params[2] = {1, value.f};
    if (!x || !PDM_K_OK(k))
        return k->status;

    if (by_unary(x))
        return pdm_math_unary(k, &op, params);
    void *out = pdm_k_out_like(k, 0, x);
    if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_INTS, scale, x->data, out, pdm_tensor_count(x), 1,
                       value.i, true);
    return k->status;
}
