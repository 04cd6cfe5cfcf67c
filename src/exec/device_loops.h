/*
 * Loops for what a device may do instead of a kernel (kernels/nn_device.h), where no library of the
 * device does it: kernels of one nest, a turn a thread. Sums are of float32, or float64.
 * Small numbers and those of windows are written into the code, others are symbols, so that
 * it serves many shapes.
 */
#ifndef PDM_EXEC_DEVICE_LOOPS_H
#define PDM_EXEC_DEVICE_LOOPS_H

#include "cinn/loop_ir.h"
#include "exec/kernels/nn_device.h"

enum { PDM_DEVICE_SYMBOLS = 48 };

typedef struct pdm_device_loops {
    pdm_loop_fn *fn; /* the caller's; inputs in the order of the struct, then the result */
    int64_t symbols[PDM_DEVICE_SYMBOLS];
} pdm_device_loops;

/* PDM_UNSUPPORTED: not for these element types, or too many numbers. */
PDM_MUST_USE pdm_status pdm_exec_product_loops(const pdm_nn_product *product, pdm_device_loops *out);
PDM_MUST_USE pdm_status pdm_exec_conv_loops(const pdm_nn_conv *conv, pdm_device_loops *out);
PDM_MUST_USE pdm_status pdm_exec_pool_loops(const pdm_nn_pool *pool, pdm_device_loops *out);

#endif
