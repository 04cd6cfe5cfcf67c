/* Joining and splitting along an axis. */
#include "exec/kernels/tensor_impl.h"

#include <stdlib.h>

/* x's dims seen as [before, dim, behind] around an axis. */
static int64_t before(const pdm_tensor *x, int axis)
{
    return pdm_k_product(x->dims, 0, axis);
}

static int64_t behind(const pdm_tensor *x, int axis)
{
    return pdm_k_product(x->dims, axis + 1, x->rank);
}

/* ---- concat ---------------------------------------------------------------------------------- */

static bool fits(pdm_k *k, const pdm_tensor *first, const pdm_tensor *x, int axis)
{
    bool same = x->rank == first->rank && x->dtype == first->dtype;

    for (int i = 0; same && i < x->rank; i++)
        same = i == axis || x->dims[i] == first->dims[i];
    if (!same)
        pdm_k_fail(k, "operands to be joined differ in type or in another dimension than %d", axis);
    return same;
}

/* Offsets of the operands' sequences one behind the other; those of the first when levels differ. */
static void concat_lod(pdm_k *k, size_t n)
{
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0);
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    const size_t levels = pdm_tensor_num_lod(first);
    int64_t *offsets[PDM_K_MAX_INTS] = {NULL};
    size_t counts[PDM_K_MAX_INTS] = {0};
    bool ok = levels > 0 && levels <= PDM_K_MAX_INTS;

    for (size_t i = 1; ok && i < n; i++)
        ok = pdm_tensor_num_lod(pdm_k_list_at(k, 0, i)) == levels;
    if (!ok) {
        pdm_k_share_lod(k, 0, first);
        return;
    }
    for (size_t l = 0; l < levels; l++) {
        size_t total = 1, count;
        for (size_t i = 0; i < n; i++) {
            pdm_tensor_lod(pdm_k_list_at(k, 0, i), l, &count);
            total += count;
        }
        offsets[l] = malloc(total * sizeof *offsets[l]);
        if (!offsets[l]) {
            pdm_k_nomem(k);
            break;
        }
        offsets[l][counts[l]++] = 0;
        for (size_t i = 0; i < n; i++) {
            const int64_t *from = pdm_tensor_lod(pdm_k_list_at(k, 0, i), l, &count);
            const int64_t base = offsets[l][counts[l] - 1];
            for (size_t j = 1; j < count; j++)
                offsets[l][counts[l]++] = (int64_t)((uint64_t)base + (uint64_t)from[j]);
        }
    }
    if (PDM_K_OK(k) &&
        pdm_tensor_set_lod(out, levels, (const int64_t *const *)offsets, counts) != PDM_OK)
        pdm_k_nomem(k);
    for (size_t l = 0; l < levels && l < PDM_K_MAX_INTS; l++)
        free(offsets[l]);
}

/* Copy x into its place along the axis of out, which has `total` there. */
static void put_part(pdm_k *k, const pdm_tensor *x, int axis, int64_t total, int64_t at, void *out)
{
    const int64_t inner = behind(x, axis), mine = x->dims[axis] * inner;
    const size_t size = pdm_dtype_size(x->dtype);
    pdm_box box = {0};

    pdm_box_add(&box, before(x, axis), total * inner, mine);
    pdm_box_add(&box, mine, 1, 1);
    pdm_box_copy(k, &box, size, pdm_at(out, at * inner, size), x->data);
}

/* x..., axis */
pdm_status pdm_kernel_concat(pdm_k *k)
{
    const size_t n = pdm_k_list_count(k, 0);
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0);
    const int64_t given = pdm_k_in_int(k, 1, 0);
    int64_t dims[PDM_MAX_RANK], total = 0, at = 0;

    if (!PDM_K_OK(k))
        return k->status;
    const int axis = pdm_k_axis(k, given, first->rank);
    if (PDM_K_OK(k) && first->rank == 0)
        return pdm_k_fail(k, "operands without dimensions cannot be joined");
    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        if (x && fits(k, first, x, axis) && __builtin_add_overflow(total, x->dims[axis], &total))
            pdm_k_fail(k, "the joined dimension is too large");
    }
    if (!PDM_K_OK(k))
        return k->status;
    memcpy(dims, first->dims, sizeof dims);
    dims[axis] = total;
    void *out = pdm_k_out(k, 0, first->dtype, first->rank, dims);
    for (size_t i = 0; out && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        put_part(k, x, axis, total, at, out);
        at += x->dims[axis];
    }
    if (out && axis == 0)
        concat_lod(k, n);
    else if (out)
        pdm_k_share_lod(k, 0, first);
    return k->status;
}

/* ---- stack ----------------------------------------------------------------------------------- */

pdm_status pdm_kernel_stack(pdm_k *k)
{
    const size_t n = pdm_k_list_count(k, 0);
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0);
    const int64_t given = pdm_k_int(k, "axis");
    int64_t dims[PDM_MAX_RANK + 1] = {0};

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, (size_t)first->rank + 1))
        return k->status;
    const int axis = pdm_k_axis(k, given, first->rank + 1);
    for (size_t i = 1; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        if (x && (x->dtype != first->dtype || !pdm_k_same_dims(x, first)))
            pdm_k_fail(k, "operands to be stacked differ in type or shape");
    }
    if (!PDM_K_OK(k))
        return k->status;
    for (int i = 0; i <= first->rank; i++)
        dims[i] = i < axis ? first->dims[i] : i == axis ? (int64_t)n : first->dims[i - 1];
    void *out = pdm_k_out(k, 0, first->dtype, first->rank + 1, dims);
    const int64_t inner = pdm_k_product(first->dims, axis, first->rank);
    const size_t size = pdm_dtype_size(first->dtype);
    if (out)
        pdm_k_share_lod(k, 0, first);
    for (size_t i = 0; out && i < n; i++) {
        pdm_box box = {0};
        pdm_box_add(&box, before(first, axis), (int64_t)n * inner, inner);
        pdm_box_add(&box, inner, 1, 1);
        pdm_box_copy(k, &box, size, pdm_at(out, (int64_t)i * inner, size),
                     pdm_k_list_at(k, 0, i)->data);
    }
    return k->status;
}

/* ---- split ----------------------------------------------------------------------------------- */

/* How many results a vector result has; a lone tensor counts as one. */
static size_t parts_wanted(const pdm_k *k)
{
    const pdm_value *out = pdm_k_wants(k, 0) ? k->out[0] : NULL;

    return !out ? 0 : out->kind == PDM_VALUE_LIST ? out->list.count : 1;
}

/* Part `i` of x: `size` elements of the axis from `at`; drop: the axis goes. */
static void take_part(pdm_k *k, const pdm_tensor *x, int axis, size_t i, int64_t at, int64_t size,
                      bool drop)
{
    const int64_t inner = behind(x, axis);
    const size_t bytes = pdm_dtype_size(x->dtype);
    int64_t dims[PDM_MAX_RANK];
    int n = 0;
    pdm_box box = {0};

    for (int d = 0; d < x->rank; d++) {
        if (d != axis || !drop)
            dims[n++] = d == axis ? size : x->dims[d];
    }
    void *out = pdm_k_out_at(k, 0, i, x->dtype, n, dims);
    if (!out)
        return;
    pdm_box_add(&box, before(x, axis), size * inner, x->dims[axis] * inner);
    pdm_box_add(&box, size * inner, 1, 1);
    pdm_box_copy(k, &box, bytes, out, pdm_at(x->data, at * inner, bytes));
}

static pdm_status split(pdm_k *k, const pdm_tensor *x, int axis, const int64_t *sizes, size_t n)
{
    int64_t at = 0;

    if (PDM_K_OK(k) && parts_wanted(k) > 0 && parts_wanted(k) != n)
        return pdm_k_fail(k, "%zu parts are made, %zu wanted", n, parts_wanted(k));
    for (size_t i = 0; PDM_K_OK(k) && i < n && pdm_k_wants(k, 0); i++) {
        take_part(k, x, axis, i, at, sizes[i], false);
        if (axis != 0) /* sequences stay whole */
            pdm_share_lod_at(k, i, x);
        at += sizes[i];
    }
    return k->status;
}

/* x, sections (one may be -1), axis */
pdm_status pdm_kernel_split(pdm_k *k)
{
    int64_t sizes[PDM_K_MAX_INTS] = {0}, total = 0;
    const pdm_tensor *x = pdm_k_in(k, 0);
    const size_t n = pdm_k_in_ints(k, 1, sizes);
    const int64_t given = pdm_k_in_int(k, 2, 0);
    int64_t *rest = NULL;

    if (!PDM_K_OK(k))
        return k->status;
    const int axis = pdm_k_axis(k, given, x->rank);
    if (PDM_K_OK(k) && x->rank == 0)
        return pdm_k_fail(k, "a tensor without dimensions cannot be split");
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] < -1 || (sizes[i] == -1 && rest) ||
            (sizes[i] > 0 && __builtin_add_overflow(total, sizes[i], &total)))
            return pdm_k_fail(k, "the sections cannot be: %lld", (long long)sizes[i]);
        if (sizes[i] == -1)
            rest = &sizes[i];
    }
    if (!PDM_K_OK(k))
        return k->status;
    if (rest)
        *rest = x->dims[axis] - total;
    if (rest ? *rest < 0 : total != x->dims[axis])
        return pdm_k_fail(k, "sections of %lld in all do not fit a dimension of %lld",
                          (long long)total, (long long)x->dims[axis]);
    return split(k, x, axis, sizes, n);
}

/* x, axis; equal parts */
pdm_status pdm_kernel_split_with_num(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t given = pdm_k_in_int(k, 1, 0), num = pdm_k_int(k, "num");

    if (!PDM_K_OK(k))
        return k->status;
    const int axis = pdm_k_axis(k, given, x->rank);
    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank == 0 || num < 1 || x->dims[axis] % num != 0)
        return pdm_k_fail(k, "the dimension cannot be split into %lld equal parts", (long long)num);
    const int64_t size = x->dims[axis] / num;
    if (!pdm_k_wants(k, 0))
        return k->status;
    if (parts_wanted(k) != (size_t)num)
        return pdm_k_fail(k, "%lld parts are made, %zu wanted", (long long)num, parts_wanted(k));
    for (int64_t i = 0; PDM_K_OK(k) && i < num; i++) {
        take_part(k, x, axis, (size_t)i, i * size, size, false);
        if (axis != 0)
            pdm_share_lod_at(k, (size_t)i, x);
    }
    return k->status;
}

static pdm_status unbind(pdm_k *k, bool with_lod)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t given = pdm_k_int(k, "axis");

    if (!PDM_K_OK(k))
        return k->status;
    const int axis = pdm_k_axis(k, given, x->rank);
    if (!PDM_K_OK(k) || !pdm_k_wants(k, 0))
        return k->status;
    if (x->rank == 0 || parts_wanted(k) != (uint64_t)x->dims[axis])
        return pdm_k_fail(k, "the dimension has not the %zu elements that are wanted",
                          parts_wanted(k));
    for (int64_t i = 0; PDM_K_OK(k) && i < x->dims[axis]; i++) {
        take_part(k, x, axis, (size_t)i, i, 1, true);
        if (with_lod)
            pdm_share_lod_at(k, (size_t)i, x);
    }
    return k->status;
}

pdm_status pdm_kernel_unbind(pdm_k *k)
{
    return unbind(k, true);
}

pdm_status pdm_kernel_unstack(pdm_k *k)
{
    return unbind(k, false);
}

/* ---- others ---------------------------------------------------------------------------------- */

/* Vectors to grids: result i repeats operand i along all axes but i. */
pdm_status pdm_kernel_meshgrid(pdm_k *k)
{
    const size_t n = pdm_k_list_count(k, 0);
    int64_t dims[PDM_MAX_RANK] = {0}, strides[PDM_MAX_RANK] = {0};

    if (!pdm_shape_rank(k, n))
        return k->status;
    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        if (x && x->rank > 1)
            pdm_k_fail(k, "operand %zu of a grid has %d dimensions", i, x->rank);
        else if (x)
            dims[i] = x->rank ? x->dims[0] : 1;
    }
    if (!PDM_K_OK(k) || pdm_shape_count(k, (int)n, dims) < 0)
        return k->status;
    pdm_dense_strides((int)n, dims, strides);
    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        void *out = pdm_k_out_at(k, 0, i, x->dtype, (int)n, dims);
        pdm_box box = {0};
        for (size_t d = 0; d < n; d++)
            pdm_box_add(&box, dims[d], strides[d], d == i);
        if (out)
            pdm_box_copy(k, &box, pdm_dtype_size(x->dtype), out, x->data);
    }
    return k->status;
}

/* The common columns of partial_concat and partial_sum: [start, start + length) of matrices. */
static bool columns(pdm_k *k, int64_t *start, int64_t *length)
{
    const size_t n = pdm_k_list_count(k, 0);
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0);

    *start = pdm_k_int(k, "start_index");
    *length = pdm_k_int(k, "length");
    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        if (x && (x->rank != 2 || x->dtype != first->dtype || x->dims[0] != first->dims[0] ||
                  x->dims[1] != first->dims[1]))
            pdm_k_fail(k, "operands are no matrices of one type and shape");
    }
    if (!PDM_K_OK(k))
        return false;
    const int64_t width = first->dims[1];
    if (*start < 0)
        *start += width;
    if (*start >= 0 && *start <= width && *length < 0)
        *length = width - *start;
    if (*start < 0 || *start > width || *length > width - *start)
        pdm_k_fail(k, "columns %lld and %lld more are outside of %lld", (long long)*start,
                   (long long)*length, (long long)width);
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_partial_concat(pdm_k *k)
{
    const int64_t n = (int64_t)pdm_k_list_count(k, 0);
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0);
    int64_t start, length, width;

    if (!columns(k, &start, &length))
        return k->status;
    if (__builtin_mul_overflow(length, n, &width))
        return pdm_k_fail(k, "the joined dimension is too large");
    void *out = pdm_k_out(k, 0, first->dtype, 2, (int64_t[]){first->dims[0], width});
    const size_t size = pdm_dtype_size(first->dtype);
    if (out)
        pdm_k_share_lod(k, 0, first);
    for (int64_t i = 0; out && i < n; i++) {
        pdm_box box = {0};
        pdm_box_add(&box, first->dims[0], width, first->dims[1]);
        pdm_box_add(&box, length, 1, 1);
        pdm_box_copy(k, &box, size, pdm_at(out, i * length, size),
                     pdm_at(pdm_k_list_at(k, 0, (size_t)i)->data, start, size));
    }
    return k->status;
}

pdm_status pdm_kernel_partial_sum(pdm_k *k)
{
    const size_t n = pdm_k_list_count(k, 0);
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0);
    int64_t start, length;

    if (!columns(k, &start, &length))
        return k->status;
    void *out = pdm_k_out(k, 0, first->dtype, 2, (int64_t[]){first->dims[0], length});
    const size_t size = pdm_dtype_size(first->dtype);
    if (out) {
        pdm_k_share_lod(k, 0, first);
        memset(out, 0, (size_t)(first->dims[0] * length) * size);
    }
    for (size_t i = 0; out && length > 0 && PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        for (int64_t r = 0; r < first->dims[0]; r++)
            pdm_add_elements(k, x->dtype, pdm_at(out, r * length, size),
                             pdm_at(x->data, r * first->dims[1] + start, size), length);
    }
    return k->status;
}

/* Operands in one buffer, each part at a multiple of the alignment (4096 bytes unless given), and
 * the parts themselves. */
pdm_status pdm_kernel_coalesce_tensor(pdm_k *k)
{
    const size_t n = pdm_k_list_count(k, 0);
    const pdm_dtype dtype = pdm_k_dtype(k, "dtype");
    const bool constant = pdm_k_bool(k, "set_constant"), align = pdm_k_bool(k, "use_align");
    const int64_t given = pdm_k_int(k, "align_size");
    const pdm_element value = pdm_element_of_double(pdm_k_float(k, "constant"), dtype);
    const int64_t size = (int64_t)pdm_dtype_size(dtype);
    int64_t total = 0, at = 0;

    if (!PDM_K_OK(k))
        return k->status;
    if (size == 0)
        return pdm_k_unsupported_dtype(k, dtype);
    const int64_t bytes = given > 0 ? given : 4096, unit = align && bytes > size ? bytes / size : 1;
    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        const int64_t count = x ? pdm_tensor_count(x) : 0;
        if (x && x->dtype != dtype)
            pdm_k_fail(k, "an operand is of type %s", pdm_dtype_name(x->dtype));
        if (count > INT64_MAX - unit ||
            __builtin_add_overflow(total, (count + unit - 1) / unit * unit, &total))
            pdm_k_fail(k, "the operands are too large together");
    }
    if (!PDM_K_OK(k))
        return k->status;
    char *fused = pdm_k_wants(k, 1) ? pdm_k_out(k, 1, dtype, 1, &total) : NULL;
    if (fused)
        memset(fused, 0, (size_t)(total * size));
    if (fused && constant)
        pdm_fill_elements(k, fused, &value, (size_t)size, total);
    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        const int64_t count = pdm_tensor_count(x);
        void *out = pdm_k_wants(k, 0) ? pdm_k_out_at(k, 0, i, dtype, x->rank, x->dims) : NULL;
        if (out && constant)
            pdm_fill_elements(k, out, &value, (size_t)size, count);
        else if (out)
            memcpy(out, x->data, (size_t)(count * size));
        if (fused && !constant)
            memcpy(fused + at * size, x->data, (size_t)(count * size));
        at += (count + unit - 1) / unit * unit;
    }
    return k->status;
}
