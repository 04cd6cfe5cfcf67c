#include <check.h>
#include <stdio.h>

#include "unit/tr/support.h"

Suite *pdm_suite_tr_special(void);

static void expect(const char *program, const char *ops, const char *part)
{
    lgtr_expect(&(lgtr_case){.program = program}, ops, part);
}

START_TEST(broadcast_follows_axis)
{
    expect("var x float32 2 3 4 5 in\nvar y float32 3 4 in\nvar o float32 2 3 4 5\n"
           "op elementwise_pow X=x Y=y > Out=o | axis=1",
           "full_int_array reshape elementwise_pow", "value:i64[1,3,4,1]");
    expect("var x float32 2 3 4 5 in\nvar y float32 -1 4 in\nvar o float32 2 3 4 5\n"
           "op elementwise_add X=x Y=y > Out=o | axis=1",
           "shape64 full_int_array combine full concat reshape add", "value:i64[1]");
    expect("var x float32 4 5 in\nvar y float32 4 5 in\nvar o float32 4 5\n"
           "op elementwise_add X=x Y=y > Out=o | axis=0",
           "add", NULL);
    /* the shorter operand may be X; trailing ones that stick out are cut */
    expect("var x float32 3 4 in\nvar y float32 2 3 4 5 in\nvar o float32 2 3 4 5\n"
           "op less_than X=x Y=y > Out=o | axis=1",
           "full_int_array reshape less_than", "value:i64[1,3,4,1]");
    expect("var x float32 2 3 in\nvar y float32 3 1 in\nvar o float32 2 3\n"
           "op elementwise_sub X=x Y=y > Out=o | axis=1",
           "full_int_array squeeze subtract", "value:i64[1]");
    lgtr_expect_error(&(lgtr_case){.program =
                                       "var x float32 2 3 in\nvar y float32 3 in\nvar o float32\n"
                                       "op elementwise_sub X=x Y=y > Out=o | axis=5"},
                      PDM_INVALID_MODEL, "axis 5");
}
END_TEST

START_TEST(in_place_only_where_the_output_is_overwritten)
{
    expect("var x float32 3 in\nvar y float32 3 in\nop elementwise_add X=x Y=y > Out=x | axis=-1\n"
           "var o float32 3\nop scale X=x > Out=o | scale=2.0",
           "add_ full scale", NULL);
    expect("var x float32 3 in\nvar y float32 3 in\nop elementwise_add X=x Y=y > Out=y | axis=-1\n"
           "var o float32 3\nop scale X=y > Out=o | scale=2.0",
           "add full scale", NULL);
    expect("var x float32 3 in\nvar o float32 3\nop scale X=x > Out=o | scale=2.0\n"
           "op assign X=x > Out=o",
           "full scale assign_out_", NULL);
}
END_TEST

START_TEST(products)
{
    expect("var x float32 2 3 4 in\nvar y float32 12 5 in\nvar o float32 2 5\n"
           "op mul X=x Y=y > Out=o | x_num_col_dims=1 y_num_col_dims=1",
           "full_int_array reshape full_int_array reshape matmul full_int_array reshape",
           "value:i64[2,12]");
    expect("var x float32 -1 -1 4 in\nvar y float32 4 5 in\nvar o float32 -1 -1 5\n"
           "op mul X=x Y=y > Out=o | x_num_col_dims=2 y_num_col_dims=1",
           "matmul", "tensor<-1x-1x5xf32>");
    expect("var x float32 -1 -1 -1 in\nvar y float32 -1 -1 in\nvar o float32 -1 -1 -1\n"
           "op mul X=x Y=y > Out=o | x_num_col_dims=1 y_num_col_dims=1",
           "flatten flatten flatten flatten matmul shape64 full_int_array full_int_array slice "
           "shape64 full_int_array full_int_array slice combine full concat reshape",
           NULL);
    expect("var x float32 2 3 in\nvar y float32 3 4 in\nvar o float32 2 4\n"
           "op matmul X=x Y=y > Out=o | alpha=0.5",
           "matmul full scale", "value:f64(0.5)");
    lgtr_expect_error(&(lgtr_case){.program =
                                       "var x float32 2 3 in\nvar y float32 3 4 in\nvar o float32\n"
                                       "op mul X=x Y=y > Out=o | x_num_col_dims=2"},
                      PDM_INVALID_MODEL, "x_num_col_dims");
}
END_TEST

START_TEST(reduce_all_wins_over_dim)
{
    expect("var x float32 2 3 in\nvar o float32\n"
           "op reduce_sum X=x > Out=o | dim=[0] reduce_all=true",
           "full_int_array sum", "value:[]");
    expect("var x float32 2 3 in\nvar o float32\n"
           "op reduce_max X=x > Out=o | dim=[0,1] reduce_all=true",
           "full_int_array max", "value:i64[0,1]");
    expect("var x bool 2 3 in\nvar o bool\nop reduce_any X=x > Out=o | dim=[0] reduce_all=true",
           "any", "axis:[]");
}
END_TEST

START_TEST(constants)
{
    expect("var o int64 2\nop fill_constant > Out=o | shape=[2L] dtype=3 value=0.0 "
           "str_value=\"9007199254740993\"",
           "full", "value:f64(9.007199254740992e+15)");
    expect("var o int64 2\nop fill_constant > Out=o | shape=[2L] dtype=3 value=0.0 "
           "str_value=\"9223372036854775807\"",
           "full", "value:i64(9223372036854775807)");
    expect("var o float32 2\nop fill_constant > Out=o | shape=[2L] dtype=5 value=0.0 "
           "str_value=\"-inf\"",
           "full", "value:f64(-inf)");
    expect("var o float32 2\nop fill_constant > Out=o | shape=[2L] dtype=5 value=2.5 "
           "str_value=\"2.5\"",
           "full", "value:2.5");
    expect("var a int32 1 in\nvar b int32 1 in\nvar o float64 -1 -1\n"
           "op fill_constant ShapeTensorList=a,b > Out=o | shape=[-1L,-1L] dtype=6 value=0.0 "
           "str_value=\"0.1\"",
           "full combine stack full_with_tensor", "value:f64(0.1)");
    expect("var o float64 2\nop assign_value > Out=o | shape=[2] dtype=6 values=#[0.5,1.5]",
           "assign_value", "values:f64[0.5,1.5]");
    lgtr_expect_error(
        &(lgtr_case){.program = "var o float32\nop fill_constant > Out=o | shape=[1L] dtype=-1"},
        PDM_INVALID_MODEL, "dtype");
}
END_TEST

START_TEST(set_value_by_op_version)
{
    const char *program =
        "var x float32 4 5 in\nvar o float32 4 5\n"
        "op set_value Input=x > Out=o | dtype=5 axes=[0L] starts=[1L] ends=[3L] steps=[1L] "
        "decrease_axes=[] none_axes=[] shape=[1L] fp32_values=[2.5] values=#[7.5]";
    const char *ops = "full_int_array full_int_array full_int_array set_value";
    lgtr_expect(&(lgtr_case){.program = program}, ops, "values:[2.5]");
    lgtr_expect(&(lgtr_case){.program = program, .versioned = "set_value", .op_version = 3}, ops,
                "values:[2.5]");
    lgtr_expect(&(lgtr_case){.program = program, .versioned = "set_value", .op_version = 4}, ops,
                "values:f64[7.5]");
}
END_TEST

START_TEST(attributes_that_pir_does_not_have)
{
    const char *relu6 = "var x float32 4 in\nvar o float32 4\nop relu6 X=x > Out=o | threshold=3.0";
    lgtr_expect(&(lgtr_case){.program = relu6}, "full full clip", "value:f64(3.0)");
    lgtr_expect(&(lgtr_case){.program = relu6, .version = 2006002}, "relu6", NULL);
    expect("var x float32 4 in\nvar o float32 4\nop swish X=x > Out=o | beta=2.0",
           "full scale sigmoid multiply", NULL);
    expect("var x int64 4 in\nvar o int64 4 3\nop one_hot_v2 X=x > Out=o | depth=3 dtype=3",
           "full one_hot cast", NULL);
    expect("var x int64 4 in\nvar o float32 4 3\n"
           "op one_hot_v2 X=x > Out=o | depth=3 dtype=5 allow_out_of_range=true",
           "full full full arange full_int_array unsqueeze equal cast", NULL);
    expect("var x float32 4 5 in\nvar o float32 5\nop strided_slice Input=x > Out=o | axes=[0] "
           "starts=[1] ends=[2] "
           "strides=[1] decrease_axis=[0]",
           "full_int_array full_int_array full_int_array strided_slice full_int_array squeeze",
           "tensor<5xf32>");
    expect("var x float32 4 in\nvar o float32 4\nop round X=x > Out=o |",
           "trunc subtract full scale trunc add isfinite where", NULL);
    expect("var x float32 4 in\nvar o float32 4\nop round X=x > Out=o | decimals=0", "round", NULL);
    expect("var x float32 4 in\nvar f float32 1 in\nvar o float32 4\nop pow X=x FactorTensor=f > "
           "Out=o |",
           "elementwise_pow", NULL);
}
END_TEST

START_TEST(quantization)
{
    const char *program =
        "var x int8 3 4 in\nvar s float32 3 in\nvar z float32 3 in\nvar o float32 3 4\n"
        "op dequantize_linear X=x Scale=s ZeroPoint=z > Y=o | quant_axis=0 bit_length=8";
    lgtr_expect(&(lgtr_case){.program = program},
                "cast full_int_array reshape multiply full divide", "value:i64[3,1]");
    lgtr_expect(&(lgtr_case){.program = program, .keep_quant_ops = true}, "dequantize_linear",
                NULL);
    expect("var x float32 3 4 in\nvar s float32 1 in\nvar z float32 1 in\nvar o float32 3 4\n"
           "op quantize_linear X=x Scale=s ZeroPoint=z > Y=o | quant_axis=-1 bit_length=4",
           "quantize_linear", "qmax:7,qmin:-8");
}
END_TEST

START_TEST(arrays)
{
    const char *setup = "var x float32 2 3 in\nvar y float32 2 5 in\nvar i int64 1\nvar j int64 1\n"
                        "var a float32 2 3 array\nvar o float32 2 8\nvar k int32\n"
                        "op fill_constant > Out=i | shape=[1L] dtype=3 value=0.0\n"
                        "op fill_constant > Out=j | shape=[1L] dtype=3 value=1.0\n"
                        "op write_to_array X=x I=i > Out=a\nop write_to_array X=y I=j > Out=a\n";
    char text[1024];
    snprintf(text, sizeof text,
             "%sop tensor_array_to_tensor X=a > Out=o OutIndex=k | axis=1 use_stack=false", setup);
    expect(
        text,
        "full full create_array array_write_ array_write_ combine full concat shape64 "
        "full_int_array "
        "full_int_array slice shape64 full_int_array full_int_array slice combine full concat cast",
        "tensor<2x8xf32>");
    snprintf(text, sizeof text,
             "%sop tensor_array_to_tensor X=a > Out=o OutIndex=k | axis=0 use_stack=true", setup);
    expect(text, "full full create_array array_write_ array_write_ array_to_tensor", NULL);
    snprintf(text, sizeof text, "%sop lod_array_length X=a > Out=o", setup);
    expect(text, "full full create_array array_write_ array_write_ array_length", NULL);
}
END_TEST

START_TEST(splits)
{
    expect("var x float32 2 6 in\nvar o float32\nvar b float32\nvar c float32\n"
           "op split X=x > Out=o,b,c | num=0 sections=[1,-1,2] axis=1",
           "full_int_array full split slice",
           "vec[tensor<2x1xf32>,tensor<2x3xf32>,tensor<2x2xf32>]");
    expect("var x float32 6 2 in\nvar o float32\nvar b float32\nop split X=x > Out=o,b | num=2 "
           "axis=-2",
           "full split_with_num slice", "vec[tensor<3x2xf32>,tensor<3x2xf32>]");
}
END_TEST

START_TEST(other_forms)
{
    expect("var w float32 5 3 in\nvar i int64 4 1 in\nvar o float32 4 3\nop lookup_table W=w Ids=i "
           "> Out=o |",
           "embedding full_int_array squeeze", "tensor<4x3xf32>");
    expect(
        "var x float32 3 4 in\nvar o float32 3 4\nop tril_triu X=x > Out=o | lower=true diagonal=1",
        "tril", "diagonal:1");
    expect("var x float32 3 4 in\nvar i int32 2 in\nvar o float32\nop gather X=x Index=i > Out=o |",
           "full gather", "dtype:int64");
    expect(
        "var x int64 5 in\nvar o int64 -1\nvar i int32 5\nop unique X=x > Out=o Index=i | dtype=2",
        "unique argsort argsort full gather full gather cast", "is_sorted:true");
    expect("var x float32 6 2 in\nvar o float32 6 2\nop lod_reset X=x > Out=o | target_lod=[0,2,6]",
           "assign_value lod_reset", "target_lod:[0,2,6]");
    lgtr_expect_error(&(lgtr_case){.program =
                                       "var x float32 2 2 in\nvar y float32 2 2 in\nvar o float32\n"
                                       "op matmul X=x Y=y > Out=o | head_number=2"},
                      PDM_UNSUPPORTED, "head_number");
}
END_TEST

/* Its readers add no errors of their own, which would make the program look broken. */
START_TEST(only_tensors_are_inputs)
{
    lgtr_result result;

    lgtr_run(&(lgtr_case){.program = "var feed float32\nvar x float32 raw in\nvar o float32 2\n"
                                     "op feed X=feed > Out=x | col=0\nop relu X=x > Out=o |\n"
                                     "op relu X=x > Out=o |"},
             &result);
    ck_assert_int_eq(result.status, PDM_UNSUPPORTED);
    ck_assert_msg(strstr(result.log.data, "only dense tensors can be inputs"), "%s",
                  result.log.data);
    ck_assert_msg(strchr(result.log.data, '\n') == strrchr(result.log.data, '\n'), "%s",
                  result.log.data);
    lgtr_free(&result);
}
END_TEST

Suite *pdm_suite_tr_special(void)
{
    Suite *s = suite_create("tr_special");
    TCase *c = tcase_create("special");
    tcase_add_test(c, broadcast_follows_axis);
    tcase_add_test(c, in_place_only_where_the_output_is_overwritten);
    tcase_add_test(c, products);
    tcase_add_test(c, reduce_all_wins_over_dim);
    tcase_add_test(c, constants);
    tcase_add_test(c, set_value_by_op_version);
    tcase_add_test(c, attributes_that_pir_does_not_have);
    tcase_add_test(c, quantization);
    tcase_add_test(c, arrays);
    tcase_add_test(c, splits);
    tcase_add_test(c, other_forms);
    tcase_add_test(c, only_tensors_are_inputs);
    suite_add_tcase(s, c);
    return s;
}
