/* For tests of the forms of PIR outside of memory: JSON and text. */
#ifndef PDM_TESTS_UNIT_IR_FORMS_H
#define PDM_TESTS_UNIT_IR_FORMS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "ir/pir_json.h"
#include "ir/text.h"

typedef struct forms {
    pdm_ir_context *context;
    pdm_diag_sink sink;
    char said[8192]; /* one a line: LINE:COLUMN id op|var: message */
} forms;

static inline void forms_hear(void *user, const pdm_diagnostic *d)
{
    forms *f = user;
    const size_t n = strlen(f->said);

    snprintf(f->said + n, sizeof f->said - n, "%d:%d %s %s|%s: %s\n", (int)d->line, (int)d->column,
             d->id, d->op_type ? d->op_type : "", d->var ? d->var : "", d->message);
}

static inline void forms_init(forms *f)
{
    *f = (forms){.sink = {.fn = forms_hear, .user = f}};
    ck_assert_int_eq(pdm_ir_context_create(&f->context), PDM_OK);
}

static inline void forms_deinit(forms *f)
{
    pdm_ir_context_destroy(f->context);
}

static inline pdm_ir_module *forms_read(forms *f, const char *json, size_t size,
                                        pdm_ir_json_layout *layout)
{
    pdm_ir_module *module = NULL;
    const pdm_status status =
        pdm_ir_json_read(f->context, json, size, "test", &f->sink, &module, layout);

    ck_assert_msg(status == PDM_OK, "%s", f->said);
    return module;
}

static inline pdm_ir_module *forms_parse(forms *f, const char *text)
{
    pdm_ir_module *module = NULL;
    const pdm_status status =
        pdm_ir_parse(f->context, text, strlen(text), "test", &f->sink, &module);

    ck_assert_msg(status == PDM_OK, "%s", f->said);
    return module;
}

/* The JSON of a module; the caller frees it. */
static inline char *forms_json(forms *f, const pdm_ir_module *module, int indent)
{
    const pdm_ir_json_layout layout = {.indent = indent};
    pdm_buf buf;

    pdm_buf_init(&buf);
    ck_assert_msg(pdm_ir_json_print(module, &layout, &buf, &f->sink) == PDM_OK, "%s", f->said);
    return pdm_buf_take(&buf);
}

static inline char *forms_text(const pdm_ir_module *module)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_ir_print(module, &buf);
    ck_assert(pdm_buf_ok(&buf));
    return pdm_buf_take(&buf);
}

/* A file of fixtures/samples. */
static inline char *forms_sample(const char *name, size_t *out_size)
{
    char path[1024], *data = NULL;
    const char *top = getenv("srcdir");

    snprintf(path, sizeof path, "%s/fixtures/samples/%s", top ? top : ".", name);
    ck_assert_msg(pdm_file_read(path, 1 << 28, NULL, &data, out_size) == PDM_OK, "no %s", path);
    return data;
}

static const char *const forms_samples[] = {
    "array.json",
    "attrs.json",
    "bigio.json",
    "cond.json",
    "conv_bn.json",
    "linear_relu.json",
    "linear_relu_compact.json",
    "unicode.json",
    "while_array.json",
    "while_loop.json",
    "sep/__model__.json",
    "translated/array.json",
    "translated/cond.json",
    "translated/conv_bn.json",
    "translated/jit_cf.json",
    "translated/linear_relu.json",
    "translated/misc.json",
    "translated/order.json",
    "translated/while_array.json",
    "translated/while_loop.json",
};

#define NUM_SAMPLES ((int)(sizeof forms_samples / sizeof forms_samples[0]))

#endif
