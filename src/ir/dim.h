/*
 * Dims as expressions over symbols: integers, symbols, sums of products, floor division, maximum,
 * minimum, and what dims become when they are broadcast.
 *
 * Expressions are interned in a table and kept in one form, so those that the rules here see to be
 * equal are the same pointer: sums are linear (each product once, with a coefficient), products of
 * sums are multiplied out, nested sums, products, maxima, minima and broadcasts are flat, without
 * repetitions, and stand in one order that depends on nothing but what they are. What is said to
 * hold is taken for every value that symbols can have, also 0.
 *
 * NULL stands for an unknown dim: it goes in and comes out of all operations. It is also the answer
 * where numbers would overflow, terms would become too many, or memory is short (then the table's
 * status tells).
 *
 * Ownership: the table owns expressions. Threads: one at a time.
 */
#ifndef PDM_IR_DIM_H
#define PDM_IR_DIM_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "base/vec.h"

typedef enum pdm_dim_kind { /* in the order in which atoms of a product, items of a list stand */
    PDM_DIM_INT,
    PDM_DIM_SYMBOL,
    PDM_DIM_PRODUCT,   /* of two atoms or more; an atom is what is neither INT, PRODUCT nor SUM */
    PDM_DIM_SUM,       /* number + coefs[i] * args[i], args being atoms or products */
    PDM_DIM_DIV,       /* args[0] / args[1], rounded down; not defined unless args[1] > 0 */
    PDM_DIM_MAX,
    PDM_DIM_MIN,
    PDM_DIM_BROADCAST  /* the only one that is not 1; not defined when two such differ */
} pdm_dim_kind;

typedef struct pdm_dim_expr pdm_dim_expr;
typedef const pdm_dim_expr *pdm_dim;

struct pdm_dim_expr {
    pdm_dim_kind kind;
    uint32_t id;       /* in the table, by age */
    uint32_t num_args;
    uint32_t size;        /* of all expressions in it, each time they occur */
    int64_t number;       /* INT, SUM; SYMBOL: its number */
    int64_t least, most;  /* INT64_MIN, INT64_MAX: no limit known */
    const int64_t *coefs; /* SUM; none is 0 */
    const pdm_dim *args;
};

typedef struct pdm_dims {
    pdm_arena arena;
    PDM_VEC(pdm_dim) all; /* by id */
    uint32_t *table;      /* hash table of id + 1 */
    size_t table_size;
    PDM_VEC(pdm_dim) symbols;
    PDM_VEC(pdm_dim) equals; /* by symbol: what it was found to be, NULL: itself */
    bool merged;             /* a symbol was found to be something else since this was cleared */
    pdm_status status;       /* PDM_NOMEM once that happened */
} pdm_dims;

/* MAX_SIZE: of an expression written out. Operations walk through all of it. */
enum { PDM_DIM_MAX_TERMS = 24, PDM_DIM_MAX_FACTORS = 12, PDM_DIM_MAX_SIZE = 400 };

void pdm_dims_init(pdm_dims *t);
void pdm_dims_deinit(pdm_dims *t);

pdm_dim pdm_dim_int(pdm_dims *t, int64_t value);
/* A new symbol, whose values lie between least and most (INT64_MAX: no limit). */
pdm_dim pdm_dim_symbol(pdm_dims *t, int64_t least, int64_t most);
pdm_dim pdm_dim_plus(pdm_dims *t, pdm_dim a, pdm_dim b);
pdm_dim pdm_dim_minus(pdm_dims *t, pdm_dim a, pdm_dim b);
pdm_dim pdm_dim_times(pdm_dims *t, pdm_dim a, pdm_dim b);
pdm_dim pdm_dim_over(pdm_dims *t, pdm_dim a, pdm_dim b); /* rounded down; NULL for b <= 0 */
pdm_dim pdm_dim_max(pdm_dims *t, pdm_dim a, pdm_dim b);
pdm_dim pdm_dim_min(pdm_dims *t, pdm_dim a, pdm_dim b);
pdm_dim pdm_dim_broadcast(pdm_dims *t, pdm_dim a, pdm_dim b); /* NULL when they never fit */

static inline bool pdm_dim_is_int(pdm_dim e, int64_t value)
{
    return e && e->kind == PDM_DIM_INT && e->number == value;
}
/* A total order: less than, equal to, greater than 0. */
int pdm_dim_compare(pdm_dim a, pdm_dim b);
/* Whether a <= b for all values of the symbols, as far as the rules see. */
bool pdm_dim_never_more(pdm_dims *t, pdm_dim a, pdm_dim b);

/* What e is when symbols have the values given by their numbers; false: not defined, or it
 * overflows. */
bool pdm_dim_eval(pdm_dim e, const int64_t *values, int64_t *out);

/* ---- what was found to hold ------------------------------------------------------------------ */

/*
 * a and b are equal: a symbol among them stands for the other from now on (a number, else an older
 * symbol, else an expression of older symbols). False when nothing could be made of it: they are then to
 * be remembered as a pair, or they are never equal.
 */
bool pdm_dims_equate(pdm_dims *t, pdm_dim a, pdm_dim b);
/* e with all that is known of its symbols put in. */
pdm_dim pdm_dim_resolve(pdm_dims *t, pdm_dim e);

/* Text like 2*S0 + max(S1 - 1, 0); `?` for NULL. */
void pdm_dim_print(pdm_dim e, pdm_buf *buf);

#endif
