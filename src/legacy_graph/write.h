/*
 * Write a ProgramDesc: what pdm_lg_read reads back as the same program. Gone are only the fields
 * that reading dropped: those the format does not define, and the element descriptions of TUPLE and
 * READER variables.
 */
#ifndef PDM_LG_WRITE_H
#define PDM_LG_WRITE_H

#include "base/buf.h"
#include "base/status.h"
#include "legacy_graph/program.h"

/* Append the bytes to buf. Errors: PDM_NOMEM. */
PDM_MUST_USE pdm_status pdm_lg_write(const pdm_lg_program *program, pdm_buf *buf);

#endif
