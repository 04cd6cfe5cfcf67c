/* The subgraph of a cluster: copies of its ops and variables, a feed for each input, a fetch for each
 * output, and its attributes. */
#include <stdlib.h>
#include <string.h>

#include "legacy_graph/cinn_impl.h"
#include "legacy_graph/cinn_mem_opt.h"

typedef struct maker {
    const pdm_lg_cluster *cluster;
    uint32_t number;
    const pdm_lg_cinn_options *options;
    const pdm_lg_cinn_sets *sets;
    const pdm_lg_cinn_marks *marks;
    pdm_lg_graph *to;
    pdm_map copies; /* variable of the main graph -> its copy */
} maker;

/* ---- feeds and fetches ----------------------------------------------------------------------- */

static pdm_status add_port(maker *m, bool feed, const char *var, int32_t column,
                           pdm_lg_node **out_node)
{
    const char *args[] = {var};
    const pdm_lg_slot slot = {feed ? "Out" : "X", args, 1};
    const pdm_lg_attr col = {.name = "col", .type = PDM_LG_INT, .u.i = column};
    const pdm_lg_op op = {.type = feed ? "feed" : "fetch",
                          .inputs = &slot,
                          .num_inputs = feed ? 0 : 1,
                          .outputs = &slot,
                          .num_outputs = feed ? 1 : 0,
                          .attrs = &col,
                          .num_attrs = 1};

    return pdm_lg_graph_add_op(m->to, &op, out_node);
}

static pdm_status copy_var(maker *m, const pdm_lg_node *var, pdm_lg_node **out_copy)
{
    pdm_map_entry *entry = pdm_map_put(&m->copies, var);

    if (!entry)
        return PDM_NOMEM;
    if (!entry->value.ptr) {
        PDM_TRY(pdm_lg_graph_add_var(m->to, var->var, out_copy));
        entry->value.ptr = *out_copy;
    }
    *out_copy = entry->value.ptr;
    return PDM_OK;
}

/* Feeds come before the ops, fetches after them: then the order of ids is an order of execution. */
static pdm_status add_inputs(maker *m)
{
    int32_t column = 0;

    for (size_t i = 0; i < m->sets->ins.n; i++) {
        const pdm_lg_node *var = m->sets->ins.v[i];
        pdm_lg_node *feed, *copy;
        if (!var->var)
            continue;
        PDM_TRY(add_port(m, true, var->name, column++, &feed));
        PDM_TRY(copy_var(m, var, &copy));
        PDM_TRY(pdm_lg_link(feed, copy));
    }
    return PDM_OK;
}

static pdm_status add_fetches(maker *m)
{
    int32_t column = 0;

    for (size_t i = 0; i < m->sets->outs.n; i++) {
        const pdm_lg_node *var = m->sets->outs.v[i];
        pdm_lg_node *fetch, *copy;
        if (!var->var)
            continue;
        PDM_TRY(copy_var(m, var, &copy));
        PDM_TRY(add_port(m, false, var->name, column++, &fetch));
        PDM_TRY(pdm_lg_link(copy, fetch));
    }
    return PDM_OK;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static size_t keep_slots(const pdm_lg_op *op, const pdm_lg_slot *from, size_t n, pdm_lg_slot *to)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (!pdm_lg_cinn_denied_slot(op->type, from[i].name))
            to[kept++] = from[i];
    }
    return kept;
}

static pdm_status copy_op(maker *m, const pdm_lg_node *op, pdm_lg_node **out_copy)
{
    if (!op->op)
        return pdm_lg_graph_add_named(m->to, PDM_LG_NODE_OP, op->name, out_copy);
    pdm_lg_op kept = *op->op;
    pdm_lg_slot *slots = pdm_arena_calloc(&m->to->arena, kept.num_inputs + kept.num_outputs,
                                          sizeof *slots);
    if (!slots)
        return PDM_NOMEM;
    kept.inputs = slots;
    kept.outputs = slots + kept.num_inputs;
    kept.num_outputs = keep_slots(&kept, op->op->outputs, kept.num_outputs, slots + kept.num_inputs);
    kept.num_inputs = keep_slots(&kept, op->op->inputs, kept.num_inputs, slots);
    return pdm_lg_graph_add_op(m->to, &kept, out_copy);
}

/* Variables without description are dropped: the compiler has no control dependencies. */
static bool is_copied(const maker *m, const pdm_lg_node *var)
{
    return var->var && !pdm_lg_names_has(m->sets->denied, var->name);
}

static pdm_status add_ops(maker *m)
{
    for (size_t i = 0; i < m->cluster->num_ops; i++) {
        const pdm_lg_node *op = m->cluster->ops[i];
        pdm_lg_node *copy, *var;
        PDM_TRY(copy_op(m, op, &copy));
        for (size_t k = 0; k < op->inputs.n; k++) {
            if (!is_copied(m, op->inputs.v[k]))
                continue;
            PDM_TRY(copy_var(m, op->inputs.v[k], &var));
            PDM_TRY(pdm_lg_link(var, copy));
        }
        for (size_t k = 0; k < op->outputs.n; k++) {
            if (!is_copied(m, op->outputs.v[k]))
                continue;
            PDM_TRY(copy_var(m, op->outputs.v[k], &var));
            PDM_TRY(pdm_lg_link(copy, var));
        }
    }
    return PDM_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_status set_names(maker *m, const char *attr, pdm_lg_names *take_names, pdm_status status)
{
    if (status == PDM_OK)
        return pdm_lg_graph_set(m->to, attr, take_names, &pdm_lg_names_value);
    pdm_lg_names_destroy(take_names);
    return status;
}

/* but: names to leave out, or NULL. */
static pdm_status set_list(maker *m, const char *attr, const pdm_lg_nodes *vars,
                           const pdm_lg_names *but)
{
    pdm_lg_names *names;
    pdm_status status;

    PDM_TRY(pdm_lg_names_create(&names));
    status = PDM_OK;
    for (size_t i = 0; i < vars->n && status == PDM_OK; i++) {
        if (vars->v[i]->var && !pdm_lg_names_has(but, vars->v[i]->name))
            status = pdm_lg_names_add(names, vars->v[i]->name);
    }
    return set_names(m, attr, names, status);
}

static bool names_in_attr(const pdm_lg_op *op, const char *name)
{
    for (size_t i = 0; i < op->num_attrs; i++) {
        const pdm_lg_attr *attr = &op->attrs[i];
        if (attr->type == PDM_LG_VAR && !strcmp(attr->u.s, name))
            return true;
        for (size_t k = 0; attr->type == PDM_LG_VARS && k < attr->count; k++) {
            if (!strcmp(attr->u.strings[k], name))
                return true;
        }
    }
    return false;
}

/* The op reads the variable, and only in slots that look at its shape. */
static bool reads_shape_only(const pdm_lg_op *op, const char *name)
{
    bool reads = false;

    for (size_t i = 0; op && i < op->num_inputs; i++) {
        const pdm_lg_slot *slot = &op->inputs[i];
        for (size_t k = 0; k < slot->num_args; k++) {
            if (strcmp(slot->args[k], name) != 0)
                continue;
            if (!pdm_lg_no_need_buffer(op->type, slot->name))
                return false;
            reads = true;
        }
    }
    return reads && !names_in_attr(op, name);
}

static bool needs_no_buffer(const maker *m, const pdm_lg_node *var)
{
    for (size_t i = 0; i < var->outputs.n; i++) {
        const pdm_lg_node *op = var->outputs.v[i];
        if (m->marks->member[op->id] != m->number || !reads_shape_only(op->op, var->name))
            return false;
    }
    return var->outputs.n > 0;
}

static pdm_status set_no_need_buffer(maker *m)
{
    pdm_lg_names *names;
    pdm_status status;

    PDM_TRY(pdm_lg_names_create(&names));
    status = PDM_OK;
    for (size_t i = 0; i < m->sets->ins.n && status == PDM_OK; i++) {
        const pdm_lg_node *var = m->sets->ins.v[i];
        if (var->var && needs_no_buffer(m, var))
            status = pdm_lg_names_add(names, var->name);
    }
    return set_names(m, PDM_LG_CINN_NO_NEED_BUFFER, names, status);
}

/* Names that a member op both reads and writes. */
static pdm_status set_inplace(maker *m)
{
    pdm_lg_names *names;
    pdm_status status;

    PDM_TRY(pdm_lg_names_create(&names));
    status = PDM_OK;
    for (size_t i = 0; i < m->cluster->num_ops; i++) {
        const pdm_lg_node *op = m->cluster->ops[i];
        pdm_map reads = {0};
        for (size_t k = 0; k < op->inputs.n && status == PDM_OK; k++)
            status = pdm_map_put(&reads, op->inputs.v[k]->name) ? PDM_OK : PDM_NOMEM;
        for (size_t k = 0; k < op->outputs.n && status == PDM_OK; k++) {
            if (op->outputs.v[k]->var && pdm_map_find(&reads, op->outputs.v[k]->name))
                status = pdm_lg_names_add(names, op->outputs.v[k]->name);
        }
        pdm_map_deinit(&reads);
    }
    return set_names(m, PDM_LG_CINN_INPLACE_VARS, names, status);
}

static pdm_status set_attrs(maker *m, const pdm_lg_graph *main)
{
    const pdm_lg_names *skip_gc = pdm_lg_graph_get(main, PDM_LG_SKIP_GC_VARS);
    pdm_lg_mem_opt *records;
    pdm_lg_names *copy;

    PDM_TRY(set_no_need_buffer(m));
    PDM_TRY(set_list(m, PDM_LG_CINN_INPUT_VARS, &m->sets->ins,
                     pdm_lg_graph_get(m->to, PDM_LG_CINN_NO_NEED_BUFFER)));
    PDM_TRY(set_list(m, PDM_LG_CINN_INTERNAL_VARS, &m->sets->internals, NULL));
    PDM_TRY(set_list(m, PDM_LG_CINN_OUTPUT_VARS, &m->sets->outs, NULL));
    if (m->options->allow_inplace)
        PDM_TRY(set_inplace(m));
    PDM_TRY(pdm_lg_mem_opt_create(&records)); /* empty: a later pass fills it */
    PDM_TRY(pdm_lg_graph_set(m->to, PDM_LG_CINN_MEM_OPT, records, &pdm_lg_mem_opt_value));
    if (!skip_gc)
        return PDM_OK;
    PDM_TRY(pdm_lg_names_copy(skip_gc, &copy));
    return pdm_lg_graph_set(m->to, PDM_LG_SKIP_GC_VARS, copy, &pdm_lg_names_value);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static pdm_status make(maker *m, const pdm_lg_graph *main)
{
    PDM_TRY(add_inputs(m));
    PDM_TRY(add_ops(m));
    PDM_TRY(add_fetches(m));
    return set_attrs(m, main);
}

pdm_status pdm_lg_cinn_subgraph(const pdm_lg_graph *graph, const pdm_lg_cluster *cluster,
                                uint32_t number, const pdm_lg_cinn_options *options,
                                const pdm_lg_cinn_sets *sets, const pdm_lg_cinn_marks *marks,
                                pdm_lg_graph **out_subgraph)
{
    maker m = {cluster, number, options, sets, marks, NULL, {0}};

    PDM_TRY(pdm_lg_graph_create(graph->path, &m.to));
    pdm_status status = pdm_lg_graph_copy_versions(graph, m.to);
    if (status == PDM_OK)
        status = make(&m, graph);
    pdm_map_deinit(&m.copies);
    if (status != PDM_OK) {
        pdm_lg_graph_destroy(m.to);
        return status;
    }
    *out_subgraph = m.to;
    return PDM_OK;
}
