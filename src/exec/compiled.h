/*
 * Compiled groups. A group is compiled when it is first run with inputs of a class of shapes (see
 * cinn/lower.h), and the code kept as long as the plan. It is shared by all sessions of the plan,
 * in any threads, and the kernel by all groups that make the same loops (cinn/kernels.h).
 */
#ifndef PDM_EXEC_COMPILED_H
#define PDM_EXEC_COMPILED_H

#include <pthread.h>

#include "base/diag.h"
#include "cinn/backend.h"
#include "cinn/lower.h"
#include "exec/kernel.h"
#include "exec/mirror.h"
#include "ir/ir.h"

typedef struct pdm_exec_group pdm_exec_group;

/* op: a group (pdm_cinn_is_group); both outlive the result. */
PDM_MUST_USE pdm_status pdm_exec_group_create(const pdm_ir_op *op, const pdm_cinn_backend *backend,
                                              pdm_exec_group **out_group);
void pdm_exec_group_destroy(pdm_exec_group *group); /* NULL is allowed */
/* The values that it takes as operands. */
const pdm_ir_value *const *pdm_exec_group_inputs(const pdm_exec_group *group, size_t *out_count);
/* Whether nothing was compiled for it so far. */
bool pdm_exec_group_is_new(pdm_exec_group *group);
/* An input as the compiler wants it; false: it is none that can be compiled for. */
bool pdm_exec_group_actual(const pdm_value *value, pdm_cinn_actual *out);
/* Whether a tensor may have sizes in it, so that code depends on its data. */
bool pdm_exec_group_asks_data(const pdm_cinn_actual *actual);
bool pdm_exec_has_sizes(const pdm_tensor *t);
/* Make code for such inputs, if it can be made. */
void pdm_exec_group_prepare(pdm_exec_group *group, const pdm_cinn_actual *actual);
/* Compute all results of a call; *out_done is false when it has to be done op by op: shapes do not
 * fit, there is LoD to be handed on, or the backend cannot. Nothing has happened then. mirror: of the
 * backend's device, if it has one. */
PDM_MUST_USE pdm_status pdm_exec_group_run(pdm_exec_group *group, pdm_k *k, pdm_exec_mirror *mirror,
                                           bool *out_done);

/* Of all runs so far. */
typedef struct pdm_exec_compile_stats {
    size_t groups, kernels;  /* kernels: one a group and class of shapes */
    uint64_t runs, compiled; /* of groups; those that compiled code did */
} pdm_exec_compile_stats;

/* Hand what the compiler has to say to a sink; lock (or NULL) is held around it. */
void pdm_exec_tell_notes(pdm_diag_sink *sink, pthread_mutex_t *lock);

/* Adds a group. */
void pdm_exec_group_count(pdm_exec_group *group, pdm_exec_compile_stats *stats);

#endif
