// dimensions of an operand without elements, swapped
// data r6 set 0 = int64 3x4x4x0:
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:int64,name:"r6",place:Place(undefined:0),shape:ints[3,-1,4,0]} : () -> tensor<3x-1x4x0xi64>
    (%1) = "pd_op.shape" (%0) {} : (tensor<3x-1x4x0xi64>) -> tensor<4xi32>
    (%2) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0]} : () -> tensor<1xi64>
    (%3) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[1]} : () -> tensor<1xi64>
    (%4) = "pd_op.slice" (%1, %2, %3) {axes:i64[0],decrease_axis:i64[0],infer_flags:i64[1]} : (tensor<4xi32>, tensor<1xi64>, tensor<1xi64>) -> tensor<i32>
    (%5) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[1]} : () -> tensor<1xi64>
    (%6) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[2]} : () -> tensor<1xi64>
    (%7) = "pd_op.slice" (%1, %5, %6) {axes:i64[0],decrease_axis:i64[0],infer_flags:i64[1]} : (tensor<4xi32>, tensor<1xi64>, tensor<1xi64>) -> tensor<i32>
    (%8) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[3]} : () -> tensor<1xi64>
    (%9) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[4]} : () -> tensor<1xi64>
    (%10) = "pd_op.slice" (%1, %8, %9) {axes:i64[0],decrease_axis:i64[0],infer_flags:i64[1]} : (tensor<4xi32>, tensor<1xi64>, tensor<1xi64>) -> tensor<i32>
    (%11) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[2]} : () -> tensor<1xi64>
    (%12) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[3]} : () -> tensor<1xi64>
    (%13) = "pd_op.slice" (%1, %11, %12) {axes:i64[0],decrease_axis:i64[0],infer_flags:i64[1]} : (tensor<4xi32>, tensor<1xi64>, tensor<1xi64>) -> tensor<i32>
    (%14) = "builtin.combine" (%4, %7, %10, %13) {} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> vec[tensor<i32>,tensor<i32>,tensor<i32>,tensor<i32>]
    (%15) = "pd_op.reshape" (%0, %14) {} : (tensor<3x-1x4x0xi64>, vec[tensor<i32>,tensor<i32>,tensor<i32>,tensor<i32>]) -> tensor<3x-1x0x4xi64>
    (%16) = "pd_op.fetch" (%15) {col:0,name:"f5"} : (tensor<3x-1x0x4xi64>) -> tensor<3x-1x0x4xi64>
}
