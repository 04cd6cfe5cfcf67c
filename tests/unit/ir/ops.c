#include "unit/ir/build.h"

#include "ir/ir_t.h"
#include "unit/ir/alloc.h"

Suite *pdm_suite_ops(void);

/* One allocation an op; values and ops find each other by arithmetic for any number of results. */
START_TEST(layout)
{
    fx f;
    fx_init(&f);
    const pdm_ir_op_info *info = pdm_ir_op_info_get(f.context, "legacy.many", NULL);
    pdm_ir_type types[64];
    pdm_ir_value *operands[64];
    pdm_ir_value *x = data(&f, f.f32);

    for (size_t i = 0; i < 64; i++) {
        types[i] = f.f32;
        operands[i] = x;
    }
    for (size_t n = 0; n <= 64; n++) {
        pdm_ir_region *regions[2] = {new_region(), new_region()};
        const uint64_t before = alloc_count;
        pdm_ir_op *op = pdm_ir_op_create(f.context, &(pdm_ir_op_state){.info = info,
                                                                       .operands = operands,
                                                                       .num_operands = 64 - n,
                                                                       .result_types = types,
                                                                       .num_results = n,
                                                                       .regions = regions,
                                                                       .num_regions = 2});
        ck_assert_uint_eq(alloc_count - before, 1);
        ck_assert_uint_eq((uintptr_t)op % 8, 0);
        for (size_t i = 0; i < n; i++) {
            pdm_ir_value *value = pdm_ir_op_result(op, i);
            ck_assert_uint_eq((uintptr_t)value % 8, 0);
            ck_assert_ptr_eq(pdm_ir_value_op(value), op);
            ck_assert_uint_eq(pdm_ir_value_index(value), i);
            ck_assert_ptr_eq(value->type, f.f32);
            ck_assert(!pdm_ir_value_has_uses(value));
            ck_assert_ptr_null(pdm_ir_value_arg_block(value));
            if (i > 0)
                ck_assert(pdm_ir_op_result(op, i) < pdm_ir_op_result(op, i - 1));
        }
        for (size_t i = 0; i < 64 - n; i++) {
            ck_assert_ptr_eq(pdm_ir_op_operand_value(op, i), x);
            ck_assert_uint_eq(pdm_ir_use_index(pdm_ir_op_operand(op, i)), i);
        }
        ck_assert_uint_eq(pdm_ir_value_num_uses(x), 64 - n);
        ck_assert_ptr_eq(pdm_ir_op_region(op, 1), regions[1]);
        ck_assert_ptr_eq(regions[1]->owner, op);
        ck_assert_uint_eq(regions[1]->index, 1);
        pdm_ir_op_erase(op);
        ck_assert(!pdm_ir_value_has_uses(x));
    }
    fx_deinit(&f);
}
END_TEST

/* A used value keeps its identity: tags survive every kind of linking and unlinking. */
START_TEST(tags_survive_uses)
{
    fx f;
    fx_init(&f);
    pdm_ir_type types[64];
    for (size_t i = 0; i < 64; i++)
        types[i] = f.f32;
    pdm_ir_op *op = emit(&f, f.top, "legacy.many", NONE, types, 64);
    for (size_t i = 0; i < 64; i++) {
        pdm_ir_value *value = pdm_ir_op_result(op, i);
        pdm_ir_op *user = emit(&f, f.top, "legacy.use", IN(value, value, value), NONE);
        ck_assert_ptr_eq(pdm_ir_value_op(value), op);
        ck_assert_uint_eq(pdm_ir_value_index(value), i);
        ck_assert_uint_eq(pdm_ir_value_num_uses(value), 3);
        pdm_ir_use_set(pdm_ir_op_operand(user, 1), NULL); /* the middle of the list */
        ck_assert_uint_eq(pdm_ir_value_num_uses(value), 2);
        pdm_ir_use_set(pdm_ir_op_operand(user, 2), NULL); /* its head */
        ck_assert_uint_eq(pdm_ir_value_num_uses(value), 1);
        ck_assert_ptr_eq(pdm_ir_value_first_use(value), pdm_ir_op_operand(user, 0));
        pdm_ir_op_erase(user);
        ck_assert(!pdm_ir_value_has_uses(value));
        ck_assert_uint_eq(pdm_ir_value_index(value), i);
    }
    fx_deinit(&f);
}
END_TEST

START_TEST(replace_all_uses)
{
    fx f;
    fx_init(&f);
    pdm_ir_value *x = data(&f, f.f32), *y = data(&f, f.f32);
    pdm_ir_op *a = emit(&f, f.top, "pd_op.add", IN(x, x), OUT(f.f32));
    pdm_ir_op *b = emit(&f, f.top, "pd_op.add", IN(x, y), OUT(f.f32));

    pdm_ir_value_replace_all_uses(x, x);
    ck_assert_uint_eq(pdm_ir_value_num_uses(x), 3);
    pdm_ir_value_replace_all_uses(x, y);
    ck_assert_uint_eq(pdm_ir_value_num_uses(x), 0);
    ck_assert_uint_eq(pdm_ir_value_num_uses(y), 4);
    ck_assert_ptr_eq(pdm_ir_op_operand_value(a, 1), y);
    ck_assert_int_eq(pdm_ir_verify(f.module, &f.sink), PDM_OK);
    pdm_ir_value_replace_all_uses(y, NULL);
    ck_assert_ptr_null(pdm_ir_op_operand_value(b, 1));
    pdm_ir_use_set(pdm_ir_op_operand(b, 0), x);
    ck_assert_uint_eq(pdm_ir_value_num_uses(x), 1);
    fx_deinit(&f);
}
END_TEST

START_TEST(dictionary)
{
    static const char *const names[] = {"m", "a", "z", "k", "b", "y", "c", "x", "l"};
    enum { N = sizeof names / sizeof *names };
    fx f;
    fx_init(&f);
    pdm_ir_op *op = emit(&f, f.top, "legacy.attrs", NONE, NONE);

    for (int i = 0; i < N; i++)
        set(&f, op, names[i], pdm_ir_attr_i32(f.context, i));
    ck_assert_uint_eq(op->num_attrs, N);
    for (uint32_t i = 1; i < N; i++)
        ck_assert_int_lt(strcmp(op->attrs[i - 1].name, op->attrs[i].name), 0);
    for (int i = 0; i < N; i++) {
        ck_assert_ptr_eq(pdm_ir_op_attr(op, names[i]), pdm_ir_attr_i32(f.context, i));
        ck_assert_ptr_null(pdm_ir_op_attr(op, ""));
        ck_assert_ptr_null(pdm_ir_op_attr(op, "aa"));
        ck_assert_ptr_null(pdm_ir_op_attr(op, "zz"));
    }
    for (uint32_t i = 0; i < N; i++)
        ck_assert_str_eq(op->attrs[i].name, names[op->attrs[i].position]);
    set(&f, op, "k", pdm_ir_attr_bool(f.context, true));
    ck_assert_uint_eq(op->num_attrs, N);
    ck_assert_ptr_eq(pdm_ir_op_attr(op, "k"), pdm_ir_attr_bool(f.context, true));
    pdm_ir_op_remove_attr(op, "nothing");
    for (int i = 0; i < N; i++)
        pdm_ir_op_remove_attr(op, names[i]);
    ck_assert_uint_eq(op->num_attrs, 0);
    fx_deinit(&f);
}
END_TEST

/* The row decides the place of what it declares; the rest follows. Of two entries with one name the
 * later stays. */
START_TEST(positions_follow_the_row)
{
    fx f;
    fx_init(&f);
    pdm_ir_attr b = pdm_ir_attr_bool(f.context, true), i = pdm_ir_attr_i32(f.context, 1);
    const pdm_ir_named_attr attrs[] = {
        {"extra", i, 0}, {"transpose_y", b, 1}, {"transpose_x", i, 2}, {"transpose_x", b, 3}};
    pdm_ir_op *op = pdm_ir_op_create(
        f.context, &(pdm_ir_op_state){.info = pdm_ir_op_info_get(f.context, "pd_op.matmul", NULL),
                                      .attrs = attrs,
                                      .num_attrs = 4});

    ck_assert_uint_eq(op->num_attrs, 3);
    ck_assert_str_eq(op->attrs[0].name, "extra");
    ck_assert_uint_eq(op->attrs[0].position, 2);
    ck_assert_str_eq(op->attrs[1].name, "transpose_x");
    ck_assert_uint_eq(op->attrs[1].position, 0);
    ck_assert_ptr_eq(op->attrs[1].attr, b);
    ck_assert_uint_eq(op->attrs[2].position, 1);
    pdm_ir_op_remove_attr(op, "transpose_x");
    set(&f, op, "more", i);
    set(&f, op, "transpose_x", b);
    ck_assert_uint_eq(op->attrs[1].position, 3);
    ck_assert_uint_eq(op->attrs[2].position, 0);
    pdm_ir_op_erase(op);
    fx_deinit(&f);
}
END_TEST

/* What a caller knows of the attributes changes nothing but the work. */
START_TEST(attribute_forms)
{
    fx f;
    fx_init(&f);
    pdm_ir_attr b = pdm_ir_attr_bool(f.context, true), i = pdm_ir_attr_i32(f.context, 1);
    pdm_ir_named_attr attrs[] = {
        {"transpose_x", b, 0}, {"transpose_y", i, 0}, {"zoo", i, 0}, {"extra", b, 1}};
    pdm_ir_op_state state = {.info = pdm_ir_op_info_by_code(f.context, PDM_IR_OP_pd_op_matmul),
                             .attrs = attrs,
                             .num_attrs = 4};
    pdm_ir_op *ops[3];

    ck_assert_ptr_eq(state.info, pdm_ir_op_info_get(f.context, "pd_op.matmul", NULL));
    ops[0] = pdm_ir_op_create(f.context, &state);
    state.attrs_form = PDM_IR_ATTRS_ROW_FIRST;
    ops[1] = pdm_ir_op_create(f.context, &state);
    state.attrs_form = PDM_IR_ATTRS_DICTIONARY;
    state.attrs = ops[0]->attrs;
    ops[2] = pdm_ir_op_create(f.context, &state);
    for (int n = 1; n < 3; n++) {
        ck_assert_uint_eq(ops[n]->num_attrs, 4);
        for (uint32_t k = 0; k < 4; k++) {
            ck_assert_ptr_eq(ops[n]->attrs[k].name, ops[0]->attrs[k].name);
            ck_assert_ptr_eq(ops[n]->attrs[k].attr, ops[0]->attrs[k].attr);
            ck_assert_uint_eq(ops[n]->attrs[k].position, ops[0]->attrs[k].position);
        }
    }
    ck_assert_ptr_eq(pdm_ir_op_row_attr(ops[1], 1), i);
    pdm_ir_op_remove_attr(ops[1], "transpose_y");
    ck_assert_ptr_null(pdm_ir_op_row_attr(ops[1], 1));
    for (int n = 0; n < 3; n++)
        pdm_ir_op_erase(ops[n]);
    fx_deinit(&f);
}
END_TEST

START_TEST(added_attributes)
{
    fx f;
    fx_init(&f);
    pdm_ir_attr b = pdm_ir_attr_bool(f.context, true);
    pdm_ir_op *op = make(&f, "pd_op.relu", NONE, NONE, NONE);
    char name[8];

    for (uint32_t i = 0; i < 20; i++) {
        const uint32_t first = 40 - 2 * i;
        pdm_ir_named_attr two[2] = {{NULL, b, 0}, {NULL, b, 0}};
        for (uint32_t k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "n%02u", first + k);
            two[k].name = pdm_ir_str(f.context, name);
        }
        ck_assert(pdm_ir_op_add_attrs(op, two, 2));
        ck_assert_uint_eq(op->num_attrs, 2 * (i + 1));
    }
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (i > 0)
            ck_assert_int_lt(strcmp(op->attrs[i - 1].name, op->attrs[i].name), 0);
        /* The pair added last is in front and written last. */
        ck_assert_uint_eq(op->attrs[i].position, 38 - i / 2 * 2 + i % 2);
    }
    pdm_ir_op_erase(op);
    fx_deinit(&f);
}
END_TEST

START_TEST(many_attributes)
{
    fx f;
    fx_init(&f);
    enum { N = 5000 };
    static pdm_ir_named_attr attrs[N];
    static char names[N][8];
    for (uint32_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%u", i * 7919u % N);
        attrs[i] =
            (pdm_ir_named_attr){names[i], pdm_ir_attr_i32(f.context, (int32_t)(i * 7919u % N)), i};
    }
    pdm_ir_op *op = pdm_ir_op_create(
        f.context, &(pdm_ir_op_state){.info = pdm_ir_op_info_get(f.context, "legacy.x", NULL),
                                      .attrs = attrs,
                                      .num_attrs = N});
    ck_assert_uint_eq(op->num_attrs, N);
    for (uint32_t i = 0; i < N; i++)
        ck_assert_int_eq(pdm_ir_op_attr(op, names[i])->u.i, (int32_t)(i * 7919u % N));
    pdm_ir_op_erase(op);
    fx_deinit(&f);
}
END_TEST

START_TEST(order_in_block)
{
    fx f;
    fx_init(&f);
    pdm_ir_op *first = emit(&f, f.top, "legacy.a", NONE, NONE),
              *last = emit(&f, f.top, "legacy.z", NONE, NONE);
    pdm_ir_op *prev = first;

    ck_assert(pdm_ir_op_is_before(first, last));
    ck_assert(!pdm_ir_op_is_before(first, first));
    for (int i = 0; i < 500; i++) { /* always into the same, shrinking gap */
        pdm_ir_op *op = make(&f, "legacy.m", NONE, NONE, NONE);
        pdm_ir_op_insert_before(op, last);
        ck_assert(pdm_ir_op_is_before(prev, op));
        ck_assert(pdm_ir_op_is_before(op, last));
        prev = op;
    }
    for (int i = 0; i < 500; i++) {
        pdm_ir_op *op = make(&f, "legacy.m", NONE, NONE, NONE);
        pdm_ir_op_insert_after(op, first);
        ck_assert(pdm_ir_op_is_before(first, op));
        ck_assert(pdm_ir_op_is_before(op, op->next));
    }
    pdm_ir_op *front = make(&f, "legacy.front", NONE, NONE, NONE);
    pdm_ir_block_prepend(f.top, front);
    ck_assert(pdm_ir_op_is_before(front, first));
    pdm_ir_op_insert_after(first, last); /* moves it */
    ck_assert_ptr_eq(f.top->last, first);
    ck_assert(pdm_ir_op_is_before(last, first));
    pdm_ir_op_detach(front);
    ck_assert_ptr_null(front->block);
    ck_assert_ptr_null(f.top->first->prev);
    pdm_ir_op_erase(front);
    fx_deinit(&f);
}
END_TEST

START_TEST(block_arguments)
{
    fx f;
    fx_init(&f);
    pdm_ir_region *region = new_region();
    pdm_ir_block *block = region->first;

    for (uint32_t i = 0; i < 100; i++) {
        pdm_ir_value *arg = pdm_ir_block_add_arg(block, f.f32);
        ck_assert_ptr_eq(pdm_ir_value_arg_block(arg), block);
        ck_assert_ptr_eq(pdm_ir_value_block(arg), block);
        ck_assert_ptr_null(pdm_ir_value_op(arg));
        ck_assert_uint_eq(pdm_ir_value_index(arg), i);
        relu(&f, block, arg);
        ck_assert_uint_eq(pdm_ir_value_index(arg), i);
        ck_assert_uint_eq(pdm_ir_value_num_uses(arg), 1);
    }
    pdm_ir_value *moved = pdm_ir_block_arg(block, 10);
    pdm_ir_op_erase(block->first->next);
    pdm_ir_block_remove_arg(block, 1);
    ck_assert_uint_eq(block->num_args, 99);
    ck_assert_ptr_eq(pdm_ir_block_arg(block, 9), moved);
    ck_assert_uint_eq(pdm_ir_value_index(moved), 9);
    pdm_ir_region_destroy(region);
    pdm_ir_block *alone = pdm_ir_block_create();
    pdm_ir_block_add_arg(alone, f.f32);
    relu(&f, alone, pdm_ir_block_arg(alone, 0));
    pdm_ir_block_destroy(alone);
    fx_deinit(&f);
}
END_TEST

/* Inner ops use outer values and each other across regions; all goes in one call, in any order of
 * definition. */
START_TEST(erase_with_regions)
{
    fx f;
    fx_init(&f);
    pdm_ir_value *x = data(&f, f.f32);
    pdm_ir_region *outer = new_region(), *inner = new_region();
    pdm_ir_value *arg = pdm_ir_block_add_arg(outer->first, f.f32);
    pdm_ir_op *use_outer = relu(&f, outer->first, x), *use_arg = relu(&f, outer->first, arg);
    emit(&f, inner->first, "pd_op.add", IN(result(use_outer), result(use_arg)), OUT(f.f32));
    emit(&f, inner->first, "pd_op.add", IN(x, arg), OUT(f.f32));
    pdm_ir_block_append(outer->first, make(&f, "legacy.in", NONE, NONE, &inner, 1));
    pdm_ir_op *top = make(&f, "legacy.out", NONE, NONE, &outer, 1);
    pdm_ir_block_append(f.top, top);

    ck_assert_uint_eq(pdm_ir_value_num_uses(x), 2);
    ck_assert_ptr_eq(pdm_ir_op_parent(use_arg), top);
    ck_assert_ptr_eq(pdm_ir_op_parent(top), f.module->op);
    ck_assert_ptr_null(pdm_ir_op_parent(f.module->op));
    const int64_t live = alloc_live;
    pdm_ir_op_erase(top);
    const int64_t freed = live - alloc_live;
    ck_assert_int_eq(
        freed, 6 + 2 + 2 + 2); /* ops, regions, blocks, an argument and the array of arguments */
    ck_assert(!pdm_ir_value_has_uses(x));
    fx_deinit(&f);
}
END_TEST

Suite *pdm_suite_ops(void)
{
    Suite *suite = suite_create("ops");
    TCase *tcase = tcase_create("ops");

    tcase_add_test(tcase, layout);
    tcase_add_test(tcase, tags_survive_uses);
    tcase_add_test(tcase, replace_all_uses);
    tcase_add_test(tcase, dictionary);
    tcase_add_test(tcase, positions_follow_the_row);
    tcase_add_test(tcase, attribute_forms);
    tcase_add_test(tcase, added_attributes);
    tcase_add_test(tcase, many_attributes);
    tcase_add_test(tcase, order_in_block);
    tcase_add_test(tcase, block_arguments);
    tcase_add_test(tcase, erase_with_regions);
    suite_add_tcase(suite, tcase);
    return suite;
}
