/*
 * Quantization: to integers that stand in float tensors (fake), back, and weights packed to bytes.
 *
 * bound is the largest integer, 2^(bits - 1) - 1; a scale is the largest magnitude that is kept.
 */
#include <math.h>

#include "exec/kernels/dispatch.h"

#define FLOATS32_64(X, ...)                                                                        \
    X(PDM_F32, f32, float, float, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                             \
    X(PDM_F64, f64, double, double, PDM_K_SAME, PDM_K_SAME, __VA_ARGS__)                           \
    X(PDM_F16, f16, uint16_t, float, pdm_f16_to_float, pdm_float_to_f16, __VA_ARGS__)              \
    X(PDM_BF16, bf16, uint16_t, float, pdm_bf16_to_float, pdm_float_to_bf16, __VA_ARGS__)

/* How elements become integers. */
typedef struct grid {
    double low, high; /* integers that are kept; high is the bound that a scale stands for */
    bool away;        /* round halves away from zero and clip before, else to even and clip after */
    bool back;        /* give what the integer stands for */
} grid;

static grid grid_of_bits(pdm_k *k, int64_t bits)
{
    grid g = {0};

    if (bits < 2 || bits > 32)
        pdm_k_fail(k, "%lld bits", (long long)bits);
    else
        g.high = (double)(((int64_t)1 << (bits - 1)) - 1);
    g.low = -g.high - 1;
    g.away = pdm_k_int_or(k, "round_type", 1) == 1;
    return g;
}

/* Groups of elements with one scale each: [outer, channels, inner]. */
typedef struct layout {
    int64_t outer, channels, inner;
} layout;

static layout one_group(const pdm_tensor *x)
{
    return (layout){1, 1, pdm_tensor_count(x)};
}

static layout along(pdm_k *k, const pdm_tensor *x, int64_t axis)
{
    const int a = pdm_k_axis(k, axis, x->rank);

    if (!PDM_K_OK(k) || x->rank == 0)
        return one_group(x);
    return (layout){pdm_k_product(x->dims, 0, a), x->dims[a],
                    pdm_k_product(x->dims, a + 1, x->rank)};
}

#define QUANTIZE(code, suffix, type, acc, load, store, ...)                                        \
    static void quantize_##suffix(const void *x, void *out, int64_t n, double given,               \
                                  const grid *g)                                                   \
    {                                                                                              \
        const acc s = (acc)given, bound = (acc)g->high;                                            \
        const acc inverse = s <= (acc)1e-30 ? 1 / (s + (acc)1e-6) : 1 / s;                         \
        for (int64_t i = 0; i < n; i++) {                                                          \
            acc v = load(((const type *)x)[i]);                                                    \
            if (g->away) {                                                                         \
                v = v > s ? s : v < -s ? -s : v;                                                   \
                v = (acc)round((double)(bound * inverse * v));                                     \
            } else {                                                                               \
                v = (acc)rint((double)(bound * inverse * v));                                      \
                v = v > bound ? bound : v < (acc)g->low ? (acc)g->low : v;                         \
            }                                                                                      \
            ((type *)out)[i] = store(g->back ? v * s / bound : v);                                 \
        }                                                                                          \
    }
FLOATS32_64(QUANTIZE)

/* Into result 0. scales: one for each channel. */
static void quantize(pdm_k *k, const pdm_tensor *x, const layout *l, const double *scales,
                     const grid *g)
{
    char *out = PDM_K_OK(k) && pdm_k_wants(k, 0) ? pdm_k_out_like(k, 0, x) : NULL;
    const size_t bytes = pdm_dtype_size(x->dtype) * (size_t)l->inner;

    for (int64_t i = 0; out && i < l->outer * l->channels && PDM_K_OK(k); i++)
        PDM_K_DISPATCH(k, x->dtype, FLOATS32_64, quantize,
                       (const char *)x->data + (size_t)i * bytes, out + (size_t)i * bytes, l->inner,
                       scales[i % l->channels], g);
}

/* The largest magnitude of each channel; NULL after a failure. */
static double *largest(pdm_k *k, const pdm_tensor *x, const layout *l)
{
    double *most = pdm_k_temp(k, ((size_t)l->channels + 1) * sizeof *most);

    if (!most)
        return NULL;
    memset(most, 0, ((size_t)l->channels + 1) * sizeof *most);
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++) {
        const double v = fabs(pdm_get_double(x, i));
        double *to = &most[i / l->inner % l->channels];
        if (v > *to)
            *to = v;
    }
    return most;
}

/* Numbers as a vector of the element type of x. */
static void put(pdm_k *k, size_t index, pdm_dtype dtype, const double *values, int64_t n)
{
    if (!PDM_K_OK(k) || !pdm_k_wants(k, index) || !pdm_k_out(k, index, dtype, 1, &n))
        return;
    pdm_tensor *out = pdm_k_out_tensor(k, index);
    for (int64_t i = 0; i < n; i++)
        pdm_set_double(out, i, values[i]);
}

/* A float operand. */
static const pdm_tensor *floats(pdm_k *k, size_t index)
{
    const pdm_tensor *x = pdm_k_in(k, index);

    if (x && !pdm_dtype_is_float(x->dtype))
        pdm_k_unsupported_dtype(k, x->dtype);
    return PDM_K_OK(k) ? x : NULL;
}

/* ---- scales that are measured ---------------------------------------------------------------- */

static pdm_status by_abs_max(pdm_k *k, bool back)
{
    const pdm_tensor *x = floats(k, 0);
    grid g = grid_of_bits(k, pdm_k_int(k, "bit_length"));

    if (!x || !PDM_K_OK(k))
        return k->status;
    const layout l = one_group(x);
    const double *scale = largest(k, x, &l);
    g.back = back;
    if (scale) {
        quantize(k, x, &l, scale, &g);
        put(k, 1, x->dtype, scale, 1);
    }
    return k->status;
}

pdm_status pdm_kernel_fake_quantize_abs_max(pdm_k *k)
{
    return by_abs_max(k, false);
}

pdm_status pdm_kernel_fake_quantize_dequantize_abs_max(pdm_k *k)
{
    return by_abs_max(k, true);
}

static pdm_status by_channel(pdm_k *k, bool back)
{
    const pdm_tensor *x = floats(k, 0);
    grid g = grid_of_bits(k, pdm_k_int(k, "bit_length"));

    if (!x || !PDM_K_OK(k))
        return k->status;
    const layout l = along(k, x, pdm_k_int(k, "quant_axis"));
    const double *scales = PDM_K_OK(k) ? largest(k, x, &l) : NULL;
    g.back = back;
    if (scales) {
        quantize(k, x, &l, scales, &g);
        put(k, 1, x->dtype, scales, l.channels);
    }
    return k->status;
}

pdm_status pdm_kernel_fake_channel_wise_quantize_abs_max(pdm_k *k)
{
    return by_channel(k, false);
}

pdm_status pdm_kernel_fake_channel_wise_quantize_dequantize_abs_max(pdm_k *k)
{
    return by_channel(k, true);
}

/* ---- scales that are given, or follow what was seen ------------------------------------------ */

/* accum and state: operands and results with the running sums. Gives their quotient. */
static double follow(pdm_k *k, const pdm_tensor *x, const size_t in[2], const size_t out[2])
{
    const layout l = one_group(x);
    const double *most = largest(k, x, &l);
    const double rate = (double)(float)pdm_k_float_or(k, "moving_rate", 0.9);
    const double accum = rate * pdm_k_in_float(k, in[0], 1) + (most ? *most : 0);
    const double state = rate * pdm_k_in_float(k, in[1], 1) + 1;

    put(k, out[0], x->dtype, &accum, 1);
    put(k, out[1], x->dtype, &state, 1);
    return accum / state;
}

/* A test run leaves what it follows as it is: a result is the operand that it is written over. */
static void kept(pdm_k *k, size_t result, size_t operand)
{
    const pdm_tensor *given = pdm_k_in_opt(k, operand);

    if (given && PDM_K_OK(k) && pdm_k_wants(k, result))
        pdm_k_share(k, result, given, given->rank, given->dims);
}

static pdm_status by_moving_average(pdm_k *k, bool back)
{
    const pdm_tensor *x = floats(k, 0), *given = floats(k, 1);
    grid g = grid_of_bits(k, pdm_k_int(k, "bit_length"));

    if (!x || !given || !PDM_K_OK(k))
        return k->status;
    const layout l = one_group(x);
    const double scale = pdm_k_bool(k, "is_test")
                             ? pdm_k_in_float(k, 1, 0)
                             : follow(k, x, (const size_t[]){2, 3}, (const size_t[]){3, 2});
    g.back = back;
    quantize(k, x, &l, &scale, &g);
    if (!pdm_k_bool(k, "is_test")) {
        put(k, 1, x->dtype, &scale, 1);
        return k->status;
    }
    kept(k, 1, 1);
    kept(k, 2, 3);
    kept(k, 3, 2);
    return k->status;
}

pdm_status pdm_kernel_fake_quantize_moving_average_abs_max(pdm_k *k)
{
    return by_moving_average(k, false);
}

pdm_status pdm_kernel_fake_quantize_dequantize_moving_average_abs_max(pdm_k *k)
{
    return by_moving_average(k, true);
}

/* x, in_accum, in_state: measures only */
pdm_status pdm_kernel_moving_average_abs_max_scale(pdm_k *k)
{
    const pdm_tensor *x = floats(k, 0);

    if (!x)
        return k->status;
    if (pdm_k_wants(k, 0))
        pdm_k_share(k, 0, x, x->rank, x->dims);
    if (pdm_k_bool(k, "is_test")) {
        kept(k, 2, 2);
        kept(k, 3, 1);
        return k->status;
    }
    const double scale = follow(k, x, (const size_t[]){1, 2}, (const size_t[]){3, 2});
    put(k, 1, x->dtype, &scale, 1);
    return k->status;
}

/* x, in_scale, iter. The largest scale of the last steps; those before this one are not seen. */
pdm_status pdm_kernel_fake_quantize_range_abs_max(pdm_k *k)
{
    const pdm_tensor *x = floats(k, 0);
    const grid g = grid_of_bits(k, pdm_k_int(k, "bit_length"));

    if (!x || !PDM_K_OK(k))
        return k->status;
    const layout l = one_group(x);
    const bool test = pdm_k_bool(k, "is_test");
    const double *most = test ? NULL : largest(k, x, &l);
    double scale = pdm_k_in_float(k, 1, 0);
    if (most && *most > scale)
        scale = *most;
    quantize(k, x, &l, &scale, &g);
    if (test)
        kept(k, 1, 1);
    else
        put(k, 1, x->dtype, &scale, 1);
    const int64_t window = pdm_k_int(k, "window_size"), step = pdm_k_in_int(k, 2, 0);
    if (test || !most || !PDM_K_OK(k) || !pdm_k_wants(k, 2))
        return k->status;
    if (window < 1 || step < 0)
        return pdm_k_fail(k, "step %lld of a window of %lld", (long long)step, (long long)window);
    void *scales = pdm_k_out(k, 2, x->dtype, 1, &window);
    if (scales) {
        memset(scales, 0, pdm_tensor_bytes(pdm_k_out_tensor(k, 2)));
        pdm_set_double(pdm_k_out_tensor(k, 2), step % window, *most);
    }
    return k->status;
}

/* ---- quantize_linear, dequantize_linear ------------------------------------------------------ */

/* The integers: of PIR's attributes; 2.6.2 goes by the bits alone. */
static grid linear_grid(pdm_k *k)
{
    grid g = grid_of_bits(k, pdm_k_int(k, "bit_length"));

    g.away = pdm_k_int(k, "round_type") == 1;
    if (!pdm_k_before(k, PDM_DIFF_QUANT)) {
        g.low = (double)pdm_k_int(k, "qmin");
        g.high = (double)pdm_k_int(k, "qmax");
    }
    return g;
}

/* Groups of x by its scales; fails when there are not as many. */
static layout linear_layout(pdm_k *k, const pdm_tensor *x, const pdm_tensor *scale)
{
    const int64_t axis = pdm_k_int(k, "quant_axis");
    const layout l = axis < 0 ? one_group(x) : along(k, x, axis);

    if (PDM_K_OK(k) && pdm_tensor_count(scale) != l.channels)
        pdm_k_fail(k, "%lld scales for %lld channels", (long long)pdm_tensor_count(scale),
                   (long long)l.channels);
    return l;
}

static double *numbers_of(pdm_k *k, const pdm_tensor *t)
{
    const int64_t n = pdm_tensor_count(t);
    double *out = pdm_k_temp(k, ((size_t)n + 1) * sizeof *out);

    for (int64_t i = 0; out && i < n; i++)
        out[i] = pdm_get_double(t, i);
    return out;
}

/* x, scale, zero_point, in_accum, in_state */
pdm_status pdm_kernel_quantize_linear(pdm_k *k)
{
    const pdm_tensor *x = floats(k, 0), *scale = pdm_k_in(k, 1);
    const grid g = linear_grid(k);

    if (!x || !PDM_K_OK(k))
        return k->status;
    const layout l = linear_layout(k, x, scale);
    double *scales = PDM_K_OK(k) ? numbers_of(k, scale) : NULL;
    if (!scales)
        return k->status;
    if (!pdm_k_bool(k, "is_test") && l.channels == 1) {
        scales[0] = follow(k, x, (const size_t[]){3, 4}, (const size_t[]){2, 1});
        put(k, 3, x->dtype, scales, 1);
    } else {
        kept(k, 1, 4);
        kept(k, 2, 3);
        kept(k, 3, 1);
    }
    if (!pdm_k_bool(k, "only_observer"))
        quantize(k, x, &l, scales, &g);
    else if (pdm_k_wants(k, 0))
        pdm_k_share(k, 0, x, x->rank, x->dims);
    return k->status;
}

/* x * scale / bound. (3.3.1 computes something else from the PIR op; programs mean this.) */
pdm_status pdm_kernel_dequantize_linear(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *scale = floats(k, 1);
    const double bound = linear_grid(k).high;

    if (!scale || !PDM_K_OK(k))
        return k->status;
    const layout l = linear_layout(k, x, scale);
    if (!PDM_K_OK(k) || !pdm_k_out(k, 0, scale->dtype, x->rank, x->dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    const bool plain = pdm_k_bool(k, "only_observer");
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++) {
        const double v = pdm_get_double(x, i);
        const double s = pdm_get_double(scale, i / l.inner % l.channels);
        if (scale->dtype == PDM_F32)
            ((float *)out->data)[i] = plain ? (float)v : (float)v * (float)s / (float)bound;
        else
            pdm_set_double(out, i, plain ? v : v * s / bound);
    }
    pdm_k_share_lod(k, 0, x);
    kept(k, 1, 4);
    kept(k, 2, 3);
    kept(k, 3, 1);
    return k->status;
}

/* ---- back to numbers ------------------------------------------------------------------------- */

static float largest_of_bits(pdm_k *k, int64_t bits)
{
    return (float)grid_of_bits(k, bits).high;
}

/* x, scales: of the channels of the weights, and perhaps one of the activations. */
pdm_status pdm_kernel_fake_channel_wise_dequantize_max_abs(pdm_k *k)
{
    const pdm_tensor *x = floats(k, 0), *weights = pdm_k_list_at(k, 1, 0);
    const bool two = pdm_k_list_count(k, 1) > 1;
    const pdm_tensor *more = two ? pdm_k_list_at(k, 1, 1) : NULL;
    int64_t bits[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_k_ints(k, "quant_bits", bits);

    if (!x || !PDM_K_OK(k))
        return k->status;
    if (n < (two ? 2U : 1U) || (two && pdm_tensor_count(more) < 1))
        return pdm_k_fail(k, "%zu numbers of bits for two scales", n);
    /* With two scales the channels are behind x_num_col_dims dims. */
    const layout l = along(k, x, two ? pdm_k_int(k, "x_num_col_dims") : pdm_k_int(k, "quant_axis"));
    float range = largest_of_bits(k, bits[0]);
    if (two)
        range *= largest_of_bits(k, bits[1]);
    if (PDM_K_OK(k) && pdm_tensor_count(weights) != l.channels)
        pdm_k_fail(k, "%lld scales for %lld channels", (long long)pdm_tensor_count(weights),
                   (long long)l.channels);
    if (!PDM_K_OK(k) || !pdm_k_out_like(k, 0, x))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0, count = pdm_tensor_count(x); i < count; i++) {
        float s = (float)pdm_get_double(weights, i / l.inner % l.channels);
        if (two)
            s *= (float)pdm_get_double(more, 0);
        pdm_set_double(out, i, (double)((float)pdm_get_double(x, i) * s / range));
    }
    return k->status;
}

/* x * scale / max_range: dequantize_abs_max of bytes, fake_dequantize_max_abs of floats */
pdm_status pdm_kernel_dequantize_max_abs(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *scale = floats(k, 1);
    const float range = (float)pdm_k_float(k, "max_range");
    const float s = (float)pdm_k_in_float(k, 1, 0);

    if (!scale || !PDM_K_OK(k) || !pdm_k_out(k, 0, scale->dtype, x->rank, x->dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++)
        pdm_set_double(out, i, (double)(s * (float)pdm_get_double(x, i) / range));
    pdm_k_share_lod(k, 0, x);
    return k->status;
}

/* x: bytes, which name entries of dict; negative ones stand for negative numbers. */
pdm_status pdm_kernel_dequantize_log(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *dict = floats(k, 1);

    if (!dict || !PDM_K_OK(k))
        return k->status;
    if (x->dtype != PDM_I8 || pdm_tensor_count(dict) < 128)
        return pdm_k_fail(k, "bytes and a table of 128 numbers are needed");
    if (!pdm_k_out(k, 0, dict->dtype, x->rank, x->dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++) {
        const int v = ((const int8_t *)x->data)[i];
        const double entry = pdm_get_double(dict, v < 0 ? v + 128 : v);
        pdm_set_double(out, i, v < 0 ? -entry : entry);
    }
    pdm_k_share_lod(k, 0, x);
    return k->status;
}

/* ---- weights in bytes ------------------------------------------------------------------------ */

/* How a [rows, columns] matrix is stored, and what its scales stand for: [rows / group, columns].
 */
typedef struct packing {
    int64_t rows, columns, group;
    int bits;     /* 8, or 4: two to a byte, the first in the lower half; flipped in the top bit */
    bool plain;   /* column by column, and not flipped */
    bool by_rows; /* as architectures before 75 want it */
} packing;

/* Columns (of by_rows) or rows that take turns: what one register of 32 bits holds. */
static int64_t packed_turns(const packing *p)
{
    return p->bits == 8 ? 2 : 4;
}

/*
 * Which number is element (r, c). In rows, the even columns of 4 (or 8) come first. Else every
 * eighth row of blocks of 16 (or 32) stands together, then tiles of 64 rows of two (or four)
 * columns alternate: the form that kernels for tensor cores read.
 */
static int64_t packed_place(const packing *p, int64_t r, int64_t c)
{
    const int64_t n = packed_turns(p);

    if (p->plain)
        return c * p->rows + r;
    if (p->by_rows)
        return r * p->columns + c / (2 * n) * (2 * n) + c % 2 * n + c % (2 * n) / 2;
    const int64_t at = r / (8 * n) * (8 * n) + n * (r % 8) + r % (8 * n) / 8;
    return c / n * n * p->rows + at / 64 * 64 * n + c % n * 64 + at % 64;
}

static void packed_put(const packing *p, int8_t *bytes, int64_t r, int64_t c, int value)
{
    const int64_t place = packed_place(p, r, c);

    if (p->plain) {
        bytes[place] = (int8_t)value;
    } else if (p->bits == 8) {
        bytes[place] = (int8_t)(value ^ 0x80);
    } else {
        const int shift = place % 2 ? 4 : 0, kept = bytes[place / 2] & (0xF0 >> shift);
        bytes[place / 2] = (int8_t)(kept | ((value & 15) ^ 8) << shift);
    }
}

static int packed_get(const packing *p, const int8_t *bytes, int64_t r, int64_t c)
{
    const int64_t place = packed_place(p, r, c);

    if (p->plain)
        return bytes[place];
    if (p->bits == 8)
        return (bytes[place] & 255) - 128;
    return ((bytes[place / 2] >> (place % 2 ? 4 : 0)) & 15) - 8;
}

/* Fails the call when there is no such form. */
static void packing_check(pdm_k *k, packing *p, int64_t arch, int64_t group)
{
    if (!PDM_K_OK(k))
        return;
    if (!p->plain && (p->rows % 64 || p->columns % 16))
        pdm_k_fail(k, "%lld rows and %lld columns instead of multiples of 64 and 16",
                   (long long)p->rows, (long long)p->columns);
    else if (!p->plain && arch < 75 && arch != 70)
        pdm_k_fail(k, "weights for architecture %lld are not supported", (long long)arch);
    else if (group > 0 && (p->plain || (group != 64 && group != 128) || p->rows % group))
        pdm_k_fail(k, "groups of %lld for %lld rows", (long long)group, (long long)p->rows);
    p->group = group > 0 ? group : p->rows;
    p->by_rows = !p->plain && arch < 75;
}

/* By the name of an algorithm: only bits and plain are set. */
static packing packing_of(pdm_k *k, const char *algo)
{
    packing p = {.bits = !strcmp(algo, "weight_only_int4") ? 4 : 8,
                 .plain = !strcmp(algo, "llm.int8")};

    if (PDM_K_OK(k) && !p.plain && p.bits == 8 && strcmp(algo, "weight_only_int8") != 0)
        pdm_k_fail(k, "algorithm '%s' is not supported", algo);
    return p;
}

/* The largest magnitudes of groups and columns over the bound, as the type of x keeps them. */
static const pdm_tensor *packed_scales(pdm_k *k, const packing *p, const pdm_tensor *x,
                                       double bound)
{
    const int64_t groups = p->rows / p->group;
    const int64_t dims[2] = {groups, p->columns};
    const int rank = p->group < p->rows || pdm_k_int_or(k, "group_size", -1) > 0 ? 2 : 1;

    if (!pdm_k_out(k, 1, x->dtype, rank, rank == 2 ? dims : dims + 1))
        return NULL;
    pdm_tensor *out = pdm_k_out_tensor(k, 1);
    for (int64_t i = 0; i < groups * p->columns; i++) {
        const int64_t first = i / p->columns * p->group * p->columns + i % p->columns;
        double most = 0;
        for (int64_t r = 0; r < p->group; r++)
            most = fmax(most, fabs(pdm_get_double(x, first + r * p->columns)));
        pdm_set_double(out, i, most / bound);
    }
    return out;
}

/* x: [rows, columns]; bytes [columns, rows] (or half as many columns), and the scales. */
pdm_status pdm_kernel_weight_quantize(pdm_k *k)
{
    const pdm_tensor *x = floats(k, 0);
    packing p = packing_of(k, pdm_k_str(k, "algo"));
    const int bound = p.bits == 8 ? 127 : 7;

    if (!x || !PDM_K_OK(k))
        return k->status;
    if (x->rank != 2)
        return pdm_k_fail(k, "weights with %d dimensions instead of 2", x->rank);
    p.rows = x->dims[0];
    p.columns = x->dims[1];
    packing_check(k, &p, pdm_k_int(k, "arch"), pdm_k_int_or(k, "group_size", -1));
    if (!PDM_K_OK(k) || !pdm_k_wants(k, 1))
        return k->status;
    const pdm_tensor *scales = packed_scales(k, &p, x, bound);
    const int64_t dims[2] = {p.bits == 8 ? p.columns : p.columns / 2, p.rows};
    int8_t *out = pdm_k_out(k, 0, PDM_I8, 2, dims);
    if (out && p.bits == 4)
        memset(out, 0, (size_t)(p.rows * p.columns / 2));
    for (int64_t i = 0; out && scales && i < p.rows * p.columns; i++) {
        const int64_t r = i / p.columns, c = i % p.columns;
        const float s = (float)pdm_get_double(scales, r / p.group * p.columns + c);
        const float v = roundf((float)pdm_get_double(x, i) / s);
        const float kept = fminf(fmaxf(v, (float)-bound), (float)bound);
        /* Columns of zeros have no scale: what comes of that in the framework. */
        const int without = p.bits == 8 ? bound : -bound;
        packed_put(&p, out, r, c, isnan(v) ? without : (int)kept);
    }
    return k->status;
}

/* The packing of stored weights, whose scales are given; fails the call when they do not fit. */
static void packing_of_stored(pdm_k *k, packing *p, const pdm_tensor *weight,
                              const pdm_tensor *scale, int64_t arch)
{
    if (!PDM_K_OK(k))
        return;
    if (weight->rank != 2 || weight->dtype != PDM_I8) {
        pdm_k_fail(k, "weights that are no matrix of bytes");
        return;
    }
    p->rows = weight->dims[1];
    p->columns = weight->dims[0];
    if (p->bits == 4 && __builtin_mul_overflow(p->columns, 2, &p->columns))
        pdm_k_fail(k, "the weights are too large");
    packing_check(k, p, arch, pdm_k_int_or(k, "group_size", -1));
    if (PDM_K_OK(k) && p->rows > 0 && pdm_tensor_count(scale) != p->rows / p->group * p->columns)
        pdm_k_fail(k, "%lld scales instead of %lld", (long long)pdm_tensor_count(scale),
                   (long long)(p->rows / p->group * p->columns));
}

static float unpacked(const packing *p, const pdm_tensor *weight, const pdm_tensor *scale,
                      int64_t r, int64_t c)
{
    return (float)packed_get(p, weight->data, r, c) *
           (float)pdm_get_double(scale, r / p->group * p->columns + c);
}

/* x: bytes; the weights as they were, in the type of the scales. */
pdm_status pdm_kernel_weight_dequantize(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *scale = floats(k, 1);
    packing p = packing_of(k, pdm_k_str(k, "algo"));

    packing_of_stored(k, &p, x, scale, 80);
    if (!PDM_K_OK(k) || !pdm_k_out(k, 0, scale->dtype, 2, (const int64_t[]){p.rows, p.columns}))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0; i < p.rows * p.columns; i++)
        pdm_set_double(out, i, (double)unpacked(&p, x, scale, i / p.columns, i % p.columns));
    return k->status;
}

typedef struct packed_linear {
    const packing *p;
    const pdm_tensor *x, *weight, *bias, *scale;
    pdm_tensor *out;
} packed_linear;

static void packed_columns(void *arg, int64_t begin, int64_t end)
{
    const packed_linear *l = arg;
    const int64_t rows = l->p->rows, columns = l->p->columns;
    const int64_t count = rows > 0 ? pdm_tensor_count(l->x) / rows : 0;

    for (int64_t c = begin; c < end; c++) {
        for (int64_t i = 0; i < count; i++) {
            double sum = 0;
            for (int64_t r = 0; r < rows; r++)
                sum += pdm_get_double(l->x, i * rows + r) *
                       (double)unpacked(l->p, l->weight, l->scale, r, c);
            pdm_set_double(l->out, i * columns + c,
                           sum + (l->bias ? pdm_get_double(l->bias, c) : 0));
        }
    }
}

/* x, weight, bias, weight_scale: x * weight + bias */
pdm_status pdm_kernel_weight_only_linear(pdm_k *k)
{
    const pdm_tensor *x = floats(k, 0), *weight = pdm_k_in(k, 1), *bias = pdm_k_in_opt(k, 2);
    const pdm_tensor *scale = floats(k, 3);
    const char *kind = pdm_k_str(k, "weight_dtype");
    packing p = {.bits = !strcmp(kind, "int4") ? 4 : 8};
    int64_t dims[PDM_MAX_RANK];

    if (PDM_K_OK(k) && p.bits == 8 && strcmp(kind, "int8") != 0)
        pdm_k_fail(k, "weights of type '%s' are not supported", kind);
    packing_of_stored(k, &p, weight, scale, pdm_k_int_or(k, "arch", 80));
    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank < 1 || x->dims[x->rank - 1] != p.rows ||
        (bias && pdm_tensor_count(bias) != p.columns))
        return pdm_k_fail(k, "operands that do not fit a matrix of %lld rows and %lld columns",
                          (long long)p.rows, (long long)p.columns);
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = p.columns;
    if (!pdm_k_out(k, 0, x->dtype, x->rank, dims))
        return k->status;
    packed_linear l = {&p, x, weight, bias, scale, pdm_k_out_tensor(k, 0)};
    pdm_k_parallel(k, p.columns, 1, packed_columns, &l);
    return k->status;
}

/* ---- another library's forms ----------------------------------------------------------------- */

static pdm_tensor *new_out(pdm_k *k, const pdm_tensor *x, pdm_dtype dtype)
{
    pdm_tensor *out = x ? pdm_k_out_slot(k, "Output") : NULL;

    if (!out)
        return NULL;
    if (pdm_tensor_alloc(out, dtype, x->rank, x->dims) != PDM_OK) {
        pdm_k_nomem(k);
        return NULL;
    }
    return out;
}

static const pdm_tensor *slot_input(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_slot(k, "Input");

    if (!x)
        pdm_k_fail(k, "operand 'Input' holds no tensor");
    return x;
}

/* The nearest byte, ties to even. */
static int64_t to_byte(float v, bool is_signed)
{
    const float low = is_signed ? -128.0F : 0.0F, high = is_signed ? 127.0F : 255.0F;

    return (int64_t)rintf(v > high ? high : v > low ? v : low);
}

pdm_status pdm_kernel_legacy_quantize(pdm_k *k)
{
    const pdm_tensor *x = slot_input(k);
    const float scale = (float)pdm_k_float_or(k, "Scale", 1);
    const float shift = (float)pdm_k_float_or(k, "Shift", 0);
    const bool is_signed =
        pdm_k_bool_or(k, "is_negative_input", false) && !(shift < 0 || shift > 0);
    const bool half = pdm_k_bool_or(k, "bfloat16", false);
    pdm_tensor *out = new_out(k, x, half ? PDM_BF16 : is_signed ? PDM_I8 : PDM_U8);

    for (int64_t i = 0, n = out ? pdm_tensor_count(x) : 0; i < n; i++) {
        const float v = (float)pdm_get_double(x, i);
        if (half)
            pdm_set_double(out, i, (double)v);
        else
            pdm_set_int(out, i, to_byte(v * scale + shift, is_signed));
    }
    return k->status;
}

pdm_status pdm_kernel_legacy_dequantize(pdm_k *k)
{
    const pdm_tensor *x = slot_input(k);
    const float scale = (float)pdm_k_float_or(k, "Scale", 1);
    const float shift = (float)pdm_k_float_or(k, "Shift", 0);
    pdm_tensor *out = new_out(k, x, PDM_F32);

    for (int64_t i = 0, n = out ? pdm_tensor_count(x) : 0; i < n; i++)
        ((float *)out->data)[i] = ((float)pdm_get_double(x, i) - shift) / scale;
    return k->status;
}

pdm_status pdm_kernel_legacy_requantize(pdm_k *k)
{
    const pdm_tensor *x = slot_input(k);
    const double ratio = pdm_k_float_or(k, "Scale_out", 1) / pdm_k_float_or(k, "Scale_in", 1);
    double shift = pdm_k_float_or(k, "Shift_out", 0) - ratio * pdm_k_float_or(k, "Shift_in", 0);
    const bool is_signed = x && x->dtype == PDM_I8;
    pdm_tensor *out = new_out(k, x, is_signed ? PDM_I8 : PDM_U8);

    /* The shift is a whole number in the range of the bytes. */
    shift = shift >= 255 ? 255 : shift > 0 ? floor(shift + 0.5) : 0;
    for (int64_t i = 0, n = out ? pdm_tensor_count(x) : 0; i < n; i++)
        pdm_set_int(out, i,
                    to_byte((float)pdm_get_double(x, i) * (float)ratio + (float)shift, is_signed));
    return k->status;
}
