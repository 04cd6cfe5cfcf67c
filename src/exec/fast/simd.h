/*
 * Vectors of the machine at hand. The library is compiled for the least machine of its kind; loops
 * that matter exist several times, and the dynamic linker or the code takes the best.
 */
#ifndef PDM_EXEC_FAST_SIMD_H
#define PDM_EXEC_FAST_SIMD_H

/* Loops are worth vectorizing, and comparisons in them must not become jumps. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) &&                           \
    !defined(__SANITIZE_ADDRESS__)
#pragma GCC optimize("O3,no-trapping-math")
#endif

typedef enum pdm_simd {
    PDM_SIMD_PORTABLE, /* no more than the ABI promises */
    PDM_SIMD_AVX2,     /* with FMA */
    PDM_SIMD_AVX512    /* F, VL, BW, DQ */
} pdm_simd;

/* The best that this machine has; PDM_SIMD=portable|avx2|avx512 lowers it, for tests. */
pdm_simd pdm_simd_level(void);

#if defined(__x86_64__) && defined(__GNUC__)
#define PDM_SIMD_X86 1
#define PDM_TARGET_AVX2   __attribute__((target("avx2,fma")))
#ifdef __clang__ /* drops the whole attribute over a word that it does not know */
#define PDM_TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")))
#else
#define PDM_TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,prefer-vector-width=512")))
#endif
#else
#define PDM_SIMD_X86 0
#endif

/*
 * PDM_CLONES(name, (parameters), (arguments)) defines the static void `name`, which calls name_body compiled
 * for the machine at hand; name_body is a static always_inline function of plain loops, written
 * before it. (GCC's target_clones needs ifuncs, which sanitizers and static linking dislike.)
 */
#define PDM_INLINE static inline __attribute__((always_inline))
#if PDM_SIMD_X86
#define PDM_CLONES(name, params, args)                                                             \
    PDM_TARGET_AVX512 static void name##_avx512 params                                           \
    {                                                                                              \
        name##_body args;                                                                          \
    }                                                                                              \
    PDM_TARGET_AVX2 static void name##_avx2 params                                               \
    {                                                                                              \
        name##_body args;                                                                          \
    }                                                                                              \
    static void name params                                                                             \
    {                                                                                              \
        switch (pdm_simd_level()) {                                                                \
        case PDM_SIMD_AVX512:                                                                      \
            name##_avx512 args;                                                                    \
            return;                                                                                \
        case PDM_SIMD_AVX2:                                                                        \
            name##_avx2 args;                                                                      \
            return;                                                                                \
        case PDM_SIMD_PORTABLE:                                                                    \
            break;                                                                                 \
        }                                                                                          \
        name##_body args;                                                                          \
    }
#else
#define PDM_CLONES(name, params, args)                                                             \
    static void name params                                                                             \
    {                                                                                              \
        name##_body args;                                                                          \
    }
#endif

#endif
