/* The pass: clusters, their subgraphs in the compiler table, and launch ops in their place. */
#include "legacy_graph/cinn_pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "legacy_graph/cinn_impl.h"

typedef struct pass {
    pdm_lg_graph *graph;
    const pdm_lg_cinn_options *options;
    pdm_lg_cinn_table *table;
    pdm_diag_sink *sink;
    pdm_lg_clusters clusters;
    pdm_lg_cinn_sets *sets; /* by cluster */
    pdm_lg_cinn_marks marks;
    int64_t *keys;
    size_t num_keys;
} pass;

/* ---- clusters -------------------------------------------------------------------------------- */

static void drop_clusters(pass *p)
{
    for (size_t i = 0; p->sets && i < p->clusters.n; i++)
        pdm_lg_cinn_sets_deinit(&p->sets[i]);
    free(p->sets);
    free(p->marks.member);
    free(p->marks.in);
    free(p->marks.out);
    p->sets = NULL;
    p->marks = (pdm_lg_cinn_marks){0};
    pdm_lg_clusters_deinit(&p->clusters);
}

/* Clusters and their sets; *out_changed: some ops lost their eligibility, so that it is to be done
 * again. */
static pdm_status find_clusters(pass *p, bool *eligible, bool *out_changed)
{
    const size_t n = p->graph->nodes.n;

    *out_changed = false;
    PDM_TRY(pdm_lg_detect(p->graph, eligible, p->sink, &p->clusters));
    p->sets = calloc(p->clusters.n + 1, sizeof *p->sets);
    p->marks.member = calloc(n + 1, sizeof *p->marks.member);
    p->marks.in = calloc(n + 1, sizeof *p->marks.in);
    p->marks.out = calloc(n + 1, sizeof *p->marks.out);
    if (!p->sets || !p->marks.member || !p->marks.in || !p->marks.out)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < p->clusters.n; i++) {
        bool changed;
        PDM_TRY(pdm_lg_cinn_sets_of(p->graph, &p->clusters.v[i], i + 1, p->options, &p->marks,
                                    &p->sets[i]));
        PDM_TRY(pdm_lg_cinn_split(&p->clusters.v[i], i + 1, &p->sets[i], &p->marks, eligible,
                                  &changed));
        *out_changed |= changed;
    }
    return PDM_OK;
}

static pdm_status settle(pass *p)
{
    bool *eligible, changed = true;
    pdm_status status;

    PDM_TRY(pdm_lg_cinn_eligible(p->graph, p->options, p->sink, &eligible));
    status = PDM_OK;
    while (changed && status == PDM_OK) {
        drop_clusters(p);
        status = find_clusters(p, eligible, &changed);
    }
    free(eligible);
    return status;
}

/* ---- launch ops ------------------------------------------------------------------------------ */

/* The common op_role of the members that have one. */
static int32_t role_of(const pdm_lg_cluster *cluster)
{
    int32_t role = PDM_LG_ROLE_NOT_SPECIFIED;
    bool known = false;

    for (size_t i = 0; i < cluster->num_ops; i++) {
        const pdm_lg_op *op = cluster->ops[i]->op;
        const pdm_lg_attr *attr = op ? pdm_lg_find_attr(op, PDM_LG_OP_ROLE) : NULL;
        if (!attr || attr->type != PDM_LG_INT)
            continue;
        if (known && attr->u.i != role)
            return PDM_LG_ROLE_NOT_SPECIFIED;
        known = true;
        role = attr->u.i;
    }
    return role;
}

static pdm_lg_slot slot_of(const pdm_lg_graph *subgraph, const char *attr, const char *name)
{
    const pdm_lg_names *names = pdm_lg_graph_get(subgraph, attr);

    return (pdm_lg_slot){name, names->v, names->n};
}

static pdm_status add_launch(pass *p, const pdm_lg_graph *subgraph, size_t index,
                             pdm_lg_node **out_node)
{
    const pdm_lg_slot inputs[] = {
        slot_of(subgraph, PDM_LG_CINN_NO_NEED_BUFFER, PDM_LG_CINN_NO_NEED_X),
        slot_of(subgraph, PDM_LG_CINN_INPUT_VARS, PDM_LG_CINN_X)};
    const pdm_lg_slot output = slot_of(subgraph, PDM_LG_CINN_OUTPUT_VARS, PDM_LG_CINN_OUT);
    const pdm_lg_attr attrs[] = {
        {.name = PDM_LG_CINN_KEY, .type = PDM_LG_LONG, .u.l = p->keys[index]},
        {.name = PDM_LG_OP_ROLE, .type = PDM_LG_INT, .u.i = role_of(&p->clusters.v[index])}};
    const pdm_lg_op op = {.type = PDM_LG_CINN_LAUNCH,
                          .inputs = inputs,
                          .num_inputs = 2,
                          .outputs = &output,
                          .num_outputs = 1,
                          .attrs = attrs,
                          .num_attrs = 2};

    return pdm_lg_graph_add_op(p->graph, &op, out_node);
}

/* Link the launch op of a cluster, and note what it stands for. */
static pdm_status replace(pass *p, size_t index, pdm_lg_nodes *gone)
{
    const pdm_lg_cluster *cluster = &p->clusters.v[index];
    const pdm_lg_cinn_sets *sets = &p->sets[index];
    const pdm_lg_graph *subgraph;
    pdm_lg_node *launch;

    PDM_TRY(pdm_lg_cinn_table_get(p->table, p->keys[index], p->sink, &subgraph));
    PDM_TRY(add_launch(p, subgraph, index, &launch));
    for (size_t i = 0; i < sets->ins.n; i++)
        PDM_TRY(pdm_lg_link(sets->ins.v[i], launch));
    for (size_t i = 0; i < sets->outs.n; i++)
        PDM_TRY(pdm_lg_link(launch, sets->outs.v[i]));
    if (!PDM_VEC_RESERVE(gone, gone->n + cluster->num_ops + sets->internals.n))
        return PDM_NOMEM;
    for (size_t i = 0; i < cluster->num_ops; i++)
        gone->v[gone->n++] = cluster->ops[i];
    for (size_t i = 0; i < sets->internals.n; i++)
        gone->v[gone->n++] = sets->internals.v[i];
    return PDM_OK;
}

static pdm_status replace_all(pass *p)
{
    pdm_lg_nodes gone = {0};
    pdm_status status = PDM_OK;

    for (size_t i = 0; i < p->clusters.n && status == PDM_OK; i++)
        status = replace(p, i, &gone);
    if (status == PDM_OK && gone.n > 0)
        status = pdm_lg_graph_remove(p->graph, gone.v, gone.n);
    PDM_VEC_FREE(&gone);
    return status;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static pdm_status register_all(pass *p)
{
    p->keys = calloc(p->clusters.n + 1, sizeof *p->keys);
    if (!p->keys)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < p->clusters.n; i++) {
        pdm_lg_graph *subgraph;
        PDM_TRY(pdm_lg_cinn_subgraph(p->graph, &p->clusters.v[i], i + 1, p->options, &p->sets[i],
                                     &p->marks, &subgraph));
        PDM_TRY(pdm_lg_cinn_table_add(p->table, subgraph, p->sink, &p->keys[i]));
        p->num_keys++;
    }
    return PDM_OK;
}

static pdm_status run(pass *p)
{
    PDM_TRY(settle(p));
    PDM_TRY(register_all(p));
    return replace_all(p);
}

pdm_status pdm_lg_build_cinn(pdm_lg_graph *graph, const pdm_lg_cinn_options *options,
                             pdm_diag_sink *sink, int64_t **out_keys, size_t *out_count)
{
    static const pdm_lg_cinn_options defaults = {.allow = NULL};
    pass p = {.graph = graph, .options = options ? options : &defaults, .sink = sink};

    p.table = p.options->table ? p.options->table : pdm_lg_cinn_table_shared();
    const pdm_status status = run(&p);
    drop_clusters(&p);
    if (status != PDM_OK) {
        for (size_t i = 0; i < p.num_keys; i++)
            pdm_lg_cinn_table_release(p.table, p.keys[i]);
        free(p.keys);
        return status;
    }
    *out_keys = p.keys;
    *out_count = p.num_keys;
    return PDM_OK;
}
