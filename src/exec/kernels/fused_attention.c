/* Attention in its fused forms. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

/* Rows of queries, keys and values by strides: [0] batch, [1] head, [2] step; elements follow each
 * other. The mask is added to the scores; its strides are 0 where it is repeated. */
typedef struct attention {
    const pdm_tensor *q, *k, *v, *mask;
    pdm_tensor *out, *log_sums; /* log_sums: [batch][heads][queries] or NULL */
    int64_t batch, heads, shared, queries, keys, width,
        value_width; /* shared: queries' heads a key */
    int64_t q_first, k_first, v_first, qs[3], ks[3], vs[3], os[3], ms[4];
    double scale;
    bool causal; /* a query sees keys up to its own step, counted from the ends */
    const int64_t *query_lengths, *key_lengths; /* by batch, or NULL */
} attention;

static double dot(const pdm_tensor *a, int64_t at, const pdm_tensor *b, int64_t bt, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += pdm_nn_at(a, at + i) * pdm_nn_at(b, bt + i);
    return sum;
}

/* One query; scores is room for the keys, sums for one value. */
static void attend(const attention *a, int64_t b, int64_t h, int64_t i, double *scores,
                   double *sums)
{
    const int64_t query = a->q_first + b * a->qs[0] + h * a->qs[1] + i * a->qs[2];
    const int64_t key = a->k_first + b * a->ks[0] + h / a->shared * a->ks[1];
    const int64_t value = a->v_first + b * a->vs[0] + h / a->shared * a->vs[1];
    const int64_t all = a->key_lengths ? a->key_lengths[b] : a->keys;
    const int64_t asked = a->query_lengths ? a->query_lengths[b] : a->queries;
    const int64_t visible = a->causal ? i + 1 + all - asked : all;
    const int64_t n = visible < 0 ? 0 : visible < all ? visible : all;
    double most = -INFINITY, sum = 0;

    for (int64_t j = 0; j < n; j++) {
        scores[j] = a->scale * dot(a->q, query, a->k, key + j * a->ks[2], a->width);
        if (a->mask)
            scores[j] +=
                pdm_nn_at(a->mask, b * a->ms[0] + h * a->ms[1] + i * a->ms[2] + j * a->ms[3]);
        most = scores[j] > most ? scores[j] : most;
    }
    memset(sums, 0, (size_t)a->value_width * sizeof *sums);
    for (int64_t j = 0; j < n; j++)
        sum += scores[j] = most == -INFINITY ? 0 : exp(scores[j] - most);
    for (int64_t j = 0; j < n && sum > 0; j++) {
        for (int64_t e = 0; e < a->value_width; e++)
            sums[e] += scores[j] / sum * pdm_nn_at(a->v, value + j * a->vs[2] + e);
    }
    pdm_nn_store(a->out, b * a->os[0] + h * a->os[1] + i * a->os[2], 1, a->value_width, sums);
    if (a->log_sums)
        pdm_nn_put(a->log_sums, (b * a->heads + h) * a->queries + i, most + log(sum));
}

static pdm_status run(pdm_k *k, const attention *a)
{
    double *scores = pdm_nn_room(k, a->keys), *sums = pdm_nn_room(k, a->value_width);

    for (int64_t b = 0; b < a->batch && PDM_K_OK(k); b++) {
        const int64_t n = a->query_lengths ? a->query_lengths[b] : a->queries;
        for (int64_t h = 0; h < a->heads; h++) {
            for (int64_t i = 0; i < n; i++)
                attend(a, b, h, i, scores, sums);
        }
    }
    free(scores);
    free(sums);
    return k->status;
}

/* Strides of [batch][steps][heads][width]. */
static void by_step(int64_t strides[3], int64_t steps, int64_t heads, int64_t width)
{
    strides[0] = steps * heads * width;
    strides[1] = width;
    strides[2] = heads * width;
}

/* Mask of up to four dims that is repeated over [batch][heads][queries][keys]. */
static bool set_mask(pdm_k *k, attention *a, const pdm_tensor *mask)
{
    const int64_t dims[4] = {a->batch, a->heads, a->queries, a->keys};
    int64_t stride = 1;

    a->mask = mask;
    if (!mask)
        return PDM_K_OK(k);
    if (!pdm_nn_floats(k, mask) || !pdm_nn_rank_is(k, mask, 0, 4, "the mask"))
        return false;
    for (int d = 3, e = mask->rank - 1; e >= 0; d--, e--) {
        if (mask->dims[e] != dims[d] && mask->dims[e] != 1) {
            pdm_k_fail(k, "the mask does not fit the scores");
            return false;
        }
        a->ms[d] = mask->dims[e] == 1 ? 0 : stride;
        stride *= mask->dims[e];
    }
    return true;
}

/* ---- self_dp_attention ---------------------------------------------------------------------- */

pdm_status pdm_kernel_self_dp_attention(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 5, 5, "x"))
        return k->status;
    const int64_t *d = x->dims, row = d[3] * d[4];
    if (d[2] != 3)
        return pdm_k_fail(k, "x is not [batch, steps, 3, heads, width]");
    attention a = {.q = x,
                   .k = x,
                   .v = x,
                   .batch = d[0],
                   .queries = d[1],
                   .keys = d[1],
                   .heads = d[3],
                   .shared = 1,
                   .width = d[4],
                   .value_width = d[4],
                   .k_first = row,
                   .v_first = 2 * row,
                   .scale = pdm_k_float(k, "alpha")};
    by_step(a.qs, d[1], 3 * d[3], d[4]);
    memcpy(a.ks, a.qs, sizeof a.qs);
    memcpy(a.vs, a.qs, sizeof a.qs);
    by_step(a.os, d[1], d[3], d[4]);
    const int64_t dims[4] = {d[0], d[1], d[3], d[4]};
    a.out = pdm_nn_out(k, 0, x->dtype, 4, dims);
    return a.out ? run(k, &a) : k->status;
}

/* ---- multihead_matmul ----------------------------------------------------------------------- */

/* Projection of [batch][steps][hidden] by [hidden][3][heads * width], then attention. */
pdm_status pdm_kernel_multihead_matmul(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *w = pdm_k_in(k, 1), *bias = pdm_k_in(k, 2);
    const int64_t heads = pdm_k_int(k, "head_number");
    pdm_tensor projected = {0};

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, w) || !pdm_nn_floats(k, bias) ||
        !pdm_nn_rank_is(k, x, 3, 3, "input") || !pdm_nn_rank_is(k, w, 3, 3, "w"))
        return k->status;
    const int64_t batch = x->dims[0], steps = x->dims[1], depth = x->dims[2], all = w->dims[2];
    if (w->dims[0] != depth || w->dims[1] != 3 || heads < 1 || all % heads != 0 ||
        !pdm_nn_count_is(k, bias, 3 * all, "bias"))
        return pdm_k_fail(k, "w and bias do not fit %lld heads", (long long)heads);
    const int64_t rows[2] = {batch * steps, 3 * all}, dims[3] = {batch, steps, all};
    if (pdm_tensor_alloc(&projected, x->dtype, 2, rows) != PDM_OK)
        return pdm_k_nomem(k);
    const pdm_nn_linear l = {.x = x,
                             .w = w,
                             .bias = bias,
                             .rows = rows[0],
                             .cols = rows[1],
                             .depth = depth,
                             .x_row = depth,
                             .x_col = 1,
                             .w_row = rows[1],
                             .w_col = 1,
                             .out = &projected};
    attention a = {.q = &projected,
                   .k = &projected,
                   .v = &projected,
                   .batch = batch,
                   .queries = steps,
                   .keys = steps,
                   .heads = heads,
                   .shared = 1,
                   .width = all / heads,
                   .value_width = all / heads,
                   .k_first = all,
                   .v_first = 2 * all,
                   .scale = pdm_k_float(k, "alpha")};
    by_step(a.qs, steps, 3 * heads, a.width);
    memcpy(a.ks, a.qs, sizeof a.qs);
    memcpy(a.vs, a.qs, sizeof a.qs);
    by_step(a.os, steps, heads, a.width);
    if (set_mask(k, &a, pdm_k_in_opt(k, 3)))
        a.out = pdm_nn_out(k, 0, x->dtype, 3, dims);
    if (a.out) {
        pdm_nn_linear_run(k, &l);
        run(k, &a);
    }
    pdm_tensor_deinit(&projected);
    return k->status;
}

/* ---- flash_attn, memory_efficient_attention ------------------------------------------------- */

/* q, k, v are [batch][steps][heads][width]; keys may have fewer heads. */
static bool read_qkv(pdm_k *k, attention *a)
{
    a->q = pdm_k_in(k, 0);
    a->k = pdm_k_in(k, 1);
    a->v = pdm_k_in(k, 2);
    if (!pdm_nn_floats(k, a->q) || !pdm_nn_floats(k, a->k) || !pdm_nn_floats(k, a->v) ||
        !pdm_nn_rank_is(k, a->q, 4, 4, "q") || !pdm_nn_rank_is(k, a->k, 4, 4, "k") ||
        !pdm_nn_rank_is(k, a->v, 4, 4, "v"))
        return false;
    const int64_t *q = a->q->dims, *key = a->k->dims, *v = a->v->dims;
    if (key[0] != q[0] || v[0] != q[0] || v[1] != key[1] || v[2] != key[2] || key[3] != q[3] ||
        key[2] < 1 || q[2] % key[2] != 0) {
        pdm_k_fail(k, "q, k and v do not fit together");
        return false;
    }
    a->batch = q[0];
    a->queries = q[1];
    a->heads = q[2];
    a->width = q[3];
    a->keys = key[1];
    a->value_width = v[3];
    a->shared = q[2] / key[2];
    by_step(a->qs, q[1], q[2], q[3]);
    by_step(a->ks, key[1], key[2], key[3]);
    by_step(a->vs, v[1], v[2], v[3]);
    by_step(a->os, q[1], q[2], v[3]);
    return true;
}

static void make_results(pdm_k *k, attention *a, size_t sums_index)
{
    const int64_t dims[4] = {a->batch, a->queries, a->heads, a->value_width};
    const int64_t sums[3] = {a->batch, a->heads, a->queries};

    a->out = pdm_nn_out(k, 0, a->q->dtype, 4, dims);
    if (pdm_k_wants(k, sums_index))
        a->log_sums = pdm_nn_out(k, sums_index, PDM_F32, 3, sums);
}

/* Results that only a run with dropping would use. */
static void seeds(pdm_k *k, size_t index)
{
    const int64_t two[1] = {2};
    pdm_tensor *out = pdm_k_wants(k, index) ? pdm_nn_out(k, index, PDM_I64, 1, two) : NULL;

    if (out)
        pdm_nn_fill(out, 0);
}

pdm_status pdm_kernel_flash_attn(pdm_k *k)
{
    attention a = {.causal = pdm_k_bool(k, "causal")};

    if (!pdm_k_bool(k, "is_test") && pdm_k_float(k, "dropout") > 0)
        return pdm_k_fail(k, "dropping is not supported");
    if (!read_qkv(k, &a) || !set_mask(k, &a, pdm_k_in_opt(k, 4)))
        return k->status;
    if (pdm_k_bool(k, "return_softmax") && pdm_k_wants(k, 1))
        return pdm_k_fail(k, "the softmax is not given");
    a.scale = 1 / sqrt((double)a.width);
    make_results(k, &a, 2);
    seeds(k, 3);
    return a.out && PDM_K_OK(k) ? run(k, &a) : k->status;
}

pdm_status pdm_kernel_memory_efficient_attention(pdm_k *k)
{
    attention a = {.causal = pdm_k_bool(k, "causal"), .scale = pdm_k_float(k, "scale")};

    if (!pdm_k_bool(k, "is_test") && pdm_k_float(k, "dropout_p") > 0)
        return pdm_k_fail(k, "dropping is not supported");
    if (pdm_k_in_opt(k, 4) || pdm_k_in_opt(k, 5) || pdm_k_in_opt(k, 6) || pdm_k_in_opt(k, 7))
        return pdm_k_fail(k, "packed sequences are not supported");
    if (!read_qkv(k, &a) || !set_mask(k, &a, pdm_k_in_opt(k, 3)))
        return k->status;
    if (!(a.scale > 0))
        a.scale = 1 / sqrt((double)a.width);
    make_results(k, &a, 1);
    seeds(k, 2);
    return a.out && PDM_K_OK(k) ? run(k, &a) : k->status;
}

/* [batch][steps][groups + 2][key heads][width]: queries of all groups, keys, values. */
pdm_status pdm_kernel_flash_attn_qkvpacked(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 5, 5, "qkv"))
        return k->status;
    if (!pdm_k_bool(k, "is_test") && pdm_k_float(k, "dropout") > 0)
        return pdm_k_fail(k, "dropping is not supported");
    const int64_t *d = x->dims, groups = d[2] - 2;
    if (groups < 1)
        return pdm_k_fail(k, "qkv has no room for queries, keys and values");
    attention a = {.q = x,
                   .k = x,
                   .v = x,
                   .batch = d[0],
                   .queries = d[1],
                   .keys = d[1],
                   .heads = groups * d[3],
                   .shared = groups,
                   .width = d[4],
                   .value_width = d[4],
                   .k_first = groups * d[3] * d[4],
                   .v_first = (groups + 1) * d[3] * d[4],
                   .scale = 1 / sqrt((double)d[4]),
                   .causal = pdm_k_bool(k, "causal")};
    by_step(a.qs, d[1], d[2] * d[3], d[4]);
    memcpy(a.ks, a.qs, sizeof a.qs);
    memcpy(a.vs, a.qs, sizeof a.qs);
    by_step(a.os, d[1], a.heads, d[4]);
    if (!set_mask(k, &a, pdm_k_in_opt(k, 2)))
        return k->status;
    make_results(k, &a, 2);
    seeds(k, 3);
    return a.out && PDM_K_OK(k) ? run(k, &a) : k->status;
}

/* One sequence after the other, [steps of all][heads][width]; offsets tell where they begin. */
static void run_packed(pdm_k *k, attention *a, const pdm_tensor *queries, const pdm_tensor *keys)
{
    const int64_t q_row = a->qs[2], k_row = a->ks[2], v_row = a->vs[2], o_row = a->os[2];
    const int64_t all_queries = a->queries, all_keys = a->keys;
    pdm_tensor *const whole = a->out;
    pdm_tensor part = *whole;

    for (int64_t i = 0; i + 1 < pdm_tensor_count(queries) && PDM_K_OK(k); i++) {
        const int64_t q0 = pdm_get_int(queries, i), q1 = pdm_get_int(queries, i + 1);
        const int64_t k0 = pdm_get_int(keys, i), k1 = pdm_get_int(keys, i + 1);
        if (q0 < 0 || q1 < q0 || q1 > all_queries || k0 < 0 || k1 < k0 || k1 > all_keys) {
            pdm_k_fail(k, "the sequence %lld does not lie in the packed ones", (long long)i);
            return;
        }
        a->queries = q1 - q0;
        a->keys = k1 - k0;
        a->q_first = q0 * q_row;
        a->k_first = k0 * k_row;
        a->v_first = k0 * v_row;
        part.data = (char *)whole->data + (size_t)(q0 * o_row) * pdm_dtype_size(whole->dtype);
        a->out = &part;
        run(k, a);
    }
}

pdm_status pdm_kernel_flash_attn_unpadded(pdm_k *k)
{
    attention a = {.q = pdm_k_in(k, 0),
                   .k = pdm_k_in(k, 1),
                   .v = pdm_k_in(k, 2),
                   .batch = 1,
                   .causal = pdm_k_bool(k, "causal"),
                   .scale = pdm_k_float(k, "scale")};
    const pdm_tensor *queries = pdm_k_in(k, 3), *keys = pdm_k_in(k, 4);

    if (!pdm_nn_floats(k, a.q) || !pdm_nn_floats(k, a.k) || !pdm_nn_floats(k, a.v) || !queries ||
        !keys || !pdm_nn_rank_is(k, a.q, 3, 3, "q") || !pdm_nn_rank_is(k, a.k, 3, 3, "k") ||
        !pdm_k_same_dims(a.k, a.v))
        return pdm_k_fail(k, "q, k and v do not fit together");
    if (!pdm_k_bool(k, "is_test") && pdm_k_float(k, "dropout") > 0)
        return pdm_k_fail(k, "dropping is not supported");
    const int64_t *q = a.q->dims, *key = a.k->dims;
    if (key[2] != q[2] || key[1] < 1 || q[1] % key[1] != 0 || pdm_k_in_opt(k, 6) ||
        !pdm_nn_count_is(k, keys, pdm_tensor_count(queries), "cu_seqlens_k"))
        return pdm_k_fail(k, "q and k do not fit together, or there is a mask");
    a.queries = q[0];
    a.keys = key[0];
    a.heads = q[1];
    a.shared = q[1] / key[1];
    a.width = a.value_width = q[2];
    by_step(a.qs, q[0], q[1], q[2]);
    by_step(a.ks, key[0], key[1], q[2]);
    by_step(a.vs, key[0], key[1], q[2]);
    by_step(a.os, q[0], q[1], q[2]);
    a.out = pdm_nn_out_like(k, 0, a.q);
    seeds(k, 3);
    if (a.out) {
        pdm_nn_fill(a.out, 0);
        run_packed(k, &a, queries, keys);
    }
    return k->status;
}

/* ---- variable_length_memory_efficient_attention --------------------------------------------- */

static int64_t *read_lengths(pdm_k *k, const pdm_tensor *t, int64_t batch, int64_t most)
{
    if (!t || !pdm_nn_count_is(k, t, batch, "lengths"))
        return NULL;
    int64_t *lengths = (int64_t *)pdm_nn_room(k, batch);
    for (int64_t i = 0; i < batch && lengths; i++) {
        lengths[i] = pdm_get_int(t, i);
        if (lengths[i] < 0 || lengths[i] > most)
            pdm_k_fail(k, "a sequence of %lld steps", (long long)lengths[i]);
    }
    return lengths;
}

/* Strides of [batch][heads][steps][width]. */
static void by_head(int64_t strides[3], const int64_t *dims)
{
    strides[0] = dims[1] * dims[2] * dims[3];
    strides[1] = dims[2] * dims[3];
    strides[2] = dims[3];
}

pdm_status pdm_kernel_variable_length_memory_efficient_attention(pdm_k *k)
{
    attention a = {.q = pdm_k_in(k, 0),
                   .k = pdm_k_in(k, 1),
                   .v = pdm_k_in(k, 2),
                   .causal = pdm_k_bool(k, "causal"),
                   .scale = pdm_k_float(k, "scale")};

    if (!pdm_nn_floats(k, a.q) || !pdm_nn_floats(k, a.k) || !pdm_nn_floats(k, a.v) ||
        !pdm_nn_rank_is(k, a.q, 4, 4, "query") || !pdm_nn_rank_is(k, a.k, 4, 4, "key") ||
        !pdm_k_same_dims(a.k, a.v))
        return pdm_k_fail(k, "query, key and value do not fit together");
    const int64_t *q = a.q->dims, *key = a.k->dims;
    if (key[0] != q[0] || key[3] != q[3] || key[1] < 1 || q[1] % key[1] != 0)
        return pdm_k_fail(k, "query and key do not fit together");
    a.batch = q[0];
    a.heads = q[1];
    a.shared = q[1] / key[1];
    a.queries = q[2];
    a.keys = key[2];
    a.width = a.value_width = q[3];
    by_head(a.qs, q);
    by_head(a.ks, key);
    by_head(a.vs, key);
    by_head(a.os, q);
    int64_t *asked = read_lengths(k, pdm_k_in(k, 3), a.batch, a.queries);
    int64_t *known = read_lengths(k, pdm_k_in(k, 4), a.batch, a.keys);
    if (PDM_K_OK(k) && set_mask(k, &a, pdm_k_in_opt(k, 5))) {
        a.query_lengths = asked;
        a.key_lengths = known;
        a.out = pdm_nn_out_like(k, 0, a.q);
        if (a.out) {
            pdm_nn_fill(a.out, 0);
            run(k, &a);
        }
    }
    free(asked);
    free(known);
    return k->status;
}

/* ---- sparse_attention ------------------------------------------------------------------------ */

/* Attention to listed keys: of each [batch, head] the row of a query goes from one offset to the
 * next. Masks: 0 takes a key away. */
typedef struct sparse {
    const pdm_tensor *q, *k, *v, *offset, *columns, *padding, *mask;
    pdm_tensor *out, *weights;
    int64_t heads, steps, width, listed;
} sparse;

static double sparse_score(const sparse *s, int64_t head, int64_t i, int64_t j)
{
    const int64_t base = head * s->steps;

    if ((s->padding && pdm_nn_at(s->padding, head / s->heads * s->steps + j) == 0) ||
        (s->mask && pdm_nn_at(s->mask, i * s->steps + j) == 0))
        return -INFINITY;
    return dot(s->q, (base + i) * s->width, s->k, (base + j) * s->width, s->width) /
           sqrt((double)s->width);
}

static bool sparse_row(pdm_k *k, const sparse *s, int64_t head, int64_t i, double *scores)
{
    const int64_t first = pdm_get_int(s->offset, head * (s->steps + 1) + i);
    const int64_t end = pdm_get_int(s->offset, head * (s->steps + 1) + i + 1);
    double most = -INFINITY, sum = 0;

    if (first < 0 || end < first || end > s->listed) {
        pdm_k_fail(k, "row %lld has the entries %lld to %lld of %lld", (long long)i,
                   (long long)first, (long long)end, (long long)s->listed);
        return false;
    }
    for (int64_t t = first; t < end; t++) {
        const int64_t j = pdm_get_int(s->columns, head * s->listed + t);
        if (j < 0 || j >= s->steps) {
            pdm_k_fail(k, "column %lld of %lld", (long long)j, (long long)s->steps);
            return false;
        }
        scores[t - first] = sparse_score(s, head, i, j);
        most = fmax(most, scores[t - first]);
    }
    for (int64_t t = 0; t < end - first; t++) {
        scores[t] = most > -INFINITY ? exp(scores[t] - most) : 0;
        sum += scores[t];
    }
    for (int64_t w = 0; w < s->width; w++) {
        double value = 0;
        for (int64_t t = 0; t < end - first && sum > 0; t++)
            value += scores[t] / sum *
                     pdm_nn_at(s->v, (head * s->steps +
                                      pdm_get_int(s->columns, head * s->listed + first + t)) *
                                             s->width +
                                         w);
        pdm_nn_put(s->out, (head * s->steps + i) * s->width + w, value);
    }
    for (int64_t t = first; t < end && s->weights; t++)
        pdm_nn_put(s->weights, head * s->listed + t, sum > 0 ? scores[t - first] / sum : 0);
    return true;
}

static bool sparse_fits(pdm_k *k, sparse *s)
{
    if (!PDM_K_OK(k))
        return false;
    if (s->q->rank != 4 || !pdm_k_same_dims(s->q, s->k) || !pdm_k_same_dims(s->q, s->v) ||
        s->columns->rank < 1) {
        pdm_k_fail(k, "queries, keys and values of one shape with 4 dimensions are needed");
        return false;
    }
    const int64_t batch = s->q->dims[0], heads = s->q->dims[1], steps = s->q->dims[2];
    s->heads = heads;
    s->steps = steps;
    s->width = s->q->dims[3];
    s->listed = s->columns->dims[s->columns->rank - 1];
    return pdm_nn_count_is(k, s->offset, pdm_nn_mul(k, batch * heads, steps + 1), "offset") &&
           pdm_nn_count_is(k, s->columns, pdm_nn_mul(k, batch * heads, s->listed), "columns") &&
           pdm_nn_count_is(k, s->padding, batch * steps, "key_padding_mask") &&
           pdm_nn_count_is(k, s->mask, pdm_nn_mul(k, steps, steps), "attn_mask");
}

/* The second result, what comes before the softmax, is never read and not made. */
pdm_status pdm_kernel_sparse_attention(pdm_k *k)
{
    sparse s = {.q = pdm_k_in(k, 0),
                .k = pdm_k_in(k, 1),
                .v = pdm_k_in(k, 2),
                .offset = pdm_k_in(k, 3),
                .columns = pdm_k_in(k, 4),
                .padding = pdm_k_in_opt(k, 5),
                .mask = pdm_k_in_opt(k, 6)};

    if (!pdm_nn_floats(k, s.q) || !pdm_nn_floats(k, s.k) || !pdm_nn_floats(k, s.v) ||
        !sparse_fits(k, &s))
        return k->status;
    s.out = pdm_nn_out_like(k, 0, s.q);
    if (pdm_k_wants(k, 2))
        s.weights = pdm_nn_out(k, 2, s.q->dtype, s.columns->rank, s.columns->dims);
    if (s.weights)
        pdm_nn_fill(s.weights, 0);
    double *scores = pdm_nn_room(k, s.listed);
    for (int64_t row = 0; s.out && scores && PDM_K_OK(k) && row < s.q->dims[0] * s.heads * s.steps;
         row++) {
        if (!sparse_row(k, &s, row / s.steps, row % s.steps, scores))
            break;
    }
    free(scores);
    return k->status;
}
