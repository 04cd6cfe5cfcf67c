/* Depthwise convolution of channels-last images: each channel has a kernel of its own. */
#include <string.h>

#include "exec/fast/conv_impl.h"
#include "exec/fast/simd.h"

/* y[c] = bias[c] + sum of x[i][c] * f[i][c] over the places of the kernel that are on the image. */
PDM_INLINE void sum_place_body(float *y, const float *bias, const float *const *x,
                               const float *const *f, int64_t places, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        y[c] = bias ? bias[c] : 0.0f;
    for (int64_t i = 0; i < places; i++) {
        const float *a = x[i], *b = f[i];
        for (int64_t c = 0; c < n; c++)
            y[c] += a[c] * b[c];
    }
}

PDM_CLONES(sum_place,
           (float *y, const float *bias, const float *const *x, const float *const *f,
            int64_t places, int64_t n),
           (y, bias, x, f, places, n))

enum { MAX_PLACES = 256 };

static void run_line(const pdm_fast_conv *c, int64_t line)
{
    const pdm_nn_window *w = &c->w;
    const int64_t n = c->channels, image = line / w->out[1], y = line % w->out[1];
    const float *x[MAX_PLACES], *f[MAX_PLACES];
    float *out = c->y + line * w->out[2] * n;

    for (int64_t at = 0; at < w->out[2]; at++) {
        int64_t places = 0;
        for (int64_t i = 0; i < w->kernel[1]; i++) {
            const int64_t iy = y * w->stride[1] - w->before[1] + i * w->dilation[1];
            for (int64_t j = 0; iy >= 0 && iy < w->in[1] && j < w->kernel[2]; j++) {
                const int64_t ix = at * w->stride[2] - w->before[2] + j * w->dilation[2];
                if (ix < 0 || ix >= w->in[2])
                    continue;
                x[places] = c->x + ((image * w->in[1] + iy) * w->in[2] + ix) * n;
                f[places++] = c->filter + (i * w->kernel[2] + j) * n;
            }
        }
        sum_place(out + at * n, c->bias, x, f, places, n);
    }
    if (pdm_fast_conv_post(c))
        pdm_post_apply(&c->post, out, n, line * w->out[2], w->out[2], 0, n);
}

static void run_lines(void *arg, int64_t begin, int64_t end)
{
    for (int64_t line = begin; line < end; line++)
        run_line(arg, line);
}

pdm_status pdm_kernel_fast_depthwise_conv2d(pdm_k *k)
{
    pdm_fast_conv c = {0};

    if (!pdm_fast_conv_begin(k, &c) ||
        !pdm_fast_conv_filter_is(k, &c, c.w.kernel[1] * c.w.kernel[2] * c.channels))
        return k->status;
    if (c.in_group != 1 || c.groups != c.channels || c.w.kernel[1] * c.w.kernel[2] > MAX_PLACES)
        return pdm_k_fail(k, "the filter is none of a depthwise convolution");
    if (c.y) {
        const int64_t line = c.w.out[2] * c.channels * c.w.kernel[1] * c.w.kernel[2];
        pdm_k_parallel(k, c.w.batch * c.w.out[1], 1 + 20000 / (line + 1), run_lines, &c);
    }
    return pdm_fast_conv_end(k, &c);
}
