/* Programs as text and as dot graphs. */
#include "api/api.h"

#include "ir/text.h"
#include "legacy_graph/dump.h"

pdm_status pdm_model_dump(const pdm_model *model, pdm_dump_format format, char **out_text)
{
    pdm_buf buf;
    char *text;

    if (!model || !out_text || (format != PDM_DUMP_TEXT && format != PDM_DUMP_DOT))
        return PDM_INVALID_ARG;
    pdm_buf_init(&buf);
    if (model->kind == PDM_MODEL_LEGACY) {
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
    text = pdm_buf_take(&buf);
    pdm_buf_deinit(&buf);
    if (!text)
        return PDM_NOMEM;
    *out_text = text;
    return PDM_OK;
}
