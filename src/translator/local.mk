# Legacy to PIR: base, legacy_graph, ir.
noinst_LTLIBRARIES += libpdm_tr.la
libpdm_tr_la_CFLAGS = $(PDM_LIB_CFLAGS)
libpdm_tr_la_SOURCES = \
	src/translator/attr.c \
	src/translator/control_flow.c \
	src/translator/emit.c \
	src/translator/expressed.c \
	src/translator/expressed.h \
	src/translator/expressed_detection.c \
	src/translator/expressed_fused.c \
	src/translator/expressed_interp.c \
	src/translator/expressed_lod.c \
	src/translator/expressed_loss.c \
	src/translator/expressed_mining.c \
	src/translator/expressed_misc.c \
	src/translator/expressed_nms.c \
	src/translator/expressed_rank.c \
	src/translator/expressed_recurrent.c \
	src/translator/expressed_sequence.c \
	src/translator/expressed_shape.c \
	src/translator/flow.c \
	src/translator/flow.h \
	src/translator/generic.c \
	src/translator/handlers.def \
	src/translator/handlers_expressed.def \
	src/translator/handlers_flow.def \
	src/translator/handlers_io.def \
	src/translator/handlers_special.def \
	src/translator/io.c \
	src/translator/io.h \
	src/translator/legacy_op.c \
	src/translator/legacy_op.h \
	src/translator/map.c \
	src/translator/map.h \
	src/translator/op_map.def \
	src/translator/report.c \
	src/translator/scope.c \
	src/translator/special.c \
	src/translator/special.h \
	src/translator/special_array.c \
	src/translator/special_math.c \
	src/translator/special_misc.c \
	src/translator/special_nn.c \
	src/translator/special_tensor.c \
	src/translator/tr.h \
	src/translator/training.def \
	src/translator/translate.c \
	src/translator/translate.h \
	src/translator/unsupported.def
