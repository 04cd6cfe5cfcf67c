pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[-1,-1,-1]} : () -> tensor<-1x-1x-1xf32>
    (%1) = "pd_op.fmin" (%0, %0) {} : (tensor<-1x-1x-1xf32>, tensor<-1x-1x-1xf32>) -> tensor<-1x-1x-1xf32>
    (%2) = "pd_op.exp" (%0) {} : (tensor<-1x-1x-1xf32>) -> tensor<-1x-1x-1xf32>
    (%3) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0]} : () -> tensor<1xi64>
    (%4) = "pd_op.unsqueeze" (%2, %3) {} : (tensor<-1x-1x-1xf32>, tensor<1xi64>) -> tensor<1x-1x-1x-1xf32>
    (%5) = "pd_op.swish" (%4) {} : (tensor<1x-1x-1x-1xf32>) -> tensor<1x-1x-1x-1xf32>
    (%6) = "pd_op.fetch" (%5) {col:0,name:"f0"} : (tensor<1x-1x-1x-1xf32>) -> tensor<1x-1x-1x-1xf32>
    (%7) = "pd_op.fetch" (%1) {col:1,name:"f1"} : (tensor<-1x-1x-1xf32>) -> tensor<-1x-1x-1xf32>
}
