/* Softmax and its logarithm along a dimension. */
#include <math.h>
#include <tgmath.h>

#include "exec/kernels/reduce_impl.h"

/* The framework's CPU kernels do not go below exp(-64). */
#define FLOOR(v, T) ((v) < (T)-64 ? (T)-64 : (v))

typedef struct softmax_job {
    pdm_rows rows;
    const void *x;
    void *y;
} softmax_job;

#define SOFTMAX_LOOP(code, suffix, type, acc, load, store, name)                                   \
    static acc max_of_##suffix(const type *x, int64_t n, int64_t stride)                           \
    {                                                                                              \
        acc max = load(x[0]);                                                                      \
        for (int64_t i = 1; i < n; i++) {                                                          \
            const acc v = load(x[i * stride]);                                                     \
            max = v > max ? v : max;                                                               \
        }                                                                                          \
        return max;                                                                                \
    }                                                                                              \
    static void softmax_row_##suffix(const type *x, type *y, int64_t n, int64_t stride)            \
    {                                                                                              \
        const acc max = max_of_##suffix(x, n, stride);                                             \
        double sum = 0;                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const acc e = exp(FLOOR(load(x[i * stride]) - max, acc));                              \
            sum += (double)e;                                                                      \
            if (sizeof(type) >= sizeof(acc))                                                       \
                y[i * stride] = store(e);                                                          \
        }                                                                                          \
        const acc scale = (acc)(1 / sum);                                                          \
        for (int64_t i = 0; i < n; i++) { /* halves would be rounded twice */                      \
            const acc e = sizeof(type) >= sizeof(acc)                                              \
                              ? (acc)load(y[i * stride])                                           \
                              : exp(FLOOR(load(x[i * stride]) - max, acc));                        \
            y[i * stride] = store(e * scale);                                                      \
        }                                                                                          \
    }                                                                                              \
    static void log_softmax_row_##suffix(const type *x, type *y, int64_t n, int64_t stride)        \
    {                                                                                              \
        const acc max = max_of_##suffix(x, n, stride);                                             \
        double sum = 0;                                                                            \
        for (int64_t i = 0; i < n; i++)                                                            \
            sum += exp((double)FLOOR(load(x[i * stride]) - max, acc));                             \
        const acc total = (acc)log(sum);                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i * stride] = store(FLOOR(load(x[i * stride]) - max, acc) - total);                  \
    }                                                                                              \
    static void softmax_##suffix(void *arg, int64_t begin, int64_t end)                            \
    {                                                                                              \
        const softmax_job *job = arg;                                                              \
        const pdm_rows *rows = &job->rows;                                                         \
        for (int64_t r = begin; r < end; r++) {                                                    \
            const int64_t at = r / rows->inner * rows->n * rows->inner + r % rows->inner;          \
            softmax_row_##suffix((const type *)job->x + at, (type *)job->y + at, rows->n,          \
                                 rows->inner);                                                     \
        }                                                                                          \
    }                                                                                              \
    static void log_softmax_##suffix(void *arg, int64_t begin, int64_t end)                        \
    {                                                                                              \
        const softmax_job *job = arg;                                                              \
        const pdm_rows *rows = &job->rows;                                                         \
        for (int64_t r = begin; r < end; r++) {                                                    \
            const int64_t at = r / rows->inner * rows->n * rows->inner + r % rows->inner;          \
            log_softmax_row_##suffix((const type *)job->x + at, (type *)job->y + at, rows->n,      \
                                     rows->inner);                                                 \
        }                                                                                          \
    }
PDM_K_FLOATS(SOFTMAX_LOOP, softmax)

typedef void (*rows_body)(void *arg, int64_t begin, int64_t end);
#define ROW(code, suffix, type, acc, load, store, name) [code] = name##_##suffix,

static pdm_status softmax_with(pdm_k *k, const rows_body *bodies)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t axis = pdm_k_int_or(k, "axis", -1);
    softmax_job job;
    if (!x || !PDM_K_OK(k) || !pdm_rows_init(k, &job.rows, x, axis))
        return k->status;
    if (!bodies[x->dtype])
        return pdm_k_unsupported_dtype(k, x->dtype);
    job.x = x->data;
    job.y = pdm_k_out_like(k, 0, x);
    if (!job.y || pdm_tensor_count(x) == 0)
        return k->status;
    pdm_k_parallel(k, job.rows.outer * job.rows.inner, 1 + PDM_MATH_GRAIN / 4 / job.rows.n,
                   bodies[x->dtype], &job);
    return k->status;
}

pdm_status pdm_kernel_softmax(pdm_k *k)
{
    static const rows_body bodies[PDM_DTYPE_COUNT] = {PDM_K_FLOATS(ROW, softmax)};
    return softmax_with(k, bodies);
}

pdm_status pdm_kernel_log_softmax(pdm_k *k)
{
    static const rows_body bodies[PDM_DTYPE_COUNT] = {PDM_K_FLOATS(ROW, log_softmax)};
    return softmax_with(k, bodies);
}

/* One-hot at the largest element of each row. */
static void harden(pdm_tensor *y, const pdm_rows *rows)
{
    for (int64_t r = 0; r < rows->outer * rows->inner; r++) {
        const int64_t at = r / rows->inner * rows->n * rows->inner + r % rows->inner;
        int64_t best = 0;
        for (int64_t i = 1; i < rows->n; i++) {
            const double v = pdm_get_double(y, at + i * rows->inner);
            best = v > pdm_get_double(y, at + best * rows->inner) ? i : best;
        }
        for (int64_t i = 0; i < rows->n; i++)
            pdm_set_double(y, at + i * rows->inner, i == best);
    }
}

/* Softmax of (x + Gumbel noise) / temperature. */
pdm_status pdm_kernel_gumbel_softmax(pdm_k *k)
{
    static const rows_body bodies[PDM_DTYPE_COUNT] = {PDM_K_FLOATS(ROW, softmax)};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double temperature = pdm_k_float_or(k, "temperature", 1);
    softmax_job job;
    if (!x || !PDM_K_OK(k) || !pdm_rows_init(k, &job.rows, x, pdm_k_int_or(k, "axis", -1)))
        return k->status;
    if (!bodies[x->dtype])
        return pdm_k_unsupported_dtype(k, x->dtype);
    if (!k->rng)
        return pdm_k_fail(k, "there are no random numbers");
    job.y = pdm_k_out_like(k, 0, x);
    job.x = job.y;
    if (!job.y || pdm_tensor_count(x) == 0)
        return k->status;

    pdm_tensor *y = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0; i < pdm_tensor_count(x); i++) {
        const double u = 1 - pdm_rng_uniform(k->rng); /* in (0, 1] */
        const double noise = -log(1e-20 - log(u + 1e-20));
        pdm_set_double(y, i, (pdm_get_double(x, i) + noise) / temperature);
    }
    bodies[x->dtype](&job, 0, job.rows.outer * job.rows.inner);
    if (pdm_k_bool_or(k, "hard", false))
        harden(y, &job.rows);
    return k->status;
}
