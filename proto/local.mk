# Generated code is shipped, so a build from the tarball needs no regeneration. The stamp makes one
# protoc-c run for both files, also under -j.
pdm_pb_files = proto/framework.pb-c.c proto/framework.pb-c.h

EXTRA_DIST += proto/framework.proto $(pdm_pb_files) proto/framework.stamp
BUILT_SOURCES += $(pdm_pb_files)
MAINTAINERCLEANFILES += $(pdm_pb_files) proto/framework.stamp

proto/framework.stamp: proto/framework.proto
	$(AM_V_GEN)$(MKDIR_P) proto && rm -f $@ && \
	$(PROTOC_C) --proto_path=$(srcdir)/proto --c_out=proto $(srcdir)/proto/framework.proto && \
	: >$@

# One after the other, so that no two of them make the stamp at once when a file was removed.
proto/framework.pb-c.c: proto/framework.stamp
	@test -f $@ || test -f $(srcdir)/$@ || $(pdm_pb_remake)
proto/framework.pb-c.h: proto/framework.pb-c.c
	@test -f $@ || test -f $(srcdir)/$@ || $(pdm_pb_remake)
pdm_pb_remake = { rm -f proto/framework.stamp; $(MAKE) $(AM_MAKEFLAGS) proto/framework.stamp; }

# Its own library: foreign code that our warning flags do not hold for.
noinst_LTLIBRARIES += libpdm_pb.la
nodist_libpdm_pb_la_SOURCES = $(pdm_pb_files)
libpdm_pb_la_CPPFLAGS = -I$(top_builddir)/proto -I$(srcdir)/proto $(PROTOBUF_C_CFLAGS)
libpdm_pb_la_CFLAGS = $(PDM_VISIBILITY_CFLAGS) $(PDM_INSTRUMENT) $(PDM_LT_ONE_OBJECT)
