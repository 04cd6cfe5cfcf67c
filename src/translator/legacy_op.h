/* Ops of the `legacy` dialect. */
#ifndef PDM_TR_LEGACY_OP_H
#define PDM_TR_LEGACY_OP_H

#include "translator/tr.h"

/*
 * Emit `legacy.<type>`: operands are the arguments of all input slots in order (absent where a name
 * has no value), results those of the output slots with their declared types; attributes
 * operand_slots/operand_counts and result_slots/result_counts tell which is which. Binds the
 * outputs.
 */
void pdm_tr_emit_legacy(pdm_tr_op *t);

#endif
