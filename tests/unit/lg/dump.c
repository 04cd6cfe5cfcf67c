/* The printed forms of a program. */
#include "legacy_graph/dump.h"

#include <check.h>
#include <string.h>

#include "unit/lg/support.h"

Suite *pdm_suite_lg_dump(void);

/* A while op with its block, and a block that nobody owns. */
static pdm_lg_program *make_program(void)
{
    static const int64_t dims[] = {-1, 3};
    pdm_buf program = {0}, block = {0}, attrs = {0}, attr = {0}, version = {0};
    pdm_lg_program *read;
    lg_log log = {0};

    put_indices(&block, 0, -1);
    put_var(&block, "w", dims, 2, false);
    put_var(&block, "x\"y", dims, 0, false);
    put_text(&attr, 1, "names");
    put_int(&attr, 2, PDM_LG_STRINGS);
    put_text(&attr, 8, "a\nb");
    put_text(&attr, 8, "\xc3\xa9");
    put_message(&attrs, 4, &attr);
    put_block_attr(&attrs, "sub_block", 1);
    put_op(&block, "while", "w", "x\"y", &attrs);
    put_message(&program, 1, &block);
    put_indices(&block, 1, 0);
    put_int_attr(&attrs, "axis", -1);
    put_op(&block, "relu", "w", "w", &attrs);
    put_message(&program, 1, &block);
    put_indices(&block, 2, 0);
    put_message(&program, 1, &block);
    put_int(&version, 1, 2006002);
    put_message(&program, 4, &version);
    ck_assert_int_eq(lg_read(&program, &log, &read), PDM_OK);
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
    return read;
}

START_TEST(text_nests_blocks)
{
    static const char expected[] =
        "program version 2.6.2\n"
        "block 0 {\n"
        "  var w: DENSE_TENSOR f32[-1, 3]\n"
        "  var x\"y: DENSE_TENSOR f32[]\n"
        "  (Out=[x\"y]) = while(X=[w]) "
        "{names: STRINGS = [\"a\\nb\", \"\xc3\xa9\"], sub_block: BLOCK = 1}\n"
        "    block 1 in 0 {\n"
        "      (Out=[w]) = relu(X=[w]) {axis: INT = -1}\n"
        "    }\n"
        "}\n"
        "block 2 in 0 {\n"
        "}\n";
    pdm_lg_program *program = make_program();
    pdm_buf text;

    pdm_buf_init(&text);
    pdm_lg_dump_text(program, &text);
    ck_assert(pdm_buf_ok(&text));
    ck_assert_str_eq(text.data, expected);
    pdm_buf_deinit(&text);
    pdm_lg_program_destroy(program);
}
END_TEST

START_TEST(dot_nests_clusters)
{
    static const char expected[] =
        "digraph program {\n"
        "  subgraph cluster_0 {\n"
        "    label=\"block 0\";\n"
        "    v0_0 [shape=ellipse, label=\"w\\nDENSE_TENSOR f32[-1, 3]\"];\n"
        "    v0_1 [shape=ellipse, label=\"x\\\"y\\nDENSE_TENSOR f32[]\"];\n"
        "    o0_0 [shape=box, label=\"while\"];\n"
        "    v0_0 -> o0_0 [label=\"X\"];\n"
        "    o0_0 -> v0_1 [label=\"Out\"];\n"
        "    subgraph cluster_1 {\n"
        "      label=\"block 1\";\n"
        "      o1_0 [shape=box, label=\"relu\"];\n"
        "      v0_0 -> o1_0 [label=\"X\"];\n"
        "      o1_0 -> v0_0 [label=\"Out\"];\n"
        "    }\n"
        "  }\n"
        "  subgraph cluster_2 {\n"
        "    label=\"block 2\";\n"
        "  }\n"
        "}\n";
    pdm_lg_program *program = make_program();
    pdm_buf text;

    pdm_buf_init(&text);
    pdm_lg_dump_dot(program, &text);
    ck_assert(pdm_buf_ok(&text));
    ck_assert_str_eq(text.data, expected);
    pdm_buf_deinit(&text);
    pdm_lg_program_destroy(program);
}
END_TEST

Suite *pdm_suite_lg_dump(void)
{
    Suite *suite = suite_create("lg_dump");
    TCase *tc = tcase_create("forms");

    tcase_add_test(tc, text_nests_blocks);
    tcase_add_test(tc, dot_nests_clusters);
    suite_add_tcase(suite, tc);
    return suite;
}
