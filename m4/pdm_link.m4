# PDM_SONAME(VARIABLE, LIBS, HEADER, CALL): defines VARIABLE in config.h as the name under which a
# program that is linked with LIBS loads the library of CALL, for dlopen.
AC_DEFUN([PDM_SONAME], [
  AC_MSG_CHECKING([for the name under which $2 is loaded])
  pdm_saved_LIBS=$LIBS
  LIBS="$$2 $LIBS"
  pdm_soname=
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$3>]], [[return ($4) != 0;]])],
    [pdm_soname=$($OBJDUMP -p conftest$EXEEXT | $AWK '$[]1 == "NEEDED" && $[]2 !~ /^lib(c|m)\.so/ { print $[]2; exit }')])
  LIBS=$pdm_saved_LIBS
  AS_IF([test -z "$pdm_soname"], [AC_MSG_RESULT([none])
    AC_MSG_ERROR([no shared library to load: is the development package complete?])])
  AC_MSG_RESULT([$pdm_soname])
  AC_DEFINE_UNQUOTED([$1], ["$pdm_soname"], [Name of the shared library of $2.])
])

# PDM_PACKED_RELOCATIONS(VARIABLE): substitutes VARIABLE with the linker's option for relative
# relocations in packed form, where linker and libc know it: the tables have tens of thousands.
AC_DEFUN([PDM_PACKED_RELOCATIONS], [
  $1=
  AC_MSG_CHECKING([for packed relative relocations])
  pdm_saved_LDFLAGS=$LDFLAGS
  LDFLAGS="$LDFLAGS -Wl,-z,pack-relative-relocs -Wl,--fatal-warnings"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <features.h>
#if !defined __GLIBC__ || !__GLIBC_PREREQ(2, 36)
#error "the dynamic loader does not know them"
#endif
]])],
    [AC_MSG_RESULT([yes])
     $1=-Wl,-z,pack-relative-relocs],
    [AC_MSG_RESULT([no])])
  LDFLAGS=$pdm_saved_LDFLAGS
  AC_SUBST([$1])
])
