#!/bin/sh
# Runs the cases and models of the fixtures, translated and as they were, and compares with what was
# recorded. What differs is in expected.tsv, with the reason; an entry that no longer holds is an
# error.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
run=$builddir/tests/tools/pdm-run
expected=$srcdir/tests/exec/expected.tsv
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# Folders that have a record and whose program is no training step.
cases() {
    find "$srcdir/fixtures/cases" "$srcdir/fixtures/cases-own" "$srcdir/fixtures/models" \
        -mindepth 1 -maxdepth 1 -type d ! -name 'bad_*' ! -name '*_train_raw' | LC_ALL=C sort |
        while read -r folder; do
            [ -f "$folder/io.npz" ] || continue
            # The weights of larger models are made elsewhere.
            [ -f "$folder/weights.json" ] && [ ! -f "$folder/model.pdiparams" ] && continue
            printf '%s\n' "$folder"
        done
}
cases >"$dir/cases"
sets=$(while read -r folder; do find "$folder" -name 'io*.npz'; done <"$dir/cases" | wc -l)

# Names that failed, with `again` as their first word when only the second round did.
names() {
    sed -n 's/^no \(.*\)/\1/p' | sed 's/\/io[0-9]*\.npz / /; s/\/io[0-9]*\.npz:/:/' |
        sed 's/^[^ :]*\/\([^/ :]*\)\/* (again):.*/again \1/; s/^[^ :]*\/\([^/ :]*\)\/*:.*/first \1/' |
        LC_ALL=C sort -u
}

wanted() { # HOW: what may fail
    awk -F '\t' -v how="$1" '
        $1 == how { print "first " $2 }
        $1 == "again" { print "again " $2 }' "$expected" | LC_ALL=C sort -u
}

check() { # HOW TITLE OPTIONS...
    how=$1 title=$2
    shift 2
    xargs -n 50 "$run" "$@" <"$dir/cases" >"$dir/out" 2>&1
    names <"$dir/out" >"$dir/failed"
    wanted "$how" >"$dir/wanted"
    if cmp -s "$dir/failed" "$dir/wanted"; then
        tap_ok 0 "$title"
    else
        tap_ok 1 "$title"
        tap_note "$(diff "$dir/wanted" "$dir/failed")"
        diff "$dir/wanted" "$dir/failed" | sed -n 's/^> [a-z]* //p' | while read -r name; do
            tap_note "$(grep "^no .*/$name/" "$dir/out")"
        done
    fi
    # A run that ends early says nothing about the rest.
    awk '/^[0-9]+ of [0-9]+$/ { n += $1; m += $3 } END { print n, m }' "$dir/out" >"$dir/count"
    read -r good all <"$dir/count"
    tap_is "$all" "$sets" "$title: all input sets were run, $good of $all gave the record"
}

check pir "translated, one thread"
check pir "translated, two threads" --threads 2
check legacy "as they were, one thread" --legacy
check legacy "as they were, two threads" --legacy --threads 2
tap_done
