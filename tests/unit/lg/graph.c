/* The legacy graph: links, removal, clones, attributes, order, and programs to graphs and back. */
#include "legacy_graph/graph.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/vec.h"
#include "legacy_graph/dump.h"
#include "legacy_graph/names.h"
#include "legacy_graph/read.h"
#include "legacy_graph/write.h"
#include "unit/lg/support.h"
#include "unit/must.h"

Suite *pdm_suite_lg_graph(void);

static pdm_lg_graph *graph;

static void begin(void)
{
    ck_assert_int_eq(pdm_lg_graph_create("test", &graph), PDM_OK);
}

static void end(void)
{
    pdm_lg_graph_destroy(graph);
}

static pdm_lg_node *add(pdm_lg_node_kind kind, const char *name)
{
    pdm_lg_node *node;

    must(pdm_lg_graph_add_named(graph, kind, name, &node) == PDM_OK);
    return node;
}

static pdm_lg_node *op(const char *name)
{
    return add(PDM_LG_NODE_OP, name);
}

static pdm_lg_node *var(const char *name)
{
    return add(PDM_LG_NODE_VAR, name);
}

static void lnk(pdm_lg_node *from, pdm_lg_node *to)
{
    must(pdm_lg_link(from, to) == PDM_OK);
}

static void expect_independent(const pdm_lg_graph *of)
{
    const char *why;
    bool is;

    ck_assert_int_eq(pdm_lg_graph_is_independent(of, &is, &why), PDM_OK);
    ck_assert_msg(is, "%s", why);
}

static void expect_dependent(const char *expected)
{
    const char *why;
    bool is;

    ck_assert_int_eq(pdm_lg_graph_is_independent(graph, &is, &why), PDM_OK);
    ck_assert(!is);
    ck_assert_str_eq(why, expected);
}

/* ---- nodes and links ------------------------------------------------------------------------- */

START_TEST(links_stand_in_both_lists_once_and_in_order)
{
    begin();
    pdm_lg_node *f = op("f"), *a = var("a"), *b = var("b");

    lnk(b, f);
    lnk(a, f);
    lnk(b, f);
    ck_assert_uint_eq(f->inputs.n, 2);
    ck_assert_ptr_eq(f->inputs.v[0], b);
    ck_assert_ptr_eq(f->inputs.v[1], a);
    ck_assert_uint_eq(b->outputs.n, 1);
    ck_assert_ptr_eq(b->outputs.v[0], f);
    ck_assert_uint_eq(f->id, 0);
    ck_assert_uint_eq(b->id, 2);
    expect_independent(graph);
    end();
}
END_TEST

START_TEST(removal_cleans_the_lists_of_those_that_stay)
{
    begin();
    pdm_lg_node *f = op("f"), *g = op("g"), *h = op("h"), *x = var("x"), *y = var("y");
    pdm_lg_node *gone[] = {g, y};

    lnk(f, x);
    lnk(x, g);
    lnk(x, h);
    lnk(g, y);
    lnk(y, h);
    ck_assert_int_eq(pdm_lg_graph_remove(graph, gone, 2), PDM_OK);
    ck_assert_uint_eq(graph->num_nodes, 3);
    ck_assert_uint_eq(x->outputs.n, 1);
    ck_assert_ptr_eq(x->outputs.v[0], h);
    ck_assert_uint_eq(h->inputs.n, 1);
    expect_independent(graph);
    ck_assert_int_eq(pdm_lg_graph_remove(graph, gone, 1), PDM_INVALID_ARG);
    ck_assert_uint_eq(var("new")->id, 5);
    end();
}
END_TEST

START_TEST(dependence_is_found)
{
    begin();
    pdm_lg_node *f = op("f"), *x = var("x"), *g = op("g");

    lnk(f, x);
    lnk(f, g);
    expect_dependent("two nodes of the same kind are neighbours");
    f->outputs.n = 1;
    g->inputs.n = 0;
    x->inputs.n = 0;
    expect_dependent("a link is in one list only");
    x->inputs.n = 1;
    expect_independent(graph);

    pdm_lg_graph *first = graph;
    begin();
    pdm_lg_node *strange = var("strange");
    pdm_lg_graph *second = graph;
    graph = first;
    lnk(f, strange);
    expect_dependent("a node has a neighbour in another graph");
    f->outputs.n--;
    strange->inputs.n--;
    pdm_lg_graph_destroy(second);
    end();
}
END_TEST

START_TEST(clones_are_the_same_and_apart)
{
    pdm_lg_graph *copy;
    pdm_lg_names *names;
    int mine = 7;

    begin();
    pdm_lg_node *f = op("f"), *dead = op("dead"), *x = var("x");
    lnk(f, x);
    ck_assert_int_eq(pdm_lg_graph_remove(graph, &dead, 1), PDM_OK);
    ck_assert_int_eq(pdm_lg_names_create(&names), PDM_OK);
    ck_assert_int_eq(pdm_lg_names_add_list(names, ";a;;b;", ';'), PDM_OK);
    ck_assert_int_eq(pdm_lg_graph_set(graph, "names", names, &pdm_lg_names_value), PDM_OK);
    ck_assert_int_eq(pdm_lg_graph_set(graph, "mine", &mine, NULL), PDM_OK);
    ck_assert_int_eq(pdm_lg_graph_clone(graph, &copy), PDM_OK);
    ck_assert_uint_eq(copy->num_nodes, 2);
    ck_assert_ptr_null(copy->nodes.v[1]);
    ck_assert_str_eq(copy->nodes.v[0]->outputs.v[0]->name, "x");
    expect_independent(copy);
    const pdm_lg_names *copied = pdm_lg_graph_get(copy, "names");
    ck_assert_ptr_ne(copied, names);
    ck_assert_uint_eq(copied->n, 2);
    ck_assert(pdm_lg_names_has(copied, "b"));
    ck_assert(!pdm_lg_names_has(copied, ""));
    ck_assert_ptr_eq(pdm_lg_graph_get(copy, "mine"), &mine);
    end();
    ck_assert_str_eq(copy->nodes.v[2]->name, "x");
    pdm_lg_graph_destroy(copy);
}
END_TEST

static pdm_status make_names(void **out)
{
    pdm_lg_names *names;
    const pdm_status status = pdm_lg_names_create(&names);

    *out = names;
    return status;
}

START_TEST(attributes)
{
    void *first, *second;

    begin();
    ck_assert(!pdm_lg_graph_has(graph, "a"));
    ck_assert_ptr_null(pdm_lg_graph_get(graph, "a"));
    ck_assert_int_eq(
        pdm_lg_graph_get_or_init(graph, "a", make_names, &pdm_lg_names_value, &first), PDM_OK);
    ck_assert_int_eq(
        pdm_lg_graph_get_or_init(graph, "a", make_names, &pdm_lg_names_value, &second), PDM_OK);
    ck_assert_ptr_eq(first, second);
    ck_assert_int_eq(make_names(&second), PDM_OK);
    ck_assert_int_eq(pdm_lg_graph_set(graph, "a", second, &pdm_lg_names_value), PDM_OK);
    ck_assert_ptr_eq(pdm_lg_graph_get(graph, "a"), second);
    ck_assert_int_eq(pdm_lg_graph_set(graph, "b", graph, NULL), PDM_OK);
    pdm_lg_graph_unset(graph, "a");
    ck_assert(!pdm_lg_graph_has(graph, "a"));
    ck_assert(pdm_lg_graph_has(graph, "b"));
    end();
}
END_TEST

/* ---- order ----------------------------------------------------------------------------------- */

START_TEST(a_cycle_is_told)
{
    lg_log log;
    pdm_lg_nodes order;

    lg_log_init(&log);
    begin();
    pdm_lg_node *f = op("first"), *g = op("second"), *x = var("x"), *y = var("y"), *z = var("z");
    lnk(f, x);
    lnk(x, g);
    lnk(g, y);
    lnk(y, f);
    lnk(f, z);
    lnk(z, op("beyond"));
    ck_assert_int_eq(pdm_lg_graph_order(graph, NULL, &log.sink, &order), PDM_INVALID_MODEL);
    PDM_VEC_FREE(&order);
    lg_expect(&log, "lg-cycle 0 -1 first -");
    lg_expect(&log, "in a circle: first <- second");
    lg_log_deinit(&log);
    end();
}
END_TEST

START_TEST(the_least_id_comes_first)
{
    pdm_lg_nodes order;

    begin();
    pdm_lg_node *last = op("last"), *b = op("b"), *a = op("a"), *x = var("x");
    lnk(a, x);
    lnk(x, last);
    ck_assert_int_eq(pdm_lg_graph_order(graph, NULL, NULL, &order), PDM_OK);
    ck_assert_uint_eq(order.n, 3);
    ck_assert_ptr_eq(order.v[0], b);
    ck_assert_ptr_eq(order.v[1], a);
    ck_assert_ptr_eq(order.v[2], last);
    PDM_VEC_FREE(&order);
    end();
}
END_TEST

static double chain_seconds(size_t n)
{
    pdm_lg_nodes order;
    struct timespec a, b;
    char name[32];

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    begin();
    pdm_lg_node *common = var("common"), *before = common;
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "v%zu", i);
        pdm_lg_node *f = op("f");
        lnk(before, f);
        lnk(common, f);
        before = var(name);
        lnk(f, before);
    }
    ck_assert_int_eq(pdm_lg_graph_order(graph, NULL, NULL, &order), PDM_OK);
    ck_assert_uint_eq(order.n, n);
    expect_independent(graph);
    PDM_VEC_FREE(&order);
    end();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

START_TEST(big_graphs_take_time_in_proportion)
{
    const double small = chain_seconds(10000), big = chain_seconds(100000);

    /* Ten times the ops; caches and the machine's other work take their share. */
    ck_assert_msg(big < 60 * small + 0.5, "10,000 ops: %.3f s, 100,000 ops: %.3f s", small, big);
}
END_TEST

/* ---- programs -------------------------------------------------------------------------------- */

static char *text_of(const pdm_lg_program *program)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_lg_dump_text(program, &buf);
    char *text = pdm_buf_take(&buf);
    ck_assert_ptr_nonnull(text);
    return text;
}

/* The program of these bytes, its graph, and the program of the graph, written and read. */
static void round_trip(const pdm_buf *bytes, const char *path)
{
    pdm_lg_program *before, *after, *again;
    pdm_lg_graph *of;
    pdm_buf written;
    lg_log log = {0};

    if (lg_read(bytes, &log, &before) != PDM_OK) {
        lg_log_deinit(&log);
        return;
    }
    ck_assert_int_eq(pdm_lg_graph_from_program(before, NULL, &of), PDM_OK);
    expect_independent(of);
    for (size_t i = 0; i < of->num_subs; i++)
        expect_independent(of->subs[i]);
    char *expected = text_of(before);
    pdm_lg_program_destroy(before);
    ck_assert_int_eq(pdm_lg_graph_to_program(of, &log.sink, &after), PDM_OK);
    pdm_lg_graph_destroy(of);
    char *text = text_of(after);
    ck_assert_msg(!strcmp(text, expected), "%s: the program of its graph differs", path);
    free(text);
    pdm_buf_init(&written);
    ck_assert_int_eq(pdm_lg_write(after, &written), PDM_OK);
    pdm_lg_program_destroy(after);
    ck_assert_msg(lg_read(&written, &log, &again) == PDM_OK, "%s: %s", path, log.text.data);
    text = text_of(again);
    ck_assert_msg(!strcmp(text, expected), "%s: the program written and read differs", path);
    pdm_lg_program_destroy(again);
    pdm_buf_deinit(&written);
    lg_log_deinit(&log);
    free(text);
    free(expected);
}

static size_t num_files;

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    const char *suffix = strrchr(path, '.');
    pdm_buf bytes;

    (void)st;
    (void)ftw;
    if (type != FTW_F || !suffix || strcmp(suffix, ".pdmodel") != 0)
        return 0;
    pdm_buf_init(&bytes);
    lg_fixture(strstr(path, "/fixtures/") + strlen("/fixtures/"), &bytes);
    round_trip(&bytes, path);
    pdm_buf_deinit(&bytes);
    num_files++;
    return 0;
}

START_TEST(every_fixture_survives_the_graph)
{
    char root[1024];

    snprintf(root, sizeof root, "%s/fixtures", getenv("srcdir"));
    ck_assert_int_eq(nftw(root, visit, 16, FTW_PHYS), 0);
    ck_assert_uint_gt(num_files, 1000);
}
END_TEST

static const int64_t dims[] = {2, 3};

static pdm_lg_graph *read_graph(pdm_buf *program)
{
    pdm_lg_program *read;
    pdm_lg_graph *of;
    lg_log log = {0};

    pdm_status status = lg_read(program, &log, &read);
    ck_assert_msg(status == PDM_OK, "%s", log.text.size ? log.text.data : "");
    ck_assert_int_eq(pdm_lg_graph_from_program(read, NULL, &of), PDM_OK);
    pdm_lg_program_destroy(read);
    pdm_buf_deinit(program);
    lg_log_deinit(&log);
    return of;
}

static size_t count_named(const pdm_lg_graph *of, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < of->nodes.n; i++)
        n += of->nodes.v[i] && !strcmp(of->nodes.v[i]->name, name);
    return n;
}

static bool comes_after(const pdm_lg_node *later, const pdm_lg_node *earlier)
{
    for (size_t i = 0; i < later->inputs.n; i++) {
        if (pdm_lg_is_control_var(later->inputs.v[i]) &&
            pdm_lg_nodes_has(&later->inputs.v[i]->inputs, earlier))
            return true;
    }
    return false;
}

START_TEST(definitions_and_control_dependencies)
{
    pdm_buf program = {0}, block = {0};

    put_indices(&block, 0, -1);
    put_var(&block, "x", dims, 2, false);
    put_var(&block, "y", dims, 2, false);
    put_var(&block, "unused", dims, 2, false);
    put_op(&block, "a", NULL, "x", NULL); /* 0 */
    put_op(&block, "b", "x", "y", NULL);  /* reads the first x */
    put_op(&block, "c", NULL, "x", NULL); /* overwrites it: after b */
    put_op(&block, "d", NULL, "x", NULL); /* overwrites what nothing read: after c */
    put_op(&block, "e", "x", "x", NULL);  /* in place: needs no control */
    put_message(&program, 1, &block);
    pdm_lg_graph *of = read_graph(&program);
    const pdm_lg_node *ops[5];
    size_t n = 0;
    for (size_t i = 0; i < of->nodes.n; i++) {
        if (of->nodes.v[i]->kind == PDM_LG_NODE_OP)
            ops[n++] = of->nodes.v[i];
    }
    ck_assert_uint_eq(n, 5);
    ck_assert_uint_eq(count_named(of, "x"), 4);
    ck_assert_uint_eq(count_named(of, "y"), 1);
    ck_assert_uint_eq(count_named(of, PDM_LG_CONTROL_VAR), 2);
    ck_assert(comes_after(ops[2], ops[1]));
    ck_assert(comes_after(ops[3], ops[2]));
    ck_assert_ptr_eq(ops[1]->inputs.v[0]->inputs.v[0], ops[0]);
    ck_assert_ptr_eq(ops[4]->inputs.v[0]->inputs.v[0], ops[3]);
    pdm_lg_graph_destroy(of);
}
END_TEST

START_TEST(sub_blocks_use_variables_of_the_outer_block)
{
    pdm_buf program = {0}, block = {0}, attrs = {0};

    put_indices(&block, 0, -1);
    put_var(&block, "x", dims, 2, false);
    put_var(&block, "y", dims, 2, false);
    put_var(&block, "z", dims, 2, false);
    put_op(&block, "a", NULL, "x", NULL);
    put_op(&block, "b", NULL, "y", NULL);
    put_block_attr(&attrs, "sub_block", 1);
    put_op(&block, "while", NULL, NULL, &attrs); /* slots name nothing */
    put_op(&block, "c", "y", "z", NULL);
    put_message(&program, 1, &block);
    put_indices(&block, 1, 0);
    put_var(&block, "inner", dims, 2, false);
    put_op(&block, "d", "x", "inner", NULL);
    put_op(&block, "e", "inner", "y", NULL);
    put_message(&program, 1, &block);
    pdm_lg_graph *of = read_graph(&program);
    const pdm_lg_node *loop = NULL, *reader = NULL;
    for (size_t i = 0; i < of->nodes.n; i++) {
        loop = !strcmp(of->nodes.v[i]->name, "while") ? of->nodes.v[i] : loop;
        reader = !strcmp(of->nodes.v[i]->name, "c") ? of->nodes.v[i] : reader;
    }
    ck_assert_uint_eq(loop->inputs.n, 2); /* x, and y, which may stay as it was */
    ck_assert_uint_eq(loop->outputs.n, 1);
    ck_assert_ptr_eq(reader->inputs.v[0], loop->outputs.v[0]);
    ck_assert_uint_eq(of->num_subs, 1);
    ck_assert_uint_eq(count_named(of->subs[0], "x"), 1);
    ck_assert(of->subs[0]->nodes.v[1]->outer);
    pdm_lg_graph_destroy(of);
}
END_TEST

Suite *pdm_suite_lg_graph(void)
{
    Suite *suite = suite_create("lg_graph");
    TCase *tc = tcase_create("graph");

    tcase_add_test(tc, links_stand_in_both_lists_once_and_in_order);
    tcase_add_test(tc, removal_cleans_the_lists_of_those_that_stay);
    tcase_add_test(tc, dependence_is_found);
    tcase_add_test(tc, clones_are_the_same_and_apart);
    tcase_add_test(tc, attributes);
    tcase_add_test(tc, a_cycle_is_told);
    tcase_add_test(tc, the_least_id_comes_first);
    tcase_add_test(tc, big_graphs_take_time_in_proportion);
    tcase_add_test(tc, every_fixture_survives_the_graph);
    tcase_add_test(tc, definitions_and_control_dependencies);
    tcase_add_test(tc, sub_blocks_use_variables_of_the_outer_block);
    suite_add_tcase(suite, tc);
    return suite;
}
