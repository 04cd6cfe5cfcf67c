#include "cinn/cuda/driver.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cinn/cuda/library.h"

/* What is used of the driver's interface; each function gives 0 when it is done. */
typedef uint64_t address;
typedef struct stream stream;
typedef struct context context;

enum { OUT_OF_MEMORY = 2, CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };

static struct driver {
    int (*init)(unsigned flags);
    int (*error_string)(int code, const char **out);
    int (*device_count)(int *out);
    int (*device_get)(int *out, int number);
    int (*device_attribute)(int *out, int attribute, int device);
    int (*context_retain)(context **out, int device);
    int (*context_set)(context *c);
    int (*stream_create)(stream **out, unsigned flags);
    int (*stream_wait)(stream *s);
    int (*event_create)(void **out, unsigned flags);
    int (*event_record)(void *event, stream *s);
    int (*event_wait)(void *event);
    int (*event_elapsed)(float *out_milliseconds, void *first, void *second);
    int (*event_destroy)(void *event);
    int (*alloc)(address *out, size_t bytes);
    int (*free)(address at);
    int (*put)(address to, const void *from, size_t bytes, stream *s);
    int (*get)(void *to, address from, size_t bytes, stream *s);
    int (*load)(pdm_cinn_cuda_module **out, const void *image);
    int (*unload)(pdm_cinn_cuda_module *module);
    int (*find)(pdm_cinn_cuda_function **out, pdm_cinn_cuda_module *module, const char *name);
    int (*launch)(pdm_cinn_cuda_function *function, unsigned gx, unsigned gy, unsigned gz,
                  unsigned bx, unsigned by, unsigned bz, unsigned shared, stream *s,
                  void **arguments, void **extra);
} driver;

static context *the_context;
static stream *the_stream;
static int capability;
static const char *reason;
static char open_error[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local char last_error[256];
static _Thread_local bool is_current;

/* ---- opening --------------------------------------------------------------------------------- */

static const char *text_of(int code)
{
    const char *text = NULL;

    return driver.error_string && driver.error_string(code, &text) == 0 && text ? text
                                                                               : "unknown error";
}

static bool open_driver(void)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    static const pdm_cinn_cuda_symbol symbols[] = {
        {"cuInit", offsetof(struct driver, init)},
        {"cuGetErrorString", offsetof(struct driver, error_string)},
        {"cuDeviceGetCount", offsetof(struct driver, device_count)},
        {"cuDeviceGet", offsetof(struct driver, device_get)},
        {"cuDeviceGetAttribute", offsetof(struct driver, device_attribute)},
        {"cuDevicePrimaryCtxRetain", offsetof(struct driver, context_retain)},
        {"cuCtxSetCurrent", offsetof(struct driver, context_set)},
        {"cuStreamCreate", offsetof(struct driver, stream_create)},
        {"cuStreamSynchronize", offsetof(struct driver, stream_wait)},
        {"cuEventCreate", offsetof(struct driver, event_create)},
        {"cuEventRecord", offsetof(struct driver, event_record)},
        {"cuEventSynchronize", offsetof(struct driver, event_wait)},
        {"cuEventElapsedTime", offsetof(struct driver, event_elapsed)},
        {"cuEventDestroy_v2", offsetof(struct driver, event_destroy)},
        {"cuMemAlloc_v2", offsetof(struct driver, alloc)},
        {"cuMemFree_v2", offsetof(struct driver, free)},
        {"cuMemcpyHtoDAsync_v2", offsetof(struct driver, put)},
        {"cuMemcpyDtoHAsync_v2", offsetof(struct driver, get)},
        {"cuModuleLoadData", offsetof(struct driver, load)},
        {"cuModuleUnload", offsetof(struct driver, unload)},
        {"cuModuleGetFunction", offsetof(struct driver, find)},
        {"cuLaunchKernel", offsetof(struct driver, launch)},
    };

    char why[400];

    if (pdm_cinn_cuda_open("PDM_CUDA", names, symbols, sizeof symbols / sizeof *symbols, &driver, why, sizeof why))
        return true;
    snprintf(open_error, sizeof open_error, "there is no CUDA driver: %s", why);
    return false;
}

static int open_device(void)
{
    int count = 0, device = 0, major = 0, minor = 0;
    int code = driver.init(0);

    if (code == 0)
        code = driver.device_count(&count);
    if (code == 0 && count == 0)
        return -1;
    if (code == 0)
        code = driver.device_get(&device, 0);
    if (code == 0)
        code = driver.device_attribute(&major, CAPABILITY_MAJOR, device);
    if (code == 0)
        code = driver.device_attribute(&minor, CAPABILITY_MINOR, device);
    if (code == 0)
        code = driver.context_retain(&the_context, device);
    if (code == 0)
        code = driver.context_set(the_context);
    if (code == 0)
        code = driver.stream_create(&the_stream, 0);
    capability = 10 * major + minor;
    return code;
}

static void open_once(void)
{
    reason = open_error;
    if (!open_driver())
        return;
    const int code = open_device();
    if (code == 0)
        reason = NULL;
    else
        snprintf(open_error, sizeof open_error, "there is no CUDA device%s%s", code < 0 ? "" : ": ",
                 code < 0 ? "" : text_of(code));
}

const char *pdm_cinn_cuda_why_not(void)
{
    pthread_once(&once, open_once);
    return reason;
}

int pdm_cinn_cuda_capability(void)
{
    return pdm_cinn_cuda_why_not() ? 0 : capability;
}

const char *pdm_cinn_cuda_error(void)
{
    return last_error;
}

/* Calls need a context in each thread. */
static bool enter(void)
{
    if (pdm_cinn_cuda_why_not()) {
        snprintf(last_error, sizeof last_error, "%s", reason);
        return false;
    }
    if (!is_current)
        is_current = driver.context_set(the_context) == 0;
    return is_current;
}

static pdm_status result_of(const char *what, int code)
{
    if (code == 0)
        return PDM_OK;
    snprintf(last_error, sizeof last_error, "%s: %s", what, text_of(code));
    return code == OUT_OF_MEMORY ? PDM_NOMEM : PDM_INTERNAL;
}

void *pdm_cinn_cuda_stream(void)
{
    return enter() ? the_stream : NULL;
}

pdm_status pdm_cinn_cuda_fail(const char *what, int code)
{
    snprintf(last_error, sizeof last_error, "%s: error %d", what, code);
    return PDM_INTERNAL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* One that is kept; blocks of one size class make a list. */
typedef struct idle {
    struct idle *next;
    address at;
} idle;

enum { LEAST_BITS = 8, NUM_CLASSES = 4 * (64 - LEAST_BITS) };

static idle *lists[NUM_CLASSES];
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

/* Four classes between powers of two. */
static size_t class_of(size_t bytes, size_t *out_size)
{
    size_t class = 0, size = (size_t)1 << LEAST_BITS;

    while (size < bytes && class < NUM_CLASSES - 1) {
        const size_t step = ((size_t)1 << (LEAST_BITS + class / 4)) / 4;
        size += step;
        class++;
    }
    *out_size = size;
    return class;
}

void pdm_cinn_cuda_trim(void)
{
    if (!enter())
        return;
    pthread_mutex_lock(&pool_lock);
    for (size_t i = 0; i < NUM_CLASSES; i++) {
        for (idle *block = lists[i], *next; block; block = next) {
            next = block->next;
            driver.free(block->at);
            free(block);
        }
        lists[i] = NULL;
    }
    pthread_mutex_unlock(&pool_lock);
}

pdm_status pdm_cinn_cuda_alloc(size_t bytes, void **out)
{
    size_t size;
    const size_t class = class_of(bytes, &size);
    address at = 0;

    if (bytes > SIZE_MAX / 4 || !enter())
        return bytes > SIZE_MAX / 4 ? PDM_NOMEM : PDM_UNSUPPORTED;
    pthread_mutex_lock(&pool_lock);
    idle *block = lists[class];
    if (block)
        lists[class] = block->next;
    pthread_mutex_unlock(&pool_lock);
    if (block) {
        at = block->at;
        free(block);
    } else {
        int code = driver.alloc(&at, size);
        if (code == OUT_OF_MEMORY) {
            pdm_cinn_cuda_trim();
            code = driver.alloc(&at, size);
        }
        PDM_TRY(result_of("memory of the device", code));
    }
    *out = (void *)(uintptr_t)at;
    return PDM_OK;
}

/* What comes after it in the stream may have it. */
void pdm_cinn_cuda_free(void *at, size_t bytes)
{
    size_t size;
    const size_t class = class_of(bytes, &size);
    idle *block = at ? malloc(sizeof *block) : NULL;

    if (!at || !enter()) {
        free(block);
        return;
    }
    if (!block) {
        driver.stream_wait(the_stream);
        driver.free((uintptr_t)at);
        return;
    }
    block->at = (uintptr_t)at;
    pthread_mutex_lock(&pool_lock);
    block->next = lists[class];
    lists[class] = block;
    pthread_mutex_unlock(&pool_lock);
}

pdm_status pdm_cinn_cuda_put(void *to, const void *from, size_t bytes)
{
    if (bytes == 0)
        return PDM_OK;
    return enter() ? result_of("copying to the device",
                               driver.put((uintptr_t)to, from, bytes, the_stream))
                   : PDM_UNSUPPORTED;
}

pdm_status pdm_cinn_cuda_get(void *to, const void *from, size_t bytes)
{
    if (!enter())
        return PDM_UNSUPPORTED;
    if (bytes > 0)
        PDM_TRY(result_of("copying from the device",
                          driver.get(to, (uintptr_t)from, bytes, the_stream)));
    return result_of("waiting for the device", driver.stream_wait(the_stream));
}

/* ---- events ---------------------------------------------------------------------------------- */

pdm_status pdm_cinn_cuda_mark(void **out_event)
{
    void *event = NULL;

    if (!enter())
        return PDM_UNSUPPORTED;
    PDM_TRY(result_of("making an event", driver.event_create(&event, 0)));
    const pdm_status status = result_of("recording an event", driver.event_record(event, the_stream));
    if (status == PDM_OK)
        *out_event = event;
    else
        driver.event_destroy(event);
    return status;
}

pdm_status pdm_cinn_cuda_between(void *first, void *second, uint64_t *out_nanoseconds)
{
    float milliseconds = 0;

    if (!enter())
        return PDM_UNSUPPORTED;
    PDM_TRY(result_of("waiting for an event", driver.event_wait(second)));
    PDM_TRY(result_of("the time between events", driver.event_elapsed(&milliseconds, first, second)));
    *out_nanoseconds = milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6) : 0;
    return PDM_OK;
}

void pdm_cinn_cuda_unmark(void *event)
{
    if (event && enter())
        driver.event_destroy(event);
}

/* ---- code ------------------------------------------------------------------------------------ */

pdm_status pdm_cinn_cuda_load(const void *image, pdm_cinn_cuda_module **out)
{
    return enter() ? result_of("loading code", driver.load(out, image)) : PDM_UNSUPPORTED;
}

void pdm_cinn_cuda_unload(pdm_cinn_cuda_module *module)
{
    if (module && enter())
        driver.unload(module);
}

pdm_status pdm_cinn_cuda_find(pdm_cinn_cuda_module *module, const char *name,
                              pdm_cinn_cuda_function **out)
{
    return enter() ? result_of(name, driver.find(out, module, name)) : PDM_UNSUPPORTED;
}

pdm_status pdm_cinn_cuda_launch(pdm_cinn_cuda_function *function, const uint32_t blocks[3],
                                const uint32_t threads[3], void **arguments)
{
    return enter() ? result_of("launching a kernel",
                               driver.launch(function, blocks[0], blocks[1], blocks[2], threads[0], threads[1],
                                             threads[2], 0, the_stream, arguments, NULL))
                   : PDM_UNSUPPORTED;
}
