#include "cinn/calls.h"

#include <math.h>
#include <string.h>

/* Functions as addresses. */
typedef union address {
    double (*of_double)(double);
    float (*of_float)(float);
    double (*of_doubles)(double, double);
    float (*of_floats)(float, float);
    double (*of_three_doubles)(double, double, double);
    float (*of_three_floats)(float, float, float);
    void *(*copy)(void *, const void *, size_t);
    void *(*set)(void *, int, size_t);
    void (*sines)(double, double *, double *);
    void (*sinefs)(float, float *, float *);
    const void *data;
} address;

/* What LLVM makes of a sine and a cosine of one number. */
static void sine_and_cosine(double x, double *sine, double *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}

static void sinef_and_cosinef(float x, float *sine, float *cosine)
{
    *sine = sinf(x);
    *cosine = cosf(x);
}

static const struct {
    const char *name;
    address fn;
} known[] = {
#define CALLS(name)  {#name, {.of_double = name}}, {#name "f", {.of_float = name##f}},
#define CALLS2(name) {#name, {.of_doubles = name}}, {#name "f", {.of_floats = name##f}},
    PDM_CINN_FLOAT_CALLS(CALLS) PDM_CINN_FLOAT2_CALLS(CALLS2)
#undef CALLS
#undef CALLS2
    {"fma", {.of_three_doubles = fma}},
    {"fmaf", {.of_three_floats = fmaf}},
    {"sincos", {.sines = sine_and_cosine}},
    {"sincosf", {.sinefs = sinef_and_cosinef}},
    {"memcpy", {.copy = memcpy}},
    {"memmove", {.copy = memmove}},
    {"memset", {.set = memset}},
};

size_t pdm_cinn_num_calls(void)
{
    return sizeof known / sizeof *known;
}

pdm_cinn_call pdm_cinn_call_at(size_t index)
{
    return (pdm_cinn_call){known[index].name, known[index].fn.data};
}

const void *pdm_cinn_call_address(const char *name)
{
    for (size_t i = 0; i < pdm_cinn_num_calls(); i++) {
        if (!strcmp(known[i].name, name))
            return known[i].fn.data;
    }
    return NULL;
}
