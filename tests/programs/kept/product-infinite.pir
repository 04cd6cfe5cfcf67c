// products of an infinite operand, of which the weights are multiplied first
// data r3 set 0 = float32 4x4x1x1: -2.0534758567810059 19.69230842590332 0.375 -0.89043480157852173 -2.0398406982421875 0.8416438102722168 -0.77380353212356567 1.5298805236816406 -1.8070588111877441 inf 8.1702127456665039 -1.135254979133606 -7.2452831268310547 1.8731707334518433 -1.8939580917358398 -1.6392742395401001
// parameter p0 = float32 4x1: 1 1 1 1
// parameter p2 = float32 12: -0.2587890625 -0.1552734375 -0.6142578125 -1.4033203125 1.87109375 0.65625 0.5546875 0.8681640625 -0.7978515625 -0.1201171875 0.060546875 -0.9697265625
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"r3",place:Place(undefined:0),shape:ints[-1,4,1,1]} : () -> tensor<-1x4x1x1xf32>
    (%1) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p0"} : () -> tensor<4x1xf32>
    (%2) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[false],parameter_name:"p2"} : () -> tensor<12xf32>
    (%3) = "pd_op.matmul" (%0, %1) {transpose_x:false,transpose_y:true} : (tensor<-1x4x1x1xf32>, tensor<4x1xf32>) -> tensor<-1x4x1x4xf32>
    (%4) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[4,3]} : () -> tensor<2xi64>
    (%5) = "pd_op.reshape" (%2, %4) {} : (tensor<12xf32>, tensor<2xi64>) -> tensor<4x3xf32>
    (%6) = "pd_op.matmul" (%3, %5) {transpose_x:false,transpose_y:false} : (tensor<-1x4x1x4xf32>, tensor<4x3xf32>) -> tensor<-1x4x1x3xf32>
    (%7) = "pd_op.fetch" (%6) {col:0,name:"f0"} : (tensor<-1x4x1x3xf32>) -> tensor<-1x4x1x3xf32>
}
