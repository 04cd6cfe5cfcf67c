/* PIR JSON (inference.json): reading and writing. Reader → writer is the identity for files in Paddle's own key order (NaN spelling aside). */
#ifndef PDM_IR_PIR_JSON_H
#define PDM_IR_PIR_JSON_H

#include "base/file.h"
#include "ir/ir.h"

#define PDM_IR_JSON_MAX_FILE ((uint64_t)1 << 31)
#define PDM_IR_MAX_REGION_DEPTH 256 /* nesting of region ops that is read or written */
#define PDM_IR_NEWEST_VERSION 4

/* Layout facts of a file that was read, so that it can be written the same way. */
typedef struct pdm_ir_json_layout {
    int indent; /* 0: compact; else spaces per level */
} pdm_ir_json_layout;

bool pdm_ir_json_looks_like(const void *data, size_t size); /* '{' after an optional BOM and blanks */

/*
 * Errors with line, column and the place in the program: PDM_INVALID_MODEL (syntax, form), PDM_UNSUPPORTED (unknown tags or ops, all listed), PDM_NOMEM.
 * A version above the newest known is a warning. out_layout may be NULL.
 */
PDM_MUST_USE pdm_status pdm_ir_json_read(pdm_ir_context *context, const char *data, size_t size, const char *path, pdm_diag_sink *sink,
                                         pdm_ir_module **out_module, pdm_ir_json_layout *out_layout);

/* Write with the module's version and trainable flag. Legacy-dialect ops are reported (PDM_D_IR_LEGACY) and nothing useful is written. I/O errors are sticky in out. */
PDM_MUST_USE pdm_status pdm_ir_json_write(const pdm_ir_module *module, const pdm_ir_json_layout *layout, pdm_out *out, pdm_diag_sink *sink);

#endif
