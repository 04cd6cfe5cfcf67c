/*
 * Tiles of depthwise convolutions for one kind of machine: included by depthwise.c with
 *   LANES   floats of a vector        VECTOR  its type, not aligned
 *   TARGET  function attribute        NAME(places)  function names
 *   PLACES  places of the large tile
 * A tile is so many neighbouring places of the result, all channels of a group.
 */
#define STEP(VECTORS, COUNT)                                                                       \
    {                                                                                              \
        VECTOR acc[COUNT][VECTORS];                                                                \
        _Pragma("GCC unroll 2") for (int j = 0; j < (VECTORS); j++)                                \
        {                                                                                          \
            const VECTOR b = t->bias ? *(const VECTOR *)(t->bias + c + LANES * j) : (VECTOR){0};   \
            _Pragma("GCC unroll 8") for (int o = 0; o < (COUNT); o++) acc[o][j] = b;               \
        }                                                                                          \
        for (int64_t ky = 0; ky < t->kernel[0]; ky++) {                                            \
            const float *x = t->x + ky * t->x_row + c, *f = t->f + ky * t->f_row + c;              \
            for (int64_t kx = 0; kx < t->kernel[1]; kx++, x += t->x_tap, f += t->f_tap) {          \
                _Pragma("GCC unroll 2") for (int j = 0; j < (VECTORS); j++)                        \
                {                                                                                  \
                    const VECTOR w = *(const VECTOR *)(f + LANES * j);                             \
                    _Pragma("GCC unroll 8") for (int o = 0; o < (COUNT); o++) acc[o][j] +=         \
                        *(const VECTOR *)(x + o * t->x_place + LANES * j) * w;                     \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int o = 0; o < (COUNT); o++)                                  \
                _Pragma("GCC unroll 2") for (int j = 0; j < (VECTORS); j++) *                      \
            (VECTOR *)(t->y + o * t->y_place + c + LANES * j) = acc[o][j];                         \
    }

/* At least LANES channels: the last vector overlaps the one before, which gives the same numbers
 * twice. */
#define TILE(COUNT)                                                                                \
    TARGET static void NAME(COUNT)(const tile *t)                                                  \
    {                                                                                              \
        int64_t c = 0;                                                                             \
        for (; c + 2 * LANES <= t->channels; c += 2 * LANES)                                       \
            STEP(2, COUNT)                                                                         \
        for (; c < t->channels; c += LANES) {                                                      \
            c = c + LANES <= t->channels ? c : t->channels - LANES;                                \
            STEP(1, COUNT)                                                                         \
        }                                                                                          \
    }

TILE(PLACES)
TILE(1)

#undef STEP
#undef TILE
#undef LANES
#undef VECTOR
#undef TARGET
#undef NAME
#undef PLACES
