/*
 * Values, uses and ops. An op is one allocation; results stand before it, the nearest is number 0:
 *
 *   [result n-1 ... result 6 | result 5 ... result 0 | op | operand 0 ... | region 0 ...]
 *    pdm_ir_ool_result         pdm_ir_value
 *
 * so that value -> op and op -> value are additions.
 */
#include "ir/ir_t.h"

#include <stdlib.h>
#include <string.h>

/* ---- layout ---------------------------------------------------------------------------------- */

/* Bytes before the op, rounded so that the op is aligned. */
static size_t prefix_size(size_t num_results)
{
    const size_t near = num_results < PDM_IR_INLINE_RESULTS ? num_results : PDM_IR_INLINE_RESULTS;
    const size_t size =
        near * sizeof(pdm_ir_value) + (num_results - near) * sizeof(pdm_ir_ool_result);

    return (size + 7) & ~(size_t)7;
}

pdm_ir_value *pdm_ir_op_result(const pdm_ir_op *op, size_t index)
{
    pdm_ir_value *const near = (pdm_ir_value *)op;

    if (index < PDM_IR_INLINE_RESULTS)
        return near - (index + 1);
    pdm_ir_ool_result *const far = (pdm_ir_ool_result *)(near - PDM_IR_INLINE_RESULTS);
    return &(far - (index - PDM_IR_INLINE_RESULTS + 1))->value;
}

pdm_ir_op *pdm_ir_value_op(const pdm_ir_value *value)
{
    const unsigned tag = pdm_ir_value_tag(value);

    if (tag == PDM_IR_TAG_ARG)
        return NULL;
    if (tag < PDM_IR_INLINE_RESULTS)
        return (pdm_ir_op *)(value + tag + 1);
    const pdm_ir_ool_result *far = (const pdm_ir_ool_result *)value;
    far += far->index - PDM_IR_INLINE_RESULTS + 1;
    return (pdm_ir_op *)((const pdm_ir_value *)far + PDM_IR_INLINE_RESULTS);
}

uint32_t pdm_ir_value_index(const pdm_ir_value *value)
{
    const unsigned tag = pdm_ir_value_tag(value);

    if (tag == PDM_IR_TAG_ARG)
        return ((const pdm_ir_block_arg_t *)value)->index;
    if (tag == PDM_IR_TAG_OOL)
        return ((const pdm_ir_ool_result *)value)->index;
    return tag;
}

pdm_ir_block *pdm_ir_value_arg_block(const pdm_ir_value *value)
{
    return pdm_ir_value_tag(value) == PDM_IR_TAG_ARG ? ((const pdm_ir_block_arg_t *)value)->block
                                                     : NULL;
}

pdm_ir_block *pdm_ir_value_block(const pdm_ir_value *value)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);

    return op ? op->block : pdm_ir_value_arg_block(value);
}

/* ---- uses ------------------------------------------------------------------------------------ */

pdm_ir_use *pdm_ir_value_first_use(const pdm_ir_value *value)
{
    return (pdm_ir_use *)(value->uses & ~(uintptr_t)PDM_IR_TAG_MASK);
}

bool pdm_ir_value_has_uses(const pdm_ir_value *value)
{
    return pdm_ir_value_first_use(value) != NULL;
}

size_t pdm_ir_value_num_uses(const pdm_ir_value *value)
{
    size_t n = 0;

    for (const pdm_ir_use *use = pdm_ir_value_first_use(value); use; use = use->next)
        n++;
    return n;
}

static void set_first_use(pdm_ir_value *value, pdm_ir_use *use)
{
    value->uses = (uintptr_t)use | (value->uses & PDM_IR_TAG_MASK);
    if (use)
        use->back = &value->uses;
}

static void link_use(pdm_ir_use *use, pdm_ir_value *value)
{
    use->value = value;
    use->next = NULL;
    use->back = NULL;
    if (!value)
        return;
    use->next = pdm_ir_value_first_use(value);
    if (use->next)
        use->next->back = (uintptr_t *)&use->next;
    set_first_use(value, use);
}

/* The back address is that of the value's tagged word or of a `next`; which one it is tells how to
 * write there. */
static void unlink_use(pdm_ir_use *use)
{
    if (!use->value)
        return;
    if (use->back == &use->value->uses) {
        set_first_use(use->value, use->next);
    } else {
        pdm_ir_use *prev = (pdm_ir_use *)((char *)use->back - offsetof(pdm_ir_use, next));
        prev->next = use->next;
        if (use->next)
            use->next->back = use->back;
    }
    use->value = NULL;
    use->next = NULL;
    use->back = NULL;
}

void pdm_ir_use_set(pdm_ir_use *use, pdm_ir_value *value)
{
    unlink_use(use);
    link_use(use, value);
}

uint32_t pdm_ir_use_index(const pdm_ir_use *use)
{
    return (uint32_t)(use - pdm_ir_op_operands(use->owner));
}

void pdm_ir_value_drop_uses(pdm_ir_value *value)
{
    while (pdm_ir_value_has_uses(value))
        unlink_use(pdm_ir_value_first_use(value));
}

void pdm_ir_value_replace_all_uses(pdm_ir_value *value, pdm_ir_value *with)
{
    pdm_ir_use *const first = pdm_ir_value_first_use(value);

    if (value == with || !first)
        return;
    if (!with) {
        pdm_ir_value_drop_uses(value);
        return;
    }
    pdm_ir_use *last = first;
    for (pdm_ir_use *use = first; use; use = use->next) {
        use->value = with;
        last = use;
    }
    last->next = pdm_ir_value_first_use(with);
    if (last->next)
        last->next->back = (uintptr_t *)&last->next;
    set_first_use(with, first);
    set_first_use(value, NULL);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Index of name in the sorted dictionary, or where it belongs. */
static uint32_t attr_slot(const pdm_ir_op *op, const char *name, bool *out_found)
{
    uint32_t low = 0, high = op->num_attrs;

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        const int order = strcmp(op->attrs[mid].name, name);
        if (order == 0) {
            *out_found = true;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *out_found = false;
    return low;
}

pdm_ir_attr pdm_ir_op_attr(const pdm_ir_op *op, const char *name)
{
    bool found;
    const uint32_t at = attr_slot(op, name, &found);

    return found ? op->attrs[at].attr : NULL;
}

/* Where the row writes an attribute; attributes that it does not declare come after those. */
static uint32_t row_position(const pdm_ir_op_desc *desc, const char *name, uint32_t given)
{
    if (!desc)
        return given;
    const pdm_ir_attr_desc *declared = pdm_ir_op_desc_attr(desc, name);
    return declared ? (uint32_t)(declared - desc->attrs) : desc->num_attrs + given;
}

bool pdm_ir_op_set_attr(pdm_ir_context *context, pdm_ir_op *op, const char *name, pdm_ir_attr attr)
{
    bool found;
    const uint32_t at = attr_slot(op, name, &found);
    uint32_t position = 0;

    if (found) {
        op->attrs[at].attr = attr;
        return true;
    }
    const char *interned = pdm_ir_str(context, name);
    if (!interned || op->num_attrs == UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (op->attrs[i].position >= position)
            position = op->attrs[i].position + 1;
    }
    if (op->info->desc && pdm_ir_op_desc_attr(op->info->desc, name))
        position = row_position(op->info->desc, name, 0);
    else if (op->info->desc && position < op->info->desc->num_attrs)
        position = op->info->desc->num_attrs;
    pdm_ir_named_attr *grown = realloc(op->attrs, ((size_t)op->num_attrs + 1) * sizeof *grown);
    if (!grown)
        return false;
    memmove(grown + at + 1, grown + at, (op->num_attrs - at) * sizeof *grown);
    grown[at] = (pdm_ir_named_attr){interned, attr, position};
    op->attrs = grown;
    op->num_attrs++;
    return true;
}

void pdm_ir_op_remove_attr(pdm_ir_op *op, const char *name)
{
    bool found;
    const uint32_t at = attr_slot(op, name, &found);

    if (!found)
        return;
    op->num_attrs--;
    memmove(op->attrs + at, op->attrs + at + 1, (op->num_attrs - at) * sizeof *op->attrs);
    if (op->num_attrs == 0) {
        free(op->attrs);
        op->attrs = NULL;
    }
}

static int compare_attrs(const void *a, const void *b)
{
    const pdm_ir_named_attr *x = a, *y = b;
    const int order = strcmp(x->name, y->name);

    return order ? order : (x->position > y->position) - (x->position < y->position);
}

static void sort_attrs(pdm_ir_named_attr *attrs, size_t n)
{
    if (n > 16) {
        qsort(attrs, n, sizeof *attrs, compare_attrs);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        const pdm_ir_named_attr moving = attrs[i];
        size_t j = i;
        for (; j > 0 && compare_attrs(&attrs[j - 1], &moving) > 0; j--)
            attrs[j] = attrs[j - 1];
        attrs[j] = moving;
    }
}

/* The sorted dictionary of a new op; of two entries with one name the later stays. */
static bool make_attrs(pdm_ir_context *context, const pdm_ir_op_state *state,
                       pdm_ir_named_attr **out_attrs, uint32_t *out_count)
{
    *out_attrs = NULL;
    *out_count = 0;
    if (state->num_attrs == 0)
        return true;
    pdm_ir_named_attr *attrs =
        state->num_attrs < UINT32_MAX ? calloc(state->num_attrs, sizeof *attrs) : NULL;
    if (!attrs)
        return false;
    for (size_t i = 0; i < state->num_attrs; i++) {
        const char *name = pdm_ir_str(context, state->attrs[i].name);
        if (!name) {
            free(attrs);
            return false;
        }
        attrs[i] = (pdm_ir_named_attr){name, state->attrs[i].attr, (uint32_t)i};
    }
    sort_attrs(attrs, state->num_attrs);
    uint32_t n = 0;
    for (size_t i = 0; i < state->num_attrs; i++) {
        if (i + 1 < state->num_attrs && attrs[i].name == attrs[i + 1].name)
            continue;
        attrs[n] = attrs[i];
        attrs[n].position = row_position(state->info->desc, attrs[i].name,
                                         state->attrs[attrs[i].position].position);
        n++;
    }
    *out_attrs = attrs;
    *out_count = n;
    return true;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static bool counts_fit(const pdm_ir_op_state *state)
{
    const size_t limit = SIZE_MAX / 128 < UINT32_MAX ? SIZE_MAX / 128 : UINT32_MAX - 8;

    return state->num_operands < limit && state->num_results < limit && state->num_regions < limit;
}

static void init_results(pdm_ir_op *op, const pdm_ir_type *types)
{
    for (uint32_t i = 0; i < op->num_results; i++) {
        pdm_ir_value *result = pdm_ir_op_result(op, i);
        result->type = types[i];
        result->uses = i < PDM_IR_INLINE_RESULTS ? i : PDM_IR_TAG_OOL;
        if (i >= PDM_IR_INLINE_RESULTS)
            ((pdm_ir_ool_result *)result)->index = i;
    }
}

pdm_ir_op *pdm_ir_op_create(pdm_ir_context *context, const pdm_ir_op_state *state)
{
    pdm_ir_named_attr *attrs;
    uint32_t num_attrs;

    if (!counts_fit(state) || !make_attrs(context, state, &attrs, &num_attrs))
        return NULL;
    const size_t prefix = prefix_size(state->num_results);
    char *base = malloc(prefix + sizeof(pdm_ir_op) + state->num_operands * sizeof(pdm_ir_use) +
                        state->num_regions * sizeof(pdm_ir_region *));
    if (!base) {
        free(attrs);
        return NULL;
    }
    pdm_ir_op *op = (pdm_ir_op *)(base + prefix);
    *op = (pdm_ir_op){.info = state->info,
                      .attrs = attrs,
                      .num_attrs = num_attrs,
                      .num_operands = (uint32_t)state->num_operands,
                      .num_results = (uint32_t)state->num_results,
                      .num_regions = (uint32_t)state->num_regions,
                      .lg_block = -1,
                      .lg_op = -1};
    init_results(op, state->result_types);
    for (uint32_t i = 0; i < op->num_operands; i++) {
        pdm_ir_use *use = &pdm_ir_op_operands(op)[i];
        use->owner = op;
        link_use(use, state->operands[i]);
    }
    for (uint32_t i = 0; i < op->num_regions; i++) {
        pdm_ir_op_regions(op)[i] = state->regions[i];
        state->regions[i]->owner = op;
        state->regions[i]->index = i;
    }
    return op;
}

void pdm_ir_op_free(pdm_ir_op *op)
{
    free(op->attrs);
    free((char *)op - prefix_size(op->num_results));
}

void pdm_ir_op_drop_operands(pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++)
        unlink_use(&pdm_ir_op_operands(op)[i]);
}

void pdm_ir_op_erase(pdm_ir_op *op)
{
    pdm_ir_op_detach(op);
    pdm_ir_ops_destroy(op);
}

pdm_ir_use *pdm_ir_op_operand(const pdm_ir_op *op, size_t index)
{
    return &pdm_ir_op_operands(op)[index];
}

pdm_ir_value *pdm_ir_op_operand_value(const pdm_ir_op *op, size_t index)
{
    return pdm_ir_op_operands(op)[index].value;
}

pdm_ir_region *pdm_ir_op_region(const pdm_ir_op *op, size_t index)
{
    return pdm_ir_op_regions(op)[index];
}

const char *pdm_ir_op_name(const pdm_ir_op *op)
{
    return op->info->name;
}

bool pdm_ir_op_is(const pdm_ir_op *op, const char *name)
{
    return !strcmp(op->info->name, name);
}

pdm_ir_op *pdm_ir_op_parent(const pdm_ir_op *op)
{
    return op->block ? pdm_ir_block_parent_op(op->block) : NULL;
}
