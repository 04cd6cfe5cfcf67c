#!/bin/sh
# Bad and hostile inputs of run, record and verify: bad_inputs.py has them.
set -u
: "${srcdir:?set by make check}" "${PDMIGRATE:?set by make check}"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# What claims much must not take it; sanitizers want address space themselves.
[ "${PDM_SANITIZERS:-no}" != no ] || ulimit -v 2097152
python3 "$srcdir/tests/cli/bad_inputs.py" "$PDMIGRATE" "$srcdir/fixtures/samples/while_loop.json" \
    "$srcdir/fixtures/models/lod_textcnn" "$dir"
