pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[4,-1,4]} : () -> tensor<4x-1x4xf32>
    (%1) = "pd_op.data" () {dtype:bool,name:"x1",place:Place(undefined:0),shape:ints[-1]} : () -> tensor<-1xb>
    (%2) = "pd_op.data" () {dtype:int32,name:"x2",place:Place(undefined:0),shape:ints[4,1]} : () -> tensor<4x1xi32>
    (%3) = "pd_op.data" () {dtype:float32,name:"x3",place:Place(undefined:0),shape:ints[4,-1,4,-1]} : () -> tensor<4x-1x4x-1xf32>
    (%4) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0,1]} : () -> tensor<2xi64>
    (%5) = "pd_op.max" (%0, %4) {keepdim:false} : (tensor<4x-1x4xf32>, tensor<2xi64>) -> tensor<4xf32>
    (%6) = "pd_op.all" (%1) {axis:i64[0],keepdim:true} : (tensor<-1xb>) -> tensor<1xb>
    (%7) = "pd_op.cast" (%1) {dtype:float32} : (tensor<-1xb>) -> tensor<-1xf32>
    (%8) = "pd_op.log2" (%7) {} : (tensor<-1xf32>) -> tensor<-1xf32>
    (%9) = "pd_op.gather_nd" (%0, %2) {} : (tensor<4x-1x4xf32>, tensor<4x1xi32>) -> tensor<4x-1x4xf32>
    (%10) = "pd_op.shape" (%6) {} : (tensor<1xb>) -> tensor<1xi32>
    (%11) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.0)} : () -> tensor<1xf32>
    (%12) = "pd_op.full_with_tensor" (%11, %10) {dtype:float32} : (tensor<1xf32>, tensor<1xi32>) -> tensor<1xf32>
    (%13) = "pd_op.cast" (%3) {dtype:float32} : (tensor<4x-1x4x-1xf32>) -> tensor<4x-1x4x-1xf32>
    (%14) = "pd_op.assign" (%13) {} : (tensor<4x-1x4x-1xf32>) -> tensor<4x-1x4x-1xf32>
    (%15) = "pd_op.fetch" (%14) {col:0,name:"f0"} : (tensor<4x-1x4x-1xf32>) -> tensor<4x-1x4x-1xf32>
    (%16) = "pd_op.fetch" (%12) {col:1,name:"f1"} : (tensor<1xf32>) -> tensor<1xf32>
    (%17) = "pd_op.fetch" (%9) {col:2,name:"f2"} : (tensor<4x-1x4xf32>) -> tensor<4x-1x4xf32>
    (%18) = "pd_op.fetch" (%8) {col:3,name:"f3"} : (tensor<-1xf32>) -> tensor<-1xf32>
    (%19) = "pd_op.fetch" (%5) {col:4,name:"f4"} : (tensor<4xf32>) -> tensor<4xf32>
}
