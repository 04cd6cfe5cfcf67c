/*
 * Sums and maxima of rows, in lanes that are joined at the end: the compiler turns the lanes into
 * vectors, and the order does not depend on their width.
 */
#ifndef PDM_EXEC_FAST_LANES_H
#define PDM_EXEC_FAST_LANES_H

#include "exec/fast/vmath.h"

enum { PDM_LANES = 32 };

PDM_INLINE void pdm_lanes_join_sum(float *lanes)
{
    for (int width = PDM_LANES / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; l++)
            lanes[l] += lanes[l + width];
    }
}

/* NaN counts for nothing. */
PDM_INLINE void pdm_lanes_join_max(float *lanes)
{
    for (int width = PDM_LANES / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; l++)
            lanes[l] = lanes[l] > lanes[l + width] ? lanes[l] : lanes[l + width];
    }
}

/* Sum of expr(v, c) over the n numbers v of x. */
#define PDM_LANES_SUM(name, expr)                                                                  \
    PDM_INLINE float name(const float *x, int64_t n, float c)                                      \
    {                                                                                              \
        float lanes[PDM_LANES] = {0};                                                              \
        int64_t i = 0;                                                                             \
        (void)c;                                                                                   \
        for (; i + PDM_LANES <= n; i += PDM_LANES) {                                               \
            for (int l = 0; l < PDM_LANES; l++) {                                                  \
                const float v = x[i + l];                                                          \
                lanes[l] += (expr);                                                                \
            }                                                                                      \
        }                                                                                          \
        for (int l = 0; i < n; i++, l++) {                                                         \
            const float v = x[i];                                                                  \
            lanes[l] += (expr);                                                                    \
        }                                                                                          \
        pdm_lanes_join_sum(lanes);                                                                 \
        return lanes[0];                                                                           \
    }

PDM_LANES_SUM(pdm_lanes_sum, v)
PDM_LANES_SUM(pdm_lanes_square_sum, (v - c) * (v - c))

/* Of at least one number. */
PDM_INLINE float pdm_lanes_max(const float *x, int64_t n)
{
    float lanes[PDM_LANES];
    int64_t i = 0;

    for (int l = 0; l < PDM_LANES; l++)
        lanes[l] = x[0];
    for (; i + PDM_LANES <= n; i += PDM_LANES) {
        for (int l = 0; l < PDM_LANES; l++)
            lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
    }
    for (int l = 0; i < n; i++, l++)
        lanes[l] = x[i] > lanes[l] ? x[i] : lanes[l];
    pdm_lanes_join_max(lanes);
    return lanes[0];
}

#endif
