/*
 * Which ops have part in a value: those that it is computed from, at any depth. Rather one too many
 * than one too few: an op with regions has part with all that its regions yield; a write in place,
 * or into an array or stack, counts for everybody who holds it.
 */
#ifndef PDM_IR_ANCESTORS_H
#define PDM_IR_ANCESTORS_H

#include "ir/ir.h"

/* Put the ops into out_ops, which the caller has initialised and frees; value may be NULL. */
PDM_MUST_USE pdm_status pdm_ir_ancestors(const pdm_ir_value *value, pdm_map *out_ops);

#endif
