# Programs that tests run.
check_PROGRAMS += tests/tools/pdm-infer
tests_tools_pdm_infer_LDADD = $(PDM_IR_LIBS)
tests_tools_pdm_infer_SOURCES = tests/tools/pdm-infer.c
