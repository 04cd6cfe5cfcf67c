/*
 * The module pdmigrate-llvm.so: loop IR through LLVM IR to object files for this very processor. Its
 * only exported name is the entry (backend.h). It is linked with nothing of the library but tables
 * of names. Where the library cannot load objects by itself (native.h), LLVM does.
 */
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cinn/backend.h"
#include "cinn/calls.h"
#include "cinn/identity.h"
#include "cinn/llvm/emit.h"

typedef void (*nest_fn)(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end);

typedef struct image {
    LLVMOrcResourceTrackerRef code;
    uint32_t num_nests;
    nest_fn nests[];
} image;

const pdm_cinn_backend *pdm_cinn_module(void);

/* ---- errors ---------------------------------------------------------------------------------- */

/* Whether something failed; the error is consumed. */
static bool failed(LLVMErrorRef error)
{
    if (error)
        LLVMConsumeError(error);
    return error != NULL;
}

/* ---- this process ---------------------------------------------------------------------------- */

/* Made once and kept: a JIT costs more than most kernels. */
static struct {
    pthread_once_t once, jit_once;
    char *triple, *cpu, *features; /* triple is NULL: nothing can be made here */
    LLVMTargetRef target;
    const char *why_not;
    LLVMOrcLLJITRef jit;
    pthread_mutex_t lock; /* around the number */
    uint64_t number;      /* of images that the JIT has */
} host = {.once = PTHREAD_ONCE_INIT,
          .jit_once = PTHREAD_ONCE_INIT,
          .lock = PTHREAD_MUTEX_INITIALIZER};

/* For the processor that it runs on, as that tells itself. Machines are not for several threads. */
static LLVMTargetMachineRef make_machine(void)
{
    return LLVMCreateTargetMachine(host.target, host.triple, host.cpu, host.features,
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
}

static void set_up(void)
{
    char *triple = LLVMGetDefaultTargetTriple(), *message = NULL;

    if (LLVMInitializeNativeTarget() || LLVMInitializeNativeAsmPrinter() ||
        LLVMGetTargetFromTriple(triple, &host.target, &message)) {
        host.why_not = "this LLVM makes no code for this processor";
        LLVMDisposeMessage(triple);
        if (message)
            LLVMDisposeMessage(message);
        return;
    }
    host.cpu = LLVMGetHostCPUName();
    host.features = LLVMGetHostCPUFeatures();
    host.triple = triple;
    LLVMTargetMachineRef machine = make_machine();
    if (machine) {
        LLVMDisposeTargetMachine(machine);
        return;
    }
    host.why_not = "this LLVM knows no such processor";
    LLVMDisposeMessage(triple);
    host.triple = NULL;
}

static const char *why_not(void)
{
    pthread_once(&host.once, set_up);
    return host.why_not;
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool optimize(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);

    LLVMPassBuilderOptionsSetLoopVectorization(options, true);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, true);
    LLVMPassBuilderOptionsSetLoopUnrolling(options, true);
    LLVMPassBuilderOptionsSetSLPVectorization(options, false);
    LLVMSetTarget(module, host.triple);
    LLVMSetModuleDataLayout(module, layout);
    LLVMDisposeTargetData(layout);
    const bool bad = failed(LLVMRunPasses(module, "default<O2>", machine, options));
    LLVMDisposePassBuilderOptions(options);
    return !bad;
}

typedef struct build {
    LLVMContextRef context;
    LLVMTargetMachineRef machine;
    LLVMModuleRef module;
} build;

static void build_deinit(build *m)
{
    if (m->module)
        LLVMDisposeModule(m->module);
    if (m->machine)
        LLVMDisposeTargetMachine(m->machine);
    if (m->context)
        LLVMContextDispose(m->context);
}

/* False: it cannot be done. build_deinit is the caller's in any case. */
static bool make_module(const pdm_loop_fn *fn, uint64_t number, build *out)
{
    *out = (build){0};
    if (why_not() || !fn->flat)
        return false;
    out->context = LLVMContextCreate();
    out->machine = make_machine();
    out->module = out->machine ? pdm_llvm_emit(out->context, fn, number) : NULL;
    return out->module && optimize(out->module, out->machine);
}

/* NULL: it cannot be done. */
static LLVMMemoryBufferRef make_object(const pdm_loop_fn *fn, uint64_t number)
{
    LLVMMemoryBufferRef object = NULL;
    char *message = NULL;
    build m;

    if (make_module(fn, number, &m) &&
        LLVMTargetMachineEmitToMemoryBuffer(m.machine, m.module, LLVMObjectFile, &message, &object))
        object = NULL;
    if (message)
        LLVMDisposeMessage(message);
    build_deinit(&m);
    return object;
}

static pdm_status print(const pdm_loop_fn *fn, uint64_t number, char **out_text)
{
    build m;
    char *text = make_module(fn, number, &m) ? LLVMPrintModuleToString(m.module) : NULL;

    build_deinit(&m);
    if (!text)
        return PDM_UNSUPPORTED;
    *out_text = strdup(text);
    LLVMDisposeMessage(text);
    return *out_text ? PDM_OK : PDM_NOMEM;
}

static pdm_status make(const pdm_loop_fn *fn, void **out_code, size_t *out_size)
{
    LLVMMemoryBufferRef object = make_object(fn, 0);

    if (!object)
        return PDM_UNSUPPORTED;
    const size_t size = LLVMGetBufferSize(object);
    void *code = malloc(size);
    if (code) {
        memcpy(code, LLVMGetBufferStart(object), size);
        *out_code = code;
        *out_size = size;
    }
    LLVMDisposeMemoryBuffer(object);
    return code ? PDM_OK : PDM_NOMEM;
}

/* ---- objects loaded by LLVM ------------------------------------------------------------------ */

static bool define_calls(LLVMOrcLLJITRef jit)
{
    const size_t count = pdm_cinn_num_calls();
    LLVMOrcCSymbolMapPair *pairs = calloc(count, sizeof *pairs);

    if (!pairs)
        return false;
    for (size_t i = 0; i < count; i++) {
        const pdm_cinn_call call = pdm_cinn_call_at(i);
        const LLVMJITSymbolFlags flags = {LLVMJITSymbolGenericFlagsExported |
                                              LLVMJITSymbolGenericFlagsCallable,
                                          0};
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, call.name);
        pairs[i].Sym =
            (LLVMJITEvaluatedSymbol){(LLVMOrcExecutorAddress)(uintptr_t)call.address, flags};
    }
    const bool bad = failed(LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit),
                                                  LLVMOrcAbsoluteSymbols(pairs, count)));
    free(pairs);
    return !bad;
}

static void set_up_jit(void)
{
    LLVMOrcLLJITRef jit;

    if (!failed(LLVMOrcCreateLLJIT(&jit, NULL)) && define_calls(jit))
        host.jit = jit;
}

static void destroy(void *any)
{
    image *made = any;

    if (made->code) {
        failed(LLVMOrcResourceTrackerRemove(made->code));
        LLVMOrcReleaseResourceTracker(made->code);
    }
    free(made);
}

static bool look_up(image *made, uint64_t number)
{
    for (uint32_t i = 0; i < made->num_nests; i++) {
        char name[PDM_LLVM_NAME];
        LLVMOrcExecutorAddress at;
        pdm_llvm_nest_name(name, number, i);
        if (failed(LLVMOrcLLJITLookup(host.jit, &at, name)))
            return false;
        const uintptr_t value = (uintptr_t)at;
        memcpy(&made->nests[i], &value, sizeof value);
    }
    return true;
}

static uint32_t count_nests(const pdm_loop_fn *fn)
{
    uint32_t count = 0;

    for (const pdm_loop_stmt *stmt = fn->body; stmt; stmt = stmt->next)
        count++;
    return count;
}

static uint64_t next_number(void)
{
    pthread_mutex_lock(&host.lock);
    const uint64_t number = ++host.number;
    pthread_mutex_unlock(&host.lock);
    return number;
}

static pdm_status compile(const pdm_loop_fn *fn, void **out_image)
{
    const uint32_t nests = count_nests(fn);
    const uint64_t number = next_number();
    LLVMMemoryBufferRef object = make_object(fn, number);

    if (object)
        pthread_once(&host.jit_once, set_up_jit);
    image *made = object && host.jit ? calloc(1, sizeof *made + nests * sizeof made->nests[0]) : NULL;
    if (!made) {
        if (object)
            LLVMDisposeMemoryBuffer(object);
        return object && host.jit ? PDM_NOMEM : PDM_UNSUPPORTED;
    }
    made->num_nests = nests;
    made->code = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(host.jit));
    if (failed(LLVMOrcLLJITAddObjectFileWithRT(host.jit, made->code, object)) ||
        !look_up(made, number)) {
        destroy(made);
        return PDM_UNSUPPORTED;
    }
    *out_image = made;
    return PDM_OK;
}

static pdm_status run(const void *any, uint32_t nest, void *const *buffers, const int64_t *symbols,
                      int64_t begin, int64_t end)
{
    const image *made = any;

    made->nests[nest](buffers, symbols, begin, end);
    return PDM_OK;
}

static const pdm_cinn_backend backend = {
    .version = PDM_CINN_BACKEND_VERSION,
    .identity = PDM_CINN_MODULE_IDENTITY,
    .name = "llvm",
    .wants_arithmetic = true,
    .compile = compile,
    .destroy = destroy,
    .run = run,
    .make = make,
    .print = print,
    .why_not = why_not,
};

PDM_API const pdm_cinn_backend *pdm_cinn_module(void)
{
    return &backend;
}
