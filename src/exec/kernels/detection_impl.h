/*
 * What detection kernels share: overlaps of boxes, sorting by score, greedy suppression, growing
 * lists.
 *
 * Decisions (an overlap against a threshold) are made in the operands' own precision, as the
 * framework does; so there is a form for float and one for double of everything that decides.
 */
#ifndef PDM_EXEC_KERNELS_DETECTION_IMPL_H
#define PDM_EXEC_KERNELS_DETECTION_IMPL_H

#include "exec/kernels/scratch.h"

/* A growing list of numbers in an arena (memory of outgrown blocks stays there until the end). */
typedef struct pdm_ints {
    int64_t *at;
    int64_t count, capacity;
} pdm_ints;

bool pdm_ints_push(pdm_k *k, pdm_arena *arena, pdm_ints *list, int64_t value);

/* Sort indices so that keys[index] descends; equal keys keep their order. temp: as many places. */
void pdm_sort_down(int64_t *index, int64_t n, const double *keys, int64_t *temp);
/* Sort ascending numbers. */
void pdm_sort_ints(int64_t *values, int64_t n);

/* Area of a box (x1, y1, x2, y2) and the overlap of two over their union. add: 1 when coordinates
 * are those of pixels, else 0. */
float pdm_box_area_f32(const float *box, float add);
double pdm_box_area_f64(const double *box, double add);
float pdm_box_overlap_f32(const float *a, const float *b, float add);
double pdm_box_overlap_f64(const double *a, const double *b, double add);
/* The same for convex or concave polygons with `points` corners (8, 16, 24, 32 numbers). */
double pdm_polygon_overlap(const double *a, const double *b, int points);

/* Boxes of one class for suppression: box i stands at data + i * stride elements. */
typedef struct pdm_boxes {
    pdm_dtype dtype; /* f32 or f64 */
    const void *data;
    int64_t stride;
    int size; /* numbers of a box: 4, or 8, 16, 24, 32 for polygons */
} pdm_boxes;

/*
 * Greedy suppression. index: candidates, best first; those kept stay in front, their number is
 * returned. eta < 1 lowers the threshold (while above 0.5) with each box that is kept.
 */
int64_t pdm_nms_greedy(const pdm_boxes *boxes, int64_t *index, int64_t n, double threshold,
                       double eta, bool normalized);
/* Candidates with a score above the threshold, best first, at most top_k (negative: all). scores at
 * data + i * stride. Returns how many are in index (room for n). */
int64_t pdm_nms_candidates(pdm_k *k, pdm_arena *arena, const pdm_tensor *scores, int64_t first,
                           int64_t stride, int64_t n, double threshold, int64_t top_k,
                           int64_t *index);
double pdm_boxes_overlap(const pdm_boxes *boxes, int64_t i, int64_t j, bool normalized);

/* Images of a tensor of boxes: offsets (rois of image i: [off[i], off[i+1])) from counts or LoD. */
typedef struct pdm_rois {
    const int64_t *off;
    int64_t images;
} pdm_rois;
bool pdm_rois_of(pdm_k *k, pdm_arena *arena, const pdm_tensor *rois, const pdm_tensor *counts,
                 pdm_rois *out);

static inline bool pdm_is_real(pdm_k *k, const pdm_tensor *t)
{
    if (PDM_K_OK(k) && t->dtype != PDM_F32 && t->dtype != PDM_F64)
        pdm_k_unsupported_dtype(k, t->dtype);
    return PDM_K_OK(k);
}

#endif
