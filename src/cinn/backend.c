#include "cinn/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cinn/identity.h"
#include "cinn/native.h"
#include "cinn/notes.h"

/* ---- the module ------------------------------------------------------------------------------ */

enum { MAX_ADDED = 4 };
static const pdm_cinn_backend *llvm, *added[MAX_ADDED];
static unsigned num_added;
static const char *llvm_reason;
static pthread_once_t llvm_once = PTHREAD_ONCE_INIT;
static const pdm_cinn_backend *chosen; /* to be used for llvm */
static const char *find_reason;
static pthread_once_t find_once = PTHREAD_ONCE_INIT;

static char open_error[512]; /* what the loader said */
static char find_error[4352];

static const char *path_of_module(char path[4096])
{
    const char *folder = getenv("PDM_MODULE_DIR");

    if (!folder || !folder[0])
        folder = PDM_MODULE_DIR;
    return snprintf(path, 4096, "%s/pdmigrate-llvm.so", folder) >= 4096
               ? "the path of the module is too long"
               : NULL;
}

static const char *open_module(void **out)
{
    char path[4096];
    const char *fault = path_of_module(path);

    if (fault)
        return fault;
    *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*out)
        return NULL;
    const char *error = dlerror();
    snprintf(open_error, sizeof open_error, "%s", error ? error : "the module cannot be opened");
    return open_error;
}

/* The module stays open: code that it made may run until the end. */
static void open_llvm(void)
{
    void *module = NULL;

    llvm_reason = open_module(&module);
    if (llvm_reason)
        return;
    void *symbol = dlsym(module, PDM_CINN_MODULE_ENTRY);
    pdm_cinn_module_fn entry;
    memcpy(&entry, &symbol, sizeof entry);
    const pdm_cinn_backend *found = symbol ? entry() : NULL;
    if (!found || found->version != PDM_CINN_BACKEND_VERSION ||
        strcmp(found->identity, PDM_CINN_MODULE_IDENTITY) != 0)
        llvm_reason = "the module pdmigrate-llvm.so is of another version";
    else if (!(llvm_reason = found->why_not()))
        llvm = found;
}

const pdm_cinn_backend *pdm_cinn_backend_module(const char **out_reason)
{
    pthread_once(&llvm_once, open_llvm);
    *out_reason = llvm_reason;
    return llvm;
}

/* ---- llvm, without the module as long as code was kept --------------------------------------- */

static void native_target(pdm_buf *out)
{
    pdm_buf_puts(out, PDM_CINN_MODULE_IDENTITY " ");
    pdm_cinn_native_target(out);
}

static pdm_status native_make(const pdm_loop_fn *fn, void **out_code, size_t *out_size)
{
    const char *reason;
    const pdm_cinn_backend *module = pdm_cinn_backend_module(&reason);

    if (module)
        return module->make(fn, out_code, out_size);
    pdm_cinn_note(PDM_CINN_NOTE_NOT_COMPILED, "ops are run one by one (llvm): %s", reason);
    return PDM_UNSUPPORTED;
}

static pdm_status native_load(const pdm_loop_fn *fn, const void *code, size_t size, void **out_image)
{
    pdm_cinn_native *native;

    PDM_TRY(pdm_cinn_native_load(code, size, pdm_cinn_count_nests(fn), &native));
    *out_image = native;
    return PDM_OK;
}

static pdm_status native_compile(const pdm_loop_fn *fn, void **out_image)
{
    void *code;
    size_t size;

    PDM_TRY(native_make(fn, &code, &size));
    const pdm_status status = native_load(fn, code, size, out_image);
    free(code);
    return status;
}

static void native_destroy(void *image)
{
    pdm_cinn_native_destroy(image);
}

static pdm_status native_run(const void *image, uint32_t nest, void *const *buffers,
                             const int64_t *symbols, int64_t begin, int64_t end)
{
    const pdm_cinn_native *native = image;

    native->nests[nest](buffers, symbols, begin, end);
    return PDM_OK;
}

static const pdm_cinn_backend native = {
    .version = PDM_CINN_BACKEND_VERSION,
    .name = "llvm",
    .wants_arithmetic = true,
    .compile = native_compile,
    .destroy = native_destroy,
    .run = native_run,
    .target = native_target,
    .make = native_make,
    .load = native_load,
};

static bool loads_natively(void)
{
    pdm_buf target;

    pdm_buf_init(&target);
    const bool good = pdm_cinn_native_target(&target);
    pdm_buf_deinit(&target);
    return good;
}

/* To open the module takes longer than to load what was kept; whether it is there is told now. */
static void look_for_llvm(void)
{
    char path[4096], storage[128];

    find_reason = path_of_module(path);
    if (!find_reason && access(path, R_OK) != 0) {
        snprintf(find_error, sizeof find_error, "%s: %s", path,
                 pdm_errno_text(errno, storage, sizeof storage));
        find_reason = find_error;
    }
    if (find_reason)
        return;
    chosen = loads_natively() ? &native : pdm_cinn_backend_module(&find_reason);
}

/* ---- all backends ---------------------------------------------------------------------------- */

uint32_t pdm_cinn_count_nests(const pdm_loop_fn *fn)
{
    uint32_t count = 0;

    for (const pdm_loop_stmt *stmt = fn->body; stmt; stmt = stmt->next)
        count++;
    return count;
}

void pdm_cinn_backend_add(const pdm_cinn_backend *backend)
{
    if (num_added < MAX_ADDED)
        added[num_added++] = backend;
}

const pdm_cinn_backend *pdm_cinn_backend_find(const char *name, const char **out_reason)
{
    *out_reason = NULL;
    for (unsigned i = 0; i < num_added; i++) {
        if (!strcmp(name, added[i]->name))
            return added[i];
    }
    if (!strcmp(name, "ref"))
        return &pdm_cinn_backend_ref;
    if (!strcmp(name, "cuda")) {
        *out_reason = pdm_cinn_backend_cuda.why_not();
        return *out_reason ? NULL : &pdm_cinn_backend_cuda;
    }
    if (strcmp(name, "llvm") != 0) {
        *out_reason = "there is no such backend";
        return NULL;
    }
    pthread_once(&find_once, look_for_llvm);
    *out_reason = find_reason;
    return chosen;
}
