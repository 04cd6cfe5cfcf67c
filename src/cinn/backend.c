#include "cinn/backend.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pdm_cinn_backend *llvm, *added;
static const char *llvm_reason;
static pthread_once_t llvm_once = PTHREAD_ONCE_INIT;

static char open_error[512]; /* what the loader said */

static const char *open_in(const char *folder, void **out)
{
    char path[4096];

    if (snprintf(path, sizeof path, "%s/pdmigrate-llvm.so", folder) >= (int)sizeof path)
        return "the path of the module is too long";
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
    const char *folder = getenv("PDM_MODULE_DIR");
    void *module = NULL;

    llvm_reason = open_in(folder && folder[0] ? folder : PDM_MODULE_DIR, &module);
    if (llvm_reason)
        return;
    void *symbol = dlsym(module, PDM_CINN_MODULE_ENTRY);
    pdm_cinn_module_fn entry;
    memcpy(&entry, &symbol, sizeof entry);
    const pdm_cinn_backend *found = symbol ? entry() : NULL;
    if (!found || found->version != PDM_CINN_BACKEND_VERSION)
        llvm_reason = "the module pdmigrate-llvm.so is of another version";
    else
        llvm = found;
}

void pdm_cinn_backend_add(const pdm_cinn_backend *backend)
{
    added = backend;
}

const pdm_cinn_backend *pdm_cinn_backend_find(const char *name, const char **out_reason)
{
    *out_reason = NULL;
    if (added && !strcmp(name, added->name))
        return added;
    if (!strcmp(name, "ref"))
        return &pdm_cinn_backend_ref;
    if (strcmp(name, "llvm") != 0) {
        *out_reason = "there is no such backend";
        return NULL;
    }
    pthread_once(&llvm_once, open_llvm);
    *out_reason = llvm_reason;
    return llvm;
}
