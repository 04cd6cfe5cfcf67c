/* Boxes one by one: coding against priors, clipping, overlaps, text quadrangles. */
#include "exec/kernels/detection_impl.h"

#include <math.h>

static bool has_boxes(pdm_k *k, const pdm_tensor *t, const char *what)
{
    if (!pdm_is_real(k, t))
        return false;
    if (t->rank < 1 || t->dims[t->rank - 1] != 4)
        pdm_k_fail(k, "%s has no boxes of 4 numbers", what);
    return PDM_K_OK(k);
}

/* ---- box_coder ------------------------------------------------------------------------------- */

typedef struct coder {
    int64_t rows, cols;
    bool by_row;            /* decoding: the prior of a box is that of its row (axis 1) */
    double add;             /* 1: coordinates are those of pixels */
    const double *variance; /* 4 numbers from the attribute; NULL: none, or a tensor */
} coder;

#define CODER(code, suffix, type, ...)                                                             \
    static void encode_##suffix(const coder *c, const type *target, const type *prior,             \
                                const type *var, type *out)                                        \
    {                                                                                              \
        const type add = (type)c->add;                                                             \
        for (int64_t i = 0; i < c->rows; i++) {                                                    \
            const type *t = target + 4 * i;                                                        \
            for (int64_t j = 0; j < c->cols; j++, out += 4) {                                      \
                const type *p = prior + 4 * j;                                                     \
                const type pw = p[2] - p[0] + add, ph = p[3] - p[1] + add;                         \
                const type px = p[0] + pw / 2, py = p[1] + ph / 2;                                 \
                const type tx = (t[2] + t[0]) / 2, ty = (t[3] + t[1]) / 2;                         \
                const type tw = t[2] - t[0] + add, th = t[3] - t[1] + add;                         \
                out[0] = (tx - px) / pw;                                                           \
                out[1] = (ty - py) / ph;                                                           \
                out[2] = (type)log(fabs((double)(tw / pw)));                                       \
                out[3] = (type)log(fabs((double)(th / ph)));                                       \
                for (int n = 0; n < 4; n++) {                                                      \
                    if (var)                                                                       \
                        out[n] /= var[4 * j + n];                                                  \
                    else if (c->variance)                                                          \
                        out[n] /= (type)c->variance[n];                                            \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void decode_##suffix(const coder *c, const type *target, const type *prior,             \
                                const type *var, type *out)                                        \
    {                                                                                              \
        const type add = (type)c->add;                                                             \
        for (int64_t i = 0; i < c->rows; i++) {                                                    \
            for (int64_t j = 0; j < c->cols; j++, out += 4, target += 4) {                         \
                const int64_t at = 4 * (c->by_row ? i : j);                                        \
                const type *p = prior + at;                                                        \
                const type pw = p[2] - p[0] + add, ph = p[3] - p[1] + add;                         \
                const type px = p[0] + pw / 2, py = p[1] + ph / 2;                                 \
                type v[4] = {1, 1, 1, 1};                                                          \
                for (int n = 0; n < 4; n++)                                                        \
                    v[n] = var ? var[at + n] : c->variance ? (type)c->variance[n] : 1;             \
                const type x = v[0] * target[0] * pw + px, y = v[1] * target[1] * ph + py;         \
                const type w = (type)exp((double)(v[2] * target[2])) * pw;                         \
                const type h = (type)exp((double)(v[3] * target[3])) * ph;                         \
                out[0] = x - w / 2;                                                                \
                out[1] = y - h / 2;                                                                \
                out[2] = x + w / 2 - add;                                                          \
                out[3] = y + h / 2 - add;                                                          \
            }                                                                                      \
        }                                                                                          \
    }
PDM_K_F32_F64(CODER)

pdm_status pdm_kernel_box_coder(pdm_k *k)
{
    const pdm_tensor *prior = pdm_k_in(k, 0), *var = pdm_k_in_opt(k, 1), *target = pdm_k_in(k, 2);
    const bool encode = !strcmp(pdm_k_str(k, "code_type"), "encode_center_size");
    double numbers[PDM_K_MAX_INTS];
    const size_t num = pdm_k_floats(k, "variance", numbers);
    coder c = {.by_row = pdm_k_int(k, "axis") == 1,
               .add = pdm_k_bool(k, "box_normalized") ? 0 : 1,
               .variance = num == 4 && !var ? numbers : NULL};

    if (!PDM_K_OK(k) || !has_boxes(k, prior, "the tensor of priors") ||
        !has_boxes(k, target, "the tensor of targets") || !pdm_k_same_dtype(k, prior, target) ||
        (var && !pdm_k_same_dtype(k, prior, var)))
        return k->status;
    if (num != 0 && num != 4)
        return pdm_k_fail(k, "there are %zu variances, not 4", num);
    if (!pdm_k_rank_is(k, prior, 2, "the tensor of priors") ||
        !pdm_k_rank_is(k, target, encode ? 2 : 3, "the tensor of targets"))
        return k->status;
    c.rows = target->dims[0];
    c.cols = encode ? prior->dims[0] : target->dims[1];
    if (!encode && prior->dims[0] != (c.by_row ? c.rows : c.cols))
        return pdm_k_fail(k, "there are not as many priors as boxes");
    if (var && (var->rank != 2 || var->dims[0] != prior->dims[0] || var->dims[1] != 4))
        return pdm_k_fail(k, "variances do not fit the priors");
    void *out = pdm_k_out(k, 0, target->dtype, 3, PDM_DIMS(c.rows, c.cols, 4));
    if (!out)
        return k->status;
    if (encode)
        PDM_K_DISPATCH(k, target->dtype, PDM_K_F32_F64, encode, &c, target->data, prior->data,
                       var ? var->data : NULL, out);
    else
        PDM_K_DISPATCH(k, target->dtype, PDM_K_F32_F64, decode, &c, target->data, prior->data,
                       var ? var->data : NULL, out);
    pdm_k_share_lod(k, 0, target);
    return k->status;
}

/* ---- box_clip -------------------------------------------------------------------------------- */

#define CLIP(code, suffix, type, ...)                                                              \
    static void clip_##suffix(const pdm_seqs *seqs, int64_t row, const type *x, const type *info,  \
                              type *out)                                                           \
    {                                                                                              \
        for (int64_t s = 0; s < seqs->count; s++, info += 3) {                                     \
            const type w = (type)round((double)(info[1] / info[2])) - 1;                           \
            const type h = (type)round((double)(info[0] / info[2])) - 1;                           \
            for (int64_t i = seqs->off[s] * row; i < seqs->off[s + 1] * row; i++) {                \
                const type limit = i % 2 ? h : w;                                                  \
                const type low = x[i] < limit ? x[i] : limit;                                      \
                out[i] = low > 0 ? low : 0;                                                        \
            }                                                                                      \
        }                                                                                          \
    }
PDM_K_F32_F64(CLIP)

pdm_status pdm_kernel_box_clip(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *info = pdm_k_in(k, 1);
    pdm_seqs seqs;

    if (!PDM_K_OK(k) || !has_boxes(k, x, "the operand") || !pdm_k_same_dtype(k, x, info) ||
        !pdm_k_row_seqs(k, x, &seqs))
        return k->status;
    if (info->rank != 2 || info->dims[0] != seqs.count || info->dims[1] != 3)
        return pdm_k_fail(k, "im_info has not 3 numbers for each of %lld images",
                          (long long)seqs.count);
    void *out = pdm_k_out_like(k, 0, x);
    if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_F32_F64, clip, &seqs, pdm_k_row_size(x), x->data,
                       info->data, out);
    return k->status;
}

/* ---- iou_similarity -------------------------------------------------------------------------- */

#define SIMILARITY(code, suffix, type, ...)                                                        \
    static void similarity_##suffix(int64_t n, int64_t m, bool normalized, const type *x,          \
                                    const type *y, type *out)                                      \
    {                                                                                              \
        const type add = normalized ? 0 : 1;                                                       \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const type *a = x + 4 * i;                                                             \
            for (int64_t j = 0; j < m; j++) {                                                      \
                const type *b = y + 4 * j;                                                         \
                const type one = (a[3] - a[1] + add) * (a[2] - a[0] + add);                        \
                const type two = (b[3] - b[1] + add) * (b[2] - b[0] + add);                        \
                const type x1 = a[0] > b[0] ? a[0] : b[0], y1 = a[1] > b[1] ? a[1] : b[1];         \
                const type x2 = a[2] < b[2] ? a[2] : b[2], y2 = a[3] < b[3] ? a[3] : b[3];         \
                const type w = x2 - x1 + add, h = y2 - y1 + add;                                   \
                const type both = (w > 0 ? w : 0) * (h > 0 ? h : 0);                               \
                *out++ = both / (one + two - both + (type)1e-10);                                  \
            }                                                                                      \
        }                                                                                          \
    }
PDM_K_F32_F64(SIMILARITY)

pdm_status pdm_kernel_legacy_iou_similarity(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X"), *y = pdm_k_slot_in(k, "Y");
    const bool normalized = pdm_k_bool_or(k, "box_normalized", true);

    if (!PDM_K_OK(k) || !has_boxes(k, x, "X") || !has_boxes(k, y, "Y") ||
        !pdm_k_same_dtype(k, x, y) || !pdm_k_rank_is(k, x, 2, "X") || !pdm_k_rank_is(k, y, 2, "Y"))
        return k->status;
    pdm_tensor *out = pdm_k_slot_out(k, "Out", x->dtype, 2, PDM_DIMS(x->dims[0], y->dims[0]));
    if (!out)
        return k->status;
    PDM_K_DISPATCH(k, x->dtype, PDM_K_F32_F64, similarity, x->dims[0], y->dims[0], normalized,
                   x->data, y->data, out->data);
    pdm_tensor_share_lod(out, x);
    return k->status;
}

/* ---- box_decoder_and_assign ------------------------------------------------------------------ */

/* Box of class j for a row: the prior moved by that class's deltas, scaled by the variances. */
static void decode_class(const double prior[4], const double var[4], const pdm_tensor *target,
                         int64_t at, double limit, double out[4])
{
    const double w = prior[2] - prior[0] + 1, h = prior[3] - prior[1] + 1;
    const double x = prior[0] + w / 2, y = prior[1] + h / 2;
    double d[4];

    for (int n = 0; n < 4; n++)
        d[n] = var[n] * pdm_get_double(target, at + n);
    const double cx = d[0] * w + x, cy = d[1] * h + y;
    const double pw = exp(fmin(d[2], limit)) * w, ph = exp(fmin(d[3], limit)) * h;
    out[0] = cx - pw / 2;
    out[1] = cy - ph / 2;
    out[2] = cx + pw / 2 - 1;
    out[3] = cy + ph / 2 - 1;
}

pdm_status pdm_kernel_legacy_box_decoder_and_assign(pdm_k *k)
{
    const pdm_tensor *prior = pdm_k_slot_in(k, "PriorBox"), *var = pdm_k_slot_in(k, "PriorBoxVar");
    const pdm_tensor *target = pdm_k_slot_in(k, "TargetBox"), *score = pdm_k_slot_in(k, "BoxScore");
    const double limit = pdm_k_float_or(k, "box_clip", 4.135);

    if (!PDM_K_OK(k) || !has_boxes(k, prior, "PriorBox") || !pdm_is_real(k, target) ||
        !pdm_k_rank_is(k, prior, 2, "PriorBox") || !pdm_k_rank_is(k, target, 2, "TargetBox") ||
        !pdm_k_rank_is(k, score, 2, "BoxScore"))
        return k->status;
    const int64_t rows = target->dims[0], classes = score->dims[1];
    if (prior->dims[0] != rows || score->dims[0] != rows || pdm_tensor_count(var) < 4 ||
        classes > INT64_MAX / 4 || target->dims[1] != 4 * classes)
        return pdm_k_fail(k, "operands do not fit together");
    pdm_tensor *boxes = pdm_k_slot_out(k, "DecodeBox", target->dtype, 2, target->dims);
    pdm_tensor *best = pdm_k_slot_out(k, "OutputAssignBox", target->dtype, 2, PDM_DIMS(rows, 4));
    double v[4], p[4], out[4];
    for (int n = 0; n < 4; n++)
        v[n] = pdm_get_double(var, n);
    for (int64_t i = 0; PDM_K_OK(k) && i < rows; i++) {
        double top = -1;
        int64_t top_class = -1;
        for (int n = 0; n < 4; n++)
            p[n] = pdm_get_double(prior, 4 * i + n);
        for (int64_t j = 0; j < classes; j++) {
            decode_class(p, v, target, (i * classes + j) * 4, limit, out);
            for (int n = 0; boxes && n < 4; n++)
                pdm_set_double(boxes, (i * classes + j) * 4 + n, out[n]);
            const double s = pdm_get_double(score, i * classes + j);
            if (j > 0 && s > top) { /* class 0 is the background */
                top = s;
                top_class = j;
            }
        }
        if (top_class > 0)
            decode_class(p, v, target, (i * classes + top_class) * 4, limit, p);
        for (int n = 0; best && n < 4; n++)
            pdm_set_double(best, 4 * i + n, p[n]);
    }
    if (boxes)
        pdm_tensor_share_lod(boxes, target);
    if (best)
        pdm_tensor_share_lod(best, target);
    return k->status;
}

/* ---- polygon_box_transform ------------------------------------------------------------------- */

/* Offsets on a map of a quarter of the size become places. */
pdm_status pdm_kernel_legacy_polygon_box_transform(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "Input");

    if (!PDM_K_OK(k) || !pdm_is_real(k, x) || !pdm_k_rank_is(k, x, 4, "the operand"))
        return k->status;
    const int64_t maps = x->dims[0] * x->dims[1], h = x->dims[2], w = x->dims[3];
    pdm_tensor *out = pdm_k_slot_out(k, "Output", x->dtype, 4, x->dims);
    for (int64_t m = 0, at = 0; out && m < maps; m++) {
        const bool is_x = m % x->dims[1] % 2 == 0;
        for (int64_t i = 0; i < h; i++)
            for (int64_t j = 0; j < w; j++, at++)
                pdm_set_double(out, at, (double)(4 * (is_x ? j : i)) - pdm_get_double(x, at));
    }
    return k->status;
}
