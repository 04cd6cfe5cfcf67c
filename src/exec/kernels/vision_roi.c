/* Pooling of regions: roi_align, roi_pool, psroi_pool, prroi_pool, deformable_psroi_pooling. */
#include "exec/kernels/detection_impl.h"

#include <math.h>

typedef struct pool {
    int64_t channels, h, w; /* of the feature map */
    int64_t out_c, out_h, out_w;
    double scale;
    int64_t sampling; /* samples of a bin in each direction; 0 or less: by the bin's size */
    bool aligned;
    const int64_t *image; /* of each region */
    int64_t rois;
} pool;

/* Image of each region, from counts or LoD. */
static void read_rois(pdm_k *k, pdm_arena *arena, pool *p, const pdm_tensor *x,
                      const pdm_tensor *boxes, const pdm_tensor *counts)
{
    pdm_rois images;

    if (!PDM_K_OK(k) || !pdm_is_real(k, x) || !pdm_k_same_dtype(k, x, boxes) ||
        !pdm_k_rank_is(k, x, 4, "the feature map") ||
        !pdm_k_rank_is(k, boxes, 2, "the tensor of boxes"))
        return;
    p->channels = x->dims[1];
    p->h = x->dims[2];
    p->w = x->dims[3];
    p->rois = boxes->dims[0];
    if (boxes->dims[1] != 4) {
        pdm_k_fail(k, "a box has %lld numbers, not 4", (long long)boxes->dims[1]);
        return;
    }
    if (!pdm_rois_of(k, arena, boxes, counts, &images))
        return;
    int64_t *image = pdm_k_scratch(k, arena, p->rois, sizeof *image);
    for (int64_t s = 0; image && s < images.images; s++) {
        for (int64_t i = images.off[s]; i < images.off[s + 1]; i++) {
            image[i] = s;
            if (s >= x->dims[0])
                pdm_k_fail(k, "there are boxes for image %lld of %lld", (long long)s,
                           (long long)x->dims[0]);
        }
    }
    p->image = image;
}

static void read_size(pdm_k *k, pool *p)
{
    p->out_h = pdm_k_int_or(k, "pooled_height", 1);
    p->out_w = pdm_k_int_or(k, "pooled_width", 1);
    p->scale = pdm_k_float_or(k, "spatial_scale", 1);
    if (PDM_K_OK(k) && (p->out_h < 1 || p->out_w < 1))
        pdm_k_fail(k, "the pooled size is %lld x %lld", (long long)p->out_h, (long long)p->out_w);
}

static int64_t limit(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* ---- roi_align ------------------------------------------------------------------------------- */

#define ALIGN(code, suffix, type, ...)                                                             \
    static type sample_##suffix(const type *map, int64_t h, int64_t w, type y, type x)             \
    {                                                                                              \
        if (!(y >= -1 && y <= (type)h && x >= -1 && x <= (type)w))                                 \
            return 0;                                                                              \
        y = y > 0 ? y : 0;                                                                         \
        x = x > 0 ? x : 0;                                                                         \
        int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;                        \
        if (y0 >= h - 1) {                                                                         \
            y0 = y1 = h - 1;                                                                       \
            y = (type)y0;                                                                          \
        }                                                                                          \
        if (x0 >= w - 1) {                                                                         \
            x0 = x1 = w - 1;                                                                       \
            x = (type)x0;                                                                          \
        }                                                                                          \
        const type ly = y - (type)y0, lx = x - (type)x0, hy = 1 - ly, hx = 1 - lx;                 \
        return hy * hx * map[y0 * w + x0] + hy * lx * map[y0 * w + x1] +                           \
               ly * hx * map[y1 * w + x0] + ly * lx * map[y1 * w + x1];                            \
    }                                                                                              \
                                                                                                   \
    static void align_##suffix(const pool *p, const type *in, const type *boxes, type *out)        \
    {                                                                                              \
        const type half = p->aligned ? (type)0.5 : 0, scale = (type)p->scale;                      \
        for (int64_t n = 0; n < p->rois; n++, boxes += 4) {                                        \
            const type x0 = boxes[0] * scale - half, y0 = boxes[1] * scale - half;                 \
            type w = boxes[2] * scale - half - x0, h = boxes[3] * scale - half - y0;               \
            if (!p->aligned) {                                                                     \
                w = w > 1 ? w : 1;                                                                 \
                h = h > 1 ? h : 1;                                                                 \
            }                                                                                      \
            const type bin_h = h / (type)p->out_h, bin_w = w / (type)p->out_w;                     \
            const int64_t ny =                                                                     \
                p->sampling > 0 ? p->sampling                                                      \
                                : limit(pdm_int_of_double(ceil((double)bin_h)), 0, 4 * p->h + 4);  \
            const int64_t nx =                                                                     \
                p->sampling > 0 ? p->sampling                                                      \
                                : limit(pdm_int_of_double(ceil((double)bin_w)), 0, 4 * p->w + 4);  \
            const type count = (type)(ny * nx > 1 ? ny * nx : 1);                                  \
            for (int64_t c = 0; c < p->channels; c++) {                                            \
                const type *map = in + (p->image[n] * p->channels + c) * p->h * p->w;              \
                for (int64_t bin = 0; bin < p->out_h * p->out_w; bin++) {                          \
                    const type by = y0 + (type)(bin / p->out_w) * bin_h;                           \
                    const type bx = x0 + (type)(bin % p->out_w) * bin_w;                           \
                    type sum = 0;                                                                  \
                    for (int64_t i = 0; i < ny; i++)                                               \
                        for (int64_t j = 0; j < nx; j++)                                           \
                            sum += sample_##suffix(map, p->h, p->w,                                \
                                                   by + ((type)i + (type)0.5) * bin_h / (type)ny,  \
                                                   bx + ((type)j + (type)0.5) * bin_w / (type)nx); \
                    *out++ = sum / count;                                                          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
PDM_K_F32_F64(ALIGN)

pdm_status pdm_kernel_roi_align(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *boxes = pdm_k_in(k, 1);
    pool p = {.sampling = pdm_k_int(k, "sampling_ratio"), .aligned = pdm_k_bool(k, "aligned")};
    pdm_arena arena;

    pdm_arena_init(&arena);
    read_size(k, &p);
    if (p.sampling > 10000)
        pdm_k_fail(k, "the sampling ratio is %lld", (long long)p.sampling);
    read_rois(k, &arena, &p, x, boxes, pdm_k_in_opt(k, 2));
    void *out = PDM_K_OK(k)
                    ? pdm_k_out(k, 0, x->dtype, 4, PDM_DIMS(p.rois, p.channels, p.out_h, p.out_w))
                    : NULL;
    if (out && p.h * p.w == 0)
        memset(out, 0, pdm_tensor_bytes(pdm_k_out_tensor(k, 0)));
    else if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_F32_F64, align, &p, x->data, boxes->data, out);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- roi_pool -------------------------------------------------------------------------------- */

typedef struct window {
    int64_t y0, y1, x0, x1;
} window;

static window roi_bin(const pool *p, const pdm_tensor *boxes, int64_t n, int64_t bin)
{
    int64_t corner[4];

    for (int i = 0; i < 4; i++) {
        const double v = pdm_get_double(boxes, 4 * n + i);
        const double scaled = boxes->dtype == PDM_F32 ? (double)((float)v * (float)p->scale)
                                                      : v * (double)(float)p->scale;
        corner[i] = limit(pdm_int_of_double(round(scaled)), INT32_MIN, INT32_MAX);
    }
    const int64_t w = limit(corner[2] - corner[0] + 1, 1, INT64_MAX);
    const int64_t h = limit(corner[3] - corner[1] + 1, 1, INT64_MAX);
    const int64_t by = bin / p->out_w, bx = bin % p->out_w;
    double bin_h = (double)h / (double)p->out_h, bin_w = (double)w / (double)p->out_w;
    double edge[4] = {(double)by * bin_h, (double)(by + 1) * bin_h, (double)bx * bin_w,
                      (double)(bx + 1) * bin_w};
    if (boxes->dtype == PDM_F32) {
        const float fh = (float)h / (float)p->out_h, fw = (float)w / (float)p->out_w;
        edge[0] = (double)((float)by * fh);
        edge[1] = (double)((float)(by + 1) * fh);
        edge[2] = (double)((float)bx * fw);
        edge[3] = (double)((float)(bx + 1) * fw);
    }
    return (window){limit((int64_t)floor(edge[0]) + corner[1], 0, p->h),
                    limit((int64_t)ceil(edge[1]) + corner[1], 0, p->h),
                    limit((int64_t)floor(edge[2]) + corner[0], 0, p->w),
                    limit((int64_t)ceil(edge[3]) + corner[0], 0, p->w)};
}

pdm_status pdm_kernel_roi_pool(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *boxes = pdm_k_in(k, 1);
    pool p = {0};
    pdm_arena arena;

    pdm_arena_init(&arena);
    read_size(k, &p);
    read_rois(k, &arena, &p, x, boxes, pdm_k_in_opt(k, 2));
    const int64_t dims[4] = {p.rois, p.channels, p.out_h, p.out_w};
    pdm_tensor *out = NULL;
    if (PDM_K_OK(k) && pdm_k_wants(k, 0) && pdm_k_out(k, 0, x->dtype, 4, dims))
        out = pdm_k_out_tensor(k, 0);
    int64_t *places = PDM_K_OK(k) && pdm_k_wants(k, 1) ? pdm_k_out(k, 1, PDM_I64, 4, dims) : NULL;
    const int64_t bins = p.out_h * p.out_w;
    for (int64_t i = 0; PDM_K_OK(k) && i < p.rois * p.channels * bins; i++) {
        const int64_t n = i / bins / p.channels, c = i / bins % p.channels;
        const int64_t map = (p.image[n] * p.channels + c) * p.h * p.w;
        const window at = roi_bin(&p, boxes, n, i % bins);
        const bool empty = at.y1 <= at.y0 || at.x1 <= at.x0;
        double best = empty                 ? 0
                      : x->dtype == PDM_F32 ? -(double)3.402823466e+38f
                                            : -1.7976931348623157e308;
        int64_t place = -1;
        for (int64_t y = at.y0; y < at.y1; y++) {
            for (int64_t col = at.x0; col < at.x1; col++) {
                const double v = pdm_get_double(x, map + y * p.w + col);
                if (v > best) {
                    best = v;
                    place = y * p.w + col;
                }
            }
        }
        if (out)
            pdm_set_double(out, i, best);
        if (places)
            places[i] = place;
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- psroi_pool ------------------------------------------------------------------------------ */

#define PSROI(code, suffix, type, ...)                                                             \
    static void psroi_##suffix(const pool *p, const type *in, const type *boxes, type *out)        \
    {                                                                                              \
        const type scale = (type)p->scale, least = (type)0.1;                                      \
        const int64_t bins = p->out_h * p->out_w;                                                  \
        for (int64_t n = 0; n < p->rois; n++, boxes += 4) {                                        \
            const type x0 = (type)round((double)boxes[0]) * scale;                                 \
            const type y0 = (type)round((double)boxes[1]) * scale;                                 \
            const type x1 = ((type)round((double)boxes[2]) + 1) * scale;                           \
            const type y1 = ((type)round((double)boxes[3]) + 1) * scale;                           \
            const type h = y1 - y0 > least ? y1 - y0 : least,                                      \
                       w = x1 - x0 > least ? x1 - x0 : least;                                      \
            const type bin_h = h / (type)p->out_h, bin_w = w / (type)p->out_w;                     \
            for (int64_t i = 0; i < p->out_c * bins; i++) {                                        \
                const type by = (type)(i % bins / p->out_w), bx = (type)(i % p->out_w);            \
                const int64_t r0 =                                                                 \
                    limit((int64_t)pdm_int_of_double(floor((double)(by * bin_h + y0))), 0, p->h);  \
                const int64_t r1 = limit(                                                          \
                    (int64_t)pdm_int_of_double(ceil((double)((by + 1) * bin_h + y0))), 0, p->h);   \
                const int64_t c0 =                                                                 \
                    limit((int64_t)pdm_int_of_double(floor((double)(bx * bin_w + x0))), 0, p->w);  \
                const int64_t c1 = limit(                                                          \
                    (int64_t)pdm_int_of_double(ceil((double)((bx + 1) * bin_w + x0))), 0, p->w);   \
                const type *map = in + (p->image[n] * p->channels + i) * p->h * p->w;              \
                type sum = 0;                                                                      \
                for (int64_t r = r0; r < r1; r++)                                                  \
                    for (int64_t c = c0; c < c1; c++)                                              \
                        sum += map[r * p->w + c];                                                  \
                const bool empty = r1 <= r0 || c1 <= c0;                                           \
                *out++ = empty ? 0 : sum / (type)((r1 - r0) * (c1 - c0));                          \
            }                                                                                      \
        }                                                                                          \
    }
PDM_K_F32_F64(PSROI)

pdm_status pdm_kernel_psroi_pool(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *boxes = pdm_k_in(k, 1);
    pool p = {.out_c = pdm_k_int(k, "output_channels")};
    pdm_arena arena;

    pdm_arena_init(&arena);
    read_size(k, &p);
    read_rois(k, &arena, &p, x, boxes, pdm_k_in_opt(k, 2));
    if (PDM_K_OK(k) && (p.out_c < 1 || p.out_h > p.channels || p.out_w > p.channels ||
                        p.out_c > p.channels || p.channels != p.out_c * p.out_h * p.out_w))
        pdm_k_fail(k, "%lld channels are not %lld maps of %lld x %lld", (long long)p.channels,
                   (long long)p.out_c, (long long)p.out_h, (long long)p.out_w);
    void *out = PDM_K_OK(k)
                    ? pdm_k_out(k, 0, x->dtype, 4, PDM_DIMS(p.rois, p.out_c, p.out_h, p.out_w))
                    : NULL;
    if (out)
        PDM_K_DISPATCH(k, x->dtype, PDM_K_F32_F64, psroi, &p, x->data, boxes->data, out);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- prroi_pool ------------------------------------------------------------------------------ */

/* Weight of grid line i in the integral of linear interpolation from a to b. */
static double line_weight(double a, double b, int64_t i)
{
    const double c = (double)i;
    double weight = 0;
    const double l0 = fmax(a, c - 1), l1 = fmin(b, c); /* rising side: v - (c - 1) */
    const double r0 = fmax(a, c), r1 = fmin(b, c + 1); /* falling side: c + 1 - v */

    if (l1 > l0)
        weight += (l1 - l0) * ((l0 + l1) / 2 - (c - 1));
    if (r1 > r0)
        weight += (r1 - r0) * (c + 1 - (r0 + r1) / 2);
    return weight;
}

/* Exact mean of the interpolated map over a bin; outside of the map there is zero. */
static double integral(const pdm_tensor *x, int64_t map, int64_t h, int64_t w, double y0, double y1,
                       double x0, double x1)
{
    const int64_t r0 = limit(pdm_int_of_double(floor(y0)), 0, h),
                  c0 = limit(pdm_int_of_double(floor(x0)), 0, w);
    const int64_t r1 = limit(pdm_int_of_double(ceil(y1)), -1, h - 1),
                  c1 = limit(pdm_int_of_double(ceil(x1)), -1, w - 1);
    double sum = 0;

    for (int64_t r = r0; r <= r1; r++) {
        const double wy = line_weight(y0, y1, r);
        for (int64_t c = c0; wy != 0 && c <= c1; c++)
            sum += wy * line_weight(x0, x1, c) * pdm_get_double(x, map + r * w + c);
    }
    return sum;
}

pdm_status pdm_kernel_legacy_prroi_pool(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot_in(k, "X"), *boxes = pdm_k_slot_in(k, "ROIs");
    pool p = {0};
    pdm_arena arena;

    pdm_arena_init(&arena);
    read_size(k, &p);
    read_rois(k, &arena, &p, x, boxes, pdm_k_slot(k, "BatchRoINums"));
    pdm_tensor *out = PDM_K_OK(k) ? pdm_k_slot_out(k, "Out", x->dtype, 4,
                                                   PDM_DIMS(p.rois, p.channels, p.out_h, p.out_w))
                                  : NULL;
    const int64_t bins = p.out_h * p.out_w;
    for (int64_t i = 0; out && i < p.rois * p.channels * bins; i++) {
        const int64_t n = i / bins / p.channels, c = i / bins % p.channels;
        const int64_t map = (p.image[n] * p.channels + c) * p.h * p.w;
        double box[4];
        for (int e = 0; e < 4; e++)
            box[e] = pdm_get_double(boxes, 4 * n + e) * p.scale;
        const double bin_w = fmax(box[2] - box[0], 0) / (double)p.out_w;
        const double bin_h = fmax(box[3] - box[1], 0) / (double)p.out_h;
        const double y0 = box[1] + bin_h * (double)(i % bins / p.out_w);
        const double x0 = box[0] + bin_w * (double)(i % p.out_w);
        const double area = fmax(bin_w * bin_h, 0);
        const double sum = integral(x, map, p.h, p.w, y0, y0 + bin_h, x0, x0 + bin_w);
        pdm_set_double(out, i, area == 0 ? 0 : sum / area);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- deformable_psroi_pooling ---------------------------------------------------------------- */

typedef struct deformable {
    pool p;
    const pdm_tensor *x, *boxes, *trans; /* trans NULL: nothing is moved */
    int64_t group_h, group_w, part_h, part_w, samples, classes;
    double trans_std;
} deformable;

/* Interpolated between the four places around; inside of the map. */
static double between(const pdm_tensor *x, int64_t map, int64_t h, int64_t w, double y, double col)
{
    y = fmin(fmax(y, 0), (double)(h - 1));
    col = fmin(fmax(col, 0), (double)(w - 1));
    const int64_t y0 = (int64_t)floor(y), y1 = (int64_t)ceil(y);
    const int64_t x0 = (int64_t)floor(col), x1 = (int64_t)ceil(col);
    const double dy = y - (double)y0, dx = col - (double)x0;

    return (1 - dx) * (1 - dy) * pdm_get_double(x, map + y0 * w + x0) +
           (1 - dx) * dy * pdm_get_double(x, map + y1 * w + x0) +
           dx * (1 - dy) * pdm_get_double(x, map + y0 * w + x1) +
           dx * dy * pdm_get_double(x, map + y1 * w + x1);
}

/* How far bin (by, bx) of region n moves: parts of the region's size. */
static double moved(const deformable *d, int64_t n, int64_t c, int64_t by, int64_t bx, int64_t axis)
{
    if (!d->trans)
        return 0;
    const int64_t py = by * d->part_h / d->p.out_h, px = bx * d->part_w / d->p.out_w;
    const int64_t each = d->p.out_c / d->classes > 0 ? d->p.out_c / d->classes : 1;
    const int64_t plane = (n * d->classes + limit(c / each, 0, d->classes - 1)) * 2 + axis;

    return pdm_get_double(d->trans, (plane * d->part_h + py) * d->part_w + px) * d->trans_std;
}

/* One bin: the mean of the samples inside of the map, and how many those are. */
static double deformed_bin(const deformable *d, int64_t n, int64_t c, int64_t bin, int64_t *count)
{
    const pool *p = &d->p;
    const int64_t by = bin / p->out_w, bx = bin % p->out_w;
    double corner[4], sum = 0;

    for (int i = 0; i < 4; i++)
        corner[i] = (round(pdm_get_double(d->boxes, 4 * n + i)) + (i > 1)) * p->scale - 0.5;
    const double w = fmax(corner[2] - corner[0], 0.1), h = fmax(corner[3] - corner[1], 0.1);
    const double bin_w = w / (double)p->out_w, bin_h = h / (double)p->out_h;
    const double x0 = (double)bx * bin_w + corner[0] + moved(d, n, c, by, bx, 0) * w;
    const double y0 = (double)by * bin_h + corner[1] + moved(d, n, c, by, bx, 1) * h;
    const int64_t gy = limit(by * d->group_h / p->out_h, 0, d->group_h - 1);
    const int64_t gx = limit(bx * d->group_w / p->out_w, 0, d->group_w - 1);
    const int64_t channel = (c * d->group_h + gy) * d->group_w + gx;
    const int64_t map = (p->image[n] * p->channels + channel) * p->h * p->w;
    *count = 0;
    for (int64_t i = 0; i < d->samples * d->samples; i++) {
        const double y = y0 + (double)(i / d->samples) * bin_h / (double)d->samples;
        const double x = x0 + (double)(i % d->samples) * bin_w / (double)d->samples;
        if (!(x >= -0.5 && x <= (double)p->w - 0.5 && y >= -0.5 && y <= (double)p->h - 0.5))
            continue;
        sum += between(d->x, map, p->h, p->w, y, x);
        ++*count;
    }
    return *count ? sum / (double)*count : 0;
}

static bool read_deformable(pdm_k *k, pdm_arena *arena, deformable *d)
{
    int64_t group[PDM_K_MAX_INTS], part[PDM_K_MAX_INTS];
    const size_t num_group = pdm_k_ints(k, "group_size", group);
    const size_t num_part = pdm_k_ints_or_none(k, "part_size", part);

    read_size(k, &d->p);
    d->p.out_c = pdm_k_int(k, "output_dim");
    d->samples = pdm_k_int_or(k, "sample_per_part", 4);
    d->trans_std = pdm_k_float_or(k, "trans_std", (double)0.1f);
    d->x = pdm_k_slot_in(k, "Input");
    d->boxes = pdm_k_slot_in(k, "ROIs");
    d->trans = pdm_k_bool_or(k, "no_trans", false) ? NULL : pdm_k_slot_in(k, "Trans");
    read_rois(k, arena, &d->p, d->x, d->boxes, NULL);
    if (!PDM_K_OK(k))
        return false;
    d->group_h = num_group == 2 ? group[0] : 0;
    d->group_w = num_group == 2 ? group[1] : 0;
    d->part_h = num_part == 2 ? part[0] : d->p.out_h;
    d->part_w = num_part == 2 ? part[1] : d->p.out_w;
    d->classes = d->trans && d->trans->rank == 4 ? d->trans->dims[1] / 2 : 1;
    if (d->group_h < 1 || d->group_w < 1 || d->group_h > d->p.channels ||
        d->group_w > d->p.channels || d->p.out_c < 1 || d->p.out_c > d->p.channels ||
        d->p.channels < d->p.out_c * d->group_h * d->group_w || d->samples < 1 ||
        d->samples > 1000 || d->p.h < 1 || d->p.w < 1)
        pdm_k_fail(k, "channels, groups or samples do not fit together");
    if (d->trans && (d->trans->rank != 4 || d->trans->dims[0] != d->p.rois || d->classes < 1 ||
                     d->trans->dims[2] != d->part_h || d->trans->dims[3] != d->part_w ||
                     d->part_h > INT32_MAX || d->part_w > INT32_MAX))
        pdm_k_fail(k, "Trans does not fit the regions");
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_legacy_deformable_psroi_pooling(pdm_k *k)
{
    deformable d = {0};
    pdm_arena arena;

    pdm_arena_init(&arena);
    if (read_deformable(k, &arena, &d)) {
        const pool *p = &d.p;
        const int64_t dims[4] = {p->rois, p->out_c, p->out_h, p->out_w}, bins = p->out_h * p->out_w;
        pdm_tensor *out = pdm_k_slot_out(k, "Output", d.x->dtype, 4, dims);
        pdm_tensor *counts = pdm_k_slot_out(k, "TopCount", d.x->dtype, 4, dims);
        for (int64_t i = 0; PDM_K_OK(k) && i < p->rois * p->out_c * bins; i++) {
            int64_t count;
            const double v =
                deformed_bin(&d, i / bins / p->out_c, i / bins % p->out_c, i % bins, &count);
            if (out)
                pdm_set_double(out, i, v);
            if (counts)
                pdm_set_double(counts, i, (double)count);
        }
    }
    pdm_arena_deinit(&arena);
    return k->status;
}
