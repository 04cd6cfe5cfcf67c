/*
 * Infer-meta: element types and shapes of results from operands and attributes. A hook fills in
 * what it knows and leaves the rest unknown; it never fails for shapes that do not fit (the
 * verifier of shapes is the executor), only when out of memory.
 */
#ifndef PDM_IR_INFER_H
#define PDM_IR_INFER_H

#include "base/arena.h"
#include "ir/op_info.h"

/* What is known of a value. */
typedef struct pdm_ir_meta {
    pdm_dtype dtype;              /* PDM_UNDEFINED: unknown */
    int rank;                     /* -1: unknown */
    int64_t dims[PDM_MAX_RANK];   /* -1: unknown */
    bool is_array;                /* a tensor array; dims unused */
    bool absent;                  /* the result does not exist */
    struct pdm_ir_meta *elements; /* vector results: num_elements metas, given by the caller */
    size_t num_elements;
} pdm_ir_meta;

typedef struct pdm_ir_infer {
    pdm_ir_context *context;
    const pdm_ir_op_state *state; /* info, operands and attributes; result types unused */
    pdm_ir_meta *results;         /* one per row result, initialised to unknown */
    size_t num_results;
    struct pdm_ir_shapes *shapes; /* dims may be expressions of it, see shapes.h; NULL: numbers */
} pdm_ir_infer;

void pdm_ir_meta_init(pdm_ir_meta *meta); /* unknown */
void pdm_ir_meta_of_type(pdm_ir_type type,
                         pdm_ir_meta *out); /* ranks above PDM_MAX_RANK are unknown */
void pdm_ir_meta_of_value(const pdm_ir_value *value, pdm_ir_meta *out);
/* NULL: out of memory, or the dtype is unknown. An unknown rank gives dims [-1]. */
pdm_ir_type pdm_ir_meta_to_type(pdm_ir_context *context, const pdm_ir_meta *meta);

/* Run the row's hook for an op about to be created; results is initialised by this call (vector
 * elements kept). */
PDM_MUST_USE pdm_status pdm_ir_infer_run(pdm_ir_infer *infer);

/* The same for an op that is there, in memory of the arena; shapes as in pdm_ir_infer. */
PDM_MUST_USE pdm_status pdm_ir_infer_op(pdm_arena *arena, const pdm_ir_op *op,
                                        struct pdm_ir_shapes *shapes, pdm_ir_meta **out_metas);

/*
 * Infer the types of all results of a module again, in order, from its inputs and parameters; also
 * of the block arguments of loops. A result of which nothing is known keeps its type, so do absent
 * results.
 */
PDM_MUST_USE pdm_status pdm_ir_infer_module(pdm_ir_module *module);

/* Values of a constant operand (pd_op.full_int_array, pd_op.full, pd_op.assign_value_, a combine of
 * such); false if it is not constant or longer than capacity. */
bool pdm_ir_const_ints(const pdm_ir_value *value, int64_t *out, size_t capacity, size_t *out_count);
/* Attribute of a state by name, NULL if absent; and typed reads with a fallback. */
pdm_ir_attr pdm_ir_state_attr(const pdm_ir_op_state *state, const char *name);
int64_t pdm_ir_state_int(const pdm_ir_op_state *state, const char *name, int64_t fallback);
bool pdm_ir_state_bool(const pdm_ir_op_state *state, const char *name, bool fallback);
/* Integers of an array attribute; false if absent or longer than capacity. */
bool pdm_ir_state_ints(const pdm_ir_op_state *state, const char *name, int64_t *out,
                       size_t capacity, size_t *out_count);

#endif
