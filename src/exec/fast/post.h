/*
 * What is done to a result while it is in the cache: a list of steps, elementwise, with operands
 * that are broadcast to it. Ops of the `fast` dialect carry it in the attributes `post` (step
 * kinds) and `post_args` (two numbers a step); steps with an operand take the next of `others`.
 * Everything is float32 in rows of channels (the last dim).
 */
#ifndef PDM_EXEC_FAST_POST_H
#define PDM_EXEC_FAST_POST_H

#include "exec/kernel.h"
#include "ir/fast_steps.h"

/* How an operand is spread over the result: the same number, one a channel, one a channel of each
 * image (first dim), one a row, an element each, an element for some places, or for each second one. */
typedef enum pdm_spread {
    PDM_SPREAD_SCALAR,
    PDM_SPREAD_CHANNEL,
    PDM_SPREAD_IMAGE,
    PDM_SPREAD_ROW,
    PDM_SPREAD_FULL,
    PDM_SPREAD_NEAREST,
    PDM_SPREAD_PHASE
} pdm_spread;

enum { PDM_POST_MAX = 16 };

typedef struct pdm_post_step {
    pdm_post_kind kind;
    float a, b;
    float factor, shift; /* what the step gives is multiplied and moved by these */
    const float *y;
    int64_t times[2], image; /* of the last two spreads: height, width; floats from image to image */
    int phase[2];            /* of PDM_SPREAD_PHASE: line and column of the first place */
    pdm_spread spread;
} pdm_post_step;

typedef struct pdm_post {
    int count;
    pdm_post_step steps[PDM_POST_MAX];
    int rank; /* of the result */
    int64_t dims[PDM_MAX_RANK];
    int64_t channels, rows, image_rows; /* image_rows: rows with one index of the first dim */
    bool grows;                         /* the result is larger than what the op computes */
    size_t num_others;                  /* operands of the call that are the steps' */
} pdm_post;

/*
 * Read the steps of a call whose op computes a tensor of these dims; `others` begin with operand
 * `first`. Gives the dims of the result in post->dims. False: the call has failed.
 */
bool pdm_post_read(pdm_k *k, size_t first, int rank, const int64_t *dims, pdm_post *post);
/* The same with attributes of other names. */
bool pdm_post_read_named(pdm_k *k, const char *kinds, const char *args, size_t first, int rank,
                         const int64_t *dims, pdm_post *post);
/* The steps on channels [c0, c0 + n) of rows [row, row + rows); y: the first of them, stride in
 * floats. */
void pdm_post_apply(const pdm_post *post, float *y, int64_t stride, int64_t row, int64_t rows,
                    int64_t c0, int64_t n);
/* Give result 0 the LoD of the operand that the attribute `lod` names. */
void pdm_post_pass_lod(pdm_k *k);
/* For results that grow: make result 0 from what the op computed, steps included. */
pdm_status pdm_post_expand(pdm_k *k, const pdm_post *post, const float *made, int rank,
                           const int64_t *dims);
/* The same into memory until the kernel returns; NULL: the call has failed. */
float *pdm_post_expand_temp(pdm_k *k, const pdm_post *post, const float *made, int rank,
                            const int64_t *dims);

#endif
