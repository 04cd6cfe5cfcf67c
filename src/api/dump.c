/* Programs as text and as dot graphs. */
#include "api/api.h"

#include "cinn/group.h"
#include "exec/lower/lower.h"
#include "ir/shapes.h"
#include "ir/text.h"
#include "legacy_graph/dump.h"
#include "translator/translate.h"

static pdm_status print_grouped(const pdm_ir_module *module, pdm_cinn_form form, pdm_buf *buf)
{
    const pdm_exec_lower_options how = {.group = true};
    pdm_ir_module *grouped = NULL;
    pdm_status status = pdm_exec_lower(module, &how, &grouped);

    if (status == PDM_OK)
        status = pdm_cinn_group_print(grouped, form, buf);
    pdm_ir_module_destroy(grouped);
    return status;
}

/* What is told of a program in PIR; legacy ones are translated for it. */
static pdm_status print_analysis(const pdm_model *model, pdm_dump_format format, pdm_buf *buf)
{
    const pdm_tr_options options = {.allow_legacy = true,
                                    .params = model->has_params ? &model->params : NULL};
    pdm_diag_sink sink = pdm_api_sink(model->context);
    pdm_ir_module *owned = NULL;
    pdm_status status = PDM_OK;

    if (model->kind == PDM_MODEL_LEGACY)
        status = pdm_tr_translate(model->context->ir, model->context->schemas, model->legacy,
                                  &options, &sink, &owned);
    const pdm_ir_module *module = owned ? owned : model->pir;
    if (status == PDM_OK)
        status = pdm_ir_verify(module, &sink);
    if (status == PDM_OK)
        status = format == PDM_DUMP_SHAPES
                     ? pdm_ir_shapes_print(module, buf)
                     : print_grouped(module, (pdm_cinn_form)(format - PDM_DUMP_GROUPS), buf);
    pdm_ir_module_destroy(owned);
    return status;
}

pdm_status pdm_model_dump(const pdm_model *model, pdm_dump_format format, char **out_text)
{
    pdm_buf buf;
    pdm_status status = PDM_OK;
    char *text;

    if (!model || !out_text || format > PDM_DUMP_SHAPES)
        return PDM_INVALID_ARG;
    pdm_buf_init(&buf);
    if (format >= PDM_DUMP_GROUPS) {
        status = print_analysis(model, format, &buf);
    } else if (model->kind == PDM_MODEL_LEGACY) {
        if (format == PDM_DUMP_TEXT)
            pdm_lg_dump_text(model->legacy, &buf);
        else
            pdm_lg_dump_dot(model->legacy, &buf);
    } else {
        if (format == PDM_DUMP_TEXT)
            pdm_ir_print(model->pir, &buf);
        else
            pdm_ir_print_dot(model->pir, &buf);
    }
    if (status != PDM_OK) {
        pdm_buf_deinit(&buf);
        return status;
    }
    text = pdm_buf_take(&buf);
    pdm_buf_deinit(&buf);
    if (!text)
        return PDM_NOMEM;
    *out_text = text;
    return PDM_OK;
}
