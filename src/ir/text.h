/* The text form of PIR, for people and tests: printed from and parsed back into modules, print(parse(print(m))) == print(m); and dot graphs. */
#ifndef PDM_IR_TEXT_H
#define PDM_IR_TEXT_H

#include "base/buf.h"
#include "ir/ir.h"

/* Sticky failure in buf. */
void pdm_ir_print(const pdm_ir_module *module, pdm_buf *buf);
void pdm_ir_print_type(pdm_ir_type type, pdm_buf *buf);
void pdm_ir_print_attr(pdm_ir_attr attr, pdm_buf *buf);
void pdm_ir_print_dot(const pdm_ir_module *module, pdm_buf *buf);
/* Errors with line and column; PDM_INVALID_MODEL, PDM_UNSUPPORTED (unknown ops), PDM_NOMEM. The result is not verified. */
PDM_MUST_USE pdm_status pdm_ir_parse(pdm_ir_context *context, const char *text, size_t size, const char *path, pdm_diag_sink *sink, pdm_ir_module **out_module);

#endif
