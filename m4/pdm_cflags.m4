# PDM_PROBE_CFLAGS(VARIABLE, FLAGS): substitutes VARIABLE with those of FLAGS that the compiler takes.
AC_DEFUN([PDM_PROBE_CFLAGS], [
  $1=
  pdm_saved_CFLAGS=$CFLAGS
  for pdm_flag in m4_normalize([$2]); do
    AC_MSG_CHECKING([whether $CC takes $pdm_flag])
    CFLAGS="$pdm_saved_CFLAGS -Werror $pdm_flag"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
      [AC_MSG_RESULT([yes])
       $1="$$1${$1:+ }$pdm_flag"],
      [AC_MSG_RESULT([no])])
  done
  CFLAGS=$pdm_saved_CFLAGS
  AC_SUBST([$1])
])

# PDM_REQUIRE_CFLAGS(VARIABLE, FLAGS): the same, but a flag that the compiler refuses is an error.
AC_DEFUN([PDM_REQUIRE_CFLAGS], [
  PDM_PROBE_CFLAGS([$1], [$2])
  AS_IF([test "x$$1" != "x$2"], [AC_MSG_ERROR([$CC must take $2])])
])

# PDM_CHECK_LINK_FLAGS(WHAT, FLAGS, [BODY]): error unless a program links with FLAGS.
AC_DEFUN([PDM_CHECK_LINK_FLAGS], [
  AC_MSG_CHECKING([whether $CC links with $1])
  pdm_saved_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $2"
  AC_LINK_IFELSE([AC_LANG_SOURCE([m4_default([$3], [int main(void) { return 0; }])])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$CC does not link with $2])])
  CFLAGS=$pdm_saved_CFLAGS
])
