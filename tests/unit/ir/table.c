#include "unit/ir/build.h"

#include <stdlib.h>

Suite *pdm_suite_table(void);

/* Rows in each file: as many as have been expanded. */
#define PDM_OP(...) +1
enum {
    NUM_ROWS = 0
#include "ir/ops/builtin.def"
#include "ir/ops/cf.def"
#include "ir/ops/cinn_op.def"
#include "ir/ops/fast.def"
#include "ir/ops/pd_op.def"
};
#undef PDM_OP

START_TEST(sorted_and_complete)
{
    ck_assert_uint_eq(pdm_ir_op_desc_count(), NUM_ROWS);
    ck_assert_uint_gt(pdm_ir_op_desc_count(), 900);
    for (size_t i = 0; i < pdm_ir_op_desc_count(); i++) {
        const pdm_ir_op_desc *row = pdm_ir_op_desc_at(i);
        if (i > 0)
            ck_assert_str_lt(pdm_ir_op_desc_at(i - 1)->name, row->name);
        ck_assert_ptr_eq(pdm_ir_op_desc_find(row->name), row);
    }
    ck_assert_ptr_null(pdm_ir_op_desc_find(""));
    ck_assert_ptr_null(pdm_ir_op_desc_find("pd_op.rel"));
    ck_assert_ptr_null(pdm_ir_op_desc_find("relu"));
    ck_assert_ptr_null(pdm_ir_op_desc_find("zz"));
}
END_TEST

/* What the code that reads rows relies on. */
START_TEST(rows_are_sound)
{
    for (size_t i = 0; i < pdm_ir_op_desc_count(); i++) {
        const pdm_ir_op_desc *row = pdm_ir_op_desc_at(i);
        for (uint16_t k = 0; k + 1 < row->num_operands; k++)
            ck_assert_msg(row->operands[k].kind != PDM_IR_OPERAND_MANY, "%s", row->name);
        for (uint16_t k = 0; k + 1 < row->num_results; k++)
            ck_assert_msg(row->results[k].kind != PDM_IR_OPERAND_MANY, "%s", row->name);
        for (uint16_t k = 0; k < row->num_attrs; k++) {
            const pdm_ir_attr_desc *attr = &row->attrs[k];
            ck_assert_ptr_eq(pdm_ir_op_desc_attr(row, attr->name), attr); /* no name twice */
            ck_assert_msg((attr->type != attr->old_type) == (attr->changed_in != 0), "%s.%s",
                          row->name, attr->name);
            ck_assert_msg(attr->changed_in == 0 || attr->changed_in > 1, "%s.%s", row->name,
                          attr->name);
            if (attr->added_in && attr->default_json) /* version.c knows no others */
                ck_assert_msg(attr->type == PDM_IR_T_BOOL || attr->type == PDM_IR_T_I32 ||
                                  attr->type == PDM_IR_T_I64,
                              "%s.%s", row->name, attr->name);
            if (attr->changed_in)
                ck_assert_msg(
                    (attr->type == PDM_IR_T_I64 && attr->old_type == PDM_IR_T_I32) ||
                        (attr->type == PDM_IR_T_F64 && attr->old_type == PDM_IR_T_F32) ||
                        (attr->type == PDM_IR_T_ARRAY_I64 &&
                         attr->old_type == PDM_IR_T_ARRAY_I32) ||
                        (attr->type == PDM_IR_T_ARRAY_F64 && attr->old_type == PDM_IR_T_ARRAY_F32),
                    "%s.%s", row->name, attr->name);
        }
        ck_assert_msg(row->flags != 0, "%s", row->name);
    }
}
END_TEST

START_TEST(row_contents)
{
    const pdm_ir_op_desc *row = pdm_ir_op_desc_find("pd_op.kthvalue");

    ck_assert_uint_eq(row->num_operands, 1);
    ck_assert_str_eq(row->operands[0].name, "x");
    ck_assert_uint_eq(row->num_results, 2);
    ck_assert_uint_eq(row->num_attrs, 3);
    const pdm_ir_attr_desc *k = pdm_ir_op_desc_attr(row, "k");
    ck_assert_int_eq(pdm_ir_attr_desc_type(k, 1), PDM_IR_T_I32);
    ck_assert_int_eq(pdm_ir_attr_desc_type(k, 3), PDM_IR_T_I64);
    ck_assert_int_eq(pdm_ir_attr_desc_type(k, 99), PDM_IR_T_I64);
    ck_assert_ptr_null(pdm_ir_op_desc_attr(row, "no"));
    ck_assert_int_eq(pdm_ir_op_desc_find("pd_op.while")->operands[1].kind, PDM_IR_OPERAND_MANY);
    ck_assert_int_eq(pdm_ir_op_desc_find("cf.yield")->flags, PDM_IR_TERMINATOR);
    ck_assert_int_eq(pdm_ir_op_desc_find("pd_op.rms_norm")->since, 4);
}
END_TEST

typedef struct inplace_row {
    const char *name;
    int operand, result;
} inplace_row;

START_TEST(row_facts)
{
#define PDM_INPLACE(dialect, name, operand, result) {#dialect "." #name, operand, result},
    static const inplace_row rows[] = {
#include "ir/ops/inplace.def"
    };
#undef PDM_INPLACE
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pdm_ir_op_desc *row = pdm_ir_op_desc_find(rows[i].name);
        ck_assert_msg(row != NULL, "%s", rows[i].name);
        ck_assert_msg(rows[i].operand < row->num_operands && rows[i].result < row->num_results,
                      "%s", row->name);
        ck_assert_int_eq(pdm_ir_inplace_result(rows[i].name, rows[i].operand), rows[i].result);
    }
    fx f;
    fx_init(&f);
    for (size_t i = 0; i < pdm_ir_op_desc_count(); i++) {
        const pdm_ir_op_desc *row = pdm_ir_op_desc_at(i);
        const pdm_ir_op_info *info = pdm_ir_op_info_get(f.context, row->name, NULL);
        ck_assert_ptr_eq(info, pdm_ir_op_info_by_code(f.context, (pdm_ir_op_code)i));
        for (uint16_t k = 0; k < row->num_operands; k++)
            ck_assert_int_eq(pdm_ir_op_info_inplace(info, k), pdm_ir_inplace_result(row->name, k));
        ck_assert_int_eq(pdm_ir_op_info_inplace(info, row->num_operands), -1);
        for (uint16_t k = 0; k < row->num_attrs; k++) {
            const char *name = row->attrs[k].name;
            ck_assert_int_eq(pdm_ir_op_info_attr(info, name, k + 1), k);
            ck_assert_int_eq(pdm_ir_op_info_attr(info, pdm_ir_str(f.context, name), k), k);
            ck_assert_int_eq(pdm_ir_op_info_attr(info, strcpy(f.said, name), 0), k);
            if (row->attrs[k].default_json)
                ck_assert_msg(pdm_ir_op_info_default(info, k) != NULL, "%s.%s", row->name, name);
        }
        ck_assert_int_eq(pdm_ir_op_info_attr(info, "no such name", 0), -1);
    }
    fx_deinit(&f);
    ck_assert_int_eq(pdm_ir_inplace_result("pd_op.adam_", 1), -1);
    ck_assert_int_eq(pdm_ir_inplace_result("pd_op.relu", 0), -1);
}
END_TEST

START_TEST(infos)
{
    fx f;
    fx_init(&f);
    pdm_status status = PDM_INTERNAL;
    const pdm_ir_op_info *info = pdm_ir_op_info_get(f.context, "pd_op.relu", &status);

    ck_assert_int_eq(status, PDM_OK);
    ck_assert_ptr_eq(info, pdm_ir_op_info_get(f.context, "pd_op.relu", NULL));
    ck_assert_ptr_eq(info->desc, pdm_ir_op_desc_find("pd_op.relu"));
    ck_assert_ptr_null(pdm_ir_op_info_get(f.context, "pd_op.no_such_op", &status));
    ck_assert_int_eq(status, PDM_UNSUPPORTED);
    ck_assert_ptr_null(pdm_ir_op_info_get(f.context, "legacy.", &status));
    ck_assert_ptr_null(pdm_ir_op_info_get(f.context, "builtin.module", &status));
    const pdm_ir_op_info *legacy = pdm_ir_op_info_get(f.context, "legacy.lstm", &status);
    ck_assert_ptr_nonnull(legacy);
    ck_assert_ptr_null(legacy->desc);
    ck_assert_ptr_eq(legacy, pdm_ir_op_info_get(f.context, "legacy.lstm", NULL));
    fx_deinit(&f);
}
END_TEST

START_TEST(traits_and_interfaces)
{
    fx f;
    fx_init(&f);
    static const int impls[8] = {0};
    const pdm_ir_op_info *pop = pdm_ir_op_info_get(f.context, "cf.tuple_pop", NULL);

    ck_assert(pdm_ir_op_info_has_trait(pop, PDM_IR_READS));
    ck_assert(pdm_ir_op_info_has_trait(pop, PDM_IR_WRITES));
    ck_assert(!pdm_ir_op_info_has_trait(pop, PDM_IR_PURE));
    ck_assert(!pdm_ir_op_info_has_trait(pop, PDM_IR_ALLOCATES));
    ck_assert(
        !pdm_ir_op_info_has_trait(pdm_ir_op_info_get(f.context, "legacy.x", NULL), PDM_IR_PURE));
    for (int i = 0; i < 8; i++) /* 3 6 1 4 7 2 5 0 */
        ck_assert_int_eq(pdm_ir_context_attach(f.context, "cf.tuple_pop", 100 + (i * 3 + 3) % 8,
                                               &impls[(i * 3 + 3) % 8]),
                         PDM_OK);
    for (int i = 0; i < 8; i++)
        ck_assert_ptr_eq(pdm_ir_op_info_interface(pop, 100 + i), &impls[i]);
    for (size_t i = 1; i < pop->num_interfaces; i++)
        ck_assert_int_lt(pop->interfaces[i - 1].id, pop->interfaces[i].id);
    ck_assert_ptr_null(pdm_ir_op_info_interface(pop, 99));
    ck_assert_ptr_null(pdm_ir_op_info_interface(pop, 108));
    ck_assert_int_eq(pdm_ir_context_attach(f.context, "cf.tuple_pop", 103, &impls[0]), PDM_OK);
    ck_assert_ptr_eq(pdm_ir_op_info_interface(pop, 103), &impls[0]);
    ck_assert_int_eq(pdm_ir_context_attach(f.context, "pd_op.no_such_op", 1, impls),
                     PDM_INVALID_ARG);
    fx_deinit(&f);
}
END_TEST

START_TEST(declared_types)
{
    fx f;
    fx_init(&f);
    pdm_ir_context *c = f.context;

    ck_assert(pdm_ir_decl_type_fits(PDM_IR_T_I32, pdm_ir_attr_i32(c, 1)));
    ck_assert(!pdm_ir_decl_type_fits(PDM_IR_T_I32, pdm_ir_attr_i64(c, 1)));
    ck_assert(pdm_ir_decl_type_fits(PDM_IR_T_ARRAY_I32, pdm_ir_attr_i64s(c, NULL, 0)));
    ck_assert(!pdm_ir_decl_type_fits(PDM_IR_T_ARRAY_I32, pdm_ir_attr_i64s(c, (int64_t[]){1}, 1)));
    ck_assert(pdm_ir_decl_type_fits(PDM_IR_T_ARRAY_ANY, pdm_ir_attr_i64s(c, (int64_t[]){1}, 1)));
    ck_assert(!pdm_ir_decl_type_fits(PDM_IR_T_ARRAY_ANY, pdm_ir_attr_int_array(c, NULL, 0)));
    ck_assert(pdm_ir_decl_type_fits(PDM_IR_T_SCALAR, pdm_ir_attr_f64(c, 1)));
    ck_assert(pdm_ir_decl_type_fits(PDM_IR_T_SCALAR, pdm_ir_attr_bool(c, true)));
    ck_assert(!pdm_ir_decl_type_fits(PDM_IR_T_SCALAR, pdm_ir_attr_str(c, "1")));
    ck_assert(pdm_ir_decl_type_fits(PDM_IR_T_ANY, pdm_ir_attr_str(c, "1")));
    ck_assert_str_eq(pdm_ir_decl_type_name(PDM_IR_T_ARRAY_F32), "array of f32");
    fx_deinit(&f);
}
END_TEST

Suite *pdm_suite_table(void)
{
    Suite *suite = suite_create("table");
    TCase *tcase = tcase_create("table");

    tcase_add_test(tcase, sorted_and_complete);
    tcase_add_test(tcase, rows_are_sound);
    tcase_add_test(tcase, row_contents);
    tcase_add_test(tcase, row_facts);
    tcase_add_test(tcase, infos);
    tcase_add_test(tcase, traits_and_interfaces);
    tcase_add_test(tcase, declared_types);
    suite_add_tcase(suite, tcase);
    return suite;
}
