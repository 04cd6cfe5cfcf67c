/* Which op stands for which: two texts of programs, and what each op of the second is aligned with.
 */
#include "ir/align.h"

#include "unit/ir/forms.h"

Suite *pdm_suite_align(void);

/* Ops of the first program are told by their number in order of print, from 0; '-' is none. */
typedef struct row {
    const char *what;
    const char *a, *b;
    const char *want; /* one for each op of b */
} row;

#define X1     " (%0) = \"pd_op.data\" () {name:\"x\"} : () -> tensor<2xf32>\n"
#define Y1     " (%1) = \"pd_op.data\" () {name:\"y\"} : () -> tensor<2xf32>\n"
#define PIR(s) "pir version 1 trainable {\n" s "}\n"
#define ONE    " : (tensor<2xf32>) -> tensor<2xf32>\n"
#define TWO    " : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n"
#define IF(t, f)                                                                                   \
    " (%1) = \"pd_op.data\" () {name:\"c\"} : () -> tensor<1xb>\n"                                 \
    " (%2) = \"pd_op.if\" (%1) {} : (tensor<1xb>) -> tensor<2xf32> {\n" t "} else {\n" f "}\n"
#define BRANCH(value, op)                                                                          \
    "  (%" value ") = \"" op "\" (%0) {}" ONE "  () = \"cf.yield\" (%" value                       \
    ") {} : (tensor<2xf32>) -> ()\n"

static const row rows[] = {
    {"itself", PIR(X1 Y1 " (%2) = \"pd_op.add\" (%0, %1) {}" TWO),
     PIR(X1 Y1 " (%2) = \"pd_op.add\" (%0, %1) {}" TWO), "012"},
    {"inputs go by their names, not by their places",
     PIR(X1 Y1 " (%2) = \"pd_op.add\" (%0, %1) {}" TWO),
     PIR(" (%1) = \"pd_op.data\" () {name:\"y\"} : () -> tensor<2xf32>\n" X1
         " (%2) = \"pd_op.add\" (%0, %1) {}" TWO),
     "102"},
    {"an op more and an op less",
     PIR(X1 " (%1) = \"pd_op.relu\" (%0) {}" ONE " (%2) = \"pd_op.tanh\" (%1) {}" ONE),
     PIR(X1 " (%1) = \"pd_op.relu\" (%0) {}" ONE " (%2) = \"pd_op.exp\" (%1) {}" ONE
            " (%3) = \"pd_op.tanh\" (%2) {}" ONE),
     "01-2"},
    {"another op in its place", PIR(X1 Y1 " (%2) = \"pd_op.add\" (%0, %1) {}" TWO),
     PIR(X1 Y1 " (%2) = \"pd_op.subtract\" (%0, %1) {}" TWO), "012"},
    {"in-place or not", PIR(X1 " (%1) = \"pd_op.relu\" (%0) {}" ONE),
     PIR(X1 " (%1) = \"pd_op.relu_\" (%0) {}" ONE), "01"},
    {"of two that may stand for it, the one that reads the same",
     PIR(X1 Y1 " (%2) = \"pd_op.relu\" (%0) {}" ONE " (%3) = \"pd_op.relu\" (%1) {}" ONE
               " (%4) = \"pd_op.add\" (%2, %3) {}" TWO),
     PIR(X1 Y1 " (%3) = \"pd_op.relu\" (%1) {}" ONE " (%4) = \"pd_op.add\" (%0, %3) {}" TWO),
     "0134"},
    {"notes are no attributes",
     PIR(X1 " (%1) = \"pd_op.relu\" (%0) {op_role:0}" ONE " (%2) = \"pd_op.relu\" (%1) {}" ONE),
     PIR(X1 " (%1) = \"pd_op.relu\" (%0) {op_role:i64(7),stop_gradient:[true]}" ONE
            " (%2) = \"pd_op.relu\" (%1) {}" ONE),
     "012"},
    {"branches that have changed places",
     PIR(X1 IF(BRANCH("3", "pd_op.relu"), BRANCH("4", "pd_op.tanh"))),
     PIR(X1 IF(BRANCH("3", "pd_op.tanh"), BRANCH("4", "pd_op.relu"))), "0125634"},
};

typedef struct numbered {
    const pdm_ir_op *v[16];
    int n;
} numbered;

static void number_ops(const pdm_ir_block *block, numbered *out)
{
    for (const pdm_ir_op *op = block->first; op; op = op->next) {
        ck_assert_int_lt(out->n, 16);
        out->v[out->n++] = op;
        for (uint32_t i = 0; i < op->num_regions; i++)
            number_ops(pdm_ir_op_region(op, i)->first, out);
    }
}

START_TEST(pairs)
{
    const row *r = &rows[_i];
    char got[17] = "";
    numbered a = {.n = 0}, b = {.n = 0};
    pdm_ir_alignment alignment;
    forms f;

    forms_init(&f);
    pdm_ir_module *first = forms_parse(&f, r->a), *second = forms_parse(&f, r->b);
    number_ops(first->block, &a);
    number_ops(second->block, &b);
    ck_assert_int_eq(pdm_ir_align(first, second, &alignment), PDM_OK);
    for (int i = 0; i < b.n; i++) {
        const pdm_ir_op *op = pdm_ir_aligned_op(&alignment, b.v[i]);
        int k = 0;
        while (op && k < a.n && a.v[k] != op)
            k++;
        got[i] = op ? "0123456789abcdef"[k] : '-';
        for (uint32_t j = 0; op && j < op->num_results && j < b.v[i]->num_results; j++)
            ck_assert_ptr_eq(pdm_ir_aligned_value(&alignment, pdm_ir_op_result(b.v[i], j)),
                             pdm_ir_op_result(op, j));
    }
    ck_assert_msg(!strcmp(got, r->want), "%s: %s, should be %s", r->what, got, r->want);
    pdm_ir_alignment_deinit(&alignment);
    pdm_ir_module_destroy(first);
    pdm_ir_module_destroy(second);
    forms_deinit(&f);
}
END_TEST

START_TEST(same_meaning)
{
    static const struct {
        const char *a, *b;
        bool same;
    } attrs[] = {{"5", "i64(5)", true},
                 {"5", "6", false},
                 {"0.5", "f64(0.5)", true},
                 {"0.5", "5", false},
                 {"ints[1,2]", "[1,2]", true},
                 {"ints[1,2]", "[1,2,3]", false},
                 {"ints[1,2]", "ints[1,3]", false},
                 {"\"a\"", "\"b\"", false},
                 {"[0.1]", "f64[0.1]", true},
                 {"[]", "ints[]", true}};
    forms f;
    char text[256];

    forms_init(&f);
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++) {
        snprintf(text, sizeof text,
                 PIR(" (%%0) = \"pd_op.data\" () {a:%s,b:%s} : () -> tensor<2xf32>\n"), attrs[i].a,
                 attrs[i].b);
        pdm_ir_module *module = forms_parse(&f, text);
        const pdm_ir_op *op = module->block->first;
        const pdm_ir_attr a = pdm_ir_op_attr(op, "a"), b = pdm_ir_op_attr(op, "b");
        ck_assert_msg(pdm_ir_attr_means_same(a, b) == attrs[i].same &&
                          pdm_ir_attr_means_same(b, a) == attrs[i].same,
                      "%s and %s", attrs[i].a, attrs[i].b);
        ck_assert(!pdm_ir_attr_means_same(a, NULL) && pdm_ir_attr_means_same(NULL, NULL));
        pdm_ir_module_destroy(module);
    }
    forms_deinit(&f);
}
END_TEST

Suite *pdm_suite_align(void)
{
    Suite *suite = suite_create("align");
    TCase *tc = tcase_create("align");

    tcase_add_loop_test(tc, pairs, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tc, same_meaning);
    suite_add_tcase(suite, tc);
    return suite;
}
