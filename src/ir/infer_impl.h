/*
 * Helpers for infer-meta hooks. A hook reads operands by position with pdm_ir_in_*, attributes
 * through pdm_ir_state_*, and writes results with pdm_ir_out_*. Unknown ranks and dims flow through
 * all of them.
 */
#ifndef PDM_IR_INFER_IMPL_H
#define PDM_IR_INFER_IMPL_H

#include "ir/infer.h"

/* Integer operands longer than this are treated as not constant. */
#define PDM_IR_MAX_INTS 64

/* Values and dims beyond this are pulled to it, or unknown, so that sums of a few of them cannot
 * overflow. */
#define PDM_IR_BIG ((int64_t)1 << 60)

/* An integer-list operand: its length is often known when some values are not. */
typedef struct pdm_ir_ints {
    bool counted;  /* n is known */
    bool constant; /* every value is known */
    size_t n;
    bool known[PDM_IR_MAX_INTS];
    int64_t v[PDM_IR_MAX_INTS]; /* -1 where not known */
} pdm_ir_ints;

#define PDM_HOOK(name)       pdm_status pdm_ir_infer_##name(pdm_ir_infer *in);
#define PDM_SPEC(name, text) pdm_status pdm_ir_infer_##name(pdm_ir_infer *in);
#include "ir/infer_hooks.def"
#undef PDM_HOOK
#undef PDM_SPEC

/* The small language of infer_hooks.def, see infer_spec.c. */
pdm_status pdm_ir_infer_spec(pdm_ir_infer *in, const char *text);

/* ---- operands ---- */
const pdm_ir_value *pdm_ir_in_value(const pdm_ir_infer *in, size_t index); /* NULL: absent */
bool pdm_ir_in_present(const pdm_ir_infer *in, size_t index);
pdm_ir_meta pdm_ir_in_meta(const pdm_ir_infer *in, size_t index); /* unknown if absent */
size_t pdm_ir_in_vector_size(
    const pdm_ir_infer *in,
    size_t index); /* elements of a vector operand; 1 for a plain tensor, 0 if absent */
pdm_ir_meta pdm_ir_in_element(const pdm_ir_infer *in, size_t index, size_t element);
void pdm_ir_in_ints(const pdm_ir_infer *in, size_t index, pdm_ir_ints *out);
/* A constant integer operand of one value. */
bool pdm_ir_in_int(const pdm_ir_infer *in, size_t index, int64_t *out);
int64_t pdm_ir_attr_int(const pdm_ir_infer *in, const char *name,
                        int64_t fallback); /* within PDM_IR_BIG */
/* An integer-array attribute; none known when absent. */
void pdm_ir_attr_ints(const pdm_ir_infer *in, const char *name, pdm_ir_ints *out);
int64_t pdm_ir_ints_at(const pdm_ir_ints *ints, size_t index, int64_t fallback);
pdm_dtype pdm_ir_attr_dtype_of(const pdm_ir_infer *in,
                               const char *name); /* PDM_UNDEFINED if absent or not given */
bool pdm_ir_state_str_is(const pdm_ir_op_state *state, const char *name, const char *text);

/* ---- results ---- */
void pdm_ir_out_meta(pdm_ir_infer *in, size_t result,
                     const pdm_ir_meta *meta); /* keeps vector elements; no-op past the end */
void pdm_ir_out_dims(pdm_ir_infer *in, size_t result, pdm_dtype dtype, int rank,
                     const int64_t *dims);
void pdm_ir_out_rank(pdm_ir_infer *in, size_t result, pdm_dtype dtype,
                     int rank); /* all dims unknown; rank -1: that too */
void pdm_ir_out_vec(pdm_ir_infer *in, size_t result, pdm_dtype dtype, int64_t dim); /* rank 1 */

/* ---- metas and dims ---- */
pdm_ir_meta pdm_ir_meta_make(pdm_dtype dtype, int rank,
                             const int64_t *dims); /* dims NULL: unknown */
int64_t
pdm_ir_meta_dim(const pdm_ir_meta *meta,
                int axis); /* negative axes count from the end; -1 when unknown or out of range */
bool pdm_ir_meta_push(pdm_ir_meta *meta,
                      int64_t dim); /* append; beyond PDM_MAX_RANK the rank becomes unknown */
void pdm_ir_meta_push_dims(pdm_ir_meta *meta, const pdm_ir_meta *from, int begin, int end);
void pdm_ir_meta_broadcast(const pdm_ir_meta *x, const pdm_ir_meta *y,
                           pdm_ir_meta *out); /* dims only */
int64_t pdm_ir_dim_broadcast(int64_t a, int64_t b);
int pdm_ir_axis(int64_t axis, int rank);      /* normalised; -1 when out of range */
int64_t pdm_ir_dim_add(int64_t a, int64_t b); /* -1 in, or overflow: -1 */
int64_t pdm_ir_dim_mul(int64_t a, int64_t b);
int64_t pdm_ir_dim_div(int64_t a, int64_t b); /* rounds down; by 0: -1 */
int64_t pdm_ir_meta_product(const pdm_ir_meta *meta, int begin, int end);
pdm_dtype pdm_ir_dtype_real(pdm_dtype dtype); /* complex64 → float32, ...; others unchanged */
pdm_dtype pdm_ir_dtype_complex(
    pdm_dtype dtype); /* float32 → complex64, float64 → complex128; others unchanged */

#endif
