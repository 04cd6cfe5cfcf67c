/*
 * Rank tables and what works with them: sequences ordered by length, longest first. A table is the
 * int64 tensor [2, sequences]: which sequence is at each rank, and its length.
 */
#include "translator/expressed.h"

#include <string.h>

typedef struct ranks {
    pdm_ir_value *order, *lengths; /* by rank */
} ranks;

static pdm_ir_value *vector(pdm_tr_op *t, pdm_ir_value *x)
{
    const int64_t any = -1;
    return pdm_tr_reshape(t, x, &any, 1);
}

static ranks table_of(pdm_tr_op *t)
{
    pdm_ir_value *table = pdm_tr_in(t, "RankTable");
    return (ranks){vector(t, pdm_tr_slice(t, table, 0, 0, 1)),
                   vector(t, pdm_tr_slice(t, table, 0, 1, 2))};
}

static pdm_ir_value *sorted_indices(pdm_tr_op *t, pdm_ir_value *keys)
{
    return pdm_tr_result(pdm_tr_emit(t, "pd_op.argsort", PDM_TR_OPS(keys), PDM_TR_NO_ATTRS), 1);
}

/* Lengths at an outer level count the sequences of the level below. */
static pdm_ir_value *lengths_at(pdm_tr_op *t, pdm_ir_value *x, int64_t level, int levels)
{
    if (levels <= 1 || level == levels - 1)
        return pdm_tr_lengths(t, x);
    pdm_tr_unsupported(t, "level", "'lod_rank_table' of an outer level");
    return NULL;
}

void pdm_tr_h_lod_rank_table(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    const char *name = pdm_tr_out_name(t, "Out");
    pdm_ir_value *lengths =
        lengths_at(t, x, pdm_tr_int_or(t, "level", 0), pdm_tr_lod_level(t, "X"));
    /* number - length * count: distinct, and smaller for longer and for earlier ones */
    pdm_ir_value *keys =
        pdm_tr_binary(t, "pd_op.multiply", lengths, pdm_tr_dim_value(t, lengths, 0));
    keys = pdm_tr_binary(t, "pd_op.subtract", pdm_tr_row_numbers(t, lengths), keys);
    pdm_ir_value *order = sorted_indices(t, keys);
    pdm_ir_value *rows[2] = {order, pdm_tr_take(t, lengths, order)};
    for (int i = 0; i < 2; i++)
        rows[i] = pdm_tr_unsqueeze(t, rows[i], (int64_t[]){0}, 1);
    pdm_ir_value *table = pdm_tr_concat(t, rows, 2, 0);
    if (name && table)
        pdm_tr_bind(t->tr, name, table);
}

void pdm_tr_h_max_sequence_len(pdm_tr_op *t)
{
    ranks r = table_of(t);
    pdm_tr_out(t, "Out", pdm_tr_slice(t, r.lengths, 0, 0, 1));
}

/* How many sequences are longer than `turn`, int64 [1]. */
static pdm_ir_value *longer_than(pdm_tr_op *t, pdm_ir_value *lengths, pdm_ir_value *turn)
{
    pdm_ir_value *longer = pdm_tr_binary(t, "pd_op.greater_than", lengths, turn);
    pdm_ir_value *n =
        pdm_tr_reduce(t, "pd_op.sum", pdm_tr_cast(t, longer, PDM_I64), NULL, 0, false);
    return pdm_tr_reshape(t, n, (int64_t[]){1}, 1);
}

void pdm_tr_h_shrink_rnn_memory(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *i = pdm_tr_in(t, "I");
    ranks r = table_of(t);
    i = pdm_tr_cast(t, pdm_tr_reshape(t, i, (int64_t[]){1}, 1), PDM_I64);
    pdm_tr_out(t, "Out", pdm_tr_slice_by(t, x, 0, PDM_TR_INTS(t, 0), longer_than(t, r.lengths, i)));
}

/* first + local position for every row of sequences of these lengths */
static pdm_ir_value *rows_of(pdm_tr_op *t, pdm_ir_value *first, pdm_ir_value *lengths,
                             pdm_ir_value *numbers)
{
    pdm_ir_value *shift = pdm_tr_binary(t, "pd_op.subtract", first, pdm_tr_starts(t, lengths));
    return pdm_tr_binary(t, "pd_op.add", pdm_tr_repeat(t, shift, lengths), numbers);
}

void pdm_tr_h_reorder_lod_tensor_by_rank(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    ranks r = table_of(t);
    if (pdm_tr_lod_level(t, "X") == 0) {
        pdm_tr_out(t, "Out", pdm_tr_take(t, x, r.order));
        return;
    }
    pdm_ir_value *lengths = pdm_tr_lengths(t, x);
    pdm_ir_value *first = pdm_tr_take(t, pdm_tr_starts(t, lengths), r.order);
    lengths = pdm_tr_take(t, lengths, r.order);
    pdm_ir_value *rows = rows_of(t, first, lengths, pdm_tr_row_numbers(t, x));
    pdm_tr_out(t, "Out", pdm_tr_with_lengths(t, pdm_tr_take(t, x, rows), lengths));
}

/* ---- arrays of time steps -------------------------------------------------------------------- */

typedef struct steps {
    pdm_ir_value *x, *first, *lengths; /* by rank; x without LoD */
} steps;

/* Step `turn`: the rows at that place of all sequences that are so long. */
static void write_step(pdm_tr_op *t, pdm_ir_value *turn, pdm_ir_value **values, void *user)
{
    steps *s = user;
    pdm_ir_value *n = longer_than(t, s->lengths, turn);
    pdm_ir_value *rows = pdm_tr_slice_by(t, s->first, 0, PDM_TR_INTS(t, 0), n);
    rows = pdm_tr_binary(t, "pd_op.add", rows, turn);
    pdm_ir_value *x = pdm_tr_take(t, s->x, rows);
    if (!values[0] || !x)
        return;
    pdm_ir_type type = values[0]->type;
    values[0] =
        pdm_tr_result(pdm_tr_emit_typed(t, "pd_op.array_write_", PDM_TR_OPS(values[0], x, turn),
                                        PDM_TR_NO_ATTRS, &type, 1),
                      0);
}

void pdm_tr_h_lod_tensor_to_array(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *array;
    ranks r = table_of(t);
    pdm_ir_value *starts = pdm_tr_starts(t, pdm_tr_lengths(t, x));
    steps s = {pdm_tr_without_lod(t, x), pdm_tr_take(t, starts, r.order), r.lengths};
    if (t->failed || !x)
        return;
    array = pdm_tr_new_array(t, pdm_tr_dtype_of(x));
    pdm_tr_count_loop(t, pdm_tr_slice(t, r.lengths, 0, 0, 1), &array, 1, write_step, &s);
    pdm_tr_out(t, "Out", array);
}

/* Element `turn` of an array, of the type that the output has. */
static pdm_ir_value *read_step(pdm_tr_op *t, pdm_ir_value *array, pdm_ir_value *turn,
                               pdm_ir_type type)
{
    pdm_ir_op *op = pdm_tr_emit_typed(t, "pd_op.array_read", PDM_TR_OPS(array, turn),
                                      PDM_TR_NO_ATTRS, &type, 1);
    return pdm_tr_result(op, 0);
}

typedef struct appended {
    pdm_ir_value *array;
    pdm_ir_type type;
} appended;

static void append_step(pdm_tr_op *t, pdm_ir_value *turn, pdm_ir_value **values, void *user)
{
    appended *a = user;
    pdm_ir_value *parts[2] = {values[0], read_step(t, a->array, turn, a->type)};
    values[0] = pdm_tr_concat(t, parts, 2, 0);
    pdm_tr_retype(values[0], a->type);
}

void pdm_tr_h_array_to_lod_tensor(pdm_tr_op *t)
{
    pdm_ir_value *array = pdm_tr_in(t, "X");
    ranks r = table_of(t);
    pdm_ir_type declared = pdm_tr_out_type(t, "Out", 0);
    int64_t dims[PDM_MAX_RANK];
    if (t->failed || !array)
        return;
    if (!pdm_tr_is_array(array) || !declared || declared->rank < 1 ||
        declared->rank > PDM_MAX_RANK) {
        pdm_tr_error(t, PDM_D_LG_TYPE, NULL, NULL,
                     "'array_to_lod_tensor' needs an array of tensors");
        return;
    }
    memcpy(dims, declared->dims, declared->rank * sizeof *dims);
    dims[0] = -1;
    appended a = {array, pdm_tr_tensor_type(t, array->type->dtype, dims, declared->rank)};
    pdm_ir_value *longest = pdm_tr_slice(t, r.lengths, 0, 0, 1);
    /* All steps one behind the other (the op for that wants equal shapes), after a row that is not
     * used. */
    pdm_ir_value *zero_index = pdm_tr_const_i(t, PDM_I64, 0);
    pdm_ir_value *flat = pdm_tr_slice(t, read_step(t, array, zero_index, a.type), 0, 0, 1);
    pdm_tr_retype(flat, a.type);
    pdm_tr_count_loop(t, longest, &flat, 1, append_step, &a);
    /* Step p begins behind the rows of the steps before it; rank k is the k-th row of a step. */
    pdm_ir_value *turns = pdm_tr_iota(t, longest, PDM_I64);
    pdm_ir_value *longer =
        pdm_tr_binary(t, "pd_op.less_than", pdm_tr_unsqueeze(t, turns, (int64_t[]){1}, 1),
                      pdm_tr_unsqueeze(t, r.lengths, (int64_t[]){0}, 1));
    pdm_ir_value *counts =
        pdm_tr_reduce(t, "pd_op.sum", pdm_tr_cast(t, longer, PDM_I64), (int64_t[]){1}, 1, false);
    pdm_ir_value *begin = pdm_tr_starts(t, counts);
    pdm_ir_value *rank = sorted_indices(t, r.order), *lengths = pdm_tr_take(t, r.lengths, rank);
    pdm_ir_value *zero = pdm_tr_scale(t, lengths, 0, 0);
    pdm_ir_value *rows_total = pdm_tr_reduce(t, "pd_op.sum", lengths, NULL, 0, false);
    rows_total = pdm_tr_reshape(t, rows_total, (int64_t[]){1}, 1);
    pdm_ir_value *place = rows_of(t, zero, lengths, pdm_tr_iota(t, rows_total, PDM_I64));
    pdm_ir_value *rows = pdm_tr_binary(t, "pd_op.add", pdm_tr_take(t, begin, place),
                                       pdm_tr_repeat(t, rank, lengths));
    rows = pdm_tr_scale(t, rows, 1, 1);
    pdm_tr_out(t, "Out", pdm_tr_with_lengths(t, pdm_tr_take(t, flat, rows), lengths));
}

/* ---- splitting by a mask --------------------------------------------------------------------- */

static bool plain_rows(pdm_tr_op *t)
{
    if (pdm_tr_lod_level(t, "X") > 0)
        pdm_tr_unsupported(t, NULL, "'%s' of an input with LoD", t->op->type);
    return !t->failed;
}

static pdm_ir_value *where_true(pdm_tr_op *t, pdm_ir_value *mask)
{
    return vector(t, pdm_tr_unary(t, "pd_op.nonzero", mask));
}

void pdm_tr_h_split_lod_tensor(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *mask = vector(t, pdm_tr_in(t, "Mask"));
    if (!plain_rows(t))
        return;
    pdm_tr_out(t, "OutTrue", pdm_tr_take(t, x, where_true(t, mask)));
    mask = pdm_tr_unary(t, "pd_op.logical_not", mask);
    pdm_tr_out(t, "OutFalse", pdm_tr_take(t, x, where_true(t, mask)));
}

void pdm_tr_h_merge_lod_tensor(pdm_tr_op *t)
{
    pdm_ir_value *parts[2] = {pdm_tr_in(t, "InTrue"), pdm_tr_in(t, "InFalse")};
    pdm_ir_value *mask = vector(t, pdm_tr_in(t, "Mask"));
    if (!plain_rows(t))
        return;
    /* Where the rows of the two parts go, sorted, says where they come from. */
    pdm_ir_value *places[2] = {where_true(t, mask),
                               where_true(t, pdm_tr_unary(t, "pd_op.logical_not", mask))};
    pdm_ir_value *from = sorted_indices(t, pdm_tr_concat(t, places, 2, 0));
    pdm_tr_out(t, "Out", pdm_tr_take(t, pdm_tr_concat(t, parts, 2, 0), from));
}
