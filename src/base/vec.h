/*
 * Growable array of any element type: `struct { T *v; size_t n, cap; }` declared by PDM_VEC(T),
 * zero-initialised. PDM_VEC_PUSH evaluates to true, or false when out of memory (the vector is
 * unchanged). Free with PDM_VEC_FREE.
 */
#ifndef PDM_BASE_VEC_H
#define PDM_BASE_VEC_H

#include <stdbool.h>
#include <stdlib.h>

#define PDM_VEC(T)                                                                                 \
    struct {                                                                                       \
        T *v;                                                                                      \
        size_t n, cap;                                                                             \
    }

/* Room for n elements in all; false when out of memory or n*size overflows. */
bool pdm_vec_reserve_(void **v, size_t *cap, size_t n, size_t elem_size);

#define PDM_VEC_RESERVE(vec, count)                                                                \
    pdm_vec_reserve_((void **)&(vec)->v, &(vec)->cap, (count), sizeof *(vec)->v)
#define PDM_VEC_PUSH(vec, value)                                                                   \
    (PDM_VEC_RESERVE(vec, (vec)->n + 1) ? ((vec)->v[(vec)->n++] = (value), true) : false)
#define PDM_VEC_FREE(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

#endif
