/*
 * Transposed convolution of channels-last images whose stride is the size of the kernel: a product
 * of matrices, whose columns (places of the kernel, channels) are then put where they belong.
 */
#include <string.h>

#include "exec/fast/conv_impl.h"
#include "exec/fast/dense.h"

enum { BLOCK = 24, MOST = 4096 }; /* places of an image at a time, columns */

typedef struct deconv {
    int64_t batch, height, width, depth; /* of the operand */
    int64_t kh, kw, channels;            /* of the result */
    pdm_dense dense;
    const float *x;
    float *y;
    const pdm_post *post;
    float *rooms;
} deconv;

static void put(const deconv *d, const float *from, int64_t line, int64_t first, int64_t count)
{
    const int64_t piece = d->kw * d->channels;

    for (int64_t i = 0; i < d->kh; i++) {
        const int64_t row = (line * d->kh + i) * d->width * d->kw + first * d->kw;
        float *to = d->y + row * d->channels;
        for (int64_t j = 0; j < count; j++)
            memcpy(to + j * piece, from + j * d->dense.cols + i * piece, (size_t)piece * sizeof *to);
        if (d->post)
            pdm_post_apply(d->post, to, d->channels, row, count * d->kw, 0, d->channels);
    }
}

static void run_lines(void *arg, int64_t begin, int64_t end)
{
    const deconv *d = arg;
    const int64_t whole = 0;
    float *room = d->rooms + begin * BLOCK * d->dense.cols;
    pdm_dense dense = d->dense;

    dense.y = room;
    for (int64_t line = begin; line < end; line++) {
        for (int64_t first = 0; first < d->width; first += BLOCK) {
            const int64_t count = d->width - first < BLOCK ? d->width - first : BLOCK;
            const pdm_dense_rows x = {d->x + (line * d->width + first) * d->depth, d->depth,
                                      &whole, 1, d->depth};
            pdm_dense_run(&dense, &x, 0, count, 0, pdm_dense_panels(dense.cols));
            put(d, room, line, first, count);
        }
    }
}

static bool read(pdm_k *k, deconv *d, int64_t dims[4])
{
    const pdm_tensor *x = pdm_k_in(k, 0), *w = pdm_k_in(k, 1), *bias = pdm_k_in_opt(k, 2);
    int64_t shape[PDM_K_MAX_INTS];
    const size_t rank = pdm_k_ints(k, "filter_shape", shape);

    if (!PDM_K_OK(k))
        return false;
    if (x->dtype != PDM_F32 || w->dtype != PDM_F32 || (bias && bias->dtype != PDM_F32) ||
        x->rank != 4 || rank != 4)
        return pdm_k_fail(k, "operand or filter are no float32 images"), false;
    for (int i = 0; i < 4; i++) {
        if (shape[i] < 1 || shape[i] > 65536)
            return pdm_k_fail(k, "the filter has a dimension of %lld", (long long)shape[i]), false;
    }
    *d = (deconv){.batch = x->dims[0],
                  .height = x->dims[1],
                  .width = x->dims[2],
                  .depth = x->dims[3],
                  .kh = shape[2],
                  .kw = shape[3],
                  .channels = shape[1],
                  .x = x->data};
    const int64_t cols = pdm_nn_mul(k, pdm_nn_mul(k, shape[2], shape[3]), shape[1]);
    d->dense = (pdm_dense){.depth = d->depth,
                           .cols = cols,
                           .weights = w->data,
                           .even = d->depth % 2 == 0,
                           .stride = cols};
    if (PDM_K_OK(k) && (d->depth != shape[0] || (bias && pdm_tensor_count(bias) != shape[1]) ||
                        pdm_tensor_count(w) != d->depth * pdm_dense_padded(cols)))
        pdm_k_fail(k, "operand, filter and bias do not fit each other");
    dims[0] = d->batch;
    dims[1] = pdm_nn_mul(k, d->height, d->kh);
    dims[2] = pdm_nn_mul(k, d->width, d->kw);
    dims[3] = d->channels;
    return PDM_K_OK(k);
}

/* The bias of each place of the kernel. */
static bool spread_bias(pdm_k *k, deconv *d, const pdm_tensor *bias)
{
    const int64_t cols = d->dense.cols, padded = pdm_dense_padded(cols);
    float *to = bias ? pdm_k_temp(k, (size_t)padded * sizeof *to) : NULL;

    for (int64_t i = 0; to && i < padded; i++)
        to[i] = i < cols ? ((const float *)bias->data)[i % d->channels] : 0;
    d->dense.bias = to;
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_fast_conv2d_transpose(pdm_k *k)
{
    deconv d;
    int64_t dims[4];
    pdm_post post;

    if (!read(k, &d, dims) || !spread_bias(k, &d, pdm_k_in_opt(k, 2)))
        return k->status;
    const int64_t count =
        pdm_nn_mul(k, pdm_nn_mul(k, pdm_nn_mul(k, dims[0], dims[1]), dims[2]), dims[3]);
    const int64_t lines = d.batch * d.height;
    if (!PDM_K_OK(k) || !pdm_post_read(k, 3, 4, dims, &post))
        return k->status;
    d.y = post.grows ? pdm_k_temp(k, (size_t)count * sizeof *d.y)
                     : pdm_k_out(k, 0, PDM_F32, 4, dims);
    d.post = post.count > 0 && !post.grows ? &post : NULL;
    d.rooms = pdm_k_temp(k, (size_t)pdm_nn_mul(k, lines, BLOCK * d.dense.cols) * sizeof *d.rooms);
    if (d.y && d.rooms && count > 0)
        pdm_k_parallel(k, lines, 1 + 100000 / (d.width * d.depth * d.dense.cols + 1), run_lines, &d);
    return PDM_K_OK(k) && post.grows ? pdm_post_expand(k, &post, d.y, 4, dims) : k->status;
}
