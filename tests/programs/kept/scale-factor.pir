// a factor of float32 is rounded before float64 is multiplied with it
// data x set 0 = float64 2: 1 -3
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float64,name:"x",place:Place(undefined:0),shape:ints[2]} : () -> tensor<2xf64>
    (%1) = "pd_op.minimum" (%0, %0) {} : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    (%2) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.7)} : () -> tensor<1xf32>
    (%3) = "pd_op.scale" (%1, %2) {bias:0.0,bias_after_scale:true} : (tensor<2xf64>, tensor<1xf32>) -> tensor<2xf64>
    (%4) = "pd_op.fetch" (%3) {col:0,name:"f0"} : (tensor<2xf64>) -> tensor<2xf64>
}
