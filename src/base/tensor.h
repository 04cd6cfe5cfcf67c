/*
 * Run-time tensors: element type, shape, LoD, and data in a shared buffer.
 *
 * A pdm_tensor is a plain struct that holds one reference to its buffer (or none: not initialised,
 * or borrowed data whose owner outlives it). Copying a tensor means pdm_tensor_ref (shares the
 * buffer) or pdm_tensor_copy (own data). Buffers count their references atomically, so tensors that
 * share one may live in different threads; a buffer that is shared must not be written.
 */
#ifndef PDM_BASE_TENSOR_H
#define PDM_BASE_TENSOR_H

#include "base/dtype.h"
#include "base/status.h"

typedef struct pdm_buffer pdm_buffer;

#define PDM_TENSOR_ALIGNMENT 64 /* of data that pdm_tensor_alloc gives, in bytes */

/* LoD: for each level the offsets of the sequences (first 0, ascending); a refcounted, immutable
 * whole. */
typedef struct pdm_lod pdm_lod;

typedef struct pdm_tensor {
    pdm_dtype dtype; /* PDM_UNDEFINED: not initialised */
    int32_t rank;
    int64_t dims[PDM_MAX_RANK];
    void *data;         /* C order, contiguous, little-endian; not NULL when initialised, also for 0
                           elements */
    pdm_buffer *buffer; /* NULL: data is borrowed */
    pdm_lod *lod;       /* NULL: none */
} pdm_tensor;

void pdm_tensor_init(pdm_tensor *tensor);
void pdm_tensor_deinit(pdm_tensor *tensor); /* drops its references; a zeroed struct is fine */
/* New uninitialised data (64-byte aligned); what the tensor held is dropped, LoD too. dims are >=
 * 0. */
PDM_MUST_USE pdm_status pdm_tensor_alloc(pdm_tensor *tensor, pdm_dtype dtype, int rank,
                                         const int64_t *dims);
/* dst becomes another reference to src's data (what dst held is dropped). */
void pdm_tensor_ref(pdm_tensor *dst, const pdm_tensor *src);
PDM_MUST_USE pdm_status pdm_tensor_copy(pdm_tensor *dst, const pdm_tensor *src);
/* Make the data exclusively ours (copy when shared or borrowed), so that they may be written. */
PDM_MUST_USE pdm_status pdm_tensor_make_writable(pdm_tensor *tensor);
bool pdm_tensor_is_shared(const pdm_tensor *tensor);
int64_t pdm_tensor_count(const pdm_tensor *tensor); /* elements */
size_t pdm_tensor_bytes(const pdm_tensor *tensor);

/* LoD access. offsets are copied. */
size_t pdm_tensor_num_lod(const pdm_tensor *tensor);
const int64_t *pdm_tensor_lod(const pdm_tensor *tensor, size_t level,
                              size_t *out_count); /* count offsets */
PDM_MUST_USE pdm_status pdm_tensor_set_lod(pdm_tensor *tensor, size_t num_levels,
                                           const int64_t *const *offsets, const size_t *counts);
void pdm_tensor_share_lod(pdm_tensor *dst, const pdm_tensor *src);

/* Half precision. to_* round to nearest even, or towards zero where a thread asked for it, as 2.6.2
 * does on CPUs. */
bool pdm_half_truncate(bool on); /* for this thread; gives what was before */
float pdm_f16_to_float(uint16_t bits);
uint16_t pdm_float_to_f16(float value);
float pdm_bf16_to_float(uint16_t bits);
uint16_t pdm_float_to_bf16(float value);

#endif
