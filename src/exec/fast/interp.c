/* Nearest and bilinear interpolation of float32 images. */
#include <string.h>

#include "exec/fast/vmath.h"
#include "exec/kernels/nn_interp.h"

/* ---- loops ----------------------------------------------------------------------------------- */

#define MIX_PARAMS                                                                                 \
    float *out, const float *a, const float *b, const float *c, const float *d, float wa,          \
        float wb, float wc, float wd, int64_t n
#define MIX_ARGS out, a, b, c, d, wa, wb, wc, wd, n

/* Four corners of n channels. */
PDM_INLINE void mix_channels_body(MIX_PARAMS)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] * wa + b[i] * wb + c[i] * wc + d[i] * wd;
}
static void mix_channels(MIX_PARAMS);
PDM_CLONES(mix_channels, (MIX_PARAMS), (MIX_ARGS))

#define BLEND_PARAMS float *out, const float *a, const float *b, float wa, float wb, int64_t n
PDM_INLINE void blend_body(BLEND_PARAMS)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] * wa + b[i] * wb;
}
static void blend(BLEND_PARAMS);
PDM_CLONES(blend, (BLEND_PARAMS), (out, a, b, wa, wb, n))

/* ---- channels last --------------------------------------------------------------------------- */

static void copy_places(const pdm_nn_interp *p, const float *x, float *y)
{
    const int64_t n = p->w.channels, *from = p->axes[2].from;

    for (int64_t at = 0; at < p->w.out[2]; at++)
        memcpy(y + at * n, x + from[at * PDM_INTERP_TAPS] * n, sizeof *y * (size_t)n);
}

static void mix_places(const pdm_nn_interp *p, const float *image, int64_t row, float *y)
{
    const pdm_nn_interp_axis *v = &p->axes[1], *h = &p->axes[2];
    const int64_t n = p->w.channels, at_y = row * PDM_INTERP_TAPS;
    const float *upper = image + v->from[at_y] * p->xs[3];
    const float *lower = image + v->from[at_y + 1] * p->xs[3];
    const float wu = (float)v->weight[at_y], wl = (float)v->weight[at_y + 1];

    for (int64_t at = 0; at < p->w.out[2]; at++) {
        const int64_t i = at * PDM_INTERP_TAPS;
        const int64_t left = h->from[i] * n, right = h->from[i + 1] * n;
        const float wleft = (float)h->weight[i], wright = (float)h->weight[i + 1];
        mix_channels(y + at * n, upper + left, lower + left, upper + right, lower + right,
                     wu * wleft, wl * wleft, wu * wright, wl * wright, n);
    }
}

static void rows_last(void *arg, int64_t begin, int64_t end)
{
    const pdm_nn_interp *p = arg;
    const int64_t height = p->w.out[1];

    for (int64_t r = begin; r < end; r++) {
        const float *image = (const float *)p->x->data + r / height * p->xs[0];
        float *y = (float *)p->out->data + r * p->os[3];
        const int64_t at = r % height * PDM_INTERP_TAPS, *from = p->axes[1].from;
        if (p->method == PDM_INTERP_LINEAR)
            mix_places(p, image, r % height, y);
        else if (r > begin && r % height > 0 && from[at] == from[at - PDM_INTERP_TAPS])
            memcpy(y, y - p->os[3], sizeof *y * (size_t)p->os[3]);
        else
            copy_places(p, image + from[at] * p->xs[3], y);
    }
}

/* ---- channels first -------------------------------------------------------------------------- */

typedef struct planes {
    const pdm_nn_interp *p;
    const int32_t *from[2]; /* columns of the operand; the second only for linear */
    const float *weight[2];
    float *rows; /* room for two stretched rows and their numbers, for each range of planes */
} planes;

static void stretch(const planes *s, const float *x, float *y)
{
    const int64_t n = s->p->w.out[2];
    const int32_t *a = s->from[0], *b = s->from[1];

    if (s->p->method == PDM_INTERP_NEAREST) {
        for (int64_t i = 0; i < n; i++)
            y[i] = x[a[i]];
    } else {
        for (int64_t i = 0; i < n; i++)
            y[i] = x[a[i]] * s->weight[0][i] + x[b[i]] * s->weight[1][i];
    }
}

static void plane_nearest(const planes *s, const float *x, float *y)
{
    const pdm_nn_interp *p = s->p;
    const int64_t n = p->w.out[2], *from = p->axes[1].from;

    for (int64_t r = 0; r < p->w.out[1]; r++) {
        const int64_t at = r * PDM_INTERP_TAPS;
        if (r > 0 && from[at] == from[at - PDM_INTERP_TAPS])
            memcpy(y + r * n, y + (r - 1) * n, sizeof *y * (size_t)n);
        else
            stretch(s, x + from[at] * p->w.in[2], y + r * n);
    }
}

/* Rows of the operand are stretched once: an upper one is the lower one of the rows before. */
static void plane_linear(const planes *s, const float *x, float *y, float *room)
{
    const pdm_nn_interp *p = s->p;
    const int64_t n = p->w.out[2], *from = p->axes[1].from;
    const double *weight = p->axes[1].weight;
    float *rows[2] = {room, room + n};
    int64_t have[2] = {-1, -1};

    for (int64_t r = 0; r < p->w.out[1]; r++) {
        const int64_t at = r * PDM_INTERP_TAPS;
        if (have[0] != from[at] && have[1] == from[at]) {
            float *const row = rows[0];
            rows[0] = rows[1];
            rows[1] = row;
            have[1] = have[0];
            have[0] = from[at];
        }
        for (int i = 0; i < 2; i++) {
            if (have[i] != from[at + i])
                stretch(s, x + from[at + i] * p->w.in[2], rows[i]);
            have[i] = from[at + i];
        }
        blend(y + r * n, rows[0], rows[1], (float)weight[at], (float)weight[at + 1], n);
    }
}

static void whole_planes(void *arg, int64_t begin, int64_t end)
{
    const planes *s = arg;
    const pdm_nn_interp *p = s->p;

    for (int64_t i = begin; i < end; i++) {
        const float *x = (const float *)p->x->data + i * p->xs[1];
        float *y = (float *)p->out->data + i * p->os[1];
        if (p->method == PDM_INTERP_NEAREST)
            plane_nearest(s, x, y);
        else
            plane_linear(s, x, y, s->rows + 2 * i * p->w.out[2]);
    }
}

static void by_planes(pdm_k *k, const pdm_nn_interp *p)
{
    const int64_t n = p->w.out[2], count = p->w.batch * p->w.channels;
    const bool linear = p->method == PDM_INTERP_LINEAR;
    int32_t *from = pdm_k_temp(k, 2 * sizeof *from * (size_t)n);
    float *weight = pdm_k_temp(k, 2 * sizeof *weight * (size_t)n);
    float *rows = linear ? pdm_k_temp(k, 2 * sizeof *rows * (size_t)(n * count)) : NULL;
    planes s = {p, {from, from + n}, {weight, weight + n}, rows};

    if (!PDM_K_OK(k))
        return;
    for (int64_t i = 0; i < n; i++) {
        for (int t = 0; t < 2; t++) {
            from[t * n + i] = (int32_t)p->axes[2].from[i * PDM_INTERP_TAPS + t];
            weight[t * n + i] = (float)p->axes[2].weight[i * PDM_INTERP_TAPS + t];
        }
    }
    pdm_k_parallel(k, count, 1 + PDM_NN_GRAIN / p->os[1], whole_planes, &s);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static pdm_status interpolate(pdm_k *k, pdm_nn_interp *p)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    if (!x)
        return k->status;
    if (x->dtype != PDM_F32 || x->rank != 4)
        return pdm_k_reference(k);

    if (!pdm_nn_interp_begin(k, p))
        return k->status;
    if (p->w.channels_last)
        pdm_k_parallel(k, p->w.batch * p->w.out[1], 1 + PDM_NN_GRAIN / p->os[3], rows_last, p);
    else
        by_planes(k, p);
    return k->status;
}

pdm_status pdm_fast_nearest_interp(pdm_k *k)
{
    pdm_nn_interp p = {.method = PDM_INTERP_NEAREST};

    return interpolate(k, &p);
}

pdm_status pdm_fast_bilinear_interp(pdm_k *k)
{
    pdm_nn_interp p = {.method = PDM_INTERP_LINEAR};

    return interpolate(k, &p);
}
