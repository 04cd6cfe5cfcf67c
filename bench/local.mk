# Benchmarks: `make bench` runs convert.py, run.py and compile.py, which build the helpers that they need; bench/phases is for whoever wants
# to know where the time of a conversion goes.
EXTRA_PROGRAMS = bench/measure bench/translate bench/phases bench/session bench/sizes bench/bandwidth
CLEANFILES += $(EXTRA_PROGRAMS)

bench_measure_SOURCES = bench/measure.c

bench_translate_CPPFLAGS = $(PDM_BASE_CPPFLAGS) -I$(top_srcdir)/include
bench_translate_LDADD = $(PDM_API_LIBS)
bench_translate_SOURCES = bench/translate.c

bench_session_CPPFLAGS = $(PDM_BASE_CPPFLAGS) -I$(top_srcdir)/include
bench_session_LDADD = $(PDM_API_LIBS)
bench_session_SOURCES = bench/session.c bench/peak.h

bench_sizes_CPPFLAGS = $(PDM_BASE_CPPFLAGS) -I$(top_srcdir)/include
bench_sizes_LDADD = $(PDM_API_LIBS)
bench_sizes_SOURCES = bench/sizes.c bench/peak.h

bench_bandwidth_CPPFLAGS = $(PDM_BASE_CPPFLAGS) -I$(top_srcdir)/include
bench_bandwidth_LDADD = $(PDM_API_LIBS) $(PTHREAD_LIBS)
bench_bandwidth_SOURCES = bench/bandwidth.c

bench_phases_LDADD = $(PDM_API_LIBS)
bench_phases_SOURCES = bench/phases.c

EXTRA_DIST += \
	bench/compile.py \
	bench/convert.py \
	bench/official_route.py \
	bench/openvino-setup \
	bench/peer.py \
	bench/programs.py \
	bench/run.py

bench: all
	$(top_srcdir)/bench/convert.py $(top_builddir)
	$(top_srcdir)/bench/run.py $(top_builddir)
	$(MAKE) $(AM_MAKEFLAGS) bench/bandwidth
	PDM_MODULE_DIR='$(abs_top_builddir)/.libs' bench/bandwidth
	$(top_srcdir)/bench/compile.py $(top_builddir)
.PHONY: bench
