/* Fourier transforms and what belongs to them: fft_c2c, fft_r2c, fft_c2r, frame, overlap_add, stft.
 */
#include <math.h>

#include "exec/kernels/dispatch.h"
#include "exec/kernels/linalg_dense.h"

#define PI 3.14159265358979323846

/* ---- one transform --------------------------------------------------------------------------- */

/* Transforms of n numbers: by halves when n is a power of two, else by a convolution of such a
 * length (Bluestein). */
typedef struct fft {
    int64_t n, size; /* size: power of two, at least n; more than twice n for a convolution */
    pdm_cx *roots;   /* e^(-2 pi i j / size), size / 2 of them */
    pdm_cx *chirp;   /* e^(-pi i j^2 / n); NULL when n is a power of two */
    pdm_cx *kernel;  /* the transformed conjugate chirp */
    pdm_cx *work;    /* size numbers */
} fft;

static void powers_of_two(const fft *f, pdm_cx *x)
{
    for (int64_t i = 1, j = 0; i < f->size; i++) {
        int64_t bit = f->size >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            const pdm_cx swap = x[i];
            x[i] = x[j];
            x[j] = swap;
        }
    }
    for (int64_t half = 1; half < f->size; half *= 2) {
        const int64_t step = f->size / (2 * half);
        for (int64_t start = 0; start < f->size; start += 2 * half) {
            for (int64_t j = 0; j < half; j++) {
                const pdm_cx a = x[start + j], b = x[start + j + half] * f->roots[j * step];
                x[start + j] = a + b;
                x[start + j + half] = a - b;
            }
        }
    }
}

static bool fft_init(pdm_k *k, pdm_arena *arena, fft *f, int64_t n)
{
    *f = (fft){.n = n, .size = 1};
    if (n > INT64_MAX / 64) {
        pdm_k_nomem(k);
        return false;
    }
    while (f->size < n)
        f->size *= 2;
    const bool plain = f->size == n;
    if (!plain)
        while (f->size < 2 * n - 1)
            f->size *= 2;
    f->roots = pdm_k_scratch(k, arena, f->size / 2 + 1, sizeof *f->roots);
    f->work = pdm_k_scratch(k, arena, f->size, sizeof *f->work);
    for (int64_t j = 0; PDM_K_OK(k) && j < f->size / 2; j++) {
        const double angle = -2 * PI * (double)j / (double)f->size;
        f->roots[j] = CMPLX(cos(angle), sin(angle));
    }
    if (plain || !PDM_K_OK(k))
        return PDM_K_OK(k);
    f->chirp = pdm_k_scratch(k, arena, n, sizeof *f->chirp);
    f->kernel = pdm_k_scratch(k, arena, f->size, sizeof *f->kernel);
    for (int64_t j = 0, square = 0; PDM_K_OK(k) && j < n; j++) {
        const double angle = -PI * (double)square / (double)n;
        f->chirp[j] = CMPLX(cos(angle), sin(angle));
        f->kernel[j] = conj(f->chirp[j]);
        if (j)
            f->kernel[f->size - j] = conj(f->chirp[j]);
        square = (square + 2 * j + 1) % (2 * n); /* j^2 modulo 2 n */
    }
    if (PDM_K_OK(k))
        powers_of_two(f, f->kernel);
    return PDM_K_OK(k);
}

/* Forward transform of x in place. */
static void forward(const fft *f, pdm_cx *x)
{
    if (!f->chirp) {
        powers_of_two(f, x);
        return;
    }
    for (int64_t j = 0; j < f->size; j++)
        f->work[j] = j < f->n ? x[j] * f->chirp[j] : 0;
    powers_of_two(f, f->work);
    for (int64_t j = 0; j < f->size; j++) /* conjugated for the way back */
        f->work[j] = conj(f->work[j] * f->kernel[j]);
    powers_of_two(f, f->work);
    for (int64_t j = 0; j < f->n; j++)
        x[j] = conj(f->work[j]) / (double)f->size * f->chirp[j];
}

static void transform(const fft *f, pdm_cx *x, bool is_forward)
{
    for (int64_t j = 0; !is_forward && j < f->n; j++)
        x[j] = conj(x[j]);
    forward(f, x);
    for (int64_t j = 0; !is_forward && j < f->n; j++)
        x[j] = conj(x[j]);
}

/* Transform dense data along an axis. */
static void along_axis(pdm_k *k, pdm_cx *data, int rank, const int64_t *dims, int axis,
                       bool is_forward)
{
    const int64_t n = dims[axis], inner = pdm_k_product(dims, axis + 1, rank);
    const int64_t outer = pdm_k_product(dims, 0, axis);
    pdm_arena arena;
    fft f;

    pdm_arena_init(&arena);
    pdm_cx *line = pdm_k_scratch(k, &arena, n, sizeof *line);
    if (line && n > 0 && fft_init(k, &arena, &f, n)) {
        for (int64_t i = 0; i < outer * inner; i++) {
            pdm_cx *at = data + i / inner * n * inner + i % inner;
            for (int64_t j = 0; j < n; j++)
                line[j] = at[j * inner];
            transform(&f, line, is_forward);
            for (int64_t j = 0; j < n; j++)
                at[j * inner] = line[j];
        }
    }
    pdm_arena_deinit(&arena);
}

/* ---- the ops --------------------------------------------------------------------------------- */

typedef struct call {
    const pdm_tensor *x;
    int axes[PDM_MAX_RANK];
    int num;
    bool is_forward;
    const char *norm;
    pdm_cx *data; /* of x, later of the result */
    int64_t dims[PDM_MAX_RANK];
} call;

static bool read_call(pdm_k *k, pdm_arena *arena, call *c)
{
    int64_t axes[PDM_K_MAX_INTS];
    const size_t num = pdm_k_ints(k, "axes", axes);

    c->x = pdm_k_in(k, 0);
    c->norm = pdm_k_str(k, "normalization");
    c->is_forward = pdm_k_bool(k, "forward");
    if (!PDM_K_OK(k))
        return false;
    if (num < 1 || num > (size_t)c->x->rank) {
        pdm_k_fail(k, "there are %zu axes", num);
        return false;
    }
    for (size_t i = 0; i < num; i++)
        c->axes[c->num++] = pdm_k_axis(k, axes[i], c->x->rank);
    memcpy(c->dims, c->x->dims, sizeof c->dims);
    c->data = pdm_k_scratch(k, arena, pdm_tensor_count(c->x), sizeof *c->data);
    if (!PDM_K_OK(k))
        return false;
    pdm_cx_load(c->x, 0, pdm_tensor_count(c->x), c->data);
    return true;
}

/* What the sums of n numbers are divided by. */
static double divisor(pdm_k *k, const call *c, double n)
{
    if (!strcmp(c->norm, "ortho"))
        return sqrt(n);
    if (!strcmp(c->norm, "forward"))
        return c->is_forward ? n : 1;
    if (strcmp(c->norm, "backward") && *c->norm)
        pdm_k_fail(k, "there is no normalization '%s'", c->norm);
    return c->is_forward ? 1 : n;
}

static double points(const call *c, const int64_t *dims)
{
    double n = 1;

    for (int i = 0; i < c->num; i++)
        n *= (double)dims[c->axes[i]];
    return n;
}

static void put(pdm_k *k, const call *c, pdm_dtype dtype, const pdm_cx *data, double by)
{
    if (!PDM_K_OK(k) || !pdm_k_out(k, 0, dtype, c->x->rank, c->dims))
        return;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0, n = pdm_tensor_count(out); i < n; i++) {
        const pdm_cx v = data[i] / by;
        pdm_cx_store(out, i, 1, &v);
    }
}

static pdm_dtype complex_of(pdm_dtype dtype)
{
    return dtype == PDM_F64 || dtype == PDM_C128 ? PDM_C128 : PDM_C64;
}

pdm_status pdm_kernel_fft_c2c(pdm_k *k)
{
    call c = {0};
    pdm_arena arena;

    pdm_arena_init(&arena);
    if (read_call(k, &arena, &c)) {
        for (int i = 0; PDM_K_OK(k) && i < c.num; i++)
            along_axis(k, c.data, c.x->rank, c.dims, c.axes[i], c.is_forward);
        put(k, &c, complex_of(c.x->dtype), c.data, divisor(k, &c, points(&c, c.dims)));
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* The first `keep` of `from` places of an axis, for all lines. */
static pdm_cx *cut(pdm_k *k, pdm_arena *arena, const call *c, int axis, int64_t keep)
{
    const int64_t inner = pdm_k_product(c->dims, axis + 1, c->x->rank);
    const int64_t outer = pdm_k_product(c->dims, 0, axis), n = c->dims[axis];
    pdm_cx *out = pdm_k_scratch(k, arena, outer * keep * inner, sizeof *out);

    for (int64_t i = 0; out && i < outer; i++)
        memcpy(out + i * keep * inner, c->data + i * n * inner,
               (size_t)(keep * inner) * sizeof *out);
    return out;
}

pdm_status pdm_kernel_fft_r2c(pdm_k *k)
{
    const bool half = pdm_k_bool(k, "onesided");
    call c = {0};
    pdm_arena arena;

    pdm_arena_init(&arena);
    if (read_call(k, &arena, &c)) {
        const int last = c.axes[c.num - 1];
        const double by = divisor(k, &c, points(&c, c.dims));
        for (int i = 0; PDM_K_OK(k) && i < c.num; i++)
            along_axis(k, c.data, c.x->rank, c.dims, c.axes[i], c.is_forward);
        if (PDM_K_OK(k) && half && c.dims[last] > 0) {
            const int64_t keep = c.dims[last] / 2 + 1;
            c.data = cut(k, &arena, &c, last, keep);
            c.dims[last] = keep;
        }
        put(k, &c, complex_of(c.x->dtype), c.data, by);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* The whole axis of n places from the first half: the others are conjugates. */
static pdm_cx *mirror(pdm_k *k, pdm_arena *arena, const call *c, int axis, int64_t n)
{
    const int64_t inner = pdm_k_product(c->dims, axis + 1, c->x->rank);
    const int64_t outer = pdm_k_product(c->dims, 0, axis), have = c->dims[axis];
    uint64_t size = 0;

    if (!pdm_mul_u64((uint64_t)n, (uint64_t)outer, &size) ||
        !pdm_mul_u64(size, (uint64_t)inner, &size) || size > INT64_MAX / sizeof(pdm_cx))
        pdm_k_nomem(k);
    pdm_cx *out = pdm_k_scratch(k, arena, (int64_t)size, sizeof *out);
    for (int64_t i = 0; out && i < (int64_t)size; i++) {
        const int64_t at = i / inner % n, from = at <= n / 2 ? at : n - at;
        pdm_cx v = 0;
        if (from < have)
            v = c->data[(i / inner / n * have + from) * inner + i % inner];
        if (from == 0 || 2 * from == n)
            v = creal(v);
        out[i] = at <= n / 2 ? v : conj(v);
    }
    return out;
}

pdm_status pdm_kernel_fft_c2r(pdm_k *k)
{
    int64_t size = pdm_k_int(k, "last_dim_size");
    call c = {0};
    pdm_arena arena;

    pdm_arena_init(&arena);
    if (read_call(k, &arena, &c)) {
        const int last = c.axes[c.num - 1];
        for (int i = 0; PDM_K_OK(k) && i + 1 < c.num; i++)
            along_axis(k, c.data, c.x->rank, c.dims, c.axes[i], c.is_forward);
        if (size <= 0)
            size = 2 * (c.dims[last] - 1);
        if (size < 1)
            pdm_k_fail(k, "the result would have %lld places", (long long)size);
        pdm_cx *whole = PDM_K_OK(k) ? mirror(k, &arena, &c, last, size) : NULL;
        c.dims[last] = size;
        if (whole)
            along_axis(k, whole, c.x->rank, c.dims, last, c.is_forward);
        put(k, &c, pdm_real_dtype(c.x->dtype), whole, divisor(k, &c, points(&c, c.dims)));
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Lines of length n (outer x inner of them) against frames: place j of frame i is i * hop + j. */
typedef struct frames {
    int64_t lines, n, length, count, hop;
    bool first; /* frames come first: [count, length, lines], not [lines, length, count] */
} frames;

static int64_t frame_at(const frames *f, int64_t line, int64_t frame, int64_t place)
{
    return f->first ? (frame * f->length + place) * f->lines + line
                    : (line * f->length + place) * f->count + frame;
}

static int64_t line_at(const frames *f, int64_t line, int64_t place)
{
    return f->first ? place * f->lines + line : line * f->n + place;
}

pdm_status pdm_kernel_frame(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    frames f = {.length = pdm_k_int(k, "frame_length"), .hop = pdm_k_int(k, "hop_length")};
    const int64_t axis = pdm_k_int(k, "axis");
    int64_t dims[PDM_MAX_RANK + 1];

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank < 1 || x->rank >= PDM_MAX_RANK || (axis != 0 && axis != -1))
        return pdm_k_fail(k, "axis %lld of %d dimensions", (long long)axis, x->rank);
    f.first = axis == 0;
    f.n = x->dims[f.first ? 0 : x->rank - 1];
    f.lines = f.first ? pdm_k_row_size(x) : pdm_k_product(x->dims, 0, x->rank - 1);
    if (f.length < 1 || f.length > f.n || f.hop < 1)
        return pdm_k_fail(k, "frames of %lld of %lld places, every %lld", (long long)f.length,
                          (long long)f.n, (long long)f.hop);
    f.count = 1 + (f.n - f.length) / f.hop;
    if (f.first) {
        dims[0] = f.count;
        dims[1] = f.length;
        memcpy(dims + 2, x->dims + 1, (size_t)(x->rank - 1) * sizeof *dims);
    } else {
        memcpy(dims, x->dims, (size_t)(x->rank - 1) * sizeof *dims);
        dims[x->rank - 1] = f.length;
        dims[x->rank] = f.count;
    }
    char *out = pdm_k_out(k, 0, x->dtype, x->rank + 1, dims);
    const size_t size = pdm_dtype_size(x->dtype);
    for (int64_t line = 0; out && line < f.lines; line++)
        for (int64_t i = 0; i < f.count; i++)
            for (int64_t j = 0; j < f.length; j++)
                memcpy(out + (size_t)frame_at(&f, line, i, j) * size,
                       (const char *)x->data + (size_t)line_at(&f, line, i * f.hop + j) * size,
                       size);
    return k->status;
}

pdm_status pdm_kernel_overlap_add(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    frames f = {.hop = pdm_k_int(k, "hop_length")};
    const int64_t axis = pdm_k_int(k, "axis");
    int64_t dims[PDM_MAX_RANK];
    pdm_arena arena;

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank < 2 || (axis != 0 && axis != -1) || f.hop < 1)
        return pdm_k_fail(k, "axis %lld of %d dimensions, every %lld", (long long)axis, x->rank,
                          (long long)f.hop);
    f.first = axis == 0;
    f.count = x->dims[f.first ? 0 : x->rank - 1];
    f.length = x->dims[f.first ? 1 : x->rank - 2];
    f.lines = f.first ? pdm_k_product(x->dims, 2, x->rank) : pdm_k_product(x->dims, 0, x->rank - 2);
    if (f.count < 1 || __builtin_mul_overflow(f.count - 1, f.hop, &f.n) ||
        __builtin_add_overflow(f.n, f.length, &f.n))
        return pdm_k_fail(k, "the result is too large");
    memcpy(dims, f.first ? x->dims + 1 : x->dims, (size_t)(x->rank - 1) * sizeof *dims);
    dims[f.first ? 0 : x->rank - 2] = f.n;
    if (!pdm_k_out(k, 0, x->dtype, x->rank - 1, dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    pdm_arena_init(&arena);
    pdm_cx *sum = pdm_k_scratch(k, &arena, f.n, sizeof *sum);
    for (int64_t line = 0; sum && line < f.lines; line++) {
        memset(sum, 0, (size_t)f.n * sizeof *sum);
        for (int64_t i = 0; i < f.count; i++) {
            for (int64_t j = 0; j < f.length; j++) {
                pdm_cx v;
                pdm_cx_load(x, frame_at(&f, line, i, j), 1, &v);
                sum[i * f.hop + j] += v;
            }
        }
        for (int64_t j = 0; j < f.n; j++)
            pdm_cx_store(out, line_at(&f, line, j), 1, &sum[j]);
    }
    pdm_arena_deinit(&arena);
    return k->status;
}

/* ---- stft ------------------------------------------------------------------------------------ */

pdm_status pdm_kernel_stft(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *window = pdm_k_in(k, 1);
    const int64_t n = pdm_k_int(k, "n_fft"), hop = pdm_k_int(k, "hop_length");
    const bool normalized = pdm_k_bool(k, "normalized"), half = pdm_k_bool(k, "onesided");
    int64_t dims[PDM_MAX_RANK + 1];
    pdm_arena arena;
    fft f;

    if (!PDM_K_OK(k))
        return k->status;
    const int64_t length = x->rank > 0 ? x->dims[x->rank - 1] : 0;
    if (x->rank < 1 || n < 1 || n > length || hop < 1 || pdm_tensor_count(window) != n)
        return pdm_k_fail(k, "windows of %lld of %lld places, every %lld", (long long)n,
                          (long long)length, (long long)hop);
    const int64_t lines = pdm_k_product(x->dims, 0, x->rank - 1), count = 1 + (length - n) / hop;
    const int64_t keep = half ? n / 2 + 1 : n;
    memcpy(dims, x->dims, (size_t)(x->rank - 1) * sizeof *dims);
    dims[x->rank - 1] = keep;
    dims[x->rank] = count;
    if (!pdm_k_out(k, 0, complex_of(x->dtype), x->rank + 1, dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    pdm_arena_init(&arena);
    pdm_cx *line = pdm_k_scratch(k, &arena, n, sizeof *line);
    if (line && fft_init(k, &arena, &f, n)) {
        const double by = normalized ? sqrt((double)n) : 1;
        for (int64_t i = 0; i < lines * count; i++) {
            pdm_cx_load(x, i / count * length + i % count * hop, n, line);
            for (int64_t j = 0; j < n; j++)
                line[j] *= pdm_get_double(window, j) / by;
            forward(&f, line);
            for (int64_t j = 0; j < keep; j++)
                pdm_cx_store(out, (i / count * keep + j) * count + i % count, 1, &line[j]);
        }
    }
    pdm_arena_deinit(&arena);
    return k->status;
}
