# Unit tests: one program a layer, linked only with the layers below it, so that an upward call does
# not link. A new suite is one file `tests/unit/<layer>/<name>.c` that defines
# `Suite *pdm_suite_<name>(void)`, one line here and one row in check_<layer>.c (see main.h).
unit_tests =
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

unit_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CHECK_CFLAGS)

unit_tests += tests/unit/check_base
tests_unit_check_base_CPPFLAGS = $(unit_cppflags)
tests_unit_check_base_LDADD = $(PDM_BASE_LIBS) $(CHECK_LIBS)
tests_unit_check_base_SOURCES = \
	tests/unit/base/containers.c \
	tests/unit/base/diag.c \
	tests/unit/base/file.c \
	tests/unit/base/npz.c \
	tests/unit/base/params.c \
	tests/unit/base/scratch.h \
	tests/unit/base/status.c \
	tests/unit/base/tensor.c \
	tests/unit/base/text.c \
	tests/unit/check_base.c \
	tests/unit/comma_locale.h \
	tests/unit/main.h \
	tests/unit/must.h

unit_tests += tests/unit/check_lg
tests_unit_check_lg_CPPFLAGS = $(unit_cppflags) \
	-I$(top_builddir)/proto -I$(top_srcdir)/proto $(PROTOBUF_C_CFLAGS)
tests_unit_check_lg_LDADD = $(PDM_LG_LIBS) $(CHECK_LIBS)
tests_unit_check_lg_SOURCES = \
	tests/unit/lg/check.c \
	tests/unit/lg/cinn.c \
	tests/unit/lg/cinn_programs.c \
	tests/unit/lg/cinn_random.c \
	tests/unit/lg/cinn_table.c \
	tests/unit/lg/detector.c \
	tests/unit/lg/draft.c \
	tests/unit/lg/draft.h \
	tests/unit/lg/dump.c \
	tests/unit/lg/graph.c \
	tests/unit/lg/proto.c \
	tests/unit/lg/read.c \
	tests/unit/lg/schema.c \
	tests/unit/lg/support.c \
	tests/unit/lg/support.h \
	tests/unit/lg/wire.c \
	tests/unit/check_lg.c \
	tests/unit/main.h \
	tests/unit/must.h

# This program counts allocations and makes them fail.
unit_tests += tests/unit/check_ir
tests_unit_check_ir_CPPFLAGS = $(unit_cppflags)
tests_unit_check_ir_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
tests_unit_check_ir_LDADD = $(PDM_IR_LIBS) $(CHECK_LIBS)
tests_unit_check_ir_SOURCES = \
	tests/unit/ir/align.c \
	tests/unit/ir/alloc.c \
	tests/unit/ir/alloc.h \
	tests/unit/ir/build.h \
	tests/unit/ir/dims.c \
	tests/unit/ir/forms.h \
	tests/unit/ir/infer_ops.c \
	tests/unit/ir/infer_rows.c \
	tests/unit/ir/interning.c \
	tests/unit/ir/json_read.c \
	tests/unit/ir/json_scan.c \
	tests/unit/ir/json_write.c \
	tests/unit/ir/module.c \
	tests/unit/ir/ops.c \
	tests/unit/ir/passes.c \
	tests/unit/ir/table.c \
	tests/unit/ir/text.c \
	tests/unit/ir/verify.c \
	tests/unit/check_ir.c \
	tests/unit/main.h \
	tests/unit/must.h

unit_tests += tests/unit/check_tr
tests_unit_check_tr_CPPFLAGS = $(unit_cppflags)
tests_unit_check_tr_LDADD = $(PDM_TR_LIBS) $(CHECK_LIBS)
tests_unit_check_tr_SOURCES = \
	tests/unit/tr/special.c \
	tests/unit/tr/support.c \
	tests/unit/tr/support.h \
	tests/unit/check_tr.c \
	tests/unit/main.h \
	tests/unit/must.h

unit_tests += tests/unit/check_cinn
tests_unit_check_cinn_CPPFLAGS = $(unit_cppflags)
tests_unit_check_cinn_LDADD = $(PDM_CINN_LIBS) $(CHECK_LIBS)
tests_unit_check_cinn_SOURCES = \
	tests/unit/base/scratch.h \
	tests/unit/cinn/cache.c \
	tests/unit/cinn/loop_expr.c \
	tests/unit/cinn/loop_math.c \
	tests/unit/cinn/schedule.c \
	tests/unit/cinn/schedule_random.c \
	tests/tools/emulated.c \
	tests/tools/emulated.h \
	tests/tools/emulator.c \
	tests/tools/emulator.h \
	tests/unit/check_cinn.c \
	tests/unit/main.h

unit_tests += tests/unit/check_exec
tests_unit_check_exec_CPPFLAGS = $(unit_cppflags)
tests_unit_check_exec_LDADD = $(PDM_EXEC_LIBS) $(CHECK_LIBS)
tests_unit_check_exec_SOURCES = \
	tests/unit/exec/call.h \
	tests/unit/exec/executor.c \
	tests/unit/exec/hoist.c \
	tests/unit/exec/kernels_fast.c \
	tests/unit/exec/kernels_math.c \
	tests/unit/exec/kernels_move.c \
	tests/unit/exec/kernels_nn.c \
	tests/unit/exec/legacy.c \
	tests/unit/exec/lower.c \
	tests/unit/exec/memory.c \
	tests/unit/exec/pool.c \
	tests/unit/check_exec.c \
	tests/unit/main.h \
	tests/unit/must.h

unit_tests += tests/unit/check_api
tests_unit_check_api_CPPFLAGS = $(unit_cppflags)
tests_unit_check_api_LDADD = $(PDM_API_LIBS) $(CHECK_LIBS)
tests_unit_check_api_SOURCES = \
	tests/unit/api/bisect.c \
	tests/unit/api/compare.c \
	tests/unit/api/context.c \
	tests/unit/api/convert.c \
	tests/unit/api/graph.c \
	tests/unit/api/mappers.c \
	tests/unit/api/model.c \
	tests/unit/api/run.c \
	tests/unit/api/support.c \
	tests/unit/api/support.h \
	tests/unit/api/write.c \
	tests/unit/check_api.c \
	tests/unit/main.h \
	tests/unit/must.h
