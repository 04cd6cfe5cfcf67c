#include "unit/ir/forms.h"

#include <stdlib.h>
#include <unistd.h>

#include "unit/ir/build.h"

Suite *pdm_suite_json_write(void);

/* Paddle spells NaN in a way that its own reader refuses; the rest of a file comes out byte for
 * byte. */
static void respell_nan(char *text)
{
    for (char *p = text; (p = strstr(p, "\"VD\"")) != NULL; p++) {
        char *value = strstr(p, "\"NaN\"");
        if (value && value - p < 16)
            memcpy(value, "\"NAN\"", 5);
    }
}

START_TEST(reproduces_samples)
{
    pdm_ir_json_layout layout = {.indent = -1};
    size_t size;
    char *data = forms_sample(forms_samples[_i], &size);
    forms f;

    forms_init(&f);
    pdm_ir_module *module = forms_read(&f, data, size, &layout);
    ck_assert_msg(pdm_ir_verify(module, &f.sink) == PDM_OK, "%s", f.said);
    char *json = forms_json(&f, module, layout.indent);
    respell_nan(data);
    ck_assert_msg(strlen(json) == size && memcmp(json, data, size) == 0, "%s differs",
                  forms_samples[_i]);
    pdm_ir_module_destroy(module);
    free(json);
    free(data);
    forms_deinit(&f);
}
END_TEST

/* The two layouts hold the same. */
START_TEST(layouts)
{
    pdm_ir_json_layout layout = {.indent = -1};
    size_t size;
    char *data = forms_sample("while_loop.json", &size);
    forms f;

    forms_init(&f);
    for (int indent = 0; indent <= 16; indent += indent ? 12 : 4) {
        pdm_ir_module *module = forms_read(&f, data, size, NULL);
        char *json = forms_json(&f, module, indent);
        pdm_ir_module *again = forms_read(&f, json, strlen(json), &layout);
        ck_assert_int_eq(layout.indent, indent);
        char *wide = forms_json(&f, again, 4);
        ck_assert_str_eq(wide, data);
        pdm_ir_module_destroy(module);
        pdm_ir_module_destroy(again);
        free(json);
        free(wide);
    }
    free(data);
    forms_deinit(&f);
}
END_TEST

/* The streamed file is what is written into memory, also over many buffers. */
START_TEST(streams)
{
    char folder[] = "/tmp/pdm-json-XXXXXX", path[64], *bytes = NULL;
    pdm_buf wanted;
    pdm_out out;
    size_t size;
    fx f;

    fx_init(&f);
    pdm_ir_value *x = data(&f, f.f32);
    for (int i = 0; i < 3000; i++)
        x = result(relu(&f, f.top, x));
    pdm_buf_init(&wanted);
    ck_assert_int_eq(pdm_ir_json_print(f.module, NULL, &wanted, NULL), PDM_OK);
    ck_assert_uint_gt(wanted.size, 300000);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.json", folder);
    ck_assert_int_eq(pdm_out_begin(&out, path, NULL), PDM_OK);
    ck_assert_int_eq(pdm_ir_json_write(f.module, NULL, &out, NULL), PDM_OK);
    ck_assert_int_eq(pdm_out_finish(&out, NULL), PDM_OK);
    ck_assert_int_eq(pdm_out_publish(&out, false, NULL), PDM_OK);
    pdm_out_deinit(&out);
    ck_assert_int_eq(pdm_file_read(path, 1 << 28, NULL, &bytes, &size), PDM_OK);
    ck_assert_uint_eq(size, wanted.size);
    ck_assert(memcmp(bytes, wanted.data, size) == 0);
    free(bytes);
    pdm_buf_deinit(&wanted);
    unlink(path);
    rmdir(folder);
    fx_deinit(&f);
}
END_TEST

/* What a file cannot hold is told before anything is written. */
static void refused(fx *f, size_t errors, const char *part)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    ck_assert_int_eq(pdm_ir_json_print(f->module, NULL, &buf, &f->sink), PDM_UNSUPPORTED);
    ck_assert_uint_eq(buf.size, 0);
    ck_assert_msg(f->sink.num_errors == errors && strstr(f->said, part), "wanted %s: %s", part,
                  f->said);
    pdm_buf_deinit(&buf);
}

START_TEST(refuses_legacy_ops)
{
    fx f;

    fx_init(&f);
    emit(&f, f.top, "legacy.one", NONE, OUT(f.f32));
    pdm_ir_region *region = new_region();
    emit(&f, region->first, "legacy.two", NONE, NONE);
    pdm_ir_block_append(f.top, make(&f, "builtin.group", NONE, NONE, &region, 1));
    refused(&f, 2, "legacy.two");
    ck_assert_ptr_nonnull(strstr(f.said, "legacy.one"));
    fx_deinit(&f);
}
END_TEST

START_TEST(refuses_types)
{
    fx f;

    fx_init(&f);
    pdm_ir_type u32 = pdm_ir_type_tensor(f.context, PDM_U32, NULL, 0);
    pdm_ir_type in_vec = pdm_ir_type_vector(f.context, &u32, 1);
    pdm_ir_type odd = pdm_ir_type_intern(
        f.context,
        &(struct pdm_ir_type_s){.kind = PDM_IR_DENSE_TENSOR, .dtype = PDM_F32, .layout = "ODD"});
    pdm_ir_op *op = emit(&f, f.top, "builtin.group", NONE, OUT(in_vec, odd));
    set(&f, op, "t", pdm_ir_attr_type(f.context, u32));
    set(&f, op, "c",
        pdm_ir_attr_intern(
            f.context, &(struct pdm_ir_attr_s){.kind = PDM_IR_ATTR_C64, .u.c = {1, 1.0 / 0.0}}));
    pdm_ir_attr layout = pdm_ir_attr_layout(f.context, "ODD");
    set(&f, op, "l", pdm_ir_attr_array(f.context, &layout, 1));
    refused(&f, 5, "a result has an element type");
    fx_deinit(&f);
}
END_TEST

START_TEST(refuses_depth)
{
    pdm_buf buf;
    fx f;

    fx_init(&f);
    pdm_ir_block *block = f.top;
    for (int i = 0; i < 257; i++) {
        pdm_ir_region *region = new_region();
        pdm_ir_block *inner = region->first;
        pdm_ir_block_append(block, make(&f, "builtin.group", NONE, NONE, &region, 1));
        block = inner;
    }
    pdm_buf_init(&buf);
    ck_assert_int_eq(pdm_ir_json_print(f.module, NULL, &buf, &f.sink), PDM_INVALID_MODEL);
    ck_assert_msg(strstr(f.said, "256") != NULL, "%s", f.said);
    pdm_buf_deinit(&buf);
    fx_deinit(&f);
}
END_TEST

/* A parameter as the translator makes it, without the flags of its result. */
START_TEST(writes_parameters)
{
    static const bool yes = true, no = false;
    pdm_buf buf;
    fx f;

    fx_init(&f);
    pdm_ir_op *op = emit(&f, f.top, "builtin.parameter", NONE, OUT(f.f32));
    set(&f, op, "parameter_name", pdm_ir_attr_str(f.context, "w\"1"));
    set(&f, op, "is_distributed", pdm_ir_attr_bools(f.context, &no, 1));
    set(&f, op, "is_parameter", pdm_ir_attr_bools(f.context, &yes, 1));
    set(&f, op, "need_clip", pdm_ir_attr_bools(f.context, &no, 1));
    pdm_buf_init(&buf);
    ck_assert_int_eq(pdm_ir_json_print(f.module, NULL, &buf, NULL), PDM_OK);
    ck_assert_msg(
        strstr(buf.data, "{\"#\":\"p\",\"A\":[0,1,0,\"w\\\"1\"],\"DA\":[],\"O\":{\"%\":1,") != NULL,
        "%s", buf.data);
    ck_assert_msg(strstr(buf.data, "\"OA\":[1,0,1],\"QA\":[]}") != NULL, "%s", buf.data);
    buf.size = 0;
    f.module->trainable = false;
    ck_assert_int_eq(pdm_ir_json_print(f.module, NULL, &buf, NULL), PDM_OK);
    ck_assert_ptr_null(strstr(buf.data, "OA"));
    pdm_buf_deinit(&buf);
    fx_deinit(&f);
}
END_TEST

Suite *pdm_suite_json_write(void)
{
    Suite *suite = suite_create("json_write");
    TCase *tests = tcase_create("json_write");

    tcase_add_loop_test(tests, reproduces_samples, 0, NUM_SAMPLES);
    tcase_add_test(tests, layouts);
    tcase_add_test(tests, streams);
    tcase_add_test(tests, refuses_legacy_ops);
    tcase_add_test(tests, refuses_types);
    tcase_add_test(tests, refuses_depth);
    tcase_add_test(tests, writes_parameters);
    suite_add_tcase(suite, tests);
    return suite;
}
