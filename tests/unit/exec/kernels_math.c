/*
 * What elementwise and reducing kernels do at the edges, as the framework does it: NaN, ties,
 * signs, integer division, overflow, conversions, empty and 0-D tensors; and what they refuse.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "exec/kernel.h"

Suite *pdm_suite_kernels_math(void);

#define MAX_N  24
#define NAN_   ((double)NAN)
#define INF_   ((double)INFINITY)
#define LOWEST (-3.4028234663852886e38)

typedef struct values {
    pdm_dtype dtype; /* PDM_UNDEFINED: absent */
    int rank;
    int64_t dims[3];
    double v[MAX_N];
} values;

typedef struct named {
    const char *name;
    double value;
} named;

typedef struct row {
    const char *op;
    values in[4];
    named attrs[7];
    size_t result;
    values want; /* PDM_UNDEFINED: the kernel refuses */
    bool legacy;
    uint32_t shows; /* legacy: the known difference from what is not */
} row;

#define VEC(type, n, ...) {.dtype = (type), .rank = 1, .dims = {(n)}, .v = {__VA_ARGS__}}
#define MAT(type, n, m, ...) {.dtype = (type), .rank = 2, .dims = {(n), (m)}, .v = {__VA_ARGS__}}
#define F(n, ...) VEC(PDM_F32, n, __VA_ARGS__)
#define D(n, ...) VEC(PDM_F64, n, __VA_ARGS__)
#define I(n, ...) VEC(PDM_I32, n, __VA_ARGS__)
#define L(n, ...) VEC(PDM_I64, n, __VA_ARGS__)
#define U(n, ...) VEC(PDM_U8, n, __VA_ARGS__)
#define B(n, ...) VEC(PDM_BOOL, n, __VA_ARGS__)
#define S(type, x) {.dtype = (type), .rank = 0, .v = {(x)}}
#define NONE {.dtype = PDM_UNDEFINED}

static const row rows[] = {
    /* checks: an error is what they are for */
    {"pd_op.accuracy_check", {F(2, 1, NAN_), F(2, 1, NAN_)}, {{"equal_nan", 1}}, .want = B(2, 1, 1)},
    {"pd_op.accuracy_check", {F(2, 1, NAN_), F(2, 1, NAN_)}, .want = NONE},
    {"pd_op.accuracy_check", {L(2, 1, 2), L(2, 1, 3)}, .want = NONE},
    {"pd_op.check_numerics", {F(3, 0, 2, -1)}, .want = L(3, 0, 0, 1)},
    {"pd_op.check_numerics", {F(2, 0, NAN_)}, .want = NONE},
    {"pd_op.check_numerics", {F(3, 0, NAN_, INF_)}, {{"check_nan_inf_level", 1}}, .want = L(3, 1, 1, 1)},
    {"pd_op.check_numerics", {L(1, 0)}, .want = NONE},
    /* experts and tokens that do not fit each other */
    {"pd_op.number_count", {F(1, 0)}, {{"upper_range", 2}}, .want = NONE},
    {"pd_op.number_count", {I(3, 1, 5, -1)}, {{"upper_range", 2}}, .want = I(2, 0, 1)},
    {"pd_op.number_count", {I(1, 0)}, {{"upper_range", -1}}, .want = NONE},
    {"pd_op.assign_pos", {L(3, 0, 1, -1), L(2, 1, 2), L(1, 2)}, .want = L(2, 0, 1)},
    {"pd_op.assign_pos", {L(2, 0, 0), L(2, 1, 2), L(1, 2)}, .want = NONE},
    {"pd_op.assign_pos", {L(2, 0, 7), L(2, 1, 2), L(1, 2)}, .want = NONE},
    {"pd_op.assign_pos", {L(2, 0, 0), L(2, 9, 9), L(1, 2)}, .want = NONE},
    {"pd_op.assign_pos", {L(2, 0, 0), L(2, 1, 2), L(1, 9)}, .want = NONE},
    {"pd_op.limit_by_capacity", {L(3, 1, 2, 3), L(2, 1, 1)}, {{"n_worker", 2}}, .want = NONE},
    {"pd_op.limit_by_capacity", {L(2, 4, 3), L(1, 5)}, {{"n_worker", 2}}, .want = L(2, 4, 1)},
    {"pd_op.prune_gate_by_capacity", {L(3, 0, -1, 0), L(1, 1)}, .want = L(3, 0, -1, -1)},
    {"pd_op.prune_gate_by_capacity", {L(1, 1), L(1, 1)}, .want = NONE},
    /* division */
    {"pd_op.divide", {I(4, 7, -7, 7, -7), I(4, 2, 2, -2, -2)}, .want = I(4, 3, -3, -3, 3)},
    {"pd_op.divide", {I(1, 7), I(1, 0)}, .want = NONE},
    {"pd_op.divide", {I(1, INT32_MIN), I(1, -1)}, .want = I(1, INT32_MIN)},
    {"pd_op.floor_divide", {I(4, 7, -7, 7, -7), I(4, 2, 2, -2, -2)}, .want = I(4, 3, -4, -4, 3)},
    {"pd_op.floor_divide", {F(6, 7, -7, 7, 1, -1, INF_), F(6, 2, 2, -2, 0, 0, 2)},
     .want = F(6, 3, -4, -4, INF_, -INF_, NAN_)},
    {"pd_op.remainder", {I(4, 7, -7, 7, -7), I(4, 2, 2, -2, -2)}, .want = I(4, 1, 1, -1, -1)},
    {"pd_op.remainder", {F(5, 7, -7, 7, 1, -1), F(5, 2, 2, -2, 0, INF_)},
     .want = F(5, 1, 1, -1, NAN_, INF_)},
    {"pd_op.remainder", {I(1, 7), I(1, 0)}, .want = NONE},
    {"pd_op.add", {I(1, INT32_MAX), I(1, 1)}, .want = I(1, INT32_MIN)},
    {"pd_op.elementwise_pow", {I(4, 2, -2, 3, 2), I(4, 3, 3, -1, 40)},
     .want = I(4, 8, -8, 0, INT32_MIN)},
    /* broadcasting, the axis of old programs */
    {"pd_op.add", {MAT(PDM_F32, 2, 3, 1, 2, 3, 4, 5, 6), F(3, 10, 20, 30)},
     .want = MAT(PDM_F32, 2, 3, 11, 22, 33, 14, 25, 36)},
    {"pd_op.add", {MAT(PDM_F32, 2, 3, 1, 2, 3, 4, 5, 6), F(2, 10, 20)}, .attrs = {{"axis", 0}},
     .want = MAT(PDM_F32, 2, 3, 11, 12, 13, 24, 25, 26)},
    {"pd_op.add", {MAT(PDM_F32, 2, 1, 1, 2), F(2, 10, 20)},
     .want = MAT(PDM_F32, 2, 2, 11, 21, 12, 22)},
    {"pd_op.add", {S(PDM_F32, 2), F(2, 1, 2)}, .want = F(2, 3, 4)},
    {"pd_op.add", {MAT(PDM_F32, 0, 3, 0), F(3, 1, 2, 3)}, .want = MAT(PDM_F32, 0, 3, 0)},
    {"pd_op.add", {F(2, 1, 2), F(3, 1, 2, 3)}, .want = NONE},
    {"pd_op.add", {MAT(PDM_F32, 2, 3, 0), F(2, 1, 2)}, .attrs = {{"axis", 7}}, .want = NONE},
    /* NaN */
    {"pd_op.maximum", {F(3, NAN_, 1, 2), F(3, 1, NAN_, 3)}, .want = F(3, NAN_, NAN_, 3)},
    {"pd_op.maximum", {F(3, NAN_, 1, 2), F(3, 1, NAN_, 3)}, .want = F(3, 1, NAN_, 3),
     .legacy = true, .shows = PDM_DIFF_BIT(PDM_DIFF_NAN)},
    {"pd_op.fmin", {F(3, NAN_, 1, 2), F(3, 1, NAN_, 3)}, .want = F(3, 1, 1, 2)},
    {"pd_op.relu", {F(3, NAN_, -1, INF_)}, .want = F(3, 0, 0, INF_)},
    {"pd_op.relu6", {F(3, NAN_, -1, 7)}, .want = F(3, NAN_, 0, 6)},
    {"pd_op.clip", {F(3, NAN_, -1, 7), S(PDM_F32, 0), S(PDM_F32, 2)}, .want = F(3, NAN_, 0, 2)},
    {"pd_op.clip", {I(2, 1, 5), S(PDM_F32, 0.5), S(PDM_F32, 3.7)}, .want = I(2, 1, 3)},
    {"pd_op.clip", {F(1, 1), S(PDM_F32, 3), S(PDM_F32, 2)}, .want = NONE},
    {"pd_op.sign", {F(3, NAN_, -0.0, -3)}, .want = F(3, NAN_, 0, -1)},
    {"pd_op.heaviside", {F(4, -1, 0, 1, NAN_), F(4, 5, 6, 7, 8)}, .want = F(4, 0, 6, 1, 0)},
    {"pd_op.equal", {F(3, NAN_, INF_, 0), F(3, NAN_, INF_, 1e-9)}, .want = B(3, 0, 1, 0)},
    {"pd_op.equal", {F(3, NAN_, INF_, 0), F(3, NAN_, INF_, 1e-9)}, .want = B(3, 0, 1, 1),
     .legacy = true, .shows = PDM_DIFF_BIT(PDM_DIFF_EQUAL)},
    {"pd_op.isclose", {F(4, NAN_, INF_, 1, INF_), F(4, NAN_, INF_, INF_, 1)},
     .attrs = {{"equal_nan", 1}}, .want = B(4, 1, 1, 1, 0)},
    {"pd_op.softmax", {F(2, -100, 0)}, .want = F(2, 1.6038109e-28, 1)},
    {"pd_op.log_softmax", {F(2, -1000, 0)}, .want = F(2, -64, 0)},
    /* rounding, thresholds */
    {"pd_op.round", {F(4, 0.5, 1.5, -0.5, 2.5)}, .want = F(4, 0, 2, 0, 2)},
    {"pd_op.round", {F(4, 0.5, 1.5, -0.5, 2.5)}, .want = F(4, 1, 2, -1, 3), .legacy = true,
     .shows = PDM_DIFF_BIT(PDM_DIFF_ROUND)},
    {"pd_op.hardshrink", {F(3, -0.5, 0.3, 0.5)}, .want = F(3, -0.5, 0, 0.5)},
    {"pd_op.hardshrink", {F(3, -0.5, 0.3, 0.5)}, .want = F(3, 0, 0, 0), .legacy = true,
     .shows = PDM_DIFF_BIT(PDM_DIFF_HARDSHRINK)},
    {"pd_op.scale", {I(3, 1, 2, 3), S(PDM_F32, 2.5)}, .attrs = {{"bias", 0.5}},
     .want = I(3, 2, 4, 6)},
    {"pd_op.scale", {U(2, 1, 200), S(PDM_F32, 2)}, .want = U(2, 2, 144)},
    {"pd_op.pow", {I(3, 2, 3, -2)}, .attrs = {{"y", 2.5}}, .want = I(3, 4, 9, 4)},
    {"pd_op.increment", {L(1, 5)}, .attrs = {{"value", -1.5}}, .want = L(1, 4)},
    {"pd_op.bitwise_right_shift", {I(4, -8, -1, 5, -5), I(4, 1, 31, 40, 40)},
     .want = I(4, -4, -1, 0, -1)},
    {"pd_op.bitwise_right_shift", {I(3, -8, -1, -5), I(3, 1, 31, 40)},
     .attrs = {{"is_arithmetic", 0}}, .want = I(3, 2147483644, 1, 0)},
    /* special functions */
    {"pd_op.digamma", {D(3, 0.5, 3, -0.5)},
     .want = D(3, -1.9635100260214235, 0.9227843350984671, 0.03648997397857652)},
    {"pd_op.polygamma", {D(2, 0.5, -0.5)}, .attrs = {{"n", 1}},
     .want = D(2, 4.934802200544679, 8.934802200544679)},
    {"pd_op.gammaincc", {D(4, 1, 2, 0, 20), D(4, 1, 0.5, 1, 15.5)},
     .want = D(4, 0.36787944117144233, 0.9097959895689501, 1, 0.8455075620740047)},
    {"pd_op.erfinv", {D(4, 0.5, -1, 2, 0.999999)},
     .want = D(4, 0.4769362762044699, -INF_, INF_, 3.4589107372795)},
    {"pd_op.i0e", {D(2, 0, 100)}, .want = D(2, 1, 0.039944373295787406)},
    {"pd_op.i1", {D(2, 1, -2)}, .want = D(2, 0.5651591039924851, -1.5906368546373291)},
    /* what else 2.6 does otherwise; and where it does not show */
    {"pd_op.round", {F(2, 0.4, 1.6)}, .want = F(2, 0, 2), .legacy = true},
    {"pd_op.equal", {F(2, 0, 1), F(2, 0, 2)}, .want = B(2, 1, 0), .legacy = true},
    {"pd_op.not_equal", {F(1, 1e-9), F(1, 0)}, .want = B(1, 0), .legacy = true,
     .shows = PDM_DIFF_BIT(PDM_DIFF_EQUAL)},
    {"pd_op.equal_all", {F(1, 1e-9), F(1, 0)}, .want = S(PDM_BOOL, 1), .legacy = true,
     .shows = PDM_DIFF_BIT(PDM_DIFF_EQUAL)},
    {"pd_op.min", {F(3, NAN_, 1, 2)}, .want = S(PDM_F32, 1), .legacy = true,
     .shows = PDM_DIFF_BIT(PDM_DIFF_NAN)},
    {"pd_op.matrix_rank", {MAT(PDM_F32, 2, 2, 1, 0, 0, 1)}, .attrs = {{"use_default_tol", 1}, {"hermitian", 0}},
     .want = S(PDM_I32, 2), .legacy = true, .shows = PDM_DIFF_BIT(PDM_DIFF_RANK)},
    {"pd_op.lu", {MAT(PDM_F32, 2, 2, 2, 0, 0, 1)}, .attrs = {{"pivot", 1}}, .result = 2,
     .want = I(1, 0), .legacy = true, .shows = PDM_DIFF_BIT(PDM_DIFF_LU)},
    {"pd_op.reshape", {MAT(PDM_F32, 2, 0, 0), L(2, 0, 0)}, .want = MAT(PDM_F32, 2, 0, 0),
     .legacy = true, .shows = PDM_DIFF_BIT(PDM_DIFF_RESHAPE)},
    {"pd_op.sigmoid_cross_entropy_with_logits", {F(2, -1, 1), F(2, 1, 1), F(2, 3, 3)}, .attrs = {{"normalize", 0}, {"ignore_index", -100}},
     .want = F(2, 3.9397851, 0.9397851)},
    {"pd_op.sigmoid_cross_entropy_with_logits", {F(2, -1, 1), F(2, 1, 1), F(2, 3, 3)}, .attrs = {{"normalize", 0}, {"ignore_index", -100}},
     .want = F(2, 1.9397851, 0.9397851), .legacy = true,
     .shows = PDM_DIFF_BIT(PDM_DIFF_POS_WEIGHT)},
    {"pd_op.sigmoid_cross_entropy_with_logits", {F(2, -1, 1), F(2, 1, 1), F(2, 1, 1)}, .attrs = {{"normalize", 0}, {"ignore_index", -100}},
     .want = F(2, 1.3132617, 0.3132617), .legacy = true},
    {"pd_op.quantize_linear", {F(2, 10, -9), F(1, 4), F(1, 0)},
     .attrs = {{"quant_axis", -1}, {"bit_length", 4}, {"qmin", -128}, {"qmax", 127}, {"round_type", 0},
               {"is_test", 1}, {"only_observer", 0}},
     .want = F(2, 7, -8), .legacy = true, .shows = PDM_DIFF_BIT(PDM_DIFF_QUANT)},
    {"pd_op.add", {VEC(PDM_BF16, 1, 1), VEC(PDM_BF16, 1, 0.00714111328125)},
     .want = VEC(PDM_BF16, 1, 1), .legacy = true, .shows = PDM_DIFF_BIT(PDM_DIFF_HALF)},
    {"pd_op.add", {VEC(PDM_BF16, 1, 1), VEC(PDM_BF16, 1, 1)}, .want = VEC(PDM_BF16, 1, 2),
     .legacy = true},
    /* reductions */
    {"pd_op.max", {F(3, NAN_, 1, 2)}, .want = S(PDM_F32, NAN_)},
    {"pd_op.max", {F(3, NAN_, 1, 2)}, .want = S(PDM_F32, 2), .legacy = true,
     .shows = PDM_DIFF_BIT(PDM_DIFF_NAN)},
    {"pd_op.max", {F(3, 2, 1, NAN_)}, .want = S(PDM_F32, NAN_), .legacy = true},
    {"pd_op.max", {F(0, 0)}, .want = NONE},
    {"pd_op.sum", {I(2, INT32_MAX, 1)}, .want = S(PDM_I64, 2147483648.0)},
    {"pd_op.sum", {U(2, 200, 100)}, .want = S(PDM_U8, 44)},
    {"pd_op.sum", {B(3, 1, 1, 0)}, .want = S(PDM_I64, 2)},
    {"pd_op.sum", {MAT(PDM_F32, 0, 3, 0), L(1, 0)}, .want = F(3, 0, 0, 0)},
    {"pd_op.sum", {MAT(PDM_F32, 2, 3, 1, 2, 3, 4, 5, 6), L(1, -2)}, .want = F(3, 5, 7, 9)},
    {"pd_op.sum", {F(3, 1, 2, 3), L(1, 1)}, .want = NONE},
    {"pd_op.mean", {I(2, 1, 2)}, .want = S(PDM_I32, 1)},
    {"pd_op.mean", {MAT(PDM_F32, 0, 2, 0), L(1, 0)}, .want = F(2, NAN_, NAN_)},
    {"pd_op.logsumexp", {F(2, 1000, 1000)}, .want = S(PDM_F32, 1000.6931)},
    {"pd_op.p_norm", {F(3, 3, -4, 0)}, .attrs = {{"porder", 3}}, .want = S(PDM_F32, 4.4979414)},
    {"pd_op.p_norm", {F(3, 3, -4, 0)}, .attrs = {{"porder", -INF_}}, .want = S(PDM_F32, 0)},
    {"pd_op.std", {F(3, 1, 2, 4)}, .attrs = {{"unbiased", 1}}, .want = S(PDM_F32, 1.5275252)},
    /* scans */
    {"pd_op.cumsum", {MAT(PDM_I64, 2, 3, 0, 1, 2, 3, 4, 5), S(PDM_I32, 1)},
     .attrs = {{"exclusive", 1}, {"reverse", 1}}, .want = MAT(PDM_I64, 2, 3, 3, 2, 0, 9, 5, 0)},
    {"pd_op.cumsum", {S(PDM_F32, 5), S(PDM_I32, -1)}, .attrs = {{"exclusive", 1}},
     .want = S(PDM_F32, 5)},
    {"pd_op.cumsum", {F(2, 1, 2), S(PDM_I32, 2)}, .want = NONE},
    {"pd_op.logcumsumexp", {F(4, -INF_, 1, 1000, NAN_), S(PDM_I32, 0)},
     .want = F(4, LOWEST, 1, 1000, 1000.6931)},
    {"pd_op.cummax", {F(5, 1, 3, 3, 2, 3)}, .result = 1, .want = L(5, 0, 1, 2, 2, 4)},
    {"pd_op.cummin", {F(5, 1, 3, NAN_, 2, NAN_)}, .result = 1, .want = L(5, 0, 0, 2, 2, 4)},
    /* places and orders; ties fall as in GCC's library */
    {"pd_op.argmax", {F(4, 1, NAN_, 3, NAN_), S(PDM_I64, 0)}, .want = S(PDM_I64, 2)},
    {"pd_op.argmax", {S(PDM_F32, 3), S(PDM_I64, -1)}, .want = S(PDM_I64, 0)},
    {"pd_op.argmax", {F(0, 0), S(PDM_I64, 0)}, .want = NONE},
    {"pd_op.topk", {F(5, 1, 1, 0, 0, 1), S(PDM_I32, 2)}, .result = 1, .want = L(2, 1, 4)},
    {"pd_op.topk", {F(5, 1, NAN_, 0, 3, 1), S(PDM_I32, 3)}, .want = F(3, NAN_, 3, 1)},
    {"pd_op.topk", {F(2, 1, 2), S(PDM_I32, 3)}, .want = NONE},
    {"pd_op.argsort", {F(6, 3, 1, NAN_, 2, -INF_, NAN_)}, .attrs = {{"descending", 1}},
     .result = 1, .want = L(6, 2, 5, 0, 3, 1, 4)},
    {"pd_op.argsort",
     {F(20, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1)},
     .attrs = {{"stable", 1}}, .result = 1,
     .want = L(20, 0, 3, 6, 9, 12, 15, 18, 1, 4, 7, 10, 13, 16, 19, 2, 5, 8, 11, 14, 17)},
    {"pd_op.kthvalue", {F(4, 1, 1, 1, 0)}, .attrs = {{"k", 2}}, .result = 1,
     .want = S(PDM_I64, 2)},
    {"pd_op.mode", {L(5, 5, 3, 5, 3, 1)}, .result = 1, .want = S(PDM_I64, 3)},
    {"pd_op.unique", {F(4, 3, 1, 3, 2)}, .attrs = {{"is_sorted", 1}}, .result = 2,
     .want = L(4, 2, 0, 2, 1)},
    {"pd_op.unique", {F(4, 3, 1, 3, 2)}, .result = 2, .want = L(4, 0, 1, 0, 2)},
    {"pd_op.unique_consecutive", {F(5, 1, 1, 2, 2, 1)}, .result = 2, .want = L(3, 2, 2, 1)},
    {"pd_op.searchsorted", {F(4, 1, 2, 2, 3), F(4, 2, 0, 5, NAN_)}, .attrs = {{"right", 1}},
     .want = L(4, 3, 0, 4, 4)},
    {"pd_op.bincount", {L(1, -1)}, .want = NONE},
    {"pd_op.bincount", {L(1, 4e18)}, .want = NONE},
    {"pd_op.histogram", {F(3, 1, 2, NAN_)}, .attrs = {{"bins", 2}}, .want = L(2, 1, 1)},
    {"pd_op.multiplex", {MAT(PDM_F32, 2, 1, 1, 2), I(2, 0, 3)}, .want = NONE},
    {"pd_op.trace", {MAT(PDM_F32, 2, 3, 1, 2, 3, 4, 5, 6)}, .attrs = {{"offset", 1}},
     .want = S(PDM_F32, 8)},
    {"pd_op.trace", {MAT(PDM_F32, 2, 3, 1, 2, 3, 4, 5, 6)}, .attrs = {{"axis2", 5}},
     .want = NONE},
};

static pdm_ir_attr attr_of(void *self, const char *name)
{
    static struct pdm_ir_attr_s attr;

    for (const named *a = self; a->name && a < (const named *)self + 7; a++) {
        if (strcmp(a->name, name) != 0)
            continue;
        memset(&attr, 0, sizeof attr);
        attr.kind = PDM_IR_ATTR_F64;
        attr.u.f = a->value;
        return &attr;
    }
    return NULL;
}

static void fill(pdm_value *value, const values *v)
{
    pdm_value_init(value);
    value->kind = PDM_VALUE_TENSOR;
    ck_assert_int_eq(pdm_tensor_alloc(&value->tensor, v->dtype, v->rank, v->dims), PDM_OK);
    for (int64_t i = 0; i < pdm_tensor_count(&value->tensor); i++)
        pdm_set_double(&value->tensor, i, v->v[i]);
}

static bool near(double got, double want)
{
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    return fabs(got - want) <= 1e-6 * fabs(want);
}

static void compare(const pdm_tensor *got, const values *want, const char *op)
{
    ck_assert_msg(got->dtype == want->dtype, "%s gave %s", op, pdm_dtype_name(got->dtype));
    ck_assert_msg(got->rank == want->rank, "%s gave %d dimensions", op, got->rank);
    for (int d = 0; d < got->rank; d++)
        ck_assert_msg(got->dims[d] == want->dims[d], "%s: dimension %d", op, d);
    for (int64_t i = 0; i < pdm_tensor_count(got); i++)
        ck_assert_msg(near(pdm_get_double(got, i), want->v[i]), "%s: element %d is %.17g", op,
                      (int)i, pdm_get_double(got, i));
}

START_TEST(edges)
{
    const row *r = &rows[_i];
    pdm_value in[4], out[4], *ins[4] = {NULL}, *outs[4];
    pdm_k k = {.op = r->op, .in = ins, .out = outs, .num_out = 4, .legacy = r->legacy,
               .before = r->legacy ? PDM_DIFF_ALL : 0};
    uint32_t shows = 0;

    for (size_t i = 0; i < 4; i++) {
        pdm_value_init(&out[i]);
        outs[i] = &out[i];
        if (r->in[i].dtype == PDM_UNDEFINED)
            continue;
        fill(&in[i], &r->in[i]);
        ins[i] = &in[i];
        k.num_in = i + 1;
    }
    k.attrs = (pdm_k_source){attr_of, (void *)(uintptr_t)r->attrs};
    const pdm_kernel_fn kernel = pdm_kernel_find(r->op);
    ck_assert_ptr_nonnull(kernel);
    const pdm_status status = pdm_k_call(&k, kernel);
    ck_assert_msg((status != PDM_OK) == (r->want.dtype == PDM_UNDEFINED), "%s: %s", r->op,
                  k.message);
    if (status == PDM_OK)
        compare(&out[r->result].tensor, &r->want, r->op);
    if (status == PDM_OK) {
        ck_assert_int_eq(pdm_k_differences(&k, kernel, &shows), PDM_OK);
        ck_assert_msg(shows == r->shows, "%s shows the differences %x, not %x", r->op, shows,
                      r->shows);
    } else
        ck_assert_msg(k.message[0] != '\0', "%s refused without a word", r->op);
    pdm_k_end(&k);
    for (size_t i = 0; i < 4; i++) {
        if (ins[i])
            pdm_value_deinit(&in[i]);
        pdm_value_deinit(&out[i]);
    }
}
END_TEST

/* from, to and the converted numbers. */
static const struct cast_row {
    pdm_dtype to;
    values from, want;
    bool legacy;
} casts[] = {
    {PDM_I32, F(5, NAN_, INF_, 3e9, 1.9, -1.9),
     I(5, INT32_MIN, INT32_MIN, INT32_MIN, 1, -1), false},
    {PDM_U8, F(5, NAN_, 300, -1, 1.9, 1e20), U(5, 0, 44, 255, 1, 0), false},
    {PDM_BOOL, F(4, NAN_, 0, 0.1, -0.0), B(4, 1, 0, 1, 0), false},
    {PDM_I32, L(1, 3000000000.0), I(1, -1294967296), false},
    {PDM_F32, L(1, 16777217), F(1, 16777216), false},
    {PDM_F16, F(4, 65520, 65519, 1.0009, 3e-8),
     VEC(PDM_F16, 4, INF_, 65504, 1.0009765625, 5.9604644775390625e-8), false},
    {PDM_F16, F(4, 65520, 65504, 1.0009, 3e-8), VEC(PDM_F16, 4, INF_, 65504, 1, 0), true},
    {PDM_F16, I(2, 2049, 2051), VEC(PDM_F16, 2, 2048, 2052), false},
    {PDM_BF16, F(2, 1.012, -1.012), VEC(PDM_BF16, 2, 1.015625, -1.015625), false},
    {PDM_BF16, F(2, 1.012, -1.012), VEC(PDM_BF16, 2, 1.0078125, -1.0078125), true},
};

static pdm_ir_attr dtype_attr(void *self, const char *name)
{
    static struct pdm_ir_attr_s attr;

    attr.kind = PDM_IR_ATTR_DTYPE;
    attr.dtype = *(pdm_dtype *)self;
    return strcmp(name, "dtype") == 0 ? &attr : NULL;
}

START_TEST(conversions)
{
    pdm_value in, out, *ins[1] = {&in}, *outs[1] = {&out};
    pdm_dtype to = casts[_i].to;
    pdm_k k = {.op = "pd_op.cast", .in = ins, .num_in = 1, .out = outs, .num_out = 1,
               .attrs = {dtype_attr, &to}, .before = casts[_i].legacy ? PDM_DIFF_ALL : 0};

    fill(&in, &casts[_i].from);
    pdm_value_init(&out);
    ck_assert_int_eq(pdm_k_call(&k, pdm_kernel_find("pd_op.cast")), PDM_OK);
    compare(&out.tensor, &casts[_i].want, "cast");
    pdm_value_deinit(&in);
    pdm_value_deinit(&out);
}
END_TEST

Suite *pdm_suite_kernels_math(void)
{
    Suite *suite = suite_create("kernels_math");
    TCase *tcase = tcase_create("kernels_math");

    tcase_add_loop_test(tcase, edges, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_loop_test(tcase, conversions, 0, (int)(sizeof casts / sizeof *casts));
    suite_add_tcase(suite, tcase);
    return suite;
}
