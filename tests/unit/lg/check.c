/* The structural checks that no fixture shows, and that checking stays linear. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "legacy_graph/read.h"
#include "unit/lg/support.h"

Suite *pdm_suite_lg_check(void);

static const int64_t dims[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static void expect_invalid(pdm_buf *program, const char *expected)
{
    pdm_lg_program *read;
    lg_log log = {0};

    ck_assert_int_eq(lg_read(program, &log, &read), PDM_INVALID_MODEL);
    lg_expect(&log, expected);
    pdm_buf_deinit(program);
    lg_log_deinit(&log);
}

static void expect_valid(pdm_buf *program)
{
    pdm_lg_program *read;
    lg_log log = {0};

    pdm_status status = lg_read(program, &log, &read);
    ck_assert_msg(status == PDM_OK, "%s", log.text.size ? log.text.data : "");
    pdm_lg_program_destroy(read);
    pdm_buf_deinit(program);
    lg_log_deinit(&log);
}

/* A block with the variable x and an op that has attrs (emptied; NULL: none). */
static void put_block(pdm_buf *program, int32_t idx, int32_t parent, pdm_buf *attrs)
{
    pdm_buf block = {0};

    put_indices(&block, idx, parent);
    put_var(&block, "x", dims, 2, false);
    put_op(&block, "while", "x", "x", attrs);
    put_message(program, 1, &block);
}

START_TEST(blocks_are_a_tree)
{
    static const struct {
        int32_t idx1, parent0, parent1, parent2;
        const char *expected;
    } rows[] = {
        {1, -1, 0, 1, NULL},
        {7, -1, 0, 1, "the block at position 1 says that it has index 7"},
        {1, 0, 0, 1, "bad parent: block 0 has parent 0"},
        {1, -1, -1, 1, "bad parent: block 1 has parent -1"},
        {1, -1, 2, 1, "bad parent: the parents of block 1 lead back to it"},
        {1, -1, 0, 3, "bad parent: block 2 has parent 3"},
        {1, -1, 0, INT32_MIN, "bad parent: block 2 has parent -2147483648"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pdm_buf program = {0};
        put_block(&program, 0, rows[i].parent0, NULL);
        put_block(&program, rows[i].idx1, rows[i].parent1, NULL);
        put_block(&program, 2, rows[i].parent2, NULL);
        if (rows[i].expected)
            expect_invalid(&program, rows[i].expected);
        else
            expect_valid(&program);
    }
}
END_TEST

/* The check goes on after a wrong parent of block 0, and never follows it. */
START_TEST(a_wrong_root_is_not_followed)
{
    static const int32_t parents[] = {0, 1, 1000000, INT32_MAX, INT32_MIN};

    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        pdm_buf program = {0}, block = {0};
        put_indices(&block, 0, parents[i]);
        put_op(&block, "relu", "nowhere", NULL, NULL);
        put_message(&program, 1, &block);
        put_indices(&block, 1, 0);
        put_op(&block, "relu", "nowhere", NULL, NULL);
        put_message(&program, 1, &block);
        expect_invalid(&program, "lg-dangling 1 0 relu nowhere");
    }
}
END_TEST

START_TEST(sub_blocks_lie_below_their_op)
{
    pdm_buf program = {0}, attrs = {0};

    put_block_attr(&attrs, "sub_block", 1);
    put_block(&program, 0, -1, &attrs);
    put_block_attr(&attrs, "sub_block", 2);
    put_block(&program, 1, 0, &attrs);
    put_block(&program, 2, 1, NULL);
    expect_valid(&program);

    put_block(&program, 0, -1, NULL);
    put_block_attr(&attrs, "sub_block", 0);
    put_block(&program, 1, 0, &attrs);
    expect_invalid(&program, "block cycle: sub_block is block 0, which contains the op");

    put_block(&program, 0, -1, NULL);
    put_block_attr(&attrs, "sub_block", 2);
    put_block(&program, 1, 0, &attrs);
    put_block(&program, 2, 0, NULL);
    expect_invalid(&program, "sub_block is block 2, which does not lie below block 1");

    put_block_attr(&attrs, "sub_block", 1);
    put_block(&program, 0, -1, &attrs);
    put_block_attr(&attrs, "sub_block", 2);
    put_block(&program, 1, 0, &attrs);
    put_block_attr(&attrs, "other", 2);
    put_block(&program, 2, 0, NULL);
    pdm_buf_deinit(&attrs);
    expect_invalid(&program, "does not lie below block 1");
}
END_TEST

START_TEST(a_sub_block_has_one_owner)
{
    pdm_buf program = {0}, attrs = {0}, block = {0};

    put_indices(&block, 0, -1);
    put_var(&block, "x", dims, 2, false);
    for (int i = 0; i < 2; i++) {
        put_block_attr(&attrs, "sub_block", 1);
        put_op(&block, "while", "x", "x", &attrs);
    }
    put_message(&program, 1, &block);
    put_block(&program, 1, 0, NULL);
    expect_invalid(&program, "sub_block is block 1, which belongs to op 0 (while) of block 0");
}
END_TEST

START_TEST(depth_is_limited_exactly)
{
    for (int deepest = PDM_LG_MAX_BLOCK_DEPTH; deepest <= PDM_LG_MAX_BLOCK_DEPTH + 1; deepest++) {
        pdm_buf program = {0}, attrs = {0};
        for (int i = 0; i <= deepest; i++) {
            if (i < deepest)
                put_block_attr(&attrs, "sub_block", i + 1);
            put_block(&program, i, i - 1, i < deepest ? &attrs : NULL);
        }
        if (deepest == PDM_LG_MAX_BLOCK_DEPTH)
            expect_valid(&program);
        else
            expect_invalid(&program, "limit 257 -1 - - @-1: blocks are nested 257 deep");
    }
}
END_TEST

START_TEST(names_occur_once)
{
    pdm_buf program = {0}, block = {0}, attrs = {0}, slot = {0}, op = {0};

    put_indices(&block, 0, -1);
    put_var(&block, "x", dims, 2, false);
    put_var(&block, "x", dims, 1, false);
    put_op(&block, "relu", "x", "x", NULL);
    put_message(&program, 1, &block);
    expect_invalid(&program, "lg-duplicate 0 -1 - x @-1: variable \"x\" is declared twice");

    put_int_attr(&attrs, "a", 1);
    put_int_attr(&attrs, "a", 2);
    put_block(&program, 0, -1, &attrs);
    expect_invalid(&program, "lg-duplicate 0 0 while a");

    /* Old releases write some attributes twice with the same value. */
    put_int_attr(&attrs, "a", 1);
    put_int_attr(&attrs, "a", 1);
    put_block(&program, 0, -1, &attrs);
    expect_valid(&program);

    put_indices(&block, 0, -1);
    put_text(&op, 3, "f");
    for (int i = 0; i < 2; i++) {
        put_text(&slot, 1, "X");
        put_message(&op, 1, &slot);
    }
    put_message(&block, 4, &op);
    put_message(&program, 1, &block);
    expect_invalid(&program, "lg-duplicate 0 0 f X @-1: the input slot \"X\" occurs twice");
}
END_TEST

START_TEST(dims_of_what_is_given)
{
    static const int64_t odd[] = {-1, -12};
    pdm_buf program = {0}, block = {0};

    for (int row = 0; row < 4; row++) {
        put_indices(&block, 0, -1);
        put_var(&block, "x", odd, row == 0 ? 1 : 2, row == 2);
        put_op(&block, row == 3 ? "feed" : "relu", row == 3 ? NULL : "x", "x", NULL);
        put_message(&program, 1, &block);
        if (row < 2)
            expect_valid(&program);
        else
            expect_invalid(&program, "dimension 1 of variable \"x\" is -12: below -1");
    }
    put_indices(&block, 0, -1);
    put_var(&block, "x", dims, 10, false);
    put_op(&block, "relu", "x", "x", NULL);
    put_message(&program, 1, &block);
    expect_invalid(&program, "variable \"x\" has 10 dimensions; the limit is 9");
}
END_TEST

START_TEST(arguments_are_declared)
{
    pdm_buf program = {0}, block = {0};

    /* Upward, and nothing for "@EMPTY@" or the column list of feed. */
    put_indices(&block, 0, -1);
    put_var(&block, "x", dims, 2, false);
    put_op(&block, "feed", "feed", "x", NULL);
    put_message(&program, 1, &block);
    put_indices(&block, 1, 0);
    put_op(&block, "relu", "x", "@EMPTY@", NULL);
    put_message(&program, 1, &block);
    expect_valid(&program);

    /* Never downward. */
    put_indices(&block, 0, -1);
    put_op(&block, "relu", "x", NULL, NULL);
    put_message(&program, 1, &block);
    put_indices(&block, 1, 0);
    put_var(&block, "x", dims, 2, false);
    put_message(&program, 1, &block);
    expect_invalid(&program, "lg-dangling 0 0 relu x @-1: input X names the variable \"x\"");

    /* A gradient block sees its forward block. */
    for (int forward = 0; forward < 2; forward++) {
        put_block(&program, 0, -1, NULL);
        put_indices(&block, 1, 0);
        put_var(&block, "y", dims, 2, false);
        put_message(&program, 1, &block);
        put_indices(&block, 2, 0);
        if (forward)
            put_int(&block, 5, 1);
        put_op(&block, "relu_grad", "y", "x", NULL);
        put_message(&program, 1, &block);
        if (forward)
            expect_valid(&program);
        else
            expect_invalid(&program, "lg-dangling 2 0 relu_grad y");
    }
}
END_TEST

/* Many ops in a block, each reading two variables; a quarter of them on names nobody declares. */
static double seconds_for(size_t n)
{
    pdm_buf program = {0}, block = {0};
    pdm_lg_program *read;
    struct timespec from, to;
    lg_log log = {0};
    char in[32], out[32];

    put_indices(&block, 0, -1);
    for (size_t i = 0; i < n; i++) {
        snprintf(out, sizeof out, "v%zu", i);
        put_var(&block, out, dims, 2, false);
    }
    for (size_t i = 0; i < n; i++) {
        snprintf(in, sizeof in, "%s%zu", i % 4 ? "v" : "u", i / 2);
        snprintf(out, sizeof out, "v%zu", i);
        put_op(&block, "relu", in, out, NULL);
    }
    put_message(&program, 1, &block);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    lg_log_init(&log);
    ck_assert_int_eq(pdm_lg_read(program.data, program.size, "model", NULL, &read),
                     PDM_INVALID_MODEL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

START_TEST(time_grows_with_the_size)
{
    double small = seconds_for(10000), large = seconds_for(160000);

    /* Linear is 16; quadratic would be 256. Caches and a busy machine take their part. */
    ck_assert_msg(large < 100 * (small + 0.001), "%f s, then %f s", small, large);
}
END_TEST

Suite *pdm_suite_lg_check(void)
{
    Suite *suite = suite_create("lg_check");
    TCase *tc = tcase_create("structure");

    tcase_add_test(tc, blocks_are_a_tree);
    tcase_add_test(tc, a_wrong_root_is_not_followed);
    tcase_add_test(tc, sub_blocks_lie_below_their_op);
    tcase_add_test(tc, a_sub_block_has_one_owner);
    tcase_add_test(tc, depth_is_limited_exactly);
    tcase_add_test(tc, names_occur_once);
    tcase_add_test(tc, dims_of_what_is_given);
    tcase_add_test(tc, arguments_are_declared);
    suite_add_tcase(suite, tc);

    tc = tcase_create("time");
    tcase_add_test(tc, time_grows_with_the_size);
    suite_add_tcase(suite, tc);
    return suite;
}
