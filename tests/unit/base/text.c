/* Text buffer (numbers, JSON strings), UTF-8, element types. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/decimal.h"
#include "base/dtype.h"
#include "base/utf8.h"
#include "unit/comma_locale.h"
#include "unit/must.h"

Suite *pdm_suite_text(void);

START_TEST(buf_grows_and_stays_terminated)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    for (int i = 0; i < 10000; i++) {
        pdm_buf_printf(&buf, "%d,%s;", i, "abc");
        must(buf.data[buf.size] == '\0');
    }
    ck_assert(pdm_buf_ok(&buf));
    ck_assert_uint_eq(buf.size, strlen(buf.data));
    ck_assert_int_eq(strncmp(buf.data, "0,abc;1,abc;", 12), 0);
    ck_assert_str_eq(buf.data + buf.size - 9, "9999,abc;");
    pdm_buf_deinit(&buf);
}
END_TEST

START_TEST(buf_printf_of_any_length)
{
    char long_text[2000];
    pdm_buf buf;

    for (size_t n = 0; n < sizeof long_text; n += 13) {
        memset(long_text, 'x', n);
        long_text[n] = '\0';
        pdm_buf_init(&buf);
        pdm_buf_printf(&buf, "<%s>", long_text);
        ck_assert_uint_eq(buf.size, n + 2);
        ck_assert_int_eq(buf.data[n + 1], '>');
        pdm_buf_deinit(&buf);
    }
}
END_TEST

START_TEST(buf_failure_is_sticky)
{
    volatile size_t too_much = SIZE_MAX; /* or the compiler objects */
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_buf_puts(&buf, "kept");
    pdm_buf_put(&buf, "", too_much);
    ck_assert(!pdm_buf_ok(&buf));
    pdm_buf_puts(&buf, "dropped");
    pdm_buf_printf(&buf, "%d", 1);
    pdm_buf_double(&buf, 1.5);
    ck_assert_uint_eq(buf.size, 4);
    ck_assert_ptr_null(pdm_buf_take(&buf));
    ck_assert(pdm_buf_ok(&buf)); /* taken: empty again */
}
END_TEST

START_TEST(buf_take_of_nothing_is_an_empty_text)
{
    pdm_buf buf;
    char *text;

    pdm_buf_init(&buf);
    text = pdm_buf_take(&buf);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

START_TEST(integers)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_buf_i64(&buf, 0);
    pdm_buf_putc(&buf, ' ');
    pdm_buf_i64(&buf, -1);
    pdm_buf_putc(&buf, ' ');
    pdm_buf_i64(&buf, INT64_MAX);
    pdm_buf_putc(&buf, ' ');
    pdm_buf_i64(&buf, INT64_MIN);
    ck_assert_str_eq(buf.data, "0 -1 9223372036854775807 -9223372036854775808");
    pdm_buf_deinit(&buf);
}
END_TEST

static void check_double(double value, const char *expected)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_buf_double(&buf, value);
    ck_assert_str_eq(buf.data, expected);
    pdm_buf_deinit(&buf);
}

/* The texts that Paddle 3.3.1 writes into .json for these values. */
START_TEST(doubles_as_the_framework_writes_them)
{
    check_double(0.0, "0.0");
    check_double(-0.0, "-0.0");
    check_double(3, "3.0");
    check_double(-100, "-100.0");
    check_double(1e5, "100000.0");
    check_double(0.1, "0.1");
    check_double((double)0.1f, "0.10000000149011612");
    check_double(123456.789, "123456.789");
    check_double(1e14, "100000000000000.0");
    check_double(123456789012345.0, "123456789012345.0");
    check_double(999999999999999.9, "999999999999999.9");
    check_double(1e15, "1e+15");
    check_double(1.5e15, "1.5e+15");
    check_double(123456.789e10, "1.23456789e+15");
    check_double(1234567890123456.0, "1.234567890123456e+15");
    check_double(9007199254740993.0, "9.007199254740992e+15");
    check_double(12345678901234567.0, "1.2345678901234568e+16");
    check_double(123456789012345680.0, "1.2345678901234568e+17");
    check_double(1e16, "1e+16");
    check_double(1e21, "1e+21");
    check_double(1e22, "1e+22");
    check_double(0.001, "0.001");
    check_double(0.0001, "0.0001");
    check_double(0.00015, "0.00015");
    check_double(0.00012345, "0.00012345");
    check_double(0.00001, "1e-05");
    check_double(0.000015, "1.5e-05");
    check_double(0.000099, "9.9e-05");
    check_double(0.000012345, "1.2345e-05");
    check_double(5e-324, "5e-324");
    check_double(-DBL_MAX, "-1.7976931348623157e+308");
    check_double(DBL_MIN, "2.2250738585072014e-308");
    check_double((double)FLT_MAX, "3.4028234663852886e+38");
    check_double((double)1e-5f, "9.999999747378752e-06");
    check_double((double)1e-6f, "9.999999974752427e-07");
}
END_TEST

/* Here it misses the shortest or the nearest digits, and so do we. */
START_TEST(doubles_that_the_framework_writes_oddly)
{
    check_double(-97.526885986328125, "-97.52688598632813");
    check_double(-196.636260986328125, "-196.63626098632813");
    check_double(166.967071533203125, "166.96707153320313");
    check_double(-1.9027907217342648e+20, "-1.9027907217342647e+20");
    check_double(-4.421074407758234e+16, "-4.4210744077582336e+16");
    check_double(6.579411944031253e-24, "6.5794119440312534e-24");
    check_double(4.08444483542188e+17, "4.0844448354218803e+17");
}
END_TEST

START_TEST(doubles_that_are_no_numbers)
{
    check_double(HUGE_VAL, "inf");
    check_double(-HUGE_VAL, "-inf");
    check_double(nan(""), "nan");
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int digits_in(const char *text)
{
    int digits = 0, zeros = 0;

    for (; *text && *text != 'e'; text++) {
        if (*text == '0')
            zeros += digits > 0;
        else if (*text >= '1' && *text <= '9') {
            digits += zeros + 1;
            zeros = 0;
        }
    }
    return digits;
}

/* True when no text with one digit less reads back. */
static bool check_round_trip(pdm_buf *buf, double value)
{
    char shorter[64];

    buf->size = 0;
    pdm_buf_double(buf, value);
    const double back = strtod(buf->data, NULL);
    if (memcmp(&back, &value, sizeof value) != 0)
        ck_abort_msg("%.17g became %s", value, buf->data);
    const int digits = digits_in(buf->data);
    must(digits <= 17);
    if (digits < 2)
        return true;
    snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
    return strtod(shorter, NULL) != value;
}

START_TEST(random_doubles_round_trip)
{
    uint64_t state = 0x123456789abcdefu;
    int longer = 0;
    pdm_buf buf;

    pdm_buf_init(&buf);
    for (int i = 0; i < 100000; i++) {
        const uint64_t bits = next_random(&state);
        double value;
        float narrow;
        if (i % 2) {
            const uint32_t half = (uint32_t)(bits >> 16);
            memcpy(&narrow, &half, sizeof narrow);
            value = (double)narrow;
        } else {
            memcpy(&value, &bits, sizeof value);
        }
        if (isfinite(value))
            longer += !check_round_trip(&buf, value);
    }
    ck_assert_int_lt(longer, 1000);
    pdm_buf_deinit(&buf);
}
END_TEST

/* text begins with the number value, and goes on with rest. */
static void check_read(const char *text, double value, const char *rest)
{
    const char *end;

    ck_assert_double_eq(pdm_decimal_read(text, &end), value);
    ck_assert_str_eq(end, rest);
}

static void check_reads(void)
{
    char many[1100];

    check_read("2.5", 2.5, "");
    check_read("-1e-05", -1e-5, "");
    check_read("1,5", 1, ",5");
    check_read("1.5,2", 1.5, ",2");
    check_read("1.5.5", 1.5, ".5");
    check_read(".25]", 0.25, "]");
    check_read("x.5", 0, "x.5");
    check_read("", 0, "");
    memset(many, '7', sizeof many);
    memcpy(many, "1.5 ", 4);
    many[sizeof many - 1] = '\0';
    check_read(many, 1.5, many + 3);
}

START_TEST(doubles_are_read_in_the_c_locale)
{
    check_reads();
}
END_TEST

START_TEST(doubles_do_not_follow_the_locale)
{
    take_comma_locale();
    check_double(1.5, "1.5");
    check_double(1234567.25, "1234567.25");
    check_double((double)0.1f, "0.10000000149011612");
    check_double(1.25e-7, "1.25e-07");
    check_double(1.5e300, "1.5e+300");
    check_double(5e-324, "5e-324");
    check_reads();
    setlocale(LC_NUMERIC, "C");
}
END_TEST

static void check_json(const char *text, size_t size, const char *expected)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_buf_json_string(&buf, text, size);
    ck_assert_str_eq(buf.data, expected);
    pdm_buf_deinit(&buf);
}

START_TEST(json_strings)
{
    check_json("", 0, "\"\"");
    check_json("plain/path", 10, "\"plain/path\"");
    check_json("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
    check_json("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
    check_json("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\"");
    check_json("\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    check_json("\"", 1, "\"\\\"\"");
}
END_TEST

START_TEST(utf8_validity)
{
    static const char *const good[] = {
        "",
        "abc",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "a\xc3\xa9z",
    };
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xc3(",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xe2\x82",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "ok\xfe",
        "\xf0\x9f\x98",
        "\xe2\x28\xa1",
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(pdm_utf8_valid(good[i], strlen(good[i])), "good text %zu", i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!pdm_utf8_valid(bad[i], strlen(bad[i])), "bad text %zu", i);
    /* Cut off exactly at the end that was given, not at a NUL. */
    ck_assert(!pdm_utf8_valid("\xc3\xa9", 1));
    ck_assert(pdm_utf8_valid("a\0b", 3));
}
END_TEST

START_TEST(utf8_encodes_every_scalar_value)
{
    char out[4];

    for (unsigned c = 0; c <= 0x10ffff; c++) {
        const size_t n = pdm_utf8_encode(c, out);
        if (c >= 0xd800 && c <= 0xdfff) {
            ck_assert_uint_eq(n, 0);
            continue;
        }
        if (n == 0 || !pdm_utf8_valid(out, n))
            ck_abort_msg("U+%04X", c);
    }
    ck_assert_uint_eq(pdm_utf8_encode(0x110000, out), 0);
    ck_assert_uint_eq(pdm_utf8_encode(0x20ac, out), 3);
    ck_assert_int_eq(memcmp(out, "\xe2\x82\xac", 3), 0);
}
END_TEST

START_TEST(dtype_table_round_trips)
{
    for (int i = 1; i < PDM_DTYPE_COUNT; i++) {
        const pdm_dtype d = (pdm_dtype)i;
        const int legacy = pdm_dtype_to_legacy(d);
        ck_assert_int_eq(pdm_dtype_from_name(pdm_dtype_name(d)), d);
        ck_assert_int_eq(pdm_dtype_from_text(pdm_dtype_text(d), strlen(pdm_dtype_text(d))), d);
        if (legacy >= 0)
            ck_assert_int_eq(pdm_dtype_from_legacy(legacy), d);
        ck_assert_int_le(pdm_dtype_is_float(d) + pdm_dtype_is_int(d) + pdm_dtype_is_complex(d), 1);
        ck_assert_uint_le(pdm_dtype_size(d), 16);
    }
}
END_TEST

START_TEST(dtype_facts)
{
    ck_assert_str_eq(pdm_dtype_name(PDM_UNDEFINED), "Undefined(ALL_DTYPE)");
    ck_assert_str_eq(pdm_dtype_text(PDM_UNDEFINED), "undefined");
    ck_assert_ptr_null(pdm_dtype_tag(PDM_UNDEFINED));
    ck_assert_uint_eq(pdm_dtype_size(PDM_UNDEFINED), 0);
    ck_assert_int_eq(pdm_dtype_to_legacy(PDM_UNDEFINED), -1);
    ck_assert_int_eq(pdm_dtype_from_legacy(5), PDM_F32);
    ck_assert_int_eq(pdm_dtype_from_legacy(0), PDM_BOOL);
    ck_assert_int_eq(pdm_dtype_from_legacy(22), PDM_BF16);
    ck_assert_int_eq(pdm_dtype_from_legacy(7), PDM_UNDEFINED); /* a kind of variable */
    ck_assert_int_eq(pdm_dtype_from_legacy(-1), PDM_UNDEFINED);
    ck_assert_int_eq(pdm_dtype_from_legacy(1000), PDM_UNDEFINED);
    ck_assert_int_eq(pdm_dtype_from_name("float"), PDM_UNDEFINED);
    ck_assert_int_eq(pdm_dtype_from_text("f32x", 3), PDM_F32);
    ck_assert_int_eq(pdm_dtype_from_text("f3", 2), PDM_UNDEFINED);
    ck_assert_str_eq(pdm_dtype_tag(PDM_U8), "0.t_ui8");
    ck_assert_uint_eq(pdm_dtype_size(PDM_C128), 16);
    ck_assert_str_eq(pdm_dtype_name((pdm_dtype)999), "Undefined(ALL_DTYPE)");
}
END_TEST

Suite *pdm_suite_text(void)
{
    Suite *suite = suite_create("text");
    TCase *tc = tcase_create("text");

    tcase_add_test(tc, buf_grows_and_stays_terminated);
    tcase_add_test(tc, buf_printf_of_any_length);
    tcase_add_test(tc, buf_failure_is_sticky);
    tcase_add_test(tc, buf_take_of_nothing_is_an_empty_text);
    tcase_add_test(tc, integers);
    tcase_add_test(tc, doubles_as_the_framework_writes_them);
    tcase_add_test(tc, doubles_that_the_framework_writes_oddly);
    tcase_add_test(tc, doubles_that_are_no_numbers);
    tcase_add_test(tc, random_doubles_round_trip);
    tcase_add_test(tc, doubles_do_not_follow_the_locale);
    tcase_add_test(tc, doubles_are_read_in_the_c_locale);
    tcase_add_test(tc, json_strings);
    tcase_add_test(tc, utf8_validity);
    tcase_add_test(tc, utf8_encodes_every_scalar_value);
    tcase_add_test(tc, dtype_table_round_trips);
    tcase_add_test(tc, dtype_facts);
    suite_add_tcase(suite, tc);
    return suite;
}
