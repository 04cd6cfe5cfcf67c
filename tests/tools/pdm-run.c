/*
 * pdm-run [--legacy | --launch | --launch-in-place | --json | --optimize] [--fast] [--compile BACKEND [--single]] [--digest]
 *         [--shapes] [--collect FILE | --emulated LIBRARY] [--expect FILE] [--tolerance T]
 *         [--seed N] [--threads N] PATH [IO.npz...]...
 *
 * Run models and compare with what was recorded. PATH is a model (or the folder of one); the .npz
 * files after it are its input sets; without any, io.npz, io2.npz, ... of its folder are taken. All
 * sets run on the one loaded model, and once more in the opposite order: then memory is used as it
 * was planned in the first runs, and nothing may be left of them. A legacy model is translated in
 * memory (ops that PIR cannot express stay in the legacy dialect). Prints a line for each set:
 *
 *   ok NAME              within rtol and atol T, 1e-5 (float16 and bfloat16 1e-3), others exact
 *   no NAME: REASON      the first difference, a missing kernel, an error
 *
 * and at last `N of M`. LoD is compared, too. With --legacy, legacy models run as they are; with
 * --launch after build_cinn_pass, its subgraphs by the executor (--launch-in-place: with ops that
 * write what they read in them, too), and a line `launches: N of M structures` tells how many. With
 * --json a legacy model is converted, written as JSON, and what is run is that file; `none NAME:
 * REASON` when there can be no such file; --optimize: the same with -O2. With --digest a line `bits NAME HASH` tells of all bits of
 * the outputs, whatever they are, and the second round must give the same. --expect takes the
 * expected outputs from another file. --fast takes fast kernels. --compile has a backend compile groups
 * of ops, with --single also groups of one op (BACKEND may be cuda-emulated: CUDA C, compiled as C); a
 * line `compiled NAME: ...` tells how many groups there are and how many of their runs were done by
 * compiled code. With --launch groups are those of the subgraphs. --collect: BACKEND is cuda-collect, the kernels go
 * to FILE.cu and FILE.c; --emulated: cuda-emulated takes them from what the C compiler made of FILE.c.
 * --shapes compares the analysis of shapes
 * with those of all values, in each set and in two more runs with larger inputs where dims are not declared
 * (their data are those of the set, repeated); a line `shapes NAME: ...` tells how many dims were compared.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/launch.h"
#include "base/npz.h"
#include "check_shapes.h"
#include "exec/executor.h"
#include "exec/legacy_interp.h"
#include "exec/pool.h"
#include "emulated.h"
#include "translator/translate.h"

enum { MAX_SETS = 64 };

typedef struct tally {
    size_t ok, total;
    uint64_t seed;
    pdm_pool *pool;
    const char *expect; /* where expected outputs are, or NULL: with the inputs */
    double tolerance;
    bool legacy, launch, inplace, json, optimize, fast, digest, single, shapes;
    const char *compile; /* backend, or NULL */
    const char *collect; /* where its kernels go to, or NULL */
    pdm_api_launch_stats launches;
    uint64_t last_bits[MAX_SETS];
    bool last_ok[MAX_SETS]; /* by input set of the model at hand */
    char reason[2048];      /* what was told about the set at hand */
} tally;

static void say(void *user, const pdm_diagnostic *d)
{
    tally *t = user;
    const size_t len = strlen(t->reason);

    /* What was asked to be compiled must be. */
    if (!strcmp(d->id, "compile-note")) {
        fprintf(stderr, "pdm-run: %s\n", d->message);
        exit(2);
    }
    if (d->severity != PDM_ERROR || len > sizeof t->reason - 64)
        return;
    snprintf(t->reason + len, sizeof t->reason - len, "%s%s%s%s", len ? "; " : "",
             d->op_type ? d->op_type : "", d->op_type ? ": " : "", d->message);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool close_enough(double got, double want, double tol)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got))
        return want == got;
    return fabs(got - want) <= tol + tol * fabs(want);
}

/* Element i as a real number; part 1 is the imaginary one. */
static double part_of(const pdm_tensor *t, int64_t i, int part)
{
    if (t->dtype == PDM_C64)
        return (double)((const float *)t->data)[2 * i + part];
    if (t->dtype == PDM_C128)
        return ((const double *)t->data)[2 * i + part];
    return pdm_get_double(t, i);
}

static void put_shape(char *out, size_t size, const pdm_tensor *t)
{
    size_t n = (size_t)snprintf(out, size, "%s[", pdm_dtype_name(t->dtype));

    for (int i = 0; i < t->rank && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, i ? ",%" PRId64 : "%" PRId64, t->dims[i]);
    if (n < size)
        snprintf(out + n, size - n, "]");
}

static bool compare(const tally *t, const pdm_tensor *got, const pdm_tensor *recorded, char *why, size_t size)
{
    pdm_tensor want = *recorded; /* a borrowed view */
    char a[128], b[128];

    if (got->dtype == PDM_BF16 && want.dtype == PDM_U16)
        want.dtype = PDM_BF16;
    put_shape(a, sizeof a, got);
    put_shape(b, sizeof b, &want);
    if (got->dtype != want.dtype || got->rank != want.rank ||
        memcmp(got->dims, want.dims, (size_t)got->rank * sizeof *got->dims) != 0) {
        snprintf(why, size, "is %s, recorded is %s", a, b);
        return false;
    }
    const bool exact = !pdm_dtype_is_float(got->dtype) && !pdm_dtype_is_complex(got->dtype);
    const double tol = exact ? 0 : got->dtype == PDM_F16 || got->dtype == PDM_BF16 ? 1e-3 : t->tolerance;
    const int parts = pdm_dtype_is_complex(got->dtype) ? 2 : 1;
    int64_t bad = 0, first = -1;
    double worst = 0;
    for (int64_t i = 0, n = pdm_tensor_count(got); i < n; i++) {
        bool same = !exact || pdm_get_int(got, i) == pdm_get_int(&want, i);
        for (int p = 0; !exact && p < parts; p++) {
            const double x = part_of(got, i, p), y = part_of(&want, i, p);
            if (!close_enough(x, y, tol)) {
                same = false;
                if (fabs(x - y) > worst)
                    worst = fabs(x - y);
            }
        }
        if (!same && bad++ == 0)
            first = i;
    }
    if (bad == 0)
        return true;
    snprintf(why, size,
             "%s: %" PRId64 " differ, first at %" PRId64 ": %.9g, recorded %.9g; largest %g", a,
             bad, first, pdm_get_double(got, first), pdm_get_double(&want, first), worst);
    return false;
}

/* ---- machines -------------------------------------------------------------------------------- */

/* What runs a model: the executor, or the interpreter of legacy programs. */
typedef struct machine {
    pdm_exec_plan *plan;
    pdm_exec_session *session;
    pdm_legacy_plan *legacy_plan;
    pdm_legacy_session *legacy_session;
    pdm_api_launcher *launcher;
    check_shapes check; /* shapes NULL: none */
    size_t larger, larger_done;
} machine;

static size_t num_inputs(const machine *m)
{
    return m->plan ? pdm_exec_num_inputs(m->plan) : pdm_legacy_num_inputs(m->legacy_plan);
}

static const char *input_name(const machine *m, size_t i)
{
    return m->plan ? pdm_exec_input_name(m->plan, i) : pdm_legacy_input_name(m->legacy_plan, i);
}

static pdm_dtype input_dtype(const machine *m, size_t i)
{
    if (!m->plan)
        return pdm_legacy_input_var(m->legacy_plan, i)->dtype;
    pdm_ir_type type = pdm_exec_input_type(m->plan, i);
    return type ? type->dtype : PDM_UNDEFINED;
}

static void set_input(machine *m, size_t i, const pdm_tensor *tensor)
{
    if (m->plan)
        pdm_exec_set_input(m->session, i, tensor);
    else
        pdm_legacy_set_input(m->legacy_session, i, tensor);
}

static pdm_status run(machine *m, pdm_diag_sink *sink)
{
    return m->plan ? pdm_exec_run(m->session, sink) : pdm_legacy_run(m->legacy_session, sink);
}

static size_t num_outputs(const machine *m)
{
    return m->plan ? pdm_exec_num_outputs(m->plan) : pdm_legacy_num_outputs(m->legacy_plan);
}

static const pdm_value *output(const machine *m, size_t i)
{
    return m->plan ? pdm_exec_output(m->session, i) : pdm_legacy_output(m->legacy_session, i);
}

/* ---- one set --------------------------------------------------------------------------------- */

/* The tensor with other dims and its elements over and over; LoD goes. */
static pdm_status resize(pdm_tensor *tensor, const int64_t *dims)
{
    pdm_tensor other = {0};
    const size_t size = pdm_dtype_size(tensor->dtype);
    const int64_t n = pdm_tensor_count(tensor);

    PDM_TRY(pdm_tensor_alloc(&other, tensor->dtype, tensor->rank, dims));
    for (int64_t i = 0; i < pdm_tensor_count(&other) && n > 0; i++)
        memcpy((char *)other.data + (size_t)i * size,
               (const char *)tensor->data + (size_t)(i % n) * size, size);
    pdm_tensor_deinit(tensor);
    *tensor = other;
    return PDM_OK;
}

/* Tell the check what an input is, in a run of larger inputs after its size is changed. */
static bool shape_input(machine *m, const char *name, int larger, pdm_tensor *tensor)
{
    int64_t dims[PDM_MAX_RANK];
    bool changed = false;

    check_shapes_input(&m->check, name, tensor);
    if (larger == 0)
        return true;
    check_shapes_enlarge(&m->check, name, larger, tensor, dims);
    for (int i = 0; i < tensor->rank; i++)
        changed |= dims[i] != tensor->dims[i];
    if (changed && (pdm_tensor_num_lod(tensor) > 0 || resize(tensor, dims) != PDM_OK))
        return false;
    check_shapes_input(&m->check, name, tensor);
    return true;
}

static bool bind(machine *m, const pdm_npz *io, int larger, char *why, size_t size)
{
    if (m->check.shapes)
        check_shapes_begin(&m->check);
    for (size_t i = 0; i < num_inputs(m); i++) {
        const char *name = input_name(m, i);
        char key[512];
        pdm_tensor tensor = {0};
        snprintf(key, sizeof key, "in:%s", name);
        const pdm_tensor *found = pdm_npz_find(io, key);
        if (!found)
            found = pdm_npz_find(io, name);
        if (!found) {
            snprintf(why, size, "there is no '%s' in the file", key);
            return false;
        }
        pdm_tensor_ref(&tensor, found);
        if (input_dtype(m, i) == PDM_BF16 && tensor.dtype == PDM_U16)
            tensor.dtype = PDM_BF16;
        const pdm_status status = pdm_npz_lod(io, false, name, &tensor);
        if (m->check.shapes && !shape_input(m, name, larger, &tensor)) {
            snprintf(why, size, "'%s' cannot be larger", name);
            pdm_tensor_deinit(&tensor);
            return false;
        }
        set_input(m, i, &tensor);
        pdm_tensor_deinit(&tensor);
        if (status != PDM_OK) {
            snprintf(why, size, "the LoD of '%s' is broken", name);
            return false;
        }
    }
    return true;
}

static bool same_lod(const pdm_tensor *got, const pdm_npz *io, const char *name, char *why,
                     size_t size)
{
    pdm_tensor want = {.dtype = PDM_F32, .dims = {0}};
    bool same = pdm_npz_lod(io, true, name, &want) == PDM_OK &&
                pdm_tensor_num_lod(&want) == pdm_tensor_num_lod(got);

    if (!same)
        snprintf(why, size, "has %zu levels of LoD, recorded are %zu", pdm_tensor_num_lod(got),
                 pdm_tensor_num_lod(&want));
    for (size_t l = 0; same && l < pdm_tensor_num_lod(&want); l++) {
        size_t n, m;
        const int64_t *a = pdm_tensor_lod(got, l, &n), *b = pdm_tensor_lod(&want, l, &m);
        same = n == m && memcmp(a, b, n * sizeof *a) == 0;
        if (!same)
            snprintf(why, size, "has other offsets in level %zu of its LoD", l);
    }
    pdm_tensor_deinit(&want);
    return same;
}

static bool check_outputs(const tally *t, const machine *m, const pdm_npz *io, char *why, size_t size)
{
    for (size_t i = 0; i < io->count; i++) {
        const pdm_npz_key key = pdm_npz_key_parse(io->items[i].key);
        char detail[384] = "has no tensor", name[256];
        if (key.kind != PDM_NPZ_OUT)
            continue;
        if (key.position >= num_outputs(m)) {
            snprintf(why, size, "there is no output %zu", key.position);
            return false;
        }
        snprintf(name, sizeof name, "%.*s", (int)key.name_len, key.name);
        const pdm_value *value = output(m, key.position);
        if (value && value->kind == PDM_VALUE_TENSOR &&
            compare(t, &value->tensor, &io->items[i].tensor, detail, sizeof detail) &&
            (same_lod(&value->tensor, io, name, detail, sizeof detail)))
            continue;
        snprintf(why, size, "output %zu '%s' %s", key.position, name, detail);
        return false;
    }
    return true;
}

/* FNV-1a over the element types, shapes and data of all outputs. */
static uint64_t bits_of(const machine *m)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < num_outputs(m); i++) {
        const pdm_value *value = output(m, i);
        if (!value || value->kind != PDM_VALUE_TENSOR)
            continue;
        const pdm_tensor *t = &value->tensor;
        const size_t sizes[] = {sizeof t->dtype, (size_t)t->rank * sizeof *t->dims,
                                (size_t)pdm_tensor_count(t) * pdm_dtype_size(t->dtype)};
        const void *const parts[] = {&t->dtype, t->dims, t->data};
        for (int p = 0; p < 3; p++)
            for (size_t b = 0; b < sizes[p]; b++)
                hash = (hash ^ ((const unsigned char *)parts[p])[b]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* The second round must give the very bits of the first. */
static bool check_bits(tally *t, const machine *m, const char *path, int set, bool again)
{
    const uint64_t bits = t->digest ? bits_of(m) : 0;

    if (t->digest && !again)
        printf("bits %s %016" PRIx64 "\n", path, bits);
    const bool same = !again || t->last_bits[set] == bits;
    t->last_bits[set] = bits;
    return same;
}

static bool check_set(tally *t, const machine *m, const pdm_npz *io, char *why, size_t size)
{
    pdm_diag_sink sink = {.fn = say, .user = t};
    pdm_npz other;

    if (!t->expect)
        return check_outputs(t, m, io, why, size);
    pdm_npz_init(&other);
    const bool same = pdm_npz_read(&other, t->expect, 0, &sink) == PDM_OK &&
                      check_outputs(t, m, &other, why, size);
    pdm_npz_deinit(&other);
    return same;
}

/* What the program does not take or cannot do with other sizes tells nothing. */
static bool run_larger(tally *t, machine *m, const pdm_npz *io, int larger, char *why, size_t size)
{
    pdm_diag_sink sink = {.fn = say, .user = t};
    char unused[1024];

    if (!check_shapes_has_inputs(&m->check))
        return true;
    m->larger++;
    if (bind(m, io, larger, unused, sizeof unused) && run(m, &sink) == PDM_OK)
        m->larger_done++;
    t->reason[0] = 0;
    if (m->check.wrong > 0)
        snprintf(why, size, "shapes in a run with larger inputs: %s", m->check.first);
    return m->check.wrong == 0;
}

static void run_set(tally *t, machine *m, const char *path, int set, bool again)
{
    pdm_npz io;
    char why[1024] = "";
    pdm_diag_sink sink = {.fn = say, .user = t};

    if (set >= MAX_SETS || (again && (t->shapes || !t->last_ok[set])))
        return;
    t->total += !again;
    t->reason[0] = 0;
    pdm_npz_init(&io);
    bool ok = pdm_npz_read(&io, path, 0, &sink) == PDM_OK && bind(m, &io, 0, why, sizeof why) &&
              run(m, &sink) == PDM_OK;
    if (ok && !check_bits(t, m, path, set, again)) {
        snprintf(why, sizeof why, "gives other bits than in the first round");
        ok = false;
    }
    if (ok && m->check.wrong > 0) {
        snprintf(why, sizeof why, "shapes: %s", m->check.first);
        ok = false;
    }
    ok = ok && (t->shapes || check_set(t, m, &io, why, sizeof why));
    for (int larger = 1; ok && !again && m->check.shapes && larger <= 2; larger++)
        ok = run_larger(t, m, &io, larger, why, sizeof why);
    t->last_ok[set] = ok;
    if (ok && !again) {
        t->ok++;
        printf("ok %s\n", path);
    } else if (!ok) {
        t->ok -= again;
        printf("no %s%s: %s\n", path, again ? " (again)" : "",
               why[0]         ? why
               : t->reason[0] ? t->reason
                              : "failed");
    }
    pdm_npz_deinit(&io);
}

/* ---- one model ------------------------------------------------------------------------------- */

/* Outputs of programs in memory form: the names in fetch.txt beside the model. */
static size_t read_fetch(const char *folder, char *buffer, size_t size, const char **names,
                         size_t most)
{
    char path[1100];
    size_t n = 0;

    snprintf(path, sizeof path, "%s/fetch.txt", folder);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const size_t got = fread(buffer, 1, size - 1, file);
    buffer[got] = 0;
    fclose(file);
    for (char *word = strtok(buffer, " \t\r\n,"); word && n < most; word = strtok(NULL, " \t\r\n,"))
        names[n++] = word;
    return n;
}

static pdm_status as_pir(pdm_model *model, const char *folder, pdm_diag_sink *sink,
                         pdm_ir_module **out_owned, const pdm_ir_module **out_module)
{
    char text[4096];
    const char *names[256];
    pdm_tr_options options = {.allow_legacy = true,
                              .params = model->has_params ? &model->params : NULL};

    if (model->kind == PDM_MODEL_PIR) {
        *out_module = model->pir;
        return PDM_OK;
    }
    if (model->outputs.count == 0) {
        options.num_fetch = read_fetch(folder, text, sizeof text, names, 256);
        options.fetch = names;
    }
    const pdm_status status = pdm_tr_translate(model->context->ir, model->context->schemas,
                                               model->legacy, &options, sink, out_owned);
    *out_module = *out_owned;
    return status;
}

/* The files of a converted model, for as long as it is used. */
typedef struct written {
    char folder[32], program[64], params[64];
} written;

static void remove_written(const written *files)
{
    if (!files->folder[0])
        return;
    unlink(files->program);
    unlink(files->params);
    rmdir(files->folder);
}

/*
 * Put the JSON of a legacy model in its place: written into a folder of its own, and read from
 * there. A model that cannot be written is PDM_UNSUPPORTED.
 */
static pdm_status through_json(const tally *t, const char *folder, written *files,
                               pdm_model **model)
{
    char text[4096];
    const char *names[256];
    pdm_convert_options options = {.size = sizeof options, .pir_version = 4,
                                   .fetch = names,
                                   .optimize = t->optimize ? 2 : 0,
                                   .verify_each = true};
    pdm_model *pir = NULL, *read = NULL;

    if ((*model)->kind == PDM_MODEL_PIR)
        return PDM_OK;
    if ((*model)->outputs.count == 0)
        options.num_fetch = read_fetch(folder, text, sizeof text, names, 256);
    strcpy(files->folder, "/tmp/pdm-run-XXXXXX");
    if (!mkdtemp(files->folder)) {
        files->folder[0] = 0;
        return PDM_IO;
    }
    snprintf(files->program, sizeof files->program, "%s/m.json", files->folder);
    snprintf(files->params, sizeof files->params, "%s/m.pdiparams", files->folder);
    pdm_status status = pdm_model_convert(*model, &options, &pir);
    if (status == PDM_OK)
        status = pdm_model_write(pir, files->program, NULL);
    if (status == PDM_OK)
        status = pdm_model_load((*model)->context, files->program, NULL, &read);
    pdm_model_destroy(pir);
    if (status == PDM_OK) {
        pdm_model_destroy(*model);
        *model = read;
    }
    return status;
}

/* Put the program after build_cinn_pass in the model's place. */
static pdm_status after_pass(const tally *t, const char *folder, pdm_model **model)
{
    char text[4096];
    const char *names[256];
    pdm_graph_options options = {
        .size = sizeof options, .skip_gc = names, .allow_inplace = t->inplace};
    pdm_graph *graph = NULL;
    pdm_model *after = NULL;

    if ((*model)->outputs.count == 0)
        options.num_skip_gc = read_fetch(folder, text, sizeof text, names, 256);
    pdm_status status = pdm_graph_create(*model, &options, &graph);
    if (status == PDM_OK)
        status = pdm_graph_model(graph, *model, &after);
    pdm_graph_destroy(graph);
    if (status == PDM_OK) {
        pdm_model_destroy(*model);
        *model = after;
    }
    return status;
}

static pdm_status make_legacy(tally *t, pdm_model *model, const char *folder, pdm_diag_sink *sink,
                              machine *m)
{
    pdm_legacy_options run_options = {.seed = t->seed, .pool = t->pool};
    pdm_legacy_plan_options options = {0};
    char text[4096];
    const char *names[256];

    if (model->outputs.count == 0) {
        options.num_fetch = read_fetch(folder, text, sizeof text, names, 256);
        options.fetch = names;
    }
    if (t->launch) {
        PDM_TRY(pdm_api_launcher_create(model->context, &run_options, t->compile, &m->launcher));
        run_options.launch = pdm_api_launch;
        run_options.launch_user = m->launcher;
    }
    PDM_TRY(pdm_legacy_plan_create(model->legacy, model->context->schemas,
                                   model->has_params ? &model->params : NULL, &options, sink,
                                   &m->legacy_plan));
    return pdm_legacy_session_create(m->legacy_plan, &run_options, &m->legacy_session);
}

static pdm_status make_pir(tally *t, pdm_model *model, const char *folder, pdm_diag_sink *sink,
                           pdm_ir_module **out_owned, machine *m)
{
    pdm_exec_options options = {.seed = t->seed, .pool = t->pool};
    const pdm_ir_module *module;

    PDM_TRY(as_pir(model, folder, sink, out_owned, &module));
    const pdm_exec_plan_options how = {
        .fast = t->fast, .compile = t->compile, .compile_single = t->single, .keep_all = t->shapes};
    if (t->shapes) {
        PDM_TRY(check_shapes_init(&m->check, module));
        options.observe = check_shapes_observe;
        options.enter = check_shapes_enter;
        options.user = &m->check;
    }
    PDM_TRY(pdm_exec_plan_create(module, &model->params, &how, sink, &m->plan));
    return pdm_exec_session_create(m->plan, &options, &m->session);
}

/* io.npz, io2.npz, ... */
static void set_path(char *out, size_t size, const char *folder, int set)
{
    if (set == 0)
        snprintf(out, size, "%s/io.npz", folder);
    else
        snprintf(out, size, "%s/io%d.npz", folder, set + 1);
}

static int count_sets(const char *folder)
{
    char io[1100];
    int count = 0;

    for (; count < MAX_SETS; count++) {
        set_path(io, sizeof io, folder, count);
        if (pdm_file_stat(io, NULL) != PDM_FILE_REGULAR)
            break;
    }
    return count;
}

static void run_model(tally *t, const char *path, char **sets, int num_sets)
{
    pdm_context_options options = {sizeof options, say, t, false, NULL};
    pdm_context *context = NULL;
    pdm_model *model = NULL;
    pdm_ir_module *owned = NULL;
    machine m = {0};
    written files = {0};
    pdm_diag_sink sink = {.fn = say, .user = t};

    t->reason[0] = 0;
    pdm_status status = pdm_context_create(&options, &context);
    if (status == PDM_OK)
        status = pdm_model_load(context, path, NULL, &model);
    char folder[1024] = ".";
    if (status == PDM_OK) {
        const char *slash = strrchr(pdm_model_path(model), '/');
        if (slash)
            snprintf(folder, sizeof folder, "%.*s", (int)(slash - pdm_model_path(model)),
                     pdm_model_path(model));
        if (t->json)
            status = through_json(t, folder, &files, &model);
        if (t->launch && model->kind == PDM_MODEL_LEGACY)
            status = after_pass(t, folder, &model);
    }
    if (status == PDM_OK) {
        status = t->legacy && model->kind == PDM_MODEL_LEGACY
                     ? make_legacy(t, model, folder, &sink, &m)
                     : make_pir(t, model, folder, &sink, &owned, &m);
    }
    int count = num_sets;
    if (num_sets == 0)
        count = count_sets(folder);
    for (int i = 0; status == PDM_OK && i < 2 * count; i++) {
        const int set = i < count ? i : 2 * count - 1 - i;
        char io[1100];
        set_path(io, sizeof io, folder, set);
        run_set(t, &m, num_sets ? sets[set] : io, set, i >= count);
    }
    if (status == PDM_UNSUPPORTED && t->json && !m.plan && !m.legacy_plan) {
        printf("none %s: %s\n", path, t->reason);
    } else if (status != PDM_OK) {
        t->total++;
        printf("no %s: %s\n", path, t->reason[0] ? t->reason : pdm_status_text(status));
    }
    if ((m.plan || m.launcher) && t->compile) {
        const pdm_exec_compile_stats stats = m.plan ? pdm_exec_get_compile_stats(m.plan)
                                                    : pdm_api_launcher_stats(m.launcher).groups;
        printf("compiled %s: %zu groups, %zu kernels, %" PRIu64 " of %" PRIu64 " runs\n", path, stats.groups,
               stats.kernels, stats.compiled, stats.runs);
    }
    if (m.check.shapes)
        printf("shapes %s: %zu dims, %zu by symbols, %zu elements, %zu open, %zu wrong; %zu of %zu larger\n",
               path, m.check.dims, m.check.by_symbols, m.check.elements, m.check.open, m.check.wrong,
               m.larger_done, m.larger);
    fflush(stdout);
    check_shapes_deinit(&m.check);
    pdm_exec_session_destroy(m.session);
    pdm_exec_plan_destroy(m.plan);
    pdm_legacy_session_destroy(m.legacy_session);
    pdm_legacy_plan_destroy(m.legacy_plan);
    if (m.launcher) {
        t->launches.launches += pdm_api_launcher_stats(m.launcher).launches;
        t->launches.compiled += pdm_api_launcher_stats(m.launcher).compiled;
    }
    pdm_api_launcher_destroy(m.launcher);
    pdm_ir_module_destroy(owned);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
    remove_written(&files);
}

static bool is_set(const char *path)
{
    return pdm_api_has_suffix(path, ".npz");
}

/* Reads the options; the index of the first path, or 0 when they are wrong. */
static int read_options(tally *t, unsigned *threads, int argc, char **argv)
{
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        const bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--legacy"))
            t->legacy = true;
        else if (!strcmp(argv[i], "--launch"))
            t->legacy = t->launch = true;
        else if (!strcmp(argv[i], "--launch-in-place"))
            t->legacy = t->launch = t->inplace = true;
        else if (!strcmp(argv[i], "--json"))
            t->json = true;
        else if (!strcmp(argv[i], "--optimize"))
            t->json = t->optimize = true;
        else if (!strcmp(argv[i], "--fast"))
            t->fast = true;
        else if (!strcmp(argv[i], "--digest"))
            t->digest = true;
        else if (!strcmp(argv[i], "--shapes"))
            t->shapes = true;
        else if (!strcmp(argv[i], "--single"))
            t->single = true;
        else if (more && !strcmp(argv[i], "--compile"))
            t->compile = argv[++i];
        else if (more && !strcmp(argv[i], "--collect")) {
            t->compile = "cuda-collect";
            t->collect = argv[++i];
        } else if (more && !strcmp(argv[i], "--emulated")) {
            t->compile = "cuda-emulated";
            if (!emulated_open(argv[++i]))
                return 0;
        } else if (more && !strcmp(argv[i], "--expect"))
            t->expect = argv[++i];
        else if (more && !strcmp(argv[i], "--tolerance"))
            t->tolerance = strtod(argv[++i], NULL);
        else if (more && !strcmp(argv[i], "--seed"))
            t->seed = strtoull(argv[++i], NULL, 10);
        else if (more && !strcmp(argv[i], "--threads"))
            *threads = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            return 0;
    }
    return i < argc && !is_set(argv[i]) && !(t->legacy && t->json) ? i : 0;
}

int main(int argc, char **argv)
{
    tally t = {.tolerance = 1e-5};
    unsigned threads = 1;
    int i = read_options(&t, &threads, argc, argv);

    pdm_cinn_backend_add(&emulated_backend);
    pdm_cinn_backend_add(&collecting_backend);

    if (i == 0) {
        fputs("usage: pdm-run [--legacy | --launch | --launch-in-place | --json | --optimize] [--fast] "
              "[--compile BACKEND [--single]] [--digest] [--shapes] "
              "[--collect FILE | --emulated LIBRARY] [--expect FILE] [--tolerance T] [--seed N] [--threads N] PATH [IO.npz...] ...\n",
              stderr);
        return 2;
    }
    if (threads > 1 && pdm_pool_create(threads, &t.pool) != PDM_OK)
        return 2;
    while (i < argc) {
        int sets = 0;
        while (i + 1 + sets < argc && is_set(argv[i + 1 + sets]))
            sets++;
        run_model(&t, argv[i], argv + i + 1, sets);
        i += 1 + sets;
    }
    if (t.launch)
        printf("launches: %zu of %zu structures\n", t.launches.launches, t.launches.compiled);
    printf("%zu of %zu\n", t.ok, t.total);
    pdm_pool_destroy(t.pool);
    if (t.collect && !collected_write(t.collect))
        return 2;
    return t.ok == t.total ? 0 : 1;
}
