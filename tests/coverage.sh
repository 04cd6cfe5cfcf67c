#!/bin/sh
# docs/coverage.md is what the translator's tables say. With --update (and builddir set) it is written anew.
set -u
: "${srcdir:=$(cd "$(dirname "$0")/.." && pwd)}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"

tool=$builddir/tests/tools/pdm-coverage
if [ "${1:-}" = --update ]; then
    "$tool" >"$srcdir/docs/coverage.md.tmp" && mv "$srcdir/docs/coverage.md.tmp" "$srcdir/docs/coverage.md"
    exit
fi
made=$(mktemp) || exit 1
trap 'rm -f "$made"' EXIT
tap_try "the table is printed" sh -c '"$1" >"$2"' sh "$tool" "$made"
tap_try "docs/coverage.md is current" diff -u "$srcdir/docs/coverage.md" "$made"
tap_done
