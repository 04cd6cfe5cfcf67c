/*
 * Symbolic shapes: each dim of each value of a module as an expression (dim.h) over the dims of the
 * inputs that are not declared, and over dims that are known only when the program runs.
 *
 * The rules are those of infer-meta, which calculate with expressions here; what lists of integers
 * hold (the shape of a tensor, slices of it, sums, ...) is followed as well, so that a reshape to
 * what was read from another tensor is known. Where no rule tells, a dim is a new symbol.
 *
 * That dims are equal because an op demands it is believed where the op is sure to run: outside of
 * regions. All else holds for any values of the symbols for which the program runs; symbols of
 * inputs are 0 or more.
 *
 * A loop is gone through until its arguments are the same before and after a turn; a dim that
 * changes is a symbol, which has another value in each turn.
 */
#ifndef PDM_IR_SHAPES_H
#define PDM_IR_SHAPES_H

#include "ir/dim.h"
#include "ir/infer.h"

typedef struct pdm_ir_shape {
    int rank;      /* -1: unknown, or no dense tensor */
    pdm_dim *dims; /* never NULL */
    size_t num_data;
    pdm_dim *data; /* an integer tensor's elements; NULL: unknown; items may be NULL */
    size_t num_elements;
    struct pdm_ir_shape *elements; /* of a vector */
    pdm_dim fresh[PDM_MAX_RANK];   /* symbols that were made for it */
} pdm_ir_shape;

/* Where a symbol comes from. */
typedef enum pdm_ir_symbol_origin {
    PDM_IR_SYMBOL_INPUT,
    PDM_IR_SYMBOL_FOUND,  /* an op's rule does not tell */
    PDM_IR_SYMBOL_NO_RULE, /* the op has no rule */
    PDM_IR_SYMBOL_TURN,   /* changes from turn to turn of a loop */
    PDM_IR_SYMBOL_JOINED  /* differs between ways to the value */
} pdm_ir_symbol_origin;

typedef struct pdm_ir_symbol {
    const pdm_ir_value *value;
    uint32_t element, axis;
    pdm_ir_symbol_origin origin;
} pdm_ir_symbol;

/* a and b are equal, or one of them is 1. */
typedef struct pdm_ir_constraint {
    pdm_dim a, b;
    bool equal;
} pdm_ir_constraint;

typedef struct pdm_ir_shapes {
    pdm_dims dims;
    pdm_map values; /* value -> pdm_ir_shape; elements of vectors stand in theirs */
    pdm_map set;    /* names of parameters that the program sets */
    pdm_arena arena;
    PDM_VEC(pdm_ir_symbol) symbols; /* by number */
    PDM_VEC(pdm_ir_constraint) constraints;
    size_t num_values, num_unknown; /* tensors, and those of unknown rank among them */
    int depth;                      /* regions around the op at hand */
    pdm_status status;
} pdm_ir_shapes;

PDM_MUST_USE pdm_status pdm_ir_shapes_find(const pdm_ir_module *module, pdm_ir_shapes **out_shapes);
void pdm_ir_shapes_destroy(pdm_ir_shapes *shapes); /* NULL is allowed */
/* NULL: nothing is known. */
const pdm_ir_shape *pdm_ir_shapes_of(const pdm_ir_shapes *shapes, const pdm_ir_value *value);
/* Find them, and print symbols, values with their shapes, and what holds of symbols. */
PDM_MUST_USE pdm_status pdm_ir_shapes_print(const pdm_ir_module *module, pdm_buf *buf);

/* ---- for infer-meta -------------------------------------------------------------------------- */

struct pdm_ir_ints; /* infer_impl.h */

/* The meta of a value (an element of it), whose dims may be expressions. */
void pdm_ir_shapes_meta(pdm_ir_shapes *s, const pdm_ir_value *value, size_t element,
                        pdm_ir_meta *out);
/* What an integer tensor or a vector of such holds. */
void pdm_ir_shapes_ints(pdm_ir_shapes *s, const pdm_ir_value *value, struct pdm_ir_ints *out);
pdm_dim pdm_ir_shapes_dim(pdm_ir_shapes *s, int64_t dim);       /* NULL: unknown */
int64_t pdm_ir_shapes_number(pdm_ir_shapes *s, pdm_dim e);      /* the opposite */
void pdm_ir_shapes_fit(pdm_ir_shapes *s, int64_t a, int64_t b); /* they broadcast */
int64_t pdm_ir_shapes_equate(pdm_ir_shapes *s, int64_t a, int64_t b); /* they are equal: which is
                                                                         the better one */

#endif
