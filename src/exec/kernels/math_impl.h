/*
 * What kernels of the math and reduce families share: loops over one operand, loops over two
 * operands with broadcasting, conversion of element types.
 */
#ifndef PDM_EXEC_KERNELS_MATH_IMPL_H
#define PDM_EXEC_KERNELS_MATH_IMPL_H

#include "exec/kernels/dispatch.h"

/* The loops are worth vectorizing, also where the rest is compiled with less. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) &&                           \
    !defined(__SANITIZE_ADDRESS__)
#pragma GCC optimize("O3")
#endif

/* Elements below which a loop is not split among threads. */
#define PDM_MATH_GRAIN 16384

/* ---- one operand ----------------------------------------------------------------------------- */

/* out[i] = f(in[i]) for n elements; params are the attributes, if any. */
typedef void (*pdm_unary_loop)(const void *in, void *out, int64_t n, const double *params);

typedef enum pdm_unary_result {
    PDM_UNARY_SAME, /* the operand's type */
    PDM_UNARY_REAL, /* the same; the component's type of a complex operand */
    PDM_UNARY_BOOL
} pdm_unary_result;

/*
 * Loops by element type. Where f16 and bf16 have none, the f32 loop runs over converted blocks;
 * where `promote` is set integers and bool are calculated as float32 and give float32.
 */
typedef struct pdm_unary {
    pdm_unary_loop loop[PDM_DTYPE_COUNT];
    pdm_unary_result result;
    bool promote;
} pdm_unary;

/* An attribute that is a parameter of a loop. */
#define PDM_MATH_PARAMS 2
typedef struct pdm_math_param {
    const char *name;
    double fallback; /* when neither the op nor its row has it */
} pdm_math_param;

/* Their values, 0 for the rest; false after a failure. */
bool pdm_math_params(pdm_k *k, const pdm_math_param *params, int count,
                     double values[PDM_MATH_PARAMS]);

/* Apply to operand 0, giving result 0. */
pdm_status pdm_math_unary(pdm_k *k, const pdm_unary *op, const double *params);

/* Loops named NAME_f32, NAME_f64: expr calculates from v with type T; P(i) is parameter i. */
#define PDM_UNARY_LOOP(name, suffix, type, out_type, expr)                                         \
    static void name##_##suffix(const void *in, void *out, int64_t n, const double *params)        \
    {                                                                                              \
        typedef out_type T;                                                                        \
        const type *x = in;                                                                        \
        T *y = out;                                                                                \
        (void)params;                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const type v = x[i];                                                                   \
            y[i] = (T)(expr);                                                                      \
        }                                                                                          \
    }
#define P(i) ((T)params[i])

#define PDM_UNARY_FLOAT(name, expr)                                                                \
    PDM_UNARY_LOOP(name, f32, float, float, expr)                                                  \
    PDM_UNARY_LOOP(name, f64, double, double, expr)

#define PDM_UNARY_COMPLEX(name, expr)                                                              \
    PDM_UNARY_LOOP(name, c64, float complex, float complex, expr)                                  \
    PDM_UNARY_LOOP(name, c128, double complex, double complex, expr)

#define PDM_UNARY_OF_FLOAT(name)   [PDM_F32] = name##_f32, [PDM_F64] = name##_f64
#define PDM_UNARY_OF_COMPLEX(name) [PDM_C64] = name##_c64, [PDM_C128] = name##_c128

/* ---- two operands ---------------------------------------------------------------------------- */

/* z[i] = f(x[i * sx], y[i * sy]); strides in elements, 0 repeats one element. */
typedef void (*pdm_binary_loop)(const void *x, int64_t sx, const void *y, int64_t sy, void *z,
                                int64_t n);

typedef struct pdm_binary {
    pdm_binary_loop loop[PDM_DTYPE_COUNT]; /* by the type of x; y is converted to it */
    pdm_dtype out;                         /* type of the result; 0: that of x */
} pdm_binary;

/* Apply to operands 0 and 1 with broadcasting (and the attribute `axis` of old programs). */
pdm_status pdm_math_binary(pdm_k *k, const pdm_binary *op);

#define PDM_BINARY_RUN(SX, SY, type, load, store, expr)                                            \
    for (int64_t i = 0; i < n; i++) {                                                              \
        const T a = (T)load(x[i * (SX)]), b = (T)load(y[i * (SY)]);                                \
        z[i] = store(expr);                                                                        \
    }

/* expr calculates from a and b, of type T; store makes the element of z. */
#define PDM_BINARY_BODY(type, acc, out_type, load, store, expr)                                    \
    {                                                                                              \
        typedef acc T;                                                                             \
        const type *x = xdata, *y = ydata;                                                         \
        out_type *z = zdata;                                                                       \
        if (sx == 1 && sy == 1)                                                                    \
            PDM_BINARY_RUN(1, 1, type, load, store, expr)                                          \
        else if (sx == 1 && sy == 0)                                                               \
            PDM_BINARY_RUN(1, 0, type, load, store, expr)                                          \
        else                                                                                       \
            PDM_BINARY_RUN(sx, sy, type, load, store, expr)                                        \
    }
#define PDM_BINARY_ARGS                                                                            \
    const void *xdata, int64_t sx, const void *ydata, int64_t sy, void *zdata, int64_t n

/* One loop for a row of a set in dispatch.h: PDM_K_FLOATS(PDM_BINARY_SAME, add, a + b). */
#define PDM_BINARY_SAME(code, suffix, type, acc, load, store, name, expr)                          \
    static void name##_##suffix(PDM_BINARY_ARGS) PDM_BINARY_BODY(type, acc, type, load, store, expr)
#define PDM_BINARY_BOOL(code, suffix, type, acc, load, store, name, expr)                          \
    static void name##_##suffix(PDM_BINARY_ARGS)                                                   \
        PDM_BINARY_BODY(type, acc, bool, load, PDM_K_SAME, expr)
/* Rows for the table of loops: PDM_K_FLOATS(PDM_BINARY_ROW, add). */
#define PDM_BINARY_ROW(code, suffix, type, acc, load, store, name) [code] = name##_##suffix,

/* Dims after broadcasting; false when the shapes do not fit (the call has failed then). */
bool pdm_math_broadcast(pdm_k *k, const pdm_tensor *x, const pdm_tensor *y, pdm_tensor *out_shape);

/* An odometer over up to PDM_MAX_RANK dims that follows two or three operands. */
#define PDM_WALK_MAX 4
typedef struct pdm_walk {
    int rank, operands;
    int64_t dims[PDM_MAX_RANK];
    int64_t strides[PDM_WALK_MAX][PDM_MAX_RANK]; /* elements; 0 where the operand is broadcast */
} pdm_walk;

/* Set up for operands that broadcast to dims; neighbouring dims are merged where possible. */
void pdm_walk_init(pdm_walk *walk, int rank, const int64_t *dims, int operands,
                   const pdm_tensor *const *tensors);
/* The same when operands and strides (one for each of dims) are filled in. */
void pdm_walk_finish(pdm_walk *walk, int rank, const int64_t *dims);
/* Call run(arg, offsets of the operands, first element of the result, n) for the innermost runs
 * that make up [begin, end) of the result. */
typedef void (*pdm_walk_run)(void *arg, const int64_t *offsets, int64_t first, int64_t n);
void pdm_walk_range(const pdm_walk *walk, int64_t begin, int64_t end, pdm_walk_run run, void *arg);

/* Shape of the result of two operands (with the attribute `axis` of old programs), and how to walk
 * them; false after a failure. Nothing is walked when the result is empty. */
bool pdm_math_binary_walk(pdm_k *k, const pdm_tensor *x, const pdm_tensor *y, pdm_tensor *out_shape,
                          pdm_walk *out_walk);

/* ---- element types --------------------------------------------------------------------------- */

/* Convert n elements as `cast` of 3.x does; false for types without conversion (fp8 has one). */
bool pdm_math_convert(const void *from, pdm_dtype from_dtype, void *to, pdm_dtype to_dtype,
                      int64_t n);
/* Operand as tensor of the wanted type: itself, or a converted copy kept in *temp (init'ed). */
const pdm_tensor *pdm_math_as(pdm_k *k, const pdm_tensor *tensor, pdm_dtype dtype,
                              pdm_tensor *temp);
pdm_dtype pdm_math_real_dtype(pdm_dtype dtype); /* complex64 -> float32, ... */

/* Result 0 with the shape and LoD of the operand and another element type. */
void *pdm_math_out_typed(pdm_k *k, const pdm_tensor *like, pdm_dtype dtype);

#endif
