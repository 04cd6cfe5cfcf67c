/* The compiler table: content, keys, holders, threads. */
#include "legacy_graph/cinn_table.h"

#include <check.h>
#include <pthread.h>

#include "unit/lg/draft.h"
#include "unit/lg/support.h"

Suite *pdm_suite_lg_table(void);

static pdm_lg_cinn_table *table;
static lg_log told;

static void setup(void)
{
    ck_assert_int_eq(pdm_lg_cinn_table_create(&table), PDM_OK);
    lg_log_init(&told);
}

static void teardown(void)
{
    pdm_lg_cinn_table_destroy(table);
    lg_log_deinit(&told);
}

/* A graph with one op, different for each type. */
static pdm_lg_graph *tiny(const char *type)
{
    draft_begin();
    pdm_lg_node *op = draft_op(type, "X=x", "Out=y");

    draft_in(op, draft_var("x"), NULL);
    draft_out(op, draft_var("y"), NULL);
    return draft;
}

START_TEST(equal_content_is_shared_and_counted)
{
    int64_t a, b, c, alone;
    pdm_lg_graph *first = tiny("relu");

    ck_assert_int_eq(pdm_lg_cinn_key(first, NULL, &alone), PDM_OK);
    ck_assert_int_eq(pdm_lg_cinn_table_add(table, first, NULL, &a), PDM_OK);
    ck_assert_int_eq(pdm_lg_cinn_table_add(table, tiny("relu"), NULL, &b), PDM_OK);
    ck_assert_int_eq(pdm_lg_cinn_table_add(table, tiny("tanh"), NULL, &c), PDM_OK);
    ck_assert_int_eq(a, b);
    ck_assert_int_eq(a, alone);
    ck_assert_int_ne(a, c);
    ck_assert_uint_eq(pdm_lg_cinn_table_holders(table, a), 2);
    ck_assert_uint_eq(pdm_lg_cinn_table_size(table), 2);
    pdm_lg_cinn_table_release(table, a);
    ck_assert_int_eq(pdm_lg_cinn_table_hold(table, a, NULL), PDM_OK);
    pdm_lg_cinn_table_release(table, a);
    pdm_lg_cinn_table_release(table, a);
    ck_assert_uint_eq(pdm_lg_cinn_table_holders(table, a), 0);
    ck_assert_uint_eq(pdm_lg_cinn_table_size(table), 1);
    pdm_lg_cinn_table_release(table, a);
}
END_TEST

START_TEST(keys_are_the_same_in_every_run)
{
    int64_t key;
    pdm_lg_graph *graph = tiny("relu");

    ck_assert_int_eq(pdm_lg_cinn_key(graph, NULL, &key), PDM_OK);
    ck_assert_int_eq(key, INT64_C(3109058263014187336));
    pdm_lg_graph_destroy(graph);
}
END_TEST

START_TEST(other_content_under_a_key_is_refused)
{
    ck_assert_int_eq(pdm_lg_cinn_table_add_as(table, 7, tiny("relu"), NULL), PDM_OK);
    ck_assert_int_eq(pdm_lg_cinn_table_add_as(table, 7, tiny("relu"), NULL), PDM_OK);
    ck_assert_int_eq(pdm_lg_cinn_table_add_as(table, 7, tiny("tanh"), &told.sink),
                     PDM_INVALID_MODEL);
    lg_expect(&told, "another subgraph has this key (compilation key 7)");
    ck_assert_uint_eq(pdm_lg_cinn_table_holders(table, 7), 2);
}
END_TEST

START_TEST(a_graph_is_added_once)
{
    int64_t key;
    pdm_lg_graph *graph = tiny("relu");

    ck_assert_int_eq(pdm_lg_cinn_table_add(table, graph, NULL, &key), PDM_OK);
    ck_assert_int_eq(pdm_lg_cinn_table_add(table, graph, &told.sink, &key), PDM_INVALID_MODEL);
    lg_expect(&told, "this subgraph is in the table already");
    ck_assert_int_eq(pdm_lg_cinn_table_add_as(table, 1, graph, &told.sink), PDM_INVALID_MODEL);
    ck_assert_uint_eq(pdm_lg_cinn_table_holders(table, key), 1);
}
END_TEST

START_TEST(an_unknown_key_is_told)
{
    const pdm_lg_graph *graph;

    ck_assert_int_eq(pdm_lg_cinn_table_get(table, 42, &told.sink, &graph), PDM_INVALID_MODEL);
    lg_expect(&told, "there is no subgraph with this key (compilation key 42)");
    ck_assert_int_eq(pdm_lg_cinn_table_hold(table, 42, &told.sink), PDM_INVALID_MODEL);
}
END_TEST

enum { THREADS = 4, ROUNDS = 200 };

static void *use_table(void *user)
{
    static const char *const types[] = {"relu", "tanh", "exp"};
    pdm_lg_graph *mine = user;

    for (int i = 0; i < ROUNDS; i++) {
        const pdm_lg_graph *got;
        pdm_lg_graph *copy;
        int64_t key;
        if (pdm_lg_graph_clone(mine, &copy) != PDM_OK ||
            pdm_lg_cinn_table_add(table, copy, NULL, &key) != PDM_OK ||
            pdm_lg_cinn_table_get(table, key, NULL, &got) != PDM_OK || got->num_nodes != 3)
            return (void *)types;
        pdm_lg_cinn_table_release(table, key);
    }
    return NULL;
}

START_TEST(threads_share_the_table)
{
    pthread_t threads[THREADS];
    pdm_lg_graph *graphs[THREADS];

    for (int i = 0; i < THREADS; i++)
        graphs[i] = tiny(i % 2 ? "relu" : "tanh");
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_table, graphs[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
        pdm_lg_graph_destroy(graphs[i]);
    }
    ck_assert_uint_eq(pdm_lg_cinn_table_size(table), 0);
}
END_TEST

Suite *pdm_suite_lg_table(void)
{
    Suite *suite = suite_create("lg_table");
    TCase *tc = tcase_create("table");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, equal_content_is_shared_and_counted);
    tcase_add_test(tc, keys_are_the_same_in_every_run);
    tcase_add_test(tc, other_content_under_a_key_is_refused);
    tcase_add_test(tc, a_graph_is_added_once);
    tcase_add_test(tc, an_unknown_key_is_told);
    tcase_add_test(tc, threads_share_the_table);
    suite_add_tcase(suite, tc);
    return suite;
}
