/* pd_op.rnn: LSTM, GRU and plain recurrences in layers, one or two directions. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

typedef enum cell { TANH, RELU, LSTM, GRU } cell;

typedef struct rnn {
    const pdm_tensor *x, *lengths;
    cell cell;
    int64_t steps, batch, hidden, layers, directions, gates; /* gates: rows of a weight / hidden */
    double dropout;
} rnn;

/* Weights of one direction of one layer; matrices transposed: [in][gates * hidden]. */
typedef struct weights {
    double *input, *state, *input_bias, *state_bias;
    int64_t in;
} weights;

/* ---- cells: gates and states of one sequence at one step ------------------------------------ */

/* x and s: what input and state bring to the gates. h and c are the state, changed in place. */
static void step(const rnn *r, const double *x, const double *s, double *h, double *c)
{
    const int64_t n = r->hidden;

    for (int64_t j = 0; j < n; j++) {
        if (r->cell == LSTM) {
            const double in = pdm_nn_sigmoid(x[j] + s[j]);
            const double forget = pdm_nn_sigmoid(x[n + j] + s[n + j]);
            const double candidate = tanh(x[2 * n + j] + s[2 * n + j]);
            const double out = pdm_nn_sigmoid(x[3 * n + j] + s[3 * n + j]);
            c[j] = forget * c[j] + in * candidate;
            h[j] = out * tanh(c[j]);
        } else if (r->cell == GRU) {
            const double reset = pdm_nn_sigmoid(x[j] + s[j]);
            const double update = pdm_nn_sigmoid(x[n + j] + s[n + j]);
            const double candidate = tanh(x[2 * n + j] + reset * s[2 * n + j]);
            h[j] = update * h[j] + (1 - update) * candidate;
        } else {
            const double sum = x[j] + s[j];
            h[j] = r->cell == TANH ? tanh(sum) : sum > 0 ? sum : 0;
        }
    }
}

/* Rows of to = rows of from * matrix + bias. */
static void project(const double *from, const double *matrix, const double *bias, double *to,
                    int64_t rows, int64_t cols, int64_t depth)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * cols, bias, (size_t)cols * sizeof *to);
    pdm_nn_matmul(from, matrix, to, rows, cols, depth, true);
}

/* One direction: x [steps][batch][in] to out, whose rows are `width` apart; h, c [batch][hidden].
 */
static void run_direction(pdm_k *k, const rnn *r, const weights *w, const double *x, bool reverse,
                          double *h, double *c, double *out, int64_t width)
{
    const int64_t cols = r->gates * r->hidden, rows = r->steps * r->batch;
    double *from_x = pdm_nn_room(k, pdm_nn_mul(k, rows, cols));
    double *from_h = pdm_nn_room(k, pdm_nn_mul(k, r->batch, cols));

    if (from_x && from_h) {
        project(x, w->input, w->input_bias, from_x, rows, cols, w->in);
        for (int64_t i = 0; i < r->steps; i++) {
            const int64_t t = reverse ? r->steps - 1 - i : i;
            project(h, w->state, w->state_bias, from_h, r->batch, cols, r->hidden);
            for (int64_t b = 0; b < r->batch; b++) {
                double *to = out + (t * r->batch + b) * width;
                if (r->lengths && t >= pdm_get_int(r->lengths, b))
                    continue; /* the room is zeroed: nothing comes out, the state stays */
                step(r, from_x + (t * r->batch + b) * cols, from_h + b * cols, h + b * r->hidden,
                     c ? c + b * r->hidden : NULL);
                memcpy(to, h + b * r->hidden, (size_t)r->hidden * sizeof *to);
            }
        }
    }
    free(from_x);
    free(from_h);
}

/* ---- operands ------------------------------------------------------------------------------- */

/* Matrix [rows][cols] as doubles [cols][rows]. */
static double *transposed(pdm_k *k, const pdm_tensor *t, int64_t rows, int64_t cols)
{
    if (!t || !pdm_nn_floats(k, t))
        return NULL;
    if (t->rank != 2 || t->dims[0] != rows || t->dims[1] != cols) {
        pdm_k_fail(k, "a weight is not [%lld, %lld]", (long long)rows, (long long)cols);
        return NULL;
    }
    double *to = pdm_nn_room(k, rows * cols);
    for (int64_t j = 0; j < cols && to; j++)
        pdm_nn_load(t, j, cols, rows, to + j * rows);
    return to;
}

static double *vector(pdm_k *k, const pdm_tensor *t, int64_t n)
{
    return t && pdm_nn_floats(k, t) && pdm_nn_count_is(k, t, n, "a bias") ? pdm_nn_doubles(k, t)
                                                                          : NULL;
}

/* Weights come first, biases after all of them; input before state. */
static bool read_weights(pdm_k *k, const rnn *r, int64_t layer, int64_t direction, int64_t in,
                         weights *w)
{
    const size_t at = (size_t)(2 * (layer * r->directions + direction));
    const size_t biases = (size_t)(2 * r->layers * r->directions);
    const int64_t rows = r->gates * r->hidden;

    w->in = in;
    w->input = transposed(k, pdm_k_list_at(k, 2, at), rows, in);
    w->state = transposed(k, pdm_k_list_at(k, 2, at + 1), rows, r->hidden);
    w->input_bias = vector(k, pdm_k_list_at(k, 2, biases + at), rows);
    w->state_bias = vector(k, pdm_k_list_at(k, 2, biases + at + 1), rows);
    return PDM_K_OK(k);
}

static void free_weights(weights *w)
{
    free(w->input);
    free(w->state);
    free(w->input_bias);
    free(w->state_bias);
}

static bool read_sizes(pdm_k *k, rnn *r)
{
    const char *mode = pdm_k_str(k, "mode");

    r->x = pdm_k_in(k, 0);
    r->lengths = pdm_k_in_opt(k, 3);
    r->hidden = pdm_k_int(k, "hidden_size");
    r->layers = pdm_k_int(k, "num_layers");
    r->directions = pdm_k_bool(k, "is_bidirec") ? 2 : 1;
    r->dropout = pdm_k_bool(k, "is_test") ? 0 : pdm_k_float(k, "dropout_prob");
    if (!pdm_nn_floats(k, r->x) || !pdm_nn_rank_is(k, r->x, 3, 3, "x"))
        return false;
    r->cell = !strcmp(mode, "LSTM")       ? LSTM
              : !strcmp(mode, "GRU")      ? GRU
              : !strcmp(mode, "RNN_RELU") ? RELU
                                          : TANH;
    r->gates = r->cell == LSTM ? 4 : r->cell == GRU ? 3 : 1;
    r->steps = r->x->dims[0];
    r->batch = r->x->dims[1];
    if (r->cell == TANH && strcmp(mode, "RNN_TANH") != 0)
        pdm_k_fail(k, "mode '%s' is not known", mode);
    else if (r->hidden < 1 || r->hidden > INT32_MAX || r->layers < 1 || r->layers > 10000)
        pdm_k_fail(k, "hidden_size is %lld, num_layers %lld", (long long)r->hidden,
                   (long long)r->layers);
    return pdm_nn_count_is(k, r->lengths, r->batch, "sequence_length");
}

/* Initial state `index` (0: hidden, 1: cell) of all layers. */
static double *read_state(pdm_k *k, const rnn *r, size_t index)
{
    const pdm_tensor *t = pdm_k_list_at(k, 1, index);
    const int64_t n = r->layers * r->directions * r->batch;

    if (!t || !pdm_nn_floats(k, t) ||
        !pdm_nn_count_is(k, t, pdm_nn_mul(k, n, r->hidden), "an initial state"))
        return NULL;
    return pdm_nn_doubles(k, t);
}

/* ---- layers --------------------------------------------------------------------------------- */

static void drop(pdm_k *k, const rnn *r, double *values, int64_t n)
{
    for (int64_t i = 0; i < n && k->rng; i++) {
        const bool keep = pdm_rng_uniform(k->rng) >= r->dropout;
        values[i] = keep ? values[i] / (1 - r->dropout) : 0;
    }
}

/* Runs layer by layer; gives the output of the last (heap), and leaves the states as they end. */
static double *run_layers(pdm_k *k, const rnn *r, double *h, double *c)
{
    const int64_t width = r->directions * r->hidden, rows = r->steps * r->batch;
    const int64_t state = r->batch * r->hidden;
    int64_t in = r->x->dims[2];
    double *from = pdm_nn_doubles(k, r->x);

    for (int64_t l = 0; l < r->layers && from; l++) {
        double *to = pdm_nn_room(k, pdm_nn_mul(k, rows, width));
        for (int64_t d = 0; d < r->directions && to; d++) {
            const int64_t at = (l * r->directions + d) * state;
            weights w = {0};
            if (read_weights(k, r, l, d, in, &w))
                run_direction(k, r, &w, from, d == 1, h + at, c ? c + at : NULL, to + d * r->hidden,
                              width);
            free_weights(&w);
        }
        if (to && r->dropout > 0 && l + 1 < r->layers)
            drop(k, r, to, rows * width);
        free(from);
        from = to;
        in = width;
    }
    return from;
}

static void store_state(pdm_k *k, const rnn *r, size_t index, const double *values)
{
    const int64_t dims[3] = {r->layers * r->directions, r->batch, r->hidden};
    pdm_value *list = pdm_k_out_value(k, 2);

    if (!list || !pdm_k_out_at(k, 2, index, r->x->dtype, 3, dims))
        return;
    pdm_tensor *out =
        list->kind == PDM_VALUE_LIST ? &list->list.items[index]->tensor : &list->tensor;
    pdm_nn_store(out, 0, 1, pdm_tensor_count(out), values);
}

static void store_all(pdm_k *k, const rnn *r, const double *values, const double *h,
                      const double *c)
{
    const int64_t dims[3] = {r->steps, r->batch, r->directions * r->hidden}, none[1] = {0};
    const pdm_tensor *seeds = pdm_k_in_opt(k, 4);
    pdm_tensor *out = pdm_nn_out(k, 0, r->x->dtype, 3, dims);

    if (out)
        pdm_nn_store(out, 0, 1, pdm_tensor_count(out), values);
    store_state(k, r, 0, h);
    if (c)
        store_state(k, r, 1, c);
    if (pdm_k_wants(k, 1) && seeds)
        pdm_k_share(k, 1, seeds, seeds->rank, seeds->dims);
    else if (pdm_k_wants(k, 1))
        pdm_k_out(k, 1, PDM_U8, 1, none);
    if (pdm_k_wants(k, 3))
        pdm_k_out(k, 3, r->x->dtype, 1, none);
}

pdm_status pdm_kernel_rnn(pdm_k *k)
{
    rnn r;

    if (!read_sizes(k, &r) || !PDM_K_OK(k))
        return k->status;
    double *h = read_state(k, &r, 0), *c = r.cell == LSTM ? read_state(k, &r, 1) : NULL;
    double *out = PDM_K_OK(k) ? run_layers(k, &r, h, c) : NULL;
    if (out && PDM_K_OK(k))
        store_all(k, &r, out, h, c);
    free(h);
    free(c);
    free(out);
    return k->status;
}
