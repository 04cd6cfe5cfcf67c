#include "cinn/cuda/cublas.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "cinn/cuda/driver.h"
#include "cinn/cuda/library.h"
#include "cinn/notes.h"

/* What is used of its interface; each function gives 0 when it is done. */
typedef struct handle handle;
enum { AS_IT_IS = 0, TRANSPOSED = 1, DEFAULT_ALGORITHM = -1 };
enum { SUMS_F32 = 68, SUMS_F32_EXACT = 69, SUMS_F64_EXACT = 71 };
enum { EXECUTION_FAILED = 13, INTERNAL_ERROR = 14 };

static struct cublas {
    int (*create)(handle **out);
    int (*set_stream)(handle *h, void *stream);
    int (*gemm)(handle *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int a_type,
                int a_step, long long a_stride, const void *b, int b_type, int b_step, long long b_stride,
                const void *beta, void *c, int c_type, int c_step, long long c_stride, int batch, int sums,
                int algorithm);
} cublas;

static handle *the_handle; /* NULL: there is none */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a handle is for one thread at a time */

static void open_once(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so",
                                        NULL};
    static const pdm_cinn_cuda_symbol symbols[] = {
        {"cublasCreate_v2", offsetof(struct cublas, create)},
        {"cublasSetStream_v2", offsetof(struct cublas, set_stream)},
        {"cublasGemmStridedBatchedEx", offsetof(struct cublas, gemm)},
    };
    char reason[400];
    void *stream = pdm_cinn_cuda_stream();

    if (!stream)
        return;
    if (!pdm_cinn_cuda_open("PDM_CUBLAS", names, symbols, sizeof symbols / sizeof *symbols, &cublas, reason,
                            sizeof reason)) {
        pdm_cinn_note(PDM_CINN_NOTE_LIBRARY, "products are done without cuBLAS: %s", reason);
        return;
    }
    int code = cublas.create(&the_handle);
    if (code == 0)
        code = cublas.set_stream(the_handle, stream);
    if (code == 0)
        return;
    the_handle = NULL;
    pdm_cinn_note(PDM_CINN_NOTE_LIBRARY, "products are done without cuBLAS: it begins with error %d", code);
}

/* Types, and what sums are made in: float32 is not rounded to fewer bits on the way. */
static bool types_of(pdm_dtype dtype, int *out_type, int *out_sums)
{
    *out_sums = dtype == PDM_F64 ? SUMS_F64_EXACT : dtype == PDM_F32 ? SUMS_F32_EXACT : SUMS_F32;
    *out_type = dtype == PDM_F64 ? 1 : dtype == PDM_F32 ? 0 : dtype == PDM_F16 ? 2 : 14;
    return dtype == PDM_F64 || dtype == PDM_F32 || dtype == PDM_F16 || dtype == PDM_BF16;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* It has columns one after the other where we have rows: the product is that of the transposed
 * ones in the other order. */
static int call(const pdm_cinn_product *p, int type, int sums)
{
    const float single = (float)p->alpha, no_single = 0;
    const double no_double = 0;
    const bool wide = type == 1;
    const int64_t x_step = larger(p->x_step, p->x_turned ? p->rows : p->depth);
    const int64_t y_step = larger(p->y_step, p->y_turned ? p->depth : p->cols);

    return cublas.gemm(the_handle, p->y_turned ? TRANSPOSED : AS_IT_IS, p->x_turned ? TRANSPOSED : AS_IT_IS,
                       (int)p->cols, (int)p->rows, (int)p->depth, wide ? (const void *)&p->alpha : &single, p->y,
                       type, (int)y_step, p->y_batch, p->x, type, (int)x_step, p->x_batch,
                       wide ? (const void *)&no_double : &no_single, p->out, type, (int)p->cols,
                       p->rows * p->cols, (int)p->batch, sums, DEFAULT_ALGORITHM);
}

pdm_status pdm_cinn_cublas_product(const pdm_cinn_product *p)
{
    int type, sums;

    if (!types_of(p->dtype, &type, &sums) || p->rows > INT_MAX || p->cols > INT_MAX || p->depth > INT_MAX ||
        p->batch > INT_MAX || p->x_step > INT_MAX || p->y_step > INT_MAX || p->depth < 1)
        return PDM_UNSUPPORTED;
    pthread_once(&once, open_once);
    if (!the_handle || !pdm_cinn_cuda_stream())
        return PDM_UNSUPPORTED;
    pthread_mutex_lock(&lock);
    const int code = call(p, type, sums);
    pthread_mutex_unlock(&lock);
    if (code == EXECUTION_FAILED || code == INTERNAL_ERROR)
        return pdm_cinn_cuda_fail("a product by cuBLAS", code);
    return code == 0 ? PDM_OK : PDM_UNSUPPORTED;
}
