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

/*
 * In the analysis of shapes (shapes.h) a dim may be an expression: a number far below 0, that hooks
 * hand on and calculate with by the functions below. One that is only asked whether it is below 0
 * counts as unknown.
 */
#define PDM_IR_IS_EXPR(dim) ((dim) < INT64_MIN + UINT32_MAX)
/* A number or an expression: not unknown. */
#define PDM_IR_IS_GIVEN(dim) ((dim) >= 0 || PDM_IR_IS_EXPR(dim))

/* An integer-list operand: its length is often known when some values are not. */
typedef struct pdm_ir_ints {
    bool counted;  /* n is known */
    bool constant; /* every value is known as a number */
    size_t n;
    bool known[PDM_IR_MAX_INTS];
    int64_t v[PDM_IR_MAX_INTS]; /* -1 or an expression where no number is known */
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
/* The same as a dim: -1 when it is unknown or negative. */
int64_t pdm_ir_in_dim(const pdm_ir_infer *in, size_t index);
int64_t pdm_ir_attr_int(const pdm_ir_infer *in, const char *name,
                        int64_t fallback); /* within PDM_IR_BIG */
/* An integer-array attribute; none known when absent. */
void pdm_ir_attr_ints(const pdm_ir_infer *in, const char *name, pdm_ir_ints *out);
/* A number or an expression, else fallback. */
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
void pdm_ir_meta_broadcast(const pdm_ir_infer *in, const pdm_ir_meta *x, const pdm_ir_meta *y,
                           pdm_ir_meta *out); /* dims only */
int pdm_ir_axis(int64_t axis, int rank); /* normalised; -1 when out of range */
int64_t pdm_ir_meta_product(const pdm_ir_infer *in, const pdm_ir_meta *meta, int begin, int end);

/* What a convolution gives, its attributes being the op's; last: channels are last whatever data_format says. */
pdm_ir_meta pdm_ir_conv_result(const pdm_ir_infer *in, const pdm_ir_meta *x, const pdm_ir_meta *filter, bool last);

/* ---- arithmetic of dims (infer_dims.c): -1 in, overflow, or a negative number: -1 --------------- */
int64_t pdm_ir_dim_add(const pdm_ir_infer *in, int64_t a, int64_t b);
int64_t pdm_ir_dim_sub(const pdm_ir_infer *in, int64_t a, int64_t b);
int64_t pdm_ir_dim_mul(const pdm_ir_infer *in, int64_t a, int64_t b);
int64_t pdm_ir_dim_div(const pdm_ir_infer *in, int64_t a, int64_t b); /* rounds down; by 0: -1 */
int64_t pdm_ir_dim_min(const pdm_ir_infer *in, int64_t a, int64_t b);
int64_t pdm_ir_dim_broadcast(const pdm_ir_infer *in, int64_t a, int64_t b);
/* Two dims that are equal: the one of which more is known. */
int64_t pdm_ir_dim_same(const pdm_ir_infer *in, int64_t a, int64_t b);
/* dim + by, where by may be negative. */
int64_t pdm_ir_dim_shift(const pdm_ir_infer *in, int64_t dim, int64_t by);
/* dim - by, at least 0. */
int64_t pdm_ir_dim_rest(const pdm_ir_infer *in, int64_t dim, int64_t by);
/* How many windows of this extent fit into room, by steps of stride (> 0). */
int64_t pdm_ir_dim_windows(const pdm_ir_infer *in, int64_t room, int64_t extent, int64_t stride);
/* How many numbers there are from the one on in steps to before the other; by expressions. */
int64_t pdm_ir_dim_range(const pdm_ir_infer *in, const pdm_ir_ints *from, const pdm_ir_ints *to,
                         int64_t step);
/* Length of start:end:step over a dim, start and end being item `index` of lists; limits beyond it
 * are clamped, negative ones count from the end. */
int64_t pdm_ir_dim_slice(const pdm_ir_infer *in, int64_t dim, const pdm_ir_ints *starts,
                         const pdm_ir_ints *ends, size_t index, int64_t step);
pdm_dtype pdm_ir_dtype_real(pdm_dtype dtype); /* complex64 → float32, ...; others unchanged */
pdm_dtype pdm_ir_dtype_complex(
    pdm_dtype dtype); /* float32 → complex64, float64 → complex128; others unchanged */

#endif
