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
        p = FMA(p, x, F(c[i]));
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

/* 2^n from n + MAGIC, for n in [-126, 127]: only the lowest bits of the sum get into the exponent. */
static E power_of_2(pdm_loop_fn *fn, E shifted)
{
    return U(BITS, ADD(B(SHL, U(BITS, shifted), I(23)), I(127 << 23)));
}

/* exp(x - n log(2)) for the nearest n, and n + MAGIC. */
static E exp_of_rest(pdm_loop_fn *fn, E x, E *shifted)
{
    *shifted = FMA(x, F(1.44269504), F(MAGIC));
    const E whole = SUB(*shifted, F(MAGIC));
    const E r = FMA(whole, F(2.12194440e-4), FMA(whole, F(-0.693359375), x));
    const E p = POLYNOMIAL(r, 1.3814540579915047e-3, 8.36874544620514e-3, 4.166838899254799e-2,
                           1.666652113199234e-1, 0.4999999403953552);

    return ADD(FMA(p, MUL(r, r), r), F(1));
}

/* For x in [-87, 88], where it is a normal number. */
static E expand_normal_exp(pdm_loop_fn *fn, E x)
{
    E n;
    const E core = exp_of_rest(fn, x, &n);

    return MUL(core, power_of_2(fn, n));
}

/* Whether a value is NaN or in [-87, 88], as its formula says: max(number, min(number, ...)). */
static bool is_moderate(E x)
{
    const bool below = x->kind == PDM_LOOP_BINARY && x->op == PDM_LOOP_MAX;
    const E low = below ? x->args[0] : NULL, rest = below ? x->args[1] : NULL;
    const bool above = rest && rest->kind == PDM_LOOP_BINARY && rest->op == PDM_LOOP_MIN;

    return above && low->kind == PDM_LOOP_CONST && low->u.f >= -87 && low->u.f <= 88 &&
           rest->args[0]->kind == PDM_LOOP_CONST && rest->args[0]->u.f <= 88;
}

static E expand_exp(pdm_loop_fn *fn, E any)
{
    if (any && is_moderate(any))
        return expand_normal_exp(fn, any);
    /* Infinite from 88.73 on, zero up to -103.98. */
    E n;
    const E core = exp_of_rest(fn, B(MAX, F(-105), B(MIN, F(89), any)), &n);
    /* In two steps: the power may be beyond the exponents of a normal number. */
    const E half = FMA(SUB(n, F(MAGIC)), F(0.5), F(MAGIC));

    return MUL(MUL(core, power_of_2(fn, half)), power_of_2(fn, SUB(n, SUB(half, F(MAGIC)))));
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
    const E small = FMA(k, F(-2.12194440e-4), FMA(MUL(f2, f), p, MUL(F(-0.5), f2)));
    const E log = FMA(k, F(0.693359375), ADD(f, small));
    const E usual = B(AND, LT(F(0), any), LT(any, F(INFINITY)));
    const E edge = IF(B(EQ, any, F(0)), F(-INFINITY), IF(B(EQ, any, F(INFINITY)), any, F(NAN)));

    return IF(usual, log, edge);
}

static E expand_sigmoid(pdm_loop_fn *fn, E x)
{
    const E e = expand_exp(fn, U(NEG, U(ABS, x)));

    return DIV(IF(LT(x, F(0)), e, F(1)), ADD(F(1), e));
}

static E expand_tanh(pdm_loop_fn *fn, E x)
{
    const E a = U(ABS, x), z = MUL(x, x);
    const E p = POLYNOMIAL(z, 2.14753696e-3, -8.18267372e-3, 2.17029676e-2, -5.39472029e-2,
                           1.33332103e-1, -3.33333313e-1);
    const E small = FMA(MUL(p, z), a, a);
    const E e = expand_normal_exp(fn, B(MIN, F(20), ADD(a, a))); /* 1 from 9.02 on */
    const E large = SUB(F(1), DIV(F(2), ADD(e, F(1))));

    return with_sign(fn, IF(LT(a, F(0.625)), small, large), x); /* that of zero, too */
}

static E expand_erf(pdm_loop_fn *fn, E x)
{
    const E a = U(ABS, x), z = MUL(x, x);
    const E p = POLYNOMIAL(z, -6.535249995067716e-4, 5.0851330161094666e-3, -2.682080864906311e-2,
                           1.1283113062381744e-1, -3.761260211467743e-1, 0.12837916612625122);
    /* -log(erfc(a)) */
    const E q = POLYNOMIAL(B(MIN, F(4), a), -2.0869939180556685e-4, 3.164890920743346e-3,
                           -2.269737794995308e-2, 1.0487639158964157e-1, 6.361421346664429e-1,
                           1.1282713413238525, 5.6847569794626907e-5);
    const E large = with_sign(fn, SUB(F(1), expand_normal_exp(fn, U(NEG, q))), x);

    return IF(LT(a, F(0.8)), FMA(x, p, x), large);
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
