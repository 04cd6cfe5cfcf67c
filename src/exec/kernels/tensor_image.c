/* Channels and space of images, in other places. */
#include "exec/kernels/tensor_impl.h"

#include <stdlib.h>

/* x [N, C, H, W] seen as [N, a, b, H, W] (or with channels last), a and b changing places. */
static pdm_status swap_channels(pdm_k *k, const pdm_tensor *x, int64_t groups, bool last)
{
    pdm_box box = {0};

    if (x->rank != 4)
        return pdm_k_fail(k, "an image has 4 dimensions, not %d", x->rank);
    const int64_t c = x->dims[last ? 3 : 1], inner = last ? 1 : x->dims[2] * x->dims[3];
    if (groups < 1 || c % groups != 0)
        return pdm_k_fail(k, "%lld channels cannot be in %lld groups", (long long)c,
                          (long long)groups);
    const int64_t outer = x->dims[0] * (last ? x->dims[1] * x->dims[2] : 1), each = c / groups;
    void *out = pdm_k_out(k, 0, x->dtype, 4, x->dims);
    if (!out)
        return k->status;
    pdm_box_add(&box, outer, c * inner, c * inner);
    pdm_box_add(&box, each, groups * inner, inner);
    pdm_box_add(&box, groups, inner, each * inner);
    pdm_box_add(&box, inner, 1, 1);
    pdm_box_copy(k, &box, pdm_dtype_size(x->dtype), out, x->data);
    return k->status;
}

static bool channels_last(pdm_k *k)
{
    return strcmp(pdm_k_str(k, "data_format"), "NHWC") == 0;
}

pdm_status pdm_kernel_channel_shuffle(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t groups = pdm_k_int(k, "groups");
    const bool last = channels_last(k);

    return PDM_K_OK(k) ? swap_channels(k, x, groups, last) : k->status;
}

pdm_status pdm_kernel_shuffle_channel(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t group = pdm_k_int(k, "group");

    return PDM_K_OK(k) ? swap_channels(k, x, group, false) : k->status;
}

/* Channels c * r * r of h by w to c of h * r by w * r (up), or back. */
static pdm_status shuffle_pixels(pdm_k *k, const pdm_tensor *x, int64_t r, bool up, bool last)
{
    const int ci = last ? 3 : 1, hi = last ? 1 : 2;
    int64_t dims[PDM_MAX_RANK], big[4], small[4];
    pdm_box box = {0};

    if (x->rank != 4 || r < 1 || r > INT32_MAX)
        return pdm_k_fail(k, "an image of 4 dimensions and a factor of 1 or more are needed");
    memcpy(dims, x->dims, sizeof dims);
    if (up ? x->dims[ci] % (r * r) != 0 : x->dims[hi] % r != 0 || x->dims[hi + 1] % r != 0)
        return pdm_k_fail(k, "the image cannot be rearranged by %lld", (long long)r);
    /* Channels, rows and columns of the small image; the large one has r times as many pixels. */
    const int64_t c = up ? x->dims[ci] / (r * r) : x->dims[ci];
    const int64_t h = up ? x->dims[hi] : x->dims[hi] / r,
                  w = up ? x->dims[hi + 1] : x->dims[hi + 1] / r;
    if (pdm_shape_count(k, 5, (int64_t[]){c, h, w, r, r}) < 0)
        return k->status;
    dims[ci] = up ? c : c * r * r;
    dims[hi] = up ? h * r : h;
    dims[hi + 1] = up ? w * r : w;
    void *out = pdm_k_out(k, 0, x->dtype, 4, dims);
    if (!out)
        return k->status;
    pdm_dense_strides(4, up ? dims : x->dims, big);
    pdm_dense_strides(4, up ? x->dims : dims, small);
    const int64_t sizes[6] = {x->dims[0], c, h, r, w, r};
    const int64_t in_big[6] = {big[0], big[ci], big[hi] * r, big[hi], big[hi + 1] * r, big[hi + 1]};
    const int64_t in_small[6] = {small[0],      small[ci] * r * r, small[hi],
                                 small[ci] * r, small[hi + 1],     small[ci]};
    for (int i = 0; i < 6; i++)
        pdm_box_add(&box, sizes[i], up ? in_big[i] : in_small[i], up ? in_small[i] : in_big[i]);
    pdm_box_copy(k, &box, pdm_dtype_size(x->dtype), out, x->data);
    return k->status;
}

pdm_status pdm_kernel_pixel_shuffle(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t factor = pdm_k_int(k, "upscale_factor");
    const bool last = channels_last(k);

    return PDM_K_OK(k) ? shuffle_pixels(k, x, factor, true, last) : k->status;
}

pdm_status pdm_kernel_pixel_unshuffle(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t factor = pdm_k_int(k, "downscale_factor");
    const bool last = channels_last(k);

    return PDM_K_OK(k) ? shuffle_pixels(k, x, factor, false, last) : k->status;
}

/* Some channels come from the segment's previous frame, as many from the next one. */
pdm_status pdm_kernel_temporal_shift(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t seg = pdm_k_int(k, "seg_num");
    const float ratio = (float)pdm_k_float(k, "shift_ratio");
    const bool last = channels_last(k);

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank != 4 || seg < 1 || x->dims[0] % seg != 0 || !(ratio >= 0) || ratio > 0.5F)
        return pdm_k_fail(k, "frames cannot be shifted in segments of %lld", (long long)seg);
    const int64_t c = x->dims[last ? 3 : 1],
                  area = last ? x->dims[1] * x->dims[2] : x->dims[2] * x->dims[3];
    const int64_t frame = c * area;
    const int64_t edges[4] = {0, (int64_t)((float)c * ratio), (int64_t)((float)c * 2 * ratio), c};
    const size_t size = pdm_dtype_size(x->dtype);
    void *out = pdm_k_out_like(k, 0, x);
    if (!out)
        return k->status;
    memset(out, 0, pdm_tensor_bytes(x));
    for (int i = 0; i < 3; i++) {
        /* Frames of the source are -1, +1, 0 from those of the result. */
        const int64_t to = i == 0 ? 1 : 0, from = i == 1 ? 1 : 0,
                      begin = edges[i] * (last ? 1 : area);
        const int64_t run = edges[i + 1] - edges[i];
        pdm_box box = {0};
        pdm_box_add(&box, x->dims[0] / seg, seg * frame, seg * frame);
        pdm_box_add(&box, i == 2 ? seg : seg - 1, frame, frame);
        pdm_box_add(&box, last ? area : 1, c, c);
        pdm_box_add(&box, last ? run : run * area, 1, 1);
        pdm_box_copy(k, &box, size, pdm_at(out, to * frame + begin, size),
                     pdm_at(x->data, from * frame + begin, size));
    }
    return k->status;
}

/* ---- blocks of an image as columns, and back ------------------------------------------------- */

typedef struct blocks {
    int64_t kernel[2], stride[2], pad[4], dilation[2]; /* pad: top, left, bottom, right */
    int64_t size[2], count[2];                         /* of the image; of the blocks */
} blocks;

static bool pair(pdm_k *k, const char *name, int64_t low, int64_t *out)
{
    int64_t v[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_k_ints(k, name, v);

    if (PDM_K_OK(k) && (n < 1 || n > 2 || v[0] < low || v[n - 1] < low || v[0] > INT32_MAX ||
                        v[n - 1] > INT32_MAX))
        pdm_k_fail(k, "attribute '%s' is no pair of sizes", name);
    out[0] = v[0];
    out[1] = v[n > 1 ? 1 : 0];
    return PDM_K_OK(k);
}

static bool paddings(pdm_k *k, int64_t *pad)
{
    int64_t v[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_k_ints(k, "paddings", v);

    if (PDM_K_OK(k) && n != 1 && n != 2 && n != 4)
        pdm_k_fail(k, "%zu paddings are given", n);
    for (int i = 0; PDM_K_OK(k) && i < 4; i++) {
        pad[i] = v[n == 4 ? i : n == 2 ? i % 2 : 0];
        if (pad[i] < 0 || pad[i] > INT32_MAX)
            pdm_k_fail(k, "padding %lld cannot be", (long long)pad[i]);
    }
    return PDM_K_OK(k);
}

static bool read_blocks(pdm_k *k, blocks *b)
{
    if (!pair(k, "kernel_sizes", 1, b->kernel) || !pair(k, "strides", 1, b->stride) ||
        !pair(k, "dilations", 1, b->dilation) || !paddings(k, b->pad))
        return false;
    for (int i = 0; i < 2; i++) {
        const int64_t room =
            b->size[i] + b->pad[i] + b->pad[i + 2] - (b->dilation[i] * (b->kernel[i] - 1) + 1);
        b->count[i] = room < 0 ? 0 : room / b->stride[i] + 1;
    }
    if (b->count[0] < 1 || b->count[1] < 1)
        pdm_k_fail(k, "the image is smaller than a block");
    else
        pdm_shape_count(k, 2, b->count);
    return PDM_K_OK(k);
}

/* Block columns [*begin, *end) whose place `kx` lies within the image. */
static void inside(const blocks *b, int axis, int64_t kx, int64_t *begin, int64_t *end)
{
    const int64_t offset = kx * b->dilation[axis] - b->pad[axis], stride = b->stride[axis];
    const int64_t room = b->size[axis] - offset; /* stride * i < room */

    *begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    *end = room <= 0 ? 0 : (room - 1) / stride + 1;
    if (*end > b->count[axis])
        *end = b->count[axis];
    if (*begin > *end)
        *begin = *end;
}

typedef struct unfold_job {
    const blocks *b;
    const void *x;
    void *out;
    size_t size;
} unfold_job;

/* Result rows [begin, end) of [N * C, kernel rows, kernel columns]. */
static void unfold_rows(void *arg, int64_t begin, int64_t end)
{
    const unfold_job *u = arg;
    const blocks *b = u->b;
    const int64_t area = b->size[0] * b->size[1], n = b->count[0] * b->count[1];
    pdm_k serial = {0};

    for (int64_t row = begin; row < end; row++) {
        const int64_t kx = row % b->kernel[1], ky = row / b->kernel[1] % b->kernel[0];
        const int64_t plane = row / b->kernel[1] / b->kernel[0];
        int64_t y0, y1, x0, x1;
        pdm_box box = {0};
        inside(b, 0, ky, &y0, &y1);
        inside(b, 1, kx, &x0, &x1);
        memset(pdm_at(u->out, row * n, u->size), 0, (size_t)n * u->size);
        if (y0 == y1 || x0 == x1)
            continue;
        pdm_box_add(&box, y1 - y0, b->count[1], b->stride[0] * b->size[1]);
        pdm_box_add(&box, x1 - x0, 1, b->stride[1]);
        const int64_t iy = y0 * b->stride[0] + ky * b->dilation[0] - b->pad[0];
        const int64_t ix = x0 * b->stride[1] + kx * b->dilation[1] - b->pad[1];
        pdm_box_copy(&serial, &box, u->size,
                     pdm_at(u->out, row * n + y0 * b->count[1] + x0, u->size),
                     pdm_at(u->x, plane * area + iy * b->size[1] + ix, u->size));
    }
}

pdm_status pdm_kernel_unfold(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    blocks b = {0};
    int64_t rows;

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank != 4)
        return pdm_k_fail(k, "an image has 4 dimensions, not %d", x->rank);
    b.size[0] = x->dims[2];
    b.size[1] = x->dims[3];
    if (!read_blocks(k, &b))
        return k->status;
    if (pdm_shape_count(k, 6,
                        (int64_t[]){x->dims[0], x->dims[1], b.kernel[0], b.kernel[1], b.count[0],
                                    b.count[1]}) < 0)
        return k->status;
    rows = x->dims[1] * b.kernel[0] * b.kernel[1];
    unfold_job job = {&b, x->data, NULL, pdm_dtype_size(x->dtype)};
    job.out = pdm_k_out(k, 0, x->dtype, 3, (int64_t[]){x->dims[0], rows, b.count[0] * b.count[1]});
    if (job.out)
        pdm_k_parallel(k, x->dims[0] * rows,
                       1 + PDM_MOVE_GRAIN / (b.count[0] * b.count[1] * (int64_t)job.size),
                       unfold_rows, &job);
    return k->status;
}

/* Sums of what unfold took apart. */
#define FOLD(code, suffix, type, acc, load, store, ...)                                            \
    static void fold_##suffix(const blocks *b, const void *from, void *to, int64_t planes)         \
    {                                                                                              \
        const type *in = from;                                                                     \
        for (int64_t p = 0; p < planes; p++) {                                                     \
            type *image = (type *)to + p * b->size[0] * b->size[1];                                \
            for (int64_t kk = 0; kk < b->kernel[0] * b->kernel[1]; kk++) {                         \
                int64_t y0, y1, x0, x1;                                                            \
                const int64_t ky = kk / b->kernel[1], kx = kk % b->kernel[1];                      \
                inside(b, 0, ky, &y0, &y1);                                                        \
                inside(b, 1, kx, &x0, &x1);                                                        \
                for (int64_t y = y0; y < y1; y++) {                                                \
                    const int64_t iy = y * b->stride[0] + ky * b->dilation[0] - b->pad[0];         \
                    type *row = image + iy * b->size[1];                                           \
                    for (int64_t x = x0; x < x1; x++) {                                            \
                        const int64_t ix = x * b->stride[1] + kx * b->dilation[1] - b->pad[1];     \
                        row[ix] = store(load(row[ix]) + load(in[y * b->count[1] + x]));            \
                    }                                                                              \
                }                                                                                  \
                in += b->count[0] * b->count[1];                                                   \
            }                                                                                      \
        }                                                                                          \
    }
PDM_K_FLOATS(FOLD)
PDM_K_COMPLEXES(FOLD)
#define FOLDABLE(X, ...) PDM_K_FLOATS(X, __VA_ARGS__) PDM_K_COMPLEXES(X, __VA_ARGS__)

pdm_status pdm_kernel_fold(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    blocks b = {0};

    if (!PDM_K_OK(k) || !pair(k, "output_sizes", 1, b.size) || !read_blocks(k, &b))
        return k->status;
    /* Without a batch: [rows, blocks]. */
    const int lead = x->rank == 3 ? 1 : 0;
    const int64_t area = b.kernel[0] * b.kernel[1];
    if (x->rank != 2 && x->rank != 3)
        return pdm_k_fail(k, "columns of blocks have 3 dimensions, not %d", x->rank);
    if (x->dims[lead] % area != 0 || x->dims[lead + 1] != b.count[0] * b.count[1])
        return pdm_k_fail(k, "the columns do not fit the image");
    const int64_t dims[4] = {x->dims[0], x->dims[lead] / area, b.size[0], b.size[1]};
    void *out = pdm_k_out(k, 0, x->dtype, 3 + lead, dims + 1 - lead);
    if (!out)
        return k->status;
    memset(out, 0, pdm_tensor_bytes(pdm_k_out_tensor(k, 0)));
    PDM_K_DISPATCH(k, x->dtype, FOLDABLE, fold, &b, x->data, out, (lead ? dims[0] : 1) * dims[1]);
    return k->status;
}
