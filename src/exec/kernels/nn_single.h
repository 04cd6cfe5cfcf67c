/*
 * Functions of float32 rounded as the framework's vectorized ones are: not always to the nearest
 * number, but what was recorded was computed with them, and networks enlarge the difference.
 */
#ifndef PDM_EXEC_KERNELS_NN_SINGLE_H
#define PDM_EXEC_KERNELS_NN_SINGLE_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <xmmintrin.h>
#endif

/* 2 to the power n, -126 <= n <= 127. */
static inline float pdm_single_power(int32_t n)
{
    const uint32_t bits = (uint32_t)(n + 127) << 23;
    float power;

    memcpy(&power, &bits, sizeof power);
    return power;
}

/* e to the power x: the range reduced in two steps, a polynomial of degree 5 in three parts. */
static inline float pdm_single_exp(float x)
{
    const float limit = 88.723F;
    const float at = x > limit ? limit : x < -limit ? -limit : x;

    if (isnan(x))
        return x;
    const float n = floorf(at * 1.44269504088896341F + 0.5F);
    const float high = at - n * 0.693359375F;
    const float r = high + n * 2.12194440e-4F, squared = r * r, cubed = squared * r;
    const float first = (1.9875691500e-4F * r + 1.3981999507e-3F) * r + 8.3334519073e-3F;
    const float second = (4.1665795894e-2F * r + 1.6666665459e-1F) * r + 5.0000001201e-1F;
    const float sum = (first * cubed + second) * squared + (r + 1);
    const int32_t power = (int32_t)n, half = power / 2;
    return sum * pdm_single_power(half) * pdm_single_power(power - half);
}

/* A quotient of polynomials; tiny operands stay. */
static inline float pdm_single_tanh(float x)
{
    const float limit = 7.90531110763549805F;
    const float at = x > limit ? limit : x < -limit ? -limit : x, squared = at * at;
    float over = -2.76076847742355e-16F, under = 1.19825839466702e-06F;

    if (fabsf(x) < 0.0004F || isnan(x))
        return x;
    over = squared * over + 2.00018790482477e-13F;
    over = squared * over + -8.60467152213735e-11F;
    over = squared * over + 5.12229709037114e-08F;
    over = squared * over + 1.48572235717979e-05F;
    over = squared * over + 6.37261928875436e-04F;
    over = squared * over + 4.89352455891786e-03F;
    under = squared * under + 1.18534705686654e-04F;
    under = squared * under + 2.26843463243900e-03F;
    under = squared * under + 4.89352518554385e-03F;
    return at * over / under;
}

/* An estimate of 1 / sqrt(x) and one Newton step. */
static inline float pdm_single_sqrt(float x)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (x >= FLT_MIN && x <= FLT_MAX) {
        const float estimate = _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(x)));
        const float half = x * 0.5F;
        return x * (estimate * (1.5F - half * (estimate * estimate)));
    }
#endif
    return sqrtf(x);
}

/* For loops that are written once for all types of floats (with tgmath.h). */
#define PDM_EXP(v)  _Generic((v), float : pdm_single_exp((float)(v)), default : exp(v))
#define PDM_TANH(v) _Generic((v), float : pdm_single_tanh((float)(v)), default : tanh(v))
#define PDM_SQRT(v) _Generic((v), float : pdm_single_sqrt((float)(v)), default : sqrt(v))

#endif
