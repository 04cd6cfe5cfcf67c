// a product and a sum that fast kernels round once
pir version 4 trainable {
    (%0) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.7)} : () -> tensor<1xf32>
    (%1) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(3.0)} : () -> tensor<1xf32>
    (%2) = "pd_op.scale" (%0, %1) {bias:scalar<f64>(1.0),bias_after_scale:false} : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    (%3) = "pd_op.fetch" (%2) {col:0,name:"f2"} : (tensor<1xf32>) -> tensor<1xf32>
}
