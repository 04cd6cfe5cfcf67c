#include "legacy_graph/cinn_table.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "legacy_graph/cinn_mem_opt.h"
#include "legacy_graph/cinn_pass.h"
#include "legacy_graph/names.h"
#include "legacy_graph/write.h"

typedef struct entry {
    struct entry *next; /* another key that is the same as a pointer */
    int64_t key;
    size_t holders;
    pdm_lg_graph *graph;
    pdm_buf content;
} entry;

struct pdm_lg_cinn_table {
    pthread_mutex_t lock;
    pdm_map by_key;    /* key as a pointer -> entries */
    pdm_map by_object; /* graph -> entry */
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
    if (!e)
        return;
    pdm_lg_graph_destroy(e->graph);
    pdm_buf_deinit(&e->content);
    free(e);
}

void pdm_lg_cinn_table_destroy(pdm_lg_cinn_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->by_object.capacity; i++) {
        if (table->by_object.entries[i].key)
            drop(table->by_object.entries[i].value.ptr);
    }
    pdm_map_deinit(&table->by_key);
    pdm_map_deinit(&table->by_object);
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

    pdm_buf_puts(buf, attr);
    for (size_t i = 0; names && i < names->n; i++) { /* quoted: names may hold anything */
        pdm_buf_putc(buf, ' ');
        pdm_buf_json_string(buf, names->v[i], strlen(names->v[i]));
    }
    pdm_buf_putc(buf, '\n');
}

static void put_records(const pdm_lg_graph *graph, pdm_buf *buf)
{
    const pdm_lg_mem_opt *records = pdm_lg_graph_get(graph, PDM_LG_CINN_MEM_OPT);

    for (size_t i = 0; records && i < records->names->n; i++) {
        pdm_buf_json_string(buf, records->names->v[i], strlen(records->names->v[i]));
        pdm_buf_printf(buf, " %" PRIu32 "\n", records->counts.v[i]);
    }
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
    put_records(graph, buf);
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

/* Not NULL: pointers may be shorter than keys. */
static const void *pointer_of(int64_t key)
{
    return (const void *)((uintptr_t)key | 1);
}

static entry *find(const pdm_lg_cinn_table *table, int64_t key)
{
    const pdm_map_entry *head = pdm_map_find(&table->by_key, pointer_of(key));
    entry *e = head ? head->value.ptr : NULL;

    while (e && e->key != key)
        e = e->next;
    return e;
}

static pdm_status refuse(pdm_diag_sink *sink, int64_t key, const char *what)
{
    pdm_loc loc = PDM_NOWHERE;

    return pdm_diag(sink, PDM_D_LG_LAUNCH, &loc, NULL, "%s (compilation key %" PRId64 ")", what,
                    key);
}

static bool same_content(const pdm_buf *a, const pdm_buf *b)
{
    return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

/* The table of the process leaves nothing behind. Under the lock. */
static void trim(pdm_lg_cinn_table *table)
{
    if (table->by_object.count > 0)
        return;
    pdm_map_deinit(&table->by_key);
    pdm_map_deinit(&table->by_object);
}

typedef enum outcome { INSERTED, SHARED, TWICE, DIFFERS, NO_MEMORY } outcome;

/* Under the lock. */
static outcome insert(pdm_lg_cinn_table *table, entry *made)
{
    entry *known = find(table, made->key);

    if (pdm_map_find(&table->by_object, made->graph))
        return TWICE;
    if (known && !same_content(&known->content, &made->content))
        return DIFFERS;
    if (known) {
        known->holders++;
        return SHARED;
    }
    pdm_map_entry *object = pdm_map_put(&table->by_object, made->graph);
    if (!object) {
        trim(table);
        return NO_MEMORY;
    }
    object->value.ptr = made;
    pdm_map_entry *head = pdm_map_put(&table->by_key, pointer_of(made->key));
    if (!head) {
        pdm_map_remove(&table->by_object, made->graph);
        trim(table);
        return NO_MEMORY;
    }
    made->next = head->value.ptr;
    head->value.ptr = made;
    return INSERTED;
}

/* made is taken, and its graph too unless the table has it already. */
static pdm_status add(pdm_lg_cinn_table *table, entry *made, pdm_diag_sink *sink)
{
    const int64_t key = made->key;

    pthread_mutex_lock(&table->lock);
    const outcome result = insert(table, made);
    pthread_mutex_unlock(&table->lock);
    if (result == INSERTED)
        return PDM_OK;
    if (result == TWICE)
        made->graph = NULL; /* the table's */
    drop(made);
    if (result == TWICE)
        return refuse(sink, key, "this subgraph is in the table already");
    if (result == DIFFERS)
        return refuse(sink, key, "another subgraph has this key");
    return result == SHARED ? PDM_OK : PDM_NOMEM;
}

static bool has_object(pdm_lg_cinn_table *table, const pdm_lg_graph *graph)
{
    pthread_mutex_lock(&table->lock);
    const bool has = pdm_map_find(&table->by_object, graph) != NULL;
    pthread_mutex_unlock(&table->lock);
    return has;
}

/* An entry with its content; the graph is taken, also on failure, unless the table has it. */
static pdm_status make_entry(pdm_lg_cinn_table *table, pdm_lg_graph *take_graph,
                             pdm_diag_sink *sink, entry **out)
{
    entry *made = calloc(1, sizeof *made);
    const pdm_status status = made ? content_of(take_graph, sink, &made->content) : PDM_NOMEM;

    if (status != PDM_OK) {
        if (made)
            pdm_buf_deinit(&made->content);
        free(made);
        if (!has_object(table, take_graph))
            pdm_lg_graph_destroy(take_graph);
        return status;
    }
    made->holders = 1;
    made->graph = take_graph;
    *out = made;
    return PDM_OK;
}

pdm_status pdm_lg_cinn_table_add_as(pdm_lg_cinn_table *table, int64_t key, pdm_lg_graph *subgraph,
                                    pdm_diag_sink *sink)
{
    entry *made;

    PDM_TRY(make_entry(table, subgraph, sink, &made));
    made->key = key;
    return add(table, made, sink);
}

pdm_status pdm_lg_cinn_table_add(pdm_lg_cinn_table *table, pdm_lg_graph *subgraph,
                                 pdm_diag_sink *sink, int64_t *out_key)
{
    entry *made;

    PDM_TRY(make_entry(table, subgraph, sink, &made));
    const int64_t key = made->key = key_of(&made->content);
    PDM_TRY(add(table, made, sink));
    *out_key = key;
    return PDM_OK;
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

/* Under the lock. */
static void unlink_entry(pdm_lg_cinn_table *table, entry *e)
{
    pdm_map_entry *head = pdm_map_find(&table->by_key, pointer_of(e->key));
    entry *before = head->value.ptr;

    pdm_map_remove(&table->by_object, e->graph);
    if (before == e) {
        head->value.ptr = e->next;
        if (!e->next)
            pdm_map_remove(&table->by_key, pointer_of(e->key));
    } else {
        while (before->next != e)
            before = before->next;
        before->next = e->next;
    }
    trim(table);
}

void pdm_lg_cinn_table_release(pdm_lg_cinn_table *table, int64_t key)
{
    pthread_mutex_lock(&table->lock);
    entry *e = find(table, key);
    const bool gone = e && --e->holders == 0;
    if (gone)
        unlink_entry(table, e);
    pthread_mutex_unlock(&table->lock);
    if (gone)
        drop(e);
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
    const size_t n = table->by_object.count;
    pthread_mutex_unlock(&table->lock);
    return n;
}
