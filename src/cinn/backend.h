/*
 * Backends make loop IR run. `ref` interprets it: slow, and what others are measured by. `llvm` is a
 * module of its own (pdmigrate-llvm.so), opened at first use, so that nobody pays for LLVM who does
 * not compile.
 *
 * An image is what a backend made of a function, which outlives it. It is immutable: any number of
 * threads may run it at a time.
 */
#ifndef PDM_CINN_BACKEND_H
#define PDM_CINN_BACKEND_H

#include "cinn/loop_ir.h"

typedef struct pdm_cinn_backend {
    int version; /* PDM_CINN_BACKEND_VERSION that it was built with */
    const char *name;
    bool gpu;              /* loops are arranged for one (pdm_cinn_schedule_gpu) */
    bool wants_arithmetic; /* functions as arithmetic (pdm_loop_expand_math) */
    /* fn is flat. PDM_UNSUPPORTED: it cannot be done. */
    PDM_MUST_USE pdm_status (*compile)(const pdm_loop_fn *fn, void **out_image);
    void (*destroy)(void *image);
    /*
     * Run turns begin to end - 1 of the outermost loop of a nest (a statement of fn->body, counted
     * from 0); of one without a loop, begin is 0 and end 1. Turns of one nest may be run in any
     * order and at the same time; nests in their order. buffers: data by buffer.
     */
    PDM_MUST_USE pdm_status (*run)(const void *image, uint32_t nest, void *const *buffers,
                                   const int64_t *symbols, int64_t begin, int64_t end);
} pdm_cinn_backend;

enum { PDM_CINN_BACKEND_VERSION = 1 };

/* The function that a module exports, by name. */
#define PDM_CINN_MODULE_ENTRY "pdm_cinn_module"
typedef const pdm_cinn_backend *(*pdm_cinn_module_fn)(void);

extern const pdm_cinn_backend pdm_cinn_backend_ref;

/* Make one more backend known, before any is looked for: for tests. */
void pdm_cinn_backend_add(const pdm_cinn_backend *backend);

/* A backend by name. NULL: there is none, or its module cannot be opened; *out_reason (text
 * that stays, or NULL) tells why. */
const pdm_cinn_backend *pdm_cinn_backend_find(const char *name, const char **out_reason);

#endif
