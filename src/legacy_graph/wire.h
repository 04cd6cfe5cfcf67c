/*
 * Scan of the protobuf wire format of a ProgramDesc, before anything is decoded: a decoder that
 * fails says neither where nor why, and trusts lengths. After a good scan every length lies inside
 * its message, every varint ends, every known field has its wire type, every required field is
 * there. Allocates nothing; recursion is as deep as the fixed nesting of message types.
 */
#ifndef PDM_LG_WIRE_H
#define PDM_LG_WIRE_H

#include "base/diag.h"

/* Repetitions of a message field that should occur once; they are merged at a cost that grows with
 * each. */
#define PDM_LG_MAX_REPEATED_SINGLE 8

/* The first error is reported with its offset: PDM_INVALID_MODEL. */
PDM_MUST_USE pdm_status pdm_lg_wire_scan(const uint8_t *data, size_t size, const char *path,
                                         pdm_diag_sink *sink);

/* True when the first tags, followed downward, are those of a ProgramDesc. Lengths may go past the
 * end. */
bool pdm_lg_wire_plausible(const uint8_t *data, size_t size);

#endif
