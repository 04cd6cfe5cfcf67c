/* Losses and other arithmetic of Paddle 1.x. */
#include "translator/expressed.h"

#include <string.h>

/* ---- cross entropy --------------------------------------------------------------------------- */

/* Labels with a last dim of one, as the losses index with them. */
static pdm_ir_value *label_column(pdm_tr_op *t, pdm_ir_value *label, int rank)
{
    int own = pdm_tr_need_rank(t, label);
    if (own == rank - 1)
        label = pdm_tr_unsqueeze(t, label, (int64_t[]){own}, 1);
    return label;
}

typedef struct picked {
    pdm_ir_value *ignored; /* rows whose label is ignore_index */
    pdm_ir_value *x;       /* value at the label; at 0 for ignored rows */
    bool column;           /* the label came with its last dim */
} picked;

static picked pick(pdm_tr_op *t, pdm_ir_value *x)
{
    picked p = {0};
    int64_t ignore = pdm_tr_int(t, "ignore_index");
    int rank = pdm_tr_need_rank(t, x);
    pdm_ir_value *label = pdm_tr_in(t, "Label");
    p.column = pdm_tr_rank(label) == rank;
    label = pdm_tr_cast(t, label_column(t, label, rank), PDM_I64);
    p.ignored = pdm_tr_binary(t, "pd_op.equal", label, pdm_tr_like_const(t, label, (double)ignore));
    label = pdm_tr_where(t, p.ignored, pdm_tr_full_like(t, label, 0, PDM_I64), label);
    p.x = pdm_tr_take_along(t, x, label, rank - 1);
    return p;
}

static void hard_labels(pdm_tr_op *t, pdm_ir_value *x)
{
    picked p = pick(t, x);
    pdm_ir_value *zero = pdm_tr_full_like(t, p.x, 0, pdm_tr_dtype_of(p.x));
    pdm_ir_value *loss = pdm_tr_scale(t, pdm_tr_finite_log(t, p.x), -1, 0);
    int64_t last = pdm_tr_rank(x) - 1;
    loss = pdm_tr_where(t, p.ignored, zero, loss);
    pdm_tr_out(t, "Y", p.column ? loss : pdm_tr_squeeze(t, loss, &last, 1));
    if (pdm_tr_has_out(t, "MatchX"))
        pdm_tr_out(t, "MatchX", pdm_tr_where(t, p.ignored, zero, p.x));
}

void pdm_tr_h_cross_entropy(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    if (!pdm_tr_bool_or(t, "soft_label", false)) {
        hard_labels(t, x);
        return;
    }
    pdm_ir_value *label = pdm_tr_in(t, "Label");
    int rank = pdm_tr_need_rank(t, x);
    pdm_ir_value *terms = pdm_tr_binary(t, "pd_op.multiply", label, pdm_tr_finite_log(t, x));
    pdm_ir_value *sum = pdm_tr_reduce(t, "pd_op.sum", terms, (int64_t[]){rank - 1}, 1, true);
    pdm_tr_out(t, "Y", pdm_tr_scale(t, sum, -1, 0));
}

/* The mean over the other classes of log(1 + exp(x_other - x_label)). */
void pdm_tr_h_bpr_loss(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *label = pdm_tr_in(t, "Label");
    int rank = pdm_tr_need_rank(t, x);
    label = pdm_tr_cast(t, label_column(t, label, rank), PDM_I64);
    pdm_ir_value *classes = pdm_tr_dim_value(t, x, rank - 1);
    pdm_ir_value *own = pdm_tr_take_along(t, x, label, rank - 1);
    pdm_ir_value *terms = pdm_tr_unary(t, "pd_op.exp", pdm_tr_binary(t, "pd_op.subtract", x, own));
    terms = pdm_tr_scale(t, terms, 1, 1);
    terms = pdm_tr_where(t, pdm_tr_unary(t, "pd_op.isinf", terms),
                         pdm_tr_full_like(t, terms, 1e20, pdm_tr_dtype_of(x)), terms);
    terms = pdm_tr_unary(t, "pd_op.log", terms);
    pdm_ir_value *other =
        pdm_tr_binary(t, "pd_op.not_equal", pdm_tr_iota(t, classes, PDM_I64), label);
    terms = pdm_tr_where(t, other, terms, pdm_tr_full_like(t, terms, 0, pdm_tr_dtype_of(x)));
    pdm_ir_value *sum = pdm_tr_reduce(t, "pd_op.sum", terms, (int64_t[]){rank - 1}, 1, true);
    pdm_ir_value *count = pdm_tr_cast(t, pdm_tr_scale(t, classes, 1, -1), pdm_tr_dtype_of(x));
    pdm_tr_out(t, "Y", pdm_tr_binary(t, "pd_op.divide", sum, count));
}

/* ---- pairs and margins ----------------------------------------------------------------------- */

void pdm_tr_h_rank_loss(pdm_tr_op *t)
{
    pdm_ir_value *label = pdm_tr_in(t, "Label"), *left = pdm_tr_in(t, "Left"),
                 *right = pdm_tr_in(t, "Right");
    pdm_ir_value *d = pdm_tr_binary(t, "pd_op.subtract", left, right);
    pdm_ir_value *log = pdm_tr_scale(t, pdm_tr_unary(t, "pd_op.exp", d), 1, 1);
    log = pdm_tr_unary(t, "pd_op.log", log);
    pdm_tr_out(
        t, "Out",
        pdm_tr_binary(t, "pd_op.subtract", log, pdm_tr_binary(t, "pd_op.multiply", label, d)));
}

static pdm_ir_value *less(pdm_tr_op *t, pdm_ir_value *x, double limit)
{
    return pdm_tr_binary(t, "pd_op.less_than", x, pdm_tr_like_const(t, x, limit));
}

void pdm_tr_h_modified_huber_loss(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y");
    pdm_ir_value *z = pdm_tr_binary(t, "pd_op.multiply", x, pdm_tr_scale(t, y, 2, -1));
    pdm_tr_out(t, "IntermediateVal", z);
    pdm_ir_value *near = pdm_tr_unary(t, "pd_op.square", pdm_tr_one_minus(t, z));
    pdm_ir_value *zero = pdm_tr_full_like(t, z, 0, pdm_tr_dtype_of(z));
    pdm_ir_value *out = pdm_tr_where(t, less(t, z, 1), near, zero);
    pdm_tr_out(t, "Out", pdm_tr_where(t, less(t, z, -1), pdm_tr_scale(t, z, -4, 0), out));
}

/*
 * Click z and teacher score q in one label: below -1 no click and no score, below 0 a click only,
 * below 1 the score q without a click, else 1 + q with one.
 */
void pdm_tr_h_teacher_student_sigmoid_loss(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *label = pdm_tr_in(t, "Label");
    pdm_ir_value *tail = pdm_tr_scale(t, pdm_tr_unary(t, "pd_op.abs", x), -1, 0);
    tail = pdm_tr_unary(t, "pd_op.log1p", pdm_tr_unary(t, "pd_op.exp", tail));
    pdm_ir_value *no_click = pdm_tr_binary(t, "pd_op.add", pdm_tr_unary(t, "pd_op.relu", x), tail);
    pdm_ir_value *click = pdm_tr_binary(t, "pd_op.subtract", no_click, x);
    pdm_ir_value *with_q =
        pdm_tr_binary(t, "pd_op.subtract", no_click, pdm_tr_binary(t, "pd_op.multiply", x, label));
    with_q = pdm_tr_binary(t, "pd_op.add", no_click, with_q);
    /* With a click and a score: x goes off for the click, x * (label - 1) for the score; the same.
     */
    pdm_ir_value *out = pdm_tr_where(t, less(t, label, 0), click, with_q);
    pdm_tr_out(t, "Y", pdm_tr_where(t, less(t, label, -1), no_click, out));
}

/* ---- features -------------------------------------------------------------------------------- */

/* The product of two feature maps over their places, divided by the number of places. */
void pdm_tr_h_fsp(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in(t, "Y"), *flat[2];
    int64_t places = pdm_tr_known_product(x, 2, 4);
    pdm_ir_value *maps[2] = {x, y};
    if (pdm_tr_need_rank(t, x) != 4 || pdm_tr_need_rank(t, y) != 4)
        return;
    for (int i = 0; i < 2; i++)
        flat[i] = pdm_tr_emit1(t, "pd_op.flatten", PDM_TR_OPS(maps[i]),
                               PDM_TR_ATTRS({"start_axis", pdm_tr_a_i32(t, 2), 0},
                                            {"stop_axis", pdm_tr_a_i32(t, 3), 0}));
    pdm_ir_value *out = pdm_tr_matmul(t, flat[0], flat[1], false, true);
    if (places > 0) {
        out = pdm_tr_scale(t, out, (double)(1.0f / (float)places), 0);
    } else {
        pdm_ir_value *n = pdm_tr_cast(t, pdm_tr_dim_value(t, flat[0], 2), pdm_tr_dtype_of(x));
        out = pdm_tr_binary(t, "pd_op.divide", out, n);
    }
    pdm_tr_out(t, "Out", out);
}

/* Columns come in slots of `width`; a slot whose first column is zero gives zeros. */
static pdm_ir_value *clear_slots(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *y, int64_t width)
{
    int64_t columns = pdm_tr_known_dim(x, 1);
    if (columns < 0 || columns % width) {
        pdm_tr_unsupported(t, "slot_dim", "'data_norm' with slots that do not divide its columns");
        return NULL;
    }
    const pdm_tr_dim slots[3] = {PDM_TR_DIM_OF(x, 0), PDM_TR_DIM(columns / width),
                                 PDM_TR_DIM(width)};
    const pdm_tr_dim flat[2] = {PDM_TR_DIM_OF(x, 0), PDM_TR_DIM(columns)};
    pdm_ir_value *show = pdm_tr_slice(t, pdm_tr_reshape_dims(t, x, slots, 3), 2, 0, 1);
    pdm_ir_value *none = less(t, pdm_tr_unary(t, "pd_op.abs", show), 1e-7);
    none = pdm_tr_expand_dims(t, none, slots, 3);
    y = pdm_tr_reshape_dims(t, y, slots, 3);
    y = pdm_tr_where(t, none, pdm_tr_full_like(t, y, 0, pdm_tr_dtype_of(y)), y);
    return pdm_tr_reshape_dims(t, y, flat, 2);
}

void pdm_tr_h_data_norm(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *size = pdm_tr_in(t, "BatchSize"),
                 *sum = pdm_tr_in(t, "BatchSum"), *squares = pdm_tr_in(t, "BatchSquareSum");
    int64_t width = pdm_tr_int_or(t, "slot_dim", -1);
    bool shift = pdm_tr_bool_or(t, "enable_scale_and_shift", false);
    if (pdm_tr_need_rank(t, x) != 2) {
        pdm_tr_unsupported(t, NULL, "'data_norm' of an input that is not a matrix");
        return;
    }
    pdm_ir_value *means = pdm_tr_binary(t, "pd_op.divide", sum, size);
    pdm_ir_value *scales =
        pdm_tr_unary(t, "pd_op.sqrt", pdm_tr_binary(t, "pd_op.divide", size, squares));
    pdm_tr_out(t, "Means", means);
    pdm_tr_out(t, "Scales", scales);
    pdm_ir_value *y =
        pdm_tr_binary(t, "pd_op.multiply", pdm_tr_binary(t, "pd_op.subtract", x, means), scales);
    if (shift) {
        pdm_ir_value *w = pdm_tr_in(t, "scale_w"), *bias = pdm_tr_in(t, "bias");
        y = pdm_tr_binary(t, "pd_op.add", pdm_tr_binary(t, "pd_op.multiply", y, w), bias);
    }
    if (width > 0)
        y = clear_slots(t, x, y, width);
    pdm_tr_out(t, "Y", y);
}

/* One draw for all axes that are not listed. */
void pdm_tr_h_dropout_nd(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    double p = pdm_tr_float(t, "dropout_prob");
    const char *mode = pdm_tr_string(t, "dropout_implementation");
    size_t n = 0;
    const int64_t *axes = pdm_tr_ints(t, "axis", &n);
    if (t->failed || !x)
        return;
    if (pdm_tr_bool_or(t, "is_test", false)) {
        bool upscaled = strcmp(mode, "upscale_in_train") == 0;
        pdm_tr_out(t, "Out",
                   upscaled ? pdm_tr_unary(t, "pd_op.assign", x)
                            : pdm_tr_scale(t, x, (double)(1.0f - (float)p), 0));
        return;
    }
    pdm_ir_value *mask = x, *seed = pdm_tr_in_opt(t, "Seed"), *rate = pdm_tr_const_f(t, PDM_F32, p);
    int rank = pdm_tr_need_rank(t, x);
    for (int axis = 0; axis < rank && n; axis++) {
        bool listed = false;
        for (size_t i = 0; i < n; i++)
            listed |= axes[i] == axis || axes[i] + rank == axis;
        if (!listed)
            mask = pdm_tr_slice(t, mask, axis, 0, 1);
    }
    mask = pdm_tr_full_like(t, mask, 1, pdm_tr_dtype_of(x));
    mask = pdm_tr_emit1(
        t, "pd_op.dropout", PDM_TR_OPS(mask, seed, rate),
        PDM_TR_ATTRS({"mode", pdm_tr_a_str(t, mode), 0},
                     {"seed", pdm_tr_a_i32(t, pdm_tr_int_or(t, "seed", 0)), 0},
                     {"fix_seed", pdm_tr_a_bool(t, pdm_tr_bool_or(t, "fix_seed", false)), 0}));
    pdm_tr_out(t, "Out", pdm_tr_binary(t, "pd_op.multiply", x, mask));
}

/* ---- spatial pyramid pooling ----------------------------------------------------------------- */

static pdm_ir_value *pyramid_level(pdm_tr_op *t, pdm_ir_value *x, const char *kind, int64_t bins)
{
    int64_t kernel[2], padding[2];
    for (int i = 0; i < 2; i++) {
        int64_t size = pdm_tr_known_dim(x, 2 + i);
        kernel[i] = (size + bins - 1) / bins;
        padding[i] = (kernel[i] * bins - size + 1) / 2;
    }
    pdm_ir_value *k = pdm_tr_const_ints(t, kernel, 2);
    pdm_ir_value *out =
        pdm_tr_emit1(t, "pd_op.pool2d", PDM_TR_OPS(x, k),
                     PDM_TR_ATTRS({"strides", pdm_tr_a_i64s(t, kernel, 2), 0},
                                  {"paddings", pdm_tr_a_i64s(t, padding, 2), 0},
                                  {"ceil_mode", pdm_tr_a_bool(t, false), 0},
                                  {"exclusive", pdm_tr_a_bool(t, true), 0},
                                  {"data_format", pdm_tr_a_str(t, "NCHW"), 0},
                                  {"pooling_type", pdm_tr_a_str(t, kind), 0},
                                  {"global_pooling", pdm_tr_a_bool(t, false), 0},
                                  {"adaptive", pdm_tr_a_bool(t, false), 0},
                                  {"padding_algorithm", pdm_tr_a_str(t, "EXPLICIT"), 0}));
    for (int i = 0; i < 2; i++)
        if (pdm_tr_known_dim(out, 2 + i) > bins)
            out = pdm_tr_slice(t, out, 2 + i, 0, bins);
    return pdm_tr_emit1(
        t, "pd_op.flatten", PDM_TR_OPS(out),
        PDM_TR_ATTRS({"start_axis", pdm_tr_a_i32(t, 1), 0}, {"stop_axis", pdm_tr_a_i32(t, 3), 0}));
}

void pdm_tr_h_spp(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X"), *levels[16];
    int64_t height = pdm_tr_int(t, "pyramid_height");
    const char *kind = pdm_tr_string(t, "pooling_type");
    int rank = pdm_tr_need_rank(t, x);
    if (t->failed || !x)
        return;
    if (rank != 4 || height < 1 || height > 16) {
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "pyramid_height", NULL,
                     "'spp' needs an input of rank 4 and 1 to 16 levels");
        return;
    }
    if (pdm_tr_known_product(x, 2, 4) <= 0) {
        pdm_tr_unsupported(t, NULL, "'spp' of an input whose height and width are not known");
        return;
    }
    for (int64_t i = 0; i < height; i++)
        levels[i] = pyramid_level(t, x, kind, (int64_t)1 << i);
    pdm_tr_out(t, "Out", pdm_tr_concat(t, levels, (size_t)height, 1));
}
