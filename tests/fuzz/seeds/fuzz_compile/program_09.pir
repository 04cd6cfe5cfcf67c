pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[4,-1]} : () -> tensor<4x-1xf32>
    (%1) = "pd_op.asin" (%0) {} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%2) = "pd_op.acos" (%1) {} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%3) = "pd_op.tanh" (%0) {} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%4) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[-2]} : () -> tensor<1xi64>
    (%5) = "pd_op.sum" (%1, %4) {dtype:Undefined,keepdim:false} : (tensor<4x-1xf32>, tensor<1xi64>) -> tensor<-1xf32>
    (%6) = "pd_op.sqrt" (%3) {} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%7) = "pd_op.sin" (%0) {} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%8) = "pd_op.assign" (%7) {} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%9) = "pd_op.relu_" (%7) {} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%10) = "pd_op.assign" (%7) {} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%11) = "pd_op.fetch" (%10) {col:0,name:"f0"} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%12) = "pd_op.fetch" (%9) {col:1,name:"f1"} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%13) = "pd_op.fetch" (%8) {col:2,name:"f2"} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%14) = "pd_op.fetch" (%6) {col:3,name:"f3"} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%15) = "pd_op.fetch" (%5) {col:4,name:"f4"} : (tensor<-1xf32>) -> tensor<-1xf32>
    (%16) = "pd_op.fetch" (%2) {col:5,name:"f5"} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
}
