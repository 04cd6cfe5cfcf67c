#include "ir/passes/same.h"

#include "ir/align.h"

/* The next attribute that says what is computed; NULL at the end. */
static const pdm_ir_named_attr *next_attr(const pdm_ir_op *op, uint32_t *at)
{
    while (*at < op->num_attrs) {
        const pdm_ir_named_attr *attr = &op->attrs[(*at)++];
        if (pdm_ir_attr_matters(attr->name))
            return attr;
    }
    return NULL;
}

static bool same_attrs(const pdm_ir_op *a, const pdm_ir_op *b)
{
    const pdm_ir_named_attr *x, *y;
    uint32_t i = 0, k = 0;

    do {
        x = next_attr(a, &i);
        y = next_attr(b, &k);
        if (!x || !y)
            return x == y;
    } while (x->name == y->name && x->attr == y->attr);
    return false;
}

static bool same_operands(const pdm_ir_op *a, const pdm_ir_op *b)
{
    bool same = a->num_operands == b->num_operands;

    for (uint32_t i = 0; same && i < a->num_operands; i++)
        same = pdm_ir_op_operand_value(a, i) == pdm_ir_op_operand_value(b, i);
    return same || (a->num_operands == 2 && b->num_operands == 2 && pdm_ir_commutes(a) &&
                    pdm_ir_op_operand_value(a, 0) == pdm_ir_op_operand_value(b, 1) &&
                    pdm_ir_op_operand_value(a, 1) == pdm_ir_op_operand_value(b, 0));
}

bool pdm_ir_same_op(const pdm_ir_op *a, const pdm_ir_op *b)
{
    if (a->info != b->info || a->num_results != b->num_results)
        return false;
    for (uint32_t i = 0; i < a->num_results; i++) {
        if (pdm_ir_op_result(a, i)->type != pdm_ir_op_result(b, i)->type)
            return false;
    }
    return same_operands(a, b) && same_attrs(a, b);
}
