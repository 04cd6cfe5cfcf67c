/* Print a legacy program for people: text, or a dot graph. */
#ifndef PDM_LG_DUMP_H
#define PDM_LG_DUMP_H

#include "base/buf.h"
#include "legacy_graph/program.h"

/*
 * One line per op: `%out = type(X=[a, b], Y=[c]) {axis: INT = -1}`, blocks nested under their index, variables with kind, dtype and dims first.
 * Failures are sticky in buf.
 */
void pdm_lg_dump_text(const pdm_lg_program *program, pdm_buf *buf);
void pdm_lg_dump_dot(const pdm_lg_program *program, pdm_buf *buf);

#endif
