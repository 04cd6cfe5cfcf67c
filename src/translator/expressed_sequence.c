/* Ops on sequences (rows grouped by LoD) that have no PIR op. */
#include "translator/expressed.h"

#include <string.h>

/* first + local position for every row of sequences of these lengths: repeat(first - starts) + 0,
 * 1, ... */
static pdm_ir_value *rows_from(pdm_tr_op *t, pdm_ir_value *first, pdm_ir_value *lengths,
                               pdm_ir_value *numbers)
{
    pdm_ir_value *shift = pdm_tr_binary(t, "pd_op.subtract", first, pdm_tr_starts(t, lengths));
    return pdm_tr_binary(t, "pd_op.add", pdm_tr_repeat(t, shift, lengths), numbers);
}

static pdm_ir_value *total(pdm_tr_op *t, pdm_ir_value *lengths)
{
    pdm_ir_value *sum = pdm_tr_reduce(t, "pd_op.sum", lengths, NULL, 0, false);
    return pdm_tr_reshape(t, sum, (int64_t[]){1}, 1);
}

/* The last row of a sequence comes first: row start + end - 1 - r instead of r. */
void pdm_tr_h_sequence_reverse(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *lengths = pdm_tr_lengths(t, x);
    pdm_ir_value *ends =
        pdm_tr_binary(t, "pd_op.add", lengths, pdm_tr_scale(t, pdm_tr_starts(t, lengths), 2, -1));
    pdm_ir_value *rows = pdm_tr_binary(t, "pd_op.subtract", pdm_tr_repeat(t, ends, lengths),
                                       pdm_tr_row_numbers(t, x));
    pdm_tr_out(t, "Y", pdm_tr_take(t, x, rows)); /* with the LoD of x */
}

void pdm_tr_h_sequence_concat(pdm_tr_op *t)
{
    size_t n = pdm_tr_num_in(t, "X");
    pdm_ir_value **x = pdm_arena_calloc(&t->tr->scratch, n + 1, sizeof *x);
    pdm_ir_value **lengths = pdm_arena_calloc(&t->tr->scratch, n + 1, sizeof *lengths);
    pdm_ir_value **places = pdm_arena_calloc(&t->tr->scratch, n + 1, sizeof *places), *sum = NULL;
    if (!x || !lengths || !places) {
        pdm_tr_nomem(t->tr);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = pdm_tr_in_at(t, "X", i);
        lengths[i] = pdm_tr_lengths(t, x[i]);
        sum = sum ? pdm_tr_binary(t, "pd_op.add", sum, lengths[i]) : lengths[i];
    }
    /* Where each row goes; those numbers, sorted, say which row comes next. */
    pdm_ir_value *first = pdm_tr_starts(t, sum);
    for (size_t i = 0; i < n; i++) {
        places[i] = rows_from(t, first, lengths[i], pdm_tr_row_numbers(t, x[i]));
        first = pdm_tr_binary(t, "pd_op.add", first, lengths[i]);
    }
    pdm_ir_op *sort = pdm_tr_emit(t, "pd_op.argsort", PDM_TR_OPS(pdm_tr_concat(t, places, n, 0)),
                                  PDM_TR_NO_ATTRS);
    pdm_ir_value *out = pdm_tr_take(t, pdm_tr_concat(t, x, n, 0), pdm_tr_result(sort, 1));
    pdm_tr_out(t, "Out", pdm_tr_with_lengths(t, out, sum));
}

/* Row i as often as sequence i of Y is long. */
void pdm_tr_h_sequence_expand_as(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y");
    pdm_tr_out(t, "Out", pdm_tr_with_lod_of(t, pdm_tr_repeat(t, x, pdm_tr_lengths(t, y)), y));
}

/* ---- padding --------------------------------------------------------------------------------- */

/* The dims of one step of x: all but the first. */
static size_t step_dims(pdm_tr_op *t, pdm_ir_value *x, pdm_tr_dim *dims)
{
    int rank = pdm_tr_need_rank(t, x);
    for (int i = 1; i < rank; i++)
        dims[i - 1] = PDM_TR_DIM_OF(x, i);
    return rank > 0 ? (size_t)rank - 1 : 0;
}

/* Sequences of x side by side, [sequences, width, ...]; width is an int64 tensor [1]. */
static pdm_ir_value *padded(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *lengths, pdm_ir_value *pad,
                            pdm_ir_value *width, int64_t fixed)
{
    pdm_tr_dim dims[PDM_MAX_RANK + 2];
    const int64_t any = -1, last = 1;
    size_t step = step_dims(t, x, dims + 2);
    if (t->failed || !x || step + 2 > PDM_MAX_RANK)
        return NULL;
    /* Row 0 is the padding, so that the LoD of x is not handed on; then come the rows of x. */
    dims[1] = PDM_TR_DIM(1);
    pdm_ir_value *rows[2] = {pdm_tr_expand_dims(t, pad, dims + 1, step + 1), x};
    pdm_ir_value *table = pdm_tr_concat(t, rows, 2, 0);
    pdm_ir_value *at = pdm_tr_unsqueeze(t, pdm_tr_iota(t, width, PDM_I64), (int64_t[]){0}, 1);
    pdm_ir_value *inside =
        pdm_tr_binary(t, "pd_op.less_than", at, pdm_tr_unsqueeze(t, lengths, &last, 1));
    pdm_ir_value *first = pdm_tr_scale(t, pdm_tr_starts(t, lengths), 1, 1);
    at = pdm_tr_binary(t, "pd_op.add", pdm_tr_unsqueeze(t, first, &last, 1), at);
    at = pdm_tr_binary(t, "pd_op.multiply", at, pdm_tr_cast(t, inside, PDM_I64));
    pdm_ir_value *out = pdm_tr_take(t, table, pdm_tr_reshape(t, at, &any, 1));
    dims[0] = PDM_TR_DIM_OF(at, 0);
    dims[1] = fixed > 0 ? PDM_TR_DIM(fixed) : PDM_TR_DIM_OF(at, 1);
    return pdm_tr_reshape_dims(t, out, dims, step + 2);
}

static pdm_ir_value *longest(pdm_tr_op *t, pdm_ir_value *lengths)
{
    pdm_ir_value *most = pdm_tr_reduce(t, "pd_op.max", lengths, NULL, 0, false);
    return pdm_tr_reshape(t, most, (int64_t[]){1}, 1);
}

pdm_ir_value *pdm_tr_padded(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *lengths, pdm_ir_value *pad)
{
    return padded(t, x, lengths, pad, longest(t, lengths), 0);
}

void pdm_tr_h_sequence_pad(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *pad = pdm_tr_in(t, "PadValue");
    int64_t fixed = pdm_tr_int(t, "padded_length");
    pdm_ir_value *lengths = pdm_tr_lengths(t, x);
    pdm_ir_value *width = fixed > 0 ? PDM_TR_INTS(t, fixed) : longest(t, lengths);
    pdm_tr_out_as_is(t, "Out", padded(t, x, lengths, pad, width, fixed));
    pdm_tr_out(t, "Length", lengths);
}

void pdm_tr_h_sequence_unpad(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *lengths = pdm_tr_in(t, "Length");
    const int64_t any = -1;
    lengths = pdm_tr_cast(t, pdm_tr_reshape(t, lengths, &any, 1), PDM_I64);
    pdm_ir_value *flat = pdm_tr_emit1(
        t, "pd_op.flatten", PDM_TR_OPS(x),
        PDM_TR_ATTRS({"start_axis", pdm_tr_a_i32(t, 0), 0}, {"stop_axis", pdm_tr_a_i32(t, 1), 0}));
    pdm_ir_value *width = pdm_tr_dim_value(t, x, 1);
    pdm_ir_value *first = pdm_tr_binary(t, "pd_op.multiply", pdm_tr_row_numbers(t, x), width);
    pdm_ir_value *numbers = pdm_tr_iota(t, total(t, lengths), PDM_I64);
    pdm_ir_value *rows = rows_from(t, first, lengths, numbers);
    pdm_ir_value *out = pdm_tr_take(t, flat, rows);
    if (pdm_tr_rank(x) == 2) /* rows of one number keep a dim for it */
        out = pdm_tr_unsqueeze(t, out, (int64_t[]){1}, 1);
    pdm_tr_out(t, "Out", pdm_tr_with_lengths(t, out, lengths));
}

/* ---- parts ----------------------------------------------------------------------------------- */

void pdm_tr_h_sequence_slice(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *offset = pdm_tr_in(t, "Offset"),
                 *length = pdm_tr_in(t, "Length");
    const int64_t any = -1;
    offset = pdm_tr_cast(t, pdm_tr_reshape(t, offset, &any, 1), PDM_I64);
    length = pdm_tr_cast(t, pdm_tr_reshape(t, length, &any, 1), PDM_I64);
    pdm_ir_value *first =
        pdm_tr_binary(t, "pd_op.add", pdm_tr_starts(t, pdm_tr_lengths(t, x)), offset);
    pdm_ir_value *rows = rows_from(t, first, length, pdm_tr_iota(t, total(t, length), PDM_I64));
    pdm_tr_out(t, "Out", pdm_tr_with_lengths(t, pdm_tr_take(t, x, rows), length));
}

void pdm_tr_h_sequence_erase(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *keep = NULL;
    size_t n = 0;
    const int64_t *tokens = pdm_tr_ints(t, "tokens", &n);
    const int64_t any = -1;
    if (t->failed || !x)
        return;
    if (n == 0) {
        pdm_tr_out(t, "Out", pdm_tr_unary(t, "pd_op.assign", x));
        return;
    }
    pdm_ir_value *flat = pdm_tr_reshape(t, x, (int64_t[]){-1, 1}, 2);
    const int64_t row[2] = {1, (int64_t)n};
    pdm_ir_value *table = pdm_tr_table_i(t, row, 2, pdm_tr_dtype_of(x), tokens, n);
    keep = pdm_tr_binary(t, "pd_op.not_equal", flat, table);
    keep = pdm_tr_reduce(t, "pd_op.all", keep, (int64_t[]){1}, 1, false);
    pdm_ir_value *kept = pdm_tr_unary(t, "pd_op.nonzero", keep);
    pdm_ir_value *out = pdm_tr_take(t, x, pdm_tr_reshape(t, kept, &any, 1));
    /* How many are kept of each sequence: differences of the running count. */
    pdm_ir_value *counts = pdm_tr_cast(t, keep, PDM_F32);
    counts = pdm_tr_reshape(t, counts, (int64_t[]){-1, 1}, 2);
    counts = pdm_tr_with_lod_of(t, counts, x);
    pdm_ir_op *pool = pdm_tr_emit(t, "pd_op.sequence_pool", PDM_TR_OPS(counts),
                                  PDM_TR_ATTRS({"is_test", pdm_tr_a_bool(t, true), 0},
                                               {"pooltype", pdm_tr_a_str(t, "SUM"), 0},
                                               {"pad_value", pdm_tr_a_f32(t, 0), 0}));
    counts = pdm_tr_cast(t, pdm_tr_reshape(t, pdm_tr_result(pool, 0), &any, 1), PDM_I64);
    pdm_tr_out(t, "Out", pdm_tr_with_lengths(t, out, counts));
}

/* Windows of the next `win_size` ids of the same sequence. */
void pdm_tr_h_sequence_enumerate(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    int64_t size = pdm_tr_int(t, "win_size"), pad = pdm_tr_int(t, "pad_value");
    const int64_t any = -1, last = 1;
    pdm_ir_value *lengths = pdm_tr_lengths(t, x);
    pdm_ir_value *ends = pdm_tr_binary(t, "pd_op.add", pdm_tr_starts(t, lengths), lengths);
    ends = pdm_tr_unsqueeze(t, pdm_tr_repeat(t, ends, lengths), &last, 1);
    pdm_ir_value *rows = pdm_tr_unsqueeze(t, pdm_tr_row_numbers(t, x), &last, 1);
    pdm_ir_value *shift = pdm_tr_iota(t, PDM_TR_INTS(t, size), PDM_I64);
    rows = pdm_tr_binary(t, "pd_op.add", rows, pdm_tr_unsqueeze(t, shift, (int64_t[]){0}, 1));
    pdm_ir_value *inside = pdm_tr_binary(t, "pd_op.less_than", rows, ends);
    rows = pdm_tr_binary(t, "pd_op.multiply", rows, pdm_tr_cast(t, inside, PDM_I64));
    pdm_ir_value *flat = pdm_tr_reshape(t, x, &any, 1);
    pdm_ir_value *ids = pdm_tr_take(t, flat, pdm_tr_reshape(t, rows, &any, 1));
    const int64_t shape[2] = {-1, size};
    ids = pdm_tr_reshape(t, ids, shape, 2);
    pdm_ir_value *pads = pdm_tr_full_like(t, ids, (double)pad, pdm_tr_dtype_of(x));
    ids = pdm_tr_where(t, inside, ids, pads);
    pdm_tr_out(t, "Out", pdm_tr_with_lod_of(t, ids, x));
}

/* ---- other ----------------------------------------------------------------------------------- */

void pdm_tr_h_sequence_reshape(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    int64_t wide = pdm_tr_int(t, "new_dim"), old = pdm_tr_known_dim(x, 1);
    if (t->failed || !x)
        return;
    if (old <= 0 || wide <= 0) {
        pdm_tr_unsupported(t, NULL, "'sequence_reshape' of rows of unknown length");
        return;
    }
    pdm_ir_value *lengths = pdm_tr_scale(t, pdm_tr_lengths(t, x), (double)old, 0);
    lengths = pdm_tr_binary(t, "pd_op.floor_divide", lengths, PDM_TR_INTS(t, wide));
    const int64_t shape[2] = {-1, wide};
    pdm_tr_out(t, "Out", pdm_tr_with_lengths(t, pdm_tr_reshape(t, x, shape, 2), lengths));
}

/* Row i of X gets the updates of sequence i at the columns that Ids names. */
void pdm_tr_h_sequence_scatter(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *ids = pdm_tr_in(t, "Ids"),
                 *updates = pdm_tr_in(t, "Updates");
    const int64_t any = -1;
    pdm_ir_value *lengths = pdm_tr_lengths(t, ids);
    pdm_ir_value *where[2] = {pdm_tr_repeat(t, pdm_tr_row_numbers(t, x), lengths),
                              pdm_tr_cast(t, pdm_tr_reshape(t, ids, &any, 1), PDM_I64)};
    for (int i = 0; i < 2; i++)
        where[i] = pdm_tr_unsqueeze(t, where[i], (int64_t[]){1}, 1);
    pdm_ir_value *index = pdm_tr_concat(t, where, 2, 1);
    pdm_tr_out(t, "Out",
               pdm_tr_emit1(t, "pd_op.scatter_nd_add",
                            PDM_TR_OPS(x, index, pdm_tr_reshape(t, updates, &any, 1)),
                            PDM_TR_NO_ATTRS));
}
