/* Any sequence of legal transformations keeps what a function computes, to the bit. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cinn/backend.h"
#include "cinn/lower.h"
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

/* ---- the arrangement for processors ---------------------------------------------------------- */

enum { LARGE = 600 * 80 };

typedef struct arranged {
    pdm_loop_fn *fn;
    int64_t symbols[3];
    const pdm_loop_expr *dims[3], *i[3];
    uint32_t x;
} arranged;

/* x of such dims, numbers or symbols, and a loop variable for each. */
static void begin(arranged *a, const int64_t *dims, bool open)
{
    ck_assert_int_eq(pdm_loop_fn_create("arranged", &a->fn), PDM_OK);
    for (uint32_t d = 0; d < 3; d++) {
        a->symbols[d] = dims[d];
        a->dims[d] = open && dims[d] > 1 ? pdm_loop_add_symbol(a->fn, 0, d) : pdm_loop_index(a->fn, dims[d]);
        a->i[d] = pdm_loop_var(a->fn, a->fn->num_vars++);
        if (open)
            a->symbols[a->fn->symbols.n - (dims[d] > 1)] = dims[d];
    }
    a->x = pdm_loop_add_buffer(a->fn, "x", PDM_LOOP_INPUT, PDM_F32, 3, a->dims);
}

/* y = x - the sum over axis 1, or, if plain, that sum. */
static void over_rows(arranged *a, bool plain)
{
    pdm_loop_fn *fn = a->fn;
    const pdm_loop_expr *one = pdm_loop_index(fn, 1), *kept[3] = {a->dims[0], one, a->dims[2]};
    const uint32_t y = pdm_loop_add_buffer(fn, "y", PDM_LOOP_OUTPUT, PDM_F32, 3, plain ? kept : a->dims);
    const uint32_t t = plain ? y : pdm_loop_add_buffer(fn, "t", PDM_LOOP_TEMP, PDM_F32, 3, kept);
    const pdm_loop_expr *at[3] = {a->i[0], pdm_loop_index(fn, 0), a->i[2]}, *sum = pdm_loop_load(fn, t, at);
    pdm_loop_stmt *start = pdm_loop_store(fn, t, at, pdm_loop_float(fn, PDM_F32, 0));
    pdm_loop_stmt *add = pdm_loop_store(fn, t, at, pdm_loop_binary(fn, PDM_LOOP_ADD, sum, pdm_loop_load(fn, a->x, a->i)));

    pdm_loop_append(&start, pdm_loop_for(fn, 1, a->dims[1], add));
    fn->body = pdm_loop_for(fn, 0, a->dims[0], pdm_loop_for(fn, 2, a->dims[2], start));
    if (plain)
        return;
    const pdm_loop_expr *j[3], *from[3];
    for (uint32_t d = 0; d < 3; d++) {
        j[d] = pdm_loop_var(fn, fn->num_vars++);
        from[d] = d == 1 ? at[1] : j[d];
    }
    const pdm_loop_expr *rest = pdm_loop_binary(fn, PDM_LOOP_SUB, pdm_loop_load(fn, a->x, j), pdm_loop_load(fn, t, from));
    pdm_loop_stmt *all = pdm_loop_store(fn, y, j, rest);
    for (uint32_t d = 3; d-- > 0;)
        all = pdm_loop_for(fn, 3 + d, a->dims[d], all);
    pdm_loop_append(&fn->body, all);
}

/* y = x with axes in another order, squared. */
static void turned(arranged *a, const uint32_t *order)
{
    pdm_loop_fn *fn = a->fn;
    const pdm_loop_expr *dims[3], *at[3], *x = pdm_loop_load(fn, a->x, a->i);

    for (uint32_t d = 0; d < 3; d++) {
        dims[d] = a->dims[order[d]];
        at[d] = a->i[order[d]];
    }
    const uint32_t y = pdm_loop_add_buffer(fn, "y", PDM_LOOP_OUTPUT, PDM_F32, 3, dims);
    fn->body = pdm_loop_store(fn, y, at, pdm_loop_binary(fn, PDM_LOOP_MUL, x, x));
    for (uint32_t d = 3; d-- > 0;)
        fn->body = pdm_loop_for(fn, order[d], dims[d], fn->body);
}

/* y of all nests; the turns of each one in two parts, the last first, where they are independent. */
static void run_all(const arranged *a, float *y)
{
    static float x[LARGE];
    void *image, *data[8] = {x, y};
    uint32_t nest = 0;

    ck_assert_uint_le(a->fn->buffers.n, 8);
    for (int k = 0; k < LARGE; k++) {
        x[k] = (float)(k * 7919 % 1000) / 7;
        y[k] = -1;
    }
    for (size_t i = 2; i < a->fn->buffers.n; i++)
        ck_assert_ptr_nonnull(data[i] = calloc(LARGE, sizeof(float)));
    ck_assert_ptr_null(pdm_loop_verify(a->fn));
    ck_assert_int_eq(pdm_cinn_backend_ref.compile(a->fn, &image), PDM_OK);
    for (const pdm_loop_stmt *stmt = a->fn->body; stmt; stmt = stmt->next, nest++) {
        const int64_t turns = stmt->kind == PDM_LOOP_FOR ? pdm_loop_eval(stmt->extent, a->symbols) : 1;
        const int64_t half = stmt->kind == PDM_LOOP_FOR && stmt->mark == PDM_LOOP_PARALLEL ? turns / 2 : 0;
        ck_assert_int_eq(pdm_cinn_backend_ref.run(image, nest, data, a->symbols, half, turns), PDM_OK);
        if (half > 0)
            ck_assert_int_eq(pdm_cinn_backend_ref.run(image, nest, data, a->symbols, 0, half), PDM_OK);
    }
    pdm_cinn_backend_ref.destroy(image);
    for (size_t i = 2; i < a->fn->buffers.n; i++)
        free(data[i]);
}

/* Columns of rows that are added up are done row by row, and transpositions by tiles: with the same bits. */
START_TEST(arranged_loops_compute_the_same)
{
    static const int64_t dims[][3] = {{1, 9, 600},  {3, 13, 70},  {1, 2, 33},  {2, 40, 16}, {4, 5, 15},
                                      {32, 1, 64}, {70, 1, 600}, {33, 5, 40}, {1, 45, 99}, {2, 64, 32}};
    static const uint32_t orders[][3] = {{0, 2, 1}, {2, 1, 0}, {2, 0, 1}, {1, 0, 2}};
    static float before[LARGE], after[LARGE];
    enum { SHAPES = sizeof dims / sizeof *dims };
    const int form = _i / SHAPES % 6;
    arranged a;

    begin(&a, dims[_i % SHAPES], _i / SHAPES >= 6);
    if (form < 2)
        over_rows(&a, form == 0);
    else
        turned(&a, orders[form - 2]);
    run_all(&a, before);
    pdm_cinn_schedule_cpu(a.fn, true);
    run_all(&a, after);
    ck_assert_mem_eq(before, after, sizeof before);
    pdm_loop_fn_destroy(a.fn);
}
END_TEST

/* How many elements a temporary of a function has that has been arranged; 0: there is none in a turn of a loop. */
static uint64_t kept_in_turns(arranged *a)
{
    uint64_t bytes = 0;

    pdm_cinn_schedule_cpu(a->fn, true);
    for (size_t i = 0; i < a->fn->buffers.n && bytes == 0; i++) {
        if (a->fn->buffers.v[i].scope == PDM_LOOP_LOCAL)
            ck_assert(pdm_loop_bytes(&a->fn->buffers.v[i], &bytes));
    }
    pdm_loop_fn_destroy(a->fn);
    return bytes / sizeof(float);
}

START_TEST(tiles_and_rows_are_found)
{
    static const int64_t dims[3] = {1, 70, 600};
    static const uint32_t order[3] = {0, 2, 1};
    arranged a;

    begin(&a, dims, true);
    turned(&a, order);
    ck_assert_uint_eq(kept_in_turns(&a), 32 * 32);
    begin(&a, (const int64_t[]){5, 13, 70}, false);
    over_rows(&a, false);
    ck_assert_uint_eq(kept_in_turns(&a), 70); /* sums of a row of columns, not of one */
    begin(&a, dims, false);
    over_rows(&a, true);
    pdm_cinn_schedule_cpu(a.fn, true);
    ck_assert_int_eq(a.fn->body->mark, PDM_LOOP_PARALLEL); /* threads share columns */
    ck_assert_ptr_nonnull(a.fn->body->body->next);
    pdm_loop_fn_destroy(a.fn);
}
END_TEST

/* A number that is squared again and again: as a tree it has 2^60 leaves. */
START_TEST(shared_values_are_looked_at_once)
{
    arranged a;

    begin(&a, (const int64_t[]){1, 70, 600}, false);
    turned(&a, (const uint32_t[]){0, 2, 1});
    pdm_loop_stmt *store = a.fn->body;
    while (store->kind == PDM_LOOP_FOR)
        store = store->body;
    const pdm_loop_expr *v = pdm_loop_cast(a.fn, PDM_F32, a.i[1]);
    for (int n = 0; n < 60; n++)
        v = pdm_loop_binary(a.fn, PDM_LOOP_MUL, v, v);
    store->value = pdm_loop_binary(a.fn, PDM_LOOP_ADD, v, store->value);
    ck_assert_uint_eq(kept_in_turns(&a), 32 * 32);
}
END_TEST

Suite *pdm_suite_schedule(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tcase = tcase_create("schedule");

    tcase_add_test(tcase, digits_do_not_overlap);
    tcase_add_loop_test(tcase, fused_loops_compute_the_same, 0, 80);
    tcase_add_loop_test(tcase, arranged_loops_compute_the_same, 0, 120);
    tcase_add_test(tcase, tiles_and_rows_are_found);
    tcase_add_test(tcase, shared_values_are_looked_at_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
