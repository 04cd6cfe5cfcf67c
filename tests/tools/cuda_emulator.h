/*
 * What CUDA C needs to be run as C, for tests: a grid of one dimension, whose threads are run one after the other.
 * Kernels that wait for each other (__syncthreads, shuffles) cannot be run by it.
 */
#ifndef PDM_TESTS_CUDA_EMULATOR_H
#define PDM_TESTS_CUDA_EMULATOR_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define __global__
#define __restrict__ restrict

typedef struct pdm_dim3 {
    unsigned x, y, z;
} pdm_dim3;

static _Thread_local pdm_dim3 gridDim, blockDim, blockIdx, threadIdx;

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

/* Runs a call of a kernel for each thread of a grid. */
#define PDM_EMULATE(blocks, threads, call)                                                                            \
    do {                                                                                                              \
        gridDim = (pdm_dim3){blocks, 1, 1};                                                                           \
        blockDim = (pdm_dim3){threads, 1, 1};                                                                         \
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)                                                    \
            for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)                                            \
                call;                                                                                                 \
    } while (0)

#endif
