/*
 * The PIR core: Module > Region > Block > Op > Value.
 *
 * Values are op results or block arguments; each is defined once (SSA). Ops stand in blocks, blocks
 * in regions, regions belong to ops; a nested region sees the values of the enclosing ones
 * (capture), never the other way. A module is a `builtin.module` op with one region of one block.
 *
 * Ownership. The context owns interned types, attributes, strings and op infos and outlives all
 * modules. A module owns its op tree. A detached op, block or region is owned by whoever detached
 * it. Destroying an op destroys its regions.
 *
 * Interning. Types and attributes are equal exactly when their pointers are equal.
 *
 * Failure. Constructors give NULL when out of memory and nothing else (misuse is an assertion);
 * they change nothing then.
 *
 * Threads. A context and its modules belong to one thread at a time.
 */
#ifndef PDM_IR_IR_H
#define PDM_IR_IR_H

#include "base/diag.h"
#include "base/dtype.h"
#include "base/map.h"

typedef struct pdm_ir_context pdm_ir_context;
typedef const struct pdm_ir_type_s *pdm_ir_type; /* NULL is the null type of an absent result */
typedef const struct pdm_ir_attr_s *pdm_ir_attr;
typedef struct pdm_ir_value pdm_ir_value;
typedef struct pdm_ir_use pdm_ir_use;
typedef struct pdm_ir_op pdm_ir_op;
typedef struct pdm_ir_block pdm_ir_block;
typedef struct pdm_ir_region pdm_ir_region;
typedef struct pdm_ir_module pdm_ir_module;
typedef struct pdm_ir_op_info pdm_ir_op_info;

PDM_MUST_USE pdm_status pdm_ir_context_create(pdm_ir_context **out_context);
void pdm_ir_context_destroy(pdm_ir_context *context);
/* Bytes of types, attributes and names so far. */
size_t pdm_ir_context_bytes(const pdm_ir_context *context);
/* Interned, NUL-terminated string of the context; NULL when out of memory. */
const char *pdm_ir_str(pdm_ir_context *context, const char *text);
const char *pdm_ir_strn(pdm_ir_context *context, const char *text, size_t len);

/* ---- types ----------------------------------------------------------------------------------- */

typedef enum pdm_ir_type_kind {
    PDM_IR_ELEMENT,
    PDM_IR_DENSE_TENSOR,
    PDM_IR_SELECTED_ROWS,
    PDM_IR_TENSOR_ARRAY,
    PDM_IR_SPARSE_COO,
    PDM_IR_SPARSE_CSR,
    PDM_IR_VECTOR,
    PDM_IR_STACK,
    PDM_IR_INLET,
    PDM_IR_OUTLET
} pdm_ir_type_kind;

/* Immutable. Which fields hold depends on kind. */
struct pdm_ir_type_s {
    pdm_ir_type_kind kind;
    pdm_dtype dtype;          /* all but VECTOR, STACK, INLET, OUTLET */
    uint32_t rank;            /* tensor kinds */
    const int64_t *dims;      /* -1: unknown */
    const char *layout;       /* interned: "NCHW", ... */
    const size_t *const *lod; /* DENSE_TENSOR, SELECTED_ROWS: num_lod levels, each {n, n offsets} */
    uint32_t num_lod;
    uint64_t offset;       /* DENSE_TENSOR, SELECTED_ROWS */
    uint32_t num_elements; /* VECTOR; SPARSE: 2 (indices, elements) or 3 (crows, cols, elements) */
    const pdm_ir_type *elements; /* may hold NULL */
    uint32_t non_zero_rank;      /* SPARSE_COO */
    const int64_t *non_zero_dims;
};

pdm_ir_type pdm_ir_type_element(pdm_ir_context *context, pdm_dtype dtype);
/* Dense tensor, layout NCHW, no LoD, offset 0: what nearly every value has. */
pdm_ir_type pdm_ir_type_tensor(pdm_ir_context *context, pdm_dtype dtype, const int64_t *dims,
                               size_t rank);
pdm_ir_type pdm_ir_type_array(pdm_ir_context *context, pdm_dtype dtype, const int64_t *dims,
                              size_t rank, const char *layout);
pdm_ir_type pdm_ir_type_vector(pdm_ir_context *context, const pdm_ir_type *elements, size_t count);
/* Any type from its fields (copied): also those without a constructor of their own. */
pdm_ir_type pdm_ir_type_intern(pdm_ir_context *context, const struct pdm_ir_type_s *fields);
static inline bool pdm_ir_type_is_tensor(pdm_ir_type type)
{
    return type && type->kind == PDM_IR_DENSE_TENSOR;
}

/* ---- attributes ------------------------------------------------------------------------------ */

typedef enum pdm_ir_attr_kind {
    PDM_IR_ATTR_NULL,
    PDM_IR_ATTR_BOOL,
    PDM_IR_ATTR_I32,
    PDM_IR_ATTR_I64,
    PDM_IR_ATTR_INDEX,
    PDM_IR_ATTR_F32,
    PDM_IR_ATTR_F64,
    PDM_IR_ATTR_C64,
    PDM_IR_ATTR_C128,
    PDM_IR_ATTR_STR,
    PDM_IR_ATTR_TENSOR_NAME,
    PDM_IR_ATTR_ARRAY,
    PDM_IR_ATTR_TYPE,
    PDM_IR_ATTR_INT_ARRAY,
    PDM_IR_ATTR_SCALAR,
    PDM_IR_ATTR_DTYPE,
    PDM_IR_ATTR_LAYOUT,
    PDM_IR_ATTR_PLACE
} pdm_ir_attr_kind;

struct pdm_ir_attr_s {
    pdm_ir_attr_kind kind;
    pdm_dtype dtype; /* DTYPE; SCALAR: of its value */
    uint32_t count;  /* ARRAY, INT_ARRAY */
    union {
        bool b;
        int64_t i; /* I32, I64, INDEX; SCALAR of integer dtype */
        double f;  /* F32 (holds a float's value), F64; SCALAR of float dtype */
        struct {
            double re, im;
        } c;
        struct {
            const char *text;
            size_t size;
        } s;                      /* STR, TENSOR_NAME, LAYOUT */
        const pdm_ir_attr *items; /* ARRAY; no NULL in it */
        const int64_t *ints;      /* INT_ARRAY */
        pdm_ir_type type;         /* TYPE; NULL is the null type */
        struct {
            int32_t kind, device;
            const char *name;
        } place;
    } u;
};

pdm_ir_attr pdm_ir_attr_null(pdm_ir_context *context);
pdm_ir_attr pdm_ir_attr_bool(pdm_ir_context *context, bool value);
pdm_ir_attr pdm_ir_attr_i32(pdm_ir_context *context, int32_t value);
pdm_ir_attr pdm_ir_attr_i64(pdm_ir_context *context, int64_t value);
pdm_ir_attr pdm_ir_attr_f32(pdm_ir_context *context,
                            float value); /* NaNs are one attribute; -0.0 and 0.0 differ */
pdm_ir_attr pdm_ir_attr_f64(pdm_ir_context *context, double value);
pdm_ir_attr pdm_ir_attr_str(pdm_ir_context *context, const char *text); /* NUL-terminated */
pdm_ir_attr pdm_ir_attr_strn(pdm_ir_context *context, const char *text, size_t size);
pdm_ir_attr pdm_ir_attr_array(pdm_ir_context *context, const pdm_ir_attr *items, size_t count);
pdm_ir_attr pdm_ir_attr_int_array(pdm_ir_context *context, const int64_t *ints, size_t count);
pdm_ir_attr pdm_ir_attr_dtype(pdm_ir_context *context, pdm_dtype dtype);
pdm_ir_attr pdm_ir_attr_type(pdm_ir_context *context, pdm_ir_type type);
pdm_ir_attr pdm_ir_attr_layout(pdm_ir_context *context, const char *layout);
pdm_ir_attr pdm_ir_attr_place(pdm_ir_context *context, int32_t kind, int32_t device,
                              const char *name);
pdm_ir_attr pdm_ir_attr_intern(pdm_ir_context *context, const struct pdm_ir_attr_s *fields);
/* Arrays of one element kind. */
pdm_ir_attr pdm_ir_attr_bools(pdm_ir_context *context, const bool *values, size_t count);
pdm_ir_attr pdm_ir_attr_i32s(pdm_ir_context *context, const int32_t *values, size_t count);
pdm_ir_attr pdm_ir_attr_i64s(pdm_ir_context *context, const int64_t *values, size_t count);
pdm_ir_attr pdm_ir_attr_f32s(pdm_ir_context *context, const float *values, size_t count);
pdm_ir_attr pdm_ir_attr_f64s(pdm_ir_context *context, const double *values, size_t count);
pdm_ir_attr pdm_ir_attr_strs(pdm_ir_context *context, const char *const *values, size_t count);
const char *pdm_ir_attr_kind_name(pdm_ir_attr_kind kind); /* "bool", "i32", "array", ... */

/* An entry of an op's attribute dictionary. */
typedef struct pdm_ir_named_attr {
    const char *name; /* interned in the context */
    pdm_ir_attr attr;
    uint32_t position; /* where it is written: row order for ops with rows, file order for what was
                          read */
} pdm_ir_named_attr;

/* ---- values and uses ------------------------------------------------------------------------- */

/*
 * A result or block argument. `uses` holds the address of the first use with three tag bits: 0..5
 * the index of an inline result, 6 an out-of-line result (pdm_ir_ool_result), 7 a block argument
 * (pdm_ir_block_arg). The defining op is found by address arithmetic.
 */
struct pdm_ir_value {
    pdm_ir_type type;
    uintptr_t uses;
};

#define PDM_IR_INLINE_RESULTS 6

struct pdm_ir_use {                  /* an operand; lives in its op's allocation */
    _Alignas(8) pdm_ir_value *value; /* NULL: absent operand, in no list */
    pdm_ir_op *owner;
    pdm_ir_use *next; /* next use of the same value */
    uintptr_t *back; /* address of the word that points here (tag bits in it are kept when it is the
                        value's) */
};

pdm_ir_op *pdm_ir_value_op(const pdm_ir_value *value);  /* defining op; NULL for a block argument */
uint32_t pdm_ir_value_index(const pdm_ir_value *value); /* result or argument number */
pdm_ir_block *pdm_ir_value_arg_block(const pdm_ir_value *value); /* NULL for a result */
pdm_ir_block *pdm_ir_value_block(const pdm_ir_value *value);     /* block in which it is defined */
pdm_ir_use *pdm_ir_value_first_use(const pdm_ir_value *value);
bool pdm_ir_value_has_uses(const pdm_ir_value *value);
size_t pdm_ir_value_num_uses(const pdm_ir_value *value);
void pdm_ir_value_replace_all_uses(pdm_ir_value *value, pdm_ir_value *with);
uint32_t pdm_ir_use_index(const pdm_ir_use *use); /* operand number */
void pdm_ir_use_set(pdm_ir_use *use, pdm_ir_value *value);

/* ---- ops ------------------------------------------------------------------------------------- */

/* One allocation: [out-of-line results | inline results | op | operands | region pointers |
 * attributes]. */
struct pdm_ir_op {
    _Alignas(8) const pdm_ir_op_info *info;
    pdm_ir_block *block; /* NULL: detached */
    pdm_ir_op *prev, *next;
    pdm_ir_named_attr *attrs; /* sorted by name; behind the region pointers, malloc'ed when there
                                 are more than fit there */
    uint32_t num_attrs, num_operands, num_results, num_regions;
    uint32_t order;          /* position hint inside the block, kept by the block when asked */
    int32_t lg_block, lg_op; /* where the legacy program had it; -1: nowhere */
    uint32_t attr_room;      /* attributes that fit where attrs points */
};

/* What is known of the attributes of an op about to be created. */
typedef enum pdm_ir_attrs_form {
    PDM_IR_ATTRS_ANY,
    PDM_IR_ATTRS_ROW_FIRST, /* they begin with all attributes of the row, in its order */
    PDM_IR_ATTRS_DICTIONARY /* they are those of an op: sorted, names interned, positions set */
} pdm_ir_attrs_form;

/* What pdm_ir_op_create needs; gather the parts, create once. Arrays are copied, regions adopted on
 * success. */
typedef struct pdm_ir_op_state {
    const pdm_ir_op_info *info;
    pdm_ir_value *const *operands; /* NULL entries: absent */
    size_t num_operands;
    const pdm_ir_type *result_types; /* NULL entries: absent results */
    size_t num_results;
    const pdm_ir_named_attr *attrs; /* any order; names need not be interned; position is taken from
                                       the row if there is one, else as given */
    size_t num_attrs;
    pdm_ir_attrs_form attrs_form;
    pdm_ir_region *const *regions;
    size_t num_regions;
} pdm_ir_op_state;

/* A detached op; NULL when out of memory. */
pdm_ir_op *pdm_ir_op_create(pdm_ir_context *context, const pdm_ir_op_state *state);
/* Detach from its block, if any, and free with all regions; its results must have no uses outside
 * of it. */
void pdm_ir_op_erase(pdm_ir_op *op);
void pdm_ir_op_detach(pdm_ir_op *op);
void pdm_ir_op_insert_before(pdm_ir_op *op, pdm_ir_op *where);
void pdm_ir_op_insert_after(pdm_ir_op *op, pdm_ir_op *where);

pdm_ir_value *pdm_ir_op_result(const pdm_ir_op *op, size_t index);
pdm_ir_use *pdm_ir_op_operand(const pdm_ir_op *op, size_t index);
pdm_ir_value *pdm_ir_op_operand_value(const pdm_ir_op *op, size_t index); /* NULL: absent */
pdm_ir_region *pdm_ir_op_region(const pdm_ir_op *op, size_t index);
const char *pdm_ir_op_name(const pdm_ir_op *op); /* "pd_op.relu" */
bool pdm_ir_op_is(const pdm_ir_op *op, const char *name);
pdm_ir_attr pdm_ir_op_attr(const pdm_ir_op *op,
                           const char *name); /* by bisection; NULL if absent */
/* Set or replace; false when out of memory. */
bool pdm_ir_op_set_attr(pdm_ir_context *context, pdm_ir_op *op, const char *name, pdm_ir_attr attr);
/* Add attributes that op does not have and its row does not declare, names interned; they are
 * written in the order given. False when out of memory. */
bool pdm_ir_op_add_attrs(pdm_ir_op *op, const pdm_ir_named_attr *attrs, uint32_t count);
void pdm_ir_op_remove_attr(pdm_ir_op *op, const char *name);
pdm_ir_op *
pdm_ir_op_parent(const pdm_ir_op *op); /* the op whose region it is in; NULL at the top */
bool pdm_ir_op_is_before(pdm_ir_op *a, pdm_ir_op *b); /* same block; amortised constant time */

/* Copy with regions; operands go through map (old value → new value) where it knows them, and new
 * values are entered. NULL when out of memory. */
pdm_ir_op *pdm_ir_op_clone(pdm_ir_context *context, const pdm_ir_op *op, pdm_map *map);

/* ---- blocks and regions ---------------------------------------------------------------------- */

struct pdm_ir_block {
    pdm_ir_region *region; /* NULL: detached */
    pdm_ir_block *prev, *next;
    pdm_ir_op *first, *last;
    struct pdm_ir_block_arg **args;
    uint32_t num_args;
    bool order_valid;
};

struct pdm_ir_region {
    pdm_ir_op *owner; /* NULL: detached */
    uint32_t index;   /* which region of its owner */
    pdm_ir_block *first, *last;
};

pdm_ir_region *pdm_ir_region_create(void);
void pdm_ir_region_destroy(pdm_ir_region *region); /* detached only */
pdm_ir_block *pdm_ir_block_create(void);
void pdm_ir_block_destroy(pdm_ir_block *block); /* detached only */
void pdm_ir_region_append(pdm_ir_region *region, pdm_ir_block *block);
/* A region with one empty block; NULL when out of memory. */
pdm_ir_region *pdm_ir_region_create_with_block(void);
/* NULL when out of memory. */
pdm_ir_value *pdm_ir_block_add_arg(pdm_ir_block *block, pdm_ir_type type);
pdm_ir_value *pdm_ir_block_arg(const pdm_ir_block *block, size_t index);
void pdm_ir_block_remove_arg(pdm_ir_block *block, size_t index); /* it has no uses */
void pdm_ir_block_append(pdm_ir_block *block, pdm_ir_op *op);
void pdm_ir_block_prepend(pdm_ir_block *block, pdm_ir_op *op);
pdm_ir_op *pdm_ir_block_parent_op(const pdm_ir_block *block);

/* ---- modules --------------------------------------------------------------------------------- */

struct pdm_ir_module {
    pdm_ir_context *context;
    pdm_ir_op *op;       /* builtin.module */
    pdm_ir_block *block; /* its only block */
    int64_t version;     /* PIR version of attribute tags and ops */
    bool trainable;      /* result attributes (stop_gradient, persistable) are written */
};

PDM_MUST_USE pdm_status pdm_ir_module_create(pdm_ir_context *context,
                                             pdm_ir_module **out_module); /* version 4, trainable */
void pdm_ir_module_destroy(pdm_ir_module *module);

typedef enum pdm_ir_walk_order { PDM_IR_PRE_ORDER, PDM_IR_POST_ORDER } pdm_ir_walk_order;
/* Visit op and all nested ops; fn may erase the op it is given in post order. A status other than
 * PDM_OK stops the walk and is returned. */
PDM_MUST_USE pdm_status pdm_ir_walk(pdm_ir_op *op, pdm_ir_walk_order order,
                                    pdm_status (*fn)(void *user, pdm_ir_op *op), void *user);
PDM_MUST_USE pdm_status pdm_ir_module_clone(const pdm_ir_module *module,
                                            pdm_ir_module **out_module);

/*
 * Retag attributes to another PIR version (1 = the tags of 3.0.0, ... 4 = 3.3.1), add or drop those
 * attributes that came or went. Ops that do not exist in that version are all reported
 * (PDM_D_IR_VERSION) and the status is PDM_UNSUPPORTED.
 */
PDM_MUST_USE pdm_status pdm_ir_module_set_version(pdm_ir_module *module, int version,
                                                  pdm_diag_sink *sink);

/* Types, operand counts and attributes against the rows; dominance and region capture; terminators;
 * control flow ops; use lists. All problems are reported. */
PDM_MUST_USE pdm_status pdm_ir_verify(const pdm_ir_module *module, pdm_diag_sink *sink);

#endif
