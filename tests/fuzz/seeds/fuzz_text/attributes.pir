{
  () = "legacy.attrs" () {
    null:null, yes:true, i32:7, i64:i64(7), index:index(7), f32:0.1, f64:f64(0.1), whole:2.0, inf:-inf, nan:f64(nan), c64:c64(1.0,-0.5),
    c128:c128(0.1,2.0), text:"a \"b\" \u8f93", name:tensor_name("x"), mixed:[1,i64(2),"x",[true]], i32s:[1,2], i64s:i64[1,2], f64s:f64[0.5,1.0],
    bools:[true,false], none:[], ints:ints[-1,4], type:type(vec[f32,<<NULL TYPE>>]), dtype:bfloat16, no_dtype:Undefined,
    layout:layout(NHWC), cpu:Place(cpu), gpu:Place(gpu:1), npu:Place(custom:0,"npu"), scalar:scalar<i64>(5), "odd name":1
  } : () -> ()
}
