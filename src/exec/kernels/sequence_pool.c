/* Sequences one by one: sequence_pool, sequence_softmax, sequence_conv. */
#include "exec/kernels/scratch.h"

#include <math.h>

/* ---- sequence_pool --------------------------------------------------------------------------- */

typedef enum pooling { AVERAGE, SUM, SQRT, MAX, LAST, FIRST, NUM_POOLINGS } pooling;

static const char *const pooling_names[] = {"AVERAGE", "SUM", "SQRT", "MAX", "LAST", "FIRST"};

#define POOL(code, suffix, type, ...)                                                              \
    static void pool_##suffix(const pdm_seqs *seqs, int64_t row, pooling how, double pad,          \
                              const type *x, type *out, int32_t *places)                           \
    {                                                                                              \
        for (int64_t i = 0; i < seqs->count * row; i++) {                                          \
            const int64_t s = i / row, begin = seqs->off[s], end = seqs->off[s + 1];               \
            const type *in = x + i % row;                                                          \
            int64_t best = how == FIRST || how == MAX ? begin : end - 1;                           \
            if (begin == end) {                                                                    \
                out[i] = (type)pad;                                                                \
                best = -1;                                                                         \
            } else if (how == MAX) {                                                               \
                for (int64_t r = begin + 1; r < end; r++)                                          \
                    best = in[r * row] > in[best * row] ? r : best;                                \
                out[i] = in[best * row];                                                           \
            } else if (how == LAST || how == FIRST) {                                              \
                out[i] = in[best * row];                                                           \
            } else {                                                                               \
                double sum = 0;                                                                    \
                for (int64_t r = begin; r < end; r++)                                              \
                    sum += (double)in[r * row];                                                    \
                const double n = (double)(end - begin);                                            \
                out[i] = (type)(how == SUM ? sum : how == SQRT ? sum / sqrt(n) : sum / n);         \
            }                                                                                      \
            if (places)                                                                            \
                places[i] = (int32_t)best;                                                         \
        }                                                                                          \
    }
PDM_K_F32_F64(POOL)

/* All levels of x but the last. */
static void drop_level(pdm_k *k, pdm_tensor *out, const pdm_tensor *x)
{
    const size_t n = pdm_tensor_num_lod(x);
    const int64_t *offsets[8];
    size_t counts[8];

    if (n < 2 || !out)
        return;
    if (n > 8) {
        pdm_k_fail(k, "the operand has %zu LoD levels", n);
        return;
    }
    for (size_t i = 0; i + 1 < n; i++)
        offsets[i] = pdm_tensor_lod(x, i, &counts[i]);
    if (pdm_tensor_set_lod(out, n - 1, offsets, counts) != PDM_OK)
        pdm_k_nomem(k);
}

pdm_status pdm_kernel_sequence_pool(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const char *name = pdm_k_str(k, "pooltype");
    const double pad = pdm_k_float(k, "pad_value");
    int how = 0;
    pdm_seqs seqs;

    if (!PDM_K_OK(k) || !pdm_k_row_seqs(k, x, &seqs))
        return k->status;
    while (how < NUM_POOLINGS && strcmp(name, pooling_names[how]))
        how++;
    if (how == NUM_POOLINGS)
        return pdm_k_fail(k, "there is no pooling '%s'", name);
    int64_t dims[PDM_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[0] = seqs.count;
    int32_t *places = NULL;
    if (pdm_k_wants(k, 1) && how == MAX)
        places = pdm_k_out(k, 1, PDM_I32, x->rank, dims);
    void *out = pdm_k_wants(k, 0) ? pdm_k_out(k, 0, x->dtype, x->rank, dims) : NULL;
    if (!out)
        return k->status;
    PDM_K_DISPATCH(k, x->dtype, PDM_K_F32_F64, pool, &seqs, pdm_k_row_size(x), (pooling)how, pad,
                   x->data, out, places);
    drop_level(k, pdm_k_out_tensor(k, 0), x);
    return k->status;
}

/* ---- sequence_softmax ------------------------------------------------------------------------ */

#define SOFTMAX(code, suffix, type, ...)                                                           \
    static void softmax_##suffix(const pdm_seqs *seqs, const type *x, type *out)                   \
    {                                                                                              \
        for (int64_t s = 0; s < seqs->count; s++) {                                                \
            const int64_t begin = seqs->off[s], end = seqs->off[s + 1];                            \
            type max = begin < end ? x[begin] : 0;                                                 \
            double sum = 0;                                                                        \
            for (int64_t i = begin + 1; i < end; i++)                                              \
                max = x[i] > max ? x[i] : max;                                                     \
            for (int64_t i = begin; i < end; i++)                                                  \
                sum += exp((double)(x[i] - max));                                                  \
            for (int64_t i = begin; i < end; i++)                                                  \
                out[i] = (type)(exp((double)(x[i] - max)) / sum);                                  \
        }                                                                                          \
    }
PDM_K_F32_F64(SOFTMAX)

pdm_status pdm_kernel_sequence_softmax(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_seqs seqs;

    if (!PDM_K_OK(k) || !pdm_k_row_seqs(k, x, &seqs))
        return k->status;
    if (pdm_tensor_count(x) != x->dims[0])
        return pdm_k_fail(k, "a row has more than one number");
    void *out = pdm_k_out_like(k, 0, x);
    if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_F32_F64, softmax, &seqs, x->data, out);
    return k->status;
}

/* ---- sequence_conv --------------------------------------------------------------------------- */

typedef struct context {
    int64_t width, outs;       /* numbers of a row of x, of the result */
    int64_t length, start, up; /* up: rows of padding before a sequence */
} context;

/* Row r of a sequence (r may be outside of it): in x, in the padding, or none (zeros). */
#define CONV(code, suffix, type, ...)                                                              \
    static const type *context_row_##suffix(const context *c, const pdm_seqs *seqs, int64_t s,     \
                                            int64_t r, const type *x, const type *padding)         \
    {                                                                                              \
        const int64_t length = seqs->off[s + 1] - seqs->off[s];                                    \
        if (r >= 0 && r < length)                                                                  \
            return x + (seqs->off[s] + r) * c->width;                                              \
        if (!padding)                                                                              \
            return NULL;                                                                           \
        return padding + (r < 0 ? c->up + r : c->up + r - length) * c->width;                      \
    }                                                                                              \
                                                                                                   \
    static void conv_##suffix(const context *c, const pdm_seqs *seqs, const type *x,               \
                              const type *padding, const type *filter, double *sum, type *out)     \
    {                                                                                              \
        for (int64_t s = 0; s < seqs->count; s++) {                                                \
            for (int64_t t = 0; t < seqs->off[s + 1] - seqs->off[s]; t++) {                        \
                memset(sum, 0, (size_t)c->outs * sizeof *sum);                                     \
                for (int64_t j = 0; j < c->length; j++) {                                          \
                    const type *row =                                                              \
                        context_row_##suffix(c, seqs, s, t + c->start + j, x, padding);            \
                    for (int64_t d = 0; row && d < c->width; d++) {                                \
                        const type *f = filter + (j * c->width + d) * c->outs;                     \
                        for (int64_t m = 0; m < c->outs; m++)                                      \
                            sum[m] += (double)row[d] * (double)f[m];                               \
                    }                                                                              \
                }                                                                                  \
                for (int64_t m = 0; m < c->outs; m++)                                              \
                    *out++ = (type)sum[m];                                                         \
            }                                                                                      \
        }                                                                                          \
    }
PDM_K_F32_F64(CONV)

static bool check_conv(pdm_k *k, context *c, const pdm_tensor *x, const pdm_tensor *padding,
                       const pdm_tensor *filter)
{
    uint64_t rows;

    if (!pdm_k_rank_is(k, x, 2, "the operand") || !pdm_k_rank_is(k, filter, 2, "the filter") ||
        !pdm_k_same_dtype(k, x, filter) || (padding && !pdm_k_same_dtype(k, x, padding)))
        return false;
    c->width = x->dims[1];
    c->outs = filter->dims[1];
    if (c->length < 1 || c->length > 100000 || c->start < -100000 || c->start > 100000 ||
        !pdm_mul_u64((uint64_t)c->length, (uint64_t)c->width, &rows) ||
        rows != (uint64_t)filter->dims[0]) {
        pdm_k_fail(k, "the filter has %lld rows, not %lld times %lld", (long long)filter->dims[0],
                   (long long)c->length, (long long)c->width);
        return false;
    }
    const int64_t last = c->start + c->length - 1, down = last > 0 ? last : 0;
    c->up = c->start < 0 ? -c->start : 0;
    if (padding &&
        (padding->rank != 2 || padding->dims[0] < c->up + down || padding->dims[1] != c->width))
        pdm_k_fail(k, "the padding has not %lld rows", (long long)(c->up + down));
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_sequence_conv(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *padding = pdm_k_in_opt(k, 1), *filter = pdm_k_in(k, 2);
    context c = {.length = pdm_k_int(k, "context_length"), .start = pdm_k_int(k, "context_start")};
    pdm_seqs seqs;
    pdm_arena arena;

    if (!pdm_k_bool(k, "padding_trainable"))
        padding = NULL;
    if (PDM_K_OK(k) && pdm_k_int(k, "context_stride") != 1)
        pdm_k_fail(k, "a stride other than 1 has no meaning");
    if (!PDM_K_OK(k) || !pdm_k_row_seqs(k, x, &seqs) || !check_conv(k, &c, x, padding, filter))
        return k->status;
    pdm_arena_init(&arena);
    double *sum = pdm_k_scratch(k, &arena, c.outs, sizeof *sum);
    void *out = sum ? pdm_k_out(k, 0, x->dtype, 2, PDM_DIMS(x->dims[0], c.outs)) : NULL;
    if (out) {
        PDM_K_DISPATCH(k, x->dtype, PDM_K_F32_F64, conv, &c, &seqs, x->data,
                       padding ? padding->data : NULL, filter->data, sum, out);
        pdm_k_share_lod(k, 0, x);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}
