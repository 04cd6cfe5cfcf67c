/* What the files of build_cinn_pass share: eligible ops, the sets of a cluster, its subgraph. */
#ifndef PDM_LG_CINN_IMPL_H
#define PDM_LG_CINN_IMPL_H

#include "legacy_graph/cinn_pass.h"
#include "legacy_graph/detector.h"
#include "legacy_graph/names.h"

/* *out_eligible: by node id, malloc'ed. */
PDM_MUST_USE pdm_status pdm_lg_cinn_eligible(const pdm_lg_graph *graph,
                                             const pdm_lg_cinn_options *options,
                                             pdm_diag_sink *sink, bool **out_eligible);

/* Variables of a cluster, by ascending id: disjoint sets. */
typedef struct pdm_lg_cinn_sets {
    pdm_lg_nodes ins, outs, internals;
    pdm_lg_names *denied; /* names that are in none of them */
} pdm_lg_cinn_sets;

/* Marks by node id, for work on one cluster after another; zeroed at first. */
typedef struct pdm_lg_cinn_marks {
    uint32_t *member;   /* number of the cluster that an op is in; 0: none */
    uint32_t *in, *out; /* variables that a cluster reads, writes */
} pdm_lg_cinn_marks;

/* number: of the cluster, from 1, each once. sets is the caller's to deinit in any case. */
PDM_MUST_USE pdm_status pdm_lg_cinn_sets_of(const pdm_lg_graph *graph,
                                            const pdm_lg_cluster *cluster, uint32_t number,
                                            const pdm_lg_cinn_options *options,
                                            const pdm_lg_cinn_marks *marks,
                                            pdm_lg_cinn_sets *sets);
void pdm_lg_cinn_sets_deinit(pdm_lg_cinn_sets *sets);

/* Take eligibility from ops of the cluster that give a name two values at its border. */
PDM_MUST_USE pdm_status pdm_lg_cinn_split(const pdm_lg_cluster *cluster, uint32_t number,
                                          const pdm_lg_cinn_sets *sets,
                                          const pdm_lg_cinn_marks *marks, bool *eligible,
                                          bool *out_changed);

/* A slot of an op that subgraphs do not have. */
bool pdm_lg_cinn_denied_slot(const char *op_type, const char *slot);

/* The subgraph with all its attributes. */
PDM_MUST_USE pdm_status pdm_lg_cinn_subgraph(const pdm_lg_graph *graph,
                                             const pdm_lg_cluster *cluster, uint32_t number,
                                             const pdm_lg_cinn_options *options,
                                             const pdm_lg_cinn_sets *sets,
                                             const pdm_lg_cinn_marks *marks,
                                             pdm_lg_graph **out_subgraph);

#endif
