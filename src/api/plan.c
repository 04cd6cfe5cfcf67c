/* From a model to a plan. */
#include "api/run.h"

#include <stdlib.h>
#include <string.h>

static pdm_status module_of(pdm_plan *plan, const pdm_plan_options *given, pdm_tr_links *links,
                            pdm_diag_sink *sink, const pdm_ir_module **out_module)
{
    const pdm_model *model = plan->model;
    pdm_loc loc = PDM_NOWHERE;
    const pdm_tr_options options = {.fetch = given->fetch,
                                    .num_fetch = given->num_fetch,
                                    .allow_legacy = true,
                                    .links = links,
                                    .params = model->has_params ? &model->params : NULL};

    loc.file = model->path;
    if (model->kind == PDM_MODEL_PIR && given->num_fetch > 0)
        return pdm_diag(sink, PDM_D_USAGE, &loc, NULL,
                        "outputs can be chosen only for a legacy program, and this one is PIR");
    if (model->kind == PDM_MODEL_PIR) {
        *out_module = model->pir;
        return pdm_ir_verify(model->pir, sink);
    }
    if (model->outputs.count == 0 && given->num_fetch == 0)
        return pdm_diag(sink, PDM_D_LG_NO_OUTPUT, &loc, "name the outputs with --fetch NAME,...",
                        "the program has no output: it has no fetch op");
    PDM_TRY(pdm_tr_translate(model->context->ir, model->context->schemas, model->legacy, &options,
                             sink, &plan->owned));
    *out_module = plan->owned;
    return pdm_ir_verify(plan->owned, sink);
}

const pdm_ir_module *pdm_api_plan_module(const pdm_plan *plan)
{
    return plan->owned ? plan->owned : plan->model->pir;
}

const char *pdm_api_backend(pdm_compiler compiler)
{
    switch (compiler) {
    case PDM_COMPILER_OFF:
        break;
    case PDM_COMPILER_REFERENCE:
        return "ref";
    case PDM_COMPILER_LLVM:
        return "llvm";
    case PDM_COMPILER_CUDA:
        return "cuda";
    }
    return NULL;
}

pdm_status pdm_plan_create(const pdm_model *model, const pdm_plan_options *options,
                           pdm_plan **out_plan)
{
    return pdm_api_plan_create(model, options, false, NULL, out_plan);
}

pdm_status pdm_api_plan_create(const pdm_model *model, const pdm_plan_options *options,
                               bool keep_all, pdm_tr_links *links, pdm_plan **out_plan)
{
    const pdm_ir_module *module = NULL;
    pdm_plan_options given = {0};
    pdm_status status;

    if (!model || !out_plan)
        return PDM_INVALID_ARG;
    PDM_API_OPTIONS(given, options);
    if ((given.num_fetch > 0 && !given.fetch) || given.kernels > PDM_KERNELS_FAST ||
        given.compiler > PDM_COMPILER_CUDA)
        return PDM_INVALID_ARG;
    pdm_diag_sink sink = pdm_api_sink(model->context);
    pdm_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return PDM_NOMEM;
    plan->model = model;
    plan->any_shape = given.any_shape;
    plan->as_before = given.as_before;
    status = module_of(plan, &given, links, &sink, &module);
    if (status == PDM_OK)
        status = pdm_api_check_cancel(model->context);
    const pdm_exec_plan_options how = {.keep_all = keep_all || given.as_before,
                                       .fast = given.kernels == PDM_KERNELS_FAST &&
                                               !given.as_before,
                                       .compile = pdm_api_backend(given.compiler)};
    if (status == PDM_OK)
        status = pdm_exec_plan_create(module, &model->params, &how, &sink, &plan->exec);
    if (status != PDM_OK) {
        pdm_plan_destroy(plan);
        return status;
    }
    *out_plan = plan;
    return PDM_OK;
}

void pdm_plan_destroy(pdm_plan *plan)
{
    if (!plan)
        return;
    pdm_exec_plan_destroy(plan->exec);
    pdm_ir_module_destroy(plan->owned);
    free(plan);
}

size_t pdm_plan_num_inputs(const pdm_plan *plan)
{
    return pdm_exec_num_inputs(plan->exec);
}

size_t pdm_plan_num_outputs(const pdm_plan *plan)
{
    return pdm_exec_num_outputs(plan->exec);
}

static pdm_tensor_info info_of(const char *name, pdm_ir_type type)
{
    pdm_tensor_info info = {.name = name, .dtype = pdm_dtype_name(PDM_UNDEFINED)};

    if (type && type->kind == PDM_IR_DENSE_TENSOR) {
        info.dtype = pdm_dtype_name(type->dtype);
        info.dims = type->dims;
        info.rank = type->rank;
    }
    return info;
}

pdm_status pdm_plan_input(const pdm_plan *plan, size_t index, pdm_tensor_info *out_info)
{
    if (!plan || index >= pdm_exec_num_inputs(plan->exec) || !out_info)
        return PDM_INVALID_ARG;
    *out_info =
        info_of(pdm_exec_input_name(plan->exec, index), pdm_exec_input_type(plan->exec, index));
    return PDM_OK;
}

pdm_status pdm_plan_output(const pdm_plan *plan, size_t index, pdm_tensor_info *out_info)
{
    if (!plan || index >= pdm_exec_num_outputs(plan->exec) || !out_info)
        return PDM_INVALID_ARG;
    *out_info =
        info_of(pdm_exec_output_name(plan->exec, index), pdm_exec_output_type(plan->exec, index));
    return PDM_OK;
}
