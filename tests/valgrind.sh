#!/bin/sh
# The main paths under valgrind: the unit tests, conversions of small models, and runs.
#   tests/valgrind.sh BUILD-FOLDER
set -u
srcdir=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$srcdir/tests/tap/tap.sh"
build=$(cd "${1:?usage: tests/valgrind.sh BUILD-FOLDER}" && pwd) || exit 1
command -v valgrind >/dev/null || tap_skip_all "valgrind is not installed"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# job LIMIT NAME COMMAND...: a point, run later beside others; its exit status must be below LIMIT.
# 99 is valgrind, from 124 on it is a signal or a timeout.
jobs=0
job() {
    jobs=$((jobs + 1))
    echo "$1" >"$dir/$jobs.limit"
    echo "$2" >"$dir/$jobs.name"
    shift 2
    for word in "$@"; do
        printf "'%s' " "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")"
    done >"$dir/$jobs.sh"
}

vg="valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,possible"

# The unit tests without those that repeat themselves at length (tag "long"; sanitizers have them).
for test in "$build"/tests/unit/check_*; do
    case $test in *.log | *.trs | *.o) continue ;; esac
    # shellcheck disable=SC2086 # a list of words
    [ -x "$test" ] && job 1 "unit tests: ${test##*/}" env srcdir="$srcdir" builddir="$build" CK_FORK=no \
        CK_TIMEOUT_MULTIPLIER=20 CK_EXCLUDE_TAGS=long $vg "$test"
done

# One of each kind: plain, parameters, control flow, decomposed; and models that must be refused.
program=$build/src/cli/pdmigrate
for name in op_conv2d__groups flow_while_with_cond_inside report_default_attrs_left_out \
    op_nearest_interp__scale2; do
    model=$srcdir/fixtures/cases/$name
    # shellcheck disable=SC2086
    job 1 "convert $name" $vg "$program" "$model" -o "$dir/$name.json"
    # shellcheck disable=SC2086
    job 1 "show $name" $vg "$program" show "$model" --text
done
for model in "$srcdir"/fixtures/cases/bad_*; do
    # shellcheck disable=SC2086
    job 99 "refuse or convert ${model##*/}" $vg "$program" "$model" -o "$dir/${model##*/}.json"
done

# Runs: a layer, loops and branches, arrays, LoD; with threads; translated with either kernels, as they are, and with launched subgraphs.
runs=
for name in cases/op_conv2d__groups cases/op_net__lstm_sentiment_lod cases/flow_while_with_cond_inside \
    cases/op_lod_tensor_to_array__roundtrip cases-own/flow_param_written_in_branch_unread models/branchy_loop; do
    [ -f "$srcdir/fixtures/$name/io.npz" ] && runs="$runs $srcdir/fixtures/$name"
done
for how in --fast --json --legacy --launch "--compile ref --single"; do
    # shellcheck disable=SC2086
    job 1 "run samples, $how" $vg "$build/tests/tools/pdm-run" $how --threads 2 $runs
done
for how in "" --dot "--in-place --format json"; do
    # shellcheck disable=SC2086
    job 1 "graph of a training program${how:+, $how}" $vg "$program" graph --no-params $how \
        "$srcdir/fixtures/samples/training/cond_in_while.pdmodel"
done

# shellcheck disable=SC2016 # expanded by the inner shell
seq $jobs | xargs -P "$(nproc)" -I '{}' sh -c 'sh "$0/{}.sh" >"$0/{}.out" 2>&1; echo $? >"$0/{}.status"' "$dir"
for i in $(seq $jobs); do
    status=$(cat "$dir/$i.status")
    if [ "$status" -lt "$(cat "$dir/$i.limit")" ]; then
        tap_ok 0 "$(cat "$dir/$i.name")"
    else
        tap_ok 1 "$(cat "$dir/$i.name") (exit $status)"
        tap_note "$(tail -n 50 "$dir/$i.out")"
    fi
done
tap_done
