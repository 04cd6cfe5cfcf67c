/* Tensor arrays. */
#include "exec/kernels/dispatch.h"

static pdm_value *array_in(pdm_k *k, size_t index)
{
    pdm_value *value = pdm_k_value(k, index);

    if (value && value->kind == PDM_VALUE_ARRAY)
        return value;
    pdm_k_fail(k, "operand %zu is no tensor array", index);
    return NULL;
}

/* The result as an array with no items. */
static pdm_value *array_out(pdm_k *k, size_t index)
{
    pdm_value *value = pdm_k_out_value(k, index);

    if (value) {
        pdm_value_deinit(value);
        value->kind = PDM_VALUE_ARRAY;
    }
    return value;
}

static pdm_status append(pdm_k *k, pdm_value *array, const pdm_tensor *item)
{
    pdm_tensor *place = pdm_value_array_at(array, array->array.count);

    if (!place)
        return pdm_k_nomem(k);
    pdm_tensor_ref(place, item);
    return PDM_OK;
}

pdm_status pdm_kernel_create_array(pdm_k *k)
{
    array_out(k, 0);
    return k->status;
}

/* input: an array whose items are filled with val */
pdm_status pdm_kernel_create_array_like(pdm_k *k)
{
    const pdm_value *input = array_in(k, 0);
    const double val = pdm_k_float(k, "val");
    pdm_value *out = PDM_K_OK(k) ? array_out(k, 0) : NULL;

    for (size_t i = 0; out && i < input->array.count; i++) {
        const pdm_tensor *from = &input->array.items[i];
        pdm_tensor *to = pdm_value_array_at(out, i);
        if (!to)
            return pdm_k_nomem(k);
        if (from->dtype == PDM_UNDEFINED)
            continue;
        if (pdm_tensor_alloc(to, from->dtype, from->rank, from->dims) != PDM_OK)
            return pdm_k_nomem(k);
        for (int64_t n = 0, count = pdm_tensor_count(to); n < count; n++)
            pdm_set_double(to, n, val);
    }
    return k->status;
}

pdm_status pdm_kernel_assign_array(pdm_k *k)
{
    const pdm_value *x = array_in(k, 0);
    pdm_value *out = pdm_k_out_value(k, 0);

    if (x && out && pdm_value_ref(out, x) != PDM_OK)
        return pdm_k_nomem(k);
    return k->status;
}

/* array, x, i: changes the array where it is */
pdm_status pdm_kernel_array_write(pdm_k *k)
{
    const pdm_value *array = pdm_k_value(k, 0);
    const pdm_tensor *x = pdm_k_in(k, 1);
    const int64_t i = pdm_k_in_int(k, 2, -1);
    pdm_value *out = pdm_k_out_value(k, 0);

    if (!PDM_K_OK(k) || !out)
        return k->status;
    if (i < 0)
        return pdm_k_fail(k, "index %lld is negative", (long long)i);
    if (array && array->kind != PDM_VALUE_ARRAY && array->kind != PDM_VALUE_NONE)
        return pdm_k_fail(k, "operand 0 is no tensor array");
    if (array && array != out && pdm_value_ref(out, array) != PDM_OK)
        return pdm_k_nomem(k);
    out->kind = PDM_VALUE_ARRAY;
    pdm_tensor *place = pdm_value_array_at(out, (size_t)i);
    if (!place)
        return pdm_k_fail(k, "an array with an item %lld is too large", (long long)i);
    pdm_tensor_ref(place, x);
    return PDM_OK;
}

/* array, i */
pdm_status pdm_kernel_array_read(pdm_k *k)
{
    const pdm_value *array = array_in(k, 0);
    const int64_t i = pdm_k_in_int(k, 1, -1);

    if (!PDM_K_OK(k))
        return k->status;
    if (i < 0 || (uint64_t)i >= array->array.count)
        return pdm_k_fail(k, "item %lld of an array with %zu items is read", (long long)i,
                          array->array.count);
    const pdm_tensor *item = &array->array.items[i];
    if (item->dtype == PDM_UNDEFINED)
        return pdm_k_fail(k, "item %lld of the array was never written", (long long)i);
    pdm_k_share(k, 0, item, item->rank, item->dims);
    return k->status;
}

pdm_status pdm_kernel_array_length(pdm_k *k)
{
    const pdm_value *array = array_in(k, 0);
    int64_t *out = array ? pdm_k_out(k, 0, PDM_I64, 1, &(int64_t){1}) : NULL;

    if (out)
        *out = (int64_t)array->array.count;
    return k->status;
}

/* array{index}: the array without that item, and the item. The array is changed where it is. */
pdm_status pdm_kernel_array_pop(pdm_k *k)
{
    const pdm_value *array = array_in(k, 0);
    pdm_value *out = pdm_k_out_value(k, 0);
    int64_t index = pdm_k_int(k, "index");
    pdm_tensor item = {0};

    if (!PDM_K_OK(k) || !out)
        return k->status;
    const int64_t count = (int64_t)array->array.count;
    if (index < -count || index >= count)
        return pdm_k_fail(k, "item %lld of an array with %lld items is taken", (long long)index,
                          (long long)count);
    if (index < 0)
        index += count;
    if (array != out && pdm_value_ref(out, array) != PDM_OK)
        return pdm_k_nomem(k);
    pdm_tensor_ref(&item, &out->array.items[index]);
    pdm_tensor_deinit(&out->array.items[index]);
    memmove(out->array.items + index, out->array.items + index + 1,
            (size_t)(count - index - 1) * sizeof *out->array.items);
    out->array.count--;
    pdm_k_share(k, 1, &item, item.rank, item.dims);
    pdm_tensor_deinit(&item);
    return k->status;
}

static int64_t clamp_index(int64_t i, int64_t count)
{
    if (i < 0)
        i += count;
    return i < 0 ? 0 : i > count ? count : i;
}

/* input, starts, ends */
pdm_status pdm_kernel_slice_array(pdm_k *k)
{
    const pdm_value *input = array_in(k, 0);
    int64_t starts[PDM_K_MAX_INTS], ends[PDM_K_MAX_INTS];
    const size_t num_starts = pdm_k_in_ints(k, 1, starts), num_ends = pdm_k_in_ints(k, 2, ends);
    pdm_value taken = {.kind = PDM_VALUE_ARRAY};

    if (!PDM_K_OK(k))
        return k->status;
    if (num_starts != 1 || num_ends != 1)
        return pdm_k_fail(k, "an array is cut by one start and one end");
    const int64_t count = (int64_t)input->array.count, end = clamp_index(ends[0], count);
    for (int64_t i = clamp_index(starts[0], count); PDM_K_OK(k) && i < end; i++)
        append(k, &taken, &input->array.items[i]);
    pdm_value *out = PDM_K_OK(k) ? array_out(k, 0) : NULL;
    if (out)
        *out = taken;
    else
        pdm_value_deinit(&taken);
    return k->status;
}

/* input, starts: one item */
pdm_status pdm_kernel_slice_array_dense(pdm_k *k)
{
    const pdm_value *input = array_in(k, 0);
    int64_t starts[PDM_K_MAX_INTS];
    const size_t num = pdm_k_in_ints(k, 1, starts);

    if (!PDM_K_OK(k))
        return k->status;
    const int64_t count = (int64_t)input->array.count;
    if (num != 1 || starts[0] < -count || starts[0] >= count)
        return pdm_k_fail(k, "item %lld of an array with %lld items is read",
                          (long long)(num ? starts[0] : 0), (long long)count);
    const pdm_tensor *item = &input->array.items[starts[0] < 0 ? starts[0] + count : starts[0]];
    if (item->dtype == PDM_UNDEFINED)
        return pdm_k_fail(k, "the item was never written");
    pdm_k_share(k, 0, item, item->rank, item->dims);
    return k->status;
}

/* ---- arrays and tensors ---------------------------------------------------------------------- */

/* Items agree in element type, rank and all dims but `axis` (-1: all). */
static bool fit_together(const pdm_tensor *a, const pdm_tensor *b, int axis)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++) {
        if (d != axis && a->dims[d] != b->dims[d])
            return false;
    }
    return true;
}

/* Copy the items one beside the other: each has `outer` pieces. */
static void join(const pdm_value *array, int64_t outer, void *out)
{
    char *to = out;

    for (int64_t o = 0; o < outer; o++) {
        for (size_t i = 0; i < array->array.count; i++) {
            const pdm_tensor *item = &array->array.items[i];
            const size_t piece = pdm_tensor_bytes(item) / (size_t)outer;
            memcpy(to, (const char *)item->data + (size_t)o * piece, piece);
            to += piece;
        }
    }
}

static void item_sizes(pdm_k *k, const pdm_value *array, int axis)
{
    int32_t *sizes = pdm_k_wants(k, 1)
                         ? pdm_k_out(k, 1, PDM_I32, 1, &(int64_t){(int64_t)array->array.count})
                         : NULL;

    for (size_t i = 0; sizes && i < array->array.count; i++) {
        const pdm_tensor *item = &array->array.items[i];
        sizes[i] = axis < item->rank ? (int32_t)item->dims[axis] : 1;
    }
}

/* x{axis, use_stack}: items joined along an axis (a new one when stacked), and their sizes along it
 */
pdm_status pdm_kernel_array_to_tensor(pdm_k *k)
{
    const pdm_value *x = array_in(k, 0);
    const bool stack = pdm_k_bool_or(k, "use_stack", false);
    int64_t dims[PDM_MAX_RANK + 1], total = 0;

    if (!PDM_K_OK(k))
        return k->status;
    if (x->array.count == 0)
        return pdm_k_fail(k, "the array is empty");
    const pdm_tensor *first = &x->array.items[0];
    const int rank = first->rank + (stack ? 1 : 0);
    if (rank == 0)
        return pdm_k_fail(k, "items without dimensions can only be stacked");
    const int axis = pdm_k_axis(k, pdm_k_int_or(k, "axis", 0), rank);
    for (size_t i = 0; PDM_K_OK(k) && i < x->array.count; i++) {
        const pdm_tensor *item = &x->array.items[i];
        if (item->dtype == PDM_UNDEFINED)
            return pdm_k_fail(k, "item %zu of the array was never written", i);
        if (!fit_together(first, item, stack ? -1 : axis))
            return pdm_k_fail(k, "item %zu of the array has another shape or element type", i);
        total += stack || item->rank == 0 ? 1 : item->dims[axis];
    }
    if (!PDM_K_OK(k))
        return k->status;
    for (int d = 0; d < rank; d++)
        dims[d] = d == axis ? total : first->dims[stack && d > axis ? d - 1 : d];
    void *out = pdm_k_out(k, 0, first->dtype, rank, dims);
    const int64_t outer = pdm_k_product(first->dims, 0, axis);
    if (out && outer > 0)
        join(x, outer, out);
    item_sizes(k, x, axis);
    return k->status;
}

/* x, out_grad{axis, use_stack}: out_grad cut into pieces like the items of x */
pdm_status pdm_kernel_tensor_to_array(pdm_k *k)
{
    const pdm_value *x = array_in(k, 0);
    const pdm_tensor *whole = pdm_k_in(k, 1);
    const bool stack = pdm_k_bool_or(k, "use_stack", false);
    const int axis = PDM_K_OK(k) ? pdm_k_axis(k, pdm_k_int_or(k, "axis", 0), whole->rank) : 0;
    pdm_value taken = {.kind = PDM_VALUE_ARRAY};
    int64_t total = 0;

    if (!PDM_K_OK(k))
        return k->status;
    for (size_t i = 0; i < x->array.count; i++) {
        const pdm_tensor *item = &x->array.items[i];
        if (item->rank + (stack ? 1 : 0) != whole->rank)
            return pdm_k_fail(k, "item %zu of the array has another rank than the tensor", i);
        total += stack ? 1 : item->dims[axis];
    }
    if (whole->rank == 0 || total != whole->dims[axis])
        return pdm_k_fail(k, "the tensor does not have the sizes of the items");
    const int64_t outer = pdm_k_product(whole->dims, 0, axis);
    const size_t row =
        (size_t)pdm_k_product(whole->dims, axis + 1, whole->rank) * pdm_dtype_size(whole->dtype);
    int64_t at = 0;
    for (size_t i = 0; PDM_K_OK(k) && i < x->array.count; i++) {
        const int64_t size = stack ? 1 : x->array.items[i].dims[axis];
        int64_t dims[PDM_MAX_RANK];
        int rank = 0;
        for (int d = 0; d < whole->rank; d++) {
            if (d != axis || !stack)
                dims[rank++] = d == axis ? size : whole->dims[d];
        }
        pdm_tensor *piece = pdm_value_array_at(&taken, i);
        if (!piece || pdm_tensor_alloc(piece, whole->dtype, rank, dims) != PDM_OK) {
            pdm_k_nomem(k);
            break;
        }
        for (int64_t o = 0; o < outer; o++)
            memcpy((char *)piece->data + (size_t)(o * size) * row,
                   (const char *)whole->data + (size_t)(o * total + at) * row, (size_t)size * row);
        at += size;
    }
    pdm_value *out = PDM_K_OK(k) ? array_out(k, 0) : NULL;
    if (out)
        *out = taken;
    else
        pdm_value_deinit(&taken);
    return k->status;
}
