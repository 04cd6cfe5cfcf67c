/* qr, svd, eigenvalues and vectors, ranks, least squares. */
#include <float.h>
#include <math.h>

#include "exec/kernels/linalg_dense.h"

/* Result whose matrices are rows x cols (cols 0 and vector: one dim less). */
static pdm_tensor *matrices(pdm_k *k, size_t index, pdm_dtype dtype, const pdm_tensor *x,
                            int64_t rows, int64_t cols)
{
    int64_t dims[PDM_MAX_RANK];

    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 2] = rows;
    dims[x->rank - 1] = cols;
    return pdm_mat_result(k, index, dtype, x->rank, dims);
}

static pdm_tensor *vectors(pdm_k *k, size_t index, pdm_dtype dtype, const pdm_tensor *x, int64_t n)
{
    int64_t dims[PDM_MAX_RANK];

    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 2] = n;
    return pdm_mat_result(k, index, dtype, x->rank - 1, dims);
}

static void store_reals(pdm_tensor *t, int64_t first, int64_t n, const double *from)
{
    for (int64_t i = 0; t && i < n; i++)
        pdm_set_double(t, first + i, from[i]);
}

/* ---- qr -------------------------------------------------------------------------------------- */

pdm_status pdm_kernel_qr(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const char *mode = pdm_k_str(k, "mode");
    const bool complete = !strcmp(mode, "complete"), only_r = !strcmp(mode, "r");
    pdm_mats m;
    pdm_arena arena;

    if (!pdm_mats_of(k, x, false, &m))
        return k->status;
    if (!complete && !only_r && strcmp(mode, "reduced"))
        return pdm_k_fail(k, "there is no mode '%s'", mode);
    pdm_arena_init(&arena);
    const int64_t small = m.rows < m.cols ? m.rows : m.cols, p = complete ? m.rows : small;
    pdm_cx *a = pdm_mat_scratch(k, &arena, m.rows, m.cols),
           *q = pdm_mat_scratch(k, &arena, m.rows, m.rows);
    pdm_cx *spare = pdm_mat_scratch(k, &arena, m.rows, 1);
    pdm_tensor *out_q = NULL;
    if (only_r)
        pdm_mat_result(k, 0, x->dtype, 1, PDM_DIMS(0));
    else
        out_q = matrices(k, 0, x->dtype, x, m.rows, p);
    pdm_tensor *out_r = matrices(k, 1, x->dtype, x, p, m.cols);
    for (int64_t i = 0; PDM_K_OK(k) && i < m.count; i++) {
        pdm_cx_load(x, i * m.rows * m.cols, m.rows * m.cols, a);
        pdm_mat_qr(a, m.rows, m.cols, q, spare);
        if (out_r)
            pdm_cx_store(out_r, i * p * m.cols, p * m.cols, a);
        for (int64_t r = 0; out_q && r < m.rows; r++)
            pdm_cx_store(out_q, (i * m.rows + r) * p, p, q + r * m.rows);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- svd ------------------------------------------------------------------------------------- */

/* Columns of u (rows x small) and further ones, to a square. */
static bool to_square(pdm_k *k, pdm_arena *arena, const pdm_cx *u, int64_t rows, int64_t small,
                      pdm_cx *full)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(full + i * rows, u + i * small, (size_t)small * sizeof *u);
    return pdm_mat_complete(k, arena, full, rows, small);
}

static void svd_one(pdm_k *k, const pdm_tensor *x, const pdm_mats *m, int64_t i, bool full,
                    pdm_tensor *const out[3])
{
    const int64_t rows = m->rows, cols = m->cols, small = rows < cols ? rows : cols;
    pdm_arena arena;

    pdm_arena_init(&arena);
    pdm_cx *a = pdm_mat_scratch(k, &arena, rows, cols),
           *u = pdm_mat_scratch(k, &arena, rows, small);
    pdm_cx *vh = pdm_mat_scratch(k, &arena, small, cols);
    pdm_cx *square =
        full ? pdm_mat_scratch(k, &arena, rows > cols ? rows : cols, rows > cols ? rows : cols) : u;
    pdm_cx *v = full ? pdm_mat_scratch(k, &arena, cols, small) : u;
    double *s = pdm_k_scratch(k, &arena, small, sizeof *s);
    const bool both = out[0] || out[2];
    if (PDM_K_OK(k)) {
        pdm_cx_load(x, i * rows * cols, rows * cols, a);
        pdm_mat_svd(k, &arena, a, rows, cols, both ? u : NULL, s, both ? vh : NULL);
    }
    if (PDM_K_OK(k))
        store_reals(out[1], i * small, small, s);
    if (PDM_K_OK(k) && out[0] && !full)
        pdm_cx_store(out[0], i * rows * small, rows * small, u);
    if (PDM_K_OK(k) && out[2] && !full)
        pdm_cx_store(out[2], i * small * cols, small * cols, vh);
    if (PDM_K_OK(k) && full && out[0] && to_square(k, &arena, u, rows, small, square))
        pdm_cx_store(out[0], i * rows * rows, rows * rows, square);
    if (PDM_K_OK(k) && full && out[2]) {
        pdm_cx *adjoint = pdm_mat_scratch(k, &arena, cols, cols);
        pdm_mat_adjoint(v, vh, small, cols);
        if (adjoint && to_square(k, &arena, v, cols, small, square)) {
            pdm_mat_adjoint(adjoint, square, cols, cols);
            pdm_cx_store(out[2], i * cols * cols, cols * cols, adjoint);
        }
    }
    pdm_arena_deinit(&arena);
}

pdm_status pdm_kernel_svd(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool full = pdm_k_bool(k, "full_matrices");
    pdm_mats m;

    if (!pdm_mats_of(k, x, false, &m))
        return k->status;
    const int64_t small = m.rows < m.cols ? m.rows : m.cols;
    pdm_tensor *const out[3] = {matrices(k, 0, x->dtype, x, m.rows, full ? m.rows : small),
                                vectors(k, 1, pdm_real_dtype(x->dtype), x, small),
                                matrices(k, 2, x->dtype, x, full ? m.cols : small, m.cols)};
    for (int64_t i = 0; PDM_K_OK(k) && i < m.count; i++)
        svd_one(k, x, &m, i, full, out);
    return k->status;
}

pdm_status pdm_kernel_svdvals(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_mats m;

    if (!pdm_mats_of(k, x, false, &m))
        return k->status;
    const int64_t small = m.rows < m.cols ? m.rows : m.cols;
    pdm_tensor *const out[3] = {NULL, vectors(k, 0, pdm_real_dtype(x->dtype), x, small), NULL};
    for (int64_t i = 0; PDM_K_OK(k) && i < m.count; i++)
        svd_one(k, x, &m, i, false, out);
    return k->status;
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

/* A matrix of which only one triangle counts. */
static void load_hermitian(const pdm_tensor *x, int64_t first, int64_t n, bool upper, pdm_cx *a)
{
    pdm_cx_load(x, first, n * n, a);
    for (int64_t i = 0; i < n; i++) {
        a[i * n + i] = creal(a[i * n + i]);
        for (int64_t j = i + 1; j < n; j++) {
            if (upper)
                a[j * n + i] = conj(a[i * n + j]);
            else
                a[i * n + j] = conj(a[j * n + i]);
        }
    }
}

static pdm_status hermitian(pdm_k *k, const char *side, bool with_vectors)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool upper = *pdm_k_str(k, side) == 'U';
    pdm_mats m;

    if (!pdm_mats_of(k, x, true, &m))
        return k->status;
    const int64_t n = m.rows;
    pdm_tensor *w = vectors(k, 0, pdm_real_dtype(x->dtype), x, n);
    pdm_tensor *v = with_vectors ? matrices(k, 1, x->dtype, x, n, n) : NULL;
    if (!with_vectors)
        pdm_mat_result(k, 1, x->dtype, 1, PDM_DIMS(0));
    for (int64_t i = 0; PDM_K_OK(k) && i < m.count; i++) {
        pdm_arena arena;
        pdm_arena_init(&arena);
        pdm_cx *a = pdm_mat_scratch(k, &arena, n, n),
               *vectors_at = pdm_mat_scratch(k, &arena, n, n);
        double *values = pdm_k_scratch(k, &arena, n, sizeof *values);
        if (PDM_K_OK(k)) {
            load_hermitian(x, i * n * n, n, upper, a);
            pdm_mat_eigh(k, &arena, a, n, values, vectors_at);
        }
        if (PDM_K_OK(k)) {
            store_reals(w, i * n, n, values);
            if (v)
                pdm_cx_store(v, i * n * n, n * n, vectors_at);
        }
        pdm_arena_deinit(&arena);
    }
    return k->status;
}

pdm_status pdm_kernel_eigh(pdm_k *k)
{
    return hermitian(k, "UPLO", true);
}

pdm_status pdm_kernel_eigvalsh(pdm_k *k)
{
    return hermitian(k, "uplo", !pdm_k_bool(k, "is_test"));
}

static pdm_status general(pdm_k *k, bool with_vectors)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_mats m;

    if (!pdm_mats_of(k, x, true, &m))
        return k->status;
    const pdm_dtype dtype = pdm_real_dtype(x->dtype) == PDM_F64 ? PDM_C128 : PDM_C64;
    const int64_t n = m.rows;
    pdm_tensor *w = vectors(k, 0, dtype, x, n);
    pdm_tensor *v = with_vectors ? matrices(k, 1, dtype, x, n, n) : NULL;
    for (int64_t i = 0; PDM_K_OK(k) && i < m.count; i++) {
        pdm_arena arena;
        pdm_arena_init(&arena);
        pdm_cx *a = pdm_mat_scratch(k, &arena, n, n),
               *vectors_at = pdm_mat_scratch(k, &arena, n, n);
        pdm_cx *values = pdm_mat_scratch(k, &arena, n, 1);
        if (PDM_K_OK(k)) {
            pdm_cx_load(x, i * n * n, n * n, a);
            pdm_mat_eig(k, &arena, a, n, values, v ? vectors_at : NULL);
        }
        if (PDM_K_OK(k) && w)
            pdm_cx_store(w, i * n, n, values);
        if (PDM_K_OK(k) && v)
            pdm_cx_store(v, i * n * n, n * n, vectors_at);
        pdm_arena_deinit(&arena);
    }
    return k->status;
}

pdm_status pdm_kernel_eig(pdm_k *k)
{
    return general(k, true);
}

pdm_status pdm_kernel_eigvals(pdm_k *k)
{
    return general(k, false);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Singular values, or sizes of eigenvalues, of matrix i. */
static void spectrum(pdm_k *k, pdm_arena *arena, const pdm_tensor *x, const pdm_mats *m, int64_t i,
                     bool is_hermitian, double *s)
{
    const int64_t size = m->rows * m->cols;
    pdm_cx *a = pdm_mat_scratch(k, arena, m->rows, m->cols);

    if (!a)
        return;
    if (is_hermitian) {
        load_hermitian(x, i * size, m->rows, false, a);
        pdm_mat_eigh(k, arena, a, m->rows, s, NULL);
        for (int64_t j = 0; j < m->rows; j++)
            s[j] = fabs(s[j]);
    } else {
        pdm_cx_load(x, i * size, size, a);
        pdm_mat_svd(k, arena, a, m->rows, m->cols, NULL, s, NULL);
    }
}

/* How large singular values count: the larger of `absolute` and `relative` times the largest one.
 */
typedef struct limits {
    const pdm_tensor *absolute, *relative; /* broadcast over the batch; NULL: the number */
    double absolute_number, relative_number;
    bool is_hermitian;
} limits;

static double limit_at(const pdm_tensor *t, double number, const pdm_batches *b, int64_t i)
{
    int64_t ia, ib;

    if (!t)
        return number;
    pdm_batches_at(b, i, &ia, &ib);
    return pdm_get_double(t, ib);
}

static pdm_status ranks(pdm_k *k, const pdm_tensor *x, const limits *l)
{
    pdm_batches by_absolute = {0}, by_relative = {0}, both = {0};
    pdm_mats m;

    if (!pdm_mats_of(k, x, l->is_hermitian, &m))
        return k->status;
    const int batch = x->rank - 2;
    const pdm_tensor *a = l->absolute, *r = l->relative;
    if (!pdm_batches_join(k, batch, x->dims, a ? a->rank : 0, a ? a->dims : NULL, &by_absolute) ||
        !pdm_batches_join(k, by_absolute.rank, by_absolute.dims, r ? r->rank : 0,
                          r ? r->dims : NULL, &by_relative) ||
        !pdm_batches_join(k, batch, x->dims, by_relative.rank, by_relative.dims, &both) ||
        !pdm_batches_join(k, both.rank, both.dims, a ? a->rank : 0, a ? a->dims : NULL,
                          &by_absolute))
        return k->status;
    pdm_tensor *out = pdm_mat_result(k, 0, pdm_k_before(k, PDM_DIFF_RANK) ? PDM_I32 : PDM_I64, both.rank, both.dims);
    const int64_t small = m.rows < m.cols ? m.rows : m.cols;
    for (int64_t i = 0; out && PDM_K_OK(k) && i < both.count; i++) {
        pdm_arena arena;
        int64_t ix, unused, rank = 0;
        double top = 0;
        pdm_arena_init(&arena);
        double *s = pdm_k_scratch(k, &arena, small, sizeof *s);
        pdm_batches_at(&both, i, &ix, &unused);
        if (PDM_K_OK(k))
            spectrum(k, &arena, x, &m, ix, l->is_hermitian, s);
        for (int64_t j = 0; PDM_K_OK(k) && j < small; j++)
            top = fmax(top, s[j]);
        const double least = fmax(limit_at(a, l->absolute_number, &by_absolute, i),
                                  top * limit_at(r, l->relative_number, &by_relative, i));
        for (int64_t j = 0; PDM_K_OK(k) && j < small; j++)
            rank += s[j] > least;
        pdm_set_int(out, i, rank);
        pdm_arena_deinit(&arena);
    }
    return k->status;
}

static double precision_of(const pdm_tensor *x)
{
    const int64_t rows = x->rank > 1 ? x->dims[x->rank - 2] : 1;
    const int64_t cols = x->rank > 1 ? x->dims[x->rank - 1] : 1;
    const double eps = pdm_real_dtype(x->dtype) == PDM_F64 ? DBL_EPSILON : (double)FLT_EPSILON;

    return eps * (double)(rows > cols ? rows : cols);
}

pdm_status pdm_kernel_matrix_rank(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool plain = pdm_k_bool(k, "use_default_tol");
    const limits l = {.absolute_number = plain ? 0 : pdm_k_float(k, "tol"),
                      .relative_number = plain && x ? precision_of(x) : 0,
                      .is_hermitian = pdm_k_bool(k, "hermitian")};

    return PDM_K_OK(k) ? ranks(k, x, &l) : k->status;
}

pdm_status pdm_kernel_matrix_rank_tol(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool plain = pdm_k_bool(k, "use_default_tol");
    const limits l = {.absolute = pdm_k_in(k, 1),
                      .relative_number = plain && x ? precision_of(x) : 0,
                      .is_hermitian = pdm_k_bool(k, "hermitian")};

    return PDM_K_OK(k) ? ranks(k, x, &l) : k->status;
}

pdm_status pdm_kernel_matrix_rank_atol_rtol(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const limits l = {.absolute = pdm_k_in(k, 1),
                      .relative = pdm_k_in_opt(k, 2),
                      .relative_number = x ? precision_of(x) : 0,
                      .is_hermitian = pdm_k_bool(k, "hermitian")};

    return PDM_K_OK(k) ? ranks(k, x, &l) : k->status;
}

/* ---- least squares --------------------------------------------------------------------------- */

typedef struct squares {
    const pdm_tensor *x, *y;
    pdm_mats a, b;
    double rcond;
    pdm_tensor *solution, *residuals, *rank, *singular;
} squares;

/* The shortest of the best solutions, by singular values. */
static void least_squares(pdm_k *k, const squares *q, int64_t i)
{
    const int64_t m = q->a.rows, n = q->a.cols, p = q->b.cols, small = m < n ? m : n;
    pdm_arena arena;
    int64_t rank = 0;

    pdm_arena_init(&arena);
    pdm_cx *a = pdm_mat_scratch(k, &arena, m, n), *b = pdm_mat_scratch(k, &arena, m, p);
    pdm_cx *u = pdm_mat_scratch(k, &arena, m, small), *vh = pdm_mat_scratch(k, &arena, small, n);
    pdm_cx *uh = pdm_mat_scratch(k, &arena, small, m), *v = pdm_mat_scratch(k, &arena, n, small);
    pdm_cx *part = pdm_mat_scratch(k, &arena, small, p), *out = pdm_mat_scratch(k, &arena, n, p);
    pdm_cx *fit = pdm_mat_scratch(k, &arena, m, p);
    double *s = pdm_k_scratch(k, &arena, small, sizeof *s);
    if (PDM_K_OK(k)) {
        pdm_cx_load(q->x, i * m * n, m * n, a);
        pdm_cx_load(q->y, i * m * p, m * p, b);
        pdm_mat_svd(k, &arena, a, m, n, u, s, vh);
    }
    if (PDM_K_OK(k)) {
        while (rank < small && s[rank] > q->rcond * s[0])
            rank++;
        pdm_mat_adjoint(uh, u, m, small);
        pdm_mat_adjoint(v, vh, small, n);
        pdm_mat_mul(part, uh, b, small, m, p);
        for (int64_t j = 0; j < small * p; j++)
            part[j] = j / p < rank ? part[j] / s[j / p] : 0;
        pdm_mat_mul(out, v, part, n, small, p);
        if (q->solution)
            pdm_cx_store(q->solution, i * n * p, n * p, out);
        if (q->rank)
            pdm_set_int(q->rank, i, rank);
        store_reals(q->singular, i * small, small, s);
        pdm_mat_mul(fit, a, out, m, n, p);
        for (int64_t c = 0; q->residuals && c < p; c++) {
            double sum = 0;
            for (int64_t r = 0; r < m; r++)
                sum += pow(cabs(fit[r * p + c] - b[r * p + c]), 2);
            pdm_set_double(q->residuals, i * p + c, sum);
        }
    }
    pdm_arena_deinit(&arena);
}

pdm_status pdm_kernel_lstsq(pdm_k *k)
{
    squares q = {.x = pdm_k_in(k, 0), .y = pdm_k_in(k, 1)};
    const char *driver = pdm_k_str(k, "driver");
    const bool gels = !strcmp(driver, "gels"), gelsy = !strcmp(driver, "gelsy");
    int64_t dims[PDM_MAX_RANK];

    if (!PDM_K_OK(k) || !pdm_mats_of(k, q.x, false, &q.a) || !pdm_mats_of(k, q.y, false, &q.b) ||
        !pdm_k_same_dtype(k, q.x, q.y))
        return k->status;
    const pdm_dtype dtype = q.x->dtype;
    if (q.a.count != q.b.count || q.a.rows != q.b.rows || q.x->rank != q.y->rank)
        return pdm_k_fail(k, "the right side does not fit the matrix");
    q.rcond = gels ? DBL_EPSILON : pdm_k_in_float(k, 2, 0);
    const int64_t small = q.a.rows < q.a.cols ? q.a.rows : q.a.cols;
    q.solution = matrices(k, 0, dtype, q.x, q.a.cols, q.b.cols);
    memcpy(dims, q.x->dims, sizeof dims);
    if (q.a.rows > q.a.cols)
        q.residuals = vectors(k, 1, pdm_real_dtype(dtype), q.x, q.b.cols);
    else
        pdm_mat_result(k, 1, dtype, 1, PDM_DIMS(0));
    if (gels)
        pdm_mat_result(k, 2, PDM_I32, 1, PDM_DIMS(0));
    else
        q.rank = pdm_mat_result(k, 2, PDM_I32, q.x->rank - 2, dims);
    if (gels || gelsy)
        pdm_mat_result(k, 3, pdm_real_dtype(dtype), 1, PDM_DIMS(0));
    else
        q.singular = vectors(k, 3, pdm_real_dtype(dtype), q.x, small);
    for (int64_t i = 0; PDM_K_OK(k) && i < q.a.count; i++)
        least_squares(k, &q, i);
    return k->status;
}
