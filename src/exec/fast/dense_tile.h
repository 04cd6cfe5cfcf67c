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

/*
 * The same with a vector more, of which half the columns are there: its lanes take products of two depths, side
 * by side, which are added up at the end. The depth of a piece is even.
 */
#define HALF_TILE(ROWS, FULL)                                                                      \
    TARGET static void NAME(ROWS, FULL##h)(const tile *t)                                          \
    {                                                                                              \
        VECTOR acc[ROWS][(FULL) + 1];                                                              \
        float lanes[LANES] = {0};                                                                  \
        const float *w = t->w;                                                                     \
        const int64_t stride = t->stride, length = t->length;                                      \
        for (int c = 0; c < LANES / 2; c++)                                                        \
            lanes[2 * c] = t->bias[LANES * (FULL) + c];                                            \
        _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                                  \
        {                                                                                          \
            _Pragma("GCC unroll 4") for (int j = 0; j < (FULL); j++) acc[i][j] =                   \
                *(const VECTOR *)(t->bias + LANES * j);                                            \
            acc[i][FULL] = *(const VECTOR *)lanes;                                                 \
        }                                                                                          \
        for (int s = 0; s < t->num_pieces; s++) {                                                  \
            const float *p = t->x + t->pieces[s];                                                  \
            const float *next = p + 1;                                                             \
            HIDE(next);                                                                            \
            for (const float *end = p + length; p < end; p += 2, next += 2) {                      \
                _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++, w += LANES * (FULL))           \
                {                                                                                  \
                    const float *q = h ? next : p;                                                 \
                    VECTOR b[(FULL) + 1];                                                          \
                    _Pragma("GCC unroll 4") for (int j = 0; j < (FULL); j++) b[j] =                \
                        *(const VECTOR *)(w + LANES * j);                                          \
                    _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                      \
                    {                                                                              \
                        const float one = q[i * stride];                                           \
                        const VECTOR a = SPLAT(one);                                               \
                        _Pragma("GCC unroll 4") for (int j = 0; j < (FULL); j++) acc[i][j] +=      \
                            a * b[j];                                                              \
                    }                                                                              \
                }                                                                                  \
                const VECTOR both = *(const VECTOR *)w;                                            \
                _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                          \
                {                                                                                  \
                    const double two = *(const pair *)(p + i * stride);                            \
                    acc[i][FULL] += (VECTOR)SPLAT_PAIR(two) * both;                                \
                }                                                                                  \
                w += LANES;                                                                        \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                                  \
        {                                                                                          \
            float *y = t->y + i * t->y_stride;                                                     \
            _Pragma("GCC unroll 4") for (int j = 0; j < (FULL);                                    \
                                         j++) *(VECTOR *)(y + LANES * j) = acc[i][j];              \
            STORE(y + LANES * (FULL), SUM_PAIRS(acc[i][FULL]), t->last);                           \
        }                                                                                          \
    }

TILES
HALF_TILES

#undef TILES
#undef HALF_TILES
#undef TILE
#undef HALF_TILE
#undef SPLAT_PAIR
#undef SUM_PAIRS
#undef LANES
#undef VECTOR
#undef SPLAT
#undef TARGET
#undef NAME
#undef STORE
