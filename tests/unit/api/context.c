/* Contexts, options of older and newer callers, and what needs no model. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "unit/api/support.h"

Suite *pdm_suite_api_context(void);

START_TEST(no_options_are_fine)
{
    pdm_context *context = NULL;

    ck_assert_int_eq(pdm_context_create(NULL, &context), PDM_OK);
    pdm_context_destroy(context);
    pdm_context_destroy(NULL);
    pdm_model_destroy(NULL);
    pdm_free(NULL);
    ck_assert_int_eq(pdm_context_create(NULL, NULL), PDM_INVALID_ARG);
}
END_TEST

static void never(void *user, const pdm_diagnostic *d)
{
    (void)d;
    *(int *)user = 1;
}

/* A caller built with an older header has fewer fields: what lies behind them is not looked at. */
START_TEST(an_older_caller_has_fewer_options)
{
    int called = 0;
    pdm_context_options options = {.on_diagnostic = never, .user = &called, .verbose = true};
    pdm_context *context = NULL;
    pdm_model *model = NULL;

    options.size = offsetof(pdm_context_options, on_diagnostic);
    ck_assert_int_eq(pdm_context_create(&options, &context), PDM_OK);
    ck_assert_int_eq(pdm_model_load(context, "/nowhere/at/all", NULL, &model), PDM_IO);
    ck_assert_int_eq(called, 0);
    pdm_context_destroy(context);
}
END_TEST

/* A newer one has more fields, which this library does not know. */
START_TEST(a_newer_caller_has_more_options)
{
    int called = 0;
    struct {
        pdm_context_options known;
        char more[64];
    } options = {.known = {.size = sizeof options, .on_diagnostic = never, .user = &called}};
    pdm_context *context = NULL;
    pdm_model *model = NULL;

    memset(options.more, 0xff, sizeof options.more);
    ck_assert_int_eq(pdm_context_create(&options.known, &context), PDM_OK);
    ck_assert_int_eq(pdm_model_load(context, "/nowhere/at/all", NULL, &model), PDM_IO);
    ck_assert_int_eq(called, 1);
    pdm_context_destroy(context);
}
END_TEST

START_TEST(every_status_has_a_text)
{
    for (int i = PDM_OK; i <= PDM_INTERNAL; i++) {
        for (int j = PDM_OK; j < i; j++)
            ck_assert_str_ne(pdm_status_text((pdm_status)i), pdm_status_text((pdm_status)j));
    }
    ck_assert_ptr_nonnull(pdm_status_text((pdm_status)99));
    ck_assert_ptr_nonnull(strchr(pdm_version(), '.'));
}
END_TEST

START_TEST(output_names)
{
    static const struct {
        const char *path, *program, *params;
    } good[] = {
        {"a.json", "a.json", "a.pdiparams"},
        {"x/a.b.pir", "x/a.b.pir", "x/a.b.pdiparams"},
        {"no/such/", "no/such/inference.json", "no/such/inference.pdiparams"},
        {"/", "/inference.json", "/inference.pdiparams"},
    };
    static const char *const bad[] = {"",       "a",      "a.pdmodel", ".json",
                                      "x/.pir", "a.JSON", "a.json.bak"};
    heard h;
    pdm_context *context = api_context(&h);

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char *program = NULL, *params = NULL;
        ck_assert_int_eq(pdm_output_check(context, good[i].path, NULL, &program, &params), PDM_OK);
        ck_assert_str_eq(program, good[i].program);
        ck_assert_str_eq(params, good[i].params);
        pdm_free(program);
        pdm_free(params);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(pdm_output_check(context, bad[i], NULL, NULL, NULL), PDM_INVALID_ARG);
    ck_assert_uint_eq(h.errors, sizeof bad / sizeof bad[0]);
    ck_assert_int_eq(pdm_output_check(context, api_fixture("samples/cond.json"), NULL, NULL, NULL),
                     PDM_EXISTS);
    const pdm_write_options over = {.size = sizeof over, .overwrite = true};
    ck_assert_int_eq(pdm_output_check(context, api_fixture("samples/cond.json"), &over, NULL, NULL),
                     PDM_OK);
    pdm_context_destroy(context);
}
END_TEST

Suite *pdm_suite_api_context(void)
{
    Suite *suite = suite_create("api_context");
    TCase *tc = tcase_create("context");

    tcase_add_test(tc, no_options_are_fine);
    tcase_add_test(tc, an_older_caller_has_fewer_options);
    tcase_add_test(tc, a_newer_caller_has_more_options);
    tcase_add_test(tc, every_status_has_a_text);
    tcase_add_test(tc, output_names);
    suite_add_tcase(suite, tc);
    return suite;
}
