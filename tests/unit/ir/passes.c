/* The framework of passes: the driver of patterns, pictures, what is written, the manager. What single passes do is in
 * tests/text/passes. */
#include "unit/ir/build.h"

#include "ir/picture.h"

Suite *pdm_suite_passes(void);

/* ---- a run of patterns ----------------------------------------------------------------------- */

typedef struct rig {
    fx f;
    pdm_ir_constants constants;
    pdm_ir_pass_stats stats;
    pdm_ir_pass_run run;
} rig;

static const pdm_ir_pass test_pass = {.name = "test", .summary = ""};

static void rig_init(rig *r)
{
    *r = (rig){0};
    fx_init(&r->f);
    pdm_ir_constants_init(&r->constants);
    r->stats = (pdm_ir_pass_stats){.pass = &test_pass};
    r->run = (pdm_ir_pass_run){.module = r->f.module,
                               .context = r->f.context,
                               .sink = &r->f.sink,
                               .constants = &r->constants,
                               .stats = &r->stats};
}

static void rig_deinit(rig *r)
{
    if (r->run.has_writes)
        pdm_ir_writes_deinit(&r->run.writes);
    PDM_VEC_FREE(&r->stats.hits);
    pdm_ir_constants_deinit(&r->constants);
    fx_deinit(&r->f);
}

static size_t hits(const rig *r, const char *name)
{
    for (size_t i = 0; i < r->stats.hits.n; i++) {
        if (strcmp(r->stats.hits.v[i].name, name) == 0)
            return r->stats.hits.v[i].count;
    }
    return 0;
}

static size_t count_in(const pdm_ir_block *block, const char *name)
{
    size_t n = 0;

    for (pdm_ir_op *op = block->first; op; op = op->next)
        n += pdm_ir_op_is(op, name);
    return n;
}

static pdm_ir_op *use(fx *f, pdm_ir_value *value)
{
    return emit(f, f->top, "legacy.use", IN(value), NONE);
}

static pdm_ir_op *unary(fx *f, const char *name, pdm_ir_value *x)
{
    return emit(f, f->top, name, IN(x), OUT(f->f32));
}

/* ---- the driver ------------------------------------------------------------------------------ */

static const pdm_ir_pattern circle[] = {
    {.name = "to tanh", .from = "%y = relu(%x)", .to = "%y = tanh(%x)"},
    {.name = "to relu", .from = "%y = tanh(%x)", .to = "%y = relu(%x)"},
};

START_TEST(circles_are_ended_and_told)
{
    rig r;

    rig_init(&r);
    use(&r.f, result(relu(&r.f, r.f.top, data(&r.f, r.f.f32))));
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, circle, 2), PDM_OK);
    ck_assert_uint_gt(hits(&r, "to tanh"), 100);
    ck_assert_ptr_nonnull(strstr(r.f.said, "pass 'test' was ended"));
    ck_assert_int_eq(pdm_ir_verify(r.f.module, &r.f.sink), PDM_OK);
    rig_deinit(&r);
}
END_TEST

/* A pattern that throws an op with a region away, while ops of that region are on the list. */
static bool drop_branch(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    return pdm_ir_rw_forward(rw, op, pdm_ir_op_operand_value(pdm_ir_op_region(op, 0)->first->last, 0));
}

START_TEST(ops_inside_of_what_goes_leave_the_list)
{
    static const pdm_ir_pattern pattern[] = {
        {.name = "branch", .root = "pd_op.if", .rewrite = drop_branch},
        {.name = "inside", .from = "%y = relu(%x)", .to = "%y = tanh(%x)"}};
    rig r;

    rig_init(&r);
    pdm_ir_value *x = data(&r.f, r.f.f32), *c = data(&r.f, r.f.boolean);
    pdm_ir_region *regions[] = {new_region(), new_region()};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 5; k++)
            relu(&r.f, regions[i]->first, x);
        emit(&r.f, regions[i]->first, "cf.yield", IN(x), NONE);
    }
    pdm_ir_op *branch = make(&r.f, "pd_op.if", IN(c), OUT(r.f.f32), regions, 2);
    pdm_ir_block_append(r.f.top, branch);
    use(&r.f, result(branch));
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, pattern, 2), PDM_OK);
    ck_assert_uint_eq(hits(&r, "branch"), 1);
    ck_assert_uint_eq(hits(&r, "inside"), 0);
    ck_assert_uint_eq(count_in(r.f.top, "pd_op.if"), 0);
    ck_assert_int_eq(pdm_ir_verify(r.f.module, &r.f.sink), PDM_OK);
    rig_deinit(&r);
}
END_TEST

START_TEST(higher_benefit_goes_first)
{
    static const pdm_ir_pattern pattern[] = {
        {.name = "low", .from = "%y = relu(%x)", .to = "%y = tanh(%x)"},
        {.name = "high", .from = "%y = relu(%x)", .to = "%y = sigmoid(%x)", .benefit = 2}};
    rig r;

    rig_init(&r);
    use(&r.f, result(relu(&r.f, r.f.top, data(&r.f, r.f.f32))));
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, pattern, 2), PDM_OK);
    ck_assert_uint_eq(hits(&r, "high"), 1);
    ck_assert_uint_eq(hits(&r, "low"), 0);
    rig_deinit(&r);
}
END_TEST

/* What is made is looked at again, and so are those who read it. */
START_TEST(chains_are_followed)
{
    static const pdm_ir_pattern pattern[] = {
        {.name = "two", .from = "%a = relu(%x) %y = relu(%a)", .to = "%y = relu(%x)"}};
    rig r;

    rig_init(&r);
    pdm_ir_value *x = data(&r.f, r.f.f32);
    for (int i = 0; i < 50; i++)
        x = result(relu(&r.f, r.f.top, x));
    use(&r.f, x);
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, pattern, 1), PDM_OK);
    ck_assert_uint_eq(hits(&r, "two"), 49);
    ck_assert_uint_eq(count_in(r.f.top, "pd_op.relu"), 1);
    rig_deinit(&r);
}
END_TEST

/* ---- pictures -------------------------------------------------------------------------------- */

static const struct {
    const char *from, *to, *fault;
} broken[] = {
    {"%y = relux(%x)", "%x", "a known op"},
    {"%y = relu(%x, %z)", "%x", "as many operands"},
    {"%y = transpose(%x)", "%x", "all attributes without a default"},
    {"%y = transpose(%x) {axis: $a}", "%x", "an attribute of the op"},
    {"%y = relu(%x", "%x", "%"},
    {"relu(%x)", "%x", "%"},
    {"%y = relu(%x)", "", "lines"},
    {"%y = relu(%x)", "%x %y", "ops, or one value"},
    {"%y = gelu(%x) {approximate: maybe}", "%x", "a literal"},
};

START_TEST(broken_pictures_are_told)
{
    const pdm_ir_pattern pattern = {.name = "p", .from = broken[_i].from, .to = broken[_i].to};
    rig r;

    rig_init(&r);
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, &pattern, 1), PDM_INTERNAL);
    ck_assert_msg(strstr(r.f.said, broken[_i].fault) != NULL, "%s", r.f.said);
    rig_deinit(&r);
}
END_TEST

START_TEST(no_attribute_is_lost)
{
    static const pdm_ir_pattern usual[] = {
        {.name = "gelu", .from = "%y = gelu(%x)", .to = "%y = relu(%x)"},
        {.name = "true", .from = "%y = gelu(%x) {approximate: true}", .to = "%y = tanh(%x)"}};
    rig r;

    rig_init(&r);
    pdm_ir_value *x = data(&r.f, r.f.f32);
    pdm_ir_op *exact = unary(&r.f, "pd_op.gelu", x), *other = unary(&r.f, "pd_op.gelu", x);
    set(&r.f, exact, "approximate", pdm_ir_attr_bool(r.f.context, false));
    set(&r.f, other, "approximate", pdm_ir_attr_bool(r.f.context, true));
    use(&r.f, result(exact));
    use(&r.f, result(other));
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, usual, 1), PDM_OK);
    ck_assert_uint_eq(hits(&r, "gelu"), 1);
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, usual, 2), PDM_OK);
    ck_assert_uint_eq(hits(&r, "true"), 1);
    rig_deinit(&r);
}
END_TEST

START_TEST(operands_that_commute_fit_both_ways)
{
    static const pdm_ir_pattern pattern[] = {
        {.name = "sum", .from = "%a = relu(%x) %y = add(%a, %z)", .to = "%y = subtract(%z, %x)"}};
    rig r;

    rig_init(&r);
    pdm_ir_value *x = data(&r.f, r.f.f32), *z = data(&r.f, r.f.f32);
    pdm_ir_value *a = result(relu(&r.f, r.f.top, x)), *b = result(relu(&r.f, r.f.top, x));
    use(&r.f, result(emit(&r.f, r.f.top, "pd_op.add", IN(a, z), OUT(r.f.f32))));
    use(&r.f, result(emit(&r.f, r.f.top, "pd_op.add", IN(z, b), OUT(r.f.f32))));
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, pattern, 1), PDM_OK);
    ck_assert_uint_eq(hits(&r, "sum"), 2);
    for (pdm_ir_op *op = r.f.top->first; op; op = op->next)
        ck_assert(!pdm_ir_op_is(op, "pd_op.subtract") || pdm_ir_op_operand_value(op, 0) == z);
    rig_deinit(&r);
}
END_TEST

START_TEST(values_between_have_one_reader_unless_marked)
{
    static const pdm_ir_pattern one[] = {
        {.name = "one", .from = "%a = relu(%x) %y = tanh(%a)", .to = "%y = exp(%x)"}};
    static const pdm_ir_pattern many[] = {
        {.name = "many", .from = "%a+ = relu(%x) %y = tanh(%a)", .to = "%y = exp(%x)"}};
    rig r;

    rig_init(&r);
    pdm_ir_value *a = result(relu(&r.f, r.f.top, data(&r.f, r.f.f32)));
    use(&r.f, result(unary(&r.f, "pd_op.tanh", a)));
    use(&r.f, a);
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, one, 1), PDM_OK);
    ck_assert_uint_eq(hits(&r, "one"), 0);
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, many, 1), PDM_OK);
    ck_assert_uint_eq(hits(&r, "many"), 1);
    rig_deinit(&r);
}
END_TEST

/* x is written between the two readers: the first one's result is not what the second would see. */
START_TEST(nothing_is_read_later_when_it_is_written)
{
    static const pdm_ir_pattern pattern[] = {
        {.name = "two", .from = "%a = relu(%x) %y = tanh(%a)", .to = "%y = exp(%x)"}};
    rig r;

    rig_init(&r);
    pdm_ir_value *x = data(&r.f, r.f.f32), *a = result(relu(&r.f, r.f.top, x));
    use(&r.f, result(unary(&r.f, "pd_op.exp_", x)));
    use(&r.f, result(unary(&r.f, "pd_op.tanh", a)));
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, pattern, 1), PDM_OK);
    ck_assert_uint_eq(hits(&r, "two"), 0);
    rig_deinit(&r);
}
END_TEST

/* A pattern does not reach into another block. */
START_TEST(pictures_stay_in_their_block)
{
    static const pdm_ir_pattern pattern[] = {
        {.name = "two", .from = "%a+ = relu(%x) %y = tanh(%a)", .to = "%y = exp(%x)"}};
    rig r;

    rig_init(&r);
    pdm_ir_value *a = result(relu(&r.f, r.f.top, data(&r.f, r.f.f32)));
    pdm_ir_value *c = data(&r.f, r.f.boolean);
    pdm_ir_region *regions[] = {new_region(), new_region()};
    for (int i = 0; i < 2; i++) {
        pdm_ir_op *t = emit(&r.f, regions[i]->first, "pd_op.tanh", IN(a), OUT(r.f.f32));
        emit(&r.f, regions[i]->first, "cf.yield", IN(result(t)), NONE);
    }
    pdm_ir_op *branch = make(&r.f, "pd_op.if", IN(c), OUT(r.f.f32), regions, 2);
    pdm_ir_block_append(r.f.top, branch);
    use(&r.f, result(branch));
    ck_assert_int_eq(pdm_ir_rewrite(&r.run, pattern, 1), PDM_OK);
    ck_assert_uint_eq(hits(&r, "two"), 0);
    rig_deinit(&r);
}
END_TEST

/* ---- what is written ------------------------------------------------------------------------- */

START_TEST(writes_go_through_loops_and_branches)
{
    rig r;
    pdm_ir_writes *w;

    rig_init(&r);
    pdm_ir_value *x = data(&r.f, r.f.f32), *c = data(&r.f, r.f.boolean), *y = data(&r.f, r.f.f32);
    pdm_ir_value *safe = result(relu(&r.f, r.f.top, y));
    pdm_ir_region *regions[] = {new_region(), new_region()};
    pdm_ir_value *inner[2];
    for (int i = 0; i < 2; i++) {
        inner[i] = result(relu(&r.f, regions[i]->first, y));
        emit(&r.f, regions[i]->first, "cf.yield", IN(inner[i]), NONE);
    }
    pdm_ir_op *branch = make(&r.f, "pd_op.if", IN(c), OUT(r.f.f32), regions, 2);
    pdm_ir_block_append(r.f.top, branch);
    pdm_ir_op *written = unary(&r.f, "pd_op.relu_", result(branch));
    pdm_ir_region *body = new_region();
    pdm_ir_value *arg = pdm_ir_block_add_arg(body->first, r.f.f32);
    emit(&r.f, body->first, "cf.yield", IN(c, arg), NONE);
    pdm_ir_op *loop = make(&r.f, "pd_op.while", IN(c, x), OUT(r.f.f32), &body, 1);
    pdm_ir_block_append(r.f.top, loop);

    ck_assert_int_eq(pdm_ir_pass_writes(&r.run, &w), PDM_OK);
    pdm_ir_value *all[] = {result(branch), result(written), inner[0], inner[1], c, x, arg, result(loop)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ck_assert_msg(pdm_ir_is_written(w, all[i]), "value %zu", i);
    ck_assert(!pdm_ir_is_written(w, y));
    ck_assert(!pdm_ir_is_written(w, safe));
    /* What takes a value's place is written, too, and an address that went means nothing. */
    ck_assert(pdm_ir_writes_move(w, result(written), safe));
    ck_assert(pdm_ir_is_written(w, safe));
    pdm_ir_writes_forget(w, branch);
    ck_assert(!pdm_ir_is_written(w, result(branch)) && !pdm_ir_is_written(w, inner[0]));
    rig_deinit(&r);
}
END_TEST

/* ---- the manager ----------------------------------------------------------------------------- */

static pdm_status note_pass(void *user, const pdm_ir_pass_stats *stats, const pdm_ir_module *module)
{
    (void)module;
    strcat(user, stats->pass->name);
    strcat(user, " ");
    return strcmp(stats->pass->name, "hoist") ? PDM_OK : PDM_CANCELLED;
}

START_TEST(lists)
{
    rig r;
    char order[256] = "";
    const pdm_ir_pass_options options = {.verify = true, .after = note_pass, .user = order};

    rig_init(&r);
    use(&r.f, result(relu(&r.f, r.f.top, data(&r.f, r.f.f32))));
    ck_assert_int_eq(pdm_ir_pass_run_list(r.f.module, ",dce,,cse,dce,", &options, &r.constants, &r.f.sink),
                     PDM_OK);
    ck_assert_str_eq(order, "dce cse dce ");
    ck_assert_int_eq(pdm_ir_pass_run_list(r.f.module, "cse,hoist,dce", &options, &r.constants, &r.f.sink),
                     PDM_CANCELLED);
    ck_assert_str_eq(order, "dce cse dce cse hoist ");
    ck_assert_int_eq(pdm_ir_pass_run_list(r.f.module, "dce,dc", NULL, &r.constants, &r.f.sink),
                     PDM_INVALID_ARG);
    ck_assert_ptr_nonnull(strstr(r.f.said, "'dc' is no pass"));
    rig_deinit(&r);
}
END_TEST

START_TEST(passes_are_in_order_and_described)
{
    for (size_t i = 0; pdm_ir_pass_at(i); i++) {
        const pdm_ir_pass *pass = pdm_ir_pass_at(i);
        ck_assert(!pass->module != !pass->block);
        ck_assert_uint_gt(strlen(pass->summary), 20);
        ck_assert_ptr_eq(pdm_ir_pass_find(pass->name, strlen(pass->name)), pass);
        if (i > 0)
            ck_assert_int_lt(strcmp(pdm_ir_pass_at(i - 1)->name, pass->name), 0);
    }
    for (int level = 0; pdm_ir_pass_list(level); level++)
        ck_assert_int_eq(pdm_ir_pass_check_list(pdm_ir_pass_list(level), NULL), PDM_OK);
    ck_assert_ptr_null(pdm_ir_pass_list(-1));
}
END_TEST

Suite *pdm_suite_passes(void)
{
    Suite *suite = suite_create("passes");
    TCase *driver = tcase_create("driver"), *pictures = tcase_create("pictures"),
          *manager = tcase_create("manager");

    tcase_add_test(driver, circles_are_ended_and_told);
    tcase_add_test(driver, ops_inside_of_what_goes_leave_the_list);
    tcase_add_test(driver, higher_benefit_goes_first);
    tcase_add_test(driver, chains_are_followed);
    suite_add_tcase(suite, driver);
    tcase_add_loop_test(pictures, broken_pictures_are_told, 0, sizeof broken / sizeof *broken);
    tcase_add_test(pictures, no_attribute_is_lost);
    tcase_add_test(pictures, operands_that_commute_fit_both_ways);
    tcase_add_test(pictures, values_between_have_one_reader_unless_marked);
    tcase_add_test(pictures, nothing_is_read_later_when_it_is_written);
    tcase_add_test(pictures, pictures_stay_in_their_block);
    suite_add_tcase(suite, pictures);
    tcase_add_test(manager, writes_go_through_loops_and_branches);
    tcase_add_test(manager, lists);
    tcase_add_test(manager, passes_are_in_order_and_described);
    suite_add_tcase(suite, manager);
    return suite;
}
