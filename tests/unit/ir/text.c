#include "unit/ir/forms.h"

#include "ir/op_info.h"

Suite *pdm_suite_text(void);

/* print(parse(print(m))) == print(m), and nothing of the program is lost on the way. */
START_TEST(round_trips_samples)
{
    size_t size;
    char *data = forms_sample(forms_samples[_i], &size);
    forms f;

    forms_init(&f);
    pdm_ir_module *module = forms_read(&f, data, size, NULL);
    char *text = forms_text(module), *json = forms_json(&f, module, 0);
    pdm_ir_module *parsed = forms_parse(&f, text);
    char *text_again = forms_text(parsed), *json_again = forms_json(&f, parsed, 0);
    ck_assert_str_eq(text_again, text);
    ck_assert_str_eq(json_again, json);
    pdm_ir_module_destroy(module);
    pdm_ir_module_destroy(parsed);
    free(data);
    free(text);
    free(json);
    free(text_again);
    free(json_again);
    forms_deinit(&f);
}
END_TEST

/* Attributes and types that print as they were parsed. */
static const char *const attrs[] = {
    "null",
    "true",
    "false",
    "0",
    "-2147483648",
    "2147483647",
    "i64(5)",
    "i64(-9223372036854775808)",
    "index(7)",
    "0.5",
    "-0.0",
    "0.1",
    "1e-45",
    "3.4028235e+38",
    "inf",
    "-inf",
    "nan",
    "f64(0.1)",
    "f64(0.10000000149011612)",
    "f64(nan)",
    "f64(-inf)",
    "f64(1e+300)",
    "c64(0.1,-inf)",
    "c128(0.1,nan)",
    "\"\"",
    "\"a \\\"b\\\\ \\n\\u0001 \xe8\xbe\x93\"",
    "tensor_name(\"x\")",
    "[]",
    "[1,2]",
    "[1,i64(2),\"x\",[null]]",
    "i64[1,2]",
    "f64[0.5,inf,nan]",
    "[0.5,inf]",
    "[true]",
    "ints[]",
    "ints[-1,9007199254740993]",
    "type(f32)",
    "type(<<NULL TYPE>>)",
    "type(tensor<2x-1xbf16>)",
    "float32",
    "Undefined",
    "index",
    "float8_e4m3fn",
    "layout(NHWC)",
    "layout(\"Undefined(AnyLayout)\")",
    "Place(undefined:0)",
    "Place(cpu)",
    "Place(cpu:2)",
    "Place(gpu:1)",
    "Place(custom:0,\"npu\")",
    "Place(17:0)",
    "scalar<f32>(0.5)",
    "scalar<b>(true)",
    "scalar<i64>(-5)",
    "scalar<c64>(1.0,2.0)",
    "scalar<undefined>(3)",
};

static const char *const types[] = {
    "f32",
    "undefined",
    "index",
    "tensor<f32>",
    "tensor<0x-1x-4xi64>",
    "tensor<2xf32, NHWC>",
    "tensor<2xf32, \"Undefined(AnyLayout)\">",
    "tensor<2xf32, lod=[[0,2],[0,1,2]], offset=7>",
    "tensor<2xf32, NHWC, lod=[[]]>",
    "vec[]",
    "vec[tensor<f32>,<<NULL TYPE>>,vec[b]]",
    "pd_op.tensor_array<f32>",
    "pd_op.tensor_array<2xi8, NHWC>",
    "pd_op.selected_rows<3xf32, offset=1>",
    "pd_op.sparse_coo<3x4xf32, SPARSE_COO, nnz=[2], elements=[tensor<2x2xi64>,tensor<2xf32>]>",
    "pd_op.sparse_coo<f32, nnz=[]>",
    "pd_op.sparse_csr<3x4xf32, elements=[tensor<4xi64>,tensor<2xi64>,tensor<2xf32>]>",
    "cf.stack",
    "cf.inlet",
    "cf.outlet",
    "<<NULL TYPE>>",
};

static void prints_back(const char *before, const char *part, const char *after)
{
    char text[1024];
    forms f;

    snprintf(text, sizeof text, "%s%s%s", before, part, after);
    forms_init(&f);
    pdm_ir_module *module = forms_parse(&f, text);
    char *printed = forms_text(module);
    ck_assert_str_eq(printed, text);
    free(printed);
    pdm_ir_module_destroy(module);
    forms_deinit(&f);
}

START_TEST(keeps_attrs)
{
    prints_back("pir version 4 trainable {\n    () = \"legacy.x\" () {a:", attrs[_i],
                "} : () -> ()\n}\n");
}
END_TEST

START_TEST(keeps_types)
{
    prints_back("pir version 1 {\n    (%0) = \"legacy.x\" () {} : () -> ", types[_i], "\n}\n");
}
END_TEST

START_TEST(keeps_names)
{
    prints_back("pir version 4 trainable {\n    () = \"legacy.", "\\\"x\\\\",
                "\" () {\"\":1,\"0a\":1,\"a b\":1,a.b@c:1} : () -> ()\n}\n");
}
END_TEST

static const struct {
    const char *text, *wanted; /* line:column id, and a part of the message */
} broken[] = {
    {"", "1:1 text-syntax|'{' is expected, but the text ends"},
    {"pir {", "1:5 text-syntax|'version' is expected"},
    {"pir version x {", "1:13 text-syntax|integer"},
    {"{", "1:2 text-syntax|an op, a block or '}'"},
    {"{} x", "1:4 text-syntax|after the end"},
    {"{\n  x\n}", "2:3 text-syntax|an op, a block or '}'"},
    {"{ ^() ^() }", "1:8 text-syntax|a program has one block"},
    {"{ (0) }", "1:4 text-syntax|'%' is expected"},
    {"{ (%) }", "1:5 text-syntax|value name"},
    {"{ (%0 }", "1:7 text-syntax|')' is expected"},
    {"{ () \"legacy.x\" }", "1:6 text-syntax|'=' is expected"},
    {"{ () = legacy.x }", "1:8 text-syntax|'\"' is expected"},
    {"{ () = \"legacy.x\" {}", "1:19 text-syntax|'(' is expected"},
    {"{ () = \"legacy.x\" (%0) {} : (f32) -> () }", "1:20 text-syntax|%0 is not defined"},
    {"{ (%0) = \"legacy.x\" (%0) {} : (f32) -> f32 }", "1:22 text-syntax|%0 is not defined"},
    {"{ (%0,%0) = \"legacy.x\" () {} : () -> f32, f32 }", "1:7 text-syntax|%0 is defined twice"},
    {"{ (%0) = \"legacy.x\" () {} : () -> () }", "1:37 text-syntax|1 results, but 0 result types"},
    {"{ (%0) = \"legacy.x\" () {} : () -> f32\n(%1) = \"legacy.y\" (%0) {} : (f64) -> f32 }",
     "2:30 text-syntax|operand 0 is of another type"},
    {"{ (%0) = \"legacy.x\" () {} : () -> f32\n(%1) = \"legacy.y\" (%0) {} : () -> f32 }",
     "2:31 text-syntax|1 operands, but 0 operand types"},
    {"{ () = \"legacy.y\" () {} : (f32) -> () }", "1:28 text-syntax|more operand types"},
    {"{ () = \"legacy.x\" () {a} : () -> () }", "1:24 text-syntax|':' is expected"},
    {"{ () = \"legacy.x\" () {a:1,a:2} : () -> () }", "1:27 text-syntax|\"a\" occurs twice"},
    {"{ () = \"legacy.x\" () {b:1,a:2,b:3} : () -> () }", "1:31 text-syntax|\"b\" occurs twice"},
    {"{ () = \"legacy.x\" () {a:} : () -> () }", "1:25 text-syntax|an attribute is expected"},
    {"{ () = \"legacy.x\" () {a:b} : () -> () }", "1:25 text-syntax|an attribute is expected"},
    {"{ () = \"legacy.x\" () {a:i32(1)} : () -> () }", "1:25 text-syntax|an attribute is expected"},
    {"{ () = \"legacy.x\" () {a:2147483648} : () -> () }", "1:25 text-syntax|write i64"},
    {"{ () = \"legacy.x\" () {a:i64(9223372036854775808)} : () -> () }",
     "1:29 text-syntax|out of range"},
    {"{ () = \"legacy.x\" () {a:1e400} : () -> () }", "1:25 text-syntax|out of range"},
    {"{ () = \"legacy.x\" () {a:1.} : () -> () }", "1:25 text-syntax|a number is expected"},
    {"{ () = \"legacy.x\" () {a:\"b} : () -> () }", "1:25 text-syntax|not closed"},
    {"{ () = \"legacy.x\" () {a:\"\\x\"} : () -> () }", "1:26 text-syntax|unknown escape"},
    {"{ () = \"legacy.x\" () {a:\"\\u0000\"} : () -> () }", "1:26 text-syntax|no character"},
    {"{ () = \"legacy.x\" () {a:\"\\ud800\"} : () -> () }", "1:26 text-syntax|no character"},
    {"{ () = \"legacy.x\" () {a:\"\xff\"} : () -> () }", "1:26 text-syntax|UTF-8"},
    {"{ () = \"legacy.x\" () {a:\"\n\"} : () -> () }", "1:25 text-syntax|not closed"},
    {"{ () = \"legacy.x\" () {a:\"\t\"} : () -> () }", "1:26 text-syntax|control character"},
    {"{ () = \"legacy.x\" () {a:Place(moon:0)} : () -> () }", "1:31 text-syntax|unknown place"},
    {"{ () = \"legacy.x\" () {a:[1,2} : () -> () }", "1:29 text-syntax|']' is expected"},
    {"{ () = \"legacy.x\" () {a:i64[1.5]} : () -> () }", "1:30 text-syntax|']' is expected"},
    {"{ (%0) = \"legacy.x\" () {} : () -> g32 }", "1:35 text-syntax|a type is expected"},
    {"{ (%0) = \"legacy.x\" () {} : () -> tensor<2xg32> }", "1:44 text-syntax|element type"},
    {"{ (%0) = \"legacy.x\" () {} : () -> tensor<2xf32, nnz=[1]> }",
     "1:49 text-syntax|no such part"},
    {"{ (%0) = \"legacy.x\" () {} : () -> tensor<2xf32, lod=[[1]], lod=[[1]]> }",
     "1:64 text-syntax|given before"},
    {"{ (%0) = \"legacy.x\" () {} : () -> tensor<2xf32, 7> }", "1:49 text-syntax|a layout"},
    {"{ () = \"legacy.x\" () {} : () -> () {} else () }", "1:44 text-syntax|'{' is expected"},
    {"{ () = \"legacy.x\" () {} : () -> () { (%0) = \"legacy.y\" () {} : () -> f32 }\n() = "
     "\"legacy.z\" (%0) {} : (f32) -> () }",
     "2:18 text-syntax|does not enclose"},
    {"{ () = \"legacy.x\" () {} : () -> () { ^(%a: f32, %a: f32) } }",
     "1:49 text-syntax|%a is defined twice"},
    {"{ () = \"pd_op.nothing\" () {} : () -> () }",
     "1:8 ir-op-unknown|\"pd_op.nothing\" is not known"},
};

START_TEST(refuses)
{
    pdm_ir_module *module = NULL;
    char wanted[256];
    forms f;

    forms_init(&f);
    const pdm_status status =
        pdm_ir_parse(f.context, broken[_i].text, strlen(broken[_i].text), "test", &f.sink, &module);
    ck_assert_ptr_null(module);
    ck_assert_int_eq(status,
                     strstr(broken[_i].wanted, "unknown|") ? PDM_UNSUPPORTED : PDM_INVALID_MODEL);
    snprintf(wanted, sizeof wanted, "%s", broken[_i].wanted);
    char *bar = strchr(wanted, '|');
    *bar = '\0';
    ck_assert_msg(strncmp(f.said, wanted, strlen(wanted)) == 0 && strstr(f.said, bar + 1),
                  "%s: wanted %s...%s, got %s", broken[_i].text, wanted, bar + 1, f.said);
    ck_assert_uint_eq(f.sink.num_errors, 1);
    forms_deinit(&f);
}
END_TEST

/* All unknown ops are told; their results may be used. */
START_TEST(tells_all)
{
    static const char text[] = "{\n(%0) = \"a.one\" () {} : () -> f32\n() = \"legacy.x\" (%0) {} : "
                               "(f64) -> () {\n() = \"a.two\" (%0) {} : (f32) -> () } }";
    pdm_ir_module *module = NULL;
    forms f;

    forms_init(&f);
    ck_assert_int_eq(pdm_ir_parse(f.context, text, strlen(text), "test", &f.sink, &module),
                     PDM_UNSUPPORTED);
    ck_assert_msg(strstr(f.said, "2:8 ") && strstr(f.said, "4:6 ") && f.sink.num_errors == 2, "%s",
                  f.said);
    forms_deinit(&f);
}
END_TEST

/* Hand-written: a bare head, any names, comments, blanks. */
START_TEST(reads_by_hand)
{
    forms f;

    forms_init(&f);
    pdm_ir_module *module = forms_parse(
        &f, "// a comment\n{(%in)=\"legacy.a\"(){b : 1 , a : [ 1 , 2 ]}:()->tensor< 2 x f32 >// x\n"
            "()=\"legacy.b\"(%in,<<NULL VALUE>>){}:(tensor<2xf32>,<<NULL TYPE>>)->(){^(%x:f32)\n"
            "()=\"legacy.c\"(%x,%in){}:(f32,tensor<2xf32>)->()^()}else{}}");
    char *text = forms_text(module);
    ck_assert_str_eq(
        text,
        "pir version 4 trainable {\n"
        "    (%0) = \"legacy.a\" () {a:[1,2],b:1} : () -> tensor<2xf32>\n"
        "    () = \"legacy.b\" (%0, <<NULL VALUE>>) {} : (tensor<2xf32>, <<NULL TYPE>>) -> () {\n"
        "    ^(%arg_0: f32)\n"
        "        () = \"legacy.c\" (%arg_0, %0) {} : (f32, tensor<2xf32>) -> ()\n"
        "    ^()\n"
        "    } else {\n"
        "    }\n"
        "}\n");
    pdm_ir_module *again = forms_parse(&f, text);
    char *second = forms_text(again);
    ck_assert_str_eq(second, text);
    free(text);
    free(second);
    pdm_ir_module_destroy(module);
    pdm_ir_module_destroy(again);
    forms_deinit(&f);
}
END_TEST

static char *repeated(const char *before, const char *middle, const char *after, int count)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    for (int i = 0; i < count; i++)
        pdm_buf_puts(&buf, before);
    pdm_buf_puts(&buf, middle);
    for (int i = 0; i < count; i++)
        pdm_buf_puts(&buf, after);
    return pdm_buf_take(&buf);
}

/* Nesting is bounded: regions, attributes, types. */
START_TEST(nesting)
{
    static const struct {
        const char *head, *before, *middle, *after, *tail;
        int good, bad;
    } rows[] = {
        {"{", "() = \"legacy.x\" () {} : () -> () {", "", "}", "}", 256, 257},
        {"{() = \"legacy.x\" () {a:", "[", "1", "]", "} : () -> ()}", 99, 100},
        {"{(%0) = \"legacy.x\" () {} : () -> ", "vec[", "f32", "]", "}", 99, 100},
        {"{() = \"legacy.x\" () {a:", "[", "1", "]", "} : () -> ()}", 99, 100000},
    };
    pdm_ir_module *module = NULL;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int deep = 0; deep < 2; deep++) {
            char *part = repeated(rows[i].before, rows[i].middle, rows[i].after,
                                  deep ? rows[i].bad : rows[i].good);
            const size_t size = strlen(part) + 128;
            char *text = malloc(size);
            forms f;
            forms_init(&f);
            snprintf(text, size, "%s%s%s", rows[i].head, part, rows[i].tail);
            const pdm_status status =
                pdm_ir_parse(f.context, text, strlen(text), "test", &f.sink, &module);
            ck_assert_msg(status == (deep ? PDM_INVALID_MODEL : PDM_OK), "%zu %d: %s", i, deep,
                          f.said);
            if (deep)
                ck_assert_msg(strstr(f.said, "limit ") != NULL, "%s", f.said);
            else
                pdm_ir_module_destroy(module);
            free(part);
            free(text);
            forms_deinit(&f);
        }
    }
}
END_TEST

/* The printer survives programs that the verifier refuses: values used before they are defined. */
START_TEST(prints_broken_programs)
{
    forms f;

    forms_init(&f);
    pdm_ir_module *module = forms_parse(
        &f, "{(%0) = \"legacy.a\" () {} : () -> f32 (%1) = \"legacy.b\" (%0) {} : (f32) -> f32}");
    pdm_ir_op *first = module->block->first, *second = module->block->last;
    pdm_ir_op_detach(first);
    pdm_ir_op_insert_after(first, second);
    char *text = forms_text(module);
    ck_assert_msg(strstr(text, "<<UNKNOWN VALUE>>") != NULL, "%s", text);
    free(text);
    pdm_ir_module_destroy(module);
    forms_deinit(&f);
}
END_TEST

/* dot: a cluster a region, edges after all clusters, quotes escaped. */
START_TEST(draws)
{
    pdm_buf buf;
    forms f;

    forms_init(&f);
    pdm_ir_module *module =
        forms_parse(&f, "{(%0) = \"legacy.a\" () {name:\"x\\\"\\n\"} : () -> f32\n"
                        "(%1, %2) = \"legacy.b\" (%0) {} : (f32) -> f32, b {^(%x: f32)\n"
                        "() = \"legacy.c\" (%x, %0) {} : (f32, f32) -> ()}\n"
                        "() = \"legacy.d\" (%2) {} : (b) -> ()}");
    pdm_buf_init(&buf);
    pdm_ir_print_dot(module, &buf);
    ck_assert_str_eq(
        buf.data,
        "digraph pir {\n  node [shape=box, fontname=\"monospace\"];\n"
        "  n0 [label=\"legacy.a\\n\\\"x\\\"\\n\\\"\\nf32\", style=filled, fillcolor=lightgrey];\n"
        "  n1 [label=\"legacy.b\\nf32\\nb\"];\n"
        "  subgraph cluster_0 {\n    label=\"legacy.b, region 0\";\n"
        "    n2 [shape=ellipse, label=\"argument 0\\nf32\"];\n"
        "    n3 [label=\"legacy.c\"];\n  }\n"
        "  n4 [label=\"legacy.d\"];\n"
        "  n0 -> n1;\n  n2 -> n3 [label=\":0\"];\n  n0 -> n3 [label=\":1\"];\n  n1 -> n4 "
        "[label=\"1:0\"];\n}\n");
    pdm_buf_deinit(&buf);
    pdm_ir_module_destroy(module);
    forms_deinit(&f);
}
END_TEST

Suite *pdm_suite_text(void)
{
    Suite *suite = suite_create("text");
    TCase *tests = tcase_create("text");

    tcase_add_loop_test(tests, round_trips_samples, 0, NUM_SAMPLES);
    tcase_add_loop_test(tests, keeps_attrs, 0, (int)(sizeof attrs / sizeof attrs[0]));
    tcase_add_loop_test(tests, keeps_types, 0, (int)(sizeof types / sizeof types[0]));
    tcase_add_test(tests, keeps_names);
    tcase_add_loop_test(tests, refuses, 0, (int)(sizeof broken / sizeof broken[0]));
    tcase_add_test(tests, tells_all);
    tcase_add_test(tests, reads_by_hand);
    tcase_add_test(tests, nesting);
    tcase_add_test(tests, prints_broken_programs);
    tcase_add_test(tests, draws);
    suite_add_tcase(suite, tests);
    return suite;
}
