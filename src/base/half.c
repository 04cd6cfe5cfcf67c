/* Half precision as bits: IEEE binary16 and bfloat16. */
#include <string.h>

#include "base/tensor.h"

static _Thread_local bool truncating;

bool pdm_half_truncate(bool on)
{
    const bool before = truncating;

    truncating = on;
    return before;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

float pdm_f16_to_float(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;

    if (exponent == 0x1f)
        return float_of(sign | 0x7f800000 | mantissa << 13);
    if (exponent != 0)
        return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    /* Subnormal: an exact multiple of 2^-24. */
    const float value = (float)mantissa * 0x1p-24f;
    return sign ? -value : value;
}

/* Towards zero, what is too large becomes infinite. */
static uint16_t truncated_f16(uint32_t magnitude)
{
    if (magnitude > 0x477fe000)
        return 0x7c00;
    if (magnitude < 0x33800000) /* below the smallest subnormal */
        return 0;
    if (magnitude < 0x38800000) {
        const uint32_t shift = 126 - (magnitude >> 23);
        return (uint16_t)(((magnitude & 0x7fffff) | 0x800000) >> shift);
    }
    return (uint16_t)((magnitude - 0x38000000) >> 13);
}

uint16_t pdm_float_to_f16(float value)
{
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);

    if (magnitude > 0x7f800000) /* NaN keeps the top of its payload and stays one */
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (truncating)
        return (uint16_t)(sign | truncated_f16(magnitude));
    if (magnitude >= 0x477ff000) /* rounds to 65536 or above */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) { /* below the smallest normal: adding 0.5 leaves the rounded
                                     multiple of 2^-24 in the low bits */
        const float shifted = float_of(magnitude) + 0.5f;
        return (uint16_t)(sign | (bits_of(shifted) - bits_of(0.5f)));
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

float pdm_bf16_to_float(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t pdm_float_to_bf16(float value)
{
    const uint32_t bits = bits_of(value);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    if (truncating)
        return (uint16_t)(bits >> 16);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
