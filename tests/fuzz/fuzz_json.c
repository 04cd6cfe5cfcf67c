/*
 * Fuzz the reader of PIR JSON: any bytes give a program that can be verified, written and printed,
 * and is the same after reading it back from either form, or a verdict with at least one error
 * reported.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz_ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(pdm_ir_context *context, pdm_ir_module *module, const pdm_ir_json_layout *layout)
{
    pdm_buf json, again, text;
    pdm_ir_module *other = NULL;

    fuzz_json(module, layout, &json);
    other = fuzz_read(context, json.data, json.size);
    fuzz_json(other, layout, &again);
    fuzz_same(&json, &again);
    pdm_buf_deinit(&again);
    pdm_ir_module_destroy(other);

    fuzz_text(module, &text);
    other = fuzz_parse(context, text.data, text.size);
    fuzz_json(other, layout, &again);
    pdm_buf_deinit(&again);
    fuzz_text(other, &again);
    fuzz_same(&text, &again);
    pdm_buf_deinit(&again);
    pdm_buf_deinit(&text);
    pdm_buf_deinit(&json);
    pdm_ir_module_destroy(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdm_diag_sink sink = {.fn = fuzz_note, .verbose = true};
    pdm_ir_context *context = NULL;
    pdm_ir_module *module = NULL;
    pdm_ir_json_layout layout;

    if (pdm_ir_context_create(&context) != PDM_OK)
        return 0;
    const pdm_status status =
        pdm_ir_json_read(context, (const char *)data, size, "input", &sink, &module, &layout);
    fuzz_verdict(status, &sink);
    if (status == PDM_OK) {
        if (pdm_ir_verify(module, NULL) == PDM_INTERNAL)
            abort();
        check(context, module, &layout);
        fuzz_dot(module);
        pdm_ir_module_destroy(module);
    }
    pdm_ir_context_destroy(context);
    return 0;
}
