#include "exec/fast/dense.h"

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

static inline void store4(float *to, vec4 v, int count)
{
    if (count == 4)
        *(vec4 *)to = v;
    else
        memcpy(to, &v, (size_t)count * sizeof *to);
}

/* 16 registers: 12 sums at most, since operands need some too. */
#define SMALL_TILES                                                                                \
    TILE(8, 1)                                                                                     \
    TILE(4, 1) TILE(2, 1) TILE(1, 1) TILE(6, 2) TILE(4, 2) TILE(1, 2) TILE(4, 3) TILE(1, 3)

#define LANES            4
#define VECTOR           vec4
#define SPLAT(one)       ((vec4){one, one, one, one})
#define TARGET
#define NAME(rows, vecs) portable_##rows##x##vecs
#define STORE            store4
#define TILES            SMALL_TILES
#include "exec/fast/dense_tile.h"

#if PDM_SIMD_X86
typedef float vec8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float vec16 __attribute__((vector_size(64), aligned(4), may_alias));

PDM_TARGET_AVX2 static inline void store8(float *to, vec8 v, int count)
{
    if (count == 8)
        *(vec8 *)to = v;
    else
        memcpy(to, &v, (size_t)count * sizeof *to);
}

#define LANES            8
#define VECTOR           vec8
#define SPLAT(one)       ((vec8){one, one, one, one, one, one, one, one})
#define TARGET           PDM_TARGET_AVX2
#define NAME(rows, vecs) avx2_##rows##x##vecs
#define STORE            store8
#define TILES            SMALL_TILES
#include "exec/fast/dense_tile.h"

#define LANES 16
#define VECTOR vec16
#define SPLAT(one)                                                                                 \
    ((vec16){one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one})
#define TARGET                PDM_TARGET_AVX512
#define NAME(rows, vecs)      avx512_##rows##x##vecs
#define STORE(to, v, count) _mm512_mask_storeu_ps(to, (__mmask16)((1U << (count)) - 1), (__m512)(v))
#define TILES                                                                                      \
    TILE(16, 1)                                                                                    \
    TILE(4, 1) TILE(1, 1) TILE(12, 2) TILE(4, 2) TILE(1, 2) TILE(8, 3) TILE(4, 3) TILE(1, 3)       \
    TILE(6, 4) TILE(2, 4) TILE(1, 4)
#include "exec/fast/dense_tile.h"
#endif

/* ---- choice of tiles ------------------------------------------------------------------------- */

typedef struct tile_kind {
    int rows;
    tile_fn fn;
} tile_kind;

/* What a machine does: lanes, most vectors of a panel, and tiles by vectors, tallest first. */
typedef struct machine {
    int lanes, vectors;
    tile_kind tiles[MAX_VECTORS][4];
} machine;

#define SMALL_MACHINE(name, lanes)                                                                 \
    {                                                                                              \
        lanes, 3,                                                                                  \
        {                                                                                          \
            {{8, name##_8x1}, {4, name##_4x1}, {2, name##_2x1}, {1, name##_1x1}},                  \
                {{6, name##_6x2}, {4, name##_4x2}, {1, name##_1x2}},                               \
                {{4, name##_4x3}, {1, name##_1x3}},                                                \
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
                          {{6, avx512_6x4}, {2, avx512_2x4}, {1, avx512_1x4}}}},
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

void pdm_dense_pack(const float *from, const int64_t *offsets, int64_t stride, int64_t depth,
                    int64_t cols, float *to)
{
    const machine *m = this_machine();

    for (int p = 0; p < panels_of(m, cols); p++) {
        const int64_t first = panel_begin(m, cols, p) * m->lanes;
        const int64_t end = panel_begin(m, cols, p + 1) * m->lanes;
        const int64_t some = (end < cols ? end : cols) - first;
        for (int64_t k = 0; k < depth; k++, to += end - first) {
            const float *row = from + offsets[k] + first * stride;
            for (int64_t j = 0; j < some; j++)
                to[j] = row[j * stride];
            for (int64_t j = some; j < end - first; j++)
                to[j] = 0;
        }
    }
}

const float *pdm_dense_bias(pdm_k *k, const float *bias, int64_t cols)
{
    const int64_t padded = pdm_dense_padded(cols);
    float *to = pdm_k_temp(k, (size_t)padded * sizeof *to);

    if (!to)
        return NULL;
    memcpy(to, bias, (size_t)cols * sizeof *to);
    memset(to + cols, 0, (size_t)(padded - cols) * sizeof *to);
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
    const tile_kind *kind = m->tiles[v1 - v0 - 1];
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
