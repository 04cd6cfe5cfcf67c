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

/* out = alpha * x * y for a batch of matrices, in rows that are `step` elements apart; turned: in
 * columns. Those of out are dense. Addresses are the device's. */
typedef struct pdm_cinn_product {
    pdm_dtype dtype;
    int64_t batch, rows, cols, depth;
    const void *x, *y;
    bool x_turned, y_turned;
    int64_t x_step, y_step, x_batch, y_batch; /* batch: elements from a matrix to the next; 0: it is the same */
    double alpha;
    void *out;
} pdm_cinn_product;

/* Convolution, channels first, over three spatial dims, of which the first ones may be 1. The same
 * padding before and behind. Filters are [out, in / groups, ...]; of transposed ones [in, out / groups, ...]. */
typedef struct pdm_cinn_conv {
    pdm_dtype dtype;
    bool transposed;
    int64_t batch, in_channels, out_channels, groups;
    int64_t in[3], kernel[3], stride[3], dilation[3], pad[3], out_size[3];
    const void *x, *filter;
    void *out;
} pdm_cinn_conv;

/* A device with memory of its own: addresses are not those of the process. What is asked for is done
 * in that order. */
typedef struct pdm_cinn_device {
    PDM_MUST_USE pdm_status (*alloc)(size_t bytes, void **out);
    void (*free)(void *at, size_t bytes);
    PDM_MUST_USE pdm_status (*put)(void *to, const void *from, size_t bytes);
    PDM_MUST_USE pdm_status (*get)(void *to, const void *from, size_t bytes); /* waits for it */
    /* All nests of a function like the one that the image was made of. buffers: of the device. */
    PDM_MUST_USE pdm_status (*launch)(const void *image, const pdm_loop_fn *fn,
                                      void *const *buffers, const int64_t *symbols);
    const char *(*error)(void); /* what failed last in this thread */
    /* A mark is passed when all is done that was asked for before it. between waits until the second is. */
    PDM_MUST_USE pdm_status (*mark)(void **out_mark);
    PDM_MUST_USE pdm_status (*between)(void *first, void *second, uint64_t *out_nanoseconds);
    void (*unmark)(void *mark); /* NULL is allowed */
    /* What libraries of the device do. NULL, PDM_UNSUPPORTED: they are missing, or cannot do it. */
    PDM_MUST_USE pdm_status (*product)(const pdm_cinn_product *product);
    PDM_MUST_USE pdm_status (*conv)(const pdm_cinn_conv *conv);
} pdm_cinn_device;

typedef struct pdm_cinn_backend {
    int version; /* PDM_CINN_BACKEND_VERSION that it was built with */
    const char *identity; /* of modules: PDM_CINN_MODULE_IDENTITY that it was built with */
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
    /*
     * Code as bytes, which equal functions share (kernels.h) and which is kept on disk: all or none
     * of these; compile is not called then. target writes all that code depends on beside the
     * function: machine, compiler, versions. *out_code is malloc'ed. load may be given code of
     * another process; the image keeps neither fn nor code.
     */
    void (*target)(pdm_buf *out);
    PDM_MUST_USE pdm_status (*make)(const pdm_loop_fn *fn, void **out_code, size_t *out_size);
    PDM_MUST_USE pdm_status (*load)(const pdm_loop_fn *fn, const void *code, size_t size,
                                    void **out_image);
    /* Code as text for people, malloc'ed; number is in its names. NULL: there is none. */
    PDM_MUST_USE pdm_status (*print)(const pdm_loop_fn *fn, uint64_t number, char **out_text);
    /* Of modules: why nothing can be made at all (text that stays); NULL when it can. */
    const char *(*why_not)(void);
    const pdm_cinn_device *device; /* there is no `run` then; NULL: data are the process's */
} pdm_cinn_backend;

enum { PDM_CINN_BACKEND_VERSION = 3 };

/* The function that a module exports, by name. */
#define PDM_CINN_MODULE_ENTRY "pdm_cinn_module"
typedef const pdm_cinn_backend *(*pdm_cinn_module_fn)(void);

extern const pdm_cinn_backend pdm_cinn_backend_ref, pdm_cinn_backend_cuda;

/* Make a few more backends known, before any is looked for: for tests. */
void pdm_cinn_backend_add(const pdm_cinn_backend *backend);

/*
 * A backend by name. NULL: there is none, or its module is not there; *out_reason (text that stays,
 * or NULL) tells why. That its module cannot be opened may turn out only when something is compiled
 * that was not kept: pdm_cinn_note tells then, and everything is PDM_UNSUPPORTED.
 */
const pdm_cinn_backend *pdm_cinn_backend_find(const char *name, const char **out_reason);
/* The module for LLVM itself, opened now: objects are loaded by LLVM. For tests, and for machines
 * whose objects native.h does not load. */
const pdm_cinn_backend *pdm_cinn_backend_module(const char **out_reason);

uint32_t pdm_cinn_count_nests(const pdm_loop_fn *fn);

#endif
