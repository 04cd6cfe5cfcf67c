// scales that become one have no infinity between them
// data r3 set 0 = float32 1x5x1x5: -0.83203125 1.7568359375 -1.552734375 1.3742043404930615e+38 0.9658203125 -4 -1.416015625 -1.58984375 1.3742043404930615e+38 0.9658203125 -0.7548828125 -0.326171875 1.05859375 1.3742043404930615e+38 0.9658203125 1.880859375 -1.2998046875 -2 1.3742043404930615e+38 0.9658203125 0 -1.78125 -0.6318359375 1.3742043404930615e+38 0.9658203125
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"r3",place:Place(undefined:0),shape:ints[1,5,1,5]} : () -> tensor<1x5x1x5xf32>
    (%1) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(3.0)} : () -> tensor<1xf32>
    (%2) = "pd_op.scale" (%0, %1) {bias:0.0,bias_after_scale:false} : (tensor<1x5x1x5xf32>, tensor<1xf32>) -> tensor<1x5x1x5xf32>
    (%3) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.5)} : () -> tensor<1xf32>
    (%4) = "pd_op.scale" (%2, %3) {bias:0.0,bias_after_scale:true} : (tensor<1x5x1x5xf32>, tensor<1xf32>) -> tensor<1x5x1x5xf32>
    (%5) = "pd_op.transpose" (%4) {perm:[3,2,0,1]} : (tensor<1x5x1x5xf32>) -> tensor<5x1x1x5xf32>
    (%6) = "pd_op.fetch" (%5) {col:0,name:"f2"} : (tensor<5x1x1x5xf32>) -> tensor<5x1x1x5xf32>
}
