/* The pool: loops cover their range once, graphs keep their edges, errors stop. */
#include <check.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exec/pool.h"
#include "unit/must.h"

Suite *pdm_suite_pool(void);

enum { COUNT = 10000 };

static void add_one(void *arg, int64_t begin, int64_t end)
{
    unsigned char *seen = arg;

    for (int64_t i = begin; i < end; i++)
        seen[i]++;
}

START_TEST(a_loop_covers_its_range_once)
{
    static unsigned char seen[COUNT];
    pdm_pool *pool;

    ck_assert_int_eq(pdm_pool_create((unsigned)_i, &pool), PDM_OK);
    ck_assert_uint_ge(pdm_pool_threads(pool), 1);
    for (int64_t n = 0; n < COUNT; n = n * 3 + 1) {
        for (int64_t grain = 1; grain < 5000; grain *= 7) {
            memset(seen, 0, sizeof seen);
            pdm_pool_for(pool, n, grain, add_one, seen);
            for (int64_t i = 0; i < COUNT; i++)
                must(seen[i] == (i < n));
        }
    }
    pdm_pool_destroy(pool);
}
END_TEST

typedef struct web { /* a graph whose nodes note when they ran */
    pdm_pool *pool;
    pdm_graph_node nodes[64];
    uint32_t next[64][64], pending[64], ready[64];
    atomic_uint clock;
    unsigned when[64];
    int fail_at;
} web;

static void nothing(void *arg, int64_t begin, int64_t end)
{
    (void)arg;
    (void)begin;
    (void)end;
}

static pdm_status note(void *self, size_t node)
{
    web *w = self;

    pdm_pool_for(w->pool, 100, 1, nothing, NULL); /* work inside of work */
    w->when[node] = 1 + atomic_fetch_add(&w->clock, 1);
    return (int)node == w->fail_at ? PDM_UNSUPPORTED : PDM_OK;
}

/* Edges i -> k where they divide each other: many shapes at once. */
static pdm_graph weave(web *w, int fail_at)
{
    memset(w->nodes, 0, sizeof w->nodes);
    memset(w->when, 0, sizeof w->when);
    atomic_store(&w->clock, 0);
    w->fail_at = fail_at;
    for (uint32_t i = 0; i < 64; i++) {
        w->nodes[i].next = w->next[i];
        for (uint32_t k = i + 1; k < 64; k++) {
            if ((k + 1) % (i + 1) != 0)
                continue;
            w->next[i][w->nodes[i].num_next++] = k;
            w->nodes[k].num_prev++;
        }
    }
    return (pdm_graph){.nodes = w->nodes,
                       .count = 64,
                       .run = note,
                       .self = w,
                       .pending = w->pending,
                       .ready = w->ready};
}

START_TEST(a_graph_keeps_its_edges)
{
    static web w;

    ck_assert_int_eq(pdm_pool_create((unsigned)_i, &w.pool), PDM_OK);
    for (int round = 0; round < 50; round++) {
        const pdm_graph graph = weave(&w, -1);
        ck_assert_int_eq(pdm_pool_graph(w.pool, &graph), PDM_OK);
        for (uint32_t i = 0; i < 64; i++) {
            must(w.when[i] > 0);
            for (uint32_t k = 0; k < w.nodes[i].num_next; k++)
                must(w.when[i] < w.when[w.next[i][k]]);
        }
    }
    pdm_pool_destroy(w.pool);
}
END_TEST

START_TEST(a_failure_stops_a_graph)
{
    static web w;

    ck_assert_int_eq(pdm_pool_create((unsigned)_i, &w.pool), PDM_OK);
    const pdm_graph graph = weave(&w, 1);
    ck_assert_int_eq(pdm_pool_graph(w.pool, &graph), PDM_UNSUPPORTED);
    ck_assert_uint_eq(w.when[3], 0); /* it waits for node 1 */
    ck_assert_uint_eq(w.when[63], 0);
    pdm_pool_destroy(w.pool);
}
END_TEST

START_TEST(an_empty_graph)
{
    pdm_pool *pool;
    const pdm_graph graph = {0};

    ck_assert_int_eq(pdm_pool_create(2, &pool), PDM_OK);
    ck_assert_int_eq(pdm_pool_graph(pool, &graph), PDM_OK);
    pdm_pool_destroy(pool);
    pdm_pool_destroy(NULL);
    ck_assert_uint_eq(pdm_pool_threads(NULL), 1);
}
END_TEST

Suite *pdm_suite_pool(void)
{
    Suite *suite = suite_create("pool");
    TCase *tcase = tcase_create("threads");

    tcase_add_loop_test(tcase, a_loop_covers_its_range_once, 1, 5);
    tcase_add_loop_test(tcase, a_graph_keeps_its_edges, 1, 5);
    tcase_add_loop_test(tcase, a_failure_stops_a_graph, 1, 4);
    tcase_add_test(tcase, an_empty_graph);
    suite_add_tcase(suite, tcase);
    return suite;
}
