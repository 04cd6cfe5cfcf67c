/* Images of any size behind each other, as LoD tells: legacy var_conv_2d. */
#include "exec/kernels/scratch.h"

typedef struct grids {
    const pdm_tensor *x, *w;
    pdm_seqs rows, cols;                             /* heights and widths of the images */
    int64_t in_c, out_c, kernel[2], stride[2], taps; /* taps: numbers under the kernel */
} grids;

static int64_t height(const grids *g, int64_t i)
{
    return g->rows.off[i + 1] - g->rows.off[i];
}

static int64_t width(const grids *g, int64_t i)
{
    return g->cols.off[i + 1] - g->cols.off[i];
}

static int64_t steps(int64_t size, int64_t stride)
{
    return size > 0 ? (size - 1) / stride + 1 : 0;
}

static bool read_grids(pdm_k *k, grids *g)
{
    const pdm_tensor *row = pdm_k_slot_in(k, "ROW"), *col = pdm_k_slot_in(k, "COLUMN");
    pdm_seqs own;
    int64_t taps = 0;

    g->x = pdm_k_slot_in(k, "X");
    g->w = pdm_k_slot_in(k, "W");
    g->in_c = pdm_k_int(k, "InputChannel");
    g->out_c = pdm_k_int(k, "OutputChannel");
    g->kernel[0] = pdm_k_int(k, "KernelH");
    g->kernel[1] = pdm_k_int(k, "KernelW");
    g->stride[0] = pdm_k_int(k, "StrideH");
    g->stride[1] = pdm_k_int(k, "StrideW");
    if (!PDM_K_OK(k) || !pdm_k_seqs(k, row, 0, -1, &g->rows) ||
        !pdm_k_seqs(k, col, 0, -1, &g->cols) || !pdm_k_row_seqs(k, g->x, &own) ||
        !pdm_k_rank_is(k, g->w, 2, "W"))
        return false;
    if (g->in_c < 1 || g->out_c < 1 || g->kernel[0] < 1 || g->kernel[1] < 1 || g->stride[0] < 1 ||
        g->stride[1] < 1 || __builtin_mul_overflow(g->in_c, g->kernel[0], &taps) ||
        __builtin_mul_overflow(taps, g->kernel[1], &taps) || g->w->dims[0] != g->out_c ||
        g->w->dims[1] != taps || pdm_k_row_size(g->x) != 1 || g->rows.count != own.count ||
        g->cols.count != own.count)
        pdm_k_fail(k, "operands do not fit together");
    g->taps = taps;
    for (int64_t i = 0; PDM_K_OK(k) && i < own.count; i++) {
        int64_t n;
        if (__builtin_mul_overflow(height(g, i), width(g, i), &n) ||
            __builtin_mul_overflow(n, g->in_c, &n) || n != own.off[i + 1] - own.off[i])
            pdm_k_fail(k, "image %lld has not %lld x %lld places", (long long)i,
                       (long long)height(g, i), (long long)width(g, i));
    }
    return PDM_K_OK(k);
}

/* What lies under tap t of the kernel at place p of image i (first: where its numbers begin). */
static double under(const grids *g, int64_t first, int64_t i, int64_t t, int64_t p)
{
    const int64_t h = height(g, i), w = width(g, i), across = steps(w, g->stride[1]);
    const int64_t c = t / (g->kernel[0] * g->kernel[1]);
    const int64_t y =
        p / across * g->stride[0] + t / g->kernel[1] % g->kernel[0] - g->kernel[0] / 2;
    const int64_t x = p % across * g->stride[1] + t % g->kernel[1] - g->kernel[1] / 2;

    if (y < 0 || y >= h || x < 0 || x >= w)
        return 0;
    return pdm_get_double(g->x, first + (c * h + y) * w + x);
}

static void convolve(const grids *g, const int64_t *out_off, const int64_t *col_off,
                     pdm_tensor *out, pdm_tensor *col)
{
    for (int64_t i = 0, first = 0; i < g->rows.count; i++) {
        const int64_t places = (out_off[i + 1] - out_off[i]) / g->out_c;
        for (int64_t n = 0; col && n < g->taps * places; n++)
            pdm_set_double(col, col_off[i] + n, under(g, first, i, n / places, n % places));
        for (int64_t n = 0; out && n < g->out_c * places; n++) {
            double sum = 0;
            for (int64_t t = 0; t < g->taps; t++)
                sum += pdm_get_double(g->w, n / places * g->taps + t) *
                       under(g, first, i, t, n % places);
            pdm_set_double(out, out_off[i] + n, sum);
        }
        first += g->in_c * height(g, i) * width(g, i);
    }
}

pdm_status pdm_kernel_legacy_var_conv_2d(pdm_k *k)
{
    grids g = {0};
    pdm_arena arena;

    if (!read_grids(k, &g))
        return k->status;
    pdm_arena_init(&arena);
    const int64_t count = g.rows.count;
    int64_t *out_off = pdm_k_scratch(k, &arena, count + 1, sizeof *out_off);
    int64_t *col_off = pdm_k_scratch(k, &arena, count + 1, sizeof *col_off);
    for (int64_t i = 0; PDM_K_OK(k) && i < count; i++) {
        const int64_t places = steps(height(&g, i), g.stride[0]) * steps(width(&g, i), g.stride[1]);
        int64_t n, m;
        if (__builtin_mul_overflow(places, g.out_c, &n) ||
            __builtin_add_overflow(out_off[i], n, &out_off[i + 1]) ||
            __builtin_mul_overflow(places, g.taps, &m) ||
            __builtin_add_overflow(col_off[i], m, &col_off[i + 1]))
            pdm_k_fail(k, "the result is too large");
    }
    if (PDM_K_OK(k)) {
        pdm_tensor *out = pdm_k_slot_out(k, "Out", g.x->dtype, 2, PDM_DIMS(out_off[count], 1));
        pdm_tensor *col = pdm_k_slot_out(k, "Col", g.x->dtype, 2, PDM_DIMS(col_off[count], 1));
        if (PDM_K_OK(k))
            convolve(&g, out_off, col_off, out, col);
        pdm_k_set_lod1(k, out, out_off, count);
        pdm_k_set_lod1(k, col, col_off, count);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}
