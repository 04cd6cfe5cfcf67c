/*
 * Kernels. A kernel computes the results of one op from its operands and attributes. The same
 * kernel serves the PIR executor and the legacy interpreter: operands are numbered and attributes
 * named as in the op's PIR row (src/ir/ops/pd_op.def); the legacy interpreter binds legacy slots
 * and attributes to that form, adding LoD. Ops of the `legacy` dialect have kernels of their own
 * under "legacy.<type>", with slots by name.
 *
 * Reference kernels are plain and obviously right: any supported dtype, any rank, empty tensors,
 * NaN as the framework has it. They know nothing of scheduling.
 *
 * Failure. A kernel that cannot do its work calls pdm_k_fail (message with the reason) and returns
 * its status; pdm_k_* accessors are sticky: after a failure they give NULL or 0, so that a kernel
 * may check once with PDM_K_OK before it touches data.
 *
 * Threads. A kernel may split its work with pdm_k_parallel; results must not depend on the number
 * of threads.
 */
#ifndef PDM_EXEC_KERNEL_H
#define PDM_EXEC_KERNEL_H

#include <stdatomic.h>

#include "base/diag.h"
#include "exec/differences.h"
#include "exec/value.h"
#include "ir/op_info.h"

typedef struct pdm_rng {
    uint64_t state[4];
} pdm_rng;                        /* xoshiro256**; see docs for how ops are seeded */
typedef struct pdm_pool pdm_pool; /* thread pool; NULL: run on the caller's thread */

typedef struct pdm_k pdm_k;
typedef pdm_status (*pdm_kernel_fn)(pdm_k *k);

/* Where attributes come from: PIR dictionary or legacy attributes. */
typedef struct pdm_k_source {
    /* The attribute under its PIR name; NULL when it is not there. Legacy attributes are converted.
     */
    pdm_ir_attr (*attr)(void *self, const char *name);
    void *self;
} pdm_k_source;

#define PDM_K_TEXTS 8

/* Temporary memory that is used again by later calls, in any thread. Zeroed at first. */
typedef struct pdm_k_temp_pool {
    struct pdm_k_temp_block *free; /* the ones that lie idle */
    unsigned count;                /* of them */
    atomic_flag busy;
} pdm_k_temp_pool;

/* One call. Zeroed, then filled by the executor or interpreter; kernels use the accessors. */
struct pdm_k {
    const char *op;             /* "pd_op.softmax", "legacy.sequence_pad" */
    const pdm_ir_op_desc *desc; /* row; NULL for legacy ops */
    pdm_value *const *in;       /* operands in row order; NULL: absent */
    size_t num_in;
    pdm_value *const
        *out; /* results in row order; NULL: nobody wants it (the kernel may skip it) */
    size_t num_out;
    const size_t *out_counts; /* for results that are vectors: how many elements out[i]->list has
                                 (they are in place) */
    pdm_k_source attrs;
    const char *const *in_slots; /* legacy ops: slot name of each operand; NULL otherwise */
    const char *const *out_slots;
    pdm_rng *rng;
    pdm_pool *pool;
    bool legacy;     /* called by the legacy interpreter: attributes are those of a legacy program */
    uint32_t before; /* known differences in which it follows 2.6; others as 3.x */
    uint32_t asked;  /* those that the kernel came to */
    const struct pdm_k_device *device; /* is asked first (kernels/nn_device.h); NULL: there is none */
    pdm_kernel_fn reference; /* for fast kernels: what does the cases that they leave */
    /* Memory for results; NULL: pdm_tensor_alloc. A planner may hand out a place in its arena. */
    /* out_index from num_out on: elements of vector results, numbered over all of them. */
    pdm_status (*alloc)(void *self, size_t out_index, pdm_tensor *tensor, pdm_dtype dtype, int rank,
                        const int64_t *dims);
    void *alloc_self;
    void (*print)(void *self, const char *text); /* what the program prints; NULL: dropped */
    void *print_self;
    pdm_status status; /* sticky */
    char message[256];
    struct pdm_k_temp_block *temps; /* of pdm_k_temp */
    pdm_k_temp_pool *temp_pool;     /* where they come from and go to; NULL: the system */
    char texts[PDM_K_TEXTS][40];    /* defaults that pdm_k_str gave; the newest few */
    unsigned num_texts;
};

#define PDM_K_OK(k) ((k)->status == PDM_OK)

/* Sticky failure with a reason; returns the status so that `return pdm_k_fail(k, ...)` reads well.
 * PDM_INVALID_ARG unless out of memory. */
pdm_status pdm_k_fail(pdm_k *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
pdm_status pdm_k_nomem(pdm_k *k);
pdm_status pdm_k_unsupported_dtype(pdm_k *k, pdm_dtype dtype);

/* ---- operands -------------------------------------------------------------------------------- */

/* Operand as an initialised tensor; the _opt form gives NULL when it is absent, the plain form
 * fails. Data are read-only. */
const pdm_tensor *pdm_k_in(pdm_k *k, size_t index);
const pdm_tensor *pdm_k_in_opt(pdm_k *k, size_t index);
/* Vector operand: count elements (a single tensor counts as a vector of one). */
size_t pdm_k_list_count(pdm_k *k, size_t index);
const pdm_tensor *pdm_k_list_at(pdm_k *k, size_t index, size_t element);
pdm_value *pdm_k_value(pdm_k *k, size_t index); /* raw: arrays, tables; NULL when absent */
/* First operand of a named slot, for legacy.* kernels; _at: further ones. NULL when absent. */
const pdm_tensor *pdm_k_slot(pdm_k *k, const char *slot);
const pdm_tensor *pdm_k_slot_at(pdm_k *k, const char *slot, size_t nth);
pdm_value *pdm_k_slot_value(pdm_k *k, const char *slot);
size_t pdm_k_slot_count(pdm_k *k, const char *slot);
/* Mutable attributes: the number(s) in a small integer or float operand (any dtype); fallback when
 * absent. A vector of tensors is concatenated. */
int64_t pdm_k_in_int(pdm_k *k, size_t index, int64_t fallback);
double pdm_k_in_float(pdm_k *k, size_t index, double fallback);
#define PDM_K_MAX_INTS 64
size_t pdm_k_in_ints(pdm_k *k, size_t index, int64_t out[PDM_K_MAX_INTS]); /* how many */

/* ---- attributes ------------------------------------------------------------------------------ */

bool pdm_k_has_attr(pdm_k *k, const char *name);
int64_t pdm_k_int(pdm_k *k, const char *name); /* fails when absent, unless the row has a default */
double pdm_k_float(pdm_k *k, const char *name);
bool pdm_k_bool(pdm_k *k, const char *name);
const char *pdm_k_str(pdm_k *k, const char *name); /* "" on failure */
pdm_dtype pdm_k_dtype(pdm_k *k, const char *name); /* PDM_UNDEFINED: not given */
size_t pdm_k_ints(pdm_k *k, const char *name, int64_t out[PDM_K_MAX_INTS]);
size_t pdm_k_floats(pdm_k *k, const char *name, double out[PDM_K_MAX_INTS]);
pdm_ir_attr pdm_k_attr(pdm_k *k, const char *name); /* raw; NULL when absent */
int64_t pdm_k_int_or(pdm_k *k, const char *name, int64_t fallback);
double pdm_k_float_or(pdm_k *k, const char *name, double fallback);
bool pdm_k_bool_or(pdm_k *k, const char *name, bool fallback);

/* Whether to do as 2.6 does in a known difference. */
bool pdm_k_before(pdm_k *k, pdm_difference which);

/* ---- results --------------------------------------------------------------------------------- */

bool pdm_k_wants(const pdm_k *k, size_t index); /* somebody reads that result */
/* Allocate a result; its data, or NULL after a failure (also when nobody wants it: ask first). LoD
 * is not set. */
void *pdm_k_out(pdm_k *k, size_t index, pdm_dtype dtype, int rank, const int64_t *dims);
void *pdm_k_out_like(pdm_k *k, size_t index,
                     const pdm_tensor *like); /* same dtype, shape and LoD */
void *pdm_k_out_at(pdm_k *k, size_t index, size_t element, pdm_dtype dtype, int rank,
                   const int64_t *dims);              /* of a vector result */
pdm_tensor *pdm_k_out_tensor(pdm_k *k, size_t index); /* the allocated tensor, to set its LoD */
pdm_value *pdm_k_out_value(pdm_k *k, size_t index);   /* raw, for arrays and tables */
/* The result is the operand itself (same data, other shape): reshape, squeeze, assign. */
void pdm_k_share(pdm_k *k, size_t index, const pdm_tensor *from, int rank, const int64_t *dims);
void pdm_k_share_lod(pdm_k *k, size_t index, const pdm_tensor *from);
pdm_tensor *pdm_k_out_slot(pdm_k *k,
                           const char *slot); /* legacy ops: result tensor of a slot, to be filled
                                                 by pdm_tensor_alloc; NULL: not wanted */
pdm_value *pdm_k_out_slot_value(pdm_k *k, const char *slot);

/* ---- work ------------------------------------------------------------------------------------ */

/* Run body(arg, begin, end) over disjoint ranges that cover [0, n); grain: smallest range worth a
 * thread. */
void pdm_k_parallel(pdm_k *k, int64_t n, int64_t grain,
                    void (*body)(void *arg, int64_t begin, int64_t end), void *arg);
/* Memory (64-byte aligned, not cleared) until the kernel returns; NULL after a failure. */
void *pdm_k_temp(pdm_k *k, size_t bytes);
void pdm_k_temp_pool_deinit(pdm_k_temp_pool *pool); /* no call is in progress */
/* Call a kernel; halves are rounded as k->before says. Failures are in k too. */
PDM_MUST_USE pdm_status pdm_k_call(pdm_k *k, pdm_kernel_fn fn);
/* Of the differences in k->before: those that made a finished call's results others than 3.x's,
 * each by itself. The operands are as they were; calls with effects of their own tell none. */
PDM_MUST_USE pdm_status pdm_k_differences(const pdm_k *done, pdm_kernel_fn fn, uint32_t *out_set);
void pdm_k_end(pdm_k *k); /* for those who call kernels: frees what pdm_k_temp gave */
void pdm_rng_seed(pdm_rng *rng, uint64_t seed);
uint64_t pdm_rng_next(pdm_rng *rng);
double pdm_rng_uniform(pdm_rng *rng); /* [0, 1) */
double pdm_rng_normal(pdm_rng *rng);

/* As the framework's casts do on x86: towards zero, and the smallest integer for NaN and what does
 * not fit. */
int64_t pdm_int_of_double(double value);
int32_t pdm_int32_of_double(double value);
/* Element i of a tensor as double or int64 (half types converted, bool 0/1; complex: real part);
 * for reference kernels where speed does not matter. */
double pdm_get_double(const pdm_tensor *tensor, int64_t i);
int64_t pdm_get_int(const pdm_tensor *tensor, int64_t i);
void pdm_set_double(pdm_tensor *tensor, int64_t i, double value); /* rounds as a cast of 3.x does */
void pdm_set_int(pdm_tensor *tensor, int64_t i, int64_t value);

/* ---- the table ------------------------------------------------------------------------------- */

/* PDM_KERNEL("pd_op.softmax", softmax): function pdm_kernel_softmax; several rows may share one.
 * One .def file a family, all listed in kernels.def. */
#define PDM_KERNEL(op, name) pdm_status pdm_kernel_##name(pdm_k *k);
#include "exec/kernels/kernels.def"
#undef PDM_KERNEL

/* The reference kernel of an op; in-place forms ("pd_op.relu_") give that of the plain one when
 * they have no row. NULL: none. */
pdm_kernel_fn pdm_kernel_find(const char *op);

/* The same for fast kernels: PDM_FAST("pd_op.softmax", softmax) is pdm_fast_softmax. Files in
 * src/exec/fast, all listed in fast.def; docs/execution.md has what they may rely on. */
#define PDM_FAST(op, name) pdm_status pdm_fast_##name(pdm_k *k);
#include "exec/fast/fast.def"
#undef PDM_FAST

pdm_kernel_fn pdm_fast_find(const char *op);
/* Have the reference kernel do this call, before any result was made. */
pdm_status pdm_k_reference(pdm_k *k);

#endif
