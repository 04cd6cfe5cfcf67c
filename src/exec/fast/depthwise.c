/*
 * Depthwise convolution of channels-last images: each channel has a kernel of its own. Sums are
 * kept in registers for a few neighbouring places of the result; what is done to the result is done
 * while these are in the cache.
 */
#include <string.h>

#include "exec/fast/depthwise.h"
#include "exec/fast/simd.h"

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Strides in floats; kernel: only what is on the image. */
typedef struct tile {
    const float *x, *f, *bias; /* bias may be NULL */
    float *y;
    int64_t kernel[2], channels;
    int64_t x_row, x_tap, x_place, f_row, f_tap, y_place;
    int64_t first, end, count; /* edges: places of the image that are there, places that are wanted */
} tile;

typedef void (*tile_fn)(const tile *t);

typedef float vec4 __attribute__((vector_size(16), aligned(4), may_alias));

enum { PLACES = 8 };

#define LANES      4
#define VECTOR     vec4
#define VECTORS    1
#define TARGET
#define NAME(tile) portable_##tile
#include "exec/fast/depthwise_tile.h"

#if PDM_SIMD_X86
typedef float vec8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float vec16 __attribute__((vector_size(64), aligned(4), may_alias));

#define LANES      8
#define VECTOR     vec8
#define VECTORS    1
#define TARGET     PDM_TARGET_AVX2
#define NAME(tile) avx2_##tile
#include "exec/fast/depthwise_tile.h"

#define LANES      16
#define VECTOR     vec16
#define VECTORS    2
#define TARGET     PDM_TARGET_AVX512
#define NAME(tile) avx512_##tile
#include "exec/fast/depthwise_tile.h"
#endif

/* Fewer channels than a vector has lanes: one place. */
static void narrow(const tile *t)
{
    for (int64_t c = 0; c < t->channels; c++) {
        float sum = t->bias ? t->bias[c] : 0.0f;
        for (int64_t ky = 0; ky < t->kernel[0]; ky++) {
            for (int64_t kx = 0; kx < t->kernel[1]; kx++)
                sum += t->x[ky * t->x_row + kx * t->x_tap + c] *
                       t->f[ky * t->f_row + kx * t->f_tap + c];
        }
        t->y[c] = sum;
    }
}

/* rows: by width (3, 5), stride, and whether it is an edge. */
typedef struct machine {
    int lanes;
    tile_fn any, one, rows[2][2][2];
} machine;

#define MACHINE(name, lanes)                                                                       \
    {                                                                                              \
        lanes, name##_any, name##_one,                                                             \
        {                                                                                          \
            {{name##_3x1, name##_3x1_edge}, {name##_3x2, name##_3x2_edge}},                        \
            {                                                                                      \
                {name##_5x1, name##_5x1_edge},                                                     \
                {                                                                                  \
                    name##_5x2, name##_5x2_edge                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

static const machine machines[] = {
    [PDM_SIMD_PORTABLE] = MACHINE(portable, 4),
#if PDM_SIMD_X86
    [PDM_SIMD_AVX2] = MACHINE(avx2, 8),
    [PDM_SIMD_AVX512] = MACHINE(avx512, 16),
#endif
};

/* Vectors as wide as the machine has, but no wider than there are channels. */
static const machine *machine_for(int64_t channels)
{
    const machine *m = &machines[pdm_simd_level()];

    while (m->lanes > channels && m > machines)
        m--;
    return m;
}

/* ---- lines of the result --------------------------------------------------------------------- */

/* Filters of so many floats stay in the first cache beside the image. */
enum { GROUP_FLOATS = 4096 };

/* The part of a kernel that is on the image: [*begin, *end) of n. */
static void clip(int64_t at, int64_t dilation, int64_t size, int64_t n, int64_t *begin,
                 int64_t *end)
{
    *begin = at < 0 ? (-at + dilation - 1) / dilation : 0;
    *end = at < size ? (size - 1 - at) / dilation + 1 : 0;
    *end = *end < n ? *end : n;
    *begin = *begin < *end ? *begin : *end;
}

/* Place `at` of a line, and those beside it that a tile has; all of one place's kernel that is on the image if
 * count is 1. */
static void run_places(const pdm_depthwise *d, tile t, int64_t at, int64_t count, tile_fn fn)
{
    const pdm_nn_window *w = &d->c->w;
    const int64_t x = at * w->stride[2] - w->before[2];
    int64_t begin = 0, end = w->kernel[2];

    if (count == 1)
        clip(x, w->dilation[2], w->in[2], w->kernel[2], &begin, &end);
    t.kernel[1] = end - begin;
    t.x += x * w->channels + begin * t.x_tap;
    t.f += begin * t.f_tap;
    fn(&t);
}

/* Up to PLACES places, those at the edges too. */
static void run_row(const pdm_depthwise *d, tile t, int64_t at, int64_t count, const tile_fn fn[2])
{
    const pdm_nn_window *w = &d->c->w;
    const int64_t x = at * w->stride[2] - w->before[2], room = w->in[2] - x;
    const int64_t span = (PLACES - 1) * w->stride[2] + w->kernel[2];

    t.x += x * w->channels;
    t.first = x < 0 ? -x : 0;
    t.end = room < span ? room : span;
    t.count = count;
    fn[t.first > 0 || t.end < span || count < PLACES](&t);
}

static const tile_fn *row_tiles(const pdm_depthwise *d)
{
    const pdm_nn_window *w = &d->c->w;
    const int64_t size = w->kernel[2], stride = w->stride[2];

    if (w->dilation[2] != 1 || (size != 3 && size != 5) || (stride != 1 && stride != 2))
        return NULL;
    return d->m->rows[size == 5][stride == 2];
}

/* Channels [first, first + line->channels) of places; line->y: those of the first place. */
static void run_group(const pdm_depthwise *d, const tile *line, int64_t row, int64_t begin,
                      int64_t end, int64_t first)
{
    const pdm_post *post = pdm_fast_conv_post(d->c);
    const bool wide = line->channels >= d->m->lanes;
    const tile_fn *rows = wide ? row_tiles(d) : NULL;
    tile t = *line;

    for (int64_t at = begin, count; at < end; at += count, t.y += count * t.y_place) {
        count = end - at < PLACES ? end - at : PLACES;
        if (rows) {
            run_row(d, t, at, count, rows);
        } else {
            const bool whole = count == PLACES && at >= d->inside[0] && at + count <= d->inside[1];
            count = wide && whole ? count : 1;
            run_places(d, t, at, count, count > 1 ? d->m->any : wide ? d->m->one : narrow);
        }
        if (post)
            pdm_post_apply(post, t.y, t.y_place, row + at, count, first, t.channels);
    }
}

void pdm_depthwise_run(const pdm_depthwise *d, int64_t line, int64_t begin, int64_t end, float *y)
{
    const pdm_fast_conv *conv = d->c;
    const pdm_nn_window *w = &conv->w;
    const int64_t n = w->channels, image = line / w->out[1];
    const int64_t top = line % w->out[1] * w->stride[1] - w->before[1];
    int64_t first, last;

    clip(top, w->dilation[1], w->in[1], w->kernel[1], &first, &last);
    for (int64_t c = 0, channels; c < n; c += channels) {
        const int64_t first_row = top + first * w->dilation[1];
        channels = n - c < d->group + d->m->lanes ? n - c : d->group; /* the last has a vector */
        const tile t = {.x = conv->x + (image * w->in[1] + first_row) * w->in[2] * n + c,
                        .f = conv->filter + first * w->kernel[2] * n + c,
                        .bias = conv->bias ? conv->bias + c : NULL,
                        .y = y + c,
                        .kernel = {last - first, 0},
                        .channels = channels,
                        .x_row = w->dilation[1] * w->in[2] * n,
                        .x_tap = w->dilation[2] * n,
                        .x_place = w->stride[2] * n,
                        .f_row = w->kernel[2] * n,
                        .f_tap = n,
                        .y_place = n};
        run_group(d, &t, line * w->out[2], begin, end, c);
    }
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Whole pairs of vectors. */
static int64_t group_of(const pdm_depthwise *d)
{
    const pdm_nn_window *w = &d->c->w;
    const int64_t pair = 2 * d->m->lanes, most = GROUP_FLOATS / (w->kernel[1] * w->kernel[2]);

    return most < pair ? pair : most / pair * pair;
}

static void find_inside(pdm_depthwise *d)
{
    const pdm_nn_window *w = &d->c->w;
    const int64_t stride = w->stride[2], before = w->before[2];
    const int64_t last = w->in[2] + before - w->dilation[2] * (w->kernel[2] - 1) - 1;

    d->inside[0] = before > 0 ? (before + stride - 1) / stride : 0;
    d->inside[1] = last < 0 ? 0 : last / stride + 1;
    d->inside[1] = d->inside[1] < w->out[2] ? d->inside[1] : w->out[2];
}

bool pdm_depthwise_begin(pdm_k *k, pdm_depthwise *d, const pdm_fast_conv *c)
{
    if (!pdm_fast_conv_filter_is(k, c->w.kernel[1] * c->w.kernel[2] * c->channels))
        return false;
    if (c->in_group != 1 || c->groups != c->channels) {
        pdm_k_fail(k, "the filter is none of a depthwise convolution");
        return false;
    }
    d->c = c;
    d->m = machine_for(c->channels);
    d->group = group_of(d);
    find_inside(d);
    return true;
}

static void run_lines(void *arg, int64_t begin, int64_t end)
{
    const pdm_depthwise *d = arg;
    const int64_t width = d->c->w.out[2];

    for (int64_t line = begin; line < end; line++)
        pdm_depthwise_run(d, line, 0, width, d->c->y + line * width * d->c->channels);
}

pdm_status pdm_kernel_fast_depthwise_conv2d(pdm_k *k)
{
    pdm_fast_conv c;
    pdm_depthwise d;

    if (!pdm_fast_conv_begin(k, &c) || !pdm_depthwise_begin(k, &d, &c))
        return k->status;
    if (c.y) {
        const int64_t line = c.w.out[2] * c.channels * c.w.kernel[1] * c.w.kernel[2];
        pdm_k_parallel(k, c.w.batch * c.w.out[1], 1 + 100000 / (line + 1), run_lines, &d);
    }
    return pdm_fast_conv_end(k, &c);
}
