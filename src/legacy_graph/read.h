/*
 * Read a ProgramDesc. The bytes are first scanned against the wire format (offsets in the diagnostics, limits, UTF-8, required fields, enum ranges), then
 * decoded by protobuf-c and moved to our structs.
 */
#ifndef PDM_LG_READ_H
#define PDM_LG_READ_H

#include "base/diag.h"
#include "legacy_graph/program.h"

/* Limits of the reader; a file beyond them is refused with PDM_D_LIMIT. */
#define PDM_LG_MAX_FILE ((uint64_t)2 << 30) /* protobuf's own limit */
#define PDM_LG_MAX_BLOCK_DEPTH 256

/* Cheap look at the first bytes: can this be a ProgramDesc? */
bool pdm_lg_looks_like_program(const void *data, size_t size);

/*
 * path is used in diagnostics and kept. The program is checked structurally (pdm_lg_check) before it is returned.
 * Errors: PDM_INVALID_MODEL, PDM_UNSUPPORTED (newer enum numbers only), PDM_NOMEM.
 */
PDM_MUST_USE pdm_status pdm_lg_read(const void *data, size_t size, const char *path, pdm_diag_sink *sink, pdm_lg_program **out_program);

/*
 * Structural check, all problems reported: blocks exist, indices in range, parents form a tree rooted at 0, each sub-block is owned by one op and
 * lies below it, depth; dims >= -1, rank; names valid; duplicate attributes or slots; every argument declared in some
 * enclosing block ("@EMPTY@" excepted); nothing to convert. Whether ops are known or read before written is for the translator.
 */
PDM_MUST_USE pdm_status pdm_lg_check(const pdm_lg_program *program, pdm_diag_sink *sink);

#endif
