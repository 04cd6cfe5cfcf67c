# Running programs: base, legacy_graph, ir, cinn.
noinst_LTLIBRARIES += libpdm_exec.la
libpdm_exec_la_CFLAGS = $(PDM_LIB_CFLAGS)

# executor
libpdm_exec_la_SOURCES = \
	src/exec/compiled.c \
	src/exec/compiled.h \
	src/exec/device.c \
	src/exec/device.h \
	src/exec/device_loops.c \
	src/exec/device_loops.h \
	src/exec/differences.c \
	src/exec/differences.def \
	src/exec/differences.h \
	src/exec/element.c \
	src/exec/constants.c \
	src/exec/constants.h \
	src/exec/executor.c \
	src/exec/executor.h \
	src/exec/kernel.c \
	src/exec/kernel.h \
	src/exec/kernel_table.c \
	src/exec/memory.c \
	src/exec/memory.h \
	src/exec/mirror.c \
	src/exec/mirror.h \
	src/exec/no_kernel.c \
	src/exec/no_kernel.def \
	src/exec/no_kernel.h \
	src/exec/plan.c \
	src/exec/plan.h \
	src/exec/plan_fold.c \
	src/exec/plan_order.c \
	src/exec/pool.c \
	src/exec/pool.h \
	src/exec/precompile.c \
	src/exec/precompile.h \
	src/exec/sizes.c \
	src/exec/sizes.h \
	src/exec/trace.c \
	src/exec/trace.h \
	src/exec/value.c \
	src/exec/value.h

# kernels: one block a family
libpdm_exec_la_SOURCES += \
	src/exec/kernels/array.c \
	src/exec/kernels/constant.c \
	src/exec/kernels/control.def \
	src/exec/kernels/dispatch.h \
	src/exec/kernels/kernels.def

# layers of networks
libpdm_exec_la_SOURCES += \
	src/exec/kernels/fused.def \
	src/exec/kernels/fused_attention.c \
	src/exec/kernels/fused_element.c \
	src/exec/kernels/fused_linear.c \
	src/exec/kernels/fused_lod_rnn.c \
	src/exec/kernels/fused_norm.c \
	src/exec/kernels/fused_sequence.c \
	src/exec/kernels/loss.def \
	src/exec/kernels/loss_class.c \
	src/exec/kernels/loss_element.c \
	src/exec/kernels/loss_sample.c \
	src/exec/kernels/loss_sequence.c \
	src/exec/kernels/nn.def \
	src/exec/kernels/nn_device.h \
	src/exec/kernels/nn_antialias.c \
	src/exec/kernels/nn_conv.c \
	src/exec/kernels/nn_core.c \
	src/exec/kernels/nn_deform.c \
	src/exec/kernels/nn_einsum.c \
	src/exec/kernels/nn_gemm.c \
	src/exec/kernels/nn_grid.c \
	src/exec/kernels/nn_impl.h \
	src/exec/kernels/nn_interp.c \
	src/exec/kernels/nn_interp.h \
	src/exec/kernels/nn_lod_impl.h \
	src/exec/kernels/nn_lod_rnn.c \
	src/exec/kernels/nn_matmul.c \
	src/exec/kernels/nn_norm.c \
	src/exec/kernels/nn_norm_misc.c \
	src/exec/kernels/nn_pool.c \
	src/exec/kernels/nn_pool.h \
	src/exec/kernels/nn_rnn.c \
	src/exec/kernels/nn_single.h \
	src/exec/kernels/nn_window.c

# elementwise functions and reductions
libpdm_exec_la_SOURCES += \
	src/exec/kernels/math.def \
	src/exec/kernels/math_activation.c \
	src/exec/kernels/math_binary.c \
	src/exec/kernels/math_cast.c \
	src/exec/kernels/math_compare.c \
	src/exec/kernels/math_complex.c \
	src/exec/kernels/math_elementary.c \
	src/exec/kernels/math_engine.c \
	src/exec/kernels/math_impl.h \
	src/exec/kernels/math_misc.c \
	src/exec/kernels/math_scale.c \
	src/exec/kernels/math_special.c \
	src/exec/kernels/reduce.c \
	src/exec/kernels/reduce.def \
	src/exec/kernels/reduce_arg.c \
	src/exec/kernels/reduce_count.c \
	src/exec/kernels/reduce_engine.c \
	src/exec/kernels/reduce_impl.h \
	src/exec/kernels/reduce_order.c \
	src/exec/kernels/reduce_scan.c \
	src/exec/kernels/reduce_softmax.c \
	src/exec/kernels/reduce_sort.c \
	src/exec/kernels/reduce_unique.c

# vision, detection, sequences, linear algebra, quantization
libpdm_exec_la_SOURCES += \
	src/exec/kernels/detection.def \
	src/exec/kernels/detection_boxes.c \
	src/exec/kernels/detection_common.c \
	src/exec/kernels/detection_impl.h \
	src/exec/kernels/detection_match.c \
	src/exec/kernels/detection_nms.c \
	src/exec/kernels/detection_priors.c \
	src/exec/kernels/detection_proposals.c \
	src/exec/kernels/detection_yolo.c \
	src/exec/kernels/linalg.def \
	src/exec/kernels/linalg_dense.c \
	src/exec/kernels/linalg_dense.h \
	src/exec/kernels/linalg_eigen.c \
	src/exec/kernels/linalg_fft.c \
	src/exec/kernels/linalg_solve.c \
	src/exec/kernels/linalg_spectrum.c \
	src/exec/kernels/scratch.c \
	src/exec/kernels/scratch.h \
	src/exec/kernels/sequence.def \
	src/exec/kernels/sequence_beam.c \
	src/exec/kernels/sequence_crf.c \
	src/exec/kernels/sequence_eval.c \
	src/exec/kernels/sequence_graph.c \
	src/exec/kernels/sequence_grid.c \
	src/exec/kernels/sequence_pool.c \
	src/exec/kernels/sequence_pyramid.c \
	src/exec/kernels/sequence_rows.c \
	src/exec/kernels/sequence_sample.c \
	src/exec/kernels/sequence_text.c \
	src/exec/kernels/vision.def \
	src/exec/kernels/vision_correlation.c \
	src/exec/kernels/vision_roi.c

# shapes, moves, creation, random numbers; elements by index
libpdm_exec_la_SOURCES += \
	src/exec/kernels/index.def \
	src/exec/kernels/index_gather.c \
	src/exec/kernels/index_lookup.c \
	src/exec/kernels/index_experts.c \
	src/exec/kernels/index_mask.c \
	src/exec/kernels/index_scatter.c \
	src/exec/kernels/tensor.def \
	src/exec/kernels/tensor_create.c \
	src/exec/kernels/tensor_diag.c \
	src/exec/kernels/tensor_image.c \
	src/exec/kernels/tensor_impl.c \
	src/exec/kernels/tensor_impl.h \
	src/exec/kernels/tensor_join.c \
	src/exec/kernels/tensor_move.c \
	src/exec/kernels/tensor_pad.c \
	src/exec/kernels/tensor_random.c \
	src/exec/kernels/tensor_shape.c \
	src/exec/kernels/tensor_slice.c

# fast kernels
libpdm_exec_la_SOURCES += \
	src/exec/fast/conv.c \
	src/exec/fast/conv_impl.h \
	src/exec/fast/deconv.c \
	src/exec/fast/dense.c \
	src/exec/fast/dense.h \
	src/exec/fast/dense_tile.h \
	src/exec/fast/depthwise.c \
	src/exec/fast/depthwise.h \
	src/exec/fast/depthwise_tile.h \
	src/exec/fast/dialect.def \
	src/exec/fast/element.c \
	src/exec/fast/fast.def \
	src/exec/fast/fold.c \
	src/exec/fast/linear.c \
	src/exec/fast/post.c \
	src/exec/fast/post.h \
	src/exec/fast/product.def \
	src/exec/fast/separable.c \
	src/exec/fast/simd.c \
	src/exec/fast/simd.h \
	src/exec/fast/vmath.h

# lowering for fast kernels
libpdm_exec_la_SOURCES += \
	src/exec/lower/fuse.c \
	src/exec/lower/layout.c \
	src/exec/lower/lower.c \
	src/exec/lower/lower.h \
	src/exec/lower/lower_impl.h \
	src/exec/lower/norm.c \
	src/exec/lower/separable.c \
	src/exec/lower/small_images.c

# fast kernels of single ops
libpdm_exec_la_SOURCES += \
	src/exec/fast/binary.c \
	src/exec/fast/element.def \
	src/exec/fast/interp.c \
	src/exec/fast/lanes.h \
	src/exec/fast/layers.def \
	src/exec/fast/norm.c \
	src/exec/fast/pool.c \
	src/exec/fast/unary.c

# legacy programs as they are
libpdm_exec_la_SOURCES += \
	src/exec/legacy_bind.c \
	src/exec/legacy_bind.def \
	src/exec/legacy_bind.h \
	src/exec/legacy_impl.h \
	src/exec/legacy_interp.c \
	src/exec/legacy_interp.h \
	src/exec/legacy_lod.def \
	src/exec/legacy_plan.c \
	src/exec/legacy_plan_op.c \
	src/exec/kernels/legacy.def \
	src/exec/kernels/legacy_fused.c \
	src/exec/kernels/legacy_loss.c \
	src/exec/kernels/legacy_math.c \
	src/exec/kernels/legacy_misc.c \
	src/exec/kernels/legacy_nms.c \
	src/exec/kernels/legacy_rank.c \
	src/exec/kernels/legacy_shape.c \
	src/exec/kernels/legacy_sub.c \
	src/exec/kernels/legacy_sub.h

# quantization
libpdm_exec_la_SOURCES += \
	src/exec/kernels/quant.c \
	src/exec/kernels/quant.def
