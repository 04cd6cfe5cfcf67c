#include "cinn/cuda/nvrtc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cinn/cuda/library.h"

/* What is used of its interface. Results: 0 is success, 5 an option that it does not know. */
typedef struct program *program;
enum { SUCCESS = 0, INVALID_OPTION = 5 };

static struct nvrtc {
    int (*version)(int *major, int *minor);
    int (*num_archs)(int *count);
    int (*archs)(int *archs);
    int (*create)(program *out, const char *text, const char *name, int num_headers,
                  const char *const *headers, const char *const *names);
    int (*destroy)(program *p);
    int (*compile)(program p, int num_options, const char *const *options);
    int (*log_size)(program p, size_t *out);
    int (*log)(program p, char *out);
    int (*ptx_size)(program p, size_t *out);
    int (*ptx)(program p, char *out);
    int (*cubin_size)(program p, size_t *out);
    int (*cubin)(program p, char *out);
} nvrtc;

static const char *reason;
static char open_error[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- opening --------------------------------------------------------------------------------- */

static void open_once(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL};
    static const pdm_cinn_cuda_symbol symbols[] = {
        {"nvrtcVersion", offsetof(struct nvrtc, version)},
        {"nvrtcGetNumSupportedArchs", offsetof(struct nvrtc, num_archs)},
        {"nvrtcGetSupportedArchs", offsetof(struct nvrtc, archs)},
        {"nvrtcCreateProgram", offsetof(struct nvrtc, create)},
        {"nvrtcDestroyProgram", offsetof(struct nvrtc, destroy)},
        {"nvrtcCompileProgram", offsetof(struct nvrtc, compile)},
        {"nvrtcGetProgramLogSize", offsetof(struct nvrtc, log_size)},
        {"nvrtcGetProgramLog", offsetof(struct nvrtc, log)},
        {"nvrtcGetPTXSize", offsetof(struct nvrtc, ptx_size)},
        {"nvrtcGetPTX", offsetof(struct nvrtc, ptx)},
        {"nvrtcGetCUBINSize", offsetof(struct nvrtc, cubin_size)},
        {"nvrtcGetCUBIN", offsetof(struct nvrtc, cubin)},
    };
    char why[400];

    if (pdm_cinn_cuda_open("PDM_NVRTC", names, symbols, sizeof symbols / sizeof *symbols, &nvrtc, why, sizeof why))
        return;
    snprintf(open_error, sizeof open_error, "NVRTC is missing: %s", why);
    reason = open_error;
}

const char *pdm_cinn_nvrtc_why_not(void)
{
    pthread_once(&once, open_once);
    return reason;
}

int pdm_cinn_nvrtc_version(void)
{
    int major, minor;

    if (pdm_cinn_nvrtc_why_not() || nvrtc.version(&major, &minor) != SUCCESS)
        return 0;
    return 10 * major + minor;
}

int pdm_cinn_nvrtc_newest(void)
{
    int count = 0, newest = 0;

    if (pdm_cinn_nvrtc_why_not() || nvrtc.num_archs(&count) != SUCCESS || count <= 0)
        return 0;
    int *all = calloc((size_t)count, sizeof *all);
    if (all && nvrtc.archs(all) == SUCCESS) {
        for (int i = 0; i < count; i++)
            newest = all[i] > newest ? all[i] : newest;
    }
    free(all);
    return newest;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static void take_log(program p, pdm_buf *log)
{
    size_t size = 0;

    if (!log || nvrtc.log_size(p, &size) != SUCCESS || size <= 1)
        return;
    char *text = malloc(size);
    if (text && nvrtc.log(p, text) == SUCCESS)
        pdm_buf_put(log, text, size - 1);
    free(text);
}

static pdm_status take_code(program p, bool ptx, void **out_code, size_t *out_size)
{
    size_t size = 0;

    if ((ptx ? nvrtc.ptx_size : nvrtc.cubin_size)(p, &size) != SUCCESS || size == 0)
        return PDM_UNSUPPORTED;
    char *code = malloc(size);
    if (!code)
        return PDM_NOMEM;
    if ((ptx ? nvrtc.ptx : nvrtc.cubin)(p, code) != SUCCESS) {
        free(code);
        return PDM_UNSUPPORTED;
    }
    *out_code = code;
    *out_size = size;
    return PDM_OK;
}

/* Whether it was compiled. An old NVRTC may not know the last option. */
static bool compile(program p, const char *arch, bool quick)
{
    char target[64];
    /* Unused helpers are no matter. */
    const char *const options[] = {target, "--fmad=false", "-diag-suppress=177",
                                   "--Ofast-compile=max"};
    const int count = (int)(sizeof options / sizeof *options);

    snprintf(target, sizeof target, "--gpu-architecture=%s", arch);
    int result = nvrtc.compile(p, quick ? count : count - 1, options);
    if (result == INVALID_OPTION && quick)
        result = nvrtc.compile(p, count - 1, options);
    return result == SUCCESS;
}

pdm_status pdm_cinn_nvrtc_compile(const pdm_buf *text, const char *arch, bool quick, pdm_buf *log,
                                  void **out_code, size_t *out_size)
{
    program p = NULL;

    if (pdm_cinn_nvrtc_why_not())
        return PDM_UNSUPPORTED;
    if (!pdm_buf_ok(text))
        return PDM_NOMEM;
    char *copy = malloc(text->size + 1);
    if (!copy)
        return PDM_NOMEM;
    memcpy(copy, text->data, text->size);
    copy[text->size] = '\0';
    pdm_status status = PDM_UNSUPPORTED;
    if (nvrtc.create(&p, copy, "kernels.cu", 0, NULL, NULL) == SUCCESS) {
        if (compile(p, arch, quick))
            status = take_code(p, !strncmp(arch, "compute_", 8), out_code, out_size);
        take_log(p, log);
        nvrtc.destroy(&p);
    }
    free(copy);
    return status;
}
