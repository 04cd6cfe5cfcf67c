/* Softmax and layer_norm of float32. */
#include <math.h>

#include "exec/fast/lanes.h"
#include "exec/kernels/nn_impl.h"
#include "exec/kernels/reduce_impl.h"

/* ---- softmax --------------------------------------------------------------------------------- */

typedef struct softmax {
    pdm_rows rows;
    const float *x;
    float *y;
} softmax;

/* As the framework does: nothing below exp(-64). */
PDM_INLINE float softmax_exp(float v)
{
    return pdm_v_exp(PDM_V_MAX(v, -64.0f));
}

#define ROW_PARAMS const float *x, float *y, int64_t rows, int64_t n
#define ROW_ARGS   x, y, rows, n

/* Rows that lie one behind the other. */
PDM_INLINE void softmax_rows_body(ROW_PARAMS)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        const float *restrict from = x;
        float *restrict to = y;
        const float max = pdm_lanes_max(from, n);
        for (int64_t i = 0; i < n; i++)
            to[i] = softmax_exp(from[i] - max);
        const float scale = 1.0f / pdm_lanes_sum(to, n, 0);
        for (int64_t i = 0; i < n; i++)
            to[i] *= scale;
    }
}
static void softmax_rows(ROW_PARAMS);
PDM_CLONES(softmax_rows, (ROW_PARAMS), (ROW_ARGS))

static void rows_body(void *arg, int64_t begin, int64_t end)
{
    const softmax *s = arg;
    const int64_t n = s->rows.n;

    softmax_rows(s->x + begin * n, s->y + begin * n, end - begin, n);
}

/* Along a dimension that is not the last: columns side by side, COLUMNS at a time. */
enum { COLUMNS = 64 };

#define COLUMN_PARAMS const float *x, float *y, int64_t n, int64_t stride, int64_t width
PDM_INLINE void softmax_columns_body(COLUMN_PARAMS)
{
    float max[COLUMNS], sum[COLUMNS];

    for (int64_t c = 0; c < width; c++)
        max[c] = x[c];
    for (int64_t i = 1; i < n; i++) {
        const float *restrict from = x + i * stride;
        for (int64_t c = 0; c < width; c++)
            max[c] = from[c] > max[c] ? from[c] : max[c];
    }
    for (int64_t c = 0; c < width; c++)
        sum[c] = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *restrict from = x + i * stride;
        float *restrict to = y + i * stride;
        for (int64_t c = 0; c < width; c++) {
            const float e = softmax_exp(from[c] - max[c]);
            sum[c] += e;
            to[c] = e;
        }
    }
    for (int64_t c = 0; c < width; c++)
        sum[c] = 1.0f / sum[c];
    for (int64_t i = 0; i < n; i++) {
        float *restrict to = y + i * stride;
        for (int64_t c = 0; c < width; c++)
            to[c] *= sum[c];
    }
}
static void softmax_columns(COLUMN_PARAMS);
PDM_CLONES(softmax_columns, (COLUMN_PARAMS), (x, y, n, stride, width))

static void columns_body(void *arg, int64_t begin, int64_t end)
{
    const softmax *s = arg;
    const int64_t inner = s->rows.inner, blocks = (inner + COLUMNS - 1) / COLUMNS;

    for (int64_t b = begin; b < end; b++) {
        const int64_t first = b % blocks * COLUMNS;
        const int64_t at = b / blocks * s->rows.n * inner + first;
        const int64_t width = inner - first < COLUMNS ? inner - first : COLUMNS;
        softmax_columns(s->x + at, s->y + at, s->rows.n, inner, width);
    }
}

pdm_status pdm_fast_softmax(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    softmax s;
    if (!x)
        return k->status;
    if (x->dtype != PDM_F32)
        return pdm_k_reference(k);

    if (!pdm_rows_init(k, &s.rows, x, pdm_k_int_or(k, "axis", -1)))
        return k->status;
    s.x = x->data;
    s.y = pdm_k_out_like(k, 0, x);
    if (!s.y || pdm_tensor_count(x) == 0)
        return k->status;
    if (s.rows.inner == 1)
        pdm_k_parallel(k, s.rows.outer, 1 + PDM_NN_GRAIN / s.rows.n, rows_body, &s);
    else
        pdm_k_parallel(k, s.rows.outer * ((s.rows.inner + COLUMNS - 1) / COLUMNS),
                       1 + PDM_NN_GRAIN / COLUMNS / s.rows.n, columns_body, &s);
    return k->status;
}

/* ---- layer_norm ------------------------------------------------------------------------------ */

typedef struct layer {
    const float *x, *scale, *bias;
    float *y, *mean, *variance; /* the last two may be NULL */
    int64_t n;
    float epsilon;
} layer;

#define LAYER_PARAMS const layer *l, int64_t begin, int64_t end
PDM_INLINE void layer_rows_body(LAYER_PARAMS)
{
    const float *restrict scale = l->scale, *restrict bias = l->bias;
    const int64_t n = l->n;

    for (int64_t r = begin; r < end; r++) {
        const float *restrict x = l->x + r * n;
        float *restrict y = l->y + r * n;
        const float mean = pdm_lanes_sum(x, n, 0) / (float)n;
        const float variance = pdm_lanes_square_sum(x, n, mean) / (float)n;
        const float inverse = 1.0f / sqrtf(variance + l->epsilon);
        if (scale && bias) {
            for (int64_t i = 0; i < n; i++)
                y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i] = (x[i] - mean) * inverse * (scale ? scale[i] : 1) + (bias ? bias[i] : 0);
        }
        if (l->mean)
            l->mean[r] = mean;
        if (l->variance)
            l->variance[r] = variance;
    }
}
static void layer_rows(LAYER_PARAMS);
PDM_CLONES(layer_rows, (LAYER_PARAMS), (l, begin, end))

static void layer_body(void *arg, int64_t begin, int64_t end)
{
    layer_rows(arg, begin, end);
}

static bool usable(const pdm_tensor *t, int64_t n)
{
    return !t || (t->dtype == PDM_F32 && pdm_tensor_count(t) == n);
}

/* Everything float32 and of sizes that fit; the reference kernel tells what is wrong else. */
pdm_status pdm_fast_layer_norm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *scale = pdm_k_in_opt(k, 1), *bias = pdm_k_in_opt(k, 2);
    const int64_t axis = pdm_k_int(k, "begin_norm_axis");
    if (!x || !PDM_K_OK(k))
        return k->status;
    if (x->dtype != PDM_F32 || axis < 1 || axis > x->rank || pdm_tensor_count(x) == 0)
        return pdm_k_reference(k);
    const int64_t n = pdm_k_product(x->dims, (int)axis, x->rank), rows = pdm_tensor_count(x) / n;
    if (!usable(scale, n) || !usable(bias, n))
        return pdm_k_reference(k);

    layer l = {.x = x->data,
               .scale = scale ? scale->data : NULL,
               .bias = bias ? bias->data : NULL,
               .n = n,
               .epsilon = (float)pdm_k_float(k, "epsilon")};
    l.y = pdm_k_out_like(k, 0, x);
    if (pdm_k_wants(k, 1))
        l.mean = pdm_k_out(k, 1, PDM_F32, 1, &rows);
    if (pdm_k_wants(k, 2))
        l.variance = pdm_k_out(k, 2, PDM_F32, 1, &rows);
    if (PDM_K_OK(k) && l.y)
        pdm_k_parallel(k, rows, 1 + PDM_NN_GRAIN / n, layer_body, &l);
    return k->status;
}
