/* Chains of elementwise ops. */
#include <string.h>

#include "exec/fast/post.h"

enum { RUN = 4096 }; /* elements that stay in the first cache */

typedef struct chain {
    const pdm_post *post;
    const float *x;
    float *y;
    int64_t rows; /* of a run */
} chain;

static void run_rows(void *arg, int64_t begin, int64_t end)
{
    const chain *c = arg;
    const int64_t n = c->post->channels;

    for (int64_t row = begin; row < end; row += c->rows) {
        const int64_t rows = end - row < c->rows ? end - row : c->rows;
        float *y = c->y + row * n;
        memcpy(y, c->x + row * n, (size_t)(rows * n) * sizeof *y);
        pdm_post_apply(c->post, y, n, row, rows, 0, n);
    }
}

static void run(pdm_k *k, const pdm_tensor *x, const pdm_post *post)
{
    chain c = {post, x->data, pdm_k_out(k, 0, PDM_F32, post->rank, post->dims), 1};

    if (!c.y || post->rows * post->channels == 0)
        return;
    c.rows = post->channels < RUN ? RUN / post->channels : 1;
    pdm_k_parallel(k, post->rows, 1 + 4 * RUN / post->channels, run_rows, &c);
}

pdm_status pdm_kernel_fast_elementwise(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_post post;

    if (x && x->dtype != PDM_F32)
        return pdm_k_fail(k, "an operand is no float32");
    if (!x || !pdm_post_read(k, 1, x->rank, x->dims, &post))
        return k->status;
    if (post.grows)
        pdm_post_expand(k, &post, x->data, x->rank, x->dims);
    else
        run(k, x, &post);
    pdm_post_pass_lod(k);
    return k->status;
}
