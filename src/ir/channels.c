#include "ir/channels.h"

#include <string.h>

#include "base/checked.h"
#include "ir/rewrite.h"

int64_t pdm_ir_static_count(const pdm_ir_value *value)
{
    uint64_t count;

    if (!value || !pdm_ir_type_is_tensor(value->type))
        return -1;
    for (uint32_t i = 0; i < value->type->rank; i++) {
        if (value->type->dims[i] < 0)
            return -1;
    }
    return pdm_count_elements(value->type->dims, value->type->rank, &count) && count <= INT64_MAX
               ? (int64_t)count
               : -1;
}

bool pdm_ir_is_per_channel(const pdm_ir_value *y, const pdm_ir_channels *channels)
{
    const int64_t count = pdm_ir_static_count(y);
    const uint32_t rank = count < 0 ? 0 : y->type->rank;

    if (count < 0 || rank > channels->rank)
        return false;
    if (count == 1)
        return true;
    for (uint32_t i = 0; i < rank; i++) {
        if (y->type->dims[i] != 1 && rank - 1 - i != channels->tail)
            return false;
    }
    return channels->count > 0 && count == channels->count;
}

bool pdm_ir_is_fixed_norm(const pdm_ir_op *op, pdm_ir_norm *out)
{
    if (!PDM_IR_IS(op, pd_op, batch_norm) || op->num_operands != 5 ||
        (!pdm_ir_op_flag(op, "is_test") && !pdm_ir_op_flag(op, "use_global_stats")) ||
        pdm_ir_op_flag(op, "trainable_statistics"))
        return false;
    for (uint32_t i = 1; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return false;
    }
    *out = (pdm_ir_norm){.x = pdm_ir_op_operand_value(op, 0),
                         .mean = pdm_ir_op_operand_value(op, 1),
                         .variance = pdm_ir_op_operand_value(op, 2),
                         .scale = pdm_ir_op_operand_value(op, 3),
                         .shift = pdm_ir_op_operand_value(op, 4),
                         .epsilon = pdm_ir_op_number(op, "epsilon", 1e-5),
                         .tail = strcmp(pdm_ir_op_text(op, "data_format"), "NHWC") ? 2 : 0};
    return out->x && out->mean && out->variance;
}
