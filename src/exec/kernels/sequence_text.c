/* Text matching and recommendation: match_matrix_tensor, hash, cvm, tdm_child, im2sequence,
 * add_position_encoding, similarity_focus. */
#include "exec/kernels/scratch.h"

#include <math.h>

/* ---- match_matrix_tensor --------------------------------------------------------------------- */

typedef struct matching {
    const pdm_tensor *x, *y, *w;
    pdm_seqs left, right;
    int64_t dim_t, width, width_y;
} matching;

/* xw[row of x][t][:] = x . w[:, t, :] */
static void project(const matching *m, pdm_tensor *tmp)
{
    for (int64_t i = 0, n = pdm_tensor_count(tmp); i < n; i++) {
        const int64_t row = i / (m->dim_t * m->width_y), col = i % (m->dim_t * m->width_y);
        double sum = 0;
        for (int64_t d = 0; d < m->width; d++)
            sum += pdm_get_double(m->x, row * m->width + d) *
                   pdm_get_double(m->w, d * m->dim_t * m->width_y + col);
        pdm_set_double(tmp, i, sum);
    }
}

static void match(const matching *m, const pdm_tensor *tmp, pdm_tensor *out)
{
    int64_t n = 0;

    for (int64_t s = 0; s < m->left.count; s++)
        for (int64_t t = 0; t < m->dim_t; t++)
            for (int64_t i = m->left.off[s]; i < m->left.off[s + 1]; i++)
                for (int64_t j = m->right.off[s]; j < m->right.off[s + 1]; j++) {
                    double sum = 0;
                    for (int64_t d = 0; d < m->width_y; d++)
                        sum += pdm_get_double(tmp, (i * m->dim_t + t) * m->width_y + d) *
                               pdm_get_double(m->y, j * m->width_y + d);
                    pdm_set_double(out, n++, sum);
                }
}

static bool check_matching(pdm_k *k, matching *m)
{
    if (!PDM_K_OK(k) || !pdm_k_rank_is(k, m->x, 2, "X") || !pdm_k_rank_is(k, m->y, 2, "Y") ||
        !pdm_k_rank_is(k, m->w, 3, "W") || !pdm_k_row_seqs(k, m->x, &m->left) ||
        !pdm_k_row_seqs(k, m->y, &m->right))
        return false;
    m->width = m->x->dims[1];
    m->width_y = m->y->dims[1];
    if (m->w->dims[0] != m->width || m->w->dims[1] != m->dim_t || m->w->dims[2] != m->width_y ||
        m->left.count != m->right.count)
        pdm_k_fail(k, "operands do not fit together");
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_match_matrix_tensor(pdm_k *k)
{
    matching m = {.x = pdm_k_in(k, 0),
                  .y = pdm_k_in(k, 1),
                  .w = pdm_k_in(k, 2),
                  .dim_t = pdm_k_int(k, "dim_t")};
    pdm_arena arena;

    if (!check_matching(k, &m))
        return k->status;
    pdm_arena_init(&arena);
    int64_t *off = pdm_k_scratch(k, &arena, m.left.count + 1, sizeof *off);
    for (int64_t s = 0; off && s < m.left.count; s++) {
        int64_t n;
        if (__builtin_mul_overflow(m.left.off[s + 1] - m.left.off[s],
                                   m.right.off[s + 1] - m.right.off[s], &n) ||
            __builtin_mul_overflow(n, m.dim_t, &n) ||
            __builtin_add_overflow(off[s], n, &off[s + 1]))
            pdm_k_fail(k, "the result is too large");
    }
    pdm_tensor spare = {0};
    const pdm_dtype dtype = m.x->dtype;
    const int64_t dims[2] = {m.x->dims[0], m.dim_t * m.width_y};
    pdm_tensor *tmp = &spare, *out = NULL;
    if (PDM_K_OK(k) && pdm_k_wants(k, 1))
        tmp = pdm_k_out(k, 1, dtype, 2, dims) ? pdm_k_out_tensor(k, 1) : &spare;
    else if (PDM_K_OK(k) && pdm_tensor_alloc(&spare, dtype, 2, dims) != PDM_OK)
        pdm_k_nomem(k);
    if (PDM_K_OK(k) && pdm_k_out(k, 0, dtype, 2, PDM_DIMS(off[m.left.count], 1)))
        out = pdm_k_out_tensor(k, 0);
    if (PDM_K_OK(k) && out) {
        project(&m, tmp);
        match(&m, tmp, out);
        pdm_k_set_lod1(k, out, off, m.left.count);
    }
    pdm_tensor_deinit(&spare);
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- hash ------------------------------------------------------------------------------------ */

#define P1 0x9e3779b185ebca87u
#define P2 0xc2b2ae3d27d4eb4fu
#define P3 0x165667b19e3779f9u
#define P4 0x85ebca77c2b2ae63u
#define P5 0x27d4eb2f165667c5u

static uint64_t rotl(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t load64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t round64(uint64_t acc, uint64_t v)
{
    return rotl(acc + v * P2, 31) * P1;
}

/* XXH64 of n bytes. */
static uint64_t xxh64(const uint8_t *p, size_t n, uint64_t seed)
{
    const uint8_t *end = p + n;
    uint64_t h = seed + P5;

    if (n >= 32) {
        uint64_t v[4] = {seed + P1 + P2, seed + P2, seed, seed - P1};
        for (; end - p >= 32; p += 32)
            for (int i = 0; i < 4; i++)
                v[i] = round64(v[i], load64(p + 8 * i));
        h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18);
        for (int i = 0; i < 4; i++)
            h = (h ^ round64(0, v[i])) * P1 + P4;
    }
    h += n;
    for (; end - p >= 8; p += 8)
        h = rotl(h ^ round64(0, load64(p)), 27) * P1 + P4;
    if (end - p >= 4) {
        uint32_t v;
        memcpy(&v, p, sizeof v);
        h = rotl(h ^ v * P1, 23) * P2 + P3;
        p += 4;
    }
    for (; p < end; p++)
        h = rotl(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

pdm_status pdm_kernel_hash(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t num = pdm_k_int(k, "num_hash"), mod = pdm_k_int(k, "mod_by");

    if (!PDM_K_OK(k))
        return k->status;
    if (x->dtype != PDM_I32 && x->dtype != PDM_I64)
        return pdm_k_unsupported_dtype(k, x->dtype);
    if (x->rank < 1 || x->rank > PDM_MAX_RANK - 1 || num < 1 || mod < 1)
        return pdm_k_fail(k, "rows of %d dimensions are hashed %lld times modulo %lld", x->rank,
                          (long long)num, (long long)mod);
    int64_t dims[PDM_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = num;
    dims[x->rank] = 1;
    void *out = pdm_k_out(k, 0, x->dtype, x->rank + 1, dims);
    if (!out)
        return k->status;
    const int64_t width = x->dims[x->rank - 1], rows = pdm_k_product(x->dims, 0, x->rank - 1);
    const size_t bytes = (size_t)width * pdm_dtype_size(x->dtype);
    pdm_tensor *t = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0; i < rows * num; i++) {
        const uint8_t *row =
            (const uint8_t *)x->data + (size_t)(i / num * width) * pdm_dtype_size(x->dtype);
        pdm_set_int(t, i, (int64_t)(xxh64(row, bytes, (uint64_t)(i % num)) % (uint64_t)mod));
    }
    pdm_k_share_lod(k, 0, x);
    return k->status;
}

/* ---- cvm ------------------------------------------------------------------------------------- */

/* The first two numbers of a row are shows and clicks: logarithms, or dropped. */
pdm_status pdm_kernel_cvm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool use = pdm_k_bool(k, "use_cvm");

    if (!pdm_k_rank_is(k, x, 2, "the operand"))
        return k->status;
    const int64_t width = x->dims[1], rows = x->dims[0];
    if (width < 2)
        return pdm_k_fail(k, "a row has only %lld numbers", (long long)width);
    const int64_t skip = use ? 0 : 2;
    if (!pdm_k_out(k, 0, x->dtype, 2, PDM_DIMS(rows, width - skip)))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = skip; j < width; j++)
            pdm_set_double(out, i * (width - skip) + j - skip, pdm_get_double(x, i * width + j));
        if (use) {
            const double show = log(pdm_get_double(x, i * width) + 1);
            pdm_set_double(out, i * width, show);
            pdm_set_double(out, i * width + 1, log(pdm_get_double(x, i * width + 1) + 1) - show);
        }
    }
    pdm_k_share_lod(k, 0, x);
    return k->status;
}

/* ---- tdm_child ------------------------------------------------------------------------------- */

/* Rows of the tree: item, layer, parent, children (0: none). */
pdm_status pdm_kernel_tdm_child(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *tree = pdm_k_in(k, 1);
    const int64_t num = pdm_k_int(k, "child_nums");
    pdm_dtype dtype = pdm_k_dtype(k, "dtype");
    int64_t dims[PDM_MAX_RANK];

    if (!pdm_k_rank_is(k, tree, 2, "the tree"))
        return k->status;
    if (dtype != PDM_I64)
        dtype = PDM_I32;
    const int64_t nodes = tree->dims[0], width = tree->dims[1];
    if (num < 0 || width < 3 || num > width - 3 || x->rank < 1)
        return pdm_k_fail(k, "rows of %lld numbers have not %lld children", (long long)width,
                          (long long)num);
    memcpy(dims, x->dims, sizeof dims);
    int rank = x->rank;
    if (rank == PDM_MAX_RANK)
        return pdm_k_fail(k, "the operand has %d dimensions", rank);
    dims[rank++] = num;
    pdm_tensor *child = NULL, *leaf = NULL;
    if (pdm_k_wants(k, 0) && pdm_k_out(k, 0, dtype, rank, dims))
        child = pdm_k_out_tensor(k, 0);
    if (pdm_k_wants(k, 1) && pdm_k_out(k, 1, dtype, rank, dims))
        leaf = pdm_k_out_tensor(k, 1);
    for (int64_t i = 0, n = pdm_tensor_count(x) * num; PDM_K_OK(k) && i < n; i++) {
        const int64_t node = pdm_get_int(x, i / num);
        if (node < 0 || node >= nodes)
            return pdm_k_fail(k, "node %lld does not exist", (long long)node);
        const bool has = node != 0 && num > 0 && pdm_get_int(tree, node * width + 3) != 0;
        const int64_t id = has ? pdm_get_int(tree, node * width + 3 + i % num) : 0;
        if (id < 0 || id >= nodes)
            return pdm_k_fail(k, "node %lld does not exist", (long long)id);
        if (child)
            pdm_set_int(child, i, id);
        if (leaf)
            pdm_set_int(leaf, i, has && pdm_get_int(tree, id * width) != 0);
    }
    return k->status;
}

/* ---- im2sequence ----------------------------------------------------------------------------- */

typedef struct windows {
    int64_t kernel[PDM_K_MAX_INTS], stride[PDM_K_MAX_INTS], pad[PDM_K_MAX_INTS];
    int64_t shrink[PDM_K_MAX_INTS];
    int64_t channels, h, w;
} windows;

static int64_t steps(const windows *v, int64_t size, int d)
{
    return (size + v->pad[d] + v->pad[d + 2] - v->kernel[d]) / v->stride[d] + 1;
}

static bool read_windows(pdm_k *k, windows *v, const pdm_tensor *x)
{
    const size_t a = pdm_k_ints(k, "kernels", v->kernel), b = pdm_k_ints(k, "strides", v->stride);
    const size_t c = pdm_k_ints(k, "paddings", v->pad), d = pdm_k_ints(k, "out_stride", v->shrink);

    if (!PDM_K_OK(k) || !pdm_k_rank_is(k, x, 4, "the operand"))
        return false;
    if (a != 2 || b != 2 || c != 4 || d != 2)
        pdm_k_fail(k, "kernels, strides, paddings or out_stride have a wrong number of values");
    for (int i = 0; PDM_K_OK(k) && i < 2; i++)
        if (v->kernel[i] < 1 || v->stride[i] < 1 || v->shrink[i] < 1 || v->pad[i] < 0 ||
            v->pad[i + 2] < 0 || v->kernel[i] > INT32_MAX || v->stride[i] > INT32_MAX ||
            v->pad[i] > INT32_MAX || v->pad[i + 2] > INT32_MAX)
            pdm_k_fail(k, "kernels, strides or paddings are out of range");
    v->channels = x->dims[1];
    v->h = x->dims[2];
    v->w = x->dims[3];
    if (PDM_K_OK(k) && (v->h > INT32_MAX || v->w > INT32_MAX))
        pdm_k_fail(k, "the images are too large");
    return PDM_K_OK(k);
}

/* Windows of image i: rows, columns. The real size (of Y) may be smaller than the image. */
static void grid(pdm_k *k, const windows *v, const pdm_tensor *y, int64_t i, int64_t *h, int64_t *w)
{
    int64_t size[2] = {v->h, v->w};

    for (int d = 0; y && d < 2; d++) {
        const int64_t real = pdm_get_int(y, 2 * i + d);
        if (real < 0 || real > INT32_MAX) {
            pdm_k_fail(k, "image %lld is %lld long", (long long)i, (long long)real);
            *h = *w = 0;
            return;
        }
        size[d] = real / v->shrink[d] + (real % v->shrink[d] != 0);
    }
    *h = steps(v, size[0], 0);
    *w = steps(v, size[1], 1);
    if (*h < 0 || *w < 0 || *h > INT32_MAX || *w > INT32_MAX)
        pdm_k_fail(k, "image %lld has %lld x %lld windows", (long long)i, (long long)*h,
                   (long long)*w);
}

static void put_window(const windows *v, const pdm_tensor *x, int64_t image, int64_t row,
                       int64_t col, pdm_tensor *out, int64_t at)
{
    for (int64_t c = 0; c < v->channels; c++)
        for (int64_t i = 0; i < v->kernel[0]; i++)
            for (int64_t j = 0; j < v->kernel[1]; j++, at++) {
                const int64_t r = row * v->stride[0] + i - v->pad[0];
                const int64_t s = col * v->stride[1] + j - v->pad[1];
                const bool inside = r >= 0 && r < v->h && s >= 0 && s < v->w;
                double value = 0;
                if (inside)
                    value = pdm_get_double(x, ((image * v->channels + c) * v->h + r) * v->w + s);
                pdm_set_double(out, at, value);
            }
}

pdm_status pdm_kernel_im2sequence(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in_opt(k, 1);
    windows v;
    pdm_arena arena;

    if (!read_windows(k, &v, x))
        return k->status;
    const int64_t images = x->dims[0];
    if (y && pdm_tensor_count(y) != 2 * images)
        return pdm_k_fail(k, "there are not 2 sizes for each of %lld images", (long long)images);
    pdm_arena_init(&arena);
    int64_t *off = pdm_k_scratch(k, &arena, images + 1, sizeof *off), h, w, width = 0;
    for (int64_t i = 0; PDM_K_OK(k) && i < images; i++) {
        grid(k, &v, y, i, &h, &w);
        if (__builtin_add_overflow(off[i], h * w, &off[i + 1]))
            pdm_k_fail(k, "there are too many windows");
    }
    if (PDM_K_OK(k) && (__builtin_mul_overflow(v.channels, v.kernel[0], &width) ||
                        __builtin_mul_overflow(width, v.kernel[1], &width)))
        pdm_k_fail(k, "a window is too large");
    if (PDM_K_OK(k) && pdm_k_out(k, 0, x->dtype, 2, PDM_DIMS(off[images], width))) {
        pdm_tensor *out = pdm_k_out_tensor(k, 0);
        for (int64_t i = 0; i < images; i++) {
            grid(k, &v, y, i, &h, &w);
            for (int64_t n = 0; n < h * w; n++)
                put_window(&v, x, i, n / w, n % w, out, (off[i] + n) * width);
        }
        pdm_k_set_lod1(k, out, off, images);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- add_position_encoding ------------------------------------------------------------------- */

pdm_status pdm_kernel_add_position_encoding(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double alpha = pdm_k_float(k, "alpha"), beta = pdm_k_float(k, "beta");
    pdm_seqs seqs = {0};

    if (!PDM_K_OK(k))
        return k->status;
    const bool padded = pdm_tensor_num_lod(x) == 0;
    if (!pdm_k_rank_is(k, x, padded ? 3 : 2, "the operand") ||
        (!padded && !pdm_k_row_seqs(k, x, &seqs)))
        return k->status;
    const int64_t width = x->dims[x->rank - 1], half = width / 2;
    if (width % 2)
        return pdm_k_fail(k, "rows have an odd number (%lld) of values", (long long)width);
    if (!pdm_k_out_like(k, 0, x))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    const int64_t count = padded ? x->dims[0] : seqs.count;
    for (int64_t s = 0; s < count; s++) {
        const int64_t first = padded ? s * x->dims[1] : seqs.off[s];
        const int64_t n = padded ? x->dims[1] : seqs.off[s + 1] - first;
        for (int64_t i = 0; i < n * half; i++) {
            const int64_t t = i / half, j = i % half, at = (first + t) * width + j;
            const double angle = half > 1 ? (double)t / pow(10000, (double)j / (double)(half - 1))
                                          : (double)t / 10000;
            pdm_set_double(out, at, pdm_get_double(x, at) * alpha + sin(angle) * beta);
            pdm_set_double(out, at + half,
                           pdm_get_double(x, at + half) * alpha + cos(angle) * beta);
        }
    }
    return k->status;
}
