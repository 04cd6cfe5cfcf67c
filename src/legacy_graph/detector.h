/*
 * Which eligible ops of a legacy graph may be put together into one: clusters.
 *
 * Two eligible ops share a cluster when a variable connects them and no other path leads from one
 * to the other; membership is transitive. Putting each cluster into one node leaves the graph
 * without cycles, and no two clusters that are linked could be put together without making one. A
 * single eligible op is a cluster. Control dependencies count as links.
 *
 * Where there is a choice it depends on the types of ops and the names of variables (the ids only
 * where these are the same), so that it does not matter in which order the graph was made.
 */
#ifndef PDM_LG_DETECTOR_H
#define PDM_LG_DETECTOR_H

#include "legacy_graph/graph.h"

typedef struct pdm_lg_cluster {
    pdm_lg_node **ops; /* in the graph's order */
    size_t num_ops;
} pdm_lg_cluster;

typedef struct pdm_lg_clusters {
    pdm_arena arena;
    pdm_lg_cluster *v; /* from inputs to outputs */
    size_t n;
    uint64_t steps; /* that the search took, for tests: the same on every machine */
} pdm_lg_clusters;

/* eligible: by id of op nodes. out_clusters is the caller's to deinit in any case. A graph with a
 * cycle is PDM_D_LG_CYCLE. */
PDM_MUST_USE pdm_status pdm_lg_detect(const pdm_lg_graph *graph, const bool *eligible,
                                      pdm_diag_sink *sink, pdm_lg_clusters *out_clusters);
void pdm_lg_clusters_deinit(pdm_lg_clusters *clusters);

#endif
