/*
 * Rows of legacy_bind.def, parsed: which kernel computes a legacy op, and how its slots and
 * attributes become what that kernel expects. Ops without a row have a kernel "legacy.<type>" that
 * takes slots and attributes by their own names.
 */
#ifndef PDM_EXEC_LEGACY_BIND_H
#define PDM_EXEC_LEGACY_BIND_H

#include "base/arena.h"
#include "ir/ir.h"
#include "legacy_graph/program.h"

typedef enum pdm_legacy_source_kind {
    PDM_LEGACY_VAR,    /* the variable of a slot */
    PDM_LEGACY_LIST,   /* a vector of the slot's variables */
    PDM_LEGACY_SPREAD, /* each variable of the slot is an operand */
    PDM_LEGACY_OUT,    /* the variable of an output slot, which the op changes */
    PDM_LEGACY_CONST,  /* a small tensor of an attribute */
    PDM_LEGACY_NONE
} pdm_legacy_source_kind;

typedef struct pdm_legacy_source {
    pdm_legacy_source_kind kind;
    const char *name; /* slot or attribute */
} pdm_legacy_source;

typedef struct pdm_legacy_operand {
    const pdm_legacy_source *alternatives; /* the first that the op has */
    size_t count;
} pdm_legacy_operand;

typedef struct pdm_legacy_rename {
    const char *name;   /* as the kernel calls it */
    const char *legacy; /* NULL: literal */
    pdm_ir_attr literal;
} pdm_legacy_rename;

typedef struct pdm_legacy_result {
    const char *slot; /* NULL: there is none */
    bool vector, spread;
} pdm_legacy_result;

typedef struct pdm_legacy_row {
    const char *type, *kernel;
    const pdm_legacy_operand *operands;
    const pdm_legacy_rename *renames; /* other attributes keep their names */
    const pdm_legacy_result *results;
    size_t num_operands, num_renames, num_results;
} pdm_legacy_row;

/* *out_row is NULL when the type has none; it lives in arena. */
PDM_MUST_USE pdm_status pdm_legacy_row_get(const char *type, pdm_arena *arena,
                                           const pdm_legacy_row **out_row);

/* How LoD goes from inputs to an output of an op of a type. */
typedef struct pdm_legacy_lod {
    bool known;       /* the type has a row: outputs that it does not name have no LoD */
    const char *rule; /* "Out=X Mask=X", "Out" (its kernel sets it) */
} pdm_legacy_lod;

pdm_legacy_lod pdm_legacy_lod_get(const char *type);

/* A legacy attribute as a kernel sees it, not interned: it lives in arena. NULL: out of memory. */
pdm_ir_attr pdm_legacy_attr(const pdm_lg_attr *attr, pdm_arena *arena);

#endif
