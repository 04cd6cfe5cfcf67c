#include "unit/ir/forms.h"

#include <math.h>

#include "ir/op_info.h"
#include "unit/ir/alloc.h"

Suite *pdm_suite_json_read(void);

/* A program around ops. %s: version, ops. */
static const char head[] = "{\"base_code\":{\"magic\":\"pir\",\"trainable\":true,\"version\":%d},"
                           "\"program\":{\"regions\":[{\"#\":"
                           "\"region_0\",\"blocks\":[{\"#\":\"block_0\",\"args\":[],\"ops\":[";
static const char tail[] = "]}]}]}}";

#define F32     "{\"#\":\"0.t_f32\"}"
#define T(dims) "{\"#\":\"0.t_dtensor\",\"D\":[" F32 "," dims ",\"NCHW\",[],0]}"
#define DATA(id)                                                                                   \
    "{\"#\":\"1.data\",\"A\":[{\"AT\":{\"#\":\"0.a_str\",\"D\":\"x\"},\"N\":\"name\"},"            \
    "{\"AT\":{\"#\":\"1.a_intarray\",\"D\":[2]},\"N\":\"shape\"},"                                 \
    "{\"AT\":{\"#\":\"1.a_dtype\",\"D\":\"float32\"},\"N\":\"dtype\"},"                            \
    "{\"AT\":{\"#\":\"1.a_place\",\"D\":[0,0,\"\"]},\"N\":\"place\"}],\"I\":[],"                   \
    "\"O\":[{\"%\":" id ",\"TT\":" T("[2]") "}],\"OA\":[]}"
#define RELU(in, out)                                                                              \
    "{\"#\":\"1.relu\",\"A\":[],\"I\":[{\"%\":" in "}],\"O\":[{\"%\":" out                         \
    ",\"TT\":" T("[2]") "}],\"OA\":[]}"
/* An op that takes any attributes: extra ones are kept. */
#define WITH(attrs) "{\"#\":\"0.group\",\"A\":[" attrs "],\"I\":[],\"O\":[],\"OA\":[]}"
#define ATTR(at)    WITH("{\"AT\":" at ",\"N\":\"a\"}")
#define RESULT(type)                                                                               \
    "{\"#\":\"0.group\",\"A\":[],\"I\":[],\"O\":[{\"%\":1,\"TT\":" type "}],\"OA\":[]}"

static char *program(const char *ops, int version)
{
    const size_t size = sizeof head + sizeof tail + strlen(ops) + 16;
    char *text = malloc(size);

    int n = snprintf(text, size, head, version);
    snprintf(text + n, size - (size_t)n, "%s%s", ops, tail);
    return text;
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* code: I invalid, U unsupported. Parts of the messages, all of which must be there, separated by
 * '|'. */
static const struct {
    char code;
    const char *text, *parts;
    bool whole; /* text is the file; else it is ops */
} broken[] = {
    {'I', "[]", "1:1 |an object is expected", true},
    {'I', "{}", "\"base_code\" is missing", true},
    {'I', "{\"base_code\":{}}", "1:14 |\"magic\" is missing", true},
    {'I', "{\"base_code\":{\"magic\":\"pir\"}}", "\"version\" is missing", true},
    {'I', "{\"base_code\":{\"magic\":\"onnx\",\"version\":1}}", "magic is \"onnx\"", true},
    {'I', "{\"base_code\":{\"magic\":\"pir\",\"version\":1.5}}", "version must be", true},
    {'I', "{\"base_code\":{\"magic\":\"pir\",\"version\":-1}}", "version must be", true},
    {'I', "{\"base_code\":{\"magic\":\"pir\",\"version\":1,\"trainable\":1}}",
     "\"trainable\" must be", true},
    {'I', "{\"base_code\":{\"magic\":\"pir\",\"version\":1}}", "\"program\" is missing", true},
    {'I', "{\"base_code\":{\"magic\":\"pir\",\"version\":1},\"base_code\":1}",
     "\"base_code\" occurs twice", true},
    {'I', "{\"base_code\":{\"magic\":\"pir\",\"version\":1},\"program\":{}}",
     "\"regions\" is missing", true},
    {'I', "{\"base_code\":{\"magic\":\"pir\",\"version\":1},\"program\":{\"regions\":[]}}",
     "one region, 0 found", true},
    {'I',
     "{\"base_code\":{\"magic\":\"pir\",\"version\":1},\"program\":{\"regions\":[{\"blocks\":[{},{}"
     "]}]}}",
     "one block, 2 found", true},
    {'I',
     "{\"base_code\":{\"magic\":\"pir\",\"version\":1},\"program\":{\"regions\":[{\"blocks\":[{"
     "\"args\":[]}]}]}}",
     "\"ops\" is missing", true},
    {'I',
     "{\"base_code\":{\"magic\":\"pir\",\"version\":1},\"program\":{\"regions\":[{\"blocks\":[{"
     "\"ops\":[]}]}]}}",
     "\"args\" is missing", true},
    {'I', "7", "an object is expected", false},
    {'I', "{\"A\":[],\"I\":[],\"O\":[]}", "\"#\" is missing", false},
    {'I', "{\"#\":\"1.relu\",\"I\":[],\"O\":[]}", "pd_op.relu|\"A\" is missing", false},
    {'I', "{\"#\":\"1.relu\",\"A\":[],\"O\":[]}", "\"I\" is missing", false},
    {'I', "{\"#\":\"1.relu\",\"A\":[],\"I\":[]}", "\"O\" is missing", false},
    {'I', "{\"#\":\"1.relu\",\"A\":[],\"I\":7,\"O\":[]}", "an array is expected", false},
    {'I', "{\"#\":\"1.relu\",\"A\":[],\"I\":[{}],\"O\":[]}", "operand 0|\"%\" is missing", false},
    {'I', "{\"#\":\"1.relu\",\"A\":[],\"I\":[{\"%\":\"x\"}],\"O\":[]}", "operand 0|64-bit integer",
     false},
    {'I', DATA("1") ",{\"#\":\"1.relu\",\"A\":[],\"I\":[],\"O\":[{\"%\":2,\"TT\":" T("[2]") "}]}",
     "1 operand wanted (x), 0 found", false},
    {'I', DATA("1") ",{\"#\":\"1.relu\",\"A\":[],\"I\":[{\"%\":1}],\"O\":[]}",
     "1 result wanted (out), 0 found", false},
    {'I', "{\"#\":\"1.select_input\",\"A\":[],\"I\":[],\"O\":[{\"%\":2,\"TT\":" T("[2]") "}]}",
     "at least 1 operand wanted (mask), 0 found", false},
    {'I', RELU("1", "2"), "operand 0|value %1 is not defined before its use", false},
    {'I', RELU("2", "2"), "value %2 is not defined", false},
    {'I', DATA("1") "," DATA("1"), "result 0|value %1 is defined twice", false},
    {'I', RESULT("{\"#\":\"0.t_f32\"}") "," RELU("99999999999999999999", "2"), "64-bit integer",
     false},
    {'I', "{\"#\":\"0.group\",\"A\":[],\"I\":[],\"O\":[{\"%\":0,\"TT\":" T("[2]") "}]}",
     "id 0 means", false},
    {'I',
     DATA("1") ",{\"#\":\"1.cast\",\"A\":[],\"I\":[{\"%\":1}],\"O\":[{\"%\":2,\"TT\":" T(
         "[2]") "}]}",
     "pd_op.cast|attribute \"dtype\" is missing", false},
    {'I', WITH("{\"AT\":{\"#\":\"NULL\"},\"N\":\"a\"},{\"AT\":{\"#\":\"NULL\"},\"N\":\"a\"}"),
     "\"a\" occurs twice", false},
    {'I', WITH("{\"N\":\"a\"}"), "\"AT\" is missing", false},
    {'I', WITH("{\"AT\":{\"#\":\"NULL\"}}"), "\"N\" is missing", false},
    {'U', "{\"#\":\"1.nothing\",\"A\":[],\"I\":[],\"O\":[]}",
     "ir-op-unknown|op \"pd_op.nothing\" is not known", false},
    {'U', "{\"#\":\"9.relu\",\"A\":[],\"I\":[],\"O\":[]}", "op \"9.relu\" is not known", false},
    {'U', "{\"#\":\"pd_op.relu\",\"A\":[],\"I\":[],\"O\":[]}", "op \"pd_op.relu\" is not known",
     false},
    {'U', "{\"#\":\"relu\",\"A\":[],\"I\":[],\"O\":[]}", "op \"relu\" is not known", false},
    {'U', "{\"#\":\"0.module\",\"A\":[],\"I\":[],\"O\":[]}", "op \"builtin.module\" is not known",
     false},
    {'U', ATTR("{\"#\":\"0.a_new\",\"D\":1}"),
     "builtin.group|a: |unknown attribute type \"0.a_new\"", false},
    {'U', ATTR("{\"#\":\"0.a_pointer\"}"), "unknown attribute type \"0.a_pointer\"", false},
    {'U', ATTR("{\"#\":\"0.a_array\",\"D\":[{\"#\":\"4.a_x\"}]}"), "\"4.a_x\"", false},
    {'I', ATTR("{\"D\":1}"), "\"#\" is missing", false},
    {'I', ATTR("{\"#\":\"0.a_bool\"}"), "\"D\" is missing", false},
    {'I', ATTR("{\"#\":\"0.a_bool\",\"D\":1}"), "true or false", false},
    {'I', ATTR("{\"#\":\"0.a_bool\",\"D\":true,\"D\":true}"), "\"D\" occurs twice", false},
    {'I', ATTR("{\"#\":\"0.a_i32\",\"D\":2147483648}"), "2147483648 is out of range", false},
    {'I', ATTR("{\"#\":\"0.a_i32\",\"D\":2.0}"), "integer is expected", false},
    {'I', ATTR("{\"#\":\"0.a_i64\",\"D\":9223372036854775808}"), "integer is expected", false},
    {'I', ATTR("{\"#\":\"0.a_i64\",\"D\":-9223372036854775809}"), "integer is expected", false},
    {'I', ATTR("{\"#\":\"0.a_i64\",\"D\":1e3}"), "integer is expected", false},
    {'I', ATTR("{\"#\":\"0.a_f64\",\"D\":1e400}"), "out of range", false},
    {'I', ATTR("{\"#\":\"0.a_f64\",\"D\":\"1\"}"), "a number is expected", false},
    {'I', ATTR("{\"#\":\"0.a_f32\",\"VD\":\"nonsense\"}"), "\"INF\", \"-INF\" or \"NAN\"", false},
    {'I', ATTR("{\"#\":\"0.a_str\",\"D\":1}"), "a string is expected", false},
    {'I', ATTR("{\"#\":\"0.a_c64\",\"D\":[1.0]}"), "1 items where 2", false},
    {'I', ATTR("{\"#\":\"1.a_place\",\"D\":[0,0]}"), "2 items where 3", false},
    {'U', ATTR("{\"#\":\"1.a_dtype\",\"D\":\"float12\"}"), "unknown element type \"float12\"",
     false},
    {'U', ATTR("{\"#\":\"1.a_layout\",\"D\":\"ABCD\"}"), "unknown layout \"ABCD\"", false},
    {'U', ATTR("{\"#\":\"1.a_scalar\",\"D\":[\"float16\",1.0]}"), "a scalar of type float16",
     false},
    {'I', ATTR("{\"#\":\"1.a_scalar\",\"D\":[\"complex64\",1.0]}"), "the scalar has 2 items",
     false},
    {'U', RESULT("{\"#\":\"0.t_new\"}"), "result 0|unknown type tag \"0.t_new\"", false},
    {'U', RESULT("{\"#\":\"0.t_undefined\"}"), "unknown type tag \"0.t_undefined\"", false},
    {'U', RESULT("{\"#\":\"0.t_vec\",\"D\":[{\"#\":\"4.t_x\"}]}"), "\"4.t_x\"", false},
    {'U', RESULT("{\"#\":\"0.t_dtensor\",\"D\":[{\"#\":\"0.t_f12\"},[],\"NCHW\",[],0]}"),
     "element type tag \"0.t_f12\"", false},
    {'U', RESULT("{\"#\":\"0.t_dtensor\",\"D\":[" F32 ",[],\"XYZ\",[],0]}"),
     "unknown layout \"XYZ\"", false},
    {'I', RESULT("{\"#\":\"0.t_dtensor\",\"D\":[" F32 ",[],\"NCHW\"]}"), "3 items where 5", false},
    {'I', RESULT("{\"#\":\"0.t_dtensor\"}"), "\"D\" is missing", false},
    {'I', RESULT("{\"#\":\"0.t_dtensor\",\"D\":[" F32 ",[1],\"NCHW\",[[0,-1]],0]}"),
     "-1 is out of range", false},
    {'I', "{\"#\":\"0.group\",\"A\":[],\"I\":[],\"O\":[{\"%\":1}]}", "\"TT\" is missing", false},
    {'I', "{\"#\":\"p\",\"A\":[0,1,0],\"O\":{\"%\":1,\"TT\":" T("[2]") "},\"OA\":[1,0,1]}",
     "3 items where 4", false},
    {'I', "{\"#\":\"p\",\"A\":[0,2,0,\"w\"],\"O\":{\"%\":1,\"TT\":" T("[2]") "},\"OA\":[1,0,1]}",
     "0 or 1 is expected", false},
    {'I', "{\"#\":\"p\",\"A\":[0,1,0,1],\"O\":{\"%\":1,\"TT\":" T("[2]") "},\"OA\":[1,0,1]}",
     "a string is expected", false},
    {'I', "{\"#\":\"p\",\"A\":[0,1,0,\"w\"],\"O\":[],\"OA\":[1,0,1]}", "an object is expected",
     false},
    {'I', "{\"#\":\"p\",\"A\":[0,1,0,\"w\"],\"OA\":[1,0,1]}", "\"O\" is missing", false},
    {'I',
     DATA("1") ",{\"#\":\"1.relu\",\"A\":[],\"I\":[{\"%\":1}],\"O\":[{\"%\":2,\"TT\":" T(
         "[2]") "}],\"regions\":[{\"blocks\":[]}]}",
     "pd_op.relu|this op has no regions", false},
    {'I',
     "{\"#\":\"0.group\",\"A\":[],\"I\":[],\"O\":[],\"regions\":[{\"blocks\":[{\"args\":[],\"ops\":"
     "[" DATA("5") "]}]}]}," RELU("5", "6"),
     "value %5 is defined in a region", false},
    {'U',
     "{\"#\":\"0.group\",\"A\":[],\"I\":[],\"O\":[],\"regions\":[{\"blocks\":[{\"args\":[],"
     "\"kwargs\":[{\"#\":-1}],\"ops\":[]}]}]}",
     "keyword arguments", false},
};

static void has_parts(const char *said, const char *parts)
{
    char copy[256], *save = NULL;

    snprintf(copy, sizeof copy, "%s", parts);
    for (char *part = strtok_r(copy, "|", &save); part; part = strtok_r(NULL, "|", &save))
        ck_assert_msg(strstr(said, part) != NULL, "wanted \"%s\" in: %s", part, said);
}

START_TEST(refuses)
{
    pdm_ir_module *module = NULL;
    char *text = broken[_i].whole ? strdup(broken[_i].text) : program(broken[_i].text, 4);
    forms f;

    forms_init(&f);
    const pdm_status status =
        pdm_ir_json_read(f.context, text, strlen(text), "test", &f.sink, &module, NULL);
    ck_assert_ptr_null(module);
    has_parts(f.said, broken[_i].parts);
    ck_assert_msg(status == (broken[_i].code == 'I' ? PDM_INVALID_MODEL : PDM_UNSUPPORTED),
                  "%d: %s", (int)status, f.said);
    ck_assert_msg(f.sink.num_errors == 1, "one message wanted: %s", f.said);
    free(text);
    forms_deinit(&f);
}
END_TEST

/* All unknown ops and tags are told, and what follows from them is not. */
START_TEST(tells_all)
{
    pdm_ir_module *module = NULL;
    char *text =
        program("{\"#\":\"1.one\",\"A\":[],\"I\":[],\"O\":[{\"%\":1,\"TT\":" T(
                    "[2]") "}],\"regions\":[{\"blocks\":[{\"args\":[],"
                           "\"ops\":[{\"#\":\"1.two\",\"A\":[],\"I\":[],\"O\":[]}]}]}]}"
                           "," RELU("1", "2") "," ATTR("{\"#\":\"0.a_x\"}") "," RELU(
                               "2", "3") "," RESULT("{\"#\":\"0.t_y\"}") "," RELU("4", "5"),
                4);
    forms f;

    forms_init(&f);
    ck_assert_int_eq(
        pdm_ir_json_read(f.context, text, strlen(text), "test", &f.sink, &module, NULL),
        PDM_UNSUPPORTED);
    has_parts(f.said, "pd_op.one|pd_op.two|0.a_x|0.t_y");
    ck_assert_msg(f.sink.num_errors == 4, "%s", f.said);
    free(text);
    forms_deinit(&f);
}
END_TEST

/* ---- attributes and types -------------------------------------------------------------------- */

/* Attributes and types that are written as they were read. */
static const char *const attrs[] = {
    "{\"#\":\"NULL\"}",
    "{\"#\":\"0.a_bool\",\"D\":true}",
    "{\"#\":\"0.a_i32\",\"D\":-2147483648}",
    "{\"#\":\"0.a_i64\",\"D\":9223372036854775807}",
    "{\"#\":\"0.a_i64\",\"D\":-9223372036854775808}",
    "{\"#\":\"0.a_i64\",\"D\":9007199254740993}",
    "{\"#\":\"0.a_index\",\"D\":9007199254740993}",
    "{\"#\":\"0.a_f32\",\"D\":0.10000000149011612}",
    "{\"#\":\"0.a_f32\",\"D\":3.4028234663852886e+38}",
    "{\"#\":\"0.a_f32\",\"D\":1.401298464324817e-45}",
    "{\"#\":\"0.a_f32\",\"VD\":\"INF\"}",
    "{\"#\":\"0.a_f32\",\"VD\":\"NAN\"}",
    "{\"#\":\"0.a_f64\",\"VD\":\"-INF\"}",
    "{\"#\":\"0.a_f64\",\"D\":-0.0}",
    "{\"#\":\"0.a_f64\",\"D\":0.1}",
    "{\"#\":\"0.a_f64\",\"D\":1e-05}",
    "{\"#\":\"0.a_f64\",\"D\":5e-324}",
    "{\"#\":\"0.a_f64\",\"D\":1.7976931348623157e+308}",
    "{\"#\":\"0.a_str\",\"D\":\"\\\"\\\\\\n\\u0001 /\xe8\xbe\x93\"}",
    "{\"#\":\"0.a_tensorname\",\"D\":\"t\"}",
    "{\"#\":\"0.a_c64\",\"D\":[0.5,-1.0]}",
    "{\"#\":\"0.a_c128\",\"D\":[0.1,-1.0]}",
    "{\"#\":\"0.a_array\",\"D\":[]}",
    "{\"#\":\"0.a_array\",\"D\":[{\"#\":\"0.a_i32\",\"D\":1},{\"#\":\"0.a_array\",\"D\":[{\"#\":"
    "\"0.a_bool\",\"D\":false}]},{\"#\":\"NULL\"}]}",
    "{\"#\":\"0.a_type\",\"D\":" T("[2,-1]") "}",
    "{\"#\":\"0.a_type\",\"D\":{\"#\":\"NULL\"}}",
    "{\"#\":\"1.a_intarray\",\"D\":[-1,9007199254740993]}",
    "{\"#\":\"1.a_dtype\",\"D\":\"bfloat16\"}",
    "{\"#\":\"1.a_dtype\",\"D\":\"float8_e5m2\"}",
    "{\"#\":\"1.a_dtype\",\"D\":\"uint32\"}",
    "{\"#\":\"1.a_dtype\",\"D\":\"Undefined(ALL_DTYPE)\"}",
    "{\"#\":\"1.a_layout\",\"D\":\"Undefined(AnyLayout)\"}",
    "{\"#\":\"1.a_place\",\"D\":[9,3,\"npu\"]}",
};

static const char *const types[] = {
    "{\"#\":\"NULL\"}",
    "{\"#\":\"0.t_bf16\"}",
    "{\"#\":\"0.t_index\"}",
    T("[]"),
    T("[-4,-9223372036854775808]"),
    "{\"#\":\"0.t_dtensor\",\"D\":[{\"#\":\"0.t_c128\"},[0,-1],\"NHWC\",[[0,2],[0,1,"
    "9007199254740993]],7]}",
    "{\"#\":\"0.t_vec\",\"D\":[]}",
    "{\"#\":\"0.t_vec\",\"D\":[" T(
        "[1]") ",{\"#\":\"NULL\"},{\"#\":\"0.t_vec\",\"D\":[{\"#\":\"0.t_i8\"}]}]}",
    "{\"#\":\"1.t_selected_rows\",\"D\":[" F32 ",[3],\"NCHW\",[],0]}",
    "{\"#\":\"1.t_dense_tensor_array\",\"D\":[{\"#\":\"0.t_i64\"},[2,2],\"NCHW\"]}",
    "{\"#\":\"1.t_sparse_coo_tensor\",\"D\":[" F32
    ",[3,4],[2],\"SPARSE_COO\"," T("[2,2]") "," T("[2]") "]}",
    "{\"#\":\"1.t_sparse_csr_tensor\",\"D\":[" F32
    ",[3,4],\"SPARSE_CSR\"," T("[4]") "," T("[2]") "," T("[2]") "]}",
    "{\"#\":\"2.t_stack\"}",
    "{\"#\":\"2.t_inlet\"}",
    "{\"#\":\"2.t_outlet\"}",
};

/* Read and written: the same; and by way of the text form as well. */
static void round_trip(const char *text)
{
    forms f;

    forms_init(&f);
    pdm_ir_module *module = forms_read(&f, text, strlen(text), NULL);
    char *json = forms_json(&f, module, 0), *printed = forms_text(module);
    ck_assert_str_eq(json, text);
    pdm_ir_module *parsed = forms_parse(&f, printed);
    char *again = forms_json(&f, parsed, 0);
    ck_assert_str_eq(again, text);
    pdm_ir_module_destroy(module);
    pdm_ir_module_destroy(parsed);
    free(json);
    free(printed);
    free(again);
    forms_deinit(&f);
}

START_TEST(keeps_attrs)
{
    char ops[1024], *text;

    snprintf(ops, sizeof ops,
             "{\"#\":\"0.group\",\"A\":[{\"AT\":%s,\"N\":\"a\"}],\"I\":[],\"O\":[],\"OA\":[]}",
             attrs[_i]);
    text = program(ops, 4);
    round_trip(text);
    free(text);
}
END_TEST

START_TEST(keeps_types)
{
    char ops[1024], *text;

    snprintf(ops, sizeof ops,
             "{\"#\":\"0.group\",\"A\":[],\"I\":[],\"O\":[{\"%%\":1,\"TT\":%s}],\"OA\":[]}",
             types[_i]);
    text = program(ops, 4);
    round_trip(text);
    free(text);
}
END_TEST

/* What is read in several spellings and written in one. */
START_TEST(normalises)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {ATTR("{\"D\":\"NaN\",\"VD\":\"NaN\",\"#\":\"0.a_f64\"}"),
         ATTR("{\"#\":\"0.a_f64\",\"VD\":\"NAN\"}")},
        {ATTR("{\"#\":\"0.a_f32\",\"VD\":\"odd\",\"D\":3}"), ATTR("{\"#\":\"0.a_f32\",\"D\":3.0}")},
        {ATTR("{\"#\":\"0.a_f32\",\"D\":1e39}"), ATTR("{\"#\":\"0.a_f32\",\"VD\":\"INF\"}")},
        {ATTR("{\"#\":\"0.a_f32\",\"D\":0.1}"),
         ATTR("{\"#\":\"0.a_f32\",\"D\":0.10000000149011612}")},
        {ATTR("{\"#\":\"1.a_scalar\",\"D\":[\"float32\",0.5]}"),
         ATTR("{\"#\":\"0.a_f32\",\"D\":0.5}")},
        {ATTR("{\"#\":\"1.a_scalar\",\"D\":[\"int64\",9007199254740993]}"),
         ATTR("{\"#\":\"0.a_i64\",\"D\":9007199254740993}")},
        {ATTR("{\"#\":\"1.a_scalar\",\"D\":[\"bool\",true]}"),
         ATTR("{\"#\":\"0.a_bool\",\"D\":true}")},
        {ATTR("{\"#\":\"1.a_scalar\",\"D\":[\"complex64\",1.0,2.0]}"),
         ATTR("{\"#\":\"0.a_c64\",\"D\":[1.0,2.0]}")},
        {ATTR("{\"\\u0023\":\"0.a_str\",\"D\":\"\\u8f93\\ud83d\\ude00\\/\"}"),
         ATTR("{\"#\":\"0.a_str\",\"D\":\"\xe8\xbe\x93\xf0\x9f\x98\x80/\"}")},
        {"{\"O\":[],\"later\":[{}],\"\\u0023\":\"0.g\\u0072oup\",\"I\":[],\"A\":[]}", WITH("")},
        {DATA("-77") "," RELU("-77", "1000000000000"), DATA("1") "," RELU("1", "2")},
        {"{\"#\":\"p\",\"A\":[false,true,true,\"w\"],\"O\":{\"%\":9,\"TT\":" T(
             "[2]") "},\"OA\":[true,false,true]}",
         "{\"#\":\"p\",\"A\":[0,1,1,\"w\"],\"DA\":[],\"O\":{\"%\":1,\"TT\":" T(
             "[2]") "},\"OA\":[1,0,1],\"QA\":[]}"},
        {"{\"#\":\"0.parameter\",\"A\":[{\"AT\":{\"#\":\"0.a_str\",\"D\":\"w\"},\"N\":\"parameter_"
         "name\"},"
         "{\"AT\":{\"#\":\"0.a_bool\",\"D\":true},\"N\":\"need_clip\"}],\"I\":[],\"O\":[{\"%\":9,"
         "\"TT\":" T("[2]") "}],"
                            "\"OA\":[{\"AT\":{\"#\":\"0.a_array\",\"D\":[{\"#\":\"0.a_bool\",\"D\":"
                            "true}]},\"N\":\"stop_gradient\"}]}",
         "{\"#\":\"p\",\"A\":[0,1,1,\"w\"],\"DA\":[],\"O\":{\"%\":1,\"TT\":" T(
             "[2]") "},\"OA\":[1,1,1],\"QA\":[]}"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *in = program(rows[i].in, 4), *out = program(rows[i].out, 4);
        forms f;
        forms_init(&f);
        pdm_ir_module *module = forms_read(&f, in, strlen(in), NULL);
        char *json = forms_json(&f, module, 0);
        ck_assert_str_eq(json, out);
        pdm_ir_module_destroy(module);
        free(json);
        free(in);
        free(out);
        forms_deinit(&f);
    }
}
END_TEST

START_TEST(keeps_param_extras)
{
    char *text = program(
        "{\"#\":\"p\",\"A\":[1,0,1,\"w\"],\"DA\":[{\"AT\":{\"#\":\"0.a_i32\",\"D\":2},\"N\":\"op_"
        "role\"}],\"O\":{\"%\":1,\"TT\":" T("[2]") "},\"OA\":[0,1,0],\"QA\":[{\"AT\":{\"#\":\"0.a_"
                                                   "str\",\"D\":\"s\"},\"N\":\"struct_name\"}]}",
        4);
    forms f;

    round_trip(text);
    forms_init(&f);
    pdm_ir_module *module = forms_read(&f, text, strlen(text), NULL);
    const pdm_ir_op *op = module->block->first;
    bool yes = true, no = false;
    ck_assert_str_eq(pdm_ir_op_name(op), "builtin.parameter");
    ck_assert_ptr_eq(pdm_ir_op_attr(op, "is_distributed"), pdm_ir_attr_bools(f.context, &yes, 1));
    ck_assert_ptr_eq(pdm_ir_op_attr(op, "is_parameter"), pdm_ir_attr_bools(f.context, &no, 1));
    ck_assert_ptr_eq(pdm_ir_op_attr(op, "persistable"), pdm_ir_attr_bools(f.context, &no, 1));
    ck_assert_ptr_eq(pdm_ir_op_attr(op, "stop_gradient"), pdm_ir_attr_bools(f.context, &yes, 1));
    ck_assert_ptr_eq(pdm_ir_op_attr(op, "trainable"), pdm_ir_attr_bools(f.context, &no, 1));
    ck_assert_ptr_eq(pdm_ir_op_attr(op, "parameter_name"), pdm_ir_attr_str(f.context, "w"));
    pdm_ir_module_destroy(module);
    free(text);
    forms_deinit(&f);
}
END_TEST

/* The order of attributes in the file is kept, also where it is not the row's. */
START_TEST(keeps_order)
{
    char *text =
        program("{\"#\":\"1.data\",\"A\":[{\"AT\":{\"#\":\"0.a_bool\",\"D\":true},\"N\":\"zz\"},"
                "{\"AT\":{\"#\":\"1.a_place\",\"D\":[0,0,\"\"]},\"N\":\"place\"},"
                "{\"AT\":{\"#\":\"1.a_dtype\",\"D\":\"float32\"},\"N\":\"dtype\"},"
                "{\"AT\":{\"#\":\"0.a_str\",\"D\":\"x\"},\"N\":\"name\"},{\"AT\":{\"#\":\"0.a_"
                "bool\",\"D\":true},\"N\":\"aa\"},"
                "{\"AT\":{\"#\":\"1.a_intarray\",\"D\":[2]},\"N\":\"shape\"}],\"I\":[],"
                "\"O\":[{\"%\":1,\"TT\":" T("[2]") "}],\"OA\":[]}",
                4);
    forms f;

    forms_init(&f);
    pdm_ir_module *module = forms_read(&f, text, strlen(text), NULL);
    char *json = forms_json(&f, module, 0);
    ck_assert_str_eq(json, text);
    pdm_ir_module_destroy(module);
    free(json);
    free(text);
    forms_deinit(&f);
}
END_TEST

START_TEST(recognises)
{
    static const struct {
        const char *text;
        bool json;
    } rows[] = {
        {"{}", true},
        {"\xef\xbb\xbf \n{\"a\":1}", true},
        {"[[[[", true},
        {"[ -1", true},
        {"{", true},
        {"{\n    \"base", true},
        {"", false},
        {" ", false},
        {"x", false},
        {"\"a\"", false},
        {"\n{\x08\x01", false},
        {"\n[\x08\x01", false},
        {"\n\n\x08", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(pdm_ir_json_looks_like(rows[i].text, strlen(rows[i].text)) == rows[i].json,
                      "row %zu", i);
}
END_TEST

/* ---- versions, nesting, memory --------------------------------------------------------------- */

START_TEST(versions)
{
    /* output_size came with version 3. */
    static const char op[] =
        DATA("1") "," DATA("2") ",{\"#\":\"1.repeat_interleave_with_tensor_index\",\"A\":["
                                "{\"AT\":{\"#\":\"0.a_i32\",\"D\":0},\"N\":\"axis\"}],\"I\":[{\"%"
                                "\":1},{\"%\":2}],\"O\":[{\"%\":3,\"TT\":" T("[2]") "}],\"OA\":[]}";
    pdm_ir_module *module = NULL;
    forms f;

    for (int version = 1; version <= 4; version++) {
        char *text = program(op, version);
        forms_init(&f);
        const pdm_status status =
            pdm_ir_json_read(f.context, text, strlen(text), "test", &f.sink, &module, NULL);
        ck_assert_msg(status == (version < 3 ? PDM_OK : PDM_INVALID_MODEL), "%d: %s", version,
                      f.said);
        if (status == PDM_OK) {
            ck_assert_int_eq(module->version, version);
            pdm_ir_module_destroy(module);
        }
        free(text);
        forms_deinit(&f);
    }
    char *text = program("", 99);
    forms_init(&f);
    module = forms_read(&f, text, strlen(text), NULL);
    has_parts(f.said, "json-version|99|4");
    ck_assert_uint_eq(f.sink.num_warnings, 1);
    ck_assert_int_eq(module->version, 99);
    pdm_ir_module_destroy(module);
    free(text);
    forms_deinit(&f);
}
END_TEST

/* depth groups inside of each other. */
static char *nested(int depth)
{
    static const char open[] = "{\"#\":\"0.group\",\"A\":[],\"I\":[],\"O\":[],\"OA\":[],"
                               "\"regions\":[{\"#\":\"region_%d\",\"blocks\":[{\"#\":"
                               "\"block_%d\",\"args\":[],\"ops\":[";
    pdm_buf buf;

    pdm_buf_init(&buf);
    for (int i = 1; i <= depth; i++)
        pdm_buf_printf(&buf, open, i, i);
    for (int i = 1; i <= depth; i++)
        pdm_buf_puts(&buf, "]}]}]}");
    char *ops = pdm_buf_take(&buf), *text = program(ops, 4);
    free(ops);
    return text;
}

START_TEST(nesting)
{
    pdm_ir_module *module = NULL;
    char *text = nested(256);
    forms f;

    round_trip(text);
    free(text);
    text = nested(257);
    forms_init(&f);
    ck_assert_int_eq(
        pdm_ir_json_read(f.context, text, strlen(text), "test", &f.sink, &module, NULL),
        PDM_INVALID_MODEL);
    has_parts(f.said, "limit|regions are nested more than 256 deep");
    free(text);
    forms_deinit(&f);
}
END_TEST

/* Arrays inside of each other, in one attribute. */
static char *deep_attr(int depth)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_buf_puts(&buf, "{\"#\":\"0.group\",\"A\":[{\"AT\":");
    for (int i = 0; i < depth; i++)
        pdm_buf_puts(&buf, "{\"#\":\"0.a_array\",\"D\":[");
    pdm_buf_puts(&buf, "{\"#\":\"NULL\"}");
    for (int i = 0; i < depth; i++)
        pdm_buf_puts(&buf, "]}");
    pdm_buf_puts(&buf, ",\"N\":\"a\"}],\"I\":[],\"O\":[],\"OA\":[]}");
    char *ops = pdm_buf_take(&buf), *text = program(ops, 4);
    free(ops);
    return text;
}

START_TEST(attr_nesting)
{
    pdm_ir_module *module = NULL;
    char *text = deep_attr(99);
    forms f;

    round_trip(text);
    free(text);
    for (int depth = 100; depth <= 900; depth += 400) {
        text = deep_attr(depth);
        forms_init(&f);
        ck_assert_int_eq(
            pdm_ir_json_read(f.context, text, strlen(text), "test", &f.sink, &module, NULL),
            PDM_INVALID_MODEL);
        has_parts(f.said, "limit|nested more than");
        free(text);
        forms_deinit(&f);
    }
}
END_TEST

/* Each allocation of the library fails once (cJSON's own are out of reach here): a clean status, no
 * leak. */
START_TEST(out_of_memory)
{
    size_t size;
    char *data = forms_sample("cond.json", &size);
    uint64_t failed = 0;
    bool done = false;

    for (uint64_t n = 1; !done; n++) {
        pdm_ir_module *module = NULL;
        pdm_ir_context *context = NULL;
        pdm_buf json, text;
        const int64_t live = alloc_live;
        pdm_buf_init(&json);
        pdm_buf_init(&text);
        alloc_fail = alloc_count + n;
        pdm_status status = pdm_ir_context_create(&context);
        if (status == PDM_OK)
            status = pdm_ir_json_read(context, data, size, "test", NULL, &module, NULL);
        if (status == PDM_OK)
            status = pdm_ir_json_print(module, NULL, &json, NULL);
        if (status == PDM_OK) {
            pdm_ir_print(module, &text);
            status = pdm_buf_ok(&text) ? PDM_OK : PDM_NOMEM;
        }
        if (module)
            pdm_ir_module_destroy(module);
        module = NULL;
        if (status == PDM_OK)
            status = pdm_ir_parse(context, text.data, text.size, "test", NULL, &module);
        done = alloc_count < alloc_fail;
        alloc_fail = 0;
        failed += !done;
        if (module)
            pdm_ir_module_destroy(module);
        pdm_buf_deinit(&json);
        pdm_buf_deinit(&text);
        if (context)
            pdm_ir_context_destroy(context);
        const int64_t left = alloc_live - live; /* asked before Check allocates */
        ck_assert_int_eq(left, 0);
        ck_assert_int_eq(status, done ? PDM_OK : PDM_NOMEM);
    }
    ck_assert_uint_gt(failed, 50);
    free(data);
}
END_TEST

Suite *pdm_suite_json_read(void)
{
    Suite *suite = suite_create("json_read");
    TCase *tests = tcase_create("json_read");

    tcase_add_loop_test(tests, refuses, 0, (int)(sizeof broken / sizeof broken[0]));
    tcase_add_test(tests, tells_all);
    tcase_add_loop_test(tests, keeps_attrs, 0, (int)(sizeof attrs / sizeof attrs[0]));
    tcase_add_loop_test(tests, keeps_types, 0, (int)(sizeof types / sizeof types[0]));
    tcase_add_test(tests, normalises);
    tcase_add_test(tests, keeps_param_extras);
    tcase_add_test(tests, keeps_order);
    tcase_add_test(tests, recognises);
    tcase_add_test(tests, versions);
    tcase_add_test(tests, nesting);
    tcase_add_test(tests, attr_nesting);
    tcase_add_test(tests, out_of_memory);
    suite_add_tcase(suite, tests);
    return suite;
}
