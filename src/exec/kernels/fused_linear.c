/* Products of matrices with bias and activation, and chains of them. */
#include "exec/kernels/nn_impl.h"

#include <stdlib.h>

/* ---- one linear layer ----------------------------------------------------------------------- */

static void load_x(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t k,
                   int64_t depth, double *to)
{
    const pdm_nn_linear *l = arg;
    const pdm_nn_matrix m = {l->x, 0, l->x_row, l->x_col};

    (void)batch;
    pdm_nn_matrix_rows(&m, row, rows, k, depth, to);
}

static void load_w(const void *arg, int64_t batch, int64_t k, int64_t depth, int64_t col,
                   int64_t cols, double *to)
{
    const pdm_nn_linear *l = arg;
    const pdm_nn_matrix m = {l->w, 0, l->w_row, l->w_col};

    (void)batch;
    pdm_nn_matrix_cols(&m, k, depth, col, cols, to);
}

static void store(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t col,
                  int64_t cols, double *from)
{
    const pdm_nn_linear *l = arg;

    (void)batch;
    for (int64_t r = row; r < row + rows; r++, from += PDM_GEMM_TILE) {
        for (int64_t j = 0; j < cols; j++) {
            from[j] += l->bias ? pdm_nn_at(l->bias, col + j) : 0;
            if (l->act)
                from[j] = l->act(from[j]);
        }
        pdm_nn_store(l->out, r * l->cols + col, 1, cols, from);
    }
}

void pdm_nn_linear_run(pdm_k *k, const pdm_nn_linear *linear)
{
    const pdm_gemm gemm = {.batch = 1,
                           .rows = linear->rows,
                           .cols = linear->cols,
                           .depth = linear->depth,
                           .load_a = load_x,
                           .load_b = load_w,
                           .store = store,
                           .arg = linear,
                           .single = linear->x->dtype == PDM_F32,
                           .dots = linear->w_col != 1};

    pdm_nn_gemm(k, &gemm);
}

/* x flattened before dimension `split`, w a matrix: sizes, strides, and the result's dims. */
static int shape_linear(pdm_k *k, pdm_nn_linear *l, int64_t split, bool trans_w,
                        int64_t dims[PDM_MAX_RANK])
{
    if (!pdm_nn_floats(k, l->x) || !pdm_nn_floats(k, l->w) ||
        (l->bias && !pdm_nn_floats(k, l->bias)) || !pdm_nn_rank_is(k, l->w, 2, 2, "w"))
        return 0;
    if (split < 1 || split > l->x->rank) {
        pdm_k_fail(k, "x with %d dimensions cannot be flattened at %lld", l->x->rank,
                   (long long)split);
        return 0;
    }
    l->rows = pdm_k_product(l->x->dims, 0, (int)split);
    l->depth = l->x_row = pdm_k_product(l->x->dims, (int)split, l->x->rank);
    l->x_col = 1;
    l->cols = l->w->dims[trans_w ? 0 : 1];
    l->w_row = trans_w ? 1 : l->cols;
    l->w_col = trans_w ? l->w->dims[1] : 1;
    if (l->w->dims[trans_w ? 1 : 0] != l->depth) {
        pdm_k_fail(k, "w does not fit rows of %lld elements", (long long)l->depth);
        return 0;
    }
    memcpy(dims, l->x->dims, (size_t)split * sizeof *dims);
    if (split == PDM_MAX_RANK) {
        pdm_k_fail(k, "x has too many dimensions");
        return 0;
    }
    dims[split] = l->cols;
    return pdm_nn_count_is(k, l->bias, l->cols, "bias") ? (int)split + 1 : 0;
}

static pdm_status finish_linear(pdm_k *k, pdm_nn_linear *l, size_t index, int rank,
                                const int64_t *dims)
{
    if (!PDM_K_OK(k))
        return k->status;
    l->out = pdm_nn_out(k, index, l->x->dtype, rank, dims);
    if (l->out) {
        pdm_k_share_lod(k, index, l->x);
        pdm_nn_linear_run(k, l);
    }
    return k->status;
}

pdm_status pdm_kernel_fc(pdm_k *k)
{
    pdm_nn_linear l = {.x = pdm_k_in(k, 0),
                       .w = pdm_k_in(k, 1),
                       .bias = pdm_k_in_opt(k, 2),
                       .act = pdm_nn_act_find(k, pdm_k_str(k, "activation_type"))};
    int64_t dims[PDM_MAX_RANK], split = pdm_k_int(k, "in_num_col_dims");
    pdm_tensor inner;

    if (!l.w || !PDM_K_OK(k))
        return k->status;
    const bool padded = pdm_k_bool(k, "padding_weights");
    if (padded) { /* the matrix stands in one that is larger by four rows and columns */
        if (l.w->rank != 2 || l.w->dims[0] < 4 || l.w->dims[1] < 4)
            return pdm_k_fail(k, "the padded weight is too small");
        inner = *l.w;
        inner.dims[0] -= 4;
        inner.dims[1] -= 4;
        l.w = &inner;
    }
    const int rank = shape_linear(k, &l, split, false, dims);
    l.w_row += padded ? 4 : 0;
    return finish_linear(k, &l, 0, rank, dims);
}

pdm_status pdm_kernel_linear_v2(pdm_k *k)
{
    pdm_nn_linear l = {.x = pdm_k_in(k, 0), .w = pdm_k_in(k, 1), .bias = pdm_k_in(k, 2)};
    int64_t dims[PDM_MAX_RANK];
    const int rank =
        l.x ? shape_linear(k, &l, l.x->rank - 1, pdm_k_bool(k, "transpose_weight"), dims) : 0;

    return finish_linear(k, &l, 0, rank, dims);
}

pdm_status pdm_kernel_fused_gemm_epilogue(pdm_k *k)
{
    pdm_nn_linear l = {.x = pdm_k_in(k, 0),
                       .w = pdm_k_in(k, 1),
                       .bias = pdm_k_in(k, 2),
                       .act = pdm_nn_act_find(k, pdm_k_str(k, "activation"))};
    const bool trans_x = pdm_k_bool(k, "trans_x"), trans_w = pdm_k_bool(k, "trans_y");
    int64_t dims[PDM_MAX_RANK];
    pdm_tensor turned;

    if (!l.x || !pdm_nn_rank_is(k, l.x, 2, PDM_MAX_RANK - 1, "x"))
        return k->status;
    if (trans_x) { /* [depth][...] counts as [...][depth] */
        turned = *l.x;
        for (int d = 1; d < l.x->rank; d++)
            turned.dims[d - 1] = l.x->dims[d];
        turned.dims[l.x->rank - 1] = l.x->dims[0];
        l.x = &turned;
    }
    const int rank = shape_linear(k, &l, l.x->rank - 1, trans_w, dims);
    if (trans_x) {
        l.x_col = l.rows;
        l.x_row = 1;
    }
    return finish_linear(k, &l, 0, rank, dims);
}

/* ---- fusion_repeated_fc_relu ---------------------------------------------------------------- */

pdm_status pdm_kernel_fusion_repeated_fc_relu(pdm_k *k)
{
    const size_t layers = pdm_k_list_count(k, 1);
    pdm_nn_linear l = {.x = pdm_k_in(k, 0), .act = pdm_nn_act_find(k, "relu")};
    pdm_tensor room[2] = {{0}, {0}};
    int64_t dims[PDM_MAX_RANK];

    if (!l.x || layers < 1 || layers != pdm_k_list_count(k, 2))
        return pdm_k_fail(k, "%zu weights, %zu biases", layers, pdm_k_list_count(k, 2));
    for (size_t i = 0; i < layers && PDM_K_OK(k); i++) {
        l.w = pdm_k_list_at(k, 1, i);
        l.bias = pdm_k_list_at(k, 2, i);
        const int rank = PDM_K_OK(k) ? shape_linear(k, &l, 1, false, dims) : 0;
        if (!PDM_K_OK(k))
            break;
        if (i + 1 == layers) {
            finish_linear(k, &l, 1, rank, dims);
        } else if (pdm_tensor_alloc(&room[i % 2], l.x->dtype, rank, dims) != PDM_OK) {
            pdm_k_nomem(k);
        } else {
            void *copy = pdm_k_out_at(k, 0, i, l.x->dtype, rank, dims);
            l.out = &room[i % 2];
            pdm_nn_linear_run(k, &l);
            if (copy)
                memcpy(copy, l.out->data, pdm_tensor_bytes(l.out));
            l.x = l.out;
        }
    }
    pdm_tensor_deinit(&room[0]);
    pdm_tensor_deinit(&room[1]);
    return k->status;
}

/* ---- fusion_squared_mat_sub ----------------------------------------------------------------- */

static void square_all(double *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        values[i] *= values[i];
}

static void store_squares(pdm_k *k, size_t index, pdm_dtype dtype, const int64_t dims[2],
                          const double *values)
{
    pdm_tensor *out = pdm_k_wants(k, index) ? pdm_nn_out(k, index, dtype, 2, dims) : NULL;

    if (out)
        pdm_nn_store(out, 0, 1, pdm_tensor_count(out), values);
}

/* ((x y) squared - (x squared) (y squared)) * scalar */
pdm_status pdm_kernel_fusion_squared_mat_sub(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    const double scalar = pdm_k_float(k, "scalar");

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, y) || !pdm_nn_rank_is(k, x, 2, 2, "x") ||
        !pdm_nn_rank_is(k, y, 2, 2, "y"))
        return k->status;
    if (x->dims[1] != y->dims[0])
        return pdm_k_fail(k, "x and y do not fit");
    const int64_t dims[2] = {x->dims[0], y->dims[1]}, n = pdm_nn_mul(k, dims[0], dims[1]);
    double *a = pdm_nn_doubles(k, x), *b = pdm_nn_doubles(k, y);
    double *of_sum = pdm_nn_room(k, n), *sums = pdm_nn_room(k, n);
    pdm_tensor *out = pdm_nn_out(k, 3, x->dtype, 2, dims);
    if (PDM_K_OK(k)) {
        pdm_nn_matmul(a, b, of_sum, dims[0], dims[1], x->dims[1], false);
        square_all(a, pdm_tensor_count(x));
        square_all(b, pdm_tensor_count(y));
        square_all(of_sum, n);
        pdm_nn_matmul(a, b, sums, dims[0], dims[1], x->dims[1], false);
        store_squares(k, 0, x->dtype, x->dims, a);
        store_squares(k, 1, x->dtype, y->dims, b);
        store_squares(k, 2, x->dtype, dims, of_sum);
        for (int64_t i = 0; i < n && out; i++)
            pdm_nn_put(out, i, (of_sum[i] - sums[i]) * scalar);
    }
    free(a);
    free(b);
    free(of_sum);
    free(sums);
    return k->status;
}

/* ---- fusion_transpose_flatten_concat -------------------------------------------------------- */

typedef struct joined {
    int rank, axes[PDM_MAX_RANK], flatten, concat; /* concat: 0 or 1 */
    int64_t dims[2];
} joined;

/* Rows and columns of one operand after transposing and flattening. */
static void flat_dims(const joined *j, const pdm_tensor *x, int64_t flat[2])
{
    flat[0] = flat[1] = 1;
    for (int d = 0; d < j->rank; d++)
        flat[d >= j->flatten] *= x->dims[j->axes[d]];
}

static void copy_flat(const joined *j, const pdm_tensor *x, int64_t first, int64_t stride,
                      pdm_tensor *out)
{
    int64_t flat[2];

    flat_dims(j, x, flat);
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++) {
        int64_t rest = i, from = 0;
        for (int d = j->rank - 1; d >= 0; d--) {
            const int64_t size = x->dims[j->axes[d]];
            from += rest % size * pdm_k_product(x->dims, j->axes[d] + 1, j->rank);
            rest /= size;
        }
        pdm_nn_put(out, first + i / flat[1] * stride + i % flat[1], pdm_nn_at(x, from));
    }
}

static bool read_axes(pdm_k *k, joined *j, const pdm_tensor *x)
{
    int64_t axes[PDM_K_MAX_INTS];
    const size_t count = pdm_k_ints(k, "trans_axis", axes);
    unsigned seen = 0;

    j->rank = x ? x->rank : 0;
    j->flatten = (int)pdm_k_int(k, "flatten_axis");
    j->concat = (int)pdm_k_int(k, "concat_axis");
    for (size_t i = 0; i < count && i < PDM_MAX_RANK; i++) {
        j->axes[i] = axes[i] >= 0 && axes[i] < j->rank ? (int)axes[i] : 0;
        seen |= 1U << j->axes[i];
    }
    if (count != (size_t)j->rank || seen != (1U << j->rank) - 1 || j->flatten < 0 ||
        j->flatten > j->rank || j->concat < 0 || j->concat > 1)
        pdm_k_fail(k, "trans_axis, flatten_axis and concat_axis do not fit the operands");
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_fusion_transpose_flatten_concat(pdm_k *k)
{
    const size_t count = pdm_k_list_count(k, 0);
    const pdm_tensor *x = pdm_k_list_at(k, 0, 0);
    joined j = {.dims = {0, 0}};
    int64_t flat[2], at = 0;

    if (!pdm_nn_floats(k, x) || !read_axes(k, &j, x))
        return k->status;
    for (size_t i = 0; i < count; i++) {
        const pdm_tensor *t = pdm_k_list_at(k, 0, i);
        if (!t || !pdm_nn_floats(k, t) || !pdm_nn_rank_is(k, t, j.rank, j.rank, "an operand"))
            return k->status;
        flat_dims(&j, t, flat);
        j.dims[j.concat] += flat[j.concat];
        if (i > 0 && j.dims[1 - j.concat] != flat[1 - j.concat])
            return pdm_k_fail(k, "the operands do not fit together");
        j.dims[1 - j.concat] = flat[1 - j.concat];
    }
    pdm_tensor *out = pdm_nn_out(k, 0, x->dtype, 2, j.dims);
    for (size_t i = 0; i < count && out; i++) {
        const pdm_tensor *t = pdm_k_list_at(k, 0, i);
        flat_dims(&j, t, flat);
        copy_flat(&j, t, at, j.dims[1], out);
        at += j.concat ? flat[1] : flat[0] * j.dims[1];
    }
    return k->status;
}

/* ---- batch_fc -------------------------------------------------------------------------------- */

typedef struct slots {
    const pdm_tensor *x, *w, *bias;
    pdm_tensor *out;
    int64_t rows, cols, depth;
} slots;

static void load_slot_x(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t k,
                        int64_t depth, double *to)
{
    const slots *s = arg;
    const pdm_nn_matrix m = {s->x, batch * s->rows * s->depth, s->depth, 1};

    pdm_nn_matrix_rows(&m, row, rows, k, depth, to);
}

static void load_slot_w(const void *arg, int64_t batch, int64_t k, int64_t depth, int64_t col,
                        int64_t cols, double *to)
{
    const slots *s = arg;
    const pdm_nn_matrix m = {s->w, batch * s->depth * s->cols, s->cols, 1};

    pdm_nn_matrix_cols(&m, k, depth, col, cols, to);
}

static void store_slot(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t col,
                       int64_t cols, double *from)
{
    const slots *s = arg;

    for (int64_t r = row; r < row + rows; r++, from += PDM_GEMM_TILE) {
        for (int64_t j = 0; j < cols; j++)
            from[j] += pdm_nn_at(s->bias, batch * s->cols + col + j);
        pdm_nn_store(s->out, (batch * s->rows + r) * s->cols + col, 1, cols, from);
    }
}

/* A linear layer for each slot. */
pdm_status pdm_kernel_batch_fc(pdm_k *k)
{
    slots s = {.x = pdm_k_in(k, 0), .w = pdm_k_in(k, 1), .bias = pdm_k_in(k, 2)};

    if (!pdm_nn_floats(k, s.x) || !pdm_nn_floats(k, s.w) || !pdm_nn_floats(k, s.bias) ||
        !pdm_nn_rank_is(k, s.x, 3, 3, "input") || !pdm_nn_rank_is(k, s.w, 3, 3, "w"))
        return k->status;
    const int64_t count = s.x->dims[0];
    s.rows = s.x->dims[1];
    s.depth = s.x->dims[2];
    s.cols = s.w->dims[2];
    if (s.w->dims[0] != count || s.w->dims[1] != s.depth)
        return pdm_k_fail(k, "input and w do not fit");
    if (!pdm_nn_count_is(k, s.bias, pdm_nn_mul(k, count, s.cols), "bias"))
        return k->status;
    const int64_t dims[3] = {count, s.rows, s.cols};
    s.out = pdm_nn_out(k, 0, s.x->dtype, 3, dims);
    const pdm_gemm gemm = {.batch = count,
                           .rows = s.rows,
                           .cols = s.cols,
                           .depth = s.depth,
                           .load_a = load_slot_x,
                           .load_b = load_slot_w,
                           .store = store_slot,
                           .arg = &s,
                           .single = s.x->dtype == PDM_F32};
    if (s.out)
        pdm_nn_gemm(k, &gemm);
    return k->status;
}
