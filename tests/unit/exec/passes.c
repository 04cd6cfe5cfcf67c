/*
 * Programs before and after -O2, or passes in any order: random ones, with parameters, constants, branches, loops, ops in place, and much
 * that passes look for. Both are run with reference kernels, and the results are the same but for rounding.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "exec/constants.h"
#include "exec/executor.h"
#include "ir/pass.h"
#include "ir/text.h"

Suite *pdm_suite_passes(void);

enum { MAX_VALUES = 256, MAX_OUTPUTS = 4, MAX_PARAMS = 8, RANK = 3 };

/* ---- random programs ------------------------------------------------------------------------- */

typedef struct value {
    int id;
    int64_t d[RANK];
} value;

typedef struct writer {
    pdm_buf text;
    uint64_t random;
    value values[MAX_VALUES]; /* float32, of three dims, that may be read */
    int num_values;
    int next; /* id */
    int depth;
    int num_params;
    value params[MAX_PARAMS];
} writer;

static int pick(writer *w, int low, int high)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return low + (int)((w->random >> 33) % (uint64_t)(high - low + 1));
}

static const char *type_of(const value *v, const char *dtype)
{
    static char texts[8][64];
    static int at;
    char *text = texts[at++ % 8];

    snprintf(text, 64, "tensor<%dx%dx%dx%s>", (int)v->d[0], (int)v->d[1], (int)v->d[2], dtype);
    return text;
}

static value any(writer *w)
{
    return w->values[pick(w, 0, w->num_values - 1)];
}

static value make(writer *w, const value *like)
{
    return (value){w->next++, {like->d[0], like->d[1], like->d[2]}};
}

static void keep(writer *w, value v)
{
    if (w->num_values < MAX_VALUES)
        w->values[w->num_values++] = v;
}

#define PUT(...) pdm_buf_printf(&w->text, __VA_ARGS__)

/* A constant of one element. */
static int full(writer *w, const char *dtype, const char *text_type, const char *number)
{
    PUT("(%%v%d) = \"pd_op.full\" () {shape:ints[1],value:f64(%s),dtype:%s,place:Place(cpu)} : () -> tensor<1x%s>\n",
        w->next, number, dtype, text_type);
    return w->next++;
}

static int ints(writer *w, const char *list, int count)
{
    PUT("(%%v%d) = \"pd_op.full_int_array\" () {value:i64[%s],dtype:int64,place:Place(cpu)} : () -> tensor<%dxi64>\n",
        w->next, list, count);
    return w->next++;
}

static value unary_op(writer *w, const char *op, const char *attrs, value x)
{
    const value y = make(w, &x);

    PUT("(%%v%d) = \"pd_op.%s\" (%%v%d) {%s} : (%s) -> %s\n", y.id, op, x.id, attrs,
        type_of(&x, "f32"), type_of(&y, "f32"));
    return y;
}

static void unary(writer *w)
{
    static const char *const ops[] = {"relu", "tanh", "abs", "sigmoid", "assign", "sin"};

    keep(w, unary_op(w, ops[pick(w, 0, 5)], "", any(w)));
}

/* The same twice. */
static void twins(writer *w)
{
    const value x = any(w);

    keep(w, unary_op(w, "tanh", "", x));
    keep(w, unary_op(w, "tanh", "", x));
}

static value binary_op(writer *w, value x, value y)
{
    static const char *const ops[] = {"add", "subtract", "multiply", "maximum"};
    const value z = make(w, &x);

    PUT("(%%v%d) = \"pd_op.%s\" (%%v%d, %%v%d) {} : (%s, %s) -> %s\n", z.id, ops[pick(w, 0, 3)],
        x.id, y.id, type_of(&x, "f32"), type_of(&y, "f32"), type_of(&z, "f32"));
    return z;
}

static void binary(writer *w)
{
    const value x = any(w), y = any(w);

    if (memcmp(x.d, y.d, sizeof x.d) == 0)
        keep(w, binary_op(w, x, y));
}

static void scale(writer *w)
{
    static const char *const factors[] = {"1.0", "2.0", "0.5", "0.7"}, *const biases[] = {"0.0", "0.0", "1.0"};
    const value x = any(w);
    const int factor = full(w, "float32", "f32", factors[pick(w, 0, 3)]);
    const value y = make(w, &x);

    PUT("(%%v%d) = \"pd_op.scale\" (%%v%d, %%v%d) {bias:f64(%s),bias_after_scale:%s} : (%s, tensor<1xf32>) -> %s\n", y.id,
        x.id, factor, biases[pick(w, 0, 2)], pick(w, 0, 3) ? "true" : "false", type_of(&x, "f32"),
        type_of(&y, "f32"));
    keep(w, y);
}

static void casts(writer *w)
{
    static const char *const dtypes[][2] = {{"float64", "f64"}, {"float16", "f16"}, {"float32", "f32"}, {"int32", "i32"}};
    const value x = any(w), y = make(w, &x), z = make(w, &x);
    const int k = pick(w, 0, 3);

    PUT("(%%v%d) = \"pd_op.cast\" (%%v%d) {dtype:%s} : (%s) -> %s\n", y.id, x.id, dtypes[k][0],
        type_of(&x, "f32"), type_of(&x, dtypes[k][1]));
    PUT("(%%v%d) = \"pd_op.cast\" (%%v%d) {dtype:float32} : (%s) -> %s\n", z.id, y.id,
        type_of(&x, dtypes[k][1]), type_of(&x, "f32"));
    keep(w, z);
}

static value transpose_op(writer *w, value x, const int *perm)
{
    value y = make(w, &x);

    for (int i = 0; i < RANK; i++)
        y.d[i] = x.d[perm[i]];
    PUT("(%%v%d) = \"pd_op.transpose\" (%%v%d) {perm:[%d,%d,%d]} : (%s) -> %s\n", y.id, x.id, perm[0],
        perm[1], perm[2], type_of(&x, "f32"), type_of(&y, "f32"));
    return y;
}

static const int perms[][RANK] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static void transposes(writer *w)
{
    value x = any(w);

    for (int n = pick(w, 1, 3); n > 0; n--)
        keep(w, x = transpose_op(w, x, perms[pick(w, 0, 5)]));
}

static void reshapes(writer *w)
{
    static const char *const shapes[] = {"%d,%d,%d", "-1,%d,%d", "0,%d,%d"};
    value x = any(w);

    for (int n = pick(w, 1, 3); n > 0; n--) {
        char list[64];
        value y = make(w, &x);
        /* Two dims change places; the first one may be given by another way. */
        y.d[1] = x.d[2];
        y.d[2] = x.d[1];
        const char *shape = shapes[pick(w, 0, 2)];
        if (shape[0] == '%')
            snprintf(list, sizeof list, "%d,%d,%d", (int)y.d[0], (int)y.d[1], (int)y.d[2]);
        else
            snprintf(list, sizeof list, "%s,%d,%d", shape[0] == '-' ? "-1" : "0", (int)y.d[1], (int)y.d[2]);
        const int s = ints(w, list, 3);
        PUT("(%%v%d) = \"pd_op.reshape\" (%%v%d, %%v%d) {} : (%s, tensor<3xi64>) -> %s\n", y.id, x.id, s,
            type_of(&x, "f32"), type_of(&y, "f32"));
        keep(w, x = y);
    }
}

/* x [b, m, k] times y [b, n, k] turned, or what fits. */
static void matmul(writer *w)
{
    const value x = any(w);
    value y = any(w), z = make(w, &x);
    static const int swap[] = {0, 2, 1};

    if (y.d[0] != x.d[0] || y.d[2] != x.d[2])
        y = x;
    const value turned = transpose_op(w, y, swap);
    z.d[2] = y.d[1];
    PUT("(%%v%d) = \"pd_op.matmul\" (%%v%d, %%v%d) {transpose_x:false,transpose_y:false} : (%s, %s) -> %s\n", z.id, x.id,
        turned.id, type_of(&x, "f32"), type_of(&turned, "f32"), type_of(&z, "f32"));
    keep(w, unary_op(w, "tanh", "", z)); /* numbers stay small */
}

/* Constants, one for all or one for each index of the last dim, once or more often. */
static value constants(writer *w, value x)
{
    static const char *const ops[] = {"add", "subtract", "multiply", "divide"}, *const numbers[] = {"0.5", "1.5", "-0.7"};

    for (int n = pick(w, 1, 4); n > 0; n--) {
        const int c = w->next++, count = pick(w, 0, 1) ? 1 : (int)x.d[2];
        const value y = make(w, &x);
        PUT("(%%v%d) = \"pd_op.full\" () {shape:ints[%d],value:f64(%s),dtype:float32,place:Place(cpu)} : () -> tensor<%dxf32>\n",
            c, count, numbers[pick(w, 0, 2)], count);
        PUT("(%%v%d) = \"pd_op.%s\" (%%v%d, %%v%d) {} : (%s, tensor<%dxf32>) -> %s\n", y.id, ops[pick(w, 0, 3)], x.id, c,
            type_of(&x, "f32"), count, type_of(&y, "f32"));
        x = y;
    }
    return x;
}

static void chain(writer *w)
{
    keep(w, constants(w, any(w)));
}

/* A product with a parameter, perhaps with constants before and behind it, and relu. */
static void weights(writer *w)
{
    value x = any(w), y = make(w, &x);
    const bool turned = pick(w, 0, 1);
    char list[32];

    if (w->num_params == 0 || 24 % x.d[2] != 0 || x.d[2] > 24)
        return;
    const int p = w->params[pick(w, 0, w->num_params - 1)].id, rows = (int)x.d[2], cols = 24 / rows;
    const int first = turned ? cols : rows, second = turned ? rows : cols;
    snprintf(list, sizeof list, "%d,%d", first, second);
    const int shape = ints(w, list, 2), matrix = w->next++;
    PUT("(%%v%d) = \"pd_op.reshape\" (%%v%d, %%v%d) {} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<%dx%dxf32>\n", matrix, p,
        shape, first, second);
    if (pick(w, 0, 1))
        x = constants(w, x);
    y.id = w->next++;
    y.d[2] = cols;
    PUT("(%%v%d) = \"pd_op.matmul\" (%%v%d, %%v%d) {transpose_x:false,transpose_y:%s} : (%s, tensor<%dx%dxf32>) -> %s\n", y.id,
        x.id, matrix, turned ? "true" : "false", type_of(&x, "f32"), first, second, type_of(&y, "f32"));
    if (pick(w, 0, 2))
        y = constants(w, y);
    keep(w, unary_op(w, pick(w, 0, 1) ? "relu" : "tanh", "", y));
}

/* The last two dims change places, by the shape of the operand. */
static void own_shape(writer *w)
{
    const value x = any(w);
    value y = make(w, &x);
    const int s = w->next++, list = w->next++;
    int dims[RANK];

    PUT("(%%v%d) = \"pd_op.shape\" (%%v%d) {} : (%s) -> tensor<3xi32>\n", s, x.id, type_of(&x, "f32"));
    for (int i = 0; i < RANK; i++) {
        const char *const bounds[] = {"0", "1", "2", "3"};
        const int from = i == 0 ? 0 : RANK - i, a = ints(w, bounds[from], 1), b = ints(w, bounds[from + 1], 1);
        dims[i] = w->next++;
        PUT("(%%v%d) = \"pd_op.slice\" (%%v%d, %%v%d, %%v%d) {axes:i64[0],infer_flags:i64[1],decrease_axis:i64[0]} : "
            "(tensor<3xi32>, tensor<1xi64>, tensor<1xi64>) -> tensor<i32>\n", dims[i], s, a, b);
    }
    PUT("(%%v%d) = \"builtin.combine\" (%%v%d, %%v%d, %%v%d) {} : (tensor<i32>, tensor<i32>, tensor<i32>) -> "
        "vec[tensor<i32>,tensor<i32>,tensor<i32>]\n", list, dims[0], dims[1], dims[2]);
    y.d[1] = x.d[2];
    y.d[2] = x.d[1];
    PUT("(%%v%d) = \"pd_op.reshape\" (%%v%d, %%v%d) {} : (%s, vec[tensor<i32>,tensor<i32>,tensor<i32>]) -> %s\n", y.id, x.id,
        list, type_of(&x, "f32"), type_of(&y, "f32"));
    keep(w, y);
}

/* A value of its own that is written afterwards; who reads it later sees what was written. */
static void in_place(writer *w)
{
    static const char *const readers[] = {"assign", "tanh"};
    const value x = unary_op(w, "sin", "", any(w));

    if (pick(w, 0, 3)) /* else: what was read is somebody else's */
        keep(w, unary_op(w, readers[pick(w, 0, 1)], "", x));
    keep(w, unary_op(w, "relu_", "", x));
    keep(w, unary_op(w, readers[pick(w, 0, 1)], "", x));
}

static value scaled(writer *w, value x, const char *factor, const char *bias)
{
    const int number = full(w, "float32", "f32", factor);
    const value y = make(w, &x);

    PUT("(%%v%d) = \"pd_op.scale\" (%%v%d, %%v%d) {bias:f64(%s),bias_after_scale:true} : (%s, tensor<1xf32>) -> %s\n", y.id, x.id,
        number, bias, type_of(&x, "f32"), type_of(&y, "f32"));
    return y;
}

static value product_of(writer *w, value x, value y)
{
    const value z = make(w, &x);

    PUT("(%%v%d) = \"pd_op.multiply\" (%%v%d, %%v%d) {} : (%s, %s) -> %s\n", z.id, x.id, y.id, type_of(&x, "f32"),
        type_of(&y, "f32"), type_of(&z, "f32"));
    return z;
}

/* x times a gate, or nearly so. */
static void written_out(writer *w)
{
    const value x = any(w);
    value gate = x, side = x;

    switch (pick(w, 0, 4)) {
    case 0:
        gate = unary_op(w, "sigmoid", "", x);
        break;
    case 1:
        gate = unary_op(w, "erf", "", scaled(w, x, "0.70710678", "0.0"));
        side = pick(w, 0, 1) ? scaled(w, x, "0.5", "0.0") : x;
        gate = scaled(w, gate, side.id == x.id ? "0.5" : "1.0", side.id == x.id ? "0.5" : "1.0");
        break;
    case 2:
        gate = scaled(w, unary_op(w, "relu6", "", scaled(w, x, "1.0", "3.0")), pick(w, 0, 2) ? "0.16666667" : "0.2", "0.0");
        break;
    case 3:
        gate = unary_op(w, "hardsigmoid", pick(w, 0, 2) ? "slope:0.16666667,offset:0.5" : "slope:0.2,offset:0.5", x);
        break;
    default:
        gate = unary_op(w, "tanh", "", unary_op(w, "softplus", "beta:f64(1.0),threshold:f64(20.0)", x));
    }
    keep(w, pick(w, 0, 1) ? product_of(w, side, gate) : product_of(w, gate, side));
    if (pick(w, 0, 4) == 0)
        keep(w, gate);
}

/* Transpositions with elementwise ops between them. */
static void around(writer *w)
{
    static const char *const ops[] = {"relu", "tanh", "abs", "sigmoid"};
    value x = transpose_op(w, any(w), perms[pick(w, 0, 5)]);

    if (pick(w, 0, 3) == 0)
        keep(w, x);
    for (int n = pick(w, 1, 3); n > 0; n--)
        x = pick(w, 0, 3) ? unary_op(w, ops[pick(w, 0, 3)], "", x) : scaled(w, x, "0.5", "0.25");
    keep(w, transpose_op(w, x, perms[pick(w, 0, 5)]));
}

/* x along axis 1, cut in two and joined again; some parts are left out or change places. */
static void parts(writer *w)
{
    const value x = any(w);
    const int cut = x.d[1] > 1 ? pick(w, 1, (int)x.d[1] - 1) : 0;
    char bounds[3][16];
    value a = make(w, &x), b = make(w, &x), y = make(w, &x);

    if (cut == 0)
        return;
    snprintf(bounds[0], sizeof bounds[0], "0");
    snprintf(bounds[1], sizeof bounds[1], "%d", cut);
    snprintf(bounds[2], sizeof bounds[2], "%s", pick(w, 0, 1) ? "2147483647" : "100");
    a.d[1] = cut;
    b.d[1] = x.d[1] - cut;
    for (int i = 0; i < 2; i++) {
        const value *part = i == 0 ? &a : &b;
        const int from = ints(w, bounds[i], 1), to = ints(w, bounds[i + 1], 1);
        PUT("(%%v%d) = \"pd_op.slice\" (%%v%d, %%v%d, %%v%d) {axes:i64[1],infer_flags:i64[1],decrease_axis:i64[]} : "
            "(%s, tensor<1xi64>, tensor<1xi64>) -> %s\n", part->id, x.id, from, to, type_of(&x, "f32"), type_of(part, "f32"));
    }
    const value *const first = pick(w, 0, 3) ? &a : &b, *const second = first == &a ? &b : &a;
    const int axis = full(w, "int32", "i32", "1.0"), list = w->next++;
    PUT("(%%v%d) = \"builtin.combine\" (%%v%d, %%v%d) {} : (%s, %s) -> vec[%s,%s]\n", list, first->id, second->id,
        type_of(first, "f32"), type_of(second, "f32"), type_of(first, "f32"), type_of(second, "f32"));
    PUT("(%%v%d) = \"pd_op.concat\" (%%v%d, %%v%d) {} : (vec[%s,%s], tensor<1xi32>) -> %s\n", y.id, list, axis,
        type_of(first, "f32"), type_of(second, "f32"), type_of(&y, "f32"));
    keep(w, y);
}

static void dropout(writer *w)
{
    const value x = any(w);
    const int p = full(w, "float32", "f32", "0.25");
    const value y = make(w, &x);

    PUT("(%%v%d, %%m%d) = \"pd_op.dropout\" (%%v%d, <<NULL VALUE>>, %%v%d) {is_test:true,mode:\"%s\",seed:0,fix_seed:false} : "
        "(%s, <<NULL TYPE>>, tensor<1xf32>) -> %s, <<NULL TYPE>>\n",
        y.id, y.id, x.id, p, pick(w, 0, 1) ? "upscale_in_train" : "downgrade_in_infer", type_of(&x, "f32"),
        type_of(&y, "f32"));
    keep(w, y);
}

static void concat(writer *w)
{
    const value x = any(w);
    const int n = pick(w, 1, 2), axis = full(w, "int32", "i32", "1.0"), list = w->next++;
    value y = make(w, &x);
    char again[16] = "";

    if (n > 1)
        snprintf(again, sizeof again, ", %%v%d", x.id);
    y.d[1] = n * x.d[1];
    PUT("(%%v%d) = \"builtin.combine\" (%%v%d%s) {} : (%s%s%s) -> vec[%s%s%s]\n", list, x.id, again,
        type_of(&x, "f32"), n > 1 ? ", " : "", n > 1 ? type_of(&x, "f32") : "",
        type_of(&x, "f32"), n > 1 ? "," : "", n > 1 ? type_of(&x, "f32") : "");
    PUT("(%%v%d) = \"pd_op.concat\" (%%v%d, %%v%d) {} : (vec[%s%s%s], tensor<1xi32>) -> %s\n", y.id, list, axis,
        type_of(&x, "f32"), n > 1 ? "," : "", n > 1 ? type_of(&x, "f32") : "", type_of(&y, "f32"));
    if (y.d[1] < 40)
        keep(w, y);
}

static void some_ops(writer *w, int count);

/* A condition: known, or whether an element of x is above zero. */
static int condition(writer *w)
{
    if (pick(w, 0, 1))
        return full(w, "bool", "b", pick(w, 0, 1) ? "1.0" : "0.0");
    const value x = any(w);
    const int zero = full(w, "float32", "f32", "0.0"), sum = w->next++, above = w->next++,
              axes = ints(w, "0,1,2", 3);
    PUT("(%%v%d) = \"pd_op.sum\" (%%v%d, %%v%d) {dtype:Undefined,keepdim:false} : (%s, tensor<3xi64>) -> tensor<f32>\n", sum,
        x.id, axes, type_of(&x, "f32"));
    PUT("(%%v%d) = \"pd_op.greater_than\" (%%v%d, %%v%d) {} : (tensor<f32>, tensor<1xf32>) -> tensor<1xb>\n", above,
        sum, zero);
    return above;
}

/* One value of that form from inside. */
static value from_inside(writer *w, const value *like)
{
    for (int i = w->num_values; i-- > 0;) {
        if (memcmp(w->values[i].d, like->d, sizeof like->d) == 0)
            return w->values[i];
    }
    return *like;
}

static void branch(writer *w)
{
    const int c = condition(w), outside = w->num_values;
    const value like = any(w), out = make(w, &like);

    PUT("(%%v%d) = \"pd_op.if\" (%%v%d) {} : (tensor<1xb>) -> %s {\n", out.id, c, type_of(&out, "f32"));
    for (int i = 0; i < 2; i++) {
        some_ops(w, pick(w, 0, 4));
        const value v = from_inside(w, &like);
        PUT("() = \"cf.yield\" (%%v%d) {} : (%s) -> ()\n%s", v.id, type_of(&v, "f32"), i ? "}\n" : "} else {\n");
        w->num_values = outside;
    }
    keep(w, out);
}

/* for (i = 0; i < n; i++) x = f(x) */
static void loop(writer *w)
{
    char count[16];
    const value x = unary_op(w, "tanh", "", any(w));
    const int outside = w->num_values;

    snprintf(count, sizeof count, "%d.0", pick(w, 0, 3));
    const int zero = full(w, "int64", "i64", "0.0"), n = full(w, "int64", "i64", count), c = w->next++, i = w->next++,
              k = w->next++, more = w->next++;
    const value out = make(w, &x), arg = make(w, &x);
    PUT("(%%v%d) = \"pd_op.less_than\" (%%v%d, %%v%d) {} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xb>\n", c, zero, n);
    PUT("(%%v%d, %%v%d) = \"pd_op.while\" (%%v%d, %%v%d, %%v%d) {} : (tensor<1xb>, tensor<1xi64>, %s) -> tensor<1xi64>, %s {\n"
        "^(%%v%d: tensor<1xi64>, %%v%d: %s)\n",
        w->next++, out.id, c, zero, x.id, type_of(&x, "f32"), type_of(&x, "f32"), i, arg.id, type_of(&x, "f32"));
    keep(w, arg);
    some_ops(w, pick(w, 1, 6));
    const value v = from_inside(w, &x);
    const int one = full(w, "int64", "i64", "1.0");
    PUT("(%%v%d) = \"pd_op.add\" (%%v%d, %%v%d) {} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>\n", k, i, one);
    PUT("(%%v%d) = \"pd_op.less_than\" (%%v%d, %%v%d) {} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xb>\n", more, k, n);
    PUT("() = \"cf.yield\" (%%v%d, %%v%d, %%v%d) {} : (tensor<1xb>, tensor<1xi64>, %s) -> ()\n}\n", more, k, v.id,
        type_of(&v, "f32"));
    w->num_values = outside;
    keep(w, out);
}

static void some_ops(writer *w, int count)
{
    static void (*const kinds[])(writer *) = {unary,  twins, binary, binary, scale,    casts,
                                              transposes, reshapes, matmul, in_place, dropout, concat,
                                              chain,  weights, own_shape, written_out, around, parts};
    enum { KINDS = sizeof kinds / sizeof *kinds };

    w->depth++;
    while (count-- > 0) {
        const int kind = pick(w, 0, KINDS + 2);
        if (kind < KINDS)
            kinds[kind](w);
        else if (kind == KINDS && w->depth < 3)
            branch(w);
        else if (kind == KINDS + 1 && w->depth < 3)
            loop(w);
        else
            unary(w);
    }
    w->depth--;
}

static int fetch_last(writer *w)
{
    int n = 0;

    for (int i = w->num_values; i-- > 0 && n < MAX_OUTPUTS; n++) {
        const value v = w->values[i];
        PUT("(%%f%d) = \"pd_op.fetch\" (%%v%d) {name:\"f%d\",col:%d} : (%s) -> %s\n", n, v.id, n, n,
            type_of(&v, "f32"), type_of(&v, "f32"));
    }
    return n;
}

static void program(writer *w, uint64_t seed)
{
    const value first = {0, {2, 3, 4}};

    *w = (writer){.random = seed};
    pdm_buf_init(&w->text);
    pdm_buf_puts(&w->text, "{\n");
    for (int i = pick(w, 0, MAX_PARAMS); i > 0; i--) {
        const value v = make(w, &first);
        PUT("(%%v%d) = \"builtin.parameter\" () {is_distributed:[false],is_parameter:[true],need_clip:[false],"
            "parameter_name:\"p%d\"} : () -> %s\n",
            v.id, w->num_params, type_of(&v, "f32"));
        w->params[w->num_params++] = v;
        keep(w, v);
    }
    const value x = make(w, &first);
    PUT("(%%v%d) = \"pd_op.data\" () {name:\"x\",shape:ints[2,3,4],dtype:float32,place:Place(undefined:0)} : () -> %s\n",
        x.id, type_of(&x, "f32"));
    keep(w, x);
    some_ops(w, pick(w, 3, 40));
    fetch_last(w);
    pdm_buf_puts(&w->text, "}\n");
}

/* A message cannot hold it. */
static bool show(const char *text)
{
    fputs(text, stderr);
    return false;
}

/* ---- both runs ------------------------------------------------------------------------------- */

typedef struct heard {
    char text[1024];
} heard;

static void hear(void *user, const pdm_diagnostic *d)
{
    heard *h = user;

    snprintf(h->text, sizeof h->text, "%s: %s", d->op_type ? d->op_type : "", d->message);
}

static void numbers(pdm_tensor *t, uint64_t seed)
{
    const int64_t dims[] = {2, 3, 4};

    ck_assert_int_eq(pdm_tensor_alloc(t, PDM_F32, RANK, dims), PDM_OK);
    for (int64_t i = 0; i < pdm_tensor_count(t); i++)
        ((float *)t->data)[i] = (float)sin((double)seed * 0.7 + (double)i * 1.3);
}

typedef struct outcome {
    size_t count;
    pdm_tensor out[MAX_OUTPUTS];
} outcome;

static void run(const pdm_ir_module *module, const pdm_params *params, pdm_diag_sink *sink, outcome *o)
{
    pdm_exec_plan *plan;
    pdm_exec_session *session;
    pdm_tensor x = {0};
    const heard *h = sink->user;

    ck_assert_msg(pdm_exec_plan_create(module, params, NULL, sink, &plan) == PDM_OK, "%s", h->text);
    ck_assert_int_eq(pdm_exec_session_create(plan, NULL, &session), PDM_OK);
    numbers(&x, 99);
    pdm_exec_set_input(session, 0, &x);
    ck_assert_msg(pdm_exec_run(session, sink) == PDM_OK, "%s", h->text);
    o->count = pdm_exec_num_outputs(plan);
    for (size_t i = 0; i < o->count; i++) {
        o->out[i] = (pdm_tensor){0};
        ck_assert_int_eq(pdm_tensor_copy(&o->out[i], &pdm_exec_output(session, i)->tensor), PDM_OK);
    }
    pdm_tensor_deinit(&x);
    pdm_exec_session_destroy(session);
    pdm_exec_plan_destroy(plan);
}

static void same(const outcome *a, const outcome *b, uint64_t seed, const char *text)
{
    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        ck_assert_msg(pdm_tensor_count(&a->out[i]) == pdm_tensor_count(&b->out[i]), "seed %d", (int)seed);
        for (int64_t k = 0; k < pdm_tensor_count(&a->out[i]); k++) {
            const double x = pdm_get_double(&a->out[i], k), y = pdm_get_double(&b->out[i], k);
            ck_assert_msg((isnan(x) && isnan(y)) || x == y || fabs(x - y) <= 1e-4 * fmax(1, fabs(x)) || show(text),
                          "seed %d, output %d, element %d: %g, optimized %g", (int)seed, (int)i, (int)k, x, y);
        }
    }
}

static void forget(outcome *o)
{
    for (size_t i = 0; i < o->count; i++)
        pdm_tensor_deinit(&o->out[i]);
}

/* -O2, or passes in any order: those that leave what is written alone meet it then. */
static void choose(writer *w, uint64_t seed, char list[256])
{
    size_t count = 0;

    strcpy(list, pdm_ir_pass_list(2));
    if (seed % 2 == 0)
        return;
    while (pdm_ir_pass_at(count))
        count++;
    list[0] = 0;
    for (int i = pick(w, 1, 10); i > 0; i--) {
        strcat(list, pdm_ir_pass_at((size_t)pick(w, 0, (int)count - 1))->name);
        strcat(list, ",");
    }
}

static void both(uint64_t seed)
{
    char list[256];
    writer w;
    heard h = {""};
    pdm_diag_sink sink = {.fn = hear, .user = &h};
    pdm_ir_context *context;
    pdm_ir_module *module;
    pdm_params params;
    pdm_param items[MAX_PARAMS + MAX_VALUES];
    pdm_exec_constants source;
    pdm_ir_constants constants;
    outcome before, after;

    program(&w, seed);
    pdm_params_init(&params);
    params.items = items;
    for (int i = 0; i < w.num_params; i++) {
        char name[16];
        pdm_tensor t = {0};
        snprintf(name, sizeof name, "p%d", i);
        numbers(&t, (uint64_t)i);
        ck_assert_int_eq(pdm_param_make(&params.arena, name, &t, &items[params.count++]), PDM_OK);
        pdm_tensor_deinit(&t);
    }
    ck_assert_int_eq(pdm_ir_context_create(&context), PDM_OK);
    ck_assert_msg(pdm_ir_parse(context, w.text.data, w.text.size, "random", &sink, &module) == PDM_OK || show(w.text.data),
                  "seed %d: %s", (int)seed, h.text);
    ck_assert_msg(pdm_ir_verify(module, &sink) == PDM_OK || show(w.text.data), "seed %d: %s", (int)seed, h.text);
    run(module, &params, &sink, &before);

    choose(&w, seed, list);
    pdm_exec_constants_init(&source, &params, &sink);
    pdm_ir_constants_init(&constants);
    const pdm_ir_pass_options options = {.source = &source.source, .verify = true};
    const pdm_status status =
        pdm_ir_pass_run_list(module, list, &options, &constants, &sink);
    ck_assert_msg((status == PDM_OK && !*h.text) || show(w.text.data), "seed %d, %s: %s", (int)seed, list, h.text);
    for (size_t i = 0; i < constants.made.n && params.count < sizeof items / sizeof *items; i++) {
        const pdm_ir_made_constant *made = &constants.made.v[i];
        ck_assert_int_eq(pdm_param_make(&params.arena, made->name, &made->tensor, &items[params.count++]), PDM_OK);
    }
    run(module, &params, &sink, &after);
    same(&before, &after, seed, w.text.data);

    forget(&before);
    forget(&after);
    pdm_ir_constants_deinit(&constants);
    pdm_exec_constants_deinit(&source);
    pdm_ir_module_destroy(module);
    pdm_ir_context_destroy(context);
    params.items = NULL;
    pdm_params_deinit(&params);
    pdm_buf_deinit(&w.text);
}

START_TEST(random_programs)
{
    for (uint64_t seed = 1; seed <= 300; seed++)
        both(seed);
}
END_TEST

START_TEST(many_random_programs)
{
    for (uint64_t seed = 1; seed <= 5000; seed++)
        both(1000 * (uint64_t)(_i + 1) * 1000 + seed);
}
END_TEST

Suite *pdm_suite_passes(void)
{
    Suite *suite = suite_create("passes");
    TCase *some = tcase_create("random"), *many = tcase_create("many");

    tcase_set_timeout(some, 300);
    tcase_add_test(some, random_programs);
    suite_add_tcase(suite, some);
    tcase_set_timeout(many, 600);
    tcase_set_tags(many, "long");
    tcase_add_loop_test(many, many_random_programs, 0, 2);
    suite_add_tcase(suite, many);
    return suite;
}
