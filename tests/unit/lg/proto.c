/* proto/framework.proto: what the generated code must keep for a reader of untrusted files. */
#include <check.h>
#include <string.h>

#include "framework.pb-c.h"

Suite *pdm_suite_proto(void);

/* An op of type "t" with one attribute that has a type and no name. */
static const uint8_t nameless[] = {
    0x1a, 0x01, 't',        /* type */
    0x22, 0x02, 0x10, 0x00, /* attrs: type INT */
};

START_TEST(a_missing_name_is_refused)
{
    ck_assert_ptr_null(pdm_pb__op_desc__unpack(NULL, sizeof nameless, nameless));
}
END_TEST

START_TEST(odd_values_survive)
{
    PdmPb__OpDesc__Attr attr = PDM_PB__OP_DESC__ATTR__INIT;
    attr.name.data = (uint8_t *)"n";
    attr.name.len = 1;
    attr.type = 99;
    PdmPb__OpDesc__Attr *attrs[] = {&attr};

    PdmPb__OpDesc op = PDM_PB__OP_DESC__INIT;
    op.type.data = (uint8_t *)"a\0b";
    op.type.len = 3;
    op.n_attrs = 1;
    op.attrs = attrs;

    uint8_t bytes[64];
    ck_assert_uint_le(pdm_pb__op_desc__get_packed_size(&op), sizeof bytes);
    size_t size = pdm_pb__op_desc__pack(&op, bytes);

    PdmPb__OpDesc *got = pdm_pb__op_desc__unpack(NULL, size, bytes);
    ck_assert_ptr_nonnull(got);
    ck_assert_uint_eq(got->type.len, 3);
    ck_assert_mem_eq(got->type.data, "a\0b", 3);
    ck_assert_int_eq(got->attrs[0]->type, 99);
    pdm_pb__op_desc__free_unpacked(got, NULL);
}
END_TEST

START_TEST(defaults_are_those_of_the_format)
{
    PdmPb__BlockDesc block = PDM_PB__BLOCK_DESC__INIT;
    ck_assert_int_eq(block.forward_block_idx, -1);
    ck_assert(!block.has_forward_block_idx);
}
END_TEST

Suite *pdm_suite_proto(void)
{
    Suite *suite = suite_create("proto");
    TCase *tc = tcase_create("generated");
    tcase_add_test(tc, a_missing_name_is_refused);
    tcase_add_test(tc, odd_values_survive);
    tcase_add_test(tc, defaults_are_those_of_the_format);
    suite_add_tcase(suite, tc);
    return suite;
}
