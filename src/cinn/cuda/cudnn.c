#include "cinn/cuda/cudnn.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "cinn/cuda/driver.h"
#include "cinn/cuda/library.h"
#include "cinn/notes.h"

/* What is used of its interface; each function gives 0 when it is done. */
typedef struct handle handle;
typedef struct tensor tensor;
typedef struct filter filter;
typedef struct window window;
enum { DEFAULT_MATH = 0, FMA_MATH = 3, CROSS_CORRELATION = 1, CHANNELS_FIRST = 0 };
/* Sums of products, as they stand: what transforms its operands first is less exact. */
enum { IMPLICIT_GEMM = 0, IMPLICIT_PRECOMP_GEMM = 1, BACKWARD_IN_ORDER = 1 };
enum { MAX_DIMS = 5 };

static struct cudnn {
    int (*create)(handle **out);
    int (*set_stream)(handle *h, void *stream);
    int (*create_tensor)(tensor **out);
    int (*destroy_tensor)(tensor *t);
    int (*set_tensor)(tensor *t, int type, int count, const int *dims, const int *strides);
    int (*create_filter)(filter **out);
    int (*destroy_filter)(filter *f);
    int (*set_filter)(filter *f, int type, int format, int count, const int *dims);
    int (*create_window)(window **out);
    int (*destroy_window)(window *w);
    int (*set_window)(window *w, int count, const int *pads, const int *strides, const int *dilations, int mode,
                      int sums);
    int (*set_groups)(window *w, int groups);
    int (*set_math)(window *w, int math);
    int (*forward_room)(handle *h, const tensor *x, const filter *f, const window *w, const tensor *y, int algorithm,
                        size_t *out);
    int (*forward)(handle *h, const void *alpha, const tensor *x_desc, const void *x, const filter *f_desc,
                   const void *f, const window *w, int algorithm, void *room, size_t bytes, const void *beta,
                   const tensor *y_desc, void *y);
    int (*backward_room)(handle *h, const filter *f, const tensor *dy, const window *w, const tensor *dx,
                         int algorithm, size_t *out);
    int (*backward)(handle *h, const void *alpha, const filter *f_desc, const void *f, const tensor *dy_desc,
                    const void *dy, const window *w, int algorithm, void *room, size_t bytes, const void *beta,
                    const tensor *dx_desc, void *dx);
} cudnn;

static handle *the_handle; /* NULL: there is none */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a handle is for one thread at a time */

static void open_once(void)
{
    static const char *const names[] = {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so", NULL};
    static const pdm_cinn_cuda_symbol symbols[] = {
        {"cudnnCreate", offsetof(struct cudnn, create)},
        {"cudnnSetStream", offsetof(struct cudnn, set_stream)},
        {"cudnnCreateTensorDescriptor", offsetof(struct cudnn, create_tensor)},
        {"cudnnDestroyTensorDescriptor", offsetof(struct cudnn, destroy_tensor)},
        {"cudnnSetTensorNdDescriptor", offsetof(struct cudnn, set_tensor)},
        {"cudnnCreateFilterDescriptor", offsetof(struct cudnn, create_filter)},
        {"cudnnDestroyFilterDescriptor", offsetof(struct cudnn, destroy_filter)},
        {"cudnnSetFilterNdDescriptor", offsetof(struct cudnn, set_filter)},
        {"cudnnCreateConvolutionDescriptor", offsetof(struct cudnn, create_window)},
        {"cudnnDestroyConvolutionDescriptor", offsetof(struct cudnn, destroy_window)},
        {"cudnnSetConvolutionNdDescriptor", offsetof(struct cudnn, set_window)},
        {"cudnnSetConvolutionGroupCount", offsetof(struct cudnn, set_groups)},
        {"cudnnSetConvolutionMathType", offsetof(struct cudnn, set_math)},
        {"cudnnGetConvolutionForwardWorkspaceSize", offsetof(struct cudnn, forward_room)},
        {"cudnnConvolutionForward", offsetof(struct cudnn, forward)},
        {"cudnnGetConvolutionBackwardDataWorkspaceSize", offsetof(struct cudnn, backward_room)},
        {"cudnnConvolutionBackwardData", offsetof(struct cudnn, backward)},
    };
    char reason[400];
    void *stream = pdm_cinn_cuda_stream();

    if (!stream)
        return;
    if (!pdm_cinn_cuda_open("PDM_CUDNN", names, symbols, sizeof symbols / sizeof *symbols, &cudnn, reason,
                            sizeof reason)) {
        pdm_cinn_note(PDM_CINN_NOTE_LIBRARY, "convolutions are done without cuDNN: %s", reason);
        return;
    }
    int code = cudnn.create(&the_handle);
    if (code == 0)
        code = cudnn.set_stream(the_handle, stream);
    if (code == 0)
        return;
    the_handle = NULL;
    pdm_cinn_note(PDM_CINN_NOTE_LIBRARY, "convolutions are done without cuDNN: it begins with error %d", code);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

typedef struct call {
    tensor *x, *out;
    filter *f;
    window *w;
} call;

static void call_deinit(call *c)
{
    if (c->x)
        cudnn.destroy_tensor(c->x);
    if (c->out)
        cudnn.destroy_tensor(c->out);
    if (c->f)
        cudnn.destroy_filter(c->f);
    if (c->w)
        cudnn.destroy_window(c->w);
}

/* Fewer than two spatial dims it does not have: there are ones before them. */
static int num_dims(const pdm_cinn_conv *c)
{
    return c->in[0] == 1 && c->kernel[0] == 1 && c->out_size[0] == 1 ? 4 : 5;
}

static int set_tensor(tensor *t, int type, int count, int64_t batch, int64_t channels, const int64_t *sizes)
{
    int dims[MAX_DIMS] = {(int)batch, (int)channels}, strides[MAX_DIMS];

    for (int i = 2; i < count; i++)
        dims[i] = (int)sizes[3 - count + i];
    for (int i = count - 1, stride = 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i]; /* of whole tensors, which are below INT_MAX */
    }
    return cudnn.set_tensor(t, type, count, dims, strides);
}

static int set_filter(filter *f, int type, int count, const pdm_cinn_conv *c)
{
    int dims[MAX_DIMS] = {(int)(c->transposed ? c->in_channels : c->out_channels),
                          (int)((c->transposed ? c->out_channels : c->in_channels) / c->groups)};

    for (int i = 2; i < count; i++)
        dims[i] = (int)c->kernel[3 - count + i];
    return cudnn.set_filter(f, type, CHANNELS_FIRST, count, dims);
}

static int set_window(window *w, int sums, int count, const pdm_cinn_conv *c)
{
    int pads[3], strides[3], dilations[3];

    for (int i = 0; i < count - 2; i++) {
        const int d = 5 - count + i;
        pads[i] = (int)c->pad[d];
        strides[i] = (int)c->stride[d];
        dilations[i] = (int)c->dilation[d];
    }
    int code = cudnn.set_window(w, count - 2, pads, strides, dilations, CROSS_CORRELATION, sums);
    if (code == 0)
        code = cudnn.set_groups(w, (int)c->groups);
    if (code == 0) /* float32 is not rounded to fewer bits on the way */
        code = cudnn.set_math(w, c->dtype == PDM_F32 ? FMA_MATH : DEFAULT_MATH);
    return code;
}

static int describe(const pdm_cinn_conv *c, int type, call *out)
{
    const int count = num_dims(c), sums = c->dtype == PDM_F64 ? 1 : 0;
    int code = cudnn.create_tensor(&out->x);

    if (code == 0)
        code = cudnn.create_tensor(&out->out);
    if (code == 0)
        code = cudnn.create_filter(&out->f);
    if (code == 0)
        code = cudnn.create_window(&out->w);
    if (code == 0)
        code = set_tensor(out->x, type, count, c->batch, c->in_channels, c->in);
    if (code == 0)
        code = set_tensor(out->out, type, count, c->batch, c->out_channels, c->out_size);
    if (code == 0)
        code = set_filter(out->f, type, count, c);
    return code == 0 ? set_window(out->w, sums, count, c) : code;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int room_of(const call *d, bool transposed, int algorithm, size_t *out)
{
    return transposed ? cudnn.backward_room(the_handle, d->f, d->x, d->w, d->out, algorithm, out)
                      : cudnn.forward_room(the_handle, d->x, d->f, d->w, d->out, algorithm, out);
}

/* What it uses meanwhile goes back to our pool, which gives it to what comes later in the stream. */
static pdm_status run(const pdm_cinn_conv *c, const call *d, int algorithm, int *out_code)
{
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const void *alpha = c->dtype == PDM_F64 ? (const void *)&wide_one : &one;
    const void *beta = c->dtype == PDM_F64 ? (const void *)&wide_zero : &zero;
    size_t bytes = 0;
    void *room = NULL;

    *out_code = room_of(d, c->transposed, algorithm, &bytes);
    if (*out_code != 0)
        return PDM_OK;
    if (bytes > 0)
        PDM_TRY(pdm_cinn_cuda_alloc(bytes, &room));
    *out_code = c->transposed ? cudnn.backward(the_handle, alpha, d->f, c->filter, d->x, c->x, d->w, algorithm, room,
                                               bytes, beta, d->out, c->out)
                              : cudnn.forward(the_handle, alpha, d->x, c->x, d->f, c->filter, d->w, algorithm, room,
                                              bytes, beta, d->out, c->out);
    pdm_cinn_cuda_free(room, bytes);
    return PDM_OK;
}

static pdm_status convolve(const pdm_cinn_conv *c, int type)
{
    call d = {0};
    int code = describe(c, type, &d);
    pdm_status status = PDM_OK;

    if (code == 0) {
        status = run(c, &d, c->transposed ? BACKWARD_IN_ORDER : IMPLICIT_PRECOMP_GEMM, &code);
        if (!c->transposed && (status == PDM_NOMEM || (status == PDM_OK && code != 0))) /* needs next to no room */
            status = run(c, &d, IMPLICIT_GEMM, &code);
    }
    call_deinit(&d);
    return status == PDM_OK && code != 0 ? PDM_UNSUPPORTED : status;
}

static bool fits(const pdm_cinn_conv *c)
{
    int64_t in = 1, out = 1;

    for (int d = 0; d < 3; d++) {
        if (c->pad[d] < 0)
            return false;
        if (__builtin_mul_overflow(in, c->in[d], &in) || __builtin_mul_overflow(out, c->out_size[d], &out))
            return false;
    }
    return !__builtin_mul_overflow(in, c->in_channels, &in) && !__builtin_mul_overflow(in, c->batch, &in) &&
           !__builtin_mul_overflow(out, c->out_channels, &out) && !__builtin_mul_overflow(out, c->batch, &out) &&
           in < INT_MAX && out < INT_MAX;
}

pdm_status pdm_cinn_cudnn_conv(const pdm_cinn_conv *c)
{
    const int type = c->dtype == PDM_F32 ? 0 : c->dtype == PDM_F64 ? 1 : c->dtype == PDM_F16 ? 2 : -1;

    if (type < 0 || !fits(c))
        return PDM_UNSUPPORTED;
    pthread_once(&once, open_once);
    if (!the_handle || !pdm_cinn_cuda_stream())
        return PDM_UNSUPPORTED;
    pthread_mutex_lock(&lock);
    const pdm_status status = convolve(c, type);
    pthread_mutex_unlock(&lock);
    return status;
}
