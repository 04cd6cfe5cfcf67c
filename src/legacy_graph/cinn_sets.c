/* What goes into a cluster, what leaves it, and what stays inside. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "legacy_graph/cinn_impl.h"

/* ---- denied names ---------------------------------------------------------------------------- */

static pdm_status deny_slots(const pdm_lg_op *op, const pdm_lg_slot *slots, size_t n,
                             pdm_lg_names *denied)
{
    for (size_t i = 0; i < n; i++) {
        if (!pdm_lg_cinn_denied_slot(op->type, slots[i].name))
            continue;
        for (size_t k = 0; k < slots[i].num_args; k++)
            PDM_TRY(pdm_lg_names_add(denied, slots[i].args[k]));
    }
    return PDM_OK;
}

static pdm_status denied_names(const pdm_lg_cluster *cluster, pdm_lg_names **out)
{
    PDM_TRY(pdm_lg_names_create(out));
    for (size_t i = 0; i < cluster->num_ops; i++) {
        const pdm_lg_op *op = cluster->ops[i]->op;
        if (!op)
            continue;
        PDM_TRY(deny_slots(op, op->inputs, op->num_inputs, *out));
        PDM_TRY(deny_slots(op, op->outputs, op->num_outputs, *out));
    }
    return PDM_OK;
}

/* ---- sets ------------------------------------------------------------------------------------ */

typedef struct sorter {
    const pdm_lg_cluster *cluster;
    uint32_t number;
    const pdm_lg_cinn_options *options;
    const pdm_lg_cinn_marks *marks;
    const pdm_lg_names *skip_gc;
    pdm_lg_cinn_sets *sets;
} sorter;

static pdm_status gather(const sorter *s, const pdm_lg_nodes *vars, uint32_t *mark,
                         pdm_lg_nodes *to)
{
    for (size_t i = 0; i < vars->n; i++) {
        pdm_lg_node *var = vars->v[i];
        if (mark[var->id] == s->number || pdm_lg_names_has(s->sets->denied, var->name))
            continue;
        mark[var->id] = s->number;
        if (!PDM_VEC_PUSH(to, var))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

static bool all_inside(const sorter *s, const pdm_lg_nodes *ops)
{
    for (size_t i = 0; i < ops->n; i++) {
        if (s->marks->member[ops->v[i]->id] != s->number)
            return false;
    }
    return true;
}

static bool is_internal(const sorter *s, const pdm_lg_node *var)
{
    const bool unread = var->outputs.n == 0;

    if (pdm_lg_names_has(s->skip_gc, var->name) || (var->var && var->var->persistable))
        return false;
    return unread ? s->options->inference_stage : all_inside(s, &var->outputs);
}

static int by_id(const void *a, const void *b)
{
    const pdm_lg_node *x = *(pdm_lg_node *const *)a, *y = *(pdm_lg_node *const *)b;

    return (x->id > y->id) - (x->id < y->id);
}

static void sort(pdm_lg_nodes *nodes)
{
    if (nodes->n > 1)
        qsort(nodes->v, nodes->n, sizeof *nodes->v, by_id);
}

static pdm_status fill(const sorter *s)
{
    pdm_lg_cinn_sets *sets = s->sets;
    size_t n = 0;

    for (size_t i = 0; i < s->cluster->num_ops; i++)
        s->marks->member[s->cluster->ops[i]->id] = s->number;
    for (size_t i = 0; i < s->cluster->num_ops; i++) {
        PDM_TRY(gather(s, &s->cluster->ops[i]->inputs, s->marks->in, &sets->ins));
        PDM_TRY(gather(s, &s->cluster->ops[i]->outputs, s->marks->out, &sets->outs));
    }
    for (size_t i = 0; i < sets->ins.n; i++) {
        if (s->marks->out[sets->ins.v[i]->id] != s->number)
            sets->ins.v[n++] = sets->ins.v[i];
    }
    sets->ins.n = n;
    n = 0;
    for (size_t i = 0; i < sets->outs.n; i++) {
        pdm_lg_node *var = sets->outs.v[i];
        if (!is_internal(s, var))
            sets->outs.v[n++] = var;
        else if (!PDM_VEC_PUSH(&sets->internals, var))
            return PDM_NOMEM;
    }
    sets->outs.n = n;
    sort(&sets->ins);
    sort(&sets->outs);
    sort(&sets->internals);
    return PDM_OK;
}

pdm_status pdm_lg_cinn_sets_of(const pdm_lg_graph *graph, const pdm_lg_cluster *cluster,
                               uint32_t number, const pdm_lg_cinn_options *options,
                               const pdm_lg_cinn_marks *marks, pdm_lg_cinn_sets *sets)
{
    const sorter s = {cluster, number,
                      options, marks,
                      pdm_lg_graph_get(graph, PDM_LG_SKIP_GC_VARS), sets};

    *sets = (pdm_lg_cinn_sets){.denied = NULL};
    PDM_TRY(denied_names(cluster, &sets->denied));
    return fill(&s);
}

void pdm_lg_cinn_sets_deinit(pdm_lg_cinn_sets *sets)
{
    PDM_VEC_FREE(&sets->ins);
    PDM_VEC_FREE(&sets->outs);
    PDM_VEC_FREE(&sets->internals);
    pdm_lg_names_destroy(sets->denied);
    sets->denied = NULL;
}

/* ---- one value of a name --------------------------------------------------------------------- */

/* The writer of a variable whose name has a value that leaves the cluster already. */
static pdm_status split_outputs(const pdm_lg_cluster *cluster, const pdm_map *leaving,
                                bool *eligible, bool *out_changed)
{
    pdm_map passed = {0};
    pdm_status status = PDM_OK;

    for (size_t i = 0; i < cluster->num_ops && status == PDM_OK; i++) {
        const pdm_lg_node *op = cluster->ops[i];
        for (size_t k = 0; k < op->outputs.n && status == PDM_OK; k++) {
            const pdm_lg_node *var = op->outputs.v[k];
            if (!var->var)
                continue;
            if (pdm_map_find(&passed, var->name)) {
                *out_changed |= eligible[op->id];
                eligible[op->id] = false;
            } else if (pdm_map_find(leaving, var) && !pdm_map_put(&passed, var->name)) {
                status = PDM_NOMEM;
            }
        }
    }
    pdm_map_deinit(&passed);
    return status;
}

/* The readers of a value whose name another value brings in already. */
static pdm_status split_inputs(const pdm_lg_cinn_sets *sets, uint32_t number,
                               const pdm_lg_cinn_marks *marks, bool *eligible, bool *out_changed)
{
    pdm_map known = {0};

    for (size_t i = 0; i < sets->ins.n; i++) {
        const pdm_lg_node *var = sets->ins.v[i];
        pdm_map_entry *entry = var->var ? pdm_map_put(&known, var->name) : NULL;
        if (var->var && !entry) {
            pdm_map_deinit(&known);
            return PDM_NOMEM;
        }
        if (!entry || entry->value.num++ == 0)
            continue;
        for (size_t k = 0; k < var->outputs.n; k++) {
            const uint32_t id = var->outputs.v[k]->id;
            if (marks->member[id] != number)
                continue;
            *out_changed |= eligible[id];
            eligible[id] = false;
        }
    }
    pdm_map_deinit(&known);
    return PDM_OK;
}

pdm_status pdm_lg_cinn_split(const pdm_lg_cluster *cluster, uint32_t number,
                             const pdm_lg_cinn_sets *sets, const pdm_lg_cinn_marks *marks,
                             bool *eligible, bool *out_changed)
{
    pdm_map leaving = {0};
    pdm_status status = PDM_OK;

    *out_changed = false;
    for (size_t i = 0; i < sets->outs.n && status == PDM_OK; i++) {
        if (!pdm_map_put(&leaving, sets->outs.v[i]))
            status = PDM_NOMEM;
    }
    if (status == PDM_OK)
        status = split_outputs(cluster, &leaving, eligible, out_changed);
    pdm_map_deinit(&leaving);
    return status == PDM_OK ? split_inputs(sets, number, marks, eligible, out_changed) : status;
}
