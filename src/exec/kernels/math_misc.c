/* Ops of several operands that are not plain elementwise pairs. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "exec/kernels/math_impl.h"

/* ---- lerp ------------------------------------------------------------------------------------ */

typedef struct lerp_job {
    pdm_walk walk;
    const void *in[3];
    void *out;
} lerp_job;

#define LERP_LOOP(code, suffix, type, acc, load, store, name)                                      \
    static void lerp_##suffix(void *arg, const int64_t *offsets, int64_t first, int64_t n)         \
    {                                                                                              \
        const lerp_job *job = arg;                                                                 \
        const int last = job->walk.rank - 1;                                                       \
        const type *x = (const type *)job->in[0] + offsets[0];                                     \
        const type *y = (const type *)job->in[1] + offsets[1];                                     \
        const type *w = (const type *)job->in[2] + offsets[2];                                     \
        type *out = (type *)job->out + first;                                                      \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const acc a = load(x[i * job->walk.strides[0][last]]);                                 \
            const acc b = load(y[i * job->walk.strides[1][last]]);                                 \
            out[i] = store(a + load(w[i * job->walk.strides[2][last]]) * (b - a));                 \
        }                                                                                          \
    }                                                                                              \
    static void lerp_all_##suffix(lerp_job *job, int64_t count)                                    \
    {                                                                                              \
        pdm_walk_range(&job->walk, 0, count, lerp_##suffix, job);                                  \
    }
PDM_K_FLOATS(LERP_LOOP, lerp)

pdm_status pdm_kernel_lerp(pdm_k *k)
{
    const pdm_tensor *t[3], *with;
    pdm_tensor pair, shape;
    lerp_job job;

    for (size_t i = 0; i < 3; i++) {
        if (!(t[i] = pdm_k_in(k, i)))
            return k->status;
        if (t[i]->dtype != t[0]->dtype)
            return pdm_k_fail(k, "operands differ in element type");
        job.in[i] = t[i]->data;
    }
    with = &pair;
    if (!pdm_math_broadcast(k, t[0], t[1], &pair) || !pdm_math_broadcast(k, with, t[2], &shape))
        return k->status;
    job.out = pdm_k_out(k, 0, t[0]->dtype, shape.rank, shape.dims);
    if (!job.out)
        return k->status;
    pdm_k_share_lod(k, 0, t[0]);
    const int64_t count = pdm_tensor_count(pdm_k_out_tensor(k, 0));
    if (count == 0)
        return k->status;
    pdm_walk_init(&job.walk, shape.rank, shape.dims, 3, t);
    PDM_K_DISPATCH(k, t[0]->dtype, PDM_K_FLOATS, lerp_all, &job, count);
    return k->status;
}

/* ---- sums of many, choice among many --------------------------------------------------------- */

#define ADD_TO_LOOP(code, suffix, type, acc, load, store, name)                                    \
    static void add_to_##suffix(const void *in, void *out, int64_t n)                              \
    {                                                                                              \
        const type *x = in;                                                                        \
        type *y = out;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = store(load(y[i]) + load(x[i]));                                                 \
    }
#define ADD_INT_LOOP(code, suffix, type, acc, load, store, name)                                   \
    static void add_to_##suffix(const void *in, void *out, int64_t n)                              \
    {                                                                                              \
        const type *x = in;                                                                        \
        type *y = out;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            (void)__builtin_add_overflow(y[i], x[i], &y[i]);                                       \
    }
PDM_K_FLOATS(ADD_TO_LOOP, add_to)
PDM_K_COMPLEXES(ADD_TO_LOOP, add_to)
PDM_K_INTS(ADD_INT_LOOP, add_to)
#define NUMBERS_AND_COMPLEX(X, ...) PDM_K_NUMBERS(X, __VA_ARGS__) PDM_K_COMPLEXES(X, __VA_ARGS__)

pdm_status pdm_kernel_add_n(pdm_k *k)
{
    const size_t count = pdm_k_list_count(k, 0);
    if (count == 0)
        return pdm_k_fail(k, "there is nothing to add");
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0);
    void *out = first ? pdm_k_out_like(k, 0, first) : NULL;
    if (!out)
        return k->status;

    memcpy(out, first->data, pdm_tensor_bytes(first));
    for (size_t i = 1; i < count && PDM_K_OK(k); i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        if (!x)
            break;
        if (pdm_tensor_count(x) != pdm_tensor_count(first) || x->dtype != first->dtype)
            return pdm_k_fail(k, "element %zu differs from the first in size or element type", i);
        PDM_K_DISPATCH(k, first->dtype, NUMBERS_AND_COMPLEX, add_to, x->data, out,
                       pdm_tensor_count(x));
    }
    return k->status;
}

static bool same_as_first(pdm_k *k, size_t count, const pdm_tensor *first)
{
    for (size_t i = 1; i < count; i++) {
        const pdm_tensor *x = pdm_k_list_at(k, 0, i);
        if (!x)
            return false;
        if (!pdm_k_same_dims(x, first) || x->dtype != first->dtype) {
            pdm_k_fail(k, "candidate %zu differs from the first in shape or element type", i);
            return false;
        }
    }
    return true;
}

/* Row i comes from the candidate that index[i] names. */
pdm_status pdm_kernel_multiplex(pdm_k *k)
{
    const pdm_tensor *first = pdm_k_list_at(k, 0, 0), *index = pdm_k_in(k, 1);
    const size_t count = pdm_k_list_count(k, 0);
    if (!first || !index)
        return k->status;
    if (first->rank < 1 || pdm_tensor_count(index) < first->dims[0])
        return pdm_k_fail(k, "an index is needed for each row");
    if (!same_as_first(k, count, first))
        return k->status;
    char *out = pdm_k_out_like(k, 0, first);
    if (!out || first->dims[0] == 0)
        return k->status;
    const size_t row = pdm_tensor_bytes(first) / (size_t)first->dims[0];

    for (int64_t i = 0; i < first->dims[0]; i++) {
        const int64_t which = pdm_get_int(index, i);
        if (which < 0 || (uint64_t)which >= count)
            return pdm_k_fail(k, "index %lld names none of %zu candidates", (long long)which,
                              count);
        const pdm_tensor *x = pdm_k_list_at(k, 0, (size_t)which);
        memcpy(out + (size_t)i * row, (const char *)x->data + (size_t)i * row, row);
    }
    return k->status;
}

/* ---- products of vectors --------------------------------------------------------------------- */

#define DOT_LOOP(code, suffix, type, acc, load, store, name, sum_type)                             \
    static void dot_##suffix(const void *xdata, const void *ydata, void *zdata, int64_t rows,      \
                             int64_t n)                                                            \
    {                                                                                              \
        const type *x = xdata, *y = ydata;                                                         \
        type *z = zdata;                                                                           \
        for (int64_t r = 0; r < rows; r++) {                                                       \
            sum_type sum = 0;                                                                      \
            for (int64_t i = 0; i < n; i++)                                                        \
                sum += (sum_type)load(x[r * n + i]) * (sum_type)load(y[r * n + i]);                \
            z[r] = store((acc)sum);                                                                \
        }                                                                                          \
    }
PDM_K_FLOATS(DOT_LOOP, dot, double)
PDM_K_INTS(DOT_LOOP, dot, uint64_t)
PDM_K_COMPLEXES(DOT_LOOP, dot, double complex)

pdm_status pdm_kernel_dot(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    if (!x || !y)
        return k->status;
    if (x->rank < 1 || x->rank > 2 || !pdm_k_same_dims(x, y) || x->dtype != y->dtype)
        return pdm_k_fail(k, "two vectors, or two lists of vectors, of one shape and type needed");
    void *out = pdm_k_out(k, 0, x->dtype, x->rank - 1, x->dims);
    const int64_t rows = x->rank == 2 ? x->dims[0] : 1;

    if (out)
        PDM_K_DISPATCH(k, x->dtype, NUMBERS_AND_COMPLEX, dot, x->data, y->data, out, rows,
                       x->dims[x->rank - 1]);
    return k->status;
}

#define CROSS_LOOP(code, suffix, type, acc, load, store, name, mid)                                \
    static void cross_##suffix(const void *xdata, const void *ydata, void *zdata, int64_t outer,   \
                               int64_t inner)                                                      \
    {                                                                                              \
        typedef acc A;                                                                             \
        const type *x = xdata, *y = ydata;                                                         \
        type *z = zdata;                                                                           \
        for (int64_t i = 0; i < outer * 3 * inner; i++) {                                          \
            const int64_t at = i / inner % 3, base = i - at * inner;                               \
            const int64_t p = base + (at + 1) % 3 * inner, q = base + (at + 2) % 3 * inner;        \
            z[i] =                                                                                 \
                store((A)((mid)load(x[p]) * (mid)load(y[q]) - (mid)load(x[q]) * (mid)load(y[p]))); \
        }                                                                                          \
    }
PDM_K_FLOATS(CROSS_LOOP, cross, A)
PDM_K_INTS(CROSS_LOOP, cross, uint64_t)
PDM_K_COMPLEXES(CROSS_LOOP, cross, A)

#define CROSS_ANY_AXIS 9 /* the first dimension of size 3 */

static int cross_axis(pdm_k *k, const pdm_tensor *x)
{
    const int64_t axis = pdm_k_int_or(k, "axis", pdm_k_int_or(k, "dim", CROSS_ANY_AXIS));

    if (axis != CROSS_ANY_AXIS)
        return pdm_k_axis(k, axis, x->rank);
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == 3)
            return i;
    }
    pdm_k_fail(k, "no dimension of size 3");
    return 0;
}

pdm_status pdm_kernel_cross(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    if (!x || !y)
        return k->status;
    if (!pdm_k_same_dims(x, y) || x->dtype != y->dtype)
        return pdm_k_fail(k, "operands differ in shape or element type");
    const int axis = cross_axis(k, x);
    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank == 0 || x->dims[axis] != 3)
        return pdm_k_fail(k, "dimension %d must be 3", axis);
    void *out = pdm_k_out_like(k, 0, x);

    if (out && pdm_tensor_count(x) > 0)
        PDM_K_DISPATCH(k, x->dtype, NUMBERS_AND_COMPLEX, cross, x->data, y->data, out,
                       pdm_k_product(x->dims, 0, axis), pdm_k_product(x->dims, axis + 1, x->rank));
    return k->status;
}

/* ---- Kronecker product ----------------------------------------------------------------------- */

typedef struct kron_job {
    int rank;
    int64_t x_dims[PDM_MAX_RANK], y_dims[PDM_MAX_RANK], dims[PDM_MAX_RANK];
} kron_job;

/* Elements of x and y that make element i. */
static void kron_places(const kron_job *job, int64_t i, int64_t *x, int64_t *y)
{
    int64_t x_stride = 1, y_stride = 1;

    *x = *y = 0;
    for (int d = job->rank - 1; d >= 0; d--) {
        const int64_t at = i % job->dims[d];
        i /= job->dims[d];
        *x += at / job->y_dims[d] * x_stride;
        *y += at % job->y_dims[d] * y_stride;
        x_stride *= job->x_dims[d];
        y_stride *= job->y_dims[d];
    }
}

#define KRON_LOOP(code, suffix, type, acc, load, store, name, mid)                                 \
    static void kron_##suffix(const kron_job *job, const void *x, const void *y, void *z,          \
                              int64_t n)                                                           \
    {                                                                                              \
        typedef acc A;                                                                             \
        for (int64_t i = 0, a, b; i < n; i++) {                                                    \
            kron_places(job, i, &a, &b);                                                           \
            ((type *)z)[i] =                                                                       \
                store((A)((mid)load(((const type *)x)[a]) * (mid)load(((const type *)y)[b])));     \
        }                                                                                          \
    }
PDM_K_FLOATS(KRON_LOOP, kron, A)
PDM_K_INTS(KRON_LOOP, kron, uint64_t)
PDM_K_COMPLEXES(KRON_LOOP, kron, A)

pdm_status pdm_kernel_kron(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    kron_job job;
    if (!x || !y)
        return k->status;
    if (x->dtype != y->dtype)
        return pdm_k_fail(k, "operands differ in element type");
    job.rank = x->rank > y->rank ? x->rank : y->rank;
    for (int d = 0; d < job.rank; d++) {
        const int i = d - (job.rank - x->rank), j = d - (job.rank - y->rank);
        job.x_dims[d] = i >= 0 ? x->dims[i] : 1;
        job.y_dims[d] = j >= 0 ? y->dims[j] : 1;
        if (__builtin_mul_overflow(job.x_dims[d], job.y_dims[d], &job.dims[d]))
            return pdm_k_fail(k, "the result is too large");
    }
    void *out = pdm_k_out(k, 0, x->dtype, job.rank, job.dims);

    if (out)
        PDM_K_DISPATCH(k, x->dtype, NUMBERS_AND_COMPLEX, kron, &job, x->data, y->data, out,
                       pdm_tensor_count(pdm_k_out_tensor(k, 0)));
    return k->status;
}

/* ---- distance -------------------------------------------------------------------------------- */

typedef struct dist_job {
    pdm_walk walk;
    const double *x, *y;
    double p, sum;
} dist_job;

static void dist_run(void *arg, const int64_t *offsets, int64_t first, int64_t n)
{
    dist_job *job = arg;
    const int last = job->walk.rank - 1;

    for (int64_t i = 0; i < n; i++) {
        const double d = fabs(job->x[offsets[0] + i * job->walk.strides[0][last]] -
                              job->y[offsets[1] + i * job->walk.strides[1][last]]);
        if (job->p == 0)
            job->sum += d != 0;
        else if (!isinf(job->p))
            job->sum += job->p == 2 ? d * d : job->p == 1 ? d : pow(d, job->p);
        else if ((first == 0 && i == 0) || (job->p > 0 ? d > job->sum : d < job->sum) || isnan(d))
            job->sum = d;
    }
}

static void dist_of(pdm_k *k, const pdm_tensor *x, const pdm_tensor *y, pdm_dtype dtype)
{
    pdm_tensor shape;
    int64_t count = 1;
    dist_job job = {.x = x->data, .y = y->data, .p = pdm_k_float_or(k, "p", 2)};

    if (!pdm_math_broadcast(k, x, y, &shape))
        return;
    for (int i = 0; i < shape.rank; i++) {
        if (__builtin_mul_overflow(count, shape.dims[i], &count)) {
            pdm_k_fail(k, "the broadcast shape is too large");
            return;
        }
    }
    if (!pdm_k_out(k, 0, dtype, 0, NULL))
        return;
    if (count > 0) {
        pdm_walk_init(&job.walk, shape.rank, shape.dims, 2, (const pdm_tensor *[]){x, y});
        pdm_walk_range(&job.walk, 0, count, dist_run, &job);
    }
    const bool root = job.p != 0 && !isinf(job.p);
    pdm_set_double(pdm_k_out_tensor(k, 0), 0, root ? pow(job.sum, 1 / job.p) : job.sum);
}

pdm_status pdm_kernel_dist(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    pdm_tensor x_temp, y_temp;
    if (!x || !y)
        return k->status;
    const pdm_dtype dtype = x->dtype;
    if (!pdm_dtype_is_float(dtype))
        return pdm_k_unsupported_dtype(k, dtype);

    pdm_tensor_init(&x_temp);
    pdm_tensor_init(&y_temp);
    x = pdm_math_as(k, x, PDM_F64, &x_temp);
    y = pdm_math_as(k, y, PDM_F64, &y_temp);
    if (x && y)
        dist_of(k, x, y, dtype);
    pdm_tensor_deinit(&x_temp);
    pdm_tensor_deinit(&y_temp);
    return k->status;
}

/* ---- check_numerics ------------------------------------------------------------------------- */

typedef struct numbers {
    int64_t nans, infs, zeros;
    double most, least, sum; /* the first two as comparisons with the first element fall */
} numbers;

static numbers numbers_of(const pdm_tensor *x)
{
    const int64_t count = pdm_tensor_count(x);
    numbers n = {0};

    for (int64_t i = 0; i < count; i++) {
        const double v = pdm_get_double(x, i);
        n.nans += isnan(v) != 0;
        n.infs += isinf(v) != 0;
        n.zeros += v == 0;
        n.most = i == 0 || v > n.most ? v : n.most;
        n.least = i == 0 || v < n.least ? v : n.least;
        n.sum += v;
    }
    return n;
}

static void tell_numbers(pdm_k *k, const char *op, const char *name, const numbers *n)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_buf_printf(&buf, "op %s, tensor %s: %lld NaN, %lld infinite, %lld zero, from ", op, name,
                   (long long)n->nans, (long long)n->infs, (long long)n->zeros);
    pdm_buf_double(&buf, n->least);
    pdm_buf_puts(&buf, " to ");
    pdm_buf_double(&buf, n->most);
    pdm_buf_putc(&buf, '\n');
    if (k->print && pdm_buf_ok(&buf))
        k->print(k->print_self, buf.data);
    pdm_buf_deinit(&buf);
}

/* NaN and infinities are an error at level 0; from level 3 on all tensors are told. */
pdm_status pdm_kernel_check_numerics(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const char *op = pdm_k_has_attr(k, "op_type") ? pdm_k_str(k, "op_type") : "";
    const char *name = pdm_k_has_attr(k, "var_name") ? pdm_k_str(k, "var_name") : "";
    const int64_t level = pdm_k_int_or(k, "check_nan_inf_level", 0), three[1] = {3};

    if (!x)
        return k->status;
    if (!pdm_dtype_is_float(x->dtype))
        return pdm_k_unsupported_dtype(k, x->dtype);
    const numbers n = numbers_of(x);
    const int64_t count = pdm_tensor_count(x);
    if (n.nans || n.infs || level >= 3)
        tell_numbers(k, op, name, &n);
    if ((n.nans || n.infs) && level == 0)
        return pdm_k_fail(k, "op %s, tensor %s: %lld NaN and %lld infinite values", op, name,
                          (long long)n.nans, (long long)n.infs);
    int64_t *stats = pdm_k_wants(k, 0) ? pdm_k_out(k, 0, PDM_I64, 1, three) : NULL;
    float *values = pdm_k_wants(k, 1) ? pdm_k_out(k, 1, PDM_F32, 1, three) : NULL;
    if (stats)
        memcpy(stats, (const int64_t[]){n.nans, n.infs, n.zeros}, 3 * sizeof *stats);
    if (values) {
        values[0] = (float)n.most;
        values[1] = (float)n.least;
        values[2] = count > 0 ? (float)(n.sum / (double)count) : 0;
    }
    return k->status;
}
