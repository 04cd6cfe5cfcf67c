/*
 * A backend for tests, "cuda-emulated": prints CUDA C, compiles it as C against cuda_emulator.h, and
 * runs each kernel with a small grid.
 */
#include "emulated.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cinn/cuda/print.h"

typedef void (*nest_fn)(void *const *buffers, const int64_t *symbols);

typedef struct image {
    void *library;
    nest_fn nests[];
} image;

static unsigned count_nests(const pdm_loop_fn *fn)
{
    unsigned count = 0;

    for (const pdm_loop_stmt *stmt = fn->body; stmt; stmt = stmt->next)
        count++;
    return count;
}

/* A function that runs a kernel with arguments from arrays. */
static void print_call(const pdm_loop_fn *fn, unsigned nest, pdm_buf *out)
{
    pdm_buf_printf(out, "\nvoid call_%u(void *const *buffers, const long long *symbols);\n", nest);
    pdm_buf_printf(out, "void call_%u(void *const *buffers, const long long *symbols)\n{\n", nest);
    pdm_buf_printf(out, "    PDM_EMULATE(2, 3, kernel_%u(", nest);
    for (size_t i = 0; i < fn->buffers.n; i++)
        pdm_buf_printf(out, "%sbuffers[%zu]", i ? ", " : "", i);
    for (size_t i = 0; i < fn->symbols.n; i++)
        pdm_buf_printf(out, ", symbols[%zu]", i);
    pdm_buf_puts(out, "));\n    (void)buffers;\n    (void)symbols;\n}\n");
}

static pdm_status print(const pdm_loop_fn *fn, pdm_buf *out)
{
    pdm_buf_puts(out, "#include \"cuda_emulator.h\"\n");
    pdm_cinn_cuda_prologue(out);
    PDM_TRY(pdm_cinn_cuda_print(fn, "kernel", out));
    for (unsigned i = 0; i < count_nests(fn); i++)
        print_call(fn, i, out);
    return pdm_buf_ok(out) ? PDM_OK : PDM_NOMEM;
}

static bool build(const char *folder, const pdm_buf *text)
{
    char path[256], command[1024];
    const char *cc = getenv("CC"), *srcdir = getenv("srcdir");

    snprintf(path, sizeof path, "%s/kernel.c", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    const bool written = fwrite(text->data, 1, text->size, file) == text->size;
    if (fclose(file) != 0 || !written)
        return false;
    snprintf(command, sizeof command,
             "%s -w -O0 -fwrapv -ffp-contract=off -fPIC -shared -I'%s/tests/tools' -o '%s/kernel.so' '%s' -lm",
             cc && *cc ? cc : "cc", srcdir ? srcdir : ".", folder, path);
    return system(command) == 0;
}

static void destroy(void *any)
{
    image *made = any;

    if (made->library)
        dlclose(made->library);
    free(made);
}

static pdm_status load(const char *folder, unsigned count, image *made)
{
    char path[256], name[32];

    snprintf(path, sizeof path, "%s/kernel.so", folder);
    made->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (unsigned i = 0; made->library && i < count; i++) {
        snprintf(name, sizeof name, "call_%u", i);
        void *symbol = dlsym(made->library, name);
        memcpy(&made->nests[i], &symbol, sizeof symbol);
        if (!symbol)
            return PDM_INTERNAL;
    }
    return made->library ? PDM_OK : PDM_INTERNAL;
}

static pdm_status compile(const pdm_loop_fn *fn, void **out_image)
{
    const unsigned count = count_nests(fn);
    char folder[] = "/tmp/pdm-cuda-XXXXXX", path[256];
    pdm_buf text;

    if (pdm_loop_verify(fn) || !mkdtemp(folder))
        return PDM_INTERNAL;
    image *made = calloc(1, sizeof *made + count * sizeof made->nests[0]);
    pdm_buf_init(&text);
    pdm_status status = made ? print(fn, &text) : PDM_NOMEM;
    if (status == PDM_OK)
        status = build(folder, &text) ? load(folder, count, made) : PDM_INTERNAL;
    pdm_buf_deinit(&text);
    snprintf(path, sizeof path, "%s/kernel.c", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/kernel.so", folder);
    unlink(path);
    rmdir(folder);
    if (status != PDM_OK) {
        if (made)
            destroy(made);
        return status;
    }
    *out_image = made;
    return PDM_OK;
}

/* The grid covers the whole loop, so only its first part does anything. */
static pdm_status run(const void *any, uint32_t nest, void *const *buffers, const int64_t *symbols,
                      int64_t begin, int64_t end)
{
    const image *made = any;

    (void)end;
    if (begin == 0)
        made->nests[nest](buffers, symbols);
    return PDM_OK;
}

const pdm_cinn_backend emulated_backend = {
    .version = PDM_CINN_BACKEND_VERSION,
    .name = "cuda-emulated",
    .gpu = true,
    .compile = compile,
    .destroy = destroy,
    .run = run,
};
