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
#include "exec/compiled.h"
#include "exec/kernel.h"
#include "exec/memory.h"
#include "exec/trace.h"
#include "ir/ir.h"

typedef struct pdm_exec_plan pdm_exec_plan;
typedef struct pdm_exec_session pdm_exec_session;

typedef struct pdm_exec_plan_options {
    bool keep_all; /* compute constants in every run too, so that an observer sees every op */
    bool fast;     /* fast kernels where there are any */
    const char *compile; /* the backend that compiles groups of ops ("llvm", "ref"); NULL: none. When
                            it cannot be had that is told as a note, and nothing is compiled */
    bool compile_single; /* compile single ops too: for tests */
} pdm_exec_plan_options;

/* params: headers of all parameters that the module names; NULL when it has none. Ops without
 * kernels are all reported (PDM_UNSUPPORTED). options may be NULL. */
PDM_MUST_USE pdm_status pdm_exec_plan_create(const pdm_ir_module *module, const pdm_params *params,
                                             const pdm_exec_plan_options *options,
                                             pdm_diag_sink *sink, pdm_exec_plan **out_plan);
void pdm_exec_plan_destroy(pdm_exec_plan *plan); /* NULL is allowed */
pdm_exec_compile_stats pdm_exec_get_compile_stats(const pdm_exec_plan *plan);

/* Inputs in program order, outputs in column order. */
size_t pdm_exec_num_inputs(const pdm_exec_plan *plan);
size_t pdm_exec_num_outputs(const pdm_exec_plan *plan);
/* What is fetched; NULL: nothing. */
const pdm_ir_value *pdm_exec_output_value(const pdm_exec_plan *plan, size_t index);
const char *pdm_exec_input_name(const pdm_exec_plan *plan, size_t index);
const char *pdm_exec_output_name(const pdm_exec_plan *plan, size_t index);
pdm_ir_type pdm_exec_input_type(const pdm_exec_plan *plan, size_t index);
pdm_ir_type pdm_exec_output_type(const pdm_exec_plan *plan, size_t index); /* may be NULL */

/*
 * Called after each op that has a kernel, with its results in row order (NULL: unwanted); its
 * operands are still there, but for arrays that the op changed. Also when an if or while has ended:
 * in is NULL for while, whose operands became its results. Ops run in program order then, one at a
 * time.
 */
typedef void (*pdm_exec_observe_fn)(void *user, const pdm_ir_op *op, const pdm_value *const *in,
                                    const pdm_value *const *out);
/* Called for each argument of the body when turn 0, 1, ... of a while begins. */
typedef void (*pdm_exec_enter_fn)(void *user, const pdm_ir_op *op, uint64_t turn, size_t index,
                                  const pdm_value *value);

typedef struct pdm_exec_options {
    pdm_pool *pool;          /* borrowed; NULL: the caller's thread alone */
    uint64_t seed;           /* of random ops; see pdm_exec_run */
    uint64_t max_iterations; /* turns of one loop; 0: no limit */
    /* Asked between instructions and turns of loops, in any thread of the pool; true ends the run
     * with PDM_CANCELLED. */
    bool (*cancelled)(void *user);
    /* What the program prints, one call for each op. NULL: dropped. */
    void (*print)(void *user, const char *text);
    pdm_exec_observe_fn observe;
    pdm_exec_enter_fn enter;
    void *user;
    uint32_t before; /* known differences in which kernels follow 2.6; the plan has keep_all then */
    /* With `before`: an op gave other results than it gives in 3.x, because of set. */
    void (*parted)(void *user, const pdm_ir_op *op, uint32_t set);
    void *parted_user;
    pdm_exec_trace *trace; /* borrowed; gathers what is run when. NULL: nothing is gathered */
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
/* The same for the next run only, which frees the data after their last use. The tensor is taken. */
void pdm_exec_give_input(pdm_exec_session *session, size_t index, pdm_tensor *tensor);
/* The next runs put output index there when it needs exactly so many bytes and an op makes it as it
 * is; pdm_exec_output tells where it came to be. NULL: no wish. */
void pdm_exec_set_output(pdm_exec_session *session, size_t index, void *data, size_t bytes);
/*
 * Run once. Errors are told to the sink with the op's name and place.
 *
 * Random ops draw from a generator that is made for each of their executions: from the attribute
 * `seed` when the op has one that is not 0, else from the session's seed and the number of such
 * executions before it in this run. They follow each other in program order. So each run gives the
 * same numbers, whatever the number of threads.
 */
PDM_MUST_USE pdm_status pdm_exec_run(pdm_exec_session *session, pdm_diag_sink *sink);
/* An output of the last run; valid until the next one. NULL: it has no value. */
const pdm_value *pdm_exec_output(const pdm_exec_session *session, size_t index);

pdm_exec_memory_stats pdm_exec_get_memory(const pdm_exec_session *session);

#endif
