/*
 * The executor on small programs in text form: order, folding, in-place ops, release of values,
 * control flow, limits, observers, threads.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernel.h"
#include "exec/no_kernel.h"
#include "exec/plan.h"
#include "ir/text.h"

Suite *pdm_suite_executor(void);

typedef struct program {
    pdm_ir_context *context;
    pdm_ir_module *module;
    pdm_exec_plan *plan;
    pdm_exec_session *session;
    char heard[1024];
} program;

static void hear(void *user, const pdm_diagnostic *d)
{
    program *p = user;

    const size_t used = strlen(p->heard);

    snprintf(p->heard + used, sizeof p->heard - used, "%s: block %d, op %d (%s): %s\n", d->id,
             (int)d->block, (int)d->op_index, d->op_type ? d->op_type : "", d->message);
}

#define T2 "tensor<2xf32>"
#define X                                                                                          \
    "(%x) = \"pd_op.data\" () {name:\"x\",shape:ints[2],dtype:float32,place:Place(cpu)} : () "     \
    "-> " T2 "\n"
#define FULL(name, number)                                                                         \
    "(%" name ") = \"pd_op.full\" () {shape:ints[1],value:f64(" number ")," FULL_REST
#define FULL_REST "dtype:float32,place:Place(cpu)} : () -> tensor<1xf32>\n"
/* out = x * by + bias, by being a constant of its own */
#define SCALE(out, x, by, bias)                                                                    \
    FULL("s" out, by)                                                                              \
    "(%" out ") = \"pd_op.scale\" (%" x ", %s" out ") {bias:f64(" bias                             \
    "),bias_after_scale:true} : (" T2 ", tensor<1xf32>) -> " T2 "\n"
#define FETCH(x, col)                                                                              \
    "(%f" x col ") = \"pd_op.fetch\" (%" x ") {name:\"" x "\",col:" col "} : (" T2 ") -> " T2 "\n"

static pdm_status make_with(program *p, const char *body, const pdm_exec_plan_options *how,
                            const pdm_exec_options *options)
{
    static char text[16384];
    pdm_diag_sink sink = {.fn = hear, .user = p};

    snprintf(text, sizeof text, "{\n%s}\n", body);
    *p = (program){0};
    ck_assert_int_eq(pdm_ir_context_create(&p->context), PDM_OK);
    const pdm_status parsed =
        pdm_ir_parse(p->context, text, strlen(text), "test", &sink, &p->module);
    ck_assert_msg(parsed == PDM_OK, "%s in %s", p->heard, text);
    ck_assert_msg(pdm_ir_verify(p->module, &sink) == PDM_OK, "%s in %s", p->heard, text);
    const pdm_status status = pdm_exec_plan_create(p->module, NULL, how, &sink, &p->plan);
    if (status == PDM_OK)
        ck_assert_int_eq(pdm_exec_session_create(p->plan, options, &p->session), PDM_OK);
    return status;
}

static void make(program *p, const char *body)
{
    ck_assert_msg(make_with(p, body, NULL, NULL) == PDM_OK, "%s", p->heard);
}

static void end(program *p)
{
    pdm_exec_session_destroy(p->session);
    pdm_exec_plan_destroy(p->plan);
    pdm_ir_module_destroy(p->module);
    pdm_ir_context_destroy(p->context);
}

static pdm_status run(program *p, float a, float b)
{
    pdm_diag_sink sink = {.fn = hear, .user = p};
    float data[2] = {a, b};
    pdm_tensor x = {.dtype = PDM_F32, .rank = 1, .dims = {2}, .data = data}, copy = {0};

    ck_assert_int_eq(pdm_tensor_copy(&copy, &x), PDM_OK);
    for (size_t i = 0; i < pdm_exec_num_inputs(p->plan); i++)
        pdm_exec_set_input(p->session, i, &copy);
    pdm_tensor_deinit(&copy);
    return pdm_exec_run(p->session, &sink);
}

static void expect(const program *p, size_t output, float a, float b)
{
    const pdm_value *v = pdm_exec_output(p->session, output);

    ck_assert_ptr_nonnull(v);
    ck_assert_int_eq(v->kind, PDM_VALUE_TENSOR);
    ck_assert_int_eq(pdm_tensor_count(&v->tensor), 2);
    const float *data = v->tensor.data;
    ck_assert_msg(data[0] == a && data[1] == b, "output %zu is [%g %g], not [%g %g]", output,
                  (double)data[0], (double)data[1], (double)a, (double)b);
}

static size_t count_kind(const pdm_exec_block *block, const char *op)
{
    size_t n = 0;

    for (size_t i = 0; i < block->num_instrs; i++)
        n += pdm_ir_op_is(block->instrs[i].op, op);
    return n;
}

START_TEST(a_chain)
{
    program p;

    make(&p, X SCALE("a", "x", "2.0", "1.0") SCALE("b", "a", "3.0", "0.0") FETCH("b", "0")
                 FETCH("a", "1"));
    ck_assert_uint_eq(pdm_exec_num_outputs(p.plan), 2);
    ck_assert_str_eq(pdm_exec_input_name(p.plan, 0), "x");
    ck_assert_str_eq(pdm_exec_output_name(p.plan, 1), "a");
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(run(&p, (float)i, 5), PDM_OK);
        expect(&p, 0, (float)(6 * i + 3), 33);
        expect(&p, 1, (float)(2 * i + 1), 11);
    }
    ck_assert_uint_eq(pdm_exec_get_memory(p.session).num_new, 0);
    end(&p);
}
END_TEST

START_TEST(constants_are_folded)
{
    program p;
    const pdm_exec_plan_options keep_all = {.keep_all = true};
    const char *body = X SCALE("a", "x", "2.0", "1.0") FETCH("a", "0");

    make(&p, body);
    ck_assert_uint_eq(count_kind(p.plan->top, "pd_op.full"), 0);
    ck_assert_uint_eq(count_kind(p.plan->top, "pd_op.scale"), 1);
    end(&p);
    ck_assert_int_eq(make_with(&p, body, &keep_all, NULL), PDM_OK);
    ck_assert_uint_eq(count_kind(p.plan->top, "pd_op.full"), 1);
    ck_assert_int_eq(run(&p, 1, 2), PDM_OK);
    expect(&p, 0, 3, 5);
    end(&p);
}
END_TEST

#define BOOL_INPUT                                                                                 \
    "(%z) = \"pd_op.full\" () {shape:ints[],value:f64(0.0),dtype:float32,place:Place(cpu)} : () "  \
    "-> "                                                                                          \
    "tensor<f32>\n"                                                                                \
    "(%i) = \"pd_op.full_int_array\" () {value:[i64(0)],dtype:int64,place:Place(cpu)} : () -> "    \
    "tensor<1xi64>\n"                                                                              \
    "(%e) = \"pd_op.full_int_array\" () {value:[i64(1)],dtype:int64,place:Place(cpu)} : () -> "    \
    "tensor<1xi64>\n"                                                                              \
    "(%first) = \"pd_op.slice\" (%x, %i, %e) "                                                     \
    "{axes:i64[0],infer_flags:i64[1],decrease_axis:i64[0]} "                                       \
    ": (" T2 ", tensor<1xi64>, tensor<1xi64>) -> tensor<f32>\n"                                    \
    "(%c) = \"pd_op.greater_than\" (%first, %z) {} : (tensor<f32>, tensor<f32>) -> tensor<b>\n"

/* A constant that a branch overwrites in place is made anew in every run. */
START_TEST(what_is_written_is_no_constant)
{
    program p;

    make(&p, X BOOL_INPUT
         "(%k) = \"pd_op.full\" () {shape:ints[2],value:f64(7.0),dtype:float32,place:Place(cpu)} : "
         "() -> " T2 "\n"
         "() = \"pd_op.if\" (%c) {} : (tensor<b>) -> () {\n"
         "(%o) = \"pd_op.assign_out_\" (%x, %k) {} : (" T2 ", " T2 ") -> " T2 "\n"
         "() = \"cf.yield\" () {} : () -> ()\n"
         "} else {\n"
         "() = \"cf.yield\" () {} : () -> ()\n"
         "}\n" SCALE("y", "k", "1.0", "0.0") FETCH("y", "0"));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(run(&p, 1, 2), PDM_OK);
        expect(&p, 0, 1, 2);
        ck_assert_int_eq(run(&p, -1, 2), PDM_OK);
        expect(&p, 0, 7, 7);
    }
    end(&p);
}
END_TEST

/* An op in place is seen through the operand too, by those that come after it. */
START_TEST(in_place)
{
    program p;

    make(&p,
         X SCALE("a", "x", "1.0", "0.0") SCALE("before", "a", "1.0", "0.0") FULL(
             "k",
             "10.0") "(%b) = \"pd_op.scale_\" (%a, %k) {bias:f64(0.0),bias_after_scale:true} : (" T2
                     ", tensor<1xf32>) -> " T2 "\n" SCALE("after", "a", "1.0", "0.0")
                         FETCH("before", "0") FETCH("after", "1") FETCH("b", "2"));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(run(&p, 1, 2), PDM_OK);
        expect(&p, 0, 1, 2);
        expect(&p, 1, 10, 20);
        expect(&p, 2, 10, 20);
    }
    end(&p);
}
END_TEST

#define LOOP(limit)                                                                                \
    FULL("n", "0.0")                                                                               \
    FULL("limit", limit)                                                                           \
    "(%go) = \"pd_op.less_than\" (%n, %limit) {} : (tensor<1xf32>, "                               \
    "tensor<1xf32>) -> tensor<1xb>\n"                                                              \
    "(%r, %m) = \"pd_op.while\" (%go, %x, %n) {} : (tensor<1xb>, " T2 ", tensor<1xf32>) -> " T2    \
    ", tensor<1xf32> {\n"                                                                          \
    "^(%v: " T2 ", %w: tensor<1xf32>)\n" SCALE(                                                    \
        "v2", "v", "2.0", "0.0") "(%w2) = \"pd_op.increment\" (%w) {value:1.0} : "                 \
                                 "(tensor<1xf32>) -> tensor<1xf32>\n"                              \
                                 "(%go2) = \"pd_op.less_than\" (%w2, %limit) {} : "                \
                                 "(tensor<1xf32>, tensor<1xf32>) -> tensor<1xb>\n"                 \
                                 "() = \"cf.yield\" (%go2, %v2, %w2) {} : (tensor<1xb>, " T2       \
                                 ", tensor<1xf32>) -> ()\n"                                        \
                                 "}\n"

START_TEST(a_loop)
{
    program p;

    make(&p, X LOOP("5.0") FETCH("r", "0") FETCH("x", "1"));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(run(&p, 1, 3), PDM_OK);
        expect(&p, 0, 32, 96);
        expect(&p, 1, 1, 3);
    }
    end(&p);
    make(&p, X LOOP("0.0") FETCH("r", "0"));
    ck_assert_int_eq(run(&p, 1, 3), PDM_OK);
    expect(&p, 0, 1, 3);
    end(&p);
}
END_TEST

/* The loop takes a value that nobody else wants; one that is read later it leaves alone. */
START_TEST(a_loop_takes_what_it_may)
{
    program p;

    make(&p, X SCALE("x0", "x", "1.0", "0.0") FETCH("x0", "0"));
    end(&p);
    make(&p, X LOOP("3.0") SCALE("y", "x", "1.0", "0.0") FETCH("r", "0") FETCH("y", "1"));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(run(&p, 1, 3), PDM_OK);
        expect(&p, 0, 8, 24);
        expect(&p, 1, 1, 3);
    }
    end(&p);
}
END_TEST

START_TEST(limits_and_cancelling)
{
    program p;
    const pdm_exec_options limited = {.max_iterations = 10}, enough = {.max_iterations = 20};
    const char *body = X LOOP("20.0") FETCH("r", "0");

    ck_assert_int_eq(make_with(&p, body, NULL, &limited), PDM_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(run(&p, 1, 1), PDM_STOPPED);
        ck_assert_ptr_nonnull(strstr(p.heard, "limit"));
    }
    ck_assert_uint_eq(pdm_exec_get_memory(p.session).in_use, 0);
    end(&p);
    ck_assert_int_eq(make_with(&p, body, NULL, &enough), PDM_OK);
    ck_assert_int_eq(run(&p, 1, 1), PDM_OK);
    expect(&p, 0, 1048576, 1048576);
    end(&p);
}
END_TEST

static bool count_down(void *user)
{
    int *left = user;

    return (*left)-- <= 0;
}

START_TEST(cancelled_anywhere)
{
    int left = 1000000;
    const pdm_exec_options options = {.cancelled = count_down, .user = &left};
    program p;

    ck_assert_int_eq(make_with(&p, X LOOP("5.0") FETCH("r", "0"), NULL, &options), PDM_OK);
    ck_assert_int_eq(run(&p, 1, 1), PDM_OK);
    const int needed = 1000000 - left;
    for (int i = 0; i < needed; i++) {
        left = i;
        ck_assert_int_eq(run(&p, 1, 1), PDM_CANCELLED);
        ck_assert_uint_eq(pdm_exec_get_memory(p.session).in_use, 0);
    }
    left = needed;
    ck_assert_int_eq(run(&p, 1, 1), PDM_OK);
    expect(&p, 0, 32, 32);
    end(&p);
}
END_TEST

START_TEST(stacks)
{
    program p;

    make(&p, X SCALE("a", "x", "2.0",
                     "0.0") "(%stack, %inlet, %outlet) = \"cf.stack_create\" () {} : () -> "
                            "cf.stack, cf.inlet, cf.outlet\n"
                            "() = \"cf.tuple_push\" (%inlet, %a, %x) {} : (cf.inlet, " T2 ", " T2
                            ") -> ()\n"
                            "(%p, %q) = \"cf.tuple_pop\" (%outlet) {} : (cf.outlet) -> " T2 ", " T2
                            "\n" FETCH("p", "0") FETCH("q", "1"));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(run(&p, 1, 3), PDM_OK);
        expect(&p, 0, 2, 6);
        expect(&p, 1, 1, 3);
    }
    end(&p);
}
END_TEST

#define NOBODY(out) "(%" out ") = \"legacy.nobody_knows_this\" () {} : () -> " T2 "\n"

/* All of them, in blocks inside too, with their places and the reason; lowering changes no place. */
START_TEST(missing_kernels_are_told)
{
    static const char program_text[] =
        X BOOL_INPUT NOBODY("a")
        "(%r) = \"pd_op.if\" (%c) {} : (tensor<b>) -> " T2 " {\n"
        "() = \"cf.yield\" (%x) {} : (" T2 ") -> ()\n"
        "} else {\n"
        "(%n) = \"pd_op.fused_act_dequant\" (%x, %x) {} : (" T2 ", " T2 ") -> " T2 "\n"
        "() = \"cf.yield\" (%n) {} : (" T2 ") -> ()\n"
        "}\n" NOBODY("b") FETCH("r", "0") FETCH("a", "1") FETCH("b", "2");
    static const char want[] =
        "exec-kernel: block 0, op 6 (legacy.nobody_knows_this): the op cannot be run: there is no kernel for it\n"
        "exec-kernel: block 2, op 0 (pd_op.fused_act_dequant): the op cannot be run: there is no kernel for it, since "
        "Paddle computes it on GPUs only\n"
        "exec-kernel: block 0, op 8 (legacy.nobody_knows_this): the op cannot be run: there is no kernel for it\n";

    for (int fast = 0; fast < 2; fast++) {
        const pdm_exec_plan_options how = {.fast = fast == 1};
        program p;
        ck_assert_int_eq(make_with(&p, program_text, &how, NULL), PDM_UNSUPPORTED);
        ck_assert_str_eq(p.heard, want);
        end(&p);
    }
}
END_TEST

/* What is neither run nor listed would be told without a reason. */
START_TEST(every_op_has_a_kernel_or_a_reason)
{
    /* The executor itself knows these. */
    static const char *const known[] = {"pd_op.data", "pd_op.feed", "pd_op.fetch", "pd_op.if", "pd_op.while"};

    for (size_t i = 0; i < pdm_ir_op_desc_count(); i++) {
        const char *name = pdm_ir_op_desc_at(i)->name;
        const bool kernel = pdm_kernel_find(name) != NULL, reason = pdm_no_kernel_reason(name) != NULL;
        bool own = strncmp(name, "pd_op.", 6) != 0;
        for (size_t j = 0; j < sizeof known / sizeof *known; j++)
            own |= !strcmp(known[j], name);
        ck_assert_msg(own || kernel || reason, "%s has neither a kernel nor a reason", name);
        ck_assert_msg(!kernel || !reason, "%s has both a kernel and a reason", name);
    }
}
END_TEST

START_TEST(inputs_must_be_given)
{
    program p;
    pdm_diag_sink sink = {.fn = hear, .user = &p};

    make(&p, X FETCH("x", "0"));
    sink.user = &p;
    ck_assert_int_eq(pdm_exec_run(p.session, &sink), PDM_INVALID_ARG);
    ck_assert_ptr_nonnull(strstr(p.heard, "'x'"));
    end(&p);
}
END_TEST

/* A failing op names itself; nothing stays behind. */
START_TEST(failures)
{
    program p;

    make(&p, X BOOL_INPUT SCALE(
                 "a", "x", "2.0",
                 "0.0") "(%v) = \"builtin.combine\" (%a) {} : (" T2 ") -> vec[" T2 "]\n"
                        "() = \"pd_op.assert\" (%c, %v) {summarize:i64(2)} : (tensor<b>, vec[" T2
                        "]) -> ()\n" FETCH("a", "0"));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(run(&p, 1, 4), PDM_OK);
        expect(&p, 0, 2, 8);
        ck_assert_int_eq(run(&p, -1, 4), PDM_INVALID_MODEL);
        ck_assert_ptr_nonnull(strstr(p.heard, "'pd_op.assert' failed"));
        ck_assert_ptr_nonnull(strstr(p.heard, "[-2 8]"));
    }
    end(&p);
}
END_TEST

static void count_ops(void *user, const pdm_ir_op *op, const pdm_value *const *in,
                      const pdm_value *const *out)
{
    size_t *count = user;

    (void)in;
    if (pdm_ir_op_is(op, "pd_op.scale"))
        ck_assert_int_eq(out[0]->tensor.dtype, PDM_F32);
    ++*count;
}

START_TEST(observers_see_every_op)
{
    size_t count = 0;
    const pdm_exec_options options = {.observe = count_ops, .user = &count};
    const pdm_exec_plan_options keep_all = {.keep_all = true};
    program p;

    ck_assert_int_eq(make_with(&p, X LOOP("3.0") FETCH("r", "0"), &keep_all, &options), PDM_OK);
    ck_assert_int_eq(run(&p, 1, 1), PDM_OK);
    ck_assert_uint_eq(count, 3 + 3 * 4 + 1);
    end(&p);
}
END_TEST

static void add_turns(void *user, const pdm_ir_op *op, uint64_t turn, size_t index,
                      const pdm_value *value)
{
    uint64_t *sum = user;

    ck_assert(pdm_ir_op_is(op, "pd_op.while"));
    ck_assert_uint_lt(index, 2);
    ck_assert_int_eq(value->tensor.dtype, PDM_F32);
    if (index == 0)
        *sum = *sum * 10 + turn + 1;
}

START_TEST(observers_see_turns)
{
    uint64_t turns = 0;
    const pdm_exec_options options = {.enter = add_turns, .user = &turns};
    program p;

    ck_assert_int_eq(make_with(&p, X LOOP("3.0") FETCH("r", "0"), NULL, &options), PDM_OK);
    ck_assert_int_eq(run(&p, 1, 1), PDM_OK);
    ck_assert_uint_eq(turns, 123);
    end(&p);
}
END_TEST

/* Reads after writes, writes after reads and after writes; no edge that follows from others. */
START_TEST(dependencies)
{
    program p;

    make(
        &p, X SCALE("a", "x", "1.0", "1.0") /* 0 */
        SCALE("b", "a", "1.0", "1.0")       /* 1: after 0 */
        SCALE("c", "a", "1.0", "2.0")       /* 2: after 0 */
        FULL("k",
             "10.0") "(%d) = \"pd_op.scale_\" (%a, %k) {bias:f64(0.0),bias_after_scale:true} : (" T2
                     ", tensor<1xf32>) -> " T2 "\n"
        /* 3: after 1 and 2, by them after 0 */
        SCALE("g", "a", "1.0", "0.0") /* 4: after 3 */
        FETCH("b", "0") FETCH("c", "1") FETCH("g", "2"));
    const pdm_graph_node *n = p.plan->top->nodes;
    ck_assert_uint_eq(n[0].num_prev, 0);
    ck_assert_uint_eq(n[1].num_prev, 1);
    ck_assert_uint_eq(n[2].num_prev, 1);
    ck_assert_uint_eq(n[3].num_prev, 2);
    ck_assert_uint_eq(n[4].num_prev, 1);
    ck_assert_uint_eq(n[0].num_next, 2);
    ck_assert_int_eq(run(&p, 1, 2), PDM_OK);
    expect(&p, 0, 3, 4);
    expect(&p, 1, 4, 5);
    expect(&p, 2, 20, 30);
    end(&p);
}
END_TEST

/* Many branches: the same numbers with any number of threads, run after run. */
START_TEST(threads_change_nothing)
{
    static char body[16384];
    pdm_pool *pool;
    program p;
    size_t n = (size_t)snprintf(body, sizeof body, "%s", X);

    for (int i = 0; i < 12; i++)
        n += (size_t)snprintf(
            body + n, sizeof body - n,
            "(%%k%d) = \"pd_op.full\" () {shape:ints[1],value:f64(%d.0)," FULL_REST
            "(%%a%d) = \"pd_op.scale\" (%%x, %%k%d) {bias:f64(1.0),bias_after_scale:true} : (" T2
            ", tensor<1xf32>) -> " T2 "\n"
            "(%%b%d) = \"pd_op.add\" (%%a%d, %%%s%d) {} : (" T2 ", " T2 ") -> " T2 "\n",
            i, i + 1, i, i, i, i, i ? "b" : "a", i ? i - 1 : 0);
    snprintf(body + n, sizeof body - n, "%s", FETCH("b11", "0") FETCH("a3", "1"));
    ck_assert_int_eq(pdm_pool_create((unsigned)_i, &pool), PDM_OK);
    const pdm_exec_options options = {.pool = pool};
    ck_assert_int_eq(make_with(&p, body, NULL, &options), PDM_OK);
    ck_assert(p.plan->top->parallel);
    for (int i = 0; i < 200; i++) {
        ck_assert_int_eq(run(&p, 1, (float)i), PDM_OK);
        expect(&p, 0, 79 + 13, (float)(79 * i + 13));
        expect(&p, 1, 5, (float)(4 * i + 1));
    }
    end(&p);
    pdm_pool_destroy(pool);
}
END_TEST

/* Results can be made in memory of the caller. */
START_TEST(outputs_where_the_caller_wants_them)
{
    program p;
    float first[2], second[2] = {-1, -1};

    make(&p, X SCALE("a", "x", "2.0", "0.0") SCALE("b", "a", "2.0", "0.0") FETCH("b", "0")
                 FETCH("a", "1"));
    pdm_exec_set_output(p.session, 0, first, sizeof first);
    pdm_exec_set_output(p.session, 1, second, 4); /* another size: it is not used */
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(run(&p, 1, (float)i), PDM_OK);
        ck_assert_ptr_eq(pdm_exec_output(p.session, 0)->tensor.data, first);
        ck_assert(first[0] == 4.0f && first[1] == (float)(4 * i));
        expect(&p, 1, 2, (float)(2 * i));
        ck_assert(second[0] == -1.0f);
    }
    end(&p);
}
END_TEST

#define OPEN "tensor<-1x-1x-1x-1x-1xf32>"

/* x with a dim of 1 for each bit that is not set. */
static void run_class(program *p, unsigned bits)
{
    pdm_diag_sink sink = {.fn = hear, .user = p};
    int64_t dims[5];
    pdm_tensor x = {0};

    for (int d = 0; d < 5; d++)
        dims[d] = bits >> d & 1 ? 2 + d % 2 : 1;
    ck_assert_int_eq(pdm_tensor_alloc(&x, PDM_F32, 5, dims), PDM_OK);
    for (int64_t i = 0; i < pdm_tensor_count(&x); i++)
        ((float *)x.data)[i] = (float)i - 3;
    pdm_exec_set_input(p->session, 0, &x);
    ck_assert_msg(pdm_exec_run(p->session, &sink) == PDM_OK, "%s", p->heard);
    const pdm_tensor *y = &pdm_exec_output(p->session, 0)->tensor;
    ck_assert_int_eq(pdm_tensor_count(y), pdm_tensor_count(&x));
    for (int64_t i = 0; i < pdm_tensor_count(y); i++)
        ck_assert(((const float *)y->data)[i] == (i > 3 ? 2 * ((float)i - 3) : 0));
    pdm_tensor_deinit(&x);
}

/* More classes of shapes than a group has code for: those that are not met any more make room. */
START_TEST(classes_come_and_go)
{
    const pdm_exec_plan_options how = {.compile = "ref", .compile_single = true};
    program p;

    const pdm_status made = make_with(
        &p,
        "(%x) = \"pd_op.data\" () {name:\"x\",shape:ints[-1,-1,-1,-1,-1],dtype:float32,place:Place(cpu)} : () -> " OPEN "\n"
        "(%a) = \"pd_op.relu\" (%x) {} : (" OPEN ") -> " OPEN "\n"
        "(%y) = \"pd_op.add\" (%a, %a) {} : (" OPEN ", " OPEN ") -> " OPEN "\n"
        "(%f) = \"pd_op.fetch\" (%y) {name:\"y\",col:0} : (" OPEN ") -> " OPEN "\n",
        &how, NULL);
    ck_assert_msg(made == PDM_OK, "%s", p.heard);
    for (int pass = 0; pass < 8; pass++) {
        const uint64_t before = pdm_exec_get_compile_stats(p.plan).compiled;
        for (unsigned bits = 0; bits < 16; bits++)
            run_class(&p, pass < 2 ? bits : bits + 16);
        const pdm_exec_compile_stats stats = pdm_exec_get_compile_stats(p.plan);
        ck_assert_uint_eq(stats.groups, 1);
        ck_assert_uint_le(stats.kernels, 16);
        if (pass < 2 || pass == 7)
            ck_assert_uint_eq(stats.compiled - before, 16);
        else if (pass == 2)
            ck_assert_uint_eq(stats.compiled - before, 0);
    }
    /* All in turn are too many: some stay, and the others are not made anew every time. */
    for (int pass = 0; pass < 3; pass++) {
        for (unsigned bits = 0; bits < 32; bits++)
            run_class(&p, bits);
    }
    end(&p);
}
END_TEST

Suite *pdm_suite_executor(void)
{
    Suite *suite = suite_create("executor");
    TCase *tcase = tcase_create("programs");

    tcase_add_test(tcase, a_chain);
    tcase_add_test(tcase, constants_are_folded);
    tcase_add_test(tcase, what_is_written_is_no_constant);
    tcase_add_test(tcase, in_place);
    tcase_add_test(tcase, a_loop);
    tcase_add_test(tcase, a_loop_takes_what_it_may);
    tcase_add_test(tcase, limits_and_cancelling);
    tcase_add_test(tcase, cancelled_anywhere);
    tcase_add_test(tcase, stacks);
    tcase_add_test(tcase, missing_kernels_are_told);
    tcase_add_test(tcase, every_op_has_a_kernel_or_a_reason);
    tcase_add_test(tcase, inputs_must_be_given);
    tcase_add_test(tcase, failures);
    tcase_add_test(tcase, observers_see_every_op);
    tcase_add_test(tcase, observers_see_turns);
    tcase_add_test(tcase, dependencies);
    tcase_add_loop_test(tcase, threads_change_nothing, 1, 5);
    tcase_add_test(tcase, classes_come_and_go);
    tcase_add_test(tcase, outputs_where_the_caller_wants_them);
    suite_add_tcase(suite, tcase);
    return suite;
}
