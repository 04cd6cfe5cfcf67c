#include "exec/fast/post.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "exec/fast/vmath.h"
#include "exec/kernels/nn_impl.h"

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_kinds(pdm_k *k, const char *kinds_name, const char *args_name, pdm_post *post)
{
    int64_t kinds[PDM_K_MAX_INTS];
    double args[PDM_K_MAX_INTS];
    const size_t count = pdm_k_ints(k, kinds_name, kinds), num_args = pdm_k_floats(k, args_name, args);

    if (!PDM_K_OK(k))
        return false;
    if (count > PDM_POST_MAX || num_args != 2 * count) {
        pdm_k_fail(k, "there are %zu steps with %zu numbers", count, num_args);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (kinds[i] < 0 || kinds[i] >= PDM_POST_NUM_KINDS) {
            pdm_k_fail(k, "step %zu is of no known kind", i);
            return false;
        }
        post->steps[i] = (pdm_post_step){.kind = (pdm_post_kind)kinds[i],
                                         .a = (float)args[2 * i],
                                         .b = (float)args[2 * i + 1],
                                         .factor = 1,
                                         .shift = -0.0f}; /* leaves the sign of zero */
        if (pdm_post_has_operand(post->steps[i].kind) && args[2 * i] > 0) {
            post->steps[i].spread = PDM_SPREAD_NEAREST;
            post->steps[i].times[0] = (int64_t)args[2 * i];
            post->steps[i].times[1] = (int64_t)args[2 * i + 1];
        } else if (pdm_post_has_operand(post->steps[i].kind) && args[2 * i] < 0) {
            const int phase = (int)(-1 - args[2 * i]) & 3;
            post->steps[i].spread = PDM_SPREAD_PHASE;
            post->steps[i].times[0] = post->steps[i].times[1] = 2;
            post->steps[i].phase[0] = phase >> 1;
            post->steps[i].phase[1] = phase & 1;
        }
    }
    post->count = (int)count;
    return true;
}

/* An operand of fewer lines and columns than the result. */
static bool is_smaller(const pdm_post_step *step)
{
    return step->spread == PDM_SPREAD_NEAREST || step->spread == PDM_SPREAD_PHASE;
}

/* The dims that an operand has as the step sees it. */
static bool operand_dims(pdm_k *k, const pdm_post_step *step, const pdm_tensor *y, int64_t dims[PDM_MAX_RANK])
{
    memcpy(dims, y->dims, (size_t)y->rank * sizeof *dims);
    if (!is_smaller(step))
        return true;
    for (int i = 0; i < 2 && y->rank == 4; i++)
        dims[i + 1] = pdm_nn_mul(k, dims[i + 1], step->times[i]);
    if (y->rank != 4)
        pdm_k_fail(k, "an operand that is repeated is no image");
    return PDM_K_OK(k);
}

/* The result's dims become the broadcast of what they were and the operand's. */
static bool broadcast(pdm_k *k, pdm_post *post, const pdm_post_step *step, const pdm_tensor *y)
{
    const int rank = y->rank > post->rank ? y->rank : post->rank;
    int64_t dims[PDM_MAX_RANK], own[PDM_MAX_RANK];

    if (!operand_dims(k, step, y, own))
        return false;

    for (int i = 0; i < rank; i++) {
        const int at = i - (rank - post->rank), from = i - (rank - y->rank);
        const int64_t a = at < 0 ? 1 : post->dims[at], b = from < 0 ? 1 : own[from];
        if (a != b && a != 1 && b != 1) {
            pdm_k_fail(k, "dimensions of %lld and %lld do not fit each other", (long long)a,
                       (long long)b);
            return false;
        }
        dims[i] = a == 1 ? b : a;
    }
    post->rank = rank;
    memcpy(post->dims, dims, (size_t)rank * sizeof *dims);
    return true;
}

static bool same_dims(int rank, const int64_t *a, const pdm_post *post)
{
    return rank == post->rank && memcmp(a, post->dims, (size_t)rank * sizeof *a) == 0;
}

static void count_rows(pdm_post *post)
{
    post->channels = post->rank > 0 ? post->dims[post->rank - 1] : 1;
    post->rows = 1;
    for (int i = 0; i + 1 < post->rank; i++)
        post->rows *= post->dims[i];
    post->image_rows = post->rank > 1 && post->dims[0] > 0 ? post->rows / post->dims[0] : post->rows;
}

/* All elements of a tensor laid out as the result's. */
static float *spread_out(pdm_k *k, const pdm_post *post, const float *from, int rank,
                               const int64_t *dims)
{
    int64_t strides[PDM_MAX_RANK] = {0}, at[PDM_MAX_RANK] = {0}, stride = 1, place = 0;
    const int64_t count = post->rows * post->channels;
    float *to = pdm_k_temp(k, (size_t)count * sizeof *to);

    if (!to)
        return NULL;
    for (int i = rank; i-- > 0;) {
        strides[i + post->rank - rank] = dims[i] == 1 ? 0 : stride;
        stride *= dims[i];
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[place];
        for (int d = post->rank; d-- > 0;) {
            place += strides[d];
            if (++at[d] < post->dims[d])
                break;
            place -= strides[d] * post->dims[d];
            at[d] = 0;
        }
    }
    return to;
}

/* Only the number of images may be another than the result's. */
static bool bind_smaller(pdm_k *k, const pdm_post *post, pdm_post_step *step, const pdm_tensor *y)
{
    int64_t dims[PDM_MAX_RANK];

    if (!operand_dims(k, step, y, dims))
        return false;
    if (post->rank != 4 || memcmp(dims + 1, post->dims + 1, 3 * sizeof *dims) != 0) {
        pdm_k_fail(k, "an operand that is repeated does not fit the result");
        return false;
    }
    step->y = y->data;
    step->image = y->dims[0] == 1 ? 0 : y->dims[1] * y->dims[2] * y->dims[3];
    return true;
}

static bool bind(pdm_k *k, const pdm_post *post, pdm_post_step *step, const pdm_tensor *y)
{
    if (is_smaller(step))
        return bind_smaller(k, post, step, y);
    const int rank = post->rank, lead = rank - y->rank;
    int64_t before = 1; /* elements in all dims but the last */

    step->y = y->data;
    for (int i = 0; i + 1 < y->rank; i++)
        before *= y->dims[i];
    const int64_t last = y->rank > 0 ? y->dims[y->rank - 1] : 1;
    if (before * last == 1)
        step->spread = PDM_SPREAD_SCALAR;
    else if (lead == 0 && memcmp(y->dims, post->dims, (size_t)rank * sizeof *y->dims) == 0)
        step->spread = PDM_SPREAD_FULL;
    else if (before == 1)
        step->spread = PDM_SPREAD_CHANNEL;
    else if (lead == 0 && rank > 1 && before == y->dims[0] && last == post->channels)
        step->spread = PDM_SPREAD_IMAGE;
    else if (lead == 0 && last == 1 && before == post->rows)
        step->spread = PDM_SPREAD_ROW;
    else {
        step->spread = PDM_SPREAD_FULL;
        step->y = spread_out(k, post, y->data, y->rank, y->dims);
    }
    return PDM_K_OK(k);
}

static const pdm_tensor *operand(pdm_k *k, size_t index)
{
    const pdm_tensor *y = pdm_k_in(k, index);

    if (y && y->dtype != PDM_F32) {
        pdm_k_fail(k, "an operand is no float32");
        return NULL;
    }
    return y;
}

/* Whether two factors may be one: what is neither too large nor too small stays so. */
static bool factors_fit(float a, float b)
{
    const float both = a * b;

    return isnormal(both) || a == 0 || b == 0 || !isfinite(a) || !isfinite(b);
}

/* Steps with one number, and what follows a step and is linear, go into other steps. */
static void merge(pdm_post *post)
{
    int n = 0;

    for (int i = 0; i < post->count; i++) {
        pdm_post_step s = post->steps[i];
        const float y = pdm_post_has_operand(s.kind) && s.spread == PDM_SPREAD_SCALAR ? *s.y : 0;
        if (pdm_post_has_operand(s.kind) && s.spread == PDM_SPREAD_SCALAR &&
            s.kind != PDM_POST_DIV) {
            s.a = s.kind == PDM_POST_MUL ? y : s.kind == PDM_POST_RSUB ? -1.0f : 1.0f;
            s.b = s.kind == PDM_POST_MUL ? -0.0f : s.kind == PDM_POST_SUB ? -y : y;
            s.kind = PDM_POST_AFFINE;
            s.y = NULL;
        }
        /* Sums stay as they are: some are there for how they are rounded. */
        if (s.kind == PDM_POST_AFFINE && n > 0 && post->steps[n - 1].shift == 0 &&
            post->steps[n - 1].spread != PDM_SPREAD_PHASE && factors_fit(post->steps[n - 1].factor, s.a)) {
            post->steps[n - 1].factor *= s.a;
            post->steps[n - 1].shift = s.b;
        } else {
            post->steps[n++] = s;
        }
    }
    post->count = n;
}

bool pdm_post_read(pdm_k *k, size_t first, int rank, const int64_t *dims, pdm_post *post)
{
    return pdm_post_read_named(k, "post", "post_args", first, rank, dims, post);
}

bool pdm_post_read_named(pdm_k *k, const char *kinds, const char *args, size_t first, int rank,
                         const int64_t *dims, pdm_post *post)
{
    size_t next = first;
    uint64_t count;

    post->rank = rank;
    memcpy(post->dims, dims, (size_t)rank * sizeof *dims);
    if (!read_kinds(k, kinds, args, post))
        return false;
    for (int i = 0; i < post->count; i++) {
        const pdm_tensor *y = pdm_post_has_operand(post->steps[i].kind) ? operand(k, next++) : NULL;
        if (!PDM_K_OK(k) || (y && !broadcast(k, post, &post->steps[i], y)))
            return false;
    }
    if (!pdm_count_elements(post->dims, (size_t)post->rank, &count) || count > INT64_MAX / 8) {
        pdm_k_fail(k, "the result is too large");
        return false;
    }
    post->num_others = next - first;
    count_rows(post);
    post->grows = !same_dims(rank, dims, post);
    next = first;
    for (int i = 0; i < post->count && count > 0; i++) {
        pdm_post_step *step = &post->steps[i];
        if (pdm_post_has_operand(step->kind) && !bind(k, post, step, operand(k, next++)))
            return false;
    }
    if (count > 0)
        merge(post);
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

#define EACH(expression)                                                                           \
    do {                                                                                           \
        for (int64_t r = 0; r < rows; r++, v += stride) {                                          \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const float x = v[i];                                                              \
                v[i] = (expression)*factor + shift;                                                \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define EACH_WITH(expression)                                                                      \
    do {                                                                                           \
        for (int64_t r = 0; r < rows; r++, v += stride) {                                          \
            if (one) {                                                                             \
                const float y = one[r * step];                                                     \
                for (int64_t i = 0; i < n; i++) {                                                  \
                    const float x = v[i];                                                          \
                    v[i] = (expression)*factor + shift;                                            \
                }                                                                                  \
            } else {                                                                               \
                const float *restrict p = many + r * step;                                         \
                for (int64_t i = 0; i < n; i++) {                                                  \
                    const float x = v[i], y = p[i];                                                \
                    v[i] = (expression)*factor + shift;                                            \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* One step on rows of n elements; of an operand either one number a row or many. */
#define STEP_PARAMS                                                                                \
    const pdm_post_step *s, const float *one, const float *restrict many, int64_t step,            \
        float *restrict v, int64_t stride, int64_t rows, int64_t n
#define STEP_ARGS s, one, many, step, v, stride, rows, n

PDM_INLINE void run_step_body(STEP_PARAMS)
{
    const float a = s->a, b = s->b, factor = s->factor, shift = s->shift;
    const pdm_v_bounds bound = pdm_v_bound;

    switch (s->kind) {
    case PDM_POST_AFFINE:
        EACH((a * x + b));
        break;
    case PDM_POST_RELU:
        EACH((x > bound.zero ? x : bound.zero));
        break;
    case PDM_POST_CLIP:
        EACH((PDM_V_MIN(PDM_V_MAX(x, a), b)));
        break;
    case PDM_POST_LEAKY_RELU:
        EACH((x > 0.0f ? x : a * x));
        break;
    case PDM_POST_HARD_SWISH:
        EACH(x * PDM_V_MIN(PDM_V_MAX(x + 3.0f, bound.zero), bound.six) * (1.0f / 6.0f));
        break;
    case PDM_POST_HARD_SIGMOID:
        EACH(PDM_V_MIN(PDM_V_MAX(a * x + b, bound.zero), bound.one));
        break;
    case PDM_POST_SIGMOID:
        EACH(pdm_v_sigmoid(x));
        break;
    case PDM_POST_SWISH:
        EACH((x * pdm_v_sigmoid(a * x)));
        break;
    case PDM_POST_TANH:
        EACH(pdm_v_tanh(x));
        break;
    case PDM_POST_GELU:
        EACH(pdm_v_gelu(x));
        break;
    case PDM_POST_GELU_TANH:
        EACH(pdm_v_gelu_tanh(x));
        break;
    case PDM_POST_ADD:
        EACH_WITH((x + y));
        break;
    case PDM_POST_SUB:
        EACH_WITH((x - y));
        break;
    case PDM_POST_RSUB:
        EACH_WITH((y - x));
        break;
    case PDM_POST_MUL:
        EACH_WITH((x * y));
        break;
    case PDM_POST_DIV:
        EACH_WITH((x / y));
        break;
    case PDM_POST_NUM_KINDS:
        break;
    }
}

static void run_step(STEP_PARAMS);
PDM_CLONES(run_step, (STEP_PARAMS), (STEP_ARGS))

/* Places of a line that share an element are rows with the same operand. */
static void nearest_step(const pdm_post *post, const pdm_post_step *s, float *y, int64_t stride,
                         int64_t row, int64_t rows, int64_t c0, int64_t n)
{
    const int64_t width = post->dims[2], height = post->dims[1], times = s->times[1];

    while (rows > 0) {
        const int64_t line = row / width, x = row % width;
        const int64_t count = rows < width - x ? rows : width - x;
        const float *from = s->y + line / height * s->image + c0 +
                            (line % height / s->times[0] * (width / times) + x / times) * post->channels;
        for (int64_t i = 0, some = times - x % times; i < count; i += some, some = times) {
            some = some < count - i ? some : count - i;
            run_step(s, NULL, from, 0, y + i * stride, stride, some, n);
            from += post->channels;
        }
        y += count * stride;
        row += count;
        rows -= count;
    }
}

/* Only places of one phase have an operand. */
static void phase_step(const pdm_post *post, const pdm_post_step *s, float *y, int64_t stride,
                       int64_t row, int64_t rows, int64_t c0, int64_t n)
{
    const int64_t width = post->dims[2], height = post->dims[1];

    while (rows > 0) {
        const int64_t line = row / width % height, x = row % width, before = (x + s->phase[1]) % 2;
        const int64_t count = rows < width - x ? rows : width - x;
        const float *from = s->y + row / width / height * s->image + c0 +
                            (line / 2 * (width / 2) + (x + before) / 2) * post->channels;
        if (line % 2 == s->phase[0] && before < count)
            run_step(s, NULL, from, post->channels, y + before * stride, 2 * stride, (count - before + 1) / 2, n);
        y += count * stride;
        row += count;
        rows -= count;
    }
}

static void image_step(const pdm_post *post, const pdm_post_step *s, float *y, int64_t stride,
                       int64_t row, int64_t rows, int64_t c0, int64_t n)
{
    for (int64_t end = row + rows, count; row < end; row += count, y += count * stride) {
        const int64_t left = post->image_rows - row % post->image_rows;
        count = end - row < left ? end - row : left;
        run_step(s, NULL, s->y + row / post->image_rows * post->channels + c0, 0, y, stride, count, n);
    }
}

/* Rows that follow each other without a gap are one run when the operand does not tell them apart. */
static void one_step(const pdm_post *post, const pdm_post_step *s, float *y, int64_t stride,
                     int64_t row, int64_t rows, int64_t c0, int64_t n)
{
    const bool whole = stride == n && c0 == 0 && n == post->channels;
    const int64_t runs = whole ? 1 : rows, length = whole ? rows * n : n;
    const pdm_spread spread = pdm_post_has_operand(s->kind) ? s->spread : PDM_SPREAD_SCALAR;

    switch (spread) {
    case PDM_SPREAD_SCALAR:
        run_step(s, s->y, NULL, 0, y, stride, runs, length);
        break;
    case PDM_SPREAD_CHANNEL:
        run_step(s, NULL, s->y + c0, 0, y, stride, rows, n);
        break;
    case PDM_SPREAD_IMAGE:
        image_step(post, s, y, stride, row, rows, c0, n);
        break;
    case PDM_SPREAD_ROW:
        run_step(s, s->y + row, NULL, 1, y, stride, rows, n);
        break;
    case PDM_SPREAD_FULL:
        run_step(s, NULL, s->y + row * post->channels + c0, post->channels, y, stride, runs, length);
        break;
    case PDM_SPREAD_NEAREST:
        nearest_step(post, s, y, stride, row, rows, c0, n);
        break;
    case PDM_SPREAD_PHASE:
        phase_step(post, s, y, stride, row, rows, c0, n);
        break;
    }
}

void pdm_post_apply(const pdm_post *post, float *y, int64_t stride, int64_t row, int64_t rows,
                    int64_t c0, int64_t n)
{
    for (int i = 0; i < post->count; i++)
        one_step(post, &post->steps[i], y, stride, row, rows, c0, n);
}

/* ---- LoD ------------------------------------------------------------------------------------- */

void pdm_post_pass_lod(pdm_k *k)
{
    const int64_t from = pdm_k_int_or(k, "lod", 0);
    const pdm_tensor *t =
        from >= 0 && (uint64_t)from < k->num_in ? pdm_k_in_opt(k, (size_t)from) : NULL;

    if (t && PDM_K_OK(k) && pdm_tensor_num_lod(t) > 0)
        pdm_k_share_lod(k, 0, t);
}

/* ---- results that grow ----------------------------------------------------------------------- */

typedef struct expansion {
    const pdm_post *post;
    float *out;
} expansion;

static void apply_rows(void *arg, int64_t begin, int64_t end)
{
    const expansion *e = arg;
    const int64_t n = e->post->channels;

    pdm_post_apply(e->post, e->out + begin * n, n, begin, end - begin, 0, n);
}

float *pdm_post_expand_temp(pdm_k *k, const pdm_post *post, const float *made, int rank,
                            const int64_t *dims)
{
    expansion e = {post, spread_out(k, post, made, rank, dims)};

    if (e.out && post->channels > 0)
        pdm_k_parallel(k, post->rows, 1 + 16384 / post->channels, apply_rows, &e);
    return e.out;
}

pdm_status pdm_post_expand(pdm_k *k, const pdm_post *post, const float *made, int rank,
                           const int64_t *dims)
{
    float *out = pdm_k_out(k, 0, PDM_F32, post->rank, post->dims);
    const int64_t count = post->rows * post->channels;

    if (!out || count == 0)
        return k->status;
    const float *from = pdm_post_expand_temp(k, post, made, rank, dims);
    if (from)
        memcpy(out, from, (size_t)count * sizeof *from);
    return k->status;
}
