/*
 * Tiles of depthwise convolutions for one kind of machine: included by depthwise.c with
 *   LANES   floats of a vector        VECTOR  its type, not aligned
 *   TARGET  function attribute        NAME(tile)  function names
 *   VECTORS vectors of channels that are done at a time, 1 or 2
 * A tile is PLACES (8) neighbouring places of the result, all channels of a group.
 */

/* Channels [c, c + LANES), and with two vectors [c + d, c + d + LANES) too. */
#define AT(j) (c + ((j) ? d : 0))

/*
 * Rows of K taps side by side, S from place to place: a place of the image is loaded once and goes to all sums
 * that it belongs to. Each sum gets its products in the order of the taps all the same. EDGE: some places of the
 * image are not there, or some of the result's are not wanted.
 */
#define ROW_STEP(K, S, V, EDGE)                                                                    \
    {                                                                                              \
        VECTOR acc[PLACES][V];                                                                     \
        _Pragma("GCC unroll 2") for (int j = 0; j < (V); j++)                                      \
        {                                                                                          \
            const VECTOR b = t->bias ? *(const VECTOR *)(t->bias + AT(j)) : (VECTOR){0};           \
            _Pragma("GCC unroll 8") for (int o = 0; o < PLACES; o++) acc[o][j] = b;                \
        }                                                                                          \
        for (int64_t ky = 0; ky < t->kernel[0]; ky++) {                                            \
            const float *x = t->x + ky * t->x_row, *f = t->f + ky * t->f_row;                      \
            VECTOR w[K][V];                                                                        \
            _Pragma("GCC unroll 5") for (int kx = 0; kx < (K); kx++)                               \
                _Pragma("GCC unroll 2") for (int j = 0; j < (V); j++) w[kx][j] =                   \
                    *(const VECTOR *)(f + kx * t->f_tap + AT(j));                                  \
            _Pragma("GCC unroll 19") for (int p = 0; p < (PLACES - 1) * (S) + (K);                 \
                                          p++, x += t->x_tap)                                      \
            {                                                                                      \
                if ((EDGE) && (p < t->first || p >= t->end))                                       \
                    continue;                                                                      \
                _Pragma("GCC unroll 2") for (int j = 0; j < (V); j++)                              \
                {                                                                                  \
                    const VECTOR v = *(const VECTOR *)(x + AT(j));                                 \
                    _Pragma("GCC unroll 5") for (int kx = 0; kx < (K); kx++)                       \
                    {                                                                              \
                        if (p >= kx && (p - kx) % (S) == 0 && (p - kx) / (S) < PLACES)             \
                            acc[(p - kx) / (S)][j] += v * w[kx][j];                                \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int o = 0; o < PLACES; o++)                                   \
        {                                                                                          \
            if ((EDGE) && o >= t->count)                                                           \
                break;                                                                             \
            _Pragma("GCC unroll 2") for (int j = 0; j < (V); j++) *                                \
                (VECTOR *)(t->y + o * t->y_place + AT(j)) = acc[o][j];                             \
        }                                                                                          \
    }

/* Any kernel; all of it is on the image. */
#define STEP(COUNT, V)                                                                             \
    {                                                                                              \
        VECTOR acc[COUNT][V];                                                                      \
        _Pragma("GCC unroll 2") for (int j = 0; j < (V); j++)                                      \
        {                                                                                          \
            const VECTOR b = t->bias ? *(const VECTOR *)(t->bias + AT(j)) : (VECTOR){0};           \
            _Pragma("GCC unroll 8") for (int o = 0; o < (COUNT); o++) acc[o][j] = b;               \
        }                                                                                          \
        for (int64_t ky = 0; ky < t->kernel[0]; ky++) {                                            \
            const float *x = t->x + ky * t->x_row, *f = t->f + ky * t->f_row;                      \
            for (int64_t kx = 0; kx < t->kernel[1]; kx++, x += t->x_tap, f += t->f_tap) {          \
                _Pragma("GCC unroll 2") for (int j = 0; j < (V); j++)                              \
                {                                                                                  \
                    const VECTOR w = *(const VECTOR *)(f + AT(j));                                 \
                    _Pragma("GCC unroll 8") for (int o = 0; o < (COUNT); o++) acc[o][j] +=         \
                        *(const VECTOR *)(x + o * t->x_place + AT(j)) * w;                         \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int o = 0; o < (COUNT); o++)                                  \
                _Pragma("GCC unroll 2") for (int j = 0; j < (V); j++) *                            \
            (VECTOR *)(t->y + o * t->y_place + AT(j)) = acc[o][j];                                 \
    }

/* At least LANES channels: the last vector overlaps the one before, which gives the same numbers
 * twice. */
#define EACH_GROUP(ONE, MORE)                                                                      \
    const int64_t n = t->channels;                                                                 \
    for (int64_t c = 0, d; c < n; c += VECTORS * LANES) {                                          \
        if (n - c <= LANES) {                                                                      \
            d = 0;                                                                                 \
            c = n - LANES;                                                                         \
            ONE                                                                                    \
        } else {                                                                                   \
            d = n - c < 2 * LANES ? n - c - LANES : LANES;                                         \
            MORE                                                                                   \
        }                                                                                          \
    }                                                                                              \
    (void)t;

#define ROW_TILE(K, S, EDGE, name)                                                                 \
    TARGET static void NAME(name)(const tile *t)                                                   \
    {                                                                                              \
        EACH_GROUP(ROW_STEP(K, S, 1, EDGE), ROW_STEP(K, S, VECTORS, EDGE))                         \
    }

#define TILE(COUNT, name)                                                                          \
    TARGET static void NAME(name)(const tile *t)                                                   \
    {                                                                                              \
        EACH_GROUP(STEP(COUNT, 1), STEP(COUNT, VECTORS))                                           \
    }

TILE(PLACES, any)
TILE(1, one)
ROW_TILE(3, 1, false, 3x1)
ROW_TILE(3, 1, true, 3x1_edge)
ROW_TILE(3, 2, false, 3x2)
ROW_TILE(3, 2, true, 3x2_edge)
ROW_TILE(5, 1, false, 5x1)
ROW_TILE(5, 1, true, 5x1_edge)
ROW_TILE(5, 2, false, 5x2)
ROW_TILE(5, 2, true, 5x2_edge)

#undef AT
#undef ROW_STEP
#undef STEP
#undef EACH_GROUP
#undef ROW_TILE
#undef TILE
#undef LANES
#undef VECTOR
#undef VECTORS
#undef TARGET
#undef NAME
