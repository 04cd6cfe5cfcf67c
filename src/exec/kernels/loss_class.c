/* Losses over classes: cross entropy, negative log likelihood, hierarchical softmax. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- cross_entropy_with_softmax ------------------------------------------------------------- */

typedef struct entropy {
    const pdm_tensor *x, *label;
    pdm_tensor *softmax, *loss;
    int64_t classes, inner, outer, ignored;
    bool soft, use_softmax;
} entropy;

/* Infinities count as 1e20, as the framework has it. */
static double tolerable(double value)
{
    return value == INFINITY ? 1e20 : value == -INFINITY ? -1e20 : value;
}

/* Probabilities of one row, rounded to the element type; differences below -64 count as -64. */
static void softmax_row(const entropy *e, int64_t first, pdm_tensor *out)
{
    double most = -INFINITY, sum = 0;

    for (int64_t j = 0; j < e->classes; j++)
        most = fmax(most, pdm_nn_at(e->x, first + j * e->inner));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < e->classes; j++) {
            double d = pdm_nn_at(e->x, first + j * e->inner) - most;
            d = exp(d < -64 ? -64 : d);
            if (pass == 0)
                sum += d;
            else
                pdm_nn_put(out, first + j * e->inner, d / sum);
        }
    }
}

static double row_loss(pdm_k *k, const entropy *e, int64_t row, const pdm_tensor *probabilities)
{
    const int64_t first = row / e->inner * e->classes * e->inner + row % e->inner;
    double sum = 0;

    if (!e->soft) {
        const int64_t label = pdm_get_int(e->label, row);
        if (label == e->ignored)
            return 0;
        if (label < 0 || label >= e->classes) {
            pdm_k_fail(k, "label %lld is outside of %lld classes", (long long)label,
                       (long long)e->classes);
            return 0;
        }
        return -tolerable(log(pdm_nn_at(probabilities, first + label * e->inner)));
    }
    for (int64_t j = 0; j < e->classes; j++) {
        const int64_t at = first + j * e->inner;
        sum -= pdm_nn_at(e->label, at) * tolerable(log(pdm_nn_at(probabilities, at)));
    }
    return sum;
}

static bool entropy_shapes(pdm_k *k, entropy *e, int axis)
{
    const pdm_tensor *x = e->x;

    e->classes = x->dims[axis];
    e->inner = pdm_k_product(x->dims, axis + 1, x->rank);
    e->outer = pdm_k_product(x->dims, 0, axis);
    if (e->soft && (!pdm_nn_floats(k, e->label) || !pdm_k_same_dims(x, e->label)))
        pdm_k_fail(k, "soft labels have another shape than the logits");
    if (!e->soft && !pdm_dtype_is_int(e->label->dtype))
        pdm_k_unsupported_dtype(k, e->label->dtype);
    return e->soft ? PDM_K_OK(k)
                   : pdm_nn_count_is(k, e->label, e->outer * e->inner, "label") && PDM_K_OK(k);
}

pdm_status pdm_kernel_cross_entropy_with_softmax(pdm_k *k)
{
    entropy e = {.x = pdm_k_in(k, 0),
                 .label = pdm_k_in(k, 1),
                 .soft = pdm_k_bool(k, "soft_label"),
                 .use_softmax = pdm_k_bool(k, "use_softmax"),
                 .ignored = pdm_k_int(k, "ignore_index")};
    int64_t dims[PDM_MAX_RANK];
    pdm_tensor own = {0};

    if (!pdm_nn_floats(k, e.x) || !e.label || !pdm_nn_rank_is(k, e.x, 1, PDM_MAX_RANK, "logits"))
        return k->status;
    const int axis = pdm_k_axis(k, pdm_k_int(k, "axis"), e.x->rank);
    if (!PDM_K_OK(k) || !entropy_shapes(k, &e, axis))
        return k->status;
    memcpy(dims, e.x->dims, sizeof dims);
    dims[axis] = 1;
    e.softmax = pdm_nn_out_like(k, 0, e.x);
    e.loss = pdm_nn_out(k, 1, e.x->dtype, e.x->rank, dims);
    if (!e.softmax && PDM_K_OK(k)) { /* not wanted, but needed */
        if (pdm_tensor_alloc(&own, e.x->dtype, e.x->rank, e.x->dims) != PDM_OK)
            return pdm_k_nomem(k);
        e.softmax = &own;
    }
    for (int64_t row = 0; row < e.outer * e.inner && PDM_K_OK(k); row++) {
        if (e.use_softmax)
            softmax_row(&e, row / e.inner * e.classes * e.inner + row % e.inner, e.softmax);
        if (e.loss)
            pdm_nn_put(e.loss, row, row_loss(k, &e, row, e.use_softmax ? e.softmax : e.x));
    }
    if (!e.use_softmax && PDM_K_OK(k))
        memcpy(e.softmax->data, e.x->data, pdm_tensor_bytes(e.x));
    pdm_tensor_deinit(&own);
    return k->status;
}

/* ---- nll_loss ------------------------------------------------------------------------------- */

pdm_status pdm_kernel_nll_loss(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *label = pdm_k_in(k, 1), *weight = pdm_k_in_opt(k, 2);
    const int64_t ignored = pdm_k_int(k, "ignore_index");
    const char *word = pdm_k_str(k, "reduction");
    const bool each = !strcmp(word, "none"), mean = !strcmp(word, "mean");
    double total = 0, sum = 0;

    if (!pdm_nn_floats(k, x) || !label || !pdm_nn_rank_is(k, x, 2, PDM_MAX_RANK, "x"))
        return k->status;
    const int64_t classes = x->dims[1], area = pdm_k_product(x->dims, 2, x->rank);
    const int64_t count = x->dims[0] * area;
    if (!pdm_nn_count_is(k, label, count, "label") ||
        !pdm_nn_count_is(k, weight, classes, "weight"))
        return k->status;
    pdm_tensor *out = pdm_nn_out(k, 0, x->dtype, each ? label->rank : 0, label->dims);
    for (int64_t i = 0; i < count && PDM_K_OK(k); i++) {
        const int64_t c = pdm_get_int(label, i);
        if (c != ignored && (c < 0 || c >= classes))
            return pdm_k_fail(k, "label %lld is outside of %lld classes", (long long)c,
                              (long long)classes);
        const double w = c == ignored ? 0 : weight ? pdm_nn_at(weight, c) : 1;
        const double loss =
            c == ignored ? 0 : -w * pdm_nn_at(x, (i / area * classes + c) * area + i % area);
        if (each && out)
            pdm_nn_put(out, i, loss);
        total += w;
        sum += loss;
    }
    if (out && !each)
        pdm_nn_put(out, 0, mean ? (total == 0 ? 0 : sum / total) : sum);
    pdm_tensor *weights = pdm_k_wants(k, 1) ? pdm_nn_out(k, 1, x->dtype, 0, NULL) : NULL;
    if (weights)
        pdm_nn_put(weights, 0, each ? 0 : total);
    return k->status;
}

/* ---- hsigmoid_loss -------------------------------------------------------------------------- */

/* The path of a class in the tree: nodes and turns; codes of the complete tree, or given ones. */
typedef struct path {
    const pdm_tensor *nodes, *turns; /* [rows][length] or NULL */
    int64_t length, classes;
} path;

static bool path_at(const path *p, int64_t row, int64_t label, int64_t i, int64_t *node, bool *turn)
{
    if (p->nodes) {
        *node = pdm_get_int(p->nodes, row * p->length + i);
        *turn = pdm_get_int(p->turns, row * p->length + i) != 0;
        return *node >= 0;
    }
    const int64_t code = label + p->classes;
    *node = (code >> (i + 1)) - 1;
    *turn = code >> i & 1;
    return code >> (i + 1) > 0;
}

static double tree_row(pdm_k *k, const path *p, int64_t row, int64_t label, const pdm_tensor *x,
                       const pdm_tensor *w, const pdm_tensor *bias, pdm_tensor *pre)
{
    const int64_t n = x->dims[1];
    double loss = 0;

    for (int64_t i = 0; i < p->length; i++) {
        int64_t node;
        bool turn;
        double sum = 0;
        const bool on_path = path_at(p, row, label, i, &node, &turn);
        if (on_path) {
            if (node >= w->dims[0]) {
                pdm_k_fail(k, "node %lld is not in the tree", (long long)node);
                return 0;
            }
            sum = bias ? pdm_nn_at(bias, node) : 0;
            for (int64_t j = 0; j < n; j++)
                sum += pdm_nn_at(x, row * n + j) * pdm_nn_at(w, node * n + j);
            sum = sum < -40 ? -40 : sum > 40 ? 40 : sum;
        }
        /* Places behind the end of a path count as well, with 0. */
        const double soft = log(1 + exp(sum));
        loss += soft - (on_path && turn ? sum : 0);
        if (pre)
            pdm_nn_put(pre, row * p->length + i, soft);
    }
    return loss;
}

pdm_status pdm_kernel_hsigmoid_loss(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *label = pdm_k_in(k, 1), *w = pdm_k_in(k, 2);
    const pdm_tensor *bias = pdm_k_in_opt(k, 3);
    path p = {.nodes = pdm_k_in_opt(k, 4),
              .turns = pdm_k_in_opt(k, 5),
              .classes = pdm_k_int(k, "num_classes")};

    if (!pdm_nn_floats(k, x) || !label || !pdm_nn_floats(k, w) ||
        !pdm_nn_rank_is(k, x, 2, 2, "x") || !pdm_nn_rank_is(k, w, 2, 2, "w"))
        return k->status;
    const int64_t rows = x->dims[0];
    if (p.nodes && (!p.turns || !pdm_k_same_dims(p.nodes, p.turns) || p.nodes->rank != 2 ||
                    p.nodes->dims[0] != rows))
        return pdm_k_fail(k, "path and code do not fit");
    if (w->dims[1] != x->dims[1] || p.classes < 2 || p.classes > INT32_MAX)
        return pdm_k_fail(k, "w does not fit x, or there are %lld classes", (long long)p.classes);
    if (p.nodes)
        p.length = p.nodes->dims[1];
    for (int64_t c = p.classes - 1; c > 0 && !p.nodes; c >>= 1)
        p.length++;
    if (!pdm_nn_count_is(k, label, rows, "label") || !pdm_nn_count_is(k, bias, w->dims[0], "bias"))
        return k->status;
    const int64_t dims[2] = {rows, 1}, pre_dims[2] = {rows, p.length};
    pdm_tensor *out = pdm_nn_out(k, 0, x->dtype, 2, dims);
    pdm_tensor *pre = pdm_k_wants(k, 1) ? pdm_nn_out(k, 1, x->dtype, 2, pre_dims) : NULL;
    for (int64_t i = 0; i < rows && PDM_K_OK(k); i++) {
        const int64_t c = pdm_get_int(label, i);
        if (!p.nodes && (c < 0 || c >= p.classes))
            return pdm_k_fail(k, "label %lld is outside of %lld classes", (long long)c,
                              (long long)p.classes);
        const double loss = tree_row(k, &p, i, c, x, w, bias, pre);
        if (out)
            pdm_nn_put(out, i, loss);
    }
    if (pdm_k_wants(k, 2))
        pdm_k_share(k, 2, w, w->rank, w->dims);
    return k->status;
}
