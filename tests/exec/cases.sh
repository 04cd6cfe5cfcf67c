#!/bin/sh
# Runs the cases and models of the fixtures from each kind of file: matrix.py says how.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"

# Folders that have a record and whose program is no training step.
cases() {
    find "$srcdir/fixtures/cases" "$srcdir/fixtures/cases-own" "$srcdir/fixtures/models" \
        -mindepth 1 -maxdepth 1 -type d ! -name 'bad_*' ! -name '*_train_raw' | LC_ALL=C sort |
        while read -r folder; do
            [ -f "$folder/io.npz" ] || continue
            # The weights of larger models are made elsewhere; tests/oracle/exec.py has them.
            [ -f "$folder/weights.json" ] && [ ! -f "$folder/model.pdiparams" ] && continue
            printf '%s=%s\n' "${folder##*/}" "$folder"
        done
}

cases | python3 "$srcdir/tests/exec/matrix.py" "$builddir/tests/tools/pdm-run" "$srcdir/tests/exec/expected.tsv" \
    --ref "$srcdir/tests/oracle/ref_331" -
