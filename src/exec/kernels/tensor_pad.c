/* Padding. */
#include "exec/kernels/tensor_impl.h"

#include <stdlib.h>

/* Dims of the result; before and behind may be negative, which cuts. */
static bool padded_dims(pdm_k *k, const pdm_tensor *x, const int64_t *before, const int64_t *behind,
                        int64_t *dims)
{
    for (int i = 0; PDM_K_OK(k) && i < x->rank; i++) {
        if (before[i] < -x->dims[i] || behind[i] < -x->dims[i] ||
            __builtin_add_overflow(x->dims[i], before[i], &dims[i]) ||
            __builtin_add_overflow(dims[i], behind[i], &dims[i]) || dims[i] < 0)
            pdm_k_fail(k, "axis %d of %lld cannot be padded by %lld and %lld", i,
                       (long long)x->dims[i], (long long)before[i], (long long)behind[i]);
    }
    return PDM_K_OK(k);
}

/* Padding with one value. */
static pdm_status pad_constant(pdm_k *k, const pdm_tensor *x, const int64_t *before,
                               const int64_t *behind, const pdm_element *value)
{
    int64_t dims[PDM_MAX_RANK] = {0}, to[PDM_MAX_RANK], from[PDM_MAX_RANK], at = 0, first = 0;
    const size_t size = pdm_dtype_size(x->dtype);
    pdm_box box = {0};

    if (!padded_dims(k, x, before, behind, dims))
        return k->status;
    void *out = pdm_k_out(k, 0, x->dtype, x->rank, dims);
    if (!out)
        return k->status;
    pdm_fill_elements(k, out, value, size, pdm_k_product(dims, 0, x->rank));
    pdm_dense_strides(x->rank, dims, to);
    pdm_dense_strides(x->rank, x->dims, from);
    for (int i = 0; i < x->rank; i++) {
        const int64_t low = before[i] < 0 ? -before[i] : 0;
        const int64_t cut = behind[i] < 0 ? -behind[i] : 0;
        if (low >= x->dims[i] || cut >= x->dims[i] - low)
            return k->status;
        at += (before[i] > 0 ? before[i] : 0) * to[i];
        first += low * from[i];
        pdm_box_add(&box, x->dims[i] - low - cut, to[i], from[i]);
    }
    pdm_box_copy(k, &box, size, pdm_at(out, at, size), pdm_at(x->data, first, size));
    return k->status;
}

/* x, pad_value; the attribute has pairs from the first axis on */
pdm_status pdm_kernel_pad(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *value = pdm_k_in(k, 1);
    int64_t pads[PDM_K_MAX_INTS] = {0}, before[PDM_MAX_RANK], behind[PDM_MAX_RANK];
    const size_t n = pdm_k_ints(k, "paddings", pads);

    if (!PDM_K_OK(k))
        return k->status;
    if (n != 2 * (size_t)x->rank)
        return pdm_k_fail(k, "%zu paddings for %d dimensions", n, x->rank);
    for (int i = 0; i < x->rank; i++) {
        before[i] = pads[2 * i];
        behind[i] = pads[2 * i + 1];
    }
    const pdm_element e = pdm_element_of(k, value, 0, x->dtype);
    if (PDM_K_OK(k) && pad_constant(k, x, before, behind, &e) == PDM_OK)
        pdm_keep_lod_of_rows(k, 0, x);
    return k->status;
}

/* ---- reflect, replicate, circular ------------------------------------------------------------ */

typedef enum pad_mode { REFLECT, REPLICATE, CIRCULAR } pad_mode;

/* Which element of [0, n) stands at place i, counted from the first one that is no padding. */
static int64_t source_of(int64_t i, int64_t n, pad_mode mode)
{
    switch (mode) {
    case REFLECT:
        i = i < 0 ? -i : i;
        return i < n ? i : 2 * (n - 1) - i;
    case REPLICATE:
        return i < 0 ? 0 : i < n ? i : n - 1;
    case CIRCULAR:
        i %= n;
        return i < 0 ? i + n : i;
    }
    return 0;
}

/* Sources of the elements of an axis; NULL after a failure. */
static int64_t *sources(pdm_k *k, int64_t dim, int64_t before, int64_t behind, int64_t padded,
                        pad_mode mode)
{
    if ((dim == 0 && padded > 0) || (mode == REFLECT && (before >= dim || behind >= dim))) {
        pdm_k_fail(k, "%lld elements are too few to be padded by %lld and %lld", (long long)dim,
                   (long long)before, (long long)behind);
        return NULL;
    }
    int64_t *out =
        (uint64_t)padded < SIZE_MAX / sizeof *out ? malloc((size_t)padded * sizeof *out + 1) : NULL;
    if (!out)
        pdm_k_nomem(k);
    for (int64_t i = 0; out && i < padded; i++)
        out[i] = source_of(i - before, dim, mode);
    return out;
}

typedef struct pad_job {
    const pdm_tensor *x;
    const int64_t *dims; /* padded: [outer, d, h, w] and then `bytes` of innermost elements */
    int64_t in_d, in_h, in_w;
    size_t bytes;
    int64_t *map[3];
    void *out;
} pad_job;

/* Rows [begin, end) of [outer, d, h]. */
static void pad_rows(void *arg, int64_t begin, int64_t end)
{
    const pad_job *p = arg;

    for (int64_t row = begin; row < end; row++) {
        const int64_t h = p->map[1][row % p->dims[2]], d = p->map[0][row / p->dims[2] % p->dims[1]];
        const int64_t outer = row / p->dims[2] / p->dims[1];
        const int64_t from = ((outer * p->in_d + d) * p->in_h + h) * p->in_w;
        pdm_elements_copy(p->bytes, p->dims[3], pdm_at(p->out, row * p->dims[3], p->bytes),
                          pdm_at(p->x->data, from, p->bytes), p->map[2]);
    }
}

/* x of rank 5; `space` is the first of its three padded axes. */
static pdm_status pad_mapped(pdm_k *k, const pdm_tensor *x, int space, const int64_t *before,
                             const int64_t *behind, pad_mode mode)
{
    int64_t dims[PDM_MAX_RANK] = {0};

    if (!padded_dims(k, x, before, behind, dims))
        return k->status;
    void *out = pdm_k_out(k, 0, x->dtype, x->rank, dims);
    if (!out || pdm_k_product(dims, 0, x->rank) == 0)
        return k->status;
    const int64_t outer = pdm_k_product(x->dims, 0, space);
    const int64_t view[4] = {outer, dims[space], dims[space + 1], dims[space + 2]};
    pad_job job = {
        .x = x,
        .dims = view,
        .in_d = x->dims[space],
        .in_h = x->dims[space + 1],
        .in_w = x->dims[space + 2],
        .bytes = (size_t)pdm_k_product(x->dims, space + 3, x->rank) * pdm_dtype_size(x->dtype),
        .out = out,
    };
    for (int i = 0; i < 3 && PDM_K_OK(k); i++)
        job.map[i] =
            sources(k, x->dims[space + i], before[space + i], behind[space + i], view[i + 1], mode);
    if (PDM_K_OK(k))
        pdm_k_parallel(k, view[0] * view[1] * view[2],
                       1 + PDM_MOVE_GRAIN / (view[3] * (int64_t)job.bytes), pad_rows, &job);
    for (int i = 0; i < 3; i++)
        free(job.map[i]);
    return k->status;
}

/* x, paddings: left, right, top, bottom, front, back */
pdm_status pdm_kernel_pad3d(pdm_k *k)
{
    static const char *const modes[] = {"reflect", "replicate", "circular"};
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t pads[PDM_K_MAX_INTS] = {0}, before[PDM_MAX_RANK] = {0}, behind[PDM_MAX_RANK] = {0};
    const size_t n = pdm_k_in_ints(k, 1, pads);
    const char *mode = pdm_k_str(k, "mode");
    const int space = strcmp(pdm_k_str(k, "data_format"), "NDHWC") == 0 ? 1 : 2;

    if (!PDM_K_OK(k))
        return k->status;
    if (n != 6 || x->rank != 5)
        return pdm_k_fail(k, "%zu paddings for %d dimensions instead of 6 for 5", n, x->rank);
    for (int i = 0; i < 3; i++) {
        before[space + i] = pads[4 - 2 * i];
        behind[space + i] = pads[5 - 2 * i];
    }
    if (strcmp(mode, "constant") == 0) {
        const pdm_element value = pdm_element_of_double(pdm_k_float(k, "pad_value"), x->dtype);
        return PDM_K_OK(k) ? pad_constant(k, x, before, behind, &value) : k->status;
    }
    for (int i = 0; i < 3; i++) {
        if (strcmp(mode, modes[i]) == 0)
            return pad_mapped(k, x, space, before, behind, (pad_mode)i);
    }
    return pdm_k_fail(k, "padding mode '%s' is not known", mode);
}
