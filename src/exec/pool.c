#include "exec/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 256, SPINS = 1000, MAX_SHARES = 8, STEPS = 4 };

/*
 * A loop that is being worked on; lives on its caller's stack. Each thread has a share of its own,
 * the same in loops of the same length, whose data its cache may still hold; when that is done, it
 * helps with those of others.
 */
typedef struct loop {
    void (*body)(void *arg, int64_t begin, int64_t end);
    void *arg;
    int64_t count, step;
    unsigned num_shares;
    struct share {
        _Alignas(64) _Atomic int64_t next;
        int64_t end;
    } shares[MAX_SHARES];
    unsigned helpers; /* threads inside besides the caller's; under the lock */
    struct loop *after;
} loop;

/* A graph that is being run; lives on its caller's stack, everything under the lock. */
typedef struct graph_run {
    const pdm_graph *graph;
    size_t num_ready, num_active, num_left;
    pdm_status status;
    struct graph_run *after;
} graph_run;

struct pdm_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* there is something to do, or to look at */
    atomic_uint news;    /* counts what wake tells, for those who look before they sleep */
    loop *loops;         /* those with ranges left */
    graph_run *graphs;
    unsigned num_waiting;
    bool stop;
    unsigned num_threads; /* started */
    pthread_t threads[];
};

static _Thread_local unsigned thread_number;

typedef struct thread_start {
    pdm_pool *pool;
    unsigned number;
} thread_start;

unsigned pdm_pool_thread(void)
{
    return thread_number;
}

static void pause_a_moment(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/*
 * With the lock held, which is let go meanwhile. Ops follow each other within microseconds, and to
 * be woken takes longer than that: so a thread looks about for a while before it sleeps.
 */
static void wait_for_news(pdm_pool *pool)
{
    const unsigned seen = atomic_load_explicit(&pool->news, memory_order_relaxed);

    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool->news, memory_order_relaxed) != seen)
            break;
        pause_a_moment();
    }
    pthread_mutex_lock(&pool->lock);
    if (atomic_load_explicit(&pool->news, memory_order_relaxed) != seen)
        return;
    pool->num_waiting++;
    pthread_cond_wait(&pool->wake, &pool->lock);
    pool->num_waiting--;
}

static void tell(pdm_pool *pool)
{
    atomic_fetch_add_explicit(&pool->news, 1, memory_order_relaxed);
    if (pool->num_waiting > 0)
        pthread_cond_broadcast(&pool->wake);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static void work_on_share(const loop *l, struct share *share)
{
    for (;;) {
        const int64_t begin = atomic_fetch_add_explicit(&share->next, l->step, memory_order_relaxed);
        if (begin >= share->end)
            return;
        l->body(l->arg, begin, share->end - begin < l->step ? share->end : begin + l->step);
    }
}

static void work(loop *l)
{
    for (unsigned i = 0; i < l->num_shares; i++)
        work_on_share(l, &l->shares[(thread_number + i) % l->num_shares]);
}

/* Shares are whole steps, so that no range is shorter than the grain. */
static void make_shares(loop *l, unsigned threads)
{
    const int64_t steps = (l->count - 1) / l->step + 1;

    l->num_shares = threads < MAX_SHARES ? threads : MAX_SHARES;
    for (unsigned i = 0; i < l->num_shares; i++) {
        const int64_t end = steps * (i + 1) / l->num_shares * l->step;
        atomic_init(&l->shares[i].next, steps * i / l->num_shares * l->step);
        l->shares[i].end = end < l->count ? end : l->count;
    }
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

/* With the lock held, which is let go meanwhile. */
static void help_loop(pdm_pool *pool, loop *l)
{
    l->helpers++;
    pthread_mutex_unlock(&pool->lock);
    work(l);
    pthread_mutex_lock(&pool->lock);
    unlink_loop(pool, l); /* all of it is given out */
    if (--l->helpers == 0)
        tell(pool);
}

void pdm_pool_for(pdm_pool *pool, int64_t n, int64_t grain,
                  void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    if (n <= 0)
        return;
    const unsigned threads = pdm_pool_threads(pool);
    if (threads < 2 || n <= grain) {
        body(arg, 0, n);
        return;
    }
    /* Some ranges more than threads, so that a slow thread holds nobody up for long. */
    int64_t step = (n - 1) / (STEPS * (int64_t)threads) + 1;
    if (step < grain)
        step = grain;
    loop l = {.body = body, .arg = arg, .count = n, .step = step};
    make_shares(&l, threads);
    pthread_mutex_lock(&pool->lock);
    l.after = pool->loops;
    pool->loops = &l;
    tell(pool);
    pthread_mutex_unlock(&pool->lock);
    work(&l);
    pthread_mutex_lock(&pool->lock);
    unlink_loop(pool, &l);
    while (l.helpers > 0)
        wait_for_news(pool);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* `ready` is a heap with the smallest number on top. */
static void put_ready(graph_run *run, uint32_t node)
{
    uint32_t *heap = run->graph->ready;
    size_t i = run->num_ready++;

    while (i > 0 && heap[(i - 1) / 2] > node) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = node;
}

static uint32_t take_ready(graph_run *run)
{
    uint32_t *heap = run->graph->ready;
    const uint32_t top = heap[0], last = heap[--run->num_ready];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= run->num_ready)
            break;
        if (child + 1 < run->num_ready && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= last)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

static bool has_work(const graph_run *run)
{
    return run->num_ready > 0 && run->status == PDM_OK;
}

static bool is_over(const graph_run *run)
{
    return run->num_active == 0 && (run->num_left == 0 || run->status != PDM_OK);
}

/* With the lock held, which is let go meanwhile. */
static void run_node(pdm_pool *pool, graph_run *run)
{
    const pdm_graph *graph = run->graph;
    const uint32_t node = take_ready(run);
    size_t before;

    run->num_active++;
    pthread_mutex_unlock(&pool->lock);
    const pdm_status status = graph->run(graph->self, node);
    pthread_mutex_lock(&pool->lock);
    run->num_active--;
    run->num_left--;
    if (status != PDM_OK && run->status == PDM_OK)
        run->status = status;
    before = run->num_ready;
    for (uint32_t i = 0; i < graph->nodes[node].num_next; i++) {
        const uint32_t next = graph->nodes[node].next[i];
        if (--graph->pending[next] == 0)
            put_ready(run, next);
    }
    /* This thread goes on with one of them itself, unless another graph comes first. */
    const bool alone = pool->graphs == run && !run->after;
    if (is_over(run) || (run->num_ready > before && (run->num_ready > 1 || !alone)))
        tell(pool);
}

pdm_status pdm_pool_graph(pdm_pool *pool, const pdm_graph *graph)
{
    graph_run run = {.graph = graph, .num_left = graph->count, .status = PDM_OK};

    for (size_t i = 0; i < graph->count; i++) {
        graph->pending[i] = graph->nodes[i].num_prev;
        if (graph->pending[i] == 0)
            put_ready(&run, (uint32_t)i);
    }
    pthread_mutex_lock(&pool->lock);
    run.after = pool->graphs;
    pool->graphs = &run;
    tell(pool);
    while (!is_over(&run)) {
        if (has_work(&run))
            run_node(pool, &run);
        else if (pool->loops)
            help_loop(pool, pool->loops);
        else
            wait_for_news(pool);
    }
    for (graph_run **p = &pool->graphs; *p; p = &(*p)->after) {
        if (*p == &run) {
            *p = run.after;
            break;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return run.status;
}

/* ---- threads --------------------------------------------------------------------------------- */

static graph_run *graph_with_work(const pdm_pool *pool)
{
    for (graph_run *run = pool->graphs; run; run = run->after) {
        if (has_work(run))
            return run;
    }
    return NULL;
}

static void *thread_main(void *arg)
{
    const thread_start start = *(thread_start *)arg;
    pdm_pool *pool = start.pool;

    free(arg);
    thread_number = start.number;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        graph_run *run = graph_with_work(pool);
        if (run)
            run_node(pool, run);
        else if (pool->loops)
            help_loop(pool, pool->loops);
        else
            wait_for_news(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static unsigned usable_processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    const int count = CPU_COUNT(&set);
    return count > 0 ? (unsigned)count : 1;
}

static bool start_thread(pdm_pool *pool)
{
    thread_start *start = malloc(sizeof *start);

    if (!start)
        return false;
    *start = (thread_start){pool, pool->num_threads + 1};
    if (pthread_create(&pool->threads[pool->num_threads], NULL, thread_main, start) != 0) {
        free(start);
        return false;
    }
    pool->num_threads++;
    return true;
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
    while (pool->num_threads + 1 < threads && start_thread(pool)) {
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
    tell(pool);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->num_threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

unsigned pdm_pool_threads(const pdm_pool *pool)
{
    return pool ? pool->num_threads + 1 : 1;
}
