/* Recurrences over sequences of a LoD: lstm, gru; gru_unit; row_conv. */
#include "exec/kernels/nn_lod_impl.h"

#include <stdlib.h>

/* ---- sequences ------------------------------------------------------------------------------ */

static int64_t length_of(const pdm_sequences *s, int64_t i)
{
    return s->offsets[i + 1] - s->offsets[i];
}

/* Stable, by counting lengths: longest first. */
static bool order_sequences(pdm_k *k, pdm_sequences *s)
{
    int64_t longest = 0, at = 0;

    for (int64_t i = 0; i < s->count; i++)
        longest = length_of(s, i) > longest ? length_of(s, i) : longest;
    int64_t *starts = calloc((size_t)longest + 2, sizeof *starts);
    if (!starts) {
        pdm_k_nomem(k);
        return false;
    }
    for (int64_t i = 0; i < s->count; i++)
        starts[length_of(s, i)]++;
    for (int64_t n = longest; n >= 0; n--) {
        const int64_t here = starts[n];
        starts[n] = at;
        at += here;
    }
    for (int64_t i = 0; i < s->count; i++)
        s->order[starts[length_of(s, i)]++] = i;
    free(starts);
    return true;
}

static void order_rows(pdm_sequences *s, bool reverse)
{
    int64_t alive = s->count, at = 0;

    for (int64_t t = 0; alive > 0; t++) {
        while (alive > 0 && length_of(s, s->order[alive - 1]) <= t)
            alive--;
        for (int64_t i = 0; i < alive; i++) {
            const int64_t seq = s->order[i];
            s->in_batch[reverse ? s->offsets[seq + 1] - 1 - t : s->offsets[seq] + t] = at++;
        }
    }
}

bool pdm_sequences_init(pdm_k *k, pdm_sequences *s, const pdm_tensor *x, bool reverse)
{
    memset(s, 0, sizeof *s);
    s->offsets = pdm_nn_lod(k, x, &s->count);
    if (!s->offsets)
        return false;
    s->rows = x->dims[0];
    s->order = calloc((size_t)s->count + 1, sizeof *s->order);
    s->in_batch = calloc((size_t)s->rows + 1, sizeof *s->in_batch);
    if (!s->order || !s->in_batch) {
        pdm_k_nomem(k);
        return false;
    }
    if (!order_sequences(k, s))
        return false;
    order_rows(s, reverse);
    return true;
}

void pdm_sequences_deinit(pdm_sequences *s)
{
    free(s->order);
    free(s->in_batch);
}

/* ---- the cells ------------------------------------------------------------------------------ */

/* Calls `cell` for each row in the order of its sequence, with the row before it or -1. */
static void walk(pdm_recurrence *r,
                 void (*cell)(pdm_recurrence *r, int64_t seq, int64_t row, int64_t before))
{
    for (int64_t s = 0; s < r->seqs.count; s++) {
        const int64_t begin = r->seqs.offsets[s], end = r->seqs.offsets[s + 1];
        int64_t before = -1;
        for (int64_t i = begin; i < end; i++) {
            const int64_t row = r->reverse ? end - 1 - (i - begin) : i;
            cell(r, s, row, before);
            before = row;
        }
    }
}

static const double *state_before(const double *states, const double *initial, int64_t seq,
                                  int64_t before, int64_t n)
{
    if (before >= 0)
        return states + before * n;
    return initial ? initial + seq * n : NULL;
}

/* Gates: candidate, input, forget, output. */
static void lstm_cell(pdm_recurrence *r, int64_t seq, int64_t row, int64_t before)
{
    const int64_t n = r->hidden;
    double *g = r->x + row * 4 * n;
    const double *h = state_before(r->h, r->h0, seq, before, n);
    const double *c = state_before(r->c, r->c0, seq, before, n);

    if (h)
        pdm_nn_matmul(h, r->weight, g, 1, 4 * n, n, true);
    for (int64_t j = 0; j < n; j++) {
        const double old = c ? c[j] : 0;
        if (r->peepholes) {
            g[n + j] += old * r->peephole[j];
            g[2 * n + j] += old * r->peephole[n + j];
        }
        g[j] = r->candidate(g[j]);
        g[n + j] = r->gate(g[n + j]);
        g[2 * n + j] = r->gate(g[2 * n + j]);
        const double now = g[j] * g[n + j] + old * g[2 * n + j];
        if (r->peepholes)
            g[3 * n + j] += now * r->peephole[2 * n + j];
        g[3 * n + j] = r->gate(g[3 * n + j]);
        r->c[row * n + j] = now;
        r->extra[row * n + j] = r->cell(now);
        r->h[row * n + j] = g[3 * n + j] * r->extra[row * n + j];
    }
}

/* Gates: update, reset, candidate. */
static void gru_step(const pdm_recurrence *r, double *g, const double *h, double *reset,
                     double *out)
{
    const int64_t n = r->hidden;
    const double *candidates = r->weight + 2 * n * n;

    for (int64_t i = 0; i < n && h; i++) {
        for (int64_t j = 0; j < 2 * n; j++)
            g[j] += h[i] * r->weight[i * 2 * n + j];
    }
    for (int64_t j = 0; j < n; j++) {
        g[j] = r->gate(g[j]);
        g[n + j] = r->gate(g[n + j]);
        reset[j] = h ? g[n + j] * h[j] : 0;
    }
    if (h)
        pdm_nn_matmul(reset, candidates, g + 2 * n, 1, n, n, true);
    for (int64_t j = 0; j < n; j++) {
        const double old = h ? h[j] : 0, update = g[j];
        const double candidate = g[2 * n + j] = r->candidate(g[2 * n + j]);
        out[j] = r->origin ? update * old + (1 - update) * candidate
                           : (1 - update) * old + update * candidate;
    }
}

static void gru_cell(pdm_recurrence *r, int64_t seq, int64_t row, int64_t before)
{
    const int64_t n = r->hidden;

    gru_step(r, r->x + row * 3 * n, state_before(r->h, r->h0, seq, before, n), r->extra + row * n,
             r->h + row * n);
}

static bool room_for_results(pdm_k *k, pdm_recurrence *r, bool cells)
{
    const int64_t n = pdm_nn_mul(k, r->seqs.rows, r->hidden);

    r->h = pdm_nn_room(k, n);
    r->extra = pdm_nn_room(k, n);
    if (cells)
        r->c = pdm_nn_room(k, n);
    return PDM_K_OK(k);
}

bool pdm_recurrence_lstm(pdm_k *k, pdm_recurrence *r)
{
    if (!PDM_K_OK(k) || !room_for_results(k, r, true))
        return false;
    walk(r, lstm_cell);
    return true;
}

bool pdm_recurrence_gru(pdm_k *k, pdm_recurrence *r)
{
    if (!PDM_K_OK(k) || !room_for_results(k, r, false))
        return false;
    walk(r, gru_cell);
    return true;
}

void pdm_recurrence_deinit(pdm_recurrence *r)
{
    pdm_sequences_deinit(&r->seqs);
    free(r->x);
    free(r->weight);
    free(r->peephole);
    free(r->h0);
    free(r->c0);
    free(r->h);
    free(r->c);
    free(r->extra);
}

double *pdm_recurrence_state(pdm_k *k, const pdm_recurrence *r, const pdm_tensor *t)
{
    if (!t || !pdm_nn_floats(k, t) ||
        !pdm_nn_count_is(k, t, pdm_nn_mul(k, r->seqs.count, r->hidden), "an initial state"))
        return NULL;
    return pdm_nn_doubles(k, t);
}

void pdm_recurrence_store(pdm_k *k, const pdm_recurrence *r, size_t index, const pdm_tensor *x,
                          const double *values, int64_t cols, bool in_batch)
{
    const int64_t dims[2] = {r->seqs.rows, cols};
    pdm_tensor *out =
        PDM_K_OK(k) && pdm_k_wants(k, index) ? pdm_nn_out(k, index, x->dtype, 2, dims) : NULL;

    for (int64_t i = 0; i < r->seqs.rows && out; i++)
        pdm_nn_store(out, (in_batch ? r->seqs.in_batch[i] : i) * cols, 1, cols, values + i * cols);
    if (out && !in_batch)
        pdm_k_share_lod(k, index, x);
}

/* ---- operands of lstm and gru --------------------------------------------------------------- */

/* Input [rows][gates * hidden] and weight [hidden][gates * hidden]. */
static bool read_projected(pdm_k *k, pdm_recurrence *r, const pdm_tensor *x,
                           const pdm_tensor *weight, int64_t gates)
{
    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, weight) ||
        !pdm_nn_rank_is(k, weight, 2, 2, "weight") || !pdm_nn_rank_is(k, x, 2, 2, "input") ||
        !pdm_sequences_init(k, &r->seqs, x, r->reverse))
        return false;
    r->hidden = weight->dims[0];
    if (weight->dims[1] != gates * r->hidden || x->dims[1] != gates * r->hidden) {
        pdm_k_fail(k, "input and weight do not fit a hidden size of %lld", (long long)r->hidden);
        return false;
    }
    r->x = pdm_nn_doubles(k, x);
    r->weight = pdm_nn_doubles(k, weight);
    return PDM_K_OK(k);
}

static void add_bias(pdm_recurrence *r, const pdm_tensor *bias, int64_t cols)
{
    for (int64_t i = 0; i < r->seqs.rows * cols; i++)
        r->x[i] += pdm_nn_at(bias, i % cols);
}

static bool lstm_bias(pdm_k *k, pdm_recurrence *r, const pdm_tensor *bias)
{
    const int64_t n = r->hidden;

    if (!pdm_nn_floats(k, bias) || !pdm_nn_count_is(k, bias, (r->peepholes ? 7 : 4) * n, "bias"))
        return false;
    add_bias(r, bias, 4 * n);
    r->peephole = r->peepholes ? pdm_nn_room(k, 3 * n) : NULL;
    if (r->peephole)
        pdm_nn_load(bias, 4 * n, 1, 3 * n, r->peephole);
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_lstm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_recurrence r = {.reverse = pdm_k_bool(k, "is_reverse"),
                        .peepholes = pdm_k_bool(k, "use_peepholes"),
                        .gate = pdm_nn_act_find(k, pdm_k_str(k, "gate_activation")),
                        .cell = pdm_nn_act_find(k, pdm_k_str(k, "cell_activation")),
                        .candidate = pdm_nn_act_find(k, pdm_k_str(k, "candidate_activation"))};

    if (read_projected(k, &r, x, pdm_k_in(k, 3), 4) && lstm_bias(k, &r, pdm_k_in(k, 4))) {
        r.h0 = pdm_recurrence_state(k, &r, pdm_k_in_opt(k, 1));
        r.c0 = pdm_recurrence_state(k, &r, pdm_k_in_opt(k, 2));
        if (pdm_recurrence_lstm(k, &r)) {
            pdm_recurrence_store(k, &r, 0, x, r.h, r.hidden, false);
            pdm_recurrence_store(k, &r, 1, x, r.c, r.hidden, false);
            pdm_recurrence_store(k, &r, 2, x, r.x, 4 * r.hidden, true);
            pdm_recurrence_store(k, &r, 3, x, r.extra, r.hidden, true);
        }
    }
    pdm_recurrence_deinit(&r);
    return k->status;
}

pdm_status pdm_kernel_gru(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *bias = pdm_k_in_opt(k, 3);
    pdm_recurrence r = {.reverse = pdm_k_bool(k, "is_reverse"),
                        .origin = pdm_k_bool(k, "origin_mode"),
                        .gate = pdm_nn_act_find(k, pdm_k_str(k, "gate_activation")),
                        .candidate = pdm_nn_act_find(k, pdm_k_str(k, "activation"))};

    if (read_projected(k, &r, x, pdm_k_in(k, 2), 3) && (!bias || pdm_nn_floats(k, bias)) &&
        pdm_nn_count_is(k, bias, 3 * r.hidden, "bias")) {
        if (bias)
            add_bias(&r, bias, 3 * r.hidden);
        r.h0 = pdm_recurrence_state(k, &r, pdm_k_in_opt(k, 1));
        if (pdm_recurrence_gru(k, &r)) {
            pdm_recurrence_store(k, &r, 0, x, r.x, 3 * r.hidden, true);
            pdm_recurrence_store(k, &r, 1, x, r.extra, r.hidden, true);
            pdm_recurrence_store(k, &r, 2, x, r.h, r.hidden, true);
            pdm_recurrence_store(k, &r, 3, x, r.h, r.hidden, false);
        }
    }
    pdm_recurrence_deinit(&r);
    return k->status;
}

/* ---- gru_unit ------------------------------------------------------------------------------- */

static pdm_nn_act act_of_number(pdm_k *k, const char *name)
{
    static const char *const names[] = {"identity", "sigmoid", "tanh", "relu"};
    const int64_t number = pdm_k_int(k, name);

    if (number < 0 || number > 3)
        pdm_k_fail(k, "activation %lld is not known", (long long)number);
    return pdm_nn_act_find(k, PDM_K_OK(k) ? names[number] : "");
}

pdm_status pdm_kernel_gru_unit(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *before = pdm_k_in(k, 1), *weight = pdm_k_in(k, 2);
    const pdm_tensor *bias = pdm_k_in_opt(k, 3);
    pdm_recurrence r = {.origin = pdm_k_bool(k, "origin_mode"),
                        .gate = act_of_number(k, "gate_activation"),
                        .candidate = act_of_number(k, "activation")};

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, before) || !pdm_nn_floats(k, weight) ||
        !pdm_nn_rank_is(k, before, 2, 2, "hidden_prev"))
        return k->status;
    const int64_t rows = r.seqs.rows = before->dims[0], n = r.hidden = before->dims[1];
    if (!pdm_nn_count_is(k, x, rows * 3 * n, "input") ||
        !pdm_nn_count_is(k, weight, 3 * n * n, "weight") ||
        !pdm_nn_count_is(k, bias, 3 * n, "bias"))
        return k->status;
    r.x = pdm_nn_doubles(k, x);
    r.weight = pdm_nn_doubles(k, weight);
    r.h0 = pdm_nn_doubles(k, before);
    if (PDM_K_OK(k) && room_for_results(k, &r, false)) {
        if (bias)
            add_bias(&r, bias, 3 * n);
        for (int64_t i = 0; i < rows; i++)
            gru_step(&r, r.x + i * 3 * n, r.h0 + i * n, r.extra + i * n, r.h + i * n);
        pdm_recurrence_store(k, &r, 0, x, r.x, 3 * n, false);
        pdm_recurrence_store(k, &r, 1, x, r.extra, n, false);
        pdm_recurrence_store(k, &r, 2, x, r.h, n, false);
    }
    pdm_recurrence_deinit(&r);
    return k->status;
}

/* ---- row_conv ------------------------------------------------------------------------------- */

/* Rows begin to end of x: each becomes a weighted sum of itself and those behind it. */
static void look_ahead(const pdm_tensor *x, const pdm_tensor *filter, pdm_tensor *out,
                       int64_t begin, int64_t end)
{
    const int64_t context = filter->dims[0], n = filter->dims[1];

    for (int64_t i = begin; i < end; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t w = 0; w < context && i + w < end; w++)
                sum += pdm_nn_at(x, (i + w) * n + j) * pdm_nn_at(filter, w * n + j);
            pdm_nn_put(out, i * n + j, sum);
        }
    }
}

pdm_status pdm_kernel_row_conv(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *filter = pdm_k_in(k, 1);

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, filter) ||
        !pdm_nn_rank_is(k, filter, 2, 2, "filter") || !pdm_nn_rank_is(k, x, 2, 3, "x"))
        return k->status;
    if (x->dims[x->rank - 1] != filter->dims[1])
        return pdm_k_fail(k, "filter and x do not fit");
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    if (!out)
        return k->status;
    if (x->rank == 2) {
        int64_t count = 0;
        const int64_t *offsets = pdm_nn_lod(k, x, &count);
        for (int64_t i = 0; i < count; i++)
            look_ahead(x, filter, out, offsets[i], offsets[i + 1]);
        return k->status;
    }
    for (int64_t i = 0; i < x->dims[0]; i++)
        look_ahead(x, filter, out, i * x->dims[1], (i + 1) * x->dims[1]);
    return k->status;
}
