/*
 * First each op joins the group of its consumers when they are all in one group of its own kind
 * (eligible or not). Such a group has one last op, the only one with consumers elsewhere, so the
 * order of last ops is an order of groups.
 *
 * Then each eligible group, in that order, absorbs eligible consumers that it reaches in no other
 * way, looking at what it leads to in the order of groups. What comes first among what it leads to
 * and cannot be absorbed is not eligible, so all that depends on it stays out for good: a group that
 * has had its turn never needs another. What it absorbed moves the group behind others, and what
 * depends on it behind itself.
 */
#include "legacy_graph/detector.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* ---- an order that does not depend on ids ---------------------------------------------------- */

typedef struct key {
    const char *output, *type, *input; /* names; "" where there is none */
    uint32_t id;
} key;

/* Many ops may have the same variables that stand for nothing. */
static const char *least_name(const pdm_lg_nodes *vars)
{
    const char *least = "";

    for (size_t i = 0; i < vars->n; i++) {
        const char *name = vars->v[i]->name;
        if (!pdm_lg_is_control_var(vars->v[i]) && strcmp(name, PDM_LG_EMPTY_VAR) != 0 &&
            (!*least || strcmp(name, least) < 0))
            least = name;
    }
    return least;
}

static int by_key(const void *a, const void *b)
{
    const key *x = a, *y = b;
    int order = strcmp(x->output, y->output);

    if (order == 0)
        order = strcmp(x->type, y->type);
    if (order == 0)
        order = strcmp(x->input, y->input);
    if (order == 0)
        order = x->id < y->id ? -1 : x->id > y->id;
    return order;
}

/* *out_rank: by id, malloc'ed. */
static pdm_status rank_ops(const pdm_lg_graph *graph, uint32_t **out_rank)
{
    uint32_t *rank = calloc(graph->nodes.n + 1, sizeof *rank);
    key *keys = calloc(graph->nodes.n + 1, sizeof *keys);
    size_t n = 0;

    if (!rank || !keys) {
        free(rank);
        free(keys);
        return PDM_NOMEM;
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        if (node && node->kind == PDM_LG_NODE_OP)
            keys[n++] = (key){least_name(&node->outputs), node->name, least_name(&node->inputs),
                              node->id};
    }
    qsort(keys, n, sizeof *keys, by_key);
    for (size_t i = 0; i < n; i++)
        rank[keys[i].id] = (uint32_t)i;
    free(keys);
    *out_rank = rank;
    return PDM_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

#define NONE UINT32_MAX

typedef struct group {
    bool eligible;
    bool done; /* it has absorbed what it can */
    uint32_t position;
    /* Stamps: a consumer of the group at hand, what it leads to by others, waiting. */
    uint32_t direct, reached, queued;
    struct {
        uint32_t *v; /* groups, perhaps merged since, perhaps twice */
        size_t n, cap;
    } consumers;
} group;

typedef struct detector {
    const pdm_lg_graph *graph;
    const bool *eligible;
    pdm_lg_nodes order;    /* ops */
    uint32_t *index_of;    /* by id: position in order */
    uint32_t *parent;      /* by op: union-find; the root's group counts */
    group *groups;         /* by op */
    uint32_t *at;          /* by position: group, or NONE */
    size_t num_positions;
    uint32_t stamp;
    size_t open; /* eligible consumers that wait, and may be absorbed */
    uint64_t steps;
    struct {
        uint32_t *v;
        size_t n, cap;
    } queue, later; /* queue: a heap, the least position first */
} detector;

static uint32_t find(detector *d, uint32_t i)
{
    while (d->parent[i] != i) {
        d->parent[i] = d->parent[d->parent[i]];
        i = d->parent[i];
    }
    return i;
}

/* The group of all consumers of an op; NONE: there are none, or they are in several. */
static uint32_t only_consumer(detector *d, const pdm_lg_node *op)
{
    uint32_t only = NONE;

    for (size_t i = 0; i < op->outputs.n; i++) {
        const pdm_lg_nodes *consumers = &op->outputs.v[i]->outputs;
        for (size_t k = 0; k < consumers->n; k++) {
            const uint32_t g = find(d, d->index_of[consumers->v[k]->id]);
            if (only != NONE && g != only)
                return NONE;
            only = g;
        }
    }
    return only;
}

static pdm_status add_consumers(detector *d, uint32_t i)
{
    const pdm_lg_node *op = d->order.v[i];
    group *g = &d->groups[i];

    for (size_t k = 0; k < op->outputs.n; k++) {
        const pdm_lg_nodes *consumers = &op->outputs.v[k]->outputs;
        for (size_t j = 0; j < consumers->n; j++) {
            const uint32_t to = find(d, d->index_of[consumers->v[j]->id]);
            if ((g->consumers.n == 0 || g->consumers.v[g->consumers.n - 1] != to) &&
                !PDM_VEC_PUSH(&g->consumers, to))
                return PDM_NOMEM;
        }
    }
    return PDM_OK;
}

static pdm_status make_groups(detector *d)
{
    const uint32_t n = (uint32_t)d->order.n;

    for (uint32_t i = n; i-- > 0;) {
        const pdm_lg_node *op = d->order.v[i];
        const uint32_t g = only_consumer(d, op);
        d->parent[i] = g != NONE && d->groups[g].eligible == d->eligible[op->id] ? g : i;
        d->groups[i].eligible = d->eligible[op->id];
    }
    for (uint32_t i = 0; i < n; i++) {
        if (d->parent[i] != i)
            continue;
        d->groups[i].position = (uint32_t)d->num_positions;
        d->at[d->num_positions++] = i;
        PDM_TRY(add_consumers(d, i));
    }
    return PDM_OK;
}

/* ---- absorbing ------------------------------------------------------------------------------- */

static uint32_t position_of(const detector *d, uint32_t g)
{
    return d->groups[g].position;
}

static pdm_status enqueue(detector *d, uint32_t g)
{
    size_t i = d->queue.n;

    if (d->groups[g].queued == d->stamp)
        return PDM_OK;
    d->groups[g].queued = d->stamp;
    if (!PDM_VEC_PUSH(&d->queue, g))
        return PDM_NOMEM;
    for (; i > 0 && position_of(d, g) < position_of(d, d->queue.v[(i - 1) / 2]); i = (i - 1) / 2)
        d->queue.v[i] = d->queue.v[(i - 1) / 2];
    d->queue.v[i] = g;
    return PDM_OK;
}

static uint32_t dequeue(detector *d)
{
    const uint32_t top = d->queue.v[0], last = d->queue.v[--d->queue.n];
    const size_t n = d->queue.n;
    size_t i = 0;

    for (size_t child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && position_of(d, d->queue.v[child + 1]) < position_of(d, d->queue.v[child]))
            child++;
        if (position_of(d, last) <= position_of(d, d->queue.v[child]))
            break;
        d->queue.v[i] = d->queue.v[child];
        i = child;
    }
    d->queue.v[i] = last;
    return top;
}

/* What x leads to: consumers of the group at hand when x is in it, else what it cannot absorb. */
static pdm_status look_behind(detector *d, uint32_t into, const group *x, bool inside)
{
    for (size_t i = 0; i < x->consumers.n; i++) {
        const uint32_t to = find(d, x->consumers.v[i]);
        group *y = &d->groups[to];
        d->steps++;
        if (to == into || y == x)
            continue;
        if (inside && y->direct != d->stamp) {
            y->direct = d->stamp;
            d->open += y->eligible && y->reached != d->stamp;
        } else if (!inside && y->reached != d->stamp) {
            y->reached = d->stamp;
            d->open -= y->eligible && y->direct == d->stamp;
        }
        PDM_TRY(enqueue(d, to));
    }
    return PDM_OK;
}

static pdm_status merge(detector *d, uint32_t into, uint32_t from)
{
    group *a = &d->groups[into], *b = &d->groups[from];

    d->parent[from] = into;
    if (a->consumers.n < b->consumers.n) { /* the shorter list is copied */
        const group t = *a;
        a->consumers = b->consumers;
        b->consumers = t.consumers;
    }
    if (!PDM_VEC_RESERVE(&a->consumers, a->consumers.n + b->consumers.n))
        return PDM_NOMEM;
    for (size_t i = 0; i < b->consumers.n; i++)
        a->consumers.v[a->consumers.n++] = b->consumers.v[i];
    d->steps += b->consumers.n;
    PDM_VEC_FREE(&b->consumers);
    return PDM_OK;
}

/* Groups between the first and the last position: those that depend on the merged one go behind it. */
static pdm_status reorder(detector *d, uint32_t merged, uint32_t last)
{
    uint32_t to = d->groups[merged].position;

    d->later.n = 0;
    d->steps += last - to;
    for (uint32_t p = to; p <= last; p++) {
        const uint32_t x = d->at[p];
        d->at[p] = NONE;
        if (x == NONE || x == merged || d->parent[x] != x)
            continue;
        if (d->groups[x].direct == d->stamp || d->groups[x].reached == d->stamp) {
            if (!PDM_VEC_PUSH(&d->later, x))
                return PDM_NOMEM;
            continue;
        }
        d->groups[x].position = to;
        d->at[to++] = x;
    }
    d->groups[merged].position = to;
    d->at[to++] = merged;
    for (size_t i = 0; i < d->later.n; i++) {
        d->groups[d->later.v[i]].position = to;
        d->at[to++] = d->later.v[i];
    }
    return PDM_OK;
}

/* All consumers that the group can absorb, and theirs. */
static pdm_status absorb(detector *d, uint32_t into)
{
    uint32_t last = d->groups[into].position;

    d->stamp++;
    d->queue.n = d->open = 0;
    PDM_TRY(look_behind(d, into, &d->groups[into], true));
    while (d->open > 0) {
        const uint32_t x = dequeue(d);
        group *g = &d->groups[x];
        const bool joins = g->eligible && g->reached != d->stamp;
        d->open -= joins;
        /* A group that had its turn brings nothing that can be absorbed. */
        if (!joins || !g->done || d->open > 0)
            PDM_TRY(look_behind(d, into, g, joins));
        if (!joins)
            continue;
        last = g->position;
        PDM_TRY(merge(d, into, x));
    }
    d->groups[into].done = true;
    return reorder(d, into, last);
}

static pdm_status absorb_all(detector *d)
{
    for (uint32_t p = 0; p < d->num_positions;) {
        const uint32_t g = d->at[p];
        if (g == NONE || !d->groups[g].eligible || d->groups[g].done)
            p++;
        else
            PDM_TRY(absorb(d, g)); /* whatever stands here now comes next */
    }
    return PDM_OK;
}

/* ---- clusters -------------------------------------------------------------------------------- */

static pdm_status collect(detector *d, const pdm_lg_nodes *by_id, pdm_lg_clusters *out)
{
    const size_t n = d->order.n;
    uint32_t *cluster_of = calloc(n + 1, sizeof *cluster_of);
    pdm_lg_node **all = pdm_arena_calloc(&out->arena, n, sizeof *all);

    out->v = pdm_arena_calloc(&out->arena, n, sizeof *out->v);
    if (!cluster_of || !all || !out->v) {
        free(cluster_of);
        return PDM_NOMEM;
    }
    for (size_t p = 0; p < d->num_positions; p++) {
        if (d->at[p] != NONE && d->groups[d->at[p]].eligible)
            cluster_of[d->at[p]] = (uint32_t)out->n++;
    }
    for (size_t i = 0; i < n; i++) {
        if (d->eligible[by_id->v[i]->id])
            out->v[cluster_of[find(d, d->index_of[by_id->v[i]->id])]].num_ops++;
    }
    for (size_t i = 0; i < out->n; i++) {
        out->v[i].ops = all;
        all += out->v[i].num_ops;
        out->v[i].num_ops = 0;
    }
    for (size_t i = 0; i < n; i++) {
        pdm_lg_node *op = by_id->v[i];
        if (!d->eligible[op->id])
            continue;
        pdm_lg_cluster *cluster = &out->v[cluster_of[find(d, d->index_of[op->id])]];
        cluster->ops[cluster->num_ops++] = op;
    }
    free(cluster_of);
    return PDM_OK;
}

static pdm_status detect(detector *d, pdm_diag_sink *sink, pdm_lg_clusters *out)
{
    pdm_lg_nodes by_id = {0};
    uint32_t *rank = NULL;
    pdm_status status;

    PDM_TRY(rank_ops(d->graph, &rank));
    status = pdm_lg_graph_order(d->graph, rank, sink, &d->order);
    free(rank);
    PDM_TRY(status);
    const size_t n = d->order.n;
    d->index_of = calloc(d->graph->nodes.n + 1, sizeof *d->index_of);
    d->parent = calloc(n + 1, sizeof *d->parent);
    d->groups = calloc(n + 1, sizeof *d->groups);
    d->at = calloc(n + 1, sizeof *d->at);
    if (!d->index_of || !d->parent || !d->groups || !d->at)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        d->index_of[d->order.v[i]->id] = (uint32_t)i;
    PDM_TRY(make_groups(d));
    PDM_TRY(absorb_all(d));
    status = pdm_lg_graph_order(d->graph, NULL, sink, &by_id);
    if (status == PDM_OK)
        status = collect(d, &by_id, out);
    PDM_VEC_FREE(&by_id);
    return status;
}

pdm_status pdm_lg_detect(const pdm_lg_graph *graph, const bool *eligible, pdm_diag_sink *sink,
                         pdm_lg_clusters *out_clusters)
{
    detector d = {.graph = graph, .eligible = eligible};

    *out_clusters = (pdm_lg_clusters){.n = 0};
    pdm_arena_init(&out_clusters->arena);
    const pdm_status status = detect(&d, sink, out_clusters);
    out_clusters->steps = d.steps;
    for (size_t i = 0; d.groups && i < d.order.n; i++)
        PDM_VEC_FREE(&d.groups[i].consumers);
    free(d.index_of);
    free(d.parent);
    free(d.groups);
    free(d.at);
    PDM_VEC_FREE(&d.order);
    PDM_VEC_FREE(&d.queue);
    PDM_VEC_FREE(&d.later);
    return status;
}

void pdm_lg_clusters_deinit(pdm_lg_clusters *clusters)
{
    pdm_arena_deinit(&clusters->arena);
    *clusters = (pdm_lg_clusters){.n = 0};
}
