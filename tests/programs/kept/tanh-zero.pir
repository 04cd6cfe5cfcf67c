// tanh of -0 is -0
// data x set 0 = float32 2x4: -0 0 1 -1 -0 2 -2 0
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:ints[2,4]} : () -> tensor<2x4xf32>
    (%1) = "pd_op.tanh" (%0) {} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    (%2) = "pd_op.reciprocal" (%1) {} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    (%3) = "pd_op.fetch" (%2) {col:0,name:"f0"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
}
