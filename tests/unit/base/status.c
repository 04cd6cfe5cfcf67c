/* Every status has a text of its own. */
#include <check.h>
#include <string.h>

#include "base/status.h"

Suite *pdm_suite_status(void);

START_TEST(every_status_has_its_own_text)
{
    for (int a = PDM_OK; a <= PDM_STOPPED; a++) {
        const char *text = pdm_status_text((pdm_status)a);
        ck_assert_ptr_nonnull(text);
        ck_assert_str_ne(text, "");
        for (int b = PDM_OK; b < a; b++) {
            ck_assert_str_ne(text, pdm_status_text((pdm_status)b));
        }
    }
}
END_TEST

START_TEST(an_unknown_status_has_a_text)
{
    ck_assert_str_ne(pdm_status_text((pdm_status)99), "");
}
END_TEST

Suite *pdm_suite_status(void)
{
    Suite *suite = suite_create("status");
    TCase *tc = tcase_create("text");
    tcase_add_test(tc, every_status_has_its_own_text);
    tcase_add_test(tc, an_unknown_status_has_a_text);
    suite_add_tcase(suite, tc);
    return suite;
}
