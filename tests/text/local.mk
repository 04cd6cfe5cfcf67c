# Text tests: an input, a command and what is expected, in *.pirtest files (see pirtest.c). They are run by
# run.sh, which also updates them: `builddir=BUILD tests/text/run.sh --update`.
text_tests = tests/text/run.sh
TESTS += $(text_tests)
check_PROGRAMS += tests/text/pirtest
tests_text_pirtest_LDADD = $(PDM_CINN_LIBS)
tests_text_pirtest_SOURCES = tests/text/pirtest.c
EXTRA_DIST += \
	$(text_tests) \
	tests/text/control_flow.pirtest \
	tests/text/dot.pirtest \
	tests/text/errors.pirtest \
	tests/text/groups.pirtest \
	tests/text/json.pirtest \
	tests/text/syntax.pirtest
