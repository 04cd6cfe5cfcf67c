#include "ir/ir_t.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

/* ---- storage --------------------------------------------------------------------------------- */

const void *pdm_ir_storage_find(const pdm_ir_storage *storage, uint64_t hash, const void *key,
                                pdm_ir_storage_equal_fn equal)
{
    if (storage->count == 0)
        return NULL;
    const size_t mask = storage->capacity - 1;
    for (size_t i = (size_t)hash & mask; storage->slots[i].object; i = (i + 1) & mask) {
        if (storage->slots[i].hash == hash && equal(storage->slots[i].object, key))
            return storage->slots[i].object;
    }
    return NULL;
}

static void place(pdm_ir_storage *storage, uint64_t hash, const void *object)
{
    const size_t mask = storage->capacity - 1;
    size_t i = (size_t)hash & mask;

    while (storage->slots[i].object)
        i = (i + 1) & mask;
    storage->slots[i].hash = hash;
    storage->slots[i].object = object;
}

static bool grow(pdm_ir_storage *storage)
{
    pdm_ir_storage bigger = {.count = storage->count};

    bigger.capacity = storage->capacity ? storage->capacity * 2 : FIRST_CAPACITY;
    if (bigger.capacity < storage->capacity)
        return false;
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < storage->capacity; i++) {
        if (storage->slots[i].object)
            place(&bigger, storage->slots[i].hash, storage->slots[i].object);
    }
    free(storage->slots);
    *storage = bigger;
    return true;
}

bool pdm_ir_storage_add(pdm_ir_storage *storage, uint64_t hash, const void *object)
{
    if (storage->count >= storage->capacity / 2 && !grow(storage))
        return false;
    place(storage, hash, object);
    storage->count++;
    return true;
}

/* ---- context --------------------------------------------------------------------------------- */

pdm_status pdm_ir_context_create(pdm_ir_context **out_context)
{
    pdm_ir_context *context = calloc(1, sizeof *context);

    if (!context)
        return PDM_NOMEM;
    pdm_arena_init(&context->arena);
    pdm_intern_init(&context->strings, &context->arena);
    pdm_map_init(&context->infos);
    context->nchw = pdm_ir_str(context, "NCHW");
    context->no_string = pdm_ir_str(context, "");
    context->module_info.name = pdm_ir_str(context, "builtin.module");
    context->module_info.context = context;
    context->module_info.code = PDM_IR_OP_NONE;
    if (!context->nchw || !context->no_string || !context->module_info.name) {
        pdm_ir_context_destroy(context);
        return PDM_NOMEM;
    }
    *out_context = context;
    return PDM_OK;
}

void pdm_ir_context_destroy(pdm_ir_context *context)
{
    if (!context)
        return;
    free(context->types.slots);
    free(context->attrs.slots);
    pdm_map_deinit(&context->infos);
    pdm_intern_deinit(&context->strings);
    pdm_arena_deinit(&context->arena);
    free(context);
}

size_t pdm_ir_context_bytes(const pdm_ir_context *context)
{
    return context->arena.used;
}

const char *pdm_ir_str(pdm_ir_context *context, const char *text)
{
    return pdm_intern_cstr(&context->strings, text);
}

const char *pdm_ir_strn(pdm_ir_context *context, const char *text, size_t len)
{
    return pdm_intern_get(&context->strings, text, len);
}

/* ---- op infos -------------------------------------------------------------------------------- */

static bool is_legacy_name(const char *name)
{
    return !strncmp(name, "legacy.", 7) && name[7];
}

/* Position of id in the interfaces, or where it belongs. */
static size_t interface_slot(const pdm_ir_op_info *info, int id)
{
    size_t low = 0, high = info->num_interfaces;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (info->interfaces[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool attach(pdm_ir_context *context, pdm_ir_op_info *info, int id, const void *impl)
{
    const size_t at = interface_slot(info, id), n = info->num_interfaces;

    if (at < n && info->interfaces[at].id == id) {
        info->interfaces[at].impl = impl;
        return true;
    }
    struct pdm_ir_interface *grown = pdm_arena_calloc(&context->arena, n + 1, sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < n; i++)
        grown[i < at ? i : i + 1] = info->interfaces[i];
    grown[at] = (struct pdm_ir_interface){id, impl};
    info->interfaces = grown;
    info->num_interfaces = n + 1;
    return true;
}

/* The single bits of the row's flags, in rising order. */
static bool fill_traits(pdm_ir_context *context, pdm_ir_op_info *info)
{
    int bits[16];
    size_t n = 0;

    if (!info->desc)
        return true;
    for (int bit = 0; bit < 16; bit++) {
        if (info->desc->flags & 1u << bit)
            bits[n++] = 1 << bit;
    }
    info->traits = pdm_arena_memdup(&context->arena, bits, n * sizeof *bits);
    info->num_traits = n;
    return info->traits != NULL;
}

/* Names of attributes, their order, in-place pairs: what would be searched by name for every op. */
static bool fill_row_facts(pdm_ir_context *context, pdm_ir_op_info *info)
{
    const pdm_ir_op_desc *desc = info->desc;
    pdm_arena *arena = &context->arena;

    info->code = PDM_IR_OP_NONE;
    if (!desc)
        return true;
    const char **names = pdm_arena_calloc(arena, desc->num_attrs, sizeof *names);
    uint16_t *order = pdm_arena_calloc(arena, desc->num_attrs, sizeof *order);
    pdm_ir_attr *defaults = pdm_arena_calloc(arena, desc->num_attrs, sizeof *defaults);
    int8_t *inplace = pdm_arena_calloc(arena, desc->num_operands, sizeof *inplace);
    if (!names || !order || !defaults || !inplace)
        return false;
    for (uint16_t i = 0; i < desc->num_attrs; i++) {
        names[i] = pdm_ir_str(context, desc->attrs[i].name);
        if (!names[i])
            return false;
        info->changes |= desc->attrs[i].changed_in || desc->attrs[i].added_in;
        uint16_t at = i;
        for (; at > 0 && strcmp(names[order[at - 1]], names[i]) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (uint16_t i = 0; i < desc->num_operands; i++)
        inplace[i] = (int8_t)pdm_ir_inplace_result(desc->name, i);
    info->code = (pdm_ir_op_code)(desc - pdm_ir_op_desc_at(0));
    info->attr_names = names;
    info->attrs_by_name = order;
    info->defaults = defaults;
    info->inplace = inplace;
    return true;
}

static pdm_ir_op_info *make_info(pdm_ir_context *context, const char *name,
                                 const pdm_ir_op_desc *desc)
{
    pdm_ir_op_info *info = pdm_arena_calloc(&context->arena, 1, sizeof *info);
    const char *interned = info ? pdm_ir_str(context, name) : NULL;

    if (!interned)
        return NULL;
    info->name = interned;
    info->desc = desc;
    info->context = context;
    if (!fill_traits(context, info) || !fill_row_facts(context, info))
        return NULL;
    if (desc && desc->infer && !attach(context, info, PDM_IR_IF_INFER_META, &desc->infer))
        return NULL;
    pdm_map_entry *entry = pdm_map_put(&context->infos, interned);
    if (!entry)
        return NULL;
    entry->value.ptr = info;
    if (desc)
        context->info_of[info->code] = info;
    return info;
}

static pdm_ir_op_info *get_info(pdm_ir_context *context, const char *name, pdm_status *out_status)
{
    const char *known = pdm_intern_find(&context->strings, name, strlen(name));
    const pdm_map_entry *entry = known ? pdm_map_find(&context->infos, known) : NULL;

    *out_status = PDM_OK;
    if (entry)
        return entry->value.ptr;
    const pdm_ir_op_desc *desc = pdm_ir_op_desc_find(name);
    if (!desc && !is_legacy_name(name)) {
        *out_status = PDM_UNSUPPORTED;
        return NULL;
    }
    pdm_ir_op_info *info = make_info(context, name, desc);
    if (!info)
        *out_status = PDM_NOMEM;
    return info;
}

const pdm_ir_op_info *pdm_ir_op_info_by_code(pdm_ir_context *context, pdm_ir_op_code code)
{
    const pdm_ir_op_desc *desc = pdm_ir_op_desc_at(code);

    return context->info_of[code] ? context->info_of[code] : make_info(context, desc->name, desc);
}

const pdm_ir_op_info *pdm_ir_op_info_get(pdm_ir_context *context, const char *name,
                                         pdm_status *out_status)
{
    pdm_status status;
    const pdm_ir_op_info *info = get_info(context, name, &status);

    if (out_status)
        *out_status = status;
    return info;
}

int pdm_ir_op_info_attr(const pdm_ir_op_info *info, const char *name, size_t hint)
{
    const pdm_ir_op_desc *desc = info->desc;

    if (!desc)
        return -1;
    /* Most callers have the name from the row or from the context. */
    if (hint < desc->num_attrs &&
        (info->attr_names[hint] == name || desc->attrs[hint].name == name))
        return (int)hint;
    for (uint16_t i = 0; i < desc->num_attrs; i++) {
        if (info->attr_names[i] == name || desc->attrs[i].name == name)
            return i;
    }
    for (uint16_t i = 0; i < desc->num_attrs; i++) {
        if (!strcmp(info->attr_names[i], name))
            return i;
    }
    return -1;
}

bool pdm_ir_op_info_has_trait(const pdm_ir_op_info *info, int flag)
{
    size_t low = 0, high = info->num_traits;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (info->traits[mid] == flag)
            return true;
        if (info->traits[mid] < flag)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

const void *pdm_ir_op_info_interface(const pdm_ir_op_info *info, int id)
{
    const size_t at = interface_slot(info, id);

    return at < info->num_interfaces && info->interfaces[at].id == id ? info->interfaces[at].impl
                                                                      : NULL;
}

pdm_status pdm_ir_context_attach(pdm_ir_context *context, const char *op_name, int id,
                                 const void *impl)
{
    pdm_status status;
    pdm_ir_op_info *info = get_info(context, op_name, &status);

    if (!info)
        return status == PDM_UNSUPPORTED ? PDM_INVALID_ARG : status;
    return attach(context, info, id, impl) ? PDM_OK : PDM_NOMEM;
}
