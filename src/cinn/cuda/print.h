/* Loop IR as CUDA C. */
#ifndef PDM_CINN_CUDA_PRINT_H
#define PDM_CINN_CUDA_PRINT_H

#include "cinn/loop_ir.h"

/* What stands before all kernels of a file. */
void pdm_cinn_cuda_prologue(pdm_buf *out);
/*
 * A kernel for each nest, PREFIX_0, PREFIX_1, ...: its parameters are the buffers, then the symbols as long long. Any grid and block of one dimension will do. The function is flat.
 */
PDM_MUST_USE pdm_status pdm_cinn_cuda_print(const pdm_loop_fn *fn, const char *prefix,
                                            pdm_buf *out);

#endif
