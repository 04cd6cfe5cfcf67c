/* Parts of tensors, taken or assigned. */
#include "exec/kernels/tensor_impl.h"

#include <stdlib.h>

/* A part of a tensor: elements `count` of each axis, `step` apart, from `first`. */
typedef struct part {
    int64_t first[PDM_MAX_RANK], count[PDM_MAX_RANK], step[PDM_MAX_RANK];
    bool gone[PDM_MAX_RANK]; /* axes that are left out of the result; they have one element */
} part;

static part whole(const pdm_tensor *x)
{
    part p = {{0}, {0}, {0}, {false}};

    for (int i = 0; i < x->rank; i++) {
        p.count[i] = x->dims[i];
        p.step[i] = 1;
    }
    return p;
}

typedef struct limits {
    size_t num_axes, num_starts, num_ends, num_steps;
    int64_t axes[PDM_K_MAX_INTS], starts[PDM_K_MAX_INTS], ends[PDM_K_MAX_INTS],
        steps[PDM_K_MAX_INTS];
} limits;

/* Limits in operands from `operand` on: starts, ends and, if strided, steps. */
static bool read_limits(pdm_k *k, size_t operand, bool strided, limits *l)
{
    l->num_axes = pdm_k_ints(k, "axes", l->axes);
    l->num_starts = pdm_k_in_ints(k, operand, l->starts);
    l->num_ends = pdm_k_in_ints(k, operand + 1, l->ends);
    l->num_steps = strided ? pdm_k_in_ints(k, operand + 2, l->steps) : l->num_axes;
    for (size_t i = 0; !strided && i < l->num_axes; i++)
        l->steps[i] = 1;
    if (PDM_K_OK(k) &&
        (l->num_starts != l->num_axes || l->num_ends != l->num_axes || l->num_steps != l->num_axes))
        pdm_k_fail(k, "%zu axes have %zu starts, %zu ends, %zu steps", l->num_axes, l->num_starts,
                   l->num_ends, l->num_steps);
    return PDM_K_OK(k);
}

static bool drop_axes(pdm_k *k, const pdm_tensor *x, const char *name, part *p)
{
    int64_t axes[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_k_has_attr(k, name) ? pdm_k_ints(k, name, axes) : 0;

    for (size_t i = 0; PDM_K_OK(k) && i < n && x->rank > 0; i++)
        p->gone[pdm_k_axis(k, axes[i], x->rank)] = true;
    return PDM_K_OK(k);
}

/* The part that limits mean. */
static bool cut(pdm_k *k, const pdm_tensor *x, const limits *l, bool last_of_gone, part *p)
{
    for (size_t i = 0; PDM_K_OK(k) && i < l->num_axes; i++) {
        const int a = pdm_k_axis(k, l->axes[i], x->rank);
        int64_t end = l->ends[i];
        if (!PDM_K_OK(k))
            break;
        if (x->rank == 0 || l->steps[i] == 0) {
            pdm_k_fail(k, x->rank ? "a step is 0" : "a tensor without dimensions has no slices");
            break;
        }
        /* The last element, written as a slice that was to end behind it. */
        if (last_of_gone && p->gone[a] && l->starts[i] == -1 && end == 0)
            end = x->dims[a];
        pdm_slice_limits(x->dims[a], l->starts[i], end, l->steps[i], &p->first[a], &p->count[a]);
        p->step[a] = l->steps[i];
    }
    for (int i = 0; PDM_K_OK(k) && i < x->rank; i++) {
        if (p->gone[i] && (last_of_gone ? p->count[i] != 1 : p->count[i] > 1))
            pdm_k_fail(k, "axis %d is to go, but it has %lld elements", i, (long long)p->count[i]);
    }
    return PDM_K_OK(k);
}

static pdm_status take(pdm_k *k, const pdm_tensor *x, const part *p)
{
    int64_t dims[PDM_MAX_RANK], to[PDM_MAX_RANK], from[PDM_MAX_RANK], at = 0;
    int n = 0;
    pdm_box box = {0};

    for (int i = 0; i < x->rank; i++) {
        if (!p->gone[i])
            dims[n++] = p->count[i];
    }
    void *out = pdm_k_out(k, 0, x->dtype, n, dims);
    if (!out)
        return k->status;
    pdm_dense_strides(x->rank, p->count, to);
    pdm_dense_strides(x->rank, x->dims, from);
    for (int i = 0; i < x->rank; i++) {
        if (p->count[i] == 0)
            return PDM_OK;
        at += p->first[i] * from[i];
        /* The step of a single element may be out of all bounds. */
        pdm_box_add(&box, p->count[i], to[i], p->count[i] > 1 ? p->step[i] * from[i] : 0);
    }
    const size_t size = pdm_dtype_size(x->dtype);
    pdm_box_copy(k, &box, size, out, pdm_at(x->data, at, size));
    return k->status;
}

/* input, starts, ends */
pdm_status pdm_kernel_slice(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    limits l;

    if (!read_limits(k, 1, false, &l))
        return k->status;
    part p = whole(x);
    if (!drop_axes(k, x, "decrease_axis", &p) || !cut(k, x, &l, true, &p))
        return k->status;
    if (take(k, x, &p) == PDM_OK && l.num_axes > 0 && l.axes[0] != 0)
        pdm_k_share_lod(k, 0, x);
    return k->status;
}

/* x, starts, ends, strides */
pdm_status pdm_kernel_strided_slice(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    limits l;

    if (!read_limits(k, 1, true, &l))
        return k->status;
    part p = whole(x);
    if (drop_axes(k, x, "decrease_axis", &p) && cut(k, x, &l, true, &p) && take(k, x, &p) == PDM_OK)
        pdm_k_share_lod(k, 0, x);
    return k->status;
}

/* Rows begin_idx to end_idx. */
pdm_status pdm_kernel_view_slice(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const limits l = {1, 1, 1, 1, {0}, {pdm_k_int(k, "begin_idx")}, {pdm_k_int(k, "end_idx")}, {1}};

    if (!PDM_K_OK(k))
        return k->status;
    part p = whole(x);
    return cut(k, x, &l, true, &p) ? take(k, x, &p) : k->status;
}

/* Element `index` of an axis, which goes. */
pdm_status pdm_kernel_index_select_strided(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t index = pdm_k_int(k, "index"), given = pdm_k_int(k, "axis");

    if (!PDM_K_OK(k))
        return k->status;
    const int axis = pdm_k_axis(k, given, x->rank);
    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank == 0 || index < -x->dims[axis] || index >= x->dims[axis])
        return pdm_k_fail(k, "index %lld does not exist", (long long)index);
    part p = whole(x);
    p.first[axis] = index < 0 ? index + x->dims[axis] : index;
    p.count[axis] = 1;
    p.gone[axis] = true;
    return take(k, x, &p);
}

/* x, shape (-1: up to the end), offsets */
pdm_status pdm_kernel_crop(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t shape[PDM_K_MAX_INTS] = {0}, offsets[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_k_in_ints(k, 1, shape), m = pdm_k_in_ints(k, 2, offsets);

    if (!PDM_K_OK(k))
        return k->status;
    if (n != (size_t)x->rank || m != n)
        return pdm_k_fail(k, "%d dimensions have %zu sizes and %zu offsets", x->rank, n, m);
    part p = whole(x);
    for (int i = 0; i < x->rank; i++) {
        if (offsets[i] < 0 || offsets[i] > x->dims[i] || shape[i] > x->dims[i] - offsets[i])
            return pdm_k_fail(k, "axis %d: %lld elements from %lld are not within %lld", i,
                              (long long)shape[i], (long long)offsets[i], (long long)x->dims[i]);
        p.first[i] = offsets[i];
        p.count[i] = shape[i] < 0 ? x->dims[i] - offsets[i] : shape[i];
    }
    if (take(k, x, &p) == PDM_OK)
        pdm_k_share_lod(k, 0, x);
    return k->status;
}

/* ---- views of any strides -------------------------------------------------------------------- */

/* Whether elements first + sum of i * stride all lie in [0, count). */
static bool within(int64_t count, int64_t first, int rank, const int64_t *dims,
                   const int64_t *strides)
{
    int64_t low = first, high = first, span;

    for (int i = 0; i < rank; i++) {
        if (dims[i] == 0)
            return true;
        if (__builtin_mul_overflow(dims[i] - 1, strides[i], &span) ||
            __builtin_add_overflow(span < 0 ? low : high, span, span < 0 ? &low : &high))
            return false;
    }
    return low >= 0 && high < count;
}

/* Elements at first + sum of i * stride of x. */
static pdm_status strided(pdm_k *k, const pdm_tensor *x, int64_t first, int rank,
                          const int64_t *dims, const int64_t *strides)
{
    int64_t to[PDM_MAX_RANK];
    pdm_box box = {0};

    if (pdm_shape_count(k, rank, dims) < 0)
        return k->status;
    if (!within(pdm_tensor_count(x), first, rank, dims, strides))
        return pdm_k_fail(k, "the strides lead out of the tensor");
    void *out = pdm_k_out(k, 0, x->dtype, rank, dims);
    if (!out)
        return k->status;
    pdm_dense_strides(rank, dims, to);
    for (int i = 0; i < rank; i++)
        pdm_box_add(&box, dims[i], to[i], strides[i]);
    const size_t size = pdm_dtype_size(x->dtype);
    pdm_box_copy(k, &box, size, out, pdm_at(x->data, first, size));
    return k->status;
}

/* offset is in bytes */
static pdm_status as_strided(pdm_k *k, const pdm_tensor *x)
{
    int64_t dims[PDM_K_MAX_INTS] = {0}, strides[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_k_ints(k, "dims", dims), m = pdm_k_ints(k, "stride", strides);
    const int64_t offset = pdm_k_int(k, "offset");

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, n))
        return k->status;
    const int64_t size = (int64_t)pdm_dtype_size(x->dtype);
    if (n != m || offset % size != 0)
        return pdm_k_fail(k, "%zu dimensions have %zu strides, and %lld bytes of offset", n, m,
                          (long long)offset);
    return strided(k, x, offset / size, (int)n, dims, strides);
}

pdm_status pdm_kernel_as_strided(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    return x ? as_strided(k, x) : k->status;
}

/* x becomes a view of source */
pdm_status pdm_kernel_set(pdm_k *k)
{
    const pdm_tensor *source = pdm_k_in(k, 1);

    return source ? as_strided(k, source) : k->status;
}

/* ---- assignment ------------------------------------------------------------------------------ */

/* What is assigned: elements of x's type, and their shape. */
typedef struct source {
    void *data;
    pdm_tensor shape; /* only rank and dims */
} source;

/* The places that are assigned, as a box whose source strides are still open. *empty: none. */
static bool places(pdm_k *k, const pdm_tensor *x, const part *p, pdm_box *box, int64_t *at,
                   bool *empty)
{
    int64_t strides[PDM_MAX_RANK], none[PDM_K_MAX_INTS] = {0};
    const size_t num_none = pdm_k_has_attr(k, "none_axes") ? pdm_k_ints(k, "none_axes", none) : 0;
    size_t next = 0;

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, (size_t)x->rank + num_none))
        return false;
    pdm_dense_strides(x->rank, x->dims, strides);
    for (int i = 0; i < x->rank; i++) {
        *at += p->first[i] * strides[i];
        *empty |= p->count[i] == 0;
        if (p->gone[i])
            continue;
        for (; next < num_none && none[next] <= box->rank; next++)
            pdm_box_add(box, 1, 0, 0);
        pdm_box_add(box, p->count[i], p->count[i] > 1 ? p->step[i] * strides[i] : 0, 0);
    }
    for (; next < num_none; next++)
        pdm_box_add(box, 1, 0, 0);
    return true;
}

/* Leading dims of 1 of the source do not count. */
static bool spread(pdm_k *k, const pdm_tensor *shape, pdm_box *box)
{
    pdm_tensor s = *shape;

    while (s.rank > box->rank && s.dims[0] == 1) {
        memmove(s.dims, s.dims + 1, (size_t)(s.rank - 1) * sizeof *s.dims);
        s.rank--;
    }
    for (int i = 0; i < s.rank; i++) {
        const int64_t want = s.rank > box->rank ? -1 : box->dims[box->rank - s.rank + i];
        if (s.dims[i] != 1 && s.dims[i] != want) {
            pdm_k_fail(k, "the values do not fit the part that they are assigned to");
            return false;
        }
    }
    pdm_shape_strides(&s, box->rank, box->dims, box->from);
    return true;
}

/* Result: x with the source in a part of it. Limits are operands from `operand` on. */
static pdm_status assign_part(pdm_k *k, const pdm_tensor *x, size_t operand, const source *from)
{
    limits l;
    pdm_box box = {0};
    int64_t at = 0;
    bool empty = false;

    if (!read_limits(k, operand, true, &l))
        return k->status;
    part p = whole(x);
    if (!drop_axes(k, x, "decrease_axes", &p) || !cut(k, x, &l, false, &p) ||
        !places(k, x, &p, &box, &at, &empty))
        return k->status;
    if (!empty && !spread(k, &from->shape, &box))
        return k->status;
    void *out = pdm_k_out_copy(k, x);
    pdm_drop_lod(k, 0);
    const size_t size = pdm_dtype_size(x->dtype);
    if (out && !empty)
        pdm_box_copy(k, &box, size, pdm_at(out, at, size), from->data);
    return k->status;
}

/* x, starts, ends, steps; the attribute values has the shape `shape`. */
pdm_status pdm_kernel_set_value(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_ir_attr values = pdm_k_attr(k, "values");
    int64_t shape[PDM_K_MAX_INTS] = {0};
    const size_t rank = pdm_k_ints(k, "shape", shape);
    source from = {0};

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, rank))
        return k->status;
    if (!values || values->kind != PDM_IR_ATTR_ARRAY)
        return pdm_k_fail(k, "attribute 'values' is no array");
    const int64_t count = pdm_shape_count(k, (int)rank, shape);
    if (PDM_K_OK(k) && count != (int64_t)values->count)
        return pdm_k_fail(k, "%lld values are needed, %lu are given", (long long)count,
                          (unsigned long)values->count);
    from.shape.rank = (int)rank;
    memcpy(from.shape.dims, shape, sizeof from.shape.dims);
    const size_t size = pdm_dtype_size(x->dtype);
    from.data = malloc((size_t)values->count * size + 1);
    if (!from.data)
        return pdm_k_nomem(k);
    for (uint32_t i = 0; PDM_K_OK(k) && i < values->count; i++) {
        const pdm_element e = pdm_element_of_attr(k, values->u.items[i], x->dtype);
        memcpy(pdm_at(from.data, i, size), e.bytes, size);
    }
    if (PDM_K_OK(k))
        assign_part(k, x, 1, &from);
    free(from.data);
    return k->status;
}

/* x, values, starts, ends, steps */
pdm_status pdm_kernel_set_value_with_tensor(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *values = pdm_k_in(k, 1);

    if (!PDM_K_OK(k))
        return k->status;
    source from = {.data = values->data, .shape = *values};
    if (values->dtype == x->dtype)
        return assign_part(k, x, 2, &from);
    const int64_t n = pdm_tensor_count(values);
    const size_t size = pdm_dtype_size(x->dtype);
    from.data = malloc((size_t)n * size + 1);
    if (!from.data)
        return pdm_k_nomem(k);
    for (int64_t i = 0; i < n; i++) {
        const pdm_element e = pdm_element_of(k, values, i, x->dtype);
        memcpy(pdm_at(from.data, i, size), e.bytes, size);
    }
    assign_part(k, x, 2, &from);
    free(from.data);
    return k->status;
}
