/*
 * Groups of ops that are to become one kernel. An op may be in a group when it has a rule
 * (rules.def); ops are grouped when one reads the other and no way leads from a group out and back
 * into it, through regions of other ops neither. Ops with effects keep their order among each other.
 */
#ifndef PDM_CINN_GROUP_H
#define PDM_CINN_GROUP_H

#include "base/buf.h"
#include "ir/ir.h"

typedef struct pdm_cinn_group_options {
    bool single; /* also groups of one op, which gain nothing: for tests */
    /* Whether an op has a kernel of its own that is as good as compiled code; NULL: none has. */
    bool (*has_kernel)(const pdm_ir_op *op);
} pdm_cinn_group_options;

/* Move ops of all blocks of a module into cinn_op.group ops. options may be NULL. */
PDM_MUST_USE pdm_status pdm_cinn_group_module(pdm_ir_module *module,
                                              const pdm_cinn_group_options *options);

typedef struct pdm_cinn_group_stats {
    size_t groups, grouped; /* groups, and ops in them */
    size_t ops;             /* in and outside of groups; inputs, constants and the like aside */
    size_t library;         /* of these, what a library of products and convolutions does */
} pdm_cinn_group_stats;

PDM_MUST_USE pdm_status pdm_cinn_group_count(const pdm_ir_module *module,
                                             pdm_cinn_group_stats *out_stats);
/* The first are in the order of pdm_dump_format. */
typedef enum pdm_cinn_form {
    PDM_CINN_AS_OPS,
    PDM_CINN_AS_LOOPS, /* ops, and the loops that they become for the declared shapes */
    PDM_CINN_AS_CUDA,  /* a file of kernels in CUDA C */
    PDM_CINN_AS_SUMMARY, /* how many ops are in groups; which are not, and why */
    PDM_CINN_AS_GPU_LOOPS, /* loops as GPUs have them */
    PDM_CINN_AS_LLVM /* LLVM IR for this processor, a module of each group */
} pdm_cinn_form;

/* PDM_CINN_AS_SUMMARY alone. */
PDM_MUST_USE pdm_status pdm_cinn_group_summary(const pdm_ir_module *module, pdm_buf *out);

/* PDM_UNSUPPORTED: the module for LLVM is missing (backend.h tells why). */
PDM_MUST_USE pdm_status pdm_cinn_group_print(const pdm_ir_module *module, pdm_cinn_form form,
                                             pdm_buf *out);

#endif
