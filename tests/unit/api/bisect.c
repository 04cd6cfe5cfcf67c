/* The first value at which two runs part. What the command prints of it is for tests/mutation. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/api/support.h"

Suite *pdm_suite_api_bisect(void);

#define PROGRAM "cases/flow_while_with_cond_inside"

typedef struct pair {
    heard heard;
    pdm_context *context;
    pdm_model *model, *other;
    pdm_bundle *inputs;
} pair;

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);

    ck_assert(file != NULL && text != NULL);
    ck_assert_uint_lt(fread(text, 1, (1 << 20) - 1, file), (1 << 20) - 1);
    fclose(file);
    return text;
}

/* The translation of PROGRAM as a file, in which `from` has become `to` once. */
static void write_mutant(const pdm_model *model, const char *from, const char *to)
{
    pdm_model *pir = NULL;

    ck_assert_int_eq(pdm_model_convert(model, NULL, &pir), PDM_OK);
    ck_assert_int_eq(pdm_model_write(pir, api_out("translation.json"), NULL), PDM_OK);
    pdm_model_destroy(pir);
    char *text = read_text(api_out("translation.json")), *at = strstr(text, from);
    FILE *file = fopen(api_out("mutant.json"), "wb");
    ck_assert(at != NULL && file != NULL);
    fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    ck_assert_int_eq(fclose(file), 0);
    free(text);
}

static void begin(pair *p, const char *from, const char *to)
{
    api_folder_setup();
    p->context = api_context(&p->heard);
    p->model = p->other = NULL;
    p->inputs = NULL;
    ck_assert_int_eq(pdm_model_load(p->context, api_fixture(PROGRAM), NULL, &p->model), PDM_OK);
    ck_assert_int_eq(pdm_bundle_read(p->context, api_fixture(PROGRAM "/io.npz"), &p->inputs),
                     PDM_OK);
    write_mutant(p->model, from, to);
    ck_assert_int_eq(pdm_model_load(p->context, api_out("mutant.json"), NULL, &p->other), PDM_OK);
}

static void end(pair *p)
{
    pdm_bundle_destroy(p->inputs);
    pdm_model_destroy(p->other);
    pdm_model_destroy(p->model);
    pdm_context_destroy(p->context);
    api_folder_teardown();
}

START_TEST(same_programs)
{
    pair p;
    pdm_bisection *found = NULL;

    begin(&p, "\"1.add\"", "\"1.add\"");
    const pdm_model *const others[] = {NULL, p.other};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pdm_bisect(p.model, others[i], NULL, p.inputs, &found), PDM_OK);
        ck_assert(!found->found && !found->differs);
        pdm_bisection_destroy(found);
    }
    end(&p);
}
END_TEST

START_TEST(another_op_in_a_branch_in_a_loop)
{
    pair p;
    pdm_bisection *b = NULL;

    begin(&p, "\"1.add\"", "\"1.subtract\"");
    ck_assert_int_eq(pdm_bisect(p.model, p.other, NULL, p.inputs, &b), PDM_OK);
    ck_assert(b->found && b->differs);
    ck_assert_str_eq(b->op, "pd_op.subtract");
    ck_assert_str_eq(b->counterpart, "pd_op.add");
    ck_assert_str_eq(b->result, "out");
    ck_assert_str_eq(b->op_type, "elementwise_add");
    ck_assert_int_eq(b->block, 2);
    ck_assert_int_eq(b->op_index, 0);
    ck_assert_str_eq(b->variable, "tmp_5");
    ck_assert_uint_eq(b->instance, 0);
    ck_assert_ptr_nonnull(strstr(b->place, "true branch of pd_op.if"));
    ck_assert_ptr_nonnull(strstr(b->place, "turn 1"));
    ck_assert_uint_eq(b->num_inputs, 2);
    ck_assert_str_eq(b->inputs[1].dtype, "float32");
    ck_assert_uint_eq(b->inputs[1].rank, 1);
    ck_assert_int_eq(b->inputs[1].dims[0], 2);
    ck_assert(b->compared && b->comparison.mismatches == 2);
    ck_assert_double_eq(b->expected.max, -b->actual.min);
    ck_assert_uint_eq(b->num_origins, 1);
    pdm_bisection_destroy(b);
    end(&p);
}
END_TEST

/* An attribute, in the branch that the first turn does not take. */
START_TEST(another_attribute_in_a_later_turn)
{
    pair p;
    pdm_bisection *b = NULL;

    begin(&p, "\"0.a_f64\",\"D\":2.0", "\"0.a_f64\",\"D\":3.0");
    ck_assert_int_eq(pdm_bisect(p.model, p.other, NULL, p.inputs, &b), PDM_OK);
    ck_assert(b->found);
    ck_assert_str_eq(b->op, "pd_op.full");
    ck_assert_ptr_nonnull(strstr(b->place, "false branch of pd_op.if"));
    ck_assert_ptr_nonnull(strstr(b->place, "turn 2"));
    ck_assert_ptr_nonnull(strstr(b->why, "value"));
    pdm_bisection_destroy(b);
    end(&p);
}
END_TEST

START_TEST(what_it_refuses)
{
    pair p;
    pdm_bisection *b = NULL;
    const pdm_bisect_options few = {
        .size = sizeof few, .max_iterations = 1, .rtol = -1, .atol = -1};

    begin(&p, "\"1.add\"", "\"1.subtract\"");
    ck_assert_int_eq(pdm_bisect(p.other, NULL, NULL, p.inputs, &b), PDM_INVALID_ARG);
    ck_assert_ptr_null(b);
    ck_assert_int_eq(pdm_bisect(p.model, p.other, &few, p.inputs, &b), PDM_STOPPED);
    ck_assert_ptr_null(b);
    p.heard.stop = true;
    ck_assert_int_eq(pdm_bisect(p.model, p.other, NULL, p.inputs, &b), PDM_CANCELLED);
    ck_assert_ptr_null(b);
    end(&p);
}
END_TEST

Suite *pdm_suite_api_bisect(void)
{
    Suite *suite = suite_create("api_bisect");
    TCase *tc = tcase_create("bisect");

    tcase_add_test(tc, same_programs);
    tcase_add_test(tc, another_op_in_a_branch_in_a_loop);
    tcase_add_test(tc, another_attribute_in_a_later_turn);
    tcase_add_test(tc, what_it_refuses);
    suite_add_tcase(suite, tc);
    return suite;
}
