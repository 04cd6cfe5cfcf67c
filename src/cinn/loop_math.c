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

/* In formulas: F a float32, D a float64, I an int32. */
#define F(value)      pdm_loop_float(fn, PDM_F32, value)
#define D(value)      pdm_loop_float(fn, PDM_F64, value)
#define I(value)      pdm_loop_int(fn, PDM_I32, value)

/* c[0] x^n + ... + c[n], in the type of x */
static E polynomial(pdm_loop_fn *fn, E x, const double *c, size_t count)
{
    if (!x)
        return NULL;
    E p = pdm_loop_float(fn, x->dtype, c[0]);

    for (size_t i = 1; i < count; i++)
        p = FMA(p, x, pdm_loop_float(fn, x->dtype, c[i]));
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

/* m - 1 and k for any = m 2^k with m in [sqrt(1/2), sqrt(2)), when it is positive and finite. */
static E mantissa(pdm_loop_fn *fn, E any, E *k)
{
    const E tiny = LT(any, F(0x1p-126));
    const E x = IF(tiny, MUL(any, F(0x1p25)), any); /* denormals too */
    const E bits = U(BITS, x);
    /* The bits of sqrt(1/2) from the exponent's point of view. */
    const E offset = SUB(bits, I(0x3f3504f3));
    const E exponent = B(AND, offset, I((int64_t)(int32_t)0xff800000u));

    /* The exponent's bits as a number: they are a multiple of 2^23. */
    *k = SUB(MUL(pdm_loop_cast(fn, PDM_F32, exponent), F(0x1p-23)), IF(tiny, F(25), F(0)));
    return SUB(U(BITS, SUB(bits, exponent)), F(1));
}

static E expand_log(pdm_loop_fn *fn, E any)
{
    E k;
    const E f = mantissa(fn, any, &k), f2 = MUL(f, f);
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

/* ---- in float64 between: where float32 would not do -------------------------------------------- */

/*
 * x by pi/2 as a whole number, of which only the rest of a division by 4 is told (-2 to 2), and a
 * fraction of at most 1/2. 2/pi is in parts of 24 bits, so that products with a float32 are exact; what
 * they have of whole turns is left out before they are added, and so the largest numbers do as well.
 */
static E quarter_turns(pdm_loop_fn *fn, E x, E *fraction)
{
    static const double parts[] = {0xa2f983p-24, 0x6e4e44p-48, 0x1529fcp-72, 0x2757d1p-96,
                                   0xf534ddp-120, 0xc0db62p-144, 0x95993cp-168, 0x439041p-192};
    const E wide = pdm_loop_cast(fn, PDM_F64, x);
    E rest = D(0), turns = D(0);

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const E t = MUL(wide, D(parts[i]));
        rest = ADD(rest, SUB(t, MUL(U(ROUND, MUL(t, D(0.25))), D(4))));
        const E whole = U(ROUND, rest);
        rest = SUB(rest, whole);
        turns = ADD(turns, whole);
    }
    *fraction = rest;
    return SUB(turns, MUL(U(ROUND, MUL(turns, D(0.25))), D(4)));
}

/* sin(x + ahead pi/2), ahead 0 or 1. */
static E expand_sin(pdm_loop_fn *fn, E x, int ahead)
{
    E fraction;
    const E turns = quarter_turns(fn, x, &fraction);
    const E angle = MUL(fraction, D(0x1.921fb54442d18p+0)), z = MUL(angle, angle);
    const E sine = MUL(angle, POLYNOMIAL(z, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1));
    const E cosine = POLYNOMIAL(z, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1);
    const E odd = B(EQ, U(ABS, turns), D(1));
    const E value = ahead ? IF(odd, sine, cosine) : IF(odd, cosine, sine);
    const E negative = B(OR, B(EQ, U(ABS, turns), D(2)), B(EQ, turns, D(ahead ? 1 : -1)));
    const E result = pdm_loop_cast(fn, PDM_F32, IF(negative, U(NEG, value), value));

    return ahead ? result : IF(B(EQ, x, F(0)), x, result); /* the sign of zero */
}

/* log2 of a number that is not negative. */
static E wide_log2(pdm_loop_fn *fn, E x)
{
    E k;
    const E f = pdm_loop_cast(fn, PDM_F64, mantissa(fn, x, &k));
    const E s = DIV(f, ADD(f, D(2))), z = MUL(s, s);
    const E p = POLYNOMIAL(z, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1);
    const E log = FMA(MUL(s, p), D(2.885390081777927), pdm_loop_cast(fn, PDM_F64, k)); /* 2 / log(2) */
    const E usual = B(AND, LT(F(0), x), LT(x, F(INFINITY)));
    const E edge = IF(B(EQ, x, F(0)), D(-INFINITY), IF(B(EQ, x, F(INFINITY)), D(INFINITY), D(NAN)));

    return IF(usual, log, edge);
}

/* 2^z as float32, which is zero or infinite far enough from 0. */
static E exp2_of(pdm_loop_fn *fn, E any)
{
    const E z = B(MAX, D(-240), B(MIN, D(240), any));
    const E n = U(ROUND, z), f = MUL(SUB(z, n), D(0.6931471805599453));
    const E p = POLYNOMIAL(f, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1);
    const E half = U(ROUND, MUL(n, D(0.5)));
    const E low = power_of_2(fn, ADD(pdm_loop_cast(fn, PDM_F32, half), F(MAGIC)));
    const E high = power_of_2(fn, ADD(pdm_loop_cast(fn, PDM_F32, SUB(n, half)), F(MAGIC)));

    return pdm_loop_cast(fn, PDM_F32, MUL(MUL(p, pdm_loop_cast(fn, PDM_F64, low)), pdm_loop_cast(fn, PDM_F64, high)));
}

/* x^y with the edges of pow in C. */
static E expand_pow(pdm_loop_fn *fn, E x, E y)
{
    const E a = U(ABS, x), half = MUL(y, F(0.5));
    const E size = exp2_of(fn, MUL(pdm_loop_cast(fn, PDM_F64, y), wide_log2(fn, a)));
    const E whole = B(EQ, U(TRUNC, y), y); /* infinities, too */
    const E odd = B(AND, whole, B(NE, U(TRUNC, half), half));
    const E minus = LT(U(BITS, x), I(0));
    const E number = IF(B(EQ, a, F(1)), IF(B(EQ, y, y), F(1), y), size);
    const E with = IF(B(AND, odd, minus), U(NEG, number), number);
    const E real = B(OR, whole, B(OR, B(LE, F(0), x), B(EQ, a, F(INFINITY))));
    const E result = IF(real, with, F(NAN));

    return IF(B(OR, B(EQ, x, F(1)), B(EQ, y, F(0))), F(1), result);
}

static E expand(void *user, pdm_loop_fn *fn, E e, const E *args)
{
    (void)user;
    if (e->dtype != PDM_F32 || !args[0] || args[0]->dtype != PDM_F32)
        return NULL;
    if (e->kind == PDM_LOOP_BINARY && e->op == PDM_LOOP_POW)
        return expand_pow(fn, args[0], args[1]);
    if (e->kind != PDM_LOOP_UNARY)
        return NULL;
    switch ((int)e->op) {
    case PDM_LOOP_SIN:
        return expand_sin(fn, args[0], 0);
    case PDM_LOOP_COS:
        return expand_sin(fn, args[0], 1);
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
