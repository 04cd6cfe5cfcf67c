/* What the lowering moves out of loops, and what stays. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "exec/lower/lower.h"
#include "ir/text.h"

Suite *pdm_suite_hoist(void);

/* A loop in a loop; the body of the inner one is to be filled in. %x: an input; %w: constant. */
#define BEGIN                                                                                      \
    "{\n"                                                                                          \
    "(%x) = \"pd_op.data\" () {dtype:float32,name:\"x\",place:Place(cpu),shape:ints[2,3]} : () "   \
    "-> "                                                                                          \
    "tensor<2x3xf32>\n"                                                                            \
    "(%w) = \"pd_op.full\" () {dtype:float32,place:Place(cpu),shape:ints[3,3],value:f64(0.5)} : "  \
    "() -> tensor<3x3xf32>\n"                                                                      \
    "(%c) = \"pd_op.full\" () {dtype:bool,place:Place(cpu),shape:ints[],value:f64(0.0)} : () -> "  \
    "tensor<b>\n"                                                                                  \
    "(%one) = \"pd_op.while\" (%c, %x) {} : (tensor<b>, tensor<2x3xf32>) -> tensor<2x3xf32> {\n"   \
    "^(%i: tensor<2x3xf32>)\n"                                                                     \
    "(%two) = \"pd_op.while\" (%c, %i) {} : (tensor<b>, tensor<2x3xf32>) -> tensor<2x3xf32> {\n"   \
    "^(%k: tensor<2x3xf32>)\n"
#define END                                                                                        \
    "() = \"cf.yield\" (%c, %s) {} : (tensor<b>, tensor<2x3xf32>) -> ()\n"                         \
    "}\n"                                                                                          \
    "() = \"cf.yield\" (%c, %two) {} : (tensor<b>, tensor<2x3xf32>) -> ()\n"                       \
    "}\n"                                                                                          \
    "(%f) = \"pd_op.fetch\" (%one) {col:0,name:\"y\"} : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"      \
    "}\n"
#define PRODUCT(x, w)                                                                              \
    "(%p) = \"pd_op.matmul\" (" x ", " w ") {transpose_x:false,transpose_y:false} : "              \
    "(tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>\n"
#define SUM                                                                                        \
    "(%s) = \"pd_op.add\" (%k, %p) {} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n"

/* depth: loops around the product afterwards. */
static const struct {
    const char *text;
    int depth;
} cases[] = {
    {BEGIN PRODUCT("%x", "%w") SUM END, 0},
    {BEGIN PRODUCT("%i", "%w") SUM END, 1},
    {BEGIN PRODUCT("%k", "%w") SUM END, 2},
    /* Weights that are no constant. */
    {BEGIN "(%v) = \"pd_op.matmul\" (%k, %k) {transpose_x:true,transpose_y:false} : "
           "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>\n" PRODUCT("%x", "%v") SUM END,
     2},
    /* An operand that the loop writes in place. */
    {BEGIN "(%z) = \"pd_op.relu_\" (%x) {} : (tensor<2x3xf32>) -> tensor<2x3xf32>\n" PRODUCT(
         "%x", "%w") SUM END,
     2},
};

static void hear(void *user, const pdm_diagnostic *d)
{
    snprintf(user, 512, "%s", d->message);
}

static pdm_status look(void *user, pdm_ir_op *op)
{
    int *depth = user, loops = 0;

    if (!pdm_ir_op_is(op, "fast.linear") && !pdm_ir_op_is(op, "pd_op.matmul"))
        return PDM_OK;
    for (pdm_ir_op *up = pdm_ir_op_parent(op); up; up = pdm_ir_op_parent(up))
        loops += pdm_ir_op_is(up, "pd_op.while");
    *depth = loops; /* of the last one */
    return PDM_OK;
}

START_TEST(products)
{
    pdm_ir_context *context;
    pdm_ir_module *module, *lowered;
    char heard[512] = "";
    pdm_diag_sink sink = {.fn = hear, .user = heard};
    const char *text = cases[_i].text;
    int depth = -1;

    ck_assert_int_eq(pdm_ir_context_create(&context), PDM_OK);
    ck_assert_msg(pdm_ir_parse(context, text, strlen(text), "test", &sink, &module) == PDM_OK, "%s",
                  heard);
    ck_assert_msg(pdm_ir_verify(module, &sink) == PDM_OK, "%s", heard);
    ck_assert_int_eq(pdm_exec_lower(module, &(pdm_exec_lower_options){.fast = true}, &lowered), PDM_OK);
    ck_assert_msg(pdm_ir_verify(lowered, &sink) == PDM_OK, "%s", heard);
    ck_assert_int_eq(pdm_ir_walk(lowered->op, PDM_IR_PRE_ORDER, look, &depth), PDM_OK);
    ck_assert_int_eq(depth, cases[_i].depth);
    pdm_ir_module_destroy(lowered);
    pdm_ir_module_destroy(module);
    pdm_ir_context_destroy(context);
}
END_TEST

Suite *pdm_suite_hoist(void)
{
    Suite *suite = suite_create("hoist");
    TCase *tc = tcase_create("hoist");

    tcase_add_loop_test(tc, products, 0, (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, tc);
    return suite;
}
