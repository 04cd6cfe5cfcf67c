# PDM_SANITIZERS(LIST): PDM_SAN_CFLAGS for a comma-separated list, "no" for none.
AC_DEFUN([PDM_SANITIZERS], [
  PDM_SAN_CFLAGS=
  AS_IF([test "x$1" != xno], [
    AS_IF([test "x$1" = xyes],
      [AC_MSG_ERROR([--enable-sanitizers wants a list, for example address,undefined])])
    for pdm_san in $(echo "$1" | tr ',' ' '); do
      AS_CASE([$pdm_san],
        [address|undefined|thread|leak], [],
        [AC_MSG_ERROR([unknown sanitizer $pdm_san: use address, undefined, thread, leak])])
    done
    PDM_SAN_CFLAGS="-fsanitize=$1 -fno-omit-frame-pointer -fno-sanitize-recover=all"
    PDM_CHECK_LINK_FLAGS([sanitizers $1], [$PDM_SAN_CFLAGS])
  ])
  AC_SUBST([PDM_SAN_CFLAGS])
])

# PDM_FUZZER(YES-OR-NO): flags for instrumented objects, and for linking a harness.
AC_DEFUN([PDM_FUZZER], [
  PDM_FUZZ_CFLAGS=
  PDM_FUZZ_LDFLAGS=
  AS_IF([test "x$1" = xyes], [
    PDM_FUZZ_CFLAGS="-fsanitize=fuzzer-no-link"
    PDM_FUZZ_LDFLAGS="-fsanitize=fuzzer"
    PDM_CHECK_LINK_FLAGS([libFuzzer (clang with libclang-rt)], [$PDM_FUZZ_LDFLAGS],
      [#include <stddef.h>
       int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
       int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
       { return data && size ? 0 : 0; }])
  ])
  AC_SUBST([PDM_FUZZ_CFLAGS])
  AC_SUBST([PDM_FUZZ_LDFLAGS])
])

# PDM_COVERAGE(YES-OR-NO)
AC_DEFUN([PDM_COVERAGE], [
  PDM_COV_CFLAGS=
  AS_IF([test "x$1" = xyes], [
    PDM_COV_CFLAGS="--coverage -O0"
    PDM_CHECK_LINK_FLAGS([coverage counters], [$PDM_COV_CFLAGS])
  ])
  AC_SUBST([PDM_COV_CFLAGS])
])

# PDM_VERSION_SCRIPT: error unless the linker takes a version script.
AC_DEFUN([PDM_VERSION_SCRIPT], [
  AC_MSG_CHECKING([whether the linker takes a version script])
  echo 'PDM_PROBE { global: main; local: *; };' > conftest.sym
  pdm_saved_LDFLAGS=$LDFLAGS
  LDFLAGS="$LDFLAGS -Wl,--version-script,conftest.sym"
  AC_LINK_IFELSE([AC_LANG_PROGRAM()],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([a linker with --version-script is needed])])
  LDFLAGS=$pdm_saved_LDFLAGS
  rm -f conftest.sym
])
