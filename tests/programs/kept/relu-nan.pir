// relu of NaN is 0, that of fc, which passes make of it, is NaN
// data r3 set 0 = float32 1x1x17x1: 1 1 1 1 1 1 1 -nan 1 1 1 1 1 1 1 1 1
// parameter p0 = float32 1x6: 0 0 0 0 0 0
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"r3",place:Place(undefined:0),shape:ints[1,1,-1,1]} : () -> tensor<1x1x-1x1xf32>
    (%1) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p0"} : () -> tensor<1x6xf32>
    (%2) = "pd_op.matmul" (%0, %1) {transpose_x:false,transpose_y:false} : (tensor<1x1x-1x1xf32>, tensor<1x6xf32>) -> tensor<1x1x-1x6xf32>
    (%3) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[6],value:scalar<f64>(0.25)} : () -> tensor<6xf32>
    (%4) = "pd_op.add" (%2, %3) {} : (tensor<1x1x-1x6xf32>, tensor<6xf32>) -> tensor<1x1x-1x6xf32>
    (%5) = "pd_op.relu" (%4) {} : (tensor<1x1x-1x6xf32>) -> tensor<1x1x-1x6xf32>
    (%6) = "pd_op.fetch" (%5) {col:0,name:"f4"} : (tensor<1x1x-1x6xf32>) -> tensor<1x1x-1x6xf32>
}
