# cli tests: one script or program a line; add what they need to EXTRA_DIST or check_PROGRAMS.
cli_tests =
TESTS += $(cli_tests)
EXTRA_DIST += $(cli_tests)
