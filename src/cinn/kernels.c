#include "cinn/kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/intern.h"
#include "cinn/cache.h"
#include "cinn/notes.h"

typedef enum state { MAKING, READY, REFUSED, FAILED } state;

struct pdm_cinn_kernel {
    const pdm_cinn_backend *backend;
    void *image;
    /* of those in the table */
    pdm_buf key;
    uint64_t hash;
    state state;
    size_t users;
    uint64_t last; /* when the last user went */
    pdm_cinn_kernel *next;
};

enum { BUCKETS = 512, MAX_UNUSED = 256 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t made;
    pdm_cinn_kernel *buckets[BUCKETS];
    size_t unused;
    uint64_t clock;
    pdm_cinn_kernel_stats stats;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .made = PTHREAD_COND_INITIALIZER};

/* ---- making ---------------------------------------------------------------------------------- */

static void destroy(pdm_cinn_kernel *kernel)
{
    if (kernel->image)
        kernel->backend->destroy(kernel->image);
    pdm_buf_deinit(&kernel->key);
    free(kernel);
}

static pdm_status make_anew(pdm_cinn_kernel *kernel, const pdm_loop_fn *fn)
{
    const pdm_cinn_backend *backend = kernel->backend;
    void *code;
    size_t size;

    PDM_TRY(backend->make(fn, &code, &size));
    const pdm_status status = backend->load(fn, code, size, &kernel->image);
    if (status == PDM_OK)
        pdm_cinn_cache_store(&kernel->key, code, size);
    free(code);
    return status;
}

static pdm_status make(pdm_cinn_kernel *kernel, const pdm_loop_fn *fn, bool *out_loaded)
{
    void *code;
    size_t size;

    *out_loaded = false;
    PDM_TRY(pdm_cinn_cache_find(&kernel->key, &code, &size));
    if (code) {
        const pdm_status status = kernel->backend->load(fn, code, size, &kernel->image);
        free(code);
        *out_loaded = status == PDM_OK;
        if (status != PDM_UNSUPPORTED)
            return status;
        pdm_cinn_note(PDM_CINN_NOTE_CACHE, "compiled code is made anew: that of the cache does not load");
    }
    return make_anew(kernel, fn);
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void count(bool loaded, uint64_t begin)
{
    table.stats.loaded += loaded;
    table.stats.made += !loaded;
    table.stats.nanoseconds += now() - begin;
}

/* ---- the table, under its lock --------------------------------------------------------------- */

static pdm_cinn_kernel **bucket_of(uint64_t hash)
{
    return &table.buckets[hash % BUCKETS];
}

static void take_out(pdm_cinn_kernel *kernel)
{
    pdm_cinn_kernel **at = bucket_of(kernel->hash);

    while (*at != kernel)
        at = &(*at)->next;
    *at = kernel->next;
}

static pdm_cinn_kernel *look_up(const pdm_cinn_backend *backend, const pdm_buf *key, uint64_t hash)
{
    pdm_cinn_kernel *k = *bucket_of(hash);

    while (k && (k->hash != hash || k->backend != backend || k->key.size != key->size ||
                 memcmp(k->key.data, key->data, key->size) != 0))
        k = k->next;
    return k;
}

/* Destroys those that nobody has, the oldest first, until that many are left. */
static void trim(size_t most)
{
    while (table.unused > most) {
        pdm_cinn_kernel *oldest = NULL;
        for (size_t i = 0; i < BUCKETS; i++) {
            for (pdm_cinn_kernel *k = table.buckets[i]; k; k = k->next) {
                if (k->users == 0 && (!oldest || k->last < oldest->last))
                    oldest = k;
            }
        }
        take_out(oldest);
        destroy(oldest);
        table.unused--;
    }
}

static void drop_user(pdm_cinn_kernel *kernel)
{
    if (--kernel->users > 0)
        return;
    if (kernel->state == FAILED) { /* to be tried again by others */
        take_out(kernel);
        destroy(kernel);
        return;
    }
    kernel->last = ++table.clock;
    table.unused++;
    trim(MAX_UNUSED);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A kernel that is there, or is being made by another thread. */
static pdm_status take_known(pdm_cinn_kernel *kernel, pdm_cinn_kernel **out)
{
    table.unused -= kernel->users++ == 0;
    while (kernel->state == MAKING)
        pthread_cond_wait(&table.made, &table.lock);
    table.stats.shared++;
    if (kernel->state == READY) {
        *out = kernel;
        return PDM_OK;
    }
    const pdm_status status = kernel->state == REFUSED ? PDM_UNSUPPORTED : PDM_NOMEM;
    drop_user(kernel);
    return status;
}

/* A kernel that is in the table, and waited for. */
static pdm_status make_known(pdm_cinn_kernel *kernel, const pdm_loop_fn *fn, pdm_cinn_kernel **out)
{
    const uint64_t begin = now();
    bool loaded;

    pthread_mutex_unlock(&table.lock);
    const pdm_status status = make(kernel, fn, &loaded);
    pthread_mutex_lock(&table.lock);
    count(loaded, begin);
    kernel->state = status == PDM_OK ? READY : status == PDM_UNSUPPORTED ? REFUSED : FAILED;
    pthread_cond_broadcast(&table.made);
    if (status == PDM_OK)
        *out = kernel;
    else
        drop_user(kernel);
    return status;
}

/* For backends whose images belong to their functions. */
static pdm_status take_own(const pdm_cinn_backend *backend, const pdm_loop_fn *fn,
                           pdm_cinn_kernel *kernel, pdm_cinn_kernel **out)
{
    const uint64_t begin = now();
    const pdm_status status = backend->compile(fn, &kernel->image);

    pthread_mutex_lock(&table.lock);
    count(false, begin);
    pthread_mutex_unlock(&table.lock);
    if (status == PDM_OK)
        *out = kernel;
    else
        destroy(kernel);
    return status;
}

pdm_status pdm_cinn_kernel_take(const pdm_cinn_backend *backend, const pdm_loop_fn *fn,
                                pdm_cinn_kernel **out_kernel)
{
    pdm_cinn_kernel *made = calloc(1, sizeof *made);

    if (!made)
        return PDM_NOMEM;
    pdm_buf_init(&made->key);
    made->backend = backend;
    if (!backend->make)
        return take_own(backend, fn, made, out_kernel);
    pdm_buf_printf(&made->key, "%s ", backend->name);
    backend->target(&made->key);
    pdm_buf_putc(&made->key, '\n');
    pdm_loop_key(fn, &made->key);
    if (!pdm_buf_ok(&made->key)) {
        destroy(made);
        return PDM_NOMEM;
    }
    made->hash = pdm_hash_bytes(made->key.data, made->key.size, 0);
    made->users = 1;
    pthread_mutex_lock(&table.lock);
    pdm_cinn_kernel *known = look_up(backend, &made->key, made->hash);
    pdm_status status;
    if (known) {
        destroy(made);
        status = take_known(known, out_kernel);
    } else {
        made->next = *bucket_of(made->hash);
        *bucket_of(made->hash) = made;
        status = make_known(made, fn, out_kernel);
    }
    pthread_mutex_unlock(&table.lock);
    return status;
}

void pdm_cinn_kernel_release(pdm_cinn_kernel *kernel)
{
    if (!kernel)
        return;
    if (!kernel->backend->make) {
        destroy(kernel);
        return;
    }
    pthread_mutex_lock(&table.lock);
    drop_user(kernel);
    pthread_mutex_unlock(&table.lock);
}

const void *pdm_cinn_kernel_image(const pdm_cinn_kernel *kernel)
{
    return kernel->image;
}

pdm_cinn_kernel_stats pdm_cinn_kernel_get_stats(void)
{
    pthread_mutex_lock(&table.lock);
    const pdm_cinn_kernel_stats stats = table.stats;
    pthread_mutex_unlock(&table.lock);
    return stats;
}

void pdm_cinn_kernels_trim(void)
{
    pthread_mutex_lock(&table.lock);
    trim(0);
    pthread_mutex_unlock(&table.lock);
}
