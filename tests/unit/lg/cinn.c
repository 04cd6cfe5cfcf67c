/* build_cinn_pass on graphs whose outcome is known, node by node. */
#include "legacy_graph/cinn_pass.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "legacy_graph/cinn_dot.h"
#include "legacy_graph/cinn_mem_opt.h"
#include "unit/lg/draft.h"
#include "unit/lg/support.h"

Suite *pdm_suite_lg_cinn(void);

static pdm_lg_cinn_table *table;
static pdm_lg_cinn_options options;
static int64_t *keys;
static size_t num_keys;
static lg_log told;

static void setup(void)
{
    ck_assert_int_eq(pdm_lg_cinn_table_create(&table), PDM_OK);
    options = (pdm_lg_cinn_options){.table = table};
    keys = NULL;
    num_keys = 0;
    lg_log_init(&told);
    draft_begin();
}

static void teardown(void)
{
    free(keys);
    draft_end();
    pdm_lg_cinn_table_destroy(table);
    lg_log_deinit(&told);
}

/* Runs the pass; both sides stand for themselves. */
static void build(size_t expected_keys)
{
    ck_assert_int_eq(pdm_lg_build_cinn(draft, &options, &told.sink, &keys, &num_keys), PDM_OK);
    ck_assert_uint_eq(num_keys, expected_keys);
    ck_assert_uint_eq(draft_count(draft, PDM_LG_CINN_LAUNCH), expected_keys);
    draft_expect_independent(draft);
    for (size_t i = 0; i < num_keys; i++) {
        const pdm_lg_graph *subgraph;
        ck_assert_int_eq(pdm_lg_cinn_table_get(table, keys[i], NULL, &subgraph), PDM_OK);
        draft_expect_independent(subgraph);
    }
}

static const pdm_lg_graph *sub(size_t i)
{
    const pdm_lg_graph *subgraph;

    ck_assert_uint_lt(i, num_keys);
    ck_assert_int_eq(pdm_lg_cinn_table_get(table, keys[i], NULL, &subgraph), PDM_OK);
    return subgraph;
}

/* The subgraph that has a node of this name. */
static const pdm_lg_graph *sub_with(const char *name)
{
    for (size_t i = 0; i < num_keys; i++) {
        if (draft_count(sub(i), name) > 0)
            return sub(i);
    }
    ck_abort_msg("no subgraph has %s", name);
    return NULL;
}

static const pdm_lg_node *launch(void)
{
    return draft_find(draft, PDM_LG_CINN_LAUNCH);
}

static const pdm_lg_mem_opt *records_of(const pdm_lg_graph *graph)
{
    return pdm_lg_graph_get(graph, PDM_LG_CINN_MEM_OPT);
}

static const char *inputs_of(const pdm_lg_graph *graph, const char *name)
{
    return draft_names(&draft_find(graph, name)->inputs);
}

static const char *outputs_of(const pdm_lg_graph *graph, const char *name)
{
    return draft_names(&draft_find(graph, name)->outputs);
}

/* ---- the six graphs of the framework's own test ---------------------------------------------- */

START_TEST(no_cinn_subgraph)
{
    pdm_lg_node *v1 = draft_var("var1"), *v2 = draft_param("var2"), *v3 = draft_var("var3"),
                *v4 = draft_var("var4"), *f1 = draft_op("fake1", "X=var1;Y=var2", "Out=var3"),
                *f2 = draft_op("fake2", "X=var3", "Out=var4");
    pdm_lg_node *const before[] = {v1, v2, v3, v4, f1, f2};

    draft_in(f1, v1, v2, NULL);
    draft_out(f1, v3, NULL);
    draft_in(f2, v3, NULL);
    draft_out(f2, v4, NULL);
    build(0);
    ck_assert_uint_eq(draft->num_nodes, 6);
    ck_assert_uint_eq(draft->nodes.n, 6);
    for (size_t i = 0; i < 6; i++)
        ck_assert_ptr_eq(draft->nodes.v[i], before[i]);
}
END_TEST

START_TEST(all_ops_support_cinn)
{
    pdm_lg_node *v0 = draft_empty("var0"), *v1 = draft_param("var1"), *v2 = draft_param("var2"),
                *v3 = draft_var("var3"), *v4 = draft_var("var4"), *v5 = draft_var("var5"),
                *v6 = draft_var("var6"), *control = draft_control(),
                *mul = draft_op("mul", "X=var1;Y=var2", "Out=var3"),
                *add = draft_op("elementwise_add", "X=var3;Y=var4", "Out=var5"),
                *relu = draft_op("relu", "X=var5", "Out=var6");

    draft_in(mul, v0, v1, v2, NULL);
    draft_out(mul, v3, NULL);
    draft_in(add, v3, v4, NULL);
    draft_out(add, v5, NULL);
    draft_in(relu, v5, NULL);
    draft_out(relu, v6, control, NULL);
    build(1);
    ck_assert_uint_eq(draft->num_nodes, 7);
    ck_assert_ptr_null(draft_find(draft, "mul"));
    ck_assert_ptr_null(draft_find(draft, "elementwise_add"));
    ck_assert_ptr_null(draft_find(draft, "relu"));
    ck_assert_ptr_null(draft_find(draft, "var3"));
    ck_assert_ptr_null(draft_find(draft, "var5"));
    ck_assert_str_eq(draft_names(&launch()->inputs), "var0 var1 var2 var4");
    ck_assert_str_eq(draft_names(&launch()->outputs), "var6 " PDM_LG_CONTROL_VAR);
    ck_assert_str_eq(draft_names(&v1->outputs), PDM_LG_CINN_LAUNCH);
    ck_assert_str_eq(draft_names(&v6->inputs), PDM_LG_CINN_LAUNCH);

    ck_assert_uint_eq(sub(0)->num_nodes, 13);
    ck_assert_uint_eq(draft_count(sub(0), "feed"), 3);
    ck_assert_uint_eq(draft_count(sub(0), "fetch"), 1);
    ck_assert_ptr_null(draft_find(sub(0), "var0"));
    ck_assert_ptr_null(draft_find(sub(0), PDM_LG_CONTROL_VAR));
    ck_assert_str_eq(inputs_of(sub(0), "var1"), "feed");
    ck_assert_str_eq(outputs_of(sub(0), "var1"), "mul");
    ck_assert_str_eq(inputs_of(sub(0), "var2"), "feed");
    ck_assert_str_eq(outputs_of(sub(0), "var2"), "mul");
    ck_assert_str_eq(inputs_of(sub(0), "var6"), "relu");
    ck_assert_str_eq(outputs_of(sub(0), "var6"), "fetch");
}
END_TEST

/* fake1 -> var1; {var2, var1} -> mul -> var3 -> relu -> var4 -> fake2 */
static void one_subgraph(void)
{
    pdm_lg_node *f1 = draft_op("fake1", NULL, "Out=var1"), *v1 = draft_var("var1"),
                *v2 = draft_param("var2"), *mul = draft_op("mul", "X=var2;Y=var1", "Out=var3"),
                *v3 = draft_var("var3"), *relu = draft_op("relu", "X=var3", "Out=var4"),
                *v4 = draft_var("var4"), *f2 = draft_op("fake2", "X=var4", NULL);

    draft_out(f1, v1, NULL);
    draft_in(mul, v2, v1, NULL);
    draft_out(mul, v3, NULL);
    draft_in(relu, v3, NULL);
    draft_out(relu, v4, NULL);
    draft_in(f2, v4, NULL);
}

START_TEST(one_cinn_subgraph)
{
    one_subgraph();
    build(1);
    ck_assert_uint_eq(draft->num_nodes, 6);
    ck_assert_ptr_nonnull(draft_find(draft, "fake1"));
    ck_assert_ptr_nonnull(draft_find(draft, "fake2"));
    ck_assert_str_eq(draft_names(&launch()->inputs), "var1 var2");
    ck_assert_str_eq(draft_names(&launch()->outputs), "var4");
    ck_assert_uint_eq(sub(0)->num_nodes, 9);
    ck_assert_uint_eq(draft_count(sub(0), "feed"), 2);
    ck_assert_uint_eq(draft_count(sub(0), "fetch"), 1);
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INPUT_VARS), "var1 var2");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INTERNAL_VARS), "var3");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_OUTPUT_VARS), "var4");
    ck_assert_uint_eq(records_of(sub(0))->names->n, 0);
    ck_assert_ptr_null(draft_list(sub(0), PDM_LG_SKIP_GC_VARS));
}
END_TEST

START_TEST(multi_cinn_subgraph)
{
    pdm_lg_node *f1 = draft_op("fake1", NULL, "Out=var1"), *v1 = draft_var("var1"),
                *v2 = draft_param("var2"), *mul = draft_op("mul", "X=var2;Y=var1", "Out=var3"),
                *v3 = draft_var("var3"), *f2 = draft_op("fake2", "X=var3", "Out=var4"),
                *v4 = draft_var("var4"), *relu = draft_op("relu", "X=var4", "Out=var5"),
                *v5 = draft_var("var5"), *f3 = draft_op("fake3", "X=var5", NULL);

    draft_out(f1, v1, NULL);
    draft_in(mul, v2, v1, NULL);
    draft_out(mul, v3, NULL);
    draft_in(f2, v3, NULL);
    draft_out(f2, v4, NULL);
    draft_in(relu, v4, NULL);
    draft_out(relu, v5, NULL);
    draft_in(f3, v5, NULL);
    build(2);
    ck_assert_uint_eq(draft->num_nodes, 10);
    ck_assert_int_ne(keys[0], keys[1]);
    ck_assert_uint_eq(sub_with("relu")->num_nodes, 5);
    ck_assert_str_eq(inputs_of(sub_with("relu"), "var4"), "feed");
    ck_assert_str_eq(outputs_of(sub_with("relu"), "var5"), "fetch");
    ck_assert_uint_eq(sub_with("mul")->num_nodes, 7);
    ck_assert_uint_eq(draft_count(sub_with("mul"), "feed"), 2);
    ck_assert_str_eq(outputs_of(draft, "var3"), "fake2");
}
END_TEST

START_TEST(no_need_buffer_input)
{
    pdm_lg_node *f1 = draft_op("fake1", NULL, "Out=var1"), *v1 = draft_var("var1"),
                *v2 = draft_var("var2"), *v3 = draft_var("var3"), *v4 = draft_var("var4"),
                *v5 = draft_var("var5"), *v6 = draft_var("var6"),
                *grad = draft_op("elementwise_add_grad", "Out@GRAD=var1;X=var2;Y=var3",
                                 "X@GRAD=var4;Y@GRAD=var5"),
                *relu = draft_op("relu_grad", "Out@GRAD=var4", "X@GRAD=var6"),
                *f2 = draft_op("fake2", "X=var5", NULL);

    draft_out(f1, v1, NULL);
    draft_in(grad, v1, v2, v3, NULL);
    draft_out(grad, v4, v5, NULL);
    draft_in(relu, v4, NULL);
    draft_out(relu, v6, NULL);
    draft_in(f2, v5, NULL);
    build(1);
    ck_assert_uint_eq(draft->num_nodes, 8);
    ck_assert_str_eq(draft_args(pdm_lg_find_input(launch()->op, "X")), "var1");
    ck_assert_str_eq(draft_args(pdm_lg_find_input(launch()->op, "NoNeedBufferX")), "var2 var3");
    ck_assert_str_eq(draft_args(pdm_lg_find_output(launch()->op, "Out")), "var5 var6");
    ck_assert_uint_eq(sub(0)->num_nodes, 13);
    ck_assert_uint_eq(draft_count(sub(0), "feed"), 3);
    ck_assert_uint_eq(draft_count(sub(0), "fetch"), 2);
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_NO_NEED_BUFFER), "var2 var3");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INPUT_VARS), "var1");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INTERNAL_VARS), "var4");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_OUTPUT_VARS), "var5 var6");
}
END_TEST

START_TEST(skip_gc_vars)
{
    one_subgraph();
    draft_skip_gc("var1;var3");
    build(1);
    ck_assert_uint_eq(draft->num_nodes, 7);
    ck_assert_str_eq(inputs_of(draft, "var3"), PDM_LG_CINN_LAUNCH);
    ck_assert_uint_eq(sub(0)->num_nodes, 10);
    ck_assert_uint_eq(draft_count(sub(0), "feed"), 2);
    ck_assert_uint_eq(draft_count(sub(0), "fetch"), 2);
    ck_assert_str_eq(outputs_of(sub(0), "var1"), "mul");
    ck_assert_str_eq(outputs_of(sub(0), "var3"), "relu fetch");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_OUTPUT_VARS), "var3 var4");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_SKIP_GC_VARS), "var1 var3");
}
END_TEST

/* ---- eligibility ----------------------------------------------------------------------------- */

/* x -> type -> y */
static pdm_lg_node *single(const char *type, const char *inputs, const pdm_lg_attr *attrs, size_t n)
{
    pdm_lg_node *x = draft_var("x"), *y = draft_var("y"),
                *op = draft_op_with(type, inputs, "Out=y", -1, attrs, n);

    draft_in(op, x, NULL);
    draft_out(op, y, NULL);
    return op;
}

START_TEST(a_single_op_is_a_cluster)
{
    single("relu", "X=x", NULL, 0);
    build(1);
    ck_assert_uint_eq(sub(0)->num_nodes, 5);
}
END_TEST

START_TEST(denied_reserve_space)
{
    pdm_lg_node *x = draft_var("x"), *y = draft_var("y"), *reserve = draft_var("reserve"),
                *norm = draft_op("batch_norm", "X=x", "ReserveSpace=reserve;Y=y"),
                *z = draft_var("z"), *relu = draft_op("relu", "X=y", "Out=z");

    draft_in(norm, x, NULL);
    draft_out(norm, reserve, y, NULL);
    draft_in(relu, y, NULL);
    draft_out(relu, z, NULL);
    build(1);
    ck_assert_uint_eq(reserve->inputs.n, 0); /* stays, linked to nothing */
    ck_assert_ptr_eq(draft_find(draft, "reserve"), reserve);
    ck_assert_ptr_null(draft_find(sub(0), "reserve"));
    ck_assert_ptr_null(pdm_lg_find_output(draft_find(sub(0), "batch_norm")->op, "ReserveSpace"));
    ck_assert_str_eq(draft_args(pdm_lg_find_output(launch()->op, "Out")), "z");
}
END_TEST

START_TEST(denied_slots_need_a_description)
{
    pdm_lg_node *node;

    ck_assert_int_eq(pdm_lg_graph_add_named(draft, PDM_LG_NODE_OP, "batch_norm", &node), PDM_OK);
    ck_assert_int_eq(pdm_lg_build_cinn(draft, &options, &told.sink, &keys, &num_keys),
                     PDM_INVALID_MODEL);
    lg_expect(&told, "the node of 'batch_norm' has no description");
}
END_TEST

START_TEST(allow_beats_deny)
{
    one_subgraph();
    options.allow = ";;relu;";
    options.deny = "relu;mul";
    build(1);
    ck_assert_ptr_nonnull(draft_find(draft, "mul"));
    ck_assert_ptr_nonnull(draft_find(sub(0), "relu"));
}
END_TEST

START_TEST(denied_types_stay)
{
    one_subgraph();
    options.deny = "relu";
    build(1);
    ck_assert_ptr_nonnull(draft_find(draft, "relu"));
    ck_assert_ptr_nonnull(draft_find(sub(0), "mul"));
}
END_TEST

START_TEST(allowed_types_need_a_mapper)
{
    one_subgraph();
    options.allow = "fake1;feed;fetch";
    build(0);
}
END_TEST

START_TEST(dynamic_uses_stay)
{
    static const int32_t flags[][2] = {{1, 1}, {1, -1}};
    static const struct {
        const char *type, *inputs;
        size_t clusters;
    } rows[] = {
        {"reshape2", "X=x", 1},          {"reshape2", "Shape=x;X=x", 0},
        {"reshape2", "ShapeTensor=x;X=x", 0}, {"reshape", "Shape=x;X=x", 0},
        {"reshape2", "Shape=;X=x", 1},   {"expand", "ExpandTimes=x;X=x", 0},
        {"expand", "expand_times_tensor=x;X=x", 0}, {"expand_v2", "Shape=x;X=x", 0},
        {"expand_v2", "expand_shapes_tensor=x;X=x", 0}, {"expand_v2", "X=x", 1},
    };

    for (size_t i = 0; i < 2; i++) {
        const pdm_lg_attr attr = {
            .name = "infer_flags", .type = PDM_LG_INTS, .count = 2, .u.ints = flags[i]};
        single("slice", "Input=x", &attr, 1);
        build(i == 0 ? 1 : 0);
        teardown();
        setup();
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        single(rows[i].type, rows[i].inputs, NULL, 0);
        build(rows[i].clusters);
        teardown();
        setup();
    }
}
END_TEST

/* x -> relu in place -> x' -> tanh -> y */
static void inplace_graph(void)
{
    pdm_lg_node *x0 = draft_var("x"), *x1 = draft_var("x"), *y = draft_var("y"),
                *relu = draft_op("relu", "X=x", "Out=x"), *tanh = draft_op("tanh", "X=x", "Out=y");

    draft_in(relu, x0, NULL);
    draft_out(relu, x1, NULL);
    draft_in(tanh, x1, NULL);
    draft_out(tanh, y, NULL);
}

START_TEST(in_place_ops_stay)
{
    inplace_graph();
    build(1);
    ck_assert_ptr_nonnull(draft_find(draft, "relu"));
    ck_assert(!pdm_lg_graph_has(sub(0), PDM_LG_CINN_INPLACE_VARS));
}
END_TEST

START_TEST(in_place_ops_may_be_allowed)
{
    inplace_graph();
    options.allow_inplace = true;
    build(1);
    ck_assert_ptr_null(draft_find(draft, "relu"));
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INPLACE_VARS), "x");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INPUT_VARS), "x");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INTERNAL_VARS), "x");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_OUTPUT_VARS), "y");
}
END_TEST

/* ---- clusters -------------------------------------------------------------------------------- */

/* a -> relu -> b; b -> side -> c; b -> tanh -> d; {c, d} -> elementwise_add -> e */
static void diamond(const char *side)
{
    pdm_lg_node *a = draft_var("a"), *b = draft_var("b"), *c = draft_var("c"), *d = draft_var("d"),
                *e = draft_var("e"), *relu = draft_op("relu", "X=a", "Out=b"),
                *left = draft_op(side, "X=b", "Out=c"), *right = draft_op("tanh", "X=b", "Out=d"),
                *add = draft_op("elementwise_add", "X=c;Y=d", "Out=e");

    draft_in(relu, a, NULL);
    draft_out(relu, b, NULL);
    draft_in(left, b, NULL);
    draft_out(left, c, NULL);
    draft_in(right, b, NULL);
    draft_out(right, d, NULL);
    draft_in(add, c, d, NULL);
    draft_out(add, e, NULL);
}

static void expect_acyclic(void)
{
    pdm_lg_nodes order;

    ck_assert_int_eq(pdm_lg_graph_order(draft, NULL, NULL, &order), PDM_OK);
    free(order.v);
}

START_TEST(a_diamond_with_an_unsupported_side_makes_no_cycle)
{
    diamond("fake1");
    build(2);
    expect_acyclic();
    /* tanh may be on either side, but relu and the sum are apart. */
    ck_assert_ptr_ne(sub_with("relu"), sub_with("elementwise_add"));
}
END_TEST

START_TEST(a_supported_diamond_is_one_cluster)
{
    diamond("exp");
    build(1);
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INTERNAL_VARS), "b c d");
}
END_TEST

START_TEST(siblings_of_one_producer_are_together)
{
    pdm_lg_node *a = draft_var("a"), *b = draft_var("b"), *c = draft_var("c"), *d = draft_var("d"),
                *relu = draft_op("relu", "X=a", "Out=b"), *left = draft_op("exp", "X=b", "Out=c"),
                *right = draft_op("tanh", "X=b", "Out=d");

    draft_in(relu, a, NULL);
    draft_out(relu, b, NULL);
    draft_in(left, b, NULL);
    draft_out(left, c, NULL);
    draft_in(right, b, NULL);
    draft_out(right, d, NULL);
    build(1);
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_OUTPUT_VARS), "c d");
}
END_TEST

START_TEST(ops_that_share_an_input_only_are_apart)
{
    pdm_lg_node *a = draft_var("a"), *b = draft_var("b"), *c = draft_var("c"),
                *left = draft_op("exp", "X=a", "Out=b"), *right = draft_op("tanh", "X=a", "Out=c");

    draft_in(left, a, NULL);
    draft_out(left, b, NULL);
    draft_in(right, a, NULL);
    draft_out(right, c, NULL);
    build(2);
}
END_TEST

START_TEST(an_output_read_inside_and_outside)
{
    one_subgraph();
    pdm_lg_node *v3 = draft_find(draft, "var3"), *f3 = draft_op("fake3", "X=var3", NULL);

    draft_in(f3, v3, NULL);
    build(1);
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_OUTPUT_VARS), "var3 var4");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INTERNAL_VARS), "");
    ck_assert_str_eq(outputs_of(sub(0), "var3"), "relu fetch");
    ck_assert_str_eq(draft_names(&v3->outputs), "fake3");
}
END_TEST

START_TEST(a_control_dependency_inside_is_dropped)
{
    pdm_lg_node *a = draft_var("a"), *b = draft_var("b"), *c = draft_var("c"),
                *control = draft_control(), *relu = draft_op("relu", "X=a", "Out=b"),
                *tanh = draft_op("tanh", "X=b", "Out=c");

    draft_in(relu, a, NULL);
    draft_out(relu, b, control, NULL);
    draft_in(tanh, b, control, NULL);
    draft_out(tanh, c, NULL);
    build(1);
    ck_assert_ptr_null(draft_find(draft, PDM_LG_CONTROL_VAR));
    ck_assert_ptr_null(draft_find(sub(0), PDM_LG_CONTROL_VAR));
    ck_assert_uint_eq(sub(0)->num_nodes, 7);
}
END_TEST

START_TEST(a_control_dependency_outside_keeps_clusters_apart)
{
    /* relu -> control -> fake1 -> control -> tanh, and relu -> b -> tanh */
    pdm_lg_node *a = draft_var("a"), *b = draft_var("b"), *c = draft_var("c"),
                *first = draft_control(), *second = draft_control(),
                *relu = draft_op("relu", "X=a", "Out=b"), *fake = draft_op("fake1", NULL, NULL),
                *tanh = draft_op("tanh", "X=b", "Out=c");

    draft_in(relu, a, NULL);
    draft_out(relu, b, first, NULL);
    draft_in(fake, first, NULL);
    draft_out(fake, second, NULL);
    draft_in(tanh, b, second, NULL);
    draft_out(tanh, c, NULL);
    build(2);
    expect_acyclic();
}
END_TEST

START_TEST(an_ordinary_reader_needs_the_buffer)
{
    pdm_lg_node *g = draft_var("g"), *x = draft_var("x"), *y = draft_var("y"), *dx = draft_var("dx"),
                *z = draft_var("z"),
                *grad = draft_op("elementwise_add_grad", "Out@GRAD=g;X=x;Y=y", "X@GRAD=dx"),
                *fake = draft_op("fake1", "X=x", "Out=z");

    draft_in(grad, g, x, y, NULL);
    draft_out(grad, dx, NULL);
    draft_in(fake, x, NULL);
    draft_out(fake, z, NULL);
    build(1);
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_NO_NEED_BUFFER), "y");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INPUT_VARS), "g x");
}
END_TEST

START_TEST(a_slot_that_needs_the_data_counts)
{
    /* x stands in a slot of either kind. */
    pdm_lg_node *x = draft_var("x"), *y = draft_var("y"), *dx = draft_var("dx"),
                *grad = draft_op("elementwise_add_grad", "Out@GRAD=x;X=x;Y=y", "X@GRAD=dx");

    draft_in(grad, x, y, NULL);
    draft_out(grad, dx, NULL);
    build(1);
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_NO_NEED_BUFFER), "y");
}
END_TEST

START_TEST(roles)
{
    static const struct {
        int first, second, expected;
    } rows[] = {{1, 1, 1}, {0, 1, PDM_LG_ROLE_NOT_SPECIFIED}, {-1, 2, 2},
                {-1, -1, PDM_LG_ROLE_NOT_SPECIFIED}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pdm_lg_node *a = draft_var("a"), *b = draft_var("b"), *c = draft_var("c"),
                    *relu = draft_op_with("relu", "X=a", "Out=b", rows[i].first, NULL, 0),
                    *tanh = draft_op_with("tanh", "X=b", "Out=c", rows[i].second, NULL, 0);
        draft_in(relu, a, NULL);
        draft_out(relu, b, NULL);
        draft_in(tanh, b, NULL);
        draft_out(tanh, c, NULL);
        build(1);
        ck_assert_int_eq(pdm_lg_find_attr(launch()->op, PDM_LG_OP_ROLE)->u.i, rows[i].expected);
        ck_assert_int_eq(pdm_lg_find_attr(launch()->op, PDM_LG_CINN_KEY)->u.l, keys[0]);
        teardown();
        setup();
    }
}
END_TEST

START_TEST(inference_drops_what_nothing_reads)
{
    pdm_lg_node *x = draft_var("x"), *y = draft_var("y"), *shape = draft_var("shape"),
                *kept = draft_var("kept"), *statistics = draft_param("statistics"),
                *op = draft_op("reshape2", "X=x", "Out=y;XShape=shape,kept,statistics"),
                *fake = draft_op("fake1", "X=y", NULL);

    draft_in(op, x, NULL);
    draft_out(op, y, shape, kept, statistics, NULL);
    draft_in(fake, y, NULL);
    draft_skip_gc("kept");
    options.inference_stage = true;
    build(1);
    ck_assert_ptr_null(draft_find(draft, "shape"));
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_OUTPUT_VARS), "y kept statistics");
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_INTERNAL_VARS), "shape");
}
END_TEST

/* ---- one value of a name --------------------------------------------------------------------- */

START_TEST(two_values_of_a_name_do_not_leave_one_cluster)
{
    /* relu writes x, fake1 reads it; then exp writes x again, which fake2 reads. */
    pdm_lg_node *a = draft_var("a"), *b = draft_var("b"), *x0 = draft_var("x"), *x1 = draft_var("x"),
                *control = draft_control(), *tanh = draft_op("tanh", "X=a", "Out=b"),
                *relu = draft_op("relu", "X=b", "Out=x"), *f1 = draft_op("fake1", "X=x", NULL),
                *exp = draft_op("exp", "X=b", "Out=x"), *f2 = draft_op("fake2", "X=x", NULL);

    draft_in(tanh, a, NULL);
    draft_out(tanh, b, NULL);
    draft_in(relu, b, NULL);
    draft_out(relu, x0, NULL);
    draft_in(f1, x0, NULL);
    draft_out(f1, control, NULL);
    draft_in(exp, b, control, NULL);
    draft_out(exp, x1, NULL);
    draft_in(f2, x1, NULL);
    build(2);
    ck_assert_ptr_ne(sub_with("relu"), sub_with("exp"));
    expect_acyclic();
}
END_TEST

START_TEST(a_value_that_is_overwritten_inside_stays_inside)
{
    /* Without fake1 the first x is internal: one cluster, whose order is that of the ids. */
    pdm_lg_node *a = draft_var("a"), *x0 = draft_var("x"), *y = draft_var("y"), *x1 = draft_var("x"),
                *control = draft_control(), *relu = draft_op("relu", "X=a", "Out=x"),
                *tanh = draft_op("tanh", "X=x", "Out=y"), *exp = draft_op("exp", "X=a", "Out=x"),
                *f2 = draft_op("fake2", "X=x,y", NULL);

    draft_in(relu, a, NULL);
    draft_out(relu, x0, NULL);
    draft_in(tanh, x0, NULL);
    draft_out(tanh, y, control, NULL);
    draft_in(exp, a, control, NULL);
    draft_out(exp, x1, NULL);
    draft_in(f2, x1, y, NULL);
    build(1);
    ck_assert_str_eq(draft_list(sub(0), PDM_LG_CINN_OUTPUT_VARS), "y x");
    pdm_lg_program *program;
    ck_assert_int_eq(pdm_lg_graph_to_program(sub(0), NULL, &program), PDM_OK);
    ck_assert_str_eq(program->blocks[0].ops[1].type, "relu");
    ck_assert_str_eq(program->blocks[0].ops[2].type, "tanh");
    ck_assert_str_eq(program->blocks[0].ops[3].type, "exp");
    pdm_lg_program_destroy(program);
}
END_TEST

START_TEST(two_values_of_a_name_do_not_enter_one_cluster)
{
    pdm_lg_node *x0 = draft_var("x"), *x1 = draft_var("x"), *a = draft_var("a"), *b = draft_var("b"),
                *control = draft_control(), *relu = draft_op("relu", "X=x", "Out=a"),
                *fake = draft_op("fake1", NULL, "Out=x"),
                *add = draft_op("elementwise_add", "X=a;Y=x", "Out=b");

    /* The overwriting op waits for something else, so that no path leads through it. */
    draft_in(relu, x0, NULL);
    draft_out(relu, a, NULL);
    draft_in(fake, control, NULL);
    draft_out(fake, x1, NULL);
    draft_in(add, a, x1, NULL);
    draft_out(add, b, NULL);
    build(1);
    ck_assert_ptr_nonnull(draft_find(draft, "elementwise_add"));
    ck_assert_ptr_nonnull(draft_find(sub(0), "relu"));
}
END_TEST

/* One variable that very many ops read, each a cluster of its own. */
static double fan_out_seconds(int readers)
{
    const clock_t begin = clock();
    char in[] = "X=x", out[32], name[16];
    pdm_lg_node *x = draft_var("x");

    for (int i = 0; i < readers; i++) {
        snprintf(name, sizeof name, "y%d", i);
        snprintf(out, sizeof out, "Out=%s", name);
        pdm_lg_node *op = draft_op("relu", in, out);
        draft_in(op, x, NULL);
        draft_out(op, draft_var(name), NULL);
    }
    build((size_t)readers);
    return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

START_TEST(a_huge_fan_out_takes_time_in_proportion)
{
    const double small = fan_out_seconds(1000);
    teardown();
    setup();
    const double big = fan_out_seconds(10000);
    ck_assert_msg(big < 60 * small + 0.5, "1000 readers: %.3f s, 10000: %.3f s", small, big);
}
END_TEST

/* ---- memory-optimisation records ------------------------------------------------------------- */

/* x, y, w -> relu6 is two subgraphs and an op between them; z is kept, u read twice, p persistable. */
START_TEST(records_move_to_the_launch_that_frees)
{
    pdm_lg_node *x = draft_var("x"), *p = draft_param("p"), *u = draft_var("u"), *y = draft_var("y"),
                *z = draft_var("z"), *v = draft_var("v"), *w = draft_var("w");
    pdm_lg_node *add = draft_op("elementwise_add", "X=x;Y=p", "Out=y"),
                *fake = draft_op("fake1", "X=y,u", "Out=z"),
                *mul = draft_op("mul", "X=z;Y=u", "Out=v"), *last = draft_op("fake2", "X=v", "Out=w");
    const pdm_lg_mem_opt *left;

    draft_in(add, x, p, NULL);
    draft_out(add, y, NULL);
    draft_in(fake, y, u, NULL);
    draft_out(fake, z, NULL);
    draft_in(mul, z, u, NULL);
    draft_out(mul, v, NULL);
    draft_in(last, v, NULL);
    draft_out(last, w, NULL);
    draft_skip_gc("z");
    build(2);
    const int64_t before[] = {keys[0], keys[1]};
    ck_assert_int_eq(pdm_lg_cinn_share_mem_opt(draft, table, NULL, keys, num_keys), PDM_OK);
    ck_assert_int_eq(keys[0], before[0]); /* the graph has no records */
    ck_assert_int_eq(pdm_lg_mem_opt_find(draft), PDM_OK);
    left = pdm_lg_graph_get(draft, PDM_LG_MEM_OPT_VARS);
    ck_assert_uint_eq(pdm_lg_mem_opt_count(left, "x"), 1);
    ck_assert_uint_eq(pdm_lg_mem_opt_count(left, "u"), 2);
    ck_assert_uint_eq(pdm_lg_mem_opt_count(left, "p"), 0);
    ck_assert_uint_eq(pdm_lg_mem_opt_count(left, "z"), 0);
    ck_assert_int_eq(pdm_lg_cinn_share_mem_opt(draft, table, NULL, keys, num_keys), PDM_OK);
    ck_assert_int_ne(keys[0], before[0]);
    ck_assert_int_eq(keys[1], before[1]); /* z is kept, and u waits for another op, too */
    ck_assert_uint_eq(pdm_lg_cinn_table_holders(table, before[0]), 0);
    ck_assert_uint_eq(pdm_lg_mem_opt_count(records_of(sub(0)), "x"), 1);
    ck_assert_uint_eq(records_of(sub(0))->names->n, 1);
    ck_assert_uint_eq(records_of(sub(1))->names->n, 0);
    left = pdm_lg_graph_get(draft, PDM_LG_MEM_OPT_VARS);
    ck_assert_uint_eq(pdm_lg_mem_opt_count(left, "x"), 0);
    ck_assert_uint_eq(pdm_lg_mem_opt_count(left, "y"), 1);
    ck_assert_uint_eq(left->names->n, 4); /* y, u, v, w */
    size_t named = 0;
    for (size_t i = 0; i < draft->nodes.n; i++) {
        const pdm_lg_node *node = draft->nodes.v[i];
        if (node && !strcmp(node->name, PDM_LG_CINN_LAUNCH))
            named += pdm_lg_find_attr(node->op, PDM_LG_CINN_KEY)->u.l == keys[named];
    }
    ck_assert_uint_eq(named, 2);
}
END_TEST

/* ---- where subgraphs are --------------------------------------------------------------------- */

START_TEST(the_table_of_the_process)
{
    options.table = NULL;
    one_subgraph();
    ck_assert_int_eq(pdm_lg_build_cinn(draft, &options, NULL, &keys, &num_keys), PDM_OK);
    ck_assert_uint_eq(num_keys, 1);
    ck_assert_uint_eq(pdm_lg_cinn_table_holders(pdm_lg_cinn_table_shared(), keys[0]), 1);
    pdm_lg_cinn_table_release(pdm_lg_cinn_table_shared(), keys[0]);
}
END_TEST

/* A program may have such ops already: they are drawn as any other, not as the box of a subgraph. */
START_TEST(launches_that_came_with_the_program_are_plain_ops)
{
    pdm_lg_node *x = draft_var("x"), *y = draft_var("y"), *z = draft_var("z"),
                *old = draft_op(PDM_LG_CINN_LAUNCH, "X=x", "Out=y"),
                *relu = draft_op("relu", "X=y", "Out=z");
    pdm_buf text;

    draft_in(old, x, NULL);
    draft_out(old, y, NULL);
    draft_in(relu, y, NULL);
    draft_out(relu, z, NULL);
    ck_assert_int_eq(pdm_lg_build_cinn(draft, &options, &told.sink, &keys, &num_keys), PDM_OK);
    ck_assert_uint_eq(num_keys, 1);
    pdm_buf_init(&text);
    ck_assert_int_eq(pdm_lg_cinn_dot(draft, table, keys, num_keys, &text), PDM_OK);
    ck_assert(pdm_buf_ok(&text));
    ck_assert_ptr_nonnull(strstr(text.data, "label=\"cinn_launch\""));
    ck_assert_ptr_nonnull(strstr(text.data, "label=\"relu\""));
    ck_assert_ptr_null(strstr(text.data, "cluster_1"));
    pdm_buf_deinit(&text);
}
END_TEST

Suite *pdm_suite_lg_cinn(void)
{
    Suite *suite = suite_create("lg_cinn");
    TCase *tc = tcase_create("cinn");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, no_cinn_subgraph);
    tcase_add_test(tc, all_ops_support_cinn);
    tcase_add_test(tc, one_cinn_subgraph);
    tcase_add_test(tc, multi_cinn_subgraph);
    tcase_add_test(tc, no_need_buffer_input);
    tcase_add_test(tc, skip_gc_vars);
    tcase_add_test(tc, a_single_op_is_a_cluster);
    tcase_add_test(tc, denied_reserve_space);
    tcase_add_test(tc, denied_slots_need_a_description);
    tcase_add_test(tc, allow_beats_deny);
    tcase_add_test(tc, denied_types_stay);
    tcase_add_test(tc, allowed_types_need_a_mapper);
    tcase_add_test(tc, dynamic_uses_stay);
    tcase_add_test(tc, in_place_ops_stay);
    tcase_add_test(tc, in_place_ops_may_be_allowed);
    tcase_add_test(tc, a_diamond_with_an_unsupported_side_makes_no_cycle);
    tcase_add_test(tc, a_supported_diamond_is_one_cluster);
    tcase_add_test(tc, siblings_of_one_producer_are_together);
    tcase_add_test(tc, ops_that_share_an_input_only_are_apart);
    tcase_add_test(tc, an_output_read_inside_and_outside);
    tcase_add_test(tc, a_control_dependency_inside_is_dropped);
    tcase_add_test(tc, a_control_dependency_outside_keeps_clusters_apart);
    tcase_add_test(tc, an_ordinary_reader_needs_the_buffer);
    tcase_add_test(tc, a_slot_that_needs_the_data_counts);
    tcase_add_test(tc, roles);
    tcase_add_test(tc, inference_drops_what_nothing_reads);
    tcase_add_test(tc, two_values_of_a_name_do_not_leave_one_cluster);
    tcase_add_test(tc, a_value_that_is_overwritten_inside_stays_inside);
    tcase_add_test(tc, two_values_of_a_name_do_not_enter_one_cluster);
    tcase_add_test(tc, a_huge_fan_out_takes_time_in_proportion);
    tcase_add_test(tc, records_move_to_the_launch_that_frees);
    tcase_add_test(tc, the_table_of_the_process);
    tcase_add_test(tc, launches_that_came_with_the_program_are_plain_ops);
    suite_add_tcase(suite, tc);
    return suite;
}
