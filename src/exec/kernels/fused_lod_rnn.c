/* Recurrences with their projections: fusion_gru, fusion_lstm, fused_embedding_fc_lstm,
 * attention_lstm. */
#include "exec/kernels/nn_lod_impl.h"

#include <math.h>
#include <stdlib.h>

static bool matrix_is(pdm_k *k, const pdm_tensor *t, int64_t rows, int64_t cols, const char *what)
{
    if (!pdm_nn_floats(k, t) || !pdm_nn_rank_is(k, t, 2, 2, what))
        return false;
    if (t->dims[0] != rows || t->dims[1] != cols)
        pdm_k_fail(k, "%s is not [%lld, %lld]", what, (long long)rows, (long long)cols);
    return PDM_K_OK(k);
}

/* x * weight + bias for all rows; hidden from weight_h [hidden][gates * hidden]. */
static bool project(pdm_k *k, pdm_recurrence *r, const pdm_tensor *x, const pdm_tensor *weight_x,
                    const pdm_tensor *weight_h, int64_t gates)
{
    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 2, 2, "x") || !pdm_nn_floats(k, weight_h) ||
        !pdm_nn_rank_is(k, weight_h, 2, 2, "weight_h"))
        return false;
    const int64_t n = r->hidden = weight_h->dims[0], cols = pdm_nn_mul(k, gates, n);
    if (!matrix_is(k, weight_h, n, cols, "weight_h") ||
        !matrix_is(k, weight_x, x->dims[1], cols, "weight_x") ||
        !pdm_sequences_init(k, &r->seqs, x, r->reverse))
        return false;
    double *from = pdm_nn_doubles(k, x), *matrix = pdm_nn_doubles(k, weight_x);
    r->x = pdm_nn_room(k, pdm_nn_mul(k, x->dims[0], cols));
    r->weight = pdm_nn_doubles(k, weight_h);
    if (PDM_K_OK(k))
        pdm_nn_matmul(from, matrix, r->x, x->dims[0], cols, x->dims[1], false);
    free(from);
    free(matrix);
    return PDM_K_OK(k);
}

static void add_bias(pdm_recurrence *r, const pdm_tensor *bias, int64_t cols)
{
    for (int64_t i = 0; i < r->seqs.rows * cols; i++)
        r->x[i] += pdm_nn_at(bias, i % cols);
}

pdm_status pdm_kernel_fusion_gru(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *bias = pdm_k_in_opt(k, 4);
    pdm_recurrence r = {.reverse = pdm_k_bool(k, "is_reverse"),
                        .origin = pdm_k_bool(k, "origin_mode"),
                        .gate = pdm_nn_act_find(k, pdm_k_str(k, "gate_activation")),
                        .candidate = pdm_nn_act_find(k, pdm_k_str(k, "activation"))};

    if (project(k, &r, x, pdm_k_in(k, 2), pdm_k_in(k, 3), 3) && (!bias || pdm_nn_floats(k, bias)) &&
        pdm_nn_count_is(k, bias, 3 * r.hidden, "bias")) {
        if (bias)
            add_bias(&r, bias, 3 * r.hidden);
        r.h0 = pdm_recurrence_state(k, &r, pdm_k_in_opt(k, 1));
        if (PDM_K_OK(k))
            pdm_recurrence_store(k, &r, 1, x, r.x, 3 * r.hidden, false);
        if (pdm_recurrence_gru(k, &r))
            pdm_recurrence_store(k, &r, 4, x, r.h, r.hidden, false);
    }
    pdm_recurrence_deinit(&r);
    return k->status;
}

static pdm_recurrence lstm_attributes(pdm_k *k)
{
    return (pdm_recurrence){.reverse = pdm_k_bool(k, "is_reverse"),
                            .peepholes = pdm_k_bool(k, "use_peepholes"),
                            .gate = pdm_nn_act_find(k, pdm_k_str(k, "gate_activation")),
                            .cell = pdm_nn_act_find(k, pdm_k_str(k, "cell_activation")),
                            .candidate = pdm_nn_act_find(k, pdm_k_str(k, "candidate_activation"))};
}

static bool read_peepholes(pdm_k *k, pdm_recurrence *r, const pdm_tensor *bias)
{
    const int64_t n = r->hidden;

    if (!pdm_nn_floats(k, bias) || !pdm_nn_count_is(k, bias, (r->peepholes ? 7 : 4) * n, "bias"))
        return false;
    r->peephole = r->peepholes ? pdm_nn_room(k, 3 * n) : NULL;
    if (r->peephole)
        pdm_nn_load(bias, 4 * n, 1, 3 * n, r->peephole);
    return PDM_K_OK(k);
}

static void run_lstm(pdm_k *k, pdm_recurrence *r, const pdm_tensor *like, size_t h0, size_t c0)
{
    r->h0 = pdm_recurrence_state(k, r, pdm_k_in_opt(k, h0));
    r->c0 = pdm_recurrence_state(k, r, pdm_k_in_opt(k, c0));
    if (PDM_K_OK(k))
        pdm_recurrence_store(k, r, 2, like, r->x, 4 * r->hidden, false);
    if (pdm_recurrence_lstm(k, r)) {
        pdm_recurrence_store(k, r, 0, like, r->h, r->hidden, false);
        pdm_recurrence_store(k, r, 1, like, r->c, r->hidden, false);
    }
}

pdm_status pdm_kernel_fusion_lstm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *bias = pdm_k_in(k, 3);
    pdm_recurrence r = lstm_attributes(k);

    if (project(k, &r, x, pdm_k_in(k, 1), pdm_k_in(k, 2), 4) && read_peepholes(k, &r, bias)) {
        add_bias(&r, bias, 4 * r.hidden);
        run_lstm(k, &r, x, 4, 5);
    }
    pdm_recurrence_deinit(&r);
    return k->status;
}

/* Rows of the table are inputs that are projected already, bias included. */
static bool look_up(pdm_k *k, pdm_recurrence *r, const pdm_tensor *ids, const pdm_tensor *table)
{
    const int64_t cols = 4 * r->hidden;

    r->x = pdm_nn_room(k, pdm_nn_mul(k, r->seqs.rows, cols));
    for (int64_t i = 0; i < r->seqs.rows && r->x; i++) {
        const int64_t id = pdm_get_int(ids, i);
        if (id < 0 || id >= table->dims[0]) {
            pdm_k_fail(k, "id %lld is outside of a table of %lld", (long long)id,
                       (long long)table->dims[0]);
            return false;
        }
        pdm_nn_load(table, id * cols, 1, cols, r->x + i * cols);
    }
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_fused_embedding_fc_lstm(pdm_k *k)
{
    const pdm_tensor *ids = pdm_k_in(k, 0), *table = pdm_k_in(k, 1), *weight = pdm_k_in(k, 2);
    pdm_recurrence r = lstm_attributes(k);

    if (!ids || !pdm_nn_floats(k, table) || !pdm_nn_floats(k, weight) ||
        !pdm_nn_rank_is(k, table, 2, 2, "embeddings") ||
        !pdm_nn_rank_is(k, weight, 2, 2, "weight_h"))
        return k->status;
    r.hidden = weight->dims[0];
    if (matrix_is(k, weight, r.hidden, pdm_nn_mul(k, 4, r.hidden), "weight_h") &&
        matrix_is(k, table, table->dims[0], 4 * r.hidden, "embeddings") &&
        pdm_sequences_init(k, &r.seqs, ids, r.reverse) &&
        pdm_nn_count_is(k, ids, r.seqs.rows, "ids") && look_up(k, &r, ids, table) &&
        read_peepholes(k, &r, pdm_k_in(k, 3))) {
        pdm_tensor like = *table; /* the type of the results, with the LoD of the ids */
        like.lod = ids->lod;
        r.weight = pdm_nn_doubles(k, weight);
        run_lstm(k, &r, &like, 4, 5);
    }
    pdm_recurrence_deinit(&r);
    return k->status;
}

/* ---- attention_lstm ------------------------------------------------------------------------- */

typedef struct attention {
    int64_t in, hidden, longest;
    double *x, *h0, *c0, *weight, *lstm, *bias; /* lstm: [hidden + in][4 * hidden] */
    double *scores, *mixed, *gates;             /* room for one step */
    double scalar, scalar_bias, offset;
    bool has_scalar;
    pdm_nn_act gate, cell, candidate;
} attention;

/* The inputs of a sequence, mixed by how they go with the last cell state. */
static void mix(attention *a, const double *x, int64_t steps, const double *c)
{
    double most = -INFINITY, sum = 0, from_cell = a->offset;

    for (int64_t j = 0; j < a->hidden; j++)
        from_cell += c[j] * a->weight[a->in + j];
    for (int64_t t = 0; t < steps; t++) {
        double score = from_cell;
        for (int64_t j = 0; j < a->in; j++)
            score += x[t * a->in + j] * a->weight[j];
        score = score > 0 ? score : 0;
        if (a->has_scalar) {
            score = score * a->scalar + a->scalar_bias;
            score = score > 0 ? score : 0;
        }
        a->scores[t] = score;
        most = score > most ? score : most;
    }
    for (int64_t t = 0; t < steps; t++)
        sum += a->scores[t] = exp(a->scores[t] - most);
    memset(a->mixed, 0, (size_t)a->in * sizeof *a->mixed);
    for (int64_t t = 0; t < steps; t++) {
        for (int64_t j = 0; j < a->in; j++)
            a->mixed[j] += a->scores[t] / sum * x[t * a->in + j];
    }
}

/* One step; gates: forget, input, output, candidate. */
static void attend(attention *a, const double *x, int64_t steps, const double *h_old,
                   const double *c_old, double *h, double *c)
{
    const int64_t n = a->hidden;
    double *g = a->gates;

    mix(a, x, steps, c_old);
    memcpy(g, a->bias, (size_t)(4 * n) * sizeof *g);
    pdm_nn_matmul(a->mixed, a->lstm + n * 4 * n, g, 1, 4 * n, a->in, true);
    if (h_old)
        pdm_nn_matmul(h_old, a->lstm, g, 1, 4 * n, n, true);
    for (int64_t j = 0; j < n; j++) {
        c[j] = a->gate(g[j]) * c_old[j] + a->gate(g[n + j]) * a->candidate(g[3 * n + j]);
        h[j] = a->cell(c[j]) * a->gate(g[2 * n + j]);
    }
}

static double number(pdm_k *k, size_t index)
{
    return pdm_k_in_float(k, index, 0);
}

static bool read_attention(pdm_k *k, attention *a, const pdm_sequences *s, const pdm_tensor *x)
{
    const pdm_tensor *c0 = pdm_k_in(k, 1), *h0 = pdm_k_in_opt(k, 2), *w = pdm_k_in(k, 3);
    const pdm_tensor *lstm = pdm_k_in(k, 7), *bias = pdm_k_in(k, 8);

    if (!pdm_nn_floats(k, c0) || !pdm_nn_rank_is(k, c0, 2, 2, "c0") || !pdm_nn_floats(k, w) ||
        !pdm_nn_floats(k, lstm) || !pdm_nn_floats(k, bias))
        return false;
    a->in = x->dims[1];
    a->hidden = c0->dims[1];
    if (!matrix_is(k, lstm, a->hidden + a->in, pdm_nn_mul(k, 4, a->hidden), "lstm_weight") ||
        !pdm_nn_count_is(k, bias, 4 * a->hidden, "lstm_bias") ||
        !pdm_nn_count_is(k, w, a->hidden + a->in, "attention_weight") ||
        !pdm_nn_count_is(k, c0, s->count * a->hidden, "c0") ||
        !pdm_nn_count_is(k, h0, s->count * a->hidden, "h0"))
        return false;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t n = s->offsets[i + 1] - s->offsets[i];
        a->longest = n > a->longest ? n : a->longest;
    }
    a->offset = number(k, 4);
    a->has_scalar = pdm_k_in_opt(k, 5) != NULL;
    a->scalar = number(k, 5);
    a->scalar_bias = number(k, 6);
    a->x = pdm_nn_doubles(k, x);
    a->c0 = pdm_nn_doubles(k, c0);
    a->h0 = h0 ? pdm_nn_doubles(k, h0) : NULL;
    a->weight = pdm_nn_doubles(k, w);
    a->lstm = pdm_nn_doubles(k, lstm);
    a->bias = pdm_nn_doubles(k, bias);
    a->scores = pdm_nn_room(k, a->longest);
    a->mixed = pdm_nn_room(k, a->in);
    a->gates = pdm_nn_room(k, 4 * a->hidden);
    return PDM_K_OK(k);
}

static void attend_all(attention *a, const pdm_sequences *s, double *h, double *c)
{
    const int64_t n = a->hidden;

    for (int64_t i = 0; i < s->count; i++) {
        const int64_t begin = s->offsets[i], end = s->offsets[i + 1];
        for (int64_t t = begin; t < end; t++) {
            const double *h_old = t > begin ? h + (t - 1) * n : a->h0 ? a->h0 + i * n : NULL;
            const double *c_old = t > begin ? c + (t - 1) * n : a->c0 + i * n;
            attend(a, a->x + begin * a->in, end - begin, h_old, c_old, h + t * n, c + t * n);
        }
    }
}

pdm_status pdm_kernel_attention_lstm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    attention a = {.gate = pdm_nn_act_find(k, pdm_k_str(k, "gate_activation")),
                   .cell = pdm_nn_act_find(k, pdm_k_str(k, "cell_activation")),
                   .candidate = pdm_nn_act_find(k, pdm_k_str(k, "candidate_activation"))};
    pdm_recurrence r = {0};

    if (pdm_nn_floats(k, x) && pdm_nn_rank_is(k, x, 2, 2, "x") &&
        pdm_sequences_init(k, &r.seqs, x, false) && read_attention(k, &a, &r.seqs, x)) {
        r.h = pdm_nn_room(k, pdm_nn_mul(k, r.seqs.rows, a.hidden));
        r.c = pdm_nn_room(k, pdm_nn_mul(k, r.seqs.rows, a.hidden));
        if (PDM_K_OK(k)) {
            attend_all(&a, &r.seqs, r.h, r.c);
            pdm_recurrence_store(k, &r, 0, x, r.h, a.hidden, false);
            pdm_recurrence_store(k, &r, 1, x, r.c, a.hidden, false);
        }
    }
    double *const rooms[] = {a.x, a.h0, a.c0, a.weight, a.lstm, a.bias, a.scores, a.mixed, a.gates};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        free(rooms[i]);
    pdm_recurrence_deinit(&r);
    return k->status;
}
