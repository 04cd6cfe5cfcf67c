/* Constants of lowered programs: filters and biases with what follows them multiplied in, and packed. */
#include "exec/fast/dense.h"
#include "exec/kernels/nn_impl.h"
#include "ir/channels.h"

/* Number i of an operand that has one or many; 0-D and 1-element operands stand for all. */
static double number(const pdm_tensor *t, int64_t i, double none)
{
    return t ? pdm_nn_at(t, pdm_tensor_count(t) == 1 ? 0 : i) : none;
}

static bool fits(pdm_k *k, const pdm_tensor *t, int64_t count)
{
    if (t && pdm_nn_floats(k, t) && pdm_tensor_count(t) != 1 && pdm_tensor_count(t) != count)
        pdm_k_fail(k, "an operand has %lld elements instead of %lld",
                   (long long)pdm_tensor_count(t), (long long)count);
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_fast_bn_factor(pdm_k *k)
{
    const pdm_tensor *variance = pdm_k_in(k, 0), *scale = pdm_k_in_opt(k, 1);
    const double epsilon = pdm_k_float(k, "epsilon");

    if (!pdm_nn_floats(k, variance) || !fits(k, scale, pdm_tensor_count(variance)))
        return k->status;
    const int64_t count = pdm_tensor_count(variance);
    float *out = pdm_k_out(k, 0, PDM_F32, 1, &count);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = (float)pdm_ir_norm_factor(number(scale, i, 1), number(variance, i, 0), epsilon);
    return k->status;
}

pdm_status pdm_kernel_fast_bn_shift(pdm_k *k)
{
    const pdm_tensor *mean = pdm_k_in(k, 0), *factor = pdm_k_in(k, 1), *bias = pdm_k_in_opt(k, 2);

    if (!pdm_nn_floats(k, mean) || !pdm_nn_floats(k, factor) ||
        !fits(k, factor, pdm_tensor_count(mean)) || !fits(k, bias, pdm_tensor_count(mean)))
        return k->status;
    const int64_t count = pdm_tensor_count(mean);
    float *out = pdm_k_out(k, 0, PDM_F32, 1, &count);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = (float)pdm_ir_norm_shift(number(bias, i, 0), number(mean, i, 0), number(factor, i, 0));
    return k->status;
}

pdm_status pdm_kernel_fast_fold_bias(pdm_k *k)
{
    const pdm_tensor *bias = pdm_k_in_opt(k, 0), *factor = pdm_k_in_opt(k, 1),
                     *shift = pdm_k_in_opt(k, 2);
    const int64_t count = pdm_k_int(k, "channels");

    if (PDM_K_OK(k) && (count < 0 || count > INT32_MAX))
        return pdm_k_fail(k, "there are %lld channels", (long long)count);
    if (!fits(k, bias, count) || !fits(k, factor, count) || !fits(k, shift, count))
        return k->status;
    float *out = pdm_k_out(k, 0, PDM_F32, 1, &count);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = (float)pdm_ir_channel_bias(number(bias, i, 0), number(factor, i, 1), number(shift, i, 0));
    return k->status;
}

/* A number for each index of one dim, that of the output channels. */
pdm_status pdm_kernel_fast_fold_filter(pdm_k *k)
{
    const pdm_tensor *filter = pdm_k_in(k, 0), *factor = pdm_k_in(k, 1);
    const int64_t axis = pdm_k_int(k, "axis");
    int64_t each = 1;

    if (!pdm_nn_floats(k, filter) || !pdm_nn_floats(k, factor))
        return k->status;
    if (axis < 0 || axis >= filter->rank || !fits(k, factor, filter->dims[axis]))
        return pdm_k_fail(k, "the factors do not fit the filter");
    for (int i = (int)axis + 1; i < filter->rank; i++)
        each *= filter->dims[i];
    const int64_t count = pdm_tensor_count(filter), channels = filter->dims[axis];
    float *out = pdm_k_out(k, 0, PDM_F32, filter->rank, filter->dims);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = (float)(pdm_nn_at(filter, i) * number(factor, i / each % channels, 1));
    return k->status;
}

static bool is_filter(pdm_k *k, const pdm_tensor *filter)
{
    if (filter && PDM_K_OK(k) && (filter->dtype != PDM_F32 || filter->rank != 4))
        pdm_k_fail(k, "a filter is no float32 tensor of 4 dimensions");
    return PDM_K_OK(k);
}

/* The sum of the weights of a 3x3 kernel that fall on element (y, x) of the 2x2 kernel of a phase. */
static float sum_of_phase(const float *w, const int64_t phase[2], int64_t y, int64_t x)
{
    /* Phase 0 has weight 0 alone, phase 1 weight 2. */
    const int64_t y0 = y == 0 ? 0 : 1 + phase[0], y1 = y == 0 ? 1 + phase[0] : 3,
                  x0 = x == 0 ? 0 : 1 + phase[1], x1 = x == 0 ? 1 + phase[1] : 3;
    double sum = 0;

    for (int64_t i = y0; i < y1; i++) {
        for (int64_t j = x0; j < x1; j++)
            sum += (double)w[3 * i + j];
    }
    return (float)sum;
}

/* Some input channels of a filter; with a phase, its 3x3 kernels for an image of which each place is repeated twice, both ways. */
pdm_status pdm_kernel_fast_take_filter(pdm_k *k)
{
    const pdm_tensor *filter = pdm_k_in(k, 0);
    int64_t parts[PDM_K_MAX_INTS], phase[PDM_K_MAX_INTS], taken = 0;
    const size_t num_parts = pdm_k_ints(k, "parts", parts), num_phase = pdm_k_ints(k, "phase", phase);

    if (!is_filter(k, filter))
        return k->status;
    const int64_t *d = filter->dims, places = d[2] * d[3], out_places = num_phase > 0 ? 4 : places;
    bool fits = num_parts % 2 == 0 && (num_phase == 0 || (num_phase == 2 && d[2] == 3 && d[3] == 3 &&
                                                          phase[0] >> 1 == 0 && phase[1] >> 1 == 0));
    for (size_t i = 0; fits && i < num_parts; i += 2) {
        fits = parts[i] >= 0 && parts[i + 1] >= parts[i] && parts[i + 1] <= d[1];
        taken += parts[i + 1] - parts[i];
    }
    if (!fits || taken > d[1])
        return pdm_k_fail(k, "the parts do not fit the filter");
    float *out = pdm_k_out(k, 0, PDM_F32, 4, (int64_t[]){d[0], taken, num_phase > 0 ? 2 : d[2], num_phase > 0 ? 2 : d[3]});
    for (int64_t o = 0; out && o < d[0]; o++) {
        for (size_t i = 0; i < num_parts; i += 2) {
            for (int64_t c = parts[i]; c < parts[i + 1]; c++) {
                const float *from = (const float *)filter->data + (o * d[1] + c) * places;
                for (int64_t e = 0; e < out_places; e++)
                    *out++ = num_phase > 0 ? sum_of_phase(from, phase, e / 2, e % 2) : from[e];
            }
        }
    }
    return k->status;
}

/* [out, in, h, w] to panels of output channels, group by group; depth is (h, w, in). */
pdm_status pdm_kernel_fast_pack_conv(pdm_k *k)
{
    const pdm_tensor *filter = pdm_k_in(k, 0);
    const int64_t groups = pdm_k_int(k, "groups");

    if (!is_filter(k, filter))
        return k->status;
    const int64_t *d = filter->dims;
    if (groups < 1 || d[0] % groups != 0)
        return pdm_k_fail(k, "the filter does not fit %lld groups", (long long)groups);
    const int64_t cols = d[0] / groups, places = d[2] * d[3], depth = d[1] * places;
    const int64_t floats = pdm_nn_mul(k, pdm_nn_mul(k, depth, pdm_dense_padded(cols)), groups);
    int64_t *offsets = pdm_k_temp(k, ((size_t)depth + 1) * sizeof *offsets);
    float *out = PDM_K_OK(k) ? pdm_k_out(k, 0, PDM_F32, 1, &floats) : NULL;
    if (!out || !offsets)
        return k->status;
    for (int64_t i = 0; i < depth; i++)
        offsets[i] = i % d[1] * places + i / d[1];
    for (int64_t g = 0; g < groups; g++)
        pdm_dense_pack((const float *)filter->data + g * cols * depth, offsets, depth, depth, cols,
                       d[1] % 2 == 0, out + g * (floats / groups));
    return k->status;
}

/* [in, out, h, w] to panels of columns (h, w, out). */
pdm_status pdm_kernel_fast_pack_transposed(pdm_k *k)
{
    const pdm_tensor *filter = pdm_k_in(k, 0);

    if (!is_filter(k, filter))
        return k->status;
    const int64_t *d = filter->dims, places = d[2] * d[3], cols = d[1] * places;
    const int64_t floats = pdm_nn_mul(k, d[0], pdm_dense_padded(cols));
    const size_t count = (size_t)pdm_tensor_count(filter);
    int64_t *offsets = pdm_k_temp(k, ((size_t)d[0] + 1) * sizeof *offsets);
    float *turned = pdm_k_temp(k, (count + 1) * sizeof *turned);
    float *out = PDM_K_OK(k) ? pdm_k_out(k, 0, PDM_F32, 1, &floats) : NULL;
    if (!out || !offsets || !turned)
        return k->status;
    for (int64_t i = 0; i < d[0]; i++) {
        offsets[i] = i * cols;
        for (int64_t j = 0; j < cols; j++)
            turned[i * cols + j] = ((const float *)filter->data)[i * cols + j % d[1] * places + j / d[1]];
    }
    pdm_dense_pack(turned, offsets, 1, d[0], cols, d[0] % 2 == 0, out);
    return k->status;
}

/* [depth, cols], or turned [cols, depth], to panels of columns. */
pdm_status pdm_kernel_fast_pack_matrix(pdm_k *k)
{
    const pdm_tensor *matrix = pdm_k_in(k, 0);
    const bool turned = pdm_k_bool(k, "turned");

    if (!PDM_K_OK(k))
        return k->status;
    if (matrix->dtype != PDM_F32 || matrix->rank != 2)
        return pdm_k_fail(k, "no float32 matrix");
    const int64_t depth = matrix->dims[turned ? 1 : 0], cols = matrix->dims[turned ? 0 : 1];
    const int64_t floats = pdm_nn_mul(k, depth, pdm_dense_padded(cols));
    int64_t *offsets = pdm_k_temp(k, ((size_t)depth + 1) * sizeof *offsets);
    float *out = PDM_K_OK(k) ? pdm_k_out(k, 0, PDM_F32, 1, &floats) : NULL;
    if (!out || !offsets)
        return k->status;
    for (int64_t i = 0; i < depth; i++)
        offsets[i] = turned ? i : i * cols;
    pdm_dense_pack(matrix->data, offsets, turned ? depth : 1, depth, cols, depth % 2 == 0,
                   out);
    return k->status;
}

/* [out, 1, h, w] to [h, w, out]. */
pdm_status pdm_kernel_fast_pack_depthwise(pdm_k *k)
{
    const pdm_tensor *filter = pdm_k_in(k, 0);

    if (!is_filter(k, filter))
        return k->status;
    const int64_t *d = filter->dims, places = d[2] * d[3];
    if (d[1] != 1)
        return pdm_k_fail(k, "the filter has more than one channel");
    float *out = pdm_k_out(k, 0, PDM_F32, 3, (int64_t[]){d[2], d[3], d[0]});
    for (int64_t c = 0; out && c < d[0]; c++) {
        for (int64_t p = 0; p < places; p++)
            out[p * d[0] + c] = ((const float *)filter->data)[c * places + p];
    }
    return k->status;
}
