/* Graphs as lists of edges: send_u_recv, send_ue_recv, send_uv, segment_pool, reindex_graph. */
#include "exec/kernels/scratch.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

/* How the numbers of a row of x and a row of y meet: dims joined by broadcasting. */
typedef struct meeting {
    int64_t count; /* numbers of a joined row */
    int rank;
    int64_t dims[PDM_MAX_RANK]; /* of a joined row */
    int64_t *x, *y;             /* for each number of a joined row: which of x's row, of y's */
    int64_t x_row, y_row;
} meeting;

static bool meet(pdm_k *k, pdm_arena *arena, const pdm_tensor *x, const pdm_tensor *y, meeting *m)
{
    const int rx = x->rank - 1, ry = y->rank - 1;
    int64_t sx[PDM_MAX_RANK], sy[PDM_MAX_RANK];

    m->rank = rx > ry ? rx : ry;
    m->x_row = pdm_k_row_size(x);
    m->y_row = pdm_k_row_size(y);
    int64_t next_x = 1, next_y = 1;
    for (int i = 0; i < m->rank; i++) { /* from the right */
        const int64_t dx = i < rx ? x->dims[x->rank - 1 - i] : 1;
        const int64_t dy = i < ry ? y->dims[y->rank - 1 - i] : 1;
        const int at = m->rank - 1 - i;
        if (dx != dy && dx != 1 && dy != 1) {
            pdm_k_fail(k, "dimensions %lld and %lld do not go together", (long long)dx,
                       (long long)dy);
            return false;
        }
        m->dims[at] = dx == 1 ? dy : dx;
        sx[at] = dx == 1 ? 0 : next_x;
        sy[at] = dy == 1 ? 0 : next_y;
        next_x *= dx;
        next_y *= dy;
    }
    uint64_t count;
    if (!pdm_count_elements(m->dims, (size_t)m->rank, &count) || count > INT64_MAX / 16) {
        pdm_k_fail(k, "rows are too large");
        return false;
    }
    m->count = (int64_t)count;
    m->x = pdm_k_scratch(k, arena, m->count, sizeof *m->x);
    m->y = pdm_k_scratch(k, arena, m->count, sizeof *m->y);
    for (int64_t i = 0; PDM_K_OK(k) && i < m->count; i++) {
        int64_t left = i;
        for (int d = m->rank - 1; d >= 0; d--) {
            m->x[i] += left % m->dims[d] * sx[d];
            m->y[i] += left % m->dims[d] * sy[d];
            left /= m->dims[d];
        }
    }
    return PDM_K_OK(k);
}

/* ---- sending --------------------------------------------------------------------------------- */

typedef enum reduction { SUM, MEAN, MAX, MIN, NUM_REDUCTIONS } reduction;

static const char *const reduction_names[] = {"SUM", "MEAN", "MAX", "MIN"};

static int find_reduction(pdm_k *k, const char *name)
{
    for (int i = 0; i < NUM_REDUCTIONS; i++)
        if (!strcmp(name, reduction_names[i]))
            return i;
    pdm_k_fail(k, "there is no reduction '%s'", name);
    return 0;
}

typedef struct edges {
    const pdm_tensor *src, *dst;
    int64_t count;
} edges;

static bool read_edges(pdm_k *k, edges *e, size_t operand, int64_t sources, int64_t targets)
{
    e->src = pdm_k_in(k, operand);
    e->dst = pdm_k_in(k, operand + 1);
    if (!PDM_K_OK(k))
        return false;
    e->count = pdm_tensor_count(e->src);
    if (pdm_tensor_count(e->dst) != e->count)
        pdm_k_fail(k, "there are not as many sources as destinations");
    for (int64_t i = 0; PDM_K_OK(k) && i < e->count; i++) {
        const int64_t from = pdm_get_int(e->src, i), to = pdm_get_int(e->dst, i);
        if (from < 0 || from >= sources || to < 0 || to >= targets)
            pdm_k_fail(k, "edge %lld goes from %lld to %lld", (long long)i, (long long)from,
                       (long long)to);
    }
    return PDM_K_OK(k);
}

/* Sums of floats are kept as the element type, edge by edge, as the framework adds. */
#define SEND(code, suffix, type, acc, load, store, ...)                                            \
    static acc message_##suffix(acc a, acc b, bool multiply)                                       \
    {                                                                                              \
        return multiply ? (acc)(a * b) : (acc)(a + b);                                             \
    }                                                                                              \
                                                                                                   \
    /* y NULL: rows of x as they are */                                                            \
    static void send_##suffix(const edges *e, const meeting *m, bool multiply, reduction how,      \
                              const type *x, const type *y, int64_t rows, int32_t *counts,         \
                              type *out)                                                           \
    {                                                                                              \
        memset(out, 0, (size_t)(rows * m->count) * sizeof *out);                                   \
        for (int64_t i = 0; i < e->count; i++) {                                                   \
            const type *from = x + pdm_get_int(e->src, i) * m->x_row;                              \
            const int64_t to = pdm_get_int(e->dst, i);                                             \
            type *at = out + to * m->count;                                                        \
            for (int64_t j = 0; j < m->count; j++) {                                               \
                acc v = load(from[y ? m->x[j] : j]);                                               \
                if (y)                                                                             \
                    v = message_##suffix(v, load(y[i * m->y_row + m->y[j]]), multiply);            \
                const acc old = load(at[j]);                                                       \
                if (how == SUM || how == MEAN)                                                     \
                    at[j] = store((acc)(old + v));                                                 \
                else if (counts[to] == 0 || (how == MAX ? v > old : v < old))                      \
                    at[j] = store(v);                                                              \
            }                                                                                      \
            counts[to]++;                                                                          \
        }                                                                                          \
        for (int64_t i = 0; how == MEAN && i < rows * m->count; i++)                               \
            if (counts[i / m->count] > 0)                                                          \
                out[i] = store((acc)(load(out[i]) / (acc)counts[i / m->count]));                   \
    }                                                                                              \
                                                                                                   \
    static void meet_ends_##suffix(const edges *e, const meeting *m, bool multiply, const type *x, \
                                   const type *y, type *out)                                       \
    {                                                                                              \
        for (int64_t i = 0; i < e->count; i++) {                                                   \
            const type *a = x + pdm_get_int(e->src, i) * m->x_row;                                 \
            const type *b = y + pdm_get_int(e->dst, i) * m->y_row;                                 \
            for (int64_t j = 0; j < m->count; j++)                                                 \
                *out++ = store(message_##suffix(load(a[m->x[j]]), load(b[m->y[j]]), multiply));    \
        }                                                                                          \
    }
PDM_K_F32_F64(SEND)
SEND(PDM_I32, i32, int32_t, int32_t, PDM_K_SAME, PDM_K_SAME, 0)
SEND(PDM_I64, i64, int64_t, int64_t, PDM_K_SAME, PDM_K_SAME, 0)
#define SENDABLE(X, ...)                                                                           \
    PDM_K_F32_F64(X, __VA_ARGS__)                                                                  \
    X(PDM_I32, i32, int32_t, int32_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                         \
    X(PDM_I64, i64, int64_t, int64_t, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)

static bool multiplies(pdm_k *k)
{
    const char *op = pdm_k_str(k, "message_op");

    if (PDM_K_OK(k) && strcmp(op, "ADD") && strcmp(op, "MUL"))
        pdm_k_fail(k, "there is no message '%s'", op);
    return !strcmp(op, "MUL");
}

/* y NULL: send_u_recv. operand: the first one behind x and y. */
static pdm_status send_all(pdm_k *k, const pdm_tensor *x, const pdm_tensor *y, size_t operand)
{
    const bool multiply = y && multiplies(k);
    const int how = find_reduction(k, pdm_k_str(k, "reduce_op"));
    const int64_t size = pdm_k_in_int(k, operand + 2, 0);
    int64_t dims[PDM_MAX_RANK + 1];
    meeting m = {0};
    edges e;
    pdm_arena arena;

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank < 1 || (y && (y->rank < 1 || y->dtype != x->dtype)))
        return pdm_k_fail(k, "operands do not fit together");
    dims[0] = size > 0 ? size : x->dims[0];
    if (!read_edges(k, &e, operand, x->dims[0], dims[0]))
        return k->status;
    if (y && y->dims[0] != e.count)
        return pdm_k_fail(k, "there are %lld rows for %lld edges", (long long)y->dims[0],
                          (long long)e.count);
    pdm_arena_init(&arena);
    if (y) {
        meet(k, &arena, x, y, &m);
        memcpy(dims + 1, m.dims, (size_t)m.rank * sizeof *dims);
    } else {
        m.rank = x->rank - 1;
        m.count = m.x_row = pdm_k_row_size(x);
        memcpy(dims + 1, x->dims + 1, (size_t)m.rank * sizeof *dims);
    }
    int32_t *counts = pdm_k_scratch(k, &arena, dims[0], sizeof *counts);
    void *out = PDM_K_OK(k) ? pdm_k_out(k, 0, x->dtype, m.rank + 1, dims) : NULL;
    if (out)
        PDM_K_DISPATCH(k, x->dtype, SENDABLE, send, &e, &m, multiply, (reduction)how, x->data,
                       y ? y->data : NULL, dims[0], counts, out);
    int32_t *told = PDM_K_OK(k) && pdm_k_wants(k, 1)
                        ? pdm_k_out(k, 1, PDM_I32, 1, PDM_DIMS(how == MEAN ? dims[0] : 1))
                        : NULL;
    if (told && how == MEAN)
        memcpy(told, counts, (size_t)dims[0] * sizeof *told);
    else if (told)
        *told = 0;
    pdm_arena_deinit(&arena);
    return k->status;
}

pdm_status pdm_kernel_send_u_recv(pdm_k *k)
{
    return send_all(k, pdm_k_in(k, 0), NULL, 1);
}

pdm_status pdm_kernel_send_ue_recv(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);

    return PDM_K_OK(k) ? send_all(k, x, y, 2) : k->status;
}

pdm_status pdm_kernel_send_uv(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    const bool multiply = multiplies(k);
    int64_t dims[PDM_MAX_RANK + 1];
    meeting m = {0};
    edges e;
    pdm_arena arena;

    if (!pdm_k_same_dtype(k, x, y))
        return k->status;
    if (x->rank < 1 || y->rank < 1)
        return pdm_k_fail(k, "operands have no rows");
    if (!read_edges(k, &e, 2, x->dims[0], y->dims[0]))
        return k->status;
    pdm_arena_init(&arena);
    if (meet(k, &arena, x, y, &m)) {
        dims[0] = e.count;
        memcpy(dims + 1, m.dims, (size_t)m.rank * sizeof *dims);
        void *out = pdm_k_out(k, 0, x->dtype, m.rank + 1, dims);
        if (out)
            PDM_K_DISPATCH(k, x->dtype, SENDABLE, meet_ends, &e, &m, multiply, x->data, y->data,
                           out);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- segment_pool ---------------------------------------------------------------------------- */

/* Segment of each row, ascending; the number of segments. */
static int64_t check_segments(pdm_k *k, const pdm_tensor *ids, int64_t rows)
{
    int64_t last = 0;

    if (pdm_tensor_count(ids) != rows || rows == 0) {
        pdm_k_fail(k, "there are %lld segment numbers for %lld rows",
                   (long long)pdm_tensor_count(ids), (long long)rows);
        return 0;
    }
    for (int64_t i = 0; i < rows; i++) {
        const int64_t id = pdm_get_int(ids, i);
        if (id < last || id > INT32_MAX) {
            pdm_k_fail(k, "segment numbers do not ascend: %lld after %lld", (long long)id,
                       (long long)last);
            return 0;
        }
        last = id;
    }
    return last + 1;
}

pdm_status pdm_kernel_segment_pool(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *ids = pdm_k_in(k, 1);
    const int how = find_reduction(k, pdm_k_str(k, "pooltype"));
    int64_t dims[PDM_MAX_RANK];
    pdm_arena arena;

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank < 1)
        return pdm_k_fail(k, "the operand has no rows");
    memcpy(dims, x->dims, sizeof dims);
    dims[0] = check_segments(k, ids, x->dims[0]);
    if (!PDM_K_OK(k))
        return k->status;
    pdm_arena_init(&arena);
    int64_t *numbers = pdm_k_scratch(k, &arena, x->dims[0], sizeof *numbers);
    int32_t *counts = pdm_k_scratch(k, &arena, dims[0], sizeof *counts);
    for (int64_t i = 0; numbers && i < x->dims[0]; i++)
        numbers[i] = i;
    const pdm_tensor rows = {.dtype = PDM_I64, .rank = 1, .dims = {x->dims[0]}, .data = numbers};
    const edges e = {&rows, ids, x->dims[0]};
    const meeting m = {.count = pdm_k_row_size(x), .x_row = pdm_k_row_size(x)};
    void *out = PDM_K_OK(k) ? pdm_k_out(k, 0, x->dtype, x->rank, dims) : NULL;
    if (out)
        PDM_K_DISPATCH(k, x->dtype, SENDABLE, send, &e, &m, false, (reduction)how, x->data, NULL,
                       dims[0], counts, out);
    if (PDM_K_OK(k) && how == MEAN && pdm_k_wants(k, 1) &&
        pdm_k_out(k, 1, x->dtype, 2, PDM_DIMS(dims[0], 1))) {
        for (int64_t i = 0; i < dims[0]; i++)
            pdm_set_int(pdm_k_out_tensor(k, 1), i, counts[i]);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- reindex_graph --------------------------------------------------------------------------- */

/* Node numbers -> places, open addressing. */
typedef struct places {
    int64_t *keys, *values;
    int64_t mask, count;
} places;

/* The place of a node; a new one gets the next. */
static int64_t place_of(places *p, int64_t node, bool *out_new)
{
    int64_t i = (int64_t)((uint64_t)node * 0x9e3779b97f4a7c15u >> 32) & p->mask;

    while (p->values[i] && p->keys[i] != node)
        i = (i + 1) & p->mask;
    *out_new = p->values[i] == 0;
    if (*out_new) {
        p->keys[i] = node;
        p->values[i] = ++p->count;
    }
    return p->values[i] - 1;
}

pdm_status pdm_kernel_reindex_graph(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *neighbors = pdm_k_in(k, 1), *count = pdm_k_in(k, 2);
    pdm_arena arena;
    places p = {0};

    if (!PDM_K_OK(k))
        return k->status;
    const int64_t n = pdm_tensor_count(x), m = pdm_tensor_count(neighbors);
    const int64_t rows = pdm_tensor_count(count);
    int64_t all = 0, room = 16;
    if (n < 1 || rows % n || n > INT32_MAX || m > INT32_MAX)
        return pdm_k_fail(k, "there are %lld counts for %lld nodes", (long long)rows, (long long)n);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t c = pdm_get_int(count, i);
        if (c < 0 || c > m - all)
            return pdm_k_fail(k, "counts do not add up to %lld neighbors", (long long)m);
        all += c;
    }
    if (all != m)
        return pdm_k_fail(k, "counts do not add up to %lld neighbors", (long long)m);
    while (room < 2 * (n + m))
        room *= 2;
    pdm_arena_init(&arena);
    p.mask = room - 1;
    p.keys = pdm_k_scratch(k, &arena, room, sizeof *p.keys);
    p.values = pdm_k_scratch(k, &arena, room, sizeof *p.values);
    int64_t *nodes = pdm_k_scratch(k, &arena, n + m, sizeof *nodes);
    pdm_tensor *out[3] = {0};
    for (size_t i = 0; i < 2; i++)
        if (pdm_k_wants(k, i) && pdm_k_out(k, i, x->dtype, 1, &m))
            out[i] = pdm_k_out_tensor(k, i);
    bool is_new;
    for (int64_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const int64_t at = place_of(&p, pdm_get_int(x, i), &is_new);
        nodes[at] = pdm_get_int(x, i);
    }
    for (int64_t i = 0; PDM_K_OK(k) && i < m; i++) {
        const int64_t at = place_of(&p, pdm_get_int(neighbors, i), &is_new);
        nodes[at] = pdm_get_int(neighbors, i);
        if (out[0])
            pdm_set_int(out[0], i, at);
    }
    for (int64_t i = 0, e = 0; PDM_K_OK(k) && out[1] && i < rows; i++)
        for (int64_t c = pdm_get_int(count, i); c > 0; c--)
            pdm_set_int(out[1], e++, i % n);
    if (PDM_K_OK(k) && pdm_k_wants(k, 2) && pdm_k_out(k, 2, x->dtype, 1, &p.count))
        for (int64_t i = 0; i < p.count; i++)
            pdm_set_int(pdm_k_out_tensor(k, 2), i, nodes[i]);
    pdm_arena_deinit(&arena);
    return k->status;
}
