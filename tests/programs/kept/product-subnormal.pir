// fast products take a subnormal weight for zero
// data x2 set 0 = float32 2x5: -0.4384765625 1.3359375 -1.5283203125 -inf 1.3564453125 -1 -1.470703125 1.5966796875 9.9999461011147596e-41 1.1103515625
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x2",place:Place(undefined:0),shape:ints[2,5]} : () -> tensor<2x5xf32>
    (%1) = "pd_op.matmul" (%0, %0) {transpose_x:false,transpose_y:true} : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x2xf32>
    (%2) = "pd_op.fetch" (%1) {col:0,name:"f5"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
}
