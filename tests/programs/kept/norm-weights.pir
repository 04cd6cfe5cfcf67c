// a weight that is too large when a factor goes into it
// data r3 set 0 = float32 3x3x1x3: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
// parameter p0 = float32 3x3x3x1: -3.0000000054977558e+38 -0.50390625 -0.216796875 1.2119140625 inf 9.9999461011147596e-41 1 -1.6494140625 -1.03125 -1 0 -0.875 -0.658203125 -inf -0.9501953125 0.94140625 -1.4560546875 0.5 1.87890625 0.6474609375 0.744140625 1.6767578125 65504 0.0703125 3.0000000054977558e+38 1.3369140625 0.9345703125
// parameter p2 = float32 3: 0 0 0
// parameter p3 = float32 3: 0 0 0
// parameter p4 = float32 3: 1 1 1
// parameter p5 = float32 3: 0 0 0
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"r3",place:Place(undefined:0),shape:ints[3,3,1,3]} : () -> tensor<3x3x1x3xf32>
    (%1) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p0"} : () -> tensor<3x3x3x1xf32>
    (%2) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p2"} : () -> tensor<3xf32>
    (%3) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p3"} : () -> tensor<3xf32>
    (%4) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p4"} : () -> tensor<3xf32>
    (%5) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p5"} : () -> tensor<3xf32>
    (%6) = "pd_op.conv2d" (%0, %1) {data_format:"NCHW",dilations:[1,1],groups:1,padding_algorithm:"EXPLICIT",paddings:[1,1],strides:[1,1]} : (tensor<3x3x1x3xf32>, tensor<3x3x3x1xf32>) -> tensor<3x3x1x5xf32>
    (%7) = "pd_op.square" (%3) {} : (tensor<3xf32>) -> tensor<3xf32>
    (%8, %9, %10, %11, %12, %13) = "pd_op.batch_norm" (%6, %2, %7, %4, %5) {data_format:"NCHW",epsilon:1e-05,is_test:true,momentum:0.9,trainable_statistics:false,use_global_stats:false} : (tensor<3x3x1x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x3x1x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<-1xf32>
    (%14) = "pd_op.fetch" (%8) {col:0,name:"f2"} : (tensor<3x3x1x5xf32>) -> tensor<3x3x1x5xf32>
}
