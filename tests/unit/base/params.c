/* Parameter files: records of every kind, and broken ones. */
#include "base/params.h"

#include <fcntl.h>
#include <inttypes.h>

#include "base/buf.h"
#include "unit/base/scratch.h"

Suite *pdm_suite_params(void);

/* ---- writing records ------------------------------------------------------------------------- */

static void put_number(pdm_buf *b, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        pdm_buf_putc(b, (char)(value >> 8 * i));
}

static void put_varint(pdm_buf *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        pdm_buf_putc(b, (char)(value | 0x80));
    pdm_buf_putc(b, (char)value);
}

static void put_desc(pdm_buf *b, int legacy, const int64_t *dims, size_t rank, bool packed)
{
    pdm_buf desc, list;

    pdm_buf_init(&desc);
    pdm_buf_init(&list);
    pdm_buf_putc(&desc, 8);
    put_varint(&desc, (uint64_t)legacy);
    for (size_t i = 0; i < rank; i++) {
        if (!packed)
            pdm_buf_putc(&desc, 16);
        put_varint(packed ? &list : &desc, (uint64_t)dims[i]);
    }
    if (packed) {
        pdm_buf_putc(&desc, 18);
        put_varint(&desc, list.size);
        pdm_buf_put(&desc, list.data, list.size);
    }
    put_number(b, desc.size, 4);
    pdm_buf_put(b, desc.data, desc.size);
    pdm_buf_deinit(&desc);
    pdm_buf_deinit(&list);
}

static void put_zeros(pdm_buf *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pdm_buf_putc(b, 0);
}

/* Everything but the data. */
static void put_header(pdm_buf *b, int legacy, const int64_t *dims, size_t rank)
{
    put_zeros(b, 16);
    put_desc(b, legacy, dims, rank, false);
}

static void put_f32(pdm_buf *b, int64_t n)
{
    put_header(b, 5, &n, 1);
    put_zeros(b, (size_t)n * 4);
}

/* ---- reading them ---------------------------------------------------------------------------- */

static char last_id[64], last_message[512], last_var[128], last_hint[256];
static int num_messages;

static void record_diag(void *user, const pdm_diagnostic *d)
{
    (void)user;
    num_messages++;
    snprintf(last_id, sizeof last_id, "%s", d->id);
    snprintf(last_message, sizeof last_message, "%s", d->message);
    snprintf(last_var, sizeof last_var, "%s", d->var ? d->var : "");
    snprintf(last_hint, sizeof last_hint, "%s", d->hint ? d->hint : "");
}

static pdm_diag_sink sink = {.fn = record_diag};
static pdm_params params;
static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                    "j", "k", "l", "m", "n", "o", "p", "q", "r"};

static void begin(void)
{
    scratch_make();
    pdm_params_init(&params);
}

static void end(void)
{
    pdm_params_deinit(&params);
    scratch_remove();
}

static pdm_status scan(pdm_buf *b, const pdm_param_kind *kinds, size_t count)
{
    scratch_write("p", b->data, b->size);
    pdm_params_deinit(&params);
    pdm_params_init(&params);
    return pdm_params_scan_combined(&params, scratch("p"), names, kinds, count, &sink);
}

static void check_broken(pdm_buf *b, size_t count, const char *id, const char *part)
{
    num_messages = 0;
    ck_assert_int_eq(scan(b, NULL, count), PDM_INVALID_MODEL);
    ck_assert_int_eq(num_messages, 1);
    ck_assert_str_eq(last_id, id);
    ck_assert_msg(strstr(last_message, part), "'%s' is not in '%s'", part, last_message);
    ck_assert_uint_eq(params.count, 0);
    b->size = 0;
}

START_TEST(every_element_type)
{
    const int64_t dims[] = {3, 5};
    pdm_buf b;
    size_t count = 0;
    pdm_dtype expected[PDM_DTYPE_COUNT];

    pdm_buf_init(&b);
    for (int i = 1; i < PDM_DTYPE_COUNT; i++) {
        const pdm_dtype d = (pdm_dtype)i;
        if (pdm_dtype_to_legacy(d) < 0 || pdm_dtype_size(d) == 0)
            continue;
        put_header(&b, pdm_dtype_to_legacy(d), dims, 2);
        put_zeros(&b, 15 * pdm_dtype_size(d));
        expected[count++] = d;
    }
    ck_assert_uint_eq(count, 17);
    ck_assert_int_eq(scan(&b, NULL, count), PDM_OK);
    ck_assert_uint_eq(params.count, count);
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const pdm_param *p = &params.items[i];
        ck_assert_ptr_eq(pdm_params_find(&params, names[i]), p);
        ck_assert_str_eq(p->path, scratch("p"));
        ck_assert_int_eq(p->dtype, expected[i]);
        ck_assert_uint_eq(p->rank, 2);
        ck_assert_int_eq(p->dims[0], 3);
        ck_assert_int_eq(p->dims[1], 5);
        ck_assert_uint_eq(p->offset, at);
        ck_assert_uint_eq(p->data_size, 15 * pdm_dtype_size(expected[i]));
        ck_assert_uint_eq(p->data_offset + p->data_size, p->offset + p->size);
        at += p->size;
    }
    ck_assert_uint_eq(at, b.size);
    ck_assert_ptr_null(pdm_params_find(&params, "zz"));
    ck_assert_ptr_null(pdm_params_find(&params, ""));
    size_t next = 0;
    for (size_t i = 0; i < count; i++) /* in order, each twice, and names that are not there */
        for (int k = 0; k < 2; k++) {
            ck_assert_ptr_eq(pdm_params_next(&params, names[i], &next), &params.items[i]);
            ck_assert_uint_eq(next, i + 1);
            ck_assert_ptr_null(pdm_params_next(&params, "zz", &next));
            ck_assert_uint_eq(next, i + 1);
        }
    pdm_buf_deinit(&b);
}
END_TEST

START_TEST(shapes_and_lod)
{
    pdm_buf b;
    const int64_t nine[] = {1, 1, 1, 1, 2, 1, 1, 1, 1};

    pdm_buf_init(&b);
    put_header(&b, 5, NULL, 0); /* 0-D */
    put_zeros(&b, 4);
    put_header(&b, 6, (int64_t[]){7, 0, 3}, 3); /* no data */
    put_header(&b, 3, nine, 9);
    put_zeros(&b, 16);
    put_zeros(&b, 4); /* two LoD levels */
    put_number(&b, 2, 8);
    put_number(&b, 24, 8);
    put_zeros(&b, 24);
    put_number(&b, 32, 8);
    put_zeros(&b, 32);
    put_zeros(&b, 4);
    put_desc(&b, 2, (int64_t[]){300}, 1, true); /* packed dims */
    put_zeros(&b, 1200);
    ck_assert_int_eq(scan(&b, NULL, 4), PDM_OK);
    ck_assert_uint_eq(params.items[0].rank, 0);
    ck_assert_uint_eq(params.items[0].data_size, 4);
    ck_assert_uint_eq(params.items[1].data_size, 0);
    ck_assert_uint_eq(params.items[2].rank, 9);
    ck_assert_uint_eq(params.items[3].num_lod_levels, 2);
    ck_assert_int_eq(params.items[3].dims[0], 300);
    ck_assert_uint_eq(params.items[3].data_size, 1200);
    pdm_buf_deinit(&b);
}
END_TEST

START_TEST(selected_rows_and_vocabulary)
{
    const pdm_param_kind kinds[] = {PDM_PARAM_DENSE, PDM_PARAM_SELECTED_ROWS, PDM_PARAM_VOCAB,
                                    PDM_PARAM_DENSE};
    pdm_buf b;

    pdm_buf_init(&b);
    put_f32(&b, 2);
    put_number(&b, 0, 4);
    put_number(&b, 3, 8);
    put_zeros(&b, 24);
    put_number(&b, 100, 8);
    put_number(&b, 0, 4);
    put_desc(&b, 5, (int64_t[]){3, 4}, 2, false);
    put_zeros(&b, 48);
    const size_t vocab_at = b.size;
    put_number(&b, 500, 8);
    for (size_t i = 0; i < 500; i++) {
        put_number(&b, i % 40, 8);
        put_zeros(&b, i % 40);
        put_number(&b, i, 4);
    }
    const size_t vocab_end = b.size;
    put_f32(&b, 1);
    ck_assert_int_eq(scan(&b, kinds, 4), PDM_OK);
    ck_assert_int_eq(params.items[1].kind, PDM_PARAM_SELECTED_ROWS);
    ck_assert_int_eq(params.items[1].dims[1], 4);
    ck_assert_uint_eq(params.items[1].data_size, 48);
    ck_assert_uint_eq(params.items[2].offset, vocab_at);
    ck_assert_uint_eq(params.items[2].size, vocab_end - vocab_at);
    ck_assert_uint_eq(params.items[2].data_size, vocab_end - vocab_at);
    ck_assert_uint_eq(params.items[3].data_size, 4);
    /* A vocabulary of 640 tokens begins like a pickle. */
    b.size = 0;
    put_number(&b, 640, 8);
    for (int i = 0; i < 640; i++)
        put_zeros(&b, 12);
    ck_assert_int_eq(scan(&b, &kinds[2], 1), PDM_OK);
    pdm_buf_deinit(&b);
}
END_TEST

START_TEST(broken_selected_rows_and_vocabulary)
{
    const pdm_param_kind rows = PDM_PARAM_SELECTED_ROWS, vocab = PDM_PARAM_VOCAB;
    pdm_buf b;

    pdm_buf_init(&b);
    put_number(&b, 0, 4);
    put_number(&b, UINT64_MAX / 8, 8);
    put_zeros(&b, 50);
    ck_assert_int_eq(scan(&b, &rows, 1), PDM_INVALID_MODEL);
    b.size = 4;
    put_number(&b, UINT64_MAX / 2, 8);
    ck_assert_int_eq(scan(&b, &rows, 1), PDM_INVALID_MODEL);
    b.size = 0;
    put_number(&b, UINT64_MAX, 8);
    put_zeros(&b, 50);
    ck_assert_int_eq(scan(&b, &vocab, 1), PDM_INVALID_MODEL);
    b.size = 0;
    put_number(&b, 2, 8);
    put_number(&b, UINT64_MAX - 3, 8);
    put_zeros(&b, 50);
    ck_assert_int_eq(scan(&b, &vocab, 1), PDM_INVALID_MODEL);
    ck_assert_str_eq(last_var, "a");
    pdm_buf_deinit(&b);
}
END_TEST

/* Wherever the file is cut, the error names the parameter in which it ends. */
START_TEST(cut_off_anywhere)
{
    pdm_buf b;

    pdm_buf_init(&b);
    put_f32(&b, 3);
    const size_t first = b.size;
    put_f32(&b, 5);
    for (size_t n = 0; n < b.size; n++) {
        pdm_buf part = b;
        part.size = n;
        num_messages = 0;
        ck_assert_int_eq(scan(&part, NULL, 2), PDM_INVALID_MODEL);
        ck_assert_int_eq(num_messages, 1);
        ck_assert_str_eq(last_var, n < first ? "a" : "b");
        ck_assert_str_eq(last_id, n == 0 || n == first ? "param-missing" : "param-header");
        ck_assert_ptr_nonnull(strstr(last_message, n < first ? "'a'" : "'b'"));
    }
    ck_assert_int_eq(scan(&b, NULL, 2), PDM_OK);
    pdm_buf_deinit(&b);
}
END_TEST

START_TEST(too_few_and_too_many)
{
    pdm_buf b;

    pdm_buf_init(&b);
    put_f32(&b, 3);
    check_broken(&b, 4, "param-missing", "'b' has no data");
    ck_assert_ptr_nonnull(strstr(last_message, "2 more"));
    put_f32(&b, 3);
    put_f32(&b, 4);
    check_broken(&b, 1, "param-left-over", "40 bytes left over");
    put_f32(&b, 3);
    check_broken(&b, 0, "param-left-over", "36 bytes left over");
    ck_assert_int_eq(scan(&b, NULL, 0), PDM_OK);
    ck_assert_int_eq(pdm_params_scan_combined(&params, scratch("none"), names, NULL, 1, &sink),
                     PDM_IO);
    ck_assert_str_eq(last_id, "file-missing");
    ck_assert_int_eq(pdm_params_scan_combined(&params, scratch_root, names, NULL, 1, &sink),
                     PDM_IO);
    pdm_buf_deinit(&b);
}
END_TEST

START_TEST(hostile_headers)
{
    pdm_buf b;
    const int64_t big = INT64_C(1) << 32;

    pdm_buf_init(&b);
    put_number(&b, 1, 4); /* version */
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "'a'");
    put_number(&b, 0, 4); /* LoD levels */
    put_number(&b, UINT64_MAX, 8);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "LoD levels");
    put_number(&b, 0, 4); /* size of a LoD level */
    put_number(&b, 1, 8);
    put_number(&b, UINT64_MAX - 7, 8);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "LoD level");
    put_number(&b, 0, 4);
    put_number(&b, 1, 8);
    put_number(&b, 7, 8);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "multiple of 8");
    put_zeros(&b, 12); /* second version */
    put_number(&b, 9, 4);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "version of the tensor is 9");
    put_zeros(&b, 16); /* size of the description */
    put_number(&b, UINT32_MAX, 4);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "negative size -1");
    put_zeros(&b, 16);
    put_number(&b, 0x04000000, 4);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "implausible description size 67108864");
    ck_assert_ptr_nonnull(strstr(last_hint, "big-endian"));
    put_zeros(&b, 20); /* an empty description has no element type */
    check_broken(&b, 1, "param-header", "description is broken");
    put_header(&b, 5, (int64_t[]){4, -1}, 2);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "dimension 1 is negative (-1)");
    put_header(&b, 5, (int64_t[]){4, big, big}, 3);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "overflows");
    put_header(&b, 24, (int64_t[]){INT64_MAX / 4}, 1);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "overflows");
    put_header(&b, 5, (int64_t[]){big, 1024}, 2);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "17592186044416 bytes of data are needed");
    put_header(&b, 7, (int64_t[]){1}, 1); /* a kind of variable */
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "7 is no known element type");
    put_header(&b, 29, (int64_t[]){1}, 1); /* strings have no raw form */
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "29 is no known element type");
    put_header(&b, -1, (int64_t[]){1}, 1);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "no known element type");
    put_header(&b, 5, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10);
    put_zeros(&b, 100);
    check_broken(&b, 1, "param-header", "10 dimensions");
    pdm_buf_deinit(&b);
}
END_TEST

/* Descriptions that a protobuf reader must refuse, and those it must accept. */
START_TEST(descriptions)
{
    static const struct {
        const char *bytes;
        size_t size;
        bool good;
    } rows[] = {
        {"\x08\x05", 2, true},
        {"\x10\x01\x08\x05", 4, true},   /* any order */
        {"\x08\x05\x18\x07", 4, true},   /* unknown varint */
        {"\x08\x05\x1a\x02xy", 6, true}, /* unknown bytes */
        {"\x08\x05\x1d"
         "1234",
         7, true}, /* unknown 32 bits */
        {"\x08\x05\x19"
         "12345678",
         11, true},                         /* unknown 64 bits */
        {"\x08\x05\x12\x00", 4, true},      /* packed, empty */
        {"\x08\x03\x08\x05", 4, true},      /* the last one counts */
        {"\x08", 1, false},                 /* cut off */
        {"\x08\x85", 2, false},             /* varint without end */
        {"\x10\x01", 2, false},             /* no element type */
        {"\x08\x05\x12\x05\x01", 5, false}, /* packed past the end */
        {"\x08\x05\x12\x01\x81", 5, false}, /* packed varint cut off */
        {"\x08\x05\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, false},
        {"\x08\x05\x0b", 3, false},     /* group */
        {"\x08\x05\x0f", 3, false},     /* wire type 7 */
        {"\x08\x05\x00\x00", 4, false}, /* field 0 */
        {"\x08\x05\x19"
         "123",
         6, false},                                                      /* 64 bits cut off */
        {"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12, false}, /* 11 bytes */
    };
    pdm_buf b;

    pdm_buf_init(&b);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        b.size = 0;
        put_zeros(&b, 16);
        put_number(&b, rows[i].size, 4);
        pdm_buf_put(&b, rows[i].bytes, rows[i].size);
        put_zeros(&b, 4);
        const pdm_status status = scan(&b, NULL, 1);
        ck_assert_msg(status == (rows[i].good ? PDM_OK : PDM_INVALID_MODEL), "description %zu: %s",
                      i, status ? last_message : "accepted");
    }
    pdm_buf_deinit(&b);
}
END_TEST

START_TEST(other_formats)
{
    pdm_buf b;

    pdm_buf_init(&b);
    pdm_buf_put(&b, "\x80\x02}q\0(X\1\0\0\0w", 12);
    check_broken(&b, 2, "file-format", "pickle (.pdparams)");
    pdm_buf_put(&b, "\x80\x04\x95zzzzzzzzzzzzzzz", 12);
    check_broken(&b, 2, "file-format", "pickle (.pdparams)");
    pdm_buf_puts(&b, "PK\3\4 and so on");
    check_broken(&b, 2, "file-format", "zip archive");
    pdm_buf_puts(&b, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    check_broken(&b, 2, "file-format", "Git LFS");
    pdm_buf_puts(&b, "x");
    check_broken(&b, 2, "param-header", "'a'");
    pdm_buf_deinit(&b);
}
END_TEST

START_TEST(separate_files)
{
    static const char *const in_folder[] = {"w", "sub/w", "\xff\xfe"};
    static const char *const bad[] = {"../w", "/w", "a/../w", ".", "", "a//b", "a/"};
    pdm_buf b;

    pdm_buf_init(&b);
    put_f32(&b, 2);
    ck_assert_int_eq(mkdir(scratch("sub"), 0777), 0);
    scratch_write("w", b.data, b.size);
    scratch_write("\xff\xfe", b.data, b.size);
    b.size = 0;
    put_f32(&b, 3);
    scratch_write("sub/w", b.data, b.size);
    ck_assert_int_eq(pdm_params_scan_folder(&params, scratch_root, in_folder, NULL, 3, &sink),
                     PDM_OK);
    ck_assert_int_eq(pdm_params_find(&params, "w")->dims[0], 2);
    ck_assert_int_eq(pdm_params_find(&params, "sub/w")->dims[0], 3);
    ck_assert_str_eq(pdm_params_find(&params, "sub/w")->path, scratch("sub/w"));
    ck_assert_ptr_null(pdm_params_find(&params, "sub"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(pdm_params_scan_folder(&params, scratch_root, &bad[i], NULL, 1, &sink),
                         PDM_INVALID_MODEL);
        ck_assert_str_eq(last_id, "lg-name");
    }
    pdm_buf_deinit(&b);
}
END_TEST

/* Each file is looked at, so that all that is wrong is told at once. */
START_TEST(separate_files_that_are_wrong)
{
    pdm_buf b;

    pdm_buf_init(&b);
    put_f32(&b, 2);
    pdm_buf_putc(&b, 'x');
    scratch_write("a", b.data, b.size);
    scratch_write("c", b.data, b.size - 2);
    scratch_write("d", b.data, b.size - 1);
    num_messages = 0;
    ck_assert_int_eq(pdm_params_scan_folder(&params, scratch_root, names, NULL, 4, &sink), PDM_IO);
    ck_assert_int_eq(num_messages, 3);
    ck_assert_str_eq(last_id, "param-header");
    ck_assert_str_eq(last_var, "c");
    pdm_buf_deinit(&b);
}
END_TEST

/* Only headers are read: a file of 10 GiB costs as much as a small one. */
START_TEST(huge_file)
{
    const int64_t n = INT64_C(10) << 30;
    pdm_buf b;

    pdm_buf_init(&b);
    put_header(&b, 21, &n, 1);
    scratch_write("p", b.data, b.size);
    const off_t second = (off_t)b.size + n;
    b.size = 0;
    put_f32(&b, 2);
    if (truncate(scratch("p"), second + (off_t)b.size) == 0) {
        FILE *f = fopen(scratch("p"), "r+b");
        ck_assert_ptr_nonnull(f);
        ck_assert_int_eq(fseeko(f, second, SEEK_SET), 0);
        ck_assert_uint_eq(fwrite(b.data, 1, b.size, f), b.size);
        fclose(f);
        ck_assert_int_eq(pdm_params_scan_combined(&params, scratch("p"), names, NULL, 2, &sink),
                         PDM_OK);
        ck_assert_uint_eq(params.items[0].data_size, (uint64_t)n);
        ck_assert_uint_eq(params.items[1].offset, (uint64_t)second);
    }
    pdm_buf_deinit(&b);
}
END_TEST

Suite *pdm_suite_params(void)
{
    Suite *suite = suite_create("params");
    TCase *tc = tcase_create("params");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, every_element_type);
    tcase_add_test(tc, shapes_and_lod);
    tcase_add_test(tc, selected_rows_and_vocabulary);
    tcase_add_test(tc, broken_selected_rows_and_vocabulary);
    tcase_add_test(tc, cut_off_anywhere);
    tcase_add_test(tc, too_few_and_too_many);
    tcase_add_test(tc, hostile_headers);
    tcase_add_test(tc, descriptions);
    tcase_add_test(tc, other_formats);
    tcase_add_test(tc, separate_files);
    tcase_add_test(tc, separate_files_that_are_wrong);
    tcase_add_test(tc, huge_file);
    suite_add_tcase(suite, tc);
    return suite;
}
