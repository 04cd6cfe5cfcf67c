/*
 * Matrix products by blocks.
 *
 * Products of float32 matrices are rounded as those of the framework on current processors are, so
 * that results do not drift from what was recorded: a fused multiply-add for each step along the
 * depth, in order; depths beyond 384 in blocks whose sums are added; one row alone in another
 * order, see single_row and dot. Other types sum in double.
 */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#if defined(__x86_64__) && defined(__GNUC__)
#define WITH_FMA 1
#include <immintrin.h>
#endif

enum { ROWS = PDM_GEMM_ROWS, TILE = PDM_GEMM_TILE, DEPTH = PDM_GEMM_DEPTH, LONGEST = 384 };

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* ---- double --------------------------------------------------------------------------------- */

/* Four doubles; the compiler makes of them what the processor has. */
typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

/* c[ROWS][TILE] += a[ROWS][depth] * b[depth][TILE], for four columns. */
static void multiply_double(const double *a, int64_t depth, const double *b, double *c)
{
    const double *a1 = a + depth, *a2 = a1 + depth, *a3 = a2 + depth;
    quad c0 = *(const quad *)c, c1 = *(const quad *)(c + TILE);
    quad c2 = *(const quad *)(c + 2 * TILE), c3 = *(const quad *)(c + 3 * TILE);

    for (int64_t p = 0; p < depth; p++, b += TILE) {
        const quad row = *(const quad *)b;
        c0 += a[p] * row;
        c1 += a1[p] * row;
        c2 += a2[p] * row;
        c3 += a3[p] * row;
    }
    *(quad *)c = c0;
    *(quad *)(c + TILE) = c1;
    *(quad *)(c + 2 * TILE) = c2;
    *(quad *)(c + 3 * TILE) = c3;
}

/* A block of the operands, edges padded with zeros; returns the depth of the block. */
static void load(const pdm_gemm *g, int64_t batch, int64_t row, int64_t rows, int64_t col,
                 int64_t cols, int64_t k, int64_t depth, double *a, double *b)
{
    g->load_a(g->arg, batch, row, rows, k, depth, a);
    for (int64_t i = rows * depth; i < round_up(rows, ROWS) * depth; i++)
        a[i] = 0;
    g->load_b(g->arg, batch, k, depth, col, cols, b);
    for (int64_t p = 0; p < depth && cols < TILE; p++) {
        for (int64_t j = cols; j < TILE; j++)
            b[p * TILE + j] = 0;
    }
}

static void tile_double(const pdm_gemm *g, int64_t batch, int64_t row, int64_t rows, int64_t col,
                        int64_t cols)
{
    double a[TILE * DEPTH], b[DEPTH * TILE], c[TILE * TILE];

    memset(c, 0, sizeof c);
    for (int64_t k = 0; k < g->depth; k += DEPTH) {
        const int64_t depth = g->depth - k < DEPTH ? g->depth - k : DEPTH;
        load(g, batch, row, rows, col, cols, k, depth, a, b);
        for (int64_t j = 0; j < cols; j += 4) {
            for (int64_t i = 0; i < rows; i += ROWS)
                multiply_double(a + i * depth, depth, b + j, c + i * TILE + j);
        }
    }
    g->store(g->arg, batch, row, rows, col, cols, c);
}

/* ---- float32 -------------------------------------------------------------------------------- */

/* a * b + c rounded once (but for a few in a billion: the double sum is rounded before). */
static float fma_of(float a, float b, float c)
{
    return (float)((double)a * (double)b + (double)c);
}

/* c[ROWS][TILE] = fma(a[ROWS][depth], b[depth][TILE], c), all columns. */
static void multiply_plain(const float *a, int64_t depth, const float *b, float *c)
{
    for (int i = 0; i < ROWS; i++) {
        for (int64_t p = 0; p < depth; p++) {
            for (int j = 0; j < TILE; j++)
                c[i * TILE + j] = fma_of(a[i * depth + p], b[p * TILE + j], c[i * TILE + j]);
        }
    }
}

#ifdef WITH_FMA
__attribute__((target("avx2,fma"))) static void multiply_fma(const float *a, int64_t depth,
                                                             const float *b, float *c)
{
    for (int j = 0; j < TILE; j += 16, b += 16, c += 16) {
        __m256 sum[ROWS][2];
        for (int i = 0; i < ROWS; i++) {
            sum[i][0] = _mm256_loadu_ps(c + i * TILE);
            sum[i][1] = _mm256_loadu_ps(c + i * TILE + 8);
        }
        for (int64_t p = 0; p < depth; p++) {
            const __m256 b0 = _mm256_loadu_ps(b + p * TILE), b1 = _mm256_loadu_ps(b + p * TILE + 8);
            for (int i = 0; i < ROWS; i++) {
                const __m256 factor = _mm256_broadcast_ss(a + i * depth + p);
                sum[i][0] = _mm256_fmadd_ps(factor, b0, sum[i][0]);
                sum[i][1] = _mm256_fmadd_ps(factor, b1, sum[i][1]);
            }
        }
        for (int i = 0; i < ROWS; i++) {
            _mm256_storeu_ps(c + i * TILE, sum[i][0]);
            _mm256_storeu_ps(c + i * TILE + 8, sum[i][1]);
        }
    }
}
#endif

typedef void (*multiply_fn)(const float *a, int64_t depth, const float *b, float *c);

static multiply_fn best_multiply(void)
{
#ifdef WITH_FMA
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return multiply_fma;
#endif
    return multiply_plain;
}

/* Two products, the second rounded alone. */
static float pair(const float *a, const float *b, int j, int first, int second)
{
    return fma_of(a[first], b[first * TILE + j], a[second] * b[second * TILE + j]);
}

/*
 * One row by a matrix, column j: eight steps at a time, in pairs of even and of odd ones whose sums
 * are added, the sum so far in the second half. The last columns of the matrix (`edge`), and the
 * last steps, go in order.
 */
static void single_row(const float *a, int64_t depth, const float *b, float *c, int64_t cols,
                       int64_t edge)
{
    for (int j = 0; j < (int)cols; j++) {
        int64_t p = 0;
        for (; j < edge && p + 8 <= depth; p += 8) {
            const float *x = a + p, *y = b + p * TILE;
            const float chain = fma_of(x[4], y[4 * TILE + j], fma_of(x[6], y[6 * TILE + j], c[j]));
            const float low = pair(x, y, j, 0, 2) + pair(x, y, j, 1, 3);
            c[j] = low + (chain + pair(x, y, j, 5, 7));
        }
        for (; p < depth; p++)
            c[j] = fma_of(a[p], b[p * TILE + j], c[j]);
    }
}

/*
 * A dot product, as in a matrix by one column: the first step alone, then sixteen sums side by side
 * that are added at the end, halves to halves. The results come by fours; in these the first step
 * begins the first of the sums, and steps that do not fill sixteen begin anew from what there is.
 * In the one to three results that remain the first step is added at the end.
 */
typedef struct dot {
    float sums[16], head;
    bool of_four;
    int64_t steps, whole; /* whole: where the steps end that fill sixteen */
} dot;

static float add_halves(const float *sums)
{
    float v[16];

    memcpy(v, sums, sizeof v);
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            v[i] += v[i + half];
    }
    return v[0];
}

static void dot_begin(dot *d, int64_t index, int64_t results, int64_t depth)
{
    memset(d, 0, sizeof *d);
    d->of_four = index < results / 4 * 4;
    d->whole = (depth - 1) / 16 * 16 + 1;
}

static void dot_step(dot *d, float x, float y)
{
    const int64_t step = d->steps++, lane = (step + 15) % 16;

    if (step == 0) {
        *(d->of_four ? &d->sums[0] : &d->head) = x * y;
        return;
    }
    if (d->of_four && step == d->whole && step > 1) {
        const float sum = add_halves(d->sums);
        memset(d->sums, 0, sizeof d->sums);
        d->sums[0] = sum;
    }
    d->sums[lane] = fma_of(x, y, d->sums[lane]);
}

static void tile_dots(const pdm_gemm *g, int64_t batch, int64_t row, int64_t rows, int64_t col,
                      int64_t cols)
{
    const bool down = g->cols == 1;
    const int64_t n = down ? rows : cols;
    double a[TILE * DEPTH], b[DEPTH * TILE], c[TILE * TILE];
    dot dots[TILE];

    for (int64_t i = 0; i < n; i++)
        dot_begin(&dots[i], (down ? row : col) + i, down ? g->rows : g->cols, g->depth);
    for (int64_t k = 0; k < g->depth; k += DEPTH) {
        const int64_t depth = g->depth - k < DEPTH ? g->depth - k : DEPTH;
        load(g, batch, row, rows, col, cols, k, depth, a, b);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t p = 0; p < depth; p++)
                dot_step(&dots[i], (float)a[(down ? i * depth : 0) + p],
                         (float)b[p * TILE + (down ? 0 : i)]);
        }
    }
    for (int64_t i = 0; i < n; i++)
        c[down ? i * TILE : i] = (double)(dots[i].head + add_halves(dots[i].sums));
    g->store(g->arg, batch, row, rows, col, cols, c);
}

static void to_single(const double *from, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

/* Steps [k, end) of one chain: c = fma(a, b, c). */
static void chain(const pdm_gemm *g, int64_t batch, int64_t row, int64_t rows, int64_t col,
                  int64_t cols, int64_t k, int64_t end, multiply_fn multiply, float *c)
{
    double wide[2][TILE * DEPTH];
    float a[TILE * DEPTH], b[DEPTH * TILE];

    for (; k < end; k += DEPTH) {
        const int64_t depth = end - k < DEPTH ? end - k : DEPTH;
        load(g, batch, row, rows, col, cols, k, depth, wide[0], wide[1]);
        to_single(wide[0], a, round_up(rows, ROWS) * depth);
        to_single(wide[1], b, depth * TILE);
        if (g->rows == 1 && g->part == 0) {
            single_row(a, depth, b, c, cols, g->cols / 16 * 16 - col);
            continue;
        }
        for (int64_t i = 0; i < rows; i += ROWS)
            multiply(a + i * depth, depth, b, c + i * TILE);
    }
}

static void add(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

/* Where a chain from k ends within [k, end): blocks of at most 384, the last two of one size. */
static int64_t chain_end(int64_t k, int64_t end)
{
    const int64_t rest = end - k;

    return rest >= 2 * LONGEST ? k + LONGEST : rest > LONGEST ? k + (rest + 1) / 2 : end;
}

static void tile_single(const pdm_gemm *g, int64_t batch, int64_t row, int64_t rows, int64_t col,
                        int64_t cols)
{
    const multiply_fn multiply = best_multiply();
    const int64_t part = g->part > 0 ? g->part : g->depth, used = round_up(rows, ROWS) * TILE;
    float c[TILE * TILE], sum[TILE * TILE], total[TILE * TILE];
    double wide[TILE * TILE];

    memset(total, 0, sizeof total);
    for (int64_t first = 0; first < g->depth; first += part) {
        const int64_t last = first + part < g->depth ? first + part : g->depth;
        memset(sum, 0, sizeof sum);
        for (int64_t k = first, end; k < last; k = end) {
            end = g->rows == 1 && g->part == 0 ? last : chain_end(k, last);
            memset(c, 0, sizeof c);
            chain(g, batch, row, rows, col, cols, k, end, multiply, c);
            add(sum, c, used);
        }
        add(total, sum, used);
    }
    for (int64_t i = 0; i < rows * TILE; i++)
        wide[i] = (double)total[i];
    g->store(g->arg, batch, row, rows, col, cols, wide);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void tiles(void *arg, int64_t begin, int64_t end)
{
    const pdm_gemm *g = arg;
    const int64_t across = (g->cols + TILE - 1) / TILE, down = (g->rows + TILE - 1) / TILE;

    for (int64_t t = begin; t < end; t++) {
        const int64_t row = t / across % down * TILE, col = t % across * TILE;
        const int64_t rows = g->rows - row < TILE ? g->rows - row : TILE;
        const int64_t cols = g->cols - col < TILE ? g->cols - col : TILE;
        const bool dots = g->part == 0 && (g->cols == 1 || (g->rows == 1 && g->dots));
        (!g->single ? tile_double
         : dots     ? tile_dots
                    : tile_single)(g, t / (across * down), row, rows, col, cols);
    }
}

void pdm_nn_gemm(pdm_k *k, const pdm_gemm *gemm)
{
    if (!PDM_K_OK(k) || gemm->batch <= 0 || gemm->rows <= 0 || gemm->cols <= 0)
        return;
    /* No overflow: c exists, and it has at least one element for each tile. */
    const int64_t n =
        gemm->batch * ((gemm->cols + TILE - 1) / TILE) * ((gemm->rows + TILE - 1) / TILE);
    pdm_gemm copy = *gemm;
    pdm_k_parallel(k, n, 1, tiles, &copy);
}

void pdm_nn_matrix_rows(const pdm_nn_matrix *m, int64_t row, int64_t rows, int64_t k, int64_t depth,
                        double *to)
{
    for (int64_t r = 0; r < rows; r++)
        pdm_nn_load(m->tensor, m->first + (row + r) * m->row + k * m->col, m->col, depth,
                    to + r * depth);
}

void pdm_nn_matrix_cols(const pdm_nn_matrix *m, int64_t k, int64_t depth, int64_t col, int64_t cols,
                        double *to)
{
    for (int64_t p = 0; p < depth; p++)
        pdm_nn_load(m->tensor, m->first + (k + p) * m->row + col * m->col, m->col, cols,
                    to + p * TILE);
}

void pdm_nn_matmul(const double *a, const double *b, double *c, int64_t rows, int64_t cols,
                   int64_t depth, bool add_to)
{
    for (int64_t i = 0; i < rows; i++) {
        double *to = c + i * cols;
        for (int64_t j = 0; j < cols && !add_to; j++)
            to[j] = 0;
        for (int64_t p = 0; p < depth; p++) {
            const double factor = a[i * depth + p];
            for (int64_t j = 0; j < cols; j++)
                to[j] += factor * b[p * cols + j];
        }
    }
}
