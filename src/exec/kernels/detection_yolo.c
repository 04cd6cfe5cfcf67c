/* YOLO heads: yolo_box, yolo_loss. */
#include "exec/kernels/detection_impl.h"

#include <math.h>

typedef struct head {
    int64_t anchors[PDM_K_MAX_INTS], mask[PDM_K_MAX_INTS];
    int64_t batch, num, classes, h, w; /* num: anchors of this head */
    int64_t downsample;
    double scale, bias, threshold, iou_factor;
    bool clip, iou_aware, smooth;
} head;

/* The feature map has num * (5 + classes) channels (6 with iou). */
static bool check_head(pdm_k *k, head *d, const pdm_tensor *x)
{
    if (!PDM_K_OK(k) || !pdm_is_real(k, x) || !pdm_k_rank_is(k, x, 4, "the feature map"))
        return false;
    if (d->num < 1 || d->classes < 0 || d->classes > INT32_MAX ||
        x->dims[1] != d->num * (d->classes + (d->iou_aware ? 6 : 5)))
        pdm_k_fail(k, "%lld channels are not those of %lld anchors and %lld classes",
                   (long long)x->dims[1], (long long)d->num, (long long)d->classes);
    d->batch = x->dims[0];
    d->h = x->dims[2];
    d->w = x->dims[3];
    return PDM_K_OK(k);
}

/* ---- yolo_box -------------------------------------------------------------------------------- */

#define YOLO_BOX(code, suffix, type, ...)                                                          \
    static type sigmoid_##suffix(type v)                                                           \
    {                                                                                              \
        return (type)(1 / (1 + (type)exp(-(double)v)));                                            \
    }                                                                                              \
                                                                                                   \
    /* t: the cell's first number; numbers of a cell are `step` apart */                           \
    static void yolo_box_##suffix(const head *d, const type *t, int64_t step, int64_t anchor,      \
                                  int64_t x, int64_t y, type image_h, type image_w, type *box)     \
    {                                                                                              \
        const type scale = (type)d->scale, bias = (type)d->bias;                                   \
        const type in_h = (type)(d->downsample * d->h), in_w = (type)(d->downsample * d->w);       \
        const type cx = ((type)x + sigmoid_##suffix(t[0]) * scale + bias) * image_w / (type)d->w;  \
        const type cy =                                                                            \
            ((type)y + sigmoid_##suffix(t[step]) * scale + bias) * image_h / (type)d->h;           \
        const type w =                                                                             \
            (type)exp((double)t[2 * step]) * (type)d->anchors[2 * anchor] * image_w / in_w;        \
        const type h =                                                                             \
            (type)exp((double)t[3 * step]) * (type)d->anchors[2 * anchor + 1] * image_h / in_h;    \
        box[0] = cx - w / 2;                                                                       \
        box[1] = cy - h / 2;                                                                       \
        box[2] = cx + w / 2;                                                                       \
        box[3] = cy + h / 2;                                                                       \
        if (!d->clip)                                                                              \
            return;                                                                                \
        box[0] = box[0] > 0 ? box[0] : 0;                                                          \
        box[1] = box[1] > 0 ? box[1] : 0;                                                          \
        box[2] = box[2] < image_w - 1 ? box[2] : image_w - 1;                                      \
        box[3] = box[3] < image_h - 1 ? box[3] : image_h - 1;                                      \
    }                                                                                              \
                                                                                                   \
    static void yolo_boxes_##suffix(const head *d, const type *in, const pdm_tensor *sizes,        \
                                    type *boxes, type *scores)                                     \
    {                                                                                              \
        const int64_t area = d->h * d->w, cells = d->num * area;                                   \
        const int64_t own = 5 + d->classes, all = d->num * (own + d->iou_aware);                   \
        for (int64_t n = 0; n < d->batch * cells; n++) {                                           \
            const int64_t i = n / cells, j = n % cells / area, cell = n % area;                    \
            const type *t = in + (i * all + (d->iou_aware ? d->num : 0) + j * own) * area + cell;  \
            type *box = boxes + 4 * n, *score = scores + n * d->classes;                           \
            type conf = sigmoid_##suffix(t[4 * area]);                                             \
            if (d->iou_aware) {                                                                    \
                const type iou = sigmoid_##suffix(in[(i * all + j) * area + cell]);                \
                conf = (type)pow((double)conf, (double)(type)(1 - d->iou_factor)) *                \
                       (type)pow((double)iou, (double)(type)d->iou_factor);                        \
            }                                                                                      \
            memset(box, 0, 4 * sizeof *box);                                                       \
            memset(score, 0, (size_t)d->classes * sizeof *score);                                  \
            if (conf < (type)d->threshold)                                                         \
                continue;                                                                          \
            yolo_box_##suffix(d, t, area, j, cell % d->w, cell / d->w,                             \
                              (type)pdm_get_int(sizes, 2 * i),                                     \
                              (type)pdm_get_int(sizes, 2 * i + 1), box);                           \
            for (int64_t c = 0; c < d->classes; c++)                                               \
                score[c] = conf * sigmoid_##suffix(t[(5 + c) * area]);                             \
        }                                                                                          \
    }
PDM_K_F32_F64(YOLO_BOX)

pdm_status pdm_kernel_yolo_box(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *sizes = pdm_k_in(k, 1);
    head d = {0};

    d.num = (int64_t)pdm_k_ints(k, "anchors", d.anchors) / 2;
    d.classes = pdm_k_int(k, "class_num");
    d.threshold = pdm_k_float(k, "conf_thresh");
    d.downsample = pdm_k_int(k, "downsample_ratio");
    d.clip = pdm_k_bool(k, "clip_bbox");
    d.scale = pdm_k_float(k, "scale_x_y");
    d.bias = -0.5 * (d.scale - 1);
    d.iou_aware = pdm_k_bool(k, "iou_aware");
    d.iou_factor = pdm_k_float(k, "iou_aware_factor");
    if (!check_head(k, &d, x))
        return k->status;
    if (sizes->rank != 2 || sizes->dims[0] != d.batch || sizes->dims[1] != 2)
        return pdm_k_fail(k, "there are not 2 sizes for each of %lld images", (long long)d.batch);
    const int64_t cells = d.num * d.h * d.w;
    pdm_tensor spare[2] = {{0}, {0}}; /* for what nobody wants */
    const int64_t dims[2][3] = {{d.batch, cells, 4}, {d.batch, cells, d.classes}};
    void *out[2];
    for (size_t i = 0; i < 2; i++) {
        if (pdm_k_wants(k, i))
            out[i] = pdm_k_out(k, i, x->dtype, 3, dims[i]);
        else if (pdm_tensor_alloc(&spare[i], x->dtype, 3, dims[i]) != PDM_OK)
            pdm_k_nomem(k);
        else
            out[i] = spare[i].data;
    }
    if (PDM_K_OK(k))
        PDM_K_DISPATCH(k, x->dtype, PDM_K_F32_F64, yolo_boxes, &d, x->data, sizes, out[0], out[1]);
    pdm_tensor_deinit(&spare[0]);
    pdm_tensor_deinit(&spare[1]);
    return k->status;
}

/* ---- yolo_loss ------------------------------------------------------------------------------- */

/* A box by its middle and size, in parts of the image. */
typedef struct mid_box {
    double x, y, w, h;
} mid_box;

static double overlap_1d(double a, double aw, double b, double bw)
{
    const double left = fmax(a - aw / 2, b - bw / 2), right = fmin(a + aw / 2, b + bw / 2);

    return right - left;
}

static double overlap(mid_box a, mid_box b)
{
    const double w = overlap_1d(a.x, a.w, b.x, b.w), h = overlap_1d(a.y, a.h, b.y, b.h);
    const double both = w < 0 || h < 0 ? 0 : w * h;

    return both / (a.w * a.h + b.w * b.h - both);
}

static double logistic(double v)
{
    return 1 / (1 + exp(-v));
}

static double cross_entropy(double v, double label)
{
    return (v > 0 ? v : 0) - v * label + log(1 + exp(-fabs(v)));
}

typedef struct loss_call {
    head d;
    const pdm_tensor *x, *gt_box, *gt_label, *gt_score;
    int64_t num_anchors, truths;
    double ignore, positive, negative;
    double *objectness; /* of one image: anchors x cells */
    int64_t *match;     /* of one image: by ground truth */
} loss_call;

static double number(const loss_call *c, int64_t image, int64_t anchor, int64_t entry, int64_t cell)
{
    const int64_t own = 5 + c->d.classes, area = c->d.h * c->d.w;

    return pdm_get_double(c->x, ((image * c->d.num + anchor) * own + entry) * area + cell);
}

static mid_box truth(const loss_call *c, int64_t image, int64_t t)
{
    const int64_t at = (image * c->truths + t) * 4;

    return (mid_box){pdm_get_double(c->gt_box, at), pdm_get_double(c->gt_box, at + 1),
                     pdm_get_double(c->gt_box, at + 2), pdm_get_double(c->gt_box, at + 3)};
}

static bool is_truth(mid_box b)
{
    return b.w > 1e-6 && b.h > 1e-6;
}

/* Predictions that overlap some truth enough are not counted as negatives. */
static void ignore_good(const loss_call *c, int64_t image)
{
    const head *d = &c->d;
    const int64_t area = d->h * d->w;
    const double size = (double)(d->downsample * d->h);

    for (int64_t n = 0; n < d->num * area; n++) {
        const int64_t j = n / area, cell = n % area, anchor = d->mask[j];
        const mid_box box = {
            ((double)(cell % d->w) + logistic(number(c, image, j, 0, cell)) * d->scale + d->bias) /
                (double)d->h,
            ((double)(cell / d->w) + logistic(number(c, image, j, 1, cell)) * d->scale + d->bias) /
                (double)d->h,
            exp(number(c, image, j, 2, cell)) * (double)d->anchors[2 * anchor] / size,
            exp(number(c, image, j, 3, cell)) * (double)d->anchors[2 * anchor + 1] / size};
        double best = 0;
        for (int64_t t = 0; t < c->truths; t++) {
            const mid_box gt = truth(c, image, t);
            if (is_truth(gt))
                best = fmax(best, overlap(box, gt));
        }
        c->objectness[n] = best > c->ignore ? -1 : 0;
    }
}

/* The anchor whose shape is nearest to the truth's: its place in this head, -1 when in another one.
 */
static int64_t head_anchor(const loss_call *c, mid_box gt)
{
    const double size = (double)(c->d.downsample * c->d.h);
    double best = 0;
    int64_t anchor = 0;

    gt.x = gt.y = 0;
    for (int64_t i = 0; i < c->num_anchors; i++) {
        const mid_box shape = {0, 0, (double)c->d.anchors[2 * i] / size,
                               (double)c->d.anchors[2 * i + 1] / size};
        const double v = overlap(shape, gt);
        if (v > best) {
            best = v;
            anchor = i;
        }
    }
    for (int64_t j = 0; j < c->d.num; j++)
        if (c->d.mask[j] == anchor)
            return j;
    return -1;
}

/* What the prediction for one truth costs: place, size and class. */
static double truth_loss(const loss_call *c, int64_t image, int64_t t, mid_box gt, int64_t j,
                         int64_t cell)
{
    const head *d = &c->d;
    const double size = (double)(d->downsample * d->h);
    const double score = c->gt_score ? pdm_get_double(c->gt_score, image * c->truths + t) : 1;
    const double scale = (2 - gt.w * gt.h) * score;
    const double aw = (double)d->anchors[2 * d->mask[j]],
                 ah = (double)d->anchors[2 * d->mask[j] + 1];
    const int64_t label = pdm_get_int(c->gt_label, image * c->truths + t);
    double loss = 0;

    loss +=
        cross_entropy(number(c, image, j, 0, cell), gt.x * (double)d->h - (double)(cell % d->w));
    loss +=
        cross_entropy(number(c, image, j, 1, cell), gt.y * (double)d->h - (double)(cell / d->w));
    loss += fabs(log(gt.w * size / aw) - number(c, image, j, 2, cell));
    loss += fabs(log(gt.h * size / ah) - number(c, image, j, 3, cell));
    loss *= scale;
    for (int64_t n = 0; n < d->classes; n++)
        loss += score * cross_entropy(number(c, image, j, 5 + n, cell),
                                      n == label ? c->positive : c->negative);
    return loss;
}

static double image_loss(const loss_call *c, int64_t image)
{
    const head *d = &c->d;
    const int64_t area = d->h * d->w;
    double loss = 0;

    ignore_good(c, image);
    for (int64_t t = 0; t < c->truths; t++) {
        const mid_box gt = truth(c, image, t);
        c->match[t] = -1;
        if (!is_truth(gt))
            continue;
        const int64_t x = pdm_int_of_double(gt.x * (double)d->w);
        const int64_t y = pdm_int_of_double(gt.y * (double)d->h);
        const int64_t j = head_anchor(c, gt);
        c->match[t] = j;
        if (j < 0 || x < 0 || x >= d->w || y < 0 || y >= d->h)
            continue;
        loss += truth_loss(c, image, t, gt, j, y * d->w + x);
        c->objectness[j * area + y * d->w + x] =
            c->gt_score ? pdm_get_double(c->gt_score, image * c->truths + t) : 1;
    }
    for (int64_t n = 0; n < d->num * area; n++) {
        const double obj = c->objectness[n], v = number(c, image, n / area, 4, n % area);
        if (obj > 1e-5)
            loss += obj * cross_entropy(v, 1);
        else if (obj > -0.5)
            loss += cross_entropy(v, 0);
    }
    return loss;
}

static bool read_loss(pdm_k *k, loss_call *c)
{
    head *d = &c->d;
    const size_t num = pdm_k_ints(k, "anchors", d->anchors);

    c->x = pdm_k_in(k, 0);
    c->gt_box = pdm_k_in(k, 1);
    c->gt_label = pdm_k_in(k, 2);
    c->gt_score = pdm_k_in_opt(k, 3);
    c->num_anchors = (int64_t)num / 2;
    d->num = (int64_t)pdm_k_ints(k, "anchor_mask", d->mask);
    d->classes = pdm_k_int(k, "class_num");
    d->downsample = pdm_k_int(k, "downsample_ratio");
    d->scale = pdm_k_float(k, "scale_x_y");
    d->bias = -0.5 * (d->scale - 1);
    c->ignore = pdm_k_float(k, "ignore_thresh");
    c->positive = 1;
    c->negative = 0;
    if (pdm_k_bool(k, "use_label_smooth") && d->classes > 0) {
        c->negative = fmin(1.0 / (double)d->classes, 1.0 / 40);
        c->positive = 1 - c->negative;
    }
    if (!check_head(k, d, c->x))
        return false;
    for (int64_t j = 0; j < d->num; j++)
        if (d->mask[j] < 0 || d->mask[j] >= c->num_anchors)
            pdm_k_fail(k, "anchor %lld does not exist", (long long)d->mask[j]);
    if (!pdm_k_rank_is(k, c->gt_box, 3, "gt_box") || !pdm_k_rank_is(k, c->gt_label, 2, "gt_label"))
        return false;
    c->truths = c->gt_box->dims[1];
    const int64_t all = d->batch * c->truths;
    if (c->gt_box->dims[0] != d->batch || c->gt_box->dims[2] != 4 ||
        pdm_tensor_count(c->gt_label) != all ||
        (c->gt_score && pdm_tensor_count(c->gt_score) != all))
        pdm_k_fail(k, "ground truths do not fit together");
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_yolo_loss(pdm_k *k)
{
    loss_call c = {0};
    pdm_arena arena;

    if (!read_loss(k, &c))
        return k->status;
    const head *d = &c.d;
    const int64_t cells = d->num * d->h * d->w;
    pdm_arena_init(&arena);
    c.objectness = pdm_k_scratch(k, &arena, cells, sizeof *c.objectness);
    c.match = pdm_k_scratch(k, &arena, c.truths, sizeof *c.match);
    pdm_tensor *out[3] = {0};
    if (pdm_k_wants(k, 0) && pdm_k_out(k, 0, c.x->dtype, 1, &d->batch))
        out[0] = pdm_k_out_tensor(k, 0);
    if (pdm_k_wants(k, 1) && pdm_k_out(k, 1, c.x->dtype, 4, PDM_DIMS(d->batch, d->num, d->h, d->w)))
        out[1] = pdm_k_out_tensor(k, 1);
    if (pdm_k_wants(k, 2) && pdm_k_out(k, 2, PDM_I32, 2, PDM_DIMS(d->batch, c.truths)))
        out[2] = pdm_k_out_tensor(k, 2);
    for (int64_t i = 0; PDM_K_OK(k) && i < d->batch; i++) {
        const double loss = image_loss(&c, i);
        if (out[0])
            pdm_set_double(out[0], i, loss);
        for (int64_t n = 0; out[1] && n < cells; n++)
            pdm_set_double(out[1], i * cells + n, c.objectness[n]);
        for (int64_t t = 0; out[2] && t < c.truths; t++)
            pdm_set_int(out[2], i * c.truths + t, c.match[t]);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}
