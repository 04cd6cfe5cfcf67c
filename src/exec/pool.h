/*
 * A pool of threads for work inside of kernels and between them. The caller's thread works too, so
 * a pool of n threads starts n - 1. One pool may serve several callers at a time; bodies may call
 * pdm_pool_for again (it runs on the caller's thread then).
 */
#ifndef PDM_EXEC_POOL_H
#define PDM_EXEC_POOL_H

#include <stdint.h>

#include "base/status.h"

typedef struct pdm_pool pdm_pool;

/* threads: 1 or more; 0: one for each processor that this process may use. */
PDM_MUST_USE pdm_status pdm_pool_create(unsigned threads, pdm_pool **out_pool);
void pdm_pool_destroy(pdm_pool *pool); /* NULL is allowed */
unsigned pdm_pool_threads(const pdm_pool *pool);
/* body over disjoint ranges that cover [0, n), each at least grain long but the last. */
void pdm_pool_for(pdm_pool *pool, int64_t n, int64_t grain,
                  void (*body)(void *arg, int64_t begin, int64_t end), void *arg);

#endif
