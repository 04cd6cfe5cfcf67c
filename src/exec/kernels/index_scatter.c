/* Elements written by index. */
#include "exec/kernels/tensor_impl.h"

#include <stdlib.h>

/* x, index, updates: rows of x replaced, or, without overwrite, the sums of their updates */
pdm_status pdm_kernel_scatter(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *index = pdm_k_in(k, 1), *updates = pdm_k_in(k, 2);
    const bool overwrite = pdm_k_bool(k, "overwrite");

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank == 0 || index->rank > 2 || (index->rank == 2 && index->dims[1] != 1))
        return pdm_k_fail(k, "an index of %d dimensions cannot be used here", index->rank);
    const int64_t n = pdm_tensor_count(index), row = pdm_k_product(x->dims, 1, x->rank);
    int64_t total;
    if (updates->dtype != x->dtype || __builtin_mul_overflow(n, row, &total) ||
        pdm_tensor_count(updates) != total)
        return pdm_k_fail(k, "the updates do not fit in type or shape");
    int64_t *places = pdm_indices(k, index, x->dims[0], true);
    void *out = places ? pdm_k_out_copy(k, x) : NULL;
    const size_t size = pdm_dtype_size(x->dtype), bytes = (size_t)row * size;
    for (int64_t i = 0; out && !overwrite && i < n; i++)
        memset(pdm_at(out, places[i] * row, size), 0, bytes);
    for (int64_t i = 0; out && PDM_K_OK(k) && i < n; i++) {
        void *to = pdm_at(out, places[i] * row, size);
        if (overwrite)
            memcpy(to, pdm_at(updates->data, i * row, size), bytes);
        else
            pdm_add_elements(k, x->dtype, to, pdm_at(updates->data, i * row, size), row);
    }
    free(places);
    return k->status;
}

/* x, index, add_value: added to elements of an axis */
pdm_status pdm_kernel_index_add(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *index = pdm_k_in(k, 1), *value = pdm_k_in(k, 2);
    const int64_t given = pdm_k_int(k, "axis");

    if (!PDM_K_OK(k))
        return k->status;
    const int axis = pdm_k_axis(k, given, x->rank);
    const int64_t n = pdm_tensor_count(index);
    bool fits = x->rank > 0 && value->rank == x->rank && value->dtype == x->dtype;
    for (int i = 0; fits && i < x->rank; i++)
        fits = value->dims[i] == (i == axis ? n : x->dims[i]);
    if (PDM_K_OK(k) && !fits)
        pdm_k_fail(k, "what is added does not fit in type or shape");
    int64_t *places = PDM_K_OK(k) ? pdm_indices(k, index, x->dims[axis], true) : NULL;
    void *out = places ? pdm_k_out_copy(k, x) : NULL;
    if (out) {
        const int64_t outer = pdm_k_product(x->dims, 0, axis), dim = x->dims[axis];
        const int64_t row = pdm_k_product(x->dims, axis + 1, x->rank);
        const size_t size = pdm_dtype_size(x->dtype);
        const int64_t rows = row && dim ? outer * n : 0;
        for (int64_t i = 0; PDM_K_OK(k) && i < rows; i++)
            pdm_add_elements(k, x->dtype, pdm_at(out, (i / n * dim + places[i % n]) * row, size),
                             pdm_at(value->data, i * row, size), row);
    }
    free(places);
    return k->status;
}

/* ---- index_put ------------------------------------------------------------------------------- */

/* Indices of the leading dims of x, broadcast to one shape. A bool tensor stands for the indices of
 * its true elements, one vector for each of its dims. */
typedef struct tuples {
    int depth;                   /* leading dims of x that are indexed */
    pdm_tensor at[PDM_MAX_RANK]; /* int64 or int32, ours */
    int rank;                    /* of the common shape */
    int64_t dims[PDM_MAX_RANK];
} tuples;

static void drop_tuples(tuples *t)
{
    for (int i = 0; i < PDM_MAX_RANK; i++)
        pdm_tensor_deinit(&t->at[i]);
}

/* The coordinates of true elements. */
static void add_mask(pdm_k *k, const pdm_tensor *mask, tuples *t)
{
    const bool *set = mask->data;
    const int64_t count = pdm_tensor_count(mask);
    int64_t n = 0, at = 0;

    for (int64_t i = 0; i < count; i++)
        n += set[i];
    for (int d = 0; d < mask->rank && PDM_K_OK(k); d++) {
        if (pdm_tensor_alloc(&t->at[t->depth + d], PDM_I64, 1, &n) != PDM_OK)
            pdm_k_nomem(k);
    }
    for (int64_t i = 0; PDM_K_OK(k) && i < count; i++) {
        if (!set[i])
            continue;
        int64_t rest = i;
        for (int d = mask->rank - 1; d >= 0; d--) {
            ((int64_t *)t->at[t->depth + d].data)[at] = rest % mask->dims[d];
            rest /= mask->dims[d];
        }
        at++;
    }
    t->depth += mask->rank;
}

static bool read_tuples(pdm_k *k, size_t operand, const pdm_tensor *x, tuples *t)
{
    const size_t n = pdm_k_list_count(k, operand);

    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *index = pdm_k_list_at(k, operand, i);
        if (!index)
            break;
        const bool mask = index->dtype == PDM_BOOL;
        if (t->depth + (mask ? index->rank : 1) > x->rank) {
            pdm_k_fail(k, "more than %d dimensions are indexed", x->rank);
        } else if (mask) {
            for (int d = 0; d < index->rank; d++) {
                if (index->dims[d] != x->dims[t->depth + d])
                    pdm_k_fail(k, "the mask does not fit dimension %d", t->depth + d);
            }
            if (PDM_K_OK(k))
                add_mask(k, index, t);
        } else if (index->dtype != PDM_I32 && index->dtype != PDM_I64) {
            pdm_k_unsupported_dtype(k, index->dtype);
        } else {
            pdm_tensor_ref(&t->at[t->depth++], index);
        }
    }
    for (int i = 0; PDM_K_OK(k) && i < t->depth; i++)
        pdm_shape_broadcast(k, t->at[i].rank, t->at[i].dims, &t->rank, t->dims);
    return PDM_K_OK(k);
}

/* Where the rows that tuples name begin in x, in elements; the caller frees. */
static int64_t *tuple_places(pdm_k *k, const pdm_tensor *x, const tuples *t)
{
    int64_t strides[PDM_MAX_RANK], steps[PDM_MAX_RANK], dense[PDM_MAX_RANK];
    const int64_t count = pdm_shape_count(k, t->rank, t->dims);
    int64_t *out = PDM_K_OK(k) ? calloc((size_t)count + 1, sizeof *out) : NULL;

    if (!out) {
        pdm_k_nomem(k);
        return NULL;
    }
    pdm_dense_strides(x->rank, x->dims, strides);
    pdm_dense_strides(t->rank, t->dims, dense);
    for (int d = 0; d < t->depth; d++) {
        const int64_t dim = x->dims[d];
        pdm_shape_strides(&t->at[d], t->rank, t->dims, steps);
        for (int64_t i = 0; i < count; i++) {
            int64_t at = 0;
            for (int j = 0; j < t->rank; j++)
                at += i / dense[j] % t->dims[j] * steps[j];
            const int64_t given = pdm_get_int(&t->at[d], at);
            if (given < -dim || given >= dim) {
                pdm_k_fail(k, "index %lld is outside of a dimension of %lld", (long long)given,
                           (long long)dim);
                free(out);
                return NULL;
            }
            out[i] += (given < 0 ? given + dim : given) * strides[d];
        }
    }
    return out;
}

/* The values, broadcast to the places that they are written to. */
static void *spread_values(pdm_k *k, const pdm_tensor *value, int rank, const int64_t *dims)
{
    int64_t joined[PDM_MAX_RANK], to[PDM_MAX_RANK], from[PDM_MAX_RANK];
    int n = rank;
    pdm_box box = {0};

    memcpy(joined, dims, (size_t)rank * sizeof *dims);
    if (!pdm_shape_broadcast(k, value->rank, value->dims, &n, joined))
        return NULL;
    if (n != rank || memcmp(joined, dims, (size_t)rank * sizeof *dims) != 0) {
        pdm_k_fail(k, "the values do not fit the places that they are written to");
        return NULL;
    }
    const int64_t count = pdm_shape_count(k, rank, dims);
    const size_t size = pdm_dtype_size(value->dtype);
    void *out = (uint64_t)count < SIZE_MAX / 16 ? malloc((size_t)count * size + 1) : NULL;
    if (!out) {
        pdm_k_nomem(k);
        return NULL;
    }
    pdm_dense_strides(rank, dims, to);
    pdm_shape_strides(value, rank, dims, from);
    for (int i = 0; i < rank; i++)
        pdm_box_add(&box, dims[i], to[i], from[i]);
    pdm_box_copy(k, &box, size, out, value->data);
    return out;
}

static void put(pdm_k *k, const pdm_tensor *x, const tuples *t, const pdm_tensor *value,
                bool accumulate)
{
    int64_t dims[2 * PDM_MAX_RANK];
    int rank = t->rank;

    memcpy(dims, t->dims, (size_t)rank * sizeof *dims);
    for (int i = t->depth; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    if (!pdm_shape_rank(k, (size_t)rank) || pdm_shape_count(k, rank, dims) < 0)
        return;
    const int64_t count = pdm_k_product(t->dims, 0, t->rank);
    const int64_t row = pdm_k_product(x->dims, t->depth, x->rank);
    const size_t size = pdm_dtype_size(x->dtype);
    int64_t *places = tuple_places(k, x, t);
    void *values = places ? spread_values(k, value, rank, dims) : NULL;
    void *out = values ? pdm_k_out_copy(k, x) : NULL;
    for (int64_t i = 0; out && PDM_K_OK(k) && i < count; i++) {
        void *to = pdm_at(out, places[i], size), *from = pdm_at(values, i * row, size);
        if (accumulate)
            pdm_add_elements(k, x->dtype, to, from, row);
        else
            memcpy(to, from, (size_t)row * size);
    }
    free(values);
    free(places);
}

/* x, indices..., value */
pdm_status pdm_kernel_index_put(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *value = pdm_k_in(k, 2);
    const bool accumulate = pdm_k_bool(k, "accumulate");
    tuples t = {0};

    if (!PDM_K_OK(k))
        return k->status;
    if (value->dtype != x->dtype)
        return pdm_k_fail(k, "the values are not of the tensor's type");
    if (read_tuples(k, 1, x, &t))
        put(k, x, &t, value, accumulate);
    drop_tuples(&t);
    return k->status;
}
