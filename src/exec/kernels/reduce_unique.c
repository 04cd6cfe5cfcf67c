/* Distinct elements, or slices, in ascending order or as they come. */
#include <stdlib.h>

#include "exec/kernels/reduce_impl.h"

/* The elements of x, or with an axis its slices along it. */
typedef struct items {
    const pdm_tensor *x;
    int axis; /* -1: elements */
    int64_t n;
    pdm_order order;
    int64_t *offsets; /* elements of a slice */
    /* Groups of equal items: the place of each, the group of each item, how many. */
    int64_t *first, *group, *size;
    int64_t groups;
} items;

/* Elements of slice 0, dims in the order that swapping the axis and dimension 0 gives. */
static void slice_offsets(items *s, int64_t *offsets, int64_t width)
{
    const pdm_tensor *x = s->x;
    int64_t stride[PDM_MAX_RANK], size[PDM_MAX_RANK], step[PDM_MAX_RANK];
    int dims = 0;

    for (int d = x->rank - 1; d >= 0; d--)
        stride[d] = d == x->rank - 1 ? 1 : stride[d + 1] * x->dims[d + 1];
    for (int d = 1; d < x->rank; d++) {
        const int from = d == s->axis ? 0 : d;
        size[dims] = x->dims[from];
        step[dims++] = stride[from];
    }
    for (int64_t i = 0; i < width; i++) {
        int64_t rest = i, at = 0;
        for (int d = dims - 1; d >= 0; d--) {
            at += rest % size[d] * step[d];
            rest /= size[d];
        }
        offsets[i] = at;
    }
    s->order.step = stride[s->axis];
}

static void items_deinit(items *s)
{
    pdm_order_deinit(&s->order);
    free(s->offsets);
    free(s->first);
}

static bool items_init(pdm_k *k, items *s, const pdm_tensor *x)
{
    int64_t axes[PDM_K_MAX_INTS];
    const int64_t count = pdm_tensor_count(x);
    const size_t num_axes = pdm_k_has_attr(k, "axis") ? pdm_k_ints(k, "axis", axes) : 0;

    memset(s, 0, sizeof *s);
    s->x = x;
    s->axis = num_axes > 0 ? pdm_k_axis(k, axes[0], x->rank) : -1;
    if (!PDM_K_OK(k))
        return false;
    if (x->rank == 0)
        s->axis = -1;
    s->n = s->axis >= 0 ? x->dims[s->axis] : count;
    if (!pdm_order_init(k, &s->order, x, s->n > count ? s->n : count, true))
        return false;
    s->order.n = count;
    pdm_order_load(&s->order, x, 0, 1);
    s->order.n = s->n;
    for (int64_t i = 0; i < s->n; i++)
        s->order.at[i] = i;
    if ((uint64_t)s->n < SIZE_MAX / 64)
        s->first = calloc((size_t)s->n * 3 + 1, sizeof *s->first);
    if (s->axis >= 0 && s->n > 0) {
        s->order.width = count / s->n;
        s->offsets = calloc((size_t)s->order.width + 1, sizeof *s->offsets);
    }
    if (!s->first || (s->axis >= 0 && s->n > 0 && !s->offsets)) {
        pdm_k_nomem(k);
        return false;
    }
    s->group = s->first + s->n;
    s->size = s->group + s->n;
    if (s->offsets && count > 0)
        slice_offsets(s, s->offsets, s->order.width);
    s->order.offsets = s->offsets;
    return true;
}

/* Neighbours in the order that are equal make a group. */
static void find_groups(items *s)
{
    const int64_t *at = s->order.at;

    s->groups = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (i == 0 || !pdm_order_equal(&s->order, at[i], at[i - 1])) {
            s->first[s->groups] = at[i];
            s->size[s->groups++] = 0;
        }
        s->group[at[i]] = s->groups - 1;
        s->size[s->groups - 1]++;
    }
}

/* Number the groups as their first items come; needs a stable order. */
static void order_by_appearance(items *s)
{
    int64_t *rank = s->order.temp, *old = s->order.at, groups = 0;

    for (int64_t i = 0; i < s->n; i++) {
        const int64_t g = s->group[i];
        if (s->first[g] == i) {
            old[groups] = s->size[g];
            rank[g] = groups++;
        }
    }
    for (int64_t i = 0; i < s->n; i++)
        s->group[i] = rank[s->group[i]];
    memcpy(s->size, old, (size_t)groups * sizeof *old);
    for (int64_t i = s->n - 1; i >= 0; i--)
        s->first[s->group[i]] = i;
}

static void copy_groups(const items *s, char *out)
{
    const size_t size = pdm_dtype_size(s->x->dtype);
    const char *data = s->x->data;
    pdm_rows rows = {.outer = 1, .n = s->n, .inner = 1};

    for (int d = 0; s->axis >= 0 && d < s->x->rank; d++) {
        if (d != s->axis)
            *(d < s->axis ? &rows.outer : &rows.inner) *= s->x->dims[d];
    }
    const size_t chunk = size * (size_t)rows.inner;
    for (int64_t o = 0; o < rows.outer; o++) {
        for (int64_t g = 0; g < s->groups; g++)
            memcpy(out + (size_t)(o * s->groups + g) * chunk,
                   data + (size_t)(o * s->n + s->first[g]) * chunk, chunk);
    }
}

static void store_numbers(pdm_k *k, size_t result, const int64_t *numbers, int64_t n)
{
    const bool narrow = pdm_k_has_attr(k, "dtype") && pdm_k_dtype(k, "dtype") == PDM_I32;

    if (!pdm_k_wants(k, result) || !pdm_k_out(k, result, narrow ? PDM_I32 : PDM_I64, 1, &n))
        return;
    for (int64_t i = 0; i < n; i++)
        pdm_set_int(pdm_k_out_tensor(k, result), i, numbers[i]);
}

static void store_groups(pdm_k *k, const items *s)
{
    int64_t dims[PDM_MAX_RANK] = {s->groups};
    const int rank = s->axis >= 0 ? s->x->rank : 1;

    for (int d = 0; s->axis >= 0 && d < rank; d++)
        dims[d] = d == s->axis ? s->groups : s->x->dims[d];
    char *out = pdm_k_wants(k, 0) ? pdm_k_out(k, 0, s->x->dtype, rank, dims) : NULL;
    if (out && pdm_tensor_count(s->x) > 0)
        copy_groups(s, out);
}

pdm_status pdm_kernel_unique(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool sorted = pdm_k_flag(k, "is_sorted");
    items s;
    if (!x || !PDM_K_OK(k))
        return k->status;

    if (items_init(k, &s, x)) {
        pdm_order_stable(&s.order);
        find_groups(&s);
        if (!sorted)
            order_by_appearance(&s);
        store_groups(k, &s);
        store_numbers(k, 1, s.first, s.groups);
        store_numbers(k, 2, s.group, s.n);
        store_numbers(k, 3, s.size, s.groups);
    }
    items_deinit(&s);
    return k->status;
}

pdm_status pdm_kernel_unique_consecutive(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    items s;
    if (!x)
        return k->status;

    if (items_init(k, &s, x)) {
        find_groups(&s);
        store_groups(k, &s);
        store_numbers(k, 1, s.group, s.n);
        store_numbers(k, 2, s.size, s.groups);
    }
    items_deinit(&s);
    return k->status;
}
