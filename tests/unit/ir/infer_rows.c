/* Every row has a hook that copes with any operands. */
#include "unit/ir/build.h"

#include "ir/infer.h"

Suite *pdm_suite_infer_rows(void);

#define PDM_HOOK(name)       #name,
#define PDM_SPEC(name, text) #name,
static const char *const hooks[] = {
#include "ir/infer_hooks.def"
#include "unit/must.h"
};
#undef PDM_HOOK
#undef PDM_SPEC

START_TEST(hooks_are_sorted)
{
    for (size_t i = 1; i < sizeof hooks / sizeof *hooks; i++)
        ck_assert_str_lt(hooks[i - 1], hooks[i]);
}
END_TEST

START_TEST(rows_with_results_have_hooks)
{
    for (size_t i = 0; i < pdm_ir_op_desc_count(); i++) {
        const pdm_ir_op_desc *row = pdm_ir_op_desc_at(i);
        ck_assert_msg((row->infer != NULL) == (row->num_results > 0), "%s", row->name);
    }
}
END_TEST

#define MANY 3 /* elements of vectors, operands for a list */

static pdm_ir_value *operand_of(fx *f, pdm_ir_operand_kind kind, pdm_ir_type type)
{
    pdm_ir_op *op;

    switch (kind) {
    case PDM_IR_OPERAND_VECTOR:
    case PDM_IR_OPERAND_OPTIONAL_VECTOR:
        return result(
            emit(f, f->top, "builtin.combine", IN(data(f, type), data(f, type), data(f, type)),
                 OUT(pdm_ir_type_vector(f->context, (pdm_ir_type[]){type, type, type}, MANY))));
    case PDM_IR_OPERAND_MUTABLE:
    case PDM_IR_OPERAND_MUTABLE_INTS:
        op = emit(f, f->top, "pd_op.full_int_array", NONE, OUT(f->i64));
        set(f, op, "value", pdm_ir_attr_i64s(f->context, (int64_t[]){1}, 1));
        return result(op);
    default:
        return data(f, type);
    }
}

static void run_row(fx *f, const pdm_ir_op_desc *row, pdm_ir_type type, bool absent)
{
    pdm_ir_value *operands[64] = {NULL};
    pdm_ir_meta metas[64], elements[64][MANY];
    size_t num_operands = row->num_operands;

    ck_assert_uint_lt(row->num_operands + MANY, 64);
    ck_assert_uint_lt(row->num_results, 64);
    for (size_t i = 0; i < row->num_operands && !absent; i++)
        operands[i] = operand_of(f, row->operands[i].kind, type);
    if (num_operands && row->operands[num_operands - 1].kind == PDM_IR_OPERAND_MANY)
        for (size_t i = 1; i < MANY; i++)
            operands[num_operands++] = absent ? NULL : data(f, type);
    memset(metas, 0, sizeof metas);
    for (size_t i = 0; i < row->num_results; i++) {
        metas[i].elements = row->results[i].kind == PDM_IR_OPERAND_VECTOR ? elements[i] : NULL;
        metas[i].num_elements = metas[i].elements ? MANY : 0;
    }
    pdm_ir_op_state state = {.info = pdm_ir_op_info_get(f->context, row->name, NULL),
                             .operands = operands,
                             .num_operands = num_operands,
                             .num_results = row->num_results};
    pdm_ir_infer infer = {
        .context = f->context, .state = &state, .results = metas, .num_results = row->num_results};
    ck_assert_msg(pdm_ir_infer_run(&infer) == PDM_OK, "%s", row->name);
    for (size_t i = 0; i < row->num_results; i++) {
        ck_assert_msg(metas[i].rank >= -1 && metas[i].rank <= PDM_MAX_RANK, "%s result %zu",
                      row->name, i);
        for (int k = 0; k < metas[i].rank; k++)
            if (metas[i].dims[k] < -1)
                ck_abort_msg("%s result %zu", row->name, i);
    }
}

/* A hook never fails, whatever it is given; a text of infer_hooks.def with a mistake does. */
START_TEST(any_operands)
{
    static const int64_t dims[PDM_MAX_RANK] = {2, 3, 4, 5, 6, 7, 1, 2, 3};
    static const int64_t unknown[PDM_MAX_RANK] = {-1, -1, -1, -1, -1, -1, -1, -1, -1};
    static const int64_t zero[PDM_MAX_RANK] = {0};
    const int64_t *const kinds[] = {dims, unknown, zero};

    for (size_t k = 0; k < 3; k++) {
        for (size_t rank = 0; rank <= PDM_MAX_RANK; rank += rank < 6 ? 1 : 3) {
            fx f;
            fx_init(&f);
            for (size_t i = 0; i < pdm_ir_op_desc_count(); i++)
                if (!(pdm_ir_op_desc_at(i)->flags & PDM_IR_REGION))
                    run_row(&f, pdm_ir_op_desc_at(i),
                            pdm_ir_type_tensor(f.context, PDM_F32, kinds[k], rank), false);
            fx_deinit(&f);
        }
    }
}
END_TEST

START_TEST(no_operands)
{
    fx f;
    fx_init(&f);
    for (size_t i = 0; i < pdm_ir_op_desc_count(); i++)
        run_row(&f, pdm_ir_op_desc_at(i), f.f32, true);
    fx_deinit(&f);
}
END_TEST

static pdm_ir_value *full(fx *f, double value, int64_t count)
{
    pdm_ir_op *op = emit(f, f->top, "pd_op.full", NONE, OUT(f->i64));
    set(f, op, "value", pdm_ir_attr_f64(f->context, value));
    set(f, op, "shape", pdm_ir_attr_int_array(f->context, &count, 1));
    return result(op);
}

START_TEST(constants)
{
    fx f;
    int64_t got[4];
    size_t n = 99;

    fx_init(&f);
    pdm_ir_value *list = operand_of(&f, PDM_IR_OPERAND_MUTABLE_INTS, f.i64);
    ck_assert(pdm_ir_const_ints(list, got, 4, &n));
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(got[0], 1);
    ck_assert(pdm_ir_const_ints(full(&f, 7.0, 3), got, 4, &n));
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(got[2], 7);
    pdm_ir_value *both =
        result(emit(&f, f.top, "builtin.combine", IN(list, full(&f, -2.0, 1)),
                    OUT(pdm_ir_type_vector(f.context, (pdm_ir_type[]){f.i64, f.i64}, 2))));
    ck_assert(pdm_ir_const_ints(both, got, 4, &n));
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(got[1], -2);
    ck_assert(!pdm_ir_const_ints(both, got, 1, &n));               /* too long */
    ck_assert(!pdm_ir_const_ints(full(&f, 1e300, 1), got, 4, &n)); /* no integer */
    ck_assert(!pdm_ir_const_ints(full(&f, 1, INT64_MAX), got, 4, &n));
    ck_assert(!pdm_ir_const_ints(data(&f, f.i64), got, 4, &n));
    ck_assert(!pdm_ir_const_ints(NULL, got, 4, &n));
    fx_deinit(&f);
}
END_TEST

START_TEST(metas_and_types)
{
    fx f;
    pdm_ir_meta meta;

    fx_init(&f);
    pdm_ir_meta_of_type(f.f32, &meta);
    ck_assert_int_eq(meta.rank, 2);
    ck_assert_ptr_eq(pdm_ir_meta_to_type(f.context, &meta), f.f32);
    meta.rank = -1;
    pdm_ir_type unranked = pdm_ir_type_tensor(f.context, PDM_F32, (int64_t[]){-1}, 1);
    ck_assert_ptr_eq(pdm_ir_meta_to_type(f.context, &meta), unranked);
    meta.dtype = PDM_UNDEFINED;
    ck_assert_ptr_null(pdm_ir_meta_to_type(f.context, &meta));
    pdm_ir_meta_of_type(NULL, &meta);
    ck_assert(meta.absent);
    pdm_ir_type array = pdm_ir_type_array(f.context, PDM_I64, NULL, 0, "NCHW");
    pdm_ir_meta_of_type(array, &meta);
    ck_assert(meta.is_array);
    ck_assert_ptr_eq(pdm_ir_meta_to_type(f.context, &meta), array);
    pdm_ir_meta_of_type(pdm_ir_type_tensor(f.context, PDM_F32, (int64_t[12]){1}, 12), &meta);
    ck_assert_int_eq(meta.rank, -1);
    fx_deinit(&f);
}
END_TEST

Suite *pdm_suite_infer_rows(void)
{
    Suite *suite = suite_create("infer_rows");
    TCase *tc = tcase_create("infer_rows");

    tcase_add_test(tc, hooks_are_sorted);
    tcase_add_test(tc, rows_with_results_have_hooks);
    tcase_add_test(tc, any_operands);
    tcase_add_test(tc, no_operands);
    tcase_add_test(tc, constants);
    tcase_add_test(tc, metas_and_types);
    suite_add_tcase(suite, tc);
    return suite;
}
