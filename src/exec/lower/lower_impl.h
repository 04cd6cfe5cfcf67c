/*
 * What the steps of the lowering share. Ops that became superfluous stay where they are, without
 * operands, until a step is over: so addresses of values stand for the values all the time.
 */
#ifndef PDM_EXEC_LOWER_IMPL_H
#define PDM_EXEC_LOWER_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "exec/lower/lower.h"
#include "ir/op_info.h"

typedef struct pdm_lower {
    pdm_ir_module *module;
    pdm_ir_context *context;
    pdm_map pinned;     /* values that something writes in place: they are left alone */
    pdm_map constants;  /* values looked at so far: 1 constant, 2 not */
    pdm_map last;       /* values that are channels-last although the program says otherwise */
    pdm_map twins;      /* values: the same in the other layout */
    pdm_map needs_last; /* ops whose operands are still to be made channels-last */
    PDM_VEC(pdm_ir_op *) dead;
    bool params_change; /* the program sets parameters */
    pdm_exec_lower_options options;
    pdm_status status;  /* sticky */
} pdm_lower;

/* The steps, each on a block and those inside of it. */
void pdm_lower_fuse(pdm_lower *l, pdm_ir_block *block);
void pdm_lower_small_images(pdm_lower *l, pdm_ir_block *block); /* of one block; after its convolutions */
void pdm_lower_separable(pdm_lower *l, pdm_ir_block *block); /* of one block; after fusing */
void pdm_lower_stepped(pdm_lower *l, pdm_ir_block *block);
void pdm_lower_layout(pdm_lower *l, pdm_ir_block *block);
void pdm_lower_norms(pdm_lower *l, pdm_ir_block *block);

bool pdm_lower_is_pinned(const pdm_lower *l, const pdm_ir_value *value);
void pdm_lower_pin(pdm_lower *l, const pdm_ir_value *value);
/* Whether a value will be known when the plan is made. */
bool pdm_lower_is_constant(pdm_lower *l, const pdm_ir_value *value);
bool pdm_lower_attr_number(pdm_ir_attr attr, double *out); /* false: it is none */
/* The number in a pd_op.full; false: it is none. */
bool pdm_lower_number(const pdm_ir_value *value, double *out);
/* The image, channels first, that y, which has one reader, repeats so often (height, width) by nearest interpolation: powers of two,
 * for which its arithmetic is exact. NULL: y is none such. */
pdm_ir_value *pdm_lower_repeated(const pdm_lower *l, const pdm_ir_value *y, double times[2]);
/* A float32 tensor. */
bool pdm_lower_is_f32(const pdm_ir_value *value);

typedef struct pdm_lower_attr {
    const char *name;
    pdm_ir_attr attr; /* NULL: left out */
} pdm_lower_attr;

enum { PDM_LOWER_MAX_OPERANDS = 32, PDM_LOWER_MAX_ATTRS = 16 };

/* A new op with one result before another op; its place in the legacy program is that of `like`.
 * NULL after a failure. Attributes end with a NULL name. */
pdm_ir_op *pdm_lower_make(pdm_lower *l, pdm_ir_op *before, const pdm_ir_op *like, const char *name,
                          pdm_ir_value *const *operands, size_t num_operands, pdm_ir_type type,
                          const pdm_lower_attr *attrs);
/* A pd_op.full of one element. */
pdm_ir_value *pdm_lower_full(pdm_lower *l, pdm_ir_op *before, pdm_dtype dtype, double number);
/* An op whose results nobody needs any more. */
void pdm_lower_kill(pdm_lower *l, pdm_ir_op *op);
bool pdm_lower_remember(pdm_lower *l, pdm_map *map, const void *key, const void *value);
void *pdm_lower_recall(const pdm_map *map, const void *key); /* NULL: nothing */

static inline const char *pdm_lower_text(const pdm_ir_op *op, const char *name)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return attr && attr->kind == PDM_IR_ATTR_STR ? attr->u.s.text : "";
}

#endif
