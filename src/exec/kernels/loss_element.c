/* Losses element by element; accuracy, auc, label_smooth. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- two operands of one shape -------------------------------------------------------------- */

typedef struct pair {
    double a, b; /* parameters */
    pdm_k *k;
} pair;

typedef double (*element_loss)(const pair *p, double x, double label);

static pdm_status each(pdm_k *k, element_loss f, double a, double b)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *label = pdm_k_in(k, 1);
    const pair p = {a, b, k};

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, label) ||
        !pdm_nn_count_is(k, label, pdm_tensor_count(x), "label"))
        return k->status;
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    const int64_t n = out ? pdm_tensor_count(x) : 0;
    for (int64_t i = 0; i < n && PDM_K_OK(k); i++)
        pdm_nn_put(out, i, f(&p, pdm_nn_at(x, i), pdm_nn_at(label, i)));
    return k->status;
}

static double bce(const pair *p, double x, double label)
{
    if (!(x >= 0 && x <= 1))
        pdm_k_fail(p->k, "a probability of %g", x);
    return -(fmax(log(x), -100) * label + fmax(log(1 - x), -100) * (1 - label));
}

pdm_status pdm_kernel_bce_loss(pdm_k *k)
{
    return each(k, bce, 0, 0);
}

static double log_loss(const pair *p, double x, double label)
{
    return -label * log(x + p->a) - (1 - label) * log(1 - x + p->a);
}

pdm_status pdm_kernel_log_loss(pdm_k *k)
{
    return each(k, log_loss, pdm_k_float(k, "epsilon"), 0);
}

static double hinge(const pair *p, double x, double label)
{
    const double loss = 1 - x * (2 * label - 1);

    (void)p;
    return loss > 0 ? loss : 0;
}

pdm_status pdm_kernel_hinge_loss(pdm_k *k)
{
    return each(k, hinge, 0, 0);
}

static double huber(const pair *p, double x, double label)
{
    const double far = fabs(label - x);

    return far <= p->a ? 0.5 * far * far : p->a * (far - 0.5 * p->a);
}

pdm_status pdm_kernel_huber_loss(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *label = pdm_k_in(k, 1);

    if (each(k, huber, pdm_k_float(k, "delta"), 0) != PDM_OK || !pdm_k_wants(k, 1))
        return k->status;
    pdm_tensor *residual = pdm_nn_out_like(k, 1, x);
    const int64_t n = residual ? pdm_tensor_count(x) : 0;
    for (int64_t i = 0; i < n; i++)
        pdm_nn_put(residual, i, pdm_nn_at(label, i) - pdm_nn_at(x, i));
    return k->status;
}

/* ---- kldiv_loss, identity_loss -------------------------------------------------------------- */

/* Result 0 with all of x (its shape), or one number. */
static pdm_status reduced(pdm_k *k, const pdm_tensor *x, double *values, const char *word)
{
    const int64_t n = pdm_tensor_count(x);
    const bool all = !strcmp(word, "none");
    double sum = 0;

    pdm_tensor *out = all ? pdm_nn_out_like(k, 0, x) : pdm_nn_out(k, 0, x->dtype, 0, NULL);
    if (out && all)
        pdm_nn_store(out, 0, 1, n, values);
    for (int64_t i = 0; i < n && !all; i++)
        sum += values[i];
    if (!strcmp(word, "mean"))
        sum /= (double)n;
    if (!strcmp(word, "batchmean"))
        sum /= x->rank > 0 ? (double)x->dims[0] : 1;
    if (out && !all)
        pdm_nn_put(out, 0, sum);
    free(values);
    return k->status;
}

pdm_status pdm_kernel_kldiv_loss(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *label = pdm_k_in(k, 1);
    const bool logs = pdm_k_bool(k, "log_target");
    const char *word = pdm_k_str(k, "reduction");

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, label) ||
        !pdm_nn_count_is(k, label, pdm_tensor_count(x), "label"))
        return k->status;
    double *values = pdm_nn_room(k, pdm_tensor_count(x));
    if (!values)
        return k->status;
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++) {
        const double t = pdm_nn_at(label, i), v = pdm_nn_at(x, i);
        values[i] = logs ? exp(t) * (t - v) : t > 0 ? t * (log(t) - v) : 0;
    }
    return reduced(k, x, values, word);
}

pdm_status pdm_kernel_identity_loss(pdm_k *k)
{
    static const char *const words[] = {"sum", "mean", "none"};
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t reduction = pdm_k_int(k, "reduction");

    if (!pdm_nn_floats(k, x))
        return k->status;
    if (reduction < 0 || reduction > 2)
        return pdm_k_fail(k, "reduction %lld is not known", (long long)reduction);
    double *values = pdm_nn_doubles(k, x);
    return values ? reduced(k, x, values, words[reduction]) : k->status;
}

/* ---- sigmoid_cross_entropy_with_logits ------------------------------------------------------ */

static double sigmoid_loss(double x, double label, double weight, bool before)
{
    const double least = x < 0 ? -x : 0, most = log(1 + exp(-fabs(x)));

    return before ? (1 - label) * x + least + weight * most : (1 - label) * x + weight * (most + least);
}

pdm_status pdm_kernel_sigmoid_cross_entropy_with_logits(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *label = pdm_k_in(k, 1), *weight = pdm_k_in_opt(k, 2);
    const double ignored = (double)pdm_k_int(k, "ignore_index");
    const bool normalize = pdm_k_bool(k, "normalize"), before = weight && pdm_k_before(k, PDM_DIFF_POS_WEIGHT);
    int64_t counted = 0;

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, label) ||
        !pdm_nn_count_is(k, label, pdm_tensor_count(x), "label") ||
        !pdm_nn_count_is(k, weight, pdm_tensor_count(x), "pos_weight"))
        return k->status;
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    const int64_t n = pdm_tensor_count(x);
    for (int64_t i = 0; i < n && normalize; i++)
        counted += fabs(pdm_nn_at(label, i) - ignored) > 1e-6;
    for (int64_t i = 0; i < n && out; i++) {
        const double t = pdm_nn_at(label, i);
        double loss = 0;
        if (fabs(t - ignored) > 1e-6)
            loss = sigmoid_loss(pdm_nn_at(x, i), t, weight ? pdm_nn_at(weight, i) : 1, before);
        pdm_nn_put(out, i, normalize ? loss / (counted > 0 ? (double)counted : 1e-6) : loss);
    }
    return k->status;
}

/* ---- label_smooth --------------------------------------------------------------------------- */

pdm_status pdm_kernel_label_smooth(pdm_k *k)
{
    const pdm_tensor *label = pdm_k_in(k, 0), *prior = pdm_k_in_opt(k, 1);
    const double epsilon = pdm_k_float(k, "epsilon");

    if (!pdm_nn_floats(k, label) || !pdm_nn_rank_is(k, label, 1, PDM_MAX_RANK, "label"))
        return k->status;
    const int64_t classes = label->dims[label->rank - 1], n = pdm_tensor_count(label);
    if (!pdm_nn_count_is(k, prior, classes, "prior_dist"))
        return k->status;
    pdm_tensor *out = pdm_nn_out_like(k, 0, label);
    for (int64_t i = 0; i < n && out; i++) {
        const double share = prior ? pdm_nn_at(prior, i % classes) : 1 / (double)classes;
        pdm_nn_put(out, i, (1 - epsilon) * pdm_nn_at(label, i) + epsilon * share);
    }
    return k->status;
}

/* ---- accuracy, auc -------------------------------------------------------------------------- */

pdm_status pdm_kernel_accuracy(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *indices = pdm_k_in(k, 1), *label = pdm_k_in(k, 2);
    int64_t correct = 0;

    if (!x || !indices || !label || !pdm_nn_rank_is(k, indices, 2, 2, "indices") ||
        !pdm_nn_count_is(k, label, indices->dims[0], "label"))
        return k->status;
    const int64_t rows = indices->dims[0], n = indices->dims[1];
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (pdm_get_int(indices, i * n + j) == pdm_get_int(label, i)) {
                correct++;
                break;
            }
        }
    }
    const double results[3] = {rows > 0 ? (double)correct / (double)rows : 0, (double)correct,
                               (double)rows};
    for (size_t i = 0; i < 3; i++) {
        pdm_tensor *out =
            pdm_k_wants(k, i) ? pdm_nn_out(k, i, i == 0 ? PDM_F32 : PDM_I32, 0, NULL) : NULL;
        if (out)
            pdm_nn_put(out, 0, results[i]);
    }
    return k->status;
}

/* Counts come from the model: they may be anything, and wrap around. */
static void add_to(int64_t *count, int64_t value)
{
    *count = (int64_t)((uint64_t)*count + (uint64_t)value);
}

/* Counts of labels by bucket of the probability. */
typedef struct counts {
    const pdm_tensor *x, *label, *weight;
    int64_t thresholds, steps;
    int64_t *by_label[2]; /* whole results: positive, negative */
} counts;

static bool count_labels(pdm_k *k, const counts *c, int64_t *positive, int64_t *negative)
{
    const int64_t rows = c->x->dims[0], width = c->x->dims[1];

    for (int64_t i = 0; i < rows; i++) {
        const double p = pdm_nn_at(c->x, i * width + width - 1);
        if (!(p >= 0 && p <= 1)) {
            pdm_k_fail(k, "a probability of %g", p);
            return false;
        }
        const float scaled = (float)p * (float)c->thresholds;
        const int64_t bucket = (int64_t)scaled;
        const int64_t weight = c->weight ? pdm_get_int(c->weight, i) : 1;
        add_to(&(pdm_get_int(c->label, i) ? positive : negative)[bucket], weight);
    }
    return true;
}

static double area(const int64_t *positive, const int64_t *negative, int64_t thresholds)
{
    double sum = 0, pos = 0, neg = 0;

    for (int64_t i = thresholds; i >= 0; i--) {
        const double pos_before = pos, neg_before = neg;
        pos += (double)positive[i];
        neg += (double)negative[i];
        sum += fabs(neg - neg_before) * (pos + pos_before) / 2;
    }
    return pos > 0 && neg > 0 ? sum / pos / neg : sum;
}

/* With slide_steps the statistics are a ring of batches, their sum, and the number of batches. */
static void slide(const counts *c, int64_t *stats, const int64_t *now)
{
    const int64_t n = c->thresholds + 1;
    int64_t *sum = stats + c->steps * n, *turn = stats + (c->steps + 1) * n;
    int64_t *place = stats + *turn % c->steps * n;

    for (int64_t i = 0; i < n; i++) {
        add_to(&sum[i], now[i]);
        add_to(&sum[i], (int64_t) - (uint64_t)place[i]);
        place[i] = now[i];
    }
    ++*turn;
}

pdm_status pdm_kernel_auc(pdm_k *k)
{
    counts c = {.x = pdm_k_in(k, 0),
                .label = pdm_k_in(k, 1),
                .weight = pdm_k_in_opt(k, 4),
                .thresholds = pdm_k_int(k, "num_thresholds"),
                .steps = pdm_k_int(k, "slide_steps")};
    const pdm_tensor *stats[2] = {pdm_k_in(k, 2), pdm_k_in(k, 3)};

    if (!pdm_nn_floats(k, c.x) || !c.label || !stats[0] || !stats[1] ||
        !pdm_nn_rank_is(k, c.x, 2, 2, "x") || !pdm_nn_count_is(k, c.label, c.x->dims[0], "label") ||
        !pdm_nn_count_is(k, c.weight, c.x->dims[0], "ins_tag_weight"))
        return k->status;
    if (c.thresholds < 1 || c.thresholds > INT32_MAX || c.steps < 0 || c.steps > INT32_MAX ||
        c.x->dims[1] < 1)
        return pdm_k_fail(k, "%lld thresholds, %lld steps", (long long)c.thresholds,
                          (long long)c.steps);
    const int64_t n = c.thresholds + 1;
    const int64_t wanted = c.steps == 0 ? n : (c.steps + 1) * n + 1;
    int64_t *now = (int64_t *)pdm_nn_room(k, 2 * n), *whole[2] = {NULL, NULL};
    for (size_t i = 0; i < 2 && now && PDM_K_OK(k); i++) {
        if (stats[i]->dtype != PDM_I64)
            pdm_k_unsupported_dtype(k, stats[i]->dtype);
        else if (pdm_nn_count_is(k, stats[i], wanted, "the statistics"))
            whole[i] = pdm_k_out_like(k, 1 + i, stats[i]);
        if (whole[i])
            memcpy(whole[i], stats[i]->data, pdm_tensor_bytes(stats[i]));
    }
    if (whole[0] && whole[1] && now && count_labels(k, &c, now, now + n)) {
        for (int64_t s = 0; s < 2; s++) {
            if (c.steps > 0) {
                if (whole[s][wanted - 1] < 0 || whole[s][wanted - 1] == INT64_MAX)
                    whole[s][wanted - 1] = 0;
                slide(&c, whole[s], now + s * n);
                whole[s] += c.steps * n;
            } else {
                for (int64_t i = 0; i < n; i++)
                    add_to(&whole[s][i], now[s * n + i]);
            }
        }
        pdm_tensor *out = pdm_nn_out(k, 0, PDM_F64, 0, NULL);
        if (out)
            pdm_nn_put(out, 0, area(whole[0], whole[1], c.thresholds));
    }
    free(now);
    return k->status;
}
