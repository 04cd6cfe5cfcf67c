/* Correlation of two images of features: the mean product at each place and displacement. */
#include "exec/kernels/nn_impl.h"

typedef struct correlation {
    const pdm_tensor *a, *b;
    pdm_tensor *out;
    int64_t pad, reach, step, stride; /* reach: the largest displacement; step: between two */
    int64_t side;                     /* displacements along a dim */
    int64_t height, width;            /* of the result */
} correlation;

static double product_at(const correlation *p, int64_t n, const int64_t at[2], const int64_t to[2])
{
    const int64_t *dims = p->a->dims, plane = dims[2] * dims[3];
    double sum = 0;

    for (int d = 0; d < 2; d++) {
        if (at[d] < 0 || at[d] >= dims[2 + d] || to[d] < 0 || to[d] >= dims[2 + d])
            return 0;
    }
    for (int64_t c = 0; c < dims[1]; c++) {
        const int64_t first = (n * dims[1] + c) * plane;
        sum += pdm_nn_at(p->a, first + at[0] * dims[3] + at[1]) *
               pdm_nn_at(p->b, first + to[0] * dims[3] + to[1]);
    }
    return sum / (double)dims[1];
}

static void rows(void *arg, int64_t begin, int64_t end)
{
    const correlation *p = arg;

    for (int64_t row = begin; row < end; row++) {
        const int64_t y = row % p->height, channel = row / p->height;
        const int64_t n = channel / (p->side * p->side), which = channel % (p->side * p->side);
        const int64_t down = (which / p->side - p->side / 2) * p->step;
        const int64_t right = (which % p->side - p->side / 2) * p->step;
        for (int64_t x = 0; x < p->width; x++) {
            const int64_t at[2] = {y * p->stride + p->reach - p->pad,
                                   x * p->stride + p->reach - p->pad};
            const int64_t to[2] = {at[0] + down, at[1] + right};
            pdm_nn_put(p->out, row * p->width + x, product_at(p, n, at, to));
        }
    }
}

static bool sizes(pdm_k *k, correlation *p)
{
    const int64_t limit = 1 << 20;
    const pdm_tensor *a = p->a;

    if (!PDM_K_OK(k))
        return false;
    if (a->rank != 4 || !pdm_k_same_dims(a, p->b)) {
        pdm_k_fail(k, "two operands of one shape with 4 dimensions are needed");
        return false;
    }
    if (pdm_k_int(k, "kernel_size") != 1 || pdm_k_int_or(k, "corr_type_multiply", 1) != 1) {
        pdm_k_fail(k, "only products of single places (kernel_size 1) are supported");
        return false;
    }
    if (p->pad < 0 || p->pad > limit || p->reach < 0 || p->reach > limit || p->step < 1 ||
        p->stride < 1 || a->dims[1] < 1) {
        pdm_k_fail(k, "padding, displacement or strides are out of range");
        return false;
    }
    const int64_t high = a->dims[2] + 2 * p->pad - 2 * p->reach,
                  wide = a->dims[3] + 2 * p->pad - 2 * p->reach;
    if (high < 1 || wide < 1) {
        pdm_k_fail(k, "the displacement leaves no place");
        return false;
    }
    p->side = 2 * (p->reach / p->step) + 1;
    p->height = (high + p->stride - 1) / p->stride;
    p->width = (wide + p->stride - 1) / p->stride;
    return true;
}

pdm_status pdm_kernel_correlation(pdm_k *k)
{
    correlation p = {.a = pdm_k_in(k, 0),
                     .b = pdm_k_in(k, 1),
                     .pad = pdm_k_int(k, "pad_size"),
                     .reach = pdm_k_int(k, "max_displacement"),
                     .stride = pdm_k_int(k, "stride1"),
                     .step = pdm_k_int(k, "stride2")};

    if (!pdm_nn_floats(k, p.a) || !pdm_nn_floats(k, p.b) || !sizes(k, &p))
        return k->status;
    const int64_t dims[4] = {p.a->dims[0], p.side * p.side, p.height, p.width};
    p.out = pdm_nn_out(k, 0, p.a->dtype, 4, dims);
    if (p.out)
        pdm_k_parallel(k, dims[0] * dims[1] * dims[2], 1, rows, &p);
    return k->status;
}
