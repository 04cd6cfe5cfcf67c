/* Types of a whole module from its inputs and parameters, op after op. */
#include <stdlib.h>

#include "base/arena.h"
#include "ir/infer_impl.h"

#define MAX_DEPTH  256
#define MAX_ROUNDS 4 /* of a loop body until its types no longer change */

typedef struct run {
    pdm_ir_context *context;
    pdm_arena arena; /* of one op */
    int depth;
} run;

static pdm_status infer_region(run *r, pdm_ir_region *region);

static void *scratch(run *r, size_t count, size_t size)
{
    return pdm_arena_calloc(&r->arena, count ? count : 1, size);
}

/* The new type of a value of unknown dtype is the old one. */
static pdm_status vector_type(run *r, pdm_ir_value *value, const pdm_ir_meta *meta)
{
    pdm_ir_type old = value->type;
    pdm_ir_type *elements = scratch(r, old->num_elements, sizeof *elements);
    if (!elements)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < old->num_elements; i++) {
        elements[i] = old->elements[i];
        if (!elements[i] || i >= meta->num_elements || meta->elements[i].dtype == PDM_UNDEFINED)
            continue;
        elements[i] = pdm_ir_meta_to_type(r->context, &meta->elements[i]);
        if (!elements[i])
            return PDM_NOMEM;
    }
    pdm_ir_type type = pdm_ir_type_vector(r->context, elements, old->num_elements);
    if (!type)
        return PDM_NOMEM;
    value->type = type;
    return PDM_OK;
}

static pdm_status set_type(run *r, pdm_ir_value *value, const pdm_ir_meta *meta)
{
    if (!value->type)
        return PDM_OK; /* absent stays absent */
    if (value->type->kind == PDM_IR_VECTOR)
        return vector_type(r, value, meta);
    if (meta->dtype == PDM_UNDEFINED ||
        (value->type->kind != PDM_IR_DENSE_TENSOR && value->type->kind != PDM_IR_TENSOR_ARRAY))
        return PDM_OK;
    pdm_ir_type type = pdm_ir_meta_to_type(r->context, meta);
    if (!type)
        return PDM_NOMEM;
    value->type = type;
    return PDM_OK;
}

pdm_status pdm_ir_infer_op(pdm_arena *arena, const pdm_ir_op *op, struct pdm_ir_shapes *shapes,
                           pdm_ir_meta **out_metas)
{
    pdm_ir_meta *metas = pdm_arena_calloc(arena, op->num_results, sizeof *metas);
    pdm_ir_value **operands = pdm_arena_calloc(arena, op->num_operands, sizeof *operands);
    pdm_ir_region **regions = pdm_arena_calloc(arena, op->num_regions, sizeof *regions);
    if (!metas || !operands || !regions)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < op->num_operands; i++)
        operands[i] = pdm_ir_op_operand_value(op, i);
    for (uint32_t i = 0; i < op->num_regions; i++)
        regions[i] = pdm_ir_op_region(op, i);
    for (uint32_t i = 0; i < op->num_results; i++) {
        pdm_ir_type type = pdm_ir_op_result(op, i)->type;
        if (!type || type->kind != PDM_IR_VECTOR)
            continue;
        metas[i].num_elements = type->num_elements;
        metas[i].elements = pdm_arena_calloc(arena, type->num_elements, sizeof *metas);
        if (!metas[i].elements)
            return PDM_NOMEM;
    }
    pdm_ir_op_state state = {.info = op->info,
                             .operands = operands,
                             .num_operands = op->num_operands,
                             .num_results = op->num_results,
                             .attrs = op->attrs,
                             .num_attrs = op->num_attrs,
                             .regions = regions,
                             .num_regions = op->num_regions};
    pdm_ir_infer in = {.context = op->info->context,
                       .state = &state,
                       .results = metas,
                       .num_results = op->num_results,
                       .shapes = shapes};
    PDM_TRY(pdm_ir_infer_run(&in));
    *out_metas = metas;
    return PDM_OK;
}

static pdm_status infer_op(run *r, pdm_ir_op *op)
{
    pdm_ir_meta *metas;

    PDM_TRY(pdm_ir_infer_op(&r->arena, op, NULL, &metas));
    for (uint32_t i = 0; i < op->num_results; i++)
        PDM_TRY(set_type(r, pdm_ir_op_result(op, i), &metas[i]));
    return PDM_OK;
}

/* The loop's values: what goes in and what the body hands on, merged. */
static pdm_status infer_while(run *r, pdm_ir_op *op)
{
    pdm_ir_region *body = pdm_ir_op_region(op, 0);
    pdm_ir_block *block = body ? body->first : NULL;
    if (!block || block->num_args + 1 != op->num_operands)
        return body ? infer_region(r, body) : PDM_OK;
    for (uint32_t i = 0; i < block->num_args; i++) {
        pdm_ir_value *value = pdm_ir_op_operand_value(op, i + 1);
        if (value && value->type)
            pdm_ir_block_arg(block, i)->type = value->type;
    }
    for (int round = 0; round < MAX_ROUNDS; round++) {
        bool changed = false;
        PDM_TRY(infer_region(r, body));
        pdm_arena_reset(&r->arena);
        PDM_TRY(infer_op(r, op));
        for (uint32_t i = 0; i < block->num_args && i < op->num_results; i++) {
            pdm_ir_value *arg = pdm_ir_block_arg(block, i);
            pdm_ir_type merged = pdm_ir_op_result(op, i)->type;
            changed |= merged && arg->type != merged;
            if (merged)
                arg->type = merged;
        }
        if (!changed)
            break;
    }
    return PDM_OK;
}

static pdm_status infer_block(run *r, pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->first; op; op = op->next) {
        pdm_arena_reset(&r->arena);
        if (PDM_IR_IS(op, pd_op, while)) {
            PDM_TRY(infer_while(r, op));
            continue;
        }
        for (uint32_t i = 0; i < op->num_regions; i++)
            if (pdm_ir_op_region(op, i))
                PDM_TRY(infer_region(r, pdm_ir_op_region(op, i)));
        pdm_arena_reset(&r->arena);
        if (!PDM_IR_IS(op, builtin, parameter))
            PDM_TRY(infer_op(r, op));
    }
    return PDM_OK;
}

static pdm_status infer_region(run *r, pdm_ir_region *region)
{
    if (r->depth >= MAX_DEPTH)
        return PDM_OK;
    r->depth++;
    pdm_status status = PDM_OK;
    for (pdm_ir_block *block = region->first; block && status == PDM_OK; block = block->next)
        status = infer_block(r, block);
    r->depth--;
    return status;
}

pdm_status pdm_ir_infer_module(pdm_ir_module *module)
{
    run r = {.context = module->context};
    pdm_arena_init(&r.arena);
    pdm_status status = infer_block(&r, module->block);
    pdm_arena_deinit(&r.arena);
    return status;
}
