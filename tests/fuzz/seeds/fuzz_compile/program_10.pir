pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:bfloat16,name:"x0",place:Place(undefined:0),shape:ints[-1]} : () -> tensor<-1xbf16>
    (%1) = "pd_op.data" () {dtype:float32,name:"x1",place:Place(undefined:0),shape:ints[-1,5,5]} : () -> tensor<-1x5x5xf32>
    (%2) = "pd_op.divide" (%0, %0) {} : (tensor<-1xbf16>, tensor<-1xbf16>) -> tensor<-1xbf16>
    (%3) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[-1]} : () -> tensor<1xi64>
    (%4) = "pd_op.mean" (%0, %3) {keepdim:false} : (tensor<-1xbf16>, tensor<1xi64>) -> tensor<bf16>
    (%5) = "pd_op.isfinite" (%1) {} : (tensor<-1x5x5xf32>) -> tensor<-1x5x5xb>
    (%6) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(-3.0)} : () -> tensor<1xf32>
    (%7) = "pd_op.where" (%5, %1, %6) {} : (tensor<-1x5x5xb>, tensor<-1x5x5xf32>, tensor<1xf32>) -> tensor<-1x5x5xf32>
    (%8) = "pd_op.hardswish" (%1) {} : (tensor<-1x5x5xf32>) -> tensor<-1x5x5xf32>
    (%9) = "pd_op.fetch" (%8) {col:0,name:"f0"} : (tensor<-1x5x5xf32>) -> tensor<-1x5x5xf32>
    (%10) = "pd_op.fetch" (%7) {col:1,name:"f1"} : (tensor<-1x5x5xf32>) -> tensor<-1x5x5xf32>
    (%11) = "pd_op.fetch" (%4) {col:2,name:"f2"} : (tensor<bf16>) -> tensor<bf16>
    (%12) = "pd_op.fetch" (%2) {col:3,name:"f3"} : (tensor<-1xbf16>) -> tensor<-1xbf16>
}
