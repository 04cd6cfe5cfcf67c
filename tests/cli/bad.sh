#!/bin/sh
# Every broken or hostile input: exit code as in BAD.tsv, a diagnostic that says what it must, nothing written.
. "${srcdir:?}/tests/cli/cli.sh"
says=$srcdir/tests/oracle/bad_says.tsv
w=$dir/w
tab=$(printf '\t')

while IFS=$tab read -r name want _; do
    case $name in bad_*) ;; *) continue ;; esac
    model=
    for file in inference.json inference.pdmodel model.pdmodel __model__; do
        [ -z "$model" ] && [ -f "$cases/$name/$file" ] && model=$cases/$name/$file
    done
    rm -rf "$w"
    mkdir "$w"
    # Sizes that a file only claims are not to be allocated.
    (
        [ "${PDM_SANITIZERS:-no}" != no ] || ulimit -v 2097152
        "$PDMIGRATE" "$model" -o "$w/o.json" >"$dir/out" 2>"$dir/err"
    )
    status=$?
    tap_is "$status" "${want%w}" "$name: exit code"
    [ "$status" -eq "${want%w}" ] || tap_note "$(cat "$dir/err")"
    case $want in
    0) is_json "$w/o.json" "$name: the program is JSON" ;;
    0w)
        is_json "$w/o.json" "$name: the program is JSON"
        tap_try "$name: a warning" grep -q '^pdmigrate: warning: ' "$dir/err"
        ;;
    *)
        tap_is "$(left "$w")" "" "$name: nothing is written"
        tap_try "$name: an error" grep -q '^pdmigrate: error: ' "$dir/err"
        ;;
    esac
    grep "^$name$tab" "$says" | cut -f 2 >"$dir/patterns"
    while read -r pattern; do
        tr '\n' ' ' <"$dir/err" | grep -qiP -e "$pattern"
        found=$?
        tap_ok $found "$name: the diagnostic has /$pattern/"
        [ $found -eq 0 ] || tap_note "$(cat "$dir/err")"
    done <"$dir/patterns"
done <"$cases/BAD.tsv"
tap_done
