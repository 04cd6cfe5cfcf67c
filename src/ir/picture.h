/*
 * Patterns that read as a picture of the program before and after:
 *
 *     from:  %a = transpose(%x) {perm: $p}
 *            %b = transpose(%a) {perm: $q}
 *     to:    %b = transpose(%x) {perm: $r}        or just %x: what was there before
 *
 * A line is an op; ops are those of pd_op unless they have a dialect. The last line of `from` is
 * the op that the driver hands over. %NAME is a value, `none` an absent operand, $NAME an attribute. The
 * same name is the same thing everywhere. An attribute may be compared with a literal (true, 1, 0.5,
 * "text").
 *
 * A value that a line of `from` makes must have no other reader, unless it is written %NAME+.
 * Operands of ops that commute fit in both orders.
 *
 * No attribute is lost: one that `from` does not name must have the value that the row of its op
 * has for default, unless the braces hold `...`; then `to` carries all attributes of that op with `like %NAME`
 * instead of the `...`. Attributes that `to` does not name are the defaults.
 *
 * `where` is asked after the match; it may set attributes ($r above) for `to`.
 */
#ifndef PDM_IR_PICTURE_H
#define PDM_IR_PICTURE_H

#include "ir/rewrite.h"

typedef struct pdm_ir_picture pdm_ir_picture;
typedef struct pdm_ir_match pdm_ir_match;

/* A picture that cannot be read is a fault of the library (told). */
PDM_MUST_USE pdm_status pdm_ir_picture_create(pdm_ir_context *context,
                                              const pdm_ir_pattern *pattern, pdm_diag_sink *sink,
                                              pdm_ir_picture **out_picture);
void pdm_ir_picture_destroy(pdm_ir_picture *picture); /* NULL is allowed */
const pdm_ir_op_info *pdm_ir_picture_root(const pdm_ir_picture *picture);
/* Whether the picture was found at op, and op replaced. */
bool pdm_ir_picture_apply(const pdm_ir_picture *picture, pdm_ir_rewriter *rw, pdm_ir_op *op);

/* ---- for conditions; names without % and $ ---- */

const pdm_ir_rewriter *pdm_ir_match_rewriter(const pdm_ir_match *match);
pdm_ir_value *pdm_ir_match_value(const pdm_ir_match *match, const char *name);
pdm_ir_attr pdm_ir_match_attr(const pdm_ir_match *match, const char *name);
/* False when attr is NULL (out of memory). */
bool pdm_ir_match_set(pdm_ir_match *match, const char *name, pdm_ir_attr attr);

#endif
