#include "legacy_graph/cinn_table.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "legacy_graph/cinn_pass.h"
#include "legacy_graph/names.h"
#include "legacy_graph/write.h"

typedef struct entry {
    int64_t key;
    size_t holders;
    pdm_lg_graph *graph;
    pdm_buf content;
} entry;

struct pdm_lg_cinn_table {
    pthread_mutex_t lock;
    struct {
        entry *v; /* by ascending key */
        size_t n, cap;
    } entries;
};

pdm_status pdm_lg_cinn_table_create(pdm_lg_cinn_table **out_table)
{
    pdm_lg_cinn_table *table = calloc(1, sizeof *table);

    if (!table)
        return PDM_NOMEM;
    if (pthread_mutex_init(&table->lock, NULL) != 0) {
        free(table);
        return PDM_NOMEM;
    }
    *out_table = table;
    return PDM_OK;
}

static void drop(entry *e)
{
    pdm_lg_graph_destroy(e->graph);
    pdm_buf_deinit(&e->content);
}

void pdm_lg_cinn_table_destroy(pdm_lg_cinn_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->entries.n; i++)
        drop(&table->entries.v[i]);
    PDM_VEC_FREE(&table->entries);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

pdm_lg_cinn_table *pdm_lg_cinn_table_shared(void)
{
    static pdm_lg_cinn_table shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

    return &shared;
}

/* ---- content --------------------------------------------------------------------------------- */

static void put_names(const pdm_lg_graph *graph, const char *attr, pdm_buf *buf)
{
    const pdm_lg_names *names = pdm_lg_graph_get(graph, attr);

    pdm_buf_printf(buf, "%s", attr);
    for (size_t i = 0; names && i < names->n; i++)
        pdm_buf_printf(buf, "\n %s", names->v[i]);
    pdm_buf_putc(buf, '\n');
}

static pdm_status content_of(const pdm_lg_graph *graph, pdm_diag_sink *sink, pdm_buf *buf)
{
    static const char *const attrs[] = {PDM_LG_CINN_INPUT_VARS,     PDM_LG_CINN_NO_NEED_BUFFER,
                                        PDM_LG_CINN_INTERNAL_VARS,  PDM_LG_CINN_OUTPUT_VARS,
                                        PDM_LG_CINN_INPLACE_VARS,   PDM_LG_SKIP_GC_VARS};
    pdm_lg_program *program;

    PDM_TRY(pdm_lg_graph_to_program(graph, sink, &program));
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
        put_names(graph, attrs[i], buf);
    const pdm_status status = pdm_lg_write(program, buf);
    pdm_lg_program_destroy(program);
    return status;
}

static int64_t key_of(const pdm_buf *content)
{
    /* Positive, so that nobody stumbles over a sign. */
    const uint64_t hash = pdm_hash_bytes(content->data, content->size, 0) & INT64_MAX;

    return hash ? (int64_t)hash : 1;
}

pdm_status pdm_lg_cinn_key(const pdm_lg_graph *subgraph, pdm_diag_sink *sink, int64_t *out_key)
{
    pdm_buf content;

    pdm_buf_init(&content);
    const pdm_status status = content_of(subgraph, sink, &content);
    if (status == PDM_OK)
        *out_key = key_of(&content);
    pdm_buf_deinit(&content);
    return status;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Where the key is, or where it would be. */
static size_t place_of(const pdm_lg_cinn_table *table, int64_t key)
{
    size_t low = 0, high = table->entries.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table->entries.v[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static entry *find(pdm_lg_cinn_table *table, int64_t key)
{
    const size_t i = place_of(table, key);

    return i < table->entries.n && table->entries.v[i].key == key ? &table->entries.v[i] : NULL;
}

static pdm_status refuse(pdm_diag_sink *sink, int64_t key, const char *what)
{
    pdm_loc loc = PDM_NOWHERE;

    return pdm_diag(sink, PDM_D_LG_LAUNCH, &loc, NULL, "%s (compilation key %" PRId64 ")", what,
                    key);
}

static bool has_object(const pdm_lg_cinn_table *table, const pdm_lg_graph *graph)
{
    for (size_t i = 0; i < table->entries.n; i++) {
        if (table->entries.v[i].graph == graph)
            return true;
    }
    return false;
}

static bool same_content(const pdm_buf *a, const pdm_buf *b)
{
    return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

typedef enum outcome { INSERTED, SHARED, TWICE, DIFFERS, NO_MEMORY } outcome;

/* Under the lock. */
static outcome insert(pdm_lg_cinn_table *table, const entry *made)
{
    entry *known = find(table, made->key);
    const size_t at = place_of(table, made->key);

    if (has_object(table, made->graph))
        return TWICE;
    if (known && !same_content(&known->content, &made->content))
        return DIFFERS;
    if (known) {
        known->holders++;
        return SHARED;
    }
    if (!PDM_VEC_RESERVE(&table->entries, table->entries.n + 1))
        return NO_MEMORY;
    entry *v = table->entries.v;
    memmove(&v[at + 1], &v[at], (table->entries.n - at) * sizeof *v);
    v[at] = *made;
    table->entries.n++;
    return INSERTED;
}

/* made's graph and content are taken. */
static pdm_status add(pdm_lg_cinn_table *table, entry *made, pdm_diag_sink *sink)
{
    pthread_mutex_lock(&table->lock);
    const outcome result = insert(table, made);
    pthread_mutex_unlock(&table->lock);
    if (result == INSERTED)
        return PDM_OK;
    if (result == TWICE)
        made->graph = NULL; /* the table's */
    drop(made);
    if (result == TWICE)
        return refuse(sink, made->key, "this subgraph is in the table already");
    if (result == DIFFERS)
        return refuse(sink, made->key, "another subgraph has this key");
    return result == SHARED ? PDM_OK : PDM_NOMEM;
}

pdm_status pdm_lg_cinn_table_add_as(pdm_lg_cinn_table *table, int64_t key, pdm_lg_graph *subgraph,
                                    pdm_diag_sink *sink)
{
    entry made = {.key = key, .holders = 1, .graph = subgraph};
    const pdm_status status = content_of(subgraph, sink, &made.content);

    if (status != PDM_OK) {
        pdm_lg_graph_destroy(subgraph);
        pdm_buf_deinit(&made.content);
        return status;
    }
    return add(table, &made, sink);
}

pdm_status pdm_lg_cinn_table_add(pdm_lg_cinn_table *table, pdm_lg_graph *subgraph,
                                 pdm_diag_sink *sink, int64_t *out_key)
{
    entry made = {.holders = 1, .graph = subgraph};
    pdm_status status = content_of(subgraph, sink, &made.content);

    if (status != PDM_OK) {
        pdm_lg_graph_destroy(subgraph);
        pdm_buf_deinit(&made.content);
        return status;
    }
    const int64_t key = made.key = key_of(&made.content);
    status = add(table, &made, sink);
    if (status == PDM_OK)
        *out_key = key;
    return status;
}

pdm_status pdm_lg_cinn_table_get(pdm_lg_cinn_table *table, int64_t key, pdm_diag_sink *sink,
                                 const pdm_lg_graph **out_graph)
{
    pthread_mutex_lock(&table->lock);
    const entry *e = find(table, key);
    const pdm_lg_graph *graph = e ? e->graph : NULL;
    pthread_mutex_unlock(&table->lock);
    if (!graph)
        return refuse(sink, key, "there is no subgraph with this key");
    *out_graph = graph;
    return PDM_OK;
}

pdm_status pdm_lg_cinn_table_hold(pdm_lg_cinn_table *table, int64_t key, pdm_diag_sink *sink)
{
    pthread_mutex_lock(&table->lock);
    entry *e = find(table, key);
    if (e)
        e->holders++;
    pthread_mutex_unlock(&table->lock);
    return e ? PDM_OK : refuse(sink, key, "there is no subgraph with this key");
}

void pdm_lg_cinn_table_release(pdm_lg_cinn_table *table, int64_t key)
{
    entry gone = {.holders = 0};

    pthread_mutex_lock(&table->lock);
    entry *e = find(table, key);
    if (e && --e->holders == 0) {
        gone = *e;
        table->entries.n--;
        memmove(e, e + 1, (size_t)(&table->entries.v[table->entries.n] - e) * sizeof *e);
        if (table->entries.n == 0)
            PDM_VEC_FREE(&table->entries);
    }
    pthread_mutex_unlock(&table->lock);
    drop(&gone);
}

size_t pdm_lg_cinn_table_holders(pdm_lg_cinn_table *table, int64_t key)
{
    pthread_mutex_lock(&table->lock);
    const entry *e = find(table, key);
    const size_t n = e ? e->holders : 0;
    pthread_mutex_unlock(&table->lock);
    return n;
}

size_t pdm_lg_cinn_table_size(pdm_lg_cinn_table *table)
{
    pthread_mutex_lock(&table->lock);
    const size_t n = table->entries.n;
    pthread_mutex_unlock(&table->lock);
    return n;
}
