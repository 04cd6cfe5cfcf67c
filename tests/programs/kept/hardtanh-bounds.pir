// the lower bound is looked at first when it is the larger one
// data x set 0 = float32 6: 0 -1 5 nan 0.5 1
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:ints[6]} : () -> tensor<6xf32>
    (%1) = "pd_op.abs" (%0) {} : (tensor<6xf32>) -> tensor<6xf32>
    (%2) = "pd_op.hardtanh" (%1) {t_max:0.1,t_min:2.0} : (tensor<6xf32>) -> tensor<6xf32>
    (%3) = "pd_op.fetch" (%2) {col:0,name:"f0"} : (tensor<6xf32>) -> tensor<6xf32>
}
