/*
 * The module pdmigrate-llvm.so: loop IR through LLVM IR to code for this very processor. Its only
 * exported name is the entry (backend.h). It is linked with nothing of the library but tables of
 * names.
 */
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cinn/backend.h"
#include "cinn/llvm/emit.h"

typedef void (*nest_fn)(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end);

typedef struct image {
    LLVMOrcResourceTrackerRef code;
    uint32_t num_nests;
    nest_fn nests[];
} image;

const pdm_cinn_backend *pdm_cinn_module(void);

/* ---- what is called -------------------------------------------------------------------------- */

/* Functions as addresses. */
typedef union address {
    double (*of_double)(double);
    float (*of_float)(float);
    double (*of_doubles)(double, double);
    float (*of_floats)(float, float);
    void *(*copy)(void *, const void *, size_t);
    void *(*set)(void *, int, size_t);
    void (*sines)(double, double *, double *);
    void (*sinefs)(float, float *, float *);
    void *data;
} address;

/* What LLVM makes of a sine and a cosine of one number. */
static void sine_and_cosine(double x, double *sine, double *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}

static void sinef_and_cosinef(float x, float *sine, float *cosine)
{
    *sine = sinf(x);
    *cosine = cosf(x);
}

static const struct {
    const char *name;
    address fn;
} known[] = {
#define CALLS(name)  {#name, {.of_double = name}}, {#name "f", {.of_float = name##f}},
#define CALLS2(name) {#name, {.of_doubles = name}}, {#name "f", {.of_floats = name##f}},
    PDM_LLVM_FLOAT_CALLS(CALLS) PDM_LLVM_FLOAT2_CALLS(CALLS2)
#undef CALLS
#undef CALLS2
    {"sincos", {.sines = sine_and_cosine}},
    {"sincosf", {.sinefs = sinef_and_cosinef}},
    {"memcpy", {.copy = memcpy}},
    {"memmove", {.copy = memmove}},
    {"memset", {.set = memset}},
};

enum { NUM_KNOWN = sizeof known / sizeof *known };

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
    pthread_once_t once;
    pthread_mutex_t lock; /* around the machine and the number */
    LLVMTargetMachineRef machine; /* NULL: nothing can be compiled here */
    char *triple;
    LLVMTargetDataRef layout;
    LLVMOrcLLJITRef jit;
    uint64_t number; /* of images */
} host = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

/* For the processor that it runs on, as that tells itself. */
static LLVMTargetMachineRef make_machine(void)
{
    char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName();
    char *features = LLVMGetHostCPUFeatures(), *message = NULL;
    LLVMTargetRef target;
    LLVMTargetMachineRef machine = NULL;

    if (!LLVMGetTargetFromTriple(triple, &target, &message))
        machine = LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelDefault,
                                          LLVMRelocPIC, LLVMCodeModelJITDefault);
    if (message)
        LLVMDisposeMessage(message);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return machine;
}

static bool define_known(LLVMOrcLLJITRef jit)
{
    LLVMOrcCSymbolMapPair pairs[NUM_KNOWN];

    for (size_t i = 0; i < NUM_KNOWN; i++) {
        const LLVMJITSymbolFlags flags = {LLVMJITSymbolGenericFlagsExported |
                                              LLVMJITSymbolGenericFlagsCallable,
                                          0};
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, known[i].name);
        pairs[i].Sym = (LLVMJITEvaluatedSymbol){(LLVMOrcExecutorAddress)(uintptr_t)known[i].fn.data,
                                                flags};
    }
    return !failed(LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit),
                                         LLVMOrcAbsoluteSymbols(pairs, NUM_KNOWN)));
}

static void set_up(void)
{
    if (LLVMInitializeNativeTarget() || LLVMInitializeNativeAsmPrinter())
        return;
    LLVMTargetMachineRef machine = make_machine(), for_jit = make_machine();
    if (!machine || !for_jit)
        return;
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(for_jit));
    if (failed(LLVMOrcCreateLLJIT(&host.jit, builder)) || !define_known(host.jit))
        return;
    host.triple = LLVMGetTargetMachineTriple(machine);
    host.layout = LLVMCreateTargetDataLayout(machine);
    host.machine = machine;
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool optimize(LLVMModuleRef module)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();

    LLVMPassBuilderOptionsSetLoopVectorization(options, true);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, true);
    LLVMPassBuilderOptionsSetLoopUnrolling(options, true);
    LLVMPassBuilderOptionsSetSLPVectorization(options, false);
    LLVMSetTarget(module, host.triple);
    LLVMSetModuleDataLayout(module, host.layout);
    const bool bad = failed(LLVMRunPasses(module, "default<O2>", host.machine, options));
    LLVMDisposePassBuilderOptions(options);
    return !bad;
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

static pdm_status make_code(const pdm_loop_fn *fn, image *made)
{
    LLVMOrcThreadSafeContextRef context = LLVMOrcCreateNewThreadSafeContext();
    const uint64_t number = host.number++;
    LLVMModuleRef module = pdm_llvm_emit(LLVMOrcThreadSafeContextGetContext(context), fn, number);
    LLVMOrcThreadSafeModuleRef safe = NULL;

    if (module && optimize(module))
        safe = LLVMOrcCreateNewThreadSafeModule(module, context);
    else if (module)
        LLVMDisposeModule(module);
    LLVMOrcDisposeThreadSafeContext(context); /* modules hold it as long as they need it */
    if (!safe)
        return PDM_UNSUPPORTED;
    made->code = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(host.jit));
    if (failed(LLVMOrcLLJITAddLLVMIRModuleWithRT(host.jit, made->code, safe)))
        return PDM_UNSUPPORTED;
    return look_up(made, number) ? PDM_OK : PDM_UNSUPPORTED;
}

static uint32_t count_nests(const pdm_loop_fn *fn)
{
    uint32_t count = 0;

    for (const pdm_loop_stmt *stmt = fn->body; stmt; stmt = stmt->next)
        count++;
    return count;
}

static pdm_status compile(const pdm_loop_fn *fn, void **out_image)
{
    const uint32_t nests = count_nests(fn);

    pthread_once(&host.once, set_up);
    if (!host.machine || !fn->flat)
        return PDM_UNSUPPORTED;
    image *made = calloc(1, sizeof *made + nests * sizeof made->nests[0]);
    if (!made)
        return PDM_NOMEM;
    made->num_nests = nests;
    pthread_mutex_lock(&host.lock);
    const pdm_status status = make_code(fn, made);
    pthread_mutex_unlock(&host.lock);
    if (status != PDM_OK) {
        destroy(made);
        return status;
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
    .name = "llvm",
    .wants_arithmetic = true,
    .compile = compile,
    .destroy = destroy,
    .run = run,
};

PDM_API const pdm_cinn_backend *pdm_cinn_module(void)
{
    return &backend;
}
