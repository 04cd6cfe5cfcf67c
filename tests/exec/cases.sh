#!/bin/sh
# Runs the cases and models of the fixtures from each kind of file: matrix.py says how.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"

. "$srcdir/tests/exec/folders.sh"

recorded_folders | sed 's|.*/\(.*\)|\1=&|' | python3 "$srcdir/tests/exec/matrix.py" "$builddir/tests/tools/pdm-run" "$srcdir/tests/exec/expected.tsv" \
    --ref "$srcdir/tests/oracle/ref_331" -
