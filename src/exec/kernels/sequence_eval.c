/* Judging and cleaning label sequences: ctc_align, edit_distance, chunk_eval. */
#include "exec/kernels/scratch.h"

/* ---- ctc_align ------------------------------------------------------------------------------- */

/* Without blanks, and without repetitions when merging. Returns how many stay; out may be NULL. */
static int64_t align(const pdm_tensor *x, int64_t first, int64_t n, int64_t blank, bool merge,
                     pdm_tensor *out, int64_t at)
{
    int64_t kept = 0, last = -1;

    for (int64_t i = 0; i < n; i++) {
        const int64_t v = pdm_get_int(x, first + i);
        if (v != blank && !(merge && v == last)) {
            if (out)
                pdm_set_int(out, at + kept, v);
            kept++;
        }
        last = v;
    }
    return kept;
}

typedef struct aligning {
    int64_t blank, padding;
    bool merge;
} aligning;

static void align_padded(pdm_k *k, const aligning *a, const pdm_tensor *x, const pdm_tensor *length)
{
    if (!pdm_k_rank_is(k, x, 2, "the operand"))
        return;
    const int64_t batch = x->dims[0], width = x->dims[1];
    if (pdm_tensor_count(length) != batch) {
        pdm_k_fail(k, "there are not as many lengths as sequences");
        return;
    }
    pdm_tensor *out =
        pdm_k_wants(k, 0) && pdm_k_out(k, 0, x->dtype, 2, x->dims) ? pdm_k_out_tensor(k, 0) : NULL;
    pdm_tensor *counts = NULL;
    if (PDM_K_OK(k) && pdm_k_wants(k, 1) && pdm_k_out(k, 1, x->dtype, 2, PDM_DIMS(batch, 1)))
        counts = pdm_k_out_tensor(k, 1);
    for (int64_t b = 0; PDM_K_OK(k) && b < batch; b++) {
        const int64_t n = pdm_get_int(length, b);
        if (n < 0 || n > width) {
            pdm_k_fail(k, "sequence %lld has %lld steps of %lld", (long long)b, (long long)n,
                       (long long)width);
            return;
        }
        const int64_t kept = align(x, b * width, n, a->blank, a->merge, out, b * width);
        if (counts)
            pdm_set_int(counts, b, kept);
        for (int64_t i = kept; out && i < width; i++)
            pdm_set_int(out, b * width + i, a->padding);
    }
}

static void align_lod(pdm_k *k, const aligning *a, const pdm_tensor *x)
{
    pdm_seqs seqs;
    pdm_arena arena;

    if (!pdm_k_seqs(k, x, 0, x->rank > 0 ? x->dims[0] : 0, &seqs))
        return;
    if (pdm_tensor_count(x) != x->dims[0]) {
        pdm_k_fail(k, "a row has more than one number");
        return;
    }
    pdm_arena_init(&arena);
    int64_t *off = pdm_k_scratch(k, &arena, seqs.count + 1, sizeof *off);
    for (int64_t s = 0; off && s < seqs.count; s++)
        off[s + 1] = off[s] + align(x, seqs.off[s], seqs.off[s + 1] - seqs.off[s], a->blank,
                                    a->merge, NULL, 0);
    /* one row of -1 stands for nothing at all */
    const int64_t rows = off && off[seqs.count] ? off[seqs.count] : 1;
    if (off && pdm_k_out(k, 0, x->dtype, 2, PDM_DIMS(rows, 1))) {
        pdm_tensor *out = pdm_k_out_tensor(k, 0);
        pdm_set_int(out, 0, -1);
        for (int64_t s = 0; s < seqs.count; s++)
            align(x, seqs.off[s], seqs.off[s + 1] - seqs.off[s], a->blank, a->merge, out, off[s]);
        pdm_k_set_lod1(k, out, off, seqs.count);
    }
    pdm_arena_deinit(&arena);
}

pdm_status pdm_kernel_ctc_align(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *length = pdm_k_in_opt(k, 1);
    const aligning a = {pdm_k_int(k, "blank"), pdm_k_int(k, "padding_value"),
                        pdm_k_bool(k, "merge_repeated")};

    if (!PDM_K_OK(k))
        return k->status;
    if (x->dtype != PDM_I32 && x->dtype != PDM_I64)
        return pdm_k_unsupported_dtype(k, x->dtype);
    if (length)
        align_padded(k, &a, x, length);
    else
        align_lod(k, &a, x);
    return k->status;
}

/* ---- edit_distance --------------------------------------------------------------------------- */

typedef struct texts { /* sequences of labels, by LoD or padded */
    const pdm_tensor *t, *length;
    pdm_seqs seqs;
    int64_t count, width;
} texts;

static void read_texts(pdm_k *k, texts *x, const pdm_tensor *t, const pdm_tensor *length)
{
    *x = (texts){.t = t, .length = length};
    if (!PDM_K_OK(k))
        return;
    if (t->dtype != PDM_I32 && t->dtype != PDM_I64) {
        pdm_k_unsupported_dtype(k, t->dtype);
        return;
    }
    if (!length) {
        if (pdm_k_row_seqs(k, t, &x->seqs) && pdm_tensor_count(t) != t->dims[0])
            pdm_k_fail(k, "a row has more than one number");
        x->count = x->seqs.count;
        return;
    }
    x->count = pdm_tensor_count(length);
    if (t->rank < 1 || t->dims[0] != x->count) {
        pdm_k_fail(k, "there are not as many lengths as sequences");
        return;
    }
    x->width = pdm_k_row_size(t);
    for (int64_t i = 0; PDM_K_OK(k) && i < x->count; i++) {
        const int64_t n = pdm_get_int(length, i);
        if (n < 0 || n > x->width)
            pdm_k_fail(k, "sequence %lld has %lld labels of %lld", (long long)i, (long long)n,
                       (long long)x->width);
    }
}

static int64_t first_of(const texts *x, int64_t i)
{
    return x->length ? i * x->width : x->seqs.off[i];
}

static int64_t length_of(const texts *x, int64_t i)
{
    return x->length ? pdm_get_int(x->length, i) : x->seqs.off[i + 1] - x->seqs.off[i];
}

/* Insertions, deletions and changes from one text to the other. row: n + 1 places. */
static int64_t distance(const pdm_tensor *a, int64_t a0, int64_t m, const pdm_tensor *b, int64_t b0,
                        int64_t n, int64_t *row)
{
    for (int64_t j = 0; j <= n; j++)
        row[j] = j;
    for (int64_t i = 1; i <= m; i++) {
        int64_t corner = row[0]; /* of the last row */
        row[0] = i;
        for (int64_t j = 1; j <= n; j++) {
            const bool same = pdm_get_int(a, a0 + i - 1) == pdm_get_int(b, b0 + j - 1);
            int64_t best = corner + !same;
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

pdm_status pdm_kernel_edit_distance(pdm_k *k)
{
    const pdm_tensor *hyps = pdm_k_in(k, 0), *refs = pdm_k_in(k, 1);
    const bool normalized = pdm_k_bool(k, "normalized");
    texts h, r;
    pdm_arena arena;
    int64_t longest = 0;

    read_texts(k, &h, hyps, pdm_k_in_opt(k, 2));
    read_texts(k, &r, refs, pdm_k_in_opt(k, 3));
    if (PDM_K_OK(k) && h.count != r.count)
        pdm_k_fail(k, "there are %lld hypotheses for %lld references", (long long)h.count,
                   (long long)r.count);
    for (int64_t i = 0; PDM_K_OK(k) && i < r.count; i++)
        longest = length_of(&r, i) > longest ? length_of(&r, i) : longest;
    if (!PDM_K_OK(k))
        return k->status;
    pdm_arena_init(&arena);
    int64_t *row = pdm_k_scratch(k, &arena, longest + 1, sizeof *row);
    int64_t *num = row && pdm_k_wants(k, 0) ? pdm_k_out(k, 0, PDM_I64, 1, PDM_DIMS(1)) : NULL;
    float *out =
        row && pdm_k_wants(k, 1) ? pdm_k_out(k, 1, PDM_F32, 2, PDM_DIMS(r.count, 1)) : NULL;
    if (num)
        *num = r.count;
    for (int64_t i = 0; out && i < r.count; i++) {
        const int64_t n = length_of(&r, i);
        float d =
            (float)distance(hyps, first_of(&h, i), length_of(&h, i), refs, first_of(&r, i), n, row);
        if (normalized && n == 0) {
            pdm_k_fail(k, "reference %lld is empty", (long long)i);
            break;
        }
        out[i] = normalized ? d / (float)n : d;
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- chunk_eval ------------------------------------------------------------------------------ */

/* Numbers of the tags of a scheme; -1: it has no such tag. */
typedef struct scheme {
    const char *name;
    int tags, begin, inside, end, single;
} scheme;

static const scheme schemes[] = {{"IOB", 2, 0, 1, -1, -1},
                                 {"IOE", 2, -1, 0, 1, -1},
                                 {"IOBES", 4, 0, 1, 2, 3},
                                 {"plain", 1, -1, -1, -1, -1}};

typedef struct label {
    int64_t tag, type;
} label;

static bool ends_before(const scheme *s, int64_t other, label last, label now)
{
    if (last.type == other)
        return false;
    if (now.type == other || now.type != last.type)
        return true;
    if (last.tag == s->begin || last.tag == s->inside)
        return now.tag == s->begin || now.tag == s->single;
    return last.tag == s->end || last.tag == s->single;
}

static bool begins_at(const scheme *s, int64_t other, label last, label now)
{
    if (last.type == other)
        return now.type != other;
    if (now.type == other)
        return false;
    if (now.type != last.type || now.tag == s->begin)
        return true;
    if (now.tag == s->inside || now.tag == s->end)
        return last.tag == s->end || last.tag == s->single;
    return now.tag == s->single;
}

typedef struct chunk {
    int64_t begin, end, type;
} chunk;

typedef struct chunking {
    const scheme *scheme;
    int64_t types;
    int64_t excluded[PDM_K_MAX_INTS];
    size_t num_excluded;
    int64_t inferred, labelled, correct;
} chunking;

static bool counts(const chunking *c, int64_t type)
{
    for (size_t i = 0; i < c->num_excluded; i++)
        if (c->excluded[i] == type)
            return false;
    return true;
}

/* Chunks of n labels; returns how many (at most n). */
static int64_t chunks_of(const chunking *c, const pdm_tensor *t, int64_t first, int64_t n,
                         chunk *out)
{
    label last = {-1, c->types}, now;
    bool open = false;
    int64_t count = 0, begin = 0;

    for (int64_t i = 0; i < n; i++, last = now) {
        const int64_t v = pdm_get_int(t, first + i);
        now = (label){v % c->scheme->tags, v / c->scheme->tags};
        if (open && ends_before(c->scheme, c->types, last, now)) {
            out[count++] = (chunk){begin, i - 1, last.type};
            open = false;
        }
        if (begins_at(c->scheme, c->types, last, now)) {
            begin = i;
            open = true;
        }
    }
    if (open)
        out[count++] = (chunk){begin, n - 1, last.type};
    return count;
}

static void compare_chunks(chunking *c, const chunk *a, int64_t m, const chunk *b, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        c->inferred += counts(c, a[i].type);
    for (int64_t i = 0; i < n; i++)
        c->labelled += counts(c, b[i].type);
    for (int64_t i = 0, j = 0; i < m && j < n;) {
        if (a[i].begin == b[j].begin && a[i].end == b[j].end && a[i].type == b[j].type)
            c->correct += counts(c, a[i].type);
        const int64_t ea = a[i].end, eb = b[j].end;
        i += ea <= eb;
        j += eb <= ea;
    }
}

static bool read_chunking(pdm_k *k, chunking *c)
{
    const char *name = pdm_k_str(k, "chunk_scheme");

    c->types = pdm_k_int(k, "num_chunk_types");
    c->num_excluded = pdm_k_ints(k, "excluded_chunk_types", c->excluded);
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (!strcmp(schemes[i].name, name))
            c->scheme = &schemes[i];
    if (PDM_K_OK(k) && !c->scheme)
        pdm_k_fail(k, "there is no chunk scheme '%s'", name);
    return PDM_K_OK(k);
}

static void put_ratio(pdm_k *k, size_t index, double value)
{
    float *out =
        PDM_K_OK(k) && pdm_k_wants(k, index) ? pdm_k_out(k, index, PDM_F32, 1, PDM_DIMS(1)) : NULL;
    if (out)
        *out = (float)value;
}

static void put_count(pdm_k *k, size_t index, int64_t value)
{
    int64_t *out =
        PDM_K_OK(k) && pdm_k_wants(k, index) ? pdm_k_out(k, index, PDM_I64, 1, PDM_DIMS(1)) : NULL;
    if (out)
        *out = value;
}

pdm_status pdm_kernel_chunk_eval(pdm_k *k)
{
    const pdm_tensor *inference = pdm_k_in(k, 0), *labels = pdm_k_in(k, 1);
    const pdm_tensor *length = pdm_k_in_opt(k, 2);
    chunking c = {0};
    texts x, y;
    pdm_arena arena;

    if (!read_chunking(k, &c) || !PDM_K_OK(k))
        return k->status;
    read_texts(k, &x, inference, length);
    read_texts(k, &y, labels, length);
    if (PDM_K_OK(k) &&
        (x.count != y.count || pdm_tensor_count(inference) != pdm_tensor_count(labels)))
        pdm_k_fail(k, "there are not as many labels as inferences");
    pdm_arena_init(&arena);
    const int64_t all = PDM_K_OK(k) ? pdm_tensor_count(inference) : 0;
    chunk *a = pdm_k_scratch(k, &arena, all, sizeof *a);
    chunk *b = pdm_k_scratch(k, &arena, all, sizeof *b);
    for (int64_t i = 0; PDM_K_OK(k) && i < x.count; i++) {
        const int64_t m = chunks_of(&c, inference, first_of(&x, i), length_of(&x, i), a);
        const int64_t n = chunks_of(&c, labels, first_of(&y, i), length_of(&y, i), b);
        compare_chunks(&c, a, m, b, n);
    }
    const double precision = c.inferred ? (double)c.correct / (double)c.inferred : 0;
    const double recall = c.labelled ? (double)c.correct / (double)c.labelled : 0;
    put_ratio(k, 0, precision);
    put_ratio(k, 1, recall);
    put_ratio(k, 2, c.correct ? 2 * precision * recall / (precision + recall) : 0);
    put_count(k, 3, c.inferred);
    put_count(k, 4, c.labelled);
    put_count(k, 5, c.correct);
    pdm_arena_deinit(&arena);
    return k->status;
}
