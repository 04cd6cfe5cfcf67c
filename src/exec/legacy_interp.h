/*
 * Running a legacy program as it is, with the semantics of the framework 2.6.2.
 *
 * Nothing is translated: variables are named places, ops write them in place, sub-blocks run in
 * scopes of their own, LoD goes along. So the results show whether a translation means the same.
 *
 * Scopes. Each block has one frame: a block belongs to one op, so it never runs inside itself. A
 * frame is emptied when its op starts to run it. A loop in test mode (is_test) keeps the values of
 * the turn before, without their LoD and with empty tensor arrays; otherwise each turn begins with
 * an empty frame. Persistable variables are one wherever they are declared, and keep their values
 * from run to run until the session is reset.
 *
 * A plan is immutable; any number of sessions in any number of threads may share it. It borrows the
 * program and the schemas, which outlive it. One thread at a time uses a session.
 */
#ifndef PDM_EXEC_LEGACY_INTERP_H
#define PDM_EXEC_LEGACY_INTERP_H

#include "base/params.h"
#include "exec/kernel.h"
#include "legacy_graph/program.h"
#include "legacy_graph/schema.h"

typedef struct pdm_legacy_plan pdm_legacy_plan;
typedef struct pdm_legacy_session pdm_legacy_session;

typedef struct pdm_legacy_plan_options {
    const char *const *fetch; /* outputs instead of those of fetch ops */
    size_t num_fetch;
    bool keep_all; /* variables keep their values until the end of a run */
} pdm_legacy_plan_options;

/*
 * params: headers of the parameters; their data are read here. NULL when there are none. All ops
 * that cannot be run are reported (PDM_UNSUPPORTED). options may be NULL. schemas are used during
 * the call only, but the texts of their defaults stay in use.
 */
PDM_MUST_USE pdm_status pdm_legacy_plan_create(const pdm_lg_program *program,
                                               pdm_lg_schemas *schemas, const pdm_params *params,
                                               const pdm_legacy_plan_options *options,
                                               pdm_diag_sink *sink, pdm_legacy_plan **out_plan);
void pdm_legacy_plan_destroy(pdm_legacy_plan *plan); /* NULL is allowed */

/* Inputs: those of feed ops in column order, then other variables of block 0 that are to be fed. */
size_t pdm_legacy_num_inputs(const pdm_legacy_plan *plan);
size_t pdm_legacy_num_outputs(const pdm_legacy_plan *plan); /* in column order */
const char *pdm_legacy_input_name(const pdm_legacy_plan *plan, size_t index);
const char *pdm_legacy_output_name(const pdm_legacy_plan *plan, size_t index);
/* Its declaration. */
const pdm_lg_var *pdm_legacy_input_var(const pdm_legacy_plan *plan, size_t index);

/* A cinn_launch op that is to be run: the subgraph that has the key, on these tensors by name. */
typedef struct pdm_legacy_launch {
    int64_t key;
    const char *const *in_names;
    const pdm_tensor *const *in; /* NULL: the variable has no value */
    size_t num_in;
    /* Inputs of which only element type and shape are there. */
    const char *const *shape_names;
    const pdm_tensor *shapes; /* without data */
    size_t num_shapes;
    const char *const *out_names;
    pdm_tensor *out; /* to be filled; none initialised */
    size_t num_out;
    /* Gives up an input that no op after the launch uses: in[index] is gone then. */
    void (*release)(void *releaser, size_t index);
    void *releaser;
} pdm_legacy_launch;

typedef struct pdm_legacy_options {
    pdm_pool *pool;          /* borrowed; NULL: the caller's thread alone */
    uint64_t seed;           /* of random ops, as in the executor */
    uint64_t max_iterations; /* turns of one loop; 0: no limit */
    bool (*cancelled)(void *user);
    void (*print)(void *user, const char *text);
    /* After each op but feed and fetch, in program order; control flow when it has ended. Values:
     * pdm_legacy_value. */
    void (*observe)(void *user, pdm_legacy_session *session, int32_t block, size_t op_index);
    /* When a turn of a loop, whose body is block, begins. */
    void (*enter)(void *user, pdm_legacy_session *session, int32_t block);
    void *user;
    /* Runs cinn_launch ops; what is wrong is told to the sink. NULL: they fail. */
    pdm_status (*launch)(void *launch_user, const pdm_legacy_launch *launch, pdm_diag_sink *sink);
    void *launch_user;
} pdm_legacy_options;

/* options may be NULL. */
PDM_MUST_USE pdm_status pdm_legacy_session_create(const pdm_legacy_plan *plan,
                                                  const pdm_legacy_options *options,
                                                  pdm_legacy_session **out_session);
void pdm_legacy_session_destroy(pdm_legacy_session *session); /* NULL is allowed */
/* Give persistable variables the values of the file again. */
void pdm_legacy_session_reset(pdm_legacy_session *session);

/* An input for the next runs: refers to the tensor's data (with its LoD) without copying them. */
void pdm_legacy_set_input(pdm_legacy_session *session, size_t index, const pdm_tensor *tensor);
/* Run once. Errors are told to the sink with block, op, type and variable. */
PDM_MUST_USE pdm_status pdm_legacy_run(pdm_legacy_session *session, pdm_diag_sink *sink);
/* An output of the last run; valid until the next one. NULL: it has no value. */
const pdm_value *pdm_legacy_output(const pdm_legacy_session *session, size_t index);
/* What a variable holds that is seen from a block; NULL: nothing, or there is no such variable. */
const pdm_value *pdm_legacy_value(const pdm_legacy_session *session, int32_t block,
                                  const char *name);

#endif
