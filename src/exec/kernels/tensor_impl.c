/* Boxes, shapes, indices: shared by the kernels that move elements. */
#include "exec/kernels/tensor_impl.h"

#include <stdlib.h>

#include "base/checked.h"

/* ---- boxes ----------------------------------------------------------------------------------- */

void pdm_box_add(pdm_box *box, int64_t dim, int64_t to, int64_t from)
{
    box->dims[box->rank] = dim;
    box->to[box->rank] = to;
    box->from[box->rank] = from;
    box->rank++;
}

/* Drop dims of 1 and merge neighbours that are walked as one. False: no elements. */
static bool simplify(pdm_box *box)
{
    int n = 0;

    for (int i = 0; i < box->rank; i++) {
        const int64_t dim = box->dims[i], to = box->to[i], from = box->from[i];
        if (dim == 0)
            return false;
        if (dim == 1)
            continue;
        if (n > 0 && box->to[n - 1] == to * dim && box->from[n - 1] == from * dim)
            box->dims[n - 1] *= dim;
        else
            box->dims[n++] = dim;
        box->to[n - 1] = to;
        box->from[n - 1] = from;
    }
    box->rank = n;
    return true;
}

/* A line: to[i * ts] = from[i * fs]. */
#define LINE(bytes, suffix, type, acc, load, store, ...)                                           \
    static void line_##suffix(void *to, int64_t ts, const void *from, int64_t fs, int64_t n)       \
    {                                                                                              \
        type *t = to;                                                                              \
        const type *f = from;                                                                      \
        if (ts == 1)                                                                               \
            for (int64_t i = 0; i < n; i++)                                                        \
                t[i] = f[i * fs];                                                                  \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                t[i * ts] = f[i * fs];                                                             \
    }
PDM_K_SIZES(LINE)

/* A matrix, transposed: to[r * ts + i] = from[r + i * fs], in blocks that stay in the cache. */
enum { BLOCK = 16 };
#define TILE(bytes, suffix, type, acc, load, store, ...)                                           \
    static void tile_##suffix(void *to, int64_t ts, const void *from, int64_t fs, int64_t rows,    \
                              int64_t n)                                                           \
    {                                                                                              \
        type *t = to;                                                                              \
        const type *f = from;                                                                      \
        for (int64_t r0 = 0; r0 < rows; r0 += BLOCK) {                                             \
            const int64_t r1 = r0 + BLOCK < rows ? r0 + BLOCK : rows;                              \
            for (int64_t i0 = 0; i0 < n; i0 += BLOCK) {                                            \
                const int64_t i1 = i0 + BLOCK < n ? i0 + BLOCK : n;                                \
                for (int64_t r = r0; r < r1; r++)                                                  \
                    for (int64_t i = i0; i < i1; i++)                                              \
                        t[r * ts + i] = f[r + i * fs];                                             \
            }                                                                                      \
        }                                                                                          \
    }
PDM_K_SIZES(TILE)

#if defined(__GNUC__)
/* Elements of 4 bytes, 16 of them in registers. */
typedef uint32_t vec4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t pick4 __attribute__((vector_size(16)));
#ifdef __clang__
#define PICK4(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define PICK4(a, b, i, j, k, l) __builtin_shuffle(a, b, (pick4){i, j, k, l})
#endif

static inline void transpose_4x4(uint32_t *t, int64_t ts, const uint32_t *f, int64_t fs)
{
    const vec4 a = *(const vec4 *)f, b = *(const vec4 *)(f + fs);
    const vec4 c = *(const vec4 *)(f + 2 * fs), d = *(const vec4 *)(f + 3 * fs);
    const vec4 ab_low = PICK4(a, b, 0, 4, 1, 5), ab_high = PICK4(a, b, 2, 6, 3, 7);
    const vec4 cd_low = PICK4(c, d, 0, 4, 1, 5), cd_high = PICK4(c, d, 2, 6, 3, 7);

    *(vec4 *)t = PICK4(ab_low, cd_low, 0, 1, 4, 5);
    *(vec4 *)(t + ts) = PICK4(ab_low, cd_low, 2, 3, 6, 7);
    *(vec4 *)(t + 2 * ts) = PICK4(ab_high, cd_high, 0, 1, 4, 5);
    *(vec4 *)(t + 3 * ts) = PICK4(ab_high, cd_high, 2, 3, 6, 7);
}

/* Images of three colours, on their way to channels-last. */
static void tile_of_3(uint32_t *t, const uint32_t *f, int64_t fs, int64_t rows)
{
    const uint32_t *g = f + fs, *h = f + 2 * fs;

    for (int64_t r = 0; r < rows; r++, t += 3) {
        t[0] = f[r];
        t[1] = g[r];
        t[2] = h[r];
    }
}

static void tile_of_words(void *to, int64_t ts, const void *from, int64_t fs, int64_t rows,
                          int64_t n)
{
    uint32_t *t = to;
    const uint32_t *f = from;
    const int64_t whole_n = n / 4 * 4;

    if (n == 3 && ts == 3) {
        tile_of_3(t, f, fs, rows);
        return;
    }
    for (int64_t r0 = 0; r0 < rows; r0 += BLOCK) {
        const int64_t r1 = r0 + BLOCK < rows ? r0 + BLOCK : rows, whole = r0 + (r1 - r0) / 4 * 4;
        for (int64_t i = 0; i < whole_n; i += 4) {
            for (int64_t r = r0; r < whole; r += 4)
                transpose_4x4(t + r * ts + i, ts, f + r + i * fs, fs);
        }
        if (whole < r1)
            tile_s4(t + whole * ts, ts, f + whole, fs, r1 - whole, whole_n);
        if (whole_n < n)
            tile_s4(t + r0 * ts + whole_n, ts, f + r0 + whole_n * fs, fs, r1 - r0, n - whole_n);
    }
}
#else
#define tile_of_words tile_s4
#endif

#define CALL(bytes, suffix, type, acc, load, store, fn, ...)                                       \
    case bytes:                                                                                    \
        fn##_##suffix(__VA_ARGS__);                                                                \
        break;

typedef struct box_job {
    const pdm_box *box;
    int outer; /* dims that are walked here; the others are one line or tile */
    int cut;   /* dim of a line or tile that is done in pieces */
    int64_t pieces, piece;
    size_t size;
    void *to;
    const void *from;
} box_job;

/* A line or tile, or one piece of it. */
static void copy_inner(const box_job *job, int64_t piece, void *to, const void *from)
{
    const pdm_box *b = job->box;
    const int a = job->outer, last = b->rank - 1, cut = job->cut;
    int64_t dims[2] = {0};

    if (b->rank == a) {
        memcpy(to, from, job->size);
        return;
    }
    dims[0] = b->dims[a];
    dims[1] = b->dims[last];
    if (job->pieces > 1) {
        const int64_t first = piece * job->piece, rest = b->dims[cut] - first;
        dims[cut - a] = rest < job->piece ? rest : job->piece;
        to = pdm_at(to, first * b->to[cut], job->size);
        from = pdm_at(from, first * b->from[cut], job->size);
    }
    if (a < last && job->size == sizeof(uint32_t)) {
        tile_of_words(to, b->to[a], from, b->from[last], dims[0], dims[1]);
    } else if (a < last) {
        switch (job->size) {
            PDM_K_SIZES(CALL, tile, to, b->to[a], from, b->from[last], dims[0], dims[1])
        }
    } else if (b->to[a] == 1 && b->from[a] == 1) {
        memcpy(to, from, (size_t)dims[0] * job->size);
    } else {
        switch (job->size) {
            PDM_K_SIZES(CALL, line, to, b->to[a], from, b->from[a], dims[0])
        }
    }
}

static void copy_part(void *arg, int64_t begin, int64_t end)
{
    const box_job *job = arg;
    const pdm_box *b = job->box;
    int64_t at[PDM_BOX_RANK] = {0}, to = 0, from = 0, rest = begin / job->pieces;
    int64_t piece = begin % job->pieces;

    for (int i = job->outer - 1; i >= 0; i--) {
        at[i] = rest % b->dims[i];
        rest /= b->dims[i];
        to += at[i] * b->to[i];
        from += at[i] * b->from[i];
    }
    for (int64_t n = begin; n < end; n++) {
        copy_inner(job, piece, pdm_at(job->to, to, job->size), pdm_at(job->from, from, job->size));
        if (++piece < job->pieces)
            continue;
        piece = 0;
        for (int i = job->outer - 1; i >= 0; i--) {
            to += b->to[i];
            from += b->from[i];
            if (++at[i] < b->dims[i])
                break;
            to -= b->to[i] * b->dims[i];
            from -= b->from[i] * b->dims[i];
            at[i] = 0;
        }
    }
}

/* So that threads have something to share where lines and tiles are few and large. */
static void cut_in_pieces(box_job *job, int64_t inner)
{
    const pdm_box *b = job->box;
    const int last = b->rank - 1;

    job->pieces = 1;
    if (inner * (int64_t)job->size < 2 * PDM_MOVE_GRAIN || b->rank == job->outer)
        return;
    job->cut = b->dims[job->outer] > b->dims[last] ? job->outer : last;
    const int64_t dim = b->dims[job->cut];
    job->piece = PDM_MOVE_GRAIN / (int64_t)job->size / (inner / dim) / BLOCK * BLOCK + BLOCK;
    job->pieces = (dim + job->piece - 1) / job->piece;
}

/* How many outer dims are walked: all but a line, or but a tile when the source runs along another
 * dim than the destination; that dim is moved to the last but one place. */
static int outer_dims(pdm_box *b)
{
    const int last = b->rank - 1;

    if (last < 1 || b->to[last] != 1 || b->from[last] == 1)
        return last < 0 ? 0 : last;
    for (int i = 0; i < last; i++) {
        if (b->from[i] != 1)
            continue;
        const int64_t dim = b->dims[i], to = b->to[i], from = b->from[i];
        for (int j = i; j < last - 1; j++) {
            b->dims[j] = b->dims[j + 1];
            b->to[j] = b->to[j + 1];
            b->from[j] = b->from[j + 1];
        }
        b->dims[last - 1] = dim;
        b->to[last - 1] = to;
        b->from[last - 1] = from;
        return last - 1;
    }
    return last;
}

void pdm_box_copy(pdm_k *k, const pdm_box *box, size_t size, void *to, const void *from)
{
    pdm_box simple = *box;
    box_job job = {.box = &simple, .size = size, .to = to, .from = from};

    if (!simplify(&simple))
        return;
    job.outer = outer_dims(&simple);
    const int64_t inner = pdm_k_product(simple.dims, job.outer, simple.rank);
    cut_in_pieces(&job, inner);
    const int64_t grain = PDM_MOVE_GRAIN * job.pieces / (inner * (int64_t)size);
    pdm_k_parallel(k, pdm_k_product(simple.dims, 0, job.outer) * job.pieces, grain < 1 ? 1 : grain,
                   copy_part, &job);
}

void pdm_dense_strides(int rank, const int64_t *dims, int64_t *strides)
{
    int64_t n = 1;

    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = n;
        n *= dims[i];
    }
}

#define PICK(bytes, suffix, type, acc, load, store, ...)                                           \
    static void pick_##suffix(void *to, const void *from, const int64_t *index, int64_t n)         \
    {                                                                                              \
        type *t = to;                                                                              \
        const type *f = from;                                                                      \
        for (int64_t i = 0; i < n; i++)                                                            \
            t[i] = f[index[i]];                                                                    \
    }
PDM_K_SIZES(PICK)

void pdm_elements_copy(size_t size, int64_t n, void *to, const void *from, const int64_t *index)
{
    switch (size) {
        PDM_K_SIZES(CALL, pick, to, from, index, n)
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(pdm_at(to, i, size), pdm_at(from, index[i], size), size);
    }
}

typedef struct rows_job {
    size_t bytes;
    int64_t dim, n;
    void *out;
    const void *x;
    const int64_t *index;
} rows_job;

/* Rows [begin, end) of the result, group by group. */
static void rows_part(void *arg, int64_t begin, int64_t end)
{
    const rows_job *job = arg;

    while (begin < end) {
        const int64_t group = begin / job->n, j = begin % job->n;
        const int64_t n = job->n - j < end - begin ? job->n - j : end - begin;
        pdm_elements_copy(job->bytes, n, pdm_at(job->out, begin, job->bytes),
                          pdm_at(job->x, group * job->dim, job->bytes), job->index + j);
        begin += n;
    }
}

void pdm_rows_copy(pdm_k *k, size_t bytes, int64_t outer, int64_t dim, int64_t n, void *out,
                   const void *x, const int64_t *index)
{
    rows_job job = {bytes, dim, n, out, x, index};

    if (bytes == 0 || n == 0)
        return;
    pdm_k_parallel(k, outer * n, 1 + PDM_MOVE_GRAIN / (int64_t)bytes, rows_part, &job);
}

pdm_status pdm_take(pdm_k *k, const pdm_tensor *x, int axis, const int64_t *index, int64_t n)
{
    int64_t dims[PDM_MAX_RANK];

    if (!PDM_K_OK(k))
        return k->status;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = n;
    void *out = pdm_k_out(k, 0, x->dtype, x->rank, dims);
    const size_t size = pdm_dtype_size(x->dtype);
    if (!out)
        return k->status;
    pdm_rows_copy(k, (size_t)pdm_k_product(x->dims, axis + 1, x->rank) * size,
                  pdm_k_product(x->dims, 0, axis), x->dims[axis], n, out, x->data, index);
    pdm_k_share_lod(k, 0, x);
    return k->status;
}

void *pdm_k_out_copy(pdm_k *k, const pdm_tensor *x)
{
    void *out = x ? pdm_k_out_like(k, 0, x) : NULL;

    if (out)
        memcpy(out, x->data, pdm_tensor_bytes(x));
    return out;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

bool pdm_shape_rank(pdm_k *k, size_t rank)
{
    if (rank > PDM_MAX_RANK)
        pdm_k_fail(k, "the result would have %zu dimensions", rank);
    return PDM_K_OK(k);
}

bool pdm_shape_broadcast(pdm_k *k, int rank, const int64_t *dims, int *out_rank, int64_t *out_dims)
{
    int64_t joined[PDM_MAX_RANK];
    const int n = rank > *out_rank ? rank : *out_rank;

    for (int i = 0; i < n; i++) {
        const int ai = i - (n - *out_rank), bi = i - (n - rank);
        const int64_t a = ai < 0 ? 1 : out_dims[ai], b = bi < 0 ? 1 : dims[bi];
        if (a != b && a != 1 && b != 1) {
            pdm_k_fail(k, "shapes cannot be broadcast: %lld and %lld do not fit", (long long)a,
                       (long long)b);
            return false;
        }
        joined[i] = a == 1 ? b : a;
    }
    *out_rank = n;
    memcpy(out_dims, joined, (size_t)n * sizeof *joined);
    return true;
}

void pdm_shape_strides(const pdm_tensor *t, int rank, const int64_t *dims, int64_t *strides)
{
    int64_t n = 1;

    for (int i = rank - 1; i >= 0; i--) {
        const int ti = i - (rank - t->rank);
        const int64_t dim = ti < 0 ? 1 : t->dims[ti];
        strides[i] = dim == dims[i] && dim != 1 ? n : 0;
        n *= dim;
    }
}

int64_t pdm_shape_count(pdm_k *k, int rank, const int64_t *dims)
{
    uint64_t count;

    if (pdm_count_elements(dims, (size_t)rank, &count))
        return (int64_t)count;
    pdm_k_fail(k, "a shape has a negative dimension, or too many elements");
    return -1;
}

bool pdm_shape_axes(pdm_k *k, const int64_t *axes, size_t n, int rank, int *out)
{
    for (size_t i = 0; PDM_K_OK(k) && i < n; i++)
        out[i] = pdm_k_axis(k, axes[i], rank);
    return PDM_K_OK(k);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

void pdm_slice_limits(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *first,
                      int64_t *count)
{
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;

    start = clamp(start < 0 ? start + dim : start, low, high);
    end = clamp(end < 0 ? end + dim : end, low, high);
    const uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    const int64_t span = step > 0 ? end - start : start - end;
    *count = span <= 0 ? 0 : (int64_t)((uint64_t)(span - 1) / stride) + 1;
    *first = *count ? start : 0;
}

void pdm_drop_lod(pdm_k *k, size_t index)
{
    pdm_k_share_lod(k, index, &(pdm_tensor){0});
}

void pdm_share_lod_at(pdm_k *k, size_t element, const pdm_tensor *from)
{
    pdm_value *out = pdm_k_out_value(k, 0);

    if (out && out->kind == PDM_VALUE_LIST)
        out = element < out->list.count ? out->list.items[element] : NULL;
    if (out && out->kind == PDM_VALUE_TENSOR)
        pdm_tensor_share_lod(&out->tensor, from);
}

void pdm_keep_lod_of_rows(pdm_k *k, size_t index, const pdm_tensor *from)
{
    const pdm_tensor *out = pdm_k_out_tensor(k, index);

    if (!out || !PDM_K_OK(k))
        return;
    if (out->rank > 0 && from->rank > 0 && out->dims[0] == from->dims[0])
        pdm_k_share_lod(k, index, from);
    else
        pdm_drop_lod(k, index);
}

pdm_status pdm_share_reshaped(pdm_k *k, const pdm_tensor *x, int rank, const int64_t *dims,
                              bool rows)
{
    if (!PDM_K_OK(k) || !pdm_k_wants(k, 0))
        return k->status;
    pdm_k_share(k, 0, x, rank, dims);
    if (rows)
        pdm_keep_lod_of_rows(k, 0, x);
    return k->status;
}

/* ---- indices --------------------------------------------------------------------------------- */

int64_t *pdm_indices(pdm_k *k, const pdm_tensor *t, int64_t limit, bool wrap)
{
    if (!t || !PDM_K_OK(k))
        return NULL;
    if (t->dtype != PDM_I32 && t->dtype != PDM_I64) {
        pdm_k_fail(k, "indices are of type %s, not int32 or int64", pdm_dtype_name(t->dtype));
        return NULL;
    }
    const int64_t n = pdm_tensor_count(t);
    int64_t *out = malloc(n > 0 ? (size_t)n * sizeof *out : 1);
    if (!out) {
        pdm_k_nomem(k);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t given =
            t->dtype == PDM_I32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
        out[i] = wrap && given < 0 ? given + limit : given;
        if (out[i] < 0 || out[i] >= limit) {
            pdm_k_fail(k, "index %lld is outside of a dimension of %lld", (long long)given,
                       (long long)limit);
            free(out);
            return NULL;
        }
    }
    return out;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

#define ADD(code, suffix, type, acc, load, store, ...)                                             \
    static void add_##suffix(void *to, const void *from, int64_t n)                                \
    {                                                                                              \
        type *t = to;                                                                              \
        const type *f = from;                                                                      \
        for (int64_t i = 0; i < n; i++)                                                            \
            t[i] = (type)store((acc)(load(t[i]) + load(f[i])));                                    \
    }
PDM_K_ALL(ADD)

void pdm_add_elements(pdm_k *k, pdm_dtype dtype, void *to, const void *from, int64_t n)
{
    PDM_K_DISPATCH(k, dtype, PDM_K_ALL, add, to, from, n);
}

static pdm_tensor over(pdm_element *e, pdm_dtype dtype)
{
    return (pdm_tensor){.dtype = dtype, .data = e->bytes};
}

pdm_element pdm_element_of_double(double value, pdm_dtype dtype)
{
    pdm_element e = {0};
    pdm_tensor t = over(&e, dtype);

    pdm_set_double(&t, 0, value);
    return e;
}

/* The imaginary part of an element whose real part is set. */
static void set_imaginary(pdm_element *e, pdm_dtype dtype, double value)
{
    const float narrow = (float)value;

    if (dtype == PDM_C64)
        memcpy(e->bytes + sizeof narrow, &narrow, sizeof narrow);
    else if (dtype == PDM_C128)
        memcpy(e->bytes + sizeof value, &value, sizeof value);
}

pdm_element pdm_element_of_attr(pdm_k *k, pdm_ir_attr attr, pdm_dtype dtype)
{
    pdm_element e = {0};
    pdm_tensor t = over(&e, dtype);
    pdm_dtype kind = attr ? attr->dtype : PDM_I64;

    if (!attr)
        return e;
    if (attr->kind == PDM_IR_ATTR_F32 || attr->kind == PDM_IR_ATTR_F64)
        kind = PDM_F64;
    else if (attr->kind == PDM_IR_ATTR_C64 || attr->kind == PDM_IR_ATTR_C128)
        kind = PDM_C128;
    else if (attr->kind == PDM_IR_ATTR_BOOL)
        kind = PDM_BOOL;
    else if (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64 ||
             attr->kind == PDM_IR_ATTR_INDEX)
        kind = PDM_I64;
    else if (attr->kind != PDM_IR_ATTR_SCALAR)
        pdm_k_fail(k, "a value is of kind %s, not a number", pdm_ir_attr_kind_name(attr->kind));
    if (kind == PDM_BOOL) {
        pdm_set_int(&t, 0, attr->u.b);
    } else if (pdm_dtype_is_float(kind)) {
        pdm_set_double(&t, 0, attr->u.f);
    } else if (pdm_dtype_is_complex(kind)) {
        pdm_set_double(&t, 0, attr->u.c.re);
        set_imaginary(&e, dtype, attr->u.c.im);
    } else {
        pdm_set_int(&t, 0, attr->u.i);
    }
    return e;
}

pdm_element pdm_element_of(pdm_k *k, const pdm_tensor *from, int64_t i, pdm_dtype dtype)
{
    pdm_element e = {0};
    pdm_tensor t = over(&e, dtype);

    if (i >= pdm_tensor_count(from))
        pdm_k_fail(k, "a value is wanted of an empty tensor");
    else if (from->dtype == dtype)
        memcpy(e.bytes, pdm_at(from->data, i, pdm_dtype_size(dtype)), pdm_dtype_size(dtype));
    else if (pdm_dtype_is_int(from->dtype) || from->dtype == PDM_BOOL)
        pdm_set_int(&t, 0, pdm_get_int(from, i));
    else
        pdm_set_double(&t, 0, pdm_get_double(from, i));
    return e;
}

void pdm_fill_elements(pdm_k *k, void *to, const pdm_element *value, size_t size, int64_t n)
{
    pdm_box box = {0};

    pdm_box_add(&box, n, 1, 0);
    pdm_box_copy(k, &box, size, to, value->bytes);
}

/* ---- random ---------------------------------------------------------------------------------- */

pdm_rng *pdm_random_of(pdm_k *k, pdm_rng *own)
{
    const int64_t seed = pdm_k_int_or(k, "seed", 0);

    if (seed == 0 && k->rng)
        return k->rng;
    pdm_rng_seed(own, (uint64_t)seed);
    return own;
}
