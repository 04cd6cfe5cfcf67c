/*
 * From a group of ops to loop IR. Values inside of the group are computed where they are read,
 * unless that would compute an element many times: those are stored first, by loops of their own.
 *
 * Dims that are declared stay numbers; so do 0 and 1, and others that are not declared (-1) become symbols:
 * what is broadcast is decided when the code is made, so code serves a class of shapes. The
 * function's buffers tell it: dims of the inputs as expressions over symbols, none is below 2.
 */
#ifndef PDM_CINN_LOWER_H
#define PDM_CINN_LOWER_H

#include "cinn/loop_ir.h"
#include "cinn/rules.h"

/* What an input of the group is at run time. */
typedef struct pdm_cinn_actual {
    pdm_dtype dtype;
    int rank;
    const int64_t *dims;
    const void *data; /* of tensors that may have sizes in them; NULL: not at hand */
} pdm_cinn_actual;

enum { PDM_CINN_MAX_INPUTS = 64, PDM_CINN_MAX_OPS = 128 };

/* Whether an op is a group with a body that yields as many values as it has results. */
bool pdm_cinn_is_group(const pdm_ir_op *op);

/* The tensors that a group reads, in the order of first use; constants of pd_op.full are not among
 * them. out has room for PDM_CINN_MAX_INPUTS; the count, or SIZE_MAX when there are more. */
size_t pdm_cinn_group_inputs(const pdm_ir_op *group, const pdm_ir_value **out);

/* Note at each group of a module what shapes tell about its inputs (ir/shapes.h). */
PDM_MUST_USE pdm_status pdm_cinn_note_dims(pdm_ir_module *module);

/* A dim that is noted to be a number, or the same as another one before it. Sizes at run time are to be
 * compared with it all the same. */
typedef struct pdm_cinn_noted {
    bool is_number;
    int64_t number;
    uint32_t input, axis;
} pdm_cinn_noted;
/* False: nothing is noted. */
bool pdm_cinn_noted_dim(const pdm_ir_op *group, const pdm_ir_value *const *inputs, uint32_t input,
                        uint32_t axis, pdm_cinn_noted *out);

/*
 * Lower a group (cinn_op.group) for inputs of such shapes, one an input; NULL: for shapes as
 * declared, taken to fit. PDM_UNSUPPORTED: the shapes do not fit or it cannot be done; the ops one
 * by one will tell or do it.
 */
PDM_MUST_USE pdm_status pdm_cinn_lower_group(const pdm_ir_op *group, const pdm_cinn_actual *actual,
                                             pdm_loop_fn **out_fn);

/* The same for these shapes and no others: more can be told of them. */
PDM_MUST_USE pdm_status pdm_cinn_lower_fixed(const pdm_ir_op *group, const pdm_cinn_actual *actual,
                                             pdm_loop_fn **out_fn);

/* An element of an integer tensor; false: there is none, or it is not at hand. */
bool pdm_cinn_actual_int(const pdm_cinn_actual *actual, uint32_t element, int64_t *out);
/* Whether code for a class of shapes serves these, and the values of its symbols (room for
 * fn->symbols.n). */
bool pdm_cinn_class_fits(const pdm_loop_fn *fn, const pdm_cinn_actual *actual, int64_t *symbols);

/* Arrange the loops of a function for processors: as few as may be, the outermost in parallel; and
 * make it flat. reassociate: sums of floats may be made in another order, which is the same on all
 * machines and for any number of threads. */
void pdm_cinn_schedule_cpu(pdm_loop_fn *fn, bool reassociate);
/* The same for GPUs: each turn of the parallel loops is a thread's. */
void pdm_cinn_schedule_gpu(pdm_loop_fn *fn);

#endif
