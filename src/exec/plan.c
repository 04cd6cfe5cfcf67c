/* From a module to a plan. */
#include "exec/plan.h"
#include "exec/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cinn/lower.h"
#include "exec/lower/lower.h"
#include "exec/no_kernel.h"
#include "ir/ir_t.h"

typedef struct builder {
    pdm_exec_plan *plan;
    pdm_diag_sink *sink;
    const pdm_params *params;
    pdm_map slots;                    /* value -> slot + 1 */
    pdm_map stacks;                   /* cf.stack_create op -> number + 1 */
    pdm_map missing;                  /* infos of ops without a kernel */
    PDM_VEC(pdm_exec_block *) owners; /* by slot: the block whose instructions give it its value */
    PDM_VEC(pdm_exec_list) lists;
    PDM_VEC(pdm_exec_port) inputs;
    PDM_VEC(pdm_exec_port) outputs;
    PDM_VEC(pdm_exec_param) prms;
    pdm_exec_block *current; /* block under construction */
    bool fast;                  /* fast kernels where there are any */
    const pdm_cinn_backend *backend; /* compiles groups; NULL: none does */
    pdm_status worst;
} builder;

static pdm_loc place_of(const pdm_ir_op *op)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.op_type = pdm_ir_op_name(op);
    loc.block = op->lg_block;
    loc.op_index = op->lg_op;
    return loc;
}

static pdm_status refuse(builder *b, pdm_diag_code code, const pdm_ir_op *op, const char *text)
{
    const pdm_loc loc = place_of(op);

    b->worst = pdm_diag(b->sink, code, &loc, NULL, "%s", text);
    return PDM_OK; /* the others are looked at too */
}

static void *take(builder *b, size_t count, size_t size)
{
    return pdm_arena_calloc(&b->plan->arena, count ? count : 1, size);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static pdm_status new_slot(builder *b, pdm_exec_block *owner, uint32_t *out)
{
    if (b->owners.n >= PDM_EXEC_NONE - 1)
        return PDM_UNSUPPORTED;
    if (!PDM_VEC_PUSH(&b->owners, owner))
        return PDM_NOMEM;
    *out = (uint32_t)(b->owners.n - 1);
    return PDM_OK;
}

static pdm_status bind(builder *b, const pdm_ir_value *value, uint32_t slot)
{
    pdm_map_entry *entry = pdm_map_put(&b->slots, value);

    if (!entry)
        return PDM_NOMEM;
    entry->value.num = (uint64_t)slot + 1;
    return PDM_OK;
}

static uint32_t slot_of(const builder *b, const pdm_ir_value *value)
{
    const pdm_map_entry *entry = value ? pdm_map_find(&b->slots, value) : NULL;

    return entry ? (uint32_t)(entry->value.num - 1) : PDM_EXEC_NONE;
}

static const pdm_exec_list *list_of(const builder *b, uint32_t slot)
{
    for (size_t i = b->lists.n; i-- > 0;) {
        if (b->lists.v[i].slot == slot)
            return &b->lists.v[i];
    }
    return NULL;
}

static pdm_status add_list(builder *b, uint32_t slot, const uint32_t *elements, uint32_t count)
{
    const pdm_exec_list list = {.slot = slot, .count = count, .elements = elements};

    return PDM_VEC_PUSH(&b->lists, list) ? PDM_OK : PDM_NOMEM;
}

/* A slot of its own for a value; a vector gets slots for its elements too. */
static pdm_status own_slot(builder *b, const pdm_ir_value *value, pdm_exec_block *owner,
                           uint32_t *out)
{
    *out = PDM_EXEC_NONE;
    if (!value->type)
        return PDM_OK;
    PDM_TRY(new_slot(b, owner, out));
    PDM_TRY(bind(b, value, *out));
    if (value->type->kind != PDM_IR_VECTOR)
        return PDM_OK;
    const uint32_t count = value->type->num_elements;
    uint32_t *elements = take(b, count, sizeof *elements);
    if (!elements)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        elements[i] = PDM_EXEC_NONE;
        if (value->type->elements[i])
            PDM_TRY(new_slot(b, owner, &elements[i]));
    }
    return add_list(b, *out, elements, count);
}

/* ---- ops that need no instruction ------------------------------------------------------------ */

static pdm_status combine(builder *b, const pdm_ir_op *op)
{
    uint32_t slot, *elements = take(b, op->num_operands, sizeof *elements);

    if (!elements)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < op->num_operands; i++)
        elements[i] = slot_of(b, pdm_ir_op_operand_value(op, i));
    PDM_TRY(new_slot(b, b->current, &slot));
    PDM_TRY(bind(b, pdm_ir_op_result(op, 0), slot));
    return add_list(b, slot, elements, op->num_operands);
}

/* The results of slice and split are the elements themselves. */
static pdm_status pick(builder *b, const pdm_ir_op *op, const pdm_ir_value *result, int64_t index)
{
    const uint32_t from = slot_of(b, pdm_ir_op_operand_value(op, 0));
    const pdm_exec_list *list = from == PDM_EXEC_NONE ? NULL : list_of(b, from);

    if (!list || index < 0 || index >= list->count)
        return refuse(b, PDM_D_EXEC_OP, op, "there is no such element in the vector");
    if (list->elements[index] == PDM_EXEC_NONE)
        return PDM_OK;
    return bind(b, result, list->elements[index]);
}

static pdm_status slice(builder *b, const pdm_ir_op *op)
{
    pdm_ir_attr index = pdm_ir_op_attr(op, "index");

    return pick(b, op, pdm_ir_op_result(op, 0),
                index && index->kind == PDM_IR_ATTR_I32 ? index->u.i : -1);
}

static pdm_status split(builder *b, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_results; i++)
        PDM_TRY(pick(b, op, pdm_ir_op_result(op, i), i));
    return PDM_OK;
}

static const char *text_attr(const pdm_ir_op *op, const char *name)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return attr && attr->kind == PDM_IR_ATTR_STR ? attr->u.s.text : "";
}

static pdm_status parameter(builder *b, const pdm_ir_op *op)
{
    pdm_exec_param param = {.name = text_attr(op, "parameter_name")};

    /* Two ops may name one parameter: it is one variable. */
    for (size_t i = 0; i < b->prms.n; i++) {
        if (!strcmp(b->prms.v[i].name, param.name))
            return bind(b, pdm_ir_op_result(op, 0), b->prms.v[i].slot);
    }
    PDM_TRY(own_slot(b, pdm_ir_op_result(op, 0), NULL, &param.slot));
    return PDM_VEC_PUSH(&b->prms, param) ? PDM_OK : PDM_NOMEM;
}

static pdm_status input(builder *b, const pdm_ir_op *op)
{
    pdm_ir_value *value = pdm_ir_op_result(op, 0);
    pdm_exec_port port = {.name = text_attr(op, "name"), .type = value->type};

    PDM_TRY(own_slot(b, value, NULL, &port.slot));
    return PDM_VEC_PUSH(&b->inputs, port) ? PDM_OK : PDM_NOMEM;
}

static pdm_status stack_create(builder *b, const pdm_ir_op *op)
{
    pdm_map_entry *entry = pdm_map_put(&b->stacks, op);

    if (!entry)
        return PDM_NOMEM;
    entry->value.num = ++b->plan->num_stacks;
    return PDM_OK;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static pdm_status operands(builder *b, pdm_exec_instr *instr, uint32_t first)
{
    const pdm_ir_op *op = instr->op;
    uint32_t *in = take(b, op->num_operands, sizeof *in);

    if (!in)
        return PDM_NOMEM;
    instr->num_in = op->num_operands - first;
    for (uint32_t i = 0; i < instr->num_in; i++)
        in[i] = slot_of(b, pdm_ir_op_operand_value(op, i + first));
    instr->in = in;
    return PDM_OK;
}

/* Names of in-place ops that give a view: another shape of the same data in a variable of its own.
 */
static bool is_view(const char *name)
{
    static const char *const views[] = {"pd_op.flatten_", "pd_op.reshape_", "pd_op.squeeze_",
                                        "pd_op.unsqueeze_"};

    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (!strcmp(views[i], name))
            return true;
    }
    return false;
}

/* Which results are another name for an operand. */
static pdm_status in_place_results(builder *b, pdm_exec_instr *instr, uint32_t *out)
{
    const pdm_ir_op *op = instr->op;
    const char *name = pdm_ir_op_name(op);
    bool *in_place = NULL;

    if (!op->info->desc || !(op->info->desc->flags & PDM_IR_INPLACE) || is_view(name))
        return PDM_OK;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const int r = pdm_ir_inplace_result(name, (int)i);
        if (r < 0 || (uint32_t)r >= op->num_results || instr->in[i] == PDM_EXEC_NONE)
            continue;
        if (!in_place && !(in_place = take(b, op->num_results, sizeof *in_place)))
            return PDM_NOMEM;
        in_place[r] = true;
        out[r] = instr->in[i];
        PDM_TRY(bind(b, pdm_ir_op_result(op, (size_t)r), out[r]));
    }
    instr->in_place = in_place;
    return PDM_OK;
}

static pdm_status results(builder *b, pdm_exec_instr *instr)
{
    const pdm_ir_op *op = instr->op;
    uint32_t *out = take(b, op->num_results, sizeof *out);

    if (!out)
        return PDM_NOMEM;
    instr->num_out = op->num_results;
    instr->out = out;
    for (uint32_t i = 0; i < op->num_results; i++)
        out[i] = PDM_EXEC_NONE;
    if (instr->kind == PDM_EXEC_KERNEL)
        PDM_TRY(in_place_results(b, instr, out));
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (out[i] == PDM_EXEC_NONE)
            PDM_TRY(own_slot(b, pdm_ir_op_result(op, i), b->current, &out[i]));
    }
    return PDM_OK;
}

/* Slot names of a legacy op, one for each operand or result. */
static pdm_status slot_names(builder *b, const pdm_ir_op *op, const char *names_key,
                             const char *counts_key, size_t total, const char *const **out)
{
    pdm_ir_attr names = pdm_ir_op_attr(op, names_key), counts = pdm_ir_op_attr(op, counts_key);
    const char **list = take(b, total, sizeof *list);
    size_t n = 0;

    if (!list)
        return PDM_NOMEM;
    *out = list;
    if (!names || !counts || names->kind != PDM_IR_ATTR_ARRAY ||
        counts->kind != PDM_IR_ATTR_ARRAY || names->count != counts->count)
        return PDM_OK;
    for (uint32_t i = 0; i < names->count; i++) {
        if (names->u.items[i]->kind != PDM_IR_ATTR_STR ||
            counts->u.items[i]->kind != PDM_IR_ATTR_I32)
            return PDM_OK;
        for (int64_t k = 0; k < counts->u.items[i]->u.i && n < total; k++)
            list[n++] = names->u.items[i]->u.s.text;
    }
    return PDM_OK;
}

static pdm_status kernel(builder *b, pdm_exec_instr *instr)
{
    const pdm_ir_op *op = instr->op;
    const char *name = pdm_ir_op_name(op);

    instr->kind = PDM_EXEC_KERNEL;
    /* A legacy op may do anything. */
    instr->random = !op->info->desc || (op->info->desc->flags & PDM_IR_RANDOM);
    instr->fn = pdm_kernel_find(name);
    if (b->fast && pdm_fast_find(name)) {
        instr->reference = instr->fn;
        instr->fn = pdm_fast_find(name);
    }
    if (!instr->fn && !pdm_map_put(&b->missing, op->info))
        return PDM_NOMEM;
    PDM_TRY(operands(b, instr, 0));
    PDM_TRY(results(b, instr));
    if (op->info->desc)
        return PDM_OK;
    PDM_TRY(
        slot_names(b, op, "operand_slots", "operand_counts", op->num_operands, &instr->in_slots));
    return slot_names(b, op, "result_slots", "result_counts", op->num_results, &instr->out_slots);
}

static pdm_status build_block(builder *b, const pdm_ir_block *block, pdm_exec_block **out);

static const pdm_ir_block *only_block(const pdm_ir_op *op, uint32_t region)
{
    return region < op->num_regions ? pdm_ir_op_region(op, region)->first : NULL;
}

static pdm_status region_op(builder *b, pdm_exec_instr *instr, bool loop)
{
    const pdm_ir_op *op = instr->op;

    instr->kind = loop ? PDM_EXEC_WHILE : PDM_EXEC_IF;
    PDM_TRY(operands(b, instr, 0));
    for (uint32_t i = 0; i < (loop ? 1U : 2U); i++)
        PDM_TRY(build_block(b, only_block(op, i), &instr->blocks[i]));
    if (instr->num_in == 0 || instr->in[0] == PDM_EXEC_NONE)
        PDM_TRY(refuse(b, PDM_D_EXEC_OP, op, "the condition is absent"));
    PDM_TRY(results(b, instr));
    const uint32_t extra = loop ? 1 : 0;
    for (uint32_t i = 0; i < (loop ? 1U : 2U); i++) {
        if (op->num_results > 0 && instr->blocks[i]->num_yields != op->num_results + extra)
            PDM_TRY(refuse(b, PDM_D_EXEC_OP, op, "a region yields another number of values"));
    }
    if (loop &&
        (instr->num_in != op->num_results + 1 || instr->blocks[0]->num_args != op->num_results ||
         instr->blocks[0]->num_yields != op->num_results + 1))
        PDM_TRY(refuse(b, PDM_D_EXEC_OP, op, "operands, arguments and results do not match"));
    return PDM_OK;
}

/* The body is planned too: what cannot be compiled is run op by op. */
static pdm_status group_op(builder *b, pdm_exec_instr *instr)
{
    const pdm_ir_op *op = instr->op;
    size_t count;

    instr->kind = PDM_EXEC_GROUP;
    PDM_TRY(pdm_exec_group_create(op, b->backend, &instr->group));
    if (!PDM_VEC_PUSH(&b->plan->groups, instr->group)) {
        pdm_exec_group_destroy(instr->group);
        return PDM_NOMEM;
    }
    const pdm_ir_value *const *inputs = pdm_exec_group_inputs(instr->group, &count);
    uint32_t *in = take(b, count, sizeof *in);
    if (!in)
        return PDM_NOMEM;
    instr->num_in = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        in[i] = slot_of(b, inputs[i]);
    instr->in = in;
    PDM_TRY(build_block(b, only_block(op, 0), &instr->blocks[0]));
    return results(b, instr);
}

/* The stack that an end (stack, inlet, outlet) belongs to. */
static pdm_status stack_op(builder *b, pdm_exec_instr *instr, pdm_exec_kind kind)
{
    const pdm_ir_value *end = pdm_ir_op_operand_value(instr->op, 0);
    const pdm_ir_op *create = end ? pdm_ir_value_op(end) : NULL;
    const pdm_map_entry *entry = create ? pdm_map_find(&b->stacks, create) : NULL;

    instr->kind = kind;
    if (!entry)
        PDM_TRY(refuse(b, PDM_D_EXEC_OP, instr->op, "the stack is not known here"));
    instr->stack = entry ? (uint32_t)(entry->value.num - 1) : 0;
    PDM_TRY(operands(b, instr, 1));
    return results(b, instr);
}

static pdm_status copy_op(builder *b, pdm_exec_instr *instr, uint32_t to)
{
    uint32_t *out = take(b, 1, sizeof *out);

    if (!out)
        return PDM_NOMEM;
    instr->kind = PDM_EXEC_COPY;
    PDM_TRY(operands(b, instr, 0));
    *out = to;
    instr->out = out;
    instr->num_out = 1;
    return PDM_OK;
}

static pdm_status output(builder *b, pdm_exec_instr *instr, const char *name_key)
{
    const pdm_ir_op *op = instr->op;
    const pdm_ir_value *value = pdm_ir_op_operand_value(op, 0);
    pdm_ir_attr col = pdm_ir_op_attr(op, "col");
    pdm_exec_port port = {.name = text_attr(op, name_key),
                          .type = value ? value->type : NULL,
                          .value = value,
                          .column = col && col->kind == PDM_IR_ATTR_I32 ? col->u.i
                                                                        : (int64_t)b->outputs.n};

    if (value && value->type && value->type->kind == PDM_IR_VECTOR)
        return refuse(b, PDM_D_EXEC_OP, op, "a vector cannot be an output");
    PDM_TRY(new_slot(b, NULL, &port.slot));
    if (op->num_results > 0)
        PDM_TRY(bind(b, pdm_ir_op_result(op, 0), port.slot));
    if (!PDM_VEC_PUSH(&b->outputs, port))
        return PDM_NOMEM;
    return copy_op(b, instr, port.slot);
}

static pdm_status set_parameter(builder *b, pdm_exec_instr *instr)
{
    const char *name = text_attr(instr->op, "parameter_name");

    for (size_t i = 0; i < b->prms.n; i++) {
        if (!strcmp(b->prms.v[i].name, name)) {
            instr->deep = true;
            return copy_op(b, instr, b->prms.v[i].slot);
        }
    }
    /* Written and never read: nothing to do. */
    return copy_op(b, instr, PDM_EXEC_NONE);
}

/* What to do with an op; *out_done: it needs no instruction. */
static pdm_status plan_op(builder *b, pdm_exec_instr *instr, bool *out_done)
{
    const pdm_ir_op *op = instr->op;
    static const struct {
        const char *name;
        pdm_status (*fn)(builder *b, const pdm_ir_op *op);
    } no_instr[] = {
        {"builtin.combine", combine},      {"builtin.slice", slice}, {"builtin.split", split},
        {"builtin.parameter", parameter},  {"pd_op.data", input},    {"pd_op.feed", input},
        {"cf.stack_create", stack_create},
    };

    for (size_t i = 0; i < sizeof no_instr / sizeof *no_instr; i++) {
        if (pdm_ir_op_is(op, no_instr[i].name)) {
            *out_done = true;
            return no_instr[i].fn(b, op);
        }
    }
    *out_done = false;
    if (pdm_ir_op_is(op, "pd_op.if"))
        return region_op(b, instr, false);
    if (pdm_ir_op_is(op, "pd_op.while"))
        return region_op(b, instr, true);
    if (pdm_cinn_is_group(op))
        return group_op(b, instr);
    if (pdm_ir_op_is(op, "cf.tuple_push"))
        return stack_op(b, instr, PDM_EXEC_PUSH);
    if (pdm_ir_op_is(op, "cf.tuple_pop"))
        return stack_op(b, instr, PDM_EXEC_POP);
    if (pdm_ir_op_is(op, "cf.has_elements"))
        return stack_op(b, instr, PDM_EXEC_HAS_ELEMENTS);
    if (pdm_ir_op_is(op, "pd_op.fetch"))
        return output(b, instr, "name");
    if (pdm_ir_op_is(op, "builtin.shadow_output"))
        return output(b, instr, "output_name");
    if (pdm_ir_op_is(op, "builtin.set_parameter"))
        return set_parameter(b, instr);
    if (op->num_regions > 0)
        return refuse(b, PDM_D_EXEC_KERNEL, op, "an op with regions that cannot be run");
    return kernel(b, instr);
}

static pdm_status yields(builder *b, const pdm_ir_op *op, pdm_exec_block *block)
{
    uint32_t *slots = take(b, op->num_operands, sizeof *slots);

    if (!slots)
        return PDM_NOMEM;
    block->yields = slots;
    block->num_yields = op->num_operands;
    for (uint32_t i = 0; i < op->num_operands; i++)
        slots[i] = slot_of(b, pdm_ir_op_operand_value(op, i));
    return PDM_OK;
}

static pdm_status fill_block(builder *b, const pdm_ir_block *block, pdm_exec_block *out)
{
    size_t room = 0, n = 0;

    for (const pdm_ir_op *op = block->first; op; op = op->next)
        room++;
    pdm_exec_instr *instrs = take(b, room, sizeof *instrs);
    uint32_t *args = take(b, block->num_args, sizeof *args);
    if (!instrs || !args)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < block->num_args; i++)
        PDM_TRY(own_slot(b, pdm_ir_block_arg(block, i), out, &args[i]));
    out->args = args;
    out->num_args = block->num_args;
    out->instrs = instrs;
    for (const pdm_ir_op *op = block->first; op; op = op->next) {
        bool done;
        if (pdm_ir_op_is(op, "cf.yield")) {
            PDM_TRY(yields(b, op, out));
            break;
        }
        instrs[n].op = op;
        PDM_TRY(plan_op(b, &instrs[n], &done));
        if (!done)
            n++;
    }
    out->num_instrs = n;
    return PDM_OK;
}

static pdm_status build_block(builder *b, const pdm_ir_block *block, pdm_exec_block **out)
{
    pdm_exec_block *made = take(b, 1, sizeof *made), *outer = b->current;

    if (!made)
        return PDM_NOMEM;
    *out = made;
    b->current = made;
    const pdm_status status = block ? fill_block(b, block, made) : PDM_OK;
    b->current = outer;
    return status;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static pdm_status read_param(builder *b, pdm_param_reader *reader, pdm_exec_param *param)
{
    const pdm_param *p = b->params ? pdm_params_find(b->params, param->name) : NULL;
    pdm_loc loc = PDM_NOWHERE;

    if (p && p->kind != PDM_PARAM_VOCAB)
        return pdm_param_read(reader, p, b->sink, &param->tensor);
    loc.var = param->name;
    b->worst = pdm_diag(b->sink, PDM_D_PARAM_MISSING, &loc, NULL,
                        "parameter '%s' has no data, which are needed to run", param->name);
    return PDM_OK;
}

static pdm_status read_params(builder *b)
{
    pdm_status status = PDM_OK;
    pdm_param_reader reader;

    pdm_param_reader_init(&reader);
    for (size_t i = 0; status == PDM_OK && i < b->plan->num_params; i++)
        status = read_param(b, &reader, &b->plan->params[i]);
    pdm_param_reader_deinit(&reader);
    return status;
}

/* ---- ops without a kernel -------------------------------------------------------------------- */

static pdm_status tell_missing(void *user, pdm_ir_op *op, const pdm_ir_place *place)
{
    builder *b = user;

    if (!pdm_map_find(&b->missing, op->info))
        return PDM_OK;
    const char *reason = pdm_no_kernel_reason(pdm_ir_op_name(op));
    pdm_loc loc = place_of(op);
    if (loc.op_index < 0) {
        loc.block = place->block;
        loc.op_index = place->op_index;
    }
    b->worst = pdm_diag(b->sink, PDM_D_EXEC_KERNEL, &loc, NULL, "the op cannot be run: %s%s",
                        reason ? "there is no kernel for it, since " : "there is no kernel for it",
                        reason ? reason : "");
    return PDM_OK;
}

/* All of them at once, where the program has them. */
static pdm_status tell_all_missing(builder *b)
{
    return b->missing.count > 0 ? pdm_ir_visit(b->plan->module, b->sink, tell_missing, b) : PDM_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_column(const void *a, const void *b)
{
    const pdm_exec_port *x = a, *y = b;

    return (x->column > y->column) - (x->column < y->column);
}

/* The vectors become the plan's. */
static void hand_over(builder *b)
{
    pdm_exec_plan *plan = b->plan;

    plan->num_slots = (uint32_t)b->owners.n;
    plan->lists = b->lists.v;
    plan->num_lists = b->lists.n;
    plan->inputs = b->inputs.v;
    plan->num_inputs = b->inputs.n;
    plan->outputs = b->outputs.v;
    plan->num_outputs = b->outputs.n;
    plan->params = b->prms.v;
    plan->num_params = b->prms.n;
    plan->params_capacity = b->prms.cap;
    if (plan->num_outputs > 1)
        qsort(plan->outputs, plan->num_outputs, sizeof *plan->outputs, by_column);
}

static pdm_status index_lists(builder *b)
{
    pdm_exec_plan *plan = b->plan;
    uint32_t *list_of_slot = take(b, plan->num_slots, sizeof *list_of_slot);

    if (!list_of_slot)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < plan->num_slots; i++)
        list_of_slot[i] = PDM_EXEC_NONE;
    for (uint32_t i = 0; i < plan->num_lists; i++)
        list_of_slot[plan->lists[i].slot] = i;
    plan->list_of = list_of_slot;
    return PDM_OK;
}

static uint32_t num_elements(const pdm_exec_plan *plan, uint32_t slot)
{
    const uint32_t list = slot == PDM_EXEC_NONE ? PDM_EXEC_NONE : plan->list_of[slot];

    return list == PDM_EXEC_NONE ? 0 : plan->lists[list].count;
}

/* Numbers that tell where the session keeps what belongs to an instruction. */
static void number_instrs(pdm_exec_plan *plan, pdm_exec_block *block)
{
    for (size_t i = 0; i < block->num_instrs; i++) {
        pdm_exec_instr *instr = &block->instrs[i];
        plan->num_instrs++;
        instr->first_in = plan->total_in;
        instr->first_out = plan->total_out;
        instr->first_result = plan->num_results;
        instr->first_scratch = plan->total_scratch;
        plan->total_in += instr->num_in;
        plan->total_out += instr->num_out;
        plan->num_results += instr->num_out;
        for (uint32_t k = 0; k < instr->num_out; k++)
            plan->num_results += num_elements(plan, instr->out[k]);
        plan->total_scratch += instr->in_place ? instr->num_out : 0;
        for (int k = 0; k < 2 && instr->blocks[k]; k++)
            number_instrs(plan, instr->blocks[k]);
    }
}

/* The results that become outputs as they are: a session can make them where the caller wants them.
 */
static pdm_status match_outputs(builder *b)
{
    pdm_exec_plan *plan = b->plan;
    uint32_t *output_of = take(b, plan->num_results, sizeof *output_of);
    uint32_t *output_at = take(b, plan->num_slots, sizeof *output_at);

    if (!output_of || !output_at)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < plan->num_results; i++)
        output_of[i] = PDM_EXEC_NONE;
    for (uint32_t i = 0; i < plan->num_slots; i++)
        output_at[i] = PDM_EXEC_NONE;
    for (uint32_t i = 0; i < plan->num_outputs; i++)
        output_at[plan->outputs[i].slot] = i;
    /* From outputs to what is copied there, then to what makes that. */
    for (size_t i = plan->top->num_instrs; i-- > 0;) {
        const pdm_exec_instr *instr = &plan->top->instrs[i];
        if (instr->kind == PDM_EXEC_COPY && instr->num_in > 0 && instr->in[0] != PDM_EXEC_NONE &&
            instr->out[0] != PDM_EXEC_NONE && !instr->deep)
            output_at[instr->in[0]] = output_at[instr->out[0]];
        for (uint32_t k = 0; instr->kind == PDM_EXEC_KERNEL && k < instr->num_out; k++) {
            if (instr->out[k] != PDM_EXEC_NONE && !(instr->in_place && instr->in_place[k]))
                output_of[instr->first_result + k] = output_at[instr->out[k]];
        }
    }
    plan->output_of = output_of;
    return PDM_OK;
}

/* Inputs whose shapes are open may come in ever new sizes; groups are compiled for sizes that are foreseen. */
static pdm_status prepare_sizes(pdm_exec_plan *plan)
{
    bool open = plan->groups.n > 0;

    for (size_t i = 0; i < plan->num_inputs; i++) {
        const pdm_ir_type type = plan->inputs[i].type;
        for (uint32_t d = 0; type && pdm_ir_type_is_tensor(type) && d < type->rank; d++)
            open |= type->dims[d] < 0;
    }
    plan->sizes = open ? pdm_exec_sizes_create(plan) : NULL;
    return open && !plan->sizes ? PDM_NOMEM : PDM_OK;
}

static pdm_status finish(builder *b, const pdm_exec_plan_options *options)
{
    PDM_TRY(index_lists(b));
    PDM_TRY(read_params(b));
    if (b->worst != PDM_OK)
        return b->worst;
    if (!options || !options->keep_all)
        PDM_TRY(pdm_exec_plan_fold(b->plan, b->owners.v));
    number_instrs(b->plan, b->plan->top);
    PDM_TRY(match_outputs(b));
    PDM_TRY(prepare_sizes(b->plan));
    return pdm_exec_plan_order(b->plan, b->owners.v);
}

/* Whether groups can be compiled; why not is told, and the program run without. */
static void find_backend(builder *b, const char *name)
{
    const char *reason;

    b->backend = pdm_cinn_backend_find(name, &reason);
    if (!b->backend && !strcmp(name, "cuda")) {
        pdm_diag(b->sink, PDM_D_COMPILE_NOTE, NULL, NULL,
                 "everything is computed by the processor: %s", reason);
        name = "llvm";
        b->backend = pdm_cinn_backend_find(name, &reason);
    }
    b->plan->device = b->backend ? b->backend->device : NULL;
    b->plan->device_backend = b->plan->device ? b->backend : NULL;
    if (!b->backend)
        pdm_diag(b->sink, PDM_D_COMPILE_NOTE, NULL, NULL, "nothing is compiled (%s): %s", name,
                 reason);
}

/* The program that is run in place of the given one, if that is another. */
static pdm_status prepare(builder *b, const pdm_exec_plan_options *options)
{
    if (!options || options->keep_all)
        return PDM_OK;
    if (options->compile)
        find_backend(b, options->compile);
    if (!b->fast && !b->backend)
        return PDM_OK;
    const pdm_exec_lower_options how = {.fast = b->fast,
                                        .group = b->backend != NULL,
                                        .single = options->compile_single};
    return pdm_exec_lower(b->plan->module, &how, &b->plan->lowered);
}

pdm_status pdm_exec_plan_create(const pdm_ir_module *module, const pdm_params *params,
                                const pdm_exec_plan_options *options, pdm_diag_sink *sink,
                                pdm_exec_plan **out_plan)
{
    builder b = {.sink = sink, .params = params, .worst = PDM_OK, .fast = options && options->fast};
    pdm_status status;

    b.plan = calloc(1, sizeof *b.plan);
    if (!b.plan)
        return PDM_NOMEM;
    pdm_arena_init(&b.plan->arena);
    b.plan->module = module;
    status = prepare(&b, options);
    if (status == PDM_OK)
        status = build_block(&b, (b.plan->lowered ? b.plan->lowered : module)->block, &b.plan->top);
    hand_over(&b);
    if (status == PDM_OK)
        status = tell_all_missing(&b);
    if (status == PDM_OK)
        status = b.worst;
    if (status == PDM_OK)
        status = finish(&b, options);
    pdm_map_deinit(&b.slots);
    pdm_map_deinit(&b.stacks);
    pdm_map_deinit(&b.missing);
    PDM_VEC_FREE(&b.owners);
    if (status != PDM_OK) {
        pdm_exec_plan_destroy(b.plan);
        return status;
    }
    *out_plan = b.plan;
    return PDM_OK;
}

void pdm_exec_plan_destroy(pdm_exec_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->num_params; i++)
        pdm_tensor_deinit(&plan->params[i].tensor);
    for (size_t i = 0; i < plan->groups.n; i++)
        pdm_exec_group_destroy(plan->groups.v[i]);
    PDM_VEC_FREE(&plan->groups);
    free(plan->params);
    free(plan->lists);
    free(plan->inputs);
    free(plan->outputs);
    pdm_exec_sizes_destroy(plan->sizes);
    pdm_ir_module_destroy(plan->lowered);
    pdm_arena_deinit(&plan->arena);
    free(plan);
}

pdm_exec_compile_stats pdm_exec_get_compile_stats(const pdm_exec_plan *plan)
{
    pdm_exec_compile_stats stats = {0};

    for (size_t i = 0; i < plan->groups.n; i++)
        pdm_exec_group_count(plan->groups.v[i], &stats);
    return stats;
}

const pdm_ir_value *pdm_exec_output_value(const pdm_exec_plan *plan, size_t index)
{
    return plan->outputs[index].value;
}

size_t pdm_exec_num_inputs(const pdm_exec_plan *plan)
{
    return plan->num_inputs;
}

size_t pdm_exec_num_outputs(const pdm_exec_plan *plan)
{
    return plan->num_outputs;
}

const char *pdm_exec_input_name(const pdm_exec_plan *plan, size_t index)
{
    return plan->inputs[index].name;
}

const char *pdm_exec_output_name(const pdm_exec_plan *plan, size_t index)
{
    return plan->outputs[index].name;
}

pdm_ir_type pdm_exec_input_type(const pdm_exec_plan *plan, size_t index)
{
    return plan->inputs[index].type;
}

pdm_ir_type pdm_exec_output_type(const pdm_exec_plan *plan, size_t index)
{
    return plan->outputs[index].type;
}
