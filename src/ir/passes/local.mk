# Passes: a file and a row of passes.def each.
libpdm_ir_la_SOURCES += \
	src/ir/passes/activation.c \
	src/ir/passes/affine.c \
	src/ir/passes/affine.h \
	src/ir/passes/branch.c \
	src/ir/passes/broadcast.c \
	src/ir/passes/carried.c \
	src/ir/passes/conv_bn.c \
	src/ir/passes/cse.c \
	src/ir/passes/dce.c \
	src/ir/passes/dims.c \
	src/ir/passes/fc.c \
	src/ir/passes/fold.c \
	src/ir/passes/hoist.c \
	src/ir/passes/identity.c \
	src/ir/passes/in_place.c \
	src/ir/passes/linear.c \
	src/ir/passes/matmul.c \
	src/ir/passes/passes.def \
	src/ir/passes/same.c \
	src/ir/passes/same.h \
	src/ir/passes/shape.c \
	src/ir/passes/sink.c \
	src/ir/passes/unroll.c
