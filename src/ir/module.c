/* Modules: creation, walks, clone. Without recursion except for the walk with places, whose depth
 * is limited. */
#include "ir/ir_t.h"
#include "ir/pir_json.h"

#include <stdlib.h>

/* ---- create, destroy ------------------------------------------------------------------------- */

static pdm_status wrap_module(pdm_ir_context *context, pdm_ir_op *op, pdm_ir_module **out_module)
{
    pdm_ir_module *module = calloc(1, sizeof *module);

    if (!module)
        return PDM_NOMEM;
    *module = (pdm_ir_module){.context = context,
                              .op = op,
                              .block = pdm_ir_op_region(op, 0)->first,
                              .version = 4,
                              .trainable = true};
    *out_module = module;
    return PDM_OK;
}

pdm_status pdm_ir_module_create(pdm_ir_context *context, pdm_ir_module **out_module)
{
    pdm_ir_region *region = pdm_ir_region_create_with_block();

    if (!region)
        return PDM_NOMEM;
    pdm_ir_op *op = pdm_ir_op_create(
        context,
        &(pdm_ir_op_state){.info = &context->module_info, .regions = &region, .num_regions = 1});
    if (!op) {
        pdm_ir_region_destroy(region);
        return PDM_NOMEM;
    }
    const pdm_status status = wrap_module(context, op, out_module);
    if (status != PDM_OK)
        pdm_ir_op_erase(op);
    return status;
}

void pdm_ir_module_destroy(pdm_ir_module *module)
{
    if (!module)
        return;
    pdm_ir_op_erase(module->op);
    free(module);
}

/* ---- walk ------------------------------------------------------------------------------------ */

/* The first op in this block or those after it in the region. */
static pdm_ir_op *first_from_block(const pdm_ir_block *block)
{
    while (block && !block->first)
        block = block->next;
    return block ? block->first : NULL;
}

/* The first op in region number i of op or those after it. */
static pdm_ir_op *first_from_region(const pdm_ir_op *op, uint32_t i)
{
    pdm_ir_op *first = NULL;

    for (; i < op->num_regions && !first; i++)
        first = first_from_block(pdm_ir_op_region(op, i)->first);
    return first;
}

/* The op after this one below the same owner: in its block, a later block, or a later region. */
static pdm_ir_op *sibling(const pdm_ir_op *op)
{
    if (op->next)
        return op->next;
    pdm_ir_op *next = first_from_block(op->block->next);
    if (next)
        return next;
    const pdm_ir_region *region = op->block->region;
    return region && region->owner ? first_from_region(region->owner, region->index + 1) : NULL;
}

static pdm_ir_op *next_in_pre_order(const pdm_ir_op *op, const pdm_ir_op *root)
{
    pdm_ir_op *next = first_from_region(op, 0);

    while (!next && op != root) {
        next = sibling(op);
        op = pdm_ir_op_parent(op);
    }
    return next;
}

static pdm_ir_op *innermost_first(pdm_ir_op *op)
{
    for (pdm_ir_op *inner = op; inner; inner = first_from_region(op, 0))
        op = inner;
    return op;
}

static pdm_ir_op *next_in_post_order(const pdm_ir_op *op, const pdm_ir_op *root)
{
    if (op == root)
        return NULL;
    pdm_ir_op *next = sibling(op);
    return next ? innermost_first(next) : pdm_ir_op_parent(op);
}

pdm_status pdm_ir_walk(pdm_ir_op *op, pdm_ir_walk_order order,
                       pdm_status (*fn)(void *user, pdm_ir_op *op), void *user)
{
    const pdm_ir_op *const root = op;

    if (order == PDM_IR_PRE_ORDER) {
        for (pdm_ir_op *at = op; at; at = next_in_pre_order(at, root))
            PDM_TRY(fn(user, at));
        return PDM_OK;
    }
    for (pdm_ir_op *next, *at = innermost_first(op); at; at = next) {
        next = next_in_post_order(at, root); /* before fn may erase it */
        PDM_TRY(fn(user, at));
    }
    return PDM_OK;
}

typedef struct visitor {
    pdm_ir_visit_fn fn;
    void *user;
    pdm_diag_sink *sink;
    int32_t num_blocks;
    bool too_deep;
} visitor;

static pdm_status visit_block(visitor *v, const pdm_ir_block *block, unsigned depth);

static pdm_status visit_regions(visitor *v, const pdm_ir_op *op, const pdm_ir_place *place)
{
    if (op->num_regions == 0 || v->too_deep)
        return PDM_OK;
    if (place->depth == PDM_IR_MAX_REGION_DEPTH) {
        pdm_loc loc = PDM_NOWHERE;
        loc.block = place->block;
        loc.op_index = place->op_index;
        loc.op_type = pdm_ir_op_name(op);
        v->too_deep = true;
        (void)pdm_diag(v->sink, PDM_D_LIMIT, &loc, NULL,
                       "Ops with regions are nested deeper than %d.", PDM_IR_MAX_REGION_DEPTH);
        return PDM_OK;
    }
    for (uint32_t i = 0; i < op->num_regions; i++) {
        for (const pdm_ir_block *block = pdm_ir_op_region(op, i)->first; block; block = block->next)
            PDM_TRY(visit_block(v, block, place->depth + 1));
    }
    return PDM_OK;
}

static pdm_status visit_block(visitor *v, const pdm_ir_block *block, unsigned depth)
{
    pdm_ir_place place = {.block = v->num_blocks++, .depth = depth};

    for (pdm_ir_op *op = block->first; op; op = op->next, place.op_index++) {
        PDM_TRY(v->fn(v->user, op, &place));
        PDM_TRY(visit_regions(v, op, &place));
    }
    return PDM_OK;
}

pdm_status pdm_ir_visit(const pdm_ir_module *module, pdm_diag_sink *sink, pdm_ir_visit_fn fn,
                        void *user)
{
    visitor v = {.fn = fn, .user = user, .sink = sink};

    PDM_TRY(visit_block(&v, module->block, 0));
    return v.too_deep ? PDM_INVALID_MODEL : PDM_OK;
}

/* ---- clone ----------------------------------------------------------------------------------- */

typedef struct cloner {
    pdm_ir_context *context;
    pdm_map *values; /* old value -> new value */
    pdm_map blocks;  /* old block -> new block */
    pdm_ir_op *copy; /* the copy of the root */
} cloner;

static bool enter(pdm_map *map, const void *from, void *to)
{
    pdm_map_entry *entry = pdm_map_put(map, from);

    if (!entry)
        return false;
    entry->value.ptr = to;
    return true;
}

static bool clone_args(cloner *c, const pdm_ir_block *from, pdm_ir_block *to)
{
    for (uint32_t i = 0; i < from->num_args; i++) {
        const pdm_ir_value *arg = pdm_ir_block_arg(from, i);
        pdm_ir_value *copy = pdm_ir_block_add_arg(to, arg->type);
        if (!copy || !enter(c->values, arg, copy))
            return false;
    }
    return true;
}

/* The region with its blocks and their arguments, without ops. */
static pdm_ir_region *clone_region_shell(cloner *c, const pdm_ir_region *from)
{
    pdm_ir_region *region = pdm_ir_region_create();

    for (const pdm_ir_block *block = from->first; region && block; block = block->next) {
        pdm_ir_block *copy = pdm_ir_block_create();
        if (copy)
            pdm_ir_region_append(region, copy);
        if (!copy || !enter(&c->blocks, block, copy) || !clone_args(c, block, copy)) {
            pdm_ir_region_destroy(region);
            return NULL;
        }
    }
    return region;
}

static bool clone_region_shells(cloner *c, const pdm_ir_op *op, pdm_ir_region **regions)
{
    for (uint32_t i = 0; i < op->num_regions; i++) {
        regions[i] = clone_region_shell(c, pdm_ir_op_region(op, i));
        if (!regions[i])
            return false;
    }
    return true;
}

static pdm_ir_value *mapped(const cloner *c, pdm_ir_value *value)
{
    const pdm_map_entry *entry = value ? pdm_map_find(c->values, value) : NULL;

    return entry ? entry->value.ptr : value;
}

/* The op alone, its regions without ops. Gathers operands, types and regions in one scratch block.
 */
static pdm_ir_op *clone_shell(cloner *c, const pdm_ir_op *op)
{
    const size_t n = (size_t)op->num_operands + op->num_results + op->num_regions;
    void **scratch = calloc(n ? n : 1, sizeof *scratch);
    pdm_ir_op *copy = NULL;

    if (!scratch)
        return NULL;
    pdm_ir_value **operands = (pdm_ir_value **)scratch;
    pdm_ir_type *types = (pdm_ir_type *)(scratch + op->num_operands);
    pdm_ir_region **regions = (pdm_ir_region **)(scratch + op->num_operands + op->num_results);
    for (uint32_t i = 0; i < op->num_operands; i++)
        operands[i] = mapped(c, pdm_ir_op_operand_value(op, i));
    for (uint32_t i = 0; i < op->num_results; i++)
        types[i] = pdm_ir_op_result(op, i)->type;
    if (clone_region_shells(c, op, regions))
        copy =
            pdm_ir_op_create(c->context, &(pdm_ir_op_state){.info = op->info,
                                                            .operands = operands,
                                                            .num_operands = op->num_operands,
                                                            .result_types = types,
                                                            .num_results = op->num_results,
                                                            .attrs = op->attrs,
                                                            .num_attrs = op->num_attrs,
                                                            .attrs_form = PDM_IR_ATTRS_DICTIONARY,
                                                            .regions = regions,
                                                            .num_regions = op->num_regions});
    for (uint32_t i = 0; !copy && i < op->num_regions; i++)
        pdm_ir_region_destroy(regions[i]);
    free(scratch);
    return copy;
}

static pdm_status clone_one(void *user, pdm_ir_op *op)
{
    cloner *c = user;
    pdm_ir_op *copy = clone_shell(c, op);

    if (!copy)
        return PDM_NOMEM;
    copy->lg_block = op->lg_block;
    copy->lg_op = op->lg_op;
    const pdm_map_entry *block = c->copy ? pdm_map_find(&c->blocks, op->block) : NULL;
    if (block)
        pdm_ir_block_append(block->value.ptr, copy);
    else
        c->copy = copy;
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (!enter(c->values, pdm_ir_op_result(op, i), pdm_ir_op_result(copy, i)))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

/* Operands that stood before their definition (only broken programs have them) still name the old
 * value. */
static pdm_status remap_operands(void *user, pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        pdm_ir_value *old = pdm_ir_op_operand_value(op, i), *value = mapped(user, old);
        if (value != old)
            pdm_ir_use_set(pdm_ir_op_operand(op, i), value);
    }
    return PDM_OK;
}

pdm_ir_op *pdm_ir_op_clone(pdm_ir_context *context, const pdm_ir_op *op, pdm_map *map)
{
    cloner c = {.context = context, .values = map};
    pdm_status status = pdm_ir_walk((pdm_ir_op *)op, PDM_IR_PRE_ORDER, clone_one, &c);

    if (status == PDM_OK && op->num_regions > 0)
        status = pdm_ir_walk(c.copy, PDM_IR_PRE_ORDER, remap_operands, &c);
    if (status != PDM_OK && c.copy) {
        pdm_ir_op_erase(c.copy);
        c.copy = NULL;
    }
    pdm_map_deinit(&c.blocks);
    return c.copy;
}

pdm_status pdm_ir_module_clone(const pdm_ir_module *module, pdm_ir_module **out_module)
{
    pdm_map values = {0};
    pdm_ir_op *op = pdm_ir_op_clone(module->context, module->op, &values);
    pdm_ir_module *copy = NULL;

    pdm_map_deinit(&values);
    if (!op)
        return PDM_NOMEM;
    const pdm_status status = wrap_module(module->context, op, &copy);
    if (status != PDM_OK) {
        pdm_ir_op_erase(op);
        return status;
    }
    copy->version = module->version;
    copy->trainable = module->trainable;
    *out_module = copy;
    return PDM_OK;
}
