/* Nodes, links, attributes, and copies of legacy graphs. */
#include "legacy_graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "legacy_graph/copy.h"
#include "legacy_graph/names.h"

/* ---- graphs ---------------------------------------------------------------------------------- */

pdm_status pdm_lg_graph_create(const char *path, pdm_lg_graph **out_graph)
{
    pdm_lg_graph *graph = calloc(1, sizeof *graph);

    if (!graph)
        return PDM_NOMEM;
    pdm_arena_init(&graph->arena);
    pdm_intern_init(&graph->strings, &graph->arena);
    graph->parent = graph->forward_idx = -1;
    graph->path = pdm_arena_strndup(&graph->arena, path ? path : "", path ? strlen(path) : 0);
    if (!graph->path) {
        pdm_lg_graph_destroy(graph);
        return PDM_NOMEM;
    }
    *out_graph = graph;
    return PDM_OK;
}

static void free_lists(pdm_lg_node *node)
{
    PDM_VEC_FREE(&node->inputs);
    PDM_VEC_FREE(&node->outputs);
}

static void drop_value(const pdm_lg_graph_attr *attr)
{
    if (attr->type && attr->value)
        attr->type->destroy(attr->value);
}

void pdm_lg_graph_destroy(pdm_lg_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        if (graph->nodes.v[i])
            free_lists(graph->nodes.v[i]);
    }
    for (size_t i = 0; i < graph->attrs.n; i++)
        drop_value(&graph->attrs.v[i]);
    for (size_t i = 0; i < graph->num_subs; i++)
        pdm_lg_graph_destroy(graph->subs[i]);
    PDM_VEC_FREE(&graph->attrs);
    PDM_VEC_FREE(&graph->nodes);
    pdm_intern_deinit(&graph->strings);
    pdm_arena_deinit(&graph->arena);
    free(graph);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

pdm_status pdm_lg_graph_add_named(pdm_lg_graph *graph, pdm_lg_node_kind kind, const char *name,
                                  pdm_lg_node **out_node)
{
    pdm_lg_node *node = pdm_arena_calloc(&graph->arena, 1, sizeof *node);

    if (!node || graph->nodes.n >= UINT32_MAX)
        return PDM_NOMEM;
    node->graph = graph;
    node->id = (uint32_t)graph->nodes.n;
    node->kind = kind;
    node->name = pdm_intern_cstr(&graph->strings, name);
    if (!node->name || !PDM_VEC_PUSH(&graph->nodes, node))
        return PDM_NOMEM;
    graph->num_nodes++;
    *out_node = node;
    return PDM_OK;
}

pdm_status pdm_lg_graph_add_op(pdm_lg_graph *graph, const pdm_lg_op *op, pdm_lg_node **out_node)
{
    const pdm_lg_copier copier = {.arena = &graph->arena, .strings = &graph->strings};
    pdm_lg_op *copy = pdm_arena_calloc(&graph->arena, 1, sizeof *copy);

    if (!copy)
        return PDM_NOMEM;
    PDM_TRY(pdm_lg_copy_op(&copier, op, copy));
    PDM_TRY(pdm_lg_graph_add_named(graph, PDM_LG_NODE_OP, op->type, out_node));
    (*out_node)->op = copy;
    return PDM_OK;
}

pdm_status pdm_lg_graph_add_var(pdm_lg_graph *graph, const pdm_lg_var *var, pdm_lg_node **out_node)
{
    const pdm_lg_copier copier = {.arena = &graph->arena, .strings = &graph->strings};
    pdm_lg_var *copy = pdm_arena_calloc(&graph->arena, 1, sizeof *copy);

    if (!copy)
        return PDM_NOMEM;
    PDM_TRY(pdm_lg_copy_var(&copier, var, copy));
    PDM_TRY(pdm_lg_graph_add_named(graph, PDM_LG_NODE_VAR, var->name, out_node));
    (*out_node)->var = copy;
    return PDM_OK;
}

bool pdm_lg_is_control_var(const pdm_lg_node *node)
{
    return node->kind == PDM_LG_NODE_VAR && !node->var && !strcmp(node->name, PDM_LG_CONTROL_VAR);
}

/* ---- links ----------------------------------------------------------------------------------- */

bool pdm_lg_nodes_has(const pdm_lg_nodes *nodes, const pdm_lg_node *node)
{
    for (size_t i = nodes->n; i-- > 0;) { /* what was added last is asked for most */
        if (nodes->v[i] == node)
            return true;
    }
    return false;
}

pdm_status pdm_lg_link(pdm_lg_node *from, pdm_lg_node *to)
{
    /* The shorter list tells as well: both have the link or none has. */
    const bool known = from->outputs.n < to->inputs.n ? pdm_lg_nodes_has(&from->outputs, to)
                                                      : pdm_lg_nodes_has(&to->inputs, from);

    if (known)
        return PDM_OK;
    if (!PDM_VEC_RESERVE(&from->outputs, from->outputs.n + 1) ||
        !PDM_VEC_RESERVE(&to->inputs, to->inputs.n + 1))
        return PDM_NOMEM;
    from->outputs.v[from->outputs.n++] = to;
    to->inputs.v[to->inputs.n++] = from;
    return PDM_OK;
}

/* Keep what is still in the graph. */
static void prune(pdm_lg_nodes *nodes, const pdm_lg_graph *graph)
{
    size_t n = 0;

    for (size_t i = 0; i < nodes->n; i++) {
        if (graph->nodes.v[nodes->v[i]->id])
            nodes->v[n++] = nodes->v[i];
    }
    nodes->n = n;
}

pdm_status pdm_lg_graph_remove(pdm_lg_graph *graph, pdm_lg_node *const *nodes, size_t count)
{
    pdm_lg_nodes near = {0};
    pdm_status status = PDM_OK;

    for (size_t i = 0; i < count; i++) {
        if (nodes[i]->graph != graph || graph->nodes.v[nodes[i]->id] != nodes[i])
            return PDM_INVALID_ARG;
    }
    /* Room first: nothing is removed when memory is short. */
    size_t links = 0;
    for (size_t i = 0; i < count; i++)
        links += nodes[i]->inputs.n + nodes[i]->outputs.n;
    if (!PDM_VEC_RESERVE(&near, links + 1))
        return PDM_NOMEM;
    bool *touched = calloc(graph->nodes.n + 1, sizeof *touched);
    if (!touched) {
        status = PDM_NOMEM;
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        const pdm_lg_nodes *const sides[] = {&nodes[i]->inputs, &nodes[i]->outputs};
        if (!graph->nodes.v[nodes[i]->id])
            continue; /* named twice */
        for (int s = 0; s < 2; s++) {
            for (size_t k = 0; k < sides[s]->n; k++) {
                pdm_lg_node *other = sides[s]->v[k];
                if (!touched[other->id])
                    near.v[near.n++] = other;
                touched[other->id] = true;
            }
        }
        graph->nodes.v[nodes[i]->id] = NULL;
        graph->num_nodes--;
    }
    for (size_t i = 0; i < near.n; i++) {
        if (!graph->nodes.v[near.v[i]->id])
            continue;
        prune(&near.v[i]->inputs, graph);
        prune(&near.v[i]->outputs, graph);
    }
    for (size_t i = 0; i < count; i++)
        free_lists(nodes[i]);
done:
    free(touched);
    PDM_VEC_FREE(&near);
    return status;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_lg_graph_attr *find_attr(const pdm_lg_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->attrs.n; i++) {
        if (!strcmp(graph->attrs.v[i].name, name))
            return &graph->attrs.v[i];
    }
    return NULL;
}

pdm_status pdm_lg_graph_set(pdm_lg_graph *graph, const char *name, void *value,
                            const pdm_lg_value_type *type)
{
    pdm_lg_graph_attr made = {pdm_intern_cstr(&graph->strings, name), value, type};
    pdm_lg_graph_attr *known = find_attr(graph, name);

    if (made.name && known) {
        if (known->value != value)
            drop_value(known);
        *known = made;
        return PDM_OK;
    }
    if (made.name && PDM_VEC_PUSH(&graph->attrs, made))
        return PDM_OK;
    drop_value(&made);
    return PDM_NOMEM;
}

bool pdm_lg_graph_has(const pdm_lg_graph *graph, const char *name)
{
    return find_attr(graph, name) != NULL;
}

void *pdm_lg_graph_get(const pdm_lg_graph *graph, const char *name)
{
    const pdm_lg_graph_attr *attr = find_attr(graph, name);

    return attr ? attr->value : NULL;
}

pdm_status pdm_lg_graph_get_or_init(pdm_lg_graph *graph, const char *name,
                                    pdm_status (*make)(void **out_value),
                                    const pdm_lg_value_type *type, void **out_value)
{
    const pdm_lg_graph_attr *attr = find_attr(graph, name);
    void *value;

    if (!attr) {
        PDM_TRY(make(&value));
        PDM_TRY(pdm_lg_graph_set(graph, name, value, type));
        *out_value = value;
        return PDM_OK;
    }
    *out_value = attr->value;
    return PDM_OK;
}

void pdm_lg_graph_unset(pdm_lg_graph *graph, const char *name)
{
    pdm_lg_graph_attr *attr = find_attr(graph, name);

    if (!attr)
        return;
    drop_value(attr);
    graph->attrs.n--;
    memmove(attr, attr + 1, (size_t)(&graph->attrs.v[graph->attrs.n] - attr) * sizeof *attr);
}

static void destroy_names(void *value)
{
    pdm_lg_names_destroy(value);
}

static pdm_status copy_names(const void *value, void **out_copy)
{
    pdm_lg_names *copy;

    PDM_TRY(pdm_lg_names_copy(value, &copy));
    *out_copy = copy;
    return PDM_OK;
}

const pdm_lg_value_type pdm_lg_names_value = {destroy_names, copy_names};

/* ---- clones ---------------------------------------------------------------------------------- */

static pdm_status clone_node(const pdm_lg_node *from, pdm_lg_graph *to)
{
    pdm_lg_node *node;

    if (from->op)
        PDM_TRY(pdm_lg_graph_add_op(to, from->op, &node));
    else if (from->var)
        PDM_TRY(pdm_lg_graph_add_var(to, from->var, &node));
    else
        PDM_TRY(pdm_lg_graph_add_named(to, from->kind, from->name, &node));
    node->outer = from->outer;
    return PDM_OK;
}

static pdm_status clone_list(const pdm_lg_nodes *from, const pdm_lg_graph *graph, pdm_lg_nodes *to)
{
    if (!PDM_VEC_RESERVE(to, from->n + 1))
        return PDM_NOMEM;
    for (size_t i = 0; i < from->n; i++)
        to->v[to->n++] = graph->nodes.v[from->v[i]->id];
    return PDM_OK;
}

static pdm_status clone_nodes(const pdm_lg_graph *from, pdm_lg_graph *to)
{
    for (size_t i = 0; i < from->nodes.n; i++) {
        if (from->nodes.v[i])
            PDM_TRY(clone_node(from->nodes.v[i], to));
        else if (!PDM_VEC_PUSH(&to->nodes, NULL)) /* ids stay */
            return PDM_NOMEM;
    }
    for (size_t i = 0; i < from->nodes.n; i++) {
        if (!from->nodes.v[i])
            continue;
        PDM_TRY(clone_list(&from->nodes.v[i]->inputs, to, &to->nodes.v[i]->inputs));
        PDM_TRY(clone_list(&from->nodes.v[i]->outputs, to, &to->nodes.v[i]->outputs));
    }
    return PDM_OK;
}

static pdm_status clone_attrs(const pdm_lg_graph *from, pdm_lg_graph *to)
{
    for (size_t i = 0; i < from->attrs.n; i++) {
        const pdm_lg_graph_attr *attr = &from->attrs.v[i];
        void *value = attr->value;
        if (attr->type && !attr->type->copy)
            continue;
        if (attr->type)
            PDM_TRY(attr->type->copy(attr->value, &value));
        PDM_TRY(pdm_lg_graph_set(to, attr->name, value, attr->type));
    }
    return PDM_OK;
}

pdm_status pdm_lg_graph_copy_versions(const pdm_lg_graph *from, pdm_lg_graph *to)
{
    const pdm_lg_copier copier = {.arena = &to->arena, .strings = &to->strings};
    const pdm_lg_program versions = {.version = from->version,
                                     .has_version = from->has_version,
                                     .has_op_versions = from->has_op_versions,
                                     .op_versions = from->op_versions,
                                     .num_op_versions = from->num_op_versions};
    pdm_lg_program copied = {0};

    PDM_TRY(pdm_lg_copy_versions(&copier, &versions, &copied));
    to->version = copied.version;
    to->has_version = copied.has_version;
    to->has_op_versions = copied.has_op_versions;
    to->op_versions = copied.op_versions;
    to->num_op_versions = copied.num_op_versions;
    return PDM_OK;
}

/* What comes from the program. */
static pdm_status clone_frame(const pdm_lg_graph *from, pdm_lg_graph *to)
{
    const pdm_lg_copier copier = {.arena = &to->arena, .strings = &to->strings};
    pdm_lg_declared *declared =
        pdm_arena_calloc(&to->arena, from->num_declared, sizeof *declared);
    pdm_lg_var *vars = pdm_arena_calloc(&to->arena, from->num_declared, sizeof *vars);

    if (!declared || !vars)
        return PDM_NOMEM;
    for (size_t i = 0; i < from->num_declared; i++) {
        PDM_TRY(pdm_lg_copy_var(&copier, from->declared[i].var, &vars[i]));
        declared[i] = (pdm_lg_declared){&vars[i], from->declared[i].linked};
    }
    to->block = from->block;
    to->parent = from->parent;
    to->forward_idx = from->forward_idx;
    to->declared = declared;
    to->num_declared = from->num_declared;
    return pdm_lg_graph_copy_versions(from, to);
}

static pdm_status clone_into(const pdm_lg_graph *from, pdm_lg_graph *to)
{
    PDM_TRY(clone_frame(from, to));
    PDM_TRY(clone_nodes(from, to));
    PDM_TRY(clone_attrs(from, to));
    to->subs = pdm_arena_calloc(&to->arena, from->num_subs, sizeof *to->subs);
    if (!to->subs)
        return PDM_NOMEM;
    for (; to->num_subs < from->num_subs; to->num_subs++)
        PDM_TRY(pdm_lg_graph_clone(from->subs[to->num_subs], &to->subs[to->num_subs]));
    return PDM_OK;
}

pdm_status pdm_lg_graph_clone(const pdm_lg_graph *graph, pdm_lg_graph **out_graph)
{
    pdm_lg_graph *to;

    PDM_TRY(pdm_lg_graph_create(graph->path, &to));
    const pdm_status status = clone_into(graph, to);
    if (status != PDM_OK) {
        pdm_lg_graph_destroy(to);
        return status;
    }
    *out_graph = to;
    return PDM_OK;
}
