/* Fused ops on the sequences of a LoD. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- fusion_seqconv_eltadd_relu ------------------------------------------------------------- */

/* Row `row` of the columns: the rows around it, zeros outside of its sequence. */
static void gather(const pdm_tensor *x, int64_t row, int64_t begin, int64_t end, int64_t start,
                   int64_t length, double *to)
{
    const int64_t n = x->dims[1];

    for (int64_t i = 0; i < length; i++) {
        const int64_t from = row + start + i;
        if (from >= begin && from < end)
            pdm_nn_load(x, from * n, 1, n, to + i * n);
        else
            memset(to + i * n, 0, (size_t)n * sizeof *to);
    }
}

pdm_status pdm_kernel_fusion_seqconv_eltadd_relu(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *filter = pdm_k_in(k, 1), *bias = pdm_k_in(k, 2);
    const int64_t length = pdm_k_int(k, "context_length"), start = pdm_k_int(k, "context_start");
    int64_t count = 0;

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, filter) || !pdm_nn_floats(k, bias) ||
        !pdm_nn_rank_is(k, x, 2, 2, "x") || !pdm_nn_rank_is(k, filter, 2, 2, "filter"))
        return k->status;
    const int64_t *offsets = pdm_nn_lod(k, x, &count), cols = filter->dims[1];
    if (length < 1 || length > INT32_MAX || start < -INT32_MAX || start > INT32_MAX ||
        pdm_k_int(k, "context_stride") != 1)
        return pdm_k_fail(k, "a context of %lld from %lld", (long long)length, (long long)start);
    const int64_t depth = pdm_nn_mul(k, length, x->dims[1]);
    if (!PDM_K_OK(k) || filter->dims[0] != depth || !pdm_nn_count_is(k, bias, cols, "bias"))
        return pdm_k_fail(k, "the filter does not fit x");
    const int64_t dims[2] = {x->dims[0], cols}, col_dims[2] = {x->dims[0], depth};
    pdm_tensor *out = pdm_nn_out(k, 0, x->dtype, 2, dims);
    pdm_tensor *columns = pdm_k_wants(k, 1) ? pdm_nn_out(k, 1, x->dtype, 2, col_dims) : NULL;
    double *weights = pdm_nn_doubles(k, filter), *around = pdm_nn_room(k, depth);
    double *sums = pdm_nn_room(k, cols);
    for (int64_t s = 0; s < count && PDM_K_OK(k) && out; s++) {
        for (int64_t r = offsets[s]; r < offsets[s + 1]; r++) {
            gather(x, r, offsets[s], offsets[s + 1], start, length, around);
            if (columns)
                pdm_nn_store(columns, r * depth, 1, depth, around);
            pdm_nn_load(bias, 0, 1, cols, sums);
            pdm_nn_matmul(around, weights, sums, 1, cols, depth, true);
            for (int64_t j = 0; j < cols; j++)
                sums[j] = sums[j] > 0 ? sums[j] : 0;
            pdm_nn_store(out, r * cols, 1, cols, sums);
        }
    }
    if (out)
        pdm_k_share_lod(k, 0, x);
    free(weights);
    free(around);
    free(sums);
    return k->status;
}

/* ---- fusion_seqpool_concat and relatives ---------------------------------------------------- */

typedef enum pooling { SUM, AVERAGE, SQRT } pooling;

static pooling pooling_of(pdm_k *k)
{
    const char *word = pdm_k_str(k, "pooltype");

    if (!strcmp(word, "SUM"))
        return SUM;
    if (!strcmp(word, "SQRT"))
        return SQRT;
    if (strcmp(word, "AVERAGE") != 0)
        pdm_k_fail(k, "pooling '%s' is not known", word);
    return AVERAGE;
}

static void pool(const pdm_tensor *x, int64_t begin, int64_t end, pooling how, double pad,
                 double *to)
{
    const int64_t n = x->dims[1];

    for (int64_t j = 0; j < n; j++)
        to[j] = begin == end ? pad : 0;
    for (int64_t r = begin; r < end; r++) {
        for (int64_t j = 0; j < n; j++)
            to[j] += pdm_nn_at(x, r * n + j);
    }
    const double rows = (double)(end - begin);
    for (int64_t j = 0; j < n && end > begin; j++)
        to[j] /= how == SUM ? 1 : how == SQRT ? sqrt(rows) : rows;
}

/* Shows and clicks in front of a row become logarithms. */
static void take_logs(double *row)
{
    row[0] = log(row[0] + 1);
    row[1] = log(row[1] + 1) - row[0];
}

/* Each row of the result is a sequence of its own. */
static pdm_status row_sequences(pdm_k *k, pdm_tensor *out)
{
    const size_t count = (size_t)out->dims[0] + 1;
    int64_t *offsets = pdm_k_temp(k, count * sizeof *offsets);

    if (!offsets)
        return k->status;
    for (size_t i = 0; i < count; i++)
        offsets[i] = (int64_t)i;
    return pdm_tensor_set_lod(out, 1, (const int64_t *const[]){offsets}, &count) == PDM_NOMEM
               ? pdm_k_nomem(k)
               : k->status;
}

/* Operands of one width with as many sequences: pooled, side by side. skip: elements left out. */
static pdm_status pool_and_join(pdm_k *k, bool logs, int64_t skip)
{
    const size_t inputs = pdm_k_list_count(k, 0);
    const pdm_tensor *x = pdm_k_list_at(k, 0, 0);
    const pooling how = pooling_of(k);
    int64_t count = 0, sequences = 0;

    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 2, 2, "x") || !pdm_nn_lod(k, x, &count))
        return k->status;
    const int64_t n = x->dims[1], width = n - skip;
    if (width < 0 || (logs && n < 2) || inputs > INT32_MAX)
        return pdm_k_fail(k, "rows of %lld elements are too short", (long long)n);
    const int64_t dims[2] = {count, pdm_nn_mul(k, (int64_t)inputs, width)};
    pdm_tensor *out = PDM_K_OK(k) ? pdm_nn_out(k, 0, x->dtype, 2, dims) : NULL;
    double *row = pdm_nn_room(k, n);
    for (size_t i = 0; i < inputs && out && row; i++) {
        const pdm_tensor *t = pdm_k_list_at(k, 0, i);
        const int64_t *offsets = t ? pdm_nn_lod(k, t, &sequences) : NULL;
        if (!offsets || t->rank != 2 || t->dims[1] != n || sequences != count ||
            !pdm_nn_floats(k, t)) {
            pdm_k_fail(k, "the operands do not fit together");
            break;
        }
        for (int64_t s = 0; s < count; s++) {
            pool(t, offsets[s], offsets[s + 1], how, 0, row);
            if (logs)
                take_logs(row);
            pdm_nn_store(out, s * dims[1] + (int64_t)i * width, 1, width, row + skip);
        }
    }
    free(row);
    return out && PDM_K_OK(k) ? row_sequences(k, out) : k->status;
}

pdm_status pdm_kernel_fusion_seqpool_concat(pdm_k *k)
{
    return pool_and_join(k, false, 0);
}

pdm_status pdm_kernel_fusion_seqpool_cvm_concat(pdm_k *k)
{
    const bool use = pdm_k_bool(k, "use_cvm");

    return pool_and_join(k, use, use ? 0 : 2);
}

/* One result for each operand. */
pdm_status pdm_kernel_fused_seqpool_cvm(pdm_k *k)
{
    const size_t inputs = pdm_k_list_count(k, 0);
    const bool use = pdm_k_bool(k, "use_cvm");
    const int64_t offset = pdm_k_int(k, "cvm_offset");
    const double pad = pdm_k_float(k, "pad_value");
    const pooling how = pooling_of(k);

    for (size_t i = 0; i < inputs && PDM_K_OK(k); i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        int64_t count = 0;
        const int64_t *offsets = pdm_nn_floats(k, x) ? pdm_nn_lod(k, x, &count) : NULL;
        if (!offsets)
            break;
        const int64_t n = x->rank == 2 ? x->dims[1] : 0, skip = use ? 0 : offset;
        if (n < 2 || skip < 0 || skip > n)
            return pdm_k_fail(k, "rows of %lld elements are too short", (long long)n);
        const int64_t dims[2] = {count, n - skip};
        void *data = pdm_k_out_at(k, 0, i, x->dtype, 2, dims);
        double *row = data ? pdm_nn_room(k, n) : NULL;
        pdm_tensor out = {.dtype = x->dtype, .rank = 2, .dims = {count, n - skip}, .data = data};
        for (int64_t s = 0; s < count && row; s++) {
            pool(x, offsets[s], offsets[s + 1], how, pad, row);
            if (use)
                take_logs(row);
            pdm_nn_store(&out, s * dims[1], 1, dims[1], row + skip);
        }
        free(row);
    }
    return k->status;
}
