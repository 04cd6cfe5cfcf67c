/* Convolution by cuDNN, which is opened when the first is asked for: PDM_CUDNN names it. */
#ifndef PDM_CINN_CUDA_CUDNN_H
#define PDM_CINN_CUDA_CUDNN_H

#include "cinn/backend.h"

PDM_MUST_USE pdm_status pdm_cinn_cudnn_conv(const pdm_cinn_conv *conv);

#endif
