/* Shared by the handlers of legacy ops that have no PIR op of their own (expressed_*.c). */
#ifndef PDM_TR_EXPRESSED_H
#define PDM_TR_EXPRESSED_H

#include "translator/special.h"

/* One dim of a shape to be built: a number, or dim `axis` of a value when `of` is given. */
typedef struct pdm_tr_dim {
    int64_t number;
    pdm_ir_value *of;
    int axis;
} pdm_tr_dim;

#define PDM_TR_DIM(n)       ((pdm_tr_dim){(n), NULL, 0})
#define PDM_TR_DIM_OF(v, a) ((pdm_tr_dim){-1, (v), (a)})

/* Larger sizes than this are refused where a handler computes with them. */
#define PDM_TR_MAX_DIM 0x7fffffff

/* Dim of a value when it is known (negative axes count from the end), and not above PDM_TR_MAX_DIM,
 * else -1. */
int64_t pdm_tr_known_dim(const pdm_ir_value *value, int axis);
/* The product of dims [from, to) when all are known, else -1. */
int64_t pdm_tr_known_product(const pdm_ir_value *value, int from, int to);
/* Dim of a value as an int64 tensor of shape [1], a constant when it is known. */
pdm_ir_value *pdm_tr_dim_value(pdm_tr_op *t, pdm_ir_value *value, int axis);
/* A shape operand (int64, one dimension): pd_op.full_int_array when every dim is known. */
pdm_ir_value *pdm_tr_dims(pdm_tr_op *t, const pdm_tr_dim *dims, size_t rank);
/* Reshape and expand to such a shape; the result's type has the dims that are known. */
pdm_ir_value *pdm_tr_reshape_dims(pdm_tr_op *t, pdm_ir_value *x, const pdm_tr_dim *dims,
                                  size_t rank);
pdm_ir_value *pdm_tr_expand_dims(pdm_tr_op *t, pdm_ir_value *x, const pdm_tr_dim *dims,
                                 size_t rank);
/* A tensor of such a shape, every element value. */
pdm_ir_value *pdm_tr_fill_dims(pdm_tr_op *t, const pdm_tr_dim *dims, size_t rank, pdm_dtype dtype,
                               double value);

/* Bind an output whose declaration lies about dims that are known only at run time. */
void pdm_tr_out_as_is(pdm_tr_op *t, const char *slot, pdm_ir_value *value);

/* A constant of shape [1] in the element type of x, for use with broadcasting. */
pdm_ir_value *pdm_tr_like_const(pdm_tr_op *t, pdm_ir_value *x, double value);
/* Small constant tensors. */
pdm_ir_value *pdm_tr_table_f(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                             const double *values, size_t n);
pdm_ir_value *pdm_tr_table_i(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                             const int64_t *values, size_t n);
/* 0, 1, ..., length - 1; length is a tensor of shape [1] of that element type. */
pdm_ir_value *pdm_tr_iota(pdm_tr_op *t, pdm_ir_value *length, pdm_dtype dtype);
pdm_ir_value *pdm_tr_where(pdm_tr_op *t, pdm_ir_value *condition, pdm_ir_value *x, pdm_ir_value *y);
pdm_ir_value *pdm_tr_clip(pdm_tr_op *t, pdm_ir_value *x, double low, double high);
pdm_ir_value *pdm_tr_one_minus(pdm_tr_op *t, pdm_ir_value *x);
pdm_ir_value *pdm_tr_full_like(pdm_tr_op *t, pdm_ir_value *x, double value, pdm_dtype dtype);
/* Part [start, end) of an axis, bounds given as int64 tensors of shape [1]. */
pdm_ir_value *pdm_tr_slice_by(pdm_tr_op *t, pdm_ir_value *x, int64_t axis, pdm_ir_value *start,
                              pdm_ir_value *end);
pdm_ir_value *pdm_tr_take_along(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *index, int64_t axis);
pdm_ir_value *pdm_tr_matmul(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *y, bool transpose_x,
                            bool transpose_y);
/* What the legacy losses do to a logarithm before they use it. */
pdm_ir_value *pdm_tr_finite_log(pdm_tr_op *t, pdm_ir_value *x);
/*
 * Deltas [..., 4] applied to boxes [x1, y1, x2, y2], which count their last pixel. The log of a
 * scale is at most `limit` (0: no limit); variances may be NULL.
 */
pdm_ir_value *pdm_tr_decode_boxes(pdm_tr_op *t, pdm_ir_value *boxes, pdm_ir_value *deltas,
                                  pdm_ir_value *variances, double limit);
/* A legacy activation by name ("", "identity", "relu", ...); reports a name it does not know. */
pdm_ir_value *pdm_tr_activation(pdm_tr_op *t, pdm_ir_value *x, const char *name, double alpha,
                                double beta);

/* ---- LoD (expressed_lod.c) ------------------------------------------------------------------- */

/*
 * The framework carries the LoD of a tensor along at run time: most ops hand on that of their first
 * operand. So the lengths of the sequences can be counted, and an LoD can be given to a result.
 */

/* Rows of each sequence of the last level, int64 [sequences]. */
pdm_ir_value *pdm_tr_lengths(pdm_tr_op *t, pdm_ir_value *x);
/* The first row of each sequence: sums of the lengths before it. */
pdm_ir_value *pdm_tr_starts(pdm_tr_op *t, pdm_ir_value *lengths);
/* Where each sequence ends: sums up to and with each length. */
pdm_ir_value *pdm_tr_running_sum(pdm_tr_op *t, pdm_ir_value *lengths);
/* Elements of x, each as often as its number in `times` says (both one-dimensional). */
pdm_ir_value *pdm_tr_repeat(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *times);
/* x with one level of LoD of such lengths, or with the LoD of another value. */
pdm_ir_value *pdm_tr_with_lengths(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *lengths);
pdm_ir_value *pdm_tr_with_lod_of(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *other);
/* x with one level of LoD of these offsets, int32. */
pdm_ir_value *pdm_tr_with_offsets(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *offsets);
/* x as it is, but its LoD is not handed on. */
pdm_ir_value *pdm_tr_without_lod(pdm_tr_op *t, pdm_ir_value *x);
/* 0, 1, ... for the first dim of x, int64; its LoD is not handed on. */
pdm_ir_value *pdm_tr_row_numbers(pdm_tr_op *t, pdm_ir_value *x);
/* Sequences side by side, [sequences, longest, ...], filled up with `pad` ([1] or one step). */
pdm_ir_value *pdm_tr_padded(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *lengths,
                            pdm_ir_value *pad);
/* LoD levels that the program declares for the first variable of an input slot. */
int pdm_tr_lod_level(const pdm_tr_op *t, const char *slot);

/* ---- loops ----------------------------------------------------------------------------------- */

/* One turn: values holds the carried values on entry, and the new ones afterwards. */
typedef void (*pdm_tr_turn)(pdm_tr_op *t, pdm_ir_value *turn, pdm_ir_value **values, void *user);
/*
 * pd_op.while for turn = 0 .. limit - 1 (int64 [1]). The n carried values are replaced by what is
 * left of them; their types must not change from turn to turn.
 */
void pdm_tr_count_loop(pdm_tr_op *t, pdm_ir_value *limit, pdm_ir_value **values, size_t n,
                       pdm_tr_turn body, void *user);

#endif
