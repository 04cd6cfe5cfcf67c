/*
 * Transformations of loops. Each answers NULL when it is done, else why it is not (constant text);
 * then the function is as it was. What is done leaves all values as they are, to the bit, except
 * where it says otherwise.
 *
 * A loop is named by its statement, which stays the same one: it keeps its variable, except when it
 * is the result of fusing or the outer of two that were split.
 */
#ifndef PDM_CINN_SCHEDULE_H
#define PDM_CINN_SCHEDULE_H

#include "cinn/depend.h"
#include "cinn/loop_rewrite.h"

/* The factor of a variable in a sum of products; NULL: it occurs in another way. */
const pdm_loop_expr *pdm_loop_coefficient(pdm_loop_fn *fn, const pdm_loop_expr *e, uint32_t var);
/* The statements with expressions in place of variables (by variable; NULL: it stays). */
bool pdm_loop_substitute(pdm_loop_fn *fn, pdm_loop_stmt *stmt, const pdm_loop_expr **with);
/* Statements once more, with loops over other variables, and a value in place of a variable. */
pdm_loop_stmt *pdm_loop_copy(pdm_loop_fn *fn, const pdm_loop_stmt *stmts, uint32_t var,
                             const pdm_loop_expr *value);

/* ---- loops (schedule.c) ---------------------------------------------------------------------- */

typedef enum pdm_loop_rest {
    PDM_LOOP_GUARD, /* what is beyond the extent is left out by a condition */
    PDM_LOOP_TAIL   /* whole turns only, and a loop of its own for what is left, behind */
} pdm_loop_rest;

/* A loop becomes two: `loop`, and in it one over `factor` turns. */
const char *pdm_loop_split(pdm_loop_fn *fn, pdm_loop_stmt *loop, int64_t factor, pdm_loop_rest rest,
                           pdm_loop_stmt **out_inner);
/* A loop whose only statement is a loop becomes one loop over both. */
const char *pdm_loop_fuse(pdm_loop_fn *fn, pdm_loop_stmt *outer);
/* Whether nothing is left to divide then: all places in memory move by equal steps. */
bool pdm_loop_fuses_plainly(pdm_loop_fn *fn, pdm_loop_stmt *outer);
/* Loops, each the only statement of one of them but for the outermost, in another order: as listed,
 * outermost first. */
const char *pdm_loop_reorder(pdm_loop_fn *fn, pdm_loop_stmt *const *order, size_t count);

/* Marks: turns are independent, extents and places as the verifier wants them. */
const char *pdm_loop_parallel(pdm_loop_fn *fn, pdm_loop_stmt *loop);
const char *pdm_loop_vectorize(pdm_loop_fn *fn, pdm_loop_stmt *loop);
const char *pdm_loop_unroll(pdm_loop_fn *fn, pdm_loop_stmt *loop);
/* mark: one of blocks or threads. */
const char *pdm_loop_bind(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_mark mark);
/* key: lower case letters, digits, dots and underscores; a note of that key is replaced. */
const char *pdm_loop_annotate(pdm_loop_fn *fn, pdm_loop_stmt *loop, const char *key, int64_t value);

#endif
