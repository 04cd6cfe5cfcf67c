pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[-1]} : () -> tensor<-1xf32>
    (%1) = "pd_op.subtract" (%0, %0) {} : (tensor<-1xf32>, tensor<-1xf32>) -> tensor<-1xf32>
    (%2) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(3.0)} : () -> tensor<1xf32>
    (%3) = "pd_op.not_equal" (%0, %2) {} : (tensor<-1xf32>, tensor<1xf32>) -> tensor<-1xb>
    (%4) = "pd_op.transpose" (%0) {perm:[0]} : (tensor<-1xf32>) -> tensor<-1xf32>
    (%5) = "pd_op.transpose" (%4) {perm:[0]} : (tensor<-1xf32>) -> tensor<-1xf32>
    (%6) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:[]} : () -> tensor<0xi64>
    (%7) = "pd_op.max" (%0, %6) {keepdim:false} : (tensor<-1xf32>, tensor<0xi64>) -> tensor<f32>
    (%8) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:[]} : () -> tensor<0xi64>
    (%9) = "pd_op.min" (%5, %8) {keepdim:false} : (tensor<-1xf32>, tensor<0xi64>) -> tensor<f32>
    (%10) = "pd_op.softsign" (%0) {} : (tensor<-1xf32>) -> tensor<-1xf32>
    (%11) = "pd_op.fetch" (%10) {col:0,name:"f0"} : (tensor<-1xf32>) -> tensor<-1xf32>
    (%12) = "pd_op.fetch" (%9) {col:1,name:"f1"} : (tensor<f32>) -> tensor<f32>
    (%13) = "pd_op.fetch" (%7) {col:2,name:"f2"} : (tensor<f32>) -> tensor<f32>
    (%14) = "pd_op.fetch" (%3) {col:3,name:"f3"} : (tensor<-1xb>) -> tensor<-1xb>
    (%15) = "pd_op.fetch" (%1) {col:4,name:"f4"} : (tensor<-1xf32>) -> tensor<-1xf32>
}
