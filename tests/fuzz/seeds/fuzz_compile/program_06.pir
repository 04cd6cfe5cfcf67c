pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:int32,name:"x0",place:Place(undefined:0),shape:ints[7,4]} : () -> tensor<7x4xi32>
    (%1) = "pd_op.data" () {dtype:float32,name:"x1",place:Place(undefined:0),shape:ints[4]} : () -> tensor<4xf32>
    (%2) = "pd_op.data" () {dtype:float32,name:"x2",place:Place(undefined:0),shape:ints[-1,4,2,-1]} : () -> tensor<-1x4x2x-1xf32>
    (%3) = "pd_op.data" () {dtype:bool,name:"x3",place:Place(undefined:0),shape:ints[1]} : () -> tensor<1xb>
    (%4) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[3,7,4]} : () -> tensor<3xi64>
    (%5) = "pd_op.expand" (%0, %4) {} : (tensor<7x4xi32>, tensor<3xi64>) -> tensor<3x7x4xi32>
    (%6) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.7)} : () -> tensor<1xf32>
    (%7) = "pd_op.scale" (%5, %6) {bias:scalar<f64>(-2.0),bias_after_scale:true} : (tensor<3x7x4xi32>, tensor<1xf32>) -> tensor<3x7x4xi32>
    (%8) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(2.0)} : () -> tensor<1xf32>
    (%9) = "pd_op.scale" (%7, %8) {bias:scalar<f64>(0.0),bias_after_scale:false} : (tensor<3x7x4xi32>, tensor<1xf32>) -> tensor<3x7x4xi32>
    (%10) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0]} : () -> tensor<1xi64>
    (%11) = "pd_op.mean" (%1, %10) {keepdim:false} : (tensor<4xf32>, tensor<1xi64>) -> tensor<f32>
    (%12, %13, %14) = "pd_op.layer_norm" (%2, <<NULL VALUE>>, <<NULL VALUE>>) {begin_norm_axis:2,epsilon:0.001} : (tensor<-1x4x2x-1xf32>, <<NULL TYPE>>, <<NULL TYPE>>) -> tensor<-1x4x2x-1xf32>, tensor<-1x4xf32>, tensor<-1x4xf32>
    (%15) = "pd_op.sigmoid" (%1) {} : (tensor<4xf32>) -> tensor<4xf32>
    (%16) = "pd_op.if" (%3) {} : (tensor<1xb>) -> tensor<f32> {
        (%17) = "pd_op.all" (%3) {axis:i64[-1],keepdim:false} : (tensor<1xb>) -> tensor<b>
        (%18) = "pd_op.thresholded_relu" (%11) {threshold:1.0,value:0.0} : (tensor<f32>) -> tensor<f32>
        (%19) = "pd_op.sin" (%18) {} : (tensor<f32>) -> tensor<f32>
        (%20) = "pd_op.assign" (%19) {} : (tensor<f32>) -> tensor<f32>
        (%21) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.5)} : () -> tensor<1xf32>
        (%22) = "pd_op.add_" (%19, %21) {} : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
        (%23) = "pd_op.tanh" (%19) {} : (tensor<f32>) -> tensor<f32>
        (%24) = "pd_op.full" () {dtype:int64,place:Place(cpu),shape:ints[1],value:scalar<f64>(3.0)} : () -> tensor<1xi64>
        (%25) = "pd_op.cumsum" (%2, %24) {exclusive:false,flatten:false,reverse:false} : (tensor<-1x4x2x-1xf32>, tensor<1xi64>) -> tensor<-1x4x2x-1xf32>
        () = "cf.yield" (%23) {} : (tensor<f32>) -> ()
    } else {
        (%26) = "pd_op.tanh" (%11) {} : (tensor<f32>) -> tensor<f32>
        (%27) = "pd_op.add" (%26, %26) {} : (tensor<f32>, tensor<f32>) -> tensor<f32>
        () = "cf.yield" (%27) {} : (tensor<f32>) -> ()
    }
    (%28) = "pd_op.fetch" (%16) {col:0,name:"f0"} : (tensor<f32>) -> tensor<f32>
    (%29) = "pd_op.fetch" (%15) {col:1,name:"f1"} : (tensor<4xf32>) -> tensor<4xf32>
    (%30) = "pd_op.fetch" (%12) {col:2,name:"f2"} : (tensor<-1x4x2x-1xf32>) -> tensor<-1x4x2x-1xf32>
    (%31) = "pd_op.fetch" (%9) {col:3,name:"f3"} : (tensor<3x7x4xi32>) -> tensor<3x7x4xi32>
}
