/* Products of matrices by cuBLAS, which is opened when the first is asked for: PDM_CUBLAS names it. */
#ifndef PDM_CINN_CUDA_CUBLAS_H
#define PDM_CINN_CUDA_CUBLAS_H

#include "cinn/backend.h"

PDM_MUST_USE pdm_status pdm_cinn_cublas_product(const pdm_cinn_product *product);

#endif
