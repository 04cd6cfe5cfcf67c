/* Metrics and mining: counting and choosing by rank. */
#include "translator/expressed.h"

#include <string.h>

static pdm_ir_value *mul(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *y)
{
    return pdm_tr_binary(t, "pd_op.multiply", x, y);
}

static pdm_ir_value *add(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *y)
{
    return pdm_tr_binary(t, "pd_op.add", x, y);
}

/* ---- precision and recall -------------------------------------------------------------------- */

static pdm_ir_value *total(pdm_tr_op *t, pdm_ir_value *x, int64_t axis)
{
    return pdm_tr_reduce(t, "pd_op.sum", x, &axis, 1, true);
}

/* a / b where b is not zero, else `otherwise`. */
static pdm_ir_value *ratio(pdm_tr_op *t, pdm_ir_value *a, pdm_ir_value *b, double otherwise)
{
    pdm_dtype dtype = pdm_tr_dtype_of(b);
    pdm_ir_value *none = pdm_tr_binary(t, "pd_op.equal", b, pdm_tr_like_const(t, b, 0));
    pdm_ir_value *safe = pdm_tr_where(t, none, pdm_tr_full_like(t, b, 1, dtype), b);
    return pdm_tr_where(t, none, pdm_tr_full_like(t, b, otherwise, dtype),
                        pdm_tr_binary(t, "pd_op.divide", a, safe));
}

static pdm_ir_value *f1(pdm_tr_op *t, pdm_ir_value *precision, pdm_ir_value *recall)
{
    return ratio(t, pdm_tr_scale(t, mul(t, precision, recall), 2, 0), add(t, precision, recall), 0);
}

/* Precision, recall and F1 of rows [true positive, false positive, true negative, false negative].
 */
static void rates(pdm_tr_op *t, pdm_ir_value *states, pdm_ir_value *out[2])
{
    pdm_ir_value *hit = pdm_tr_slice(t, states, 1, 0, 1);
    out[0] = ratio(t, hit, add(t, hit, pdm_tr_slice(t, states, 1, 1, 2)), 1);
    out[1] = ratio(t, hit, add(t, hit, pdm_tr_slice(t, states, 1, 3, 4)), 1);
}

/* Averages over the classes, then of all classes taken together. */
static pdm_ir_value *metrics(pdm_tr_op *t, pdm_ir_value *states, int64_t classes)
{
    pdm_ir_value *parts[6];
    const int64_t six = 6;
    rates(t, states, parts);
    for (int i = 0; i < 2; i++)
        parts[i] = pdm_tr_scale(t, total(t, parts[i], 0), 1 / (double)classes, 0);
    rates(t, total(t, states, 0), parts + 3);
    parts[2] = f1(t, parts[0], parts[1]);
    parts[5] = f1(t, parts[3], parts[4]);
    pdm_ir_value *all = pdm_tr_reshape(t, pdm_tr_concat(t, parts, 6, 0), &six, 1);
    return pdm_tr_cast(t, all, PDM_F64);
}

static pdm_ir_value *as_one_hot(pdm_tr_op *t, const char *slot, int64_t classes, pdm_dtype dtype)
{
    const int64_t any = -1;
    pdm_ir_value *ids = pdm_tr_reshape(t, pdm_tr_in(t, slot), &any, 1);
    ids = pdm_tr_binary(t, "pd_op.one_hot", ids, pdm_tr_const_i(t, PDM_I32, classes));
    return pdm_tr_cast(t, ids, dtype);
}

void pdm_tr_h_precision_recall(pdm_tr_op *t)
{
    pdm_ir_value *probs = pdm_tr_in(t, "MaxProbs"), *weights = pdm_tr_in_opt(t, "Weights"),
                 *before = pdm_tr_in_opt(t, "StatesInfo");
    int64_t classes = pdm_tr_int(t, "class_number");
    pdm_dtype dtype = pdm_tr_dtype_of(probs);
    if (t->failed || !probs)
        return;
    pdm_ir_value *said = as_one_hot(t, "Indices", classes, dtype),
                 *is = as_one_hot(t, "Labels", classes, dtype);
    pdm_ir_value *not_said = pdm_tr_one_minus(t, said), *is_not = pdm_tr_one_minus(t, is);
    pdm_ir_value *columns[4] = {mul(t, said, is), mul(t, said, is_not), mul(t, not_said, is_not),
                                mul(t, not_said, is)};
    for (int i = 0; i < 4; i++) {
        if (weights)
            columns[i] = mul(t, columns[i], pdm_tr_reshape(t, weights, (int64_t[]){-1, 1}, 2));
        columns[i] = pdm_tr_reshape(t, total(t, columns[i], 0), (int64_t[]){classes, 1}, 2);
    }
    pdm_ir_value *states = pdm_tr_concat(t, columns, 4, 1);
    pdm_ir_value *sum = before ? add(t, states, before) : states;
    pdm_ir_value *batch = metrics(t, states, classes);
    pdm_tr_out(t, "BatchMetrics", batch);
    pdm_tr_out(t, "AccumMetrics", before ? metrics(t, sum, classes) : batch);
    pdm_tr_out(t, "AccumStatesInfo", sum);
}

/* ---- hard examples --------------------------------------------------------------------------- */

/* Place of each element of a row when the row is sorted, largest first. */
static pdm_ir_value *places(pdm_tr_op *t, pdm_ir_value *x)
{
    pdm_ir_op *sort = pdm_tr_emit(t, "pd_op.argsort", PDM_TR_OPS(x),
                                  PDM_TR_ATTRS({"descending", pdm_tr_a_bool(t, true), 0},
                                               {"stable", pdm_tr_a_bool(t, true), 0}));
    sort = pdm_tr_emit(t, "pd_op.argsort", PDM_TR_OPS(pdm_tr_result(sort, 1)), PDM_TR_NO_ATTRS);
    return pdm_tr_result(sort, 1);
}

static pdm_ir_value *count_true(pdm_tr_op *t, pdm_ir_value *mask)
{
    return total(t, pdm_tr_cast(t, mask, PDM_I64), 1);
}

void pdm_tr_h_mine_hard_examples(pdm_tr_op *t)
{
    pdm_ir_value *loss = pdm_tr_in(t, "ClsLoss"), *more = pdm_tr_in_opt(t, "LocLoss"),
                 *match = pdm_tr_in(t, "MatchIndices"), *dist = pdm_tr_in(t, "MatchDist");
    const char *kind = pdm_tr_string(t, "mining_type");
    double most = pdm_tr_float(t, "neg_dist_threshold"), share = pdm_tr_float(t, "neg_pos_ratio");
    int64_t sample = pdm_tr_int(t, "sample_size");
    if (t->failed || !loss)
        return;
    bool hard = strcmp(kind, "hard_example") == 0;
    if (!hard && strcmp(kind, "max_negative") != 0) {
        pdm_tr_unsupported(t, "mining_type", "'mine_hard_examples' by '%s'", kind);
        return;
    }
    pdm_ir_value *free = pdm_tr_binary(t, "pd_op.equal", match, pdm_tr_like_const(t, match, -1));
    pdm_ir_value *wanted, *chosen;
    if (hard) {
        if (more)
            loss = add(t, loss, more);
        wanted = PDM_TR_INTS(t, sample);
        chosen = pdm_tr_binary(t, "pd_op.less_than", places(t, loss), wanted);
    } else {
        pdm_ir_value *far =
            pdm_tr_binary(t, "pd_op.less_than", dist, pdm_tr_like_const(t, dist, most));
        pdm_ir_value *eligible = pdm_tr_binary(t, "pd_op.logical_and", free, far);
        pdm_ir_value *taken = count_true(t, pdm_tr_unary(t, "pd_op.logical_not", free));
        wanted = pdm_tr_scale(t, pdm_tr_cast(t, taken, PDM_F32), share, 0);
        wanted = pdm_tr_cast(t, wanted, PDM_I64);
        pdm_dtype dtype = pdm_tr_dtype_of(loss);
        loss = pdm_tr_where(t, eligible, loss, pdm_tr_full_like(t, loss, -__builtin_inf(), dtype));
        chosen = pdm_tr_binary(t, "pd_op.less_than", places(t, loss), wanted);
        chosen = pdm_tr_binary(t, "pd_op.logical_and", chosen, eligible);
    }
    pdm_ir_value *updated = match;
    if (hard) { /* matched ones that were not chosen are matched no more; chosen free ones are
                   negatives */
        pdm_ir_value *drop = pdm_tr_binary(t, "pd_op.logical_or", free, chosen);
        updated =
            pdm_tr_where(t, drop, match, pdm_tr_full_like(t, match, -1, pdm_tr_dtype_of(match)));
        chosen = pdm_tr_binary(t, "pd_op.logical_and", chosen, free);
    }
    const int64_t any = -1;
    pdm_ir_value *counts = pdm_tr_reshape(t, count_true(t, chosen), &any, 1);
    pdm_ir_value *negatives = pdm_tr_slice(t, pdm_tr_unary(t, "pd_op.nonzero", chosen), 1, 1, 2);
    pdm_tr_out(t, "NegIndices", pdm_tr_with_lengths(t, pdm_tr_cast(t, negatives, PDM_I32), counts));
    pdm_tr_out(t, "UpdatedMatchIndices", hard ? updated : pdm_tr_unary(t, "pd_op.assign", match));
}

/* ---- similarity focus ------------------------------------------------------------------------ */

typedef struct focus {
    int64_t rows, columns;
    pdm_dtype dtype;
} focus;

/* The largest free element is marked, and its row and column are taken: values are [scores, marks],
 * both [n, rows, columns]. */
static void focus_turn(pdm_tr_op *t, pdm_ir_value *turn, pdm_ir_value **values, void *user)
{
    const focus *f = user;
    const int64_t flat[2] = {-1, f->rows * f->columns}, grid[3] = {-1, f->rows, f->columns};
    (void)turn;
    pdm_ir_value *best = pdm_tr_emit1(
        t, "pd_op.argmax",
        PDM_TR_OPS(pdm_tr_reshape(t, values[0], flat, 2), pdm_tr_const_i(t, PDM_I64, 1)),
        PDM_TR_NO_ATTRS);
    pdm_ir_value *size = pdm_tr_const_i(t, PDM_I32, f->rows * f->columns);
    pdm_ir_value *mark = pdm_tr_reshape(t, pdm_tr_binary(t, "pd_op.one_hot", best, size), grid, 3);
    mark = pdm_tr_cast(t, mark, f->dtype);
    pdm_ir_type types[2] = {values[0]->type, values[1]->type};
    pdm_ir_value *row = pdm_tr_reduce(t, "pd_op.max", mark, (int64_t[]){2}, 1, true);
    pdm_ir_value *column = pdm_tr_reduce(t, "pd_op.max", mark, (int64_t[]){1}, 1, true);
    pdm_ir_value *taken = pdm_tr_binary(t, "pd_op.maximum", row, column);
    taken = pdm_tr_binary(t, "pd_op.greater_than", taken, pdm_tr_like_const(t, taken, 0));
    pdm_ir_value *low = pdm_tr_full_like(t, values[0], -__builtin_inf(), f->dtype);
    values[0] = pdm_tr_where(t, taken, low, values[0]);
    values[1] = pdm_tr_binary(t, "pd_op.maximum", values[1], mark);
    for (int i = 0; i < 2; i++)
        pdm_tr_retype(values[i], types[i]);
}

void pdm_tr_h_similarity_focus(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *out = NULL;
    int64_t axis = pdm_tr_int(t, "axis"), dims[2];
    size_t n = 0;
    const int64_t *indexes = pdm_tr_ints(t, "indexes", &n);
    int rank = pdm_tr_need_rank(t, x), k = 0;
    if (t->failed || !x)
        return;
    if (rank != 4 || axis < 1 || axis > 3 || n == 0) {
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "axis", NULL,
                     "'similarity_focus' needs an input of rank 4, an axis of 1 to 3, and indexes");
        return;
    }
    for (int i = 1; i < 4; i++)
        if (i != axis)
            dims[k++] = pdm_tr_known_dim(x, i);
    if (dims[0] < 1 || dims[1] < 1 || dims[0] * dims[1] > PDM_TR_MAX_DIM) {
        pdm_tr_unsupported(t, NULL, "'similarity_focus' of an input with unknown or huge dims");
        return;
    }
    focus f = {dims[0], dims[1], pdm_tr_dtype_of(x)};
    int64_t turns = dims[0] < dims[1] ? dims[0] : dims[1];
    for (size_t i = 0; i < n; i++) {
        pdm_ir_value *values[2];
        values[0] =
            pdm_tr_squeeze(t, pdm_tr_slice(t, x, axis, indexes[i], indexes[i] + 1), &axis, 1);
        values[1] = pdm_tr_full_like(t, values[0], 0, f.dtype);
        pdm_tr_count_loop(t, PDM_TR_INTS(t, turns), values, 2, focus_turn, &f);
        out = out ? pdm_tr_binary(t, "pd_op.maximum", out, values[1]) : values[1];
    }
    pdm_tr_dim whole[4];
    for (int i = 0; i < 4; i++)
        whole[i] = PDM_TR_DIM_OF(x, i);
    pdm_tr_out(t, "Out", pdm_tr_expand_dims(t, pdm_tr_unsqueeze(t, out, &axis, 1), whole, 4));
}
