/* Loading, and what a model tells about itself. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "unit/api/support.h"

Suite *pdm_suite_api_model(void);

static pdm_model *load(pdm_context *context, const char *name)
{
    pdm_model *model = NULL;

    ck_assert_msg(pdm_model_load(context, api_fixture(name), NULL, &model) == PDM_OK, "%s", name);
    return model;
}

START_TEST(a_legacy_model)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = load(context, "models/bilstm_tagger");
    pdm_tensor_info info;

    ck_assert_int_eq(pdm_model_get_kind(model), PDM_MODEL_LEGACY);
    ck_assert_int_eq(pdm_model_version(model), 2006002);
    ck_assert_ptr_nonnull(strstr(pdm_model_path(model), "/inference.pdmodel"));
    ck_assert_ptr_nonnull(strstr(pdm_model_params_path(model), "/inference.pdiparams"));
    ck_assert_uint_eq(pdm_model_num_inputs(model), 2);
    ck_assert_int_eq(pdm_model_input(model, 0, &info), PDM_OK);
    ck_assert_str_eq(info.name, "ids");
    ck_assert_str_eq(info.dtype, "int64");
    ck_assert_uint_eq(info.rank, 2);
    ck_assert_int_eq(info.dims[0], -1);
    ck_assert_int_eq(pdm_model_input(model, 2, &info), PDM_INVALID_ARG);
    ck_assert_uint_gt(pdm_model_num_outputs(model), 0);
    for (size_t i = 0; i < pdm_model_num_params(model); i++) {
        pdm_tensor_info next;
        ck_assert_int_eq(pdm_model_param(model, i, &info), PDM_OK);
        ck_assert_uint_gt(info.data_bytes, 0);
        if (i + 1 < pdm_model_num_params(model)) {
            ck_assert_int_eq(pdm_model_param(model, i + 1, &next), PDM_OK);
            ck_assert_int_lt(strcmp(info.name, next.name), 0);
        }
    }
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(a_pir_model)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = load(context, "samples/linear_relu.json");
    pdm_tensor_info info;

    ck_assert_int_eq(pdm_model_get_kind(model), PDM_MODEL_PIR);
    ck_assert_int_eq(pdm_model_version(model), 4);
    ck_assert_uint_eq(pdm_model_num_inputs(model), 1);
    ck_assert_int_eq(pdm_model_input(model, 0, &info), PDM_OK);
    ck_assert_str_eq(info.name, "x");
    ck_assert_str_eq(info.dtype, "float32");
    ck_assert_uint_eq(pdm_model_num_params(model), 2);
    ck_assert_int_eq(pdm_model_param(model, 1, &info), PDM_OK);
    ck_assert_str_eq(info.name, "w_b");
    ck_assert_uint_eq(info.data_bytes, 48);
    ck_assert_uint_eq(pdm_model_num_blocks(model), 1);
    ck_assert_uint_eq(h.errors + h.warnings + h.notes, 0);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

typedef struct seen {
    size_t count;
    int deepest;
    bool control;
} seen;

static void see(void *user, const char *type, int depth)
{
    seen *s = user;

    s->count++;
    s->deepest = depth > s->deepest ? depth : s->deepest;
    s->control = s->control || !strcmp(type, "while") || !strcmp(type, "pd_op.while");
}

START_TEST(nested_ops_are_visited)
{
    static const char *const names[] = {"cases/flow_while_nested", "samples/while_loop.json"};
    heard h;
    pdm_context *context = api_context(&h);

    for (size_t i = 0; i < 2; i++) {
        pdm_model *model = load(context, names[i]);
        seen s = {0};
        pdm_model_each_op(model, see, &s);
        ck_assert_uint_eq(s.count, pdm_model_num_ops(model));
        ck_assert_int_ge(s.deepest, i == 0 ? 2 : 1);
        ck_assert(s.control);
        ck_assert_uint_gt(pdm_model_num_blocks(model), 1);
        pdm_model_destroy(model);
    }
    pdm_context_destroy(context);
}
END_TEST

START_TEST(programs_are_dumped)
{
    static const char *const names[] = {"cases/flow_while_nested", "samples/while_loop.json"};
    heard h;
    pdm_context *context = api_context(&h);

    for (size_t i = 0; i < 2; i++) {
        pdm_model *model = load(context, names[i]);
        char *text = NULL;
        ck_assert_int_eq(pdm_model_dump(model, PDM_DUMP_TEXT, &text), PDM_OK);
        ck_assert_ptr_nonnull(strstr(text, "while"));
        pdm_free(text);
        ck_assert_int_eq(pdm_model_dump(model, PDM_DUMP_DOT, &text), PDM_OK);
        ck_assert_ptr_nonnull(strstr(text, "digraph"));
        pdm_free(text);
        ck_assert_int_eq(pdm_model_dump(model, (pdm_dump_format)7, &text), PDM_INVALID_ARG);
        pdm_model_destroy(model);
    }
    pdm_context_destroy(context);
}
END_TEST

START_TEST(failures_leave_the_result_alone)
{
    static const struct {
        const char *name;
        pdm_status status;
    } rows[] = {
        {"nothing/there", PDM_IO},
        {"cases/bad_no_blocks", PDM_INVALID_MODEL},
        {"cases/bad_var_type_newer", PDM_UNSUPPORTED},
        {"cases/bad_params_missing_file", PDM_IO},
        {"cases/bad_params_dtype_differs", PDM_INVALID_MODEL},
        {"cases/bad_json_unknown_op", PDM_UNSUPPORTED},
        {"cases/bad_json_truncated", PDM_INVALID_MODEL},
        {"cases", PDM_IO},
    };
    pdm_model *const before = (pdm_model *)&rows;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        heard h;
        pdm_context *context = api_context(&h);
        pdm_model *model = before;
        ck_assert_msg(pdm_model_load(context, api_fixture(rows[i].name), NULL, &model) ==
                          rows[i].status,
                      "%s: %s", rows[i].name, h.last_message);
        ck_assert_ptr_eq(model, before);
        ck_assert_uint_gt(h.errors, 0);
        pdm_context_destroy(context);
    }
}
END_TEST

/* Errors of one call do not count in the next one. */
START_TEST(a_context_forgets_failures)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = NULL, *pir = NULL;

    ck_assert_int_eq(pdm_model_load(context, api_fixture("cases/bad_no_blocks"), NULL, &model),
                     PDM_INVALID_MODEL);
    model = load(context, "cases/flow_while_nested");
    ck_assert_int_eq(pdm_model_convert(model, NULL, &pir), PDM_OK);
    pdm_model_destroy(pir);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(parameters_may_be_left_out)
{
    const pdm_load_options without = {.size = sizeof without, .no_params = true};
    const pdm_load_options optional = {.size = sizeof optional, .params_optional = true};
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = NULL;
    pdm_tensor_info info;

    ck_assert_int_eq(
        pdm_model_load(context, api_fixture("cases/bad_params_missing_file"), &without, &model),
        PDM_OK);
    ck_assert_ptr_null(pdm_model_params_path(model));
    ck_assert_uint_gt(pdm_model_num_params(model), 0);
    ck_assert_int_eq(pdm_model_param(model, 0, &info), PDM_OK);
    ck_assert_uint_eq(info.data_bytes, 0);
    ck_assert_uint_eq(h.notes, 0);
    pdm_model_destroy(model);
    ck_assert_int_eq(
        pdm_model_load(context, api_fixture("cases/bad_params_missing_file"), &optional, &model),
        PDM_OK);
    ck_assert_uint_eq(h.notes, 1);
    ck_assert_uint_eq(h.errors, 0);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

Suite *pdm_suite_api_model(void)
{
    Suite *suite = suite_create("api_model");
    TCase *tc = tcase_create("model");

    tcase_add_test(tc, a_legacy_model);
    tcase_add_test(tc, a_pir_model);
    tcase_add_test(tc, nested_ops_are_visited);
    tcase_add_test(tc, programs_are_dumped);
    tcase_add_test(tc, failures_leave_the_result_alone);
    tcase_add_test(tc, a_context_forgets_failures);
    tcase_add_test(tc, parameters_may_be_left_out);
    suite_add_tcase(suite, tc);
    return suite;
}
