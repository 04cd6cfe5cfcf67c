/* Pooling of float32 images: over channels where they come last, over places of a row else. */
#include <float.h>

#include "exec/fast/lanes.h"
#include "exec/kernels/nn_pool.h"

/* Rows of a whole image that are summed up at a time: what one thread does must not depend on how
 * many there are. */
enum { PART_ROWS = 1024 };

/* ---- loops ----------------------------------------------------------------------------------- */

#define FOLD_PARAMS float *y, const float *x, int64_t step, int64_t n
#define FOLD_ARGS   y, x, step, n

/* y[i] = max(y[i], x[i * step]); a NaN lasts until the next number. */
PDM_INLINE void fold_max_body(FOLD_PARAMS)
{
    if (step == 1) {
        for (int64_t i = 0; i < n; i++)
            y[i] = y[i] > x[i] ? y[i] : x[i];
    } else if (step == 2) {
        for (int64_t i = 0; i < n; i++)
            y[i] = y[i] > x[2 * i] ? y[i] : x[2 * i];
    } else {
        for (int64_t i = 0; i < n; i++)
            y[i] = y[i] > x[step * i] ? y[i] : x[step * i];
    }
}
static void fold_max(FOLD_PARAMS);
PDM_CLONES(fold_max, (FOLD_PARAMS), (FOLD_ARGS))

PDM_INLINE void fold_sum_body(FOLD_PARAMS)
{
    if (step == 1) {
        for (int64_t i = 0; i < n; i++)
            y[i] += x[i];
    } else if (step == 2) {
        for (int64_t i = 0; i < n; i++)
            y[i] += x[2 * i];
    } else {
        for (int64_t i = 0; i < n; i++)
            y[i] += x[step * i];
    }
}
static void fold_sum(FOLD_PARAMS);
PDM_CLONES(fold_sum, (FOLD_PARAMS), (FOLD_ARGS))

#define COLUMN_PARAMS float *y, const float *x, int64_t rows, int64_t n
/* y[c] += sum of rows of n channels. */
PDM_INLINE void add_rows_body(COLUMN_PARAMS)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < n; c++)
            y[c] += x[r * n + c];
    }
}
static void add_rows(COLUMN_PARAMS);
PDM_CLONES(add_rows, (COLUMN_PARAMS), (y, x, rows, n))

#define DIVIDE_PARAMS float *y, float by, int64_t n
PDM_INLINE void divide_body(DIVIDE_PARAMS)
{
    for (int64_t i = 0; i < n; i++)
        y[i] /= by;
}
static void divide(DIVIDE_PARAMS);
PDM_CLONES(divide, (DIVIDE_PARAMS), (y, by, n))

#define SUM_PARAMS float *y, const float *x, int64_t n
/* *y += sum of n numbers. */
PDM_INLINE void add_sum_body(SUM_PARAMS)
{
    *y += pdm_lanes_sum(x, n, 0);
}
static void add_sum(SUM_PARAMS);
PDM_CLONES(add_sum, (SUM_PARAMS), (y, x, n))

static void set(float *y, float value, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = value;
}

/* ---- channels last --------------------------------------------------------------------------- */

static void place_last(const pdm_nn_pool *p, const float *x, float *y, const pdm_nn_part *r)
{
    const int64_t n = p->w.channels;
    const bool is_max = p->mode == PDM_POOL_MAX;

    set(y, is_max ? -FLT_MAX : 0, n);
    for (int64_t i = r->begin[1]; i < r->end[1]; i++) {
        for (int64_t j = r->begin[2]; j < r->end[2]; j++)
            (is_max ? fold_max : fold_sum)(y, x + i * p->xs[3] + j * p->xs[4], 1, n);
    }
    if (!is_max)
        divide(y, (float)r->size, n);
}

/* Rows of the result. */
static void rows_last(void *arg, int64_t begin, int64_t end)
{
    const pdm_nn_pool *p = arg;
    const int64_t *out = p->w.out;

    for (int64_t row = begin; row < end; row++) {
        int64_t at[3] = {0, row % out[1], 0};
        const float *x = (const float *)p->x->data + row / out[1] * p->xs[0];
        float *y = (float *)p->out->data + row * out[2] * p->w.channels;
        for (; at[2] < out[2]; at[2]++) {
            pdm_nn_part r;
            pdm_nn_pool_part(p, at, &r);
            place_last(p, x, y + at[2] * p->w.channels, &r);
        }
    }
}

/* The mean of whole images: parts of them, then their sum. */
typedef struct whole {
    const pdm_nn_pool *p;
    float *sums; /* of each part of each image */
    int64_t area, parts;
} whole;

static void whole_parts(void *arg, int64_t begin, int64_t end)
{
    const whole *w = arg;
    const int64_t n = w->p->w.channels;

    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % w->parts * PART_ROWS, rest = w->area - first;
        const float *x = (const float *)w->p->x->data + (i / w->parts * w->area + first) * n;
        set(w->sums + i * n, 0, n);
        add_rows(w->sums + i * n, x, rest < PART_ROWS ? rest : PART_ROWS, n);
    }
}

static void mean_of_whole(pdm_k *k, const pdm_nn_pool *p)
{
    const int64_t n = p->w.channels, area = p->w.in[1] * p->w.in[2];
    whole w = {p, NULL, area, (area + PART_ROWS - 1) / PART_ROWS};

    w.sums = pdm_k_temp(k, sizeof *w.sums * (size_t)(p->w.batch * w.parts * n));
    if (!w.sums)
        return;
    pdm_k_parallel(k, p->w.batch * w.parts, 1 + PDM_NN_GRAIN / n / PART_ROWS, whole_parts, &w);
    for (int64_t i = 0; i < p->w.batch; i++) {
        float *y = (float *)p->out->data + i * n;
        set(y, 0, n);
        add_rows(y, w.sums + i * w.parts * n, w.parts, n);
        divide(y, (float)area, n);
    }
}

/* ---- channels first -------------------------------------------------------------------------- */

/* Windows of equal size: an element of each goes to the places of a row at a time. */
static void row_first(const pdm_nn_pool *p, const float *x, float *y, const pdm_nn_part *r)
{
    const pdm_nn_window *w = &p->w;
    const bool is_max = p->mode == PDM_POOL_MAX;

    set(y, is_max ? -FLT_MAX : 0, w->out[2]);
    for (int64_t i = r->begin[1]; i < r->end[1]; i++) {
        for (int64_t j = 0; j < w->kernel[2]; j++) {
            const int64_t shift = j - w->before[2], s = w->stride[2];
            const int64_t first = shift >= 0 ? 0 : (-shift + s - 1) / s;
            int64_t last = shift < w->in[2] ? (w->in[2] - 1 - shift) / s + 1 : 0;
            last = last < w->out[2] ? last : w->out[2];
            if (first < last)
                (is_max ? fold_max : fold_sum)(y + first, x + i * w->in[2] + first * s + shift, s,
                                               last - first);
        }
    }
}

static void place_first(const pdm_nn_pool *p, const float *x, float *y, const pdm_nn_part *r)
{
    const int64_t n = r->end[2] - r->begin[2];

    *y = 0;
    for (int64_t i = r->begin[1]; n > 0 && i < r->end[1]; i++)
        add_sum(y, x + i * p->w.in[2] + r->begin[2], n);
    *y /= (float)r->size;
}

/* Rows of the planes of the result. */
static void rows_first(void *arg, int64_t begin, int64_t end)
{
    const pdm_nn_pool *p = arg;
    const int64_t *out = p->w.out;
    const bool is_max = p->mode == PDM_POOL_MAX, wide = is_max || !p->adaptive;

    for (int64_t row = begin; row < end; row++) {
        int64_t at[3] = {0, row % out[1], 0};
        const float *x = (const float *)p->x->data + row / out[1] * p->xs[1];
        float *y = (float *)p->out->data + row * out[2];
        pdm_nn_part r;
        pdm_nn_pool_part(p, at, &r);
        const bool by_row = wide && out[2] > 1;
        if (by_row || is_max)
            row_first(p, x, y, &r);
        for (; !is_max && at[2] < out[2]; at[2]++) {
            pdm_nn_pool_part(p, at, &r);
            if (by_row)
                y[at[2]] /= (float)r.size;
            else
                place_first(p, x, y + at[2], &r);
        }
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool is_whole(const pdm_nn_pool *p)
{
    const pdm_nn_window *w = &p->w;

    for (int d = 1; d < 3; d++) {
        const bool covered = p->adaptive || (w->kernel[d] == w->in[d] && w->before[d] == 0);
        if (w->out[d] != 1 || !covered)
            return false;
    }
    return p->mode == PDM_POOL_AVERAGE && w->channels_last && w->in[1] * w->in[2] > 0;
}

pdm_status pdm_fast_pool2d(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_nn_pool p = {0};
    if (!x)
        return k->status;
    if (x->dtype != PDM_F32 || x->rank != 4)
        return pdm_k_reference(k);

    if (!pdm_nn_pool2d_begin(k, &p) || pdm_tensor_count(p.out) == 0)
        return k->status;
    const int64_t *out = p.w.out, window = p.w.kernel[1] * p.w.kernel[2] * out[2];
    if (is_whole(&p))
        mean_of_whole(k, &p);
    else if (p.w.channels_last)
        pdm_k_parallel(k, p.w.batch * out[1], 1 + PDM_NN_GRAIN / (window * p.w.channels + 1),
                       rows_last, &p);
    else
        pdm_k_parallel(k, p.w.batch * p.w.channels * out[1], 1 + PDM_NN_GRAIN / (window + 1),
                       rows_first, &p);
    return k->status;
}
