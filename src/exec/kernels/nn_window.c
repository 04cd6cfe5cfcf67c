/* Sizes of windows: strides, paddings, layouts of convolution and pooling. */
#include "exec/kernels/nn_impl.h"

#define LIMIT (INT64_C(1) << 31)

bool pdm_nn_window_input(pdm_k *k, pdm_nn_window *w, const pdm_tensor *x, const char *layout)
{
    if (!x || !PDM_K_OK(k))
        return false;
    w->spatial = x->rank - 2;
    if (w->spatial < 1 || w->spatial > 3) {
        pdm_k_fail(k, "the operand has %d dimensions", x->rank);
        return false;
    }
    w->channels_last = layout[0] == 'N' && layout[1] && layout[strlen(layout) - 1] == 'C';
    w->batch = x->dims[0];
    w->channels = x->dims[w->channels_last ? x->rank - 1 : 1];
    for (int i = 0; i < 3; i++) {
        const int d = i - (3 - w->spatial);
        w->in[i] = d < 0 ? 1 : x->dims[w->channels_last ? d + 1 : d + 2];
        w->kernel[i] = w->stride[i] = w->dilation[i] = w->out[i] = 1;
        w->before[i] = w->after[i] = 0;
        if (w->in[i] >= LIMIT) {
            pdm_k_fail(k, "a dimension of %lld is too large", (long long)w->in[i]);
            return false;
        }
    }
    return true;
}

bool pdm_nn_window_ints(pdm_k *k, const pdm_nn_window *w, const char *name, const int64_t *values,
                        size_t count, int64_t least, int64_t to[3])
{
    if (!PDM_K_OK(k))
        return false;
    if (count != 1 && count != (size_t)w->spatial) {
        pdm_k_fail(k, "'%s' has %zu numbers, %d are needed", name, count, w->spatial);
        return false;
    }
    for (int i = 0; i < w->spatial; i++) {
        const int64_t value = values[count == 1 ? 0 : i];
        if (value < least || value >= LIMIT) {
            pdm_k_fail(k, "'%s' has the value %lld", name, (long long)value);
            return false;
        }
        to[3 - w->spatial + i] = value;
    }
    return true;
}

bool pdm_nn_window_attr(pdm_k *k, const pdm_nn_window *w, const char *name, int64_t least,
                        int64_t to[3])
{
    int64_t values[PDM_K_MAX_INTS];
    const size_t count = pdm_k_ints(k, name, values);

    return pdm_nn_window_ints(k, w, name, values, count, least, to);
}

/* Before and after each spatial dim from n, 2n or 2(n + 2) numbers. */
static bool explicit_pads(pdm_k *k, pdm_nn_window *w, const char *name)
{
    int64_t values[PDM_K_MAX_INTS];
    const size_t count = pdm_k_ints(k, name, values), n = (size_t)w->spatial;
    const size_t skip = count == 2 * (n + 2) ? (w->channels_last ? 2 : 4) : 0;

    if (!PDM_K_OK(k))
        return false;
    if (count != 1 && count != n && count != 2 * n && skip == 0) {
        pdm_k_fail(k, "'%s' has %zu numbers", name, count);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const bool pairs = count >= 2 * n && count != 1;
        const int64_t before = values[count == 1 ? 0 : pairs ? skip + 2 * i : i];
        const int64_t after = pairs ? values[skip + 2 * i + 1] : before;
        if (before <= -LIMIT || before >= LIMIT || after <= -LIMIT || after >= LIMIT) {
            pdm_k_fail(k, "'%s' has too large a value", name);
            return false;
        }
        w->before[3 - n + i] = before;
        w->after[3 - n + i] = after;
    }
    return true;
}

bool pdm_nn_window_pads(pdm_k *k, pdm_nn_window *w, const char *name, const char *algorithm,
                        bool adaptive)
{
    if (!explicit_pads(k, w, name))
        return false;
    for (int i = 3 - w->spatial; i < 3; i++) {
        if (adaptive || !strcmp(algorithm, "VALID")) {
            w->before[i] = w->after[i] = 0;
        } else if (!strcmp(algorithm, "SAME")) {
            const int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i];
            const int64_t sum = (out - 1) * w->stride[i] + w->kernel[i] - w->in[i];
            w->before[i] = sum > 0 ? sum / 2 : 0;
            w->after[i] = sum > 0 ? sum - sum / 2 : 0;
        }
    }
    return true;
}

int pdm_nn_window_dims(const pdm_nn_window *w, int64_t channels, const int64_t sizes[3],
                       int64_t dims[PDM_MAX_RANK])
{
    int rank = 0;

    dims[rank++] = w->batch;
    if (!w->channels_last)
        dims[rank++] = channels;
    for (int i = 3 - w->spatial; i < 3; i++)
        dims[rank++] = sizes[i];
    if (w->channels_last)
        dims[rank++] = channels;
    return rank;
}

void pdm_nn_window_strides(const pdm_nn_window *w, int64_t channels, const int64_t sizes[3],
                           int64_t strides[5])
{
    int64_t stride = w->channels_last ? channels : 1;

    for (int i = 2; i >= 0; i--) {
        strides[2 + i] = stride;
        stride *= sizes[i];
    }
    strides[1] = w->channels_last ? 1 : stride;
    strides[0] = w->channels_last ? stride : stride * channels;
}
