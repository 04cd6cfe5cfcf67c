#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/json_scan.h"

Suite *pdm_suite_json_scan(void);

static void hear(void *user, const pdm_diagnostic *d)
{
    snprintf(user, 256, "%d:%d %s", (int)d->line, (int)d->column, d->message);
}

static pdm_status scan(const char *text, size_t size, char *said, pdm_ir_json_index *out)
{
    pdm_diag_sink sink = {.fn = hear, .user = said};

    said[0] = '\0';
    return pdm_ir_json_scan(text, size, "test", &sink, out);
}

static const struct {
    const char *text, *wanted; /* line:column and a part of the message */
} broken[] = {
    {"", "1:1 |empty"},
    {" \n ", "2:2 |empty"},
    {"\xef\xbb\xbf", "1:1 |empty"},
    {"{", "1:2 |ends early"},
    {"{]", "1:2 |key in quotes"},
    {"[1,]", "1:4 |value is expected"},
    {"[,1]", "1:2 |value is expected"},
    {"[1 2]", "1:4 |',' or ']'"},
    {"{\"a\":1,}", "1:8 |key in quotes"},
    {"{\"a\" 1}", "1:6 |':' is expected"},
    {"{\"a\":1 \"b\":2}", "1:8 |',' or '}'"},
    {"{a:1}", "1:2 |key in quotes"},
    {"{\n  \"a\": tru\n}", "2:8 |value is expected"},
    {"[NaN]", "1:2 |value is expected"},
    {"[Infinity]", "1:2 |value is expected"},
    {"[-Infinity]", "1:3 |digit"},
    {"[01]", "1:3 |',' or ']'"},
    {"[1.]", "1:4 |decimal point"},
    {"[.5]", "1:2 |value is expected"},
    {"[+1]", "1:2 |value is expected"},
    {"[1e]", "1:4 |exponent"},
    {"[1e+]", "1:5 |exponent"},
    {"[0x1]", "1:3 |',' or ']'"},
    {"[1] x", "1:5 |after the end"},
    {"[1]]", "1:4 |after the end"},
    {"// c\n[1]", "1:1 |value is expected"},
    {"[\"a]", "1:5 |inside a string"},
    {"[\"a\tb\"]", "1:4 |control character"},
    {"[\"a\\x\"]", "1:4 |unknown escape"},
    {"[\"\\u12g4\"]", "1:3 |four hexadecimal"},
    {"[\"\\u0000\"]", "1:3 |u0000"},
    {"[\"\\ud800\"]", "1:3 |surrogate"},
    {"[\"\\ud800\\u0041\"]", "1:3 |surrogate"},
    {"[\"\\udc00\"]", "1:3 |surrogate"},
    {"[\"\xff\"]", "1:3 |UTF-8"},
    {"[\"\xc3\"]", "1:3 |UTF-8"},
    {"[\"\xed\xa0\x80\"]", "1:3 |UTF-8"},
    {"[\"\xe8\xbe\x93\xe5\x85\xa5\" 1]", "1:7 |',' or ']'"},
    {"[1234567890123456789012345678901234567890123456789012345678901]", "1:2 |more than 60"},
    {"{\"a\":{\"b\":[1,2,{\"c\":\"d\"", "1:24 |ends early"},
};

START_TEST(refuses)
{
    pdm_ir_json_index index;
    char said[256], *bar;

    ck_assert_int_eq(scan(broken[_i].text, strlen(broken[_i].text), said, &index),
                     PDM_INVALID_MODEL);
    pdm_ir_json_index_deinit(&index);
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s", broken[_i].wanted);
    bar = strchr(wanted, '|');
    *bar = '\0';
    ck_assert_msg(strncmp(said, wanted, strlen(wanted)) == 0 && strstr(said, bar + 1),
                  "%s: wanted %s...%s, got %s", broken[_i].text, wanted, bar + 1, said);
}
END_TEST

static const char *const sound[] = {
    "0",
    "-0",
    "-1.5e+10",
    "1E5",
    "\"\\u00e9\\ud83d\\ude00\\/\\b\"",
    "[]",
    "{}",
    " [ ] ",
    "\xef\xbb\xbf{\"a\":null}",
    "[true,false,null]",
    "{\"\":{\"\":[[[]]]}}",
    "\"\x7f\"",
    "[1e400]",
};

START_TEST(accepts)
{
    pdm_ir_json_index index;
    char said[256];

    ck_assert_msg(scan(sound[_i], strlen(sound[_i]), said, &index) == PDM_OK, "%s: %s", sound[_i],
                  said);
    ck_assert_uint_eq(index.nodes[0].next, index.count);
    pdm_ir_json_index_deinit(&index);
}
END_TEST

START_TEST(indexes)
{
    static const char text[] = "{ \"a\" : [1, {\"b\":\"x\"}, []], \"c\": -2.5 }";
    static const struct {
        pdm_ir_json_kind kind;
        const char *text;
        uint32_t next;
        unsigned height;
    } wanted[] = {
        {PDM_IR_JSON_OBJECT, text, 10, 3},
        {PDM_IR_JSON_KEY, "\"a\"", 2, 0},
        {PDM_IR_JSON_ARRAY, "[1, {\"b\":\"x\"}, []]", 8, 2},
        {PDM_IR_JSON_NUMBER, "1", 4, 0},
        {PDM_IR_JSON_OBJECT, "{\"b\":\"x\"}", 7, 1},
        {PDM_IR_JSON_KEY, "\"b\"", 6, 0},
        {PDM_IR_JSON_STRING, "\"x\"", 7, 0},
        {PDM_IR_JSON_ARRAY, "[]", 8, 0},
        {PDM_IR_JSON_KEY, "\"c\"", 9, 0},
        {PDM_IR_JSON_NUMBER, "-2.5", 10, 0},
    };
    pdm_ir_json_index index;
    char said[256];

    ck_assert_int_eq(scan(text, sizeof text - 1, said, &index), PDM_OK);
    ck_assert_uint_eq(index.count, sizeof wanted / sizeof wanted[0]);
    for (size_t i = 0; i < index.count; i++) {
        const pdm_ir_json_node *n = &index.nodes[i];
        ck_assert_int_eq(n->kind, wanted[i].kind);
        ck_assert_uint_eq(n->end - n->offset, strlen(wanted[i].text));
        ck_assert(memcmp(text + n->offset, wanted[i].text, n->end - n->offset) == 0);
        ck_assert_uint_eq(n->next, wanted[i].next);
        ck_assert_uint_eq(n->height, wanted[i].height);
    }
    pdm_ir_json_index_deinit(&index);
}
END_TEST

START_TEST(depth)
{
    enum { MANY = 100000 };
    char *text = malloc(2 * MANY), said[256];
    pdm_ir_json_index index;

    memset(text, '[', MANY);
    memset(text + MANY, ']', MANY);
    ck_assert_int_eq(scan(text, 2 * MANY, said, &index), PDM_INVALID_MODEL);
    pdm_ir_json_index_deinit(&index);
    ck_assert_str_eq(said, "1:2049 JSON: values are nested more than 2048 deep");
    ck_assert_int_eq(scan(text + MANY - 2048, 2 * 2048, said, &index), PDM_OK);
    ck_assert_uint_eq(index.nodes[0].height, 2047);
    pdm_ir_json_index_deinit(&index);
    free(text);
}
END_TEST

START_TEST(places)
{
    static const char text[] = "[1,\n \"\xc3\xa9\xc3\xa9\", 2,\r\n3]";
    pdm_ir_json_index index;
    int64_t line, column;
    char said[256];

    ck_assert_int_eq(scan(text, sizeof text - 1, said, &index), PDM_OK);
    for (int pass = 0; pass < 2; pass++) {
        pdm_ir_json_place(&index, index.nodes[3].offset, &line, &column); /* 2 */
        ck_assert_int_eq(line, 2);
        ck_assert_int_eq(column, 8);
        pdm_ir_json_place(&index, index.nodes[4].offset, &line, &column); /* 3 */
        ck_assert_int_eq(line, 3);
        ck_assert_int_eq(column, 1);
        pdm_ir_json_place(&index, index.nodes[1].offset, &line, &column); /* 1, going back */
        ck_assert_int_eq(line, 1);
        ck_assert_int_eq(column, 2);
    }
    pdm_ir_json_index_deinit(&index);
}
END_TEST

/* Places in a long text, in any order. */
START_TEST(far_places)
{
    enum { LINES = 3000 };
    char *text = malloc(LINES * 20 + 2), said[256];
    pdm_ir_json_index index;
    int64_t line, column;
    size_t size = 0;

    text[size++] = '[';
    for (int i = 0; i < LINES; i++)
        size += (size_t)sprintf(text + size, "%s\"\xc3\xa9\", %d%s", i ? " " : "", i,
                                i + 1 < LINES ? ",\n" : "]");
    ck_assert_int_eq(scan(text, size, said, &index), PDM_OK);
    for (int k = 0; k < LINES; k++) {
        const int i = (int)((unsigned)k * 1361u % LINES);
        pdm_ir_json_place(&index, index.nodes[2 + 2 * i].offset, &line, &column);
        ck_assert_int_eq(line, i + 1);
        ck_assert_int_eq(column, 7);
    }
    pdm_ir_json_index_deinit(&index);
    free(text);
}
END_TEST

Suite *pdm_suite_json_scan(void)
{
    Suite *suite = suite_create("json_scan");
    TCase *tests = tcase_create("json_scan");

    tcase_add_loop_test(tests, refuses, 0, (int)(sizeof broken / sizeof broken[0]));
    tcase_add_loop_test(tests, accepts, 0, (int)(sizeof sound / sizeof sound[0]));
    tcase_add_test(tests, indexes);
    tcase_add_test(tests, depth);
    tcase_add_test(tests, places);
    tcase_add_test(tests, far_places);
    suite_add_tcase(suite, tests);
    return suite;
}
