pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[3,3,7,7]} : () -> tensor<3x3x7x7xf32>
    (%1) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[2,2]} : () -> tensor<2xi64>
    (%2) = "pd_op.pool2d" (%0, %1) {adaptive:false,ceil_mode:false,data_format:"NCHW",exclusive:true,global_pooling:false,padding_algorithm:"EXPLICIT",paddings:i64[0,0],pooling_type:"max",strides:i64[1,1]} : (tensor<3x3x7x7xf32>, tensor<2xi64>) -> tensor<3x3x6x6xf32>
    (%3) = "pd_op.tan" (%2) {} : (tensor<3x3x6x6xf32>) -> tensor<3x3x6x6xf32>
    (%4) = "pd_op.fetch" (%3) {col:0,name:"f0"} : (tensor<3x3x6x6xf32>) -> tensor<3x3x6x6xf32>
}
