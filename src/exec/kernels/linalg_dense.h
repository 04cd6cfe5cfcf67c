/*
 * Small dense linear algebra, row by row, in double complex: real matrices have zero imaginary
 * parts and keep them, so that one form serves all element types.
 */
#ifndef PDM_EXEC_KERNELS_LINALG_DENSE_H
#define PDM_EXEC_KERNELS_LINALG_DENSE_H

#include <complex.h>

#include "exec/kernels/scratch.h"

typedef double complex pdm_cx;

/* Elements [first, first + n) of a float or complex tensor. */
void pdm_cx_load(const pdm_tensor *t, int64_t first, int64_t n, pdm_cx *out);
void pdm_cx_store(pdm_tensor *t, int64_t first, int64_t n, const pdm_cx *from);
/* A matrix in scratch; NULL fails the call. */
pdm_cx *pdm_mat_scratch(pdm_k *k, pdm_arena *arena, int64_t rows, int64_t cols);
/* Result `index` with these dims, as a tensor; NULL when nobody wants it or the call failed. */
pdm_tensor *pdm_mat_result(pdm_k *k, size_t index, pdm_dtype dtype, int rank, const int64_t *dims);
/* The type of magnitudes: float32 for complex64 and so on. */
pdm_dtype pdm_real_dtype(pdm_dtype dtype);

/* out (m x n) = a (m x p) . b (p x n); out is neither a nor b. */
void pdm_mat_mul(pdm_cx *out, const pdm_cx *a, const pdm_cx *b, int64_t m, int64_t p, int64_t n);
void pdm_mat_identity(pdm_cx *out, int64_t n);
/* Conjugate transpose of a (m x n). */
void pdm_mat_adjoint(pdm_cx *out, const pdm_cx *a, int64_t m, int64_t n);

/* a (m x n) becomes L (unit diagonal) and U; rows i and pivot[i] were swapped, in order. Returns 0,
 * or 1 + the place of the first pivot that is zero. pivoting false: rows stay. */
int64_t pdm_mat_lu(pdm_cx *a, int64_t m, int64_t n, int64_t *pivot, bool pivoting);
/* b (n x cols) becomes the solution of the factored system. */
void pdm_mat_lu_solve(const pdm_cx *lu, const int64_t *pivot, int64_t n, pdm_cx *b, int64_t cols);
/* Triangular system; adjoint: of the conjugate transpose of a; transpose alone: `plain`. */
typedef struct pdm_triangle {
    bool upper, transposed, conjugated, unit;
} pdm_triangle;
void pdm_mat_solve_triangle(pdm_triangle how, const pdm_cx *a, int64_t n, pdm_cx *b, int64_t cols);
/* a's lower triangle becomes its Cholesky factor, the upper one zero. 0, or 1 + the first bad
 * place. */
int64_t pdm_mat_cholesky(pdm_cx *a, int64_t n);
/* a (m x n) becomes R; q (m x m) the unitary factor; scratch: m numbers. */
void pdm_mat_qr(pdm_cx *a, int64_t m, int64_t n, pdm_cx *q, pdm_cx *scratch);
/* Hermitian a (n x n): eigenvalues ascending, eigenvectors as columns of v; a is destroyed. */
bool pdm_mat_eigh(pdm_k *k, pdm_arena *arena, pdm_cx *a, int64_t n, double *w, pdm_cx *v);
/* Any a (n x n): eigenvalues; eigenvectors of length 1 as columns of v (v NULL: none). a is
 * destroyed. */
bool pdm_mat_eig(pdm_k *k, pdm_arena *arena, pdm_cx *a, int64_t n, pdm_cx *w, pdm_cx *v);
/* a (m x n) = u . diag(s) . vh with s descending, min(m, n) of them. u: m x min, vh: min x n; NULL:
 * not wanted. */
bool pdm_mat_svd(pdm_k *k, pdm_arena *arena, const pdm_cx *a, int64_t m, int64_t n, pdm_cx *u,
                 double *s, pdm_cx *vh);
/* q (m x m): its first `have` columns are orthonormal; the others are made so. */
bool pdm_mat_complete(pdm_k *k, pdm_arena *arena, pdm_cx *q, int64_t m, int64_t have);

/* Matrices in a tensor: the last two dims, how many of them. */
typedef struct pdm_mats {
    int64_t count, rows, cols;
} pdm_mats;
bool pdm_mats_of(pdm_k *k, const pdm_tensor *t, bool square, pdm_mats *out);
/* Two batches joined by broadcasting: dims before the last two of each; index of each matrix. */
typedef struct pdm_batches {
    int rank;
    int64_t dims[PDM_MAX_RANK];
    int64_t count;
    int64_t stride_a[PDM_MAX_RANK], stride_b[PDM_MAX_RANK];
} pdm_batches;
bool pdm_batches_join(pdm_k *k, int rank_a, const int64_t *a, int rank_b, const int64_t *b,
                      pdm_batches *out);
void pdm_batches_at(const pdm_batches *batches, int64_t i, int64_t *a, int64_t *b);

#endif
