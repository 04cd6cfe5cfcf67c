/*
 * pdm-run [--seed N] [--threads N] PATH [IO.npz...]...
 *
 * Run models and compare with what was recorded. PATH is a model (or the folder of one); the .npz
 * files after it are its input sets; without any, io.npz, io2.npz, ... of its folder are taken. All
 * sets run on the one loaded model. A legacy model is translated in memory (ops that PIR cannot
 * express stay in the legacy dialect). Prints a line for each set:
 *
 *   ok NAME                          within rtol and atol 1e-5 (float16 and bfloat16 1e-3), others exact
 *   no NAME: REASON                  the first difference, a missing kernel, an error
 *
 * and at last `N of M`. LoD of results is not compared.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/npz.h"
#include "exec/executor.h"
#include "exec/pool.h"
#include "translator/translate.h"

typedef struct tally {
    size_t ok, total;
    uint64_t seed;
    pdm_pool *pool;
    char reason[2048]; /* what was told about the set at hand */
} tally;

static void say(void *user, const pdm_diagnostic *d)
{
    tally *t = user;
    const size_t len = strlen(t->reason);

    if (d->severity != PDM_ERROR || len > sizeof t->reason - 64)
        return;
    snprintf(t->reason + len, sizeof t->reason - len, "%s%s%s%s", len ? "; " : "",
             d->op_type ? d->op_type : "", d->op_type ? ": " : "", d->message);
}

/* ---- comparison --------------------------------------------------------------------------------- */

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

static bool compare(const pdm_tensor *got, const pdm_tensor *recorded, char *why, size_t size)
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
    const double tol = exact ? 0 : got->dtype == PDM_F16 || got->dtype == PDM_BF16 ? 1e-3 : 1e-5;
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
    snprintf(why, size, "%s: %" PRId64 " differ, first at %" PRId64 ": %.9g, recorded %.9g; largest %g", a,
             bad, first, pdm_get_double(got, first), pdm_get_double(&want, first), worst);
    return false;
}

/* ---- one set ------------------------------------------------------------------------------------ */

static bool bind(pdm_exec_session *session, const pdm_exec_plan *plan, const pdm_npz *io, char *why,
                 size_t size)
{
    for (size_t i = 0; i < pdm_exec_num_inputs(plan); i++) {
        const char *name = pdm_exec_input_name(plan, i);
        pdm_ir_type type = pdm_exec_input_type(plan, i);
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
        if (type && type->dtype == PDM_BF16 && tensor.dtype == PDM_U16)
            tensor.dtype = PDM_BF16;
        const pdm_status status = pdm_npz_lod(io, false, name, &tensor);
        pdm_exec_set_input(session, i, &tensor);
        pdm_tensor_deinit(&tensor);
        if (status != PDM_OK) {
            snprintf(why, size, "the LoD of '%s' is broken", name);
            return false;
        }
    }
    return true;
}

static bool check_outputs(const pdm_exec_session *session, const pdm_exec_plan *plan, const pdm_npz *io,
                          char *why, size_t size)
{
    for (size_t i = 0; i < io->count; i++) {
        const pdm_npz_key key = pdm_npz_key_parse(io->items[i].key);
        if (key.kind != PDM_NPZ_OUT)
            continue;
        if (key.position >= pdm_exec_num_outputs(plan)) {
            snprintf(why, size, "there is no output %zu", key.position);
            return false;
        }
        const pdm_value *value = pdm_exec_output(session, key.position);
        char detail[512] = "has no tensor";
        if (value && value->kind == PDM_VALUE_TENSOR &&
            compare(&value->tensor, &io->items[i].tensor, detail, sizeof detail))
            continue;
        snprintf(why, size, "output %zu '%.*s' %s", key.position, (int)key.name_len, key.name, detail);
        return false;
    }
    return true;
}

static void run_set(tally *t, pdm_exec_session *session, const pdm_exec_plan *plan, const char *path)
{
    pdm_npz io;
    char why[1024] = "";
    pdm_diag_sink sink = {.fn = say, .user = t};

    t->total++;
    t->reason[0] = 0;
    pdm_npz_init(&io);
    bool ok = pdm_npz_read(&io, path, 0, &sink) == PDM_OK && bind(session, plan, &io, why, sizeof why) &&
              pdm_exec_run(session, &sink) == PDM_OK && check_outputs(session, plan, &io, why, sizeof why);
    if (ok) {
        t->ok++;
        printf("ok %s\n", path);
    } else {
        printf("no %s: %s\n", path, why[0] ? why : t->reason[0] ? t->reason : "failed");
    }
    pdm_npz_deinit(&io);
}

/* ---- one model ---------------------------------------------------------------------------------- */

/* Outputs of programs in memory form: the names in fetch.txt beside the model. */
static size_t read_fetch(const char *folder, char *buffer, size_t size, const char **names, size_t most)
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

static void run_model(tally *t, const char *path, char **sets, int num_sets)
{
    pdm_context_options options = {sizeof options, say, t, false, NULL};
    pdm_context *context = NULL;
    pdm_model *model = NULL;
    pdm_ir_module *owned = NULL;
    const pdm_ir_module *module = NULL;
    pdm_exec_plan *plan = NULL;
    pdm_exec_session *session = NULL;
    pdm_exec_options exec = {.seed = t->seed, .pool = t->pool};
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
        status = as_pir(model, folder, &sink, &owned, &module);
    }
    if (status == PDM_OK)
        status = pdm_exec_plan_create(module, &model->params, NULL, &sink, &plan);
    if (status == PDM_OK)
        status = pdm_exec_session_create(plan, &exec, &session);
    for (int i = 0; i < num_sets && status == PDM_OK; i++)
        run_set(t, session, plan, sets[i]);
    for (int i = 1; num_sets == 0 && status == PDM_OK; i++) {
        char io[1100];
        snprintf(io, sizeof io, i > 1 ? "%s/io%d.npz" : "%s/io.npz", folder, i);
        if (pdm_file_stat(io, NULL) != PDM_FILE_REGULAR)
            break;
        run_set(t, session, plan, io);
    }
    if (status != PDM_OK) {
        t->total++;
        printf("no %s: %s\n", path, t->reason[0] ? t->reason : pdm_status_text(status));
    }
    fflush(stdout);
    pdm_exec_session_destroy(session);
    pdm_exec_plan_destroy(plan);
    pdm_ir_module_destroy(owned);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}

static bool is_set(const char *path)
{
    return pdm_api_has_suffix(path, ".npz");
}

int main(int argc, char **argv)
{
    tally t = {.seed = 0};
    unsigned threads = 1;
    int i = 1;

    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (!strcmp(argv[i], "--seed"))
            t.seed = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--threads"))
            threads = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else
            break;
    }
    if (i >= argc || argv[i][0] == '-' || is_set(argv[i])) {
        fputs("usage: pdm-run [--seed N] [--threads N] PATH [IO.npz...] ...\n", stderr);
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
    printf("%zu of %zu\n", t.ok, t.total);
    pdm_pool_destroy(t.pool);
    return t.ok == t.total ? 0 : 1;
}
