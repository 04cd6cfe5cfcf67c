/*
 * Memory-optimisation records: for how many ops of the main graph a variable must wait before it may be freed. Variables
 * that are kept (skip_gc_vars), persistable ones, and names that several nodes have are without one.
 *
 * A pass after build_cinn_pass moves the record of a variable that waits for a launch alone to the launch's subgraph: then
 * it is not the main graph's executor that frees it, but the launch, as soon as nothing inside needs it.
 */
#ifndef PDM_LG_CINN_MEM_OPT_H
#define PDM_LG_CINN_MEM_OPT_H

#include "legacy_graph/cinn_table.h"
#include "legacy_graph/names.h"

/* Attribute of the main graph; that of subgraphs is PDM_LG_CINN_MEM_OPT. */
#define PDM_LG_MEM_OPT_VARS "mem_opt_var_infos"

typedef struct pdm_lg_mem_opt {
    pdm_lg_names *names;
    struct {
        uint32_t *v; /* by name */
        size_t n, cap;
    } counts;
} pdm_lg_mem_opt;

PDM_MUST_USE pdm_status pdm_lg_mem_opt_create(pdm_lg_mem_opt **out_records);
/* A name that is there already keeps its record. */
PDM_MUST_USE pdm_status pdm_lg_mem_opt_add(pdm_lg_mem_opt *records, const char *name, uint32_t count);
/* 0: no record. records may be NULL. */
uint32_t pdm_lg_mem_opt_count(const pdm_lg_mem_opt *records, const char *name);
extern const pdm_lg_value_type pdm_lg_mem_opt_value;

/* Set the records of a main graph. */
PDM_MUST_USE pdm_status pdm_lg_mem_opt_find(pdm_lg_graph *graph);

/*
 * Move records of a main graph that has them to the subgraphs of its launches. keys: as build_cinn_pass gave them; a
 * subgraph that gets records is another one in the table, whose key stands in its launch op and in keys instead. When the
 * call fails, all keys that are there can still be used.
 */
PDM_MUST_USE pdm_status pdm_lg_cinn_share_mem_opt(pdm_lg_graph *graph, pdm_lg_cinn_table *table, pdm_diag_sink *sink,
                                                  int64_t *keys, size_t num_keys);

#endif
