#include "legacy_graph/cinn_dot.h"

#include <inttypes.h>
#include <string.h>

#include "legacy_graph/cinn_pass.h"

/* Fill and border of clusters, in turn: light enough for black text. */
static const struct {
    const char *fill, *border;
} colours[] = {
    {"#dbeafe", "#1d4ed8"}, {"#dcfce7", "#15803d"}, {"#fef3c7", "#b45309"}, {"#fce7f3", "#be185d"},
    {"#ede9fe", "#6d28d9"}, {"#cffafe", "#0e7490"}, {"#ffedd5", "#c2410c"}, {"#ecfccb", "#4d7c0f"},
};

typedef struct drawer {
    pdm_buf *buf;
    /* Names of the subgraph at hand -> variable nodes of the main graph: what is fed, and the rest. A
     * name that goes in and comes out has two. */
    pdm_map inputs, outputs;
    uint32_t first_launch; /* id; launch ops that came with the program are ops like others */
} drawer;

static void put_string(pdm_buf *buf, const char *text)
{
    pdm_buf_json_string(buf, text, strlen(text));
}

/* Label of a variable: its name, then element type and shape. */
static void put_var_label(pdm_buf *buf, const pdm_lg_node *node)
{
    pdm_buf label;

    pdm_buf_init(&label);
    pdm_buf_puts(&label, node->name);
    if (node->var && node->var->has_tensor) {
        pdm_buf_printf(&label, "\n%s[", pdm_dtype_text(node->var->dtype));
        for (size_t i = 0; i < node->var->rank; i++)
            pdm_buf_printf(&label, "%s%" PRId64, i ? ", " : "", node->var->dims[i]);
        pdm_buf_putc(&label, ']');
    }
    if (pdm_buf_ok(&label))
        pdm_buf_json_string(buf, label.data, label.size);
    else
        buf->failed = true;
    pdm_buf_deinit(&label);
}

static void put_node(pdm_buf *buf, const char *prefix, const pdm_lg_node *node)
{
    pdm_buf_printf(buf, "  %s%" PRIu32 " [", prefix, node->id);
    if (node->kind == PDM_LG_NODE_OP) {
        if (!strcmp(node->name, "feed"))
            pdm_buf_puts(buf, "shape=invhouse, fillcolor=\"#bbf7d0\", label=");
        else if (!strncmp(node->name, "fetch", 5))
            pdm_buf_puts(buf, "shape=house, fillcolor=\"#fecaca\", label=");
        else
            pdm_buf_puts(buf, "shape=box, fillcolor=white, label=");
        put_string(buf, node->name);
    } else if (pdm_lg_is_control_var(node)) {
        pdm_buf_puts(buf, "shape=point, label=\"\"");
    } else {
        pdm_buf_printf(buf, "shape=ellipse, fillcolor=\"%s\", label=",
                       node->var && node->var->persistable ? "#e5e7eb" : "white");
        put_var_label(buf, node);
    }
    pdm_buf_puts(buf, "];\n");
}

static bool is_launch(const drawer *d, const pdm_lg_node *node)
{
    return node->id >= d->first_launch && node->kind == PDM_LG_NODE_OP &&
           !strcmp(node->name, PDM_LG_CINN_LAUNCH);
}

/* The pass adds its launch ops last, one a key. */
static uint32_t first_launch(const pdm_lg_graph *graph, size_t num_keys)
{
    size_t i = graph->nodes.n;

    for (size_t left = num_keys; i > 0 && left > 0; i--) {
        const pdm_lg_node *node = graph->nodes.v[i - 1];
        left -= node && node->kind == PDM_LG_NODE_OP && !strcmp(node->name, PDM_LG_CINN_LAUNCH);
    }
    return (uint32_t)i;
}

/* ---- the main graph -------------------------------------------------------------------------- */

static void put_main(drawer *d, const pdm_lg_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        if (node && !is_launch(d, node))
            put_node(d->buf, "m", node);
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        for (size_t k = 0; node && !is_launch(d, node) && k < node->outputs.n; k++) {
            const pdm_lg_node *to = node->outputs.v[k];
            if (!is_launch(d, to))
                pdm_buf_printf(d->buf, "  m%" PRIu32 " -> m%" PRIu32 "%s;\n", node->id, to->id,
                               pdm_lg_is_control_var(node) || pdm_lg_is_control_var(to)
                                   ? " [style=dashed]"
                                   : "");
        }
    }
}

/* ---- clusters -------------------------------------------------------------------------------- */

static pdm_status note_vars(pdm_map *to, const pdm_lg_graph *subgraph, const pdm_lg_nodes *vars)
{
    pdm_map_clear(to);
    for (size_t i = 0; i < vars->n; i++) {
        const char *name = vars->v[i]->name;
        /* Names are interned in each graph. */
        const char *there = pdm_intern_find(&subgraph->strings, name, strlen(name));
        pdm_map_entry *entry = there ? pdm_map_put(to, there) : NULL;
        if (there && !entry)
            return PDM_NOMEM;
        if (entry)
            entry->value.ptr = vars->v[i];
    }
    return PDM_OK;
}

static bool is_port(const pdm_lg_node *node)
{
    return node->kind == PDM_LG_NODE_OP &&
           (!strcmp(node->name, "feed") || !strcmp(node->name, "fetch"));
}

static bool is_fed(const pdm_lg_node *var)
{
    return var->inputs.n > 0 && !strcmp(var->inputs.v[0]->name, "feed");
}

/* The node that stands for one of the subgraph. */
static void put_ref(drawer *d, size_t index, const pdm_lg_node *node)
{
    const pdm_map *vars = is_fed(node) ? &d->inputs : &d->outputs;
    const pdm_map_entry *entry =
        node->kind == PDM_LG_NODE_VAR ? pdm_map_find(vars, node->name) : NULL;

    if (entry)
        pdm_buf_printf(d->buf, "m%" PRIu32, ((const pdm_lg_node *)entry->value.ptr)->id);
    else
        pdm_buf_printf(d->buf, "s%zu_%" PRIu32, index, node->id);
}

static void put_edges(drawer *d, size_t index, const pdm_lg_graph *subgraph)
{
    for (size_t i = 0; i < subgraph->nodes.n; i++) {
        const pdm_lg_node *from = subgraph->nodes.v[i];
        for (size_t k = 0; from && k < from->outputs.n; k++) {
            if (is_port(from) || is_port(from->outputs.v[k]))
                continue;
            pdm_buf_puts(d->buf, "  ");
            put_ref(d, index, from);
            pdm_buf_puts(d->buf, " -> ");
            put_ref(d, index, from->outputs.v[k]);
            pdm_buf_puts(d->buf, ";\n");
        }
    }
}

/* Whether a variable is drawn in the main graph already: it is fed or fetched. */
static bool is_border(const pdm_lg_node *var)
{
    if (var->kind != PDM_LG_NODE_VAR)
        return false;
    for (size_t i = 0; i < var->inputs.n; i++) {
        if (is_port(var->inputs.v[i]))
            return true;
    }
    for (size_t i = 0; i < var->outputs.n; i++) {
        if (is_port(var->outputs.v[i]))
            return true;
    }
    return false;
}

static void put_inside(drawer *d, size_t index, const pdm_lg_graph *subgraph, int64_t key)
{
    const size_t colour = index % (sizeof colours / sizeof *colours);
    pdm_buf prefix;

    pdm_buf_init(&prefix);
    pdm_buf_printf(&prefix, "s%zu_", index);
    pdm_buf_printf(d->buf,
                   "  subgraph cluster_%zu {\n  label=\"subgraph %zu, key %" PRId64 "\";\n"
                   "  style=\"filled,rounded\"; fillcolor=\"%s\"; color=\"%s\";\n",
                   index, index, key, colours[colour].fill, colours[colour].border);
    for (size_t i = 0; i < subgraph->nodes.n && pdm_buf_ok(&prefix); i++) {
        const pdm_lg_node *node = subgraph->nodes.v[i];
        if (node && !is_port(node) && !is_border(node))
            put_node(d->buf, prefix.data, node);
    }
    pdm_buf_puts(d->buf, "  }\n");
    if (!pdm_buf_ok(&prefix))
        d->buf->failed = true;
    pdm_buf_deinit(&prefix);
}

static pdm_status put_cluster(drawer *d, size_t index, const pdm_lg_node *launch,
                              const pdm_lg_graph *subgraph, int64_t key)
{
    put_inside(d, index, subgraph, key);
    PDM_TRY(note_vars(&d->inputs, subgraph, &launch->inputs));
    PDM_TRY(note_vars(&d->outputs, subgraph, &launch->outputs));
    put_edges(d, index, subgraph);
    return PDM_OK;
}

pdm_status pdm_lg_cinn_dot(const pdm_lg_graph *graph, pdm_lg_cinn_table *table, const int64_t *keys,
                           size_t num_keys, pdm_buf *buf)
{
    drawer d = {.buf = buf, .first_launch = first_launch(graph, num_keys)};
    pdm_status status = PDM_OK;
    size_t n = 0;

    pdm_buf_puts(buf, "digraph program {\n  rankdir=TB;\n"
                      "  node [style=filled, fontname=\"Helvetica\", fontsize=10];\n"
                      "  edge [color=\"#4b5563\"];\n");
    put_main(&d, graph);
    for (size_t i = 0; i < graph->nodes.n && n < num_keys && status == PDM_OK; i++) {
        const pdm_lg_graph *subgraph;
        if (!graph->nodes.v[i] || !is_launch(&d, graph->nodes.v[i]))
            continue;
        status = pdm_lg_cinn_table_get(table, keys[n], NULL, &subgraph);
        if (status == PDM_OK)
            status = put_cluster(&d, n, graph->nodes.v[i], subgraph, keys[n]);
        n++;
    }
    pdm_buf_puts(buf, "}\n");
    pdm_map_deinit(&d.inputs);
    pdm_map_deinit(&d.outputs);
    return status;
}
