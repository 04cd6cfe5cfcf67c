/* JSON literals of op rows and map rows as attributes. */
#ifndef PDM_IR_LITERAL_H
#define PDM_IR_LITERAL_H

#include "ir/op_info.h"

/* A literal (true, -1, 0.5, "x", [1,2]) as an attribute of a declared type; NULL when out of memory
 * or when the text does not fit. */
pdm_ir_attr pdm_ir_literal(pdm_ir_context *context, const char *json, pdm_ir_decl_type type);

#endif
