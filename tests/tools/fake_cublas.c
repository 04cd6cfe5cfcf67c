/*
 * cuBLAS and cuDNN without a GPU, for tests, beside fake_cuda.c: PDM_CUBLAS and PDM_CUDNN name the same library. Plain
 * loops on the memory of the device that stands in. Stricter than they are: steps between rows, sizes of memory, streams,
 * descriptors that were not set, shapes that do not follow from each other, and float32 that would be rounded are told,
 * and the call fails.
 */
#include <stdlib.h>
#include <string.h>

#include "base/tensor.h"
#include "fake_cuda.h"

enum { INVALID_VALUE = 7, NOT_SUPPORTED = 15, BAD_PARAM = 2000 };

/* ---- elements -------------------------------------------------------------------------------- */

typedef enum type { F32, F64, F16, BF16 } type;

static size_t size_of(type t)
{
    return t == F64 ? 8 : t == F32 ? 4 : 2;
}

static double get(const void *data, type t, int64_t i)
{
    switch (t) {
    case F64:
        return ((const double *)data)[i];
    case F32:
        return (double)((const float *)data)[i];
    case F16:
        return (double)pdm_f16_to_float(((const uint16_t *)data)[i]);
    case BF16:
        return (double)pdm_bf16_to_float(((const uint16_t *)data)[i]);
    }
    return 0;
}

static void put(void *data, type t, int64_t i, double value)
{
    if (t == F64)
        ((double *)data)[i] = value;
    else if (t == F32)
        ((float *)data)[i] = (float)value;
    else
        ((uint16_t *)data)[i] = t == F16 ? pdm_float_to_f16((float)value) : pdm_float_to_bf16((float)value);
}

/* A sum as wide as the library makes it. */
static double add(type t, double sum, double a, double b)
{
    return t == F64 ? sum + a * b : (double)((float)sum + (float)(a * b));
}

/* ---- cuBLAS ---------------------------------------------------------------------------------- */

static const char blas_magic[] = "blas", dnn_magic[] = "dnn";

typedef struct handle {
    const char *magic;
    const void *stream;
} handle;

static int create(const char *magic, handle **out)
{
    handle *h = calloc(1, sizeof *h);

    if (!h)
        return 3;
    h->magic = magic;
    *out = h;
    return 0;
}

API int cublasCreate_v2(handle **out)
{
    return fake_fails("cublasCreate") ? 1 : create(blas_magic, out);
}

API int cublasSetStream_v2(handle *h, const void *stream)
{
    if (h->magic != blas_magic || !fake_may_call("cublasSetStream", stream) || fake_fails("cublasSetStream"))
        return INVALID_VALUE;
    h->stream = stream;
    return 0;
}

static bool blas_types(int given, int sums, type *out)
{
    *out = given == 1 ? F64 : given == 0 ? F32 : given == 2 ? F16 : BF16;
    /* Exact float32, halves summed up as float32. */
    return (given == 1 && sums == 71) || (given == 0 && sums == 69) || ((given == 2 || given == 14) && sums == 68);
}

/* Elements from the first to the last of a batch of matrices of so many columns. */
static uint64_t extent_of(int64_t length, int64_t columns, int64_t step, int64_t stride, int64_t batch)
{
    return (uint64_t)((batch - 1) * stride + (columns - 1) * step + length);
}

API int cublasGemmStridedBatchedEx(handle *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                                   int a_type, int a_step, long long a_stride, const void *b, int b_type, int b_step,
                                   long long b_stride, const void *beta, void *c, int c_type, int c_step,
                                   long long c_stride, int batch, int sums, int algorithm)
{
    type t;

    if (h->magic != blas_magic || !fake_may_call("cublasGemmStridedBatchedEx", h->stream))
        return 1;
    if (fake_fails("cublasGemmStridedBatchedEx"))
        return 13;
    if (a_type != b_type || a_type != c_type || !blas_types(a_type, sums, &t) || algorithm != -1)
        return fake_wrong(NOT_SUPPORTED, "a product of types %d with sums %d", a_type, sums);
    const int a_rows = op_a ? k : m, b_rows = op_b ? n : k;
    if (m < 1 || n < 1 || k < 1 || batch < 1 || op_a < 0 || op_a > 1 || op_b < 0 || op_b > 1 || a_step < a_rows ||
        b_step < b_rows || c_step < m || a_stride < 0 || b_stride < 0 || (batch > 1 && c_stride < (long long)c_step * (n - 1) + m))
        return fake_wrong(INVALID_VALUE, "a product of %d x %d x %d with steps %d, %d, %d", m, n, k, a_step, b_step, c_step);
    const size_t size = size_of(t);
    const double by = t == F64 ? *(const double *)alpha : (double)*(const float *)alpha;
    const double keep = t == F64 ? *(const double *)beta : (double)*(const float *)beta;
    const void *x = fake_memory("a", a, size * extent_of(a_rows, op_a ? m : k, a_step, a_stride, batch));
    const void *y = fake_memory("b", b, size * extent_of(b_rows, op_b ? k : n, b_step, b_stride, batch));
    void *out = fake_memory("c", c, size * extent_of(m, n, c_step, c_stride, batch));
    if (!x || !y || !out || keep != 0)
        return INVALID_VALUE;
    fake_library_calls++;
    for (int64_t g = 0; g < batch; g++) {
        for (int64_t j = 0; j < n; j++) {
            for (int64_t i = 0; i < m; i++) {
                double sum = 0;
                for (int64_t p = 0; p < k; p++)
                    sum = add(t, sum, get(x, t, g * a_stride + (op_a ? i * a_step + p : p * a_step + i)),
                              get(y, t, g * b_stride + (op_b ? p * b_step + j : j * b_step + p)));
                put(out, t, g * c_stride + j * c_step + i, t == F64 ? by * sum : (double)((float)by * (float)sum));
            }
        }
    }
    return 0;
}

/* ---- cuDNN ----------------------------------------------------------------------------------- */

enum { MAX_DIMS = 5 };

/* Of a tensor, a filter or a convolution; count is 0 until it is set. */
typedef struct descriptor {
    char kind;
    type type;
    int count, dims[MAX_DIMS];
    int pads[3], strides[3], dilations[3], groups, math;
} descriptor;

API int cudnnCreate(handle **out)
{
    return fake_fails("cudnnCreate") ? 1001 : create(dnn_magic, out);
}

API int cudnnSetStream(handle *h, const void *stream)
{
    if (h->magic != dnn_magic || !fake_may_call("cudnnSetStream", stream) || fake_fails("cudnnSetStream"))
        return BAD_PARAM;
    h->stream = stream;
    return 0;
}

static int create_descriptor(char kind, descriptor **out)
{
    descriptor *d = fake_fails("cudnnCreateDescriptor") ? NULL : calloc(1, sizeof *d);

    if (!d)
        return 2002;
    d->kind = kind;
    *out = d;
    fake_library_objects++;
    return 0;
}

static int destroy_descriptor(char kind, descriptor *d)
{
    if (d->kind != kind)
        return fake_wrong(BAD_PARAM, "a descriptor of another kind is destroyed");
    d->kind = 0;
    free(d);
    fake_library_objects--;
    return 0;
}

API int cudnnCreateTensorDescriptor(descriptor **out)
{
    return create_descriptor('t', out);
}

API int cudnnDestroyTensorDescriptor(descriptor *d)
{
    return destroy_descriptor('t', d);
}

API int cudnnCreateFilterDescriptor(descriptor **out)
{
    return create_descriptor('f', out);
}

API int cudnnDestroyFilterDescriptor(descriptor *d)
{
    return destroy_descriptor('f', d);
}

API int cudnnCreateConvolutionDescriptor(descriptor **out)
{
    return create_descriptor('c', out);
}

API int cudnnDestroyConvolutionDescriptor(descriptor *d)
{
    return destroy_descriptor('c', d);
}

static int set(descriptor *d, char kind, int given, int count, const int *dims)
{
    if (d->kind != kind || given < 0 || given > 2 || count < 4 || count > MAX_DIMS)
        return fake_wrong(BAD_PARAM, "a descriptor of %d dims of type %d", count, given);
    if (fake_fails("cudnnSetNdDescriptor"))
        return BAD_PARAM;
    d->type = given == 1 ? F64 : given == 0 ? F32 : F16;
    d->count = count;
    for (int i = 0; i < count; i++) {
        if (dims[i] < 1)
            return fake_wrong(BAD_PARAM, "a dim of %d", dims[i]);
        d->dims[i] = dims[i];
    }
    return 0;
}

API int cudnnSetTensorNdDescriptor(descriptor *d, int given, int count, const int *dims, const int *strides)
{
    int stride = 1;

    for (int i = count - 1; i >= 0 && count <= MAX_DIMS; i--) {
        if (strides[i] != stride)
            return fake_wrong(BAD_PARAM, "a tensor that is not dense");
        stride *= dims[i];
    }
    return set(d, 't', given, count, dims);
}

API int cudnnSetFilterNdDescriptor(descriptor *d, int given, int format, int count, const int *dims)
{
    return format == 0 ? set(d, 'f', given, count, dims) : fake_wrong(BAD_PARAM, "a filter of another format");
}

API int cudnnSetConvolutionNdDescriptor(descriptor *d, int count, const int *pads, const int *strides, const int *dilations,
                                        int mode, int sums)
{
    if (d->kind != 'c' || count < 2 || count > 3 || mode != 1 || sums < 0 || sums > 1)
        return fake_wrong(BAD_PARAM, "a convolution of %d dims, mode %d", count, mode);
    for (int i = 0; i < count; i++) {
        if (pads[i] < 0 || strides[i] < 1 || dilations[i] < 1)
            return fake_wrong(BAD_PARAM, "a convolution with padding %d, stride %d, dilation %d", pads[i], strides[i], dilations[i]);
        d->pads[i] = pads[i];
        d->strides[i] = strides[i];
        d->dilations[i] = dilations[i];
    }
    d->count = count;
    d->type = sums == 1 ? F64 : F32;
    d->groups = 1;
    return 0;
}

API int cudnnSetConvolutionGroupCount(descriptor *d, int groups)
{
    d->groups = groups;
    return d->kind == 'c' && d->count && groups > 0 ? 0 : BAD_PARAM;
}

API int cudnnSetConvolutionMathType(descriptor *d, int math)
{
    d->math = math;
    return d->kind == 'c' && d->count && (math == 0 || math == 3) ? 0 : BAD_PARAM;
}

/* y is what x and the filter make; NULL: it is. */
static const char *fault_of(const handle *h, const descriptor *x, const descriptor *f, const descriptor *c,
                            const descriptor *y)
{
    if (h->magic != dnn_magic || x->kind != 't' || f->kind != 'f' || c->kind != 'c' || y->kind != 't')
        return "something of another kind";
    if (!x->count || x->count != f->count || x->count != y->count || x->count != c->count + 2)
        return "descriptors that were not set, or do not fit";
    if (x->type != f->type || x->type != y->type || (c->type == F64) != (x->type == F64))
        return "types that do not fit";
    if (x->type == F32 && c->math != 3)
        return "float32 that may be rounded";
    if (x->dims[0] != y->dims[0] || f->dims[0] != y->dims[1] || f->dims[1] * c->groups != x->dims[1] ||
        f->dims[0] % c->groups != 0)
        return "channels that do not fit";
    for (int i = 0; i < c->count; i++) {
        const int room = x->dims[2 + i] + 2 * c->pads[i] - (c->dilations[i] * (f->dims[2 + i] - 1) + 1);
        if (room < 0 || y->dims[2 + i] != room / c->strides[i] + 1)
            return "a size that does not follow from the others";
    }
    return NULL;
}

static int room_of(const char *fault, size_t *out)
{
    *out = 1000; /* any size */
    if (fault)
        return fake_wrong(BAD_PARAM, "a convolution with %s", fault);
    return fake_fails("cudnnGetConvolutionWorkspaceSize") ? 5000 : 0;
}

API int cudnnGetConvolutionForwardWorkspaceSize(handle *h, const descriptor *x, const descriptor *f, const descriptor *c,
                                                const descriptor *y, int algorithm, size_t *out)
{
    /* As there may be one that does not do a convolution. */
    if (algorithm == 1 && c->groups > 1)
        return 3000;
    return room_of(fault_of(h, x, f, c, y), out);
}

API int cudnnGetConvolutionBackwardDataWorkspaceSize(handle *h, const descriptor *f, const descriptor *dy, const descriptor *c,
                                                     const descriptor *dx, int algorithm, size_t *out)
{
    return algorithm == 1 ? room_of(fault_of(h, dx, f, c, dy), out) : 3000;
}

static uint64_t bytes_of(const descriptor *d)
{
    uint64_t bytes = size_of(d->type);

    for (int i = 0; i < d->count; i++)
        bytes *= (uint64_t)d->dims[i];
    return bytes;
}

typedef struct sizes {
    int64_t x[3], f[3], y[3], pad[3], stride[3], dilation[3];
} sizes;

/* Three spatial dims, of which the first may be 1. */
static sizes sizes_of(const descriptor *x, const descriptor *f, const descriptor *c, const descriptor *y)
{
    sizes s = {.x = {1, 1, 1}, .f = {1, 1, 1}, .y = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};

    for (int i = 0; i < c->count; i++) {
        const int d = 3 - c->count + i;
        s.x[d] = x->dims[2 + i];
        s.f[d] = f->dims[2 + i];
        s.y[d] = y->dims[2 + i];
        s.pad[d] = c->pads[i];
        s.stride[d] = c->strides[i];
        s.dilation[d] = c->dilations[i];
    }
    return s;
}

/* Calls visit for each product of an element of x and one of the filter that goes into an element of y. */
typedef void (*visit_fn)(void *arg, int64_t x, int64_t f, int64_t y);

static void each_term(const descriptor *x, const descriptor *f, const descriptor *c, const descriptor *y, visit_fn visit,
                      void *arg)
{
    const sizes s = sizes_of(x, f, c, y);
    const int64_t places = s.f[0] * s.f[1] * s.f[2], spots = s.y[0] * s.y[1] * s.y[2], out_group = f->dims[0] / c->groups;

    for (int64_t n = 0; n < x->dims[0] * (int64_t)y->dims[1] * spots; n++) {
        const int64_t spot = n % spots, channel = n / spots % y->dims[1], batch = n / spots / y->dims[1];
        for (int64_t k = 0; k < f->dims[1] * places; k++) {
            const int64_t place = k % places, from = k / places;
            const int64_t at[3] = {spot / (s.y[1] * s.y[2]), spot / s.y[2] % s.y[1], spot % s.y[2]};
            const int64_t by[3] = {place / (s.f[1] * s.f[2]), place / s.f[2] % s.f[1], place % s.f[2]};
            int64_t index = batch * x->dims[1] + channel / out_group * f->dims[1] + from;
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                const int64_t i = at[d] * s.stride[d] - s.pad[d] + by[d] * s.dilation[d];
                inside = inside && i >= 0 && i < s.x[d];
                index = index * s.x[d] + i;
            }
            if (inside)
                visit(arg, index, channel * f->dims[1] * places + k, n);
        }
    }
}

typedef struct terms {
    type type;
    const void *x, *f;
    double *sums;
    bool backward;
} terms;

static void take(void *arg, int64_t x, int64_t f, int64_t y)
{
    terms *t = arg;
    const int64_t to = t->backward ? x : y, from = t->backward ? y : x;

    t->sums[to] = add(t->type, t->sums[to], get(t->x, t->type, from), get(t->f, t->type, f));
}

/* from and to are x and y, or y and x. */
static int convolve(handle *h, const descriptor *x, const descriptor *f_desc, const descriptor *c, const descriptor *y,
                    bool backward, const void *from, const void *f, const void *room, size_t bytes, const void *to)
{
    const char *fault = fault_of(h, x, f_desc, c, y);
    const descriptor *in = backward ? y : x, *out = backward ? x : y;

    if (!fake_may_call("a convolution", h->stream))
        return BAD_PARAM;
    if (fault || bytes < 1000)
        return fake_wrong(BAD_PARAM, "a convolution with %s", fault ? fault : "too little room");
    if (fake_fails("cudnnConvolution"))
        return 5000;
    terms t = {.type = x->type, .x = fake_memory("x", from, bytes_of(in)), .f = fake_memory("filter", f, bytes_of(f_desc)),
               .backward = backward};
    void *result = fake_memory("the result", to, bytes_of(out));
    if (!t.x || !t.f || !result || !fake_memory("room", room, bytes))
        return BAD_PARAM;
    const int64_t count = (int64_t)(bytes_of(out) / size_of(out->type));
    t.sums = calloc((size_t)count, sizeof *t.sums);
    if (!t.sums)
        return 2002;
    each_term(x, f_desc, c, y, take, &t);
    for (int64_t i = 0; i < count; i++)
        put(result, out->type, i, t.sums[i]);
    free(t.sums);
    fake_library_calls++;
    return 0;
}

API int cudnnConvolutionForward(handle *h, const void *alpha, const descriptor *x_desc, const void *x, const descriptor *f_desc,
                                const void *f, const descriptor *c, int algorithm, void *room, size_t bytes, const void *beta,
                                const descriptor *y_desc, void *y)
{
    (void)alpha;
    (void)beta;
    return algorithm == 0 || algorithm == 1 ? convolve(h, x_desc, f_desc, c, y_desc, false, x, f, room, bytes, y) : 3000;
}

API int cudnnConvolutionBackwardData(handle *h, const void *alpha, const descriptor *f_desc, const void *f,
                                     const descriptor *dy_desc, const void *dy, const descriptor *c, int algorithm, void *room,
                                     size_t bytes, const void *beta, const descriptor *dx_desc, void *dx)
{
    (void)alpha;
    (void)beta;
    return algorithm == 1 ? convolve(h, dx_desc, f_desc, c, dy_desc, true, dy, f, room, bytes, dx) : 3000;
}
