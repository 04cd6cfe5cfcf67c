/* Eigenvalues and singular values of small dense matrices: Jacobi rotations, the QR algorithm. */
#include <float.h>
#include <math.h>

#include "exec/kernels/linalg_dense.h"

#define MAX_SWEEPS 60

/* Columns p and q of a become c p - s e* q and s p + c e* q. */
typedef struct turn {
    double c, s;
    pdm_cx e; /* conjugate of the phase of what is between p and q */
} turn;

/* The turn that makes [[alpha, gamma], [gamma*, beta]] diagonal. */
static turn turn_for(double alpha, double beta, pdm_cx gamma)
{
    const double r = cabs(gamma), tau = (beta - alpha) / (2 * r);
    const double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
    const double c = 1 / sqrt(1 + t * t);

    return (turn){c, c * t, conj(gamma / r)};
}

static void turn_columns(turn u, pdm_cx *a, int64_t rows, int64_t n, int64_t p, int64_t q)
{
    for (int64_t i = 0; i < rows; i++) {
        const pdm_cx x = a[i * n + p], y = u.e * a[i * n + q];
        a[i * n + p] = u.c * x - u.s * y;
        a[i * n + q] = u.s * x + u.c * y;
    }
}

static void turn_rows(turn u, pdm_cx *a, int64_t n, int64_t p, int64_t q)
{
    for (int64_t j = 0; j < n; j++) {
        const pdm_cx x = a[p * n + j], y = conj(u.e) * a[q * n + j];
        a[p * n + j] = u.c * x - u.s * y;
        a[q * n + j] = u.s * x + u.c * y;
    }
}

/* ---- Hermitian matrices ---------------------------------------------------------------------- */

static void sort_columns(int64_t n, const double *keys, int64_t *index, bool down)
{
    for (int64_t i = 0; i < n; i++)
        index[i] = i;
    for (int64_t i = 1; i < n; i++) { /* insertion: stable, and n is small */
        const int64_t it = index[i];
        int64_t j = i;
        for (; j > 0 && (down ? keys[index[j - 1]] < keys[it] : keys[index[j - 1]] > keys[it]); j--)
            index[j] = index[j - 1];
        index[j] = it;
    }
}

bool pdm_mat_eigh(pdm_k *k, pdm_arena *arena, pdm_cx *a, int64_t n, double *w, pdm_cx *v)
{
    double *values = pdm_k_scratch(k, arena, n, sizeof *values);
    int64_t *index = pdm_k_scratch(k, arena, n, sizeof *index);
    pdm_cx *own = pdm_k_scratch(k, arena, n, (size_t)n * sizeof *own);
    bool turned = true;

    if (!PDM_K_OK(k))
        return false;
    pdm_mat_identity(own, n);
    for (int sweep = 0; turned && sweep < MAX_SWEEPS; sweep++) {
        turned = false;
        for (int64_t p = 0; p < n; p++) {
            for (int64_t q = p + 1; q < n; q++) {
                const pdm_cx between = a[p * n + q];
                const double r = cabs(between), x = creal(a[p * n + p]), y = creal(a[q * n + q]);
                if (!(r > DBL_EPSILON * 1e-2 * sqrt(fabs(x) * fabs(y)) && r > DBL_MIN))
                    continue;
                const turn u = turn_for(x, y, between);
                turn_columns(u, a, n, n, p, q);
                turn_rows(u, a, n, p, q);
                turn_columns(u, own, n, n, p, q);
                a[p * n + q] = a[q * n + p] = 0;
                turned = true;
            }
        }
    }
    for (int64_t i = 0; i < n; i++)
        values[i] = creal(a[i * n + i]);
    sort_columns(n, values, index, false);
    for (int64_t j = 0; j < n; j++) {
        w[j] = values[index[j]];
        for (int64_t i = 0; v && i < n; i++)
            v[i * n + j] = own[i * n + index[j]];
    }
    return true;
}

/* ---- singular values ------------------------------------------------------------------------- */

/* Make the columns of a (m x n) orthogonal; v (n x n) turns with them. */
static void orthogonalize(pdm_cx *a, int64_t m, int64_t n, pdm_cx *v)
{
    bool turned = true;

    pdm_mat_identity(v, n);
    for (int sweep = 0; turned && sweep < MAX_SWEEPS; sweep++) {
        turned = false;
        for (int64_t p = 0; p < n; p++) {
            for (int64_t q = p + 1; q < n; q++) {
                double x = 0, y = 0;
                pdm_cx between = 0;
                for (int64_t i = 0; i < m; i++) {
                    const pdm_cx ap = a[i * n + p], aq = a[i * n + q];
                    x += creal(ap * conj(ap));
                    y += creal(aq * conj(aq));
                    between += conj(ap) * aq;
                }
                if (!(cabs(between) > DBL_EPSILON * sqrt(x * y) && cabs(between) > DBL_MIN))
                    continue;
                const turn u = turn_for(x, y, between);
                turn_columns(u, a, m, n, p, q);
                turn_columns(u, v, n, n, p, q);
                turned = true;
            }
        }
    }
}

/* m >= n. u: m x n, v: n x n (columns). */
static bool tall_svd(pdm_k *k, pdm_arena *arena, pdm_cx *a, int64_t m, int64_t n, pdm_cx *u,
                     double *s, pdm_cx *v)
{
    pdm_cx *turned = pdm_k_scratch(k, arena, n, (size_t)n * sizeof *turned);
    double *sizes = pdm_k_scratch(k, arena, n, sizeof *sizes);
    int64_t *index = pdm_k_scratch(k, arena, n, sizeof *index);
    pdm_cx *basis = pdm_k_scratch(k, arena, m, (size_t)m * sizeof *basis);
    int64_t rank = 0;

    if (!PDM_K_OK(k))
        return false;
    orthogonalize(a, m, n, turned);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            sizes[j] = hypot(sizes[j], cabs(a[i * n + j]));
    sort_columns(n, sizes, index, true);
    for (int64_t j = 0; j < n; j++) {
        s[j] = sizes[index[j]];
        for (int64_t i = 0; i < n; i++)
            v[i * n + j] = turned[i * n + index[j]];
        if (!(s[j] > 0 && s[j] > s[0] * DBL_EPSILON))
            continue;
        for (int64_t i = 0; i < m; i++)
            basis[i * m + j] = a[i * n + index[j]] / s[j];
        rank = j + 1;
    }
    if (!u)
        return true;
    if (!pdm_mat_complete(k, arena, basis, m, rank))
        return false;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            u[i * n + j] = basis[i * m + j];
    return true;
}

bool pdm_mat_svd(pdm_k *k, pdm_arena *arena, const pdm_cx *a, int64_t m, int64_t n, pdm_cx *u,
                 double *s, pdm_cx *vh)
{
    const bool tall = m >= n;
    const int64_t big = tall ? m : n, small = tall ? n : m;
    pdm_cx *work = pdm_k_scratch(k, arena, big, (size_t)small * sizeof *work);
    pdm_cx *left = pdm_k_scratch(k, arena, big, (size_t)small * sizeof *left);
    pdm_cx *right = pdm_k_scratch(k, arena, small, (size_t)small * sizeof *right);

    if (!PDM_K_OK(k))
        return false;
    if (tall)
        memcpy(work, a, (size_t)(m * n) * sizeof *work);
    else
        pdm_mat_adjoint(work, a, m, n);
    if (!tall_svd(k, arena, work, big, small, u || vh ? left : NULL, s, right))
        return false;
    /* a wide matrix is the adjoint of a tall one: its factors change places */
    if (u)
        memcpy(u, tall ? left : right, (size_t)(m * small) * sizeof *u);
    if (vh)
        pdm_mat_adjoint(vh, tall ? right : left, n, small);
    return true;
}

/* ---- any square matrix ----------------------------------------------------------------------- */

/* h becomes zero below its first subdiagonal; z collects what turned it. */
static void hessenberg(pdm_cx *h, pdm_cx *z, int64_t n, pdm_cx *v)
{
    for (int64_t c = 0; c + 2 < n; c++) {
        double norm = 0;
        for (int64_t i = c + 1; i < n; i++)
            norm = hypot(norm, cabs(h[i * n + c]));
        const pdm_cx head = h[(c + 1) * n + c];
        if (norm == 0)
            continue;
        const pdm_cx phase = head == 0 ? 1 : head / cabs(head);
        double size = 0;
        for (int64_t i = c + 1; i < n; i++)
            v[i] = h[i * n + c] + (i == c + 1 ? phase * norm : 0);
        for (int64_t i = c + 1; i < n; i++)
            size += creal(v[i] * conj(v[i]));
        for (int64_t j = 0; j < n; j++) { /* I - 2 v v* / |v|^2 from the left */
            pdm_cx dot = 0;
            for (int64_t i = c + 1; i < n; i++)
                dot += conj(v[i]) * h[i * n + j];
            for (int64_t i = c + 1; i < n; i++)
                h[i * n + j] -= 2 * v[i] * dot / size;
        }
        for (int64_t r = 0; r < n; r++) { /* and from the right */
            pdm_cx dot = 0, own = 0;
            for (int64_t i = c + 1; i < n; i++) {
                dot += h[r * n + i] * v[i];
                own += z[r * n + i] * v[i];
            }
            for (int64_t i = c + 1; i < n; i++) {
                h[r * n + i] -= 2 * dot * conj(v[i]) / size;
                z[r * n + i] -= 2 * own * conj(v[i]) / size;
            }
        }
    }
}

/* The eigenvalue of the last 2 x 2 block that is nearer to its corner. */
static pdm_cx shift_of(const pdm_cx *h, int64_t n, int64_t hi)
{
    const pdm_cx a = h[(hi - 1) * n + hi - 1], b = h[(hi - 1) * n + hi];
    const pdm_cx c = h[hi * n + hi - 1], d = h[hi * n + hi];
    const pdm_cx half = (a + d) / 2, root = csqrt((a - d) * (a - d) / 4 + b * c);

    return cabs(half + root - d) < cabs(half - root - d) ? half + root : half - root;
}

/* One step on rows and columns [lo, hi]; cs: 2 (hi - lo) numbers. */
static void qr_step(pdm_cx *h, pdm_cx *z, int64_t n, int64_t lo, int64_t hi, pdm_cx shift,
                    pdm_cx *cs)
{
    for (int64_t i = lo; i <= hi; i++)
        h[i * n + i] -= shift;
    for (int64_t i = lo; i < hi; i++) {
        const pdm_cx x = h[i * n + i], y = h[(i + 1) * n + i];
        const double norm = hypot(cabs(x), cabs(y));
        const pdm_cx c = norm == 0 ? 1 : x / norm, s = norm == 0 ? 0 : y / norm;
        cs[2 * (i - lo)] = c;
        cs[2 * (i - lo) + 1] = s;
        for (int64_t j = i; j < n; j++) {
            const pdm_cx p = h[i * n + j], q = h[(i + 1) * n + j];
            h[i * n + j] = conj(c) * p + conj(s) * q;
            h[(i + 1) * n + j] = c * q - s * p;
        }
    }
    for (int64_t i = lo; i < hi; i++) {
        const pdm_cx c = cs[2 * (i - lo)], s = cs[2 * (i - lo) + 1];
        for (int64_t r = 0; r < n; r++) {
            pdm_cx p = h[r * n + i], q = h[r * n + i + 1];
            if (r <= i + 1) {
                h[r * n + i] = p * c + q * s;
                h[r * n + i + 1] = q * conj(c) - p * conj(s);
            }
            p = z[r * n + i];
            q = z[r * n + i + 1];
            z[r * n + i] = p * c + q * s;
            z[r * n + i + 1] = q * conj(c) - p * conj(s);
        }
    }
    for (int64_t i = lo; i <= hi; i++)
        h[i * n + i] += shift;
}

/* h becomes upper triangular. */
static bool schur(pdm_k *k, pdm_cx *h, pdm_cx *z, int64_t n, pdm_cx *cs)
{
    int turns = 0;

    for (int64_t hi = n - 1; hi > 0;) {
        int64_t lo = hi;
        for (; lo > 0; lo--) {
            const double near = cabs(h[(lo - 1) * n + lo - 1]) + cabs(h[lo * n + lo]);
            if (cabs(h[lo * n + lo - 1]) <= DBL_EPSILON * near)
                break;
        }
        if (lo > 0)
            h[lo * n + lo - 1] = 0;
        if (lo == hi) {
            hi--;
            turns = 0;
            continue;
        }
        if (++turns > 300)
            return pdm_k_fail(k, "the eigenvalues were not found") == PDM_OK;
        pdm_cx shift = shift_of(h, n, hi);
        if (turns % 10 == 0)
            shift = h[hi * n + hi] + cabs(h[hi * n + hi - 1]);
        qr_step(h, z, n, lo, hi, shift, cs);
    }
    return true;
}

/* Eigenvector c of triangular t, turned back by z, of length 1 and with a real largest number. */
static void eigenvector(const pdm_cx *t, const pdm_cx *z, int64_t n, int64_t c, pdm_cx *x,
                        pdm_cx *v)
{
    double norm = 0, top = 0;
    pdm_cx phase = 1;

    x[c] = 1;
    for (int64_t i = c - 1; i >= 0; i--) {
        pdm_cx sum = 0, gap = t[i * n + i] - t[c * n + c];
        for (int64_t j = i + 1; j <= c; j++)
            sum += t[i * n + j] * x[j];
        if (cabs(gap) < DBL_EPSILON * (cabs(t[c * n + c]) + DBL_MIN))
            gap = DBL_EPSILON * (cabs(t[c * n + c]) + DBL_EPSILON);
        x[i] = -sum / gap;
    }
    for (int64_t r = 0; r < n; r++) {
        pdm_cx sum = 0;
        for (int64_t j = 0; j <= c; j++)
            sum += z[r * n + j] * x[j];
        v[r * n + c] = sum;
        norm = hypot(norm, cabs(sum));
        if (cabs(sum) > top * (1 + 1e-12)) {
            top = cabs(sum);
            phase = conj(sum) / top;
        }
    }
    for (int64_t r = 0; norm > 0 && r < n; r++)
        v[r * n + c] = v[r * n + c] * phase / norm;
}

static bool is_real(const pdm_cx *a, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        if (cimag(a[i]) != 0)
            return false;
    return true;
}

/* Eigenvalues of real matrices are real or come in pairs, that with a positive part first. */
static void tidy_pairs(pdm_cx *w, pdm_cx *v, int64_t n)
{
    double top = 0;

    for (int64_t i = 0; i < n; i++)
        top = fmax(top, cabs(w[i]));
    for (int64_t i = 0; i < n; i++)
        if (fabs(cimag(w[i])) < 1e-13 * top)
            w[i] = creal(w[i]);
    for (int64_t i = 0; i + 1 < n; i++) {
        if (cimag(w[i]) == 0 || cabs(w[i] - conj(w[i + 1])) > 1e-6 * top)
            continue;
        if (cimag(w[i]) < 0) {
            const pdm_cx swap = w[i];
            w[i] = w[i + 1];
            w[i + 1] = swap;
            for (int64_t r = 0; v && r < n; r++) {
                const pdm_cx s = v[r * n + i];
                v[r * n + i] = v[r * n + i + 1];
                v[r * n + i + 1] = s;
            }
        }
        i++;
    }
}

bool pdm_mat_eig(pdm_k *k, pdm_arena *arena, pdm_cx *a, int64_t n, pdm_cx *w, pdm_cx *v)
{
    pdm_cx *z = pdm_k_scratch(k, arena, n, (size_t)n * sizeof *z);
    pdm_cx *spare = pdm_k_scratch(k, arena, 2 * n, sizeof *spare);
    const bool real = is_real(a, n);

    if (!PDM_K_OK(k))
        return false;
    pdm_mat_identity(z, n);
    hessenberg(a, z, n, spare);
    if (!schur(k, a, z, n, spare))
        return false;
    for (int64_t c = 0; c < n; c++) {
        w[c] = a[c * n + c];
        if (v)
            eigenvector(a, z, n, c, spare, v);
    }
    if (real)
        tidy_pairs(w, v, n);
    return true;
}
