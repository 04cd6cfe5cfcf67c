/*
 * What kernels of the tensor and index families share: copies of boxes of elements, limits of
 * slices, indices out of tensors, shapes under broadcasting, LoD that goes along.
 */
#ifndef PDM_EXEC_KERNELS_TENSOR_IMPL_H
#define PDM_EXEC_KERNELS_TENSOR_IMPL_H

#include "exec/kernels/dispatch.h"

/* Bytes below which work is not split among threads. */
#define PDM_MOVE_GRAIN 65536

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Dims of a box; more than a tensor has, since dims may be taken apart. */
#define PDM_BOX_RANK (2 * PDM_MAX_RANK + 2)

/* A box of elements in two places. Strides are in elements, of any sign; 0 repeats. */
typedef struct pdm_box {
    int rank;
    int64_t dims[PDM_BOX_RANK];
    int64_t to[PDM_BOX_RANK];   /* strides of the destination */
    int64_t from[PDM_BOX_RANK]; /* strides of the source */
} pdm_box;

void pdm_box_add(pdm_box *box, int64_t dim, int64_t to, int64_t from); /* one more inner dim */
/* to and from: first elements. The destination's elements are distinct. */
void pdm_box_copy(pdm_k *k, const pdm_box *box, size_t size, void *to, const void *from);
/* Strides of a dense tensor. */
void pdm_dense_strides(int rank, const int64_t *dims, int64_t *strides);
/* Element `index` of data, elements being `size` bytes. */
static inline void *pdm_at(const void *data, int64_t index, size_t size)
{
    return (char *)(uintptr_t)data + index * (int64_t)size;
}
/* Rows of `bytes` each, dim of them in each of `outer` groups of x: row j of a group of the result
 * is row index[j] of the group of x. Indices are valid. */
void pdm_rows_copy(pdm_k *k, size_t bytes, int64_t outer, int64_t dim, int64_t n, void *out,
                   const void *x, const int64_t *index);
/* to[i] = from[index[i]] */
void pdm_elements_copy(size_t size, int64_t n, void *to, const void *from, const int64_t *index);
/* Result 0 is x with the elements index[0..n) of an axis. */
pdm_status pdm_take(pdm_k *k, const pdm_tensor *x, int axis, const int64_t *index, int64_t n);
/* Result 0 as a copy of x, LoD too; NULL after a failure or when nobody wants it. */
void *pdm_k_out_copy(pdm_k *k, const pdm_tensor *x);

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Shapes joined by broadcasting, right-aligned; false when they do not fit (the call failed). */
bool pdm_shape_broadcast(pdm_k *k, int rank, const int64_t *dims, int *out_rank, int64_t *out_dims);
/* Strides of a tensor seen with broadcast dims (0 along repeated ones). */
void pdm_shape_strides(const pdm_tensor *t, int rank, const int64_t *dims, int64_t *strides);
bool pdm_shape_rank(pdm_k *k, size_t rank); /* fails when a tensor cannot have so many dims */
/* A product of dims that may come from the model; -1 after a failure. */
int64_t pdm_shape_count(pdm_k *k, int rank, const int64_t *dims);
/* Axes (from an attribute) in order, made non-negative; false after a failure. */
bool pdm_shape_axes(pdm_k *k, const int64_t *axes, size_t n, int rank, int *out);

/* Limits of a slice as Python has them: first element, elements. step is not 0. */
void pdm_slice_limits(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *first,
                      int64_t *count);

/* The result has the operand's LoD when both have as many rows, else none. */
void pdm_keep_lod_of_rows(pdm_k *k, size_t index, const pdm_tensor *from);
void pdm_share_lod_at(pdm_k *k, size_t element, const pdm_tensor *from); /* of result 0 */
void pdm_drop_lod(pdm_k *k, size_t index);                               /* the result has none */
/* The result is the operand in another shape; its LoD stays, with `rows` only when those are as
 * many. */
pdm_status pdm_share_reshaped(pdm_k *k, const pdm_tensor *x, int rank, const int64_t *dims,
                              bool rows);

/* ---- indices --------------------------------------------------------------------------------- */

/* Indices of an int32 or int64 tensor as int64, made non-negative with `limit` (negative ones count
 * from the end when `wrap`) and checked; the caller frees. NULL after a failure. */
int64_t *pdm_indices(pdm_k *k, const pdm_tensor *t, int64_t limit, bool wrap);

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* to[i] += from[i], calculated as the element type is. */
void pdm_add_elements(pdm_k *k, pdm_dtype dtype, void *to, const void *from, int64_t n);

/* One element, as pdm_tensor data; a converted copy of a number. */
typedef struct pdm_element {
    _Alignas(16) unsigned char bytes[16];
} pdm_element;

/* The attribute (any number, 0 when absent) as an element of a type. */
pdm_element pdm_element_of_attr(pdm_k *k, pdm_ir_attr attr, pdm_dtype dtype);
/* Element i of a tensor converted to a type. */
pdm_element pdm_element_of(pdm_k *k, const pdm_tensor *t, int64_t i, pdm_dtype dtype);
pdm_element pdm_element_of_double(double value, pdm_dtype dtype);
/* Elements all alike. */
void pdm_fill_elements(pdm_k *k, void *to, const pdm_element *value, size_t size, int64_t n);

/* ---- random ---------------------------------------------------------------------------------- */

/* The generator of the call: the attribute `seed` when it is not 0, else the run's. */
pdm_rng *pdm_random_of(pdm_k *k, pdm_rng *own);

#endif
