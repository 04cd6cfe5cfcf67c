/* Detection ops: boxes, overlaps, proposals. */
#include "translator/expressed.h"

#include <string.h>

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Columns [from, to) of the last axis. */
static pdm_ir_value *columns(pdm_tr_op *t, pdm_ir_value *x, int64_t from, int64_t to)
{
    return pdm_tr_slice(t, x, pdm_tr_need_rank(t, x) - 1, from, to);
}

/* Products over the last axis: areas from widths and heights. */
static pdm_ir_value *area(pdm_tr_op *t, pdm_ir_value *sides)
{
    return pdm_tr_binary(t, "pd_op.multiply", columns(t, sides, 0, 1), columns(t, sides, 1, 2));
}

static pdm_ir_value *sides(pdm_tr_op *t, pdm_ir_value *low, pdm_ir_value *high, double extra)
{
    pdm_ir_value *d = pdm_tr_binary(t, "pd_op.subtract", high, low);
    return extra > 0 ? pdm_tr_scale(t, d, 1, extra) : d;
}

void pdm_tr_h_iou_similarity(pdm_tr_op *t)
{
    double extra = pdm_tr_bool_or(t, "box_normalized", true) ? 0 : 1;
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y"), *low[2], *high[2], *areas[2];
    pdm_ir_value *boxes[2] = {pdm_tr_unsqueeze(t, x, (int64_t[]){1}, 1),
                              pdm_tr_unsqueeze(t, y, (int64_t[]){0}, 1)};
    for (int i = 0; i < 2; i++) {
        low[i] = columns(t, boxes[i], 0, 2);
        high[i] = columns(t, boxes[i], 2, 4);
        areas[i] = area(t, sides(t, low[i], high[i], extra));
    }
    pdm_ir_value *begin = pdm_tr_binary(t, "pd_op.maximum", low[0], low[1]);
    pdm_ir_value *end = pdm_tr_binary(t, "pd_op.minimum", high[0], high[1]);
    pdm_ir_value *common = area(t, pdm_tr_unary(t, "pd_op.relu", sides(t, begin, end, extra)));
    pdm_ir_value *all = pdm_tr_binary(t, "pd_op.add", areas[0], areas[1]);
    all = pdm_tr_scale(t, pdm_tr_binary(t, "pd_op.subtract", all, common), 1, 1e-10);
    pdm_ir_value *out = pdm_tr_binary(t, "pd_op.divide", common, all);
    pdm_tr_out(t, "Out", pdm_tr_squeeze(t, out, (int64_t[]){2}, 1));
}

/* Boxes by centre and size, in pixels: [x1, y1, x2, y2] with the last pixel counted. */
typedef struct centred {
    pdm_ir_value *centre, *size; /* two columns each */
} centred;

static centred centre_of(pdm_tr_op *t, pdm_ir_value *boxes)
{
    centred c;
    pdm_ir_value *low = columns(t, boxes, 0, 2);
    c.size = sides(t, low, columns(t, boxes, 2, 4), 1);
    c.centre = pdm_tr_binary(t, "pd_op.add", low, pdm_tr_scale(t, c.size, 0.5, 0));
    return c;
}

pdm_ir_value *pdm_tr_decode_boxes(pdm_tr_op *t, pdm_ir_value *boxes, pdm_ir_value *deltas,
                                  pdm_ir_value *variances, double limit)
{
    centred from = centre_of(t, boxes);
    pdm_ir_value *move = columns(t, deltas, 0, 2), *grow = columns(t, deltas, 2, 4);
    if (variances) {
        move = pdm_tr_binary(t, "pd_op.multiply", columns(t, variances, 0, 2), move);
        grow = pdm_tr_binary(t, "pd_op.multiply", columns(t, variances, 2, 4), grow);
    }
    pdm_ir_value *most = limit > 0 ? pdm_tr_like_const(t, grow, limit) : NULL;
    if (most)
        grow = pdm_tr_binary(t, "pd_op.minimum", grow, most);
    pdm_ir_value *centre = pdm_tr_binary(
        t, "pd_op.add", pdm_tr_binary(t, "pd_op.multiply", move, from.size), from.centre);
    pdm_ir_value *half =
        pdm_tr_binary(t, "pd_op.multiply", pdm_tr_unary(t, "pd_op.exp", grow), from.size);
    half = pdm_tr_scale(t, half, 0.5, 0);
    pdm_ir_value *ends[2] = {pdm_tr_binary(t, "pd_op.subtract", centre, half),
                             pdm_tr_scale(t, pdm_tr_binary(t, "pd_op.add", centre, half), 1, -1)};
    return pdm_tr_concat(t, ends, 2, pdm_tr_need_rank(t, move) - 1);
}

/* Every class has deltas of its own; the box of the best class but the first (background) is
 * assigned. */
void pdm_tr_h_box_decoder_and_assign(pdm_tr_op *t)
{
    pdm_ir_value *prior = pdm_tr_in(t, "PriorBox"), *target = pdm_tr_in(t, "TargetBox"),
                 *score = pdm_tr_in(t, "BoxScore"), *variances = pdm_tr_in(t, "PriorBoxVar");
    int64_t classes = pdm_tr_known_dim(target, 1);
    double limit = pdm_tr_float(t, "box_clip");
    if (t->failed || !target)
        return;
    if (classes < 4 || classes % 4) {
        pdm_tr_unsupported(t, NULL, "'box_decoder_and_assign' with an unknown number of classes");
        return;
    }
    classes /= 4;
    const pdm_tr_dim split[3] = {PDM_TR_DIM_OF(target, 0), PDM_TR_DIM(classes), PDM_TR_DIM(4)};
    const pdm_tr_dim flat[2] = {PDM_TR_DIM_OF(target, 0), PDM_TR_DIM(classes * 4)};
    const int64_t middle = 1;
    pdm_ir_value *boxes = pdm_tr_unsqueeze(t, prior, &middle, 1);
    pdm_ir_value *deltas = pdm_tr_reshape_dims(t, target, split, 3);
    boxes = pdm_tr_decode_boxes(t, boxes, deltas, variances, limit);
    pdm_tr_out(t, "DecodeBox", pdm_tr_reshape_dims(t, boxes, flat, 2));
    if (classes == 1) {
        pdm_tr_out(t, "OutputAssignBox", pdm_tr_unary(t, "pd_op.assign", prior));
        return;
    }
    pdm_ir_value *others = columns(t, score, 1, classes);
    pdm_ir_value *best =
        pdm_tr_emit1(t, "pd_op.argmax", PDM_TR_OPS(others, pdm_tr_const_i(t, PDM_I64, 1)),
                     PDM_TR_ATTRS({"keepdims", pdm_tr_a_bool(t, true), 0}));
    best = pdm_tr_unsqueeze(t, pdm_tr_scale(t, best, 1, 1), (int64_t[]){2}, 1);
    const pdm_tr_dim wide[3] = {PDM_TR_DIM_OF(target, 0), PDM_TR_DIM(1), PDM_TR_DIM(4)};
    best = pdm_tr_expand_dims(t, best, wide, 3);
    boxes = pdm_tr_squeeze(t, pdm_tr_take_along(t, boxes, best, 1), &middle, 1);
    /* A best score of -1 or less: no class at all. */
    pdm_ir_value *top = pdm_tr_reduce(t, "pd_op.max", others, &middle, 1, true);
    pdm_ir_value *any = pdm_tr_binary(t, "pd_op.greater_than", top, pdm_tr_like_const(t, top, -1));
    any = pdm_tr_expand_dims(t, any, (pdm_tr_dim[]){wide[0], wide[2]}, 2);
    pdm_tr_out(t, "OutputAssignBox", pdm_tr_where(t, any, boxes, prior));
}

/* Even channels hold offsets to the column, odd ones to the row; four pixels a place. */
void pdm_tr_h_polygon_box_transform(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "Input");
    int64_t channels = pdm_tr_known_dim(x, 1);
    pdm_dtype dtype = pdm_tr_dtype_of(x);
    if (pdm_tr_need_rank(t, x) != 4 || channels < 2 || channels % 2 || channels > 65536) {
        pdm_tr_unsupported(t, NULL,
                           "'polygon_box_transform' with an odd or unknown number of channels");
        return;
    }
    double *flags = pdm_arena_calloc(&t->tr->scratch, (size_t)channels, sizeof *flags);
    if (!flags) {
        pdm_tr_nomem(t->tr);
        return;
    }
    pdm_ir_value *parts[2];
    for (int i = 0; i < 2; i++) {
        for (int64_t k = 0; k < channels; k++)
            flags[k] = k % 2 == i ? 4 : 0;
        const int64_t channel[4] = {1, channels, 1, 1};
        const int64_t line[4] = {1, 1, i ? -1 : 1, i ? 1 : -1};
        pdm_ir_value *at = pdm_tr_iota(t, pdm_tr_dim_value(t, x, i ? 2 : 3), PDM_I64);
        at = pdm_tr_reshape(t, pdm_tr_cast(t, at, dtype), line, 4);
        pdm_ir_value *mask = pdm_tr_table_f(t, channel, 4, dtype, flags, (size_t)channels);
        parts[i] = pdm_tr_binary(t, "pd_op.multiply", mask, at);
    }
    pdm_ir_value *grid = pdm_tr_binary(t, "pd_op.add", parts[0], parts[1]);
    pdm_tr_out(t, "Output", pdm_tr_binary(t, "pd_op.subtract", grid, x));
}

/* ---- proposals ------------------------------------------------------------------------------- */

/* The image size is the first two of [height, width, scale]. */
void pdm_tr_h_generate_proposals(pdm_tr_op *t)
{
    pdm_ir_value *scores = pdm_tr_in(t, "Scores"), *deltas = pdm_tr_in(t, "BboxDeltas"),
                 *info = pdm_tr_in(t, "ImInfo"), *anchors = pdm_tr_in(t, "Anchors"),
                 *variances = pdm_tr_in(t, "Variances");
    int64_t before = pdm_tr_int(t, "pre_nms_topN"), after = pdm_tr_int(t, "post_nms_topN");
    double threshold = pdm_tr_float(t, "nms_thresh"), smallest = pdm_tr_float(t, "min_size"),
           eta = pdm_tr_float(t, "eta");
    if (!t->failed && smallest > 1) {
        /* The old op measures in the image before scaling; up to one pixel that is all the same. */
        pdm_tr_unsupported(t, "min_size", "'generate_proposals' with a min_size above 1");
        return;
    }
    pdm_ir_op *op = pdm_tr_emit(
        t, "pd_op.generate_proposals",
        PDM_TR_OPS(scores, deltas, columns(t, info, 0, 2), anchors, variances),
        PDM_TR_ATTRS({"pre_nms_top_n", pdm_tr_a_i32(t, before), 0},
                     {"post_nms_top_n", pdm_tr_a_i32(t, after), 0},
                     {"nms_thresh", pdm_tr_a_f32(t, threshold), 0},
                     {"min_size", pdm_tr_a_f32(t, smallest), 0}, {"eta", pdm_tr_a_f32(t, eta), 0},
                     {"pixel_offset", pdm_tr_a_bool(t, true), 0}));
    pdm_ir_value *counts = pdm_tr_result(op, 2);
    pdm_ir_value *rois =
        pdm_tr_with_lengths(t, pdm_tr_result(op, 0), pdm_tr_cast(t, counts, PDM_I64));
    pdm_tr_out_as_is(t, "RpnRois", rois);
    pdm_tr_out_as_is(t, "RpnRoiProbs", pdm_tr_with_lod_of(t, pdm_tr_result(op, 1), rois));
    pdm_tr_out_as_is(t, "RpnRoisNum", counts);
}
