/* Ops that move elements, or tell and change shapes. */
#include <string.h>

#include "draw.h"

/* ---- movement -------------------------------------------------------------------------------- */

void transpose(gen *g)
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

void reshape(gen *g)
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

void ranks(gen *g)
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

void slice(gen *g)
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
bool combine(gen *g, const item *list, size_t count, item *out)
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

void join(gen *g)
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

void split(gen *g)
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

void gather(gen *g)
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

void widen(gen *g)
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

void turn(gen *g)
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
void pad_image(gen *g)
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

void one_hot(gen *g)
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
void shapes(gen *g)
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
void series(gen *g)
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
void own_shape(gen *g)
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
void others(gen *g)
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
void picking(gen *g)
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
void channels(gen *g)
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

/* Some of a tensor is set to others. */
void set_part(gen *g)
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

/* Rows of a table. */
void embedding(gen *g)
{
    const int64_t dims[] = {pick(g, 1, 6), pick(g, 1, 5)}, count = pick(g, 1, 5);
    item ids, table;

    const pdm_ir_type type = pdm_ir_type_tensor(g->c, chance(g, 50) ? PDM_I64 : PDM_I32, &count, 1);
    const pdm_ir_type rows = pdm_ir_type_tensor(g->c, PDM_F32, dims, 2);
    if (type && rows && input(g, type, (pdm_ir_type[]){type, type, type, type, type}, dims[0], &ids) && parameter(g, rows, &table))
        keep2(g, "pd_op.embedding", &ids, &table, NO_ATTRS);
}
