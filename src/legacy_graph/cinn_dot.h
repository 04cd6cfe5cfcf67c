/* Draw a graph after build_cinn_pass for Graphviz. */
#ifndef PDM_LG_CINN_DOT_H
#define PDM_LG_CINN_DOT_H

#include "base/buf.h"
#include "legacy_graph/cinn_table.h"

/*
 * The main graph, with what is inside of each launch op in a box of its own colour; feeds and fetches
 * of the model have shapes of their own. keys: of the subgraphs in the table, which stand in the graph
 * in that order. Failures are sticky in buf.
 */
PDM_MUST_USE pdm_status pdm_lg_cinn_dot(const pdm_lg_graph *graph, pdm_lg_cinn_table *table,
                                        const int64_t *keys, size_t num_keys, pdm_buf *buf);

#endif
