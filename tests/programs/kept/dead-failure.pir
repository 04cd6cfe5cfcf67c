// an op that nobody needs fails: the channels of x are gone when it is empty
// data x set 0 = float32 2x3x1: 1 2 3 4 5 6
// data x set 1 = float32 0x3x1:
// parameter p = float32 3: 1 0.5 2
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:ints[-1,3,1]} : () -> tensor<-1x3x1xf32>
    (%1) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p"} : () -> tensor<3xf32>
    (%2) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0,0,1]} : () -> tensor<3xi64>
    (%3) = "pd_op.reshape" (%0, %2) {} : (tensor<-1x3x1xf32>, tensor<3xi64>) -> tensor<-1x3x1xf32>
    (%4, %5, %6, %7, %8, %9) = "pd_op.batch_norm" (%3, %1, %1, %1, %1) {data_format:"NCHW",epsilon:1e-05,is_test:true,momentum:0.9,trainable_statistics:false,use_global_stats:false} : (tensor<-1x3x1xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<-1x3x1xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<-1xf32>
    (%10) = "pd_op.fetch" (%3) {col:0,name:"f0"} : (tensor<-1x3x1xf32>) -> tensor<-1x3x1xf32>
}
