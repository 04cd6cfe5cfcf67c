pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x0",place:Place(undefined:0),shape:ints[-1]} : () -> tensor<-1xf32>
    (%1) = "pd_op.data" () {dtype:float32,name:"x1",place:Place(undefined:0),shape:ints[5,-1]} : () -> tensor<5x-1xf32>
    (%2) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[0]} : () -> tensor<1xi64>
    (%3) = "pd_op.mean" (%0, %2) {keepdim:false} : (tensor<-1xf32>, tensor<1xi64>) -> tensor<f32>
    (%4) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.046875)} : () -> tensor<1xf32>
    (%5) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.0)} : () -> tensor<1xf32>
    (%6, %7, %8, %9) = "pd_op.quantize_linear" (%1, %4, %5, <<NULL VALUE>>, <<NULL VALUE>>) {bit_length:8,is_test:true,only_observer:false,qmax:127,qmin:-128,quant_axis:-1,round_type:1} : (tensor<5x-1xf32>, tensor<1xf32>, tensor<1xf32>, <<NULL TYPE>>, <<NULL TYPE>>) -> tensor<5x-1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
    (%10, %11, %12, %13) = "pd_op.dequantize_linear" (%6, %4, %5, <<NULL VALUE>>, <<NULL VALUE>>) {bit_length:8,is_test:true,only_observer:false,qmax:127,qmin:-128,quant_axis:-1,round_type:1} : (tensor<5x-1xf32>, tensor<1xf32>, tensor<1xf32>, <<NULL TYPE>>, <<NULL TYPE>>) -> tensor<5x-1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
    (%14) = "pd_op.transpose" (%6) {perm:[1,0]} : (tensor<5x-1xf32>) -> tensor<-1x5xf32>
    (%15) = "pd_op.matmul" (%6, %14) {transpose_x:false,transpose_y:false} : (tensor<5x-1xf32>, tensor<-1x5xf32>) -> tensor<5x5xf32>
    (%16) = "pd_op.tanh" (%15) {} : (tensor<5x5xf32>) -> tensor<5x5xf32>
    (%17) = "pd_op.fmax" (%0, %0) {} : (tensor<-1xf32>, tensor<-1xf32>) -> tensor<-1xf32>
    (%18) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:[]} : () -> tensor<0xi64>
    (%19) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.0)} : () -> tensor<1xf32>
    (%20) = "pd_op.sum" (%0, %18) {dtype:Undefined,keepdim:false} : (tensor<-1xf32>, tensor<0xi64>) -> tensor<f32>
    (%21) = "pd_op.greater_than" (%20, %19) {} : (tensor<f32>, tensor<1xf32>) -> tensor<1xb>
    (%22) = "pd_op.if" (%21) {} : (tensor<1xb>) -> tensor<-1xf32> {
        () = "cf.yield" (%17) {} : (tensor<-1xf32>) -> ()
    } else {
        (%23) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),value:i64[2,2]} : () -> tensor<2xi64>
        (%24) = "pd_op.tile" (%16, %23) {} : (tensor<5x5xf32>, tensor<2xi64>) -> tensor<10x10xf32>
        (%25) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(2.0)} : () -> tensor<1xf32>
        (%26) = "pd_op.scale" (%10, %25) {bias:scalar<f64>(0.0),bias_after_scale:true} : (tensor<5x-1xf32>, tensor<1xf32>) -> tensor<5x-1xf32>
        (%27) = "pd_op.sin" (%17) {} : (tensor<-1xf32>) -> tensor<-1xf32>
        (%28) = "pd_op.multiply" (%27, %27) {} : (tensor<-1xf32>, tensor<-1xf32>) -> tensor<-1xf32>
        () = "cf.yield" (%28) {} : (tensor<-1xf32>) -> ()
    }
    (%29) = "pd_op.fetch" (%22) {col:0,name:"f0"} : (tensor<-1xf32>) -> tensor<-1xf32>
    (%30) = "pd_op.fetch" (%3) {col:1,name:"f1"} : (tensor<f32>) -> tensor<f32>
}
