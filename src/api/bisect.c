/* Where two runs part. */
#include "api/bisect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CANDIDATES 32

/* What is known of a value's newest instance. */
typedef enum state {
    UNKNOWN, /* nothing to compare with; nothing that it is made of is bad */
    SAME,
    TAINTED, /* nothing to compare with; made of what is bad */
    DIFFERS
} state;

#define STATE_MASK 3U
#define EVER_BAD   4U

typedef PDM_VEC(pdm_bisect_origin) origins;

typedef struct search {
    pdm_bisect_case c;
    const pdm_bundle *inputs;
    pdm_map digests;    /* of the reference: key of an instance → digest */
    pdm_map counts;     /* key of a value → instances so far */
    pdm_map states;     /* key of a value of the subject → state */
    pdm_map turns;      /* while → turns of its newest execution */
    pdm_map taken;      /* if → region of its newest execution, plus 1 */
    pdm_map found_at;   /* op → its first origin, plus 1 */
    pdm_map candidates; /* key of an instance → origin, plus 1 */
    origins origins;
    pdm_bundle *expected, *actual; /* outputs */
} search;

static void deinit(search *s)
{
    pdm_map *maps[] = {&s->digests, &s->counts,   &s->states,    &s->turns,
                       &s->taken,   &s->found_at, &s->candidates};

    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        pdm_map_deinit(maps[i]);
    for (size_t i = 0; i < s->origins.n; i++) {
        pdm_tensor_deinit(&s->origins.v[i].expected);
        pdm_tensor_deinit(&s->origins.v[i].actual);
        free(s->origins.v[i].inputs);
    }
    PDM_VEC_FREE(&s->origins);
    pdm_bundle_destroy(s->expected);
    pdm_bundle_destroy(s->actual);
}

static uint64_t get(const pdm_map *map, const void *key)
{
    const pdm_map_entry *entry = pdm_map_find(map, key);

    return entry ? entry->value.num : 0;
}

static pdm_status set(pdm_map *map, const void *key, uint64_t number)
{
    pdm_map_entry *entry = pdm_map_put(map, key);

    if (!entry)
        return PDM_NOMEM;
    entry->value.num = number;
    return PDM_OK;
}

/* How many instances there were before. */
static pdm_status count(search *s, const pdm_ir_value *value, int32_t element, uint64_t *out)
{
    pdm_map_entry *entry = pdm_map_put(&s->counts, pdm_bisect_key(value, element, 0));

    if (!entry)
        return PDM_NOMEM;
    *out = entry->value.num++;
    return PDM_OK;
}

const pdm_ir_value *pdm_bisect_counterpart(const pdm_bisect_case *c, const pdm_ir_value *value)
{
    return c->alignment ? pdm_ir_aligned_value(c->alignment, value) : value;
}

/* ---- the reference --------------------------------------------------------------------------- */

static const void *key_of(const pdm_bisect_event *e)
{
    return pdm_bisect_key(e->value, e->element, e->instance);
}

static pdm_status note_digest(void *user, const pdm_bisect_event *e)
{
    search *s = user;

    return set(&s->digests, key_of(e), pdm_bisect_digest(e->data));
}

/* ---- states of the subject's values ---------------------------------------------------------- */

static bool is_bad(state st)
{
    return st == TAINTED || st == DIFFERS;
}

static state worse(state a, state b)
{
    return a > b ? a : b;
}

static state state_at(const search *s, const pdm_ir_value *value, int32_t element)
{
    return (state)(get(&s->states, pdm_bisect_key(value, element, 0)) & STATE_MASK);
}

static state state_of(const search *s, const pdm_ir_value *value);

static state element_state(const search *s, const pdm_ir_value *vector, size_t index)
{
    const pdm_ir_op *op = vector ? pdm_ir_value_op(vector) : NULL;

    if (op && pdm_ir_op_is(op, "builtin.combine"))
        return index < op->num_operands ? state_of(s, pdm_ir_op_operand_value(op, index)) : UNKNOWN;
    return vector ? state_at(s, vector, (int32_t)index) : UNKNOWN;
}

static state state_of(const search *s, const pdm_ir_value *value)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;
    state st = UNKNOWN;

    if (op && pdm_ir_op_is(op, "builtin.combine")) {
        for (uint32_t i = 0; i < op->num_operands; i++)
            st = worse(st, state_of(s, pdm_ir_op_operand_value(op, i)));
        return st;
    }
    if (op && pdm_ir_op_is(op, "builtin.slice")) {
        const pdm_ir_attr index = pdm_ir_op_attr(op, "index");
        return element_state(s, pdm_ir_op_operand_value(op, 0),
                             index && index->kind == PDM_IR_ATTR_I32 ? (size_t)index->u.i : 0);
    }
    if (op && pdm_ir_op_is(op, "builtin.split"))
        return element_state(s, pdm_ir_op_operand_value(op, 0), pdm_ir_value_index(value));
    return value ? state_at(s, value, -1) : UNKNOWN;
}

static const pdm_ir_op *terminator(const pdm_ir_op *op, uint32_t region)
{
    const pdm_ir_block *block =
        region < op->num_regions ? pdm_ir_op_region(op, region)->first : NULL;

    return block ? block->last : NULL;
}

static const pdm_ir_value *yielded(const pdm_ir_op *op, uint32_t region, size_t index)
{
    const pdm_ir_op *yield = terminator(op, region);

    return yield && index < yield->num_operands ? pdm_ir_op_operand_value(yield, index) : NULL;
}

static const pdm_ir_value *operand(const pdm_ir_op *op, size_t index)
{
    return index < op->num_operands ? pdm_ir_op_operand_value(op, index) : NULL;
}

static bool is_if(const pdm_ir_op *op)
{
    return pdm_ir_op_is(op, "pd_op.if");
}

static bool is_while(const pdm_ir_op *op)
{
    return pdm_ir_op_is(op, "pd_op.while");
}

/* The condition that decided whether the region at hand runs. turns: of a while, so far. */
static const pdm_ir_value *condition(const pdm_ir_op *op, uint64_t turns)
{
    return is_while(op) && turns > 0 ? yielded(op, 0, 0) : operand(op, 0);
}

/* Is anything bad that this instance of the value is made of? */
static bool has_bad_source(const search *s, const pdm_ir_value *value)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);
    const uint32_t index = pdm_ir_value_index(value);

    if (!op) {
        op = pdm_ir_block_parent_op(pdm_ir_value_arg_block(value));
        return is_bad(state_of(s, get(&s->turns, op) > 1 ? yielded(op, 0, index + 1)
                                                         : operand(op, index + 1)));
    }
    if (is_if(op)) {
        const uint64_t region = get(&s->taken, op);
        return is_bad(state_of(s, operand(op, 0))) ||
               (region && is_bad(state_of(s, yielded(op, (uint32_t)region - 1, index))));
    }
    if (is_while(op)) {
        const uint64_t turns = get(&s->turns, op);
        return is_bad(state_of(s, condition(op, turns))) ||
               is_bad(state_of(s, turns ? yielded(op, 0, index + 1) : operand(op, index + 1)));
    }
    for (uint32_t i = 0; i < op->num_operands; i++)
        if (is_bad(state_of(s, pdm_ir_op_operand_value(op, i))))
            return true;
    return false;
}

typedef enum relation { NOTHING, EQUAL, OTHER, ABSENT } relation;

static relation relate(const search *s, const pdm_bisect_event *e)
{
    const pdm_ir_value *counterpart = pdm_bisect_counterpart(&s->c, e->value);
    const uint64_t digest = pdm_bisect_digest(e->data);

    if (!counterpart || !pdm_bisect_is_told(s->c.reference, counterpart, e->element))
        return NOTHING;
    const pdm_map_entry *entry =
        pdm_map_find(&s->digests, pdm_bisect_key(counterpart, e->element, e->instance));
    if (!entry)
        return ABSENT;
    if (entry->value.num == 0 || digest == 0)
        return NOTHING;
    return entry->value.num == digest ? EQUAL : OTHER;
}

/* ---- origins --------------------------------------------------------------------------------- */

static void note_turns(const search *s, pdm_bisect_origin *o)
{
    const pdm_ir_op *op = o->op;
    size_t n = 0;

    if (o->value && !pdm_ir_value_op(o->value))
        o->turns[n++] = get(&s->turns, op);
    while ((op = pdm_ir_op_parent(op)) && n < PDM_BISECT_DEPTH)
        if (is_while(op))
            o->turns[n++] = get(&s->turns, op);
}

static pdm_status add_origin(search *s, pdm_bisect_origin o)
{
    if (get(&s->found_at, o.op))
        return PDM_OK;
    note_turns(s, &o);
    if (!PDM_VEC_PUSH(&s->origins, o))
        return PDM_NOMEM;
    return set(&s->found_at, o.op, s->origins.n);
}

/* The reference went another way: by the op whose region this is, unless its condition is bad
 * already. */
static pdm_status add_detour(search *s, const pdm_ir_value *value)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);
    const pdm_ir_op *around =
        op ? pdm_ir_op_parent(op) : pdm_ir_block_parent_op(pdm_ir_value_arg_block(value));
    const uint64_t turns = get(&s->turns, around);

    if (!around || (!is_if(around) && !is_while(around)) ||
        is_bad(state_of(s, condition(around, turns ? turns - 1 : 0))))
        return PDM_OK;
    return add_origin(s, (pdm_bisect_origin){.op = around, .element = -1, .missing = true});
}

static pdm_status note_state(search *s, const pdm_ir_value *value, int32_t element, state st)
{
    pdm_map_entry *entry = pdm_map_put(&s->states, pdm_bisect_key(value, element, 0));

    if (!entry)
        return PDM_NOMEM;
    entry->value.num = (entry->value.num & EVER_BAD) | (uint64_t)st | (is_bad(st) ? EVER_BAD : 0);
    return PDM_OK;
}

/* Before and after an instance of a value: which region runs, which turn it is. */
static pdm_status enter_op(search *s, const pdm_ir_value *value, const pdm_value *const *in)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);
    const pdm_tensor *cond = op && is_if(op) && in ? pdm_bisect_tensor_of(in[0]) : NULL;

    if (!op && pdm_ir_value_index(value) == 0) {
        op = pdm_ir_block_parent_op(pdm_ir_value_arg_block(value));
        return set(&s->turns, op, get(&s->turns, op) + 1);
    }
    if (cond && cond->dtype == PDM_BOOL && pdm_tensor_count(cond) > 0)
        return set(&s->taken, op, *(const uint8_t *)cond->data ? 1 : 2);
    return PDM_OK;
}

static pdm_status leave_op(search *s, const pdm_ir_value *value, int32_t element)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);

    if (op && is_while(op) && element < 0 && pdm_ir_value_index(value) + 1 == op->num_results)
        return set(&s->turns, op, 0);
    return PDM_OK;
}

static pdm_status judge(void *user, const pdm_bisect_event *e)
{
    search *s = user;
    const pdm_ir_value *value = e->value;
    const pdm_ir_op *op = pdm_ir_value_op(value);
    uint64_t before;

    PDM_TRY(count(s, value, e->element, &before));
    PDM_TRY(enter_op(s, value, e->in));
    relation how = relate(s, e);
    const bool bad = has_bad_source(s, value), leaf = op && pdm_bisect_is_leaf(op);
    if (how == ABSENT && leaf) /* the reference has it, but never uses it */
        how = NOTHING;
    if (how == ABSENT)
        PDM_TRY(add_detour(s, value));
    else if (how == OTHER && !bad)
        PDM_TRY(
            add_origin(s, (pdm_bisect_origin){
                              .op = op ? op : pdm_ir_block_parent_op(pdm_ir_value_arg_block(value)),
                              .value = value,
                              .element = e->element,
                              .instance = e->instance,
                              .before = before}));
    PDM_TRY(note_state(s, value, e->element,
                       how == EQUAL     ? SAME
                       : how != NOTHING ? DIFFERS
                       : bad            ? TAINTED
                                        : UNKNOWN));
    return leave_op(s, value, e->element);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static pdm_compare_options tolerance(const pdm_bisect_options *o, pdm_dtype dtype)
{
    const double usual = dtype == PDM_F16 ? 1e-3 : dtype == PDM_BF16 ? 1e-2 : 1e-5;

    return (pdm_compare_options){.size = sizeof(pdm_compare_options),
                                 .rtol = o->rtol >= 0 ? o->rtol : usual,
                                 .atol = o->atol >= 0 ? o->atol : usual};
}

static pdm_status compare(const search *s, const pdm_tensor *expected, const pdm_tensor *actual,
                          pdm_comparison *out)
{
    const pdm_compare_options options = tolerance(s->c.subject->options, actual->dtype);
    pdm_tensor_view a, b;

    pdm_api_view(expected, NULL, &a);
    pdm_api_view(actual, NULL, &b);
    return pdm_compare(&a, &b, &options, out);
}

static const pdm_tensor *output_at(const pdm_bundle *bundle, size_t position)
{
    for (size_t i = 0; i < bundle->npz.count; i++) {
        const pdm_npz_key key = pdm_npz_key_parse(bundle->npz.items[i].key);
        if (key.kind == PDM_NPZ_OUT && key.position == position)
            return &bundle->npz.items[i].tensor;
    }
    return NULL;
}

typedef struct port {
    const pdm_ir_op *op;
    int64_t column;
    size_t number;
} port;

static int by_column(const void *a, const void *b)
{
    const port *x = a, *y = b;

    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

typedef PDM_VEC(port) ports;

/* The ops that make outputs, in the order of the outputs. */
static pdm_status output_ops(const pdm_ir_module *module, ports *out)
{
    for (const pdm_ir_op *op = module->block->first; op; op = op->next) {
        const pdm_ir_attr col = pdm_ir_op_attr(op, "col");
        if (!pdm_ir_op_is(op, "pd_op.fetch") && !pdm_ir_op_is(op, "builtin.shadow_output"))
            continue;
        const port p = {op, col && col->kind == PDM_IR_ATTR_I32 ? col->u.i : (int64_t)out->n,
                        out->n};
        if (!PDM_VEC_PUSH(out, p))
            return PDM_NOMEM;
    }
    if (out->n > 0)
        qsort(out->v, out->n, sizeof *out->v, by_column);
    return PDM_OK;
}

/* ---- what is behind a bad output ------------------------------------------------------------- */

typedef PDM_VEC(const pdm_ir_value *) values;

typedef struct walk {
    const search *s;
    values stack;
    pdm_map seen, ops; /* values; ops that made bad ones, or decided over them */
    pdm_status status;
} walk;

static void push(walk *w, const pdm_ir_value *value)
{
    if (!value || w->status != PDM_OK || pdm_map_find(&w->seen, value))
        return;
    if (!pdm_map_put(&w->seen, value) || !PDM_VEC_PUSH(&w->stack, value))
        w->status = PDM_NOMEM;
}

static void push_conditions(walk *w, const pdm_ir_op *op)
{
    for (; op; op = pdm_ir_op_parent(op)) {
        if (!is_if(op) && !is_while(op))
            continue;
        if (!pdm_map_put(&w->ops, op))
            w->status = PDM_NOMEM;
        push(w, operand(op, 0));
        if (is_while(op))
            push(w, yielded(op, 0, 0));
    }
}

static bool was_bad(const search *s, const pdm_ir_value *value)
{
    return get(&s->states, pdm_bisect_key(value, -1, 0)) & EVER_BAD;
}

static bool hands_on(const pdm_ir_op *op)
{
    return pdm_ir_op_is(op, "builtin.combine") || pdm_ir_op_is(op, "builtin.slice") ||
           pdm_ir_op_is(op, "builtin.split");
}

static void step_back(walk *w, const pdm_ir_value *value)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);
    const uint32_t index = pdm_ir_value_index(value);

    if (!(op && hands_on(op)) && !was_bad(w->s, value))
        return;
    if (!op) {
        op = pdm_ir_block_parent_op(pdm_ir_value_arg_block(value));
        push(w, operand(op, index + 1));
        push(w, yielded(op, 0, index + 1));
    } else if (is_if(op)) {
        push(w, yielded(op, 0, index));
        push(w, yielded(op, 1, index));
    } else if (is_while(op)) {
        push(w, operand(op, index + 1));
        push(w, yielded(op, 0, index + 1));
    } else {
        for (uint32_t i = 0; i < op->num_operands; i++)
            push(w, pdm_ir_op_operand_value(op, i));
    }
    if (!pdm_map_put(&w->ops, op))
        w->status = PDM_NOMEM;
    push_conditions(w, op);
}

/* Begin at the outputs that differ; *out_any: some do. */
static pdm_status begin_walk(search *s, walk *w, const ports *outs, bool *out_any)
{
    *out_any = false;
    for (size_t i = 0; i < outs->n; i++) {
        const pdm_tensor *expected = output_at(s->expected, i), *actual = output_at(s->actual, i);
        const pdm_ir_op *op = outs->v[i].op;
        pdm_comparison comparison;
        if (!expected || !actual)
            continue;
        PDM_TRY(compare(s, expected, actual, &comparison));
        if (comparison.equal)
            continue;
        *out_any = true;
        if (is_bad(state_of(s, operand(op, 0)))) {
            push(w, operand(op, 0));
            continue;
        }
        /* What is handed out is right, but for another output. */
        if (!pdm_map_put(&w->ops, op))
            return PDM_NOMEM;
        pdm_bisect_origin o = {.op = op, .element = -1, .compared = true, .comparison = comparison};
        PDM_TRY(pdm_tensor_copy(&o.expected, expected));
        const pdm_status status = pdm_tensor_copy(&o.actual, actual);
        if (status != PDM_OK)
            pdm_tensor_deinit(&o.expected);
        PDM_TRY(status);
        PDM_TRY(add_origin(s, o));
    }
    return w->status;
}

/* Keep the origins from which a bad output follows: those of other values do no harm. */
static pdm_status keep_causes(search *s, bool *out_any)
{
    walk w = {.s = s, .status = PDM_OK};
    ports outs = {0};
    size_t kept = 0;

    pdm_status status = output_ops(pdm_api_plan_module(s->c.subject->plan), &outs);
    if (status == PDM_OK)
        status = begin_walk(s, &w, &outs, out_any);
    while (status == PDM_OK && w.stack.n > 0 && w.status == PDM_OK)
        step_back(&w, w.stack.v[--w.stack.n]);
    if (status == PDM_OK)
        status = w.status;
    for (size_t i = 0; status == PDM_OK && i < s->origins.n; i++) {
        pdm_bisect_origin *o = &s->origins.v[i];
        if (pdm_map_find(&w.ops, o->op) && kept < MAX_CANDIDATES) {
            const pdm_bisect_origin other = s->origins.v[kept];
            s->origins.v[kept++] = *o;
            *o = other;
        }
    }
    for (size_t i = kept; status == PDM_OK && i < s->origins.n; i++) {
        pdm_tensor_deinit(&s->origins.v[i].expected);
        pdm_tensor_deinit(&s->origins.v[i].actual);
    }
    if (status == PDM_OK)
        s->origins.n = kept;
    pdm_map_deinit(&w.seen);
    pdm_map_deinit(&w.ops);
    PDM_VEC_FREE(&w.stack);
    PDM_VEC_FREE(&outs);
    return status;
}

/* ---- looking closely ------------------------------------------------------------------------- */

void pdm_bisect_measure(const pdm_tensor *t, pdm_bisect_stats *out)
{
    const uint64_t n = (uint64_t)pdm_tensor_count(t) * (pdm_dtype_is_complex(t->dtype) ? 2 : 1);
    double sum = 0;
    uint64_t finite = 0;

    out->known = true;
    out->dtype = t->dtype;
    out->rank = t->rank;
    memcpy(out->dims, t->dims, (size_t)t->rank * sizeof *t->dims);
    out->count = n;
    for (uint64_t i = 0; i < n; i++) {
        const double x = pdm_api_number(t->dtype, t->data, (size_t)i);
        if (isnan(x)) {
            out->nans++;
        } else if (isinf(x)) {
            out->infs++;
        } else {
            out->min = finite && out->min <= x ? out->min : x;
            out->max = finite && out->max >= x ? out->max : x;
            sum += x;
            finite++;
        }
    }
    out->mean = finite ? sum / (double)finite : 0;
}

static pdm_status fill_candidates(search *s, bool of_reference)
{
    pdm_map_clear(&s->candidates);
    for (size_t i = 0; i < s->origins.n; i++) {
        const pdm_bisect_origin *o = &s->origins.v[i];
        const pdm_ir_value *value =
            o->value && of_reference ? pdm_bisect_counterpart(&s->c, o->value) : o->value;
        if (value)
            PDM_TRY(set(&s->candidates, pdm_bisect_key(value, o->element, o->instance), i + 1));
    }
    return PDM_OK;
}

static pdm_bisect_origin *candidate(search *s, const pdm_bisect_event *e)
{
    const uint64_t number = get(&s->candidates, key_of(e));

    return number ? &s->origins.v[number - 1] : NULL;
}

static pdm_status keep_expected(void *user, const pdm_bisect_event *e)
{
    pdm_bisect_origin *o = candidate(user, e);
    const pdm_tensor *tensor = pdm_bisect_tensor_of(e->data);

    return o && tensor && o->expected.dtype == PDM_UNDEFINED ? pdm_tensor_copy(&o->expected, tensor)
                                                             : PDM_OK;
}

static pdm_status measure_inputs(pdm_bisect_origin *o, const pdm_value *const *in)
{
    o->inputs = calloc((size_t)o->op->num_operands + 1, sizeof *o->inputs);
    if (!o->inputs)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < o->op->num_operands; i++) {
        const pdm_tensor *tensor = in ? pdm_bisect_tensor_of(in[i]) : NULL;
        o->inputs[i].value = pdm_ir_op_operand_value(o->op, i);
        if (tensor)
            pdm_bisect_measure(tensor, &o->inputs[i]);
    }
    return PDM_OK;
}

static pdm_status keep_actual(void *user, const pdm_bisect_event *e)
{
    search *s = user;
    pdm_bisect_origin *o = candidate(s, e);
    const pdm_tensor *tensor = pdm_bisect_tensor_of(e->data);

    if (!o || o->inputs)
        return PDM_OK;
    PDM_TRY(measure_inputs(o, e->in));
    if (!tensor)
        return PDM_OK;
    PDM_TRY(pdm_tensor_copy(&o->actual, tensor));
    if (o->expected.dtype == PDM_UNDEFINED)
        return PDM_OK;
    o->compared = true;
    return compare(s, &o->expected, &o->actual, &o->comparison);
}

/* Is an origin wrong by itself? What cannot be compared as numbers is. */
static bool is_beyond(const pdm_bisect_origin *o)
{
    return !o->compared || !o->comparison.equal;
}

static const pdm_bisect_origin *choose(const search *s)
{
    const pdm_bisect_origin *most = NULL;

    for (size_t i = 0; i < s->origins.n; i++) {
        const pdm_bisect_origin *o = &s->origins.v[i];
        if (is_beyond(o))
            return o;
        if (!most || o->comparison.max_rel > most->comparison.max_rel)
            most = o;
    }
    return most;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static pdm_status look_closely(search *s, pdm_bisection **out)
{
    PDM_TRY(fill_candidates(s, true));
    PDM_TRY(pdm_bisect_tell(s->c.reference, s->inputs, keep_expected, s, NULL));
    PDM_TRY(fill_candidates(s, false));
    PDM_TRY(pdm_bisect_tell(s->c.subject, s->inputs, keep_actual, s, NULL));
    s->c.origin = choose(s);
    s->c.num_origins = s->origins.n;
    s->c.beyond = is_beyond(s->c.origin);
    return pdm_bisect_report(&s->c, out);
}

static pdm_status run_search(search *s, pdm_bisection **out)
{
    pdm_context *context = s->c.subject->model->context;
    bool any;

    PDM_TRY(pdm_bundle_create(context, &s->expected));
    PDM_TRY(pdm_bundle_create(context, &s->actual));
    PDM_TRY(pdm_bisect_tell(s->c.reference, s->inputs, note_digest, s, s->expected));
    PDM_TRY(pdm_bisect_tell(s->c.subject, s->inputs, judge, s, s->actual));
    PDM_TRY(keep_causes(s, &any));
    if (any && s->origins.n > 0)
        return look_closely(s, out);
    *out = pdm_bisect_nothing(&s->c);
    if (!*out)
        return PDM_NOMEM;
    (*out)->differs = any;
    return PDM_OK;
}

/* Compare two programs; *out_found is NULL when they give the same outputs. */
static pdm_status part(const pdm_bisect_program *reference, const pdm_bisect_program *subject,
                       const pdm_ir_alignment *alignment, const pdm_bundle *inputs,
                       pdm_bisection **out)
{
    search s = {.c = {.reference = reference, .subject = subject, .alignment = alignment},
                .inputs = inputs};
    const pdm_status status = run_search(&s, out);

    deinit(&s);
    return status;
}

static pdm_status part_modules(const pdm_bisect_program *reference,
                               const pdm_bisect_program *subject, const pdm_bundle *inputs,
                               pdm_bisection **out)
{
    pdm_ir_alignment alignment;
    pdm_status status = pdm_ir_align(pdm_api_plan_module(reference->plan),
                                     pdm_api_plan_module(subject->plan), &alignment);

    if (status == PDM_OK)
        status = part(reference, subject, &alignment, inputs, out);
    pdm_ir_alignment_deinit(&alignment);
    return status;
}

/* A PIR model against another, or its fast kernels against the reference kernels. */
static pdm_status bisect_pir(const pdm_model *model, const pdm_model *other,
                             const pdm_bisect_options *options, const pdm_bundle *inputs,
                             pdm_bisection **out)
{
    pdm_bisect_program first = {0}, second = {0};
    pdm_status status =
        pdm_bisect_program_init(&first, model, options, PDM_KERNELS_REFERENCE,
                                other ? "the first model" : "the run with reference kernels");

    if (status == PDM_OK)
        status = pdm_bisect_program_init(&second, other ? other : model, options, options->kernels,
                                         other ? "the second model" : "the run with fast kernels");
    if (status == PDM_OK)
        status = other ? part_modules(&first, &second, inputs, out)
                       : part(&first, &second, NULL, inputs, out);
    pdm_bisect_program_deinit(&first);
    pdm_bisect_program_deinit(&second);
    return status;
}

/* The legacy program against its translation, then the translation against the other model. */
static pdm_status bisect_legacy(const pdm_model *model, const pdm_model *other,
                                const pdm_bisect_options *options, const pdm_bundle *inputs,
                                pdm_bisection **out)
{
    pdm_bisect_program first = {0}, second = {0};
    pdm_status status = pdm_bisect_program_init(&first, model, options,
                                                other ? PDM_KERNELS_REFERENCE : options->kernels,
                                                "the translation");

    if (status == PDM_OK && other) {
        status =
            pdm_bisect_program_init(&second, other, options, options->kernels, "the second model");
        if (status == PDM_OK)
            status = part_modules(&first, &second, inputs, out);
    }
    if (status == PDM_OK && !(*out && (*out)->found)) {
        pdm_bisect_program legacy = first;
        legacy.legacy = true;
        legacy.name = "the legacy program as it is";
        pdm_bisection_destroy(*out);
        *out = NULL;
        status = part(&legacy, &first, NULL, inputs, out);
    }
    pdm_bisect_program_deinit(&first);
    pdm_bisect_program_deinit(&second);
    return status;
}

pdm_status pdm_bisect(const pdm_model *model, const pdm_model *other,
                      const pdm_bisect_options *options, const pdm_bundle *inputs,
                      pdm_bisection **out_bisection)
{
    pdm_bisect_options given = {.rtol = -1, .atol = -1};
    pdm_bisection *out = NULL;

    PDM_API_OPTIONS(given, options);
    if (!model || !inputs || !out_bisection || (other && other->context != model->context) ||
        (model->kind == PDM_MODEL_PIR && !other && given.kernels != PDM_KERNELS_FAST))
        return PDM_INVALID_ARG;
    const pdm_status status = model->kind == PDM_MODEL_LEGACY
                                  ? bisect_legacy(model, other, &given, inputs, &out)
                                  : bisect_pir(model, other, &given, inputs, &out);
    if (status == PDM_OK)
        *out_bisection = out;
    else
        pdm_bisection_destroy(out);
    return status;
}
