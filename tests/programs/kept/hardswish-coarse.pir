// a slope that is only about a sixth is no sixth
// data x set 0 = float32 2: -4 -2.9999
pir version 4 trainable {
 (%x) = "pd_op.data" () {name:"x",shape:ints[2],dtype:float32,place:Place(undefined:0)} : () -> tensor<2xf32>
 (%a) = "pd_op.hardsigmoid" (%x) {slope:0.16669,offset:0.5} : (tensor<2xf32>) -> tensor<2xf32>
 (%b) = "pd_op.multiply" (%x, %a) {} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
 (%f) = "pd_op.fetch" (%b) {name:"f",col:0} : (tensor<2xf32>) -> tensor<2xf32>
}
