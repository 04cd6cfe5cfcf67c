/* Dims as expressions: one form for what is equal, and every form has the value of what was written. */
#include "unit/must.h"

#include <check.h>
#include <string.h>

#include "ir/dim.h"

Suite *pdm_suite_dims(void);

static pdm_dims t;

static void setup(void)
{
    pdm_dims_init(&t);
}

static void teardown(void)
{
    pdm_dims_deinit(&t);
}

#define N(v) pdm_dim_int(&t, v)

static pdm_dim any(void)
{
    return pdm_dim_symbol(&t, 0, INT64_MAX);
}

static void prints_as(pdm_dim e, const char *text)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_dim_print(e, &buf);
    ck_assert_str_eq(buf.data, text);
    pdm_buf_deinit(&buf);
}

START_TEST(sums_are_linear)
{
    pdm_dim a = any(), b = any();

    ck_assert_ptr_eq(pdm_dim_plus(&t, a, a), pdm_dim_times(&t, N(2), a));
    ck_assert_ptr_eq(pdm_dim_plus(&t, a, b), pdm_dim_plus(&t, b, a));
    ck_assert_ptr_eq(pdm_dim_minus(&t, pdm_dim_plus(&t, a, b), b), a);
    ck_assert_ptr_eq(pdm_dim_minus(&t, a, a), N(0));
    ck_assert_ptr_eq(pdm_dim_times(&t, pdm_dim_plus(&t, a, N(1)), pdm_dim_minus(&t, a, N(1))),
                     pdm_dim_minus(&t, pdm_dim_times(&t, a, a), N(1)));
    prints_as(pdm_dim_minus(&t, pdm_dim_times(&t, N(2), a), pdm_dim_times(&t, b, N(3))),
              "2*S0 - 3*S1");
    prints_as(pdm_dim_minus(&t, a, N(1)), "S0 - 1");
}
END_TEST

START_TEST(quotients_are_reduced)
{
    pdm_dim a = any(), b = any(), ab4 = pdm_dim_times(&t, pdm_dim_times(&t, a, b), N(4));
    pdm_dim down = pdm_dim_plus(&t, pdm_dim_over(&t, pdm_dim_minus(&t, a, N(1)), N(2)), N(1));

    /* [a, 4, b] as [a, 2, rest] */
    ck_assert_ptr_eq(pdm_dim_over(&t, ab4, pdm_dim_times(&t, a, N(2))),
                     pdm_dim_times(&t, b, N(2)));
    ck_assert_ptr_eq(pdm_dim_over(&t, pdm_dim_times(&t, N(6), a), N(4)),
                     pdm_dim_plus(&t, a, pdm_dim_over(&t, a, N(2))));
    ck_assert_ptr_eq(pdm_dim_over(&t, pdm_dim_over(&t, a, N(2)), N(3)), pdm_dim_over(&t, a, N(6)));
    prints_as(down, "(S0 + 1) / 2");
    prints_as(pdm_dim_plus(&t, pdm_dim_over(&t, pdm_dim_minus(&t, down, N(1)), N(2)), N(1)),
              "(S0 + 3) / 4");
    ck_assert_ptr_eq(pdm_dim_over(&t, pdm_dim_times(&t, pdm_dim_plus(&t, a, N(1)), b),
                                  pdm_dim_plus(&t, a, N(1))),
                     b);
    ck_assert_ptr_eq(pdm_dim_times(&t, pdm_dim_over(&t, a, N(4)), N(4)),
                     pdm_dim_times(&t, N(4), pdm_dim_over(&t, a, N(4))));
    ck_assert_ptr_null(pdm_dim_over(&t, a, N(0)));
    prints_as(pdm_dim_over(&t, ab4, pdm_dim_times(&t, pdm_dim_times(&t, a, a), N(6))),
              "(2*S1) / (3*S0)");
}
END_TEST

START_TEST(extremes_are_flat)
{
    pdm_dim a = any(), b = any(), a1 = pdm_dim_minus(&t, a, N(1));

    ck_assert_ptr_eq(pdm_dim_max(&t, a, N(0)), a);
    ck_assert_ptr_eq(pdm_dim_max(&t, a, pdm_dim_max(&t, b, a)), pdm_dim_max(&t, b, a));
    ck_assert_ptr_eq(pdm_dim_max(&t, a, a1), a);
    ck_assert_ptr_eq(pdm_dim_min(&t, a, a1), a1);
    /* x[1:] */
    prints_as(pdm_dim_max(&t, pdm_dim_min(&t, a1, a1), N(0)), "max(0, S0 - 1)");
    ck_assert_ptr_eq(pdm_dim_max(&t, N(3), N(5)), N(5));
}
END_TEST

START_TEST(broadcasts_are_decided)
{
    pdm_dim a = any(), b = any(), big = pdm_dim_symbol(&t, 2, INT64_MAX);

    ck_assert_ptr_eq(pdm_dim_broadcast(&t, a, N(1)), a);
    ck_assert_ptr_eq(pdm_dim_broadcast(&t, a, N(4)), N(4));
    ck_assert_ptr_eq(pdm_dim_broadcast(&t, a, a), a);
    ck_assert_ptr_eq(pdm_dim_broadcast(&t, a, big), big);
    ck_assert_ptr_null(pdm_dim_broadcast(&t, N(3), N(4)));
    ck_assert_ptr_null(pdm_dim_broadcast(&t, pdm_dim_broadcast(&t, a, b), NULL));
    prints_as(pdm_dim_broadcast(&t, b, pdm_dim_broadcast(&t, a, b)), "broadcast(S0, S1)");
    /* S and S - 1 are not told apart by size alone: 2 and 1, but 1 and 0 */
    ck_assert_int_eq(pdm_dim_broadcast(&t, a, pdm_dim_minus(&t, a, N(1)))->kind,
                     PDM_DIM_BROADCAST);
}
END_TEST

START_TEST(equal_symbols_stand_for_one)
{
    pdm_dim a = any(), b = any(), c = any();

    ck_assert(pdm_dims_equate(&t, pdm_dim_plus(&t, c, N(1)), pdm_dim_plus(&t, a, N(1))));
    ck_assert_ptr_eq(pdm_dim_resolve(&t, pdm_dim_times(&t, c, b)), pdm_dim_times(&t, a, b));
    ck_assert(pdm_dims_equate(&t, b, c));
    ck_assert_ptr_eq(pdm_dim_resolve(&t, pdm_dim_plus(&t, b, c)), pdm_dim_times(&t, N(2), a));
    ck_assert(pdm_dims_equate(&t, a, N(7)));
    ck_assert_ptr_eq(pdm_dim_resolve(&t, pdm_dim_plus(&t, b, c)), N(14));
    ck_assert(!pdm_dims_equate(&t, b, N(8)));
    pdm_dim d = any(), e = any();
    ck_assert(!pdm_dims_equate(&t, d, pdm_dim_over(&t, d, N(2)))); /* not a definition */
    ck_assert(!pdm_dims_equate(&t, d, pdm_dim_times(&t, e, e)));   /* e is known later */
    ck_assert(pdm_dims_equate(&t, e, pdm_dim_over(&t, d, N(2))));
    ck_assert_ptr_eq(pdm_dim_resolve(&t, e), pdm_dim_over(&t, d, N(2)));
}
END_TEST

START_TEST(numbers_do_not_overflow)
{
    pdm_dim a = any();
    pdm_dim big = pdm_dim_times(&t, a, N(INT64_MAX));

    ck_assert_ptr_null(pdm_dim_times(&t, big, N(2)));
    ck_assert_ptr_null(pdm_dim_plus(&t, big, big));
    ck_assert_ptr_null(pdm_dim_plus(&t, N(INT64_MAX), N(1)));
    ck_assert_ptr_null(pdm_dim_minus(&t, N(INT64_MIN), N(1)));
    pdm_dim e = a;
    for (int i = 0; e && i < 1000; i++)
        e = pdm_dim_max(&t, pdm_dim_times(&t, e, any()), any());
    ck_assert_ptr_null(e);
    ck_assert_int_eq(t.status, PDM_OK);
}
END_TEST

/* ---- random expressions ---------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(seed >> 33) % n;
}

enum { SYMBOLS = 4, SETS = 12 };

/* An expression, and what it is for each set of values by plain arithmetic; not defined: not ok. */
typedef struct term {
    pdm_dim e;
    int64_t v[SETS];
    bool ok[SETS];
} term;

static int64_t values[SETS][SYMBOLS];

static int64_t down(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q * b > a ? q - 1 : q;
}

static bool calculate(int kind, int64_t a, int64_t b, int64_t *out)
{
    switch (kind) {
    case 0:
        return !__builtin_add_overflow(a, b, out);
    case 1:
        return !__builtin_sub_overflow(a, b, out);
    case 2:
        return !__builtin_mul_overflow(a, b, out);
    case 3:
        *out = b > 0 ? down(a, b) : 0;
        return b > 0;
    case 4:
        *out = a > b ? a : b;
        return true;
    case 5:
        *out = a < b ? a : b;
        return true;
    default:
        *out = a == 1 ? b : a;
        return a == 1 || b == 1 || a == b;
    }
}

static void random_term(int depth, term *out)
{
    static pdm_dim (*const ops[])(pdm_dims *, pdm_dim, pdm_dim) = {
        pdm_dim_plus, pdm_dim_minus, pdm_dim_times,    pdm_dim_over,
        pdm_dim_max,  pdm_dim_min,   pdm_dim_broadcast};
    term a, b;

    if (depth == 0 || random_below(6) == 0) {
        const uint32_t s = random_below(2 * SYMBOLS);
        const int64_t number = s == 7 ? -2 : (int64_t)s - SYMBOLS;
        out->e = s < SYMBOLS ? t.symbols.v[s] : N(number);
        for (int i = 0; i < SETS; i++) {
            out->ok[i] = true;
            out->v[i] = s < SYMBOLS ? values[i][s] : number;
        }
        return;
    }
    const uint32_t kind = random_below(7);
    random_term(depth - 1, &a);
    random_term(depth - 1, &b);
    out->e = ops[kind](&t, a.e, b.e);
    for (int i = 0; i < SETS; i++)
        out->ok[i] = a.ok[i] && b.ok[i] && calculate((int)kind, a.v[i], b.v[i], &out->v[i]);
}

static void check_term(const term *x)
{
    int64_t v;

    if (!x->e)
        return;
    for (int i = 0; i < SETS; i++) {
        if (!x->ok[i])
            continue;
        /* Intermediate numbers of the other form may be larger, but not these small ones. */
        must(pdm_dim_eval(x->e, values[i], &v));
        must(v == x->v[i]);
        must(x->e->least == INT64_MIN || v >= x->e->least);
        must(x->e->most == INT64_MAX || v <= x->e->most);
    }
    if (pdm_dim_resolve(&t, x->e) != x->e) { /* made anew it is the same */
        pdm_buf buf;
        pdm_buf_init(&buf);
        pdm_dim_print(x->e, &buf);
        pdm_buf_puts(&buf, " becomes ");
        pdm_dim_print(pdm_dim_resolve(&t, x->e), &buf);
        ck_abort_msg("%s", buf.data);
    }
}

static void random_expressions(int rounds, uint64_t from)
{
    int made = 0;

    seed = from;
    for (int s = 0; s < SYMBOLS; s++)
        ck_assert_ptr_nonnull(pdm_dim_symbol(&t, s == 3 ? 2 : 0, s == 2 ? 5 : INT64_MAX));
    for (int round = 0; round < rounds; round++) {
        term x;
        for (int i = 0; i < SETS; i++) {
            for (int s = 0; s < SYMBOLS; s++)
                values[i][s] = (s == 3 ? 2 : 0) + random_below(s == 2 ? 6 : i < 6 ? 3 : 40);
        }
        random_term(4, &x);
        check_term(&x);
        made += x.e != NULL;
    }
    ck_assert_int_gt(made, rounds / 4);
}

START_TEST(forms_keep_values)
{
    random_expressions(4000, 1);
}
END_TEST

START_TEST(many_forms_keep_values)
{
    random_expressions(300000, (uint64_t)_i + 2);
}
END_TEST

Suite *pdm_suite_dims(void)
{
    Suite *suite = suite_create("dims");
    TCase *tcase = tcase_create("forms"), *random = tcase_create("random");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, sums_are_linear);
    tcase_add_test(tcase, quotients_are_reduced);
    tcase_add_test(tcase, extremes_are_flat);
    tcase_add_test(tcase, broadcasts_are_decided);
    tcase_add_test(tcase, equal_symbols_stand_for_one);
    tcase_add_test(tcase, numbers_do_not_overflow);
    tcase_add_test(tcase, forms_keep_values);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(random, setup, teardown);
    tcase_set_timeout(random, 120);
    tcase_set_tags(random, "long");
    tcase_add_loop_test(random, many_forms_keep_values, 0, 3);
    suite_add_tcase(suite, random);
    return suite;
}
