pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[5,2,4,1]} : () -> tensor<5x2x4x1xf32>
    (%1) = "pd_op.channel_shuffle" (%0) {data_format:"NCHW",groups:2} : (tensor<5x2x4x1xf32>) -> tensor<5x2x4x1xf32>
    (%2) = "pd_op.hardsigmoid" (%1) {offset:0.5,slope:0.16666667} : (tensor<5x2x4x1xf32>) -> tensor<5x2x4x1xf32>
    (%3) = "pd_op.multiply" (%1, %2) {} : (tensor<5x2x4x1xf32>, tensor<5x2x4x1xf32>) -> tensor<5x2x4x1xf32>
    (%4) = "pd_op.fetch" (%3) {col:0,name:"f0"} : (tensor<5x2x4x1xf32>) -> tensor<5x2x4x1xf32>
}
