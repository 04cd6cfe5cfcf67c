/*
 * Calls that a device may do instead of a kernel: products of matrices, convolution, pooling. The
 * kernel reads attributes and sizes and makes the result as ever; before it touches data it offers
 * what it is about to do. Then either the device has done it, or all operands are here.
 */
#ifndef PDM_EXEC_KERNELS_NN_DEVICE_H
#define PDM_EXEC_KERNELS_NN_DEVICE_H

#include "exec/kernels/nn_pool.h"

/* out = alpha * x * y + beta * add, for a batch of matrices. Strides are in elements. */
typedef struct pdm_nn_product {
    const pdm_tensor *x, *y, *add; /* add may be NULL */
    pdm_tensor *out;               /* rows of cols elements, one matrix after the other */
    int64_t batch, rows, cols, depth;
    int64_t x_row, x_col, y_row, y_col;
    int batch_rank;
    int64_t batch_dims[PDM_MAX_RANK], x_batch[PDM_MAX_RANK], y_batch[PDM_MAX_RANK];
    int64_t add_batch, add_row, add_col;
    double alpha, beta;
} pdm_nn_product;

/*
 * Convolution, also transposed: both are sums over input channels and kernel places; they differ in
 * which input element belongs to an output place, which tables tell for each dim:
 * index[d][kernel * out + place], -1: none.
 */
typedef struct pdm_nn_conv {
    const pdm_tensor *x, *filter, *bias, *residual; /* bias and residual may be NULL */
    pdm_tensor *out;
    pdm_nn_window w;
    bool transposed;
    int64_t groups, in_group, out_group;         /* channels of a group */
    int64_t places;                              /* of a kernel */
    int64_t filter_group, filter_in, filter_out; /* strides */
    int64_t xs[5], os[5];                        /* strides of x and out */
    int64_t *index[3];                           /* not made yet when a device is asked */
    pdm_nn_act act;
} pdm_nn_conv;

/* What pdm_k.device is. True: it is done, or has failed and k->status tells. */
typedef struct pdm_k_device {
    bool (*product)(const struct pdm_k_device *device, pdm_k *k, const pdm_nn_product *product);
    bool (*conv)(const struct pdm_k_device *device, pdm_k *k, const pdm_nn_conv *conv);
    bool (*pool)(const struct pdm_k_device *device, pdm_k *k, const pdm_nn_pool *pool);
} pdm_k_device;

#endif
