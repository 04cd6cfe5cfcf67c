/*
 * What arranging loops for GPUs and printing them have in common.
 *
 * A nest is a kernel. Loops bound to blocks stand around all else in it, and the grid may be of any
 * size, since they go on in strides of it. The threads of a block run what is in them together:
 * loops bound to threads share their turns out, in strides as well, and what is not in a loop
 * of each dimension that the nest uses is done by the first threads of the dimensions left.
 *
 * A bound loop of threads that takes terms into places that are the same in all its turns is a
 * reduction: each thread has a result of its own, and those are put together at last.
 */
#ifndef PDM_CINN_GPU_H
#define PDM_CINN_GPU_H

#include "cinn/loop_ir.h"

enum { PDM_CINN_WARP = 32, PDM_CINN_BLOCK = 256 /* threads */, PDM_CINN_ROWS = 8, PDM_CINN_PLANES = 4 };

typedef enum pdm_cinn_reduction_kind {
    PDM_CINN_REDUCE_ADD,
    PDM_CINN_REDUCE_MUL,
    PDM_CINN_REDUCE_MAX, /* NaN does not count */
    PDM_CINN_REDUCE_MIN,
    PDM_CINN_REDUCE_MAX_NAN, /* a NaN stays */
    PDM_CINN_REDUCE_MIN_NAN
} pdm_cinn_reduction_kind;

typedef struct pdm_cinn_reduction {
    pdm_cinn_reduction_kind kind;
    const pdm_loop_expr *term; /* what is taken in */
} pdm_cinn_reduction;

/* Whether a store in a loop takes something into an element that is the same in all turns, which may
 * be done in any order. */
bool pdm_cinn_gpu_reduction(const pdm_loop_fn *fn, const pdm_loop_stmt *store, uint32_t var,
                            pdm_cinn_reduction *out);
/* Whether the turns of a loop may be shared by threads, each with results of its own: nothing is in
 * it but reductions, perhaps on a condition. */
bool pdm_cinn_gpu_is_reduction(const pdm_loop_fn *fn, const pdm_loop_stmt *loop);
/* The reductions in such a loop. */
static inline const pdm_loop_stmt *pdm_cinn_gpu_terms(const pdm_loop_stmt *loop)
{
    return loop->body && loop->body->kind == PDM_LOOP_IF ? loop->body->body : loop->body;
}

typedef struct pdm_cinn_launch {
    uint32_t blocks[3], threads[3]; /* x, y, z; 0 blocks: there is nothing to do */
} pdm_cinn_launch;

/* The threads of a block, by dimension: 1 where no loop is bound to it, else PDM_CINN_BLOCK, or a warp
 * for x, PDM_CINN_ROWS and PDM_CINN_PLANES when there are others. */
void pdm_cinn_gpu_threads(const pdm_loop_stmt *nest, uint32_t out_threads[3]);

/* How a nest is launched for these values of the symbols. */
pdm_cinn_launch pdm_cinn_gpu_launch(const pdm_loop_stmt *nest, const int64_t *symbols);

/*
 * Whether indices of 32 bits will do: no value of an index expression, and no extent, is beyond
 * 2^30 for these symbols. NULL: for any (false when there are symbols).
 */
bool pdm_cinn_gpu_is_narrow(const pdm_loop_fn *fn, const int64_t *symbols);

#endif
