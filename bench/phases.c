/*
 * Time the phases of a conversion one by one, best of TIMES: read (bytes to program), translate,
 * verify, retag (to PIR version 1), print (module to JSON, in memory).
 *
 *   phases TIMES MODEL-FILE   →   {"read_s": 0.0012, "translate_s": 0.0006, ...}
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "ir/pir_json.h"
#include "legacy_graph/read.h"
#include "translator/translate.h"

enum { READ, TRANSLATE, VERIFY, RETAG, PRINT, NUM_PHASES };

static const char *const names[NUM_PHASES] = {"read", "translate", "verify", "retag", "print"};

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void tell(void *user, const pdm_diagnostic *d)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", d->id, d->message);
}

typedef struct run {
    pdm_ir_context *ir;
    pdm_lg_schemas *schemas;
    pdm_diag_sink sink;
    const char *path;
    char *data;
    size_t size;
    pdm_lg_program *program;
    pdm_ir_module *module;
    pdm_buf json;
} run;

static pdm_status phase(run *r, int which)
{
    static const pdm_tr_options options = {.pir_version = 1};

    switch (which) {
    case READ:
        return pdm_lg_read(r->data, r->size, r->path, &r->sink, &r->program);
    case TRANSLATE:
        return pdm_tr_translate(r->ir, r->schemas, r->program, &options, &r->sink, &r->module);
    case VERIFY:
        return pdm_ir_verify(r->module, &r->sink);
    case RETAG:
        return pdm_ir_module_set_version(r->module, 1, &r->sink);
    default:
        return pdm_ir_json_print(r->module, NULL, &r->json, &r->sink);
    }
}

/* All phases once; best[] is lowered. The context is kept, as one that converts many models would.
 */
static pdm_status once(run *r, double *best)
{
    pdm_status status = PDM_OK;

    r->program = NULL;
    r->module = NULL;
    pdm_buf_init(&r->json);
    for (int i = 0; i < NUM_PHASES && status == PDM_OK; i++) {
        const double begin = seconds();
        status = phase(r, i);
        const double t = seconds() - begin;
        if (best[i] < 0 || t < best[i])
            best[i] = t;
    }
    pdm_buf_deinit(&r->json);
    pdm_ir_module_destroy(r->module);
    pdm_lg_program_destroy(r->program);
    return status;
}

int main(int argc, char **argv)
{
    const int times = argc == 3 ? atoi(argv[1]) : 0;
    double best[NUM_PHASES];
    run r = {.sink = {.fn = tell}};
    pdm_status status;

    if (times < 1) {
        fputs("usage: phases TIMES MODEL-FILE\n", stderr);
        return 2;
    }
    r.path = argv[2];
    for (int i = 0; i < NUM_PHASES; i++)
        best[i] = -1;
    status = pdm_ir_context_create(&r.ir);
    if (status == PDM_OK)
        status = pdm_lg_schemas_create(&r.schemas);
    if (status == PDM_OK)
        status = pdm_file_read(r.path, PDM_LG_MAX_FILE, &r.sink, &r.data, &r.size);
    for (int i = 0; i < times && status == PDM_OK; i++)
        status = once(&r, best);
    if (status == PDM_OK) {
        for (int i = 0; i < NUM_PHASES; i++)
            printf("%s\"%s_s\": %.9f", i ? ", " : "{", names[i], best[i]);
        puts("}");
    } else {
        fprintf(stderr, "phases: %s\n", pdm_status_text(status));
    }
    free(r.data);
    if (r.schemas)
        pdm_lg_schemas_destroy(r.schemas);
    if (r.ir)
        pdm_ir_context_destroy(r.ir);
    return status == PDM_OK ? 0 : 1;
}
