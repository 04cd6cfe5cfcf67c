# oom tests: one script or program a line; add what they need to EXTRA_DIST or check_PROGRAMS.
oom_tests = tests/oom/sweep
check_PROGRAMS += $(oom_tests)
TESTS += $(oom_tests)

tests_oom_sweep_CPPFLAGS = $(PDM_BASE_CPPFLAGS) -I$(top_srcdir)/include -I$(top_srcdir)/src
tests_oom_sweep_LDADD = $(PDM_API_LIBS)
tests_oom_sweep_SOURCES = tests/oom/sweep.c
