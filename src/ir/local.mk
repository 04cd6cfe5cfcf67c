# PIR: base, and cJSON in pir_json_read.c.
noinst_LTLIBRARIES += libpdm_ir.la
libpdm_ir_la_CPPFLAGS = $(AM_CPPFLAGS) $(CJSON_CFLAGS)
libpdm_ir_la_CFLAGS = $(PDM_LIB_CFLAGS)

# core
libpdm_ir_la_SOURCES = \
	src/ir/align.c \
	src/ir/align.h \
	src/ir/ancestors.c \
	src/ir/ancestors.h \
	src/ir/attr.c \
	src/ir/context.c \
	src/ir/decl.c \
	src/ir/ir.h \
	src/ir/ir_t.h \
	src/ir/module.c \
	src/ir/op.c \
	src/ir/op_codes.h \
	src/ir/op_info.h \
	src/ir/op_table.c \
	src/ir/ops/builtin.def \
	src/ir/ops/cf.def \
	src/ir/ops/cinn_op.def \
	src/ir/ops/fast.def \
	src/ir/ops/inplace.def \
	src/ir/ops/pd_op.def \
	src/ir/region.c \
	src/ir/type.c \
	src/ir/verify.c \
	src/ir/verify_cf.c \
	src/ir/version.c

# PIR JSON
libpdm_ir_la_SOURCES += \
	src/ir/json_scan.c \
	src/ir/json_scan.h \
	src/ir/literal.c \
	src/ir/literal.h \
	src/ir/pir_json.h \
	src/ir/pir_json_check.c \
	src/ir/pir_json_op.c \
	src/ir/pir_json_program.c \
	src/ir/pir_json_read.c \
	src/ir/pir_json_read.h \
	src/ir/pir_json_tags.h \
	src/ir/pir_json_write.c \
	src/ir/pir_json_write.h

# text form
libpdm_ir_la_SOURCES += \
	src/ir/dot.c \
	src/ir/parse.c \
	src/ir/parse_attr.c \
	src/ir/print.c \
	src/ir/print_attr.c \
	src/ir/scratch.h \
	src/ir/text.h \
	src/ir/text_lex.c \
	src/ir/text_lex.h \
	src/ir/text_names.h

# dims as expressions, infer-meta
libpdm_ir_la_SOURCES += \
	src/ir/dim.c \
	src/ir/dim.h \
	src/ir/dim_print.c \
	src/ir/dim_solve.c \
	src/ir/infer.c \
	src/ir/infer.h \
	src/ir/infer_control.c \
	src/ir/infer_creation.c \
	src/ir/infer_detection.c \
	src/ir/infer_dims.c \
	src/ir/infer_elementwise.c \
	src/ir/fast_steps.h \
	src/ir/infer_fast.c \
	src/ir/infer_hooks.def \
	src/ir/infer_impl.h \
	src/ir/infer_linalg.c \
	src/ir/infer_manip.c \
	src/ir/infer_misc.c \
	src/ir/infer_module.c \
	src/ir/infer_nn.c \
	src/ir/infer_reduce.c \
	src/ir/infer_spec.c \
	src/ir/shape_data.def \
	src/ir/shapes.c \
	src/ir/shapes.h \
	src/ir/shapes_data.c \
	src/ir/shapes_impl.h \
	src/ir/shapes_print.c

# passes: framework
libpdm_ir_la_SOURCES += \
	src/ir/channels.c \
	src/ir/channels.h \
	src/ir/constants.c \
	src/ir/constants.h \
	src/ir/effects.c \
	src/ir/effects.h \
	src/ir/make.c \
	src/ir/make.h \
	src/ir/pass.c \
	src/ir/pass.h \
	src/ir/picture.c \
	src/ir/picture.h \
	src/ir/rewrite.c \
	src/ir/rewrite.h

include src/ir/passes/local.mk
