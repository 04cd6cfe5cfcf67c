/* Ops that compute the same. */
#ifndef PDM_IR_PASSES_SAME_H
#define PDM_IR_PASSES_SAME_H

#include "ir/pass.h"

/* Whether two ops without regions have the same kind, operands (in any order where that does not matter), types and attributes that say
 * what is computed. Whether they are pure is another question. */
bool pdm_ir_same_op(const pdm_ir_op *a, const pdm_ir_op *b);

#endif
