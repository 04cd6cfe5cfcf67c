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

typedef struct pdm_tr_source {
    pdm_tr_source_kind kind;
    const char *name; /* slot or attribute */
} pdm_tr_source;

typedef struct pdm_tr_operand_map {
    const pdm_tr_source *alternatives;
    size_t num_alternatives;
} pdm_tr_operand_map;

typedef struct pdm_tr_attr_map {
    const char *name;    /* in PIR */
    const char *legacy;  /* NULL: literal */
    const char *literal; /* JSON; for legacy attributes the value of a missing one, or NULL: schema
                            default */
} pdm_tr_attr_map;

typedef struct pdm_tr_result_map {
    const char *slot; /* NULL: no legacy slot */
    bool vector, optional;
} pdm_tr_result_map;

typedef struct pdm_tr_row {
    const char *target; /* "pd_op.add" */
    pdm_tr_operand_map *operands;
    pdm_tr_attr_map *attrs;
    pdm_tr_result_map *results;
    size_t num_operands, num_attrs, num_results;
} pdm_tr_row;

/* The row of an interned legacy type, parsed on first use; NULL when there is none (or out of
 * memory: tr->status). */
const pdm_tr_row *pdm_tr_row_get(pdm_tr *tr, const char *type);
bool pdm_tr_row_exists(const char *type);

/* The in-place form of target where the framework takes it for this op, else target itself; room is
 * scratch for the name. */
const char *pdm_tr_in_place_form(pdm_tr_op *t, const char *target, char *room, size_t size);

#endif
