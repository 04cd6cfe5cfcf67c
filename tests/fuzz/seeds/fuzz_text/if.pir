{
  (%c) = "legacy.cond" () {} : () -> tensor<b>
  (%x) = "legacy.x" () {} : () -> tensor<2xf32>
  (%y) = "pd_op.if" (%c) {} : (tensor<b>) -> tensor<2xf32> {
    (%a) = "pd_op.relu" (%x) {} : (tensor<2xf32>) -> tensor<2xf32>
    () = "cf.yield" (%a) {} : (tensor<2xf32>) -> ()
  } else {
    () = "cf.yield" (%x) {} : (tensor<2xf32>) -> ()
  }
  (%z) = "pd_op.relu" (%y) {} : (tensor<2xf32>) -> tensor<2xf32>
}
