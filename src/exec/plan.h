/* Inside of the executor: what a plan holds. Everything lives in the plan's arena. */
#ifndef PDM_EXEC_PLAN_H
#define PDM_EXEC_PLAN_H

#include "base/arena.h"
#include "exec/executor.h"

#define PDM_EXEC_NONE UINT32_MAX

typedef enum pdm_exec_kind {
    PDM_EXEC_KERNEL,
    PDM_EXEC_IF,
    PDM_EXEC_WHILE,
    PDM_EXEC_PUSH,
    PDM_EXEC_POP,
    PDM_EXEC_HAS_ELEMENTS,
    PDM_EXEC_COPY /* out[0] becomes in[0]: fetch, set_parameter, shadow_output */
} pdm_exec_kind;

typedef struct pdm_exec_block pdm_exec_block;

typedef struct pdm_exec_instr {
    pdm_exec_kind kind;
    const pdm_ir_op *op;
    pdm_kernel_fn fn;             /* KERNEL */
    const uint32_t *in, *out;     /* slots; PDM_EXEC_NONE: absent or unwanted */
    uint32_t num_in, num_out;
    const bool *in_place;         /* by result: it shares the slot of an operand; NULL: none does */
    const char *const *in_slots;  /* legacy dialect */
    const char *const *out_slots;
    const pdm_exec_block *blocks[2]; /* IF: true, false; WHILE: body */
    uint32_t stack;               /* PUSH, POP, HAS_ELEMENTS */
} pdm_exec_instr;

struct pdm_exec_block {
    const pdm_exec_instr *instrs;
    size_t num_instrs;
    const uint32_t *args; /* slots */
    uint32_t num_args;
    const uint32_t *yields; /* slots; of a loop the condition is first */
    const bool *may_move;   /* by yield: nobody reads the slot afterwards */
    uint32_t num_yields;
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
} pdm_exec_port;

typedef struct pdm_exec_param {
    const char *name;
    uint32_t slot;
    pdm_tensor tensor;
} pdm_exec_param;

struct pdm_exec_plan {
    pdm_arena arena;
    const pdm_ir_module *module;
    const pdm_exec_block *top;
    uint32_t num_slots, num_stacks;
    pdm_exec_list *lists;
    pdm_exec_port *inputs, *outputs;
    pdm_exec_param *params;
    size_t num_lists, num_inputs, num_outputs, num_params;
    uint32_t max_operands, max_results; /* of one instruction */
};

#endif
