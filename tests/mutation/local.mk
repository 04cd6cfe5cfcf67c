# Translation faults that verify must find and --bisect must name.
mutation_tests = tests/mutation/mutation.sh
TESTS += $(mutation_tests)
EXTRA_DIST += $(mutation_tests) tests/mutation/mutants.tsv tests/mutation/mutate.py
