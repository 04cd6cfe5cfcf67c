/* Tensors: references, copies on write, half precision. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/tensor.h"
#include "unit/must.h"

Suite *pdm_suite_tensor(void);

START_TEST(references_share_until_somebody_writes)
{
    pdm_tensor a = {0}, b = {0};

    ck_assert_int_eq(pdm_tensor_alloc(&a, PDM_I32, 2, (int64_t[]){2, 3}), PDM_OK);
    ck_assert_uint_eq((uintptr_t)a.data % PDM_TENSOR_ALIGNMENT, 0);
    ck_assert(!pdm_tensor_is_shared(&a));
    memset(a.data, 0, pdm_tensor_bytes(&a));
    pdm_tensor_ref(&b, &a);
    ck_assert(pdm_tensor_is_shared(&a) && pdm_tensor_is_shared(&b));
    ck_assert_ptr_eq(a.data, b.data);
    ck_assert_int_eq(pdm_tensor_make_writable(&b), PDM_OK);
    ck_assert_ptr_ne(a.data, b.data);
    ck_assert(!pdm_tensor_is_shared(&a) && !pdm_tensor_is_shared(&b));
    ((int32_t *)b.data)[0] = 5;
    ck_assert_int_eq(((int32_t *)a.data)[0], 0);
    pdm_tensor_ref(&a, &a); /* itself */
    pdm_tensor_deinit(&a);
    pdm_tensor_deinit(&b);
    ck_assert_int_eq(b.dtype, PDM_UNDEFINED);
}
END_TEST

START_TEST(what_cannot_be_allocated)
{
    pdm_tensor t = {0};

    ck_assert_int_eq(pdm_tensor_alloc(&t, PDM_F32, 1, (int64_t[]){-1}), PDM_INVALID_ARG);
    ck_assert_int_eq(pdm_tensor_alloc(&t, PDM_F32, 10, (int64_t[10]){0}), PDM_INVALID_ARG);
    ck_assert_int_eq(pdm_tensor_alloc(&t, PDM_PSTRING, 0, NULL), PDM_INVALID_ARG);
    ck_assert_int_eq(pdm_tensor_alloc(&t, PDM_F64, 2, (int64_t[]){INT64_MAX, 2}), PDM_NOMEM);
    ck_assert_int_eq(pdm_tensor_alloc(&t, PDM_F64, 1, (int64_t[]){INT64_MAX}), PDM_NOMEM);
    ck_assert_int_eq(t.dtype, PDM_UNDEFINED);
    ck_assert_int_eq(pdm_tensor_alloc(&t, PDM_F32, 2, (int64_t[]){0, 7}), PDM_OK);
    ck_assert_ptr_nonnull(t.data);
    ck_assert_uint_eq(pdm_tensor_bytes(&t), 0);
    pdm_tensor_deinit(&t);
}
END_TEST

typedef struct own {
    pdm_buffer buffer;
    int released;
} own;

static void note(pdm_buffer *buffer)
{
    ((own *)buffer)->released++;
}

START_TEST(memory_of_others)
{
    float data[4] = {1, 2, 3, 4};
    own o = {.buffer = {.refs = 1, .release = note}};
    pdm_tensor a = {.dtype = PDM_F32, .rank = 1, .dims = {4}, .data = data, .buffer = &o.buffer},
               b = {0};
    pdm_tensor borrowed = {.dtype = PDM_F32, .rank = 1, .dims = {4}, .data = data};

    pdm_tensor_ref(&b, &a);
    pdm_tensor_deinit(&a);
    ck_assert_int_eq(o.released, 0);
    pdm_tensor_deinit(&b);
    ck_assert_int_eq(o.released, 1);
    ck_assert(pdm_tensor_is_shared(&borrowed));
    ck_assert_int_eq(pdm_tensor_make_writable(&borrowed), PDM_OK);
    ck_assert_ptr_ne(borrowed.data, data);
    pdm_tensor_deinit(&borrowed);
}
END_TEST

/* All values of a half type survive the way to float and back; between two, the even one wins. */
START_TEST(half_precision)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float f = pdm_f16_to_float((uint16_t)bits), b = pdm_bf16_to_float((uint16_t)bits);
        if (!isnan(f))
            must(pdm_float_to_f16(f) == bits);
        else
            ck_assert(isnan(pdm_f16_to_float(pdm_float_to_f16(f))));
        if (!isnan(b))
            must(pdm_float_to_bf16(b) == bits);
        else
            ck_assert(isnan(pdm_bf16_to_float(pdm_float_to_bf16(b))));
    }
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        const float low = pdm_f16_to_float((uint16_t)bits),
                    high = pdm_f16_to_float((uint16_t)(bits + 1));
        const float middle = (low + high) / 2; /* exact in float */
        must(pdm_float_to_f16(middle) == (bits % 2 ? bits + 1 : bits));
        must(pdm_float_to_f16(nextafterf(middle, high)) == bits + 1);
        must(pdm_float_to_f16(nextafterf(middle, low)) == bits);
    }
    ck_assert_uint_eq(pdm_float_to_f16(65519.0f), 0x7bff);
    ck_assert_uint_eq(pdm_float_to_f16(65520.0f), 0x7c00);
    ck_assert_uint_eq(pdm_float_to_f16(-1e30f), 0xfc00);
    ck_assert_uint_eq(pdm_float_to_f16(1e-30f), 0);
    ck_assert_uint_eq(pdm_float_to_bf16(1.00390625f), 0x3f80);
    ck_assert_uint_eq(pdm_float_to_bf16(1.01171875f), 0x3f82);
}
END_TEST

Suite *pdm_suite_tensor(void)
{
    Suite *suite = suite_create("tensor");
    TCase *tcase = tcase_create("tensors");

    tcase_add_test(tcase, references_share_until_somebody_writes);
    tcase_add_test(tcase, what_cannot_be_allocated);
    tcase_add_test(tcase, memory_of_others);
    tcase_add_test(tcase, half_precision);
    suite_add_tcase(suite, tcase);
    return suite;
}
