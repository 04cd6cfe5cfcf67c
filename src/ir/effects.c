#include "ir/effects.h"

bool pdm_ir_is_pure(const pdm_ir_op *op)
{
    const pdm_ir_op_desc *desc = op->info->desc;

    return desc && desc->flags == PDM_IR_PURE && op->num_regions == 0;
}

static bool is_harmless(const pdm_ir_op *op, unsigned depth)
{
    enum { MAX_DEPTH = 64 };

    if (op->num_regions == 0)
        return pdm_ir_is_pure(op) || PDM_IR_IS(op, builtin, parameter);
    if (depth > MAX_DEPTH || !op->info->desc || op->info->desc->flags != PDM_IR_REGION)
        return false;
    for (uint32_t i = 0; i < op->num_regions; i++) {
        for (pdm_ir_block *block = pdm_ir_op_region(op, i)->first; block; block = block->next) {
            for (pdm_ir_op *inner = block->first; inner; inner = inner->next) {
                const bool end = PDM_IR_IS(inner, cf, yield);
                if (!end && !is_harmless(inner, depth + 1))
                    return false;
            }
        }
    }
    return true;
}

bool pdm_ir_is_removable(const pdm_ir_op *op)
{
    return op->num_results > 0 && is_harmless(op, 0);
}

bool pdm_ir_commutes(const pdm_ir_op *op)
{
    switch (op->info->code) {
    case PDM_IR_OP_pd_op_add:
    case PDM_IR_OP_pd_op_multiply:
    case PDM_IR_OP_pd_op_maximum:
    case PDM_IR_OP_pd_op_minimum:
    case PDM_IR_OP_pd_op_equal:
    case PDM_IR_OP_pd_op_not_equal:
    case PDM_IR_OP_pd_op_logical_and:
    case PDM_IR_OP_pd_op_logical_or:
    case PDM_IR_OP_pd_op_logical_xor:
    case PDM_IR_OP_pd_op_bitwise_and:
    case PDM_IR_OP_pd_op_bitwise_or:
    case PDM_IR_OP_pd_op_bitwise_xor:
        return true;
    default:
        return false;
    }
}

bool pdm_ir_is_unused(const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return false;
    }
    return true;
}

/* ---- sets of values that may be one piece of memory ------------------------------------------ */

typedef struct finder {
    pdm_ir_writes *w;
    pdm_status status;
} finder;

static size_t root_of(const pdm_ir_writes *w, size_t at)
{
    while (w->sets.v[at].parent != at)
        at = w->sets.v[at].parent;
    return at;
}

/* The set of a value, made when it has none; SIZE_MAX: out of memory. */
static size_t set_of(pdm_ir_writes *w, const pdm_ir_value *value)
{
    pdm_map_entry *entry = pdm_map_put(&w->index, value);

    if (!entry)
        return SIZE_MAX;
    if (entry->value.num == 0) {
        const struct pdm_ir_write_set made = {.parent = w->sets.n};
        if (!PDM_VEC_PUSH(&w->sets, made))
            return SIZE_MAX;
        entry->value.num = w->sets.n;
    }
    return root_of(w, (size_t)entry->value.num - 1);
}

static void mark(finder *f, const pdm_ir_value *value, bool in_place)
{
    const size_t set = value ? set_of(f->w, value) : 0;

    if (set == SIZE_MAX) {
        f->status = PDM_NOMEM;
    } else if (value) {
        f->w->sets.v[set].written = true;
        f->w->sets.v[set].in_place = f->w->sets.v[set].in_place || in_place;
    }
}

static void join(finder *f, const pdm_ir_value *a, const pdm_ir_value *b)
{
    if (!a || !b)
        return;
    const size_t x = set_of(f->w, a), y = x == SIZE_MAX ? x : set_of(f->w, b);
    if (y == SIZE_MAX) {
        f->status = PDM_NOMEM;
    } else if (x != y) {
        f->w->sets.v[x].parent = y;
        f->w->sets.v[y].written = f->w->sets.v[y].written || f->w->sets.v[x].written;
        f->w->sets.v[y].in_place = f->w->sets.v[y].in_place || f->w->sets.v[x].in_place;
    }
}

static const pdm_ir_value *operand_or_null(const pdm_ir_op *op, size_t index)
{
    return index < op->num_operands ? pdm_ir_op_operand_value(op, index) : NULL;
}

/* What goes through a region op: operands, arguments, yields and results that are one variable. */
static void pass_through(finder *f, const pdm_ir_op *op)
{
    const bool loop = PDM_IR_IS(op, pd_op, while);

    for (uint32_t i = 0; loop && i < op->num_operands; i++)
        mark(f, pdm_ir_op_operand_value(op, i), false);
    for (uint32_t r = 0; r < op->num_regions; r++) {
        const pdm_ir_block *block = pdm_ir_op_region(op, r)->first;
        const pdm_ir_op *yield = block ? block->last : NULL;
        for (uint32_t i = 0; yield && i < op->num_results; i++)
            join(f, pdm_ir_op_result(op, i), operand_or_null(yield, loop ? i + 1 : i));
        for (uint32_t i = 0; loop && block && i < block->num_args; i++) {
            join(f, pdm_ir_block_arg(block, i), operand_or_null(op, (size_t)i + 1));
            if (i < op->num_results)
                join(f, pdm_ir_block_arg(block, i), pdm_ir_op_result(op, i));
        }
    }
}

static void in_place(finder *f, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const int r = pdm_ir_op_info_inplace(op->info, i);
        if (r < 0 || (uint32_t)r >= op->num_results)
            continue;
        mark(f, pdm_ir_op_operand_value(op, i), true);
        mark(f, pdm_ir_op_result(op, (size_t)r), true);
    }
}

static void set_parameter(finder *f, const pdm_ir_op *op)
{
    const pdm_ir_attr name = pdm_ir_op_attr(op, "parameter_name");
    const char *text = name && name->kind == PDM_IR_ATTR_STR
                           ? pdm_ir_str(op->info->context, name->u.s.text)
                           : NULL;

    if (!text || !pdm_map_put(&f->w->names, text))
        f->status = PDM_NOMEM;
}

static pdm_status look_at(void *user, pdm_ir_op *op)
{
    finder *f = user;

    if (op->info->desc && op->info->desc->flags & PDM_IR_INPLACE)
        in_place(f, op);
    else if (PDM_IR_IS(op, builtin, set_parameter))
        set_parameter(f, op);
    else if (op->num_regions > 0 && op->block)
        pass_through(f, op);
    return f->status;
}

pdm_status pdm_ir_writes_find(pdm_ir_writes *writes, const pdm_ir_module *module)
{
    finder f = {.w = writes, .status = PDM_OK};

    *writes = (pdm_ir_writes){0};
    return pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, look_at, &f);
}

void pdm_ir_writes_deinit(pdm_ir_writes *writes)
{
    pdm_map_deinit(&writes->index);
    pdm_map_deinit(&writes->names);
    PDM_VEC_FREE(&writes->sets);
    *writes = (pdm_ir_writes){0};
}

static bool is_set(const pdm_ir_writes *writes, const pdm_ir_value *value)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);

    if (writes->names.count == 0 || !op || !PDM_IR_IS(op, builtin, parameter))
        return false;
    const pdm_ir_attr name = pdm_ir_op_attr(op, "parameter_name");
    const char *text = name && name->kind == PDM_IR_ATTR_STR
                           ? pdm_ir_str(op->info->context, name->u.s.text)
                           : NULL;
    return !text || pdm_map_find(&writes->names, text) != NULL;
}

bool pdm_ir_is_written(const pdm_ir_writes *writes, const pdm_ir_value *value)
{
    const pdm_map_entry *entry = pdm_map_find(&writes->index, value);

    return (entry && writes->sets.v[root_of(writes, (size_t)entry->value.num - 1)].written) ||
           is_set(writes, value);
}

bool pdm_ir_is_written_in_place(const pdm_ir_writes *writes, const pdm_ir_value *value)
{
    const pdm_map_entry *entry = pdm_map_find(&writes->index, value);

    return (entry && writes->sets.v[root_of(writes, (size_t)entry->value.num - 1)].in_place) ||
           is_set(writes, value);
}

bool pdm_ir_writes_move(pdm_ir_writes *writes, const pdm_ir_value *from, const pdm_ir_value *to)
{
    const pdm_map_entry *entry = pdm_map_find(&writes->index, from);

    if (!entry)
        return true;
    const uint64_t set = entry->value.num;
    pdm_map_entry *made = pdm_map_put(&writes->index, to);
    if (made)
        made->value.num = set;
    return made != NULL;
}

static pdm_status forget(void *user, pdm_ir_op *op)
{
    pdm_ir_writes *writes = user;

    for (uint32_t i = 0; i < op->num_results; i++)
        pdm_map_remove(&writes->index, pdm_ir_op_result(op, i));
    for (uint32_t r = 0; r < op->num_regions; r++) {
        for (pdm_ir_block *b = pdm_ir_op_region(op, r)->first; b; b = b->next) {
            for (uint32_t i = 0; i < b->num_args; i++)
                pdm_map_remove(&writes->index, pdm_ir_block_arg(b, i));
        }
    }
    return PDM_OK;
}

void pdm_ir_writes_forget(pdm_ir_writes *writes, const pdm_ir_op *op)
{
    /* The walk changes nothing. */
    (void)!pdm_ir_walk((pdm_ir_op *)(uintptr_t)op, PDM_IR_PRE_ORDER, forget, writes);
}
