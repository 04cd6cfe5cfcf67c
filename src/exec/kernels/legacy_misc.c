/* Legacy ops of networks: layers, pooling, embeddings, fused forms. */
#include <math.h>
#include <stdlib.h>

#include "exec/kernels/legacy_sub.h"

/* ---- dropout_nd ------------------------------------------------------------------------------ */

static bool is_listed(const int64_t *axes, size_t n, int axis, int rank)
{
    for (size_t i = 0; i < n; i++) {
        if (axes[i] == axis || axes[i] + rank == axis)
            return true;
    }
    return n == 0;
}

/* One draw for all elements along axes that are not listed. */
static pdm_status drop(pdm_k *k, const pdm_tensor *x, double p, bool upscale)
{
    int64_t axes[PDM_K_MAX_INTS], dims[PDM_MAX_RANK];
    const size_t n = pdm_k_has_attr(k, "axis") ? pdm_k_ints(k, "axis", axes) : 0;
    pdm_sub s;

    for (int i = 0; i < x->rank; i++)
        dims[i] = is_listed(axes, n, i, x->rank) ? x->dims[i] : 1;
    pdm_tensor ones = {0};
    if (pdm_tensor_alloc(&ones, x->dtype, x->rank, dims) != PDM_OK)
        return pdm_k_nomem(k);
    for (int64_t i = 0, count = pdm_tensor_count(&ones); i < count; i++)
        pdm_set_double(&ones, i, pdm_rng_uniform(k->rng) < p ? 0 : upscale ? 1 / (1 - p) : 1);
    pdm_sub_begin(&s, k, "pd_op.multiply");
    pdm_sub_in(&s, x);
    pdm_sub_in(&s, &ones);
    pdm_sub_int(&s, "axis", -1);
    pdm_sub_result(&s, pdm_k_out_slot_value(k, "Out"));
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    pdm_tensor_deinit(&ones);
    return k->status;
}

pdm_status pdm_kernel_old_dropout_nd(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const double p = pdm_k_float_or(k, "dropout_prob", 0.5);

    if (!PDM_K_OK(k))
        return k->status;
    const bool upscale = !strcmp(pdm_k_str(k, "dropout_implementation"), "upscale_in_train");
    if (!pdm_k_bool_or(k, "is_test", false))
        return drop(k, x, p, upscale);
    const double factor = upscale ? 1 : (double)(1.0F - (float)p);
    pdm_tensor *out = pdm_sub_out(k, "Out", x->dtype, x->rank, x->dims);
    for (int64_t i = 0, n = pdm_tensor_count(x); out && i < n; i++)
        pdm_set_double(out, i, pdm_get_double(x, i) * factor);
    return k->status;
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* x: n, c1, h, w; y: n, c2, h, w; the mean product of each pair of channels. */
pdm_status pdm_kernel_old_fsp(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *y = pdm_sub_slot(k, "Y");

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank != 4 || y->rank != 4 || x->dims[0] != y->dims[0] || x->dims[2] != y->dims[2] ||
        x->dims[3] != y->dims[3])
        return pdm_k_fail(k, "the maps do not fit each other");
    const int64_t c1 = x->dims[1], c2 = y->dims[1], places = x->dims[2] * x->dims[3];
    const int64_t dims[3] = {x->dims[0], c1, c2};
    pdm_tensor *out = pdm_sub_out(k, "Out", x->dtype, 3, dims);
    for (int64_t i = 0, n = out ? pdm_tensor_count(out) : 0; i < n; i++) {
        const int64_t image = i / (c1 * c2), a = i / c2 % c1, b = i % c2;
        double sum = 0;
        for (int64_t p = 0; p < places; p++)
            sum += pdm_get_double(x, (image * c1 + a) * places + p) *
                   pdm_get_double(y, (image * c2 + b) * places + p);
        pdm_set_double(out, i, sum / (double)places);
    }
    return k->status;
}

/* One level of a pyramid: bins x bins windows over the map, their results behind `column`. */
static pdm_status pyramid_level(pdm_k *k, const pdm_tensor *x, int64_t bins, pdm_tensor *out,
                                int64_t column)
{
    int64_t kernel[2], padding[2];
    pdm_sub s;

    for (int i = 0; i < 2; i++) {
        kernel[i] = (x->dims[2 + i] + bins - 1) / bins;
        padding[i] = (kernel[i] * bins - x->dims[2 + i] + 1) / 2;
    }
    pdm_sub_begin(&s, k, "pd_op.pool2d");
    pdm_sub_in(&s, x);
    pdm_sub_in_ints(&s, kernel, 2);
    pdm_sub_ints(&s, "strides", kernel, 2);
    pdm_sub_ints(&s, "paddings", padding, 2);
    pdm_sub_bool(&s, "exclusive", true);
    pdm_sub_bool(&s, "ceil_mode", false);
    pdm_sub_bool(&s, "global_pooling", false);
    pdm_sub_bool(&s, "adaptive", false);
    pdm_sub_str(&s, "data_format", "NCHW");
    pdm_sub_str(&s, "padding_algorithm", "EXPLICIT");
    const pdm_tensor *pooled = pdm_sub_temp(&s);
    if (pdm_sub_run(&s) == PDM_OK && (pooled->dims[2] < bins || pooled->dims[3] < bins))
        pdm_k_fail(k, "the map is too small for %lld bins", (long long)bins);
    const int64_t cells = x->dims[1] * bins * bins;
    for (int64_t i = 0; PDM_K_OK(k) && i < x->dims[0] * cells; i++) {
        const int64_t plane = i / (bins * bins), h = i / bins % bins, w = i % bins;
        const int64_t from = (plane * pooled->dims[2] + h) * pooled->dims[3] + w;
        const int64_t to = i / cells * out->dims[1] + column + i % cells;
        pdm_set_double(out, to, pdm_get_double(pooled, from));
    }
    pdm_sub_end(&s);
    return k->status;
}

pdm_status pdm_kernel_old_spp(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const int64_t height = pdm_k_int_or(k, "pyramid_height", 0);
    int64_t columns = 0;

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank != 4 || height < 1 || height > 12 || x->dims[2] < 1 || x->dims[3] < 1)
        return pdm_k_fail(k, "four dimensions and 1 to 12 levels are needed");
    for (int64_t i = 0; i < height; i++)
        columns += x->dims[1] << (2 * i);
    pdm_tensor *out = pdm_sub_out(k, "Out", x->dtype, 2, (const int64_t[]){x->dims[0], columns});
    columns = 0;
    for (int64_t i = 0; out && i < height && PDM_K_OK(k); i++) {
        pyramid_level(k, x, (int64_t)1 << i, out, columns);
        columns += x->dims[1] << (2 * i);
    }
    return k->status;
}

/* ---- similarity_focus ------------------------------------------------------------------------ */

typedef struct grid {
    const pdm_tensor *x;
    int64_t base, row_step, column_step, rows, columns;
} grid;

/* Mark the largest free element until all rows or all columns are taken. taken: rows + columns. */
static void focus(const grid *g, bool *taken, bool *marks)
{
    const int64_t turns = g->rows < g->columns ? g->rows : g->columns;

    memset(taken, 0, (size_t)(g->rows + g->columns));
    for (int64_t t = 0; t < turns; t++) {
        int64_t best = -1;
        double most = 0;
        for (int64_t i = 0; i < g->rows * g->columns; i++) {
            const int64_t r = i / g->columns, c = i % g->columns;
            if (taken[r] || taken[g->rows + c])
                continue;
            const double v = pdm_get_double(g->x, g->base + r * g->row_step + c * g->column_step);
            if (best < 0 || v > most) {
                best = i;
                most = v;
            }
        }
        if (best < 0)
            return;
        taken[best / g->columns] = taken[g->rows + best % g->columns] = true;
        marks[best] = true;
    }
}

static void spread(pdm_tensor *out, const grid *g, const bool *marks, int64_t copies, int64_t step)
{
    for (int64_t i = 0; i < g->rows * g->columns; i++) {
        const int64_t at = g->base + i / g->columns * g->row_step + i % g->columns * g->column_step;
        for (int64_t n = 0; marks[i] && n < copies; n++)
            pdm_set_double(out, at + n * step, 1);
    }
}

pdm_status pdm_kernel_old_similarity_focus(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const int64_t axis = pdm_k_int_or(k, "axis", 0);
    int64_t index[PDM_K_MAX_INTS], step[4], other[2], m = 0;
    const size_t n = pdm_k_ints(k, "indexes", index);

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank != 4 || axis < 1 || axis > 3)
        return pdm_k_fail(k, "four dimensions and an axis of 1 to 3 are needed");
    for (int i = 0; i < 4; i++)
        step[i] = pdm_k_product(x->dims, i + 1, 4);
    for (int i = 1; i < 4; i++) {
        if (i != axis)
            other[m++] = i;
    }
    grid g = {x, 0, step[other[0]], step[other[1]], x->dims[other[0]], x->dims[other[1]]};
    bool *marks = pdm_k_temp(k, (size_t)(g.rows * g.columns) + 1);
    bool *taken = pdm_k_temp(k, (size_t)(g.rows + g.columns) + 1);
    pdm_tensor *out = pdm_sub_out(k, "Out", x->dtype, 4, x->dims);
    if (!marks || !taken || !out)
        return k->status;
    memset(out->data, 0, pdm_tensor_bytes(out));
    for (int64_t image = 0; image < x->dims[0]; image++) {
        memset(marks, 0, (size_t)(g.rows * g.columns));
        for (size_t i = 0; i < n; i++) {
            if (index[i] < 0 || index[i] >= x->dims[axis])
                return pdm_k_fail(k, "index %lld is not on the axis", (long long)index[i]);
            g.base = image * step[0] + index[i] * step[axis];
            focus(&g, taken, marks);
        }
        g.base = image * step[0];
        spread(out, &g, marks, x->dims[axis], step[axis]);
    }
    return k->status;
}

/* ---- unique_with_counts ---------------------------------------------------------------------- */

typedef struct keyed {
    int64_t value, at;
    double f;
} keyed;

static int by_value(const void *a, const void *b)
{
    const keyed *x = a, *y = b;

    if (x->f < y->f || x->f > y->f)
        return x->f < y->f ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Values in order of first occurrence, which of them each element is, how often each occurs. */
pdm_status pdm_kernel_old_unique_with_counts(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const pdm_dtype dtype = pdm_k_dtype(k, "dtype");

    if (!PDM_K_OK(k))
        return k->status;
    const int64_t n = pdm_tensor_count(x);
    keyed *keys = pdm_k_temp(k, ((size_t)n + 1) * sizeof *keys);
    int64_t *first = pdm_k_temp(k, ((size_t)n + 1) * sizeof *first);   /* element -> first equal */
    int64_t *number = pdm_k_temp(k, ((size_t)n + 1) * sizeof *number); /* its place in the result */
    pdm_tensor *index = pdm_sub_out(k, "Index", dtype, 1, &n);
    if (!keys || !first || !number || !PDM_K_OK(k))
        return k->status;
    const bool real = pdm_dtype_is_float(x->dtype);
    for (int64_t i = 0; i < n; i++)
        keys[i] = (keyed){real ? 0 : pdm_get_int(x, i), i, real ? pdm_get_double(x, i) : 0};
    qsort(keys, (size_t)n, sizeof *keys, by_value);
    for (int64_t i = 0; i < n; i++) {
        const bool same = i > 0 && keys[i].value == keys[i - 1].value &&
                          !(keys[i].f < keys[i - 1].f) && !(keys[i].f > keys[i - 1].f);
        first[keys[i].at] = same ? first[keys[i - 1].at] : keys[i].at;
    }
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        number[i] = first[i] == i ? count++ : number[first[i]];
    pdm_tensor *out = pdm_sub_out(k, "Out", x->dtype, 1, &count);
    pdm_tensor *counts = pdm_sub_out(k, "Count", dtype, 1, &count);
    if (counts)
        memset(counts->data, 0, pdm_tensor_bytes(counts));
    const size_t size = pdm_dtype_size(x->dtype);
    for (int64_t i = 0; i < n && PDM_K_OK(k); i++) {
        if (index)
            pdm_set_int(index, i, number[i]);
        if (counts)
            pdm_set_int(counts, number[i], pdm_get_int(counts, number[i]) + 1);
        if (out && first[i] == i)
            memcpy((char *)out->data + (size_t)number[i] * size,
                   (const char *)x->data + (size_t)i * size, size);
    }
    return k->status;
}

/* ---- fused forms ----------------------------------------------------------------------------- */

/* Rows of an embedding, summed over each sequence. */
pdm_status pdm_kernel_old_fused_embedding_seq_pool(pdm_k *k)
{
    const pdm_tensor *w = pdm_sub_slot(k, "W"), *ids = pdm_sub_slot(k, "Ids");
    const int64_t padding = pdm_k_int_or(k, "padding_idx", -1);
    size_t n = 0;

    if (!PDM_K_OK(k))
        return k->status;
    const size_t levels = pdm_tensor_num_lod(ids);
    const int64_t *off = levels ? pdm_tensor_lod(ids, levels - 1, &n) : NULL;
    if (w->rank != 2 || ids->rank < 1 || n < 1 || off[n - 1] != ids->dims[0])
        return pdm_k_fail(k, "a matrix and ids in sequences are needed");
    if (strcmp(pdm_k_str(k, "combiner"), "sum") != 0)
        return pdm_k_fail(k, "combiner '%s' is not known", pdm_k_str(k, "combiner"));
    const int64_t columns = pdm_k_product(ids->dims, 1, ids->rank), width = w->dims[1];
    const int64_t dims[2] = {(int64_t)n - 1, columns * width};
    pdm_tensor *out = pdm_sub_out(k, "Out", w->dtype, 2, dims);
    for (int64_t i = 0, total = out ? pdm_tensor_count(out) : 0; i < total; i++) {
        const int64_t seq = i / dims[1], c = i % dims[1] / width, d = i % width;
        double sum = 0;
        for (int64_t r = off[seq]; r < off[seq + 1]; r++) {
            const int64_t id = pdm_get_int(ids, r * columns + c);
            if (id == padding && padding >= 0)
                continue;
            if (id < 0 || id >= w->dims[0])
                return pdm_k_fail(k, "id %lld is not below %lld", (long long)id,
                                  (long long)w->dims[0]);
            sum += pdm_get_double(w, id * width + d);
        }
        pdm_set_double(out, i, sum);
    }
    return k->status;
}

/* Row r of the operands side by side: the first has all rows, the others one for each sequence. */
static double expanded(pdm_k *k, int64_t r, int64_t seq, int64_t column)
{
    const size_t n = pdm_k_slot_count(k, "X");

    for (size_t i = 0; i < n; i++) {
        const pdm_tensor *x = pdm_k_slot_at(k, "X", i);
        if (column < x->dims[1])
            return pdm_get_double(x, (i ? seq : r) * x->dims[1] + column);
        column -= x->dims[1];
    }
    return 0;
}

pdm_status pdm_kernel_old_fusion_seqexpand_concat_fc(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *w = pdm_sub_slot(k, "FCWeight");
    const pdm_tensor *bias = pdm_k_slot(k, "FCBias");
    const char *activation = pdm_k_str(k, "fc_activation");
    int64_t columns = 0, seq = 0;
    size_t n = 0;

    if (!PDM_K_OK(k))
        return k->status;
    const int64_t *off = pdm_tensor_num_lod(x) ? pdm_tensor_lod(x, 0, &n) : NULL;
    for (size_t i = 0; i < pdm_k_slot_count(k, "X"); i++) {
        const pdm_tensor *t = pdm_k_slot_at(k, "X", i);
        if (!t || t->rank != 2 || (i && t->dims[0] != (int64_t)n - 1))
            return pdm_k_fail(k, "operand %zu has no row for each sequence", i);
        columns += t->dims[1];
    }
    if (n < 1 || off[n - 1] != x->dims[0] || w->rank != 2 || w->dims[0] != columns ||
        (bias && pdm_tensor_count(bias) != w->dims[1]))
        return pdm_k_fail(k, "the operands do not fit each other");
    const int64_t dims[2] = {x->dims[0], w->dims[1]};
    pdm_tensor *out = pdm_sub_out(k, "Out", x->dtype, 2, dims);
    for (int64_t r = 0; out && r < dims[0]; r++) {
        while (r >= off[seq + 1])
            seq++;
        for (int64_t c = 0; c < dims[1]; c++) {
            double sum = bias ? pdm_get_double(bias, c) : 0;
            for (int64_t i = 0; i < columns; i++)
                sum += expanded(k, r, seq, i) * pdm_get_double(w, i * dims[1] + c);
            pdm_set_double(out, r * dims[1] + c, pdm_sub_activation(k, activation, sum, 0, 0));
        }
    }
    if (out)
        pdm_tensor_share_lod(out, x);
    return k->status;
}

/* ---- fake_channel_wise_quantize_abs_max ------------------------------------------------------ */

/* A test run takes the scales that the output variable holds already. */
pdm_status pdm_kernel_old_fake_channel_wise_quantize(pdm_k *k)
{
    const pdm_tensor *known = pdm_k_out_slot(k, "OutScale");
    const bool given = pdm_k_bool_or(k, "is_test", false) && known && known->dtype != PDM_UNDEFINED;
    pdm_sub s;

    pdm_sub_begin(&s, k,
                  given ? "pd_op.quantize_linear" : "pd_op.fake_channel_wise_quantize_abs_max");
    pdm_sub_in(&s, pdm_sub_slot(k, "X"));
    if (given)
        pdm_sub_in(&s, known);
    pdm_sub_bool(&s, "only_observer", false);
    pdm_sub_result(&s, pdm_k_out_slot_value(k, "Out"));
    if (!given)
        pdm_sub_result(&s, pdm_k_out_slot_value(k, "OutScale"));
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    return k->status;
}

/* ---- tensor_unfold --------------------------------------------------------------------------- */

/* Windows along an axis; their places become a new last dimension. */
pdm_status pdm_kernel_old_tensor_unfold(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "input");
    const int64_t size = pdm_k_int_or(k, "size", 1), step = pdm_k_int_or(k, "step", 1);
    int64_t dims[PDM_MAX_RANK + 1];

    if (!PDM_K_OK(k))
        return k->status;
    const int axis = pdm_k_axis(k, pdm_k_int_or(k, "axis", 0), x->rank);
    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank < 1 || x->rank >= PDM_MAX_RANK || size < 1 || step < 1 || size > x->dims[axis])
        return pdm_k_fail(k, "windows of %lld at steps of %lld do not fit", (long long)size,
                          (long long)step);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    const int64_t windows = (x->dims[axis] - size) / step + 1, dim = x->dims[axis];
    dims[axis] = windows;
    dims[x->rank] = size;
    pdm_tensor *out = pdm_sub_out(k, "out", x->dtype, x->rank + 1, dims);
    const int64_t inner = pdm_k_product(x->dims, axis + 1, x->rank);
    const size_t bytes = pdm_dtype_size(x->dtype);
    for (int64_t i = 0, n = out ? pdm_tensor_count(out) : 0; i < n; i++) {
        const int64_t place = i % size, in = i / size % inner, w = i / size / inner % windows;
        const int64_t outer = i / size / inner / windows;
        memcpy((char *)out->data + (size_t)i * bytes,
               (const char *)x->data +
                   (size_t)((outer * dim + w * step + place) * inner + in) * bytes,
               bytes);
    }
    return k->status;
}

/* ---- sampling_id ----------------------------------------------------------------------------- */

/* The first column at which the running sum of a row passes a random number. */
pdm_status pdm_kernel_old_sampling_id(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const double low = pdm_k_float_or(k, "min", 0), high = pdm_k_float_or(k, "max", 1);

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank != 2 || x->dims[1] < 1)
        return pdm_k_fail(k, "a matrix with columns is needed");
    const int64_t seed = pdm_k_int_or(k, "seed", 0), columns = x->dims[1];
    if (seed)
        pdm_rng_seed(k->rng, (uint64_t)seed);
    pdm_tensor *out = pdm_sub_out(k, "Out", PDM_I64, 1, x->dims);
    for (int64_t r = 0; out && r < x->dims[0]; r++) {
        const double random = low + (high - low) * pdm_rng_uniform(k->rng);
        double sum = 0;
        int64_t id = 0;
        while (id < columns && (sum += pdm_get_double(x, r * columns + id)) <= random)
            id++;
        ((int64_t *)out->data)[r] = id < columns ? id : columns - 1;
    }
    return k->status;
}

/* ---- positive_negative_pair ------------------------------------------------------------------ */

typedef struct pairing {
    const pdm_tensor *score, *label, *query, *weight;
    int64_t column;
} pairing;

static double score_of(const pairing *p, int64_t row)
{
    return pdm_get_double(p->score, row * p->score->dims[1] + p->column);
}

/* A pair of one query with different labels: rightly ordered, or not (ties count as both not and
 * neutral). */
static void count_pair(const pairing *p, int64_t i, int64_t j, double sums[3])
{
    const double a = score_of(p, i), b = score_of(p, j);
    const double la = pdm_get_double(p->label, i), lb = pdm_get_double(p->label, j);
    const double w =
        p->weight ? (pdm_get_double(p->weight, i) + pdm_get_double(p->weight, j)) * 0.5 : 1;

    if (pdm_get_int(p->query, i) != pdm_get_int(p->query, j) || !(la < lb || la > lb))
        return;
    if (!(a < b || a > b))
        sums[2] += w;
    sums[(a - b) * (la - lb) > 0 ? 0 : 1] += w;
}

pdm_status pdm_kernel_old_positive_negative_pair(pdm_k *k)
{
    static const char *const outs[] = {"PositivePair", "NegativePair", "NeutralPair"};
    static const char *const befores[] = {"AccumulatePositivePair", "AccumulateNegativePair",
                                          "AccumulateNeutralPair"};
    pairing p = {pdm_sub_slot(k, "Score"), pdm_sub_slot(k, "Label"), pdm_sub_slot(k, "QueryID"),
                 pdm_k_slot(k, "Weight"), pdm_k_int_or(k, "column", -1)};
    double sums[3] = {0};

    if (!PDM_K_OK(k))
        return k->status;
    if (p.score->rank != 2)
        return pdm_k_fail(k, "the scores are no matrix");
    const int64_t n = p.score->dims[0];
    if (p.column < 0)
        p.column += p.score->dims[1];
    if (p.column < 0 || p.column >= p.score->dims[1] || pdm_tensor_count(p.label) != n ||
        pdm_tensor_count(p.query) != n || (p.weight && pdm_tensor_count(p.weight) != n))
        return pdm_k_fail(k, "the operands do not fit each other");
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++)
            count_pair(&p, i, j, sums);
    }
    for (int i = 0; i < 3; i++) {
        const pdm_tensor *before = pdm_k_slot(k, befores[i]);
        pdm_tensor *out = pdm_sub_out(k, outs[i], p.score->dtype, 1, &(int64_t){1});
        if (before && pdm_tensor_count(before) > 0)
            sums[i] += pdm_get_double(before, 0);
        if (out)
            pdm_set_double(out, 0, sums[i]);
    }
    return k->status;
}
