/*
 * What backends made of functions, for the whole process: equal functions, of one program or of
 * several, are compiled once, and once only when threads want one at the same time. Code that a
 * backend can keep is looked for on disk first (cache.h).
 */
#ifndef PDM_CINN_KERNELS_H
#define PDM_CINN_KERNELS_H

#include "cinn/backend.h"

typedef struct pdm_cinn_kernel pdm_cinn_kernel;

/*
 * The kernel of a function, which is flat and outlives it. PDM_UNSUPPORTED: the backend cannot; it
 * is not asked again.
 */
PDM_MUST_USE pdm_status pdm_cinn_kernel_take(const pdm_cinn_backend *backend, const pdm_loop_fn *fn,
                                             pdm_cinn_kernel **out_kernel);
void pdm_cinn_kernel_release(pdm_cinn_kernel *kernel); /* NULL is allowed */
const void *pdm_cinn_kernel_image(const pdm_cinn_kernel *kernel);

/* Since the process began. */
typedef struct pdm_cinn_kernel_stats {
    uint64_t made;      /* by a backend */
    uint64_t loaded;    /* from disk */
    uint64_t shared;    /* were there already */
    uint64_t nanoseconds; /* in which they were made or loaded, in all threads */
} pdm_cinn_kernel_stats;

pdm_cinn_kernel_stats pdm_cinn_kernel_get_stats(void);
/* Forget those that nobody has; some are kept otherwise, since programs are loaded again. */
void pdm_cinn_kernels_trim(void);

#endif
