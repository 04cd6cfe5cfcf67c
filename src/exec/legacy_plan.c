/* Making the plan of a legacy program: slots of variables, ops, inputs and outputs, parameters. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/legacy_impl.h"
#include "legacy_graph/cinn_pass.h"

typedef pdm_legacy_builder builder;

/* ---- slots ----------------------------------------------------------------------------------- */

uint32_t pdm_legacy_slot_of(const pdm_legacy_plan *plan, int32_t block, const char *name)
{
    const pdm_lg_program *program = plan->program;
    int32_t where;
    /* Texts of attributes are not interned. */
    const char *interned = pdm_intern_find(&program->strings, name, strlen(name));
    const pdm_lg_var *var = interned ? pdm_lg_lookup_var(program, block, interned, &where) : NULL;

    return var ? plan->blocks[where].slots[var - program->blocks[where].vars] : PDM_LEGACY_NO_PLACE;
}

static pdm_status new_slot(builder *b, const pdm_lg_var *var, uint32_t *out_slot)
{
    const pdm_legacy_slot slot = {var, var->persistable};

    if (b->plan->slots.n >= PDM_LEGACY_NO_PLACE - 1 || !PDM_VEC_PUSH(&b->plan->slots, slot))
        return PDM_NOMEM;
    *out_slot = (uint32_t)(b->plan->slots.n - 1);
    return PDM_OK;
}

/* Persistable variables are one wherever they are declared. */
static pdm_status make_slots(builder *b, pdm_map *persistables)
{
    const pdm_lg_program *program = b->plan->program;

    for (size_t i = 0; i < program->num_blocks; i++) {
        const pdm_lg_block *block = &program->blocks[i];
        uint32_t *slots = pdm_arena_calloc(&b->plan->arena, block->num_vars + 1, sizeof *slots);
        if (!slots)
            return PDM_NOMEM;
        for (size_t k = 0; k < block->num_vars; k++) {
            const pdm_lg_var *var = &block->vars[k];
            pdm_map_entry *known = var->persistable ? pdm_map_find(persistables, var->name) : NULL;
            if (known) {
                slots[k] = (uint32_t)known->value.num;
                continue;
            }
            PDM_TRY(new_slot(b, var, &slots[k]));
            if (!var->persistable)
                continue;
            known = pdm_map_put(persistables, var->name);
            if (!known)
                return PDM_NOMEM;
            known->value.num = slots[k];
        }
        b->plan->blocks[i].slots = slots;
        b->plan->blocks[i].num_vars = block->num_vars;
    }
    return PDM_OK;
}

/* ---- ops ------------------------------------------------------------------------------------- */

pdm_status pdm_legacy_refuse(builder *b, pdm_diag_code code, const pdm_legacy_op *op,
                             const char *var, const char *format, ...)
{
    pdm_loc loc = PDM_NOWHERE;
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    loc.file = b->plan->program->path;
    loc.block = op->block;
    loc.op_index = (int32_t)op->index;
    loc.op_type = op->op->type;
    loc.var = var;
    const pdm_status status = pdm_diag(b->sink, code, &loc, NULL, "%s", text);
    if (b->worst == PDM_OK || status == PDM_INVALID_MODEL)
        b->worst = status;
    return PDM_OK;
}

static const char *only_arg(const pdm_lg_slot *slot)
{
    return slot && slot->num_args == 1 ? slot->args[0] : NULL;
}

/* The slot of the only variable in an op's slot; refuses the op when there is none. */
static pdm_status one_var(builder *b, const pdm_legacy_op *op, const pdm_lg_slot *slot,
                          const char *slot_name, uint32_t *out)
{
    const char *name = only_arg(slot);

    *out = name ? pdm_legacy_slot_of(b->plan, op->block, name) : PDM_LEGACY_NO_PLACE;
    if (*out != PDM_LEGACY_NO_PLACE)
        return PDM_OK;
    return pdm_legacy_refuse(b, PDM_D_LG_MISSING_INPUT, op, slot_name,
                             "op '%s' needs one variable in its slot '%s'", op->op->type,
                             slot_name);
}

static pdm_status add_port(builder *b, const pdm_legacy_op *op, bool output)
{
    pdm_legacy_port port = {.slot = op->slot, .column = op->column};

    if (op->slot == PDM_LEGACY_NO_PLACE)
        return PDM_OK;
    port.var = b->plan->slots.v[op->slot].var;
    port.name = port.var->name;
    const bool ok =
        output ? PDM_VEC_PUSH(&b->plan->outputs, port) : PDM_VEC_PUSH(&b->plan->inputs, port);
    return ok ? PDM_OK : PDM_NOMEM;
}

static pdm_status bind_port(builder *b, pdm_legacy_op *op, bool output)
{
    const pdm_lg_attr *col = pdm_lg_find_attr(op->op, "col");

    op->kind = output ? PDM_LEGACY_FETCH : PDM_LEGACY_FEED;
    op->column = col && col->type == PDM_LG_INT && col->u.i >= 0 ? (uint32_t)col->u.i : 0;
    PDM_TRY(one_var(b, op,
                    output ? pdm_lg_find_input(op->op, "X") : pdm_lg_find_output(op->op, "Out"),
                    output ? "X" : "Out", &op->slot));
    return add_port(b, op, output);
}

static bool flag(const pdm_lg_op *op, const char *name, bool fallback)
{
    const pdm_lg_attr *attr = pdm_lg_find_attr(op, name);

    if (attr && attr->type == PDM_LG_INT)
        return attr->u.i != 0;
    return attr && attr->type == PDM_LG_BOOLEAN ? attr->u.b : fallback;
}

static pdm_status bind_sub_block(builder *b, pdm_legacy_op *op)
{
    op->sub_block = pdm_lg_sub_block(op->op);
    if (op->sub_block > 0)
        return PDM_OK;
    return pdm_legacy_refuse(b, PDM_D_LG_CONTROL_FLOW, op, NULL, "op '%s' has no sub-block",
                             op->op->type);
}

static pdm_status bind_while(builder *b, pdm_legacy_op *op)
{
    op->kind = PDM_LEGACY_WHILE;
    op->is_test = flag(op->op, "is_test", false);
    PDM_TRY(bind_sub_block(b, op));
    return one_var(b, op, pdm_lg_find_input(op->op, "Condition"), "Condition", &op->slot);
}

static pdm_status bind_conditional(builder *b, pdm_legacy_op *op)
{
    op->kind = PDM_LEGACY_CONDITIONAL;
    PDM_TRY(bind_sub_block(b, op));
    if (flag(op->op, "is_scalar_condition", false))
        return one_var(b, op, pdm_lg_find_input(op->op, "Cond"), "Cond", &op->slot);
    return pdm_legacy_arg_slots(b, op, pdm_lg_find_input(op->op, "Input"), &op->tensors,
                                &op->num_tensors);
}

/* ---- recurrent ------------------------------------------------------------------------------- */

/* Slots that names have inside of a block. */
static pdm_status inner_slots(builder *b, const pdm_legacy_op *op, const char *const *names,
                              size_t n, const uint32_t **out)
{
    uint32_t *slots = pdm_arena_calloc(&b->plan->arena, n + 1, sizeof *slots);

    if (!slots)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++) {
        slots[i] = pdm_legacy_slot_of(b->plan, op->sub_block, names[i]);
        if (slots[i] == PDM_LEGACY_NO_PLACE)
            PDM_TRY(pdm_legacy_refuse(b, PDM_D_LG_DANGLING, op, names[i],
                                      "the block of op '%s' has no variable '%s'", op->op->type,
                                      names[i]));
    }
    *out = slots;
    return PDM_OK;
}

static pdm_status state_slots(builder *b, const pdm_legacy_op *op, const char *attr_name,
                              uint32_t count, const uint32_t **out)
{
    const pdm_lg_attr *attr = pdm_lg_find_attr(op->op, attr_name);
    const size_t n = attr && attr->type == PDM_LG_STRINGS ? attr->count : 0;

    if (n != count)
        return pdm_legacy_refuse(b, PDM_D_LG_ATTR_VALUE, op, attr_name,
                                 "op '%s' has %u initial states but %zu names in '%s'",
                                 op->op->type, count, n, attr_name);
    return inner_slots(b, op, n ? attr->u.strings : NULL, n, out);
}

static pdm_status bind_recurrent(builder *b, pdm_legacy_op *op)
{
    pdm_legacy_rnn *rnn = pdm_arena_calloc(&b->plan->arena, 1, sizeof *rnn);
    const pdm_lg_slot *in = pdm_lg_find_input(op->op, "inputs");
    const pdm_lg_slot *out = pdm_lg_find_output(op->op, "outputs");

    if (!rnn)
        return PDM_NOMEM;
    op->kind = PDM_LEGACY_RECURRENT;
    op->rnn = rnn;
    rnn->reverse = flag(op->op, "reverse", false);
    PDM_TRY(bind_sub_block(b, op));
    if (op->sub_block <= 0)
        return PDM_OK;
    PDM_TRY(pdm_legacy_arg_slots(b, op, in, &rnn->in_outer, &rnn->num_in));
    PDM_TRY(pdm_legacy_arg_slots(b, op, out, &rnn->out_outer, &rnn->num_out));
    PDM_TRY(inner_slots(b, op, in ? in->args : NULL, rnn->num_in, &rnn->in_inner));
    PDM_TRY(inner_slots(b, op, out ? out->args : NULL, rnn->num_out, &rnn->out_inner));
    PDM_TRY(pdm_legacy_arg_slots(b, op, pdm_lg_find_input(op->op, "initial_states"), &rnn->init,
                                 &rnn->num_states));
    PDM_TRY(state_slots(b, op, "ex_states", rnn->num_states, &rnn->before));
    return state_slots(b, op, "states", rnn->num_states, &rnn->after);
}

/* ---- launches -------------------------------------------------------------------------------- */

static pdm_status bind_launch(builder *b, pdm_legacy_op *op)
{
    pdm_legacy_launch_plan *launch = pdm_arena_calloc(&b->plan->arena, 1, sizeof *launch);
    const pdm_lg_attr *key = pdm_lg_find_attr(op->op, PDM_LG_CINN_KEY);

    if (!launch)
        return PDM_NOMEM;
    op->kind = PDM_LEGACY_LAUNCH;
    op->launch = launch;
    launch->in_slot = pdm_lg_find_input(op->op, PDM_LG_CINN_X);
    launch->shape_slot = pdm_lg_find_input(op->op, PDM_LG_CINN_NO_NEED_X);
    launch->out_slot = pdm_lg_find_output(op->op, PDM_LG_CINN_OUT);
    if (!key || key->type != PDM_LG_LONG)
        return pdm_legacy_refuse(b, PDM_D_LG_MISSING_ATTR, op, PDM_LG_CINN_KEY,
                                 "op '%s' needs its attribute '%s'", op->op->type, PDM_LG_CINN_KEY);
    launch->key = key->u.l;
    PDM_TRY(pdm_legacy_arg_slots(b, op, launch->in_slot, &launch->in, &launch->num_in));
    PDM_TRY(pdm_legacy_arg_slots(b, op, launch->shape_slot, &launch->shapes, &launch->num_shapes));
    return pdm_legacy_arg_slots(b, op, launch->out_slot, &launch->out, &launch->num_out);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static pdm_status bind_op(builder *b, pdm_legacy_op *op)
{
    static const struct {
        const char *type;
        pdm_status (*bind)(builder *b, pdm_legacy_op *op);
    } special[] = {
        {PDM_LG_CINN_LAUNCH, bind_launch},
        {"conditional_block", bind_conditional},
        {"conditional_block_infer", bind_conditional},
        {"recurrent", bind_recurrent},
        {"while", bind_while},
    };
    const char *type = op->op->type;

    if (!strcmp(type, "feed"))
        return bind_port(b, op, false);
    if (!strcmp(type, "fetch") || !strcmp(type, "fetch_v2"))
        return bind_port(b, op, true);
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (!strcmp(type, special[i].type))
            return special[i].bind(b, op);
    }
    if (pdm_lg_sub_block(op->op) >= 0)
        return pdm_legacy_refuse(b, PDM_D_EXEC_KERNEL, op, NULL,
                                 "op '%s' has a sub-block and cannot be run", type);
    op->kind = PDM_LEGACY_KERNEL;
    return pdm_legacy_bind_kernel(b, op);
}

static pdm_status bind_blocks(builder *b)
{
    const pdm_lg_program *program = b->plan->program;

    for (size_t i = 0; i < program->num_blocks; i++) {
        const pdm_lg_block *from = &program->blocks[i];
        pdm_legacy_block *to = &b->plan->blocks[i];
        to->num_ops = from->num_ops;
        to->ops = pdm_arena_calloc(&b->plan->arena, from->num_ops + 1, sizeof *to->ops);
        if (!to->ops)
            return PDM_NOMEM;
        for (size_t k = 0; k < from->num_ops; k++) {
            to->ops[k] = (pdm_legacy_op){.op = &from->ops[k],
                                         .block = (int32_t)i,
                                         .index = (uint32_t)k,
                                         .slot = PDM_LEGACY_NO_PLACE};
            PDM_TRY(bind_op(b, &to->ops[k]));
        }
    }
    return PDM_OK;
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

static int by_column(const void *a, const void *b)
{
    const pdm_legacy_port *x = a, *y = b;

    return (x->column > y->column) - (x->column < y->column);
}

static pdm_status check_columns(builder *b, const pdm_legacy_port *ports, size_t n,
                                const char *what)
{
    for (size_t i = 0; i < n; i++) {
        pdm_loc loc = PDM_NOWHERE;
        loc.file = b->plan->program->path;
        loc.var = ports[i].name;
        if (ports[i].column != i)
            return pdm_diag(b->sink, PDM_D_LG_COLUMN, &loc, NULL,
                            "the columns of the %s ops are not 0 to %zu", what, n - 1);
    }
    return PDM_OK;
}

/* Variables of block 0 that the caller is to give though no feed op says so. */
static pdm_status add_unfed_inputs(builder *b)
{
    pdm_legacy_plan *plan = b->plan;
    const size_t num_fed = plan->inputs.n;

    for (size_t i = 0; i < plan->blocks[0].num_vars; i++) {
        const pdm_lg_var *var = &plan->program->blocks[0].vars[i];
        pdm_legacy_port port = {var->name, var, plan->blocks[0].slots[i], 0};
        bool known = !var->need_check_feed || var->persistable;
        for (size_t k = 0; k < num_fed && !known; k++)
            known = plan->inputs.v[k].slot == port.slot;
        if (known)
            continue;
        port.column = (uint32_t)plan->inputs.n;
        if (!PDM_VEC_PUSH(&plan->inputs, port))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

static pdm_status asked_outputs(builder *b, const pdm_legacy_plan_options *options)
{
    b->plan->outputs.n = 0;
    for (size_t i = 0; i < options->num_fetch; i++) {
        pdm_legacy_port port = {.column = (uint32_t)i};
        pdm_loc loc = PDM_NOWHERE;
        loc.file = b->plan->program->path;
        loc.var = options->fetch[i];
        port.slot = pdm_legacy_slot_of(b->plan, 0, options->fetch[i]);
        if (port.slot == PDM_LEGACY_NO_PLACE)
            return pdm_diag(b->sink, PDM_D_USAGE, &loc, NULL, "there is no variable '%s' to fetch",
                            options->fetch[i]);
        port.var = b->plan->slots.v[port.slot].var;
        port.name = port.var->name;
        if (!PDM_VEC_PUSH(&b->plan->outputs, port))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

static void sort_ports(pdm_legacy_port *ports, size_t n)
{
    if (n > 1)
        qsort(ports, n, sizeof *ports, by_column);
}

static pdm_status make_ports(builder *b, const pdm_legacy_plan_options *options)
{
    pdm_legacy_plan *plan = b->plan;

    sort_ports(plan->inputs.v, plan->inputs.n);
    sort_ports(plan->outputs.v, plan->outputs.n);
    if (b->worst != PDM_OK)
        return PDM_OK;
    PDM_TRY(check_columns(b, plan->inputs.v, plan->inputs.n, "feed"));
    if (options && options->num_fetch)
        PDM_TRY(asked_outputs(b, options));
    else
        PDM_TRY(check_columns(b, plan->outputs.v, plan->outputs.n, "fetch"));
    return add_unfed_inputs(b);
}

/* ---- last uses ------------------------------------------------------------------------------- */

static void note_use(const pdm_legacy_plan *plan, int32_t block, const char *name, uint32_t number,
                     uint32_t *last)
{
    const uint32_t slot = pdm_legacy_slot_of(plan, block, name);

    if (slot != PDM_LEGACY_NO_PLACE && last[slot] < number)
        last[slot] = number;
}

/* The number of the last op that uses a slot, and of the last one that looks at its data. */
typedef struct last_uses {
    uint32_t *any, *data;
} last_uses;

/* number: of the op of block 0 that it is, or is inside of, plus one. */
static void note_uses(const pdm_legacy_plan *plan, const pdm_legacy_op *op, uint32_t number,
                      const last_uses *last)
{
    const pdm_lg_op *lg = op->op;
    const pdm_lg_slot *const sides[] = {lg->inputs, lg->outputs};
    const size_t counts[] = {lg->num_inputs, lg->num_outputs};

    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < counts[s]; i++) {
            const bool shape = op->launch && &sides[s][i] == op->launch->shape_slot;
            for (size_t k = 0; k < sides[s][i].num_args; k++) {
                note_use(plan, op->block, sides[s][i].args[k], number, last->any);
                if (!shape)
                    note_use(plan, op->block, sides[s][i].args[k], number, last->data);
            }
        }
    }
    for (size_t i = 0; i < lg->num_attrs; i++) {
        const pdm_lg_attr *a = &lg->attrs[i];
        const size_t n = a->type == PDM_LG_VAR ? 1 : a->type == PDM_LG_VARS ? a->count : 0;
        for (size_t k = 0; k < n; k++) {
            const char *name = a->type == PDM_LG_VAR ? a->u.s : a->u.strings[k];
            note_use(plan, op->block, name, number, last->any);
            note_use(plan, op->block, name, number, last->data);
        }
    }
}

/* The number of the op of block 0 around a block; 0: none. */
static uint32_t top_op_of(const pdm_legacy_plan *plan, int32_t block)
{
    while (block > 0 && plan->program->blocks[block].parent > 0)
        block = plan->program->blocks[block].parent;
    for (size_t k = 0; k < plan->blocks[0].num_ops; k++) {
        if (plan->blocks[0].ops[k].sub_block == block)
            return (uint32_t)k + 1;
    }
    return 0;
}

/* Slots in lists by the op that last names for them; 0: in none. */
static pdm_status lists_of(pdm_legacy_plan *plan, const uint32_t *last, uint32_t **out_counts,
                           uint32_t **out_lists)
{
    const size_t num_ops = plan->blocks[0].num_ops, n = plan->slots.n;
    uint32_t *counts = pdm_arena_calloc(&plan->arena, num_ops + 2, sizeof *counts);
    uint32_t *all = pdm_arena_calloc(&plan->arena, n + 1, sizeof *all);

    if (!counts || !all)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (last[i])
            counts[last[i] + 1]++;
    }
    for (size_t i = 2; i < num_ops + 2; i++) /* where each list begins */
        counts[i] += counts[i - 1];
    for (size_t i = 0; i < n; i++) {
        if (last[i])
            all[counts[last[i]]++] = (uint32_t)i;
    }
    *out_counts = counts; /* now where each ends */
    *out_lists = all;
    return PDM_OK;
}

static pdm_status release_lists(pdm_legacy_plan *plan, const last_uses *last)
{
    pdm_legacy_block *top = &plan->blocks[0];
    uint32_t *ends, *lists, *strip_ends, *strips;

    PDM_TRY(lists_of(plan, last->any, &ends, &lists));
    for (size_t i = 0; i < plan->slots.n; i++) {
        if (last->any[i] == 0 || last->data[i] == last->any[i])
            last->data[i] = 0; /* goes as a whole, or stays */
    }
    PDM_TRY(lists_of(plan, last->data, &strip_ends, &strips));
    for (size_t i = 0; i < top->num_ops; i++) {
        const uint32_t begin = i ? ends[i] : 0, strip = i ? strip_ends[i] : 0;
        top->ops[i].released = lists + begin;
        top->ops[i].num_released = ends[i + 1] - begin;
        top->ops[i].stripped = strips + strip;
        top->ops[i].num_stripped = strip_ends[i + 1] - strip;
    }
    return PDM_OK;
}

static pdm_status find_last_uses(builder *b)
{
    pdm_legacy_plan *plan = b->plan;
    const last_uses last = {calloc(plan->slots.n + 1, sizeof *last.any),
                            calloc(plan->slots.n + 1, sizeof *last.data)};
    pdm_status status = PDM_NOMEM;

    if (!last.any || !last.data)
        goto done;
    for (size_t i = 0; i < plan->program->num_blocks; i++) {
        const uint32_t top = i ? top_op_of(plan, (int32_t)i) : 0;
        for (size_t k = 0; k < plan->blocks[i].num_ops && (top || i == 0); k++)
            note_uses(plan, &plan->blocks[i].ops[k], i ? top : (uint32_t)k + 1, &last);
    }
    for (size_t i = 0; i < plan->slots.n; i++) {
        if (plan->slots.v[i].persistable)
            last.any[i] = 0;
    }
    for (size_t i = 0; i < plan->outputs.n; i++)
        last.any[plan->outputs.v[i].slot] = 0;
    status = release_lists(plan, &last);
done:
    free(last.any);
    free(last.data);
    return status;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static pdm_status read_params(builder *b, const pdm_params *params)
{
    pdm_status status = PDM_OK;
    pdm_param_reader reader;

    pdm_param_reader_init(&reader);
    for (size_t i = 0; params && status == PDM_OK && i < b->plan->slots.n; i++) {
        const pdm_legacy_slot *slot = &b->plan->slots.v[i];
        const pdm_param *p = slot->persistable ? pdm_params_find(params, slot->var->name) : NULL;
        pdm_legacy_param param = {.slot = (uint32_t)i};
        if (!p || p->kind == PDM_PARAM_VOCAB)
            continue;
        status = pdm_param_read(&reader, p, b->sink, &param.tensor);
        if (status == PDM_OK && !PDM_VEC_PUSH(&b->plan->params, param))
            status = PDM_NOMEM;
        if (status != PDM_OK)
            pdm_tensor_deinit(&param.tensor);
    }
    pdm_param_reader_deinit(&reader);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static pdm_status build(builder *b, const pdm_params *params,
                        const pdm_legacy_plan_options *options)
{
    pdm_legacy_plan *plan = b->plan;
    pdm_map persistables = {0};

    plan->blocks =
        pdm_arena_calloc(&plan->arena, plan->program->num_blocks + 1, sizeof *plan->blocks);
    if (!plan->blocks)
        return PDM_NOMEM;
    const pdm_status status = make_slots(b, &persistables);
    pdm_map_deinit(&persistables);
    PDM_TRY(status);
    PDM_TRY(bind_blocks(b));
    PDM_TRY(make_ports(b, options));
    if (b->worst != PDM_OK)
        return b->worst;
    if (!options || !options->keep_all)
        PDM_TRY(find_last_uses(b));
    return read_params(b, params);
}

pdm_status pdm_legacy_plan_create(const pdm_lg_program *program, pdm_lg_schemas *schemas,
                                  const pdm_params *params, const pdm_legacy_plan_options *options,
                                  pdm_diag_sink *sink, pdm_legacy_plan **out_plan)
{
    pdm_legacy_plan *plan = calloc(1, sizeof *plan);
    builder b = {.plan = plan, .schemas = schemas, .sink = sink, .worst = PDM_OK};

    if (!plan)
        return PDM_NOMEM;
    pdm_arena_init(&plan->arena);
    plan->program = program;
    const pdm_status status = build(&b, params, options);
    if (status != PDM_OK) {
        pdm_legacy_plan_destroy(plan);
        return status;
    }
    *out_plan = plan;
    return PDM_OK;
}

void pdm_legacy_plan_destroy(pdm_legacy_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->extras.n; i++)
        pdm_tensor_deinit(&plan->extras.v[i].tensor);
    for (size_t i = 0; i < plan->params.n; i++)
        pdm_tensor_deinit(&plan->params.v[i].tensor);
    PDM_VEC_FREE(&plan->slots);
    PDM_VEC_FREE(&plan->extras);
    PDM_VEC_FREE(&plan->inputs);
    PDM_VEC_FREE(&plan->outputs);
    PDM_VEC_FREE(&plan->params);
    pdm_arena_deinit(&plan->arena);
    free(plan);
}

size_t pdm_legacy_num_inputs(const pdm_legacy_plan *plan)
{
    return plan->inputs.n;
}

size_t pdm_legacy_num_outputs(const pdm_legacy_plan *plan)
{
    return plan->outputs.n;
}

const char *pdm_legacy_input_name(const pdm_legacy_plan *plan, size_t index)
{
    return plan->inputs.v[index].name;
}

const char *pdm_legacy_output_name(const pdm_legacy_plan *plan, size_t index)
{
    return plan->outputs.v[index].name;
}

const pdm_lg_var *pdm_legacy_input_var(const pdm_legacy_plan *plan, size_t index)
{
    return plan->inputs.v[index].var;
}
