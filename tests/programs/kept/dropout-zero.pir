// dropout of test runs leaves -0 as it is, like the pass that takes it away
// data x set 0 = float32 2x4: -0 0 1 -1 -0 2 -2 0
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:ints[2,4]} : () -> tensor<2x4xf32>
    (%1) = "pd_op.full" () {dtype:float32,place:Place(cpu),shape:ints[1],value:scalar<f64>(0.25)} : () -> tensor<1xf32>
    (%2, %3) = "pd_op.dropout" (%0, <<NULL VALUE>>, %1) {fix_seed:false,is_test:true,mode:"upscale_in_train",seed:0} : (tensor<2x4xf32>, <<NULL TYPE>>, tensor<1xf32>) -> tensor<2x4xf32>, tensor<2x4xu8>
    (%4) = "pd_op.fetch" (%2) {col:0,name:"f0"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
}
