/*
 * Lowering for fast kernels: a copy of a module in which constant arithmetic went into the weights,
 * convolutions and chains of elementwise ops became ops of the `fast` dialect, and images are
 * channels-last from one end to the other. It computes the same but for rounding.
 */
#ifndef PDM_EXEC_LOWER_H
#define PDM_EXEC_LOWER_H

#include "ir/ir.h"

/* The copy belongs to the caller and shares the module's context. */
PDM_MUST_USE pdm_status pdm_exec_lower(const pdm_ir_module *module, pdm_ir_module **out_module);

#endif
