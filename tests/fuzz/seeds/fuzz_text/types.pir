{
  (%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) = "legacy.types" () {} : () -> f32, tensor<f32>, tensor<2x-1xi64, NHWC, lod=[[0,1,2]], offset=3>,
    vec[tensor<1xf32>,<<NULL TYPE>>], pd_op.tensor_array<-1x4xf32>, pd_op.selected_rows<3xf32>, cf.stack, cf.inlet, cf.outlet,
    pd_op.sparse_coo<3x4xf32, SPARSE_COO, nnz=[2], elements=[tensor<2x2xi64>,tensor<2xf32>]>
}
