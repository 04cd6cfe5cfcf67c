/*
 * Machine code made runnable without the compiler that made it: an object file (ELF, x86-64) is
 * placed into memory, its references to itself and to the functions of calls.h are filled in, and
 * then it may be run but no longer be written. Code that was kept needs nothing else.
 */
#ifndef PDM_CINN_NATIVE_H
#define PDM_CINN_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

/* Functions of an object: this and the number of the nest, with what a turn needs. */
#define PDM_CINN_NATIVE_NEST "kernel_0_"
typedef void (*pdm_cinn_native_fn)(void *const *buffers, const int64_t *symbols, int64_t begin,
                              int64_t end);

typedef struct pdm_cinn_native {
    void *map;
    size_t size;
    uint32_t num_nests;
    pdm_cinn_native_fn nests[];
} pdm_cinn_native;

/* What this processor is, as far as code depends on it; false: objects are not loaded here. */
bool pdm_cinn_native_target(pdm_buf *out);

/* PDM_UNSUPPORTED: it is no object of this machine, refers to what is not known, lacks a nest, or
 * the system does not let code be made. */
PDM_MUST_USE pdm_status pdm_cinn_native_load(const void *object, size_t size, uint32_t num_nests,
                                        pdm_cinn_native **out_native);
void pdm_cinn_native_destroy(pdm_cinn_native *native); /* NULL is allowed */

#endif
