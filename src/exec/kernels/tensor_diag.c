/* Diagonals and triangles. */
#include "exec/kernels/tensor_impl.h"

/* How long diagonal `offset` of a matrix is, and where it begins. */
static int64_t diagonal_of(int64_t rows, int64_t columns, int64_t offset, int64_t *row,
                           int64_t *column)
{
    *row = offset < 0 ? (offset < -rows ? rows : -offset) : 0;
    *column = offset > 0 ? (offset > columns ? columns : offset) : 0;
    const int64_t below = rows - *row, right = columns - *column;
    return below < right ? below : right;
}

/* Side of the square matrix whose diagonal `offset` holds n elements; -1 after a failure. */
static int64_t side_of(pdm_k *k, int64_t n, int64_t offset)
{
    if (offset < -INT32_MAX || offset > INT32_MAX || n > INT64_MAX - INT32_MAX) {
        pdm_k_fail(k, "the diagonal is too far out");
        return -1;
    }
    return n + (offset < 0 ? -offset : offset);
}

/* A vector to a matrix, a matrix to its diagonal. */
pdm_status pdm_kernel_diag(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t offset = pdm_k_int(k, "offset");
    const double padding = pdm_k_float(k, "padding_value");
    int64_t row, column;
    pdm_box box = {0};

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank > 2)
        return pdm_k_fail(k, "a tensor with %d dimensions is no vector and no matrix", x->rank);
    const size_t size = pdm_dtype_size(x->dtype);
    if (x->rank == 2) {
        const int64_t n = diagonal_of(x->dims[0], x->dims[1], offset, &row, &column);
        void *out = pdm_k_out(k, 0, x->dtype, 1, &n);
        pdm_box_add(&box, n, 1, x->dims[1] + 1);
        if (out && n > 0)
            pdm_box_copy(k, &box, size, out, pdm_at(x->data, row * x->dims[1] + column, size));
        return k->status;
    }
    const int64_t n = x->rank ? x->dims[0] : 1, side = side_of(k, n, offset);
    void *out = side < 0 ? NULL : pdm_k_out(k, 0, x->dtype, 2, (int64_t[]){side, side});
    if (!out)
        return k->status;
    const pdm_element value = pdm_element_of_double(padding, x->dtype);
    pdm_fill_elements(k, out, &value, size, side * side);
    pdm_box_add(&box, n, side + 1, 1);
    if (n > 0)
        pdm_box_copy(k, &box, size, pdm_at(out, offset < 0 ? -offset * side : offset, size),
                     x->data);
    return k->status;
}

/* The planes of x that two axes span: their other dims and strides, and the diagonal in them. */
typedef struct planes {
    int rank; /* other axes */
    int64_t dims[PDM_MAX_RANK], strides[PDM_MAX_RANK];
    int64_t first, step, count; /* the diagonal */
} planes;

static bool planes_of(pdm_k *k, int rank, const int64_t *dims, int64_t axis1, int64_t axis2,
                      int64_t offset, planes *p)
{
    int64_t strides[PDM_MAX_RANK] = {0}, row, column;
    const int a = pdm_k_axis(k, axis1, rank), b = pdm_k_axis(k, axis2, rank);

    if (PDM_K_OK(k) && (rank < 2 || a == b))
        pdm_k_fail(k, "the two axes of a diagonal are one");
    if (!PDM_K_OK(k))
        return false;
    pdm_dense_strides(rank, dims, strides);
    p->rank = 0;
    for (int i = 0; i < rank; i++) {
        if (i == a || i == b)
            continue;
        p->dims[p->rank] = dims[i];
        p->strides[p->rank++] = strides[i];
    }
    p->count = diagonal_of(dims[a], dims[b], offset, &row, &column);
    p->first = p->count ? row * strides[a] + column * strides[b] : 0;
    p->step = strides[a] + strides[b];
    return true;
}

pdm_status pdm_kernel_diagonal(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t offset = pdm_k_int(k, "offset"), axis1 = pdm_k_int(k, "axis1"),
                  axis2 = pdm_k_int(k, "axis2");
    int64_t to[PDM_MAX_RANK];
    planes p;
    pdm_box box = {0};

    if (!PDM_K_OK(k) || !planes_of(k, x->rank, x->dims, axis1, axis2, offset, &p))
        return k->status;
    p.dims[p.rank] = p.count;
    p.strides[p.rank] = p.step;
    void *out = pdm_k_out(k, 0, x->dtype, p.rank + 1, p.dims);
    if (!out)
        return k->status;
    pdm_dense_strides(p.rank + 1, p.dims, to);
    for (int i = 0; i <= p.rank; i++)
        pdm_box_add(&box, p.dims[i], to[i], p.strides[i]);
    const size_t size = pdm_dtype_size(x->dtype);
    pdm_box_copy(k, &box, size, out, pdm_at(x->data, p.first, size));
    return k->status;
}

/* The last axis becomes diagonals of square matrices along dim1 and dim2 of the result. */
pdm_status pdm_kernel_diag_embed(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t offset = pdm_k_int(k, "offset"), dim1 = pdm_k_int(k, "dim1"),
                  dim2 = pdm_k_int(k, "dim2");
    int64_t dims[PDM_MAX_RANK + 1], from[PDM_MAX_RANK];
    planes p;
    pdm_box box = {0};

    if (!PDM_K_OK(k) || !pdm_shape_rank(k, (size_t)x->rank + 1))
        return k->status;
    if (x->rank == 0)
        return pdm_k_fail(k, "a tensor without dimensions has no diagonal");
    const int a = pdm_k_axis(k, dim1, x->rank + 1), b = pdm_k_axis(k, dim2, x->rank + 1);
    const int64_t n = x->dims[x->rank - 1], side = side_of(k, n, offset);
    if (!PDM_K_OK(k))
        return k->status;
    for (int i = 0, at = 0; i <= x->rank; i++)
        dims[i] = i == a || i == b ? side : x->dims[at++ % x->rank];
    if (pdm_shape_count(k, x->rank + 1, dims) < 0 ||
        !planes_of(k, x->rank + 1, dims, a, b, offset, &p))
        return k->status;
    void *out = pdm_k_out(k, 0, x->dtype, x->rank + 1, dims);
    if (!out)
        return k->status;
    const size_t size = pdm_dtype_size(x->dtype);
    memset(out, 0, pdm_tensor_bytes(pdm_k_out_tensor(k, 0)));
    pdm_dense_strides(x->rank, x->dims, from);
    for (int i = 0; i < p.rank; i++)
        pdm_box_add(&box, p.dims[i], p.strides[i], from[i]);
    pdm_box_add(&box, n, p.step, 1);
    pdm_box_copy(k, &box, size, pdm_at(out, p.first, size), x->data);
    return k->status;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* Without wrap the diagonal ends with as many elements as the first square has. */
pdm_status pdm_kernel_fill_diagonal(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const double value = pdm_k_float(k, "value");
    const int64_t offset = pdm_k_int(k, "offset");
    const bool wrap = pdm_k_bool(k, "wrap");
    int64_t strides[PDM_MAX_RANK], step = 0;

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank < 2)
        return pdm_k_fail(k, "a tensor with %d dimensions has no diagonal", x->rank);
    if (side_of(k, x->dims[x->rank - 1], offset) < 0)
        return k->status;
    const int64_t last = x->dims[x->rank - 1], count = pdm_tensor_count(x);
    void *out = pdm_k_out_copy(k, x);
    pdm_drop_lod(k, 0);
    if (!out)
        return k->status;
    const pdm_element e = pdm_element_of_double(value, x->dtype);
    const size_t size = pdm_dtype_size(x->dtype);
    pdm_dense_strides(x->rank, x->dims, strides);
    for (int i = 0; i < x->rank; i++)
        step += strides[i];
    const int64_t side = x->dims[1];
    const bool square = !wrap && side < INT32_MAX && side * side < count;
    const int64_t end = square ? side * side : count;
    for (int64_t i = 0; i < end; i += step) {
        if (i % last + offset >= 0 && i % last + offset < last && i + offset < count)
            memcpy(pdm_at(out, i + offset, size), e.bytes, size);
    }
    return k->status;
}

/* x, y: y holds the diagonals of the planes that dim1 and dim2 span. */
pdm_status pdm_kernel_fill_diagonal_tensor(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    const int64_t offset = pdm_k_int(k, "offset"), dim1 = pdm_k_int(k, "dim1"),
                  dim2 = pdm_k_int(k, "dim2");
    int64_t from[PDM_MAX_RANK + 1];
    planes p;
    pdm_box box = {0};

    if (!PDM_K_OK(k) || !planes_of(k, x->rank, x->dims, dim1, dim2, offset, &p))
        return k->status;
    p.dims[p.rank] = p.count;
    p.strides[p.rank] = p.step;
    /* A single diagonal may come as a vector or as a row. */
    const int extra = y->rank - p.rank - 1;
    bool fits = y->dtype == x->dtype && (extra == 0 || (extra == 1 && y->dims[0] == 1));
    for (int i = 0; fits && i <= p.rank; i++)
        fits = y->dims[extra + i] == p.dims[i];
    if (!fits)
        return pdm_k_fail(k, "the new diagonals do not fit in type or shape");
    void *out = pdm_k_out_copy(k, x);
    pdm_drop_lod(k, 0);
    pdm_dense_strides(p.rank + 1, p.dims, from);
    for (int i = 0; i <= p.rank; i++)
        pdm_box_add(&box, p.dims[i], p.strides[i], from[i]);
    const size_t size = pdm_dtype_size(x->dtype);
    if (out)
        pdm_box_copy(k, &box, size, pdm_at(out, p.first, size), y->data);
    return k->status;
}

/* ---- triangles ------------------------------------------------------------------------------- */

static int64_t clamp(int64_t value, int64_t high)
{
    return value < 0 ? 0 : value > high ? high : value;
}

typedef struct triangle_job {
    const pdm_tensor *x;
    char *out;
    int64_t rows, columns, diagonal;
    size_t size;
    bool lower;
} triangle_job;

static void triangle_rows(void *arg, int64_t begin, int64_t end)
{
    const triangle_job *t = arg;

    for (int64_t i = begin; i < end; i++) {
        const int64_t edge = clamp(i % t->rows + t->diagonal + t->lower, t->columns);
        const int64_t from = t->lower ? 0 : edge, to = t->lower ? edge : t->columns;
        char *row = t->out + (size_t)(i * t->columns) * t->size;
        memset(row, 0, (size_t)t->columns * t->size);
        memcpy(row + (size_t)from * t->size, pdm_at(t->x->data, i * t->columns + from, t->size),
               (size_t)(to - from) * t->size);
    }
}

static pdm_status triangle(pdm_k *k, bool lower)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t diagonal = pdm_k_int(k, "diagonal");

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank < 2)
        return pdm_k_fail(k, "a tensor with %d dimensions has no triangle", x->rank);
    triangle_job job = {x,
                        pdm_k_out_like(k, 0, x),
                        x->dims[x->rank - 2],
                        x->dims[x->rank - 1],
                        clamp(diagonal + INT32_MAX, 2 * (int64_t)INT32_MAX) - INT32_MAX,
                        pdm_dtype_size(x->dtype),
                        lower};
    if (job.out && pdm_tensor_count(x) > 0)
        pdm_k_parallel(k, pdm_tensor_count(x) / job.columns,
                       1 + PDM_MOVE_GRAIN / (job.columns * (int64_t)job.size), triangle_rows, &job);
    return k->status;
}

pdm_status pdm_kernel_tril(pdm_k *k)
{
    return triangle(k, true);
}

pdm_status pdm_kernel_triu(pdm_k *k)
{
    return triangle(k, false);
}

/* Rows and columns of a triangle's places, in two rows; lower: up to the diagonal, else from it. */
static pdm_status triangle_indices(pdm_k *k, int64_t rows, int64_t columns, bool lower)
{
    const int64_t offset = pdm_k_int(k, "offset");
    const pdm_dtype given = pdm_k_dtype(k, "dtype");
    int64_t n = 0, at = 0;

    if (!PDM_K_OK(k))
        return k->status;
    if (rows < 0 || columns < 0 || rows > INT32_MAX || columns > INT32_MAX || offset < -INT32_MAX ||
        offset > INT32_MAX)
        return pdm_k_fail(k, "a matrix cannot be %lld by %lld", (long long)rows,
                          (long long)columns);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t edge = clamp(r + offset + lower, columns);
        n += lower ? edge : columns - edge;
    }
    if (!pdm_k_out(k, 0, given == PDM_UNDEFINED ? PDM_I64 : given, 2, (int64_t[]){2, n}))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t edge = clamp(r + offset + lower, columns);
        for (int64_t c = lower ? 0 : edge; c < (lower ? edge : columns); c++) {
            pdm_set_int(out, at, r);
            pdm_set_int(out, n + at++, c);
        }
    }
    return k->status;
}

pdm_status pdm_kernel_tril_indices(pdm_k *k)
{
    return triangle_indices(k, pdm_k_int(k, "rows"), pdm_k_int(k, "cols"), true);
}

pdm_status pdm_kernel_triu_indices(pdm_k *k)
{
    return triangle_indices(k, pdm_k_int(k, "row"), pdm_k_int(k, "col"), false);
}

/* num_rows, num_columns (as many when negative) */
pdm_status pdm_kernel_eye(pdm_k *k)
{
    const int64_t rows = pdm_k_in_int(k, 0, 0), given = pdm_k_in_int(k, 1, -1);
    const int64_t columns = given < 0 ? rows : given;
    const pdm_dtype dtype = pdm_k_dtype(k, "dtype");
    void *out = PDM_K_OK(k) ? pdm_k_out(k, 0, dtype == PDM_UNDEFINED ? PDM_F32 : dtype, 2,
                                        (int64_t[]){rows, columns})
                            : NULL;

    if (!out)
        return k->status;
    pdm_tensor *t = pdm_k_out_tensor(k, 0);
    memset(out, 0, pdm_tensor_bytes(t));
    for (int64_t i = 0; i < rows && i < columns; i++)
        pdm_set_double(t, i * columns + i, 1);
    return k->status;
}
