/* Special functions, calculated in double by series, recurrences and asymptotic expansions. */
#include <float.h>
#include <math.h>

#include "exec/kernels/math_impl.h"

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#define MAX_TERMS 5000 /* bounds the work for one element */

#define KERNEL(name, expr)                                                                         \
    PDM_UNARY_FLOAT(name, expr)                                                                    \
    pdm_status pdm_kernel_##name(pdm_k *k)                                                         \
    {                                                                                              \
        static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(name)}, .promote = true};         \
        return pdm_math_unary(k, &op, NULL);                                                       \
    }

/* ---- gamma and its kin ----------------------------------------------------------------------- */

static double log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* Logarithmic derivative of gamma. */
static double digamma_of(double x)
{
    double sum = 0;

    if (x == 0)
        return signbit(x) ? (double)INFINITY : -(double)INFINITY;
    if (x < 0) {
        const double fraction = x - floor(x);
        if (fraction == 0)
            return (double)NAN;
        return digamma_of(1 - x) - M_PI / tan(M_PI * fraction);
    }
    for (; x < 12; x++)
        sum -= 1 / x;
    const double r = 1 / (x * x);
    /* Bernoulli numbers B(2k) / 2k */
    const double tail = r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 -
                        r * (1.0 / 132 - r * (691.0 / 32760 - r / 12))))));
    return isinf(x) ? x : sum + log(x) - 0.5 / x - tail;
}

/* Sum over k >= 0 of (q + k)^-s for integer s > 1, by Euler and Maclaurin. */
static double hurwitz_zeta(int s, double q)
{
    /* B(2j) / (2j)! */
    static const double coefficient[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600,
                                         1.0 / 47900160, -691.0 / 1307674368000.0,
                                         1.0 / 74724249600.0};
    double sum = 0;

    if (q <= 0 && q == floor(q))
        return (double)INFINITY;
    if (!(q > -MAX_TERMS) || isinf(q))
        return (double)NAN;
    for (; q < 12; q++)
        sum += pow(q, -s);
    sum += pow(q, 1 - s) / (s - 1) + 0.5 * pow(q, -s);
    double factor = s * pow(q, -s - 1);
    for (int j = 0; j < 7; j++) {
        sum += coefficient[j] * factor;
        factor *= (s + 2.0 * j + 1) * (s + 2.0 * j + 2) / (q * q);
    }
    return sum;
}

KERNEL(lgamma, log_gamma((double)v))
KERNEL(digamma, digamma_of((double)v))

static double polygamma_of(double x, double order)
{
    const int n = (int)order;

    if (n == 0) /* as 3.x has it: the zeta function at its pole */
        return -(double)INFINITY;
    const double value = exp(log_gamma(n + 1.0)) * hurwitz_zeta(n + 1, x);
    return n % 2 ? value : -value;
}

PDM_UNARY_FLOAT(polygamma, polygamma_of((double)v, params[0]))

pdm_status pdm_kernel_polygamma(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(polygamma)}, .promote = true};
    const int64_t n = pdm_k_int(k, "n");
    const double order = (double)n;

    if (!PDM_K_OK(k))
        return k->status;
    if (n < 0 || n > 1000)
        return pdm_k_fail(k, "order %lld is out of range", (long long)n);
    return pdm_math_unary(k, &op, &order);
}

#define LARGE_A 10000.0

/* Series of the lower function, divided by gamma(a). */
static double gamma_p_series(double a, double x, double scale)
{
    double term = 1 / a, sum = term;

    for (int i = 1; i < MAX_TERMS && term > sum * DBL_EPSILON; i++) {
        term *= x / (a + i);
        sum += term;
    }
    return sum * scale;
}

/* Continued fraction of the upper function (modified Lentz). */
static double gamma_q_fraction(double a, double x, double scale)
{
    const double tiny = 1e-300;
    double b = x + 1 - a, c = 1 / tiny, d = 1 / (b == 0 ? tiny : b), h = d;

    for (int i = 1; i < MAX_TERMS; i++) {
        const double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = b + an / c;
        if (fabs(c) < tiny)
            c = tiny;
        h *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON)
            break;
    }
    return h * scale;
}

/* Uniform asymptotic expansion for large a, where the others would need many terms. */
static double gamma_q_large(double a, double x)
{
    const double mu = x / a - 1;
    const double half = fabs(mu) < 1e-4 ? mu * mu / 2 - mu * mu * mu / 3 : mu - log1p(mu);
    const double eta = copysign(sqrt(2 * half), mu);
    const double c0 = fabs(mu) < 1e-3 ? -1.0 / 3 + eta / 12 : 1 / mu - 1 / eta;

    return erfc(eta * sqrt(a / 2)) / 2 + exp(-a * half) * c0 / sqrt(2 * M_PI * a);
}

static double gamma_q(double a, double x)
{
    if (a <= 0 || x <= 0 || (isinf(a) && x < 1))
        return 1;
    if (!isfinite(a) || !isfinite(x))
        return (double)NAN;
    if (a > LARGE_A)
        return gamma_q_large(a, x);
    const double scale = exp(a * log(x) - x - log_gamma(a));
    return x < a + 1 ? 1 - gamma_p_series(a, x, scale) : gamma_q_fraction(a, x, scale);
}

#define GAMMA_Q_LOOP(code, suffix, type, acc, load, store, name)                                   \
    static void name##_##suffix(PDM_BINARY_ARGS)                                                   \
        PDM_BINARY_BODY(type, acc, type, load, store, (T)gamma_q((double)a, (double)b))
PDM_K_FLOATS(GAMMA_Q_LOOP, gammaincc)

pdm_status pdm_kernel_gammaincc(pdm_k *k)
{
    static const pdm_binary op = {.loop = {PDM_K_FLOATS(PDM_BINARY_ROW, gammaincc)}};

    return pdm_math_binary(k, &op);
}

/* ---- error function -------------------------------------------------------------------------- */

/* y in (0, 1): a rough start, then Halley's steps on erfc, which keeps its digits near 1. */
static double erfinv_positive(double y)
{
    const double complement = 1 - y, a = 0.147;
    const double log_part = log1p(-y * y), half = 2 / (M_PI * a) + log_part / 2;
    double x = sqrt(sqrt(half * half - log_part / a) - half);

    for (int i = 0; i < 4; i++) {
        const double error = y > 0.5 ? complement - erfc(x) : erf(x) - y;
        const double step = error / (2 / sqrt(M_PI) * exp(-x * x));
        x -= step / (1 + x * step);
    }
    return x;
}

static double erfinv_of(double y)
{
    if (isnan(y) || y == 0)
        return y;
    if (fabs(y) >= 1)
        return copysign((double)INFINITY, y);
    return copysign(erfinv_positive(fabs(y)), y);
}

KERNEL(erfinv, erfinv_of((double)v))

/* ---- modified Bessel functions --------------------------------------------------------------- */

#define BESSEL_SWITCH 30.0

/* exp(-|x|) I_n(x), n = 0 or 1; all terms of the series are positive. */
static double bessel_series(double x, int n)
{
    const double q = x * x / 4;
    double term = n ? x / 2 : 1, sum = term;

    for (int i = 1; i < MAX_TERMS && term > sum * DBL_EPSILON; i++) {
        term *= q / ((double)i * (i + n));
        sum += term;
    }
    return sum * exp(-x);
}

static double bessel_asymptotic(double x, int n)
{
    const double mu = 4.0 * n * n;
    double term = 1, sum = 1;

    for (int i = 1; i < 40 && fabs(term) > DBL_EPSILON; i++) {
        const double odd = 2.0 * i - 1;
        term *= -(mu - odd * odd) / (i * 8 * x);
        sum += term;
    }
    return sum / sqrt(2 * M_PI * x);
}

static double bessel_scaled(double x, int n)
{
    const double size = fabs(x);
    const double value =
        size < BESSEL_SWITCH ? bessel_series(size, n) : bessel_asymptotic(size, n);

    return n && x < 0 ? -value : value;
}

KERNEL(i0e, bessel_scaled((double)v, 0))
KERNEL(i1e, bessel_scaled((double)v, 1))
KERNEL(i0, bessel_scaled((double)v, 0) * exp(fabs((double)v)))
KERNEL(i1, bessel_scaled((double)v, 1) * exp(fabs((double)v)))
