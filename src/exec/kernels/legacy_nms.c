/* Legacy suppression of boxes. */
#include <math.h>
#include <stdlib.h>

#include "exec/kernels/detection_impl.h"
#include "exec/kernels/legacy_sub.h"

/* ---- locality_aware_nms ---------------------------------------------------------------------- */

/* Box i joins box `head` with the weight of its score. */
static void merge(pdm_tensor *boxes, pdm_tensor *scores, int64_t base, int64_t size, int64_t head,
                  int64_t i)
{
    const double a = pdm_get_double(scores, base + i), b = pdm_get_double(scores, base + head);

    for (int64_t c = 0; c < size; c++) {
        const int64_t from = (base + i) * size + c, to = (base + head) * size + c;
        pdm_set_double(boxes, to,
                       (pdm_get_double(boxes, from) * a + pdm_get_double(boxes, to) * b) / (a + b));
    }
    pdm_set_double(scores, base + head, a + b);
}

/* Each box in turn joins the last group when it overlaps it. What joined loses its score. */
static void merge_image(pdm_tensor *boxes, pdm_tensor *scores, int64_t image, double threshold,
                        bool normalized)
{
    const int64_t n = boxes->dims[1], size = boxes->dims[2], base = image * n;
    const pdm_boxes view = {boxes->dtype,
                            (const char *)boxes->data +
                                (size_t)(base * size) * pdm_dtype_size(boxes->dtype),
                            size, (int)size};
    int64_t head = 0;

    for (int64_t i = 1; i < n; i++) {
        if (pdm_boxes_overlap(&view, i, head, normalized) > threshold) {
            merge(boxes, scores, base, size, head, i);
            pdm_set_double(scores, base + i, -(double)INFINITY);
        } else {
            head = i;
        }
    }
}

pdm_status pdm_kernel_old_locality_aware_nms(pdm_k *k)
{
    static const char *const in[] = {"BBoxes", "Scores"}, *const out[] = {"Out"};
    const pdm_tensor *x = pdm_sub_slot(k, "BBoxes"), *y = pdm_sub_slot(k, "Scores");
    const double threshold = pdm_k_float_or(k, "nms_threshold", 0.3);
    const bool normalized = pdm_k_bool_or(k, "normalized", true);
    pdm_tensor boxes = {0}, scores = {0};
    pdm_sub s;

    if (!PDM_K_OK(k) || !pdm_is_real(k, x))
        return k->status;
    if (x->rank != 3 || y->rank != 3 || y->dims[1] != 1 || x->dims[0] != y->dims[0] ||
        x->dims[1] != y->dims[2] || x->dtype != y->dtype)
        return pdm_k_fail(k, "boxes of one class with as many scores are needed");
    if (x->dims[2] != 4 && (x->dims[2] < 8 || x->dims[2] > 32 || x->dims[2] % 8))
        return pdm_k_fail(k, "boxes of %lld numbers", (long long)x->dims[2]);
    if (pdm_tensor_copy(&boxes, x) != PDM_OK || pdm_tensor_copy(&scores, y) != PDM_OK)
        pdm_k_nomem(k);
    for (int64_t i = 0; PDM_K_OK(k) && i < x->dims[0]; i++)
        merge_image(&boxes, &scores, i, threshold, normalized);
    pdm_sub_begin(&s, k, "legacy.multiclass_nms");
    pdm_sub_slots(&s, in, out);
    pdm_sub_in(&s, &boxes);
    pdm_sub_in(&s, &scores);
    pdm_sub_result(&s, pdm_k_out_slot_value(k, "Out"));
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    pdm_tensor_deinit(&boxes);
    pdm_tensor_deinit(&scores);
    return k->status;
}

/* ---- retinanet_detection_output -------------------------------------------------------------- */

typedef struct found {
    double box[4], score;
    int64_t label, number; /* order of arrival */
} found;

typedef struct retina {
    double score_threshold, overlap, eta;
    int64_t top, keep;
    size_t levels;
    int64_t classes;
    found *list; /* of one image: candidates, then what stays */
    int64_t count, capacity;
} retina;

static int best_first(const void *a, const void *b)
{
    const found *x = a, *y = b;

    if (x->score < y->score || x->score > y->score)
        return x->score > y->score ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_class(const void *a, const void *b)
{
    const found *x = a, *y = b;

    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return best_first(a, b);
}

/* The anchor moved and stretched by the deltas, in the image as it was. info: height, width, scale.
 */
static void decode(const double anchor[4], const double d[4], const double info[3], double out[4])
{
    const double w = anchor[2] - anchor[0] + 1, h = anchor[3] - anchor[1] + 1;
    const double x = anchor[0] + w / 2 + d[0] * w, y = anchor[1] + h / 2 + d[1] * h;
    const double half_w = exp(d[2]) * w / 2, half_h = exp(d[3]) * h / 2;
    const double most[2] = {floor(info[1] / info[2] + 0.5) - 1, floor(info[0] / info[2] + 0.5) - 1};

    out[0] = x - half_w;
    out[1] = y - half_h;
    out[2] = x + half_w - 1;
    out[3] = y + half_h - 1;
    for (int i = 0; i < 4; i++)
        out[i] = fmax(fmin(out[i] / info[2], most[i % 2]), 0);
}

static void read4(const pdm_tensor *t, int64_t row, double out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = pdm_get_double(t, 4 * row + i);
}

/* The best of one level that are above the threshold; of the last level all above 0. */
static void level_candidates(pdm_k *k, retina *r, size_t level, int64_t image, const double info[3])
{
    const pdm_tensor *deltas = pdm_k_slot_at(k, "BBoxes", level);
    const pdm_tensor *scores = pdm_k_slot_at(k, "Scores", level);
    const pdm_tensor *anchors = pdm_k_slot_at(k, "Anchors", level);
    const int64_t n = scores->dims[1], first = r->count;
    const double threshold = level + 1 < r->levels ? r->score_threshold : 0;

    for (int64_t i = 0; i < n * r->classes; i++) {
        const double score = pdm_get_double(scores, image * n * r->classes + i);
        if (score > threshold)
            r->list[r->count++] = (found){.score = score, .number = i};
    }
    qsort(r->list + first, (size_t)(r->count - first), sizeof *r->list, best_first);
    if (r->top > -1 && r->count - first > r->top)
        r->count = first + r->top;
    for (int64_t i = first; i < r->count; i++) {
        double anchor[4], d[4];
        found *f = &r->list[i];
        read4(anchors, f->number / r->classes, anchor);
        read4(deltas, image * n + f->number / r->classes, d);
        decode(anchor, d, info, f->box);
        f->label = f->number % r->classes;
        f->number = i;
    }
}

static double overlap(const double a[4], const double b[4])
{
    const double w = fmin(a[2], b[2]) - fmax(a[0], b[0]) + 1;
    const double h = fmin(a[3], b[3]) - fmax(a[1], b[1]) + 1;
    const double area =
        (a[2] - a[0] + 1) * (a[3] - a[1] + 1) + (b[2] - b[0] + 1) * (b[3] - b[1] + 1);

    return w > 0 && h > 0 ? w * h / (area - w * h) : 0;
}

/* Greedy suppression within each class, then the best of all. */
static void suppress(retina *r)
{
    int64_t kept = 0, class_begin = 0;
    double threshold = r->overlap;

    qsort(r->list, (size_t)r->count, sizeof *r->list, by_class);
    for (int64_t i = 0; i < r->count; i++) {
        bool keep = true;
        if (kept == class_begin || r->list[kept - 1].label != r->list[i].label) {
            class_begin = kept;
            threshold = r->overlap;
        }
        for (int64_t j = class_begin; j < kept && keep; j++)
            keep = overlap(r->list[j].box, r->list[i].box) <= threshold;
        if (!keep)
            continue;
        r->list[kept++] = r->list[i];
        if (r->eta < 1 && threshold > 0.5)
            threshold *= r->eta;
    }
    qsort(r->list, (size_t)kept, sizeof *r->list, best_first);
    r->count = r->keep > -1 && kept > r->keep ? r->keep : kept;
}

static bool retina_fits(pdm_k *k, retina *r)
{
    const pdm_tensor *info = pdm_sub_slot(k, "ImInfo"), *first = pdm_sub_slot(k, "Scores");

    if (!PDM_K_OK(k))
        return false;
    bool good = info->rank == 2 && info->dims[1] == 3 && first->rank == 3;
    r->classes = good ? first->dims[2] : 0;
    for (size_t i = 0; good && i < r->levels; i++) {
        const pdm_tensor *deltas = pdm_k_slot_at(k, "BBoxes", i);
        const pdm_tensor *scores = pdm_k_slot_at(k, "Scores", i);
        const pdm_tensor *anchors = pdm_k_slot_at(k, "Anchors", i);
        good = deltas && scores && anchors && scores->rank == 3 && deltas->rank == 3 &&
               anchors->rank == 2 && anchors->dims[1] == 4 && deltas->dims[2] == 4 &&
               deltas->dims[1] == scores->dims[1] && anchors->dims[0] == scores->dims[1] &&
               scores->dims[2] == r->classes && scores->dims[0] == info->dims[0] &&
               deltas->dims[0] == info->dims[0];
        r->capacity += good ? scores->dims[1] * r->classes : 0;
    }
    if (!good)
        pdm_k_fail(k, "the levels do not fit each other");
    return good;
}

/* Rows of one image behind those of the images before. */
static pdm_status put_image(pdm_k *k, const retina *r, pdm_tensor *all, int64_t *total)
{
    pdm_tensor more = {0};
    const int64_t dims[2] = {*total + r->count, 6};

    if (pdm_tensor_alloc(&more, all->dtype, 2, dims) != PDM_OK)
        return pdm_k_nomem(k);
    memcpy(more.data, all->data, pdm_tensor_bytes(all));
    for (int64_t i = 0; i < r->count; i++) {
        const found *f = &r->list[i];
        const int64_t at = (*total + i) * 6;
        pdm_set_double(&more, at, (double)f->label + 1);
        pdm_set_double(&more, at + 1, f->score);
        for (int c = 0; c < 4; c++)
            pdm_set_double(&more, at + 2 + c, f->box[c]);
    }
    pdm_tensor_deinit(all);
    *all = more;
    *total += r->count;
    return PDM_OK;
}

pdm_status pdm_kernel_old_retinanet_output(pdm_k *k)
{
    retina r = {.score_threshold = pdm_k_float(k, "score_threshold"),
                .overlap = pdm_k_float(k, "nms_threshold"),
                .eta = pdm_k_float(k, "nms_eta"),
                .top = pdm_k_int(k, "nms_top_k"),
                .keep = pdm_k_int(k, "keep_top_k"),
                .levels = pdm_k_slot_count(k, "Scores")};
    const pdm_tensor *info = pdm_k_slot(k, "ImInfo");
    pdm_tensor *out = pdm_k_out_slot(k, "Out");
    int64_t total = 0;

    if (!retina_fits(k, &r) || !out)
        return k->status;
    const size_t images = (size_t)info->dims[0];
    int64_t *offsets = pdm_k_temp(k, (images + 1) * sizeof *offsets);
    r.list = pdm_k_temp(k, ((size_t)r.capacity + 1) * sizeof *r.list);
    if (!offsets || !r.list)
        return k->status;
    pdm_tensor all = {0};
    if (pdm_tensor_alloc(&all, pdm_k_slot(k, "Scores")->dtype, 2, (const int64_t[]){0, 6}) !=
        PDM_OK)
        return pdm_k_nomem(k);
    offsets[0] = 0;
    for (size_t i = 0; i < images && PDM_K_OK(k); i++) {
        const double of[3] = {pdm_get_double(info, 3 * (int64_t)i),
                              pdm_get_double(info, 3 * (int64_t)i + 1),
                              pdm_get_double(info, 3 * (int64_t)i + 2)};
        r.count = 0;
        for (size_t l = 0; l < r.levels; l++)
            level_candidates(k, &r, l, (int64_t)i, of);
        suppress(&r);
        put_image(k, &r, &all, &total);
        offsets[i + 1] = total;
    }
    const size_t count = images + 1;
    if (PDM_K_OK(k) &&
        pdm_tensor_set_lod(&all, 1, (const int64_t *const[]){offsets}, &count) != PDM_OK)
        pdm_k_nomem(k);
    if (PDM_K_OK(k))
        pdm_tensor_ref(out, &all);
    pdm_tensor_deinit(&all);
    return k->status;
}
