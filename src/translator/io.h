/* Parameters, inputs and outputs of the program: what stands before and after the ops proper. */
#ifndef PDM_TR_IO_H
#define PDM_TR_IO_H

#include "translator/tr.h"

/* Check feed and fetch columns; emit builtin.parameter in first-use order and pd_op.data in column
 * order. */
void pdm_tr_io_prepare(pdm_tr *tr);
/* Emit the fetches that options ask for, write persistable results back, set stop_gradient and
 * persistable. */
void pdm_tr_io_finish(pdm_tr *tr);
/*
 * A name of block 0 that nothing has defined so far: an input when its declaration has
 * need_check_feed, an empty array when it is a tensor array; created at the front of the program
 * and bound in the outermost scope. NULL: neither, or out of memory.
 */
pdm_ir_value *pdm_tr_io_undefined(pdm_tr *tr, const char *name);
/* The variable is an input of a kind that PIR does not have, which was told. */
bool pdm_tr_io_refused(const pdm_tr *tr, const pdm_lg_var *var);

#endif
