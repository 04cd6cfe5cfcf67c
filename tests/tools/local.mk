# Programs that tests run.
check_PROGRAMS += tests/tools/pdm-coverage
tests_tools_pdm_coverage_LDADD = $(PDM_TR_LIBS) $(PDM_EXEC_LIBS)
tests_tools_pdm_coverage_SOURCES = tests/tools/pdm-coverage.c

check_PROGRAMS += tests/tools/pdm-infer
tests_tools_pdm_infer_LDADD = $(PDM_IR_LIBS)
tests_tools_pdm_infer_SOURCES = tests/tools/pdm-infer.c

check_PROGRAMS += tests/tools/pdm-lower
tests_tools_pdm_lower_LDADD = $(PDM_API_LIBS)
tests_tools_pdm_lower_SOURCES = tests/tools/pdm-lower.c

check_PROGRAMS += tests/tools/pdm-emulate
tests_tools_pdm_emulate_LDADD = $(PDM_EXEC_LIBS)
tests_tools_pdm_emulate_SOURCES = \
	tests/tools/emulator.c \
	tests/tools/emulator.h \
	tests/tools/pdm-emulate.c

if ENABLE_SHARED
# A module: -rpath makes libtool build it shared.
check_LTLIBRARIES = tests/tools/fake-cuda.la
# It defines what others declare.
tests_tools_fake_cuda_la_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
tests_tools_fake_cuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_tools_fake_cuda_la_LIBADD = libpdm_base.la $(PDM_LIBM)
tests_tools_fake_cuda_la_SOURCES = \
	tests/tools/emulator.c \
	tests/tools/emulator.h \
	tests/tools/fake_cublas.c \
	tests/tools/fake_cuda.c \
	tests/tools/fake_cuda.h
endif

check_PROGRAMS += tests/tools/pdm-nvrtc
tests_tools_pdm_nvrtc_LDADD = $(PDM_EXEC_LIBS)
tests_tools_pdm_nvrtc_SOURCES = tests/tools/pdm-nvrtc.c

check_PROGRAMS += tests/tools/pdm-run
tests_tools_pdm_run_LDADD = $(PDM_API_LIBS)
tests_tools_pdm_run_SOURCES = \
	tests/tools/check_shapes.c \
	tests/tools/check_shapes.h \
	tests/tools/emulated.c \
	tests/tools/emulated.h \
	tests/tools/emulator.c \
	tests/tools/emulator.h \
	tests/tools/pdm-run.c
EXTRA_DIST += tests/tools/cuda_emulator.h

check_PROGRAMS += tests/tools/pdm-shake
tests_tools_pdm_shake_LDADD = $(PDM_API_LIBS)
tests_tools_pdm_shake_SOURCES = tests/tools/pdm-shake.c

check_PROGRAMS += tests/tools/pdm-launches
tests_tools_pdm_launches_LDADD = $(PDM_API_LIBS)
tests_tools_pdm_launches_SOURCES = tests/tools/pdm-launches.c
