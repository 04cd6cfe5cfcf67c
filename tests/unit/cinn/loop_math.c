/* Functions as arithmetic: within 2 units in the last place, with the right edges. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cinn/backend.h"
#include "cinn/loop_rewrite.h"

Suite *pdm_suite_loop_math(void);

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const struct {
    pdm_loop_op op;
    double (*exact)(double);
} functions[] = {{PDM_LOOP_EXP, exp},
                 {PDM_LOOP_LOG, log},
                 {PDM_LOOP_TANH, tanh},
                 {PDM_LOOP_SIGMOID, sigmoid},
                 {PDM_LOOP_ERF, erf},
                 {PDM_LOOP_SIN, sin},
                 {PDM_LOOP_COS, cos}};

enum { NUM_FUNCTIONS = sizeof functions / sizeof *functions };

/* Has value, which a loop over n elements stores, become arithmetic, and runs that. Takes fn. */
static void run_expanded(pdm_loop_fn *fn, const pdm_loop_expr *value, void *const *data, int64_t n)
{
    const pdm_cinn_backend *backend = &pdm_cinn_backend_ref;
    void *image;

    ck_assert(pdm_loop_expand_math(fn));
    ck_assert_ptr_null(pdm_loop_verify(fn));
    ck_assert_ptr_ne(fn->body->body->value, value);
    ck_assert_int_eq(backend->compile(fn, &image), PDM_OK);
    ck_assert_int_eq(backend->run(image, 0, data, &n, 0, n), PDM_OK);
    backend->destroy(image);
    pdm_loop_fn_destroy(fn);
}

/* y = f(x) over n elements, as arithmetic. */
static void run(pdm_loop_op op, const float *x, float *y, int64_t n)
{
    pdm_loop_fn *fn;
    void *data[] = {(void *)(uintptr_t)x, y};

    ck_assert_int_eq(pdm_loop_fn_create("f", &fn), PDM_OK);
    const pdm_loop_expr *extent = pdm_loop_add_symbol(fn, 0, 0);
    const uint32_t in = pdm_loop_add_buffer(fn, "x", PDM_LOOP_INPUT, PDM_F32, 1, &extent);
    const uint32_t out = pdm_loop_add_buffer(fn, "y", PDM_LOOP_OUTPUT, PDM_F32, 1, &extent);
    const pdm_loop_expr *i = pdm_loop_var(fn, fn->num_vars++);
    const pdm_loop_expr *value = pdm_loop_unary(fn, op, pdm_loop_load(fn, in, &i));
    fn->body = pdm_loop_for(fn, 0, extent, pdm_loop_store(fn, out, &i, value));
    run_expanded(fn, value, data, n);
}

static double units(float got, double want)
{
    const float nearest = (float)want;

    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(nearest) || isinf(got))
        return nearest == got ? 0 : INFINITY;
    int exponent;
    frexp((double)nearest, &exponent);
    const double unit = ldexp(1, (nearest == 0 || exponent < -125 ? -125 : exponent) - 24);
    return fabs((double)got - want) / unit;
}

START_TEST(zeros_keep_their_sign)
{
    const float x[] = {-0.0F, 0.0F};
    float y[2];

    run(functions[_i].op, x, y, 2);
    for (int k = 0; k < 2; k++)
        ck_assert(y[k] != 0 || signbit(y[k]) == signbit((float)functions[_i].exact((double)x[k])));
}
END_TEST

START_TEST(accurate)
{
    enum { STEP = 40009, COUNT = (int)(UINT32_MAX / STEP) };
    float *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    double worst = 0;
    float at = 0;

    ck_assert(x && y);
    for (uint32_t k = 0; k < COUNT; k++) {
        /* All bit patterns evenly, and half of them small numbers, where most happens. */
        const uint32_t bits = k * (uint32_t)STEP;
        memcpy(&x[k], &bits, sizeof bits);
        if (k % 2)
            x[k] = (float)((double)k / COUNT * 24 - 12);
    }
    run(functions[_i].op, x, y, COUNT);
    for (uint32_t k = 0; k < COUNT; k++) {
        const double off = units(y[k], functions[_i].exact((double)x[k]));
        if (off > worst) {
            worst = off;
            at = x[k];
        }
    }
    ck_assert_msg(worst <= 2, "%s(%a) is off by %g units", pdm_loop_op_text(functions[_i].op), (double)at,
                  worst);
    free(x);
    free(y);
}
END_TEST

START_TEST(edges)
{
    const float x[] = {0.0F, -0.0F, 1.0F, -1.0F, INFINITY, -INFINITY, NAN, 0x1p-149F, 0x1p-126F, 3e38F,
                       -3e38F, 88.72F, 88.73F, -87.34F, -103.9F, -104.1F};
    enum { COUNT = sizeof x / sizeof *x };
    float y[COUNT];

    run(functions[_i].op, x, y, COUNT);
    for (int k = 0; k < COUNT; k++)
        ck_assert_msg(units(y[k], functions[_i].exact((double)x[k])) <= 2, "%s(%a) is %a",
                      pdm_loop_op_text(functions[_i].op), (double)x[k], (double)y[k]);
}
END_TEST

/* x^y over n elements, as arithmetic. */
static void run_pow(const float *x, const float *y, float *to, int64_t n)
{
    pdm_loop_fn *fn;
    void *data[] = {(void *)(uintptr_t)x, (void *)(uintptr_t)y, to};

    ck_assert_int_eq(pdm_loop_fn_create("pow", &fn), PDM_OK);
    const pdm_loop_expr *extent = pdm_loop_add_symbol(fn, 0, 0);
    const uint32_t a = pdm_loop_add_buffer(fn, "x", PDM_LOOP_INPUT, PDM_F32, 1, &extent);
    const uint32_t b = pdm_loop_add_buffer(fn, "y", PDM_LOOP_INPUT, PDM_F32, 1, &extent);
    const uint32_t out = pdm_loop_add_buffer(fn, "z", PDM_LOOP_OUTPUT, PDM_F32, 1, &extent);
    const pdm_loop_expr *i = pdm_loop_var(fn, fn->num_vars++);
    const pdm_loop_expr *value =
        pdm_loop_binary(fn, PDM_LOOP_POW, pdm_loop_load(fn, a, &i), pdm_loop_load(fn, b, &i));
    fn->body = pdm_loop_for(fn, 0, extent, pdm_loop_store(fn, out, &i, value));
    run_expanded(fn, value, data, n);
}

static void judge_pow(const float *x, const float *y, int64_t n)
{
    float *z = malloc((size_t)n * sizeof *z);

    ck_assert_ptr_nonnull(z);
    run_pow(x, y, z, n);
    for (int64_t k = 0; k < n; k++) {
        const double want = pow((double)x[k], (double)y[k]);
        if (units(z[k], want) > 2 || (z[k] == 0 && signbit(z[k]) != signbit((float)want)))
            ck_abort_msg("pow(%a, %a) is %a, not %a", (double)x[k], (double)y[k], (double)z[k], want);
    }
    free(z);
}

START_TEST(pow_accurate)
{
    enum { COUNT = 100000 };
    float *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    uint32_t state = 1;

    ck_assert(x && y);
    for (uint32_t k = 0; k < COUNT; k++) {
        state = state * 1664525 + 1013904223;
        const uint32_t bits = state;
        memcpy(&x[k], &bits, sizeof bits);
        state = state * 1664525 + 1013904223;
        y[k] = (float)((double)state / UINT32_MAX * 20 - 10);
        if (k % 4 == 0) /* near 1, with large results all the same */
            x[k] = 1 + (float)k / COUNT * 0.01F, y[k] *= 1000;
        else if (k % 4 == 1)
            y[k] = roundf(y[k]);
        else if (k % 4 == 2)
            x[k] = (float)k / 1000;
    }
    judge_pow(x, y, COUNT);
    free(x);
    free(y);
}
END_TEST

START_TEST(pow_edges)
{
    static const float numbers[] = {0.0F, -0.0F, 1.0F, -1.0F, INFINITY, -INFINITY, NAN, 2.0F, -2.0F, 3.0F, -3.0F, 0.5F,
                                    -0.5F, 0x1p-149F, -0x1p-149F, 0x1p-126F, 3e38F, -3e38F, 0x1p24F, 16777215.0F,
                                    -16777215.0F, 0x1.fffffep-1F, 0x1.000002p0F, 1e5F, -1e5F};
    enum { N = sizeof numbers / sizeof *numbers };
    float x[N * N], y[N * N];

    for (int k = 0; k < N * N; k++) {
        x[k] = numbers[k / N];
        y[k] = numbers[k % N];
    }
    judge_pow(x, y, (int64_t)N * N);
}
END_TEST

Suite *pdm_suite_loop_math(void)
{
    Suite *suite = suite_create("loop_math");
    TCase *accuracy = tcase_create("accuracy"), *rest = tcase_create("edges");

    tcase_set_tags(accuracy, "long");
    tcase_add_loop_test(accuracy, accurate, 0, NUM_FUNCTIONS);
    tcase_add_loop_test(accuracy, zeros_keep_their_sign, 0, NUM_FUNCTIONS);
    tcase_add_test(accuracy, pow_accurate);
    tcase_add_loop_test(rest, edges, 0, NUM_FUNCTIONS);
    tcase_add_test(rest, pow_edges);
    suite_add_tcase(suite, accuracy);
    suite_add_tcase(suite, rest);
    return suite;
}
