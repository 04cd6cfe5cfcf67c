#include "emulated.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "cinn/cuda/print.h"
#include "cinn/gpu.h"
#include "emulator.h"

typedef struct image {
    const pdm_loop_fn *fn;
    void *library; /* of its own */
    uint32_t num_nests;
    bool has[2]; /* wide, narrow */
    emulator_kernel *kernels[2];
} image;

bool emulated_twice = true;
static void *all_kernels; /* a library that has many */

bool emulated_open(const char *library)
{
    all_kernels = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return all_kernels != NULL;
}

static uint32_t count_nests(const pdm_loop_fn *fn)
{
    uint32_t count = 0;

    for (const pdm_loop_stmt *stmt = fn->body; stmt; stmt = stmt->next)
        count++;
    return count;
}

static void destroy(void *any)
{
    image *made = any;

    if (made->library)
        dlclose(made->library);
    free(made->kernels[0]);
    free(made->kernels[1]);
    free(made);
}

/* Whether a library has all kernels of a function. */
static bool find_kernels(image *made, void *library, const char *name)
{
    char full[64];

    for (int narrow = 0; narrow < 2; narrow++) {
        for (uint32_t i = 0; made->has[narrow] && i < made->num_nests; i++) {
            snprintf(full, sizeof full, "%s_%u%s", name, i, narrow ? "n" : "");
            if (!emulator_find(library, full, &made->kernels[narrow][i]))
                return false;
        }
    }
    return true;
}

/* A library for these kernels alone. */
static pdm_status build(image *made, const char *name, const pdm_buf *text)
{
    char folder[] = "/tmp/pdm-cuda-XXXXXX", library[64];
    pdm_buf wrapped;

    if (!mkdtemp(folder))
        return PDM_IO;
    snprintf(library, sizeof library, "%s/kernels.so", folder);
    pdm_buf_init(&wrapped);
    emulator_wrap(text->data, text->size, &wrapped);
    if (pdm_buf_ok(&wrapped) && emulator_compile(&wrapped, folder, library))
        made->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    pdm_buf_deinit(&wrapped);
    unlink(library);
    rmdir(folder);
    return made->library && find_kernels(made, made->library, name) ? PDM_OK : PDM_INTERNAL;
}

static pdm_status compile(const pdm_loop_fn *fn, void **out_image)
{
    const pdm_cinn_cuda_width widths = pdm_cinn_cuda_widths(fn);
    char name[PDM_CINN_CUDA_NAME];
    pdm_buf text;

    if (pdm_loop_verify(fn))
        return PDM_INTERNAL;
    image *made = calloc(1, sizeof *made);
    if (!made)
        return PDM_NOMEM;
    made->fn = fn;
    made->num_nests = count_nests(fn);
    made->has[0] = widths != PDM_CINN_CUDA_NARROW;
    made->has[1] = widths != PDM_CINN_CUDA_WIDE;
    made->kernels[0] = calloc(made->num_nests + 1, sizeof *made->kernels[0]);
    made->kernels[1] = calloc(made->num_nests + 1, sizeof *made->kernels[1]);
    pdm_buf_init(&text);
    pdm_cinn_cuda_prologue(&text);
    pdm_status status = made->kernels[0] && made->kernels[1] ? pdm_cinn_cuda_print_named(fn, name, &text) : PDM_NOMEM;
    if (status == PDM_OK && !(all_kernels && find_kernels(made, all_kernels, name)))
        status = build(made, name, &text);
    pdm_buf_deinit(&text);
    if (status != PDM_OK) {
        destroy(made);
        return status;
    }
    *out_image = made;
    return PDM_OK;
}

static long long bytes_of(const pdm_loop_buffer *buffer, const int64_t *symbols)
{
    long long bytes = (long long)pdm_dtype_size(buffer->dtype);

    for (uint32_t d = 0; d < buffer->rank; d++)
        bytes *= pdm_loop_eval(buffer->dims[d], symbols);
    return bytes;
}

/* A grid that is too small covers the loop in more turns. */
static pdm_status launch(const image *made, uint32_t nest, const pdm_loop_stmt *stmt, void *const *buffers,
                         const int64_t *symbols, bool narrow)
{
    const pdm_cinn_launch how = pdm_cinn_gpu_launch(stmt, symbols);
    const emulator_kernel *kernel = &made->kernels[narrow][nest];
    void *arguments[256];
    const void *pointers[256];
    long long bytes[256];
    int small[256];
    size_t count = 0;

    if (how.blocks[0] == 0)
        return PDM_OK;
    if (made->fn->buffers.n + made->fn->symbols.n > 256)
        return PDM_INTERNAL;
    for (size_t i = 0; i < made->fn->buffers.n; i++) {
        if (made->fn->buffers.v[i].scope != PDM_LOOP_GLOBAL)
            continue;
        bytes[count] = bytes_of(&made->fn->buffers.v[i], symbols);
        pointers[count] = buffers[i];
        arguments[count] = (void *)&pointers[count];
        count++;
    }
    for (size_t i = 0; i < made->fn->symbols.n; i++, count++) {
        bytes[count] = 0;
        small[count] = (int)symbols[i];
        arguments[count] = narrow ? (void *)&small[count] : (void *)(uintptr_t)&symbols[i];
    }
    if (count != kernel->num_arguments)
        return PDM_INTERNAL;
    const emulator_size grid = emulator_few(how.blocks[0], how.blocks[1], how.blocks[2]),
                        block = {how.threads[0], how.threads[1], how.threads[2]};
    const char *fault = emulator_launch(kernel, grid, block, arguments, bytes);
    if (fault)
        fprintf(stderr, "kernel %u of %s: %s\n", nest, made->fn->name, fault);
    return fault ? PDM_INTERNAL : PDM_OK;
}

/* The grid covers the whole loop, so only its first part does anything. */
static pdm_status run(const void *any, uint32_t nest, void *const *buffers, const int64_t *symbols, int64_t begin,
                      int64_t end)
{
    const image *made = any;
    const pdm_loop_stmt *stmt = made->fn->body;

    (void)end;
    if (begin != 0)
        return PDM_OK;
    for (uint32_t i = 0; i < nest; i++)
        stmt = stmt->next;
    const bool narrow =
        made->has[1] && (!made->has[0] || pdm_cinn_gpu_is_narrow(made->fn, symbols));
    /* With small sizes both must do; a single nest may be run again. */
    if (narrow && made->has[0] && made->num_nests == 1 && emulated_twice)
        PDM_TRY(launch(made, nest, stmt, buffers, symbols, false));
    return launch(made, nest, stmt, buffers, symbols, narrow);
}

const pdm_cinn_backend emulated_backend = {
    .version = PDM_CINN_BACKEND_VERSION,
    .name = "cuda-emulated",
    .gpu = true,
    .compile = compile,
    .destroy = destroy,
    .run = run,
};

/* ---- collecting ------------------------------------------------------------------------------ */

static pdm_buf collected;
static bool is_collecting;
static pdm_map names = {0};
static pthread_mutex_t collecting = PTHREAD_MUTEX_INITIALIZER;

static pdm_status collect(const pdm_loop_fn *fn, void **out_image)
{
    char name[PDM_CINN_CUDA_NAME];
    pdm_buf text;

    pdm_buf_init(&text);
    pthread_mutex_lock(&collecting);
    pdm_status status = pdm_cinn_cuda_print_named(fn, name, &text);
    const void *key = (const void *)(uintptr_t)strtoull(name + 1, NULL, 16);
    if (!is_collecting)
        pdm_buf_init(&collected);
    is_collecting = true;
    if (status == PDM_OK && !pdm_map_find(&names, key)) {
        if (pdm_map_put(&names, key))
            pdm_buf_put(&collected, text.data, text.size);
        status = pdm_buf_ok(&collected) ? PDM_OK : PDM_NOMEM;
    }
    pthread_mutex_unlock(&collecting);
    pdm_buf_deinit(&text);
    return status == PDM_OK ? pdm_cinn_backend_ref.compile(fn, out_image) : status;
}

static bool write_text(const char *file, const char *suffix, const pdm_buf *text)
{
    char path[1024];

    snprintf(path, sizeof path, "%s%s", file, suffix);
    FILE *out = fopen(path, "w");
    const bool written = out && fwrite(text->data, 1, text->size, out) == text->size;
    return out && fclose(out) == 0 && written;
}

bool collected_write(const char *file)
{
    pdm_buf text, wrapped;

    pdm_buf_init(&text);
    pdm_buf_init(&wrapped);
    pdm_cinn_cuda_prologue(&text);
    if (is_collecting)
        pdm_buf_put(&text, collected.data, collected.size);
    emulator_wrap(text.data, text.size, &wrapped);
    const bool written = pdm_buf_ok(&text) && pdm_buf_ok(&wrapped) && write_text(file, ".cu", &text) &&
                         write_text(file, ".c", &wrapped);
    pdm_buf_deinit(&text);
    pdm_buf_deinit(&wrapped);
    if (is_collecting)
        pdm_buf_deinit(&collected);
    pdm_map_deinit(&names);
    return written;
}

static void destroy_ref(void *made)
{
    pdm_cinn_backend_ref.destroy(made);
}

static pdm_status run_ref(const void *made, uint32_t nest, void *const *buffers, const int64_t *symbols, int64_t begin,
                          int64_t end)
{
    return pdm_cinn_backend_ref.run(made, nest, buffers, symbols, begin, end);
}

const pdm_cinn_backend collecting_backend = {
    .version = PDM_CINN_BACKEND_VERSION,
    .name = "cuda-collect",
    .gpu = true,
    .compile = collect,
    .destroy = destroy_ref,
    .run = run_ref,
};
