/*
 * A depthwise convolution and the one with kernel 1 that is the only reader of its result: some
 * places of the first are made, which the second takes while they are in the cache.
 */
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
    pdm_dense dense;
    int64_t places, block;
    int panels;
} separable;

/* Places [row, row + rows) of what is between. */
static void make_rows(const separable *s, int64_t row, int64_t rows, float *to)
{
    const int64_t width = s->inner.w.out[2], n = s->inner.channels;

    for (int64_t end = row + rows, count; row < end; row += count, to += count * n) {
        const int64_t line = row / width, at = row % width;
        count = end - row < width - at ? end - row : width - at;
        pdm_depthwise_run(&s->depthwise, line, at, at + count, to);
    }
}

static void run_blocks(void *arg, int64_t begin, int64_t end)
{
    const separable *s = arg;
    const int64_t n = s->inner.channels, whole = 0;
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

    while (block > LEAST_BLOCK && block * s->inner.channels > ROOM_FLOATS)
        block /= 2;
    while (block > LEAST_BLOCK && s->places / block < ENOUGH_BLOCKS)
        block /= 2;
    return block;
}

/* The part between the convolutions. */
static bool begin_inner(pdm_k *k, separable *s)
{
    pdm_fast_conv *c = &s->inner;

    if (!pdm_fast_conv_read(k, c) ||
        !pdm_post_read_named(k, "inner_post", "inner_post_args", 5, 4, c->dims, &c->post) ||
        !pdm_depthwise_begin(k, &s->depthwise, c))
        return false;
    if (c->post.grows || c->channels > ROOM_FLOATS / LEAST_BLOCK)
        pdm_k_fail(k, "the parts of the convolution do not fit each other");
    return PDM_K_OK(k);
}

static bool begin_dense(pdm_k *k, separable *s, int64_t cols)
{
    const pdm_tensor *weights = pdm_k_in(k, 3), *bias = pdm_k_in_opt(k, 4);
    const int64_t depth = s->inner.channels;

    if (!PDM_K_OK(k))
        return false;
    if (weights->dtype != PDM_F32 || (bias && bias->dtype != PDM_F32) || cols < 1 ||
        cols > INT32_MAX || (bias && pdm_tensor_count(bias) != cols) ||
        pdm_tensor_count(weights) != pdm_nn_mul(k, depth, pdm_dense_padded(cols)))
        pdm_k_fail(k, "weights or bias do not fit %lld columns", (long long)cols);
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

pdm_status pdm_kernel_fast_separable_conv2d(pdm_k *k)
{
    separable s;
    pdm_post post;
    uint64_t count;

    if (!begin_inner(k, &s) || !begin_dense(k, &s, pdm_k_int(k, "channels")))
        return k->status;
    const int64_t *d = s.inner.dims, dims[4] = {d[0], d[1], d[2], s.dense.cols};
    if (!pdm_count_elements(dims, 4, &count) || count > INT64_MAX / 8)
        return pdm_k_fail(k, "the result is too large");
    if (!pdm_post_read(k, 5 + s.inner.post.num_others, 4, dims, &post))
        return k->status;
    s.dense.y = post.grows ? pdm_k_temp(k, (size_t)count * sizeof *s.dense.y)
                           : pdm_k_out(k, 0, PDM_F32, 4, dims);
    s.dense.post = post.count > 0 && !post.grows ? &post : NULL;
    s.places = d[0] * d[1] * d[2];
    s.block = block_of(&s);
    if (PDM_K_OK(k) && count > 0) {
        const pdm_nn_window *w = &s.inner.w;
        const int64_t work =
            s.block * s.dense.depth * (s.dense.cols + w->kernel[1] * w->kernel[2]);
        pdm_k_parallel(k, (s.places + s.block - 1) / s.block, 1 + 100000 / (work + 1), run_blocks, &s);
    }
    if (post.grows && PDM_K_OK(k))
        return pdm_post_expand(k, &post, s.dense.y, 4, dims);
    return k->status;
}
