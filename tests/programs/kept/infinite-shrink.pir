// an infinity times the 0 of a condition is NaN
// data x set 0 = float32 6: -inf inf nan -0 3e38 0.25
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:ints[6]} : () -> tensor<6xf32>
    (%1) = "pd_op.thresholded_relu" (%0) {threshold:1.0,value:0.0} : (tensor<6xf32>) -> tensor<6xf32>
    (%2) = "pd_op.abs" (%1) {} : (tensor<6xf32>) -> tensor<6xf32>
    (%3) = "pd_op.softshrink" (%0) {threshold:0.5} : (tensor<6xf32>) -> tensor<6xf32>
    (%4) = "pd_op.abs" (%3) {} : (tensor<6xf32>) -> tensor<6xf32>
    (%5) = "pd_op.fetch" (%2) {col:0,name:"f0"} : (tensor<6xf32>) -> tensor<6xf32>
    (%6) = "pd_op.fetch" (%4) {col:1,name:"f1"} : (tensor<6xf32>) -> tensor<6xf32>
}
