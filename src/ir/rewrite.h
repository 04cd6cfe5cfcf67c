/*
 * Rewriting by patterns: a pattern looks at an op and puts something else in its place. The driver
 * takes ops from a list, in program order at first, and hands each to the patterns of its name
 * until one succeeds; what a rewrite makes or feeds comes on the list again, and ops that nobody needs go. It
 * ends when the list is empty, or after so many rewrites that they can only be going in circles, which is told.
 *
 * Patterns change the program through the functions here alone. They match within one block, and
 * never look through values that somebody writes: pdm_ir_rw_producer does not give those.
 */
#ifndef PDM_IR_REWRITE_H
#define PDM_IR_REWRITE_H

#include "ir/make.h"
#include "ir/pass.h"

struct pdm_ir_picture;
struct pdm_ir_match;

typedef struct pdm_ir_rewriter {
    pdm_ir_pass_run *run;
    pdm_ir_context *context;
    pdm_ir_writes *writes;
    pdm_ir_op *at;     /* the op at hand: new ones are made before it */
    pdm_status status; /* sticky */
    struct pdm_ir_work *work;
} pdm_ir_rewriter;

typedef struct pdm_ir_pattern {
    const char *name; /* what is counted when it succeeds */
    const char *root; /* op name; NULL: any op */
    int benefit;      /* higher ones first; equal ones in their order */
    /* True: op was replaced or changed. NULL for a picture. */
    bool (*rewrite)(pdm_ir_rewriter *rw, pdm_ir_op *op);
    /* A picture (see picture.h): what there is, a further condition (may be NULL), what it becomes. */
    const char *from;
    bool (*where)(struct pdm_ir_match *match);
    const char *to;
} pdm_ir_pattern;

/* Apply patterns to a module until nothing changes. */
PDM_MUST_USE pdm_status pdm_ir_rewrite(pdm_ir_pass_run *run, const pdm_ir_pattern *patterns,
                                       size_t num_patterns);

/* ---- for patterns ---------------------------------------------------------------------------- */

/* The op of that code that makes operand `index` of op, in the same block, none of whose operands
 * is written; NULL: it is none such. */
pdm_ir_op *pdm_ir_rw_producer(const pdm_ir_rewriter *rw, const pdm_ir_op *op, size_t index,
                              pdm_ir_op_code code);
/* The same for any op; only_use: nobody else reads what it makes, which is one result. */
pdm_ir_op *pdm_ir_rw_maker(const pdm_ir_rewriter *rw, const pdm_ir_value *value, bool only_use);
/* A new op before the one at hand, with inferred types; NULL: that is not possible. */
pdm_ir_op *pdm_ir_rw_make(pdm_ir_rewriter *rw, pdm_ir_op_code code, pdm_ir_value *const *operands,
                          size_t num_operands, const pdm_ir_make_attr *attrs);
/* Its types are given. */
pdm_ir_op *pdm_ir_rw_make_typed(pdm_ir_rewriter *rw, pdm_ir_op_code code,
                                pdm_ir_value *const *operands, size_t num_operands,
                                const pdm_ir_make_attr *attrs, const pdm_ir_type *types,
                                size_t num_types);
/* The same op with another operand 0, its types inferred. */
pdm_ir_op *pdm_ir_rw_make_like(pdm_ir_rewriter *rw, const pdm_ir_op *op, pdm_ir_value *x);
/* A pd_op.full of one element, and a pd_op.full_int_array of int64; NULL after a failure. */
pdm_ir_value *pdm_ir_rw_make_number(pdm_ir_rewriter *rw, pdm_dtype dtype, double number);
pdm_ir_value *pdm_ir_rw_make_ints(pdm_ir_rewriter *rw, const int64_t *ints, size_t count);
/* Put the results of a new op in the place of those of op, which goes; what either type knows is kept.
 * False: types do not fit together, or a result that is read has no counterpart; nothing was changed then, and
 * the new op is gone. */
bool pdm_ir_rw_replace(pdm_ir_rewriter *rw, pdm_ir_op *op, pdm_ir_op *with);
/* Have all readers of result 0 of op read a value that was there before, and op go, whose other results
 * nobody reads. False: not possible, because one of the two is written or the types differ. */
bool pdm_ir_rw_forward(pdm_ir_rewriter *rw, pdm_ir_op *op, pdm_ir_value *value);
void pdm_ir_rw_set_operand(pdm_ir_rewriter *rw, pdm_ir_op *op, size_t index, pdm_ir_value *value);
/* An op whose results nobody reads goes, and is forgotten. */
void pdm_ir_rw_erase(pdm_ir_rewriter *rw, pdm_ir_op *op);
static inline bool pdm_ir_rw_is_written(const pdm_ir_rewriter *rw, const pdm_ir_value *value)
{
    return value && pdm_ir_is_written(rw->writes, value);
}

/* ---- attributes ------------------------------------------------------------------------------ */

bool pdm_ir_op_flag(const pdm_ir_op *op, const char *name); /* false when absent */
const char *pdm_ir_op_text(const pdm_ir_op *op, const char *name); /* "" when absent */
double pdm_ir_op_number(const pdm_ir_op *op, const char *name, double fallback);
/* Integers of an array attribute; false: absent, of another kind, or longer than capacity. */
bool pdm_ir_op_ints(const pdm_ir_op *op, const char *name, int64_t *out, size_t capacity,
                    size_t *out_count);
/* The axes of a transposition, none negative; out: PDM_MAX_RANK. */
bool pdm_ir_op_perm(const pdm_ir_op *op, int64_t *out, size_t *out_rank);

/* ---- operands -------------------------------------------------------------------------------- */

/* NULL: absent, or there are not as many. */
pdm_ir_value *pdm_ir_op_in(const pdm_ir_op *op, uint32_t index);
/* What a reshape is to: known, and without dimensions that are copied from the operand. */
bool pdm_ir_shape_says_all(const pdm_ir_value *shape);
/* Lists of one axis that are known and the same. */
bool pdm_ir_same_axis(const pdm_ir_value *a, const pdm_ir_value *b);
bool pdm_ir_ints_are(const int64_t *ints, size_t count, int64_t wanted);

#endif
