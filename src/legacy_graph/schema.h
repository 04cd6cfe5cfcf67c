/*
 * Schemas of legacy ops (op_schema.def): slots, attribute types and *legacy* defaults. Rows are
 * text, parsed on first use into the table that a pdm_lg_schemas owns (one per context; one thread
 * at a time).
 */
#ifndef PDM_LG_SCHEMA_H
#define PDM_LG_SCHEMA_H

#include "base/status.h"
#include "legacy_graph/program.h"

typedef struct pdm_lg_slot_desc {
    const char *name;
    bool list, optional, intermediate;
} pdm_lg_slot_desc;

typedef struct pdm_lg_attr_desc {
    const char *name;
    pdm_lg_attr_type type;
    const pdm_lg_attr *fallback; /* the legacy default as an attribute; NULL: required */
} pdm_lg_attr_desc;

typedef struct pdm_lg_schema {
    const char *type;
    const pdm_lg_slot_desc *inputs, *outputs;
    size_t num_inputs, num_outputs;
    const pdm_lg_attr_desc *attrs; /* sorted by name */
    size_t num_attrs;
} pdm_lg_schema;

typedef struct pdm_lg_schemas pdm_lg_schemas;

PDM_MUST_USE pdm_status pdm_lg_schemas_create(pdm_lg_schemas **out_schemas);
void pdm_lg_schemas_destroy(pdm_lg_schemas *schemas);
/* *out_schema is NULL when the type has no row. */
PDM_MUST_USE pdm_status pdm_lg_schema_get(pdm_lg_schemas *schemas, const char *type,
                                          const pdm_lg_schema **out_schema);
const pdm_lg_attr_desc *pdm_lg_schema_attr(const pdm_lg_schema *schema, const char *name);
/* True when the type has a row (no parsing). */
bool pdm_lg_schema_exists(const char *type);

#endif
