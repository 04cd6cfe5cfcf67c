/*
 * Groups of the outermost block are compiled side by side before a session's first run: shapes are foreseen (sizes.h), since
 * those that come in a run come one after the other. It is a matter of time only: what cannot be foreseen, or fails, is done
 * when the group is run.
 */
#ifndef PDM_EXEC_PRECOMPILE_H
#define PDM_EXEC_PRECOMPILE_H

#include "exec/plan.h"

/* values: by slot, as they are when a run begins. */
void pdm_exec_precompile(const pdm_exec_plan *plan, const pdm_value *values, const pdm_tensor *inputs,
                         const pdm_exec_options *options);

#endif
