/* Blocks and regions: their lists, block arguments, order numbers, and destruction without
 * recursion. */
#include "ir/ir_t.h"

#include <stdlib.h>
#include <string.h>

/* Gap left between the order numbers of neighbours, for ops that are put in between later. */
enum { ORDER_STRIDE = 64 };

/* ---- order numbers --------------------------------------------------------------------------- */

/* Number an op just linked if there is room between its neighbours; else the block is numbered anew
 * when asked. */
static void number_op(pdm_ir_op *op)
{
    pdm_ir_block *block = op->block;

    if (!block->order_valid)
        return;
    const uint64_t low = op->prev ? op->prev->order : 0;
    const uint64_t high = op->next ? op->next->order : low + 2 * ORDER_STRIDE;
    const uint64_t order = low + (high - low) / 2;
    if (order > low && order < high && order <= UINT32_MAX)
        op->order = (uint32_t)order;
    else
        block->order_valid = false;
}

static void number_block(pdm_ir_block *block)
{
    uint64_t n = 1, stride = ORDER_STRIDE;

    for (const pdm_ir_op *op = block->first; op; op = op->next)
        n++;
    if (n * stride > UINT32_MAX)
        stride = n < UINT32_MAX ? UINT32_MAX / n : 1;
    uint64_t order = 0;
    for (pdm_ir_op *op = block->first; op; op = op->next)
        op->order = (uint32_t)(order += stride);
    block->order_valid = true;
}

bool pdm_ir_op_is_before(pdm_ir_op *a, pdm_ir_op *b)
{
    if (!a->block->order_valid)
        number_block(a->block);
    return a->order < b->order;
}

/* ---- ops in blocks --------------------------------------------------------------------------- */

void pdm_ir_op_detach(pdm_ir_op *op)
{
    pdm_ir_block *block = op->block;

    if (!block)
        return;
    *(op->prev ? &op->prev->next : &block->first) = op->next;
    *(op->next ? &op->next->prev : &block->last) = op->prev;
    op->prev = op->next = NULL;
    op->block = NULL;
}

/* Link a detached op between two neighbours of block, either of which may be absent. */
static void link_op(pdm_ir_op *op, pdm_ir_block *block, pdm_ir_op *prev, pdm_ir_op *next)
{
    op->block = block;
    op->prev = prev;
    op->next = next;
    *(prev ? &prev->next : &block->first) = op;
    *(next ? &next->prev : &block->last) = op;
    number_op(op);
}

void pdm_ir_op_insert_before(pdm_ir_op *op, pdm_ir_op *where)
{
    if (op == where)
        return;
    pdm_ir_op_detach(op);
    link_op(op, where->block, where->prev, where);
}

void pdm_ir_op_insert_after(pdm_ir_op *op, pdm_ir_op *where)
{
    if (op == where)
        return;
    pdm_ir_op_detach(op);
    link_op(op, where->block, where, where->next);
}

void pdm_ir_block_append(pdm_ir_block *block, pdm_ir_op *op)
{
    pdm_ir_op_detach(op);
    link_op(op, block, block->last, NULL);
}

void pdm_ir_block_prepend(pdm_ir_block *block, pdm_ir_op *op)
{
    pdm_ir_op_detach(op);
    link_op(op, block, NULL, block->first);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

pdm_ir_block *pdm_ir_block_create(void)
{
    pdm_ir_block *block = calloc(1, sizeof *block);

    if (block)
        block->order_valid = true;
    return block;
}

/* Room for one more argument: the array doubles whenever its count is a power of two. */
static bool reserve_arg(pdm_ir_block *block)
{
    const uint32_t n = block->num_args;

    if (n == UINT32_MAX)
        return false;
    if (n & (n - 1))
        return true;
    void *grown = realloc(block->args, (n ? (size_t)n * 2 : 1) * sizeof *block->args);
    if (!grown)
        return false;
    block->args = grown;
    return true;
}

pdm_ir_value *pdm_ir_block_add_arg(pdm_ir_block *block, pdm_ir_type type)
{
    pdm_ir_block_arg_t *arg = malloc(sizeof *arg);

    if (!arg || !reserve_arg(block)) {
        free(arg);
        return NULL;
    }
    *arg = (pdm_ir_block_arg_t){.value = {type, PDM_IR_TAG_ARG}};
    arg->block = block;
    arg->index = block->num_args;
    block->args[block->num_args++] = arg;
    return &arg->value;
}

pdm_ir_value *pdm_ir_block_arg(const pdm_ir_block *block, size_t index)
{
    return &block->args[index]->value;
}

void pdm_ir_block_remove_arg(pdm_ir_block *block, size_t index)
{
    pdm_ir_value_drop_uses(&block->args[index]->value);
    free(block->args[index]);
    block->num_args--;
    for (size_t i = index; i < block->num_args; i++) {
        block->args[i] = block->args[i + 1];
        block->args[i]->index = (uint32_t)i;
    }
}

pdm_ir_op *pdm_ir_block_parent_op(const pdm_ir_block *block)
{
    return block->region ? block->region->owner : NULL;
}

/* ---- regions --------------------------------------------------------------------------------- */

pdm_ir_region *pdm_ir_region_create(void)
{
    return calloc(1, sizeof(pdm_ir_region));
}

void pdm_ir_region_append(pdm_ir_region *region, pdm_ir_block *block)
{
    block->region = region;
    block->prev = region->last;
    block->next = NULL;
    *(region->last ? &region->last->next : &region->first) = block;
    region->last = block;
}

pdm_ir_region *pdm_ir_region_create_with_block(void)
{
    pdm_ir_region *region = pdm_ir_region_create();
    pdm_ir_block *block = region ? pdm_ir_block_create() : NULL;

    if (!block) {
        free(region);
        return NULL;
    }
    pdm_ir_region_append(region, block);
    return region;
}

/* ---- destruction ----------------------------------------------------------------------------- */

/* A list of ops linked by `next`. */
typedef struct op_list {
    pdm_ir_op *first, *last;
} op_list;

static void push_all(op_list *list, pdm_ir_op *first, pdm_ir_op *last)
{
    if (!first)
        return;
    *(list->last ? &list->last->next : &list->first) = first;
    list->last = last;
}

/* Move the ops of a block to the list; the block is left empty. */
static void take_ops(op_list *list, pdm_ir_block *block)
{
    push_all(list, block->first, block->last);
    block->first = block->last = NULL;
}

static void take_nested_ops(op_list *list, pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_regions; i++) {
        const pdm_ir_region *region = pdm_ir_op_region(op, i);
        for (pdm_ir_block *block = region->first; block; block = block->next)
            take_ops(list, block);
    }
}

static void free_block(pdm_ir_block *block)
{
    for (uint32_t i = 0; i < block->num_args; i++) {
        pdm_ir_value_drop_uses(&block->args[i]->value);
        free(block->args[i]);
    }
    free(block->args);
    free(block);
}

static void free_region(pdm_ir_region *region)
{
    pdm_ir_block *next;

    for (pdm_ir_block *block = region->first; block; block = next) {
        next = block->next;
        free_block(block);
    }
    free(region);
}

static void free_op(pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_results; i++)
        pdm_ir_value_drop_uses(pdm_ir_op_result(op, i));
    for (uint32_t i = 0; i < op->num_regions; i++)
        free_region(pdm_ir_op_region(op, i));
    pdm_ir_op_free(op);
}

/* The list grows at its end while it is read: nested ops come after their owners, and all are
 * unlinked before any is freed. */
static void destroy_list(op_list *list)
{
    for (pdm_ir_op *op = list->first; op; op = op->next) {
        pdm_ir_op_drop_operands(op);
        take_nested_ops(list, op);
    }
    pdm_ir_op *next;
    for (pdm_ir_op *op = list->first; op; op = next) {
        next = op->next;
        free_op(op);
    }
}

void pdm_ir_ops_destroy(pdm_ir_op *first)
{
    op_list list = {first, first};

    while (list.last && list.last->next)
        list.last = list.last->next;
    destroy_list(&list);
}

void pdm_ir_region_destroy(pdm_ir_region *region)
{
    op_list list = {NULL, NULL};

    if (!region)
        return;
    for (pdm_ir_block *block = region->first; block; block = block->next)
        take_ops(&list, block);
    destroy_list(&list);
    free_region(region);
}

void pdm_ir_block_destroy(pdm_ir_block *block)
{
    op_list list = {NULL, NULL};

    if (!block)
        return;
    take_ops(&list, block);
    destroy_list(&list);
    free_block(block);
}
