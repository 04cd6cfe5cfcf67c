pir version 4 trainable {
    (%0) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p0"} : () -> tensor<1x5x2xi32>
    (%1) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[7,5,4]} : () -> tensor<7x5x4xf32>
    (%2) = "pd_op.full" () {dtype:int32,place:Place(cpu),shape:ints[1],value:scalar<f64>(1.0)} : () -> tensor<1xi32>
    (%3) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[1,3,1]} : () -> tensor<3xi64>
    (%4) = "pd_op.split" (%0, %3, %2) {} : (tensor<1x5x2xi32>, tensor<3xi64>, tensor<1xi32>) -> vec[tensor<1x1x2xi32>,tensor<1x3x2xi32>,tensor<1x1x2xi32>]
    (%5, %6, %7) = "builtin.split" (%4) {} : (vec[tensor<1x1x2xi32>,tensor<1x3x2xi32>,tensor<1x1x2xi32>]) -> tensor<1x1x2xi32>, tensor<1x3x2xi32>, tensor<1x1x2xi32>
    (%8) = "pd_op.asin" (%1) {} : (tensor<7x5x4xf32>) -> tensor<7x5x4xf32>
    (%9) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0]} : () -> tensor<1xi64>
    (%10) = "pd_op.max" (%0, %9) {keepdim:false} : (tensor<1x5x2xi32>, tensor<1xi64>) -> tensor<5x2xi32>
    (%11) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[2,3,5,-1]} : () -> tensor<4xi64>
    (%12) = "pd_op.expand" (%0, %11) {} : (tensor<1x5x2xi32>, tensor<4xi64>) -> tensor<2x3x5x2xi32>
    (%13) = "pd_op.maximum" (%1, %1) {} : (tensor<7x5x4xf32>, tensor<7x5x4xf32>) -> tensor<7x5x4xf32>
    (%14) = "pd_op.greater_equal" (%5, %10) {} : (tensor<1x1x2xi32>, tensor<5x2xi32>) -> tensor<1x5x2xb>
    (%15) = "pd_op.fetch" (%14) {col:0,name:"f0"} : (tensor<1x5x2xb>) -> tensor<1x5x2xb>
    (%16) = "pd_op.fetch" (%13) {col:1,name:"f1"} : (tensor<7x5x4xf32>) -> tensor<7x5x4xf32>
    (%17) = "pd_op.fetch" (%12) {col:2,name:"f2"} : (tensor<2x3x5x2xi32>) -> tensor<2x3x5x2xi32>
    (%18) = "pd_op.fetch" (%8) {col:3,name:"f3"} : (tensor<7x5x4xf32>) -> tensor<7x5x4xf32>
    (%19) = "pd_op.fetch" (%7) {col:4,name:"f4"} : (tensor<1x1x2xi32>) -> tensor<1x1x2xi32>
    (%20) = "pd_op.fetch" (%6) {col:5,name:"f5"} : (tensor<1x3x2xi32>) -> tensor<1x3x2xi32>
}
