# Random programs, run in all ways: pdm-programs.c tells how.
check_PROGRAMS += tests/programs/pdm-programs
tests_programs_pdm_programs_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_programs_pdm_programs_LDADD = $(PDM_API_LIBS)
tests_programs_pdm_programs_SOURCES = \
	tests/programs/draw.c \
	tests/programs/draw.h \
	tests/programs/draw_math.c \
	tests/programs/draw_move.c \
	tests/programs/faulty.c \
	tests/programs/faulty.h \
	tests/programs/generate.c \
	tests/programs/judge.c \
	tests/programs/judge.h \
	tests/programs/keep.c \
	tests/programs/pdm-programs.c \
	tests/programs/program.c \
	tests/programs/program.h \
	tests/programs/reduce.c \
	tests/programs/reduce.h \
	tests/tools/emulated.c \
	tests/tools/emulated.h \
	tests/tools/emulator.c \
	tests/tools/emulator.h

program_tests = tests/programs/run.sh
TESTS += $(program_tests)
EXTRA_DIST += $(program_tests) $(kept_programs)
kept_programs = \
	tests/programs/kept/dead-failure.pir \
	tests/programs/kept/dropout-zero.pir \
	tests/programs/kept/exp-zero.pir \
	tests/programs/kept/hardswish-coarse.pir \
	tests/programs/kept/hardswish-written.pir \
	tests/programs/kept/hardtanh-bounds.pir \
	tests/programs/kept/infinite-shrink.pir \
	tests/programs/kept/max-zero.pir \
	tests/programs/kept/norm-infinite.pir \
	tests/programs/kept/norm-mean.pir \
	tests/programs/kept/norm-squares.pir \
	tests/programs/kept/norm-weights.pir \
	tests/programs/kept/norm-zero.pir \
	tests/programs/kept/product-infinite-factor.pir \
	tests/programs/kept/product-infinite.pir \
	tests/programs/kept/product-subnormal.pir \
	tests/programs/kept/product-zero.pir \
	tests/programs/kept/relu-nan-hidden.pir \
	tests/programs/kept/relu-nan.pir \
	tests/programs/kept/reshape-empty.pir \
	tests/programs/kept/reshape-maybe-empty.pir \
	tests/programs/kept/reshape-swapped-empty.pir \
	tests/programs/kept/scale-factor.pir \
	tests/programs/kept/scale-merged.pir \
	tests/programs/kept/scale-once.pir \
	tests/programs/kept/scale-overflow.pir \
	tests/programs/kept/sum-finite.pir \
	tests/programs/kept/sum-order.pir \
	tests/programs/kept/tanh-zero.pir

check-programs:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(program_tests)'

# A long search: make fuzz-programs SEEDS=1-20000; what fails comes to FOUND.
SEEDS = 1-20000
WAYS = O2,passes,ref,llvm,fast
FOUND = .
fuzz-programs: tests/programs/pdm-programs
	srcdir='$(abs_top_srcdir)' PDM_MODULE_DIR='$(abs_top_builddir)/.libs' PDM_CACHE=off \
	    tests/programs/pdm-programs --seeds $(SEEDS) --ways $(WAYS) --keep $(FOUND) --stats
.PHONY: check-programs fuzz-programs
