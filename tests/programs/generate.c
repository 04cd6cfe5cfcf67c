/*
 * Programs drawn from a seed. What is generated is right in types and shapes for all sets of inputs: beside each value
 * there is one for each set, made by the same op from operands with the sizes of that set, so that shape inference tells
 * the sizes. These shadows stand in a block of their own and go in the end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "draw.h"

/* ---- what passes look for -------------------------------------------------------------------- */

static void twins(gen *g)
{
    item x;

    if (any(g, FLOATS, &x)) {
        keep1(g, "pd_op.tanh", &x, NO_ATTRS);
        keep1(g, "pd_op.tanh", &x, NO_ATTRS);
    }
}

static bool scaled(gen *g, const item *x, double by, double bias, item *out)
{
    item factor;

    return number(g, PDM_F32, by, &factor) && put2(g, "pd_op.scale", x, &factor, ATTRS({"bias", scalar(g, PDM_F64, bias)}), out);
}

/* x times a gate: activations that are written out, or nearly so. */
static void written_out(gen *g)
{
    item x, side, gate, y, z;
    bool ok;

    if (!any(g, BIT(PDM_F32), &x))
        return;
    side = x;
    switch (pick(g, 0, 4)) {
    case 0:
        ok = put1(g, "pd_op.sigmoid", &x, NO_ATTRS, &gate);
        break;
    case 1: {
        const bool half = chance(g, 50);
        ok = scaled(g, &x, 0.70710678, 0, &y) && put1(g, "pd_op.erf", &y, NO_ATTRS, &z) && (!half || scaled(g, &x, 0.5, 0, &side)) &&
             scaled(g, &z, half ? 1 : 0.5, half ? 1 : 0.5, &gate);
        break;
    }
    case 2:
        ok = scaled(g, &x, 1, 3, &y) && put1(g, "pd_op.relu6", &y, NO_ATTRS, &z) &&
             scaled(g, &z, chance(g, 70) ? 0.16666667 : 0.2, 0, &gate);
        break;
    case 3:
        ok = put1(g, "pd_op.hardsigmoid", &x, ATTRS({"slope", F32(chance(g, 70) ? 0.16666667 : 0.2)}, {"offset", F32(0.5)}), &gate);
        break;
    default:
        ok = put1(g, "pd_op.softplus", &x, NO_ATTRS, &y) && put1(g, "pd_op.tanh", &y, NO_ATTRS, &gate);
    }
    const bool first = chance(g, 50);
    if (!ok || !put2(g, "pd_op.multiply", first ? &side : &gate, first ? &gate : &side, NO_ATTRS, &y))
        return;
    keep(g, &y);
    if (chance(g, 20))
        keep(g, &gate);
}

/* Any order of axes. */
static bool turned(gen *g, const item *x, item *out)
{
    int32_t perm[MAX_RANK + 1];

    for (int d = 0; d < rank_of(x); d++) {
        const int other = pick(g, 0, d);
        perm[d] = perm[other];
        perm[other] = d;
    }
    return put1(g, "pd_op.transpose", x, ATTRS({"perm", pdm_ir_attr_i32s(g->c, perm, (size_t)rank_of(x))}), out);
}

/* Transpositions with elementwise ops between them. */
static void around(gen *g)
{
    static const char *const ops[] = {"pd_op.relu", "pd_op.tanh", "pd_op.abs", "pd_op.sigmoid"};
    item x, y;

    if (!any_of(g, FLOATS, 2, 4, &x) || !turned(g, &x, &y))
        return;
    if (chance(g, 25))
        keep(g, &y);
    for (int n = pick(g, 1, 3); n > 0; n--) {
        x = y;
        if (chance(g, 70) ? !put1(g, ONE_OF(g, ops), &x, NO_ATTRS, &y) : !scaled(g, &x, 0.5, 0.25, &y))
            return;
    }
    if (turned(g, &y, &x))
        keep(g, &x);
}

/* Cut in two along an axis and joined again; some parts are left out or change places. */
static void parts(gen *g)
{
    const int64_t one = 1;
    item x, from[2], to[2], part[2], all, axis, y;

    if (!any_of(g, ALL, 1, 4, &x))
        return;
    const int64_t d = pick(g, 0, rank_of(&x) - 1), size = dim_of(&x, (int)d);
    if (size < 2 || size > 1000)
        return;
    const int64_t cut = pick(g, 1, (int)size - 1), bounds[] = {0, cut, chance(g, 50) ? INT32_MAX : chance(g, 50) ? 1000 : size};
    for (int i = 0; i < 2; i++) {
        if (!ints(g, &bounds[i], 1, &from[i]) || !ints(g, &bounds[i + 1], 1, &to[i]) ||
            !put(g, "pd_op.slice", (const item *const[]){&x, &from[i], &to[i]}, 3,
                 ATTRS({"axes", pdm_ir_attr_i64s(g->c, &d, 1)}, {"infer_flags", pdm_ir_attr_i64s(g->c, &one, 1)},
                       {"decrease_axis", pdm_ir_attr_i64s(g->c, NULL, 0)}),
                 &part[i], 1))
            return;
    }
    if (chance(g, 25)) {
        y = part[0];
        part[0] = part[1];
        part[1] = y;
    }
    if (combine(g, part, 2, &all) && number(g, PDM_I32, (double)d, &axis) && put2(g, "pd_op.concat", &all, &axis, NO_ATTRS, &y))
        keep(g, &y);
}

static void dropout(gen *g)
{
    item x, p, y;

    if (any(g, REALS, &x) && number(g, PDM_F32, 0.25, &p) &&
        put(g, "pd_op.dropout", (const item *const[]){&x, NULL, &p}, 3,
            ATTRS({"is_test", BOOL(true)}, {"mode", STR(chance(g, 50) ? "upscale_in_train" : "downgrade_in_infer")}), &y, 1))
        keep(g, &y);
}

/* A value of its own that is written afterwards; who reads it later sees what was written. */
static void in_place(gen *g)
{
    static const char *const writers[] = {"relu_", "tanh_", "exp_", "floor_", "sqrt_", "sigmoid_"};
    char name[64];
    item x, y, z;

    if (!any(g, REALS, &x) || !put1(g, "pd_op.sin", &x, NO_ATTRS, &y))
        return;
    if (chance(g, 75))
        keep1(g, chance(g, 50) ? "pd_op.assign" : "pd_op.tanh", &y, NO_ATTRS);
    snprintf(name, sizeof name, "pd_op.%s", ONE_OF(g, writers));
    if (chance(g, 70) ? !put1(g, name, &y, NO_ATTRS, &z)
                      : !number(g, dtype_of(&y), 0.5, &x) || !put2(g, "pd_op.add_", &y, &x, NO_ATTRS, &z))
        return;
    keep(g, &z);
    keep1(g, chance(g, 50) ? "pd_op.assign" : "pd_op.tanh", &y, NO_ATTRS);
}

static void add_n(gen *g)
{
    item list[2], all;

    if (any(g, REALS, &list[0])) {
        list[1] = list[0];
        for (int i = 0; i < g->n; i++) {
            if (dtype_of(&g->items[i]) == dtype_of(&list[0]) && same_sizes(g, &g->items[i], &list[0]))
                list[1] = g->items[i];
        }
        if (combine(g, list, 2, &all))
            keep1(g, "pd_op.add_n", &all, NO_ATTRS);
    }
}

/* ---- control flow ---------------------------------------------------------------------------- */

static void some_ops(gen *g, int count);

/* A condition: known, an input, or whether what is left of x is above zero. */
static bool condition(gen *g, item *out)
{
    const int64_t one = 1;
    item x, axes, sum, zero;

    if (chance(g, 20))
        return number(g, PDM_BOOL, pick(g, 0, 1), out);
    if (chance(g, 40)) {
        const pdm_ir_type type = pdm_ir_type_tensor(g->c, PDM_BOOL, &one, 1);
        return type && input(g, type, (pdm_ir_type[]){type, type, type, type, type}, 0, out);
    }
    return any(g, REALS, &x) && ints(g, NULL, 0, &axes) && number(g, dtype_of(&x), 0, &zero) &&
           put2(g, "pd_op.sum", &x, &axes, NO_ATTRS, &sum) && put2(g, "pd_op.greater_than", &sum, &zero, NO_ATTRS, out);
}

/* Where the ops of a block go; it is erased when the block is done. */
static pdm_ir_op *anchor(gen *g, pdm_ir_block *block)
{
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, PDM_F32, NULL, 0);
    const pdm_ir_op_info *info = pdm_ir_op_info_get(g->c, "pd_op.full", NULL);
    pdm_ir_op *op = type && info ? pdm_ir_op_create(g->c, &(pdm_ir_op_state){.info = info, .result_types = &type, .num_results = 1})
                                 : NULL;
    if (op)
        pdm_ir_block_append(block, op);
    g->failed |= !op;
    return op;
}

/* A value of the form of `like`, from inside if there is one. */
static const item *from_inside(const gen *g, const item *like)
{
    for (int i = g->n; i-- > 0;) {
        if (g->items[i].value->type == like->value->type && same_sizes(g, &g->items[i], like))
            return &g->items[i];
    }
    return like;
}

/* Something is made of it, so that there is one. */
static void work_on(gen *g, const item *x)
{
    static const char *const ops[] = {"pd_op.tanh", "pd_op.relu", "pd_op.sin", "pd_op.sigmoid", "pd_op.abs"};
    item y;

    if (!(BIT(dtype_of(x)) & FLOATS) || !put1(g, ONE_OF(g, ops), x, NO_ATTRS, &y))
        return;
    keep(g, &y);
    for (int i = 0; i < 10; i++) {
        const item *z = &g->items[pick(g, 0, g->n - 1)];
        if (dtype_of(z) == dtype_of(x) && z->value->type == x->value->type && same_sizes(g, z, x)) {
            keep2(g, chance(g, 50) ? "pd_op.add" : "pd_op.multiply", &y, z, NO_ATTRS);
            return;
        }
    }
}

static bool yield(gen *g, pdm_ir_value *const *values, size_t count)
{
    const pdm_ir_op_info *info = pdm_ir_op_info_get(g->c, "cf.yield", NULL);
    pdm_ir_op *op = info ? pdm_ir_op_create(g->c, &(pdm_ir_op_state){.info = info, .operands = values, .num_operands = count}) : NULL;

    g->failed |= !op;
    if (op)
        pdm_ir_op_insert_before(op, g->at);
    return op != NULL;
}

enum { MAX_CARRIED = 3 };

static pdm_ir_op *put_regions(gen *g, const char *name, pdm_ir_value *const *in, size_t num_in, const pdm_ir_type *types,
                              size_t num_types, pdm_ir_region *const *regions, size_t num_regions)
{
    const pdm_ir_op_info *info = pdm_ir_op_info_get(g->c, name, NULL);
    pdm_ir_op *op = info ? pdm_ir_op_create(g->c, &(pdm_ir_op_state){.info = info,
                                                                    .operands = in,
                                                                    .num_operands = num_in,
                                                                    .result_types = types,
                                                                    .num_results = num_types,
                                                                    .regions = regions,
                                                                    .num_regions = num_regions})
                         : NULL;
    g->failed |= !op;
    if (op) {
        pdm_ir_op_insert_before(op, g->at);
        g->ops++;
    }
    return op;
}

static void branch(gen *g)
{
    const int outs = pick(g, 1, MAX_CARRIED);
    pdm_ir_region *regions[2] = {NULL, NULL};
    pdm_ir_type types[MAX_CARRIED];
    pdm_ir_op *const outer = g->at;
    item c, like[MAX_CARRIED];

    if (!condition(g, &c))
        return;
    for (int i = 0; i < outs; i++) {
        if (!any(g, FLOATS, &like[i]))
            return;
        types[i] = like[i].value->type;
    }
    const int outside = g->n;
    for (int r = 0; r < 2; r++) {
        pdm_ir_value *values[MAX_CARRIED];
        regions[r] = pdm_ir_region_create_with_block();
        g->failed |= !regions[r];
        if (g->failed || !(g->at = anchor(g, regions[r]->first)))
            break;
        some_ops(g, pick(g, 0, 4));
        for (int i = 0; i < outs; i++) {
            if (chance(g, 70))
                work_on(g, &like[i]);
            values[i] = from_inside(g, &like[i])->value;
        }
        if (!yield(g, values, (size_t)outs))
            break;
        pdm_ir_op_erase(g->at);
        g->n = outside;
    }
    g->at = outer;
    g->n = outside;
    if (g->failed)
        return;
    pdm_ir_op *op = put_regions(g, "pd_op.if", &c.value, 1, types, (size_t)outs, regions, 2);
    for (int i = 0; op && i < outs; i++) {
        item y = like[i];
        y.value = pdm_ir_op_result(op, (size_t)i);
        keep(g, &y);
    }
}

/* for (i = 0; i < n; i++) x, ... = f(x, ...) */
static void loop(gen *g)
{
    const int carried = pick(g, 1, MAX_CARRIED - 1);
    pdm_ir_op *const outer = g->at;
    pdm_ir_value *in[MAX_CARRIED + 2], *out[MAX_CARRIED + 2];
    pdm_ir_type types[MAX_CARRIED + 1];
    item zero, n, c, first[MAX_CARRIED];

    const int64_t single = 1;
    const pdm_ir_type count = pdm_ir_type_tensor(g->c, PDM_I64, &single, 1);
    if (!number(g, PDM_I64, 0, &zero) || !count ||
        !(chance(g, 60) ? number(g, PDM_I64, pick(g, 0, 3), &n)
                        : input(g, count, (pdm_ir_type[]){count, count, count, count, count}, 4, &n)) ||
        !put2(g, "pd_op.less_than", &zero, &n, NO_ATTRS, &c))
        return;
    in[0] = c.value;
    in[1] = zero.value;
    types[0] = zero.value->type;
    for (int i = 0; i < carried; i++) {
        item x;
        if (!any(g, FLOATS, &x) || !put1(g, "pd_op.tanh", &x, NO_ATTRS, &first[i]))
            return;
        in[i + 2] = first[i].value;
        types[i + 1] = first[i].value->type;
    }
    const int outside = g->n;
    pdm_ir_region *region = pdm_ir_region_create_with_block();
    g->failed |= !region;
    if (g->failed || !(g->at = anchor(g, region->first)))
        return;
    pdm_ir_value *const turn_arg = pdm_ir_block_add_arg(region->first, types[0]);
    for (int i = 0; i < carried; i++) {
        item x = first[i];
        x.value = pdm_ir_block_add_arg(region->first, types[i + 1]);
        keep(g, &x);
    }
    item turn_item = zero, one, next, more;
    turn_item.value = turn_arg;
    some_ops(g, pick(g, 1, 5));
    for (int i = 0; i < carried; i++) {
        if (chance(g, 70))
            work_on(g, &g->items[outside + i]);
        out[i + 2] = from_inside(g, &first[i])->value;
    }
    if (number(g, PDM_I64, 1, &one) && put2(g, "pd_op.add", &turn_item, &one, NO_ATTRS, &next) &&
        put2(g, "pd_op.less_than", &next, &n, NO_ATTRS, &more)) {
        out[0] = more.value;
        out[1] = next.value;
        yield(g, out, (size_t)carried + 2);
    } else {
        g->failed = true;
    }
    pdm_ir_op_erase(g->at);
    g->at = outer;
    g->n = outside;
    if (g->failed)
        return;
    pdm_ir_op *op = put_regions(g, "pd_op.while", in, (size_t)carried + 2, types, (size_t)carried + 1, &region, 1);
    for (int i = 0; op && i < carried; i++) {
        item y = first[i];
        y.value = pdm_ir_op_result(op, (size_t)i + 1);
        keep(g, &y);
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static void some_ops(gen *g, int count)
{
    static const struct kind {
        void (*put)(gen *);
        int weight;
    } kinds[] = {{unary, 22},    {binary, 22},   {compare, 8}, {where, 6},      {cast, 9},     {scale, 5},      {clip, 3},
                 {power, 2},     {integers, 6},  {tests, 2},   {reduce, 14},    {reduce_bool, 2}, {arg, 2},     {cumsum, 2},
                 {softmax, 5},   {layer_norm, 4}, {batch_norm, 3}, {group_norm, 2}, {matmul, 4}, {conv, 3},     {pool, 2},
                 {transpose, 6}, {reshape, 7},   {ranks, 6},   {slice, 7},      {join, 6},     {split, 4},      {gather, 4},
                 {widen, 5},     {others, 5},    {embedding, 1}, {turn, 4},      {one_hot, 1},  {shapes, 4},     {twins, 1},
                 {dropout, 1},   {in_place, 3},
                 {add_n, 1},     {chain, 4},     {weights, 3},   {flat_rows, 1}, {own_shape, 2}, {written_out, 2}, {around, 2}, {parts, 2},
                 {picking, 3},   {channels, 3},  {quantize, 2},  {set_part, 2},  {series, 2},     {rms_norm, 2},
                 {pad_image, 1}, {branch, 4},    {loop, 3}};
    int all = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        all += kinds[i].weight;
    g->depth++;
    while (count-- > 0 && !g->failed) {
        size_t k = 0;
        for (int left = pick(g, 0, all - 1); left >= kinds[k].weight; k++)
            left -= kinds[k].weight;
        if ((kinds[k].put == branch || kinds[k].put == loop) && (g->depth > 2 || (g->depth > 1 && chance(g, 50))))
            unary(g);
        else
            kinds[k].put(g);
    }
    g->depth--;
}

static void draw_sizes(gen *g)
{
    static const int64_t usual[] = {2, 3, 4, 5, 7}, odd[] = {1, 1, 2, 3, 6, 8, 17};

    for (int i = 0; i < SIZES; i++) {
        g->sizes[i][0] = ONE_OF(g, usual);
        for (int s = 1; s < g->p->num_sets; s++)
            g->sizes[i][s] = s == 1 && chance(g, 50) ? g->sizes[i][0] : s == 3 && chance(g, 30) ? 0 : ONE_OF(g, odd);
    }
}

/* What nobody reads, and some of what is read, too. */
static void fetch(gen *g, pdm_ir_block *block)
{
    enum { MOST = 10 };
    int col = 0;

    for (int i = g->n; i-- > 0 && col < MOST;) {
        const item *x = &g->items[i];
        const pdm_ir_op *op = pdm_ir_value_op(x->value);
        char name[16];
        if (!op || op->block != block || pdm_ir_op_is(op, "pd_op.data") || pdm_ir_op_is(op, "builtin.parameter") ||
            (pdm_ir_value_has_uses(x->value) && !chance(g, 15) && !(i == 0 && col == 0)))
            continue;
        snprintf(name, sizeof name, "f%d", col);
        make(g, g->at, "pd_op.fetch", &x->value, 1, ATTRS({"name", STR(name)}, {"col", I32(col)}), NULL, 0);
        col++;
    }
}

bool program_generate(program *p, uint64_t seed, const program_form *form)
{
    gen g = {.p = p, .random = seed * 0x9e3779b97f4a7c15u + 1, .form = form};

    *p = (program){0};
    for (int i = 0; i < 4; i++)
        (void)pick(&g, 0, 1);
    if (pdm_ir_context_create(&p->context) != PDM_OK || pdm_ir_module_create(p->context, &p->module) != PDM_OK)
        return false;
    g.c = p->context;
    g.open = chance(&g, 55);
    g.special = chance(&g, 25);
    p->num_sets = g.open ? pick(&g, 2, 4) : pick(&g, 1, 2);
    draw_sizes(&g);
    pdm_ir_block *shadows = pdm_ir_block_create();
    if (!shadows)
        return false;
    g.top = anchor(&g, p->module->block);
    g.at = anchor(&g, p->module->block);
    g.shadow = anchor(&g, shadows);
    const double u = pick(&g, 0, 1000) / 1000.0;
    g.wanted = 1 + (int)(u * u * (form->max_ops - 1));
    while (!g.failed && g.ops < g.wanted)
        some_ops(&g, 1);
    pdm_ir_block_destroy(shadows);
    if (!g.failed)
        fetch(&g, p->module->block);
    if (!g.failed) {
        pdm_ir_op_erase(g.at);
        pdm_ir_op_erase(g.top);
    }
    return !g.failed;
}
