/*
 * Element types in kernels.
 *
 * A set is a macro that calls X(code, suffix, type, acc, load, store, ...) for each of its element
 * types: `type` is what stands in memory, `acc` what is calculated with, load and store convert. A
 * kernel defines its loop once for all types of a set and picks one at run time:
 *
 *     #define LOOP(code, suffix, type, acc, load, store, ...)                             \
 *         static void square_##suffix(const void *x, void *out, int64_t n)                \
 *         {                                                                               \
 *             for (int64_t i = 0; i < n; i++) {                                           \
 *                 const acc v = load(((const type *)x)[i]);                               \
 *                 ((type *)out)[i] = store(v * v);                                        \
 *             }                                                                           \
 *         }
 *     PDM_K_FLOATS(LOOP)
 *     ...
 *     PDM_K_DISPATCH(k, x->dtype, PDM_K_FLOATS, square, x->data, out, n);
 *
 * A type outside of the set fails the call.
 */
#ifndef PDM_EXEC_KERNELS_DISPATCH_H
#define PDM_EXEC_KERNELS_DISPATCH_H

#include <complex.h>
#include <string.h>

#include "exec/kernel.h"

#ifndef CMPLX /* the C library has it for some compilers only */
#define CMPLX(re, im)  __builtin_complex((double)(re), (double)(im))
#define CMPLXF(re, im) __builtin_complex((float)(re), (float)(im))
#endif

#define PDM_K_SAME(x) (x)

#define PDM_K_FLOATS(X, ...)                                                                       \
    X(PDM_F32, f32, float, float, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                             \
    X(PDM_F64, f64, double, double, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                           \
    X(PDM_F16, f16, uint16_t, float, pdm_f16_to_float, pdm_float_to_f16, __VA_ARGS__)              \
    X(PDM_BF16, bf16, uint16_t, float, pdm_bf16_to_float, pdm_float_to_bf16, __VA_ARGS__)

#define PDM_K_INTS(X, ...)                                                                         \
    X(PDM_I32, i32, int32_t, int32_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                         \
    X(PDM_I64, i64, int64_t, int64_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                         \
    X(PDM_I8, i8, int8_t, int8_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                             \
    X(PDM_U8, u8, uint8_t, uint8_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                           \
    X(PDM_I16, i16, int16_t, int16_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                         \
    X(PDM_U16, u16, uint16_t, uint16_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                       \
    X(PDM_U32, u32, uint32_t, uint32_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                       \
    X(PDM_U64, u64, uint64_t, uint64_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)

#define PDM_K_BOOLS(X, ...) X(PDM_BOOL, b, bool, bool, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)

#define PDM_K_COMPLEXES(X, ...)                                                                    \
    X(PDM_C64, c64, float complex, float complex, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)             \
    X(PDM_C128, c128, double complex, double complex, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)

#define PDM_K_NUMBERS(X, ...) PDM_K_FLOATS(X, __VA_ARGS__) PDM_K_INTS(X, __VA_ARGS__)
#define PDM_K_REALS(X, ...)   PDM_K_NUMBERS(X, __VA_ARGS__) PDM_K_BOOLS(X, __VA_ARGS__)
#define PDM_K_ALL(X, ...)     PDM_K_REALS(X, __VA_ARGS__) PDM_K_COMPLEXES(X, __VA_ARGS__)

#define PDM_K_CASE_(code, suffix, type, acc, load, store, fn, ...)                                 \
    case code:                                                                                     \
        fn##_##suffix(__VA_ARGS__);                                                                \
        break;

/* Call fn_<suffix>(arguments) for the type. */
#define PDM_K_DISPATCH(k, element_type, SET, fn, ...)                                              \
    do {                                                                                           \
        switch ((int)(element_type)) {                                                             \
            SET(PDM_K_CASE_, fn, __VA_ARGS__)                                                      \
        default:                                                                                   \
            pdm_k_unsupported_dtype((k), (element_type));                                          \
        }                                                                                          \
    } while (0)

/* By size alone, for kernels that only move elements: X(size, suffix, type, ...). */
typedef struct pdm_k_bytes16 {
    uint64_t half[2];
} pdm_k_bytes16;

#define PDM_K_SIZES(X, ...)                                                                        \
    X(4, s4, uint32_t, uint32_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                              \
    X(8, s8, uint64_t, uint64_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                              \
    X(1, s1, uint8_t, uint8_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                                \
    X(2, s2, uint16_t, uint16_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                              \
    X(16, s16, pdm_k_bytes16, pdm_k_bytes16, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)

#define PDM_K_DISPATCH_SIZE(k, element_type, fn, ...)                                              \
    do {                                                                                           \
        switch ((int)pdm_dtype_size(element_type)) {                                               \
            PDM_K_SIZES(PDM_K_CASE_, fn, __VA_ARGS__)                                              \
        default:                                                                                   \
            pdm_k_unsupported_dtype((k), (element_type));                                          \
        }                                                                                          \
    } while (0)

/* An axis in [-rank, rank) made non-negative (0 for rank 0); fails the call when it is outside. */
static inline int pdm_k_axis(pdm_k *k, int64_t axis, int rank)
{
    const int64_t room = rank > 0 ? rank : 1;

    if (axis < -room || axis >= room) {
        pdm_k_fail(k, "axis %lld does not exist in a tensor with %d dimensions", (long long)axis,
                   rank);
        return 0;
    }
    return (int)(axis < 0 ? axis + room : axis);
}

/* Elements before and behind dims [from, to); no overflow: the tensor exists. */
static inline int64_t pdm_k_product(const int64_t *dims, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= dims[i];
    return n;
}

static inline bool pdm_k_same_dims(const pdm_tensor *a, const pdm_tensor *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

#endif
