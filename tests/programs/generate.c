/*
 * Programs drawn from a seed. What is generated is right in types and shapes for all sets of inputs: beside each value
 * there is one for each set, made by the same op from operands with the sizes of that set, so that shape inference tells
 * the sizes. These shadows stand in a block of their own and go in the end.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/make.h"
#include "program.h"

enum { MAX_ITEMS = 512, MAX_RANK = 5, MAX_OPERANDS = 5, MAX_RESULTS = 4, SIZES = 3, MAX_ELEMENTS = 4096, MAX_LARGE = 200000 };

/* A value that may be read. */
typedef struct item {
    pdm_ir_value *value;
    pdm_ir_value *shadow[PROGRAM_MAX_SETS];
} item;

typedef struct gen {
    program *p;
    pdm_ir_context *c;
    uint64_t random;
    const program_form *form;
    item items[MAX_ITEMS];
    int n;
    pdm_ir_op *at;     /* ops are put before it */
    pdm_ir_op *top;    /* inputs and parameters are */
    pdm_ir_op *shadow; /* shadows are */
    int depth, ops, wanted;
    int64_t sizes[SIZES][PROGRAM_MAX_SETS]; /* of dims that are left open */
    bool open;                              /* some are */
    bool special;                           /* NaN and the like are among the inputs */
    bool failed;
} gen;

/* ---- chance ---------------------------------------------------------------------------------- */

static int pick(gen *g, int low, int high)
{
    g->random = g->random * 6364136223846793005u + 1442695040888963407u;
    return low + (int)((g->random >> 33) % (uint64_t)(high - low + 1));
}

static bool chance(gen *g, int percent)
{
    return pick(g, 0, 99) < percent;
}

#define ONE_OF(g, array) ((array)[pick(g, 0, (int)(sizeof(array) / sizeof *(array)) - 1)])

/* ---- types ----------------------------------------------------------------------------------- */

#define BIT(dtype)  (1U << (dtype))
#define REALS       (BIT(PDM_F32) | BIT(PDM_F64))
#define FLOATS      (REALS | BIT(PDM_F16) | BIT(PDM_BF16))
#define INTS        (BIT(PDM_I8) | BIT(PDM_U8) | BIT(PDM_I16) | BIT(PDM_I32) | BIT(PDM_I64))
#define WIDE        (BIT(PDM_I32) | BIT(PDM_I64)) /* what all kernels of the framework take */
#define NUMBERS     (FLOATS | INTS)
#define LOGICAL     BIT(PDM_BOOL)
#define ALL         (NUMBERS | LOGICAL)

static pdm_dtype draw_dtype(gen *g, unsigned mask)
{
    static const pdm_dtype often[] = {PDM_F32, PDM_F32, PDM_F32, PDM_F32, PDM_F32, PDM_F32, PDM_F64, PDM_F16, PDM_BF16,
                                      PDM_I32, PDM_I64, PDM_I64, PDM_BOOL, PDM_I8, PDM_U8, PDM_I16};

    for (int i = 0; i < 64; i++) {
        const pdm_dtype d = ONE_OF(g, often);
        if (mask & BIT(d))
            return d;
    }
    for (int d = 0; d < PDM_DTYPE_COUNT; d++) {
        if (mask & BIT(d))
            return (pdm_dtype)d;
    }
    return PDM_F32;
}

static pdm_dtype dtype_of(const item *x)
{
    return x->value->type->dtype;
}

static int rank_of(const item *x)
{
    return (int)x->value->type->rank;
}

static int64_t size_of(const item *x, int set, int dim)
{
    return x->shadow[set]->type->dims[dim];
}

/* The declared one. */
static int64_t dim_of(const item *x, int dim)
{
    return x->value->type->dims[dim];
}

/* All sets have that size there. */
static bool is_size(const gen *g, const item *x, int dim, int64_t size)
{
    for (int s = 0; s < g->p->num_sets; s++) {
        if (size_of(x, s, dim) != size)
            return false;
    }
    return true;
}

static int64_t least_size(const gen *g, const item *x, int dim)
{
    int64_t least = INT64_MAX;

    for (int s = 0; s < g->p->num_sets; s++)
        least = size_of(x, s, dim) < least ? size_of(x, s, dim) : least;
    return least;
}

static bool same_sizes(const gen *g, const item *a, const item *b)
{
    if (rank_of(a) != rank_of(b))
        return false;
    for (int s = 0; s < g->p->num_sets; s++) {
        for (int d = 0; d < rank_of(a); d++) {
            if (size_of(a, s, d) != size_of(b, s, d))
                return false;
        }
    }
    return true;
}

/* Both may be operands of an op that broadcasts. */
static bool fit_together(const gen *g, const item *a, const item *b)
{
    for (int s = 0; s < g->p->num_sets; s++) {
        for (int i = 1; i <= rank_of(a) && i <= rank_of(b); i++) {
            const int64_t m = size_of(a, s, rank_of(a) - i), n = size_of(b, s, rank_of(b) - i);
            if (m != n && m != 1 && n != 1)
                return false;
        }
    }
    return true;
}

/* Each dim of y is one, or that of x. */
static bool widens_to(const gen *g, const item *y, const item *x)
{
    for (int s = 0; s < g->p->num_sets; s++) {
        for (int i = 1; i <= rank_of(y); i++) {
            const int64_t n = size_of(y, s, rank_of(y) - i);
            if (i > rank_of(x) || (n != 1 && n != size_of(x, s, rank_of(x) - i)))
                return false;
        }
    }
    return true;
}

/* ---- ops ------------------------------------------------------------------------------------- */

#define ATTRS(...) (const pdm_ir_make_attr[]){__VA_ARGS__, {NULL, NULL}}
#define NO_ATTRS   (const pdm_ir_make_attr[]){{NULL, NULL}}
#define I32(n)     pdm_ir_attr_i32(g->c, (int32_t)(n))
#define F32(n)     pdm_ir_attr_f32(g->c, (float)(n))
#define BOOL(b)    pdm_ir_attr_bool(g->c, b)
#define STR(text)  pdm_ir_attr_str(g->c, text)
#define DTYPE(d)   pdm_ir_attr_dtype(g->c, d)

static bool is_sane(const gen *g, pdm_ir_type type)
{
    int64_t count = 1;

    if (!pdm_ir_type_is_tensor(type) || type->rank > MAX_RANK + 1)
        return false;
    for (uint32_t d = 0; d < type->rank; d++) {
        if (type->dims[d] < 0 || type->dims[d] > MAX_LARGE)
            return false;
        count *= type->dims[d] ? type->dims[d] : 1;
        if (count > (g->form->large ? MAX_LARGE : MAX_ELEMENTS))
            return false;
    }
    return true;
}

static pdm_ir_op *make(gen *g, pdm_ir_op *before, const char *name, pdm_ir_value *const *in, size_t num_in,
                       const pdm_ir_make_attr *attrs, const pdm_ir_type *types, size_t num_types)
{
    const pdm_ir_op_info *info = pdm_ir_op_info_get(g->c, name, NULL);
    pdm_status status = PDM_NOMEM;

    pdm_ir_op *op = info ? pdm_ir_make(before, info->code, in, num_in, attrs, types, num_types, &status) : NULL;
    g->failed |= status != PDM_OK;
    return op;
}

static void keep(gen *g, const item *x)
{
    if (g->n < MAX_ITEMS)
        g->items[g->n++] = *x;
}

/*
 * An op, and its shadows; out: as many results as wanted, not kept. NULL operands are absent. False: its types are not known, or
 * results would be too large; nothing is left of it then.
 */
static bool put(gen *g, const char *name, const item *const *in, size_t num_in, const pdm_ir_make_attr *attrs, item *out,
                size_t num_out)
{
    pdm_ir_value *values[MAX_OPERANDS];
    pdm_ir_op *made[PROGRAM_MAX_SETS + 1] = {NULL};
    bool ok = true;

    for (int s = 0; ok && s <= g->p->num_sets; s++) {
        for (size_t i = 0; i < num_in; i++)
            values[i] = !in[i] ? NULL : s < g->p->num_sets ? in[i]->shadow[s] : in[i]->value;
        made[s] = make(g, s < g->p->num_sets ? g->shadow : g->at, name, values, num_in, attrs, NULL, 0);
        ok = made[s] != NULL;
        for (size_t i = 0; ok && i < num_out; i++) {
            pdm_ir_value *v = pdm_ir_op_result(made[s], i);
            if (s < g->p->num_sets) {
                ok = is_sane(g, v->type);
                out[i].shadow[s] = v;
            } else {
                ok = pdm_ir_type_is_tensor(v->type) && v->type->rank == out[i].shadow[0]->type->rank;
                out[i].value = v;
            }
        }
    }
    for (int s = 0; !ok && s <= g->p->num_sets; s++) {
        if (made[s])
            pdm_ir_op_erase(made[s]);
    }
    g->ops += ok;
    return ok;
}

static bool put1(gen *g, const char *name, const item *x, const pdm_ir_make_attr *attrs, item *out)
{
    return put(g, name, &x, 1, attrs, out, 1);
}

static bool put2(gen *g, const char *name, const item *x, const item *y, const pdm_ir_make_attr *attrs, item *out)
{
    return put(g, name, (const item *const[]){x, y}, 2, attrs, out, 1);
}

/* The same and kept. */
static bool keep1(gen *g, const char *name, const item *x, const pdm_ir_make_attr *attrs)
{
    item out;

    if (!put1(g, name, x, attrs, &out))
        return false;
    keep(g, &out);
    return true;
}

static bool keep2(gen *g, const char *name, const item *x, const item *y, const pdm_ir_make_attr *attrs)
{
    item out;

    if (!put2(g, name, x, y, attrs, &out))
        return false;
    keep(g, &out);
    return true;
}

static item alike(gen *g, pdm_ir_value *value)
{
    item out = {.value = value};

    for (int s = 0; s < g->p->num_sets; s++)
        out.shadow[s] = value;
    return out;
}

static pdm_ir_attr scalar(gen *g, pdm_dtype dtype, double number)
{
    struct pdm_ir_attr_s fields = {.kind = PDM_IR_ATTR_SCALAR, .dtype = dtype};

    if (pdm_dtype_is_float(dtype))
        fields.u.f = number;
    else
        fields.u.i = (int64_t)number;
    return pdm_ir_attr_intern(g->c, &fields);
}

static bool full(gen *g, pdm_dtype dtype, const int64_t *dims, size_t rank, double number, item *out)
{
    pdm_ir_op *op = make(g, g->at, "pd_op.full", NULL, 0,
                         ATTRS({"shape", pdm_ir_attr_int_array(g->c, dims, rank)},
                               {"value", scalar(g, PDM_F64, number)}, {"dtype", DTYPE(dtype)}),
                         NULL, 0);
    if (op)
        *out = alike(g, pdm_ir_op_result(op, 0));
    return op != NULL;
}

static bool number(gen *g, pdm_dtype dtype, double value, item *out)
{
    return full(g, dtype, (int64_t[]){1}, 1, value, out);
}

static bool ints(gen *g, const int64_t *list, size_t count, item *out)
{
    pdm_ir_op *op = make(g, g->at, "pd_op.full_int_array", NULL, 0,
                         ATTRS({"value", pdm_ir_attr_i64s(g->c, list, count)}, {"dtype", DTYPE(PDM_I64)}), NULL, 0);
    if (op)
        *out = alike(g, pdm_ir_op_result(op, 0));
    return op != NULL;
}

/* ---- inputs and parameters ------------------------------------------------------------------- */

static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40, -1e-40, 3e38, -3e38, 65504, 1, -1, 0.5, 1e-8};
static const int64_t int_specials[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, 32767, -32768, 127, -128, 255, 0, -1, 1};

static double draw_float(gen *g, bool special)
{
    if (special && chance(g, 30))
        return ONE_OF(g, specials);
    if (chance(g, 10))
        return pick(g, -4, 4);
    return pick(g, -2000, 2000) / 1024.0;
}

static int64_t draw_int(gen *g, bool special)
{
    return special && chance(g, 30) ? ONE_OF(g, int_specials) : pick(g, -5, 9);
}

static void set_element(pdm_tensor *t, int64_t i, double f, int64_t n)
{
    switch ((int)t->dtype) {
    case PDM_F64:
        ((double *)t->data)[i] = f;
        break;
    case PDM_F32:
        ((float *)t->data)[i] = (float)f;
        break;
    case PDM_F16:
        ((uint16_t *)t->data)[i] = pdm_float_to_f16((float)f);
        break;
    case PDM_BF16:
        ((uint16_t *)t->data)[i] = pdm_float_to_bf16((float)f);
        break;
    case PDM_BOOL:
        ((bool *)t->data)[i] = n & 1;
        break;
    case PDM_I8:
    case PDM_U8:
        ((uint8_t *)t->data)[i] = (uint8_t)n;
        break;
    case PDM_I16:
        ((uint16_t *)t->data)[i] = (uint16_t)n;
        break;
    case PDM_I32:
        ((uint32_t *)t->data)[i] = (uint32_t)n;
        break;
    default:
        ((int64_t *)t->data)[i] = n;
    }
}

/* below: integers are from 0 to below - 1; 0: any. */
static bool fill(gen *g, pdm_tensor *t, pdm_ir_type type, int64_t below)
{
    const bool special = g->special && chance(g, 40);

    if (pdm_tensor_alloc(t, type->dtype, (int)type->rank, type->dims) != PDM_OK)
        return false;
    for (int64_t i = 0, n = pdm_tensor_count(t); i < n; i++)
        set_element(t, i, draw_float(g, special), below > 0 ? pick(g, 0, (int)below - 1) : draw_int(g, special));
    return true;
}

/* An input of these sizes; types: of each set. */
static bool input(gen *g, pdm_ir_type declared, const pdm_ir_type *types, int64_t below, item *out)
{
    char name[16];

    snprintf(name, sizeof name, "x%zu", g->p->inputs.n);
    program_tensor *t = program_add_input(g->p, name);
    pdm_ir_op *op = t ? make(g, g->top, "pd_op.data", NULL, 0,
                             ATTRS({"name", STR(name)},
                                   {"shape", pdm_ir_attr_int_array(g->c, declared->dims, declared->rank)},
                                   {"dtype", DTYPE(declared->dtype)}, {"place", pdm_ir_attr_place(g->c, 0, 0, "")}),
                             &declared, 1)
                      : NULL;
    if (!op)
        return false;
    out->value = pdm_ir_op_result(op, 0);
    for (int s = 0; s < g->p->num_sets; s++) {
        pdm_ir_op *shadow = make(g, g->shadow, "pd_op.full", NULL, 0,
                                 ATTRS({"shape", pdm_ir_attr_int_array(g->c, types[s]->dims, types[s]->rank)},
                                       {"value", scalar(g, PDM_F64, 0)}, {"dtype", DTYPE(types[s]->dtype)}),
                                 &types[s], 1);
        if (!shadow || !fill(g, &t->sets[s], types[s], below))
            return false;
        out->shadow[s] = pdm_ir_op_result(shadow, 0);
    }
    keep(g, out);
    return true;
}

static bool parameter(gen *g, pdm_ir_type type, item *out)
{
    char name[16];

    snprintf(name, sizeof name, "p%zu", g->p->parameters.n);
    program_tensor *t = program_add_parameter(g->p, name);
    pdm_ir_op *op = t && fill(g, &t->sets[0], type, 0)
                        ? make(g, g->top, "builtin.parameter", NULL, 0, ATTRS({"parameter_name", STR(name)}), &type, 1)
                        : NULL;
    if (op) {
        *out = alike(g, pdm_ir_op_result(op, 0));
        keep(g, out);
    }
    return op != NULL;
}

static bool fresh(gen *g, pdm_dtype dtype, int rank, item *out)
{
    int64_t dims[MAX_RANK + 1], sizes[PROGRAM_MAX_SETS][MAX_RANK + 1];
    pdm_ir_type types[PROGRAM_MAX_SETS];

    for (int d = 0; d < rank; d++) {
        const int size = pick(g, 0, SIZES - 1), is_open = g->open && chance(g, 45);
        /* As inputs have it: the first few dims are most often those of others. */
        const int64_t n = chance(g, 4) ? 0 : g->sizes[size][0] ? g->sizes[size][0] : 2;
        dims[d] = is_open ? -1 : chance(g, 60) ? n : pick(g, 1, 5);
        for (int s = 0; s < g->p->num_sets; s++)
            sizes[s][d] = is_open ? g->sizes[size][s] : dims[d];
    }
    if (g->form->large && rank > 0 && chance(g, 60)) {
        dims[0] = pick(g, 0, 1) ? 10007 : 4096;
        for (int s = 0; s < g->p->num_sets; s++)
            sizes[s][0] = dims[0];
    }
    for (int s = 0; s < g->p->num_sets; s++) {
        types[s] = pdm_ir_type_tensor(g->c, dtype, sizes[s], (size_t)rank);
        if (!types[s] || !is_sane(g, types[s]))
            return false;
    }
    bool constant = chance(g, 12);
    for (int d = 0; d < rank; d++)
        constant &= dims[d] >= 0;
    const pdm_ir_type declared = pdm_ir_type_tensor(g->c, dtype, dims, (size_t)rank);
    return declared && (constant ? parameter(g, declared, out) : input(g, declared, types, 0, out));
}

/* A value of one of these types and ranks. */
static bool any_of(gen *g, unsigned mask, int least, int most, item *out)
{
    for (int i = 0; g->n > 0 && i < 20; i++) {
        /* What is new is read most often. */
        const int from = i < 8 && g->n > 10 && chance(g, 60) ? g->n - 10 : 0;
        const item *x = &g->items[pick(g, from, g->n - 1)];
        if ((mask & BIT(dtype_of(x))) && rank_of(x) >= least && rank_of(x) <= most) {
            *out = *x;
            return true;
        }
    }
    return fresh(g, draw_dtype(g, mask), pick(g, least > 1 ? least : chance(g, 10) ? least : 1, most > 4 ? 4 : most), out);
}

static bool any(gen *g, unsigned mask, item *out)
{
    return any_of(g, mask, 0, MAX_RANK, out);
}

/* An input with which x may be broadcast: some of its dims, some of them one. */
static bool fresh_beside(gen *g, const item *x, pdm_dtype dtype, item *out)
{
    int64_t dims[MAX_RANK + 1], sizes[PROGRAM_MAX_SETS][MAX_RANK + 1];
    pdm_ir_type types[PROGRAM_MAX_SETS];
    const int gone = rank_of(x) && chance(g, 30) ? pick(g, 0, rank_of(x)) : 0, rank = rank_of(x) - gone;
    const bool whole = chance(g, 40);

    for (int d = 0; d < rank; d++) {
        const bool one = !whole && chance(g, 35);
        dims[d] = one ? 1 : dim_of(x, d + gone);
        for (int s = 0; s < g->p->num_sets; s++)
            sizes[s][d] = one ? 1 : size_of(x, s, d + gone);
        /* What is left open may be one when the other is not. */
        if (dims[d] < 0 && chance(g, 15))
            sizes[pick(g, 0, g->p->num_sets - 1)][d] = 1;
    }
    for (int s = 0; s < g->p->num_sets; s++) {
        types[s] = pdm_ir_type_tensor(g->c, dtype, sizes[s], (size_t)rank);
        if (!types[s])
            return false;
    }
    const pdm_ir_type declared = pdm_ir_type_tensor(g->c, dtype, dims, (size_t)rank);
    bool fixed = declared && chance(g, 30);
    for (int d = 0; d < rank; d++)
        fixed &= dims[d] >= 0;
    return declared && (fixed ? parameter(g, declared, out) : input(g, declared, types, 0, out));
}

/* Something that fits x. */
static bool beside(gen *g, const item *x, pdm_dtype dtype, item *out)
{
    if (chance(g, 10) && dtype != PDM_BOOL)
        return number(g, dtype, pdm_dtype_is_float(dtype) ? pick(g, -6, 6) / 2.0 : pick(g, 0, 3), out);
    for (int i = 0; i < 12; i++) {
        const item *y = &g->items[pick(g, 0, g->n - 1)];
        if (dtype_of(y) == dtype && fit_together(g, x, y)) {
            *out = *y;
            return true;
        }
    }
    return fresh_beside(g, x, dtype, out);
}

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

static void unary(gen *g)
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

static void integers(gen *g)
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

static void binary(gen *g)
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

static void compare(gen *g)
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

static void tests(gen *g)
{
    static const char *const ops[] = {"pd_op.isnan", "pd_op.isfinite", "pd_op.isinf"};
    item x;

    if (any(g, REALS, &x))
        keep1(g, ONE_OF(g, ops), &x, NO_ATTRS);
}

static void where(gen *g)
{
    item c, x, y, z;

    /* The condition has the sizes of both: what old programs require. */
    if (!any(g, LOGICAL, &c) || !beside(g, &c, draw_dtype(g, REALS | WIDE | LOGICAL), &x) || !beside(g, &x, dtype_of(&x), &y) ||
        !fit_together(g, &c, &y))
        return;
    if (put(g, "pd_op.where", (const item *const[]){&c, &x, &y}, 3, NO_ATTRS, &z, 1))
        keep(g, &z);
}

static void cast(gen *g)
{
    item x, y;

    if (!any(g, ALL, &x) || !put1(g, "pd_op.cast", &x, ATTRS({"dtype", DTYPE(draw_dtype(g, ALL))}), &y))
        return;
    keep(g, &y);
    if (chance(g, 50)) /* and back, which passes look for */
        keep1(g, "pd_op.cast", &y, ATTRS({"dtype", DTYPE(chance(g, 60) ? dtype_of(&x) : draw_dtype(g, ALL))}));
}

static void scale(gen *g)
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

static void clip(gen *g)
{
    item x, low, high, y;

    if (any(g, FLOATS | WIDE, &x) && number(g, dtype_of(&x), pick(g, -3, 0), &low) && number(g, dtype_of(&x), pick(g, 0, 4), &high) &&
        put(g, "pd_op.clip", (const item *const[]){&x, &low, &high}, 3, NO_ATTRS, &y, 1))
        keep(g, &y);
}

static void power(gen *g)
{
    static const double exponents[] = {2, 3, 0.5, -1, 0, 1, -0.5};
    item x;

    if (any(g, FLOATS, &x))
        keep1(g, "pd_op.pow", &x, ATTRS({"y", scalar(g, PDM_F32, ONE_OF(g, exponents))}));
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Some axes, in any order, some from behind. */
static size_t draw_axes(gen *g, int rank, int64_t *axes)
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

static void reduce(gen *g)
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

static void reduce_bool(gen *g)
{
    int64_t axes[MAX_RANK];
    item x;

    if (!any(g, LOGICAL, &x))
        return;
    const size_t n = draw_axes(g, rank_of(&x), axes);
    keep1(g, chance(g, 50) ? "pd_op.any" : "pd_op.all", &x,
          ATTRS({"axis", pdm_ir_attr_i64s(g->c, axes, n)}, {"keepdim", BOOL(chance(g, 50))}));
}

static void arg(gen *g)
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

static void cumsum(gen *g)
{
    item x, axis;

    if (any_of(g, REALS | WIDE, 1, MAX_RANK, &x) && number(g, PDM_I64, pick(g, -rank_of(&x), rank_of(&x) - 1), &axis))
        keep2(g, "pd_op.cumsum", &x, &axis, ATTRS({"exclusive", BOOL(chance(g, 30))}, {"reverse", BOOL(chance(g, 30))}));
}

/* ---- normalizations -------------------------------------------------------------------------- */

static void softmax(gen *g)
{
    item x;

    if (any_of(g, FLOATS, 1, MAX_RANK, &x))
        keep1(g, chance(g, 80) ? "pd_op.softmax" : "pd_op.log_softmax", &x, ATTRS({"axis", I32(pick(g, -rank_of(&x), rank_of(&x) - 1))}));
}

/* Scale or bias of so many numbers; sometimes none. */
static bool affine(gen *g, pdm_dtype dtype, int64_t count, item *out)
{
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, dtype, &count, 1);

    return type && (chance(g, 50) ? parameter(g, type, out)
                                  : input(g, type, (pdm_ir_type[]){type, type, type, type, type}, 0, out));
}

static bool known(const gen *g, const item *x, int from, int64_t *count)
{
    *count = 1;
    for (int d = from; d < rank_of(x); d++) {
        if (dim_of(x, d) <= 0 || !is_size(g, x, d, dim_of(x, d)))
            return false;
        *count *= dim_of(x, d);
    }
    return true;
}

static void layer_norm(gen *g)
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

static void batch_norm(gen *g)
{
    item x;

    if (any_of(g, REALS, 2, 4, &x) && dim_of(&x, 1) > 0)
        batch_norm_of(g, x, chance(g, 20));
}

static void group_norm(gen *g)
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

/* ---- products -------------------------------------------------------------------------------- */

/* The last two axes change places, by an op of its own. */
static bool swapped(gen *g, const item *x, item *out)
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

static void chain(gen *g)
{
    item x;

    if (any_of(g, REALS, 1, MAX_RANK, &x) && constants(g, &x, chance(g, 70) ? rank_of(&x) - 1 : pick(g, 0, rank_of(&x) - 1)))
        keep(g, &x);
}

/* Products with parameters in a row, the weights perhaps reshaped, with constants before and behind them, and relu. */
static void weights(gen *g)
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
static void flat_rows(gen *g)
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
static void matmul(gen *g)
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

static void conv(gen *g)
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

static void pool(gen *g)
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

/* ---- movement -------------------------------------------------------------------------------- */

static void transpose(gen *g)
{
    int32_t perm[MAX_RANK + 1];
    item x, y;

    if (!any(g, ALL, &x))
        return;
    for (int n = pick(g, 1, 2); n > 0; n--) {
        const int r = rank_of(&x);
        for (int d = 0; d < r; d++) {
            const int other = pick(g, 0, d);
            perm[d] = perm[other];
            perm[other] = d;
        }
        if (!put1(g, "pd_op.transpose", &x, ATTRS({"perm", pdm_ir_attr_i32s(g->c, perm, (size_t)r)}), &y))
            return;
        keep(g, &y);
        x = y;
    }
}

/* Dims that are next to each other become one, or one is split; what is left open may be told by 0 and -1. */
static bool reshape_once(gen *g, item *of)
{
    int64_t shape[MAX_RANK + 2];
    item x = *of, s, y;
    size_t n = 0;
    bool unknown = false;

    const int r = rank_of(&x), merged = r > 1 && chance(g, 60) ? pick(g, 0, r - 2) : -1;
    for (int d = 0; d < r; d++) {
        const int64_t dim = dim_of(&x, d);
        if (d == merged) {
            if (dim >= 0 && dim_of(&x, d + 1) >= 0) {
                shape[n++] = dim * dim_of(&x, d + 1);
            } else if (!unknown) {
                unknown = true;
                shape[n++] = -1;
            } else {
                return false;
            }
            d++;
        } else if (dim > 1 && dim % 2 == 0 && n == (size_t)d && chance(g, 30)) {
            shape[n++] = 2;
            shape[n++] = dim / 2;
        } else if (n == (size_t)d && (dim < 0 || chance(g, 25))) {
            shape[n++] = 0;
        } else if (dim >= 0) {
            shape[n++] = dim;
        } else if (!unknown) {
            unknown = true;
            shape[n++] = -1;
        } else {
            return false;
        }
        if (n > MAX_RANK)
            return false;
    }
    if (!unknown && n > 0 && chance(g, 30)) { /* the whole must be there to tell it */
        const int at = pick(g, 0, (int)n - 1);
        bool empty = false;
        for (int d = 0; d < r; d++)
            empty |= least_size(g, &x, d) == 0;
        if (!empty)
            shape[at] = -1;
    }
    if (unknown) {
        for (int d = 0; d < r; d++) {
            if (least_size(g, &x, d) == 0)
                return false;
        }
    }
    if (n == 0 || !ints(g, shape, n, &s) || !put2(g, "pd_op.reshape", &x, &s, NO_ATTRS, &y))
        return false;
    for (int set = 0; set < g->p->num_sets; set++) { /* of all elements */
        int64_t before = 1, after = 1;
        for (int d = 0; d < r; d++)
            before *= size_of(&x, set, d);
        for (int d = 0; d < rank_of(&y); d++)
            after *= size_of(&y, set, d);
        if (before != after)
            return false;
    }
    keep(g, &y);
    *of = y;
    return true;
}

static void reshape(gen *g)
{
    item x;

    if (!any_of(g, ALL, 0, 4, &x))
        return;
    for (int n = chance(g, 60) ? 1 : pick(g, 2, 3); n > 0 && rank_of(&x) <= 4 && reshape_once(g, &x); n--)
        ;
}

/* Dims of one come and go, and dims become one. */
static bool ranks_once(gen *g, item *x)
{
    int64_t axes[MAX_RANK];
    const int r = rank_of(x);
    item a, y;
    size_t n = 0;

    if (chance(g, 45)) {
        if (!ints(g, (int64_t[]){pick(g, -r - 1, r)}, 1, &a) || !put2(g, "pd_op.unsqueeze", x, &a, NO_ATTRS, &y))
            return false;
    } else if (r > 1 && chance(g, 40)) {
        const int from = pick(g, 0, r - 2);
        if (!put1(g, "pd_op.flatten", x, ATTRS({"start_axis", I32(from)}, {"stop_axis", I32(pick(g, from + 1, r - 1))}), &y))
            return false;
    } else {
        for (int d = 0; d < r; d++) {
            if (dim_of(x, d) == 1)
                axes[n++] = d;
        }
        if (n == 0 || !ints(g, axes, n, &a) || !put2(g, "pd_op.squeeze", x, &a, NO_ATTRS, &y))
            return false;
    }
    if (chance(g, 60))
        keep(g, &y);
    *x = y;
    return true;
}

static void ranks(gen *g)
{
    item x;

    if (!any_of(g, ALL, 0, 4, &x))
        return;
    for (int n = chance(g, 60) ? 1 : pick(g, 2, 3); n > 0 && rank_of(&x) <= 4 && ranks_once(g, &x); n--)
        ;
    if (chance(g, 20) && rank_of(&x) <= 4)
        (void)reshape_once(g, &x);
    keep(g, &x);
}

static void slice(gen *g)
{
    int64_t starts[MAX_RANK], ends[MAX_RANK], strides[MAX_RANK], axes[MAX_RANK], ones[MAX_RANK];
    int32_t axes32[MAX_RANK];
    size_t n = 0, gone = 0;
    int64_t decrease[MAX_RANK];
    item x, s, e, t, y;

    if (!any_of(g, ALL, 1, MAX_RANK, &x))
        return;
    const bool strided = chance(g, 30);
    for (int d = 0; d < rank_of(&x); d++) {
        if (!chance(g, 50))
            continue;
        axes[n] = d;
        axes32[n] = d;
        ones[n] = 1;
        strides[n] = pick(g, 1, 3);
        starts[n] = pick(g, -3, 3);
        ends[n] = chance(g, 40) ? INT32_MAX : starts[n] < 0 ? pick(g, (int)starts[n], -1) : pick(g, (int)starts[n], 6);
        if (!strided && dim_of(&x, d) > 0 && chance(g, 30)) {
            starts[n] = pick(g, 0, (int)dim_of(&x, d) - 1);
            ends[n] = starts[n] + 1;
            if (rank_of(&x) > 1 || chance(g, 50))
                decrease[gone++] = d;
        }
        if (strided && chance(g, 25)) { /* backwards */
            strides[n] = -pick(g, 1, 2);
            starts[n] = chance(g, 50) ? -1 : 10;
            ends[n] = -1000;
        }
        n++;
    }
    if (n == 0 || !ints(g, starts, n, &s) || !ints(g, ends, n, &e))
        return;
    if (strided) {
        if (ints(g, strides, n, &t) && put(g, "pd_op.strided_slice", (const item *const[]){&x, &s, &e, &t}, 4,
                                           ATTRS({"axes", pdm_ir_attr_i32s(g->c, axes32, n)}), &y, 1))
            keep(g, &y);
        return;
    }
    if (put(g, "pd_op.slice", (const item *const[]){&x, &s, &e}, 3,
            ATTRS({"axes", pdm_ir_attr_i64s(g->c, axes, n)}, {"infer_flags", pdm_ir_attr_i64s(g->c, ones, n)},
                  {"decrease_axis", pdm_ir_attr_i64s(g->c, decrease, gone)}),
            &y, 1))
        keep(g, &y);
}

/* builtin.combine of items. */
static bool combine(gen *g, const item *list, size_t count, item *out)
{
    pdm_ir_value *values[MAX_OPERANDS];
    pdm_ir_type types[MAX_OPERANDS];

    for (int s = 0; s <= g->p->num_sets; s++) {
        for (size_t i = 0; i < count; i++) {
            values[i] = s < g->p->num_sets ? list[i].shadow[s] : list[i].value;
            types[i] = values[i]->type;
        }
        const pdm_ir_type type = pdm_ir_type_vector(g->c, types, count);
        pdm_ir_op *op = type ? make(g, s < g->p->num_sets ? g->shadow : g->at, "builtin.combine", values, count, NO_ATTRS, &type, 1)
                             : NULL;
        if (!op)
            return false;
        *(s < g->p->num_sets ? &out->shadow[s] : &out->value) = pdm_ir_op_result(op, 0);
    }
    return true;
}

static void join(gen *g)
{
    item list[3], all, axis, y;
    const int n = pick(g, 1, 3);
    const bool is_stack = chance(g, 30);

    if (!any_of(g, ALL, is_stack ? 0 : 1, 4, &list[0]))
        return;
    const int at = rank_of(&list[0]) ? pick(g, 0, rank_of(&list[0]) - 1) : 0;
    for (int i = 1; i < n; i++) {
        bool found = false;
        for (int k = 0; k < 12 && !found; k++) { /* the same but for that dim */
            const item *y2 = &g->items[pick(g, 0, g->n - 1)];
            found = dtype_of(y2) == dtype_of(&list[0]) && rank_of(y2) == rank_of(&list[0]);
            for (int s = 0; found && s < g->p->num_sets; s++) {
                for (int d = 0; d < rank_of(y2); d++)
                    found &= (!is_stack && d == at) || size_of(y2, s, d) == size_of(&list[0], s, d);
            }
            list[i] = found ? *y2 : list[0];
        }
    }
    if (!combine(g, list, (size_t)n, &all))
        return;
    if (chance(g, 10)) { /* taken apart again */
        const int i = pick(g, 0, n - 1);
        pdm_ir_op *op = make(g, g->at, "builtin.slice", &all.value, 1, ATTRS({"index", I32(i)}), &list[i].value->type, 1);
        if (op) {
            list[i].value = pdm_ir_op_result(op, 0);
            keep(g, &list[i]);
        }
    }
    if (is_stack)
        keep1(g, "pd_op.stack", &all, ATTRS({"axis", I32(chance(g, 50) ? -1 : pick(g, 0, rank_of(&list[0])))}));
    else if (number(g, PDM_I32, chance(g, 30) ? at - rank_of(&list[0]) : at, &axis) && put2(g, "pd_op.concat", &all, &axis, NO_ATTRS, &y))
        keep(g, &y);
}

static void split(gen *g)
{
    item x, axis, list, parts[3];
    int64_t sections[3];
    size_t n = 0;

    if (!any_of(g, ALL, 1, 4, &x))
        return;
    const int d = pick(g, 0, rank_of(&x) - 1);
    const int64_t dim = dim_of(&x, d);
    if (dim < 2 || dim > 100 || !number(g, PDM_I32, d, &axis))
        return;
    /* By sections, into parts that are alike, or into all that there are, with or without that dim. */
    enum { SECTIONS, NUMBER, UNBIND, UNSTACK };
    const int kind = chance(g, 60) ? SECTIONS : dim <= 3 ? pick(g, NUMBER, UNSTACK) : dim % 2 == 0 ? NUMBER : SECTIONS;
    const int64_t alike = dim <= 3 ? dim : 2;
    const bool one_by_one = chance(g, 30);
    for (int64_t left = dim; left > 0 && n < 3; n++) {
        sections[n] = kind != SECTIONS ? dim / alike : n == 2 ? left : pick(g, 1, (int)left);
        left -= sections[n];
    }
    const pdm_ir_make_attr *attrs = kind == NUMBER    ? ATTRS({"num", I32(alike)})
                                    : kind == UNBIND  ? ATTRS({"axis", I32(d)})
                                    : kind == UNSTACK ? ATTRS({"axis", I32(d)}, {"num", I32(dim)})
                                                      : NO_ATTRS;
    for (int s = 0; s <= g->p->num_sets; s++) {
        static const char *const names[] = {"pd_op.split", "pd_op.split_with_num", "pd_op.unbind", "pd_op.unstack"};
        pdm_ir_value *v = s < g->p->num_sets ? x.shadow[s] : x.value;
        pdm_ir_value *in[3] = {v, kind == SECTIONS ? NULL : axis.value, axis.value};
        pdm_ir_type types[3];
        if (s == 0 && kind == SECTIONS && !ints(g, sections, n, &list))
            return;
        if (kind == SECTIONS)
            in[1] = list.value;
        for (size_t i = 0; i < n; i++) {
            int64_t dims[PDM_MAX_RANK];
            memcpy(dims, v->type->dims, v->type->rank * sizeof *dims);
            dims[d] = sections[i];
            uint32_t rank = v->type->rank;
            if (kind == UNBIND || kind == UNSTACK)
                memmove(dims + d, dims + d + 1, (--rank - (uint32_t)d) * sizeof *dims);
            types[i] = pdm_ir_type_tensor(g->c, v->type->dtype, dims, rank);
        }
        const pdm_ir_type vector = pdm_ir_type_vector(g->c, types, n);
        pdm_ir_op *before = s < g->p->num_sets ? g->shadow : g->at;
        pdm_ir_op *op = vector ? make(g, before, names[kind], in, kind == SECTIONS ? 3 : kind == NUMBER ? 2 : 1, attrs, &vector, 1)
                               : NULL;
        pdm_ir_value *whole = op ? pdm_ir_op_result(op, 0) : NULL;
        pdm_ir_op *taken = op && !one_by_one ? make(g, before, "builtin.split", &whole, 1, NO_ATTRS, types, n) : NULL;
        for (size_t i = 0; i < n; i++) {
            if (op && one_by_one)
                taken = make(g, before, "builtin.slice", &whole, 1, ATTRS({"index", I32(i)}), &types[i], 1);
            if (!taken)
                return;
            *(s < g->p->num_sets ? &parts[i].shadow[s] : &parts[i].value) = pdm_ir_op_result(taken, one_by_one ? 0 : i);
        }
    }
    g->ops++;
    for (size_t i = 0; i < n; i++)
        keep(g, &parts[i]);
}

static void gather(gen *g)
{
    item x, index, axis, y;

    if (!any_of(g, ALL, 1, 4, &x))
        return;
    const int d = pick(g, 0, rank_of(&x) - 1);
    const int64_t below = least_size(g, &x, d), count = pick(g, 1, 5);
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, chance(g, 50) ? PDM_I64 : PDM_I32, &count, 1);
    if (below < 1 || !type || !input(g, type, (pdm_ir_type[]){type, type, type, type, type}, below, &index))
        return;
    if (chance(g, 40))
        keep2(g, "pd_op.index_select", &x, &index, ATTRS({"axis", I32(d)}));
    else if (number(g, PDM_I32, d, &axis) && put(g, "pd_op.gather", (const item *const[]){&x, &index, &axis}, 3, NO_ATTRS, &y, 1))
        keep(g, &y);
}

static void widen(gen *g)
{
    int64_t list[MAX_RANK + 1];
    item x, s;

    if (!any_of(g, ALL, 0, 3, &x))
        return;
    const int more = pick(g, 0, 1), r = rank_of(&x) + more;
    const bool is_tile = chance(g, 40);
    if (r == 0)
        return;
    for (int d = 0; d < r; d++) {
        const int64_t dim = d < more ? 1 : dim_of(&x, d - more);
        list[d] = is_tile ? pick(g, 1, 3) : dim == 1 ? pick(g, 1, 4) : chance(g, 50) || dim < 0 ? -1 : dim;
    }
    if (ints(g, list, (size_t)r, &s))
        keep2(g, is_tile ? "pd_op.tile" : "pd_op.expand", &x, &s, NO_ATTRS);
}

static void turn(gen *g)
{
    int32_t axes[MAX_RANK];
    item x, s;
    size_t n = 0;

    if (!any_of(g, ALL, 1, MAX_RANK, &x))
        return;
    const int d = pick(g, 0, rank_of(&x) - 1);
    switch (pick(g, 0, 3)) {
    case 0:
        for (int i = 0; i < rank_of(&x); i++) {
            if (i == d || chance(g, 30))
                axes[n++] = i;
        }
        if (chance(g, 70))
            keep1(g, "pd_op.flip", &x, ATTRS({"axis", pdm_ir_attr_i32s(g->c, axes, n)}));
        else if (ints(g, (int64_t[]){d}, 1, &s))
            keep2(g, "pd_op.reverse", &x, &s, NO_ATTRS);
        break;
    case 1:
        if (ints(g, (int64_t[]){pick(g, -3, 3)}, 1, &s))
            keep2(g, "pd_op.roll", &x, &s, ATTRS({"axis", pdm_ir_attr_i64s(g->c, (int64_t[]){d}, 1)}));
        break;
    case 2:
        if (rank_of(&x) >= 2 && (BIT(dtype_of(&x)) & (REALS | WIDE | LOGICAL)))
            keep1(g, chance(g, 50) ? "pd_op.tril" : "pd_op.triu", &x, ATTRS({"diagonal", I32(pick(g, -2, 2))}));
        break;
    default: {
        int32_t pads[2 * MAX_RANK];
        for (int i = 0; i < 2 * rank_of(&x); i++)
            pads[i] = chance(g, 30) ? pick(g, 0, 2) : 0;
        if ((BIT(dtype_of(&x)) & (REALS | WIDE)) && number(g, dtype_of(&x), pick(g, 0, 1), &s))
            keep2(g, "pd_op.pad", &x, &s, ATTRS({"paddings", pdm_ir_attr_i32s(g->c, pads, 2 * (size_t)rank_of(&x))}));
    }
    }
}

/* Left, right, top, bottom, front, back. */
static void pad_image(gen *g)
{
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    int64_t pads[6];
    item x, y, a, s;
    const char *mode = ONE_OF(g, modes);

    if (!any_of(g, REALS | WIDE, 3, 5, &y))
        return;
    x = y;
    for (int r = rank_of(&y); r < 5; r++) {
        if (!ints(g, (int64_t[]){2}, 1, &a) || !put2(g, "pd_op.unsqueeze", &y, &a, NO_ATTRS, &x))
            return;
        y = x;
    }
    for (int i = 0; i < 6; i++) {
        const int64_t size = least_size(g, &x, 4 - i / 2);
        if (size == 0)
            return;
        /* No more than there is can be taken. */
        const int most = !strcmp(mode, "reflect") ? (size > 3 ? 2 : (int)size - 1) : size > 2 ? 2 : (int)size;
        pads[i] = chance(g, 50) ? pick(g, 0, most) : 0;
    }
    if (ints(g, pads, 6, &s))
        keep2(g, "pd_op.pad3d", &x, &s,
              ATTRS({"mode", STR(mode)}, {"pad_value", pdm_ir_attr_f64(g->c, pick(g, 0, 2) / 2.0)}, {"data_format", STR("NCDHW")}));
}

static void one_hot(gen *g)
{
    item x, depth, low, high, y;

    if (!any_of(g, WIDE, 0, 3, &x) || !number(g, dtype_of(&x), 0, &low) || !number(g, dtype_of(&x), 3, &high) ||
        !number(g, PDM_I32, 4, &depth) || !put(g, "pd_op.clip", (const item *const[]){&x, &low, &high}, 3, NO_ATTRS, &y, 1))
        return;
    keep2(g, "pd_op.one_hot", &y, &depth, NO_ATTRS);
}

/* An op whose second operand tells the sizes of its result, those of `like`: inference cannot know them in the shadows. */
static void sized(gen *g, const char *name, const item *x, const item *sizes, const item *like, const pdm_ir_make_attr *attrs)
{
    pdm_ir_value *in[] = {x->value, sizes->value};
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, dtype_of(x), like->value->type->dims, like->value->type->rank);
    item y = *like;

    pdm_ir_op *op = type ? make(g, g->at, name, in, 2, attrs, &type, 1) : NULL;
    if (!op)
        return;
    for (int s = 0; s < g->p->num_sets; s++) {
        const pdm_ir_type t = pdm_ir_type_tensor(g->c, dtype_of(x), like->shadow[s]->type->dims, like->shadow[s]->type->rank);
        pdm_ir_op *shadow = t ? make(g, g->shadow, "pd_op.full", NULL, 0,
                                     ATTRS({"shape", pdm_ir_attr_int_array(g->c, t->dims, t->rank)}, {"value", scalar(g, PDM_F64, 0)},
                                           {"dtype", DTYPE(t->dtype)}),
                                     &t, 1)
                              : NULL;
        if (!shadow)
            return;
        y.shadow[s] = pdm_ir_op_result(shadow, 0);
    }
    y.value = pdm_ir_op_result(op, 0);
    g->ops++;
    keep(g, &y);
}

/* Sizes as values, and what takes them. */
static void shapes(gen *g)
{
    item x, s, y;

    if (!any_of(g, ALL, 1, 4, &x) || !put1(g, chance(g, 50) ? "pd_op.shape64" : "pd_op.shape", &x, NO_ATTRS, &s))
        return;
    if (chance(g, 30))
        keep(g, &s);
    switch (pick(g, 0, 3)) {
    case 0:
        if (put1(g, "pd_op.flatten", &x, ATTRS({"start_axis", I32(0)}, {"stop_axis", I32(rank_of(&x) - 1)}), &y))
            sized(g, "pd_op.reshape", &y, &s, &x, NO_ATTRS);
        break;
    case 1:
        if (beside(g, &x, draw_dtype(g, ALL), &y) && rank_of(&y) > 0 && widens_to(g, &y, &x))
            sized(g, "pd_op.expand", &y, &s, &x, NO_ATTRS);
        break;
    case 2: {
        const pdm_dtype dtype = draw_dtype(g, REALS | WIDE | LOGICAL);
        if (number(g, dtype, pick(g, 0, 3), &y)) /* its value, or one that is computed */
            sized(g, "pd_op.full_with_tensor", &y, &s, &x, ATTRS({"dtype", DTYPE(dtype)}));
        break;
    }
    default:
        break;
    }
}

/* An element of a list of sizes, without a dim. */
static bool size_at(gen *g, const item *list, int at, item *out)
{
    const int64_t axis = 0, one = 1;
    item from, to;

    return ints(g, (int64_t[]){at}, 1, &from) && ints(g, (int64_t[]){at + 1}, 1, &to) &&
           put(g, "pd_op.slice", (const item *const[]){list, &from, &to}, 3,
               ATTRS({"axes", pdm_ir_attr_i64s(g->c, &axis, 1)}, {"infer_flags", pdm_ir_attr_i64s(g->c, &one, 1)},
                     {"decrease_axis", pdm_ir_attr_i64s(g->c, &axis, 1)}),
               out, 1);
}

/* Whole numbers that follow each other, as many as a dim of a value tells, or known ones. */
static void series(gen *g)
{
    const pdm_dtype dtype = chance(g, 50) ? PDM_I64 : PDM_I32;
    item x, s, from, to, by, y;

    if (chance(g, 30)) {
        if (number(g, dtype, pick(g, -2, 3), &from) && number(g, dtype, pick(g, 4, 9), &to) && number(g, dtype, pick(g, 1, 3), &by) &&
            put(g, "pd_op.arange", (const item *const[]){&from, &to, &by}, 3, ATTRS({"dtype", DTYPE(dtype)}), &y, 1))
            keep(g, &y);
        return;
    }
    if (!any_of(g, ALL, 1, 4, &x) || !put1(g, dtype == PDM_I64 ? "pd_op.shape64" : "pd_op.shape", &x, NO_ATTRS, &s))
        return;
    const int d = pick(g, 0, rank_of(&x) - 1);
    const int64_t declared = dim_of(&x, d);
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, dtype, &declared, 1);
    if (!type || !size_at(g, &s, d, &to) || !number(g, dtype, 0, &from) || !number(g, dtype, 1, &by))
        return;
    y.value = NULL;
    for (int set = 0; set <= g->p->num_sets; set++) {
        const int64_t size = set < g->p->num_sets ? size_of(&x, set, d) : 0;
        pdm_ir_value *in[] = {from.value, to.value, by.value};
        const pdm_ir_type t = set < g->p->num_sets ? pdm_ir_type_tensor(g->c, dtype, &size, 1) : type;
        pdm_ir_op *op = !t ? NULL
                        : set < g->p->num_sets
                            ? make(g, g->shadow, "pd_op.full", NULL, 0,
                                   ATTRS({"shape", pdm_ir_attr_int_array(g->c, &size, 1)}, {"value", scalar(g, PDM_F64, 0)},
                                         {"dtype", DTYPE(dtype)}),
                                   &t, 1)
                            : make(g, g->at, "pd_op.arange", in, 3, ATTRS({"dtype", DTYPE(dtype)}), &t, 1);
        if (!op)
            return;
        *(set < g->p->num_sets ? &y.shadow[set] : &y.value) = pdm_ir_op_result(op, 0);
    }
    g->ops++;
    keep(g, &y);
    keep1(g, "pd_op.cast", &y, ATTRS({"dtype", DTYPE(PDM_F32)}));
}

/* The last two dims change places, by the shape of the operand: in memory all stays. */
static void own_shape(gen *g)
{
    item x, s, list, dims[MAX_OPERANDS], like;

    if (!any_of(g, ALL, 2, 4, &x) || !put1(g, chance(g, 50) ? "pd_op.shape64" : "pd_op.shape", &x, NO_ATTRS, &s))
        return;
    const int r = rank_of(&x);
    for (int d = 0; d < r; d++) { /* pass dims copies dimensions that are not known, which are 0 when there are no elements */
        if (dim_of(&x, d) < 0 && least_size(g, &x, d) == 0)
            return;
    }
    for (int d = 0; d < r; d++) {
        const int from = d < r - 2 ? d : 2 * r - 3 - d;
        const bool known_one = dim_of(&x, from) >= 0 && dtype_of(&s) == PDM_I64 && chance(g, 20);
        if (known_one ? !full(g, PDM_I64, NULL, 0, (double)dim_of(&x, from), &dims[d]) : !size_at(g, &s, from, &dims[d]))
            return;
    }
    if (combine(g, dims, (size_t)r, &list) && swapped(g, &x, &like))
        sized(g, "pd_op.reshape", &x, &list, &like, NO_ATTRS);
}

/* The largest one of x. */
static bool one_element(gen *g, const item *x, item *out)
{
    item axes, y, shape;

    return ints(g, NULL, 0, &axes) && ints(g, (int64_t[]){1}, 1, &shape) && put2(g, "pd_op.max", x, &axes, NO_ATTRS, &y) &&
           put2(g, "pd_op.reshape", &y, &shape, NO_ATTRS, out);
}

/* Ops that take what they make from another value, or from attributes. */
static void others(gen *g)
{
    int32_t axes[MAX_RANK];
    int64_t some[MAX_RANK];
    item x, y, z;

    if (!any_of(g, REALS, 1, 4, &x))
        return;
    const size_t n = draw_axes(g, rank_of(&x), some);
    for (size_t i = 0; i < n; i++)
        axes[i] = (int32_t)some[i];
    for (int d = 0; d < rank_of(&x); d++) {
        if (least_size(g, &x, d) == 0)
            return;
    }
    switch (pick(g, 0, 7)) {
    case 0:
        if (number(g, dtype_of(&x), pick(g, -2, 2), &y))
            keep2(g, "pd_op.full_like", &x, &y, ATTRS({"dtype", DTYPE(dtype_of(&x))}));
        break;
    case 1:
        if (beside(g, &x, draw_dtype(g, REALS | WIDE), &y) && rank_of(&y) > 0 && rank_of(&y) <= rank_of(&x) &&
            widens_to(g, &y, &x) && put2(g, "pd_op.expand_as", &y, &x, NO_ATTRS, &z) && same_sizes(g, &z, &x))
            keep(g, &z);
        break;
    case 2:
        keep1(g, "pd_op.numel", &x, NO_ATTRS);
        break;
    case 3:
        keep1(g, "pd_op.logsumexp", &x,
              ATTRS({"axis", pdm_ir_attr_i32s(g->c, axes, n)}, {"keepdim", BOOL(chance(g, 50))}, {"reduce_all", BOOL(n == 0)}));
        break;
    case 4:
        keep1(g, "pd_op.p_norm", &x,
              ATTRS({"porder", F32(pick(g, 1, 2))}, {"axis", I32(pick(g, 0, rank_of(&x) - 1))}, {"keepdim", BOOL(chance(g, 50))}));
        break;
    case 5:
        if (chance(g, 20) ? number(g, PDM_F32, 1, &y) : one_element(g, &x, &y))
            keep1(g, "pd_op.increment", &y, ATTRS({"value", F32(2.5)}));
        break;
    default: {
        const bool linear = chance(g, 50);
        if (!any_of(g, BIT(PDM_F32), 4, 4, &x) || dim_of(&x, 1) < 0)
            return;
        for (int d = 0; d < 4; d++) {
            if (least_size(g, &x, d) == 0)
                return;
        }
        if (put(g, linear ? "pd_op.bilinear_interp" : "pd_op.nearest_interp", (const item *const[]){&x, NULL, NULL, NULL}, 4,
                ATTRS({"out_h", I32(pick(g, 1, 6))}, {"out_w", I32(pick(g, 1, 6))}, {"align_corners", BOOL(linear && chance(g, 50))},
                      {"align_mode", I32(pick(g, 0, 1))}, {"interp_method", STR(linear ? "bilinear" : "nearest")}),
                &y, 1))
            keep(g, &y);
    }
    }
}

/* Indices below `below` as an input. */
static bool indices(gen *g, const int64_t *dims, size_t rank, int64_t below, item *out)
{
    const pdm_ir_type type = pdm_ir_type_tensor(g->c, chance(g, 50) ? PDM_I64 : PDM_I32, dims, rank);

    return below > 0 && type && input(g, type, (pdm_ir_type[]){type, type, type, type, type}, below, out);
}

/* By indices of several axes, or by an index for each element. */
static void picking(gen *g)
{
    int64_t dims[MAX_RANK];
    item x, index;

    if (!any_of(g, ALL, 1, 4, &x))
        return;
    const int r = rank_of(&x);
    int64_t below = INT64_MAX;
    switch (pick(g, 0, 2)) {
    case 0: {
        const int length = pick(g, 1, r);
        for (int d = 0; d < length; d++)
            below = least_size(g, &x, d) < below ? least_size(g, &x, d) : below;
        if (indices(g, (int64_t[]){pick(g, 1, 4), length}, 2, below, &index))
            keep2(g, "pd_op.gather_nd", &x, &index, NO_ATTRS);
        break;
    }
    case 1: {
        const int axis = pick(g, 0, r - 1);
        for (int d = 0; d < r; d++) {
            dims[d] = d == axis ? pick(g, 1, 4) : dim_of(&x, d);
            if (dims[d] < 0)
                return;
        }
        if (indices(g, dims, (size_t)r, least_size(g, &x, axis), &index))
            keep2(g, "pd_op.take_along_axis", &x, &index, ATTRS({"axis", I32(axis)}));
        break;
    }
    default:
        if (r == 2 && dim_of(&x, 0) >= 0 && (BIT(dtype_of(&x)) & (REALS | WIDE)) &&
            indices(g, (int64_t[]){dim_of(&x, 0), pick(g, 1, 4)}, 2, least_size(g, &x, 1), &index))
            keep2(g, "pd_op.index_sample", &x, &index, NO_ATTRS);
    }
}

/* Images: channels change places, among each other or with what is below and beside; slopes of channels. */
static void channels(gen *g)
{
    item x, y;

    if (!any_of(g, REALS, 4, 4, &x) || dim_of(&x, 1) <= 0)
        return;
    for (int d = 0; d < 4; d++) {
        if (least_size(g, &x, d) == 0)
            return;
    }
    const int64_t count = dim_of(&x, 1);
    switch (pick(g, 0, 3)) {
    case 0:
        if (chance(g, 50))
            keep1(g, "pd_op.channel_shuffle", &x, ATTRS({"groups", I32(count % 2 ? count : 2)}));
        else
            keep1(g, "pd_op.shuffle_channel", &x, ATTRS({"group", I32(count % 2 ? count : 2)}));
        break;
    case 1:
        if (count % 4 == 0)
            keep1(g, "pd_op.pixel_shuffle", &x, ATTRS({"upscale_factor", I32(2)}));
        else
            keep1(g, "pd_op.pixel_shuffle", &x, ATTRS({"upscale_factor", I32(1)}));
        break;
    case 2: {
        const bool halves = dim_of(&x, 2) > 0 && dim_of(&x, 3) > 0 && dim_of(&x, 2) % 2 == 0 && dim_of(&x, 3) % 2 == 0;
        keep1(g, "pd_op.pixel_unshuffle", &x, ATTRS({"downscale_factor", I32(halves ? 2 : 1)}));
        break;
    }
    default: {
        const bool all = chance(g, 40);
        if (affine(g, dtype_of(&x), all ? 1 : count, &y))
            keep2(g, "pd_op.prelu", &x, &y, ATTRS({"mode", STR(all ? "all" : "channel")}));
    }
    }
}

/* To whole numbers of a few bits, and back. */
static void quantize(gen *g)
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

/* Some of a tensor is set to others. */
static void set_part(gen *g)
{
    item x, v, from, to, by, y;

    if (!any_of(g, REALS | WIDE, 1, 4, &x))
        return;
    const int64_t d = pick(g, 0, rank_of(&x) - 1), size = least_size(g, &x, (int)d);
    if (size < 1 || size > 1000)
        return;
    const int64_t start = pick(g, 0, (int)size - 1), end = pick(g, (int)start + 1, (int)size), step = pick(g, 1, 2);
    if (number(g, dtype_of(&x), pick(g, -2, 2), &v) && ints(g, &start, 1, &from) && ints(g, &end, 1, &to) && ints(g, &step, 1, &by)) {
        const item *const in[] = {&x, &v, &from, &to, &by};
        if (put(g, "pd_op.set_value_with_tensor", in, 5,
                ATTRS({"axes", pdm_ir_attr_i64s(g->c, &d, 1)}, {"decrease_axes", pdm_ir_attr_i64s(g->c, NULL, 0)},
                      {"none_axes", pdm_ir_attr_i64s(g->c, NULL, 0)}),
                &y, 1))
            keep(g, &y);
    }
}

static void rms_norm(gen *g)
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

/* Rows of a table. */
static void embedding(gen *g)
{
    const int64_t dims[] = {pick(g, 1, 6), pick(g, 1, 5)}, count = pick(g, 1, 5);
    item ids, table;

    const pdm_ir_type type = pdm_ir_type_tensor(g->c, chance(g, 50) ? PDM_I64 : PDM_I32, &count, 1);
    const pdm_ir_type rows = pdm_ir_type_tensor(g->c, PDM_F32, dims, 2);
    if (type && rows && input(g, type, (pdm_ir_type[]){type, type, type, type, type}, dims[0], &ids) && parameter(g, rows, &table))
        keep2(g, "pd_op.embedding", &ids, &table, NO_ATTRS);
}

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
