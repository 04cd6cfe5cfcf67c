/* Matrix products: matmul and its relatives. */
#include "exec/kernels/nn_device.h"

typedef pdm_nn_product product;

/* Where matrix number `batch` of an operand begins. */
static int64_t batch_offset(const product *p, const int64_t *strides, int64_t batch)
{
    int64_t offset = 0;

    for (int d = p->batch_rank - 1; d >= 0; d--) {
        offset += batch % p->batch_dims[d] * strides[d];
        batch /= p->batch_dims[d];
    }
    return offset;
}

static void load_x(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t k,
                   int64_t depth, double *to)
{
    const product *p = arg;
    const pdm_nn_matrix m = {p->x, batch_offset(p, p->x_batch, batch), p->x_row, p->x_col};

    pdm_nn_matrix_rows(&m, row, rows, k, depth, to);
}

static void load_y(const void *arg, int64_t batch, int64_t k, int64_t depth, int64_t col,
                   int64_t cols, double *to)
{
    const product *p = arg;
    const pdm_nn_matrix m = {p->y, batch_offset(p, p->y_batch, batch), p->y_row, p->y_col};

    pdm_nn_matrix_cols(&m, k, depth, col, cols, to);
}

static void store_out(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t col,
                      int64_t cols, double *from)
{
    const product *p = arg;

    for (int64_t r = 0; r < rows; r++, from += PDM_GEMM_TILE) {
        if (p->alpha != 1) {
            for (int64_t j = 0; j < cols; j++)
                from[j] *= p->alpha;
        }
        if (p->add) {
            const int64_t at = batch * p->add_batch + (row + r) * p->add_row;
            for (int64_t j = 0; j < cols; j++)
                from[j] += p->beta * pdm_nn_at(p->add, at + (col + j) * p->add_col);
        }
        pdm_nn_store(p->out, (batch * p->rows + row + r) * p->cols + col, 1, cols, from);
    }
}

/* ---- integers, complex: plain loops --------------------------------------------------------- */

typedef struct span {
    const product *p;
    int64_t begin, end; /* rows of all matrices */
} span;

#define PLAIN(code, suffix, type, acc, load, store, sum_type)                                      \
    static void plain_##suffix(const span *s)                                                      \
    {                                                                                              \
        const product *p = s->p;                                                                   \
        for (int64_t r = s->begin; r < s->end; r++) {                                              \
            const int64_t b = r / p->rows;                                                         \
            const type *x = (const type *)p->x->data + batch_offset(p, p->x_batch, b) +            \
                            r % p->rows * p->x_row;                                                \
            const type *y = (const type *)p->y->data + batch_offset(p, p->y_batch, b);             \
            type *out = (type *)p->out->data + r * p->cols;                                        \
            for (int64_t j = 0; j < p->cols; j++) {                                                \
                sum_type sum = 0;                                                                  \
                for (int64_t i = 0; i < p->depth; i++)                                             \
                    sum += (sum_type)x[i * p->x_col] * (sum_type)y[i * p->y_row + j * p->y_col];   \
                out[j] = (type)sum;                                                                \
            }                                                                                      \
        }                                                                                          \
    }
/* Integers wrap around. */
PDM_K_INTS(PLAIN, uint64_t)
PLAIN(PDM_C64, c64, float complex, , , , double complex)
PLAIN(PDM_C128, c128, double complex, , , , double complex)

#define PLAIN_SET(X, ...) PDM_K_INTS(X, __VA_ARGS__) PDM_K_COMPLEXES(X, __VA_ARGS__)

typedef struct plain_job {
    pdm_k *k;
    const product *p;
} plain_job;

static void plain_rows(void *arg, int64_t begin, int64_t end)
{
    const plain_job *job = arg;
    const span s = {job->p, begin, end};

    PDM_K_DISPATCH(job->k, job->p->x->dtype, PLAIN_SET, plain, &s);
}

static bool has_plain(pdm_dtype dtype)
{
    return pdm_dtype_is_complex(dtype) || (pdm_dtype_is_int(dtype) && dtype != PDM_BOOL);
}

static pdm_status run(pdm_k *k, const product *p)
{
    if (!PDM_K_OK(k) || pdm_tensor_count(p->out) == 0)
        return k->status;
    if (k->device && k->device->product(k->device, k, p))
        return k->status;
    if (pdm_dtype_is_float(p->x->dtype)) {
        const pdm_gemm gemm = {.batch = p->batch,
                               .rows = p->rows,
                               .cols = p->cols,
                               .depth = p->depth,
                               .load_a = load_x,
                               .load_b = load_y,
                               .store = store_out,
                               .arg = p,
                               .single = p->x->dtype == PDM_F32,
                               .dots = p->y_col != 1};
        pdm_nn_gemm(k, &gemm);
    } else if (has_plain(p->x->dtype)) {
        plain_job job = {k, p};
        pdm_k_parallel(k, p->batch * p->rows, 1, plain_rows, &job);
    } else {
        pdm_k_unsupported_dtype(k, p->x->dtype);
    }
    return k->status;
}

/* ---- matmul --------------------------------------------------------------------------------- */

/* Batch dims of both operands, broadcast; their strides count whole matrices times their size. */
static void broadcast_batches(pdm_k *k, product *p, int x_rank, int y_rank)
{
    const int rank = x_rank > y_rank ? x_rank : y_rank;
    int64_t x_stride = p->rows * p->depth, y_stride = p->depth * p->cols;

    p->batch_rank = rank;
    p->batch = 1;
    for (int d = rank - 1; d >= 0; d--) {
        const int xd = d - (rank - x_rank), yd = d - (rank - y_rank);
        const int64_t a = xd >= 0 ? p->x->dims[xd] : 1, b = yd >= 0 ? p->y->dims[yd] : 1;
        if (a != b && a != 1 && b != 1) {
            pdm_k_fail(k, "batch dimensions %lld and %lld do not fit", (long long)a, (long long)b);
            return;
        }
        p->batch_dims[d] = a == 1 ? b : a;
        p->x_batch[d] = a == 1 ? 0 : x_stride;
        p->y_batch[d] = b == 1 ? 0 : y_stride;
        x_stride *= a;
        y_stride *= b;
        p->batch = pdm_nn_mul(k, p->batch, p->batch_dims[d]);
    }
}

/* A batch of matrices by one matrix is one product of all rows. */
static void fold_batches(product *p)
{
    int64_t y_batches = 1;

    for (int d = 0; d < p->y->rank - 2; d++)
        y_batches *= p->y->dims[d];
    if (y_batches != 1 || p->x_col != 1 || p->batch < 1)
        return;
    p->rows *= p->batch;
    p->batch = 1;
    p->batch_rank = 0;
}

/* Rows, columns, depth of operands with possibly one dimension. */
static bool matrix_sizes(pdm_k *k, product *p, bool trans_x, bool trans_y)
{
    const pdm_tensor *x = p->x, *y = p->y;
    const bool x_vec = x->rank == 1, y_vec = y->rank == 1;

    if (x->rank < 1 || y->rank < 1) {
        pdm_k_fail(k, "operands must have a dimension");
        return false;
    }
    p->rows = x_vec ? 1 : x->dims[x->rank - (trans_x ? 1 : 2)];
    p->depth = x->dims[x_vec || !trans_x ? x->rank - 1 : x->rank - 2];
    p->cols = y_vec ? 1 : y->dims[y->rank - (trans_y ? 2 : 1)];
    const int64_t depth = y->dims[y_vec || trans_y ? y->rank - 1 : y->rank - 2];
    if (depth != p->depth) {
        pdm_k_fail(k, "inner dimensions %lld and %lld differ", (long long)p->depth,
                   (long long)depth);
        return false;
    }
    p->x_row = trans_x && !x_vec ? 1 : p->depth;
    p->x_col = trans_x && !x_vec ? p->rows : 1;
    p->y_row = trans_y && !y_vec ? 1 : p->cols;
    p->y_col = trans_y && !y_vec ? p->depth : 1;
    return true;
}

static bool same_types(pdm_k *k, const pdm_tensor *x, const pdm_tensor *y)
{
    if (x && y && x->dtype != y->dtype)
        pdm_k_fail(k, "operands are %s and %s", pdm_dtype_name(x->dtype), pdm_dtype_name(y->dtype));
    return x && y && PDM_K_OK(k);
}

static pdm_status matmul(pdm_k *k, bool trans_x, bool trans_y, double alpha)
{
    product p = {.x = pdm_k_in(k, 0), .y = pdm_k_in(k, 1), .alpha = alpha};

    if (!same_types(k, p.x, p.y) || !matrix_sizes(k, &p, trans_x, trans_y))
        return k->status;
    broadcast_batches(k, &p, p.x->rank > 2 ? p.x->rank - 2 : 0, p.y->rank > 2 ? p.y->rank - 2 : 0);
    int64_t dims[PDM_MAX_RANK + 2];
    int rank = p.batch_rank;
    memcpy(dims, p.batch_dims, (size_t)rank * sizeof *dims);
    if (p.x->rank > 1)
        dims[rank++] = p.rows;
    if (p.y->rank > 1)
        dims[rank++] = p.cols;
    p.out = pdm_nn_out(k, 0, p.x->dtype, rank, dims);
    if (!p.out)
        return k->status;
    if (rank > 0 && p.x->rank > 1 && p.x->dims[0] == dims[0])
        pdm_k_share_lod(k, 0, p.x);
    fold_batches(&p);
    return run(k, &p);
}

pdm_status pdm_kernel_matmul(pdm_k *k)
{
    return matmul(k, pdm_k_bool(k, "transpose_x"), pdm_k_bool(k, "transpose_y"), 1);
}

pdm_status pdm_kernel_legacy_matmul(pdm_k *k)
{
    return matmul(k, pdm_k_bool(k, "transpose_x"), pdm_k_bool(k, "transpose_y"),
                  pdm_k_float(k, "alpha"));
}

pdm_status pdm_kernel_bmm(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);

    if (!pdm_nn_rank_is(k, x, 3, 3, "x") || !pdm_nn_rank_is(k, y, 3, 3, "y") || !x || !y)
        return k->status;
    if (x->dims[0] != y->dims[0])
        return pdm_k_fail(k, "batches of %lld and %lld matrices", (long long)x->dims[0],
                          (long long)y->dims[0]);
    return matmul(k, false, false, 1);
}

pdm_status pdm_kernel_mv(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *vec = pdm_k_in(k, 1);

    if (!pdm_nn_rank_is(k, x, 2, 2, "x") || !pdm_nn_rank_is(k, vec, 1, 1, "vec"))
        return k->status;
    return matmul(k, false, false, 1);
}

/* beta * input + alpha * x * y, for one matrix (rank 2) or a batch (rank 3). */
static pdm_status add_product(pdm_k *k, int rank)
{
    const pdm_tensor *input = pdm_k_in(k, 0);
    product p = {.x = pdm_k_in(k, 1),
                 .y = pdm_k_in(k, 2),
                 .alpha = pdm_k_float(k, "alpha"),
                 .beta = pdm_k_float(k, "beta"),
                 .add = input};

    if (!same_types(k, p.x, p.y) || !pdm_nn_floats(k, p.x) || !pdm_nn_floats(k, input) ||
        !pdm_nn_rank_is(k, p.x, rank, rank, "x") || !pdm_nn_rank_is(k, p.y, rank, rank, "y") ||
        !pdm_nn_rank_is(k, input, 0, rank, "input") || !matrix_sizes(k, &p, false, false))
        return k->status;
    broadcast_batches(k, &p, rank - 2, rank - 2);
    const int64_t dims[3] = {p.batch, p.rows, p.cols};
    int64_t *const strides[3] = {&p.add_batch, &p.add_row, &p.add_col};
    int64_t stride = 1;
    for (int d = 2, e = input->rank - 1; e >= 0; d--, e--) {
        if (input->dims[e] != dims[d] && input->dims[e] != 1)
            return pdm_k_fail(k, "input does not fit the product");
        *strides[d] = input->dims[e] == 1 ? 0 : stride;
        stride *= input->dims[e];
    }
    p.out = pdm_nn_out(k, 0, p.x->dtype, rank, dims + 3 - rank);
    return p.out ? run(k, &p) : k->status;
}

pdm_status pdm_kernel_addmm(pdm_k *k)
{
    return add_product(k, 2);
}

pdm_status pdm_kernel_baddbmm(pdm_k *k)
{
    return add_product(k, 3);
}

pdm_status pdm_kernel_matmul_with_flatten(pdm_k *k)
{
    product p = {.x = pdm_k_in(k, 0), .y = pdm_k_in(k, 1), .alpha = 1, .batch = 1};
    const int64_t x_cols = pdm_k_int(k, "x_num_col_dims"), y_cols = pdm_k_int(k, "y_num_col_dims");
    int64_t dims[2 * PDM_MAX_RANK];

    if (!same_types(k, p.x, p.y))
        return k->status;
    if (x_cols < 1 || x_cols >= p.x->rank || y_cols < 1 || y_cols >= p.y->rank)
        return pdm_k_fail(k, "the operands cannot be flattened at %lld and %lld", (long long)x_cols,
                          (long long)y_cols);
    p.rows = pdm_k_product(p.x->dims, 0, (int)x_cols);
    p.depth = pdm_k_product(p.x->dims, (int)x_cols, p.x->rank);
    p.cols = pdm_k_product(p.y->dims, (int)y_cols, p.y->rank);
    if (pdm_k_product(p.y->dims, 0, (int)y_cols) != p.depth)
        return pdm_k_fail(k, "inner dimensions of the product differ");
    p.x_row = p.depth;
    p.y_row = p.cols;
    p.x_col = p.y_col = 1;
    const int rank = (int)x_cols + p.y->rank - (int)y_cols;
    memcpy(dims, p.x->dims, (size_t)x_cols * sizeof *dims);
    memcpy(dims + x_cols, p.y->dims + y_cols, (size_t)(p.y->rank - y_cols) * sizeof *dims);
    p.out = pdm_nn_out(k, 0, p.x->dtype, rank, dims);
    if (!p.out)
        return k->status;
    pdm_k_share_lod(k, 0, p.x);
    return run(k, &p);
}
