/*
 * Batch normalization by fixed statistics as a product and a sum, for groups that are compiled. The factor
 * and what is added are what the op itself makes of one and of zero, so they are rounded like those of the op,
 * whatever that does; they are constant, and so computed once.
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

/* The op for a row [1, channels] of one number, in the shape that is broadcast to its operand. */
static pdm_ir_value *of_number(pdm_lower *l, pdm_ir_op *op, const pdm_ir_norm *norm, double number,
                               pdm_ir_value *mean, pdm_ir_value *shift)
{
    const pdm_ir_type x = pdm_ir_op_operand_value(op, 0)->type;
    const int64_t channels = norm->variance->type->dims[0];
    const int64_t row[2] = {1, channels};
    int64_t dims[PDM_MAX_RANK] = {channels, 1, 1, 1};
    const uint32_t rank = norm->tail + 1;
    const pdm_lower_attr attrs[] = {
        {"is_test", pdm_ir_op_attr(op, "is_test")},
        {"momentum", pdm_ir_op_attr(op, "momentum")},
        {"epsilon", pdm_ir_op_attr(op, "epsilon")},
        {"data_format", pdm_ir_op_attr(op, "data_format")},
        {"use_global_stats", pdm_ir_op_attr(op, "use_global_stats")},
        {"trainable_statistics", pdm_ir_op_attr(op, "trainable_statistics")},
        {0}};
    pdm_ir_value *operands[] = {filled(l, op, x->dtype, row, 2, number), mean, norm->variance,
                                norm->scale, shift};
    const pdm_ir_op *of = pdm_lower_make(l, op, op, "pd_op.batch_norm", operands, 5,
                                         pdm_ir_type_tensor(l->context, x->dtype, row, 2), attrs);
    const int64_t length[1] = {rank};
    const pdm_lower_attr shape[] = {{"value", pdm_ir_attr_int_array(l->context, dims, rank)},
                                    {"dtype", pdm_ir_attr_dtype(l->context, PDM_I64)},
                                    {"place", pdm_ir_attr_place(l->context, 1, 0, "")},
                                    {0}};
    const pdm_ir_op *to = pdm_lower_make(l, op, op, "pd_op.full_int_array", NULL, 0,
                                         pdm_ir_type_tensor(l->context, PDM_I64, length, 1), shape);
    if (!of || !to)
        return NULL;
    const pdm_ir_op *turned =
        pdm_lower_make(l, op, op, "pd_op.reshape",
                       (pdm_ir_value *[]){pdm_ir_op_result(of, 0), pdm_ir_op_result(to, 0)}, 2,
                       pdm_ir_type_tensor(l->context, x->dtype, dims, rank), NULL);
    return turned ? pdm_ir_op_result(turned, 0) : NULL;
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
    pdm_ir_value *zeros = filled(l, op, x->type->dtype, norm->variance->type->dims, 1, 0);
    pdm_ir_value *factor = of_number(l, op, norm, 1, zeros, zeros);
    pdm_ir_value *shift = of_number(l, op, norm, 0, norm->mean, norm->shift);
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
