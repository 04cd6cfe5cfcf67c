#include "exec/fast/vmath.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pdm_simd detect(void)
{
    const char *most = getenv("PDM_SIMD");
    pdm_simd level = PDM_SIMD_PORTABLE;

#if PDM_SIMD_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        level = PDM_SIMD_AVX2;
    if (level == PDM_SIMD_AVX2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        level = PDM_SIMD_AVX512;
#endif
    if (most && !strcmp(most, "portable"))
        level = PDM_SIMD_PORTABLE;
    if (most && !strcmp(most, "avx2") && level > PDM_SIMD_AVX2)
        level = PDM_SIMD_AVX2;
    return level;
}

pdm_simd pdm_simd_level(void)
{
    static atomic_int known = -1; /* several threads may find out the same at a time */
    int level = atomic_load_explicit(&known, memory_order_relaxed);

    if (level < 0) {
        level = (int)detect();
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (pdm_simd)level;
}

const pdm_v_bounds pdm_v_bound = {
    .zero = 0, .one = 1, .six = 6, .exp_low = -104, .exp_high = 89};
