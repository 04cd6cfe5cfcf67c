/* Running through the library: plans, sessions in threads, inputs and outputs without copies. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/api/support.h"

Suite *pdm_suite_api_run(void);

typedef struct running {
    heard heard;
    pdm_context *context;
    pdm_model *model;
    pdm_plan *plan;
    pdm_bundle *io;
} running;

static void begin(running *r, const char *name)
{
    char io[128];

    r->context = api_context(&r->heard);
    r->model = NULL;
    r->plan = NULL;
    r->io = NULL;
    ck_assert_int_eq(pdm_model_load(r->context, api_fixture(name), NULL, &r->model), PDM_OK);
    ck_assert_int_eq(pdm_plan_create(r->model, NULL, &r->plan), PDM_OK);
    snprintf(io, sizeof io, "%s/io.npz", name);
    ck_assert_int_eq(pdm_bundle_read(r->context, api_fixture(io), &r->io), PDM_OK);
}

static void end(running *r)
{
    pdm_bundle_destroy(r->io);
    pdm_plan_destroy(r->plan);
    pdm_model_destroy(r->model);
    pdm_context_destroy(r->context);
}

static pdm_tensor_view entry(const pdm_bundle *bundle, const char *prefix)
{
    pdm_tensor_view view = {0};

    for (size_t i = 0; i < pdm_bundle_count(bundle); i++) {
        if (!strncmp(pdm_bundle_key(bundle, i), prefix, strlen(prefix))) {
            ck_assert_int_eq(pdm_bundle_get(bundle, i, &view), PDM_OK);
            return view;
        }
    }
    ck_abort_msg("no %s", prefix);
    return view;
}

/* Elementwise, for float32 and integers. */
static void same(const pdm_tensor_view *want, const pdm_tensor_view *got)
{
    ck_assert_str_eq(want->dtype, got->dtype);
    ck_assert_uint_eq(want->rank, got->rank);
    ck_assert_uint_eq(want->bytes, got->bytes);
    for (size_t i = 0; i < want->rank; i++)
        ck_assert_int_eq(want->dims[i], got->dims[i]);
    if (strcmp(want->dtype, "float32") != 0) {
        ck_assert_mem_eq(want->data, got->data, want->bytes);
        return;
    }
    for (size_t i = 0; i < want->bytes / sizeof(float); i++) {
        const float a = ((const float *)want->data)[i], b = ((const float *)got->data)[i];
        ck_assert_float_le_tol(b > a ? b - a : a - b, 0, 1e-5f + 1e-5f * (a > 0 ? a : -a));
    }
}

static void check_outputs(const running *r, const pdm_session *session)
{
    char prefix[32];

    for (size_t i = 0; i < pdm_plan_num_outputs(r->plan); i++) {
        pdm_tensor_view want, got;
        snprintf(prefix, sizeof prefix, "out:%zu:", i);
        want = entry(r->io, prefix);
        ck_assert_int_eq(pdm_session_output(session, i, &got), PDM_OK);
        same(&want, &got);
    }
}

START_TEST(recorded_outputs)
{
    static const char *const names[] = {"models/branchy_loop", "models/bilstm_tagger",
                                        "cases/flow_while_nested", "cases/op_sequence_pool__sum"};
    running r;
    pdm_session *session = NULL;

    begin(&r, names[_i]);
    ck_assert_int_eq(pdm_session_create(r.plan, NULL, &session), PDM_OK);
    ck_assert_int_eq(pdm_session_set_inputs(session, r.io), PDM_OK);
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(pdm_session_run(session), PDM_OK);
        check_outputs(&r, session);
    }
    pdm_session_destroy(session);
    end(&r);
}
END_TEST

START_TEST(nothing_is_copied)
{
    running r;
    pdm_session *session = NULL;
    pdm_tensor_view view, want, got;
    const pdm_session_options options = {.size = sizeof options, .threads = 1};

    begin(&r, "cases/report_basic_fc");
    ck_assert_int_eq(pdm_session_create(r.plan, &options, &session), PDM_OK);
    pdm_tensor_info info;
    ck_assert_int_eq(pdm_plan_input(r.plan, 0, &info), PDM_OK);
    view = entry(r.io, "in:");
    ck_assert_int_eq(pdm_session_set_input(session, info.name, &view), PDM_OK);
    ck_assert_int_eq(pdm_session_input(session, 0, &got), PDM_OK);
    ck_assert_ptr_eq(got.data, view.data);

    want = entry(r.io, "out:0:");
    void *mine = malloc(want.bytes);
    ck_assert_int_eq(pdm_session_set_output(session, 0, mine, want.bytes), PDM_OK);
    for (int k = 0; k < 3; k++) {
        memset(mine, 0xff, want.bytes);
        ck_assert_int_eq(pdm_session_run(session), PDM_OK);
        ck_assert_int_eq(pdm_session_output(session, 0, &got), PDM_OK);
        got.data = mine;
        same(&want, &got);
    }
    pdm_memory_info memory;
    pdm_session_memory(session, &memory);
    ck_assert_uint_eq(memory.allocations, 0);
    ck_assert_int_eq(pdm_session_set_output(session, 0, mine, want.bytes - 1), PDM_OK);
    ck_assert_int_eq(pdm_session_run(session), PDM_INVALID_ARG);
    ck_assert_int_eq(pdm_session_set_output(session, 0, NULL, 0), PDM_OK);
    ck_assert_int_eq(pdm_session_run(session), PDM_OK);
    ck_assert_int_eq(pdm_session_set_output(session, 99, mine, 1), PDM_INVALID_ARG);
    free(mine);
    pdm_session_destroy(session);
    end(&r);
}
END_TEST

START_TEST(inputs_that_do_not_fit)
{
    running r;
    pdm_session *session = NULL;
    pdm_tensor_view view;
    pdm_tensor_info info;
    const int64_t dims[3] = {1, 1, 1};

    begin(&r, "cases/report_basic_fc");
    ck_assert_int_eq(pdm_session_create(r.plan, NULL, &session), PDM_OK);
    ck_assert_int_eq(pdm_plan_input(r.plan, 0, &info), PDM_OK);
    ck_assert_int_eq(pdm_session_run(session), PDM_INVALID_ARG); /* not set */
    view = entry(r.io, "in:");
    ck_assert_int_eq(pdm_session_set_input(session, "nobody", &view), PDM_INVALID_ARG);
    ck_assert_ptr_nonnull(strstr(r.heard.last_message, "nobody"));
    view.dtype = "int32";
    ck_assert_int_eq(pdm_session_set_input(session, info.name, &view), PDM_INVALID_ARG);
    ck_assert_ptr_nonnull(strstr(r.heard.last_message, "int32"));
    view = entry(r.io, "in:");
    view.bytes--;
    ck_assert_int_eq(pdm_session_set_input(session, info.name, &view), PDM_INVALID_ARG);
    view = entry(r.io, "in:");
    view.dims = dims;
    view.rank = 3;
    view.bytes = 4;
    ck_assert_int_eq(pdm_session_set_input(session, info.name, &view), PDM_INVALID_ARG);
    const int64_t offsets[] = {0, 5, 3};
    view = entry(r.io, "in:");
    view.lod = (const int64_t *const[]){offsets};
    view.lod_counts = (const size_t[]){3};
    view.num_lod = 1;
    ck_assert_int_eq(pdm_session_set_input(session, info.name, &view), PDM_INVALID_ARG);
    ck_assert_int_eq(pdm_session_output(session, 0, &view), PDM_INVALID_ARG);
    ck_assert_int_eq(pdm_session_set_inputs(session, r.io), PDM_OK);
    ck_assert_int_eq(pdm_session_run(session), PDM_OK);
    pdm_session_destroy(session);
    end(&r);
}
END_TEST

typedef struct worker {
    const running *r;
    unsigned threads;
    bool ok;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    const pdm_session_options options = {.size = sizeof options, .threads = w->threads};
    pdm_session *session = NULL;

    w->ok = pdm_session_create(w->r->plan, &options, &session) == PDM_OK &&
            pdm_session_set_inputs(session, w->r->io) == PDM_OK;
    for (int i = 0; w->ok && i < 20; i++) {
        w->ok = pdm_session_run(session) == PDM_OK;
        if (w->ok)
            check_outputs(w->r, session);
    }
    pdm_session_destroy(session);
    return NULL;
}

START_TEST(sessions_share_a_plan)
{
    running r;
    worker workers[4];
    pthread_t threads[4];

    begin(&r, "models/branchy_loop");
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){&r, (unsigned)(i % 2 + 1), false};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ck_assert(workers[i].ok);
    }
    end(&r);
}
END_TEST

START_TEST(bundles)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_bundle *bundle = NULL, *back = NULL;
    const int64_t dims[1] = {3}, offsets[3] = {0, 1, 3};
    const float data[3] = {1, 2, 3};
    const pdm_tensor_view view = {.dtype = "float32",
                                  .dims = dims,
                                  .rank = 1,
                                  .data = data,
                                  .bytes = sizeof data,
                                  .lod = (const int64_t *const[]){offsets},
                                  .lod_counts = (const size_t[]){3},
                                  .num_lod = 1};
    pdm_tensor_view got;

    api_folder_setup();
    ck_assert_int_eq(pdm_bundle_create(context, &bundle), PDM_OK);
    ck_assert_int_eq(pdm_bundle_add(bundle, "in:x", &view), PDM_OK);
    ck_assert_int_eq(pdm_bundle_add(bundle, "plain", &view), PDM_OK);
    ck_assert_uint_eq(pdm_bundle_count(bundle), 3);
    ck_assert_str_eq(pdm_bundle_key(bundle, 1), "lod:in:x:0");
    ck_assert_int_eq(pdm_bundle_write(bundle, api_out("b.npz"), false), PDM_OK);
    ck_assert_int_eq(pdm_bundle_write(bundle, api_out("b.npz"), false), PDM_EXISTS);
    ck_assert_int_eq(pdm_bundle_read(context, api_out("b.npz"), &back), PDM_OK);
    ck_assert_uint_eq(pdm_bundle_count(back), 3);
    ck_assert_int_eq(pdm_bundle_get(back, 2, &got), PDM_OK);
    ck_assert_mem_eq(got.data, data, sizeof data);
    ck_assert_int_eq(pdm_bundle_get(back, 3, &got), PDM_INVALID_ARG);
    ck_assert_ptr_null(pdm_bundle_key(back, 3));
    ck_assert_int_eq(pdm_bundle_read(context, api_out("nothing.npz"), &back), PDM_IO);
    pdm_bundle_destroy(back);
    pdm_bundle_destroy(bundle);
    pdm_context_destroy(context);
    api_folder_teardown();
}
END_TEST

START_TEST(traces_and_profiles)
{
    running r;
    pdm_session *session = NULL;
    const pdm_session_options options = {.size = sizeof options, .threads = 1, .trace = true};
    char *text = NULL;
    pdm_profile_row *rows = NULL;
    size_t count = 0;

    begin(&r, "models/branchy_loop");
    ck_assert_int_eq(pdm_session_create(r.plan, &options, &session), PDM_OK);
    ck_assert_int_eq(pdm_session_set_inputs(session, r.io), PDM_OK);
    ck_assert_int_eq(pdm_session_run(session), PDM_OK);
    ck_assert_int_eq(pdm_session_trace(session, &text), PDM_OK);
    ck_assert_ptr_nonnull(strstr(text, "\"pd_op.while\""));
    ck_assert_int_eq(pdm_session_profile(session, &rows, &count), PDM_OK);
    ck_assert_uint_gt(count, 3);
    for (size_t i = 1; i < count; i++)
        ck_assert_uint_ge(rows[i - 1].self_ns, rows[i].self_ns);
    pdm_free(rows);
    pdm_free(text);
    pdm_session_destroy(session);
    ck_assert_int_eq(pdm_session_create(r.plan, NULL, &session), PDM_OK);
    ck_assert_int_eq(pdm_session_trace(session, &text), PDM_INVALID_ARG);
    pdm_session_destroy(session);
    end(&r);
}
END_TEST

Suite *pdm_suite_api_run(void)
{
    Suite *suite = suite_create("api_run");
    TCase *tcase = tcase_create("runs");

    tcase_add_loop_test(tcase, recorded_outputs, 0, 4);
    tcase_add_test(tcase, nothing_is_copied);
    tcase_add_test(tcase, inputs_that_do_not_fit);
    tcase_add_test(tcase, sessions_share_a_plan);
    tcase_add_test(tcase, bundles);
    tcase_add_test(tcase, traces_and_profiles);
    suite_add_tcase(suite, tcase);
    return suite;
}
