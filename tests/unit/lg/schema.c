/* Op schemas: the form of the rows, and that every row parses. */
#include "legacy_graph/schema.h"

#include <check.h>
#include <string.h>

#include "unit/comma_locale.h"

Suite *pdm_suite_lg_schema(void);

static const char *const types[] = {
#define PDM_LG_SCHEMA(type, inputs, outputs, attrs) type,
#include "legacy_graph/op_schema.def"
#undef PDM_LG_SCHEMA
};

enum { NUM_TYPES = sizeof types / sizeof *types };

START_TEST(rows_are_sorted)
{
    for (size_t i = 1; i < NUM_TYPES; i++)
        ck_assert_msg(strcmp(types[i - 1], types[i]) < 0, "%s, %s", types[i - 1], types[i]);
}
END_TEST

START_TEST(every_row_parses)
{
    pdm_lg_schemas *schemas;
    const pdm_lg_schema *schema, *again;

    take_comma_locale();
    ck_assert_int_eq(pdm_lg_schemas_create(&schemas), PDM_OK);
    for (size_t i = 0; i < NUM_TYPES; i++) {
        ck_assert(pdm_lg_schema_exists(types[i]));
        pdm_status status = pdm_lg_schema_get(schemas, types[i], &schema);
        ck_assert_msg(status == PDM_OK, "row %s", types[i]);
        ck_assert_str_eq(schema->type, types[i]);
        for (size_t k = 0; k < schema->num_attrs; k++) {
            const pdm_lg_attr_desc *attr = &schema->attrs[k];
            ck_assert(k == 0 || strcmp(schema->attrs[k - 1].name, attr->name) < 0);
            ck_assert_ptr_eq(pdm_lg_schema_attr(schema, attr->name), attr);
            ck_assert(!attr->fallback || attr->fallback->type == attr->type);
        }
        ck_assert_int_eq(pdm_lg_schema_get(schemas, types[i], &again), PDM_OK);
        ck_assert_ptr_eq(schema, again);
    }
    pdm_lg_schemas_destroy(schemas);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

static const pdm_lg_attr *fallback(pdm_lg_schemas *schemas, const char *type, const char *attr)
{
    const pdm_lg_schema *schema;

    ck_assert_int_eq(pdm_lg_schema_get(schemas, type, &schema), PDM_OK);
    ck_assert_ptr_nonnull(schema);
    const pdm_lg_attr_desc *desc = pdm_lg_schema_attr(schema, attr);
    ck_assert_msg(desc != NULL, "%s.%s", type, attr);
    ck_assert_msg(desc->fallback != NULL, "%s.%s", type, attr);
    return desc->fallback;
}

START_TEST(defaults_have_their_values)
{
    pdm_lg_schemas *schemas;
    const pdm_lg_attr *attr;

    ck_assert_int_eq(pdm_lg_schemas_create(&schemas), PDM_OK);
    ck_assert(fallback(schemas, "adadelta", "rho")->u.f == 0.95f);
    ck_assert(fallback(schemas, "accuracy_check", "rtol")->u.d == 1e-05);
    ck_assert(!fallback(schemas, "adadelta", "multi_precision")->u.b);
    ck_assert_str_eq(fallback(schemas, "dropout", "dropout_implementation")->u.s,
                     "downgrade_in_infer");
    ck_assert_int_eq(fallback(schemas, "adam", "min_row_size_to_use_multithread")->u.l, 1000);
    attr = fallback(schemas, "conv2d", "strides");
    ck_assert_int_eq(attr->type, PDM_LG_INTS);
    ck_assert_uint_eq(attr->count, 2);
    ck_assert_int_eq(attr->u.ints[1], 1);
    ck_assert_uint_eq(fallback(schemas, "set_value", "values")->count, 0);
    pdm_lg_schemas_destroy(schemas);
}
END_TEST

START_TEST(slots_have_their_marks)
{
    pdm_lg_schemas *schemas;
    const pdm_lg_schema *schema;

    ck_assert_int_eq(pdm_lg_schemas_create(&schemas), PDM_OK);
    ck_assert_int_eq(pdm_lg_schema_get(schemas, "reshape2", &schema), PDM_OK);
    ck_assert_uint_eq(schema->num_inputs, 3);
    ck_assert_str_eq(schema->inputs[0].name, "X");
    ck_assert(!schema->inputs[0].list && !schema->inputs[0].optional);
    ck_assert_str_eq(schema->inputs[2].name, "ShapeTensor");
    ck_assert(schema->inputs[2].list && schema->inputs[2].optional);
    ck_assert_str_eq(schema->outputs[1].name, "XShape");
    ck_assert(schema->outputs[1].intermediate);

    ck_assert_int_eq(pdm_lg_schema_get(schemas, "while", &schema), PDM_OK);
    ck_assert_int_eq(pdm_lg_schema_attr(schema, "sub_block")->type, PDM_LG_BLOCK);
    ck_assert_ptr_null(pdm_lg_schema_attr(schema, "sub_block")->fallback);
    ck_assert_ptr_null(pdm_lg_schema_attr(schema, "nothing"));

    ck_assert_int_eq(pdm_lg_schema_get(schemas, "my_custom_gate", &schema), PDM_OK);
    ck_assert_ptr_null(schema);
    ck_assert(!pdm_lg_schema_exists("my_custom_gate"));
    pdm_lg_schemas_destroy(schemas);
}
END_TEST

Suite *pdm_suite_lg_schema(void)
{
    Suite *suite = suite_create("lg_schema");
    TCase *tc = tcase_create("rows");

    tcase_add_test(tc, rows_are_sorted);
    tcase_add_test(tc, every_row_parses);
    tcase_add_test(tc, defaults_have_their_values);
    tcase_add_test(tc, slots_have_their_marks);
    suite_add_tcase(suite, tc);
    return suite;
}
