/* Conditional random fields: crf_decoding, linear_chain_crf, viterbi_decode. */
#include "exec/kernels/scratch.h"

#include <math.h>

/* Sequences of emissions: rows of LoD, or the first `length` rows of each padded one. */
typedef struct emissions {
    const pdm_tensor *x, *transition, *label;
    int64_t tags, count;
    int64_t *first, *length; /* of each sequence, in rows */
    int64_t rows;
} emissions;

static void read_emissions(pdm_k *k, pdm_arena *arena, emissions *e, const pdm_tensor *length)
{
    pdm_seqs seqs = {0};

    if (!PDM_K_OK(k) || !pdm_k_same_dtype(k, e->x, e->transition))
        return;
    if (e->x->dtype != PDM_F32 && e->x->dtype != PDM_F64) {
        pdm_k_unsupported_dtype(k, e->x->dtype);
        return;
    }
    if (!pdm_k_rank_is(k, e->x, length ? 3 : 2, "the emission") ||
        !pdm_k_rank_is(k, e->transition, 2, "the transition") ||
        (!length && !pdm_k_row_seqs(k, e->x, &seqs)))
        return;
    e->tags = e->x->dims[e->x->rank - 1];
    e->rows = pdm_k_product(e->x->dims, 0, e->x->rank - 1);
    e->count = length ? e->x->dims[0] : seqs.count;
    if (e->tags < 1 || e->transition->dims[0] != e->tags + 2 || e->transition->dims[1] != e->tags ||
        (length && pdm_tensor_count(length) != e->count) ||
        (e->label && pdm_tensor_count(e->label) != e->rows)) {
        pdm_k_fail(k, "operands do not fit %lld tags", (long long)e->tags);
        return;
    }
    e->first = pdm_k_scratch(k, arena, e->count, sizeof *e->first);
    e->length = pdm_k_scratch(k, arena, e->count, sizeof *e->length);
    for (int64_t s = 0; PDM_K_OK(k) && s < e->count; s++) {
        e->first[s] = length ? s * e->x->dims[1] : seqs.off[s];
        e->length[s] = length ? pdm_get_int(length, s) : seqs.off[s + 1] - seqs.off[s];
        if (length && (e->length[s] < 0 || e->length[s] > e->x->dims[1]))
            pdm_k_fail(k, "sequence %lld has %lld rows of %lld", (long long)s,
                       (long long)e->length[s], (long long)e->x->dims[1]);
    }
}

/* ---- crf_decoding ---------------------------------------------------------------------------- */

/* The best path of one sequence. w: rows for start, end, then from tag to tag. */
#define DECODE(code, suffix, type, ...)                                                            \
    static void decode_##suffix(int64_t n, int64_t tags, const type *x, const type *w,             \
                                type *alpha, int32_t *track, int64_t *path)                        \
    {                                                                                              \
        for (int64_t i = 0; i < tags; i++)                                                         \
            alpha[i] = w[i] + x[i];                                                                \
        for (int64_t t = 1; t < n; t++) {                                                          \
            const type *last = alpha + (t - 1) % 2 * tags;                                         \
            type *now = alpha + t % 2 * tags;                                                      \
            for (int64_t i = 0; i < tags; i++) {                                                   \
                type best = 0;                                                                     \
                int64_t from = -1;                                                                 \
                for (int64_t j = 0; j < tags; j++) {                                               \
                    const type v = last[j] + w[(j + 2) * tags + i];                                \
                    if (from < 0 || v > best) {                                                    \
                        best = v;                                                                  \
                        from = j;                                                                  \
                    }                                                                              \
                }                                                                                  \
                now[i] = best + x[t * tags + i];                                                   \
                track[t * tags + i] = (int32_t)from;                                               \
            }                                                                                      \
        }                                                                                          \
        const type *last = alpha + (n - 1) % 2 * tags;                                             \
        int64_t tag = 0;                                                                           \
        for (int64_t i = 1; i < tags; i++)                                                         \
            if (last[i] + w[tags + i] > last[tag] + w[tags + tag])                                 \
                tag = i;                                                                           \
        for (int64_t t = n - 1; t >= 0; t--) {                                                     \
            path[t] = tag;                                                                         \
            tag = t > 0 ? track[t * tags + tag] : tag;                                             \
        }                                                                                          \
    }
PDM_K_F32_F64(DECODE)

pdm_status pdm_kernel_crf_decoding(pdm_k *k)
{
    emissions e = {.x = pdm_k_in(k, 0), .transition = pdm_k_in(k, 1), .label = pdm_k_in_opt(k, 2)};
    const pdm_tensor *length = pdm_k_in_opt(k, 3);
    int64_t longest = 0;
    pdm_arena arena;

    pdm_arena_init(&arena);
    read_emissions(k, &arena, &e, length);
    for (int64_t s = 0; PDM_K_OK(k) && s < e.count; s++)
        longest = e.length[s] > longest ? e.length[s] : longest;
    const size_t size = PDM_K_OK(k) ? pdm_dtype_size(e.x->dtype) : 1;
    void *alpha = pdm_k_scratch(k, &arena, 2 * e.tags, size);
    uint64_t cells = 0;
    if (!pdm_mul_u64((uint64_t)longest, (uint64_t)e.tags, &cells))
        pdm_k_nomem(k);
    int32_t *track = pdm_k_scratch(k, &arena, (int64_t)cells, sizeof *track);
    const int64_t dims[2] = {length ? e.count : e.rows, length && e.count ? e.rows / e.count : 1};
    int64_t *path = PDM_K_OK(k) ? pdm_k_out(k, 0, PDM_I64, 2, dims) : NULL;
    if (path)
        memset(path, 0, (size_t)e.rows * sizeof *path);
    for (int64_t s = 0; path && s < e.count; s++) {
        const char *x = (const char *)e.x->data + (size_t)(e.first[s] * e.tags) * size;
        if (e.length[s] > 0)
            PDM_K_DISPATCH(k, e.x->dtype, PDM_K_F32_F64, decode, e.length[s], e.tags,
                           (const void *)x, e.transition->data, alpha, track, path + e.first[s]);
        for (int64_t i = e.first[s]; e.label && i < e.first[s] + e.length[s]; i++)
            path[i] = path[i] == pdm_get_int(e.label, i);
    }
    if (path && !length)
        pdm_k_share_lod(k, 0, e.x);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- linear_chain_crf ------------------------------------------------------------------------ */

typedef struct crf { /* results; any may be NULL */
    pdm_tensor *alpha, *x_exps, *w_exps, *likelihood;
    double *w, *row, *next; /* exp of the transition; two rows of alpha */
} crf;

static double normalize(double *row, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += row[i];
    for (int64_t i = 0; i < n; i++)
        row[i] /= sum;
    return sum;
}

/* Minus the log of how likely the labels of sequence s are. */
static double sequence_cost(pdm_k *k, const emissions *e, crf *c, int64_t s)
{
    const int64_t tags = e->tags, n = e->length[s];
    double cost = 0, sum = 0;
    int64_t last = 0;

    for (int64_t t = 0; t < n; t++) {
        const int64_t at = (e->first[s] + t) * tags, tag = pdm_get_int(e->label, e->first[s] + t);
        double max = pdm_get_double(e->x, at);
        if (tag < 0 || tag >= tags) {
            pdm_k_fail(k, "label %lld does not exist", (long long)tag);
            return 0;
        }
        for (int64_t i = 1; i < tags; i++)
            max = fmax(max, pdm_get_double(e->x, at + i));
        for (int64_t i = 0; i < tags; i++) {
            const double here = exp(pdm_get_double(e->x, at + i) - max);
            double before = t == 0 ? c->w[i] : 0;
            for (int64_t j = 0; t > 0 && j < tags; j++)
                before += c->row[j] * c->w[(j + 2) * tags + i];
            c->next[i] = here * before;
        }
        cost += max + log(normalize(c->next, tags));
        double *swap = c->row;
        c->row = c->next;
        c->next = swap;
        for (int64_t i = 0; c->alpha && i < tags; i++)
            pdm_set_double(c->alpha, at + i, c->row[i]);
        cost -= pdm_get_double(e->x, at + tag);
        cost -= pdm_get_double(e->transition, t == 0 ? tag : (last + 2) * tags + tag);
        last = tag;
    }
    if (n == 0)
        return 0;
    for (int64_t i = 0; i < tags; i++)
        sum += c->row[i] * c->w[tags + i];
    return cost + log(sum) - pdm_get_double(e->transition, tags + last);
}

/* e^(emission - largest of its row), for all rows, padding too. */
static void put_emission_exps(const pdm_tensor *x, int64_t tags, pdm_tensor *out)
{
    for (int64_t at = 0, n = pdm_tensor_count(x); at < n; at += tags) {
        double max = pdm_get_double(x, at);
        for (int64_t i = 1; i < tags; i++)
            max = fmax(max, pdm_get_double(x, at + i));
        for (int64_t i = 0; i < tags; i++)
            pdm_set_double(out, at + i, exp(pdm_get_double(x, at + i) - max));
    }
}

static pdm_tensor *zeros(pdm_tensor *t)
{
    if (t)
        memset(t->data, 0, pdm_tensor_bytes(t));
    return t;
}

pdm_status pdm_kernel_legacy_linear_chain_crf(pdm_k *k)
{
    emissions e = {.x = pdm_k_slot_in(k, "Emission"),
                   .transition = pdm_k_slot_in(k, "Transition"),
                   .label = pdm_k_slot_in(k, "Label")};
    const pdm_tensor *length = pdm_k_slot(k, "Length");
    crf c = {0};
    pdm_arena arena;

    pdm_arena_init(&arena);
    read_emissions(k, &arena, &e, length);
    const int64_t w_count = PDM_K_OK(k) ? pdm_tensor_count(e.transition) : 0;
    c.w = pdm_k_scratch(k, &arena, w_count, sizeof *c.w);
    c.row = pdm_k_scratch(k, &arena, e.tags, sizeof *c.row);
    c.next = pdm_k_scratch(k, &arena, e.tags, sizeof *c.next);
    if (PDM_K_OK(k)) {
        c.alpha = zeros(pdm_k_slot_out(k, "Alpha", e.x->dtype, e.x->rank, e.x->dims));
        c.x_exps = pdm_k_slot_out(k, "EmissionExps", e.x->dtype, e.x->rank, e.x->dims);
        c.w_exps = pdm_k_slot_out(k, "TransitionExps", e.x->dtype, 2, e.transition->dims);
        c.likelihood = pdm_k_slot_out(k, "LogLikelihood", e.x->dtype, 2, PDM_DIMS(e.count, 1));
    }
    if (PDM_K_OK(k) && c.x_exps)
        put_emission_exps(e.x, e.tags, c.x_exps);
    for (int64_t i = 0; PDM_K_OK(k) && i < w_count; i++) {
        c.w[i] = exp(pdm_get_double(e.transition, i));
        if (c.w_exps)
            pdm_set_double(c.w_exps, i, c.w[i]);
    }
    for (int64_t s = 0; PDM_K_OK(k) && s < e.count; s++) {
        const double cost = sequence_cost(k, &e, &c, s);
        if (c.likelihood)
            pdm_set_double(c.likelihood, s, cost);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- viterbi_decode -------------------------------------------------------------------------- */

typedef struct viterbi {
    const pdm_tensor *x, *trans, *lengths;
    int64_t batch, steps, tags;
    bool ends; /* the last tag but one ends a sequence, the last one begins it */
} viterbi;

/* Best path of sequence b: score; tags at path, zeros behind its length. */
static double best_path(const viterbi *v, int64_t b, double *alpha, double *next, int32_t *track,
                        int64_t *path)
{
    const int64_t tags = v->tags, n = pdm_get_int(v->lengths, b);
    const bool single = v->x->dtype == PDM_F32;
    int64_t best = 0;

    for (int64_t i = 0; i < tags; i++) {
        alpha[i] = pdm_get_double(v->x, b * v->steps * tags + i);
        if (v->ends)
            alpha[i] += pdm_get_double(v->trans, (tags - 1) * tags + i);
        if (single)
            alpha[i] = (double)(float)alpha[i];
    }
    for (int64_t t = 1; t < n; t++) {
        for (int64_t i = 0; i < tags; i++) {
            double top = 0;
            int64_t from = -1;
            for (int64_t j = 0; j < tags; j++) {
                double s = alpha[j] + pdm_get_double(v->trans, j * tags + i);
                s = single ? (double)(float)s : s;
                if (from < 0 || s > top) {
                    top = s;
                    from = j;
                }
            }
            track[t * tags + i] = (int32_t)from;
            next[i] = top + pdm_get_double(v->x, (b * v->steps + t) * tags + i);
            if (single)
                next[i] = (double)(float)next[i];
        }
        memcpy(alpha, next, (size_t)tags * sizeof *alpha);
    }
    for (int64_t i = 0; i < tags; i++) {
        if (v->ends && n > 0)
            alpha[i] += pdm_get_double(v->trans, (tags - 2) * tags + i);
        if (single)
            alpha[i] = (double)(float)alpha[i];
        if (alpha[i] > alpha[best])
            best = i;
    }
    const double score = alpha[best];
    for (int64_t t = n - 1; path && t >= 0; t--) {
        path[t] = best;
        best = t > 0 ? track[t * tags + best] : best;
    }
    return score;
}

static bool check_viterbi(pdm_k *k, viterbi *v, int64_t *longest)
{
    if (!pdm_k_rank_is(k, v->x, 3, "potentials") || !pdm_k_rank_is(k, v->trans, 2, "transitions") ||
        !pdm_k_same_dtype(k, v->x, v->trans))
        return false;
    v->batch = v->x->dims[0];
    v->steps = v->x->dims[1];
    v->tags = v->x->dims[2];
    if (v->tags < 1 || (v->ends && v->tags < 2) || v->steps < 1 || v->trans->dims[0] != v->tags ||
        v->trans->dims[1] != v->tags || pdm_tensor_count(v->lengths) != v->batch)
        return pdm_k_fail(k, "operands do not fit together") == PDM_OK;
    *longest = 0;
    for (int64_t b = 0; b < v->batch; b++) {
        const int64_t n = pdm_get_int(v->lengths, b);
        if (n < 0 || n > v->steps)
            pdm_k_fail(k, "sequence %lld has %lld steps of %lld", (long long)b, (long long)n,
                       (long long)v->steps);
        *longest = n > *longest ? n : *longest;
    }
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_viterbi_decode(pdm_k *k)
{
    viterbi v = {.x = pdm_k_in(k, 0),
                 .trans = pdm_k_in(k, 1),
                 .lengths = pdm_k_in(k, 2),
                 .ends = pdm_k_bool(k, "include_bos_eos_tag")};
    int64_t longest = 0;
    pdm_arena arena;

    if (!PDM_K_OK(k) || !check_viterbi(k, &v, &longest))
        return k->status;
    pdm_arena_init(&arena);
    double *alpha = pdm_k_scratch(k, &arena, v.tags, sizeof *alpha);
    double *next = pdm_k_scratch(k, &arena, v.tags, sizeof *next);
    int32_t *track = pdm_k_scratch(k, &arena, v.steps * v.tags, sizeof *track);
    pdm_tensor *scores = NULL;
    if (PDM_K_OK(k) && pdm_k_wants(k, 0) && pdm_k_out(k, 0, v.x->dtype, 1, &v.batch))
        scores = pdm_k_out_tensor(k, 0);
    int64_t *path = NULL;
    if (PDM_K_OK(k) && pdm_k_wants(k, 1))
        path = pdm_k_out(k, 1, PDM_I64, 2, PDM_DIMS(v.batch, longest));
    if (path)
        memset(path, 0, (size_t)(v.batch * longest) * sizeof *path);
    for (int64_t b = 0; PDM_K_OK(k) && b < v.batch; b++) {
        const double score = best_path(&v, b, alpha, next, track, path ? path + b * longest : NULL);
        if (scores)
            pdm_set_double(scores, b, score);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}
