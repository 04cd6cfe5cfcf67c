/* Defaults of op rows as attributes. */
#ifndef PDM_TR_ROW_DEFAULT_H
#define PDM_TR_ROW_DEFAULT_H

#include "ir/op_info.h"

/* The default of a row's attribute (default_json is not NULL); NULL when out of memory. */
pdm_ir_attr pdm_tr_row_default(pdm_ir_context *context, const pdm_ir_attr_desc *desc);
/* A JSON literal (true, -1, 0.5, "x", [1,2]) as an attribute of a declared type; NULL when out of
 * memory or when the text does not fit. */
pdm_ir_attr pdm_tr_literal(pdm_ir_context *context, const char *json, pdm_ir_decl_type type);

#endif
