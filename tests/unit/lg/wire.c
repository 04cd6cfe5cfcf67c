/* The scan of the wire format: what is refused, where, and that nothing can make it read outside.
 */
#include "legacy_graph/wire.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "unit/lg/support.h"
#include "unit/must.h"

Suite *pdm_suite_lg_wire(void);

static pdm_status scan(const pdm_buf *bytes, lg_log *log)
{
    pdm_status status;
    uint8_t *exact = malloc(bytes->size + 1); /* so that a checker of memory sees every overrun */

    must(exact);
    memcpy(exact, bytes->data, bytes->size);
    exact = realloc(exact, bytes->size ? bytes->size : 1);
    lg_log_deinit(log);
    lg_log_init(log);
    status = pdm_lg_wire_scan(exact, bytes->size, "model", &log->sink);
    free(exact);
    return status;
}

/* A whole program that has most kinds of fields. */
static void put_program(pdm_buf *to)
{
    const int64_t dims[] = {-1, 3};
    pdm_buf block = {0}, attrs = {0}, attr = {0}, version = {0};

    put_indices(&block, 0, -1);
    put_var(&block, "x", dims, 2, false);
    put_text(&attr, 1, "a");
    put_int(&attr, 2, PDM_LG_FLOATS);
    put_float(&attr, 7, 1.5f);
    put_float(&attr, 7, 2.5f);
    put_message(&attrs, 4, &attr);
    put_int_attr(&attrs, "axis", -1);
    put_op(&block, "relu", "x", "x", &attrs);
    put_message(to, 1, &block);
    put_int(&version, 1, 2006002);
    put_message(to, 4, &version);
}

START_TEST(a_whole_program_passes)
{
    pdm_buf program = {0};
    lg_log log = {0};

    put_program(&program);
    ck_assert_int_eq(scan(&program, &log), PDM_OK);
    ck_assert_uint_eq(log.text.size, 0);
    ck_assert(pdm_lg_wire_plausible((const uint8_t *)program.data, program.size));
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

/* A cut anywhere but between top-level fields is seen, with an offset inside the file. */
START_TEST(every_cut_is_found)
{
    pdm_buf program = {0}, cut = {0};
    lg_log log = {0};

    put_program(&program);
    size_t block_end = program.size - 6; /* the version takes 6 bytes */
    for (size_t n = 1; n < program.size; n++) {
        cut.size = 0;
        pdm_buf_put(&cut, program.data, n);
        if (n == block_end) {
            ck_assert_int_eq(scan(&cut, &log), PDM_OK);
            continue;
        }
        ck_assert_int_eq(scan(&cut, &log), PDM_INVALID_MODEL);
        lg_expect(&log, "the end of the file, which is truncated");
        ck_assert_uint_eq(log.sink.num_errors, 1);
    }
    pdm_buf_deinit(&program);
    pdm_buf_deinit(&cut);
    lg_log_deinit(&log);
}
END_TEST

/* Any single byte changed: a verdict, never a crash. */
START_TEST(every_changed_byte_is_survived)
{
    pdm_buf program = {0};
    lg_log log = {0};

    put_program(&program);
    for (size_t i = 0; i < program.size; i++) {
        char kept = program.data[i];
        for (int value = 0; value < 256; value++) {
            program.data[i] = (char)value;
            pdm_status status = scan(&program, &log);
            must(status == PDM_OK || status == PDM_INVALID_MODEL);
            must(log.sink.num_errors == (status == PDM_OK ? 0 : 1));
            pdm_lg_wire_plausible((const uint8_t *)program.data, program.size);
        }
        program.data[i] = kept;
    }
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

#define BYTES(text) text, sizeof text - 1

/* What follows the block head "08 00 10 00" in block 0, or stands alone at top level (top). */
static const struct broken {
    bool top;
    const char *bytes;
    size_t size;
    const char *expected;
} broken[] = {
    {true, BYTES("\x0a\xff\xff\xff\xff\x07\x08"), "the length 2147483647 of ProgramDesc.blocks"},
    {true, BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "is longer than 5 bytes"},
    {true, BYTES("\x22\x00\x00\x00"), "@2: 2 zero bytes after the end of the program"},
    {true, BYTES("\x22\x00\x00\x01"), "field number 0 in ProgramDesc"},
    {true, BYTES("\x22\x02\x08\x80"), "version in Version reaches past the end of the file"},
    {true, BYTES("\x22\x0c\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
     "version in Version is longer than 10 bytes"},
    {true, BYTES("\x0a\x00"), "BlockDesc at bytes 2 to 2 lacks its required field idx"},
    {true, BYTES("\x0a\x02\x08\x00"), "lacks its required field parent_idx"},
    {true, BYTES("\x0b\x0c"), "has wire type 3 (a group, which is not supported)"},
    {true, BYTES("\x0c"), "has wire type 4 (a group"},
    {true, BYTES("\x0e"), "has wire type 6 (undefined)"},
    {true, BYTES("\x08\x01"), "ProgramDesc.blocks has wire type 0 instead of 2"},
    {true, BYTES("\xf8\xff\xff\xff\x7f\x01"), "is too large"},
    {false, BYTES("\x28"), "forward_block_idx in BlockDesc reaches past"},
    {false, BYTES("\x2a\x01\x00"), "BlockDesc.forward_block_idx is a number but has a length"},
    {false, BYTES("\x22\x00"), "lg-wire 0 0 - - @8: OpDesc at bytes 8 to 8 lacks"},
    {false, BYTES("\x22\x03\x1a\x02\x61"), "the length 2 of OpDesc.type goes 1 bytes past"},
    {false, BYTES("\x22\x08\x1a\x01\x61\x22\x03\x10\x00\x0a"), "a length in OpDesc.Attr reaches"},
    {false, BYTES("\x22\x0d\x1a\x01\x61\x22\x08\x0a\x01\x62\x10\x04\x3a\x01\x00"),
     "packed numbers in OpDesc.Attr.floats have a length of 1 bytes"},
    {false, BYTES("\x22\x0d\x1a\x01\x61\x22\x08\x0a\x01\x62\x10\x07\x5a\x01\x02"),
     "a packed boolean in OpDesc.Attr.bools is neither 0 nor 1"},
    {false, BYTES("\x22\x0d\x1a\x01\x61\x22\x08\x0a\x01\x62\x10\x03\x32\x01\x80"),
     "ints in OpDesc.Attr reaches past"},
    {false, BYTES("\x22\x0c\x1a\x01\x61\x22\x07\x0a\x01\x62\x10\x01\x25\x00"),
     "OpDesc.Attr.f reaches past"},
    {false, BYTES("\x1a\x03\x0a\x01\x61"),
     "VarDesc at bytes 8 to 11 lacks its required field type"},
};

START_TEST(broken_messages_are_named)
{
    const struct broken *row = &broken[_i];
    pdm_buf block = {0}, program = {0};
    lg_log log = {0};

    if (row->top) {
        pdm_buf_put(&program, row->bytes, row->size);
    } else {
        put_int(&block, 1, 0);
        put_int(&block, 2, 0);
        pdm_buf_put(&block, row->bytes, row->size);
        put_message(&program, 1, &block);
    }
    ck_assert_int_eq(scan(&program, &log), PDM_INVALID_MODEL);
    lg_expect(&log, row->expected);
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

START_TEST(unknown_fields_are_noted)
{
    pdm_buf program = {0};
    lg_log log = {0};

    put_program(&program);
    size_t at = program.size;
    put_int(&program, 90, 7);
    put_text(&program, 91, "later");
    put_double(&program, 92, 1);
    put_float(&program, 93, 1);
    ck_assert_int_eq(scan(&program, &log), PDM_OK);
    lg_expect(&log, "4 unknown fields were skipped; the first is field 90 of ProgramDesc");
    ck_assert_uint_eq(log.sink.num_errors, 0);
    ck_assert_uint_gt(at, 0);
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

START_TEST(repeated_singles_are_limited)
{
    pdm_buf program = {0}, version = {0};
    lg_log log = {0};

    for (int i = 0; i < 1 + PDM_LG_MAX_REPEATED_SINGLE; i++) {
        put_int(&version, 1, i);
        put_message(&program, 4, &version);
    }
    ck_assert_int_eq(scan(&program, &log), PDM_OK);
    put_message(&program, 4, &version);
    ck_assert_int_eq(scan(&program, &log), PDM_INVALID_MODEL);
    lg_expect(&log, "limit -1 -1");
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

static const struct guess {
    const char *bytes;
    size_t size;
    bool expected;
} guesses[] = {
    {BYTES(""), false},
    {BYTES("\n"), false},
    {BYTES("{\"base_code\":"), false},
    {BYTES("\n{\"base_code\":{\"magic\":"), false},
    {BYTES("\n\n\n  {\"base_code\""), false},
    {BYTES("\x80\x03}q\x00X\x05"), false},
    {BYTES("PK\x03\x04"), false},
    {BYTES("\x7f"
           "ELF"),
     false},
    {BYTES("\x00\x00\x00\x00\x00\x00\x00\x00"), false},
    {BYTES("\x08\x00"), false},
    {BYTES("\x0a\x08\x08\x00"), true},
    {BYTES("\x0a\xff\x01\x1a"), true},
    {BYTES("\x22\x04\x08\xf2\xb9\x7a"), true},
    {BYTES("\x2a\x00"), true},
};

START_TEST(other_formats_are_told_apart)
{
    const struct guess *row = &guesses[_i];

    ck_assert(pdm_lg_wire_plausible((const uint8_t *)row->bytes, row->size) == row->expected);
}
END_TEST

Suite *pdm_suite_lg_wire(void)
{
    Suite *suite = suite_create("lg_wire");
    TCase *tc = tcase_create("scan");

    tcase_add_test(tc, a_whole_program_passes);
    tcase_add_test(tc, every_cut_is_found);
    tcase_add_test(tc, every_changed_byte_is_survived);
    tcase_add_loop_test(tc, broken_messages_are_named, 0, sizeof broken / sizeof *broken);
    tcase_add_test(tc, unknown_fields_are_noted);
    tcase_add_test(tc, repeated_singles_are_limited);
    tcase_add_loop_test(tc, other_formats_are_told_apart, 0, sizeof guesses / sizeof *guesses);
    suite_add_tcase(suite, tc);
    return suite;
}
