/* Index arithmetic, interning, the verifier. */
#include <check.h>
#include <stdlib.h>

#include "cinn/loop_ir.h"

Suite *pdm_suite_loop_expr(void);

#define ADD(a, b) pdm_loop_binary(fn, PDM_LOOP_ADD, a, b)
#define MUL(a, b) pdm_loop_binary(fn, PDM_LOOP_MUL, a, b)
#define DIV(a, b) pdm_loop_binary(fn, PDM_LOOP_DIV, a, b)
#define MOD(a, b) pdm_loop_binary(fn, PDM_LOOP_MOD, a, b)
#define N(value)  pdm_loop_index(fn, value)

static pdm_loop_fn *fn;
static const pdm_loop_expr *i, *j, *s, *t;

static void setup(void)
{
    ck_assert_int_eq(pdm_loop_fn_create("test", &fn), PDM_OK);
    fn->num_vars = 2;
    i = pdm_loop_var(fn, 0);
    j = pdm_loop_var(fn, 1);
    s = pdm_loop_add_symbol(fn, 0, 0);
    t = pdm_loop_add_symbol(fn, 0, 1);
}

static void teardown(void)
{
    pdm_loop_fn_destroy(fn);
}

START_TEST(equal_ones_are_one)
{
    ck_assert_ptr_eq(ADD(i, j), ADD(j, i));
    ck_assert_ptr_eq(MUL(MUL(i, s), t), MUL(t, MUL(s, i)));
    ck_assert_ptr_eq(MUL(ADD(i, N(2)), N(3)), ADD(N(6), MUL(N(3), i)));
    ck_assert_ptr_eq(ADD(ADD(i, N(2)), N(-2)), i);
    ck_assert_ptr_ne(ADD(i, N(1)), ADD(j, N(1)));
    ck_assert_ptr_ne(pdm_loop_float(fn, PDM_F32, 0.0), pdm_loop_float(fn, PDM_F32, -0.0));
    ck_assert_ptr_ne(pdm_loop_int(fn, PDM_I32, 1), pdm_loop_int(fn, PDM_I64, 1));
}
END_TEST

START_TEST(neutral_numbers_go)
{
    ck_assert_ptr_eq(ADD(i, N(0)), i);
    ck_assert_ptr_eq(MUL(N(1), i), i);
    ck_assert_ptr_eq(MUL(i, N(0)), N(0));
    ck_assert_ptr_eq(DIV(i, N(1)), i);
    ck_assert_ptr_eq(MOD(i, N(1)), N(0));
    ck_assert_ptr_eq(DIV(N(7), N(2)), N(3));
}
END_TEST

START_TEST(divided_parts_join)
{
    ck_assert_ptr_eq(ADD(MUL(DIV(i, N(5)), N(5)), MOD(i, N(5))), i);
    ck_assert_ptr_eq(ADD(MUL(DIV(i, s), s), MOD(i, s)), i);
    /* With a factor, and something beside it. */
    ck_assert_ptr_eq(ADD(MUL(ADD(MUL(j, t), DIV(i, s)), s), MOD(i, s)),
                     ADD(i, MUL(MUL(j, s), t)));
    ck_assert_ptr_eq(ADD(MUL(MUL(DIV(i, s), s), t), MUL(MOD(i, s), t)), MUL(i, t));
    /* Multiples leave. */
    ck_assert_ptr_eq(DIV(ADD(MUL(i, N(12)), N(24)), N(4)), ADD(MUL(i, N(3)), N(6)));
    ck_assert_ptr_eq(MOD(ADD(MUL(i, s), j), s), MOD(j, s));
    ck_assert_ptr_eq(DIV(MUL(i, MUL(s, t)), s), MUL(i, t));
}
END_TEST

/* What is simplified has the value of what is not, for any indices. */
static int64_t value_of(const pdm_loop_expr *e, int64_t vi, int64_t vj, const int64_t *symbols)
{
    if (e->kind == PDM_LOOP_VAR)
        return e->u.index == 0 ? vi : vj;
    if (e->kind != PDM_LOOP_BINARY)
        return pdm_loop_eval(e, symbols);
    const int64_t a = value_of(e->args[0], vi, vj, symbols);
    const int64_t b = value_of(e->args[1], vi, vj, symbols);
    switch ((int)e->op) {
    case PDM_LOOP_ADD:
        return a + b;
    case PDM_LOOP_SUB:
        return a - b;
    case PDM_LOOP_MUL:
        return a * b;
    case PDM_LOOP_DIV:
        return a / b;
    default:
        return a % b;
    }
}

START_TEST(random_expressions_keep_their_value)
{
    const int64_t symbols[] = {3 + _i % 5, 2 + _i % 7};
    const int64_t vi = _i % 11, vj = _i % 13;
    const pdm_loop_expr *e[40] = {i, j, s, t, N(1), N(2), N(5)};
    int64_t v[40] = {vi, vj, symbols[0], symbols[1], 1, 2, 5};

    srand((unsigned)_i);
    for (int n = 7; n < 40; n++) {
        const int a = rand() % n, b = rand() % n, op = rand() % 4;
        e[n] = e[a];
        v[n] = v[a];
        if (op == 0 && v[a] + v[b] < 100000) {
            e[n] = ADD(e[a], e[b]);
            v[n] = v[a] + v[b];
        } else if (op == 1 && v[a] * v[b] < 100000) {
            e[n] = MUL(e[a], e[b]);
            v[n] = v[a] * v[b];
        } else if (op >= 2 && b >= 2 && b < 7) { /* by a dim */
            e[n] = op == 2 ? DIV(e[a], e[b]) : MOD(e[a], e[b]);
            v[n] = op == 2 ? v[a] / v[b] : v[a] % v[b];
        }
        ck_assert_int_eq(value_of(e[n], vi, vj, symbols), v[n]);
    }
    ck_assert_int_eq(fn->status, PDM_OK);
}
END_TEST

START_TEST(faults_are_found)
{
    const pdm_loop_expr *dims[] = {N(4)};
    const uint32_t x = pdm_loop_add_buffer(fn, "x", PDM_LOOP_INPUT, PDM_F32, 1, dims);
    const uint32_t y = pdm_loop_add_buffer(fn, "y", PDM_LOOP_OUTPUT, PDM_F32, 1, dims);
    const pdm_loop_expr *load = pdm_loop_load(fn, x, &i);

    pdm_loop_stmt *store = pdm_loop_store(fn, y, &i, load);
    fn->body = pdm_loop_for(fn, 0, N(4), store);
    ck_assert_ptr_null(pdm_loop_verify(fn));
    fn->body->var = 1;
    ck_assert_ptr_nonnull(pdm_loop_verify(fn)); /* i is not open */
    fn->body->var = 0;
    store->buffer = x;
    ck_assert_ptr_nonnull(pdm_loop_verify(fn)); /* an input is written */
    store->buffer = y;
    store->value = pdm_loop_cast(fn, PDM_F64, load);
    ck_assert_ptr_nonnull(pdm_loop_verify(fn)); /* of another type */
    store->value = load;
    ck_assert_ptr_null(pdm_loop_verify(fn));
}
END_TEST

Suite *pdm_suite_loop_expr(void)
{
    Suite *suite = suite_create("loop_expr");
    TCase *tcase = tcase_create("loop_expr");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, equal_ones_are_one);
    tcase_add_test(tcase, neutral_numbers_go);
    tcase_add_test(tcase, divided_parts_join);
    tcase_add_loop_test(tcase, random_expressions_keep_their_value, 0, 60);
    tcase_add_test(tcase, faults_are_found);
    suite_add_tcase(suite, tcase);
    return suite;
}
