/* New ops as passes want them: attributes that are not given are the row's defaults, result types
 * are inferred. */
#ifndef PDM_IR_MAKE_H
#define PDM_IR_MAKE_H

#include "ir/op_info.h"

typedef struct pdm_ir_make_attr {
    const char *name; /* NULL ends a list */
    pdm_ir_attr attr; /* NULL: out of memory */
} pdm_ir_make_attr;

enum { PDM_IR_MAKE_MAX_RESULTS = 16 };

/* An op before another one, whose place in the legacy program it gets. types: of its results; NULL:
 * inferred, and the op must not have results that are vectors. NULL: out of memory, or a type could
 * not be inferred (*out_status is PDM_OK then). */
pdm_ir_op *pdm_ir_make(pdm_ir_op *before, pdm_ir_op_code code, pdm_ir_value *const *operands,
                       size_t num_operands, const pdm_ir_make_attr *attrs, const pdm_ir_type *types,
                       size_t num_types, pdm_status *out_status);
/* What both types say, where they agree: a dimension that one knows is known. NULL: they do not fit
 * together (or out of memory). */
pdm_ir_type pdm_ir_type_meet(pdm_ir_context *context, pdm_ir_type a, pdm_ir_type b);
/* Whether everything that type says of a value, `known` says too. */
bool pdm_ir_type_covers(pdm_ir_type known, pdm_ir_type type);

#endif
