/* Ops that calculate: element by element, reductions, normalizations, products, quantization. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"

/* ---- pointwise ------------------------------------------------------------------------------- */

/* Some of an op's numbers are others than by default. */
static void draw_numbers(gen *g, const char *name, pdm_ir_make_attr *attrs, size_t most)
{
    static const double numbers[] = {0.5, 1, 2, 0.1, 3.7, 20};
    const pdm_ir_op_info *info = pdm_ir_op_info_get(g->c, name, NULL);
    size_t n = 0;

    for (uint16_t i = 0; info && i < info->desc->num_attrs && n < most; i++) {
        const pdm_ir_attr old = info->desc->attrs[i].default_json ? pdm_ir_op_info_default(info, i) : NULL;
        if (!old || (old->kind != PDM_IR_ATTR_F32 && old->kind != PDM_IR_ATTR_F64) || chance(g, 60))
            continue;
        const double f = ONE_OF(g, numbers);
        attrs[n++] = (pdm_ir_make_attr){info->attr_names[i], old->kind == PDM_IR_ATTR_F32 ? pdm_ir_attr_f32(g->c, (float)f)
                                                                                         : pdm_ir_attr_f64(g->c, f)};
    }
    attrs[n] = (pdm_ir_make_attr){NULL, NULL};
}

void unary(gen *g)
{
    static const char *const ops[] = {
        "relu", "tanh", "sigmoid", "abs", "sin", "cos", "square", "floor", "ceil", "round", "trunc", "sign", "sqrt", "rsqrt",
        "reciprocal", "erf", "relu6", "leaky_relu", "elu", "selu", "celu", "hardsigmoid", "hardswish", "hardtanh", "hardshrink",
        "softshrink", "softsign", "tanh_shrink", "thresholded_relu", "silu", "swish", "softplus", "mish", "stanh", "gelu",
        "atan", "asin", "acos", "sinh", "cosh", "tan", "asinh", "acosh", "atanh", "exp", "expm1", "log", "log2", "log10", "log1p",
        "assign", "tanh", "relu", "sigmoid", "abs", "logsigmoid", "log_softmax"};
    char name[64];
    pdm_ir_make_attr attrs[8];
    item x, y;

    if (!any(g, FLOATS, &x))
        return;
    snprintf(name, sizeof name, "pd_op.%s", ONE_OF(g, ops));
    draw_numbers(g, name, attrs, 6);
    if (strstr(name, "mish")) /* has no default */
        memcpy(attrs, ATTRS({"lambda", F32(20)}), 2 * sizeof *attrs);
    if (strstr(name, "log_softmax") && rank_of(&x) == 0)
        return;
    if (!put1(g, name, &x, attrs, &y))
        return;
    keep(g, &y);
    /* Numbers stay such that they can be compared. */
    if ((strstr(name, "exp") || strstr(name, "sinh") || strstr(name, "cosh") || strstr(name, ".tan") || strstr(name, "square") ||
         strstr(name, "reciprocal")) && chance(g, 50))
        keep1(g, chance(g, 50) ? "pd_op.tanh" : "pd_op.relu6", &y, NO_ATTRS);
}

void integers(gen *g)
{
    static const char *const ones[] = {"bitwise_not", "square", "relu", "assign", "abs", "sign"},
                            *const twos[] = {"bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "remainder"};
    char name[64];
    item x, y;

    if (chance(g, 50)) {
        snprintf(name, sizeof name, "pd_op.%s", ONE_OF(g, ones));
        const bool few = !strstr(name, "bitwise") && !strstr(name, "assign");
        if (any(g, few ? WIDE : INTS | LOGICAL, &x))
            keep1(g, name, &x, NO_ATTRS);
        return;
    }
    snprintf(name, sizeof name, "pd_op.%s", ONE_OF(g, twos));
    const bool division = strstr(name, "divide") || strstr(name, "remainder");
    if (!any(g, division ? WIDE : INTS | LOGICAL, &x))
        return;
    if (division ? number(g, dtype_of(&x), pick(g, 1, 5), &y) : beside(g, &x, dtype_of(&x), &y))
        keep2(g, name, &x, &y, NO_ATTRS);
}

void binary(gen *g)
{
    static const char *const ops[] = {"add", "subtract", "multiply", "divide", "maximum", "minimum", "add", "multiply",
                                      "elementwise_pow", "atan2", "fmax", "fmin", "add", "subtract"};
    char name[64];
    item x, y, z;
    const char *op = ONE_OF(g, ops);

    const bool floats = !strcmp(op, "divide") || !strcmp(op, "atan2") || !strcmp(op, "elementwise_pow");
    if (!any(g, floats ? FLOATS : FLOATS | INTS, &x) || !beside(g, &x, dtype_of(&x), &y))
        return;
    if (chance(g, 30)) {
        z = x;
        x = y;
        y = z;
    }
    snprintf(name, sizeof name, "pd_op.%s", op);
    if (put2(g, name, &x, &y, NO_ATTRS, &z)) {
        keep(g, &z);
        if (floats && chance(g, 50))
            keep1(g, "pd_op.tanh", &z, NO_ATTRS);
    }
}

void compare(gen *g)
{
    static const char *const ops[] = {"equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"},
                            *const logical[] = {"logical_and", "logical_or", "logical_xor", "logical_not"};
    char name[64];
    const bool truth = chance(g, 35);
    item x, y;

    snprintf(name, sizeof name, "pd_op.%s", truth ? ONE_OF(g, logical) : ONE_OF(g, ops));
    if (!any(g, truth && chance(g, 70) ? LOGICAL : truth ? REALS | WIDE | LOGICAL : ALL, &x))
        return;
    if (strstr(name, "_not"))
        keep1(g, "pd_op.logical_not", &x, NO_ATTRS);
    else if (beside(g, &x, dtype_of(&x), &y))
        keep2(g, name, &x, &y, NO_ATTRS);
}

void tests(gen *g)
{
    static const char *const ops[] = {"pd_op.isnan", "pd_op.isfinite", "pd_op.isinf"};
    item x;

    if (any(g, REALS, &x))
        keep1(g, ONE_OF(g, ops), &x, NO_ATTRS);
}

void where(gen *g)
{
    item c, x, y, z;

    /* The condition has the sizes of both: what old programs require. */
    if (!any(g, LOGICAL, &c) || !beside(g, &c, draw_dtype(g, REALS | WIDE | LOGICAL), &x) || !beside(g, &x, dtype_of(&x), &y) ||
        !fit_together(g, &c, &y))
        return;
    if (put(g, "pd_op.where", (const item *const[]){&c, &x, &y}, 3, NO_ATTRS, &z, 1))
        keep(g, &z);
}

void cast(gen *g)
{
    item x, y;

    if (!any(g, ALL, &x) || !put1(g, "pd_op.cast", &x, ATTRS({"dtype", DTYPE(draw_dtype(g, ALL))}), &y))
        return;
    keep(g, &y);
    if (chance(g, 50)) /* and back, which passes look for */
        keep1(g, "pd_op.cast", &y, ATTRS({"dtype", DTYPE(chance(g, 60) ? dtype_of(&x) : draw_dtype(g, ALL))}));
}

void scale(gen *g)
{
    static const double factors[] = {1, 2, 0.5, 0.7, -1, 3}, biases[] = {0, 0, 1, -2};
    item x, factor, y;

    if (!any(g, FLOATS | WIDE, &x))
        return;
    for (int n = pick(g, 1, 2); n > 0; n--) {
        if (!number(g, PDM_F32, ONE_OF(g, factors), &factor) ||
            !put2(g, "pd_op.scale", &x, &factor,
                  ATTRS({"bias", scalar(g, PDM_F64, ONE_OF(g, biases))}, {"bias_after_scale", BOOL(chance(g, 70))}), &y))
            return;
        keep(g, &y);
        x = y;
    }
}

void clip(gen *g)
{
    item x, low, high, y;

    if (any(g, FLOATS | WIDE, &x) && number(g, dtype_of(&x), pick(g, -3, 0), &low) && number(g, dtype_of(&x), pick(g, 0, 4), &high) &&
        put(g, "pd_op.clip", (const item *const[]){&x, &low, &high}, 3, NO_ATTRS, &y, 1))
        keep(g, &y);
}

void power(gen *g)
{
    static const double exponents[] = {2, 3, 0.5, -1, 0, 1, -0.5};
    item x;

    if (any(g, FLOATS, &x))
        keep1(g, "pd_op.pow", &x, ATTRS({"y", scalar(g, PDM_F32, ONE_OF(g, exponents))}));
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Some axes, in any order, some from behind. */
size_t draw_axes(gen *g, int rank, int64_t *axes)
{
    size_t n = 0;

    for (int d = 0; d < rank; d++) {
        if (chance(g, 45))
            axes[n++] = chance(g, 30) ? d - rank : d;
    }
    if (n > 1 && chance(g, 30)) {
        const int64_t first = axes[0];
        axes[0] = axes[n - 1];
        axes[n - 1] = first;
    }
    if (n == 0 && rank > 0 && chance(g, 70))
        axes[n++] = pick(g, -rank, rank - 1);
    return n; /* none: all */
}

void reduce(gen *g)
{
    static const char *const ops[] = {"sum", "mean", "max", "min", "prod", "sum", "mean", "max"};
    int64_t axes[MAX_RANK];
    char name[64];
    item x, axis, y;
    const char *op = ONE_OF(g, ops);

    if (!any(g, FLOATS | (strcmp(op, "mean") ? WIDE : 0), &x))
        return;
    const size_t n = draw_axes(g, rank_of(&x), axes);
    /* Nothing has no largest one. */
    for (int d = 0; (op[1] == 'a' || op[1] == 'i') && d < rank_of(&x); d++) {
        if (least_size(g, &x, d) == 0)
            return;
    }
    snprintf(name, sizeof name, "pd_op.%s", op);
    if (!ints(g, axes, n, &axis))
        return;
    const bool keepdim = chance(g, 50);
    const bool done = !strcmp(op, "prod")
                          ? put2(g, name, &x, &axis, ATTRS({"keepdim", BOOL(keepdim)}, {"reduce_all", BOOL(n == 0)}), &y)
                          : put2(g, name, &x, &axis, ATTRS({"keepdim", BOOL(keepdim)}), &y);
    if (!done)
        return;
    keep(g, &y);
    if (keepdim && dtype_of(&x) == dtype_of(&y) && chance(g, 50)) /* as normalizations do */
        keep2(g, chance(g, 50) ? "pd_op.subtract" : "pd_op.add", &x, &y, NO_ATTRS);
}

void reduce_bool(gen *g)
{
    int64_t axes[MAX_RANK];
    item x;

    if (!any(g, LOGICAL, &x))
        return;
    const size_t n = draw_axes(g, rank_of(&x), axes);
    keep1(g, chance(g, 50) ? "pd_op.any" : "pd_op.all", &x,
          ATTRS({"axis", pdm_ir_attr_i64s(g->c, axes, n)}, {"keepdim", BOOL(chance(g, 50))}));
}

void arg(gen *g)
{
    item x, axis, y;

    if (!any_of(g, REALS | WIDE, 1, MAX_RANK, &x))
        return;
    const int d = pick(g, 0, rank_of(&x) - 1);
    if (least_size(g, &x, d) < 1 || !number(g, PDM_I64, chance(g, 30) ? d - rank_of(&x) : d, &axis))
        return;
    if (put2(g, chance(g, 50) ? "pd_op.argmax" : "pd_op.argmin", &x, &axis,
             ATTRS({"keepdims", BOOL(chance(g, 50))}, {"dtype", DTYPE(chance(g, 70) ? PDM_I64 : PDM_I32)}), &y))
        keep(g, &y);
}

void cumsum(gen *g)
{
    item x, axis;

    if (any_of(g, REALS | WIDE, 1, MAX_RANK, &x) && number(g, PDM_I64, pick(g, -rank_of(&x), rank_of(&x) - 1), &axis))
        keep2(g, "pd_op.cumsum", &x, &axis, ATTRS({"exclusive", BOOL(chance(g, 30))}, {"reverse", BOOL(chance(g, 30))}));
}

/* ---- normalizations -------------------------------------------------------------------------- */

void softmax(gen *g)
{
    item x;

    if (any_of(g, FLOATS, 1, MAX_RANK, &x))
        keep1(g, chance(g, 80) ? "pd_op.softmax" : "pd_op.log_softmax", &x, ATTRS({"axis", I32(pick(g, -rank_of(&x), rank_of(&x) - 1))}));
}

/* Scale or bias of so many numbers; sometimes none. */
bool affine(gen *g, pdm_dtype dtype, int64_t count, item *out)
{
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, dtype, &count, 1);

    return type && (chance(g, 50) ? parameter(g, type, out)
                                  : input(g, type, (pdm_ir_type[]){type, type, type, type, type}, 0, out));
}

bool known(const gen *g, const item *x, int from, int64_t *count)
{
    *count = 1;
    for (int d = from; d < rank_of(x); d++) {
        if (dim_of(x, d) <= 0 || !is_size(g, x, d, dim_of(x, d)))
            return false;
        *count *= dim_of(x, d);
    }
    return true;
}

void layer_norm(gen *g)
{
    item x, s, b, y;
    int64_t count;

    if (!any_of(g, FLOATS, 2, 4, &x))
        return;
    const int axis = pick(g, 1, rank_of(&x) - 1);
    const bool whole = known(g, &x, axis, &count), scaled = whole && chance(g, 70), shifted = whole && chance(g, 70);
    if ((scaled && !affine(g, dtype_of(&x), count, &s)) || (shifted && !affine(g, dtype_of(&x), count, &b)))
        return;
    if (put(g, "pd_op.layer_norm", (const item *const[]){&x, scaled ? &s : NULL, shifted ? &b : NULL}, 3,
            ATTRS({"begin_norm_axis", I32(axis)}, {"epsilon", F32(chance(g, 50) ? 1e-5 : 1e-3)}), &y, 1))
        keep(g, &y);
}

/* fixed: by parameters alone. */
static void batch_norm_of(gen *g, item x, bool fixed)
{
    item mean, spread, positive, s, b, y;
    const int64_t count = dim_of(&x, 1);
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, dtype_of(&x), &count, 1);
    item *const of[] = {&mean, &spread, &s, &b};

    for (int i = 0; i < 4; i++) {
        if (!type || !(fixed ? parameter(g, type, of[i]) : affine(g, dtype_of(&x), count, of[i])))
            return;
    }
    if (!put1(g, "pd_op.square", &spread, NO_ATTRS, &positive))
        return;
    const item *const in[] = {&x, &mean, &positive, &s, &b};
    pdm_ir_value *values[5];
    pdm_ir_op *op = NULL;
    for (int set = 0; set <= g->p->num_sets; set++) {
        for (int i = 0; i < 5; i++)
            values[i] = set < g->p->num_sets ? in[i]->shadow[set] : in[i]->value;
        op = make(g, set < g->p->num_sets ? g->shadow : g->at, "pd_op.batch_norm", values, 5,
                  ATTRS({"is_test", BOOL(true)}, {"momentum", F32(0.9)}, {"epsilon", F32(1e-5)}, {"data_format", STR("NCHW")},
                        {"use_global_stats", BOOL(false)}, {"trainable_statistics", BOOL(false)}),
                  NULL, 0);
        if (!op)
            return;
        if (set < g->p->num_sets)
            y.shadow[set] = pdm_ir_op_result(op, 0);
    }
    y.value = pdm_ir_op_result(op, 0);
    g->ops++;
    keep(g, &y);
}

void batch_norm(gen *g)
{
    item x;

    if (any_of(g, REALS, 2, 4, &x) && dim_of(&x, 1) > 0)
        batch_norm_of(g, x, chance(g, 20));
}

void group_norm(gen *g)
{
    item x, s, b, y;

    if (!any_of(g, REALS, 3, 4, &x) || dim_of(&x, 1) <= 0)
        return;
    const int64_t channels = dim_of(&x, 1);
    const bool instance = chance(g, 40);
    for (int d = 0; d < rank_of(&x); d++) {
        if (least_size(g, &x, d) == 0)
            return;
    }
    if (!affine(g, dtype_of(&x), channels, &s) || !affine(g, dtype_of(&x), channels, &b))
        return;
    const bool done =
        instance ? put(g, "pd_op.instance_norm", (const item *const[]){&x, &s, &b}, 3, NO_ATTRS, &y, 1)
                 : put(g, "pd_op.group_norm", (const item *const[]){&x, &s, &b}, 3,
                       ATTRS({"groups", I32(channels % 2 == 0 && chance(g, 60) ? 2 : chance(g, 50) ? channels : 1)}), &y, 1);
    if (done)
        keep(g, &y);
}

void rms_norm(gen *g)
{
    item x, s, y;
    int64_t count;

    if (!any_of(g, REALS, 2, 4, &x) || !known(g, &x, rank_of(&x) - 1, &count))
        return;
    const bool scaled = chance(g, 70);
    if ((!scaled || affine(g, dtype_of(&x), count, &s)) &&
        put2(g, "pd_op.rms_norm", &x, scaled ? &s : NULL,
             ATTRS({"normalized_shape", pdm_ir_attr_i64s(g->c, &count, 1)}, {"epsilon", pdm_ir_attr_f64(g->c, 1e-5)}), &y))
        keep(g, &y);
}

/* ---- products -------------------------------------------------------------------------------- */

/* The last two axes change places, by an op of its own. */
bool swapped(gen *g, const item *x, item *out)
{
    int32_t perm[MAX_RANK + 1];
    const int r = rank_of(x);

    for (int d = 0; d < r; d++)
        perm[d] = d < r - 2 ? d : 2 * r - 3 - d;
    return put1(g, "pd_op.transpose", x, ATTRS({"perm", pdm_ir_attr_i32s(g->c, perm, (size_t)r)}), out);
}

/* Constants that are added to a value or multiplied with it: one for all, or one for each index of a dim. */
static bool constants(gen *g, item *x, int dim)
{
    static const char *const ops[] = {"pd_op.add", "pd_op.subtract", "pd_op.multiply", "pd_op.divide"};
    static const double numbers[] = {0.5, 1.5, -0.7, 2, 0.25};

    for (int n = pick(g, 1, 4); n > 0; n--) {
        int64_t dims[MAX_RANK + 1] = {1};
        size_t rank = 1;
        item c, y;
        if (dim_of(x, dim) > 0 && is_size(g, x, dim, dim_of(x, dim)) && chance(g, 60)) {
            const int from = chance(g, 30) ? 0 : dim; /* with the ones before it */
            for (int d = from; d < rank_of(x); d++)
                dims[d - from] = d == dim ? dim_of(x, dim) : 1;
            rank = (size_t)(rank_of(x) - from);
        }
        const pdm_ir_type type = pdm_ir_type_tensor(g->c, dtype_of(x), dims, rank);
        const bool first = chance(g, 15), made = chance(g, 40);
        if (!type || !(made ? parameter(g, type, &c) : full(g, dtype_of(x), dims, rank, ONE_OF(g, numbers), &c)) ||
            !put2(g, ONE_OF(g, ops), first ? &c : x, first ? x : &c, NO_ATTRS, &y))
            return false;
        if (chance(g, 15)) /* what is between is needed, too */
            keep(g, x);
        *x = y;
    }
    return true;
}

void chain(gen *g)
{
    item x;

    if (any_of(g, REALS, 1, MAX_RANK, &x) && constants(g, &x, chance(g, 70) ? rank_of(&x) - 1 : pick(g, 0, rank_of(&x) - 1)))
        keep(g, &x);
}

/* Products with parameters in a row, the weights perhaps reshaped, with constants before and behind them, and relu. */
void weights(gen *g)
{
    item x, p, w, s, y;
    int64_t k;

    if (!any_of(g, REALS, 2, 4, &x))
        return;
    for (int n = pick(g, 1, 3); n > 0; n--) {
        const int64_t columns = pick(g, 1, 6);
        const bool turned = chance(g, 40), is_flat = chance(g, 50);
        if (!known(g, &x, rank_of(&x) - 1, &k))
            return;
        const int64_t dims[] = {turned ? columns : k, turned ? k : columns}, all = k * columns;
        const pdm_ir_type type = pdm_ir_type_tensor(g->c, dtype_of(&x), is_flat ? &all : dims, is_flat ? 1 : 2);
        if ((chance(g, 40) && !constants(g, &x, rank_of(&x) - 1)) || !type || !parameter(g, type, &p))
            return;
        w = p;
        if (is_flat && (!ints(g, dims, 2, &s) || !put2(g, "pd_op.reshape", &p, &s, NO_ATTRS, &w)))
            return;
        if (!put2(g, "pd_op.matmul", &x, &w, ATTRS({"transpose_y", BOOL(turned)}), &y))
            return;
        x = y;
        if (chance(g, 60) && !constants(g, &x, rank_of(&x) - 1))
            return;
        if (chance(g, 50)) {
            if (!put1(g, chance(g, 50) ? "pd_op.relu" : "pd_op.tanh", &x, NO_ATTRS, &y))
                return;
            x = y;
        }
    }
    keep1(g, "pd_op.tanh", &x, NO_ATTRS); /* numbers stay small */
}

/* A list of sizes of which one, that is not known, is told by the others; false: more are not known, or the rest may be nothing. */
static bool told_sizes(gen *g, const item *like, int last, int64_t columns, item *out)
{
    int64_t list[MAX_RANK + 1];
    bool unknown = false;

    for (int d = 0; d < last; d++) {
        list[d] = dim_of(like, d);
        if (list[d] < 0 && (unknown || columns == 0))
            return false;
        unknown |= list[d] < 0;
    }
    for (int d = 0; unknown && d < last; d++) {
        if (least_size(g, like, d) == 0)
            return false;
    }
    list[last] = columns;
    return ints(g, list, (size_t)last + 1, out);
}

/* Rows are flattened for a product with a matrix, and are what they were again behind it. */
void flat_rows(gen *g)
{
    item x, flat, w, y, s;
    int64_t k;

    if (!any_of(g, REALS, 3, 4, &x) || !known(g, &x, rank_of(&x) - 1, &k))
        return;
    const int r = rank_of(&x);
    const int64_t columns = pick(g, 1, 6), list[] = {-1, k}, dims[] = {k, columns};
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, dtype_of(&x), dims, 2);
    for (int d = 0; d < r; d++) {
        if (least_size(g, &x, d) == 0)
            return;
    }
    if (!ints(g, list, 2, &s) || !put2(g, "pd_op.reshape", &x, &s, NO_ATTRS, &flat) || !type || !parameter(g, type, &w) ||
        !put2(g, "pd_op.matmul", &flat, &w, NO_ATTRS, &y) || !told_sizes(g, &x, r - 1, columns, &s) ||
        !put2(g, "pd_op.reshape", &y, &s, NO_ATTRS, &x))
        return;
    keep1(g, "pd_op.tanh", &x, NO_ATTRS);
}

/* x [..., m, k] times y turned, both of the same matrices or a matrix of its own. */
void matmul(gen *g)
{
    item x, y, z;
    int64_t count;

    if (!any_of(g, REALS, 2, 4, &x))
        return;
    const int r = rank_of(&x);
    if (known(g, &x, r - 1, &count) && chance(g, 60)) {
        const int64_t dims[] = {count, pick(g, 1, 6)};
        const pdm_ir_type type = pdm_ir_type_tensor(g->c, dtype_of(&x), dims, 2);
        if (!type || !parameter(g, type, &y) || !put2(g, "pd_op.matmul", &x, &y, NO_ATTRS, &z))
            return;
    } else if (chance(g, 30)) {
        if (!swapped(g, &x, &y) || !(chance(g, 50) ? put2(g, "pd_op.matmul", &x, &y, NO_ATTRS, &z)
                                                  : put2(g, "pd_op.matmul", &y, &x, NO_ATTRS, &z)))
            return;
    } else if (!put2(g, "pd_op.matmul", &x, &x, ATTRS({"transpose_y", BOOL(true)}), &z)) {
        return;
    }
    if (chance(g, 30))
        keep(g, &z);
    keep1(g, "pd_op.tanh", &z, NO_ATTRS);
}

void conv(gen *g)
{
    item x, w, y, size;

    enum { PLAIN, DEPTHWISE, TRANSPOSED };
    if (!any_of(g, BIT(PDM_F32), 4, 4, &x) || dim_of(&x, 1) <= 0)
        return;
    for (int d = 0; d < 4; d++) {
        if (least_size(g, &x, d) == 0)
            return;
    }
    const int kind = chance(g, 60) ? PLAIN : chance(g, 60) ? DEPTHWISE : TRANSPOSED, pad = chance(g, 60);
    const int64_t in = dim_of(&x, 1), out = kind == DEPTHWISE ? in * pick(g, 1, 2) : pick(g, 1, 4);
    const int64_t dims[] = {kind == TRANSPOSED ? in : out, kind == PLAIN ? in : kind == DEPTHWISE ? 1 : out,
                            pick(g, 1, pad ? 3 : 1), pick(g, 1, pad ? 3 : 1)};
    const int32_t pads[] = {pad && kind != TRANSPOSED, pad && kind != TRANSPOSED};
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, PDM_F32, dims, 4);
    const pdm_ir_make_attr *attrs = ATTRS({"paddings", pdm_ir_attr_i32s(g->c, pads, 2)}, {"groups", I32(kind == DEPTHWISE ? in : 1)});
    if ((chance(g, 20) && !constants(g, &x, 1)) || !type || !parameter(g, type, &w))
        return;
    if (kind == TRANSPOSED ? !ints(g, NULL, 0, &size) ||
                                 !put(g, "pd_op.conv2d_transpose", (const item *const[]){&x, &w, &size}, 3, attrs, &y, 1)
                           : !put2(g, kind == PLAIN ? "pd_op.conv2d" : "pd_op.depthwise_conv2d", &x, &w, attrs, &y))
        return;
    if (chance(g, 30)) {
        batch_norm_of(g, y, true);
        return;
    }
    keep(g, &y);
    if (chance(g, 30) && constants(g, &y, 1))
        keep(g, &y);
    if (chance(g, 40)) {
        const int64_t shape[] = {1, out, 1, 1};
        const pdm_ir_type bias = pdm_ir_type_tensor(g->c, PDM_F32, shape, 4);
        item b, z;
        if (bias && parameter(g, bias, &b) && put2(g, "pd_op.add", &y, &b, NO_ATTRS, &z))
            keep(g, &z);
    }
    if (chance(g, 50))
        batch_norm(g); /* most often of what was just made */
}

void pool(gen *g)
{
    const int64_t kernel[] = {pick(g, 1, 2), pick(g, 1, 2)}, one[] = {1, 1}, none[] = {0, 0};
    item x, k, y;

    if (!any_of(g, REALS, 4, 4, &x) || least_size(g, &x, 2) < 2 || least_size(g, &x, 3) < 2 || !ints(g, kernel, 2, &k))
        return;
    if (put2(g, "pd_op.pool2d", &x, &k,
             ATTRS({"strides", pdm_ir_attr_i64s(g->c, one, 2)}, {"paddings", pdm_ir_attr_i64s(g->c, none, 2)},
                   {"ceil_mode", BOOL(false)}, {"exclusive", BOOL(true)}, {"data_format", STR("NCHW")},
                   {"pooling_type", STR(chance(g, 50) ? "max" : "avg")}, {"global_pooling", BOOL(false)}, {"adaptive", BOOL(false)},
                   {"padding_algorithm", STR("EXPLICIT")}),
             &y))
        keep(g, &y);
}

/* ---- quantization ------------------------------------------------------------------------------- */

/* To whole numbers of a few bits, and back. */
void quantize(gen *g)
{
    item x, step, zero, y, z;

    if (!any_of(g, BIT(PDM_F32), 2, 4, &x))
        return;
    const int axis = pick(g, 0, rank_of(&x) - 1);
    const int64_t count = dim_of(&x, axis);
    const bool each = chance(g, 50) && count > 0 && is_size(g, &x, axis, count);
    const int64_t one = each ? count : 1;
    if (!full(g, PDM_F32, &one, 1, pick(g, 1, 5) / 64.0, &step) || !full(g, PDM_F32, &one, 1, 0, &zero))
        return;
    const pdm_ir_make_attr *attrs = ATTRS({"quant_axis", I32(each ? axis : -1)}, {"round_type", I32(pick(g, 0, 1))});
    if (!put(g, "pd_op.quantize_linear", (const item *const[]){&x, &step, &zero, NULL, NULL}, 5, attrs, &y, 1))
        return;
    keep(g, &y);
    if (put(g, "pd_op.dequantize_linear", (const item *const[]){&y, &step, &zero, NULL, NULL}, 5, attrs, &z, 1))
        keep(g, &z);
}
