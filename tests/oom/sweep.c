/*
 * Fails the n-th allocation of a whole conversion (load, convert, dump, write), for every n: each
 * time the answer is PDM_NOMEM, nothing is written and nothing leaks. Then the same with every
 * allocation from the n-th on. A failure that the code can do without (a sort that has another way)
 * may also end well, with the whole output.
 *
 * malloc and its like are replaced for the whole program, so that those of libc, protobuf-c and
 * cJSON fail too.
 */
#include <errno.h>
#include <pdmigrate/pdmigrate.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer) || __has_feature(leak_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(SANITIZED) || !defined(__GLIBC__)

int main(void)
{
    puts("1..0 # SKIP malloc cannot be replaced here (sanitizers, or not glibc)");
    return 0;
}

#else

/* ---- the allocator ------------------------------------------------------------------------------
 */

/* glibc's own names for what we replace. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static struct {
    uint64_t calls;   /* since the last reset */
    uint64_t fail_at; /* 1-based; 0: never */
    bool and_after;   /* fail all later ones too */
    uint64_t failed;
    int64_t live; /* blocks */
} heap;

static bool refuse(void)
{
    heap.calls++;
    if (!heap.fail_at || heap.calls < heap.fail_at ||
        (!heap.and_after && heap.calls > heap.fail_at))
        return false;
    heap.failed++;
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory)
{
    heap.live += memory != NULL;
    return memory;
}

/* Visible to the shared libraries as well, or strdup there would not be counted. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
    return refuse() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return refuse() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    void *memory;

    if (refuse())
        return NULL;
    memory = __libc_realloc(old, size);
    if (!old)
        heap.live += memory != NULL;
    else if (!memory && size == 0)
        heap.live--;
    return memory;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refuse() ? NULL : counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *memory = refuse() ? NULL : counted(__libc_memalign(alignment, size));

    if (!memory)
        return ENOMEM;
    *out = memory;
    return 0;
}

void free(void *memory)
{
    heap.live -= memory != NULL;
    __libc_free(memory);
}

#pragma GCC visibility pop

/* ---- one conversion -----------------------------------------------------------------------------
 */

static char program_path[512], params_path[512];

static void forget(void *user, const pdm_diagnostic *diagnostic)
{
    (void)user;
    (void)diagnostic;
}

static pdm_status convert(const char *model_path)
{
    const pdm_context_options options = {
        .size = sizeof options, .on_diagnostic = forget, .verbose = true};
    pdm_context *context = NULL;
    pdm_model *model = NULL, *pir = NULL;
    char *text = NULL;
    pdm_status status = pdm_context_create(&options, &context);

    if (status == PDM_OK)
        status = pdm_model_load(context, model_path, NULL, &model);
    if (status == PDM_OK)
        status = pdm_model_convert(model, NULL, &pir);
    if (status == PDM_OK)
        status = pdm_model_dump(pir, PDM_DUMP_TEXT, &text);
    if (status == PDM_OK)
        status = pdm_model_write(pir, program_path, NULL);
    pdm_free(text);
    pdm_model_destroy(pir);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
    return status;
}

/* ---- the sweep ----------------------------------------------------------------------------------
 */

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static long size_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;

    if (!file)
        return -1;
    if (fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    fclose(file);
    return size;
}

static void remove_outputs(void)
{
    unlink(program_path);
    unlink(params_path);
}

typedef struct result {
    uint64_t tried, survived, faults;
} result;

static void fault(result *out, uint64_t n, const char *what, long long number)
{
    if (out->faults++ < 20)
        printf("# allocation %llu: %s %lld\n", (unsigned long long)n, what, number);
}

/* Fail allocation n; false when n is past the last one. */
static bool try_one(const char *model_path, uint64_t n, bool and_after, long whole_size,
                    result *out)
{
    const int64_t live = heap.live;

    heap.calls = heap.failed = 0;
    heap.and_after = and_after;
    heap.fail_at = n;
    const pdm_status status = convert(model_path);
    const uint64_t failed = heap.failed;
    heap.fail_at = 0;

    if (heap.live != live)
        fault(out, n, "leaked blocks:", (long long)(heap.live - live));
    if (status != PDM_OK && (status != PDM_NOMEM || failed == 0))
        fault(out, n, "status", (long long)status);
    if (status == PDM_OK && size_of(program_path) != whole_size)
        fault(out, n, "success, but the size of the program is", size_of(program_path));
    if (status != PDM_OK && (exists(program_path) || exists(params_path)))
        fault(out, n, "there are outputs in spite of status", (long long)status);
    out->survived += failed > 0 && status == PDM_OK;
    out->tried += failed > 0;
    remove_outputs();
    return failed > 0;
}

static result sweep(const char *model_path, bool and_after)
{
    result r = {0};

    /* Once before, for what libc keeps for itself. */
    if (convert(model_path) != PDM_OK) {
        fault(&r, 0, "the conversion fails by itself, with", 0);
        return r;
    }
    const long whole_size = size_of(program_path);
    remove_outputs();
    for (uint64_t n = 1; try_one(model_path, n, and_after, whole_size, &r); n++)
        continue;
    return r;
}

static bool sweep_model(const char *srcdir, const char *name, bool and_after, int number)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/fixtures/%s", srcdir, name);
    const result r = sweep(path, and_after);
    const bool ok = r.faults == 0 && r.tried > 50 && r.survived * 10 < r.tried;
    printf("%s %d - %s: %s%llu failures, %llu of them done without\n", ok ? "ok" : "not ok", number,
           name, and_after ? "with all that follow, " : "", (unsigned long long)r.tried,
           (unsigned long long)r.survived);
    return ok;
}

/* The arguments are folders in fixtures/; without any, two with control flow. */
int main(int argc, char **argv)
{
    static const char *const usual[] = {"cases/flow_while_with_cond_inside", "models/branchy_loop"};
    const int count = argc > 1 ? argc - 1 : 2;
    const char *srcdir = getenv("srcdir");
    char folder[] = "/tmp/pdm-oom-XXXXXX";
    int bad = 0;

    if (!srcdir || !mkdtemp(folder)) {
        puts("Bail out! srcdir is not set, or no temporary folder");
        return 1;
    }
    snprintf(program_path, sizeof program_path, "%s/o.json", folder);
    snprintf(params_path, sizeof params_path, "%s/o.pdiparams", folder);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < count; i++) {
        const char *name = argc > 1 ? argv[i + 1] : usual[i];
        bad += !sweep_model(srcdir, name, false, 2 * i + 1);
        bad += !sweep_model(srcdir, name, true, 2 * i + 2);
    }
    rmdir(folder);
    printf("1..%d\n", 2 * count);
    return bad != 0;
}

#endif
