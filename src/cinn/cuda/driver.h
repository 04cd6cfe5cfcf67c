/*
 * The CUDA driver: opened when it is first needed. PDM_CUDA names it, else libcuda.so.1. The first
 * device is used, in its primary context, with one stream: what is asked for is done in that order.
 * Any thread may call.
 */
#ifndef PDM_CINN_CUDA_DRIVER_H
#define PDM_CINN_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Why there is no device (text that stays); NULL: there is one. */
const char *pdm_cinn_cuda_why_not(void);
/* 10 * major + minor of what it can do, as 80 for sm_80; 0: there is none. */
int pdm_cinn_cuda_capability(void);
/* What failed last in this thread, for messages; valid until the next failure. */
const char *pdm_cinn_cuda_error(void);

/* The stream, for libraries; the context is current in this thread then. NULL: there is no device. */
void *pdm_cinn_cuda_stream(void);
/* Such a call failed: for messages. Gives PDM_INTERNAL. */
PDM_MUST_USE pdm_status pdm_cinn_cuda_fail(const char *what, int code);

/* Memory, kept for the next one who wants as much; of 0 bytes, too. */
PDM_MUST_USE pdm_status pdm_cinn_cuda_alloc(size_t bytes, void **out);
void pdm_cinn_cuda_free(void *at, size_t bytes); /* NULL is allowed */
void pdm_cinn_cuda_trim(void);                   /* what is kept goes back to the driver */
PDM_MUST_USE pdm_status pdm_cinn_cuda_put(void *to, const void *from, size_t bytes);
PDM_MUST_USE pdm_status pdm_cinn_cuda_get(void *to, const void *from, size_t bytes); /* waits */

/* Events in the stream; between waits for the second. */
PDM_MUST_USE pdm_status pdm_cinn_cuda_mark(void **out_event);
PDM_MUST_USE pdm_status pdm_cinn_cuda_between(void *first, void *second, uint64_t *out_nanoseconds);
void pdm_cinn_cuda_unmark(void *event); /* NULL is allowed */

typedef struct pdm_cinn_cuda_module pdm_cinn_cuda_module;
typedef struct pdm_cinn_cuda_function pdm_cinn_cuda_function;

/* image: code of the machine, or PTX, which ends with 0. */
PDM_MUST_USE pdm_status pdm_cinn_cuda_load(const void *image, pdm_cinn_cuda_module **out);
void pdm_cinn_cuda_unload(pdm_cinn_cuda_module *module);
PDM_MUST_USE pdm_status pdm_cinn_cuda_find(pdm_cinn_cuda_module *module, const char *name,
                                           pdm_cinn_cuda_function **out);
PDM_MUST_USE pdm_status pdm_cinn_cuda_launch(pdm_cinn_cuda_function *function, const uint32_t blocks[3],
                                             const uint32_t threads[3], void **arguments);

#endif
