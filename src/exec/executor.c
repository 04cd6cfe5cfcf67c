/* Running a plan. */
#include "exec/executor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/intern.h"
#include "exec/device.h"
#include "exec/plan.h"
#include "exec/precompile.h"
#include "exec/sizes.h"

typedef struct tuple {
    pdm_value *values;
    size_t count;
} tuple;

/* Where the caller wants an output. */
typedef struct target {
    void *data;
    size_t bytes;
} target;

typedef struct stack {
    tuple *tuples;
    size_t count, capacity;
} stack;

struct pdm_exec_session {
    const pdm_exec_plan *plan;
    pdm_exec_options options;
    pdm_exec_memory *memory;
    pdm_exec_mirror *mirror; /* NULL: everything is computed here */
    pdm_exec_device *device; /* with a mirror, unless results are looked at */
    pdm_value *values;     /* by slot */
    atomic_uint *users;    /* by slot: who will still touch it in this turn of its block */
    pdm_value **in, **out; /* what instructions see, see first_in and first_out */
    pdm_value *scratch;    /* new values of results in place */
    pdm_tensor *inputs;
    bool *given; /* by input: for the next run only */
    target *targets; /* by output */
    stack *stacks;
    uint32_t *pending, *ready; /* of the top block's graph */
    bool has_run;
    uint64_t num_random;       /* executions of random ops in this run */
    pdm_k_temp_pool temps;
    pthread_mutex_t lock; /* around the sink */
    pdm_diag_sink *sink;  /* of the run at hand */
};

static pdm_value *at(pdm_exec_session *s, uint32_t slot)
{
    return slot == PDM_EXEC_NONE ? NULL : &s->values[slot];
}

/* ---- sessions -------------------------------------------------------------------------------- */

static pdm_status make_lists(pdm_exec_session *s)
{
    for (size_t i = 0; i < s->plan->num_lists; i++) {
        const pdm_exec_list *list = &s->plan->lists[i];
        pdm_value *value = &s->values[list->slot];
        value->kind = PDM_VALUE_LIST;
        value->list.items = calloc((size_t)list->count + 1, sizeof *value->list.items);
        if (!value->list.items)
            return PDM_NOMEM;
        value->list.count = list->count;
        for (uint32_t k = 0; k < list->count; k++)
            value->list.items[k] = at(s, list->elements[k]);
    }
    return PDM_OK;
}

/* Slots do not move, so what an instruction sees can be looked up once. */
static void point(pdm_exec_session *s, const pdm_exec_block *block)
{
    for (size_t i = 0; i < block->num_instrs; i++) {
        const pdm_exec_instr *instr = &block->instrs[i];
        for (uint32_t k = 0; k < instr->num_in; k++)
            s->in[instr->first_in + k] = at(s, instr->in[k]);
        for (uint32_t k = 0; k < instr->num_out; k++)
            s->out[instr->first_out + k] = at(s, instr->out[k]);
        for (int b = 0; b < 2 && instr->blocks[b]; b++)
            point(s, instr->blocks[b]);
    }
}

void pdm_exec_session_reset(pdm_exec_session *s)
{
    for (size_t i = 0; i < s->plan->num_params; i++) {
        pdm_value *value = &s->values[s->plan->params[i].slot];
        pdm_value_deinit(value);
        value->kind = PDM_VALUE_TENSOR;
        pdm_tensor_ref(&value->tensor, &s->plan->params[i].tensor);
    }
}

static void *room_for(size_t count, size_t size)
{
    return calloc(count + 1, size);
}

/* Parameters stay on the device; folded constants are among them. */
static pdm_status make_mirror(pdm_exec_session *s)
{
    PDM_TRY(pdm_exec_mirror_create(s->plan->device, s->options.trace, &s->mirror));
    for (size_t i = 0; i < s->plan->num_params; i++)
        PDM_TRY(pdm_exec_mirror_keep(s->mirror, s->plan->params[i].tensor.data));
    if (s->options.observe || s->options.parted || s->options.before & PDM_DIFF_BIT(PDM_DIFF_HALF))
        return PDM_OK;
    return pdm_exec_device_create(s->plan->device_backend, s->mirror, &s->device);
}

pdm_status pdm_exec_session_create(const pdm_exec_plan *plan, const pdm_exec_options *options,
                                   pdm_exec_session **out_session)
{
    pdm_exec_session *s = calloc(1, sizeof *s);
    pdm_status status = PDM_NOMEM;

    if (!s)
        return PDM_NOMEM;
    pthread_mutex_init(&s->lock, NULL);
    s->plan = plan;
    if (options)
        s->options = *options;
    s->values = room_for(plan->num_slots, sizeof *s->values);
    s->users = room_for(plan->num_slots, sizeof *s->users);
    s->in = room_for(plan->total_in, sizeof *s->in);
    s->out = room_for(plan->total_out, sizeof *s->out);
    s->scratch = room_for(plan->total_scratch, sizeof *s->scratch);
    s->inputs = room_for(plan->num_inputs, sizeof *s->inputs);
    s->given = room_for(plan->num_inputs, sizeof *s->given);
    s->targets = room_for(plan->num_outputs, sizeof *s->targets);
    s->stacks = room_for(plan->num_stacks, sizeof *s->stacks);
    s->pending = room_for(plan->top->num_instrs, sizeof *s->pending);
    s->ready = room_for(plan->top->num_instrs, sizeof *s->ready);
    if (s->values && s->users && s->in && s->out && s->scratch && s->inputs && s->given && s->targets &&
        s->stacks && s->pending && s->ready)
        status = make_lists(s);
    if (status == PDM_OK)
        status = pdm_exec_memory_create(plan->num_results, &s->memory);
    if (status == PDM_OK && plan->device)
        status = make_mirror(s);
    if (status != PDM_OK) {
        pdm_exec_session_destroy(s);
        return status;
    }
    point(s, plan->top);
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
    for (uint32_t i = 0; s->stacks && i < s->plan->num_stacks; i++) {
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
    clear_stacks(s);
    for (size_t i = 0; s->values && i < s->plan->num_slots; i++)
        pdm_value_deinit(&s->values[i]);
    for (size_t i = 0; s->inputs && i < s->plan->num_inputs; i++)
        pdm_tensor_deinit(&s->inputs[i]);
    free(s->values);
    free(s->users);
    free(s->in);
    free(s->out);
    free(s->scratch);
    free(s->inputs);
    free(s->given);
    free(s->targets);
    free(s->stacks);
    free(s->pending);
    free(s->ready);
    pdm_exec_memory_destroy(s->memory);
    pdm_exec_device_destroy(s->device);
    pdm_exec_mirror_destroy(s->mirror);
    pdm_k_temp_pool_deinit(&s->temps);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void pdm_exec_set_input(pdm_exec_session *s, size_t index, const pdm_tensor *tensor)
{
    pdm_tensor_ref(&s->inputs[index], tensor);
    s->given[index] = false;
}

void pdm_exec_give_input(pdm_exec_session *s, size_t index, pdm_tensor *tensor)
{
    pdm_tensor_deinit(&s->inputs[index]);
    s->inputs[index] = *tensor;
    s->given[index] = true;
    *tensor = (pdm_tensor){0};
}

void pdm_exec_set_output(pdm_exec_session *s, size_t index, void *data, size_t bytes)
{
    s->targets[index] = (target){data, data ? bytes : 0};
}

const pdm_value *pdm_exec_output(const pdm_exec_session *s, size_t index)
{
    const pdm_value *value = &s->values[s->plan->outputs[index].slot];

    return value->kind == PDM_VALUE_NONE ? NULL : value;
}

pdm_exec_memory_stats pdm_exec_get_memory(const pdm_exec_session *s)
{
    return pdm_exec_memory_get_stats(s->memory);
}

/* ---- moving values --------------------------------------------------------------------------- */

/* dst becomes src; with move, src is left empty. Lists stay in place: their elements are assigned.
 */
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
        for (size_t i = 0; dst->kind == src->kind && i < dst->list.count && i < src->list.count;
             i++)
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

/* ---- kernels --------------------------------------------------------------------------------- */

static pdm_status failed(pdm_exec_session *s, const pdm_exec_instr *instr, pdm_status status,
                         const char *message)
{
    pdm_loc loc = PDM_NOWHERE;

    if (status == PDM_NOMEM || status == PDM_CANCELLED)
        return status;
    loc.op_type = pdm_ir_op_name(instr->op);
    loc.block = instr->op->lg_block;
    loc.op_index = instr->op->lg_op;
    pthread_mutex_lock(&s->lock);
    pdm_diag(s->sink, PDM_D_EXEC_OP, &loc, NULL, "'%s' failed: %s", loc.op_type, message);
    pthread_mutex_unlock(&s->lock);
    return status == PDM_STOPPED ? status : PDM_INVALID_MODEL;
}

static const char *reason_of(const pdm_exec_session *s, pdm_status status)
{
    return s->mirror && status == PDM_INTERNAL ? s->plan->device->error() : pdm_status_text(status);
}

/* A value is read here, now; instr: who asks, NULL: the caller of the run. */
static pdm_status bring(pdm_exec_session *s, const pdm_exec_instr *instr, const pdm_value *value)
{
    const pdm_status status =
        pdm_exec_mirror_read(s->mirror, instr ? instr->op : s->plan->module->op, value);

    if (status == PDM_OK || status == PDM_NOMEM)
        return status;
    if (instr)
        return failed(s, instr, status, reason_of(s, status));
    return pdm_diag(s->sink, PDM_D_EXEC_OP, NULL, NULL, "the device failed: %s", reason_of(s, status));
}

static pdm_ir_attr op_attr(void *self, const char *name)
{
    return pdm_ir_op_attr(self, name);
}

typedef struct call {
    pdm_exec_session *session;
    const pdm_exec_instr *instr;
} call;

/* The caller's memory for a result that becomes an output; false: it has none of that size. */
static bool use_target(const target *t, pdm_tensor *tensor, pdm_dtype dtype, int rank,
                       const int64_t *dims)
{
    pdm_tensor made = {.dtype = dtype, .rank = rank, .data = t->data};
    uint64_t count, bytes;

    if (!t->data || !pdm_count_elements(dims, (size_t)rank, &count) ||
        !pdm_mul_u64(count, pdm_dtype_size(dtype), &bytes) || bytes != t->bytes)
        return false;
    memcpy(made.dims, dims, (size_t)rank * sizeof *dims);
    pdm_tensor_deinit(tensor);
    *tensor = made;
    return true;
}

static pdm_status alloc_result(void *self, size_t index, pdm_tensor *tensor, pdm_dtype dtype,
                               int rank, const int64_t *dims)
{
    const call *c = self;
    const pdm_exec_session *s = c->session;
    const uint32_t result = c->instr->first_result + (uint32_t)index;
    const uint32_t output =
        result < s->plan->num_results ? s->plan->output_of[result] : PDM_EXEC_NONE;

    if (output != PDM_EXEC_NONE && use_target(&s->targets[output], tensor, dtype, rank, dims))
        return PDM_OK;
    return pdm_exec_memory_alloc(s->memory, result, tensor, dtype, rank, dims);
}

/* See pdm_exec_run. */
static void seed_op(pdm_exec_session *s, const pdm_exec_instr *instr, pdm_rng *rng)
{
    pdm_ir_attr attr = pdm_ir_op_attr(instr->op, "seed");
    const uint64_t number = s->num_random++;

    if (attr && (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64) && attr->u.i != 0)
        pdm_rng_seed(rng, (uint64_t)attr->u.i);
    else
        pdm_rng_seed(rng, pdm_hash_bytes(&number, sizeof number, s->options.seed));
}

/* Arrays are changed where they are; a tensor's new value is made beside the old one. */
static void redirect_in_place(pdm_exec_session *s, const pdm_exec_instr *instr, pdm_value **out)
{
    for (uint32_t i = 0; i < instr->num_out; i++) {
        pdm_value *value = at(s, instr->out[i]);
        if (instr->in_place[i] && value && value->kind == PDM_VALUE_TENSOR)
            out[i] = &s->scratch[instr->first_scratch + i];
    }
}

static pdm_status finish_in_place(pdm_exec_session *s, const pdm_exec_instr *instr, pdm_value **out,
                                  pdm_status status)
{
    for (uint32_t i = 0; i < instr->num_out; i++) {
        pdm_value *value = at(s, instr->out[i]), *made = out[i];
        if (made == value)
            continue;
        out[i] = value;
        if (status == PDM_OK)
            status = assign(value, made, true);
        pdm_value_deinit(made);
    }
    return status;
}

static pdm_status tell_parting(pdm_exec_session *s, const pdm_exec_instr *instr, const pdm_k *k)
{
    uint32_t set;

    PDM_TRY(pdm_k_differences(k, instr->fn, &set));
    if (set)
        s->options.parted(s->options.parted_user, instr->op, set);
    return PDM_OK;
}

static pdm_k kernel_call(pdm_exec_session *s, const pdm_exec_instr *instr, call *c, pdm_rng *rng)
{
    return (pdm_k){
        .op = pdm_ir_op_name(instr->op),
        .desc = instr->op->info->desc,
        .in = s->in + instr->first_in,
        .num_in = instr->num_in,
        .out = s->out + instr->first_out,
        .num_out = instr->num_out,
        .attrs = {op_attr, (void *)(uintptr_t)instr->op},
        .in_slots = instr->in_slots,
        .out_slots = instr->out_slots,
        .rng = rng,
        .pool = s->options.pool,
        .reference = instr->reference,
        .before = s->options.before,
        .temp_pool = &s->temps,
        .alloc = alloc_result,
        .alloc_self = c,
        .print = s->options.print,
        .print_self = s->options.user,
    };
}

/* How an instruction goes with data on a device. */
typedef enum data_use {
    USES_NONE,   /* there is no device, or it looks after its data itself */
    USES_HERE,   /* reads and writes here */
    USES_SHAPES, /* of the first operand; the others are read here */
    USES_THERE   /* the device is asked first */
} data_use;

static pdm_kernel_fn reference_of(const pdm_exec_instr *instr)
{
    return instr->reference ? instr->reference : instr->fn;
}

static data_use use_of(const pdm_exec_session *s, const pdm_exec_instr *instr)
{
    if (!s->mirror || instr->kind == PDM_EXEC_GROUP)
        return USES_NONE;
    if (!s->device || instr->kind != PDM_EXEC_KERNEL)
        return USES_HERE;
    if (pdm_exec_device_knows(reference_of(instr)))
        return USES_THERE;
    return pdm_exec_device_is_view(reference_of(instr)) ? USES_SHAPES : USES_HERE;
}

/* What has regions did not write itself. */
static void leave_here(pdm_exec_session *s, const pdm_exec_instr *instr, uint32_t first)
{
    for (uint32_t i = first; instr->kind == PDM_EXEC_KERNEL && i < instr->num_out; i++)
        pdm_exec_mirror_wrote(s->mirror, at(s, instr->out[i]));
}

static pdm_status ask_device(pdm_exec_session *s, const pdm_exec_instr *instr, pdm_k *k,
                             bool *out_there)
{
    pdm_exec_device_call there;

    PDM_TRY(pdm_exec_device_begin(s->device, instr->op, k, &there));
    const pdm_status status = pdm_k_call(k, reference_of(instr));
    *out_there = there.done;
    if (!there.done)
        leave_here(s, instr, 0);
    pdm_exec_tell_notes(s->sink, &s->lock);
    return status;
}

static pdm_status run_kernel(pdm_exec_session *s, const pdm_exec_instr *instr, bool *out_there)
{
    call c = {s, instr};
    pdm_rng rng;
    pdm_value **out = s->out + instr->first_out;
    pdm_k k = kernel_call(s, instr, &c, &rng);

    if (instr->random)
        seed_op(s, instr, &rng);
    else
        rng = (pdm_rng){{0}};
    if (instr->in_place)
        redirect_in_place(s, instr, out);
    pdm_status status = use_of(s, instr) == USES_THERE ? ask_device(s, instr, &k, out_there)
                                                               : pdm_k_call(&k, instr->fn);
    pdm_k_end(&k);
    if (status == PDM_OK && s->options.observe)
        s->options.observe(s->options.user, instr->op, (const pdm_value *const *)k.in,
                           (const pdm_value *const *)k.out);
    if (status == PDM_OK && s->options.parted)
        status = tell_parting(s, instr, &k);
    if (instr->in_place)
        status = finish_in_place(s, instr, out, status);
    if (status != PDM_OK)
        return failed(s, instr, status, k.message[0] ? k.message : reason_of(s, status));
    return PDM_OK;
}

/* ---- regions --------------------------------------------------------------------------------- */

static pdm_status run_block(pdm_exec_session *s, const pdm_exec_block *block, unsigned depth);

static pdm_status condition(pdm_exec_session *s, const pdm_exec_instr *instr, bool *out)
{
    const pdm_value *value = at(s, instr->in[0]);

    if (s->mirror)
        PDM_TRY(bring(s, instr, value));
    if (value && value->kind == PDM_VALUE_LIST) { /* no element is empty */
        *out = true;
        for (size_t i = 0; i < value->list.count; i++) {
            const pdm_value *item = value->list.items[i];
            if (!item || item->kind != PDM_VALUE_TENSOR || pdm_tensor_count(&item->tensor) == 0)
                *out = false;
        }
        return PDM_OK;
    }
    if (!value || value->kind != PDM_VALUE_TENSOR || value->tensor.dtype != PDM_BOOL ||
        pdm_tensor_count(&value->tensor) < 1)
        return failed(s, instr, PDM_INVALID_MODEL, "the condition is no bool with one element");
    *out = *(const uint8_t *)value->tensor.data != 0;
    return PDM_OK;
}

/* What a turn of a block leaves: its yields were handed on, arguments may never have been read. */
static void end_turn(pdm_exec_session *s, const pdm_exec_block *block)
{
    for (uint32_t i = 0; i < block->num_own; i++) {
        if (s->plan->users[block->own[i]] == 0)
            pdm_value_deinit(at(s, block->own[i]));
    }
}

static void observe_end(pdm_exec_session *s, const pdm_exec_instr *instr, bool has_operands)
{
    if (s->options.observe)
        s->options.observe(
            s->options.user, instr->op,
            has_operands ? (const pdm_value *const *)(s->in + instr->first_in) : NULL,
            (const pdm_value *const *)(s->out + instr->first_out));
}

static pdm_status run_if(pdm_exec_session *s, const pdm_exec_instr *instr, unsigned depth)
{
    bool cond;

    PDM_TRY(condition(s, instr, &cond));
    const pdm_exec_block *block = instr->blocks[cond ? 0 : 1];
    PDM_TRY(run_block(s, block, depth + 1));
    for (uint32_t i = 0; i < instr->num_out && i < block->num_yields; i++)
        PDM_TRY(assign(at(s, instr->out[i]), at(s, block->yields[i]), block->may_move[i]));
    end_turn(s, block);
    observe_end(s, instr, true);
    return PDM_OK;
}

static pdm_status run_group(pdm_exec_session *s, const pdm_exec_instr *instr, unsigned depth,
                            bool *out_there)
{
    call c = {s, instr};
    pdm_rng rng = {{0}};
    pdm_k k = kernel_call(s, instr, &c, &rng);
    bool done;

    pdm_status status = pdm_exec_group_run(instr->group, &k, s->mirror, &done);
    *out_there = s->mirror && done;
    pdm_exec_tell_notes(s->sink, &s->lock);
    if (status == PDM_OK)
        status = k.status;
    pdm_k_end(&k);
    if (status != PDM_OK)
        return failed(s, instr, status, k.message[0] ? k.message : reason_of(s, status));
    if (!done) {
        const pdm_exec_block *block = instr->blocks[0];
        PDM_TRY(run_block(s, block, depth + 1));
        for (uint32_t i = 0; i < instr->num_out && i < block->num_yields; i++)
            PDM_TRY(assign(at(s, instr->out[i]), at(s, block->yields[i]), block->may_move[i]));
        end_turn(s, block);
    }
    observe_end(s, instr, true);
    return PDM_OK;
}

static pdm_status check_cancel(pdm_exec_session *s)
{
    return s->options.cancelled && s->options.cancelled(s->options.user) ? PDM_CANCELLED : PDM_OK;
}

static pdm_status run_turn(pdm_exec_session *s, const pdm_exec_instr *instr, uint64_t turn,
                           unsigned depth)
{
    const pdm_exec_block *body = instr->blocks[0];

    PDM_TRY(check_cancel(s));
    for (uint32_t i = 0; i < instr->num_out; i++)
        PDM_TRY(assign(at(s, body->args[i]), at(s, instr->out[i]), true));
    for (uint32_t i = 0; s->options.enter && i < body->num_args; i++)
        s->options.enter(s->options.user, instr->op, turn, i, at(s, body->args[i]));
    PDM_TRY(run_block(s, body, depth + 1));
    /* In the order of the yields: the last that names a value may take it away. */
    PDM_TRY(assign(at(s, instr->in[0]), at(s, body->yields[0]), body->may_move[0]));
    for (uint32_t i = 0; i < instr->num_out; i++)
        PDM_TRY(assign(at(s, instr->out[i]), at(s, body->yields[i + 1]), body->may_move[i + 1]));
    end_turn(s, body);
    return PDM_OK;
}

static pdm_status run_while(pdm_exec_session *s, const pdm_exec_instr *instr, unsigned depth)
{
    uint64_t turns = 0;
    bool cond;

    for (uint32_t i = 0; i < instr->num_out; i++)
        PDM_TRY(assign(at(s, instr->out[i]), at(s, instr->in[i + 1]), instr->may_move[i + 1]));
    for (;;) {
        PDM_TRY(condition(s, instr, &cond));
        if (!cond)
            break;
        if (s->options.max_iterations && turns == s->options.max_iterations)
            return failed(s, instr, PDM_STOPPED,
                          "the loop was stopped at the limit of its turns (--max-iterations)");
        PDM_TRY(run_turn(s, instr, turns++, depth));
    }
    observe_end(s, instr, false);
    return PDM_OK;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

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

static pdm_status copy(pdm_exec_session *s, const pdm_exec_instr *instr)
{
    pdm_value *from = instr->num_in ? at(s, instr->in[0]) : NULL, *to = at(s, instr->out[0]);

    if (instr->deep && from && to && from != to && from->kind == PDM_VALUE_TENSOR) {
        to->kind = PDM_VALUE_TENSOR;
        return pdm_tensor_copy(&to->tensor, &from->tensor);
    }
    return instr->num_in ? assign(to, from, false) : PDM_OK;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* there: results were left on a device. */
static pdm_status dispatch(pdm_exec_session *s, const pdm_exec_instr *instr, unsigned depth,
                           bool *out_there)
{
    *out_there = false;
    switch (instr->kind) {
    case PDM_EXEC_KERNEL:
        return run_kernel(s, instr, out_there);
    case PDM_EXEC_IF:
        return run_if(s, instr, depth);
    case PDM_EXEC_WHILE:
        return run_while(s, instr, depth);
    case PDM_EXEC_GROUP:
        return run_group(s, instr, depth, out_there);
    case PDM_EXEC_PUSH:
        return push(s, instr);
    case PDM_EXEC_POP:
        return pop(s, instr);
    case PDM_EXEC_HAS_ELEMENTS:
        return has_elements(s, instr);
    case PDM_EXEC_COPY:
        return copy(s, instr);
    }
    return PDM_INTERNAL;
}

static uint64_t bytes_of(const pdm_value *value)
{
    uint64_t bytes = 0;

    if (!value)
        return 0;
    if (value->kind == PDM_VALUE_TENSOR)
        return pdm_tensor_bytes(&value->tensor);
    for (size_t i = 0; value->kind == PDM_VALUE_LIST && i < value->list.count; i++)
        bytes += bytes_of(value->list.items[i]);
    for (size_t i = 0; value->kind == PDM_VALUE_ARRAY && i < value->array.count; i++)
        bytes += pdm_tensor_bytes(&value->array.items[i]);
    return bytes;
}

static pdm_status traced(pdm_exec_session *s, const pdm_exec_instr *instr, unsigned depth)
{
    const uint64_t begin = pdm_exec_now();
    bool there;
    const pdm_status status = dispatch(s, instr, depth, &there);
    const uint64_t end = pdm_exec_now();
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < instr->num_out; i++)
        bytes += bytes_of(at(s, instr->out[i]));
    pdm_exec_trace_add_named(s->options.trace, there ? "ask the device" : NULL, instr->op, begin, end,
                             there ? 0 : bytes, depth);
    return status;
}

static pdm_status bring_here(pdm_exec_session *s, const pdm_exec_instr *instr, uint32_t first)
{
    for (uint32_t i = first; i < instr->num_in; i++)
        PDM_TRY(bring(s, instr, at(s, instr->in[i])));
    return PDM_OK;
}

/* Values that this instruction was the last to touch go. */
static void release(pdm_exec_session *s, const pdm_exec_instr *instr)
{
    for (uint32_t i = 0; i < instr->num_touched; i++) {
        const uint32_t slot = instr->touched[i];
        if (s->plan->users[slot] == 0 ||
            atomic_fetch_sub_explicit(&s->users[slot], 1, memory_order_acq_rel) != 1)
            continue;
        pdm_value *value = at(s, slot);
        if (s->mirror && value)
            pdm_exec_mirror_leave(s->mirror, value);
        pdm_value_deinit(value);
    }
}

static pdm_status run_instr(pdm_exec_session *s, const pdm_exec_instr *instr, unsigned depth)
{
    PDM_TRY(check_cancel(s));
    const data_use use = use_of(s, instr);
    const bool here = use == USES_HERE || use == USES_SHAPES;
    if (here)
        PDM_TRY(bring_here(s, instr, use == USES_SHAPES));
    bool there;
    PDM_TRY(s->options.trace ? traced(s, instr, depth) : dispatch(s, instr, depth, &there));
    if (here)
        leave_here(s, instr, use == USES_SHAPES);
    release(s, instr);
    return PDM_OK;
}

typedef struct graph_arg {
    pdm_exec_session *session;
    const pdm_exec_block *block;
} graph_arg;

static pdm_status run_node(void *self, size_t node)
{
    const graph_arg *arg = self;

    return run_instr(arg->session, &arg->block->instrs[node], 0);
}

/* Side by side only at the top: blocks inside are run for a whole instruction already. */
static pdm_status run_graph(pdm_exec_session *s, const pdm_exec_block *block)
{
    graph_arg arg = {s, block};
    const pdm_graph graph = {.nodes = block->nodes,
                             .count = block->num_instrs,
                             .run = run_node,
                             .self = &arg,
                             .pending = s->pending,
                             .ready = s->ready};

    return pdm_pool_graph(s->options.pool, &graph);
}

static pdm_status run_block(pdm_exec_session *s, const pdm_exec_block *block, unsigned depth)
{
    for (uint32_t i = 0; i < block->num_own; i++)
        atomic_store_explicit(&s->users[block->own[i]], s->plan->users[block->own[i]],
                              memory_order_relaxed);
    if (depth == 0 && block->parallel && pdm_pool_threads(s->options.pool) > 1 &&
        !s->options.observe && !s->options.parted)
        return run_graph(s, block);
    for (size_t i = 0; i < block->num_instrs; i++)
        PDM_TRY(run_instr(s, &block->instrs[i], depth));
    return PDM_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The shapes of the inputs as a number. */
static uint64_t signature(const pdm_exec_session *s)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < s->plan->num_inputs; i++) {
        const pdm_tensor *t = &s->inputs[i];
        const int64_t head[2] = {(int64_t)t->dtype, t->rank};
        hash = pdm_hash_bytes(head, sizeof head, hash);
        hash = pdm_hash_bytes(t->dims, (size_t)t->rank * sizeof *t->dims, hash);
    }
    return hash;
}

/* How large results will be with the inputs of the run that begins. */
static bool foresee(void *self, size_t *bytes)
{
    const pdm_exec_session *s = self;

    return s->plan->sizes && pdm_exec_sizes_find(s->plan->sizes, s->inputs, bytes);
}

static pdm_status bind_inputs(pdm_exec_session *s)
{
    for (size_t i = 0; i < s->plan->num_inputs; i++) {
        pdm_loc loc = PDM_NOWHERE;
        pdm_value *value = at(s, s->plan->inputs[i].slot);
        loc.var = s->plan->inputs[i].name;
        if (s->inputs[i].dtype == PDM_UNDEFINED)
            return pdm_diag(s->sink, PDM_D_EXEC_INPUT, &loc, NULL, "input '%s' was not given",
                            loc.var);
        if (value) {
            pdm_value_deinit(value);
            value->kind = PDM_VALUE_TENSOR;
            pdm_tensor_ref(&value->tensor, &s->inputs[i]);
        }
    }
    return PDM_OK;
}

/* The values alone have them from here on. */
static void drop_given(pdm_exec_session *s)
{
    for (size_t i = 0; i < s->plan->num_inputs; i++) {
        if (s->given[i])
            pdm_tensor_deinit(&s->inputs[i]);
        s->given[i] = false;
    }
}

/* After a run that did not end well: values of all blocks. */
static void clear_block(pdm_exec_session *s, const pdm_exec_block *block)
{
    for (uint32_t i = 0; i < block->num_own; i++)
        pdm_value_deinit(at(s, block->own[i]));
    for (size_t i = 0; i < block->num_instrs; i++) {
        for (int b = 0; b < 2 && block->instrs[i].blocks[b]; b++)
            clear_block(s, block->instrs[i].blocks[b]);
    }
}

pdm_status pdm_exec_run(pdm_exec_session *s, pdm_diag_sink *sink)
{
    s->sink = sink;
    s->num_random = 0;
    for (size_t i = 0; i < s->plan->num_outputs; i++)
        pdm_value_deinit(at(s, s->plan->outputs[i].slot));
    pdm_exec_memory_begin(s->memory, signature(s), foresee, s);
    pdm_status status = bind_inputs(s);
    if (status == PDM_OK && !s->has_run)
        pdm_exec_precompile(s->plan, s->values, s->inputs, &s->options);
    s->has_run |= status == PDM_OK;
    drop_given(s);
    if (status == PDM_OK) {
        status = run_block(s, s->plan->top, 0);
        for (size_t i = 0; s->mirror && status == PDM_OK && i < s->plan->num_outputs; i++)
            status = bring(s, NULL, at(s, s->plan->outputs[i].slot));
        if (s->mirror)
            pdm_exec_mirror_clear(s->mirror);
        if (status != PDM_OK)
            clear_block(s, s->plan->top);
        clear_stacks(s);
    }
    pdm_exec_memory_end(s->memory, status == PDM_OK);
    s->sink = NULL;
    return status;
}
