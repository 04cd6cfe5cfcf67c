/*
 * Interpolation without aliases: when an image shrinks, the triangle or the cubic is stretched, so
 * that each output element is made of all that it stands for. Rows are done first, and rounded to
 * the element type; weights are float32 whatever that is.
 */
#include "exec/kernels/nn_interp.h"

#include <math.h>

/* Output element i is the sum of weight[i * most + t] times input element first[i] + t, t <
 * count[i]; for bytes, of whole numbers of 2^-bits[i]. */
typedef struct smooth_axis {
    int64_t most;
    int64_t *first, *count;
    float *weight;
    int *bits;
} smooth_axis;

typedef struct smooth {
    pdm_nn_interp p;
    smooth_axis y, x;
} smooth;

static float triangle(float x)
{
    x = fabsf(x);
    return x < 1 ? 1 - x : 0;
}

static float cubic(float x)
{
    const float a = -0.5F;

    x = fabsf(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/* Input elements for one output element. */
static float ratio_of(const pdm_nn_interp *p, int d)
{
    if (p->align_corners)
        return pdm_nn_interp_ratio(p, d);
    return p->scale[d] > 0 ? (float)(1 / p->scale[d])
                                 : (float)p->w.in[d] / (float)p->w.out[d];
}

/* How many bits after the point weights have, so that they fit 16 bits: the products of bytes are
 * summed up in integers. */
static int bits_of(const float *weight, int64_t count)
{
    float most = 0;
    int bits = 0;

    for (int64_t t = 0; t < count; t++)
        most = fmaxf(most, weight[t]);
    while (bits < 22 && 0.5 + ldexp((double)most, bits + 1) < 32768)
        bits++;
    return bits;
}

static void place(smooth_axis *a, int64_t i, const pdm_nn_interp *p, int d)
{
    float (*const filter)(float) = p->method == PDM_INTERP_CUBIC ? cubic : triangle;
    const float ratio = ratio_of(p, d), wide = ratio >= 1 ? ratio : 1, shrink = 1 / wide;
    const float reach = (p->method == PDM_INTERP_CUBIC ? 2.0F : 1.0F) * wide;
    const float centre = ratio * ((float)i + 0.5F);
    const float low = centre - reach + 0.5F, high = centre + reach + 0.5F;
    const int64_t first = low > 0 ? (int64_t)low : 0;
    const int64_t end = high < (float)p->w.in[d] ? (int64_t)high : p->w.in[d];
    float *weight = a->weight + i * a->most, sum = 0;

    a->first[i] = first;
    a->count[i] = end <= first ? 0 : end - first < a->most ? end - first : a->most;
    for (int64_t t = 0; t < a->count[i]; t++) {
        weight[t] = filter(((float)(first + t) - centre + 0.5F) * shrink);
        sum += weight[t];
    }
    for (int64_t t = 0; t < a->count[i] && sum != 0; t++)
        weight[t] /= sum;
    a->bits[i] = bits_of(weight, a->count[i]);
}

static bool make_axis(pdm_k *k, smooth_axis *a, const pdm_nn_interp *p, int d)
{
    const double ratio = (double)ratio_of(p, d);
    const double reach = (p->method == PDM_INTERP_CUBIC ? 2 : 1) * (ratio > 1 ? ratio : 1);
    const int64_t out = p->w.out[d];

    /* What is inside of 2 * reach, both ends included, and never more than the input. */
    a->most = reach < (double)p->w.in[d] ? 2 * (int64_t)reach + 3 : p->w.in[d];
    a->most = a->most < p->w.in[d] ? a->most : p->w.in[d];
    const int64_t bytes = pdm_nn_mul(k, pdm_nn_mul(k, out, a->most), (int64_t)sizeof *a->weight);
    if (!PDM_K_OK(k))
        return false;
    a->first = pdm_k_temp(k, (size_t)out * sizeof *a->first);
    a->count = pdm_k_temp(k, (size_t)out * sizeof *a->count);
    a->bits = pdm_k_temp(k, (size_t)out * sizeof *a->bits);
    a->weight = pdm_k_temp(k, (size_t)bytes);
    if (!a->first || !a->count || !a->bits || !a->weight)
        return false;
    for (int64_t i = 0; i < out; i++)
        place(a, i, p, d);
    return true;
}

/* One sum of products: in integers, float32 or float64. */
typedef struct sum {
    pdm_dtype dtype;
    int bits;
    int64_t whole;
    float single;
    double wide;
} sum;

static sum sum_start(pdm_dtype dtype, int bits)
{
    return (sum){.dtype = dtype, .bits = bits, .whole = bits > 0 ? (int64_t)1 << (bits - 1) : 0};
}

static void sum_add(sum *s, double value, float weight)
{
    if (s->dtype == PDM_U8) {
        const double scaled = ldexp((double)weight, s->bits);
        s->whole += (int64_t)value * (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    } else if (s->dtype == PDM_F64) {
        s->wide += value * (double)weight;
    } else {
        const float part = (float)value * weight;
        s->single += part;
    }
}

static double sum_end(const sum *s)
{
    if (s->dtype == PDM_U8) {
        const int64_t value = s->whole < 0 ? 0 : s->whole >> s->bits;
        return value > 255 ? 255 : (double)value;
    }
    if (s->dtype == PDM_F64)
        return s->wide;
    if (s->dtype == PDM_F16)
        return (double)pdm_f16_to_float(pdm_float_to_f16(s->single));
    if (s->dtype == PDM_BF16)
        return (double)pdm_bf16_to_float(pdm_float_to_bf16(s->single));
    return (double)s->single;
}

static double sum_row(const smooth *s, int64_t row, int64_t x)
{
    const smooth_axis *a = &s->x;
    sum result = sum_start(s->p.x->dtype, a->bits[x]);

    for (int64_t t = 0; t < a->count[x]; t++)
        sum_add(&result, pdm_nn_at(s->p.x, row + (a->first[x] + t) * s->p.xs[4]),
                a->weight[x * a->most + t]);
    return sum_end(&result);
}

static void rows(void *arg, int64_t begin, int64_t end)
{
    const smooth *s = arg;
    const pdm_nn_interp *p = &s->p;
    const smooth_axis *a = &s->y;

    for (int64_t row = begin; row < end; row++) {
        const int64_t plane = row / p->w.out[1], y = row % p->w.out[1];
        const int64_t n = plane / p->w.channels, c = plane % p->w.channels;
        const int64_t from = n * p->xs[0] + c * p->xs[1] + a->first[y] * p->xs[3];
        const int64_t to = n * p->os[0] + c * p->os[1] + y * p->os[3];
        for (int64_t x = 0; x < p->w.out[2]; x++) {
            sum result = sum_start(p->x->dtype, a->bits[y]);
            for (int64_t t = 0; t < a->count[y]; t++)
                sum_add(&result, sum_row(s, from + t * p->xs[3], x), a->weight[y * a->most + t]);
            pdm_nn_put(p->out, to + x * p->os[4], sum_end(&result));
        }
    }
}

pdm_status pdm_kernel_interp_antialias(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const char *method = pdm_k_str(k, "interp_method");
    smooth s = {.p = {.method = PDM_INTERP_LINEAR}};

    if (!x)
        return k->status;
    if (x->dtype != PDM_U8 && !pdm_nn_floats(k, x))
        return k->status;
    if (!strcmp(method, "bicubic"))
        s.p.method = PDM_INTERP_CUBIC;
    else if (PDM_K_OK(k) && strcmp(method, "bilinear") != 0)
        return pdm_k_fail(k, "there is no interpolation '%s' without aliases", method);
    if (x->rank != 4)
        return pdm_k_fail(k, "an operand with %d dimensions instead of 4", x->rank);
    if (!pdm_nn_interp_sizes(k, &s.p))
        return k->status;
    if (make_axis(k, &s.y, &s.p, 1) && make_axis(k, &s.x, &s.p, 2))
        pdm_k_parallel(k, s.p.w.batch * s.p.w.channels * s.p.w.out[1], 1, rows, &s);
    return k->status;
}
