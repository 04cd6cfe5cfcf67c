/*
 * Which ops and values of one module stand for which of another: two translations of one program,
 * or a program before and after a change.
 *
 * Parameters, inputs and outputs go by their names. The rest of a block is aligned in order, like
 * the lines of two texts: ops of the same name (in-place or not) that read the same values, have
 * the same types and the same attributes fit best; an op may stand for one of another name when
 * nothing fits better, and ops without a counterpart are left out. Regions of aligned ops are
 * aligned in turn; those of an if crosswise when that fits better.
 */
#ifndef PDM_IR_ALIGN_H
#define PDM_IR_ALIGN_H

#include "ir/ir.h"

typedef struct pdm_ir_alignment {
    pdm_map ops; /* op of b → op of a */
    pdm_map
        values; /* value of b → value of a: results of aligned ops, arguments of their regions */
} pdm_ir_alignment;

/* Both modules have the same context. out is filled; deinit it, on failure (PDM_NOMEM) too. */
PDM_MUST_USE pdm_status pdm_ir_align(const pdm_ir_module *a, const pdm_ir_module *b,
                                     pdm_ir_alignment *out);
void pdm_ir_alignment_deinit(pdm_ir_alignment *alignment);
/* The counterpart; NULL: there is none. */
const pdm_ir_op *pdm_ir_aligned_op(const pdm_ir_alignment *alignment, const pdm_ir_op *op);
const pdm_ir_value *pdm_ir_aligned_value(const pdm_ir_alignment *alignment,
                                         const pdm_ir_value *value);
/* Whether an attribute says what an op computes: stop_gradient and the like do not. */
bool pdm_ir_attr_matters(const char *name);
/* Equal but for the width of numbers, in which PIR versions differ. NULL: absent. */
bool pdm_ir_attr_means_same(pdm_ir_attr a, pdm_ir_attr b);

#endif
