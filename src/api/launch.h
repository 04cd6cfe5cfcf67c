/*
 * Runs the subgraphs of cinn_launch ops: translated to PIR, run by the executor. A subgraph is
 * compiled once for each structure and set of input types, whatever its variables are called, as long
 * as there are no more than PDM_API_MOST_COMPILED: then all are forgotten. One thread at a time.
 */
#ifndef PDM_API_LAUNCH_H
#define PDM_API_LAUNCH_H

#include "api/api.h"
#include "exec/executor.h"
#include "exec/legacy_interp.h"

enum { PDM_API_MOST_COMPILED = 1024 };

typedef struct pdm_api_launcher pdm_api_launcher;

/*
 * options: those of the run, whose pool, seed and callbacks the subgraphs share. compile: the backend that compiles groups
 * of ops, whose semantics are those of 3.x then; NULL: op by op, with the semantics of 2.6 as around the launches.
 */
PDM_MUST_USE pdm_status pdm_api_launcher_create(pdm_context *context,
                                                const pdm_legacy_options *options,
                                                const char *compile,
                                                pdm_api_launcher **out_launcher);
void pdm_api_launcher_destroy(pdm_api_launcher *launcher); /* NULL is allowed */
/* The launch callback of the legacy interpreter; launch_user is the launcher. */
PDM_MUST_USE pdm_status pdm_api_launch(void *launch_user, const pdm_legacy_launch *launch,
                                       pdm_diag_sink *sink);

/* Launches and compilations so far. */
typedef struct pdm_api_launch_stats {
    size_t launches, compiled;
    pdm_exec_compile_stats groups; /* of ops, by the backend */
} pdm_api_launch_stats;

pdm_api_launch_stats pdm_api_launcher_stats(const pdm_api_launcher *launcher);

#endif
