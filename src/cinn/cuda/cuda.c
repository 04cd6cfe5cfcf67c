/*
 * The backend for GPUs of NVIDIA: CUDA C (print.c), compiled by NVRTC for the device at hand, launched
 * by the driver. Its code is a name, by which its kernels are found, and what NVRTC made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cinn/backend.h"
#include "cinn/cuda/cublas.h"
#include "cinn/cuda/cudnn.h"
#include "cinn/cuda/driver.h"
#include "cinn/cuda/nvrtc.h"
#include "cinn/cuda/print.h"
#include "cinn/gpu.h"
#include "cinn/notes.h"

typedef struct image {
    pdm_cinn_cuda_module *module;
    uint32_t num_nests;
    bool has[2]; /* wide, narrow */
    pdm_cinn_cuda_function *functions[]; /* wide ones, then narrow ones */
} image;

static const char *why_not(void)
{
    const char *reason = pdm_cinn_cuda_why_not();

    return reason ? reason : pdm_cinn_nvrtc_why_not();
}

/* Code for the device itself if NVRTC knows it, else PTX, which the driver translates. */
static void architecture(char out[32])
{
    const int newest = pdm_cinn_nvrtc_newest(), device = pdm_cinn_cuda_capability();

    if (newest > 0 && newest < device)
        snprintf(out, 32, "compute_%d", newest);
    else
        snprintf(out, 32, "sm_%d", device);
}

static void target(pdm_buf *out)
{
    char arch[32];

    architecture(arch);
    pdm_buf_printf(out, "cuda %s nvrtc %d", arch, pdm_cinn_nvrtc_version());
}

static pdm_status make(const pdm_loop_fn *fn, void **out_code, size_t *out_size)
{
    char name[PDM_CINN_CUDA_NAME] = "", arch[32];
    pdm_buf text, log;
    void *made = NULL, *code = NULL;
    size_t size = 0;

    pdm_buf_init(&text);
    pdm_buf_init(&log);
    pdm_cinn_cuda_prologue(&text);
    pdm_status status = pdm_cinn_cuda_print_named(fn, name, &text);
    architecture(arch);
    if (status == PDM_OK)
        status = pdm_cinn_nvrtc_compile(&text, arch, false, &log, &made, &size);
    if (status == PDM_UNSUPPORTED)
        pdm_cinn_note(PDM_CINN_NOTE_NOT_COMPILED, "NVRTC refused %s: %.*s", fn->name,
                      log.size < 300 ? (int)log.size : 300, log.size ? log.data : "no reason told");
    if (status == PDM_OK) {
        code = malloc(sizeof name + size);
        status = code ? PDM_OK : PDM_NOMEM;
    }
    if (status == PDM_OK) {
        memcpy(code, name, sizeof name);
        memcpy((char *)code + sizeof name, made, size);
        *out_code = code;
        *out_size = sizeof name + size;
    }
    free(made);
    pdm_buf_deinit(&text);
    pdm_buf_deinit(&log);
    return status;
}

static void destroy(void *any)
{
    image *made = any;

    pdm_cinn_cuda_unload(made->module);
    free(made);
}

static pdm_status find_functions(image *made, const char *name)
{
    char full[PDM_CINN_CUDA_NAME + 16];

    for (int narrow = 0; narrow < 2; narrow++) {
        for (uint32_t i = 0; made->has[narrow] && i < made->num_nests; i++) {
            snprintf(full, sizeof full, "%s_%u%s", name, i, narrow ? "n" : "");
            PDM_TRY(pdm_cinn_cuda_find(made->module, full,
                                       &made->functions[(uint32_t)narrow * made->num_nests + i]));
        }
    }
    return PDM_OK;
}

static pdm_status load(const pdm_loop_fn *fn, const void *code, size_t size, void **out_image)
{
    const pdm_cinn_cuda_width widths = pdm_cinn_cuda_widths(fn);
    const uint32_t nests = pdm_cinn_count_nests(fn);
    char name[PDM_CINN_CUDA_NAME];

    if (size <= sizeof name || ((const char *)code)[sizeof name - 1] != '\0')
        return PDM_UNSUPPORTED;
    memcpy(name, code, sizeof name);
    image *made = calloc(1, sizeof *made + 2 * (size_t)nests * sizeof made->functions[0]);
    /* A driver wants it aligned. */
    void *copy = malloc(size);
    if (!made || !copy) {
        free(made);
        free(copy);
        return PDM_NOMEM;
    }
    memcpy(copy, (const char *)code + sizeof name, size - sizeof name);
    made->num_nests = nests;
    made->has[0] = widths != PDM_CINN_CUDA_NARROW;
    made->has[1] = widths != PDM_CINN_CUDA_WIDE;
    pdm_status status = pdm_cinn_cuda_load(copy, &made->module);
    free(copy);
    if (status == PDM_OK)
        status = find_functions(made, name);
    if (status != PDM_OK) {
        destroy(made);
        if (status == PDM_NOMEM)
            return status;
        pdm_cinn_note(PDM_CINN_NOTE_NOT_COMPILED, "the device takes no code for %s: %s", fn->name,
                      pdm_cinn_cuda_error());
        return PDM_UNSUPPORTED;
    }
    *out_image = made;
    return PDM_OK;
}

static pdm_status compile(const pdm_loop_fn *fn, void **out_image)
{
    void *code;
    size_t size;

    PDM_TRY(make(fn, &code, &size));
    const pdm_status status = load(fn, code, size, out_image);
    free(code);
    return status;
}

enum { MAX_ARGUMENTS = 480 }; /* of a kernel: 4 KB hold no more */

static pdm_status launch(const void *any, const pdm_loop_fn *fn, void *const *buffers,
                         const int64_t *symbols)
{
    const image *made = any;
    const bool narrow = made->has[1] && (!made->has[0] || pdm_cinn_gpu_is_narrow(fn, symbols));
    void *arguments[MAX_ARGUMENTS];
    int small[MAX_ARGUMENTS];
    size_t count = 0;
    uint32_t nest = narrow ? made->num_nests : 0;

    if (fn->buffers.n + fn->symbols.n > MAX_ARGUMENTS)
        return PDM_UNSUPPORTED;
    for (size_t i = 0; i < fn->buffers.n; i++) {
        if (fn->buffers.v[i].scope == PDM_LOOP_GLOBAL)
            arguments[count++] = (void *)(uintptr_t)&buffers[i];
    }
    for (size_t i = 0; i < fn->symbols.n; i++) {
        small[i] = narrow ? (int)symbols[i] : 0;
        arguments[count++] = narrow ? (void *)&small[i] : (void *)(uintptr_t)&symbols[i];
    }
    for (const pdm_loop_stmt *stmt = fn->body; stmt; stmt = stmt->next, nest++) {
        const pdm_cinn_launch how = pdm_cinn_gpu_launch(stmt, symbols);
        if (how.blocks[0] > 0)
            PDM_TRY(pdm_cinn_cuda_launch(made->functions[nest], how.blocks, how.threads, arguments));
    }
    return PDM_OK;
}

static const pdm_cinn_device device = {
    .alloc = pdm_cinn_cuda_alloc,
    .free = pdm_cinn_cuda_free,
    .put = pdm_cinn_cuda_put,
    .get = pdm_cinn_cuda_get,
    .launch = launch,
    .error = pdm_cinn_cuda_error,
    .mark = pdm_cinn_cuda_mark,
    .between = pdm_cinn_cuda_between,
    .unmark = pdm_cinn_cuda_unmark,
    .product = pdm_cinn_cublas_product,
    .conv = pdm_cinn_cudnn_conv,
};

/* It has no `run`: data would have to be on the device. */
const pdm_cinn_backend pdm_cinn_backend_cuda = {
    .version = PDM_CINN_BACKEND_VERSION,
    .name = "cuda",
    .gpu = true,
    .compile = compile,
    .destroy = destroy,
    .target = target,
    .make = make,
    .load = load,
    .why_not = why_not,
    .device = &device,
};
