/* The reader: what arrives in our structs, and what is said about content that is wrong. */
#include "legacy_graph/read.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/lg/support.h"

Suite *pdm_suite_lg_read(void);

static const int64_t two_by_three[] = {2, 3};

/* A block with variables x and y around the op given. Takes op_attrs. */
static void put_one_op(pdm_buf *program, pdm_buf *op_attrs)
{
    pdm_buf block = {0};

    put_indices(&block, 0, -1);
    put_var(&block, "x", two_by_three, 2, false);
    put_var(&block, "y", two_by_three, 2, false);
    put_op(&block, "relu", "x", "y", op_attrs);
    put_message(program, 1, &block);
}

static void attr_head(pdm_buf *attr, const char *name, int type)
{
    put_text(attr, 1, name);
    put_int(attr, 2, type);
}

static void put_scalar(pdm_buf *attr, unsigned field, int type, unsigned value_field, int64_t value)
{
    pdm_buf scalar = {0};

    put_int(&scalar, 1, type);
    if (value_field)
        put_int(&scalar, value_field, value);
    put_message(attr, field, &scalar);
}

/* One attribute of each type, named after its number. */
static void put_all_attrs(pdm_buf *attrs)
{
    pdm_buf attr = {0}, scalar = {0}, pair = {0};
    char name[8];

    for (int type = 0; type < PDM_LG_NUM_ATTR_TYPES; type++) {
        snprintf(name, sizeof name, "a%d", type);
        attr_head(&attr, name, type);
        switch ((pdm_lg_attr_type)type) {
        case PDM_LG_INT:
            put_int(&attr, 3, INT32_MIN);
            break;
        case PDM_LG_FLOAT:
            put_float(&attr, 4, 0.1f);
            break;
        case PDM_LG_STRING:
            put_text(&attr, 5, "\xc3\xa9");
            break;
        case PDM_LG_INTS:
            put_int(&attr, 6, -1);
            put_int(&attr, 6, 2);
            break;
        case PDM_LG_FLOATS:
            put_float(&attr, 7, -0.5f);
            break;
        case PDM_LG_STRINGS:
            put_text(&attr, 8, "s");
            put_text(&attr, 8, "");
            break;
        case PDM_LG_BOOLEAN:
            put_int(&attr, 10, 1);
            break;
        case PDM_LG_BOOLEANS:
            put_int(&attr, 11, 0);
            put_int(&attr, 11, 1);
            break;
        case PDM_LG_BLOCK:
            put_int(&attr, 12, 1);
            break;
        case PDM_LG_LONG:
            put_int(&attr, 13, INT64_MIN);
            break;
        case PDM_LG_BLOCKS:
            put_int(&attr, 14, 1);
            break;
        case PDM_LG_LONGS:
            put_int(&attr, 15, INT64_MAX);
            break;
        case PDM_LG_FLOAT64S:
            put_double(&attr, 16, 0.1);
            break;
        case PDM_LG_VAR:
            put_text(&attr, 17, "x");
            break;
        case PDM_LG_VARS:
            put_text(&attr, 18, "x");
            put_text(&attr, 18, "y");
            break;
        case PDM_LG_FLOAT64:
            put_double(&attr, 19, -0.0);
            break;
        case PDM_LG_SCALAR:
            put_scalar(&attr, 20, PDM_LG_SCALAR_I64, 3, (int64_t)1 << 60);
            break;
        case PDM_LG_SCALARS:
            put_scalar(&attr, 21, PDM_LG_SCALAR_BOOL, 2, 1);
            put_double(&pair, 1, 1.5);
            put_double(&pair, 2, -2.5);
            put_int(&scalar, 1, PDM_LG_SCALAR_C128);
            put_message(&scalar, 5, &pair);
            put_message(&attr, 21, &scalar);
            break;
        }
        put_message(attrs, 4, &attr);
    }
}

static void check_numbers(const pdm_lg_attr *a)
{
    ck_assert_int_eq(a[PDM_LG_INT].u.i, INT32_MIN);
    ck_assert(a[PDM_LG_FLOAT].u.f == 0.1f);
    ck_assert_uint_eq(a[PDM_LG_INTS].count, 2);
    ck_assert_int_eq(a[PDM_LG_INTS].u.ints[0], -1);
    ck_assert_int_eq(a[PDM_LG_INTS].u.ints[1], 2);
    ck_assert_uint_eq(a[PDM_LG_FLOATS].count, 1);
    ck_assert(a[PDM_LG_FLOATS].u.floats[0] == -0.5f);
    ck_assert(a[PDM_LG_BOOLEAN].u.b);
    ck_assert_uint_eq(a[PDM_LG_BOOLEANS].count, 2);
    ck_assert(!a[PDM_LG_BOOLEANS].u.bools[0] && a[PDM_LG_BOOLEANS].u.bools[1]);
    ck_assert_int_eq(a[PDM_LG_BLOCK].u.block, 1);
    ck_assert_int_eq(a[PDM_LG_LONG].u.l, INT64_MIN);
    ck_assert_int_eq(a[PDM_LG_BLOCKS].u.ints[0], 1);
    ck_assert_int_eq(a[PDM_LG_LONGS].u.longs[0], INT64_MAX);
    ck_assert(a[PDM_LG_FLOAT64S].u.doubles[0] == 0.1);
    ck_assert(a[PDM_LG_FLOAT64].u.d == 0 && 1 / a[PDM_LG_FLOAT64].u.d < 0);
}

START_TEST(attributes_of_every_type)
{
    pdm_buf program = {0}, attrs = {0}, block = {0};
    pdm_lg_program *read;
    lg_log log = {0};

    put_all_attrs(&attrs);
    put_one_op(&program, &attrs);
    put_indices(&block, 1, 0);
    put_message(&program, 1, &block);
    ck_assert_int_eq(lg_read(&program, &log, &read), PDM_OK);

    const pdm_lg_op *op = &read->blocks[0].ops[0];
    const pdm_lg_attr *a = op->attrs;
    ck_assert_uint_eq(op->num_attrs, PDM_LG_NUM_ATTR_TYPES);
    check_numbers(a);
    ck_assert_str_eq(a[PDM_LG_STRING].u.s, "\xc3\xa9");
    ck_assert_uint_eq(a[PDM_LG_STRINGS].count, 2);
    ck_assert_str_eq(a[PDM_LG_STRINGS].u.strings[1], "");
    ck_assert_ptr_eq(a[PDM_LG_VAR].u.s, op->inputs[0].args[0]);
    ck_assert_ptr_eq(a[PDM_LG_VARS].u.strings[1], op->outputs[0].args[0]);
    ck_assert_int_eq(a[PDM_LG_SCALAR].u.scalar.type, PDM_LG_SCALAR_I64);
    ck_assert_int_eq(a[PDM_LG_SCALAR].u.scalar.i, (int64_t)1 << 60);
    ck_assert(a[PDM_LG_SCALARS].u.scalars[0].b);
    ck_assert(a[PDM_LG_SCALARS].u.scalars[1].c.im == -2.5);
    ck_assert_ptr_eq(pdm_lg_find_attr(op, "a9"), &a[9]);
    ck_assert_ptr_null(pdm_lg_find_attr(op, "b"));
    ck_assert_int_eq(pdm_lg_sub_block(op), 1);
    pdm_lg_program_destroy(read);
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

/* Lists may come packed, or half and half; of a field given twice the last counts. */
START_TEST(other_forms_of_the_same_message)
{
    pdm_buf program = {0}, attrs = {0}, attr = {0}, packed = {0}, block = {0}, version = {0};
    pdm_lg_program *read;
    lg_log log = {0};

    attr_head(&attr, "ints", PDM_LG_INTS);
    put_int(&attr, 6, 1);
    put_varint(&packed, 2);
    put_varint(&packed, (uint64_t)(int64_t)-3);
    put_message(&attr, 6, &packed);
    put_message(&attrs, 4, &attr);
    attr_head(&attr, "i", PDM_LG_INT);
    put_int(&attr, 3, 1);
    put_int(&attr, 3, 2);
    put_text(&attr, 1, "j");
    put_message(&attrs, 4, &attr);
    put_int(&version, 1, 1);
    put_message(&program, 4, &version);
    put_one_op(&program, &attrs);
    put_int(&version, 1, 2);
    put_message(&program, 4, &version);
    put_message(&program, 4, &version); /* merged: an empty one changes nothing */
    ck_assert_int_eq(lg_read(&program, &log, &read), PDM_OK);

    const pdm_lg_attr *a = read->blocks[0].ops[0].attrs;
    ck_assert_uint_eq(a[0].count, 3);
    ck_assert_int_eq(a[0].u.ints[0], 1);
    ck_assert_int_eq(a[0].u.ints[1], 2);
    ck_assert_int_eq(a[0].u.ints[2], -3);
    ck_assert_str_eq(a[1].name, "j");
    ck_assert_int_eq(a[1].u.i, 2);
    ck_assert_int_eq(read->version, 2);
    pdm_lg_program_destroy(read);
    pdm_buf_deinit(&program);
    pdm_buf_deinit(&block);
    lg_log_deinit(&log);
}
END_TEST

START_TEST(versions_of_old_and_new_files)
{
    pdm_buf program = {0}, map = {0}, pair = {0}, version = {0};
    const char *const names[] = {"set_value", "abs", "set_value"};
    pdm_lg_program *read;
    lg_log log = {0};

    put_one_op(&program, NULL);
    ck_assert_int_eq(lg_read(&program, &log, &read), PDM_OK);
    ck_assert(!read->has_version && !read->has_op_versions);
    ck_assert_int_eq(read->version, 0);
    ck_assert_int_eq(pdm_lg_op_version_of(read, "set_value"), 0);
    pdm_lg_program_destroy(read);

    for (int i = 0; i < 3; i++) {
        put_text(&pair, 1, names[i]);
        put_int(&version, 1, i + 1);
        put_message(&pair, 2, &version);
        put_message(&map, 1, &pair);
    }
    put_message(&program, 5, &map);
    put_int(&version, 1, 2006002);
    put_message(&program, 4, &version);
    ck_assert_int_eq(lg_read(&program, &log, &read), PDM_OK);
    ck_assert_int_eq(read->version, 2006002);
    ck_assert_uint_eq(read->num_op_versions, 2);
    ck_assert_int_eq(pdm_lg_op_version_of(read, "set_value"), 3);
    ck_assert_int_eq(pdm_lg_op_version_of(read, "abs"), 2);
    ck_assert_int_eq(pdm_lg_op_version_of(read, "relu"), 0);
    pdm_lg_program_destroy(read);
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

START_TEST(slots_are_sorted_and_names_shared)
{
    pdm_buf program = {0}, block = {0}, op = {0}, slot = {0};
    const char *const slots[] = {"Y", "Bias", "X"};
    pdm_lg_program *read;
    lg_log log = {0};

    put_indices(&block, 0, -1);
    put_var(&block, "x", two_by_three, 2, true);
    put_text(&op, 3, "f");
    for (int i = 0; i < 3; i++) {
        put_text(&slot, 1, slots[i]);
        if (i != 1)
            put_text(&slot, 2, "x");
        put_message(&op, 1, &slot);
    }
    put_message(&block, 4, &op);
    put_message(&program, 1, &block);
    ck_assert_int_eq(lg_read(&program, &log, &read), PDM_OK);

    const pdm_lg_op *f = &read->blocks[0].ops[0];
    ck_assert_str_eq(f->inputs[0].name, "Bias");
    ck_assert_str_eq(f->inputs[1].name, "X");
    ck_assert_str_eq(f->inputs[2].name, "Y");
    ck_assert_uint_eq(f->inputs[0].num_args, 0);
    ck_assert_ptr_eq(f->inputs[1].args[0], f->inputs[2].args[0]);
    ck_assert_ptr_eq(f->inputs[1].args[0], read->blocks[0].vars[0].name);
    ck_assert_ptr_eq(pdm_lg_find_input(f, "Y"), &f->inputs[2]);
    ck_assert_ptr_null(pdm_lg_find_output(f, "Y"));

    const pdm_lg_var *x = pdm_lg_block_var(&read->blocks[0], f->inputs[1].args[0]);
    ck_assert_ptr_eq(x, &read->blocks[0].vars[0]);
    ck_assert(x->has_tensor && pdm_lg_var_is_param(x) && !x->has_is_parameter);
    ck_assert_int_eq(x->dtype, PDM_F32);
    ck_assert_uint_eq(x->rank, 2);
    ck_assert_int_eq(x->dims[1], 3);
    pdm_lg_program_destroy(read);
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

/* ---- wrong content --------------------------------------------------------------------------- */

static pdm_status read_attr(pdm_buf *attr, lg_log *log)
{
    pdm_buf program = {0}, attrs = {0};
    pdm_lg_program *read;

    put_message(&attrs, 4, attr);
    put_one_op(&program, &attrs);
    pdm_status status = lg_read(&program, log, &read);
    pdm_lg_program_destroy(read);
    pdm_buf_deinit(&program);
    return status;
}

START_TEST(newer_numbers_are_unsupported)
{
    pdm_buf attr = {0};
    lg_log log = {0};

    attr_head(&attr, "a", 40);
    ck_assert_int_eq(read_attr(&attr, &log), PDM_UNSUPPORTED);
    lg_expect(&log, "lg-enum-newer 0 0 relu a @-1: attribute \"a\" has the unknown type number 40");
    attr_head(&attr, "a", -1);
    ck_assert_int_eq(read_attr(&attr, &log), PDM_UNSUPPORTED);
    attr_head(&attr, "a", PDM_LG_SCALAR);
    put_scalar(&attr, 20, 9, 0, 0);
    ck_assert_int_eq(read_attr(&attr, &log), PDM_UNSUPPORTED);
    lg_expect(&log, "a scalar in attribute \"a\" has the unknown type number 9");

    /* A broken model is the worse of the two. */
    attr_head(&attr, "", 40);
    ck_assert_int_eq(read_attr(&attr, &log), PDM_INVALID_MODEL);
    lg_expect(&log, "lg-enum-newer");
    lg_expect(&log, "the name of an attribute is empty");
    lg_log_deinit(&log);
}
END_TEST

START_TEST(newer_variables_are_unsupported)
{
    static const int kinds[] = {16, 34, 35, 39, 77, -2};
    pdm_buf block = {0}, program = {0}, type = {0}, var = {0}, tensor = {0}, dense = {0};
    pdm_lg_program *read;
    lg_log log = {0};

    put_indices(&block, 0, -1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char name[] = {(char)('a' + i), 0};
        put_int(&type, 1, kinds[i]);
        put_text(&var, 1, name);
        put_message(&var, 2, &type);
        put_message(&block, 3, &var);
    }
    put_int(&tensor, 1, 39);
    put_message(&dense, 1, &tensor);
    put_int(&type, 1, PDM_LG_DENSE_TENSOR);
    put_message(&type, 3, &dense);
    put_text(&var, 1, "t");
    put_message(&var, 2, &type);
    put_message(&block, 3, &var);
    put_op(&block, "relu", "a", "b", NULL);
    put_message(&program, 1, &block);
    ck_assert_int_eq(lg_read(&program, &log, &read), PDM_UNSUPPORTED);
    ck_assert_uint_eq(log.sink.num_errors, sizeof kinds / sizeof *kinds + 1);
    lg_expect(&log, "variable \"e\" has the unknown kind number 77");
    lg_expect(&log, "variable \"t\" has the unknown element type number 39");
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

START_TEST(names_must_be_text)
{
    pdm_buf program = {0}, block = {0}, op = {0}, slot = {0};
    pdm_lg_program *read;
    lg_log log = {0};

    put_indices(&block, 0, -1);
    put_var(&block, "\xff", two_by_three, 2, false);
    put_bytes(&slot, 1, "X\0Y", 3);
    put_text(&slot, 2, "\xff");
    put_message(&op, 1, &slot);
    put_text(&op, 3, "");
    put_message(&block, 4, &op);
    put_message(&program, 1, &block);
    ck_assert_int_eq(lg_read(&program, &log, &read), PDM_INVALID_MODEL);
    lg_expect(&log,
              "lg-name 0 -1 - \\xff @-1: the name of a variable, \"\\xff\", is not valid UTF-8");
    lg_expect(&log, "lg-name 0 0 - - @-1: the name of an op type is empty");
    lg_expect(&log, "the name of an input slot, \"X\\x00Y\", holds a NUL byte");
    lg_expect(&log, "the name of an input variable, \"\\xff\"");
    pdm_buf_deinit(&program);
    lg_log_deinit(&log);
}
END_TEST

START_TEST(texts_must_be_text)
{
    pdm_buf attr = {0};
    lg_log log = {0};

    attr_head(&attr, "mode", PDM_LG_STRING);
    put_text(&attr, 5, "\xe4\xbd");
    ck_assert_int_eq(read_attr(&attr, &log), PDM_INVALID_MODEL);
    lg_expect(&log, "lg-attr-value 0 0 relu mode");
    attr_head(&attr, "modes", PDM_LG_STRINGS);
    put_bytes(&attr, 8, "a\0b", 3);
    ck_assert_int_eq(read_attr(&attr, &log), PDM_INVALID_MODEL);

    /* Source lines in the encoding of some old machine: nothing depends on them. */
    attr_head(&attr, "op_callstack", PDM_LG_STRINGS);
    put_text(&attr, 8, "D:\\\xc4\xa3\xd0\xcd\\net.py");
    ck_assert_int_eq(read_attr(&attr, &log), PDM_OK);
    ck_assert_uint_eq(log.sink.num_warnings, 1);
    lg_log_deinit(&log);
}
END_TEST

START_TEST(files_that_are_no_program)
{
    pdm_buf bytes = {0};
    pdm_lg_program *read;
    lg_log log = {0};

    ck_assert_int_eq(lg_read(&bytes, &log, &read), PDM_INVALID_MODEL);
    lg_expect(&log, "file-empty");
    pdm_buf_puts(&bytes, "\x7f"
                         "ELF and so on");
    ck_assert_int_eq(lg_read(&bytes, &log, &read), PDM_INVALID_MODEL);
    lg_expect(&log, "file-format");
    ck_assert_int_eq(pdm_lg_read(bytes.data, bytes.size, NULL, NULL, &read), PDM_INVALID_MODEL);
    pdm_buf_deinit(&bytes);
    lg_log_deinit(&log);
}
END_TEST

/* ---- fixtures -------------------------------------------------------------------------------- */

static const struct bad {
    const char *name;
    pdm_status status;
    const char *expected;
} bad[] = {
    {"attr_type_newer", PDM_UNSUPPORTED, "lg-enum-newer 0 2 elementwise_add axis"},
    {"dangling_input", PDM_INVALID_MODEL, "lg-dangling 0 2 elementwise_add nowhere"},
    {"deep_nesting", PDM_INVALID_MODEL, "blocks are nested 1500 deep; the limit is 256"},
    {"empty_pdmodel", PDM_INVALID_MODEL, "the program file is empty"},
    {"garbage_pdmodel", PDM_INVALID_MODEL, "the file is not a ProgramDesc"},
    {"json_as_pdmodel", PDM_INVALID_MODEL, "the file is not a ProgramDesc"},
    {"negative_dims", PDM_INVALID_MODEL, "dimension 0 of variable \"x\" is -5: below -1"},
    {"no_blocks", PDM_INVALID_MODEL, "the program has no block"},
    {"non_utf8_name", PDM_INVALID_MODEL, "lg-name 0 -1 - \\xff"},
    {"parent_idx", PDM_INVALID_MODEL, "bad parent: block 1 has parent 7"},
    {"parent_idx", PDM_INVALID_MODEL, "bad parent: block 2 is its own parent"},
    {"pdmodel_length_past_end", PDM_INVALID_MODEL, "bytes past the end of the file"},
    {"pdmodel_trailing_zeros", PDM_INVALID_MODEL, "@480: 64 zero bytes after the end"},
    {"pdmodel_unknown_fields", PDM_OK, "unknown fields were skipped"},
    {"sub_block_is_itself", PDM_INVALID_MODEL, "lg-block-index 0 3 conditional_block sub_block"},
    {"sub_block_is_itself", PDM_INVALID_MODEL, "block cycle: sub_block is 0"},
    {"sub_block_negative", PDM_INVALID_MODEL, "block index out of range: sub_block is -1"},
    {"sub_block_out_of_range", PDM_INVALID_MODEL, "block index out of range: sub_block is 9"},
    {"truncated_pdmodel", PDM_INVALID_MODEL, "which is truncated"},
    {"truncated_pdmodel_at_op", PDM_INVALID_MODEL, "the program has no block"},
    {"var_type_newer", PDM_UNSUPPORTED, "variable \"h\" has the unknown kind number 77"},
    {"zero_ops", PDM_INVALID_MODEL, "nothing to convert"},
    {"training_program", PDM_OK, ""},
    {"shape_lies", PDM_OK, ""},
    {"unknown_op", PDM_OK, ""},
};

START_TEST(broken_fixtures_are_explained)
{
    const struct bad *row = &bad[_i];
    pdm_lg_program *read;
    lg_log log = {0};
    pdm_buf bytes;
    char path[128];

    snprintf(path, sizeof path, "cases/bad_%s/model.pdmodel", row->name);
    lg_fixture(path, &bytes);
    ck_assert_int_eq(lg_read(&bytes, &log, &read), row->status);
    lg_expect(&log, row->expected);
    ck_assert((read != NULL) == (row->status == PDM_OK));
    pdm_lg_program_destroy(read);
    pdm_buf_deinit(&bytes);
    lg_log_deinit(&log);
}
END_TEST

/* Every other case of the fixtures is a sound program. */
START_TEST(sound_fixtures_are_read)
{
    char folder[1024], path[512];
    pdm_lg_program *read;
    struct dirent *entry;
    size_t count = 0;
    lg_log log = {0};
    pdm_buf bytes;

    snprintf(folder, sizeof folder, "%s/fixtures/cases", getenv("srcdir"));
    DIR *cases = opendir(folder);
    ck_assert_ptr_nonnull(cases);
    while ((entry = readdir(cases))) {
        if (strncmp(entry->d_name, "op_", 3) != 0 && strncmp(entry->d_name, "flow_", 5) != 0)
            continue;
        snprintf(path, sizeof path, "cases/%s/model.pdmodel", entry->d_name);
        lg_fixture(path, &bytes);
        pdm_status status = lg_read(&bytes, &log, &read);
        ck_assert_msg(status == PDM_OK, "%s: %s", path, log.text.size ? log.text.data : "");
        pdm_lg_program_destroy(read);
        pdm_buf_deinit(&bytes);
        count++;
    }
    closedir(cases);
    ck_assert_uint_gt(count, 700);
    lg_log_deinit(&log);
}
END_TEST

Suite *pdm_suite_lg_read(void)
{
    Suite *suite = suite_create("lg_read");
    TCase *tc = tcase_create("content");

    tcase_add_test(tc, attributes_of_every_type);
    tcase_add_test(tc, other_forms_of_the_same_message);
    tcase_add_test(tc, versions_of_old_and_new_files);
    tcase_add_test(tc, slots_are_sorted_and_names_shared);
    tcase_add_test(tc, newer_numbers_are_unsupported);
    tcase_add_test(tc, newer_variables_are_unsupported);
    tcase_add_test(tc, names_must_be_text);
    tcase_add_test(tc, texts_must_be_text);
    tcase_add_test(tc, files_that_are_no_program);
    suite_add_tcase(suite, tc);

    tc = tcase_create("fixtures");
    tcase_add_loop_test(tc, broken_fixtures_are_explained, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tc, sound_fixtures_are_read);
    suite_add_tcase(suite, tc);
    return suite;
}
