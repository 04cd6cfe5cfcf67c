/* Short words for formulas of loop expressions; `fn` is the function that they are made in. */
#ifndef PDM_CINN_FORMULA_H
#define PDM_CINN_FORMULA_H

#include "cinn/loop_ir.h"

#define U(code, a)    pdm_loop_unary(fn, PDM_LOOP_##code, a)
#define B(code, a, b) pdm_loop_binary(fn, PDM_LOOP_##code, a, b)
#define ADD(a, b)     B(ADD, a, b)
#define SUB(a, b)     B(SUB, a, b)
#define MUL(a, b)     B(MUL, a, b)
#define DIV(a, b)     B(DIV, a, b)
#define FMA(a, b, c)  pdm_loop_fma(fn, a, b, c)
#define LT(a, b)      B(LT, a, b)
#define IF(c, a, b)   pdm_loop_select(fn, c, a, b)

/* Halves are calculated with as float32: what is made of them is rounded when it is a value of the program. */
static inline const pdm_loop_expr *pdm_loop_wide(pdm_loop_fn *fn, const pdm_loop_expr *e)
{
    return e && pdm_loop_is_half(e->dtype) ? pdm_loop_cast(fn, PDM_F32, e) : e;
}

#endif
