/* Fuzz the scan of parameter files, as a combined file of one or many records of each kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 512 };

static void note(void *user, const pdm_diagnostic *d)
{
    *(size_t *)user += strlen(d->message) + (d->var ? strlen(d->var) : 0);
}

/* Every record found lies in the file. */
static void check(const pdm_params *params, size_t size)
{
    for (size_t i = 0; i < params->count; i++) {
        const pdm_param *param = &params->items[i];
        if (param->offset > size || param->size > size - param->offset ||
            param->data_offset < param->offset || param->data_size > param->size)
            abort();
    }
}

static void scan(const char *path, size_t size, size_t count, pdm_param_kind kind)
{
    static char names[MOST][24];
    const char *pointers[MOST];
    pdm_param_kind kinds[MOST];
    size_t length = 0;
    pdm_diag_sink sink = {.fn = note, .user = &length, .verbose = true};
    pdm_params params;

    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "p%04zu", i);
        pointers[i] = names[i];
        kinds[i] = kind;
    }
    pdm_params_init(&params);
    pdm_status status = pdm_params_scan_combined(
        &params, path, pointers, kind == PDM_PARAM_DENSE ? NULL : kinds, count, &sink);
    if (status == PDM_OK) {
        if (params.count != count || sink.num_errors > 0)
            abort();
        check(&params, size);
    } else if (status != PDM_NOMEM && sink.num_errors == 0) {
        abort();
    }
    pdm_params_deinit(&params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("params", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    scan(path, size, 1, PDM_PARAM_DENSE);
    scan(path, size, MOST, PDM_PARAM_DENSE);
    scan(path, size, 1, PDM_PARAM_SELECTED_ROWS);
    scan(path, size, 1, PDM_PARAM_VOCAB);
    close(fd);
    return 0;
}
