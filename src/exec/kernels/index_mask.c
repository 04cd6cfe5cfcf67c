/* Elements chosen by conditions. */
#include "exec/kernels/tensor_impl.h"

#include <stdlib.h>

/* t, or a copy of it that has the broadcast shape; the copy is kept in *own. */
static const void *spread(pdm_k *k, const pdm_tensor *t, int rank, const int64_t *dims,
                          pdm_tensor *own)
{
    int64_t to[PDM_MAX_RANK], from[PDM_MAX_RANK];
    pdm_box box = {0};

    if (t->rank == rank && memcmp(t->dims, dims, (size_t)rank * sizeof *dims) == 0)
        return t->data;
    if (pdm_tensor_alloc(own, t->dtype, rank, dims) != PDM_OK) {
        pdm_k_nomem(k);
        return NULL;
    }
    pdm_dense_strides(rank, dims, to);
    pdm_shape_strides(t, rank, dims, from);
    for (int i = 0; i < rank; i++)
        pdm_box_add(&box, dims[i], to[i], from[i]);
    pdm_box_copy(k, &box, pdm_dtype_size(t->dtype), own->data, t->data);
    return own->data;
}

#define CHOOSE(bytes, suffix, type, acc, load, store, ...)                                         \
    static void choose_##suffix(const bool *c, const void *x, const void *y, void *out,            \
                                int64_t begin, int64_t end)                                        \
    {                                                                                              \
        const type *a = x, *b = y;                                                                 \
        type *o = out;                                                                             \
        for (int64_t i = begin; i < end; i++)                                                      \
            o[i] = c[i] ? a[i] : b[i];                                                             \
    }
PDM_K_SIZES(CHOOSE)

typedef struct choose_job {
    size_t size;
    const bool *c;
    const void *x, *y;
    void *out;
} choose_job;

#define CALL(bytes, suffix, type, acc, load, store, ...)                                           \
    case bytes:                                                                                    \
        choose_##suffix(j->c, j->x, j->y, j->out, begin, end);                                     \
        break;

static void choose_part(void *arg, int64_t begin, int64_t end)
{
    const choose_job *j = arg;

    switch (j->size) {
        PDM_K_SIZES(CALL)
    }
}

/* Result 0: x where the condition holds, else y; all broadcast. `lod` has its LoD. */
static pdm_status choose(pdm_k *k, const pdm_tensor *c, const pdm_tensor *x, const pdm_tensor *y,
                         const pdm_tensor *lod)
{
    const pdm_tensor *all[3] = {c, x, y};
    pdm_tensor own[3] = {{0}, {0}, {0}};
    const void *data[3] = {NULL, NULL, NULL};
    int64_t dims[PDM_MAX_RANK] = {0};
    int rank = 0;

    if (c->dtype != PDM_BOOL || x->dtype != y->dtype)
        return pdm_k_fail(k, "a bool condition and two tensors of one type are needed");
    for (int i = 0; i < 3; i++) {
        if (!pdm_shape_broadcast(k, all[i]->rank, all[i]->dims, &rank, dims))
            return k->status;
    }
    choose_job job = {.size = pdm_dtype_size(x->dtype)};
    job.out = pdm_k_out(k, 0, x->dtype, rank, dims);
    for (int i = 0; job.out && PDM_K_OK(k) && i < 3; i++)
        data[i] = spread(k, all[i], rank, dims, &own[i]);
    job.c = data[0];
    job.x = data[1];
    job.y = data[2];
    if (job.out && PDM_K_OK(k)) {
        pdm_k_parallel(k, pdm_k_product(dims, 0, rank), PDM_MOVE_GRAIN / (int64_t)job.size,
                       choose_part, &job);
        pdm_keep_lod_of_rows(k, 0, lod);
    }
    for (int i = 0; i < 3; i++)
        pdm_tensor_deinit(&own[i]);
    return k->status;
}

/* condition, x, y */
pdm_status pdm_kernel_where(pdm_k *k)
{
    const pdm_tensor *c = pdm_k_in(k, 0), *x = pdm_k_in(k, 1), *y = pdm_k_in(k, 2);

    return PDM_K_OK(k) ? choose(k, c, x, y, x) : k->status;
}

/* x, mask, value */
pdm_status pdm_kernel_masked_fill(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *mask = pdm_k_in(k, 1), *value = pdm_k_in(k, 2);

    return PDM_K_OK(k) ? choose(k, mask, value, x, x) : k->status;
}

/* x, mask */
pdm_status pdm_kernel_masked_select(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *mask = pdm_k_in(k, 1);
    pdm_tensor own[2] = {{0}, {0}};
    int64_t dims[PDM_MAX_RANK] = {0}, n = 0, at = 0;
    int rank = 0;

    if (!PDM_K_OK(k))
        return k->status;
    if (mask->dtype != PDM_BOOL)
        return pdm_k_fail(k, "the mask is not of type bool");
    if (!pdm_shape_broadcast(k, x->rank, x->dims, &rank, dims) ||
        !pdm_shape_broadcast(k, mask->rank, mask->dims, &rank, dims))
        return k->status;
    const bool *set = spread(k, mask, rank, dims, &own[0]);
    const void *data = set ? spread(k, x, rank, dims, &own[1]) : NULL;
    const int64_t count = data ? pdm_k_product(dims, 0, rank) : 0;
    const size_t size = pdm_dtype_size(x->dtype);
    for (int64_t i = 0; i < count; i++)
        n += set[i];
    void *out = data ? pdm_k_out(k, 0, x->dtype, 1, &n) : NULL;
    for (int64_t i = 0; out && i < count; i++) {
        if (set[i])
            memcpy(pdm_at(out, at++, size), pdm_at(data, i, size), size);
    }
    pdm_tensor_deinit(&own[0]);
    pdm_tensor_deinit(&own[1]);
    return k->status;
}

#define TRUTH(code, suffix, type, acc, load, store, ...)                                           \
    static void truth_##suffix(const void *x, bool *out, int64_t n)                                \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = load(((const type *)x)[i]) != 0;                                              \
    }
PDM_K_ALL(TRUTH)

/* Coordinates of what is not zero: [how many, rank]. */
pdm_status pdm_kernel_nonzero(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t n = 0;

    if (!x)
        return k->status;
    const int64_t count = pdm_tensor_count(x);
    bool *set = malloc((size_t)count + 1);
    if (!set)
        return pdm_k_nomem(k);
    PDM_K_DISPATCH(k, x->dtype, PDM_K_ALL, truth, x->data, set, count);
    for (int64_t i = 0; PDM_K_OK(k) && i < count; i++)
        n += set[i];
    int64_t *out = PDM_K_OK(k) ? pdm_k_out(k, 0, PDM_I64, 2, (int64_t[]){n, x->rank}) : NULL;
    for (int64_t i = 0; out && i < count; i++) {
        if (!set[i])
            continue;
        int64_t rest = i;
        for (int d = x->rank - 1; d >= 0; d--) {
            out[d] = rest % x->dims[d];
            rest /= x->dims[d];
        }
        out += x->rank;
    }
    free(set);
    return k->status;
}
