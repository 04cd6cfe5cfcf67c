// an infinite scale: what is added is no NaN
// data x4 set 0 = float32 1x1x1x1: 1
// parameter p0 = float32 1: -0.5244140625
// parameter p1 = float32 1: 0
// parameter p2 = float32 1: -inf
// parameter p3 = float32 1: 0
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x4",place:Place(undefined:0),shape:ints[1,1,1,1]} : () -> tensor<1x1x1x1xf32>
    (%1) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p0"} : () -> tensor<1xf32>
    (%2) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p1"} : () -> tensor<1xf32>
    (%3) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p2"} : () -> tensor<1xf32>
    (%4) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p3"} : () -> tensor<1xf32>
    (%5) = "pd_op.square" (%2) {} : (tensor<1xf32>) -> tensor<1xf32>
    (%6, %7, %8, %9, %10, %11) = "pd_op.batch_norm" (%0, %1, %5, %3, %4) {data_format:"NCHW",epsilon:1e-05,is_test:true,momentum:0.9,trainable_statistics:false,use_global_stats:false} : (tensor<1x1x1x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x1x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<-1xf32>
    (%12) = "pd_op.fetch" (%6) {col:0,name:"f4"} : (tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32>
}
