#include "ir/shapes.h"

#include <stdlib.h>
#include <string.h>

#include "ir/infer_impl.h"
#include "ir/shapes_impl.h"

enum { MAX_DEPTH = 256, MAX_DATA = PDM_IR_MAX_INTS };

/* ---- records --------------------------------------------------------------------------------- */

static void *room(pdm_ir_shapes *s, size_t count, size_t size)
{
    void *p = pdm_arena_calloc(&s->arena, count ? count : 1, size);

    if (!p)
        s->status = PDM_NOMEM;
    return p;
}

static const pdm_ir_shape *find(const pdm_ir_shapes *s, const pdm_ir_value *value)
{
    const pdm_map_entry *entry = value ? pdm_map_find(&s->values, value) : NULL;

    return entry ? entry->value.ptr : NULL;
}

pdm_ir_shape *pdm_ir_shapes_record(pdm_ir_shapes *s, const pdm_ir_value *value)
{
    pdm_map_entry *entry = pdm_map_put(&s->values, value);

    if (!entry) {
        s->status = PDM_NOMEM;
        return NULL;
    }
    if (!entry->value.ptr) {
        pdm_ir_shape *shape = room(s, 1, sizeof *shape);
        if (!shape)
            return NULL;
        shape->rank = -1;
        if (value->type && value->type->kind == PDM_IR_VECTOR) {
            shape->elements = room(s, value->type->num_elements, sizeof *shape);
            shape->num_elements = shape->elements ? value->type->num_elements : 0;
            for (size_t i = 0; i < shape->num_elements; i++)
                shape->elements[i].rank = -1;
        }
        entry->value.ptr = shape;
    }
    return entry->value.ptr;
}

void pdm_ir_shapes_set_dims(pdm_ir_shapes *s, pdm_ir_shape *shape, int rank, const pdm_dim *dims)
{
    pdm_dim *copy = rank > 0 ? room(s, (size_t)rank, sizeof *copy) : NULL;

    if (rank > 0 && !copy)
        return;
    for (int i = 0; i < rank; i++)
        copy[i] = dims[i];
    shape->rank = rank;
    shape->dims = copy;
}

void pdm_ir_shapes_set_data(pdm_ir_shapes *s, pdm_ir_shape *shape, size_t n, const pdm_dim *data)
{
    pdm_dim *copy = n <= MAX_DATA ? room(s, n, sizeof *copy) : NULL;

    shape->data = copy;
    shape->num_data = copy ? n : 0;
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = data[i];
}

void pdm_ir_shapes_copy(pdm_ir_shapes *s, pdm_ir_shape *to, const pdm_ir_shape *from)
{
    to->data = NULL;
    to->num_data = 0;
    to->rank = -1;
    if (!from)
        return;
    pdm_ir_shapes_set_dims(s, to, from->rank, from->dims);
    if (from->data)
        pdm_ir_shapes_set_data(s, to, from->num_data, from->data);
    for (size_t i = 0; i < to->num_elements && i < from->num_elements; i++)
        pdm_ir_shapes_copy(s, &to->elements[i], &from->elements[i]);
}

const pdm_ir_shape *pdm_ir_shapes_of(const pdm_ir_shapes *shapes, const pdm_ir_value *value)
{
    return find(shapes, value);
}

/* ---- for infer-meta -------------------------------------------------------------------------- */

pdm_dim pdm_ir_shapes_dim(pdm_ir_shapes *s, int64_t dim)
{
    if (PDM_IR_IS_EXPR(dim))
        return pdm_dim_resolve(&s->dims, s->dims.all.v[dim - INT64_MIN]);
    return dim < 0 ? NULL : pdm_dim_int(&s->dims, dim);
}

int64_t pdm_ir_shapes_number(pdm_ir_shapes *s, pdm_dim e)
{
    e = pdm_dim_resolve(&s->dims, e);
    if (!e)
        return -1;
    if (e->kind == PDM_DIM_INT)
        return e->number < 0 || e->number > PDM_IR_BIG ? -1 : e->number;
    return INT64_MIN + (int64_t)e->id;
}

void pdm_ir_shapes_meta(pdm_ir_shapes *s, const pdm_ir_value *value, size_t element,
                        pdm_ir_meta *out)
{
    const pdm_ir_shape *shape = find(s, value);
    pdm_ir_type type = value->type;

    pdm_ir_meta_init(out);
    if (type && type->kind == PDM_IR_VECTOR) {
        type = element < type->num_elements ? type->elements[element] : NULL;
        shape = shape && element < shape->num_elements ? &shape->elements[element] : NULL;
    }
    if (!type)
        return;
    pdm_ir_meta_of_type(type, out);
    if (type->kind != PDM_IR_DENSE_TENSOR || !shape)
        return;
    out->rank = shape->rank;
    for (int i = 0; i < out->rank; i++)
        out->dims[i] = pdm_ir_shapes_number(s, shape->dims[i]);
}

static void put_int(pdm_ir_shapes *s, pdm_ir_ints *out, size_t at, pdm_dim e)
{
    e = pdm_dim_resolve(&s->dims, e);
    out->known[at] = e && e->kind == PDM_DIM_INT;
    out->v[at] = !out->known[at] ? pdm_ir_shapes_number(s, e)
                 : e->number > PDM_IR_BIG  ? PDM_IR_BIG
                 : e->number < -PDM_IR_BIG ? -PDM_IR_BIG
                                           : e->number;
    out->constant &= out->known[at];
}

/* Elements of one tensor, known or not; false: not even how many there are. */
static bool put_ints(pdm_ir_shapes *s, pdm_ir_ints *out, const pdm_ir_shape *shape)
{
    size_t n = shape->num_data;

    if (!shape->data) {
        const pdm_dim length = shape->rank == 1 ? pdm_dim_resolve(&s->dims, shape->dims[0]) : NULL;
        if (shape->rank != 0 && (!length || length->kind != PDM_DIM_INT || length->number < 0 ||
                                 length->number > MAX_DATA))
            return false;
        n = shape->rank == 0 ? 1 : (size_t)length->number;
    }
    if (n > MAX_DATA - out->n)
        return false;
    for (size_t i = 0; i < n; i++)
        put_int(s, out, out->n++, shape->data ? shape->data[i] : NULL);
    return true;
}

void pdm_ir_shapes_ints(pdm_ir_shapes *s, const pdm_ir_value *value, pdm_ir_ints *out)
{
    const pdm_ir_shape *shape = find(s, value);

    out->constant = out->counted = shape != NULL;
    if (!shape)
        return;
    if (!shape->elements)
        out->counted = put_ints(s, out, shape);
    for (size_t i = 0; out->counted && i < shape->num_elements; i++)
        out->counted = put_ints(s, out, &shape->elements[i]);
    if (!out->counted) {
        out->n = 0;
        out->constant = false;
    }
}

static void constrain(pdm_ir_shapes *s, pdm_dim a, pdm_dim b, bool equal)
{
    const pdm_ir_constraint c = {a, b, equal};

    for (size_t i = 0; i < s->constraints.n; i++) {
        const pdm_ir_constraint *o = &s->constraints.v[i];
        if (o->equal == equal && ((o->a == a && o->b == b) || (o->a == b && o->b == a)))
            return;
    }
    if (!PDM_VEC_PUSH(&s->constraints, c))
        s->status = PDM_NOMEM;
}

void pdm_ir_shapes_fit(pdm_ir_shapes *s, int64_t a, int64_t b)
{
    const pdm_dim x = pdm_ir_shapes_dim(s, a), y = pdm_ir_shapes_dim(s, b);

    if (x && y && x != y && s->depth == 0)
        constrain(s, x, y, false);
}

int64_t pdm_ir_shapes_equate(pdm_ir_shapes *s, int64_t a, int64_t b)
{
    const pdm_dim x = pdm_ir_shapes_dim(s, a), y = pdm_ir_shapes_dim(s, b);

    if (!x || !y || x == y)
        return x ? pdm_ir_shapes_number(s, x) : pdm_ir_shapes_number(s, y);
    if (s->depth > 0)
        return y->kind == PDM_DIM_INT ? b : a;
    if (!pdm_dims_equate(&s->dims, x, y))
        constrain(s, x, y, true);
    const pdm_dim now = pdm_dim_resolve(&s->dims, x), other = pdm_dim_resolve(&s->dims, y);
    return pdm_ir_shapes_number(s, other && other->kind == PDM_DIM_INT ? other : now);
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* The symbol of a dim that nobody tells: always the same one. */
static pdm_dim fresh(pdm_ir_shapes *s, pdm_ir_shape *shape, const pdm_ir_value *value,
                     uint32_t element, uint32_t axis, pdm_ir_symbol_origin origin)
{
    const pdm_ir_symbol symbol = {value, element, axis, origin};

    if (shape->fresh[axis])
        return pdm_dim_resolve(&s->dims, shape->fresh[axis]);
    const pdm_dim e = pdm_dim_symbol(&s->dims, 0, INT32_MAX);
    if (!e || !PDM_VEC_PUSH(&s->symbols, symbol)) {
        s->status = PDM_NOMEM;
        return NULL;
    }
    shape->fresh[axis] = e;
    return e;
}

/* A shape from what a rule tells. Types are not asked for the rest: what old programs declare is
 * wrong in places. */
static void set_shape(pdm_ir_shapes *s, pdm_ir_shape *shape, const pdm_ir_value *value,
                      uint32_t element, pdm_ir_type type, const pdm_ir_meta *meta,
                      pdm_ir_symbol_origin origin)
{
    pdm_dim dims[PDM_MAX_RANK];

    shape->data = NULL;
    shape->num_data = 0;
    shape->rank = -1;
    if (!type || type->kind != PDM_IR_DENSE_TENSOR)
        return;
    for (int i = 0; i < meta->rank; i++) {
        dims[i] = pdm_ir_shapes_dim(s, meta->dims[i]);
        if (!dims[i])
            dims[i] = fresh(s, shape, value, element, (uint32_t)i, origin);
        if (!dims[i])
            return;
    }
    pdm_ir_shapes_set_dims(s, shape, meta->rank, dims);
}

static void set_result(pdm_ir_shapes *s, const pdm_ir_value *value, const pdm_ir_meta *meta,
                       pdm_ir_symbol_origin origin)
{
    pdm_ir_shape *shape = value->type ? pdm_ir_shapes_record(s, value) : NULL;
    pdm_ir_meta none;

    if (!shape)
        return;
    pdm_ir_meta_init(&none);
    if (value->type->kind != PDM_IR_VECTOR) {
        set_shape(s, shape, value, 0, value->type, meta, origin);
        return;
    }
    for (uint32_t i = 0; i < shape->num_elements; i++)
        set_shape(s, &shape->elements[i], value, i, value->type->elements[i],
                  meta->elements && i < meta->num_elements ? &meta->elements[i] : &none, origin);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static void walk_region(pdm_ir_shapes *s, pdm_arena *scratch, const pdm_ir_region *region);

/* Whether a parameter may get another shape: the next run begins with what was set. */
static bool is_set(const pdm_ir_shapes *s, const pdm_ir_op *op)
{
    const pdm_ir_attr name = pdm_ir_op_attr(op, "parameter_name");

    for (const pdm_ir_use *use = pdm_ir_value_first_use(pdm_ir_op_result(op, 0)); use;
         use = use->next) {
        if (PDM_IR_IS(use->owner, pd_op, assign_out_) && pdm_ir_use_index(use) == 1)
            return true;
    }
    return name && name->kind == PDM_IR_ATTR_STR && pdm_map_find(&s->set, name->u.s.text);
}

static pdm_status find_set(void *user, pdm_ir_op *op)
{
    pdm_ir_shapes *s = user;
    const pdm_ir_attr name = pdm_ir_op_attr(op, "parameter_name");

    if (PDM_IR_IS(op, builtin, set_parameter) && name && name->kind == PDM_IR_ATTR_STR &&
        !pdm_map_put(&s->set, name->u.s.text))
        return PDM_NOMEM;
    return PDM_OK;
}

static void walk_plain(pdm_ir_shapes *s, pdm_arena *scratch, const pdm_ir_op *op)
{
    const pdm_ir_op_desc *desc = op->info->desc;
    const bool rule = desc && desc->infer && desc->infer != pdm_ir_infer_unknown &&
                      desc->infer != pdm_ir_infer_unknown_vector;
    const bool input = PDM_IR_IS(op, pd_op, data) || PDM_IR_IS(op, pd_op, feed) ||
                       PDM_IR_IS(op, builtin, parameter);
    const pdm_ir_symbol_origin origin = input  ? PDM_IR_SYMBOL_INPUT
                                        : rule ? PDM_IR_SYMBOL_FOUND
                                               : PDM_IR_SYMBOL_NO_RULE;
    pdm_ir_meta *metas;

    pdm_arena_reset(scratch);
    if (input) {
        /* Their types are what is true of them, but for parameters that the program sets. */
        for (uint32_t i = 0; i < op->num_results; i++) {
            pdm_ir_meta meta;
            pdm_ir_meta_of_value(pdm_ir_op_result(op, i), &meta);
            if (PDM_IR_IS(op, builtin, parameter) && is_set(s, op))
                pdm_ir_meta_init(&meta);
            set_result(s, pdm_ir_op_result(op, i), &meta, origin);
        }
        return;
    }
    const pdm_status status = pdm_ir_infer_op(scratch, op, s, &metas);
    if (status != PDM_OK) {
        s->status = status;
        return;
    }
    for (uint32_t i = 0; i < op->num_results; i++)
        set_result(s, pdm_ir_op_result(op, i), &metas[i], origin);
    pdm_ir_shapes_find_data(s, op);
}

/* ---- control flow ---------------------------------------------------------------------------- */

static const pdm_ir_op *yield_of(const pdm_ir_op *op, uint32_t region)
{
    const pdm_ir_region *r = region < op->num_regions ? pdm_ir_op_region(op, region) : NULL;
    const pdm_ir_op *last = r && r->last ? r->last->last : NULL;

    return last && PDM_IR_IS(last, cf, yield) ? last : NULL;
}

static bool same_dim(pdm_ir_shapes *s, pdm_dim a, pdm_dim b)
{
    return a == b || pdm_dim_resolve(&s->dims, a) == pdm_dim_resolve(&s->dims, b);
}

/* Where two shapes differ, `into` gets symbols of its own, and no data. Whether it changed. */
static bool join(pdm_ir_shapes *s, const pdm_ir_value *value, pdm_ir_shape *into,
                 const pdm_ir_shape *other, pdm_ir_symbol_origin origin)
{
    bool changed = false;

    if (!other || into->rank != other->rank) {
        changed = into->rank >= 0;
        into->rank = -1;
        into->data = NULL;
        into->num_data = 0;
        return changed;
    }
    for (int i = 0; i < into->rank; i++) {
        if (same_dim(s, into->dims[i], other->dims[i]))
            continue;
        const pdm_dim e = fresh(s, into, value, 0, (uint32_t)i, origin);
        if (!e)
            return false;
        changed |= !same_dim(s, into->dims[i], e);
        into->dims[i] = e;
    }
    if (into->data && (!other->data || other->num_data != into->num_data)) {
        into->data = NULL;
        into->num_data = 0;
        return true;
    }
    for (size_t i = 0; i < into->num_data; i++) {
        if (into->data[i] && (!other->data[i] || !same_dim(s, into->data[i], other->data[i]))) {
            into->data[i] = NULL;
            changed = true;
        }
    }
    return changed;
}

static void walk_if(pdm_ir_shapes *s, pdm_arena *scratch, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_regions; i++)
        walk_region(s, scratch, pdm_ir_op_region(op, i));
    const pdm_ir_op *yes = yield_of(op, 0), *no = yield_of(op, 1);
    for (uint32_t i = 0; i < op->num_results; i++) {
        const pdm_ir_value *result = pdm_ir_op_result(op, i);
        pdm_ir_shape *shape = result->type ? pdm_ir_shapes_record(s, result) : NULL;
        if (!shape)
            continue;
        pdm_ir_shapes_copy(s, shape,
                           yes && i < yes->num_operands
                               ? find(s, pdm_ir_op_operand_value(yes, i))
                               : NULL);
        if (no && i < no->num_operands)
            (void)join(s, result, shape, find(s, pdm_ir_op_operand_value(no, i)),
                       PDM_IR_SYMBOL_JOINED);
    }
}

static bool turn(pdm_ir_shapes *s, pdm_arena *scratch, const pdm_ir_op *op,
                 const pdm_ir_block *block)
{
    bool changed = false;

    walk_region(s, scratch, pdm_ir_op_region(op, 0));
    const pdm_ir_op *yield = yield_of(op, 0);
    for (uint32_t i = 0; yield && s->status == PDM_OK && i < block->num_args; i++) {
        const pdm_ir_value *arg = pdm_ir_block_arg(block, i);
        pdm_ir_shape *shape = pdm_ir_shapes_record(s, arg);
        if (!shape || i + 1 >= yield->num_operands)
            break;
        changed |= join(s, arg, shape, find(s, pdm_ir_op_operand_value(yield, i + 1)),
                        PDM_IR_SYMBOL_TURN);
    }
    return changed;
}

/* Each change makes a dim a symbol or an element unknown, and never takes that back. */
static void walk_while(pdm_ir_shapes *s, pdm_arena *scratch, const pdm_ir_op *op)
{
    const pdm_ir_region *body = pdm_ir_op_region(op, 0);
    const pdm_ir_block *block = body ? body->first : NULL;

    if (!block)
        return;
    for (uint32_t i = 0; i < block->num_args && i + 1 < op->num_operands; i++) {
        pdm_ir_shape *shape = pdm_ir_shapes_record(s, pdm_ir_block_arg(block, i));
        if (shape)
            pdm_ir_shapes_copy(s, shape, find(s, pdm_ir_op_operand_value(op, i + 1)));
    }
    while (s->status == PDM_OK && turn(s, scratch, op, block))
        ;
    for (uint32_t i = 0; i < op->num_results && i + 1 < op->num_operands; i++) {
        const pdm_ir_value *result = pdm_ir_op_result(op, i);
        pdm_ir_shape *shape = result->type ? pdm_ir_shapes_record(s, result) : NULL;
        if (!shape)
            continue;
        pdm_ir_shapes_copy(s, shape, find(s, pdm_ir_op_operand_value(op, i + 1)));
        if (i < block->num_args)
            (void)join(s, result, shape, find(s, pdm_ir_block_arg(block, i)),
                       PDM_IR_SYMBOL_JOINED);
    }
}

/* Groups yield their results. */
static void walk_group(pdm_ir_shapes *s, pdm_arena *scratch, const pdm_ir_op *op)
{
    pdm_ir_meta none;

    pdm_ir_meta_init(&none);
    for (uint32_t i = 0; i < op->num_regions; i++)
        walk_region(s, scratch, pdm_ir_op_region(op, i));
    const pdm_ir_op *yield = yield_of(op, 0);
    for (uint32_t i = 0; i < op->num_results; i++) {
        const pdm_ir_value *result = pdm_ir_op_result(op, i);
        const pdm_ir_shape *from =
            yield && i < yield->num_operands ? find(s, pdm_ir_op_operand_value(yield, i)) : NULL;
        pdm_ir_shape *shape = result->type && from ? pdm_ir_shapes_record(s, result) : NULL;
        if (shape)
            pdm_ir_shapes_copy(s, shape, from);
        else
            set_result(s, result, &none, PDM_IR_SYMBOL_NO_RULE);
    }
}

static void walk_op(pdm_ir_shapes *s, pdm_arena *scratch, const pdm_ir_op *op)
{
    if (PDM_IR_IS(op, cinn_op, group) || PDM_IR_IS(op, builtin, group)) {
        walk_group(s, scratch, op); /* its ops run whenever it does */
        return;
    }
    if (op->num_regions == 0) {
        walk_plain(s, scratch, op);
        return;
    }
    s->depth++;
    if (PDM_IR_IS(op, pd_op, while))
        walk_while(s, scratch, op);
    else if (PDM_IR_IS(op, pd_op, if))
        walk_if(s, scratch, op);
    else
        walk_group(s, scratch, op);
    s->depth--;
}

static void walk_region(pdm_ir_shapes *s, pdm_arena *scratch, const pdm_ir_region *region)
{
    if (!region || s->depth >= MAX_DEPTH)
        return;
    for (const pdm_ir_block *block = region->first; block; block = block->next) {
        for (const pdm_ir_op *op = block->first; op && s->status == PDM_OK; op = op->next)
            walk_op(s, scratch, op);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Symbols of inputs come first, in their order. */
static void walk_inputs(pdm_ir_shapes *s, pdm_arena *scratch, const pdm_ir_module *module)
{
    for (const pdm_ir_op *op = module->block->first; op && s->status == PDM_OK; op = op->next) {
        if (PDM_IR_IS(op, pd_op, data) || PDM_IR_IS(op, pd_op, feed))
            walk_plain(s, scratch, op);
    }
}

static void settle(pdm_ir_shapes *s, pdm_ir_shape *shape, bool tensor)
{
    if (tensor) {
        s->num_values++;
        s->num_unknown += shape->rank < 0;
    }
    for (int i = 0; i < shape->rank; i++)
        shape->dims[i] = pdm_dim_resolve(&s->dims, shape->dims[i]);
    for (size_t i = 0; i < shape->num_data; i++)
        shape->data[i] = pdm_dim_resolve(&s->dims, shape->data[i]);
}

/* What was found to be equal late holds for early values, too. */
static void settle_all(pdm_ir_shapes *s)
{
    for (size_t i = 0; i < s->values.capacity; i++) {
        const pdm_map_entry *entry = &s->values.entries[i];
        if (!entry->key)
            continue;
        const pdm_ir_value *value = entry->key;
        pdm_ir_shape *shape = entry->value.ptr;
        settle(s, shape, pdm_ir_type_is_tensor(value->type));
        for (size_t k = 0; k < shape->num_elements; k++)
            settle(s, &shape->elements[k], pdm_ir_type_is_tensor(value->type->elements[k]));
    }
    size_t n = 0;
    for (size_t i = 0; i < s->constraints.n; i++) {
        pdm_ir_constraint c = s->constraints.v[i];
        c.a = pdm_dim_resolve(&s->dims, c.a);
        c.b = pdm_dim_resolve(&s->dims, c.b);
        if (c.a && c.b && c.a != c.b && !pdm_dim_is_int(c.a, 1) && !pdm_dim_is_int(c.b, 1))
            s->constraints.v[n++] = c;
    }
    s->constraints.n = n;
}

pdm_status pdm_ir_shapes_find(const pdm_ir_module *module, pdm_ir_shapes **out_shapes)
{
    pdm_ir_shapes *s = calloc(1, sizeof *s);
    pdm_arena scratch;

    if (!s)
        return PDM_NOMEM;
    pdm_dims_init(&s->dims);
    pdm_map_init(&s->values);
    pdm_arena_init(&s->arena);
    pdm_arena_init(&scratch);
    s->status = pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, find_set, s);
    walk_inputs(s, &scratch, module);
    for (const pdm_ir_op *op = module->block->first; op && s->status == PDM_OK; op = op->next) {
        if (!PDM_IR_IS(op, pd_op, data) && !PDM_IR_IS(op, pd_op, feed))
            walk_op(s, &scratch, op);
    }
    pdm_arena_deinit(&scratch);
    if (s->status == PDM_OK && s->dims.status == PDM_OK)
        settle_all(s); /* else values may be without their shapes */
    const pdm_status status = s->status != PDM_OK ? s->status : s->dims.status;
    if (status != PDM_OK) {
        pdm_ir_shapes_destroy(s);
        return status;
    }
    *out_shapes = s;
    return PDM_OK;
}

void pdm_ir_shapes_destroy(pdm_ir_shapes *s)
{
    if (!s)
        return;
    pdm_dims_deinit(&s->dims);
    pdm_map_deinit(&s->values);
    pdm_map_deinit(&s->set);
    pdm_arena_deinit(&s->arena);
    PDM_VEC_FREE(&s->symbols);
    PDM_VEC_FREE(&s->constraints);
    free(s);
}
