/* Comparing tensors. */
#include <math.h>
#include <string.h>

#include "api/run.h"

/* Floats as ordered integers: neighbours differ by one, -0.0 and 0.0 are the same. */
static int64_t ordered(int64_t bits, int64_t sign)
{
    return bits & sign ? -(bits & ~sign) : bits;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static uint64_t ulps(pdm_dtype dtype, const void *a, const void *b, size_t i)
{
    switch (dtype) {
    case PDM_F16:
    case PDM_BF16: {
        const uint16_t x = ((const uint16_t *)a)[i], y = ((const uint16_t *)b)[i];
        return distance(ordered(x, 0x8000), ordered(y, 0x8000));
    }
    case PDM_F32:
    case PDM_C64: {
        int32_t x, y;
        memcpy(&x, (const float *)a + i, sizeof x);
        memcpy(&y, (const float *)b + i, sizeof y);
        return distance(ordered((uint32_t)x, 0x80000000), ordered((uint32_t)y, 0x80000000));
    }
    case PDM_F64:
    case PDM_C128: {
        int64_t x, y;
        memcpy(&x, (const double *)a + i, sizeof x);
        memcpy(&y, (const double *)b + i, sizeof y);
        return distance(x < 0 ? INT64_MIN - x : x, y < 0 ? INT64_MIN - y : y);
    }
    default:
        return 0;
    }
}

double pdm_api_number(pdm_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case PDM_BOOL:
        return ((const uint8_t *)data)[i] != 0;
    case PDM_I8:
        return ((const int8_t *)data)[i];
    case PDM_U8:
        return ((const uint8_t *)data)[i];
    case PDM_I16:
        return ((const int16_t *)data)[i];
    case PDM_U16:
        return ((const uint16_t *)data)[i];
    case PDM_I32:
        return ((const int32_t *)data)[i];
    case PDM_U32:
        return ((const uint32_t *)data)[i];
    case PDM_I64:
        return (double)((const int64_t *)data)[i];
    case PDM_U64:
        return (double)((const uint64_t *)data)[i];
    case PDM_F16:
        return (double)pdm_f16_to_float(((const uint16_t *)data)[i]);
    case PDM_BF16:
        return (double)pdm_bf16_to_float(((const uint16_t *)data)[i]);
    case PDM_F32:
    case PDM_C64:
        return (double)((const float *)data)[i];
    case PDM_F64:
    case PDM_C128:
        return ((const double *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
}

typedef struct sums {
    double xx, yy, xy;
    double worst; /* |difference| / tolerance so far; -1: none */
} sums;

/* The bin of a difference, see PDM_COMPARISON_BINS. */
static size_t bin_of(double difference)
{
    static const double edges[] = {1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4,
                                   1e-3,  1e-2,  1e-1,  1,    1e1,  1e2,  1e3,  1e4};
    size_t low = 0, high = sizeof edges / sizeof edges[0];

    _Static_assert(sizeof edges / sizeof edges[0] + 3 == PDM_COMPARISON_BINS, "a bin for each");
    if (difference == 0)
        return 0;
    if (!isfinite(difference))
        return PDM_COMPARISON_BINS - 1;
    while (low < high) { /* how many edges are not above it */
        const size_t middle = (low + high) / 2;
        if (difference >= edges[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return 1 + low;
}

/* Exact types: an int64 may differ where its double does not. */
static bool same_bytes(const pdm_tensor *a, const pdm_tensor *b, size_t i)
{
    const size_t size = pdm_dtype_size(a->dtype);
    return memcmp((const char *)a->data + i * size, (const char *)b->data + i * size, size) == 0;
}

static void compare_integer(const pdm_tensor *a, const pdm_tensor *b,
                            const pdm_compare_options *options, pdm_comparison *out, sums *s,
                            size_t i)
{
    const double x = pdm_api_number(a->dtype, a->data, i), y = pdm_api_number(b->dtype, b->data, i);
    const bool same = same_bytes(a, b, i);
    /* Neighbours beyond 2^53 are one double. */
    const double difference = same ? 0 : fmax(fabs(x - y), 1);

    s->xx += x * x;
    s->yy += y * y;
    s->xy += x * y;
    out->histogram[bin_of(difference)]++;
    if (same)
        return;
    if (!options->integers || difference > options->atol + options->rtol * fabs(x))
        out->mismatches++;
    out->max_abs = fmax(out->max_abs, difference);
    if (x != 0)
        out->max_rel = fmax(out->max_rel, difference / fabs(x));
    if (difference > s->worst || s->worst < 0) {
        s->worst = difference;
        out->worst = i;
        out->expected = x;
        out->actual = y;
    }
}

static void note_worst(pdm_comparison *out, sums *s, size_t i, double x, double y, double excess)
{
    if (excess <= s->worst)
        return;
    s->worst = excess;
    out->worst = i;
    out->expected = x;
    out->actual = y;
}

static void compare_float(const pdm_tensor *a, const pdm_tensor *b,
                          const pdm_compare_options *options, pdm_comparison *out, sums *s,
                          size_t i)
{
    const double x = pdm_api_number(a->dtype, a->data, i), y = pdm_api_number(b->dtype, b->data, i);

    if (!isfinite(x) || !isfinite(y)) {
        if ((isnan(x) && isnan(y)) || x == y) {
            out->histogram[0]++;
            return;
        }
        out->histogram[PDM_COMPARISON_BINS - 1]++;
        out->mismatches++;
        out->max_abs = out->max_rel = INFINITY;
        note_worst(out, s, i, x, y, INFINITY);
        return;
    }
    const double difference = fabs(x - y), tolerance = options->atol + options->rtol * fabs(x);
    const uint64_t steps = ulps(a->dtype, a->data, b->data, i);
    s->xx += x * x;
    s->yy += y * y;
    s->xy += x * y;
    out->histogram[bin_of(difference)]++;
    out->max_abs = fmax(out->max_abs, difference);
    if (x != 0)
        out->max_rel = fmax(out->max_rel, difference / fabs(x));
    if (steps > out->max_ulp)
        out->max_ulp = steps;
    if (difference > tolerance && (options->max_ulp == 0 || steps > options->max_ulp))
        out->mismatches++;
    if (difference > 0)
        note_worst(out, s, i, x, y, tolerance > 0 ? difference / tolerance : INFINITY);
}

static bool same_shape(const pdm_tensor *a, const pdm_tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static void compare_values(const pdm_tensor *a, const pdm_tensor *b,
                           const pdm_compare_options *options, pdm_comparison *out)
{
    const bool complex = pdm_dtype_is_complex(a->dtype),
               exact = !complex && !pdm_dtype_is_float(a->dtype);
    const size_t n = (size_t)pdm_tensor_count(a) * (complex ? 2 : 1);
    sums s = {.worst = exact ? -1 : 0};

    out->count = n;
    for (size_t i = 0; i < n; i++) {
        if (exact)
            compare_integer(a, b, options, out, &s, i);
        else
            compare_float(a, b, options, out, &s, i);
    }
    const double norm = sqrt(s.xx) * sqrt(s.yy);
    out->cosine = norm > 0 ? s.xy / norm : s.xx == s.yy ? 1 : 0;
    if (out->mismatches > 0)
        out->reason = "values";
    else if (options->min_cosine > 0 && out->cosine < options->min_cosine)
        out->reason = "cosine";
}

void pdm_api_compare(const pdm_tensor *expected, const pdm_tensor *actual,
                     const pdm_compare_options *options, pdm_comparison *out_comparison)
{
    *out_comparison = (pdm_comparison){.cosine = 1};
    if (expected->dtype != actual->dtype)
        out_comparison->reason = "dtype";
    else if (!same_shape(expected, actual))
        out_comparison->reason = "shape";
    else
        compare_values(expected, actual, options, out_comparison);
    out_comparison->equal = out_comparison->reason == NULL;
}

pdm_status pdm_compare(const pdm_tensor_view *expected, const pdm_tensor_view *actual,
                       const pdm_compare_options *options, pdm_comparison *out_comparison)
{
    pdm_compare_options given = {.rtol = 1e-5, .atol = 1e-5};
    pdm_tensor a = {0}, b = {0};

    if (!expected || !actual || !out_comparison)
        return PDM_INVALID_ARG;
    PDM_API_OPTIONS(given, options);
    PDM_TRY(pdm_api_tensor(expected, &a));
    const pdm_status status = pdm_api_tensor(actual, &b);
    if (status == PDM_OK)
        pdm_api_compare(&a, &b, &given, out_comparison);
    pdm_tensor_deinit(&b);
    pdm_tensor_deinit(&a);
    return status;
}
