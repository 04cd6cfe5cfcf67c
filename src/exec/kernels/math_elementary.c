/* Exponentials, logarithms, roots, trigonometry, and other functions of one number. */
#include <math.h>
#include <tgmath.h>

#include "exec/kernels/math_impl.h"
#include "exec/kernels/nn_single.h"

#define LN2  0.693147180559945309417232121458
#define LN10 2.302585092994045684017991454684

/* The kernel of an op whose loops are named like it. */
#define KERNEL_FC(name)                                                                            \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_unary op = {                                                              \
            .loop = {PDM_UNARY_OF_FLOAT(name), PDM_UNARY_OF_COMPLEX(name)}, .promote = true};      \
        return pdm_math_unary(k, &op, NULL);                                                       \
    }
#define KERNEL_F(name)                                                                             \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(name)}, .promote = true};         \
        return pdm_math_unary(k, &op, NULL);                                                       \
    }

/* The same expression for real and complex numbers (tgmath.h picks the function). */
#define FLOAT_AND_COMPLEX(name, expr)                                                              \
    PDM_UNARY_FLOAT(name, expr)                                                                    \
    PDM_UNARY_COMPLEX(name, expr)                                                                  \
    KERNEL_FC(name)

/* C has the function for real numbers only. */
#define FLOAT_OR_COMPLEX(name, expr, complex_expr)                                                 \
    PDM_UNARY_FLOAT(name, expr)                                                                    \
    PDM_UNARY_COMPLEX(name, complex_expr)                                                          \
    KERNEL_FC(name)

#define FLOAT_ONLY(name, expr)                                                                     \
    PDM_UNARY_FLOAT(name, expr)                                                                    \
    KERNEL_F(name)

FLOAT_AND_COMPLEX(exp, PDM_EXP(v))
FLOAT_AND_COMPLEX(log, log(v))
FLOAT_OR_COMPLEX(expm1, expm1(v), exp(v) - (T)1)
FLOAT_OR_COMPLEX(log1p, log1p(v), log((T)1 + v))
FLOAT_OR_COMPLEX(log2, log2(v), log(v) / (T)LN2)
FLOAT_OR_COMPLEX(log10, log10(v), log(v) / (T)LN10)

FLOAT_AND_COMPLEX(sqrt, PDM_SQRT(v))
FLOAT_AND_COMPLEX(rsqrt, (T)1 / sqrt(v))
FLOAT_AND_COMPLEX(reciprocal, (T)1 / v)

FLOAT_AND_COMPLEX(sin, sin(v))
FLOAT_AND_COMPLEX(cos, cos(v))
FLOAT_AND_COMPLEX(tan, tan(v))
FLOAT_AND_COMPLEX(asin, asin(v))
FLOAT_AND_COMPLEX(acos, acos(v))
FLOAT_AND_COMPLEX(atan, atan(v))
FLOAT_AND_COMPLEX(sinh, sinh(v))
FLOAT_AND_COMPLEX(cosh, cosh(v))
FLOAT_AND_COMPLEX(tanh, PDM_TANH(v))
FLOAT_AND_COMPLEX(asinh, asinh(v))
FLOAT_AND_COMPLEX(acosh, acosh(v))
FLOAT_AND_COMPLEX(atanh, atanh(v))

FLOAT_AND_COMPLEX(sigmoid, (T)1 / ((T)1 + PDM_EXP(-v)))
FLOAT_OR_COMPLEX(silu, v *((T)1 / ((T)1 + PDM_EXP(-v))), v / ((T)1 + exp(-v)))

FLOAT_ONLY(erf, erf(v))

/* ---- rounding -------------------------------------------------------------------------------- */

#define COPY_LOOP(code, suffix, type, acc, load, store, name)                                      \
    PDM_UNARY_LOOP(name, suffix, type, type, v)
#define COPY_ROW(code, suffix, type, acc, load, store, name) [code] = name##_##suffix,
PDM_K_INTS(COPY_LOOP, copy)

/* Integers stay as they are. */
#define ROUNDING(name, expr)                                                                       \
    PDM_UNARY_FLOAT(name, expr)                                                                    \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_unary op = {                                                              \
            .loop = {PDM_K_INTS(COPY_ROW, copy) PDM_UNARY_OF_FLOAT(name)}};                        \
        return pdm_math_unary(k, &op, NULL);                                                       \
    }

ROUNDING(ceil, ceil(v))
ROUNDING(floor, floor(v))
ROUNDING(trunc, trunc(v))
ROUNDING(rint, rint(v))

/* Halves go to the even number; 2.6.2 moves them away from zero. */
PDM_UNARY_FLOAT(round_even, rint(v))
PDM_UNARY_FLOAT(round_away, round(v))
PDM_UNARY_FLOAT(round_up_to, rint(v *P(0)) / P(0))
PDM_UNARY_FLOAT(round_down_to, rint(v / P(0)) * P(0))

pdm_status pdm_kernel_round(pdm_k *k)
{
    static const pdm_unary even = {.loop = {PDM_K_INTS(COPY_ROW, copy)
                                                PDM_UNARY_OF_FLOAT(round_even)}};
    static const pdm_unary away = {.loop = {PDM_K_INTS(COPY_ROW, copy)
                                                PDM_UNARY_OF_FLOAT(round_away)}};
    static const pdm_unary up = {.loop = {PDM_K_INTS(COPY_ROW, copy)
                                              PDM_UNARY_OF_FLOAT(round_up_to)}};
    static const pdm_unary down = {.loop = {PDM_K_INTS(COPY_ROW, copy)
                                                PDM_UNARY_OF_FLOAT(round_down_to)}};
    const int64_t decimals = pdm_k_int_or(k, "decimals", 0);
    const double scale = pow(10.0, fabs((double)decimals));

    if (decimals == 0)
        return pdm_math_unary(k, pdm_k_before(k, PDM_DIFF_ROUND) ? &away : &even, NULL);
    return pdm_math_unary(k, decimals > 0 ? &up : &down, &scale);
}

/* ---- sign, size, square ---------------------------------------------------------------------- */

/* Signed overflow wraps. */
#define INT_LOOPS(code, suffix, type, acc, load, store, name)                                      \
    static type abs_of_##suffix(type v)                                                            \
    {                                                                                              \
        type r = v;                                                                                \
        if (v < (type)1)                                                                           \
            (void)__builtin_sub_overflow((type)0, v, &r);                                          \
        return r;                                                                                  \
    }                                                                                              \
    static type square_of_##suffix(type v)                                                         \
    {                                                                                              \
        type r;                                                                                    \
        (void)__builtin_mul_overflow(v, v, &r);                                                    \
        return r;                                                                                  \
    }                                                                                              \
    PDM_UNARY_LOOP(abs, suffix, type, type, abs_of_##suffix(v))                                    \
    PDM_UNARY_LOOP(square, suffix, type, type, square_of_##suffix(v))                              \
    PDM_UNARY_LOOP(sign, suffix, type, type, v < (type)1 ? (v == 0 ? 0 : -1) : 1)
PDM_K_INTS(INT_LOOPS, int)

PDM_UNARY_FLOAT(abs, fabs(v))
PDM_UNARY_LOOP(abs, c64, float complex, float, cabsf(v))
PDM_UNARY_LOOP(abs, c128, double complex, double, cabs(v))
PDM_UNARY_FLOAT(square, v *v)
PDM_UNARY_COMPLEX(square, v *v)
PDM_UNARY_FLOAT(sign, v > 0 ? (T)1 : v < 0 ? (T)-1 : isnan(v) ? v : (T)0)
PDM_UNARY_LOOP(sign, c64, float complex, float complex, v == 0 ? 0 : v / cabsf(v))
PDM_UNARY_LOOP(sign, c128, double complex, double complex, v == 0 ? 0 : v / cabs(v))

pdm_status pdm_kernel_abs(pdm_k *k)
{
    static const pdm_unary op = {
        .loop = {PDM_K_INTS(COPY_ROW, abs) PDM_UNARY_OF_FLOAT(abs), PDM_UNARY_OF_COMPLEX(abs)},
        .result = PDM_UNARY_REAL};
    return pdm_math_unary(k, &op, NULL);
}

#define KERNEL_ALL(name)                                                                           \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_unary op = {                                                              \
            .loop = {PDM_K_INTS(COPY_ROW, name) PDM_UNARY_OF_FLOAT(name),                          \
                     PDM_UNARY_OF_COMPLEX(name)}};                                                 \
        return pdm_math_unary(k, &op, NULL);                                                       \
    }
KERNEL_ALL(square)
KERNEL_ALL(sign)

/* ---- what kind of number --------------------------------------------------------------------- */

#define IS_LOOPS(name, of_float, of_complex, of_int)                                               \
    PDM_UNARY_LOOP(name, f32, float, bool, of_float)                                               \
    PDM_UNARY_LOOP(name, f64, double, bool, of_float)                                              \
    PDM_UNARY_LOOP(name, c64, float complex, bool, of_complex)                                     \
    PDM_UNARY_LOOP(name, c128, double complex, bool, of_complex)                                   \
    PDM_K_INTS(IS_INT_LOOP, name, of_int)                                                          \
    PDM_K_BOOLS(IS_INT_LOOP, name, of_int)                                                         \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_unary op = {                                                              \
            .loop = {PDM_K_INTS(COPY_ROW, name) PDM_K_BOOLS(COPY_ROW, name)                        \
                         PDM_UNARY_OF_FLOAT(name), PDM_UNARY_OF_COMPLEX(name)},                    \
            .result = PDM_UNARY_BOOL};                                                             \
        return pdm_math_unary(k, &op, NULL);                                                       \
    }
#define IS_INT_LOOP(code, suffix, type, acc, load, store, name, of_int)                            \
    PDM_UNARY_LOOP(name, suffix, type, bool, of_int)

IS_LOOPS(isnan, isnan(v), isnan(creal(v)) || isnan(cimag(v)), v & 0)
IS_LOOPS(isinf, isinf(v), isinf(creal(v)) || isinf(cimag(v)), v & 0)
IS_LOOPS(isfinite, isfinite(v), isfinite(creal(v)) && isfinite(cimag(v)), v | 1)
IS_LOOPS(logical_not, !(v != 0), !(v != 0), !(v != 0))

/* ---- bits ------------------------------------------------------------------------------------ */

#define NOT_LOOP(code, suffix, type, acc, load, store, name)                                       \
    PDM_UNARY_LOOP(name, suffix, type, type, ~v)
PDM_K_INTS(NOT_LOOP, bitwise_not)
PDM_UNARY_LOOP(bitwise_not, b, bool, bool, !v)

pdm_status pdm_kernel_bitwise_not(pdm_k *k)
{
    static const pdm_unary op = {
        .loop = {PDM_K_INTS(COPY_ROW, bitwise_not) PDM_K_BOOLS(COPY_ROW, bitwise_not)}};
    return pdm_math_unary(k, &op, NULL);
}
