/*
 * What arranging loops for GPUs and printing them have in common.
 *
 * A nest is a kernel. Its outermost loop, if marked, is shared by threads (PARALLEL), or by teams of
 * threads that run what is in it together (BLOCKS, WARPS). The grid may be of any size, since all
 * of these loops are in strides of it; blocks are as large as pdm_cinn_gpu_launch says.
 */
#ifndef PDM_CINN_GPU_H
#define PDM_CINN_GPU_H

#include "cinn/loop_ir.h"

enum { PDM_CINN_WARP = 32, PDM_CINN_BLOCK = 256 /* threads */ };

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
/* Whether the turns of a loop may be shared by the threads of a team, each with sums of its own
 * (PDM_LOOP_TREE): nothing is in it but reductions. */
bool pdm_cinn_gpu_is_tree(const pdm_loop_fn *fn, const pdm_loop_stmt *loop);

typedef struct pdm_cinn_launch {
    uint32_t blocks, threads; /* 0 blocks: there is nothing to do */
} pdm_cinn_launch;

/* How a nest is launched for these values of the symbols. */
pdm_cinn_launch pdm_cinn_gpu_launch(const pdm_loop_stmt *nest, const int64_t *symbols);

/*
 * Whether indices of 32 bits will do: no value of an index expression, and no extent, is beyond
 * 2^30 for these symbols. NULL: for any (false when there are symbols).
 */
bool pdm_cinn_gpu_is_narrow(const pdm_loop_fn *fn, const int64_t *symbols);

#endif
