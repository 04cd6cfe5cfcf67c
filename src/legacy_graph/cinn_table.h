/*
 * The table of subgraphs that cinn_launch ops name by their compilation key.
 *
 * A key is a hash of the subgraph's content (its program and attributes), so it is the same in every
 * run and on every machine. A subgraph that is added again with the same content is shared and
 * counted. Any number of threads may use a table at a time; the graphs in it are not changed.
 */
#ifndef PDM_LG_CINN_TABLE_H
#define PDM_LG_CINN_TABLE_H

#include "legacy_graph/graph.h"

typedef struct pdm_lg_cinn_table pdm_lg_cinn_table;

PDM_MUST_USE pdm_status pdm_lg_cinn_table_create(pdm_lg_cinn_table **out_table);
void pdm_lg_cinn_table_destroy(pdm_lg_cinn_table *table); /* NULL is allowed */
/* The one of the process; it is there from the start and never destroyed. */
pdm_lg_cinn_table *pdm_lg_cinn_table_shared(void);

/* The key that a subgraph has by its content; never 0. */
PDM_MUST_USE pdm_status pdm_lg_cinn_key(const pdm_lg_graph *subgraph, pdm_diag_sink *sink,
                                        int64_t *out_key);
/*
 * Add a subgraph, which is the table's from here on (also when the call fails; a graph object that
 * is in the table already stays there). One of the same content may take its place: ask for it with
 * pdm_lg_cinn_table_get. Errors (PDM_D_LG_LAUNCH): the graph object is in the table already; another
 * content has the same key.
 */
PDM_MUST_USE pdm_status pdm_lg_cinn_table_add(pdm_lg_cinn_table *table, pdm_lg_graph *subgraph,
                                              pdm_diag_sink *sink, int64_t *out_key);
/* The same under a key of the caller's choice. */
PDM_MUST_USE pdm_status pdm_lg_cinn_table_add_as(pdm_lg_cinn_table *table, int64_t key,
                                                 pdm_lg_graph *subgraph, pdm_diag_sink *sink);
/* Valid while somebody holds the key. An unknown key is PDM_D_LG_LAUNCH. */
PDM_MUST_USE pdm_status pdm_lg_cinn_table_get(pdm_lg_cinn_table *table, int64_t key,
                                              pdm_diag_sink *sink, const pdm_lg_graph **out_graph);
/* Hold a key once more, and let it go: the last one to do so ends the subgraph. */
PDM_MUST_USE pdm_status pdm_lg_cinn_table_hold(pdm_lg_cinn_table *table, int64_t key,
                                               pdm_diag_sink *sink);
void pdm_lg_cinn_table_release(pdm_lg_cinn_table *table, int64_t key);
size_t pdm_lg_cinn_table_holders(pdm_lg_cinn_table *table, int64_t key); /* 0: unknown */
size_t pdm_lg_cinn_table_size(pdm_lg_cinn_table *table);

#endif
