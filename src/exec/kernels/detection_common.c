/* Overlaps of boxes, sorting by score, greedy suppression. */
#include "exec/kernels/detection_impl.h"

#include <math.h>
#include <stdlib.h>

bool pdm_ints_push(pdm_k *k, pdm_arena *arena, pdm_ints *list, int64_t value)
{
    if (list->count == list->capacity) {
        const int64_t capacity = list->capacity ? 2 * list->capacity : 64;
        int64_t *at = pdm_k_scratch(k, arena, capacity, sizeof *at);
        if (!at)
            return false;
        if (list->count)
            memcpy(at, list->at, (size_t)list->count * sizeof *at);
        list->at = at;
        list->capacity = capacity;
    }
    list->at[list->count++] = value;
    return true;
}

/* ---- sorting --------------------------------------------------------------------------------- */

void pdm_sort_down(int64_t *index, int64_t n, const double *keys, int64_t *temp)
{
    int64_t *from = index, *to = temp;

    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t start = 0; start < n; start += 2 * width) {
            const int64_t mid = start + width < n ? start + width : n;
            const int64_t end = mid + width < n ? mid + width : n;
            int64_t a = start, b = mid;
            for (int64_t i = start; i < end; i++) {
                const bool second = a == mid || (b < end && keys[from[b]] > keys[from[a]]);
                to[i] = second ? from[b++] : from[a++];
            }
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != index && n > 0)
        memcpy(index, from, (size_t)n * sizeof *index);
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void pdm_sort_ints(int64_t *values, int64_t n)
{
    if (n > 1)
        qsort(values, (size_t)n, sizeof *values, ascending);
}

/* ---- overlaps -------------------------------------------------------------------------------- */

#define BOX_FUNCTIONS(code, suffix, type, ...)                                                     \
    type pdm_box_area_##suffix(const type *box, type add)                                          \
    {                                                                                              \
        if (box[2] < box[0] || box[3] < box[1])                                                    \
            return 0;                                                                              \
        const type w = box[2] - box[0], h = box[3] - box[1];                                       \
        return (w + add) * (h + add);                                                              \
    }                                                                                              \
                                                                                                   \
    type pdm_box_overlap_##suffix(const type *a, const type *b, type add)                          \
    {                                                                                              \
        if (b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1])                              \
            return 0;                                                                              \
        const type x1 = a[0] < b[0] ? b[0] : a[0], y1 = a[1] < b[1] ? b[1] : a[1];                 \
        const type x2 = b[2] < a[2] ? b[2] : a[2], y2 = b[3] < a[3] ? b[3] : a[3];                 \
        const type w = x2 - x1 + add, h = y2 - y1 + add;                                           \
        const type both = w * h;                                                                   \
        return both / (pdm_box_area_##suffix(a, add) + pdm_box_area_##suffix(b, add) - both);      \
    }

PDM_K_F32_F64(BOX_FUNCTIONS)

/* Twice the signed area under the part of edge (a, b) that is inside of edge-wedge (0, c, d): the
 * intersection of triangles (0, a, b) and (0, c, d), by clipping. */
typedef struct point {
    double x, y;
} point;

static double turn(point o, point a, point b)
{
    return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

static int sign_of(double v)
{
    return (v > 1e-8) - (v < -1e-8);
}

/* Keep what lies left of the line from a to b. Returns the corners in out (room for n + 1). */
static int clip_half(const point *in, int n, point a, point b, point *out)
{
    int m = 0;

    for (int i = 0; i < n; i++) {
        const point p = in[i], q = in[(i + 1) % n];
        const double sp = turn(a, b, p), sq = turn(a, b, q);
        if (sign_of(sp) >= 0)
            out[m++] = p;
        if (sign_of(sp) * sign_of(sq) < 0) {
            const double t = sp / (sp - sq);
            out[m++] = (point){p.x + t * (q.x - p.x), p.y + t * (q.y - p.y)};
        }
    }
    return m;
}

static double polygon_area(const point *p, int n)
{
    double area = 0;

    for (int i = 1; i + 1 < n; i++)
        area += turn(p[0], p[i], p[i + 1]);
    return area / 2;
}

/* Signed area of the intersection of the triangles that an edge of each polygon makes with a fan
 * point; the sum over all pairs is the area of the intersection, also for concave polygons. */
static double wedge(point o, point a, point b, point c, point d)
{
    const int first = sign_of(turn(o, a, b)), second = sign_of(turn(o, c, d));
    point one[8], two[8], three[8];

    if (first == 0 || second == 0)
        return 0;
    if (first < 0) {
        const point swap = a;
        a = b;
        b = swap;
    }
    if (second < 0) {
        const point swap = c;
        c = d;
        d = swap;
    }
    one[0] = o;
    one[1] = a;
    one[2] = b;
    int n = clip_half(one, 3, o, c, two);
    n = n ? clip_half(two, n, c, d, three) : 0;
    n = n ? clip_half(three, n, d, o, one) : 0;
    const double area = n > 2 ? fabs(polygon_area(one, n)) : 0;
    return first * second * area;
}

double pdm_polygon_overlap(const double *a, const double *b, int points)
{
    point pa[16], pb[16];
    double both = 0;

    if (points > 16)
        return 0;
    for (int i = 0; i < points; i++) {
        pa[i] = (point){a[2 * i], a[2 * i + 1]};
        pb[i] = (point){b[2 * i], b[2 * i + 1]};
    }
    for (int i = 0; i < points; i++)
        for (int j = 0; j < points; j++)
            both += wedge((point){0, 0}, pa[i], pa[(i + 1) % points], pb[j], pb[(j + 1) % points]);
    both = fabs(both);
    const double all = fabs(polygon_area(pa, points)) + fabs(polygon_area(pb, points)) - both;
    if (fabs(all) < 1e-12)
        return 0;
    return both / all;
}

static void corners(const pdm_boxes *boxes, int64_t i, double *out)
{
    for (int c = 0; c < boxes->size; c++) {
        const int64_t at = i * boxes->stride + c;
        out[c] = boxes->dtype == PDM_F32 ? (double)((const float *)boxes->data)[at]
                                         : ((const double *)boxes->data)[at];
    }
}

double pdm_boxes_overlap(const pdm_boxes *boxes, int64_t i, int64_t j, bool normalized)
{
    if (boxes->size != 4) {
        double a[32], b[32];
        corners(boxes, i, a);
        corners(boxes, j, b);
        return (double)(float)pdm_polygon_overlap(a, b, boxes->size / 2);
    }
    if (boxes->dtype == PDM_F32) {
        const float *data = boxes->data;
        return (double)pdm_box_overlap_f32(data + i * boxes->stride, data + j * boxes->stride,
                                           normalized ? 0.0f : 1.0f);
    }
    const double *data = boxes->data;
    return pdm_box_overlap_f64(data + i * boxes->stride, data + j * boxes->stride,
                               normalized ? 0.0 : 1.0);
}

/* ---- suppression ----------------------------------------------------------------------------- */

int64_t pdm_nms_greedy(const pdm_boxes *boxes, int64_t *index, int64_t n, double threshold,
                       double eta, bool normalized)
{
    const bool single = boxes->dtype == PDM_F32;
    double limit = single ? (double)(float)threshold : threshold;
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        bool keep = true;
        for (int64_t j = 0; keep && j < kept; j++)
            keep = pdm_boxes_overlap(boxes, index[i], index[j], normalized) <= limit;
        if (!keep)
            continue;
        index[kept++] = index[i];
        if (eta < 1 && limit > 0.5)
            limit = single ? (double)(float)(limit * eta) : limit * eta;
    }
    return kept;
}

int64_t pdm_nms_candidates(pdm_k *k, pdm_arena *arena, const pdm_tensor *scores, int64_t first,
                           int64_t stride, int64_t n, double threshold, int64_t top_k,
                           int64_t *index)
{
    double *keys = pdm_k_scratch(k, arena, n, sizeof *keys);
    int64_t *temp = pdm_k_scratch(k, arena, n, sizeof *temp);
    const double limit = scores->dtype == PDM_F32 ? (double)(float)threshold : threshold;
    int64_t count = 0;

    if (!PDM_K_OK(k))
        return 0;
    for (int64_t i = 0; i < n; i++) {
        keys[i] = pdm_get_double(scores, first + i * stride);
        if (keys[i] > limit)
            index[count++] = i;
    }
    pdm_sort_down(index, count, keys, temp);
    return top_k > -1 && top_k < count ? top_k : count;
}

bool pdm_rois_of(pdm_k *k, pdm_arena *arena, const pdm_tensor *rois, const pdm_tensor *counts,
                 pdm_rois *out)
{
    pdm_seqs seqs;

    if (!PDM_K_OK(k))
        return false;
    if (!counts) {
        if (!pdm_k_row_seqs(k, rois, &seqs))
            return false;
        *out = (pdm_rois){seqs.off, seqs.count};
        return true;
    }
    const int64_t images = pdm_tensor_count(counts);
    int64_t *off = pdm_k_scratch(k, arena, images + 1, sizeof *off);
    if (!off || !pdm_k_rank_is(k, rois, 2, "the tensor of boxes"))
        return false;
    for (int64_t i = 0; i < images; i++) {
        const int64_t n = pdm_get_int(counts, i);
        if (n < 0 || n > rois->dims[0] - off[i]) {
            pdm_k_fail(k, "the numbers of boxes do not add up to the %lld that there are",
                       (long long)rois->dims[0]);
            return false;
        }
        off[i + 1] = off[i] + n;
    }
    if (off[images] != rois->dims[0])
        pdm_k_fail(k, "the numbers of boxes add up to %lld, there are %lld", (long long)off[images],
                   (long long)rois->dims[0]);
    *out = (pdm_rois){off, images};
    return PDM_K_OK(k);
}
