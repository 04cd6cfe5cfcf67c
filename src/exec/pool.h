/*
 * A pool of threads for work inside of kernels (loops) and between them (graphs). The caller's
 * thread works too, so a pool of n threads starts n - 1. One pool may serve several callers at a
 * time, and what it runs may use it again. Which thread does what is not fixed: bodies give the
 * same results whatever the ranges, nodes whatever the order that the edges allow.
 */
#ifndef PDM_EXEC_POOL_H
#define PDM_EXEC_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct pdm_pool pdm_pool;

/* threads: 1 or more; 0: one for each processor that this process may use. Fewer start when the
 * system has no more. */
PDM_MUST_USE pdm_status pdm_pool_create(unsigned threads, pdm_pool **out_pool);
void pdm_pool_destroy(pdm_pool *pool);           /* NULL is allowed */
unsigned pdm_pool_threads(const pdm_pool *pool); /* 1 for NULL */
unsigned pdm_pool_thread(void);                  /* 1, 2, ...: threads of pools; 0: any other */

/* body over disjoint ranges that cover [0, n), each at least grain long but the last. */
void pdm_pool_for(pdm_pool *pool, int64_t n, int64_t grain,
                  void (*body)(void *arg, int64_t begin, int64_t end), void *arg);

typedef struct pdm_graph_node {
    const uint32_t *next; /* nodes that wait for this one; their numbers are larger */
    uint32_t num_next, num_prev;
} pdm_graph_node;

typedef struct pdm_graph {
    const pdm_graph_node *nodes;
    size_t count;
    pdm_status (*run)(void *self, size_t node);
    void *self;
    uint32_t *pending, *ready; /* room for count numbers each */
} pdm_graph;

/* Run all nodes, smaller numbers first among those that are ready. After a failure no further node
 * begins; the first status that is not PDM_OK is returned. */
PDM_MUST_USE pdm_status pdm_pool_graph(pdm_pool *pool, const pdm_graph *graph);

#endif
