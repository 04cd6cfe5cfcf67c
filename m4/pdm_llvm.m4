# PDM_LLVM(WITH): find LLVM by its llvm-config (WITH: a program, "check", "yes" or "no"). Sets pdm_llvm to the
# version or "no", and substitutes LLVM_CPPFLAGS and LLVM_LIBS. The module for it needs shared libraries.
AC_DEFUN([PDM_LLVM], [
  pdm_llvm=no
  AS_CASE([$1],
    [no], [LLVM_CONFIG=],
    [check|yes], [AC_PATH_PROGS([LLVM_CONFIG], [llvm-config-16 llvm-config])],
    [LLVM_CONFIG=$1])
  AS_IF([test -n "$LLVM_CONFIG" && test "x$enable_shared" = xyes], [
    AC_MSG_CHECKING([for LLVM 16 or later])
    pdm_llvm=`"$LLVM_CONFIG" --version 2>/dev/null`
    AS_CASE([$pdm_llvm], [1@<:@6-9@:>@.*|@<:@2-9@:>@@<:@0-9@:>@.*], [], [pdm_llvm=no])
    AC_MSG_RESULT([$pdm_llvm])
  ])
  AS_IF([test "x$pdm_llvm" != xno], [
    LLVM_CPPFLAGS="-isystem `"$LLVM_CONFIG" --includedir`"
    LLVM_LIBS="`"$LLVM_CONFIG" --ldflags` `"$LLVM_CONFIG" --libs`"
  ])
  AS_IF([test "x$pdm_llvm" = xno && test "x$1" != xno && test "x$1" != xcheck],
    [AC_MSG_ERROR([LLVM 16 or later was asked for and cannot be used (Debian: llvm-16-dev; shared libraries)])])
  AC_SUBST([pdm_llvm])
  AC_SUBST([LLVM_CPPFLAGS])
  AC_SUBST([LLVM_LIBS])
])
