/*
 * Batch normalization by fixed statistics as a product and a sum, for groups that are compiled. The factor
 * and what is added are computed in the steps of the op, which itself makes the root, so they are rounded like those of the op; not by
 * the op from one and zero, for an infinite scale times zero is NaN. Both are constant, and so computed once.
 */
#include <string.h>

#include "exec/lower/lower_impl.h"
#include "ir/channels.h"

static pdm_ir_value *filled(pdm_lower *l, pdm_ir_op *before, pdm_dtype dtype, const int64_t *dims,
                            uint32_t rank, double number)
{
    const pdm_lower_attr attrs[] = {{"shape", pdm_ir_attr_int_array(l->context, dims, rank)},
                                    {"value", pdm_ir_attr_f64(l->context, number)},
                                    {"dtype", pdm_ir_attr_dtype(l->context, dtype)},
                                    {"place", pdm_ir_attr_place(l->context, 1, 0, "")},
                                    {0}};
    const pdm_ir_op *op = pdm_lower_make(l, before, before, "pd_op.full", NULL, 0,
                                         pdm_ir_type_tensor(l->context, dtype, dims, rank), attrs);

    return op ? pdm_ir_op_result(op, 0) : NULL;
}

/* 1 / root, a row [1, channels]: what the op makes of ones when scale is 1, and mean and shift are 0. */
static pdm_ir_value *inverse_of(pdm_lower *l, pdm_ir_op *op, const pdm_ir_norm *norm)
{
    const pdm_dtype dtype = norm->variance->type->dtype;
    const int64_t row[2] = {1, norm->variance->type->dims[0]};
    const pdm_lower_attr attrs[] = {
        {"is_test", pdm_ir_op_attr(op, "is_test")},
        {"momentum", pdm_ir_op_attr(op, "momentum")},
        {"epsilon", pdm_ir_op_attr(op, "epsilon")},
        {"data_format", pdm_ir_op_attr(op, "data_format")},
        {"use_global_stats", pdm_ir_op_attr(op, "use_global_stats")},
        {"trainable_statistics", pdm_ir_op_attr(op, "trainable_statistics")},
        {0}};
    pdm_ir_value *zeros = filled(l, op, dtype, row + 1, 1, 0), *ones = filled(l, op, dtype, row + 1, 1, 1);
    pdm_ir_value *operands[] = {filled(l, op, dtype, row, 2, 1), zeros, norm->variance, ones, zeros};
    const pdm_ir_op *of = pdm_lower_make(l, op, op, "pd_op.batch_norm", operands, 5,
                                         pdm_ir_type_tensor(l->context, dtype, row, 2), attrs);
    return of ? pdm_ir_op_result(of, 0) : NULL;
}

static pdm_ir_value *binary(pdm_lower *l, pdm_ir_op *op, const char *name, pdm_ir_value *x, pdm_ir_value *y)
{
    const int64_t row[2] = {1, x && y ? y->type->dims[y->type->rank - 1] : 1};
    const pdm_ir_op *made = x && y ? pdm_lower_make(l, op, op, name, (pdm_ir_value *[]){x, y}, 2,
                                                    pdm_ir_type_tensor(l->context, y->type->dtype, row, 2), NULL)
                                   : NULL;
    return made ? pdm_ir_op_result(made, 0) : NULL;
}

/* shift - mean / root * scale in single precision, shift - mean * factor in double: so does the op, step by step. */
static pdm_ir_value *summand(pdm_lower *l, pdm_ir_op *op, const pdm_ir_norm *norm, pdm_ir_value *inverse, pdm_ir_value *factor)
{
    const bool single = norm->variance->type->dtype == PDM_F32;
    pdm_ir_value *mean = binary(l, op, "pd_op.multiply", single ? inverse : factor, norm->mean);

    if (single)
        mean = binary(l, op, "pd_op.multiply", mean, norm->scale);
    return mean ? binary(l, op, "pd_op.subtract", norm->shift, mean) : NULL;
}

/* A row in the shape that is broadcast to the operand. */
static pdm_ir_value *turned_to(pdm_lower *l, pdm_ir_op *op, const pdm_ir_norm *norm, pdm_ir_value *row)
{
    int64_t dims[PDM_MAX_RANK] = {norm->variance->type->dims[0], 1, 1, 1};
    const uint32_t rank = norm->tail + 1;
    const int64_t length[1] = {rank};
    const pdm_lower_attr shape[] = {{"value", pdm_ir_attr_int_array(l->context, dims, rank)},
                                    {"dtype", pdm_ir_attr_dtype(l->context, PDM_I64)},
                                    {"place", pdm_ir_attr_place(l->context, 1, 0, "")},
                                    {0}};
    const pdm_ir_op *to = row ? pdm_lower_make(l, op, op, "pd_op.full_int_array", NULL, 0,
                                               pdm_ir_type_tensor(l->context, PDM_I64, length, 1), shape)
                              : NULL;
    const pdm_ir_op *made = to ? pdm_lower_make(l, op, op, "pd_op.reshape", (pdm_ir_value *[]){row, pdm_ir_op_result(to, 0)}, 2,
                                                pdm_ir_type_tensor(l->context, row->type->dtype, dims, rank), NULL)
                               : NULL;
    return made ? pdm_ir_op_result(made, 0) : NULL;
}

static bool is_vector(pdm_lower *l, const pdm_ir_value *v, pdm_ir_type x)
{
    return v && pdm_ir_type_is_tensor(v->type) && v->type->rank == 1 && v->type->dims[0] > 0 &&
           v->type->dtype == x->dtype && pdm_lower_is_constant(l, v);
}

static bool fits(pdm_lower *l, const pdm_ir_op *op, pdm_ir_norm *norm)
{
    const pdm_ir_value *x = pdm_ir_op_operand_value(op, 0);

    if (!pdm_ir_op_is(op, "pd_op.batch_norm") || !x || !pdm_ir_type_is_tensor(x->type) ||
        (x->type->dtype != PDM_F32 && x->type->dtype != PDM_F64) || x->type->rank < 2 ||
        x->type->rank > 5 || !pdm_ir_is_fixed_norm(op, norm) || pdm_lower_is_constant(l, x))
        return false;
    /* Channels are the second axis, or the last one. */
    const char *layout = pdm_lower_text(op, "data_format");
    const bool last = layout[0] && layout[strlen(layout) - 1] == 'C';
    norm->tail = last && x->type->rank > 2 ? 0 : x->type->rank - 2;
    const int64_t channels = norm->variance ? x->type->dims[x->type->rank - 1 - norm->tail] : -1;
    return is_vector(l, norm->mean, x->type) && is_vector(l, norm->variance, x->type) &&
           is_vector(l, norm->scale, x->type) && is_vector(l, norm->shift, x->type) &&
           channels == norm->variance->type->dims[0];
}

static void take_apart(pdm_lower *l, pdm_ir_op *op, const pdm_ir_norm *norm)
{
    const pdm_ir_type type = pdm_ir_op_result(op, 0)->type;
    pdm_ir_value *x = pdm_ir_op_operand_value(op, 0);
    pdm_ir_value *inverse = inverse_of(l, op, norm);
    pdm_ir_value *row = binary(l, op, "pd_op.multiply", inverse, norm->scale);
    pdm_ir_value *shift = row ? turned_to(l, op, norm, summand(l, op, norm, inverse, row)) : NULL;
    pdm_ir_value *factor = turned_to(l, op, norm, row);
    /* The product is no op of the program: it is not counted. */
    const pdm_lower_attr part[] = {{"part", pdm_ir_attr_bool(l->context, true)}, {0}};
    pdm_ir_op *product = factor && shift ? pdm_lower_make(l, op, op, "pd_op.multiply",
                                                          (pdm_ir_value *[]){x, factor}, 2, type, part)
                                         : NULL;
    pdm_ir_op *sum =
        product ? pdm_lower_make(l, op, op, "pd_op.add",
                                 (pdm_ir_value *[]){pdm_ir_op_result(product, 0), shift}, 2, type, NULL)
                : NULL;

    if (!sum)
        return;
    pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, 0), pdm_ir_op_result(sum, 0));
    pdm_lower_kill(l, op);
}

void pdm_lower_norms(pdm_lower *l, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first, *next; op && l->status == PDM_OK; op = next) {
        pdm_ir_norm norm;
        next = op->next;
        for (uint32_t i = 0; i < op->num_regions; i++) {
            for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
                pdm_lower_norms(l, b);
        }
        if (fits(l, op, &norm))
            take_apart(l, op, &norm);
    }
}
