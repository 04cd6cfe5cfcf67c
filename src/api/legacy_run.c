/* Running a legacy model as it is. */
#include <stdlib.h>
#include <string.h>

#include "api/launch.h"
#include "api/run.h"

struct pdm_legacy_runner {
    const pdm_model *model;
    pdm_legacy_plan *plan;
    pdm_legacy_session *session;
    pdm_api_launcher *launcher;
};

static pdm_status give_input(const pdm_legacy_plan *plan, pdm_legacy_session *session, size_t index,
                             const pdm_bundle *inputs)
{
    const char *name = pdm_legacy_input_name(plan, index);
    const pdm_lg_var *var = pdm_legacy_input_var(plan, index);
    pdm_tensor tensor = {0};

    pdm_tensor_ref(&tensor, pdm_api_bundle_input(inputs, name));
    /* numpy has no bfloat16. */
    if (var && var->dtype == PDM_BF16 && tensor.dtype == PDM_U16)
        tensor.dtype = PDM_BF16;
    pdm_status status = pdm_npz_lod(&inputs->npz, false, name, &tensor);
    if (status == PDM_OK)
        pdm_legacy_set_input(session, index, &tensor);
    pdm_tensor_deinit(&tensor);
    return status;
}

static pdm_status give_inputs(const pdm_model *model, const pdm_legacy_plan *plan,
                              pdm_legacy_session *session, const pdm_bundle *inputs,
                              pdm_diag_sink *sink)
{
    pdm_status worst = PDM_OK;

    for (size_t i = 0; i < pdm_legacy_num_inputs(plan); i++) {
        const char *name = pdm_legacy_input_name(plan, i);
        pdm_loc loc = PDM_NOWHERE;
        loc.file = model->path;
        loc.var = name;
        const pdm_status status =
            pdm_api_bundle_input(inputs, name)
                ? give_input(plan, session, i, inputs)
                : pdm_diag(sink, PDM_D_USAGE, &loc, NULL, "there are no data for input '%s'", name);
        if (status != PDM_OK)
            worst = status;
    }
    return worst;
}

static pdm_status take_outputs(const pdm_legacy_plan *plan, const pdm_legacy_session *session,
                               pdm_bundle *outputs)
{
    pdm_buf key;
    pdm_status status = PDM_OK;

    pdm_buf_init(&key);
    for (size_t i = 0; status == PDM_OK && i < pdm_legacy_num_outputs(plan); i++) {
        const pdm_value *value = pdm_legacy_output(session, i);
        if (!value || value->kind != PDM_VALUE_TENSOR)
            continue;          /* an array, or nothing: there is no key for it */
        pdm_tensor copy = {0}; /* the session's memory goes with it */
        key.size = 0;
        pdm_buf_printf(&key, "out:%zu:%s", i, pdm_legacy_output_name(plan, i));
        status = pdm_buf_ok(&key) ? pdm_tensor_copy(&copy, &value->tensor) : PDM_NOMEM;
        if (status == PDM_OK)
            status = pdm_api_bundle_add(outputs, key.data, &copy);
        pdm_tensor_deinit(&copy);
    }
    pdm_buf_deinit(&key);
    return status;
}

static pdm_status make_ready(pdm_legacy_runner *r, const pdm_legacy_run_options *given,
                             const pdm_legacy_options *hooks)
{
    const pdm_model *model = r->model;
    pdm_diag_sink sink = pdm_api_sink(model->context);
    const pdm_legacy_plan_options how = {.fetch = given->fetch, .num_fetch = given->num_fetch};
    pdm_legacy_options run = {.seed = given->seed,
                              .max_iterations = given->max_iterations,
                              .cancelled = given->cancelled,
                              .print = given->print,
                              .observe = hooks ? hooks->observe : NULL,
                              .enter = hooks ? hooks->enter : NULL,
                              .user = given->user};

    PDM_TRY(pdm_legacy_plan_create(model->legacy, model->context->schemas,
                                   model->has_params ? &model->params : NULL, &how, &sink,
                                   &r->plan));
    PDM_TRY(pdm_api_launcher_create(model->context, &run, pdm_api_backend(given->compiler), &r->launcher));
    run.launch = pdm_api_launch;
    run.launch_user = r->launcher;
    return pdm_legacy_session_create(r->plan, &run, &r->session);
}

static pdm_status create(const pdm_model *model, const pdm_legacy_run_options *options,
                         const pdm_legacy_options *hooks, pdm_legacy_runner **out_runner)
{
    pdm_legacy_run_options given = {0};

    if (!model || !out_runner || model->kind != PDM_MODEL_LEGACY)
        return PDM_INVALID_ARG;
    PDM_API_OPTIONS(given, options);
    if (given.compiler > PDM_COMPILER_CUDA)
        return PDM_INVALID_ARG;
    pdm_legacy_runner *r = calloc(1, sizeof *r);
    if (!r)
        return PDM_NOMEM;
    r->model = model;
    const pdm_status status = make_ready(r, &given, hooks);
    if (status == PDM_OK)
        *out_runner = r;
    else
        pdm_legacy_runner_destroy(r);
    return status;
}

pdm_status pdm_legacy_runner_create(const pdm_model *model, const pdm_legacy_run_options *options,
                                    pdm_legacy_runner **out_runner)
{
    return create(model, options, NULL, out_runner);
}

void pdm_legacy_runner_destroy(pdm_legacy_runner *runner)
{
    if (!runner)
        return;
    pdm_legacy_session_destroy(runner->session);
    pdm_legacy_plan_destroy(runner->plan);
    pdm_api_launcher_destroy(runner->launcher);
    free(runner);
}

void pdm_legacy_runner_reset(pdm_legacy_runner *runner)
{
    if (runner)
        pdm_legacy_session_reset(runner->session);
}

pdm_status pdm_legacy_runner_run(pdm_legacy_runner *r, const pdm_bundle *inputs,
                                 pdm_bundle *outputs)
{
    if (!r || !inputs || !outputs)
        return PDM_INVALID_ARG;
    pdm_diag_sink sink = pdm_api_sink(r->model->context);
    PDM_TRY(give_inputs(r->model, r->plan, r->session, inputs, &sink));
    PDM_TRY(pdm_legacy_run(r->session, &sink));
    return take_outputs(r->plan, r->session, outputs);
}

pdm_status pdm_model_run_legacy(const pdm_model *model, const pdm_legacy_run_options *options,
                                const pdm_bundle *inputs, pdm_bundle *outputs)
{
    return pdm_api_run_legacy(model, options, NULL, inputs, outputs);
}

pdm_status pdm_api_run_legacy(const pdm_model *model, const pdm_legacy_run_options *options,
                              const pdm_legacy_options *hooks, const pdm_bundle *inputs,
                              pdm_bundle *outputs)
{
    pdm_legacy_runner *runner = NULL;

    if (!inputs || !outputs)
        return PDM_INVALID_ARG;
    PDM_TRY(create(model, options, hooks, &runner));
    const pdm_status status = pdm_legacy_runner_run(runner, inputs, outputs);
    pdm_legacy_runner_destroy(runner);
    return status;
}
