/* Conversion of element types, and the ops that are no more than that. */
#include <math.h>

#include "exec/kernels/math_impl.h"

#define BLOCK 256

pdm_dtype pdm_math_real_dtype(pdm_dtype dtype)
{
    return dtype == PDM_C64 ? PDM_F32 : dtype == PDM_C128 ? PDM_F64 : dtype;
}

/*
 * Through the widest type of the source's kind, in blocks. A float out of range of an integer gives
 * what x86-64 gives: the smallest int32 or int64, of which narrower types keep the low bits.
 */
#define FLOAT_TO_INT(v)  pdm_int32_of_double((double)(v))
#define FLOAT_TO_LONG(v) pdm_int_of_double((double)(v))
#define FLOAT_TO_U64(v)  float_to_u64((double)(v))
#define TO_BOOL(v)       ((v) != 0)

static uint64_t float_to_u64(double v)
{
    return v >= 0x1p63 && v < 0x1p64 ? (uint64_t)(v - 0x1p63) + (UINT64_C(1) << 63)
                                     : (uint64_t)pdm_int_of_double(v);
}

#define LOAD(code, type, load)                                                                     \
    case code:                                                                                     \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = load(((const type *)from)[i]);                                                \
        return true;
#define STORE(code, type, store)                                                                   \
    case code:                                                                                     \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((type *)to)[i] = (type)store(in[i]);                                                  \
        return true;

static bool load_ints(const void *from, pdm_dtype dtype, int64_t *out, int64_t n)
{
    switch ((int)dtype) {
        LOAD(PDM_BOOL, bool, PDM_K_SAME)
        LOAD(PDM_I8, int8_t, PDM_K_SAME)
        LOAD(PDM_U8, uint8_t, PDM_K_SAME)
        LOAD(PDM_I16, int16_t, PDM_K_SAME)
        LOAD(PDM_U16, uint16_t, PDM_K_SAME)
        LOAD(PDM_I32, int32_t, PDM_K_SAME)
        LOAD(PDM_U32, uint32_t, PDM_K_SAME)
        LOAD(PDM_I64, int64_t, PDM_K_SAME)
        LOAD(PDM_INDEX, int64_t, PDM_K_SAME)
    default:
        return false;
    }
}

static bool load_floats(const void *from, pdm_dtype dtype, double *out, int64_t n)
{
    switch ((int)dtype) {
        LOAD(PDM_U64, uint64_t, (double))
        LOAD(PDM_F16, uint16_t, pdm_f16_to_float)
        LOAD(PDM_BF16, uint16_t, pdm_bf16_to_float)
        LOAD(PDM_F32, float, PDM_K_SAME)
        LOAD(PDM_F64, double, PDM_K_SAME)
    default:
        return false;
    }
}

static bool load_complexes(const void *from, pdm_dtype dtype, double complex *out, int64_t n)
{
    switch ((int)dtype) {
        LOAD(PDM_C64, float complex, PDM_K_SAME)
        LOAD(PDM_C128, double complex, PDM_K_SAME)
    default:
        return false;
    }
}

#define TO_F16(v)  pdm_float_to_f16((float)(v))
#define TO_BF16(v) pdm_float_to_bf16((float)(v))

static bool store_ints(const int64_t *in, void *to, pdm_dtype dtype, int64_t n)
{
    switch ((int)dtype) {
        STORE(PDM_BOOL, bool, TO_BOOL)
        STORE(PDM_I8, int8_t, PDM_K_SAME)
        STORE(PDM_U8, uint8_t, PDM_K_SAME)
        STORE(PDM_I16, int16_t, PDM_K_SAME)
        STORE(PDM_U16, uint16_t, PDM_K_SAME)
        STORE(PDM_I32, int32_t, PDM_K_SAME)
        STORE(PDM_U32, uint32_t, PDM_K_SAME)
        STORE(PDM_I64, int64_t, PDM_K_SAME)
        STORE(PDM_INDEX, int64_t, PDM_K_SAME)
        STORE(PDM_U64, uint64_t, PDM_K_SAME)
        STORE(PDM_F16, uint16_t, TO_F16)
        STORE(PDM_BF16, uint16_t, TO_BF16)
        STORE(PDM_F32, float, PDM_K_SAME)
        STORE(PDM_F64, double, PDM_K_SAME)
        STORE(PDM_C64, float complex, PDM_K_SAME)
        STORE(PDM_C128, double complex, PDM_K_SAME)
    default:
        return false;
    }
}

static bool store_floats(const double *in, void *to, pdm_dtype dtype, int64_t n)
{
    switch ((int)dtype) {
        STORE(PDM_BOOL, bool, TO_BOOL)
        STORE(PDM_I8, int8_t, FLOAT_TO_INT)
        STORE(PDM_U8, uint8_t, FLOAT_TO_INT)
        STORE(PDM_I16, int16_t, FLOAT_TO_INT)
        STORE(PDM_U16, uint16_t, FLOAT_TO_INT)
        STORE(PDM_I32, int32_t, FLOAT_TO_INT)
        STORE(PDM_U32, uint32_t, FLOAT_TO_LONG)
        STORE(PDM_I64, int64_t, FLOAT_TO_LONG)
        STORE(PDM_INDEX, int64_t, FLOAT_TO_LONG)
        STORE(PDM_U64, uint64_t, FLOAT_TO_U64)
        STORE(PDM_F16, uint16_t, TO_F16)
        STORE(PDM_BF16, uint16_t, TO_BF16)
        STORE(PDM_F32, float, PDM_K_SAME)
        STORE(PDM_F64, double, PDM_K_SAME)
        STORE(PDM_C64, float complex, PDM_K_SAME)
        STORE(PDM_C128, double complex, PDM_K_SAME)
    default:
        return false;
    }
}

static bool store_complexes(const double complex *in, void *to, pdm_dtype dtype, int64_t n)
{
    double real[BLOCK];

    switch ((int)dtype) {
        STORE(PDM_BOOL, bool, TO_BOOL)
        STORE(PDM_C64, float complex, PDM_K_SAME)
        STORE(PDM_C128, double complex, PDM_K_SAME)
    default:
        for (int64_t i = 0; i < n; i++)
            real[i] = creal(in[i]);
        return store_floats(real, to, dtype, n);
    }
}

/* At most BLOCK elements. */
static bool convert_block(const void *from, pdm_dtype from_dtype, void *to, pdm_dtype to_dtype,
                          int64_t n)
{
    union {
        int64_t i[BLOCK];
        double f[BLOCK];
        double complex c[BLOCK];
    } block;

    if (from_dtype == PDM_U64 && !pdm_dtype_is_float(to_dtype))
        from_dtype = PDM_I64;
    if (load_ints(from, from_dtype, block.i, n))
        return store_ints(block.i, to, to_dtype, n);
    if (load_floats(from, from_dtype, block.f, n))
        return store_floats(block.f, to, to_dtype, n);
    return load_complexes(from, from_dtype, block.c, n) &&
           store_complexes(block.c, to, to_dtype, n);
}

static bool is_fp8(pdm_dtype dtype)
{
    return dtype == PDM_F8E4M3FN || dtype == PDM_F8E5M2;
}

static void convert_fp8(const void *from, pdm_dtype from_dtype, void *to, pdm_dtype to_dtype,
                        int64_t n)
{
    const pdm_tensor in = {.dtype = from_dtype, .data = (void *)(uintptr_t)from};
    pdm_tensor out = {.dtype = to_dtype, .data = to};

    for (int64_t i = 0; i < n; i++)
        pdm_set_double(&out, i, pdm_get_double(&in, i));
}

bool pdm_math_convert(const void *from, pdm_dtype from_dtype, void *to, pdm_dtype to_dtype,
                      int64_t n)
{
    const size_t from_size = pdm_dtype_size(from_dtype), to_size = pdm_dtype_size(to_dtype);

    if (from_size == 0 || to_size == 0)
        return false;
    if (from_dtype == to_dtype) {
        memmove(to, from, (size_t)n * to_size);
        return true;
    }
    if (is_fp8(from_dtype) || is_fp8(to_dtype)) {
        convert_fp8(from, from_dtype, to, to_dtype, n);
        return true;
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        const char *in = (const char *)from + (size_t)i * from_size;
        char *out = (char *)to + (size_t)i * to_size;
        if (!convert_block(in, from_dtype, out, to_dtype, n - i < BLOCK ? n - i : BLOCK))
            return false;
    }
    return true;
}

const pdm_tensor *pdm_math_as(pdm_k *k, const pdm_tensor *tensor, pdm_dtype dtype, pdm_tensor *temp)
{
    if (!tensor || tensor->dtype == dtype)
        return tensor;
    const pdm_status status = pdm_tensor_alloc(temp, dtype, tensor->rank, tensor->dims);
    if (status != PDM_OK) {
        if (status == PDM_NOMEM)
            pdm_k_nomem(k);
        else
            pdm_k_fail(k, "operand is too large to be converted");
        return NULL;
    }
    if (pdm_math_convert(tensor->data, tensor->dtype, temp->data, dtype, pdm_tensor_count(tensor)))
        return temp;
    pdm_k_unsupported_dtype(k, tensor->dtype);
    return NULL;
}

/* ---- cast ------------------------------------------------------------------------------------ */

typedef struct cast_job {
    const char *from;
    char *to;
    pdm_dtype from_dtype, to_dtype;
    bool truncate;
} cast_job;

/* 2.6.2 drops the bits that float16 and bfloat16 cannot hold; beyond the largest float16 is
 * infinity. */
static uint16_t truncate_to_f16(float v)
{
    uint16_t bits = pdm_float_to_f16(v);

    if (fabsf(v) > 65504.0F)
        return signbit(v) ? 0xfc00 : 0x7c00;
    if (fabsf(pdm_f16_to_float(bits)) > fabsf(v)) /* was rounded up */
        bits--;
    return bits;
}

static uint16_t truncate_to_bf16(float v)
{
    uint32_t bits;

    if (isnan(v))
        return pdm_float_to_bf16(v);
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static void truncate_block(const char *from, pdm_dtype from_dtype, uint16_t *to, pdm_dtype to_dtype,
                           int64_t n)
{
    float block[BLOCK];

    pdm_math_convert(from, from_dtype, block, PDM_F32, n);
    for (int64_t i = 0; i < n; i++)
        to[i] = to_dtype == PDM_F16 ? truncate_to_f16(block[i]) : truncate_to_bf16(block[i]);
}

static void cast_range(void *arg, int64_t begin, int64_t end)
{
    const cast_job *job = arg;
    const size_t from_size = pdm_dtype_size(job->from_dtype);
    const char *from = job->from + (size_t)begin * from_size;
    char *to = job->to + (size_t)begin * pdm_dtype_size(job->to_dtype);

    if (!job->truncate) {
        pdm_math_convert(from, job->from_dtype, to, job->to_dtype, end - begin);
        return;
    }
    for (int64_t i = 0; i < end - begin; i += BLOCK)
        truncate_block(from + (size_t)i * from_size, job->from_dtype, (uint16_t *)(void *)to + i,
                       job->to_dtype, end - begin - i < BLOCK ? end - begin - i : BLOCK);
}

pdm_status pdm_kernel_cast(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const pdm_dtype dtype = pdm_k_dtype(k, "dtype");
    char probe[16] = {0}, to[16];
    if (!x || !PDM_K_OK(k))
        return k->status;
    if (dtype == PDM_UNDEFINED || !pdm_math_convert(probe, x->dtype, to, dtype, 1))
        return pdm_k_unsupported_dtype(k, dtype == PDM_UNDEFINED ? dtype : x->dtype);
    cast_job job = {.from = x->data, .from_dtype = x->dtype, .to_dtype = dtype};

    job.truncate = dtype != x->dtype && (dtype == PDM_F16 || dtype == PDM_BF16) &&
                   pdm_k_before(k, PDM_DIFF_HALF);
    job.to = pdm_math_out_typed(k, x, dtype);
    if (job.to)
        pdm_k_parallel(k, pdm_tensor_count(x), PDM_MATH_GRAIN, cast_range, &job);
    return k->status;
}
