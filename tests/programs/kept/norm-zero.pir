// a product that is too large, and then multiplied by zero
// data x1 set 0 = float32 2x2x2x1: -4 1 -1.1103515625 0.0263671875 -9.9999461011147596e-41 -1.640625 3.0000000054977558e+38 1.7998046875
// parameter p1 = float32 2x2x1x2: -3 0.9228515625 -1.9248046875 -3 -0.3681640625 -0.373046875 -1.4267578125 1.0478515625
// parameter p2 = float32 2: 0 0
// parameter p3 = float32 2: 1 1
// parameter p4 = float32 2: 0 0
// parameter p5 = float32 2: 0 0
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x1",place:Place(undefined:0),shape:ints[2,2,-1,1]} : () -> tensor<2x2x-1x1xf32>
    (%1) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p1"} : () -> tensor<2x2x1x2xf32>
    (%2) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p2"} : () -> tensor<2xf32>
    (%3) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p3"} : () -> tensor<2xf32>
    (%4) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p4"} : () -> tensor<2xf32>
    (%5) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p5"} : () -> tensor<2xf32>
    (%6) = "pd_op.conv2d" (%0, %1) {data_format:"NCHW",dilations:[1,1],groups:1,padding_algorithm:"EXPLICIT",paddings:[1,1],strides:[1,1]} : (tensor<2x2x-1x1xf32>, tensor<2x2x1x2xf32>) -> tensor<2x2x-1x2xf32>
    (%7) = "pd_op.square" (%3) {} : (tensor<2xf32>) -> tensor<2xf32>
    (%8, %9, %10, %11, %12, %13) = "pd_op.batch_norm" (%6, %2, %7, %4, %5) {data_format:"NCHW",epsilon:1e-05,is_test:true,momentum:0.9,trainable_statistics:false,use_global_stats:false} : (tensor<2x2x-1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x-1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<-1xf32>
    (%14) = "pd_op.fetch" (%8) {col:0,name:"f9"} : (tensor<2x2x-1x2xf32>) -> tensor<2x2x-1x2xf32>
}
