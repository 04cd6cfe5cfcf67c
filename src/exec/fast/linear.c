/* Products of matrices: with weights that were packed before, and of two that come at run time. */
#include <string.h>

#include "base/checked.h"
#include "exec/fast/dense.h"
#include "exec/kernels/nn_impl.h"

enum { BLOCK = 48 }; /* rows of a unit of work; whole tiles of all heights */

typedef struct product {
    const float *x;
    int64_t x_stride, rows;
    pdm_dense dense;
    int panels, parts;
    int64_t blocks;
} product;

static void run_units(void *arg, int64_t begin, int64_t end)
{
    const product *p = arg;
    const int64_t whole = 0;

    for (int64_t u = begin; u < end; u++) {
        const int64_t row = u / p->parts * BLOCK, part = u % p->parts;
        const int64_t rows = p->rows - row < BLOCK ? p->rows - row : BLOCK;
        const pdm_dense_rows x = {p->x + row * p->x_stride, p->x_stride, &whole, 1,
                                  p->dense.depth};
        pdm_dense_run(&p->dense, &x, row, rows, (int)(p->panels * part / p->parts),
                      (int)(p->panels * (part + 1) / p->parts));
    }
}

static void multiply(pdm_k *k, product *p)
{
    p->blocks = (p->rows + BLOCK - 1) / BLOCK;
    p->panels = pdm_dense_panels(p->dense.cols);
    p->parts = p->blocks >= 16 ? 1 : p->panels < 64 ? p->panels : 64;
    const int64_t rows = p->rows < BLOCK ? p->rows : BLOCK;
    const int64_t work = rows * p->dense.depth * p->dense.cols / p->parts;
    pdm_k_parallel(k, p->blocks * p->parts, 1 + 100000 / (work + 1), run_units, p);
}

/* ---- fast.linear ----------------------------------------------------------------------------- */

static bool read_linear(pdm_k *k, int64_t cols, int64_t dims[PDM_MAX_RANK])
{
    const pdm_tensor *x = pdm_k_in(k, 0), *w = pdm_k_in(k, 1), *bias = pdm_k_in_opt(k, 2);

    if (!x || !w)
        return false;
    if (x->dtype != PDM_F32 || w->dtype != PDM_F32 || (bias && bias->dtype != PDM_F32))
        return pdm_k_fail(k, "an operand is no float32"), false;
    if (x->rank < 1 || cols < 1 || cols > INT32_MAX || (bias && pdm_tensor_count(bias) != cols))
        return pdm_k_fail(k, "the operands do not fit %lld columns", (long long)cols), false;
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    const int64_t depth = x->dims[x->rank - 1];
    dims[x->rank - 1] = cols;
    if (pdm_tensor_count(w) != pdm_nn_mul(k, depth, pdm_dense_padded(cols)))
        pdm_k_fail(k, "a matrix with %lld columns does not fit the operand's %lld", (long long)cols,
                   (long long)depth);
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_fast_linear(pdm_k *k)
{
    const int64_t cols = pdm_k_int(k, "cols");
    int64_t dims[PDM_MAX_RANK];
    pdm_post post;
    uint64_t count;

    if (!PDM_K_OK(k) || !read_linear(k, cols, dims))
        return k->status;
    const pdm_tensor *x = pdm_k_in(k, 0), *bias = pdm_k_in_opt(k, 2);
    if (!pdm_count_elements(dims, (size_t)x->rank, &count) || count > INT64_MAX / 8)
        return pdm_k_fail(k, "the result is too large");
    if (!pdm_post_read(k, 3, x->rank, dims, &post))
        return k->status;
    float *y = post.grows ? pdm_k_temp(k, (size_t)count * sizeof *y)
                          : pdm_k_out(k, 0, PDM_F32, x->rank, dims);
    product p = {.x = x->data,
                 .x_stride = x->dims[x->rank - 1],
                 .rows = (int64_t)(count / (uint64_t)cols),
                 .dense = {.depth = x->dims[x->rank - 1],
                           .cols = cols,
                           .weights = pdm_k_in(k, 1)->data,
                           .even = x->dims[x->rank - 1] % 2 == 0,
                           .bias = bias ? pdm_dense_bias(k, bias->data, cols) : NULL,
                           .y = y,
                           .stride = cols,
                           .post = post.count > 0 && !post.grows ? &post : NULL}};
    if (y && PDM_K_OK(k) && count > 0)
        multiply(k, &p);
    if (post.grows && PDM_K_OK(k))
        pdm_post_expand(k, &post, y, x->rank, dims);
    pdm_post_pass_lod(k);
    return k->status;
}

/* ---- pd_op.matmul ---------------------------------------------------------------------------- */

/* Two batches of matrices, the last two dims; batches are alike, or that of y is missing. */
typedef struct matmul {
    const pdm_tensor *x, *y;
    bool turn_y;
    int64_t batch, rows, cols, depth;
    int64_t x_step, y_step; /* from matrix to matrix; 0: always the same */
    float *out, *room;      /* packed matrices of y, one for each that is under way */
} matmul;

static int64_t count_of(const int64_t *dims, int rank)
{
    int64_t n = 1;

    for (int i = 0; i < rank; i++)
        n *= dims[i];
    return n;
}

/* False: a case for the reference kernel. */
static bool read_matmul(pdm_k *k, matmul *m)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    const bool turn_x = pdm_k_bool(k, "transpose_x");

    m->x = x;
    m->y = y;
    m->turn_y = pdm_k_bool(k, "transpose_y");
    if (!PDM_K_OK(k) || turn_x || x->dtype != PDM_F32 || y->dtype != PDM_F32 || x->rank < 2 ||
        y->rank < 2 || y->rank > x->rank || pdm_tensor_count(x) == 0 || pdm_tensor_count(y) == 0 ||
        pdm_tensor_num_lod(x) > 0)
        return false;
    const int64_t *yd = y->dims + y->rank - 2;
    m->rows = x->dims[x->rank - 2];
    m->depth = x->dims[x->rank - 1];
    m->cols = yd[m->turn_y ? 0 : 1];
    m->batch = count_of(x->dims, x->rank - 2);
    const int64_t y_batch = count_of(y->dims, y->rank - 2);
    if (yd[m->turn_y ? 1 : 0] != m->depth)
        return false;
    if (y_batch == 1) { /* one matrix more rows */
        m->rows *= m->batch;
        m->batch = 1;
    } else if (y->rank != x->rank ||
               memcmp(x->dims, y->dims, (size_t)(x->rank - 2) * sizeof *x->dims) != 0) {
        return false;
    }
    m->x_step = m->rows * m->depth;
    m->y_step = m->cols * m->depth;
    return true;
}

static bool pack_y(pdm_k *k, const matmul *m, int64_t index, float *to)
{
    int64_t *offsets = pdm_k_temp(k, (size_t)m->depth * sizeof *offsets);

    if (!offsets)
        return false;
    for (int64_t i = 0; i < m->depth; i++)
        offsets[i] = m->turn_y ? i : i * m->cols;
    pdm_dense_pack((const float *)m->y->data + index * m->y_step, offsets,
                   m->turn_y ? m->depth : 1, m->depth, m->cols, m->depth % 2 == 0, to);
    return true;
}

pdm_status pdm_fast_matmul(pdm_k *k)
{
    matmul m = {0};
    int64_t dims[PDM_MAX_RANK];

    if (!read_matmul(k, &m))
        return PDM_K_OK(k) ? pdm_k_reference(k) : k->status;
    const int rank = m.x->rank;
    memcpy(dims, m.x->dims, (size_t)rank * sizeof *dims);
    dims[rank - 1] = m.cols;
    float *out = pdm_k_out(k, 0, PDM_F32, rank, dims);
    const int64_t floats = pdm_nn_mul(k, m.depth, pdm_dense_padded(m.cols));
    float *packed = PDM_K_OK(k) ? pdm_k_temp(k, (size_t)floats * sizeof *packed) : NULL;
    if (!out || !packed)
        return k->status;
    for (int64_t i = 0; i < m.batch; i++) {
        product p = {.x = (const float *)m.x->data + i * m.x_step,
                     .x_stride = m.depth,
                     .rows = m.rows,
                     .dense = {.depth = m.depth,
                               .cols = m.cols,
                               .weights = packed,
                               .even = m.depth % 2 == 0,
                               .y = out + i * m.rows * m.cols,
                               .stride = m.cols}};
        if (!pack_y(k, &m, i, packed))
            return k->status;
        multiply(k, &p);
    }
    return k->status;
}
