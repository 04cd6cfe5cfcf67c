/*
 * Functions of float for loops that the compiler turns into vectors: no branches, no calls, no
 * tables. Off by at most 1 unit in the last place (exp), 1.5 (tanh, erf), 2.5 (sigmoid); NaN stays
 * NaN, infinities and results too small for a normal number come out as they should. Coefficients
 * are minimax fits, made for this file.
 */
#ifndef PDM_EXEC_FAST_VMATH_H
#define PDM_EXEC_FAST_VMATH_H

#include <stdint.h>

#include "exec/fast/simd.h"

#define PDM_V_SQRT1_2   0.707106781f
#define PDM_V_SQRT_2_PI 0.797884561f

/* a for NaN */
#define PDM_V_MIN(a, b) ((b) < (a) ? (b) : (a))
#define PDM_V_MAX(a, b) ((b) > (a) ? (b) : (a))

/* Bounds that the compiler does not know: for known ones it makes masks of comparisons instead of
 * minima and maxima, which cost twice as much. */
typedef struct pdm_v_bounds {
    float zero, one, six, exp_low, exp_high;
} pdm_v_bounds;
extern const pdm_v_bounds pdm_v_bound;

typedef union pdm_v_bits {
    float f;
    uint32_t u;
} pdm_v_bits;

PDM_INLINE float pdm_v_abs(float x)
{
    pdm_v_bits b = {x};
    b.u &= 0x7fffffffu;
    return b.f;
}

/* x with the sign of s; x is not negative, or s is, too */
PDM_INLINE float pdm_v_with_sign(float x, float s)
{
    pdm_v_bits b = {x}, t = {s};
    b.u |= t.u & 0x80000000u;
    return b.f;
}

/* 2^n for a whole number n in [-126, 127] that was added to 1.5 * 2^23 */
PDM_INLINE float pdm_v_power_of_2(uint32_t shifted)
{
    pdm_v_bits b;
    b.u = (shifted - 0x4b400000u + 127u) << 23;
    return b.f;
}

/* e^r for r in [-ln(2)/2, ln(2)/2] */
PDM_INLINE float pdm_v_exp_core(float r)
{
    float p = 1.99181255e-4f;
    p = p * r + 1.39463041e-3f;
    p = p * r + 8.33326485e-3f;
    p = p * r + 4.16662656e-2f;
    p = p * r + 1.66666672e-1f;
    p = p * r + 0.5f;
    return p * (r * r) + r + 1.0f;
}

PDM_INLINE float pdm_v_exp(float x)
{
    x = PDM_V_MIN(x, pdm_v_bound.exp_high); /* infinite from 88.73 on, zero up to -103.97 */
    x = PDM_V_MAX(x, pdm_v_bound.exp_low);
    const float magic = 12582912.0f;
    pdm_v_bits n = {x * 1.44269504f + magic};
    const float whole = n.f - magic;
    const float r = x - whole * 0.693359375f - whole * -2.12194440e-4f;
    /* In two steps: n may be beyond the exponents of a normal number. */
    const float half = (whole * 0.5f + magic) - magic;
    const pdm_v_bits a = {half + magic}, b = {(whole - half) + magic};
    return pdm_v_exp_core(r) * pdm_v_power_of_2(a.u) * pdm_v_power_of_2(b.u);
}

PDM_INLINE float pdm_v_sigmoid(float x)
{
    const float e = pdm_v_exp(-pdm_v_abs(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

PDM_INLINE float pdm_v_tanh(float x)
{
    const float a = pdm_v_abs(x), z = x * x;
    float p = 2.14753696e-3f;
    p = p * z - 8.18267372e-3f;
    p = p * z + 2.17029676e-2f;
    p = p * z - 5.39472029e-2f;
    p = p * z + 1.33332103e-1f;
    p = p * z - 3.33333313e-1f;
    const float small = p * z * x + x;
    const float large = 1.0f - 2.0f / (pdm_v_exp(2.0f * a) + 1.0f);
    return pdm_v_with_sign(a < 0.625f ? small : large, x); /* -0 came out as 0 */
}

PDM_INLINE float pdm_v_erf(float x)
{
    const float a = pdm_v_abs(x), z = x * x;
    float p = 8.83625471e-5f;
    p = p * z - 8.24429095e-4f;
    p = p * z + 5.2092988e-3f;
    p = p * z - 2.68624816e-2f;
    p = p * z + 1.12837471e-1f;
    p = p * z - 3.76126379e-1f;
    p = p * z + 0.128379166f;
    /* -log(erfc(a)) */
    const float b = PDM_V_MIN(a, 4.0f);
    float q = 1.89676564e-6f;
    q = q * b - 4.430025e-6f;
    q = q * b - 2.87578354e-4f;
    q = q * b + 3.69888521e-3f;
    q = q * b - 2.41917279e-2f;
    q = q * b + 1.07138887e-1f;
    q = q * b + 6.34205699e-1f;
    q = q * b + 1.12915325f;
    q = q * b - 1.09357294e-4f;
    const float large = pdm_v_with_sign(1.0f - pdm_v_exp(-q), x);
    return a < 0.8f ? x * p + x : large;
}

PDM_INLINE float pdm_v_gelu(float x)
{
    return 0.5f * x * (1.0f + pdm_v_erf(x * PDM_V_SQRT1_2));
}

PDM_INLINE float pdm_v_gelu_tanh(float x)
{
    return 0.5f * x * (1.0f + pdm_v_tanh(PDM_V_SQRT_2_PI * (x + 0.044715f * x * x * x)));
}

#endif
