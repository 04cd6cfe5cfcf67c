# Running models: the cases of the fixtures.
exec_tests = tests/exec/cases.sh tests/exec/compile.sh tests/exec/cuda.sh tests/exec/emulator.sh tests/exec/shapes.sh tests/exec/verify.sh
TESTS += $(exec_tests)
EXTRA_DIST += $(exec_tests) tests/exec/emulator.cu tests/exec/emulate.sh tests/exec/expected.tsv tests/exec/folders.sh tests/exec/matrix.py tests/exec/threads.sh tests/exec/verify_all.py \
	tests/exec/verify.tsv
