/* Factors and systems of equations: cholesky, lu, inverse, determinants, powers, solve, multi_dot.
 */
#include <math.h>

#include "exec/kernels/linalg_dense.h"

/* ---- one matrix in, one out ------------------------------------------------------------------ */

/* a (n x n) in place; spare: another n x n and n pivots. */
typedef void (*square_fn)(pdm_k *k, pdm_cx *a, pdm_cx *spare, int64_t *pivot, int64_t n,
                          int64_t at);

static pdm_status each_square(pdm_k *k, square_fn fn)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_mats m;
    pdm_arena arena;

    if (!pdm_mats_of(k, x, true, &m))
        return k->status;
    pdm_arena_init(&arena);
    const int64_t n = m.rows;
    pdm_cx *a = pdm_mat_scratch(k, &arena, n, n), *spare = pdm_mat_scratch(k, &arena, n, n);
    int64_t *pivot = pdm_k_scratch(k, &arena, n, sizeof *pivot);
    pdm_tensor *out =
        PDM_K_OK(k) && pdm_k_out(k, 0, x->dtype, x->rank, x->dims) ? pdm_k_out_tensor(k, 0) : NULL;
    for (int64_t i = 0; out && n && PDM_K_OK(k) && i < m.count; i++) {
        pdm_cx_load(x, i * n * n, n * n, a);
        fn(k, a, spare, pivot, n, i);
        pdm_cx_store(out, i * n * n, n * n, a);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

static void invert(pdm_k *k, pdm_cx *a, pdm_cx *spare, int64_t *pivot, int64_t n, int64_t at)
{
    (void)at;
    memcpy(spare, a, (size_t)(n * n) * sizeof *a);
    const int64_t bad = pdm_mat_lu(spare, n, n, pivot, true);
    if (bad) {
        pdm_k_fail(k, "the matrix is singular: pivot %lld is zero", (long long)bad);
        return;
    }
    pdm_mat_identity(a, n);
    pdm_mat_lu_solve(spare, pivot, n, a, n);
}

pdm_status pdm_kernel_inverse(pdm_k *k)
{
    return each_square(k, invert);
}

static void factor(pdm_k *k, pdm_cx *a, pdm_cx *spare, int64_t *pivot, int64_t n, int64_t at)
{
    const bool upper = pdm_k_bool(k, "upper");

    (void)pivot;
    if (upper) {
        pdm_mat_adjoint(spare, a, n, n);
        memcpy(a, spare, (size_t)(n * n) * sizeof *a);
    }
    const int64_t bad = pdm_mat_cholesky(a, n);
    if (bad)
        pdm_k_fail(k, "matrix %lld is not positive definite (minor %lld)", (long long)at,
                   (long long)bad);
    if (upper) {
        pdm_mat_adjoint(spare, a, n, n);
        memcpy(a, spare, (size_t)(n * n) * sizeof *a);
    }
}

pdm_status pdm_kernel_cholesky(pdm_k *k)
{
    return each_square(k, factor);
}

/* power: of a in place; square, temp: as large. */
static void raise(pdm_cx *a, pdm_cx *square, pdm_cx *temp, int64_t n, uint64_t power)
{
    const size_t bytes = (size_t)(n * n) * sizeof *a;

    memcpy(square, a, bytes);
    pdm_mat_identity(a, n);
    while (power) {
        if (power & 1) {
            pdm_mat_mul(temp, a, square, n, n, n);
            memcpy(a, temp, bytes);
        }
        power >>= 1;
        if (power) {
            pdm_mat_mul(temp, square, square, n, n, n);
            memcpy(square, temp, bytes);
        }
    }
}

static void take_power(pdm_k *k, pdm_cx *a, pdm_cx *spare, int64_t *pivot, int64_t n, int64_t at)
{
    const int64_t power = pdm_k_int(k, "n");
    pdm_arena arena;

    if (power < 0)
        invert(k, a, spare, pivot, n, at);
    pdm_arena_init(&arena);
    pdm_cx *temp = pdm_mat_scratch(k, &arena, n, n);
    if (temp)
        raise(a, spare, temp, n, power < 0 ? 0 - (uint64_t)power : (uint64_t)power);
    pdm_arena_deinit(&arena);
}

pdm_status pdm_kernel_matrix_power(pdm_k *k)
{
    return each_square(k, take_power);
}

/* ---- determinants ---------------------------------------------------------------------------- */

/* a = phase . e^log, a the determinant; a is destroyed. */
static void determinant(pdm_cx *a, int64_t *pivot, int64_t n, pdm_cx *det, pdm_cx *phase,
                        double *log_abs)
{
    pdm_mat_lu(a, n, n, pivot, true);
    *det = *phase = 1;
    *log_abs = 0;
    for (int64_t i = 0; i < n; i++) {
        const pdm_cx d = pivot[i] == i ? a[i * n + i] : -a[i * n + i];
        *det *= d;
        *phase = d == 0 ? 0 : *phase * (d / cabs(d));
        *log_abs += log(cabs(d));
    }
}

/* outs: how many numbers of a determinant are kept where (det; phase and logarithm) */
static pdm_status determinants(pdm_k *k, bool logs, bool apart)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t dims[PDM_MAX_RANK];
    pdm_mats m;
    pdm_arena arena;

    if (!pdm_mats_of(k, x, true, &m))
        return k->status;
    pdm_arena_init(&arena);
    const int64_t n = m.rows;
    pdm_cx *a = pdm_mat_scratch(k, &arena, n, n);
    int64_t *pivot = pdm_k_scratch(k, &arena, n, sizeof *pivot);
    dims[0] = 2;
    memcpy(dims + 1, x->dims, (size_t)(x->rank - 2) * sizeof *dims);
    const bool stacked = logs && !apart;
    pdm_tensor *first =
        pdm_mat_result(k, 0, x->dtype, x->rank - 2 + stacked, stacked ? dims : dims + 1);
    pdm_tensor *second =
        apart ? pdm_mat_result(k, 1, pdm_real_dtype(x->dtype), x->rank - 2, dims + 1) : NULL;
    for (int64_t i = 0; PDM_K_OK(k) && i < m.count; i++) {
        pdm_cx det, phase, log_cx;
        double log_abs;
        pdm_cx_load(x, i * n * n, n * n, a);
        determinant(a, pivot, n, &det, &phase, &log_abs);
        log_cx = log_abs;
        if (first)
            pdm_cx_store(first, i, 1, logs ? &phase : &det);
        if (stacked && first)
            pdm_cx_store(first, m.count + i, 1, &log_cx);
        if (second)
            pdm_cx_store(second, i, 1, &log_cx);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

pdm_status pdm_kernel_det(pdm_k *k)
{
    return determinants(k, false, false);
}

pdm_status pdm_kernel_slogdet(pdm_k *k)
{
    return determinants(k, true, false);
}

pdm_status pdm_kernel_slogdet_v2(pdm_k *k)
{
    return determinants(k, true, true);
}

/* ---- LU -------------------------------------------------------------------------------------- */

pdm_status pdm_kernel_lu(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool pivoting = pdm_k_bool(k, "pivot");
    int64_t dims[PDM_MAX_RANK];
    pdm_mats m;
    pdm_arena arena;

    if (!pdm_mats_of(k, x, false, &m))
        return k->status;
    pdm_arena_init(&arena);
    const int64_t size = m.rows * m.cols, small = m.rows < m.cols ? m.rows : m.cols;
    pdm_cx *a = pdm_mat_scratch(k, &arena, m.rows, m.cols);
    int64_t *pivot = pdm_k_scratch(k, &arena, small, sizeof *pivot);
    memcpy(dims, x->dims, sizeof dims);
    pdm_tensor *out = pdm_mat_result(k, 0, x->dtype, x->rank, dims);
    dims[x->rank - 2] = small;
    pdm_tensor *pivots = pdm_mat_result(k, 1, PDM_I32, x->rank - 1, dims);
    /* one flag even for a single matrix before 3.x */
    const bool flag = x->rank == 2 && pdm_k_before(k, PDM_DIFF_LU);
    pdm_tensor *infos =
        pdm_mat_result(k, 2, PDM_I32, flag ? 1 : x->rank - 2, flag ? PDM_DIMS(1) : dims);
    for (int64_t i = 0; PDM_K_OK(k) && i < m.count; i++) {
        pdm_cx_load(x, i * size, size, a);
        const int64_t bad = pdm_mat_lu(a, m.rows, m.cols, pivot, pivoting);
        if (out)
            pdm_cx_store(out, i * size, size, a);
        for (int64_t j = 0; pivots && j < small; j++)
            pdm_set_int(pivots, i * small + j, pivot[j] + 1);
        if (infos)
            pdm_set_int(infos, i, bad);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* Which row of the matrix each row of L.U is; false: a pivot is out of range. */
static bool permutation(pdm_k *k, const pdm_tensor *pivots, int64_t first, int64_t n, int64_t rows,
                        int64_t *perm)
{
    for (int64_t i = 0; i < rows; i++)
        perm[i] = i;
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = pdm_get_int(pivots, first + i) - 1;
        if (j < 0 || j >= rows) {
            pdm_k_fail(k, "pivot %lld does not exist", (long long)j + 1);
            return false;
        }
        const int64_t swap = perm[i];
        perm[i] = perm[j];
        perm[j] = swap;
    }
    return true;
}

static void unpack(pdm_tensor *l, pdm_tensor *u, const pdm_cx *a, int64_t rows, int64_t cols,
                   int64_t at)
{
    const int64_t small = rows < cols ? rows : cols;
    const pdm_cx zero = 0, one = 1;

    for (int64_t i = 0; l && i < rows; i++)
        for (int64_t j = 0; j < small; j++)
            pdm_cx_store(l, (at * rows + i) * small + j, 1,
                         i == j  ? &one
                         : i > j ? &a[i * cols + j]
                                 : &zero);
    for (int64_t i = 0; u && i < small; i++)
        for (int64_t j = 0; j < cols; j++)
            pdm_cx_store(u, (at * small + i) * cols + j, 1, i <= j ? &a[i * cols + j] : &zero);
}

pdm_status pdm_kernel_lu_unpack(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *pivots = pdm_k_in(k, 1);
    const bool want_lu = pdm_k_bool(k, "unpack_ludata"), want_p = pdm_k_bool(k, "unpack_pivots");
    int64_t dims[PDM_MAX_RANK];
    pdm_mats m;
    pdm_arena arena;

    if (!PDM_K_OK(k) || !pdm_mats_of(k, x, false, &m))
        return k->status;
    const int64_t small = m.rows < m.cols ? m.rows : m.cols, size = m.rows * m.cols;
    if (pdm_tensor_count(pivots) != m.count * small)
        return pdm_k_fail(k, "there are %lld pivots", (long long)pdm_tensor_count(pivots));
    pdm_arena_init(&arena);
    pdm_cx *a = pdm_mat_scratch(k, &arena, m.rows, m.cols);
    int64_t *perm = pdm_k_scratch(k, &arena, m.rows, sizeof *perm);
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = m.rows;
    pdm_tensor *p = want_p ? pdm_mat_result(k, 0, x->dtype, x->rank, dims) : NULL;
    dims[x->rank - 1] = small;
    pdm_tensor *l = want_lu ? pdm_mat_result(k, 1, x->dtype, x->rank, dims) : NULL;
    dims[x->rank - 2] = small;
    dims[x->rank - 1] = m.cols;
    pdm_tensor *u = want_lu ? pdm_mat_result(k, 2, x->dtype, x->rank, dims) : NULL;
    if (PDM_K_OK(k) && p)
        memset(p->data, 0, pdm_tensor_bytes(p));
    for (int64_t i = 0; PDM_K_OK(k) && i < m.count; i++) {
        const pdm_cx one = 1;
        pdm_cx_load(x, i * size, size, a);
        unpack(l, u, a, m.rows, m.cols, i);
        if (!p || !permutation(k, pivots, i * small, small, m.rows, perm))
            continue;
        for (int64_t r = 0; r < m.rows; r++)
            pdm_cx_store(p, (i * m.rows + perm[r]) * m.rows + r, 1, &one);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- systems of equations -------------------------------------------------------------------- */

typedef struct pair_call {
    const pdm_tensor *a, *b, *pivots; /* coefficients (or their factor), right sides */
    pdm_cx *a_at, *b_at, *spare;
    int64_t *pivot;
    int64_t n, cols, a_index;
} pair_call;

typedef void (*pair_fn)(pdm_k *k, pair_call *c);

/* For each matrix of a and right side of b: fn makes the solution of b_at. vector: b's matrices are
 * columns. */
static pdm_status each_pair(pdm_k *k, pair_call *c, bool vector, pair_fn fn)
{
    int64_t dims[PDM_MAX_RANK + 1];
    pdm_mats m;
    pdm_batches batches;
    pdm_arena arena;

    if (!PDM_K_OK(k) || !pdm_mats_of(k, c->a, true, &m) || !pdm_k_same_dtype(k, c->a, c->b))
        return k->status;
    const int b_rank = c->b->rank - (vector ? 1 : 2);
    if (b_rank < 0 || c->b->dims[b_rank] != m.rows)
        return pdm_k_fail(k, "the right side has not %lld rows", (long long)m.rows);
    if (!pdm_batches_join(k, c->a->rank - 2, c->a->dims, b_rank, c->b->dims, &batches))
        return k->status;
    c->n = m.rows;
    c->cols = vector ? 1 : c->b->dims[b_rank + 1];
    memcpy(dims, batches.dims, (size_t)batches.rank * sizeof *dims);
    dims[batches.rank] = c->n;
    dims[batches.rank + 1] = c->cols;
    pdm_arena_init(&arena);
    c->a_at = pdm_mat_scratch(k, &arena, c->n, c->n);
    c->spare = pdm_mat_scratch(k, &arena, c->n, c->n);
    c->b_at = pdm_mat_scratch(k, &arena, c->n, c->cols);
    c->pivot = pdm_k_scratch(k, &arena, c->n, sizeof *c->pivot);
    pdm_tensor *out = pdm_mat_result(k, 0, c->b->dtype, batches.rank + (vector ? 1 : 2), dims);
    const int64_t size = c->n * c->n, b_size = c->n * c->cols;
    for (int64_t i = 0; out && PDM_K_OK(k) && i < batches.count; i++) {
        int64_t ia, ib;
        pdm_batches_at(&batches, i, &ia, &ib);
        pdm_cx_load(c->a, ia * size, size, c->a_at);
        pdm_cx_load(c->b, ib * b_size, b_size, c->b_at);
        c->a_index = ia;
        fn(k, c);
        pdm_cx_store(out, i * b_size, b_size, c->b_at);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

static void solve_one(pdm_k *k, pair_call *c)
{
    const int64_t bad = pdm_mat_lu(c->a_at, c->n, c->n, c->pivot, true);

    if (bad)
        pdm_k_fail(k, "the matrix is singular: pivot %lld is zero", (long long)bad);
    else
        pdm_mat_lu_solve(c->a_at, c->pivot, c->n, c->b_at, c->cols);
}

pdm_status pdm_kernel_solve(pdm_k *k)
{
    pair_call c = {.a = pdm_k_in(k, 0), .b = pdm_k_in(k, 1)};

    if (!PDM_K_OK(k))
        return k->status;
    const bool batch_of_vectors =
        c.b->rank == c.a->rank - 1 && c.b->rank > 0 &&
        memcmp(c.b->dims, c.a->dims, (size_t)c.b->rank * sizeof *c.b->dims) == 0;
    return each_pair(k, &c, c.b->rank == 1 || batch_of_vectors, solve_one);
}

static void solve_triangle(pdm_k *k, pair_call *c)
{
    const pdm_triangle how = {.upper = pdm_k_bool(k, "upper"),
                              .transposed = pdm_k_bool(k, "transpose"),
                              .unit = pdm_k_bool(k, "unitriangular")};

    pdm_mat_solve_triangle(how, c->a_at, c->n, c->b_at, c->cols);
}

pdm_status pdm_kernel_triangular_solve(pdm_k *k)
{
    pair_call c = {.a = pdm_k_in(k, 0), .b = pdm_k_in(k, 1)};

    return each_pair(k, &c, false, solve_triangle);
}

static void solve_cholesky(pdm_k *k, pair_call *c)
{
    const bool upper = pdm_k_bool(k, "upper");
    const pdm_triangle plain = {.upper = upper};
    const pdm_triangle adjoint = {.upper = upper, .transposed = true, .conjugated = true};

    pdm_mat_solve_triangle(upper ? adjoint : plain, c->a_at, c->n, c->b_at, c->cols);
    pdm_mat_solve_triangle(upper ? plain : adjoint, c->a_at, c->n, c->b_at, c->cols);
}

pdm_status pdm_kernel_cholesky_solve(pdm_k *k)
{
    pair_call c = {.a = pdm_k_in(k, 1), .b = pdm_k_in(k, 0)};

    return each_pair(k, &c, false, solve_cholesky);
}

static void solve_lu(pdm_k *k, pair_call *c)
{
    const char *trans = pdm_k_str(k, "trans");
    const bool transposed = *trans == 'T' || *trans == 'C', conjugated = *trans == 'C';

    for (int64_t i = 0; i < c->n; i++) {
        c->pivot[i] = pdm_get_int(c->pivots, c->a_index * c->n + i) - 1;
        if (c->pivot[i] < 0 || c->pivot[i] >= c->n) {
            pdm_k_fail(k, "pivot %lld does not exist", (long long)c->pivot[i] + 1);
            return;
        }
    }
    if (!transposed) {
        pdm_mat_lu_solve(c->a_at, c->pivot, c->n, c->b_at, c->cols);
        return;
    }
    pdm_triangle how = {.upper = true, .transposed = true, .conjugated = conjugated};
    pdm_mat_solve_triangle(how, c->a_at, c->n, c->b_at, c->cols);
    how.upper = false;
    how.unit = true;
    pdm_mat_solve_triangle(how, c->a_at, c->n, c->b_at, c->cols);
    for (int64_t i = c->n - 1; i >= 0; i--) { /* rows go back */
        for (int64_t j = 0; j < c->cols; j++) {
            const pdm_cx swap = c->b_at[i * c->cols + j];
            c->b_at[i * c->cols + j] = c->b_at[c->pivot[i] * c->cols + j];
            c->b_at[c->pivot[i] * c->cols + j] = swap;
        }
    }
}

pdm_status pdm_kernel_lu_solve(pdm_k *k)
{
    pair_call c = {.a = pdm_k_in(k, 1), .b = pdm_k_in(k, 0), .pivots = pdm_k_in(k, 2)};

    if (!PDM_K_OK(k))
        return k->status;
    if (c.a->rank < 2 || pdm_tensor_count(c.pivots) != pdm_k_product(c.a->dims, 0, c.a->rank - 1))
        return pdm_k_fail(k, "pivots do not fit");
    return each_pair(k, &c, false, solve_lu);
}

/* ---- multi_dot ------------------------------------------------------------------------------- */

/* The result so far (rows x cols) times the next matrix. */
static pdm_cx *times(pdm_k *k, pdm_arena *arena, const pdm_cx *a, int64_t rows, int64_t *cols,
                     const pdm_tensor *t, bool column)
{
    const int64_t p = t->dims[0], n = column ? 1 : t->dims[1];

    if (p != *cols) {
        pdm_k_fail(k, "matrices of %lld columns and %lld rows do not go together", (long long)*cols,
                   (long long)p);
        return NULL;
    }
    pdm_cx *b = pdm_mat_scratch(k, arena, p, n), *out = pdm_mat_scratch(k, arena, rows, n);
    if (!b || !out)
        return NULL;
    pdm_cx_load(t, 0, p * n, b);
    pdm_mat_mul(out, a, b, rows, p, n);
    *cols = n;
    return out;
}

pdm_status pdm_kernel_multi_dot(pdm_k *k)
{
    const size_t count = pdm_k_list_count(k, 0);
    pdm_arena arena;

    if (count < 2)
        return pdm_k_fail(k, "there are %zu matrices", count);
    for (size_t i = 0; i < count; i++) {
        const pdm_tensor *t = pdm_k_list_at(k, 0, i);
        const bool end = i == 0 || i == count - 1;
        if (PDM_K_OK(k) && t->rank != 2 && !(end && t->rank == 1))
            pdm_k_fail(k, "operand %zu has %d dimensions", i, t->rank);
        if (PDM_K_OK(k) && !pdm_dtype_is_float(t->dtype) && !pdm_dtype_is_complex(t->dtype))
            pdm_k_unsupported_dtype(k, t->dtype);
    }
    if (!PDM_K_OK(k))
        return k->status;
    pdm_arena_init(&arena);
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0), *last = pdm_k_list_at(k, 0, count - 1);
    const int64_t rows = first->rank == 1 ? 1 : first->dims[0];
    int64_t cols = first->dims[first->rank - 1];
    pdm_cx *a = pdm_mat_scratch(k, &arena, rows, cols);
    if (a)
        pdm_cx_load(first, 0, rows * cols, a);
    for (size_t i = 1; a && i < count; i++) {
        const pdm_tensor *t = pdm_k_list_at(k, 0, i);
        a = times(k, &arena, a, rows, &cols, t, t->rank == 1);
    }
    int64_t dims[2];
    int rank = 0;
    if (first->rank == 2)
        dims[rank++] = rows;
    if (last->rank == 2)
        dims[rank++] = cols;
    pdm_tensor *out = a ? pdm_mat_result(k, 0, first->dtype, rank, dims) : NULL;
    if (out)
        pdm_cx_store(out, 0, rows * cols, a);
    pdm_arena_deinit(&arena);
    return k->status;
}
