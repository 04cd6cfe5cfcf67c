#include "unit/lg/draft.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pdm_lg_graph *draft;

void draft_begin(void)
{
    DRAFT_HOLDS(pdm_lg_graph_create("draft", &draft) == PDM_OK);
}

void draft_end(void)
{
    pdm_lg_graph_destroy(draft);
    draft = NULL;
}

/* ---- variables ------------------------------------------------------------------------------- */

static pdm_lg_node *described(const char *name, bool persistable)
{
    static const int64_t dims[] = {2, 2};
    const pdm_lg_var var = {.name = name,
                            .kind = PDM_LG_DENSE_TENSOR,
                            .dtype = PDM_F32,
                            .dtype_number = 5,
                            .dims = dims,
                            .rank = 2,
                            .has_tensor = true,
                            .persistable = persistable};
    pdm_lg_node *node;

    DRAFT_HOLDS(pdm_lg_graph_add_var(draft, &var, &node) == PDM_OK);
    return node;
}

pdm_lg_node *draft_var(const char *name)
{
    return described(name, false);
}

pdm_lg_node *draft_param(const char *name)
{
    return described(name, true);
}

pdm_lg_node *draft_empty(const char *name)
{
    pdm_lg_node *node;

    DRAFT_HOLDS(pdm_lg_graph_add_named(draft, PDM_LG_NODE_VAR, name, &node) == PDM_OK);
    return node;
}

pdm_lg_node *draft_control(void)
{
    return draft_empty(PDM_LG_CONTROL_VAR);
}

/* ---- ops ------------------------------------------------------------------------------------- */

enum { MOST_SLOTS = 8, MOST_ARGS = 64 };

typedef struct slots {
    char text[1024];
    pdm_lg_slot v[MOST_SLOTS];
    const char *args[MOST_ARGS];
    size_t n;
} slots;

/* Splits a copy of the text in place. */
static void parse(slots *s, const char *text)
{
    size_t used = 0;
    char *save, *slot_save;

    s->n = 0;
    snprintf(s->text, sizeof s->text, "%s", text ? text : "");
    for (char *slot = strtok_r(s->text, ";", &save); slot; slot = strtok_r(NULL, ";", &save)) {
        char *args = strchr(slot, '=');
        DRAFT_HOLDS(args);
        *args++ = '\0';
        s->v[s->n].name = slot;
        s->v[s->n].args = &s->args[used];
        s->v[s->n].num_args = 0;
        for (char *arg = strtok_r(args, ",", &slot_save); arg; arg = strtok_r(NULL, ",", &slot_save)) {
            s->args[used++] = arg;
            s->v[s->n].num_args++;
        }
        s->n++;
    }
}

pdm_lg_node *draft_op_with(const char *type, const char *inputs, const char *outputs, int role,
                           const pdm_lg_attr *attrs, size_t num_attrs)
{
    slots in, out;
    pdm_lg_attr all[8];
    pdm_lg_node *node;
    pdm_lg_op op = {.type = type};

    parse(&in, inputs);
    parse(&out, outputs);
    for (size_t i = 0; i < num_attrs; i++)
        all[i] = attrs[i];
    if (role >= 0)
        all[num_attrs++] =
            (pdm_lg_attr){.name = PDM_LG_OP_ROLE, .type = PDM_LG_INT, .u.i = (int32_t)role};
    op.inputs = in.v;
    op.num_inputs = in.n;
    op.outputs = out.v;
    op.num_outputs = out.n;
    op.attrs = all;
    op.num_attrs = num_attrs;
    DRAFT_HOLDS(pdm_lg_graph_add_op(draft, &op, &node) == PDM_OK);
    return node;
}

pdm_lg_node *draft_op(const char *type, const char *inputs, const char *outputs)
{
    return draft_op_with(type, inputs, outputs, -1, NULL, 0);
}

void draft_in(pdm_lg_node *op, ...)
{
    va_list nodes;

    va_start(nodes, op);
    for (pdm_lg_node *node; (node = va_arg(nodes, pdm_lg_node *));)
        DRAFT_HOLDS(pdm_lg_link(node, op) == PDM_OK);
    va_end(nodes);
}

void draft_out(pdm_lg_node *op, ...)
{
    va_list nodes;

    va_start(nodes, op);
    for (pdm_lg_node *node; (node = va_arg(nodes, pdm_lg_node *));)
        DRAFT_HOLDS(pdm_lg_link(op, node) == PDM_OK);
    va_end(nodes);
}

void draft_skip_gc(const char *names)
{
    pdm_lg_names *set;

    DRAFT_HOLDS(pdm_lg_names_create(&set) == PDM_OK);
    DRAFT_HOLDS(pdm_lg_names_add_list(set, names, ';') == PDM_OK);
    DRAFT_HOLDS(pdm_lg_graph_set(draft, PDM_LG_SKIP_GC_VARS, set, &pdm_lg_names_value) == PDM_OK);
}

/* ---- asking ---------------------------------------------------------------------------------- */

size_t draft_count(const pdm_lg_graph *graph, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < graph->nodes.n; i++)
        n += graph->nodes.v[i] && !strcmp(graph->nodes.v[i]->name, name);
    return n;
}

pdm_lg_node *draft_find(const pdm_lg_graph *graph, const char *name)
{
    pdm_lg_node *found = NULL;

    for (size_t i = 0; i < graph->nodes.n; i++) {
        if (!graph->nodes.v[i] || strcmp(graph->nodes.v[i]->name, name) != 0)
            continue;
        if (found)
            ck_abort_msg("two nodes are named %s", name);
        found = graph->nodes.v[i];
    }
    return found;
}

static char text[2048];

static const char *join(const char *const *names, size_t n)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", names[i]);
    return text;
}

const char *draft_names(const pdm_lg_nodes *nodes)
{
    const char *names[64];

    ck_assert_uint_le(nodes->n, 64);
    for (size_t i = 0; i < nodes->n; i++)
        names[i] = nodes->v[i]->name;
    return join(names, nodes->n);
}

const char *draft_list(const pdm_lg_graph *graph, const char *attr)
{
    const pdm_lg_names *names = pdm_lg_graph_get(graph, attr);

    return names ? join(names->v, names->n) : NULL;
}

const char *draft_args(const pdm_lg_slot *slot)
{
    return slot ? join(slot->args, slot->num_args) : "";
}

void draft_expect_independent(const pdm_lg_graph *graph)
{
    const char *why;
    bool is;

    DRAFT_HOLDS(pdm_lg_graph_is_independent(graph, &is, &why) == PDM_OK);
    if (!is)
        ck_abort_msg("%s", why);
}
