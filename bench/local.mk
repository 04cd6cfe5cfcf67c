# Benchmarks: bench/convert.py BUILD builds these two on demand and runs everything.
EXTRA_PROGRAMS = bench/measure bench/translate
CLEANFILES += $(EXTRA_PROGRAMS)

bench_measure_SOURCES = bench/measure.c

bench_translate_CPPFLAGS = $(PDM_BASE_CPPFLAGS) -I$(top_srcdir)/include
bench_translate_LDADD = $(PDM_API_LIBS)
bench_translate_SOURCES = bench/translate.c

EXTRA_DIST += \
	bench/convert.py \
	bench/official_route.py \
	bench/programs.py
