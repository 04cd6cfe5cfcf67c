// a product that is -0
// data x1 set 0 = float32 5x1x1x2: 0 0 0 0 0 0 0 0 0 0
// data r3 set 0 = float32 5x1x1x2: -2.298828125 -1.9013671875 -3.6083984375 -2.09765625 -0.75390625 1 -1.001953125 -1.498046875 -1.953125 -2
pir version 4 trainable {
    (%0) = "pd_op.data" () {dtype:float32,name:"r3",place:Place(undefined:0),shape:ints[5,-1,-1,2]} : () -> tensor<5x-1x-1x2xf32>
    (%1) = "pd_op.data" () {dtype:float32,name:"x1",place:Place(undefined:0),shape:ints[5,-1,-1,2]} : () -> tensor<5x-1x-1x2xf32>
    (%2) = "pd_op.multiply" (%0, %1) {} : (tensor<5x-1x-1x2xf32>, tensor<5x-1x-1x2xf32>) -> tensor<5x-1x-1x2xf32>
    (%3) = "pd_op.fetch" (%2) {col:0,name:"f2"} : (tensor<5x-1x-1x2xf32>) -> tensor<5x-1x-1x2xf32>
}
