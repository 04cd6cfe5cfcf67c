/*
 * Moving the rows of sequences about: expand, expand_as, concat, reverse, slice, reshape, erase,
 * enumerate, scatter, pad, unpad; lod_reset.
 */
#include "exec/kernels/scratch.h"

/* Copy `rows` rows of `size` bytes. */
static void copy_rows(void *to, int64_t to_row, const void *from, int64_t from_row, int64_t rows,
                      size_t size)
{
    if (rows > 0 && size > 0)
        memcpy((char *)to + (size_t)to_row * size, (const char *)from + (size_t)from_row * size,
               (size_t)rows * size);
}

static size_t row_bytes(const pdm_tensor *t)
{
    return (size_t)pdm_k_row_size(t) * pdm_dtype_size(t->dtype);
}

/* Dims of t with another number of rows. */
static void dims_with_rows(const pdm_tensor *t, int64_t rows, int64_t dims[PDM_MAX_RANK])
{
    memcpy(dims, t->dims, sizeof t->dims);
    dims[0] = rows;
}

static bool has_rows(pdm_k *k, const pdm_tensor *t)
{
    if (PDM_K_OK(k) && t->rank < 1)
        pdm_k_fail(k, "an operand has no rows");
    return PDM_K_OK(k);
}

/* ---- expansion ------------------------------------------------------------------------------- */

/* Sequence i of x as often as sequence i of y is long. */
pdm_status pdm_kernel_sequence_expand(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    const int64_t level = pdm_k_int(k, "ref_level");
    pdm_seqs times, seqs = {0};
    pdm_arena arena;

    if (!has_rows(k, x) ||
        !pdm_k_seqs(k, y, level < -1 || level > 64 ? 64 : (int)level, -1, &times))
        return k->status;
    if (times.count < 1) {
        pdm_k_share(k, 0, x, x->rank, x->dims);
        return k->status;
    }
    const bool with_lod = pdm_tensor_num_lod(x) > 0;
    if (with_lod && !pdm_k_seqs(k, x, 0, x->dims[0], &seqs))
        return k->status;
    const int64_t count = with_lod ? seqs.count : x->dims[0];
    if (count != times.count)
        return pdm_k_fail(k, "X has %lld sequences, Y %lld", (long long)count,
                          (long long)times.count);
    int64_t rows = 0, copies = times.off[count] - times.off[0];
    for (int64_t i = 0; PDM_K_OK(k) && i < count; i++) {
        const int64_t n = times.off[i + 1] - times.off[i];
        const int64_t length = with_lod ? seqs.off[i + 1] - seqs.off[i] : 1;
        int64_t more;
        if (__builtin_mul_overflow(n, length, &more) || __builtin_add_overflow(rows, more, &rows))
            pdm_k_fail(k, "there are too many rows");
    }
    if (!PDM_K_OK(k))
        return k->status;
    int64_t dims[PDM_MAX_RANK];
    dims_with_rows(x, rows, dims);
    char *out = pdm_k_out(k, 0, x->dtype, x->rank, dims);
    pdm_arena_init(&arena);
    int64_t *off = out ? pdm_k_scratch(k, &arena, copies + 1, sizeof *off) : NULL;
    int64_t row = 0, copy = 0;
    for (int64_t i = 0; off && i < count; i++) {
        const int64_t begin = with_lod ? seqs.off[i] : i, end = with_lod ? seqs.off[i + 1] : i + 1;
        for (int64_t n = times.off[i]; n < times.off[i + 1]; n++) {
            copy_rows(out, row, x->data, begin, end - begin, row_bytes(x));
            row += end - begin;
            off[++copy] = row;
        }
    }
    if (off && with_lod)
        pdm_k_set_lod1(k, pdm_k_out_tensor(k, 0), off, copies);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* Row i as often as sequence i of Y is long. */
pdm_status pdm_kernel_legacy_sequence_expand_as(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X"), *y = pdm_k_slot_in(k, "Y");
    int64_t dims[PDM_MAX_RANK];
    pdm_seqs seqs;

    if (!PDM_K_OK(k) || !has_rows(k, x) || !pdm_k_seqs(k, y, 0, -1, &seqs))
        return k->status;
    if (x->dims[0] != seqs.count)
        return pdm_k_fail(k, "X has %lld rows, Y %lld sequences", (long long)x->dims[0],
                          (long long)seqs.count);
    dims_with_rows(x, seqs.off[seqs.count], dims);
    pdm_tensor *out = pdm_k_slot_out(k, "Out", x->dtype, x->rank, dims);
    for (int64_t i = 0; out && i < seqs.count; i++)
        for (int64_t row = seqs.off[i]; row < seqs.off[i + 1]; row++)
            copy_rows(out->data, row, x->data, i, 1, row_bytes(x));
    if (out)
        pdm_k_set_lod1(k, out, seqs.off, seqs.count);
    return k->status;
}

/* ---- concat, reverse, slice ------------------------------------------------------------------ */

/* Checks the operands and adds up the offsets; the operands' last LoD levels in seqs. */
static int64_t *joined_offsets(pdm_k *k, pdm_arena *arena, size_t n, pdm_seqs *seqs)
{
    int64_t *off = NULL;

    for (size_t i = 0; PDM_K_OK(k) && i < n; i++) {
        const pdm_tensor *x = pdm_k_slot_at(k, "X", i), *first = pdm_k_slot_in(k, "X");
        if (!x)
            pdm_k_fail(k, "operand %zu of 'X' holds no tensor", i);
        if (!pdm_k_same_dtype(k, x, first) ||
            !pdm_k_seqs(k, x, 0, x->rank > 0 ? x->dims[0] : 0, &seqs[i]))
            return NULL;
        if (x->rank != first->rank || pdm_k_row_size(x) != pdm_k_row_size(first) ||
            seqs[i].count != seqs[0].count) {
            pdm_k_fail(k, "operands differ in the number of sequences or in their rows");
            return NULL;
        }
        if (!off)
            off = pdm_k_scratch(k, arena, seqs[0].count + 1, sizeof *off);
        for (int64_t s = 0; off && s <= seqs[0].count; s++)
            off[s] += seqs[i].off[s];
    }
    return PDM_K_OK(k) ? off : NULL;
}

pdm_status pdm_kernel_legacy_sequence_concat(pdm_k *k)
{
    const size_t n = pdm_k_slot_count(k, "X");
    const pdm_tensor *first = pdm_k_slot_in(k, "X");
    int64_t dims[PDM_MAX_RANK];
    pdm_arena arena;

    if (!PDM_K_OK(k))
        return k->status;
    pdm_arena_init(&arena);
    pdm_seqs *seqs = pdm_k_scratch(k, &arena, (int64_t)n, sizeof *seqs);
    int64_t *off = seqs ? joined_offsets(k, &arena, n, seqs) : NULL;
    pdm_tensor *out = NULL;
    if (off) {
        dims_with_rows(first, off[seqs[0].count], dims);
        out = pdm_k_slot_out(k, "Out", first->dtype, first->rank, dims);
    }
    for (int64_t s = 0, row = 0; out && s < seqs[0].count; s++) {
        for (size_t i = 0; i < n; i++) {
            const int64_t rows = seqs[i].off[s + 1] - seqs[i].off[s];
            copy_rows(out->data, row, pdm_k_slot_at(k, "X", i)->data, seqs[i].off[s], rows,
                      row_bytes(first));
            row += rows;
        }
    }
    if (out)
        pdm_k_set_lod1(k, out, off, seqs[0].count);
    pdm_arena_deinit(&arena);
    return k->status;
}

pdm_status pdm_kernel_legacy_sequence_reverse(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X");
    pdm_seqs seqs;

    if (!PDM_K_OK(k) || !pdm_k_row_seqs(k, x, &seqs))
        return k->status;
    pdm_tensor *out = pdm_k_slot_out(k, "Y", x->dtype, x->rank, x->dims);
    for (int64_t s = 0; out && s < seqs.count; s++)
        for (int64_t i = seqs.off[s]; i < seqs.off[s + 1]; i++)
            copy_rows(out->data, i, x->data, seqs.off[s] + seqs.off[s + 1] - 1 - i, 1,
                      row_bytes(x));
    if (out)
        pdm_tensor_share_lod(out, x);
    return k->status;
}

/* Rows [Offset, Offset + Length) of each sequence. */
pdm_status pdm_kernel_legacy_sequence_slice(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X"), *offset = pdm_k_slot_in(k, "Offset");
    const pdm_tensor *length = pdm_k_slot_in(k, "Length");
    int64_t dims[PDM_MAX_RANK];
    pdm_seqs seqs;
    pdm_arena arena;

    if (!PDM_K_OK(k) || !has_rows(k, x) || !pdm_k_seqs(k, x, 0, x->dims[0], &seqs))
        return k->status;
    if (pdm_tensor_count(offset) != seqs.count || pdm_tensor_count(length) != seqs.count)
        return pdm_k_fail(k, "there are not as many offsets and lengths as sequences");
    pdm_arena_init(&arena);
    int64_t *off = pdm_k_scratch(k, &arena, seqs.count + 1, sizeof *off);
    for (int64_t s = 0; off && s < seqs.count; s++) {
        const int64_t from = pdm_get_int(offset, s), n = pdm_get_int(length, s);
        if (from < 0 || n < 0 || from > seqs.off[s + 1] - seqs.off[s] ||
            n > seqs.off[s + 1] - seqs.off[s] - from)
            pdm_k_fail(k, "%lld rows from %lld on are outside of sequence %lld", (long long)n,
                       (long long)from, (long long)s);
        off[s + 1] = off[s] + n;
    }
    pdm_tensor *out = NULL;
    if (PDM_K_OK(k)) {
        dims_with_rows(x, off[seqs.count], dims);
        out = pdm_k_slot_out(k, "Out", x->dtype, x->rank, dims);
    }
    for (int64_t s = 0; out && s < seqs.count; s++)
        copy_rows(out->data, off[s], x->data, seqs.off[s] + pdm_get_int(offset, s),
                  off[s + 1] - off[s], row_bytes(x));
    if (out)
        pdm_k_set_lod1(k, out, off, seqs.count);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- reshape, erase, enumerate, scatter ------------------------------------------------------ */

/* Rows of new_dim numbers; each sequence keeps its numbers. */
pdm_status pdm_kernel_legacy_sequence_reshape(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X");
    const int64_t width = pdm_k_int(k, "new_dim");
    pdm_seqs seqs;
    pdm_arena arena;

    if (!PDM_K_OK(k) || !pdm_k_rank_is(k, x, 2, "X") || !pdm_k_row_seqs(k, x, &seqs))
        return k->status;
    if (width < 1)
        return pdm_k_fail(k, "new_dim is %lld", (long long)width);
    pdm_arena_init(&arena);
    int64_t *off = pdm_k_scratch(k, &arena, seqs.count + 1, sizeof *off);
    for (int64_t s = 0; off && s <= seqs.count; s++) {
        off[s] = seqs.off[s] * x->dims[1] / width;
        if (off[s] * width != seqs.off[s] * x->dims[1])
            pdm_k_fail(k, "sequence %lld cannot be cut into rows of %lld", (long long)s - 1,
                       (long long)width);
    }
    pdm_tensor *out = PDM_K_OK(k)
                          ? pdm_k_slot_out(k, "Out", x->dtype, 2, PDM_DIMS(off[seqs.count], width))
                          : NULL;
    if (out) {
        memcpy(out->data, x->data, pdm_tensor_bytes(x));
        pdm_k_set_lod1(k, out, off, seqs.count);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

static bool is_in(int64_t value, const int64_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == value)
            return true;
    return false;
}

/* The numbers without some. Outer LoD levels stay. */
pdm_status pdm_kernel_legacy_sequence_erase(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X");
    int64_t tokens[PDM_K_MAX_INTS];
    const size_t num = pdm_k_ints_or_none(k, "tokens", tokens);
    pdm_seqs seqs;
    pdm_arena arena;

    if (!PDM_K_OK(k) || !pdm_k_row_seqs(k, x, &seqs))
        return k->status;
    if (pdm_k_row_size(x) != 1)
        return pdm_k_fail(k, "a row has more than one number");
    pdm_arena_init(&arena);
    int64_t *off = pdm_k_scratch(k, &arena, seqs.count + 1, sizeof *off);
    for (int64_t s = 0; off && s < seqs.count; s++) {
        off[s + 1] = off[s];
        for (int64_t i = seqs.off[s]; i < seqs.off[s + 1]; i++)
            off[s + 1] += !is_in(pdm_get_int(x, i), tokens, num);
    }
    pdm_tensor *out =
        off ? pdm_k_slot_out(k, "Out", x->dtype, 2, PDM_DIMS(off[seqs.count], 1)) : NULL;
    for (int64_t i = 0, n = 0; out && i < x->dims[0]; i++)
        if (!is_in(pdm_get_int(x, i), tokens, num))
            pdm_set_int(out, n++, pdm_get_int(x, i));
    const size_t levels = pdm_tensor_num_lod(x);
    if (out && levels <= 8) {
        const int64_t *offsets[8];
        size_t counts[8];
        for (size_t l = 0; l < levels; l++)
            offsets[l] = pdm_tensor_lod(x, l, &counts[l]);
        offsets[levels - 1] = off;
        if (pdm_tensor_set_lod(out, levels, offsets, counts) != PDM_OK)
            pdm_k_nomem(k);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* Each place with the win_size numbers from it on. */
pdm_status pdm_kernel_legacy_sequence_enumerate(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X");
    const int64_t window = pdm_k_int(k, "win_size"), pad = pdm_k_int_or(k, "pad_value", 0);
    pdm_seqs seqs;

    if (!PDM_K_OK(k) || !pdm_k_row_seqs(k, x, &seqs))
        return k->status;
    if (window < 1 || pdm_k_row_size(x) != 1)
        return pdm_k_fail(k, "rows of %lld numbers, windows of %lld", (long long)pdm_k_row_size(x),
                          (long long)window);
    pdm_tensor *out = pdm_k_slot_out(k, "Out", x->dtype, 2, PDM_DIMS(x->dims[0], window));
    for (int64_t s = 0; out && s < seqs.count; s++)
        for (int64_t i = seqs.off[s]; i < seqs.off[s + 1]; i++)
            for (int64_t j = 0; j < window; j++)
                pdm_set_int(out, i * window + j,
                            j < seqs.off[s + 1] - i ? pdm_get_int(x, i + j) : pad);
    if (out)
        pdm_tensor_share_lod(out, x);
    return k->status;
}

/* Row s of X, with the updates of sequence s added at the places that Ids tells. */
pdm_status pdm_kernel_legacy_sequence_scatter(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X"), *ids = pdm_k_slot_in(k, "Ids");
    const pdm_tensor *updates = pdm_k_slot_in(k, "Updates");
    pdm_seqs seqs;

    if (!PDM_K_OK(k) || !has_rows(k, x) || !has_rows(k, ids) ||
        !pdm_k_seqs(k, ids, 0, ids->dims[0], &seqs))
        return k->status;
    const int64_t width = pdm_k_row_size(x);
    if (seqs.count != x->dims[0] || pdm_tensor_count(ids) != ids->dims[0] ||
        pdm_tensor_count(updates) != ids->dims[0] || updates->dtype != x->dtype)
        return pdm_k_fail(k, "operands do not fit together");
    pdm_tensor *out = pdm_k_slot_out(k, "Out", x->dtype, x->rank, x->dims);
    if (!out)
        return k->status;
    memcpy(out->data, x->data, pdm_tensor_bytes(x));
    for (int64_t s = 0; PDM_K_OK(k) && s < seqs.count; s++) {
        for (int64_t i = seqs.off[s]; i < seqs.off[s + 1]; i++) {
            const int64_t at = pdm_get_int(ids, i);
            if (at < 0 || at >= width)
                return pdm_k_fail(k, "index %lld does not exist", (long long)at);
            if (pdm_dtype_is_float(x->dtype))
                pdm_set_double(out, s * width + at,
                               pdm_get_double(out, s * width + at) + pdm_get_double(updates, i));
            else
                pdm_set_int(out, s * width + at,
                            (int64_t)((uint64_t)pdm_get_int(out, s * width + at) +
                                      (uint64_t)pdm_get_int(updates, i)));
        }
    }
    pdm_tensor_share_lod(out, x);
    return k->status;
}

/* ---- padding --------------------------------------------------------------------------------- */

/* Fill rows [from, to) of out with the pad value: one number, or a row of them. */
static void fill_rows(pdm_tensor *out, int64_t from, int64_t to, int64_t row, const pdm_tensor *pad)
{
    const size_t size = pdm_dtype_size(out->dtype);
    const int64_t n = pdm_tensor_count(pad);
    char *at = (char *)out->data + (size_t)(from * row) * size;

    for (int64_t i = 0; i < (to - from) * row; i++, at += size)
        memcpy(at, (const char *)pad->data + (size_t)(n == 1 ? 0 : i % row) * size, size);
}

pdm_status pdm_kernel_legacy_sequence_pad(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X"), *pad = pdm_k_slot_in(k, "PadValue");
    int64_t width = pdm_k_int_or(k, "padded_length", -1), longest = 0;
    pdm_seqs seqs;

    if (!PDM_K_OK(k) || !has_rows(k, x) || !pdm_k_seqs(k, x, 0, x->dims[0], &seqs) ||
        !pdm_k_same_dtype(k, x, pad))
        return k->status;
    for (int64_t s = 0; s < seqs.count; s++) {
        const int64_t n = seqs.off[s + 1] - seqs.off[s];
        longest = n > longest ? n : longest;
    }
    if (width < 0)
        width = longest;
    const int64_t row = pdm_k_row_size(x), n = pdm_tensor_count(pad);
    if (width < longest || (n != 1 && n != row))
        return pdm_k_fail(k, "sequences of up to %lld rows are padded to %lld with %lld numbers",
                          (long long)longest, (long long)width, (long long)n);
    int64_t dims[PDM_MAX_RANK + 1];
    dims[0] = seqs.count;
    dims[1] = width;
    memcpy(dims + 2, x->dims + 1, (size_t)(x->rank - 1) * sizeof *dims);
    pdm_tensor *out = pdm_k_slot_out(k, "Out", x->dtype, x->rank + 1, dims);
    pdm_tensor *lengths = pdm_k_slot_out(k, "Length", PDM_I64, 1, &seqs.count);
    for (int64_t s = 0; PDM_K_OK(k) && s < seqs.count; s++) {
        const int64_t length = seqs.off[s + 1] - seqs.off[s];
        if (lengths)
            ((int64_t *)lengths->data)[s] = length;
        if (!out)
            continue;
        copy_rows(out->data, s * width, x->data, seqs.off[s], length, row_bytes(x));
        fill_rows(out, s * width + length, (s + 1) * width, row, pad);
    }
    return k->status;
}

pdm_status pdm_kernel_legacy_sequence_unpad(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X"), *lengths = pdm_k_slot_in(k, "Length");
    int64_t dims[PDM_MAX_RANK] = {0};
    pdm_arena arena;

    if (PDM_K_OK(k) && (x->rank < 2 || pdm_tensor_count(lengths) != x->dims[0]))
        pdm_k_fail(k, "there are not as many lengths as padded sequences");
    if (!PDM_K_OK(k))
        return k->status;
    const int64_t count = x->dims[0], width = x->dims[1];
    pdm_arena_init(&arena);
    int64_t *off = pdm_k_scratch(k, &arena, count + 1, sizeof *off);
    for (int64_t s = 0; off && s < count; s++) {
        const int64_t n = pdm_get_int(lengths, s);
        if (n < 0 || n > width)
            pdm_k_fail(k, "sequence %lld has %lld rows of %lld", (long long)s, (long long)n,
                       (long long)width);
        off[s + 1] = off[s] + n;
    }
    pdm_tensor *out = NULL;
    if (PDM_K_OK(k)) {
        const int rank = x->rank == 2 ? 2 : x->rank - 1;
        dims[0] = off[count];
        dims[1] = 1; /* of single numbers */
        memcpy(dims + 1, x->dims + 2, x->rank > 2 ? (size_t)(x->rank - 2) * sizeof *dims : 0);
        out = pdm_k_slot_out(k, "Out", x->dtype, rank, dims);
    }
    const size_t size = (size_t)pdm_k_product(x->dims, 2, x->rank) * pdm_dtype_size(x->dtype);
    for (int64_t s = 0; out && s < count; s++)
        copy_rows(out->data, off[s], x->data, s * width, off[s + 1] - off[s], size);
    if (out)
        pdm_k_set_lod1(k, out, off, count);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- lod_reset ------------------------------------------------------------------------------- */

/* Offsets of the new level: y's numbers, or the attribute. NULL: failed. */
static int64_t *new_level(pdm_k *k, pdm_arena *arena, const pdm_tensor *y, int64_t *out_n)
{
    pdm_ir_attr attr = y ? NULL : pdm_k_attr(k, "target_lod");
    const bool ints = attr && attr->kind == PDM_IR_ATTR_INT_ARRAY;
    const int64_t n = y ? pdm_tensor_count(y) : attr ? (int64_t)attr->count : 0;

    if (n < 1 || (attr && !ints && attr->kind != PDM_IR_ATTR_ARRAY)) {
        pdm_k_fail(k, "there is no target LoD");
        return NULL;
    }
    int64_t *off = pdm_k_scratch(k, arena, n, sizeof *off);
    for (int64_t i = 0; off && i < n; i++)
        off[i] = y ? pdm_get_int(y, i) : ints ? attr->u.ints[i] : attr->u.items[i]->u.i;
    *out_n = n;
    return off;
}

pdm_status pdm_kernel_lod_reset(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in_opt(k, 1);
    const bool append = pdm_k_bool(k, "append");
    const int64_t *offsets[8];
    size_t counts[8], levels = 0;
    pdm_arena arena;
    int64_t n = 0;

    if (!has_rows(k, x))
        return k->status;
    pdm_k_share(k, 0, x, x->rank, x->dims);
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    if (!out)
        return k->status;
    if (y && pdm_tensor_num_lod(y) > 0) {
        pdm_seqs seqs;
        if (pdm_k_seqs(k, y, -1, x->dims[0], &seqs))
            pdm_tensor_share_lod(out, y);
        return k->status;
    }
    pdm_arena_init(&arena);
    const int64_t *off = new_level(k, &arena, y, &n);
    for (int64_t i = 0; off && i < n; i++)
        if (off[i] < (i ? off[i - 1] : 0) || (i == 0 && off[0] != 0) ||
            (i == n - 1 && off[i] != x->dims[0]))
            pdm_k_fail(k, "the target LoD does not ascend from 0 to %lld", (long long)x->dims[0]);
    if (append) {
        for (; levels < pdm_tensor_num_lod(x) && levels < 7; levels++)
            offsets[levels] = pdm_tensor_lod(x, levels, &counts[levels]);
    }
    offsets[levels] = off;
    counts[levels] = (size_t)n;
    if (PDM_K_OK(k) && off && pdm_tensor_set_lod(out, levels + 1, offsets, counts) != PDM_OK)
        pdm_k_nomem(k);
    pdm_arena_deinit(&arena);
    return k->status;
}
