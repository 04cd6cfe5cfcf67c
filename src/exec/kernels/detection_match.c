/* Matching boxes with ground truth: bipartite_match, target_assign, mine_hard_examples. */
#include "exec/kernels/detection_impl.h"

#include <math.h>

#define TOO_SMALL 1e-6

/* Distances of one image: rows of `cols` elements from element `first` on. */
typedef struct distances {
    const pdm_tensor *t;
    int64_t first, rows, cols;
} distances;

static double at(const distances *d, int64_t row, int64_t col)
{
    return pdm_get_double(d->t, d->first + row * d->cols + col);
}

/* Greedy: the largest distance of all free rows and columns, again and again. Pairs are sorted
 * once; among equal distances the first column, then the first row goes first. */
static void match_pairs(pdm_k *k, const distances *d, int32_t *match, double *best)
{
    pdm_arena arena;
    pdm_arena_init(&arena);
    uint64_t count;
    if (!pdm_mul_u64((uint64_t)d->rows, (uint64_t)d->cols, &count))
        count = UINT64_MAX;
    int64_t *index = pdm_k_scratch(k, &arena, (int64_t)count, sizeof *index);
    int64_t *temp = pdm_k_scratch(k, &arena, (int64_t)count, sizeof *temp);
    double *keys = pdm_k_scratch(k, &arena, (int64_t)count, sizeof *keys);
    uint8_t *taken = pdm_k_scratch(k, &arena, d->rows, 1);
    int64_t n = 0;
    for (int64_t col = 0; PDM_K_OK(k) && col < d->cols; col++) {
        for (int64_t row = 0; row < d->rows; row++) {
            keys[col * d->rows + row] = at(d, row, col);
            if (keys[col * d->rows + row] >= TOO_SMALL)
                index[n++] = col * d->rows + row;
        }
    }
    if (PDM_K_OK(k))
        pdm_sort_down(index, n, keys, temp);
    for (int64_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const int64_t row = index[i] % d->rows, col = index[i] / d->rows;
        if (match[col] != -1 || taken[row])
            continue;
        match[col] = (int32_t)row;
        best[col] = keys[index[i]];
        taken[row] = 1;
    }
    pdm_arena_deinit(&arena);
}

/* Columns without a match take their nearest row when that is near enough. */
static void match_rest(const distances *d, double threshold, int32_t *match, double *best)
{
    for (int64_t col = 0; col < d->cols; col++) {
        double top = -1;
        int64_t top_row = -1;
        if (match[col] != -1)
            continue;
        for (int64_t row = 0; row < d->rows; row++) {
            const double v = at(d, row, col);
            if (v >= TOO_SMALL && v >= threshold && v > top) {
                top = v;
                top_row = row;
            }
        }
        if (top_row != -1) {
            match[col] = (int32_t)top_row;
            best[col] = top;
        }
    }
}

pdm_status pdm_kernel_bipartite_match(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool rest = !strcmp(pdm_k_str(k, "match_type"), "per_prediction");
    double threshold = pdm_k_float(k, "dist_threshold");
    pdm_seqs seqs;
    pdm_arena arena;

    if (!PDM_K_OK(k) || !pdm_is_real(k, x) || !pdm_k_rank_is(k, x, 2, "the operand"))
        return k->status;
    const int64_t whole[2] = {0, x->dims[0]};
    if (pdm_tensor_num_lod(x) == 0)
        seqs = (pdm_seqs){whole, 1};
    else if (!pdm_k_row_seqs(k, x, &seqs))
        return k->status;
    if (x->dtype == PDM_F32)
        threshold = (double)(float)threshold;
    pdm_arena_init(&arena);
    const int64_t cols = x->dims[1], dims[2] = {seqs.count, cols};
    double *best = pdm_k_scratch(k, &arena, cols, sizeof *best);
    int32_t *own = pdm_k_scratch(k, &arena, cols, sizeof *own);
    int32_t *out = pdm_k_wants(k, 0) ? pdm_k_out(k, 0, PDM_I32, 2, dims) : NULL;
    pdm_tensor *dist =
        pdm_k_wants(k, 1) && pdm_k_out(k, 1, x->dtype, 2, dims) ? pdm_k_out_tensor(k, 1) : NULL;
    for (int64_t s = 0; PDM_K_OK(k) && s < seqs.count; s++) {
        const distances d = {x, seqs.off[s] * cols, seqs.off[s + 1] - seqs.off[s], cols};
        for (int64_t i = 0; i < cols; i++) {
            own[i] = -1;
            best[i] = 0;
        }
        match_pairs(k, &d, own, best);
        if (PDM_K_OK(k) && rest)
            match_rest(&d, threshold, own, best);
        for (int64_t i = 0; i < cols; i++) {
            if (out)
                out[s * cols + i] = own[i];
            if (dist)
                pdm_set_double(dist, s * cols + i, best[i]);
        }
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- target_assign --------------------------------------------------------------------------- */

typedef struct targets {
    const pdm_tensor *x, *match;
    pdm_seqs seqs;      /* of x */
    int64_t cols, each; /* columns of match; numbers of an entity */
} targets;

static void assign_targets(pdm_k *k, const targets *t, double mismatch, pdm_tensor *out,
                           pdm_tensor *weight)
{
    const int64_t width = t->x->dims[1];

    for (int64_t i = 0; PDM_K_OK(k) && i < t->seqs.count * t->cols; i++) {
        const int64_t s = i / t->cols, id = pdm_get_int(t->match, i);
        if (id > -1 && id >= t->seqs.off[s + 1] - t->seqs.off[s]) {
            pdm_k_fail(k, "match %lld is outside of its sequence", (long long)id);
            return;
        }
        for (int64_t c = 0; out && c < t->each; c++) {
            const int64_t from =
                ((t->seqs.off[s] + id) * width + i % t->cols % width) * t->each + c;
            pdm_set_double(out, i * t->each + c, id > -1 ? pdm_get_double(t->x, from) : mismatch);
        }
        if (weight)
            ((float *)weight->data)[i] = id > -1;
    }
}

/* Negative examples count as well. */
static void assign_negatives(pdm_k *k, const targets *t, const pdm_tensor *negative,
                             double mismatch, pdm_tensor *out, pdm_tensor *weight)
{
    pdm_seqs seqs;

    if (!pdm_k_row_seqs(k, negative, &seqs))
        return;
    if (seqs.count != t->seqs.count || pdm_k_row_size(negative) != 1) {
        pdm_k_fail(k, "negative indices are for %lld images", (long long)seqs.count);
        return;
    }
    for (int64_t s = 0; PDM_K_OK(k) && s < seqs.count; s++) {
        for (int64_t i = seqs.off[s]; i < seqs.off[s + 1]; i++) {
            const int64_t col = pdm_get_int(negative, i);
            if (col < 0 || col >= t->cols) {
                pdm_k_fail(k, "negative index %lld does not exist", (long long)col);
                return;
            }
            for (int64_t c = 0; out && c < t->each; c++)
                pdm_set_double(out, (s * t->cols + col) * t->each + c, mismatch);
            if (weight)
                ((float *)weight->data)[s * t->cols + col] = 1;
        }
    }
}

pdm_status pdm_kernel_legacy_target_assign(pdm_k *k)
{
    targets t = {.x = pdm_k_slot_in(k, "X"), .match = pdm_k_slot_in(k, "MatchIndices")};
    const pdm_tensor *negative = pdm_k_slot(k, "NegIndices");
    const double mismatch = (double)pdm_k_int_or(k, "mismatch_value", 0);

    if (!PDM_K_OK(k) || !pdm_k_rank_is(k, t.x, 3, "X") ||
        !pdm_k_rank_is(k, t.match, 2, "MatchIndices") || !pdm_k_row_seqs(k, t.x, &t.seqs))
        return k->status;
    t.cols = t.match->dims[1];
    t.each = t.x->dims[2];
    if (t.match->dims[0] != t.seqs.count)
        return pdm_k_fail(k, "X has %lld sequences, MatchIndices %lld rows",
                          (long long)t.seqs.count, (long long)t.match->dims[0]);
    if (t.x->dims[1] == 0 && t.cols > 0)
        return pdm_k_fail(k, "X is empty");
    pdm_tensor *out =
        pdm_k_slot_out(k, "Out", t.x->dtype, 3, PDM_DIMS(t.seqs.count, t.cols, t.each));
    pdm_tensor *weight =
        pdm_k_slot_out(k, "OutWeight", PDM_F32, 3, PDM_DIMS(t.seqs.count, t.cols, 1));
    if (PDM_K_OK(k))
        assign_targets(k, &t, mismatch, out, weight);
    if (PDM_K_OK(k) && negative)
        assign_negatives(k, &t, negative, mismatch, out, weight);
    return k->status;
}

/* ---- mine_hard_examples ---------------------------------------------------------------------- */

typedef struct mining {
    const pdm_tensor *cls, *loc, *match, *dist;
    double ratio, threshold;
    int64_t sample_size, rows, cols;
    bool hard; /* hard_example; else max_negative */
} mining;

static bool eligible(const mining *m, int64_t i)
{
    return m->hard || (pdm_get_int(m->match, i) == -1 && pdm_get_double(m->dist, i) < m->threshold);
}

/* Losses of row `row`: fills index with candidates, largest loss first, and returns how many count.
 */
static int64_t mine_row(const mining *m, int64_t row, double *loss, int64_t *index, int64_t *temp)
{
    int64_t n = 0, positives = 0;

    for (int64_t j = 0; j < m->cols; j++) {
        const int64_t i = row * m->cols + j;
        if (pdm_get_int(m->match, i) != -1)
            positives++;
        if (!eligible(m, i))
            continue;
        loss[j] = pdm_get_double(m->cls, i);
        if (m->hard && m->loc)
            loss[j] = (double)((float)loss[j] + (float)pdm_get_double(m->loc, i));
        index[n++] = j;
    }
    pdm_sort_down(index, n, loss, temp);
    const int64_t limit =
        m->hard ? m->sample_size : pdm_int_of_double((double)((float)positives * (float)m->ratio));
    return limit < 0 ? 0 : limit < n ? limit : n;
}

static bool read_mining(pdm_k *k, mining *m)
{
    pdm_ir_attr type = pdm_k_attr(k, "mining_type");

    *m = (mining){.cls = pdm_k_slot_in(k, "ClsLoss"),
                  .loc = pdm_k_slot(k, "LocLoss"),
                  .match = pdm_k_slot_in(k, "MatchIndices"),
                  .dist = pdm_k_slot_in(k, "MatchDist"),
                  .ratio = pdm_k_float_or(k, "neg_pos_ratio", 1),
                  .threshold = pdm_k_float_or(k, "neg_dist_threshold", 0.5),
                  .sample_size = pdm_k_int_or(k, "sample_size", 0)};
    if (type)
        m->hard = !strcmp(pdm_k_str(k, "mining_type"), "hard_example");
    if (!PDM_K_OK(k) || !pdm_k_rank_is(k, m->match, 2, "MatchIndices"))
        return false;
    const int64_t n = pdm_tensor_count(m->match);
    if (pdm_tensor_count(m->cls) != n || pdm_tensor_count(m->dist) != n ||
        (m->loc && pdm_tensor_count(m->loc) != n))
        pdm_k_fail(k, "operands do not fit together");
    m->rows = m->match->dims[0];
    m->cols = m->match->dims[1];
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_legacy_mine_hard_examples(pdm_k *k)
{
    mining m;
    pdm_arena arena;
    pdm_ints found = {0};

    if (!read_mining(k, &m))
        return k->status;
    pdm_arena_init(&arena);
    double *loss = pdm_k_scratch(k, &arena, m.cols, sizeof *loss);
    int64_t *index = pdm_k_scratch(k, &arena, m.cols, sizeof *index);
    int64_t *temp = pdm_k_scratch(k, &arena, m.cols, sizeof *temp);
    uint8_t *chosen = pdm_k_scratch(k, &arena, m.cols, 1);
    int64_t *starts = pdm_k_scratch(k, &arena, m.rows + 1, sizeof *starts);
    pdm_tensor *updated = pdm_k_out_slot(k, "UpdatedMatchIndices");
    if (PDM_K_OK(k) && updated && pdm_tensor_copy(updated, m.match) != PDM_OK)
        pdm_k_nomem(k);
    for (int64_t row = 0; PDM_K_OK(k) && row < m.rows; row++) {
        const int64_t n = mine_row(&m, row, loss, index, temp);
        memset(chosen, 0, (size_t)m.cols);
        for (int64_t i = 0; i < n; i++)
            chosen[index[i]] = 1;
        for (int64_t j = 0; PDM_K_OK(k) && j < m.cols; j++) {
            const int64_t at_j = row * m.cols + j;
            const bool matched = pdm_get_int(m.match, at_j) > -1;
            if (m.hard && matched && !chosen[j] && updated)
                pdm_set_int(updated, at_j, -1);
            if (chosen[j] && !(m.hard && matched))
                pdm_ints_push(k, &arena, &found, j);
        }
        starts[row + 1] = found.count;
    }
    pdm_tensor *out =
        PDM_K_OK(k) ? pdm_k_slot_out(k, "NegIndices", PDM_I32, 2, PDM_DIMS(found.count, 1)) : NULL;
    for (int64_t i = 0; out && i < found.count; i++)
        ((int32_t *)out->data)[i] = (int32_t)found.at[i];
    pdm_k_set_lod1(k, out, starts, m.rows);
    pdm_arena_deinit(&arena);
    return k->status;
}
