/* Running a plan, instruction by instruction. */
#include "exec/executor.h"

#include <stdlib.h>
#include <string.h>

#include "exec/plan.h"

typedef struct tuple {
    pdm_value *values;
    size_t count;
} tuple;

typedef struct stack {
    tuple *tuples;
    size_t count, capacity;
} stack;

struct pdm_exec_session {
    const pdm_exec_plan *plan;
    pdm_exec_options options;
    pdm_value *values; /* by slot */
    pdm_tensor *inputs;
    stack *stacks;
    pdm_rng rng;
    pdm_diag_sink *sink; /* of the run at hand */
    /* For the call at hand. */
    pdm_value **in, **out;
    pdm_value *scratch; /* results of in-place ops before they replace their operand */
};

/* ---- sessions ----------------------------------------------------------------------------------- */

static pdm_status make_lists(pdm_exec_session *s)
{
    for (size_t i = 0; i < s->plan->num_lists; i++) {
        const pdm_exec_list *list = &s->plan->lists[i];
        pdm_value *value = &s->values[list->slot];
        value->kind = PDM_VALUE_LIST;
        value->list.items = calloc(list->count + 1, sizeof *value->list.items);
        if (!value->list.items)
            return PDM_NOMEM;
        value->list.count = list->count;
        for (uint32_t k = 0; k < list->count; k++)
            value->list.items[k] =
                list->elements[k] == PDM_EXEC_NONE ? NULL : &s->values[list->elements[k]];
    }
    return PDM_OK;
}

void pdm_exec_session_reset(pdm_exec_session *s)
{
    for (size_t i = 0; i < s->plan->num_params; i++) {
        pdm_value *value = &s->values[s->plan->params[i].slot];
        pdm_value_deinit(value);
        value->kind = PDM_VALUE_TENSOR;
        pdm_tensor_ref(&value->tensor, &s->plan->params[i].tensor);
    }
    pdm_rng_seed(&s->rng, s->options.seed);
}

pdm_status pdm_exec_session_create(const pdm_exec_plan *plan, const pdm_exec_options *options,
                                   pdm_exec_session **out_session)
{
    pdm_exec_session *s = calloc(1, sizeof *s);

    if (!s)
        return PDM_NOMEM;
    s->plan = plan;
    if (options)
        s->options = *options;
    s->values = calloc(plan->num_slots + 1, sizeof *s->values);
    s->inputs = calloc(plan->num_inputs + 1, sizeof *s->inputs);
    s->stacks = calloc(plan->num_stacks + 1, sizeof *s->stacks);
    s->in = calloc(plan->max_operands + 1, sizeof *s->in);
    s->out = calloc(plan->max_results + 1, sizeof *s->out);
    s->scratch = calloc(plan->max_results + 1, sizeof *s->scratch);
    if (!s->values || !s->inputs || !s->stacks || !s->in || !s->out || !s->scratch ||
        make_lists(s) != PDM_OK) {
        pdm_exec_session_destroy(s);
        return PDM_NOMEM;
    }
    pdm_exec_session_reset(s);
    *out_session = s;
    return PDM_OK;
}

static void drop_tuple(tuple *t)
{
    for (size_t i = 0; i < t->count; i++)
        pdm_value_deinit(&t->values[i]);
    free(t->values);
}

static void clear_stacks(pdm_exec_session *s)
{
    for (uint32_t i = 0; i < s->plan->num_stacks; i++) {
        for (size_t k = 0; k < s->stacks[i].count; k++)
            drop_tuple(&s->stacks[i].tuples[k]);
        free(s->stacks[i].tuples);
        s->stacks[i] = (stack){0};
    }
}

void pdm_exec_session_destroy(pdm_exec_session *s)
{
    if (!s)
        return;
    if (s->stacks)
        clear_stacks(s);
    for (size_t i = 0; s->values && i < s->plan->num_slots; i++)
        pdm_value_deinit(&s->values[i]);
    for (size_t i = 0; s->inputs && i < s->plan->num_inputs; i++)
        pdm_tensor_deinit(&s->inputs[i]);
    free(s->values);
    free(s->inputs);
    free(s->stacks);
    free(s->in);
    free(s->out);
    free(s->scratch);
    free(s);
}

void pdm_exec_set_input(pdm_exec_session *s, size_t index, const pdm_tensor *tensor)
{
    pdm_tensor_ref(&s->inputs[index], tensor);
}

const pdm_value *pdm_exec_output(const pdm_exec_session *s, size_t index)
{
    const pdm_value *value = &s->values[s->plan->outputs[index].slot];

    return value->kind == PDM_VALUE_NONE ? NULL : value;
}

/* ---- moving values ------------------------------------------------------------------------------ */

static pdm_value *at(pdm_exec_session *s, uint32_t slot)
{
    return slot == PDM_EXEC_NONE ? NULL : &s->values[slot];
}

/* dst becomes src; with move, src is left empty. Lists stay in place: their elements are assigned. */
static pdm_status assign(pdm_value *dst, pdm_value *src, bool move)
{
    if (!dst || dst == src)
        return PDM_OK;
    if (!src) {
        if (dst->kind != PDM_VALUE_LIST)
            pdm_value_deinit(dst);
        return PDM_OK;
    }
    if (dst->kind == PDM_VALUE_LIST || src->kind == PDM_VALUE_LIST) {
        for (size_t i = 0; dst->kind == src->kind && i < dst->list.count && i < src->list.count; i++)
            PDM_TRY(assign(dst->list.items[i], src->list.items[i], false));
        return PDM_OK;
    }
    if (!move)
        return pdm_value_ref(dst, src);
    pdm_value_deinit(dst);
    *dst = *src;
    pdm_value_init(src);
    return PDM_OK;
}

/* ---- instructions ------------------------------------------------------------------------------- */

static pdm_status failed(pdm_exec_session *s, const pdm_exec_instr *instr, pdm_status status,
                         const char *message)
{
    pdm_loc loc = PDM_NOWHERE;

    if (status == PDM_NOMEM || status == PDM_CANCELLED)
        return status;
    loc.op_type = pdm_ir_op_name(instr->op);
    loc.block = instr->op->lg_block;
    loc.op_index = instr->op->lg_op;
    pdm_diag(s->sink, PDM_D_EXEC_OP, &loc, NULL, "'%s' failed: %s", loc.op_type, message);
    return PDM_INVALID_MODEL;
}

static pdm_ir_attr op_attr(void *self, const char *name)
{
    return pdm_ir_op_attr(self, name);
}

static pdm_status run_kernel(pdm_exec_session *s, const pdm_exec_instr *instr)
{
    pdm_k k = {
        .op = pdm_ir_op_name(instr->op),
        .desc = instr->op->info->desc,
        .in = s->in,
        .num_in = instr->num_in,
        .out = s->out,
        .num_out = instr->num_out,
        .attrs = {op_attr, (void *)(uintptr_t)instr->op},
        .in_slots = instr->in_slots,
        .out_slots = instr->out_slots,
        .rng = &s->rng,
        .pool = s->options.pool,
    };

    for (uint32_t i = 0; i < instr->num_in; i++)
        s->in[i] = at(s, instr->in[i]);
    for (uint32_t i = 0; i < instr->num_out; i++) {
        s->out[i] = at(s, instr->out[i]);
        /* Arrays are changed where they are; a tensor's new value is made beside the old one. */
        if (instr->in_place && instr->in_place[i] && s->out[i]->kind != PDM_VALUE_ARRAY &&
            s->out[i]->kind != PDM_VALUE_NONE)
            s->out[i] = &s->scratch[i];
    }
    pdm_status status = instr->fn(&k);
    if (status == PDM_OK)
        status = k.status;
    for (uint32_t i = 0; i < instr->num_out; i++) {
        if (s->out[i] != &s->scratch[i])
            continue;
        if (status == PDM_OK)
            status = assign(at(s, instr->out[i]), &s->scratch[i], true);
        pdm_value_deinit(&s->scratch[i]);
    }
    if (status == PDM_OK)
        return PDM_OK;
    return failed(s, instr, status, k.message[0] ? k.message : pdm_status_text(status));
}

static pdm_status run_block(pdm_exec_session *s, const pdm_exec_block *block);

static pdm_status condition(pdm_exec_session *s, const pdm_exec_instr *instr, bool *out)
{
    const pdm_value *value = at(s, instr->in[0]);

    if (!value || value->kind != PDM_VALUE_TENSOR || value->tensor.dtype != PDM_BOOL ||
        pdm_tensor_count(&value->tensor) < 1)
        return failed(s, instr, PDM_INVALID_MODEL, "the condition is no bool with one element");
    *out = *(const uint8_t *)value->tensor.data != 0;
    return PDM_OK;
}

static pdm_status run_if(pdm_exec_session *s, const pdm_exec_instr *instr)
{
    bool cond;

    PDM_TRY(condition(s, instr, &cond));
    const pdm_exec_block *block = instr->blocks[cond ? 0 : 1];
    PDM_TRY(run_block(s, block));
    for (uint32_t i = 0; i < instr->num_out && i < block->num_yields; i++)
        PDM_TRY(assign(at(s, instr->out[i]), at(s, block->yields[i]), block->may_move[i]));
    return PDM_OK;
}

static pdm_status check_cancel(pdm_exec_session *s)
{
    return s->options.cancelled && s->options.cancelled(s->options.user) ? PDM_CANCELLED : PDM_OK;
}

static pdm_status run_while(pdm_exec_session *s, const pdm_exec_instr *instr)
{
    const pdm_exec_block *body = instr->blocks[0];
    uint64_t turns = 0;
    bool cond;

    for (uint32_t i = 0; i < instr->num_out; i++)
        PDM_TRY(assign(at(s, instr->out[i]), at(s, instr->in[i + 1]), false));
    for (;;) {
        PDM_TRY(condition(s, instr, &cond));
        if (!cond)
            return PDM_OK;
        if (s->options.max_iterations && turns++ == s->options.max_iterations)
            return failed(s, instr, PDM_INVALID_MODEL,
                          "the loop was stopped: it reached the limit of turns");
        PDM_TRY(check_cancel(s));
        for (uint32_t i = 0; i < instr->num_out; i++)
            PDM_TRY(assign(at(s, body->args[i]), at(s, instr->out[i]), true));
        PDM_TRY(run_block(s, body));
        for (uint32_t i = 0; i < instr->num_out; i++)
            PDM_TRY(assign(at(s, instr->out[i]), at(s, body->yields[i + 1]), body->may_move[i + 1]));
        PDM_TRY(assign(at(s, instr->in[0]), at(s, body->yields[0]), body->may_move[0]));
    }
}

static pdm_status push(pdm_exec_session *s, const pdm_exec_instr *instr)
{
    stack *st = &s->stacks[instr->stack];
    tuple t = {.count = instr->num_in};

    if (st->count == st->capacity) {
        const size_t capacity = st->capacity ? 2 * st->capacity : 8;
        tuple *tuples = realloc(st->tuples, capacity * sizeof *tuples);
        if (!tuples)
            return PDM_NOMEM;
        st->tuples = tuples;
        st->capacity = capacity;
    }
    t.values = calloc(t.count + 1, sizeof *t.values);
    if (!t.values)
        return PDM_NOMEM;
    st->tuples[st->count++] = t;
    for (uint32_t i = 0; i < instr->num_in; i++) {
        const pdm_value *value = at(s, instr->in[i]);
        if (value && value->kind == PDM_VALUE_LIST)
            return failed(s, instr, PDM_INVALID_MODEL, "a vector cannot be pushed");
        if (value)
            PDM_TRY(pdm_value_ref(&t.values[i], value));
    }
    return PDM_OK;
}

static pdm_status pop(pdm_exec_session *s, const pdm_exec_instr *instr)
{
    stack *st = &s->stacks[instr->stack];

    if (st->count == 0)
        return failed(s, instr, PDM_INVALID_MODEL, "the stack is empty");
    tuple t = st->tuples[--st->count];
    pdm_status status = t.count == instr->num_out
                            ? PDM_OK
                            : failed(s, instr, PDM_INVALID_MODEL,
                                     "the tuple has another number of values than is popped");
    for (uint32_t i = 0; status == PDM_OK && i < instr->num_out; i++)
        status = assign(at(s, instr->out[i]), &t.values[i], true);
    drop_tuple(&t);
    return status;
}

static pdm_status has_elements(pdm_exec_session *s, const pdm_exec_instr *instr)
{
    pdm_value *value = instr->num_out ? at(s, instr->out[0]) : NULL;

    if (!value)
        return PDM_OK;
    pdm_value_deinit(value);
    value->kind = PDM_VALUE_TENSOR;
    PDM_TRY(pdm_tensor_alloc(&value->tensor, PDM_BOOL, 1, &(int64_t){1}));
    *(uint8_t *)value->tensor.data = s->stacks[instr->stack].count > 0;
    return PDM_OK;
}

static pdm_status run_instr(pdm_exec_session *s, const pdm_exec_instr *instr)
{
    switch (instr->kind) {
    case PDM_EXEC_KERNEL:
        return run_kernel(s, instr);
    case PDM_EXEC_IF:
        return run_if(s, instr);
    case PDM_EXEC_WHILE:
        return run_while(s, instr);
    case PDM_EXEC_PUSH:
        return push(s, instr);
    case PDM_EXEC_POP:
        return pop(s, instr);
    case PDM_EXEC_HAS_ELEMENTS:
        return has_elements(s, instr);
    case PDM_EXEC_COPY:
        return instr->num_in ? assign(at(s, instr->out[0]), at(s, instr->in[0]), false) : PDM_OK;
    }
    return PDM_INTERNAL;
}

static pdm_status run_block(pdm_exec_session *s, const pdm_exec_block *block)
{
    for (size_t i = 0; i < block->num_instrs; i++) {
        PDM_TRY(check_cancel(s));
        PDM_TRY(run_instr(s, &block->instrs[i]));
    }
    return PDM_OK;
}

/* ---- runs --------------------------------------------------------------------------------------- */

static pdm_status bind_inputs(pdm_exec_session *s)
{
    for (size_t i = 0; i < s->plan->num_inputs; i++) {
        pdm_loc loc = PDM_NOWHERE;
        pdm_value *value = at(s, s->plan->inputs[i].slot);
        loc.var = s->plan->inputs[i].name;
        if (s->inputs[i].dtype == PDM_UNDEFINED)
            return pdm_diag(s->sink, PDM_D_EXEC_INPUT, &loc, NULL, "input '%s' was not given",
                            loc.var);
        if (!value)
            continue;
        pdm_value_deinit(value);
        value->kind = PDM_VALUE_TENSOR;
        pdm_tensor_ref(&value->tensor, &s->inputs[i]);
    }
    return PDM_OK;
}

pdm_status pdm_exec_run(pdm_exec_session *s, pdm_diag_sink *sink)
{
    s->sink = sink;
    clear_stacks(s);
    pdm_rng_seed(&s->rng, s->options.seed);
    pdm_status status = bind_inputs(s);
    if (status == PDM_OK)
        status = run_block(s, s->plan->top);
    s->sink = NULL;
    return status;
}
