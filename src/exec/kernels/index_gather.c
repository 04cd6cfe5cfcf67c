/* Elements taken by index. */
#include "exec/kernels/tensor_impl.h"

#include <stdlib.h>

/* ---- gather ---------------------------------------------------------------------------------- */

/* Result 0: the dim of an axis of x replaced by those of the index (none: the axis goes). */
static pdm_status gather(pdm_k *k, const pdm_tensor *x, const pdm_tensor *index, int axis)
{
    int64_t dims[PDM_MAX_RANK];
    const int64_t n = pdm_tensor_count(index), dim = x->dims[axis];
    int rank = 0;

    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            dims[rank++] = x->dims[i];
        else if (index->rank > 0)
            dims[rank++] = n;
    }
    int64_t *places = pdm_indices(k, index, dim, true);
    void *out = places ? pdm_k_out(k, 0, x->dtype, rank, dims) : NULL;
    if (out) {
        pdm_k_share_lod(k, 0, x);
        pdm_rows_copy(k,
                      (size_t)pdm_k_product(x->dims, axis + 1, x->rank) * pdm_dtype_size(x->dtype),
                      pdm_k_product(x->dims, 0, axis), dim, n, out, x->data, places);
    }
    free(places);
    return k->status;
}

/* x, index, axis */
pdm_status pdm_kernel_gather(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *index = pdm_k_in(k, 1);
    const int64_t given = pdm_k_in_int(k, 2, pdm_k_int_or(k, "axis", 0));

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank == 0 || index->rank > 2 || (index->rank == 2 && index->dims[1] != 1))
        return pdm_k_fail(k, "an index of %d dimensions cannot be used here", index->rank);
    const int axis = pdm_k_axis(k, given, x->rank);
    return PDM_K_OK(k) ? gather(k, x, index, axis) : k->status;
}

pdm_status pdm_kernel_index_select(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *index = pdm_k_in(k, 1);
    const int64_t given = pdm_k_int(k, "axis");

    if (!PDM_K_OK(k))
        return k->status;
    const int axis = pdm_k_axis(k, given, x->rank);
    if (PDM_K_OK(k) && x->rank == 0)
        return pdm_k_fail(k, "a tensor without dimensions has no elements to select");
    int64_t *places = PDM_K_OK(k) ? pdm_indices(k, index, x->dims[axis], true) : NULL;
    if (places)
        pdm_take(k, x, axis, places, pdm_tensor_count(index));
    free(places);
    return k->status;
}

/* ---- tuples of indices ----------------------------------------------------------------------- */

/* Offsets of the rows that tuples in the last dim of `index` name, in elements of x; the caller
 * frees. NULL after a failure. */
static int64_t *tuple_offsets(pdm_k *k, const pdm_tensor *x, const pdm_tensor *index,
                              int64_t *count, int64_t *row)
{
    int64_t strides[PDM_MAX_RANK] = {0};

    if (index->rank == 0 || index->dims[index->rank - 1] > x->rank) {
        pdm_k_fail(k, "the index's tuples are longer than %d", x->rank);
        return NULL;
    }
    if (index->dtype != PDM_I32 && index->dtype != PDM_I64) {
        pdm_k_fail(k, "indices are of type %s, not int32 or int64", pdm_dtype_name(index->dtype));
        return NULL;
    }
    const int depth = (int)index->dims[index->rank - 1];
    *count = pdm_k_product(index->dims, 0, index->rank - 1);
    *row = pdm_k_product(x->dims, depth, x->rank);
    int64_t *offsets = calloc((size_t)*count + 1, sizeof *offsets);
    if (!offsets) {
        pdm_k_nomem(k);
        return NULL;
    }
    pdm_dense_strides(x->rank, x->dims, strides);
    for (int64_t i = 0; PDM_K_OK(k) && i < *count; i++) {
        offsets[i] = 0;
        for (int d = 0; d < depth; d++) {
            const int64_t given = pdm_get_int(index, i * depth + d), dim = x->dims[d];
            if (given < -dim || given >= dim)
                pdm_k_fail(k, "index %lld is outside of a dimension of %lld", (long long)given,
                           (long long)dim);
            else
                offsets[i] += (given < 0 ? given + dim : given) * strides[d];
        }
    }
    if (PDM_K_OK(k))
        return offsets;
    free(offsets);
    return NULL;
}

/* Offsets as numbers of rows. */
static void to_rows(int64_t *offsets, int64_t count, int64_t row)
{
    for (int64_t i = 0; i < count && row > 1; i++)
        offsets[i] /= row;
}

/* x, index */
pdm_status pdm_kernel_gather_nd(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *index = pdm_k_in(k, 1);
    int64_t dims[2 * PDM_MAX_RANK], count, row;
    int rank = 0;

    if (!PDM_K_OK(k))
        return k->status;
    int64_t *offsets = tuple_offsets(k, x, index, &count, &row);
    if (!offsets)
        return k->status;
    for (int i = 0; i + 1 < index->rank; i++)
        dims[rank++] = index->dims[i];
    for (int i = (int)index->dims[index->rank - 1]; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    void *out = pdm_k_out(k, 0, x->dtype, rank, dims);
    to_rows(offsets, count, row);
    if (out) {
        pdm_k_share_lod(k, 0, x);
        pdm_rows_copy(k, (size_t)row * pdm_dtype_size(x->dtype), 1, 0, count, out, x->data,
                      offsets);
    }
    free(offsets);
    return k->status;
}

/* x, index, updates */
pdm_status pdm_kernel_scatter_nd_add(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *index = pdm_k_in(k, 1), *updates = pdm_k_in(k, 2);
    int64_t count, row, total;

    if (!PDM_K_OK(k))
        return k->status;
    int64_t *offsets = tuple_offsets(k, x, index, &count, &row);
    if (!offsets)
        return k->status;
    const size_t size = pdm_dtype_size(x->dtype);
    void *out = NULL;
    if (updates->dtype != x->dtype || __builtin_mul_overflow(count, row, &total) ||
        pdm_tensor_count(updates) != total)
        pdm_k_fail(k, "the updates do not fit in type or shape");
    else
        out = pdm_k_out_copy(k, x);
    for (int64_t i = 0; out && PDM_K_OK(k) && i < count; i++)
        pdm_add_elements(k, x->dtype, pdm_at(out, offsets[i], size),
                         pdm_at(updates->data, i * row, size), row);
    free(offsets);
    return k->status;
}

/* ---- along an axis --------------------------------------------------------------------------- */

/* index[i, j, ...] replaces the coordinate of one axis; other coordinates are the element's own. */
typedef struct along {
    int axis;
    int64_t count;    /* elements of the index */
    int64_t *offsets; /* place of each in the tensor */
} along;

static bool along_axis(pdm_k *k, const pdm_tensor *x, const pdm_tensor *index, int64_t given,
                       along *a)
{
    int64_t strides[PDM_MAX_RANK] = {0}, at[PDM_MAX_RANK] = {0}, base = 0;

    a->axis = pdm_k_axis(k, given, x->rank);
    if (PDM_K_OK(k) && (x->rank == 0 || index->rank != x->rank))
        pdm_k_fail(k, "an index of %d dimensions for a tensor of %d", index->rank, x->rank);
    for (int i = 0; PDM_K_OK(k) && i < x->rank; i++) {
        if (i != a->axis && index->dims[i] > x->dims[i])
            pdm_k_fail(k, "the index is larger than the tensor in dimension %d", i);
    }
    if (!PDM_K_OK(k))
        return false;
    a->count = pdm_tensor_count(index);
    a->offsets = pdm_indices(k, index, x->dims[a->axis], true);
    if (!a->offsets)
        return false;
    pdm_dense_strides(x->rank, x->dims, strides);
    for (int64_t n = 0; n < a->count; n++) {
        a->offsets[n] = base + a->offsets[n] * strides[a->axis];
        for (int i = x->rank - 1; i >= 0; i--) {
            const int64_t step = i == a->axis ? 0 : strides[i];
            base += step;
            if (++at[i] < index->dims[i])
                break;
            base -= step * index->dims[i];
            at[i] = 0;
        }
    }
    return true;
}

/* arr, indices */
pdm_status pdm_kernel_take_along_axis(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *index = pdm_k_in(k, 1);
    const int64_t axis = pdm_k_int(k, "axis");
    along a;

    if (!PDM_K_OK(k) || !along_axis(k, x, index, axis, &a))
        return k->status;
    void *out = pdm_k_out(k, 0, x->dtype, index->rank, index->dims);
    if (out)
        pdm_elements_copy(pdm_dtype_size(x->dtype), a.count, out, x->data, a.offsets);
    free(a.offsets);
    return k->status;
}

typedef enum reduce { ASSIGN, ADD, MUL, MIN, MAX, MEAN } reduce;

#define COMBINE(code, suffix, type, acc, load, store, ...)                                         \
    static void combine_##suffix(void *to, const void *from, reduce how)                           \
    {                                                                                              \
        const acc a = load(*(type *)to), b = load(*(const type *)from);                            \
        *(type *)to = (type)store((acc)(how == MUL   ? a * b                                       \
                                        : how == MIN ? (b < a ? b : a)                             \
                                        : how == MAX ? (b > a ? b : a)                             \
                                                     : a + b));                                    \
    }
PDM_K_REALS(COMBINE)

#define DIVIDE(code, suffix, type, acc, load, store, ...)                                          \
    static void divide_##suffix(void *to, int64_t n)                                               \
    {                                                                                              \
        *(type *)to = (type)store((acc)(load(*(type *)to) / (acc)n));                              \
    }
PDM_K_FLOATS(DIVIDE)

/* Integers are divided downwards. */
#define DIVIDE_INT(code, suffix, type, acc, load, store, ...)                                      \
    static void divide_##suffix(void *to, int64_t n)                                               \
    {                                                                                              \
        const type value = *(type *)to, whole = (type)(value / (type)n);                           \
        const bool between = whole * (type)n > value;                                              \
        *(type *)to = (type)(whole - between);                                                     \
    }
PDM_K_INTS(DIVIDE_INT)

/* How often each element of the result was hit; an element hit first begins anew when what was
 * there does not count. */
static void put_reduced(pdm_k *k, const pdm_tensor *values, const int64_t *from, const along *a,
                        reduce how, bool include_self, pdm_tensor *out)
{
    const int64_t count = pdm_tensor_count(out);
    const size_t size = pdm_dtype_size(out->dtype);
    int64_t *hits = calloc((size_t)count + 1, sizeof *hits);

    if (!hits)
        pdm_k_nomem(k);
    for (int64_t i = 0; PDM_K_OK(k) && i < a->count; i++) {
        void *to = pdm_at(out->data, a->offsets[i], size),
             *value = pdm_at(values->data, from[i], size);
        if (hits[a->offsets[i]]++ == 0 && !include_self)
            memcpy(to, value, size);
        else
            PDM_K_DISPATCH(k, out->dtype, PDM_K_REALS, combine, to, value, how);
    }
    for (int64_t i = 0; PDM_K_OK(k) && how == MEAN && i < count; i++) {
        if (hits[i] > 0)
            PDM_K_DISPATCH(k, out->dtype, PDM_K_NUMBERS, divide, pdm_at(out->data, i, size),
                           hits[i] + include_self);
    }
    free(hits);
}

static bool reduce_of(pdm_k *k, reduce *how)
{
    static const struct {
        const char *name;
        reduce how;
    } names[] = {{"assign", ASSIGN}, {"add", ADD},  {"mul", MUL},  {"multiply", MUL},
                 {"amin", MIN},      {"amax", MAX}, {"mean", MEAN}};
    const char *name = pdm_k_str(k, "reduce");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, name) == 0) {
            *how = names[i].how;
            return PDM_K_OK(k);
        }
    }
    pdm_k_fail(k, "reduction '%s' is not known", name);
    return false;
}

/* Place of the value of each element of the index, under broadcasting; the caller frees. */
static int64_t *value_places(pdm_k *k, const pdm_tensor *values, const pdm_tensor *index)
{
    int64_t strides[PDM_MAX_RANK], at[PDM_MAX_RANK] = {0}, base = 0;
    const int64_t count = pdm_tensor_count(index);

    if (values->rank > index->rank) {
        pdm_k_fail(k, "the values have more dimensions than the index");
        return NULL;
    }
    for (int i = 0; i < values->rank; i++) {
        const int64_t dim = index->dims[index->rank - values->rank + i];
        if (values->dims[i] != 1 && values->dims[i] < dim) {
            pdm_k_fail(k, "the values do not fit the index");
            return NULL;
        }
    }
    int64_t *places = malloc((size_t)count * sizeof *places + 1), stride = 1;
    if (!places) {
        pdm_k_nomem(k);
        return NULL;
    }
    for (int i = index->rank - 1; i >= 0; i--) {
        const int vi = i - (index->rank - values->rank);
        strides[i] = vi < 0 || values->dims[vi] == 1 ? 0 : stride;
        stride *= vi < 0 ? 1 : values->dims[vi];
    }
    for (int64_t n = 0; n < count; n++) {
        places[n] = base;
        for (int i = index->rank - 1; i >= 0; i--) {
            base += strides[i];
            if (++at[i] < index->dims[i])
                break;
            base -= strides[i] * index->dims[i];
            at[i] = 0;
        }
    }
    return places;
}

/* arr, indices, values */
pdm_status pdm_kernel_put_along_axis(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *index = pdm_k_in(k, 1), *values = pdm_k_in(k, 2);
    const int64_t axis = pdm_k_int(k, "axis");
    const bool include_self = pdm_k_bool_or(k, "include_self", true);
    reduce how;
    along a;

    if (!PDM_K_OK(k) || !reduce_of(k, &how))
        return k->status;
    if (values->dtype != x->dtype)
        return pdm_k_fail(k, "the values are not of the tensor's type");
    if (!along_axis(k, x, index, axis, &a))
        return k->status;
    int64_t *from = value_places(k, values, index);
    void *out = from ? pdm_k_out_copy(k, x) : NULL;
    const size_t size = pdm_dtype_size(x->dtype);
    for (int64_t i = 0; out && how == ASSIGN && i < a.count; i++)
        memcpy(pdm_at(out, a.offsets[i], size), pdm_at(values->data, from[i], size), size);
    if (out && how != ASSIGN)
        put_reduced(k, values, from, &a, how, include_self, pdm_k_out_tensor(k, 0));
    free(from);
    free(a.offsets);
    return k->status;
}

/* ---- others ---------------------------------------------------------------------------------- */

/* x [rows, n], index [rows, m]: elements of the same row */
pdm_status pdm_kernel_index_sample(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *index = pdm_k_in(k, 1);

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank != 2 || index->rank != 2 || x->dims[0] != index->dims[0])
        return pdm_k_fail(k, "two matrices with as many rows are needed");
    int64_t *places = pdm_indices(k, index, x->dims[1], false);
    void *out = places ? pdm_k_out(k, 0, x->dtype, 2, index->dims) : NULL;
    const size_t size = pdm_dtype_size(x->dtype);
    for (int64_t row = 0; out && index->dims[1] > 0 && row < x->dims[0]; row++)
        pdm_elements_copy(size, index->dims[1], pdm_at(out, row * index->dims[1], size),
                          pdm_at(x->data, row * x->dims[1], size), places + row * index->dims[1]);
    free(places);
    return k->status;
}

/* ids, parents [steps, batch, beams]: whole sequences, walked back from the last step */
pdm_status pdm_kernel_gather_tree(pdm_k *k)
{
    const pdm_tensor *ids = pdm_k_in(k, 0), *parents = pdm_k_in(k, 1);

    if (!PDM_K_OK(k))
        return k->status;
    if (ids->rank != 3 || !pdm_k_same_dims(ids, parents))
        return pdm_k_fail(k, "ids and parents have 3 dimensions and the same shape");
    const int64_t steps = ids->dims[0], beams = ids->dims[2], area = ids->dims[1] * beams;
    int64_t *from = pdm_indices(k, parents, beams, false);
    void *out = from ? pdm_k_out(k, 0, ids->dtype, 3, ids->dims) : NULL;
    const size_t size = pdm_dtype_size(ids->dtype);
    for (int64_t i = 0; out && steps > 0 && i < area; i++) {
        const int64_t first = i / beams * beams; /* beam 0 of the batch */
        int64_t beam = i % beams;
        for (int64_t s = steps - 1; s >= 0; s--) {
            memcpy(pdm_at(out, s * area + i, size),
                   pdm_at(ids->data, s * area + first + beam, size), size);
            beam = from[s * area + first + beam];
        }
    }
    free(from);
    return k->status;
}
