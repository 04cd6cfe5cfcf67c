#!/bin/sh
# Translation faults that verify must find and --bisect must name: mutate.py says how.
set -u
: "${srcdir:?set by make check}" "${PDMIGRATE:?set by make check}"

if ! command -v python3 >/dev/null; then
    echo "1..0 # SKIP there is no python3"
    exit 0
fi
exec python3 "$srcdir/tests/mutation/mutate.py" "$srcdir/tests/mutation/mutants.tsv" "$srcdir/fixtures"
