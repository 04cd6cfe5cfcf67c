#include "cinn/cuda/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pdm_cinn_cuda_open(const char *variable, const char *const *names, const pdm_cinn_cuda_symbol *symbols,
                        size_t count, void *table, char *reason, size_t room)
{
    const char *given = getenv(variable);
    void *library = NULL;

    if (given && *given)
        library = dlopen(given, RTLD_NOW | RTLD_LOCAL);
    for (; !library && !(given && *given) && *names; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        snprintf(reason, room, "%s (%s names it)", error ? error : "it cannot be opened", variable);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found) {
            snprintf(reason, room, "it has no %s (%s names another)", symbols[i].name, variable);
            return false;
        }
        memcpy((char *)table + symbols[i].at, &found, sizeof found);
    }
    return true;
}
