/* Any sequence of legal transformations keeps what a function computes, to the bit. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cinn/backend.h"
#include "cinn/schedule.h"

Suite *pdm_suite_schedule(void);

enum { MAX_RANK = 4, SIZE = 6 * 6 * 6 * 6 };

/* y[i0, ...] = x[i0, ...] * c[some of the axes] + x at permuted axes where dims allow it. */
static pdm_loop_fn *draw(int64_t *symbols)
{
    const uint32_t rank = 1 + (uint32_t)rand() % MAX_RANK;
    const pdm_loop_expr *dims[MAX_RANK], *some[MAX_RANK], *i[MAX_RANK], *at[MAX_RANK];
    pdm_loop_fn *fn;

    ck_assert_int_eq(pdm_loop_fn_create("random", &fn), PDM_OK);
    for (uint32_t d = 0; d < rank; d++) {
        const int64_t extent = 1 + rand() % 6;
        symbols[fn->symbols.n] = extent;
        dims[d] = rand() % 2 ? pdm_loop_add_symbol(fn, 0, d) : pdm_loop_index(fn, extent);
        const bool one = rand() % 2;
        some[d] = one ? pdm_loop_index(fn, 1) : dims[d];
        i[d] = pdm_loop_var(fn, fn->num_vars++);
        at[d] = one ? pdm_loop_index(fn, 0) : i[d];
    }
    const uint32_t x = pdm_loop_add_buffer(fn, "x", PDM_LOOP_INPUT, PDM_F32, rank, dims);
    const uint32_t c = pdm_loop_add_buffer(fn, "c", PDM_LOOP_INPUT, PDM_F32, rank, some);
    const uint32_t y = pdm_loop_add_buffer(fn, "y", PDM_LOOP_OUTPUT, PDM_F32, rank, dims);
    const pdm_loop_expr *value = pdm_loop_binary(fn, PDM_LOOP_MUL, pdm_loop_load(fn, x, i),
                                                 pdm_loop_load(fn, c, at));
    if (rand() % 3 == 0) /* a value that depends on the place itself */
        value = pdm_loop_binary(fn, PDM_LOOP_ADD, value,
                                pdm_loop_cast(fn, PDM_F32, i[rand() % (int)rank]));
    pdm_loop_stmt *stmt = pdm_loop_store(fn, y, i, value);
    for (uint32_t d = rank; d-- > 0;)
        stmt = pdm_loop_for(fn, d, dims[d], stmt);
    fn->body = stmt;
    return fn;
}

static void run(pdm_loop_fn *fn, const int64_t *symbols, float *y)
{
    static float x[SIZE], c[SIZE];
    void *image, *data[] = {x, c, y};

    for (int k = 0; k < SIZE; k++) {
        x[k] = (float)k / 7;
        c[k] = (float)k / 3 - 5;
        y[k] = -1;
    }
    ck_assert_ptr_null(pdm_loop_verify(fn));
    ck_assert_int_eq(pdm_cinn_backend_ref.compile(fn, &image), PDM_OK);
    ck_assert_int_eq(pdm_cinn_backend_ref.run(image, 0, data, symbols, 0,
                                              pdm_loop_eval(fn->body->extent, symbols)),
                     PDM_OK);
}

static pdm_loop_stmt *any_loop(pdm_loop_fn *fn)
{
    pdm_loop_stmt *loop = fn->body;

    while (loop->body && loop->body->kind == PDM_LOOP_FOR && rand() % 2)
        loop = loop->body;
    return loop;
}

START_TEST(fused_loops_compute_the_same)
{
    static float before[SIZE], after[SIZE];
    int64_t symbols[MAX_RANK];

    srand((unsigned)_i);
    pdm_loop_fn *fn = draw(symbols);
    run(fn, symbols, before);
    for (int step = 0; step < 4; step++) {
        pdm_loop_stmt *loop = any_loop(fn);
        if (rand() % 2)
            pdm_loop_fuses_plainly(fn, loop); /* a question changes nothing */
        pdm_loop_fuse(fn, loop);
        run(fn, symbols, after);
        ck_assert_mem_eq(before, after, sizeof before);
    }
    ck_assert(pdm_loop_flatten(fn));
    run(fn, symbols, after);
    ck_assert_mem_eq(before, after, sizeof before);
    pdm_loop_fn_destroy(fn);
}
END_TEST

/* y[a i + j] = 0 for i < 4, j < n: whether turns of i store elsewhere. */
static bool stores_elsewhere(int64_t a, int64_t n)
{
    pdm_loop_fn *fn;

    ck_assert_int_eq(pdm_loop_fn_create("digits", &fn), PDM_OK);
    const pdm_loop_expr *dim = pdm_loop_index(fn, 100);
    const uint32_t y = pdm_loop_add_buffer(fn, "y", PDM_LOOP_OUTPUT, PDM_I32, 1, &dim);
    fn->num_vars = 2;
    const pdm_loop_expr *at = pdm_loop_binary(fn, PDM_LOOP_MUL, pdm_loop_index(fn, a), pdm_loop_var(fn, 0));
    at = pdm_loop_binary(fn, PDM_LOOP_ADD, at, pdm_loop_var(fn, 1));
    pdm_loop_stmt *stmt = pdm_loop_store(fn, y, &at, pdm_loop_int(fn, PDM_I32, 0));
    stmt = pdm_loop_for(fn, 1, pdm_loop_index(fn, n), stmt);
    stmt = pdm_loop_for(fn, 0, pdm_loop_index(fn, 4), stmt);
    const bool independent = pdm_loop_is_independent(fn, stmt);
    pdm_loop_fn_destroy(fn);
    return independent;
}

START_TEST(digits_do_not_overlap)
{
    ck_assert(stores_elsewhere(3, 3));
    ck_assert(stores_elsewhere(8, 3));
    ck_assert(!stores_elsewhere(2, 3)); /* 2 * 0 + 2 is 2 * 1 + 0 */
    ck_assert(!stores_elsewhere(1, 4)); /* two digits of one factor */
    ck_assert(!stores_elsewhere(0, 4));
}
END_TEST

Suite *pdm_suite_schedule(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tcase = tcase_create("schedule");

    tcase_add_test(tcase, digits_do_not_overlap);
    tcase_add_loop_test(tcase, fused_loops_compute_the_same, 0, 80);
    suite_add_tcase(suite, tcase);
    return suite;
}
