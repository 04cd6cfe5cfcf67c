/* Conversion through the library: options, and what the result holds. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "unit/api/support.h"
#include "unit/comma_locale.h"

Suite *pdm_suite_api_convert(void);

static pdm_model *load(pdm_context *context, const char *name)
{
    pdm_model *model = NULL;

    ck_assert_msg(pdm_model_load(context, api_fixture(name), NULL, &model) == PDM_OK, "%s", name);
    return model;
}

START_TEST(the_result_outlives_its_source)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = load(context, "models/bilstm_tagger");
    pdm_model *pir = NULL;
    pdm_tensor_info before, after;
    const size_t params = pdm_model_num_params(model);

    ck_assert_int_eq(pdm_model_convert(model, NULL, &pir), PDM_OK);
    ck_assert_int_eq(pdm_model_input(model, 0, &before), PDM_OK);
    ck_assert_int_eq(pdm_model_input(pir, 0, &after), PDM_OK);
    ck_assert_str_eq(before.name, after.name);
    pdm_model_destroy(model);

    ck_assert_int_eq(pdm_model_get_kind(pir), PDM_MODEL_PIR);
    ck_assert_int_eq(pdm_model_version(pir), 1);
    ck_assert_uint_eq(pdm_model_num_params(pir), params);
    ck_assert_uint_eq(pdm_model_num_inputs(pir), 2);
    ck_assert_int_eq(pdm_model_param(pir, 0, &after), PDM_OK);
    ck_assert_uint_gt(after.data_bytes, 0);
    ck_assert_uint_gt(strlen(pdm_model_params_path(pir)), 0);
    pdm_model_destroy(pir);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(versions)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = load(context, "models/bilstm_tagger");

    for (int version = 0; version <= 4; version++) {
        const pdm_convert_options options = {.size = sizeof options, .pir_version = version};
        pdm_model *pir = NULL;
        ck_assert_int_eq(pdm_model_convert(model, &options, &pir), PDM_OK);
        ck_assert_int_eq(pdm_model_version(pir), version ? version : 1);
        pdm_model_destroy(pir);
    }
    for (int version = -1; version <= 5; version += 6) {
        const pdm_convert_options options = {.size = sizeof options, .pir_version = version};
        pdm_model *pir = NULL;
        ck_assert_int_eq(pdm_model_convert(model, &options, &pir), PDM_INVALID_ARG);
        ck_assert_ptr_null(pir);
    }
    ck_assert_uint_eq(h.errors, 2);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(outputs_can_be_chosen)
{
    static const char *const names[] = {"s", "h"}, *const nowhere[] = {"no_such"};
    const pdm_convert_options options = {.size = sizeof options, .fetch = names, .num_fetch = 2};
    const pdm_convert_options wrong = {.size = sizeof wrong, .fetch = nowhere, .num_fetch = 1};
    heard h;
    pdm_context *context = api_context(&h);
    const pdm_load_options without = {.size = sizeof without, .no_params = true};
    pdm_model *model = NULL, *pir = NULL;
    pdm_tensor_info info;

    ck_assert_int_eq(
        pdm_model_load(context, api_fixture("cases/bad_params_missing_file"), &without, &model),
        PDM_OK);
    ck_assert_int_eq(pdm_model_convert(model, &options, &pir), PDM_OK);
    ck_assert_uint_eq(pdm_model_num_outputs(pir), 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pdm_model_output(pir, i, &info), PDM_OK);
        ck_assert_str_eq(info.name, names[i]);
    }
    pdm_model_destroy(pir);
    pir = NULL;
    ck_assert_int_eq(pdm_model_convert(model, &wrong, &pir), PDM_INVALID_ARG);
    ck_assert_ptr_null(pir);
    ck_assert_ptr_nonnull(strstr(h.last_message, "no_such"));
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(a_program_without_outputs)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = load(context, "cases/bad_missing_fetch");
    pdm_model *pir = NULL;

    ck_assert_int_eq(pdm_model_convert(model, NULL, &pir), PDM_INVALID_MODEL);
    ck_assert_str_eq(h.last_id, "lg-no-output");
    ck_assert_uint_eq(h.errors, 1);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(all_offending_ops_are_told)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = load(context, "cases/bad_training_program");
    pdm_model *pir = NULL;

    ck_assert_int_eq(pdm_model_convert(model, NULL, &pir), PDM_UNSUPPORTED);
    ck_assert_uint_ge(h.errors, 2);
    ck_assert_ptr_null(pir);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(pir_models_are_normalised)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = load(context, "samples/conv_bn.json");
    const pdm_convert_options keep = {.size = sizeof keep, .keep_version = true};
    const pdm_convert_options both = {.size = sizeof both, .keep_version = true, .pir_version = 2};
    pdm_model *pir = NULL;

    ck_assert_int_eq(pdm_model_convert(model, NULL, &pir), PDM_OK);
    ck_assert_int_eq(pdm_model_version(pir), 1);
    ck_assert_uint_eq(pdm_model_num_ops(pir), pdm_model_num_ops(model));
    pdm_model_destroy(pir);
    ck_assert_int_eq(pdm_model_convert(model, &keep, &pir), PDM_OK);
    ck_assert_int_eq(pdm_model_version(pir), 4);
    pdm_model_destroy(pir);
    ck_assert_int_eq(pdm_model_convert(model, &both, &pir), PDM_INVALID_ARG);
    pdm_model_destroy(model);

    model = load(context, "models/bilstm_tagger");
    ck_assert_int_eq(pdm_model_convert(model, &keep, &pir), PDM_INVALID_ARG);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(work_can_be_stopped)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = load(context, "models/bilstm_tagger");
    pdm_model *pir = NULL;

    ck_assert_uint_gt(h.asked, 0);
    h.stop = true;
    ck_assert_int_eq(pdm_model_convert(model, NULL, &pir), PDM_CANCELLED);
    ck_assert_ptr_null(pir);
    ck_assert_uint_eq(h.errors, 0);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

/* The file that name becomes at -O2, and what is read of it as text, which the caller frees. */
static char *optimized(const char *name, const char *path)
{
    const pdm_convert_options options = {.size = sizeof options, .optimize = 2};
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = load(context, name), *pir = NULL, *again = NULL;
    char *text = NULL;

    ck_assert_int_eq(pdm_model_convert(model, &options, &pir), PDM_OK);
    ck_assert_int_eq(pdm_model_write(pir, path, NULL), PDM_OK);
    ck_assert_int_eq(pdm_model_load(context, path, NULL, &again), PDM_OK);
    ck_assert_int_eq(pdm_model_dump(again, PDM_DUMP_TEXT, &text), PDM_OK);
    pdm_model_destroy(again);
    pdm_model_destroy(pir);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
    return text;
}

START_TEST(no_locale_changes_a_number)
{
    static const char *const names[] = {"cases/op_fill_constant__f64", "cases/op_hard_swish__default",
                                        "models/bilstm_tagger", "models/mobilenet_v3_small"};
    const char *name = names[_i];

    char *plain = optimized(name, api_out("plain.json"));
    take_comma_locale();
    char *comma = optimized(name, api_out("comma.json"));
    setlocale(LC_NUMERIC, "C");
    ck_assert_str_eq(plain, comma);
    ck_assert(api_same_content(api_out("plain.json"), api_out("comma.json")));
    pdm_free(plain);
    pdm_free(comma);
}
END_TEST

Suite *pdm_suite_api_convert(void)
{
    Suite *suite = suite_create("api_convert");
    TCase *tc = tcase_create("convert");

    tcase_add_test(tc, the_result_outlives_its_source);
    tcase_add_test(tc, versions);
    tcase_add_test(tc, outputs_can_be_chosen);
    tcase_add_test(tc, a_program_without_outputs);
    tcase_add_test(tc, all_offending_ops_are_told);
    tcase_add_test(tc, pir_models_are_normalised);
    tcase_add_test(tc, work_can_be_stopped);
    tcase_add_checked_fixture(tc, api_folder_setup, api_folder_teardown);
    tcase_add_loop_test(tc, no_locale_changes_a_number, 0, 4);
    suite_add_tcase(suite, tc);
    return suite;
}
