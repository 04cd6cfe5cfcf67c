/*
 * A subgraph of build_cinn_pass as a program of its own, with feed and fetch ops as models have them
 * (columns, holder variables).
 */
#ifndef PDM_LG_CINN_EXTRACT_H
#define PDM_LG_CINN_EXTRACT_H

#include "base/tensor.h"
#include "legacy_graph/graph.h"

typedef struct pdm_lg_extract_options {
    /* Parameters are inputs, as in the subgraph; else they are parameters again. */
    bool feed_params;
    /* Variables are named by their position, from "v0": then programs of one structure are equal. */
    bool by_position;
    /* Element type and shape of an input, by name and position; NULL: as declared. */
    const pdm_tensor *(*type_of)(void *user, const char *name, size_t position);
    void *user;
} pdm_lg_extract_options;

/* options may be NULL. Inputs and outputs are in the order of the subgraph's feeds and fetches. */
PDM_MUST_USE pdm_status pdm_lg_cinn_extract(const pdm_lg_graph *subgraph,
                                            const pdm_lg_extract_options *options,
                                            pdm_diag_sink *sink, pdm_lg_program **out_program);

#endif
