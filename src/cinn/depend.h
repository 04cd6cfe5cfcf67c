/*
 * Which turns of loops meet at a place in memory. Answers are certain one way only: "no" may mean
 * that it could not be found out.
 *
 * What is asked: two accesses inside of a loop (root), done in two of its turns (or in one), with
 * everything around root the same. If they are at the same place, must the turns of the loop `goal`
 * (root or a loop in it, around both) have been the same one? Indices are sums of products of
 * variables, also of variables divided, as splitting and fusing make them; a sum of digits of some
 * mixed radix is equal only when all digits are.
 */
#ifndef PDM_CINN_DEPEND_H
#define PDM_CINN_DEPEND_H

#include "cinn/loop_ir.h"

typedef struct pdm_loop_access {
    const pdm_loop_stmt *stmt;
    uint32_t buffer;
    bool store;
    const pdm_loop_expr *const *indices;
} pdm_loop_access;

typedef PDM_VEC(pdm_loop_access) pdm_loop_accesses;

/* All loads and stores of a list of statements (only the first: all_next is false), in order. */
bool pdm_loop_collect(pdm_loop_fn *fn, const pdm_loop_stmt *stmt, bool all_next, pdm_loop_accesses *out);

bool pdm_loop_forces(pdm_loop_fn *fn, const pdm_loop_stmt *root, const pdm_loop_stmt *goal,
                     const pdm_loop_access *a, const pdm_loop_access *b);

/* Whether turns of a loop may be run in any order and at the same time: no other turn reads or
 * stores what one stores. */
bool pdm_loop_is_independent(pdm_loop_fn *fn, const pdm_loop_stmt *loop);

/* Whether all pairs inside of root, of which one stores, meet in the same turn of goal only, or in
 * the same of other (NULL: there is none). */
bool pdm_loop_all_force(pdm_loop_fn *fn, const pdm_loop_stmt *root, const pdm_loop_stmt *goal,
                        const pdm_loop_stmt *other);

/* An index as what is the same for a whole turn of a loop, plus what its inner loops add, which is
 * from 0 to *extent - 1. False: it is no such sum. */
bool pdm_loop_split_index(pdm_loop_fn *fn, const pdm_loop_expr *e, const pdm_loop_stmt *loop,
                          const pdm_loop_expr **base, const pdm_loop_expr **inner, int64_t *extent);

bool pdm_loop_mentions(const pdm_loop_expr *e, uint32_t var);
/* Whether an expression is read from memory somewhere. */
bool pdm_loop_has_loads(const pdm_loop_expr *e);

#endif
