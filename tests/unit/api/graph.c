/* Graphs of legacy models through the public functions: subgraphs, launches, extraction. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/launch.h"
#include "api/run.h"
#include "base/vec.h"
#include "legacy_graph/cinn_pass.h"
#include "unit/api/support.h"

Suite *pdm_suite_api_graph(void);

static heard h;
static pdm_context *context;
static pdm_model *model;
static pdm_graph *graph;

static void load(const char *name, const pdm_graph_options *options)
{
    context = api_context(&h);
    ck_assert_int_eq(pdm_model_load(context, api_fixture(name), NULL, &model), PDM_OK);
    ck_assert_int_eq(pdm_graph_create(model, options, &graph), PDM_OK);
}

static void unload(void)
{
    pdm_graph_destroy(graph);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
    ck_assert_uint_eq(pdm_lg_cinn_table_size(pdm_lg_cinn_table_shared()), 0);
}

START_TEST(subgraphs_are_described)
{
    pdm_subgraph_info info;
    char *dot;

    load("cases/op_net__lenet", NULL);
    ck_assert_uint_eq(pdm_graph_num_subgraphs(graph), 1);
    ck_assert_uint_eq(pdm_graph_num_ops_before(graph), 14);
    ck_assert_int_eq(pdm_graph_subgraph(graph, 0, &info), PDM_OK);
    ck_assert_uint_eq(info.num_ops, 12);
    ck_assert_str_eq(info.ops[0], "conv2d");
    ck_assert_str_eq(info.inputs[0], "x");
    ck_assert_uint_eq(info.num_inputs, 7);
    ck_assert_uint_eq(info.num_shape_inputs, 0);
    ck_assert_uint_eq(info.num_outputs, 1);
    ck_assert_int_eq(pdm_graph_subgraph(graph, 1, &info), PDM_INVALID_ARG);
    ck_assert_int_eq(pdm_graph_dot(graph, &dot), PDM_OK);
    ck_assert_ptr_nonnull(strstr(dot, "subgraph cluster_0"));
    pdm_free(dot);
    unload();
}
END_TEST

START_TEST(only_legacy_models_have_graphs)
{
    context = api_context(&h);
    ck_assert_int_eq(pdm_model_load(context, api_fixture("samples/conv_bn.json"), NULL, &model),
                     PDM_OK);
    ck_assert_int_eq(pdm_graph_create(model, NULL, &graph), PDM_INVALID_ARG);
    ck_assert_str_eq(h.last_id, "usage");
    graph = NULL;
    unload();
}
END_TEST

static void run_both(const pdm_model *one, const pdm_model *other, const char *io)
{
    pdm_bundle *inputs, *a, *b;

    ck_assert_int_eq(pdm_bundle_read(context, api_fixture(io), &inputs), PDM_OK);
    ck_assert_int_eq(pdm_bundle_create(context, &a), PDM_OK);
    ck_assert_int_eq(pdm_bundle_create(context, &b), PDM_OK);
    ck_assert_int_eq(pdm_model_run_legacy(one, NULL, inputs, a), PDM_OK);
    ck_assert_int_eq(pdm_model_run_legacy(other, NULL, inputs, b), PDM_OK);
    ck_assert_uint_eq(pdm_bundle_count(a), pdm_bundle_count(b));
    for (size_t i = 0; i < pdm_bundle_count(a); i++) {
        pdm_tensor_view x, y;
        ck_assert_int_eq(pdm_bundle_get(a, i, &x), PDM_OK);
        ck_assert_int_eq(pdm_bundle_get(b, i, &y), PDM_OK);
        ck_assert_uint_eq(x.bytes, y.bytes);
        ck_assert_mem_eq(x.data, y.data, x.bytes);
    }
    pdm_bundle_destroy(inputs);
    pdm_bundle_destroy(a);
    pdm_bundle_destroy(b);
}

START_TEST(launches_give_the_same_and_outlive_the_graph)
{
    pdm_model *after;

    load("cases/op_net__transformer_layer", NULL);
    ck_assert_int_eq(pdm_graph_model(graph, model, &after), PDM_OK);
    pdm_graph_destroy(graph);
    graph = NULL;
    run_both(model, after, "cases/op_net__transformer_layer/io.npz");
    pdm_model_destroy(after);
    unload();
}
END_TEST

START_TEST(launches_can_be_compiled)
{
    pdm_legacy_run_options how = {.size = sizeof how, .compiler = PDM_COMPILER_REFERENCE};
    pdm_model *after;
    pdm_bundle *inputs, *plain, *compiled;

    load("cases/op_net__transformer_layer", NULL);
    ck_assert_int_eq(pdm_graph_model(graph, model, &after), PDM_OK);
    ck_assert_int_eq(
        pdm_bundle_read(context, api_fixture("cases/op_net__transformer_layer/io.npz"), &inputs), PDM_OK);
    ck_assert_int_eq(pdm_bundle_create(context, &plain), PDM_OK);
    ck_assert_int_eq(pdm_bundle_create(context, &compiled), PDM_OK);
    ck_assert_int_eq(pdm_model_run_legacy(after, NULL, inputs, plain), PDM_OK);
    ck_assert_int_eq(pdm_model_run_legacy(after, &how, inputs, compiled), PDM_OK);
    ck_assert_uint_eq(pdm_bundle_count(plain), pdm_bundle_count(compiled));
    for (size_t i = 0; i < pdm_bundle_count(plain); i++) {
        pdm_tensor_view x, y;
        ck_assert_int_eq(pdm_bundle_get(plain, i, &x), PDM_OK);
        ck_assert_int_eq(pdm_bundle_get(compiled, i, &y), PDM_OK);
        ck_assert_uint_eq(x.bytes, y.bytes);
        for (size_t k = 0; k < x.bytes / sizeof(float); k++)
            ck_assert_float_eq_tol(((const float *)x.data)[k], ((const float *)y.data)[k], 1e-5F);
    }
    how.compiler = PDM_COMPILER_CUDA + 1;
    ck_assert_int_eq(pdm_model_run_legacy(after, &how, inputs, compiled), PDM_INVALID_ARG);
    pdm_bundle_destroy(inputs);
    pdm_bundle_destroy(plain);
    pdm_bundle_destroy(compiled);
    pdm_model_destroy(after);
    unload();
}
END_TEST

START_TEST(a_key_that_is_gone_is_told)
{
    pdm_model *after;
    pdm_bundle *inputs, *outputs;

    load("cases/op_net__lenet", NULL);
    ck_assert_int_eq(pdm_graph_model(graph, model, &after), PDM_OK);
    for (size_t i = 0; i < after->num_launch_keys; i++)
        pdm_lg_cinn_table_release(pdm_lg_cinn_table_shared(), after->launch_keys[i]);
    after->num_launch_keys = 0;
    pdm_graph_destroy(graph);
    graph = NULL;
    ck_assert_int_eq(
        pdm_bundle_read(context, api_fixture("cases/op_net__lenet/io.npz"), &inputs), PDM_OK);
    ck_assert_int_eq(pdm_bundle_create(context, &outputs), PDM_OK);
    ck_assert_int_eq(pdm_model_run_legacy(after, NULL, inputs, outputs), PDM_INVALID_MODEL);
    ck_assert_uint_eq(h.errors, 2); /* the key, and the op that has it */
    pdm_bundle_destroy(inputs);
    pdm_bundle_destroy(outputs);
    pdm_model_destroy(after);
    unload();
}
END_TEST

START_TEST(extracted_models_convert)
{
    pdm_model *part, *pir, *again;

    api_folder_setup();
    load("cases/op_net__transformer_layer", NULL);
    for (size_t i = 0; i < pdm_graph_num_subgraphs(graph); i++) {
        ck_assert_int_eq(pdm_graph_extract(graph, model, i, &part), PDM_OK);
        ck_assert_int_eq(pdm_model_convert(part, NULL, &pir), PDM_OK);
        pdm_model_destroy(pir);
        ck_assert_int_eq(pdm_model_write(part, api_out("part.json"), NULL), PDM_INVALID_ARG);
        ck_assert_int_eq(pdm_model_write(part, api_out(i ? "b.pdmodel" : "a.pdmodel"),
                                         &(pdm_write_options){.size = sizeof(pdm_write_options),
                                                              .overwrite = i > 1}),
                         PDM_OK);
        pdm_model_destroy(part);
    }
    ck_assert_int_eq(pdm_model_load(context, api_out("a.pdmodel"), NULL, &again), PDM_OK);
    ck_assert_uint_eq(pdm_model_num_params(again), 4);
    pdm_model_destroy(again);
    ck_assert_int_eq(pdm_graph_extract(graph, model, 5, &part), PDM_INVALID_ARG);
    unload();
    api_folder_teardown();
}
END_TEST

START_TEST(names_that_change_nothing_are_told)
{
    const char *names[] = {"linear_11.tmp_0", "nobody"};
    pdm_graph_options options = {.size = sizeof options, .skip_gc = names, .num_skip_gc = 2};

    load("cases/op_net__transformer_layer", &options);
    ck_assert_uint_eq(h.warnings, 1);
    ck_assert_str_eq(h.last_message, "there is no variable 'nobody' to keep");
    unload();
    options.num_skip_gc = 0;
    options.deny = "softmax;conv9d";
    load("cases/op_net__transformer_layer", &options);
    ck_assert_uint_eq(h.warnings, 1);
    ck_assert_str_eq(h.last_message, "no op is of the type 'conv9d' that is denied");
    unload();
    options.allow = "softmax"; /* and what is denied does not count */
    load("cases/op_net__transformer_layer", &options);
    ck_assert_uint_eq(h.warnings, 0);
    unload();
    options.allow = ";fetch;softmax;conv9d;";
    load("cases/op_net__transformer_layer", &options);
    ck_assert_uint_eq(h.warnings, 2);
    ck_assert_str_eq(h.last_message, "no op is of the type 'conv9d' that is allowed");
    unload();
}
END_TEST

/* ---- inputs of which only the shape is looked at --------------------------------------------- */

typedef struct seen {
    size_t calls;
    bool with_data;
    int64_t rows;
} seen;

/* y = 2 * the rows of "shape". */
static pdm_status launch_rows(void *user, const pdm_legacy_launch *launch, pdm_diag_sink *sink)
{
    seen *s = user;
    static const int64_t dims[] = {1};

    (void)sink;
    s->calls++;
    ck_assert_int_eq(launch->key, 77);
    ck_assert_uint_eq(launch->num_in, 0);
    ck_assert_uint_eq(launch->num_shapes, 1);
    ck_assert_str_eq(launch->shape_names[0], "x");
    s->with_data = launch->shapes[0].data != NULL;
    s->rows = launch->shapes[0].dims[0];
    PDM_TRY(pdm_tensor_alloc(&launch->out[0], PDM_F32, 1, dims));
    *(float *)launch->out[0].data = 2 * (float)s->rows;
    return PDM_OK;
}

static pdm_lg_program *program;

static const char *name_of(const char *text)
{
    return pdm_intern_cstr(&program->strings, text);
}

static const char *const *one_name(const char *text)
{
    const char *name = name_of(text);

    return pdm_arena_memdup(&program->arena, &name, sizeof name);
}

static pdm_lg_slot *slot(const char *name, const char *arg)
{
    pdm_lg_slot *made = pdm_arena_calloc(&program->arena, 1, sizeof *made);

    *made = (pdm_lg_slot){name_of(name), one_name(arg), 1};
    return made;
}

/* feed x; h = relu(x); launch reads the shape of x, gives y; fetch h, y. */
static void make_program(void)
{
    static const char *const names[] = {"x", "h", "y"};
    static const int64_t dims[] = {-1, 2};
    static pdm_lg_attr cols[2], key;
    pdm_lg_block *block;
    pdm_lg_var *vars;
    pdm_lg_op *ops;

    ck_assert_int_eq(pdm_lg_program_create("made", &program), PDM_OK);
    block = pdm_arena_calloc(&program->arena, 1, sizeof *block);
    vars = pdm_arena_calloc(&program->arena, 3, sizeof *vars);
    ops = pdm_arena_calloc(&program->arena, 5, sizeof *ops);
    for (size_t i = 0; i < 3; i++) {
        vars[i] = (pdm_lg_var){.name = name_of(names[i]), .kind = PDM_LG_DENSE_TENSOR,
                               .dtype = PDM_F32, .dtype_number = 5, .dims = dims, .rank = 2,
                               .has_tensor = true};
        pdm_map_put(&block->var_index, vars[i].name)->value.num = i;
    }
    for (int i = 0; i < 2; i++)
        cols[i] = (pdm_lg_attr){.name = "col", .type = PDM_LG_INT, .u.i = i};
    key = (pdm_lg_attr){.name = PDM_LG_CINN_KEY, .type = PDM_LG_LONG, .u.l = 77};
    ops[0] = (pdm_lg_op){.type = "feed", .outputs = slot("Out", "x"), .num_outputs = 1,
                         .attrs = &cols[0], .num_attrs = 1};
    ops[1] = (pdm_lg_op){.type = "relu", .inputs = slot("X", "x"), .num_inputs = 1,
                         .outputs = slot("Out", "h"), .num_outputs = 1};
    ops[2] = (pdm_lg_op){.type = "fetch", .inputs = slot("X", "h"), .num_inputs = 1,
                         .attrs = &cols[0], .num_attrs = 1};
    ops[3] = (pdm_lg_op){.type = PDM_LG_CINN_LAUNCH, .inputs = slot("NoNeedBufferX", "x"),
                         .num_inputs = 1, .outputs = slot("Out", "y"), .num_outputs = 1,
                         .attrs = &key, .num_attrs = 1};
    ops[4] = (pdm_lg_op){.type = "fetch", .inputs = slot("X", "y"), .num_inputs = 1,
                         .attrs = &cols[1], .num_attrs = 1};
    *block = (pdm_lg_block){.parent = -1, .forward_idx = -1, .vars = vars, .num_vars = 3,
                            .ops = ops, .num_ops = 5, .var_index = block->var_index};
    program->blocks = block;
    program->num_blocks = 1;
}

START_TEST(only_the_shape_is_there)
{
    static const int64_t dims[] = {3, 2};
    seen s = {0};
    const pdm_legacy_options options = {.launch = launch_rows, .launch_user = &s};
    pdm_legacy_plan *plan;
    pdm_legacy_session *session;
    pdm_tensor x = {0};

    context = api_context(&h);
    make_program();
    ck_assert_int_eq(
        pdm_legacy_plan_create(program, context->schemas, NULL, NULL, NULL, &plan), PDM_OK);
    ck_assert_int_eq(pdm_legacy_session_create(plan, &options, &session), PDM_OK);
    ck_assert_int_eq(pdm_tensor_alloc(&x, PDM_F32, 2, dims), PDM_OK);
    memset(x.data, 0, pdm_tensor_bytes(&x));
    pdm_legacy_set_input(session, 0, &x);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pdm_legacy_run(session, NULL), PDM_OK);
        ck_assert(*(const float *)pdm_legacy_output(session, 1)->tensor.data == 6.0F);
    }
    ck_assert_uint_eq(s.calls, 2);
    ck_assert(!s.with_data);
    ck_assert_int_eq(s.rows, 3);
    pdm_tensor_deinit(&x);
    pdm_legacy_session_destroy(session);
    /* Nobody to launch is an error, not a crash. */
    ck_assert_int_eq(pdm_legacy_session_create(plan, NULL, &session), PDM_OK);
    ck_assert_int_eq(pdm_tensor_alloc(&x, PDM_F32, 2, dims), PDM_OK);
    memset(x.data, 0, pdm_tensor_bytes(&x));
    pdm_legacy_set_input(session, 0, &x);
    pdm_tensor_deinit(&x);
    ck_assert_int_eq(pdm_legacy_run(session, NULL), PDM_UNSUPPORTED);
    pdm_legacy_session_destroy(session);
    pdm_legacy_plan_destroy(plan);
    pdm_lg_program_destroy(program);
    pdm_context_destroy(context);
}
END_TEST

/* ---- many shapes, many threads --------------------------------------------------------------- */

/* One launch of the main program with so many rows. */
static void run_rows(pdm_legacy_session *session, int64_t rows)
{
    const int64_t dims[] = {rows, 4};
    pdm_tensor x = {0};

    ck_assert_int_eq(pdm_tensor_alloc(&x, PDM_F32, 2, dims), PDM_OK);
    memset(x.data, 0, pdm_tensor_bytes(&x));
    pdm_legacy_set_input(session, 0, &x);
    pdm_tensor_deinit(&x);
    ck_assert_int_eq(pdm_legacy_run(session, NULL), PDM_OK);
    ck_assert_int_eq(pdm_legacy_output(session, 0)->tensor.dims[0], rows);
}

START_TEST(compiled_subgraphs_are_kept_to_a_limit)
{
    pdm_model *after;
    pdm_api_launcher *launcher;
    pdm_legacy_options options = {.launch = pdm_api_launch};
    pdm_legacy_plan *plan;
    pdm_legacy_session *session;

    load("cases/op_leaky_relu__alpha", NULL);
    ck_assert_uint_eq(pdm_graph_num_subgraphs(graph), 1);
    ck_assert_int_eq(pdm_graph_model(graph, model, &after), PDM_OK);
    ck_assert_int_eq(pdm_api_launcher_create(context, &options, NULL, &launcher), PDM_OK);
    options.launch_user = launcher;
    ck_assert_int_eq(
        pdm_legacy_plan_create(after->legacy, context->schemas, NULL, NULL, NULL, &plan), PDM_OK);
    ck_assert_int_eq(pdm_legacy_session_create(plan, &options, &session), PDM_OK);
    for (int64_t rows = 1; rows <= PDM_API_MOST_COMPILED; rows++)
        run_rows(session, rows);
    run_rows(session, 1);
    ck_assert_uint_eq(pdm_api_launcher_stats(launcher).compiled, PDM_API_MOST_COMPILED);
    run_rows(session, PDM_API_MOST_COMPILED + 1); /* one too many */
    run_rows(session, PDM_API_MOST_COMPILED + 1);
    run_rows(session, 1);
    ck_assert_uint_eq(pdm_api_launcher_stats(launcher).compiled, PDM_API_MOST_COMPILED + 2);
    ck_assert_uint_eq(pdm_api_launcher_stats(launcher).launches, PDM_API_MOST_COMPILED + 4);
    pdm_legacy_session_destroy(session);
    pdm_legacy_plan_destroy(plan);
    pdm_api_launcher_destroy(launcher);
    pdm_model_destroy(after);
    unload();
}
END_TEST

typedef struct paths {
    char model[1024], io[1040];
} paths;

/* All that one user does, in a context of its own. */
static void *use_alone(void *user)
{
    static const pdm_context_options quiet = {.size = sizeof quiet};
    const paths *of = user;
    pdm_context *own = NULL;
    pdm_model *whole = NULL, *after = NULL;
    pdm_graph *made = NULL;
    pdm_bundle *inputs = NULL, *outputs = NULL;
    pdm_status status = pdm_context_create(&quiet, &own);

    if (status == PDM_OK)
        status = pdm_model_load(own, of->model, NULL, &whole);
    if (status == PDM_OK)
        status = pdm_graph_create(whole, NULL, &made);
    if (status == PDM_OK)
        status = pdm_graph_model(made, whole, &after);
    pdm_graph_destroy(made);
    if (status == PDM_OK)
        status = pdm_bundle_read(own, of->io, &inputs);
    if (status == PDM_OK)
        status = pdm_bundle_create(own, &outputs);
    if (status == PDM_OK)
        status = pdm_model_run_legacy(after, NULL, inputs, outputs);
    pdm_bundle_destroy(inputs);
    pdm_bundle_destroy(outputs);
    pdm_model_destroy(after);
    pdm_model_destroy(whole);
    pdm_context_destroy(own);
    return status == PDM_OK ? user : NULL;
}

START_TEST(threads_launch_the_same_subgraphs)
{
    enum { THREADS = 4 };
    paths of;
    pthread_t threads[THREADS];

    snprintf(of.model, sizeof of.model, "%s", api_fixture("cases/op_net__lenet"));
    snprintf(of.io, sizeof of.io, "%s/io.npz", of.model);
    const size_t before = pdm_lg_cinn_table_size(pdm_lg_cinn_table_shared());
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_alone, &of), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        ck_assert_ptr_nonnull(result);
    }
    ck_assert_uint_eq(pdm_lg_cinn_table_size(pdm_lg_cinn_table_shared()), before);
}
END_TEST

/* Gives up both inputs, of which the first is fetched later. */
static pdm_status launch_releases(void *user, const pdm_legacy_launch *launch, pdm_diag_sink *sink)
{
    static const int64_t dims[] = {1};
    seen *s = user;

    (void)sink;
    s->calls++;
    ck_assert_uint_eq(launch->num_in, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_ptr_nonnull(launch->in[i]);
        launch->release(launch->releaser, i);
    }
    ck_assert_ptr_nonnull(launch->in[0]);
    ck_assert_ptr_null(launch->in[1]);
    return pdm_tensor_alloc(&launch->out[0], PDM_F32, 1, dims);
}

START_TEST(a_launch_frees_what_nothing_uses_after_it)
{
    static const int64_t dims[] = {3, 2};
    seen s = {0};
    const pdm_legacy_options options = {.launch = launch_releases, .launch_user = &s};
    pdm_legacy_plan *plan;
    pdm_legacy_session *session;
    pdm_tensor x = {0};

    context = api_context(&h);
    make_program(); /* and now launch reads h and x, before h is fetched */
    const char *names[] = {name_of("h"), name_of("x")};
    pdm_lg_op *ops = (pdm_lg_op *)(uintptr_t)program->blocks[0].ops;
    const pdm_lg_op fetch = ops[2];
    ops[2] = ops[3];
    ops[3] = fetch;
    const pdm_lg_slot both = {name_of("X"), names, 2};
    ops[2].inputs = &both;
    ck_assert_int_eq(
        pdm_legacy_plan_create(program, context->schemas, NULL, NULL, NULL, &plan), PDM_OK);
    ck_assert_int_eq(pdm_legacy_session_create(plan, &options, &session), PDM_OK);
    ck_assert_int_eq(pdm_tensor_alloc(&x, PDM_F32, 2, dims), PDM_OK);
    memset(x.data, 0, pdm_tensor_bytes(&x));
    pdm_legacy_set_input(session, 0, &x);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pdm_legacy_run(session, NULL), PDM_OK);
    ck_assert_uint_eq(s.calls, 2);
    pdm_tensor_deinit(&x);
    pdm_legacy_session_destroy(session);
    pdm_legacy_plan_destroy(plan);
    pdm_lg_program_destroy(program);
    pdm_context_destroy(context);
}
END_TEST

Suite *pdm_suite_api_graph(void)
{
    Suite *suite = suite_create("api_graph");
    TCase *tc = tcase_create("graph");

    tcase_add_test(tc, subgraphs_are_described);
    tcase_add_test(tc, only_legacy_models_have_graphs);
    tcase_add_test(tc, launches_give_the_same_and_outlive_the_graph);
    tcase_add_test(tc, launches_can_be_compiled);
    tcase_add_test(tc, a_key_that_is_gone_is_told);
    tcase_add_test(tc, extracted_models_convert);
    tcase_add_test(tc, names_that_change_nothing_are_told);
    tcase_add_test(tc, compiled_subgraphs_are_kept_to_a_limit);
    tcase_add_test(tc, threads_launch_the_same_subgraphs);
    tcase_add_test(tc, only_the_shape_is_there);
    tcase_add_test(tc, a_launch_frees_what_nothing_uses_after_it);
    suite_add_tcase(suite, tc);
    return suite;
}
