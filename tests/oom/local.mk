# oom tests: one script or program a line; add what they need to EXTRA_DIST or check_PROGRAMS.
oom_tests =
TESTS += $(oom_tests)
