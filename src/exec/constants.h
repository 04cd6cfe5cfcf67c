/* Ops computed outside of a run: what passes that fold constants ask for. */
#ifndef PDM_EXEC_CONSTANTS_H
#define PDM_EXEC_CONSTANTS_H

#include "base/params.h"
#include "exec/kernel.h"
#include "ir/constants.h"

typedef struct pdm_exec_operands {
    pdm_value *const *in;
    size_t num_in;
    pdm_value *const *out;
    size_t num_out;
} pdm_exec_operands;

/* Call a kernel of op, whose operands are as in its row; results are allocated anew. */
PDM_MUST_USE pdm_status pdm_exec_compute(const pdm_ir_op *op, pdm_kernel_fn fn,
                                         pdm_kernel_fn reference, const pdm_exec_operands *operands);

/* The source of constants for passes: reference kernels, and parameters from where params says. */
typedef struct pdm_exec_constants {
    pdm_ir_constant_source source;
    const pdm_params *params; /* borrowed; NULL: none */
    pdm_diag_sink *sink;      /* borrowed */
    pdm_param_reader reader;
} pdm_exec_constants;

/* It stays where it is; deinit it in any case. */
void pdm_exec_constants_init(pdm_exec_constants *constants, const pdm_params *params,
                             pdm_diag_sink *sink);
void pdm_exec_constants_deinit(pdm_exec_constants *constants);
/* The `compute` of that source: it uses no user data. */
pdm_status pdm_exec_constants_compute(void *user, const pdm_ir_op *op, const pdm_tensor *const *in,
                                      const size_t *counts, pdm_tensor *const *out);

#endif
