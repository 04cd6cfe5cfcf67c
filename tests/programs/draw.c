/* Chance, types, inputs, and ops with their shadows. */
#include <math.h>
#include <stdio.h>

#include "draw.h"

/* ---- chance ---------------------------------------------------------------------------------- */

int pick(gen *g, int low, int high)
{
    g->random = g->random * 6364136223846793005u + 1442695040888963407u;
    return low + (int)((g->random >> 33) % (uint64_t)(high - low + 1));
}

bool chance(gen *g, int percent)
{
    return pick(g, 0, 99) < percent;
}

/* ---- types ----------------------------------------------------------------------------------- */

pdm_dtype draw_dtype(gen *g, unsigned mask)
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

pdm_dtype dtype_of(const item *x)
{
    return x->value->type->dtype;
}

int rank_of(const item *x)
{
    return (int)x->value->type->rank;
}

int64_t size_of(const item *x, int set, int dim)
{
    return x->shadow[set]->type->dims[dim];
}

/* The declared one. */
int64_t dim_of(const item *x, int dim)
{
    return x->value->type->dims[dim];
}

/* All sets have that size there. */
bool is_size(const gen *g, const item *x, int dim, int64_t size)
{
    for (int s = 0; s < g->p->num_sets; s++) {
        if (size_of(x, s, dim) != size)
            return false;
    }
    return true;
}

int64_t least_size(const gen *g, const item *x, int dim)
{
    int64_t least = INT64_MAX;

    for (int s = 0; s < g->p->num_sets; s++)
        least = size_of(x, s, dim) < least ? size_of(x, s, dim) : least;
    return least;
}

bool same_sizes(const gen *g, const item *a, const item *b)
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
bool fit_together(const gen *g, const item *a, const item *b)
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
bool widens_to(const gen *g, const item *y, const item *x)
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

pdm_ir_op *make(gen *g, pdm_ir_op *before, const char *name, pdm_ir_value *const *in, size_t num_in,
                const pdm_ir_make_attr *attrs, const pdm_ir_type *types, size_t num_types)
{
    const pdm_ir_op_info *info = pdm_ir_op_info_get(g->c, name, NULL);
    pdm_status status = PDM_NOMEM;

    pdm_ir_op *op = info ? pdm_ir_make(before, info->code, in, num_in, attrs, types, num_types, &status) : NULL;
    g->failed |= status != PDM_OK;
    return op;
}

void keep(gen *g, const item *x)
{
    if (g->n < MAX_ITEMS)
        g->items[g->n++] = *x;
}

/*
 * An op, and its shadows; out: as many results as wanted, not kept. NULL operands are absent. False: its types are not known, or
 * results would be too large; nothing is left of it then.
 */
bool put(gen *g, const char *name, const item *const *in, size_t num_in, const pdm_ir_make_attr *attrs, item *out,
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

bool put1(gen *g, const char *name, const item *x, const pdm_ir_make_attr *attrs, item *out)
{
    return put(g, name, &x, 1, attrs, out, 1);
}

bool put2(gen *g, const char *name, const item *x, const item *y, const pdm_ir_make_attr *attrs, item *out)
{
    return put(g, name, (const item *const[]){x, y}, 2, attrs, out, 1);
}

/* The same and kept. */
bool keep1(gen *g, const char *name, const item *x, const pdm_ir_make_attr *attrs)
{
    item out;

    if (!put1(g, name, x, attrs, &out))
        return false;
    keep(g, &out);
    return true;
}

bool keep2(gen *g, const char *name, const item *x, const item *y, const pdm_ir_make_attr *attrs)
{
    item out;

    if (!put2(g, name, x, y, attrs, &out))
        return false;
    keep(g, &out);
    return true;
}

item alike(gen *g, pdm_ir_value *value)
{
    item out = {.value = value};

    for (int s = 0; s < g->p->num_sets; s++)
        out.shadow[s] = value;
    return out;
}

pdm_ir_attr scalar(gen *g, pdm_dtype dtype, double number)
{
    struct pdm_ir_attr_s fields = {.kind = PDM_IR_ATTR_SCALAR, .dtype = dtype};

    if (pdm_dtype_is_float(dtype))
        fields.u.f = number;
    else
        fields.u.i = (int64_t)number;
    return pdm_ir_attr_intern(g->c, &fields);
}

bool full(gen *g, pdm_dtype dtype, const int64_t *dims, size_t rank, double number, item *out)
{
    pdm_ir_op *op = make(g, g->at, "pd_op.full", NULL, 0,
                         ATTRS({"shape", pdm_ir_attr_int_array(g->c, dims, rank)},
                               {"value", scalar(g, PDM_F64, number)}, {"dtype", DTYPE(dtype)}),
                         NULL, 0);
    if (op)
        *out = alike(g, pdm_ir_op_result(op, 0));
    return op != NULL;
}

bool number(gen *g, pdm_dtype dtype, double value, item *out)
{
    return full(g, dtype, (int64_t[]){1}, 1, value, out);
}

bool ints(gen *g, const int64_t *list, size_t count, item *out)
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
bool input(gen *g, pdm_ir_type declared, const pdm_ir_type *types, int64_t below, item *out)
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

bool parameter(gen *g, pdm_ir_type type, item *out)
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
bool any_of(gen *g, unsigned mask, int least, int most, item *out)
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

bool any(gen *g, unsigned mask, item *out)
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
bool beside(gen *g, const item *x, pdm_dtype dtype, item *out)
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
