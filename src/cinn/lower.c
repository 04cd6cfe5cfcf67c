#include "cinn/lower.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define NO_BUFFER UINT32_MAX

typedef struct value {
    const pdm_ir_value *ir;
    const pdm_ir_op *op; /* of the group; NULL: comes from outside */
    pdm_cinn_shape shape;
    uint32_t input;      /* number of an input; NO_BUFFER: it is none */
    bool constant;       /* of pd_op.full */
    double number;
    bool store;          /* it gets a buffer */
    uint32_t result;     /* of its op */
    uint32_t output;     /* the first output that it is; NO_BUFFER: none */
    uint32_t parts[PDM_CINN_MAX_PARTS]; /* buffers of its reductions, once there */
    uint32_t buffer;     /* where it can be read from now on; NO_BUFFER: nowhere */
    /* The element that was asked for last: most are asked for again with the same indices. */
    const pdm_loop_expr *at[PDM_MAX_RANK], *element;
} value;

/* A dim of an input that turned out to be another one, or a number. */
typedef struct merge {
    bool merged, to_number;
    int64_t number;
    uint32_t input, axis;
} merge;

struct pdm_cinn_lower {
    const pdm_ir_op *group;
    const pdm_cinn_actual *actual;
    pdm_loop_fn *fn;
    pdm_map index; /* ir value -> number of value + 1 */
    PDM_VEC(value) values;
    const pdm_ir_value *inputs[PDM_CINN_MAX_INPUTS];
    size_t num_inputs;
    merge *merges; /* by input and axis */
    int64_t symbols[PDM_CINN_MAX_INPUTS * PDM_MAX_RANK]; /* actual values */
    bool fixed; /* all dims are numbers: for these shapes alone */
    bool again; /* dims were merged: shapes must be found anew */
    PDM_VEC(pdm_loop_symbol) numbers; /* elements that are taken as numbers */
    PDM_VEC(uint32_t) written; /* buffers that the open loops write */
    uint32_t asked;            /* see pdm_cinn_asked */
    bool reads_written;        /* an element was asked for that is read from one of those */
};

/* ---- what a group has ------------------------------------------------------------------------ */

static const pdm_ir_block *body_of(const pdm_ir_op *group)
{
    return pdm_ir_op_region(group, 0)->first;
}

bool pdm_cinn_is_group(const pdm_ir_op *op)
{
    const pdm_ir_block *body = PDM_IR_IS(op, cinn_op, group) && op->num_regions == 1
                                   ? pdm_ir_op_region(op, 0)->first
                                   : NULL;

    return body && !body->next && body->num_args == 0 && body->last &&
           PDM_IR_IS(body->last, cf, yield) && body->last->num_operands == op->num_results;
}

static bool is_member(const pdm_ir_op *group, const pdm_ir_value *v)
{
    const pdm_ir_op *op = pdm_ir_value_op(v);

    return op && op->block == body_of(group);
}

size_t pdm_cinn_group_inputs(const pdm_ir_op *group, const pdm_ir_value **out)
{
    size_t n = 0;
    double number;

    for (const pdm_ir_op *op = body_of(group)->first; op; op = op->next) {
        const uint32_t count = pdm_cinn_rule_of(op) ? pdm_cinn_num_tensors(op) : 0;
        for (uint32_t i = 0; i < count; i++) {
            const pdm_ir_value *v = pdm_cinn_tensor(op, i);
            size_t k = 0;
            if (is_member(group, v) || pdm_cinn_constant(v, &number))
                continue;
            while (k < n && out[k] != v)
                k++;
            if (k < n)
                continue;
            if (n == PDM_CINN_MAX_INPUTS)
                return SIZE_MAX;
            out[n++] = v;
        }
    }
    return n;
}

/* ---- values ---------------------------------------------------------------------------------- */

static value *find(const pdm_cinn_lower *l, const pdm_ir_value *ir)
{
    const pdm_map_entry *entry = pdm_map_find(&l->index, ir);

    return entry ? &l->values.v[entry->value.num - 1] : NULL;
}

static value *add(pdm_cinn_lower *l, const pdm_ir_value *ir)
{
    const value v = {.ir = ir, .input = NO_BUFFER, .output = NO_BUFFER, .buffer = NO_BUFFER};
    pdm_map_entry *entry = pdm_map_put(&l->index, ir);

    if (!entry || !PDM_VEC_PUSH(&l->values, v)) {
        l->fn->status = PDM_NOMEM;
        return NULL;
    }
    entry->value.num = l->values.n;
    return &l->values.v[l->values.n - 1];
}

pdm_loop_fn *pdm_cinn_fn(pdm_cinn_lower *l)
{
    return l->fn;
}

const pdm_cinn_shape *pdm_cinn_shape_of(pdm_cinn_lower *l, const pdm_ir_value *ir)
{
    const value *v = find(l, ir);

    return v ? &v->shape : NULL;
}

/* ---- dims ------------------------------------------------------------------------------------ */

static merge *merge_at(const pdm_cinn_lower *l, uint32_t input, uint32_t axis)
{
    return &l->merges[(size_t)input * PDM_MAX_RANK + axis];
}

/* Symbols are made in the order of inputs and axes, so what a dim was merged with is there. */
static const pdm_loop_expr *input_dim(pdm_cinn_lower *l, uint32_t input, uint32_t axis)
{
    const int64_t declared = l->inputs[input]->type->dims[axis];
    const int64_t actual = l->actual ? l->actual[input].dims[axis] : declared;
    const merge *m = merge_at(l, input, axis);

    if (m->merged && m->to_number)
        return pdm_loop_index(l->fn, m->number);
    if (m->merged)
        return find(l, l->inputs[m->input])->shape.dims[m->axis];
    if (actual == 0 || actual == 1 || l->fixed || (declared >= 0 && declared == actual))
        return pdm_loop_index(l->fn, actual);
    pdm_cinn_noted known;
    if (pdm_cinn_noted_dim(l->group, l->inputs, input, axis, &known)) {
        if (known.is_number && (!l->actual || actual == known.number))
            return pdm_loop_index(l->fn, known.number);
        if (!known.is_number && (!l->actual || actual == l->actual[known.input].dims[known.axis]))
            return find(l, l->inputs[known.input])->shape.dims[known.axis];
    }
    l->symbols[l->fn->symbols.n] = actual;
    return pdm_loop_add_symbol(l->fn, input, axis);
}

/* The number in a product. */
static int64_t largest_factor(const pdm_loop_expr *e)
{
    if (e->kind == PDM_LOOP_CONST)
        return e->u.i > 0 ? e->u.i : 1;
    return e->kind == PDM_LOOP_BINARY && e->op == PDM_LOOP_MUL ? largest_factor(e->args[1]) : 1;
}

/* Take away factors that two products share. */
static void shorten(pdm_cinn_lower *l, const pdm_loop_expr **a, const pdm_loop_expr **b)
{
    for (uint32_t i = 0; i <= l->fn->symbols.n; i++) {
        const bool number = i == l->fn->symbols.n;
        const int64_t n = number ? largest_factor(*b) : 0;
        const pdm_loop_expr *factor = number ? pdm_loop_index(l->fn, n) : pdm_loop_symbol_at(l->fn, i);
        const pdm_loop_expr *x = n == 1 ? NULL : pdm_loop_quotient(l->fn, *a, factor);
        const pdm_loop_expr *y = x ? pdm_loop_quotient(l->fn, *b, factor) : NULL;
        if (x && y) {
            *a = x;
            *b = y;
        }
    }
}

bool pdm_cinn_require_equal(pdm_cinn_lower *l, const pdm_loop_expr *a, const pdm_loop_expr *b)
{
    if (a == b)
        return true;
    if (!a || !b || (l->actual && pdm_loop_eval(a, l->symbols) != pdm_loop_eval(b, l->symbols)))
        return false;
    shorten(l, &a, &b);
    if (!a || !b || l->fn->status != PDM_OK)
        return false;
    if (a->kind != PDM_LOOP_SYMBOL ||
        (b->kind == PDM_LOOP_SYMBOL && a->u.index < b->u.index)) {
        const pdm_loop_expr *t = a;
        a = b;
        b = t;
    }
    /* Two expressions that are not known to be equal always: not now. */
    if (a->kind != PDM_LOOP_SYMBOL || (b->kind != PDM_LOOP_SYMBOL && b->kind != PDM_LOOP_CONST))
        return false;
    const pdm_loop_symbol from = l->fn->symbols.v[a->u.index];
    if (from.element || (b->kind == PDM_LOOP_SYMBOL && l->fn->symbols.v[b->u.index].element)) {
        const pdm_loop_symbol element = from.element ? from : l->fn->symbols.v[b->u.index];
        /* Without values at hand it stays what it is: to try again would not end. */
        l->again = l->actual && PDM_VEC_PUSH(&l->numbers, element);
        return false;
    }
    merge *m = merge_at(l, from.input, from.axis);
    *m = (merge){.merged = true, .to_number = b->kind == PDM_LOOP_CONST};
    if (m->to_number) {
        m->number = b->u.i;
    } else {
        m->input = l->fn->symbols.v[b->u.index].input;
        m->axis = l->fn->symbols.v[b->u.index].axis;
    }
    l->again = true;
    return false;
}

/* ---- sizes that tensors tell ----------------------------------------------------------------- */

static bool is_number(const pdm_cinn_lower *l, uint32_t input, uint32_t element)
{
    for (size_t i = 0; i < l->numbers.n; i++) {
        if (l->numbers.v[i].input == input && l->numbers.v[i].axis == element)
            return true;
    }
    return false;
}

/* The dim that is as large now, else a symbol of its own. */
static const pdm_loop_expr *symbol_for(pdm_cinn_lower *l, uint32_t input, uint32_t element, int64_t size)
{
    pdm_loop_fn *fn = l->fn;

    for (size_t i = 0; l->actual && i < fn->symbols.n; i++) {
        if (!fn->symbols.v[i].element && l->symbols[i] == size)
            return pdm_loop_symbol_at(fn, (uint32_t)i);
    }
    if (fn->symbols.n == sizeof l->symbols / sizeof *l->symbols)
        return NULL;
    l->symbols[fn->symbols.n] = size;
    const pdm_loop_expr *symbol = pdm_loop_add_symbol(fn, input, element);
    if (symbol)
        fn->symbols.v[fn->symbols.n - 1].element = true;
    return symbol;
}

static const pdm_loop_expr *size_at(pdm_cinn_lower *l, const value *v, uint32_t element, bool exact)
{
    pdm_loop_fn *fn = l->fn;
    int64_t size = PDM_LOOP_LEAST_SYMBOL;

    for (size_t i = 0; i < fn->pins.n; i++) {
        if (fn->pins.v[i].input == v->input && fn->pins.v[i].element == element)
            return fn->pins.v[i].value;
    }
    if (l->actual && !pdm_cinn_actual_int(&l->actual[v->input], element, &size))
        return NULL;
    const bool number = size < PDM_LOOP_LEAST_SYMBOL ||
                        (l->actual && (exact || l->fixed || is_number(l, v->input, element)));
    const pdm_loop_pin pin = {v->input, element,
                              number ? pdm_loop_index(fn, size)
                                     : symbol_for(l, v->input, element, size)};
    if (pin.value && !PDM_VEC_PUSH(&fn->pins, pin))
        fn->status = PDM_NOMEM;
    return fn->status == PDM_OK ? pin.value : NULL;
}

bool pdm_cinn_sizes(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t operand, bool exact,
                    const pdm_loop_expr *out[PDM_CINN_MAX_INTS], size_t *out_n)
{
    int64_t ints[PDM_CINN_MAX_INTS];
    double number;

    if (!pdm_cinn_has_sizes(op, operand, out_n))
        return false;
    const pdm_ir_value *ir = pdm_ir_op_operand_value(op, operand);
    const pdm_ir_op *combine = pdm_ir_value_op(ir);
    if (pdm_cinn_const_ints(op, operand, ints, out_n)) {
        for (size_t i = 0; i < *out_n; i++)
            out[i] = pdm_loop_index(l->fn, ints[i]);
        return true;
    }
    const bool list = combine && PDM_IR_IS(combine, builtin, combine);
    for (uint32_t i = 0; i < *out_n; i++) {
        const pdm_ir_value *from = list ? pdm_ir_op_operand_value(combine, i) : ir;
        const value *v = find(l, from);
        if (list && pdm_cinn_constant(from, &number))
            out[i] = pdm_loop_index(l->fn, (int64_t)number);
        else
            out[i] = v && v->input != NO_BUFFER ? size_at(l, v, list ? 0 : i, exact) : NULL;
        if (!out[i])
            return false;
    }
    return true;
}

const pdm_loop_expr *pdm_cinn_quotient(pdm_cinn_lower *l, const pdm_loop_expr *a,
                                       const pdm_loop_expr *by)
{
    pdm_loop_fn *fn = l->fn;
    const pdm_loop_expr *q = a && by ? pdm_loop_quotient(fn, a, by) : NULL;

    if (q || !l->actual || !a || !by)
        return q;
    /* A factor that is missing may be another dim that is as large. */
    for (uint32_t i = 0; i < fn->symbols.n; i++) {
        const pdm_loop_expr *s = pdm_loop_symbol_at(fn, i);
        if (!pdm_loop_quotient(fn, by, s) || pdm_loop_quotient(fn, a, s))
            continue;
        for (uint32_t k = 0; k < fn->symbols.n; k++) {
            const pdm_loop_expr *t = pdm_loop_symbol_at(fn, k);
            if (k != i && l->symbols[i] == l->symbols[k] && pdm_loop_quotient(fn, a, t)) {
                (void)pdm_cinn_require_equal(l, s, t);
                return NULL;
            }
        }
    }
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static pdm_status add_input(pdm_cinn_lower *l, uint32_t input)
{
    const pdm_ir_type type = l->inputs[input]->type;
    value *v = add(l, l->inputs[input]);
    char name[24];

    if (!v)
        return PDM_NOMEM;
    if (l->actual && (l->actual[input].dtype != type->dtype ||
                      (uint32_t)l->actual[input].rank != type->rank))
        return PDM_UNSUPPORTED;
    v->input = input;
    v->shape.dtype = type->dtype;
    v->shape.rank = type->rank;
    for (uint32_t d = 0; d < type->rank; d++)
        v->shape.dims[d] = input_dim(l, input, d);
    snprintf(name, sizeof name, "x%u", input);
    v->buffer = pdm_loop_add_buffer(l->fn, name, PDM_LOOP_INPUT, type->dtype, type->rank,
                                    v->shape.dims);
    return l->fn->status;
}

static pdm_status add_constant(pdm_cinn_lower *l, const pdm_ir_value *ir)
{
    double number;

    if (find(l, ir))
        return PDM_OK;
    if (!pdm_cinn_constant(ir, &number))
        return PDM_UNSUPPORTED;
    value *v = add(l, ir);
    if (!v)
        return PDM_NOMEM;
    v->constant = true;
    v->number = number;
    v->shape.dtype = ir->type->dtype;
    v->shape.rank = ir->type->rank;
    for (uint32_t d = 0; d < ir->type->rank; d++) {
        if (ir->type->dims[d] < 0)
            return PDM_UNSUPPORTED;
        v->shape.dims[d] = pdm_loop_index(l->fn, ir->type->dims[d]);
    }
    return l->fn->status;
}

static pdm_status add_result(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number)
{
    const pdm_ir_value *result = pdm_ir_op_result(op, number);
    pdm_cinn_shape shape = {.dtype = result->type->dtype};

    l->asked = number;
    if (!pdm_cinn_rule_of(op)->shape(l, op, &shape) || l->fn->status != PDM_OK)
        return l->fn->status != PDM_OK ? l->fn->status : PDM_UNSUPPORTED;
    value *v = add(l, result);
    if (!v)
        return PDM_NOMEM;
    v->op = op;
    v->result = number;
    v->shape = shape;
    return PDM_OK;
}

static pdm_status add_op(pdm_cinn_lower *l, const pdm_ir_op *op)
{
    const pdm_cinn_rule *rule = pdm_cinn_rule_of(op);

    if (!rule)
        return pdm_cinn_host(op) || pdm_cinn_is_taken_apart(op) ? PDM_OK : PDM_UNSUPPORTED;
    for (uint32_t i = 0; i < pdm_cinn_num_tensors(op); i++) {
        if (!find(l, pdm_cinn_tensor(op, i)))
            PDM_TRY(add_constant(l, pdm_cinn_tensor(op, i)));
    }
    const uint32_t results = rule->form == PDM_CINN_ELEMENTS ? op->num_results : 1;
    for (uint32_t i = 0; i < results; i++)
        PDM_TRY(add_result(l, op, i));
    return PDM_OK;
}

static pdm_status shapes_once(pdm_cinn_lower *l)
{
    pdm_loop_fn_destroy(l->fn);
    l->fn = NULL;
    pdm_map_clear(&l->index);
    l->values.n = 0;
    l->again = false;
    pdm_ir_attr name = pdm_ir_op_attr(l->group, "name");
    PDM_TRY(pdm_loop_fn_create(name && name->kind == PDM_IR_ATTR_STR ? name->u.s.text : "group",
                               &l->fn));
    for (size_t i = 0; i < l->num_inputs; i++)
        PDM_TRY(add_input(l, (uint32_t)i));
    const pdm_ir_op *last = body_of(l->group)->last;
    for (const pdm_ir_op *op = body_of(l->group)->first; op != last; op = op->next)
        PDM_TRY(add_op(l, op));
    return l->fn->status;
}

/* Each merge takes a symbol away, so this ends. */
static pdm_status find_shapes(pdm_cinn_lower *l)
{
    pdm_status status;

    do {
        status = shapes_once(l);
    } while (status == PDM_UNSUPPORTED && l->again);
    return status;
}

/* ---- elements -------------------------------------------------------------------------------- */

static const pdm_loop_expr *read_buffer(pdm_cinn_lower *l, uint32_t buffer,
                                        const pdm_loop_expr *const *indices)
{
    for (size_t i = 0; i < l->written.n; i++)
        l->reads_written = l->reads_written || l->written.v[i] == buffer;
    return pdm_loop_load(l->fn, buffer, indices);
}

const pdm_loop_expr *pdm_cinn_element(pdm_cinn_lower *l, const pdm_ir_value *ir,
                                      const pdm_loop_expr *const *indices)
{
    value *v = find(l, ir);
    const size_t size = v ? v->shape.rank * sizeof *indices : 0;

    if (!v || l->fn->status != PDM_OK)
        return NULL;
    if (v->constant)
        return pdm_loop_number(l->fn, v->shape.dtype, v->number);
    if (v->buffer != NO_BUFFER)
        return read_buffer(l, v->buffer, indices);
    if (v->element && memcmp(v->at, indices, size) == 0)
        return v->element;
    memcpy(v->at, indices, size);
    l->asked = v->result;
    v->element = pdm_cinn_rule_of(v->op)->element ? pdm_cinn_rule_of(v->op)->element(l, v->op, indices)
                                                  : NULL; /* what is made of pieces is stored */
    return v->element;
}

uint32_t pdm_cinn_asked(const pdm_cinn_lower *l)
{
    return l->asked;
}

static bool add_guard(pdm_loop_fn *fn, const pdm_loop_guard *guard)
{
    for (size_t i = 0; i < fn->guards.n; i++) {
        const pdm_loop_guard *g = &fn->guards.v[i];
        if (g->input == guard->input && g->dim == guard->dim && g->negative == guard->negative && g->every == guard->every &&
            g->number == guard->number)
            return true;
    }
    return PDM_VEC_PUSH(&fn->guards, *guard);
}

const pdm_loop_expr *pdm_cinn_index_at(pdm_cinn_lower *l, const pdm_ir_value *ir,
                                       const pdm_loop_expr *const *indices,
                                       const pdm_loop_expr *dim, bool wraps)
{
    return pdm_cinn_tuple_index_at(l, ir, indices, dim, wraps, 1, 0);
}

const pdm_loop_expr *pdm_cinn_tuple_index_at(pdm_cinn_lower *l, const pdm_ir_value *ir,
                                             const pdm_loop_expr *const *indices,
                                             const pdm_loop_expr *dim, bool wraps, uint32_t every, uint32_t number)
{
    const value *v = find(l, ir);
    pdm_loop_fn *fn = l->fn;

    if (!v || v->input == NO_BUFFER || fn->status != PDM_OK)
        return NULL;
    const pdm_loop_guard guard = {v->input, every, number, wraps, dim};
    if (!add_guard(fn, &guard)) {
        fn->status = PDM_NOMEM;
        return NULL;
    }
    const pdm_loop_expr *at = pdm_loop_cast(fn, PDM_INDEX, read_buffer(l, v->buffer, indices));
    if (!wraps || !at)
        return at;
    const pdm_loop_expr *below = pdm_loop_binary(fn, PDM_LOOP_LT, at, pdm_loop_index(fn, 0));
    return pdm_loop_select(fn, below, pdm_loop_binary(fn, PDM_LOOP_ADD, at, dim), at);
}

const pdm_loop_expr *pdm_cinn_part_value(pdm_cinn_lower *l, const pdm_ir_op *op, uint32_t number,
                                         const pdm_loop_expr *const *indices)
{
    const uint32_t buffer = find(l, pdm_ir_op_result(op, 0))->parts[number];
    const pdm_loop_expr *at[PDM_MAX_RANK];

    for (uint32_t d = 0; d < l->fn->buffers.v[buffer].rank; d++)
        at[d] = pdm_loop_is_int(l->fn->buffers.v[buffer].dims[d], 1) ? pdm_loop_index(l->fn, 0)
                                                                     : indices[d];
    return read_buffer(l, buffer, at);
}

/* ---- which values are stored ----------------------------------------------------------------- */

/* Whether an op reads elements of the value more than once each. */
static bool repeats(const pdm_cinn_shape *from, const pdm_cinn_shape *to)
{
    if (to->rank < from->rank)
        return false;
    for (uint32_t d = 0; d < to->rank; d++) {
        const uint32_t lead = to->rank - from->rank;
        const bool one = d < lead || pdm_loop_is_int(from->dims[d - lead], 1);
        if (one && !pdm_loop_is_int(to->dims[d], 1))
            return true;
    }
    return false;
}

static pdm_status choose_stored(pdm_cinn_lower *l)
{
    const pdm_ir_op *yield = body_of(l->group)->last;

    for (size_t i = 0; i < l->values.n; i++) {
        const value *v = &l->values.v[i];
        const pdm_cinn_rule *rule = v->op ? pdm_cinn_rule_of(v->op) : NULL;
        /* What is read for several reductions, or by each element of many. */
        if (rule && rule->parts > 1 && find(l, pdm_ir_op_operand_value(v->op, 0))->op)
            find(l, pdm_ir_op_operand_value(v->op, 0))->store = true;
        if (rule && rule->kind == PDM_CINN_SPREAD && find(l, pdm_cinn_tensor(v->op, 0))->op)
            find(l, pdm_cinn_tensor(v->op, 0))->store = true;
        if (rule && rule->pieces > 0)
            l->values.v[i].store = true;
        const uint32_t tensors =
            rule && rule->kind == PDM_CINN_BROADCAST ? pdm_cinn_num_tensors(v->op) : 0;
        for (uint32_t k = 0; k < tensors; k++) {
            value *from = find(l, pdm_cinn_tensor(v->op, k));
            if (from->op && repeats(&from->shape, &v->shape))
                from->store = true;
        }
    }
    for (uint32_t i = 0; i < yield->num_operands; i++) {
        value *v = find(l, pdm_ir_op_operand_value(yield, i));
        char name[24];
        if (!v || !v->op)
            return PDM_UNSUPPORTED;
        snprintf(name, sizeof name, "y%u", i);
        const uint32_t buffer = pdm_loop_add_buffer(l->fn, name, PDM_LOOP_OUTPUT, v->shape.dtype,
                                                    v->shape.rank, v->shape.dims);
        if (v->output == NO_BUFFER)
            v->output = buffer;
    }
    return l->fn->status;
}

/* ---- loops ----------------------------------------------------------------------------------- */

typedef struct nest {
    bool open;
    pdm_cinn_shape shape;
    const pdm_loop_expr *indices[PDM_MAX_RANK];
    uint32_t vars[PDM_MAX_RANK];
    pdm_loop_stmt *body;
} nest;

static bool same_shape(const pdm_cinn_shape *a, const pdm_cinn_shape *b)
{
    return a->rank == b->rank &&
           memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

static void open_nest(pdm_cinn_lower *l, nest *n, const pdm_cinn_shape *shape)
{
    n->open = true;
    n->shape = *shape;
    n->body = NULL;
    l->written.n = 0;
    for (uint32_t d = 0; d < shape->rank; d++) {
        n->vars[d] = l->fn->num_vars;
        n->indices[d] = pdm_loop_is_int(shape->dims[d], 1) ? pdm_loop_index(l->fn, 0)
                                                           : pdm_loop_var(l->fn, l->fn->num_vars++);
    }
}

static void close_nest(pdm_cinn_lower *l, nest *n)
{
    pdm_loop_stmt *stmt = n->body;

    if (!n->open)
        return;
    for (uint32_t d = n->shape.rank; d-- > 0;) {
        if (!pdm_loop_is_int(n->shape.dims[d], 1))
            stmt = pdm_loop_for(l->fn, n->vars[d], n->shape.dims[d], stmt);
    }
    if (stmt)
        pdm_loop_append(&l->fn->body, stmt);
    n->open = false;
}

static pdm_status store(pdm_cinn_lower *l, nest *n, uint32_t buffer,
                        const pdm_loop_expr *const *indices, const pdm_loop_expr *element)
{
    if (!element)
        return l->fn->status != PDM_OK ? l->fn->status : PDM_UNSUPPORTED;
    if (!PDM_VEC_PUSH(&l->written, buffer))
        return PDM_NOMEM;
    pdm_loop_append(&n->body, pdm_loop_store(l->fn, buffer, indices, element));
    return l->fn->status;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static double start_of(pdm_cinn_combine combine)
{
    switch (combine) {
    case PDM_CINN_SUM:
    case PDM_CINN_ANY:
        return 0;
    case PDM_CINN_PRODUCT:
    case PDM_CINN_EVERY:
        return 1;
    case PDM_CINN_MAX:
    case PDM_CINN_LARGER:
        return -INFINITY;
    case PDM_CINN_MIN:
    case PDM_CINN_SMALLER:
    case PDM_CINN_KEEP:
        break;
    }
    return INFINITY;
}

static const pdm_loop_expr *combine(pdm_loop_fn *fn, pdm_cinn_combine how, const pdm_loop_expr *sum,
                                    const pdm_loop_expr *term)
{
    const bool larger = how == PDM_CINN_MAX;

    if (how == PDM_CINN_KEEP)
        return term;
    if (how == PDM_CINN_SUM)
        return pdm_loop_binary(fn, PDM_LOOP_ADD, sum, term);
    if (how == PDM_CINN_PRODUCT)
        return pdm_loop_binary(fn, PDM_LOOP_MUL, sum, term);
    if (how == PDM_CINN_ANY || how == PDM_CINN_EVERY)
        return pdm_loop_binary(fn, how == PDM_CINN_ANY ? PDM_LOOP_OR : PDM_LOOP_AND, sum, term);
    if (how == PDM_CINN_LARGER || how == PDM_CINN_SMALLER)
        return pdm_loop_binary(fn, how == PDM_CINN_LARGER ? PDM_LOOP_MAX : PDM_LOOP_MIN, term, sum);
    const pdm_loop_expr *is_nan = pdm_loop_binary(fn, PDM_LOOP_NE, sum, sum);
    const pdm_loop_expr *stays =
        pdm_loop_binary(fn, PDM_LOOP_LT, larger ? term : sum, larger ? sum : term);
    return pdm_loop_select(fn, pdm_loop_binary(fn, PDM_LOOP_OR, is_nan, stays), sum, term);
}

/* A buffer for what a reduction has come to at each place, stored beside its step. */
static pdm_status keep_partial(pdm_cinn_lower *l, value *v, uint32_t number, const pdm_cinn_shape *x, const pdm_cinn_part *part,
                               const pdm_loop_expr *const *at, const pdm_loop_expr *sum, pdm_loop_stmt **step)
{
    char name[24];

    snprintf(name, sizeof name, "p%u", v->parts[number]); /* s: symbols */
    v->parts[number] = pdm_loop_add_buffer(l->fn, name, PDM_LOOP_TEMP, part->dtype, x->rank, x->dims);
    pdm_loop_stmt *kept = pdm_loop_store(l->fn, v->parts[number], at, sum);
    if (!kept || !*step)
        return l->fn->status != PDM_OK ? l->fn->status : PDM_NOMEM;
    if (part->exclusive) {
        kept->next = *step;
        *step = kept;
    } else {
        pdm_loop_append(step, kept);
    }
    return l->fn->status;
}

/* Loops that store a reduction: over what stays, and inside of them over what goes. */
static pdm_status make_part(pdm_cinn_lower *l, value *v, uint32_t number, const char *name)
{
    const pdm_cinn_rule *rule = pdm_cinn_rule_of(v->op);
    const pdm_loop_expr *one = pdm_loop_index(l->fn, 1), *zero = pdm_loop_index(l->fn, 0);
    const pdm_loop_expr *dims[PDM_MAX_RANK], *to[PDM_MAX_RANK], *from[PDM_MAX_RANK];
    uint32_t vars[PDM_MAX_RANK] = {0};
    pdm_cinn_part part = {.dtype = PDM_F64};
    bool scan = false;

    if (!rule->part(l, v->op, number, &part))
        return PDM_UNSUPPORTED;
    const pdm_cinn_shape *x = part.of.rank > 0 ? &part.of : pdm_cinn_shape_of(l, pdm_ir_op_operand_value(v->op, 0));
    for (uint32_t d = 0; d < x->rank; d++) {
        const bool loop = !pdm_loop_is_int(x->dims[d], 1);
        scan = scan || part.scanned[d];
        part.reduced[d] = part.reduced[d] || part.scanned[d];
        dims[d] = part.reduced[d] ? one : x->dims[d];
        vars[d] = l->fn->num_vars;
        from[d] = loop ? pdm_loop_var(l->fn, l->fn->num_vars++) : zero;
        to[d] = part.reduced[d] ? zero : from[d];
        if (part.scanned[d] && part.backwards && loop)
            from[d] = pdm_loop_binary(l->fn, PDM_LOOP_SUB, pdm_loop_binary(l->fn, PDM_LOOP_SUB, x->dims[d], one), from[d]);
    }
    const uint32_t buffer = pdm_loop_add_buffer(l->fn, name, PDM_LOOP_TEMP, part.dtype, x->rank, dims);
    const pdm_loop_expr *term = rule->term(l, v->op, number, from);
    if (!term || l->fn->status != PDM_OK)
        return l->fn->status != PDM_OK ? l->fn->status : PDM_UNSUPPORTED;
    const pdm_loop_expr *sum = pdm_loop_load(l->fn, buffer, to);
    pdm_loop_stmt *inner = pdm_loop_store(
        l->fn, buffer, to,
        combine(l->fn, part.combine, sum, pdm_loop_cast(l->fn, part.dtype, term)));
    v->parts[number] = buffer;
    if (scan)
        PDM_TRY(keep_partial(l, v, number, x, &part, from, sum, &inner));
    for (uint32_t d = x->rank; d-- > 0;) {
        if (part.reduced[d] && from[d] != zero)
            inner = pdm_loop_for(l->fn, vars[d], x->dims[d], inner);
    }
    pdm_loop_stmt *all = inner;
    if (part.combine == PDM_CINN_KEEP && l->fn->status == PDM_OK) {
        l->fn->buffers.v[buffer].repeatable = true;
    } else {
        all = pdm_loop_store(l->fn, buffer, to,
                             pdm_loop_number(l->fn, part.dtype, start_of(part.combine)));
        pdm_loop_append(&all, inner);
    }
    for (uint32_t d = x->rank; d-- > 0;) {
        if (!part.reduced[d] && from[d] != zero)
            all = pdm_loop_for(l->fn, vars[d], x->dims[d], all);
    }
    if (l->fn->status == PDM_OK)
        pdm_loop_append(&l->fn->body, all);
    return l->fn->status;
}

static pdm_status make_parts(pdm_cinn_lower *l, nest *n, value *v, size_t *temps)
{
    char name[24];

    close_nest(l, n);
    l->written.n = 0;
    for (uint32_t i = 0; i < pdm_cinn_rule_of(v->op)->parts; i++) {
        snprintf(name, sizeof name, "t%zu", (*temps)++);
        PDM_TRY(make_part(l, v, i, name));
    }
    return PDM_OK;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Loops over `shape`: those that are open, when it is the same. */
static void enter(pdm_cinn_lower *l, nest *n, const pdm_cinn_shape *shape)
{
    if (n->open && !same_shape(&n->shape, shape))
        close_nest(l, n);
    if (!n->open)
        open_nest(l, n, shape);
    l->reads_written = false;
}

static bool has_zero(const pdm_cinn_shape *shape)
{
    for (uint32_t d = 0; d < shape->rank; d++) {
        if (pdm_loop_is_int(shape->dims[d], 0))
            return true;
    }
    return false;
}

static pdm_status store_piece(pdm_cinn_lower *l, nest *n, const value *v, uint32_t number,
                              uint32_t buffer)
{
    const pdm_cinn_rule *rule = pdm_cinn_rule_of(v->op);
    const pdm_loop_expr *at[PDM_MAX_RANK] = {NULL};
    pdm_cinn_shape shape = {.dtype = v->shape.dtype};
    const pdm_ir_op *op = v->op;

    if (!rule->piece_shape(l, op, number, &shape))
        return PDM_UNSUPPORTED;
    if (has_zero(&shape))
        return PDM_OK;
    enter(l, n, &shape);
    const pdm_loop_expr *element = rule->piece(l, op, number, n->indices, at);
    if (element && l->reads_written) {
        close_nest(l, n);
        enter(l, n, &shape);
        element = rule->piece(l, op, number, n->indices, at);
    }
    return store(l, n, buffer, at, element);
}

/* Pieces come one after the other: one may be stored where another was. */
static pdm_status store_pieces(pdm_cinn_lower *l, nest *n, const value *v, uint32_t buffer)
{
    const uint32_t pieces = pdm_cinn_rule_of(v->op)->pieces;
    const uint32_t count = pieces == PDM_CINN_EACH ? pdm_cinn_num_tensors(v->op) : pieces;

    for (uint32_t i = 0; i < count; i++) {
        if (pieces != PDM_CINN_EACH)
            close_nest(l, n);
        PDM_TRY(store_piece(l, n, v, i, buffer));
    }
    return PDM_OK;
}

/* ---- all loops ------------------------------------------------------------------------------- */

/* Values that are stored come in the order of the ops; neighbours of one shape share loops. */
static pdm_status make_loops(pdm_cinn_lower *l, nest *n)
{
    char name[24];

    for (size_t i = 0, temps = 0; i < l->values.n; i++) {
        value *v = &l->values.v[i];
        if (v->op && pdm_cinn_rule_of(v->op)->parts > 0)
            PDM_TRY(make_parts(l, n, v, &temps));
        if (!v->op || (!v->store && v->output == NO_BUFFER))
            continue;
        uint32_t buffer = v->output;
        if (buffer == NO_BUFFER) {
            snprintf(name, sizeof name, "t%zu", temps++);
            buffer = pdm_loop_add_buffer(l->fn, name, PDM_LOOP_TEMP, v->shape.dtype, v->shape.rank,
                                         v->shape.dims);
        }
        if (pdm_cinn_rule_of(v->op)->pieces > 0) {
            PDM_TRY(store_pieces(l, n, v, buffer));
            v->buffer = buffer;
            continue;
        }
        enter(l, n, &v->shape);
        const pdm_loop_expr *element = pdm_cinn_element(l, v->ir, n->indices);
        if (element && l->reads_written) {
            close_nest(l, n);
            enter(l, n, &v->shape);
            element = pdm_cinn_element(l, v->ir, n->indices);
        }
        PDM_TRY(store(l, n, buffer, n->indices, element));
        if (v->store)
            v->buffer = buffer;
    }
    return PDM_OK;
}

/* A value that is yielded twice is stored twice. */
static pdm_status copy_repeated(pdm_cinn_lower *l, nest *n)
{
    const pdm_ir_op *yield = body_of(l->group)->last;

    for (uint32_t i = 0; i < yield->num_operands; i++) {
        const value *v = find(l, pdm_ir_op_operand_value(yield, i));
        const uint32_t buffer = (uint32_t)l->num_inputs + i;
        if (v->output == buffer)
            continue;
        open_nest(l, n, &v->shape);
        PDM_TRY(store(l, n, buffer, n->indices, pdm_loop_load(l->fn, v->output, n->indices)));
        close_nest(l, n);
    }
    return PDM_OK;
}

static pdm_status lower(pdm_cinn_lower *l)
{
    nest n = {0};

    PDM_TRY(find_shapes(l));
    PDM_TRY(choose_stored(l));
    pdm_status status = make_loops(l, &n);
    close_nest(l, &n);
    if (status == PDM_OK)
        status = copy_repeated(l, &n);
    return status == PDM_OK ? l->fn->status : status;
}

static pdm_status lower_group(const pdm_ir_op *group, const pdm_cinn_actual *actual, bool fixed,
                              pdm_loop_fn **out_fn)
{
    pdm_cinn_lower *l = calloc(1, sizeof *l);
    pdm_status status = l ? PDM_OK : PDM_NOMEM;

    if (!l)
        return status;
    if (!pdm_cinn_is_group(group)) {
        free(l);
        return PDM_UNSUPPORTED;
    }
    l->group = group;
    l->actual = actual;
    l->fixed = fixed;
    l->num_inputs = pdm_cinn_group_inputs(group, l->inputs);
    if (l->num_inputs == SIZE_MAX)
        status = PDM_UNSUPPORTED;
    l->merges = calloc(PDM_CINN_MAX_INPUTS * PDM_MAX_RANK, sizeof *l->merges);
    if (!l->merges)
        status = PDM_NOMEM;
    if (status == PDM_OK)
        status = lower(l);
    if (status == PDM_OK)
        *out_fn = l->fn;
    else
        pdm_loop_fn_destroy(l->fn);
    pdm_map_deinit(&l->index);
    PDM_VEC_FREE(&l->values);
    PDM_VEC_FREE(&l->written);
    PDM_VEC_FREE(&l->numbers);
    free(l->merges);
    free(l);
    return status;
}

pdm_status pdm_cinn_lower_group(const pdm_ir_op *group, const pdm_cinn_actual *actual,
                                pdm_loop_fn **out_fn)
{
    return lower_group(group, actual, false, out_fn);
}

pdm_status pdm_cinn_lower_fixed(const pdm_ir_op *group, const pdm_cinn_actual *actual,
                                pdm_loop_fn **out_fn)
{
    return lower_group(group, actual, true, out_fn);
}

bool pdm_cinn_actual_int(const pdm_cinn_actual *actual, uint32_t element, int64_t *out)
{
    int64_t count = 1;

    for (int d = 0; d < actual->rank; d++) {
        if (__builtin_mul_overflow(count, actual->dims[d], &count))
            return false;
    }
    if (!actual->data || element >= count || (actual->dtype != PDM_I32 && actual->dtype != PDM_I64))
        return false;
    *out = actual->dtype == PDM_I32 ? ((const int32_t *)actual->data)[element]
                                    : ((const int64_t *)actual->data)[element];
    return true;
}

bool pdm_cinn_class_fits(const pdm_loop_fn *fn, const pdm_cinn_actual *actual, int64_t *symbols)
{
    for (size_t i = 0; i < fn->symbols.n; i++) {
        const pdm_loop_symbol *s = &fn->symbols.v[i];
        if (s->element) {
            if (!pdm_cinn_actual_int(&actual[s->input], s->axis, &symbols[i]))
                return false;
        } else {
            if (s->axis >= (uint32_t)actual[s->input].rank)
                return false;
            symbols[i] = actual[s->input].dims[s->axis];
        }
        if (symbols[i] < PDM_LOOP_LEAST_SYMBOL)
            return false;
    }
    for (size_t i = 0; i < fn->buffers.n && fn->buffers.v[i].role == PDM_LOOP_INPUT; i++) {
        const pdm_loop_buffer *b = &fn->buffers.v[i];
        if (b->dtype != actual[i].dtype || b->rank != (uint32_t)actual[i].rank)
            return false;
        for (uint32_t d = 0; d < b->rank; d++) {
            if (pdm_loop_eval(b->dims[d], symbols) != actual[i].dims[d])
                return false;
        }
    }
    for (size_t i = 0; i < fn->pins.n; i++) {
        const pdm_loop_pin *pin = &fn->pins.v[i];
        int64_t now;
        if (!pdm_cinn_actual_int(&actual[pin->input], pin->element, &now) ||
            pdm_loop_eval(pin->value, symbols) != now)
            return false;
    }
    return true;
}
