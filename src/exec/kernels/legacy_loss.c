/* Legacy losses and statistics. Plain: in double, element by element. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "exec/kernels/legacy_sub.h"

static bool same_count(pdm_k *k, const pdm_tensor *a, const pdm_tensor *b)
{
    if (!PDM_K_OK(k))
        return false;
    if (pdm_tensor_count(a) != pdm_tensor_count(b))
        pdm_k_fail(k, "the operands have %lld and %lld elements", (long long)pdm_tensor_count(a),
                   (long long)pdm_tensor_count(b));
    return PDM_K_OK(k);
}

static double finite_log(double x)
{
    const double y = log(x);

    return y > 1e20 ? 1e20 : y < -1e20 ? -1e20 : y;
}

/* ---- cross entropy --------------------------------------------------------------------------- */

/* Rows of a matrix: all dims but the last. */
typedef struct rows {
    int64_t count, width;
} rows;

static bool rows_of(pdm_k *k, const pdm_tensor *x, rows *out)
{
    if (!PDM_K_OK(k))
        return false;
    if (x->rank < 1) {
        pdm_k_fail(k, "a tensor without dimensions has no rows");
        return false;
    }
    out->width = x->dims[x->rank - 1];
    out->count = pdm_k_product(x->dims, 0, x->rank - 1);
    return true;
}

static double soft_row(const pdm_tensor *x, const pdm_tensor *label, int64_t row, int64_t width)
{
    double sum = 0;

    for (int64_t i = row * width; i < (row + 1) * width; i++)
        sum += pdm_get_double(label, i) * finite_log(pdm_get_double(x, i));
    return -sum;
}

static pdm_status hard_rows(pdm_k *k, const pdm_tensor *x, const pdm_tensor *label,
                            const rows *shape, pdm_tensor *y, pdm_tensor *match)
{
    const int64_t ignore = pdm_k_int_or(k, "ignore_index", -100);

    for (int64_t r = 0; r < shape->count; r++) {
        const int64_t of = pdm_get_int(label, r);
        if (of != ignore && (of < 0 || of >= shape->width))
            return pdm_k_fail(k, "label %lld is not below %lld", (long long)of,
                              (long long)shape->width);
        const double p = of == ignore ? 0 : pdm_get_double(x, r * shape->width + of);
        if (match)
            pdm_set_double(match, r, p);
        pdm_set_double(y, r, of == ignore ? 0 : -finite_log(p));
    }
    return PDM_OK;
}

/* cross_entropy, cross_entropy2 */
pdm_status pdm_kernel_old_cross_entropy(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *label = pdm_sub_slot(k, "Label");
    const bool soft = pdm_k_bool_or(k, "soft_label", false);
    int64_t dims[PDM_MAX_RANK];
    rows shape;

    if (!rows_of(k, x, &shape))
        return k->status;
    if (pdm_tensor_count(label) != (soft ? pdm_tensor_count(x) : shape.count))
        return pdm_k_fail(k, "%lld labels for %lld rows", (long long)pdm_tensor_count(label),
                          (long long)shape.count);
    /* A column when the labels are one. */
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = 1;
    const int rank = soft || label->rank == x->rank ? x->rank : x->rank - 1;
    pdm_tensor *y = pdm_sub_out(k, "Y", x->dtype, rank, dims);
    pdm_tensor *match = pdm_sub_out(k, "MatchX", x->dtype, rank, dims);
    if (!y)
        return k->status;
    if (!soft)
        return hard_rows(k, x, label, &shape, y, match);
    for (int64_t r = 0; r < shape.count; r++)
        pdm_set_double(y, r, soft_row(x, label, r, shape.width));
    return PDM_OK;
}

/* What overflows the element type counts as 1e20. */
static double bpr_term(pdm_dtype dtype, double d)
{
    const double e = 1 + exp(d);

    return log((dtype == PDM_F64 ? isinf(e) != 0 : e > (double)FLT_MAX) ? 1e20 : e);
}

pdm_status pdm_kernel_old_bpr_loss(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *label = pdm_sub_slot(k, "Label");
    int64_t dims[PDM_MAX_RANK];
    rows shape;

    if (!rows_of(k, x, &shape))
        return k->status;
    if (pdm_tensor_count(label) != shape.count)
        return pdm_k_fail(k, "%lld labels for %lld rows", (long long)pdm_tensor_count(label),
                          (long long)shape.count);
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = 1;
    pdm_tensor *y = pdm_sub_out(k, "Y", x->dtype, x->rank, dims);
    for (int64_t r = 0; y && r < shape.count; r++) {
        const int64_t of = pdm_get_int(label, r);
        double sum = 0;
        if (of < 0 || of >= shape.width)
            return pdm_k_fail(k, "label %lld is not below %lld", (long long)of,
                              (long long)shape.width);
        const double own = pdm_get_double(x, r * shape.width + of);
        for (int64_t i = 0; i < shape.width; i++) {
            if (i != of)
                sum += bpr_term(x->dtype, pdm_get_double(x, r * shape.width + i) - own);
        }
        pdm_set_double(y, r, sum / (double)(shape.width - 1));
    }
    return k->status;
}

/* ---- losses of pairs ------------------------------------------------------------------------- */

pdm_status pdm_kernel_old_rank_loss(pdm_k *k)
{
    const pdm_tensor *label = pdm_sub_slot(k, "Label"), *left = pdm_sub_slot(k, "Left"),
                     *right = pdm_sub_slot(k, "Right");

    if (!PDM_K_OK(k) || !same_count(k, label, left) || !same_count(k, left, right))
        return k->status;
    pdm_tensor *out = pdm_sub_out(k, "Out", left->dtype, label->rank, label->dims);
    for (int64_t i = 0, n = pdm_tensor_count(left); out && i < n; i++) {
        const double d = pdm_get_double(left, i) - pdm_get_double(right, i);
        pdm_set_double(out, i, log(1 + exp(d)) - pdm_get_double(label, i) * d);
    }
    return k->status;
}

pdm_status pdm_kernel_old_modified_huber_loss(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *y = pdm_sub_slot(k, "Y");

    if (!PDM_K_OK(k) || !same_count(k, x, y))
        return k->status;
    pdm_tensor *inner = pdm_sub_out(k, "IntermediateVal", x->dtype, x->rank, x->dims);
    pdm_tensor *out = pdm_sub_out(k, "Out", x->dtype, x->rank, x->dims);
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n && PDM_K_OK(k); i++) {
        const double z = pdm_get_double(x, i) * (2 * pdm_get_double(y, i) - 1);
        if (inner)
            pdm_set_double(inner, i, z);
        if (out)
            pdm_set_double(out, i, z < -1 ? -4 * z : z < 1 ? (1 - z) * (1 - z) : 0);
    }
    return k->status;
}

/* Labels: -2 no click, -1 click, [0, 1) no click and a score, [1, 2] click and a score. */
static double student_loss(double x, double label)
{
    const double no_click = (x > 0 ? x : 0) + log1p(exp(-fabs(x)));

    if (label < -1)
        return no_click;
    if (label < 0)
        return no_click - x;
    if (label < 1)
        return no_click + (no_click - x * label);
    return no_click - x + (no_click - x * (label - 1));
}

pdm_status pdm_kernel_old_teacher_student_loss(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *label = pdm_sub_slot(k, "Label");

    if (!PDM_K_OK(k) || !same_count(k, x, label))
        return k->status;
    pdm_tensor *y = pdm_sub_out(k, "Y", x->dtype, x->rank, x->dims);
    for (int64_t i = 0, n = pdm_tensor_count(x); y && i < n; i++)
        pdm_set_double(y, i, student_loss(pdm_get_double(x, i), pdm_get_double(label, i)));
    return k->status;
}

/* ---- data_norm ------------------------------------------------------------------------------- */

typedef struct normal {
    const pdm_tensor *x, *means, *scales, *w, *bias;
    int64_t width; /* columns of a slot, which is cleared when its first column is 0; < 1: none */
} normal;

static double normal_at(const normal *n, int64_t row, int64_t column)
{
    const int64_t c = n->x->dims[1], i = row * c + column;

    if (n->width > 0 && fabs(pdm_get_double(n->x, row * c + column - column % n->width)) < 1e-7)
        return 0;
    double y = (pdm_get_double(n->x, i) - pdm_get_double(n->means, column)) *
               pdm_get_double(n->scales, column);
    if (n->w && n->bias)
        y = y * pdm_get_double(n->w, column) + pdm_get_double(n->bias, column);
    return y;
}

static bool is_column_of(pdm_k *k, const pdm_tensor *t, int64_t columns)
{
    if (t && pdm_tensor_count(t) != columns)
        pdm_k_fail(k, "%lld numbers for %lld columns", (long long)pdm_tensor_count(t),
                   (long long)columns);
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_old_data_norm(pdm_k *k)
{
    static const char *const slots[] = {"BatchSize", "BatchSum", "BatchSquareSum"};
    const pdm_tensor *stat[3];
    pdm_tensor made[2] = {{0}};
    normal n = {.x = pdm_sub_slot(k, "X"), .width = pdm_k_int_or(k, "slot_dim", -1)};

    for (int i = 0; i < 3; i++)
        stat[i] = pdm_sub_slot(k, slots[i]);
    if (!PDM_K_OK(k))
        return k->status;
    if (n.x->rank != 2 || (n.width > 0 && n.x->dims[1] % n.width))
        return pdm_k_fail(k, "the input is no matrix of whole slots");
    const int64_t columns = n.x->dims[1];
    if (pdm_k_bool_or(k, "enable_scale_and_shift", false)) {
        n.w = pdm_sub_slot(k, "scale_w");
        n.bias = pdm_sub_slot(k, "bias");
    }
    for (int i = 0; i < 3; i++)
        is_column_of(k, stat[i], columns);
    if (!PDM_K_OK(k) || !is_column_of(k, n.w, columns) || !is_column_of(k, n.bias, columns))
        return k->status;
    pdm_tensor *out[2] = {pdm_sub_out(k, "Means", n.x->dtype, 1, &columns),
                          pdm_sub_out(k, "Scales", n.x->dtype, 1, &columns)};
    for (int i = 0; i < 2; i++) {
        if (!out[i] && pdm_tensor_alloc(&made[i], n.x->dtype, 1, &columns) != PDM_OK)
            pdm_k_nomem(k);
        if (!out[i])
            out[i] = &made[i];
    }
    for (int64_t c = 0; PDM_K_OK(k) && c < columns; c++) {
        const double size = pdm_get_double(stat[0], c);
        pdm_set_double(out[0], c, pdm_get_double(stat[1], c) / size);
        pdm_set_double(out[1], c, sqrt(size / pdm_get_double(stat[2], c)));
    }
    n.means = out[0];
    n.scales = out[1];
    pdm_tensor *y = pdm_sub_out(k, "Y", n.x->dtype, 2, n.x->dims);
    for (int64_t r = 0; y && r < n.x->dims[0]; r++) {
        for (int64_t c = 0; c < columns; c++)
            pdm_set_double(y, r * columns + c, normal_at(&n, r, c));
    }
    pdm_tensor_deinit(&made[0]);
    pdm_tensor_deinit(&made[1]);
    return k->status;
}

/* ---- precision_recall ------------------------------------------------------------------------ */

static double ratio(double a, double b, double otherwise)
{
    return b > 0 || b < 0 ? a / b : otherwise;
}

static double f1(double precision, double recall)
{
    return ratio(2 * precision * recall, precision + recall, 0);
}

/* Rows of states: true positive, false positive, true negative, false negative. First averages
 * over the classes, then of all classes taken together. */
static void metrics(const double *states, int64_t classes, double out[6])
{
    double sum[4] = {0};

    out[0] = out[1] = 0;
    for (int64_t c = 0; c < classes; c++) {
        const double *s = states + 4 * c;
        out[0] += ratio(s[0], s[0] + s[1], 1) / (double)classes;
        out[1] += ratio(s[0], s[0] + s[3], 1) / (double)classes;
        for (int i = 0; i < 4; i++)
            sum[i] += s[i];
    }
    out[2] = f1(out[0], out[1]);
    out[3] = ratio(sum[0], sum[0] + sum[1], 1);
    out[4] = ratio(sum[0], sum[0] + sum[3], 1);
    out[5] = f1(out[3], out[4]);
}

static pdm_status count_states(pdm_k *k, double *states, int64_t classes)
{
    const pdm_tensor *said = pdm_sub_slot(k, "Indices"), *is = pdm_sub_slot(k, "Labels");
    const pdm_tensor *weights = pdm_k_slot(k, "Weights");

    if (!PDM_K_OK(k) || !same_count(k, said, is) || (weights && !same_count(k, said, weights)))
        return k->status;
    for (int64_t i = 0, n = pdm_tensor_count(said); i < n; i++) {
        const int64_t a = pdm_get_int(said, i), b = pdm_get_int(is, i);
        const double w = weights ? pdm_get_double(weights, i) : 1;
        if (a < 0 || a >= classes || b < 0 || b >= classes)
            return pdm_k_fail(k, "class %lld or %lld is not below %lld", (long long)a, (long long)b,
                              (long long)classes);
        for (int64_t c = 0; c < classes; c++)
            states[4 * c + (c == a ? (c == b ? 0 : 1) : (c == b ? 3 : 2))] += w;
    }
    return PDM_OK;
}

static void put_all(pdm_tensor *t, const double *values)
{
    for (int64_t i = 0, n = t ? pdm_tensor_count(t) : 0; i < n; i++)
        pdm_set_double(t, i, values[i]);
}

pdm_status pdm_kernel_old_precision_recall(pdm_k *k)
{
    const pdm_tensor *before = pdm_k_slot(k, "StatesInfo"), *probs = pdm_k_slot(k, "MaxProbs");
    const int64_t classes = pdm_k_int_or(k, "class_number", 0), six = 6;
    double batch[6], all[6];

    if (classes < 1 || classes > (1 << 24))
        return pdm_k_fail(k, "%lld classes", (long long)classes);
    double *states = pdm_k_temp(k, (size_t)classes * 4 * sizeof *states);
    if (!states)
        return k->status;
    memset(states, 0, (size_t)classes * 4 * sizeof *states);
    if (count_states(k, states, classes) != PDM_OK)
        return k->status;
    if (before && pdm_tensor_count(before) != 4 * classes)
        return pdm_k_fail(k, "the states before are not of %lld classes", (long long)classes);
    metrics(states, classes, batch);
    for (int64_t i = 0; before && i < 4 * classes; i++)
        states[i] += pdm_get_double(before, i);
    metrics(states, classes, all);
    put_all(pdm_sub_out(k, "BatchMetrics", PDM_F64, 1, &six), batch);
    put_all(pdm_sub_out(k, "AccumMetrics", PDM_F64, 1, &six), all);
    put_all(pdm_sub_out(k, "AccumStatesInfo", probs ? probs->dtype : PDM_F32, 2,
                        (const int64_t[]){classes, 4}),
            states);
    return k->status;
}
