# Every test speaks TAP: its points show one by one in `make check`. Scripts (.sh, .py) run by their
# #! line, programs as they are. tests/tap/tap.sh has the helpers for shell.
TEST_EXTENSIONS = .sh .py
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
PY_LOG_DRIVER = $(LOG_DRIVER)

# What a test may use.
AM_TESTS_ENVIRONMENT = \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	CK_DEFAULT_TIMEOUT=120; export CK_DEFAULT_TIMEOUT; \
	builddir='$(abs_top_builddir)'; export builddir; \
	PDMIGRATE='$(abs_top_builddir)/src/cli/pdmigrate$(EXEEXT)'; export PDMIGRATE; \
	PDM_SANITIZERS='$(PDM_SANITIZERS_ON)'; export PDM_SANITIZERS; \
	PDM_SHARED='$(PDM_SHARED_ON)'; export PDM_SHARED; \
	PDM_LLVM='$(pdm_llvm)'; export PDM_LLVM; \
	PDM_MODULE_DIR='$(abs_top_builddir)/.libs'; export PDM_MODULE_DIR; \
	PDM_CACHE=off; export PDM_CACHE; \
	CC='$(CC)'; export CC; \
	PKG_CONFIG='$(PKG_CONFIG)'; export PKG_CONFIG; \
	MAKE='$(MAKE)'; export MAKE; \
	LC_ALL=C; export LC_ALL; \
	$(PDM_SAN_ENV)

# Check forks for each test; sanitizers want one process.
if ENABLE_SANITIZERS
PDM_SAN_ENV = CK_FORK=no; export CK_FORK;
endif

build_tests = \
	tests/coverage.sh \
	tests/exports.sh \
	tests/install.sh \
	tests/layering.sh \
	tests/ldd.sh
TESTS += $(build_tests)
EXTRA_DIST += $(build_tests) tests/tap/tap.sh tests/valgrind.sh

include tests/programs/local.mk
include tests/tools/local.mk
include tests/unit/local.mk
include tests/text/local.mk
include tests/cli/local.mk
include tests/fuzz/local.mk
include tests/oom/local.mk
include tests/exec/local.mk
include tests/mutation/local.mk
include tests/oracle/local.mk

# One group at a time, for run-tests: make check-unit, check-text, check-cli, check-build,
# check-oom, check-fuzz, check-exec, check-mutation.
check-build:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(build_tests)'
check-unit:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(unit_tests)'
check-text:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(text_tests)'
check-cli:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(cli_tests)'
check-oom:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(oom_tests)'
check-fuzz:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(fuzz_tests)'
check-exec:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(exec_tests)'
check-mutation:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(mutation_tests)'
.PHONY: check-build check-unit check-text check-cli check-oom check-fuzz check-exec \
	check-mutation
