/* Suppression of overlapping boxes: multiclass_nms (all forms), matrix_nms, nms. */
#include "exec/kernels/detection_impl.h"

#include <math.h>

/* ---- multiclass_nms -------------------------------------------------------------------------- */

typedef struct params {
    double score_threshold, nms_threshold, eta;
    int64_t nms_top_k, keep_top_k, background;
    bool normalized;
} params;

/* One detection: a row of the result. box and score are element offsets in their tensors. */
typedef struct detection {
    int64_t label, box, score, index;
} detection;

typedef struct detections {
    detection *at;
    int64_t count, capacity;
} detections;

static bool add_detection(pdm_k *k, pdm_arena *arena, detections *list, detection d)
{
    if (list->count == list->capacity) {
        const int64_t capacity = list->capacity ? 2 * list->capacity : 64;
        detection *at = pdm_k_scratch(k, arena, capacity, sizeof *at);
        if (!at)
            return false;
        if (list->count)
            memcpy(at, list->at, (size_t)list->count * sizeof *at);
        list->at = at;
        list->capacity = capacity;
    }
    list->at[list->count++] = d;
    return true;
}

/* Where the boxes and scores of one image are: element offsets and strides. */
typedef struct image {
    int64_t boxes, scores; /* first elements */
    int64_t num_boxes, num_classes;
    int64_t box_stride, box_class; /* from box to box, from class to class */
    int64_t score_stride, score_class;
    int64_t index_base, index_stride, index_class; /* what the result index counts */
    bool sorted; /* kept boxes are in order of their place, not of scores */
} image;

/* Only the best of all classes stay, grouped by class again. */
static void keep_best(pdm_k *k, pdm_arena *arena, const pdm_tensor *scores, detections *list,
                      int64_t first, int64_t keep, bool sorted)
{
    const int64_t n = list->count - first;
    double *keys = pdm_k_scratch(k, arena, n, sizeof *keys);
    int64_t *index = pdm_k_scratch(k, arena, n, sizeof *index);
    int64_t *temp = pdm_k_scratch(k, arena, n, sizeof *temp);
    detection *old = pdm_k_scratch(k, arena, n, sizeof *old);

    if (!PDM_K_OK(k))
        return;
    for (int64_t i = 0; i < n; i++) {
        old[i] = list->at[first + i];
        keys[i] = pdm_get_double(scores, old[i].score);
        index[i] = i;
    }
    pdm_sort_down(index, n, keys, temp);
    /* By label, stable: those of a class in order of score, or of place. */
    for (int64_t i = 0; i < n; i++)
        keys[i] = -(double)old[i].label;
    if (sorted)
        pdm_sort_ints(index, keep); /* places ascend within a class as the list was made */
    pdm_sort_down(index, keep, keys, temp);
    for (int64_t i = 0; i < keep; i++)
        list->at[first + i] = old[index[i]];
    list->count = first + keep;
}

static void detect(pdm_k *k, pdm_arena *arena, const params *p, const pdm_tensor *bboxes,
                   const pdm_tensor *scores, const image *im, detections *list)
{
    const int64_t first = list->count;
    int64_t *index = pdm_k_scratch(k, arena, im->num_boxes, sizeof *index);
    pdm_boxes boxes = {.dtype = bboxes->dtype,
                       .stride = im->box_stride,
                       .size = (int)bboxes->dims[bboxes->rank - 1]};

    for (int64_t c = 0; PDM_K_OK(k) && c < im->num_classes; c++) {
        if (c == p->background)
            continue;
        pdm_arena local;
        pdm_arena_init(&local);
        const int64_t box0 = im->boxes + c * im->box_class;
        const int64_t score0 = im->scores + c * im->score_class;
        boxes.data = (const char *)bboxes->data + box0 * (int64_t)pdm_dtype_size(bboxes->dtype);
        int64_t n = pdm_nms_candidates(k, &local, scores, score0, im->score_stride, im->num_boxes,
                                       p->score_threshold, p->nms_top_k, index);
        n = pdm_nms_greedy(&boxes, index, n, p->nms_threshold, p->eta, p->normalized);
        pdm_arena_deinit(&local);
        if (im->sorted)
            pdm_sort_ints(index, n);
        for (int64_t i = 0; i < n; i++) {
            const detection d = {.label = c,
                                 .box = box0 + index[i] * im->box_stride,
                                 .score = score0 + index[i] * im->score_stride,
                                 .index = im->index_base + index[i] * im->index_stride +
                                          c * im->index_class};
            if (!add_detection(k, arena, list, d))
                return;
        }
    }
    if (PDM_K_OK(k) && p->keep_top_k > -1 && list->count - first > p->keep_top_k)
        keep_best(k, arena, scores, list, first, p->keep_top_k, im->sorted);
}

static bool fits(pdm_k *k, const pdm_tensor *bboxes, const pdm_tensor *scores)
{
    if (!PDM_K_OK(k) || !pdm_is_real(k, bboxes) || !pdm_k_same_dtype(k, bboxes, scores) ||
        !pdm_k_rank_is(k, bboxes, 3, "the tensor of boxes"))
        return false;
    const int64_t size = bboxes->dims[2];
    if (size != 4 && size != 8 && size != 16 && size != 24 && size != 32)
        pdm_k_fail(k, "a box has %lld numbers", (long long)size);
    else if (scores->rank == 3 &&
             (scores->dims[0] != bboxes->dims[0] || scores->dims[2] != bboxes->dims[1]))
        pdm_k_fail(k, "boxes and scores do not fit together");
    else if (scores->rank == 2 &&
             (scores->dims[0] != bboxes->dims[0] || scores->dims[1] != bboxes->dims[1]))
        pdm_k_fail(k, "boxes and scores do not fit together");
    else if (scores->rank != 2 && scores->rank != 3)
        pdm_k_fail(k, "scores have %d dimensions", scores->rank);
    return PDM_K_OK(k);
}

/* All images; starts[i]: where the detections of image i begin (room for images + 1). */
static void detect_all(pdm_k *k, pdm_arena *arena, const params *p, const pdm_tensor *bboxes,
                       const pdm_tensor *scores, const pdm_rois *rois, detections *list,
                       int64_t *starts)
{
    const int64_t size = bboxes->dims[2];
    const bool batch = scores->rank == 3;
    const int64_t images = batch ? scores->dims[0] : rois->images;
    image im = {.num_classes = scores->dims[1], .sorted = !batch};

    for (int64_t i = 0; PDM_K_OK(k) && i < images; i++) {
        if (batch) {
            im.num_boxes = scores->dims[2];
            im.boxes = i * im.num_boxes * size;
            im.scores = i * im.num_classes * im.num_boxes;
            im.box_stride = size;
            im.score_stride = 1;
            im.score_class = im.num_boxes;
            im.index_base = i * im.num_boxes;
            im.index_stride = 1;
        } else {
            im.num_boxes = rois->off[i + 1] - rois->off[i];
            im.boxes = rois->off[i] * im.num_classes * size;
            im.scores = rois->off[i] * im.num_classes;
            im.box_stride = im.num_classes * size;
            im.box_class = size;
            im.score_stride = im.num_classes;
            im.score_class = 1;
            im.index_base = rois->off[i] * im.num_classes;
            im.index_stride = im.num_classes;
            im.index_class = 1;
        }
        starts[i] = list->count;
        detect(k, arena, p, bboxes, scores, &im, list);
    }
    starts[images] = list->count;
}

static void put_rows(const detections *list, const pdm_tensor *bboxes, const pdm_tensor *scores,
                     pdm_tensor *out)
{
    const int64_t size = bboxes->dims[2];

    for (int64_t i = 0; i < list->count; i++) {
        const detection *d = &list->at[i];
        const int64_t row = i * (size + 2);
        pdm_set_double(out, row, (double)d->label);
        pdm_set_double(out, row + 1, pdm_get_double(scores, d->score));
        for (int64_t c = 0; c < size; c++)
            pdm_set_double(out, row + 2 + c, pdm_get_double(bboxes, d->box + c));
    }
}

static void read_params(pdm_k *k, params *p)
{
    *p = (params){.score_threshold = pdm_k_float(k, "score_threshold"),
                  .nms_threshold = pdm_k_float_or(k, "nms_threshold", (double)0.3f),
                  .eta = pdm_k_float_or(k, "nms_eta", 1),
                  .nms_top_k = pdm_k_int(k, "nms_top_k"),
                  .keep_top_k = pdm_k_int(k, "keep_top_k"),
                  .background = pdm_k_int_or(k, "background_label", 0),
                  .normalized = pdm_k_bool_or(k, "normalized", true)};
}

pdm_status pdm_kernel_multiclass_nms3(pdm_k *k)
{
    const pdm_tensor *bboxes = pdm_k_in(k, 0), *scores = pdm_k_in(k, 1);
    const pdm_tensor *counts = pdm_k_in_opt(k, 2);
    pdm_rois rois = {0};
    detections list = {0};
    pdm_arena arena;
    params p;

    read_params(k, &p);
    if (!fits(k, bboxes, scores))
        return k->status;
    pdm_arena_init(&arena);
    if (scores->rank == 2)
        pdm_rois_of(
            k, &arena,
            &(pdm_tensor){
                .dtype = PDM_F32, .rank = 2, .dims = {scores->dims[0], 1}, .lod = bboxes->lod},
            counts, &rois);
    const int64_t images = scores->rank == 3 ? scores->dims[0] : rois.images;
    int64_t *starts = pdm_k_scratch(k, &arena, images + 1, sizeof *starts);
    if (PDM_K_OK(k))
        detect_all(k, &arena, &p, bboxes, scores, &rois, &list, starts);
    if (PDM_K_OK(k) && pdm_k_wants(k, 0) &&
        pdm_k_out(k, 0, bboxes->dtype, 2, PDM_DIMS(list.count, bboxes->dims[2] + 2)))
        put_rows(&list, bboxes, scores, pdm_k_out_tensor(k, 0));
    int32_t *index =
        pdm_k_wants(k, 1) ? pdm_k_out(k, 1, PDM_I32, 2, PDM_DIMS(list.count, 1)) : NULL;
    for (int64_t i = 0; index && i < list.count; i++)
        index[i] = (int32_t)list.at[i].index;
    int32_t *num = pdm_k_wants(k, 2) ? pdm_k_out(k, 2, PDM_I32, 1, &images) : NULL;
    for (int64_t i = 0; num && i < images; i++)
        num[i] = (int32_t)(starts[i + 1] - starts[i]);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* One row of -1 stands for no detections when there is no index to tell it. */
static void nothing_found(pdm_k *k, const pdm_tensor *bboxes, int64_t *starts, int64_t *images)
{
    pdm_tensor *out = pdm_k_slot_out(k, "Out", bboxes->dtype, 2, PDM_DIMS(1, 1));

    if (out)
        pdm_set_double(out, 0, -1);
    starts[0] = 0;
    starts[1] = 1;
    *images = 1;
    pdm_k_set_lod1(k, out, starts, *images);
}

/* multiclass_nms and multiclass_nms2 (the latter with an index) */
pdm_status pdm_kernel_legacy_multiclass_nms(pdm_k *k)
{
    const pdm_tensor *bboxes = pdm_k_slot_in(k, "BBoxes"), *scores = pdm_k_slot_in(k, "Scores");
    const bool with_index = strcmp(k->op, "legacy.multiclass_nms") != 0;
    pdm_rois rois = {0};
    detections list = {0};
    pdm_arena arena;
    params p;

    read_params(k, &p);
    if (!fits(k, bboxes, scores))
        return k->status;
    pdm_arena_init(&arena);
    if (scores->rank == 2) {
        pdm_seqs seqs = {0};
        if (pdm_k_row_seqs(k, bboxes, &seqs))
            rois = (pdm_rois){seqs.off, seqs.count};
    }
    int64_t images = scores->rank == 3 ? scores->dims[0] : rois.images;
    int64_t *starts = pdm_k_scratch(k, &arena, images + 2, sizeof *starts);
    if (PDM_K_OK(k))
        detect_all(k, &arena, &p, bboxes, scores, &rois, &list, starts);
    if (PDM_K_OK(k) && list.count == 0 && !with_index) {
        nothing_found(k, bboxes, starts, &images);
    } else if (PDM_K_OK(k)) {
        pdm_tensor *out =
            pdm_k_slot_out(k, "Out", bboxes->dtype, 2, PDM_DIMS(list.count, bboxes->dims[2] + 2));
        if (out)
            put_rows(&list, bboxes, scores, out);
        pdm_k_set_lod1(k, out, starts, images);
    }
    pdm_tensor *index = with_index && PDM_K_OK(k)
                            ? pdm_k_slot_out(k, "Index", PDM_I32, 2, PDM_DIMS(list.count, 1))
                            : NULL;
    for (int64_t i = 0; index && i < list.count; i++)
        ((int32_t *)index->data)[i] = (int32_t)list.at[i].index;
    pdm_k_set_lod1(k, index, starts, images);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- nms ------------------------------------------------------------------------------------- */

pdm_status pdm_kernel_nms(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double threshold = pdm_k_float(k, "threshold");
    pdm_arena arena;

    if (!PDM_K_OK(k) || !pdm_is_real(k, x) || !pdm_k_rank_is(k, x, 2, "the tensor of boxes"))
        return k->status;
    if (x->dims[1] != 4)
        return pdm_k_fail(k, "a box has %lld numbers, not 4", (long long)x->dims[1]);
    pdm_arena_init(&arena);
    int64_t *index = pdm_k_scratch(k, &arena, x->dims[0], sizeof *index);
    if (index) {
        const pdm_boxes boxes = {x->dtype, x->data, 4, 4};
        for (int64_t i = 0; i < x->dims[0]; i++)
            index[i] = i;
        const int64_t kept = pdm_nms_greedy(&boxes, index, x->dims[0], threshold, 1, true);
        int64_t *out = pdm_k_out(k, 0, PDM_I64, 1, &kept);
        if (out && kept)
            memcpy(out, index, (size_t)kept * sizeof *out);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- matrix_nms ------------------------------------------------------------------------------ */

typedef struct soft {
    double score_threshold, post_threshold, sigma;
    int64_t nms_top_k, keep_top_k, background;
    bool gaussian, normalized;
} soft;

typedef struct softs { /* detections of one image: class, box, lowered score */
    pdm_ints label, box;
    double *score;
    int64_t room;
} softs;

static bool add_soft(pdm_k *k, pdm_arena *arena, softs *list, int64_t label, int64_t box,
                     double score)
{
    if (list->label.count == list->room) {
        const int64_t room = list->room ? 2 * list->room : 64;
        double *scores = pdm_k_scratch(k, arena, room, sizeof *scores);
        if (!scores)
            return false;
        if (list->room)
            memcpy(scores, list->score, (size_t)list->room * sizeof *scores);
        list->score = scores;
        list->room = room;
    }
    list->score[list->label.count] = score;
    return pdm_ints_push(k, arena, &list->label, label) && pdm_ints_push(k, arena, &list->box, box);
}

/* By how much the overlap with a better box lowers a score; worst: that box's own largest overlap.
 */
static double decay_of(const soft *p, double overlap, double worst, bool single)
{
    if (p->gaussian) {
        const double d = exp((worst * worst - overlap * overlap) * p->sigma);
        return single ? (double)(float)d : d;
    }
    return single ? (double)((1.0f - (float)overlap) / (1.0f - (float)worst))
                  : (1 - overlap) / (1 - worst);
}

static void soft_class(pdm_k *k, pdm_arena *arena, const soft *p, const pdm_boxes *boxes,
                       const pdm_tensor *scores, int64_t score0, int64_t num_boxes, int64_t label,
                       softs *list)
{
    const bool single = boxes->dtype == PDM_F32;
    pdm_arena local;

    pdm_arena_init(&local);
    int64_t *index = pdm_k_scratch(k, &local, num_boxes, sizeof *index);
    const int64_t n = PDM_K_OK(k) ? pdm_nms_candidates(k, &local, scores, score0, 1, num_boxes,
                                                       p->score_threshold, p->nms_top_k, index)
                                  : 0;
    double *overlap = pdm_k_scratch(k, &local, n, sizeof *overlap); /* with better boxes */
    double *worst = pdm_k_scratch(k, &local, n, sizeof *worst);
    for (int64_t i = 0; PDM_K_OK(k) && i < n; i++) {
        double lowest = 1;
        for (int64_t j = 0; j < i; j++) {
            overlap[j] = pdm_boxes_overlap(boxes, index[i], index[j], p->normalized);
            if (overlap[j] > worst[i])
                worst[i] = overlap[j];
        }
        for (int64_t j = 0; j < i; j++)
            lowest = fmin(lowest, decay_of(p, overlap[j], worst[j], single));
        double score = lowest * pdm_get_double(scores, score0 + index[i]);
        if (single)
            score = (double)(float)score;
        if (score > p->post_threshold)
            add_soft(k, arena, list, label, index[i], score);
    }
    pdm_arena_deinit(&local);
}

/* The best detections of an image: places in list, best first. */
static int64_t soft_best(pdm_k *k, pdm_arena *arena, const soft *p, const softs *list,
                         int64_t **out_index)
{
    const int64_t n = list->label.count;
    int64_t *index = pdm_k_scratch(k, arena, n, sizeof *index);
    int64_t *temp = pdm_k_scratch(k, arena, n, sizeof *temp);

    if (!PDM_K_OK(k))
        return 0;
    for (int64_t i = 0; i < n; i++)
        index[i] = i;
    pdm_sort_down(index, n, list->score, temp);
    *out_index = index;
    return p->keep_top_k > -1 && p->keep_top_k < n ? p->keep_top_k : n;
}

static void put_soft(pdm_k *k, const pdm_tensor *bboxes, const softs *all, int64_t *const *index,
                     const int64_t *starts)
{
    const int64_t images = bboxes->dims[0], boxes = bboxes->dims[1], size = bboxes->dims[2];
    const int64_t total = starts[images];
    pdm_tensor *out = NULL;

    if (pdm_k_wants(k, 0) && pdm_k_out(k, 0, bboxes->dtype, 2, PDM_DIMS(total, size + 2)))
        out = pdm_k_out_tensor(k, 0);
    int32_t *places = pdm_k_wants(k, 1) ? pdm_k_out(k, 1, PDM_I32, 2, PDM_DIMS(total, 1)) : NULL;
    int32_t *num = pdm_k_wants(k, 2) ? pdm_k_out(k, 2, PDM_I32, 1, &images) : NULL;
    for (int64_t i = 0; i < images; i++) {
        if (num)
            num[i] = (int32_t)(starts[i + 1] - starts[i]);
        for (int64_t n = starts[i]; n < starts[i + 1]; n++) {
            const int64_t at = index[i][n - starts[i]], box = all[i].box.at[at];
            if (places)
                places[n] = (int32_t)(i * boxes + box);
            if (!out)
                continue;
            pdm_set_double(out, n * (size + 2), (double)all[i].label.at[at]);
            pdm_set_double(out, n * (size + 2) + 1, all[i].score[at]);
            for (int64_t c = 0; c < size; c++)
                pdm_set_double(out, n * (size + 2) + 2 + c,
                               pdm_get_double(bboxes, (i * boxes + box) * size + c));
        }
    }
}

pdm_status pdm_kernel_matrix_nms(pdm_k *k)
{
    const pdm_tensor *bboxes = pdm_k_in(k, 0), *scores = pdm_k_in(k, 1);
    const soft p = {.score_threshold = pdm_k_float(k, "score_threshold"),
                    .post_threshold = pdm_k_float(k, "post_threshold"),
                    .sigma = pdm_k_float(k, "gaussian_sigma"),
                    .nms_top_k = pdm_k_int(k, "nms_top_k"),
                    .keep_top_k = pdm_k_int(k, "keep_top_k"),
                    .background = pdm_k_int(k, "background_label"),
                    .gaussian = pdm_k_bool(k, "use_gaussian"),
                    .normalized = pdm_k_bool(k, "normalized")};
    pdm_arena arena;

    if (!fits(k, bboxes, scores) || !pdm_k_rank_is(k, scores, 3, "the tensor of scores"))
        return k->status;
    pdm_arena_init(&arena);
    const int64_t images = scores->dims[0], classes = scores->dims[1], n = scores->dims[2];
    const int64_t size = bboxes->dims[2];
    softs *all = pdm_k_scratch(k, &arena, images, sizeof *all);
    int64_t **index = pdm_k_scratch(k, &arena, images, sizeof *index);
    int64_t *starts = pdm_k_scratch(k, &arena, images + 1, sizeof *starts);
    for (int64_t i = 0; PDM_K_OK(k) && i < images; i++) {
        const pdm_boxes boxes = {bboxes->dtype,
                                 (const char *)bboxes->data +
                                     i * n * size * (int64_t)pdm_dtype_size(bboxes->dtype),
                                 size, (int)size};
        for (int64_t c = 0; PDM_K_OK(k) && c < classes; c++)
            if (c != p.background)
                soft_class(k, &arena, &p, &boxes, scores, (i * classes + c) * n, n, c, &all[i]);
        starts[i + 1] = starts[i] + soft_best(k, &arena, &p, &all[i], &index[i]);
    }
    if (PDM_K_OK(k))
        put_soft(k, bboxes, all, index, starts);
    pdm_arena_deinit(&arena);
    return k->status;
}
