pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[4,-1]} : () -> tensor<4x-1xf32>
    (%1) = "pd_op.data" () {dtype:bool,name:"x1",place:Place(undefined:0),shape:ints[5,2]} : () -> tensor<5x2xb>
    (%2) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[-2]} : () -> tensor<1xi64>
    (%3) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[2147483647]} : () -> tensor<1xi64>
    (%4) = "pd_op.slice" (%0, %2, %3) {axes:i64[1],decrease_axis:[],infer_flags:i64[1]} : (tensor<4x-1xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x-1xf32>
    (%5) = "pd_op.logical_or" (%1, %1) {} : (tensor<5x2xb>, tensor<5x2xb>) -> tensor<5x2xb>
    (%6) = "pd_op.shape" (%1) {} : (tensor<5x2xb>) -> tensor<2xi32>
    (%7) = "pd_op.flatten" (%1) {start_axis:0,stop_axis:1} : (tensor<5x2xb>) -> tensor<10xb>
    (%8) = "pd_op.reshape" (%7, %6) {} : (tensor<10xb>, tensor<2xi32>) -> tensor<5x2xb>
    (%9) = "pd_op.pow" (%0) {y:scalar<f32>(0.0)} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%10) = "pd_op.softmax" (%4) {axis:1} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%11) = "pd_op.log_softmax" (%4) {axis:-1} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%12) = "pd_op.softmax" (%4) {axis:-1} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%13) = "pd_op.fetch" (%12) {col:0,name:"f0"} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%14) = "pd_op.fetch" (%11) {col:1,name:"f1"} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%15) = "pd_op.fetch" (%10) {col:2,name:"f2"} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%16) = "pd_op.fetch" (%9) {col:3,name:"f3"} : (tensor<4x-1xf32>) -> tensor<4x-1xf32>
    (%17) = "pd_op.fetch" (%8) {col:4,name:"f4"} : (tensor<5x2xb>) -> tensor<5x2xb>
    (%18) = "pd_op.fetch" (%5) {col:5,name:"f5"} : (tensor<5x2xb>) -> tensor<5x2xb>
}
