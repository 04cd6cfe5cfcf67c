# Text tests: an input, a command and what is expected, in *.pirtest files (see pirtest.c). They are run by
# run.sh, which also updates them: `builddir=BUILD tests/text/run.sh --update`.
text_tests = tests/text/run.sh
TESTS += $(text_tests)
check_PROGRAMS += tests/text/pirtest
tests_text_pirtest_LDADD = $(PDM_EXEC_LIBS)
tests_text_pirtest_SOURCES = tests/text/pirtest.c
EXTRA_DIST += \
	$(text_tests) \
	tests/text/control_flow.pirtest \
	tests/text/dot.pirtest \
	tests/text/errors.pirtest \
	tests/text/groups.pirtest \
	tests/text/json.pirtest \
	tests/text/passes/activation.pirtest \
	tests/text/passes/branch.pirtest \
	tests/text/passes/broadcast.pirtest \
	tests/text/passes/carried.pirtest \
	tests/text/passes/conv_bn.pirtest \
	tests/text/passes/cse.pirtest \
	tests/text/passes/dce.pirtest \
	tests/text/passes/dims.pirtest \
	tests/text/passes/fc.pirtest \
	tests/text/passes/fold.pirtest \
	tests/text/passes/hoist.pirtest \
	tests/text/passes/identity.pirtest \
	tests/text/passes/in_place.pirtest \
	tests/text/passes/linear.pirtest \
	tests/text/passes/matmul.pirtest \
	tests/text/passes/shape.pirtest \
	tests/text/passes/sink.pirtest \
	tests/text/passes/unroll.pirtest \
	tests/text/shapes.pirtest \
	tests/text/syntax.pirtest
