#!/bin/sh
# Holds the table of docs/architecture.md: which folder may include which, where foreign headers may
# stand, and (by the symbols of the archives) that no layer calls one above it.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
cd "$srcdir" || exit 1

# Prints file:line for each quoted include in folder $1 that matches none of the prefixes after it.
strangers() {
    folder=$1
    shift
    find "src/$folder" -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort | while read -r file; do
        sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$file" |
            while read -r header; do
                found=no
                for prefix in "$@"; do
                    case $header in "$prefix"*) found=yes ;; esac
                done
                [ $found = yes ] || echo "$file: \"$header\""
            done
    done
}

allow() {
    tap_is "$(strangers "$@")" "" "includes of src/$1"
}

allow base base/ pdmigrate/pdmigrate.h
allow legacy_graph base/ legacy_graph/ framework.pb-c.h pdmigrate/pdmigrate.h
allow ir base/ ir/ pdmigrate/pdmigrate.h
allow translator base/ legacy_graph/ ir/ translator/ pdmigrate/pdmigrate.h
allow cinn base/ ir/ cinn/ pdmigrate/pdmigrate.h
allow exec base/ legacy_graph/ ir/ cinn/ exec/ pdmigrate/pdmigrate.h
allow api base/ legacy_graph/ ir/ translator/ cinn/ exec/ api/ pdmigrate/pdmigrate.h

# The program includes the public header, and its own headers by their bare names.
# shellcheck disable=SC2035,SC2046 # a list of names without blanks
tap_is "$(strangers cli pdmigrate/pdmigrate.h $(cd src/cli && ls *.h *.def 2>/dev/null))" "" \
    "includes of src/cli"

# The public header needs libc only.
tap_is "$(sed -n 's/^#[[:space:]]*include[[:space:]]*//p' include/pdmigrate/pdmigrate.h |
    grep -vxE '<(stdarg|stdbool|stddef|stdint|stdio)\.h>')" "" "includes of the public header"

# Files that mention a foreign header, less those that may.
foreign() {
    grep -rlE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$1" src include | grep -vE "$2"
}
tap_is "$(foreign '(protobuf-c/|.*pb-c\.h)' '^src/legacy_graph/')" "" "protobuf-c only in src/legacy_graph"
tap_is "$(foreign '(cjson/)?cJSON' '^src/ir/pir_json_read\.c$')" "" \
    "cJSON only in src/ir/pir_json_read.c"

tap_is "$(foreign 'llvm-c/' '^src/cinn/llvm/')" "" "LLVM only in src/cinn/llvm"
tap_is "$(foreign 'zip\.h' '^src/base/npz\.c$')" "" "libzip only in src/base/npz.c"

# Calls: what an archive leaves undefined must be defined in the archives below it.
symbols() {
    kind=$1
    shift
    for lib in "$@"; do
        file=$builddir/.libs/libpdm_$lib.a
        [ -f "$file" ] || file=$builddir/libpdm_$lib.a
        nm "$file" 2>/dev/null
    done | awk -v kind="$kind" '
        NF == 2 && $1 == "U" && kind == "undefined" { print $2 }
        NF == 3 && $2 ~ /^[A-Z]$/ && $2 != "U" && kind == "defined" { print $3 }' |
        grep '^pdm_' | sort -u
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
calls() {
    lib=$1
    shift
    symbols undefined "$lib" >"$dir/undefined"
    symbols defined "$lib" "$@" >"$dir/defined"
    tap_is "$(comm -23 "$dir/undefined" "$dir/defined")" "" "calls of $lib stay below it"
}
calls base
calls lg base pb
calls ir base
calls tr base lg ir
calls cinn base ir
calls exec base lg ir cinn
calls api base lg ir tr cinn exec

tap_done
