/* Running the plan of a legacy program. */
#include "exec/legacy_interp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "exec/legacy_impl.h"

struct pdm_legacy_session {
    const pdm_legacy_plan *plan;
    pdm_legacy_options options;
    pdm_value *values; /* by place */
    pdm_value **in, **out;
    pdm_tensor *inputs;
    pdm_value *outputs;
    uint64_t num_random; /* executions of random ops in this run */
    pdm_diag_sink *sink; /* of the run at hand */
};

typedef pdm_legacy_session session;

static pdm_value *at(session *s, uint32_t place)
{
    return place == PDM_LEGACY_NO_PLACE ? NULL : &s->values[place];
}

/* ---- sessions -------------------------------------------------------------------------------- */

static pdm_status make_extras(session *s)
{
    const pdm_legacy_plan *plan = s->plan;

    for (size_t i = 0; i < plan->extras.n; i++) {
        const pdm_legacy_extra *extra = &plan->extras.v[i];
        pdm_value *value = &s->values[plan->slots.n + i];
        if (extra->tensor.dtype != PDM_UNDEFINED) {
            value->kind = PDM_VALUE_TENSOR;
            pdm_tensor_ref(&value->tensor, &extra->tensor);
        }
        if (!extra->items)
            continue;
        value->kind = PDM_VALUE_LIST;
        value->list.items = calloc((size_t)extra->count + 1, sizeof *value->list.items);
        if (!value->list.items)
            return PDM_NOMEM;
        value->list.count = extra->count;
        for (uint32_t k = 0; k < extra->count; k++)
            value->list.items[k] = at(s, extra->items[k]);
    }
    return PDM_OK;
}

/* Places do not move, so what an op sees can be looked up once. */
static void point(session *s)
{
    const pdm_legacy_plan *plan = s->plan;

    for (size_t b = 0; b < plan->program->num_blocks; b++) {
        for (size_t i = 0; i < plan->blocks[b].num_ops; i++) {
            const pdm_legacy_op *op = &plan->blocks[b].ops[i];
            for (uint32_t k = 0; k < op->num_in; k++)
                s->in[op->first_in + k] = at(s, op->in[k]);
            for (uint32_t k = 0; k < op->num_out; k++)
                s->out[op->first_out + k] = at(s, op->out[k]);
        }
    }
}

/* What a variable is before anything writes it. */
static void empty_slot(session *s, uint32_t slot)
{
    pdm_value *value = &s->values[slot];

    pdm_value_deinit(value);
    if (s->plan->slots.v[slot].var->kind == PDM_LG_TENSOR_ARRAY)
        value->kind = PDM_VALUE_ARRAY;
}

void pdm_legacy_session_reset(session *s)
{
    for (uint32_t i = 0; i < s->plan->slots.n; i++)
        empty_slot(s, i);
    for (size_t i = 0; i < s->plan->params.n; i++) {
        pdm_value *value = &s->values[s->plan->params.v[i].slot];
        value->kind = PDM_VALUE_TENSOR;
        pdm_tensor_ref(&value->tensor, &s->plan->params.v[i].tensor);
    }
}

pdm_status pdm_legacy_session_create(const pdm_legacy_plan *plan, const pdm_legacy_options *options,
                                     session **out_session)
{
    session *s = calloc(1, sizeof *s);

    if (!s)
        return PDM_NOMEM;
    s->plan = plan;
    if (options)
        s->options = *options;
    s->values = calloc(plan->slots.n + plan->extras.n + 1, sizeof *s->values);
    s->in = calloc((size_t)plan->total_in + 1, sizeof *s->in);
    s->out = calloc((size_t)plan->total_out + 1, sizeof *s->out);
    s->inputs = calloc(plan->inputs.n + 1, sizeof *s->inputs);
    s->outputs = calloc(plan->outputs.n + 1, sizeof *s->outputs);
    if (!s->values || !s->in || !s->out || !s->inputs || !s->outputs || make_extras(s) != PDM_OK) {
        pdm_legacy_session_destroy(s);
        return PDM_NOMEM;
    }
    point(s);
    pdm_legacy_session_reset(s);
    *out_session = s;
    return PDM_OK;
}

void pdm_legacy_session_destroy(session *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->values && i < s->plan->slots.n + s->plan->extras.n; i++)
        pdm_value_deinit(&s->values[i]);
    for (size_t i = 0; s->inputs && i < s->plan->inputs.n; i++)
        pdm_tensor_deinit(&s->inputs[i]);
    for (size_t i = 0; s->outputs && i < s->plan->outputs.n; i++)
        pdm_value_deinit(&s->outputs[i]);
    free(s->values);
    free(s->in);
    free(s->out);
    free(s->inputs);
    free(s->outputs);
    free(s);
}

void pdm_legacy_set_input(session *s, size_t index, const pdm_tensor *tensor)
{
    pdm_tensor_ref(&s->inputs[index], tensor);
}

const pdm_value *pdm_legacy_output(const session *s, size_t index)
{
    return s->outputs[index].kind == PDM_VALUE_NONE ? NULL : &s->outputs[index];
}

const pdm_value *pdm_legacy_value(const session *s, int32_t block, const char *name)
{
    const uint32_t slot = pdm_legacy_slot_of(s->plan, block, name);

    return slot == PDM_LEGACY_NO_PLACE || s->values[slot].kind == PDM_VALUE_NONE ? NULL
                                                                                 : &s->values[slot];
}

/* ---- errors ---------------------------------------------------------------------------------- */

static bool holds_nothing(const pdm_value *value)
{
    return value->kind == PDM_VALUE_NONE ||
           (value->kind == PDM_VALUE_TENSOR && value->tensor.dtype == PDM_UNDEFINED);
}

/* The first variable among the inputs that has no value: most likely what an op stumbled over. */
static const char *unset_variable(session *s, const pdm_legacy_op *op)
{
    for (size_t i = 0; i < op->op->num_inputs; i++) {
        const pdm_lg_slot *slot = &op->op->inputs[i];
        for (size_t k = 0; k < slot->num_args; k++) {
            uint32_t place = pdm_legacy_slot_of(s->plan, op->block, slot->args[k]);
            for (uint32_t a = 0; a < op->num_aliases; a++) {
                if (op->aliases[a].slot == place) {
                    place = op->aliases[a].old;
                    break;
                }
            }
            if (place != PDM_LEGACY_NO_PLACE && holds_nothing(&s->values[place]))
                return slot->args[k];
        }
    }
    return NULL;
}

static pdm_status failed(session *s, const pdm_legacy_op *op, pdm_status status,
                         const char *message)
{
    pdm_loc loc = PDM_NOWHERE;

    if (status == PDM_NOMEM || status == PDM_CANCELLED)
        return status;
    loc.file = s->plan->program->path;
    loc.block = op->block;
    loc.op_index = (int32_t)op->index;
    loc.op_type = op->op->type;
    loc.var = unset_variable(s, op);
    if (loc.var)
        pdm_diag(s->sink, PDM_D_EXEC_OP, &loc, NULL, "'%s' failed: %s (variable '%s' has no value)",
                 op->op->type, message, loc.var);
    else
        pdm_diag(s->sink, PDM_D_EXEC_OP, &loc, NULL, "'%s' failed: %s", op->op->type, message);
    return status;
}

static pdm_status check_cancel(session *s)
{
    return s->options.cancelled && s->options.cancelled(s->options.user) ? PDM_CANCELLED : PDM_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static pdm_ir_attr attr_of(void *self, const char *name)
{
    const pdm_legacy_op *op = self;

    for (size_t i = 0; i < op->num_attrs; i++) {
        if (!strcmp(op->attrs[i].name, name))
            return op->attrs[i].attr;
    }
    return NULL;
}

/* As the executor does, so that a program and its translation draw the same numbers. */
static void seed_op(session *s, const pdm_legacy_op *op, pdm_rng *rng)
{
    const uint64_t number = s->num_random++;

    if (op->seed != 0)
        pdm_rng_seed(rng, (uint64_t)op->seed);
    else
        pdm_rng_seed(rng, pdm_hash_bytes(&number, sizeof number, s->options.seed));
}

static void apply_lods(session *s, const pdm_legacy_op *op)
{
    const pdm_tensor none = {0};

    for (uint32_t i = 0; i < op->num_lods; i++) {
        const pdm_legacy_lod_rule *rule = &op->lods[i];
        pdm_value *to = at(s, rule->to);
        const pdm_value *value = at(s, rule->from);
        const pdm_tensor *from = value ? &value->tensor : &none;
        if (to->kind != PDM_VALUE_TENSOR || to->tensor.dtype == PDM_UNDEFINED)
            continue;
        if (rule->if_same_rows &&
            (from->rank == 0 || to->tensor.rank == 0 || from->dims[0] != to->tensor.dims[0]))
            from = &none;
        pdm_tensor_share_lod(&to->tensor, from);
    }
}

static pdm_status run_kernel(session *s, const pdm_legacy_op *op)
{
    pdm_rng rng = {{0}};
    pdm_k k = {
        .op = op->kernel,
        .desc = op->desc,
        .in = s->in + op->first_in,
        .num_in = op->num_in,
        .out = s->out + op->first_out,
        .num_out = op->num_out,
        .out_counts = op->out_counts,
        .attrs = {attr_of, (void *)(uintptr_t)op},
        .in_slots = op->in_slots,
        .out_slots = op->out_slots,
        .rng = &rng,
        .pool = s->options.pool,
        .legacy = true,
        .before = PDM_DIFF_ALL,
        .print = s->options.print,
        .print_self = s->options.user,
    };
    pdm_status status = PDM_OK;

    for (uint32_t i = 0; i < op->num_aliases && status == PDM_OK; i++)
        status = pdm_value_ref(at(s, op->aliases[i].old), at(s, op->aliases[i].slot));
    if (op->random)
        seed_op(s, op, &rng);
    if (status == PDM_OK)
        status = pdm_k_call(&k, op->fn);
    if (status == PDM_OK)
        apply_lods(s, op);
    else
        status = failed(s, op, status, k.message[0] ? k.message : pdm_status_text(status));
    pdm_k_end(&k);
    for (uint32_t i = 0; i < op->num_aliases; i++)
        pdm_value_deinit(at(s, op->aliases[i].old));
    return status;
}

/* ---- feeds and fetches ----------------------------------------------------------------------- */

static pdm_status set_tensor(pdm_value *value, const pdm_tensor *tensor)
{
    pdm_value_deinit(value);
    value->kind = PDM_VALUE_TENSOR;
    pdm_tensor_ref(&value->tensor, tensor);
    return PDM_OK;
}

static pdm_status run_fetch(session *s, const pdm_legacy_op *op)
{
    const pdm_value *value = at(s, op->slot);

    if (op->column >= s->plan->outputs.n || s->plan->outputs.v[op->column].slot != op->slot)
        return PDM_OK; /* other outputs were asked for */
    if (holds_nothing(value))
        return failed(s, op, PDM_INVALID_MODEL, "there is nothing to fetch");
    return pdm_value_ref(&s->outputs[op->column], value);
}

static pdm_status bind_inputs(session *s)
{
    for (size_t i = 0; i < s->plan->inputs.n; i++) {
        pdm_loc loc = PDM_NOWHERE;
        loc.var = s->plan->inputs.v[i].name;
        if (s->inputs[i].dtype == PDM_UNDEFINED)
            return pdm_diag(s->sink, PDM_D_EXEC_INPUT, &loc, NULL, "input '%s' was not given",
                            loc.var);
        PDM_TRY(set_tensor(at(s, s->plan->inputs.v[i].slot), &s->inputs[i]));
    }
    return PDM_OK;
}

/* ---- sub-blocks ------------------------------------------------------------------------------ */

static pdm_status run_block(session *s, int32_t block);

static void empty_frame(session *s, int32_t block)
{
    const pdm_legacy_block *b = &s->plan->blocks[block];

    for (size_t i = 0; i < b->num_vars; i++) {
        if (!s->plan->slots.v[b->slots[i]].persistable)
            empty_slot(s, b->slots[i]);
    }
}

/* Before the next turn of a loop in test mode. */
static void refresh_frame(session *s, int32_t block)
{
    const pdm_legacy_block *b = &s->plan->blocks[block];
    const pdm_tensor none = {0};

    for (size_t i = 0; i < b->num_vars; i++) {
        pdm_value *value = &s->values[b->slots[i]];
        if (s->plan->slots.v[b->slots[i]].persistable)
            continue;
        if (value->kind == PDM_VALUE_TENSOR && value->tensor.dtype != PDM_UNDEFINED)
            pdm_tensor_share_lod(&value->tensor, &none);
        else if (value->kind != PDM_VALUE_TENSOR)
            empty_slot(s, b->slots[i]);
    }
}

static pdm_status condition(session *s, const pdm_legacy_op *op, bool *out)
{
    const pdm_value *value = at(s, op->slot);

    if (value->kind != PDM_VALUE_TENSOR || value->tensor.dtype != PDM_BOOL ||
        pdm_tensor_count(&value->tensor) < 1)
        return failed(s, op, PDM_INVALID_MODEL, "the condition is no bool with one element");
    *out = *(const uint8_t *)value->tensor.data != 0;
    return PDM_OK;
}

static pdm_status run_while(session *s, const pdm_legacy_op *op)
{
    uint64_t turns = 0;
    bool cond;

    empty_frame(s, op->sub_block);
    for (;;) {
        PDM_TRY(condition(s, op, &cond));
        if (!cond)
            break;
        PDM_TRY(check_cancel(s));
        if (s->options.max_iterations && turns == s->options.max_iterations)
            return failed(s, op, PDM_STOPPED,
                          "the loop was stopped at the limit of its turns (--max-iterations)");
        if (turns++ && op->is_test)
            refresh_frame(s, op->sub_block);
        else
            empty_frame(s, op->sub_block);
        if (s->options.enter)
            s->options.enter(s->options.user, s, op->sub_block);
        PDM_TRY(run_block(s, op->sub_block));
    }
    empty_frame(s, op->sub_block);
    return PDM_OK;
}

static pdm_status run_conditional(session *s, const pdm_legacy_op *op)
{
    bool cond = true;

    if (!op->tensors)
        PDM_TRY(condition(s, op, &cond));
    for (uint32_t i = 0; op->tensors && i < op->num_tensors; i++) {
        const pdm_value *value = at(s, op->tensors[i]);
        cond &= value && value->kind == PDM_VALUE_TENSOR && value->tensor.dtype != PDM_UNDEFINED &&
                pdm_tensor_count(&value->tensor) > 0;
    }
    if (!cond)
        return PDM_OK;
    empty_frame(s, op->sub_block);
    PDM_TRY(run_block(s, op->sub_block));
    empty_frame(s, op->sub_block);
    return PDM_OK;
}

/* ---- recurrent ------------------------------------------------------------------------------- */

/* Bytes of one step of a tensor whose first dimension is time. */
static size_t step_bytes(const pdm_tensor *t)
{
    return t->dims[0] ? pdm_tensor_bytes(t) / (size_t)t->dims[0] : 0;
}

static pdm_status num_steps(session *s, const pdm_legacy_op *op, int64_t *out)
{
    const pdm_legacy_rnn *rnn = op->rnn;

    *out = -1;
    for (uint32_t i = 0; i < rnn->num_in; i++) {
        const pdm_value *value = at(s, rnn->in_outer[i]);
        if (!value || value->kind != PDM_VALUE_TENSOR || value->tensor.rank < 1 ||
            (*out >= 0 && *out != value->tensor.dims[0]))
            return failed(s, op, PDM_INVALID_MODEL, "the inputs are not of the same length");
        *out = value->tensor.dims[0];
    }
    return *out < 0 ? failed(s, op, PDM_INVALID_MODEL, "there are no inputs to step over") : PDM_OK;
}

/* Step t of the inputs, and the states that it starts with. */
static pdm_status enter_step(session *s, const pdm_legacy_rnn *rnn, int64_t t, pdm_value *states)
{
    for (uint32_t i = 0; i < rnn->num_in; i++) {
        const pdm_tensor *from = &at(s, rnn->in_outer[i])->tensor;
        pdm_value *to = at(s, rnn->in_inner[i]);
        pdm_tensor step = {0};
        const size_t bytes = step_bytes(from);
        PDM_TRY(pdm_tensor_alloc(&step, from->dtype, from->rank - 1, from->dims + 1));
        memcpy(step.data, (const char *)from->data + (size_t)t * bytes, bytes);
        pdm_value_deinit(to);
        to->kind = PDM_VALUE_TENSOR;
        to->tensor = step;
    }
    for (uint32_t i = 0; i < rnn->num_states; i++)
        PDM_TRY(pdm_value_ref(at(s, rnn->before[i]), &states[i]));
    return PDM_OK;
}

/* Outputs of step t into their places, states for the next one. results: one tensor each. */
static pdm_status leave_step(session *s, const pdm_legacy_op *op, int64_t t, int64_t steps,
                             pdm_value *states, pdm_tensor *results)
{
    const pdm_legacy_rnn *rnn = op->rnn;

    for (uint32_t i = 0; i < rnn->num_out; i++) {
        const pdm_value *value = at(s, rnn->out_inner[i]);
        const pdm_tensor *from = &value->tensor;
        int64_t dims[PDM_MAX_RANK] = {steps};
        if (value->kind != PDM_VALUE_TENSOR || from->dtype == PDM_UNDEFINED ||
            from->rank >= PDM_MAX_RANK)
            return failed(s, op, PDM_INVALID_MODEL, "a step leaves no output");
        memcpy(dims + 1, from->dims, (size_t)from->rank * sizeof *dims);
        if (results[i].dtype == PDM_UNDEFINED)
            PDM_TRY(pdm_tensor_alloc(&results[i], from->dtype, from->rank + 1, dims));
        if (results[i].dtype != from->dtype || results[i].rank != from->rank + 1 ||
            memcmp(results[i].dims, dims, (size_t)results[i].rank * sizeof *dims) != 0)
            return failed(s, op, PDM_INVALID_MODEL, "the outputs of the steps differ in shape");
        memcpy((char *)results[i].data + (size_t)t * pdm_tensor_bytes(from), from->data,
               pdm_tensor_bytes(from));
    }
    for (uint32_t i = 0; i < rnn->num_states; i++)
        PDM_TRY(pdm_value_ref(&states[i], at(s, rnn->after[i])));
    return PDM_OK;
}

static pdm_status run_steps(session *s, const pdm_legacy_op *op, int64_t steps, pdm_value *states,
                            pdm_tensor *results)
{
    for (uint32_t i = 0; i < op->rnn->num_states; i++)
        PDM_TRY(pdm_value_ref(&states[i], at(s, op->rnn->init[i])));
    for (int64_t n = 0; n < steps; n++) {
        const int64_t t = op->rnn->reverse ? steps - 1 - n : n;
        PDM_TRY(check_cancel(s));
        empty_frame(s, op->sub_block);
        PDM_TRY(enter_step(s, op->rnn, t, states));
        if (s->options.enter)
            s->options.enter(s->options.user, s, op->sub_block);
        PDM_TRY(run_block(s, op->sub_block));
        PDM_TRY(leave_step(s, op, t, steps, states, results));
    }
    empty_frame(s, op->sub_block);
    return PDM_OK;
}

static pdm_status run_recurrent(session *s, const pdm_legacy_op *op)
{
    const pdm_legacy_rnn *rnn = op->rnn;
    int64_t steps;

    PDM_TRY(num_steps(s, op, &steps));
    pdm_value *states = calloc((size_t)rnn->num_states + 1, sizeof *states);
    pdm_tensor *results = calloc((size_t)rnn->num_out + 1, sizeof *results);
    pdm_status status = states && results ? run_steps(s, op, steps, states, results) : PDM_NOMEM;
    for (uint32_t i = 0; results && i < rnn->num_out; i++) {
        if (status == PDM_OK && results[i].dtype != PDM_UNDEFINED && at(s, rnn->out_outer[i]))
            status = set_tensor(at(s, rnn->out_outer[i]), &results[i]);
        pdm_tensor_deinit(&results[i]);
    }
    for (uint32_t i = 0; states && i < rnn->num_states; i++)
        pdm_value_deinit(&states[i]);
    free(states);
    free(results);
    return status;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* What a launch hands over. */
typedef struct launch_room {
    session *s;
    const pdm_legacy_op *op;
    const pdm_tensor **in;
    pdm_tensor *shapes, *out;
} launch_room;

/* Only what would go after the launch anyway. */
static void release_input(void *releaser, size_t index)
{
    const launch_room *room = releaser;
    const pdm_legacy_op *op = room->op;
    const uint32_t slot = op->launch->in[index];

    for (uint32_t i = 0; i < op->num_released; i++) {
        if (op->released[i] == slot) {
            room->in[index] = NULL;
            empty_slot(room->s, slot);
        }
    }
}

static pdm_status give_tensors(session *s, const pdm_legacy_op *op, launch_room *room)
{
    const pdm_legacy_launch_plan *plan = op->launch;

    for (uint32_t i = 0; i < plan->num_in; i++) {
        const pdm_value *value = at(s, plan->in[i]);
        if (value && !holds_nothing(value) && value->kind != PDM_VALUE_TENSOR)
            return failed(s, op, PDM_INVALID_MODEL, "an input is no tensor");
        room->in[i] = value && !holds_nothing(value) ? &value->tensor : NULL;
    }
    for (uint32_t i = 0; i < plan->num_shapes; i++) {
        const pdm_value *value = at(s, plan->shapes[i]);
        if (!value || value->kind != PDM_VALUE_TENSOR)
            return failed(s, op, PDM_INVALID_MODEL, "an input is no tensor");
        room->shapes[i].dtype = value->tensor.dtype;
        room->shapes[i].rank = value->tensor.rank;
        memcpy(room->shapes[i].dims, value->tensor.dims, sizeof value->tensor.dims);
    }
    return PDM_OK;
}

static pdm_status call_launch(session *s, const pdm_legacy_op *op, launch_room *room)
{
    const pdm_legacy_launch_plan *plan = op->launch;
    const pdm_legacy_launch launch = {
        .key = plan->key,
        .in_names = plan->num_in ? plan->in_slot->args : NULL,
        .in = room->in,
        .num_in = plan->num_in,
        .shape_names = plan->num_shapes ? plan->shape_slot->args : NULL,
        .shapes = room->shapes,
        .num_shapes = plan->num_shapes,
        .out_names = plan->num_out ? plan->out_slot->args : NULL,
        .out = room->out,
        .num_out = plan->num_out,
        .release = release_input,
        .releaser = room,
    };

    if (!s->options.launch)
        return failed(s, op, PDM_UNSUPPORTED, "nobody runs subgraphs here");
    PDM_TRY(give_tensors(s, op, room));
    const pdm_status status = s->options.launch(s->options.launch_user, &launch, s->sink);
    if (status != PDM_OK)
        return failed(s, op, status, "its subgraph cannot be run");
    for (uint32_t i = 0; i < plan->num_out; i++) {
        if (at(s, plan->out[i]) && room->out[i].dtype != PDM_UNDEFINED)
            PDM_TRY(set_tensor(at(s, plan->out[i]), &room->out[i]));
    }
    if (s->options.observe)
        s->options.observe(s->options.user, s, op->block, op->index);
    return PDM_OK;
}

static pdm_status run_launch(session *s, const pdm_legacy_op *op)
{
    const pdm_legacy_launch_plan *plan = op->launch;
    launch_room room = {s, op, calloc((size_t)plan->num_in + 1, sizeof *room.in),
                        calloc((size_t)plan->num_shapes + 1, sizeof *room.shapes),
                        calloc((size_t)plan->num_out + 1, sizeof *room.out)};
    const pdm_status status =
        room.in && room.shapes && room.out ? call_launch(s, op, &room) : PDM_NOMEM;

    for (uint32_t i = 0; room.out && i < plan->num_out; i++)
        pdm_tensor_deinit(&room.out[i]);
    free(room.in);
    free(room.shapes);
    free(room.out);
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static pdm_status run_op(session *s, const pdm_legacy_op *op)
{
    switch (op->kind) {
    case PDM_LEGACY_KERNEL:
        return run_kernel(s, op);
    case PDM_LEGACY_FEED: /* the inputs are there already */
        return PDM_OK;
    case PDM_LEGACY_FETCH:
        return run_fetch(s, op);
    case PDM_LEGACY_WHILE:
        return run_while(s, op);
    case PDM_LEGACY_CONDITIONAL:
        return run_conditional(s, op);
    case PDM_LEGACY_RECURRENT:
        return run_recurrent(s, op);
    case PDM_LEGACY_LAUNCH:
        return run_launch(s, op);
    }
    return PDM_INTERNAL;
}

/* Only the shape is looked at from here on. */
static void strip_slot(session *s, uint32_t slot)
{
    pdm_value *value = &s->values[slot];
    pdm_tensor shape = {0};

    if (value->kind != PDM_VALUE_TENSOR)
        return;
    shape.dtype = value->tensor.dtype;
    shape.rank = value->tensor.rank;
    memcpy(shape.dims, value->tensor.dims, sizeof shape.dims);
    pdm_tensor_deinit(&value->tensor);
    value->tensor = shape;
}

static pdm_status run_block(session *s, int32_t block)
{
    const pdm_legacy_block *b = &s->plan->blocks[block];

    for (size_t i = 0; i < b->num_ops; i++) {
        PDM_TRY(check_cancel(s));
        PDM_TRY(run_op(s, &b->ops[i]));
        if (s->options.observe && b->ops[i].kind != PDM_LEGACY_FEED &&
            b->ops[i].kind != PDM_LEGACY_FETCH)
            s->options.observe(s->options.user, s, block, b->ops[i].index);
        for (uint32_t k = 0; k < b->ops[i].num_released; k++)
            empty_slot(s, b->ops[i].released[k]);
        for (uint32_t k = 0; k < b->ops[i].num_stripped; k++)
            strip_slot(s, b->ops[i].stripped[k]);
    }
    return PDM_OK;
}

/* Outputs that were asked for by name. */
static pdm_status collect_outputs(session *s)
{
    for (size_t i = 0; i < s->plan->outputs.n; i++) {
        const pdm_value *value = at(s, s->plan->outputs.v[i].slot);
        if (s->outputs[i].kind == PDM_VALUE_NONE && !holds_nothing(value))
            PDM_TRY(pdm_value_ref(&s->outputs[i], value));
    }
    return PDM_OK;
}

static void empty_all(session *s)
{
    for (uint32_t i = 0; i < s->plan->slots.n; i++) {
        if (!s->plan->slots.v[i].persistable)
            empty_slot(s, i);
    }
}

pdm_status pdm_legacy_run(session *s, pdm_diag_sink *sink)
{
    s->sink = sink;
    s->num_random = 0;
    for (size_t i = 0; i < s->plan->outputs.n; i++)
        pdm_value_deinit(&s->outputs[i]);
    empty_all(s);
    pdm_status status = bind_inputs(s);
    if (status == PDM_OK)
        status = run_block(s, 0);
    if (status == PDM_OK)
        status = collect_outputs(s);
    s->sink = NULL;
    return status;
}
