pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:int64,name:"x0",place:Place(undefined:0),shape:ints[3]} : () -> tensor<3xi64>
    (%1) = "pd_op.data" () {dtype:float32,name:"x1",place:Place(undefined:0),shape:ints[2]} : () -> tensor<2xf32>
    (%2) = "pd_op.full" () {dtype:int64,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.0)} : () -> tensor<1xi64>
    (%3) = "pd_op.full" () {dtype:int64,place:Place(cpu),shape:ints[1],value:scalar<f64>(3.0)} : () -> tensor<1xi64>
    (%4) = "pd_op.clip" (%0, %2, %3) {} : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
    (%5) = "builtin.combine" (%4) {} : (tensor<3xi64>) -> vec[tensor<3xi64>]
    (%6) = "pd_op.full" () {dtype:int32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.0)} : () -> tensor<1xi32>
    (%7) = "pd_op.concat" (%5, %6) {} : (vec[tensor<3xi64>], tensor<1xi32>) -> tensor<3xi64>
    (%8) = "pd_op.abs" (%1) {} : (tensor<2xf32>) -> tensor<2xf32>
    (%9) = "pd_op.sin" (%8) {} : (tensor<2xf32>) -> tensor<2xf32>
    (%10) = "pd_op.tanh_" (%9) {} : (tensor<2xf32>) -> tensor<2xf32>
    (%11) = "pd_op.assign" (%9) {} : (tensor<2xf32>) -> tensor<2xf32>
    (%12) = "pd_op.fetch" (%11) {col:0,name:"f0"} : (tensor<2xf32>) -> tensor<2xf32>
    (%13) = "pd_op.fetch" (%10) {col:1,name:"f1"} : (tensor<2xf32>) -> tensor<2xf32>
    (%14) = "pd_op.fetch" (%7) {col:2,name:"f2"} : (tensor<3xi64>) -> tensor<3xi64>
}
