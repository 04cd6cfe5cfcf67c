/* Diagnostics: what reaches the callback, what is counted, what status comes out. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/utf8.h"

Suite *pdm_suite_diag(void);

typedef struct seen {
    int calls;
    pdm_severity severity;
    char id[64], message[10000], hint[100], file[100], op_type[2000], var[2000];
    int64_t offset;
    int32_t block, op_index;
} seen;

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "(null)");
}

static void record(void *user, const pdm_diagnostic *d)
{
    seen *s = user;

    s->calls++;
    s->severity = d->severity;
    s->offset = d->offset;
    s->block = d->block;
    s->op_index = d->op_index;
    copy(s->id, sizeof s->id, d->id);
    copy(s->message, sizeof s->message, d->message);
    copy(s->hint, sizeof s->hint, d->hint);
    copy(s->file, sizeof s->file, d->file);
    copy(s->op_type, sizeof s->op_type, d->op_type);
    copy(s->var, sizeof s->var, d->var);
}

START_TEST(everything_reaches_the_callback)
{
    static seen s;
    pdm_diag_sink sink = {.fn = record, .user = &s};
    pdm_loc loc = PDM_NOWHERE;

    memset(&s, 0, sizeof s);
    loc.file = "m.pdmodel";
    loc.offset = 12;
    loc.block = 1;
    loc.op_index = 3;
    loc.op_type = "conv2d";
    loc.var = "w";
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_LG_DANGLING, &loc, "a hint", "no '%s' (%d)", "w", 5),
                     PDM_INVALID_MODEL);
    ck_assert_int_eq(s.calls, 1);
    ck_assert_str_eq(s.id, "lg-dangling");
    ck_assert_int_eq(s.severity, PDM_ERROR);
    ck_assert_str_eq(s.message, "no 'w' (5)");
    ck_assert_str_eq(s.hint, "a hint");
    ck_assert_str_eq(s.file, "m.pdmodel");
    ck_assert_str_eq(s.op_type, "conv2d");
    ck_assert_str_eq(s.var, "w");
    ck_assert_int_eq(s.offset, 12);
    ck_assert_int_eq(s.block, 1);
    ck_assert_int_eq(s.op_index, 3);
    /* No place at all. */
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_USAGE, NULL, NULL, "x"), PDM_INVALID_ARG);
    ck_assert_str_eq(s.file, "(null)");
    ck_assert_int_eq(s.block, -1);
}
END_TEST

START_TEST(statuses_and_counts)
{
    static seen s;
    pdm_diag_sink sink = {.fn = record, .user = &s};

    memset(&s, 0, sizeof s);
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_LG_WARN, NULL, NULL, "w"), PDM_OK);
    ck_assert_int_eq(s.severity, PDM_WARNING);
    ck_assert_int_eq(sink.worst, PDM_OK);
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_LG_OP_UNKNOWN, NULL, NULL, "u"), PDM_UNSUPPORTED);
    ck_assert_int_eq(sink.worst, PDM_UNSUPPORTED);
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_WIRE, NULL, NULL, "i"), PDM_INVALID_MODEL);
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_LG_FEATURE, NULL, NULL, "u"), PDM_UNSUPPORTED);
    ck_assert_int_eq(sink.worst, PDM_INVALID_MODEL);
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_FILE_EXISTS, NULL, NULL, "e"), PDM_EXISTS);
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_FILE_READ, NULL, NULL, "e"), PDM_IO);
    ck_assert_int_eq(sink.worst, PDM_IO);
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_INTERNAL, NULL, NULL, "e"), PDM_INTERNAL);
    ck_assert_int_eq(sink.worst, PDM_INTERNAL);
    ck_assert_uint_eq(sink.num_errors, 6);
    ck_assert_uint_eq(sink.num_warnings, 1);
    ck_assert_uint_eq(sink.num_invalid, 1);
    ck_assert_uint_eq(sink.num_unsupported, 2);
    ck_assert_int_eq(s.calls, 7);
}
END_TEST

START_TEST(notes_only_when_verbose)
{
    static seen s;
    pdm_diag_sink sink = {.fn = record, .user = &s};

    memset(&s, 0, sizeof s);
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_FILE_NOTE, NULL, NULL, "n"), PDM_OK);
    ck_assert_int_eq(s.calls, 0);
    sink.verbose = true;
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_FILE_NOTE, NULL, NULL, "n"), PDM_OK);
    ck_assert_int_eq(s.calls, 1);
    ck_assert_int_eq(s.severity, PDM_NOTE);
    ck_assert_uint_eq(sink.num_errors, 0);
}
END_TEST

START_TEST(without_a_callback_or_a_sink)
{
    pdm_diag_sink sink = {0};

    ck_assert_int_eq(pdm_diag(NULL, PDM_D_WIRE, NULL, NULL, "x"), PDM_INVALID_MODEL);
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_WIRE, NULL, NULL, "x"), PDM_INVALID_MODEL);
    ck_assert_uint_eq(sink.num_errors, 1);
    ck_assert_int_eq(pdm_diag(&sink, (pdm_diag_code)9999, NULL, NULL, "x"), PDM_INTERNAL);
}
END_TEST

START_TEST(hostile_names_become_printable)
{
    static seen s;
    pdm_diag_sink sink = {.fn = record, .user = &s};
    pdm_loc loc = PDM_NOWHERE;

    memset(&s, 0, sizeof s);
    loc.var = "a\xff\nb\x1b[31m";
    ck_assert_int_eq(pdm_diag(&sink, PDM_D_LG_NAME, &loc, NULL, "'%s' \xc3\xa9", loc.var),
                     PDM_INVALID_MODEL);
    ck_assert_str_eq(s.var, "a\\xff\\x0ab\\x1b[31m");
    ck_assert_str_eq(s.message, "'a\\xff\\x0ab\\x1b[31m' \xc3\xa9");
}
END_TEST

START_TEST(long_messages_are_cut_between_characters)
{
    static seen s;
    static char name[30000];
    pdm_diag_sink sink = {.fn = record, .user = &s};
    pdm_loc loc = PDM_NOWHERE;

    for (size_t shift = 0; shift < 4; shift++) {
        size_t n = shift;
        memset(name, 'x', shift);
        while (n + 3 < sizeof name) {
            memcpy(name + n, "\xe2\x82\xac", 3);
            n += 3;
        }
        name[n] = '\0';
        loc.op_type = name;
        pdm_status status = pdm_diag(&sink, PDM_D_LG_NAME, &loc, NULL, "%s", name);
        ck_assert_int_eq(status, PDM_INVALID_MODEL);
        const size_t length = strlen(s.message);
        ck_assert_uint_gt(length, 1000);
        ck_assert_uint_lt(length, 2048);
        ck_assert(pdm_utf8_valid(s.message, length));
        ck_assert_str_eq(s.message + length - 3, "...");
        ck_assert(pdm_utf8_valid(s.op_type, strlen(s.op_type)));
    }
}
END_TEST

START_TEST(the_catalogue_is_well_formed)
{
    for (int a = 0; a < PDM_D_COUNT; a++) {
        const char *id = pdm_diag_id((pdm_diag_code)a);
        ck_assert_uint_eq(strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(id));
        ck_assert_str_ne(pdm_diag_explanation((pdm_diag_code)a), "");
        for (int b = 0; b < a; b++)
            ck_assert_str_ne(id, pdm_diag_id((pdm_diag_code)b));
    }
}
END_TEST

Suite *pdm_suite_diag(void)
{
    Suite *suite = suite_create("diag");
    TCase *tc = tcase_create("diag");

    tcase_add_test(tc, everything_reaches_the_callback);
    tcase_add_test(tc, statuses_and_counts);
    tcase_add_test(tc, notes_only_when_verbose);
    tcase_add_test(tc, without_a_callback_or_a_sink);
    tcase_add_test(tc, hostile_names_become_printable);
    tcase_add_test(tc, long_messages_are_cut_between_characters);
    tcase_add_test(tc, the_catalogue_is_well_formed);
    suite_add_tcase(suite, tc);
    return suite;
}
