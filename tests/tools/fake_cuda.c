/*
 * A CUDA driver and NVRTC without a GPU, for tests: PDM_CUDA and PDM_NVRTC name this library. Kernels in CUDA C are
 * compiled as C and run by the emulator (emulator.h); memory of the device is memory of the process, at addresses that
 * are shifted, so that nobody can use it without the driver. It is stricter than a driver: what is wrong is told on
 * standard error, and the call fails: memory that is not there or too small, calls without a context, modules and
 * functions that are gone, launches that do not fit, threads that race.
 *
 * PDM_FAKE_KERNELS: a library with kernels that need not be compiled again (pdm-run --collect).
 * PDM_FAKE_NO_DEVICE: there is a driver and no device. PDM_FAKE_MEMORY: bytes that the device has.
 * PDM_FAKE_FAIL: "N" has the N-th call from then on fail that may, counted from 1; "NAME", all of that function.
 * PDM_FAKE_TEXTS: a file to which the kernels that are compiled are appended, as pdm-nvrtc wants them.
 * PDM_FAKE_REPORT: a file; at the end it gets a line with what was done, and what was not given back.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "emulator.h"
#include "fake_cuda.h"

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201, NO_BINARY = 209,
       NOT_FOUND = 500, LAUNCH_FAILED = 719 };
#define SHIFT (UINT64_C(1) << 56)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current; /* a context */
static int the_context, the_stream;
static bool is_ready, has_stream;
static unsigned long launches, puts_done, gets_done, compiled, modules;
static uint64_t in_use, peak;
unsigned long fake_library_calls, fake_library_objects;

int fake_wrong(int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("fake cuda: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}

/* Set by whoever has allocations fail: told (true) before loader, compiler and emulator are
 * used, false after it. */
API void (*fake_outside)(bool);

static void outside(bool on)
{
    if (fake_outside)
        fake_outside(on);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct block {
    struct block *next;
    char *at;
    size_t bytes;
} block;

static block *blocks;

/* What an address points into; the rest of its bytes. */
static char *find_memory(uint64_t address, size_t *out_left)
{
    char *at = (char *)(uintptr_t)(address - SHIFT);

    for (const block *b = blocks; b; b = b->next) {
        if (at >= b->at && at < b->at + b->bytes) {
            *out_left = (size_t)(b->at + b->bytes - at);
            return at;
        }
    }
    return NULL;
}

/* What may go wrong outside of a program: it is told, since the program has to tell it, too. */
bool fake_fails(const char *what)
{
    static unsigned long calls;
    const char *which = getenv("PDM_FAKE_FAIL");

    if (!which)
        return false;
    pthread_mutex_lock(&lock);
    const bool fails = (*which >= '0' && *which <= '9') ? ++calls == strtoul(which, NULL, 10) : !strcmp(which, what);
    pthread_mutex_unlock(&lock);
    if (fails)
        fprintf(stderr, "fake cuda: %s fails for a test\n", what);
    return fails;
}

static bool enter(const char *what)
{
    if (is_ready && current)
        return !fake_fails(what);
    fake_wrong(INVALID_CONTEXT, "%s without a context", what);
    return false;
}

bool fake_may_call(const char *what, const void *stream)
{
    if (is_ready && current && stream == &the_stream)
        return true;
    fake_wrong(INVALID_CONTEXT, "%s without a context or a stream", what);
    return false;
}

void *fake_memory(const char *what, const void *address, uint64_t bytes)
{
    size_t left = 0;

    pthread_mutex_lock(&lock);
    char *at = find_memory((uint64_t)(uintptr_t)address, &left);
    pthread_mutex_unlock(&lock);
    if (at && left >= bytes)
        return at;
    fake_wrong(INVALID_VALUE, "%s has %zu of %llu bytes", what, left, (unsigned long long)bytes);
    return NULL;
}

API int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
    const char *limit = getenv("PDM_FAKE_MEMORY");
    block *b = malloc(sizeof *b);

    if (!enter("cuMemAlloc") || bytes == 0 || !b) {
        const int code = b ? INVALID_CONTEXT : OUT_OF_MEMORY;
        free(b);
        return bytes == 0 ? fake_wrong(INVALID_VALUE, "memory of no bytes") : code;
    }
    pthread_mutex_lock(&lock);
    const bool full = limit && in_use + bytes > strtoull(limit, NULL, 10);
    b->at = full ? NULL : malloc(bytes);
    if (b->at) {
        memset(b->at, 0xdb, bytes); /* nothing that could be taken for a result */
        b->bytes = bytes;
        b->next = blocks;
        blocks = b;
        in_use += bytes;
        peak = in_use > peak ? in_use : peak;
        *out = (uint64_t)(uintptr_t)b->at + SHIFT;
    }
    const bool got = b->at != NULL;
    if (!got)
        free(b);
    pthread_mutex_unlock(&lock);
    return got ? OK : OUT_OF_MEMORY;
}

API int cuMemFree_v2(uint64_t address)
{
    if (!enter("cuMemFree"))
        return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    block **at = &blocks;
    while (*at && (*at)->at != (char *)(uintptr_t)(address - SHIFT))
        at = &(*at)->next;
    block *found = *at;
    if (found) {
        *at = found->next;
        in_use -= found->bytes;
        free(found->at);
        free(found);
    }
    pthread_mutex_unlock(&lock);
    return found ? OK : fake_wrong(INVALID_VALUE, "memory is freed that is not there");
}

static int copy(const char *what, uint64_t address, size_t bytes, const void *stream, char **out)
{
    size_t left = 0;

    if (!enter(what))
        return INVALID_CONTEXT;
    if (stream != &the_stream)
        return fake_wrong(INVALID_VALUE, "%s in no stream", what);
    pthread_mutex_lock(&lock);
    *out = find_memory(address, &left);
    pthread_mutex_unlock(&lock);
    if (!*out || left < bytes)
        return fake_wrong(INVALID_VALUE, "%s of %zu bytes where %zu are", what, bytes, left);
    return OK;
}

API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, const void *stream)
{
    char *there;
    const int code = copy("cuMemcpyHtoDAsync", to, bytes, stream, &there);

    if (code == OK) {
        memcpy(there, from, bytes);
        puts_done++;
    }
    return code;
}

API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, const void *stream)
{
    char *there;
    const int code = copy("cuMemcpyDtoHAsync", from, bytes, stream, &there);

    if (code == OK) {
        memcpy(to, there, bytes);
        gets_done++;
    }
    return code;
}

/* ---- devices --------------------------------------------------------------------------------- */

static void report(void)
{
    const char *path = getenv("PDM_FAKE_REPORT");
    FILE *out = path ? fopen(path, "a") : NULL;
    unsigned long left = 0;

    if (!out)
        return;
    for (const block *b = blocks; b; b = b->next)
        left++;
    fprintf(out, "%lu compiled, %lu launches, %lu copies to the device, %lu from it, %llu bytes at most, %lu blocks left, "
                 "%lu modules left, %lu calls of libraries, %lu descriptors and events left\n",
            compiled, launches, puts_done, gets_done, (unsigned long long)peak, left, modules, fake_library_calls,
            fake_library_objects);
    fclose(out);
}

API int cuInit(unsigned flags)
{
    if (!is_ready)
        atexit(report);
    is_ready = flags == 0 && !fake_fails("cuInit");
    return is_ready ? OK : INVALID_VALUE;
}

API int cuGetErrorString(int code, const char **out)
{
    *out = code == OUT_OF_MEMORY   ? "out of memory"
           : code == NO_DEVICE     ? "no CUDA-capable device is detected"
           : code == LAUNCH_FAILED ? "a kernel failed"
                                   : "an invalid argument";
    return OK;
}

API int cuDeviceGetCount(int *out)
{
    *out = getenv("PDM_FAKE_NO_DEVICE") ? 0 : 1;
    return fake_fails("cuDeviceGetCount") ? NO_DEVICE : OK;
}

API int cuDeviceGet(int *out, int number)
{
    *out = 7;
    return number == 0 && !fake_fails("cuDeviceGet") ? OK : INVALID_VALUE;
}

API int cuDeviceGetAttribute(int *out, int attribute, int device)
{
    *out = attribute == 75 ? 8 : 0; /* 8.0 */
    return device == 7 && (attribute == 75 || attribute == 76) && !fake_fails("cuDeviceGetAttribute") ? OK : INVALID_VALUE;
}

API int cuDevicePrimaryCtxRetain(void **out, int device)
{
    *out = &the_context;
    return device == 7 && !fake_fails("cuDevicePrimaryCtxRetain") ? OK : INVALID_VALUE;
}

API int cuCtxSetCurrent(const void *context)
{
    current = context == &the_context && !fake_fails("cuCtxSetCurrent");
    return current ? OK : fake_wrong(INVALID_CONTEXT, "there is no such context");
}

API int cuStreamCreate(void **out, unsigned flags)
{
    *out = &the_stream;
    has_stream = true;
    return enter("cuStreamCreate") && flags <= 1 ? OK : INVALID_VALUE;
}

API int cuStreamSynchronize(const void *stream)
{
    return enter("cuStreamSynchronize") && has_stream && stream == &the_stream ? OK : INVALID_VALUE;
}

/* ---- events ---------------------------------------------------------------------------------- */

typedef struct event {
    bool recorded;
    struct timespec at;
} event;

API int cuEventCreate(event **out, unsigned flags)
{
    event *e = calloc(1, sizeof *e);

    if (!enter("cuEventCreate") || !e || flags != 0) {
        free(e);
        return INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    fake_library_objects++;
    pthread_mutex_unlock(&lock);
    *out = e;
    return OK;
}

API int cuEventRecord(event *e, const void *stream)
{
    if (!enter("cuEventRecord") || stream != &the_stream)
        return INVALID_VALUE;
    e->recorded = true;
    clock_gettime(CLOCK_MONOTONIC, &e->at);
    return OK;
}

API int cuEventSynchronize(const event *e)
{
    return enter("cuEventSynchronize") && e->recorded ? OK : INVALID_VALUE;
}

API int cuEventElapsedTime(float *out, const event *first, const event *second)
{
    if (!enter("cuEventElapsedTime") || !first->recorded || !second->recorded)
        return INVALID_VALUE;
    *out = (float)(second->at.tv_sec - first->at.tv_sec) * 1e3f + (float)(second->at.tv_nsec - first->at.tv_nsec) / 1e6f;
    return OK;
}

API int cuEventDestroy_v2(event *e)
{
    free(e);
    pthread_mutex_lock(&lock);
    fake_library_objects--;
    pthread_mutex_unlock(&lock);
    return OK;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* What NVRTC makes: kernels in a library, as bytes, or the path of one that has them. */
typedef struct header {
    char magic[8];
    uint64_t size; /* 0: kernels are in PDM_FAKE_KERNELS */
} header;

static const char magic[8] = "fakecub";

typedef struct function {
    struct function *next;
    emulator_kernel kernel;
    char name[64];
} function;

typedef struct module {
    void *library;
    bool owned;
    function *functions;
} module;

static void *known_kernels(void)
{
    static void *library;
    const char *path = getenv("PDM_FAKE_KERNELS");

    if (!library && path)
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void *open_bytes(const char *bytes, size_t size)
{
    char path[] = "/tmp/pdm-fake-XXXXXX";
    const int fd = mkstemp(path);

    if (fd < 0)
        return NULL;
    const bool written = write(fd, bytes, size) == (ssize_t)size;
    close(fd);
    void *library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(path);
    return library;
}

API int cuModuleLoadData(module **out, const void *image)
{
    header h;

    memcpy(&h, image, sizeof h);
    if (!enter("cuModuleLoadData"))
        return INVALID_CONTEXT;
    if (memcmp(h.magic, magic, sizeof magic) != 0)
        return fake_wrong(NO_BINARY, "an image that is no code");
    module *m = calloc(1, sizeof *m);
    if (!m)
        return OUT_OF_MEMORY;
    m->owned = h.size > 0;
    outside(true);
    m->library = m->owned ? open_bytes((const char *)image + sizeof h, h.size) : known_kernels();
    outside(false);
    if (!m->library) {
        free(m);
        return fake_wrong(NO_BINARY, "code that cannot be loaded: %s", dlerror());
    }
    modules++;
    *out = m;
    return OK;
}

API int cuModuleUnload(module *m)
{
    if (!enter("cuModuleUnload"))
        return INVALID_CONTEXT;
    for (function *f = m->functions, *next; f; f = next) {
        next = f->next;
        memset(f, 0, sizeof *f); /* a launch of it fails */
        free(f);
    }
    outside(true);
    if (m->owned)
        dlclose(m->library);
    outside(false);
    free(m);
    modules--;
    return OK;
}

API int cuModuleGetFunction(function **out, module *m, const char *name)
{
    function *f = calloc(1, sizeof *f);

    if (!enter("cuModuleGetFunction") || !f || strlen(name) >= sizeof f->name ||
        !emulator_find(m->library, name, &f->kernel)) {
        free(f);
        return fake_wrong(NOT_FOUND, "there is no kernel %s", name);
    }
    strcpy(f->name, name);
    f->next = m->functions;
    m->functions = f;
    *out = f;
    return OK;
}

enum { MOST_ARGUMENTS = 512 };

/* Pointers among the arguments become those of the process. */
static int translate(const function *f, void **arguments, void **out, void **pointers, long long *bytes)
{
    for (unsigned i = 0; i < f->kernel.num_arguments; i++) {
        uint64_t value;
        size_t left = 0;
        out[i] = arguments[i];
        bytes[i] = 0;
        if (!f->kernel.pointers[i])
            continue;
        memcpy(&value, arguments[i], sizeof value);
        pointers[i] = find_memory(value, &left);
        if (!pointers[i])
            return fake_wrong(INVALID_VALUE, "argument %u of %s is no memory of the device", i, f->name);
        out[i] = &pointers[i];
        bytes[i] = (long long)left;
    }
    return OK;
}

API int cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, const void *stream, void **arguments, void **extra)
{
    void *copies[MOST_ARGUMENTS], *pointers[MOST_ARGUMENTS];
    long long bytes[MOST_ARGUMENTS];

    if (!enter("cuLaunchKernel"))
        return INVALID_CONTEXT;
    if (stream != &the_stream || extra || shared > 48 * 1024 || gx == 0 || gy > 65535 || gz > 65535 || bx == 0 ||
        (uint64_t)bx * by * bz > 1024 || f->kernel.num_arguments > MOST_ARGUMENTS)
        return fake_wrong(INVALID_VALUE, "a launch of %s that does not fit", f->name);
    pthread_mutex_lock(&lock);
    const int code = translate(f, arguments, copies, pointers, bytes);
    pthread_mutex_unlock(&lock);
    if (code != OK)
        return code;
    launches++;
    /* As many blocks as make kernels go around more than once. */
    const emulator_size grid = emulator_few(gx, gy, gz), size = {bx, by, bz};
    outside(true);
    const char *fault = emulator_launch(&f->kernel, grid, size, copies, bytes);
    outside(false);
    return fault ? fake_wrong(LAUNCH_FAILED, "%s: %s", f->name, fault) : OK;
}

/* ---- NVRTC ----------------------------------------------------------------------------------- */

typedef struct program {
    char *text;
    bool ptx; /* which nobody runs here: an empty file of it */
    pdm_buf code, log;
} program;

API int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 9;
    return OK;
}

API int nvrtcGetNumSupportedArchs(int *out)
{
    *out = 2;
    return OK;
}

API int nvrtcGetSupportedArchs(int *out)
{
    out[0] = 80;
    out[1] = 90;
    return OK;
}

API int nvrtcCreateProgram(program **out, const char *text, const char *name, int num_headers, const char *const *headers,
                           const char *const *names)
{
    program *p = calloc(1, sizeof *p);

    (void)name;
    if (!p || num_headers != 0 || headers || names)
        return 3;
    p->text = strdup(text);
    pdm_buf_init(&p->code);
    pdm_buf_init(&p->log);
    *out = p;
    return OK;
}

API int nvrtcDestroyProgram(program **at)
{
    program *p = *at;

    free(p->text);
    pdm_buf_deinit(&p->code);
    pdm_buf_deinit(&p->log);
    free(p);
    *at = NULL;
    return OK;
}

/* Whether all kernels of a text are known already. */
static bool are_known(const char *text)
{
    static const char start[] = "\nPDM_KERNEL ";
    void *library = known_kernels();
    emulator_kernel kernel;
    char name[64];

    for (const char *at = strstr(text, start); library && at; at = strstr(at + 1, start)) {
        if (sscanf(at + sizeof start - 1, "%63[^(]", name) != 1 || !emulator_find(library, name, &kernel))
            return false;
    }
    return library != NULL;
}

static void put_library(program *p, const char *path)
{
    header h = {.size = 0};
    char part[4096];
    size_t got;
    FILE *file = fopen(path, "rb");
    pdm_buf bytes;

    pdm_buf_init(&bytes);
    while (file && (got = fread(part, 1, sizeof part, file)) > 0)
        pdm_buf_put(&bytes, part, got);
    if (file)
        fclose(file);
    memcpy(h.magic, magic, sizeof magic);
    h.size = bytes.size;
    pdm_buf_put(&p->code, &h, sizeof h);
    pdm_buf_put(&p->code, bytes.data, bytes.size);
    pdm_buf_deinit(&bytes);
}

/* What stands before the kernels is in a file once. */
static void keep_text(const char *text)
{
    const char *path = getenv("PDM_FAKE_TEXTS"), *kernels = strstr(text, "\nPDM_KERNEL ");
    FILE *file = path && kernels ? fopen(path, "a") : NULL;

    if (!file)
        return;
    fseek(file, 0, SEEK_END);
    fputs(ftell(file) > 0 ? kernels : text, file);
    fclose(file);
}

static bool compile(program *p)
{
    char folder[] = "/tmp/pdm-fake-XXXXXX", library[64];
    pdm_buf wrapped;

    compiled++;
    keep_text(p->text);
    if (are_known(p->text)) {
        header h = {.size = 0};
        memcpy(h.magic, magic, sizeof magic);
        pdm_buf_put(&p->code, &h, sizeof h);
        return true;
    }
    if (!mkdtemp(folder))
        return false;
    snprintf(library, sizeof library, "%s/kernels.so", folder);
    pdm_buf_init(&wrapped);
    emulator_wrap(p->text, strlen(p->text), &wrapped);
    const bool made = pdm_buf_ok(&wrapped) && emulator_compile(&wrapped, folder, library);
    if (made)
        put_library(p, library);
    pdm_buf_deinit(&wrapped);
    unlink(library);
    rmdir(folder);
    return made && pdm_buf_ok(&p->code);
}

API int nvrtcCompileProgram(program *p, int num_options, const char *const *options)
{
    for (int i = 0; i < num_options; i++) {
        p->ptx = p->ptx || !strcmp(options[i], "--gpu-architecture=compute_80");
        if (strcmp(options[i], "--gpu-architecture=compute_80") != 0 &&
            strcmp(options[i], "--gpu-architecture=sm_80") != 0 && strcmp(options[i], "--fmad=false") != 0 &&
            strcmp(options[i], "-diag-suppress=177") != 0)
            return fake_wrong(5, "unknown option %s", options[i]);
    }
    if (getenv("PDM_FAKE_REFUSE")) {
        pdm_buf_puts(&p->log, "kernels.cu(1): error: refused for a test");
        return 6;
    }
    outside(true);
    const bool made = p->ptx || compile(p);
    outside(false);
    return made ? OK : 6;
}

API int nvrtcGetProgramLogSize(const program *p, size_t *out)
{
    *out = p->log.size + 1;
    return OK;
}

API int nvrtcGetProgramLog(const program *p, char *out)
{
    memcpy(out, p->log.data, p->log.size);
    out[p->log.size] = '\0';
    return OK;
}

API int nvrtcGetCUBINSize(const program *p, size_t *out)
{
    *out = p->code.size;
    return OK;
}

API int nvrtcGetCUBIN(const program *p, char *out)
{
    memcpy(out, p->code.data, p->code.size);
    return OK;
}

static const char empty_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n";

API int nvrtcGetPTXSize(const program *p, size_t *out)
{
    *out = p->ptx ? sizeof empty_ptx : 0;
    return p->ptx ? OK : fake_wrong(1, "there is no PTX");
}

API int nvrtcGetPTX(const program *p, char *out)
{
    if (!p->ptx)
        return 1;
    memcpy(out, empty_ptx, sizeof empty_ptx);
    return OK;
}
