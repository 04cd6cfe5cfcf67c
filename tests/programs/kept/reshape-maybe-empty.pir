// a slice that has no elements for some sizes, in a shape with 0
// data x0 set 0 = float32 3x3x3x2: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[3,-1,3,-1]} : () -> tensor<3x-1x3x-1xf32>
    (%1) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[2,2,2]} : () -> tensor<3xi64>
    (%2) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[3,3,2147483647]} : () -> tensor<3xi64>
    (%3) = "pd_op.slice" (%0, %1, %2) {axes:i64[0,2,3],decrease_axis:i64[0],infer_flags:i64[1,1,1]} : (tensor<3x-1x3x-1xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<-1x1x-1xf32>
    (%4) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0,0,0]} : () -> tensor<3xi64>
    (%5) = "pd_op.reshape" (%3, %4) {} : (tensor<-1x1x-1xf32>, tensor<3xi64>) -> tensor<-1x1x-1xf32>
    (%6) = "pd_op.fetch" (%5) {col:0,name:"f3"} : (tensor<-1x1x-1xf32>) -> tensor<-1x1x-1xf32>
}
