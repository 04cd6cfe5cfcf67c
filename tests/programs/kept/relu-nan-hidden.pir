// relu of NaN behind a function whose operand other liberties move far
// data x0 set 0 = float32 2x3x2: nan 9.9999461011147596e-41 -0.8232421875 1.203125 4 1.3505859375 -0.55859375 inf 0.392578125 inf -3.0000000054977558e+38 -0.2802734375
// data r2 set 0 = float32 1x1: 0
// data r11 set 0 = float32 2x3x2: -9.2233720368547758e+18 -4 -5 -1 4 -1 -5 -9.2233720368547758e+18 -3 -9.2233720368547758e+18 -9.2233720368547758e+18 -4
// parameter p5 = float32 2x1: 1.0341796875 0.9287109375
// parameter p6 = float32 1: 1.8447265625
// parameter p13 = float32 1x1: 0
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"r11",place:Place(undefined:0),shape:ints[2,3,2]} : () -> tensor<2x3x2xf32>
    (%1) = "pd_op.data" () {dtype:float32,name:"r2",place:Place(undefined:0),shape:ints[1,1]} : () -> tensor<1x1xf32>
    (%2) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[2,3,2]} : () -> tensor<2x3x2xf32>
    (%3) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p5"} : () -> tensor<2x1xf32>
    (%4) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p6"} : () -> tensor<1xf32>
    (%5) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p13"} : () -> tensor<1x1xf32>
    (%6) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(2.0)} : () -> tensor<1xf32>
    (%7) = "pd_op.scale" (%2, %6) {bias:0.0,bias_after_scale:false} : (tensor<2x3x2xf32>, tensor<1xf32>) -> tensor<2x3x2xf32>
    (%8) = "pd_op.elementwise_pow" (%0, %7) {} : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    (%9) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1,1,2],value:scalar<f64>(2.0)} : () -> tensor<1x1x2xf32>
    (%10) = "pd_op.subtract" (%8, %9) {} : (tensor<2x3x2xf32>, tensor<1x1x2xf32>) -> tensor<2x3x2xf32>
    (%11) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[2],value:scalar<f64>(2.0)} : () -> tensor<2xf32>
    (%12) = "pd_op.divide" (%11, %10) {} : (tensor<2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    (%13) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[2],value:scalar<f64>(0.5)} : () -> tensor<2xf32>
    (%14) = "pd_op.add" (%12, %13) {} : (tensor<2x3x2xf32>, tensor<2xf32>) -> tensor<2x3x2xf32>
    (%15) = "pd_op.matmul" (%14, %3) {transpose_x:false,transpose_y:false} : (tensor<2x3x2xf32>, tensor<2x1xf32>) -> tensor<2x3x1xf32>
    (%16) = "pd_op.divide" (%15, %4) {} : (tensor<2x3x1xf32>, tensor<1xf32>) -> tensor<2x3x1xf32>
    (%17) = "pd_op.relu" (%16) {} : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    (%18) = "pd_op.matmul" (%17, %1) {transpose_x:false,transpose_y:false} : (tensor<2x3x1xf32>, tensor<1x1xf32>) -> tensor<2x3x1xf32>
    (%19) = "pd_op.matmul" (%18, %5) {transpose_x:false,transpose_y:false} : (tensor<2x3x1xf32>, tensor<1x1xf32>) -> tensor<2x3x1xf32>
    (%20) = "pd_op.fetch" (%19) {col:0,name:"f0"} : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
}
