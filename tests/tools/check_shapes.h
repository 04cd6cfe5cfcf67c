/*
 * Compares the analysis of shapes (ir/shapes.h) with what values are when a module runs: each dim and each
 * element that is known as an expression is calculated from the symbols, and a symbol takes the value
 * that its dim has when it comes about.
 */
#ifndef PDM_TESTS_CHECK_SHAPES_H
#define PDM_TESTS_CHECK_SHAPES_H

#include "exec/executor.h"
#include "ir/shapes.h"

typedef struct check_shapes {
    pdm_ir_shapes *shapes;
    int64_t *values; /* by symbol */
    bool *bound;
    size_t dims, by_symbols, elements; /* compared; with symbols in them; elements of tensors */
    size_t open, wrong;                /* not to be calculated; with another value */
    char first[512];                   /* what was wrong */
} check_shapes;

PDM_MUST_USE pdm_status check_shapes_init(check_shapes *c, const pdm_ir_module *module);
void check_shapes_deinit(check_shapes *c);
/* Before each run: no symbol has a value, then those of an input have. */
void check_shapes_begin(check_shapes *c);
void check_shapes_input(check_shapes *c, const char *name, const pdm_tensor *tensor);
/* Whether inputs have dims that are not declared. */
bool check_shapes_has_inputs(const check_shapes *c);
/* Dims of an input that are larger where they may be: equal ones alike. */
void check_shapes_enlarge(const check_shapes *c, const char *name, int by, const pdm_tensor *tensor,
                          int64_t *dims);
/* See executor.h; user is the check. */
void check_shapes_observe(void *user, const pdm_ir_op *op, const pdm_value *const *in,
                          const pdm_value *const *out);
void check_shapes_enter(void *user, const pdm_ir_op *op, uint64_t turn, size_t index,
                        const pdm_value *value);

#endif
