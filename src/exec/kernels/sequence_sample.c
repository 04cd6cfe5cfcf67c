/*
 * Samples out of graphs, trees and classes: graph_sample_neighbors, weighted_sample_neighbors,
 * graph_khop_sampler, tdm_sampler, class_center_sample. What is left to chance comes from the
 * generator of the run; everything else (all neighbors, positive nodes, padding) is as in the
 * framework.
 */
#include <math.h>

#include "exec/kernels/detection_impl.h"

/* ---- neighbors ------------------------------------------------------------------------------- */

/* Columns of a sparse matrix: neighbors of node n are row[colptr[n]] to row[colptr[n + 1] - 1]. */
typedef struct graph {
    const pdm_tensor *row, *colptr, *eids, *weights;
    int64_t nodes;
} graph;

typedef struct samples {
    pdm_ints neighbors, edges; /* edges: places in row */
} samples;

static bool check_graph(pdm_k *k, graph *g)
{
    if (!PDM_K_OK(k))
        return false;
    const int64_t edges = pdm_tensor_count(g->row);
    g->nodes = pdm_tensor_count(g->colptr) - 1;
    if (g->nodes < 0 || (g->eids && pdm_tensor_count(g->eids) < edges) ||
        (g->weights && pdm_tensor_count(g->weights) < edges)) {
        pdm_k_fail(k, "the graph's operands do not fit together");
        return false;
    }
    for (int64_t i = 0; i <= g->nodes; i++) {
        const int64_t at = pdm_get_int(g->colptr, i);
        if (at < (i ? pdm_get_int(g->colptr, i - 1) : 0) || at > edges) {
            pdm_k_fail(k, "colptr does not ascend within %lld edges", (long long)edges);
            return false;
        }
    }
    return true;
}

static int64_t below(pdm_rng *rng, int64_t n)
{
    return (int64_t)(pdm_rng_uniform(rng) * (double)n);
}

/* `size` of n edges from `begin` on, each as likely as the other, or by weight (the largest of
 * log(u) / weight). chosen: room for size. */
static void choose(pdm_k *k, const graph *g, int64_t begin, int64_t n, int64_t size,
                   int64_t *chosen, double *keys)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        if (g->weights) {
            const double key = log(1 - pdm_rng_uniform(k->rng)) /
                               fmax(pdm_get_double(g->weights, begin + i), 1e-300);
            if (i >= size) { /* in place of the smallest, when that is smaller */
                at = 0;
                for (int64_t j = 1; j < size; j++)
                    at = keys[j] < keys[at] ? j : at;
                if (key <= keys[at])
                    continue;
            }
            keys[at] = key;
        } else if (i >= size) {
            at = below(k->rng, i + 1);
            if (at >= size)
                continue;
        }
        chosen[at] = begin + i;
    }
}

/* Add neighbors of a node: all, or `size` of them (negative: all). Returns how many. */
static int64_t sample_node(pdm_k *k, pdm_arena *arena, const graph *g, int64_t node, int64_t size,
                           samples *out)
{
    if (node < 0 || node >= g->nodes) {
        pdm_k_fail(k, "node %lld does not exist", (long long)node);
        return 0;
    }
    const int64_t begin = pdm_get_int(g->colptr, node);
    const int64_t n = pdm_get_int(g->colptr, node + 1) - begin;
    const bool all = size < 0 || size >= n;
    const int64_t count = all ? n : size;
    int64_t *chosen = NULL;

    if (!all && !k->rng) {
        pdm_k_fail(k, "there is no random generator");
        return 0;
    }
    if (!all) {
        chosen = pdm_k_scratch(k, arena, size, sizeof *chosen);
        double *keys = pdm_k_scratch(k, arena, size, sizeof *keys);
        if (chosen && keys)
            choose(k, g, begin, n, size, chosen, keys);
    }
    for (int64_t i = 0; PDM_K_OK(k) && i < count; i++) {
        const int64_t edge = all ? begin + i : chosen[i];
        if (!pdm_ints_push(k, arena, &out->neighbors, pdm_get_int(g->row, edge)) ||
            !pdm_ints_push(k, arena, &out->edges, g->eids ? pdm_get_int(g->eids, edge) : edge))
            return 0;
    }
    return count;
}

static void put_ints(pdm_k *k, size_t index, pdm_dtype dtype, const int64_t *from, int64_t n,
                     bool column)
{
    if (!PDM_K_OK(k) || !pdm_k_wants(k, index) ||
        !pdm_k_out(k, index, dtype, column ? 2 : 1, PDM_DIMS(n, 1)))
        return;
    for (int64_t i = 0; i < n; i++)
        pdm_set_int(pdm_k_out_tensor(k, index), i, from[i]);
}

static pdm_status sample_all(pdm_k *k, graph *g, const pdm_tensor *x)
{
    const int64_t size = pdm_k_int(k, "sample_size");
    const bool with_edges = pdm_k_bool(k, "return_eids");
    samples out = {0};
    pdm_arena arena;

    if (!check_graph(k, g))
        return k->status;
    if (with_edges && !g->eids)
        return pdm_k_fail(k, "there are no edge numbers to return");
    const int64_t n = pdm_tensor_count(x);
    pdm_arena_init(&arena);
    int64_t *counts = pdm_k_scratch(k, &arena, n, sizeof *counts);
    for (int64_t i = 0; PDM_K_OK(k) && i < n; i++)
        counts[i] = sample_node(k, &arena, g, pdm_get_int(x, i), size, &out);
    put_ints(k, 0, g->row->dtype, out.neighbors.at, out.neighbors.count, false);
    put_ints(k, 1, PDM_I32, counts, n, false);
    put_ints(k, 2, g->row->dtype, out.edges.at, with_edges ? out.edges.count : 0, false);
    pdm_arena_deinit(&arena);
    return k->status;
}

pdm_status pdm_kernel_graph_sample_neighbors(pdm_k *k)
{
    graph g = {.row = pdm_k_in(k, 0), .colptr = pdm_k_in(k, 1), .eids = pdm_k_in_opt(k, 3)};
    const pdm_tensor *x = pdm_k_in(k, 2);

    return PDM_K_OK(k) ? sample_all(k, &g, x) : k->status;
}

pdm_status pdm_kernel_weighted_sample_neighbors(pdm_k *k)
{
    graph g = {.row = pdm_k_in(k, 0),
               .colptr = pdm_k_in(k, 1),
               .eids = pdm_k_in_opt(k, 4),
               .weights = pdm_k_in(k, 2)};
    const pdm_tensor *x = pdm_k_in(k, 3);

    return PDM_K_OK(k) ? sample_all(k, &g, x) : k->status;
}

/* ---- hops ------------------------------------------------------------------------------------ */

typedef struct hops {
    int64_t *place; /* of each node of the graph, plus 1; 0: not met yet */
    pdm_ints nodes; /* in the order of their places */
    pdm_ints src, dst;
    samples found;
} hops;

static int64_t place_of(pdm_k *k, pdm_arena *arena, hops *h, int64_t nodes, int64_t node)
{
    if (node < 0 || node >= nodes) {
        pdm_k_fail(k, "node %lld does not exist", (long long)node);
        return 0;
    }
    if (!h->place[node] && pdm_ints_push(k, arena, &h->nodes, node))
        h->place[node] = h->nodes.count;
    return h->place[node] - 1;
}

/* Neighbors of the nodes with places [first, last). */
static void hop(pdm_k *k, pdm_arena *arena, const graph *g, int64_t size, int64_t first,
                int64_t last, hops *h)
{
    for (int64_t i = first; PDM_K_OK(k) && i < last; i++) {
        const int64_t from = h->found.neighbors.count;
        const int64_t n = sample_node(k, arena, g, h->nodes.at[i], size, &h->found);
        for (int64_t j = 0; PDM_K_OK(k) && j < n; j++) {
            const int64_t at = place_of(k, arena, h, g->nodes, h->found.neighbors.at[from + j]);
            if (!pdm_ints_push(k, arena, &h->src, at) || !pdm_ints_push(k, arena, &h->dst, i))
                return;
        }
    }
}

pdm_status pdm_kernel_graph_khop_sampler(pdm_k *k)
{
    graph g = {.row = pdm_k_in(k, 0), .colptr = pdm_k_in(k, 1), .eids = pdm_k_in_opt(k, 3)};
    const pdm_tensor *x = pdm_k_in(k, 2);
    const bool with_edges = pdm_k_bool(k, "return_eids");
    int64_t sizes[PDM_K_MAX_INTS];
    const size_t num = pdm_k_ints(k, "sample_sizes", sizes);
    hops h = {0};
    pdm_arena arena;

    if (!PDM_K_OK(k) || !check_graph(k, &g))
        return k->status;
    if (with_edges && !g.eids)
        return pdm_k_fail(k, "there are no edge numbers to return");
    const int64_t n = pdm_tensor_count(x);
    pdm_arena_init(&arena);
    h.place = pdm_k_scratch(k, &arena, g.nodes, sizeof *h.place);
    int64_t *own = pdm_k_scratch(k, &arena, n, sizeof *own);
    for (int64_t i = 0; PDM_K_OK(k) && i < n; i++)
        own[i] = place_of(k, &arena, &h, g.nodes, pdm_get_int(x, i));
    int64_t first = 0;
    for (size_t i = 0; PDM_K_OK(k) && i < num; i++) {
        const int64_t last = h.nodes.count;
        hop(k, &arena, &g, sizes[i], first, last, &h);
        first = last;
    }
    const pdm_dtype dtype = g.row->dtype;
    put_ints(k, 0, dtype, h.src.at, h.src.count, true);
    put_ints(k, 1, dtype, h.dst.at, h.dst.count, true);
    put_ints(k, 2, dtype, h.nodes.at, h.nodes.count, false);
    put_ints(k, 3, dtype, own, n, false);
    put_ints(k, 4, dtype, h.found.edges.at, with_edges ? h.found.edges.count : 0, false);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- tdm_sampler ----------------------------------------------------------------------------- */

typedef struct layers {
    const pdm_tensor *x, *travel, *layer;
    int64_t offset[PDM_K_MAX_INTS], negatives[PDM_K_MAX_INTS];
    size_t num; /* layers */
    bool positive;
    int64_t width; /* samples of a row of x */
} layers;

static bool read_layers(pdm_k *k, layers *l)
{
    l->x = pdm_k_in(k, 0);
    l->travel = pdm_k_in(k, 1);
    l->layer = pdm_k_in(k, 2);
    l->positive = pdm_k_bool(k, "output_positive");
    l->num = pdm_k_ints(k, "neg_samples_num_list", l->negatives);
    const size_t offsets = pdm_k_ints(k, "layer_offset", l->offset);

    if (!pdm_k_rank_is(k, l->travel, 2, "the travel") || !PDM_K_OK(k))
        return false;
    if (offsets != l->num + 1 || l->travel->dims[1] != (int64_t)l->num || l->x->rank < 1)
        pdm_k_fail(k, "%zu layers and %zu offsets do not fit a tree of %lld", l->num, offsets,
                   (long long)l->travel->dims[1]);
    for (size_t i = 0; PDM_K_OK(k) && i < l->num; i++) {
        const int64_t n = l->offset[i + 1] - l->offset[i];
        if (l->offset[i] < 0 || n < 0 || l->offset[i + 1] > pdm_tensor_count(l->layer) ||
            l->negatives[i] < 0 || l->negatives[i] >= (n > 1 ? n : 1))
            pdm_k_fail(k, "layer %zu has %lld nodes for %lld negative samples", i, (long long)n,
                       (long long)l->negatives[i]);
        l->width += l->negatives[i] + l->positive;
    }
    return PDM_K_OK(k);
}

/* A node of layer i that is neither the positive one nor among those taken. */
static int64_t negative(pdm_k *k, const layers *l, size_t i, int64_t positive, const int64_t *taken,
                        int64_t n, int64_t *out_place)
{
    const int64_t nodes = l->offset[i + 1] - l->offset[i];

    for (int64_t place = below(k->rng, nodes), tries = 0; tries < nodes; tries++) {
        const int64_t node = pdm_get_int(l->layer, l->offset[i] + place);
        bool free = node != positive;
        for (int64_t j = 0; free && j < n; j++)
            free = taken[j] != place;
        *out_place = place;
        if (free)
            return node;
        place = (place + 1) % nodes;
    }
    pdm_k_fail(k, "layer %zu has not enough nodes", i);
    return 0;
}

static void put3(pdm_tensor *const out[3], int64_t at, int64_t node, bool label, bool mask)
{
    const int64_t values[3] = {node, label, mask};

    for (int i = 0; i < 3; i++)
        if (out[i])
            pdm_set_int(out[i], at, values[i]);
}

static void sample_row(pdm_k *k, const layers *l, int64_t row, int64_t *taken,
                       pdm_tensor *const out[3])
{
    const int64_t leaf = pdm_get_int(l->x, row);
    int64_t at = row * l->width;

    if (leaf < 0 || leaf >= l->travel->dims[0]) {
        pdm_k_fail(k, "leaf %lld does not exist", (long long)leaf);
        return;
    }
    for (size_t i = 0; i < l->num; i++) {
        const int64_t positive = pdm_get_int(l->travel, leaf * (int64_t)l->num + (int64_t)i);
        const bool padding = positive == 0;
        if (l->positive)
            put3(out, at++, positive, !padding, !padding);
        for (int64_t j = 0; PDM_K_OK(k) && j < l->negatives[i]; j++) {
            int64_t node = 0;
            if (!padding)
                node = negative(k, l, i, positive, taken, j, &taken[j]);
            put3(out, at++, node, false, !padding);
        }
    }
}

pdm_status pdm_kernel_tdm_sampler(pdm_k *k)
{
    layers l = {0};
    const pdm_dtype dtype = pdm_k_dtype(k, "dtype") == PDM_I64 ? PDM_I64 : PDM_I32;
    int64_t most = 0;
    pdm_arena arena;

    if (!read_layers(k, &l))
        return k->status;
    if (!k->rng)
        return pdm_k_fail(k, "there is no random generator");
    for (size_t i = 0; i < l.num; i++)
        most = l.negatives[i] > most ? l.negatives[i] : most;
    const int64_t rows = pdm_tensor_count(l.x);
    pdm_arena_init(&arena);
    int64_t *taken = pdm_k_scratch(k, &arena, most, sizeof *taken);
    pdm_tensor *out[3] = {0};
    for (size_t i = 0; PDM_K_OK(k) && i < 3; i++)
        if (pdm_k_wants(k, i) && pdm_k_out(k, i, dtype, 2, PDM_DIMS(rows, l.width)))
            out[i] = pdm_k_out_tensor(k, i);
    for (int64_t row = 0; PDM_K_OK(k) && row < rows; row++)
        sample_row(k, &l, row, taken, out);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- class_center_sample --------------------------------------------------------------------- */

/* The classes that occur, ascending, then others by chance until there are enough; labels by place.
 */
pdm_status pdm_kernel_class_center_sample(pdm_k *k)
{
    const pdm_tensor *label = pdm_k_in(k, 0);
    const int64_t classes = pdm_k_int(k, "num_classes"), wanted = pdm_k_int(k, "num_samples");
    pdm_rng own, *rng = k->rng;
    pdm_arena arena;

    if (!PDM_K_OK(k))
        return k->status;
    if (classes < 1 || classes > INT32_MAX || wanted > classes || pdm_k_int(k, "nranks") != 1)
        return pdm_k_fail(k, "%lld of %lld classes", (long long)wanted, (long long)classes);
    if (pdm_k_bool(k, "fix_seed")) {
        pdm_rng_seed(&own, (uint64_t)pdm_k_int(k, "seed"));
        rng = &own;
    }
    pdm_arena_init(&arena);
    const int64_t n = pdm_tensor_count(label);
    int64_t *place = pdm_k_scratch(k, &arena, classes, sizeof *place); /* plus 1 */
    int64_t *order = pdm_k_scratch(k, &arena, classes, sizeof *order), count = 0;
    for (int64_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const int64_t c = pdm_get_int(label, i);
        if (c < 0 || c >= classes)
            pdm_k_fail(k, "class %lld does not exist", (long long)c);
        else
            place[c] = 1;
    }
    for (int64_t c = 0; PDM_K_OK(k) && c < classes; c++) {
        if (!place[c])
            continue;
        order[count++] = c;
        place[c] = count;
    }
    int64_t rest = count;
    for (int64_t c = 0; PDM_K_OK(k) && c < classes; c++)
        if (!place[c])
            order[rest++] = c;
    for (; PDM_K_OK(k) && rng && count < wanted; count++) {
        const int64_t other = count + below(rng, classes - count), swap = order[count];
        order[count] = order[other];
        order[other] = swap;
    }
    if (PDM_K_OK(k) && pdm_k_wants(k, 0) && pdm_k_out(k, 0, label->dtype, 1, &n))
        for (int64_t i = 0; i < n; i++)
            pdm_set_int(pdm_k_out_tensor(k, 0), i, place[pdm_get_int(label, i)] - 1);
    put_ints(k, 1, label->dtype, order, count, false);
    pdm_arena_deinit(&arena);
    return k->status;
}
