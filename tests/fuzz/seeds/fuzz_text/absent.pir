{
  (%0) = "legacy.source" () {} : () -> tensor<2xf32>
  (%1, %2) = "pd_op.dropout" (%0, <<NULL VALUE>>, %0) {p:0.5} : (tensor<2xf32>, <<NULL TYPE>>, tensor<2xf32>) -> tensor<2xf32>, <<NULL TYPE>>
}
