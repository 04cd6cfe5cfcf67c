pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[3]} : () -> tensor<3xf32>
    (%1) = "pd_op.data" () {dtype:bool,name:"x1",place:Place(undefined:0),shape:ints[5,2]} : () -> tensor<5x2xb>
    (%2) = "pd_op.add" (%0, %0) {} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    (%3) = "pd_op.stanh" (%0) {scale_a:0.67,scale_b:1.7159} : (tensor<3xf32>) -> tensor<3xf32>
    (%4) = "pd_op.minimum" (%0, %2) {} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    (%5) = "pd_op.where" (%1, %1, %1) {} : (tensor<5x2xb>, tensor<5x2xb>, tensor<5x2xb>) -> tensor<5x2xb>
    (%6) = "pd_op.fetch" (%5) {col:0,name:"f0"} : (tensor<5x2xb>) -> tensor<5x2xb>
    (%7) = "pd_op.fetch" (%4) {col:1,name:"f1"} : (tensor<3xf32>) -> tensor<3xf32>
    (%8) = "pd_op.fetch" (%3) {col:2,name:"f2"} : (tensor<3xf32>) -> tensor<3xf32>
}
