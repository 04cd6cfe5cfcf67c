/* Functions of the C library that compiled code may call. */
#ifndef PDM_CINN_CALLS_H
#define PDM_CINN_CALLS_H

#include <stddef.h>

/* exp is called as "exp" for doubles and as "expf" for floats. */
#define PDM_CINN_FLOAT_CALLS(X)                                                                    \
    X(exp) X(expm1) X(log) X(log1p) X(log2) X(log10) X(tanh) X(erf) X(sin) X(cos) X(tan) X(asin)   \
    X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh)                                     \
    X(floor) X(ceil) X(trunc) X(rint)
#define PDM_CINN_FLOAT2_CALLS(X) X(pow) X(atan2) X(fmod)

typedef struct pdm_cinn_call {
    const char *name;
    const void *address;
} pdm_cinn_call;

size_t pdm_cinn_num_calls(void);
pdm_cinn_call pdm_cinn_call_at(size_t index);
/* NULL: there is none of the name. */
const void *pdm_cinn_call_address(const char *name);

#endif
