/* Memory of results: planned from a first run, safe when the plan was wrong. */
#include <check.h>
#include <string.h>

#include "exec/kernel.h"
#include "exec/memory.h"

Suite *pdm_suite_memory(void);

static pdm_tensor get(pdm_exec_memory *m, uint32_t result, int64_t n)
{
    pdm_tensor t = {0};

    ck_assert_int_eq(pdm_exec_memory_alloc(m, result, &t, PDM_I8, 1, &n), PDM_OK);
    ck_assert_uint_eq((uintptr_t)t.data % PDM_TENSOR_ALIGNMENT, 0);
    memset(t.data, (int)result + 1, (size_t)n);
    return t;
}

static bool intact(const pdm_tensor *t, uint32_t result)
{
    for (int64_t i = 0; i < t->dims[0]; i++) {
        if (((const char *)t->data)[i] != (char)(result + 1))
            return false;
    }
    return true;
}

/* A chain of results, each alive until the next is made. */
static void chain(pdm_exec_memory *m, int count)
{
    pdm_tensor last = {0};

    for (int i = 0; i < count; i++) {
        pdm_tensor t = get(m, (uint32_t)i, 1000);
        pdm_tensor_deinit(&last);
        last = t;
    }
    pdm_tensor_deinit(&last);
}

START_TEST(lives_that_do_not_meet_share_memory)
{
    pdm_exec_memory *m;

    ck_assert_int_eq(pdm_exec_memory_create(8, &m), PDM_OK);
    for (int run = 0; run < 4; run++) {
        pdm_exec_memory_begin(m, 1, NULL, NULL);
        chain(m, 8);
        pdm_exec_memory_end(m, true);
        const pdm_exec_memory_stats s = pdm_exec_memory_get_stats(m);
        ck_assert_uint_eq(s.planned, 2048);
        ck_assert_uint_eq(s.num_new, run ? 0 : 8);
        ck_assert_uint_eq(s.in_use, 0);
    }
    pdm_exec_memory_destroy(m);
}
END_TEST

START_TEST(a_value_that_lives_on_keeps_its_place)
{
    pdm_exec_memory *m;
    pdm_tensor held, again;

    ck_assert_int_eq(pdm_exec_memory_create(8, &m), PDM_OK);
    pdm_exec_memory_begin(m, 1, NULL, NULL);
    chain(m, 8);
    pdm_exec_memory_end(m, true);
    /* Now the first result stays alive, against the plan. */
    pdm_exec_memory_begin(m, 1, NULL, NULL);
    held = get(m, 0, 1000);
    chain(m, 8);
    ck_assert(intact(&held, 0));
    again = get(m, 0, 1000);
    ck_assert_ptr_ne(again.data, held.data);
    ck_assert(intact(&held, 0));
    pdm_tensor_deinit(&again);
    pdm_exec_memory_end(m, true);
    /* It also outlives the next run, one of other shapes, and the whole. */
    pdm_exec_memory_begin(m, 2, NULL, NULL);
    chain(m, 8);
    pdm_exec_memory_end(m, true);
    pdm_exec_memory_destroy(m);
    ck_assert(intact(&held, 0));
    pdm_tensor_deinit(&held);
}
END_TEST

START_TEST(other_shapes_make_another_plan)
{
    pdm_exec_memory *m;
    pdm_tensor t;

    ck_assert_int_eq(pdm_exec_memory_create(2, &m), PDM_OK);
    for (int64_t n = 100; n < 100000; n *= 10) {
        for (int run = 0; run < 2; run++) {
            pdm_exec_memory_begin(m, (uint64_t)n, NULL, NULL);
            t = get(m, 0, n);
            pdm_tensor_deinit(&t);
            t = get(m, 1, n);
            pdm_tensor_deinit(&t);
            pdm_exec_memory_end(m, true);
        }
        ck_assert_uint_eq(pdm_exec_memory_get_stats(m).planned, (n + 63) / 64 * 64);
        ck_assert_uint_eq(pdm_exec_memory_get_stats(m).num_new, 0);
    }
    pdm_exec_memory_destroy(m);
}
END_TEST

/* Sizes of the chain by what a run was told to be. */
static bool foresee_chain(void *self, size_t *bytes)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = *(const size_t *)self;
    return true;
}

static void sized_chain(pdm_exec_memory *m, int64_t n)
{
    pdm_tensor last = {0};

    for (uint32_t i = 0; i < 8; i++) {
        pdm_tensor t = get(m, i, n);
        pdm_tensor_deinit(&last);
        last = t;
    }
    pdm_tensor_deinit(&last);
}

START_TEST(foreseen_sizes_need_no_watched_run)
{
    pdm_exec_memory *m;

    ck_assert_int_eq(pdm_exec_memory_create(8, &m), PDM_OK);
    for (size_t n = 1000; n < 50000; n += 777) {
        pdm_exec_memory_begin(m, n, foresee_chain, &n);
        sized_chain(m, (int64_t)n);
        pdm_exec_memory_end(m, true);
        const pdm_exec_memory_stats s = pdm_exec_memory_get_stats(m);
        ck_assert_uint_eq(s.planned, 2 * ((n + 63) / 64 * 64));
        ck_assert_uint_eq(s.num_new, n == 1000 ? 8 : 0);
        ck_assert_uint_eq(s.in_use, 0);
    }
    pdm_exec_memory_destroy(m);
}
END_TEST

/* They are not believed: what needs more gets memory of its own, and soon a run is watched again. */
START_TEST(sizes_that_were_foreseen_wrongly)
{
    pdm_exec_memory *m;
    size_t told = 1000;

    ck_assert_int_eq(pdm_exec_memory_create(8, &m), PDM_OK);
    for (uint64_t run = 1; run < 8; run++) {
        pdm_exec_memory_begin(m, run, foresee_chain, &told);
        sized_chain(m, 3000 + (int64_t)run);
        pdm_exec_memory_end(m, true);
        ck_assert_uint_eq(pdm_exec_memory_get_stats(m).in_use, 0);
    }
    for (uint64_t run = 8; run < 10; run++) {
        pdm_exec_memory_begin(m, 7, foresee_chain, &told);
        sized_chain(m, 3007);
        pdm_exec_memory_end(m, true);
    }
    ck_assert_uint_eq(pdm_exec_memory_get_stats(m).num_new, 0);
    ck_assert_uint_eq(pdm_exec_memory_get_stats(m).planned, 2 * 3008);
    pdm_exec_memory_destroy(m);
}
END_TEST

/* Sums of places overflow: such a run is watched, and what it asks for is not there. */
START_TEST(absurd_sizes_are_not_planned)
{
    const size_t absurd[] = {SIZE_MAX / 4, SIZE_MAX / 8, SIZE_MAX / 4 - 63};
    pdm_exec_memory *m;
    size_t known = 1000;

    ck_assert_int_eq(pdm_exec_memory_create(8, &m), PDM_OK);
    pdm_exec_memory_begin(m, 1, foresee_chain, &known);
    sized_chain(m, 1000);
    pdm_exec_memory_end(m, true);
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        size_t told = absurd[i];
        pdm_exec_memory_begin(m, 2 + i, foresee_chain, &told);
        ck_assert_uint_eq(pdm_exec_memory_get_stats(m).planned, 0);
        pdm_exec_memory_end(m, false);
    }
    pdm_exec_memory_destroy(m);
}
END_TEST

/* Lives that meet though the plan says that they do not: there is room elsewhere in the block. */
START_TEST(another_place_of_the_block)
{
    pdm_exec_memory *m;
    pdm_tensor held = {0}, t = {0};

    ck_assert_int_eq(pdm_exec_memory_create(8, &m), PDM_OK);
    for (int run = 0; run < 2; run++) {
        pdm_exec_memory_begin(m, 1, NULL, NULL);
        t = get(m, 0, 1000);
        held = get(m, 3, 1000);
        pdm_tensor_deinit(&t);
        pdm_tensor_deinit(&held);
        if (run == 0) {
            t = get(m, 1, 1000);
            pdm_tensor_deinit(&t);
            t = get(m, 2, 1000);
            pdm_tensor_deinit(&t);
        } else { /* both at a time: they were planned for one place */
            held = get(m, 1, 1000);
            t = get(m, 2, 1000);
            ck_assert(intact(&held, 1));
            pdm_tensor_deinit(&held);
            pdm_tensor_deinit(&t);
        }
        pdm_exec_memory_end(m, true);
    }
    ck_assert_uint_eq(pdm_exec_memory_get_stats(m).num_new, 0);
    ck_assert_uint_eq(pdm_exec_memory_get_stats(m).planned, 2048);
    pdm_exec_memory_destroy(m);
}
END_TEST

/* A result that is larger than planned, or made several times at once, as loops do. */
START_TEST(more_than_was_planned)
{
    pdm_exec_memory *m;
    pdm_tensor t[20];

    ck_assert_int_eq(pdm_exec_memory_create(2, &m), PDM_OK);
    for (int run = 0; run < 4; run++) {
        pdm_exec_memory_begin(m, 1, NULL, NULL);
        for (int i = 0; i < 20; i++)
            t[i] = get(m, 1, run ? 5000 : 100);
        for (int i = 0; i < 20; i++) {
            ck_assert(intact(&t[i], 1));
            pdm_tensor_deinit(&t[i]);
        }
        pdm_exec_memory_end(m, true);
    }
    ck_assert_uint_eq(pdm_exec_memory_get_stats(m).num_new, 0); /* kept from the run before */
    pdm_exec_memory_destroy(m);
}
END_TEST

START_TEST(a_run_that_failed_makes_no_plan)
{
    pdm_exec_memory *m;

    ck_assert_int_eq(pdm_exec_memory_create(8, &m), PDM_OK);
    pdm_exec_memory_begin(m, 1, NULL, NULL);
    chain(m, 3);
    pdm_exec_memory_end(m, false);
    ck_assert_uint_eq(pdm_exec_memory_get_stats(m).planned, 0);
    pdm_tensor t = {0};
    ck_assert_int_eq(pdm_exec_memory_alloc(m, 8, &t, PDM_I8, 0, NULL), PDM_INVALID_ARG);
    ck_assert_int_eq(pdm_exec_memory_alloc(m, 0, &t, PDM_F64, 1, (int64_t[]){INT64_MAX}),
                     PDM_NOMEM);
    pdm_exec_memory_destroy(m);
}
END_TEST

/* Kernels' temporary memory is used again, and a large one is not taken for little. */
START_TEST(temporary_memory)
{
    pdm_k_temp_pool pool = {0};
    void *first = NULL;

    for (int i = 0; i < 3; i++) {
        pdm_k k = {.temp_pool = &pool};
        char *a = pdm_k_temp(&k, 100000), *b = pdm_k_temp(&k, 1000);
        ck_assert(a && b);
        ck_assert_uint_eq((uintptr_t)a % PDM_TENSOR_ALIGNMENT, 0);
        memset(a, 1, 100000);
        memset(b, 2, 1000);
        ck_assert_int_eq(a[99999], 1);
        ck_assert(i == 0 || a == first);
        first = a;
        pdm_k_end(&k);
        ck_assert_uint_eq(pool.count, 2);
    }
    pdm_k k = {.temp_pool = &pool};
    ck_assert_ptr_null(pdm_k_temp(&k, SIZE_MAX - 8));
    ck_assert_int_eq(k.status, PDM_NOMEM);
    pdm_k_end(&k);
    pdm_k_temp_pool_deinit(&pool);
    pdm_k alone = {0};
    ck_assert_ptr_nonnull(pdm_k_temp(&alone, 0));
    pdm_k_end(&alone);
}
END_TEST

Suite *pdm_suite_memory(void)
{
    Suite *suite = suite_create("memory");
    TCase *tcase = tcase_create("memory");

    tcase_add_test(tcase, lives_that_do_not_meet_share_memory);
    tcase_add_test(tcase, a_value_that_lives_on_keeps_its_place);
    tcase_add_test(tcase, other_shapes_make_another_plan);
    tcase_add_test(tcase, foreseen_sizes_need_no_watched_run);
    tcase_add_test(tcase, sizes_that_were_foreseen_wrongly);
    tcase_add_test(tcase, absurd_sizes_are_not_planned);
    tcase_add_test(tcase, another_place_of_the_block);
    tcase_add_test(tcase, more_than_was_planned);
    tcase_add_test(tcase, a_run_that_failed_makes_no_plan);
    tcase_add_test(tcase, temporary_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}
