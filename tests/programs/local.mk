# Random programs, run in all ways: pdm-programs.c tells how.
check_PROGRAMS += tests/programs/pdm-programs
tests_programs_pdm_programs_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_programs_pdm_programs_LDADD = $(PDM_API_LIBS)
tests_programs_pdm_programs_SOURCES = \
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
	tests/tools/emulated.h
