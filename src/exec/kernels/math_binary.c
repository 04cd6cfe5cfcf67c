/* Arithmetic of two operands with broadcasting. */
#include <math.h>
#include <tgmath.h>

#include "exec/kernels/math_impl.h"

#define TABLE(set, name)                                                                           \
    {                                                                                              \
        .loop = { set(PDM_BINARY_ROW, name) }                                                      \
    }
#define KERNEL(set, name)                                                                          \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_binary op = TABLE(set, name);                                             \
        return pdm_math_binary(k, &op);                                                            \
    }

/* Integers wrap around. */
#define INT_WRAP(code, suffix, type, acc, load, store, name, builtin)                              \
    static inline type name##_of_##suffix(type a, type b)                                          \
    {                                                                                              \
        type r;                                                                                    \
        (void)builtin(a, b, &r);                                                                   \
        return r;                                                                                  \
    }                                                                                              \
    static void name##_##suffix(PDM_BINARY_ARGS)                                                   \
        PDM_BINARY_BODY(type, type, type, PDM_K_SAME, PDM_K_SAME, name##_of_##suffix(a, b))

#define ARITHMETIC(name, op, bool_op, builtin)                                                     \
    PDM_K_FLOATS(PDM_BINARY_SAME, name, a op b)                                                    \
    PDM_K_COMPLEXES(PDM_BINARY_SAME, name, a op b)                                                 \
    PDM_K_BOOLS(PDM_BINARY_SAME, name, a bool_op b)                                                \
    PDM_K_INTS(INT_WRAP, name, builtin)                                                            \
    KERNEL(PDM_K_ALL, name)
ARITHMETIC(add, +, ||, __builtin_add_overflow)
ARITHMETIC(subtract, -, !=, __builtin_sub_overflow)
ARITHMETIC(multiply, *, &&, __builtin_mul_overflow)

/* ---- division -------------------------------------------------------------------------------- */

/* Integers: towards zero, remainder with the sign of the divisor. The smallest by -1 wraps; zero as
 * a divisor was refused, but for fractions that became zero as integers. */
#define INT_DIVISION(code, suffix, type, acc, load, store, name)                                   \
    static inline type trunc_of_##suffix(type a, type b)                                           \
    {                                                                                              \
        type r = a;                                                                                \
        if (b == 0)                                                                                \
            return 0;                                                                              \
        if (b + 1 != 0 || (type)-1 > (type)0)                                                      \
            return (type)(a / b);                                                                  \
        (void)__builtin_sub_overflow((type)0, a, &r);                                              \
        return r;                                                                                  \
    }                                                                                              \
    static inline type rest_of_##suffix(type a, type b)                                            \
    {                                                                                              \
        type r = 0;                                                                                \
        if (b == 0)                                                                                \
            return 0;                                                                              \
        if (b + 1 != 0 || (type)-1 > (type)0)                                                      \
            r = (type)(a % b);                                                                     \
        return r != 0 && (r < (type)1) != (b < (type)1) ? (type)(r + b) : r;                       \
    }                                                                                              \
    static inline type floor_of_##suffix(type a, type b)                                           \
    {                                                                                              \
        const type q = trunc_of_##suffix(a, b);                                                    \
        return b + 1 != 0 && (type)(q * b) != a && (a < (type)1) != (b < (type)1) ? (type)(q - 1)  \
                                                                                  : q;             \
    }                                                                                              \
    PDM_BINARY_SAME(code, suffix, type, acc, load, store, divide, trunc_of_##suffix(a, b))         \
    PDM_BINARY_SAME(code, suffix, type, acc, load, store, floor_divide, floor_of_##suffix(a, b))   \
    PDM_BINARY_SAME(code, suffix, type, acc, load, store, remainder, rest_of_##suffix(a, b))
PDM_K_INTS(INT_DIVISION, int)

/* Rounded down, as Python does it. */
static double floor_quotient(double a, double b)
{
    if (b == 0)
        return a / b;
    const double rest = fmod(a, b);
    double q = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        q -= 1;
    if (q == 0)
        return copysign(0.0, a / b);
    const double down = floor(q);
    return q - down > 0.5 ? down + 1 : down;
}

static double float_remainder(double a, double b)
{
    const double rest = fmod(a, b);

    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double complex complex_remainder(double complex a, double complex b)
{
    const double complex q = a / b;

    return a - b * CMPLX(round(creal(q)), round(cimag(q)));
}

PDM_K_FLOATS(PDM_BINARY_SAME, divide, a / b)
PDM_K_COMPLEXES(PDM_BINARY_SAME, divide, a / b)
PDM_K_BOOLS(PDM_BINARY_SAME, divide, a &&b)
PDM_K_FLOATS(PDM_BINARY_SAME, floor_divide, (T)floor_quotient((double)a, (double)b))
PDM_K_FLOATS(PDM_BINARY_SAME, remainder, (T)float_remainder((double)a, (double)b))
PDM_K_COMPLEXES(PDM_BINARY_SAME, remainder, (T)complex_remainder(a, b))
PDM_K_FLOATS(PDM_BINARY_SAME, trunc_divide, trunc(a / b))

#define ZERO_LOOP(code, suffix, type, acc, load, store, name)                                      \
    static void name##_##suffix(const void *data, int64_t n, bool *found)                          \
    {                                                                                              \
        const type *x = data;                                                                      \
        for (int64_t i = 0; i < n; i++)                                                            \
            *found |= x[i] == 0;                                                                   \
    }
PDM_K_INTS(ZERO_LOOP, has_zero)
PDM_K_BOOLS(ZERO_LOOP, has_zero)

#define INTS_AND_BOOL(X, ...) PDM_K_INTS(X, __VA_ARGS__) PDM_K_BOOLS(X, __VA_ARGS__)

/* Integers are not divided by zero. */
static pdm_status divide_with(pdm_k *k, const pdm_binary *op)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    bool zero = false;
    if (!x || !y)
        return k->status;

    if (!pdm_dtype_is_float(x->dtype) && !pdm_dtype_is_complex(x->dtype) &&
        (pdm_dtype_is_int(y->dtype) || y->dtype == PDM_BOOL))
        PDM_K_DISPATCH(k, y->dtype, INTS_AND_BOOL, has_zero, y->data, pdm_tensor_count(y), &zero);
    if (zero)
        return pdm_k_fail(k, "an integer is divided by zero");
    return pdm_math_binary(k, op);
}

#define DIVISION(name, loops)                                                                 \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_binary op = {.loop = {loops}};                                            \
        return divide_with(k, &op);                                                                \
    }
DIVISION(divide, PDM_K_ALL(PDM_BINARY_ROW, divide))
DIVISION(floor_divide, PDM_K_NUMBERS(PDM_BINARY_ROW, floor_divide))
DIVISION(remainder,
         PDM_K_NUMBERS(PDM_BINARY_ROW, remainder) PDM_K_COMPLEXES(PDM_BINARY_ROW, remainder))
DIVISION(trunc_divide,
         PDM_K_FLOATS(PDM_BINARY_ROW, trunc_divide) PDM_K_INTS(PDM_BINARY_ROW, divide))

/* ---- powers ---------------------------------------------------------------------------------- */

/* By double, rounded, as the framework does. */
#define INT_POW_LOOP(code, suffix, type, acc, load, store, name)                                   \
    static type int_of_##suffix(double v)                                                          \
    {                                                                                              \
        return (type)(sizeof v == sizeof(type) ? pdm_int_of_double(v) : pdm_int32_of_double(v));   \
    }                                                                                              \
    PDM_BINARY_SAME(code, suffix, type, acc, load, store, name,                                    \
                    int_of_##suffix(rint(pow((double)a, (double)b))))
PDM_K_FLOATS(PDM_BINARY_SAME, elementwise_pow, pow(a, b))
PDM_K_COMPLEXES(PDM_BINARY_SAME, elementwise_pow, pow(a, b))
PDM_K_INTS(INT_POW_LOOP, elementwise_pow)
#define NUMBERS_AND_COMPLEX(X, ...) PDM_K_NUMBERS(X, __VA_ARGS__) PDM_K_COMPLEXES(X, __VA_ARGS__)
KERNEL(NUMBERS_AND_COMPLEX, elementwise_pow)

/* ---- larger and smaller ---------------------------------------------------------------------- */

#define IS_NAN(v) ((v) != (v))
/* 3.x: NaN wins; 2.6.2: what the comparison gives. fmax, fmin: NaN loses. */
PDM_K_FLOATS(PDM_BINARY_SAME, maximum, IS_NAN(a) ? a : IS_NAN(b) ? b : a > b ? a : b)
PDM_K_FLOATS(PDM_BINARY_SAME, minimum, IS_NAN(a) ? a : IS_NAN(b) ? b : a < b ? a : b)
PDM_K_FLOATS(PDM_BINARY_SAME, maximum_legacy, a > b ? a : b)
PDM_K_FLOATS(PDM_BINARY_SAME, minimum_legacy, a < b ? a : b)
PDM_K_FLOATS(PDM_BINARY_SAME, fmax, IS_NAN(a) ? b : IS_NAN(b) ? a : a > b ? a : b)
PDM_K_FLOATS(PDM_BINARY_SAME, fmin, IS_NAN(a) ? b : IS_NAN(b) ? a : a < b ? a : b)
PDM_K_INTS(PDM_BINARY_SAME, maximum, a > b ? a : b)
PDM_K_INTS(PDM_BINARY_SAME, minimum, a < b ? a : b)
PDM_K_BOOLS(PDM_BINARY_SAME, maximum, a || b)
PDM_K_BOOLS(PDM_BINARY_SAME, minimum, a &&b)

#define EXTREME(name, legacy_floats, floats, rest)                                                 \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_binary op = {.loop = {PDM_K_FLOATS(PDM_BINARY_ROW, floats)                \
                                                   PDM_K_INTS(PDM_BINARY_ROW, rest)                \
                                                       PDM_K_BOOLS(PDM_BINARY_ROW, rest)}};        \
        static const pdm_binary legacy = {.loop = {PDM_K_FLOATS(PDM_BINARY_ROW, legacy_floats)     \
                                                       PDM_K_INTS(PDM_BINARY_ROW, rest)            \
                                                           PDM_K_BOOLS(PDM_BINARY_ROW, rest)}};    \
        return pdm_math_binary(k, pdm_k_before(k, PDM_DIFF_NAN) ? &legacy : &op);                                      \
    }
EXTREME(maximum, maximum_legacy, maximum, maximum)
EXTREME(minimum, minimum_legacy, minimum, minimum)
EXTREME(fmax, fmax, fmax, maximum)
EXTREME(fmin, fmin, fmin, minimum)

/* ---- others ---------------------------------------------------------------------------------- */

PDM_K_NUMBERS(PDM_BINARY_SAME, heaviside, a == 0 ? b : (T)(a > 0))
KERNEL(PDM_K_NUMBERS, heaviside)

PDM_K_FLOATS(PDM_BINARY_SAME, copysign, copysign(a, b))
PDM_K_INTS(PDM_BINARY_SAME, copysign, (T)copysign((double)a, (double)b))
KERNEL(PDM_K_NUMBERS, copysign)

PDM_BINARY_SAME(PDM_F32, f32, float, float, PDM_K_SAME, PDM_K_SAME, nextafter, nextafterf(a, b))
PDM_BINARY_SAME(PDM_F64, f64, double, double, PDM_K_SAME, PDM_K_SAME, nextafter, nextafter(a, b))

pdm_status pdm_kernel_nextafter(pdm_k *k)
{
    static const pdm_binary op = {
        .loop = {[PDM_F32] = nextafter_f32, [PDM_F64] = nextafter_f64}};
    return pdm_math_binary(k, &op);
}

PDM_K_FLOATS(PDM_BINARY_SAME, atan2, atan2(a, b))

/* Integers give float64. */
#define INT_ATAN2_LOOP(code, suffix, type, acc, load, store, name)                                 \
    static void name##_##suffix(PDM_BINARY_ARGS)                                                   \
        PDM_BINARY_BODY(type, double, double, load, PDM_K_SAME, atan2(a, b))
PDM_K_INTS(INT_ATAN2_LOOP, atan2)

pdm_status pdm_kernel_atan2(pdm_k *k)
{
    static const pdm_binary floats = TABLE(PDM_K_FLOATS, atan2);
    static const pdm_binary ints = {.loop = {PDM_K_INTS(PDM_BINARY_ROW, atan2)}, .out = PDM_F64};
    const pdm_tensor *x = pdm_k_in(k, 0);

    return x ? pdm_math_binary(k, pdm_dtype_is_int(x->dtype) ? &ints : &floats) : k->status;
}

/* ---- bits ------------------------------------------------------------------------------------ */

#define BITWISE(name, op)                                                                          \
    PDM_K_INTS(PDM_BINARY_SAME, name, (T)(a op b))                                                 \
    PDM_K_BOOLS(PDM_BINARY_SAME, name, (a op b) != 0)                                              \
    KERNEL(INTS_AND_BOOL, name)
BITWISE(bitwise_and, &)
BITWISE(bitwise_or, |)
BITWISE(bitwise_xor, ^)

/* Beyond the width nothing is left but, in arithmetic shifts to the right, the sign. */
#define SHIFTS(code, suffix, type, acc, load, store, name)                                         \
    static inline type left_of_##suffix(type a, type b)                                            \
    {                                                                                              \
        return (uint64_t)b >= sizeof a * 8 ? (type)0 : (type)((uint64_t)a << b);          \
    }                                                                                              \
    static inline type right_of_##suffix(type a, type b)                                           \
    {                                                                                              \
        if ((uint64_t)b >= sizeof a * 8)                                                  \
            return a < (type)1 && a != 0 ? (type)-1 : (type)0;                                     \
        return (type)(a >> b);                                                                     \
    }                                                                                              \
    static inline type logical_of_##suffix(type a, type b)                                         \
    {                                                                                              \
        const uint64_t mask = UINT64_MAX >> (64 - sizeof a * 8);                                   \
        return (uint64_t)b >= sizeof a * 8 ? (type)0                                      \
                                                    : (type)(((uint64_t)a & mask) >> b);           \
    }                                                                                              \
    PDM_BINARY_SAME(code, suffix, type, acc, load, store, left, left_of_##suffix(a, b))            \
    PDM_BINARY_SAME(code, suffix, type, acc, load, store, right, right_of_##suffix(a, b))          \
    PDM_BINARY_SAME(code, suffix, type, acc, load, store, logical, logical_of_##suffix(a, b))
PDM_K_INTS(SHIFTS, shift)

pdm_status pdm_kernel_bitwise_left_shift(pdm_k *k)
{
    static const pdm_binary op = TABLE(PDM_K_INTS, left);
    return pdm_math_binary(k, &op);
}

pdm_status pdm_kernel_bitwise_right_shift(pdm_k *k)
{
    static const pdm_binary arithmetic = TABLE(PDM_K_INTS, right);
    static const pdm_binary logical = TABLE(PDM_K_INTS, logical);
    const bool keep_sign = pdm_k_bool_or(k, "is_arithmetic", true);

    return pdm_math_binary(k, keep_sign ? &arithmetic : &logical);
}
