# The public functions, where the layers are wired; and the library made of all of them.
noinst_LTLIBRARIES += libpdm_api.la
libpdm_api_la_CPPFLAGS = $(AM_CPPFLAGS)
libpdm_api_la_CFLAGS = $(PDM_LIB_CFLAGS)
libpdm_api_la_SOURCES = \
	src/api/api.h \
	src/api/bisect.c \
	src/api/bisect.h \
	src/api/bisect_report.c \
	src/api/bisect_run.c \
	src/api/bundle.c \
	src/api/cache.c \
	src/api/compare.c \
	src/api/context.c \
	src/api/convert.c \
	src/api/differences.c \
	src/api/dump.c \
	src/api/find.c \
	src/api/graph.c \
	src/api/launch.c \
	src/api/launch.h \
	src/api/legacy_run.c \
	src/api/model_info.c \
	src/api/model_load.c \
	src/api/model_params.c \
	src/api/optimize.c \
	src/api/plan.c \
	src/api/run.h \
	src/api/session.c \
	src/api/write.c

pdmincludedir = $(includedir)/pdmigrate
pdminclude_HEADERS = include/pdmigrate/pdmigrate.h

# What each layer needs to be linked, from the top down; unit tests and programs use these too.
PDM_BASE_LIBS = libpdm_base.la $(PDM_LIBM)
PDM_LG_LIBS = libpdm_lg.la $(PDM_BASE_LIBS) $(PROTOBUF_C_LIBS)
PDM_IR_LIBS = libpdm_ir.la $(PDM_BASE_LIBS) $(CJSON_LIBS)
PDM_TR_LIBS = libpdm_tr.la libpdm_lg.la $(PDM_IR_LIBS) $(PROTOBUF_C_LIBS)
PDM_CINN_LIBS = libpdm_cinn.la $(PDM_IR_LIBS)
PDM_EXEC_LIBS = libpdm_exec.la libpdm_cinn.la libpdm_lg.la $(PDM_IR_LIBS) $(PROTOBUF_C_LIBS)
PDM_API_LIBS = libpdm_api.la libpdm_exec.la libpdm_cinn.la $(PDM_TR_LIBS)

lib_LTLIBRARIES += libpdmigrate.la
libpdmigrate_la_SOURCES =
libpdmigrate_la_LIBADD = $(PDM_API_LIBS)
libpdmigrate_la_LDFLAGS = $(AM_LDFLAGS) -no-undefined -version-info $(PDM_LT_VERSION) \
	-Wl,--version-script=$(top_srcdir)/libpdmigrate.sym
EXTRA_libpdmigrate_la_DEPENDENCIES = libpdmigrate.sym
EXTRA_DIST += libpdmigrate.sym
