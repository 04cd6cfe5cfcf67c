/* Single elements of tensors, whatever their type; random numbers. */
#include <math.h>
#include <string.h>

#include "exec/kernel.h"

int64_t pdm_int_of_double(double value)
{
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

int32_t pdm_int32_of_double(double value)
{
    return value > -0x1p31 - 1 && value < 0x1p31 ? (int32_t)value : INT32_MIN;
}

/* ---- 8-bit floats ---------------------------------------------------------------------------- */

static double fp8_value(uint8_t bits, int mantissa_bits, int bias, bool has_inf)
{
    const int exponent_bits = 7 - mantissa_bits;
    const int exponent = (bits & 0x7f) >> mantissa_bits;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const int top = (1 << exponent_bits) - 1;
    const double sign = bits & 0x80 ? -1.0 : 1.0;

    if (has_inf && exponent == top)
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (!has_inf && (bits & 0x7f) == 0x7f)
        return (double)NAN;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

/* Round to nearest even among the finite values, saturating as the framework does. */
static uint8_t fp8_bits(double value, int mantissa_bits, int bias, bool has_inf, double max)
{
    const uint8_t sign = signbit(value) ? 0x80 : 0;
    double magnitude = fabs(value);
    int exponent;

    if (isnan(value))
        return has_inf ? (uint8_t)(sign | 0x7e) : (uint8_t)(sign | 0x7f);
    if (magnitude > max)
        magnitude = max;
    if (magnitude == 0)
        return sign;
    frexp(magnitude, &exponent); /* magnitude in [2^(exponent-1), 2^exponent) */
    int scale = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double units = nearbyint(ldexp(magnitude, mantissa_bits - scale));
    int bits = (int)units;
    if (bits >= 2 << mantissa_bits) {
        scale++;
        bits >>= 1;
    }
    if (bits < 1 << mantissa_bits) /* subnormal */
        return (uint8_t)(sign | bits);
    return (uint8_t)(sign | (scale + bias) << mantissa_bits | (bits - (1 << mantissa_bits)));
}

/* ---- elements -------------------------------------------------------------------------------- */

double pdm_get_double(const pdm_tensor *tensor, int64_t i)
{
    const void *p = tensor->data;

    switch (tensor->dtype) {
    case PDM_BOOL:
    case PDM_U8:
        return ((const uint8_t *)p)[i];
    case PDM_I8:
        return ((const int8_t *)p)[i];
    case PDM_I16:
        return ((const int16_t *)p)[i];
    case PDM_U16:
        return ((const uint16_t *)p)[i];
    case PDM_I32:
        return ((const int32_t *)p)[i];
    case PDM_U32:
        return ((const uint32_t *)p)[i];
    case PDM_I64:
    case PDM_INDEX:
        return (double)((const int64_t *)p)[i];
    case PDM_U64:
        return (double)((const uint64_t *)p)[i];
    case PDM_F16:
        return (double)pdm_f16_to_float(((const uint16_t *)p)[i]);
    case PDM_BF16:
        return (double)pdm_bf16_to_float(((const uint16_t *)p)[i]);
    case PDM_F32:
        return (double)((const float *)p)[i];
    case PDM_F64:
        return ((const double *)p)[i];
    case PDM_C64:
        return (double)((const float *)p)[2 * i];
    case PDM_C128:
        return ((const double *)p)[2 * i];
    case PDM_F8E4M3FN:
        return fp8_value(((const uint8_t *)p)[i], 3, 7, false);
    case PDM_F8E5M2:
        return fp8_value(((const uint8_t *)p)[i], 2, 15, true);
    case PDM_UNDEFINED:
    case PDM_PSTRING:
    case PDM_DTYPE_COUNT:
        break;
    }
    return 0;
}

int64_t pdm_get_int(const pdm_tensor *tensor, int64_t i)
{
    switch (tensor->dtype) {
    case PDM_I64:
    case PDM_INDEX:
        return ((const int64_t *)tensor->data)[i];
    case PDM_U64:
        return (int64_t)((const uint64_t *)tensor->data)[i];
    default:
        return pdm_int_of_double(pdm_get_double(tensor, i));
    }
}

void pdm_set_double(pdm_tensor *tensor, int64_t i, double value)
{
    void *p = tensor->data;

    switch (tensor->dtype) {
    case PDM_BOOL:
        ((uint8_t *)p)[i] = value != 0; /* NaN is true */
        return;
    case PDM_U8:
        ((uint8_t *)p)[i] = (uint8_t)pdm_int32_of_double(value);
        return;
    case PDM_I8:
        ((int8_t *)p)[i] = (int8_t)pdm_int32_of_double(value);
        return;
    case PDM_I16:
        ((int16_t *)p)[i] = (int16_t)pdm_int32_of_double(value);
        return;
    case PDM_U16:
        ((uint16_t *)p)[i] = (uint16_t)pdm_int32_of_double(value);
        return;
    case PDM_I32:
        ((int32_t *)p)[i] = pdm_int32_of_double(value);
        return;
    case PDM_U32:
        ((uint32_t *)p)[i] = (uint32_t)pdm_int_of_double(value);
        return;
    case PDM_I64:
    case PDM_INDEX:
        ((int64_t *)p)[i] = pdm_int_of_double(value);
        return;
    case PDM_U64:
        ((uint64_t *)p)[i] = value >= 0x1p63 && value < 0x1p64 ? (uint64_t)value
                                                               : (uint64_t)pdm_int_of_double(value);
        return;
    case PDM_F16:
        ((uint16_t *)p)[i] = pdm_float_to_f16((float)value);
        return;
    case PDM_BF16:
        ((uint16_t *)p)[i] = pdm_float_to_bf16((float)value);
        return;
    case PDM_F32:
        ((float *)p)[i] = (float)value;
        return;
    case PDM_F64:
        ((double *)p)[i] = value;
        return;
    case PDM_C64:
        ((float *)p)[2 * i] = (float)value;
        ((float *)p)[2 * i + 1] = 0;
        return;
    case PDM_C128:
        ((double *)p)[2 * i] = value;
        ((double *)p)[2 * i + 1] = 0;
        return;
    case PDM_F8E4M3FN:
        ((uint8_t *)p)[i] = fp8_bits(value, 3, 7, false, 448);
        return;
    case PDM_F8E5M2:
        ((uint8_t *)p)[i] = fp8_bits(value, 2, 15, true, 57344);
        return;
    case PDM_UNDEFINED:
    case PDM_PSTRING:
    case PDM_DTYPE_COUNT:
        return;
    }
}

void pdm_set_int(pdm_tensor *tensor, int64_t i, int64_t value)
{
    switch (tensor->dtype) {
    case PDM_BOOL:
        ((uint8_t *)tensor->data)[i] = value != 0;
        return;
    case PDM_I8:
    case PDM_U8:
        ((uint8_t *)tensor->data)[i] = (uint8_t)value;
        return;
    case PDM_I16:
    case PDM_U16:
        ((uint16_t *)tensor->data)[i] = (uint16_t)value;
        return;
    case PDM_I32:
    case PDM_U32:
        ((uint32_t *)tensor->data)[i] = (uint32_t)value;
        return;
    case PDM_I64:
    case PDM_U64:
    case PDM_INDEX:
        ((int64_t *)tensor->data)[i] = value;
        return;
    case PDM_F32:
        ((float *)tensor->data)[i] = (float)value;
        return;
    default:
        pdm_set_double(tensor, i, (double)value);
        return;
    }
}

/* ---- random numbers (xoshiro256**) --------------------------------------------------------------
 */

void pdm_rng_seed(pdm_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) { /* splitmix64 */
        seed += 0x9e3779b97f4a7c15u;
        uint64_t z = seed;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        rng->state[i] = z ^ z >> 31;
    }
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

uint64_t pdm_rng_next(pdm_rng *rng)
{
    uint64_t *s = rng->state;
    const uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double pdm_rng_uniform(pdm_rng *rng)
{
    return (double)(pdm_rng_next(rng) >> 11) * 0x1p-53;
}

double pdm_rng_normal(pdm_rng *rng)
{
    /* 1 - u is in (0, 1]: its logarithm is finite. */
    const double radius = sqrt(-2.0 * log(1.0 - pdm_rng_uniform(rng)));

    return radius * cos(6.283185307179586 * pdm_rng_uniform(rng));
}
