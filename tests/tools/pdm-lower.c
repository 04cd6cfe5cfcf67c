/*
 * pdm-lower MODEL: print the program that is run with fast kernels, after it was verified. A legacy
 * model is translated first.
 */
#include <stdio.h>

#include "api/api.h"
#include "exec/lower/lower.h"
#include "ir/text.h"
#include "translator/translate.h"

static void say(void *user, const pdm_diagnostic *d)
{
    (void)user;
    if (d->severity == PDM_ERROR)
        fprintf(stderr, "pdm-lower: %s: %s\n", d->op_type ? d->op_type : "", d->message);
}

static pdm_status print(pdm_model *model, pdm_diag_sink *sink)
{
    const pdm_tr_options options = {.allow_legacy = true,
                                    .params = model->has_params ? &model->params : NULL};
    const pdm_exec_lower_options how = {.fast = true};
    pdm_ir_module *owned = NULL, *lowered = NULL;
    pdm_status status = PDM_OK;
    pdm_buf buf;

    if (model->kind == PDM_MODEL_LEGACY)
        status = pdm_tr_translate(model->context->ir, model->context->schemas, model->legacy,
                                  &options, sink, &owned);
    if (status == PDM_OK)
        status = pdm_exec_lower(owned ? owned : model->pir, &how, &lowered);
    if (status == PDM_OK)
        status = pdm_ir_verify(lowered, sink);
    if (lowered) {
        pdm_buf_init(&buf);
        pdm_ir_print(lowered, &buf);
        fwrite(buf.data, 1, buf.size, stdout);
        pdm_buf_deinit(&buf);
    }
    pdm_ir_module_destroy(lowered);
    pdm_ir_module_destroy(owned);
    return status;
}

int main(int argc, char **argv)
{
    const pdm_context_options options = {sizeof options, say, NULL, false, NULL};
    pdm_diag_sink sink = {.fn = say};
    pdm_context *context = NULL;
    pdm_model *model = NULL;

    if (argc != 2) {
        fputs("usage: pdm-lower MODEL\n", stderr);
        return 2;
    }
    pdm_status status = pdm_context_create(&options, &context);
    if (status == PDM_OK)
        status = pdm_model_load(context, argv[1], NULL, &model);
    if (status == PDM_OK)
        status = print(model, &sink);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
    return status == PDM_OK ? 0 : 1;
}
