/*
 * Read a ProgramDesc. The bytes are first scanned against the wire format (offsets in the
 * diagnostics, limits, required fields), then decoded by protobuf-c and moved to our structs, where
 * names, texts and enum numbers are checked.
 */
#ifndef PDM_LG_READ_H
#define PDM_LG_READ_H

#include "base/diag.h"
#include "legacy_graph/program.h"

/* Limits of the reader; a file beyond them is refused with PDM_D_LIMIT. */
#define PDM_LG_MAX_FILE        ((uint64_t)2 << 30) /* protobuf's own limit */
#define PDM_LG_MAX_BLOCK_DEPTH 256                 /* blocks around a block */

/* Cheap look at the first bytes: can this be a ProgramDesc? */
bool pdm_lg_looks_like_program(const void *data, size_t size);

/*
 * path is used in diagnostics and copied. The program is checked (pdm_lg_check) before it is
 * returned. Broken bytes end the call at once; problems of content are all reported. Errors:
 * PDM_INVALID_MODEL, PDM_UNSUPPORTED (newer enum numbers only), PDM_NOMEM.
 */
PDM_MUST_USE pdm_status pdm_lg_read(const void *data, size_t size, const char *path,
                                    pdm_diag_sink *sink, pdm_lg_program **out_program);

/*
 * Structural check, all problems reported: there are blocks, their indices are their positions,
 * parents form a tree rooted at 0 within the depth limit, a sub-block belongs to one op and lies
 * below it; dims of inputs and parameters are >= -1, ranks within PDM_MAX_RANK; variables and slots
 * are unique, attributes too unless equal; every argument is declared in an enclosing block
 * ("@EMPTY@" excepted; for gradient blocks also in those of the forward block); block 0 has ops.
 * Whether ops are known, and whether variables are read before they are written, is for the
 * translator.
 */
PDM_MUST_USE pdm_status pdm_lg_check(const pdm_lg_program *program, pdm_diag_sink *sink);

#endif
