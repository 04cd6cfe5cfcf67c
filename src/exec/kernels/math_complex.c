/* Complex numbers and their parts. */
#include <math.h>

#include "exec/kernels/math_impl.h"

#define ROW(code, suffix, type, acc, load, store, name) [code] = name##_##suffix,
#define COPY(code, suffix, type, acc, load, store, name)                                           \
    PDM_UNARY_LOOP(name, suffix, type, type, v)
#define ZERO(code, suffix, type, acc, load, store, name)                                           \
    PDM_UNARY_LOOP(name, suffix, type, type, ((void)v, 0))

PDM_K_REALS(COPY, copy)
PDM_K_REALS(ZERO, zero)

PDM_UNARY_LOOP(real, c64, float complex, float, crealf(v))
PDM_UNARY_LOOP(real, c128, double complex, double, creal(v))
PDM_UNARY_LOOP(imag, c64, float complex, float, cimagf(v))
PDM_UNARY_LOOP(imag, c128, double complex, double, cimag(v))
PDM_UNARY_LOOP(conj, c64, float complex, float complex, conjf(v))
PDM_UNARY_LOOP(conj, c128, double complex, double complex, conj(v))
PDM_UNARY_LOOP(angle, f32, float, float, isnan(v) ? v : v < 0 ? (T)acos(-1) : 0)
PDM_UNARY_LOOP(angle, f64, double, double, isnan(v) ? v : v < 0 ? acos(-1) : 0)
PDM_UNARY_LOOP(angle, c64, float complex, float, cargf(v))
PDM_UNARY_LOOP(angle, c128, double complex, double, carg(v))

pdm_status pdm_kernel_real(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_K_REALS(ROW, copy) PDM_UNARY_OF_COMPLEX(real)},
                                 .result = PDM_UNARY_REAL};
    return pdm_math_unary(k, &op, NULL);
}

pdm_status pdm_kernel_imag(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_K_REALS(ROW, zero) PDM_UNARY_OF_COMPLEX(imag)},
                                 .result = PDM_UNARY_REAL};
    return pdm_math_unary(k, &op, NULL);
}

pdm_status pdm_kernel_conj(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_K_REALS(ROW, copy) PDM_UNARY_OF_COMPLEX(conj)}};
    return pdm_math_unary(k, &op, NULL);
}

pdm_status pdm_kernel_angle(pdm_k *k)
{
    static const pdm_unary op = {.loop = {PDM_UNARY_OF_FLOAT(angle), PDM_UNARY_OF_COMPLEX(angle)},
                                 .result = PDM_UNARY_REAL};
    return pdm_math_unary(k, &op, NULL);
}

#define COMPLEX_OF(suffix, type, out_type, make)                                                   \
    static void complex_##suffix(PDM_BINARY_ARGS)                                                  \
        PDM_BINARY_BODY(type, type, out_type, PDM_K_SAME, PDM_K_SAME, make(a, b))
COMPLEX_OF(f32, float, float complex, CMPLXF)
COMPLEX_OF(f64, double, double complex, CMPLX)

pdm_status pdm_kernel_complex(pdm_k *k)
{
    static const pdm_binary single = {.loop = {[PDM_F32] = complex_f32}, .out = PDM_C64};
    static const pdm_binary twice = {.loop = {[PDM_F64] = complex_f64}, .out = PDM_C128};
    const pdm_tensor *x = pdm_k_in(k, 0);

    return x ? pdm_math_binary(k, x->dtype == PDM_F64 ? &twice : &single) : k->status;
}

/* Pairs in the last dimension are complex numbers, and back: the same bytes. */
pdm_status pdm_kernel_as_complex(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    if (!x)
        return k->status;
    if (x->dtype != PDM_F32 && x->dtype != PDM_F64)
        return pdm_k_unsupported_dtype(k, x->dtype);
    if (x->rank < 1 || x->dims[x->rank - 1] != 2)
        return pdm_k_fail(k, "the last dimension must be 2");
    void *out = pdm_k_out(k, 0, x->dtype == PDM_F32 ? PDM_C64 : PDM_C128, x->rank - 1, x->dims);

    if (out)
        memcpy(out, x->data, pdm_tensor_bytes(x));
    return k->status;
}

pdm_status pdm_kernel_as_real(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    int64_t dims[PDM_MAX_RANK];
    if (!x)
        return k->status;
    if (!pdm_dtype_is_complex(x->dtype))
        return pdm_k_unsupported_dtype(k, x->dtype);
    if (x->rank >= PDM_MAX_RANK)
        return pdm_k_fail(k, "more than %d dimensions", PDM_MAX_RANK);
    for (int i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    dims[x->rank] = 2;
    void *out = pdm_k_out(k, 0, pdm_math_real_dtype(x->dtype), x->rank + 1, dims);

    if (out)
        memcpy(out, x->data, pdm_tensor_bytes(x));
    return k->status;
}
