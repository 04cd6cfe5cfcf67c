#!/bin/sh
# Installs into a folder of its own and uses the library as others would: the example is built through
# pkg-config, with the shared and with the static library, and writes what the program writes.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
[ "$PDM_SANITIZERS" = no ] || tap_skip_all "a library with sanitizers is not for installing"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# The job server of the outer make is not ours to use.
unset MAKEFLAGS MFLAGS MAKELEVEL
tap_try "make install" "$MAKE" -C "$builddir" install DESTDIR="$dir/root"
pc=$(find "$dir/root" -name pdmigrate.pc)
PKG_CONFIG_PATH=${pc%/*}
PKG_CONFIG_SYSROOT_DIR=$dir/root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
libdir=${pc%/pkgconfig/*}
tap_is "$("$PKG_CONFIG" --modversion pdmigrate)" "$("$PDMIGRATE" --version | sed -n '1s/.* //p')" \
    "pkg-config and --version tell the same version"
tap_try "the man page is installed" test -s "$(find "$dir/root" -name pdmigrate.1)"
tap_try "completion for bash is installed" test -s "$(find "$dir/root" -path '*/bash-completion/completions/pdmigrate')"

model=$srcdir/fixtures/cases/report_default_attrs_left_out
io=$srcdir/fixtures/cases/flow_while_nested
tap_try "the program runs" "$PDMIGRATE" run "$io" --io "$io/io.npz" -o "$dir/want.npz"
tap_try "the program converts" "$PDMIGRATE" "$model" -o "$dir/want.json"

# example HOW COMPILER-ARGUMENTS...
example() {
    how=$1
    shift
    # shellcheck disable=SC2046,SC2086 # flags are lists of words
    tap_try "the example builds with the $how library" $CC -std=c11 -Wall -Wextra -Werror \
        -o "$dir/convert" "$srcdir/examples/convert.c" $("$PKG_CONFIG" --cflags pdmigrate) "$@"
    rm -f "$dir"/got.*
    tap_try "the example runs with the $how library" env LD_LIBRARY_PATH="$libdir" \
        "$dir/convert" "$model" "$dir/got.json"
    tap_try "the example wrote the same program ($how)" cmp "$dir/want.json" "$dir/got.json"
    tap_try "the example wrote the same parameters ($how)" \
        cmp "$dir/want.pdiparams" "$dir/got.pdiparams"
    # shellcheck disable=SC2046,SC2086 # flags are lists of words
    tap_try "the example that runs builds with the $how library" $CC -std=c11 -Wall -Wextra -Werror \
        -o "$dir/run" "$srcdir/examples/run.c" $("$PKG_CONFIG" --cflags pdmigrate) "$@" -pthread
    tap_try "it runs with the $how library" env LD_LIBRARY_PATH="$libdir" \
        "$dir/run" "$io" "$io/io.npz" "$dir/got.npz"
    tap_try "it computed the same ($how)" cmp "$dir/want.npz" "$dir/got.npz"
}
# shellcheck disable=SC2046 # flags are lists of words
if [ "$PDM_SHARED" = yes ]; then
    example shared $("$PKG_CONFIG" --libs pdmigrate)
else
    tap_skip "the example with the shared library" "built without a shared library"
fi
static=$(find "$dir/root" -name libpdmigrate.a)
# shellcheck disable=SC2046 # flags are lists of words
if [ -n "$static" ]; then
    PKG_CONFIG_SYSROOT_DIR=
    example static -I"$dir/root$("$PKG_CONFIG" --variable=includedir pdmigrate)" "$static" \
        $("$PKG_CONFIG" --static --libs-only-l pdmigrate | sed 's/-lpdmigrate//')
else
    tap_skip "the example with the static library" "built without a static library"
fi
unset PKG_CONFIG_SYSROOT_DIR
tap_try "make uninstall" "$MAKE" -C "$builddir" uninstall DESTDIR="$dir/root"
tap_is "$(find "$dir/root" ! -type d)" "" "nothing is left behind"
tap_done
