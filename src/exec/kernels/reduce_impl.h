/*
 * What kernels of the reduce family share: reductions over any set of dimensions, orders of
 * elements, and rows along one dimension.
 */
#ifndef PDM_EXEC_KERNELS_REDUCE_IMPL_H
#define PDM_EXEC_KERNELS_REDUCE_IMPL_H

#include "exec/kernels/math_impl.h"

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct pdm_reduce_acc {
    double f;         /* floats: sum, maximum, ... */
    double first;     /* what the first pass gave, for a second one */
    double param;     /* attribute */
    int64_t i;        /* integers, wrapping */
    double complex c; /* complex numbers */
    bool started;
} pdm_reduce_acc;

/* Take in n elements. */
typedef void (*pdm_reduce_run)(const void *x, int64_t stride, int64_t n, pdm_reduce_acc *acc);

typedef struct pdm_reduce {
    pdm_reduce_run run[PDM_DTYPE_COUNT];
    pdm_reduce_run second[PDM_DTYPE_COUNT]; /* another pass over the same elements; NULL: none */
    double start_f;
    int64_t start_i;
    /* Result i from count elements; called after each pass, with second = true for the last one
     * when there are two. */
    void (*finish)(pdm_reduce_acc *acc, int64_t count, bool second, pdm_tensor *out, int64_t i);
    bool not_empty; /* there must be elements */
} pdm_reduce;

typedef struct pdm_reduce_plan {
    pdm_walk kept, reduced;
    int64_t count; /* elements behind one result */
    bool all;      /* no dimension is kept */
    int out_rank;
    int64_t out_dims[PDM_MAX_RANK];
} pdm_reduce_plan;

/* Which dimensions of x go; none named: all. Fails on an axis that does not exist. */
bool pdm_reduce_plan_init(pdm_k *k, pdm_reduce_plan *plan, const pdm_tensor *x, const int64_t *axes,
                          size_t num_axes, bool keep);
/* As the op says it: axes in operand 1 or the attribute axis, keepdim, reduce_all. */
bool pdm_reduce_plan_of(pdm_k *k, pdm_reduce_plan *plan, const pdm_tensor *x);
/* An attribute, else the row's default, else false. */
bool pdm_k_flag(pdm_k *k, const char *name);
/* Reduce x into result 0. */
pdm_status pdm_reduce_apply(pdm_k *k, const pdm_reduce *op, pdm_reduce_plan *plan,
                            const pdm_tensor *x, pdm_dtype out_dtype, double param);

#define PDM_REDUCE_ROW(code, suffix, type, acc, load, store, name) [code] = name##_##suffix,
/* Run of a set: PDM_K_FLOATS(PDM_REDUCE_RUN, sum, a->f += v). */
#define PDM_REDUCE_RUN(code, suffix, type, acc, load, store, name, statement)                      \
    static void name##_##suffix(const void *data, int64_t stride, int64_t n, pdm_reduce_acc *a)    \
    {                                                                                              \
        const type *x = data;                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const acc v = load(x[i * stride]);                                                     \
            statement;                                                                             \
        }                                                                                          \
    }

/* ---- orders ---------------------------------------------------------------------------------- */

/*
 * An order of the elements of a row, as their indices. Elements that compare equal end up where the
 * algorithms of the C++ library of GCC leave them, since the framework shows their indices.
 */
typedef union pdm_key {
    double f;
    int64_t i;
} pdm_key;

typedef struct pdm_order {
    int64_t *at; /* n indices */
    pdm_key *keys;
    int64_t *temp; /* n places for pdm_order_stable; NULL otherwise */
    int64_t n;
    bool floats, descending; /* NaN is larger than any number */
    /* Where elements are slices: keys at[i] * step + offsets[0 .. width), in that order. */
    const int64_t *offsets;
    int64_t width, step;
} pdm_order;

/* Memory for rows of n elements of x; false after a failure. */
bool pdm_order_init(pdm_k *k, pdm_order *order, const pdm_tensor *x, int64_t n, bool stable);
void pdm_order_deinit(pdm_order *order);
/* Load a row: n elements of x from `first` on, `stride` apart; the order is that of the row. */
void pdm_order_load(pdm_order *order, const pdm_tensor *x, int64_t first, int64_t stride);
bool pdm_order_less(const pdm_order *order, int64_t a, int64_t b); /* indices */
bool pdm_order_equal(const pdm_order *order, int64_t a, int64_t b);
void pdm_order_sort(pdm_order *order, int64_t first, int64_t last);
void pdm_order_stable(pdm_order *order);
void pdm_order_partial(pdm_order *order, int64_t middle);           /* the first ones, sorted */
void pdm_order_nth(pdm_order *order, int64_t nth);                  /* smaller ones before it */
void pdm_order_top(pdm_order *order, int64_t count, bool sorted);   /* as topk does it */

/* ---- rows along a dimension ------------------------------------------------------------------ */

typedef struct pdm_rows {
    int axis;
    int64_t outer, n, inner; /* dims before, of, and behind the axis */
} pdm_rows;

/* Fails on an axis that does not exist. A 0-D tensor is one row of one element. */
bool pdm_rows_init(pdm_k *k, pdm_rows *rows, const pdm_tensor *x, int64_t axis);

#endif
