/* Reading and writing runs, activations. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

void pdm_nn_load(const pdm_tensor *tensor, int64_t first, int64_t stride, int64_t n, double *to)
{
    if (tensor->dtype == PDM_F32) {
        const float *x = (const float *)tensor->data + first;
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)x[i * stride];
    } else if (tensor->dtype == PDM_F64) {
        const double *x = (const double *)tensor->data + first;
        for (int64_t i = 0; i < n; i++)
            to[i] = x[i * stride];
    } else {
        for (int64_t i = 0; i < n; i++)
            to[i] = pdm_get_double(tensor, first + i * stride);
    }
}

void pdm_nn_store(pdm_tensor *tensor, int64_t first, int64_t stride, int64_t n, const double *from)
{
    if (tensor->dtype == PDM_F32) {
        float *x = (float *)tensor->data + first;
        for (int64_t i = 0; i < n; i++)
            x[i * stride] = (float)from[i];
    } else if (tensor->dtype == PDM_F64) {
        double *x = (double *)tensor->data + first;
        for (int64_t i = 0; i < n; i++)
            x[i * stride] = from[i];
    } else {
        for (int64_t i = 0; i < n; i++)
            pdm_set_double(tensor, first + i * stride, from[i]);
    }
}

bool pdm_nn_floats(pdm_k *k, const pdm_tensor *tensor)
{
    if (!tensor)
        return false;
    if (!pdm_dtype_is_float(tensor->dtype))
        pdm_k_unsupported_dtype(k, tensor->dtype);
    return PDM_K_OK(k);
}

bool pdm_nn_count_is(pdm_k *k, const pdm_tensor *tensor, int64_t count, const char *what)
{
    if (tensor && pdm_tensor_count(tensor) != count)
        pdm_k_fail(k, "%s has %lld elements, %lld are needed", what,
                   (long long)pdm_tensor_count(tensor), (long long)count);
    return PDM_K_OK(k);
}

bool pdm_nn_rank_is(pdm_k *k, const pdm_tensor *tensor, int lowest, int highest, const char *what)
{
    if (tensor && (tensor->rank < lowest || tensor->rank > highest))
        pdm_k_fail(k, "%s has %d dimensions, %d to %d are possible", what, tensor->rank, lowest,
                   highest);
    return PDM_K_OK(k);
}

double *pdm_nn_room(pdm_k *k, int64_t count)
{
    if (!PDM_K_OK(k))
        return NULL;
    double *room =
        count >= 0 && count < INT64_MAX / 8 ? calloc((size_t)count + 1, sizeof *room) : NULL;
    if (!room)
        pdm_k_nomem(k);
    return room;
}

double *pdm_nn_doubles(pdm_k *k, const pdm_tensor *tensor)
{
    const int64_t count = tensor ? pdm_tensor_count(tensor) : 0;
    double *room = tensor ? pdm_nn_room(k, count) : NULL;

    if (room)
        pdm_nn_load(tensor, 0, 1, count, room);
    return room;
}

pdm_tensor *pdm_nn_out(pdm_k *k, size_t index, pdm_dtype dtype, int rank, const int64_t *dims)
{
    return pdm_k_out(k, index, dtype, rank, dims) ? pdm_k_out_tensor(k, index) : NULL;
}

pdm_tensor *pdm_nn_out_like(pdm_k *k, size_t index, const pdm_tensor *like)
{
    return pdm_k_out_like(k, index, like) ? pdm_k_out_tensor(k, index) : NULL;
}

void pdm_nn_fill(pdm_tensor *tensor, double value)
{
    const int64_t n = pdm_tensor_count(tensor);

    if (value == 0)
        memset(tensor->data, 0, pdm_tensor_bytes(tensor));
    else
        for (int64_t i = 0; i < n; i++)
            pdm_set_double(tensor, i, value);
}

int64_t pdm_nn_mul(pdm_k *k, int64_t a, int64_t b)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product)) {
        pdm_k_fail(k, "a size is too large");
        return 0;
    }
    return product;
}

const int64_t *pdm_nn_lod(pdm_k *k, const pdm_tensor *x, int64_t *out_sequences)
{
    const size_t levels = x ? pdm_tensor_num_lod(x) : 0;
    size_t count = 0;

    if (!x || !PDM_K_OK(k))
        return NULL;
    if (levels == 0 || x->rank < 1) {
        pdm_k_fail(k, "the operand has no LoD");
        return NULL;
    }
    const int64_t *offsets = pdm_tensor_lod(x, levels - 1, &count);
    bool good = count > 0 && offsets[0] == 0 && offsets[count - 1] == x->dims[0];
    for (size_t i = 1; i < count; i++)
        good = good && offsets[i - 1] <= offsets[i];
    if (!good) {
        pdm_k_fail(k, "the LoD does not fit %lld rows", (long long)x->dims[0]);
        return NULL;
    }
    *out_sequences = (int64_t)count - 1;
    return offsets;
}

/* ---- activations ---------------------------------------------------------------------------- */

static double identity(double x)
{
    return x;
}

static double relu(double x)
{
    return x > 0 || isnan(x) ? x : 0;
}

static double relu6(double x)
{
    return x > 6 ? 6 : relu(x);
}

double pdm_nn_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

double pdm_nn_gelu(double x)
{
    return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
}

double pdm_nn_softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double swish(double x)
{
    return x * pdm_nn_sigmoid(x);
}

static double hard_sigmoid(double x)
{
    const double y = 0.2 * x + 0.5;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static double hard_swish(double x)
{
    return x * relu6(x + 3) / 6;
}

static double leaky_relu(double x)
{
    return x < 0 ? 0.02 * x : x;
}

pdm_nn_act pdm_nn_act_find(pdm_k *k, const char *name)
{
    static const struct {
        const char *name;
        pdm_nn_act act;
    } table[] = {{"", identity},
                 {"identity", identity},
                 {"linear", identity},
                 {"none", identity},
                 {"sigmoid", pdm_nn_sigmoid},
                 {"tanh", tanh},
                 {"relu", relu},
                 {"relu6", relu6},
                 {"gelu", pdm_nn_gelu},
                 {"swish", swish},
                 {"silu", swish},
                 {"hard_sigmoid", hard_sigmoid},
                 {"hard_swish", hard_swish},
                 {"hardswish", hard_swish},
                 {"leaky_relu", leaky_relu},
                 {"sqrt", sqrt},
                 {"exp", exp},
                 {"abs", fabs}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!strcmp(table[i].name, name))
            return table[i].act;
    }
    pdm_k_fail(k, "activation '%s' is not known", name);
    return identity;
}
