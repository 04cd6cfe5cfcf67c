/*
 * Products of float32 matrices with weights that were packed before: y = post(x * w + bias). Rows
 * of x may be made of pieces that lie apart, as the places of a convolution do.
 *
 * An element is the bias, to which the products are added in the order of the depth; so its bits do
 * not depend on tiles, threads or neighbours. In a last vector that is half empty there are two such sums, of
 * the even depths and of the odd ones. Subnormal weights and biases, of which trained models have many where a
 * channel has died, count as zero: a product with one takes a hundred times as long.
 */
#ifndef PDM_EXEC_FAST_DENSE_H
#define PDM_EXEC_FAST_DENSE_H

#include <stddef.h>

#include "exec/fast/post.h"

/*
 * Packed weights: columns in panels of 1 to 4 vectors; a panel has its columns of depth 0, then
 * those of depth 1, ...; columns past the end are zero. A last vector with at most half its columns has two
 * depths of each side by side, if the pieces of the rows are `even`: their lengths are.
 */
int64_t pdm_dense_padded(int64_t cols); /* columns with those past the end */
int pdm_dense_panels(int64_t cols);     /* panels */
/* Element (k, j) of the weights is at from[offsets[k] + j * stride]; to has depth * padded floats. */
void pdm_dense_pack(const float *from, const int64_t *offsets, int64_t stride, int64_t depth,
                    int64_t cols, bool even, float *to);

/* A bias as long as the packed columns, to `to`. */
void pdm_dense_pad_bias(const float *bias, int64_t cols, float *to);
/* A bias for weights that are packed: a copy with zeros past the end, until the call returns; NULL: it failed. */
const float *pdm_dense_bias(pdm_k *k, const float *bias, int64_t cols);

typedef struct pdm_dense {
    int64_t depth, cols;
    const float *weights; /* packed */
    bool even;            /* as they were packed */
    const float *bias;    /* padded as the columns are; NULL: none */
    float *y;
    int64_t stride;       /* from row to row of y, in floats */
    const pdm_post *post; /* NULL: nothing */
    int64_t channel;      /* of column 0 in the result that post sees */
} pdm_dense;

/* Rows of x: row i has its pieces, all of one length, at first + i * stride + pieces[...]. */
typedef struct pdm_dense_rows {
    const float *first;
    int64_t stride; /* in floats */
    const int64_t *pieces;
    int num_pieces;
    int64_t length; /* num_pieces * length is the depth */
} pdm_dense_rows;

/* Rows [row, row + rows) of y, which belong to the first rows of x, in panels [begin, end). */
void pdm_dense_run(const pdm_dense *d, const pdm_dense_rows *x, int64_t row, int64_t rows,
                   int begin, int end);

#endif
