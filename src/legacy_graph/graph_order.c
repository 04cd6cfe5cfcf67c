/* The order of ops, and whether a graph stands for itself. */
#include "legacy_graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct sorter {
    const pdm_lg_graph *graph;
    const uint32_t *rank; /* by id; NULL: the id */
    uint32_t *pending;    /* by id: inputs that are not there yet */
    struct {
        pdm_lg_node **v;
        size_t n, cap;
    } ready; /* a heap: the least rank first */
} sorter;

static uint32_t rank_of(const sorter *s, const pdm_lg_node *node)
{
    return s->rank ? s->rank[node->id] : node->id;
}

static bool before(const sorter *s, const pdm_lg_node *a, const pdm_lg_node *b)
{
    const uint32_t x = rank_of(s, a), y = rank_of(s, b);

    return x != y ? x < y : a->id < b->id;
}

static bool push(sorter *s, pdm_lg_node *node)
{
    size_t i = s->ready.n;

    if (!PDM_VEC_PUSH(&s->ready, node))
        return false;
    for (; i > 0 && before(s, node, s->ready.v[(i - 1) / 2]); i = (i - 1) / 2)
        s->ready.v[i] = s->ready.v[(i - 1) / 2];
    s->ready.v[i] = node;
    return true;
}

static pdm_lg_node *pop(sorter *s)
{
    pdm_lg_node *top = s->ready.v[0], *last = s->ready.v[--s->ready.n];
    const size_t n = s->ready.n;
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && before(s, s->ready.v[child + 1], s->ready.v[child]))
            child++;
        if (!before(s, s->ready.v[child], last))
            break;
        s->ready.v[i] = s->ready.v[child];
        i = child;
    }
    s->ready.v[i] = last;
    return top;
}

/* The variable is there: its readers wait for one thing less. */
static pdm_status var_ready(sorter *s, const pdm_lg_node *var)
{
    for (size_t i = 0; i < var->outputs.n; i++) {
        pdm_lg_node *op = var->outputs.v[i];
        if (--s->pending[op->id] == 0 && !push(s, op))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

static pdm_status begin(sorter *s, size_t *out_num_ops)
{
    const pdm_lg_nodes *nodes = &s->graph->nodes;

    s->pending = calloc(nodes->n + 1, sizeof *s->pending);
    if (!s->pending)
        return PDM_NOMEM;
    for (size_t i = 0; i < nodes->n; i++) {
        if (nodes->v[i])
            s->pending[i] = (uint32_t)nodes->v[i]->inputs.n;
    }
    for (size_t i = 0; i < nodes->n; i++) {
        pdm_lg_node *node = nodes->v[i];
        if (!node || node->kind != PDM_LG_NODE_OP)
            continue;
        ++*out_num_ops;
        if (node->inputs.n == 0 && !push(s, node))
            return PDM_NOMEM;
    }
    for (size_t i = 0; i < nodes->n; i++) {
        const pdm_lg_node *node = nodes->v[i];
        if (node && node->kind == PDM_LG_NODE_VAR && node->inputs.n == 0)
            PDM_TRY(var_ready(s, node));
    }
    return PDM_OK;
}

static pdm_lg_node *waiting_input(const sorter *s, const pdm_lg_node *node)
{
    for (size_t i = 0; i < node->inputs.n; i++) {
        if (s->pending[node->inputs.v[i]->id] > 0)
            return node->inputs.v[i];
    }
    return NULL;
}

/* Each node that waits has an input that waits: going back leads into a cycle. */
static pdm_status tell_cycle(const sorter *s, pdm_diag_sink *sink)
{
    char text[400] = "";
    size_t used = 0;
    pdm_loc loc = PDM_NOWHERE;
    const pdm_lg_node *node = NULL;
    bool *seen = calloc(s->graph->nodes.n + 1, sizeof *seen);

    if (!seen)
        return PDM_NOMEM;
    for (size_t i = 0; i < s->graph->nodes.n && !node; i++) {
        if (s->graph->nodes.v[i] && s->pending[i] > 0)
            node = s->graph->nodes.v[i];
    }
    while (node && !seen[node->id]) {
        seen[node->id] = true;
        node = waiting_input(s, node);
    }
    const pdm_lg_node *first = node && node->kind == PDM_LG_NODE_VAR ? waiting_input(s, node) : node;
    for (node = first; node;) {
        const int n = snprintf(text + used, sizeof text - used, "%s%s", used ? " <- " : "",
                               node->name);
        if (n < 0 || (size_t)n >= sizeof text - used - 8) {
            snprintf(text + used, sizeof text - used, " ...");
            break;
        }
        used += (size_t)n;
        const pdm_lg_node *var = waiting_input(s, node);
        node = var ? waiting_input(s, var) : NULL;
        if (node == first)
            break;
    }
    free(seen);
    loc.file = s->graph->path;
    loc.block = s->graph->block;
    loc.op_type = first ? first->name : NULL;
    return pdm_diag(sink, PDM_D_LG_CYCLE, &loc, NULL, "ops depend on each other in a circle: %s",
                    text);
}

pdm_status pdm_lg_graph_order(const pdm_lg_graph *graph, const uint32_t *rank, pdm_diag_sink *sink,
                              pdm_lg_nodes *out_ops)
{
    sorter s = {.graph = graph, .rank = rank};
    size_t num_ops = 0;
    pdm_status status;

    *out_ops = (pdm_lg_nodes){0};
    PDM_TRY_GOTO(begin(&s, &num_ops));
    while (s.ready.n > 0) {
        pdm_lg_node *op = pop(&s);
        if (!PDM_VEC_PUSH(out_ops, op)) {
            status = PDM_NOMEM;
            goto done;
        }
        for (size_t i = 0; i < op->outputs.n; i++) {
            const pdm_lg_node *var = op->outputs.v[i];
            if (--s.pending[var->id] == 0)
                PDM_TRY_GOTO(var_ready(&s, var));
        }
    }
    if (out_ops->n < num_ops)
        status = tell_cycle(&s, sink);
done:
    free(s.pending);
    PDM_VEC_FREE(&s.ready);
    return status;
}

/* ---- independence ---------------------------------------------------------------------------- */

static bool sound_neighbour(const pdm_lg_node *node, const pdm_lg_node *other, const char **why)
{
    if (other->graph != node->graph)
        *why = "a node has a neighbour in another graph";
    else if (node->graph->nodes.v[other->id] != other)
        *why = "a node has a neighbour that was removed";
    else if (other->kind == node->kind)
        *why = "two nodes of the same kind are neighbours";
    else
        return true;
    return false;
}

/* Links by their first node, gathered from the lists of their second: begin has one more entry than
 * there are nodes. */
static pdm_status gather(const pdm_lg_graph *graph, size_t **out_begin, uint32_t **out_to)
{
    const size_t n = graph->nodes.n;
    size_t *begin = calloc(n + 2, sizeof *begin);
    uint32_t *to;

    if (!begin)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        for (size_t k = 0; node && k < node->inputs.n; k++)
            begin[node->inputs.v[k]->id + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++)
        begin[i] += begin[i - 1];
    to = calloc(begin[n + 1] + 1, sizeof *to);
    if (!to) {
        free(begin);
        return PDM_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        for (size_t k = 0; node && k < node->inputs.n; k++)
            to[begin[node->inputs.v[k]->id + 1]++] = node->id;
    }
    *out_begin = begin;
    *out_to = to;
    return PDM_OK;
}

static bool same_links(const pdm_lg_graph *graph, const size_t *begin, const uint32_t *to,
                       uint32_t *stamp, const char **why)
{
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        const uint32_t mine = (uint32_t)i + 1;
        if (!node)
            continue;
        *why = "a link is in one list only";
        if (begin[i + 1] - begin[i] != node->outputs.n)
            return false;
        for (size_t k = begin[i]; k < begin[i + 1]; k++)
            stamp[to[k]] = mine;
        for (size_t k = 0; k < node->outputs.n; k++) {
            if (stamp[node->outputs.v[k]->id] != mine)
                return false;
            stamp[node->outputs.v[k]->id] = 0; /* a link that is there twice fails */
        }
    }
    *why = NULL;
    return true;
}

pdm_status pdm_lg_graph_is_independent(const pdm_lg_graph *graph, bool *out_is,
                                       const char **out_why)
{
    size_t *begin = NULL;
    uint32_t *to = NULL;

    *out_is = false;
    *out_why = NULL;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        for (size_t k = 0; node && k < node->inputs.n; k++) {
            if (!sound_neighbour(node, node->inputs.v[k], out_why))
                return PDM_OK;
        }
        for (size_t k = 0; node && k < node->outputs.n; k++) {
            if (!sound_neighbour(node, node->outputs.v[k], out_why))
                return PDM_OK;
        }
    }
    PDM_TRY(gather(graph, &begin, &to));
    uint32_t *stamp = calloc(graph->nodes.n + 1, sizeof *stamp);
    if (stamp)
        *out_is = same_links(graph, begin, to, stamp, out_why);
    free(begin);
    free(to);
    free(stamp);
    return stamp ? PDM_OK : PDM_NOMEM;
}
