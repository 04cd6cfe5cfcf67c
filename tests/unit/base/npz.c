/* Files of tensors: what numpy writes, what we write, and what is refused. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/npz.h"
#include "unit/base/scratch.h"

Suite *pdm_suite_npz(void);

typedef struct heard {
    char id[64], message[256];
} heard;

static void hear(void *user, const pdm_diagnostic *d)
{
    heard *h = user;

    snprintf(h->id, sizeof h->id, "%s", d->id);
    snprintf(h->message, sizeof h->message, "%s", d->message);
}

/* A .npy of format 1.0 with that header and data. */
static size_t make_npy(unsigned char *out, const char *header, const void *data, size_t size)
{
    const size_t len = strlen(header);

    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)(len & 0xff);
    out[9] = (unsigned char)(len >> 8);
    memcpy(out + 10, header, len);
    if (size)
        memcpy(out + 10 + len, data, size);
    return 10 + len + size;
}

static pdm_status read_npy(const char *header, const void *data, size_t size, pdm_npz *npz,
                           heard *h)
{
    static unsigned char file[4096];
    pdm_diag_sink sink = {.fn = hear, .user = h};

    *h = (heard){0};
    scratch_write("x.npy", file, make_npy(file, header, data, size));
    pdm_npz_init(npz);
    return pdm_npz_read(npz, scratch("x.npy"), 0, &sink);
}

static void refused(const char *header, size_t size, const char *id, const char *words)
{
    static const unsigned char zeros[256];
    pdm_npz npz;
    heard h;

    ck_assert_msg(read_npy(header, zeros, size, &npz, &h) != PDM_OK, "%s", header);
    ck_assert_msg(!strcmp(h.id, id), "%s: %s, not %s", header, h.id, id);
    ck_assert_msg(strstr(h.message, words) != NULL, "%s: '%s' does not say '%s'", header, h.message,
                  words);
    pdm_npz_deinit(&npz);
}

START_TEST(a_lone_array)
{
    const float data[6] = {1, 2, 3, 4, 5, 6};
    pdm_npz npz;
    heard h;

    ck_assert_int_eq(read_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", data,
                              sizeof data, &npz, &h),
                     PDM_OK);
    const pdm_tensor *t = pdm_npz_find(&npz, "x");
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(t->dtype, PDM_F32);
    ck_assert_int_eq(t->rank, 2);
    ck_assert_int_eq(t->dims[1], 3);
    ck_assert_mem_eq(t->data, data, sizeof data);
    pdm_npz_deinit(&npz);
}
END_TEST

START_TEST(fortran_order)
{
    const int32_t columns[6] = {1, 4, 2, 5, 3, 6}, rows[6] = {1, 2, 3, 4, 5, 6};
    pdm_npz npz;
    heard h;

    ck_assert_int_eq(read_npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3)}", columns,
                              sizeof columns, &npz, &h),
                     PDM_OK);
    ck_assert_mem_eq(npz.items[0].tensor.data, rows, sizeof rows);
    pdm_npz_deinit(&npz);
}
END_TEST

START_TEST(headers_of_any_spelling)
{
    const double one = 1;
    pdm_npz npz;
    heard h;

    ck_assert_int_eq(read_npy("{\"shape\":(),\"fortran_order\":False,\"descr\":\"<f8\"}", &one,
                              sizeof one, &npz, &h),
                     PDM_OK);
    ck_assert_int_eq(npz.items[0].tensor.rank, 0);
    ck_assert_int_eq(pdm_tensor_count(&npz.items[0].tensor), 1);
    pdm_npz_deinit(&npz);
    ck_assert_int_eq(
        read_npy("{'descr':'|b1','fortran_order':False,'shape':(0,4L,),}", NULL, 0, &npz, &h),
        PDM_OK);
    ck_assert_int_eq(pdm_tensor_count(&npz.items[0].tensor), 0);
    ck_assert_ptr_nonnull(npz.items[0].tensor.data);
    pdm_npz_deinit(&npz);
}
END_TEST

START_TEST(bools_are_zero_or_one)
{
    const unsigned char data[3] = {0, 7, 1};
    pdm_npz npz;
    heard h;

    ck_assert_int_eq(
        read_npy("{'descr':'|b1','fortran_order':False,'shape':(3,)}", data, 3, &npz, &h), PDM_OK);
    ck_assert_mem_eq(npz.items[0].tensor.data, "\0\1\1", 3);
    pdm_npz_deinit(&npz);
}
END_TEST

START_TEST(what_is_refused)
{
    refused("{'descr':'>f4','fortran_order':False,'shape':(1,)}", 4, "npz-type", "big-endian");
    refused("{'descr':'|O','fortran_order':False,'shape':(1,)}", 8, "npz-type", "pickled");
    refused("{'descr':'<U5','fortran_order':False,'shape':(1,)}", 20, "npz-type", "'<U5'");
    refused("{'descr':[('a','<f4')],'fortran_order':False,'shape':(1,)}", 4, "npz-type",
            "not known");
    refused("{'descr':'<f4','fortran_order':False,'shape':(2,)}", 4, "npz-form", "shape");
    refused("{'descr':'<f4','fortran_order':False,'shape':(1,)}", 8, "npz-form", "shape");
    refused("{'descr':'<f4','fortran_order':False,'shape':(4611686018427387904,8)}", 4, "npz-form",
            "shape");
    refused("{'descr':'<f4','fortran_order':False,'shape':(1,1,1,1,1,1,1,1,1,1)}", 4, "npz-limit",
            "dimensions");
    refused("{'descr':'<f4','fortran_order':False,'shape':(-1,)}", 4, "npz-form", "header");
    refused("{'descr':'<f4','fortran_order':False}", 4, "npz-form", "header");
    refused("{'descr':'<f4'", 4, "npz-form", "header");
    refused("", 0, "npz-form", "header");
}
END_TEST

static pdm_status read_bytes(const void *data, size_t size, heard *h)
{
    pdm_diag_sink sink = {.fn = hear, .user = h};
    pdm_npz npz;

    *h = (heard){0};
    scratch_write("y.npz", data, size);
    pdm_npz_init(&npz);
    const pdm_status status = pdm_npz_read(&npz, scratch("y.npz"), 0, &sink);
    pdm_npz_deinit(&npz);
    return status;
}

static void make_tensor(pdm_tensor *t, pdm_dtype dtype, int rank, const int64_t *dims)
{
    pdm_tensor_init(t);
    ck_assert_int_eq(pdm_tensor_alloc(t, dtype, rank, dims), PDM_OK);
    for (size_t i = 0; i < pdm_tensor_bytes(t); i++)
        ((unsigned char *)t->data)[i] = dtype == PDM_BOOL ? i % 2 : (unsigned char)(3 * i + 1);
}

/* An archive with one array a dtype, in scratch("z.npz"). */
static void write_all(pdm_npz *npz)
{
    static const pdm_dtype dtypes[] = {PDM_BOOL, PDM_I8,  PDM_U8,  PDM_I16, PDM_U16,
                                       PDM_I32,  PDM_U32, PDM_I64, PDM_U64, PDM_F16,
                                       PDM_F32,  PDM_F64, PDM_C64, PDM_C128};
    const int64_t dims[3] = {2, 1, 3};

    pdm_npz_init(npz);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        pdm_tensor t;
        make_tensor(&t, dtypes[i], (int)(i % 4), dims);
        ck_assert_int_eq(pdm_npz_add(npz, pdm_dtype_name(dtypes[i]), &t), PDM_OK);
        pdm_tensor_deinit(&t);
    }
    ck_assert_int_eq(pdm_npz_write(npz, scratch("z.npz"), false, NULL), PDM_OK);
}

START_TEST(written_and_read)
{
    pdm_npz npz, back;

    write_all(&npz);
    pdm_npz_init(&back);
    ck_assert_int_eq(pdm_npz_read(&back, scratch("z.npz"), 0, NULL), PDM_OK);
    ck_assert_uint_eq(back.count, npz.count);
    for (size_t i = 0; i < npz.count; i++) {
        const pdm_tensor *a = &npz.items[i].tensor, *b = pdm_npz_find(&back, npz.items[i].key);
        ck_assert_ptr_nonnull(b);
        ck_assert_int_eq(a->dtype, b->dtype);
        ck_assert_int_eq(a->rank, b->rank);
        ck_assert_mem_eq(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
        ck_assert_mem_eq(a->data, b->data, pdm_tensor_bytes(a));
    }
    ck_assert_int_eq(pdm_npz_write(&npz, scratch("z.npz"), false, NULL), PDM_EXISTS);
    ck_assert_int_eq(pdm_npz_write(&npz, scratch("z.npz"), true, NULL), PDM_OK);
    pdm_npz_deinit(&back);
    pdm_npz_deinit(&npz);
}
END_TEST

/* Whatever is cut off or changed: an answer, and never more memory than allowed. */
START_TEST(broken_archives)
{
    pdm_npz npz;
    heard h;

    write_all(&npz);
    pdm_npz_deinit(&npz);
    FILE *f = fopen(scratch("z.npz"), "rb");
    static unsigned char whole[16384], changed[16384];
    const size_t size = fread(whole, 1, sizeof whole, f);
    fclose(f);
    ck_assert_uint_lt(size, sizeof whole);
    for (size_t n = 0; n < size; n += 1 + size / 97)
        ck_assert_msg(read_bytes(whole, n, &h) != PDM_OK, "cut to %zu bytes", n);
    for (size_t n = 0; n < size; n += 3) {
        memcpy(changed, whole, size);
        changed[n] ^= 0xff;
        (void)read_bytes(changed, size, &h);
    }
    ck_assert_int_eq(read_bytes("hello, world", 12, &h), PDM_IO);
    ck_assert_str_eq(h.id, "npz-form");
    ck_assert_int_ne(read_bytes("", 0, &h), PDM_OK);
    ck_assert_str_eq(h.id, "npz-form");
}
END_TEST

START_TEST(too_large)
{
    pdm_npz npz, back;
    heard h = {0};
    pdm_diag_sink sink = {.fn = hear, .user = &h};

    write_all(&npz);
    pdm_npz_deinit(&npz);
    pdm_npz_init(&back);
    ck_assert_int_ne(pdm_npz_read(&back, scratch("z.npz"), 1000, &sink), PDM_OK);
    ck_assert_str_eq(h.id, "npz-limit");
    pdm_npz_deinit(&back);
}
END_TEST

START_TEST(keys)
{
    pdm_npz_key k = pdm_npz_key_parse("in:x:y");
    ck_assert_int_eq(k.kind, PDM_NPZ_IN);
    ck_assert_str_eq(k.name, "x:y");
    k = pdm_npz_key_parse("out:12:a:b");
    ck_assert_int_eq(k.kind, PDM_NPZ_OUT);
    ck_assert_uint_eq(k.position, 12);
    ck_assert_str_eq(k.name, "a:b");
    k = pdm_npz_key_parse("lod:out:a:b:1");
    ck_assert_int_eq(k.kind, PDM_NPZ_LOD);
    ck_assert(k.lod_of_out);
    ck_assert_uint_eq(k.level, 1);
    ck_assert_uint_eq(k.name_len, 3);
    ck_assert_int_eq(pdm_npz_key_parse("out:x:y").kind, PDM_NPZ_PLAIN);
    ck_assert_int_eq(pdm_npz_key_parse("out:").kind, PDM_NPZ_PLAIN);
    ck_assert_int_eq(pdm_npz_key_parse("lod:in:x").kind, PDM_NPZ_PLAIN);
    ck_assert_int_eq(pdm_npz_key_parse("x").kind, PDM_NPZ_PLAIN);
}
END_TEST

START_TEST(lod)
{
    const int64_t upper[] = {0, 2, 3}, lower[] = {0, 1, 1, 4};
    const int64_t *const levels[] = {upper, lower};
    const size_t counts[] = {3, 4};
    pdm_tensor t, u = {0};
    pdm_npz npz;
    size_t n;

    make_tensor(&t, PDM_F32, 1, (int64_t[]){4});
    ck_assert_int_eq(pdm_tensor_set_lod(&t, 2, levels, counts), PDM_OK);
    pdm_npz_init(&npz);
    ck_assert_int_eq(pdm_npz_add_lod(&npz, "in", "x:y", &t), PDM_OK);
    ck_assert_uint_eq(npz.count, 2);
    pdm_tensor_ref(&u, &t);
    ck_assert_int_eq(pdm_tensor_set_lod(&u, 0, NULL, NULL), PDM_OK);
    ck_assert_uint_eq(pdm_tensor_num_lod(&u), 0);
    ck_assert_uint_eq(pdm_tensor_num_lod(&t), 2);
    ck_assert_int_eq(pdm_npz_lod(&npz, false, "x", &u), PDM_OK);
    ck_assert_uint_eq(pdm_tensor_num_lod(&u), 0);
    ck_assert_int_eq(pdm_npz_lod(&npz, false, "x:y", &u), PDM_OK);
    ck_assert_uint_eq(pdm_tensor_num_lod(&u), 2);
    ck_assert_mem_eq(pdm_tensor_lod(&u, 1, &n), lower, sizeof lower);
    ck_assert_uint_eq(n, 4);
    pdm_npz_deinit(&npz);
    pdm_tensor_deinit(&t);
    pdm_tensor_deinit(&u);
}
END_TEST

Suite *pdm_suite_npz(void)
{
    Suite *suite = suite_create("npz");
    TCase *tcase = tcase_create("files");

    tcase_add_checked_fixture(tcase, scratch_make, scratch_remove);
    tcase_add_test(tcase, a_lone_array);
    tcase_add_test(tcase, fortran_order);
    tcase_add_test(tcase, headers_of_any_spelling);
    tcase_add_test(tcase, bools_are_zero_or_one);
    tcase_add_test(tcase, what_is_refused);
    tcase_add_test(tcase, written_and_read);
    tcase_add_test(tcase, broken_archives);
    tcase_add_test(tcase, too_large);
    tcase_add_test(tcase, keys);
    tcase_add_test(tcase, lod);
    suite_add_tcase(suite, tcase);
    return suite;
}
