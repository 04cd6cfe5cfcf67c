// 0 in a shape copies a dimension, but is 0 when there are no elements
// data x set 0 = float32 1x1x0x1:
// data x set 1 = float32 1x2x3x4: 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:ints[1,-1,-1,-1]} : () -> tensor<1x-1x-1x-1xf32>
    (%1) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0,0,0,0]} : () -> tensor<4xi64>
    (%2) = "pd_op.add" (%0, %0) {} : (tensor<1x-1x-1x-1xf32>, tensor<1x-1x-1x-1xf32>) -> tensor<1x-1x-1x-1xf32>
    (%3) = "pd_op.reshape" (%2, %1) {} : (tensor<1x-1x-1x-1xf32>, tensor<4xi64>) -> tensor<1x-1x-1x-1xf32>
    (%4) = "pd_op.cast" (%3) {dtype:int8} : (tensor<1x-1x-1x-1xf32>) -> tensor<1x-1x-1x-1xi8>
    (%5) = "pd_op.fetch" (%4) {col:0,name:"f0"} : (tensor<1x-1x-1x-1xi8>) -> tensor<1x-1x-1x-1xi8>
}
