pir version 4 trainable {
    (%0) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[true],parameter_name:"w",persistable:[true],stop_gradient:[false],trainable:[true]} : () -> tensor<3xf32>
    (%1) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:ints[2,3],stop_gradient:[true]} : () -> tensor<2x3xf32>
    (%2) = "pd_op.data" () {dtype:bool,name:"p",place:Place(undefined:0),shape:ints[1],stop_gradient:[true]} : () -> tensor<1xb>
    (%3, %4) = "pd_op.if" (%2) {stop_gradient:[false,true]} : (tensor<1xb>) -> tensor<2x3xf32>, tensor<1xi64> {
        (%5) = "pd_op.add" (%1, %0) {stop_gradient:[false]} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
        (%6) = "pd_op.full" () {dtype:int64,place:Place(undefined:0),shape:ints[1],stop_gradient:[true],value:f64(1.0)} : () -> tensor<1xi64>
        () = "cf.yield" (%5, %6) {} : (tensor<2x3xf32>, tensor<1xi64>) -> ()
    } else {
        (%7) = "pd_op.subtract" (%1, %0) {stop_gradient:[false]} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
        (%8) = "pd_op.full" () {dtype:int64,place:Place(undefined:0),shape:ints[1],stop_gradient:[true],value:f64(2.0)} : () -> tensor<1xi64>
        () = "cf.yield" (%7, %8) {} : (tensor<2x3xf32>, tensor<1xi64>) -> ()
    }
    (%9) = "pd_op.fetch" (%3) {col:0,name:"fetch_name_0",persistable:[true],stop_gradient:[false]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    (%10) = "pd_op.fetch" (%4) {col:1,name:"fetch_name_1",persistable:[true],stop_gradient:[true]} : (tensor<1xi64>) -> tensor<1xi64>
}
