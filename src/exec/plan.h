/* Inside of the executor: what a plan holds. Everything lives in the plan's arena. */
#ifndef PDM_EXEC_PLAN_H
#define PDM_EXEC_PLAN_H

#include "base/arena.h"
#include "base/vec.h"
#include "exec/compiled.h"
#include "exec/executor.h"
#include "exec/pool.h"

#define PDM_EXEC_NONE UINT32_MAX

typedef enum pdm_exec_kind {
    PDM_EXEC_KERNEL,
    PDM_EXEC_IF,
    PDM_EXEC_WHILE,
    PDM_EXEC_PUSH,
    PDM_EXEC_POP,
    PDM_EXEC_HAS_ELEMENTS,
    PDM_EXEC_GROUP, /* compiled, or op by op as blocks[0] has it */
    PDM_EXEC_COPY /* out[0] becomes in[0]: fetch, set_parameter, shadow_output */
} pdm_exec_kind;

typedef struct pdm_exec_block pdm_exec_block;
typedef struct pdm_exec_sizes pdm_exec_sizes;

typedef struct pdm_exec_instr {
    pdm_exec_kind kind;
    bool random; /* draws random numbers, or may do so */
    const pdm_ir_op *op;
    pdm_kernel_fn fn;         /* KERNEL */
    pdm_kernel_fn reference;  /* where fn is a fast kernel: its reference kernel */
    const uint32_t *in, *out; /* slots; PDM_EXEC_NONE: absent or unwanted */
    uint32_t num_in, num_out;
    uint32_t first_in, first_out; /* where the session's pointers to them begin */
    uint32_t first_result;  /* number of result 0 for memory; elements of vectors come after all */
    uint32_t first_scratch; /* in-place results: where their new values are made */
    const bool *in_place;   /* by result: it shares the slot of an operand; NULL: none does */
    const char *const *in_slots; /* legacy dialect */
    const char *const *out_slots;
    pdm_exec_block *blocks[2]; /* IF: true, false; WHILE, GROUP: body */
    const bool *may_move;      /* WHILE: by operand, nobody else has it */
    pdm_exec_group *group;     /* GROUP */
    uint32_t stack;            /* PUSH, POP, HAS_ELEMENTS */
    bool deep;                 /* COPY: into a parameter, which outlives the run */
    const uint32_t *touched;   /* slots of its block that it reads or writes, at any depth */
    uint32_t num_touched;
} pdm_exec_instr;

struct pdm_exec_block {
    pdm_exec_instr *instrs;
    pdm_graph_node *nodes; /* by instruction: dependencies */
    size_t num_instrs;
    bool parallel;        /* there are instructions that need not wait for each other */
    const uint32_t *args; /* slots */
    uint32_t num_args;
    const uint32_t *yields; /* slots; of a loop the condition is first */
    const bool *may_move;   /* by yield: nobody reads the slot afterwards */
    uint32_t num_yields;
    const uint32_t
        *own; /* slots that get their values in this block, those of regions inside not counted */
    uint32_t num_own;
    const uint32_t *outer_reads, *outer_writes; /* slots of others, at any depth */
    uint32_t num_outer_reads, num_outer_writes;
};

/* A slot that holds a list of other slots. */
typedef struct pdm_exec_list {
    uint32_t slot, count;
    const uint32_t *elements;
} pdm_exec_list;

typedef struct pdm_exec_port {
    const char *name;
    uint32_t slot;
    pdm_ir_type type;
    int64_t column;
    const pdm_ir_value *value; /* outputs: what is fetched */
} pdm_exec_port;

/* A slot whose value is there before the run: a parameter, or a folded constant (name NULL). */
typedef struct pdm_exec_param {
    const char *name;
    uint32_t slot;
    pdm_tensor tensor;
} pdm_exec_param;

struct pdm_exec_plan {
    pdm_arena arena;
    const pdm_ir_module *module;
    pdm_ir_module *lowered; /* what is run instead, when kernels are fast or compiled */
    PDM_VEC(pdm_exec_group *) groups;
    const pdm_cinn_backend *device_backend; /* with that device */
    const pdm_cinn_device *device; /* that groups are computed on; NULL: the processor */
    pdm_exec_sizes *sizes; /* of results; NULL: nobody asks */
    pdm_exec_block *top;
    uint32_t num_slots, num_stacks, num_results, num_instrs;
    uint32_t total_in, total_out, total_scratch;
    const uint32_t *users; /* by slot: instructions of its block that touch it; 0: never released */
    pdm_exec_list *lists;
    const uint32_t *output_of; /* by result: the output that it becomes, or PDM_EXEC_NONE */
    const uint32_t *list_of;   /* by slot: index into lists, or PDM_EXEC_NONE */
    pdm_exec_port *inputs, *outputs;
    pdm_exec_param *params;
    size_t num_lists, num_inputs, num_outputs, num_params, params_capacity;
};

/* Fill in dependencies, touched slots, users (plan_order.c). owners: by slot the block, NULL: none.
 */
PDM_MUST_USE pdm_status pdm_exec_plan_order(pdm_exec_plan *plan, pdm_exec_block *const *owners);
/*
 * Compute once what does not depend on inputs, and drop its instructions (plan_fold.c); before the
 * order is made. Slots of constants get no owner.
 */
PDM_MUST_USE pdm_status pdm_exec_plan_fold(pdm_exec_plan *plan, pdm_exec_block **owners);

#endif
