/*
 * How many ops of a program are in groups, and which are not:
 *
 *     ops                     310
 *       of libraries           62  conv2d 57, pool2d 5
 *       others                248
 *         in groups           240  96.8 %, in 40 groups
 *         left                  8
 *           nearest_interp      4  no rule
 *
 * Constants, which are computed once, and what only tells where data come from and go to are no ops here;
 * nor are loops and branches, whose bodies count.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "cinn/group.h"
#include "cinn/lower.h"

/* Ops that no kernel is run for, that tell constants, or that have what they do in regions. */
static bool is_silent(const pdm_ir_op *op)
{
    static const char *const names[] = {"builtin.", "cf.",         "cinn_op.",     "pd_op.data",
                                        "pd_op.feed", "pd_op.fetch", "pd_op.full",
                                        "pd_op.full_int_array"};
    const char *name = pdm_ir_op_name(op);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t len = strlen(names[i]);
        if (!strncmp(name, names[i], len) && (names[i][len - 1] == '.' || name[len] == '\0'))
            return true;
    }
    return op->num_regions > 0;
}

/* What BLAS and DNN libraries have: convolutions, products, pooling, recurrent networks, attention. */
static bool is_library(const pdm_ir_op *op)
{
    static const char *const names[] = {
        "conv2d",         "conv3d",           "conv2d_transpose", "conv2d_transpose_bias",
        "conv3d_transpose", "depthwise_conv2d", "depthwise_conv2d_transpose",
        "deformable_conv", "matmul",          "matmul_with_flatten", "bmm", "mv", "dot", "addmm",
        "pool2d",         "pool3d",           "max_pool2d_with_index", "max_pool3d_with_index",
        "rnn",            "lstm",             "gru",              "cudnn_lstm", "fc",
        "fused_conv2d_add_act", "multihead_matmul", "flash_attn", "fused_attention"};
    const char *name = pdm_ir_op_name(op);

    if (!strncmp(name, "fast.", 5)) /* convolutions and products with what is fused into them, and layouts */
        return true;
    if (strncmp(name, "pd_op.", 6) != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(name + 6, names[i]))
            return true;
    }
    return false;
}

/* Ops of one name that are left for one reason. */
typedef struct row {
    const char *name, *reason;
    size_t count;
} row;

typedef PDM_VEC(row) rows;

typedef struct counter {
    pdm_cinn_group_stats stats;
    pdm_map constants;
    rows library, left;
    bool listing;
} counter;

static pdm_status add(rows *list, const char *name, const char *reason)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!strcmp(list->v[i].name, name) && list->v[i].reason == reason) {
            list->v[i].count++;
            return PDM_OK;
        }
    }
    const row r = {name, reason, 1};
    return PDM_VEC_PUSH(list, r) ? PDM_OK : PDM_NOMEM;
}

static const char *short_name(const pdm_ir_op *op)
{
    const char *name = pdm_ir_op_name(op);

    return strncmp(name, "pd_op.", 6) ? name : name + 6;
}

static pdm_status count(void *user, pdm_ir_op *op)
{
    counter *c = user;
    const pdm_ir_op *parent = pdm_ir_op_parent(op);
    const bool grouped = parent && pdm_cinn_is_group(parent);

    c->stats.groups += pdm_cinn_is_group(op);
    if (pdm_cinn_is_constant(&c->constants, op))
        return pdm_map_put(&c->constants, op) ? PDM_OK : PDM_NOMEM;
    if (is_silent(op) || pdm_ir_op_attr(op, "part"))
        return PDM_OK;
    c->stats.ops++;
    c->stats.grouped += grouped;
    if (!grouped && is_library(op)) {
        c->stats.library++;
        return c->listing ? add(&c->library, short_name(op), NULL) : PDM_OK;
    }
    return grouped || !c->listing ? PDM_OK : add(&c->left, short_name(op), pdm_cinn_why_not(op));
}

static pdm_status count_all(const pdm_ir_module *module, counter *c)
{
    return pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, count, c);
}

static void forget(counter *c)
{
    pdm_map_deinit(&c->constants);
    PDM_VEC_FREE(&c->library);
    PDM_VEC_FREE(&c->left);
}

pdm_status pdm_cinn_group_count(const pdm_ir_module *module, pdm_cinn_group_stats *out_stats)
{
    counter c = {.listing = false};
    const pdm_status status = count_all(module, &c);

    if (status == PDM_OK)
        *out_stats = c.stats;
    forget(&c);
    return status;
}

static int by_count(const void *a, const void *b)
{
    const row *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

static void sort(rows *list)
{
    if (list->n > 1)
        qsort(list->v, list->n, sizeof *list->v, by_count);
}

static void print(counter *c, pdm_buf *out)
{
    const pdm_cinn_group_stats *s = &c->stats;
    const size_t others = s->ops - s->library;

    sort(&c->library);
    sort(&c->left);
    pdm_buf_printf(out, "%-34s %5zu\n", "ops", s->ops);
    pdm_buf_printf(out, "%-34s %5zu ", "  of libraries", s->library);
    for (size_t i = 0; i < c->library.n; i++)
        pdm_buf_printf(out, "%s %s %zu", i ? "," : "", c->library.v[i].name, c->library.v[i].count);
    pdm_buf_printf(out, "\n%-34s %5zu\n", "  others", others);
    pdm_buf_printf(out, "%-34s %5zu  %.1f %%, in %zu groups\n", "    in groups", s->grouped,
                   others ? 100.0 * (double)s->grouped / (double)others : 100.0, s->groups);
    pdm_buf_printf(out, "%-34s %5zu\n", "    left", others - s->grouped);
    for (size_t i = 0; i < c->left.n; i++)
        pdm_buf_printf(out, "      %-28s %5zu  %s\n", c->left.v[i].name, c->left.v[i].count,
                       c->left.v[i].reason);
}

pdm_status pdm_cinn_group_summary(const pdm_ir_module *module, pdm_buf *out)
{
    counter c = {.listing = true};
    const pdm_status status = count_all(module, &c);

    if (status == PDM_OK)
        print(&c, out);
    forget(&c);
    return status != PDM_OK ? status : pdm_buf_ok(out) ? PDM_OK : PDM_NOMEM;
}
