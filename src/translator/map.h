/* Rows of op_map.def, parsed: how a legacy op without structure becomes one PIR op. */
#ifndef PDM_TR_MAP_H
#define PDM_TR_MAP_H

#include "translator/tr.h"

typedef enum pdm_tr_source_kind {
    PDM_TR_SLOT,     /* the variable of a slot */
    PDM_TR_COMBINED, /* builtin.combine of the slot's variables */
    PDM_TR_CONSTANT, /* a constant made of an attribute, or the attribute's variables */
    PDM_TR_NONE      /* no value */
} pdm_tr_source_kind;

/* A slot or attribute of legacy ops. */
typedef struct pdm_tr_name {
    const char *text;
    const char *known; /* as the program has it interned; NULL: none of its ops has that name */
} pdm_tr_name;

typedef struct pdm_tr_source {
    pdm_tr_source_kind kind;
    pdm_tr_name name; /* slot or attribute */
} pdm_tr_source;

typedef struct pdm_tr_operand_map {
    const pdm_tr_source *alternatives;
    size_t num_alternatives;
} pdm_tr_operand_map;

typedef struct pdm_tr_attr_map {
    const char *name;    /* in PIR */
    pdm_tr_name legacy;  /* text NULL: literal */
    const char *literal; /* JSON; for legacy attributes the value of a missing one, or NULL: schema
                            default */
} pdm_tr_attr_map;

typedef struct pdm_tr_result_map {
    pdm_tr_name slot; /* text NULL: no legacy slot */
    bool vector, optional;
} pdm_tr_result_map;

/* A row and the op that it makes, bound on first use: the target, or its in-place form. */
#define PDM_TR_FORMS 2

typedef struct pdm_tr_form {
    const pdm_ir_op_info *info; /* NULL: not bound yet */
    uint16_t *attrs;            /* by the row's attributes: which of the op's it is */
    pdm_ir_attr *literals;      /* by the row's attributes, kept once made */
} pdm_tr_form;

typedef struct pdm_tr_row {
    const char *target; /* "pd_op.add" */
    pdm_tr_operand_map *operands;
    pdm_tr_attr_map *attrs;
    pdm_tr_result_map *results;
    size_t num_operands, num_attrs, num_results;
    const pdm_ir_op_info *info; /* of the target; NULL: there is no such op */
    pdm_tr_form *forms;         /* PDM_TR_FORMS of them */
} pdm_tr_row;

/* The row of an interned legacy type, parsed on first use; NULL when there is none (or out of
 * memory: tr->status). */
const pdm_tr_row *pdm_tr_row_get(pdm_tr *tr, const char *type);
bool pdm_tr_row_exists(const char *type);

/* The in-place form of an op where the framework takes it for this legacy op, else the op itself.
 */
const pdm_ir_op_info *pdm_tr_in_place_form(pdm_tr_op *t, const pdm_ir_op_info *plain);

#endif
