/*
 * pdm-launches [--in-place] MODEL IO.npz OUT [NAME...]
 *
 * Run a legacy model after build_cinn_pass, and write each subgraph that was launched into OUT/N/:
 * inference.json with its parameters, converted from the extracted model, and io.npz with what went
 * into its first launch and came out. NAMEs are kept beside the model's outputs. Prints `ok N`, or
 * `no N: REASON` where it cannot be converted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "api/launch.h"
#include "api/run.h"

typedef struct recorder {
    pdm_api_launcher *launcher;
    pdm_graph *graph;
    pdm_model *model; /* before the pass */
    const char *out;
    bool *seen; /* by subgraph */
    size_t failed;
    char reason[512];
} recorder;

static void say(void *user, const pdm_diagnostic *d)
{
    recorder *r = user;

    if (d->severity == PDM_ERROR && !r->reason[0])
        snprintf(r->reason, sizeof r->reason, "%s", d->message);
}

static size_t index_of(const recorder *r, int64_t key)
{
    pdm_subgraph_info info;
    size_t i = 0;

    while (i < pdm_graph_num_subgraphs(r->graph) &&
           (pdm_graph_subgraph(r->graph, i, &info) != PDM_OK || info.key != key))
        i++;
    return i;
}

static pdm_status add(pdm_bundle *bundle, bool out, size_t position, const char *name,
                      const pdm_tensor *tensor)
{
    char key[512];

    if (out)
        snprintf(key, sizeof key, "out:%zu:%s", position, name);
    else
        snprintf(key, sizeof key, "in:%s", name);
    return pdm_api_bundle_add(bundle, key, tensor);
}

/* Parameters are in their file. */
static bool is_param(const recorder *r, const char *name)
{
    const pdm_lg_program *program = r->model->legacy;
    const char *there = pdm_intern_find(&program->strings, name, strlen(name));
    const pdm_lg_var *var = there ? pdm_lg_block_var(&program->blocks[0], there) : NULL;

    return var && pdm_lg_var_is_param(var);
}

/* Before the launch, which may free what goes into it. */
static pdm_status record_inputs(const recorder *r, const pdm_legacy_launch *launch, pdm_bundle *bundle)
{
    pdm_status status = PDM_OK;

    for (size_t i = 0; i < launch->num_in && status == PDM_OK; i++) {
        if (launch->in[i] && !is_param(r, launch->in_names[i]))
            status = add(bundle, false, 0, launch->in_names[i], launch->in[i]);
    }
    for (size_t i = 0; i < launch->num_shapes && status == PDM_OK; i++) {
        pdm_tensor zero = {0};
        const pdm_tensor *shape = &launch->shapes[i];
        status = pdm_tensor_alloc(&zero, shape->dtype, shape->rank, shape->dims);
        if (status == PDM_OK) {
            memset(zero.data, 0, pdm_tensor_bytes(&zero));
            status = add(bundle, false, 0, launch->shape_names[i], &zero);
        }
        pdm_tensor_deinit(&zero);
    }
    return status;
}

static pdm_status record_outputs(const pdm_legacy_launch *launch, pdm_bundle *bundle)
{
    pdm_status status = PDM_OK;

    for (size_t i = 0; i < launch->num_out && status == PDM_OK; i++)
        status = add(bundle, true, i, launch->out_names[i], &launch->out[i]);
    return status;
}

static pdm_status convert(const recorder *r, size_t index, const char *path)
{
    const pdm_convert_options how = {.size = sizeof how, .pir_version = 4};
    const pdm_write_options write = {.size = sizeof write, .overwrite = true};
    pdm_model *part = NULL, *pir = NULL;
    pdm_status status = pdm_graph_extract(r->graph, r->model, index, &part);

    if (status == PDM_OK)
        status = pdm_model_convert(part, &how, &pir);
    if (status == PDM_OK)
        status = pdm_model_write(pir, path, &write);
    pdm_model_destroy(pir);
    pdm_model_destroy(part);
    return status;
}

static pdm_status write_part(recorder *r, size_t index, const pdm_bundle *io)
{
    char path[1200];

    snprintf(path, sizeof path, "%s/%zu", r->out, index);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%zu/inference.json", r->out, index);
    r->reason[0] = 0;
    if (convert(r, index, path) != PDM_OK) {
        printf("no %zu: %s\n", index, r->reason[0] ? r->reason : "failed");
        r->failed++;
        return PDM_OK;
    }
    snprintf(path, sizeof path, "%s/%zu/io.npz", r->out, index);
    PDM_TRY(pdm_bundle_write(io, path, true));
    printf("ok %zu\n", index);
    return PDM_OK;
}

static pdm_status launch_and_record(void *user, const pdm_legacy_launch *launch, pdm_diag_sink *sink)
{
    recorder *r = user;
    const size_t index = index_of(r, launch->key);
    pdm_bundle *io = NULL;

    if (index >= pdm_graph_num_subgraphs(r->graph) || r->seen[index] || launch->num_out == 0)
        return pdm_api_launch(r->launcher, launch, sink);
    r->seen[index] = true;
    pdm_status status = pdm_bundle_create(r->model->context, &io);
    if (status == PDM_OK)
        status = record_inputs(r, launch, io);
    if (status == PDM_OK)
        status = pdm_api_launch(r->launcher, launch, sink);
    if (status == PDM_OK)
        status = record_outputs(launch, io);
    if (status == PDM_OK)
        status = write_part(r, index, io);
    pdm_bundle_destroy(io);
    return status;
}

static pdm_status set_inputs(const pdm_legacy_plan *plan, pdm_legacy_session *session,
                             const pdm_bundle *io)
{
    for (size_t i = 0; i < pdm_legacy_num_inputs(plan); i++) {
        const char *name = pdm_legacy_input_name(plan, i);
        const pdm_tensor *found = pdm_api_bundle_input(io, name);
        pdm_tensor tensor = {0};
        if (!found)
            return PDM_INVALID_ARG;
        pdm_tensor_ref(&tensor, found);
        if (pdm_legacy_input_var(plan, i)->dtype == PDM_BF16 && tensor.dtype == PDM_U16)
            tensor.dtype = PDM_BF16;
        const pdm_status status = pdm_npz_lod(&io->npz, false, name, &tensor);
        if (status == PDM_OK)
            pdm_legacy_set_input(session, i, &tensor);
        pdm_tensor_deinit(&tensor);
        PDM_TRY(status);
    }
    return PDM_OK;
}

static pdm_status run(recorder *r, const pdm_model *after, const pdm_bundle *io, pdm_diag_sink *sink)
{
    pdm_legacy_options options = {.launch = launch_and_record, .launch_user = r};
    pdm_legacy_plan *plan = NULL;
    pdm_legacy_session *session = NULL;
    pdm_status status;

    PDM_TRY_GOTO(pdm_api_launcher_create(after->context, &options, NULL, &r->launcher));
    PDM_TRY_GOTO(pdm_legacy_plan_create(after->legacy, after->context->schemas,
                                        after->has_params ? &after->params : NULL, NULL, sink,
                                        &plan));
    PDM_TRY_GOTO(pdm_legacy_session_create(plan, &options, &session));
    PDM_TRY_GOTO(set_inputs(plan, session, io));
    status = pdm_legacy_run(session, sink);
done:
    pdm_legacy_session_destroy(session);
    pdm_legacy_plan_destroy(plan);
    pdm_api_launcher_destroy(r->launcher);
    return status;
}

int main(int argc, char **argv)
{
    const bool inplace = argc > 1 && !strcmp(argv[1], "--in-place");
    char **words = argv + 1 + inplace;
    recorder r = {.out = argc > 3 + inplace ? words[2] : ""};
    const pdm_context_options options = {.size = sizeof options, .on_diagnostic = say, .user = &r};
    const pdm_graph_options how = {.size = sizeof how,
                                   .allow_inplace = inplace,
                                   .skip_gc = (const char *const *)(words + 3),
                                   .num_skip_gc = argc > 4 + inplace ? (size_t)(argc - 4 - inplace) : 0};
    pdm_context *context = NULL;
    pdm_model *after = NULL;
    pdm_bundle *io = NULL;
    pdm_diag_sink sink = {.fn = say, .user = &r};
    pdm_status status;

    if (argc < 4 + inplace) {
        fputs("usage: pdm-launches [--in-place] MODEL IO.npz OUT [NAME...]\n", stderr);
        return 2;
    }
    PDM_TRY_GOTO(pdm_context_create(&options, &context));
    PDM_TRY_GOTO(pdm_model_load(context, words[0], NULL, &r.model));
    PDM_TRY_GOTO(pdm_bundle_read(context, words[1], &io));
    PDM_TRY_GOTO(pdm_graph_create(r.model, &how, &r.graph));
    PDM_TRY_GOTO(pdm_graph_model(r.graph, r.model, &after));
    r.seen = calloc(pdm_graph_num_subgraphs(r.graph) + 1, sizeof *r.seen);
    status = r.seen ? run(&r, after, io, &sink) : PDM_NOMEM;
done:
    if (status != PDM_OK)
        printf("no model: %s\n", r.reason[0] ? r.reason : pdm_status_text(status));
    free(r.seen);
    pdm_bundle_destroy(io);
    pdm_model_destroy(after);
    pdm_graph_destroy(r.graph);
    pdm_model_destroy(r.model);
    pdm_context_destroy(context);
    return status != PDM_OK || r.failed ? 1 : 0;
}
