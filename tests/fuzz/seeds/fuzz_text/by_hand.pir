// comment
{
  (%in)="pd_op.data"(){place:Place(undefined:0),name:"x", // comment
    shape:ints[2,3],dtype:float32}:()->tensor<2x3xf32>
  (%out) = "pd_op.relu" ( %in ) { stop_gradient : [ true ] } : ( tensor<2x3xf32> ) -> tensor< 2 x 3 x f32 >
}
