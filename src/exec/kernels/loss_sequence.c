/* Losses over alignments: CTC and RNN transducer, by their forward recursions. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

/* log(exp(a) + exp(b)) */
static double log_add(double a, double b)
{
    const double most = a > b ? a : b, least = a > b ? b : a;

    return most == -INFINITY ? most : most + log1p(exp(least - most));
}

/* Logarithms of the probabilities of n logits. */
static void log_softmax(const pdm_tensor *x, int64_t first, int64_t n, double *to)
{
    double most = -INFINITY, sum = 0;

    pdm_nn_load(x, first, 1, n, to);
    for (int64_t i = 0; i < n; i++)
        most = to[i] > most ? to[i] : most;
    for (int64_t i = 0; i < n; i++)
        sum += exp(to[i] - most);
    for (int64_t i = 0; i < n; i++)
        to[i] -= most + log(sum);
}

/* ---- warpctc -------------------------------------------------------------------------------- */

/* One sequence: rows of logits (element first + t * stride), labels from label_first. */
typedef struct ctc {
    const pdm_tensor *logits, *label;
    int64_t classes, blank;
    double *probabilities; /* room for one step */
    double *alpha;         /* room for two rows of 2 * labels + 1 */
} ctc;

static int64_t symbol(const ctc *c, int64_t label_first, int64_t i)
{
    return i % 2 == 0 ? c->blank : pdm_get_int(c->label, label_first + i / 2);
}

static double ctc_loss(const ctc *c, int64_t first, int64_t stride, int64_t steps,
                       int64_t label_first, int64_t labels)
{
    const int64_t n = 2 * labels + 1;
    double *now = c->alpha, *before = c->alpha + n;

    if (steps == 0)
        return labels == 0 ? 0 : INFINITY;
    for (int64_t t = 0; t < steps; t++) {
        double *swap = now;
        now = before;
        before = swap;
        log_softmax(c->logits, first + t * stride, c->classes, c->probabilities);
        for (int64_t i = 0; i < n; i++) {
            const int64_t s = symbol(c, label_first, i);
            double sum = t == 0 ? (i < 2 ? 0 : -INFINITY) : before[i];
            if (t > 0 && i > 0)
                sum = log_add(sum, before[i - 1]);
            if (t > 0 && i > 1 && s != c->blank && s != symbol(c, label_first, i - 2))
                sum = log_add(sum, before[i - 2]);
            now[i] = sum + c->probabilities[s];
        }
    }
    return -(n > 1 ? log_add(now[n - 1], now[n - 2]) : now[0]);
}

static bool labels_fit(pdm_k *k, const ctc *c, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t label = pdm_get_int(c->label, first + i);
        if (label < 0 || label >= c->classes) {
            pdm_k_fail(k, "label %lld is outside of %lld classes", (long long)label,
                       (long long)c->classes);
            return false;
        }
    }
    return true;
}

/* Where the sequences are: by LoD, or padded [steps][batch][classes] with lengths. */
typedef struct alignment {
    int64_t count, longest;
    const int64_t *offsets, *label_offsets; /* LoD */
    const pdm_tensor *lengths, *label_lengths;
    int64_t steps, batch, label_width;
} alignment;

static void bounds(const alignment *a, int64_t i, int64_t *steps, int64_t *label_first,
                   int64_t *labels)
{
    if (a->offsets) {
        *steps = a->offsets[i + 1] - a->offsets[i];
        *label_first = a->label_offsets[i];
        *labels = a->label_offsets[i + 1] - *label_first;
    } else {
        *steps = pdm_get_int(a->lengths, i);
        *label_first = i * a->label_width;
        *labels = pdm_get_int(a->label_lengths, i);
    }
}

static bool align(pdm_k *k, const ctc *c, alignment *a)
{
    a->lengths = pdm_k_in_opt(k, 2);
    a->label_lengths = pdm_k_in_opt(k, 3);
    if (!a->lengths || !a->label_lengths) {
        int64_t count = 0;
        a->offsets = pdm_nn_lod(k, c->logits, &a->count);
        a->label_offsets = a->offsets ? pdm_nn_lod(k, c->label, &count) : NULL;
        if (a->label_offsets && (count != a->count || c->logits->rank != 2))
            pdm_k_fail(k, "logits and labels have %lld and %lld sequences", (long long)a->count,
                       (long long)count);
    } else if (pdm_nn_rank_is(k, c->logits, 3, 3, "logits") &&
               pdm_nn_rank_is(k, c->label, 2, 2, "label")) {
        a->steps = c->logits->dims[0];
        a->batch = a->count = c->logits->dims[1];
        a->label_width = c->label->dims[1];
        if (c->label->dims[0] != a->count ||
            !pdm_nn_count_is(k, a->lengths, a->count, "logits_length") ||
            !pdm_nn_count_is(k, a->label_lengths, a->count, "labels_length"))
            pdm_k_fail(k, "labels do not fit the logits");
    }
    for (int64_t i = 0; i < a->count && PDM_K_OK(k); i++) {
        int64_t steps, first, labels;
        bounds(a, i, &steps, &first, &labels);
        if (!a->offsets && (steps < 0 || steps > a->steps || labels < 0 || labels > a->label_width))
            pdm_k_fail(k, "sequence %lld has %lld steps, %lld labels", (long long)i,
                       (long long)steps, (long long)labels);
        else if (labels_fit(k, c, first, labels) && labels > a->longest)
            a->longest = labels;
    }
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_warpctc(pdm_k *k)
{
    ctc c = {.logits = pdm_k_in(k, 0), .label = pdm_k_in(k, 1), .blank = pdm_k_int(k, "blank")};
    alignment a = {0};

    if (!pdm_nn_floats(k, c.logits) || !c.label || !pdm_nn_rank_is(k, c.logits, 2, 3, "logits"))
        return k->status;
    c.classes = c.logits->dims[c.logits->rank - 1];
    if (c.blank < 0 || c.blank >= c.classes)
        return pdm_k_fail(k, "blank %lld is outside of %lld classes", (long long)c.blank,
                          (long long)c.classes);
    if (!align(k, &c, &a))
        return k->status;
    const int64_t dims[2] = {a.count, 1};
    pdm_tensor *out = pdm_nn_out(k, 0, c.logits->dtype, 2, dims);
    c.probabilities = pdm_nn_room(k, c.classes);
    c.alpha = pdm_nn_room(k, 2 * (2 * a.longest + 1));
    for (int64_t i = 0; i < a.count && out && c.probabilities && c.alpha; i++) {
        int64_t steps, label_first, labels;
        bounds(&a, i, &steps, &label_first, &labels);
        const int64_t first = a.offsets ? a.offsets[i] * c.classes : i * c.classes;
        const int64_t stride = a.offsets ? c.classes : a.batch * c.classes;
        pdm_nn_put(out, i, ctc_loss(&c, first, stride, steps, label_first, labels));
    }
    free(c.probabilities);
    free(c.alpha);
    return k->status;
}

/* ---- warprnnt ------------------------------------------------------------------------------- */

/* The input holds logarithms of probabilities, as it does on the framework's CPU. */
typedef struct transducer {
    const pdm_tensor *x, *label;
    int64_t steps, width, classes, blank; /* width: labels + 1 */
    double *alpha;                        /* two rows of width */
} transducer;

static double transducer_loss(const transducer *r, int64_t n, int64_t steps, int64_t labels)
{
    double *now = r->alpha, *before = r->alpha + r->width, last = 0;

    for (int64_t t = 0; t < steps; t++) {
        double from_left = -INFINITY;
        for (int64_t u = 0; u <= labels; u++) {
            const double sum = t == 0 && u == 0 ? 0
                               : t == 0         ? from_left
                                                : log_add(before[u], from_left);
            const int64_t at = ((n * r->steps + t) * r->width + u) * r->classes;
            now[u] = last = sum + pdm_nn_at(r->x, at + r->blank);
            if (u < labels)
                from_left =
                    sum + pdm_nn_at(r->x, at + pdm_get_int(r->label, n * (r->width - 1) + u));
        }
        double *swap = now;
        now = before;
        before = swap;
    }
    return -last;
}

pdm_status pdm_kernel_warprnnt(pdm_k *k)
{
    transducer r = {.x = pdm_k_in(k, 0), .label = pdm_k_in(k, 1), .blank = pdm_k_int(k, "blank")};
    const pdm_tensor *lengths = pdm_k_in(k, 2), *label_lengths = pdm_k_in(k, 3);

    if (!pdm_nn_floats(k, r.x) || !r.label || !lengths || !label_lengths ||
        !pdm_nn_rank_is(k, r.x, 4, 4, "input") || !pdm_nn_rank_is(k, r.label, 2, 2, "label"))
        return k->status;
    const int64_t batch = r.x->dims[0];
    r.steps = r.x->dims[1];
    r.width = r.x->dims[2];
    r.classes = r.x->dims[3];
    if (r.label->dims[0] != batch || r.label->dims[1] != r.width - 1 || r.blank < 0 ||
        r.blank >= r.classes || !pdm_nn_count_is(k, lengths, batch, "input_lengths") ||
        !pdm_nn_count_is(k, label_lengths, batch, "label_lengths"))
        return pdm_k_fail(k, "the operands do not fit together");
    const int64_t dims[1] = {batch};
    pdm_tensor *out = pdm_nn_out(k, 0, r.x->dtype, 1, dims);
    r.alpha = pdm_nn_room(k, 2 * r.width);
    const ctc labels = {.label = r.label, .classes = r.classes};
    for (int64_t i = 0; i < batch && out && r.alpha && PDM_K_OK(k); i++) {
        const int64_t steps = pdm_get_int(lengths, i), n = pdm_get_int(label_lengths, i);
        if (steps < 1 || steps > r.steps || n < 0 || n >= r.width)
            pdm_k_fail(k, "sequence %lld has %lld steps, %lld labels", (long long)i,
                       (long long)steps, (long long)n);
        else if (labels_fit(k, &labels, i * (r.width - 1), n))
            pdm_nn_put(out, i, transducer_loss(&r, i, steps, n));
    }
    free(r.alpha);
    return k->status;
}
