/*
 * What CUDA C needs to be compiled as C, for tests. Kernels become functions that do the work of one thread; the
 * emulator (emulator.h) calls them, lets threads wait for each other, and looks at every access: global memory and
 * shared memory have bounds, and two threads that access an element without a barrier between them race if one of
 * them writes.
 */
#ifndef PDM_TESTS_CUDA_EMULATOR_H
#define PDM_TESTS_CUDA_EMULATOR_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct pdm_dim3 {
    unsigned x, y, z;
} pdm_dim3;

/* Memory that is looked after. */
typedef struct pdm_region {
    const char *name;
    long long count; /* elements */
    int size;        /* of one, in bytes */
    bool shared, local;
    void *shadow;                /* who accessed what */
    unsigned long long launch;   /* that shadow belongs to */
} pdm_region;

typedef struct pdm_emulation {
    pdm_dim3 thread_index, block_index, block_size, grid_size;
    void (*access)(pdm_region *region, long long at, bool write);
    void (*barrier)(int site);
    /* Of a warp: all lanes of a mask meet, and each gets what lane `from` gave (from < 0: nothing). */
    unsigned long long (*exchange)(int site, unsigned mask, unsigned long long value, int from);
    /* The values of all lanes of a mask, by lane. */
    void (*gather)(int site, unsigned mask, unsigned long long value, unsigned long long *out);
    void (*fault)(const char *text);
} pdm_emulation;

static pdm_emulation *pdm_here; /* the thread at work */

void pdm_attach(pdm_emulation *emulation);
void pdm_attach(pdm_emulation *emulation)
{
    pdm_here = emulation;
}

#define threadIdx (pdm_here->thread_index)
#define blockIdx  (pdm_here->block_index)
#define blockDim  (pdm_here->block_size)
#define gridDim   (pdm_here->grid_size)
#define warpSize  32

#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(n)
#define PDM_KERNEL void

/* ---- memory ---------------------------------------------------------------------------------- */

static inline long long pdm_at(pdm_region *region, long long at, bool write)
{
    pdm_here->access(region, at, write);
    return at;
}

#define PDM_LOAD(data, at)         ((data)[pdm_at(&data##_region, (long long)(at), false)])
#define PDM_STORE(data, at, value) ((data)[pdm_at(&data##_region, (long long)(at), true)] = (value))
#define PDM_SHARED(type, name, n)                                                                                     \
    static type name[n];                                                                                              \
    static pdm_region name##_region = {#name, n, sizeof(type), true, false, NULL, 0}
#define PDM_LOCAL(type, name, n)                                                                                      \
    type name[n];                                                                                                     \
    pdm_region name##_region = {#name, n, sizeof(type), false, true, NULL, 0}

#define pdm_atomic(type, suffix, operation)                                                                           \
    static inline type pdm_atomic_##suffix(type *at, type value)                                                      \
    {                                                                                                                 \
        const type before = *at;                                                                                      \
        *at = operation;                                                                                              \
        return before;                                                                                                \
    }
pdm_atomic(int, add_int, (int)((unsigned)before + (unsigned)value))
pdm_atomic(unsigned, add_unsigned, before + value)
pdm_atomic(unsigned long long, add_long, before + value)
pdm_atomic(float, add_float, before + value)
pdm_atomic(double, add_double, before + value)
pdm_atomic(int, max_int, before > value ? before : value)
pdm_atomic(int, min_int, before < value ? before : value)
pdm_atomic(unsigned, exchange_unsigned, value)
#define atomicAdd(at, value)                                                                                          \
    _Generic(*(at), int: pdm_atomic_add_int, unsigned: pdm_atomic_add_unsigned, float: pdm_atomic_add_float,          \
             double: pdm_atomic_add_double, default: pdm_atomic_add_long)(at, value)
#define atomicMax(at, value) pdm_atomic_max_int(at, value)
#define atomicMin(at, value) pdm_atomic_min_int(at, value)
#define atomicExch(at, value) pdm_atomic_exchange_unsigned(at, value)
#define __threadfence()      ((void)0)

/* ---- threads --------------------------------------------------------------------------------- */

#define __syncthreads()  pdm_here->barrier(__LINE__)
#define __syncwarp(mask) ((void)pdm_here->exchange(__LINE__, mask, 0, -1))

static inline int pdm_lane(void)
{
    return (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32U);
}

#define pdm_shuffle(type, suffix)                                                                                     \
    static inline type pdm_shuffle_##suffix(int site, unsigned mask, type value, int from)                            \
    {                                                                                                                 \
        unsigned long long bits = 0;                                                                                  \
        type got;                                                                                                     \
        memcpy(&bits, &value, sizeof value);                                                                          \
        bits = pdm_here->exchange(site, mask, bits, from);                                                            \
        memcpy(&got, &bits, sizeof got);                                                                              \
        return got;                                                                                                   \
    }
pdm_shuffle(int, int)
pdm_shuffle(unsigned, unsigned)
pdm_shuffle(long long, long)
pdm_shuffle(float, float)
pdm_shuffle(double, double)
#define pdm_any_shuffle(mask, value, from)                                                                            \
    _Generic((value), int: pdm_shuffle_int, unsigned: pdm_shuffle_unsigned, float: pdm_shuffle_float,                 \
             double: pdm_shuffle_double, default: pdm_shuffle_long)(__LINE__, mask, value, from)
#define __shfl_sync(mask, value, lane) pdm_any_shuffle(mask, value, (int)(lane) & 31)
#define __shfl_xor_sync(mask, value, by) pdm_any_shuffle(mask, value, pdm_lane() ^ (int)(by))
#define __shfl_down_sync(mask, value, by)                                                                             \
    pdm_any_shuffle(mask, value, pdm_lane() + (int)(by) < 32 ? pdm_lane() + (int)(by) : pdm_lane())
#define __shfl_up_sync(mask, value, by)                                                                               \
    pdm_any_shuffle(mask, value, pdm_lane() - (int)(by) >= 0 ? pdm_lane() - (int)(by) : pdm_lane())

static inline unsigned pdm_ballot(int site, unsigned mask, bool vote)
{
    unsigned long long votes[32];
    unsigned all = 0;

    pdm_here->gather(site, mask, vote, votes);
    for (int i = 0; i < 32; i++)
        all |= (mask >> i & 1U) && votes[i] ? 1U << i : 0;
    return all;
}
#define __ballot_sync(mask, vote) pdm_ballot(__LINE__, mask, (vote) != 0)
#define __any_sync(mask, vote)    (pdm_ballot(__LINE__, mask, (vote) != 0) != 0)
#define __all_sync(mask, vote)    (pdm_ballot(__LINE__, mask, (vote) != 0) == (mask))

/* ---- numbers --------------------------------------------------------------------------------- */

static inline float __int_as_float(int bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int __float_as_int(float value)
{
    int bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double __longlong_as_double(long long bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float pdm_bfloat_to_float(unsigned short bits)
{
    return __int_as_float((int)((unsigned)bits << 16));
}

static inline unsigned short pdm_float_to_bfloat(float value)
{
    const unsigned bits = (unsigned)__float_as_int(value);

    return (unsigned short)(isnan(value) ? 0x7fc0U : (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

static inline float pdm_half_to_float(unsigned short bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent     ? ldexpf((float)(fraction + 1024), exponent - 25)
                                      : ldexpf((float)fraction, -24);

    return bits & 0x8000 ? -size : size;
}

static inline unsigned short pdm_float_to_half(float value)
{
    const unsigned short sign = signbit(value) ? 0x8000 : 0;
    const float size = fabsf(value);
    int exponent;

    if (isnan(value))
        return 0x7fff;
    if (size >= 65520)
        return (unsigned short)(sign | 0x7c00);
    frexpf(size, &exponent);
    if (size < 6.103515625e-05F) /* without an exponent of its own; 1024 of them have one again */
        return (unsigned short)(sign | (unsigned)rintf(ldexpf(size, 24)));
    /* The rounded fraction may reach the next exponent, which adding takes care of. */
    return (unsigned short)(sign |
                            (((unsigned)(exponent + 13) << 10) + (unsigned)rintf(ldexpf(size, 11 - exponent))));
}

#endif
