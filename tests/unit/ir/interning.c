#include <math.h>

#include "unit/ir/build.h"

#include "ir/ir_t.h"
#include "unit/must.h"

Suite *pdm_suite_interning(void);

START_TEST(types)
{
    fx f;
    fx_init(&f);
    pdm_ir_context *c = f.context;
    const int64_t dims[] = {-1, 3, 224, 224};
    const size_t level0[] = {3, 0, 1, 3}, level1[] = {3, 0, 1, 4};
    const size_t *const lod0[] = {level0}, *const lod1[] = {level1};
    struct pdm_ir_type_s t = {
        .kind = PDM_IR_DENSE_TENSOR, .dtype = PDM_F32, .rank = 4, .dims = dims};
    pdm_ir_type plain = pdm_ir_type_tensor(c, PDM_F32, dims, 4);

    ck_assert_ptr_eq(pdm_ir_type_intern(c, &t), plain);
    ck_assert_str_eq(plain->layout, "NCHW");
    ck_assert_ptr_ne(plain->dims, dims);
    ck_assert_ptr_ne(pdm_ir_type_tensor(c, PDM_F32, dims, 3), plain);
    ck_assert_ptr_ne(pdm_ir_type_tensor(c, PDM_F64, dims, 4), plain);
    t.layout = "NHWC";
    ck_assert_ptr_ne(pdm_ir_type_intern(c, &t), plain);
    t.layout = "NCHW";
    ck_assert_ptr_eq(pdm_ir_type_intern(c, &t), plain);
    t.offset = 1;
    ck_assert_ptr_ne(pdm_ir_type_intern(c, &t), plain);
    t.offset = 0;
    t.num_elements = 7; /* a field that the kind does not have */
    ck_assert_ptr_eq(pdm_ir_type_intern(c, &t), plain);
    t.num_lod = 1;
    t.lod = lod0;
    pdm_ir_type with_lod = pdm_ir_type_intern(c, &t);
    ck_assert_ptr_ne(with_lod, plain);
    ck_assert_ptr_eq(pdm_ir_type_intern(c, &t), with_lod);
    ck_assert_uint_eq(with_lod->lod[0][3], 3);
    t.lod = lod1;
    ck_assert_ptr_ne(pdm_ir_type_intern(c, &t), with_lod);
    t.kind = PDM_IR_SELECTED_ROWS;
    t.lod = lod0;
    ck_assert_ptr_ne(pdm_ir_type_intern(c, &t), with_lod);
    ck_assert_ptr_eq(pdm_ir_type_array(c, PDM_F32, dims, 0, NULL),
                     pdm_ir_type_array(c, PDM_F32, NULL, 0, "NCHW"));
    ck_assert_ptr_ne(pdm_ir_type_array(c, PDM_F32, dims, 4, NULL), plain);
    ck_assert_ptr_ne(pdm_ir_type_element(c, PDM_F32), pdm_ir_type_element(c, PDM_I32));
    fx_deinit(&f);
}
END_TEST

START_TEST(nested_types)
{
    fx f;
    fx_init(&f);
    pdm_ir_context *c = f.context;
    const pdm_ir_type two[] = {f.f32, NULL}, other[] = {f.f32, f.i64};
    pdm_ir_type v = pdm_ir_type_vector(c, two, 2);
    struct pdm_ir_type_s coo = {.kind = PDM_IR_SPARSE_COO,
                                .dtype = PDM_F32,
                                .rank = 1,
                                .dims = (int64_t[]){5},
                                .elements = other,
                                .num_elements = 2};

    ck_assert_ptr_eq(v, pdm_ir_type_vector(c, two, 2));
    ck_assert_ptr_ne(v, pdm_ir_type_vector(c, other, 2));
    ck_assert_ptr_ne(v, pdm_ir_type_vector(c, two, 1));
    ck_assert_ptr_eq(pdm_ir_type_vector(c, NULL, 0), pdm_ir_type_vector(c, two, 0));
    pdm_ir_type sparse = pdm_ir_type_intern(c, &coo);
    coo.non_zero_rank = 1;
    coo.non_zero_dims = (int64_t[]){2};
    ck_assert_ptr_ne(pdm_ir_type_intern(c, &coo), sparse);
    ck_assert_ptr_eq(
        pdm_ir_type_intern(c, &(struct pdm_ir_type_s){.kind = PDM_IR_STACK}),
        pdm_ir_type_intern(c, &(struct pdm_ir_type_s){.kind = PDM_IR_STACK, .dtype = PDM_F32}));
    fx_deinit(&f);
}
END_TEST

START_TEST(attributes)
{
    fx f;
    fx_init(&f);
    pdm_ir_context *c = f.context;

    ck_assert_ptr_eq(pdm_ir_attr_i32(c, 7), pdm_ir_attr_i32(c, 7));
    ck_assert_ptr_ne(pdm_ir_attr_i32(c, 7), pdm_ir_attr_i64(c, 7));
    ck_assert_ptr_ne(pdm_ir_attr_i64(c, INT64_MAX), pdm_ir_attr_i64(c, INT64_MAX - 1));
    ck_assert_ptr_ne(pdm_ir_attr_f64(c, 0.0), pdm_ir_attr_f64(c, -0.0));
    ck_assert_ptr_eq(pdm_ir_attr_f32(c, NAN), pdm_ir_attr_f32(c, -NAN));
    ck_assert_ptr_ne(pdm_ir_attr_f32(c, INFINITY), pdm_ir_attr_f32(c, -INFINITY));
    ck_assert_ptr_ne(pdm_ir_attr_f32(c, 0.1f), pdm_ir_attr_f64(c, 0.1));
    ck_assert_double_eq(pdm_ir_attr_f32(c, 0.1f)->u.f, (double)0.1f);
    ck_assert_ptr_ne(pdm_ir_attr_strn(c, "a\0b", 3), pdm_ir_attr_strn(c, "a\0c", 3));
    ck_assert_ptr_eq(pdm_ir_attr_strn(c, "abc", 2), pdm_ir_attr_str(c, "ab"));
    ck_assert_ptr_ne(pdm_ir_attr_str(c, "NCHW"), pdm_ir_attr_layout(c, "NCHW"));
    ck_assert_ptr_eq(pdm_ir_attr_place(c, 1, 0, ""), pdm_ir_attr_place(c, 1, 0, NULL));
    ck_assert_ptr_ne(pdm_ir_attr_place(c, 1, 0, ""), pdm_ir_attr_place(c, 0, 0, ""));
    ck_assert_ptr_ne(pdm_ir_attr_dtype(c, PDM_F32),
                     pdm_ir_attr_type(c, pdm_ir_type_element(c, PDM_F32)));
    ck_assert_ptr_ne(pdm_ir_attr_null(c), pdm_ir_attr_type(c, NULL));
    ck_assert_ptr_ne(pdm_ir_attr_bool(c, true), pdm_ir_attr_bool(c, false));
    fx_deinit(&f);
}
END_TEST

START_TEST(arrays)
{
    fx f;
    fx_init(&f);
    pdm_ir_context *c = f.context;
    int32_t many[100];
    for (int i = 0; i < 100; i++)
        many[i] = i;
    pdm_ir_attr array = pdm_ir_attr_i32s(c, many, 100);

    ck_assert_uint_eq(array->count, 100);
    ck_assert_ptr_eq(array, pdm_ir_attr_i32s(c, many, 100));
    ck_assert_ptr_ne(array, pdm_ir_attr_i32s(c, many, 99));
    ck_assert_ptr_eq(array->u.items[99], pdm_ir_attr_i32(c, 99));
    ck_assert_ptr_eq(pdm_ir_attr_i32s(c, NULL, 0), pdm_ir_attr_f32s(c, NULL, 0));
    ck_assert_ptr_ne(pdm_ir_attr_i32s(c, NULL, 0), pdm_ir_attr_int_array(c, NULL, 0));
    ck_assert_ptr_eq(pdm_ir_attr_int_array(c, (int64_t[]){1, 2}, 2),
                     pdm_ir_attr_int_array(c, (int64_t[]){1, 2}, 2));
    ck_assert_ptr_ne(pdm_ir_attr_int_array(c, (int64_t[]){1, 2}, 2),
                     pdm_ir_attr_i64s(c, (int64_t[]){1, 2}, 2));
    ck_assert_ptr_eq(pdm_ir_attr_bools(c, (bool[]){true}, 1)->u.items[0],
                     pdm_ir_attr_bool(c, true));
    ck_assert_ptr_eq(pdm_ir_attr_strs(c, (const char *[]){"a", "b"}, 2)->u.items[1],
                     pdm_ir_attr_str(c, "b"));
    ck_assert_ptr_eq(pdm_ir_attr_f64s(c, (double[]){0.5}, 1)->u.items[0], pdm_ir_attr_f64(c, 0.5));
    pdm_ir_attr nested[] = {array, pdm_ir_attr_array(c, &array, 1)};
    ck_assert_ptr_eq(pdm_ir_attr_array(c, nested, 2), pdm_ir_attr_array(c, nested, 2));
    fx_deinit(&f);
}
END_TEST

START_TEST(many_objects)
{
    fx f;
    fx_init(&f);
    enum { N = 20000 };
    static pdm_ir_attr attrs[N];
    static pdm_ir_type all[N];
    for (int64_t i = 0; i < N; i++) {
        attrs[i] = pdm_ir_attr_i64(f.context, i * i);
        all[i] = pdm_ir_type_tensor(f.context, PDM_F32, (int64_t[]){i, -1}, 2);
    }
    for (int64_t i = 0; i < N; i++) {
        must(attrs[i] == pdm_ir_attr_i64(f.context, i * i));
        must(all[i] == pdm_ir_type_tensor(f.context, PDM_F32, ((int64_t[]){i, -1}), 2));
        must(all[i]->dims[0] == i);
    }
    fx_deinit(&f);
}
END_TEST

Suite *pdm_suite_interning(void)
{
    Suite *suite = suite_create("interning");
    TCase *tcase = tcase_create("interning");

    tcase_add_test(tcase, types);
    tcase_add_test(tcase, nested_types);
    tcase_add_test(tcase, attributes);
    tcase_add_test(tcase, arrays);
    tcase_add_test(tcase, many_objects);
    suite_add_tcase(suite, tcase);
    return suite;
}
