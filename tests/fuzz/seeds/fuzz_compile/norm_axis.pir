pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[1,3]} : () -> tensor<1x3xf32>
    (%1) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p0"} : () -> tensor<3x5xf32>
    (%2) = "pd_op.data" () {dtype:bool,name:"x1",place:Place(undefined:0),shape:ints[3,5,5]} : () -> tensor<3x5x5xb>
    (%3) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p1"} : () -> tensor<1x1x5xf64>
    (%4) = "pd_op.data" () {dtype:float32,name:"x2",place:Place(undefined:0),shape:ints[3]} : () -> tensor<3xf32>
    (%5) = "pd_op.matmul" (%0, %1) {transpose_x:false,transpose_y:false} : (tensor<1x3xf32>, tensor<3x5xf32>) -> tensor<1x5xf32>
    (%6) = "pd_op.tanh" (%5) {} : (tensor<1x5xf32>) -> tensor<1x5xf32>
    (%7) = "pd_op.where" (%2, %3, %3) {} : (tensor<3x5x5xb>, tensor<1x1x5xf64>, tensor<1x1x5xf64>) -> tensor<3x5x5xf64>
    (%8) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(1.0)} : () -> tensor<1xf32>
    (%9) = "pd_op.scale" (%3, %8) {bias:scalar<f64>(0.0),bias_after_scale:false} : (tensor<1x1x5xf64>, tensor<1xf32>) -> tensor<1x1x5xf64>
    (%10) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(3.0)} : () -> tensor<1xf32>
    (%11) = "pd_op.scale" (%9, %10) {bias:scalar<f64>(0.0),bias_after_scale:true} : (tensor<1x1x5xf64>, tensor<1xf32>) -> tensor<1x1x5xf64>
    (%12, %13, %14) = "pd_op.layer_norm" (%0, %4, <<NULL VALUE>>) {begin_norm_axis:-1,epsilon:1e-05} : (tensor<1x3xf32>, tensor<3xf32>, <<NULL TYPE>>) -> tensor<1x3xf32>, tensor<1xf32>, tensor<1xf32>
    (%15) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0,1]} : () -> tensor<2xi64>
    (%16) = "pd_op.squeeze" (%3, %15) {} : (tensor<1x1x5xf64>, tensor<2xi64>) -> tensor<5xf64>
    (%17) = "pd_op.matmul" (%7, %7) {transpose_x:false,transpose_y:true} : (tensor<3x5x5xf64>, tensor<3x5x5xf64>) -> tensor<3x5x5xf64>
    (%18) = "pd_op.tanh" (%17) {} : (tensor<3x5x5xf64>) -> tensor<3x5x5xf64>
    (%19) = "pd_op.fetch" (%18) {col:0,name:"f0"} : (tensor<3x5x5xf64>) -> tensor<3x5x5xf64>
    (%20) = "pd_op.fetch" (%16) {col:1,name:"f1"} : (tensor<5xf64>) -> tensor<5xf64>
    (%21) = "pd_op.fetch" (%12) {col:2,name:"f2"} : (tensor<1x3xf32>) -> tensor<1x3xf32>
    (%22) = "pd_op.fetch" (%11) {col:3,name:"f3"} : (tensor<1x1x5xf64>) -> tensor<1x1x5xf64>
    (%23) = "pd_op.exp" (%6) {col:4,name:"f4"} : (tensor<1x5xf32>) -> tensor<1x5xf32>
}
