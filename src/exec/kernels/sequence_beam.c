/* Beam search: one step, and the sentences from all steps. */
#include "exec/kernels/scratch.h"

#include <math.h>

/* ---- beam_search ----------------------------------------------------------------------------- */

/* A candidate: it extends row `row` (a prefix) by `id`. */
typedef struct item {
    int64_t row, id;
    double score;
} item;

typedef struct search {
    const pdm_tensor *pre_ids, *pre_scores, *ids, *scores;
    int64_t beam, end, width; /* width: candidates of a prefix */
    bool accumulated;
    pdm_seqs sources; /* of rows */
} search;

static bool worse(const item *a, const item *b)
{
    return a->score < b->score || (a->score == b->score && a->row < b->row);
}

/* Keep the best `beam`, best first; a later one goes behind its equals. */
static void insert(item *top, int64_t *count, int64_t beam, item it)
{
    if (*count == beam && (beam == 0 || worse(&it, &top[beam - 1])))
        return;
    int64_t i = *count < beam ? (*count)++ : beam - 1;
    for (; i > 0 && worse(&top[i - 1], &it); i--)
        top[i] = top[i - 1];
    top[i] = it;
}

static int64_t select_items(const search *s, int64_t source, item *top)
{
    int64_t count = 0;

    for (int64_t row = s->sources.off[source]; row < s->sources.off[source + 1]; row++) {
        const int64_t pre_id = pdm_get_int(s->pre_ids, row);
        const double pre_score = pdm_get_double(s->pre_scores, row);
        if (pre_id == s->end) { /* finished: it stays as it is */
            insert(top, &count, s->beam, (item){row, s->end, pre_score});
            continue;
        }
        for (int64_t c = 0; c < s->width; c++) {
            const int64_t at = row * s->width + c, id = s->ids ? pdm_get_int(s->ids, at) : c;
            double score = pdm_get_double(s->scores, at);
            if (!s->accumulated)
                score = (double)((float)pre_score + logf((float)score));
            insert(top, &count, s->beam, (item){row, id, score});
        }
    }
    return count;
}

/* All beams of a source ended before and now: nothing is left to do for it. */
static bool finished(const search *s, const item *top, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (top[i].id != s->end || pdm_get_int(s->pre_ids, top[i].row) != s->end)
            return false;
    return true;
}

static bool check_search(pdm_k *k, search *s, int64_t level)
{
    pdm_seqs seqs;

    if (!PDM_K_OK(k) || !pdm_k_rank_is(k, s->scores, 2, "scores"))
        return false;
    const int64_t rows = s->scores->dims[0];
    s->width = s->scores->dims[1];
    if (s->beam < 0 || s->beam > INT32_MAX || pdm_tensor_count(s->pre_ids) != rows ||
        pdm_tensor_count(s->pre_scores) != rows ||
        (s->ids && pdm_tensor_count(s->ids) != pdm_tensor_count(s->scores)))
        return pdm_k_fail(k, "operands do not fit together") == PDM_OK;
    const pdm_tensor *lod = s->scores;
    if (level < 0 || level > 64 || !pdm_k_seqs(k, lod, (int)level, -1, &seqs))
        return PDM_K_OK(k) ? pdm_k_fail(k, "level %lld", (long long)level) == PDM_OK : false;
    s->sources = seqs;
    return true;
}

/* Offsets of a level in rows: through the levels below it. */
static bool absolute(pdm_k *k, pdm_arena *arena, const pdm_tensor *t, int64_t level, pdm_seqs *seqs)
{
    int64_t *off = pdm_k_scratch(k, arena, seqs->count + 1, sizeof *off);

    for (int64_t i = 0; off && i <= seqs->count; i++)
        off[i] = seqs->off[i];
    for (size_t l = (size_t)level + 1; off && l < pdm_tensor_num_lod(t); l++) {
        pdm_seqs below;
        if (!pdm_k_seqs(k, t, (int)l, -1, &below))
            return false;
        for (int64_t i = 0; i <= seqs->count; i++) {
            if (off[i] > below.count) {
                pdm_k_fail(k, "the LoD levels do not fit together");
                return false;
            }
            off[i] = below.off[off[i]];
        }
    }
    if (off && off[seqs->count] != t->dims[0])
        pdm_k_fail(k, "the LoD does not cover %lld rows", (long long)t->dims[0]);
    seqs->off = off;
    return PDM_K_OK(k);
}

static void put_selected(pdm_k *k, pdm_arena *arena, const search *s, const item *items,
                         const int64_t *starts)
{
    const int64_t rows = s->sources.off[s->sources.count], total = starts[s->sources.count];
    int64_t *low = pdm_k_scratch(k, arena, rows + 1, sizeof *low);
    int64_t *ids = pdm_k_out(k, 0, PDM_I64, 2, PDM_DIMS(total, 1));
    float *scores = pdm_k_out(k, 1, PDM_F32, 2, PDM_DIMS(total, 1));
    int32_t *parents = pdm_k_wants(k, 2) ? pdm_k_out(k, 2, PDM_I32, 1, &total) : NULL;
    int64_t n = 0;

    if (!low || !PDM_K_OK(k))
        return;
    for (int64_t source = 0; source < s->sources.count; source++) {
        for (int64_t row = s->sources.off[source]; row < s->sources.off[source + 1]; row++) {
            for (int64_t i = starts[source]; i < starts[source + 1]; i++) {
                if (items[i].row != row)
                    continue;
                if (ids)
                    ids[n] = items[i].id;
                if (scores)
                    scores[n] = (float)items[i].score;
                if (parents)
                    parents[n] = (int32_t)row;
                n++;
            }
            low[row + 1] = n;
        }
    }
    const int64_t *const offsets[2] = {s->sources.off, low};
    const size_t counts[2] = {(size_t)s->sources.count + 1, (size_t)rows + 1};
    for (size_t i = 0; i < 2; i++) {
        pdm_tensor *out = pdm_k_wants(k, i) ? pdm_k_out_tensor(k, i) : NULL;
        if (out && pdm_tensor_set_lod(out, 2, offsets, counts) != PDM_OK)
            pdm_k_nomem(k);
    }
}

pdm_status pdm_kernel_beam_search(pdm_k *k)
{
    search s = {.pre_ids = pdm_k_in(k, 0),
                .pre_scores = pdm_k_in(k, 1),
                .ids = pdm_k_in_opt(k, 2),
                .scores = pdm_k_in(k, 3),
                .beam = pdm_k_int(k, "beam_size"),
                .end = pdm_k_int(k, "end_id"),
                .accumulated = pdm_k_bool(k, "is_accumulated")};
    const int64_t level = pdm_k_int(k, "level");
    pdm_arena arena;

    if (!check_search(k, &s, level))
        return k->status;
    pdm_arena_init(&arena);
    if (absolute(k, &arena, s.scores, level, &s.sources)) {
        uint64_t room = 0;
        if (!pdm_mul_u64((uint64_t)s.sources.count, (uint64_t)s.beam, &room) ||
            room > (uint64_t)pdm_tensor_count(s.scores) + (uint64_t)s.scores->dims[0])
            room = (uint64_t)pdm_tensor_count(s.scores) + (uint64_t)s.scores->dims[0];
        item *items = pdm_k_scratch(k, &arena, (int64_t)room, sizeof *items);
        int64_t *starts = pdm_k_scratch(k, &arena, s.sources.count + 1, sizeof *starts);
        const int64_t most = (int64_t)room;
        for (int64_t source = 0; PDM_K_OK(k) && source < s.sources.count; source++) {
            const search own = {s.pre_ids,
                                s.pre_scores,
                                s.ids,
                                s.scores,
                                s.beam < most - starts[source] ? s.beam : most - starts[source],
                                s.end,
                                s.width,
                                s.accumulated,
                                s.sources};
            const int64_t n = select_items(&own, source, items + starts[source]);
            starts[source + 1] = starts[source] + (finished(&s, items + starts[source], n) ? 0 : n);
        }
        if (PDM_K_OK(k))
            put_selected(k, &arena, &s, items, starts);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- beam_search_decode ---------------------------------------------------------------------- */

/* A sentence, last word first. */
typedef struct sentence {
    int64_t *ids;
    double *scores;
    int64_t count, capacity;
    int64_t row; /* its prefix in the step at hand */
} sentence;

typedef struct source {
    sentence *at;
    int64_t count;
} source;

static bool add_word(pdm_k *k, pdm_arena *arena, sentence *s, int64_t id, double score)
{
    if (s->count == s->capacity) {
        const int64_t capacity = s->capacity ? 2 * s->capacity : 8;
        int64_t *ids = pdm_k_scratch(k, arena, capacity, sizeof *ids);
        double *scores = pdm_k_scratch(k, arena, capacity, sizeof *scores);
        if (!ids || !scores)
            return false;
        if (s->count) {
            memcpy(ids, s->ids, (size_t)s->count * sizeof *ids);
            memcpy(scores, s->scores, (size_t)s->count * sizeof *scores);
        }
        s->ids = ids;
        s->scores = scores;
        s->capacity = capacity;
    }
    s->ids[s->count] = id;
    s->scores[s->count++] = score;
    return true;
}

typedef struct step {
    const pdm_tensor *ids, *scores;
    pdm_seqs high, low;
} step;

static bool read_step(pdm_k *k, const pdm_value *ids, const pdm_value *scores, size_t i, step *out)
{
    out->ids = &ids->array.items[i];
    out->scores = &scores->array.items[i];
    if (out->ids->dtype == PDM_UNDEFINED || out->scores->dtype == PDM_UNDEFINED ||
        pdm_tensor_count(out->ids) != pdm_tensor_count(out->scores)) {
        pdm_k_fail(k, "step %zu was not written", i);
        return false;
    }
    if (!pdm_k_seqs(k, out->ids, 0, -1, &out->high) ||
        !pdm_k_seqs(k, out->ids, 1, pdm_tensor_count(out->ids), &out->low))
        return false;
    if (out->high.off[out->high.count] != out->low.count)
        pdm_k_fail(k, "the LoD levels of step %zu do not fit together", i);
    return PDM_K_OK(k);
}

/* The last step of a source: each of its candidates ends a sentence. */
static bool begin_sentences(pdm_k *k, pdm_arena *arena, const step *st, int64_t src, source *out)
{
    const int64_t first = st->high.off[src], last = st->high.off[src + 1];

    out->at = pdm_k_scratch(k, arena, st->low.off[last] - st->low.off[first], sizeof *out->at);
    for (int64_t row = first; out->at && row < last; row++) {
        for (int64_t c = st->low.off[row]; c < st->low.off[row + 1]; c++) {
            sentence *s = &out->at[out->count++];
            s->row = row;
            if (!add_word(k, arena, s, pdm_get_int(st->ids, c), pdm_get_double(st->scores, c)))
                return false;
        }
    }
    return PDM_K_OK(k);
}

/* One step back: the row of a sentence's prefix is a candidate of this step. */
static bool extend_sentences(pdm_k *k, pdm_arena *arena, const step *st, int64_t src, int64_t end,
                             source *out)
{
    int64_t row = st->high.off[src];

    for (int64_t i = 0; i < out->count; i++) {
        sentence *s = &out->at[i];
        const int64_t c = s->row;
        if (c >= pdm_tensor_count(st->ids)) {
            pdm_k_fail(k, "steps do not fit together");
            return false;
        }
        const int64_t id = pdm_get_int(st->ids, c);
        if ((id != end || s->count == 0) &&
            !add_word(k, arena, s, id, pdm_get_double(st->scores, c)))
            return false;
        while (row + 1 < st->low.count && st->low.off[row + 1] <= c)
            row++;
        s->row = row;
    }
    return true;
}

/* Best first by the score of the last word; stable. */
static void sort_sentences(pdm_k *k, pdm_arena *arena, source *src)
{
    double *keys = pdm_k_scratch(k, arena, src->count, sizeof *keys);
    sentence *sorted = pdm_k_scratch(k, arena, src->count, sizeof *sorted);

    for (int64_t i = 0; sorted && keys && i < src->count; i++) {
        int64_t at = i;
        keys[i] = src->at[i].scores[0];
        for (; at > 0 && sorted[at - 1].scores[0] < keys[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = src->at[i];
    }
    if (sorted)
        src->at = sorted;
}

static void put_sentences(pdm_k *k, pdm_arena *arena, source *all, int64_t sources,
                          pdm_tensor *const out[2])
{
    int64_t sentences = 0, words = 0, n = 0, at = 0;

    for (int64_t i = 0; i < sources; i++) {
        sentences += all[i].count;
        for (int64_t j = 0; j < all[i].count; j++)
            words += all[i].at[j].count;
    }
    int64_t *high = pdm_k_scratch(k, arena, sources + 1, sizeof *high);
    int64_t *low = pdm_k_scratch(k, arena, sentences + 1, sizeof *low);
    const pdm_dtype types[2] = {PDM_I64, PDM_F32};
    for (size_t i = 0; i < 2; i++)
        if (PDM_K_OK(k) && out[i] && pdm_tensor_alloc(out[i], types[i], 1, &words) != PDM_OK)
            pdm_k_nomem(k);
    for (int64_t i = 0; PDM_K_OK(k) && i < sources; i++) {
        sort_sentences(k, arena, &all[i]);
        for (int64_t j = 0; PDM_K_OK(k) && j < all[i].count; j++) {
            const sentence *s = &all[i].at[j];
            for (int64_t w = s->count - 1; w >= 0; w--, at++) {
                if (out[0])
                    pdm_set_int(out[0], at, s->ids[w]);
                if (out[1])
                    pdm_set_double(out[1], at, s->scores[w]);
            }
            low[++n] = at;
        }
        high[i + 1] = n;
    }
    const int64_t *const offsets[2] = {high, low};
    const size_t counts[2] = {(size_t)sources + 1, (size_t)sentences + 1};
    for (size_t i = 0; PDM_K_OK(k) && i < 2; i++)
        if (out[i] && pdm_tensor_set_lod(out[i], 2, offsets, counts) != PDM_OK)
            pdm_k_nomem(k);
}

static pdm_status decode(pdm_k *k, const pdm_value *ids, const pdm_value *scores, int64_t end,
                         pdm_tensor *const out[2])
{
    pdm_arena arena;
    source *all = NULL;
    int64_t sources = 0;

    if (!PDM_K_OK(k))
        return k->status;
    if (!ids || !scores || ids->kind != PDM_VALUE_ARRAY || scores->kind != PDM_VALUE_ARRAY ||
        ids->array.count != scores->array.count || ids->array.count == 0)
        return pdm_k_fail(k, "there are no steps");
    pdm_arena_init(&arena);
    for (size_t i = ids->array.count; i-- > 0 && PDM_K_OK(k);) {
        step st;
        if (!read_step(k, ids, scores, i, &st))
            break;
        if (!all) {
            sources = st.high.count;
            all = pdm_k_scratch(k, &arena, sources, sizeof *all);
        }
        if (sources != st.high.count)
            pdm_k_fail(k, "steps have different numbers of sources");
        for (int64_t src = 0; PDM_K_OK(k) && src < sources; src++) {
            if (all[src].count == 0)
                begin_sentences(k, &arena, &st, src, &all[src]);
            else
                extend_sentences(k, &arena, &st, src, end, &all[src]);
        }
    }
    if (PDM_K_OK(k))
        put_sentences(k, &arena, all, sources, out);
    pdm_arena_deinit(&arena);
    return k->status;
}

pdm_status pdm_kernel_beam_search_decode(pdm_k *k)
{
    pdm_tensor *const out[2] = {pdm_k_wants(k, 0) ? pdm_k_out_tensor(k, 0) : NULL,
                                pdm_k_wants(k, 1) ? pdm_k_out_tensor(k, 1) : NULL};

    return decode(k, pdm_k_value(k, 0), pdm_k_value(k, 1), pdm_k_int(k, "end_id"), out);
}

pdm_status pdm_kernel_legacy_beam_search_decode(pdm_k *k)
{
    pdm_tensor *const out[2] = {pdm_k_out_slot(k, "SentenceIds"),
                                pdm_k_out_slot(k, "SentenceScores")};

    return decode(k, pdm_k_slot_value(k, "Ids"), pdm_k_slot_value(k, "Scores"),
                  pdm_k_int(k, "end_id"), out);
}
