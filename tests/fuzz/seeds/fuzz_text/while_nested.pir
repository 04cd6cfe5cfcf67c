{
  (%c) = "legacy.cond" () {} : () -> tensor<b>
  (%x) = "legacy.x" () {} : () -> tensor<2xf32>
  (%y) = "pd_op.while" (%c, %x) {} : (tensor<b>, tensor<2xf32>) -> tensor<2xf32> {
    ^(%i: tensor<2xf32>)
    (%z) = "pd_op.while" (%c, %i) {} : (tensor<b>, tensor<2xf32>) -> tensor<2xf32> {
      ^(%k: tensor<2xf32>)
      (%s) = "pd_op.add" (%k, %i) {} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      () = "cf.yield" (%c, %s) {} : (tensor<b>, tensor<2xf32>) -> ()
    }
    () = "cf.yield" (%c, %z) {} : (tensor<b>, tensor<2xf32>) -> ()
  }
}
