/*
 * Lowering for fast kernels: a copy of a module in which constant arithmetic went into the weights,
 * convolutions and chains of elementwise ops became ops of the `fast` dialect, and images are
 * channels-last from one end to the other. It computes the same but for rounding.
 */
#ifndef PDM_EXEC_LOWER_H
#define PDM_EXEC_LOWER_H

#include "ir/ir.h"

typedef struct pdm_exec_lower_options {
    bool fast;  /* all that the head of this file says; else only what needs no other kernels */
    bool group; /* form groups that are to be compiled (cinn/group.h) */
    bool single; /* also groups of single ops */
} pdm_exec_lower_options;

/* The copy belongs to the caller and shares the module's context. */
PDM_MUST_USE pdm_status pdm_exec_lower(const pdm_ir_module *module,
                                       const pdm_exec_lower_options *options,
                                       pdm_ir_module **out_module);

#endif
