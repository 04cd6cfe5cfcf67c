// exp of what is very small may be zero, and an infinity times that is NaN
// data x1 set 0 = float32 5x1x17x1: -1.9296875 -1.7724609375 0 -1 1 -1.8330078125 nan -1.5244140625 9.9999461011147596e-41 65504 0.4287109375 -1.0244140625 -0.84375 0.9072265625 1 3.0000000054977558e+38 -1 -0.912109375 -0.638671875 1.232421875 0.865234375 0.7197265625 9.9999999392252903e-09 65504 -0.908203125 -0.1318359375 65504 1.91015625 1.876953125 0.5234375 -0.8564453125 1 -9.9999461011147596e-41 1.5703125 inf 1.8134765625 -1.4228515625 -0.8720703125 -1.3115234375 65504 -1.71875 65504 -3.0000000054977558e+38 1.083984375 3 -1 0 -inf 0.1015625 -0.314453125 0.658203125 0.1611328125 -3.0000000054977558e+38 1.4931640625 -1.7021484375 0.697265625 0.5 1.0439453125 -0 0.4609375 0.013671875 -1.169921875 0.8798828125 nan 1.298828125 -1 4 -0.21875 -1.67578125 9.9999999392252903e-09 -0.685546875 9.9999461011147596e-41 inf 0.5 -0.681640625 9.9999999392252903e-09 65504 -1.5 -1.4287109375 -inf 65504 1.84765625 -1 1 0.0986328125
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x1",place:Place(undefined:0),shape:ints[5,-1,-1,-1]} : () -> tensor<5x-1x-1x-1xf32>
    (%1) = "pd_op.exp" (%0) {} : (tensor<5x-1x-1x-1xf32>) -> tensor<5x-1x-1x-1xf32>
    (%2) = "pd_op.full" () {dtype:int32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.0)} : () -> tensor<1xi32>
    (%3) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[1,3,1]} : () -> tensor<3xi64>
    (%4) = "pd_op.split" (%1, %3, %2) {} : (tensor<5x-1x-1x-1xf32>, tensor<3xi64>, tensor<1xi32>) -> vec[tensor<1x-1x-1x-1xf32>,tensor<3x-1x-1x-1xf32>,tensor<1x-1x-1x-1xf32>]
    (%5, %6, %7) = "builtin.split" (%4) {} : (vec[tensor<1x-1x-1x-1xf32>,tensor<3x-1x-1x-1xf32>,tensor<1x-1x-1x-1xf32>]) -> tensor<1x-1x-1x-1xf32>, tensor<3x-1x-1x-1xf32>, tensor<1x-1x-1x-1xf32>
    (%8) = "pd_op.matmul" (%6, %6) {transpose_x:false,transpose_y:true} : (tensor<3x-1x-1x-1xf32>, tensor<3x-1x-1x-1xf32>) -> tensor<3x-1x-1x-1xf32>
    (%9) = "pd_op.tanh" (%8) {} : (tensor<3x-1x-1x-1xf32>) -> tensor<3x-1x-1x-1xf32>
    (%10) = "pd_op.fetch" (%9) {col:0,name:"f5"} : (tensor<3x-1x-1x-1xf32>) -> tensor<3x-1x-1x-1xf32>
}
