// an infinite factor that fast kernels multiply into the weights
// parameter p4 = float32 1x1x1x3: 1 1 1
// parameter p10 = float32 18: -0.5166015625 -2 1.55859375 3 1.888671875 0.2275390625 -0.1025390625 -1.892578125 -0.453125 -1.310546875 0.1435546875 -1.1611328125 1.6923828125 -1.8720703125 -0.9404296875 -1 1.869140625 -3
// parameter p11 = float32 6: inf 1.458984375 1.4169921875 1.76171875 -0.2763671875 -1.6962890625
pir version 4 trainable {
    (%0) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p4"} : () -> tensor<1x1x1x3xf32>
    (%1) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p10"} : () -> tensor<18xf32>
    (%2) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p11"} : () -> tensor<6xf32>
    (%3) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[3,6]} : () -> tensor<2xi64>
    (%4) = "pd_op.reshape" (%1, %3) {} : (tensor<18xf32>, tensor<2xi64>) -> tensor<3x6xf32>
    (%5) = "pd_op.matmul" (%0, %4) {transpose_x:false,transpose_y:false} : (tensor<1x1x1x3xf32>, tensor<3x6xf32>) -> tensor<1x1x1x6xf32>
    (%6) = "pd_op.multiply" (%5, %2) {} : (tensor<1x1x1x6xf32>, tensor<6xf32>) -> tensor<1x1x1x6xf32>
    (%7) = "pd_op.fetch" (%6) {col:0,name:"f6"} : (tensor<1x1x1x6xf32>) -> tensor<1x1x1x6xf32>
}
