/*
 * What the kernels of nn, loss and fused share.
 *
 * They calculate in double whatever the element type: operands are read by runs of doubles and
 * results written by runs, so halves, float32 and float64 need no code of their own. Products of
 * float32 matrices, on which all else builds, are rounded as the framework rounds them.
 */
#ifndef PDM_EXEC_KERNELS_NN_IMPL_H
#define PDM_EXEC_KERNELS_NN_IMPL_H

#include "exec/kernels/dispatch.h"

/* Elements below which a loop is not split among threads. */
#define PDM_NN_GRAIN 4096
/* Elements of a run that is worked on at a time. */
#define PDM_NN_RUN 256

/* Elements first, first + stride, ... as doubles (halves converted, bool 0 or 1), and back. */
void pdm_nn_load(const pdm_tensor *tensor, int64_t first, int64_t stride, int64_t n, double *to);
void pdm_nn_store(pdm_tensor *tensor, int64_t first, int64_t stride, int64_t n, const double *from);

/* Fails the call unless the tensor has floats; NULL fails it as well (it has failed then). */
bool pdm_nn_floats(pdm_k *k, const pdm_tensor *tensor);
/* Fails the call unless an optional tensor has that many elements. */
bool pdm_nn_count_is(pdm_k *k, const pdm_tensor *tensor, int64_t count, const char *what);
bool pdm_nn_rank_is(pdm_k *k, const pdm_tensor *tensor, int lowest, int highest, const char *what);
/* Whole tensor as doubles; heap, NULL after a failure. The extra element keeps it from being empty.
 */
double *pdm_nn_doubles(pdm_k *k, const pdm_tensor *tensor);
/* Zeroed room for count doubles; heap, NULL after a failure. */
double *pdm_nn_room(pdm_k *k, int64_t count);
/* Result as a tensor to be stored to; NULL: failed, or nobody wants it. */
pdm_tensor *pdm_nn_out(pdm_k *k, size_t index, pdm_dtype dtype, int rank, const int64_t *dims);
pdm_tensor *pdm_nn_out_like(pdm_k *k, size_t index, const pdm_tensor *like);
/* All elements of a result. */
void pdm_nn_fill(pdm_tensor *tensor, double value);
/* Product of sizes; fails the call when it does not fit in int64. */
int64_t pdm_nn_mul(pdm_k *k, int64_t a, int64_t b);

/* Offsets of the last LoD level, checked against the rows of x: 0, ascending, dims[0]. Fails. */
const int64_t *pdm_nn_lod(pdm_k *k, const pdm_tensor *x, int64_t *out_sequences);

/* The type that statistics of x have: float32 for halves. */
static inline pdm_dtype pdm_nn_wide_dtype(pdm_dtype dtype)
{
    return dtype == PDM_F16 || dtype == PDM_BF16 ? PDM_F32 : dtype;
}

static inline double pdm_nn_at(const pdm_tensor *tensor, int64_t i)
{
    return tensor->dtype == PDM_F32 ? (double)((const float *)tensor->data)[i]
                                    : pdm_get_double(tensor, i);
}

static inline void pdm_nn_put(pdm_tensor *tensor, int64_t i, double value)
{
    if (tensor->dtype == PDM_F32)
        ((float *)tensor->data)[i] = (float)value;
    else
        pdm_set_double(tensor, i, value);
}

/* ---- activations ---------------------------------------------------------------------------- */

typedef double (*pdm_nn_act)(double x);

/* By name ("" and "identity": none); fails the call for others. */
pdm_nn_act pdm_nn_act_find(pdm_k *k, const char *name);
double pdm_nn_sigmoid(double x);
double pdm_nn_gelu(double x);
double pdm_nn_softplus(double x); /* log(1 + exp(x)) */

/* ---- matrix products ------------------------------------------------------------------------ */

enum { PDM_GEMM_ROWS = 4, PDM_GEMM_TILE = 64, PDM_GEMM_DEPTH = 128 };

/*
 * c = a * b for a batch of matrices that callbacks read and write block by block:
 * load_a  rows [row, row + rows), depth [k, k + depth): to[r * depth + p]
 * load_b  depth [k, k + depth), columns [col, col + cols): to[p * PDM_GEMM_TILE + j]
 * store   rows and columns of c; from[r * PDM_GEMM_TILE + j], may be changed
 */
typedef struct pdm_gemm {
    int64_t batch, rows, cols, depth;
    void (*load_a)(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t k,
                   int64_t depth, double *to);
    void (*load_b)(const void *arg, int64_t batch, int64_t k, int64_t depth, int64_t col,
                   int64_t cols, double *to);
    void (*store)(const void *arg, int64_t batch, int64_t row, int64_t rows, int64_t col,
                  int64_t cols, double *from);
    const void *arg;
    bool single;  /* float32: round as the framework does */
    bool dots;    /* with single: b is turned, so that one row of a takes dot products */
    int64_t part; /* with single: steps of the depth that are summed up alone; 0: all */
} pdm_gemm;

void pdm_nn_gemm(pdm_k *k, const pdm_gemm *gemm);

/* A matrix in a tensor: element (i, j) is at first + i * row + j * col. */
typedef struct pdm_nn_matrix {
    const pdm_tensor *tensor;
    int64_t first, row, col;
} pdm_nn_matrix;

/* Blocks as above, for callers whose operands are plain matrices. */
void pdm_nn_matrix_rows(const pdm_nn_matrix *m, int64_t row, int64_t rows, int64_t k, int64_t depth,
                        double *to);
void pdm_nn_matrix_cols(const pdm_nn_matrix *m, int64_t k, int64_t depth, int64_t col, int64_t cols,
                        double *to);
/* c[rows][cols] = a[rows][depth] * b[depth][cols] (+ c), all doubles in rows; one thread. */
void pdm_nn_matmul(const double *a, const double *b, double *c, int64_t rows, int64_t cols,
                   int64_t depth, bool add);

/* out rows = act(x rows * w + bias): x [rows][depth] from its first element; w by strides. */
typedef struct pdm_nn_linear {
    const pdm_tensor *x, *w, *bias; /* bias: [cols] or NULL */
    int64_t rows, cols, depth, x_row, x_col, w_row, w_col;
    pdm_nn_act act; /* NULL: none */
    pdm_tensor *out;
} pdm_nn_linear;

void pdm_nn_linear_run(pdm_k *k, const pdm_nn_linear *linear);
/* One row normalized in place: scale and bias [n] or NULL. */
void pdm_nn_normalize_row(double *row, int64_t n, const pdm_tensor *scale, const pdm_tensor *bias,
                          double epsilon, double *out_mean, double *out_variance);

/* ---- windows -------------------------------------------------------------------------------- */

/* Convolution and pooling over up to three spatial dims; fewer are padded with ones in front. */
typedef struct pdm_nn_window {
    int spatial; /* 1, 2 or 3 */
    bool channels_last;
    int64_t batch, channels; /* of the input */
    int64_t in[3], kernel[3], stride[3], dilation[3], before[3], after[3];
    int64_t out[3];
} pdm_nn_window;

/* Input dims by layout ("NHWC", "NDHWC", ... are channels last). */
bool pdm_nn_window_input(pdm_k *k, pdm_nn_window *w, const pdm_tensor *x, const char *layout);
/* Values for the last `spatial` of three dims; one value stands for all. Fails on other counts. */
bool pdm_nn_window_ints(pdm_k *k, const pdm_nn_window *w, const char *name, const int64_t *values,
                        size_t count, int64_t least, int64_t to[3]);
bool pdm_nn_window_attr(pdm_k *k, const pdm_nn_window *w, const char *name, int64_t least,
                        int64_t to[3]);
/* Padding by attribute `paddings` (n, 2n, or whole-rank pairs) and padding_algorithm. */
bool pdm_nn_window_pads(pdm_k *k, pdm_nn_window *w, const char *name, const char *algorithm,
                        bool adaptive);
/* Dims of a tensor with that many channels over sizes[3]. */
int pdm_nn_window_dims(const pdm_nn_window *w, int64_t channels, const int64_t sizes[3],
                       int64_t dims[PDM_MAX_RANK]);
/* Strides of such a tensor: [0] batch, [1] channel, [2..4] spatial. */
void pdm_nn_window_strides(const pdm_nn_window *w, int64_t channels, const int64_t sizes[3],
                           int64_t strides[5]);

#endif
