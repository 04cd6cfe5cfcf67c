pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:ints[2,3],stop_gradient:[true]} : () -> tensor<2x3xf32>
    (%1) = "pd_op.data" () {dtype:int64,name:"n",place:Place(undefined:0),shape:ints[1],stop_gradient:[true]} : () -> tensor<1xi64>
    (%2) = "pd_op.full" () {dtype:int64,place:Place(undefined:0),shape:ints[1],stop_gradient:[true],value:f64(0.0)} : () -> tensor<1xi64>
    (%3) = "pd_op.less_than" (%2, %1) {stop_gradient:[true]} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xb>
    (%4, %5) = "pd_op.while" (%3, %2, %0) {stop_gradient:[true,true]} : (tensor<1xb>, tensor<1xi64>, tensor<2x3xf32>) -> tensor<1xi64>, tensor<2x3xf32> {
    ^(%arg_0: tensor<1xi64>, %arg_1: tensor<2x3xf32>)
        (%6) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],stop_gradient:[true],value:f64(1.0)} : () -> tensor<1xf32>
        (%7) = "pd_op.scale" (%arg_0, %6) {bias:1.0,bias_after_scale:true,stop_gradient:[true]} : (tensor<1xi64>, tensor<1xf32>) -> tensor<1xi64>
        (%8) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],stop_gradient:[true],value:f64(2.0)} : () -> tensor<1xf32>
        (%9) = "pd_op.scale" (%arg_1, %8) {bias:0.0,bias_after_scale:true,stop_gradient:[true]} : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
        (%10) = "pd_op.less_than" (%7, %1) {stop_gradient:[true]} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xb>
        () = "cf.yield" (%10, %7, %9) {} : (tensor<1xb>, tensor<1xi64>, tensor<2x3xf32>) -> ()
    }
    (%11) = "pd_op.fetch" (%4) {col:0,name:"fetch_name_0",persistable:[true],stop_gradient:[true]} : (tensor<1xi64>) -> tensor<1xi64>
    (%12) = "pd_op.fetch" (%5) {col:1,name:"fetch_name_1",persistable:[true],stop_gradient:[true]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
}
