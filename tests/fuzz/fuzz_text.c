/*
 * Fuzz the parser of the text form: any bytes give a program whose text parses back to the same
 * text, or a verdict with at least one error reported. What can be written as JSON and read again
 * is written the same again.
 */
#include <stdlib.h>

#include "fuzz/fuzz_ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(pdm_ir_context *context, const pdm_ir_module *module)
{
    pdm_buf text, again;

    fuzz_text(module, &text);
    pdm_ir_module *other = fuzz_parse(context, text.data, text.size);
    fuzz_text(other, &again);
    fuzz_same(&text, &again);
    pdm_ir_module_destroy(other);
    pdm_buf_deinit(&text);
    pdm_buf_deinit(&again);
}

/* The text form takes more than a file does: a refusal is no finding. */
static void check_json(pdm_ir_context *context, const pdm_ir_module *module)
{
    pdm_buf json, again;
    pdm_ir_module *other = NULL;

    pdm_buf_init(&json);
    if (pdm_ir_json_print(module, NULL, &json, NULL) == PDM_OK &&
        pdm_ir_json_read(context, json.data, json.size, "output", NULL, &other, NULL) == PDM_OK) {
        fuzz_json(other, NULL, &again);
        fuzz_same(&json, &again);
        pdm_buf_deinit(&again);
        pdm_ir_module_destroy(other);
    }
    pdm_buf_deinit(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdm_diag_sink sink = {.fn = fuzz_note, .verbose = true};
    pdm_ir_context *context = NULL;
    pdm_ir_module *module = NULL;

    if (pdm_ir_context_create(&context) != PDM_OK)
        return 0;
    const pdm_status status =
        pdm_ir_parse(context, (const char *)data, size, "input", &sink, &module);
    fuzz_verdict(status, &sink);
    if (status == PDM_OK) {
        check_text(context, module);
        check_json(context, module);
        if (pdm_ir_verify(module, NULL) == PDM_INTERNAL)
            abort();
        fuzz_dot(module);
        pdm_ir_module_destroy(module);
    }
    pdm_ir_context_destroy(context);
    return 0;
}
