/* Loading: find the file, tell its format by its content, read the program, find its parameters. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "legacy_graph/cinn_table.h"
#include "legacy_graph/read.h"

pdm_model *pdm_api_model_create(pdm_context *context, pdm_model_kind kind, const char *path)
{
    pdm_model *model = calloc(1, sizeof *model);

    if (!model)
        return NULL;
    model->context = context;
    model->kind = kind;
    pdm_arena_init(&model->arena);
    pdm_params_init(&model->params);
    model->path = pdm_arena_strndup(&model->arena, path, strlen(path));
    if (!model->path) {
        pdm_model_destroy(model);
        return NULL;
    }
    return model;
}

void pdm_model_destroy(pdm_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->num_launch_keys; i++)
        pdm_lg_cinn_table_release(pdm_lg_cinn_table_shared(), model->launch_keys[i]);
    pdm_lg_program_destroy(model->legacy);
    pdm_ir_module_destroy(model->pir);
    pdm_params_deinit(&model->params);
    pdm_arena_deinit(&model->arena);
    free(model);
}

/* Why a file is no model, and what it may be. */
static pdm_status unknown_format(const char *path, const char *data, size_t size,
                                 pdm_diag_sink *sink)
{
    const char *hint = "a model is a ProgramDesc (.pdmodel, __model__) or PIR JSON (.json)";
    const unsigned char *bytes = (const unsigned char *)data;
    pdm_loc loc = PDM_NOWHERE;

    loc.file = path;
    if (size == 0)
        return pdm_diag(sink, PDM_D_FILE_EMPTY, &loc, NULL, "the file is empty");
    /* A parameter file begins with its version and number of LoD levels, all zero. */
    if (size >= 16 && !memcmp(bytes, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16))
        hint =
            "it looks like a parameter file; name the program (.pdmodel, __model__, .json) instead";
    else if (bytes[0] == 0x80)
        hint = "it looks like a pickle (.pdparams); export the model with paddle.jit.save or "
               "save_inference_model";
    return pdm_diag(sink, PDM_D_FILE_FORMAT, &loc, hint,
                    "the file is neither a ProgramDesc nor a PIR program");
}

/* A file that its name would have one take for the other kind. */
static void note_name(const char *path, bool json, pdm_diag_sink *sink)
{
    if (json && pdm_api_has_suffix(path, ".pdmodel"))
        pdm_api_note(sink, PDM_D_FILE_NOTE, path, NULL,
                     "this is a PIR program in JSON, in spite of its name");
    if (!json && pdm_api_has_suffix(path, ".json"))
        pdm_api_note(sink, PDM_D_FILE_NOTE, path, NULL,
                     "this is a legacy program (ProgramDesc), in spite of its name");
}

static pdm_status read_program(pdm_model *model, const char *data, size_t size, pdm_diag_sink *sink)
{
    if (model->kind == PDM_MODEL_PIR)
        return pdm_ir_json_read(model->context->ir, data, size, model->path, sink, &model->pir,
                                &model->layout);
    return pdm_lg_read(data, size, model->path, sink, &model->legacy);
}

static pdm_status load_file(pdm_context *context, const char *path, const pdm_load_options *options,
                            pdm_diag_sink *sink, pdm_model **out_model)
{
    pdm_model *model = NULL;
    char *data = NULL;
    size_t size = 0;
    pdm_status status;

    PDM_TRY_GOTO(pdm_file_read(path, PDM_LG_MAX_FILE, sink, &data, &size));
    const bool json = pdm_ir_json_looks_like(data, size);
    if (!json && !pdm_lg_looks_like_program(data, size)) {
        status = unknown_format(path, data, size, sink);
        goto done;
    }
    note_name(path, json, sink);
    model = pdm_api_model_create(context, json ? PDM_MODEL_PIR : PDM_MODEL_LEGACY, path);
    if (!model) {
        status = PDM_NOMEM;
        goto done;
    }
    PDM_TRY_GOTO(read_program(model, data, size, sink));
    free(data);
    data = NULL;
    PDM_TRY_GOTO(pdm_api_check_cancel(context));
    PDM_TRY_GOTO(pdm_api_load_params(model, options, sink));
    PDM_TRY_GOTO(pdm_api_model_index(model));
    *out_model = model;
    model = NULL;
done:
    free(data);
    pdm_model_destroy(model);
    return status;
}

pdm_status pdm_model_load(pdm_context *context, const char *path, const pdm_load_options *options,
                          pdm_model **out_model)
{
    pdm_load_options given = {0};
    char *found = NULL;

    if (!context || !path || !out_model)
        return PDM_INVALID_ARG;
    PDM_API_OPTIONS(given, options);
    pdm_diag_sink sink = pdm_api_sink(context);
    PDM_TRY(pdm_api_find_model(path, &sink, &found));
    const pdm_status status = load_file(context, found, &given, &sink, out_model);
    free(found);
    return status;
}
