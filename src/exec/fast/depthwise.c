/*
 * Depthwise convolution of channels-last images: each channel has a kernel of its own. Sums are
 * kept in registers for a few neighbouring places of the result; what is done to the result is done
 * while these are in the cache.
 */
#include <string.h>

#include "exec/fast/conv_impl.h"
#include "exec/fast/simd.h"

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Strides in floats; kernel: only what is on the image. */
typedef struct tile {
    const float *x, *f, *bias; /* bias may be NULL */
    float *y;
    int64_t kernel[2], channels;
    int64_t x_row, x_tap, x_place, f_row, f_tap, y_place;
} tile;

typedef void (*tile_fn)(const tile *t);

typedef float vec4 __attribute__((vector_size(16), aligned(4), may_alias));

#define LANES  4
#define VECTOR vec4
#define TARGET
#define NAME(places) portable_##places
#define PLACES       4
#include "exec/fast/depthwise_tile.h"

#if PDM_SIMD_X86
typedef float vec8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float vec16 __attribute__((vector_size(64), aligned(4), may_alias));

#define LANES        8
#define VECTOR       vec8
#define TARGET       PDM_TARGET_AVX2
#define NAME(places) avx2_##places
#define PLACES       6
#include "exec/fast/depthwise_tile.h"

#define LANES        16
#define VECTOR       vec16
#define TARGET       PDM_TARGET_AVX512
#define NAME(places) avx512_##places
#define PLACES       8
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

typedef struct machine {
    int lanes, places;
    tile_fn wide, one;
} machine;

static const machine machines[] = {
    [PDM_SIMD_PORTABLE] = {4, 4, portable_4, portable_1},
#if PDM_SIMD_X86
    [PDM_SIMD_AVX2] = {8, 6, avx2_6, avx2_1},
    [PDM_SIMD_AVX512] = {16, 8, avx512_8, avx512_1},
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

typedef struct depthwise {
    pdm_fast_conv c;
    const machine *m;
    int64_t group;     /* channels that are done in one go over a line */
    int64_t inside[2]; /* places of a line whose whole kernel is on the image */
} depthwise;

/* The part of a kernel that is on the image: [*begin, *end) of n. */
static void clip(int64_t at, int64_t dilation, int64_t size, int64_t n, int64_t *begin,
                 int64_t *end)
{
    *begin = at < 0 ? (-at + dilation - 1) / dilation : 0;
    *end = at < size ? (size - 1 - at) / dilation + 1 : 0;
    *end = *end < n ? *end : n;
    *begin = *begin < *end ? *begin : *end;
}

/* Places [at, at + count) of a line; all of one place's kernel that is on the image if count is 1.
 */
static void run_places(const depthwise *d, const tile *line, int64_t at, int64_t count, tile_fn fn)
{
    const pdm_nn_window *w = &d->c.w;
    const int64_t x = at * w->stride[2] - w->before[2];
    int64_t begin = 0, end = w->kernel[2];
    tile t = *line;

    if (count == 1)
        clip(x, w->dilation[2], w->in[2], w->kernel[2], &begin, &end);
    t.kernel[1] = end - begin;
    t.x += x * w->channels + begin * t.x_tap;
    t.f += begin * t.f_tap;
    t.y += at * t.y_place;
    fn(&t);
}

static void run_group(const depthwise *d, const tile *line, int64_t row, int64_t first)
{
    const int64_t places = d->m->places, out = d->c.w.out[2];
    const pdm_post *post = pdm_fast_conv_post(&d->c);
    const bool wide = line->channels >= d->m->lanes;

    for (int64_t at = 0, count; at < out; at += count) {
        count = wide && at >= d->inside[0] && at + places <= d->inside[1] ? places : 1;
        run_places(d, line, at, count, count > 1 ? d->m->wide : wide ? d->m->one : narrow);
        if (post)
            pdm_post_apply(post, line->y + at * line->y_place, line->y_place, row + at, count,
                           first, line->channels);
    }
}

static void run_line(const depthwise *d, int64_t line)
{
    const pdm_nn_window *w = &d->c.w;
    const int64_t n = w->channels, y = line % w->out[1], image = line / w->out[1];
    const int64_t top = y * w->stride[1] - w->before[1];
    int64_t begin, end;

    clip(top, w->dilation[1], w->in[1], w->kernel[1], &begin, &end);
    for (int64_t c = 0, channels; c < n; c += channels) {
        const int64_t first_row = top + begin * w->dilation[1];
        channels = n - c < d->group + d->m->lanes ? n - c : d->group; /* the last has a vector */
        const tile t = {.x = d->c.x + (image * w->in[1] + first_row) * w->in[2] * n + c,
                        .f = d->c.filter + begin * w->kernel[2] * n + c,
                        .bias = d->c.bias ? d->c.bias + c : NULL,
                        .y = d->c.y + line * w->out[2] * n + c,
                        .kernel = {end - begin, 0},
                        .channels = channels,
                        .x_row = w->dilation[1] * w->in[2] * n,
                        .x_tap = w->dilation[2] * n,
                        .x_place = w->stride[2] * n,
                        .f_row = w->kernel[2] * n,
                        .f_tap = n,
                        .y_place = n};
        run_group(d, &t, line * w->out[2], c);
    }
}

static void run_lines(void *arg, int64_t begin, int64_t end)
{
    for (int64_t line = begin; line < end; line++)
        run_line(arg, line);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Whole pairs of vectors. */
static int64_t group_of(const depthwise *d)
{
    const pdm_nn_window *w = &d->c.w;
    const int64_t pair = 2 * d->m->lanes, most = GROUP_FLOATS / (w->kernel[1] * w->kernel[2]);

    return most < pair ? pair : most / pair * pair;
}

static void find_inside(depthwise *d)
{
    const pdm_nn_window *w = &d->c.w;
    const int64_t stride = w->stride[2], before = w->before[2];
    const int64_t last = w->in[2] + before - w->dilation[2] * (w->kernel[2] - 1) - 1;

    d->inside[0] = before > 0 ? (before + stride - 1) / stride : 0;
    d->inside[1] = last < 0 ? 0 : last / stride + 1;
    d->inside[1] = d->inside[1] < w->out[2] ? d->inside[1] : w->out[2];
}

pdm_status pdm_kernel_fast_depthwise_conv2d(pdm_k *k)
{
    depthwise d = {0};
    pdm_fast_conv *c = &d.c;

    if (!pdm_fast_conv_begin(k, c) ||
        !pdm_fast_conv_filter_is(k, c->w.kernel[1] * c->w.kernel[2] * c->channels))
        return k->status;
    if (c->in_group != 1 || c->groups != c->channels)
        return pdm_k_fail(k, "the filter is none of a depthwise convolution");
    if (c->y) {
        d.m = machine_for(c->channels);
        const int64_t line = c->w.out[2] * c->channels * c->w.kernel[1] * c->w.kernel[2];
        d.group = group_of(&d);
        find_inside(&d);
        pdm_k_parallel(k, c->w.batch * c->w.out[1], 1 + 100000 / (line + 1), run_lines, &d);
    }
    return pdm_fast_conv_end(k, c);
}
