/* Comparing tensors: NaN, infinities, exact types, 0-D and empty tensors, ULP, bins; and what an
 * output is computed with. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "unit/api/support.h"

Suite *pdm_suite_api_compare(void);

static pdm_tensor_view view(const char *dtype, size_t rank, const int64_t *dims, const void *data,
                            size_t bytes)
{
    return (pdm_tensor_view){
        .dtype = dtype, .rank = rank, .dims = dims, .data = data, .bytes = bytes};
}

static pdm_comparison compare(pdm_tensor_view want, pdm_tensor_view have, pdm_compare_options how)
{
    pdm_comparison result;

    how.size = sizeof how;
    ck_assert_int_eq(pdm_compare(&want, &have, &how, &result), PDM_OK);
    return result;
}

static pdm_comparison floats(const float *want, const float *have, int64_t n,
                             pdm_compare_options how)
{
    const size_t bytes = (size_t)n * sizeof *want;

    return compare(view("float32", 1, &n, want, bytes), view("float32", 1, &n, have, bytes), how);
}

static const pdm_compare_options tight = {.rtol = 1e-5, .atol = 1e-5};

START_TEST(not_finite)
{
    const float nan_ = NAN, inf = INFINITY;
    const pdm_compare_options huge = {.rtol = 1e30, .atol = 1e30, .max_ulp = UINT64_MAX};
    static const struct {
        int want, have; /* 0: 0, 1: NaN, 2: inf, 3: -inf */
        bool equal;
    } pairs[] = {{1, 1, true},  {2, 2, true},  {3, 3, true},  {1, 0, false},
                 {0, 1, false}, {2, 3, false}, {2, 1, false}, {0, 2, false}};
    const float values[] = {0, nan_, inf, -inf};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const pdm_comparison c = floats(&values[pairs[i].want], &values[pairs[i].have], 1, huge);
        ck_assert_msg(c.equal == pairs[i].equal, "pair %zu", i);
        ck_assert_uint_eq(c.histogram[pairs[i].equal ? 0 : PDM_COMPARISON_BINS - 1], 1);
        ck_assert_uint_eq(c.mismatches, !pairs[i].equal);
    }
}
END_TEST

START_TEST(tolerances)
{
    const float want[] = {0, 1, 100, -1}, have[] = {5e-6f, 1.00001f, 100.0005f, -1};
    pdm_comparison c = floats(want, have, 4, tight);

    ck_assert(c.equal);
    ck_assert_uint_eq(c.histogram[0], 1);
    ck_assert_double_eq_tol(c.max_abs, 5e-4, 1e-5);
    c = floats(want, have, 4, (pdm_compare_options){0});
    ck_assert(!c.equal);
    ck_assert_uint_eq(c.mismatches, 3);
    ck_assert_str_eq(c.reason, "values");
    c = floats(want, have, 4, (pdm_compare_options){.max_ulp = UINT64_MAX});
    ck_assert(c.equal);
    c = floats(want, have, 4, (pdm_compare_options){.rtol = 1, .atol = 1, .min_cosine = 1.5});
    ck_assert_str_eq(c.reason, "cosine");
}
END_TEST

START_TEST(places)
{
    const float want[] = {1, 2, 3}, have[] = {1, 2.5f, 3.25f};
    const pdm_comparison c = floats(want, have, 3, tight);

    ck_assert_uint_eq(c.worst, 1);
    ck_assert_double_eq(c.expected, 2);
    ck_assert_double_eq(c.actual, 2.5);
    ck_assert_uint_eq(c.histogram[13], 2); /* 0.25 and 0.5: from 1e-1 on */
}
END_TEST

START_TEST(exact_types)
{
    const int64_t want[] = {INT64_MAX, 5}, have[] = {INT64_MAX - 1, 5}, two = 2;
    pdm_compare_options how = {.rtol = 1, .atol = 10};
    const pdm_tensor_view a = view("int64", 1, &two, want, sizeof want),
                          b = view("int64", 1, &two, have, sizeof have);

    pdm_comparison c = compare(a, b, how);
    ck_assert_str_eq(c.reason, "values");
    ck_assert_uint_eq(c.mismatches, 1);
    how.integers = true;
    ck_assert(compare(a, b, how).equal);
    how.rtol = how.atol = 0; /* one apart, though they are the same double */
    ck_assert(!compare(a, b, how).equal);
}
END_TEST

START_TEST(shapes)
{
    const float one = 1;
    const int64_t empty[] = {0, 3}, other[] = {3, 0}, single = 1;
    pdm_comparison c =
        compare(view("float32", 0, NULL, &one, 4), view("float32", 0, NULL, &one, 4), tight);

    ck_assert(c.equal);
    ck_assert_uint_eq(c.count, 1);
    c = compare(view("float32", 0, NULL, &one, 4), view("float32", 1, &single, &one, 4), tight);
    ck_assert_str_eq(c.reason, "shape");
    c = compare(view("float32", 2, empty, NULL, 0), view("float32", 2, empty, NULL, 0), tight);
    ck_assert(c.equal);
    ck_assert_double_eq(c.cosine, 1);
    c = compare(view("float32", 2, empty, NULL, 0), view("float32", 2, other, NULL, 0), tight);
    ck_assert_str_eq(c.reason, "shape");
    c = compare(view("float32", 1, &single, &one, 4), view("int32", 1, &single, &one, 4), tight);
    ck_assert_str_eq(c.reason, "dtype");
}
END_TEST

START_TEST(what_an_output_uses)
{
    heard told;
    pdm_context *context = api_context(&told);
    pdm_model *model = NULL;
    pdm_plan *plan = NULL;
    pdm_known_difference known;
    bool uses = true;
    static const struct {
        const char *op;
        bool uses;
    } ops[] = {{"leaky_relu", true}, {"pd_op.leaky_relu", true}, {"relu", false}, {"leaky", false}};

    ck_assert_int_eq(
        pdm_model_load(context, api_fixture("cases/op_leaky_relu__alpha"), NULL, &model), PDM_OK);
    ck_assert_int_eq(pdm_plan_create(model, NULL, &plan), PDM_OK);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        ck_assert_int_eq(pdm_plan_output_uses(plan, 0, ops[i].op, &uses), PDM_OK);
        ck_assert_msg(uses == ops[i].uses, "%s", ops[i].op);
    }
    ck_assert_int_eq(pdm_plan_output_uses(plan, 1, "relu", &uses), PDM_INVALID_ARG);
    ck_assert_ptr_null(pdm_plan_output_random_op(plan, 0));
    for (size_t i = 0; i < pdm_known_difference_count(); i++)
        ck_assert_int_eq(pdm_known_difference_get(i, &known), PDM_OK);
    ck_assert_int_eq(pdm_known_difference_get(pdm_known_difference_count(), &known),
                     PDM_INVALID_ARG);
    pdm_plan_destroy(plan);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}
END_TEST

Suite *pdm_suite_api_compare(void)
{
    Suite *s = suite_create("api_compare");
    TCase *t = tcase_create("compare");

    tcase_add_test(t, not_finite);
    tcase_add_test(t, tolerances);
    tcase_add_test(t, places);
    tcase_add_test(t, exact_types);
    tcase_add_test(t, shapes);
    tcase_add_test(t, what_an_output_uses);
    suite_add_tcase(s, t);
    return s;
}
