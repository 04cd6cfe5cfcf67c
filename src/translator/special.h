/* Shared by the special handlers (special_*.c). */
#ifndef PDM_TR_SPECIAL_H
#define PDM_TR_SPECIAL_H

#include "translator/map.h"

#define PDM_TR_MAX_NAME 128

/* Emit the op, or its in-place form where the framework takes it for this legacy op; first result.
 */
pdm_ir_value *pdm_tr_emit_form(pdm_tr_op *t, const char *name, pdm_ir_value *const *operands,
                               size_t num_operands, const pdm_ir_named_attr *attrs,
                               size_t num_attrs);
/* Value that an output slot is bound to by now; NULL when the slot is absent or nothing is bound.
 */
pdm_ir_value *pdm_tr_bound(pdm_tr_op *t, const char *slot);
/* Tensor type; NULL (out of memory is recorded) only on failure. */
pdm_ir_type pdm_tr_tensor_type(pdm_tr_op *t, pdm_dtype dtype, const int64_t *dims, size_t rank);
/* Type of an output as the program declares it; NULL when the slot is absent or not a tensor. */
pdm_ir_type pdm_tr_out_type(pdm_tr_op *t, const char *slot, size_t index);
const pdm_lg_var *pdm_tr_out_var(const pdm_tr_op *t, const char *slot, size_t index);
/* Numbers of a list attribute as an array attribute, elements of the kind in which it is stored. */
pdm_ir_attr pdm_tr_a_list(pdm_tr_op *t, const pdm_lg_attr *list);
/* builtin.combine of a tensor list, of a single tensor, or pd_op.full_int_array of the attribute.
 */
pdm_ir_value *pdm_tr_int_operand(pdm_tr_op *t, const char *list, const char *tensor,
                                 const char *attr);
/* An element type that must be given; PDM_UNDEFINED after a report. */
pdm_dtype pdm_tr_need_dtype(pdm_tr_op *t, const char *name);
bool pdm_tr_is_array(const pdm_ir_value *value);
/* A new empty array in the current block. */
pdm_ir_value *pdm_tr_new_array(pdm_tr_op *t, pdm_dtype dtype);
/* pd_op.gather along axis 0 (the axis an int32 constant). */
pdm_ir_value *pdm_tr_take(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *index);

#endif
