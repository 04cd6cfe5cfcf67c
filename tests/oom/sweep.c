/*
 * Fails the n-th allocation of a whole conversion (load, convert, dump, write), also with -O2, of
 * two runs (load, plan, inputs, run, record, write), of compiled ones, whose code is interpreted, or
 * kept on disk and found there again, of a run of the legacy program as it is, and
 * after build_cinn_pass, of the extraction of its subgraphs, and of a bisection, for every n: each
 * time the answer is PDM_NOMEM, nothing is written and nothing leaks. Then the same with every
 * allocation from the n-th on. A failure that the code can do without (a sort that has another way)
 * may also end well, with the whole output.
 *
 * malloc and its like are replaced for the whole program, so that those of libc, protobuf-c and
 * cJSON fail too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pdmigrate/pdmigrate.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cinn/backend.h"
#include "cinn/cuda/driver.h"
#include "cinn/kernels.h"

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

/* ---- the allocator --------------------------------------------------------------------------- */

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
    bool paused;  /* nothing fails, nothing is counted as a call */
    bool outside; /* of what is tried: blocks do not count */
    int64_t live; /* blocks */
} heap;

static bool refuse(void)
{
    if (heap.paused)
        return false;
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
    heap.live += memory != NULL && !heap.outside;
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
        heap.live += memory != NULL && !heap.outside;
    else if (!memory && size == 0)
        heap.live -= !heap.outside;
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
    heap.live -= memory != NULL && !heap.outside;
    __libc_free(memory);
}

#pragma GCC visibility pop

/* ---- one conversion -------------------------------------------------------------------------- */

static char program_path[512], params_path[512];

static void forget(void *user, const pdm_diagnostic *diagnostic)
{
    (void)user;
    (void)diagnostic;
}

static pdm_status convert_at(const char *model_path, int level)
{
    const pdm_convert_options how = {.size = sizeof how, .optimize = level, .verify_each = true};
    const pdm_context_options options = {
        .size = sizeof options, .on_diagnostic = forget, .verbose = true};
    pdm_context *context = NULL;
    pdm_model *model = NULL, *pir = NULL;
    char *text = NULL;
    pdm_status status = pdm_context_create(&options, &context);

    if (status == PDM_OK)
        status = pdm_model_load(context, model_path, NULL, &model);
    if (status == PDM_OK)
        status = pdm_model_convert(model, &how, &pir);
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

static pdm_status convert(const char *model_path)
{
    return convert_at(model_path, 0);
}

static pdm_status optimize(const char *model_path)
{
    return convert_at(model_path, 2);
}

/* ---- two runs -------------------------------------------------------------------------------- */

static pdm_status run_twice(pdm_context *context, const pdm_plan *plan, const pdm_bundle *io)
{
    const pdm_session_options options = {.size = sizeof options, .threads = 1};
    pdm_session *session = NULL;
    pdm_bundle *recorded = NULL;
    pdm_status status = pdm_session_create(plan, &options, &session);

    if (status == PDM_OK)
        status = pdm_session_set_inputs(session, io);
    for (int i = 0; status == PDM_OK && i < 2; i++)
        status = pdm_session_run(session);
    if (status == PDM_OK)
        status = pdm_bundle_create(context, &recorded);
    if (status == PDM_OK)
        status = pdm_session_record(session, true, recorded);
    if (status == PDM_OK)
        status = pdm_bundle_write(recorded, program_path, false);
    pdm_bundle_destroy(recorded);
    pdm_session_destroy(session);
    return status;
}

typedef struct opened {
    pdm_context *context;
    pdm_model *model;
    pdm_bundle *io;
} opened;

/* Its inputs are read without failures: see read_io. */
static pdm_status open_model(const char *model_path, opened *out)
{
    const pdm_context_options options = {.size = sizeof options, .on_diagnostic = forget};
    char io_path[1100];
    pdm_status status = pdm_context_create(&options, &out->context);

    snprintf(io_path, sizeof io_path, "%s/io.npz", model_path);
    if (status == PDM_OK)
        status = pdm_model_load(out->context, model_path, NULL, &out->model);
    heap.paused = true;
    if (status == PDM_OK)
        status = pdm_bundle_read(out->context, io_path, &out->io);
    heap.paused = false;
    return status;
}

static void close_model(opened *o)
{
    pdm_bundle_destroy(o->io);
    pdm_model_destroy(o->model);
    pdm_context_destroy(o->context);
}

static pdm_status run_with(const char *model_path, pdm_compiler compiler)
{
    const pdm_plan_options options = {.size = sizeof options, .compiler = compiler};
    opened o = {0};
    pdm_plan *plan = NULL;
    pdm_status status = open_model(model_path, &o);

    if (status == PDM_OK)
        status = pdm_plan_create(o.model, &options, &plan);
    if (status == PDM_OK)
        status = run_twice(o.context, plan, o.io);
    pdm_plan_destroy(plan);
    close_model(&o);
    return status;
}

static pdm_status run(const char *model_path)
{
    return run_with(model_path, PDM_COMPILER_OFF);
}

static pdm_status run_interpreted(const char *model_path)
{
    return run_with(model_path, PDM_COMPILER_REFERENCE);
}

/* ---- code that is kept ----------------------------------------------------------------------- */

/* In the place of LLVM, whose allocations cannot fail: code is text that says nothing, and what is
 * run is the interpreter. */
static void kept_target(pdm_buf *out)
{
    pdm_buf_puts(out, "nothing");
}

static pdm_status kept_make(const pdm_loop_fn *fn, void **out_code, size_t *out_size)
{
    (void)fn;
    *out_code = strdup("code");
    *out_size = 5;
    return *out_code ? PDM_OK : PDM_NOMEM;
}

static pdm_status kept_load(const pdm_loop_fn *fn, const void *code, size_t size, void **out_image)
{
    return size == 5 && !memcmp(code, "code", 5) ? pdm_cinn_backend_ref.compile(fn, out_image)
                                                 : PDM_UNSUPPORTED;
}

static pdm_cinn_backend kept;

static void set_up_kept(const char *folder)
{
    static char path[512];
    const pdm_cache_options options = {.size = sizeof options, .folder = path};

    snprintf(path, sizeof path, "%s/kept", folder);
    if (pdm_cache_set(&options) != PDM_OK)
        abort();
    kept = pdm_cinn_backend_ref;
    kept.name = "llvm";
    kept.target = kept_target;
    kept.make = kept_make;
    kept.load = kept_load;
    pdm_cinn_backend_add(&kept);
}

/* All that was kept goes; without failures, since it is no part of what is tried. */
static void empty_kept(void)
{
    const pdm_context_options options = {.size = sizeof options, .on_diagnostic = forget};
    pdm_context *context = NULL;
    pdm_cache_info info;

    heap.paused = true;
    if (pdm_context_create(&options, &context) != PDM_OK ||
        pdm_cache_do(context, PDM_CACHE_PRUNE, 0, &info) != PDM_OK)
        abort();
    pdm_context_destroy(context);
    heap.paused = false;
}

static pdm_status run_kept(const char *model_path)
{
    const pdm_status status = run_with(model_path, PDM_COMPILER_LLVM);

    pdm_cinn_kernels_trim();
    return status;
}

/* Groups and products on a device that stands in (tests/tools/fake_cuda.c), whose code is kept. */
static pdm_status run_there(const char *model_path)
{
    const pdm_status status = run_with(model_path, PDM_COMPILER_CUDA);

    pdm_cinn_kernels_trim();
    heap.paused = true;
    pdm_cinn_cuda_trim();
    heap.paused = false;
    return status;
}

static void pause_heap(bool on)
{
    heap.paused = heap.outside = on;
}

/* What the loader does for it does not fail: that cannot be cleared up after. */
static bool set_up_device(void)
{
    const char *builddir = getenv("builddir");
    char path[512];

    snprintf(path, sizeof path, "%s/tests/tools/.libs/fake-cuda.so", builddir ? builddir : "");
    void *library = dlopen(path, RTLD_NOW);
    void *symbol = library ? dlsym(library, "fake_outside") : NULL;
    if (!symbol)
        return false;
    *(void (**)(bool))symbol = pause_heap;
    setenv("PDM_CUDA", path, 1);
    setenv("PDM_NVRTC", path, 1);
    setenv("PDM_CUBLAS", path, 1);
    setenv("PDM_CUDNN", path, 1);
    return true;
}

static pdm_status run_made(const char *model_path)
{
    empty_kept();
    return run_kept(model_path);
}

static pdm_status run_as_it_is(const opened *o, const pdm_model *model)
{
    pdm_bundle *outputs = NULL;
    pdm_status status = pdm_bundle_create(o->context, &outputs);

    if (status == PDM_OK)
        status = pdm_model_run_legacy(model, NULL, o->io, outputs);
    if (status == PDM_OK)
        status = pdm_bundle_write(outputs, program_path, false);
    pdm_bundle_destroy(outputs);
    return status;
}

/* Without a translation. */
static pdm_status run_legacy(const char *model_path)
{
    opened o = {0};
    pdm_status status = open_model(model_path, &o);

    if (status == PDM_OK)
        status = run_as_it_is(&o, o.model);
    close_model(&o);
    return status;
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* The main program with its launches: each compiles its subgraph. */
static pdm_status launch(const char *model_path)
{
    opened o = {0};
    pdm_model *main = NULL;
    pdm_graph *graph = NULL;
    pdm_status status = open_model(model_path, &o);

    if (status == PDM_OK)
        status = pdm_graph_create(o.model, NULL, &graph);
    if (status == PDM_OK)
        status = pdm_graph_model(graph, o.model, &main);
    if (status == PDM_OK)
        status = run_as_it_is(&o, main);
    pdm_model_destroy(main);
    pdm_graph_destroy(graph);
    close_model(&o);
    return status;
}

static pdm_status extract_all(pdm_graph *graph, const pdm_model *model)
{
    pdm_status status = PDM_OK;

    for (size_t i = 0; i < pdm_graph_num_subgraphs(graph) && status == PDM_OK; i++) {
        pdm_model *part = NULL;
        status = pdm_graph_extract(graph, model, i, &part);
        pdm_model_destroy(part);
    }
    return status;
}

/* In place, with names that are not there: the ways that a plain run does not take. */
static pdm_status extract(const char *model_path)
{
    const pdm_context_options options = {.size = sizeof options, .on_diagnostic = forget};
    const char *const names[] = {"x", "nobody"};
    const pdm_graph_options how = {.size = sizeof how,
                                   .deny = "nothing;feed",
                                   .skip_gc = names,
                                   .num_skip_gc = 2,
                                   .keep_unread = true,
                                   .allow_inplace = true};
    pdm_context *context = NULL;
    pdm_model *model = NULL;
    pdm_graph *graph = NULL;
    char *dot = NULL;
    pdm_status status = pdm_context_create(&options, &context);

    if (status == PDM_OK)
        status = pdm_model_load(context, model_path, NULL, &model);
    if (status == PDM_OK)
        status = pdm_graph_create(model, &how, &graph);
    if (status == PDM_OK)
        status = pdm_graph_dot(graph, &dot);
    if (status == PDM_OK)
        status = extract_all(graph, model);
    if (status == PDM_OK)
        status = pdm_text_write(context, program_path, dot, false);
    pdm_free(dot);
    pdm_graph_destroy(graph);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
    return status;
}

/* Apart from the run, because libzip 1.7.3 leaks a block when it fails to open an entry. */
static pdm_status read_io(const char *model_path)
{
    const pdm_context_options options = {.size = sizeof options, .on_diagnostic = forget};
    pdm_context *context = NULL;
    pdm_bundle *io = NULL;
    char io_path[1100];
    pdm_status status = pdm_context_create(&options, &context);

    snprintf(io_path, sizeof io_path, "%s/io.npz", model_path);
    if (status == PDM_OK)
        status = pdm_bundle_read(context, io_path, &io);
    if (status == PDM_OK)
        status = pdm_bundle_write(io, program_path, false);
    pdm_bundle_destroy(io);
    pdm_context_destroy(context);
    return status;
}

/* The legacy program and its translation, which agree. */
static pdm_status bisect(const char *model_path)
{
    opened o = {0};
    pdm_bisection *found = NULL;
    pdm_status status = open_model(model_path, &o);

    if (status == PDM_OK)
        status = pdm_bisect(o.model, NULL, NULL, o.io, &found);
    if (status == PDM_OK && (found->found || found->differs))
        status = PDM_INTERNAL;
    pdm_bisection_destroy(found);
    close_model(&o);
    return status;
}

typedef pdm_status (*work_fn)(const char *model_path);

static const struct {
    const char *name;
    work_fn fn;
} works[] = {{"conversion", convert},
             {"optimization", optimize},
             {"run", run},
             {"interpreted run", run_interpreted},
             {"run that keeps code", run_made},
             {"run of kept code", run_kept},
             {"run as it is", run_legacy},
             {"run with launches", launch},
             {"subgraphs", extract},
             {"reading the inputs", read_io},
             {"bisection", bisect},
             {"run on a device", run_there}};

/* The last one is for a model of its own. */
enum { DEVICE = sizeof works / sizeof works[0] - 1, NUM_WORKS = DEVICE };

/* ---- the sweep ------------------------------------------------------------------------------- */

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
static bool try_one(work_fn work, const char *model_path, uint64_t n, bool and_after,
                    long whole_size, bool again, result *out)
{
    /* libc keeps the time zone, which libzip has it look up; after a failure it is read anew. */
    tzset();
    const int64_t live = heap.live;

    heap.calls = heap.failed = 0;
    heap.and_after = and_after;
    heap.fail_at = n;
    const pdm_status status = work(model_path);
    const uint64_t failed = heap.failed;
    heap.fail_at = 0;
    tzset();

    const int64_t leaked = heap.live - live;
    /* Notes are told once in a process, and kept for that: the next time there is nothing new. */
    if (leaked != 0 && work == run_there && !again) {
        remove_outputs();
        return try_one(work, model_path, n, and_after, whole_size, true, out);
    }
    if (leaked != 0 && !(work == read_io && leaked == 1 && failed > 0))
        fault(out, n, "leaked blocks:", (long long)leaked);
    if (status != PDM_OK && (status != PDM_NOMEM || failed == 0))
        fault(out, n, "status", (long long)status);
    if (status == PDM_OK && size_of(program_path) != whole_size)
        fault(out, n, "success, but the size of the output is", size_of(program_path));
    if (status != PDM_OK && (exists(program_path) || exists(params_path)))
        fault(out, n, "there are outputs in spite of status", (long long)status);
    out->survived += failed > 0 && status == PDM_OK;
    out->tried += failed > 0;
    remove_outputs();
    return failed > 0;
}

static result sweep(work_fn work, const char *model_path, bool and_after)
{
    result r = {0};

    /* Once before, for what libc keeps for itself. */
    if (work(model_path) != PDM_OK) {
        fault(&r, 0, "it fails by itself, with", 0);
        return r;
    }
    const long whole_size = size_of(program_path);
    remove_outputs();
    for (uint64_t n = 1; try_one(work, model_path, n, and_after, whole_size, false, &r); n++)
        continue;
    return r;
}

static bool sweep_model(int which, const char *srcdir, const char *name, bool and_after, int number)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/fixtures/%s", srcdir, name);
    const result r = sweep(works[which].fn, path, and_after);
    /* Memory of the device that stands in is the heap's: without it there is another way. */
    const bool ok = r.faults == 0 && r.tried > 50 && (which == DEVICE || r.survived * 10 < r.tried);
    printf("%s %d - %s of %s: %s%llu failures, %llu of them done without\n", ok ? "ok" : "not ok",
           number, works[which].name, name, and_after ? "with all that follow, " : "",
           (unsigned long long)r.tried, (unsigned long long)r.survived);
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
    set_up_kept(folder);
    for (int i = 0; i < count; i++) {
        const char *name = argc > 1 ? argv[i + 1] : usual[i];
        for (int k = 0; k < 2 * NUM_WORKS; k++)
            bad += !sweep_model(k / 2, srcdir, name, k % 2, 2 * NUM_WORKS * i + k + 1);
    }
    int tests = 2 * NUM_WORKS * count;
    if (argc == 1 && set_up_device())
        bad += !sweep_model(DEVICE, srcdir, "cases/report_pad_reflect_conv", true, ++tests);
    empty_kept();
    snprintf(params_path, sizeof params_path, "%s/kept", folder);
    rmdir(params_path);
    rmdir(folder);
    printf("1..%d\n", tests);
    return bad != 0;
}

#endif
