/*
 * Ops outside of groups on a device: products of matrices, convolution and pooling. Libraries of the
 * device do them (cinn/backend.h); where those are missing or cannot, kernels that are made of loops
 * (device_loops.h); what neither can is done here, with copies. Views of what lies on the
 * device stay views.
 */
#ifndef PDM_EXEC_DEVICE_H
#define PDM_EXEC_DEVICE_H

#include "exec/kernels/nn_device.h"
#include "exec/mirror.h"

typedef struct pdm_exec_device pdm_exec_device;

/* They outlive it. */
PDM_MUST_USE pdm_status pdm_exec_device_create(const pdm_cinn_backend *backend, pdm_exec_mirror *mirror,
                                               pdm_exec_device **out_device);
void pdm_exec_device_destroy(pdm_exec_device *device); /* NULL is allowed */

/* Whether a kernel asks a device before it touches data. */
bool pdm_exec_device_knows(pdm_kernel_fn reference);
/* Whether the first result of a kernel is its first operand, with another shape. */
bool pdm_exec_device_is_view(pdm_kernel_fn reference);

/* A call of a kernel, whose `device` is `hook`. */
typedef struct pdm_exec_device_call {
    pdm_k_device hook;
    pdm_exec_device *device;
    const pdm_ir_op *op;
    bool done; /* results are on the device */
} pdm_exec_device_call;

/* Sizes among the operands are brought here for it. */
PDM_MUST_USE pdm_status pdm_exec_device_begin(pdm_exec_device *device, const pdm_ir_op *op, pdm_k *k,
                                              pdm_exec_device_call *out_call);

#endif
