/* Losses against sampled classes and with margins: nce, margin_cross_entropy. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- nce ------------------------------------------------------------------------------------- */

typedef struct noise {
    int64_t classes, samples, labels;
    enum { UNIFORM, LOG_UNIFORM, CUSTOM } sampler;
    int64_t given[PDM_K_MAX_INTS]; /* classes to take instead of samples */
    size_t num_given;
    const pdm_tensor *probabilities; /* CUSTOM */
    pdm_rng *rng;
} noise;

static double probability(const noise *n, int64_t c)
{
    if (n->sampler == CUSTOM)
        return pdm_nn_at(n->probabilities, c);
    if (n->sampler == LOG_UNIFORM)
        return log((double)(c + 2) / (double)(c + 1)) / log((double)n->classes);
    return 1 / (double)n->classes;
}

static int64_t draw(const noise *n)
{
    const double u = n->rng ? pdm_rng_uniform(n->rng) : 0;
    int64_t c = (int64_t)(u * (double)n->classes);

    if (n->sampler == LOG_UNIFORM) {
        c = (int64_t)(exp(u * log((double)n->classes)) - 1);
    } else if (n->sampler == CUSTOM) {
        double rest = u;
        for (c = 0; c + 1 < n->classes && rest >= probability(n, c); c++)
            rest -= probability(n, c);
    }
    return c < 0 ? 0 : c >= n->classes ? n->classes - 1 : c;
}

static bool read_noise(pdm_k *k, noise *n)
{
    const int64_t sampler = pdm_k_int(k, "sampler");

    n->classes = pdm_k_int(k, "num_total_classes");
    n->samples = pdm_k_int(k, "num_neg_samples");
    n->num_given = pdm_k_ints(k, "custom_neg_classes", n->given);
    n->sampler = sampler == 1 ? LOG_UNIFORM : sampler == 2 ? CUSTOM : UNIFORM;
    n->rng = k->rng;
    if (!PDM_K_OK(k))
        return false;
    if (n->num_given > 0)
        n->samples = (int64_t)n->num_given;
    if (n->classes < 1 || n->classes > INT32_MAX || n->samples < 0 || n->samples > INT32_MAX ||
        sampler < 0 || sampler > 2)
        pdm_k_fail(k, "%lld classes, %lld samples, sampler %lld", (long long)n->classes,
                   (long long)n->samples, (long long)sampler);
    if (n->sampler == CUSTOM) {
        n->probabilities = pdm_k_in(k, 5);
        if (pdm_nn_floats(k, n->probabilities))
            pdm_nn_count_is(k, n->probabilities, n->classes, "custom_dist_probs");
    }
    return PDM_K_OK(k);
}

/* Cost of row i; classes and their sigmoids are stored if wanted. */
static double noise_row(pdm_k *k, const noise *n, int64_t i, pdm_tensor *logits,
                        pdm_tensor *classes)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *label = pdm_k_in(k, 1), *w = pdm_k_in(k, 2);
    const pdm_tensor *bias = pdm_k_in_opt(k, 3);
    const int64_t all = n->labels + n->samples, width = x->dims[1];
    double cost = 0;

    for (int64_t j = 0; j < all && PDM_K_OK(k); j++) {
        const int64_t c = j < n->labels      ? pdm_get_int(label, i * n->labels + j)
                          : n->num_given > 0 ? n->given[j - n->labels]
                                             : draw(n);
        if (c < 0 || c >= n->classes) {
            pdm_k_fail(k, "class %lld of %lld", (long long)c, (long long)n->classes);
            break;
        }
        double sum = bias ? pdm_nn_at(bias, c) : 0;
        for (int64_t d = 0; d < width; d++)
            sum += pdm_nn_at(x, i * width + d) * pdm_nn_at(w, c * width + d);
        const double o = pdm_nn_sigmoid(sum), q = probability(n, c) * (double)n->samples;
        cost -= log((j < n->labels ? o : q) / (o + q));
        if (logits)
            pdm_nn_put(logits, i * all + j, o);
        if (classes)
            pdm_set_int(classes, i * all + j, c);
    }
    return cost;
}

pdm_status pdm_kernel_nce(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *label = pdm_k_in(k, 1), *w = pdm_k_in(k, 2);
    const pdm_tensor *bias = pdm_k_in_opt(k, 3), *weight = pdm_k_in_opt(k, 4);
    noise n = {0};

    if (!pdm_nn_floats(k, x) || !label || !pdm_nn_floats(k, w) ||
        !pdm_nn_rank_is(k, x, 2, 2, "input") || !pdm_nn_rank_is(k, label, 1, 2, "label") ||
        !pdm_nn_rank_is(k, w, 2, 2, "weight") || !read_noise(k, &n))
        return k->status;
    const int64_t rows = x->dims[0];
    n.labels = label->rank == 2 ? label->dims[1] : 1;
    if (label->dims[0] != rows || w->dims[0] != n.classes || w->dims[1] != x->dims[1])
        return pdm_k_fail(k, "input, label and weight do not fit together");
    if (!pdm_nn_count_is(k, bias, n.classes, "bias") ||
        !pdm_nn_count_is(k, weight, rows, "sample_weight"))
        return k->status;
    const int64_t dims[2] = {rows, 1}, sample_dims[2] = {rows, n.labels + n.samples};
    pdm_tensor *out = pdm_nn_out(k, 0, x->dtype, 2, dims);
    pdm_tensor *logits = pdm_k_wants(k, 1) ? pdm_nn_out(k, 1, x->dtype, 2, sample_dims) : NULL;
    pdm_tensor *classes = pdm_k_wants(k, 2) ? pdm_nn_out(k, 2, PDM_I64, 2, sample_dims) : NULL;
    for (int64_t i = 0; i < rows && PDM_K_OK(k); i++) {
        const double cost = noise_row(k, &n, i, logits, classes);
        if (out)
            pdm_nn_put(out, i, cost * (weight ? pdm_nn_at(weight, i) : 1));
    }
    return k->status;
}

/* ---- margin_cross_entropy -------------------------------------------------------------------- */

/* Cosines to the class of the label lose a margin: cos(m1 * angle + m2) - m3; all are scaled. */
static bool margin_row(pdm_k *k, const pdm_tensor *x, int64_t row, int64_t label, double *values)
{
    const int64_t n = x->dims[1];
    const double m1 = pdm_k_float(k, "margin1"), m2 = pdm_k_float(k, "margin2");
    const double m3 = pdm_k_float(k, "margin3"), scale = pdm_k_float(k, "scale");
    double most = -INFINITY, sum = 0;

    if (label < 0 || label >= n) {
        pdm_k_fail(k, "label %lld of %lld classes", (long long)label, (long long)n);
        return false;
    }
    pdm_nn_load(x, row * n, 1, n, values);
    values[label] = cos(m1 * acos(values[label]) + m2) - m3;
    for (int64_t j = 0; j < n; j++) {
        values[j] *= scale;
        most = values[j] > most ? values[j] : most;
    }
    for (int64_t j = 0; j < n; j++)
        sum += exp(values[j] - most);
    for (int64_t j = 0; j < n; j++) /* logarithms of the softmax */
        values[j] -= most + log(sum);
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_margin_cross_entropy(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *label = pdm_k_in(k, 1);

    if (!pdm_nn_floats(k, x) || !label || !pdm_nn_rank_is(k, x, 2, 2, "logits"))
        return k->status;
    if (pdm_k_int(k, "nranks") > 1)
        return pdm_k_fail(k, "the classes are spread over processes");
    const int64_t rows = x->dims[0], n = x->dims[1], dims[2] = {rows, 1};
    if (!PDM_K_OK(k) || !pdm_nn_count_is(k, label, rows, "label"))
        return k->status;
    pdm_tensor *softmax = pdm_k_wants(k, 0) ? pdm_nn_out_like(k, 0, x) : NULL;
    pdm_tensor *loss = pdm_nn_out(k, 1, x->dtype, 2, dims);
    double *values = pdm_nn_room(k, n);
    for (int64_t i = 0; i < rows && values && PDM_K_OK(k); i++) {
        const int64_t c = pdm_get_int(label, i);
        if (!margin_row(k, x, i, c, values))
            break;
        if (loss)
            pdm_nn_put(loss, i, -values[c]);
        for (int64_t j = 0; j < n && softmax; j++)
            pdm_nn_put(softmax, i * n + j, exp(values[j]));
    }
    free(values);
    return k->status;
}
