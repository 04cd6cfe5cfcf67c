// a mean that is too large when divided by the root
// data r4 set 0 = float32 1x5x3x1: -1.1171875 inf 0.861328125 -1.6826171875 0.935546875 -0.2568359375 0.98828125 1.650390625 nan 1 -0.513671875 -1.357421875 1.8896484375 0.123046875 -inf
// parameter p1 = float32 5: 1.1875 0.6083984375 1.70703125 -3.0000000054977558e+38 -3.0000000054977558e+38
// parameter p2 = float32 5: 0.6728515625 1 -1.5947265625 0.5 -0.4716796875
// parameter p3 = float32 5: 1 1 1 1 1
// parameter p4 = float32 5: 0 0 0 0 0
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"r4",place:Place(undefined:0),shape:ints[1,5,3,1]} : () -> tensor<1x5x3x1xf32>
    (%1) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p1"} : () -> tensor<5xf32>
    (%2) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p2"} : () -> tensor<5xf32>
    (%3) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p3"} : () -> tensor<5xf32>
    (%4) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p4"} : () -> tensor<5xf32>
    (%5) = "pd_op.square" (%2) {} : (tensor<5xf32>) -> tensor<5xf32>
    (%6, %7, %8, %9, %10, %11) = "pd_op.batch_norm" (%0, %1, %5, %3, %4) {data_format:"NCHW",epsilon:1e-05,is_test:true,momentum:0.9,trainable_statistics:false,use_global_stats:false} : (tensor<1x5x3x1xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<1x5x3x1xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<-1xf32>
    (%12) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.5)} : () -> tensor<1xf32>
    (%13) = "pd_op.scale" (%6, %12) {bias:0.0,bias_after_scale:true} : (tensor<1x5x3x1xf32>, tensor<1xf32>) -> tensor<1x5x3x1xf32>
    (%14) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(-1.0)} : () -> tensor<1xf32>
    (%15) = "pd_op.scale" (%13, %14) {bias:scalar<f64>(-2.0),bias_after_scale:false} : (tensor<1x5x3x1xf32>, tensor<1xf32>) -> tensor<1x5x3x1xf32>
    (%16) = "pd_op.fetch" (%15) {col:0,name:"f0"} : (tensor<1x5x3x1xf32>) -> tensor<1x5x3x1xf32>
}
