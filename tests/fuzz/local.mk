# Fuzz harnesses, one LLVMFuzzerTestOneInput a file. With --enable-fuzzer libFuzzer brings main, else
# replay.c does; replay.sh runs each over the fixtures and over tests/fuzz/seeds/<harness>/, and with
# libFuzzer also a short search.
fuzz_tests =
TESTS += $(fuzz_tests)
EXTRA_DIST += tests/fuzz/replay.sh

# When the first harness is there:
#
# fuzz_programs = \
# 	tests/fuzz/fuzz_pdmodel
# fuzz_tests += tests/fuzz/replay.sh
# check_PROGRAMS += $(fuzz_programs)
# EXTRA_DIST += tests/fuzz/seeds
#
# fuzz_cppflags = $(AM_CPPFLAGS)
# if ENABLE_FUZZER
# fuzz_main =
# fuzz_ldflags = $(AM_LDFLAGS) $(PDM_FUZZ_LDFLAGS)
# else
# fuzz_main = tests/fuzz/replay.c
# fuzz_ldflags = $(AM_LDFLAGS)
# endif
#
# tests_fuzz_fuzz_pdmodel_LDADD = $(PDM_LG_LIBS)
# tests_fuzz_fuzz_pdmodel_LDFLAGS = $(fuzz_ldflags)
# tests_fuzz_fuzz_pdmodel_SOURCES = tests/fuzz/fuzz_pdmodel.c $(fuzz_main)
