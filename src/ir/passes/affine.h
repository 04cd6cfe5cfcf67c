/*
 * Chains of ops that multiply each channel by a known number and add one, and the products (convolutions, products of
 * matrices) with known weights before or after them. Sums are computed in double precision and rounded once, so results are
 * not the same to the last bit.
 */
#ifndef PDM_IR_PASSES_AFFINE_H
#define PDM_IR_PASSES_AFFINE_H

#include "ir/rewrite.h"

/* Whether op is batch normalization of a product's result, perhaps with a bias between, and became part of the product. */
bool pdm_ir_affine_take_norm(pdm_ir_rewriter *rw, pdm_ir_op *op);
/* Whether the chain that ends at op became shorter: by the product before it, or by itself. */
bool pdm_ir_affine_shorten(pdm_ir_rewriter *rw, pdm_ir_op *op);
/* Whether the chain that op, a product, is given went into its weights. */
bool pdm_ir_affine_take_input(pdm_ir_rewriter *rw, pdm_ir_op *op);
/* Whether op, a product of what another one makes, became one with it, having less to multiply. */
bool pdm_ir_affine_join(pdm_ir_rewriter *rw, pdm_ir_op *op);

/* Whether a product with known weights makes a value that nobody else reads, perhaps with steps on it: a number that the value is
 * multiplied with goes into the weights. */
bool pdm_ir_affine_is_product(const pdm_ir_rewriter *rw, const pdm_ir_value *value);

#endif
