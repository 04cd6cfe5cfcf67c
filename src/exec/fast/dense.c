#include "exec/fast/dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "exec/fast/simd.h"
#if PDM_SIMD_X86
#include <immintrin.h>
#endif

enum { MAX_VECTORS = 4 };

typedef struct tile {
    const float *x;
    int64_t stride;
    const int64_t *pieces;
    int num_pieces;
    int64_t length;
    const float *w, *bias;
    float *y;
    int64_t y_stride;
    int last; /* columns of the last vector that are there */
} tile;

typedef void (*tile_fn)(const tile *t);

/* Loads and stores at any address, of memory that is read as floats elsewhere. */
typedef float vec4 __attribute__((vector_size(16), aligned(4), may_alias));

/* Else the compiler knows better, and keeps the offset of each row twice, for lack of registers in memory. */
#define HIDE(pointer) __asm__("" : "+r"(pointer))

/* Two floats, to be moved only. */
typedef double pair __attribute__((aligned(4), may_alias));
typedef double pairs2 __attribute__((vector_size(16)));

static inline void store4(float *to, vec4 v, int count)
{
    if (count == 4)
        *(vec4 *)to = v;
    else
        memcpy(to, &v, (size_t)count * sizeof *to);
}

/* Sums of neighbours, side by side. */
static inline vec4 sum_pairs4(vec4 v)
{
    return (vec4){v[0] + v[1], v[2] + v[3]};
}

/* 16 registers: 12 sums at most, since operands need some too. */
#define SMALL_TILES                                                                                \
    TILE(8, 1)                                                                                     \
    TILE(4, 1) TILE(2, 1) TILE(1, 1) TILE(6, 2) TILE(4, 2) TILE(1, 2) TILE(4, 3) TILE(1, 3)
#define SMALL_HALF_TILES                                                                           \
    HALF_TILE(8, 0)                                                                                \
    HALF_TILE(4, 0)                                                                                \
    HALF_TILE(1, 0) HALF_TILE(6, 1) HALF_TILE(4, 1) HALF_TILE(1, 1) HALF_TILE(4, 2) HALF_TILE(1, 2)

#define LANES            4
#define VECTOR           vec4
#define SPLAT(one)       ((vec4){one, one, one, one})
#define SPLAT_PAIR(two)  ((pairs2){two, two})
#define SUM_PAIRS(v)     sum_pairs4(v)
#define TARGET
#define NAME(rows, vecs) portable_##rows##x##vecs
#define STORE            store4
#define TILES            SMALL_TILES
#define HALF_TILES       SMALL_HALF_TILES
#include "exec/fast/dense_tile.h"

#if PDM_SIMD_X86
typedef float vec8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float vec16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double pairs4 __attribute__((vector_size(32)));
typedef double pairs8 __attribute__((vector_size(64)));

PDM_TARGET_AVX2 static inline void store8(float *to, vec8 v, int count)
{
    if (count == 8)
        *(vec8 *)to = v;
    else
        memcpy(to, &v, (size_t)count * sizeof *to);
}

PDM_TARGET_AVX2 static inline vec8 sum_pairs8(vec8 v)
{
    return (vec8){v[0] + v[1], v[2] + v[3], v[4] + v[5], v[6] + v[7]};
}

#define LANES            8
#define VECTOR           vec8
#define SPLAT(one)       ((vec8){one, one, one, one, one, one, one, one})
#define SPLAT_PAIR(two)  ((pairs4){two, two, two, two})
#define SUM_PAIRS(v)     sum_pairs8(v)
#define TARGET           PDM_TARGET_AVX2
#define NAME(rows, vecs) avx2_##rows##x##vecs
#define STORE            store8
#define TILES            SMALL_TILES
#define HALF_TILES       SMALL_HALF_TILES
#include "exec/fast/dense_tile.h"

#define LANES 16
#define VECTOR vec16
#define SPLAT(one)                                                                                 \
    ((vec16){one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one})
#define SPLAT_PAIR(two)       ((pairs8){two, two, two, two, two, two, two, two})
#define SUM_PAIRS(v)                                                                               \
    _mm512_maskz_compress_ps(0x5555, (__m512)(v) + _mm512_permute_ps((__m512)(v), 0xb1))
#define TARGET                PDM_TARGET_AVX512
#define NAME(rows, vecs)      avx512_##rows##x##vecs
#define STORE(to, v, count) _mm512_mask_storeu_ps(to, (__mmask16)((1U << (count)) - 1), (__m512)(v))
#define TILES                                                                                      \
    TILE(16, 1)                                                                                    \
    TILE(4, 1) TILE(1, 1) TILE(12, 2) TILE(4, 2) TILE(1, 2) TILE(8, 3) TILE(4, 3) TILE(1, 3)       \
    TILE(6, 4) TILE(2, 4) TILE(1, 4)
#define HALF_TILES                                                                                 \
    HALF_TILE(16, 0)                                                                               \
    HALF_TILE(4, 0) HALF_TILE(1, 0) HALF_TILE(12, 1) HALF_TILE(4, 1) HALF_TILE(1, 1)               \
    HALF_TILE(8, 2) HALF_TILE(4, 2) HALF_TILE(1, 2) HALF_TILE(6, 3) HALF_TILE(2, 3) HALF_TILE(1, 3)
#include "exec/fast/dense_tile.h"
#endif

/* ---- choice of tiles ------------------------------------------------------------------------- */

typedef struct tile_kind {
    int rows;
    tile_fn fn;
} tile_kind;

/* What a machine does: lanes, most vectors of a panel, and tiles by vectors, tallest first; half: those whose
 * last vector has only half the columns. */
typedef struct machine {
    int lanes, vectors;
    tile_kind tiles[MAX_VECTORS][4], half[MAX_VECTORS][4];
} machine;

#define SMALL_MACHINE(name, lanes)                                                                 \
    {                                                                                              \
        lanes, 3,                                                                                  \
        {                                                                                          \
            {{8, name##_8x1}, {4, name##_4x1}, {2, name##_2x1}, {1, name##_1x1}},                  \
                {{6, name##_6x2}, {4, name##_4x2}, {1, name##_1x2}},                               \
                {{4, name##_4x3}, {1, name##_1x3}},                                                \
        },                                                                                         \
        {                                                                                          \
            {{8, name##_8x0h}, {4, name##_4x0h}, {1, name##_1x0h}},                                \
                {{6, name##_6x1h}, {4, name##_4x1h}, {1, name##_1x1h}},                            \
                {{4, name##_4x2h}, {1, name##_1x2h}},                                              \
        }                                                                                          \
    }

static const machine machines[] = {
    [PDM_SIMD_PORTABLE] = SMALL_MACHINE(portable, 4),
#if PDM_SIMD_X86
    [PDM_SIMD_AVX2] = SMALL_MACHINE(avx2, 8),
    [PDM_SIMD_AVX512] = {16,
                         4,
                         {{{16, avx512_16x1}, {4, avx512_4x1}, {1, avx512_1x1}},
                          {{12, avx512_12x2}, {4, avx512_4x2}, {1, avx512_1x2}},
                          {{8, avx512_8x3}, {4, avx512_4x3}, {1, avx512_1x3}},
                          {{6, avx512_6x4}, {2, avx512_2x4}, {1, avx512_1x4}}},
                         {{{16, avx512_16x0h}, {4, avx512_4x0h}, {1, avx512_1x0h}},
                          {{12, avx512_12x1h}, {4, avx512_4x1h}, {1, avx512_1x1h}},
                          {{8, avx512_8x2h}, {4, avx512_4x2h}, {1, avx512_1x2h}},
                          {{6, avx512_6x3h}, {2, avx512_2x3h}, {1, avx512_1x3h}}}},
#endif
};

static const machine *this_machine(void)
{
    return &machines[pdm_simd_level()];
}

/* ---- packing --------------------------------------------------------------------------------- */

static int64_t vectors_of(const machine *m, int64_t cols)
{
    return (cols + m->lanes - 1) / m->lanes;
}

static int panels_of(const machine *m, int64_t cols)
{
    return (int)((vectors_of(m, cols) + m->vectors - 1) / m->vectors);
}

/* Panels differ by one vector at most. */
static int64_t panel_begin(const machine *m, int64_t cols, int panel)
{
    const int panels = panels_of(m, cols);

    return panels ? vectors_of(m, cols) * panel / panels : 0;
}

int64_t pdm_dense_padded(int64_t cols)
{
    const machine *m = this_machine();

    return vectors_of(m, cols) * m->lanes;
}

int pdm_dense_panels(int64_t cols)
{
    return panels_of(this_machine(), cols);
}

enum { LEAST_HALF_DEPTH = 64 }; /* for less than that it does not pay */

/* Whether the last vector of so many columns has at most half of them, and two depths instead. */
static bool is_half(const machine *m, int64_t depth, int64_t cols, bool even)
{
    const int64_t last = cols % m->lanes;

    return even && depth >= LEAST_HALF_DEPTH && last > 0 && last <= m->lanes / 2;
}

static float weight(float number)
{
    return fabsf(number) < FLT_MIN ? 0 : number;
}

/* Columns [begin, end) of one depth; those past `cols` are zero. */
static float *pack_row(const float *row, int64_t stride, int64_t begin, int64_t end, int64_t cols,
                       float *to)
{
    for (int64_t j = begin; j < end; j++)
        *to++ = j < cols ? weight(row[j * stride]) : 0;
    return to;
}

/* The last panel with half a vector at its end. */
static float *pack_half(const machine *m, const float *from, const int64_t *offsets,
                        int64_t stride, int64_t depth, int64_t first, int64_t cols, float *to)
{
    const int64_t full = cols / m->lanes * m->lanes;

    for (int64_t k = 0; k < depth; k += 2) {
        for (int h = 0; h < 2; h++)
            to = pack_row(from + offsets[k + h], stride, first, full, cols, to);
        for (int64_t j = full; j < full + m->lanes / 2; j++) {
            for (int h = 0; h < 2; h++)
                *to++ = j < cols ? weight(from[offsets[k + h] + j * stride]) : 0;
        }
    }
    return to;
}

void pdm_dense_pack(const float *from, const int64_t *offsets, int64_t stride, int64_t depth,
                    int64_t cols, bool even, float *to)
{
    const machine *m = this_machine();
    const int panels = panels_of(m, cols);
    const float *const all = to + depth * pdm_dense_padded(cols);

    for (int p = 0; p < panels; p++) {
        const int64_t first = panel_begin(m, cols, p) * m->lanes;
        const int64_t end = panel_begin(m, cols, p + 1) * m->lanes;
        if (p == panels - 1 && is_half(m, depth, cols, even)) {
            to = pack_half(m, from, offsets, stride, depth, first, cols, to);
            continue;
        }
        for (int64_t k = 0; k < depth; k++)
            to = pack_row(from + offsets[k], stride, first, end, cols, to);
    }
    while (to < all)
        *to++ = 0;
}

void pdm_dense_pad_bias(const float *bias, int64_t cols, float *to)
{
    const int64_t padded = pdm_dense_padded(cols);

    for (int64_t i = 0; i < padded; i++)
        to[i] = i < cols ? weight(bias[i]) : 0;
}

const float *pdm_dense_bias(pdm_k *k, const float *bias, int64_t cols)
{
    const int64_t padded = pdm_dense_padded(cols);
    float *to = pdm_k_temp(k, (size_t)padded * sizeof *to);

    if (to)
        pdm_dense_pad_bias(bias, cols, to);
    return to;
}

/* ---- running --------------------------------------------------------------------------------- */

static const float zeros[MAX_VECTORS * 16];

static void run_panel(const machine *m, const pdm_dense *d, const pdm_dense_rows *x, int64_t row,
                      int64_t rows, int panel)
{
    const int64_t v0 = panel_begin(m, d->cols, panel), v1 = panel_begin(m, d->cols, panel + 1);
    const int64_t c0 = v0 * m->lanes;
    const int64_t cols = (v1 * m->lanes < d->cols ? v1 * m->lanes : d->cols) - c0;
    const bool half = v1 * m->lanes >= d->cols && is_half(m, d->depth, d->cols, d->even);
    const tile_kind *kind = half ? m->half[v1 - v0 - 1] : m->tiles[v1 - v0 - 1];
    tile t = {.stride = x->stride,
              .pieces = x->pieces,
              .num_pieces = x->num_pieces,
              .length = x->length,
              .w = d->weights + c0 * d->depth,
              .bias = d->bias ? d->bias + c0 : zeros,
              .y_stride = d->stride,
              .last = (int)(cols - (v1 - v0 - 1) * m->lanes)};

    for (int64_t i = 0; i < rows; i += kind->rows) {
        while (kind->rows > rows - i)
            kind++;
        t.x = x->first + i * x->stride;
        t.y = d->y + (row + i) * d->stride + c0;
        kind->fn(&t);
    }
}

void pdm_dense_run(const pdm_dense *d, const pdm_dense_rows *x, int64_t row, int64_t rows,
                   int begin, int end)
{
    const machine *m = this_machine();

    for (int p = begin; p < end; p++)
        run_panel(m, d, x, row, rows, p);
    if (d->post && begin < end) {
        const int64_t c0 = panel_begin(m, d->cols, begin) * m->lanes;
        const int64_t c1 = panel_begin(m, d->cols, end) * m->lanes;
        pdm_post_apply(d->post, d->y + row * d->stride + c0, d->stride, row, rows, d->channel + c0,
                       (c1 < d->cols ? c1 : d->cols) - c0);
    }
}
