/* Loop IR as CUDA C. */
#ifndef PDM_CINN_CUDA_PRINT_H
#define PDM_CINN_CUDA_PRINT_H

#include "cinn/loop_ir.h"

typedef enum pdm_cinn_cuda_width {
    PDM_CINN_CUDA_WIDE,   /* indices have 64 bits: kernels PREFIX_0, PREFIX_1, ... */
    PDM_CINN_CUDA_NARROW, /* 32 bits (see pdm_cinn_gpu_is_narrow): PREFIX_0n, ... */
    PDM_CINN_CUDA_BOTH
} pdm_cinn_cuda_width;

/* What a function needs: with symbols, one or the other is taken for a run. */
pdm_cinn_cuda_width pdm_cinn_cuda_widths(const pdm_loop_fn *fn);
/* What stands before all kernels of a file. */
void pdm_cinn_cuda_prologue(pdm_buf *out);
/*
 * A kernel for each nest: its parameters are the buffers, then the symbols as long long, or int
 * where indices are narrow. Grids are as cinn/gpu.h says. The function is flat.
 */
PDM_MUST_USE pdm_status pdm_cinn_cuda_print(const pdm_loop_fn *fn, const char *prefix,
                                            pdm_cinn_cuda_width width, pdm_buf *out);
enum { PDM_CINN_CUDA_NAME = 24 };
/* The same with names that tell the text: equal kernels have equal names. */
PDM_MUST_USE pdm_status pdm_cinn_cuda_print_named(const pdm_loop_fn *fn,
                                                  char name[PDM_CINN_CUDA_NAME], pdm_buf *out);

#endif
