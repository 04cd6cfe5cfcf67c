/*
 * Values, uses and ops. An op is one allocation; results stand before it, the nearest is number 0:
 *
 *   [result n-1 ... result 6 | result 5 ... result 0 | op | operand 0 ... | region 0 ... |
 * attribute 0 ...] pdm_ir_ool_result         pdm_ir_value
 *
 * so that value -> op and op -> value are additions.
 */
#include "ir/ir_t.h"

#include <stdlib.h>
#include <string.h>

/* Ops are created with room for so many more attributes: stop_gradient and persistable come last.
 */
enum { SPARE_ATTRS = 2 };

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

pdm_ir_attr pdm_ir_op_row_attr(const pdm_ir_op *op, uint16_t index)
{
    const char *name = op->info->attr_names[index];

    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (op->attrs[i].name == name)
            return op->attrs[i].attr;
    }
    return NULL;
}

static pdm_ir_named_attr *own_attrs(const pdm_ir_op *op)
{
    return (pdm_ir_named_attr *)(pdm_ir_op_regions(op) + op->num_regions);
}

/* Make room for more attributes. */
static bool make_room(pdm_ir_op *op, uint32_t more)
{
    pdm_ir_named_attr *attrs;

    if (more <= op->attr_room - op->num_attrs)
        return true;
    if (op->num_attrs > UINT32_MAX / 4 || more > UINT32_MAX / 4)
        return false;
    const uint32_t room = op->num_attrs + op->num_attrs / 2 + more;
    if (op->attrs != own_attrs(op)) {
        attrs = realloc(op->attrs, room * sizeof *attrs);
    } else {
        attrs = malloc(room * sizeof *attrs);
        if (attrs)
            memcpy(attrs, op->attrs, op->num_attrs * sizeof *attrs);
    }
    if (!attrs)
        return false;
    op->attrs = attrs;
    op->attr_room = room;
    return true;
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
    if (!interned)
        return false;
    const int declared = pdm_ir_op_info_attr(op->info, interned, 0);
    if (declared >= 0) {
        position = (uint32_t)declared;
    } else {
        if (op->info->desc)
            position = op->info->desc->num_attrs;
        for (uint32_t i = 0; i < op->num_attrs; i++) {
            if (op->attrs[i].position >= position)
                position = op->attrs[i].position + 1;
        }
    }
    if (!make_room(op, 1))
        return false;
    memmove(op->attrs + at + 1, op->attrs + at, (op->num_attrs - at) * sizeof *op->attrs);
    op->attrs[at] = (pdm_ir_named_attr){interned, attr, position};
    op->num_attrs++;
    return true;
}

bool pdm_ir_op_add_attrs(pdm_ir_op *op, const pdm_ir_named_attr *attrs, uint32_t count)
{
    uint32_t position = op->info->desc ? op->info->desc->num_attrs : 0;

    if (!make_room(op, count))
        return false;
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (op->attrs[i].position >= position)
            position = op->attrs[i].position + 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = op->num_attrs++;
        for (; at > 0 && strcmp(op->attrs[at - 1].name, attrs[i].name) > 0; at--)
            op->attrs[at] = op->attrs[at - 1];
        op->attrs[at] = (pdm_ir_named_attr){attrs[i].name, attrs[i].attr, position + i};
    }
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

/* Of entries with one name the last stays; attrs is sorted. */
static uint32_t drop_repeated(pdm_ir_named_attr *attrs, uint32_t count)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 == count || attrs[i].name != attrs[i + 1].name)
            attrs[n++] = attrs[i];
    }
    return n;
}

/*
 * The sorted dictionary of a new op; of two entries with one name the later stays. Where the row
 * writes its attributes and how their names are ordered is known; others come after those.
 */
static bool fill_attrs(pdm_ir_context *context, const pdm_ir_op_state *state, pdm_ir_op *op)
{
    pdm_ir_named_attr *const attrs = op->attrs;
    const pdm_ir_op_info *info = state->info;
    const uint16_t declared = info->desc ? info->desc->num_attrs : 0;
    const uint32_t count = (uint32_t)state->num_attrs;
    uint32_t given[PDM_IR_MAX_ROW_ATTRS] = {0}; /* by row: 1 + where the state has it */
    uint32_t n = 0, others = 0;

    if (state->attrs_form == PDM_IR_ATTRS_DICTIONARY) {
        if (count)
            memcpy(attrs, state->attrs, count * sizeof *attrs);
        op->num_attrs = count;
        return true;
    }
    const bool row_first = state->attrs_form == PDM_IR_ATTRS_ROW_FIRST;
    for (uint32_t i = 0; i < count; i++) {
        const int at = !row_first     ? pdm_ir_op_info_attr(info, state->attrs[i].name, i)
                       : i < declared ? (int)i
                                      : -1;
        if (at >= 0) {
            given[at] = i + 1;
            continue;
        }
        const char *name = pdm_ir_str(context, state->attrs[i].name);
        if (!name)
            return false;
        attrs[count - ++others] = (pdm_ir_named_attr){name, state->attrs[i].attr, i};
    }
    for (uint16_t i = 0; i < declared; i++) {
        const uint16_t at = info->attrs_by_name[i];
        if (given[at])
            attrs[n++] =
                (pdm_ir_named_attr){info->attr_names[at], state->attrs[given[at] - 1].attr, at};
    }
    if (others) {
        pdm_ir_named_attr *rest = attrs + n;
        memmove(rest, attrs + (count - others), others * sizeof *rest);
        sort_attrs(rest, others);
        others = drop_repeated(rest, others);
        for (uint32_t i = 0; i < others; i++)
            rest[i].position = declared + state->attrs[rest[i].position].position;
        n += others;
        sort_attrs(attrs, n);
    }
    op->num_attrs = n;
    return true;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static bool counts_fit(const pdm_ir_op_state *state)
{
    const size_t limit = SIZE_MAX / 128 < UINT32_MAX ? SIZE_MAX / 128 : UINT32_MAX - 8;

    return state->num_operands < limit && state->num_results < limit &&
           state->num_regions < limit && state->num_attrs < limit;
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
    if (!counts_fit(state))
        return NULL;
    const size_t prefix = prefix_size(state->num_results), room = state->num_attrs + SPARE_ATTRS;
    char *base =
        malloc(prefix + sizeof(pdm_ir_op) + state->num_operands * sizeof(pdm_ir_use) +
               state->num_regions * sizeof(pdm_ir_region *) + room * sizeof(pdm_ir_named_attr));
    if (!base)
        return NULL;
    pdm_ir_op *op = (pdm_ir_op *)(base + prefix);
    *op = (pdm_ir_op){.info = state->info,
                      .num_operands = (uint32_t)state->num_operands,
                      .num_results = (uint32_t)state->num_results,
                      .num_regions = (uint32_t)state->num_regions,
                      .lg_block = -1,
                      .lg_op = -1,
                      .attr_room = (uint32_t)room};
    op->attrs = own_attrs(op);
    if (!fill_attrs(context, state, op)) {
        free(base);
        return NULL;
    }
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
    if (op->attrs != own_attrs(op))
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
