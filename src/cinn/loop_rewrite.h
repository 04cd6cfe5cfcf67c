/* Passes over all expressions of a function. False: out of memory, and fn->status tells. */
#ifndef PDM_CINN_LOOP_REWRITE_H
#define PDM_CINN_LOOP_REWRITE_H

#include "cinn/loop_ir.h"

/* What takes the place of an expression, whose arguments were rewritten already; NULL: it is made
 * again with those. */
typedef const pdm_loop_expr *(*pdm_loop_rewrite_fn)(void *user, pdm_loop_fn *fn,
                                                    const pdm_loop_expr *e,
                                                    const pdm_loop_expr *const *args);
bool pdm_loop_rewrite(pdm_loop_fn *fn, pdm_loop_stmt *stmts, pdm_loop_rewrite_fn rewrite,
                      void *user);
/* One expression in place of another one, wherever it is. */
bool pdm_loop_exchange(pdm_loop_fn *fn, pdm_loop_stmt *stmts, const pdm_loop_expr *from, const pdm_loop_expr *to);

/* One index, the place in memory, in all loads and stores. */
bool pdm_loop_flatten(pdm_loop_fn *fn);
/* Functions of float32 as arithmetic, within 2 units in the last place, so that they can be
 * calculated in vectors (loop_math.c). */
bool pdm_loop_expand_math(pdm_loop_fn *fn);

#endif
