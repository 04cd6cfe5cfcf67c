/*
 * A depthwise convolution, or a chain of elementwise ops, and the convolution with kernel 1 that is the only reader
 * of its result: some places of the first are made, which the second takes while they are in the cache.
 */
#include <string.h>

#include "base/checked.h"
#include "exec/fast/dense.h"
#include "exec/fast/depthwise.h"

enum {
    BLOCK = 48,          /* places at a time; whole tiles of all heights */
    LEAST_BLOCK = 12,    /* so small where there are few */
    ENOUGH_BLOCKS = 16,  /* so many that any number of threads gets about the same */
    ROOM_FLOATS = 24576, /* of what is between; stands on the stack */
};

typedef struct separable {
    pdm_fast_conv inner;
    pdm_depthwise depthwise;
    const float *x; /* what steps are done on; NULL: there is a depthwise convolution */
    pdm_post steps;
    int64_t dims[4]; /* of what is between */
    pdm_dense dense;
    int64_t places, block;
    int panels;
} separable;

/* Places [row, row + rows) of what is between. */
static void make_rows(const separable *s, int64_t row, int64_t rows, float *to)
{
    const int64_t width = s->inner.w.out[2], n = s->dense.depth;

    if (s->x) {
        memcpy(to, s->x + row * n, (size_t)(rows * n) * sizeof *to);
        pdm_post_apply(&s->steps, to, n, row, rows, 0, n);
        return;
    }
    for (int64_t end = row + rows, count; row < end; row += count, to += count * n) {
        const int64_t line = row / width, at = row % width;
        count = end - row < width - at ? end - row : width - at;
        pdm_depthwise_run(&s->depthwise, line, at, at + count, to);
    }
}

static void run_blocks(void *arg, int64_t begin, int64_t end)
{
    const separable *s = arg;
    const int64_t n = s->dense.depth, whole = 0;
    float room[ROOM_FLOATS] __attribute__((aligned(PDM_TENSOR_ALIGNMENT)));

    for (int64_t b = begin; b < end; b++) {
        const int64_t row = b * s->block;
        const int64_t rows = s->places - row < s->block ? s->places - row : s->block;
        const pdm_dense_rows x = {room, n, &whole, 1, n};
        make_rows(s, row, rows, room);
        pdm_dense_run(&s->dense, &x, row, rows, 0, s->panels);
    }
}

static int64_t block_of(const separable *s)
{
    int64_t block = BLOCK;

    while (block > LEAST_BLOCK && block * s->dense.depth > ROOM_FLOATS)
        block /= 2;
    while (block > LEAST_BLOCK && s->places / block < ENOUGH_BLOCKS)
        block /= 2;
    return block;
}

static bool begin_depthwise(pdm_k *k, separable *s)
{
    pdm_fast_conv *c = &s->inner;

    if (!pdm_fast_conv_read(k, c) ||
        !pdm_post_read_named(k, "inner_post", "inner_post_args", 5, 4, c->dims, &c->post) ||
        !pdm_depthwise_begin(k, &s->depthwise, c))
        return false;
    if (c->post.grows)
        pdm_k_fail(k, "the parts of the convolution do not fit each other");
    memcpy(s->dims, c->dims, sizeof s->dims);
    return PDM_K_OK(k);
}

static bool begin_steps(pdm_k *k, separable *s)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    if (x && (x->dtype != PDM_F32 || x->rank != 4))
        pdm_k_fail(k, "the operand is no float32 image");
    if (!PDM_K_OK(k) ||
        !pdm_post_read_named(k, "inner_post", "inner_post_args", 3, 4, x->dims, &s->steps))
        return false;
    if (s->steps.rank != 4)
        return pdm_k_fail(k, "the steps make no image"), false;
    memcpy(s->dims, s->steps.dims, sizeof s->dims);
    s->x = x->data;
    if (s->steps.grows) {
        s->x = pdm_post_expand_temp(k, &s->steps, x->data, 4, x->dims);
        s->steps.count = 0;
    }
    return PDM_K_OK(k);
}

static bool begin_dense(pdm_k *k, separable *s, size_t first)
{
    const pdm_tensor *weights = pdm_k_in(k, first), *bias = pdm_k_in_opt(k, first + 1);
    const int64_t depth = s->dims[3], cols = pdm_k_int(k, "channels");

    if (!PDM_K_OK(k))
        return false;
    if (weights->dtype != PDM_F32 || (bias && bias->dtype != PDM_F32) || cols < 1 ||
        cols > INT32_MAX || (bias && pdm_tensor_count(bias) != cols) ||
        pdm_tensor_count(weights) != pdm_nn_mul(k, depth, pdm_dense_padded(cols)))
        pdm_k_fail(k, "weights or bias do not fit %lld columns", (long long)cols);
    if (depth > ROOM_FLOATS / LEAST_BLOCK)
        pdm_k_fail(k, "more than %d channels", ROOM_FLOATS / LEAST_BLOCK);
    if (!PDM_K_OK(k))
        return false;
    s->dense = (pdm_dense){.depth = depth,
                           .cols = cols,
                           .weights = weights->data,
                           .even = depth % 2 == 0,
                           .bias = bias ? pdm_dense_bias(k, bias->data, cols) : NULL,
                           .stride = cols};
    s->panels = pdm_dense_panels(cols);
    return PDM_K_OK(k);
}

/* Operands of the steps on the result begin with `first`. */
static pdm_status finish(pdm_k *k, separable *s, size_t first)
{
    const int64_t *d = s->dims, dims[4] = {d[0], d[1], d[2], s->dense.cols};
    pdm_post post;
    uint64_t count;

    if (!pdm_count_elements(dims, 4, &count) || count > INT64_MAX / 8)
        return pdm_k_fail(k, "the result is too large");
    if (!pdm_post_read(k, first, 4, dims, &post))
        return k->status;
    s->dense.y = post.grows ? pdm_k_temp(k, (size_t)count * sizeof *s->dense.y)
                            : pdm_k_out(k, 0, PDM_F32, 4, dims);
    s->dense.post = post.count > 0 && !post.grows ? &post : NULL;
    s->places = d[0] * d[1] * d[2];
    s->block = block_of(s);
    if (PDM_K_OK(k) && count > 0) {
        const int64_t work = s->block * s->dense.depth * (s->dense.cols + 9);
        pdm_k_parallel(k, (s->places + s->block - 1) / s->block, 1 + 100000 / (work + 1), run_blocks, s);
    }
    if (post.grows && PDM_K_OK(k))
        return pdm_post_expand(k, &post, s->dense.y, 4, dims);
    return k->status;
}

pdm_status pdm_kernel_fast_separable_conv2d(pdm_k *k)
{
    separable s;

    s.x = NULL;
    if (!begin_depthwise(k, &s) || !begin_dense(k, &s, 3))
        return k->status;
    return finish(k, &s, 5 + s.inner.post.num_others);
}

pdm_status pdm_kernel_fast_stepped_conv2d(pdm_k *k)
{
    separable s;

    if (!begin_steps(k, &s) || !begin_dense(k, &s, 1))
        return k->status;
    return finish(k, &s, 3 + s.steps.num_others);
}
