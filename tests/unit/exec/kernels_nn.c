/*
 * Kernels of layers, losses and fused ops: how float32 products are rounded, layouts and groups
 * against plain loops, the same results on any number of threads, and what they refuse.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernel.h"
#include "exec/pool.h"
#include "unit/exec/call.h"

Suite *pdm_suite_kernels_nn(void);

/* ---- rounding of products -------------------------------------------------------------------- */

static float product(const float *x, const float *y, int64_t cols, int64_t j, int64_t begin_,
                     int64_t end_)
{
    float sum = 0;

    for (int64_t i = begin_; i < end_; i++)
        sum = fmaf(x[i], y[i * cols + j], sum);
    return sum;
}

/* Chains of fused steps; depths beyond 384 in blocks, the last two of one size. */
static float expected(const float *x, const float *y, int64_t cols, int64_t j, int64_t depth)
{
    float sum = 0;

    for (int64_t at = 0; at < depth;) {
        const int64_t rest = depth - at;
        const int64_t n = rest >= 768 ? 384 : rest > 384 ? (rest + 1) / 2 : rest;
        sum += product(x, y, cols, j, at, at + n);
        at += n;
    }
    return sum;
}

START_TEST(products)
{
    static const int64_t sizes[][3] = {{2, 5, 3},    {5, 64, 70},  {3, 384, 17}, {2, 385, 2},
                                       {4, 1000, 9}, {2, 2000, 5}, {3, 0, 4}};
    const int64_t m = sizes[_i][0], depth = sizes[_i][1], n = sizes[_i][2];
    const int64_t dims_x[2] = {m, depth}, dims_y[2] = {depth, n};
    call c;

    begin(&c, "pd_op.matmul");
    fill(operand(&c, 0, PDM_F32, 2, dims_x), 1);
    fill(operand(&c, 1, PDM_F32, 2, dims_y), 2);
    ck_assert_int_eq(run(&c), PDM_OK);
    const float *x = c.in[0].tensor.data, *y = c.in[1].tensor.data, *got = c.out[0].tensor.data;
    for (int64_t i = 0; i < m * n; i++)
        ck_assert_msg(got[i] == expected(x + i / n * depth, y, n, i % n, depth), "element %d",
                      (int)i);
    end(&c);
}
END_TEST

/* One row: eight steps in pairs; the columns beyond the last sixteen in order. */
START_TEST(one_row)
{
    const int64_t dims_x[2] = {1, 9}, dims_y[2] = {9, 18};
    call c;

    begin(&c, "pd_op.matmul");
    fill(operand(&c, 0, PDM_F32, 2, dims_x), 3);
    fill(operand(&c, 1, PDM_F32, 2, dims_y), 4);
    ck_assert_int_eq(run(&c), PDM_OK);
    const float *x = c.in[0].tensor.data, *got = c.out[0].tensor.data;
    for (int j = 0; j < 18; j++) {
        const float *y = (const float *)c.in[1].tensor.data + j;
        const float low = fmaf(x[0], y[0], x[2] * y[36]) + fmaf(x[1], y[18], x[3] * y[54]);
        const float high = fmaf(x[4], y[72], x[6] * y[108]) + fmaf(x[5], y[90], x[7] * y[126]);
        const float want = j < 16 ? fmaf(x[8], y[144], low + high) : product(x, y - j, 18, j, 0, 9);
        ck_assert_msg(got[j] == want, "column %d", j);
    }
    end(&c);
}
END_TEST

/* ---- convolution against plain loops --------------------------------------------------------- */

typedef struct conv_case {
    int64_t channels, out, groups, size[2], kernel[2], stride[2], pad[4], dilation[2];
    bool last, transposed;
} conv_case;

static const conv_case convs[] = {
    {4, 6, 1, {7, 6}, {3, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}, false, false},
    {4, 6, 2, {7, 6}, {3, 3}, {2, 1}, {1, 0, 2, 1}, {1, 2}, false, false},
    {4, 4, 4, {7, 6}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, true, false},
    {3, 70, 1, {9, 9}, {1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}, true, false},
    {4, 6, 2, {5, 4}, {3, 2}, {2, 3}, {1, 0, 0, 1}, {1, 1}, false, true},
    {4, 5, 1, {5, 4}, {3, 3}, {1, 2}, {1, 1, 1, 1}, {2, 1}, true, true},
};

static int64_t place(const conv_case *v, int64_t channels, const int64_t *size, int64_t c,
                     int64_t y, int64_t x)
{
    return v->last ? (y * size[1] + x) * channels + c : (c * size[0] + y) * size[1] + x;
}

/* Adds weight * input for each pair that belongs together. */
static void plain_conv(const conv_case *v, const double *x, const double *w, double *out,
                       const int64_t *to)
{
    const int64_t in_group = v->channels / v->groups, out_group = v->out / v->groups;

    for (int64_t o = 0; o < v->out; o++) {
        for (int64_t i = 0; i < in_group; i++) {
            const int64_t c = o / out_group * in_group + i;
            for (int64_t p = 0; p < v->size[0] * v->size[1] * v->kernel[0] * v->kernel[1]; p++) {
                const int64_t q = p / (v->kernel[0] * v->kernel[1]);
                const int64_t ky = p / v->kernel[1] % v->kernel[0], kx = p % v->kernel[1];
                int64_t y = q / v->size[1], xx = q % v->size[1], weight;
                const double value = x[place(v, v->channels, v->size, c, y, xx)];
                if (v->transposed) {
                    y = y * v->stride[0] + ky * v->dilation[0] - v->pad[0];
                    xx = xx * v->stride[1] + kx * v->dilation[1] - v->pad[2];
                    weight = c * out_group + o % out_group;
                } else {
                    y += v->pad[0] - ky * v->dilation[0];
                    xx += v->pad[2] - kx * v->dilation[1];
                    weight = o * in_group + i;
                    if (y < 0 || xx < 0 || y % v->stride[0] || xx % v->stride[1])
                        continue;
                    y /= v->stride[0];
                    xx /= v->stride[1];
                }
                if (y >= 0 && xx >= 0 && y < to[0] && xx < to[1])
                    out[place(v, v->out, to, o, y, xx)] +=
                        value * w[(weight * v->kernel[0] + ky) * v->kernel[1] + kx];
            }
        }
    }
}

static void run_conv(call *c, const conv_case *v, pdm_dtype dtype, pdm_pool *pool)
{
    const int64_t nchw[4] = {1, v->channels, v->size[0], v->size[1]};
    const int64_t nhwc[4] = {1, v->size[0], v->size[1], v->channels};
    const int64_t filter[4] = {v->transposed ? v->channels : v->out,
                               (v->transposed ? v->out : v->channels) / v->groups, v->kernel[0],
                               v->kernel[1]};
    const attribute attrs[] = {
        INTS("strides", 2, v->stride[0], v->stride[1]),
        INTS("paddings", 4, v->pad[0], v->pad[1], v->pad[2], v->pad[3]),
        INTS("dilations", 2, v->dilation[0], v->dilation[1]),
        NUMBER("groups", (double)v->groups),
        TEXT("data_format", v->last ? "NHWC" : "NCHW"),
    };

    begin(c, v->transposed ? "pd_op.conv2d_transpose" : "pd_op.conv2d");
    memcpy(c->attrs, attrs, sizeof attrs);
    c->k.pool = pool;
    fill(operand(c, 0, dtype, 4, v->last ? nhwc : nchw), 5);
    fill(operand(c, 1, dtype, 4, filter), 6);
    ck_assert_msg(run(c) == PDM_OK, "%s", c->k.message);
}

START_TEST(convolution)
{
    const conv_case *v = &convs[_i];
    call c;

    run_conv(&c, v, PDM_F64, NULL);
    const pdm_tensor *out = &c.out[0].tensor;
    const int64_t to[2] = {out->dims[v->last ? 1 : 2], out->dims[v->last ? 2 : 3]};
    double *want = calloc((size_t)pdm_tensor_count(out), sizeof *want);
    ck_assert_ptr_nonnull(want);
    plain_conv(v, c.in[0].tensor.data, c.in[1].tensor.data, want, to);
    for (int64_t i = 0; i < pdm_tensor_count(out); i++)
        ck_assert_double_eq_tol(((double *)out->data)[i], want[i], 1e-12);
    free(want);
    end(&c);
}
END_TEST

START_TEST(threads)
{
    pdm_pool *pool = NULL;
    call alone, shared;

    ck_assert_int_eq(pdm_pool_create(3, &pool), PDM_OK);
    run_conv(&alone, &convs[_i], PDM_F32, NULL);
    run_conv(&shared, &convs[_i], PDM_F32, pool);
    ck_assert_mem_eq(alone.out[0].tensor.data, shared.out[0].tensor.data,
                     pdm_tensor_bytes(&alone.out[0].tensor));
    end(&alone);
    end(&shared);
    pdm_pool_destroy(pool);
}
END_TEST

/* ---- edges ----------------------------------------------------------------------------------- */

typedef struct edge {
    const char *op;
    struct {
        pdm_dtype dtype; /* PDM_UNDEFINED: absent */
        int rank;
        int64_t dims[5];
        double v[12];
    } in[6];
    attribute attrs[MAX];
    bool legacy;
    int want; /* elements of the result; -1: refused */
    double v[12];
} edge;

#define LOWEST (-3.4028234663852886e38)
#define POOL(kind, exclusive_)                                                                     \
    INTS("strides", 2, 3, 3), INTS("paddings", 2, 1, 1), TEXT("pooling_type", kind),               \
        NUMBER("ceil_mode", 1), NUMBER("exclusive", exclusive_), NUMBER("adaptive", 0),            \
        NUMBER("global_pooling", 0), TEXT("padding_algorithm", "EXPLICIT"),                        \
        TEXT("data_format", "NCHW")

static const edge edges[] = {
    /* maxima without a number; an attribute that has no default */
    {"pd_op.pool3d",
     {{PDM_F32, 3, {1, 1, 4}, {1, 2, 3, 4}}},
     {INTS("kernel_size", 1, 2), INTS("strides", 1, 3), INTS("paddings", 1, 1),
      TEXT("pooling_type", "max"), TEXT("data_format", "NCHW"), NUMBER("ceil_mode", 1),
      NUMBER("global_pooling", 0), NUMBER("adaptive", 0)},
     .want = -1},
    {"pd_op.max_pool2d_with_index",
     {{PDM_F32, 4, {1, 1, 1, 2}, {NAN, NAN}}},
     {INTS("kernel_size", 2, 1, 2)},
     .want = 1,
     .v = {LOWEST}},
    /* sizes from scales: 10 * 0.7 is 7 in float, 6 in double */
    {"pd_op.nearest_interp",
     {{PDM_F32, 4, {1, 1, 1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}},
     {TEXT("data_format", "NCHW"), NUMBER("scale", 0.699999988079071)},
     .want = -1},
    {"pd_op.nearest_interp",
     {{PDM_F32, 3, {1, 1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}},
     {TEXT("data_format", "NCHW"), NUMBER("scale", 0.699999988079071), NUMBER("align_corners", 0)},
     .want = 6,
     .v = {0, 1, 2, 4, 5, 7}},
    {"pd_op.nearest_interp",
     {{PDM_F32, 3, {1, 1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}},
     {TEXT("data_format", "NCHW"), NUMBER("scale", 0.699999988079071), NUMBER("align_corners", 0)},
     .legacy = true,
     .want = 7,
     .v = {0, 1, 2, 4, 5, 7, 8}},
    /* halves go to even places */
    {"pd_op.grid_sample",
     {{PDM_F32, 4, {1, 1, 1, 5}, {0, 1, 2, 3, 4}},
      {PDM_F32, 4, {1, 1, 3, 2}, {-0.75, 0, 0.25, 0, 0.75, 0}}},
     {TEXT("mode", "nearest"), TEXT("padding_mode", "border")},
     .want = 3,
     .v = {0, 2, 4}},
    {"pd_op.affine_grid",
     {{PDM_F32, 3, {1, 2, 3}, {1, 0, 0, 0, 1, 0}}, {PDM_I64, 1, {4}, {1, 1, 1, 1}}},
     {NUMBER("align_corners", 1)},
     .want = 2,
     .v = {NAN, NAN}},
    /* losses */
    {"pd_op.bce_loss",
     {{PDM_F32, 1, {3}, {0, 1, 0.5}}, {PDM_F32, 1, {3}, {1, 0, 0.5}}},
     .want = 3,
     .v = {100, 100, 0.69314718}},
    {"pd_op.bce_loss", {{PDM_F32, 1, {1}, {1.5}}, {PDM_F32, 1, {1}, {1}}}, .want = -1},
    {"pd_op.nll_loss",
     {{PDM_F32, 2, {2, 2}, {-1, -2, -3, -4}}, {PDM_I64, 1, {2}, {0, 2}}},
     .want = -1},
    {"pd_op.nll_loss",
     {{PDM_F32, 2, {2, 2}, {-1, -2, -3, -4}}, {PDM_I64, 1, {2}, {1, -100}}},
     .want = 1,
     .v = {2}},
    {"pd_op.hsigmoid_loss",
     {{PDM_F32, 2, {1, 1}, {1}}, {PDM_I64, 2, {1, 1}, {7}}, {PDM_F32, 2, {3, 1}, {1, 1, 1}}},
     {NUMBER("num_classes", 4), NUMBER("is_sparse", 0)},
     .want = -1},
    /* operands that do not fit */
    {"pd_op.matmul", {{PDM_F32, 2, {2, 3}, {0}}, {PDM_F32, 2, {2, 3}, {0}}}, .want = -1},
    {"pd_op.matmul", {{PDM_F32, 2, {2, 3}, {0}}, {PDM_F64, 2, {3, 2}, {0}}}, .want = -1},
    {"pd_op.matmul", {{PDM_BOOL, 2, {1, 1}, {0}}, {PDM_BOOL, 2, {1, 1}, {0}}}, .want = -1},
    {"pd_op.matmul",
     {{PDM_I32, 1, {2}, {2147483647, 1}}, {PDM_I32, 1, {2}, {2, 5}}},
     .want = 1,
     .v = {3}},
    {"pd_op.conv2d",
     {{PDM_F32, 4, {1, 2, 2, 2}, {0}}, {PDM_F32, 4, {1, 3, 1, 1}, {0}}},
     .want = -1},
    {"pd_op.conv2d",
     {{PDM_F32, 4, {1, 1, 2, 2}, {0}}, {PDM_F32, 4, {1, 1, 3, 3}, {0}}},
     .want = -1},
    {"pd_op.conv2d",
     {{PDM_F32, 4, {1, 1, 2, 2}, {0}}, {PDM_F32, 4, {1, 1, 1, 1}, {0}}},
     {INTS("strides", 2, 0, 1)},
     .want = -1},
    {"pd_op.unpool",
     {{PDM_F32, 4, {1, 1, 1, 1}, {5}}, {PDM_I32, 4, {1, 1, 1, 1}, {4}}, {PDM_I64, 1, {2}, {2, 2}}},
     .want = -1},
    {"pd_op.unpool",
     {{PDM_F32, 4, {1, 1, 1, 1}, {5}}, {PDM_I32, 4, {1, 1, 1, 1}, {3}}, {PDM_I64, 1, {2}, {2, 2}}},
     .want = 4,
     .v = {0, 0, 0, 5}},
    {"pd_op.batch_norm",
     {{PDM_F32, 2, {1, 2}, {3, 4}}, {PDM_F32, 1, {2}, {1, 1}}, {PDM_F32, 1, {3}, {1, 1, 1}}},
     {NUMBER("is_test", 1), NUMBER("momentum", 0.9), NUMBER("epsilon", 1e-5),
      TEXT("data_format", "NCHW"), NUMBER("use_global_stats", 0),
      NUMBER("trainable_statistics", 0)},
     .want = -1},
    {"pd_op.batch_norm", /* one element a channel, in training: it stays */
     {{PDM_F32, 2, {1, 2}, {3, 4}}, {PDM_F32, 1, {2}, {1, 1}}, {PDM_F32, 1, {2}, {1, 1}}},
     {NUMBER("is_test", 0), NUMBER("momentum", 0.9), NUMBER("epsilon", 1e-5),
      TEXT("data_format", "NCHW"), NUMBER("use_global_stats", 0),
      NUMBER("trainable_statistics", 0)},
     .want = 2,
     .v = {3, 4}},
    {"pd_op.lstm",
     {{PDM_F32, 2, {1, 4}, {0}},
      {.dtype = PDM_UNDEFINED},
      {.dtype = PDM_UNDEFINED},
      {PDM_F32, 2, {1, 4}, {0}},
      {PDM_F32, 2, {1, 4}, {0}}},
     {NUMBER("use_peepholes", 0)},
     .want = -1}, /* no LoD */
    {"pd_op.rms_norm",
     {{PDM_F32, 2, {1, 2}, {3, 4}}},
     {INTS("normalized_shape", 1, 3), NUMBER("epsilon", 0)},
     .want = -1},
    {"pd_op.dropout",
     {{PDM_F32, 1, {2}, {1, 2}}, {.dtype = PDM_UNDEFINED}, {PDM_F32, 1, {1}, {0.5}}},
     {NUMBER("is_test", 1), TEXT("mode", "downgrade_in_infer")},
     .want = 2,
     .v = {0.5, 1}},
    {"pd_op.dropout",
     {{PDM_F32, 1, {2}, {1, 2}}, {.dtype = PDM_UNDEFINED}, {PDM_F32, 1, {1}, {2}}},
     {NUMBER("is_test", 1)},
     .want = -1},
};

static bool near(double got, double want)
{
    return isnan(want) ? isnan(got) : fabs(got - want) <= 1e-6 * fabs(want);
}

START_TEST(edges_of_ops)
{
    const edge *e = &edges[_i];
    call c;

    begin(&c, e->op);
    memcpy(c.attrs, e->attrs, sizeof c.attrs);
    c.k.legacy = e->legacy;
    c.k.before = e->legacy ? PDM_DIFF_ALL : 0;
    for (size_t i = 0; i < 6; i++) {
        if (e->in[i].dtype == PDM_UNDEFINED)
            continue;
        pdm_tensor *t = operand(&c, i, e->in[i].dtype, e->in[i].rank, e->in[i].dims);
        for (int64_t j = 0; j < pdm_tensor_count(t); j++)
            pdm_set_double(t, j, e->in[i].v[j]);
    }
    const pdm_status status = run(&c);
    ck_assert_msg((status != PDM_OK) == (e->want < 0), "%s: %s", e->op, c.k.message);
    if (status == PDM_OK) {
        const pdm_tensor *out = &c.out[0].tensor;
        ck_assert_int_eq(pdm_tensor_count(out), e->want);
        for (int64_t i = 0; i < e->want; i++)
            ck_assert_msg(near(pdm_get_double(out, i), e->v[i]), "%s: element %d is %.9g", e->op,
                          (int)i, pdm_get_double(out, i));
    }
    end(&c);
}
END_TEST

/* A window within the padding averages nothing: zero when padding does not count, else NaN. */
START_TEST(empty_windows)
{
    static const struct {
        const char *kind;
        double exclusive, corner;
    } rows[] = {{"avg", 1, 0}, {"avg", 0, NAN}, {"max", 1, LOWEST}};
    const attribute attrs[] = {POOL(rows[_i].kind, rows[_i].exclusive)};
    const int64_t dims[4] = {1, 1, 4, 4}, two[1] = {2};
    call c;

    begin(&c, "pd_op.pool2d");
    memcpy(c.attrs, attrs, sizeof attrs);
    fill(operand(&c, 0, PDM_F32, 4, dims), 7);
    pdm_tensor *kernel = operand(&c, 1, PDM_I64, 1, two);
    pdm_set_int(kernel, 0, 2);
    pdm_set_int(kernel, 1, 2);
    ck_assert_msg(run(&c) == PDM_OK, "%s", c.k.message);
    ck_assert_int_eq(pdm_tensor_count(&c.out[0].tensor), 9);
    const double corner = pdm_get_double(&c.out[0].tensor, 8);
    ck_assert_msg(near(corner, rows[_i].corner), "%g", corner);
    end(&c);
}
END_TEST

Suite *pdm_suite_kernels_nn(void)
{
    Suite *suite = suite_create("kernels_nn");
    TCase *tcase = tcase_create("kernels_nn");
    const int num_convs = (int)(sizeof convs / sizeof *convs);

    tcase_add_loop_test(tcase, products, 0, 7);
    tcase_add_test(tcase, one_row);
    tcase_add_loop_test(tcase, convolution, 0, num_convs);
    tcase_add_loop_test(tcase, threads, 0, num_convs);
    tcase_add_loop_test(tcase, edges_of_ops, 0, (int)(sizeof edges / sizeof *edges));
    tcase_add_loop_test(tcase, empty_windows, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}
