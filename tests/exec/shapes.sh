#!/bin/sh
# The analysis of shapes against the shapes of all values when the fixtures run, also with larger inputs.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"

. "$srcdir/tests/tap/tap.sh"
. "$srcdir/tests/exec/folders.sh"

out=$(mktemp)
trap 'rm -f "$out"' EXIT
recorded_folders | xargs "$builddir/tests/tools/pdm-run" --shapes >"$out" 2>&1

numbers=$(sed -n 's/^shapes .*: \([0-9]*\) dims, \([0-9]*\) by symbols, \([0-9]*\) elements, \([0-9]*\) open, \([0-9]*\) wrong; \([0-9]*\) of.*/\1 \2 \3 \4 \5 \6/p' "$out" |
    awk '{ for (i = 1; i <= 6; i++) n[i] += $i } END { print n[1] + 0, n[2] + 0, n[3] + 0, n[4] + 0, n[5] + 0, n[6] + 0 }')
# shellcheck disable=SC2086 # six words
set -- $numbers
tap_note "$1 dims, $2 of them by symbols, and $3 elements; $6 runs with larger inputs"
tap_note "$(grep -E '^(no|pdm-run)' "$out")"
tap_is "$5" 0 "every shape is what was told"
tap_is "$4" 0 "every symbol is known when it is needed"
tap_try "many dims are told by symbols" test "$2" -gt $((20000 / ${PDM_EVERY:-1}))
tap_try "many runs have larger inputs" test "$6" -gt $((600 / ${PDM_EVERY:-1}))
tap_done
