# Running models: the cases of the fixtures.
exec_tests = tests/exec/cases.sh
TESTS += $(exec_tests)
EXTRA_DIST += $(exec_tests) tests/exec/expected.tsv tests/exec/matrix.py
