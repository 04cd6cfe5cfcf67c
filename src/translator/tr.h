/*
 * Inside the translator: the state of one translation, and the vocabulary in which handlers are
 * written.
 *
 * A handler translates one legacy op: it reads inputs and attributes, emits PIR ops at the end of
 * the current block, and binds outputs. Failure is sticky: after an error (reported once, with
 * block, index, type and variable) or out-of-memory every further call on the same pdm_tr_op does
 * nothing and gives NULL or 0, so that handlers read as straight lines; the driver looks at the
 * end. Values of type NULL stand for absent operands.
 */
#ifndef PDM_TR_TR_H
#define PDM_TR_TR_H

#include <string.h>

#include "ir/infer.h"
#include "translator/translate.h"

/* What a name means in a scope: a value, or element `index` of a vector value that is sliced on
 * first use. */
typedef struct pdm_tr_binding {
    pdm_ir_value *value;
    pdm_ir_value *vector;
    uint32_t index;
} pdm_tr_binding;

typedef struct pdm_tr_scope {
    struct pdm_tr_scope *parent;
    pdm_map names;       /* interned legacy name → pdm_tr_binding * (scratch arena) */
    pdm_ir_block *block; /* where ops are appended */
    int32_t lg_block;    /* legacy block that is being translated into it */
    bool is_loop;        /* body of a while */
} pdm_tr_scope;

/* What becomes of a fetch op. */
typedef struct pdm_tr_fetch {
    const char *name; /* unique in the program */
    int32_t col;      /* 0, 1, 2, ... */
} pdm_tr_fetch;

typedef struct pdm_tr {
    pdm_ir_context *context;
    pdm_lg_schemas *schemas;
    const pdm_lg_program *program;
    const pdm_tr_options *options;
    pdm_diag_sink *sink;
    pdm_ir_module *module;
    pdm_tr_scope *scope;      /* innermost */
    pdm_arena scratch;        /* freed at the end of the translation */
    pdm_map rows;             /* interned op type → parsed map row */
    struct pdm_tr_flow *flow; /* analysis of all blocks (flow.h) */
    pdm_status status;        /* PDM_NOMEM or another failure that ends the translation at once */
    bool has_sub_blocks; /* then in-place forms are avoided: aliasing across regions is nobody's
                            business */
    pdm_ir_op *front;    /* last op of the leading parameters and inputs; NULL: none yet */
    uint32_t loop_depth;
    pdm_map outputs; /* value → legacy variable, main block: for stop_gradient and persistable */
    pdm_ir_attr flags[2]; /* kept by pdm_tr_a_flag */
    pdm_map feeds;        /* pdm_lg_var → value of its pd_op.data; NULL: refused */
    pdm_map fetches;      /* fetch op → pdm_tr_fetch */
    const pdm_ir_op *parameter; /* the first builtin.parameter; NULL: none yet */
    pdm_map parameters;   /* interned legacy name → value of its builtin.parameter */
    pdm_map storage;      /* value → parameter whose memory it shares, NULL: none (io.c) */
    pdm_map resolved;     /* interned op type → how it is translated (translate.c) */
    pdm_map in_place;     /* op info → that of its in-place form, NULL: it has none (generic.c) */
} pdm_tr;

/* The op being translated. */
typedef struct pdm_tr_op {
    pdm_tr *tr;
    const pdm_lg_op *op;
    const pdm_lg_schema *schema; /* NULL: none */
    int32_t block, index;
    bool failed;
} pdm_tr_op;

typedef void (*pdm_tr_handler)(pdm_tr_op *t);

/* ---- names and values (scope.c) -------------------------------------------------------------- */

#define PDM_TR_EMPTY "@EMPTY@"
static inline bool pdm_tr_is_empty_name(const char *name)
{
    return name[0] == '@' && strcmp(name, PDM_TR_EMPTY) == 0;
}
/* Newest value of a name, sliced out of its vector when it must be; NULL when it has none in any
 * scope, or on failure. */
pdm_ir_value *pdm_tr_value(pdm_tr *tr, const char *name);
bool pdm_tr_has_value(const pdm_tr *tr, const char *name);
void pdm_tr_bind(pdm_tr *tr, const char *name, pdm_ir_value *value);
void pdm_tr_bind_element(pdm_tr *tr, const char *name, pdm_ir_value *vector, uint32_t index);
/* The name has no value in this scope, whatever enclosing ones say: an inner declaration of the
 * same name. */
void pdm_tr_hide(pdm_tr *tr, const char *name);
/* Declaration of a name seen from the current legacy block; NULL if none. */
const pdm_lg_var *pdm_tr_var(const pdm_tr *tr, const char *name);
/* Type that the VarDesc declares (tensor, array, ...); NULL when it is no PIR type. */
pdm_ir_type pdm_tr_declared_type(pdm_tr *tr, const pdm_lg_var *var);

/* Declared dims with everything unknown as -1; returns the rank (the reader bounds it). */
size_t pdm_tr_declared_dims(const pdm_lg_var *var, int64_t dims[PDM_MAX_RANK]);

/* Which variable became which value (options.links): nothing happens when nobody asked. */
void pdm_tr_link_value(const pdm_tr_op *t, const char *name, pdm_ir_value *value, int32_t element);
/* The value that the variable has on entry of a turn of a loop whose body is block. */
void pdm_tr_link_entry(pdm_tr *tr, int32_t block, const char *name, pdm_ir_value *value);
/* The links made since there were `count` are void: their region is thrown away. */
size_t pdm_tr_num_links(const pdm_tr *tr);
void pdm_tr_cut_links(const pdm_tr *tr, size_t count);
void pdm_tr_unlink(const pdm_tr *tr, const pdm_ir_op *op); /* it is going to be erased */

/* Enter and leave a region whose ops go to block. */
void pdm_tr_scope_push(pdm_tr *tr, pdm_tr_scope *scope, pdm_ir_block *block, int32_t lg_block,
                       bool is_loop);
void pdm_tr_scope_pop(pdm_tr *tr);

/* ---- inputs and outputs of the op ------------------------------------------------------------ */

/* First argument of a slot. The first form reports a missing slot or value; the second gives NULL
 * for an absent slot. */
pdm_ir_value *pdm_tr_in(pdm_tr_op *t, const char *slot);
pdm_ir_value *pdm_tr_in_opt(pdm_tr_op *t, const char *slot);
pdm_ir_value *pdm_tr_in_at(pdm_tr_op *t, const char *slot, size_t index);
size_t pdm_tr_num_in(const pdm_tr_op *t,
                     const char *slot); /* arguments given, 0 when the slot is absent */
/* The same for a slot at hand (NULL: absent), and the value of one of its arguments. */
size_t pdm_tr_slot_size(const pdm_lg_slot *slot);
pdm_ir_value *pdm_tr_argument(pdm_tr_op *t, const pdm_lg_slot *slot, size_t index);
/* builtin.combine of all arguments of a slot (one is combined too; a single tensor array is passed
 * as it is); reports an empty slot. */
pdm_ir_value *pdm_tr_in_combined(pdm_tr_op *t, const char *slot);
const char *pdm_tr_out_name(const pdm_tr_op *t,
                            const char *slot); /* first argument; NULL when absent or @EMPTY@ */
bool pdm_tr_has_out(const pdm_tr_op *t, const char *slot);
size_t pdm_tr_num_out(const pdm_tr_op *t, const char *slot);
/* Bind the first (or index-th) argument of an output slot; nothing happens when it is absent. The
 * value's type is completed from the VarDesc. */
void pdm_tr_out(pdm_tr_op *t, const char *slot, pdm_ir_value *value);
void pdm_tr_out_at(pdm_tr_op *t, const char *slot, size_t index, pdm_ir_value *value);
void pdm_tr_out_name_is(pdm_tr_op *t, const char *name, pdm_ir_value *value); /* the same by name */
/* Bind an output to element `index` of a vector; nothing happens for @EMPTY@. */
void pdm_tr_out_element(pdm_tr_op *t, const char *name, pdm_ir_value *vector, uint32_t index);

/* ---- attributes of the op, with the legacy default of the schema when absent ----------------- */

bool pdm_tr_has_attr(const pdm_tr_op *t, const char *name); /* given in the model */
/* The attribute, else the schema's default, else NULL (nothing reported). */
const pdm_lg_attr *pdm_tr_attr(const pdm_tr_op *t, const char *name);
const pdm_lg_attr *pdm_tr_default(const pdm_tr_op *t, const char *name); /* the schema's alone */
/* Typed reads report a missing attribute without default and a wrong kind. Numbers convert between
 * kinds when exact. */
int64_t pdm_tr_int(pdm_tr_op *t, const char *name);
double pdm_tr_float(pdm_tr_op *t, const char *name);
bool pdm_tr_bool(pdm_tr_op *t, const char *name);
const char *pdm_tr_string(pdm_tr_op *t, const char *name); /* NULL on failure */
const int64_t *pdm_tr_ints(pdm_tr_op *t, const char *name,
                           size_t *out_count); /* INTS, LONGS, or a single number; scratch memory,
                                                  never NULL unless failed */
const double *pdm_tr_floats(pdm_tr_op *t, const char *name, size_t *out_count);
/* The same with a fallback for attributes that are in no schema. */
int64_t pdm_tr_int_or(pdm_tr_op *t, const char *name, int64_t fallback);
double pdm_tr_float_or(pdm_tr_op *t, const char *name, double fallback);
bool pdm_tr_bool_or(pdm_tr_op *t, const char *name, bool fallback);
const char *pdm_tr_string_or(pdm_tr_op *t, const char *name, const char *fallback);
pdm_dtype
pdm_tr_dtype(pdm_tr_op *t,
             const char *name); /* legacy number; -1 or absent: PDM_UNDEFINED; unknown: reported */
/* Convert a legacy attribute to a PIR attribute of a declared type; reports a kind that does not
 * convert. */
pdm_ir_attr pdm_tr_convert_attr(pdm_tr_op *t, const pdm_lg_attr *attr, pdm_ir_decl_type type);

/* ---- emitting -------------------------------------------------------------------------------- */

#define PDM_TR_COUNT(T, ...) (sizeof((T[]){__VA_ARGS__}) / sizeof(T))

#define PDM_TR_OPS(...) (pdm_ir_value *[]){__VA_ARGS__}, PDM_TR_COUNT(pdm_ir_value *, __VA_ARGS__)

#define PDM_TR_NO_OPS NULL, 0
/* Pairs {"name", attribute}; attributes not named get the default of the op's row. */
#define PDM_TR_ATTRS(...)                                                                          \
    (pdm_ir_named_attr[]){__VA_ARGS__}, PDM_TR_COUNT(pdm_ir_named_attr, __VA_ARGS__)
#define PDM_TR_NO_ATTRS NULL, 0

/* Emit an op; result types are inferred. A vector result has as many elements as the row says or
 * num_elements of the _n form. NULL on failure. */
pdm_ir_op *pdm_tr_emit(pdm_tr_op *t, const char *name, pdm_ir_value *const *operands,
                       size_t num_operands, const pdm_ir_named_attr *attrs, size_t num_attrs);
/* The same with result types given by the caller (NULL entries: absent). */
pdm_ir_op *pdm_tr_emit_typed(pdm_tr_op *t, const char *name, pdm_ir_value *const *operands,
                             size_t num_operands, const pdm_ir_named_attr *attrs, size_t num_attrs,
                             const pdm_ir_type *types, size_t num_types);
/* The same for an op whose info is at hand. */
pdm_ir_op *pdm_tr_emit_known(pdm_tr_op *t, const pdm_ir_op_info *info,
                             pdm_ir_value *const *operands, size_t num_operands,
                             const pdm_ir_named_attr *attrs, size_t num_attrs,
                             const pdm_ir_type *types, size_t num_types);
/* Emit, first result. */
pdm_ir_value *pdm_tr_emit1(pdm_tr_op *t, const char *name, pdm_ir_value *const *operands,
                           size_t num_operands, const pdm_ir_named_attr *attrs, size_t num_attrs);
pdm_ir_value *pdm_tr_result(const pdm_ir_op *op, size_t index); /* NULL when op is NULL */
/* Give a result another type than inferred (for ops whose hook knows too little). */
void pdm_tr_retype(pdm_ir_value *value, pdm_ir_type type);

/* Attribute constructors that make failure sticky. */
pdm_ir_attr pdm_tr_a_bool(pdm_tr_op *t, bool v);
pdm_ir_attr pdm_tr_a_flag(pdm_tr_op *t, bool v); /* array of one bool, as stop_gradient has */
pdm_ir_attr pdm_tr_a_i32(pdm_tr_op *t, int64_t v);
pdm_ir_attr pdm_tr_a_i64(pdm_tr_op *t, int64_t v);
pdm_ir_attr pdm_tr_a_f32(pdm_tr_op *t, double v);
pdm_ir_attr pdm_tr_a_f64(pdm_tr_op *t, double v);
pdm_ir_attr pdm_tr_a_str(pdm_tr_op *t, const char *v);
pdm_ir_attr pdm_tr_a_i32s(pdm_tr_op *t, const int64_t *v, size_t n);
pdm_ir_attr pdm_tr_a_i64s(pdm_tr_op *t, const int64_t *v, size_t n);
pdm_ir_attr pdm_tr_a_f32s(pdm_tr_op *t, const double *v, size_t n);
pdm_ir_attr pdm_tr_a_f64s(pdm_tr_op *t, const double *v, size_t n);
pdm_ir_attr pdm_tr_a_int_array(pdm_tr_op *t, const int64_t *v, size_t n);
pdm_ir_attr pdm_tr_a_dtype(pdm_tr_op *t, pdm_dtype v);
pdm_ir_attr pdm_tr_a_place(pdm_tr_op *t, int kind); /* 0 undefined, 1 CPU */

/* Constants. _i and _f: pd_op.full of shape [1] on the CPU, as attributes become operands; integers
 * exact. */
pdm_ir_value *pdm_tr_const_i(pdm_tr_op *t, pdm_dtype dtype, int64_t value);
pdm_ir_value *pdm_tr_const_f(pdm_tr_op *t, pdm_dtype dtype, double value);
pdm_ir_value *pdm_tr_const_ints(pdm_tr_op *t, const int64_t *values,
                                size_t count); /* pd_op.full_int_array */
#define PDM_TR_INTS(t, ...)                                                                        \
    pdm_tr_const_ints(t, (int64_t[]){__VA_ARGS__}, PDM_TR_COUNT(int64_t, __VA_ARGS__))
/* pd_op.full of any shape (no -1), place undefined. */
pdm_ir_value *pdm_tr_fill(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                          double value);
pdm_ir_value *pdm_tr_fill_i(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                            int64_t value);

/* Frequent ops. */
pdm_ir_value *pdm_tr_unary(pdm_tr_op *t, const char *name,
                           pdm_ir_value *x); /* no attributes but defaults */
pdm_ir_value *pdm_tr_binary(pdm_tr_op *t, const char *name, pdm_ir_value *x, pdm_ir_value *y);
pdm_ir_value *pdm_tr_scale(pdm_tr_op *t, pdm_ir_value *x, double scale,
                           double bias); /* x*scale + bias */
pdm_ir_value *pdm_tr_cast(pdm_tr_op *t, pdm_ir_value *x,
                          pdm_dtype dtype); /* x itself when it has that type */
pdm_ir_value *pdm_tr_reshape(pdm_tr_op *t, pdm_ir_value *x, const int64_t *dims,
                             size_t rank); /* 0: copy the dim, -1: the rest */
pdm_ir_value *pdm_tr_transpose(pdm_tr_op *t, pdm_ir_value *x, const int64_t *perm, size_t rank);
pdm_ir_value *pdm_tr_squeeze(pdm_tr_op *t, pdm_ir_value *x, const int64_t *axes, size_t n);
pdm_ir_value *pdm_tr_unsqueeze(pdm_tr_op *t, pdm_ir_value *x, const int64_t *axes, size_t n);
pdm_ir_value *pdm_tr_combine(pdm_tr_op *t, pdm_ir_value *const *values,
                             size_t n); /* builtin.combine */
pdm_ir_value *pdm_tr_element(pdm_tr_op *t, pdm_ir_value *vector, size_t index); /* builtin.slice */
pdm_ir_value *pdm_tr_concat(pdm_tr_op *t, pdm_ir_value *const *values, size_t n,
                            int64_t axis); /* combine + concat */
pdm_ir_value *pdm_tr_slice(pdm_tr_op *t, pdm_ir_value *x, int64_t axis, int64_t start,
                           int64_t end); /* one axis, no decrease */
pdm_ir_value *pdm_tr_reduce(pdm_tr_op *t, const char *name, pdm_ir_value *x, const int64_t *axes,
                            size_t n, bool keepdim);         /* pd_op.sum, max, ... */
pdm_ir_value *pdm_tr_shape64(pdm_tr_op *t, pdm_ir_value *x); /* int64 tensor of dims */

/* What is known of a value's type. */
void pdm_tr_meta(const pdm_ir_value *value, pdm_ir_meta *out);
int pdm_tr_rank(const pdm_ir_value *value); /* -1: unknown */
pdm_dtype pdm_tr_dtype_of(const pdm_ir_value *value);
/* Rank or a report (PDM_D_LG_TYPE) when it is unknown. */
int pdm_tr_need_rank(pdm_tr_op *t, const pdm_ir_value *value);

/* ---- reporting ------------------------------------------------------------------------------- */

/* Report at this op (var and hint may be NULL) and fail it. */
void pdm_tr_error(pdm_tr_op *t, pdm_diag_code code, const char *var, const char *hint,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
void pdm_tr_warn(pdm_tr_op *t, const char *var, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* This use of the op cannot be expressed in PIR (exit 4, or a legacy.* op). */
void pdm_tr_unsupported(pdm_tr_op *t, const char *var, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void pdm_tr_nomem(pdm_tr *tr);

/* ---- op by op (generic.c, special tables, control_flow.c) ------------------------------------ */

/* The row of op_map.def of the op's type; reports when there is none. Usable from handlers that
 * only prepare something. */
void pdm_tr_generic(pdm_tr_op *t);
/* Translate all ops of a legacy block into the current scope. */
void pdm_tr_block(pdm_tr *tr, int32_t lg_block);

/* Control flow (control_flow.c): analysis of all blocks before anything is emitted, and tidying up
 * at the end. */
void pdm_tr_flow_prepare(pdm_tr *tr);
void pdm_tr_flow_finish(pdm_tr *tr);

/* Handlers by legacy type: PDM_TR_HANDLER("matmul", matmul, SPECIAL) declares pdm_tr_h_matmul.
 * Several files of rows, one per family. */
#define PDM_TR_HANDLER(type, name, coverage) void pdm_tr_h_##name(pdm_tr_op *t);
#include "translator/handlers.def"
#undef PDM_TR_HANDLER

#endif
