#include "exec/value.h"

#include <stdlib.h>
#include <string.h>

/* Indices of arrays come from tensors of the model. */
enum { MAX_ARRAY = 1 << 24 };

void pdm_value_init(pdm_value *value)
{
    *value = (pdm_value){0};
}

static void array_clear(pdm_value *value)
{
    for (size_t i = 0; i < value->array.count; i++)
        pdm_tensor_deinit(&value->array.items[i]);
    free(value->array.items);
    value->array.items = NULL;
    value->array.count = value->array.capacity = 0;
}

void pdm_value_deinit(pdm_value *value)
{
    pdm_tensor_deinit(&value->tensor);
    array_clear(value);
    free(value->list.items);
    free(value->table.rows);
    *value = (pdm_value){0};
}

static pdm_status copy_bytes(const void *data, size_t count, size_t size, void *out)
{
    void *copy = malloc(count ? count * size : 1);

    if (!copy)
        return PDM_NOMEM;
    if (count)
        memcpy(copy, data, count * size);
    memcpy(out, &copy, sizeof copy);
    return PDM_OK;
}

static pdm_status array_ref(pdm_value *dst, const pdm_value *src)
{
    if (src->array.count == 0)
        return PDM_OK;
    dst->array.items = calloc(src->array.count, sizeof *dst->array.items);
    if (!dst->array.items)
        return PDM_NOMEM;
    dst->array.count = dst->array.capacity = src->array.count;
    for (size_t i = 0; i < src->array.count; i++)
        pdm_tensor_ref(&dst->array.items[i], &src->array.items[i]);
    return PDM_OK;
}

pdm_status pdm_value_ref(pdm_value *dst, const pdm_value *src)
{
    pdm_value made = {.kind = src->kind};
    pdm_status status = PDM_OK;

    if (dst == src)
        return PDM_OK;
    switch (src->kind) {
    case PDM_VALUE_NONE:
        break;
    case PDM_VALUE_TENSOR:
    case PDM_VALUE_SELECTED_ROWS:
        pdm_tensor_ref(&made.tensor, &src->tensor);
        made.table.level = src->table.level;
        break;
    case PDM_VALUE_ARRAY:
        status = array_ref(&made, src);
        break;
    case PDM_VALUE_LIST:
        made.list.count = src->list.count;
        status =
            copy_bytes(src->list.items, src->list.count, sizeof *src->list.items, &made.list.items);
        break;
    case PDM_VALUE_RANK_TABLE:
        made.table.count = src->table.count;
        made.table.level = src->table.level;
        status = copy_bytes(src->table.rows, src->table.count, sizeof *src->table.rows,
                            &made.table.rows);
        break;
    }
    if (status != PDM_OK) {
        pdm_value_deinit(&made);
        return status;
    }
    pdm_value_deinit(dst);
    *dst = made;
    return PDM_OK;
}

pdm_tensor *pdm_value_array_at(pdm_value *array, size_t index)
{
    if (index >= MAX_ARRAY)
        return NULL;
    if (index >= array->array.capacity) {
        size_t capacity = array->array.capacity ? 2 * array->array.capacity : 8;
        if (capacity <= index)
            capacity = index + 1;
        pdm_tensor *items = realloc(array->array.items, capacity * sizeof *items);
        if (!items)
            return NULL;
        array->array.items = items;
        array->array.capacity = capacity;
    }
    for (; array->array.count <= index; array->array.count++)
        pdm_tensor_init(&array->array.items[array->array.count]);
    return &array->array.items[index];
}
