#include "exec/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* A loop that is being worked on; lives on its caller's stack. */
typedef struct loop {
    void (*body)(void *arg, int64_t begin, int64_t end);
    void *arg;
    int64_t count, step;
    _Atomic int64_t next;
    unsigned helpers; /* threads of the pool inside; under the lock */
    struct loop *after;
} loop;

struct pdm_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    loop *loops; /* those with work left */
    bool stop;
    unsigned num_threads; /* started */
    pthread_t threads[];
};

enum { MAX_THREADS = 256 };

/* Work inside of work stays on its thread: that cannot deadlock, and the threads are busy anyway. */
static _Thread_local bool inside;

static void work(loop *l)
{
    const bool was_inside = inside;

    inside = true;
    for (;;) {
        const int64_t begin = atomic_fetch_add_explicit(&l->next, l->step, memory_order_relaxed);
        if (begin >= l->count)
            break;
        l->body(l->arg, begin, l->count - begin < l->step ? l->count : begin + l->step);
    }
    inside = was_inside;
}

static void unlink_loop(pdm_pool *pool, loop *l)
{
    for (loop **p = &pool->loops; *p; p = &(*p)->after) {
        if (*p == l) {
            *p = l->after;
            return;
        }
    }
}

static void *thread_main(void *arg)
{
    pdm_pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        loop *l = pool->loops;
        if (!l) {
            pthread_cond_wait(&pool->wake, &pool->lock);
            continue;
        }
        l->helpers++;
        pthread_mutex_unlock(&pool->lock);
        work(l);
        pthread_mutex_lock(&pool->lock);
        unlink_loop(pool, l); /* all of it is given out */
        if (--l->helpers == 0)
            pthread_cond_broadcast(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

void pdm_pool_for(pdm_pool *pool, int64_t n, int64_t grain,
                  void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    if (n <= 0)
        return;
    const unsigned threads = pdm_pool_threads(pool);
    if (inside || threads < 2 || n <= grain) {
        body(arg, 0, n);
        return;
    }
    /* Some pieces more than threads, so that a slow thread holds nobody up for long. */
    int64_t step = n / (4 * (int64_t)threads);
    if (step < grain)
        step = grain;
    loop l = {.body = body, .arg = arg, .count = n, .step = step > 0 ? step : 1};
    atomic_init(&l.next, 0);
    pthread_mutex_lock(&pool->lock);
    l.after = pool->loops;
    pool->loops = &l;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    work(&l);
    pthread_mutex_lock(&pool->lock);
    unlink_loop(pool, &l);
    while (l.helpers > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static unsigned usable_processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    const int count = CPU_COUNT(&set);
    return count > 0 ? (unsigned)count : 1;
}

pdm_status pdm_pool_create(unsigned threads, pdm_pool **out_pool)
{
    if (threads == 0)
        threads = usable_processors();
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    pdm_pool *pool = calloc(1, sizeof *pool + threads * sizeof *pool->threads);
    if (!pool)
        return PDM_NOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    while (pool->num_threads + 1 < threads) {
        if (pthread_create(&pool->threads[pool->num_threads], NULL, thread_main, pool) != 0)
            break; /* fewer threads do the same work */
        pool->num_threads++;
    }
    *out_pool = pool;
    return PDM_OK;
}

void pdm_pool_destroy(pdm_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->num_threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

unsigned pdm_pool_threads(const pdm_pool *pool)
{
    return pool ? pool->num_threads + 1 : 1;
}
