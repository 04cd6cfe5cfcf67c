/*
 * Running a PIR module on the CPU.
 *
 * A plan is made once from a module and its parameters: instructions with everything looked up, and
 * the parameters' data. It is immutable, and any number of sessions in any number of threads may
 * share it; it borrows the module, which outlives it. A session holds the state of runs: values,
 * parameters that the program writes, the random generator. One thread at a time uses a session.
 *
 * Parameters that the program itself writes (in place, or by builtin.set_parameter) keep what was
 * written until the session ends or is reset, as the framework's scope does.
 */
#ifndef PDM_EXEC_EXECUTOR_H
#define PDM_EXEC_EXECUTOR_H

#include "base/params.h"
#include "exec/kernel.h"
#include "ir/ir.h"

typedef struct pdm_exec_plan pdm_exec_plan;
typedef struct pdm_exec_session pdm_exec_session;

/* params: headers of all parameters that the module names; NULL when it has none. Ops without kernels
 * are all reported (PDM_UNSUPPORTED). */
PDM_MUST_USE pdm_status pdm_exec_plan_create(const pdm_ir_module *module, const pdm_params *params,
                                             pdm_diag_sink *sink, pdm_exec_plan **out_plan);
void pdm_exec_plan_destroy(pdm_exec_plan *plan); /* NULL is allowed */

/* Inputs in program order, outputs in column order. */
size_t pdm_exec_num_inputs(const pdm_exec_plan *plan);
size_t pdm_exec_num_outputs(const pdm_exec_plan *plan);
const char *pdm_exec_input_name(const pdm_exec_plan *plan, size_t index);
const char *pdm_exec_output_name(const pdm_exec_plan *plan, size_t index);
pdm_ir_type pdm_exec_input_type(const pdm_exec_plan *plan, size_t index);

typedef struct pdm_exec_options {
    pdm_pool *pool;          /* borrowed; NULL: the caller's thread alone */
    uint64_t seed;           /* of random ops; the same seed gives the same numbers */
    uint64_t max_iterations; /* turns of one loop; 0: no limit */
    /* Asked between instructions and turns of loops; true ends the run with PDM_CANCELLED. */
    bool (*cancelled)(void *user);
    void *user;
} pdm_exec_options;

/* options may be NULL. */
PDM_MUST_USE pdm_status pdm_exec_session_create(const pdm_exec_plan *plan,
                                                const pdm_exec_options *options,
                                                pdm_exec_session **out_session);
void pdm_exec_session_destroy(pdm_exec_session *session); /* NULL is allowed */
/* Give parameters the values of the file again. */
void pdm_exec_session_reset(pdm_exec_session *session);

/* An input for the next runs: refers to the tensor's data (with its LoD) without copying them. */
void pdm_exec_set_input(pdm_exec_session *session, size_t index, const pdm_tensor *tensor);
/* Run once. Errors are told to the sink with the op's name and place. */
PDM_MUST_USE pdm_status pdm_exec_run(pdm_exec_session *session, pdm_diag_sink *sink);
/* An output of the last run; valid until the next one. NULL: it has no value. */
const pdm_value *pdm_exec_output(const pdm_exec_session *session, size_t index);

#endif
