# The suite that has the framework judge our files: tests/oracle/run, called by run-tests and not by
# make check, because it needs the framework.
EXTRA_DIST += \
	tests/oracle/bad.py \
	tests/oracle/bad_says.tsv \
	tests/oracle/cases.py \
	tests/oracle/cuda.sh \
	tests/oracle/exec.py \
	tests/oracle/expected.tsv \
	tests/oracle/framework_wrong.tsv \
	tests/oracle/infer.py \
	tests/oracle/kernel_cases/detection.py \
	tests/oracle/kernel_cases/graph.py \
	tests/oracle/kernel_cases/linalg.py \
	tests/oracle/kernel_cases/quant.py \
	tests/oracle/kernel_cases/tensor.py \
	tests/oracle/kernels.py \
	tests/oracle/launches.py \
	tests/oracle/launches.tsv \
	tests/oracle/models.py \
	tests/oracle/nvrtc-setup \
	tests/oracle/ops.py \
	tests/oracle/oracle.py \
	tests/oracle/own.py \
	tests/oracle/ref_331 \
	tests/oracle/run \
	tests/oracle/setup \
	tests/oracle/structure.py \
	tests/oracle/structure_exceptions.tsv \
	tests/oracle/suite.py
