#!/bin/sh
# Runs control flow, nets, models and random programs with threads in a build for the thread sanitizer, which must have nothing to say.
#   tests/exec/threads.sh BUILD-FOLDER
set -u
srcdir=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$srcdir/tests/tap/tap.sh"
build=$(cd "${1:?usage: tests/exec/threads.sh BUILD-FOLDER}" && pwd)
run=$build/tests/tools/pdm-run
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

for folder in "$srcdir"/fixtures/cases/flow_* "$srcdir"/fixtures/cases/report_* "$srcdir"/fixtures/cases/op_net__* \
    "$srcdir"/fixtures/cases-own/flow_* "$srcdir"/fixtures/models/*; do
    [ -f "$folder/io.npz" ] || continue
    [ -f "$folder/weights.json" ] && [ ! -f "$folder/model.pdiparams" ] && continue
    case $folder in *_train_raw) continue ;; esac
    printf '%s\n' "$folder"
done >"$dir/folders"

for how in --threads --fast --legacy --launch "--compile ref"; do
    options=$how
    [ "$how" = --threads ] && options=
    # Values are compared elsewhere: here the exit status is the sanitizer's alone, 66.
    # shellcheck disable=SC2046,SC2086 # lists of words
    TSAN_OPTIONS=exitcode=66 "$run" $options --threads 3 $(cat "$dir/folders") >"$dir/out" 2>"$dir/err"
    status=$?
    sets=$(tail -n 1 "$dir/out")
    [ $status -le 1 ] && [ ! -s "$dir/err" ]
    tap_ok $? "no races with 3 threads${options:+, $options} ($sets)"
    head -n 60 "$dir/err" | sed 's/^/# /'
done

# Sessions in several threads that compile the same programs, and others, at once.
TSAN_OPTIONS=exitcode=66 "$build/tests/programs/pdm-programs" --together --ways ref --seeds 1-30 >"$dir/out" 2>"$dir/err" &&
    [ ! -s "$dir/err" ]
tap_ok $? "no races when sessions compile at once ($(tail -n 1 "$dir/out"))"
head -n 60 "$dir/err" | sed 's/^/# /'
tap_done
