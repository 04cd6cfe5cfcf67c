// hardswish that is written out rounds otherwise
// data x3 set 0 = float32 1x2x2x1: -0.43359375 1.859375 -0.73046875 -1.341796875
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x3",place:Place(undefined:0),shape:ints[1,2,2,1]} : () -> tensor<1x2x2x1xf32>
    (%1) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(1.0)} : () -> tensor<1xf32>
    (%2) = "pd_op.scale" (%0, %1) {bias:scalar<f64>(3.0),bias_after_scale:true} : (tensor<1x2x2x1xf32>, tensor<1xf32>) -> tensor<1x2x2x1xf32>
    (%3) = "pd_op.relu6" (%2) {} : (tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32>
    (%4) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.16666667)} : () -> tensor<1xf32>
    (%5) = "pd_op.scale" (%3, %4) {bias:0.0,bias_after_scale:true} : (tensor<1x2x2x1xf32>, tensor<1xf32>) -> tensor<1x2x2x1xf32>
    (%6) = "pd_op.multiply" (%5, %0) {} : (tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32>
    (%7) = "pd_op.fetch" (%6) {col:0,name:"f7"} : (tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32>
}
