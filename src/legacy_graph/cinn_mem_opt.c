#include "legacy_graph/cinn_mem_opt.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "legacy_graph/cinn_pass.h"

/* ---- records --------------------------------------------------------------------------------- */

static void destroy(pdm_lg_mem_opt *records)
{
    if (!records)
        return;
    pdm_lg_names_destroy(records->names);
    PDM_VEC_FREE(&records->counts);
    free(records);
}

pdm_status pdm_lg_mem_opt_create(pdm_lg_mem_opt **out_records)
{
    pdm_lg_mem_opt *records = calloc(1, sizeof *records);

    if (!records)
        return PDM_NOMEM;
    const pdm_status status = pdm_lg_names_create(&records->names);
    if (status != PDM_OK) {
        free(records);
        return status;
    }
    *out_records = records;
    return PDM_OK;
}

pdm_status pdm_lg_mem_opt_add(pdm_lg_mem_opt *records, const char *name, uint32_t count)
{
    if (!PDM_VEC_RESERVE(&records->counts, records->counts.n + 1))
        return PDM_NOMEM;
    PDM_TRY(pdm_lg_names_add(records->names, name));
    if (records->counts.n < records->names->n)
        records->counts.v[records->counts.n++] = count;
    return PDM_OK;
}

uint32_t pdm_lg_mem_opt_count(const pdm_lg_mem_opt *records, const char *name)
{
    if (!records || !pdm_lg_names_has(records->names, name))
        return 0;
    for (size_t i = 0; i < records->names->n; i++) {
        if (!strcmp(records->names->v[i], name))
            return records->counts.v[i];
    }
    return 0;
}

static void destroy_value(void *value)
{
    destroy(value);
}

static pdm_status copy_value(const void *value, void **out_copy)
{
    const pdm_lg_mem_opt *from = value;
    pdm_lg_mem_opt *copy;
    pdm_status status = pdm_lg_mem_opt_create(&copy);

    if (status != PDM_OK)
        return status;
    for (size_t i = 0; i < from->names->n && status == PDM_OK; i++)
        status = pdm_lg_mem_opt_add(copy, from->names->v[i], from->counts.v[i]);
    if (status != PDM_OK) {
        destroy(copy);
        return status;
    }
    *out_copy = copy;
    return PDM_OK;
}

const pdm_lg_value_type pdm_lg_mem_opt_value = {destroy_value, copy_value};

/* ---- those of a main graph ------------------------------------------------------------------- */

/* Names of the graph -> their only node; NULL: they have several. */
static pdm_status only_nodes(const pdm_lg_graph *graph, pdm_map *nodes)
{
    for (size_t i = 0; i < graph->nodes.n; i++) {
        pdm_lg_node *node = graph->nodes.v[i];
        if (!node || node->kind != PDM_LG_NODE_VAR || !node->var)
            continue;
        const bool known = pdm_map_find(nodes, node->name) != NULL;
        pdm_map_entry *entry = pdm_map_put(nodes, node->name);
        if (!entry)
            return PDM_NOMEM;
        entry->value.ptr = known ? NULL : node;
    }
    return PDM_OK;
}

/* The ops that a variable waits for: those that read it, or the one that makes it if none does. */
static const pdm_lg_nodes *waits_for(const pdm_lg_node *node)
{
    return node->outputs.n > 0 ? &node->outputs : &node->inputs;
}

static bool may_be_freed(const pdm_lg_node *node, const pdm_lg_names *kept)
{
    return node->var->kind == PDM_LG_DENSE_TENSOR && !node->var->persistable && !node->outer &&
           !pdm_lg_names_has(kept, node->name) && waits_for(node)->n > 0;
}

static pdm_status fill(const pdm_lg_graph *graph, pdm_lg_mem_opt *records)
{
    const pdm_lg_names *kept = pdm_lg_graph_get(graph, PDM_LG_SKIP_GC_VARS);
    pdm_map nodes = {0};
    pdm_status status = only_nodes(graph, &nodes);

    for (size_t i = 0; i < graph->nodes.n && status == PDM_OK; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        const pdm_map_entry *entry = node ? pdm_map_find(&nodes, node->name) : NULL;
        if (entry && entry->value.ptr == node && may_be_freed(node, kept))
            status = pdm_lg_mem_opt_add(records, node->name, (uint32_t)waits_for(node)->n);
    }
    pdm_map_deinit(&nodes);
    return status;
}

pdm_status pdm_lg_mem_opt_find(pdm_lg_graph *graph)
{
    pdm_lg_mem_opt *records;

    PDM_TRY(pdm_lg_mem_opt_create(&records));
    const pdm_status status = fill(graph, records);
    if (status == PDM_OK)
        return pdm_lg_graph_set(graph, PDM_LG_MEM_OPT_VARS, records, &pdm_lg_mem_opt_value);
    destroy(records);
    return status;
}

/* ---- those of subgraphs ---------------------------------------------------------------------- */

typedef struct mover {
    pdm_lg_graph *graph;
    pdm_lg_cinn_table *table;
    pdm_diag_sink *sink;
    pdm_lg_mem_opt *left; /* what stays with the main graph */
    pdm_map moved;        /* names of the main graph that went */
} mover;

/* Variables of one side of a launch that wait for it alone. */
static pdm_status take(mover *m, const pdm_lg_node *launch, const pdm_lg_nodes *vars, pdm_lg_mem_opt *to)
{
    const pdm_lg_mem_opt *from = pdm_lg_graph_get(m->graph, PDM_LG_MEM_OPT_VARS);

    for (size_t i = 0; i < vars->n; i++) {
        const pdm_lg_node *var = vars->v[i];
        const pdm_lg_nodes *ops = waits_for(var);
        if (!var->var || ops->n != 1 || ops->v[0] != launch || !pdm_lg_names_has(from->names, var->name))
            continue;
        PDM_TRY(pdm_lg_mem_opt_add(to, var->name, 1));
        if (!pdm_map_put(&m->moved, var->name))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

static void set_key(const pdm_lg_node *launch, int64_t key)
{
    /* The graph's own copy. */
    pdm_lg_attr *attr = (pdm_lg_attr *)(uintptr_t)pdm_lg_find_attr(launch->op, PDM_LG_CINN_KEY);

    attr->u.l = key;
}

/* The records are taken. */
static pdm_status give(mover *m, const pdm_lg_node *launch, pdm_lg_mem_opt *take_records, int64_t *key)
{
    const pdm_lg_graph *old;
    pdm_lg_graph *made;
    int64_t new_key;
    pdm_status status = pdm_lg_cinn_table_get(m->table, *key, m->sink, &old);

    if (status == PDM_OK)
        status = pdm_lg_graph_clone(old, &made);
    if (status != PDM_OK) {
        destroy(take_records);
        return status;
    }
    status = pdm_lg_graph_set(made, PDM_LG_CINN_MEM_OPT, take_records, &pdm_lg_mem_opt_value);
    if (status != PDM_OK) {
        pdm_lg_graph_destroy(made);
        return status;
    }
    PDM_TRY(pdm_lg_cinn_table_add(m->table, made, m->sink, &new_key));
    pdm_lg_cinn_table_release(m->table, *key);
    *key = new_key;
    set_key(launch, new_key);
    return PDM_OK;
}

static pdm_status move_one(mover *m, const pdm_lg_node *launch, int64_t *key)
{
    pdm_lg_mem_opt *records;

    PDM_TRY(pdm_lg_mem_opt_create(&records));
    pdm_status status = take(m, launch, &launch->inputs, records);
    if (status == PDM_OK)
        status = take(m, launch, &launch->outputs, records);
    if (status == PDM_OK && records->names->n > 0)
        return give(m, launch, records, key);
    destroy(records);
    return status;
}

static pdm_status keep_rest(mover *m)
{
    const pdm_lg_mem_opt *from = pdm_lg_graph_get(m->graph, PDM_LG_MEM_OPT_VARS);
    const pdm_intern *strings = &m->graph->strings;

    for (size_t i = 0; i < from->names->n; i++) {
        const char *name = from->names->v[i];
        if (!pdm_map_find(&m->moved, pdm_intern_find(strings, name, strlen(name))))
            PDM_TRY(pdm_lg_mem_opt_add(m->left, name, from->counts.v[i]));
    }
    return PDM_OK;
}

static pdm_status move_all(mover *m, int64_t *keys, size_t num_keys)
{
    size_t left = num_keys;

    /* The pass adds its launch ops last, in the order of the keys. */
    for (size_t i = m->graph->nodes.n; i-- > 0 && left > 0;) {
        const pdm_lg_node *node = m->graph->nodes.v[i];
        if (node && node->kind == PDM_LG_NODE_OP && !strcmp(node->name, PDM_LG_CINN_LAUNCH))
            PDM_TRY(move_one(m, node, &keys[--left]));
    }
    return keep_rest(m);
}

pdm_status pdm_lg_cinn_share_mem_opt(pdm_lg_graph *graph, pdm_lg_cinn_table *table, pdm_diag_sink *sink, int64_t *keys,
                                     size_t num_keys)
{
    mover m = {.graph = graph, .table = table, .sink = sink};

    if (!pdm_lg_graph_has(graph, PDM_LG_MEM_OPT_VARS))
        return PDM_OK;
    PDM_TRY(pdm_lg_mem_opt_create(&m.left));
    const pdm_status status = move_all(&m, keys, num_keys);
    pdm_map_deinit(&m.moved);
    if (status == PDM_OK)
        return pdm_lg_graph_set(graph, PDM_LG_MEM_OPT_VARS, m.left, &pdm_lg_mem_opt_value);
    destroy(m.left);
    return status;
}
