/*
 * Rules of ops: what may be grouped, and how an op becomes loop IR. rules.def has a row an op; the
 * functions that rows name stand in rule_*.c.
 *
 * A rule gives an element of the result for given indices as an expression over elements of the
 * operands, which it asks for by pdm_cinn_element. Whether an operand is computed there and then or
 * read from memory is not its concern.
 */
#ifndef PDM_CINN_RULES_H
#define PDM_CINN_RULES_H

#include "cinn/loop_ir.h"
#include "ir/infer.h"
#include "ir/op_info.h"

typedef enum pdm_cinn_kind {
    PDM_CINN_VIEW,        /* the same elements in the same order: alone it costs nothing */
    PDM_CINN_ELEMENTWISE, /* index of the result = index of the operand */
    PDM_CINN_BROADCAST,   /* an element of an operand may serve many of the result */
    PDM_CINN_INJECTIVE,   /* each element comes from one of the operand at another index */
    PDM_CINN_SPREAD,      /* the same, but one of the operand may serve many */
    PDM_CINN_REDUCTION
} pdm_cinn_kind;

const char *pdm_cinn_kind_name(pdm_cinn_kind kind);

/* Dims of a value of the group. */
typedef struct pdm_cinn_shape {
    pdm_dtype dtype;
    uint32_t rank;
    const pdm_loop_expr *dims[PDM_MAX_RANK];
} pdm_cinn_shape;

typedef struct pdm_cinn_lower pdm_cinn_lower; /* see lower.h */

typedef bool (*pdm_cinn_fits_fn)(const pdm_ir_op *op);
/* Rank and dims of the result (its type is filled in); false: the shapes of the operands do not
 * fit, or it cannot be told. */
typedef bool (*pdm_cinn_shape_fn)(pdm_cinn_lower *l, const pdm_ir_op *op, pdm_cinn_shape *out);
typedef const pdm_loop_expr *(*pdm_cinn_element_fn)(pdm_cinn_lower *l, const pdm_ir_op *op,
                                                    const pdm_loop_expr *const *indices);
/* The formula of a pointwise op; x has an element of each tensor operand. */
typedef const pdm_loop_expr *(*pdm_cinn_value_fn)(pdm_loop_fn *fn, const pdm_ir_op *op,
                                                  const pdm_loop_expr *const *x);

/* How terms are combined. MAX, MIN: NaN stays; LARGER, SMALLER: it does not. */
typedef enum pdm_cinn_combine {
    PDM_CINN_SUM,
    PDM_CINN_PRODUCT,
    PDM_CINN_ANY, /* of truth values */
    PDM_CINN_EVERY,
    PDM_CINN_MAX,
    PDM_CINN_MIN,
    PDM_CINN_LARGER,
    PDM_CINN_SMALLER,
    PDM_CINN_KEEP /* not at all: no axis goes, and terms are stored for who reads them */
} pdm_cinn_combine;

/* A reduction that an op needs: over some axes of its first operand, or of that in another shape, in the type
 * that it is accumulated and stored in. */
typedef struct pdm_cinn_part {
    pdm_cinn_combine combine;
    pdm_dtype dtype;
    bool reduced[PDM_MAX_RANK];
    bool scanned[PDM_MAX_RANK]; /* the axis along which partial results stay, each in its place */
    bool backwards, exclusive;  /* of it: from the last on; without the term of the place itself */
    pdm_cinn_shape of;          /* what the axes are of, and indices of terms; rank 0: the first operand */
} pdm_cinn_part;

typedef bool (*pdm_cinn_part_fn)(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                                 pdm_cinn_part *out);
/* indices: of the first operand. Parts of smaller numbers are there. */
typedef const pdm_loop_expr *(*pdm_cinn_term_fn)(pdm_cinn_lower *l, const pdm_ir_op *op,
                                                 uint32_t number,
                                                 const pdm_loop_expr *const *indices);

/* Results that are put together of pieces, each stored by loops of its own, one after the other. The
 * dims of the loops of one. */
typedef bool (*pdm_cinn_piece_shape_fn)(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                                        pdm_cinn_shape *out);
/* What is stored in a turn of these loops, and (at) where in the result. */
typedef const pdm_loop_expr *(*pdm_cinn_piece_fn)(pdm_cinn_lower *l, const pdm_ir_op *op,
                                                  uint32_t number,
                                                  const pdm_loop_expr *const *indices,
                                                  const pdm_loop_expr **at);

/* How an op has its tensors. */
typedef enum pdm_cinn_form_of {
    PDM_CINN_PLAIN,   /* leading operands */
    PDM_CINN_LIST,    /* operand 0 is a vector made by builtin.combine: its elements; then operands */
    PDM_CINN_ELEMENTS /* operand 0 is a vector that a split made: what was split */
} pdm_cinn_form_of;

typedef struct pdm_cinn_rule {
    pdm_cinn_kind kind;
    pdm_cinn_form_of form;
    uint32_t tensors;  /* leading operands that are computed with; the others are constants */
    bool optional;     /* tensors behind the first may be absent */
    uint32_t outside;  /* bits of tensors that have indices: not computed in the group, where they could not be checked */
    uint32_t sizes;    /* bits of operands that have integers in them which tell shapes */
    uint32_t types;    /* bit 1 << dtype */
    pdm_cinn_fits_fn fits;
    pdm_cinn_shape_fn shape;
    pdm_cinn_element_fn element;
    pdm_cinn_value_fn value;
    uint32_t parts; /* reductions; part and term tell them */
    pdm_cinn_part_fn part;
    pdm_cinn_term_fn term;
    uint32_t pieces; /* PDM_CINN_EACH: one for each element of the list */
    pdm_cinn_piece_shape_fn piece_shape;
    pdm_cinn_piece_fn piece;
} pdm_cinn_rule;

enum { PDM_CINN_MAX_TENSORS = 5, PDM_CINN_MAX_LIST = 48, PDM_CINN_MAX_PARTS = 3 };
#define PDM_CINN_EACH UINT32_MAX

/* The tensors that an op of a rule computes with; then those that tell sizes, if they are not constant. */
uint32_t pdm_cinn_num_tensors(const pdm_ir_op *op);
const pdm_ir_value *pdm_cinn_tensor(const pdm_ir_op *op, uint32_t number);

/* Ops that make or take apart a vector of tensors for another op of a rule are in the group of that one:
 * the op that such an op goes with, or NULL. */
const pdm_ir_op *pdm_cinn_host(const pdm_ir_op *op);
/* Whether it is in a group with that op or in none. */
bool pdm_cinn_needs_host(const pdm_ir_op *op);
/* Whether an op splits a tensor, and all that use the parts have rules: it does nothing in a group. */
bool pdm_cinn_is_taken_apart(const pdm_ir_op *op);
/* Whether a tensor must not be made in the group of the op that reads it as this operand. */
bool pdm_cinn_from_outside(const pdm_ir_op *op, uint32_t operand);

/* The rule of an op that may be in a group: its element types are known and taken, ranks are known,
 * attributes fit. NULL: it may not. */
const pdm_cinn_rule *pdm_cinn_rule_of(const pdm_ir_op *op);
/* Why an op that is in no group is in none, in a few words. */
const char *pdm_cinn_why_not(const pdm_ir_op *op);

/* Whether an op is computed once, when a plan is made: what it reads are parameters and results of such
 * ops, which `constants` has (ops as keys). */
bool pdm_cinn_is_constant(const pdm_map *constants, const pdm_ir_op *op);

/* ---- for rules ------------------------------------------------------------------------------- */

/* A number among the attributes; its default from the row, else fallback, when it is absent. */
double pdm_cinn_attr(const pdm_ir_op *op, const char *name, double fallback);
enum { PDM_CINN_MAX_INTS = 16 };
/* Integers of an array attribute; false: they are none, or too many. An absent one is empty. */
bool pdm_cinn_attr_ints(const pdm_ir_op *op, const char *name, int64_t out[PDM_CINN_MAX_INTS],
                        size_t *out_n);
/* Those of an operand that is constant. */
bool pdm_cinn_const_ints(const pdm_ir_op *op, uint32_t index, int64_t out[PDM_CINN_MAX_INTS],
                         size_t *out_n);
/* An axis counted from the end, too; false: there is none. */
bool pdm_cinn_axis(int64_t axis, uint32_t rank, uint32_t *out);
/* The number that a pd_op.full holds in all elements; false: value is no such thing. */
bool pdm_cinn_constant(const pdm_ir_value *value, double *out);
const pdm_loop_expr *pdm_cinn_element(pdm_cinn_lower *l, const pdm_ir_value *value,
                                      const pdm_loop_expr *const *indices);
const pdm_cinn_shape *pdm_cinn_shape_of(pdm_cinn_lower *l, const pdm_ir_value *value);
/*
 * The integers of an operand that tells sizes. Those that are not constant are read before a run and are
 * symbols: other code is made when they are less than 2, or when they are not what they were taken for.
 * exact: they are numbers in any case.
 */
bool pdm_cinn_sizes(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t operand, bool exact,
                    const pdm_loop_expr *out[PDM_CINN_MAX_INTS], size_t *out_n);
/* Whether it has so many that they can be told; 0 are too few. */
bool pdm_cinn_has_sizes(const pdm_ir_op *op, uint32_t operand, size_t *out_n);
/* Of which result of the op an element was asked for: only until the rule asks for another. */
uint32_t pdm_cinn_asked(const pdm_cinn_lower *l);
/* A tensor's element as an index in [0, dim); a negative one counts from the end if wraps. Runs in which
 * one is outside are left to the ops one by one. NULL: the tensor is made in the group. Where elements come
 * in tuples of `every`, it is number `number` of one. */
const pdm_loop_expr *pdm_cinn_index_at(pdm_cinn_lower *l, const pdm_ir_value *value,
                                       const pdm_loop_expr *const *indices,
                                       const pdm_loop_expr *dim, bool wraps);
const pdm_loop_expr *pdm_cinn_tuple_index_at(pdm_cinn_lower *l, const pdm_ir_value *value,
                                             const pdm_loop_expr *const *indices,
                                             const pdm_loop_expr *dim, bool wraps, uint32_t every, uint32_t number);
/* What a part is at some indices of the first operand (those of reduced axes do not matter). */
const pdm_loop_expr *pdm_cinn_part_value(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                                         const pdm_loop_expr *const *indices);
pdm_loop_fn *pdm_cinn_fn(pdm_cinn_lower *l);
/* Two dims must be equal: false when they are known not to be. */
bool pdm_cinn_require_equal(pdm_cinn_lower *l, const pdm_loop_expr *a, const pdm_loop_expr *b);
/* A product of dims without the factors of another; NULL: it does not have them, as far as is known. */
const pdm_loop_expr *pdm_cinn_quotient(pdm_cinn_lower *l, const pdm_loop_expr *a,
                                       const pdm_loop_expr *by);

/* The functions that rows name. */
#define PDM_CINN_RULE(op, kind, tensors, types, fits, shape, element, value)                       \
    bool pdm_cinn_fits_##fits(const pdm_ir_op *);                                                  \
    bool pdm_cinn_shape_##shape(pdm_cinn_lower *, const pdm_ir_op *, pdm_cinn_shape *);            \
    const pdm_loop_expr *pdm_cinn_element_##element(pdm_cinn_lower *, const pdm_ir_op *,           \
                                                    const pdm_loop_expr *const *);                 \
    const pdm_loop_expr *pdm_cinn_value_##value(pdm_loop_fn *, const pdm_ir_op *,                  \
                                                const pdm_loop_expr *const *);
#define PDM_CINN_REDUCE_RULE(op, tensors, types, fits, shape, element, parts, part, term)          \
    bool pdm_cinn_fits_##fits(const pdm_ir_op *);                                                  \
    bool pdm_cinn_shape_##shape(pdm_cinn_lower *, const pdm_ir_op *, pdm_cinn_shape *);            \
    const pdm_loop_expr *pdm_cinn_element_##element(pdm_cinn_lower *, const pdm_ir_op *,           \
                                                    const pdm_loop_expr *const *);                 \
    bool pdm_cinn_part_##part(pdm_cinn_lower *, const pdm_ir_op *, uint32_t, pdm_cinn_part *);     \
    const pdm_loop_expr *pdm_cinn_term_##term(pdm_cinn_lower *, const pdm_ir_op *, uint32_t,       \
                                              const pdm_loop_expr *const *);
#define PDM_CINN_SIZES_RULE(op, kind, tensors, sizes, types, fits, shape, element)                 \
    PDM_CINN_RULE(op, kind, tensors, types, fits, shape, element, none)
#define PDM_CINN_LIST_RULE(op, kind, types, fits, shape, element)                                  \
    PDM_CINN_RULE(op, kind, 1, types, fits, shape, element, none)
#define PDM_CINN_ELEMENTS_RULE(op, fits, shape, element)                                           \
    PDM_CINN_RULE(op, INJECTIVE, 1, ALL, fits, shape, element, none)
#define PDM_CINN_INDEX_RULE(op, tensors, outside, types, fits, shape, element)                     \
    PDM_CINN_RULE(op, SPREAD, tensors, types, fits, shape, element, none)
#define PDM_CINN_NORM_RULE(op, tensors, types, fits, element, parts, part, term)                   \
    PDM_CINN_REDUCE_RULE(op, tensors, types, fits, normalized, element, parts, part, term)
#define PDM_CINN_PIECES_RULE(op, form, tensors, sizes, types, fits, shape, pieces, piece)          \
    bool pdm_cinn_fits_##fits(const pdm_ir_op *);                                                  \
    bool pdm_cinn_shape_##shape(pdm_cinn_lower *, const pdm_ir_op *, pdm_cinn_shape *);            \
    bool pdm_cinn_piece_shape_##piece(pdm_cinn_lower *, const pdm_ir_op *, uint32_t,               \
                                      pdm_cinn_shape *);                                           \
    const pdm_loop_expr *pdm_cinn_piece_##piece(pdm_cinn_lower *, const pdm_ir_op *, uint32_t,     \
                                                const pdm_loop_expr *const *,                      \
                                                const pdm_loop_expr **);
#include "cinn/rules.def"
#undef PDM_CINN_RULE
#undef PDM_CINN_REDUCE_RULE
#undef PDM_CINN_SIZES_RULE
#undef PDM_CINN_LIST_RULE
#undef PDM_CINN_ELEMENTS_RULE
#undef PDM_CINN_INDEX_RULE
#undef PDM_CINN_NORM_RULE
#undef PDM_CINN_PIECES_RULE

#endif
