/* Overflow-checked size arithmetic: false on overflow, *out untouched then. */
#ifndef PDM_BASE_CHECKED_H
#define PDM_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool pdm_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool pdm_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* a / b rounded down; b > 0. */
static inline int64_t pdm_div_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Product of dims (all >= 0) as an element count; false on a negative dim or overflow of int64. */
bool pdm_count_elements(const int64_t *dims, size_t rank, uint64_t *out_count);

#endif
