/*
 * Fast kernels against their reference kernels: results within the tolerance, the same bits on any
 * number of threads, NaN and infinities alike, and the functions of vmath.h against libm.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/fast/dense.h"
#include "exec/fast/vmath.h"
#include "exec/pool.h"
#include "unit/exec/call.h"

Suite *pdm_suite_kernels_fast(void);

enum { SHAPES = 8, OPERANDS = 4, RESULTS = 4 };

/* An op with its attributes, and sizes of its operands; rank 0 ends the operands. */
typedef struct fast_case {
    const char *op;
    attribute attrs[MAX];
    struct {
        int rank;
        int64_t dims[6];
    } in[OPERANDS];
    bool list;           /* the operands are elements of one vector */
    bool special;        /* with NaN and infinities among the numbers */
    int64_t numbers[2];  /* if not zeros: a further operand, of integers */
    size_t result_count; /* elements of result 0, if it is a vector */
} fast_case;

#define S(...)                                                                                     \
    {                                                                                              \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = { __VA_ARGS__ }        \
    }
#define UNARY(op_, ...)                                                                            \
    {                                                                                              \
        .op = "pd_op." op_, .attrs = {__VA_ARGS__}, .in = {S(3, 7, 1031)}, .special = true         \
    }
#define BINARY(op_)                                                                                \
    {.op = "pd_op." op_, .in = {S(5, 4099), S(5, 4099)}, .special = true},                         \
        {.op = "pd_op." op_, .in = {S(2, 33, 40, 24), S(24)}},                                     \
        {.op = "pd_op." op_, .in = {S(2, 1, 1, 24), S(2, 33, 40, 24)}},                            \
        {.op = "pd_op." op_, .in = {S(2, 24, 33, 17), S(1, 24, 1, 1)}, .special = true},           \
        {.op = "pd_op." op_, .in = {S(2, 5, 33, 17), S(5, 1, 17)}},                                \
        {.op = "pd_op." op_, .attrs = {INT("axis", 1)}, .in = {S(2, 5, 3, 7), S(5, 3)}},           \
        {.op = "pd_op." op_, .in = {S(7, 1), S(1, 9)}},                                            \
        {.op = "pd_op." op_, .in = {S(1), S(6, 300)}},                                             \
    {                                                                                              \
        .op = "pd_op." op_, .in = { S(0, 4), S(4) }                                                \
    }

#define NUMBERS(...) __VA_ARGS__
#define POOL(type, layout, kernel, stride, pad, dims_)                                             \
    {                                                                                              \
        .op = "pd_op.pool2d",                                                                      \
        .attrs = {TEXT("pooling_type", type),                                                      \
                  TEXT("data_format", layout),                                                     \
                  INTS("strides", 2, stride, stride),                                              \
                  INTS("paddings", 2, pad, pad),                                                   \
                  INT("ceil_mode", 1),                                                             \
                  INT("exclusive", 1),                                                             \
                  INT("adaptive", 0),                                                              \
                  INT("global_pooling", 0),                                                        \
                  TEXT("padding_algorithm", "EXPLICIT")},                                          \
        .in = {S(dims_)}, .numbers = {                                                             \
            kernel,                                                                                \
            kernel                                                                                 \
        }                                                                                          \
    }
#define ADAPTIVE(layout, dims_)                                                                    \
    {                                                                                              \
        .op = "pd_op.pool2d", .attrs = {TEXT("pooling_type", "avg"),                               \
                                        TEXT("data_format", layout),                               \
                                        INTS("strides", 1, 1),                                     \
                                        INTS("paddings", 1, 0),                                    \
                                        INT("ceil_mode", 0),                                       \
                                        INT("exclusive", 0),                                       \
                                        INT("adaptive", 1),                                        \
                                        INT("global_pooling", 0),                                  \
                                        TEXT("padding_algorithm", "EXPLICIT")},                    \
        .in = {S(dims_)}, .numbers = {                                                             \
            4,                                                                                     \
            3                                                                                      \
        }                                                                                          \
    }
#define INTERP(method, layout, height, width, corners, mode, dims_)                                \
    {                                                                                              \
        .op = "pd_op." method "_interp",                                                           \
        .attrs = {TEXT("data_format", layout),   INT("out_d", 0),                                  \
                  INT("out_h", height),          INT("out_w", width),                              \
                  INTS("scale", 0, 0),           TEXT("interp_method", method),                    \
                  INT("align_corners", corners), INT("align_mode", mode)},                         \
        .in = {                                                                                    \
            S(dims_)                                                                               \
        }                                                                                          \
    }

static const fast_case cases[] = {
    UNARY("relu"),
    UNARY("abs"),
    UNARY("square"),
    UNARY("exp"),
    UNARY("erf"),
    UNARY("tanh"),
    UNARY("sigmoid"),
    UNARY("silu"),
    UNARY("hardswish"),
    UNARY("mish", NUMBER("lambda", 20)),
    UNARY("relu6"),
    UNARY("leaky_relu", NUMBER("negative_slope", 0.1)),
    UNARY("hardsigmoid", NUMBER("slope", 0.25), NUMBER("offset", 0.4)),
    UNARY("swish"),
    UNARY("gelu"),
    UNARY("gelu", INT("approximate", 1)),
    UNARY("scale", NUMBER("scale", 3.5), NUMBER("bias", 0.25)),
    UNARY("scale", NUMBER("scale", 3.5), NUMBER("bias", 0.25), INT("bias_after_scale", 0)),
    UNARY("clip", NUMBER("min", -0.5), NUMBER("max", 0.75)),
    BINARY("add"),
    BINARY("subtract"),
    BINARY("multiply"),
    BINARY("divide"),
    BINARY("maximum"),
    BINARY("minimum"),
    {.op = "pd_op.softmax", .attrs = {INT("axis", -1)}, .in = {S(3, 7, 100)}},
    {.op = "pd_op.softmax", .attrs = {INT("axis", -1)}, .in = {S(5000, 3)}, .special = true},
    {.op = "pd_op.softmax", .attrs = {INT("axis", 1)}, .in = {S(3, 17, 9, 11)}},
    {.op = "pd_op.softmax", .attrs = {INT("axis", 0)}, .in = {S(40, 131)}, .special = true},
    {.op = "pd_op.layer_norm",
     .attrs = {INT("begin_norm_axis", 2), NUMBER("epsilon", 1e-5)},
     .in = {S(3, 50, 96), S(96), S(96)}},
    {.op = "pd_op.layer_norm",
     .attrs = {INT("begin_norm_axis", 1), NUMBER("epsilon", 1e-5)},
     .in = {S(30, 5, 7)}},
    POOL("max", "NCHW", 3, 2, 1, NUMBERS(5, 7, 17, 21)),
    POOL("max", "NHWC", 3, 2, 1, NUMBERS(5, 17, 21, 7)),
    POOL("avg", "NCHW", 3, 2, 1, NUMBERS(5, 7, 17, 21)),
    POOL("avg", "NHWC", 3, 2, 1, NUMBERS(5, 17, 21, 7)),
    POOL("avg", "NCHW", 2, 3, 0, NUMBERS(2, 3, 40, 21)),
    POOL("max", "NCHW", 1, 1, 0, NUMBERS(2, 3, 5, 6)),
    POOL("avg", "NCHW", 6, 1, 0, NUMBERS(2, 33, 6, 6)),
    POOL("avg", "NHWC", 6, 1, 0, NUMBERS(2, 6, 6, 33)),
    POOL("max", "NCHW", 6, 1, 0, NUMBERS(2, 33, 6, 6)),
    POOL("max", "NHWC", 6, 1, 0, NUMBERS(2, 6, 6, 33)),
    ADAPTIVE("NCHW", NUMBERS(2, 5, 11, 13)),
    ADAPTIVE("NHWC", NUMBERS(2, 11, 13, 5)),
    INTERP("nearest", "NCHW", 22, 39, 0, 1, NUMBERS(2, 5, 11, 13)),
    INTERP("nearest", "NHWC", 22, 26, 0, 1, NUMBERS(2, 11, 13, 5)),
    INTERP("nearest", "NHWC", 7, 26, 1, 1, NUMBERS(2, 11, 13, 5)),
    INTERP("bilinear", "NCHW", 22, 39, 0, 0, NUMBERS(2, 5, 11, 13)),
    INTERP("bilinear", "NCHW", 22, 26, 1, 1, NUMBERS(2, 5, 11, 13)),
    INTERP("bilinear", "NCHW", 5, 4, 0, 1, NUMBERS(2, 5, 11, 13)),
    INTERP("bilinear", "NHWC", 22, 39, 0, 0, NUMBERS(2, 11, 13, 5)),
    INTERP("bilinear", "NHWC", 5, 40, 0, 1, NUMBERS(2, 11, 13, 20)),
};

/* ---- running them ---------------------------------------------------------------------------- */

static void fill_case(pdm_tensor *t, const fast_case *f, uint64_t seed)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 1e-40f, 100, -100, 1e30f};
    const int64_t n = pdm_tensor_count(t);

    fill(t, seed);
    for (int64_t i = 0; i < n; i++) { /* most within (-4, 4) */
        const double wide = i % 7 ? 4 : 12;
        pdm_set_double(t, i, pdm_get_double(t, i) * wide);
    }
    for (int64_t i = 0; f->special && i < n; i += 97)
        pdm_set_double(t, i, (double)specials[i / 97 % 9]);
}

static void prepare(call *c, const fast_case *f, pdm_pool *pool)
{
    begin(c, f->op);
    memcpy(c->attrs, f->attrs, sizeof c->attrs);
    c->k.pool = pool;
    for (size_t i = 0; i < OPERANDS && f->in[i].rank > 0; i++)
        fill_case(operand(c, i, PDM_F32, f->in[i].rank, f->in[i].dims), f, 7 * i + 1);
    if (f->numbers[0] != 0) {
        pdm_tensor *t = operand(c, c->k.num_in, PDM_I64, 1, (const int64_t[]){2});
        memcpy(t->data, f->numbers, sizeof f->numbers);
    }
    if (f->list)
        gather_operands(c);
    if (f->result_count)
        spread_result(c, f->result_count);
}

static bool fits(double got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    return got == want || fabs(got - want) <= 1e-5 + 1e-5 * fabs(want);
}

static void compare(const fast_case *f, const pdm_tensor *got, const pdm_tensor *want)
{
    ck_assert_msg(got->dtype == want->dtype && got->rank == want->rank &&
                      !memcmp(got->dims, want->dims, sizeof *got->dims * (size_t)want->rank),
                  "%s: type or shape", f->op);
    for (int64_t i = 0; i < pdm_tensor_count(want); i++) {
        const double g = pdm_get_double(got, i), w = pdm_get_double(want, i);
        if (!fits(g, w)) /* an assertion that holds costs a system call */
            ck_abort_msg("%s: element %d is %.9g, not %.9g", f->op, (int)i, g, w);
    }
}

static void same_bits(const fast_case *f, const pdm_tensor *got, const pdm_tensor *want)
{
    const size_t size = pdm_dtype_size(want->dtype) * (size_t)pdm_tensor_count(want);

    ck_assert_msg(size == 0 || !memcmp(got->data, want->data, size), "%s: on three threads", f->op);
}

static void check_results(const fast_case *f, const call *got, const call *want,
                          void (*check)(const fast_case *, const pdm_tensor *, const pdm_tensor *))
{
    for (size_t i = 0; i < MAX; i++) {
        const pdm_value *w = want->outs[i], *g = got->outs[i];
        if (w->kind == PDM_VALUE_TENSOR && w->tensor.data)
            check(f, &g->tensor, &w->tensor);
        for (size_t e = 0; w->kind == PDM_VALUE_LIST && e < w->list.count; e++)
            check(f, &g->list.items[e]->tensor, &w->list.items[e]->tensor);
    }
}

/* A case here is one that the fast kernel does itself. */
static pdm_status refuse(pdm_k *k)
{
    return pdm_k_fail(k, "left to the reference kernel");
}

START_TEST(against_reference)
{
    const fast_case *f = &cases[_i / 3];
    const pdm_kernel_fn fast = pdm_fast_find(f->op), reference = pdm_kernel_find(f->op);
    call want, alone, shared;
    pdm_pool *pool;

    /* Each test is a process of its own, which finds out about the machine once. */
    setenv("PDM_SIMD", (const char *[]){"portable", "avx2", "avx512"}[_i % 3], 1);
    ck_assert_ptr_nonnull(fast);
    ck_assert_ptr_nonnull(reference);
    ck_assert_int_eq(pdm_pool_create(3, &pool), PDM_OK);
    prepare(&want, f, NULL);
    prepare(&alone, f, NULL);
    prepare(&shared, f, pool);
    alone.k.reference = shared.k.reference = refuse;
    ck_assert_msg(reference(&want.k) == PDM_OK, "%s: %s", f->op, want.k.message);
    ck_assert_msg(fast(&alone.k) == PDM_OK, "%s: %s", f->op, alone.k.message);
    ck_assert_msg(fast(&shared.k) == PDM_OK, "%s: %s", f->op, shared.k.message);
    check_results(f, &alone, &want, compare);
    check_results(f, &shared, &alone, same_bits);
    end(&want);
    end(&alone);
    end(&shared);
    pdm_pool_destroy(pool);
}
END_TEST

/* ---- functions ------------------------------------------------------------------------------- */

typedef struct function {
    const char *name;
    float (*fast)(float);
    double (*exact)(double);
    double ulps;
} function;

static float fast_exp(float x)
{
    return pdm_v_exp(x);
}

static float fast_tanh(float x)
{
    return pdm_v_tanh(x);
}

static float fast_erf(float x)
{
    return pdm_v_erf(x);
}

static float fast_sigmoid(float x)
{
    return pdm_v_sigmoid(x);
}

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const function functions[] = {
    {"exp", fast_exp, exp, 1},
    {"tanh", fast_tanh, tanh, 1.5},
    {"erf", fast_erf, erf, 1.5},
    {"sigmoid", fast_sigmoid, exact_sigmoid, 2.5},
};

static double ulps_off(float got, double want)
{
    const float near = (float)want;
    int exponent;

    if (isnan(want) || isinf(near))
        return isnan(want)                   ? (isnan(got) ? 0 : INFINITY)
               : (double)got == (double)near ? 0
                                             : INFINITY;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

/* Every 9973rd float, all signs and exponents. */
START_TEST(subnormal_weights)
{
    const float weights[] = {1e-40f, -1e-40f, FLT_MIN, -2}, want[] = {0, 0, FLT_MIN, -2};
    const int64_t offset = 0;
    float packed[64], bias[64];

    ck_assert_int_le(pdm_dense_padded(4), 64);
    pdm_dense_pack(weights, &offset, 1, 1, 4, false, packed);
    pdm_dense_pad_bias(weights, 4, bias);
    for (int64_t i = 0; i < pdm_dense_padded(4); i++) {
        ck_assert(packed[i] == (i < 4 ? want[i] : 0));
        ck_assert(bias[i] == (i < 4 ? want[i] : 0));
    }
}
END_TEST

START_TEST(units_in_the_last_place)
{
    const function *f = &functions[_i];

    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 9973) {
        const pdm_v_bits x = {.u = (uint32_t)bits};
        const double off = ulps_off(f->fast(x.f), f->exact((double)x.f));
        if (!(off <= f->ulps))
            ck_abort_msg("%s(%.9g): %g units", f->name, (double)x.f, off);
    }
}
END_TEST

Suite *pdm_suite_kernels_fast(void)
{
    Suite *suite = suite_create("kernels_fast");
    TCase *tc = tcase_create("kernels_fast");

    tcase_add_loop_test(tc, against_reference, 0, 3 * (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tc, subnormal_weights);
    tcase_add_loop_test(tc, units_in_the_last_place, 0,
                        (int)(sizeof functions / sizeof *functions));
    suite_add_tcase(suite, tc);
    return suite;
}
