/* Print a legacy program for people: text, or a dot graph. */
#ifndef PDM_LG_DUMP_H
#define PDM_LG_DUMP_H

#include "base/buf.h"
#include "legacy_graph/program.h"

/*
 * Text: per block its variables with kind, dtype and dims, then one line per op:
 *     (Out=[y]) = sum(X=[a, b]) {use_mkldnn: BOOLEAN = false}
 * with the blocks that an op owns nested below it. Dot: ops, variables and the edges between them,
 * nested blocks as clusters. op_callstack is shortened to its length. Failures are sticky in buf.
 */
void pdm_lg_dump_text(const pdm_lg_program *program, pdm_buf *buf);
void pdm_lg_dump_dot(const pdm_lg_program *program, pdm_buf *buf);

#endif
