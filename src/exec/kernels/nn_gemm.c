/* Matrix products by blocks. Blocks are multiplied whole, edges padded with zeros. */
#include "exec/kernels/nn_impl.h"

enum { ROWS = PDM_GEMM_ROWS, COLS = PDM_GEMM_COLS, TILE = PDM_GEMM_TILE, DEPTH = PDM_GEMM_DEPTH };

/* Four doubles; the compiler makes of them what the processor has. */
typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

/* c[ROWS][TILE] += a[ROWS][depth] * b[depth][TILE], for COLS columns. */
static void multiply(const double *a, int64_t depth, const double *b, double *c)
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

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static void tile(const pdm_gemm *g, int64_t batch, int64_t row, int64_t col)
{
    const int64_t rows = g->rows - row < TILE ? g->rows - row : TILE;
    const int64_t cols = g->cols - col < TILE ? g->cols - col : TILE;
    const int64_t all_rows = round_up(rows, ROWS), all_cols = round_up(cols, COLS);
    double a[TILE * DEPTH], b[DEPTH * TILE], c[TILE * TILE];

    memset(c, 0, (size_t)all_rows * TILE * sizeof *c);
    for (int64_t k = 0; k < g->depth; k += DEPTH) {
        const int64_t depth = g->depth - k < DEPTH ? g->depth - k : DEPTH;
        g->load_a(g->arg, batch, row, rows, k, depth, a);
        memset(a + rows * depth, 0, (size_t)((all_rows - rows) * depth) * sizeof *a);
        g->load_b(g->arg, batch, k, depth, col, cols, b);
        for (int64_t p = 0; p < depth; p++) {
            for (int64_t j = cols; j < all_cols; j++)
                b[p * TILE + j] = 0;
        }
        for (int64_t j = 0; j < cols; j += COLS) {
            for (int64_t i = 0; i < rows; i += ROWS)
                multiply(a + i * depth, depth, b + j, c + i * TILE + j);
        }
    }
    g->store(g->arg, batch, row, rows, col, cols, c);
}

static void tiles(void *arg, int64_t begin, int64_t end)
{
    const pdm_gemm *g = arg;
    const int64_t across = (g->cols + TILE - 1) / TILE, down = (g->rows + TILE - 1) / TILE;

    for (int64_t t = begin; t < end; t++)
        tile(g, t / (across * down), t / across % down * TILE, t % across * TILE);
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
                   int64_t depth, bool add)
{
    for (int64_t i = 0; i < rows; i++) {
        double *to = c + i * cols;
        for (int64_t j = 0; j < cols && !add; j++)
            to[j] = 0;
        for (int64_t p = 0; p < depth; p++) {
            const double factor = a[i * depth + p];
            for (int64_t j = 0; j < cols; j++)
                to[j] += factor * b[p * cols + j];
        }
    }
}
