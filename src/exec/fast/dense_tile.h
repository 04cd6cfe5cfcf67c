/*
 * Tiles of products for one kind of machine: included by dense.c with
 *   LANES   floats of a vector        VECTOR  its type, not aligned
 *   SPLAT   a vector of one number    TARGET  function attribute
 *   NAME(rows, vectors)               function names
 *   STORE(to, vector, count)          stores the first count lanes
 *   TILES                             TILE(rows, vectors) for each function
 */
#define TILE(ROWS, VECTORS)                                                                        \
    TARGET static void NAME(ROWS, VECTORS)(const tile *t)                                          \
    {                                                                                              \
        VECTOR acc[ROWS][VECTORS];                                                                 \
        const float *w = t->w;                                                                     \
        const int64_t stride = t->stride, length = t->length;                                      \
        _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++) _Pragma("GCC unroll 4") for (    \
            int j = 0; j < (VECTORS); j++) acc[i][j] = *(const VECTOR *)(t->bias + LANES * j);     \
        for (int s = 0; s < t->num_pieces; s++) {                                                  \
            const float *p = t->x + t->pieces[s];                                                  \
            for (int64_t k = 0; k < length; k++, p++, w += LANES * (VECTORS)) {                    \
                VECTOR b[VECTORS];                                                                 \
                _Pragma("GCC unroll 4") for (int j = 0; j < (VECTORS); j++) b[j] =                 \
                    *(const VECTOR *)(w + LANES * j);                                              \
                _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                          \
                {                                                                                  \
                    const float one = p[i * stride];                                               \
                    const VECTOR a = SPLAT(one);                                                   \
                    _Pragma("GCC unroll 4") for (int j = 0; j < (VECTORS); j++) acc[i][j] +=       \
                        a * b[j];                                                                  \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                                  \
        {                                                                                          \
            float *y = t->y + i * t->y_stride;                                                     \
            _Pragma("GCC unroll 4") for (int j = 0; j + 1 < (VECTORS);                             \
                                         j++) *(VECTOR *)(y + LANES * j) = acc[i][j];              \
            STORE(y + LANES * ((VECTORS)-1), acc[i][(VECTORS)-1], t->last);                        \
        }                                                                                          \
    }

TILES

#undef TILES
#undef TILE
#undef LANES
#undef VECTOR
#undef SPLAT
#undef TARGET
#undef NAME
#undef STORE
