/* Non-maximum suppression in its older forms. */
#include "translator/expressed.h"

#include <string.h>

/* ---- multiclass_nms and multiclass_nms2 ------------------------------------------------------ */

typedef struct nms {
    double threshold, overlap, eta;
    int64_t top, keep, background;
    bool normalized;
} nms;

static nms nms_attrs(pdm_tr_op *t)
{
    return (nms){.threshold = pdm_tr_float(t, "score_threshold"),
                 .overlap = pdm_tr_float(t, "nms_threshold"),
                 .eta = pdm_tr_float(t, "nms_eta"),
                 .top = pdm_tr_int(t, "nms_top_k"),
                 .keep = pdm_tr_int(t, "keep_top_k"),
                 .background = pdm_tr_int_or(t, "background_label", -1),
                 .normalized = pdm_tr_bool_or(t, "normalized", true)};
}

static pdm_ir_op *emit_nms3(pdm_tr_op *t, const nms *how, pdm_ir_value *boxes, pdm_ir_value *scores,
                            pdm_ir_value *counts)
{
    return pdm_tr_emit(t, "pd_op.multiclass_nms3", PDM_TR_OPS(boxes, scores, counts),
                       PDM_TR_ATTRS({"score_threshold", pdm_tr_a_f32(t, how->threshold), 0},
                                    {"nms_top_k", pdm_tr_a_i32(t, how->top), 0},
                                    {"keep_top_k", pdm_tr_a_i32(t, how->keep), 0},
                                    {"nms_threshold", pdm_tr_a_f32(t, how->overlap), 0},
                                    {"normalized", pdm_tr_a_bool(t, how->normalized), 0},
                                    {"nms_eta", pdm_tr_a_f32(t, how->eta), 0},
                                    {"background_label", pdm_tr_a_i32(t, how->background), 0}));
}

/*
 * The oldest form says "nothing found" by one number: [[-1]] instead of no rows. With n numbers in
 * all, the first max(n, 1) of them and a -1 behind them are reshaped to max(rows, 1) rows.
 */
static pdm_ir_value *or_minus_one(pdm_tr_op *t, pdm_ir_value *rows, int64_t width)
{
    const int64_t any = -1;
    pdm_dtype dtype = pdm_tr_dtype_of(rows);
    pdm_ir_value *one = PDM_TR_INTS(t, 1);
    pdm_ir_value *total = pdm_tr_unary(t, "pd_op.numel", rows);
    total = pdm_tr_reshape(t, total, (int64_t[]){1}, 1);
    pdm_ir_value *flat = pdm_tr_binary(t, "pd_op.reshape", rows, pdm_tr_const_ints(t, &any, 1));
    pdm_ir_value *ends[2] = {flat, pdm_tr_fill(t, (int64_t[]){1}, 1, dtype, -1)};
    flat = pdm_tr_slice_by(t, pdm_tr_concat(t, ends, 2, 0), 0, PDM_TR_INTS(t, 0),
                           pdm_tr_binary(t, "pd_op.maximum", total, one));
    pdm_ir_value *count = pdm_tr_binary(t, "pd_op.maximum", pdm_tr_dim_value(t, rows, 0), one);
    pdm_ir_value *wide = pdm_tr_binary(t, "pd_op.minimum", total, PDM_TR_INTS(t, width - 1));
    pdm_ir_value *shape[2] = {count, pdm_tr_scale(t, wide, 1, 1)};
    pdm_ir_value *out = pdm_tr_binary(t, "pd_op.reshape", flat, pdm_tr_concat(t, shape, 2, 0));
    if (out)
        pdm_tr_retype(out, pdm_tr_tensor_type(t, dtype, (int64_t[]){-1, -1}, 2));
    return out;
}

/* "Nothing found" is one row of the first image then; the offsets are [0, 1], however many images
 * there are. */
static pdm_ir_value *offsets_or_one(pdm_tr_op *t, pdm_ir_value *counts, pdm_ir_value *rows)
{
    pdm_ir_value *zero = PDM_TR_INTS(t, 0), *one = PDM_TR_INTS(t, 1);
    pdm_ir_value *ends = pdm_tr_running_sum(t, pdm_tr_cast(t, counts, PDM_I64));
    if (pdm_tr_known_dim(counts, 0) == 1) {
        pdm_ir_value *parts[2] = {zero, pdm_tr_binary(t, "pd_op.maximum", ends, one)};
        return pdm_tr_cast(t, pdm_tr_concat(t, parts, 2, 0), PDM_I32);
    }
    pdm_ir_value *found = pdm_tr_binary(t, "pd_op.minimum", pdm_tr_dim_value(t, rows, 0), one);
    pdm_ir_value *images =
        pdm_tr_binary(t, "pd_op.multiply", pdm_tr_dim_value(t, counts, 0), found);
    pdm_ir_value *parts[3] = {zero, pdm_tr_slice_by(t, ends, 0, zero, images),
                              pdm_tr_slice_by(t, one, 0, found, one)};
    return pdm_tr_cast(t, pdm_tr_concat(t, parts, 3, 0), PDM_I32);
}

/* Detections as the older ops give them, with their LoD. */
static pdm_ir_value *old_form(pdm_tr_op *t, pdm_ir_value *rows, pdm_ir_value *counts, int64_t width)
{
    pdm_ir_value *out = or_minus_one(t, rows, width);
    return pdm_tr_with_offsets(t, out, offsets_or_one(t, counts, rows));
}

void pdm_tr_h_multiclass_nms(pdm_tr_op *t)
{
    pdm_ir_value *boxes = pdm_tr_in(t, "BBoxes"), *scores = pdm_tr_in(t, "Scores"), *counts = NULL;
    int rank = pdm_tr_need_rank(t, scores);
    if (t->failed || !boxes)
        return;
    if (rank == 2)
        counts = pdm_tr_cast(t, pdm_tr_lengths(t, boxes), PDM_I32);
    nms how = nms_attrs(t);
    pdm_ir_op *op = emit_nms3(t, &how, boxes, scores, counts);
    pdm_ir_value *out = pdm_tr_result(op, 0), *index = pdm_tr_result(op, 1), *rows = out;
    counts = pdm_tr_result(op, 2);
    int64_t width = pdm_tr_known_dim(boxes, 2) + 2;
    if (strcmp(t->op->type, "multiclass_nms") == 0) {
        out = old_form(t, rows, counts, width > 2 ? width : 6);
    } else {
        out = pdm_tr_with_lengths(t, out, pdm_tr_cast(t, counts, PDM_I64));
        if (pdm_tr_has_out(t, "Index"))
            index = pdm_tr_with_lod_of(t, index, out);
    }
    pdm_tr_out_as_is(t, "Out", out);
    pdm_tr_out_as_is(t, "Index", index);
}

/* ---- RetinaNet ------------------------------------------------------------------------------- */

/* The best candidates of all levels: an anchor and a class each. */
typedef struct candidates {
    pdm_ir_value *boxes, *scores, *classes; /* [images, candidates (, 4)] */
} candidates;

/* Boxes [images, n, 4] of the anchors with these numbers [images, n]. */
static pdm_ir_value *chosen_boxes(pdm_tr_op *t, pdm_ir_value *anchors, pdm_ir_value *deltas,
                                  pdm_ir_value *numbers)
{
    const int64_t any = -1;
    const pdm_tr_dim dims[3] = {PDM_TR_DIM_OF(numbers, 0), PDM_TR_DIM_OF(numbers, 1),
                                PDM_TR_DIM(4)};
    pdm_ir_value *from = pdm_tr_take(t, anchors, pdm_tr_reshape(t, numbers, &any, 1));
    from = pdm_tr_reshape_dims(t, from, dims, 3);
    numbers = pdm_tr_unsqueeze(t, numbers, (int64_t[]){2}, 1);
    numbers = pdm_tr_expand_dims(t, numbers, dims, 3);
    return pdm_tr_decode_boxes(t, from, pdm_tr_take_along(t, deltas, numbers, 1), NULL, 0);
}

static candidates level_candidates(pdm_tr_op *t, size_t level, double threshold, int64_t top)
{
    candidates c = {0};
    pdm_ir_value *deltas = pdm_tr_in_at(t, "BBoxes", level),
                 *scores = pdm_tr_in_at(t, "Scores", level),
                 *anchors = pdm_tr_in_at(t, "Anchors", level);
    int64_t classes = pdm_tr_known_dim(scores, 2), size = pdm_tr_known_product(scores, 1, 3);
    if (!t->failed && classes < 1) {
        pdm_tr_unsupported(t, NULL,
                           "'retinanet_detection_output' with an unknown number of classes");
        return c;
    }
    scores = pdm_tr_emit1(
        t, "pd_op.flatten", PDM_TR_OPS(scores),
        PDM_TR_ATTRS({"start_axis", pdm_tr_a_i32(t, 1), 0}, {"stop_axis", pdm_tr_a_i32(t, 2), 0}));
    pdm_ir_value *k = pdm_tr_dim_value(t, scores, 1);
    if (size > 0)
        k = pdm_tr_const_i(t, PDM_I64, top > -1 && top < size ? top : size);
    else if (top > -1)
        k = pdm_tr_binary(t, "pd_op.minimum", k, PDM_TR_INTS(t, top));
    pdm_ir_op *best = pdm_tr_emit(t, "pd_op.topk", PDM_TR_OPS(scores, k), PDM_TR_NO_ATTRS);
    pdm_ir_value *index = pdm_tr_result(best, 1), *count = PDM_TR_INTS(t, classes);
    scores = pdm_tr_result(best, 0);
    c.classes = pdm_tr_binary(t, "pd_op.remainder", index, count);
    c.boxes =
        chosen_boxes(t, anchors, deltas, pdm_tr_binary(t, "pd_op.floor_divide", index, count));
    pdm_ir_value *good =
        pdm_tr_binary(t, "pd_op.greater_than", scores, pdm_tr_like_const(t, scores, threshold));
    c.scores =
        pdm_tr_where(t, good, scores, pdm_tr_full_like(t, scores, -1, pdm_tr_dtype_of(scores)));
    return c;
}

/* Back to the image before scaling, and cut at its borders. */
static pdm_ir_value *in_image(pdm_tr_op *t, pdm_ir_value *boxes)
{
    pdm_ir_value *info = pdm_tr_unsqueeze(t, pdm_tr_in(t, "ImInfo"), (int64_t[]){1}, 1);
    pdm_ir_value *scale = pdm_tr_slice(t, info, 2, 2, 3);
    pdm_ir_value *size = pdm_tr_binary(t, "pd_op.divide", pdm_tr_slice(t, info, 2, 0, 2), scale);
    /* rounded, and the last pixel */
    size = pdm_tr_scale(t, pdm_tr_unary(t, "pd_op.floor", pdm_tr_scale(t, size, 1, 0.5)), 1, -1);
    pdm_ir_value *x = pdm_tr_slice(t, size, 2, 1, 2), *y = pdm_tr_slice(t, size, 2, 0, 1);
    pdm_ir_value *border = pdm_tr_concat(t, (pdm_ir_value *[]){x, y, x, y}, 4, 2);
    boxes = pdm_tr_binary(t, "pd_op.divide", boxes, scale);
    return pdm_tr_unary(t, "pd_op.relu", pdm_tr_binary(t, "pd_op.minimum", boxes, border));
}

/* Scores [images, classes, candidates]: a candidate counts for its class only. */
static pdm_ir_value *by_class(pdm_tr_op *t, const candidates *c, int64_t classes)
{
    const pdm_tr_dim dims[3] = {PDM_TR_DIM_OF(c->scores, 0), PDM_TR_DIM(classes),
                                PDM_TR_DIM_OF(c->scores, 1)};
    const int64_t middle = 1;
    pdm_ir_value *numbers = pdm_tr_iota(t, PDM_TR_INTS(t, classes), PDM_I64);
    numbers = pdm_tr_reshape(t, numbers, (int64_t[]){1, -1, 1}, 3);
    pdm_ir_value *own =
        pdm_tr_binary(t, "pd_op.equal", pdm_tr_unsqueeze(t, c->classes, &middle, 1), numbers);
    pdm_ir_value *scores = pdm_tr_unsqueeze(t, c->scores, &middle, 1);
    scores = pdm_tr_expand_dims(t, scores, dims, 3);
    return pdm_tr_where(t, own, scores, pdm_tr_full_like(t, scores, -1, pdm_tr_dtype_of(scores)));
}

static pdm_ir_value *sorted(pdm_tr_op *t, pdm_ir_value *keys, bool descending)
{
    return pdm_tr_result(pdm_tr_emit(t, "pd_op.argsort", PDM_TR_OPS(keys),
                                     PDM_TR_ATTRS({"descending", pdm_tr_a_bool(t, descending), 0},
                                                  {"stable", pdm_tr_a_bool(t, true), 0})),
                         1);
}

/* Detections of each image by falling scores. */
static pdm_ir_value *best_first(pdm_tr_op *t, pdm_ir_value *rows, pdm_ir_value *counts)
{
    const int64_t any = -1;
    pdm_ir_value *score = pdm_tr_reshape(t, pdm_tr_slice(t, rows, 1, 1, 2), &any, 1);
    pdm_ir_value *order = sorted(t, score, true);
    if (pdm_tr_known_dim(counts, 0) != 1) {
        pdm_ir_value *image = pdm_tr_repeat(t, pdm_tr_row_numbers(t, counts), counts);
        order = pdm_tr_take(t, order, sorted(t, pdm_tr_take(t, image, order), false));
    }
    return pdm_tr_take(t, rows, order);
}

void pdm_tr_h_retinanet_detection_output(pdm_tr_op *t)
{
    size_t n = pdm_tr_num_in(t, "Scores");
    pdm_ir_value **parts[3];
    nms how = nms_attrs(t);
    int64_t classes = pdm_tr_known_dim(pdm_tr_in(t, "Scores"), 2);
    for (int i = 0; i < 3; i++) {
        parts[i] = pdm_arena_calloc(&t->tr->scratch, n + 1, sizeof **parts);
        if (!parts[i]) {
            pdm_tr_nomem(t->tr);
            return;
        }
    }
    for (size_t i = 0; i < n; i++) {
        candidates c = level_candidates(t, i, i + 1 < n ? how.threshold : 0, how.top);
        parts[0][i] = c.boxes;
        parts[1][i] = c.scores;
        parts[2][i] = c.classes;
    }
    candidates all = {pdm_tr_concat(t, parts[0], n, 1), pdm_tr_concat(t, parts[1], n, 1),
                      pdm_tr_concat(t, parts[2], n, 1)};
    how.threshold = 0;
    how.top = -1;
    how.normalized = false;
    pdm_ir_op *op = emit_nms3(t, &how, in_image(t, all.boxes), by_class(t, &all, classes), NULL);
    pdm_ir_value *rows = pdm_tr_result(op, 0),
                 *counts = pdm_tr_cast(t, pdm_tr_result(op, 2), PDM_I64);
    const double first[6] = {1, 0, 0, 0, 0, 0}; /* labels count from one */
    const int64_t six[2] = {1, 6};
    rows = pdm_tr_binary(t, "pd_op.add", best_first(t, rows, counts),
                         pdm_tr_table_f(t, six, 2, pdm_tr_dtype_of(rows), first, 6));
    pdm_tr_out_as_is(t, "Out", pdm_tr_with_lengths(t, rows, counts));
}

/* ---- locality-aware -------------------------------------------------------------------------- */

typedef struct merging {
    double overlap;
    bool normalized;
} merging;

static pdm_ir_value *product_of_sides(pdm_tr_op *t, pdm_ir_value *d, double extra)
{
    pdm_ir_value *none = pdm_tr_binary(t, "pd_op.less_than", d, pdm_tr_like_const(t, d, 0));
    pdm_ir_value *any = pdm_tr_reduce(t, "pd_op.any", none, (int64_t[]){2}, 1, true);
    d = extra > 0 ? pdm_tr_scale(t, d, 1, extra) : d;
    pdm_ir_value *p = pdm_tr_binary(t, "pd_op.multiply", pdm_tr_slice(t, d, 2, 0, 1),
                                    pdm_tr_slice(t, d, 2, 1, 2));
    return pdm_tr_where(t, any, pdm_tr_full_like(t, p, 0, pdm_tr_dtype_of(p)), p);
}

/* Overlap [images, 1, 1] of two boxes [images, 1, 4]. */
static pdm_ir_value *overlap_of(pdm_tr_op *t, pdm_ir_value *a, pdm_ir_value *b, double extra)
{
    pdm_ir_value *low[2], *high[2], *areas[2], *boxes[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        low[i] = pdm_tr_slice(t, boxes[i], 2, 0, 2);
        high[i] = pdm_tr_slice(t, boxes[i], 2, 2, 4);
        areas[i] = product_of_sides(t, pdm_tr_binary(t, "pd_op.subtract", high[i], low[i]), extra);
    }
    pdm_ir_value *d =
        pdm_tr_binary(t, "pd_op.subtract", pdm_tr_binary(t, "pd_op.minimum", high[0], high[1]),
                      pdm_tr_binary(t, "pd_op.maximum", low[0], low[1]));
    pdm_ir_value *common = product_of_sides(t, d, extra);
    pdm_ir_value *all = pdm_tr_binary(t, "pd_op.add", areas[0], areas[1]);
    return pdm_tr_binary(t, "pd_op.divide", common,
                         pdm_tr_binary(t, "pd_op.subtract", all, common));
}

static pdm_ir_value *put(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *index, pdm_ir_value *values)
{
    if (!x)
        return NULL;
    pdm_ir_type type = x->type;
    x = pdm_tr_emit1(t, "pd_op.put_along_axis", PDM_TR_OPS(x, index, values),
                     PDM_TR_ATTRS({"axis", pdm_tr_a_i32(t, 1), 0}));
    pdm_tr_retype(x, type);
    return x;
}

static pdm_ir_value *gather1(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *index)
{
    pdm_ir_value *axis = pdm_tr_const_i(t, PDM_I32, 1);
    return pdm_tr_emit1(t, "pd_op.gather", PDM_TR_OPS(x, index, axis), PDM_TR_NO_ATTRS);
}

/*
 * Box i joins the box of the last group, weighted by the scores, or begins a group of its own.
 * values: boxes [images, n, 4]; scores, and marks of the boxes that begin a group, [images, n, 1];
 * the box of the last group [images, 1, 1].
 */
static void merge_turn(pdm_tr_op *t, pdm_ir_value *turn, pdm_ir_value **values, void *user)
{
    const merging *m = user;
    pdm_ir_value *i = pdm_tr_scale(t, turn, 1, 1), *head = values[3];
    if (!head)
        return;
    pdm_ir_type head_type = head->type;
    pdm_dtype dtype = pdm_tr_dtype_of(values[0]);
    const pdm_tr_dim one[3] = {PDM_TR_DIM_OF(values[0], 0), PDM_TR_DIM(1), PDM_TR_DIM(1)},
                     four[3] = {PDM_TR_DIM_OF(values[0], 0), PDM_TR_DIM(1), PDM_TR_DIM(4)};
    pdm_ir_value *wide = pdm_tr_expand_dims(t, head, four, 3);
    pdm_ir_value *box = gather1(t, values[0], i), *score = gather1(t, values[1], i);
    pdm_ir_value *last = pdm_tr_take_along(t, values[0], wide, 1),
                 *sum = pdm_tr_take_along(t, values[1], head, 1);
    pdm_ir_value *joins = overlap_of(t, box, last, m->normalized ? 0 : 1);
    joins = pdm_tr_binary(t, "pd_op.greater_than", joins, pdm_tr_like_const(t, joins, m->overlap));
    pdm_ir_value *both = pdm_tr_binary(t, "pd_op.add", score, sum);
    pdm_ir_value *mean =
        pdm_tr_binary(t, "pd_op.add", pdm_tr_binary(t, "pd_op.multiply", box, score),
                      pdm_tr_binary(t, "pd_op.multiply", last, sum));
    mean = pdm_tr_binary(t, "pd_op.divide", mean, both);
    values[0] =
        put(t, values[0], wide, pdm_tr_where(t, pdm_tr_expand_dims(t, joins, four, 3), mean, last));
    values[1] = put(t, values[1], head, pdm_tr_where(t, joins, both, sum));
    pdm_ir_value *here = pdm_tr_reshape(t, i, (int64_t[]){1, 1, 1}, 3);
    here = pdm_tr_expand_dims(t, here, one, 3);
    pdm_ir_value *begins = pdm_tr_cast(t, pdm_tr_unary(t, "pd_op.logical_not", joins), dtype);
    values[2] = put(t, values[2], here, begins);
    values[3] = pdm_tr_where(t, joins, head, here);
    pdm_tr_retype(values[3], head_type);
}

void pdm_tr_h_locality_aware_nms(pdm_tr_op *t)
{
    pdm_ir_value *boxes = pdm_tr_in(t, "BBoxes"), *scores = pdm_tr_in(t, "Scores");
    nms how = nms_attrs(t);
    pdm_dtype dtype = pdm_tr_dtype_of(boxes);
    if (t->failed || !boxes)
        return;
    if (pdm_tr_known_dim(boxes, 2) != 4 || pdm_tr_known_dim(scores, 1) != 1) {
        pdm_tr_unsupported(t, NULL, "'locality_aware_nms' of polygons, or with several classes");
        return;
    }
    const pdm_tr_dim one[3] = {PDM_TR_DIM_OF(boxes, 0), PDM_TR_DIM(1), PDM_TR_DIM(1)};
    const int64_t swap[3] = {0, 2, 1};
    merging m = {how.overlap, how.normalized};
    pdm_ir_value *values[4] = {boxes, pdm_tr_transpose(t, scores, swap, 3), NULL, NULL};
    values[2] = pdm_tr_full_like(t, values[1], 1, dtype);
    values[3] = pdm_tr_fill_dims(t, one, 3, PDM_I64, 0);
    pdm_ir_value *turns = pdm_tr_scale(t, pdm_tr_dim_value(t, boxes, 1), 1, -1);
    pdm_tr_count_loop(t, turns, values, 4, merge_turn, &m);
    pdm_ir_value *groups =
        pdm_tr_binary(t, "pd_op.greater_than", values[2], pdm_tr_like_const(t, values[2], 0));
    scores =
        pdm_tr_where(t, groups, values[1], pdm_tr_full_like(t, values[1], -__builtin_inf(), dtype));
    pdm_ir_op *op = emit_nms3(t, &how, values[0], pdm_tr_transpose(t, scores, swap, 3), NULL);
    pdm_tr_out_as_is(t, "Out", old_form(t, pdm_tr_result(op, 0), pdm_tr_result(op, 2), 6));
}
