/* Programs as text and as dot graphs. */
#include "api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cinn/backend.h"
#include "cinn/cuda/nvrtc.h"
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

/* A program in PIR, verified; a legacy one is translated: *out_owned is the caller's then. */
static pdm_status take_pir(const pdm_model *model, pdm_diag_sink *sink, pdm_ir_module **out_owned,
                           const pdm_ir_module **out_module)
{
    const pdm_tr_options options = {.allow_legacy = true,
                                    .params = model->has_params ? &model->params : NULL};

    if (model->kind == PDM_MODEL_LEGACY)
        PDM_TRY(pdm_tr_translate(model->context->ir, model->context->schemas, model->legacy,
                                 &options, sink, out_owned));
    *out_module = *out_owned ? *out_owned : model->pir;
    return pdm_ir_verify(*out_module, sink);
}

_Static_assert(PDM_CINN_AS_SUMMARY == PDM_DUMP_GROUP_SUMMARY - PDM_DUMP_GROUPS && PDM_CINN_AS_CUDA == PDM_DUMP_CUDA - PDM_DUMP_GROUPS,
               "forms are in the order of formats");

static pdm_status print_analysis(const pdm_model *model, pdm_dump_format format, pdm_buf *buf)
{
    pdm_diag_sink sink = pdm_api_sink(model->context);
    pdm_ir_module *owned = NULL;
    const pdm_ir_module *module;
    pdm_status status = take_pir(model, &sink, &owned, &module);

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

/* ---- code ------------------------------------------------------------------------------------ */

static pdm_status missing(pdm_diag_sink *sink, const char *reason)
{
    return pdm_diag(sink, PDM_D_COMPILE_MISSING, NULL, NULL, "kernels cannot be compiled: %s", reason);
}

static pdm_status llvm_code(const pdm_ir_module *module, pdm_diag_sink *sink, pdm_buf *out)
{
    const char *reason;

    if (!pdm_cinn_backend_module(&reason))
        return missing(sink, reason);
    return print_grouped(module, PDM_CINN_AS_LLVM, out);
}

/* arch: sm_80, or compute_80 for PTX. */
static pdm_status nvrtc_code(const pdm_ir_module *module, const char *arch, pdm_diag_sink *sink,
                             pdm_buf *out)
{
    const char *reason = pdm_cinn_nvrtc_why_not();
    void *code = NULL;
    size_t size = 0;
    pdm_buf text, log;

    if (reason)
        return missing(sink, reason);
    pdm_buf_init(&text);
    pdm_buf_init(&log);
    pdm_status status = print_grouped(module, PDM_CINN_AS_CUDA, &text);
    if (status == PDM_OK)
        status = pdm_cinn_nvrtc_compile(&text, arch, false, &log, &code, &size);
    if (status == PDM_UNSUPPORTED) {
        const size_t line = log.size ? strcspn(log.data, "\n") : 0;
        status = pdm_diag(sink, PDM_D_COMPILE_MISSING, NULL, NULL, "NVRTC refused kernels for %s: %.*s",
                          arch, (int)(line < 300 ? line : 300),
                          line ? log.data : "no reason told");
    }
    if (status == PDM_OK) /* PTX counts its last 0 */
        pdm_buf_put(out, code, size > 0 && ((char *)code)[size - 1] == '\0' && arch[0] == 'c' ? size - 1 : size);
    free(code);
    pdm_buf_deinit(&text);
    pdm_buf_deinit(&log);
    return status;
}

static pdm_status code_of(const pdm_model *model, pdm_code_format format, const char *arch,
                          pdm_buf *out)
{
    pdm_diag_sink sink = pdm_api_sink(model->context);
    pdm_ir_module *owned = NULL;
    const pdm_ir_module *module;
    char name[32];
    pdm_status status = take_pir(model, &sink, &owned, &module);

    snprintf(name, sizeof name, "%s%s", format == PDM_CODE_PTX ? "compute_" : "sm_", arch + 3);
    if (status == PDM_OK)
        status = format == PDM_CODE_LLVM ? llvm_code(module, &sink, out)
                                         : nvrtc_code(module, name, &sink, out);
    pdm_ir_module_destroy(owned);
    return status == PDM_OK && !pdm_buf_ok(out) ? PDM_NOMEM : status;
}

/* sm_ and a number, perhaps with a letter, as sm_90a. */
static bool is_arch(const char *text)
{
    const size_t digits = !strncmp(text, "sm_", 3) ? strspn(text + 3, "0123456789") : 0;

    return digits >= 2 && digits <= 3 &&
           (!text[3 + digits] || (strchr("af", text[3 + digits]) && !text[4 + digits]));
}

pdm_status pdm_model_code(const pdm_model *model, pdm_code_format format, const char *arch,
                          char **out_code, size_t *out_size)
{
    pdm_buf buf;

    if (!model || !out_code || !out_size || (unsigned)format > PDM_CODE_LLVM ||
        (arch && !is_arch(arch)))
        return PDM_INVALID_ARG;
    pdm_buf_init(&buf);
    pdm_status status = code_of(model, format, arch ? arch : "sm_80", &buf);
    const size_t size = buf.size;
    char *code = status == PDM_OK ? pdm_buf_take(&buf) : NULL;
    pdm_buf_deinit(&buf);
    if (status != PDM_OK || !code)
        return status != PDM_OK ? status : PDM_NOMEM;
    *out_code = code;
    *out_size = size;
    return PDM_OK;
}
