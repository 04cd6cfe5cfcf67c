/* A number for each op row, so that a known op is told by a comparison of integers. */
#ifndef PDM_IR_OP_CODES_H
#define PDM_IR_OP_CODES_H

#define PDM_OP(dialect, op, ...) PDM_IR_OP_##dialect##_##op,
/* The index of the row in name order; PDM_IR_OP_NONE stands for ops without a row. */
typedef enum pdm_ir_op_code {
#include "ir/ops/builtin.def"
#include "ir/ops/cf.def"
#include "ir/ops/cinn_op.def"
#include "ir/ops/fast.def"
#include "ir/ops/pd_op.def"
    PDM_IR_OP_NONE
} pdm_ir_op_code;
#undef PDM_OP

/* Whether op is of that row: PDM_IR_IS(op, pd_op, relu). */
#define PDM_IR_IS(op_, dialect, name) ((op_)->info->code == PDM_IR_OP_##dialect##_##name)

#endif
