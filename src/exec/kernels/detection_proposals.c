/* Region proposals: generate_proposals (both forms), distribute_fpn_proposals,
 * collect_fpn_proposals. */
#include "exec/kernels/detection_impl.h"

#include <math.h>

/* ---- generate_proposals ---------------------------------------------------------------------- */

typedef struct propose {
    const pdm_tensor *scores, *deltas, *info, *anchors, *variances;
    int64_t batch, num, h, w; /* num: anchors of a cell */
    int64_t pre_top, post_top;
    double threshold, min_size, eta;
    bool pixel_offset; /* coordinates are those of pixels */
    bool scaled;       /* im_info (h, w, scale): the first form */
} propose;

typedef struct proposals { /* of all images: rows of 4 and a score */
    double *boxes, *scores;
    int64_t count, room;
    int64_t *starts;
} proposals;

/* What stands in channel `channel` of anchor place `n` (anchors go fastest, then columns, rows). */
static double cell_number(const propose *p, const pdm_tensor *t, int64_t image, int64_t n,
                          int64_t each, int64_t channel)
{
    const int64_t area = p->h * p->w;

    return pdm_get_double(t, (image * p->num * each + n % p->num * each + channel) * area +
                                 n / p->num);
}

#define LARGEST_SCALE 4.135166556742356 /* log(1000 / 16) */

#define PROPOSAL(code, suffix, type, ...)                                                          \
    /* The anchor moved by the deltas, inside of the image. */                                     \
    static void place_##suffix(const propose *p, int64_t image, int64_t n, type *box)              \
    {                                                                                              \
        const type add = p->pixel_offset ? 1 : 0;                                                  \
        const int64_t cols = p->scaled ? 3 : 2;                                                    \
        const type image_h = (type)pdm_get_double(p->info, image * cols);                          \
        const type image_w = (type)pdm_get_double(p->info, image * cols + 1);                      \
        type a[4], d[4];                                                                           \
        for (int i = 0; i < 4; i++) {                                                              \
            a[i] = (type)pdm_get_double(p->anchors, 4 * n + i);                                    \
            d[i] = (type)cell_number(p, p->deltas, image, n, 4, i);                                \
            if (p->variances)                                                                      \
                d[i] *= (type)pdm_get_double(p->variances, 4 * n + i);                             \
        }                                                                                          \
        for (int i = 2; i < 4; i++)                                                                \
            d[i] = d[i] < (type)LARGEST_SCALE ? d[i] : (type)LARGEST_SCALE;                        \
        const type aw = a[2] - a[0] + add, ah = a[3] - a[1] + add;                                 \
        const type x = d[0] * aw + (a[0] + aw / 2), y = d[1] * ah + (a[1] + ah / 2);               \
        const type w = (type)exp((double)d[2]) * aw, h = (type)exp((double)d[3]) * ah;             \
        box[0] = x - w / 2;                                                                        \
        box[1] = y - h / 2;                                                                        \
        box[2] = x + w / 2 - add;                                                                  \
        box[3] = y + h / 2 - add;                                                                  \
        for (int i = 0; i < 4; i++) {                                                              \
            const type limit = (i % 2 ? image_h : image_w) - add;                                  \
            box[i] = box[i] < limit ? box[i] : limit;                                              \
            box[i] = box[i] > 0 ? box[i] : 0;                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Is the box large enough, its middle inside? */                                              \
    static bool large_##suffix(const propose *p, int64_t image, const type *box)                   \
    {                                                                                              \
        const type add = p->pixel_offset ? 1 : 0;                                                  \
        const int64_t cols = p->scaled ? 3 : 2;                                                    \
        const type image_h = (type)pdm_get_double(p->info, image * cols);                          \
        const type image_w = (type)pdm_get_double(p->info, image * cols + 1);                      \
        const type least = (type)(p->min_size > 1 ? p->min_size : 1);                              \
        type w = box[2] - box[0] + add, h = box[3] - box[1] + add;                                 \
        const type x = box[0] + w / 2, y = box[1] + h / 2;                                         \
        if (p->scaled) {                                                                           \
            const type scale = (type)pdm_get_double(p->info, image * cols + 2);                    \
            w = (box[2] - box[0]) / scale + 1;                                                     \
            h = (box[3] - box[1]) / scale + 1;                                                     \
        }                                                                                          \
        if (w < least || h < least)                                                                \
            return false;                                                                          \
        return !p->pixel_offset || (x <= image_w && y <= image_h);                                 \
    }                                                                                              \
                                                                                                   \
    static int64_t place_all_##suffix(const propose *p, int64_t image, const int64_t *index,       \
                                      int64_t n, type *boxes, int64_t *kept)                       \
    {                                                                                              \
        int64_t count = 0;                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                          \
            place_##suffix(p, image, index[i], boxes + 4 * count);                                 \
            if (large_##suffix(p, image, boxes + 4 * count))                                       \
                kept[count++] = index[i];                                                          \
        }                                                                                          \
        return count;                                                                              \
    }
PDM_K_F32_F64(PROPOSAL)

static bool grow(pdm_k *k, pdm_arena *arena, proposals *out, int64_t more)
{
    if (out->count + more <= out->room)
        return true;
    const int64_t room = 2 * out->room + more;
    double *boxes = pdm_k_scratch(k, arena, room, 4 * sizeof *boxes);
    double *scores = pdm_k_scratch(k, arena, room, sizeof *scores);
    if (!boxes || !scores)
        return false;
    if (out->count) {
        memcpy(boxes, out->boxes, (size_t)out->count * 4 * sizeof *boxes);
        memcpy(scores, out->scores, (size_t)out->count * sizeof *scores);
    }
    out->boxes = boxes;
    out->scores = scores;
    out->room = room;
    return true;
}

static void propose_image(pdm_k *k, pdm_arena *arena, const propose *p, int64_t image,
                          proposals *out)
{
    const int64_t all = p->num * p->h * p->w;
    const bool single = p->scores->dtype == PDM_F32;
    pdm_arena local;
    int64_t n = all;

    pdm_arena_init(&local);
    double *keys = pdm_k_scratch(k, &local, all, sizeof *keys);
    int64_t *index = pdm_k_scratch(k, &local, all, sizeof *index);
    int64_t *kept = pdm_k_scratch(k, &local, all, sizeof *kept);
    void *boxes = pdm_k_scratch(k, &local, all + 1, 4 * pdm_dtype_size(p->scores->dtype));
    for (int64_t i = 0; PDM_K_OK(k) && i < all; i++) {
        index[i] = i;
        keys[i] = cell_number(p, p->scores, image, i, 1, 0);
    }
    if (PDM_K_OK(k)) {
        pdm_sort_down(index, all, keys, kept);
        n = p->pre_top > 0 && p->pre_top < n ? p->pre_top : n;
        n = single ? place_all_f32(p, image, index, n, boxes, kept)
                   : place_all_f64(p, image, index, n, boxes, kept);
        const pdm_boxes view = {p->scores->dtype, boxes, 4, 4};
        for (int64_t i = 0; i < n; i++)
            index[i] = i;
        int64_t count = n;
        if (p->threshold > 0) {
            count = pdm_nms_greedy(&view, index, n, p->threshold, p->eta, !p->pixel_offset);
            count = p->post_top > 0 && p->post_top < count ? p->post_top : count;
        }
        if (grow(k, arena, out, count + 1)) {
            const pdm_tensor t = {.dtype = p->scores->dtype, .data = boxes};
            for (int64_t i = 0; i < count; i++, out->count++) {
                for (int c = 0; c < 4; c++)
                    out->boxes[4 * out->count + c] = pdm_get_double(&t, 4 * index[i] + c);
                out->scores[out->count] = keys[kept[index[i]]];
            }
            if (n == 0) { /* one empty box stands for none */
                memset(out->boxes + 4 * out->count, 0, 4 * sizeof *out->boxes);
                out->scores[out->count++] = 0;
            }
        }
    }
    out->starts[image + 1] = out->count;
    pdm_arena_deinit(&local);
}

static bool check_propose(pdm_k *k, propose *p)
{
    if (!PDM_K_OK(k) || !pdm_is_real(k, p->scores) || !pdm_k_same_dtype(k, p->scores, p->deltas) ||
        !pdm_k_rank_is(k, p->scores, 4, "the tensor of scores") ||
        !pdm_k_rank_is(k, p->deltas, 4, "the tensor of deltas"))
        return false;
    p->batch = p->scores->dims[0];
    p->num = p->scores->dims[1];
    p->h = p->scores->dims[2];
    p->w = p->scores->dims[3];
    const int64_t all = p->num * p->h * p->w;
    if (p->deltas->dims[0] != p->batch || p->deltas->dims[1] != 4 * p->num ||
        p->deltas->dims[2] != p->h || p->deltas->dims[3] != p->w ||
        pdm_tensor_count(p->anchors) != 4 * all ||
        (p->variances && pdm_tensor_count(p->variances) != 4 * all) ||
        pdm_tensor_count(p->info) != p->batch * (p->scaled ? 3 : 2))
        pdm_k_fail(k, "operands do not fit together");
    return PDM_K_OK(k);
}

static void propose_all(pdm_k *k, pdm_arena *arena, const propose *p, proposals *out)
{
    out->starts = pdm_k_scratch(k, arena, p->batch + 1, sizeof *out->starts);
    for (int64_t i = 0; PDM_K_OK(k) && i < p->batch; i++)
        propose_image(k, arena, p, i, out);
}

static void put_numbers(pdm_tensor *out, const double *from)
{
    for (int64_t i = 0, n = out ? pdm_tensor_count(out) : 0; i < n; i++)
        pdm_set_double(out, i, from[i]);
}

static void put_counts(int32_t *out, const int64_t *starts, int64_t n)
{
    for (int64_t i = 0; out && i < n; i++)
        out[i] = (int32_t)(starts[i + 1] - starts[i]);
}

pdm_status pdm_kernel_generate_proposals(pdm_k *k)
{
    propose p = {.scores = pdm_k_in(k, 0),
                 .deltas = pdm_k_in(k, 1),
                 .info = pdm_k_in(k, 2),
                 .anchors = pdm_k_in(k, 3),
                 .variances = pdm_k_in_opt(k, 4),
                 .pre_top = pdm_k_int(k, "pre_nms_top_n"),
                 .post_top = pdm_k_int(k, "post_nms_top_n"),
                 .threshold = pdm_k_float(k, "nms_thresh"),
                 .min_size = pdm_k_float(k, "min_size"),
                 .eta = pdm_k_float(k, "eta"),
                 .pixel_offset = pdm_k_bool(k, "pixel_offset")};
    proposals made = {0};
    pdm_arena arena;

    if (!check_propose(k, &p))
        return k->status;
    pdm_arena_init(&arena);
    propose_all(k, &arena, &p, &made);
    for (size_t i = 0; PDM_K_OK(k) && i < 2; i++)
        if (pdm_k_wants(k, i) &&
            pdm_k_out(k, i, p.scores->dtype, 2, PDM_DIMS(made.count, i ? 1 : 4)))
            put_numbers(pdm_k_out_tensor(k, i), i ? made.scores : made.boxes);
    if (PDM_K_OK(k) && pdm_k_wants(k, 2))
        put_counts(pdm_k_out(k, 2, PDM_I32, 1, &p.batch), made.starts, p.batch);
    pdm_arena_deinit(&arena);
    return k->status;
}

pdm_status pdm_kernel_legacy_generate_proposals(pdm_k *k)
{
    propose p = {.scores = pdm_k_slot_in(k, "Scores"),
                 .deltas = pdm_k_slot_in(k, "BboxDeltas"),
                 .info = pdm_k_slot_in(k, "ImInfo"),
                 .anchors = pdm_k_slot_in(k, "Anchors"),
                 .variances = pdm_k_slot(k, "Variances"),
                 .pre_top = pdm_k_int(k, "pre_nms_topN"),
                 .post_top = pdm_k_int(k, "post_nms_topN"),
                 .threshold = pdm_k_float(k, "nms_thresh"),
                 .min_size = pdm_k_float(k, "min_size"),
                 .eta = pdm_k_float_or(k, "eta", 1),
                 .pixel_offset = true,
                 .scaled = true};
    proposals made = {0};
    pdm_arena arena;

    if (!check_propose(k, &p))
        return k->status;
    pdm_arena_init(&arena);
    propose_all(k, &arena, &p, &made);
    if (PDM_K_OK(k)) {
        pdm_tensor *rois =
            pdm_k_slot_out(k, "RpnRois", p.scores->dtype, 2, PDM_DIMS(made.count, 4));
        pdm_tensor *probs =
            pdm_k_slot_out(k, "RpnRoiProbs", p.scores->dtype, 2, PDM_DIMS(made.count, 1));
        pdm_tensor *num = pdm_k_slot_out(k, "RpnRoisNum", PDM_I32, 1, &p.batch);
        put_numbers(rois, made.boxes);
        put_numbers(probs, made.scores);
        put_counts(num ? num->data : NULL, made.starts, p.batch);
        pdm_k_set_lod1(k, rois, made.starts, p.batch);
        pdm_k_set_lod1(k, probs, made.starts, p.batch);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- distribute_fpn_proposals ---------------------------------------------------------------- */

/* The level that a box of this size belongs to. */
static int64_t level_of(const pdm_tensor *rois, int64_t i, int64_t refer_level, int64_t refer_scale,
                        bool pixel_offset)
{
    double area, level;

    if (rois->dtype == PDM_F32) {
        area = (double)pdm_box_area_f32((const float *)rois->data + 4 * i, pixel_offset ? 1 : 0);
        const float scale = sqrtf((float)area);
        level = (double)floorf(log2f(scale / (float)refer_scale + 1e-6f) + (float)refer_level);
    } else {
        area = pdm_box_area_f64((const double *)rois->data + 4 * i, pixel_offset ? 1 : 0);
        level = floor(log2(sqrt(area) / (double)refer_scale + (double)1e-6f) + (double)refer_level);
    }
    return pdm_int_of_double(level);
}

static void put_level(pdm_k *k, pdm_arena *arena, const pdm_tensor *rois, const pdm_rois *images,
                      const int64_t *level, int64_t l, size_t slot, int64_t count, int64_t *place,
                      int64_t before)
{
    const size_t row = 4 * pdm_dtype_size(rois->dtype);
    int64_t *starts = pdm_k_scratch(k, arena, images->images + 1, sizeof *starts);
    char *out =
        pdm_k_wants(k, 0) ? pdm_k_out_at(k, 0, slot, rois->dtype, 2, PDM_DIMS(count, 4)) : NULL;
    int64_t n = 0;

    for (int64_t s = 0; PDM_K_OK(k) && s < images->images; s++) {
        for (int64_t i = images->off[s]; i < images->off[s + 1]; i++) {
            if (level[i] != l)
                continue;
            if (out)
                memcpy(out + (size_t)n * row, (const char *)rois->data + (size_t)i * row, row);
            place[i] = before + n++;
        }
        starts[s + 1] = n;
    }
    if (!PDM_K_OK(k))
        return;
    pdm_value *value = pdm_k_out_value(k, 0);
    if (out && value)
        pdm_k_set_lod1(
            k, value->kind == PDM_VALUE_LIST ? &value->list.items[slot]->tensor : &value->tensor,
            starts, images->images);
    if (pdm_k_wants(k, 1))
        put_counts(pdm_k_out_at(k, 1, slot, PDM_I32, 1, &images->images), starts, images->images);
}

pdm_status pdm_kernel_distribute_fpn_proposals(pdm_k *k)
{
    const pdm_tensor *rois = pdm_k_in(k, 0);
    const int64_t min = pdm_k_int(k, "min_level"), max = pdm_k_int(k, "max_level");
    const int64_t refer_level = pdm_k_int(k, "refer_level"), scale = pdm_k_int(k, "refer_scale");
    const bool pixel_offset = pdm_k_bool(k, "pixel_offset");
    pdm_rois images;
    pdm_arena arena;

    if (!PDM_K_OK(k) || !pdm_is_real(k, rois) || !pdm_k_rank_is(k, rois, 2, "the tensor of boxes"))
        return k->status;
    if (rois->dims[1] != 4 || max < min || max - min > 1000)
        return pdm_k_fail(k, "boxes of %lld numbers go to levels %lld to %lld",
                          (long long)rois->dims[1], (long long)min, (long long)max);
    pdm_arena_init(&arena);
    const int64_t n = rois->dims[0], levels = max - min + 1;
    pdm_rois_of(k, &arena, rois, pdm_k_in_opt(k, 1), &images);
    int64_t *level = pdm_k_scratch(k, &arena, n, sizeof *level);
    int64_t *place = pdm_k_scratch(k, &arena, n, sizeof *place);
    int64_t *counts = pdm_k_scratch(k, &arena, levels, sizeof *counts), before = 0;
    for (int64_t i = 0; PDM_K_OK(k) && i < n; i++) {
        level[i] = level_of(rois, i, refer_level, scale, pixel_offset);
        level[i] = level[i] < min ? min : level[i] > max ? max : level[i];
        counts[level[i] - min]++;
    }
    for (int64_t l = 0; PDM_K_OK(k) && l < levels; l++) {
        put_level(k, &arena, rois, &images, level, min + l, (size_t)l, counts[l], place, before);
        before += counts[l];
    }
    int32_t *restore =
        PDM_K_OK(k) && pdm_k_wants(k, 2) ? pdm_k_out(k, 2, PDM_I32, 2, PDM_DIMS(n, 1)) : NULL;
    for (int64_t i = 0; restore && i < n; i++)
        restore[i] = (int32_t)place[i];
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- collect_fpn_proposals ------------------------------------------------------------------- */

typedef struct collected { /* all boxes of all levels behind each other */
    double *score;
    int64_t *image, *level, *row;
    int64_t count, images;
} collected;

static void collect_level(pdm_k *k, pdm_arena *arena, size_t level, collected *c)
{
    const pdm_tensor *rois = pdm_k_list_at(k, 0, level), *scores = pdm_k_list_at(k, 1, level);
    const pdm_tensor *counts = pdm_k_list_count(k, 2) > level ? pdm_k_list_at(k, 2, level) : NULL;
    pdm_rois images;

    if (!PDM_K_OK(k) || !pdm_k_rank_is(k, rois, 2, "a tensor of boxes") ||
        !pdm_rois_of(k, arena, rois, counts, &images))
        return;
    if (rois->dims[1] != 4 || pdm_tensor_count(scores) != rois->dims[0] ||
        (level && images.images != c->images)) {
        pdm_k_fail(k, "boxes and scores of level %zu do not fit", level);
        return;
    }
    c->images = images.images;
    for (int64_t s = 0; s < images.images; s++) {
        for (int64_t i = images.off[s]; i < images.off[s + 1]; i++, c->count++) {
            c->score[c->count] = pdm_get_double(scores, i);
            c->image[c->count] = s;
            c->level[c->count] = (int64_t)level;
            c->row[c->count] = i;
        }
    }
}

pdm_status pdm_kernel_collect_fpn_proposals(pdm_k *k)
{
    const int64_t top = pdm_k_int(k, "post_nms_topn");
    const size_t levels = pdm_k_list_count(k, 0);
    collected c = {0};
    pdm_arena arena;
    int64_t all = 0;

    if (levels == 0)
        return pdm_k_fail(k, "there are no levels");
    for (size_t l = 0; PDM_K_OK(k) && l < levels; l++) {
        const pdm_tensor *rois = pdm_k_list_at(k, 0, l);
        if (rois && rois->rank > 0 && rois->dims[0] < INT32_MAX)
            all += rois->dims[0];
    }
    pdm_arena_init(&arena);
    c.score = pdm_k_scratch(k, &arena, all, sizeof *c.score);
    c.image = pdm_k_scratch(k, &arena, all, sizeof *c.image);
    c.level = pdm_k_scratch(k, &arena, all, sizeof *c.level);
    c.row = pdm_k_scratch(k, &arena, all, sizeof *c.row);
    int64_t *index = pdm_k_scratch(k, &arena, all, sizeof *index);
    int64_t *temp = pdm_k_scratch(k, &arena, all, sizeof *temp);
    double *keys = pdm_k_scratch(k, &arena, all, sizeof *keys);
    for (size_t l = 0; PDM_K_OK(k) && l < levels; l++)
        collect_level(k, &arena, l, &c);
    int64_t *starts = pdm_k_scratch(k, &arena, c.images + 1, sizeof *starts);
    if (PDM_K_OK(k)) {
        for (int64_t i = 0; i < c.count; i++) {
            index[i] = i;
            keys[i] = -(double)c.image[i];
        }
        pdm_sort_down(index, c.count, c.score, temp);
        const int64_t n = top < 0 ? 0 : top < c.count ? top : c.count;
        pdm_sort_down(index, n, keys, temp);
        const pdm_dtype dtype = pdm_k_list_at(k, 0, 0)->dtype;
        pdm_tensor *out = pdm_k_wants(k, 0) && pdm_k_out(k, 0, dtype, 2, PDM_DIMS(n, 4))
                              ? pdm_k_out_tensor(k, 0)
                              : NULL;
        for (int64_t i = 0; i < n; i++) {
            const pdm_tensor *rois = pdm_k_list_at(k, 0, (size_t)c.level[index[i]]);
            for (int64_t j = 0; out && j < 4; j++)
                pdm_set_double(out, 4 * i + j, pdm_get_double(rois, 4 * c.row[index[i]] + j));
            starts[c.image[index[i]] + 1]++;
        }
        for (int64_t s = 0; s < c.images; s++)
            starts[s + 1] += starts[s];
        pdm_k_set_lod1(k, out, starts, c.images);
        if (pdm_k_wants(k, 1))
            put_counts(pdm_k_out(k, 1, PDM_I32, 1, &c.images), starts, c.images);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}
