/* Small dense linear algebra: products, LU, Cholesky, QR; moving matrices in and out of tensors. */
#include "exec/kernels/linalg_dense.h"

#include <math.h>

/* ---- tensors --------------------------------------------------------------------------------- */

void pdm_cx_load(const pdm_tensor *t, int64_t first, int64_t n, pdm_cx *out)
{
    for (int64_t i = 0; i < n; i++) {
        if (t->dtype == PDM_C64)
            out[i] = (pdm_cx)((const float complex *)t->data)[first + i];
        else if (t->dtype == PDM_C128)
            out[i] = ((const double complex *)t->data)[first + i];
        else
            out[i] = pdm_get_double(t, first + i);
    }
}

void pdm_cx_store(pdm_tensor *t, int64_t first, int64_t n, const pdm_cx *from)
{
    for (int64_t i = 0; i < n; i++) {
        if (t->dtype == PDM_C64)
            ((float complex *)t->data)[first + i] = (float complex)from[i];
        else if (t->dtype == PDM_C128)
            ((double complex *)t->data)[first + i] = from[i];
        else
            pdm_set_double(t, first + i, creal(from[i]));
    }
}

pdm_cx *pdm_mat_scratch(pdm_k *k, pdm_arena *arena, int64_t rows, int64_t cols)
{
    uint64_t n = 0;

    if (!pdm_mul_u64((uint64_t)rows, (uint64_t)cols, &n) || n > INT64_MAX / sizeof(pdm_cx))
        pdm_k_nomem(k);
    return pdm_k_scratch(k, arena, (int64_t)n, sizeof(pdm_cx));
}

pdm_tensor *pdm_mat_result(pdm_k *k, size_t index, pdm_dtype dtype, int rank, const int64_t *dims)
{
    if (!PDM_K_OK(k) || !pdm_k_wants(k, index) || !pdm_k_out(k, index, dtype, rank, dims))
        return NULL;
    return pdm_k_out_tensor(k, index);
}

pdm_dtype pdm_real_dtype(pdm_dtype dtype)
{
    return dtype == PDM_C64 ? PDM_F32 : dtype == PDM_C128 ? PDM_F64 : dtype;
}

bool pdm_mats_of(pdm_k *k, const pdm_tensor *t, bool square, pdm_mats *out)
{
    if (!PDM_K_OK(k))
        return false;
    if (!pdm_dtype_is_float(t->dtype) && !pdm_dtype_is_complex(t->dtype)) {
        pdm_k_unsupported_dtype(k, t->dtype);
        return false;
    }
    if (t->rank < 2) {
        pdm_k_fail(k, "a tensor with %d dimensions holds no matrices", t->rank);
        return false;
    }
    *out = (pdm_mats){pdm_k_product(t->dims, 0, t->rank - 2), t->dims[t->rank - 2],
                      t->dims[t->rank - 1]};
    if (square && out->rows != out->cols)
        pdm_k_fail(k, "the matrix is not square: %lld x %lld", (long long)out->rows,
                   (long long)out->cols);
    return PDM_K_OK(k);
}

bool pdm_batches_join(pdm_k *k, int rank_a, const int64_t *a, int rank_b, const int64_t *b,
                      pdm_batches *out)
{
    int64_t next_a = 1, next_b = 1;
    uint64_t count;

    out->rank = rank_a > rank_b ? rank_a : rank_b;
    for (int i = 0; i < out->rank; i++) { /* from the right */
        const int64_t da = i < rank_a ? a[rank_a - 1 - i] : 1;
        const int64_t db = i < rank_b ? b[rank_b - 1 - i] : 1;
        const int at = out->rank - 1 - i;
        if (da != db && da != 1 && db != 1) {
            pdm_k_fail(k, "batches of %lld and %lld do not go together", (long long)da,
                       (long long)db);
            return false;
        }
        out->dims[at] = da == 1 ? db : da;
        out->stride_a[at] = da == 1 ? 0 : next_a;
        out->stride_b[at] = db == 1 ? 0 : next_b;
        next_a *= da;
        next_b *= db;
    }
    if (!pdm_count_elements(out->dims, (size_t)out->rank, &count) || count > INT64_MAX) {
        pdm_k_fail(k, "there are too many matrices");
        return false;
    }
    out->count = (int64_t)count;
    return true;
}

void pdm_batches_at(const pdm_batches *batches, int64_t i, int64_t *a, int64_t *b)
{
    *a = *b = 0;
    for (int d = batches->rank - 1; d >= 0; d--) {
        *a += i % batches->dims[d] * batches->stride_a[d];
        *b += i % batches->dims[d] * batches->stride_b[d];
        i /= batches->dims[d];
    }
}

/* ---- products -------------------------------------------------------------------------------- */

void pdm_mat_mul(pdm_cx *out, const pdm_cx *a, const pdm_cx *b, int64_t m, int64_t p, int64_t n)
{
    for (int64_t i = 0; i < m * n; i++)
        out[i] = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < p; j++)
            for (int64_t c = 0; c < n; c++)
                out[i * n + c] += a[i * p + j] * b[j * n + c];
}

void pdm_mat_identity(pdm_cx *out, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        out[i] = i % (n + 1) == 0;
}

void pdm_mat_adjoint(pdm_cx *out, const pdm_cx *a, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            out[j * m + i] = conj(a[i * n + j]);
}

/* ---- LU -------------------------------------------------------------------------------------- */

static void swap_rows(pdm_cx *a, int64_t n, int64_t i, int64_t j)
{
    for (int64_t c = 0; i != j && c < n; c++) {
        const pdm_cx swap = a[i * n + c];
        a[i * n + c] = a[j * n + c];
        a[j * n + c] = swap;
    }
}

/* Pivots are compared by this, as is usual. */
static double size_of(pdm_cx v)
{
    return fabs(creal(v)) + fabs(cimag(v));
}

int64_t pdm_mat_lu(pdm_cx *a, int64_t m, int64_t n, int64_t *pivot, bool pivoting)
{
    int64_t info = 0;

    for (int64_t i = 0; i < m && i < n; i++) {
        int64_t best = i;
        for (int64_t r = i + 1; pivoting && r < m; r++)
            if (size_of(a[r * n + i]) > size_of(a[best * n + i]))
                best = r;
        pivot[i] = best;
        swap_rows(a, n, i, best);
        const pdm_cx p = a[i * n + i];
        if (p == 0) {
            info = info ? info : i + 1;
            continue;
        }
        for (int64_t r = i + 1; r < m; r++) {
            const pdm_cx f = a[r * n + i] /= p;
            for (int64_t c = i + 1; c < n; c++)
                a[r * n + c] -= f * a[i * n + c];
        }
    }
    return info;
}

void pdm_mat_lu_solve(const pdm_cx *lu, const int64_t *pivot, int64_t n, pdm_cx *b, int64_t cols)
{
    for (int64_t i = 0; i < n; i++)
        swap_rows(b, cols, i, pivot[i]);
    pdm_mat_solve_triangle((pdm_triangle){.unit = true}, lu, n, b, cols);
    pdm_mat_solve_triangle((pdm_triangle){.upper = true}, lu, n, b, cols);
}

void pdm_mat_solve_triangle(pdm_triangle how, const pdm_cx *a, int64_t n, pdm_cx *b, int64_t cols)
{
    const bool down = how.upper == how.transposed; /* the first row first */

    for (int64_t step = 0; step < n; step++) {
        const int64_t i = down ? step : n - 1 - step;
        for (int64_t done = 0; done < step; done++) {
            const int64_t j = down ? done : n - 1 - done;
            pdm_cx f = how.transposed ? a[j * n + i] : a[i * n + j];
            f = how.conjugated ? conj(f) : f;
            for (int64_t c = 0; c < cols; c++)
                b[i * cols + c] -= f * b[j * cols + c];
        }
        const pdm_cx d = how.conjugated ? conj(a[i * n + i]) : a[i * n + i];
        for (int64_t c = 0; !how.unit && c < cols; c++)
            b[i * cols + c] /= d;
    }
}

/* ---- Cholesky -------------------------------------------------------------------------------- */

int64_t pdm_mat_cholesky(pdm_cx *a, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        double d = creal(a[j * n + j]);
        for (int64_t p = 0; p < j; p++)
            d -= creal(a[j * n + p] * conj(a[j * n + p]));
        if (!(d > 0))
            return j + 1;
        d = sqrt(d);
        a[j * n + j] = d;
        for (int64_t i = j + 1; i < n; i++) {
            pdm_cx s = a[i * n + j];
            for (int64_t p = 0; p < j; p++)
                s -= a[i * n + p] * conj(a[j * n + p]);
            a[i * n + j] = s / d;
            a[j * n + i] = 0;
        }
    }
    return 0;
}

/* ---- QR -------------------------------------------------------------------------------------- */

/* Rows [first, m) of columns [from, to) of t (with `width` columns) are reflected along v. */
static void reflect(pdm_cx *t, int64_t width, const pdm_cx *v, pdm_cx tau, int64_t first, int64_t m,
                    int64_t from, int64_t to)
{
    for (int64_t c = from; c < to; c++) {
        pdm_cx dot = 0;
        for (int64_t i = first; i < m; i++)
            dot += conj(v[i]) * t[i * width + c];
        dot *= tau;
        for (int64_t i = first; i < m; i++)
            t[i * width + c] -= v[i] * dot;
    }
}

/* The reflection that leaves only the first of rows [first, m) of column c: v, tau (of its
 * adjoint); what is left is of the opposite sign, as usual. */
static pdm_cx reflector(const pdm_cx *a, int64_t n, int64_t first, int64_t m, int64_t c, pdm_cx *v,
                        double *out_left)
{
    double below = 0;
    const pdm_cx alpha = a[first * n + c];

    for (int64_t i = first + 1; i < m; i++)
        below = hypot(below, cabs(a[i * n + c]));
    *out_left = creal(alpha);
    if (below == 0 && cimag(alpha) == 0)
        return 0;
    const double norm = hypot(cabs(alpha), below), beta = creal(alpha) >= 0 ? -norm : norm;
    v[first] = 1;
    for (int64_t i = first + 1; i < m; i++)
        v[i] = a[i * n + c] / (alpha - beta);
    *out_left = beta;
    return (beta - alpha) / beta;
}

void pdm_mat_qr(pdm_cx *a, int64_t m, int64_t n, pdm_cx *q, pdm_cx *scratch)
{
    pdm_mat_identity(q, m);
    for (int64_t j = 0; j < m && j < n; j++) {
        double left;
        const pdm_cx tau = reflector(a, n, j, m, j, scratch, &left);
        if (tau == 0)
            continue;
        reflect(a, n, scratch, conj(tau), j, m, j + 1, n);
        a[j * n + j] = left;
        for (int64_t i = j + 1; i < m; i++)
            a[i * n + j] = 0;
        /* q . H: rows of q, as columns of its transpose */
        for (int64_t r = 0; r < m; r++) {
            pdm_cx dot = 0;
            for (int64_t i = j; i < m; i++)
                dot += q[r * m + i] * scratch[i];
            dot *= tau;
            for (int64_t i = j; i < m; i++)
                q[r * m + i] -= dot * conj(scratch[i]);
        }
    }
}

bool pdm_mat_complete(pdm_k *k, pdm_arena *arena, pdm_cx *q, int64_t m, int64_t have)
{
    pdm_cx *v = pdm_k_scratch(k, arena, m, sizeof *v);
    int64_t unit = 0;

    if (!v)
        return false;
    for (; have < m; unit++) {
        double norm = 0;
        if (unit == m)
            return pdm_k_fail(k, "no orthonormal basis was found") == PDM_OK;
        for (int64_t i = 0; i < m; i++)
            v[i] = i == unit;
        for (int twice = 0; twice < 2; twice++) {
            for (int64_t c = 0; c < have; c++) {
                pdm_cx dot = 0;
                for (int64_t i = 0; i < m; i++)
                    dot += conj(q[i * m + c]) * v[i];
                for (int64_t i = 0; i < m; i++)
                    v[i] -= dot * q[i * m + c];
            }
        }
        for (int64_t i = 0; i < m; i++)
            norm = hypot(norm, cabs(v[i]));
        if (norm < 1e-4)
            continue;
        for (int64_t i = 0; i < m; i++)
            q[i * m + have] = v[i] / norm;
        have++;
    }
    return true;
}
