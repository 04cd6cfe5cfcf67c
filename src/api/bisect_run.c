/* Runs of legacy programs and of modules that tell the values that they compute. */
#include <string.h>

#include "api/bisect.h"
#include "base/intern.h"

/* ---- values ---------------------------------------------------------------------------------- */

const void *pdm_bisect_key(const pdm_ir_value *value, int32_t element, uint64_t instance)
{
    const uint64_t parts[3] = {(uintptr_t)value, (uint64_t)(int64_t)element, instance};
    const uint64_t hash = pdm_hash_bytes(parts, sizeof parts, 1);

    return (const void *)(uintptr_t)(hash ? hash : 1);
}

static uint64_t tensor_digest(const pdm_tensor *t, uint64_t seed)
{
    const int64_t head[2] = {(int64_t)t->dtype, t->rank};

    if (t->dtype == PDM_UNDEFINED)
        return seed;
    seed = pdm_hash_bytes(head, sizeof head, seed);
    seed = pdm_hash_bytes(t->dims, (size_t)t->rank * sizeof *t->dims, seed);
    return pdm_hash_bytes(t->data, pdm_tensor_bytes(t), seed);
}

uint64_t pdm_bisect_digest(const pdm_value *value)
{
    uint64_t hash = 1;

    if (!value || value->kind == PDM_VALUE_NONE ||
        (value->kind == PDM_VALUE_TENSOR && value->tensor.dtype == PDM_UNDEFINED))
        return 0;
    hash = tensor_digest(&value->tensor, hash);
    for (size_t i = 0; value->kind == PDM_VALUE_ARRAY && i < value->array.count; i++)
        hash = tensor_digest(&value->array.items[i], hash + 1);
    for (size_t i = 0; value->kind == PDM_VALUE_LIST && i < value->list.count; i++)
        hash = hash * 31 + pdm_bisect_digest(value->list.items[i]);
    for (size_t i = 0; value->kind == PDM_VALUE_RANK_TABLE && i < value->table.count; i++) {
        const int64_t row[2] = {value->table.rows[i].index, value->table.rows[i].length};
        hash = pdm_hash_bytes(row, sizeof row, hash);
    }
    return hash ? hash : 1;
}

const pdm_tensor *pdm_bisect_tensor_of(const pdm_value *value)
{
    return value && value->kind == PDM_VALUE_TENSOR && value->tensor.dtype != PDM_UNDEFINED
               ? &value->tensor
               : NULL;
}

bool pdm_bisect_is_leaf(const pdm_ir_op *op)
{
    return pdm_ir_op_is(op, "builtin.parameter") || pdm_ir_op_is(op, "pd_op.data") ||
           pdm_ir_op_is(op, "pd_op.feed");
}

/* ---- programs -------------------------------------------------------------------------------- */

static const void *site_key(int32_t block, int32_t op)
{
    return (const void *)(((uintptr_t)(uint32_t)(block + 1) << 32) | (uint32_t)(op + 2));
}

/* Does the op of the link make the value, or does it only hand it on? */
static bool makes(const pdm_tr_link *link)
{
    const pdm_ir_op *op = pdm_ir_value_op(link->value);

    return link->op < 0 || (op && op->lg_block == link->block && op->lg_op == link->op);
}

static pdm_status note_variable(pdm_bisect_program *p, const pdm_tr_link *link)
{
    pdm_map_entry *entry =
        pdm_map_put(&p->variables, pdm_bisect_key(link->value, link->element, 0));

    if (!entry)
        return PDM_NOMEM;
    if (!entry->value.ptr || (makes(link) && !makes(entry->value.ptr)))
        entry->value.ptr = (void *)(uintptr_t)link;
    return PDM_OK;
}

/* A run tells a value where it is made; a select_input hands on what an if of its block made. */
static bool can_tell(const pdm_tr_link *link)
{
    const pdm_ir_op *op = pdm_ir_value_op(link->value);

    return makes(link) || (op && !pdm_bisect_is_leaf(op) && op->lg_block == link->block);
}

/* An op that names a variable twice means the last. */
static bool is_last(const pdm_bisect_program *p, size_t index)
{
    const pdm_tr_link *link = &p->links.v[index];

    for (size_t i = index + 1; i < p->links.n; i++) {
        const pdm_tr_link *other = &p->links.v[i];
        if (other->block != link->block || other->op != link->op)
            break;
        if (other->var == link->var)
            return false;
    }
    return true;
}

static pdm_status index_links(pdm_bisect_program *p)
{
    for (size_t i = 0; i < p->links.n; i++)
        if (is_last(p, i))
            PDM_TRY(note_variable(p, &p->links.v[i]));
    for (size_t i = p->links.n; i-- > 0;) {
        const pdm_tr_link *link = &p->links.v[i];
        const pdm_map_entry *variable =
            pdm_map_find(&p->variables, pdm_bisect_key(link->value, link->element, 0));
        if (!variable || variable->value.ptr != link || !can_tell(link))
            continue;
        pdm_bisect_site *site = pdm_arena_calloc(&p->arena, 1, sizeof *site);
        pdm_map_entry *entry = pdm_map_put(&p->sites, site_key(link->block, link->op)),
                      *seen =
                          pdm_map_put(&p->is_seen, pdm_bisect_key(link->value, link->element, 0));
        if (!site || !entry || !seen)
            return PDM_NOMEM;
        *site = (pdm_bisect_site){link, entry->value.ptr};
        entry->value.ptr = site;
    }
    return PDM_OK;
}

pdm_status pdm_bisect_program_init(pdm_bisect_program *p, const pdm_model *model,
                                   const pdm_bisect_options *options, pdm_kernels kernels,
                                   const char *name)
{
    const bool legacy = model->kind == PDM_MODEL_LEGACY;
    const pdm_plan_options plan = {.size = sizeof plan,
                                   .fetch = legacy ? options->fetch : NULL,
                                   .num_fetch = legacy ? options->num_fetch : 0,
                                   .any_shape = options->any_shape,
                                   .kernels = kernels};

    *p = (pdm_bisect_program){.model = model, .options = options, .name = name};
    pdm_arena_init(&p->arena);
    PDM_TRY(pdm_api_plan_create(model, &plan, true, legacy ? &p->links : NULL, &p->plan));
    return index_links(p);
}

void pdm_bisect_program_deinit(pdm_bisect_program *p)
{
    pdm_plan_destroy(p->plan);
    PDM_VEC_FREE(&p->links);
    pdm_map_deinit(&p->variables);
    pdm_map_deinit(&p->sites);
    pdm_map_deinit(&p->is_seen);
    pdm_arena_deinit(&p->arena);
}

bool pdm_bisect_is_told(const pdm_bisect_program *p, const pdm_ir_value *value, int32_t element)
{
    return !p->legacy || pdm_map_find(&p->is_seen, pdm_bisect_key(value, element, 0));
}

const pdm_tr_link *pdm_bisect_variable(const pdm_bisect_program *p, const pdm_ir_value *value)
{
    const pdm_map_entry *entry = pdm_map_find(&p->variables, pdm_bisect_key(value, -1, 0));

    return entry ? entry->value.ptr : NULL;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct teller {
    const pdm_bisect_program *program;
    pdm_bisect_fn fn;
    void *user;
    pdm_map leaves; /* that were told */
    pdm_map turns;  /* while op, or body of a legacy loop → its turn, from 1 */
    pdm_status status;
} teller;

static bool cancelled(void *user)
{
    const teller *t = user;
    const pdm_bisect_options *o = t->program->options;

    return t->status != PDM_OK || (o->cancelled && o->cancelled(o->user));
}

/* The turns of the loops around, innermost first, as a number; 0 outside of loops. */
static uint64_t add_turn(uint64_t instance, uint64_t turn)
{
    return pdm_hash_bytes(&turn, sizeof turn, instance);
}

static uint64_t turn_of(const teller *t, const void *loop)
{
    const pdm_map_entry *entry = pdm_map_find(&t->turns, loop);

    return entry ? entry->value.num : 0;
}

static uint64_t instance_of(const teller *t, const pdm_ir_value *value)
{
    const pdm_ir_op *op = pdm_ir_block_parent_op(pdm_ir_value_block(value));
    uint64_t instance = 0;

    for (; op; op = pdm_ir_op_parent(op))
        if (pdm_ir_op_is(op, "pd_op.while"))
            instance = add_turn(instance, turn_of(t, op));
    return instance;
}

static void tell_at(teller *t, uint64_t instance, const pdm_ir_value *value, int32_t element,
                    const pdm_value *data, const pdm_value *const *in)
{
    const pdm_bisect_event e = {value, element, instance, data, in};

    if (t->status == PDM_OK)
        t->status = t->fn(t->user, &e);
}

static void tell(teller *t, const pdm_ir_value *value, int32_t element, const pdm_value *data,
                 const pdm_value *const *in)
{
    tell_at(t, instance_of(t, value), value, element, data, in);
}

static void set_turn(teller *t, const void *loop, uint64_t turn)
{
    pdm_map_entry *entry = pdm_map_put(&t->turns, loop);

    if (entry)
        entry->value.num = turn;
    else
        t->status = PDM_NOMEM;
}

static void tell_result(teller *t, const pdm_ir_value *value, const pdm_value *data,
                        const pdm_value *const *in)
{
    if (!value->type)
        return;
    for (size_t i = 0; data && data->kind == PDM_VALUE_LIST && i < data->list.count; i++)
        tell(t, value, (int32_t)i, data->list.items[i], in);
    tell(t, value, -1, data, in);
}

/* Parameters and inputs are told when they are first seen. */
static void tell_leaf(teller *t, const pdm_ir_value *value, const pdm_value *data)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;

    if (!op || !data)
        return;
    if (pdm_ir_op_is(op, "builtin.combine")) {
        for (uint32_t i = 0;
             data->kind == PDM_VALUE_LIST && i < op->num_operands && i < data->list.count; i++)
            tell_leaf(t, pdm_ir_op_operand_value(op, i), data->list.items[i]);
        return;
    }
    if (!pdm_bisect_is_leaf(op) || pdm_map_find(&t->leaves, value))
        return;
    if (!pdm_map_put(&t->leaves, value))
        t->status = PDM_NOMEM;
    tell(t, value, -1, data, NULL);
}

static void on_op(void *user, const pdm_ir_op *op, const pdm_value *const *in,
                  const pdm_value *const *out)
{
    teller *t = user;

    for (uint32_t i = 0; in && i < op->num_operands; i++)
        tell_leaf(t, pdm_ir_op_operand_value(op, i), in[i]);
    for (uint32_t i = 0; i < op->num_results; i++)
        tell_result(t, pdm_ir_op_result(op, i), out[i], in);
}

static void on_turn(void *user, const pdm_ir_op *op, uint64_t turn, size_t index,
                    const pdm_value *value)
{
    set_turn(user, op, turn + 1);
    tell(user, pdm_ir_block_arg(pdm_ir_op_region(op, 0)->first, index), -1, value, NULL);
}

static pdm_status run_module(teller *t, const pdm_bundle *inputs, pdm_bundle *outputs)
{
    const pdm_bisect_options *o = t->program->options;
    const pdm_session_options options = {.size = sizeof options,
                                         .threads = 1,
                                         .seed = o->seed,
                                         .max_iterations = o->max_iterations,
                                         .cancelled = cancelled,
                                         .user = t};
    pdm_session *session = NULL;

    pdm_status status =
        pdm_api_session_create(t->program->plan, &options, on_op, on_turn, &session);
    if (status == PDM_OK)
        status = pdm_session_set_inputs(session, inputs);
    if (status == PDM_OK)
        status = pdm_session_run(session);
    if (status == PDM_OK && outputs)
        status = pdm_session_record(session, false, outputs);
    pdm_session_destroy(session);
    return status;
}

static const void *body_key(int32_t block)
{
    return site_key(block, -2);
}

static void tell_sites(teller *t, const pdm_legacy_session *session, int32_t block, int32_t op)
{
    const pdm_map_entry *entry = pdm_map_find(&t->program->sites, site_key(block, op));
    uint64_t instance = 0;

    for (int32_t b = block; entry && b > 0; b = t->program->model->legacy->blocks[b].parent)
        if (turn_of(t, body_key(b)))
            instance = add_turn(instance, turn_of(t, body_key(b)));
    for (const pdm_bisect_site *site = entry ? entry->value.ptr : NULL; site; site = site->next)
        tell_at(t, instance, site->link->value, site->link->element,
                pdm_legacy_value(session, block, site->link->var), NULL);
}

static void on_legacy_op(void *user, pdm_legacy_session *session, int32_t block, size_t op_index)
{
    teller *t = user;
    const int32_t sub = pdm_lg_sub_block(&t->program->model->legacy->blocks[block].ops[op_index]);

    if (sub >= 0)
        set_turn(t, body_key(sub), 0);
    tell_sites(t, session, block, (int32_t)op_index);
}

static void on_legacy_turn(void *user, pdm_legacy_session *session, int32_t block)
{
    teller *t = user;

    set_turn(t, body_key(block), turn_of(t, body_key(block)) + 1);
    tell_sites(t, session, block, -1);
}

static pdm_status run_legacy(teller *t, const pdm_bundle *inputs, pdm_bundle *outputs)
{
    const pdm_bisect_options *o = t->program->options;
    const pdm_legacy_run_options options = {.size = sizeof options,
                                            .fetch = o->fetch,
                                            .num_fetch = o->num_fetch,
                                            .seed = o->seed,
                                            .max_iterations = o->max_iterations,
                                            .cancelled = cancelled,
                                            .user = t};
    const pdm_legacy_options hooks = {.observe = on_legacy_op, .enter = on_legacy_turn};
    pdm_bundle *own = NULL;

    if (!outputs)
        PDM_TRY(pdm_bundle_create(t->program->model->context, &own));
    const pdm_status status =
        pdm_api_run_legacy(t->program->model, &options, &hooks, inputs, outputs ? outputs : own);
    pdm_bundle_destroy(own);
    return status;
}

pdm_status pdm_bisect_tell(const pdm_bisect_program *program, const pdm_bundle *inputs,
                           pdm_bisect_fn fn, void *user, pdm_bundle *outputs)
{
    teller t = {.program = program, .fn = fn, .user = user, .status = PDM_OK};
    const pdm_status status =
        program->legacy ? run_legacy(&t, inputs, outputs) : run_module(&t, inputs, outputs);

    pdm_map_deinit(&t.leaves);
    pdm_map_deinit(&t.turns);
    return t.status != PDM_OK ? t.status : status;
}
