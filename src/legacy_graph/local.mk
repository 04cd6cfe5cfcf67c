# Legacy programs: base, and protobuf-c (this folder is its only user).
noinst_LTLIBRARIES += libpdm_lg.la
libpdm_lg_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)/proto -I$(top_srcdir)/proto \
	$(PROTOBUF_C_CFLAGS)
libpdm_lg_la_CFLAGS = $(PDM_LIB_CFLAGS)
libpdm_lg_la_LIBADD = libpdm_pb.la
# For a build of one program only, which makes no BUILT_SOURCES.
$(libpdm_lg_la_OBJECTS): proto/framework.pb-c.h
libpdm_lg_la_SOURCES = \
	src/legacy_graph/check.c \
	src/legacy_graph/cinn_dot.c \
	src/legacy_graph/cinn_dot.h \
	src/legacy_graph/cinn_eligible.c \
	src/legacy_graph/cinn_extract.c \
	src/legacy_graph/cinn_extract.h \
	src/legacy_graph/cinn_impl.h \
	src/legacy_graph/cinn_mem_opt.c \
	src/legacy_graph/cinn_mem_opt.h \
	src/legacy_graph/cinn_pass.c \
	src/legacy_graph/cinn_pass.h \
	src/legacy_graph/cinn_sets.c \
	src/legacy_graph/cinn_subgraph.c \
	src/legacy_graph/cinn_table.c \
	src/legacy_graph/cinn_table.h \
	src/legacy_graph/copy.c \
	src/legacy_graph/copy.h \
	src/legacy_graph/detector.c \
	src/legacy_graph/detector.h \
	src/legacy_graph/dump.c \
	src/legacy_graph/dump.h \
	src/legacy_graph/graph.c \
	src/legacy_graph/graph.h \
	src/legacy_graph/graph_order.c \
	src/legacy_graph/graph_program.c \
	src/legacy_graph/mappers.def \
	src/legacy_graph/names.c \
	src/legacy_graph/names.h \
	src/legacy_graph/no_need_buffer.def \
	src/legacy_graph/op_schema.def \
	src/legacy_graph/program.c \
	src/legacy_graph/program.h \
	src/legacy_graph/read.c \
	src/legacy_graph/read.h \
	src/legacy_graph/report.h \
	src/legacy_graph/schema.c \
	src/legacy_graph/schema.h \
	src/legacy_graph/wire.c \
	src/legacy_graph/wire.h \
	src/legacy_graph/write.c \
	src/legacy_graph/write.h
