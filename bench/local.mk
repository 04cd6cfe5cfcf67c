# Benchmarks: bench/convert.py BUILD builds the first two on demand and runs everything; bench/phases is for
# whoever wants to know where the time goes.
EXTRA_PROGRAMS = bench/measure bench/translate bench/phases
CLEANFILES += $(EXTRA_PROGRAMS)

bench_measure_SOURCES = bench/measure.c

bench_translate_CPPFLAGS = $(PDM_BASE_CPPFLAGS) -I$(top_srcdir)/include
bench_translate_LDADD = $(PDM_API_LIBS)
bench_translate_SOURCES = bench/translate.c

bench_phases_LDADD = $(PDM_API_LIBS)
bench_phases_SOURCES = bench/phases.c

EXTRA_DIST += \
	bench/convert.py \
	bench/official_route.py \
	bench/programs.py
