/* pyramid_hash: rows for all short runs of tokens, out of a table that hashes address. */
#include "exec/kernels/scratch.h"

#define Q1 0x9e3779b1u
#define Q2 0x85ebca77u
#define Q3 0xc2b2ae3du
#define Q4 0x27d4eb2fu
#define Q5 0x165667b1u

static uint32_t rotl(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint32_t load32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* XXH32 of n bytes, a multiple of 4. */
static uint32_t xxh32(const uint8_t *p, size_t n, uint32_t seed)
{
    const uint8_t *end = p + n;
    uint32_t h = seed + Q5;

    if (n >= 16) {
        uint32_t v[4] = {seed + Q1 + Q2, seed + Q2, seed, seed - Q1};
        for (; end - p >= 16; p += 16)
            for (int i = 0; i < 4; i++)
                v[i] = rotl(v[i] + load32(p + 4 * i) * Q2, 13) * Q1;
        h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18);
    }
    h += (uint32_t)n;
    for (; end - p >= 4; p += 4)
        h = rotl(h + load32(p) * Q3, 17) * Q4;
    h = (h ^ h >> 15) * Q2;
    h = (h ^ h >> 13) * Q3;
    return h ^ h >> 16;
}

typedef struct pyramid {
    const pdm_tensor *x, *w;
    pdm_seqs seqs;
    int64_t num_emb, space, layers, piece; /* piece: numbers that one hash addresses */
    double factor;
    const float *tokens;
} pyramid;

/* Runs of a sequence of n tokens: 2 to `layers` tokens long. */
static int64_t runs(const pyramid *p, int64_t n)
{
    int64_t count = 0;

    for (int64_t length = 2; length <= p->layers && length <= n; length++)
        count += n - length + 1;
    return count;
}

static void put_run(const pyramid *p, const float *tokens, int64_t length, pdm_tensor *out,
                    int64_t at)
{
    const size_t bytes = (size_t)length * sizeof *tokens;

    for (int64_t j = 0; j < p->num_emb; j += p->piece) {
        /* Seeds 0, piece, 2 piece, ... */
        const uint32_t h = xxh32((const uint8_t *)tokens, bytes, (uint32_t)j);
        const int64_t from = (int64_t)(h % (uint32_t)p->space);
        for (int64_t i = 0; i < p->piece; i++)
            pdm_set_double(out, at + j + i, pdm_get_double(p->w, from + i) * p->factor);
    }
}

static bool read_pyramid(pdm_k *k, pyramid *p)
{
    p->x = pdm_k_in(k, 0);
    p->w = pdm_k_in(k, 1);
    p->num_emb = pdm_k_int(k, "num_emb");
    p->space = pdm_k_int(k, "space_len");
    p->layers = pdm_k_int(k, "pyramid_layer");
    p->piece = pdm_k_int(k, "rand_len");
    p->factor = pdm_k_float(k, "drop_out_percent");
    const bool lists = pdm_k_bool(k, "use_filter") &&
                       (pdm_k_int(k, "white_list_len") > 0 || pdm_k_int(k, "black_list_len") > 0);
    if (!PDM_K_OK(k) || !pdm_k_row_seqs(k, p->x, &p->seqs))
        return false;
    if (p->x->dtype != PDM_I32)
        pdm_k_unsupported_dtype(k, p->x->dtype);
    else if (p->w->dtype != PDM_F32)
        pdm_k_unsupported_dtype(k, p->w->dtype);
    else if (lists)
        pdm_k_fail(k, "lists of terms to keep or drop are not read");
    else if (pdm_k_int(k, "is_training") != 0)
        pdm_k_fail(k, "it drops terms only when training, which is not done here");
    else if (p->piece < 1 || p->num_emb < 1 || p->num_emb % p->piece || p->space < 1 ||
             p->space > INT32_MAX || p->piece > INT32_MAX ||
             pdm_tensor_count(p->w) < p->space + p->piece || pdm_k_row_size(p->x) != 1)
        pdm_k_fail(k, "operands do not fit together");
    return PDM_K_OK(k);
}

/* All terms: rows for each run, shorter runs first; a sequence without any gets a row of zeros. */
static void put_rows(const pyramid *p, const int64_t *off, pdm_tensor *out)
{
    memset(out->data, 0, pdm_tensor_bytes(out));
    for (int64_t s = 0; s < p->seqs.count; s++) {
        const int64_t n = p->seqs.off[s + 1] - p->seqs.off[s];
        int64_t row = off[s];
        for (int64_t length = 2; length <= p->layers && length <= n; length++)
            for (int64_t i = 0; i + length <= n; i++)
                put_run(p, p->tokens + p->seqs.off[s] + i, length, out, row++ * p->num_emb);
    }
}

pdm_status pdm_kernel_pyramid_hash(pdm_k *k)
{
    pyramid p = {0};
    pdm_arena arena;

    if (!read_pyramid(k, &p))
        return k->status;
    const int64_t count = p.seqs.count, tokens = p.x->dims[0];
    pdm_arena_init(&arena);
    float *copy = pdm_k_scratch(k, &arena, tokens, sizeof *copy);
    int64_t *off = pdm_k_scratch(k, &arena, count + 1, sizeof *off);
    int64_t *kept = pdm_k_scratch(k, &arena, count + 1, sizeof *kept);
    for (int64_t i = 0; copy && i < tokens; i++)
        copy[i] = (float)((const int32_t *)p.x->data)[i];
    p.tokens = copy;
    for (int64_t s = 0; PDM_K_OK(k) && s < count; s++) {
        const int64_t n = runs(&p, p.seqs.off[s + 1] - p.seqs.off[s]);
        kept[s + 1] = kept[s] + n;
        if (__builtin_add_overflow(off[s], n ? n : 1, &off[s + 1]))
            pdm_k_fail(k, "there are too many terms");
    }
    if (PDM_K_OK(k) && pdm_k_wants(k, 0) &&
        pdm_k_out(k, 0, PDM_F32, 2, PDM_DIMS(off[count], p.num_emb))) {
        put_rows(&p, off, pdm_k_out_tensor(k, 0));
        pdm_k_set_lod1(k, pdm_k_out_tensor(k, 0), off, count);
    }
    if (PDM_K_OK(k) && pdm_k_wants(k, 1)) { /* nothing is dropped */
        int32_t *drop = pdm_k_out(k, 1, PDM_I32, 2, PDM_DIMS(kept[count], 1));
        for (int64_t i = 0; drop && i < kept[count]; i++)
            drop[i] = 1;
        pdm_k_set_lod1(k, pdm_k_out_tensor(k, 1), kept, count);
    }
    if (PDM_K_OK(k) && pdm_k_wants(k, 2)) {
        float *temp = pdm_k_out(k, 2, PDM_F32, 2, PDM_DIMS(tokens, 1));
        if (temp && tokens)
            memcpy(temp, copy, (size_t)tokens * sizeof *temp);
        pdm_k_share_lod(k, 2, p.x);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}
