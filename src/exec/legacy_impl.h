/*
 * Inside of the legacy interpreter: what a plan holds. Everything but tensors lives in the plan's
 * arena.
 *
 * A session has one value for each *place*: first the variables (slots), then what ops need beside
 * them: vectors of variables, constants made of attributes, old values of variables that an op
 * reads and writes.
 */
#ifndef PDM_EXEC_LEGACY_IMPL_H
#define PDM_EXEC_LEGACY_IMPL_H

#include "base/arena.h"
#include "base/vec.h"
#include "exec/legacy_bind.h"
#include "exec/legacy_interp.h"

#define PDM_LEGACY_NO_PLACE UINT32_MAX

typedef struct pdm_legacy_slot {
    const pdm_lg_var *var;
    bool persistable;
} pdm_legacy_slot;

/* A place behind the slots. */
typedef struct pdm_legacy_extra {
    const uint32_t *items; /* a vector of places; NULL: none */
    uint32_t count;
    pdm_tensor tensor; /* a constant; not initialised: room for an old value */
} pdm_legacy_extra;

typedef enum pdm_legacy_kind {
    PDM_LEGACY_KERNEL,
    PDM_LEGACY_FEED,
    PDM_LEGACY_FETCH,
    PDM_LEGACY_WHILE,
    PDM_LEGACY_CONDITIONAL,
    PDM_LEGACY_RECURRENT,
    PDM_LEGACY_LAUNCH
} pdm_legacy_kind;

/* What becomes of the LoD of a variable that an op wrote. */
typedef struct pdm_legacy_lod_rule {
    uint32_t to, from; /* places; from PDM_LEGACY_NO_PLACE: no LoD */
    bool if_same_rows; /* only when the first dimension is the same */
} pdm_legacy_lod_rule;

typedef struct pdm_legacy_attr_entry {
    const char *name;
    pdm_ir_attr attr;
} pdm_legacy_attr_entry;

/* The old value of a variable that the op writes too. */
typedef struct pdm_legacy_alias {
    uint32_t slot, old;
} pdm_legacy_alias;

/* A recurrent op: slots outside and inside of the block. */
typedef struct pdm_legacy_rnn {
    bool reverse;
    const uint32_t *in_outer, *in_inner;
    const uint32_t *out_outer, *out_inner;
    const uint32_t *init, *before, *after; /* states */
    uint32_t num_in, num_out, num_states;
} pdm_legacy_rnn;

/* A cinn_launch op: places by argument. */
typedef struct pdm_legacy_launch_plan {
    int64_t key;
    const pdm_lg_slot *in_slot, *shape_slot, *out_slot; /* may be NULL */
    const uint32_t *in, *shapes, *out;
    uint32_t num_in, num_shapes, num_out;
} pdm_legacy_launch_plan;

typedef struct pdm_legacy_op {
    pdm_legacy_kind kind;
    const pdm_lg_op *op;
    int32_t block;
    uint32_t index;
    /* KERNEL */
    const char *kernel;
    pdm_kernel_fn fn;
    const pdm_ir_op_desc *desc; /* NULL for kernels "legacy.*" */
    bool random;
    int64_t seed;
    const uint32_t *in, *out; /* places */
    uint32_t num_in, num_out;
    uint32_t first_in, first_out; /* where the session's pointers to them begin */
    const char *const *in_slots;  /* kernels "legacy.*" */
    const char *const *out_slots;
    const size_t *out_counts;
    const pdm_legacy_attr_entry *attrs;
    size_t num_attrs;
    const pdm_legacy_alias *aliases;
    uint32_t num_aliases;
    const pdm_legacy_lod_rule *lods;
    uint32_t num_lods;
    const uint32_t *released; /* slots that nothing reads after this op (block 0) */
    uint32_t num_released;
    const uint32_t *stripped; /* slots of which only the shape is looked at after this op (block 0) */
    uint32_t num_stripped;
    /* FEED, FETCH: the variable and the column; WHILE, CONDITIONAL: the condition */
    uint32_t slot, column;
    /* CONDITIONAL: run when none of these is empty; NULL: when the condition is true */
    const uint32_t *tensors;
    uint32_t num_tensors;
    int32_t sub_block;
    bool is_test;              /* WHILE */
    const pdm_legacy_rnn *rnn; /* RECURRENT */
    const pdm_legacy_launch_plan *launch; /* LAUNCH */
} pdm_legacy_op;

typedef struct pdm_legacy_block {
    pdm_legacy_op *ops;
    size_t num_ops;
    const uint32_t *slots; /* by variable of the legacy block */
    size_t num_vars;
} pdm_legacy_block;

typedef struct pdm_legacy_port {
    const char *name;
    const pdm_lg_var *var;
    uint32_t slot, column;
} pdm_legacy_port;

typedef struct pdm_legacy_param {
    uint32_t slot;
    pdm_tensor tensor;
} pdm_legacy_param;

struct pdm_legacy_plan {
    pdm_arena arena;
    const pdm_lg_program *program;
    pdm_legacy_block *blocks;
    PDM_VEC(pdm_legacy_slot) slots;
    PDM_VEC(pdm_legacy_extra) extras;
    PDM_VEC(pdm_legacy_port) inputs;
    PDM_VEC(pdm_legacy_port) outputs;
    PDM_VEC(pdm_legacy_param) params;
    uint32_t total_in, total_out;
};

/* The slot of a name seen from a block; PDM_LEGACY_NO_PLACE: it is declared nowhere. */
uint32_t pdm_legacy_slot_of(const pdm_legacy_plan *plan, int32_t block, const char *name);

/* What plan-making shares (legacy_plan.c, legacy_plan_op.c). */
typedef struct pdm_legacy_builder {
    pdm_legacy_plan *plan;
    pdm_lg_schemas *schemas;
    pdm_diag_sink *sink;
    pdm_status worst; /* what was refused so far */
} pdm_legacy_builder;

/* Report that an op cannot be run and go on: PDM_OK. */
PDM_MUST_USE pdm_status pdm_legacy_refuse(pdm_legacy_builder *b, pdm_diag_code code,
                                          const pdm_legacy_op *op, const char *var,
                                          const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Bind an op without sub-block to its kernel. */
PDM_MUST_USE pdm_status pdm_legacy_bind_kernel(pdm_legacy_builder *b, pdm_legacy_op *op);
/* Slots of all arguments of a slot of the op, in the plan's arena. */
PDM_MUST_USE pdm_status pdm_legacy_arg_slots(pdm_legacy_builder *b, const pdm_legacy_op *op,
                                             const pdm_lg_slot *slot, const uint32_t **out_slots,
                                             uint32_t *out_count);

#endif
