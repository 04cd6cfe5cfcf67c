pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:int32,name:"x0",place:Place(undefined:0),shape:ints[4,2]} : () -> tensor<4x2xi32>
    (%1) = "pd_op.data" () {dtype:int32,name:"x1",place:Place(undefined:0),shape:ints[4]} : () -> tensor<4xi32>
    (%2) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p0"} : () -> tensor<0x0xf32>
    (%3) = "pd_op.data" () {dtype:float64,name:"x2",place:Place(undefined:0),shape:ints[3,7,2]} : () -> tensor<3x7x2xf64>
    (%4) = "pd_op.data" () {dtype:float64,name:"x3",place:Place(undefined:0),shape:ints[7]} : () -> tensor<7xf64>
    (%5) = "pd_op.data" () {dtype:float64,name:"x4",place:Place(undefined:0),shape:ints[7]} : () -> tensor<7xf64>
    (%6) = "pd_op.data" () {dtype:int64,name:"x5",place:Place(undefined:0),shape:ints[1]} : () -> tensor<1xi64>
    (%7) = "pd_op.full" () {dtype:int32,place:Place(cpu),shape:ints[1],value:scalar<f64>(1.0)} : () -> tensor<1xi32>
    (%8) = "pd_op.gather" (%0, %1, %7) {} : (tensor<4x2xi32>, tensor<4xi32>, tensor<1xi32>) -> tensor<4x4xi32>
    (%9) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(-1.0)} : () -> tensor<1xf32>
    (%10) = "pd_op.scale" (%0, %9) {bias:scalar<f64>(1.0),bias_after_scale:true} : (tensor<4x2xi32>, tensor<1xf32>) -> tensor<4x2xi32>
    (%11, %12, %13) = "pd_op.layer_norm" (%2, <<NULL VALUE>>, <<NULL VALUE>>) {begin_norm_axis:1,epsilon:0.001} : (tensor<0x0xf32>, <<NULL TYPE>>, <<NULL TYPE>>) -> tensor<0x0xf32>, tensor<0xf32>, tensor<0xf32>
    (%14) = "pd_op.square" (%10) {} : (tensor<4x2xi32>) -> tensor<4x2xi32>
    (%15) = "pd_op.full" () {dtype:int32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.0)} : () -> tensor<1xi32>
    (%16) = "pd_op.pad" (%0, %15) {paddings:[0,0,0,0]} : (tensor<4x2xi32>, tensor<1xi32>) -> tensor<4x2xi32>
    (%17) = "builtin.combine" (%16, %14) {} : (tensor<4x2xi32>, tensor<4x2xi32>) -> vec[tensor<4x2xi32>,tensor<4x2xi32>]
    (%18) = "builtin.slice" (%17) {index:1} : (vec[tensor<4x2xi32>,tensor<4x2xi32>]) -> tensor<4x2xi32>
    (%19) = "pd_op.full" () {dtype:int32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.0)} : () -> tensor<1xi32>
    (%20) = "pd_op.concat" (%17, %19) {} : (vec[tensor<4x2xi32>,tensor<4x2xi32>], tensor<1xi32>) -> tensor<8x2xi32>
    (%21, %22, %23) = "pd_op.group_norm" (%3, %4, %5) {data_format:"NCHW",epsilon:f64(1e-05),groups:7} : (tensor<3x7x2xf64>, tensor<7xf64>, tensor<7xf64>) -> tensor<3x7x2xf64>, tensor<3x7xf64>, tensor<3x7xf64>
    (%24) = "pd_op.full" () {dtype:int64,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.0)} : () -> tensor<1xi64>
    (%25) = "pd_op.less_than" (%24, %6) {} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xb>
    (%26) = "pd_op.tanh" (%5) {} : (tensor<7xf64>) -> tensor<7xf64>
    (%27) = "pd_op.tanh" (%21) {} : (tensor<3x7x2xf64>) -> tensor<3x7x2xf64>
    (%28, %29, %30) = "pd_op.while" (%25, %24, %26, %27) {} : (tensor<1xb>, tensor<1xi64>, tensor<7xf64>, tensor<3x7x2xf64>) -> tensor<1xi64>, tensor<7xf64>, tensor<3x7x2xf64> {
    ^(%arg_0: tensor<1xi64>, %arg_1: tensor<7xf64>, %arg_2: tensor<3x7x2xf64>)
        (%31) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.25)} : () -> tensor<1xf32>
        (%32, %33) = "pd_op.dropout" (%4, <<NULL VALUE>>, %31) {fix_seed:false,is_test:true,mode:"upscale_in_train",seed:0} : (tensor<7xf64>, <<NULL TYPE>>, tensor<1xf32>) -> tensor<7xf64>, tensor<7xu8>
        (%34) = "pd_op.relu" (%arg_2) {} : (tensor<3x7x2xf64>) -> tensor<3x7x2xf64>
        (%35) = "pd_op.full" () {dtype:int64,place:Place(cpu),shape:ints[1],value:scalar<f64>(1.0)} : () -> tensor<1xi64>
        (%36) = "pd_op.add" (%arg_0, %35) {} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
        (%37) = "pd_op.less_than" (%36, %6) {} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xb>
        () = "cf.yield" (%37, %36, %32, %34) {} : (tensor<1xb>, tensor<1xi64>, tensor<7xf64>, tensor<3x7x2xf64>) -> ()
    }
    (%38) = "pd_op.fetch" (%30) {col:0,name:"f0"} : (tensor<3x7x2xf64>) -> tensor<3x7x2xf64>
    (%39) = "pd_op.fetch" (%29) {col:1,name:"f1"} : (tensor<7xf64>) -> tensor<7xf64>
    (%40) = "pd_op.fetch" (%20) {col:2,name:"f2"} : (tensor<8x2xi32>) -> tensor<8x2xi32>
    (%41) = "pd_op.fetch" (%18) {col:3,name:"f3"} : (tensor<4x2xi32>) -> tensor<4x2xi32>
    (%42) = "pd_op.fetch" (%16) {col:4,name:"f4"} : (tensor<4x2xi32>) -> tensor<4x2xi32>
    (%43) = "pd_op.fetch" (%11) {col:5,name:"f5"} : (tensor<0x0xf32>) -> tensor<0x0xf32>
    (%44) = "pd_op.fetch" (%8) {col:6,name:"f6"} : (tensor<4x4xi32>) -> tensor<4x4xi32>
}
