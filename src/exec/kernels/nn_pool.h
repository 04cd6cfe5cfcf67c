/* Pooling: what the reference and the fast kernels share. */
#ifndef PDM_EXEC_KERNELS_NN_POOL_H
#define PDM_EXEC_KERNELS_NN_POOL_H

#include "exec/kernels/nn_impl.h"

typedef enum pdm_pool_mode {
    PDM_POOL_MAX,
    PDM_POOL_AVERAGE,
    PDM_POOL_POWER,
    PDM_POOL_INDEXED
} pdm_pool_mode;

typedef struct pdm_nn_pool {
    const pdm_tensor *x;
    pdm_tensor *out, *mask;
    pdm_nn_window w;
    pdm_pool_mode mode;
    bool adaptive, exclusive, single; /* single: sums are rounded as float32 */
    double power;
    int64_t xs[5], os[5];
    const int64_t *starts[3], *ends[3]; /* fractional: windows by table */
} pdm_nn_pool;

/* The part of the operand under one output place, and how many places the window has. */
typedef struct pdm_nn_part {
    int64_t begin[3], end[3], size;
} pdm_nn_part;

void pdm_nn_pool_part(const pdm_nn_pool *p, const int64_t at[3], pdm_nn_part *out_part);
/* Read the call of a pool2d and make its result; false: it has failed, or nobody wants it. */
bool pdm_nn_pool2d_begin(pdm_k *k, pdm_nn_pool *p);

#endif
