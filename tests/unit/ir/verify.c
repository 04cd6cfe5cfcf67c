#include "unit/ir/build.h"

#include "ir/ir_t.h"

Suite *pdm_suite_verify(void);

/* Each rule has an example that breaks it and nothing else. */

/* The module is refused with exactly one message, which says so of that op and part. */
static void refused(fx *f, const char *op, const char *var, const char *part)
{
    char head[128];

    ck_assert_int_eq(pdm_ir_verify(f->module, &f->sink), PDM_INVALID_MODEL);
    snprintf(head, sizeof head, "%s|%s|", op, var);
    ck_assert_msg(f->sink.num_errors == 1, "one message wanted (%s): %s", part, f->said);
    ck_assert_msg(strstr(f->said, head) && strstr(f->said, part), "wanted %s...%s, got %s", head,
                  part, f->said);
}

static void accepted(fx *f)
{
    const pdm_status status = pdm_ir_verify(f->module, &f->sink);
    ck_assert_msg(status == PDM_OK && f->said[0] == '\0', "%s", f->said);
}

#define CASE(name, ...)                                                                            \
    START_TEST(name)                                                                               \
    {                                                                                              \
        fx f;                                                                                      \
        fx_init(&f);                                                                               \
        __VA_ARGS__                                                                                \
        fx_deinit(&f);                                                                             \
    }                                                                                              \
    END_TEST

/* ---- counts and types ------------------------------------------------------------------------ */

CASE(sound, relu(&f, f.top, data(&f, f.f32)); accepted(&f);)

CASE(empty, accepted(&f);)

CASE(too_few_operands, emit(&f, f.top, "pd_op.relu", NONE, OUT(f.f32));
     refused(&f, "pd_op.relu", "", "0 operands");)

CASE(too_many_operands, pdm_ir_value *x = data(&f, f.f32);
     emit(&f, f.top, "pd_op.relu", IN(x, x), OUT(f.f32));
     refused(&f, "pd_op.relu", "", "2 operands");)

CASE(too_few_of_many, emit(&f, f.top, "pd_op.select_input", NONE, OUT(f.f32));
     refused(&f, "pd_op.select_input", "", "at least 1");)

CASE(too_few_results, emit(&f, f.top, "pd_op.relu", IN(data(&f, f.f32)), NONE);
     refused(&f, "pd_op.relu", "", "0 results");)

CASE(absent_operand, emit(&f, f.top, "pd_op.relu", IN(NULL), OUT(f.f32));
     refused(&f, "pd_op.relu", "x", "required operand is absent");)

CASE(absent_optional, pdm_ir_value *x = data(&f, f.f32);
     pdm_ir_op *op = emit(&f, f.top, "pd_op.expand_as", IN(x, NULL), OUT(f.f32));
     set(&f, op, "target_shape", pdm_ir_attr_i64s(f.context, NULL, 0)); accepted(&f);)

CASE(operand_without_type, pdm_ir_op *op = emit(&f, f.top, "legacy.x", NONE, OUT(NULL));
     relu(&f, f.top, result(op)); refused(&f, "pd_op.relu", "x", "does not exist");)

CASE(vector_for_tensor, pdm_ir_type v = pdm_ir_type_vector(f.context, &f.f32, 1);
     relu(&f, f.top, result(emit(&f, f.top, "builtin.combine", IN(data(&f, f.f32)), OUT(v))));
     refused(&f, "pd_op.relu", "x", "must not be a vector");)

CASE(tensor_for_vector, emit(&f, f.top, "pd_op.add_n", IN(data(&f, f.f32)), OUT(f.f32));
     refused(&f, "pd_op.add_n", "inputs", "must be a vector");)

CASE(stack_for_tensor,
     pdm_ir_type stack = pdm_ir_type_intern(f.context,
                                            &(struct pdm_ir_type_s){.kind = PDM_IR_STACK});
     relu(&f, f.top, result(emit(&f, f.top, "legacy.x", NONE, OUT(stack))));
     refused(&f, "pd_op.relu", "x", "must not be a stack");)

CASE(result_without_type, emit(&f, f.top, "pd_op.relu", IN(data(&f, f.f32)), OUT(NULL));
     refused(&f, "pd_op.relu", "out", "has no type");)

CASE(list_left_out, pdm_ir_value *x = data(&f, f.f32);
     pdm_ir_op *op = emit(&f, f.top, "pd_op.split", IN(x, x, x), OUT(NULL)); (void)op;
     accepted(&f);)

CASE(result_is_vector, pdm_ir_type v = pdm_ir_type_vector(f.context, &f.f32, 1);
     emit(&f, f.top, "pd_op.relu", IN(data(&f, f.f32)), OUT(v));
     refused(&f, "pd_op.relu", "out", "must not be a vector");)

CASE(result_is_no_vector, emit(&f, f.top, "builtin.combine", IN(data(&f, f.f32)), OUT(f.f32));
     refused(&f, "builtin.combine", "out", "must be a vector");)

CASE(result_of_unknown_dtype, pdm_ir_type t = pdm_ir_type_tensor(f.context, PDM_UNDEFINED, NULL, 0);
     emit(&f, f.top, "pd_op.relu", IN(data(&f, f.f32)), OUT(t));
     refused(&f, "pd_op.relu", "out", "element type");)

CASE(result_of_odd_dims,
     pdm_ir_type t = pdm_ir_type_tensor(f.context, PDM_F32, (int64_t[]){3, -2}, 2);
     emit(&f, f.top, "pd_op.relu", IN(data(&f, f.f32)), OUT(t)); accepted(&f);)

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_ir_op *leaky(fx *f, pdm_ir_attr slope)
{
    pdm_ir_op *op = emit(f, f->top, "pd_op.leaky_relu", IN(data(f, f->f32)), OUT(f->f32));
    if (slope)
        set(f, op, "negative_slope", slope);
    return op;
}

static pdm_ir_op *matmul(fx *f, pdm_ir_attr transpose_y)
{
    pdm_ir_value *x = data(f, f->f32);
    pdm_ir_op *op = emit(f, f->top, "pd_op.matmul", IN(x, x), OUT(f->f32));
    set(f, op, "transpose_x", pdm_ir_attr_bool(f->context, false));
    if (transpose_y)
        set(f, op, "transpose_y", transpose_y);
    return op;
}

CASE(attr_missing, matmul(&f, NULL); refused(&f, "pd_op.matmul", "transpose_y", "missing");)

CASE(attr_of_other_type, matmul(&f, pdm_ir_attr_i32(f.context, 0));
     refused(&f, "pd_op.matmul", "transpose_y", "type i32, not bool");)

CASE(attr_of_old_type, leaky(&f, pdm_ir_attr_f32(f.context, 1)); f.module->version = 1;
     accepted(&f); f.module->version = 2; accepted(&f);)

/* Both types are met in files of the version of the change and the one before; elsewhere only the
 * declared one passes. */
CASE(attr_of_new_type_too_early, leaky(&f, pdm_ir_attr_f64(f.context, 1)); f.module->version = 4;
     accepted(&f); f.module->version = 3; accepted(&f); f.module->version = 2;
     refused(&f, "pd_op.leaky_relu", "negative_slope", "type f64, not f32");)

CASE(attr_of_old_type_too_late, leaky(&f, pdm_ir_attr_f32(f.context, 1)); f.module->version = 5;
     refused(&f, "pd_op.leaky_relu", "negative_slope", "type f32, not f64");)

CASE(attr_added_later,
     pdm_ir_op *op = emit(&f, f.top, "pd_op.repeat_interleave", IN(data(&f, f.f32)), OUT(f.f32));
     set(&f, op, "repeats", pdm_ir_attr_i32(f.context, 1));
     set(&f, op, "axis", pdm_ir_attr_i32(f.context, 0)); f.module->version = 2; accepted(&f);
     f.module->version = 4; refused(&f, "pd_op.repeat_interleave", "output_size", "missing");)

CASE(attr_without_value, pdm_ir_op *op = emit(&f, f.top, "legacy.x", NONE, NONE);
     set(&f, op, "a", pdm_ir_attr_bool(f.context, true)); op->attrs[0].attr = NULL;
     refused(&f, "legacy.x", "a", "no value");)

CASE(attrs_not_sorted, pdm_ir_op *op = emit(&f, f.top, "legacy.x", NONE, NONE);
     set(&f, op, "a", pdm_ir_attr_bool(f.context, true));
     set(&f, op, "b", pdm_ir_attr_bool(f.context, true)); op->attrs[0].name = "c";
     refused(&f, "legacy.x", "b", "not sorted");)

/* ---- dominance and capture ------------------------------------------------------------------- */

CASE(use_before_definition, pdm_ir_op *a = relu(&f, f.top, data(&f, f.f32));
     pdm_ir_op *b = relu(&f, f.top, result(a)); pdm_ir_op_insert_before(b, a);
     refused(&f, "pd_op.relu", "", "before it is defined");)

CASE(use_of_itself, pdm_ir_op *a = relu(&f, f.top, data(&f, f.f32));
     pdm_ir_use_set(pdm_ir_op_operand(a, 0), result(a));
     refused(&f, "pd_op.relu", "", "before it is defined");)

CASE(use_of_own_result_inside, pdm_ir_region *r = new_region();
     pdm_ir_op *in = relu(&f, r->first, data(&f, f.f32));
     pdm_ir_op *op = make(&f, "legacy.r", NONE, OUT(f.f32), &r, 1); pdm_ir_block_append(f.top, op);
     pdm_ir_use_set(pdm_ir_op_operand(in, 0), result(op));
     refused(&f, "pd_op.relu", "", "before it is defined");)

CASE(capture, pdm_ir_region *r = new_region(); relu(&f, r->first, data(&f, f.f32));
     pdm_ir_block_append(f.top, make(&f, "legacy.r", NONE, NONE, &r, 1)); accepted(&f);)

CASE(capture_outwards, pdm_ir_region *r = new_region();
     pdm_ir_op *in = relu(&f, r->first, data(&f, f.f32));
     pdm_ir_block_append(f.top, make(&f, "legacy.r", NONE, NONE, &r, 1));
     relu(&f, f.top, result(in)); refused(&f, "pd_op.relu", "", "does not enclose");)

CASE(capture_sideways, pdm_ir_region *r[2] = {0}; r[0] = new_region(); r[1] = new_region();
     pdm_ir_value *arg = pdm_ir_block_add_arg(r[0]->first, f.f32); relu(&f, r[1]->first, arg);
     pdm_ir_block_append(f.top, make(&f, "legacy.r", NONE, NONE, r, 2));
     refused(&f, "pd_op.relu", "", "does not enclose");)

CASE(detached_definition, pdm_ir_op *a = relu(&f, f.top, data(&f, f.f32));
     relu(&f, f.top, result(a)); pdm_ir_op_detach(a);
     refused(&f, "pd_op.relu", "", "does not enclose"); pdm_ir_op_erase(a);)

/* ---- use lists ------------------------------------------------------------------------------- */

CASE(use_from_outside, pdm_ir_op *a = relu(&f, f.top, data(&f, f.f32));
     pdm_ir_op *out = make(&f, "legacy.out", IN(result(a)), NONE, NONE);
     refused(&f, "", "", "1 operands"); pdm_ir_op_erase(out);)

CASE(use_list_broken, pdm_ir_op *a = relu(&f, f.top, data(&f, f.f32)); relu(&f, f.top, result(a));
     pdm_ir_use *use = pdm_ir_value_first_use(result(a)); uintptr_t *back = use->back;
     use->back = (uintptr_t *)&use->next; refused(&f, "pd_op.relu", "", "use list");
     use->back = back;)

CASE(use_of_other_op, pdm_ir_op *a = relu(&f, f.top, data(&f, f.f32));
     pdm_ir_op_operand(a, 0)->owner = f.module->op;
     refused(&f, "pd_op.relu", "", "belongs to another op"); pdm_ir_op_operand(a, 0)->owner = a;)

/* ---- regions --------------------------------------------------------------------------------- */

CASE(region_where_none_belongs, pdm_ir_region *r = new_region();
     pdm_ir_block_append(f.top, make(&f, "pd_op.relu", IN(data(&f, f.f32)), OUT(f.f32), &r, 1));
     refused(&f, "pd_op.relu", "", "no regions");)

CASE(two_blocks, pdm_ir_region *r = new_region(); pdm_ir_region_append(r, pdm_ir_block_create());
     pdm_ir_block_append(f.top, make(&f, "legacy.r", NONE, NONE, &r, 1));
     refused(&f, "legacy.r", "", "more than one block");)

CASE(region_of_other_op, pdm_ir_region *r = new_region();
     pdm_ir_block_append(f.top, make(&f, "legacy.r", NONE, NONE, &r, 1)); r->index = 1;
     refused(&f, "legacy.r", "", "belongs to another op"); r->index = 0;)

CASE(block_of_other_region, pdm_ir_region *r = new_region();
     pdm_ir_block_append(f.top, make(&f, "legacy.r", NONE, NONE, &r, 1));
     r->first->region = f.top->region; refused(&f, "legacy.r", "", "belongs to another one");
     r->first->region = r;)

CASE(terminator_in_the_middle, pdm_ir_region *r = new_region();
     emit(&f, r->first, "cf.yield", NONE, NONE); emit(&f, r->first, "legacy.x", NONE, NONE);
     pdm_ir_block_append(f.top, make(&f, "legacy.r", NONE, NONE, &r, 1));
     refused(&f, "cf.yield", "", "last op");)

CASE(yield_at_the_top, emit(&f, f.top, "cf.yield", NONE, NONE);
     refused(&f, "cf.yield", "", "must stand in");)

CASE(module_in_module, pdm_ir_region *r = new_region();
     pdm_ir_block_append(f.top,
                         pdm_ir_op_create(f.context, &(pdm_ir_op_state){.info = f.module->op->info,
                                                                        .regions = &r,
                                                                        .num_regions = 1}));
     refused(&f, "builtin.module", "", "inside of another");)

/* ---- builtin --------------------------------------------------------------------------------- */

static pdm_ir_op *combine(fx *f, pdm_ir_value *a, pdm_ir_value *b, pdm_ir_type ta, pdm_ir_type tb)
{
    const pdm_ir_type v = pdm_ir_type_vector(f->context, (pdm_ir_type[]){ta, tb}, 2);
    return emit(f, f->top, "builtin.combine", IN(a, b), OUT(v));
}

CASE(combine_fits, combine(&f, data(&f, f.f32), NULL, f.f32, NULL); accepted(&f);)

CASE(combine_of_other_count, pdm_ir_type v = pdm_ir_type_vector(f.context, &f.f32, 1);
     pdm_ir_value *x = data(&f, f.f32); emit(&f, f.top, "builtin.combine", IN(x, x), OUT(v));
     refused(&f, "builtin.combine", "", "1 elements");)

CASE(combine_of_other_type, combine(&f, data(&f, f.f32), data(&f, f.i64), f.f32, f.f32);
     refused(&f, "builtin.combine", "", "Element 1");)

static pdm_ir_op *slice(fx *f, int32_t index, pdm_ir_type type)
{
    pdm_ir_op *v = combine(f, data(f, f->f32), data(f, f->i64), f->f32, f->i64);
    pdm_ir_op *op = emit(f, f->top, "builtin.slice", IN(result(v)), OUT(type));
    set(f, op, "index", pdm_ir_attr_i32(f->context, index));
    return op;
}

CASE(slice_fits, slice(&f, 1, f.i64); accepted(&f);)
CASE(slice_past_the_end, slice(&f, 2, f.i64); refused(&f, "builtin.slice", "index", "no number 2");)
CASE(slice_negative, slice(&f, -1, f.i64); refused(&f, "builtin.slice", "index", "no number -1");)
CASE(slice_of_other_type, slice(&f, 0, f.i64); refused(&f, "builtin.slice", "", "another type");)

CASE(split_fits, pdm_ir_op *v = combine(&f, data(&f, f.f32), data(&f, f.i64), f.f32, f.i64);
     emit(&f, f.top, "builtin.split", IN(result(v)), OUT(f.f32, f.i64)); accepted(&f);)
CASE(split_of_other_count,
     pdm_ir_op *v = combine(&f, data(&f, f.f32), data(&f, f.i64), f.f32, f.i64);
     emit(&f, f.top, "builtin.split", IN(result(v)), OUT(f.f32));
     refused(&f, "builtin.split", "", "1 results");)
CASE(split_of_other_type,
     pdm_ir_op *v = combine(&f, data(&f, f.f32), data(&f, f.i64), f.f32, f.i64);
     emit(&f, f.top, "builtin.split", IN(result(v)), OUT(f.f32, f.f32));
     refused(&f, "builtin.split", "", "Result 1");)

/* ---- if -------------------------------------------------------------------------------------- */

/* An if of one result; the parts can be spoilt afterwards. */
static pdm_ir_op *branch(fx *f, pdm_ir_value *cond, pdm_ir_type type)
{
    pdm_ir_region *r[2] = {new_region(), new_region()};
    pdm_ir_value *x = data(f, f->f32);
    emit(f, r[0]->first, "cf.yield", IN(x), NONE);
    emit(f, r[1]->first, "cf.yield", IN(x), NONE);
    pdm_ir_op *op = make(f, "pd_op.if", IN(cond), OUT(type), r, 2);
    pdm_ir_block_append(f->top, op);
    return op;
}

static pdm_ir_block *body(const pdm_ir_op *op, size_t region)
{
    return pdm_ir_op_region(op, region)->first;
}

CASE(if_fits, branch(&f, data(&f, f.boolean), f.f32);
     branch(&f, data(&f, pdm_ir_type_tensor(f.context, PDM_BOOL, NULL, 0)), f.f32);
     branch(&f, data(&f, pdm_ir_type_tensor(f.context, PDM_BOOL, (int64_t[]){-1}, 1)), f.f32);
     accepted(&f);)
CASE(if_condition_dtype, branch(&f, data(&f, f.i64), f.f32);
     refused(&f, "pd_op.if", "cond", "bool");)
CASE(if_condition_size,
     branch(&f, data(&f, pdm_ir_type_tensor(f.context, PDM_BOOL, (int64_t[]){2}, 1)), f.f32);
     refused(&f, "pd_op.if", "cond", "one element");)
CASE(if_one_region, pdm_ir_region *r = new_region();
     pdm_ir_block_append(f.top, make(&f, "pd_op.if", IN(data(&f, f.boolean)), NONE, &r, 1));
     refused(&f, "pd_op.if", "", "1 regions, not 2");)
CASE(if_without_yield, pdm_ir_op *op = branch(&f, data(&f, f.boolean), f.f32);
     pdm_ir_op_erase(body(op, 1)->last); refused(&f, "pd_op.if", "", "region 1 does not end");)
CASE(if_yields_too_many, pdm_ir_op *op = branch(&f, data(&f, f.boolean), f.f32);
     pdm_ir_value *x = data(&f, f.f32); pdm_ir_op_insert_before(pdm_ir_value_op(x), op);
     pdm_ir_op_erase(body(op, 0)->last); emit(&f, body(op, 0), "cf.yield", IN(x, x), NONE);
     refused(&f, "pd_op.if", "", "yields 2 values, not 1");)
CASE(if_yields_other_type, branch(&f, data(&f, f.boolean), f.f32);
     pdm_ir_value *x = data(&f, f.i64); pdm_ir_op *op = f.top->last->prev;
     pdm_ir_op_insert_before(pdm_ir_value_op(x), op);
     pdm_ir_use_set(pdm_ir_op_operand(body(op, 1)->last, 0), x);
     refused(&f, "pd_op.if", "", "Region 1 yields another type");)
CASE(if_with_argument, pdm_ir_op *op = branch(&f, data(&f, f.boolean), f.f32);
     pdm_ir_block_add_arg(body(op, 0), f.f32); refused(&f, "pd_op.if", "", "no block arguments");)
CASE(if_without_block, pdm_ir_region *r[2] = {0}; r[0] = pdm_ir_region_create();
     r[1] = new_region();
     pdm_ir_block_append(f.top, make(&f, "pd_op.if", IN(data(&f, f.boolean)), NONE, r, 2));
     refused(&f, "pd_op.if", "", "Region 0 has no block");)
CASE(if_without_results, pdm_ir_region *r[2] = {0}; r[0] = new_region();
     r[1] = pdm_ir_region_create(); emit(&f, r[0]->first, "legacy.x", NONE, NONE);
     pdm_ir_block_append(f.top, make(&f, "pd_op.if", IN(data(&f, f.boolean)), NONE, r, 2));
     accepted(&f);)

/* ---- while ----------------------------------------------------------------------------------- */

static pdm_ir_op *loop(fx *f, pdm_ir_type in, pdm_ir_type arg, pdm_ir_type out)
{
    pdm_ir_region *r = new_region();
    pdm_ir_value *cond = data(f, f->boolean), *x = data(f, in),
                 *a = pdm_ir_block_add_arg(r->first, arg);
    emit(f, r->first, "cf.yield", IN(cond, a), NONE);
    pdm_ir_op *op = make(f, "pd_op.while", IN(cond, x), OUT(out), &r, 1);
    pdm_ir_block_append(f->top, op);
    return op;
}

CASE(while_fits, pdm_ir_type open = pdm_ir_type_tensor(f.context, PDM_F32, (int64_t[]){-1, 3}, 2);
     pdm_ir_type any = pdm_ir_type_tensor(f.context, PDM_F32, (int64_t[]){-1}, 1);
     loop(&f, f.f32, open, any); loop(&f, f.f32, f.f32, f.f32); accepted(&f);)
CASE(while_result_type, loop(&f, f.f32, f.f32, f.i64); refused(&f, "pd_op.while", "", "Result 0");)
CASE(while_result_dims,
     loop(&f, f.f32, f.f32, pdm_ir_type_tensor(f.context, PDM_F32, (int64_t[]){2, 4}, 2));
     refused(&f, "pd_op.while", "", "Result 0");)
CASE(while_argument_type, loop(&f, f.f32, f.i64, f.f32);
     refused(&f, "pd_op.while", "", "Block argument 0");)
CASE(while_results, pdm_ir_region *r = new_region(); pdm_ir_value *c = data(&f, f.boolean);
     pdm_ir_block_add_arg(r->first, f.f32); emit(&f, r->first, "cf.yield", IN(c, c), NONE);
     pdm_ir_block_append(f.top, make(&f, "pd_op.while", IN(c, c), NONE, &r, 1));
     refused(&f, "pd_op.while", "", "0 results");)
CASE(while_arguments, pdm_ir_op *op = loop(&f, f.f32, f.f32, f.f32);
     pdm_ir_block_add_arg(body(op, 0), f.f32); refused(&f, "pd_op.while", "", "2 block arguments");)
CASE(while_condition, pdm_ir_op *op = loop(&f, f.f32, f.f32, f.f32);
     pdm_ir_use_set(pdm_ir_op_operand(op, 0), pdm_ir_op_operand_value(op, 1));
     refused(&f, "pd_op.while", "cond", "bool");)
CASE(while_next_condition, pdm_ir_op *op = loop(&f, f.f32, f.f32, f.f32);
     pdm_ir_op *yield = body(op, 0)->last;
     pdm_ir_use_set(pdm_ir_op_operand(yield, 0), pdm_ir_op_operand_value(yield, 1));
     refused(&f, "pd_op.while", "cond", "bool");)
CASE(while_yield_count, pdm_ir_op *op = loop(&f, f.f32, f.f32, f.f32);
     pdm_ir_value *c = pdm_ir_op_operand_value(op, 0); pdm_ir_op_erase(body(op, 0)->last);
     emit(&f, body(op, 0), "cf.yield", IN(c), NONE);
     refused(&f, "pd_op.while", "", "yields 1 values, not 2");)
CASE(while_without_yield, pdm_ir_op *op = loop(&f, f.f32, f.f32, f.f32);
     pdm_ir_op_erase(body(op, 0)->last);
     refused(&f, "pd_op.while", "", "does not end in cf.yield");)
CASE(while_regions, pdm_ir_value *c = data(&f, f.boolean);
     emit(&f, f.top, "pd_op.while", IN(c), NONE);
     refused(&f, "pd_op.while", "", "0 regions, not 1");)

/* ---- stacks ---------------------------------------------------------------------------------- */

static pdm_ir_type of_kind(fx *f, pdm_ir_type_kind kind)
{
    return pdm_ir_type_intern(f->context, &(struct pdm_ir_type_s){.kind = kind});
}

static pdm_ir_op *stack(fx *f)
{
    return emit(f, f->top, "cf.stack_create", NONE,
                OUT(of_kind(f, PDM_IR_STACK), of_kind(f, PDM_IR_INLET), of_kind(f, PDM_IR_OUTLET)));
}

static void push_and_pop(fx *f, const pdm_ir_type *popped, size_t num_popped)
{
    pdm_ir_op *s = stack(f);
    emit(f, f->top, "cf.tuple_push", IN(pdm_ir_op_result(s, 1), data(f, f->f32), data(f, f->i64)),
         NONE);
    emit(f, f->top, "cf.tuple_pop", IN(pdm_ir_op_result(s, 2)), popped, num_popped);
    emit(f, f->top, "cf.has_elements", IN(result(s)), OUT(f->boolean));
}

CASE(stack_fits, push_and_pop(&f, OUT(f.f32, f.i64)); accepted(&f);)
CASE(pop_count, push_and_pop(&f, OUT(f.f32));
     refused(&f, "cf.tuple_push", "", "pushes 2 values, but 1");)
CASE(pop_type, push_and_pop(&f, OUT(f.i64, f.f32));
     ck_assert_int_eq(pdm_ir_verify(f.module, &f.sink), PDM_INVALID_MODEL);
     ck_assert_uint_eq(f.sink.num_errors, 2);
     ck_assert_ptr_nonnull(strstr(f.said, "Value 0 is popped"));)
CASE(stack_types,
     emit(&f, f.top, "cf.stack_create", NONE,
          OUT(of_kind(&f, PDM_IR_STACK), of_kind(&f, PDM_IR_INLET), of_kind(&f, PDM_IR_STACK)));
     refused(&f, "cf.stack_create", "outlet", "type outlet");)
CASE(inlet_used_twice, pdm_ir_op *s = stack(&f);
     emit(&f, f.top, "cf.tuple_push", IN(pdm_ir_op_result(s, 1)), NONE);
     emit(&f, f.top, "cf.tuple_push", IN(pdm_ir_op_result(s, 1)), NONE);
     refused(&f, "cf.stack_create", "inlet", "more than one use");)
CASE(push_into_tensor, emit(&f, f.top, "cf.tuple_push", IN(data(&f, f.f32)), NONE);
     refused(&f, "cf.tuple_push", "inlet", "inlet");)
CASE(pop_from_inlet, emit(&f, f.top, "cf.tuple_pop", IN(pdm_ir_op_result(stack(&f), 1)), NONE);
     refused(&f, "cf.tuple_pop", "outlet", "type outlet");)
CASE(elements_of_tensor, emit(&f, f.top, "cf.has_elements", IN(data(&f, f.f32)), OUT(f.boolean));
     refused(&f, "cf.has_elements", "container", "type stack");)
CASE(elements_result, emit(&f, f.top, "cf.has_elements", IN(result(stack(&f))), OUT(f.i64));
     refused(&f, "cf.has_elements", "out", "bool");)

/* ---- reporting ------------------------------------------------------------------------------- */

CASE(all_problems_are_told, for (int i = 0; i < 3; i++) emit(&f, f.top, "pd_op.relu", NONE, NONE);
     ck_assert_int_eq(pdm_ir_verify(f.module, &f.sink), PDM_INVALID_MODEL);
     ck_assert_uint_eq(f.sink.num_errors, 6);)

CASE(without_sink, emit(&f, f.top, "pd_op.relu", NONE, NONE);
     ck_assert_int_eq(pdm_ir_verify(f.module, NULL), PDM_INVALID_MODEL);)

#define CASES(X)                                                                                   \
    X(sound)                                                                                       \
    X(empty)                                                                                       \
    X(too_few_operands)                                                                            \
    X(too_many_operands)                                                                           \
    X(too_few_of_many)                                                                             \
    X(too_few_results)                                                                             \
    X(absent_operand)                                                                              \
    X(absent_optional)                                                                             \
    X(operand_without_type)                                                                        \
    X(vector_for_tensor)                                                                           \
    X(tensor_for_vector)                                                                           \
    X(stack_for_tensor)                                                                            \
    X(result_without_type)                                                                         \
    X(list_left_out)                                                                               \
    X(result_is_vector)                                                                            \
    X(result_is_no_vector)                                                                         \
    X(result_of_unknown_dtype)                                                                     \
    X(result_of_odd_dims)                                                                          \
    X(attr_missing)                                                                                \
    X(attr_of_other_type)                                                                          \
    X(attr_of_old_type)                                                                            \
    X(attr_of_new_type_too_early)                                                                  \
    X(attr_of_old_type_too_late)                                                                   \
    X(attr_added_later)                                                                            \
    X(attr_without_value)                                                                          \
    X(attrs_not_sorted)                                                                            \
    X(use_before_definition)                                                                       \
    X(use_of_itself)                                                                               \
    X(use_of_own_result_inside)                                                                    \
    X(capture)                                                                                     \
    X(capture_outwards)                                                                            \
    X(capture_sideways)                                                                            \
    X(detached_definition)                                                                         \
    X(use_from_outside)                                                                            \
    X(use_list_broken)                                                                             \
    X(use_of_other_op)                                                                             \
    X(region_where_none_belongs)                                                                   \
    X(two_blocks)                                                                                  \
    X(region_of_other_op)                                                                          \
    X(block_of_other_region)                                                                       \
    X(terminator_in_the_middle)                                                                    \
    X(yield_at_the_top)                                                                            \
    X(module_in_module)                                                                            \
    X(combine_fits)                                                                                \
    X(combine_of_other_count)                                                                      \
    X(combine_of_other_type)                                                                       \
    X(slice_fits)                                                                                  \
    X(slice_past_the_end)                                                                          \
    X(slice_negative)                                                                              \
    X(slice_of_other_type)                                                                         \
    X(split_fits)                                                                                  \
    X(split_of_other_count)                                                                        \
    X(split_of_other_type)                                                                         \
    X(if_fits)                                                                                     \
    X(if_condition_dtype)                                                                          \
    X(if_condition_size)                                                                           \
    X(if_one_region)                                                                               \
    X(if_without_yield)                                                                            \
    X(if_yields_too_many)                                                                          \
    X(if_yields_other_type)                                                                        \
    X(if_with_argument)                                                                            \
    X(if_without_block)                                                                            \
    X(if_without_results)                                                                          \
    X(while_fits)                                                                                  \
    X(while_result_type)                                                                           \
    X(while_result_dims)                                                                           \
    X(while_argument_type)                                                                         \
    X(while_results)                                                                               \
    X(while_arguments)                                                                             \
    X(while_condition)                                                                             \
    X(while_next_condition)                                                                        \
    X(while_yield_count)                                                                           \
    X(while_without_yield)                                                                         \
    X(while_regions)                                                                               \
    X(stack_fits)                                                                                  \
    X(pop_count)                                                                                   \
    X(pop_type)                                                                                    \
    X(stack_types)                                                                                 \
    X(inlet_used_twice)                                                                            \
    X(push_into_tensor)                                                                            \
    X(pop_from_inlet)                                                                              \
    X(elements_of_tensor)                                                                          \
    X(elements_result)                                                                             \
    X(all_problems_are_told)                                                                       \
    X(without_sink)

Suite *pdm_suite_verify(void)
{
    Suite *suite = suite_create("verify");
    TCase *tcase = tcase_create("verify");

#define ADD(name) tcase_add_test(tcase, name);
    CASES(ADD)
#undef ADD
    suite_add_tcase(suite, tcase);
    return suite;
}
