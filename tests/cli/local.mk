# cli tests: one script or program a line; add what they need to EXTRA_DIST or check_PROGRAMS.
cli_tests = \
	tests/cli/atomic.sh \
	tests/cli/bad.sh \
	tests/cli/cache.sh \
	tests/cli/existing.sh \
	tests/cli/graph.sh \
	tests/cli/groups.sh \
	tests/cli/inputs.sh \
	tests/cli/known.sh \
	tests/cli/optimize.sh \
	tests/cli/output.sh \
	tests/cli/params.sh \
	tests/cli/run.sh \
	tests/cli/show.sh \
	tests/cli/usage.sh \
	tests/cli/verify.sh
TESTS += $(cli_tests)
EXTRA_DIST += $(cli_tests) tests/cli/cli.sh tests/cli/bad_inputs.py tests/cli/make_model.py tests/cli/npz.py tests/cli/terminal.py
