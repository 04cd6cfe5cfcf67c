/* The legacy interpreter on programs put together here: scopes, loops, LoD, errors, tables. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/legacy_bind.h"
#include "exec/legacy_interp.h"

/* ---- programs -------------------------------------------------------------------------------- */

enum { MOST = 32 };

typedef struct draft {
    pdm_lg_program *program;
    pdm_lg_var vars[3][MOST];
    pdm_lg_op ops[3][MOST];
    pdm_lg_block blocks[3];
} draft;

static draft d;
static char told[4096];
static size_t num_told;

static void say(void *user, const pdm_diagnostic *diag)
{
    (void)user;
    snprintf(told, sizeof told, "block %d op %d %s %s: %s", diag->block, diag->op_index,
             diag->op_type ? diag->op_type : "-", diag->var ? diag->var : "-", diag->message);
    num_told++;
}

static pdm_diag_sink sink = {.fn = say};

static void *room(size_t count, size_t size)
{
    void *p = pdm_arena_calloc(&d.program->arena, count, size);

    ck_assert_ptr_nonnull(p);
    return p;
}

static const char *name_of(const char *text, size_t len)
{
    const char *name = pdm_intern_get(&d.program->strings, text, len);

    ck_assert_ptr_nonnull(name);
    return name;
}

/* parents: of blocks 1 and 2; -1: there is no such block. */
static void begin(int parent1, int parent2)
{
    const int parents[3] = {-1, parent1, parent2};

    memset(&d, 0, sizeof d);
    d.program = calloc(1, sizeof *d.program);
    pdm_arena_init(&d.program->arena);
    pdm_intern_init(&d.program->strings, &d.program->arena);
    d.program->path = "draft";
    d.program->blocks = d.blocks;
    d.program->num_blocks = parent1 < 0 ? 1 : parent2 < 0 ? 2 : 3;
    for (int i = 0; i < 3; i++)
        d.blocks[i] = (pdm_lg_block){
            .idx = i, .parent = parents[i], .forward_idx = -1, .vars = d.vars[i], .ops = d.ops[i]};
    num_told = 0;
    told[0] = 0;
}

static void end(void)
{
    for (int i = 0; i < 3; i++)
        pdm_map_deinit(&d.blocks[i].var_index);
    pdm_intern_deinit(&d.program->strings);
    pdm_arena_deinit(&d.program->arena);
    free(d.program);
}

/* Variables, separated by blanks. A mark behind the name: '!' to be fed, '&' persistable, '['
 * array. */
static void vars(int block, const char *text)
{
    while (*text) {
        const size_t len = strcspn(text, " "), marks = strcspn(text, " !&[");
        pdm_lg_block *b = &d.blocks[block];
        pdm_lg_var *v = &d.vars[block][b->num_vars];
        const char mark = marks < len ? text[marks] : 0;
        ck_assert_uint_lt(b->num_vars, MOST);
        *v = (pdm_lg_var){.name = name_of(text, marks),
                          .kind = mark == '[' ? PDM_LG_TENSOR_ARRAY : PDM_LG_DENSE_TENSOR,
                          .dtype = PDM_F32,
                          .need_check_feed = mark == '!',
                          .persistable = mark == '&'};
        pdm_map_entry *e = pdm_map_put(&b->var_index, v->name);
        ck_assert_ptr_nonnull(e);
        e->value.num = b->num_vars++;
        text += len;
        text += strspn(text, " ");
    }
}

/* "X=a,b Y=c" */
static size_t slots_of(const char *text, const pdm_lg_slot **out)
{
    pdm_lg_slot *slots = room(8, sizeof *slots);
    size_t n = 0;

    for (; *text; n++) {
        const size_t head = strcspn(text, "=");
        const char **args = room(8, sizeof *args);
        slots[n].name = name_of(text, head);
        slots[n].args = args;
        text += head + 1;
        while (*text && *text != ' ') {
            const size_t len = strcspn(text, ", ");
            args[slots[n].num_args++] = name_of(text, len);
            text += len + (text[len] == ',');
        }
        text += strspn(text, " ");
    }
    *out = slots;
    return n;
}

static void op2(int block, const char *type, const char *in, const char *out, pdm_lg_attr a,
                pdm_lg_attr b)
{
    pdm_lg_block *blk = &d.blocks[block];
    pdm_lg_op *op = &d.ops[block][blk->num_ops++];
    pdm_lg_attr *attrs = room(2, sizeof *attrs);

    op->type = name_of(type, strlen(type));
    op->num_inputs = slots_of(in, &op->inputs);
    op->num_outputs = slots_of(out, &op->outputs);
    attrs[0] = a;
    attrs[1] = b;
    op->attrs = attrs;
    op->num_attrs = a.name ? (b.name ? 2 : 1) : 0;
}

#define NONE ((pdm_lg_attr){.name = NULL})

static pdm_lg_attr int_attr(const char *name, int32_t value)
{
    return (pdm_lg_attr){.name = name, .type = PDM_LG_INT, .u.i = value};
}

static pdm_lg_attr float_attr(const char *name, float value)
{
    return (pdm_lg_attr){.name = name, .type = PDM_LG_FLOAT, .u.f = value};
}

static pdm_lg_attr bool_attr(const char *name, bool value)
{
    return (pdm_lg_attr){.name = name, .type = PDM_LG_BOOLEAN, .u.b = value};
}

static pdm_lg_attr block_attr(int32_t block)
{
    return (pdm_lg_attr){.name = "sub_block", .type = PDM_LG_BLOCK, .u.block = block};
}

static pdm_lg_attr strings_attr(const char *name, const char *const *strings, size_t count)
{
    return (pdm_lg_attr){
        .name = name, .type = PDM_LG_STRINGS, .u.strings = strings, .count = count};
}

static void op(int block, const char *type, const char *in, const char *out, pdm_lg_attr a)
{
    op2(block, type, in, out, a, NONE);
}

static void add(int block, const char *from, const char *to, float by)
{
    char in[64], out[64];

    snprintf(in, sizeof in, "X=%s", from);
    snprintf(out, sizeof out, "Out=%s", to);
    op2(block, "scale", in, out, float_attr("scale", 1), float_attr("bias", by));
}

static void compare(int block, const char *type, const char *x, const char *y, const char *to)
{
    char in[64], out[64];

    snprintf(in, sizeof in, "X=%s Y=%s", x, y);
    snprintf(out, sizeof out, "Out=%s", to);
    op(block, type, in, out, NONE);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static pdm_lg_schemas *schemas;
static pdm_legacy_plan *plan;
static pdm_legacy_session *session;

static pdm_status make_plan(const char *const *fetch, size_t num_fetch)
{
    const pdm_legacy_plan_options options = {fetch, num_fetch, false};

    if (!schemas)
        ck_assert_int_eq(pdm_lg_schemas_create(&schemas), PDM_OK);
    return pdm_legacy_plan_create(d.program, schemas, NULL, &options, &sink, &plan);
}

static void start(const char *output, const pdm_legacy_options *options)
{
    ck_assert_int_eq(make_plan(&output, 1), PDM_OK);
    ck_assert_int_eq(pdm_legacy_session_create(plan, options, &session), PDM_OK);
}

static void feed(size_t index, int rank, const int64_t *dims, const float *data)
{
    pdm_tensor t = {0};

    ck_assert_int_eq(pdm_tensor_alloc(&t, PDM_F32, rank, dims), PDM_OK);
    memcpy(t.data, data, pdm_tensor_bytes(&t));
    pdm_legacy_set_input(session, index, &t);
    pdm_tensor_deinit(&t);
}

static void feed1(size_t index, float value)
{
    feed(index, 1, &(int64_t){1}, &value);
}

static void feed_lod(size_t index, int64_t rows, int64_t width, const float *data, size_t levels,
                     const int64_t *const *offsets, const size_t *counts)
{
    pdm_tensor t = {0};
    const int64_t dims[2] = {rows, width};

    ck_assert_int_eq(pdm_tensor_alloc(&t, PDM_F32, 2, dims), PDM_OK);
    memcpy(t.data, data, pdm_tensor_bytes(&t));
    ck_assert_int_eq(pdm_tensor_set_lod(&t, levels, offsets, counts), PDM_OK);
    pdm_legacy_set_input(session, index, &t);
    pdm_tensor_deinit(&t);
}

static const pdm_tensor *result(void)
{
    const pdm_value *value = pdm_legacy_output(session, 0);

    ck_assert_ptr_nonnull(value);
    ck_assert_int_eq(value->kind, PDM_VALUE_TENSOR);
    return &value->tensor;
}

static double first(void)
{
    return pdm_get_double(result(), 0);
}

static void run(void)
{
    const pdm_status status = pdm_legacy_run(session, &sink);

    ck_assert_msg(status == PDM_OK, "%s", told);
}

static void stop(void)
{
    pdm_legacy_session_destroy(session);
    pdm_legacy_plan_destroy(plan);
    session = NULL;
    plan = NULL;
    end();
}

/* ---- scopes ---------------------------------------------------------------------------------- */

START_TEST(ops_write_in_place)
{
    begin(-1, -1);
    vars(0, "x! y");
    add(0, "x", "y", 1);
    add(0, "y", "y", 2);
    op(0, "increment", "X=y", "Out=y", float_attr("step", 4));
    start("y", NULL);
    feed1(0, 10);
    run();
    ck_assert_double_eq(first(), 17);
    run(); /* the input was not changed */
    ck_assert_double_eq(first(), 17);
    stop();
}
END_TEST

/* A block with a variable of its own under the name of an outer one. */
START_TEST(inner_declarations_hide_outer_ones)
{
    begin(0, -1);
    vars(0, "x! zero c y");
    vars(1, "x");
    op2(0, "fill_constant", "", "Out=zero", float_attr("value", 0),
        (pdm_lg_attr){
            .name = "shape", .type = PDM_LG_LONGS, .count = 1, .u.longs = (int64_t[]){1}});
    compare(0, "greater_than", "x", "zero", "c");
    add(0, "x", "y", 0);
    op2(0, "conditional_block", "Cond=c Input=x", "Out=y Scope=zero", block_attr(1),
        bool_attr("is_scalar_condition", true));
    add(1, "y", "x", 100);
    add(1, "x", "y", 0);
    add(0, "x", "x", 0);
    start("y", NULL);
    feed1(0, 5);
    run();
    ck_assert_double_eq(first(), 105);
    feed1(0, -5);
    run();
    ck_assert_double_eq(first(), -5);
    stop();
}
END_TEST

/* i counts from x to x + 3; a[0] is x; the block has a variable t of its own. */
static void counting_loop(bool is_test)
{
    begin(0, -1);
    vars(0, "x! i limit c y a[ scopes");
    vars(1, "t");
    add(0, "x", "i", 0);
    add(0, "x", "limit", 3);
    add(0, "x", "y", 0);
    op(0, "write_to_array", "X=x I=i", "Out=a", NONE);
    compare(0, "less_than", "i", "limit", "c");
    op2(0, "while", "X=i,y,limit,a Condition=c", "Out=i,y,c StepScopes=scopes", block_attr(1),
        bool_attr("is_test", is_test));
}

START_TEST(loops_write_outer_variables)
{
    counting_loop(true);
    add(1, "i", "t", 0);
    op(1, "sum", "X=y,t", "Out=y", NONE);
    add(1, "i", "i", 1);
    compare(1, "less_than", "i", "limit", "c");
    start("y", NULL);
    feed1(0, 0);
    run();
    ck_assert_double_eq(first(), 0 + 1 + 2);
    run();
    ck_assert_double_eq(first(), 3);
    stop();
}
END_TEST

/* Behind the array's end t stays what it was: in test mode what the turn before left. */
START_TEST(loops_keep_their_scope_in_test_mode_only)
{
    for (int is_test = 0; is_test < 2; is_test++) {
        counting_loop(is_test);
        op(1, "read_from_array", "X=a I=i", "Out=t", NONE);
        add(1, "t", "t", 1);
        add(1, "t", "y", 0);
        add(1, "i", "i", 1);
        compare(1, "less_than", "i", "limit", "c");
        start("y", NULL);
        feed1(0, 0);
        if (is_test) {
            run();
            ck_assert_double_eq(first(), 3);
        } else {
            ck_assert_int_ne(pdm_legacy_run(session, &sink), PDM_OK);
            ck_assert_ptr_nonnull(strstr(told, "block 1 op 1 scale t:"));
        }
        stop();
    }
}
END_TEST

START_TEST(loops_stop_at_the_limit)
{
    const pdm_legacy_options options = {.max_iterations = 50};

    counting_loop(true);
    add(1, "y", "y", 1);
    start("y", &options);
    feed1(0, 0);
    ck_assert_int_eq(pdm_legacy_run(session, &sink), PDM_STOPPED);
    ck_assert_ptr_nonnull(strstr(told, "block 0 op 5 while"));
    ck_assert_ptr_nonnull(strstr(told, "limit"));
    stop();
}
END_TEST

static bool after_100(void *user)
{
    return ++*(int *)user > 100;
}

START_TEST(loops_stop_when_cancelled)
{
    int asked = 0;
    const pdm_legacy_options options = {.cancelled = after_100, .user = &asked};

    counting_loop(true);
    add(1, "y", "y", 1);
    start("y", &options);
    feed1(0, 0);
    ck_assert_int_eq(pdm_legacy_run(session, &sink), PDM_CANCELLED);
    ck_assert_int_eq(asked, 101);
    stop();
}
END_TEST

START_TEST(persistables_keep_their_values)
{
    begin(-1, -1);
    vars(0, "x! p& y");
    op(0, "sum", "X=x", "Out=y", NONE);
    op(0, "sum", "X=p,x", "Out=p", NONE);
    start("p", NULL);
    feed1(0, 2);
    /* Nothing gave it a value. */
    ck_assert_int_ne(pdm_legacy_run(session, &sink), PDM_OK);
    ck_assert_ptr_nonnull(strstr(told, "block 0 op 1 sum"));
    stop();

    begin(-1, -1);
    vars(0, "x! p&");
    add(0, "x", "p", 0);
    start("p", NULL);
    feed1(0, 2);
    run();
    ck_assert_ptr_nonnull(pdm_legacy_value(session, 0, "p"));
    pdm_legacy_session_reset(session);
    ck_assert_ptr_null(pdm_legacy_value(session, 0, "p"));
    stop();
}
END_TEST

START_TEST(arrays_are_written_and_read)
{
    begin(-1, -1);
    vars(0, "x! zero i j a[ b y");
    add(0, "x", "zero", -7);
    add(0, "zero", "i", 1);
    add(0, "zero", "j", 9);
    op(0, "write_to_array", "X=x I=i", "Out=a", NONE);
    add(0, "x", "b", 1);
    op(0, "write_to_array", "X=b I=zero", "Out=a", NONE);
    op(0, "read_from_array", "X=a I=i", "Out=y", NONE);
    op(0, "read_from_array", "X=a I=j", "Out=y", NONE); /* behind the end: y stays */
    start("y", NULL);
    feed1(0, 7);
    run();
    ck_assert_double_eq(first(), 7);
    run(); /* the array began empty again */
    ck_assert_double_eq(first(), 7);
    stop();
}
END_TEST

/* ---- LoD ------------------------------------------------------------------------------------- */

static const float ramp[8] = {0, 1, 2, 3, 4, 5, 6, 7};

static void expect_lod(const int64_t *offsets, size_t count)
{
    size_t n;

    ck_assert_uint_eq(pdm_tensor_num_lod(result()), 1);
    const int64_t *got = pdm_tensor_lod(result(), 0, &n);
    ck_assert_uint_eq(n, count);
    ck_assert_mem_eq(got, offsets, n * sizeof *got);
}

START_TEST(lod_goes_along)
{
    const int64_t off[] = {0, 1, 4}, twice[] = {0, 1, 4, 5, 8};

    begin(-1, -1);
    vars(0, "x! y z");
    add(0, "x", "y", 1);
    op(0, "concat", "X=y,x", "Out=z", int_attr("axis", 0));
    start("z", NULL);
    feed_lod(0, 4, 1, ramp, 1, (const int64_t *const[]){off}, (const size_t[]){3});
    run();
    expect_lod(twice, 5);
    stop();

    begin(-1, -1);
    vars(0, "x! y");
    op(0, "reduce_sum", "X=x", "Out=y", int_attr("dim", 1));
    start("y", NULL);
    feed_lod(0, 4, 1, ramp, 1, (const int64_t *const[]){off}, (const size_t[]){3});
    run();
    ck_assert_uint_eq(pdm_tensor_num_lod(result()), 0);
    stop();
}
END_TEST

/* Sequences of sequences to steps and back. */
START_TEST(rank_tables_take_sequences_apart)
{
    const int64_t outer[] = {0, 1, 3}, inner[] = {0, 2, 3, 6};

    begin(-1, -1);
    vars(0, "x! table steps[ y");
    op(0, "lod_rank_table", "X=x", "Out=table", int_attr("level", 0));
    op(0, "lod_tensor_to_array", "RankTable=table X=x", "Out=steps", NONE);
    op(0, "array_to_lod_tensor", "RankTable=table X=steps", "Out=y", NONE);
    start("y", NULL);
    feed_lod(0, 6, 1, ramp, 2, (const int64_t *const[]){outer, inner}, (const size_t[]){3, 4});
    run();
    ck_assert_int_eq(pdm_tensor_count(result()), 6);
    ck_assert_mem_eq(result()->data, ramp, 6 * sizeof *ramp);
    ck_assert_uint_eq(pdm_tensor_num_lod(result()), 2);
    for (size_t l = 0; l < 2; l++) {
        size_t n;
        const int64_t *got = pdm_tensor_lod(result(), l, &n);
        ck_assert_uint_eq(n, l ? 4 : 3);
        ck_assert_mem_eq(got, l ? inner : outer, n * sizeof *got);
    }
    stop();
}
END_TEST

/* ---- recurrent ------------------------------------------------------------------------------- */

START_TEST(recurrences_step_through_time)
{
    static const char *before[] = {"h_before"}, *after[] = {"h"};

    for (int reverse = 0; reverse < 2; reverse++) {
        begin(0, -1);
        vars(0, "x! h0! h scopes");
        vars(1, "x h_before h");
        op2(0, "recurrent", "initial_states=h0 inputs=x", "outputs=h step_scopes=scopes",
            block_attr(1), bool_attr("reverse", reverse));
        pdm_lg_attr *attrs = room(4, sizeof *attrs);
        memcpy(attrs, d.ops[0][0].attrs, 2 * sizeof *attrs);
        attrs[2] = strings_attr("ex_states", before, 1);
        attrs[3] = strings_attr("states", after, 1);
        d.ops[0][0].attrs = attrs;
        d.ops[0][0].num_attrs = 4;
        op(1, "sum", "X=x,h_before", "Out=h", NONE);
        start("h", NULL);
        feed(0, 2, (const int64_t[]){3, 1}, ramp + 1);
        feed1(1, 10);
        run();
        const float forward[] = {11, 13, 16}, backward[] = {16, 15, 13};
        ck_assert_int_eq(result()->rank, 2);
        ck_assert_mem_eq(result()->data, reverse ? backward : forward, sizeof forward);
        stop();
    }
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(all_unknown_ops_are_told)
{
    begin(-1, -1);
    vars(0, "x! y");
    op(0, "no_such_op", "X=x", "Out=y", NONE);
    add(0, "x", "y", 0);
    op(0, "nor_this_one", "X=x", "Out=y", NONE);
    const char *fetch = "y";
    ck_assert_int_eq(make_plan(&fetch, 1), PDM_UNSUPPORTED);
    ck_assert_uint_eq(num_told, 2);
    ck_assert_ptr_nonnull(strstr(told, "block 0 op 2 nor_this_one"));
    end();
}
END_TEST

START_TEST(missing_values_are_named)
{
    begin(-1, -1);
    vars(0, "x! never y");
    op(0, "elementwise_add", "X=x Y=never", "Out=y", int_attr("axis", -1));
    start("y", NULL);
    ck_assert_int_ne(pdm_legacy_run(session, &sink), PDM_OK);
    ck_assert_ptr_nonnull(strstr(told, "input 'x' was not given"));
    feed1(0, 1);
    ck_assert_int_ne(pdm_legacy_run(session, &sink), PDM_OK);
    ck_assert_ptr_nonnull(strstr(told, "block 0 op 0 elementwise_add never:"));
    stop();
    begin(-1, -1);
    vars(0, "x! y");
    add(0, "x", "y", 0);
    const char *fetch = "nothing";
    ck_assert_int_ne(make_plan(&fetch, 1), PDM_OK);
    ck_assert_ptr_nonnull(strstr(told, "'nothing'"));
    end();
}
END_TEST

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rows are found by bisection, name kernels' rows, and types of which the schema is known. */
START_TEST(rows_are_sound)
{
    static const char *const types[] = {
#define PDM_LEGACY_BIND(type, kernel, operands, attrs, results) type,
#include "exec/legacy_bind.def"
#undef PDM_LEGACY_BIND
    };
    pdm_arena arena;

    pdm_arena_init(&arena);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const pdm_legacy_row *row;
        if (i)
            ck_assert_msg(strcmp(types[i - 1], types[i]) < 0, "%s is out of order", types[i]);
        ck_assert_int_eq(pdm_legacy_row_get(types[i], &arena, &row), PDM_OK);
        ck_assert_ptr_nonnull(row);
        const pdm_ir_op_desc *desc = pdm_ir_op_desc_find(row->kernel);
        ck_assert_msg(desc != NULL, "%s: there is no op %s", types[i], row->kernel);
        if (desc->num_operands &&
            desc->operands[desc->num_operands - 1].kind != PDM_IR_OPERAND_MANY)
            ck_assert_msg(row->num_operands <= desc->num_operands, "%s has too many operands",
                          types[i]);
    }
    pdm_arena_deinit(&arena);
}
END_TEST

START_TEST(lod_rows_are_sorted)
{
    static const char *const types[] = {
#define PDM_LEGACY_LOD(type, rule) type,
#include "exec/legacy_lod.def"
#undef PDM_LEGACY_LOD
    };

    for (size_t i = 1; i < sizeof types / sizeof *types; i++)
        ck_assert_msg(strcmp(types[i - 1], types[i]) < 0, "%s is out of order", types[i]);
    ck_assert(!pdm_legacy_lod_get("no_such_op").known);
    ck_assert_str_eq(pdm_legacy_lod_get("scale").rule, "Out=X");
}
END_TEST

Suite *pdm_suite_legacy(void);

Suite *pdm_suite_legacy(void)
{
    Suite *suite = suite_create("legacy");
    TCase *tc = tcase_create("legacy");

    tcase_add_test(tc, ops_write_in_place);
    tcase_add_test(tc, inner_declarations_hide_outer_ones);
    tcase_add_test(tc, loops_write_outer_variables);
    tcase_add_test(tc, loops_keep_their_scope_in_test_mode_only);
    tcase_add_test(tc, loops_stop_at_the_limit);
    tcase_add_test(tc, loops_stop_when_cancelled);
    tcase_add_test(tc, persistables_keep_their_values);
    tcase_add_test(tc, arrays_are_written_and_read);
    tcase_add_test(tc, lod_goes_along);
    tcase_add_test(tc, rank_tables_take_sequences_apart);
    tcase_add_test(tc, recurrences_step_through_time);
    tcase_add_test(tc, all_unknown_ops_are_told);
    tcase_add_test(tc, missing_values_are_named);
    tcase_add_test(tc, rows_are_sound);
    tcase_add_test(tc, lod_rows_are_sorted);
    suite_add_tcase(suite, tc);
    return suite;
}
