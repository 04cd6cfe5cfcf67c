/*
 * Functions of float32 as arithmetic: no branches and no calls, so that they can be calculated in
 * vectors, and the same bits from every backend. NaN stays NaN; infinities and results too small for
 * a normal number come out as they should. Coefficients are minimax fits, made for this project.
 * Other functions and types are left to the library of the backend.
 */
#include <math.h>

#include "cinn/formula.h"
#include "cinn/loop_rewrite.h"

typedef const pdm_loop_expr *E;

/* In formulas: F a float32, I an int32. */
#define F(value)      pdm_loop_float(fn, PDM_F32, value)
#define I(value)      pdm_loop_int(fn, PDM_I32, value)

/* c[0] x^n + ... + c[n] */
static E polynomial(pdm_loop_fn *fn, E x, const double *c, size_t count)
{
    E p = F(c[0]);

    for (size_t i = 1; i < count; i++)
        p = ADD(MUL(p, x), F(c[i]));
    return p;
}
#define POLYNOMIAL(x, ...)                                                                         \
    polynomial(fn, x, (const double[]){__VA_ARGS__},                                               \
               sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* a with the sign of s; a is not negative */
static E with_sign(pdm_loop_fn *fn, E a, E s)
{
    return U(BITS, B(OR, U(BITS, a), B(AND, U(BITS, s), I(INT32_MIN))));
}

/* Added to a float of less than 2^22, it leaves the nearest whole number in the lowest bits. */
#define MAGIC      12582912.0
#define MAGIC_BITS 0x4b400000

/* 2^n from n + MAGIC, for n in [-126, 127] */
static E power_of_2(pdm_loop_fn *fn, E shifted)
{
    return U(BITS, B(SHL, SUB(U(BITS, shifted), I(MAGIC_BITS - 127)), I(23)));
}

static E expand_exp(pdm_loop_fn *fn, E any)
{
    /* Infinite from 88.73 on, zero up to -103.98. */
    const E x = B(MAX, F(-105), B(MIN, F(89), any));
    const E whole = SUB(ADD(MUL(x, F(1.44269504)), F(MAGIC)), F(MAGIC));
    const E r = SUB(SUB(x, MUL(whole, F(0.693359375))), MUL(whole, F(-2.12194440e-4)));
    const E p = POLYNOMIAL(r, 1.99181255e-4, 1.39463041e-3, 8.33326485e-3, 4.16662656e-2,
                           1.66666672e-1, 0.5);
    const E core = ADD(ADD(MUL(p, MUL(r, r)), r), F(1));
    /* In two steps: the power may be beyond the exponents of a normal number. */
    const E half = ADD(MUL(whole, F(0.5)), F(MAGIC));
    const E rest = ADD(SUB(whole, SUB(half, F(MAGIC))), F(MAGIC));

    return MUL(MUL(core, power_of_2(fn, half)), power_of_2(fn, rest));
}

/* x = m 2^k with m in [sqrt(1/2), sqrt(2)) */
static E expand_log(pdm_loop_fn *fn, E any)
{
    const E tiny = LT(any, F(0x1p-126));
    const E x = IF(tiny, MUL(any, F(0x1p25)), any); /* denormals too */
    const E bits = U(BITS, x);
    /* The bits of sqrt(1/2) from the exponent's point of view. */
    const E offset = SUB(bits, I(0x3f3504f3));
    const E exponent = B(AND, offset, I((int64_t)(int32_t)0xff800000u));
    const E f = SUB(U(BITS, SUB(bits, exponent)), F(1));
    /* The exponent's bits as a number: they are a multiple of 2^23. */
    const E k = SUB(MUL(pdm_loop_cast(fn, PDM_F32, exponent), F(0x1p-23)), IF(tiny, F(25), F(0)));
    const E f2 = MUL(f, f);
    const E p = POLYNOMIAL(f, -0.0763431042432785, 0.12761501967906952, -0.1316021829843521,
                           0.14201770722866058, -0.16623355448246002, 0.20001226663589478,
                           -0.250008225440979, 0.3333333134651184);
    const E small = ADD(SUB(MUL(MUL(f2, f), p), MUL(F(0.5), f2)), MUL(k, F(-2.12194440e-4)));
    const E log = ADD(ADD(f, small), MUL(k, F(0.693359375)));
    const E usual = B(AND, LT(F(0), any), LT(any, F(INFINITY)));
    const E edge = IF(B(EQ, any, F(0)), F(-INFINITY), IF(B(EQ, any, F(INFINITY)), any, F(NAN)));

    return IF(usual, log, edge);
}

static E expand_sigmoid(pdm_loop_fn *fn, E x)
{
    const E e = expand_exp(fn, U(NEG, U(ABS, x)));
    const E sum = ADD(F(1), e);

    /* e - e^2 / (1 + e) loses less than e / (1 + e) */
    return IF(LT(x, F(0)), SUB(e, DIV(MUL(e, e), sum)), DIV(F(1), sum));
}

static E expand_tanh(pdm_loop_fn *fn, E x)
{
    const E a = U(ABS, x), z = MUL(x, x);
    const E p = POLYNOMIAL(z, 2.14753696e-3, -8.18267372e-3, 2.17029676e-2, -5.39472029e-2,
                           1.33332103e-1, -3.33333313e-1);
    const E small = ADD(MUL(MUL(p, z), a), a);
    const E e = expand_exp(fn, MUL(F(2), a));
    const E large = SUB(F(1), DIV(F(2), ADD(e, F(1))));

    return with_sign(fn, IF(LT(a, F(0.625)), small, large), x); /* that of zero, too */
}

static E expand_erf(pdm_loop_fn *fn, E x)
{
    const E a = U(ABS, x), z = MUL(x, x);
    const E p = POLYNOMIAL(z, 8.83625471e-5, -8.24429095e-4, 5.2092988e-3, -2.68624816e-2,
                           1.12837471e-1, -3.76126379e-1, 0.128379166);
    /* -log(erfc(a)) */
    const E q = POLYNOMIAL(B(MIN, F(4), a), 1.89676564e-6, -4.430025e-6, -2.87578354e-4,
                           3.69888521e-3, -2.41917279e-2, 1.07138887e-1, 6.34205699e-1, 1.12915325,
                           -1.09357294e-4);
    const E large = with_sign(fn, SUB(F(1), expand_exp(fn, U(NEG, q))), x);

    return IF(LT(a, F(0.8)), ADD(MUL(x, p), x), large);
}

static E expand(void *user, pdm_loop_fn *fn, E e, const E *args)
{
    (void)user;
    if (e->kind != PDM_LOOP_UNARY || e->dtype != PDM_F32 || !args[0] || args[0]->dtype != PDM_F32)
        return NULL;
    switch ((int)e->op) {
    case PDM_LOOP_EXP:
        return expand_exp(fn, args[0]);
    case PDM_LOOP_LOG:
        return expand_log(fn, args[0]);
    case PDM_LOOP_SIGMOID:
        return expand_sigmoid(fn, args[0]);
    case PDM_LOOP_TANH:
        return expand_tanh(fn, args[0]);
    case PDM_LOOP_ERF:
        return expand_erf(fn, args[0]);
    default:
        return NULL;
    }
}

bool pdm_loop_expand_math(pdm_loop_fn *fn)
{
    return pdm_loop_rewrite(fn, fn->body, expand, NULL);
}
