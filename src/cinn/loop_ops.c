/* The table of operations. It needs nothing else: modules of backends have it too. */
#include "cinn/loop_ir.h"

typedef struct op_desc {
    const char *text;
    bool unary, infix;
} op_desc;

static const op_desc op_table[] = {
#define PDM_LOOP_UNARY(code, text)         [PDM_LOOP_##code] = {text, true, false},
#define PDM_LOOP_BINARY(code, text, infix) [PDM_LOOP_##code] = {text, false, infix},
#include "cinn/loop_ops.def"
#undef PDM_LOOP_UNARY
#undef PDM_LOOP_BINARY
};

const char *pdm_loop_op_text(pdm_loop_op op)
{
    return op_table[op].text;
}

bool pdm_loop_op_is_unary(pdm_loop_op op)
{
    return op_table[op].unary;
}

bool pdm_loop_op_is_infix(pdm_loop_op op)
{
    return op_table[op].infix;
}

bool pdm_loop_op_is_bool(pdm_loop_op op)
{
    return op == PDM_LOOP_EQ || op == PDM_LOOP_NE || op == PDM_LOOP_LT || op == PDM_LOOP_LE;
}
