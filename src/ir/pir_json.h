/*
 * PIR JSON (inference.json): reading and writing. Reader → writer is the identity for files as
 * Paddle writes them (NaN spelling aside).
 *
 * How a file is kept in memory:
 * - result attributes (key OA) are ordinary attributes `stop_gradient` and `persistable` of the op,
 *   arrays with one bool a result. The writer moves them to OA, or drops them when the module is
 *   not trainable.
 * - a parameter (short form "p") is `builtin.parameter` with the attributes
 *       is_distributed, is_parameter, need_clip   arrays of one bool   (A: [0, 1, need_clip, name])
 *       parameter_name                            string
 *       persistable, stop_gradient, trainable     arrays of one bool   (OA: [1, 0, 1])
 *   and whatever DA and QA hold (`op_dist_attr`, `op_role`; `struct_name`) as it is. The long form
 *   0.parameter is read into the same.
 * - attributes keep their order in the file as `position`.
 * - 1.a_scalar is read as the plain attribute of its element type, as the framework does.
 * Values are numbered anew on writing: results 1, 2, ... in write order, an op's results before its
 * regions, block arguments -1, -2, ...
 */
#ifndef PDM_IR_PIR_JSON_H
#define PDM_IR_PIR_JSON_H

#include "base/buf.h"
#include "base/file.h"
#include "ir/ir.h"

#define PDM_IR_JSON_MAX_FILE    ((uint64_t)1 << 31)
#define PDM_IR_MAX_REGION_DEPTH 256 /* nesting of region ops that is read or written */
#define PDM_IR_MAX_NESTING      100 /* attributes or types inside of each other, when read */
#define PDM_IR_NEWEST_VERSION   4

/* Layout facts of a file that was read, so that it can be written the same way. */
typedef struct pdm_ir_json_layout {
    int indent; /* 0: compact; else spaces per level */
} pdm_ir_json_layout;

/* An object or array after an optional BOM and blanks; told from a ProgramDesc, which may begin
 * with such bytes too. */
bool pdm_ir_json_looks_like(const void *data, size_t size);

/*
 * Errors with line, column and the place in the program: PDM_INVALID_MODEL (syntax, form),
 * PDM_UNSUPPORTED (unknown tags or ops, all listed), PDM_NOMEM. A version above the newest known is
 * a warning. Operands, results and attributes are counted against the rows; types, dominance and
 * terminators are left to pdm_ir_verify. out_layout may be NULL.
 */
PDM_MUST_USE pdm_status pdm_ir_json_read(pdm_ir_context *context, const char *data, size_t size,
                                         const char *path, pdm_diag_sink *sink,
                                         pdm_ir_module **out_module,
                                         pdm_ir_json_layout *out_layout);

/*
 * Write with the module's version and trainable flag; layout NULL is compact. Everything that a
 * file for Paddle cannot hold is reported first (legacy-dialect ops as PDM_D_IR_LEGACY), and
 * nothing is written then. I/O errors are sticky in out.
 */
PDM_MUST_USE pdm_status pdm_ir_json_write(const pdm_ir_module *module,
                                          const pdm_ir_json_layout *layout, pdm_out *out,
                                          pdm_diag_sink *sink);
/* The same into memory. */
PDM_MUST_USE pdm_status pdm_ir_json_print(const pdm_ir_module *module,
                                          const pdm_ir_json_layout *layout, pdm_buf *buf,
                                          pdm_diag_sink *sink);

#endif
