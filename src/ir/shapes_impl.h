/* Inside of the analysis of shapes. */
#ifndef PDM_IR_SHAPES_IMPL_H
#define PDM_IR_SHAPES_IMPL_H

#include "ir/shapes.h"

/* The record of a value, made on first use; NULL: out of memory, s->status tells. */
pdm_ir_shape *pdm_ir_shapes_record(pdm_ir_shapes *s, const pdm_ir_value *value);
/* Copies in the arena; they fail by s->status. */
void pdm_ir_shapes_set_dims(pdm_ir_shapes *s, pdm_ir_shape *shape, int rank, const pdm_dim *dims);
void pdm_ir_shapes_set_data(pdm_ir_shapes *s, pdm_ir_shape *shape, size_t n, const pdm_dim *data);
void pdm_ir_shapes_copy(pdm_ir_shapes *s, pdm_ir_shape *to, const pdm_ir_shape *from);
/* The data of an op's results, whose dims are there. */
void pdm_ir_shapes_find_data(pdm_ir_shapes *s, const pdm_ir_op *op);

#endif
