/*
 * Arithmetic of two float32 operands. The innermost two dimensions of the result are one call, so
 * that a bias or the weights of channels (one short row for many) cost no more than operands of the
 * same shape.
 */
#include "exec/fast/vmath.h"
#include "exec/kernels/math_impl.h"

/* A rectangle of the result: rows of n; strides in elements between rows, and within them (0 or 1).
 */
#define RECT_PARAMS                                                                                \
    const float *x, int64_t x_row, int64_t sx, const float *y, int64_t y_row, int64_t sy,          \
        float *z, int64_t rows, int64_t n
#define RECT_ARGS x, x_row, sx, y, y_row, sy, z, rows, n

typedef void (*rect_loop)(RECT_PARAMS);

#define RECT_RUN(SX, SY, expr)                                                                     \
    for (int64_t r = 0; r < rows; r++) {                                                           \
        const float *restrict p = x + r * x_row;                                                   \
        const float *restrict q = y + r * y_row;                                                   \
        float *restrict o = z + r * n;                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const float a = p[(SX) ? i : 0], b = q[(SY) ? i : 0];                                  \
            o[i] = expr;                                                                           \
        }                                                                                          \
    }

#define BINARY(name, expr)                                                                         \
    PDM_INLINE void name##_loop_body(RECT_PARAMS)                                                  \
    {                                                                                              \
        if (sx && sy)                                                                              \
            RECT_RUN(1, 1, expr)                                                                   \
        else if (sx)                                                                               \
            RECT_RUN(1, 0, expr)                                                                   \
        else                                                                                       \
            RECT_RUN(0, 1, expr)                                                                   \
    }                                                                                              \
    static void name##_loop(RECT_PARAMS);                                                          \
    PDM_CLONES(name##_loop, (RECT_PARAMS), (RECT_ARGS))                                            \
    pdm_status pdm_fast_##name(pdm_k *k)                                                           \
    {                                                                                              \
        return binary(k, name##_loop);                                                             \
    }

typedef struct job {
    rect_loop loop;
    pdm_walk walk;
    const float *x, *y;
    float *z;
} job;

/* All in one row. */
static void elements(void *arg, int64_t begin, int64_t end)
{
    const job *j = arg;
    const int64_t sx = j->walk.strides[0][0], sy = j->walk.strides[1][0];

    j->loop(j->x + begin * sx, 0, sx, j->y + begin * sy, 0, sy, j->z + begin, 1, end - begin);
}

/* Whole rows, as many at a time as lie in one pass over the last dimension but one. */
static void rows(void *arg, int64_t begin, int64_t end)
{
    const job *j = arg;
    const pdm_walk *w = &j->walk;
    const int last = w->rank - 1, mid = last - 1;
    const int64_t n = w->dims[last];

    while (begin < end) {
        const int64_t at_mid = begin % w->dims[mid], room = w->dims[mid] - at_mid;
        const int64_t count = end - begin < room ? end - begin : room;
        int64_t rest = begin / w->dims[mid];
        int64_t at_x = at_mid * w->strides[0][mid], at_y = at_mid * w->strides[1][mid];
        for (int d = mid - 1; d >= 0; d--) {
            at_x += rest % w->dims[d] * w->strides[0][d];
            at_y += rest % w->dims[d] * w->strides[1][d];
            rest /= w->dims[d];
        }
        j->loop(j->x + at_x, w->strides[0][mid], w->strides[0][last], j->y + at_y,
                w->strides[1][mid], w->strides[1][last], j->z + begin * n, count, n);
        begin += count;
    }
}

static pdm_status binary(pdm_k *k, rect_loop loop)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    pdm_tensor shape;
    job j = {.loop = loop};
    if (!x || !y)
        return k->status;
    if (x->dtype != PDM_F32 || y->dtype != PDM_F32 || k->before)
        return pdm_k_reference(k);

    if (!pdm_math_binary_walk(k, x, y, &shape, &j.walk))
        return k->status;
    j.x = x->data;
    j.y = y->data;
    j.z = pdm_k_out(k, 0, PDM_F32, shape.rank, shape.dims);
    if (!j.z)
        return k->status;
    if (x->lod)
        pdm_k_share_lod(k, 0, x);
    const int64_t count = pdm_tensor_count(pdm_k_out_tensor(k, 0));
    const int64_t n = j.walk.dims[j.walk.rank - 1];
    if (count == 0)
        return k->status;
    if (j.walk.rank == 1)
        pdm_k_parallel(k, count, PDM_MATH_GRAIN, elements, &j);
    else
        pdm_k_parallel(k, count / n, 1 + PDM_MATH_GRAIN / n, rows, &j);
    return k->status;
}

#define IS_NAN(v) ((v) != (v))

BINARY(add, a + b)
BINARY(subtract, a - b)
BINARY(multiply, a *b)
BINARY(divide, a / b)
BINARY(maximum, IS_NAN(a) ? a : IS_NAN(b) ? b : a > b ? a : b) /* NaN wins */
BINARY(minimum, IS_NAN(a) ? a : IS_NAN(b) ? b : a < b ? a : b)
