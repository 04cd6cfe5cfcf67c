# Fuzz harnesses: with --enable-fuzzer each is linked with $(PDM_FUZZ_LDFLAGS) (condition
# ENABLE_FUZZER), otherwise with a main that replays the files of a seed corpus.
fuzz_tests =
TESTS += $(fuzz_tests)
