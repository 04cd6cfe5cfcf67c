/* Writing through the library. The forms of outputs and what lies in the way are for tests/cli. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/api/support.h"

Suite *pdm_suite_api_write(void);

static pdm_model *converted(pdm_context *context, const char *name,
                            const pdm_convert_options *options)
{
    pdm_model *model = NULL, *pir = NULL;

    ck_assert_msg(pdm_model_load(context, api_fixture(name), NULL, &model) == PDM_OK, "%s", name);
    ck_assert_msg(pdm_model_convert(model, options, &pir) == PDM_OK, "%s", name);
    pdm_model_destroy(model);
    return pir;
}

START_TEST(what_is_written_is_read_again)
{
    static const char *const names[] = {"models/bilstm_tagger", "cases/flow_while_nested",
                                        "samples/legacy/sep"};
    heard h;
    pdm_context *context = api_context(&h);

    for (size_t i = 0; i < 3; i++) {
        pdm_model *pir = converted(context, names[i], NULL), *back = NULL;
        char *first = NULL, *second = NULL, name[32];
        snprintf(name, sizeof name, "m%zu.json", i);
        ck_assert_int_eq(pdm_model_write(pir, api_out(name), NULL), PDM_OK);
        ck_assert_int_eq(pdm_model_load(context, api_out(name), NULL, &back), PDM_OK);
        ck_assert_int_eq(pdm_model_dump(pir, PDM_DUMP_TEXT, &first), PDM_OK);
        ck_assert_int_eq(pdm_model_dump(back, PDM_DUMP_TEXT, &second), PDM_OK);
        ck_assert_str_eq(first, second);
        pdm_free(first);
        pdm_free(second);
        pdm_model_destroy(back);
        pdm_model_destroy(pir);
    }
    ck_assert(api_same_content(api_out("m0.pdiparams"),
                               api_fixture("models/bilstm_tagger/inference.pdiparams")));
    ck_assert(!api_exists(api_out("m1.pdiparams")));
    ck_assert_uint_eq(h.errors + h.warnings, 0);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(kept_files_are_the_same_bytes)
{
    const pdm_convert_options keep = {.size = sizeof keep, .keep_version = true};
    static const char *const names[] = {"linear_relu", "conv_bn", "cond"};
    heard h;
    pdm_context *context = api_context(&h);

    for (size_t i = 0; i < 3; i++) {
        char in[64], out[64];
        snprintf(in, sizeof in, "samples/%s.json", names[i]);
        snprintf(out, sizeof out, "%s.json", names[i]);
        pdm_model *pir = converted(context, in, &keep);
        ck_assert_int_eq(pdm_model_write(pir, api_out(out), NULL), PDM_OK);
        ck_assert_msg(api_same_content(api_out(out), api_fixture(in)), "%s", names[i]);
        pdm_model_destroy(pir);
    }
    pdm_context_destroy(context);
}
END_TEST

START_TEST(existing_files_are_kept)
{
    const pdm_write_options over = {.size = sizeof over, .overwrite = true};
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *pir = converted(context, "models/bilstm_tagger", NULL);

    ck_assert_int_eq(pdm_model_write(pir, api_out("a.json"), NULL), PDM_OK);
    ck_assert_int_eq(pdm_model_write(pir, api_out("a.json"), NULL), PDM_EXISTS);
    ck_assert_str_eq(h.last_id, "file-exists");
    ck_assert_int_eq(pdm_model_write(pir, api_out("a.json"), &over), PDM_OK);
    remove(api_out("a.json"));
    ck_assert_int_eq(pdm_model_write(pir, api_out("a.json"), NULL), PDM_EXISTS);
    ck_assert(!api_exists(api_out("a.json")));
    pdm_model_destroy(pir);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(a_failure_removes_the_folder_it_made)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *pir = converted(context, "models/bilstm_tagger", NULL);

    h.stop = true;
    ck_assert_int_eq(pdm_model_write(pir, api_out("new/"), NULL), PDM_CANCELLED);
    ck_assert(!api_exists(api_out("new")));
    h.stop = false;
    ck_assert_int_eq(pdm_model_write(pir, api_out("new/"), NULL), PDM_OK);
    ck_assert(api_exists(api_out("new/inference.json")));
    ck_assert(api_exists(api_out("new/inference.pdiparams")));
    pdm_model_destroy(pir);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(a_legacy_model_is_not_written)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *model = NULL;

    ck_assert_int_eq(pdm_model_load(context, api_fixture("models/bilstm_tagger"), NULL, &model),
                     PDM_OK);
    ck_assert_int_eq(pdm_model_write(model, api_out("a.json"), NULL), PDM_INVALID_ARG);
    ck_assert(!api_exists(api_out("a.json")));
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

/* The old parameter file may be gone or shorter by the time it is copied. */
START_TEST(a_source_that_vanishes)
{
    heard h;
    pdm_context *context = api_context(&h);
    pdm_model *pir = converted(context, "models/bilstm_tagger", NULL), *model = NULL;

    ck_assert_int_eq(pdm_model_write(pir, api_out("a.json"), NULL), PDM_OK);
    pdm_model_destroy(pir);
    ck_assert_int_eq(pdm_model_load(context, api_out("a.json"), NULL, &model), PDM_OK);
    ck_assert_int_eq(pdm_model_convert(model, NULL, &pir), PDM_OK);
    FILE *file = fopen(api_out("a.pdiparams"), "wb");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    ck_assert_int_eq(pdm_model_write(pir, api_out("b.json"), NULL), PDM_IO);
    remove(api_out("a.pdiparams"));
    ck_assert_int_eq(pdm_model_write(pir, api_out("b.json"), NULL), PDM_IO);
    ck_assert(!api_exists(api_out("b.json")));
    ck_assert(!api_exists(api_out("b.pdiparams")));
    pdm_model_destroy(pir);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

Suite *pdm_suite_api_write(void)
{
    Suite *suite = suite_create("api_write");
    TCase *tc = tcase_create("write");

    tcase_add_checked_fixture(tc, api_folder_setup, api_folder_teardown);
    tcase_add_test(tc, what_is_written_is_read_again);
    tcase_add_test(tc, kept_files_are_the_same_bytes);
    tcase_add_test(tc, existing_files_are_kept);
    tcase_add_test(tc, a_failure_removes_the_folder_it_made);
    tcase_add_test(tc, a_legacy_model_is_not_written);
    tcase_add_test(tc, a_source_that_vanishes);
    suite_add_tcase(suite, tc);
    return suite;
}
