// 0 and -0 are the largest of two axes, which are not gone over in the order of memory
// data x1 set 0 = float32 4x3x2: -0.9 -1.9 -1.3 0 -0 -2 -1 -1 -1 -0 0 -1 -1 0 -1 -1 -1 -0 -1 -0 -1 -1 0 -1
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x1",place:Place(undefined:0),shape:ints[4,3,2]} : () -> tensor<4x3x2xf32>
    (%4) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[2,1]} : () -> tensor<2xi64>
    (%5) = "pd_op.max" (%0, %4) {keepdim:true} : (tensor<4x3x2xf32>, tensor<2xi64>) -> tensor<4x1x1xf32>
    (%20) = "pd_op.fetch" (%5) {col:3,name:"f3"} : (tensor<4x1x1xf32>) -> tensor<4x1x1xf32>
}
