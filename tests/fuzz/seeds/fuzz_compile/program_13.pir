pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:bfloat16,name:"x0",place:Place(undefined:0),shape:ints[-1,-1,-1]} : () -> tensor<-1x-1x-1xbf16>
    (%1) = "pd_op.data" () {dtype:float64,name:"x1",place:Place(undefined:0),shape:ints[4,-1,5,-1]} : () -> tensor<4x-1x5x-1xf64>
    (%2) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.7)} : () -> tensor<1xf32>
    (%3) = "pd_op.scale" (%0, %2) {bias:scalar<f64>(-2.0),bias_after_scale:true} : (tensor<-1x-1x-1xbf16>, tensor<1xf32>) -> tensor<-1x-1x-1xbf16>
    (%4) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0,-1]} : () -> tensor<2xi64>
    (%5) = "pd_op.reshape" (%0, %4) {} : (tensor<-1x-1x-1xbf16>, tensor<2xi64>) -> tensor<-1x-1xbf16>
    (%6) = "pd_op.elu" (%0) {alpha:1.0} : (tensor<-1x-1x-1xbf16>) -> tensor<-1x-1x-1xbf16>
    (%7) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[3,-1,-1,-1]} : () -> tensor<4xi64>
    (%8) = "pd_op.expand" (%0, %7) {} : (tensor<-1x-1x-1xbf16>, tensor<4xi64>) -> tensor<3x-1x-1x-1xbf16>
    (%9) = "pd_op.log" (%3) {} : (tensor<-1x-1x-1xbf16>) -> tensor<-1x-1x-1xbf16>
    (%10) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[-2]} : () -> tensor<1xi64>
    (%11) = "pd_op.mean" (%0, %10) {keepdim:true} : (tensor<-1x-1x-1xbf16>, tensor<1xi64>) -> tensor<-1x1x-1xbf16>
    (%12) = "pd_op.matmul" (%1, %1) {transpose_x:false,transpose_y:true} : (tensor<4x-1x5x-1xf64>, tensor<4x-1x5x-1xf64>) -> tensor<4x-1x5x5xf64>
    (%13) = "pd_op.tanh" (%12) {} : (tensor<4x-1x5x5xf64>) -> tensor<4x-1x5x5xf64>
    (%14) = "pd_op.silu" (%5) {} : (tensor<-1x-1xbf16>) -> tensor<-1x-1xbf16>
    (%15) = "pd_op.fetch" (%14) {col:0,name:"f0"} : (tensor<-1x-1xbf16>) -> tensor<-1x-1xbf16>
    (%16) = "pd_op.fetch" (%13) {col:1,name:"f1"} : (tensor<4x-1x5x5xf64>) -> tensor<4x-1x5x5xf64>
    (%17) = "pd_op.fetch" (%11) {col:2,name:"f2"} : (tensor<-1x1x-1xbf16>) -> tensor<-1x1x-1xbf16>
    (%18) = "pd_op.fetch" (%9) {col:3,name:"f3"} : (tensor<-1x-1x-1xbf16>) -> tensor<-1x-1x-1xbf16>
    (%19) = "pd_op.fetch" (%8) {col:4,name:"f4"} : (tensor<3x-1x-1x-1xbf16>) -> tensor<3x-1x-1x-1xbf16>
    (%20) = "pd_op.fetch" (%6) {col:5,name:"f5"} : (tensor<-1x-1x-1xbf16>) -> tensor<-1x-1x-1xbf16>
}
