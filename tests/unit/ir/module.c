#include <math.h>
#include <time.h>

#include "unit/ir/build.h"

#include "ir/ir_t.h"
#include "unit/ir/alloc.h"

Suite *pdm_suite_module(void);

/* ---- walk ------------------------------------------------------------------------------------ */

/* legacy.a, legacy.b { legacy.c { legacy.d } {} { legacy.e, legacy.f } }, legacy.g { } */
static void nest(fx *f)
{
    emit(f, f->top, "legacy.a", NONE, NONE);
    pdm_ir_region *b = new_region(), *c[3] = {new_region(), pdm_ir_region_create(), new_region()},
                  *g = new_region();
    emit(f, c[0]->first, "legacy.d", NONE, NONE);
    emit(f, c[2]->first, "legacy.e", NONE, NONE);
    emit(f, c[2]->first, "legacy.f", NONE, NONE);
    pdm_ir_block_append(b->first, make(f, "legacy.c", NONE, NONE, c, 3));
    pdm_ir_block_append(f->top, make(f, "legacy.b", NONE, NONE, &b, 1));
    pdm_ir_block_append(f->top, make(f, "legacy.g", NONE, NONE, &g, 1));
}

static pdm_status note(void *user, pdm_ir_op *op)
{
    const char *dot = strchr(pdm_ir_op_name(op), '.');
    strncat(user, dot + 1, 1);
    return PDM_OK;
}

static pdm_status erase_all(void *user, pdm_ir_op *op)
{
    (void)note(user, op);
    if (pdm_ir_op_parent(op))
        pdm_ir_op_erase(op);
    return PDM_OK;
}

static pdm_status stop_at_d(void *user, pdm_ir_op *op)
{
    (void)note(user, op);
    return pdm_ir_op_is(op, "legacy.d") ? PDM_CANCELLED : PDM_OK;
}

START_TEST(walk)
{
    fx f;
    fx_init(&f);
    nest(&f);
    char seen[32] = "";

    ck_assert_int_eq(pdm_ir_walk(f.module->op, PDM_IR_PRE_ORDER, note, seen), PDM_OK);
    ck_assert_str_eq(seen, "mabcdefg");
    seen[0] = '\0';
    ck_assert_int_eq(pdm_ir_walk(f.module->op, PDM_IR_POST_ORDER, note, seen), PDM_OK);
    ck_assert_str_eq(seen, "adefcbgm");
    seen[0] = '\0';
    ck_assert_int_eq(pdm_ir_walk(f.top->first->next, PDM_IR_PRE_ORDER, note, seen), PDM_OK);
    ck_assert_str_eq(seen, "bcdef");
    seen[0] = '\0';
    ck_assert_int_eq(pdm_ir_walk(f.top->first, PDM_IR_POST_ORDER, note, seen), PDM_OK);
    ck_assert_str_eq(seen, "a");
    seen[0] = '\0';
    ck_assert_int_eq(pdm_ir_walk(f.module->op, PDM_IR_PRE_ORDER, stop_at_d, seen), PDM_CANCELLED);
    ck_assert_str_eq(seen, "mabcd");
    seen[0] = '\0';
    ck_assert_int_eq(pdm_ir_walk(f.module->op, PDM_IR_POST_ORDER, erase_all, seen), PDM_OK);
    ck_assert_str_eq(seen, "adefcbgm");
    ck_assert_ptr_null(f.top->first);
    fx_deinit(&f);
}
END_TEST

static pdm_status note_place(void *user, pdm_ir_op *op, const pdm_ir_place *place)
{
    char *seen = user;
    sprintf(seen + strlen(seen), "%s:%d.%d/%u ", strchr(pdm_ir_op_name(op), '.') + 1, place->block,
            place->op_index, place->depth);
    return PDM_OK;
}

START_TEST(visit)
{
    fx f;
    fx_init(&f);
    nest(&f);
    char seen[200] = "";

    ck_assert_int_eq(pdm_ir_visit(f.module, &f.sink, note_place, seen), PDM_OK);
    ck_assert_str_eq(seen, "a:0.0/0 b:0.1/0 c:1.0/1 d:2.0/2 e:3.0/2 f:3.1/2 g:0.2/0 ");
    fx_deinit(&f);
}
END_TEST

/* ---- clone ----------------------------------------------------------------------------------- */

/* x; while (c) { y = relu(arg); if (c2) { add(x, y) } }; names in the clone must be those of the
 * clone. */
static pdm_ir_op *loop(fx *f, pdm_ir_value *x)
{
    pdm_ir_value *cond = data(f, f->boolean);
    pdm_ir_region *body = new_region(), *branches[2] = {new_region(), new_region()};
    pdm_ir_value *arg = pdm_ir_block_add_arg(body->first, f->f32);
    pdm_ir_value *y = result(relu(f, body->first, arg));
    pdm_ir_op *sum = emit(f, branches[0]->first, "pd_op.add", IN(x, y), OUT(f->f32));
    emit(f, branches[0]->first, "cf.yield", IN(result(sum)), NONE);
    emit(f, branches[1]->first, "cf.yield", IN(y), NONE);
    pdm_ir_op *choice = make(f, "pd_op.if", IN(cond), OUT(f->f32), branches, 2);
    pdm_ir_block_append(body->first, choice);
    emit(f, body->first, "cf.yield", IN(cond, result(choice)), NONE);
    pdm_ir_op *op = make(f, "pd_op.while", IN(cond, x), OUT(f->f32), &body, 1);
    pdm_ir_block_append(f->top, op);
    return op;
}

START_TEST(clone_module)
{
    fx f;
    fx_init(&f);
    pdm_ir_value *x = data(&f, f.f32);
    pdm_ir_op *op = loop(&f, x);
    const size_t uses = pdm_ir_value_num_uses(x);
    op->lg_block = 3;
    op->lg_op = 4;
    x->type = f.f32;
    pdm_ir_value_op(x)->attrs[0].position = 77;
    f.module->version = 1;
    f.module->trainable = false;
    pdm_ir_module *copy = NULL;
    char a[32] = "", b[32] = "";

    ck_assert_int_eq(pdm_ir_verify(f.module, &f.sink), PDM_OK);
    ck_assert_int_eq(pdm_ir_module_clone(f.module, &copy), PDM_OK);
    ck_assert_int_eq(pdm_ir_verify(copy, &f.sink), PDM_OK);
    ck_assert_uint_eq(pdm_ir_value_num_uses(x), uses);
    ck_assert_int_eq(pdm_ir_walk(f.module->op, PDM_IR_PRE_ORDER, note, a), PDM_OK);
    pdm_ir_module_destroy(f.module);
    f.module = copy;
    ck_assert_int_eq(pdm_ir_walk(copy->op, PDM_IR_PRE_ORDER, note, b), PDM_OK);
    ck_assert_str_eq(a, b);
    ck_assert_int_eq(copy->version, 1);
    ck_assert(!copy->trainable);
    ck_assert_int_eq(copy->block->last->lg_block, 3);
    ck_assert_uint_eq(copy->block->first->attrs[0].position, 77);
    ck_assert_int_eq(pdm_ir_verify(copy, &f.sink), PDM_OK);
    fx_deinit(&f);
}
END_TEST

START_TEST(clone_op)
{
    fx f;
    fx_init(&f);
    pdm_ir_value *x = data(&f, f.f32), *other = data(&f, f.f32);
    pdm_ir_op *op = loop(&f, x);
    pdm_map map = {0};

    pdm_map_put(&map, x)->value.ptr = other;
    const size_t uses = pdm_ir_value_num_uses(x);
    pdm_ir_op *copy = pdm_ir_op_clone(f.context, op, &map);
    ck_assert_uint_eq(pdm_ir_value_num_uses(x), uses); /* mapped: other is used instead */
    ck_assert_uint_eq(pdm_ir_value_num_uses(other), uses);
    ck_assert_ptr_eq(pdm_map_find(&map, result(op))->value.ptr, result(copy));
    pdm_ir_block_append(f.top, copy);
    ck_assert_int_eq(pdm_ir_verify(f.module, &f.sink), PDM_OK);
    pdm_map_deinit(&map);
    fx_deinit(&f);
}
END_TEST

/* ---- size and depth -------------------------------------------------------------------------- */

/* `depth` ops with one region, one inside of the other. */
static void nest_deep(fx *f, int depth)
{
    pdm_ir_block *block = f->top;
    for (int i = 0; i < depth; i++) {
        pdm_ir_region *region = new_region();
        pdm_ir_block_append(block, make(f, "legacy.deep", NONE, NONE, &region, 1));
        block = region->first;
    }
}

START_TEST(deep_nesting)
{
    fx f;
    fx_init(&f);
    pdm_ir_module *copy;

    nest_deep(&f, 256);
    ck_assert_int_eq(pdm_ir_verify(f.module, &f.sink), PDM_OK);
    pdm_ir_op_erase(f.top->first);
    nest_deep(&f, 257);
    ck_assert_int_eq(pdm_ir_verify(f.module, &f.sink), PDM_INVALID_MODEL);
    ck_assert_uint_eq(f.sink.num_errors, 1);
    ck_assert_int_eq(pdm_ir_module_set_version(f.module, 1, &f.sink), PDM_INVALID_MODEL);
    pdm_ir_op_erase(f.top->first);
    nest_deep(&f, 200000); /* no recursion: destroy, clone and walk do not care */
    ck_assert_int_eq(pdm_ir_module_clone(f.module, &copy), PDM_OK);
    pdm_ir_module_destroy(copy);
    fx_deinit(&f);
}
END_TEST

/* Seconds of CPU for building, verifying, cloning and destroying a chain of n ops below 100
 * regions. */
static double chain(uint32_t n)
{
    fx f;
    const clock_t start = clock();
    fx_init(&f);
    pdm_ir_value *x = data(&f, f.f32), *first = x;
    pdm_ir_block *block = f.top;
    pdm_ir_module *copy;

    nest_deep(&f, 100);
    while (block->last && block->last->num_regions)
        block = pdm_ir_op_region(block->last, 0)->first;
    for (uint32_t i = 0; i < n; i++)
        x = result(emit(&f, block, "pd_op.add", IN(x, first), OUT(f.f32)));
    ck_assert_int_eq(pdm_ir_verify(f.module, &f.sink), PDM_OK);
    ck_assert_int_eq(pdm_ir_module_clone(f.module, &copy), PDM_OK);
    ck_assert_int_eq(pdm_ir_module_set_version(copy, 1, &f.sink), PDM_OK);
    pdm_ir_module_destroy(copy);
    fx_deinit(&f);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Ten times the ops take about ten times as long; a factor of 40 leaves room for noise and caches,
 * none for squares. */
START_TEST(linear_time)
{
    const double small = chain(20000), large = chain(200000);
    ck_assert_msg(large < 40 * small + 0.2, "%f s for 20000 ops, %f s for 200000", small, large);
}
END_TEST

/* ---- versions -------------------------------------------------------------------------------- */

/* A value that stands for any operand: of unknown use to the version, which looks at attributes
 * only. */
static pdm_ir_op *with_attr(fx *f, const char *name, const char *attr, pdm_ir_attr value)
{
    pdm_ir_op *op = emit(f, f->top, name, NONE, NONE);
    if (attr)
        set(f, op, attr, value);
    return op;
}

START_TEST(versions)
{
    fx f;
    fx_init(&f);
    pdm_ir_context *c = f.context;
    pdm_ir_op *pool =
        with_attr(&f, "pd_op.pool2d", "strides", pdm_ir_attr_i64s(c, (int64_t[]){2, 3}, 2));
    pdm_ir_op *leaky = with_attr(&f, "pd_op.leaky_relu", "negative_slope", pdm_ir_attr_f64(c, 0.1));
    pdm_ir_op *kth = with_attr(&f, "pd_op.kthvalue", "k", pdm_ir_attr_i64(c, 5));
    pdm_ir_op *repeat =
        with_attr(&f, "pd_op.repeat_interleave", "output_size", pdm_ir_attr_i64(c, -1));
    pdm_ir_op *interp =
        with_attr(&f, "pd_op.nearest_interp", "scale", pdm_ir_attr_f64s(c, NULL, 0));
    pdm_ir_attr empty = pdm_ir_op_attr(interp, "scale");

    set(&f, leaky, "alien", pdm_ir_attr_i64(c, 1));
    ck_assert_int_eq(pdm_ir_module_set_version(f.module, 1, &f.sink), PDM_OK);
    ck_assert_int_eq(f.module->version, 1);
    ck_assert_ptr_eq(pdm_ir_op_attr(pool, "strides"), pdm_ir_attr_i32s(c, (int32_t[]){2, 3}, 2));
    ck_assert_ptr_eq(pdm_ir_op_attr(leaky, "negative_slope"), pdm_ir_attr_f32(c, 0.1f));
    ck_assert_ptr_eq(pdm_ir_op_attr(leaky, "alien"), pdm_ir_attr_i64(c, 1));
    ck_assert_ptr_eq(pdm_ir_op_attr(kth, "k"), pdm_ir_attr_i32(c, 5));
    ck_assert_ptr_null(pdm_ir_op_attr(repeat, "output_size"));
    ck_assert_ptr_eq(pdm_ir_op_attr(interp, "scale"), empty);
    ck_assert_int_eq(pdm_ir_module_set_version(f.module, 3, &f.sink), PDM_OK);
    ck_assert_ptr_eq(pdm_ir_op_attr(pool, "strides"), pdm_ir_attr_i64s(c, (int64_t[]){2, 3}, 2));
    ck_assert_ptr_eq(pdm_ir_op_attr(leaky, "negative_slope"), pdm_ir_attr_f32(c, 0.1f));
    ck_assert_ptr_eq(pdm_ir_op_attr(kth, "k"), pdm_ir_attr_i64(c, 5));
    ck_assert_ptr_eq(pdm_ir_op_attr(repeat, "output_size"), pdm_ir_attr_i64(c, -1));
    ck_assert_int_eq(pdm_ir_module_set_version(f.module, 4, &f.sink), PDM_OK);
    ck_assert_ptr_eq(pdm_ir_op_attr(leaky, "negative_slope"), pdm_ir_attr_f64(c, (double)0.1f));
    ck_assert_int_eq(pdm_ir_module_set_version(f.module, 0, &f.sink), PDM_INVALID_ARG);
    ck_assert_int_eq(pdm_ir_module_set_version(f.module, 5, &f.sink), PDM_INVALID_ARG);
    ck_assert_str_eq(f.said, "");
    fx_deinit(&f);
}
END_TEST

/* All that stands in the way is told; the module stays as it was. */
START_TEST(versions_refused)
{
    fx f;
    fx_init(&f);
    pdm_ir_context *c = f.context;
    pdm_ir_op *kth = with_attr(&f, "pd_op.kthvalue", "k", pdm_ir_attr_i64(c, INT64_C(1) << 31));
    with_attr(&f, "pd_op.rms_norm", NULL, NULL);
    with_attr(&f, "pd_op.repeat_interleave", "output_size", pdm_ir_attr_i64(c, 6));
    with_attr(&f, "pd_op.leaky_relu", "negative_slope", pdm_ir_attr_f64(c, 1e300));
    with_attr(&f, "pd_op.softplus", "beta", pdm_ir_attr_str(c, "1"));
    pdm_ir_op *fine =
        with_attr(&f, "pd_op.leaky_relu", "negative_slope", pdm_ir_attr_f64(c, (double)INFINITY));
    fine->lg_block = fine->lg_op = 0;

    ck_assert_int_eq(pdm_ir_module_set_version(f.module, 1, &f.sink), PDM_UNSUPPORTED);
    ck_assert_uint_eq(f.sink.num_errors, 5);
    ck_assert_uint_eq(f.sink.num_unsupported, 5);
    ck_assert_ptr_nonnull(strstr(f.said, "pd_op.kthvalue|k|"));
    ck_assert_ptr_nonnull(strstr(f.said, "pd_op.rms_norm||"));
    ck_assert_ptr_nonnull(strstr(f.said, "pd_op.repeat_interleave|output_size|"));
    ck_assert_ptr_nonnull(strstr(f.said, "pd_op.leaky_relu|negative_slope|"));
    ck_assert_ptr_nonnull(strstr(f.said, "pd_op.softplus|beta|"));
    ck_assert_int_eq(f.module->version, 4);
    ck_assert_int_eq(pdm_ir_op_attr(kth, "k")->kind, PDM_IR_ATTR_I64);
    f.said[0] = '\0';
    ck_assert_int_eq(pdm_ir_module_set_version(f.module, 4, &f.sink),
                     PDM_UNSUPPORTED); /* softplus.beta */
    ck_assert_uint_eq(f.sink.num_errors, 6);
    fx_deinit(&f);
}
END_TEST

/* ---- out of memory --------------------------------------------------------------------------- */

/* Build, clone, retag; every step may fail and must leave nothing behind. */
static pdm_status work(void)
{
    pdm_ir_context *c = NULL;
    pdm_ir_module *m = NULL, *copy = NULL;
    pdm_status status = PDM_NOMEM;

    PDM_TRY(pdm_ir_context_create(&c));
    PDM_TRY_GOTO(pdm_ir_module_create(c, &m));
    status = PDM_NOMEM;
    for (int i = 0; i < 20; i++) {
        const int64_t dims[] = {i, 2};
        const size_t level[] = {2, 0, 1}, *const lod[] = {level};
        const pdm_ir_op_info *info =
            pdm_ir_op_info_get(c, i % 2 ? "pd_op.leaky_relu" : "legacy.x", NULL);
        pdm_ir_type type =
            pdm_ir_type_intern(c, &(struct pdm_ir_type_s){.kind = PDM_IR_DENSE_TENSOR,
                                                          .dtype = PDM_F32,
                                                          .rank = 2,
                                                          .dims = dims,
                                                          .num_lod = 1,
                                                          .lod = lod,
                                                          .layout = "NHWC"});
        pdm_ir_attr attr = pdm_ir_attr_f64(c, i);
        if (!info || !type || !attr || pdm_ir_context_attach(c, "cf.yield", i, c) != PDM_OK)
            goto done;
        pdm_ir_named_attr attrs[20];
        for (int k = 0; k < 20; k++)
            attrs[k] = (pdm_ir_named_attr){
                (const char *[]){"negative_slope", "b", "c", "d", "e"}[k % 5], attr, 0};
        pdm_ir_region *region = pdm_ir_region_create_with_block();
        if (!region)
            goto done;
        if (!pdm_ir_block_add_arg(region->first, type)) {
            pdm_ir_region_destroy(region);
            goto done;
        }
        pdm_ir_op *op = pdm_ir_op_create(c, &(pdm_ir_op_state){.info = info,
                                                               .result_types = &type,
                                                               .num_results = 1,
                                                               .attrs = attrs,
                                                               .num_attrs = 20,
                                                               .regions = &region,
                                                               .num_regions = 1});
        if (!op) {
            pdm_ir_region_destroy(region);
            goto done;
        }
        pdm_ir_block_append(i > 10 ? region->first : m->block, op);
        if (i > 10) { /* not in itself: inside of the one before */
            pdm_ir_op_detach(op);
            pdm_ir_block_append(pdm_ir_op_region(m->block->last, 0)->first, op);
        }
        if (!pdm_ir_op_set_attr(c, op, "new", attr) || !pdm_ir_attr_i64s(c, (int64_t[32]){i}, 32))
            goto done;
    }
    PDM_TRY_GOTO(pdm_ir_module_clone(m, &copy));
    PDM_TRY_GOTO(pdm_ir_module_set_version(copy, 1, NULL));
done:
    pdm_ir_module_destroy(copy);
    pdm_ir_module_destroy(m);
    pdm_ir_context_destroy(c);
    return status;
}

START_TEST(out_of_memory)
{
    uint64_t n = 0;
    pdm_status status;

    do {
        const int64_t live = alloc_live; /* Check allocates too: no assertion in between */
        alloc_fail = alloc_count + ++n;
        status = work();
        const bool reached = alloc_count >= alloc_fail;
        const int64_t left = alloc_live - live;
        alloc_fail = 0;
        ck_assert_int_eq(left, 0);
        /* sorting many attributes falls back to another way when it gets no memory */
        ck_assert_msg(!reached || status == PDM_NOMEM || status == PDM_OK, "allocation %llu",
                      (unsigned long long)n);
        if (!reached)
            break;
    } while (n < 100000);
    ck_assert_int_eq(status, PDM_OK);
    ck_assert_uint_gt(n, 100);
}
END_TEST

Suite *pdm_suite_module(void)
{
    Suite *suite = suite_create("module");
    TCase *tcase = tcase_create("module");

    tcase_add_test(tcase, walk);
    tcase_add_test(tcase, visit);
    tcase_add_test(tcase, clone_module);
    tcase_add_test(tcase, clone_op);
    tcase_add_test(tcase, deep_nesting);
    tcase_add_test(tcase, linear_time);
    tcase_add_test(tcase, versions);
    tcase_add_test(tcase, versions_refused);
    tcase_add_test(tcase, out_of_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}
