/*
 * Transformations of loops, and what is known of index expressions for them. Each is done or, with
 * false, has left the function as it was.
 */
#ifndef PDM_CINN_SCHEDULE_H
#define PDM_CINN_SCHEDULE_H

#include "cinn/loop_rewrite.h"

/* The factor of a variable in a sum of products; NULL: it occurs in another way. */
const pdm_loop_expr *pdm_loop_coefficient(pdm_loop_fn *fn, const pdm_loop_expr *e, uint32_t var);
/* The statements with expressions in place of variables (by variable; NULL: it stays). */
bool pdm_loop_substitute(pdm_loop_fn *fn, pdm_loop_stmt *stmt, const pdm_loop_expr **with);

/* Whether turns of a loop may be run in any order and at the same time: each stores elsewhere, and
 * what one stores no other reads. */
bool pdm_loop_is_independent(const pdm_loop_fn *fn, const pdm_loop_stmt *loop);

/* A loop whose only statement is a loop becomes one loop over both. */
bool pdm_loop_fuse(pdm_loop_fn *fn, pdm_loop_stmt *outer);
/* Whether nothing is left to divide then: all places in memory move by equal steps. */
bool pdm_loop_fuses_plainly(pdm_loop_fn *fn, pdm_loop_stmt *outer);

#endif
