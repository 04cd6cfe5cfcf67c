#!/bin/sh
# Program and library link only libc, libm, pthread, protobuf-c and cJSON: everything heavier would be
# paid for at every start. libzip, with what it needs, is loaded when a .npz is read.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
command -v readelf >/dev/null || tap_skip_all "readelf is not installed"
[ "$PDM_SANITIZERS" = no ] || tap_skip_all "sanitizers bring libraries of their own"

allowed='^(libc|libm|libpthread|libprotobuf-c|libcjson|libgcc_s|ld-linux.*)\.so'

check() {
    tap_is "$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | grep -vE "$allowed")" "" "$2"
    # The same over everything that is loaded in the end.
    tap_is "$(ldd "$1" | awk '/=>/ { print $1 }' | grep -vE "$allowed")" "" "$2, with what those need"
}

if [ -f "$PDMIGRATE" ]; then
    check "$PDMIGRATE" "libraries of the program"
else
    tap_ok 1 "the program was built"
fi
if [ "$PDM_SHARED" = yes ]; then
    check "$builddir/.libs/libpdmigrate.so" "libraries of the library"
else
    tap_skip "libraries of the library" "built without a shared library"
fi
tap_done
