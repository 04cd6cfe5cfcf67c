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
/* How far a place in memory moves from turn to turn of a loop; NULL: not by equal steps. */
const pdm_loop_expr *pdm_loop_step(pdm_loop_fn *fn, const pdm_loop_access *access, const pdm_loop_stmt *loop);
/* The loop that is the only statement of a loop; NULL: there is none. */
pdm_loop_stmt *pdm_loop_inner(const pdm_loop_stmt *loop);
/* The statements with expressions in place of variables (by variable; NULL: it stays). */
bool pdm_loop_substitute(pdm_loop_fn *fn, pdm_loop_stmt *stmt, const pdm_loop_expr **with);
/* Statements once more, with loops over other variables, and a value in place of a variable. */
pdm_loop_stmt *pdm_loop_copy(pdm_loop_fn *fn, const pdm_loop_stmt *stmts, uint32_t var,
                             const pdm_loop_expr *value);

/* The link to a statement in the list in which it stands, list itself or one inside; NULL: it is in none. */
pdm_loop_stmt **pdm_loop_link(pdm_loop_stmt **list, const pdm_loop_stmt *stmt);

#define NO_MEMORY  "out of memory"
#define NOT_SERIAL "a loop is no serial one"

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
/* A loop of independent turns becomes two: its statements before one of them, and behind that loop the others. */
const char *pdm_loop_fission(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_stmt *stmt, pdm_loop_stmt **out_second);
/* Loops, each the only statement of one of them but for the outermost, in another order: as listed,
 * outermost first. */
const char *pdm_loop_reorder(pdm_loop_fn *fn, pdm_loop_stmt *const *order, size_t count);

/* The turns of a loop are done statement by statement: each in its body has a loop of its own, which is the innermost of those that
 * it is itself. The statement is then that of the first one. */
const char *pdm_loop_distribute(pdm_loop_fn *fn, pdm_loop_stmt *loop);

/* Marks: turns are independent, extents and places as the verifier wants them. */
const char *pdm_loop_parallel(pdm_loop_fn *fn, pdm_loop_stmt *loop);
const char *pdm_loop_vectorize(pdm_loop_fn *fn, pdm_loop_stmt *loop);
const char *pdm_loop_unroll(pdm_loop_fn *fn, pdm_loop_stmt *loop);
/* mark: one of blocks or threads. */
const char *pdm_loop_bind(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_mark mark);
/* The same for a loop that does nothing but take terms into places, which threads then do in another order
 * (see cinn/gpu.h); reassociate says that floats may be rounded differently. */
const char *pdm_loop_bind_reduction(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_mark mark, bool reassociate);
/* key: lower case letters, digits, dots and underscores; a note of that key is replaced. */
const char *pdm_loop_annotate(pdm_loop_fn *fn, pdm_loop_stmt *loop, const char *key, int64_t value);

/* ---- where values are computed (schedule_move.c) --------------------------------------------- */

/* A temporary that is stored by one statement, element by element, is computed where it is read. */
const char *pdm_loop_compute_inline(pdm_loop_fn *fn, uint32_t buffer);
/* The one statement that reads a temporary, element by element, is done where that is stored. */
const char *pdm_loop_reverse_compute_inline(pdm_loop_fn *fn, uint32_t buffer);
/* The statements that store a temporary go to where the body of a loop first reads it, and compute
 * there what is read in a turn. All that read it stand in that loop. */
const char *pdm_loop_compute_at(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_stmt *loop);

/* ---- where values are kept (schedule_keep.c) ------------------------------------------------- */

/* What is read of a buffer in a loop is copied before it, and read from the copy. */
const char *pdm_loop_cache_read(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_stmt *loop,
                                uint32_t *out_copy);
/* What is stored to a buffer goes to another one, and from there to the buffer behind it. */
const char *pdm_loop_cache_write(pdm_loop_fn *fn, uint32_t buffer, uint32_t *out_copy);
/*
 * What is read of a buffer in the turns of two loops, one the only statement in the other, is read by
 * loops before them, in the other order, and kept in memory that a block shares: a tile, with a place
 * more a row than there are turns, so that columns are in different banks. It lives in turns of the loop
 * around, and extents are numbers.
 */
typedef struct pdm_loop_tile {
    uint32_t buffer;
    pdm_loop_stmt *outer, *inner; /* the new loops: over what `inner` was, and what `outer` was */
} pdm_loop_tile;

const char *pdm_loop_stage(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_stmt *outer, pdm_loop_stmt *inner,
                           pdm_loop_tile *out_tile);
/* A temporary lives in turns of a loop from now on, and has only what one turn needs. */
const char *pdm_loop_keep_in(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_stmt *loop,
                             pdm_loop_scope scope);
/*
 * The loop of a reduction gets a result for each of its turns, in a new temporary with one more
 * axis; they are combined behind the reduction, in order. That is another order than before:
 * reassociate says that floats may be rounded differently.
 */
typedef struct pdm_loop_partial {
    uint32_t buffer;
    pdm_loop_stmt *start, *finish; /* loops that begin the results, and that combine them */
} pdm_loop_partial;

const char *pdm_loop_rfactor(pdm_loop_fn *fn, pdm_loop_stmt *loop, bool reassociate,
                             pdm_loop_partial *out_partial);
/* Whether it would be done. */
const char *pdm_loop_may_rfactor(pdm_loop_fn *fn, pdm_loop_stmt *loop, bool reassociate);

/* What both need: see schedule_move.c. */
typedef struct pdm_loop_block {
    pdm_loop_stmt *stmt;             /* all stores of the buffer, and none of another, are in it */
    pdm_loop_stmt *axes[PDM_MAX_RANK]; /* the loop in it over an axis; NULL: its index is 0 */
} pdm_loop_block;

/* Statements that store all elements of a buffer, index by index. */
const char *pdm_loop_find_block(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_block *out);
bool pdm_loop_contains(const pdm_loop_stmt *outer, const pdm_loop_stmt *stmt);
/* Whether a loop around the statement is done by several at a time. */
bool pdm_loop_is_shared_out(const pdm_loop_fn *fn, const pdm_loop_stmt *stmt);

#endif
