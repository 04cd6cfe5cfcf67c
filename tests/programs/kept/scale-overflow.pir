// an infinity between two scales that would be one
// data x0 set 0 = float32 3x1x1: -0.8056640625 0.6328125 -3.0000000054977558e+38
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[3,1,1]} : () -> tensor<3x1x1xf32>
    (%1) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(2.0)} : () -> tensor<1xf32>
    (%2) = "pd_op.scale" (%0, %1) {bias:0.0,bias_after_scale:false} : (tensor<3x1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
    (%3) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.5)} : () -> tensor<1xf32>
    (%4) = "pd_op.scale" (%2, %3) {bias:0.0,bias_after_scale:true} : (tensor<3x1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
    (%5) = "pd_op.fetch" (%4) {col:0,name:"f1"} : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
}
