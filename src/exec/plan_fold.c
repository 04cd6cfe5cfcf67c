/*
 * Constants: ops whose operands are known when the plan is made are computed then, at any depth,
 * and their instructions go. A value that something writes afterwards (an op in place, a loop whose
 * condition it is, the program itself when it is a parameter) is no constant, whatever made it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "exec/constants.h"
#include "exec/plan.h"

/* What constants may take: beyond it, only what is not much larger than what it is made of. */
enum { SMALL_ENOUGH = 1 << 24, GROWTH = 8 };

typedef struct folder {
    pdm_exec_plan *plan;
    pdm_exec_block **owners;
    pdm_value *values; /* by slot */
    bool *known;       /* by slot: the value is there and stays */
    bool *written;     /* by slot: not only by the op that makes it */
    bool *needed;      /* by slot: somebody still reads it */
} folder;

static void mark(const pdm_exec_plan *plan, bool *flags, uint32_t slot)
{
    if (slot == PDM_EXEC_NONE)
        return;
    flags[slot] = true;
    const uint32_t index = plan->list_of[slot];
    for (uint32_t i = 0; index != PDM_EXEC_NONE && i < plan->lists[index].count; i++)
        mark(plan, flags, plan->lists[index].elements[i]);
}

/* ---- what may be folded ---------------------------------------------------------------------- */

static void note_writes(folder *f, const pdm_exec_block *block)
{
    for (size_t i = 0; i < block->num_instrs; i++) {
        const pdm_exec_instr *instr = &block->instrs[i];
        for (uint32_t k = 0; k < instr->num_out; k++) {
            if (instr->kind == PDM_EXEC_COPY || (instr->in_place && instr->in_place[k]))
                mark(f->plan, f->written, instr->out[k]);
        }
        if (instr->kind == PDM_EXEC_WHILE && instr->num_in > 0)
            mark(f->plan, f->written, instr->in[0]);
        for (int b = 0; b < 2 && instr->blocks[b]; b++)
            note_writes(f, instr->blocks[b]);
    }
}

static bool is_known(const folder *f, uint32_t slot)
{
    if (slot == PDM_EXEC_NONE)
        return true;
    const uint32_t index = f->plan->list_of[slot];
    if (index == PDM_EXEC_NONE)
        return f->known[slot];
    for (uint32_t i = 0; i < f->plan->lists[index].count; i++) {
        if (!is_known(f, f->plan->lists[index].elements[i]))
            return false;
    }
    return true;
}

static bool any_written(const folder *f, uint32_t slot)
{
    if (slot == PDM_EXEC_NONE)
        return false;
    const uint32_t index = f->plan->list_of[slot];
    if (f->written[slot])
        return true;
    for (uint32_t i = 0; index != PDM_EXEC_NONE && i < f->plan->lists[index].count; i++) {
        if (any_written(f, f->plan->lists[index].elements[i]))
            return true;
    }
    return false;
}

/* Results that would be large are not even tried when they come from nothing. */
static bool is_large(pdm_ir_type type)
{
    uint64_t count, bytes = 0;

    if (!type || type->kind != PDM_IR_DENSE_TENSOR)
        return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0)
            return false;
    }
    return !pdm_count_elements(type->dims, type->rank, &count) ||
           !pdm_mul_u64(count, pdm_dtype_size(type->dtype), &bytes) || bytes > SMALL_ENOUGH;
}

static bool is_candidate(const folder *f, const pdm_exec_instr *instr)
{
    const pdm_ir_op_desc *desc = instr->op->info->desc;

    if (instr->kind != PDM_EXEC_KERNEL || instr->random || !instr->fn || !desc ||
        !(desc->flags & PDM_IR_PURE) || instr->in_place || instr->num_out == 0)
        return false;
    for (uint32_t i = 0; i < instr->num_in; i++) {
        if (!is_known(f, instr->in[i]))
            return false;
    }
    for (uint32_t i = 0; i < instr->num_out; i++) {
        if (any_written(f, instr->out[i]))
            return false;
        if (instr->num_in == 0 && is_large(pdm_ir_op_result(instr->op, i)->type))
            return false;
    }
    return true;
}

/* ---- folding --------------------------------------------------------------------------------- */

static pdm_value *at(folder *f, uint32_t slot)
{
    return slot == PDM_EXEC_NONE ? NULL : &f->values[slot];
}

static size_t bytes_in(const pdm_value *value)
{
    size_t bytes = 0;

    if (!value)
        return 0;
    if (value->kind == PDM_VALUE_TENSOR)
        return pdm_tensor_bytes(&value->tensor);
    for (size_t i = 0; value->kind == PDM_VALUE_LIST && i < value->list.count; i++)
        bytes += bytes_in(value->list.items[i]);
    return bytes;
}

/* Whether value is a tensor, or a list of nothing but tensors. */
static bool is_complete(const pdm_value *value)
{
    if (!value)
        return true;
    for (size_t i = 0; value->kind == PDM_VALUE_LIST && i < value->list.count; i++) {
        if (!is_complete(value->list.items[i]))
            return false;
    }
    return value->kind == PDM_VALUE_LIST ||
           (value->kind == PDM_VALUE_TENSOR && value->tensor.dtype != PDM_UNDEFINED);
}

static void drop(pdm_value *value)
{
    if (!value)
        return;
    if (value->kind != PDM_VALUE_LIST) {
        pdm_value_deinit(value);
        return;
    }
    for (size_t i = 0; i < value->list.count; i++)
        drop(value->list.items[i]);
}

/* Compute; false when that cannot be done now or is not worth keeping. */
static pdm_status compute(folder *f, const pdm_exec_instr *instr, bool *out_done)
{
    pdm_value **in = calloc((size_t)instr->num_in + 1, sizeof *in);
    pdm_value **out = calloc((size_t)instr->num_out + 1, sizeof *out);
    size_t taken = 0, made = 0;
    pdm_status status = PDM_NOMEM;

    *out_done = false;
    if (in && out) {
        for (uint32_t i = 0; i < instr->num_in; i++)
            taken += bytes_in(in[i] = at(f, instr->in[i]));
        for (uint32_t i = 0; i < instr->num_out; i++)
            out[i] = at(f, instr->out[i]);
        status = pdm_exec_compute(
            instr->op, instr->fn, instr->reference,
            &(pdm_exec_operands){in, instr->num_in, out, instr->num_out});
        bool complete = status == PDM_OK;
        for (uint32_t i = 0; i < instr->num_out; i++) {
            made += bytes_in(out[i]);
            complete = complete && is_complete(out[i]);
        }
        *out_done = complete && (made <= SMALL_ENOUGH || made / GROWTH <= taken);
        for (uint32_t i = 0; !*out_done && i < instr->num_out; i++)
            drop(out[i]);
        /* What fails now may never be reached in a run. */
        if (status != PDM_NOMEM)
            status = PDM_OK;
    }
    free(in);
    free(out);
    return status;
}

static pdm_status keep(folder *f, uint32_t slot)
{
    pdm_exec_plan *plan = f->plan;

    if (slot == PDM_EXEC_NONE)
        return PDM_OK;
    const uint32_t index = plan->list_of[slot];
    f->known[slot] = true;
    f->owners[slot] = NULL;
    for (uint32_t i = 0; index != PDM_EXEC_NONE && i < plan->lists[index].count; i++)
        PDM_TRY(keep(f, plan->lists[index].elements[i]));
    if (index != PDM_EXEC_NONE)
        return PDM_OK;
    if (plan->num_params == plan->params_capacity) {
        const size_t capacity = 2 * plan->params_capacity + 16;
        pdm_exec_param *params = realloc(plan->params, capacity * sizeof *params);
        if (!params)
            return PDM_NOMEM;
        plan->params = params;
        plan->params_capacity = capacity;
    }
    pdm_exec_param *param = &plan->params[plan->num_params++];
    *param = (pdm_exec_param){.slot = slot};
    pdm_tensor_ref(&param->tensor, &f->values[slot].tensor);
    return PDM_OK;
}

static pdm_status fold_block(folder *f, pdm_exec_block *block)
{
    size_t n = 0;

    for (size_t i = 0; i < block->num_instrs; i++) {
        pdm_exec_instr *instr = &block->instrs[i];
        bool done = false;
        if (is_candidate(f, instr))
            PDM_TRY(compute(f, instr, &done));
        for (uint32_t k = 0; done && k < instr->num_out; k++)
            PDM_TRY(keep(f, instr->out[k]));
        for (int b = 0; b < 2 && instr->blocks[b]; b++)
            PDM_TRY(fold_block(f, instr->blocks[b]));
        if (!done)
            block->instrs[n++] = *instr;
    }
    block->num_instrs = n;
    return PDM_OK;
}

/* ---- what is left over ----------------------------------------------------------------------- */

static void note_needs(folder *f, const pdm_exec_block *block)
{
    for (uint32_t i = 0; i < block->num_yields; i++)
        mark(f->plan, f->needed, block->yields[i]);
    for (size_t i = 0; i < block->num_instrs; i++) {
        const pdm_exec_instr *instr = &block->instrs[i];
        for (uint32_t k = 0; k < instr->num_in; k++)
            mark(f->plan, f->needed, instr->in[k]);
        for (uint32_t k = 0; k < instr->num_out; k++)
            mark(f->plan, f->needed, instr->out[k]);
        for (int b = 0; b < 2 && instr->blocks[b]; b++)
            note_needs(f, instr->blocks[b]);
    }
}

/* Parameters and constants that only went into other constants. */
static void drop_unneeded(folder *f)
{
    pdm_exec_plan *plan = f->plan;
    size_t n = 0;

    note_needs(f, plan->top);
    for (size_t i = 0; i < plan->num_params; i++) {
        if (f->needed[plan->params[i].slot])
            plan->params[n++] = plan->params[i];
        else
            pdm_tensor_deinit(&plan->params[i].tensor);
    }
    plan->num_params = n;
}

static pdm_status begin(folder *f)
{
    const pdm_exec_plan *plan = f->plan;

    for (size_t i = 0; i < plan->num_lists; i++) {
        pdm_value *value = &f->values[plan->lists[i].slot];
        value->kind = PDM_VALUE_LIST;
        value->list.count = plan->lists[i].count;
        value->list.items = calloc((size_t)plan->lists[i].count + 1, sizeof *value->list.items);
        if (!value->list.items)
            return PDM_NOMEM;
        for (uint32_t k = 0; k < plan->lists[i].count; k++)
            value->list.items[k] = at(f, plan->lists[i].elements[k]);
    }
    note_writes(f, plan->top);
    for (size_t i = 0; i < plan->num_params; i++) {
        const uint32_t slot = plan->params[i].slot;
        f->values[slot].kind = PDM_VALUE_TENSOR;
        pdm_tensor_ref(&f->values[slot].tensor, &plan->params[i].tensor);
        f->known[slot] = !f->written[slot];
    }
    return PDM_OK;
}

pdm_status pdm_exec_plan_fold(pdm_exec_plan *plan, pdm_exec_block **owners)
{
    const size_t room = (size_t)plan->num_slots + 1;
    folder f = {.plan = plan,
                .owners = owners,
                .values = calloc(room, sizeof *f.values),
                .known = calloc(room, sizeof *f.known),
                .written = calloc(room, sizeof *f.written),
                .needed = calloc(room, sizeof *f.needed)};
    pdm_status status = PDM_NOMEM;

    if (f.values && f.known && f.written && f.needed)
        status = begin(&f);
    if (status == PDM_OK)
        status = fold_block(&f, plan->top);
    if (status == PDM_OK)
        drop_unneeded(&f);
    for (size_t i = 0; f.values && i < room; i++)
        pdm_value_deinit(&f.values[i]);
    free(f.values);
    free(f.known);
    free(f.written);
    free(f.needed);
    return status;
}
