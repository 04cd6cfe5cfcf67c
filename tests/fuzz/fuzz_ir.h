/* What the fuzz harnesses of the IR share: calls that must succeed, or the input is a finding. */
#ifndef PDM_TESTS_FUZZ_IR_H
#define PDM_TESTS_FUZZ_IR_H

#include <stdlib.h>
#include <string.h>

#include "ir/pir_json.h"
#include "ir/text.h"

/* Reads all of a diagnostic, so that a checker of memory sees bad pointers. */
static inline void fuzz_note(void *user, const pdm_diagnostic *d)
{
    static volatile size_t length;

    (void)user;
    length = strlen(d->id) + strlen(d->message);
    length += d->op_type ? strlen(d->op_type) : 0;
    length += d->var ? strlen(d->var) : 0;
    length += d->file ? strlen(d->file) : 0;
}

/* A failure was told, and a success told no error. */
static inline void fuzz_verdict(pdm_status status, const pdm_diag_sink *sink)
{
    if (status == PDM_OK ? sink->num_errors > 0 : status != PDM_NOMEM && sink->num_errors == 0)
        abort();
    if (status == PDM_INTERNAL)
        abort();
}

static inline void fuzz_json(const pdm_ir_module *module, const pdm_ir_json_layout *layout,
                             pdm_buf *out)
{
    pdm_buf_init(out);
    if (pdm_ir_json_print(module, layout, out, NULL) != PDM_OK)
        abort();
}

static inline void fuzz_text(const pdm_ir_module *module, pdm_buf *out)
{
    pdm_buf_init(out);
    pdm_ir_print(module, out);
    if (!pdm_buf_ok(out))
        abort();
}

static inline void fuzz_dot(const pdm_ir_module *module)
{
    pdm_buf text;

    pdm_buf_init(&text);
    pdm_ir_print_dot(module, &text);
    if (!pdm_buf_ok(&text))
        abort();
    pdm_buf_deinit(&text);
}

static inline pdm_ir_module *fuzz_read(pdm_ir_context *context, const char *json, size_t size)
{
    pdm_ir_module *module = NULL;

    if (pdm_ir_json_read(context, json, size, "output", NULL, &module, NULL) != PDM_OK)
        abort();
    return module;
}

static inline pdm_ir_module *fuzz_parse(pdm_ir_context *context, const char *text, size_t size)
{
    pdm_ir_module *module = NULL;

    if (pdm_ir_parse(context, text, size, "output", NULL, &module) != PDM_OK)
        abort();
    return module;
}

static inline void fuzz_same(const pdm_buf *a, const pdm_buf *b)
{
    if (a->size != b->size || memcmp(a->data, b->data, a->size) != 0)
        abort();
}

#endif
