/*
 * Deep copies of descriptions of ops and variables into another arena. Names are interned in the
 * copier's table; rename, if given, says what a variable is called there.
 */
#ifndef PDM_LG_COPY_H
#define PDM_LG_COPY_H

#include "base/status.h"
#include "legacy_graph/program.h"

typedef struct pdm_lg_copier {
    pdm_arena *arena;
    pdm_intern *strings;
    const char *(*rename)(void *user, const char *name); /* NULL: as they are; NULL result: no memory */
    void *user;
} pdm_lg_copier;

PDM_MUST_USE pdm_status pdm_lg_copy_op(const pdm_lg_copier *copier, const pdm_lg_op *from,
                                       pdm_lg_op *to);
PDM_MUST_USE pdm_status pdm_lg_copy_var(const pdm_lg_copier *copier, const pdm_lg_var *from,
                                        pdm_lg_var *to);
/* version, op versions. */
PDM_MUST_USE pdm_status pdm_lg_copy_versions(const pdm_lg_copier *copier,
                                             const pdm_lg_program *from, pdm_lg_program *to);

#endif
