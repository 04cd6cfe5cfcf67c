#!/bin/sh
# pdmigrate verify on all cases and models of the fixtures: verify_all.py says how.
set -u
: "${srcdir:?set by make check}" "${PDMIGRATE:?set by make check}"
. "$srcdir/tests/exec/folders.sh"

recorded_folders | python3 "$srcdir/tests/exec/verify_all.py" "$PDMIGRATE" "$srcdir/tests/exec/verify.tsv" -
