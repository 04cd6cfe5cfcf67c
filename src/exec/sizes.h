/*
 * How many bytes results of a program need, as expressions over the dims of its inputs (ir/shapes.h), so that memory can
 * be planned for sizes that were never run. Expressions are found when they are first asked for: most sessions see
 * inputs of one shape, with kernels that are there.
 *
 * Threads: sessions of a plan share it and may ask at a time.
 */
#ifndef PDM_EXEC_SIZES_H
#define PDM_EXEC_SIZES_H

#include "exec/plan.h"

/* NULL: there is no memory for it. */
pdm_exec_sizes *pdm_exec_sizes_create(const pdm_exec_plan *plan);
void pdm_exec_sizes_destroy(pdm_exec_sizes *sizes); /* NULL is allowed */
/* By result, for these inputs; PDM_EXEC_NO_SIZE: not known before it is made. False: nothing is known. */
bool pdm_exec_sizes_find(pdm_exec_sizes *sizes, const pdm_tensor *inputs, size_t *bytes);

/* The symbols' values for these inputs, to be freed; NULL: nothing is known. */
int64_t *pdm_exec_sizes_symbols(pdm_exec_sizes *sizes, const pdm_tensor *inputs);
/* The dims of a value of the program that is run (room for its rank); false: not known before it is made. */
bool pdm_exec_sizes_dims(const pdm_exec_sizes *sizes, const int64_t *symbols, const pdm_ir_value *value, int64_t *dims);

#endif
