/*
 * What is known of values before a program runs, and parameters that passes compute.
 *
 * The layers above lend the data of parameters and somebody who computes ops. A parameter that a
 * pass made has a name of its own and data that the constants own until the caller takes them.
 */
#ifndef PDM_IR_CONSTANTS_H
#define PDM_IR_CONSTANTS_H

#include "base/tensor.h"
#include "base/vec.h"
#include "ir/effects.h"

typedef struct pdm_ir_constant_source {
    /* The data of a parameter; PDM_OK and an uninitialised tensor: there are none. */
    pdm_status (*parameter)(void *user, const char *name, pdm_tensor *out);
    /* Its bytes, without reading them; 0: there are none. */
    uint64_t (*parameter_bytes)(void *user, const char *name);
    /* Compute a pure op. in: its operands, in row order, a vector as the elements of the
     * builtin.combine that makes it; counts: by operand, 0 when it is absent. out: all results, NULL where
     * nobody reads one. Those that cannot be computed are left uninitialised. */
    pdm_status (*compute)(void *user, const pdm_ir_op *op, const pdm_tensor *const *in,
                          const size_t *counts, pdm_tensor *const *out);
    void *user;
} pdm_ir_constant_source;

/* A parameter that a pass made. */
typedef struct pdm_ir_made_constant {
    const char *name; /* interned */
    pdm_tensor tensor;
} pdm_ir_made_constant;

typedef struct pdm_ir_constants {
    pdm_ir_module *module;
    const pdm_ir_constant_source *source;
    PDM_VEC(pdm_ir_made_constant) made;
    pdm_map names;     /* interned names of all parameters, once one was made: its place in `made` from 1, or 0 */
} pdm_ir_constants;

void pdm_ir_constants_init(pdm_ir_constants *constants);
void pdm_ir_constants_deinit(pdm_ir_constants *constants);
void pdm_ir_constants_begin(pdm_ir_constants *constants, pdm_ir_module *module,
                            const pdm_ir_constant_source *source);
void pdm_ir_constants_end(pdm_ir_constants *constants);
/* The data of a parameter that a pass made; NULL: none did. */
const pdm_tensor *pdm_ir_constants_made(const pdm_ir_constants *constants, const char *name);

/* Whether a value is a parameter with data, or made of nothing by a pure op. Values that are
 * written are the caller's to leave out. */
bool pdm_ir_is_constant(const pdm_ir_constants *constants, const pdm_ir_value *value);
/* Bytes of such a value; 0 for one that is made of nothing. */
uint64_t pdm_ir_constant_bytes(const pdm_ir_constants *constants, const pdm_ir_value *value);
/* Its data: a reference, uninitialised when it cannot be had. */
PDM_MUST_USE pdm_status pdm_ir_constant_get(pdm_ir_constants *constants, const pdm_ir_value *value,
                                            pdm_tensor *out);
/*
 * A value of that type that has these data: an op that makes it (pd_op.full, pd_op.full_int_array) before
 * `before` where that can be, else a new parameter, named after the parameter `after` (NULL: none).
 * NULL: out of memory.
 */
pdm_ir_value *pdm_ir_constant_make(pdm_ir_constants *constants, const pdm_tensor *tensor,
                                   pdm_ir_type type, pdm_ir_op *before, const char *after);
/* The name of a parameter; NULL: op is none. */
const char *pdm_ir_parameter_name(const pdm_ir_op *op);

/* Numbers of a pd_op.full or pd_op.full_int_array and the like, without any source. False: it is none, or
 * has more than one element. */
bool pdm_ir_const_number(const pdm_ir_value *value, double *out);

#endif
