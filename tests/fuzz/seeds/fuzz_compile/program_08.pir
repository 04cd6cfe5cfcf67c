pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[-1,4,-1]} : () -> tensor<-1x4x-1xf32>
    (%1) = "pd_op.data" () {dtype:float32,name:"x1",place:Place(undefined:0),shape:ints[-1,7,7,4]} : () -> tensor<-1x7x7x4xf32>
    (%2) = "pd_op.shape64" (%0) {} : (tensor<-1x4x-1xf32>) -> tensor<3xi64>
    (%3) = "pd_op.expm1" (%0) {} : (tensor<-1x4x-1xf32>) -> tensor<-1x4x-1xf32>
    (%4) = "pd_op.relu6" (%3) {} : (tensor<-1x4x-1xf32>) -> tensor<-1x4x-1xf32>
    (%5) = "pd_op.bitwise_or" (%2, %2) {} : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    (%6) = "pd_op.shuffle_channel" (%1) {group:7} : (tensor<-1x7x7x4xf32>) -> tensor<-1x7x7x4xf32>
    (%7) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0]} : () -> tensor<1xi64>
    (%8) = "pd_op.reshape" (%2, %7) {} : (tensor<3xi64>, tensor<1xi64>) -> tensor<3xi64>
    (%9) = "pd_op.fetch" (%8) {col:0,name:"f0"} : (tensor<3xi64>) -> tensor<3xi64>
    (%10) = "pd_op.fetch" (%6) {col:1,name:"f1"} : (tensor<-1x7x7x4xf32>) -> tensor<-1x7x7x4xf32>
    (%11) = "pd_op.fetch" (%5) {col:2,name:"f2"} : (tensor<3xi64>) -> tensor<3xi64>
    (%12) = "pd_op.fetch" (%4) {col:3,name:"f3"} : (tensor<-1x4x-1xf32>) -> tensor<-1x4x-1xf32>
}
