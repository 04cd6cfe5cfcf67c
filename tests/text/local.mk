# text tests: one script or program a line; add what they need to EXTRA_DIST or check_PROGRAMS.
text_tests =
TESTS += $(text_tests)
EXTRA_DIST += $(text_tests)
