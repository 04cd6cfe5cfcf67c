/*
 * Op rows and op infos. A row (ops/pd_op.def, builtin.def, cf.def, cinn_op.def, fast.def) is constant data:
 * operands, attributes, results, effects, infer-meta hook. An info is a row made known to a context
 * on first use, together with traits and the interfaces that upper layers attached; both are kept
 * sorted by id and found by bisection. Ops of the `legacy` dialect have no row: any number of
 * operands and results.
 */
#ifndef PDM_IR_OP_INFO_H
#define PDM_IR_OP_INFO_H

#include "ir/ir.h"
#include "ir/op_codes.h"

typedef enum pdm_ir_operand_kind {
    PDM_IR_OPERAND_TENSOR,
    PDM_IR_OPERAND_OPTIONAL,
    PDM_IR_OPERAND_VECTOR,
    PDM_IR_OPERAND_OPTIONAL_VECTOR,
    PDM_IR_OPERAND_MUTABLE, /* a scalar attribute that became an operand: pd_op.full when constant
                             */
    PDM_IR_OPERAND_MUTABLE_INTS, /* an integer array: pd_op.full_int_array, or a combine of tensors
                                  */
    PDM_IR_OPERAND_MANY          /* any number of values; at most once in a row, and last */
} pdm_ir_operand_kind;

typedef struct pdm_ir_operand_desc {
    const char *name;
    pdm_ir_operand_kind kind;
} pdm_ir_operand_desc;

/* Declared attribute types. ARRAY_ANY: elements of any kind. SCALAR: any number, bool or complex.
 * ANY: anything. */
typedef enum pdm_ir_decl_type {
    PDM_IR_T_BOOL,
    PDM_IR_T_I32,
    PDM_IR_T_I64,
    PDM_IR_T_F32,
    PDM_IR_T_F64,
    PDM_IR_T_STR,
    PDM_IR_T_ARRAY_BOOL,
    PDM_IR_T_ARRAY_I32,
    PDM_IR_T_ARRAY_I64,
    PDM_IR_T_ARRAY_F32,
    PDM_IR_T_ARRAY_F64,
    PDM_IR_T_ARRAY_STR,
    PDM_IR_T_ARRAY_ANY,
    PDM_IR_T_INT_ARRAY,
    PDM_IR_T_DTYPE,
    PDM_IR_T_LAYOUT,
    PDM_IR_T_PLACE,
    PDM_IR_T_SCALAR,
    PDM_IR_T_TYPE,
    PDM_IR_T_ANY
} pdm_ir_decl_type;

#define PDM_IR_MAX_ROW_ATTRS 32

typedef struct pdm_ir_attr_desc {
    const char *name;
    pdm_ir_decl_type type; /* in the newest version */
    pdm_ir_decl_type
        old_type;   /* before version `changed_in` (equal to type when it never changed) */
    int changed_in; /* 0: never */
    int added_in;   /* 0: always there */
    const char *default_json; /* NULL: none */
} pdm_ir_attr_desc;

typedef struct pdm_ir_result_desc {
    const char *name;
    pdm_ir_operand_kind kind; /* TENSOR, OPTIONAL, VECTOR or MANY */
} pdm_ir_result_desc;

enum { /* effects and kinds of an op: bits of pdm_ir_op_desc.flags */
       PDM_IR_PURE = 1,
       PDM_IR_RANDOM = 2,
       PDM_IR_INPLACE = 4,
       PDM_IR_READS = 8,
       PDM_IR_WRITES = 16,
       PDM_IR_SIDE_EFFECT = 32,
       PDM_IR_TERMINATOR = 64,
       PDM_IR_REGION = 128,
       PDM_IR_ALLOCATES = 256
};

struct pdm_ir_infer;
typedef pdm_status (*pdm_ir_infer_fn)(struct pdm_ir_infer *infer); /* see infer.h */

typedef struct pdm_ir_op_desc {
    const char *name; /* "pd_op.conv2d" */
    int since;        /* first PIR version; 0: in 3.0.0 */
    const pdm_ir_operand_desc *operands;
    const pdm_ir_attr_desc *attrs;
    const pdm_ir_result_desc *results;
    uint16_t num_operands, num_attrs, num_results;
    uint16_t flags;
    pdm_ir_infer_fn infer; /* NULL: nothing is known */
} pdm_ir_op_desc;

/* The row of a name, NULL if there is none. Rows are walked by index 0 .. count-1 in name order. */
const pdm_ir_op_desc *pdm_ir_op_desc_find(const char *name);
size_t pdm_ir_op_desc_count(void);
const pdm_ir_op_desc *pdm_ir_op_desc_at(size_t index);
const pdm_ir_attr_desc *pdm_ir_op_desc_attr(const pdm_ir_op_desc *desc,
                                            const char *name); /* NULL if absent */
pdm_ir_decl_type pdm_ir_attr_desc_type(const pdm_ir_attr_desc *desc,
                                       int version); /* the type it has in that version */
/* Whether an attribute has a declared type; arrays of any length, also empty. */
bool pdm_ir_decl_type_fits(pdm_ir_decl_type type, pdm_ir_attr attr);
const char *pdm_ir_decl_type_name(pdm_ir_decl_type type); /* "i32", "array<f32>", ... */
/* In-place pairs of an op (ops/inplace.def): the result that writes operand i, or -1. Infos have it
 * at hand: pdm_ir_op_info_inplace. */
int pdm_ir_inplace_result(const char *op_name, int operand);

typedef enum pdm_ir_interface_id {
    PDM_IR_IF_INFER_META
} pdm_ir_interface_id;

struct pdm_ir_op_info {
    const char *name;           /* interned, "pd_op.relu" */
    const pdm_ir_op_desc *desc; /* NULL for the legacy dialect */
    pdm_ir_op_code code;
    pdm_ir_context *context;
    const char *const *attr_names; /* interned, in row order */
    const uint16_t *attrs_by_name; /* the row's attributes (their indices) in name order */
    bool changes;                  /* whether an attribute came, went or changed between versions */
    pdm_ir_attr *defaults;         /* in row order, kept once made; see pdm_ir_op_info_default */
    const int8_t *inplace;         /* by operand of the row: the result that writes it, or -1 */
    struct pdm_ir_interface {
        int id;
        const void *impl;
    } * interfaces; /* sorted by id */
    size_t num_interfaces;
    const int *traits; /* sorted; the single bits of desc->flags */
    size_t num_traits;
};

/* The info of an op name, made on first use. NULL when there is no such row (and it is not
 * "legacy.*"), or out of memory: *out_status tells. */
const pdm_ir_op_info *pdm_ir_op_info_get(pdm_ir_context *context, const char *name,
                                         pdm_status *out_status /* may be NULL */);
/* The index of a row's attribute, or -1; `hint` is where it is looked for first. */
int pdm_ir_op_info_attr(const pdm_ir_op_info *info, const char *name, size_t hint);
/* The default of a row's attribute that has one (default_json), in the newest version; NULL: out of
 * memory. */
pdm_ir_attr pdm_ir_op_info_default(const pdm_ir_op_info *info, uint16_t index);
static inline int pdm_ir_op_info_inplace(const pdm_ir_op_info *info, size_t operand)
{
    return info->desc && operand < info->desc->num_operands ? info->inplace[operand] : -1;
}
/* The attribute that the row of op declares at index; NULL if absent. */
pdm_ir_attr pdm_ir_op_row_attr(const pdm_ir_op *op, uint16_t index);
/* The info of a row; NULL: out of memory. */
const pdm_ir_op_info *pdm_ir_op_info_by_code(pdm_ir_context *context, pdm_ir_op_code code);
bool pdm_ir_op_info_has_trait(const pdm_ir_op_info *info, int flag);
const void *pdm_ir_op_info_interface(const pdm_ir_op_info *info, int id); /* NULL: not attached */
/* Attach an implementation (borrowed, constant) to an op by name; upper layers do so when the
 * context is created. */
PDM_MUST_USE pdm_status pdm_ir_context_attach(pdm_ir_context *context, const char *op_name, int id,
                                              const void *impl);

#endif
