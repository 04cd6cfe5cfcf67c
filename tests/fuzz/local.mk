# Fuzz harnesses, one LLVMFuzzerTestOneInput a file. With --enable-fuzzer libFuzzer brings main, else
# replay.c does; replay.sh runs each over the fixtures and over tests/fuzz/seeds/<harness>/, and with
# libFuzzer also a short search.
fuzz_tests = tests/fuzz/replay.sh
TESTS += $(fuzz_tests)
EXTRA_DIST += tests/fuzz/replay.sh

fuzz_programs = \
	tests/fuzz/fuzz_compile \
	tests/fuzz/fuzz_graph \
	tests/fuzz/fuzz_json \
	tests/fuzz/fuzz_params \
	tests/fuzz/fuzz_pdmodel \
	tests/fuzz/fuzz_text
check_PROGRAMS += $(fuzz_programs)

# These and what they need, no more.
fuzzers: $(fuzz_programs)
.PHONY: fuzzers

if ENABLE_FUZZER
fuzz_main =
fuzz_cppflags = -DPDM_FUZZER
fuzz_ldflags = $(AM_LDFLAGS) $(PDM_FUZZ_LDFLAGS)
else
fuzz_main = tests/fuzz/replay.c
fuzz_cppflags =
fuzz_ldflags = $(AM_LDFLAGS)
endif
EXTRA_DIST += tests/fuzz/replay.c

tests_fuzz_fuzz_compile_CPPFLAGS = $(AM_CPPFLAGS) $(fuzz_cppflags) -I$(top_srcdir)/tests
tests_fuzz_fuzz_compile_LDADD = $(PDM_CINN_LIBS)
tests_fuzz_fuzz_compile_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_compile_SOURCES = tests/fuzz/fuzz_compile.c tests/fuzz/fuzz_compile.h tests/fuzz/fuzz_ir.h $(fuzz_main)

tests_fuzz_fuzz_graph_LDADD = $(PDM_LG_LIBS)
tests_fuzz_fuzz_graph_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_graph_SOURCES = tests/fuzz/fuzz_graph.c $(fuzz_main)

tests_fuzz_fuzz_params_LDADD = $(PDM_BASE_LIBS)
tests_fuzz_fuzz_params_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_params_SOURCES = tests/fuzz/fuzz_params.c $(fuzz_main)

tests_fuzz_fuzz_pdmodel_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_fuzz_fuzz_pdmodel_LDADD = libpdm_cinn.la $(PDM_TR_LIBS)
tests_fuzz_fuzz_pdmodel_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_pdmodel_SOURCES = tests/fuzz/fuzz_compile.h tests/fuzz/fuzz_pdmodel.c $(fuzz_main)

tests_fuzz_fuzz_json_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_fuzz_fuzz_json_LDADD = $(PDM_IR_LIBS)
tests_fuzz_fuzz_json_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_ir.h tests/fuzz/fuzz_json.c $(fuzz_main)

tests_fuzz_fuzz_text_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_fuzz_fuzz_text_LDADD = $(PDM_IR_LIBS)
tests_fuzz_fuzz_text_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_text_SOURCES = tests/fuzz/fuzz_ir.h tests/fuzz/fuzz_text.c $(fuzz_main)

EXTRA_DIST += \
	tests/fuzz/seeds/fuzz_compile/norm_axis.pir \
	tests/fuzz/seeds/fuzz_compile/program_01.pir \
	tests/fuzz/seeds/fuzz_compile/program_02.pir \
	tests/fuzz/seeds/fuzz_compile/program_03.pir \
	tests/fuzz/seeds/fuzz_compile/program_04.pir \
	tests/fuzz/seeds/fuzz_compile/program_05.pir \
	tests/fuzz/seeds/fuzz_compile/program_06.pir \
	tests/fuzz/seeds/fuzz_compile/program_07.pir \
	tests/fuzz/seeds/fuzz_compile/program_08.pir \
	tests/fuzz/seeds/fuzz_compile/program_09.pir \
	tests/fuzz/seeds/fuzz_compile/program_10.pir \
	tests/fuzz/seeds/fuzz_compile/program_11.pir \
	tests/fuzz/seeds/fuzz_compile/program_12.pir \
	tests/fuzz/seeds/fuzz_compile/program_13.pir \
	tests/fuzz/seeds/fuzz_compile/program_14.pir \
	tests/fuzz/seeds/fuzz_compile/program_15.pir \
	tests/fuzz/seeds/fuzz_compile/program_16.pir \
	tests/fuzz/seeds/fuzz_graph/block_of_no_op.pdmodel \
	tests/fuzz/seeds/fuzz_graph/negative_dims.pdmodel \
	tests/fuzz/seeds/fuzz_json/attrs.json \
	tests/fuzz/seeds/fuzz_json/types.json \
	tests/fuzz/seeds/fuzz_json/while.json \
	tests/fuzz/seeds/fuzz_pdmodel/if_condition_of_two.pdmodel \
	tests/fuzz/seeds/fuzz_pdmodel/input_of_raw.pdmodel \
	tests/fuzz/seeds/fuzz_pdmodel/while_condition_of_two.pdmodel \
	tests/fuzz/seeds/fuzz_text/absent.pir \
	tests/fuzz/seeds/fuzz_text/by_hand.pir \
	tests/fuzz/seeds/fuzz_text/attributes.pir \
	tests/fuzz/seeds/fuzz_text/empty_blocks.pir \
	tests/fuzz/seeds/fuzz_text/cond.pir \
	tests/fuzz/seeds/fuzz_text/if.pir \
	tests/fuzz/seeds/fuzz_text/types.pir \
	tests/fuzz/seeds/fuzz_text/while_nested.pir \
	tests/fuzz/seeds/fuzz_text/while_loop.pir
